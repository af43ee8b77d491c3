//! A learned model simulated and held against data that it has not seen.

use serde::{Deserialize, Serialize};

use super::blame;
use super::config::FitConfig;
use crate::check::{Lattices, decorrelation_times, mean_interval};
use crate::clock::Clock;
use crate::control::Control;
use crate::data::{Ensemble, Trajectory};
use crate::error::{Error, Result, require_positive};
use crate::finding::{Finding, FindingKind, Severity};
use crate::limits;
use crate::model::{LangevinModel, ModelRun, StepChoice, StepConfig, default_step, simulate_model};
use crate::observable::{Monomials, Standardised};
use crate::observe::Observation;
use crate::report::{Evidence, Measured, Part, SpaceTime, Turns, ValidationResults};
use crate::simulate::{Scheme, SimulateConfig};
use crate::stats::nan_if_null;
use crate::validate::{
    Climatology, Curve, ResponseCheck, Rollout, RolloutRole, SpectrumConfig, ValidateConfig,
    Validation, check_response, compare_climatology, compare_spectra, drift_against_increments,
    refuse_unusable, transitions_against_model, validate_rollouts,
};

/// Results of the simulations.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Runs {
    /// Seconds that they took.
    pub seconds: f64,
    /// Step of the scheme.
    #[serde(deserialize_with = "nan_if_null")]
    pub dt: f64,
    /// The scheme.
    pub scheme: Scheme,
    /// Fraction of the samples outside the support of the data, of the learned model.
    #[serde(deserialize_with = "nan_if_null")]
    pub out_of_support: f64,
    /// Fraction of the samples where D was not positive definite, so that the noise used the nearest
    /// positive matrix.
    #[serde(default, deserialize_with = "nan_if_null")]
    pub indefinite: f64,
    /// What was noticed.
    pub findings: Vec<Finding>,
    /// Comparisons besides those of the validation.
    pub evidence: Evidence,
}

/// Weak error of the step, small compared with the sampling error of most records.
const STEP_ERROR: f64 = 0.003;

/// The shortest step of the constant closure, in steps of the model.
const SHORTER: f64 = 0.01;

/// Fraction of samples outside the support from which there is a warning, and a failure.
const OUTSIDE: (f64, f64) = (0.01, 0.1);

/// Fraction of samples with an indefinite D from which there is a warning, and a failure.
const INDEFINITE: (f64, f64) = (0.01, 0.1);

/// Numbers of a rollout, half a GiB. A longer record is not simulated in full, and then no more of it is
/// compared than there is of a rollout: the errors of the data, from which noise floors are drawn, are then
/// as large as those of the rollouts.
const MOST_NUMBERS: usize = 1 << 26;

/// Most samples of a rollout, and of the data compared with it.
pub(super) fn most_samples(dim: usize) -> usize {
    (MOST_NUMBERS / dim).max(1)
}

/// Steps of the schemes of a learned model and of its constant closure.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Steps {
    learned: StepChoice,
    constant: Part<StepChoice>,
}

impl Steps {
    /// Whether simulations of full length would take too many steps.
    pub(super) fn are_slow(&self) -> bool {
        self.learned.is_slow
    }
}

/// Simulations of a learned model and of its constant closure.
pub(super) struct Rollouts {
    rollouts: Vec<Rollout>,
    /// The protocol of the learned model.
    protocol: SimulateConfig,
    out_of_support: f64,
    indefinite: f64,
    pub(super) findings: Vec<Finding>,
    notes: Vec<String>,
    seconds: f64,
}

/// Simulate a model and its constant closure for as long as `record`, but no more than 2²⁶ numbers, and
/// compare both with held-out data; if these are more, with stretches of them, spread evenly.
///
/// # Errors
/// When the data do not have the coordinates of the model, are too short to compare, or the work is stopped.
pub fn validate_model(
    model: &LangevinModel,
    constant: &LangevinModel,
    held_out: &Ensemble,
    record: Option<&Ensemble>,
    config: &FitConfig,
    control: &Control,
) -> Result<(Validation, Runs)> {
    config.check()?;
    let held_out = &model.space().admit(&*config.record(held_out)?)?;
    let stationary = model.observation().stationary(held_out)?;
    refuse_unusable(&config.validate, &stationary, control)?;
    let excerpt = &*held_out.excerpt(most_samples(model.dim()))?;
    let record = model.space().admit(record.unwrap_or(excerpt))?;
    let record = &*model.observation().stationary(&record)?;
    let clock = Clock::start();
    let steps = choose_steps(model, constant, record, config, control)?;
    let spent = clock.seconds();
    let rollouts = roll_out(model, constant, record, (&steps, spent), config, control)?;
    judge(model, held_out, record, rollouts, config, control)
}

/// Steps with a small weak error, unless a step is set.
pub(super) fn choose_steps(
    model: &LangevinModel,
    constant: &LangevinModel,
    record: &Ensemble,
    config: &FitConfig,
    control: &Control,
) -> Result<Steps> {
    let interval = record.typical_interval()?;
    let learned = step(model, interval, 0.0, config, control)?;
    // A closure that needs much shorter steps than the model is no comparison.
    let constant = step(constant, interval, SHORTER * learned.dt, config, control);
    let constant = constant.and_then(|choice| match &choice.finding {
        Some(finding) => Err(Error::numerical(finding.message.clone())),
        None => Ok(choice),
    });
    Ok(Steps {
        learned,
        constant: Part::of(constant)?,
    })
}

/// Simulate both models with these steps, which took some seconds to choose.
pub(super) fn roll_out(
    model: &LangevinModel,
    constant: &LangevinModel,
    record: &Ensemble,
    (steps, spent): (&Steps, f64),
    config: &FitConfig,
    control: &Control,
) -> Result<Rollouts> {
    let clock = Clock::start();
    let mut protocol = protocol(record, record.typical_interval()?, config, control)?;
    protocol.dt = steps.learned.dt;
    protocol.scheme = steps.learned.scheme;
    let lattices = Lattices::of(record);
    let observed = |model: &LangevinModel, run: ModelRun| {
        let states = run.simulation.ensemble;
        let seen = seen(states, model.observation(), record, config.seed)?;
        lattices.rounded(seen)
    };
    let run = simulate_model(model, &protocol, control)?;
    let (mut findings, mut notes) = (Vec::new(), Vec::new());
    let (out_of_support, indefinite) = (run.out_of_support, run.indefinite);
    findings.extend(steps.learned.finding.clone());
    notice(&run, &mut findings);
    let mut rollouts = vec![Rollout {
        name: "learned model".into(),
        role: RolloutRole::Learned,
        ensemble: observed(model, run)?,
    }];
    match &steps.constant {
        Part::Done(step) => {
            let protocol = SimulateConfig {
                dt: step.dt,
                scheme: step.scheme,
                ..protocol.clone()
            };
            let run = simulate_model(constant, &protocol, control)?;
            rollouts.push(Rollout {
                name: "constant closure".into(),
                role: RolloutRole::Constant,
                ensemble: observed(model, run)?,
            });
        }
        Part::Missing(reason) => {
            notes.push(format!("The constant closure was not simulated: {reason}."));
        }
    }
    Ok(Rollouts {
        rollouts,
        protocol,
        out_of_support,
        indefinite,
        findings,
        notes,
        seconds: spent + clock.seconds(),
    })
}

/// Compare rollouts, as long as `record`, with held-out data.
pub(super) fn judge(
    model: &LangevinModel,
    held_out: &Ensemble,
    record: &Ensemble,
    mut runs: Rollouts,
    config: &FitConfig,
    control: &Control,
) -> Result<(Validation, Runs)> {
    let most = most_samples(model.dim());
    let held_out = &*held_out.excerpt(most)?;
    let held_out = &*model.observation().stationary(held_out)?;
    // Equal values of data and simulations are equal numbers then.
    let lattices = Lattices::of(record);
    let held_out = &lattices.rounded(held_out.clone())?;
    let comparing = ValidateConfig {
        training: config
            .validate
            .training
            .or(Some(training_length(held_out, record))),
        ..config.validate.clone()
    };
    let compared = validate_rollouts(held_out, &runs.rollouts, &comparing, control);
    let mut validation = match compared {
        Err(error) if blame::allowed(&error, blame::validation_is_set(config)) => {
            Validation::missing(model.names(), &error.to_string(), &config.validate)
        }
        compared => compared?,
    };
    validation.notes.append(&mut runs.notes);
    if runs.indefinite > 0.0 {
        validation.notes.push(format!(
            "D is not positive definite at {:.2} % of the simulated samples; the noise takes the nearest \
             positive matrix there",
            100.0 * runs.indefinite
        ));
    }
    if record.samples() > most {
        validation.notes.push(format!(
            "the record has {} samples and rollouts at most {most}; they are compared with {} evenly \
             spread samples of the held-out data",
            record.samples(),
            held_out.samples()
        ));
    }
    let evidence = evidence(model, held_out, &runs, config, control)?;
    let climatology = evidence.climatology.as_ref().and_then(Part::done);
    let mut findings = runs.findings;
    let observation = model.observation();
    if observation.delays.is_none() && observation.noise.is_none() {
        findings.extend(drift_against_increments(model, held_out, control)?);
        findings.extend(transitions_against_model(
            model,
            (held_out, &lattices),
            &runs.protocol,
            control,
        )?);
    }
    findings.extend(
        climatology
            .iter()
            .flat_map(|climatology| climatology.findings()),
    );
    let runs = Runs {
        seconds: runs.seconds,
        dt: runs.protocol.dt,
        scheme: runs.protocol.scheme,
        out_of_support: runs.out_of_support,
        indefinite: runs.indefinite,
        findings,
        evidence,
    };
    Ok((validation, runs))
}

/// Length of the data to which a model was fitted, in lengths of the held-out data: what the record has
/// besides these, or three times as much where the record is another one.
fn training_length(held_out: &Ensemble, record: &Ensemble) -> f64 {
    const USUAL: f64 = 3.0;
    let rest = record.samples() as f64 / held_out.samples() as f64 - 1.0;
    if rest > 0.0 { rest } else { USUAL }
}

/// Comparisons besides those of the validation.
fn evidence(
    model: &LangevinModel,
    held_out: &Ensemble,
    runs: &Rollouts,
    config: &FitConfig,
    control: &Control,
) -> Result<Evidence> {
    let observation = model.observation();
    let climatology = observation.cycle.as_ref().map(|cycle| {
        let data = observation.with_cycle(held_out)?;
        let model = observation.with_cycle(&runs.rollouts[0].ensemble)?;
        compare_climatology(cycle.period, &data, &model)
    });
    let space_time = match config.ring.sites {
        0 => None,
        sites => Some(Part::of(space_time(held_out, &runs.rollouts, sites))?),
    };
    // A delayed coordinate is not what the model evolves, nor is it what one kicks.
    let obstacle = match (&observation.delays, &observation.noise) {
        (Some(_), _) => Some("the state has delayed coordinates"),
        (None, Some(_)) => Some("the held-out samples have measurement noise"),
        (None, None) => None,
    };
    let (spectrum, response) = match obstacle {
        Some(reason) => (Part::Missing(reason.into()), Part::Missing(reason.into())),
        None => {
            let spectra = SpectrumConfig::default();
            let spectra = match model.space().has_circles() {
                true => {
                    let reason = "time scales come from M, which holds no steady turn of an angle";
                    Part::Missing(reason.into())
                }
                false => {
                    let mobility = model.mobility();
                    Part::of(compare_spectra(held_out, mobility, &spectra, control))?
                }
            };
            (spectra, Part::of(respond(model, &runs.protocol, control))?)
        }
    };
    Ok(Evidence {
        spectrum,
        response,
        climatology: climatology.map(Part::of).transpose()?,
        space_time,
        skill: None,
    })
}

/// A run as it would be observed, x with measurement noise; trajectories start at phases spread evenly over
/// the cycle.
fn seen(
    states: Ensemble,
    observation: &Observation,
    record: &Ensemble,
    seed: u64,
) -> Result<Ensemble> {
    if observation.is_plain() {
        return Ok(states);
    }
    let first = record.trajectories()[0].time(0);
    let (period, count) = (
        observation.cycle.as_ref().map_or(0.0, |cycle| cycle.period),
        states.len() as f64,
    );
    observation.seen(&states, &|k| first + period * k as f64 / count, seed)
}

/// The last component of every site over a few decorrelation times.
fn space_time(held_out: &Ensemble, rollouts: &[Rollout], sites: usize) -> Result<SpaceTime> {
    /// Samples that are drawn.
    const ROWS: usize = 120;
    let mut records = vec![("data", held_out)];
    records.extend(rollouts.iter().map(|r| (r.name.as_str(), &r.ensemble)));
    let components = held_out.dim() / sites;
    SpaceTime::new(&records, components - 1, components, ROWS)
}

/// Kicks of every coordinate, followed for about a decorrelation time.
fn respond(
    model: &LangevinModel,
    protocol: &SimulateConfig,
    control: &Control,
) -> Result<ResponseCheck> {
    /// Kick in standard deviations, and the times at which it is looked at.
    const KICK: f64 = 0.1;
    const TIMES: f64 = 12.0;
    /// Trajectories of all kicks together, at least those of one, and steps of their coordinates: a few seconds
    /// where a model is not simulated in SIMD lanes.
    const TRAJECTORIES: usize = 16_384;
    const FEWEST: usize = 256;
    const WORK: f64 = 2e7;
    if model.dim() > limits::KICKS {
        return Err(Error::input(format!(
            "{} coordinates are too many to kick one by one; the limit is {}",
            model.dim(),
            limits::KICKS
        )));
    }
    let steps = (protocol.burn_in / TIMES / protocol.dt).ceil();
    // One run from the starts, and two from kicks of each coordinate.
    let runs = (model.dim() * (1 + 2 * model.dim())) as f64;
    let affordable = (WORK / (runs * TIMES * steps)) as usize;
    let count = (TRAJECTORIES / model.dim())
        .min(affordable.max(FEWEST))
        .min(model.starts().nrows());
    let config = SimulateConfig {
        time: TIMES * steps * protocol.dt,
        save_every: steps * protocol.dt,
        trajectories: count,
        burn_in: 0.0,
        ..protocol.clone()
    };
    // Coordinates, and cosine and sine of angles in radians.
    let scales = model.radians();
    let waves = Monomials::of(model.names(), &scales, 1..=1)?;
    let observables = Standardised::new(scales, waves);
    let equation = model.equation();
    let every = model.starts().nrows() / count;
    let (score, starts) = (model.score(), model.starts());
    let starts = starts.slice_move(ndarray::s![..count * every; every, ..]);
    check_response(
        &*equation,
        score,
        &observables,
        starts,
        KICK,
        &config,
        control,
    )
}

impl Runs {
    /// No simulations of `model`, for this reason.
    pub(super) fn missing(model: &LangevinModel, reason: &str) -> Self {
        let cycle = model.observation().cycle.is_some();
        Self {
            seconds: 0.0,
            dt: f64::NAN,
            scheme: Scheme::default(),
            out_of_support: f64::NAN,
            indefinite: f64::NAN,
            findings: Vec::new(),
            evidence: Evidence {
                spectrum: Part::Missing(reason.into()),
                response: Part::Missing(reason.into()),
                climatology: cycle.then(|| Part::Missing(reason.into())),
                space_time: None,
                skill: None,
            },
        }
    }

    fn climatology(&self) -> Option<&Climatology> {
        self.evidence.climatology.as_ref().and_then(Part::done)
    }

    /// The validation in brief.
    pub fn results(&self, validation: &Validation) -> ValidationResults {
        let reasons = validation.reasons.iter();
        ValidationResults {
            correlation_rmse: validation.correlation_rmse,
            noise_floor: validation.noise_floor,
            rmse_over_floor: validation.rmse_over_floor,
            other_over_floor: validation
                .other_correlations
                .overall
                .first()
                .map_or(0.0, |d| d.over_floor),
            constant_rmse: validation.constant_rmse,
            density_l1: validation.density_l1,
            density_l1_floor: validation.density_l1_floor,
            out_of_support: self.out_of_support,
            indefinite: self.indefinite,
            dt: self.dt,
            climatology: self.climatology().cloned(),
            turns: validation
                .windings
                .curves
                .iter()
                .filter_map(turns)
                .collect(),
            verdict: validation.verdict,
            reasons: reasons.map(|reason| reason.message.clone()).collect(),
        }
    }
}

/// The turns of an angle, by its name.
fn turns(curve: &Curve) -> Option<(String, Turns)> {
    let measured = |value: f64, stderr: f64| Measured { value, stderr };
    let model = curve.rollouts.first()?;
    let turns = Turns {
        data: measured(curve.data[0], curve.error[0]),
        model: measured(model.values[0], model.error[0]),
    };
    Some((curve.label.clone(), turns))
}

/// The step that is set, or one with a small weak error; a whole number of them between samples.
fn step(
    model: &LangevinModel,
    interval: f64,
    shortest: f64,
    config: &FitConfig,
    control: &Control,
) -> Result<StepChoice> {
    let asked = config.simulate.scheme;
    let mut choice = match config.simulate.dt {
        Some(dt) => StepChoice {
            dt,
            scheme: asked.unwrap_or_default(),
            finding: None,
            is_slow: false,
        },
        None => {
            let steps = StepConfig {
                tolerance: STEP_ERROR,
                shortest,
                seed: config.seed,
                ..StepConfig::default()
            };
            default_step(model, asked, Some(interval), &steps, control)?
        }
    };
    require_positive("the step of the simulations (simulate.dt)", choice.dt)?;
    choice.dt = interval / (interval / choice.dt).ceil();
    Ok(choice)
}

/// Trajectories that together last as long as the record, each long enough for its lags where the
/// record's own are.
fn protocol(
    record: &Ensemble,
    interval: f64,
    config: &FitConfig,
    control: &Control,
) -> Result<SimulateConfig> {
    /// A trajectory lasts at least this many decorrelation times.
    const SHORTEST: f64 = 30.0;
    let most = most_samples(record.dim());
    let wanted = record.samples() as f64 * config.simulate.length;
    let capped = wanted > most as f64;
    let total = wanted.min(most as f64) * mean_interval(record);
    let times = decorrelation_times(&*record.excerpt(most)?, control)?;
    let longest = times.into_iter().flatten().fold(interval, f64::max);
    let alike = if capped { 1 } else { record.len() };
    let trajectories = config.simulate.trajectories.max(alike).max(1);
    let span = |trajectory: &Trajectory| trajectory.time(trajectory.len() - 1) - trajectory.time(0);
    let longest_record = record.trajectories().iter().map(span).fold(0.0, f64::max);
    let time = (total / trajectories as f64).max((SHORTEST * longest).min(longest_record));
    let time = config.simulate.time.unwrap_or(time);
    // Starts are samples already; the model's own law may differ a little.
    let burn_in = longest.min(0.1 * time);
    Ok(SimulateConfig {
        time,
        dt: interval,
        save_every: interval,
        trajectories,
        seed: config.seed,
        scheme: config.simulate.scheme.unwrap_or_default(),
        burn_in: (burn_in / interval).ceil() * interval,
    })
}

/// Findings on the simulation of the learned model.
fn notice(run: &ModelRun, findings: &mut Vec<Finding>) {
    let outside = run.out_of_support;
    if outside > OUTSIDE.0 {
        findings.push(Finding {
            kind: FindingKind::OutOfSupport,
            severity: if outside > OUTSIDE.1 {
                Severity::Fail
            } else {
                Severity::Warn
            },
            message: format!(
                "the model spends {:.1} % of its time outside the support of the data",
                100.0 * outside
            ),
            advice: "the score is an extrapolation there; check the score's certificate, or give more data"
                .into(),
        });
    }
    if run.indefinite > INDEFINITE.0 {
        findings.push(Finding::new(
            FindingKind::Indefinite,
            if run.indefinite > INDEFINITE.1 {
                Severity::Fail
            } else {
                Severity::Warn
            },
            format!(
                "D is not positive definite at {:.1} % of the simulated samples, where the noise is not \
                 that of the drift",
                100.0 * run.indefinite
            ),
            "lower the degrees of the mobility (mobility.degrees), or give more data",
        ));
    }
    if let Some(failure) = run.simulation.failures.first() {
        findings.push(Finding {
            kind: FindingKind::Unstable,
            severity: Severity::Fail,
            message: failure.to_string(),
            advice: "set a smaller simulate.dt".into(),
        });
    }
}
