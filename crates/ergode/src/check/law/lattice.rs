//! Rounded and counted values: a lattice.

use super::samples::Law;
use crate::finding::{Finding, FindingKind, Severity, digits};

/// Samples for each value of the lattice, at least.
const SAMPLES: usize = 4;
/// Distance from the lattice as a fraction of its step, at most.
const OFF: f64 = 0.02;
/// Variance of the rounding as a fraction of that of the increments from which it counts.
const LOUD: f64 = 0.05;

/// The step q of the lattice on which all values lie, if there are few enough of them to show it.
///
/// Rounding adds an error of variance q²/12 to every sample, twice that to an increment.
pub(super) fn find(law: &Law, findings: &mut Vec<Finding>) -> Option<f64> {
    let mut distinct = law.sorted.clone();
    let tiny = 1e-9 * law.range();
    distinct.dedup_by(|a, b| *a - *b <= tiny);
    if distinct.len() < 2 || distinct.len() * SAMPLES > law.sorted.len() {
        return None;
    }
    let gaps = distinct.windows(2).map(|w| w[1] - w[0]);
    let mut step = gaps.fold(f64::INFINITY, f64::min);
    for x in &distinct[1..] {
        let distance = x - distinct[0];
        let count = (distance / step).round();
        if (distance - count * step).abs() > OFF * step {
            return None;
        }
        step = distance / count;
    }
    let share = step * step / 6.0 / law.increment.powi(2);
    let severity = if share > LOUD {
        Severity::Warn
    } else {
        Severity::Info
    };
    findings.push(Finding::new(
        FindingKind::Quantised,
        severity,
        format!(
            "the values of '{}' are multiples of {} ({} different values): rounding makes {:.0} % of the variance \
             of the increments",
            law.name,
            digits(step),
            distinct.len(),
            100.0 * share.min(1.0)
        ),
        if severity == Severity::Warn {
            "rounding acts as measurement noise, which a polynomial mobility corrects for (mobility.noise = \
             \"auto\"); give the values with more digits, or thin the record until its increments are larger than \
             the step"
        } else {
            "small enough to ignore"
        },
    ));
    Some(step)
}
