//! Trajectories in memory and on disk.
//!
//! An [`Ensemble`] holds checked trajectories with shared storage, in memory or in a large file;
//! [`read_ensemble`] and [`write_ensemble`] move it to and from files, by the extension of the file;
//! [`convert_ensemble`] does both without holding it in memory.

mod atomic;
mod blosc;
mod boxes;
mod change;
mod codec;
mod convert;
mod csv;
mod date;
mod ensemble;
mod facts;
mod files;
mod fingerprint;
mod format;
mod grid;
mod grid_roles;
mod grid_write;
mod hdf5;
mod hdf5_write;
mod layout;
mod netcdf;
mod netcdf_header;
mod netcdf_write;
mod npy;
mod npy_dtype;
mod npy_header;
mod npz;
mod npz_write;
mod parquet;
mod rows;
mod scan;
mod shared;
mod split;
mod standardise;
mod storage;
mod stored;
mod stream;
mod support;
mod table;
mod trajectory;
mod zarr;

pub(crate) use atomic::AtomicFile;
pub use convert::{Converted, convert_ensemble};
pub use ensemble::{BurnIn, Ensemble, Segment, Units};
pub(crate) use fingerprint::checksum;
pub use format::{ReadOptions, read_ensemble, read_ensemble_watched, write_ensemble};
pub use npz::write_arrays;
pub use shared::SharedRows;
pub use standardise::Standardiser;
pub use stored::StoredRows;
pub(crate) use stream::RowStream;
pub use support::Support;
pub use trajectory::{Times, Trajectory, Values};
