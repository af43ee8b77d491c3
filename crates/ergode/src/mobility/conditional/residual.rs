//! What of Ċ the constant mobility does not explain.

use ndarray::{Array2, ArrayView2};
use serde::{Deserialize, Serialize};

use super::operator::ConditionalOperator;
use crate::control::Control;
use crate::data::Ensemble;
use crate::error::{Error, Result};
use crate::lagged::{
    Jackknife, LagGrid, LaggedConfig, LaggedSums, LocalPolynomial, PairSums, accumulate_lagged,
};
use crate::observable::{Functions, Library};
use crate::score::Score;

/// How the derivative of the correlations is taken.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ResidualConfig {
    /// Degree p of the local polynomial.
    pub degree: usize,
    /// Its bandwidth h in sampling intervals (in lag spacings where sampling is uneven).
    pub bandwidth: f64,
}

impl Default for ResidualConfig {
    fn default() -> Self {
        Self {
            degree: 3,
            bandwidth: 3.0,
        }
    }
}

impl ResidualConfig {
    /// Lags that the local polynomials need around those of `grid`, and their spacing.
    pub(crate) fn grid(&self, ensemble: &Ensemble, grid: &LagGrid) -> Result<(LagGrid, f64)> {
        let lags = grid.lags();
        let Some(interval) = ensemble.sampling_interval() else {
            let spacing = lags
                .windows(2)
                .map(|w| w[1] - w[0])
                .fold(f64::INFINITY, f64::min);
            return Ok((grid.clone(), spacing));
        };
        let reach = (4.0 * self.bandwidth).ceil() as usize;
        let mut steps: Vec<usize> = Vec::new();
        for lag in lags {
            let step = (lag / interval).round() as usize;
            let first = steps.last().map_or(0, |last| last + 1);
            steps.extend(step.saturating_sub(reach).max(first)..=step + reach);
        }
        Ok((LagGrid::even(interval, steps)?, interval))
    }
}

/// Ċ_obs and A\[Φ\] at the lags of an operator, kept per block.
///
/// A\[Φ\] is evaluated with the stationary score (`eq:app_affine_2d_Phi_operator`), and the target of the
/// correction is Ċ_obs − A\[Φ\] (`eq:app_affine_2d_residual_target`). Both are covariances: ⟨B⟩ = 0 for
/// the true score, and what an estimated one leaves of it is not let in. Φ is held fixed.
#[derive(Clone, Debug)]
pub struct ResidualTarget {
    phi: Array2<f64>,
    sums: LaggedSums,
    /// Ċ from C, (lag of the operator, lag of the statistics).
    slopes: Array2<f64>,
    /// The lags of the operator among those of the statistics.
    places: Vec<usize>,
}

/// Collect the statistics of [`ResidualTarget`].
pub fn estimate_residual(
    ensemble: &Ensemble,
    operator: &ConditionalOperator,
    stationary: &dyn Score,
    phi: ArrayView2<f64>,
    config: &ResidualConfig,
    statistics: &LaggedConfig,
    control: &Control,
) -> Result<ResidualTarget> {
    let dim = ensemble.dim();
    if phi.dim() != (dim, dim) || stationary.dim() != dim || operator.initial().dim() != dim {
        return Err(Error::input(format!(
            "the constant mobility, the score and the functions must all be those of the {dim} \
             coordinates of the data"
        )));
    }
    let (grid, spacing) = config.grid(ensemble, operator.grid())?;
    let initial = Initial::new(operator.initial(), stationary, phi);
    let future = operator.future();
    let sums = accumulate_lagged(ensemble, future, &initial, &grid, statistics, control)?;
    let lags = sums.total().lags().to_vec();
    let nominal = grid.lags();
    let places: Vec<usize> = operator
        .grid()
        .lags()
        .iter()
        .map(|lag| nominal.partition_point(|other| *other < lag - 1e-9 * spacing))
        .collect();
    let polynomial = LocalPolynomial {
        degree: config.degree,
        bandwidth: config.bandwidth * spacing,
    };
    let targets: Vec<f64> = places.iter().map(|place| lags[*place]).collect();
    Ok(ResidualTarget {
        phi: phi.to_owned(),
        slopes: polynomial.matrix(&lags, &targets)?,
        sums,
        places,
    })
}

impl ResidualTarget {
    /// Ċ_obs followed by A\[Φ\], each (lag, m, n) flat, from these sums.
    pub(in crate::mobility) fn curves(&self, totals: &PairSums) -> Vec<f64> {
        let covariances: Vec<Array2<f64>> = (0..totals.lags().len())
            .map(|lag| totals.covariance(lag))
            .collect();
        let count = self.sums.initial_labels().len() / 2;
        let (mut observed, mut constant) = (Vec::new(), Vec::new());
        for (weights, place) in self.slopes.rows().into_iter().zip(&self.places) {
            for m in 0..self.sums.future_labels().len() {
                for n in 0..count {
                    let terms = weights.iter().zip(&covariances);
                    observed.push(terms.map(|(w, c)| w * c[[m, n]]).sum());
                    constant.push(covariances[*place][[m, count + n]]);
                }
            }
        }
        observed.extend(constant);
        observed
    }

    /// Φ.
    pub fn constant_mobility(&self) -> Array2<f64> {
        self.phi.clone()
    }

    /// The statistics, with which part of the data is chosen.
    pub(in crate::mobility) fn sums(&self) -> &LaggedSums {
        &self.sums
    }

    /// Ċ_obs followed by A\[Φ\], each (lag, m, n) flat, with the jackknife over blocks.
    pub fn jackknife(&self) -> Result<Jackknife> {
        self.sums.jackknife(|totals| self.curves(totals))
    }
}

/// φ_n and B_Φ,n = sᵀ Φ ∇φ_n + Φ : ∇∇φ_n (`eq:app_affine_2d_Phi_conjugate`).
struct Initial<'a> {
    library: &'a dyn Library,
    score: &'a dyn Score,
    phi: ArrayView2<'a, f64>,
    labels: Vec<String>,
}

impl<'a> Initial<'a> {
    fn new(library: &'a dyn Library, score: &'a dyn Score, phi: ArrayView2<'a, f64>) -> Self {
        let labels = library.labels().iter();
        let operators = labels.clone().map(|label| format!("B({label})"));
        Self {
            labels: labels.cloned().chain(operators).collect(),
            library,
            score,
            phi,
        }
    }
}

impl Functions for Initial<'_> {
    fn dim(&self) -> usize {
        self.library.dim()
    }
    fn labels(&self) -> &[String] {
        &self.labels
    }
    fn values(&self, x: &[f64], out: &mut [f64]) {
        let (dim, count) = (self.dim(), self.library.len());
        let n = x.len() / dim;
        let (values, operators) = out.split_at_mut(count * n);
        self.library.values(x, values);
        let mut score = vec![0.0; dim * n];
        self.score.score(x, &mut score);
        let mut gradients = vec![0.0; count * dim * n];
        self.library.gradient_tile(x, &mut gradients);
        let mut hessians = vec![0.0; count * dim * dim];
        crate::observable::state_by_state(dim, x, operators, |x, out| {
            self.library.hessians(x, &mut hessians);
            for (out, hessian) in out.iter_mut().zip(hessians.chunks_exact(dim * dim)) {
                *out = hessian.iter().zip(&self.phi).map(|(h, phi)| h * phi).sum();
            }
        });
        for (f, out) in operators.chunks_exact_mut(n.max(1)).enumerate() {
            for ((i, j), phi) in self.phi.indexed_iter() {
                let gradient = &gradients[(f * dim + j) * n..][..n];
                let factors = score[i * n..][..n].iter().zip(gradient);
                for (out, (s, g)) in out.iter_mut().zip(factors) {
                    *out += phi * s * g;
                }
            }
        }
    }
}
