//! Trajectories in memory and on disk.
//!
//! An [`Ensemble`] holds checked trajectories with shared storage; [`read_ensemble`] and
//! [`write_ensemble`] move it to and from files, one [`Format`] per kind of file.

mod atomic;
mod csv;
mod ensemble;
mod fingerprint;
mod format;
mod npy;
mod npy_dtype;
mod npy_header;
mod npz;
mod npz_write;
mod scan;
mod shared;
mod split;
mod standardise;
mod stream;
mod support;
mod trajectory;

pub(crate) use atomic::AtomicFile;
pub use ensemble::{BurnIn, Ensemble, Segment};
pub(crate) use fingerprint::checksum;
pub use format::{Format, ReadOptions, formats, read_ensemble, write_ensemble};
pub use npz::write_arrays;
pub use shared::SharedRows;
pub use standardise::Standardiser;
pub(crate) use stream::NpyStream;
pub use support::Support;
pub use trajectory::{Times, Trajectory, Values};
