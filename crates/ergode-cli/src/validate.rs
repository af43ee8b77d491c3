//! `ergode validate`: a learned model against data.

use std::fs;
use std::path::Path;

use ergode::{FitConfig, LangevinModel, ReadOptions, Results, read_ensemble, validate_model};
use serde_json::json;

use crate::args::Validate;
use crate::fit::{show, verdict_name};
use crate::output::{Failed, report, shown};
use crate::progress::watched;

pub(crate) fn run(arguments: &Validate, json: bool) -> Result<(), Failed> {
    let Some(data) = &arguments.against else {
        let results: Results = read_json(&arguments.run.join("results.json"))?;
        show(&results, &arguments.run, json);
        return Ok(());
    };
    let model = LangevinModel::load(&arguments.run)?;
    let constant = LangevinModel::load(&arguments.run.join("constant"))?;
    let path = arguments.run.join("config.toml");
    let text = fs::read_to_string(&path)
        .map_err(|error| Failed::input(format!("{}: {error}", shown(&path))))?;
    let config = FitConfig::from_toml(&text)?;
    let options = ReadOptions { dt: arguments.dt };
    let ensemble = read_ensemble(data, &options)?;
    let (validation, runs) = watched("simulating and validating", |control| {
        validate_model(&model, &constant, &ensemble, None, &config, control)
    })?;
    let result = json!({"validation": runs.results(&validation)});
    let mut lines = vec![format!(
        "correlations of {}: error {:.2} of the noise floor",
        shown(data),
        validation.rmse_over_floor
    )];
    lines.extend(
        validation
            .reasons
            .iter()
            .map(|reason| format!("  - {}", reason.message)),
    );
    lines.push(format!("verdict: {}", verdict_name(validation.verdict)));
    report(json, &result, &lines.join("\n"));
    Ok(())
}

/// A file of a run.
pub(crate) fn read_json<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T, Failed> {
    let text = fs::read(path).map_err(|error| {
        Failed::input(format!(
            "{}: {error}; give the folder of a finished `ergode fit`",
            shown(path)
        ))
    })?;
    serde_json::from_slice(&text).map_err(|error| {
        Failed::input(format!(
            "{}: {error}; the file is damaged, run the fit again",
            shown(path)
        ))
    })
}
