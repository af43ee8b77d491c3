//! Sampling errors from blocks.

use ndarray::{Array1, Array2, ArrayView2, Axis};
use serde::{Deserialize, Serialize};

use super::blocks::BlockId;
use crate::error::{Error, Result};

/// Values with the covariance of their sampling errors, from leaving out one block at a time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Jackknife {
    /// The values from all blocks.
    pub values: Array1<f64>,
    /// √((B−1)/B) times the deviations of the leave-one-out values from their mean, (block, value).
    pub deviations: Array2<f64>,
}

impl Jackknife {
    /// From the statistic of all blocks and those with one block left out.
    pub(crate) fn new(values: Array1<f64>, left_out: &[Array1<f64>]) -> Result<Self> {
        if left_out.len() < 2 {
            return Err(Error::input(
                "a standard error needs at least two blocks; divide the record into stretches",
            ));
        }
        let deviations = deviations(left_out);
        Ok(Self { values, deviations })
    }

    /// Of a statistic of plain sums, one list per block.
    pub(crate) fn of_sums(
        blocks: &[Vec<f64>],
        statistic: impl Fn(&[f64]) -> Vec<f64>,
    ) -> Result<Self> {
        let size = blocks.first().map_or(0, Vec::len);
        let total: Vec<f64> = (0..size)
            .map(|k| blocks.iter().map(|b| b[k]).sum())
            .collect();
        let without = blocks.iter().map(|block| {
            let rest: Vec<f64> = total.iter().zip(block).map(|(t, b)| t - b).collect();
            Array1::from(statistic(&rest))
        });
        let without: Vec<_> = without.collect();
        Self::new(statistic(&total).into(), &without)
    }

    /// Standard error of each value.
    pub fn errors(&self) -> Array1<f64> {
        self.deviations
            .columns()
            .into_iter()
            .map(|column| column.dot(&column).sqrt())
            .collect()
    }

    /// Covariance between the values.
    pub fn covariance(&self) -> Array2<f64> {
        crate::linalg::multiply(self.deviations.t(), self.deviations.view())
    }

    /// The errors of linear combinations W · values are those of W · deviations.
    pub fn linear(&self, weights: ArrayView2<f64>) -> Self {
        Self {
            values: weights.dot(&self.values),
            deviations: crate::linalg::multiply(self.deviations.view(), weights.t()),
        }
    }
}

/// The sampling errors of fitted coefficients, block by block, as a model keeps them.
///
/// Coefficients of two fits that have the same blocks deviate together, so that the error of a function of
/// both contains their correlation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CoefficientErrors {
    /// Trajectory and part of each block, (block, 2); no rows where the blocks have no names.
    blocks: Array2<usize>,
    /// [`Jackknife::deviations`] of the coefficients.
    deviations: Array2<f64>,
}

impl CoefficientErrors {
    /// Errors of a jackknife over these blocks; `None` with fewer than two blocks.
    pub(crate) fn new(blocks: &[BlockId], deviations: &Array2<f64>) -> Option<Self> {
        let named = if blocks.len() == deviations.nrows() {
            blocks
        } else {
            &[]
        };
        let place = |(b, k): (usize, usize)| [named[b].trajectory, named[b].part][k];
        (deviations.nrows() > 1).then(|| Self {
            blocks: Array2::from_shape_fn((named.len(), 2), place),
            deviations: deviations.clone(),
        })
    }

    /// The same blocks with other deviations.
    pub(crate) fn with_deviations(self, deviations: &Array2<f64>) -> Self {
        Self {
            deviations: deviations.clone(),
            ..self
        }
    }

    /// Refuse errors of another number of coefficients, which a damaged file may have.
    pub(crate) fn require(&self, coefficients: usize) -> Result<()> {
        let named = [0, self.deviations.nrows()].contains(&self.blocks.nrows());
        if self.deviations.ncols() == coefficients && self.blocks.ncols() == 2 && named {
            return Ok(());
        }
        Err(Error::input(format!(
            "the errors are of {} coefficients in {} blocks, but there are {coefficients} \
             coefficients; fit the model again",
            self.deviations.ncols(),
            self.blocks.nrows()
        )))
    }

    /// The deviations, (block, coefficient).
    pub(crate) fn deviations(&self) -> ArrayView2<'_, f64> {
        self.deviations.view()
    }

    /// True where the blocks of both are the same.
    pub(crate) fn shares_blocks(&self, other: &Self) -> bool {
        self.blocks.nrows() > 0 && self.blocks == other.blocks
    }
}

/// √((B−1)/B) times the deviations of leave-one-out values from their mean, (block, value); there must
/// be a block.
pub(crate) fn deviations<'a>(left_out: impl IntoIterator<Item = &'a Array1<f64>>) -> Array2<f64> {
    let views: Vec<_> = left_out.into_iter().map(|values| values.view()).collect();
    let rows = ndarray::stack(Axis(0), &views).expect("one length");
    let count = rows.nrows() as f64;
    let mean = rows.mean_axis(Axis(0)).expect("at least one block");
    (rows - mean) * ((count - 1.0) / count).sqrt()
}

/// Mean of a − b over folds, and its standard error.
pub(crate) fn paired(a: &[f64], b: &[f64]) -> (f64, f64) {
    let n = a.len() as f64;
    let mean = a.iter().zip(b).map(|(a, b)| a - b).sum::<f64>() / n;
    let square: f64 = a.iter().zip(b).map(|(a, b)| (a - b - mean).powi(2)).sum();
    (mean, (square / (n * (n - 1.0))).sqrt())
}
