//! Mean and variance of model and data by phase of a cycle.

use serde::{Deserialize, Serialize};

use crate::data::Ensemble;
use crate::error::{Error, Result, require_positive};
use crate::finding::{Finding, FindingKind, Severity};
use crate::stats::normal_score;

/// Bins of the phase.
const BINS: usize = 12;
/// Blocks of whole periods at most, and at least.
const BLOCKS: usize = 32;
const FEWEST: usize = 4;
/// Rounding of phases, in periods.
const ROUNDING: f64 = 1e-7;
/// Standard errors from which a difference is significant, one false alarm in a thousand over 24 of them.
const SIGNIFICANT: f64 = 4.2;
/// A significant difference of means in standard deviations, or of variances as a fraction, that matters,
/// and one that is a failure.
const SIZES: [f64; 2] = [0.1, 0.3];

/// Mean and variance of model and data by phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Climatology {
    /// The period.
    pub period: f64,
    /// Middles of the bins, in periods from 0 to 1.
    pub phases: Vec<f64>,
    /// One entry per coordinate.
    pub coordinates: Vec<ClimatologyCurve>,
    /// The largest |z| of a mean.
    pub mean_worst_z: f64,
    /// The largest |z| of a variance.
    pub variance_worst_z: f64,
}

/// One coordinate of a [`Climatology`]; errors are over blocks of whole periods.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClimatologyCurve {
    /// Its name.
    pub name: String,
    /// Mean of the data in each bin.
    pub data_mean: Vec<f64>,
    /// Its standard error.
    pub data_mean_stderr: Vec<f64>,
    /// Variance of the data.
    pub data_variance: Vec<f64>,
    /// Its standard error.
    pub data_variance_stderr: Vec<f64>,
    /// Mean of the model.
    pub model_mean: Vec<f64>,
    /// Its standard error.
    pub model_mean_stderr: Vec<f64>,
    /// Variance of the model.
    pub model_variance: Vec<f64>,
    /// Its standard error.
    pub model_variance_stderr: Vec<f64>,
    /// Model less data in standard errors of the difference, of means.
    pub mean_z: Vec<f64>,
    /// The same of variances.
    pub variance_z: Vec<f64>,
}

/// Compare mean and variance in twelve bins of the phase of a cycle.
///
/// Blocks are runs of whole periods of single trajectories; errors are those of the jackknife over them,
/// and z is on the scale of a normal variable whatever the number of blocks.
///
/// # Errors
/// When the coordinates differ, or an ensemble has fewer than four blocks or an empty bin.
pub fn compare_climatology(period: f64, data: &Ensemble, model: &Ensemble) -> Result<Climatology> {
    require_positive("the period", period)?;
    if data.dim() != model.dim() {
        return Err(Error::input(format!(
            "dimensions do not match: the data have {} coordinates, the model {}",
            data.dim(),
            model.dim()
        )));
    }
    let [data_sums, model_sums] = [data, model].map(|ensemble| Sums::collect(ensemble, period));
    let (data_sums, model_sums) = (data_sums?, model_sums?);
    let freedom = (data_sums.blocks.len().min(model_sums.blocks.len()) - 1) as f64;
    let coordinates: Vec<ClimatologyCurve> = (0..data.dim())
        .map(|j| {
            let (d, m) = (data_sums.moments(j), model_sums.moments(j));
            let z = |k: usize| {
                let bins = 0..BINS;
                bins.map(|b| {
                    let error = d[k].1[b].hypot(m[k].1[b]);
                    normal_score((m[k].0[b] - d[k].0[b]) / error, freedom)
                })
                .collect()
            };
            let (mean_z, variance_z) = (z(0), z(1));
            let [
                (data_mean, data_mean_stderr),
                (data_variance, data_variance_stderr),
            ] = d;
            let [
                (model_mean, model_mean_stderr),
                (model_variance, model_variance_stderr),
            ] = m;
            ClimatologyCurve {
                name: data.names()[j].clone(),
                data_mean,
                data_mean_stderr,
                data_variance,
                data_variance_stderr,
                model_mean,
                model_mean_stderr,
                model_variance,
                model_variance_stderr,
                mean_z,
                variance_z,
            }
        })
        .collect();
    let worst = |of: fn(&ClimatologyCurve) -> &Vec<f64>| {
        let all = coordinates.iter().flat_map(|curve| of(curve).iter());
        all.fold(0.0f64, |worst, z| worst.max(z.abs()))
    };
    Ok(Climatology {
        period,
        phases: (0..BINS).map(|b| (b as f64 + 0.5) / BINS as f64).collect(),
        mean_worst_z: worst(|curve| &curve.mean_z),
        variance_worst_z: worst(|curve| &curve.variance_z),
        coordinates,
    })
}

impl Climatology {
    /// Differences that are significant and of a size that matters.
    pub fn findings(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        for curve in &self.coordinates {
            let scale = curve.data_variance.iter().sum::<f64>() / BINS as f64;
            let means = |b: usize| {
                let difference = curve.model_mean[b] - curve.data_mean[b];
                (difference.abs() / scale.sqrt(), curve.mean_z[b])
            };
            let variances = |b: usize| {
                let ratio = curve.model_variance[b] / curve.data_variance[b];
                ((ratio - 1.0).abs(), curve.variance_z[b])
            };
            let sizes = [
                ("mean", (0..BINS).map(means).collect::<Vec<_>>()),
                ("variance", (0..BINS).map(variances).collect()),
            ];
            for (what, sizes) in sizes {
                let counted = sizes.into_iter();
                let counted = counted.filter(|(size, z)| *size > SIZES[0] && z.abs() > SIGNIFICANT);
                let Some((size, z)) = counted.max_by(|a, b| a.0.total_cmp(&b.0)) else {
                    continue;
                };
                let severity = match size > SIZES[1] {
                    true => Severity::Fail,
                    false => Severity::Warn,
                };
                findings.push(Finding::new(
                    FindingKind::Climatology,
                    severity,
                    format!(
                        "the {what} of '{}' by phase is off by up to {:.0} % (z = {z:.1})",
                        curve.name,
                        100.0 * size
                    ),
                    "check means and standard deviations by phase; raise cycle.harmonics, or give a \
                     longer record",
                ));
            }
        }
        findings
    }
}

/// Σ 1, Σ y, Σ y² in every bin, y counted from a reference near its mean.
type Cell = [f64; 3];

/// Estimates in every bin, and their standard errors.
type Estimated = (Vec<f64>, Vec<f64>);

struct Sums {
    /// The reference of every coordinate.
    reference: Vec<f64>,
    /// (block, coordinate × bin).
    blocks: Vec<Vec<Cell>>,
}

impl Sums {
    fn collect(ensemble: &Ensemble, period: f64) -> Result<Self> {
        let dim = ensemble.dim();
        let mut row = vec![0.0; dim];
        let first = &ensemble.segments()[0];
        ensemble.trajectories()[first.trajectory].row(first.rows.start, &mut row);
        let reference = row.clone();
        // Periods of each trajectory, counted from its start.
        let periods: Vec<usize> = ensemble
            .trajectories()
            .iter()
            .map(|t| ((t.time(t.len() - 1) - t.time(0)) / period) as usize + 1)
            .collect();
        let units: usize = periods.iter().sum();
        let count = units.min(BLOCKS);
        let mut blocks = vec![vec![[0.0; 3]; dim * BINS]; count];
        for segment in ensemble.segments() {
            let trajectory = &ensemble.trajectories()[segment.trajectory];
            let before: usize = periods[..segment.trajectory].iter().sum();
            for i in segment.rows.clone() {
                let t = trajectory.time(i);
                let unit = before + ((t - trajectory.time(0)) / period) as usize;
                // Samples that are bins apart must not fall now to one side of an edge, now to the other.
                let phase = (t / period).rem_euclid(1.0) + ROUNDING;
                let bin = (phase * BINS as f64) as usize % BINS;
                trajectory.row(i, &mut row);
                for (j, y) in row.iter().enumerate() {
                    let y = y - reference[j];
                    let cell = &mut blocks[unit * count / units][j * BINS + bin];
                    *cell = [cell[0] + 1.0, cell[1] + y, cell[2] + y * y];
                }
            }
        }
        let sums = Self { reference, blocks };
        let empty = |left_out: usize| sums.total(Some(left_out)).iter().any(|c| c[0] < 2.0);
        if count < FEWEST || (0..count).any(empty) {
            return Err(Error::input(format!(
                "too little data to compare means by phase: {count} stretches of whole periods of \
                 {period}; give a longer record, or hold out more of it"
            )));
        }
        Ok(sums)
    }

    fn total(&self, left_out: Option<usize>) -> Vec<Cell> {
        let mut total = vec![[0.0; 3]; self.blocks[0].len()];
        for (k, block) in self.blocks.iter().enumerate() {
            if Some(k) != left_out {
                for (sum, cell) in total.iter_mut().zip(block) {
                    (0..3).for_each(|m| sum[m] += cell[m]);
                }
            }
        }
        total
    }

    /// Means and variances of a coordinate, each with its jackknife error.
    fn moments(&self, j: usize) -> [Estimated; 2] {
        let of = |cells: &[Cell]| -> [Vec<f64>; 2] {
            let cells = &cells[j * BINS..(j + 1) * BINS];
            let mean = |c: &Cell| c[1] / c[0];
            let variance = |c: &Cell| (c[2] / c[0] - mean(c).powi(2)).max(0.0);
            [
                cells.iter().map(|c| self.reference[j] + mean(c)).collect(),
                cells.iter().map(variance).collect(),
            ]
        };
        let n = self.blocks.len() as f64;
        let without: Vec<[Vec<f64>; 2]> = (0..self.blocks.len())
            .map(|k| of(&self.total(Some(k))))
            .collect();
        let mut whole = of(&self.total(None)).into_iter().enumerate();
        [(); 2].map(|()| {
            let (k, values) = whole.next().expect("two moments");
            let error = (0..BINS).map(|b| {
                let mean = without.iter().map(|w| w[k][b]).sum::<f64>() / n;
                let square: f64 = without.iter().map(|w| (w[k][b] - mean).powi(2)).sum();
                (square * (n - 1.0) / n).sqrt()
            });
            let error = error.collect();
            (values, error)
        })
    }
}
