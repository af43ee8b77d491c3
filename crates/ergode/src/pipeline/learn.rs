//! The stage that learns the model.

use std::collections::BTreeMap;
use std::path::Path;

use ndarray::Array2;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::blame;
use super::budget::Budget;
use super::collected::Collected;
use super::config::FitConfig;
use super::fallback::{self, Search};
use super::found::MobilityFound;
use super::mobility::{by_network, by_recipe, find_mobility, find_structure};
use super::policy::{NOISE, Plan, RECIPE, chart_of, space_of};
use super::score::{ScoreFound, find_score, judge, score_without_noise};
use super::truth::COMPARED;
use super::walls;
use crate::clock::Clock;
use crate::control::Control;
use crate::data::Ensemble;
use crate::error::Result;
use crate::finding::{Finding, FindingKind, Severity};
use crate::mobility::{
    FALSE_TERMS, MeasurementNoise, Mobility, MobilityFit, Recipe, Structure, edge_kinds,
    field_errors, tail_violation,
};
use crate::model::{LangevinModel, Provenance, StoredScore};
use crate::observe::Observation;
use crate::report::{
    Decision, LearnedRecord, Measured, MobilityResults, Part, Results, ScoreResults, Truth,
    ValidationResults,
};
use crate::score::ScoreCertificate;
use crate::validate::{EntropyProduction, entropy_production, entropy_production_of_fit};

/// A model as the stage that made it leaves it, besides the model files.
#[derive(Serialize, Deserialize)]
pub(super) struct ModelStage {
    pub(super) score: ScoreResults,
    pub(super) mobility: MobilityResults,
    pub(super) recipe: Recipe,
    pub(super) reason: String,
    pub(super) policy: Vec<Decision>,
    pub(super) seconds: BTreeMap<String, f64>,
    pub(super) findings: Vec<Finding>,
    pub(super) learned: LearnedRecord,
    /// Whether the record determines drift and diffusion well, however short it is.
    #[serde(default)]
    pub(super) determined: bool,
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
            policy: self.policy.clone(),
            space: BTreeMap::new(),
            equation: None,
            validation,
            entropy_production: self
                .learned
                .entropy_production
                .done()
                .map(|entropy| Measured {
                    value: entropy.rate,
                    stderr: entropy.error,
                }),
            observation: None,
            truth,
            skill: None,
            reproduction: None,
        }
    }
}

/// A learned model and its constant closure.
#[derive(Debug)]
pub(super) struct Models {
    pub(super) model: LangevinModel,
    pub(super) constant: LangevinModel,
}

impl Models {
    /// Read them from the folder of a run.
    pub(super) fn load(path: &Path) -> Result<Self> {
        Ok(Self {
            model: LangevinModel::load(path)?,
            constant: LangevinModel::load(&path.join("constant"))?,
        })
    }

    /// Write them to the folder of a run.
    pub(super) fn save(&self, path: &Path) -> Result<()> {
        self.model.save(path)?;
        self.constant.save(&path.join("constant"))
    }
}

/// What was found about the score. Where drift and diffusion are unknowns of the fit, they and the simulations do
/// not contain it, and nothing about it refutes them.
fn score_findings(certificate: &ScoreCertificate, apart: bool) -> Vec<Finding> {
    let mut findings = certificate.findings.clone();
    let doubts = findings
        .iter_mut()
        .filter(|finding| apart && finding.severity > Severity::Info);
    for finding in doubts {
        finding.severity = Severity::Info;
        finding.message.push_str(
            "; drift and diffusion were fitted without the score, which only the reported score and entropy \
             production contain",
        );
    }
    findings
}

/// A finding where drift or diffusion may be off by half, in the mean square over the samples.
fn uncertain([diffusion, drift]: [f64; 2]) -> Option<Finding> {
    /// Relative standard error.
    const HALF: f64 = 0.5;
    let (what, error) = if diffusion > drift {
        ("diffusion", diffusion)
    } else {
        ("drift", drift)
    };
    (error > HALF).then(|| {
        Finding::new(
            FindingKind::Mobility,
            Severity::Warn,
            format!(
                "the record hardly determines the {what}: its standard error is {:.0} % of its root mean square \
                 over the samples, those in the tails included",
                100.0 * error
            ),
            "give a longer record, lower mobility.max_degrees, or set mobility.sparse",
        )
    })
}

/// Whether drift and diffusion are known to a tenth, as those of an oscillator whose phase takes long to forget may
/// be in a record of few decorrelation times. Without a drift of its own a fit says nothing about it.
fn is_determined([diffusion, drift]: [f64; 2]) -> bool {
    const TENTH: f64 = 0.1;
    diffusion < TENTH && drift > 0.0 && drift < TENTH
}

/// Samples kept in the model as starts of simulations.
const STARTS: usize = 4096;

/// Samples over which the errors of fields are averaged.
const SAMPLED: usize = 1 << 14;

/// Data and configuration of the stage.
pub(super) struct Task<'a> {
    pub(super) training: &'a Ensemble,
    pub(super) held_out: &'a Ensemble,
    /// Sums over all training samples, where `training` is an excerpt of them.
    pub(super) collected: Option<&'a Collected>,
    pub(super) config: &'a FitConfig,
    pub(super) plan: &'a Plan,
    pub(super) fingerprint: &'a str,
    pub(super) observation: &'a Observation,
    pub(super) budget: &'a Budget,
}

impl Task<'_> {
    /// Fit score and mobility, which make the model and its constant closure. Networks keep their state in
    /// the folder `checkpoints`.
    pub(super) fn learn(
        &self,
        checkpoints: Option<&Path>,
        control: &Control,
    ) -> Result<(ModelStage, Models)> {
        let mut seconds = BTreeMap::new();
        let mut findings = self.plan.noticed.clone();
        let parts = self.parts(checkpoints, &mut seconds, &mut findings, control)?;
        match self.assemble(parts, seconds.clone(), findings.clone(), control) {
            Err(error) if blame::allowed(&error, false) => {
                let instead =
                    "a normal law with the constant diffusion of the increments was used instead";
                let advice = "lower the degrees (mobility.max_degrees), or give a longer record";
                let severity = Severity::Fail;
                let what = "the learned model";
                findings.push(blame::fell_back(severity, what, &error, instead, advice));
                let simplest = fallback::simplest(self.training, &error)?;
                self.assemble(simplest, seconds, findings, control)
            }
            done => done,
        }
    }

    /// The model of a score and a mobility.
    fn assemble(
        &self,
        (found, mobility): (ScoreFound, MobilityFound),
        mut seconds: BTreeMap<String, f64>,
        mut findings: Vec<Finding>,
        control: &Control,
    ) -> Result<(ModelStage, Models)> {
        let clock = Clock::start();
        let structure =
            control.within(self.budget.share(0.1), || self.structure(&found, control))?;
        let policy = self.policy(&found, &mobility);
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
        let model = model
            .with_observation(observation)?
            .with_space(self.plan.space.clone())?;
        let constant = model.with_constant_mobility(phi.view())?;
        let noisy = mobility.noise.is_some();
        let entropy = || self.entropy(&model, mobility.fit.as_ref(), noisy, control);
        let entropy = control.within(self.budget.share(0.1), entropy)?;
        seconds.insert("model".to_owned(), clock.seconds());
        findings.extend(score_findings(&found.certificate, model.has_fitted_drift()));
        let warnings = mobility.results.warnings.iter();
        findings.extend(
            warnings.map(|text| Finding::new(FindingKind::Mobility, Severity::Warn, text, "")),
        );
        findings.extend(self.beyond_samples(mobility.fit.as_ref()));
        let errors = self.field_errors(mobility.fit.as_ref());
        findings.extend(errors.and_then(uncertain));
        let stage = ModelStage {
            policy,
            score: ScoreResults {
                kind: found.kind,
                reason: found.reason,
                stein_error: found.certificate.stein_error,
                relative_error: found.certificate.relative_error,
                verdict: found.certificate.verdict,
            },
            mobility: mobility.results,
            recipe: mobility.recipe,
            reason: mobility.reason,
            seconds,
            findings,
            determined: errors.is_some_and(is_determined),
            learned: LearnedRecord {
                certificate: found.certificate,
                fit: mobility.fit,
                network: mobility.network,
                structure,
                entropy_production: entropy,
            },
        };
        Ok((stage, Models { model, constant }))
    }

    /// Relative standard errors of diffusion and drift over the samples; those of a ring are of one site.
    fn field_errors(&self, fit: Option<&MobilityFit>) -> Option<[f64; 2]> {
        let fit = fit.filter(|_| self.config.ring.sites == 0)?;
        Some(field_errors(fit, self.training, SAMPLED))
    }

    /// What is known of a D that is positive at the samples but not beyond them.
    fn beyond_samples(&self, fit: Option<&MobilityFit>) -> Option<Finding> {
        // That of a ring is a function of one site.
        let mobility = &fit.filter(|_| self.config.ring.sites == 0)?.mobility;
        let bounded = self.training.has_walls() || self.training.has_circles();
        let beyond = tail_violation(mobility, self.training);
        if bounded || beyond == 0.0 || mobility.psd_violation(self.training) > 0.0 {
            return None;
        }
        Some(Finding::new(
            FindingKind::Mobility,
            Severity::Info,
            format!(
                "the polynomial D is positive at every sample but not at {:.1} % of states several times as far from \
                 the mean; simulations take its value at the nearest sample there",
                100.0 * beyond
            ),
            "do not extrapolate the equation beyond the samples",
        ))
    }

    /// The plan with what the fits decided.
    fn policy(&self, found: &ScoreFound, mobility: &MobilityFound) -> Vec<Decision> {
        let mut decisions = self.plan.decisions.clone();
        Plan::decide(&mut decisions, "score", &found.kind, &found.reason);
        if self.plan.noise != MeasurementNoise::None && mobility.noise.is_none() {
            let reason = "the correction failed";
            Plan::decide(&mut decisions, NOISE, "no correction", reason);
        }
        let kinds = match self.training.has_walls() {
            true => edge_kinds(mobility.mobility.as_mobility(), self.training),
            false => Vec::new(),
        };
        for (name, kinds) in self.training.names().iter().zip(kinds) {
            let matter = space_of(name);
            let made = decisions.iter_mut().find(|made| made.decision == matter);
            if let (Some(made), true) = (made, kinds.iter().any(Option::is_some)) {
                made.reason += &format!("; {}", walls::described(kinds));
            }
        }
        for chosen in &mobility.charts {
            let words = chosen.chart.describe();
            Plan::decide(
                &mut decisions,
                &chart_of(&chosen.coordinate),
                words,
                &chosen.reason,
            );
        }
        if let Some(terms) = &mobility.terms {
            let [before, after] = terms.chi2;
            let reason = format!(
                "kept {}; dropped {}; chi^2 per equation is {after:.2}, and {before:.2} with all terms; about {} of \
                 records keep a term that is not there",
                terms.kept.join(", "),
                terms.dropped.join(", "),
                FALSE_TERMS
            );
            let choice = format!(
                "{} of {}",
                terms.kept.len(),
                terms.kept.len() + terms.dropped.len()
            );
            Plan::decide(
                &mut decisions,
                "terms of drift and diffusion",
                choice,
                reason,
            );
        }
        let choice = format!("{}, {}", mobility.recipe, mobility.results.kind);
        Plan::decide(&mut decisions, RECIPE, choice, &mobility.reason);
        decisions
    }

    /// The entropy production of the model over the training samples.
    fn entropy(
        &self,
        model: &LangevinModel,
        fit: Option<&MobilityFit>,
        noisy: bool,
        control: &Control,
    ) -> Result<Part<EntropyProduction>> {
        if noisy {
            let reason = "its average over samples with measurement noise would be biased";
            return Ok(Part::Missing(reason.into()));
        }
        // A ring's fit is of one site, its mobility of all.
        let (score, training) = (model.score(), self.training);
        Part::of(match fit.filter(|_| self.config.ring.sites == 0) {
            Some(fit) => entropy_production_of_fit(score, fit, training, control),
            None => entropy_production(score, model.mobility(), training, control),
        })
    }

    /// Score and mobility, with the seconds that each took.
    fn parts(
        &self,
        checkpoints: Option<&Path>,
        seconds: &mut BTreeMap<String, f64>,
        findings: &mut Vec<Finding>,
        control: &Control,
    ) -> Result<(ScoreFound, MobilityFound)> {
        let config = self.config;
        let mut clock = Clock::start();
        let mut lap = |name: &str| {
            seconds.insert(name.to_owned(), clock.seconds());
            clock = Clock::start();
        };
        let found;
        let mobility;
        let by_paper = self.by_paper(checkpoints, findings, control)?;
        if let Some((score, kind, network)) = by_paper {
            mobility = network;
            lap("mobility");
            found = judge(score, kind, self.held_out, config, control)?;
            lap("score");
        } else if let Some((freed, corrected)) = self.without_noise(findings, control)? {
            mobility = freed;
            lap("mobility");
            found = corrected;
            lap("score");
        } else {
            control.stage("learning the score");
            let file = checkpoints.map(|folder| folder.join("score-training.json"));
            let (degrees, file) = (&self.plan.degrees, file.as_deref());
            let (training, held_out) = (self.training, self.held_out);
            let search = || {
                let collected = self.collected;
                find_score(
                    training, held_out, collected, degrees, config, file, control,
                )
            };
            let search = || control.within(self.budget.share(0.2), search);
            found = fallback::score(search, (self.training, config), findings)?;
            lap("score");
            control.stage("learning the mobility");
            mobility = self.search(&found).mobility(
                || self.mobility(&found, control),
                findings,
                control,
            )?;
            lap("mobility");
        }
        let lagged = mobility.statistics_seconds;
        if let Some(spent) = seconds.get_mut("mobility") {
            *spent -= lagged;
        }
        seconds.insert("lagged".to_owned(), lagged);
        Ok((found, mobility))
    }

    /// How a mobility is looked for.
    fn search<'a>(&'a self, found: &'a ScoreFound) -> Search<'a> {
        Search {
            training: self.training,
            collected: self.collected,
            score: found.score.as_score(),
            config: self.config,
            horizon: self.plan.horizon,
            seconds: [0.4, 0.15].map(|part| self.budget.share(part)),
        }
    }

    /// Score, what it is, and mobility by the paper's recipe; none if it was not asked for, or failed.
    fn by_paper(
        &self,
        checkpoints: Option<&Path>,
        findings: &mut Vec<Finding>,
        control: &Control,
    ) -> Result<Option<(StoredScore, String, MobilityFound)>> {
        if self.config.mobility.recipe != Recipe::Paper {
            return Ok(None);
        }
        control.stage("learning scores and mobility by the paper's recipe");
        let (training, config) = (self.training, self.config);
        let work = || by_network(training, config, self.plan.horizon, checkpoints, control);
        match control.within(self.budget.share(0.6), work) {
            Err(error) if blame::allowed(&error, blame::mobility_is_set(config)) => {
                let failed = "the paper's recipe, which was asked for,";
                let instead = "a closed-form score and a constant mobility are used instead";
                let advice = "use --recipe auto";
                let severity = Severity::Warn;
                findings.push(blame::fell_back(severity, failed, &error, instead, advice));
                Ok(None)
            }
            found => found.map(Some),
        }
    }

    /// The mobility that goes with a score.
    fn mobility(&self, found: &ScoreFound, control: &Control) -> Result<MobilityFound> {
        let score = found.score.as_score();
        let delays = self.observation.delays;
        let leading = delays.map(|_| self.observation.observed());
        let (training, config) = (self.training, self.config);
        let collected = self.collected;
        find_mobility(
            training, collected, score, config, self.plan, leading, control,
        )
    }

    /// Mobility and score without measurement noise; none if there is nothing to take out, or the record does
    /// not allow it.
    fn without_noise(
        &self,
        findings: &mut Vec<Finding>,
        control: &Control,
    ) -> Result<Option<(MobilityFound, ScoreFound)>> {
        if !matches!(
            self.plan.noise,
            MeasurementNoise::Estimate | MeasurementNoise::Variances(_)
        ) {
            return Ok(None);
        }
        control.stage("learning measurement noise and mobility");
        let (training, config) = (self.training, self.config);
        let work = || {
            let (noise, horizon) = (&self.plan.noise, self.plan.horizon);
            let found = by_recipe(
                (training, self.collected),
                config,
                noise,
                None,
                horizon,
                control,
            )?;
            let (estimate, _) = found.noise.as_ref().expect("the recipe was asked for it");
            let covariance = estimate.positive()?;
            control.stage("learning the score");
            let (held_out, degrees) = (self.held_out, &self.plan.degrees);
            let covariance = covariance.view();
            let score =
                score_without_noise(training, held_out, covariance, degrees, config, control)?;
            Ok((found, score))
        };
        let found = control.within(self.budget.share(0.5), work);
        let set = blame::mobility_is_set(config) || blame::score_is_set(config);
        match found {
            Err(error) if blame::allowed(&error, set) => {
                let failed = "the correction for measurement noise";
                let instead = "the fit does without it";
                let advice = "expect a diffusion that is too large; give a longer record, or the variances of \
                              the noise (mobility.noise)";
                let severity = Severity::Warn;
                findings.push(blame::fell_back(severity, failed, &error, instead, advice));
                Ok(None)
            }
            found => found.map(Some),
        }
    }

    /// Which entries of M matter, with more than two coordinates.
    fn structure(&self, found: &ScoreFound, control: &Control) -> Result<Option<Part<Structure>>> {
        if self.training.dim() <= 2 {
            return Ok(None);
        }
        if self.plan.space.has_circles() {
            let reason = "the diagnostic does not support angles";
            return Ok(Some(Part::Missing(reason.into())));
        }
        let score = found.score.as_score();
        let structure = find_structure(self.training, score, self.plan.horizon, control);
        Part::of(structure).map(Some)
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
