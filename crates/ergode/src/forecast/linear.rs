//! The linear inverse model, the reference that any other forecast should beat.

use ndarray::{Array1, Array2, ArrayView1, Axis};
use serde::{Deserialize, Serialize};

use crate::data::Ensemble;
use crate::error::{Error, Result};
use crate::linalg;

/// Coordinates of a state beyond which covariances take too long.
const MOST: usize = 200;

/// Multiplications for a covariance.
const WORK: usize = 100_000_000;

/// A linear inverse model (Penland and Sardeshmukh, 1995): the state at a lead t is normal with
///
/// mean ⟨x⟩ + G(t) (x_0 − ⟨x⟩), covariance C(0) − G(t) C(0) G(t)ᵀ, G(t) = [C(τ) C(0)⁻¹]^{t/τ},
///
/// C being the lagged covariances of the data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinearInverseModel {
    /// ⟨x⟩.
    mean: Array1<f64>,
    /// C(0).
    covariance: Array2<f64>,
    /// ln[C(τ) C(0)⁻¹] / τ.
    generator: Array2<f64>,
    /// τ.
    pub lag: f64,
}

impl LinearInverseModel {
    /// From the states of a record sampled every `interval`, at a lag of `steps` of these.
    ///
    /// # Errors
    /// When no pair of samples is that far apart, the covariance is singular, or its propagator has no real
    /// logarithm.
    pub fn fit(states: &Ensemble, interval: f64, steps: usize) -> Result<Self> {
        let dim = states.dim();
        if dim > MOST {
            return Err(Error::input(format!(
                "{dim} coordinates are too many for a linear inverse model; the limit is {MOST}"
            )));
        }
        let states = &*states.excerpt((WORK / (dim * dim)).max(1000))?;
        let (mean, zero, later) = covariances(states, steps).ok_or_else(|| {
            Error::input(format!(
                "no two samples are {steps} sampling intervals apart, which the linear inverse model needs"
            ))
        })?;
        linalg::cholesky(zero.view()).map_err(|_| {
            Error::numerical(
                "the covariance of the states is singular; leave out dependent coordinates",
            )
        })?;
        let propagator = later.dot(&linalg::inverse(zero.view()));
        let lag = steps as f64 * interval;
        let generator = linalg::logm(propagator.view()).ok_or_else(|| {
            Error::numerical(format!(
                "the propagator of the linear inverse model at lag {lag} has no real logarithm"
            ))
        })?;
        Ok(Self {
            mean,
            covariance: zero,
            generator: generator / lag,
            lag,
        })
    }

    /// G(t), and the standard deviations of the forecasts.
    pub(super) fn at(&self, lead: f64) -> (Array2<f64>, Vec<f64>) {
        let propagator = linalg::expm((&self.generator * lead).view());
        let carried = propagator.dot(&self.covariance).dot(&propagator.t());
        let variances = self.covariance.diag().to_owned() - carried.diag();
        let deviations = variances.iter().map(|v| v.max(0.0).sqrt()).collect();
        (propagator, deviations)
    }

    /// The mean of the forecast from a state, with G of [`LinearInverseModel::at`].
    pub(super) fn forecast(&self, propagator: &Array2<f64>, state: ArrayView1<f64>) -> Array1<f64> {
        &self.mean + &propagator.dot(&(&state - &self.mean))
    }
}

/// ⟨x⟩, C(0) and C(τ) of pairs of rows that are so many steps apart in one segment; none without a pair.
fn covariances(states: &Ensemble, steps: usize) -> Option<(Array1<f64>, Array2<f64>, Array2<f64>)> {
    /// Rows that are multiplied together.
    const CHUNK: usize = 1024;
    let dim = states.dim();
    let (mut count, mut mean) = (0.0, Array1::<f64>::zeros(dim));
    let mut block = Array2::zeros((CHUNK + steps, dim));
    let mut zero = Array2::<f64>::zeros((dim, dim));
    let mut later = Array2::<f64>::zeros((dim, dim));
    for pass in 0..2 {
        for segment in states.segments() {
            let trajectory = &states.trajectories()[segment.trajectory];
            let (first, pairs) = (segment.rows.start, segment.rows.len().saturating_sub(steps));
            for begin in (0..pairs).step_by(CHUNK) {
                let n = CHUNK.min(pairs - begin);
                let rows = first + begin..first + begin + n + steps;
                let mut part = block.slice_mut(ndarray::s![..n + steps, ..]);
                let places = part.as_slice_mut().expect("row-major");
                trajectory.copy_rows(rows, places);
                if pass == 0 {
                    count += n as f64;
                    mean += &part.slice(ndarray::s![..n, ..]).sum_axis(Axis(0));
                    continue;
                }
                part -= &mean;
                let (now, then) = (
                    part.slice(ndarray::s![..n, ..]),
                    part.slice(ndarray::s![steps.., ..]),
                );
                zero += &now.t().dot(&now);
                later += &then.t().dot(&now);
            }
        }
        if pass == 0 {
            if count == 0.0 {
                return None;
            }
            mean /= count;
        }
    }
    Some((mean, zero / count, later / count))
}
