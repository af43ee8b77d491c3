//! From data to a verdict: check, score, mobility, simulation, validation, report, in one call.

mod config;
mod folder;
mod lattice;
mod learn;
mod mobility;
mod noise;
mod page;
mod results;
mod rollout;
mod score;
mod truth;

pub use config::{FitConfig, RolloutConfig, ScoreConfig, ScoreKind};
pub use folder::RunFolder;
pub use lattice::{RingConfig, RingSpan};
pub use results::{
    Measured, MobilityResults, ObservationResults, Reproduced, Reproduction, Results, ScoreResults,
    Truth, ValidationResults,
};
pub use rollout::{Runs, validate_model};

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::json;

use crate::check::{CheckReport, check_ensemble};
use crate::control::Control;
use crate::data::Ensemble;
use crate::error::{Error, Result};
use crate::finding::{Finding, FindingKind, Severity};
use crate::io::AtomicFile;
use crate::model::LangevinModel;
use crate::observe::{Observation, ObservationFit, fit_observation};
use crate::report::Page;
use crate::systems::ExactFields;
use crate::validate::Validation;
use folder::{kept, read_json, write_json};
use learn::{ModelStage, Task};
pub(crate) use truth::{COMPARED, ExactMobility, compare};

/// What a fit gives; all of it is in the folder of the run too.
#[derive(Debug)]
pub struct Fitted {
    /// The learned model.
    pub model: LangevinModel,
    /// The same score with the constant mobility Φ = ⟨M⟩.
    pub constant: LangevinModel,
    /// `results.json`.
    pub results: Results,
    /// The comparison with held-out data.
    pub validation: Validation,
    /// The report page.
    pub page: Page,
}

impl Fitted {
    /// Read what a finished fit left in the folder of its run.
    ///
    /// # Errors
    /// When a file is missing or damaged, or the fit was not finished.
    pub fn load(path: &Path) -> Result<Self> {
        let stage: ModelStage = kept(path, "model")?;
        let (validation, runs) = kept(path, "validation")?;
        Ok(Self {
            model: LangevinModel::load(path)?,
            constant: LangevinModel::load(&path.join("constant"))?,
            results: read_json(&path.join("results.json"))?,
            validation: concluded(validation, &kept(path, "check")?, &stage, &runs),
            page: read_json(&path.join("stages").join("page.json"))?,
        })
    }
}

/// The validation with what was noticed before it and beside it.
fn concluded(
    mut validation: Validation,
    check: &CheckReport,
    stage: &ModelStage,
    runs: &Runs,
) -> Validation {
    // Noise that was taken out is no longer a matter of concern.
    let corrected = stage.mobility.measurement_noise.is_some();
    let check = check.findings.iter();
    let check = check.filter(|f| !(corrected && f.kind == FindingKind::Noise));
    for findings in [&check.cloned().collect(), &stage.findings, &runs.findings] {
        validation.add_findings(findings);
    }
    validation
}

/// Learn a Langevin equation from `ensemble` and say how good it is: check the data, hold some out, fit
/// score and mobility, simulate the model and its constant closure, compare both with the data held
/// out, and write the report. Stages that `folder` holds from an earlier, interrupted call with the
/// same data and configuration are not computed anew.
///
/// `exact` are the exact fields, where a reference system knows them; `tell` hears what is begun.
pub fn fit_langevin(
    ensemble: &Ensemble,
    config: &FitConfig,
    folder: &RunFolder,
    exact: Option<&dyn ExactFields>,
    tell: &(dyn Fn(&str) + Sync),
    control: &Control,
) -> Result<Fitted> {
    tell("reading");
    let fingerprint = format!("{:016x}", ensemble.fingerprint_of_rows(control)?);
    let base = json!({
        "ergode": env!("CARGO_PKG_VERSION"), "data": fingerprint, "seed": config.seed,
        "held_out": config.held_out, "bridge_gaps": config.bridge_gaps,
        "observation": config.observation()?,
    });
    let record = config.record(ensemble)?;
    let ensemble = &*record;
    let mut seconds = BTreeMap::new();
    tell("checking");
    let key = json!({"base": base, "check": config.check});
    let observed = observe(ensemble, config, folder, &key, control)?;
    let (check, spent) = folder.stage("check", key, || match &observed {
        Some((fit, _)) => Ok(fit.check.clone()),
        None => check_ensemble(ensemble, &config.check, control),
    })?;
    seconds.insert(
        "check".to_owned(),
        spent + observed.as_ref().map_or(0.0, |o| o.1),
    );
    let hopeless = |f: &&Finding| f.kind == FindingKind::Duplicate && f.severity == Severity::Fail;
    if let Some(twice) = check.findings.iter().find(hopeless) {
        return Err(Error::input(format!("{}; {}", twice.message, twice.advice)));
    }
    let plain = Observation::plain(ensemble.names());
    let observation = observed
        .as_ref()
        .map_or(&plain, |(fit, _)| &fit.observation);
    let horizon = horizon(&check, ensemble.len(), config)?;
    let (training, held_out) = ensemble.split(config.held_out, horizon)?;
    let training = observation.states(observation.stationary(&training)?)?;
    let held_states = observation.states(observation.stationary(&held_out)?)?;

    let key = json!({
        "base": base, "check": config.check, "score": config.score, "ring": config.ring,
        "mobility": config.mobility, "paper": config.paper,
    });
    if LangevinModel::load(folder.path()).is_err() {
        // A stage without its files is of no use.
        let _ = fs::remove_file(folder.stages().join("model.json"));
    }
    let (noise, noticed) = noise::decide(config, &check, &training, observation)?;
    let task = Task {
        training: &training,
        held_out: &held_states,
        config,
        noise,
        noticed,
        horizon,
        fingerprint: &fingerprint,
        observation,
    };
    let (stage, _) = folder.stage("model", key.clone(), || {
        ensemble.intact(task.learn(folder, tell, control))
    })?;
    seconds.extend(stage.seconds.clone());
    let model = LangevinModel::load(folder.path())?;
    let constant = LangevinModel::load(&folder.path().join("constant"))?;

    tell("simulating and validating");
    let key = json!({"model": key, "simulate": config.simulate, "validate": config.validate});
    let ((validation, runs), spent) = folder.stage("validation", key, || {
        let whole = Some(ensemble);
        ensemble.intact(validate_model(
            &model, &constant, &held_out, whole, config, control,
        ))
    })?;
    seconds.insert("simulate".to_owned(), runs.seconds);
    seconds.insert("validate".to_owned(), spent - runs.seconds);
    let model = model.with_validated_step(runs.dt, config.simulate.scheme)?;
    model.save(folder.path())?;
    let validation = concluded(validation, &check, &stage, &runs);
    tell("writing the report");
    let states = held_states.sample_tile(COMPARED);
    let (score, mobility, phi) = (model.score(), model.mobility(), constant.mobility());
    let truth = exact.map(|exact| compare(score, mobility, phi, exact, &states));
    let provenance = model.provenance();
    let mut results = stage.results(provenance, seconds, runs.results(&validation), truth);
    results.observation = observed.map(|(fit, _)| ObservationResults {
        summary: fit.observation.sentences(),
        map: fit.observation,
        delay_trials: fit.trials,
    });
    let page = page::assemble(&page::Material {
        model: &model,
        check: &check,
        results: &results,
        validation: &validation,
        sections: &stage.sections,
        entropy: stage.entropy_production.as_ref(),
        runs: &runs,
        held_out: &*held_states.excerpt(rollout::most_samples(held_states.dim()))?,
        exact,
        config,
    });
    write_run(folder, config, &results, &page)?;
    Ok(Fitted {
        model,
        constant,
        results,
        validation,
        page,
    })
}

/// What lies between record and state, and the seconds that it took to find; none where nothing does.
fn observe(
    ensemble: &Ensemble,
    config: &FitConfig,
    folder: &RunFolder,
    key: &serde_json::Value,
    control: &Control,
) -> Result<Option<(ObservationFit, f64)>> {
    let observation = config.observation()?;
    if observation.is_plain() {
        return Ok(None);
    }
    let work = || fit_observation(ensemble, &observation, &config.check, control);
    folder.stage("observation", key.clone(), work).map(Some)
}

/// The longest decorrelation time, to which lags reach; the longest usable lag where records are shorter
/// than that but many, so that their starts are enough independent states.
fn horizon(check: &CheckReport, trajectories: usize, config: &FitConfig) -> Result<f64> {
    /// Records that are many.
    const MANY: usize = 20;
    let times = check
        .coordinates
        .iter()
        .filter_map(|c| c.decorrelation_time);
    let mut longest = config.mobility.horizon.unwrap_or(times.fold(0.0, f64::max));
    if longest == 0.0 && trajectories >= MANY {
        longest = check.usable_lags[1];
    }
    if longest > 0.0 {
        return Ok(longest);
    }
    Err(Error::input(
        "no coordinate decorrelates within the record, so that nothing can be learned from it; give \
         a longer record, or the longest lag by hand (mobility.horizon); where gaps cut it short that \
         are only samples that were not taken, set bridge_gaps = true",
    ))
}

/// The files of a run besides the model.
pub(crate) fn write_run(
    folder: &RunFolder,
    config: &FitConfig,
    results: &Results,
    page: &Page,
) -> Result<()> {
    let path = folder.path();
    let text = toml::to_string(config).map_err(|error| {
        Error::numerical(format!("the configuration cannot be written: {error}"))
    })?;
    AtomicFile::write(&path.join("config.toml"), text.as_bytes())?;
    write_json(&folder.stages().join("page.json"), page)?;
    write_json(&path.join("results.json"), results)?;
    AtomicFile::write(&path.join("report.html"), page.html().as_bytes())
}
