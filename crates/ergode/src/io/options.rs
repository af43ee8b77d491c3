//! Options of readers, and the errors that all formats share.

use std::path::Path;

use crate::data::{Ensemble, MEMORY, Times};
use crate::error::{Error, Result};

/// A file that cannot stay on disk is read into memory up to this multiple of [`MEMORY`].
const COLLECTED: u64 = 4;

/// What becomes of rows with the time of the row before them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RepeatedTimes {
    /// One row, the mean of them.
    #[default]
    Mean,
    /// The first of them.
    First,
    /// The file is refused.
    Error,
}

/// Options for reading a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReadOptions {
    /// The sampling interval of files without times.
    ///
    /// It is needed for such files, and must agree with the times of files that have them.
    pub dt: Option<f64>,
    /// The column of a table that names the trajectory, if it is not one of `trajectory`, `traj`, `id` and
    /// `run`.
    pub trajectory: Option<String>,
    /// The column of a table that holds the times, where its name is not `t` or `time`.
    pub time: Option<String>,
    /// The coordinates to read, by name and in this order; empty means all.
    pub columns: Vec<String>,
    /// The array that holds the values, if a file has several arrays and none is named `x`.
    pub array: Option<String>,
    /// What becomes of rows with the same time.
    pub repeated: RepeatedTimes,
    /// Bytes of values up to which a file is read into memory, 1 GiB where it is not said.
    ///
    /// A larger `.npy` file in C order stays on disk and is read piece by piece, with the same results;
    /// files of other kinds are read into memory up to four times as much, and refused beyond.
    pub memory: Option<u64>,
}

/// Puts the name of the file in front of a complaint about its content.
pub(crate) fn in_file<T>(path: &Path, result: Result<T>) -> Result<T> {
    result.map_err(|error| match error.is_interrupted() {
        true => error,
        false => Error::file(path, error.to_string()),
    })
}

/// The sampling interval of a file without times; `None` if the file has times.
pub(crate) fn step_of(path: &Path, has_times: bool, dt: Option<f64>) -> Result<Option<f64>> {
    match dt {
        _ if has_times => Ok(None),
        Some(step) => Ok(Some(step)),
        None => Err(Error::file(
            path,
            "has no times; give the sampling interval with dt, or the column of the times with \
             --time-column",
        )),
    }
}

/// The error for times that are not `dt` apart.
pub(crate) fn contradiction(trajectory: usize, dt: f64, problem: &str) -> Error {
    Error::input(format!(
        "trajectory {trajectory} (counted from 0): dt = {dt:?} was given, but {problem}; leave dt out \
         or correct it"
    ))
}

/// Refuses a `dt` that contradicts the times of a file.
///
/// The times may be rounded, so they must agree to one part in a million only.
pub(crate) fn check_dt(path: &Path, ensemble: &Ensemble, dt: Option<f64>) -> Result<()> {
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

/// Refuses what cannot stay in its file and is too large for memory.
pub(crate) fn refuse_large(path: &Path, bytes: u64, memory: Option<u64>) -> Result<()> {
    let most = memory.unwrap_or(MEMORY).saturating_mul(COLLECTED);
    if bytes <= most {
        return Ok(());
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    Err(Error::file(
        path,
        format!(
            "holds more than {:.3} GiB of values, too much for memory; convert it first with `ergode \
             convert --values-only {name} {stem}-rows.npy`: rows of a .npy file are read from disk as \
             needed. Then give the sampling interval with dt",
            most as f64 / (1u64 << 30) as f64
        ),
    ))
}
