//! Trajectories of an Itô equation: integrators, ensembles, random streams.

mod ensemble;
mod lanes;
mod platen;
mod random;
mod sde;
mod tiles;

pub use ensemble::{
    Failure, Initial, SimulateConfig, Simulation, simulate_ensemble, simulate_to_file,
};
pub use lanes::Real;
pub(crate) use lanes::{AlignedBuffer, Lanes};
pub use random::{Purpose, Stream};
pub use sde::{Dimensions, Dynamics, GROUP, Scheme, Sde};
pub(crate) use tiles::{TileDynamics, advance_tiles};
