//! Findings and verdict from the comparisons.

use super::config::ValidateConfig;
use super::curves::Comparison;
use super::floor::Distance;
use crate::finding::{Finding, FindingKind, Severity, digits};

/// Words of the findings on a family of curves.
pub(super) struct Words {
    /// Name of the finding.
    pub(super) kind: FindingKind,
    /// One of its curves, such as "the density of".
    pub(super) curve: &'static str,
    /// All of them.
    pub(super) all: &'static str,
    /// Advice if they differ.
    pub(super) advice: &'static str,
}

pub(super) const CORRELATIONS: Words = Words {
    kind: FindingKind::Correlations,
    curve: "the correlation of",
    all: "the fitted correlations",
    advice: "raise the degrees of the mobility, or fit it with more observables and longer lags",
};
pub(super) const OTHER_CORRELATIONS: Words = Words {
    kind: FindingKind::OtherCorrelations,
    curve: "the correlation (outside the fit, of standardised coordinates) of",
    all: "the correlations outside the fit",
    advice: "add such observables to the fit of the mobility, and certify the score",
};
pub(super) const MARGINALS: Words = Words {
    kind: FindingKind::Density,
    curve: "the density of",
    all: "the densities of the coordinates",
    advice: "the score or the divergence of the mobility is wrong, or the rollout step is too long; \
             certify the score, then halve simulate.dt",
};
pub(super) const JOINTS: Words = Words {
    kind: FindingKind::JointDensity,
    curve: "the joint density of",
    all: "the joint densities",
    advice: "use a score that couples these coordinates, or more data",
};
pub(super) const SPECTRA: Words = Words {
    kind: FindingKind::Spectrum,
    curve: "the power spectrum of",
    all: "the power spectra",
    advice: "check which frequencies differ: errors at high ones come from the diffusion, at low ones \
             from slow motions that the mobility misses",
};
pub(super) const PASSAGES: Words = Words {
    kind: FindingKind::Passage,
    curve: "the mean passage time of",
    all: "the mean passage times",
    advice: "compare barriers of the density and the slowest time scales of the model with those of the \
             data",
};

/// What rollout `k` has to say about a family: nothing, or the worst of all curves together, of the curve
/// and of the point that are off by most, one of several families. A point alone is a warning at most.
pub(super) fn judge(
    words: &Words,
    comparison: &Comparison,
    k: usize,
    families: usize,
    config: &ValidateConfig,
) -> Option<Finding> {
    let (overall, worst) = (comparison.overall.get(k)?, comparison.worst.get(k)?);
    let point = &comparison.worst_point[k];
    let place: Vec<String> = point.at.iter().map(|at| digits(*at)).collect();
    let candidates = [
        (overall, Severity::Fail, format!("{} differ", words.all)),
        (
            &worst.distance,
            Severity::Fail,
            format!("{} {} differs", words.curve, worst.label),
        ),
        (
            &point.distance,
            Severity::Warn,
            format!(
                "{} {} at {} differs",
                words.curve,
                point.label,
                place.join(", ")
            ),
        ),
    ];
    let threshold = config.false_alarm / (families * candidates.len()) as f64;
    let (severity, distance, subject) = candidates
        .into_iter()
        // No further than an independent record is no finding, however sure.
        .filter(|(distance, ..)| distance.probability < threshold && distance.over_floor > 1.0)
        .map(|(distance, most, subject)| (severity(distance, config).min(most), distance, subject))
        .max_by(|a, b| a.0.cmp(&b.0).then(a.1.z.total_cmp(&b.1.z)))?;
    Some(Finding::new(
        words.kind,
        severity,
        format!(
            "{subject} from the held-out data by {} x the noise floor: {}, while an independent record \
             gives {} (probability {} by chance)",
            digits(distance.over_floor),
            digits(distance.value),
            digits(distance.floor),
            digits(distance.probability)
        ),
        if severity == Severity::Info {
            "small enough to ignore"
        } else {
            words.advice
        },
    ))
}

/// Severity of a significant distance.
fn severity(distance: &Distance, config: &ValidateConfig) -> Severity {
    match distance.over_floor {
        over if over < config.warn_floors => Severity::Info,
        over if over < config.fail_floors => Severity::Warn,
        _ => Severity::Fail,
    }
}
