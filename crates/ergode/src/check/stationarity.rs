//! Does the law change in time? Trend of the mean, halves compared.

use super::CheckConfig;
use super::cells::{Cells, Regressor};
use super::record::Record;
use crate::control::Control;
use crate::error::Result;
use crate::finding::{Finding, FindingKind, Severity};
use crate::stats::{kolmogorov_tail, two_sample};

/// Values read at most by a pass over cells.
const VALUES: usize = 8_000_000;
/// Samples whose order is looked at, per coordinate.
const SORTED: usize = 40_000;
/// Fractions at which the distribution function is watched.
const DECILES: usize = 9;

/// Slope per unit of time of every coordinate that has a trend, else zero.
pub(super) fn trends(
    record: &Record,
    config: &CheckConfig,
    control: &Control,
    findings: &mut Vec<Finding>,
) -> Result<Vec<f64>> {
    let dim = record.dim();
    let every = stride(record, VALUES);
    let cells = Cells::collect(&record.ensemble, dim, every, control, |x, out| {
        out.copy_from_slice(x);
    })?;
    let slopes = (0..dim)
        .map(|j| {
            let Some(slope) = cells.slope(j, Regressor::Time) else {
                return 0.0;
            };
            if slope.z.is_nan() || slope.z.abs() < config.stationarity_z {
                return 0.0;
            }
            let change = slope.value * cells.span();
            let size = change.abs() / record.scales.scale[j];
            let small = size < config.stationarity_size;
            findings.push(Finding::new(
                FindingKind::Trend,
                if small {
                    Severity::Info
                } else {
                    Severity::Warn
                },
                format!(
                    "coordinate '{}' has a linear trend of {:.3e} ± {:.1e} per unit of time, {:.2} \
                     standard deviations over the record (z = {:.1})",
                    record.ensemble.names()[j],
                    slope.value,
                    slope.error,
                    size,
                    slope.z
                ),
                if small {
                    "small enough to ignore"
                } else {
                    "remove the trend (trend = \"linear\" or \"quadratic\"), or fit a part of the record \
                     without a trend"
                },
            ));
            if small { 0.0 } else { slope.value }
        })
        .collect();
    Ok(slopes)
}

/// Compare the halves of the record: means, variances and whole distributions.
pub(super) fn halves(
    record: &Record,
    config: &CheckConfig,
    control: &Control,
    findings: &mut Vec<Finding>,
) -> Result<()> {
    let dim = record.dim();
    let functions = 2 + DECILES;
    let samples = Samples::collect(record);
    let quantiles: Vec<Vec<f64>> = (0..dim).map(|j| samples.quantiles(j)).collect();
    let scales = &record.scales;
    let cells = Cells::collect(
        &record.ensemble,
        dim * functions,
        stride(record, VALUES / 2),
        control,
        |x, out| {
            for (j, out) in out.chunks_exact_mut(functions).enumerate() {
                let u = (x[j] - scales.mean[j]) / scales.scale[j];
                out[0] = u;
                out[1] = u * u;
                for (out, q) in out[2..].iter_mut().zip(&quantiles[j]) {
                    *out = f64::from(x[j] < *q);
                }
            }
        },
    )?;
    for j in 0..dim {
        let (mut reasons, mut large) = moments(&cells, j * functions, config);
        let (distance, pairs) = samples.kolmogorov_smirnov(j, cells.middle);
        let effective = effective_pairs(&cells, j * functions + 2).min(pairs);
        let probability = kolmogorov_tail(distance * effective.sqrt());
        if probability < config.distribution_probability {
            large |= distance > config.stationarity_size;
            reasons.push(format!(
                "the distributions differ by {distance:.2} (Kolmogorov-Smirnov, probability {probability:.0e})"
            ));
        }
        if reasons.is_empty() {
            continue;
        }
        findings.push(Finding::new(
            FindingKind::NonStationary,
            if large {
                Severity::Warn
            } else {
                Severity::Info
            },
            format!(
                "coordinate '{}' differs between the first and the second half of the record: {}",
                record.ensemble.names()[j],
                reasons.join("; ")
            ),
            if large {
                "remove the initial transient, or fit the two halves separately"
            } else {
                "small enough to ignore"
            },
        ));
    }
    Ok(())
}

/// Significant changes of the mean and the variance (functions `f` and `f + 1`) between the halves,
/// in words, and whether one is large.
fn moments(cells: &Cells, f: usize, config: &CheckConfig) -> (Vec<String>, bool) {
    let (mut reasons, mut large) = (Vec::new(), false);
    for (f, what, unit, least) in [
        (f, "mean", "standard deviation", config.stationarity_size),
        (
            f + 1,
            "variance",
            "variance",
            2.0 * config.stationarity_size,
        ),
    ] {
        if let Some(change) = cells.slope(f, Regressor::Half)
            && change.z.abs() > config.stationarity_z
        {
            large |= change.value.abs() > least;
            reasons.push(format!(
                "the {what} changes by {:+.2} of the {unit} (z = {:.1})",
                change.value, change.z
            ));
        }
    }
    (reasons, large)
}

/// n_1 n_2 / (n_1 + n_2) of independent samples that would give the errors of the deciles: the
/// smallest p (1 − p) / Var(p_2 − p_1), functions `f` onwards.
fn effective_pairs(cells: &Cells, f: usize) -> f64 {
    (f..f + DECILES)
        .filter_map(|f| {
            let p = cells.mean(f);
            let error = cells.slope(f, Regressor::Half)?.error;
            Some(p * (1.0 - p) / (error * error))
        })
        .fold(f64::INFINITY, f64::min)
}

fn stride(record: &Record, values: usize) -> usize {
    (record.ensemble.samples() * record.dim()).div_ceil(values)
}

/// A few samples with their times.
struct Samples {
    times: Vec<f64>,
    /// One list per coordinate.
    values: Vec<Vec<f64>>,
}

impl Samples {
    fn collect(record: &Record) -> Self {
        let stride = record.ensemble.samples().div_ceil(SORTED);
        let mut row = vec![0.0; record.dim()];
        let mut out = Self {
            times: Vec::new(),
            values: vec![Vec::new(); record.dim()],
        };
        let mut passed = 0usize;
        for segment in record.ensemble.segments() {
            let trajectory = &record.ensemble.trajectories()[segment.trajectory];
            let skipped = (passed + 1).next_multiple_of(stride) - passed - 1;
            passed += segment.rows.len();
            for i in (segment.rows.start + skipped..segment.rows.end).step_by(stride) {
                trajectory.row(i, &mut row);
                out.times.push(trajectory.time(i));
                for (list, x) in out.values.iter_mut().zip(&row) {
                    list.push(*x);
                }
            }
        }
        out
    }

    fn quantiles(&self, j: usize) -> Vec<f64> {
        let mut sorted = self.values[j].clone();
        sorted.sort_by(f64::total_cmp);
        (1..=DECILES)
            .map(|k| sorted[sorted.len() * k / (DECILES + 1)])
            .collect()
    }

    /// [`two_sample`] of the samples before and after `middle`.
    fn kolmogorov_smirnov(&self, j: usize, middle: f64) -> (f64, f64) {
        let samples = self.values[j].iter().zip(&self.times);
        two_sample(samples.map(|(x, t)| (*x, *t < middle)).collect())
    }
}
