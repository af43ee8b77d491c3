//! What a recipe finds.

use ndarray::Array2;

use super::config::Recipe;
use crate::mobility::charts::ChosenChart;
use crate::mobility::noise::NoiseEstimate;
use crate::mobility::result::MobilityFit;
use crate::mobility::terms::TermChoice;

/// A fitted mobility and the choices that led to it.
#[derive(Clone, Debug)]
pub struct RecipeFit {
    /// The recipe that was used, never [`Recipe::Auto`].
    pub recipe: Recipe,
    /// Why, in a sentence.
    pub reason: String,
    /// The lags of the equations.
    pub lags: Vec<f64>,
    /// Seconds that the lagged statistics took.
    pub statistics_seconds: f64,
    /// The mobility.
    pub fit: MobilityFit,
    /// Φ = ⟨M⟩.
    pub mean: Array2<f64>,
    /// The measurement noise that the record was freed from.
    pub noise: Option<NoiseEstimate>,
    /// Charts of coordinates, where test functions are not polynomials of the coordinates themselves.
    pub charts: Vec<ChosenChart>,
    /// The terms that were kept and dropped, where they were chosen.
    pub terms: Option<TermChoice>,
}
