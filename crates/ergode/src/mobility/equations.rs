//! The one shape that every way of writing the equations for M has.

use ndarray::{Array1, Array2, Array3, ArrayView1, ArrayView2};

use super::basis::TensorBasis;
use crate::error::Result;
use crate::lagged::BlockId;
use crate::observable::Moments;

/// Equations for the coefficients of M(x) = Σ_k c_k T_k(x): numbers observed in the data, and what a
/// model with coefficients c predicts for them.
///
/// Both sides may be estimated from the same data. The data are kept in blocks, and the equations of
/// any subset of blocks can be formed: that is what standard errors and held-out tests are made of.
pub trait Equations: Send + Sync {
    /// The tensor fields.
    fn basis(&self) -> &TensorBasis;
    /// Moments of the standardised coordinates, at least to twice the degree of the basis.
    fn moments(&self) -> &Moments;
    /// Number of blocks; zero where the equations are exact.
    fn blocks(&self) -> usize;
    /// Which stretches of the data the blocks are, in order; empty where that is not known.
    fn block_ids(&self) -> Vec<BlockId> {
        Vec::new()
    }
    /// The same equations from the chosen blocks only, renumbered from zero.
    ///
    /// # Errors
    /// When the chosen blocks do not fix the equations.
    fn restricted(&self, keep: &dyn Fn(usize) -> bool) -> Result<Box<dyn Equations>>;
    /// The observed values.
    fn observed(&self) -> ArrayView1<'_, f64>;
    /// The predicted values.
    ///
    /// # Errors
    /// When the prediction is not finite.
    fn predict(&self, coefficients: ArrayView1<f64>) -> Result<Array1<f64>>;
    /// The predicted values and their derivatives, (equation, coefficient).
    ///
    /// # Errors
    /// As for [`Equations::predict`].
    fn linearise(&self, coefficients: ArrayView1<f64>) -> Result<(Array1<f64>, Array2<f64>)>;
    /// The same equations with a coarser closure, where they rest on one.
    ///
    /// # Errors
    /// When the coarser equations cannot be formed.
    fn coarser(&self) -> Result<Option<Box<dyn Equations>>> {
        Ok(None)
    }
    /// The functions of the earlier time that the equations are projected on, orthonormal under the
    /// data, in the constant and the φ_n that they were made from, (function, 1 and φ_n), where these
    /// are known.
    fn initial_functions(&self) -> Option<ArrayView2<'_, f64>> {
        None
    }
    /// Coefficients that a search may start from, best first.
    fn starts(&self) -> Vec<Array1<f64>> {
        Vec::new()
    }
    /// False where a constant D is no first guess: with test functions of charts it may have to vanish, because it
    /// would be infinitely fast where the chart is steep.
    fn has_constant_guess(&self) -> bool {
        true
    }
    /// How many of the last equations say that a linear function of the coefficients is zero: their error vanishes
    /// with the coefficients.
    fn homogeneous(&self) -> usize {
        0
    }
    /// A time of the equations, such as their shortest lag: the unit of rates that are searched.
    fn time_unit(&self) -> f64 {
        1.0
    }
    /// How far the generator of a model is from that of the data, where the functions at both ends are
    /// orthonormal.
    ///
    /// # Errors
    /// As for [`Equations::predict`].
    fn generator_residual(
        &self,
        coefficients: ArrayView1<f64>,
    ) -> Result<Option<GeneratorResidual>> {
        let _ = coefficients;
        Ok(None)
    }
    /// Eigenvalues (real, imaginary part) of the model's generator, slowest first, where they are
    /// part of the prediction.
    ///
    /// # Errors
    /// When the eigenvalues cannot be computed.
    fn spectrum(&self, coefficients: ArrayView1<f64>) -> Result<Vec<(f64, f64)>> {
        let _ = coefficients;
        Ok(Vec::new())
    }
}

/// R_mn(r) = ⟨(L_M − L) K_r φ_m  φ_n⟩, the generator of the model less that of the data, on functions
/// that the data have evolved (the paper's `eq:app_pgc_projected_generator_residual`).
#[derive(Clone, Debug)]
pub struct GeneratorResidual {
    /// R_mn at the fitted lags, or its mean over each step between them, (lag, m, n).
    pub values: Array3<f64>,
    /// The time that each of these stands for; together the longest fitted lag T.
    pub spans: Vec<f64>,
    /// Largest difference between model and data in C_mn(t) − C_mn(0), where the equations predict it.
    pub misfit: Option<f64>,
}

/// The blocks of `blocks` whose positions are kept.
pub(super) fn choose(blocks: &[usize], keep: &dyn Fn(usize) -> bool) -> Vec<usize> {
    let numbered = blocks.iter().enumerate();
    let kept = numbered.filter(|(position, _)| keep(*position));
    kept.map(|(_, block)| *block).collect()
}
