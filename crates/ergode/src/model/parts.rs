//! The scores and mobilities that a model is made of, and M outside the samples.

use ndarray::{Array2, s};
use serde::{Deserialize, Serialize};

use crate::lagged::CoefficientErrors;
use crate::mobility::{
    ConstantMobility, LatticeMobility, LinearMobility, Mobility, NeuralMobility,
};
use crate::observable::Polynomials;
use crate::score::{ClosedFormScore, Confinement, LogarithmicScore, NeuralScore, Score};

/// A score that a model owns and saves.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StoredScore {
    /// In a span of vector fields.
    ClosedForm(Box<ClosedFormScore>),
    /// In a span of vector fields of the logarithms of positive coordinates.
    Logarithmic(Box<LogarithmicScore>),
    /// By a network.
    Neural(Box<NeuralScore>),
}

impl StoredScore {
    pub(crate) fn as_score(&self) -> &dyn Score {
        match self {
            Self::ClosedForm(score) => &**score,
            Self::Logarithmic(score) => &**score,
            Self::Neural(score) => &**score,
        }
    }

    pub(super) fn confinement(&self) -> &Confinement {
        match self {
            Self::ClosedForm(score) => score.confinement(),
            Self::Logarithmic(score) => score.confinement(),
            Self::Neural(score) => score.confinement(),
        }
    }

    /// The sampling errors of the coefficients, where they are known.
    pub(super) fn coefficient_errors(&self) -> Option<&CoefficientErrors> {
        match self {
            Self::ClosedForm(score) => score.coefficient_errors(),
            Self::Logarithmic(score) => score.coefficient_errors(),
            Self::Neural(_) => None,
        }
    }

    /// ∂s_i/∂β_k at one raw state, (coefficient k, i); none of a network.
    pub(super) fn design(&self, x: &[f64]) -> Option<Array2<f64>> {
        match self {
            Self::ClosedForm(score) => Some(score.design(x)),
            Self::Logarithmic(score) => Some(score.design(x)),
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

/// M at the state moved, coordinate by coordinate, into the box of the samples: M(clamp(x)).
///
/// Polynomials would run away outside. Along a coordinate that is moved M does not change, so that
/// its part of ∇·M is zero and the divergence stays exact. A network is bounded by itself.
#[derive(Debug)]
pub(super) struct BoundedMobility {
    pub(super) stored: StoredMobility,
    /// The box, in raw coordinates.
    pub(super) low: Vec<f64>,
    pub(super) high: Vec<f64>,
}

impl BoundedMobility {
    /// With the box of the support of the samples.
    pub(super) fn new(stored: StoredMobility, confinement: &Confinement) -> Self {
        let (mut low, mut high) = confinement.support().bounds();
        confinement.standardiser().inverse(&mut low);
        confinement.standardiser().inverse(&mut high);
        Self { stored, low, high }
    }

    /// True where M is the same everywhere.
    pub(super) fn is_constant(&self) -> bool {
        match &self.stored {
            StoredMobility::Constant(_) => true,
            StoredMobility::Linear(mobility) => {
                mobility.basis().degree() == 0 && mobility.drift().is_none()
            }
            StoredMobility::Lattice(_) | StoredMobility::Neural(_) => false,
        }
    }

    /// The drift, where it is an unknown of its own.
    pub(super) fn drift(&self) -> Option<&Polynomials> {
        match &self.stored {
            StoredMobility::Linear(mobility) => mobility.drift(),
            _ => None,
        }
    }

    /// ∂b_i/∂c_k at one raw state, (i, k), where the drift is an unknown of its own.
    pub(super) fn drift_design(&self, x: &[f64]) -> Option<Array2<f64>> {
        let drift = self.drift().and(self.polynomials());
        drift.map(|mobility| mobility.basis().drift_design(x))
    }

    pub(super) fn onsite(&self) -> Option<&LinearMobility> {
        match &self.stored {
            StoredMobility::Lattice(mobility) => Some(mobility.onsite()),
            _ => None,
        }
    }

    /// Rows of the diagonal blocks, outside of which M is zero.
    pub(super) fn block(&self) -> usize {
        match &self.stored {
            StoredMobility::Constant(matrix) => matrix.nrows(),
            StoredMobility::Linear(mobility) => mobility.dim(),
            StoredMobility::Lattice(mobility) => mobility.onsite().dim(),
            StoredMobility::Neural(mobility) => mobility.block(),
        }
    }

    /// The sampling errors of the coefficients, where they are known.
    pub(super) fn coefficient_errors(&self) -> Option<&CoefficientErrors> {
        self.polynomials().and_then(LinearMobility::errors)
    }

    /// ∂M_ij/∂c_k and ∂(∇·M)_i/∂c_k at one raw state, (i·D + j, k) and (i, k), where M is made of
    /// polynomials.
    pub(super) fn design(&self, x: &[f64]) -> Option<(Array2<f64>, Array2<f64>)> {
        let onsite = self.polynomials()?;
        let (dim, block) = (x.len(), onsite.dim());
        let count = onsite.basis().len();
        let clamped = self.clamp(x);
        let mut entries = Array2::zeros((dim * dim, count));
        let mut divergence = Array2::zeros((dim, count));
        for first in (0..dim).step_by(block) {
            let inside = |j: usize| x[first + j] == clamped[first + j];
            let state = &clamped[first..first + block];
            let (local, slopes) = onsite.basis().design_along(state, &inside);
            for (at, row) in local.outer_iter().enumerate() {
                let (i, j) = (first + at / block, first + at % block);
                entries.row_mut(i * dim + j).assign(&row);
            }
            divergence
                .slice_mut(s![first..first + block, ..])
                .assign(&slopes);
        }
        Some((entries, divergence))
    }

    /// The polynomials of one site, where M is made of such.
    fn polynomials(&self) -> Option<&LinearMobility> {
        match &self.stored {
            StoredMobility::Linear(mobility) => Some(mobility),
            StoredMobility::Lattice(mobility) => Some(mobility.onsite()),
            StoredMobility::Constant(_) | StoredMobility::Neural(_) => None,
        }
    }

    fn clamp(&self, x: &[f64]) -> Vec<f64> {
        let n = (x.len() / self.dim()).max(1);
        let mut clamped = x.to_vec();
        let bounds = self.low.iter().zip(&self.high);
        for (row, (low, high)) in clamped.chunks_exact_mut(n).zip(bounds) {
            row.iter_mut().for_each(|x| *x = x.clamp(*low, *high));
        }
        clamped
    }

    /// Σ_j ∂_j M_ij, or Σ_j ∂_j M_ji where `transpose`, over the coordinates j that are not moved.
    fn divergence(&self, onsite: &LinearMobility, x: &[f64], transpose: bool, out: &mut [f64]) {
        let (c, n) = (onsite.dim(), x.len() / self.dim());
        let clamped = self.clamp(x);
        let mut slopes = vec![0.0; c * c * n];
        out.fill(0.0);
        let tile = (c * n).max(1);
        let sites = x.chunks_exact(tile).zip(clamped.chunks_exact(tile));
        for ((x, clamped), out) in sites.zip(out.chunks_exact_mut(tile)) {
            onsite.slopes(clamped, transpose, &mut slopes);
            for (at, slopes) in slopes.chunks_exact(n).enumerate() {
                let (i, j) = (at / c, at % c);
                for (s, slope) in slopes.iter().enumerate() {
                    if x[j * n + s] == clamped[j * n + s] {
                        out[i * n + s] += slope;
                    }
                }
            }
        }
    }
}

impl Mobility for BoundedMobility {
    fn dim(&self) -> usize {
        self.stored.as_mobility().dim()
    }

    fn mobility(&self, x: &[f64], out: &mut [f64]) {
        match self.polynomials() {
            Some(_) => self.stored.as_mobility().mobility(&self.clamp(x), out),
            None => self.stored.as_mobility().mobility(x, out),
        }
    }

    fn div_mobility(&self, x: &[f64], out: &mut [f64]) {
        match self.polynomials() {
            Some(onsite) => self.divergence(onsite, x, false, out),
            None => self.stored.as_mobility().div_mobility(x, out),
        }
    }

    fn div_transpose(&self, x: &[f64], out: &mut [f64]) {
        match self.polynomials() {
            Some(onsite) => self.divergence(onsite, x, true, out),
            None => self.stored.as_mobility().div_transpose(x, out),
        }
    }

    fn with_divergence(&self, x: &[f64], mobility: &mut [f64], divergence: &mut [f64]) {
        match self.polynomials() {
            Some(onsite) => {
                self.mobility(x, mobility);
                self.divergence(onsite, x, false, divergence);
            }
            None => (self.stored.as_mobility()).with_divergence(x, mobility, divergence),
        }
    }
}

#[cfg(test)]
mod tests {
    use ndarray::Array1;

    use super::*;
    use crate::data::Ensemble;
    use crate::mobility::TensorBasis;
    use crate::random::{Purpose, Stream};

    /// M and ∇·M are linear in the coefficients, in the box of the samples and outside, at one site or two.
    #[test]
    fn the_design_times_the_coefficients_is_the_mobility() {
        let mut stream = Stream::new(5, Purpose::Analysis, 0);
        let rows = Array2::from_shape_fn((500, 4), |_| stream.normal());
        let ring = Ensemble::from_array(rows, 1.0).unwrap();
        let two = Ensemble::new(vec![ring.trajectories()[0].columns(0..2)]).unwrap();
        let confinement = [&two, &ring].map(|data| Confinement::from_ensemble(data).unwrap());
        let site = confinement[0].standardiser();
        let basis = TensorBasis::polynomial(two.names(), site, 2, 1, None).unwrap();
        let coefficients = Array1::from_shape_fn(basis.len(), |_| stream.normal());
        let onsite = LinearMobility::new(basis, coefficients.clone()).unwrap();
        let lattice = LatticeMobility::new(2, onsite.clone()).unwrap();
        let models = [
            BoundedMobility::new(onsite.into(), &confinement[0]),
            BoundedMobility::new(lattice.into(), &confinement[1]),
        ];
        for x in [[0.1, -0.4, 0.3, 1.0], [9.0, 0.2, -0.5, -8.0]] {
            for model in &models {
                let dim = model.dim();
                let (entries, divergence) = model.design(&x[..dim]).unwrap();
                let (mut m, mut div) = (vec![0.0; dim * dim], vec![0.0; dim]);
                model.with_divergence(&x[..dim], &mut m, &mut div);
                let pairs = [
                    (entries.dot(&coefficients), m),
                    (divergence.dot(&coefficients), div),
                ];
                for (found, expected) in pairs {
                    let close = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-12 * (1.0 + b.abs());
                    assert!(
                        found.iter().zip(&expected).all(close),
                        "{found} {expected:?}"
                    );
                }
            }
        }
    }
}
