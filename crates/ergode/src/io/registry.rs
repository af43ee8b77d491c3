//! The formats, by the extension of the file.

use std::path::Path;

use super::csv::Csv;
use super::format::Format;
use super::hdf5::Hdf5;
use super::netcdf::NetCdf;
use super::npy::Npy;
use super::npz::Npz;
use super::parquet::Parquet;
use super::zarr::{Zarr, is_zarr};
use crate::error::{Error, Result};

/// All known formats.
fn formats() -> &'static [&'static dyn Format] {
    &[&Npz, &Npy, &Csv, &Parquet, &NetCdf, &Hdf5, &Zarr]
}

/// The format that the extension of a path names.
pub(crate) fn format_of(path: &Path) -> Result<&'static dyn Format> {
    let extension = path
        .extension()
        .map(|e| e.to_string_lossy().to_ascii_lowercase())
        .unwrap_or_default();
    let known = |format: &&&dyn Format| format.extensions().contains(&extension.as_str());
    formats().iter().find(known).copied().ok_or_else(|| {
        let known: Vec<String> = formats()
            .iter()
            .flat_map(|format| format.extensions())
            .map(|extension| format!(".{extension}"))
            .collect();
        let problem = if extension.is_empty() {
            "has no extension".to_owned()
        } else {
            format!("has the unknown extension .{extension}")
        };
        Error::file(
            path,
            format!("{problem}; the known ones are {}", known.join(", ")),
        )
    })
}

/// The format of a file that exists, also of a Zarr folder under any name.
pub(crate) fn format_for(path: &Path) -> Result<&'static dyn Format> {
    if is_zarr(path) {
        Ok(&Zarr)
    } else {
        format_of(path)
    }
}
