//! `ergode validate`: a fitted model against data.

use ergode::{FitConfig, Fitted, validate_model};
use serde_json::json;

use crate::args::Validate;
use crate::calendar::Epoch;
use crate::fit::verdict_name;
use crate::output::{Failed, report, shown};
use crate::progress::watched;
use crate::summary::conclude;

pub(crate) fn run(arguments: &Validate, json: bool) -> Result<(), Failed> {
    let fitted = Fitted::load(&arguments.run)?;
    let Some(data) = &arguments.against else {
        return conclude(&fitted, &arguments.run, json);
    };
    let config = FitConfig::from_toml(&fitted.record.configuration)?;
    let (ensemble, _) = arguments
        .reading
        .read(data, Epoch::of_run(&arguments.run)?)?;
    let (validation, runs) = watched("simulating and validating", |control| {
        validate_model(
            &fitted.model,
            &fitted.constant,
            &ensemble,
            None,
            &config,
            control,
        )
    })?;
    let result = json!({"validation": runs.results(&validation)});
    let mut lines = vec![format!(
        "error on the correlations of {}: {:.2} x the noise floor",
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
    report(json, &result, &lines.join("\n"))
}
