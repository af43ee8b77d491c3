//! A fitted mobility with its errors and diagnostics.

use ndarray::{Array1, Array2};
use serde::{Deserialize, Serialize};

use super::identifiability::Identifiability;
use super::infinite;
use super::linear::LinearMobility;
use crate::lagged::Jackknife;

/// The held-out χ² of one ridge.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RidgeTrial {
    /// χ² added for ⟨|M − Φ|²⟩ = ⟨|Φ|²⟩.
    pub ridge: f64,
    /// Held-out χ² per equation, the mean over folds.
    pub loss: f64,
    /// That of every fold.
    pub folds: Vec<f64>,
}

/// χ² per equation up to which a fit is as good as the data can show: right fits have 0.1 to this, because equations
/// are weighted by errors that are estimated and those of near lags are alike.
pub(crate) const GOOD_CHI2: f64 = 1.5;

/// One pair of degrees that was tried.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rung {
    /// Degree of D.
    pub diffusion_degree: usize,
    /// Degree of R, or of the drift where it is an unknown of its own.
    pub current_degree: usize,
    /// Held-out χ² per equation, in units of the errors at the rung below.
    pub loss: f64,
    /// By how much that is below the rung it was compared with.
    pub improvement: f64,
    /// Standard error of the improvement over the folds.
    pub improvement_error: f64,
    /// True where the fit went on from here.
    pub taken: bool,
}

/// What it took to make D positive.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Positivity {
    /// Fraction of the samples where the unconstrained D was not positive definite.
    pub violation: f64,
    /// The same in the tails: at states two and four times as far from the mean, the larger fraction.
    pub tail_violation: f64,
    /// Rise of χ² per equation.
    pub cost: f64,
}

/// M(x) = Σ_k c_k T_k(x) with errors and what there is to know about the fit.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MobilityFit {
    /// The mobility.
    pub mobility: LinearMobility,
    /// The coefficients with the deviations of their jackknife over blocks; there are none where the
    /// equations were exact.
    pub jackknife: Jackknife,
    /// Standard errors of the coefficients as printed. They contain the uncertainty of the mean and scale by
    /// which the record was standardised; the errors of fields at a state do not.
    pub errors: Array1<f64>,
    /// χ² per equation; near 1 where model and error bars are right.
    pub chi2_per_equation: f64,
    /// Singular values of the design, largest first: a change of M of unit rms along each direction,
    /// in units of the noise.
    pub singular_values: Array1<f64>,
    /// Ratio of the largest to the smallest of them.
    #[serde(with = "infinite::number")]
    pub condition: f64,
    /// Directions along which a change as large as M itself exceeds the noise.
    pub effective_rank: usize,
    /// What the equations determine of M, and their residual; for the unconstrained solution if D was made
    /// positive.
    pub identifiability: Identifiability,
    /// The ridge that was used.
    pub ridge: f64,
    /// The ridges that were tried.
    pub trials: Vec<RidgeTrial>,
    /// The degrees that were tried, where they were chosen by held-out blocks.
    pub rungs: Vec<Rung>,
    /// Rms change of the predictions when the Galerkin space is one degree smaller, in units of the
    /// noise; below 1 the closure is no part of the error.
    pub closure: Option<f64>,
    /// Eigenvalues of the model's generator, (real, imaginary part), slowest first; −1/real is an
    /// implied time scale.
    pub spectrum: Vec<(f64, f64)>,
    /// What it took to make D positive; none where the unconstrained D was.
    pub positivity: Option<Positivity>,
    /// What may be wrong, one sentence each with its remedy.
    pub warnings: Vec<String>,
}

impl MobilityFit {
    /// Label, value and standard error ([`MobilityFit::errors`]) of each coefficient.
    pub fn coefficients(&self) -> impl Iterator<Item = (&str, f64, f64)> {
        let labels = self.mobility.basis().labels();
        let values = self.mobility.coefficients().to_vec();
        let values = values.into_iter().zip(&self.errors);
        labels
            .zip(values)
            .map(|(label, (c, error))| (label, c, *error))
    }

    /// The degrees of D and R that held-out blocks chose, where they did.
    pub(super) fn degrees(&self) -> Option<(usize, usize)> {
        let taken = self.rungs.iter().rfind(|rung| rung.taken)?;
        Some((taken.diffusion_degree, taken.current_degree))
    }

    /// Standard errors of M_ij at a state.
    pub fn mobility_error(&self, x: &[f64]) -> Array2<f64> {
        let (fields, _) = self.mobility.basis().design(x);
        self.square(&self.jackknife.linear(fields.view()).errors())
    }

    /// Standard errors of D_ij at a state.
    pub fn diffusion_error(&self, x: &[f64]) -> Array2<f64> {
        let dim = self.mobility.basis().dim();
        let (fields, _) = self.mobility.basis().design(x);
        let symmetric = Array2::from_shape_fn(fields.dim(), |(at, k)| {
            let mirrored = at % dim * dim + at / dim;
            0.5 * (fields[[at, k]] + fields[[mirrored, k]])
        });
        self.square(&self.jackknife.linear(symmetric.view()).errors())
    }

    /// Standard errors of the drift at a state: of the fitted one where there is one, else of M s + ∇·M, the score
    /// being exact.
    pub fn drift_error(&self, x: &[f64], score: &[f64]) -> Array1<f64> {
        let basis = self.mobility.basis();
        if basis.has_drift() {
            return self.jackknife.linear(basis.drift_design(x).view()).errors();
        }
        let (fields, divergence) = basis.design(x);
        let drift = Array2::from_shape_fn(divergence.dim(), |(i, k)| {
            let dim = score.len();
            let force: f64 = (0..dim).map(|j| fields[[i * dim + j, k]] * score[j]).sum();
            force + divergence[[i, k]]
        });
        self.jackknife.linear(drift.view()).errors()
    }

    fn square(&self, flat: &Array1<f64>) -> Array2<f64> {
        let dim = self.mobility.basis().dim();
        Array2::from_shape_fn((dim, dim), |(i, j)| flat[i * dim + j])
    }
}
