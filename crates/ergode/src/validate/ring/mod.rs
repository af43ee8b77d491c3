//! A ring of sites: space-time correlations and densities of several closures, compared with data.

mod result;
mod statistics;

pub use result::{RingCompareConfig, RingComparison, RingErrors, RingRollout};

use self::statistics::{Ring, window};
use super::{Rollout, RolloutRole};
use crate::control::Control;
use crate::data::Ensemble;
use crate::error::{Error, Result};

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
    let samples = |rollout: &Rollout| rollout.ensemble.samples();
    let shortest = rollouts.iter().map(samples).min().unwrap_or(data.samples());
    let longer = (data.samples() as f64 / shortest as f64).max(1.0);
    let squares = errors.iter().map(|error| (1.0 + longer) * error * error);
    let block_floor = ring.errors(&ring.grouped(squares));
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
                "{name}: {dim} coordinates do not match a ring of {} sites with {} coordinates in the \
                 data; give records of one ring, ordered site by site, and its number of sites",
                config.sites,
                data.dim()
            )));
        }
        let own = ensemble.sampling_interval().ok_or_else(|| {
            Error::input(format!(
                "{name}: sampling is uneven; interpolate to one interval first"
            ))
        })?;
        let first = *interval.get_or_insert(own);
        if (own / first - 1.0).abs() > 1e-6 {
            return Err(Error::input(format!(
                "{name} has sampling interval {own} and the data {first}; rings are compared sample by \
                 sample, so save rollouts at the interval of the data, or thin one of the two"
            )));
        }
    }
    Ok(interval.expect("the data"))
}

/// The errors in units of those of the reference run, or of the `block_floor` without one.
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
