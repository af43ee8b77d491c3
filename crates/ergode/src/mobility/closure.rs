//! The degree of the Galerkin space in which drift and diffusion are found.

use ndarray::{Array1, ArrayView1, s};

use super::equations::Equations;
use super::fit::residual;
use crate::error::Result;
use crate::lagged::deviations;

/// χ² of correlations in Galerkin spaces of different degrees, in units of the same errors.
///
/// A larger space closes the equations better. Its functions of high degree fluctuate more from sample to sample,
/// however, and what these fluctuations do to l does not cancel: the antisymmetric part A changes exp(l t) by
/// A² t²/2, which is never positive.
pub(super) struct Yardstick {
    /// Inverse standard errors of the equations that the spaces share.
    weights: Array1<f64>,
}

impl Yardstick {
    /// The errors of the residuals at these coefficients, from the equations without each block.
    pub(super) fn new(equations: &dyn Equations, at: ArrayView1<f64>) -> Result<Self> {
        let shared = equations.observed().len() - equations.homogeneous();
        let without = (0..equations.blocks()).map(|block| {
            let some = equations.restricted(&|k| k != block)?;
            Ok(residual(&*some, at)?.slice(s![..shared]).to_owned())
        });
        let without = without.collect::<Result<Vec<_>>>()?;
        let variances = deviations(&without).map_axis(ndarray::Axis(0), |c| c.dot(&c));
        let floor = 1e-18 * variances.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
        Ok(Self {
            weights: variances.mapv(|v| v.max(floor).sqrt().recip()),
        })
    }

    /// χ² per shared equation.
    pub(super) fn chi2(&self, equations: &dyn Equations, at: ArrayView1<f64>) -> Result<f64> {
        let all = residual(equations, at)?;
        let weighted = &all.slice(s![..self.weights.len()]) * &self.weights;
        Ok(weighted.dot(&weighted) / self.weights.len() as f64)
    }
}
