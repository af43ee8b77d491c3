//! A tile: a block of states, coordinate by coordinate.

use std::ops::Range;

use ndarray::{ArrayView2, s};

use super::standardise::Standardiser;
use super::trajectory::{Trajectory, Values};

/// A block of n states in the layout that fields and functions take: coordinate-major, (D, n).
///
/// Rows of a trajectory are transposed here and nowhere else. The buffer is kept from one tile to the next.
#[derive(Clone, Debug, Default)]
pub(crate) struct States {
    count: usize,
    values: Vec<f64>,
}

impl std::ops::Deref for States {
    type Target = [f64];

    /// The tile, (D, n).
    fn deref(&self) -> &[f64] {
        &self.values
    }
}

impl States {
    /// Number of states n.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// n states at the origin.
    pub(crate) fn zeros(dim: usize, count: usize) -> Self {
        Self {
            count,
            values: vec![0.0; dim * count],
        }
    }

    /// State s is this row of a trajectory.
    pub(crate) fn place(&mut self, s: usize, trajectory: &Trajectory, row: usize) {
        let mut state = vec![0.0; trajectory.dim()];
        trajectory.row(row, &mut state);
        for (place, value) in self.values.chunks_exact_mut(self.count).zip(state) {
            place[s] = value;
        }
    }

    /// Consecutive rows of a trajectory.
    pub(crate) fn load(&mut self, trajectory: &Trajectory, rows: Range<usize>) {
        self.resize(trajectory.dim(), rows.len());
        match trajectory.values() {
            Values::F64(a) => self.transpose(a.slice(s![rows, ..])),
            Values::F32(a) => self.transpose(a.slice(s![rows, ..])),
            Values::Shared(a) => self.transpose(a.view().slice(s![rows, ..])),
            Values::Stored(a) => {
                let mut block = vec![0.0; self.values.len()];
                a.copy(rows.clone(), &mut block);
                let block = ArrayView2::from_shape((rows.len(), trajectory.dim()), &block);
                self.transpose(block.expect("the block holds the rows"));
            }
        }
    }

    /// Chosen rows of a trajectory.
    pub(crate) fn pick(
        &mut self,
        trajectory: &Trajectory,
        rows: impl ExactSizeIterator<Item = usize> + Clone,
    ) {
        self.resize(trajectory.dim(), rows.len());
        match trajectory.values() {
            Values::F64(a) => self.gather(a.view(), rows),
            Values::F32(a) => self.gather(a.view(), rows),
            Values::Shared(a) => self.gather(a.view(), rows),
            Values::Stored(a) => {
                let count = self.count;
                for (s, row) in rows.enumerate() {
                    a.row(row, |state| {
                        for (i, value) in state.iter().enumerate() {
                            self.values[i * count + s] = *value;
                        }
                    });
                }
            }
        }
    }

    /// Replace every state by its standardised coordinates.
    pub(crate) fn standardise(&mut self, standardiser: &Standardiser) {
        standardiser.forward_states(&mut self.values);
    }

    /// Replace every state x by m + f (x − m), with the f of each coordinate.
    pub(crate) fn stretch(&mut self, mean: &[f64], factor: impl Fn(usize) -> f64) {
        let rows = self.values.chunks_exact_mut(self.count.max(1));
        for ((i, row), mean) in rows.enumerate().zip(mean) {
            let factor = factor(i);
            row.iter_mut()
                .for_each(|x| *x = mean + factor * (*x - mean));
        }
    }

    fn resize(&mut self, dim: usize, count: usize) {
        self.count = count;
        self.values.resize(dim * count, 0.0);
    }

    fn transpose<A: Copy + Into<f64>>(&mut self, rows: ArrayView2<A>) {
        if self.count == 0 {
            return;
        }
        let columns = rows.columns().into_iter();
        for (place, column) in self.values.chunks_exact_mut(self.count).zip(columns) {
            for (value, x) in place.iter_mut().zip(column) {
                *value = (*x).into();
            }
        }
    }

    fn gather<A: Copy + Into<f64>>(
        &mut self,
        all: ArrayView2<A>,
        rows: impl Iterator<Item = usize> + Clone,
    ) {
        if self.count == 0 {
            return;
        }
        let columns = all.columns().into_iter();
        for (place, column) in self.values.chunks_exact_mut(self.count).zip(columns) {
            for (value, row) in place.iter_mut().zip(rows.clone()) {
                *value = column[row].into();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::*;
    use crate::data::Times;

    #[test]
    fn tiles_hold_the_rows_of_every_storage() {
        let values = Array2::from_shape_fn((40, 3), |(row, j)| (10 * row + j) as f64);
        let single = values.mapv(|x| x as f32);
        let whole = Trajectory::new(values, Times::every(1.0));
        for trajectory in [
            whole.clone(),
            whole.slice(1..40, 3),
            Trajectory::new(single, Times::every(1.0)),
        ] {
            let mut row = vec![0.0; 3];
            let mut check = |states: &States, rows: &[usize]| {
                assert_eq!(states.count(), rows.len());
                for (s, &i) in rows.iter().enumerate() {
                    trajectory.row(i, &mut row);
                    for (j, x) in row.iter().enumerate() {
                        assert_eq!(states[j * rows.len() + s], *x);
                    }
                }
            };
            let mut states = States::default();
            states.load(&trajectory, 2..9);
            check(&states, &[2, 3, 4, 5, 6, 7, 8]);
            states.pick(&trajectory, [7, 0, 7].into_iter());
            check(&states, &[7, 0, 7]);
            states.load(&trajectory, 5..5);
            check(&states, &[]);
        }
    }
}
