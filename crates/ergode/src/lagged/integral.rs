//! Integrals of operator curves over lags.

use ndarray::{Array1, Array2, ArrayView2};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::linalg;
use crate::quadrature::gauss_legendre;

/// How ∫ f(t) dt over the lag grid is formed from the values f(t_ℓ).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum IntegralRule {
    /// Composite Simpson on equal lags (the last three intervals by the 3/8 rule where their number
    /// is odd): error O(h⁴).
    Simpson,
    /// Cubic interpolation through the four nearest lags, equal or not: error O(h⁴).
    Cubic,
    /// Exact for sums of exponentials e^{λt} with the given rates (real part, imaginary part), as
    /// correlations of a Markov process are; stays accurate where the lags are too coarse for
    /// polynomials. See [`relaxation_rates`].
    Exponential(Vec<(f64, f64)>),
}

impl IntegralRule {
    /// The weights W with ∫_{t_0}^{t_k} f dt ≈ Σ_ℓ W_kℓ f(t_ℓ), for every lag t_k.
    ///
    /// # Errors
    /// When the rule cannot be applied to these lags.
    pub fn cumulative(&self, lags: &[f64]) -> Result<Array2<f64>> {
        if lags.windows(2).any(|w| w[0] >= w[1]) {
            return Err(Error::input("lags must increase"));
        }
        match self {
            IntegralRule::Simpson => simpson(lags),
            IntegralRule::Cubic => accumulate(lags, |k| cubic(lags, k)),
            IntegralRule::Exponential(rates) => {
                let functions = exponentials(rates)?;
                if functions.len() > lags.len() {
                    return Err(Error::input(format!(
                        "{} exponentials need at least as many lags, but there are {}",
                        functions.len(),
                        lags.len()
                    )));
                }
                let inverse = Fit::new(lags, &functions);
                accumulate(lags, |k| inverse.weights(lags[k], lags[k + 1], &functions))
            }
        }
    }
}

/// Sum the weights of single intervals.
fn accumulate(
    lags: &[f64],
    interval: impl Fn(usize) -> Result<Array1<f64>>,
) -> Result<Array2<f64>> {
    let n = lags.len();
    let mut weights = Array2::zeros((n, n));
    for k in 0..n - 1 {
        let next = &weights.row(k) + &interval(k)?;
        weights.row_mut(k + 1).assign(&next);
    }
    Ok(weights)
}

/// Composite Simpson; odd numbers of intervals end with the 3/8 rule, a single one with the cubic.
fn simpson(lags: &[f64]) -> Result<Array2<f64>> {
    let n = lags.len();
    if n == 1 {
        return Ok(Array2::zeros((1, 1)));
    }
    let h = (lags[n - 1] - lags[0]) / (n - 1) as f64;
    if lags.windows(2).any(|w| (w[1] - w[0] - h).abs() > 1e-6 * h) {
        return Err(Error::input(
            "Simpson's rule needs equal lags; use the cubic rule",
        ));
    }
    let mut weights = Array2::zeros((n, n));
    for k in 1..n {
        let mut row = Array1::<f64>::zeros(n);
        if k == 1 {
            row.assign(&cubic(lags, 0)?);
        } else {
            let even = if k % 2 == 0 { k } else { k - 3 };
            for start in (0..even).step_by(2) {
                for (j, w) in [1.0, 4.0, 1.0].into_iter().enumerate() {
                    row[start + j] += w * h / 3.0;
                }
            }
            if k % 2 == 1 {
                for (j, w) in [3.0, 9.0, 9.0, 3.0].into_iter().enumerate() {
                    row[even + j] += w * h / 8.0;
                }
            }
        }
        weights.row_mut(k).assign(&row);
    }
    Ok(weights)
}

/// ∫ over [t_k, t_{k+1}] of the cubic through the four nearest lags.
fn cubic(lags: &[f64], k: usize) -> Result<Array1<f64>> {
    let n = lags.len();
    let points = n.min(4);
    let first = k.saturating_sub(1).min(n - points);
    let nodes = &lags[first..first + points];
    // Moments about t_k, scaled by the interval.
    let h = lags[k + 1] - lags[k];
    let vandermonde = Array2::from_shape_fn((points, points), |(q, j)| {
        ((nodes[j] - lags[k]) / h).powi(q as i32)
    });
    let moments = Array2::from_shape_fn((points, 1), |(q, _)| h / (q + 1) as f64);
    let solution = linalg::solve(vandermonde.view(), moments.view());
    let mut weights = Array1::zeros(n);
    for j in 0..points {
        weights[first + j] = solution[[j, 0]];
    }
    Ok(weights)
}

/// e^{at} cos bt or e^{at} sin bt.
#[derive(Clone, Copy, Debug)]
struct Exponential {
    rate: f64,
    frequency: f64,
    sine: bool,
}

impl Exponential {
    fn value(&self, t: f64) -> f64 {
        let phase = self.frequency * t;
        (self.rate * t).exp() * if self.sine { phase.sin() } else { phase.cos() }
    }

    /// ∫_a^b, by Gauss quadrature on pieces short against the rate and the period.
    fn integral(&self, a: f64, b: f64) -> f64 {
        let pieces = (1.0 + (b - a) * self.rate.abs().max(self.frequency.abs())).ceil();
        let h = (b - a) / pieces;
        (0..pieces as usize)
            .flat_map(|p| gauss_legendre(12, a + h * p as f64, a + h * (p + 1) as f64))
            .map(|(t, w)| w * self.value(t))
            .sum()
    }
}

/// The real functions behind complex rates; conjugate pairs are given once or twice.
fn exponentials(rates: &[(f64, f64)]) -> Result<Vec<Exponential>> {
    let mut functions: Vec<Exponential> = Vec::new();
    for &(rate, frequency) in rates {
        if !(rate.is_finite() && frequency.is_finite()) {
            return Err(Error::input("rates must be finite"));
        }
        let frequency = frequency.abs();
        let known = functions.iter().any(|f| {
            (f.rate - rate).abs() + (f.frequency - frequency).abs() < 1e-9 * (1.0 + rate.abs())
        });
        if known {
            continue;
        }
        functions.push(Exponential {
            rate,
            frequency,
            sine: false,
        });
        if frequency > 0.0 {
            functions.push(Exponential {
                rate,
                frequency,
                sine: true,
            });
        }
    }
    Ok(functions)
}

/// Least-squares fit of the functions to values on the lags.
struct Fit {
    /// (function, lag)
    inverse: Array2<f64>,
}

impl Fit {
    fn new(lags: &[f64], functions: &[Exponential]) -> Self {
        let design = Array2::from_shape_fn((lags.len(), functions.len()), |(l, k)| {
            functions[k].value(lags[l])
        });
        Self {
            inverse: linalg::pseudo_inverse(design.view(), 1e-10),
        }
    }

    fn weights(&self, a: f64, b: f64, functions: &[Exponential]) -> Result<Array1<f64>> {
        let integrals: Array1<f64> = functions.iter().map(|f| f.integral(a, b)).collect();
        Ok(integrals.dot(&self.inverse))
    }
}

/// Rates λ (real, imaginary part) of the semigroup seen by a set of functions, from
/// C(t) and C(t + Δ): the eigenvalues of C(t + Δ) C(t)⁻¹ are e^{λΔ}.
///
/// Eigenvalues that noise has driven to zero or below on the real axis carry no rate and are left
/// out; the rate 0 of the constant is added, for curves with a mean.
///
/// # Errors
/// When the correlations at zero lag are singular.
pub fn relaxation_rates(
    earlier: ArrayView2<f64>,
    later: ArrayView2<f64>,
    interval: f64,
) -> Result<Vec<(f64, f64)>> {
    let propagator = linalg::solve(earlier.t(), later.t());
    let mut rates = vec![(0.0, 0.0)];
    for (re, im) in linalg::eigenvalues(propagator.view())? {
        let modulus = re.hypot(im);
        // Below this the function has decayed within one interval and the rate is noise.
        if modulus > 0.01 && (im != 0.0 || re > 0.0) {
            rates.push((modulus.ln() / interval, im.atan2(re) / interval));
        }
    }
    Ok(rates)
}
