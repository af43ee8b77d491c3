//! Reading and writing ensembles, by the extension of the file.

use std::fs::File;
use std::io::{Read, Seek};
use std::path::Path;

use super::csv::Csv;
use super::ensemble::Ensemble;
use super::files::{files_of, format_for, open_file, read_all};
use super::hdf5::Hdf5;
use super::layout::Layout;
use super::netcdf::NetCdf;
use super::npy::Npy;
use super::npz::Npz;
use super::parquet::Parquet;
use super::rows::{MemorySource, Sink, Source, collect, copy};
use super::stored::refuse_large;
use super::trajectory::Times;
use super::zarr::Zarr;
use crate::control::Control;
use crate::error::{Error, Result};

/// What a file does not say about itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReadOptions {
    /// The sampling interval of files without times.
    ///
    /// It is needed for such files, and must agree with the times of files that have them.
    pub dt: Option<f64>,
    /// The column of a table that tells the trajectories apart, where its name is not one of
    /// `trajectory`, `traj`, `id` and `run`.
    pub trajectory: Option<String>,
    /// The column of a table that holds the times, where its name is not `t` or `time`.
    pub time: Option<String>,
    /// The coordinates to take, by name and in this order; all where none is named.
    pub columns: Vec<String>,
    /// The array that holds the values, where a file of arrays has several and none is `x`.
    pub array: Option<String>,
    /// Bytes of values up to which a file is read into memory, 1 GiB where it is not said.
    ///
    /// A larger `.npy` file in C order stays on disk and is read piece by piece, with the same results;
    /// files of other kinds are read into memory up to four times as much, and refused beyond.
    pub memory: Option<u64>,
}

/// One kind of file that holds trajectories.
pub(super) trait Format: Sync {
    /// The extensions that choose this format, in lower case and without the dot.
    fn extensions(&self) -> &'static [&'static str];

    /// Opens a file to read its rows block by block.
    ///
    /// # Errors
    /// When the file cannot be read, is of another kind or is damaged; the message says where.
    fn open(&self, path: &Path, options: &ReadOptions) -> Result<Box<dyn Source>>;

    /// Begins a file, in place of one that exists once it is complete.
    ///
    /// # Errors
    /// When the file cannot be written or the format cannot hold what the layout says.
    fn create(&self, path: &Path, layout: &Layout) -> Result<Box<dyn Sink>>;

    /// True when blocks may be written in any order of trajectories and rows.
    fn takes_any_order(&self) -> bool {
        true
    }

    /// The least memory that a file of this many bytes takes.
    fn least_memory(&self, size: u64) -> u64 {
        size
    }

    /// Reads a file into memory, or leaves its rows there.
    ///
    /// # Errors
    /// As for [`Format::open`], and when its content does not make an [`Ensemble`].
    fn read(&self, path: &Path, options: &ReadOptions, control: &Control) -> Result<Ensemble> {
        collect(path, &mut *self.open(path, options)?, options, control)
    }

    /// Writes an ensemble that is in memory.
    ///
    /// # Errors
    /// As for [`Format::create`].
    fn write(&self, path: &Path, ensemble: &Ensemble) -> Result<()> {
        let sink = self.create(path, &Layout::of(ensemble))?;
        copy(&mut MemorySource::new(ensemble.clone()), sink)
    }
}

/// All known formats.
fn formats() -> &'static [&'static dyn Format] {
    &[&Npz, &Npy, &Csv, &Parquet, &NetCdf, &Hdf5, &Zarr]
}

/// Reads trajectories from a file whose extension names its format.
///
/// The path of a folder stands for the files in it, and one with `*` (any characters) or `?` (one
/// character) in its names for the files that it matches: together they are one ensemble, each
/// file one or more trajectories, in the order of their names. A Zarr folder is one file.
///
/// # Errors
/// When the extension is not known, a file cannot be read, is of another kind or is damaged, files
/// differ in their coordinates, or the content does not make an [`Ensemble`].
pub fn read_ensemble(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Ensemble> {
    read_ensemble_watched(path, options, &Control::new())
}

/// [`read_ensemble`] for large files: progress is told, and reading can be stopped.
///
/// # Errors
/// As for [`read_ensemble`], and when `control` asks to stop.
pub fn read_ensemble_watched(
    path: impl AsRef<Path>,
    options: &ReadOptions,
    control: &Control,
) -> Result<Ensemble> {
    let path = path.as_ref();
    let files = files_of(path)?;
    match &files[..] {
        [file] => read_file(file, options, control),
        _ => in_file(path, read_all(&files, options, control)),
    }
}

/// Reads one file, unless it is too large.
pub(super) fn read_file(file: &Path, options: &ReadOptions, control: &Control) -> Result<Ensemble> {
    let format = format_for(file)?;
    if let Ok(found) = file.metadata() {
        refuse_large(file, format.least_memory(found.len()), options.memory)?;
    }
    match options.columns.is_empty() {
        true => format.read(file, options, control),
        false => collect(file, &mut *open_file(file, options)?, options, control),
    }
}

/// Writes trajectories to a file whose extension names its format.
///
/// The file appears under its name only once it is complete.
///
/// # Errors
/// When the extension is not known, the file cannot be written, or the format cannot hold the ensemble.
pub fn write_ensemble(path: impl AsRef<Path>, ensemble: &Ensemble) -> Result<()> {
    let path = path.as_ref();
    format_of(path)?.write(path, ensemble)
}

pub(super) fn format_of(path: &Path) -> Result<&'static dyn Format> {
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

/// The kinds of file that can be told by their first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Npy,
    Zip,
    Hdf5,
    NetCdf,
    Gzip,
    Parquet,
    Utf16,
    /// Bytes that do not occur in text, but no known magic number.
    Binary,
    /// Nothing speaks against text.
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

    /// What the file is and what to do about it.
    fn advice(self) -> &'static str {
        match self {
            Self::Npy => "a NumPy array; rename it to end in .npy",
            Self::Zip => "a zip archive; rename it to end in .npz if NumPy wrote it",
            Self::Hdf5 => "an HDF5 or NetCDF-4 file; rename it to end in .h5 or .nc",
            Self::NetCdf => "a classic NetCDF file; rename it to end in .nc",
            Self::Gzip => "compressed with gzip; unpack it with gunzip first",
            Self::Parquet => "a Parquet table; rename it to end in .parquet",
            Self::Utf16 => "text in UTF-16; save it as UTF-8",
            Self::Binary => "binary data of an unknown kind; export it again as .npz, .npy or .csv",
            Self::Text => "text; rename it to end in .csv or .tsv if it is a table",
            Self::Empty => "an empty file; write it again",
        }
    }
}

/// Opens a file and refuses it unless its first bytes are of an `expected` kind.
pub(super) fn open(path: &Path, expected: &[Kind]) -> Result<File> {
    let report = |error| Error::io(path, error);
    let file = File::open(path).map_err(report)?;
    if !file.metadata().map_err(report)?.is_file() {
        return Err(Error::file(
            path,
            "is a folder or a device; give a regular file",
        ));
    }
    let found = kind_of(path, &file)?;
    if !expected.contains(&found) {
        return Err(Error::file(
            path,
            format!("is not what its name says, it is {}", found.advice()),
        ));
    }
    Ok(file)
}

/// What the first bytes of a file say it is.
pub(super) fn kind_of(path: &Path, mut file: &File) -> Result<Kind> {
    let mut start = Vec::with_capacity(4096);
    let looked = file
        .take(4096)
        .read_to_end(&mut start)
        .and_then(|_| file.rewind());
    looked.map_err(|error| Error::io(path, error))?;
    Ok(Kind::of(&start))
}

/// Puts the name of the file in front of a complaint about its content.
pub(super) fn in_file<T>(path: &Path, result: Result<T>) -> Result<T> {
    result.map_err(|error| match error.is_interrupted() {
        true => error,
        false => Error::file(path, error.to_string()),
    })
}

/// The sampling interval of a file without times of its own; `None` where it has them.
pub(super) fn step_of(path: &Path, has_times: bool, dt: Option<f64>) -> Result<Option<f64>> {
    match dt {
        _ if has_times => Ok(None),
        Some(step) => Ok(Some(step)),
        None => Err(Error::file(
            path,
            "has no times; give the sampling interval dt, or name the column that holds them",
        )),
    }
}

/// The error for times that are not `dt` apart.
pub(super) fn contradiction(trajectory: usize, dt: f64, problem: &str) -> Error {
    Error::input(format!(
        "trajectory {trajectory} (counted from 0): dt = {dt:?} was given but {problem}; \
         leave dt out or correct it"
    ))
}

/// Refuses a `dt` that contradicts the times of a file.
///
/// The times may be rounded, so agreement is asked for to one part in a million.
pub(super) fn check_dt(path: &Path, ensemble: &Ensemble, dt: Option<f64>) -> Result<()> {
    let Some(dt) = dt else { return Ok(()) };
    for (k, trajectory) in ensemble.trajectories().iter().enumerate() {
        let problem = match trajectory.times() {
            Times::Uneven(times) if times.len() == 1 => continue,
            Times::Uneven(_) => "the times in the file are uneven".to_owned(),
            Times::Even { step, .. } if (step - dt).abs() <= 1e-6 * step => continue,
            Times::Even { step, .. } => format!("the times in the file are {step:?} apart"),
        };
        return in_file(path, Err(contradiction(k, dt, &problem)));
    }
    Ok(())
}
