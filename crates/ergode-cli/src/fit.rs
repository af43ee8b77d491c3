//! `ergode fit`.

use std::path::Path;

use ergode::pipeline::{Sums, fit_sums};
use ergode::systems::ExactFields;
use ergode::{
    Ensemble, Error, FitConfig, FitOptions, Fitted, Recipe, Results, RunFolder, Verdict, fit_with,
};

use crate::args::{Dated, DeviceName, Fit, RecipeName};
use crate::calendar::keep;
use crate::output::{Failed, read_text, report, shown};
use crate::progress::watched;
use crate::summary::conclude;

pub(crate) fn run(arguments: &Fit, json: bool) -> Result<(), Failed> {
    refuse_other_devices(arguments.device)?;
    if arguments
        .data
        .extension()
        .is_some_and(|name| name == "sums")
    {
        return of_sums(arguments, json);
    }
    let changes = (arguments.config.as_deref(), &arguments.set[..]);
    let config = configured(changes, arguments.seed, arguments.recipe)?;
    let (ensemble, epoch) = arguments.reading.read(&arguments.data, None)?;
    let fitted = fit(&ensemble, &config, &arguments.output, None)?;
    keep(&arguments.output, &ensemble, epoch.as_ref())?;
    conclude(&fitted, &arguments.output, json)
}

/// Fit sums instead of a record, with the configuration of their plan.
fn of_sums(arguments: &Fit, json: bool) -> Result<(), Failed> {
    if arguments.config.is_some() || arguments.reading != Dated::default() {
        return Err(Failed::input(
            "sums have the configuration and the columns of their plan; leave out --config and options for reading",
        ));
    }
    let sums = watched("reading", |_| Sums::load(&arguments.data))?;
    let config = changed(
        sums.plan().config(),
        &arguments.set,
        arguments.seed,
        arguments.recipe,
    )?;
    let folder = RunFolder::open(&arguments.output)?;
    let fitted = watched("fitting", |control| {
        let options = FitOptions {
            folder: Some(&folder),
            exact: None,
            control: Some(control),
        };
        fit_sums(&sums, &config, options)
    });
    let fitted = fitted.map_err(|error| resumable(error, &arguments.output))?;
    conclude(&fitted, &arguments.output, json)
}

/// The configuration file, then the changes of the command line.
pub(crate) fn configured(
    (file, set): (Option<&Path>, &[String]),
    seed: Option<u64>,
    recipe: Option<RecipeName>,
) -> Result<FitConfig, Failed> {
    let base = match file {
        None => FitConfig::default(),
        Some(path) => {
            let text = read_text(path)?;
            FitConfig::from_toml(&text)
                .map_err(|error| Failed::input(format!("{}: {error}", shown(path))))?
        }
    };
    changed(&base, set, seed, recipe)
}

/// A configuration with the changes of the command line.
fn changed(
    base: &FitConfig,
    set: &[String],
    seed: Option<u64>,
    recipe: Option<RecipeName>,
) -> Result<FitConfig, Failed> {
    let mut config = base.with_changes(set)?;
    config.seed = seed.unwrap_or(config.seed);
    config.mobility.recipe = recipe.map_or(config.mobility.recipe, Recipe::from);
    config.check()?;
    Ok(config)
}

impl From<RecipeName> for Recipe {
    fn from(name: RecipeName) -> Self {
        match name {
            RecipeName::Auto => Self::Auto,
            RecipeName::Semigroup => Self::Semigroup,
            RecipeName::Generator => Self::Generator,
            RecipeName::Weak => Self::Weak,
            RecipeName::Paper => Self::Paper,
        }
    }
}

pub(crate) fn refuse_other_devices(device: DeviceName) -> Result<(), Failed> {
    match device {
        DeviceName::Cpu => Ok(()),
        DeviceName::Cuda => Err(Failed::input(
            "--device cuda is not supported in this version; use --device cpu",
        )),
    }
}

/// Fit and show progress.
pub(crate) fn fit(
    ensemble: &Ensemble,
    config: &FitConfig,
    output: &Path,
    exact: Option<&dyn ExactFields>,
) -> Result<Fitted, Failed> {
    let folder = RunFolder::open(output)?;
    let fitted = watched("fitting", |control| {
        let options = FitOptions {
            folder: Some(&folder),
            exact,
            control: Some(control),
        };
        fit_with(ensemble, config, options)
    });
    fitted.map_err(|error| resumable(error, output))
}

/// An error that, after an interruption, says how to resume.
pub(crate) fn resumable(error: Error, output: &Path) -> Failed {
    let interrupted = error.is_interrupted();
    let mut failed = Failed::from(error);
    if interrupted {
        failed.message = format!(
            "interrupted; rerun the same command to resume from {}",
            shown(output)
        );
    }
    failed
}

/// Print the summary of a fit, its verdict and the path of its report.
pub(crate) fn show(results: &Results, output: &Path, json: bool) -> Result<(), Failed> {
    let page = output.join("report.html");
    let validation = &results.validation;
    let mut lines = vec![
        format!("score: {} ({})", results.score.kind, results.score.reason),
        format!(
            "mobility: {}, recipe {} ({})",
            results.mobility.kind, results.recipe, results.recipe_reason
        ),
    ];
    if !validation.rmse_over_floor.is_nan() {
        lines.push(format!(
            "error on held-out correlations: {:.2} x the noise floor{}",
            validation.rmse_over_floor,
            validation
                .constant_rmse
                .map_or(String::new(), |rmse| format!(
                    " (constant mobility: {:.2} x)",
                    rmse / validation.noise_floor
                ))
        ));
    }
    if let Some(truth) = &results.truth {
        let percent = |value: f64| format!("{:.2} %", 100.0 * value);
        lines.push(format!(
            "error against the exact answer: score {}, D {}{}",
            percent(truth.score_rel_l2),
            percent(truth.diffusion_rel_l2),
            truth
                .current_rel_l2
                .map_or(String::new(), |r| format!(", R {}", percent(r)))
        ));
    }
    lines.extend(
        validation
            .reasons
            .iter()
            .map(|reason| format!("  - {reason}")),
    );
    lines.push(format!("verdict: {}", verdict_name(validation.verdict)));
    lines.push(format!("report: {}", shown(&page)));
    let mut value = serde_json::to_value(results).expect("results are plain data");
    value["report"] = shown(&page).into();
    report(json, &value, &lines.join("\n"))
}

pub(crate) fn verdict_name(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Pass => "pass",
        Verdict::Warn => "warn",
        Verdict::Fail => "fail",
    }
}
