//! The scores and mobilities that a model is made of.

use ndarray::Array2;
use serde::{Deserialize, Serialize};

use crate::lagged::CoefficientErrors;
use crate::mobility::{
    ConstantMobility, LatticeMobility, LinearMobility, Mobility, NeuralMobility,
};
use crate::score::{
    ChartedScore, ClosedFormScore, Confinement, LogarithmicScore, NeuralScore, Score,
};

/// A score that a model owns and saves.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StoredScore {
    /// In a span of vector fields.
    ClosedForm(Box<ClosedFormScore>),
    /// In a span of vector fields of the logarithms of positive coordinates.
    Logarithmic(Box<LogarithmicScore>),
    /// In a span of vector fields of charts of the coordinates.
    Charted(Box<ChartedScore>),
    /// By a network.
    Neural(Box<NeuralScore>),
}

impl StoredScore {
    pub(crate) fn as_score(&self) -> &dyn Score {
        match self {
            Self::ClosedForm(score) => &**score,
            Self::Logarithmic(score) => &**score,
            Self::Charted(score) => &**score,
            Self::Neural(score) => &**score,
        }
    }

    pub(super) fn confinement(&self) -> &Confinement {
        match self {
            Self::ClosedForm(score) => score.confinement(),
            Self::Logarithmic(score) => score.confinement(),
            Self::Charted(score) => score.confinement(),
            Self::Neural(score) => score.confinement(),
        }
    }

    /// The sampling errors of the coefficients, where they are known.
    pub(super) fn coefficient_errors(&self) -> Option<&CoefficientErrors> {
        match self {
            Self::ClosedForm(score) => score.coefficient_errors(),
            Self::Logarithmic(score) => score.coefficient_errors(),
            Self::Charted(score) => score.coefficient_errors(),
            Self::Neural(_) => None,
        }
    }

    /// ∂s_i/∂β_k at one raw state, (coefficient k, i); none of a network.
    pub(super) fn design(&self, x: &[f64]) -> Option<Array2<f64>> {
        match self {
            Self::ClosedForm(score) => Some(score.design(x)),
            Self::Logarithmic(score) => Some(score.design(x)),
            Self::Charted(score) => Some(score.design(x)),
            Self::Neural(_) => None,
        }
    }
}

impl From<ClosedFormScore> for StoredScore {
    fn from(score: ClosedFormScore) -> Self {
        Self::ClosedForm(Box::new(score))
    }
}

impl From<LogarithmicScore> for StoredScore {
    fn from(score: LogarithmicScore) -> Self {
        Self::Logarithmic(Box::new(score))
    }
}

impl From<ChartedScore> for StoredScore {
    fn from(score: ChartedScore) -> Self {
        Self::Charted(Box::new(score))
    }
}

impl From<NeuralScore> for StoredScore {
    fn from(score: NeuralScore) -> Self {
        Self::Neural(Box::new(score))
    }
}

/// A mobility that a model owns and saves.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StoredMobility {
    /// The same everywhere.
    Constant(Array2<f64>),
    /// In a span of polynomial tensors.
    Linear(LinearMobility),
    /// The same block of polynomials at every site of a ring.
    Lattice(LatticeMobility),
    /// By a network.
    Neural(NeuralMobility),
}

impl From<Array2<f64>> for StoredMobility {
    fn from(matrix: Array2<f64>) -> Self {
        Self::Constant(matrix)
    }
}

impl From<ConstantMobility> for StoredMobility {
    fn from(mobility: ConstantMobility) -> Self {
        Self::Constant(mobility.value)
    }
}

impl From<LinearMobility> for StoredMobility {
    fn from(mobility: LinearMobility) -> Self {
        Self::Linear(mobility)
    }
}

impl From<LatticeMobility> for StoredMobility {
    fn from(mobility: LatticeMobility) -> Self {
        Self::Lattice(mobility)
    }
}

impl From<NeuralMobility> for StoredMobility {
    fn from(mobility: NeuralMobility) -> Self {
        Self::Neural(mobility)
    }
}

impl StoredMobility {
    pub(crate) fn as_mobility(&self) -> &dyn Mobility {
        match self {
            Self::Constant(mobility) => mobility,
            Self::Linear(mobility) => mobility,
            Self::Lattice(mobility) => mobility,
            Self::Neural(mobility) => mobility,
        }
    }
}
