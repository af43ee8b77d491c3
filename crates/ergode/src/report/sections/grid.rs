//! Where the samples are, as cells of one or two coordinates.

use ndarray::{Array2, s};
use serde::{Deserialize, Serialize};

use crate::data::{Ensemble, Standardiser};
use crate::error::Result;
use crate::report::{Colours, Heatmap, Palette};

/// Standard deviations from the mean to the edge of the cells.
pub(super) const REACH: f64 = 5.0;

/// A histogram over the part of the plane that holds samples.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Cells {
    pub(super) x: [f64; 2],
    pub(super) y: [f64; 2],
    /// Probability density, (cell along x, cell along y).
    pub(super) density: Array2<f64>,
}

/// Mean and standard deviation of a coordinate; of an angle those with which the cells cover one period.
fn extent(data: &Ensemble, coordinate: usize) -> Result<[f64; 2]> {
    if let Some(circle) = data.circle(coordinate) {
        let half = 0.5 * circle.period;
        return Ok([circle.low + half, half / REACH]);
    }
    let scales = Standardiser::from_ensemble(data)?;
    Ok([scales.mean[coordinate], scales.scale[coordinate]])
}

impl Cells {
    /// The density of points made from states: `points(state, visit)` calls `visit` with each. `centre`
    /// and `scale` are their mean and standard deviation, `shape` the cells over the reach of both; cells
    /// on the outside without any points are cut off.
    pub(super) fn of(
        data: &Ensemble,
        [centre, scale]: [[f64; 2]; 2],
        shape: (usize, usize),
        points: impl Fn(&[f64], &mut dyn FnMut([f64; 2])),
    ) -> Self {
        let low: [f64; 2] = std::array::from_fn(|k| centre[k] - REACH * scale[k]);
        let width = [
            2.0 * REACH * scale[0] / shape.0 as f64,
            2.0 * REACH * scale[1] / shape.1 as f64,
        ];
        let mut counts = Array2::<f64>::zeros(shape);
        let mut total = 0.0;
        let mut count = |point: [f64; 2]| {
            let [i, j]: [f64; 2] =
                std::array::from_fn(|k| ((point[k] - low[k]) / width[k]).floor());
            total += 1.0;
            if i >= 0.0 && j >= 0.0 && (i as usize) < shape.0 && (j as usize) < shape.1 {
                counts[[i as usize, j as usize]] += 1.0;
            }
        };
        let mut state = vec![0.0; data.dim()];
        for segment in data.segments() {
            let trajectory = &data.trajectories()[segment.trajectory];
            for row in segment.rows.clone() {
                trajectory.row(row, &mut state);
                points(&state, &mut count);
            }
        }
        counts /= f64::max(total, 1.0) * width[0] * width[1];
        let occupied = |axis: usize, n: usize| {
            let full = |k: &usize| counts.index_axis(ndarray::Axis(axis), *k).sum() > 0.0;
            let first = (0..n).find(full).unwrap_or(0);
            first..(0..n).rev().find(full).map_or(n, |last| last + 1)
        };
        let (is, js) = (occupied(0, shape.0), occupied(1, shape.1));
        let ends = |k: usize, range: &std::ops::Range<usize>| {
            [range.start, range.end].map(|e| low[k] + width[k] * e as f64)
        };
        Self {
            x: ends(0, &is),
            y: ends(1, &js),
            density: counts.slice(s![is, js]).to_owned(),
        }
    }

    /// Two coordinates of the data as they are.
    pub(super) fn of_plane(data: &Ensemble, cells: usize) -> Result<Self> {
        let [first, second] = [extent(data, 0)?, extent(data, 1)?];
        let scales = [[first[0], second[0]], [first[1], second[1]]];
        Ok(Self::of(data, scales, (cells, cells), |x, visit| {
            visit([x[0], x[1]])
        }))
    }

    /// The only coordinate of the data.
    pub(super) fn of_line(data: &Ensemble, cells: usize) -> Result<Self> {
        let [centre, scale] = extent(data, 0)?;
        // One cell of unit width in the other direction.
        let scales = [[centre, 0.0], [scale, 0.5 / REACH]];
        Ok(Self::of(data, scales, (cells, 1), |x, visit| {
            visit([x[0], 0.0])
        }))
    }

    /// One value per cell, in the order of [`Cells::centres`], NaN in cells without samples.
    pub(super) fn masked(&self, values: Vec<f64>) -> Array2<f64> {
        let shape = self.density.dim();
        let mut values = Array2::from_shape_vec(shape, values).expect("one value per cell");
        values.zip_mut_with(&self.density, |value, density| {
            if *density == 0.0 {
                *value = f64::NAN;
            }
        });
        values
    }

    /// Masked values over these cells.
    pub(super) fn heatmap(&self, values: Array2<f64>, colours: Colours) -> Heatmap {
        Heatmap {
            x: self.x,
            y: self.y,
            values,
            colours,
        }
    }

    /// The density itself.
    pub(super) fn background(&self) -> Heatmap {
        let density = self.density.iter().copied().collect();
        self.heatmap(self.masked(density), Colours::new(Palette::Density))
    }

    /// Centres of the cells, those of one column after the other.
    pub(super) fn centres(&self) -> Vec<[f64; 2]> {
        let map = self.background();
        let shape = self.density.dim();
        (0..shape.0 * shape.1)
            .map(|k| map.centre(k / shape.1, k % shape.1))
            .collect()
    }

    /// Centres of every `stride`-th cell that holds samples.
    pub(super) fn sparse(&self, stride: usize) -> Vec<[f64; 2]> {
        let columns = self.density.dim().1;
        let centres = self.centres();
        let chosen = centres.iter().enumerate().filter(|(k, _)| {
            let (i, j) = (k / columns, k % columns);
            i % stride == stride / 2 && j % stride == stride / 2 && self.density[[i, j]] > 0.0
        });
        chosen.map(|(_, centre)| *centre).collect()
    }

    /// Width of a cell along both axes.
    pub(super) fn widths(&self) -> [f64; 2] {
        let (nx, ny) = self.density.dim();
        [
            (self.x[1] - self.x[0]) / nx as f64,
            (self.y[1] - self.y[0]) / ny as f64,
        ]
    }
}
