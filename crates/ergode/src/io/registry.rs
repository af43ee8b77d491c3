//! The formats, by the extension of the file.

use std::path::Path;

use super::csv::Csv;
use super::format::Format;
#[cfg(feature = "hdf5")]
use super::hdf5::Hdf5;
use super::kind::is_zarr;
#[cfg(feature = "netcdf")]
use super::netcdf::NetCdf;
use super::npy::Npy;
use super::npz::Npz;
#[cfg(feature = "parquet")]
use super::parquet::Parquet;
#[cfg(feature = "zarr")]
use super::zarr::Zarr;
use crate::error::{Error, Result};

/// All formats that are built in.
fn formats() -> &'static [&'static dyn Format] {
    &[
        &Npz,
        &Npy,
        &Csv,
        #[cfg(feature = "parquet")]
        &Parquet,
        #[cfg(feature = "netcdf")]
        &NetCdf,
        #[cfg(feature = "hdf5")]
        &Hdf5,
        #[cfg(feature = "zarr")]
        &Zarr,
    ]
}

/// The feature of the crate that brings the format with this extension.
fn feature_of(extension: &str) -> Option<&'static str> {
    match extension {
        "parquet" | "pq" => Some("parquet"),
        "nc" | "nc4" | "cdf" => Some("netcdf"),
        "h5" | "hdf5" => Some("hdf5"),
        "zarr" => Some("zarr"),
        _ => None,
    }
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
        let problem = match feature_of(&extension) {
            Some(feature) => format!(
                "has the extension .{extension}, which this build does not support: build with the \
                 feature `{feature}`"
            ),
            None if extension.is_empty() => "has no extension".to_owned(),
            None => format!("has the unknown extension .{extension}"),
        };
        Error::file(
            path,
            format!("{problem}; supported extensions are {}", known.join(", ")),
        )
    })
}

/// The format of a file that exists, also of a Zarr folder under any name.
pub(crate) fn format_for(path: &Path) -> Result<&'static dyn Format> {
    match is_zarr(path) {
        true => format_of(Path::new("folder.zarr")),
        false => format_of(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_format_is_built_in_or_its_feature_is_named() {
        for extension in ["parquet", "nc", "h5", "zarr"] {
            let path = format!("a.{extension}");
            match (format_of(Path::new(&path)), feature_of(extension)) {
                (Ok(format), Some(_)) => assert!(format.extensions().contains(&extension)),
                (Err(error), Some(feature)) => assert!(error.to_string().contains(feature)),
                (_, None) => panic!("{extension} belongs to no feature"),
            }
        }
    }
}
