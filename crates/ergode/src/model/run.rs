//! Simulations of a model.

use ndarray::Array2;
use rayon::prelude::*;

use super::LangevinModel;
use crate::control::Control;
use crate::data::{States, Trajectory};
use crate::error::Result;
use crate::random::{Purpose, Stream};
use crate::simulate::{Initial, SimulateConfig, Simulation, simulate_ensemble};

/// The outcome of a simulation of a model.
#[derive(Clone, Debug)]
pub struct ModelRun {
    /// The trajectories, and those that failed.
    pub simulation: Simulation,
    /// Fraction of the saved samples outside the support of the data.
    pub out_of_support: f64,
    /// Fraction of the saved samples where D was not positive definite, so that the noise used the
    /// nearest positive matrix.
    pub indefinite: f64,
}

/// Simulate a model from its start states.
///
/// Each trajectory chooses its start and its noise by its own streams, so that two models with the same
/// starts and the same seed see the same numbers; reference data of the same seed have others. The result
/// does not depend on the number of threads.
///
/// # Errors
/// When the configuration is not consistent or every trajectory fails.
pub fn simulate_model(
    model: &LangevinModel,
    config: &SimulateConfig,
    control: &Control,
) -> Result<ModelRun> {
    let draw = |stream: &mut Stream, x: &mut [f64]| model.draw_start(stream, x);
    simulate_from(model, &Initial::Drawn(&draw), config, control)
}

/// Simulate a model from given states, (trajectory, coordinate), otherwise as [`simulate_model`].
///
/// # Errors
/// As [`simulate_model`], and when there is not one state for each trajectory.
pub fn simulate_model_from(
    model: &LangevinModel,
    starts: Array2<f64>,
    config: &SimulateConfig,
    control: &Control,
) -> Result<ModelRun> {
    simulate_from(model, &Initial::Given(starts), config, control)
}

fn simulate_from(
    model: &LangevinModel,
    initial: &Initial,
    config: &SimulateConfig,
    control: &Control,
) -> Result<ModelRun> {
    let equation = model.equation();
    let config = SimulateConfig {
        seed: Stream::new(config.seed, Purpose::Rollout, 0).next_u64(),
        ..config.clone()
    };
    let mut simulation = simulate_ensemble(&*equation, initial, &config, control)?;
    let named = simulation.ensemble.with_names(model.names().to_vec())?;
    simulation.ensemble = model.space().wrap(named)?;
    let trajectories = simulation.ensemble.trajectories();
    let counted = trajectories.par_iter().map(|t| count(model, t, control));
    let counts = counted.collect::<Result<Vec<[usize; 3]>>>()?;
    let sum = |k: usize| counts.iter().map(|count| count[k]).sum::<usize>() as f64;
    let samples = sum(0);
    Ok(ModelRun {
        out_of_support: sum(1) / samples,
        indefinite: sum(2) / samples,
        simulation,
    })
}

/// Finite samples, those outside the support, those where D is not positive definite.
fn count(model: &LangevinModel, trajectory: &Trajectory, control: &Control) -> Result<[usize; 3]> {
    const TILE: usize = 256;
    let (mut states, mut tensors) = (States::default(), Vec::new());
    let mut counts = [0; 3];
    let finite: Vec<usize> = (0..trajectory.len())
        .filter(|i| !trajectory.is_gap(*i))
        .collect();
    for rows in finite.chunks(TILE) {
        states.pick(trajectory, rows.iter().copied());
        tensors.resize(model.dim() * states.len(), 0.0);
        counts[0] += rows.len();
        counts[1] += model.out_of_support(&states);
        counts[2] += model.indefinite(&states, &mut tensors);
        control.advance(0)?;
    }
    Ok(counts)
}
