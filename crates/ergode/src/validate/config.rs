//! Options of a validation.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result, require_positive};
use crate::lagged::Blocking;

/// Options of a validation. With the defaults and 16 blocks, 3 of 120 perfect models did not pass.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ValidateConfig {
    /// Observables φ_m of the correlations that a fit used, as expressions; by default the
    /// monomials of degree 1 to 3 (up to 3 coordinates), 1 to 2 (up to 6), or coordinates and squares.
    pub observables: Vec<String>,
    /// Observables that a fit did not use, as expressions; by default fourth powers, tanh
    /// and a smooth step of the standardised coordinates.
    pub other_observables: Vec<String>,
    /// Longest lag; by default four times the longest decorrelation time of a coordinate.
    pub horizon: Option<f64>,
    /// Number of lags, the one at zero included.
    pub lags: usize,
    /// Most correlation curves of a family; those of neighbouring coordinates come first.
    pub channels: usize,
    /// Bins of a marginal density.
    pub bins: usize,
    /// Bins of a joint density along each of its axes.
    pub joint_bins: usize,
    /// Most joint densities; they are of consecutive coordinates.
    pub joints: usize,
    /// Points of a power spectrum, equally spaced on a logarithmic scale.
    pub frequencies: usize,
    /// Passages are between the states below and above these quantiles of a coordinate.
    pub quantiles: [f64; 2],
    /// Draws of the sampling error that the noise floors are made of.
    pub draws: usize,
    /// Seed of these draws.
    pub seed: u64,
    /// The units of the standard errors.
    pub blocking: Blocking,
    /// Probability by chance below which a distance is significant, over all distances that are judged
    /// together (Bonferroni).
    pub false_alarm: f64,
    /// Significant distances below this many noise floors are only information.
    pub warn_floors: f64,
    /// Significant distances from this many noise floors on are failures.
    pub fail_floors: f64,
}

impl Default for ValidateConfig {
    fn default() -> Self {
        Self {
            observables: Vec::new(),
            other_observables: Vec::new(),
            horizon: None,
            lags: 41,
            channels: 200,
            bins: 32,
            joint_bins: 16,
            joints: 6,
            frequencies: 32,
            quantiles: [0.1, 0.9],
            draws: 1024,
            seed: 0,
            blocking: Blocking::Auto,
            false_alarm: 0.01,
            warn_floors: 1.5,
            fail_floors: 3.0,
        }
    }
}

impl ValidateConfig {
    pub(crate) fn validate(&self) -> Result<()> {
        if let Some(horizon) = self.horizon {
            require_positive("the horizon", horizon)?;
        }
        let least = [
            ("lags", self.lags, 2),
            ("channels", self.channels, 1),
            ("bins", self.bins, 2),
            ("joint_bins", self.joint_bins, 2),
            ("frequencies", self.frequencies, 2),
            ("draws", self.draws, 64),
        ];
        if let Some((name, value, least)) = least.iter().find(|(_, value, least)| value < least) {
            return Err(Error::input(format!(
                "{name} = {value} is too small for a validation; set it to {least} or more"
            )));
        }
        let [low, high] = self.quantiles;
        if !(0.0 < low && low < high && high < 1.0) {
            return Err(Error::input(format!(
                "the quantiles of passages are {low} and {high}; give two increasing numbers \
                 between 0 and 1"
            )));
        }
        Ok(())
    }
}
