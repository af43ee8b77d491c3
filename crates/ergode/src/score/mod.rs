//! The stationary score s = ∇ ln p_ss.

mod closed_form;
mod sums;

pub use closed_form::{
    ClosedFormConfig, ClosedFormScore, DegreeTrial, fit_potential_score, fit_score,
};
pub use sums::{ScoreSums, accumulate_score};

use crate::observable::Functions;

/// A score function. Coordinates are raw; whatever normalisation a score uses is its own affair.
pub trait Score: Sync {
    /// Number of coordinates D.
    fn dim(&self) -> usize;
    /// s at one state.
    fn score(&self, x: &[f64], out: &mut [f64]);
    /// ∂_j s_i at one state, row-major; false where it is not known.
    fn jacobian(&self, x: &[f64], out: &mut [f64]) -> bool {
        let _ = (x, out);
        false
    }
    /// ∇·s at one state, where the Jacobian is known.
    fn divergence(&self, x: &[f64]) -> Option<f64> {
        let dim = self.dim();
        let mut jacobian = vec![0.0; dim * dim];
        self.jacobian(x, &mut jacobian)
            .then(|| (0..dim).map(|i| jacobian[i * dim + i]).sum())
    }
}

/// The coordinates followed by the components of a score, as functions for lagged statistics.
pub struct CoordinatesAndScore<'a> {
    score: &'a dyn Score,
    labels: Vec<String>,
}

impl<'a> CoordinatesAndScore<'a> {
    /// With the names of the coordinates.
    pub fn new(names: &[String], score: &'a dyn Score) -> Self {
        let scores = names.iter().map(|name| format!("s({name})"));
        Self {
            score,
            labels: names.iter().cloned().chain(scores).collect(),
        }
    }
}

impl Functions for CoordinatesAndScore<'_> {
    fn dim(&self) -> usize {
        self.score.dim()
    }
    fn labels(&self) -> &[String] {
        &self.labels
    }
    fn values(&self, x: &[f64], out: &mut [f64]) {
        let dim = self.dim();
        let n = x.len() / dim;
        let (mut state, mut score) = (vec![0.0; dim], vec![0.0; dim]);
        out[..dim * n].copy_from_slice(x);
        for s in 0..n {
            for (i, value) in state.iter_mut().enumerate() {
                *value = x[i * n + s];
            }
            self.score.score(&state, &mut score);
            for (i, value) in score.iter().enumerate() {
                out[(dim + i) * n + s] = *value;
            }
        }
    }
}
