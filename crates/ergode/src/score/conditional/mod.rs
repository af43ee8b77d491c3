//! The conditional transition score s_{t|0}(x_t | x_0) = ∇_{x_0} ln p_t(x_t | x_0).

mod certificate;
mod closed_form;
mod denoising;

pub use certificate::{ConditionalCertificate, certify_conditional_score};
pub use closed_form::{ClosedFormConditionalScore, fit_conditional_potential};
pub use denoising::{
    ConditionalConfig, ConditionalReport, NeuralConditionalScore, fit_conditional_score,
};

use super::Score;
use crate::data::Ensemble;
use crate::error::{Error, Result};
use crate::lagged::LagGrid;

/// A conditional transition score of D coordinates.
///
/// Coordinates are raw. Tiles of n pairs are coordinate-major, (D, n), as for [`Score`](super::Score).
pub trait ConditionalScore: Sync {
    /// Number of coordinates D.
    fn dim(&self) -> usize;
    /// s_{t|0} for pairs with initial states `x0` (D, n), future states `xt` (D, n) and lags `t` (n).
    fn conditional_score(&self, x0: &[f64], xt: &[f64], t: &[f64], out: &mut [f64]);
}

/// A stationary score must fit the data, and every lag must be positive.
fn check(ensemble: &Ensemble, stationary: &dyn Score, grid: &LagGrid) -> Result<()> {
    if stationary.dim() != ensemble.dim() {
        return Err(Error::input(format!(
            "dimensions do not match: the score has {} coordinates, the data {}",
            stationary.dim(),
            ensemble.dim()
        )));
    }
    if grid.lags().contains(&0.0) {
        return Err(Error::input(
            "the conditional score is undefined at lag zero; remove lag zero",
        ));
    }
    Ok(())
}
