//! From data to a verdict: check, score, mobility, simulation, validation, report, in one call.

mod config;
mod folder;
mod lattice;
mod mobility;
mod page;
mod results;
mod rollout;
mod score;
mod truth;

pub use config::{FitConfig, RolloutConfig, ScoreConfig, ScoreKind};
pub use folder::RunFolder;
pub use lattice::{RingConfig, RingSpan};
pub use results::{Measured, MobilityResults, Results, ScoreResults, Truth, ValidationResults};
pub use rollout::{Runs, validate_model};

use std::collections::BTreeMap;
use std::fs;
use std::time::Instant;

use ndarray::Array2;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::check::{CheckReport, Finding, Severity, check_ensemble};
use crate::control::Control;
use crate::data::{AtomicFile, Ensemble};
use crate::error::{Error, Result};
use crate::mobility::{Mobility, Recipe};
use crate::model::{LangevinModel, Provenance};
use crate::report::{Page, Section, structure_section};
use crate::systems::ExactFields;
use crate::validate::{
    EntropyProduction, Validation, entropy_production, entropy_production_of_fit,
};
use folder::write_json;

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

/// A model as the stage that made it leaves it, besides the model files.
#[derive(Serialize, Deserialize)]
struct ModelStage {
    score: ScoreResults,
    mobility: MobilityResults,
    recipe: Recipe,
    reason: String,
    entropy_production: Option<EntropyProduction>,
    seconds: BTreeMap<String, f64>,
    findings: Vec<Finding>,
    sections: Vec<Section>,
}

/// Samples kept in the model as starts of simulations.
const STARTS: usize = 4096;

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
    let fingerprint = format!("{:016x}", ensemble.fingerprint());
    let base = json!({
        "ergode": env!("CARGO_PKG_VERSION"), "data": fingerprint, "seed": config.seed,
        "held_out": config.held_out,
    });
    let mut seconds = BTreeMap::new();
    tell("checking");
    let key = json!({"base": base, "check": config.check});
    let (check, spent) = folder.stage("check", key, || {
        check_ensemble(ensemble, &config.check, control)
    })?;
    seconds.insert("check".to_owned(), spent);
    let horizon = horizon(&check, config)?;
    let (training, held_out) = ensemble.split(config.held_out, horizon)?;

    let key = json!({
        "base": base, "score": config.score, "ring": config.ring, "mobility": config.mobility, "paper": config.paper,
    });
    let kept = LangevinModel::load(folder.path());
    if kept.is_err() {
        // A stage without its files is of no use.
        let _ = fs::remove_file(folder.stages().join("model.json"));
    }
    let (stage, _) = folder.stage("model", key.clone(), || {
        let task = Task {
            training: &training,
            held_out: &held_out,
            config,
            horizon,
            fingerprint: &fingerprint,
        };
        task.learn(folder, tell, control)
    })?;
    seconds.extend(stage.seconds.clone());
    let model = LangevinModel::load(folder.path())?;
    let constant = LangevinModel::load(&folder.path().join("constant"))?;

    tell("simulating and validating");
    let key = json!({
        "model": key, "simulate": config.simulate, "validate": config.validate,
    });
    let ((mut validation, runs), spent) = folder.stage("validation", key, || {
        let whole = Some(ensemble);
        validate_model(&model, &constant, &held_out, whole, config, control)
    })?;
    seconds.insert("simulate".to_owned(), runs.seconds);
    seconds.insert("validate".to_owned(), spent - runs.seconds);
    let findings = check
        .findings
        .iter()
        .chain(&stage.findings)
        .chain(&runs.findings);
    for finding in findings.filter(|finding| finding.severity > Severity::Info) {
        validation.add_finding(finding.clone());
    }
    let states = truth::tile(&held_out, truth::COMPARED);
    let truth = exact.map(|exact| truth::compare(&model, &constant, exact, &states));
    let total = seconds.values().sum();
    seconds.insert("total".to_owned(), total);
    let results = Results {
        ergode: env!("CARGO_PKG_VERSION").to_owned(),
        recipe: stage.recipe,
        recipe_reason: stage.reason.clone(),
        seed: config.seed,
        data: fingerprint,
        wall_s: seconds,
        score: stage.score,
        mobility: stage.mobility,
        validation: runs.results(&validation),
        entropy_production: stage.entropy_production.map(|entropy| Measured {
            value: entropy.rate,
            stderr: entropy.error,
        }),
        truth,
    };
    tell("writing the report");
    let page = page::assemble(&page::Material {
        model: &model,
        check: &check,
        results: &results,
        validation: &validation,
        sections: &stage.sections,
        entropy: stage.entropy_production.as_ref(),
        runs: &runs,
        held_out: &held_out,
        exact,
        config,
    });
    write_all(folder, config, &results, &page)?;
    Ok(Fitted {
        model,
        constant,
        results,
        validation,
        page,
    })
}

/// The longest decorrelation time, to which lags reach.
fn horizon(check: &CheckReport, config: &FitConfig) -> Result<f64> {
    let times = check
        .coordinates
        .iter()
        .filter_map(|c| c.decorrelation_time);
    let longest = config.mobility.horizon.unwrap_or(times.fold(0.0, f64::max));
    if longest > 0.0 {
        return Ok(longest);
    }
    Err(Error::input(
        "no coordinate decorrelates within the record, so that nothing can be learned from it; give \
         a longer record, or the longest lag by hand (mobility.horizon)",
    ))
}

/// Data and configuration of the stage that learns the model.
struct Task<'a> {
    training: &'a Ensemble,
    held_out: &'a Ensemble,
    config: &'a FitConfig,
    horizon: f64,
    fingerprint: &'a str,
}

impl Task<'_> {
    /// Fit score and mobility, and save the model and its constant closure.
    fn learn(
        &self,
        folder: &RunFolder,
        tell: &(dyn Fn(&str) + Sync),
        control: &Control,
    ) -> Result<ModelStage> {
        let (config, stages) = (self.config, folder.stages());
        let mut seconds = BTreeMap::new();
        let mut clock = Instant::now();
        let mut lap = |name: &str| {
            seconds.insert(name.to_owned(), clock.elapsed().as_secs_f64());
            clock = Instant::now();
        };
        let (found, mobility);
        if config.mobility.recipe == Recipe::Paper {
            tell("learning scores and mobility as the paper does");
            let (own, rest) =
                mobility::by_network(self.training, config, self.horizon, &stages, control)?;
            lap("mobility");
            let kind = "network trained by denoising".into();
            (found, mobility) = (
                score::judge(own, kind, self.held_out, config, control)?,
                rest,
            );
            lap("score");
        } else {
            tell("learning the score");
            let file = stages.join("score-training.json");
            found = score::find_score(self.training, self.held_out, config, &file, control)?;
            lap("score");
            tell("learning the mobility");
            let score = found.score.as_score();
            mobility =
                mobility::find_mobility(self.training, score, config, self.horizon, control)?;
            lap("mobility");
        }
        let mut sections = page::model_sections(&found.certificate, &mobility);
        if self.training.dim() > 2 {
            let score = found.score.as_score();
            let structure = mobility::find_structure(self.training, score, self.horizon, control);
            let names = self.training.names();
            let structure = rollout::told(structure)?;
            sections.extend(structure.map(|found| structure_section(&found, names)));
        }
        let states = truth::tile(self.training, truth::COMPARED);
        let phi = mean_mobility(mobility.mobility.as_mobility(), &states);
        let provenance = Provenance {
            ergode: env!("CARGO_PKG_VERSION").to_owned(),
            data: self.fingerprint.to_owned(),
            seed: config.seed,
            configuration: json!(config),
        };
        let model = LangevinModel::new(
            self.training.names().to_vec(),
            found.score,
            mobility.mobility,
            starts(self.training),
            provenance,
        )?;
        let constant = model.with_constant_mobility(phi.view())?;
        // A ring's fit is of one site, its mobility of all.
        let fit = mobility.fit.as_ref().filter(|_| config.ring.sites == 0);
        let entropy = match fit {
            Some(fit) => entropy_production_of_fit(model.score(), fit, self.training, control),
            None => entropy_production(model.score(), model.mobility(), self.training, control),
        };
        let entropy = rollout::told(entropy)?;
        let certificate = &found.certificate;
        let mut findings = certificate.findings.clone();
        findings.extend(
            mobility
                .results
                .warnings
                .iter()
                .map(|warning| Finding::new("mobility", Severity::Warn, warning, "")),
        );
        model.save(folder.path())?;
        constant.save(&folder.path().join("constant"))?;
        lap("model");
        let lagged = mobility.statistics_seconds;
        if let Some(spent) = seconds.get_mut("mobility") {
            *spent -= lagged;
        }
        seconds.insert("lagged".to_owned(), lagged);
        Ok(ModelStage {
            score: ScoreResults {
                kind: found.kind,
                reason: found.reason,
                stein_error: certificate.stein_error,
                relative_error: certificate.relative_error,
                verdict: certificate.verdict,
            },
            mobility: mobility.results,
            recipe: mobility.recipe,
            reason: mobility.reason,
            entropy_production: entropy,
            seconds,
            findings,
            sections,
        })
    }
}

/// Φ = ⟨M⟩ over the states of a tile.
fn mean_mobility(mobility: &dyn Mobility, states: &[f64]) -> Array2<f64> {
    let dim = mobility.dim();
    let n = states.len() / dim;
    let mut tensors = vec![0.0; dim * dim * n];
    mobility.mobility(states, &mut tensors);
    Array2::from_shape_fn((dim, dim), |(i, j)| {
        let entry = &tensors[(i * dim + j) * n..][..n];
        entry.iter().sum::<f64>() / n as f64
    })
}

/// Evenly chosen samples, (state, coordinate).
fn starts(ensemble: &Ensemble) -> Array2<f64> {
    let dim = ensemble.dim();
    let states = truth::tile(ensemble, STARTS);
    let n = states.len() / dim;
    Array2::from_shape_fn((n, dim), |(s, i)| states[i * n + s])
}

/// The files of a run besides the model.
fn write_all(folder: &RunFolder, config: &FitConfig, results: &Results, page: &Page) -> Result<()> {
    let path = folder.path();
    let text = toml::to_string(config).map_err(|error| {
        Error::numerical(format!("the configuration cannot be written: {error}"))
    })?;
    AtomicFile::write(&path.join("config.toml"), text.as_bytes())?;
    write_json(&folder.stages().join("page.json"), page)?;
    write_json(&path.join("results.json"), results)?;
    AtomicFile::write(&path.join("report.html"), page.html().as_bytes())
}
