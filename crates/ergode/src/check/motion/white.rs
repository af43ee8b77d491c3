//! White noise: no correlation from sample to sample.

use crate::check::correlation::Curve;
use crate::check::excerpt::Excerpt;
use crate::finding::{Finding, FindingKind, Severity};

/// Lags that are looked at.
const LAGS: usize = 3;
/// Correlations below this, and insignificant, are none.
const SMALL: f64 = 0.05;
const Z: f64 = 4.0;

/// Which coordinates have no correlation at any of the first lags.
pub(in crate::check) fn find(
    excerpt: &Excerpt,
    curves: &[Curve],
    findings: &mut Vec<Finding>,
) -> Vec<bool> {
    let silent = |curve: &Curve| {
        let lags = 1..curve.rho.len().min(1 + LAGS);
        let small = |l: usize| {
            curve.rho[l].abs() < SMALL
                && curve.rho[l].abs() < Z * curve.error[l]
                && curve.error[l] < SMALL
        };
        !lags.is_empty() && lags.into_iter().all(small)
    };
    let white: Vec<bool> = curves.iter().map(silent).collect();
    let names: Vec<String> = (0..white.len())
        .filter(|j| white[*j])
        .map(|j| format!("'{}'", excerpt.names[j]))
        .collect();
    if names.is_empty() {
        return white;
    }
    let all = names.len() == white.len();
    findings.push(Finding::new(
        FindingKind::WhiteNoise,
        if all { Severity::Fail } else { Severity::Warn },
        format!(
            "neighbouring samples of {} are uncorrelated: white noise, or motion much faster than the sampling \
             interval; there is nothing to learn in time",
            names.join(", ")
        ),
        if all {
            "sample more often"
        } else {
            "leave such coordinates out (--columns), or sample more often"
        },
    ));
    white
}
