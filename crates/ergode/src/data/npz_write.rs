//! The arrays that an ensemble becomes in a NumPy archive.

use std::io::{Seek, Write};

use ndarray::ArrayViewD;
use zip::result::ZipResult;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::ensemble::Ensemble;
use super::npy::{longest, size_of_values, write_numbers, write_values};
use super::npy_dtype::{Dtype, Element};
use super::npy_header::write_header;
use super::trajectory::Trajectory;

/// Writes the arrays `x`, `t` and `names`, not compressed.
pub(super) fn write_archive(writer: impl Write + Seek, ensemble: &Ensemble) -> ZipResult<()> {
    write_arrays(
        writer,
        size_of_values(ensemble),
        |x| write_values(x, ensemble, true),
        |t| write_times(t, ensemble),
        ensemble.names(),
    )
}

/// An archive whose arrays `x` (of about `size` bytes) and `t` are written by the caller.
pub(super) fn write_arrays<W: Write + Seek>(
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

/// Files in an archive, not compressed.
fn options(size: u64) -> SimpleFileOptions {
    SimpleFileOptions::default()
        .compression_method(CompressionMethod::Stored)
        .large_file(size >= u64::from(u32::MAX))
}

/// An archive of named arrays.
pub(super) fn write_named(
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

/// True when a reader can give every trajectory its times from one shared array.
///
/// Times must agree over the common rows, and no trajectory may end in a row of NaN, which would
/// be taken for padding.
fn times_are_shared(ensemble: &Ensemble, longest: &Trajectory) -> bool {
    let trajectories = ensemble.trajectories();
    let ends_in_gap = |t: &Trajectory| t.is_gap(t.len() - 1);
    trajectories.len() == 1
        || trajectories.iter().all(|t| {
            let same =
                t.times() == longest.times() || (0..t.len()).all(|i| t.time(i) == longest.time(i));
            same && !ends_in_gap(t)
        })
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
    if times_are_shared(ensemble, longest) {
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
