//! Effective Langevin equations from time series.
mod error;
pub use error::{Error, Result};
