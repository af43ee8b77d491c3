//! Findings: what a check, a certificate or a validation has to say, and the verdict that follows.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Good to know.
    Info,
    /// A fit may be biased; the advice says what to do.
    Warn,
    /// A fit would be useless or wrong.
    Fail,
}

/// The worst severity of all findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Nothing worse than information.
    Pass,
    /// At least one warning.
    Warn,
    /// At least one failure.
    Fail,
}

impl Verdict {
    pub(crate) fn of(findings: &[Finding]) -> Self {
        match findings.iter().map(|f| f.severity).max() {
            Some(Severity::Fail) => Self::Fail,
            Some(Severity::Warn) => Self::Warn,
            _ => Self::Pass,
        }
    }
}

/// Declares the kinds together with the names under which files and scripts know them.
macro_rules! finding_kinds {
    ($($(#[$doc:meta])* $kind:ident = $name:literal,)*) => {
        /// What a finding is about.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[non_exhaustive]
        pub enum FindingKind {
            $($(#[$doc])* #[serde(rename = $name)] $kind,)*
        }

        impl FindingKind {
            /// The name under which files and scripts know the kind.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$kind => $name,)*
                }
            }
        }
    };
}

finding_kinds! {
    /// Values that may be wrong although they can be used.
    Data = "data",
    /// Times that are not equally spaced.
    UnevenSampling = "uneven-sampling",
    /// Missing rows.
    Gaps = "gaps",
    /// A record that is too short.
    ShortRecord = "short-record",
    /// A sampling interval that is too long.
    CoarseSampling = "coarse-sampling",
    /// A mean that changes in time.
    Trend = "trend",
    /// A law that changes in time.
    NonStationary = "nonstationary",
    /// A periodic part.
    Cycle = "cycle",
    /// Measurement noise, or motion faster than the sampling interval.
    Noise = "noise",
    /// Motion much faster than the decorrelation time, over several samples.
    FastMotion = "fast-motion",
    /// A wrapped angle.
    Angle = "angle",
    /// Values that samples never pass.
    Bounds = "bounds",
    /// Values on a lattice.
    Quantised = "quantised",
    /// Isolated samples far from their neighbours.
    Outliers = "outliers",
    /// Heavy tails.
    HeavyTails = "heavy-tails",
    /// Trajectories that differ from each other.
    Trajectories = "trajectories",
    /// Samples on a curve or surface.
    Curve = "curve",
    /// Noise that enters through a velocity.
    SecondOrder = "second-order",
    /// Motion without noise.
    Deterministic = "deterministic",
    /// No correlation from sample to sample.
    WhiteNoise = "white-noise",
    /// No return to a mean.
    RandomWalk = "random-walk",
    /// Samples with the same time.
    RepeatedTimes = "repeated-times",
    /// Coordinates that are not Markov.
    NonMarkov = "non-markov",
    /// Coordinates that are linearly dependent.
    Duplicate = "duplicate",
    /// The lags that a fit should use.
    UsableLags = "usable-lags",
    /// Relation between record and state.
    Observation = "observation",
    /// Dynamics that change with the phase of a cycle.
    CycleDynamics = "cycle-dynamics",
    /// Delayed coordinates.
    Delays = "delays",
    /// Identities of a score that do not hold.
    Identities = "identities",
    /// Too few held-out samples to judge a score.
    FewData = "few-data",
    /// Samples of a score that differ from the data.
    Resampling = "resampling",
    /// A score that cannot be sampled.
    Refused = "refused",
    /// The fit of the mobility.
    Mobility = "mobility",
    /// Correlations of observables in the fit.
    Correlations = "correlations",
    /// Correlations of observables outside the fit.
    OtherCorrelations = "other-correlations",
    /// Densities of single coordinates.
    Density = "density",
    /// Densities of pairs of coordinates.
    JointDensity = "joint-density",
    /// Power spectra.
    Spectrum = "spectrum",
    /// Mean passage times.
    Passage = "passage",
    /// Turns of angles per unit of time.
    Winding = "winding",
    /// Mean and variance by phase of a cycle.
    Climatology = "climatology",
    /// Simulations that leave the support of the samples.
    OutOfSupport = "out-of-support",
    /// Simulations that diverge.
    Unstable = "unstable",
    /// A diffusion that is not positive where the model is simulated.
    Indefinite = "indefinite",
    /// Simulations far beyond the range of the samples.
    RolloutRange = "rollout-range",
    /// Variances of simulations that are not those of the data.
    Variance = "variance",
    /// Increments that the drift explains worse than none.
    DriftIncrements = "drift-increments",
    /// Next samples that do not follow the transition law of the model.
    Transitions = "transitions",
    /// Equations that the fit of the mobility does not meet.
    Misfit = "misfit",
    /// A step of the simulations whose error is not known to be small.
    Step = "step",
    /// A part of the fit in the place of one that could not be done.
    Fallback = "fallback",
    /// A part of the results that could not be computed.
    Missing = "missing",
}

impl fmt::Display for FindingKind {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// One thing that was found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// Kind of the finding.
    pub kind: FindingKind,
    /// Severity.
    pub severity: Severity,
    /// What was found, with numbers.
    pub message: String,
    /// What to do about it.
    pub advice: String,
}

impl Finding {
    pub(crate) fn new(
        kind: FindingKind,
        severity: Severity,
        message: impl Into<String>,
        advice: impl Into<String>,
    ) -> Self {
        Self {
            kind,
            severity,
            message: message.into(),
            advice: advice.into(),
        }
    }
}

/// A number as messages show it: four significant digits.
pub(crate) fn digits(value: f64) -> String {
    let magnitude = value.abs().log10().floor();
    if value == 0.0 || !(-3.0..6.0).contains(&magnitude) {
        return if value == 0.0 {
            "0".into()
        } else {
            format!("{value:.3e}")
        };
    }
    format!("{value:.0$}", (3.0 - magnitude).max(0.0) as usize)
}
