//! A ring of sites: the space-time correlations and densities of several closures beside the data.

mod statistics;

use ndarray::{Array2, Array4};
use serde::{Deserialize, Serialize};

use self::statistics::Ring;
use super::curves::Comparison;
use super::{Rollout, RolloutRole};
use crate::control::Control;
use crate::data::Ensemble;
use crate::error::{Error, Result};
use crate::lagged::Blocking;

/// What [`compare_rings`] looks at.
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

/// What is known of one rollout on a ring.
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
    /// How far C_cd(r, t) is from that of the data.
    pub error: RingErrors,
    /// Standard errors of `error` by the sampling of the rollout, the data being as they are.
    pub standard_error: RingErrors,
    /// `error.total` over that of the reference run, or over the floor of the blocks where there is none.
    pub error_over_floor: f64,
    /// Its standard error.
    pub error_over_floor_error: f64,
    /// Its first samples without a gap, (time, coordinate).
    pub window: Array2<f64>,
}

/// Rollouts on a ring compared with data; see [`compare_rings`].
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
    /// The error of a second record like the data, from the blocks of these: √(2 ⟨σ²⟩).
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

/// Compare rollouts of several closures on a ring of sites with data.
///
/// Compared are the translation-averaged correlations
/// C_cd(r, t) = (1/N) Σ_i ⟨z_{i,c}(t) z_{i+r,d}(0)⟩ of z = (m − mean)/scale, with the means and
/// standard deviations of the components of the data for all records, and densities over all sites. A
/// rollout with [`RolloutRole::Reference`], an independent run of the system of the length of the other
/// rollouts, is the noise floor: its error holds the noise of the data and of a rollout.
///
/// # Errors
/// When dimensions are not those of the ring, records are sampled at uneven or different intervals, some
/// are shorter than the longest lag, or the work is stopped.
pub fn compare_rings(
    data: &Ensemble,
    rollouts: &[Rollout],
    config: &RingCompareConfig,
    control: &Control,
) -> Result<RingComparison> {
    let interval = common_interval(data, rollouts, config)?;
    let ring = Ring::new(data, interval, config)?;
    let sums = ring.statistics(data, control)?;
    let curves = sums.jackknife(|sums| ring.correlations(sums))?;
    let errors = curves.errors();
    let matrix = sums.total().correlation(ring.matrix_lag);
    let mut compared: Vec<RingRollout> = rollouts
        .iter()
        .map(|rollout| ring.rollout(rollout, &curves, control))
        .collect::<Result<_>>()?;
    let block_floor = ring.errors(&ring.grouped(errors.iter().map(|error| 2.0 * error * error)));
    let reference = rollouts
        .iter()
        .position(|rollout| rollout.role == RolloutRole::Reference);
    relate(&mut compared, reference, block_floor.total);
    let [marginals, joints, neighbours] = ring.densities(data, rollouts, control)?;
    let (correlations, correlation_errors) = (ring.array(curves.values), ring.array(errors));
    Ok(RingComparison {
        coordinates: data.names().to_vec(),
        components: ring.names,
        sampling_interval: interval,
        matrix_time: ring.lags[ring.matrix_lag],
        lags: ring.lags,
        mean: ring.scales.mean,
        scale: ring.scales.scale,
        correlations,
        correlation_errors,
        matrix,
        block_floor,
        reference,
        rollouts: compared,
        marginals,
        joints,
        neighbours,
        window: window(data, config.window),
        config: config.clone(),
    })
}

/// The interval of the data, where it is that of every rollout and dimensions are those of the ring.
fn common_interval(
    data: &Ensemble,
    rollouts: &[Rollout],
    config: &RingCompareConfig,
) -> Result<f64> {
    let named = rollouts.iter().map(|r| (r.name.as_str(), &r.ensemble));
    let mut interval = None;
    for (name, ensemble) in [("the data", data)].into_iter().chain(named) {
        let dim = ensemble.dim();
        if dim != data.dim() || config.sites == 0 || !dim.is_multiple_of(config.sites) {
            return Err(Error::input(format!(
                "{name}: {dim} coordinates are not those of the {} sites of the ring, {} in the data; \
                 give records of one ring, ordered site by site, and its number of sites",
                config.sites,
                data.dim()
            )));
        }
        let own = ensemble.sampling_interval().ok_or_else(|| {
            Error::input(format!(
                "{name}: samples are not evenly spaced in time; interpolate to one interval first"
            ))
        })?;
        let first = *interval.get_or_insert(own);
        if (own / first - 1.0).abs() > 1e-6 {
            return Err(Error::input(format!(
                "{name} has a sample every {own} and the data every {first}; rings are compared sample \
                 by sample, so save rollouts at the interval of the data, or thin one of them"
            )));
        }
    }
    Ok(interval.expect("the data"))
}

/// The errors in units of those of the reference run, or of the `block_floor` where there is none.
fn relate(rollouts: &mut [RingRollout], reference: Option<usize>, block_floor: f64) {
    let floor = match reference {
        Some(k) => (rollouts[k].error.total, rollouts[k].standard_error.total),
        None => (block_floor, 0.0),
    };
    for (k, rollout) in rollouts.iter_mut().enumerate() {
        let (error, own) = (rollout.error.total, rollout.standard_error.total);
        let ratio = error / floor.0;
        rollout.error_over_floor = ratio;
        // The reference run is one by definition.
        rollout.error_over_floor_error = if reference == Some(k) {
            0.0
        } else {
            ratio * (own / error).hypot(floor.1 / floor.0)
        };
    }
}

/// The first samples without a gap, (time, coordinate).
fn window(ensemble: &Ensemble, rows: usize) -> Array2<f64> {
    let segment = &ensemble.segments()[0];
    let trajectory = &ensemble.trajectories()[segment.trajectory];
    let mut values = Array2::zeros((rows.min(segment.rows.len()), ensemble.dim()));
    for (row, mut out) in segment.rows.clone().zip(values.rows_mut()) {
        trajectory.row(row, out.as_slice_mut().expect("row-major"));
    }
    values
}
