//! Trajectories of an Itô equation: integrators and ensembles.

mod ensemble;
mod platen;
mod scheme;
mod sde;
mod tiles;

pub use ensemble::{
    Failure, Initial, SimulateConfig, Simulation, simulate_ensemble, simulate_to_file,
};
pub use scheme::{Dimensions, Scheme};
pub use sde::{Dynamics, Sde};
pub(crate) use tiles::{TileDynamics, advance_tiles};
