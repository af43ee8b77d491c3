//! The kind of a file by its first bytes.

use std::fs::{self, File};
use std::io::{Read, Seek};
use std::path::Path;

use crate::error::{Error, Result};

/// The kinds of file that the first bytes identify.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Npy,
    Zip,
    Hdf5,
    NetCdf,
    Gzip,
    Parquet,
    Utf16,
    /// Bytes that do not occur in text, but no known magic number.
    Binary,
    /// Possibly text.
    Text,
    Empty,
}

impl Kind {
    fn of(start: &[u8]) -> Self {
        let magic = |bytes: &[u8]| start.starts_with(bytes);
        match () {
            () if start.is_empty() => Self::Empty,
            () if magic(b"\x93NUMPY") => Self::Npy,
            () if magic(b"PK\x03\x04") || magic(b"PK\x05\x06") => Self::Zip,
            () if magic(b"\x89HDF\r\n\x1a\n") => Self::Hdf5,
            () if magic(b"CDF\x01") || magic(b"CDF\x02") || magic(b"CDF\x05") => Self::NetCdf,
            () if magic(b"\x1f\x8b") => Self::Gzip,
            () if magic(b"PAR1") => Self::Parquet,
            () if magic(b"\xff\xfe") || magic(b"\xfe\xff") => Self::Utf16,
            () if start.iter().any(|&b| b < 9 || (14..32).contains(&b)) => Self::Binary,
            () => Self::Text,
        }
    }

    /// The kind of file and the remedy, in words.
    fn advice(self) -> &'static str {
        match self {
            Self::Npy => "a NumPy array; rename it to end in .npy",
            Self::Zip => "a zip archive; rename it to end in .npz if NumPy wrote it",
            Self::Hdf5 => "an HDF5 or NetCDF-4 file; rename it to end in .h5 or .nc",
            Self::NetCdf => "a classic NetCDF file; rename it to end in .nc",
            Self::Gzip => "compressed with gzip; unpack it with gunzip first",
            Self::Parquet => "a Parquet table; rename it to end in .parquet",
            Self::Utf16 => "text in UTF-16; save it as UTF-8",
            Self::Binary => {
                "binary data in an unknown format; export the data as .npz, .npy or .csv"
            }
            Self::Text => "text; rename it to end in .csv or .tsv if it is a table",
            Self::Empty => "an empty file; write it again",
        }
    }
}

/// Opens a file and refuses it unless its first bytes are of an `expected` kind.
pub(crate) fn open(path: &Path, expected: &[Kind]) -> Result<File> {
    let report = |error| Error::io(path, error);
    // Looked at before it is opened: opening a pipe waits for a writer.
    if !fs::metadata(path).map_err(report)?.is_file() {
        return Err(Error::file(
            path,
            "is a folder, a pipe or a device; give a regular file",
        ));
    }
    let file = File::open(path).map_err(report)?;
    let found = kind_of(path, &file)?;
    if !expected.contains(&found) {
        return Err(Error::file(
            path,
            format!(
                "content does not match its extension: it is {}",
                found.advice()
            ),
        ));
    }
    Ok(file)
}

/// The kind of a file by its first bytes.
pub(crate) fn kind_of(path: &Path, mut file: &File) -> Result<Kind> {
    let mut start = Vec::with_capacity(4096);
    let looked = file
        .take(4096)
        .read_to_end(&mut start)
        .and_then(|_| file.rewind());
    looked.map_err(|error| Error::io(path, error))?;
    Ok(Kind::of(&start))
}

/// True for a folder that holds a Zarr array or group.
pub(crate) fn is_zarr(path: &Path) -> bool {
    let marks = [".zgroup", ".zarray", "zarr.json"];
    marks.iter().any(|mark| path.join(mark).is_file())
}
