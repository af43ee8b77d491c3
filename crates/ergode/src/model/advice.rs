//! How long a step may be.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::LangevinModel;
use super::damping::longest_step;
use crate::control::Control;
use crate::error::{Result, require_positive};
use crate::finding::{Finding, FindingKind, Severity};
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

/// The tolerance between walls, where errors fall slowly with the step, at least, and the number of tolerances up
/// to which an error is only information.
const WALLED: f64 = 0.01;
const SLOW: f64 = 3.0;

/// An error up to which the comparison with the data alone judges: a hundredth of a standard deviation.
const VISIBLE: f64 = 0.01;

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
    /// Pairs of trajectories that were compared.
    pub trajectories: usize,
}

impl StepTrial {
    /// Two standard errors above the weak error; infinite where trajectories failed.
    fn bound(&self) -> f64 {
        let bound = self.weak_error + 2.0 * self.standard_error;
        match self.failures {
            0 if bound.is_finite() => bound,
            _ => f64::INFINITY,
        }
    }
}

/// How long a step may be.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StepAdvice {
    /// The largest step whose weak error is below the tolerance by two standard errors; where there is none,
    /// the step for which that bound was least.
    pub recommended: f64,
    /// The largest step without failures whose weak error is below a quarter.
    pub largest_stable: f64,
    /// All steps that were tried.
    pub trials: Vec<StepTrial>,
    /// What is known of the recommended step, where it may miss the tolerance.
    pub finding: Option<Finding>,
}

impl StepAdvice {
    /// Two standard errors above the weak error of the recommended step.
    fn bound(&self) -> f64 {
        let tried = self
            .trials
            .iter()
            .filter(|trial| trial.dt == self.recommended);
        tried.map(StepTrial::bound).fold(f64::INFINITY, f64::min)
    }

    /// Whether the recommended step has a finding that a reader should act on.
    fn is_doubtful(&self) -> bool {
        let finding = self.finding.as_ref();
        finding.is_some_and(|finding| finding.severity > Severity::Info)
    }
}

/// Step and scheme of a simulation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepChoice {
    /// The step.
    pub dt: f64,
    /// The scheme.
    pub scheme: Scheme,
    /// What is known of the step, where its error may be large.
    pub finding: Option<Finding>,
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

/// States of which all trials of a search together compute the change, a minute or so.
const MOST_WORK: f64 = 1.5e8;

/// Trajectories are added by at most this factor, where their standard error hides the error of the step.
const MORE: f64 = 16.0;

/// Standard deviations beyond which a coordinate counts as so far away in means and mean squares: averages of the
/// squares of a heavy tail need not settle, however long the runs.
const REACH: f64 = 5.0;

/// Steps between two looks at whether to stop.
const WATCHED: usize = 256;

/// Step and scheme for a simulation of which nothing is said. The step is that of [`advise_step`] in one or two
/// coordinates. In more, where coupled runs take long, it is a fiftieth (Platen: a tenth) of the time in which
/// the drift changes ([`LangevinModel::fastest_rate`]): a weak error of about a percent for the fastest mode,
/// less for others. In any number of coordinates it is short enough for the damping of every mode.
///
/// Without a `scheme` it is Euler's, unless a rotation that is fast beside its damping makes steps of Platen's
/// scheme much longer.
///
/// # Errors
/// As for [`advise_step`].
pub fn default_step(
    model: &LangevinModel,
    scheme: Option<Scheme>,
    config: &StepConfig,
    control: &Control,
) -> Result<StepChoice> {
    /// Platen's scheme is used where Euler's step is shorter than what stiffness asks for by this factor.
    const ROTATING: f64 = 0.25;
    let changes = 1.0 / model.fastest_rate();
    let stiff = |scheme: Scheme| match scheme {
        Scheme::Euler => changes / 50.0,
        Scheme::Platen => changes / 10.0,
    };
    let damped = |scheme: Scheme| {
        // The stiff part of the rule has an error of a percent.
        let tolerance = config.tolerance.max(0.012);
        longest_step(model, scheme, stiff(scheme), tolerance)
    };
    let free = scheme.is_none() && !model.space().has_walls();
    let scheme = match scheme {
        Some(scheme) => scheme,
        None if damped(Scheme::Euler)? < ROTATING * stiff(Scheme::Euler) => Scheme::Platen,
        None => Scheme::Euler,
    };
    if model.dim() > 2 {
        return Ok(StepChoice {
            dt: damped(scheme)?,
            scheme,
            finding: None,
        });
    }
    let asked = |scheme: Scheme| advise_step(model, &StepConfig { scheme, ..*config }, control);
    let (advice, scheme) = match asked(scheme) {
        // Errors of Euler's steps fall so slowly that runs of affordable length may not show a short enough one.
        Ok(advice) if free && scheme == Scheme::Euler && advice.is_doubtful() => {
            match asked(Scheme::Platen) {
                Ok(higher) if higher.bound() < advice.bound() => (higher, Scheme::Platen),
                Err(error) if !error.is_late() => return Err(error),
                _ => (advice, scheme),
            }
        }
        Err(error) if error.is_late() => {
            let finding = Some(untried(&error.to_string()));
            return Ok(StepChoice {
                dt: damped(scheme)?,
                scheme,
                finding,
            });
        }
        advice => (advice?, scheme),
    };
    let most = damped(scheme)?;
    // Coupled runs are too short to see the damping of a slow mode.
    let rotating = most < ROTATING * stiff(scheme) || scheme == Scheme::Platen;
    let dt = if rotating {
        advice.recommended.min(most)
    } else {
        advice.recommended
    };
    Ok(StepChoice {
        dt,
        scheme,
        finding: advice.finding,
    })
}

/// The finding on a step that no trial confirmed.
fn untried(reason: &str) -> Finding {
    Finding::new(
        FindingKind::Step,
        Severity::Warn,
        format!(
            "no step of the simulations was found by trial, because {reason}; the step follows from how \
             fast the drift changes"
        ),
        "set simulate.dt, and compare the results with those of half that step",
    )
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
    let known = validated.map_or_else(Scheme::default, |(_, scheme)| scheme);
    let (dt, scheme) = match (dt, validated) {
        (Some(dt), _) => (dt, known),
        (None, Some((dt, _))) => (fitting(dt), known),
        (None, None) => {
            let steps = StepConfig {
                seed,
                ..StepConfig::default()
            };
            let choice = default_step(model, None, &steps, control)?;
            (fitting(choice.dt), choice.scheme)
        }
    };
    Ok(SimulateConfig {
        time,
        dt,
        save_every: save_every.unwrap_or(dt),
        trajectories,
        seed,
        scheme,
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
/// and mean squares, coordinates limited to five standard deviations.
///
/// The error at a step Δ is extrapolated from runs with Δ and Δ/2 that share their Brownian paths, so that
/// their difference has little noise: for a scheme of weak order p it is that difference times
/// 1/(1 − 2^−p). The runs last 20 units of the fastest time, the least variance over ⟨D⟩ of a coordinate:
/// errors that build up over much slower times are not seen. Where the standard error hides the error of the
/// step and falls no more with it, as in chaos, there are more trajectories.
///
/// The search ends after a number of trials or computed states. The step with the least bound on its error is
/// then recommended, with a finding.
///
/// # Errors
/// When the tolerance is not positive, or the work is stopped.
pub fn advise_step(
    model: &LangevinModel,
    config: &StepConfig,
    control: &Control,
) -> Result<StepAdvice> {
    require_positive("tolerance", config.tolerance)?;
    let walled = model.space().has_walls();
    let config = &StepConfig {
        tolerance: config.tolerance.max(if walled { WALLED } else { 0.0 }),
        ..*config
    };
    let fastest = model.fastest_time();
    let equation = model.equation();
    let mut trials: Vec<StepTrial> = Vec::new();
    let (mut dt, mut count, mut spent) = (round_down(fastest), config.trajectories, 0.0);
    control.begin(MOST_TRIALS as u64);
    for _ in 0..MOST_TRIALS {
        let cost = |count: usize, dt: f64| {
            3.0 * (LENGTH + BURN_IN) * fastest / dt * (count * model.dim()) as f64
        };
        if !trials.is_empty() && (spent + cost(count, dt) > MOST_WORK || dt < config.shortest) {
            break;
        }
        spent += cost(count, dt);
        let trial = attempt(model, &*equation, (config, count), dt, fastest, control)?;
        let before = trials.last().copied();
        trials.push(trial);
        control.advance(1)?;
        if trial.bound() <= config.tolerance {
            break;
        }
        let wanted = (4.0 * trial.standard_error / config.tolerance).powi(2);
        let hidden = trial.weak_error <= config.tolerance + 2.0 * trial.standard_error;
        let stuck = before.is_some_and(|before| {
            let falls = trial.standard_error < 0.8 * before.standard_error;
            hidden && before.trajectories == count && !falls
        });
        let more = (wanted.clamp(1.0, MORE) * count as f64) as usize;
        let affordable = more > count && spent + cost(more, dt) <= MOST_WORK;
        match stuck && trial.failures == 0 && affordable {
            true => count = more,
            false => dt = round_down(0.5 * dt),
        }
    }
    let mut advice = conclude(trials, config.tolerance);
    let slow = |trial: &StepTrial| trial.bound() <= SLOW * config.tolerance;
    if walled && advice.trials.iter().any(slow) {
        advice.finding.iter_mut().for_each(at_walls);
    }
    Ok(advice)
}

/// Where noise vanishes at a wall, the error falls with a small power of the step: one that is not large is
/// judged by the comparison with the data alone.
fn at_walls(finding: &mut Finding) {
    finding.severity = Severity::Info;
    finding.message += "; errors fall slowly with the step where the noise vanishes at a wall";
}

/// The best of the trials.
fn conclude(trials: Vec<StepTrial>, tolerance: f64) -> StepAdvice {
    let least = |best: StepTrial, trial: &StepTrial| {
        // Where trajectories fail at every step, the one with fewest of them, and the shortest.
        let all_fail = best.bound().is_infinite() && trial.failures <= best.failures;
        match trial.bound() < best.bound() || all_fail {
            true => *trial,
            false => best,
        }
    };
    let best = trials.iter().fold(trials[0], least);
    let finding = match best.bound() {
        bound if bound <= tolerance => None,
        bound => Some(Finding::new(
            FindingKind::Step,
            if bound <= VISIBLE.max(tolerance) {
                Severity::Info
            } else {
                Severity::Warn
            },
            match bound.is_finite() {
                true => format!(
                    "no step of the simulations is known to have a weak error below {tolerance}; the step \
                     {:e} has {:.2e} ± {:.0e}",
                    best.dt, best.weak_error, best.standard_error
                ),
                false => format!(
                    "{} of {} trajectories of the model diverge even with the step {:e}",
                    best.failures, best.trajectories, best.dt
                ),
            },
            "set simulate.dt, and compare the results with those of half that step",
        )),
    };
    let stable = |t: &&StepTrial| t.failures == 0 && t.weak_error < UNSTABLE;
    StepAdvice {
        recommended: best.dt,
        largest_stable: trials.iter().find(stable).map_or(best.dt, |trial| trial.dt),
        trials,
        finding,
    }
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
    (config, count): (&StepConfig, usize),
    dt: f64,
    fastest: f64,
    control: &Control,
) -> Result<StepTrial> {
    let steps = |length: f64| (length * fastest / dt).ceil() as usize;
    let tiles = count.div_ceil(LANES).max(1);
    let pairs = (0..tiles).into_par_iter().map(|tile| {
        let mut pair = Pair::new(model, config, tile * LANES);
        for (length, sum) in [(BURN_IN, false), (LENGTH, true)] {
            let mut left = steps(length);
            while left > 0 {
                let some = left.min(WATCHED);
                pair.advance(equation, config.scheme, dt, some, sum);
                control.advance(0)?;
                left -= some;
            }
        }
        Ok(pair.differences(steps(LENGTH)))
    });
    let pairs: Vec<Vec<f64>> = pairs.collect::<Result<Vec<_>>>()?.concat();
    let finite: Vec<&Vec<f64>> = pairs
        .iter()
        .filter(|pair| pair.iter().all(|v| v.is_finite()))
        .collect();
    let order = match config.scheme {
        Scheme::Platen if !model.space().has_walls() => 2,
        Scheme::Euler | Scheme::Platen => 1,
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
    Ok(StepTrial {
        dt,
        failures: pairs.len() - finite.len(),
        weak_error,
        standard_error,
        trajectories: count,
    })
}

/// Trajectories with steps Δ and Δ/2 on the same Brownian paths.
struct Pair<'a> {
    model: &'a LangevinModel,
    coarse: AlignedBuffer,
    fine: AlignedBuffer,
    streams: Vec<Stream>,
    /// Sums over the steps of z_i and z_i², of an angle cos z_i and sin z_i, of the coarse less the fine state,
    /// (function, lane).
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
            if standardiser.is_circle(k / LANES) {
                means[k] += a.cos() - b.cos();
                squares[k] += a.sin() - b.sin();
                continue;
            }
            // A clamp would hide what is not a number.
            let (a, b) = match (a.is_finite(), b.is_finite()) {
                (true, true) => (a.clamp(-REACH, REACH), b.clamp(-REACH, REACH)),
                _ => (f64::NAN, f64::NAN),
            };
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
