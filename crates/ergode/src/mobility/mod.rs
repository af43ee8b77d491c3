//! The mobility M: its mean, which of its entries matter, and M(x) in a linear span.

mod basis;
mod block_noise;
mod conditional;
mod config;
mod constant;
mod equations;
mod fit;
mod identifiability;
mod ladder;
mod lattice;
mod linear;
mod moments;
mod neural;
mod noise;
mod operators;
mod paper;
mod positive;
mod propagator;
mod recipe;
mod result;
mod semigroup;
mod structure;
mod weak;

pub use basis::TensorBasis;
pub use conditional::{
    Conditional, ConditionalOperator, OperatorSums, ResidualConfig, ResidualTarget,
    estimate_residual,
};
pub use config::{MeanConstraint, MobilityConfig};
pub use constant::{
    ConstantMobility, PhiMethod, Repair, SymmetryClass, estimate_constant_mobility,
};
pub use equations::{Equations, GeneratorResidual};
pub use fit::fit_mobility;
pub use identifiability::{CorrelationBound, Identifiability};
pub use ladder::{LadderConfig, fit_mobility_ladder};
pub use lattice::{
    HomogeneousSlice, LatticeConfig, LatticeMobility, LatticeScore, LatticeSums, LatticeWeak,
    ScoreCoefficients, SpinNeighbourhood, accumulate_lattice, neighbourhood_families,
};
pub use linear::LinearMobility;
pub use moments::{
    Expectations, PolynomialConfig, PolynomialSums, accumulate_polynomials,
    accumulate_site_polynomials, doubling_lags,
};
pub use neural::{
    ChannelScale, NeuralMobility, NeuralMobilityConfig, NeuralMobilityFit, ResidualCurve,
    fit_neural_mobility,
};
pub use noise::{MeasurementNoise, NoiseEstimate};
pub use paper::{
    PaperConfig, PaperFit, PaperRingConfig, PaperSpinFit, fit_paper_mobility, fit_paper_ring,
    fit_paper_spin,
};
pub use positive::refine_positive;
pub use recipe::{Recipe, RecipeConfig, RecipeFit, fit_mobility_recipe};
pub use result::{MobilityFit, Positivity, RidgeTrial, Rung};
pub use semigroup::{Semigroup, SemigroupConfig};
pub use structure::{Structure, StructureConfig, estimate_structure, site_blocks};
pub use weak::{TimeForm, Weak, WeakConfig};

use std::ops::Range;

use crate::error::{Error, Result};

/// M(x) = D(x) + R(x), with its divergences, on tiles of raw states.
///
/// A tile of n states is coordinate-major, (D, n); tensors are (D·D, n), entry (i, j) in row
/// i·D + j. Slices of the wrong length are a fault of the caller, and panic.
pub trait Mobility: Sync {
    /// Number of coordinates D.
    fn dim(&self) -> usize;
    /// M_ij.
    fn mobility(&self, x: &[f64], out: &mut [f64]);
    /// (∇·M)_i = Σ_j ∂_j M_ij, the drift that keeps p_ss invariant.
    fn div_mobility(&self, x: &[f64], out: &mut [f64]);
    /// (∇·Mᵀ)_i = Σ_j ∂_j M_ji, as the stationary operator needs it.
    fn div_transpose(&self, x: &[f64], out: &mut [f64]);

    /// M_ij and ∇·M at once.
    fn with_divergence(&self, x: &[f64], mobility: &mut [f64], divergence: &mut [f64]) {
        self.mobility(x, mobility);
        self.div_mobility(x, divergence);
    }

    /// D = sym M.
    fn diffusion(&self, x: &[f64], out: &mut [f64]) {
        self.mobility(x, out);
        symmetrise(out, self.dim());
    }

    /// The lower triangular Σ with Σ Σᵀ = D; the noise of the equation is √2 Σ.
    ///
    /// # Errors
    /// Where D is not positive definite; the message names the state.
    fn noise_factor(&self, x: &[f64], out: &mut [f64]) -> Result<()> {
        let dim = self.dim();
        self.diffusion(x, out);
        let n = x.len() / dim;
        match (0..n).find(|&s| !factorise(out, dim, 0..dim, n, s)) {
            None => Ok(()),
            Some(s) => {
                let state: Vec<f64> = (0..dim).map(|i| x[i * n + s]).collect();
                Err(Error::numerical(format!(
                    "the diffusion is not positive definite at x = {state:?}; lower the degree of \
                     the mobility or use a positive one"
                )))
            }
        }
    }
}

/// The symmetric parts of a tile of matrices, (dim·dim, n), in their place.
pub(crate) fn symmetrise(tile: &mut [f64], dim: usize) {
    let n = tile.len() / (dim * dim);
    for i in 0..dim {
        for j in i + 1..dim {
            for s in 0..n {
                let (upper, lower) = ((i * dim + j) * n + s, (j * dim + i) * n + s);
                let mean = 0.5 * (tile[upper] + tile[lower]);
                tile[upper] = mean;
                tile[lower] = mean;
            }
        }
    }
}

/// Cholesky factor of the diagonal block of state `s` in a tile, in place; false where there is none.
pub(crate) fn factorise(
    tile: &mut [f64],
    dim: usize,
    block: Range<usize>,
    n: usize,
    s: usize,
) -> bool {
    let at = |i: usize, j: usize| (i * dim + j) * n + s;
    for j in block.clone() {
        for i in block.clone() {
            if i < j {
                tile[at(i, j)] = 0.0;
                continue;
            }
            let known: f64 = (block.start..j)
                .map(|k| tile[at(i, k)] * tile[at(j, k)])
                .sum();
            let rest = tile[at(i, j)] - known;
            if i == j {
                if rest.is_nan() || rest <= 0.0 {
                    return false;
                }
                tile[at(j, j)] = rest.sqrt();
            } else {
                tile[at(i, j)] = rest / tile[at(j, j)];
            }
        }
    }
    true
}
