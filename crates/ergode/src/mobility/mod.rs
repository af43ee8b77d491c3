//! The mobility M: its mean, which of its entries matter, and M(x) in a linear span.

mod basis;
mod block_noise;
mod charted;
mod charts;
mod closure;
mod conditional;
mod config;
mod constant;
mod currents;
mod degrees;
mod drift;
mod drift_equations;
mod equations;
mod fit;
mod identifiability;
mod infinite;
mod ladder;
mod lattice;
mod linear;
mod linear_equations;
mod moments;
mod neural;
mod noise;
mod operators;
mod paper;
mod positive;
mod propagator;
mod recipe;
mod restandardise;
mod result;
mod semigroup;
mod structure;
mod tangent;
mod terms;
mod walls;
mod weak;

pub use basis::TensorBasis;
pub(crate) use charts::field_errors;
pub use charts::{ChartKind, ChosenChart};
pub use conditional::{
    Conditional, ConditionalOperator, ConditionalPlan, OperatorSums, ResidualConfig,
    ResidualTarget, estimate_residual,
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
    LatticeWeakPlan, ScoreCoefficients, SpinNeighbourhood, accumulate_lattice,
    neighbourhood_families,
};
pub use linear::LinearMobility;
pub use linear_equations::{Design, LinearEquations, LinearPlan};
pub(crate) use moments::polynomials_of_shard;
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
pub(crate) use positive::tail_violation;
pub use recipe::{Recipe, RecipeConfig, RecipeFit, fit_mobility_recipe};
pub(crate) use recipe::{RecipeSums, fit_mobility_sums, recipe_statistics};
pub(crate) use result::GOOD_CHI2;
pub use result::{MobilityFit, Positivity, RidgeTrial, Rung};
pub use semigroup::{Semigroup, SemigroupConfig};
pub use structure::{Structure, StructureConfig, estimate_structure, site_blocks};
pub use terms::{FALSE_TERMS, TermChoice, TermLibrary};
pub use walls::{EdgeKind, edge_kinds};
pub use weak::{TimeForm, Weak, WeakConfig, WeakPlan};

use std::ops::Range;

use crate::error::{Error, Result};
use pulp::{Arch, Simd, WithSimd};

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
        match factorise(out, dim, 0..dim).first() {
            None => Ok(()),
            Some(s) => {
                let state: Vec<f64> = (0..dim).map(|i| x[i * n + s]).collect();
                Err(Error::numerical(format!(
                    "the diffusion is not positive definite at x = {state:?}; lower the degree of the \
                     mobility, or use a positive mobility"
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

/// Cholesky factors of the diagonal blocks of a tile of n matrices, (dim·dim, n), in their place; the states that
/// have none, whose blocks are then without meaning.
pub(crate) fn factorise(tile: &mut [f64], dim: usize, block: Range<usize>) -> Vec<usize> {
    Arch::new().dispatch(Factorise { tile, dim, block })
}

/// [`factorise`] with the vector instructions of the machine.
struct Factorise<'a> {
    tile: &'a mut [f64],
    dim: usize,
    block: Range<usize>,
}

impl WithSimd for Factorise<'_> {
    type Output = Vec<usize>;
    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> Vec<usize> {
        let Self { tile, dim, block } = self;
        let n = tile.len() / (dim * dim);
        let row = |i: usize, j: usize| (i * dim + j) * n..(i * dim + j + 1) * n;
        let mut failed = Vec::new();
        for j in block.clone() {
            for i in block.start..j {
                tile[row(i, j)].fill(0.0);
            }
            for i in j..block.end {
                for k in block.start..j {
                    if i == j {
                        let [out, a] = disjoint(tile, [row(j, j), row(j, k)]);
                        for (out, a) in out.iter_mut().zip(a) {
                            *out -= *a * *a;
                        }
                    } else {
                        let [out, a, b] = disjoint(tile, [row(i, j), row(i, k), row(j, k)]);
                        for ((out, a), b) in out.iter_mut().zip(a).zip(b) {
                            *out -= *a * *b;
                        }
                    }
                }
                if i == j {
                    let diagonal = &mut tile[row(j, j)];
                    let bad = diagonal
                        .iter()
                        .enumerate()
                        .filter(|(_, d)| d.is_nan() || **d <= 0.0);
                    failed.extend(bad.map(|(s, _)| s));
                    diagonal.iter_mut().for_each(|d| *d = d.sqrt());
                } else {
                    let [out, d] = disjoint(tile, [row(i, j), row(j, j)]);
                    for (out, d) in out.iter_mut().zip(d) {
                        *out /= *d;
                    }
                }
            }
        }
        failed.sort_unstable();
        failed.dedup();
        failed
    }
}

/// Rows of a tile that are used together.
#[inline(always)]
fn disjoint<const K: usize>(tile: &mut [f64], rows: [Range<usize>; K]) -> [&mut [f64]; K] {
    let rows = tile.get_disjoint_mut(rows);
    rows.expect("different entries are different rows")
}
