//! Means, scales and bounds of an ensemble, and the ensemble in standardised coordinates.

use std::ops::Range;

use ndarray::{Array2, ArrayView2};
use rayon::prelude::*;

use super::ensemble::Ensemble;
use super::standardise::Standardiser;
use super::trajectory::{Trajectory, Values};
use crate::control::Control;
use crate::error::{Error, Result};

/// Numbers that one parallel task handles; fixed, so that results do not depend on the threads.
const BLOCK: usize = 1 << 15;

impl Standardiser {
    /// Mean and population standard deviation over all samples, gaps left out; 0 and period/2π of an angle.
    ///
    /// The variance is summed from deviations in a second pass, so a large mean does not spoil it.
    /// The result does not depend on the number of threads.
    ///
    /// # Errors
    /// When a coordinate is constant, or so large or small that its variance cannot be
    /// represented.
    pub fn from_ensemble(ensemble: &Ensemble) -> Result<Self> {
        Self::watched(ensemble, &Control::new())
    }

    /// [`Standardiser::from_ensemble`] of a record that takes long to read.
    pub(crate) fn watched(ensemble: &Ensemble, control: &Control) -> Result<Self> {
        let dim = ensemble.dim();
        let samples = ensemble.samples() as f64;
        let blocks = blocks(ensemble);

        let mut mean = vec![0.0; dim];
        let mut range = vec![(f64::INFINITY, f64::NEG_INFINITY); dim];
        let start = (0.0, f64::INFINITY, f64::NEG_INFINITY);
        let first = |_, x: f64, (sum, low, high): &mut (f64, f64, f64)| {
            *sum += x / samples;
            *low = x.min(*low);
            *high = x.max(*high);
        };
        for block in visit_blocks(ensemble, &blocks, start, control, first)? {
            for (j, (sum, low, high)) in block.into_iter().enumerate() {
                mean[j] += sum;
                range[j] = (low.min(range[j].0), high.max(range[j].1));
            }
        }

        let (mut deviation, mut square) = (vec![0.0; dim], vec![0.0; dim]);
        let second = |j: usize, x: f64, (sum, squares): &mut (f64, f64)| {
            let d = x - mean[j];
            *sum += d;
            *squares += d * d;
        };
        for block in visit_blocks(ensemble, &blocks, (0.0, 0.0), control, second)? {
            for (j, (sum, squares)) in block.into_iter().enumerate() {
                deviation[j] += sum;
                square[j] += squares;
            }
        }

        ensemble.intact(Ok(()))?;
        let mut scale = vec![0.0; dim];
        for j in 0..dim {
            if let Some(circle) = ensemble.circle(j) {
                (mean[j], scale[j]) = (0.0, circle.unit());
                continue;
            }
            let name = &ensemble.names()[j];
            if range[j].0 == range[j].1 {
                return Err(Error::input(format!(
                    "coordinate '{name}' has the value {:?} in every sample and cannot be \
                     standardised; leave it out",
                    range[j].0
                )));
            }
            let correction = deviation[j] / samples;
            mean[j] += correction;
            scale[j] = (square[j] / samples - correction * correction).sqrt();
            if !(mean[j].is_finite() && scale[j].is_normal()) {
                return Err(Error::input(format!(
                    "coordinate '{name}' ranges from {:?} to {:?}, and its variance overflows or \
                     underflows; use other units",
                    range[j].0, range[j].1
                )));
            }
        }
        let circles = ensemble.circles().map(|circle| circle.is_some());
        Ok(Self::new(mean, scale)?.with_circles(circles.collect()))
    }
}

impl Ensemble {
    /// The ensemble in standardised coordinates, in the same precision; gaps stay gaps. Rows that are in a
    /// file stay there, and are standardised as they are read.
    ///
    /// # Panics
    /// If the standardiser is for another number of coordinates.
    pub fn standardised(&self, standardiser: &Standardiser) -> Self {
        assert_eq!(
            standardiser.mean.len(),
            self.dim(),
            "the standardiser must be for the coordinates of the ensemble"
        );
        let trajectories = self
            .trajectories()
            .iter()
            .map(|trajectory| {
                let values: Values = match trajectory.values() {
                    Values::F32(a) => transformed(a.view(), standardiser, |v| v as f32).into(),
                    Values::F64(a) => transformed(a.view(), standardiser, |v| v).into(),
                    Values::Shared(a) => transformed(a.view(), standardiser, |v| v).into(),
                    Values::Stored(a) => a.standardised(standardiser).into(),
                };
                Trajectory::new(values, trajectory.times().clone())
            })
            .collect();
        self.with_trajectories(trajectories)
    }
}

fn transformed<A: Copy + Into<f64> + Default + Send + Sync>(
    array: ArrayView2<'_, A>,
    standardiser: &Standardiser,
    narrow: impl Fn(f64) -> A + Sync,
) -> Array2<A> {
    let (rows, dim) = array.dim();
    let rows_per_block = (BLOCK / dim).max(1);
    let mut out = vec![A::default(); rows * dim];
    out.par_chunks_mut(rows_per_block * dim)
        .enumerate()
        .for_each(|(b, block)| {
            for (r, place) in block.chunks_exact_mut(dim).enumerate() {
                let row = array.row(b * rows_per_block + r);
                for j in 0..dim {
                    let x: f64 = row[j].into();
                    place[j] = narrow((x - standardiser.mean[j]) / standardiser.scale[j]);
                }
            }
        });
    Array2::from_shape_vec((rows, dim), out).expect("the shape is that of the input")
}

impl Ensemble {
    /// The least and the greatest value of every coordinate over all samples.
    pub(crate) fn bounds(&self, control: &Control) -> Result<(Vec<f64>, Vec<f64>)> {
        let dim = self.dim();
        let (mut low, mut high) = (vec![f64::INFINITY; dim], vec![f64::NEG_INFINITY; dim]);
        let start = (f64::INFINITY, f64::NEG_INFINITY);
        let widen = |_, x: f64, (low, high): &mut (f64, f64)| {
            *low = low.min(x);
            *high = high.max(x);
        };
        for block in visit_blocks(self, &blocks(self), start, control, widen)? {
            for (i, (least, most)) in block.into_iter().enumerate() {
                low[i] = low[i].min(least);
                high[i] = high[i].max(most);
            }
        }
        self.intact(Ok((low, high)))
    }
}

/// The segments cut into blocks of bounded size: trajectory and rows.
pub(super) fn blocks(ensemble: &Ensemble) -> Vec<(usize, Range<usize>)> {
    let rows_per_block = (BLOCK / ensemble.dim()).max(1);
    ensemble
        .segments()
        .iter()
        .flat_map(|segment| {
            let end = segment.rows.end;
            segment
                .rows
                .clone()
                .step_by(rows_per_block)
                .map(move |a| (segment.trajectory, a..end.min(a + rows_per_block)))
        })
        .collect()
}

/// Visits the rows of every block with one accumulator per coordinate; returns them in order.
fn visit_blocks<T: Copy + Send + Sync>(
    ensemble: &Ensemble,
    blocks: &[(usize, Range<usize>)],
    start: T,
    control: &Control,
    visit: impl Fn(usize, f64, &mut T) + Sync,
) -> Result<Vec<Vec<T>>> {
    let dim = ensemble.dim();
    control.begin(ensemble.samples() as u64);
    blocks
        .par_iter()
        .map_init(Vec::new, |rows: &mut Vec<f64>, (k, range)| {
            rows.resize(range.len() * dim, 0.0);
            ensemble.trajectories()[*k].copy_rows(range.clone(), rows);
            let mut state = vec![start; dim];
            for row in rows.chunks_exact(dim) {
                for j in 0..dim {
                    visit(j, row[j], &mut state[j]);
                }
            }
            control.advance(range.len() as u64)?;
            Ok(state)
        })
        .collect()
}
