//! The one shape that every way of writing the equations for M has.

use ndarray::{Array1, Array2, ArrayView1};

use super::basis::TensorBasis;
use super::moments::Moments;
use crate::error::Result;

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
    /// The same equations from the chosen blocks only, which are counted anew from zero.
    fn restricted(&self, keep: &dyn Fn(usize) -> bool) -> Result<Box<dyn Equations>>;
    /// The observed values.
    fn observed(&self) -> ArrayView1<'_, f64>;
    /// The predicted values.
    fn predict(&self, coefficients: ArrayView1<f64>) -> Result<Array1<f64>>;
    /// The predicted values and their derivatives, (equation, coefficient).
    fn linearise(&self, coefficients: ArrayView1<f64>) -> Result<(Array1<f64>, Array2<f64>)>;
    /// The same equations with a coarser closure, where they rest on one.
    fn coarser(&self) -> Result<Option<Box<dyn Equations>>> {
        Ok(None)
    }
    /// Eigenvalues (real, imaginary part) of the model's generator, slowest first, where they are
    /// part of the prediction.
    fn spectrum(&self, coefficients: ArrayView1<f64>) -> Result<Vec<(f64, f64)>> {
        let _ = coefficients;
        Ok(Vec::new())
    }
}

/// The blocks of `blocks` whose positions are kept.
pub(super) fn choose(blocks: &[usize], keep: &dyn Fn(usize) -> bool) -> Vec<usize> {
    let numbered = blocks.iter().enumerate();
    let kept = numbered.filter(|(position, _)| keep(*position));
    kept.map(|(_, block)| *block).collect()
}
