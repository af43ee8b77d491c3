//! Effective Langevin equations from time series.

mod control;
mod data;
mod error;
mod linalg;
mod simulate;
mod systems;

pub use control::Control;
pub use data::{
    BurnIn, Ensemble, Format, ReadOptions, Segment, Standardiser, Times, Trajectory, Values,
    formats, read_ensemble, write_ensemble,
};
pub use error::{Error, Result};
pub use simulate::{
    Dimensions, Dynamics, Failure, GROUP, Initial, Purpose, Real, Scheme, Sde, SimulateConfig,
    Simulation, Stream, simulate_ensemble, simulate_to_file,
};
pub use systems::{
    Affine2d, Affine2dReference, CoxIngersollRoss, DoubleWell, ExactFields, Function,
    GalerkinReference, Grid1d, Grid2d, OrnsteinUhlenbeck, OrnsteinUhlenbeckParameters, Protocol,
    SYSTEMS, SoftSpin, SoftSpinMoments, Spacing, System, SystemEntry, Transition, generate,
    system_by_name,
};
