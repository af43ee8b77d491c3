//! NumPy archives of arrays.

mod stream;
mod write;

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read};
use std::path::Path;

use ndarray::ArrayViewD;
use zip::result::{ZipError, ZipResult};
use zip::{CompressionMethod, ZipArchive};

use self::stream::{NpzGrid, Place, unpacked};
use self::write::{NpzStore, write_archive, write_named};
use crate::control::Control;
use crate::data::{Element, Ensemble, MEMORY, Times, Trajectory, Values};
use crate::error::{Error, Result, printable};
use crate::io::array::{ArrayHeader, NumberArray, decode_text, tuple};
use crate::io::atomic::AtomicFile;
use crate::io::fault::Fault;
use crate::io::format::Format;
use crate::io::grid::{GridSink, GridSource};
use crate::io::kind::{Kind, open};
use crate::io::layout::Layout;
use crate::io::npy::with_shared_times;
use crate::io::options::{ReadOptions, check_dt, in_file, refuse_large, step_of};
use crate::io::repeated::merged;
use crate::io::rows::{MemorySource, Sink, Source};
use crate::memory;

/// No deflated data unpack to more than this many times their size.
const DEFLATE_LIMIT: u64 = 1040;

/// NumPy's `.npz`: an archive with values, times and names.
///
/// Read: `x`, as in a `.npy` file; optionally `t`, of shape (time,) shared by all trajectories or
/// (trajectory, time); optionally the number `dt`; optionally `names`, one text per coordinate.
/// Without `x` the only array of floating-point numbers is taken. Rows at the end of a trajectory
/// whose time is NaN are padding and left out; where several trajectories share their times, so
/// are rows at the end that hold nothing but NaN. Written: `x` of rank 3, `t` and `names`, not
/// compressed.
pub(crate) struct Npz;

impl Format for Npz {
    fn extensions(&self) -> &'static [&'static str] {
        &["npz"]
    }

    fn open(&self, path: &Path, options: &ReadOptions) -> Result<Box<dyn Source>> {
        let mut archive = Archive::open(path)?;
        let main = archive.main_array(options)?;
        let arrays = archive.used(&main)?;
        let in_order = arrays.iter().all(|(_, place)| !place.header.fortran);
        if in_order && unpacked(&arrays) > options.memory.unwrap_or(MEMORY) {
            let named = ReadOptions {
                array: Some(main),
                ..options.clone()
            };
            let grid = NpzGrid::new(path, archive.size, arrays);
            return Ok(Box::new(GridSource::new(path, grid, &named)?));
        }
        Ok(Box::new(MemorySource::new(self.read(
            path,
            options,
            &Control::new(),
        )?)))
    }

    fn create(&self, path: &Path, layout: &Layout) -> Result<Box<dyn Sink>> {
        let store = NpzStore::create(path, layout)?;
        Ok(Box::new(GridSink::new(path, store, layout)?))
    }

    fn read(&self, path: &Path, options: &ReadOptions, _: &Control) -> Result<Ensemble> {
        let mut archive = Archive::open(path)?;
        let main = archive.main_array(options)?;
        let bytes = unpacked(&archive.used(&main)?);
        refuse_large(path, bytes, options.memory)?;
        memory::claim(&main, &[("bytes", bytes)], 1)
            .map_err(|error| Error::file(path, error.to_string()))?;
        let (array, _) = archive
            .numbers(&main)?
            .expect("the main array is one of the archive");
        let values = array
            .into_trajectories()
            .map_err(|fault| fault.at(path, &format!("array '{main}'")))?;
        let dt = archive.interval()?;
        let (trajectories, gone) = match archive.times()? {
            Some(times) => {
                let rounding = times.rounding;
                merged(times.assign(path, values)?, options.repeated, rounding)
            }
            None => {
                let step = step_of(path, false, dt.or(options.dt))?;
                let times = Times::every(step.expect("there are no times"));
                let trim = values.len() > 1;
                let trimmed = values
                    .into_iter()
                    .map(|values| with_shared_times(values, times.clone(), trim));
                (trimmed.collect(), 0)
            }
        };
        let ensemble = in_file(path, Ensemble::new(trajectories))?;
        let mut ensemble = ensemble.with_repeated_rows(gone);
        if let Some(names) = archive.names(ensemble.dim())? {
            ensemble = in_file(path, ensemble.with_names(names))?;
        }
        check_dt(path, &ensemble, dt)?;
        check_dt(path, &ensemble, options.dt)?;
        Ok(ensemble)
    }

    fn write(&self, path: &Path, ensemble: &Ensemble) -> Result<()> {
        write_atomically(path, |writer| {
            write_archive(writer, ensemble)?;
            ensemble
                .intact(Ok(()))
                .map_err(|error| io::Error::other(error).into())
        })
    }
}

/// Writes named arrays to a NumPy archive, which appears under its name once it is complete.
///
/// # Errors
/// When the file cannot be written.
pub fn write_arrays(path: impl AsRef<Path>, arrays: &[(&str, ArrayViewD<'_, f64>)]) -> Result<()> {
    write_atomically(path.as_ref(), |writer| write_named(writer, arrays))
}

fn write_atomically(
    path: &Path,
    write: impl FnOnce(BufWriter<&mut File>) -> ZipResult<()>,
) -> Result<()> {
    let mut atomic = AtomicFile::create(path)?;
    write(BufWriter::new(atomic.file())).map_err(|error| unwritten(path, error))?;
    atomic.commit()
}

/// The error for an archive that cannot be written.
fn unwritten(path: &Path, error: ZipError) -> Error {
    match error {
        ZipError::Io(source) => Error::io(path, source),
        other => Error::file(path, format!("cannot be written: {other}")),
    }
}

/// The array `t` of an archive.
struct StoredTimes {
    shape: Vec<usize>,
    times: Vec<f64>,
    /// Relative precision with which the times were stored.
    rounding: f64,
}

impl StoredTimes {
    /// Gives every trajectory its times and leaves out the padding.
    fn assign(self, path: &Path, values: Vec<Values>) -> Result<Vec<Trajectory>> {
        let (count, rows) = (values.len(), values[0].rows());
        let shared = match *self.shape {
            [n] if n == rows => true,
            [k, n] if (k, n) == (count, rows) => false,
            _ => {
                return Err(Error::file(
                    path,
                    format!(
                        "array 't' has shape {} but the values have {count} trajectories of \
                         {rows} rows; give times of shape ({rows},) or ({count}, {rows})",
                        tuple(&self.shape)
                    ),
                ));
            }
        };
        let trajectories = values
            .into_iter()
            .zip(self.times.chunks_exact(rows).cycle());
        Ok(trajectories
            .map(|(values, times)| {
                let end = times.iter().rposition(|t| !t.is_nan()).map_or(1, |i| i + 1);
                let values = values.slice(0..end, 1);
                let times = Times::Uneven(times[..end].into());
                // Decreasing times are left for the ensemble to complain about.
                let increasing = |t: &Times| (1..end).all(|i| t.at(i - 1) < t.at(i));
                let times = if increasing(&times) {
                    times.simplified(self.rounding)
                } else {
                    times
                };
                with_shared_times(values, times, shared && count > 1)
            })
            .collect())
    }
}

/// An open archive.
struct Archive<'a> {
    path: &'a Path,
    size: u64,
    zip: ZipArchive<BufReader<File>>,
    /// Name of each array, without ".npy", and the number of its entry.
    arrays: Vec<(String, usize)>,
}

impl<'a> Archive<'a> {
    fn open(path: &'a Path) -> Result<Self> {
        let file = open(path, &[Kind::Zip])?;
        let size = file.metadata().map_err(|e| Error::io(path, e))?.len();
        let zip = ZipArchive::new(BufReader::new(file)).map_err(|e| damaged(path, "", e))?;
        let mut arrays = Vec::new();
        for i in 0..zip.len() {
            let name = zip.name_for_index(i).transpose();
            if let Some(name) = name.map_err(|e| damaged(path, "", e))? {
                let name = name.strip_suffix(".npy").unwrap_or(&name);
                arrays.push((name.to_owned(), i));
            }
        }
        Ok(Self {
            path,
            size,
            zip,
            arrays,
        })
    }

    /// Calls `read` with the header of an array and a reader of its data.
    ///
    /// The size of the data is checked against the header and against what the archive can hold
    /// before anything is allocated. `None` if there is no such array.
    fn with_array<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(&ArrayHeader, &mut dyn Read) -> std::result::Result<T, Fault>,
    ) -> Result<Option<T>> {
        let Some(&(_, index)) = self.arrays.iter().find(|(n, _)| n == name) else {
            return Ok(None);
        };
        let what = format!("array '{name}'");
        let mut entry = self
            .zip
            .by_index(index)
            .map_err(|e| damaged(self.path, &what, e))?;
        let (declared, packed) = (entry.size(), entry.compressed_size());
        let possible = match entry.compression() {
            CompressionMethod::Stored => packed,
            _ => packed.saturating_mul(DEFLATE_LIMIT),
        };
        if packed > self.size || declared > possible {
            return Err(Error::file(
                self.path,
                format!(
                    "{what} should have {declared} bytes, but only {packed} are stored in a file of \
                     {}; the file is damaged, write it again",
                    self.size
                ),
            ));
        }
        ArrayHeader::read(&mut entry)
            .and_then(|header| {
                header.check_size(declared.saturating_sub(header.offset))?;
                read(&header, &mut entry)
            })
            .map(Some)
            .map_err(|fault| fault.at(self.path, &what))
    }

    /// Reads an array of numbers, with the header.
    fn numbers(&mut self, name: &str) -> Result<Option<(NumberArray, ArrayHeader)>> {
        self.with_array(name, |header, mut reader| {
            let array = NumberArray::read(&mut reader, header)?;
            end_of_entry(reader)?;
            Ok((array, header.clone()))
        })
    }

    /// The arrays that are read beside the one of the values, and where they lie.
    fn used(&mut self, main: &str) -> Result<Vec<(String, Place)>> {
        let mut used = Vec::new();
        for name in [main, "t", "dt", "names"] {
            let Some(header) = self.with_array(name, |header, _| Ok(header.clone()))? else {
                continue;
            };
            let (_, index) = self
                .arrays
                .iter()
                .find(|(n, _)| n == name)
                .expect("it was read");
            let what = format!("array '{name}'");
            let entry = self
                .zip
                .by_index(*index)
                .map_err(|e| damaged(self.path, &what, e))?;
            let place = Place {
                start: entry.data_start().unwrap_or(0),
                packed: entry.compressed_size(),
                compression: entry.compression(),
                crc: entry.crc32(),
                header,
            };
            used.push((name.to_owned(), place));
        }
        Ok(used)
    }

    /// The name of the array with the values: the one that the options name, else `x`, else the only one.
    fn main_array(&mut self, options: &ReadOptions) -> Result<String> {
        let names: Vec<String> = self.arrays.iter().map(|(name, _)| name.clone()).collect();
        let wanted = options.array.as_deref().unwrap_or("x");
        if names.iter().any(|name| name == wanted) {
            return Ok(wanted.to_owned());
        }
        if options.array.is_some() {
            return Err(Error::file(
                self.path,
                format!("has no array '{wanted}'; it has '{}'", names.join("', '")),
            ));
        }
        let mut found = Vec::new();
        let mut candidates = Vec::new();
        for name in names {
            match self.with_array(&name, |header, _| Ok(header.clone())) {
                Ok(Some(header)) => {
                    let special = matches!(name.as_str(), "t" | "dt" | "names");
                    found.push(format!(
                        "'{name}' of shape {} and dtype '{}'",
                        tuple(&header.shape),
                        header.dtype.descr()
                    ));
                    if header.dtype.is_float() && matches!(header.shape.len(), 1..=3) && !special {
                        candidates.push(name);
                    }
                }
                _ => found.push(format!("'{name}', which is not an array of numbers")),
            }
        }
        match (candidates.pop(), candidates.is_empty()) {
            (Some(only), true) => Ok(only),
            _ if found.is_empty() => Err(Error::file(
                self.path,
                "the archive is empty; save the values as the array 'x'",
            )),
            _ => Err(Error::file(
                self.path,
                format!(
                    "no array is named 'x', and no single other array can hold the values; the archive \
                     has {}; choose one with --array, or name the values 'x'",
                    found.join(", ")
                ),
            )),
        }
    }

    fn times(&mut self) -> Result<Option<StoredTimes>> {
        Ok(self.numbers("t")?.map(|(array, header)| {
            let single = header.dtype.element == Element::F4;
            StoredTimes {
                shape: header.shape,
                times: array.into_f64(),
                rounding: f64::from(if single { f32::EPSILON } else { 0.0 }).max(f64::EPSILON),
            }
        }))
    }

    fn interval(&mut self) -> Result<Option<f64>> {
        let Some((array, header)) = self.numbers("dt")? else {
            return Ok(None);
        };
        match array.into_f64()[..] {
            [dt] if dt.is_finite() && dt > 0.0 => Ok(Some(dt)),
            [dt] => Err(Error::file(
                self.path,
                format!("array 'dt' is {dt}; the sampling interval must be finite and positive"),
            )),
            _ => Err(Error::file(
                self.path,
                format!(
                    "array 'dt' has shape {}; give one number, or the times as 't'",
                    tuple(&header.shape)
                ),
            )),
        }
    }

    fn names(&mut self, dim: usize) -> Result<Option<Vec<String>>> {
        self.with_array("names", |header, reader| {
            let Element::Text(width) = header.dtype.element else {
                return Err(Fault::Content(format!(
                    "holds dtype '{}', not text; save the names as a list of strings",
                    header.dtype.descr()
                )));
            };
            if header.elements()? != dim || header.shape.len() != 1 {
                return Err(Fault::Content(format!(
                    "has shape {}; give one name per coordinate, {dim} in all",
                    tuple(&header.shape)
                )));
            }
            let mut bytes = vec![0; 4 * width];
            let mut names = Vec::with_capacity(dim);
            for _ in 0..dim {
                reader.read_exact(&mut bytes)?;
                names.push(printable(&decode_text(&bytes, header.dtype.big_endian)?));
            }
            end_of_entry(reader)?;
            Ok(names)
        })
    }
}

/// Reads past the last byte, which makes the archive compare the checksum.
fn end_of_entry(reader: &mut dyn Read) -> std::result::Result<(), Fault> {
    if reader.read(&mut [0])? == 0 {
        Ok(())
    } else {
        Err(Fault::Content(
            "decompresses to more bytes than declared; the file is damaged, write it again"
                .to_owned(),
        ))
    }
}

fn damaged(path: &Path, what: &str, error: ZipError) -> Error {
    match error {
        ZipError::Io(source) => Fault::Io(source).at(path, what),
        other => Fault::Content(format!("{other}; write it again with numpy.savez")).at(path, what),
    }
}
