//! `ergode equation`: drift and diffusion of a run written out.

use ergode::LangevinModel;
use ergode::report::{EquationFormat, EquationResults};
use serde_json::json;

use crate::args::{Equation, EquationName};
use crate::output::{Failed, print, write_text};

pub(crate) fn run(arguments: &Equation, json: bool) -> Result<(), Failed> {
    let model = LangevinModel::load(&arguments.run)?;
    let equation = model.written_equation().ok_or_else(|| {
        Failed::input(
            "the drift or the diffusion of this run is no polynomial: it has a network, a ring, or a score of \
             logarithms; fit with --recipe generator",
        )
    })?;
    let format = match arguments.format {
        EquationName::Text => EquationFormat::Text,
        EquationName::Latex => EquationFormat::Latex,
        EquationName::Python => EquationFormat::Python,
        EquationName::Julia => EquationFormat::Julia,
        EquationName::Rust => EquationFormat::Rust,
        EquationName::Json => return write(arguments, &results(&equation)),
    };
    match json {
        true => write(arguments, &results(&equation)),
        false => write(arguments, &equation.write(format)),
    }
}

fn results(equation: &ergode::model::ModelEquation) -> String {
    format!("{}\n", json!({"equation": EquationResults::new(equation)}))
}

fn write(arguments: &Equation, text: &str) -> Result<(), Failed> {
    match &arguments.output {
        Some(path) => write_text(path, text),
        None => print(text),
    }
}
