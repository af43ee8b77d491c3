//! The integrated constant-mobility diagnostic Φ̃_T: which entries of M the coordinates see.

use ndarray::{Array1, Array2, ArrayView1};
use serde::{Deserialize, Serialize};

use super::constant::{in_units, integrated, require_layout, standardised_curves};
use crate::error::{Error, Result};
use crate::lagged::{IntegralRule, LaggedSums, PairSums};
use crate::linalg;

/// The configuration of the diagnostic.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StructureConfig {
    /// Horizons T, as indices into the lags of the statistics.
    pub horizons: Vec<usize>,
    /// Ridge λ of the combined estimate, relative to the mean diagonal of Σ A_Tᵀ A_T in units of the
    /// standard deviations of the coordinates.
    pub ridge: f64,
    /// Quadrature over the lags.
    pub rule: IntegralRule,
}

/// Φ̃_T at several horizons and combined, with errors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Structure {
    /// The horizons T.
    pub horizons: Vec<f64>,
    /// Φ̃_T = A_T† B_T at each horizon (`eq:app_phitilde_closed_form`), with standard errors.
    pub single: Vec<(Array2<f64>, Array2<f64>)>,
    /// The ridge estimate from all horizons (`eq:app_phitilde_multihorizon`).
    pub combined: Array2<f64>,
    /// Its standard errors.
    pub error: Array2<f64>,
}

/// Estimate Φ̃_T from statistics of the coordinates with coordinates and score (see
/// [`estimate_constant_mobility`](super::estimate_constant_mobility) for their layout).
///
/// # Errors
/// When the sums lack the score or the lags, or there are fewer than two blocks.
pub fn estimate_structure(sums: &LaggedSums, config: &StructureConfig) -> Result<Structure> {
    let dim = sums.future_labels().len();
    require_layout(sums, dim, true)?;
    let lags = sums.total().lags().to_vec();
    if config.horizons.is_empty() || config.horizons.iter().any(|h| *h == 0 || *h >= lags.len()) {
        return Err(Error::input(format!(
            "horizons must be lag numbers from 1 to {}",
            lags.len() - 1
        )));
    }
    let weights = config.rule.cumulative(&lags)?;
    let statistic = |totals: &PairSums| {
        let (scale, c, f) = standardised_curves(totals, dim);
        let (mut normal, mut right) = (Array2::zeros((dim, dim)), Array2::zeros((dim, dim)));
        let mut out = Vec::new();
        for &horizon in &config.horizons {
            let a = integrated(&f, weights.row(horizon));
            let b = &c[horizon] - &c[0];
            let single = linalg::pseudo_inverse(a.view(), 1e-10).dot(&b);
            out.extend(in_units(&single, &scale));
            normal += &a.t().dot(&a);
            right += &a.t().dot(&b);
        }
        let ridge = config.ridge * normal.diag().sum() / dim as f64;
        normal.diag_mut().mapv_inplace(|v| v + ridge);
        let combined = linalg::solve(normal.view(), right.view());
        out.extend(in_units(&combined, &scale));
        out
    };
    let jackknife = sums.jackknife(statistic)?;
    let errors = jackknife.errors();
    let square = |a: &Array1<f64>, k: usize| {
        let part: ArrayView1<f64> = a.slice(ndarray::s![k * dim * dim..(k + 1) * dim * dim]);
        part.to_owned()
            .into_shape_with_order((dim, dim))
            .expect("D by D")
    };
    let count = config.horizons.len();
    Ok(Structure {
        horizons: config.horizons.iter().map(|h| lags[*h]).collect(),
        single: (0..count)
            .map(|k| (square(&jackknife.values, k), square(&errors, k)))
            .collect(),
        combined: square(&jackknife.values, count),
        error: square(&errors, count),
    })
}

impl Structure {
    /// ρ_ij = |Φ̃_ij| / max |Φ̃| of the combined estimate (`eq:app_phitilde_entry_score`); the data
    /// of the heatmap.
    pub fn entry_scores(&self) -> Array2<f64> {
        let size = self.combined.mapv(f64::abs);
        let largest = size.iter().copied().fold(0.0, f64::max);
        size / largest
    }

    /// ρ_a, the Frobenius norm over each group relative to the largest
    /// (`eq:app_phitilde_group_score`).
    pub fn group_scores(&self, groups: &[Vec<(usize, usize)>]) -> Vec<f64> {
        let norms: Vec<f64> = groups.iter().map(|group| self.group_norm(group)).collect();
        let largest = norms.iter().copied().fold(0.0, f64::max);
        norms.into_iter().map(|norm| norm / largest).collect()
    }

    /// ‖[Φ̃]_a‖_F.
    pub fn group_norm(&self, group: &[(usize, usize)]) -> f64 {
        group
            .iter()
            .map(|at| self.combined[*at].powi(2))
            .sum::<f64>()
            .sqrt()
    }

    /// Entries with ρ_ij > η that also exceed three of their standard errors
    /// (`eq:app_phitilde_entry_support`, with the errors that the paper does not have).
    pub fn support(&self, threshold: f64) -> Array2<bool> {
        let scores = self.entry_scores();
        Array2::from_shape_fn(scores.dim(), |at| {
            scores[at] > threshold && self.combined[at].abs() > 3.0 * self.error[at]
        })
    }

    /// Spread of each entry over the horizons relative to the largest entry: genuine structure is
    /// stable.
    pub fn instability(&self) -> Array2<f64> {
        let largest = self.combined.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
        Array2::from_shape_fn(self.combined.dim(), |at| {
            let values: Vec<f64> = self.single.iter().map(|(value, _)| value[at]).collect();
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            let square = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>();
            (square / values.len() as f64).sqrt() / largest
        })
    }
}

/// The site-to-site blocks of a ring with `components` coordinates per site, onsite ones first.
pub fn site_blocks(sites: usize, components: usize) -> Vec<Vec<(usize, usize)>> {
    let block = |a: usize, b: usize| {
        let entry = |k: usize| {
            (
                a * components + k / components,
                b * components + k % components,
            )
        };
        (0..components * components).map(entry).collect()
    };
    let onsite = (0..sites).map(|a| block(a, a));
    let offsite = (0..sites).flat_map(|a| (0..sites).filter(move |b| *b != a).map(move |b| (a, b)));
    onsite.chain(offsite.map(|(a, b)| block(a, b))).collect()
}
