//! NumPy arrays in .npy files.

mod dtype;
pub(crate) mod header;

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;

use self::header::write_header;
use crate::control::Control;
use crate::data::{Dtype, Ensemble, MEMORY, StoredRows, Times, Trajectory, Values};
use crate::error::{Error, Result};
use crate::io::array::{ArrayHeader, NumberArray, write_numbers};
use crate::io::atomic::AtomicFile;
use crate::io::fault::Fault;
use crate::io::format::Format;
use crate::io::grid::{FileStore, Grid, GridSink, GridSource, Region, Variable};
use crate::io::kind::{Kind, open};
use crate::io::layout::Layout;
use crate::io::options::{ReadOptions, in_file, refuse_large, step_of};
use crate::io::rows::{MemorySource, Sink, Source, collect};

/// Bytes read or written at a time; a multiple of every element size.
const CHUNK: usize = 1 << 20;

/// NumPy's `.npy`: one array of values, without times.
///
/// Read: rank 1 (time), rank 2 (time, dimension) or rank 3 (trajectory, time, dimension), of
/// `float32`, `float64` or integers, in either byte order and either memory order. Rows of NaN at
/// the end of a trajectory of a rank-3 array are padding and left out. Written: rank 2 for one
/// trajectory, else rank 3 with shorter trajectories padded with NaN. Floating-point numbers in C order
/// stay in their file where they are more than memory should hold ([`ReadOptions::memory`]).
pub(crate) struct Npy;

impl Format for Npy {
    fn extensions(&self) -> &'static [&'static str] {
        &["npy"]
    }

    fn open(&self, path: &Path, options: &ReadOptions) -> Result<Box<dyn Source>> {
        let mut file = open(path, &[Kind::Npy])?;
        let size = file.metadata().map_err(|e| Error::io(path, e))?.len();
        let header = ArrayHeader::read(&mut file)
            .and_then(|header| {
                header.check_size(size.saturating_sub(header.offset))?;
                header.refuse_text()?;
                Ok(header)
            })
            .map_err(|fault| fault.at(path, ""))?;
        if !header.fortran || header.shape.len() < 2 {
            let grid = NpyGrid::new(file, header, size);
            return Ok(Box::new(GridSource::new(path, grid, options)?));
        }
        // Rows of an array in Fortran order are spread over all of the file.
        let values = NumberArray::read(&mut file, &header)
            .and_then(NumberArray::into_trajectories)
            .map_err(|fault| fault.at(path, ""))?;
        let step = step_of(path, false, options.dt)?.expect("there are no times");
        let trim = values.len() > 1;
        let trajectories = values
            .into_iter()
            .map(|values| with_shared_times(values, Times::every(step), trim))
            .collect();
        let ensemble = in_file(path, Ensemble::new(trajectories))?;
        Ok(Box::new(MemorySource::new(ensemble)))
    }

    fn read(&self, path: &Path, options: &ReadOptions, control: &Control) -> Result<Ensemble> {
        match stored(path, options, control)? {
            Some(ensemble) => Ok(ensemble),
            None => collect(path, &mut *self.open(path, options)?, options, control),
        }
    }

    fn holds_values_only(&self) -> bool {
        true
    }

    fn least_memory(&self, _: u64) -> u64 {
        // Rows may stay where they are.
        0
    }

    fn create(&self, path: &Path, layout: &Layout) -> Result<Box<dyn Sink>> {
        let mut file = AtomicFile::create(path)?;
        let dtype = Dtype::float(layout.single);
        let shape = [layout.lengths.len(), layout.longest(), layout.dim];
        let rank2 = usize::from(shape[0] == 1);
        let offset = write_header(file.file(), dtype, &shape[rank2..])
            .map_err(|error| Error::io(path, error))?;
        let store = FileStore::new(file, Region { offset, dtype }, None);
        Ok(Box::new(GridSink::new(path, store, layout)?))
    }
}

/// The rows of an array that is larger than memory should hold, left in their file; none where the array
/// is smaller, or not one of rows of floating-point numbers.
fn stored(path: &Path, options: &ReadOptions, control: &Control) -> Result<Option<Ensemble>> {
    let mut file = open(path, &[Kind::Npy])?;
    let size = file.metadata().map_err(|e| Error::io(path, e))?.len();
    if size <= options.memory.unwrap_or(MEMORY) {
        return Ok(None);
    }
    let header = ArrayHeader::read(&mut file).map_err(|fault| fault.at(path, ""))?;
    let shape = match *header.shape {
        [time] => [1, time, 1],
        [time, dim] if !header.fortran => [1, time, dim],
        [trajectories, time, dim] if !header.fortran => [trajectories, time, dim],
        _ => [0; 3],
    };
    if shape.contains(&0) || !StoredRows::takes(header.dtype) {
        refuse_large(path, size, options.memory)?;
        return Ok(None);
    }
    header
        .check_size(size.saturating_sub(header.offset))
        .map_err(|fault| fault.at(path, ""))?;
    let step = step_of(path, false, options.dt)?.expect("there are no times");
    let [trajectories, time, dim] = shape;
    let all = (trajectories * time, dim);
    let rows = StoredRows::new(path, file, header.offset, header.dtype, all)?;
    let trajectories = (0..trajectories).map(|k| {
        let rows = rows.slice(k * time..(k + 1) * time, 1);
        with_shared_times(rows.into(), Times::every(step), trajectories > 1)
    });
    in_file(path, Ensemble::watched(trajectories.collect(), control)).map(Some)
}

/// An array in a file, in C order.
struct NpyGrid {
    file: File,
    header: ArrayHeader,
    size: u64,
    /// The array under the name that values have.
    variable: [Variable; 1],
}

impl NpyGrid {
    fn new(file: File, header: ArrayHeader, size: u64) -> Self {
        let variable = Variable {
            name: "x".to_owned(),
            axes: Vec::new(),
            shape: header.shape.clone(),
            content: header.dtype.into(),
            notes: Vec::new(),
        };
        Self {
            file,
            header,
            size,
            variable: [variable],
        }
    }
}

impl Grid for NpyGrid {
    fn variables(&self) -> &[Variable] {
        &self.variable
    }

    fn numbers(
        &mut self,
        _: usize,
        start: &[usize],
        count: &[usize],
    ) -> std::result::Result<Vec<f64>, Fault> {
        // Boxes of rows of one trajectory are contiguous in C order.
        let position = start
            .iter()
            .zip(&self.header.shape)
            .fold(0, |at, (&from, &length)| at * length + from);
        let offset = self.header.offset + (position * self.header.dtype.size()) as u64;
        self.file.seek(SeekFrom::Start(offset))?;
        let part = ArrayHeader {
            shape: count.to_vec(),
            fortran: false,
            ..self.header.clone()
        };
        Ok(NumberArray::read(&mut self.file, &part)?.into_f64())
    }

    fn texts(&mut self, _: usize) -> std::result::Result<Vec<String>, Fault> {
        Ok(Vec::new())
    }

    fn chunk(&self, _: usize, _: usize) -> usize {
        1
    }

    fn size(&self) -> u64 {
        self.size
    }
}

/// A trajectory whose padding is left out if `trim`.
pub(crate) fn with_shared_times(values: Values, times: Times, trim: bool) -> Trajectory {
    let trajectory = Trajectory::new(values, times);
    if trim {
        trimmed(trajectory)
    } else {
        trajectory
    }
}

/// The trajectory without the rows at its end in which every coordinate is NaN.
///
/// One row is always kept.
fn trimmed(trajectory: Trajectory) -> Trajectory {
    let mut row = vec![0.0; trajectory.dim()];
    let mut end = trajectory.len();
    while end > 1 {
        trajectory.row(end - 1, &mut row);
        if row.iter().any(|v| !v.is_nan()) {
            break;
        }
        end -= 1;
    }
    if end == trajectory.len() {
        trajectory
    } else {
        trajectory.slice(0..end, 1)
    }
}

/// Writes the values as an array of rank 3.
pub(crate) fn write_values(writer: &mut impl Write, ensemble: &Ensemble) -> io::Result<()> {
    let single = |t: &Trajectory| t.values().is_single();
    let dtype = Dtype::float(ensemble.trajectories().iter().all(single));
    let (dim, longest) = (ensemble.dim(), longest(ensemble));
    let shape = [ensemble.len(), longest, dim];
    write_header(writer, dtype, &shape)?;
    let rows_per_block = (CHUNK / (8 * dim)).max(1);
    let mut block = vec![0.0; rows_per_block.min(longest) * dim];
    let mut bytes = Vec::with_capacity(block.len() * 8);
    for trajectory in ensemble.trajectories() {
        let n = trajectory.len();
        for start in (0..longest).step_by(rows_per_block) {
            let end = longest.min(start + rows_per_block);
            let rows = &mut block[..(end - start) * dim];
            let (filled, padding) = rows.split_at_mut((n.clamp(start, end) - start) * dim);
            if !filled.is_empty() {
                trajectory.copy_rows(start..n.min(end), filled);
            }
            padding.fill(f64::NAN);
            write_numbers(writer, dtype, rows, &mut bytes)?;
        }
    }
    Ok(())
}

/// Rows of the longest trajectory.
pub(crate) fn longest(ensemble: &Ensemble) -> usize {
    let lengths = ensemble.trajectories().iter().map(Trajectory::len);
    lengths.max().expect("an ensemble is not empty")
}

/// Bytes of the values of an ensemble in a file, header included, or a little more.
pub(crate) fn size_of_values(ensemble: &Ensemble) -> u64 {
    let numbers = ensemble.len() as u128 * longest(ensemble) as u128 * ensemble.dim() as u128;
    u64::try_from(8 * numbers + 128).unwrap_or(u64::MAX)
}
