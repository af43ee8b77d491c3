//! Statistics of the training samples that were collected before.

use super::config::FitConfig;
use crate::error::Result;
use crate::mobility::RecipeSums;
use crate::model::StoredScore;
use crate::score::{ClosedFormConfig, Confinement, ScoreSums, potential_of_sums};

/// Sums over all training samples, where those at hand are an excerpt of them.
pub(super) struct Collected {
    pub(super) names: Vec<String>,
    pub(super) recipes: RecipeSums,
    /// Of the score, with its coordinates; none where it is fitted to the excerpt.
    pub(super) score: Option<(ScoreSums, Confinement)>,
}

impl Collected {
    /// The closed-form score of the sums, and its number of terms; none where there are no sums of it.
    pub(super) fn score(
        &self,
        degrees: &[usize],
        config: &FitConfig,
    ) -> Result<Option<(StoredScore, usize)>> {
        let Some((sums, confinement)) = &self.score else {
            return Ok(None);
        };
        let config = ClosedFormConfig {
            degrees: degrees.to_vec(),
            ..config.score.closed_form.clone()
        };
        let score = potential_of_sums(sums, &self.names, confinement.clone(), &config)?;
        let terms = score.coefficients().count();
        Ok(Some((score.into(), terms)))
    }
}
