//! Thresholds of the pre-flight check.

use serde::{Deserialize, Serialize};

/// Thresholds of the pre-flight check; the defaults alarm falsely about once in a thousand records.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CheckConfig {
    /// The autocorrelation that counts as decorrelated.
    pub decorrelation_threshold: f64,
    /// Fewer decorrelation times than this in all are a failure.
    pub short_fail: f64,
    /// Fewer decorrelation times than this in all are a warning.
    pub short_warn: f64,
    /// A sampling interval above this fraction of the fastest decorrelation time is a warning.
    pub coarse_warn: f64,
    /// A sampling interval above this fraction of the fastest decorrelation time is a failure.
    pub coarse_fail: f64,
    /// Standard errors from which a trend or a difference between halves is significant.
    pub stationarity_z: f64,
    /// Trends and differences of the mean below this fraction of the standard deviation are only
    /// information, however significant.
    pub stationarity_size: f64,
    /// Probability of the Kolmogorov-Smirnov distance below which the law has changed.
    pub distribution_probability: f64,
    /// Probability with which noise alone shows a cycle in a coordinate.
    pub cycle_false_alarm: f64,
    /// Cycles with an amplitude below this fraction of the standard deviation are only information.
    pub cycle_amplitude: f64,
    /// Standard errors from which a violation of Chapman-Kolmogorov is significant.
    pub markov_z: f64,
    /// Size, as a fraction of the variance, from which a violation of Chapman-Kolmogorov counts;
    /// doubled for more than three coordinates, of which not all products are observed.
    pub markov_size: f64,
    /// Standard errors from which the jump of the autocovariance at lag 0 is significant.
    pub noise_z: f64,
    /// Fraction of the variance from which measurement noise counts.
    pub noise_fraction: f64,
    /// |correlation| above which two coordinates are duplicates.
    pub duplicate_correlation: f64,
    /// Eigenvalue of the correlation matrix below which coordinates are linearly dependent.
    pub duplicate_eigenvalue: f64,
}

impl Default for CheckConfig {
    fn default() -> Self {
        Self {
            decorrelation_threshold: 0.05,
            short_fail: 20.0,
            short_warn: 80.0,
            coarse_warn: 1.0 / 3.0,
            coarse_fail: 1.0,
            stationarity_z: 4.5,
            stationarity_size: 0.05,
            distribution_probability: 1e-5,
            cycle_false_alarm: 1e-4,
            cycle_amplitude: 0.05,
            markov_z: 5.0,
            markov_size: 0.05,
            noise_z: 5.0,
            noise_fraction: 0.005,
            duplicate_correlation: 0.999,
            duplicate_eigenvalue: 1e-6,
        }
    }
}
