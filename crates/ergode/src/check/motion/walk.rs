//! Random walks: no return to a mean.

use crate::check::excerpt::Excerpt;
use crate::finding::{Finding, FindingKind, Severity};

/// Returns to the mean in the record that a walk does not reach: the 5 % point of n (φ − 1) for a walk with
/// unknown mean (Dickey and Fuller).
const RETURNS: f64 = 14.1;
/// Steps into which the record is cut.
const STEPS: usize = 500;
/// Shortest record that is looked at.
const SHORTEST: usize = 200;
/// Growth of the mean square displacement from STEPS/100 to STEPS/10 steps, as a power of time, that a walk has.
const POWER: (f64, f64) = (0.75, 1.3);

/// Which coordinates show no return to a mean.
///
/// With Δx the increments over 1/500 of the record, n Σ Δx (x − x̄) / Σ (x − x̄)² is minus the number of returns,
/// λT; a walk has fewer than 14 in 95 % of records. Only a record of one long stretch can tell.
pub(in crate::check) fn find(
    excerpt: &Excerpt,
    white: &[bool],
    findings: &mut Vec<Finding>,
) -> Vec<bool> {
    let mut walks = vec![false; excerpt.dim()];
    let longest = excerpt.stretches.iter().max_by_key(|s| s.len());
    let Some(stretch) = longest.filter(|s| s.len() >= SHORTEST && 2 * s.len() > excerpt.len())
    else {
        return walks;
    };
    let step = (stretch.len() / STEPS).max(1);
    for j in 0..excerpt.dim() {
        let x: Vec<f64> = stretch
            .clone()
            .step_by(step)
            .map(|t| excerpt.unit(j, t))
            .collect();
        let n = x.len() - 1;
        let mean = x.iter().sum::<f64>() / x.len() as f64;
        let (mut product, mut square) = (0.0, 0.0);
        for pair in x.windows(2) {
            product += (pair[1] - pair[0]) * (pair[0] - mean);
            square += (pair[0] - mean).powi(2);
        }
        let returns = -(n as f64) * product / square;
        let displaced = |k: usize| {
            let pairs = x.len() - k;
            (0..pairs).map(|t| (x[t + k] - x[t]).powi(2)).sum::<f64>() / pairs as f64
        };
        let (near, far) = ((n / 100).max(1), (n / 10).max(2));
        let power = (displaced(far) / displaced(near)).ln() / (far as f64 / near as f64).ln();
        walks[j] = !white[j] && returns < RETURNS && (POWER.0..POWER.1).contains(&power);
        if walks[j] {
            findings.push(Finding::new(
                FindingKind::RandomWalk,
                Severity::Fail,
                format!(
                    "coordinate '{}' shows no return to a mean: {returns:.1} relaxation times in the record, as \
                     few as a random walk",
                    excerpt.names[j]
                ),
                "fit the increments instead (numpy.diff), or collect a record at least ten times longer",
            ));
        }
    }
    walks
}
