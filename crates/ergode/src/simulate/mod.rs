//! Trajectories of an Itô equation: integrators, ensembles, random streams.

mod ensemble;
mod lanes;
mod random;
mod sde;

pub use ensemble::{
    Failure, Initial, SimulateConfig, Simulation, simulate_ensemble, simulate_to_file,
};
pub use lanes::Real;
pub(crate) use lanes::{AlignedBuffer, Lanes};
pub use random::{Purpose, Stream};
pub use sde::{Dimensions, Dynamics, GROUP, Scheme, Sde};
