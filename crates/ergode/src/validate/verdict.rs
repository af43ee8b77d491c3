//! Findings and verdict from the comparisons.

use super::config::ValidateConfig;
use super::curves::Comparison;
use super::floor::Distance;
use crate::finding::{Finding, FindingKind, Severity, digits};
use crate::stats::student_quantile;

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

pub(super) const WINDINGS: Words = Words {
    kind: FindingKind::Winding,
    curve: "the number of turns per unit of time of",
    all: "the mean currents of the angles",
    advice: "raise the degrees of the mobility, and check the period of the angle (space.NAME)",
};

/// Fewest independent blocks of held-out data for a failure; with fewer only what the eye sees is one.
const FEWEST_BLOCKS: usize = 16;

/// How findings are drawn from distances.
pub(super) struct Judge<'a> {
    pub(super) config: &'a ValidateConfig,
    /// Families that are judged together.
    pub(super) families: usize,
    /// Blocks of the held-out data.
    pub(super) blocks: usize,
}

impl Judge<'_> {
    /// Noise floors that refute a model whatever their probability: `refute_floors` for a normal law, more
    /// in the proportion of the quantiles of Student's t where floors come from few blocks.
    fn refuting(&self) -> f64 {
        /// Two-sided probability 1e-4 of a standard normal number.
        const Z: f64 = 3.89;
        let freedom = (self.blocks.max(2) - 1) as f64;
        self.config.refute_floors * student_quantile(Z, freedom) / Z
    }

    fn too_short(&self) -> bool {
        self.blocks < FEWEST_BLOCKS
    }

    /// Severity of a distance; none if it is no further than chance.
    fn severity(&self, distance: &Distance, most: Severity, threshold: f64) -> Option<Severity> {
        if most == Severity::Fail && distance.over_floor >= self.refuting() {
            return Some(Severity::Fail);
        }
        // No further than an independent record is no finding, however sure.
        let significant = distance.probability < threshold && distance.over_floor > 1.0;
        let severity = match distance.over_floor {
            _ if !significant => return None,
            over if over < self.config.warn_floors => Severity::Info,
            over if over < self.config.fail_floors || self.too_short() => Severity::Warn,
            _ => Severity::Fail,
        };
        Some(severity.min(most))
    }
}

/// What rollout `k` has to say about a family: nothing, or the worst of all curves together, of the curve
/// and of the point that are off by most, one of several families. A point alone is a warning at most.
pub(super) fn judge(
    words: &Words,
    comparison: &Comparison,
    k: usize,
    judge: &Judge,
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
    let threshold = judge.config.false_alarm / (judge.families * candidates.len()) as f64;
    let (severity, distance, subject) = candidates
        .into_iter()
        .filter_map(|(distance, most, subject)| {
            let severity = judge.severity(distance, most, threshold)?;
            Some((severity, distance, subject))
        })
        .max_by(|a, b| a.0.cmp(&b.0).then(a.1.z.total_cmp(&b.1.z)))?;
    let short = if severity == Severity::Warn && judge.too_short() {
        "; the held-out data are too short to tell more"
    } else {
        ""
    };
    Some(Finding::new(
        words.kind,
        severity,
        format!(
            "{subject} from the held-out data by {} x the noise floor: {}, while an independent record \
             gives {} (probability {} by chance){short}",
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
