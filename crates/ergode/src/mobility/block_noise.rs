//! The covariance of measurement noise, block by block.

use ndarray::{Array2, Array3, Axis};

/// S in standardised coordinates, as every block would have it.
///
/// The pseudo-values B S − (B−1) S₍₋ᵦ₎ of the jackknife: the mean of all is S, the mean without block b
/// is S₍₋ᵦ₎, so that whatever is re-estimated without a block has the S of the other blocks, and its
/// error that of S.
#[derive(Clone, Debug)]
pub(super) struct BlockNoise {
    /// (block, i, j), or one of all blocks.
    values: Array3<f64>,
}

impl BlockNoise {
    /// The same S in all blocks.
    pub(super) fn uniform(covariance: Array2<f64>) -> Self {
        Self {
            values: covariance.insert_axis(Axis(0)),
        }
    }

    pub(super) fn new(covariance: &Array2<f64>, left_out: &[Array2<f64>]) -> Self {
        let count = left_out.len() as f64;
        let (dim, _) = covariance.dim();
        let mut values = Array3::zeros((left_out.len(), dim, dim));
        for (mut value, without) in values.outer_iter_mut().zip(left_out) {
            value.assign(&(covariance * count - without * (count - 1.0)));
        }
        Self { values }
    }

    /// S of the blocks with these numbers.
    pub(super) fn of_blocks(&self, blocks: &[usize]) -> Array2<f64> {
        if self.values.len_of(Axis(0)) == 1 {
            return self.values.index_axis(Axis(0), 0).to_owned();
        }
        let chosen = self.values.select(Axis(0), blocks);
        chosen.mean_axis(Axis(0)).expect("at least one block")
    }
}
