//! The arrays that an ensemble becomes in a NumPy archive.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Seek, Write};
use std::path::{Path, PathBuf};

use ndarray::ArrayViewD;
use zip::result::ZipResult;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use crate::data::{Dtype, Element, Ensemble, Trajectory};
use crate::error::{Error, Result};
use crate::io::array::write_numbers;
use crate::io::atomic::AtomicFile;
use crate::io::grid::{Array, Region, Store};
use crate::io::layout::Layout;
use crate::io::npy::header::write_header;
use crate::io::npy::{longest, size_of_values, write_values};

/// Writes the arrays `x`, `t` and `names`, not compressed.
pub(crate) fn write_archive(writer: impl Write + Seek, ensemble: &Ensemble) -> ZipResult<()> {
    write_arrays(
        writer,
        size_of_values(ensemble),
        |x| write_values(x, ensemble),
        |t| write_times(t, ensemble),
        ensemble.names(),
    )
}

/// An archive whose arrays `x` (of about `size` bytes) and `t` are written by the caller.
pub(crate) fn write_arrays<W: Write + Seek>(
    writer: W,
    size: u64,
    x: impl FnOnce(&mut ZipWriter<W>) -> std::io::Result<()>,
    t: impl FnOnce(&mut ZipWriter<W>) -> std::io::Result<()>,
    names: &[String],
) -> ZipResult<()> {
    let mut zip = ZipWriter::new(writer);
    zip.start_file("x.npy", options(size))?;
    x(&mut zip)?;
    // At most one time per row, so never larger than the values in double precision.
    zip.start_file("t.npy", options(size))?;
    t(&mut zip)?;
    zip.start_file("names.npy", options(0))?;
    write_names(&mut zip, names)?;
    zip.finish()?.flush()?;
    Ok(())
}

/// The arrays of an archive in separate files, until both are complete.
pub(crate) struct NpzStore {
    path: PathBuf,
    values: (AtomicFile, Region),
    times: (AtomicFile, Region),
    names: Vec<String>,
    bytes: Vec<u8>,
}

impl NpzStore {
    pub(crate) fn create(path: &Path, layout: &Layout) -> Result<Self> {
        let begin = |dtype, shape: &[usize]| {
            let mut file = AtomicFile::create(path)?;
            let offset =
                write_header(file.file(), dtype, shape).map_err(|error| Error::io(path, error))?;
            Ok((file, Region { offset, dtype }))
        };
        let shape = [layout.lengths.len(), layout.longest(), layout.dim];
        let shared = usize::from(layout.shared_times);
        Ok(Self {
            path: path.to_owned(),
            values: begin(Dtype::float(layout.single), &shape)?,
            times: begin(Dtype::F64, &shape[shared..2])?,
            names: layout.names.clone(),
            bytes: Vec::new(),
        })
    }
}

impl Store for NpzStore {
    fn holds_times(&self) -> bool {
        true
    }

    fn put(&mut self, array: Array, position: u64, numbers: &[f64]) -> io::Result<()> {
        let (file, region) = match array {
            Array::Values => &mut self.values,
            Array::Times => &mut self.times,
        };
        region.put(file.file(), position, numbers, &mut self.bytes)
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        let mut archive = AtomicFile::create(&self.path)?;
        let (values, times) = (self.values.0.file(), self.times.0.file());
        let copied = values.metadata().and_then(|metadata| {
            let writer = BufWriter::with_capacity(1 << 20, archive.file());
            write_arrays(
                writer,
                metadata.len(),
                |x| copy_all(values, x),
                |t| copy_all(times, t),
                &self.names,
            )
            .map_err(io::Error::from)
        });
        copied.map_err(|error| Error::io(&self.path, error))?;
        archive.commit()
    }
}

fn copy_all(file: &mut File, writer: &mut impl Write) -> io::Result<()> {
    file.rewind()?;
    io::copy(&mut BufReader::with_capacity(1 << 20, file), writer)?;
    Ok(())
}

/// Files in an archive, not compressed.
fn options(size: u64) -> SimpleFileOptions {
    SimpleFileOptions::default()
        .compression_method(CompressionMethod::Stored)
        .large_file(size >= u64::from(u32::MAX))
}

/// An archive of named arrays.
pub(crate) fn write_named(
    writer: impl Write + Seek,
    arrays: &[(&str, ArrayViewD<'_, f64>)],
) -> ZipResult<()> {
    let mut zip = ZipWriter::new(writer);
    let mut bytes = Vec::new();
    for (name, array) in arrays {
        zip.start_file(format!("{name}.npy"), options(8 * array.len() as u64))?;
        write_header(&mut zip, Dtype::F64, array.shape())?;
        let array = array.as_standard_layout();
        let numbers = array.as_slice().expect("the layout is standard");
        write_numbers(&mut zip, Dtype::F64, numbers, &mut bytes)?;
    }
    zip.finish()?.flush()?;
    Ok(())
}

fn write_times(writer: &mut impl Write, ensemble: &Ensemble) -> std::io::Result<()> {
    let rows = longest(ensemble);
    let longest = ensemble
        .trajectories()
        .iter()
        .max_by_key(|t| t.len())
        .expect("an ensemble is not empty");
    let (mut times, mut bytes) = (vec![0.0; rows], Vec::new());
    let mut write = |writer: &mut _, trajectory: &Trajectory| {
        for (i, time) in times.iter_mut().enumerate() {
            *time = if i < trajectory.len() {
                trajectory.time(i)
            } else {
                f64::NAN
            };
        }
        write_numbers(writer, Dtype::F64, &times, &mut bytes)
    };
    if Layout::of(ensemble).shared_times {
        write_header(writer, Dtype::F64, &[rows])?;
        write(writer, longest)
    } else {
        write_header(writer, Dtype::F64, &[ensemble.len(), rows])?;
        ensemble
            .trajectories()
            .iter()
            .try_for_each(|trajectory| write(writer, trajectory))
    }
}

fn write_names(writer: &mut impl Write, names: &[String]) -> std::io::Result<()> {
    let width = names.iter().map(|n| n.chars().count()).max().unwrap_or(1);
    write_header(writer, Dtype::little(Element::Text(width)), &[names.len()])?;
    for name in names {
        let padding = std::iter::repeat_n('\0', width - name.chars().count());
        for character in name.chars().chain(padding) {
            writer.write_all(&u32::from(character).to_le_bytes())?;
        }
    }
    Ok(())
}
