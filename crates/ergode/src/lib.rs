//! Effective Langevin equations from time series.
mod data;
mod error;
pub use data::{
    BurnIn, Ensemble, Format, ReadOptions, Segment, Standardiser, Times, Trajectory, Values,
    formats, read_ensemble, write_ensemble,
};
pub use error::{Error, Result};
