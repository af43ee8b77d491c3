//! Reading and writing trajectories in files.
//!
//! [`read_ensemble`] and [`write_ensemble`] choose the format by the extension of the file; [`convert_ensemble`]
//! goes from file to file without holding the data in memory. A format implements `Format` in a file or folder of
//! its name and is listed in `registry`.

mod array;
mod atomic;
#[cfg(any(feature = "parquet", feature = "zarr"))]
mod blosc;
#[cfg(any(feature = "netcdf", feature = "zarr"))]
mod boxes;
#[cfg(any(feature = "parquet", feature = "zarr"))]
mod codec;
mod convert;
mod csv;
mod date;
mod fault;
mod files;
mod format;
mod grid;
#[cfg(feature = "hdf5")]
mod hdf5;
mod json;
mod kind;
mod layout;
#[cfg(feature = "netcdf")]
mod netcdf;
mod npy;
mod npz;
mod options;
#[cfg(feature = "parquet")]
mod parquet;
mod read;
mod registry;
mod regular;
mod repeated;
mod rows;
mod stream;
mod table;
mod unpack;
mod write;
#[cfg(feature = "zarr")]
mod zarr;

pub(crate) use atomic::AtomicFile;
pub use convert::{Converted, convert_ensemble};
pub use date::date_of;
pub(crate) use json::from_json;
pub use npz::write_arrays;
pub use options::{ReadOptions, RepeatedTimes};
pub use read::read_ensemble;
pub(crate) use regular::{read_regular, read_sealed, refuse_irregular, write_sealed};
pub(crate) use rows::Block as RowBlock;
pub(crate) use stream::RowSource;
pub(crate) use write::RowStream;
pub use write::write_ensemble;
