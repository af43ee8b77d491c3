//! Ensembles with other values in the same rows, made in memory or, where rows are in a file, as they are
//! read.

use std::sync::Arc;

use ndarray::Array2;

use super::ensemble::Ensemble;
use super::trajectory::{Trajectory, Values};
use crate::error::Result;

impl Ensemble {
    /// The ensemble with `map(time, coordinate, x)` for every x, which leaves NaN what it is.
    pub(crate) fn mapped(
        &self,
        map: impl Fn(f64, usize, f64) -> f64 + Send + Sync + 'static,
    ) -> Result<Self> {
        let map = Arc::new(map);
        let change = |trajectory: &Trajectory| -> Values {
            if let Values::Stored(rows) = trajectory.values() {
                let (map, times) = (map.clone(), trajectory.times().clone());
                return rows.mapped(move |i, j, x| map(times.at(i), j, x)).into();
            }
            let mut values = Array2::zeros((trajectory.len(), trajectory.dim()));
            for (i, mut row) in values.rows_mut().into_iter().enumerate() {
                let row = row.as_slice_mut().expect("row-major");
                trajectory.row(i, row);
                for (j, x) in row.iter_mut().enumerate() {
                    *x = map(trajectory.time(i), j, *x);
                }
            }
            values.into()
        };
        self.rebuilt(self.with_values(change))
    }

    /// The ensemble with every row changed by `change(time, row)`, one after the other, in memory; a row
    /// with a gap must stay one.
    pub(crate) fn with_changed_rows(
        &self,
        mut change: impl FnMut(f64, &mut [f64]),
    ) -> Result<Self> {
        let mut trajectories = Vec::with_capacity(self.len());
        for trajectory in self.trajectories() {
            let mut values = Array2::zeros((trajectory.len(), trajectory.dim()));
            for (i, mut row) in values.rows_mut().into_iter().enumerate() {
                let row = row.as_slice_mut().expect("row-major");
                trajectory.row(i, row);
                change(trajectory.time(i), row);
            }
            trajectories.push(Trajectory::new(values, trajectory.times().clone()));
        }
        self.rebuilt(trajectories)
    }

    /// The chosen coordinates alone; a gap in any coordinate is one in all.
    pub(crate) fn columns(&self, chosen: &[usize]) -> Result<Self> {
        let names = chosen.iter().map(|&j| self.names()[j].clone());
        self.columns_called(chosen, names.collect())
    }

    /// The same, called by other names.
    pub(super) fn columns_called(&self, chosen: &[usize], names: Vec<String>) -> Result<Self> {
        let choose = |trajectory: &Trajectory| -> Values {
            if let Values::Stored(rows) = trajectory.values() {
                return rows.columns(chosen, true).into();
            }
            let mut values = Array2::zeros((trajectory.len(), chosen.len()));
            let mut x = vec![0.0; trajectory.dim()];
            for (i, mut row) in values.rows_mut().into_iter().enumerate() {
                trajectory.row(i, &mut x);
                let gap = x.iter().any(|v| v.is_nan());
                for (to, &j) in row.iter_mut().zip(chosen) {
                    *to = if gap { f64::NAN } else { x[j] };
                }
            }
            values.into()
        };
        let walls = match self.has_walls() {
            true => chosen.iter().map(|&j| self.walls(j)).collect(),
            false => Vec::new(),
        };
        let circles = match self.has_circles() {
            true => chosen.iter().map(|&j| self.circle(j)).collect(),
            false => Vec::new(),
        };
        let columns = Self::new(self.with_values(choose))?.with_names(names)?;
        Ok(columns.with_walls(walls).marked(circles))
    }

    fn with_values(&self, values: impl Fn(&Trajectory) -> Values) -> Vec<Trajectory> {
        let change = |t: &Trajectory| Trajectory::new(values(t), t.times().clone());
        self.trajectories().iter().map(change).collect()
    }
}
