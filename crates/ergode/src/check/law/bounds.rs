//! Hard bounds: values at which samples pile up, and edges without a tail.

use super::samples::Law;
use crate::check::report::{Bound, BoundKind, Bounds};
use crate::finding::{Finding, FindingKind, Severity, digits};

/// Samples at one value that pile up there, at least, and as a fraction of all.
const PILE: (usize, f64) = (10, 0.002);
/// The same fraction where all values are on a lattice.
const LATTICE_PILE: f64 = 0.1;
/// Effective samples beyond the first quantile, and the fractions it may have.
const BEYOND: f64 = 40.0;
const FRACTIONS: (f64, f64) = (0.004, 0.03);
/// Index of extreme values below which a density ends at an edge, and its error for one sample beyond.
const EDGE: f64 = -0.55;
const ERROR: f64 = 1.3;

/// The bounds of one coordinate; of values on a lattice only those at which many samples lie.
pub(super) fn find(law: &Law, lattice: bool, findings: &mut Vec<Finding>) -> Bounds {
    let upward = |p: f64| law.quantile(p) - law.sorted[0];
    let downward = |p: f64| law.sorted[law.sorted.len() - 1] - law.quantile(1.0 - p);
    let lower = bound(law, law.sorted[0], lattice, &upward);
    let upper = bound(law, law.sorted[law.sorted.len() - 1], lattice, &downward);
    for (bound, side) in [(lower, "below"), (upper, "above")] {
        let Some(bound) = bound else { continue };
        let value = digits(bound.value);
        let (severity, message) = match bound.kind {
            BoundKind::Mass => (
                Severity::Warn,
                format!(
                    "coordinate '{}' has no samples {side} {value}, and many exactly there",
                    law.name
                ),
            ),
            BoundKind::Edge => (
                Severity::Info,
                format!(
                    "the density of coordinate '{}' ends at {value} without a tail: no samples are {side} it",
                    law.name
                ),
            ),
        };
        findings.push(Finding::new(
            FindingKind::Bounds,
            severity,
            message,
            "simulations may leave the range: compare the densities in the report, and where the bound is a \
             limit of the instrument, drop the samples there",
        ));
    }
    Bounds { lower, upper }
}

/// The bound at the extreme value, `depth(p)` the distance from it within which a fraction p of the samples
/// lies.
///
/// Where the density behaves as d^{a−1} at distance d from its end, depth(p) ~ p^{1/a}, and
/// γ = −log₂((depth(4p) − depth(2p)) / (depth(2p) − depth(p))) = −1/a (Pickands): −1 where it jumps, −1/2 where it
/// rises linearly, near 0 in a tail.
fn bound(law: &Law, value: f64, lattice: bool, depth: &dyn Fn(f64) -> f64) -> Option<Bound> {
    let n = law.values.len();
    let ties = law.values.iter().filter(|x| **x == value).count();
    let fraction = if lattice { LATTICE_PILE } else { PILE.1 };
    if ties >= PILE.0.max((fraction * n as f64) as usize) {
        return Some(Bound {
            value,
            kind: BoundKind::Mass,
        });
    }
    let p = (BEYOND / law.effective).max(FRACTIONS.0);
    if lattice || p.is_nan() || p > FRACTIONS.1 {
        return None;
    }
    let index = |p: f64| {
        let (near, far) = (depth(2.0 * p) - depth(p), depth(4.0 * p) - depth(2.0 * p));
        -(far / near).log2()
    };
    let gamma = 0.5 * (index(p) + index(2.0 * p));
    let error = ERROR / (p * law.effective).sqrt();
    (gamma + 1.5 * error < EDGE).then_some(Bound {
        value,
        kind: BoundKind::Edge,
    })
}
