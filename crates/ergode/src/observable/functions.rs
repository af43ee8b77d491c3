//! Lists of scalar functions, evaluated together on tiles of states.

/// A list of scalar functions φ_k of the state.
///
/// Values come for a tile of states at a time, in the layout that matrix products want. Slices of
/// the wrong length are a fault of the caller, and panic.
pub trait Functions: Sync {
    /// Number of coordinates D.
    fn dim(&self) -> usize;
    /// One label per function.
    fn labels(&self) -> &[String];
    /// Values on a tile of n states: `x` is coordinate-major, (D, n); `out` is function-major,
    /// (function, n).
    fn values(&self, x: &[f64], out: &mut [f64]);

    /// Number of functions.
    fn len(&self) -> usize {
        self.labels().len()
    }
    /// True if there are none.
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

impl<F: Functions + ?Sized> Functions for &F {
    fn dim(&self) -> usize {
        (**self).dim()
    }
    fn labels(&self) -> &[String] {
        (**self).labels()
    }
    fn values(&self, x: &[f64], out: &mut [f64]) {
        (**self).values(x, out);
    }
}

/// Functions given by a closure that computes all of them at one state.
pub struct FunctionList<F> {
    dim: usize,
    labels: Vec<String>,
    evaluate: F,
}

impl<F: Fn(&[f64], &mut [f64]) + Sync> FunctionList<F> {
    /// `evaluate(x, out)` fills one value per label.
    pub fn new(dim: usize, labels: Vec<String>, evaluate: F) -> Self {
        Self {
            dim,
            labels,
            evaluate,
        }
    }
}

impl<F: Fn(&[f64], &mut [f64]) + Sync> Functions for FunctionList<F> {
    fn dim(&self) -> usize {
        self.dim
    }
    fn labels(&self) -> &[String] {
        &self.labels
    }
    fn values(&self, x: &[f64], out: &mut [f64]) {
        state_by_state(self.dim, x, out, &self.evaluate);
    }
}

/// Fill a tile, (row, n), with what `evaluate` gives at each of its n states.
pub(crate) fn state_by_state(
    dim: usize,
    x: &[f64],
    out: &mut [f64],
    mut evaluate: impl FnMut(&[f64], &mut [f64]),
) {
    assert!(x.len().is_multiple_of(dim), "a tile is (dim, n)");
    let n = x.len() / dim;
    if n == 0 {
        return;
    }
    let (mut state, mut values) = (vec![0.0; dim], vec![0.0; out.len() / n]);
    for s in 0..n {
        for (value, row) in state.iter_mut().zip(x.chunks_exact(n)) {
            *value = row[s];
        }
        evaluate(&state, &mut values);
        for (value, row) in values.iter().zip(out.chunks_exact_mut(n)) {
            row[s] = *value;
        }
    }
}
