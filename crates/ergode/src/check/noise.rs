//! Measurement noise: the jump of the autocovariance at lag 0; fast motion, where it falls over several lags.

use ndarray::Array2;

use super::CheckConfig;
use super::correlation::Correlations;
use super::record::Record;
use crate::finding::{Finding, FindingKind, Severity, digits};
use crate::linalg;
use crate::stats::normal_score;

/// Samples per decorrelation time below which the curve near 0 is not resolved.
const RESOLVED: f64 = 8.0;
/// Lags of the fit.
const FIT: std::ops::RangeInclusive<usize> = 4..=12;
/// Lags that fast motion may reach, and the part of the jump that its correlation at the first one must be.
const FAST: usize = 2;
const SHARE: f64 = 0.1;

/// Whether noise was found in each coordinate.
///
/// The jump is C(0) minus the value at 0 of the cubic fitted to C at the lags 1..k. Its error is
/// that of the jackknife, and beside it the error of the extrapolation: the difference between the
/// cubic and the quadratic, less what sampling errors alone make of it.
pub(super) fn find(
    record: &Record,
    correlations: &Correlations,
    times: &[Option<f64>],
    config: &CheckConfig,
    findings: &mut Vec<Finding>,
) -> Vec<bool> {
    let dim = record.dim();
    (0..dim)
        .map(|j| {
            let Some(jump) = times[j].and_then(|time| Jump::measure(record, correlations, j, time))
            else {
                return false;
            };
            let (fraction, z) = (jump.fraction, jump.z());
            if z.is_nan() || z < config.noise_z || fraction < config.noise_fraction {
                return false;
            }
            let name = &record.ensemble.names()[j];
            findings.push(match jump.remaining {
                Some((share, z)) if share > SHARE && z > config.noise_z => fast(name, share),
                _ => white(name, fraction, z, record.interval),
            });
            true
        })
        .collect()
}

fn white(name: &str, fraction: f64, z: f64, interval: f64) -> Finding {
    Finding::new(
        FindingKind::Noise,
        Severity::Warn,
        format!(
            "coordinate '{name}' has measurement noise, or moves by as much within a sampling interval of {}, \
             which this record cannot tell apart: {:.1} % of its variance, {:.2} of its standard deviation \
             (z = {z:.1})",
            digits(interval),
            100.0 * fraction,
            fraction.sqrt(),
        ),
        "a polynomial mobility corrects for the noise (mobility.noise); a network does not: average neighbouring \
         samples first",
    )
}

fn fast(name: &str, share: f64) -> Finding {
    Finding::new(
        FindingKind::FastMotion,
        Severity::Warn,
        format!(
            "the autocorrelation of '{name}' falls over the first lags and then slowly: fast motion, or measurement \
             noise with memory; {:.0} % of the fall is left after one sampling interval, so that it is not white \
             noise",
            100.0 * share
        ),
        "sample more often to resolve the fast motion and observe more coordinates or delays (delays.count), or \
         average neighbouring samples to remove it",
    )
}

/// The jump at lag 0 as a fraction of C(0).
struct Jump {
    fraction: f64,
    error: f64,
    extrapolation: f64,
    blocks: usize,
    /// What is left at the first lag of the fall from lag 0 to a cubic fitted beyond [`FAST`] lags, as a fraction
    /// of the fall, and its significance.
    remaining: Option<(f64, f64)>,
}

impl Jump {
    fn measure(record: &Record, correlations: &Correlations, j: usize, time: f64) -> Option<Self> {
        let lags = &correlations.short_lags;
        if time < RESOLVED * record.interval || lags.len() <= *FIT.start() {
            return None;
        }
        let k = ((time / record.interval / 6.0) as usize)
            .clamp(*FIT.start(), *FIT.end())
            .min(lags.len() - 1);
        let dim = record.dim();
        // The jumps against the cubic and against the quadratic, and their difference.
        let mut weights = Array2::zeros((3, lags.len() * dim));
        for (row, degree) in [3, 2].into_iter().enumerate() {
            weights[[row, j]] = 1.0;
            for (l, w) in value_at(0.0, &lags[1..=k], degree).into_iter().enumerate() {
                weights[[row, (l + 1) * dim + j]] = -w;
            }
        }
        let difference = &weights.row(0) - &weights.row(1);
        weights.row_mut(2).assign(&difference);
        let zero = correlations.short.values[j];
        let jumps = correlations.short.linear(weights.view());
        let (values, errors) = (&jumps.values / zero, jumps.errors() / zero);
        Some(Self {
            fraction: values[0],
            error: errors[0],
            extrapolation: (values[2].powi(2) - errors[2].powi(2)).max(0.0).sqrt(),
            blocks: jumps.deviations.nrows(),
            remaining: remaining(correlations, j, k + FAST),
        })
    }

    fn z(&self) -> f64 {
        let t = self.fraction / self.error.hypot(self.extrapolation);
        normal_score(t, (self.blocks.max(3) - 2) as f64)
    }
}

/// See [`Jump::remaining`]; the fit reaches to lag `k`.
fn remaining(correlations: &Correlations, j: usize, k: usize) -> Option<(f64, f64)> {
    let lags = &correlations.short_lags;
    let dim = correlations.curves.len();
    let fitted = lags.get(FAST + 1..=k)?;
    let mut weights = Array2::zeros((2, lags.len() * dim));
    for (row, lag) in lags.iter().take(2).enumerate() {
        weights[[row, row * dim + j]] = 1.0;
        for (l, w) in value_at(*lag, fitted, 3).into_iter().enumerate() {
            weights[[row, (l + FAST + 1) * dim + j]] = -w;
        }
    }
    let falls = correlations.short.linear(weights.view());
    let (share, error) = (
        falls.values[1] / falls.values[0],
        falls.errors()[1] / falls.values[0],
    );
    let nu = (falls.deviations.nrows().max(3) - 2) as f64;
    (falls.values[0] > 0.0).then(|| (share, normal_score(share / error, nu)))
}

/// Weights that give the value at `place` of the polynomial fitted by least squares at `lags`.
fn value_at(place: f64, lags: &[f64], degree: usize) -> Vec<f64> {
    let scale = lags[lags.len() - 1];
    let design = Array2::from_shape_fn((lags.len(), degree + 1), |(l, q)| {
        (lags[l] / scale).powi(q as i32)
    });
    let powers = Array2::from_shape_fn((1, degree + 1), |(_, q)| (place / scale).powi(q as i32));
    let inverse = linalg::pseudo_inverse(design.view(), 1e-12);
    powers.dot(&inverse).row(0).to_vec()
}
