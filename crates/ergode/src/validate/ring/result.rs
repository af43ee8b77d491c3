//! Options and results of the comparison of rings.

use ndarray::{Array2, Array4};
use serde::{Deserialize, Serialize};

use crate::lagged::Blocking;
use crate::validate::curves::Comparison;
use crate::validate::rollout::RolloutRole;

/// Options of [`compare_rings`](crate::validate::compare_rings).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RingCompareConfig {
    /// Number N of sites; coordinates are ordered site by site.
    pub sites: usize,
    /// Longest lag of the correlations.
    pub longest_lag: f64,
    /// Number of lags, the one at zero included; about as many, since lags are whole numbers of samples.
    pub lags: usize,
    /// The correlations of all coordinates are kept at the lag nearest to this time.
    pub matrix_time: f64,
    /// Samples that statistics begin from; longer records are sub-sampled to about as many.
    pub starts: usize,
    /// Bins of the density of a component.
    pub bins: usize,
    /// Bins of a joint density along each of its axes.
    pub joint_bins: usize,
    /// Largest distance of sites whose joint densities are compared.
    pub separations: usize,
    /// Samples of each record that are kept as they are, to be drawn in space and time.
    pub window: usize,
    /// Draws of the sampling error that the noise floors of the densities are made of.
    pub draws: usize,
    /// Seed of these draws.
    pub seed: u64,
    /// The units of the standard errors.
    pub blocking: Blocking,
}

impl Default for RingCompareConfig {
    /// A ring of the paper's twelve spins.
    fn default() -> Self {
        Self {
            sites: 12,
            longest_lag: 5.0,
            lags: 60,
            matrix_time: 1.0,
            starts: 100_000,
            bins: 48,
            joint_bins: 24,
            separations: 3,
            window: 275,
            draws: 512,
            seed: 0,
            blocking: Blocking::Auto,
        }
    }
}

/// Root mean squares of C_cd(r, t), or of a difference of two, over what is not named.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RingErrors {
    /// At every lag, over components and separations.
    pub by_time: Vec<f64>,
    /// At every distance min(r, N − r) from 0, over components and lags.
    pub by_distance: Vec<f64>,
    /// Over everything.
    pub total: f64,
}

/// Errors of one rollout on a ring.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RingRollout {
    /// Name of the model.
    pub name: String,
    /// What it is.
    pub role: RolloutRole,
    /// Number of trajectories.
    pub trajectories: usize,
    /// Number of samples.
    pub samples: usize,
    /// C_cd(r, t), (lag, c, d, r).
    pub correlations: Array4<f64>,
    /// Their standard errors.
    pub correlation_errors: Array4<f64>,
    /// Correlations of all coordinates at the time of the matrices, (later, earlier).
    pub matrix: Array2<f64>,
    /// Difference of C_cd(r, t) from that of the data.
    pub error: RingErrors,
    /// Standard errors of `error` by the sampling of the rollout, the data being as they are.
    pub standard_error: RingErrors,
    /// `error.total` over that of the reference run, or over the floor of the blocks without one.
    pub error_over_floor: f64,
    /// Its standard error.
    pub error_over_floor_error: f64,
    /// Its first samples without a gap, (time, coordinate).
    pub window: Array2<f64>,
}

/// Rollouts on a ring compared with data; see [`compare_rings`](crate::validate::compare_rings).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RingComparison {
    /// Names of the coordinates, site by site.
    pub coordinates: Vec<String>,
    /// Names of the components of a site.
    pub components: Vec<String>,
    /// The interval between samples.
    pub sampling_interval: f64,
    /// The lags t.
    pub lags: Vec<f64>,
    /// Mean of each component of the data over all sites.
    pub mean: Vec<f64>,
    /// Standard deviation of each component of the data over all sites.
    pub scale: Vec<f64>,
    /// C_cd(r, t) of the data, (lag, c, d, r).
    pub correlations: Array4<f64>,
    /// Their standard errors.
    pub correlation_errors: Array4<f64>,
    /// The lag of the matrices.
    pub matrix_time: f64,
    /// Correlations of all coordinates of the data at this lag, (later, earlier).
    pub matrix: Array2<f64>,
    /// The error of an independent record as long as the shortest rollout, but no longer than the data, from
    /// the blocks of these: √((1 + n_data/n_rollout) ⟨σ²⟩).
    pub block_floor: RingErrors,
    /// The rollout whose errors are the noise floor: the first with [`RolloutRole::Reference`].
    pub reference: Option<usize>,
    /// The rollouts, in the order in which they were given.
    pub rollouts: Vec<RingRollout>,
    /// Densities of the components, over all sites.
    pub marginals: Comparison,
    /// Joint densities of the components of a site.
    pub joints: Comparison,
    /// Joint densities of a component at two sites, by distance.
    pub neighbours: Comparison,
    /// The first samples of the data without a gap, (time, coordinate).
    pub window: Array2<f64>,
    /// The configuration.
    pub config: RingCompareConfig,
}
