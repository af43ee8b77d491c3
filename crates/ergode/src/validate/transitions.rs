//! The transition law of a model against the next samples of the data.

use statrs::function::erf::erfc_inv;
use statrs::function::gamma::gamma_ur;

use crate::check::Lattices;
use crate::control::Control;
use crate::data::{Ensemble, Segment};
use crate::error::Result;
use crate::finding::{Finding, FindingKind, Severity, digits};
use crate::model::{LangevinModel, simulate_model_from};
use crate::random::{Purpose, Stream};
use crate::simulate::SimulateConfig;
use crate::stats::normal_tails;

/// Transitions at most, and at least; simulations of each.
const MOST: usize = 8192;
const FEWEST: usize = 64;
const MEMBERS: usize = 19;
/// Coordinates of simulated states, times steps; more would lower the number of transitions.
const WORK: f64 = 4e7;
/// Groups of states by quantiles of a coordinate: the limits of many and of few transitions.
const LIMITS: [&[f64]; 2] = [
    &[0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98],
    &[1.0 / 3.0, 2.0 / 3.0],
];
const MANY: usize = 1000;
/// Coordinates up to which the states are grouped by each of them; beyond by the coordinate that is tested.
const GROUPED: usize = 4;
/// Part of the typical squared increment below which what is left of it besides the drift is no noise.
const NOISELESS: f64 = 0.05;
/// Probability by chance below which a difference counts, over all tests.
const CHANCE: f64 = 1e-4;
/// Ratios of variances from which there is a warning and a failure, and a warning for one group alone.
const SPREAD: [f64; 2] = [1.25, 2.0];
const SPREAD_OF_GROUP: f64 = 1.5;
/// Standard deviations of a step from a wall, below which mean steps are not compared.
const FAR: f64 = 2.5;
/// Consecutive transitions that are taken together.
const RUN: usize = 8;
/// Correlation of successive scores, and of their squares, from which there is a warning.
const MEMORY: [f64; 2] = [0.1, 0.05];
/// Errors of the mean step, in the size of the mean step, from which there is a warning and a failure.
const STEP: [f64; 2] = [0.3, 0.6];

/// Whether the next samples of the data follow the transition law of a model.
///
/// From states of the data the model is simulated over one sampling interval, M times. Under the law of the model
/// the rank of the next sample among the M is uniform on 0..M, and ranks of transitions that do not overlap are
/// independent, whatever the law: no moment is used that a heavy tail may not have. Simulated values are rounded to the
/// lattices of the data, and ties are broken by chance. With the normal scores q of the
/// ranks, in groups of states,
///
/// Σ_g n_g q̄_g²/⟨q²⟩₀ and Σ_g n_g (var_g q − ⟨q²⟩₀)²/var₀(q²)
///
/// are χ² numbers. The first tells the drift, the second the diffusion: where D of the model is too small by a factor
/// r, var q is about r ⟨q²⟩₀. Scores of successive transitions are independent too, and so are their squares: if these
/// are correlated the state lacks what makes the noise wider or narrower for a while.
pub(crate) fn transitions_against_model(
    model: &LangevinModel,
    (states, lattices): (&Ensemble, &Lattices),
    protocol: &SimulateConfig,
    control: &Control,
) -> Result<Option<Finding>> {
    let Some(interval) = states.sampling_interval() else {
        return Ok(None);
    };
    let Some(sample) = Sample::draw(model, (states, lattices), (protocol, interval), control)?
    else {
        return Ok(None);
    };
    let null = Null::new();
    let dim = states.dim();
    let mut tests = Vec::new();
    for i in (0..dim).filter(|i| sample.is_noisy(*i)) {
        let own = i..i + 1;
        let by = if dim <= GROUPED { 0..dim } else { own };
        tests.extend(by.map(|j| (i, j)));
    }
    let chance = CHANCE / tests.len().max(1) as f64;
    let judged = tests.into_iter().filter_map(|(i, j)| {
        let names = [i, j].map(|k| states.names()[k].as_str());
        judge(&sample.groups(i, j), &null, names, chance)
    });
    let noisy = (0..dim).filter(|i| sample.is_noisy(*i));
    let memory = noisy.filter_map(|i| judge_memory(&sample, i, &null, &states.names()[i], chance));
    let memory: Vec<Finding> = memory.collect();
    Ok(judged
        .chain(memory)
        .max_by(|a, b| a.severity.cmp(&b.severity)))
}

/// The law of the normal score of a uniform rank.
struct Null {
    /// ⟨q²⟩ and the variance of q².
    square: f64,
    variance: f64,
}

/// The normal score of a rank among the members.
fn score(rank: usize) -> f64 {
    let part = (rank as f64 + 0.5) / (MEMBERS as f64 + 1.0);
    -std::f64::consts::SQRT_2 * erfc_inv(2.0 * part)
}

impl Null {
    fn new() -> Self {
        let mean = |power: i32| {
            let sum: f64 = (0..=MEMBERS).map(|rank| score(rank).powi(power)).sum();
            sum / (MEMBERS as f64 + 1.0)
        };
        let square = mean(2);
        Self {
            square,
            variance: mean(4) - square * square,
        }
    }
}

/// Transitions, and simulations from their starts.
struct Sample {
    dim: usize,
    /// (transition, coordinate): the start; the step of the data; the normal score of its rank; mean and standard
    /// deviation of the simulated steps.
    starts: Vec<f64>,
    steps: Vec<f64>,
    scores: Vec<f64>,
    means: Vec<f64>,
    spreads: Vec<f64>,
    /// Whether it is too far from walls to be reflected: the step of a scheme is not the drift there.
    inner: Vec<bool>,
    /// For every transition, whether it begins where the one before it ends.
    follows: Vec<bool>,
}

impl Sample {
    /// None where there are too few transitions.
    fn draw(
        model: &LangevinModel,
        (states, lattices): (&Ensemble, &Lattices),
        (protocol, interval): (&SimulateConfig, f64),
        control: &Control,
    ) -> Result<Option<Self>> {
        let dim = states.dim();
        let per_transition = MEMBERS as f64 * (interval / protocol.dt).ceil().max(1.0) * dim as f64;
        let most = MOST.min((WORK / per_transition) as usize).max(FEWEST);
        let places = places(states, most);
        if places.len() < FEWEST {
            return Ok(None);
        }
        let (mut starts, mut ends) = (vec![0.0; places.len() * dim], vec![0.0; places.len() * dim]);
        for (k, (trajectory, row)) in places.iter().enumerate() {
            let trajectory = &states.trajectories()[*trajectory];
            trajectory.row(*row, &mut starts[k * dim..][..dim]);
            trajectory.row(row + 1, &mut ends[k * dim..][..dim]);
        }
        states.intact(Ok(()))?;
        let protocol = SimulateConfig {
            // A margin for the rounding of the last sample.
            time: interval * (1.0 + 1e-9),
            save_every: interval,
            trajectories: places.len() * MEMBERS,
            burn_in: 0.0,
            ..protocol.clone()
        };
        let initial = ndarray::Array2::from_shape_fn((protocol.trajectories, dim), |(k, i)| {
            starts[k / MEMBERS * dim + i]
        });
        let run = simulate_model_from(model, initial, &protocol, control)?;
        let members = run.simulation.ensemble;
        let mut sample = Self {
            dim,
            starts: Vec::new(),
            steps: Vec::new(),
            scores: Vec::new(),
            means: Vec::new(),
            spreads: Vec::new(),
            inner: Vec::new(),
            follows: Vec::new(),
        };
        let mut last = None;
        let mut ties = Stream::new(protocol.seed, Purpose::Analysis, 0);
        let (mut row, mut moved) = (vec![0.0; dim], vec![0.0; dim * MEMBERS]);
        for k in 0..places.len() {
            let start = &starts[k * dim..][..dim];
            for m in 0..MEMBERS {
                members.trajectories()[k * MEMBERS + m].row(1, &mut row);
                for i in 0..dim {
                    moved[i * MEMBERS + m] = states.step(i, start[i], lattices.nearest(i, row[i]));
                }
            }
            // A simulation that failed has no rank.
            let (trajectory, at) = places[k];
            if moved.iter().any(|step| !step.is_finite()) {
                continue;
            }
            let begins = last.replace((trajectory, at + 1));
            sample.follows.push(begins == Some((trajectory, at)));
            for i in 0..dim {
                let step = states.step(i, start[i], ends[k * dim + i]);
                let members = &moved[i * MEMBERS..][..MEMBERS];
                sample.add((start[i], step), members, &mut ties);
                let spread = sample.spreads[sample.spreads.len() - 1];
                let mut walls = states.walls(i).into_iter().flatten();
                let near = walls.any(|wall| (start[i] - wall).abs() < FAR * spread);
                sample.inner.push(!near);
            }
        }
        Ok((sample.scores.len() >= FEWEST * dim).then_some(sample))
    }

    fn add(&mut self, (start, step): (f64, f64), members: &[f64], ties: &mut Stream) {
        let count = members.len() as f64;
        let mean = members.iter().sum::<f64>() / count;
        let square: f64 = members.iter().map(|m| (m - mean).powi(2)).sum();
        let below = members.iter().filter(|m| **m < step).count();
        let equal = members.iter().filter(|m| **m == step).count();
        let rank = below + ties.below(equal as u64 + 1) as usize;
        self.starts.push(start);
        self.steps.push(step);
        self.scores.push(score(rank));
        self.means.push(mean);
        self.spreads.push((square / (count - 1.0)).sqrt());
    }

    fn len(&self) -> usize {
        self.scores.len() / self.dim
    }

    /// True where a step of this coordinate is not the drift alone.
    fn is_noisy(&self, i: usize) -> bool {
        let median = |square: &dyn Fn(usize) -> f64| {
            let places = (0..self.len()).map(|k| k * self.dim + i);
            let mut squares: Vec<f64> = places.map(square).collect();
            let middle = squares.len() / 2;
            *squares.select_nth_unstable_by(middle, f64::total_cmp).1
        };
        let left = median(&|at| (self.steps[at] - self.means[at]).powi(2));
        let simulated = median(&|at| self.spreads[at].powi(2));
        left.max(simulated) > NOISELESS * median(&|at| self.steps[at].powi(2))
    }

    /// Transitions of coordinate `i` grouped by coordinate `j` of the start.
    fn groups(&self, i: usize, j: usize) -> Vec<Group> {
        let limits = LIMITS[usize::from(self.len() < MANY)];
        let mut order: Vec<usize> = (0..self.len()).collect();
        let start = |k: &usize| self.starts[k * self.dim + j];
        order.sort_by(|a, b| start(a).total_cmp(&start(b)));
        let ends = limits.iter().chain(&[1.0]);
        let ends = ends.map(|part| (part * order.len() as f64).round() as usize);
        let mut begin = 0;
        let mut groups = Vec::new();
        for end in ends {
            let members = &order[begin..end];
            begin = end;
            if members.len() < 2 {
                continue;
            }
            let at = |k: &usize| k * self.dim + i;
            let all: Vec<usize> = members.iter().map(at).collect();
            let inner: Vec<usize> = all.iter().copied().filter(|at| self.inner[*at]).collect();
            let mean = |places: &[usize], value: &dyn Fn(usize) -> f64| {
                places.iter().map(|at| value(*at)).sum::<f64>() / places.len().max(1) as f64
            };
            let count = all.len() as f64;
            let middle = mean(&all, &|at| self.scores[at]);
            let square = mean(&all, &|at| (self.scores[at] - middle).powi(2));
            groups.push(Group {
                count,
                square: square * count / (count - 1.0),
                inner: inner.len() as f64,
                bias: mean(&inner, &|at| self.scores[at]),
                step: mean(&inner, &|at| match self.spreads[at] > 0.0 {
                    true => self.means[at] / self.spreads[at],
                    false => 0.0,
                }),
                range: [start(&members[0]), start(&members[members.len() - 1])],
            });
        }
        groups
    }
}

/// Transitions from similar states.
struct Group {
    count: f64,
    /// Variance of q.
    square: f64,
    /// Transitions away from walls; mean of q and mean step of the model, in its standard deviations, over these.
    inner: f64,
    bias: f64,
    step: f64,
    range: [f64; 2],
}

/// Runs of consecutive rows, spread evenly, each row followed by another one of its segment: (trajectory, row).
fn places(states: &Ensemble, most: usize) -> Vec<(usize, usize)> {
    let rows = |segment: &Segment| segment.rows.start..segment.rows.end - 1;
    let total: usize = states.segments().iter().map(|s| rows(s).len()).sum();
    let every = total.div_ceil(most).max(1);
    let all = states.segments().iter();
    let all = all.flat_map(|s| rows(s).map(|row| (s.trajectory, row)));
    let chosen = all
        .enumerate()
        .filter(|(k, _)| (k / RUN).is_multiple_of(every));
    chosen.map(|(_, place)| place).collect()
}

/// The probability that a χ² number of this many degrees of freedom is larger.
fn chi2_tail(chi2: f64, freedom: usize) -> f64 {
    gamma_ur(0.5 * freedom as f64, 0.5 * chi2)
}

fn judge(groups: &[Group], null: &Null, names: [&str; 2], chance: f64) -> Option<Finding> {
    let spread = judge_spread(groups, null, names, chance);
    let step = judge_step(groups, null, names, chance);
    spread
        .into_iter()
        .chain(step)
        .max_by_key(|finding| finding.severity)
}

fn judge_memory(
    sample: &Sample,
    i: usize,
    null: &Null,
    name: &str,
    chance: f64,
) -> Option<Finding> {
    let of = |k: usize| sample.scores[k * sample.dim + i];
    // A spread that is wrong everywhere is no memory.
    let mean = |value: &dyn Fn(f64) -> f64| {
        (0..sample.len()).map(|k| value(of(k))).sum::<f64>() / sample.len() as f64
    };
    let (middle, square) = (mean(&|q| q), mean(&|q| q * q));
    let (mut count, mut plain, mut squared) = (0.0, 0.0, 0.0);
    for k in (1..sample.len()).filter(|k| sample.follows[*k]) {
        let (now, before) = (of(k), of(k - 1));
        count += 1.0;
        plain += (now - middle) * (before - middle) / null.square;
        squared += (now * now - square) * (before * before - square) / null.variance;
    }
    let counts = |sum: f64, least: f64| {
        normal_tails(sum / f64::sqrt(count)) < 0.5 * chance && (sum / count).abs() > least
    };
    let (what, sum, lacks) = if counts(squared, MEMORY[1]) {
        (
            "the squares of these errors",
            squared,
            "something that changes the noise for a while",
        )
    } else if counts(plain, MEMORY[0]) {
        (
            "these errors",
            plain,
            "something that pushes it for a while, or the record has measurement noise",
        )
    } else {
        return None;
    };
    Some(Finding::new(
        FindingKind::Transitions,
        Severity::Warn,
        format!(
            "samples of {name} differ from the simulations one sampling interval ahead, and {what} are correlated \
             from one interval to the next, by {} (none by chance with probability {}): the state lacks {lacks}",
            digits(sum / count),
            digits(normal_tails(sum / f64::sqrt(count)))
        ),
        "add the missing coordinate, or delays (delays.count); thin the record if only slow motions matter",
    ))
}

fn judge_spread(
    groups: &[Group],
    null: &Null,
    [name, by]: [&str; 2],
    chance: f64,
) -> Option<Finding> {
    let all: f64 = groups.iter().map(|group| group.count).sum();
    let z = |group: &Group| (group.square - null.square) / (null.variance / group.count).sqrt();
    let log = |group: &Group| (group.square / null.square).max(1e-3).ln();
    let chi2: f64 = groups.iter().map(|group| z(group).powi(2)).sum();
    let relative = null.variance / null.square.powi(2);
    let logs: f64 = groups
        .iter()
        .map(|group| group.count * log(group).powi(2))
        .sum();
    let typical = ((logs - relative * groups.len() as f64).max(0.0) / all)
        .sqrt()
        .exp();
    let mean: f64 = groups
        .iter()
        .map(|group| group.count * log(group))
        .sum::<f64>()
        / all;
    if chi2_tail(chi2, groups.len()) < chance && typical > SPREAD[0] {
        let severity = if typical > SPREAD[1] {
            Severity::Fail
        } else {
            Severity::Warn
        };
        let direction = if mean > 0.0 { "wider" } else { "narrower" };
        return Some(Finding::new(
            FindingKind::Transitions,
            severity,
            format!(
                "one sampling interval ahead, samples of {name} scatter {direction} about the model than its own \
                 simulations do: the variance is off by a factor of {} in the mean over states (chi^2 {} for {} \
                 groups of states)",
                digits(typical),
                digits(chi2),
                groups.len()
            ),
            "the diffusion is wrong: try another mobility.recipe or mobility.charts, raise mobility.max_degrees, or \
             add what the state lacks",
        ));
    }
    let sure = |group: &&Group| {
        let size = log(group).abs() - 2.0 * (relative / group.count).sqrt();
        normal_tails(z(group)) * (groups.len() as f64) < chance && size > SPREAD_OF_GROUP.ln()
    };
    let worst = groups.iter().filter(sure);
    let worst = worst.max_by(|a, b| log(a).abs().total_cmp(&log(b).abs()))?;
    Some(Finding::new(
        FindingKind::Transitions,
        Severity::Warn,
        format!(
            "one sampling interval ahead, where {by} is between {} and {}, the variance of samples of {name} about \
             the model is {} times that of its own simulations ({} standard errors)",
            digits(worst.range[0]),
            digits(worst.range[1]),
            digits(log(worst).exp()),
            digits(z(worst).abs())
        ),
        "the diffusion is wrong there: try another mobility.recipe or mobility.charts, or raise \
         mobility.max_degrees",
    ))
}

fn judge_step(
    groups: &[Group],
    null: &Null,
    [name, by]: [&str; 2],
    chance: f64,
) -> Option<Finding> {
    let biases: f64 = groups
        .iter()
        .map(|group| group.inner * group.bias.powi(2))
        .sum();
    let chi2 = biases / null.square;
    let steps: f64 = groups
        .iter()
        .map(|group| group.inner * group.step.powi(2))
        .sum();
    let excess = (chi2 - groups.len() as f64).max(0.0);
    let size = (excess / steps).sqrt();
    if chi2_tail(chi2, groups.len()) >= chance || size.is_nan() || size < STEP[0] {
        return None;
    }
    let severity = if size > STEP[1] {
        Severity::Fail
    } else {
        Severity::Warn
    };
    Some(Finding::new(
        FindingKind::Transitions,
        severity,
        format!(
            "one sampling interval ahead, samples of {name} in groups of states by {by} lie beside the mean of the \
             model by {} of what its drift moves (chi^2 {} for {} groups)",
            digits(size),
            digits(chi2),
            groups.len()
        ),
        "the drift is wrong: raise the degrees of score and mobility, try another mobility.recipe, or add what the \
         state lacks",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Transitions x → 0.6 x + (1 + |x|) ξ with ξ from Student's law of two degrees of freedom, which has no variance,
    /// and simulations x → `keep` x + `wide` (1 + |x|) ξ.
    fn found(seed: u64, count: usize, keep: f64, wide: f64) -> Option<Finding> {
        let mut stream = Stream::new(seed, Purpose::Noise, 0);
        let mut ties = Stream::new(seed, Purpose::Analysis, 0);
        let mut sample = Sample {
            dim: 1,
            starts: Vec::new(),
            steps: Vec::new(),
            scores: Vec::new(),
            means: Vec::new(),
            spreads: Vec::new(),
            inner: Vec::new(),
            follows: Vec::new(),
        };
        let mut heavy = || stream.normal() / stream.gamma(1.0).sqrt();
        for _ in 0..count {
            let x = heavy();
            let step = -0.4 * x + (1.0 + x.abs()) * heavy();
            let other = |_| (keep - 1.0) * x + wide * (1.0 + x.abs()) * heavy();
            let members: Vec<f64> = (0..MEMBERS).map(other).collect();
            sample.add((x, step), &members, &mut ties);
            sample.inner.push(true);
            sample.follows.push(true);
        }
        let memory = judge_memory(&sample, 0, &Null::new(), "x", CHANCE);
        if memory.is_some() {
            return memory;
        }
        let groups = sample.groups(0, 0);
        judge(&groups, &Null::new(), ["x", "x"], CHANCE)
    }

    #[test]
    fn the_right_law_is_never_refuted_however_heavy_its_tails() {
        for seed in 0..200 {
            let count = if seed % 2 == 0 { 4000 } else { 200 };
            let finding = found(seed, count, 0.6, 1.0);
            assert!(finding.is_none(), "seed {seed}: {finding:?}");
        }
    }

    #[test]
    fn noise_that_is_wide_for_a_while_is_found() {
        let null = Null::new();
        let memory = |time: f64| {
            let mut stream = Stream::new(5, Purpose::Noise, 0);
            let mut log = 0.0;
            let mut sample = Sample {
                dim: 1,
                starts: Vec::new(),
                steps: Vec::new(),
                scores: Vec::new(),
                means: Vec::new(),
                spreads: Vec::new(),
                inner: Vec::new(),
                follows: Vec::new(),
            };
            let keep = f64::exp(-1.0 / time);
            for _ in 0..6000 {
                log = keep * log + (1.0 - keep * keep).sqrt() * stream.normal();
                let mut wide = |log: f64| log.exp() * stream.normal();
                let step = wide(log);
                // The simulations know how wide steps are on average, but not when.
                let mut own = Stream::new(7, Purpose::Noise, sample.len() as u64);
                let members: Vec<f64> = (0..MEMBERS).map(|_| wide(own.normal())).collect();
                let mut ties = Stream::new(6, Purpose::Analysis, 0);
                sample.add((0.0, step), &members, &mut ties);
                sample.follows.push(true);
            }
            judge_memory(&sample, 0, &null, "x", CHANCE)
        };
        assert!(memory(0.05).is_none());
        let message = memory(20.0).unwrap().message;
        assert!(message.contains("changes the noise"), "{message}");
    }

    #[test]
    fn a_wrong_spread_and_a_wrong_step_are_found() {
        for seed in 0..20 {
            // D off by half either way, and by a factor of four.
            for (wide, severity) in [
                (0.7, Severity::Warn),
                (1.4, Severity::Warn),
                (2.5, Severity::Fail),
            ] {
                let finding = found(seed, 4000, 0.6, wide);
                let finding = finding.unwrap_or_else(|| panic!("seed {seed}, width {wide}"));
                assert!(finding.severity >= severity, "{finding:?}");
                assert!(finding.message.contains("variance"), "{finding:?}");
            }
            // No drift, and more than twice of it.
            for keep in [1.0, 0.1] {
                let finding = found(seed, 8000, keep, 1.0);
                let finding = finding.unwrap_or_else(|| panic!("seed {seed}, {keep} of x kept"));
                assert!(finding.message.contains("drift"), "{finding:?}");
            }
        }
    }
}
