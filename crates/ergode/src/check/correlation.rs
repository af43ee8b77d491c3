//! Autocorrelation on lags that double in spacing, decorrelation and integrated times.

use ndarray::Array2;

use super::record::Record;
use crate::control::Control;
use crate::error::Result;
use crate::lagged::{Jackknife, PairSums};
use crate::observable::{Monomials, Standardised};

/// Lags of each level; every level doubles the spacing.
const LAGS: usize = 32;
/// Sokal's window: the integral ends at the first lag beyond this many integrated times.
const WINDOW: f64 = 5.0;

/// ρ(t) of one coordinate.
#[derive(Clone, Debug, Default)]
pub(super) struct Curve {
    pub(super) lags: Vec<f64>,
    pub(super) rho: Vec<f64>,
    pub(super) error: Vec<f64>,
}

/// The autocorrelations of all coordinates, and statistics of the shortest lags.
pub(super) struct Correlations {
    pub(super) curves: Vec<Curve>,
    /// Correlations of the coordinates at equal times.
    pub(super) equal_time: Array2<f64>,
    /// C_jj at the lags of one sampling interval, (lag, coordinate) in row-major order, and these
    /// lags: the first is 0.
    pub(super) short: Jackknife,
    pub(super) short_lags: Vec<f64>,
}

impl Correlations {
    /// Level by level until every coordinate has decorrelated; none without pairs.
    pub(super) fn measure(
        record: &Record,
        threshold: f64,
        control: &Control,
    ) -> Result<Option<Self>> {
        let dim = record.dim();
        let coordinates = Monomials::coordinates(record.ensemble.names())?;
        let functions = Standardised::new(record.scales.clone(), coordinates);
        let reach = ((record.longest - 1) / 2).max(1);
        let mut curves = vec![Curve::default(); dim];
        let mut first = None;
        let mut factor = 1;
        while LAGS / 2 * factor < reach || factor == 1 {
            let from = if factor == 1 { 1 } else { LAGS / 2 + 1 };
            let steps: Vec<usize> = std::iter::once(0)
                .chain((from..=LAGS).filter(|s| s * factor <= reach))
                .collect();
            let Some(sums) = record.sums(&functions, &steps, factor, control)? else {
                break;
            };
            let count = sums.grid().len();
            if count < 2 || sums.block_ids().len() < 2 {
                break;
            }
            let total = sums.total();
            let lags = total.lags().to_vec();
            let rho = sums.jackknife(|s| autocovariances(s, count, dim, true))?;
            let error = rho.errors();
            for (j, curve) in curves.iter_mut().enumerate() {
                for l in usize::from(factor > 1)..count {
                    curve.lags.push(lags[l]);
                    curve.rho.push(rho.values[l * dim + j]);
                    curve.error.push(error[l * dim + j]);
                }
            }
            if first.is_none() {
                let short = sums.jackknife(|s| autocovariances(s, count, dim, false))?;
                first = Some((equal_time(&total), short, lags));
            }
            if curves.iter().all(|c| c.settled(threshold)) {
                break;
            }
            factor *= 2;
        }
        Ok(first.map(|(equal_time, short, short_lags)| Self {
            curves,
            equal_time,
            short,
            short_lags,
        }))
    }
}

/// C_jj(t), divided by C_jj(0) if `normalised`, (lag, j) in row-major order.
fn autocovariances(sums: &PairSums, lags: usize, dim: usize, normalised: bool) -> Vec<f64> {
    let zero = sums.covariance(0).into_diag();
    let mut out = Vec::with_capacity(lags * dim);
    for lag in 0..lags {
        let c = sums.covariance(lag);
        for j in 0..dim {
            out.push(c[[j, j]] / if normalised { zero[j] } else { 1.0 });
        }
    }
    out
}

fn equal_time(total: &PairSums) -> Array2<f64> {
    let c = total.covariance(0);
    Array2::from_shape_fn(c.dim(), |(i, j)| c[[i, j]] / (c[[i, i]] * c[[j, j]]).sqrt())
}

impl Curve {
    /// The first lag with ρ below `threshold`, by linear interpolation.
    pub(super) fn decorrelation_time(&self, threshold: f64) -> Option<f64> {
        let k = self.rho.iter().position(|r| *r < threshold)?;
        let fraction = (self.rho[k - 1] - threshold) / (self.rho[k - 1] - self.rho[k]);
        Some(self.lags[k - 1] + fraction * (self.lags[k] - self.lags[k - 1]))
    }

    /// τ_int(W) = ∫_0^W ρ dt by the trapezoidal rule, Δ (1/2 + Σ ρ) up to its end point on equal
    /// lags, with the first W ≥ 5 τ_int(W), and whether there is such a W. Never below half the first lag.
    pub(super) fn integrated_time(&self) -> Option<(f64, bool)> {
        let least = 0.5 * self.lags.get(1)?;
        let mut sum = 0.0;
        for k in 1..self.lags.len() {
            let width = self.lags[k] - self.lags[k - 1];
            sum += 0.5 * width * (self.rho[k] + self.rho[k - 1]);
            if self.lags[k] >= WINDOW * sum {
                return Some((sum.max(least), true));
            }
        }
        Some((sum.max(least), false))
    }

    fn settled(&self, threshold: f64) -> bool {
        self.decorrelation_time(threshold).is_some() && self.integrated_time().is_some_and(|t| t.1)
    }

    /// Last lag before ρ falls below three standard errors or the threshold.
    pub(super) fn usable_lag(&self, threshold: f64) -> Option<f64> {
        let lost = (1..self.lags.len()).find(|&k| self.rho[k] < 3.0 * self.error[k]);
        let noisy = lost.map_or(*self.lags.last()?, |k| self.lags[(k - 1).max(1)]);
        Some(
            self.decorrelation_time(threshold)
                .map_or(noisy, |d| d.min(noisy)),
        )
    }
}
