//! Range and variance of rollouts beside those of the held-out data: what the eye sees first.

use serde::{Deserialize, Serialize};

use super::config::ValidateConfig;
use super::floor::{point_freedoms, pooled};
use super::observables::Observables;
use super::setting::{Setting, same_time};
use crate::control::Control;
use crate::data::Ensemble;
use crate::error::Result;
use crate::finding::{Finding, FindingKind, Severity, digits};
use crate::lagged::{Jackknife, LaggedConfig, PairSums, Subsample, accumulate_lagged};
use crate::observable::{Factor, Functions, Monomials};
use crate::stats::{normal_score, normal_tails};

/// Extent of a rollout along one coordinate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Extent {
    /// Largest distance of a sample from the middle of the range of the held-out data, in half ranges; none
    /// where a sample is not finite.
    pub reach: Option<f64>,
    /// Variance of the rollout over that of the held-out data; none where it is not a finite number.
    pub variance_ratio: Option<f64>,
    /// The probability by chance of a ratio so far from one.
    pub probability: f64,
}

/// Half ranges beyond which a rollout left the data.
const FAR: f64 = 10.0;
/// Ratios of variances beyond which a significant one is a warning, and a failure; beyond the last it is a
/// failure however few the data.
const RATIOS: [f64; 3] = [1.25, 2.0, 10.0];
/// Samples that a pass uses; longer records are sub-sampled.
const WORK: usize = 1_000_000;

/// The extent of every rollout along every coordinate, (rollout, coordinate).
pub(super) fn extents(setting: &Setting, control: &Control) -> Result<Vec<Vec<Extent>>> {
    let (data, rollouts) = setting.each(|ensemble| log_variances(ensemble, setting, control))?;
    let singles = vec![1; data.values.len()];
    let of_rollout = |k: usize| {
        let null = pooled(&data, &rollouts[k], &singles, setting.records[k]);
        let (errors, freedoms) = (null.errors(), point_freedoms(&null));
        let reaches = reaches(&setting.rollouts[k], setting);
        let both = 1.0f64.hypot(setting.records[k].of_model());
        let coordinates = reaches.into_iter().enumerate().map(|(i, reach)| {
            let log = rollouts[k].values[i] - data.values[i];
            let z = normal_score(log / (both * errors[i]), freedoms[i]);
            Extent {
                reach,
                variance_ratio: Some(log.exp()).filter(|ratio| ratio.is_finite()),
                probability: if z.is_nan() { 1.0 } else { normal_tails(z) },
            }
        });
        coordinates.collect()
    };
    Ok((0..rollouts.len()).map(of_rollout).collect())
}

/// ln(⟨z²⟩ − ⟨z⟩²) of every coordinate, ln(1 − |⟨e^{iz}⟩|²) of an angle.
fn log_variances(ensemble: &Ensemble, setting: &Setting, control: &Control) -> Result<Jackknife> {
    let names = ensemble.names();
    let (dim, scales) = (names.len(), &setting.scales);
    let functions = [
        Factor::Cos(1),
        Factor::Sin(1),
        Factor::Power(1),
        Factor::Power(2),
    ];
    let of = |at: [Factor; 2]| -> Vec<Vec<u32>> {
        let factor = |i: usize| at[usize::from(!scales.is_circle(i))].exponent();
        (0..dim)
            .map(|i| {
                (0..dim)
                    .map(|j| if i == j { factor(i) } else { 0 })
                    .collect()
            })
            .collect()
    };
    let [cos, sin, first, second] = functions;
    let exponents = [of([cos, first]), of([sin, second])].concat();
    let moments = Monomials::from_exponents(names, exponents)?;
    let moments = Observables::of_standardised(Box::new(moments), scales);
    let initial = Observables::standardised(names, &setting.scales)?;
    debug_assert_eq!(moments.len(), 2 * dim);
    let statistics = LaggedConfig {
        subsample: Subsample::Stride(ensemble.samples().div_ceil(WORK)),
        blocking: setting.blocking(ensemble),
        first_trajectory: 0,
    };
    let grid = same_time(ensemble)?;
    let sums = accumulate_lagged(ensemble, &moments, &initial, &grid, &statistics, control)?;
    sums.jackknife(|sums: &PairSums| {
        let mean = sums.future_mean(0);
        let variance = |i: usize| match scales.is_circle(i) {
            true => 1.0 - mean[i] * mean[i] - mean[dim + i] * mean[dim + i],
            false => mean[dim + i] - mean[i] * mean[i],
        };
        (0..dim).map(|i| variance(i).ln()).collect()
    })
}

/// Largest distance from the middle of the range of the held-out data, in half ranges.
fn reaches(rollout: &Ensemble, setting: &Setting) -> Vec<Option<f64>> {
    let dim = rollout.dim();
    let ends = |i: usize| match setting.held_out.circle(i) {
        Some(circle) => [circle.low, circle.low + circle.period],
        None => [0.0, 1.0].map(|fraction| setting.quantile(i, fraction)),
    };
    let ends: Vec<[f64; 2]> = (0..dim).map(ends).collect();
    let mut reach = vec![0.0f64; dim];
    let mut row = vec![0.0; dim];
    for trajectory in rollout.trajectories() {
        for i in 0..trajectory.len() {
            trajectory.row(i, &mut row);
            for ((reach, x), [low, high]) in reach.iter_mut().zip(&row).zip(&ends) {
                let distance = (x - 0.5 * (low + high)).abs() / (0.5 * (high - low));
                // A maximum would pass over what is not a number.
                *reach = if distance > *reach || distance.is_nan() {
                    distance
                } else {
                    *reach
                };
            }
        }
    }
    reach
        .into_iter()
        .map(|reach| Some(reach).filter(|reach| reach.is_finite()))
        .collect()
}

/// Findings on the extents of a rollout.
pub(super) fn judge(extents: &[Extent], names: &[String], config: &ValidateConfig) -> Vec<Finding> {
    let mut findings = Vec::new();
    let beyond = |extent: &Extent| extent.reach.is_none_or(|reach| reach > FAR);
    if let Some(i) = extents.iter().position(beyond) {
        let how = match extents[i].reach {
            Some(reach) => format!(
                "reach {} times as far as the data in {}",
                digits(reach),
                names[i]
            ),
            None => format!("have values of {} that are not finite", names[i]),
        };
        findings.push(Finding::new(
            FindingKind::RolloutRange,
            Severity::Fail,
            format!("simulations of the model {how}"),
            "the model is unstable outside the samples: lower the degrees of the mobility \
             (mobility.degrees) or the score, or set a smaller simulate.dt",
        ));
    }
    let threshold = config.false_alarm / extents.len() as f64;
    let severity = |extent: &Extent| {
        let far = extent
            .variance_ratio
            .map_or(f64::MAX, |ratio| ratio.max(1.0 / ratio));
        match far {
            far if far > RATIOS[2] => Some(Severity::Fail),
            _ if extent.probability > threshold => None,
            far if far > RATIOS[1] => Some(Severity::Fail),
            far if far > RATIOS[0] => Some(Severity::Warn),
            _ => None,
        }
    };
    let judged = extents.iter().zip(names);
    let worst = judged
        .filter_map(|(extent, name)| Some((severity(extent)?, extent, name)))
        .max_by_key(|(severity, ..)| *severity);
    if let Some((severity, extent, name)) = worst {
        let ratio = extent
            .variance_ratio
            .map_or("infinitely many".to_owned(), digits);
        findings.push(Finding::new(
            FindingKind::Variance,
            severity,
            format!(
                "the variance of {name} in simulations of the model is {ratio} times that of the held-out \
                 data (probability {} by chance)",
                digits(extent.probability)
            ),
            "certify the score; then halve simulate.dt, and compare diffusion and drift with the data",
        ));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn severities(reach: Option<f64>, ratio: Option<f64>, probability: f64) -> Vec<Severity> {
        let extent = Extent {
            reach,
            variance_ratio: ratio,
            probability,
        };
        let findings = judge(&[extent], &["x".to_owned()], &ValidateConfig::default());
        findings.iter().map(|finding| finding.severity).collect()
    }

    #[test]
    fn what_the_eye_sees_is_a_failure_however_few_the_data() {
        assert!(severities(Some(1.2), Some(1.05), 1e-9).is_empty());
        assert!(severities(Some(1.2), Some(3.0), 0.05).is_empty());
        assert_eq!(severities(Some(1.2), Some(1.5), 1e-3), [Severity::Warn]);
        assert_eq!(severities(Some(1.2), Some(0.4), 1e-3), [Severity::Fail]);
        assert_eq!(severities(Some(1.2), Some(20.0), 0.5), [Severity::Fail]);
        assert_eq!(severities(Some(11.0), Some(1.0), 0.5), [Severity::Fail]);
        assert_eq!(severities(None, None, 1.0), [Severity::Fail; 2]);
    }
}
