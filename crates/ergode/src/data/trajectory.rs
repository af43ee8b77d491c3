//! One trajectory: values with shared storage, and its times.

use std::ops::Range;
use std::sync::Arc;

use ndarray::{ArcArray2, Array2, Axis, s};

use super::shared::SharedRows;
use super::stored::StoredRows;
use crate::error::Result;

/// The coordinates of one trajectory, an array of shape (time, dimension).
///
/// The storage is shared: cloning or slicing copies no values. Single precision is kept as it
/// is and widened to `f64` only when rows are read.
#[derive(Clone, Debug)]
pub enum Values {
    /// Single precision.
    F32(ArcArray2<f32>),
    /// Double precision.
    F64(ArcArray2<f64>),
    /// Double precision, in the memory of another owner.
    Shared(SharedRows),
    /// Either precision, in a file that is larger than memory should hold.
    Stored(StoredRows),
}

impl Values {
    /// Number of rows, the samples in time.
    pub fn rows(&self) -> usize {
        match self {
            Self::F32(a) => a.nrows(),
            Self::F64(a) => a.nrows(),
            Self::Shared(a) => a.view().nrows(),
            Self::Stored(a) => a.rows(),
        }
    }

    /// Number of columns, the coordinates.
    pub fn dim(&self) -> usize {
        match self {
            Self::F32(a) => a.ncols(),
            Self::F64(a) => a.ncols(),
            Self::Shared(a) => a.view().ncols(),
            Self::Stored(a) => a.dim(),
        }
    }

    /// True for values of single precision.
    pub(crate) fn is_single(&self) -> bool {
        match self {
            Self::F32(_) => true,
            Self::F64(_) | Self::Shared(_) => false,
            Self::Stored(a) => a.is_single(),
        }
    }

    /// Every `step`-th row of `rows`, sharing the storage.
    pub(crate) fn slice(&self, rows: Range<usize>, step: usize) -> Self {
        let cut = s![rows.clone();step, ..];
        match self {
            Self::F32(a) => Self::F32(a.clone().slice_move(cut)),
            Self::F64(a) => Self::F64(a.clone().slice_move(cut)),
            Self::Shared(a) => Self::Shared(a.slice(rows, step)),
            Self::Stored(a) => Self::Stored(a.slice(rows, step)),
        }
    }

    /// The same values with every row contiguous in memory; copies only if they are not.
    fn with_contiguous_rows(self) -> Self {
        fn fix<A: Clone>(a: ArcArray2<A>) -> ArcArray2<A> {
            if a.ncols() <= 1 || a.strides()[1] == 1 {
                a
            } else {
                a.as_standard_layout().into_owned().into_shared()
            }
        }
        match self {
            Self::F32(a) => Self::F32(fix(a)),
            Self::F64(a) => Self::F64(fix(a)),
            Self::Shared(_) | Self::Stored(_) => self,
        }
    }
}

impl From<ArcArray2<f32>> for Values {
    fn from(array: ArcArray2<f32>) -> Self {
        Self::F32(array)
    }
}

impl From<ArcArray2<f64>> for Values {
    fn from(array: ArcArray2<f64>) -> Self {
        Self::F64(array)
    }
}

impl From<SharedRows> for Values {
    fn from(rows: SharedRows) -> Self {
        Self::Shared(rows)
    }
}

impl From<StoredRows> for Values {
    fn from(rows: StoredRows) -> Self {
        Self::Stored(rows)
    }
}

impl From<Array2<f32>> for Values {
    fn from(array: Array2<f32>) -> Self {
        Self::F32(array.into_shared())
    }
}

impl From<Array2<f64>> for Values {
    fn from(array: Array2<f64>) -> Self {
        Self::F64(array.into_shared())
    }
}

/// When the rows of a trajectory were sampled.
#[derive(Clone, Debug, PartialEq)]
pub enum Times {
    /// Row `i` was sampled at `start + i * step`.
    Even {
        /// Time of the first row.
        start: f64,
        /// Time between consecutive rows, positive.
        step: f64,
    },
    /// One strictly increasing time per row.
    Uneven(Arc<[f64]>),
}

impl Times {
    /// Even times starting at zero.
    pub fn every(step: f64) -> Self {
        Self::Even { start: 0.0, step }
    }

    /// The time of row `i`.
    ///
    /// # Panics
    /// If the times are uneven and there is no row `i`.
    pub fn at(&self, i: usize) -> f64 {
        match self {
            Self::Even { start, step } => start + i as f64 * step,
            Self::Uneven(times) => times[i],
        }
    }

    /// The times of every `every`-th row of `rows`.
    pub(crate) fn slice(&self, rows: Range<usize>, every: usize) -> Self {
        match self {
            Self::Even { step, .. } => Self::Even {
                start: self.at(rows.start),
                step: step * every as f64,
            },
            Self::Uneven(times) => {
                Self::Uneven(times[rows].iter().copied().step_by(every).collect())
            }
        }
    }

    /// Turns increasing times that lie on a line up to rounding into even ones.
    ///
    /// With `step = (last - first) / (n - 1)` the times count as even when every one is within
    /// `1e-6 * step + 4 * rounding * max(|first|, |last|)` of `first + i * step`; `rounding` is the
    /// relative precision with which the times were stored.
    pub(crate) fn simplified(self, rounding: f64) -> Self {
        let Self::Uneven(times) = &self else {
            return self;
        };
        let (Some(&first), Some(&last)) = (times.first(), times.last()) else {
            return self;
        };
        let step = (last - first) / (times.len() - 1).max(1) as f64;
        if !(step > 0.0 && step.is_finite()) {
            return self;
        }
        let tolerance = 1e-6 * step + 4.0 * rounding * first.abs().max(last.abs());
        let on_line = |(i, t): (usize, &f64)| (t - (first + i as f64 * step)).abs() <= tolerance;
        // A tolerance as large as the step could hide a missing sample.
        if tolerance < 0.25 * step && times.iter().enumerate().all(on_line) {
            Self::Even { start: first, step }
        } else {
            self
        }
    }
}

/// One trajectory: rows of coordinates and the times at which they were sampled.
///
/// A row with a NaN in any coordinate is a gap. Nothing is checked here; an
/// [`Ensemble`](crate::Ensemble) checks its trajectories when it is built.
#[derive(Clone, Debug)]
pub struct Trajectory {
    values: Values,
    times: Times,
}

impl Trajectory {
    /// A trajectory from values of shape (time, dimension) and their times.
    ///
    /// The storage of `values` is shared, unless the coordinates of a row are not adjacent in
    /// memory (Fortran order); then they are copied once.
    pub fn new(values: impl Into<Values>, times: Times) -> Self {
        Self {
            values: values.into().with_contiguous_rows(),
            times,
        }
    }

    /// Number of rows, gaps included.
    pub fn len(&self) -> usize {
        self.values.rows()
    }

    /// True for a trajectory without rows, which no ensemble accepts.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of coordinates.
    pub fn dim(&self) -> usize {
        self.values.dim()
    }

    /// The time of row `i`.
    pub fn time(&self, i: usize) -> f64 {
        self.times.at(i)
    }

    /// Copies row `i` into `out`, widening single precision.
    ///
    /// # Panics
    /// If there is no row `i` or `out` does not have one place per coordinate.
    pub fn row(&self, i: usize, out: &mut [f64]) {
        match &self.values {
            Values::F32(a) => widen(contiguous(&a.row(i)), out),
            Values::F64(a) => out.copy_from_slice(contiguous(&a.row(i))),
            Values::Shared(a) => out.copy_from_slice(a.row(i)),
            Values::Stored(a) => a.row(i, |row| out.copy_from_slice(row)),
        }
    }

    /// Copies a block of rows into `out` in row-major order, widening single precision.
    ///
    /// # Panics
    /// If the rows do not exist or `out` does not have `rows.len() * dim()` places.
    pub fn copy_rows(&self, rows: Range<usize>, out: &mut [f64]) {
        assert_eq!(
            out.len(),
            rows.len() * self.dim(),
            "the block must hold the rows exactly"
        );
        let cut = s![rows.clone(), ..];
        match &self.values {
            Values::F32(a) => {
                if let Some(block) = a.slice(cut).as_slice() {
                    return widen(block, out);
                }
            }
            Values::F64(a) => {
                if let Some(block) = a.slice(cut).as_slice() {
                    return out.copy_from_slice(block);
                }
            }
            Values::Shared(a) => {
                if let Some(block) = a.view().slice(cut).as_slice() {
                    return out.copy_from_slice(block);
                }
            }
            Values::Stored(a) => return a.copy(rows, out),
        }
        for (i, place) in rows.zip(out.chunks_exact_mut(self.dim())) {
            self.row(i, place);
        }
    }

    /// The values, in the precision in which they are stored.
    pub fn values(&self) -> &Values {
        &self.values
    }

    /// The times of the rows.
    pub fn times(&self) -> &Times {
        &self.times
    }

    /// True when any coordinate of row `i` is NaN.
    pub fn is_gap(&self, i: usize) -> bool {
        let any_nan = |row: &[f64]| row.iter().any(|v| v.is_nan());
        match &self.values {
            Values::F32(a) => a.row(i).iter().any(|v| v.is_nan()),
            Values::F64(a) => any_nan(contiguous(&a.row(i))),
            Values::Shared(a) => any_nan(a.row(i)),
            Values::Stored(a) => a.row(i, any_nan),
        }
    }

    /// Refuses to copy so many rows of a file into memory where they are too many.
    pub(crate) fn refuse_copy(&self, rows: usize) -> Result<()> {
        match &self.values {
            Values::Stored(a) => a.refuse_copy(rows),
            _ => Ok(()),
        }
    }

    /// Fails if the file that holds the rows changed or could not be read.
    pub(crate) fn intact(&self) -> Result<()> {
        match &self.values {
            Values::Stored(a) => a.intact(),
            _ => Ok(()),
        }
    }

    /// Some of the coordinates, sharing the storage of the values.
    pub(crate) fn columns(&self, columns: Range<usize>) -> Self {
        let cut = s![.., columns.clone()];
        let values = match &self.values {
            Values::F32(a) => Values::F32(a.clone().slice_move(cut)),
            Values::F64(a) => Values::F64(a.clone().slice_move(cut)),
            Values::Shared(a) => Values::Shared(a.columns(columns)),
            Values::Stored(a) => Values::Stored(a.columns(&columns.collect::<Vec<_>>(), false)),
        };
        Self {
            values,
            times: self.times.clone(),
        }
    }

    /// A copy of the rows with these numbers, at their own times.
    pub(super) fn rows(&self, rows: &[usize]) -> Self {
        let values = match &self.values {
            Values::F32(a) => Values::from(a.select(Axis(0), rows)),
            Values::F64(a) => Values::from(a.select(Axis(0), rows)),
            Values::Shared(a) => Values::from(a.view().select(Axis(0), rows)),
            Values::Stored(a) => {
                let mut chosen = Array2::zeros((rows.len(), a.dim()));
                for (row, mut place) in rows.iter().zip(chosen.rows_mut()) {
                    let place = place.as_slice_mut().expect("row-major");
                    a.row(*row, |row| place.copy_from_slice(row));
                }
                Values::from(chosen)
            }
        };
        Self {
            values,
            times: Times::Uneven(rows.iter().map(|row| self.time(*row)).collect()),
        }
    }

    /// Every `step`-th row of `rows`, sharing the storage of the values.
    pub(crate) fn slice(&self, rows: Range<usize>, step: usize) -> Self {
        Self {
            values: self.values.slice(rows.clone(), step),
            times: self.times.slice(rows, step),
        }
    }

    /// Replaces times that are even up to rounding by even ones.
    pub(crate) fn simplify_times(&mut self) {
        let times = std::mem::replace(&mut self.times, Times::every(1.0));
        self.times = times.simplified(f64::EPSILON);
    }
}

fn contiguous<'a, A>(row: &ndarray::ArrayView1<'a, A>) -> &'a [A] {
    row.to_slice().expect("rows are contiguous by construction")
}

fn widen(from: &[f32], to: &mut [f64]) {
    assert_eq!(from.len(), to.len(), "one place per coordinate");
    for (to, from) in to.iter_mut().zip(from) {
        *to = f64::from(*from);
    }
}
