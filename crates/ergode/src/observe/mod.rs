//! Relation between the observed record and the state of the model: trend, cycle, delays, noise.

mod ahead;
mod config;
mod cycle;
mod delays;
mod fit;
mod signal;

pub use ahead::TrendAhead;
pub use config::{Auto, Choice, CycleConfig, DelayConfig, ObservationConfig, TrendKind};
pub use cycle::Cycle;
pub use delays::{DelayTrial, Delays};
pub use fit::{ObservationFit, fit_observation};
pub use signal::Trend;

use std::borrow::Cow;

use ndarray::Array2;
use serde::{Deserialize, Serialize};

use crate::data::{Ensemble, Times, Trajectory};
use crate::error::{Error, Result};
use crate::linalg;
use crate::random::{Purpose, Stream};

/// The map between the state of a model and what was observed,
///
/// y(t) = trend(t) + μ(θ) + σ(θ) ∘ x(t) + noise,  θ = 2πt/period,  state = (x(t), x(t − τ), x(t − 2τ), ...).
///
/// The state is taken to be stationary: by construction its mean and its variance do not depend on the
/// phase θ. What else may depend on it, above all the rate of relaxation, is not modelled.
///
/// The delayed coordinates of a simulated state have the joint law of the delayed record, but they are not
/// the past of the simulated x: only the leading coordinates are observed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Observation {
    /// Names of the observed coordinates.
    pub names: Vec<String>,
    /// First and last time of the record.
    pub span: [f64; 2],
    /// The slow change of the mean that was removed; zero on average over the record.
    pub trend: Option<Trend>,
    /// Mean and standard deviation by phase.
    pub cycle: Option<Cycle>,
    /// Delayed coordinates in the state besides x(t).
    pub delays: Option<Delays>,
    /// Covariance of the measurement noise, in observed units.
    pub noise: Option<Array2<f64>>,
}

impl Observation {
    /// The observation of a record that is the state itself.
    pub fn plain(names: &[String]) -> Self {
        Self {
            names: names.to_vec(),
            ..Self::default()
        }
    }

    /// True where the record is the state.
    pub fn is_plain(&self) -> bool {
        self.trend.is_none()
            && self.cycle.is_none()
            && self.delays.is_none()
            && self.noise.is_none()
    }

    /// Number of observed coordinates.
    pub fn observed(&self) -> usize {
        self.names.len()
    }

    /// Number of coordinates of the state.
    pub fn dim(&self) -> usize {
        let delays = self.delays.map_or(0, |delays| delays.count);
        self.observed() * (1 + delays)
    }

    /// x(t) = (y(t) − trend(t) − μ(θ))/σ(θ), row by row.
    ///
    /// # Errors
    /// When the record has other coordinates than the one that was fitted.
    pub fn stationary<'a>(&self, record: &'a Ensemble) -> Result<Cow<'a, Ensemble>> {
        if record.dim() != self.observed() {
            return Err(Error::input(format!(
                "the record has {} coordinates; the model observes {} ({})",
                record.dim(),
                self.observed(),
                self.names.join(", ")
            )));
        }
        if self.trend.is_none() && self.cycle.is_none() {
            return Ok(Cow::Borrowed(record));
        }
        let changed = record.with_changed_rows(|t, row| {
            if let Some(trend) = &self.trend {
                trend.add(t, -1.0, row);
            }
            if let Some(cycle) = &self.cycle {
                cycle.remove(t, row);
            }
        })?;
        Ok(Cow::Owned(changed))
    }

    /// The states (x(t), x(t − τ), ...) of a stationary record x; rows that lack a delay are gaps.
    ///
    /// # Errors
    /// When there are delays and the record is sampled at other intervals, or too short.
    pub fn states<'a>(&self, stationary: Cow<'a, Ensemble>) -> Result<Cow<'a, Ensemble>> {
        match &self.delays {
            None => Ok(stationary),
            Some(delays) => Ok(Cow::Owned(delays.embed(&stationary)?)),
        }
    }

    /// x(t) of simulated states, with measurement noise, the first row of trajectory k at `start(k)`.
    ///
    /// Each trajectory draws its noise from a separate random stream.
    ///
    /// # Errors
    /// When the noise is not a covariance.
    pub fn seen(
        &self,
        states: &Ensemble,
        start: &dyn Fn(usize) -> f64,
        seed: u64,
    ) -> Result<Ensemble> {
        let moved = states.trajectories().iter().enumerate().map(|(k, t)| {
            let leading = t.columns(0..self.observed());
            let times = match t.times() {
                Times::Even { step, .. } => Times::Even {
                    start: start(k),
                    step: *step,
                },
                Times::Uneven(times) => {
                    Times::Uneven(times.iter().map(|t| start(k) + t - times[0]).collect())
                }
            };
            Trajectory::new(leading.values().clone(), times)
        });
        let seen = Ensemble::new(moved.collect())?.with_names(self.names.clone())?;
        let Some(noise) = &self.noise else {
            return Ok(seen);
        };
        let factor = linalg::cholesky(noise.view()).map_err(|_| {
            Error::input("the covariance of the model's measurement noise is not positive definite")
        })?;
        let noisy = (0..seen.len()).map(|k| {
            let mut stream = Stream::new(seed, Purpose::Measurement, k as u64);
            let mut xi = vec![0.0; self.observed()];
            seen.select(&[k])?.with_changed_rows(|t, row| {
                xi.iter_mut().for_each(|xi| *xi = stream.normal());
                for (i, x) in row.iter_mut().enumerate() {
                    let drawn: f64 = (0..=i).map(|j| factor[[i, j]] * xi[j]).sum();
                    *x += drawn
                        / self
                            .cycle
                            .as_ref()
                            .map_or(1.0, |cycle| cycle.scale_at(t, i));
                }
            })
        });
        let noisy: Vec<Trajectory> = noisy
            .map(|one| Ok(one?.trajectories()[0].clone()))
            .collect::<Result<_>>()?;
        seen.rebuilt(noisy)
    }

    /// The record without its trend that belongs to x: μ(θ) + σ(θ) ∘ x(t).
    pub(crate) fn with_cycle(&self, stationary: &Ensemble) -> Result<Ensemble> {
        stationary.with_changed_rows(|t, row| {
            if let Some(cycle) = &self.cycle {
                cycle.restore(t, row);
            }
        })
    }

    /// Observed values of simulated states whose first rows are at time `start`, by default that of the
    /// record.
    ///
    /// The trend is part of it where all these times lie in the record, and else left out: it is not known
    /// to go on.
    ///
    /// # Errors
    /// As for [`Observation::seen`].
    pub fn observe(&self, states: &Ensemble, start: Option<f64>, seed: u64) -> Result<Ensemble> {
        if self.is_plain() && start.is_none() {
            return Ok(states.clone());
        }
        let start = start.unwrap_or(self.span[0]);
        let seen = self.seen(states, &|_| start, seed)?;
        let observed = self.with_cycle(&seen)?;
        let last = observed.trajectories().iter();
        let last = last.map(|t| t.time(t.len() - 1)).fold(start, f64::max);
        let rounding = 1e-9 * (self.span[1] - self.span[0]);
        let inside = start >= self.span[0] - rounding && last <= self.span[1] + rounding;
        match &self.trend {
            Some(trend) if inside => observed.with_changed_rows(|t, row| trend.add(t, 1.0, row)),
            _ => Ok(observed),
        }
    }

    /// A sentence for each part of the observation.
    pub fn sentences(&self) -> Vec<String> {
        let mut out = Vec::new();
        if let Some(trend) = &self.trend {
            out.push(trend.sentence(&self.names, self.span));
        }
        out.extend(self.cycle.as_ref().map(Cycle::sentence));
        out.extend(self.delays.map(|delays| delays.sentence()));
        if self.noise.is_some() {
            out.push("Simulations include measurement noise.".into());
        }
        out
    }
}
