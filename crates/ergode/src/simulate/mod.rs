//! Trajectories of an Itô equation: integrators and ensembles.

mod ensemble;
mod platen;
mod sde;
mod tiles;

pub use ensemble::{
    Failure, Initial, SimulateConfig, Simulation, simulate_ensemble, simulate_to_file,
};
pub use sde::{Dimensions, Dynamics, Scheme, Sde};
pub(crate) use tiles::{TileDynamics, advance_tiles};
