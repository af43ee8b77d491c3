//! How long a step may be.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::LangevinModel;
use crate::control::Control;
use crate::error::{Error, Result, require_positive};
use crate::random::{Purpose, Stream};
use crate::simd::{AlignedBuffer, GROUP};
use crate::simulate::{Scheme, Sde, SimulateConfig};

/// How the step is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct StepConfig {
    /// Numerical scheme.
    pub scheme: Scheme,
    /// The weak error that is accepted: of means in standard deviations, of mean squares in variances.
    pub tolerance: f64,
    /// Pairs of trajectories that are compared, rounded up to whole groups of eight.
    pub trajectories: usize,
    /// Shorter steps than this are not tried.
    pub shortest: f64,
    /// Seed of starts and noise.
    pub seed: u64,
}

impl Default for StepConfig {
    fn default() -> Self {
        Self {
            scheme: Scheme::default(),
            tolerance: 0.01,
            trajectories: 256,
            shortest: 0.0,
            seed: 0,
        }
    }
}

/// What was found at one step.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct StepTrial {
    /// The step.
    pub dt: f64,
    /// Trajectories that left the finite numbers.
    pub failures: usize,
    /// The largest weak error of a mean or mean square, by extrapolation from `dt` and `dt`/2.
    pub weak_error: f64,
    /// Its standard error, over trajectories.
    pub standard_error: f64,
}

/// How long a step may be.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StepAdvice {
    /// The largest step whose weak error is below the tolerance by two standard errors.
    pub recommended: f64,
    /// The largest step without failures whose weak error is below a quarter.
    pub largest_stable: f64,
    /// All steps that were tried, the last of them recommended.
    pub trials: Vec<StepTrial>,
}

/// A weak error above this is no longer an expansion in the step.
const UNSTABLE: f64 = 0.25;

/// Length of a trial and of what it leaves out at the start, in units of the fastest time.
const LENGTH: f64 = 20.0;
const BURN_IN: f64 = 5.0;

/// Steps that are tried at most, each 2 or 2.5 times shorter than the one before.
const MOST_TRIALS: usize = 14;

/// Trajectories that one task advances; fixed, so that results do not depend on the threads.
const LANES: usize = 4 * GROUP;

/// A step for a simulation of which nothing is said: that of [`advise_step`] in one or two coordinates.
/// In more, where coupled runs take long, a fiftieth of the time in which the drift changes
/// ([`LangevinModel::fastest_rate`]): a weak error of about a percent for the fastest mode, less for others.
///
/// # Errors
/// As for [`advise_step`].
pub fn default_step(model: &LangevinModel, config: &StepConfig, control: &Control) -> Result<f64> {
    /// Steps in the time in which the drift changes.
    const STEPS: f64 = 50.0;
    if model.dim() <= 2 {
        return Ok(advise_step(model, config, control)?.recommended);
    }
    Ok(1.0 / (STEPS * model.fastest_rate()))
}

/// The configuration of a simulation, with defaults from the model. The scheme is that of the validation
/// ([`LangevinModel::validated_step`]), Euler for a model that was not validated. Without `dt` the step is
/// that of the validation, or of [`default_step`] for a model that was not validated, shortened so that a
/// whole number of steps makes `save_every`. Without `save_every` each step is saved.
///
/// # Errors
/// As for [`advise_step`].
pub fn simulation_protocol(
    model: &LangevinModel,
    time: f64,
    dt: Option<f64>,
    save_every: Option<f64>,
    trajectories: usize,
    seed: u64,
    control: &Control,
) -> Result<SimulateConfig> {
    let validated = model.validated_step();
    let fitting = |dt: f64| save_every.map_or(dt, |every| whole_steps(every, dt));
    let dt = match (dt, validated) {
        (Some(dt), _) => dt,
        (None, Some((dt, _))) => fitting(dt),
        (None, None) => {
            let steps = StepConfig {
                seed,
                ..StepConfig::default()
            };
            fitting(default_step(model, &steps, control)?)
        }
    };
    Ok(SimulateConfig {
        time,
        dt,
        save_every: save_every.unwrap_or(dt),
        trajectories,
        seed,
        scheme: validated.map_or_else(Scheme::default, |(_, scheme)| scheme),
        burn_in: 0.0,
    })
}

/// The longest step that is not above `longest`, a whole number of which makes `interval`.
fn whole_steps(interval: f64, longest: f64) -> f64 {
    // A factor of rounding, so that 0.07 is seven steps of 0.01.
    let steps = (interval / longest * (1.0 - 1e-9)).ceil();
    interval / steps
}

/// Find the largest step of round length (1, 2 or 5 times a power of ten) that keeps the stationary means
/// and mean squares.
///
/// The error at a step Δ is extrapolated from runs with Δ and Δ/2 that share their Brownian paths, so that
/// their difference has little noise: for a scheme of weak order p it is that difference times
/// 1/(1 − 2^−p). The runs last 20 units of the fastest time, the least variance over ⟨D⟩ of a coordinate:
/// errors that build up over much slower times are not seen.
///
/// # Errors
/// When no step meets the tolerance, or the work is stopped.
pub fn advise_step(
    model: &LangevinModel,
    config: &StepConfig,
    control: &Control,
) -> Result<StepAdvice> {
    require_positive("tolerance", config.tolerance)?;
    let fastest = model.fastest_time();
    let equation = model.equation();
    let mut trials: Vec<StepTrial> = Vec::new();
    let mut dt = round_down(fastest);
    control.begin(MOST_TRIALS as u64);
    for _ in 0..MOST_TRIALS {
        let trial = attempt(model, &*equation, config, dt, fastest);
        trials.push(trial);
        control.advance(1)?;
        if trial.failures == 0 && trial.weak_error + 2.0 * trial.standard_error <= config.tolerance
        {
            let stable = |t: &&StepTrial| t.failures == 0 && t.weak_error < UNSTABLE;
            let largest = trials.iter().find(stable).map_or(dt, |trial| trial.dt);
            return Ok(StepAdvice {
                recommended: dt,
                largest_stable: largest,
                trials,
            });
        }
        dt = round_down(0.5 * dt);
        if dt < config.shortest {
            break;
        }
    }
    let last = trials[trials.len() - 1];
    Err(Error::numerical(format!(
        "at dt = {:e} the weak error is still {:.2e} ± {:.0e}, above the tolerance {}; raise the \
         tolerance, use more trajectories, or check the model outside the data",
        last.dt, last.weak_error, last.standard_error, config.tolerance
    )))
}

/// The largest of 1, 2, 5 times a power of ten that is not above `value`.
fn round_down(value: f64) -> f64 {
    let power = value.log10().floor() as i32;
    // A factor of rounding, so that 0.5 · 0.2 is 0.1.
    let digit = value * (1.0 + 1e-9) * 10f64.powi(-power);
    let digit = [10.0, 5.0, 2.0, 1.0].into_iter().find(|d| *d <= digit);
    // Written as text, so that it is the nearest number to what is printed.
    format!("{}e{power}", digit.unwrap_or(1.0))
        .parse()
        .expect("a number was written")
}

fn attempt(
    model: &LangevinModel,
    equation: &dyn Sde,
    config: &StepConfig,
    dt: f64,
    fastest: f64,
) -> StepTrial {
    let steps = |length: f64| (length * fastest / dt).ceil() as usize;
    let tiles = config.trajectories.div_ceil(LANES).max(1);
    let pairs: Vec<Vec<f64>> = (0..tiles)
        .into_par_iter()
        .flat_map_iter(|tile| {
            let mut pair = Pair::new(model, config, tile * LANES);
            pair.advance(equation, config.scheme, dt, steps(BURN_IN), false);
            pair.advance(equation, config.scheme, dt, steps(LENGTH), true);
            pair.differences(steps(LENGTH))
        })
        .collect();
    let finite: Vec<&Vec<f64>> = pairs
        .iter()
        .filter(|pair| pair.iter().all(|v| v.is_finite()))
        .collect();
    let order = match config.scheme {
        Scheme::Euler => 1,
        Scheme::Platen => 2,
    };
    let factor = 1.0 / (1.0 - 0.5f64.powi(order));
    let n = finite.len() as f64;
    let estimate = |k: usize| {
        let mean = finite.iter().map(|pair| pair[k]).sum::<f64>() / n;
        let square = finite
            .iter()
            .map(|pair| (pair[k] - mean).powi(2))
            .sum::<f64>();
        (
            factor * mean.abs(),
            factor * (square / (n * (n - 1.0))).sqrt(),
        )
    };
    let (weak_error, standard_error) = (0..2 * model.dim())
        .map(estimate)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .expect("a model has coordinates");
    StepTrial {
        dt,
        failures: pairs.len() - finite.len(),
        weak_error,
        standard_error,
    }
}

/// Trajectories with steps Δ and Δ/2 on the same Brownian paths.
struct Pair<'a> {
    model: &'a LangevinModel,
    coarse: AlignedBuffer,
    fine: AlignedBuffer,
    streams: Vec<Stream>,
    /// Sums over the steps of z_i and z_i² of the coarse less the fine state, (function, lane).
    sums: Vec<f64>,
}

impl<'a> Pair<'a> {
    fn new(model: &'a LangevinModel, config: &StepConfig, first: usize) -> Self {
        let dim = model.dim();
        let mut coarse = AlignedBuffer::zeros(dim * LANES);
        let mut start = vec![0.0; dim];
        for lane in 0..LANES {
            let index = (first + lane) as u64;
            let mut stream = Stream::new(config.seed, Purpose::Initial, index);
            model.draw_start(&mut stream, &mut start);
            for (i, x) in start.iter().enumerate() {
                coarse.as_mut_slice()[i * LANES + lane] = *x;
            }
        }
        let stream = |lane: usize| Stream::new(config.seed, Purpose::Noise, (first + lane) as u64);
        Self {
            model,
            fine: coarse.clone(),
            coarse,
            streams: (0..LANES).map(stream).collect(),
            sums: vec![0.0; 2 * dim * LANES],
        }
    }

    fn advance(&mut self, sde: &dyn Sde, scheme: Scheme, dt: f64, steps: usize, sum: bool) {
        let size = scheme.normals_per_step(sde.noise_dim()) * LANES;
        let (mut fine, mut coarse) = (AlignedBuffer::zeros(2 * size), AlignedBuffer::zeros(size));
        for _ in 0..steps {
            for normals in fine.as_mut_slice().chunks_exact_mut(LANES) {
                for (normal, stream) in normals.iter_mut().zip(&mut self.streams) {
                    *normal = stream.normal();
                }
            }
            let (first, second) = fine.as_slice().split_at(size);
            let halves = first.iter().zip(second);
            for (whole, (a, b)) in coarse.as_mut_slice().iter_mut().zip(halves) {
                *whole = (a + b) * 0.5f64.sqrt();
            }
            sde.advance(
                scheme,
                dt,
                LANES,
                self.coarse.as_mut_slice(),
                coarse.as_slice(),
            );
            sde.advance(
                scheme,
                0.5 * dt,
                LANES,
                self.fine.as_mut_slice(),
                fine.as_slice(),
            );
            if sum {
                self.add();
            }
        }
    }

    fn add(&mut self) {
        let standardiser = self.model.score.confinement().standardiser();
        let states = self.coarse.as_slice().iter().zip(self.fine.as_slice());
        let (means, squares) = self.sums.split_at_mut(self.model.dim() * LANES);
        for (k, (coarse, fine)) in states.enumerate() {
            let (mean, scale) = (standardiser.mean[k / LANES], standardiser.scale[k / LANES]);
            let (a, b) = ((coarse - mean) / scale, (fine - mean) / scale);
            means[k] += a - b;
            squares[k] += a * a - b * b;
        }
    }

    /// Of every trajectory, the averages over time.
    fn differences(&self, steps: usize) -> Vec<Vec<f64>> {
        let of = |lane: usize| {
            let sums = self.sums.iter().skip(lane).step_by(LANES);
            sums.map(|sum| sum / steps as f64).collect()
        };
        (0..LANES).map(of).collect()
    }
}
