//! Which pairs of samples belong to which lag.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::data::{Ensemble, Times, Trajectory};
use crate::error::{Error, Result, require_positive};

/// The lags at which pairs are formed.
///
/// Evenly saved data use whole numbers of samples, and every pair has its lag exactly. Unevenly
/// saved data use windows: all pairs whose separation falls into `centre ± half_width` are taken,
/// and mean and variance of the separation are recorded with the statistics.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LagGrid {
    kind: Kind,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Kind {
    Even {
        interval: f64,
        steps: Vec<usize>,
    },
    Windows {
        centres: Vec<f64>,
        half_width: f64,
        ends_off: bool,
    },
}

impl LagGrid {
    /// Lags of `steps` samples that are `interval` apart; increasing.
    ///
    /// # Errors
    /// When the interval is not positive, or the steps are empty or do not increase.
    pub fn even(interval: f64, steps: Vec<usize>) -> Result<Self> {
        require_positive("the sampling interval", interval)?;
        if steps.is_empty() || steps.windows(2).any(|w| w[0] >= w[1]) {
            return Err(Error::input("give at least one lag, in increasing order"));
        }
        Ok(Self {
            kind: Kind::Even { interval, steps },
        })
    }

    /// Windows of half-width `half_width` around increasing centres; they must not overlap.
    ///
    /// A centre of zero stands for the sample paired with itself.
    ///
    /// # Errors
    /// When the centres are empty, negative or do not increase, or the width is not positive.
    pub fn windows(centres: Vec<f64>, half_width: f64) -> Result<Self> {
        if centres.is_empty() || centres.iter().any(|c| !(c.is_finite() && *c >= 0.0)) {
            return Err(Error::input(
                "give at least one lag centre, each finite and not negative",
            ));
        }
        require_positive("the half-width of lag windows", half_width)?;
        if centres
            .windows(2)
            .any(|w| w[1] - w[0] < 2.0 * half_width * (1.0 - 1e-9))
        {
            return Err(Error::input(format!(
                "lag windows of half-width {half_width} overlap; make the windows narrower or the lags \
                 sparser"
            )));
        }
        Ok(Self {
            kind: Kind::Windows {
                centres,
                half_width,
                ends_off: false,
            },
        })
    }

    /// The same grid, in windows that begin with lag zero with the ends of pairs taken off and put back
    /// once for every initial sample ([`PairSums`](super::PairSums)): for correlations of like functions
    /// at short lags. Products of functions of high degree, whose averages depend on few samples, are better
    /// left uncorrected.
    pub fn with_ends_off(mut self) -> Self {
        if let Kind::Windows {
            centres, ends_off, ..
        } = &mut self.kind
        {
            *ends_off = centres[0] == 0.0;
        }
        self
    }

    /// The grid for these lags on this ensemble: exact where sampling is even, else windows as wide as
    /// the typical interval between samples ([`Ensemble::typical_interval`]), or less where lags are
    /// closer: about one partner for each sample, as in an even record.
    ///
    /// # Errors
    /// When a lag of an evenly sampled record is not a whole number of sampling intervals, or no two
    /// samples are neighbours.
    pub fn for_ensemble(ensemble: &Ensemble, lags: &[f64]) -> Result<Self> {
        let Some(interval) = ensemble.sampling_interval() else {
            let spacings = lags.windows(2).map(|w| w[1] - w[0]);
            let width = spacings.fold(ensemble.typical_interval()?, f64::min);
            return Self::windows(lags.to_vec(), 0.5 * width);
        };
        let steps = lags
            .iter()
            .map(|&lag| {
                let ratio = lag / interval;
                if ratio < -1e-9 || (ratio - ratio.round()).abs() > 1e-6 * ratio.max(1.0) {
                    return Err(Error::input(format!(
                        "lag {lag} is not a whole number of sampling intervals of {interval}; \
                         the nearest is {}",
                        ratio.round().max(0.0) * interval
                    )));
                }
                Ok(ratio.round() as usize)
            })
            .collect::<Result<_>>()?;
        Self::even(interval, steps)
    }

    /// Number of lags.
    pub fn len(&self) -> usize {
        match &self.kind {
            Kind::Even { steps, .. } => steps.len(),
            Kind::Windows { centres, .. } => centres.len(),
        }
    }

    /// Never true: a grid has at least one lag.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The nominal lags.
    pub fn lags(&self) -> Vec<f64> {
        match &self.kind {
            Kind::Even { interval, steps } => steps.iter().map(|s| *s as f64 * interval).collect(),
            Kind::Windows { centres, .. } => centres.clone(),
        }
    }

    /// Refuse data whose sampling the grid does not describe.
    pub(super) fn check(&self, ensemble: &Ensemble) -> Result<()> {
        let Kind::Even { interval, .. } = self.kind else {
            return Ok(());
        };
        for (k, trajectory) in ensemble.trajectories().iter().enumerate() {
            match trajectory.times() {
                Times::Even { step, .. } if (step / interval - 1.0).abs() < 1e-6 => {}
                Times::Even { step, .. } => {
                    return Err(Error::input(format!(
                        "the lags need a sampling interval of {interval}, but trajectory {k} (counted \
                         from 0) has {step}"
                    )));
                }
                Times::Uneven(_) => {
                    return Err(Error::input(format!(
                        "the lags need a sampling interval of {interval}, but trajectory {k} (counted \
                         from 0) is sampled unevenly; use lag windows"
                    )));
                }
            }
        }
        Ok(())
    }

    /// Furthest row after `row` that any lag reaches, within `segment`.
    pub(super) fn reach(
        &self,
        trajectory: &Trajectory,
        segment: &Range<usize>,
        row: usize,
    ) -> usize {
        match &self.kind {
            Kind::Even { steps, .. } => (row + steps[steps.len() - 1] + 1).min(segment.end),
            Kind::Windows {
                centres,
                half_width,
                ..
            } => {
                let limit = trajectory.time(row) + centres[centres.len() - 1] + half_width;
                first_after(trajectory, row..segment.end, limit)
            }
        }
    }

    /// The lags of this grid at which pairs are not rare: all of them where sampling is even, else those
    /// with at least one pair for every thousand samples, judged by samples spread over the record.
    pub(crate) fn occupied(&self, ensemble: &Ensemble) -> Vec<f64> {
        /// Samples that are looked at, and pairs that there must be for each.
        const LOOKED_AT: usize = 100_000;
        const OFTEN: f64 = 1e-3;
        if matches!(self.kind, Kind::Even { .. }) {
            return self.lags();
        }
        let stride = ensemble.samples().div_ceil(LOOKED_AT);
        let (mut looked_at, mut pairs) = (0, vec![0; self.len()]);
        // The phase runs on over segments, of which there may be many short ones.
        let mut next = 0;
        for segment in ensemble.segments() {
            let trajectory = &ensemble.trajectories()[segment.trajectory];
            while next < segment.rows.len() {
                let row = segment.rows.start + next;
                for (lag, pairs) in pairs.iter_mut().enumerate() {
                    *pairs += self.partners(trajectory, &segment.rows, row, lag).len();
                }
                looked_at += 1;
                next += stride;
            }
            next -= segment.rows.len();
        }
        let enough = |pairs: usize| pairs as f64 >= OFTEN * f64::from(looked_at);
        let lags = self.lags().into_iter().zip(pairs);
        lags.filter(|(_, pairs)| enough(*pairs))
            .map(|(lag, _)| lag)
            .collect()
    }

    /// True where the ends of pairs are taken off.
    pub(super) fn ends_off(&self) -> bool {
        matches!(self.kind, Kind::Windows { ends_off: true, .. })
    }

    /// Samples and time of a lag where sampling is even.
    pub(super) fn exact(&self, lag: usize) -> Option<(usize, f64)> {
        match &self.kind {
            Kind::Even { interval, steps } => Some((steps[lag], steps[lag] as f64 * interval)),
            Kind::Windows { .. } => None,
        }
    }

    /// The rows paired with `row` at lag number `lag`, within `segment`.
    pub(super) fn partners(
        &self,
        trajectory: &Trajectory,
        segment: &Range<usize>,
        row: usize,
        lag: usize,
    ) -> Range<usize> {
        match &self.kind {
            Kind::Even { steps, .. } => {
                let partner = row + steps[lag];
                partner.min(segment.end)..(partner + 1).min(segment.end)
            }
            Kind::Windows {
                centres,
                half_width,
                ..
            } => {
                if centres[lag] == 0.0 {
                    return row..row + 1;
                }
                let now = trajectory.time(row);
                // The lower end belongs to the window, the upper one to the next.
                let rows = row + 1..segment.end;
                let low = now + centres[lag] - half_width;
                let start = first_after(trajectory, rows.clone(), low.next_down());
                let high = now + centres[lag] + half_width;
                start..first_after(trajectory, start..rows.end, high.next_down())
            }
        }
    }
}

/// The first row of `rows` whose time exceeds `limit`.
fn first_after(trajectory: &Trajectory, rows: Range<usize>, limit: f64) -> usize {
    let (mut low, mut high) = (rows.start, rows.end);
    // Gallop first: windows are short compared with segments.
    let mut step = 1;
    while low + step < high && trajectory.time(low + step) <= limit {
        low += step;
        step *= 2;
    }
    high = high.min(low + step + 1);
    while low < high {
        let middle = low + (high - low) / 2;
        if trajectory.time(middle) <= limit {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

/// Which samples serve as the initial one of a pair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Subsample {
    /// Every sample.
    #[default]
    All,
    /// Every n-th sample of a segment.
    Stride(usize),
    /// Each sample with this probability, drawn from the seed and the trajectory's index.
    Random {
        /// Probability of taking a sample.
        fraction: f64,
        /// Seed of the choice.
        seed: u64,
    },
}

impl Subsample {
    pub(super) fn validate(&self) -> Result<()> {
        match *self {
            Subsample::Stride(0) => Err(Error::input("the stride must be at least 1")),
            Subsample::Random { fraction, .. } if !(fraction > 0.0 && fraction <= 1.0) => Err(
                Error::input(format!("the fraction must be in (0, 1], not {fraction}")),
            ),
            _ => Ok(()),
        }
    }
}
