//! How the coefficients of score and mobility deviate together.

use ndarray::{Array2, Axis, concatenate};

use super::bounded::BoundedMobility;
use super::parts::StoredScore;

/// Deviations of the coefficients of score and mobility, (row, coefficient), with the same rows for both:
/// their covariance is the sum over rows of products of deviations.
#[derive(Clone, Debug)]
pub(super) struct Deviations {
    pub(super) score: Option<Array2<f64>>,
    pub(super) mobility: Option<Array2<f64>>,
}

impl Deviations {
    /// Rows are blocks where score and mobility have the same ones. Else there are rows for the blocks of
    /// each, with zeros for the other, so that the errors of the two add in quadrature.
    pub(super) fn new(score: &StoredScore, mobility: &BoundedMobility) -> Self {
        let (score, mobility) = (score.coefficient_errors(), mobility.coefficient_errors());
        let [mut of_score, mut of_mobility] =
            [score, mobility].map(|errors| errors.map(|errors| errors.deviations().to_owned()));
        if let (Some(score), Some(mobility)) = (score, mobility)
            && !score.shares_blocks(mobility)
        {
            let (s, m) = (score.deviations(), mobility.deviations());
            let (below, above) = (
                Array2::zeros((m.nrows(), s.ncols())),
                Array2::zeros((s.nrows(), m.ncols())),
            );
            of_score = Some(concatenate![Axis(0), s, below]);
            of_mobility = Some(concatenate![Axis(0), above, m]);
        }
        Self {
            score: of_score,
            mobility: of_mobility,
        }
    }
}
