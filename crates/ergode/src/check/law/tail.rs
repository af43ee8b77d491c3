//! Heavy tails: the Hill index.

use super::samples::Law;
use crate::finding::{Finding, FindingKind, Severity};

/// Fractions of the samples that are taken for the tail.
const TAILS: [f64; 2] = [0.005, 0.01];
/// Effective samples in it, at least.
const FEWEST: f64 = 40.0;
/// Index below which moments that a fit needs are badly known, or do not exist.
const HEAVY: f64 = 3.7;

/// The Hill index α of |x − median|, 1/α = ⟨ln(|x|/u)⟩ over the samples with |x| > u, if the tails are heavy.
///
/// Its relative error is 1/√k, k the effective samples beyond u. An exponential tail has α about ln(1/p) at
/// the fraction p, above 4 here; a normal one more than 6.
pub(super) fn index(law: &Law, findings: &mut Vec<Finding>) -> Option<f64> {
    let median = law.quantile(0.5);
    let mut size: Vec<f64> = law.values.iter().map(|x| (x - median).abs()).collect();
    size.sort_by(|a, b| b.total_cmp(a));
    let mut largest = 0.0f64;
    for tail in TAILS {
        let effective = tail * law.effective;
        let beyond = (tail * size.len() as f64) as usize;
        let u = *size.get(beyond)?;
        if beyond < 2 || u <= 0.0 {
            return None;
        }
        let mean = size[..beyond].iter().map(|x| (x / u).ln()).sum::<f64>() / beyond as f64;
        if effective < FEWEST {
            continue;
        }
        let alpha = 1.0 / mean;
        if alpha * (1.0 + 1.5 / effective.sqrt()) > HEAVY {
            return None;
        }
        largest = largest.max(alpha);
    }
    if largest == 0.0 {
        return None;
    }
    findings.push(Finding::new(
        FindingKind::HeavyTails,
        Severity::Warn,
        format!(
            "coordinate '{}' has heavy tails: large values are distributed as |x|^-{largest:.1} (Hill index), so \
             that moments beyond the order {:.0} are badly known",
            law.name,
            largest.floor()
        ),
        "the fit tries test functions of its normal scores (mobility.charts sets them); or transform the \
         coordinate (its logarithm if it is positive, else asinh), or lower score.closed_form.degrees",
    ));
    Some(largest)
}
