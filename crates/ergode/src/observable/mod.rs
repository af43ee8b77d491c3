//! Observables φ_k(x): lists of scalar functions with their gradients and Hessians.

mod dual;
mod expanded;
mod expression;
mod factor;
mod functions;
mod jet;
mod lattice;
mod lattice_potential;
mod moments;
mod monomial;
mod parse;
mod polynomial;
mod powers;
mod program;
mod spin;
mod standardised;
mod stored;

pub use expression::Expressions;
pub(crate) use factor::{Factor, degree, differentiate, multiply, products};
pub(crate) use functions::state_by_state;
pub use functions::{FunctionList, Functions};
pub use lattice::LatticeAverage;
pub use lattice_potential::LatticePotential;
pub use moments::Moments;
pub(crate) use moments::{NoiseRemoval, exponents, index, powers};
pub use monomial::Monomials;
pub(crate) use polynomial::{Polynomial, Polynomials};
pub use spin::{RadialBasis, SpinFamilies};
pub(crate) use standardised::Standardised;
pub use stored::StoredLibrary;

use std::any::Any;

use crate::error::{Error, Result};

/// More functions than this are refused: their correlation matrix would not fit in memory.
const MAX_FUNCTIONS: usize = 1_000_000;

/// Scalar functions φ_k with exact derivatives.
pub trait Library: Functions + Any + Send + std::fmt::Debug {
    /// Gradients at one state: `out[k*dim + i]` = ∂φ_k/∂x_i.
    fn gradients(&self, x: &[f64], out: &mut [f64]);
    /// Hessians at one state: `out[(k*dim + i)*dim + j]` = ∂²φ_k/∂x_i∂x_j.
    fn hessians(&self, x: &[f64], out: &mut [f64]);
    /// True where every function is linear, up to a constant: all Hessians are zero.
    fn is_affine(&self) -> bool {
        false
    }
    /// Laplacians at one state: `out[k]` = Δφ_k.
    fn laplacians(&self, x: &[f64], out: &mut [f64]) {
        let dim = self.dim();
        let mut hessians = vec![0.0; self.len() * dim * dim];
        self.hessians(x, &mut hessians);
        for (out, hessian) in out.iter_mut().zip(hessians.chunks_exact(dim * dim)) {
            *out = hessian.iter().step_by(dim + 1).sum();
        }
    }
    /// Gradients on a tile of n states: `x` is (D, n), `out` is (function, D, n).
    fn gradient_tile(&self, x: &[f64], out: &mut [f64]) {
        state_by_state(self.dim(), x, out, |x, out| self.gradients(x, out));
    }
    /// Σ_i w_i ∂²φ_k/∂x_i² on a tile of n states: `x` is (D, n), `out` is (function, n). Weights of 1
    /// give the Laplacians, other weights those in coordinates of another scale.
    fn laplacian_tile(&self, x: &[f64], weights: &[f64], out: &mut [f64]) {
        let dim = self.dim();
        let mut hessians = vec![0.0; self.len() * dim * dim];
        state_by_state(dim, x, out, |x, out| {
            self.hessians(x, &mut hessians);
            for (out, hessian) in out.iter_mut().zip(hessians.chunks_exact(dim * dim)) {
                let diagonal = hessian.iter().step_by(dim + 1);
                *out = diagonal.zip(weights).map(|(h, w)| h * w).sum();
            }
        });
    }
}

/// The number n of states in a tile, with the lengths checked.
fn tile_width(library: &dyn Functions, x: &[f64], out: &[f64]) -> usize {
    let dim = library.dim();
    assert!(x.len().is_multiple_of(dim), "a tile is (dim, n)");
    let n = x.len() / dim;
    assert_eq!(out.len(), library.len() * n, "values are (len, n)");
    n
}

/// The number n of states in a tile, with the lengths checked for `rows` rows per function.
fn derivative_tile_width(library: &dyn Library, x: &[f64], out: &[f64], rows: usize) -> usize {
    let dim = library.dim();
    assert!(x.len().is_multiple_of(dim), "a tile is (dim, n)");
    let n = x.len() / dim;
    assert_eq!(
        out.len(),
        library.len() * rows * n,
        "derivatives on a tile are (len, dim, n) or (len, n)"
    );
    n
}

/// Check the lengths of derivatives of the given order at one state.
fn check_derivatives(library: &dyn Library, x: &[f64], out: &[f64], order: u32) {
    let dim = library.dim();
    assert_eq!(x.len(), dim, "one coordinate per dimension");
    assert_eq!(
        out.len(),
        library.len() * dim.pow(order),
        "derivatives are (len, dim) or (len, dim, dim)"
    );
}

/// φ_k − c_k: a library with constants, usually the means, subtracted.
#[derive(Debug)]
pub struct Centred {
    inner: Box<dyn Library>,
    means: Vec<f64>,
}

impl Centred {
    /// Subtract `means`, one per function.
    ///
    /// # Errors
    /// When there is not one finite mean per function.
    pub fn new(inner: Box<dyn Library>, means: Vec<f64>) -> Result<Self> {
        if means.len() != inner.len() {
            return Err(Error::input(format!(
                "{} means were given for a library of {} functions; give one per function",
                means.len(),
                inner.len()
            )));
        }
        if let Some(k) = means.iter().position(|mean| !mean.is_finite()) {
            return Err(Error::input(format!(
                "the mean of \"{}\" is {}; means must be finite, so leave out functions that \
                 diverge on the data",
                inner.labels()[k],
                means[k]
            )));
        }
        Ok(Self { inner, means })
    }

    /// The constants that are subtracted.
    pub fn means(&self) -> &[f64] {
        &self.means
    }
}

impl Functions for Centred {
    fn dim(&self) -> usize {
        self.inner.dim()
    }
    fn labels(&self) -> &[String] {
        self.inner.labels()
    }
    fn values(&self, x: &[f64], out: &mut [f64]) {
        let n = tile_width(self, x, out);
        self.inner.values(x, out);
        if n > 0 {
            for (row, mean) in out.chunks_exact_mut(n).zip(&self.means) {
                for value in row {
                    *value -= mean;
                }
            }
        }
    }
}

impl Library for Centred {
    fn gradients(&self, x: &[f64], out: &mut [f64]) {
        self.inner.gradients(x, out);
    }
    fn hessians(&self, x: &[f64], out: &mut [f64]) {
        self.inner.hessians(x, out);
    }
    fn is_affine(&self) -> bool {
        self.inner.is_affine()
    }
    fn laplacians(&self, x: &[f64], out: &mut [f64]) {
        self.inner.laplacians(x, out);
    }
    fn gradient_tile(&self, x: &[f64], out: &mut [f64]) {
        self.inner.gradient_tile(x, out);
    }
    fn laplacian_tile(&self, x: &[f64], weights: &[f64], out: &mut [f64]) {
        self.inner.laplacian_tile(x, weights, out);
    }
}
