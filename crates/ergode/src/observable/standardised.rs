//! Functions of standardised coordinates, as functions of the raw ones.

use super::functions::Functions;
use crate::data::Standardiser;

/// φ_k((x − mean) / scale).
#[derive(Clone, Debug)]
pub(crate) struct Standardised<F> {
    standardiser: Standardiser,
    inner: F,
}

impl<F: Functions> Standardised<F> {
    /// The functions `inner` of the coordinates that `standardiser` gives.
    pub(crate) fn new(standardiser: Standardiser, inner: F) -> Self {
        Self {
            standardiser,
            inner,
        }
    }

    /// The functions of standardised coordinates.
    pub(crate) fn inner(&self) -> &F {
        &self.inner
    }
}

impl<F: Functions> Functions for Standardised<F> {
    fn dim(&self) -> usize {
        self.inner.dim()
    }
    fn labels(&self) -> &[String] {
        self.inner.labels()
    }
    fn values(&self, x: &[f64], out: &mut [f64]) {
        let mut z = x.to_vec();
        self.standardiser.forward_states(&mut z);
        self.inner.values(&z, out);
    }
}
