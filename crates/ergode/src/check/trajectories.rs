//! Trajectories that differ from each other: their means scatter more than one law allows.

use super::CheckConfig;
use super::record::Record;
use crate::error::Result;
use crate::finding::{Finding, FindingKind, Severity};
use crate::stats::normal_score;

/// Values that are read; longer records are thinned.
const VALUES: usize = 400_000;
/// Samples of a trajectory, at least.
const SHORTEST: usize = 32;
/// Integrated times of a trajectory, at least, on average.
const TIMES: f64 = 30.0;
/// Most lags of an integrated time.
const LAGS: usize = 4000;
/// Standard deviation of the means, beyond what chance makes, from which trajectories differ: as a fraction of
/// that within trajectories.
const SIZE: f64 = 0.2;

/// Compare the means of trajectories.
///
/// A mean over n samples has the variance 2 τ σ²/n with σ² and τ, in samples, from deviations from the
/// trajectory's own mean. Beside it stands, over K trajectories, F = Σ n_k (m_k − m)² / (2 τ σ² (K − 1)).
pub(super) fn compare(
    record: &Record,
    config: &CheckConfig,
    findings: &mut Vec<Finding>,
) -> Result<()> {
    let whole = &record.ensemble;
    if whole.len() < 3 {
        return Ok(());
    }
    let every = (whole.samples() * whole.dim()).div_ceil(VALUES);
    let thinned = whole.thin(every)?;
    let mut differing = Vec::new();
    for j in 0..record.dim() {
        let rows = series(&thinned, j, &record.scales);
        if rows.len() < 3 {
            return Ok(());
        }
        let Some((z, size)) = scatter(&rows) else {
            continue;
        };
        if z > config.stationarity_z && size > SIZE {
            differing.push(format!(
                "'{}' by {size:.2} (z = {z:.1})",
                record.ensemble.names()[j]
            ));
        }
    }
    if differing.is_empty() {
        return Ok(());
    }
    findings.push(Finding::new(
        FindingKind::Trajectories,
        Severity::Warn,
        format!(
            "trajectories differ from each other: beyond chance, and in standard deviations within a trajectory, \
             their means scatter in {}",
            differing.join(", ")
        ),
        "fit trajectories of one kind together and the others apart, or subtract the mean of each trajectory",
    ));
    Ok(())
}

/// The standardised samples of coordinate j, one list for each trajectory that is long enough.
fn series(
    ensemble: &crate::Ensemble,
    j: usize,
    scales: &crate::data::Standardiser,
) -> Vec<Vec<f64>> {
    let mut row = vec![0.0; ensemble.dim()];
    let trajectories = ensemble.trajectories().iter();
    let lists = trajectories.map(|trajectory| {
        let mut list = Vec::with_capacity(trajectory.len());
        for i in 0..trajectory.len() {
            trajectory.row(i, &mut row);
            if !row[j].is_nan() {
                list.push((row[j] - scales.mean[j]) / scales.scale[j]);
            }
        }
        list
    });
    lists.filter(|list| list.len() >= SHORTEST).collect()
}

/// The significance of F as a normal score, and the standard deviation of the means beyond chance, in that
/// within trajectories; none where trajectories are too short.
fn scatter(rows: &[Vec<f64>]) -> Option<(f64, f64)> {
    let count = rows.iter().map(Vec::len).sum::<usize>() as f64;
    let length = count / rows.len() as f64;
    let means: Vec<f64> = rows
        .iter()
        .map(|r| r.iter().sum::<f64>() / r.len() as f64)
        .collect();
    let deviations: Vec<Vec<f64>> = rows
        .iter()
        .zip(&means)
        .map(|(row, mean)| row.iter().map(|x| x - mean).collect())
        .collect();
    let (variance, tau) = within(&deviations, length)?;
    if length < TIMES * tau {
        return None;
    }
    let grand = rows
        .iter()
        .zip(&means)
        .map(|(r, m)| r.len() as f64 * m)
        .sum::<f64>()
        / count;
    let nu = rows.len() as f64 - 1.0;
    let spread = rows
        .iter()
        .zip(&means)
        .map(|(r, m)| r.len() as f64 * (m - grand).powi(2));
    let spread = spread.sum::<f64>() / nu;
    // Sokal's error of an integrated time with a window of five.
    let unsure = (22.0 * tau / count).sqrt();
    let f = spread / (2.0 * tau * variance) / (1.0 + 3.0 * unsure);
    // The cube root of F is nearly normal (Wilson and Hilferty).
    let c = 2.0 / (9.0 * nu);
    let z = (f.cbrt() - (1.0 - c)) / c.sqrt();
    let beyond = (spread / length - 2.0 * tau * variance / length).max(0.0);
    Some((normal_score(z, count / tau), (beyond / variance).sqrt()))
}

/// σ² and τ in samples, at least a half, of deviations from means over `length` samples.
///
/// The own mean lowers every covariance by about 2 τ σ²/n, which is given back until τ agrees with itself.
fn within(rows: &[Vec<f64>], length: f64) -> Option<(f64, f64)> {
    let covariance = |lag: usize| {
        let (mut sum, mut pairs) = (0.0, 0usize);
        for row in rows.iter().filter(|row| row.len() > lag) {
            sum += row[..row.len() - lag]
                .iter()
                .zip(&row[lag..])
                .map(|(a, b)| a * b)
                .sum::<f64>();
            pairs += row.len() - lag;
        }
        sum / pairs.max(1) as f64
    };
    let most = ((length / 4.0) as usize).clamp(1, LAGS);
    let mut known = vec![covariance(0)];
    if known[0].is_nan() || known[0] <= 0.0 {
        return None;
    }
    let (mut lost, mut result) = (0.0, (known[0], 0.5));
    for _ in 0..4 {
        let variance = known[0] + lost;
        let (mut tau, mut closed) = (0.5, false);
        for lag in 1..=most {
            if known.len() <= lag {
                known.push(covariance(lag));
            }
            tau += (known[lag] + lost) / variance;
            if lag as f64 >= 5.0 * tau {
                closed = true;
                break;
            }
        }
        if !closed {
            return None;
        }
        result = (variance, tau.max(0.5));
        lost = (2.0 * result.1 * variance / length).min(known[0]);
    }
    Some(result)
}
