//! Delayed coordinates.

use ndarray::Array2;
use serde::{Deserialize, Serialize};

use crate::data::{Ensemble, Trajectory};
use crate::error::{Error, Result};
use crate::finding::digits;

/// x(t − τ), x(t − 2τ), ... beside x(t).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Delays {
    /// How many.
    pub count: usize,
    /// τ.
    pub spacing: f64,
}

/// Result of the Markov test for one number of delays.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct DelayTrial {
    /// How many delays.
    pub count: usize,
    /// Largest violation of Chapman-Kolmogorov, as a fraction of the variance, with an observed coordinate
    /// at the later time.
    pub violation: f64,
    /// True where it is not significant, or too small to count.
    pub passed: bool,
}

impl Delays {
    /// τ in sampling intervals.
    fn steps(&self, ensemble: &Ensemble) -> Result<usize> {
        let interval = even_interval(ensemble)?;
        let steps = (self.spacing / interval).round();
        if steps < 1.0 || (steps * interval - self.spacing).abs() > 1e-6 * self.spacing {
            return Err(Error::input(format!(
                "delays.spacing = {} is not a multiple of the sampling interval {interval}; set it to a \
                 multiple",
                self.spacing
            )));
        }
        Ok(steps as usize)
    }

    /// The states of a record; none reaches across a gap, and rows without all delays are gaps.
    pub(super) fn embed(&self, ensemble: &Ensemble) -> Result<Ensemble> {
        let (steps, observed) = (self.steps(ensemble)?, ensemble.dim());
        let reach = steps * self.count;
        let dim = observed * (1 + self.count);
        let trajectories = ensemble.trajectories().iter();
        let mut values: Vec<Array2<f64>> = trajectories
            .map(|t| Array2::from_elem((t.len(), dim), f64::NAN))
            .collect();
        for segment in ensemble.segments() {
            let trajectory = &ensemble.trajectories()[segment.trajectory];
            let states = &mut values[segment.trajectory];
            for i in (segment.rows.start + reach).max(segment.rows.start)..segment.rows.end {
                let mut state = states.row_mut(i);
                let state = state.as_slice_mut().expect("row-major");
                for (d, place) in state.chunks_exact_mut(observed).enumerate() {
                    trajectory.row(i - d * steps, place);
                }
            }
        }
        let whole = ensemble.trajectories().iter().zip(values);
        let whole = whole.map(|(t, values)| Trajectory::new(values, t.times().clone()));
        let states = Ensemble::new(whole.collect()).map_err(|_| {
            Error::input(format!(
                "no stretch of the record is longer than {} delays of {}; lower delays.count or \
                 delays.spacing",
                self.count,
                digits(self.spacing)
            ))
        })?;
        states.with_names(self.names(ensemble.names()))
    }

    /// Names of the coordinates of the state.
    fn names(&self, observed: &[String]) -> Vec<String> {
        let mut names = observed.to_vec();
        for d in 1..=self.count {
            names.extend(observed.iter().map(|name| format!("{name}_lag{d}")));
        }
        names
    }

    pub(super) fn sentence(&self) -> String {
        format!(
            "The state has {} delayed {} of every observed coordinate, {} apart. The delayed coordinates \
             carry memory; only coordinates without delay are observed, compared and simulated.",
            self.count,
            if self.count == 1 { "copy" } else { "copies" },
            digits(self.spacing)
        )
    }
}

/// The sampling interval that delays need.
pub(super) fn even_interval(ensemble: &Ensemble) -> Result<f64> {
    ensemble.sampling_interval().ok_or_else(|| {
        Error::input(
            "delays need even sampling, and the record is sampled unevenly; interpolate it to one \
             interval, or set delays.count = 0",
        )
    })
}
