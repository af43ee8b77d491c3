//! What the paper's recipe gives.

use crate::mobility::constant::ConstantMobility;
use crate::mobility::neural::NeuralMobilityFit;
use crate::score::{NeuralConditionalScore, NeuralScore};

/// What the paper's recipe gives.
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
