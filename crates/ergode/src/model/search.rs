//! The search for a step by trial.

use serde::{Deserialize, Serialize};

use super::LangevinModel;
use super::pairs::Runs;
use crate::control::Control;
use crate::error::{Result, require_positive};
use crate::finding::{Finding, FindingKind, Severity};
use crate::simulate::{Scheme, Sde};

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
    pub(super) fn bound(&self) -> f64 {
        let tried = self
            .trials
            .iter()
            .filter(|trial| trial.dt == self.recommended);
        tried.map(StepTrial::bound).fold(f64::INFINITY, f64::min)
    }

    /// Whether the recommended step has a finding that a reader should act on.
    pub(super) fn is_doubtful(&self) -> bool {
        let finding = self.finding.as_ref();
        finding.is_some_and(|finding| finding.severity > Severity::Info)
    }
}

/// A weak error above this is no longer an expansion in the step.
const UNSTABLE: f64 = 0.25;

/// Length of a trial and of what it leaves out at the start, in units of the fastest time.
const LENGTH: f64 = 20.0;
const BURN_IN: f64 = 5.0;

/// Steps that are tried at most.
const MOST_TRIALS: usize = 14;

/// A step is at most this factor shorter than the one tried before: errors far from the tolerance predict badly.
const FARTHEST: f64 = 10.0;

/// Evaluations, in pairs of F and √2 Σ ξ and per coordinate, that all trials of a search together may take: some
/// seconds.
const MOST_WORK: f64 = 4e8;

/// A trial ends with fewer trajectories than it may have, of which this is the least part, once its error is above
/// or below the tolerance by so many standard errors.
const FIRST: usize = 4;
const CLEAR: f64 = 3.0;

/// Trajectories are added by at most this factor, where their standard error hides the error of the step.
const MORE: f64 = 16.0;

/// Find the largest step of round length (1, 2 or 5 times a power of ten) that keeps the stationary means
/// and mean squares, coordinates limited to five standard deviations.
///
/// The error e at a step Δ is extrapolated from runs with Δ and Δ/2 that share their Brownian paths, so that
/// their difference has little noise: for a scheme of weak order p it is that difference times
/// 1/(1 − 2^−p). The runs last 20 units of the fastest time, the least variance over ⟨D⟩ of a coordinate:
/// errors that build up over much slower times are not seen.
///
/// The search begins with the fastest time, or with twice the time in which the drift changes, above which both
/// schemes are unstable. Where the error is known, e > ε + 2 s with the tolerance ε and the standard error s, the
/// next step is the one at which it should be ε, Δ (ε/e)^{1/p}, but at most Δ/2 and at least Δ/10. Where the
/// standard error hides it, and falls no more with the step, as in chaos, there are more trajectories. A trial ends
/// with a quarter or half of them if |e − ε| > 3 s.
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
    Search::new(model, config, f64::INFINITY)?.run(control)
}

/// A search under way.
pub(super) struct Search<'a> {
    model: &'a LangevinModel,
    equation: Box<dyn Sde + 'a>,
    config: StepConfig,
    fastest: f64,
    /// The step and the number of trajectories of the next trial.
    dt: f64,
    count: usize,
    /// Differences of the pairs of the last trial.
    pairs: Vec<Vec<f64>>,
    spent: f64,
    trials: Vec<StepTrial>,
}

impl<'a> Search<'a> {
    /// A search that begins with a step of at most `longest`.
    pub(super) fn new(model: &'a LangevinModel, config: &StepConfig, longest: f64) -> Result<Self> {
        require_positive("tolerance", config.tolerance)?;
        let walled = model.space().has_walls();
        let least = if walled { WALLED } else { 0.0 };
        let fastest = model.fastest_time();
        let stable = 2.0 / model.fastest_rate();
        Ok(Self {
            equation: model.equation(),
            config: StepConfig {
                tolerance: config.tolerance.max(least),
                ..*config
            },
            fastest,
            dt: round_down(fastest.min(stable).min(longest)),
            count: config.trajectories,
            pairs: Vec::new(),
            spent: 0.0,
            trials: Vec::new(),
            model,
        })
    }

    /// Whether the next trial is within the work that a search may take.
    pub(super) fn is_affordable(&self) -> bool {
        let wanted = match self.pairs.is_empty() {
            true => self.count.div_ceil(FIRST),
            false => self.count.saturating_sub(self.pairs.len()),
        };
        self.affords(self.dt, wanted)
    }

    /// Try one step after the other, at least one.
    pub(super) fn run(mut self, control: &Control) -> Result<StepAdvice> {
        control.begin(MOST_TRIALS as u64);
        for _ in 0..MOST_TRIALS {
            let shorter = self.dt < self.config.shortest;
            if !self.trials.is_empty() && (shorter || !self.is_affordable()) {
                break;
            }
            let trial = self.attempt(control)?;
            self.trials.push(trial);
            control.advance(1)?;
            if trial.bound() <= self.config.tolerance {
                break;
            }
            self.choose_next(trial);
        }
        let mut advice = conclude(self.trials, self.config.tolerance);
        let slow = |trial: &StepTrial| trial.bound() <= SLOW * self.config.tolerance;
        if self.model.space().has_walls() && advice.trials.iter().any(slow) {
            advice.finding.iter_mut().for_each(at_walls);
        }
        Ok(advice)
    }

    /// Step and number of trajectories after a trial that did not meet the tolerance.
    fn choose_next(&mut self, trial: StepTrial) {
        let (dt, count, tolerance) = (self.dt, self.count, self.config.tolerance);
        let hidden = trial.weak_error <= tolerance + 2.0 * trial.standard_error;
        let before = self.trials.iter().rev().nth(1);
        let stuck = before.is_some_and(|before| {
            // Of one trajectory.
            let scatter = |t: &StepTrial| t.standard_error * (t.trajectories as f64).sqrt();
            hidden && scatter(&trial) >= 0.8 * scatter(before)
        });
        let wanted = (4.0 * trial.standard_error / tolerance).powi(2);
        let more = (wanted.clamp(1.0, MORE) * count as f64) as usize;
        if stuck && trial.failures == 0 && more > count && self.affords(dt, more - count) {
            self.count = more;
            return;
        }
        self.pairs.clear();
        let known = trial.failures == 0 && trial.weak_error < UNSTABLE && !hidden;
        let falls = (tolerance / trial.weak_error).powf(1.0 / f64::from(self.order()));
        let predicted = match known {
            true => round_down(dt * falls.clamp(1.0 / FARTHEST, 0.5)),
            false => round_down(0.5 * dt),
        };
        self.dt = match self.affords(predicted, count) {
            true => predicted,
            false => round_down(0.5 * dt),
        };
    }

    /// Whether so many more trajectories with this step are within the work that is left.
    fn affords(&self, dt: f64, count: usize) -> bool {
        self.spent + self.cost(dt, count) <= MOST_WORK
    }

    fn cost(&self, dt: f64, count: usize) -> f64 {
        let steps = 3.0 * (LENGTH + BURN_IN) * self.fastest / dt;
        let pairs = 0.5 * self.config.scheme.evaluations(&*self.equation) as f64;
        steps * pairs * (count * self.model.dim()) as f64
    }

    /// Weak order of the scheme.
    fn order(&self) -> i32 {
        match self.config.scheme {
            Scheme::Platen if !self.model.space().has_walls() => 2,
            Scheme::Euler | Scheme::Platen => 1,
        }
    }

    /// Runs with the step and its half, of as many trajectories as it takes to judge the step.
    fn attempt(&mut self, control: &Control) -> Result<StepTrial> {
        let mut wanted = self.count.div_ceil(FIRST).max(self.pairs.len() + 1);
        loop {
            self.extend(wanted, control)?;
            let trial = self.judge();
            let distance = (trial.weak_error - self.config.tolerance).abs();
            let clear = trial.failures > 0 || distance > CLEAR * trial.standard_error;
            let have = self.pairs.len();
            wanted = (2 * have).min(self.count);
            if clear || have >= wanted || !self.affords(self.dt, wanted - have) {
                return Ok(trial);
            }
        }
    }

    /// Adds trajectories up to a number, in whole tiles.
    fn extend(&mut self, wanted: usize, control: &Control) -> Result<()> {
        let dt = self.dt;
        let steps = |length: f64| (length * self.fastest / dt).ceil() as usize;
        let runs = Runs {
            model: self.model,
            equation: &*self.equation,
            scheme: self.config.scheme,
            dt,
            burn_in: steps(BURN_IN),
            steps: steps(LENGTH),
            seed: self.config.seed,
        };
        let added = runs.differences(self.pairs.len(), wanted, control)?;
        self.spent += self.cost(dt, added.len());
        self.pairs.extend(added);
        Ok(())
    }

    /// The largest error that the pairs show.
    fn judge(&self) -> StepTrial {
        let factor = 1.0 / (1.0 - 0.5f64.powi(self.order()));
        let finite = self
            .pairs
            .iter()
            .filter(|pair| pair.iter().all(|v| v.is_finite()));
        let finite: Vec<&Vec<f64>> = finite.collect();
        let n = finite.len() as f64;
        let estimate = |k: usize| {
            let mean = finite.iter().map(|pair| pair[k]).sum::<f64>() / n;
            let squares = finite.iter().map(|pair| (pair[k] - mean).powi(2));
            let square = squares.sum::<f64>() / (n * (n - 1.0));
            (factor * mean.abs(), factor * square.sqrt())
        };
        let (weak_error, standard_error) = (0..2 * self.model.dim())
            .map(estimate)
            .max_by(|a, b| a.0.total_cmp(&b.0))
            .expect("a model has coordinates");
        StepTrial {
            dt: self.dt,
            failures: self.pairs.len() - finite.len(),
            weak_error,
            standard_error,
            trajectories: self.pairs.len(),
        }
    }
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
