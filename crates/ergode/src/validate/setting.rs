//! The ensembles brought to one sampling interval, and the scales that every comparison needs.

use super::config::ValidateConfig;
use super::floor::Lengths;
use super::{Rollout, RolloutRole};
use crate::check::{decorrelation_times, mean_interval};
use crate::control::Control;
use crate::data::{Circle, Ensemble, Standardiser};
use crate::error::{Error, Result};
use crate::lagged::{Blocking, Jackknife, LagGrid};

/// Properties shared by all comparisons.
pub(super) struct Setting {
    pub(super) held_out: Ensemble,
    pub(super) rollouts: Vec<Ensemble>,
    /// The common interval; where the data are sampled unevenly that of the rollouts, and where these
    /// have none either the mean one of the data.
    pub(super) interval: f64,
    /// True where every ensemble is sampled every `interval`.
    pub(super) even: bool,
    /// Longest lag.
    pub(super) horizon: f64,
    /// Mean and standard deviation of the held-out data.
    pub(super) scales: Standardiser,
    /// Values of each coordinate of the held-out data, sorted.
    pub(super) sorted: Vec<Vec<f64>>,
    /// Mean cosine and sine of each coordinate of the held-out data that is an angle; zero of others.
    pub(super) directions: Vec<[f64; 2]>,
    /// Decorrelation times of the held-out data and of every rollout.
    pub(super) times: Vec<Vec<Option<f64>>>,
    /// Lengths of the records behind every rollout.
    pub(super) records: Vec<Lengths>,
    /// The blocking that is asked for, and the least number of samples in one of its blocks.
    blocks: (Blocking, f64),
    /// Comparisons that were left out, and why.
    pub(super) notes: Vec<String>,
}

/// Decorrelation times in the longest lag.
const HORIZON: f64 = 4.0;
/// Decorrelation times in a block, at least.
const BLOCK: f64 = 2.0;
/// Decorrelation times of the held-out data that one of the judged rollout, which a longer record shows
/// better, counts as at most: a slow model must not excuse itself.
const TRUSTED: f64 = 2.0;
/// Blocks of a record that is too short to show its decorrelation time.
const BLOCKS: f64 = 8.0;
/// Samples from which decorrelation times are first looked for in a thinned record, and thinned
/// intervals in such a time for it to be taken.
const MANY: usize = 2_000_000;
const RESOLVED: f64 = 8.0;
/// Values of a coordinate that are sorted.
const SORTED: usize = 100_000;

impl Setting {
    pub(super) fn new(
        held_out: &Ensemble,
        rollouts: &[Rollout],
        config: &ValidateConfig,
        control: &Control,
    ) -> Result<Self> {
        for rollout in rollouts {
            if rollout.ensemble.dim() != held_out.dim() {
                return Err(Error::input(format!(
                    "rollout '{}' has {} coordinates, but the held-out data have {}",
                    rollout.name,
                    rollout.ensemble.dim(),
                    held_out.dim()
                )));
            }
        }
        let mut notes = Vec::new();
        let (ensembles, interval, even) = common_interval(held_out, rollouts, &mut notes)?;
        let times: Vec<_> = ensembles
            .iter()
            .map(|ensemble| times_of(ensemble, control))
            .collect::<Result<_>>()?;
        let longest = times[0].iter().flatten().copied().fold(0.0, f64::max);
        let span = ensembles
            .iter()
            .map(longest_stretch)
            .fold(f64::INFINITY, f64::min);
        let horizon = match config.horizon {
            Some(horizon) => horizon,
            None if longest > 0.0 => (HORIZON * longest).min(0.25 * span),
            None => 0.25 * span,
        };
        // Lags are whole numbers of intervals.
        let horizon = match even {
            true if horizon.is_finite() => (horizon / interval).round().max(1.0) * interval,
            _ => horizon,
        };
        if horizon < interval || horizon > span {
            return Err(Error::input(format!(
                "lags up to {horizon:.4} cannot be compared: the sampling interval is {interval}, and the \
                 longest stretch without gaps in every ensemble lasts {span:.4}; give longer rollouts, or \
                 set validate.horizon between the two"
            )));
        }
        let mut ensembles = ensembles.into_iter();
        let held_out = ensembles.next().expect("the held-out data");
        let rolled = times[1].iter().flatten().copied().fold(0.0, f64::max);
        let block = match longest {
            0.0 => held_out.samples() as f64 / BLOCKS,
            longest => {
                let memory = longest.max(rolled.min(TRUSTED * longest));
                BLOCK * memory / mean_interval(&held_out)
            }
        };
        let ensembles: Vec<Ensemble> = ensembles.collect();
        let sorted = sorted(&held_out);
        let roles = rollouts.iter().map(|rollout| rollout.role);
        let records = ensembles.iter().zip(roles).map(|(ensemble, role)| Lengths {
            rollout: duration(ensemble) / duration(&held_out),
            training: match role {
                RolloutRole::Reference => f64::INFINITY,
                _ => config.training.unwrap_or(f64::INFINITY),
            },
        });
        Ok(Self {
            records: records.collect(),
            blocks: (config.blocking, block),
            scales: Standardiser::from_ensemble(&held_out)?,
            directions: directions(&held_out, &sorted),
            sorted,
            held_out,
            rollouts: ensembles,
            interval,
            even,
            horizon,
            times,
            notes,
        })
    }

    /// The blocks of an ensemble: units of its standard errors.
    pub(super) fn blocking(&self, ensemble: &Ensemble) -> Blocking {
        self.blocks.0.lasting(ensemble, self.blocks.1)
    }

    /// A statistic of the held-out data and of every rollout.
    pub(super) fn each(
        &self,
        estimate: impl Fn(&Ensemble) -> Result<Jackknife>,
    ) -> Result<(Jackknife, Vec<Jackknife>)> {
        let rollouts = self.rollouts.iter().map(&estimate);
        Ok((estimate(&self.held_out)?, rollouts.collect::<Result<_>>()?))
    }

    /// A quantile of a coordinate of the held-out data.
    pub(super) fn quantile(&self, coordinate: usize, fraction: f64) -> f64 {
        let sorted = &self.sorted[coordinate];
        sorted[((sorted.len() - 1) as f64 * fraction).round() as usize]
    }
}

/// Mean cosine and sine of each coordinate that is an angle, from some of its values.
fn directions(ensemble: &Ensemble, values: &[Vec<f64>]) -> Vec<[f64; 2]> {
    let mean = |(circle, values): (Option<Circle>, &Vec<f64>)| {
        let of = |wave: fn(f64) -> f64| match circle {
            None => 0.0,
            Some(circle) => {
                let sum: f64 = values.iter().map(|x| wave(circle.radians(*x))).sum();
                sum / values.len().max(1) as f64
            }
        };
        [of(f64::cos), of(f64::sin)]
    };
    ensemble.circles().zip(values).map(mean).collect()
}

/// Decorrelation times, from a thinned record where that resolves them.
fn times_of(ensemble: &Ensemble, control: &Control) -> Result<Vec<Option<f64>>> {
    let every = ensemble.samples().div_ceil(MANY);
    if every > 1 {
        let thinned = ensemble.thin(every)?;
        let times = decorrelation_times(&thinned, control)?;
        let least = RESOLVED * mean_interval(&thinned);
        if times.iter().all(|time| time.is_some_and(|t| t >= least)) {
            return Ok(times);
        }
    }
    decorrelation_times(ensemble, control)
}

/// The grid that pairs every sample with itself.
pub(super) fn same_time(ensemble: &Ensemble) -> Result<LagGrid> {
    match ensemble.sampling_interval() {
        Some(interval) => LagGrid::even(interval, vec![0]),
        None => LagGrid::windows(vec![0.0], 1.0),
    }
}

/// All ensembles, the held-out data first, thinned to the largest sampling interval among them.
fn common_interval(
    held_out: &Ensemble,
    rollouts: &[Rollout],
    notes: &mut Vec<String>,
) -> Result<(Vec<Ensemble>, f64, bool)> {
    let all = || std::iter::once(held_out).chain(rollouts.iter().map(|r| &r.ensemble));
    let intervals: Option<Vec<f64>> = all().map(Ensemble::sampling_interval).collect();
    let Some(intervals) = intervals else {
        notes.push(
            "sampling is uneven: correlations use windows of lags; spectra, time scales and passage times \
             need even sampling and are left out"
                .to_owned(),
        );
        let unit = common(rollouts).unwrap_or_else(|| mean_interval(held_out));
        return Ok((all().cloned().collect(), unit, false));
    };
    let largest = intervals.iter().copied().fold(0.0, f64::max);
    let mut ensembles = Vec::with_capacity(intervals.len());
    for (k, (ensemble, interval)) in all().zip(&intervals).enumerate() {
        let every = (largest / interval).round();
        if (largest / interval - every).abs() > 1e-6 * every {
            let name = match k {
                0 => "the held-out data".to_owned(),
                k => format!("rollout '{}'", rollouts[k - 1].name),
            };
            return Err(Error::input(format!(
                "{name} has sampling interval {interval}, which does not divide the interval {largest} of \
                 another ensemble; save rollouts at the interval of the data, or at a whole multiple or \
                 fraction of it"
            )));
        }
        ensembles.push(match every as usize {
            1 => ensemble.clone(),
            every => ensemble.thin(every)?,
        });
    }
    Ok((ensembles, largest, true))
}

/// The sampling interval that all rollouts share.
fn common(rollouts: &[Rollout]) -> Option<f64> {
    let mut intervals = rollouts.iter().map(|r| r.ensemble.sampling_interval());
    let first = intervals.next()??;
    let same = |other: Option<f64>| other.is_some_and(|o| (o / first - 1.0).abs() < 1e-9);
    intervals.all(same).then_some(first)
}

/// Time that the samples cover.
fn duration(ensemble: &Ensemble) -> f64 {
    ensemble.samples() as f64 * mean_interval(ensemble)
}

/// Duration of the longest stretch without gaps.
fn longest_stretch(ensemble: &Ensemble) -> f64 {
    let segments = ensemble.segments().iter().map(|segment| {
        let trajectory = &ensemble.trajectories()[segment.trajectory];
        trajectory.time(segment.rows.end - 1) - trajectory.time(segment.rows.start)
    });
    segments.fold(0.0, f64::max)
}

/// The values of every coordinate at equally spaced samples, sorted.
pub(super) fn sorted(ensemble: &Ensemble) -> Vec<Vec<f64>> {
    let stride = ensemble.samples().div_ceil(SORTED);
    let mut values = vec![Vec::new(); ensemble.dim()];
    let mut row = vec![0.0; ensemble.dim()];
    for segment in ensemble.segments() {
        for i in segment.rows.clone().step_by(stride) {
            ensemble.trajectories()[segment.trajectory].row(i, &mut row);
            for (values, x) in values.iter_mut().zip(&row) {
                values.push(*x);
            }
        }
    }
    for values in &mut values {
        values.sort_by(f64::total_cmp);
    }
    values
}
