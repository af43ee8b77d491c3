//! Rows in memory that someone else owns.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use ndarray::{ArrayView2, ShapeBuilder};

use crate::error::{Error, Result};

/// Numbers that stay in the memory of another owner, such as an array of another language.
///
/// Row `i` begins at `first + i * stride` of the numbers, and its coordinates are adjacent. The owner
/// lives as long as any ensemble of its rows, and its numbers must not change meanwhile.
#[derive(Clone)]
pub struct SharedRows {
    owner: Arc<dyn AsRef<[f64]> + Send + Sync>,
    first: usize,
    rows: usize,
    dim: usize,
    stride: usize,
}

impl SharedRows {
    /// `rows` rows of `dim` adjacent coordinates each, one every `stride` numbers of `owner`.
    ///
    /// # Errors
    /// When rows overlap or reach beyond the numbers of `owner`.
    pub fn new(
        owner: Arc<dyn AsRef<[f64]> + Send + Sync>,
        rows: usize,
        dim: usize,
        stride: usize,
    ) -> Result<Self> {
        let length = (*owner).as_ref().len();
        let last = rows.saturating_sub(1).checked_mul(stride);
        let end = last.and_then(|last| last.checked_add(dim));
        if (rows > 1 && stride < dim) || end.is_none_or(|end| rows > 0 && end > length) {
            return Err(Error::input(format!(
                "{rows} rows of {dim} coordinates, with a stride of {stride} numbers, do not fit into \
                 {length} numbers without overlap"
            )));
        }
        Ok(Self {
            owner,
            first: 0,
            rows,
            dim,
            stride,
        })
    }

    /// Rows that are all zero and take no memory: for a record of which only the layout is known.
    pub(super) fn hollow(rows: usize, dim: usize) -> Self {
        Self {
            owner: Arc::new(vec![0.0; dim]),
            first: 0,
            rows,
            dim,
            stride: 0,
        }
    }

    /// The values, (time, dimension).
    pub fn view(&self) -> ArrayView2<'_, f64> {
        let numbers = &(*self.owner).as_ref()[self.first..];
        ArrayView2::from_shape((self.rows, self.dim).strides((self.stride, 1)), numbers)
            .expect("the rows were found to lie in the numbers")
    }

    /// Row `i`.
    pub(super) fn row(&self, i: usize) -> &[f64] {
        assert!(i < self.rows, "there is no row {i}");
        &(*self.owner).as_ref()[self.first + i * self.stride..][..self.dim]
    }

    /// Every `step`-th row of `rows`.
    pub(super) fn slice(&self, rows: Range<usize>, step: usize) -> Self {
        assert!(rows.end <= self.rows, "these rows do not exist");
        Self {
            first: self.first + rows.start * self.stride,
            rows: rows.len().div_ceil(step),
            stride: self.stride * step,
            ..self.clone()
        }
    }

    /// Some of the coordinates.
    pub(super) fn columns(&self, columns: Range<usize>) -> Self {
        assert!(columns.end <= self.dim, "these coordinates do not exist");
        Self {
            first: self.first + columns.start,
            dim: columns.len(),
            ..self.clone()
        }
    }
}

impl fmt::Debug for SharedRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SharedRows({:?})", self.view())
    }
}
