//! The stage that learns the model.

use std::collections::BTreeMap;
use std::time::Instant;

use ndarray::Array2;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::config::FitConfig;
use super::folder::RunFolder;
use super::mobility::{MobilityFound, by_network, by_recipe, find_mobility, find_structure};
use super::page::model_sections;
use super::results::{Measured, MobilityResults, Results, ScoreResults, Truth, ValidationResults};
use super::rollout::told;
use super::score::{ScoreFound, find_score, judge, score_without_noise};
use super::truth::COMPARED;
use crate::control::Control;
use crate::data::Ensemble;
use crate::error::Result;
use crate::finding::{Finding, FindingKind, Severity};
use crate::mobility::{MeasurementNoise, Mobility, Recipe};
use crate::model::{LangevinModel, Provenance};
use crate::observe::Observation;
use crate::report::{Section, structure_section};
use crate::validate::{EntropyProduction, entropy_production, entropy_production_of_fit};

/// A model as the stage that made it leaves it, besides the model files.
#[derive(Serialize, Deserialize)]
pub(super) struct ModelStage {
    pub(super) score: ScoreResults,
    pub(super) mobility: MobilityResults,
    pub(super) recipe: Recipe,
    pub(super) reason: String,
    pub(super) entropy_production: Option<EntropyProduction>,
    pub(super) seconds: BTreeMap<String, f64>,
    pub(super) findings: Vec<Finding>,
    pub(super) sections: Vec<Section>,
}

impl ModelStage {
    /// `results.json`, with the seconds of every stage.
    pub(super) fn results(
        &self,
        provenance: &Provenance,
        mut seconds: BTreeMap<String, f64>,
        validation: ValidationResults,
        truth: Option<Truth>,
    ) -> Results {
        let total = seconds.values().sum();
        seconds.insert("total".to_owned(), total);
        Results {
            ergode: provenance.ergode.clone(),
            recipe: self.recipe,
            recipe_reason: self.reason.clone(),
            seed: provenance.seed,
            data: provenance.data.clone(),
            wall_s: seconds,
            score: self.score.clone(),
            mobility: self.mobility.clone(),
            validation,
            entropy_production: self.entropy_production.map(|entropy| Measured {
                value: entropy.rate,
                stderr: entropy.error,
            }),
            observation: None,
            truth,
            reproduction: None,
        }
    }
}

/// Samples kept in the model as starts of simulations.
const STARTS: usize = 4096;

/// Data and configuration of the stage.
pub(super) struct Task<'a> {
    pub(super) training: &'a Ensemble,
    pub(super) held_out: &'a Ensemble,
    pub(super) config: &'a FitConfig,
    /// What is done about measurement noise, and what to tell of it.
    pub(super) noise: MeasurementNoise,
    pub(super) noticed: Option<Finding>,
    pub(super) horizon: f64,
    pub(super) fingerprint: &'a str,
    pub(super) observation: &'a Observation,
}

impl Task<'_> {
    /// Fit score and mobility, and save the model and its constant closure.
    pub(super) fn learn(
        &self,
        folder: &RunFolder,
        tell: &(dyn Fn(&str) + Sync),
        control: &Control,
    ) -> Result<ModelStage> {
        let mut seconds = BTreeMap::new();
        let (found, mobility) = self.parts(folder, &mut seconds, tell, control)?;
        let clock = Instant::now();
        let sections = self.sections(&found, &mobility, control)?;
        let phi = match &mobility.noise {
            Some((_, mean)) => mean.clone(),
            None => self.mean(mobility.mobility.as_mobility()),
        };
        let provenance = Provenance {
            ergode: env!("CARGO_PKG_VERSION").to_owned(),
            data: self.fingerprint.to_owned(),
            seed: self.config.seed,
            configuration: json!(self.config),
        };
        let names = self.training.names().to_vec();
        let starts = self.starts();
        let model = LangevinModel::new(names, found.score, mobility.mobility, starts, provenance)?;
        let mut observation = self.observation.clone();
        if let Some((noise, _)) = &mobility.noise {
            observation.noise = Some(noise.positive()?);
        }
        let model = model.with_observation(observation)?;
        let constant = model.with_constant_mobility(phi.view())?;
        // A ring's fit is of one site, its mobility of all.
        let fit = mobility
            .fit
            .as_ref()
            .filter(|_| self.config.ring.sites == 0);
        let entropy = match fit {
            // The integrand would be averaged over states with their noise.
            _ if mobility.noise.is_some() => None,
            Some(fit) => told(entropy_production_of_fit(
                model.score(),
                fit,
                self.training,
                control,
            ))?,
            None => told(entropy_production(
                model.score(),
                model.mobility(),
                self.training,
                control,
            ))?,
        };
        model.save(folder.path())?;
        constant.save(&folder.path().join("constant"))?;
        seconds.insert("model".to_owned(), clock.elapsed().as_secs_f64());
        let certificate = &found.certificate;
        let mut findings = certificate.findings.clone();
        findings.extend(self.noticed.clone());
        let warnings = mobility.results.warnings.iter();
        findings.extend(
            warnings.map(|text| Finding::new(FindingKind::Mobility, Severity::Warn, text, "")),
        );
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

    /// Score and mobility, with the seconds that each took.
    fn parts(
        &self,
        folder: &RunFolder,
        seconds: &mut BTreeMap<String, f64>,
        tell: &(dyn Fn(&str) + Sync),
        control: &Control,
    ) -> Result<(ScoreFound, MobilityFound)> {
        let (config, stages) = (self.config, folder.stages());
        let mut clock = Instant::now();
        let mut lap = |name: &str| {
            seconds.insert(name.to_owned(), clock.elapsed().as_secs_f64());
            clock = Instant::now();
        };
        let found;
        let mut mobility;
        if config.mobility.recipe == Recipe::Paper {
            tell("learning scores and mobility as the paper does");
            let (score, kind);
            (score, kind, mobility) =
                by_network(self.training, config, self.horizon, &stages, control)?;
            lap("mobility");
            found = judge(score, kind, self.held_out, config, control)?;
            lap("score");
        } else if let Some(freed) = self.without_noise(tell, control)? {
            mobility = freed;
            lap("mobility");
            tell("learning the score");
            let (noise, _) = mobility
                .noise
                .as_ref()
                .expect("the recipe was asked for it");
            let covariance = noise.positive()?;
            let (training, held_out) = (self.training, self.held_out);
            found = score_without_noise(training, held_out, covariance.view(), config, control)?;
            lap("score");
        } else {
            tell("learning the score");
            let file = stages.join("score-training.json");
            found = find_score(self.training, self.held_out, config, &file, control)?;
            lap("score");
            tell("learning the mobility");
            let score = found.score.as_score();
            let delays = self.observation.delays;
            let leading = delays.map(|_| self.observation.observed());
            mobility = find_mobility(self.training, score, config, leading, self.horizon, control)?;
            if self.noise != MeasurementNoise::None {
                let short = "the record is too short for its measurement noise to be taken out; expect a \
                             diffusion that is too large, or give a longer record";
                mobility.results.warnings.push(short.to_owned());
            }
            lap("mobility");
        }
        let lagged = mobility.statistics_seconds;
        if let Some(spent) = seconds.get_mut("mobility") {
            *spent -= lagged;
        }
        seconds.insert("lagged".to_owned(), lagged);
        Ok((found, mobility))
    }

    /// The mobility without measurement noise, where there is some; none where that was not asked for and
    /// the record is too short for it.
    fn without_noise(
        &self,
        tell: &(dyn Fn(&str) + Sync),
        control: &Control,
    ) -> Result<Option<MobilityFound>> {
        if !matches!(
            self.noise,
            MeasurementNoise::Estimate | MeasurementNoise::Variances(_)
        ) {
            return Ok(None);
        }
        tell("learning measurement noise and mobility");
        let (training, config) = (self.training, self.config);
        let found = by_recipe(training, config, &self.noise, None, self.horizon, control);
        match found {
            Err(error)
                if error.is_numerical() && config.mobility.noise == MeasurementNoise::Auto =>
            {
                Ok(None)
            }
            found => found.map(Some),
        }
    }

    /// What the page says of score and mobility.
    fn sections(
        &self,
        found: &ScoreFound,
        mobility: &MobilityFound,
        control: &Control,
    ) -> Result<Vec<Section>> {
        let mut sections = model_sections(&found.certificate, mobility, self.config.ring.sites);
        if self.training.dim() > 2 {
            let score = found.score.as_score();
            let structure = find_structure(self.training, score, self.horizon, control);
            let names = self.training.names();
            sections.extend(told(structure)?.map(|found| structure_section(&found, names)));
        }
        Ok(sections)
    }

    /// Φ = ⟨M⟩ over the samples.
    fn mean(&self, mobility: &dyn Mobility) -> Array2<f64> {
        let states = self.training.sample_tile(COMPARED);
        let dim = mobility.dim();
        let n = states.len() / dim;
        let mut tensors = vec![0.0; dim * dim * n];
        mobility.mobility(&states, &mut tensors);
        Array2::from_shape_fn((dim, dim), |(i, j)| {
            let entry = &tensors[(i * dim + j) * n..][..n];
            entry.iter().sum::<f64>() / n as f64
        })
    }

    /// Evenly chosen samples, (state, coordinate).
    fn starts(&self) -> Array2<f64> {
        let dim = self.training.dim();
        let states = self.training.sample_tile(STARTS);
        let n = states.len() / dim;
        Array2::from_shape_fn((n, dim), |(s, i)| states[i * n + s])
    }
}
