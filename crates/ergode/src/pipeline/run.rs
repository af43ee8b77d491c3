//! A fit in five stages: prepare, learn, roll out, judge, write.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::blame;
use super::budget::Budget;
use super::collected::Collected;
use super::config::FitConfig;
use super::fallback;
use super::fitted::Fitted;
use super::learn::{ModelStage, Models, Task};
use super::policy::{Plan, chart_of, is_chart, space_of};
use super::rollout::{self, Rollouts, Runs, Steps};
use super::score::near_zero;
use super::skill;
use super::store::Store;
use super::truth::{COMPARED, ExactMobility, compare};
use crate::check::{CheckReport, check_in_space};
use crate::control::Control;
use crate::data::{Cut, Ensemble};
use crate::error::{Error, Result};
use crate::finding::{Finding, FindingKind, Severity};
use crate::mobility::{GOOD_CHI2, edge_kinds};
use crate::model::LangevinModel;
use crate::observe::{Observation, ObservationFit, fit_observation};
use crate::report::{
    Decision, EquationResults, FieldMaps, FieldPair, FieldRecord, ObservationResults, Part, Role,
    RunRecord, SpaceResults, SpinClosure, SpinMaps,
};
use crate::score::ExactScore;
use crate::space::Domain;
use crate::systems::ExactFields;
use crate::validate::{Validation, judge_misfit, refuse_unusable};

/// Components of a spin.
const SPIN: usize = 3;

/// Context shared by all stages of a fit.
pub(super) struct Run<'a> {
    pub(super) config: &'a FitConfig,
    pub(super) store: Store<'a>,
    pub(super) exact: Option<&'a dyn ExactFields>,
    pub(super) control: &'a Control,
    /// The record, its gaps bridged if `bridge_gaps` is set, without coordinates that say nothing new.
    record: Ensemble,
    /// Findings on the coordinates that were left out.
    left_out: Vec<Finding>,
    budget: Budget,
    fingerprint: String,
    /// Key of the inputs of every stage.
    base: Value,
    /// Sums over all training samples, where the record is an excerpt.
    collected: Option<&'a Collected>,
}

/// The record checked, brought to stationary states, and split.
pub(super) struct Prepared {
    pub(super) check: CheckReport,
    /// Relation between record and state; none if they are the same.
    pub(super) observed: Option<ObservationFit>,
    pub(super) observation: Observation,
    pub(super) plan: Plan,
    pub(super) training: Ensemble,
    /// The held-out part of the record, and its states.
    pub(super) held_out: Ensemble,
    pub(super) held_states: Ensemble,
    /// The rows of the record in the training and in the held-out part.
    pub(super) cuts: [Vec<Cut>; 2],
    pub(super) seconds: f64,
}

/// The model and what is known of it.
pub(super) struct Learned {
    stage: ModelStage,
    models: Models,
    key: Value,
}

/// The rollouts of a fit.
pub(super) enum Rolled {
    /// They are not needed: a finished comparison is kept.
    Kept,
    /// They were simulated.
    Done(Box<Rollouts>),
    /// They could not be, for this reason.
    Missing(String),
}

/// The comparison with held-out data, and the seconds that it took.
type Judged = (Validation, Runs);

impl<'a> Run<'a> {
    /// A fit of `ensemble`.
    pub(super) fn new(
        ensemble: &Ensemble,
        config: &'a FitConfig,
        store: Store<'a>,
        exact: Option<&'a dyn ExactFields>,
        control: &'a Control,
    ) -> Result<Self> {
        control.stage("reading");
        config.validate.validate()?;
        let budget = Budget::new(config)?;
        let fingerprint = format!("{:016x}", ensemble.fingerprint_of_rows(control)?);
        let base = json!({
            "ergode": env!("CARGO_PKG_VERSION"), "data": fingerprint, "seed": config.seed,
            "held_out": config.held_out, "bridge_gaps": config.bridge_gaps,
            "observation": config.observation()?, "limits": config.limits,
        });
        let mut record = config.record(ensemble)?.into_owned();
        let mut left_out = Vec::new();
        // A reference system and a ring have the coordinates that they have.
        if exact.is_none() && config.ring.sites == 0 {
            let kept;
            (kept, left_out) = fallback::independent(&record, config.check.duplicate_eigenvalue);
            if kept.is_empty() {
                return Err(Error::input(
                    "every coordinate has the same value in all samples, so there are no dynamics to learn",
                ));
            }
            if kept.len() < record.dim() {
                record = record.columns(&kept)?;
            }
        }
        Ok(Self {
            record,
            left_out,
            budget,
            config,
            store,
            exact,
            control,
            fingerprint,
            base,
            collected: None,
        })
    }

    /// A fit of sums over a record, of which some rows are at hand.
    pub(super) fn of_sums(
        excerpt: Ensemble,
        collected: &'a Collected,
        fingerprint: String,
        config: &'a FitConfig,
        store: Store<'a>,
        control: &'a Control,
    ) -> Result<Self> {
        config.validate.validate()?;
        Ok(Self {
            record: excerpt,
            left_out: Vec::new(),
            budget: Budget::new(config)?,
            base: json!({
                "ergode": env!("CARGO_PKG_VERSION"), "sums": fingerprint, "seed": config.seed, "limits": config.limits,
            }),
            config,
            store,
            exact: None,
            control,
            fingerprint,
            collected: Some(collected),
        })
    }

    /// Findings on the coordinates that were left out.
    pub(super) fn left_out(&self) -> &[Finding] {
        &self.left_out
    }

    /// Check the record, find what lies between it and the state, and hold some of it out.
    pub(super) fn prepare(&self) -> Result<Prepared> {
        self.control.stage("checking");
        let (record, config) = (&self.record, self.config);
        let key = json!({"base": self.base, "check": config.check, "space": config.space});
        let observed = self.observe(&key)?;
        let (check, spent) = self.store.stage("check", key, || match &observed {
            Some((fit, _)) => Ok(fit.check.clone()),
            None => self.checked(),
        })?;
        let hopeless =
            |f: &&Finding| f.kind == FindingKind::Duplicate && f.severity == Severity::Fail;
        let kept = self.exact.is_some() || config.ring.sites > 0;
        if let Some(twice) = check.findings.iter().find(hopeless).filter(|_| kept) {
            return Err(Error::input(format!("{}; {}", twice.message, twice.advice)));
        }
        let seconds = spent + observed.as_ref().map_or(0.0, |o| o.1);
        let observed = observed.map(|(fit, _)| fit);
        let observation = match &observed {
            Some(fit) => fit.observation.clone(),
            None => Observation::plain(record.names()),
        };
        let mut plan = Plan::for_record(&check, &observation, config)?;
        plan.noticed.extend(self.left_out.clone());
        plan.find_walls(record, &check, config, self.control)?;
        let record = &plan.space.admit(record)?;
        refuse_unusable(
            &config.validate,
            &*observation.stationary(record)?,
            self.control,
        )?;
        let cuts = self.split(record, &mut plan)?;
        let (training, held_out) = (record.cut(&cuts[0])?, record.cut(&cuts[1])?);
        let states = |part: &Ensemble| -> Result<Ensemble> {
            let stationary = observation.stationary(part)?;
            Ok(observation.states(stationary)?.into_owned())
        };
        let (training, held_states) = (states(&training)?, states(&held_out)?);
        let plan = plan.with_logarithms(&near_zero(&training), training.names(), config)?;
        Ok(Prepared {
            check,
            observed,
            observation,
            plan,
            training,
            held_out,
            held_states,
            cuts,
            seconds,
        })
    }

    /// The check of the record, its scales alone where that fails.
    fn checked(&self) -> Result<CheckReport> {
        let (record, config) = (&self.record, self.config);
        let check = || check_in_space(record, &config.check, &config.space, self.control);
        match self.control.within(self.budget.share(0.2), check) {
            Err(error) if blame::allowed(&error, false) => self
                .record
                .intact(fallback::unchecked(&self.record, &error)),
            check => check,
        }
    }

    /// The rows of the record in two, as far apart as its length allows.
    pub(super) fn split(&self, record: &Ensemble, plan: &mut Plan) -> Result<[Vec<Cut>; 2]> {
        let fraction = self.config.held_out;
        let rows = |gap: f64| {
            let cuts = record.split_rows(fraction, gap)?;
            // Parts of gaps alone are none.
            cuts.iter().try_for_each(|cut| record.cut(cut).map(drop))?;
            Ok(cuts)
        };
        let mut split = rows(plan.horizon);
        for part in [0.25, 0.0] {
            split = split.or_else(|_: Error| rows(part * plan.horizon));
        }
        match split {
            Err(error) if blame::allowed(&error, !(fraction > 0.0 && fraction < 1.0)) => {
                plan.noticed.push(blame::fell_back(
                    Severity::Fail,
                    "holding out a part of the record",
                    &error,
                    "the model is compared with the data that it was fitted to",
                    "give a longer record",
                ));
                let whole = record.trajectories().iter().enumerate();
                let whole: Vec<Cut> = whole.map(|(k, t)| (k, 0..t.len(), 1)).collect();
                Ok([whole.clone(), whole])
            }
            split => split,
        }
    }

    /// What lies between record and state, and the seconds that it took to find; none if nothing does.
    fn observe(&self, key: &Value) -> Result<Option<(ObservationFit, f64)>> {
        let observation = self.config.observation()?;
        if observation.is_plain() {
            return Ok(None);
        }
        let check = &self.config.check;
        let work = || fit_observation(&self.record, &observation, check, self.control);
        let found = self.store.stage("observation", key.clone(), work)?;
        Ok(Some(found))
    }

    /// Fit score and mobility.
    pub(super) fn learn(&self, prepared: &Prepared) -> Result<Learned> {
        let config = self.config;
        let key = json!({
            "base": self.base, "check": config.check, "score": config.score, "ring": config.ring, "space": config.space,
            "mobility": config.mobility, "paper": config.paper, "drift": config.drift, "diffusion": config.diffusion,
        });
        let task = Task {
            training: &prepared.training,
            held_out: &prepared.held_states,
            collected: self.collected,
            config,
            plan: &prepared.plan,
            fingerprint: &self.fingerprint,
            observation: &prepared.observation,
            budget: &self.budget,
        };
        let checkpoints = self.store.checkpoints();
        let learn = || {
            let learned = task.learn(checkpoints.as_deref(), self.control);
            self.record.intact(learned)
        };
        let (stage, models) = self.store.model_stage("model", key.clone(), learn)?;
        Ok(Learned { stage, models, key })
    }

    /// Simulate the model and its constant closure.
    pub(super) fn roll_out(&self, learned: &Learned) -> Result<Rolled> {
        if self
            .store
            .kept::<Judged>("validation", &self.judged_key(learned))
            .is_some()
        {
            return Ok(Rolled::Kept);
        }
        self.control.stage("simulating");
        let custom = self.config.simulate.dt.is_some() || self.config.simulate.time.is_some();
        match self.record.intact(self.simulate(learned)) {
            Err(error) if blame::allowed(&error, custom) => Ok(Rolled::Missing(error.to_string())),
            runs => Ok(Rolled::Done(Box::new(runs?))),
        }
    }

    /// The rollouts, shorter ones where they take too long.
    fn simulate(&self, learned: &Learned) -> Result<Rollouts> {
        /// Part of their length and number.
        const LESS: f64 = 0.1;
        /// Part of the time that is left, and the same where it is likely not to be enough.
        const SHARE: f64 = 0.4;
        const SMALL: f64 = 0.1;
        let (config, control) = (self.config, self.control);
        let Models { model, constant } = &learned.models;
        let record = model.space().admit(&self.record)?;
        let record = &*model.observation().stationary(&record)?;
        let key = json!({"model": learned.key, "simulate": config.simulate});
        let choose = || rollout::choose_steps(model, constant, record, config, control);
        let choose = || control.within(self.budget.share(0.15), choose);
        let (steps, spent): (Steps, f64) = self.store.stage("steps", key, choose)?;
        let share = if steps.are_slow() { SMALL } else { SHARE };
        let run = |config: &FitConfig| {
            let steps = (&steps, spent);
            let work = || rollout::roll_out(model, constant, record, steps, config, control);
            control.within(self.budget.share(share), work)
        };
        let whole = match steps.are_slow() {
            true => Err(Error::late(
                "the noise is so weak that it takes too many steps",
            )),
            false => run(config),
        };
        match whole {
            Err(error) if error.is_late() => {
                let mut less = config.clone();
                less.simulate.length *= LESS;
                less.simulate.trajectories =
                    (LESS * config.simulate.trajectories as f64).ceil() as usize;
                let mut runs = run(&less)?;
                runs.findings.push(blame::fell_back(
                    Severity::Warn,
                    "a simulation of full length",
                    &error,
                    "rollouts are a tenth as long and as many",
                    "raise limits.seconds, or simulate.dt",
                ));
                Ok(runs)
            }
            runs => runs,
        }
    }

    /// Compare the rollouts with the held-out data; the comparison and its seconds.
    pub(super) fn judge(
        &self,
        prepared: &Prepared,
        learned: &Learned,
        rollouts: Rolled,
    ) -> Result<(Judged, f64)> {
        self.control.stage("validating");
        let model = &learned.models.model;
        let key = self.judged_key(learned);
        let ((validation, runs), spent) = self.store.stage("validation", key, || {
            let missing = |reason: &str| {
                let validation = Validation::missing(model.names(), reason, &self.config.validate);
                (validation, Runs::missing(model, reason))
            };
            let rollouts = match rollouts {
                Rolled::Done(rollouts) => *rollouts,
                Rolled::Missing(reason) => return Ok(missing(&reason)),
                Rolled::Kept => {
                    let message = "another process changed the folder of the run; rerun the fit";
                    return Err(Error::numerical(message));
                }
            };
            let record = model.space().admit(&self.record)?;
            let record = &*model.observation().stationary(&record)?;
            let held_out = &prepared.held_out;
            let (config, control) = (self.config, self.control);
            let work = || rollout::judge(model, held_out, record, rollouts, config, control);
            let judged = self
                .record
                .intact(control.within(self.budget.share(0.8), work));
            match judged {
                Err(error) if blame::allowed(&error, blame::validation_is_set(config)) => {
                    Ok(missing(&error.to_string()))
                }
                judged => {
                    let (validation, mut runs) = judged?;
                    let parts = (&prepared.training, &prepared.held_states);
                    let work = || skill::skill(model, parts, &runs, config.seed, control);
                    runs.evidence.skill = Some(control.within(self.budget.share(0.2), work)?);
                    Ok((validation, runs))
                }
            }
        })?;
        let validation = concluded(validation, prepared, &learned.stage, &runs);
        Ok(((validation, runs), spent))
    }

    fn judged_key(&self, learned: &Learned) -> Value {
        let config = self.config;
        json!({"model": learned.key, "simulate": config.simulate, "validate": config.validate})
    }

    /// Put everything together, and write it if the run has a folder.
    pub(super) fn write(
        &self,
        prepared: Prepared,
        learned: Learned,
        ((validation, runs), spent): (Judged, f64),
    ) -> Result<Fitted> {
        self.control.stage("writing the report");
        let Learned { stage, models, .. } = learned;
        let Models { model, constant } = models;
        let model = match runs.dt.is_nan() {
            true => model,
            false => model.with_validated_step(runs.dt, runs.scheme)?,
        };
        let mut seconds = BTreeMap::from([
            ("check".to_owned(), prepared.seconds),
            ("simulate".to_owned(), runs.seconds),
            ("validate".to_owned(), spent),
        ]);
        seconds.extend(stage.seconds.clone());
        let states = prepared.held_states.sample_tile(COMPARED);
        let truth = self.exact.map(|exact| {
            let (score, mobility, phi) = (model.score(), model.mobility(), constant.mobility());
            compare(score, mobility, phi, exact, &states)
        });
        let validated = runs.results(&validation);
        let mut results = stage.results(model.provenance(), seconds, validated, truth);
        results.space = spaces(&model, &prepared.training, &results.policy);
        results.equation = model.written_equation().as_ref().map(EquationResults::new);
        let skill = runs.evidence.skill.as_ref().and_then(Part::done);
        results.skill = skill.map(|found| found.skill.clone());
        results.observation = prepared.observed.map(|fit| ObservationResults {
            summary: fit.observation.sentences(),
            map: fit.observation,
            delay_trials: fit.trials,
        });
        let most = rollout::most_samples(model.dim());
        let shown = &*prepared.held_states.excerpt(most)?;
        let record = RunRecord {
            names: model.names().to_vec(),
            sites: self.config.ring.sites,
            configuration: self.config.to_toml()?,
            observation: model.observation().clone(),
            fields: fields(&model, self.exact, shown)?,
            results,
            check: prepared.check,
            learned: stage.learned,
            validation,
            evidence: runs.evidence,
            benchmark: Vec::new(),
        };
        self.store.write(&model, &record)?;
        Ok(Fitted {
            model,
            constant,
            record,
        })
    }
}

/// The validation with the findings of the other stages.
fn concluded(
    mut validation: Validation,
    prepared: &Prepared,
    stage: &ModelStage,
    runs: &Runs,
) -> Validation {
    let (check, walled) = (&prepared.check, prepared.plan.space.has_walls());
    // A fit that corrects for noise needs no warning about it.
    let corrected = stage.mobility.measurement_noise.is_some();
    // Nor does one that knows the walls.
    let check = check.findings.iter();
    let check = check.filter(|f| !(corrected && f.kind == FindingKind::Noise));
    let check = check.filter(|f| !(walled && f.kind == FindingKind::Bounds));
    // Nor one about heavy tails, where its test functions are made for them.
    let charted = stage.policy.iter().any(|made| is_chart(&made.decision));
    let check = check.filter(|f| !(charted && f.kind == FindingKind::HeavyTails));
    // Nor one about memory, where a Markov model meets the correlations at all lags: the check predicts them in a
    // small space of functions, in which nonlinear processes are not closed.
    let chi2 = stage.mobility.chi2_per_equation;
    let met = chi2.is_some_and(|chi2| chi2 <= GOOD_CHI2);
    let check = check.filter(|f| !(met && f.kind == FindingKind::NonMarkov));
    // Nor one about smooth coordinates, where their drift is a function of the others: seen coarsely, that of chaos
    // moves them more than the noise does.
    let several = prepared.plan.space.domains.len() > 1;
    let check = check.filter(|f| !(met && several && f.kind == FindingKind::SecondOrder));
    // A short record, or a coarse one, of which drift and diffusion are known well all the same is information.
    let settled = met && stage.determined;
    let doubts = [FindingKind::ShortRecord, FindingKind::CoarseSampling];
    let check = check.map(|finding| {
        let mut finding = finding.clone();
        if settled && doubts.contains(&finding.kind) && finding.severity == Severity::Warn {
            finding.severity = Severity::Info;
            finding.message += "; drift and diffusion are known to a tenth or better all the same";
        }
        finding
    });
    let misfit = chi2.and_then(judge_misfit);
    validation.add_findings(misfit.as_slice());
    for findings in [&check.collect(), &stage.findings, &runs.findings] {
        validation.add_findings(findings);
    }
    validation
}

/// Domains of coordinates that are no lines, and charts that are not the coordinates themselves, with the reasons
/// of the policy.
fn spaces(
    model: &LangevinModel,
    training: &Ensemble,
    policy: &[Decision],
) -> BTreeMap<String, SpaceResults> {
    let edges = match model.space().is_plain() {
        true => vec![[None; 2]; model.dim()],
        false => edge_kinds(model.mobility(), training),
    };
    let named = model.names().iter().zip(&model.space().domains).zip(edges);
    let decided = |matter: String| policy.iter().find(|made| made.decision == matter);
    let described = named.filter_map(|((name, domain), edges)| {
        let (decision, chart) = (decided(space_of(name)), decided(chart_of(name)));
        (*domain != Domain::Line || chart.is_some()).then(|| {
            let reasons = decision
                .into_iter()
                .chain(chart)
                .map(|made| made.reason.clone());
            let results = SpaceResults {
                kind: *domain,
                description: domain.describe(),
                edges,
                chart: chart.map(|made| made.choice.clone()),
                reason: reasons.collect::<Vec<_>>().join("; "),
            };
            (name.clone(), results)
        })
    });
    described.collect()
}

/// The fields of one or two coordinates, or of a ring of spins, on the held-out data.
fn fields(
    model: &LangevinModel,
    exact: Option<&dyn ExactFields>,
    held_out: &Ensemble,
) -> Result<Option<Part<FieldRecord>>> {
    if let Some(onsite) = model.onsite() {
        if onsite.basis().dim() != SPIN {
            return Ok(None);
        }
        let closure = SpinClosure {
            name: "model",
            role: Role::Model,
            block: onsite,
        };
        let maps = SpinMaps::new(&[closure], held_out);
        return Part::of(maps.map(FieldRecord::Spins)).map(Some);
    }
    if model.dim() > 2 {
        return Ok(None);
    }
    let score = exact.map(|exact| ExactScore::new(model.dim(), exact));
    let mobility = exact.map(|exact| ExactMobility::new(model, exact));
    let pair = FieldPair {
        score: model.score(),
        mobility: model.mobility(),
    };
    let exact = score.as_ref().zip(mobility.as_ref());
    let exact = exact.map(|(score, mobility)| FieldPair { score, mobility });
    let maps = FieldMaps::new(pair, exact, held_out);
    let maps = maps.map(
        |maps| match model.space().has_circles() && model.has_fitted_drift() {
            true => maps.with_drift(model),
            false => maps,
        },
    );
    Part::of(maps.map(|maps| FieldRecord::Plane(Box::new(maps)))).map(Some)
}
