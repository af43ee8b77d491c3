//! What the pre-flight check says.

use serde::{Deserialize, Serialize};

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Good to know.
    Info,
    /// A fit may be biased; the advice says what to do.
    Warn,
    /// A fit would not be worth its name.
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

/// One thing that was found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// "data", "uneven-sampling", "gaps", "short-record", "coarse-sampling", "trend", "nonstationary", "cycle", "noise",
    /// "non-markov", "duplicate" or "usable-lags"; of an observation "observation", "cycle-dynamics" or
    /// "delays"; of a score "identities", "few-data", "resampling" or
    /// "refused".
    pub kind: String,
    /// How much it matters.
    pub severity: Severity,
    /// What was found, with its figures.
    pub message: String,
    /// What to do.
    pub advice: String,
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

impl Finding {
    pub(crate) fn new(
        kind: &str,
        severity: Severity,
        message: impl Into<String>,
        advice: impl Into<String>,
    ) -> Self {
        Self {
            kind: kind.into(),
            severity,
            message: message.into(),
            advice: advice.into(),
        }
    }
}

/// What the record says about one coordinate.
///
/// Times and correlations are those of the record without the trend and the cycles that were found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CoordinateReport {
    /// Its name.
    pub name: String,
    /// Mean over all samples.
    pub mean: f64,
    /// Standard deviation over all samples.
    pub std: f64,
    /// First lag at which the autocorrelation is below the threshold; none if it never is.
    pub decorrelation_time: Option<f64>,
    /// τ_int = ∫ ρ(t) dt; none where the record has no lags.
    pub integrated_time: Option<f64>,
    /// N Δ / (2 τ_int), at most N.
    pub effective_samples: f64,
    /// Last lag at which the autocorrelation still tells something.
    pub usable_lag: Option<f64>,
    /// Lag, autocorrelation ρ and its standard error.
    pub autocorrelation: Vec<[f64; 3]>,
}

/// The outcome of [`check_ensemble`](crate::check_ensemble).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CheckReport {
    /// Time between samples, the mean one where sampling is uneven.
    pub sampling_interval: f64,
    /// True where all samples are equally spaced.
    pub even_sampling: bool,
    /// Number of complete samples.
    pub samples: usize,
    /// Number of trajectories.
    pub trajectories: usize,
    /// One entry per coordinate.
    pub coordinates: Vec<CoordinateReport>,
    /// First and last lag, in units of time, that a fit should use.
    pub usable_lags: [f64; 2],
    /// Everything found, the worst first.
    pub findings: Vec<Finding>,
    /// The worst severity.
    pub verdict: Verdict,
}

impl CheckReport {
    /// Order the findings and draw the verdict.
    pub(super) fn conclude(mut self) -> Self {
        self.findings.sort_by_key(|f| std::cmp::Reverse(f.severity));
        self.verdict = Verdict::of(&self.findings);
        self
    }
}
