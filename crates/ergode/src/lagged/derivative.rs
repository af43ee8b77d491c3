//! The time derivative of lagged correlations by local polynomials.

use ndarray::{Array1, Array2, ArrayView2};
use serde::{Deserialize, Serialize};

use super::jackknife::Jackknife;
use crate::error::{Error, Result};
use crate::linalg;

/// The paper's estimator: a polynomial of degree p is fitted around the target lag with weights
/// K((τ_ℓ − τ∗)/h), K(v) = exp(−v²/2) for |v| ≤ 4, and its slope at τ∗ taken
/// (`eq:app_localpoly_weighted_fit`, `eq:app_localpoly_derivative_entry`).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LocalPolynomial {
    /// Degree p.
    pub degree: usize,
    /// Bandwidth h, in units of time; the paper uses three saved intervals.
    pub bandwidth: f64,
}

impl LocalPolynomial {
    /// The weights w with Ċ(τ∗) = Σ_ℓ w_ℓ C(τ_ℓ): the estimator is linear in the correlations, so
    /// their errors pass through it. At the first lag the fit is one-sided by itself.
    ///
    /// # Errors
    /// When fewer lags than the polynomial needs have weight.
    pub fn weights(&self, lags: &[f64], target: f64) -> Result<Array1<f64>> {
        if self.degree == 0 || !(self.bandwidth.is_finite() && self.bandwidth > 0.0) {
            return Err(Error::input(
                "a local polynomial needs a degree of at least 1 and a positive bandwidth",
            ));
        }
        let near: Vec<(usize, f64)> = lags
            .iter()
            .enumerate()
            .map(|(l, lag)| (l, (lag - target) / self.bandwidth))
            .filter(|(_, v)| v.abs() <= 4.0)
            .collect();
        if near.len() <= self.degree {
            return Err(Error::input(format!(
                "only {} lags lie within four bandwidths of {target}; a polynomial of degree {} \
                 needs at least {}: widen the bandwidth or save more often",
                near.len(),
                self.degree,
                self.degree + 1
            )));
        }
        // Weighted least squares on v^q/q!; the slope is α₁/h.
        let design = Array2::from_shape_fn((near.len(), self.degree + 1), |(l, q)| {
            let factorial: f64 = (1..=q).map(|k| k as f64).product();
            near[l].1.powi(q as i32) / factorial
        });
        let kernel: Array1<f64> = near.iter().map(|(_, v)| (-0.5 * v * v).exp()).collect();
        let kernel = Array2::from_diag(&kernel);
        let weighted = design.t().dot(&kernel);
        let solution = linalg::solve(weighted.dot(&design).view(), weighted.view());
        let mut weights = Array1::zeros(lags.len());
        for (k, (l, _)) in near.iter().enumerate() {
            weights[*l] = solution[[1, k]] / self.bandwidth;
        }
        Ok(weights)
    }

    /// One row of weights per target lag.
    ///
    /// # Errors
    /// As for [`LocalPolynomial::weights`].
    pub fn matrix(&self, lags: &[f64], targets: &[f64]) -> Result<Array2<f64>> {
        let mut matrix = Array2::zeros((targets.len(), lags.len()));
        for (mut row, target) in matrix.rows_mut().into_iter().zip(targets) {
            row.assign(&self.weights(lags, *target)?);
        }
        Ok(matrix)
    }
}

/// The widest bandwidth whose bias is not visible (Lepski's rule).
///
/// `curves` are correlation entries with their jackknife, entry-major (entry, lag). Going from narrow
/// to wide, a bandwidth is accepted while its derivative agrees with that of every narrower one, in
/// root mean square over entries and targets, within `tolerance` standard errors of the difference.
///
/// # Errors
/// When no bandwidth on offer can be used at the lags.
pub fn choose_bandwidth(
    curves: &Jackknife,
    lags: &[f64],
    targets: &[f64],
    degree: usize,
    bandwidths: &[f64],
    tolerance: f64,
) -> Result<LocalPolynomial> {
    let entries = curves.values.len() / lags.len();
    if entries * lags.len() != curves.values.len() || entries == 0 {
        return Err(Error::input("curves must hold one value per entry and lag"));
    }
    let mut accepted: Vec<(f64, Array2<f64>)> = Vec::new();
    for &bandwidth in bandwidths {
        let candidate = LocalPolynomial { degree, bandwidth };
        // Too narrow for the grid: not a candidate.
        let Ok(matrix) = candidate.matrix(lags, targets) else {
            continue;
        };
        let agrees = accepted.iter().all(|(_, narrower)| {
            discrepancy(curves, (&matrix - narrower).view(), entries) <= tolerance
        });
        if !agrees {
            break;
        }
        accepted.push((bandwidth, matrix));
    }
    let Some((bandwidth, _)) = accepted.pop() else {
        return Err(Error::input(
            "all given bandwidths are too narrow for this degree on these lags; give wider ones",
        ));
    };
    Ok(LocalPolynomial { degree, bandwidth })
}

/// Root mean square z-score of W · curve over entries and targets.
fn discrepancy(curves: &Jackknife, weights: ArrayView2<f64>, entries: usize) -> f64 {
    let lags = weights.ncols();
    let mut sum = 0.0;
    for entry in 0..entries {
        let range = entry * lags..(entry + 1) * lags;
        let part = Jackknife {
            values: curves.values.slice(ndarray::s![range.clone()]).to_owned(),
            deviations: curves.deviations.slice(ndarray::s![.., range]).to_owned(),
        };
        let difference = part.linear(weights);
        let errors = difference.errors();
        sum += difference
            .values
            .iter()
            .zip(&errors)
            .map(|(value, error)| (value / error.max(f64::MIN_POSITIVE)).powi(2))
            .sum::<f64>();
    }
    (sum / (entries * weights.nrows()) as f64).sqrt()
}
