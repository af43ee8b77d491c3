//! States of an ensemble at even distances.

use super::Ensemble;

/// Most numbers in a tile of tensors.
const MOST_NUMBERS: usize = 4_000_000;

impl Ensemble {
    /// About `count` samples at even distances, as a tile (D, n); fewer where tensors would be large.
    pub(crate) fn sample_tile(&self, count: usize) -> Vec<f64> {
        let dim = self.dim();
        let count = count.min(MOST_NUMBERS / (dim * dim)).max(1);
        let every = self.samples().div_ceil(count);
        let mut rows = Vec::new();
        let (mut seen, mut row) = (0usize, vec![0.0; dim]);
        for segment in self.segments() {
            let trajectory = &self.trajectories()[segment.trajectory];
            let first = segment.rows.start + seen.next_multiple_of(every) - seen;
            for i in (first..segment.rows.end).step_by(every) {
                trajectory.row(i, &mut row);
                rows.extend_from_slice(&row);
            }
            seen += segment.rows.len();
        }
        let n = rows.len() / dim;
        (0..dim * n).map(|at| rows[at % n * dim + at / n]).collect()
    }
}
