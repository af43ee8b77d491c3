//! The response of a model to a kick.

use ndarray::Array2;
use serde::{Deserialize, Serialize};

use crate::control::Control;
use crate::error::{Error, Result};
use crate::model::{LangevinModel, simulate_model_from, simulation_protocol};

/// The change of the mean state after a kick.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KickResponse {
    /// Times after the kick.
    pub times: Vec<f64>,
    /// Change of the mean of each coordinate, (time, coordinate).
    pub mean: Array2<f64>,
    /// Its standard error.
    pub stderr: Array2<f64>,
}

/// The change of ⟨x(t)⟩ when every state is moved by `kick` at time zero: pairs of trajectories from the start states
/// of the model, with and without the kick, and the same random numbers.
///
/// # Errors
/// When the kick has another number of coordinates, trajectories diverge, or the work is stopped.
pub fn respond(
    model: &LangevinModel,
    kick: &[f64],
    (time, save_every): (f64, Option<f64>),
    trajectories: usize,
    seed: u64,
    control: &Control,
) -> Result<KickResponse> {
    let dim = model.dim();
    if kick.len() != dim || kick.iter().any(|h| !h.is_finite()) {
        return Err(Error::input(format!(
            "a kick of {} numbers; give one finite number for each of the {dim} coordinates",
            kick.len()
        )));
    }
    if trajectories < 2 {
        return Err(Error::input("a response needs at least 2 trajectories"));
    }
    let mut protocol =
        simulation_protocol(model, time, None, save_every, trajectories, seed, control)?;
    protocol.time *= 1.0 + 1e-9;
    let every = model.starts().nrows();
    let starts = Array2::from_shape_fn((trajectories, dim), |(k, i)| {
        // Spread over the start states.
        model.starts()[[(k * every / trajectories.min(every)) % every, i]]
    });
    let moved = Array2::from_shape_fn((trajectories, dim), |(k, i)| starts[[k, i]] + kick[i]);
    let plain = simulate_model_from(model, starts, &protocol, control)?.simulation;
    let kicked = simulate_model_from(model, moved, &protocol, control)?.simulation;
    if let Some(failure) = plain.failures.iter().chain(&kicked.failures).next() {
        return Err(Error::numerical(failure.to_string()));
    }
    let samples = plain.ensemble.trajectories()[0].len();
    let (mut sum, mut square) = (
        Array2::<f64>::zeros((samples, dim)),
        Array2::<f64>::zeros((samples, dim)),
    );
    let (mut a, mut b) = (vec![0.0; dim], vec![0.0; dim]);
    let pairs = plain
        .ensemble
        .trajectories()
        .iter()
        .zip(kicked.ensemble.trajectories());
    for (plain, kicked) in pairs {
        for t in 0..samples {
            plain.row(t, &mut a);
            kicked.row(t, &mut b);
            for i in 0..dim {
                let change = b[i] - a[i];
                sum[[t, i]] += change;
                square[[t, i]] += change * change;
            }
        }
    }
    let count = trajectories as f64;
    let mean = sum / count;
    let variance = (square / count - &mean * &mean).mapv(|v: f64| v.max(0.0));
    Ok(KickResponse {
        times: (0..samples)
            .map(|k| k as f64 * protocol.save_every)
            .collect(),
        stderr: variance.mapv(|v| (v / (count - 1.0)).sqrt()),
        mean,
    })
}
