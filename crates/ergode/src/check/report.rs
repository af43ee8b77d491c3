//! Report of the pre-flight check.

use serde::{Deserialize, Serialize};

use crate::finding::{Finding, Verdict};

/// Statistics of one coordinate of the record.
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
    /// Last lag with a usable autocorrelation.
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
