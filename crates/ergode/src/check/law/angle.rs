//! Wrapped angles: steps of a full range between neighbouring samples.

use std::f64::consts::{PI, TAU};
use std::ops::Range;

use super::samples::Law;
use crate::check::report::Angle;
use crate::finding::{Finding, FindingKind, Severity, digits};

/// Steps across the seam that must be seen.
const WRAPS: usize = 5;
/// Steps up to this fraction of the range are short, and most must be.
const SHORT: f64 = 0.25;
/// Parts of the range that must all have samples.
const PARTS: usize = 12;
/// Periods that an angle or a time of day is likely to have.
const PERIODS: [f64; 8] = [TAU, PI, 360.0, 180.0, 1.0, 2.0, 24.0, 12.0];

/// The period, where steps are short or nearly the whole range and the samples fill all of the range.
///
/// A step Δ across the seam is R − |Δ| short of the range R: like a step within the range. Steps in
/// between must be much rarer.
pub(super) fn find(
    law: &Law,
    stretches: &[Range<usize>],
    findings: &mut Vec<Finding>,
) -> Option<Angle> {
    let (low, range, n) = (law.sorted[0], law.range(), law.values.len());
    let steps = || {
        stretches
            .iter()
            .flat_map(|s| law.values[s.clone()].windows(2))
    };
    let (mut short, mut between, mut wraps) = (0, 0, 0);
    for step in steps() {
        let part = (step[1] - step[0]).abs() / range;
        match part {
            part if part < SHORT => short += 1,
            part if part > 1.0 - SHORT => wraps += 1,
            _ => between += 1,
        }
    }
    let mut filled = [0usize; PARTS];
    for x in law.values {
        filled[(((x - low) / range * PARTS as f64) as usize).min(PARTS - 1)] += 1;
    }
    let full = filled.iter().all(|count| *count * 1000 >= n);
    if wraps < WRAPS || 10 * between > wraps || 2 * short < n || !full {
        return None;
    }
    // The largest of n uniform values is about 1/n short of the end on either side.
    let known = PERIODS
        .into_iter()
        .find(|p| *p >= range && p - range < 0.02 * p);
    let period = known.unwrap_or(range * (1.0 + 2.0 / n as f64));
    let start = if low >= 0.0 && low < 0.02 * period {
        0.0
    } else {
        -0.5 * period
    };
    let low = if (low - start).abs() < 0.02 * period {
        start
    } else {
        low
    };
    findings.push(Finding::new(
        FindingKind::Angle,
        Severity::Warn,
        format!(
            "coordinate '{}' is a wrapped angle of period {}: {wraps} steps between neighbouring samples are \
             nearly its whole range",
            law.name,
            digits(period)
        ),
        "unwrap the angle (numpy.unwrap) and fit its differences or its anomaly from a steady rotation; as \
         cosine and sine it needs both, and their polynomials are dependent",
    ));
    Some(Angle { low, period })
}
