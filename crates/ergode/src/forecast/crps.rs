//! The continuous ranked probability score of forecasts.

use std::f64::consts::PI;

use crate::stats::normal_tails;

/// CRPS = ∫ (F(x) − 1{x ≥ y})² dx of an ensemble of forecasts and what was then observed,
///
/// ⟨|X − y|⟩ − ½ ⟨|X − X'|⟩ over pairs of different members,
///
/// whose average does not depend on the number of members; in units of the observable, smaller is better, and
/// |X − y| for one member. Members that are not numbers are left out; NaN without any.
pub fn ensemble_crps(members: &[f64], observed: f64) -> f64 {
    let mut sorted: Vec<f64> = members.iter().copied().filter(|x| x.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    sorted_crps(&sorted, observed, half_spread(&sorted))
}

/// ⟨|X − y|⟩ − `half`, with `half` = [`half_spread`] of the members.
pub(super) fn sorted_crps(sorted: &[f64], observed: f64, half: f64) -> f64 {
    if sorted.is_empty() {
        return f64::NAN;
    }
    let distance: f64 = sorted.iter().map(|x| (x - observed).abs()).sum();
    distance / sorted.len() as f64 - half
}

/// ½ ⟨|X − X'|⟩ over pairs of different members, Σ_k (2k − n + 1) x_k / (n (n − 1)) of sorted ones.
pub(super) fn half_spread(sorted: &[f64]) -> f64 {
    let n = sorted.len() as f64;
    if sorted.len() < 2 {
        return 0.0;
    }
    // From the first one on, so that a large mean costs no digits.
    let weighted = sorted
        .iter()
        .enumerate()
        .map(|(k, x)| (2.0 * k as f64 - n + 1.0) * (x - sorted[0]));
    weighted.sum::<f64>() / (n * (n - 1.0))
}

/// CRPS of a normal law, σ [z (2Φ(z) − 1) + 2φ(z) − 1/√π] with z = (y − mean)/σ.
pub fn normal_crps(mean: f64, deviation: f64, observed: f64) -> f64 {
    let error = (observed - mean).abs();
    if deviation.is_nan() || deviation <= 0.0 {
        return error;
    }
    let z = error / deviation;
    let density = (-0.5 * z * z).exp() / (2.0 * PI).sqrt();
    deviation * (z * (1.0 - normal_tails(z)) + 2.0 * density - 1.0 / PI.sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, Stream};

    #[test]
    fn an_ensemble_has_the_score_of_its_law() {
        let mut stream = Stream::new(3, Purpose::Analysis, 0);
        let members: Vec<f64> = (0..200_000).map(|_| 2.0 * stream.normal() + 1.0).collect();
        for observed in [-4.0, 0.0, 1.0, 7.5] {
            let (found, exact) = (
                ensemble_crps(&members, observed),
                normal_crps(1.0, 2.0, observed),
            );
            assert!((found - exact).abs() < 0.02, "{observed}: {found} {exact}");
        }
        assert_eq!(ensemble_crps(&[3.0], 1.0), 2.0);
        assert!(ensemble_crps(&[f64::NAN], 1.0).is_nan());
    }

    #[test]
    fn the_score_does_not_depend_on_the_number_of_members() {
        let mut stream = Stream::new(4, Purpose::Analysis, 0);
        let average = |members: usize, stream: &mut Stream| {
            let trials = 20_000;
            let one = |_| {
                let drawn: Vec<f64> = (0..members).map(|_| stream.normal()).collect();
                ensemble_crps(&drawn, 0.3)
            };
            (0..trials).map(one).sum::<f64>() / f64::from(trials)
        };
        let exact = normal_crps(0.0, 1.0, 0.3);
        // Standard errors are below 0.005.
        assert!((average(4, &mut stream) - exact).abs() < 0.02);
        assert!((average(16, &mut stream) - exact).abs() < 0.02);
    }
}
