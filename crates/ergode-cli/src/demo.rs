//! `ergode demo`: fit a reference system and compare with its exact answer.

use std::fs;

use ergode::systems::{Affine2d, Affine2dReference, ExactFields, generate, system_by_name};
use ergode::{BurnIn, FitConfig, write_ensemble};
use serde_json::Map;

use crate::args::Demo;
use crate::fit::fit;
use crate::output::{Failed, shown};
use crate::progress::watched;
use crate::summary::conclude;

pub(crate) fn run(arguments: &Demo, json: bool) -> Result<(), Failed> {
    let system = system_by_name(&arguments.system, &Map::new())?;
    let reference;
    let exact: &dyn ExactFields = match (arguments.system.as_str(), system.exact_fields()) {
        ("affine2d", _) => {
            reference = Affine2dReference::solve(Affine2d::default(), 280)?;
            &reference
        }
        ("softspin", _) | (_, None) => {
            return Err(Failed::input(format!(
                "no demo of {:?}; choose affine2d, cir, double-well, mueller-brown, ou, prinz \
                 or triple-well",
                arguments.system
            )));
        }
        (_, Some(exact)) => exact,
    };
    let mut protocol = system.protocol();
    protocol.simulate.seed = arguments.seed;
    protocol.simulate.time = protocol.simulate.time.min(arguments.time);
    let run = watched("simulating the data", |control| {
        generate(&*system, &protocol, control)
    })?;
    let ensemble = run.ensemble.burn_in(BurnIn::Fraction(0.01))?;
    fs::create_dir_all(&arguments.output)
        .map_err(|error| Failed::other(format!("{}: {error}", shown(&arguments.output))))?;
    write_ensemble(arguments.output.join("data.npz"), &ensemble)?;
    let config = FitConfig {
        seed: arguments.seed,
        ..FitConfig::default()
    };
    let fitted = fit(&ensemble, &config, &arguments.output, Some(exact))?;
    conclude(&fitted, &arguments.output, json)
}
