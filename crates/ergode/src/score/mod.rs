//! The stationary score s = ∇ ln p_ss.

mod certificate;
mod charted;
mod closed_form;
mod conditional;
mod confinement;
mod denoising;
mod errors;
mod features;
mod fields;
mod identity;
mod logarithmic;
mod missing;
mod moments;
mod noise;
mod regression;
mod resample;
mod sums;
mod walls;
mod windows;

pub use certificate::{CertificateConfig, ScoreCertificate, certify_score};
pub use charted::{ChartedScore, fit_charted_score};
pub use closed_form::{
    ClosedFormConfig, ClosedFormScore, DegreeTrial, fit_potential_score, fit_score,
};
pub(crate) use closed_form::{minimiser, potential_of_sums};
pub use conditional::{
    ClosedFormConditionalScore, ConditionalCertificate, ConditionalConfig, ConditionalReport,
    ConditionalScore, NeuralConditionalScore, certify_conditional_score, fit_conditional_potential,
    fit_conditional_score,
};
pub use confinement::Confinement;
pub use denoising::{DenoisingConfig, DenoisingReport, NeuralScore, fit_denoising_score};
pub(crate) use features::certificate_library_for;
pub use features::{CertificateLibrary, certificate_library};
pub use fields::{Gradients, SpinFields, StoredFields, VectorFields};
pub use identity::{Identity, IdentityTest};
pub use logarithmic::{LogarithmicScore, fit_logarithmic_score};
pub(crate) use noise::PotentialMoments;
pub use noise::{certify_score_without_noise, fit_potential_score_without_noise};
pub use regression::NoiseConfig;
pub use resample::{Marginal, ResampleConfig, Resampling};
pub(crate) use sums::accumulate_score_from;
pub use sums::{ScoreObjective, ScoreSums, accumulate_score};
pub use windows::Layout;
pub(crate) use windows::Windows;

use crate::observable::{Functions, state_by_state};
use crate::systems::ExactFields;

/// A score function s = ∇ ln p of D coordinates.
///
/// Coordinates are raw; a score applies any normalisation internally. The primitive works
/// on tiles of n states, coordinate-major, (D, n), as [`Functions`] do; one state is n = 1. Slices of
/// the wrong length are a fault of the caller, and panic.
pub trait Score: Sync {
    /// Number of coordinates D.
    fn dim(&self) -> usize;
    /// s on a tile: `x` and `out` are (D, n).
    fn score(&self, x: &[f64], out: &mut [f64]);
    /// ∂_j s_i at one state, row-major; false where it is not known.
    fn jacobian(&self, x: &[f64], out: &mut [f64]) -> bool {
        let _ = (x, out);
        false
    }
    /// ∇·s on a tile: `x` is (D, n) and `out` is (n); false where it is not known.
    fn divergence(&self, x: &[f64], out: &mut [f64]) -> bool {
        let (dim, n) = (self.dim(), out.len());
        assert_eq!(x.len(), dim * n, "a tile is (dim, n)");
        let (mut state, mut jacobian) = (vec![0.0; dim], vec![0.0; dim * dim]);
        for (s, out) in out.iter_mut().enumerate() {
            for (i, value) in state.iter_mut().enumerate() {
                *value = x[i * n + s];
            }
            if !self.jacobian(&state, &mut jacobian) {
                return false;
            }
            *out = jacobian.iter().step_by(dim + 1).sum();
        }
        true
    }
}

/// The number n of states in a tile, with the lengths checked.
fn tile_width(score: &dyn Score, x: &[f64], out: &[f64]) -> usize {
    assert!(x.len().is_multiple_of(score.dim()), "a tile is (dim, n)");
    assert_eq!(out.len(), x.len(), "scores are (dim, n)");
    x.len() / score.dim()
}

/// The exact score of a reference system.
pub struct ExactScore<'a> {
    dim: usize,
    fields: &'a dyn ExactFields,
}

impl<'a> ExactScore<'a> {
    /// The score of `fields`, which have `dim` coordinates.
    pub fn new(dim: usize, fields: &'a dyn ExactFields) -> Self {
        Self { dim, fields }
    }
}

impl Score for ExactScore<'_> {
    fn dim(&self) -> usize {
        self.dim
    }
    fn score(&self, x: &[f64], out: &mut [f64]) {
        tile_width(self, x, out);
        state_by_state(self.dim, x, out, |x, out| self.fields.score(x, out));
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
        let (coordinates, score) = out.split_at_mut(x.len());
        coordinates.copy_from_slice(x);
        self.score.score(x, score);
    }
}
