//! Spikes: single samples far from both neighbours.

use std::ops::Range;

use super::samples::Law;
use crate::finding::{Finding, FindingKind, Severity, digits};

/// Robust standard deviations of the increments that a spike rises above both neighbours.
const HIGH: f64 = 20.0;
/// Times that it exceeds the largest step near it.
const LOCAL: f64 = 5.0;
/// Steps to either side that are near.
const NEAR: usize = 6;
/// More than this fraction of all samples are no isolated outliers.
const MANY: f64 = 0.02;

/// Number of spikes: the smaller one of the steps up and down exceeds [`HIGH`] robust standard deviations of
/// the increments and [`LOCAL`] times the largest step near it.
pub(super) fn count(law: &Law, stretches: &[Range<usize>], findings: &mut Vec<Finding>) -> usize {
    let steps = stretches
        .iter()
        .flat_map(|s| law.values[s.clone()].windows(2));
    let mut sizes: Vec<f64> = steps.map(|w| (w[1] - w[0]).abs()).collect();
    if sizes.is_empty() {
        return 0;
    }
    let middle = sizes.len() / 2;
    let robust = *sizes.select_nth_unstable_by(middle, f64::total_cmp).1 / 0.6745;
    let (mut count, mut largest) = (0, 0.0f64);
    for stretch in stretches {
        let x = &law.values[stretch.clone()];
        for i in NEAR..x.len().saturating_sub(NEAR) {
            let (before, after) = (x[i] - x[i - 1], x[i + 1] - x[i]);
            let height = before.abs().min(after.abs());
            if before * after >= 0.0 || height <= HIGH * robust {
                continue;
            }
            // Steps that neither begin nor end at the sample.
            let others = (i + 1 - NEAR..i + NEAR).filter(|k| *k != i && *k != i + 1);
            let around = others.map(|k| (x[k] - x[k - 1]).abs()).fold(0.0, f64::max);
            if height > LOCAL * around.max((x[i + 1] - x[i - 1]).abs()) {
                count += 1;
                largest = largest.max(height);
            }
        }
    }
    if count == 0 || count as f64 > MANY * law.values.len() as f64 {
        return 0;
    }
    findings.push(Finding::new(
        FindingKind::Outliers,
        Severity::Warn,
        format!(
            "coordinate '{}' has {count} isolated outliers: samples up to {} away from both neighbours, {} robust \
             standard deviations of the increments",
            law.name,
            digits(largest),
            digits(largest / robust)
        ),
        "if they are errors of the instrument, mark them as gaps (NaN); if the motion jumps, no Langevin equation \
         describes it",
    ));
    count
}
