//! Sums over cells of time, and regressions on them with errors from clusters of cells.

use crate::control::Control;
use crate::data::Ensemble;
use crate::error::Result;
use crate::stats::normal_score;

/// Trajectories from which these are the clusters; fewer are cut into stretches of time.
const MANY_TRAJECTORIES: usize = 16;
/// Total number of stretches of time, for few trajectories.
const STRETCHES: usize = 32;
/// Cells in a cluster.
const CELLS: usize = 8;
/// Most clusters; further trajectories share them.
const CLUSTERS: usize = 1024;

/// Sums of functions over the samples of cells of time.
pub(super) struct Cells {
    cells: Vec<Cell>,
    clusters: usize,
    /// True where neighbouring clusters follow one another in time.
    consecutive: bool,
    /// The time that has half of the samples before it.
    pub(super) middle: f64,
}

struct Cell {
    cluster: usize,
    count: f64,
    time: f64,
    sums: Vec<f64>,
}

/// Reference with which the samples of the cells are compared.
#[derive(Clone, Copy)]
pub(super) enum Regressor {
    Time,
    /// 0 in the first half, 1 in the second.
    Half,
}

/// A regression coefficient with its standard error.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slope {
    pub(super) value: f64,
    pub(super) error: f64,
    /// The value in standard errors, as a normal score.
    pub(super) z: f64,
}

impl Cells {
    /// Sums of `count` functions, `evaluate(row, out)`, over every `stride`-th sample.
    pub(super) fn collect(
        ensemble: &Ensemble,
        count: usize,
        stride: usize,
        control: &Control,
        evaluate: impl Fn(&[f64], &mut [f64]),
    ) -> Result<Self> {
        /// Samples between reports of progress.
        const TOGETHER: usize = 4096;
        let trajectories = ensemble.len();
        let consecutive = trajectories < MANY_TRAJECTORIES;
        let parts = if consecutive {
            STRETCHES.div_ceil(trajectories)
        } else {
            1
        };
        let per_trajectory = parts * CELLS;
        let mut cells: Vec<Cell> = (0..trajectories * per_trajectory)
            .map(|c| Cell {
                cluster: c / CELLS % CLUSTERS,
                count: 0.0,
                time: 0.0,
                sums: vec![0.0; count],
            })
            .collect();
        let (mut row, mut values) = (vec![0.0; ensemble.dim()], vec![0.0; count]);
        let mut seen = 0;
        control.begin(ensemble.samples() as u64);
        for segment in ensemble.segments() {
            let trajectory = &ensemble.trajectories()[segment.trajectory];
            for i in segment.rows.clone().step_by(stride) {
                seen += 1;
                if seen % TOGETHER == 0 {
                    control.advance((TOGETHER * stride) as u64)?;
                }
                trajectory.row(i, &mut row);
                evaluate(&row, &mut values);
                let place = i * per_trajectory / trajectory.len();
                let cell = &mut cells[segment.trajectory * per_trajectory + place];
                cell.count += 1.0;
                cell.time += trajectory.time(i);
                for (sum, value) in cell.sums.iter_mut().zip(&values) {
                    *sum += value;
                }
            }
        }
        cells.retain(|cell| cell.count > 0.0);
        for cell in &mut cells {
            cell.time /= cell.count;
        }
        let clusters = cells.iter().map(|c| c.cluster + 1).max().unwrap_or(0);
        Ok(Self {
            middle: middle(&cells),
            cells,
            clusters,
            consecutive,
        })
    }

    /// Mean of function `f`, and the first and last time.
    pub(super) fn mean(&self, f: usize) -> f64 {
        let count: f64 = self.cells.iter().map(|c| c.count).sum();
        self.cells.iter().map(|c| c.sums[f]).sum::<f64>() / count
    }

    /// Difference between the last and the first cell in time.
    pub(super) fn span(&self) -> f64 {
        let times = self.cells.iter().map(|c| c.time);
        times.clone().fold(f64::MIN, f64::max) - times.fold(f64::MAX, f64::min)
    }

    /// Least squares of function `f` on 1 and the regressor r, over all samples.
    ///
    /// With the scores u_c = Σ (r − r̄) e over the residuals e of cluster c, the variance of the
    /// coefficient is G/(G−2) Σ_c u_c² / (Σ (r − r̄)²)²; where clusters follow one another in time,
    /// 2 Σ_k (1 − k/3) Σ_c u_c u_{c+k}, k = 1, 2, is added to Σ u² (Newey and West). The ratio t of
    /// value and error becomes a normal score by Wallace's √(ν ln(1 + t²/ν)) (8ν+1)/(8ν+3).
    pub(super) fn slope(&self, f: usize, regressor: Regressor) -> Option<Slope> {
        let r = |cell: &Cell| match regressor {
            Regressor::Time => cell.time,
            Regressor::Half => f64::from(cell.time >= self.middle),
        };
        let count: f64 = self.cells.iter().map(|c| c.count).sum();
        let centre = self.cells.iter().map(|c| c.count * r(c)).sum::<f64>() / count;
        let mean = self.mean(f);
        let (mut sxx, mut sxy) = (0.0, 0.0);
        for cell in &self.cells {
            let d = r(cell) - centre;
            sxx += cell.count * d * d;
            sxy += d * (cell.sums[f] - cell.count * mean);
        }
        let value = sxy / sxx;
        let mut scores = vec![0.0; self.clusters];
        for cell in &self.cells {
            let d = r(cell) - centre;
            scores[cell.cluster] += d * (cell.sums[f] - cell.count * (mean + value * d));
        }
        let product =
            |k: usize| -> f64 { scores.iter().zip(&scores[k..]).map(|(a, b)| a * b).sum() };
        let g = scores.len() as f64;
        if g < 6.0 || sxx.is_nan() || sxx <= 0.0 {
            return None;
        }
        let own = product(0);
        let mut variance = own;
        if self.consecutive {
            variance += 2.0
                * (1..3)
                    .map(|k| (1.0 - k as f64 / 3.0) * product(k))
                    .sum::<f64>();
        }
        let error = (g / (g - 2.0) * variance.max(own)).sqrt() / sxx;
        let z = if value == 0.0 {
            0.0
        } else {
            normal_score(value / error, g - 2.0)
        };
        Some(Slope { value, error, z })
    }
}

fn middle(cells: &[Cell]) -> f64 {
    let mut order: Vec<&Cell> = cells.iter().collect();
    order.sort_by(|a, b| a.time.total_cmp(&b.time));
    let half = 0.5 * cells.iter().map(|c| c.count).sum::<f64>();
    let mut count = 0.0;
    for cell in &order {
        count += cell.count;
        if count > half {
            return cell.time;
        }
    }
    0.0
}
