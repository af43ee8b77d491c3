//! Observables φ_k(x): lists of scalar functions with their gradients and Hessians.

mod dual;
mod expression;
mod jet;
mod lattice;
mod monomial;
mod parse;
mod program;
mod spin;

pub use expression::Expressions;
pub use lattice::LatticeAverage;
pub use monomial::Monomials;
pub use spin::{RadialBasis, SpinFamilies};

use crate::error::{Error, Result};

/// More functions than this are refused: their correlation matrix would not fit in memory.
const MAX_FUNCTIONS: usize = 1_000_000;

/// A list of scalar functions φ_k of the state, evaluated together.
///
/// Values come for a tile of states at a time, in the layout that matrix products want. Slices of
/// the wrong length are a fault of the caller, and panic.
pub trait Library: Sync + std::fmt::Debug {
    /// Dimension D of the state.
    fn dim(&self) -> usize;
    /// Number K of functions.
    fn len(&self) -> usize;
    /// One label per function, such as `x^2*y`.
    fn labels(&self) -> &[String];
    /// Values for a tile of n states: `x[i*n + s]` is coordinate i of state s, and `out[k*n + s]`
    /// becomes φ_k there.
    fn values(&self, x: &[f64], out: &mut [f64]);
    /// Gradients at one state: `out[k*dim + i]` = ∂φ_k/∂x_i.
    fn gradients(&self, x: &[f64], out: &mut [f64]);
    /// Hessians at one state: `out[(k*dim + i)*dim + j]` = ∂²φ_k/∂x_i∂x_j.
    fn hessians(&self, x: &[f64], out: &mut [f64]);
    /// True when there is no function.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Values at one state.
    fn values_at(&self, x: &[f64]) -> Vec<f64> {
        assert_eq!(x.len(), self.dim(), "one coordinate per dimension");
        let mut out = vec![0.0; self.len()];
        self.values(x, &mut out);
        out
    }
}

/// The number n of states in a tile, with the lengths checked.
fn tile_width(library: &dyn Library, x: &[f64], out: &[f64]) -> usize {
    let dim = library.dim();
    assert!(x.len().is_multiple_of(dim), "a tile is (dim, n)");
    let n = x.len() / dim;
    assert_eq!(out.len(), library.len() * n, "values are (len, n)");
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

impl Library for Centred {
    fn dim(&self) -> usize {
        self.inner.dim()
    }
    fn len(&self) -> usize {
        self.inner.len()
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
    fn gradients(&self, x: &[f64], out: &mut [f64]) {
        self.inner.gradients(x, out);
    }
    fn hessians(&self, x: &[f64], out: &mut [f64]) {
        self.inner.hessians(x, out);
    }
}
