//! The result of the paper's recipe.

use crate::mobility::constant::ConstantMobility;
use crate::mobility::neural::NeuralMobilityFit;
use crate::score::{NeuralConditionalScore, NeuralScore};

/// The result of the paper's recipe.
#[derive(Debug)]
pub struct PaperFit {
    /// The stationary score.
    pub stationary: NeuralScore,
    /// The conditional score.
    pub conditional: NeuralConditionalScore,
    /// Φ.
    pub constant: ConstantMobility,
    /// The mobility, with the residual-operator curves.
    pub fit: NeuralMobilityFit,
}
