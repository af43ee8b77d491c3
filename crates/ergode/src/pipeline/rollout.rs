//! A learned model simulated and held against data that it has not seen.

use std::time::Instant;

use serde::{Deserialize, Serialize};

use super::config::FitConfig;
use super::results::ValidationResults;
use crate::check::{decorrelation_times, mean_interval};
use crate::control::Control;
use crate::data::{Ensemble, Trajectory};
use crate::error::{Error, Result};
use crate::finding::{Finding, FindingKind, Severity};
use crate::model::{LangevinModel, ModelRun, StepConfig, default_step, simulate_model};
use crate::observable::Monomials;
use crate::observe::Observation;
use crate::report::{Section, hovmoeller_figure};
use crate::simulate::SimulateConfig;
use crate::validate::{
    Climatology, ResponseCheck, Rollout, RolloutRole, SpectrumComparison, SpectrumConfig,
    Validation, check_response, compare_climatology, compare_spectra, validate_rollouts,
};

/// How the simulations went.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Runs {
    /// Seconds that they took.
    pub seconds: f64,
    /// Step of the scheme.
    pub dt: f64,
    /// Fraction of the samples outside the support of the data, of the learned model.
    pub out_of_support: f64,
    /// What was noticed.
    pub findings: Vec<Finding>,
    /// Time scales of model and data held out, where these are long enough.
    pub spectrum: Option<SpectrumComparison>,
    /// A ring in space and time, data beside model.
    pub hovmoeller: Option<Section>,
    /// The response of the model to a kick.
    pub response: Option<ResponseCheck>,
    /// Mean and variance by phase, where the model has a cycle.
    #[serde(default)]
    pub climatology: Option<Climatology>,
}

/// Weak error of the step, small beside the sampling error of most records.
const STEP_ERROR: f64 = 0.003;

/// The shortest step of the constant closure, in steps of the model.
const SHORTER: f64 = 0.1;

/// Fraction of samples outside the support from which there is a warning, and a failure.
const OUTSIDE: (f64, f64) = (0.01, 0.1);

/// Numbers of a rollout, half a GiB. A longer record is not simulated in full, and then no more of it is
/// compared than there is of a rollout: the errors of the data, from which noise floors are drawn, are then
/// as large as those of the rollouts.
const MOST_NUMBERS: usize = 1 << 26;

/// Samples of a rollout, and of the data beside it, at most.
pub(super) fn most_samples(dim: usize) -> usize {
    (MOST_NUMBERS / dim).max(1)
}

/// Simulate a model and its constant closure for as long as `record`, but no more than 2²⁶ numbers, and
/// compare both with data held out from the fit; of these stretches, spread evenly, where they are more.
pub fn validate_model(
    model: &LangevinModel,
    constant: &LangevinModel,
    held_out: &Ensemble,
    record: Option<&Ensemble>,
    config: &FitConfig,
    control: &Control,
) -> Result<(Validation, Runs)> {
    let clock = Instant::now();
    let observation = model.observation();
    let most = most_samples(model.dim());
    let held_out = &*config.record(held_out)?;
    let held_out = &*held_out.excerpt(most)?;
    let record = record.unwrap_or(held_out);
    let held_out = &*observation.stationary(held_out)?;
    let record = &*observation.stationary(record)?;
    let interval = record.typical_interval()?;
    let mut protocol = protocol(record, interval, config, control)?;
    let mut findings = Vec::new();
    let (mut dt, mut outside) = (0.0, 0.0);
    let mut rollouts = Vec::new();
    for (name, role, model) in [
        ("learned model", RolloutRole::Learned, model),
        ("constant closure", RolloutRole::Constant, constant),
    ] {
        let learned = role == RolloutRole::Learned;
        // A closure that needs much shorter steps than the model is no comparison.
        let shortest = if learned { 0.0 } else { SHORTER * dt };
        protocol.dt = match step(model, interval, shortest, config, control) {
            Err(error) if learned || error.is_interrupted() => return Err(error),
            Err(_) => continue,
            Ok(dt) => dt,
        };
        let run = simulate_model(model, &protocol, control)?;
        if learned {
            (dt, outside) = (protocol.dt, run.out_of_support);
            notice(&run, &mut findings);
        }
        rollouts.push(Rollout {
            name: name.into(),
            role,
            ensemble: seen(run.simulation.ensemble, observation, record, config.seed)?,
        });
    }
    let seconds = clock.elapsed().as_secs_f64();
    let mut validation = validate_rollouts(held_out, &rollouts, &config.validate, control)?;
    if record.samples() > most {
        validation.notes.push(format!(
            "the record of {} samples is longer than what is simulated, {most} samples at most; rollouts \
             are compared with {} samples of the held-out data, in stretches at even distances",
            record.samples(),
            held_out.samples()
        ));
    }
    let climatology = told(climatology(observation, held_out, &rollouts[0].ensemble))?.flatten();
    if observation.cycle.is_some() && climatology.is_none() {
        validation.notes.push(
            "the data held out have too few periods to compare mean and variance by phase; hold more out \
             (held_out), or give a longer record"
                .to_owned(),
        );
    }
    findings.extend(climatology.iter().flat_map(Climatology::findings));
    // A delayed coordinate is not what the model evolves, nor is it what one kicks; the spectrum is told from
    // states without noise.
    let (mut spectrum, mut response) = (None, None);
    if observation.delays.is_none() && observation.noise.is_none() {
        let config = SpectrumConfig::default();
        spectrum = told(compare_spectra(
            held_out,
            model.mobility(),
            &config,
            control,
        ))?;
        response = told(respond(model, &SimulateConfig { dt, ..protocol }, control))?;
    }
    let runs = Runs {
        seconds,
        dt,
        out_of_support: outside,
        findings,
        spectrum,
        hovmoeller: space_time(held_out, &rollouts, config.ring.sites),
        response,
        climatology,
    };
    Ok((validation, runs))
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

/// Data held out and model by phase, without the trend.
fn climatology(
    observation: &Observation,
    held_out: &Ensemble,
    rollout: &Ensemble,
) -> Result<Option<Climatology>> {
    let Some(cycle) = &observation.cycle else {
        return Ok(None);
    };
    let data = observation.with_cycle(held_out)?;
    let model = observation.with_cycle(rollout)?;
    compare_climatology(cycle.period, &data, &model).map(Some)
}

/// A result that a report can do without, unless the work was stopped.
pub(super) fn told<T>(result: Result<T>) -> Result<Option<T>> {
    match result {
        Err(error) if error.is_interrupted() => Err(error),
        other => Ok(other.ok()),
    }
}

/// The last component of every site over a few decorrelation times.
fn space_time(held_out: &Ensemble, rollouts: &[Rollout], sites: usize) -> Option<Section> {
    /// Samples that are drawn.
    const ROWS: usize = 120;
    if sites == 0 {
        return None;
    }
    let mut records = vec![("data", held_out)];
    records.extend(rollouts.iter().map(|r| (r.name.as_str(), &r.ensemble)));
    let components = held_out.dim() / sites;
    let figure = hovmoeller_figure(&records, components - 1, components, ROWS).ok()?;
    let section = Section::new("space-time", "Space and time");
    Some(section.with(figure))
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
    /// Trajectories of all kicks together.
    const TRAJECTORIES: usize = 16_384;
    /// With more coordinates there are too many kicks.
    const MOST_COORDINATES: usize = 12;
    if model.dim() > MOST_COORDINATES {
        return Err(Error::input("too many coordinates to kick each"));
    }
    let count = (TRAJECTORIES / model.dim()).min(model.starts().nrows());
    let steps = (protocol.burn_in / TIMES / protocol.dt).ceil();
    let config = SimulateConfig {
        time: TIMES * steps * protocol.dt,
        save_every: steps * protocol.dt,
        trajectories: count,
        burn_in: 0.0,
        ..protocol.clone()
    };
    let observables = Monomials::coordinates(model.names())?;
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
            dt: self.dt,
            climatology: self.climatology.clone(),
            verdict: validation.verdict,
            reasons: reasons.map(|reason| reason.message.clone()).collect(),
        }
    }
}

/// The step that is asked for, or one with a small weak error; a whole number of them between samples.
fn step(
    model: &LangevinModel,
    interval: f64,
    shortest: f64,
    config: &FitConfig,
    control: &Control,
) -> Result<f64> {
    let dt = match config.simulate.dt {
        Some(dt) => dt,
        None => {
            let steps = StepConfig {
                scheme: config.simulate.scheme,
                tolerance: STEP_ERROR,
                shortest,
                seed: config.seed,
                ..StepConfig::default()
            };
            default_step(model, &steps, control)?
        }
    };
    Ok(interval / (interval / dt).ceil())
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
        scheme: config.simulate.scheme,
        burn_in: (burn_in / interval).ceil() * interval,
    })
}

/// What the run of the learned model tells of it.
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
                "the model spends {:.1} % of its time where there were no samples",
                100.0 * outside
            ),
            advice: "The score pulls back from there but knows nothing of it; look at the score's \
                     certificate, or give more data."
                .into(),
        });
    }
    if let Some(failure) = run.simulation.failures.first() {
        findings.push(Finding {
            kind: FindingKind::Unstable,
            severity: Severity::Fail,
            message: failure.to_string(),
            advice: "Give a smaller step by simulate.dt.".into(),
        });
    }
}
