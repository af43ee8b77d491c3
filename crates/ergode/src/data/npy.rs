//! NumPy arrays in files of their own.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use ndarray::{ArcArray, ArrayD, Axis, Ix3, IxDyn, ShapeBuilder};

use super::atomic::AtomicFile;
use super::ensemble::Ensemble;
use super::format::{Format, Kind, ReadOptions, in_file, open, step_of};
use super::grid::{Grid, GridSource, Variable};
use super::grid_write::{FileStore, GridSink, Region};
use super::layout::Layout;
use super::npy_dtype::{Dtype, Element};
use super::npy_header::{Fault, NpyHeader, tuple, write_header};
use super::rows::{MemorySource, Sink, Source, collect};
use super::stored::{MEMORY, StoredRows, refuse_large};
use super::trajectory::{Times, Trajectory, Values};
use crate::control::Control;
use crate::error::{Error, Result};

/// Bytes read or written at a time; a multiple of every element size.
const CHUNK: usize = 1 << 20;

/// NumPy's `.npy`: one array of values, without times.
///
/// Read: rank 1 (time), rank 2 (time, dimension) or rank 3 (trajectory, time, dimension), of
/// `float32`, `float64` or integers, in either byte order and either memory order. Rows of NaN at
/// the end of a trajectory of a rank-3 array are padding and left out. Written: rank 2 for one
/// trajectory, else rank 3 with shorter trajectories padded with NaN. Floating-point numbers in C order
/// stay in their file where they are more than memory should hold ([`ReadOptions::memory`]).
pub(super) struct Npy;

impl Format for Npy {
    fn extensions(&self) -> &'static [&'static str] {
        &["npy"]
    }

    fn open(&self, path: &Path, options: &ReadOptions) -> Result<Box<dyn Source>> {
        let mut file = open(path, &[Kind::Npy])?;
        let size = file.metadata().map_err(|e| Error::io(path, e))?.len();
        let header = NpyHeader::read(&mut file)
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
        let values = NpyArray::read(&mut file, &header)
            .and_then(NpyArray::into_trajectories)
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
    let header = NpyHeader::read(&mut file).map_err(|fault| fault.at(path, ""))?;
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
    header: NpyHeader,
    size: u64,
    /// The array under the name that values have.
    variable: [Variable; 1],
}

impl NpyGrid {
    fn new(file: File, header: NpyHeader, size: u64) -> Self {
        let variable = Variable {
            name: "x".to_owned(),
            axes: Vec::new(),
            shape: header.shape.clone(),
            content: header.dtype.content(),
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
        let part = NpyHeader {
            shape: count.to_vec(),
            fortran: false,
            ..self.header.clone()
        };
        Ok(NpyArray::read(&mut self.file, &part)?.into_f64())
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

/// The elements of an array in C order.
pub(super) enum Elements {
    F32(Vec<f32>),
    F64(Vec<f64>),
}

/// An array of numbers in C order.
pub(super) struct NpyArray {
    pub(super) shape: Vec<usize>,
    pub(super) elements: Elements,
}

impl NpyArray {
    /// Reads the data that follow `header`, whose size must have been checked before.
    pub(super) fn read(
        reader: &mut impl Read,
        header: &NpyHeader,
    ) -> std::result::Result<Self, Fault> {
        /// Reads numbers of this type, in the byte order of the header, and casts them.
        macro_rules! numbers {
            ($from:ty as $to:ty) => {
                if header.dtype.big_endian {
                    read_elements(reader, header, |b| <$from>::from_be_bytes(b) as $to)?
                } else {
                    read_elements(reader, header, |b| <$from>::from_le_bytes(b) as $to)?
                }
            };
        }
        let elements = match header.dtype.element {
            Element::F4 => Elements::F32(numbers!(f32 as f32)),
            Element::F8 => Elements::F64(numbers!(f64 as f64)),
            Element::I1 => Elements::F64(numbers!(i8 as f64)),
            Element::I2 => Elements::F64(numbers!(i16 as f64)),
            Element::I4 => Elements::F64(numbers!(i32 as f64)),
            Element::I8 => Elements::F64(numbers!(i64 as f64)),
            Element::U1 => Elements::F64(numbers!(u8 as f64)),
            Element::U2 => Elements::F64(numbers!(u16 as f64)),
            Element::U4 => Elements::F64(numbers!(u32 as f64)),
            Element::U8 => Elements::F64(numbers!(u64 as f64)),
            Element::Text(_) => {
                header.refuse_text()?;
                Elements::F64(Vec::new())
            }
        };
        Ok(Self {
            shape: header.shape.clone(),
            elements,
        })
    }

    /// All elements in double precision.
    pub(super) fn into_f64(self) -> Vec<f64> {
        match self.elements {
            Elements::F32(v) => v.into_iter().map(f64::from).collect(),
            Elements::F64(v) => v,
        }
    }

    /// The trajectories of an array of rank 1 to 3, as views of one storage.
    pub(super) fn into_trajectories(self) -> std::result::Result<Vec<Values>, Fault> {
        let shape = match *self.shape {
            [time] => Ix3(1, time, 1),
            [time, dim] => Ix3(1, time, dim),
            [trajectories, time, dim] => Ix3(trajectories, time, dim),
            _ => {
                return Err(Fault::Content(format!(
                    "the array has shape {}; give (time,), (time, dimension) or \
                     (trajectory, time, dimension)",
                    tuple(&self.shape)
                )));
            }
        };
        if self.shape.contains(&0) {
            return Err(Fault::Content(format!(
                "the array is empty, of shape {}; give at least one row and one coordinate",
                tuple(&self.shape)
            )));
        }
        fn split<A: Clone>(shape: Ix3, elements: Vec<A>) -> Vec<Values>
        where
            Values: From<ndarray::ArcArray2<A>>,
        {
            let array = ArcArray::from_shape_vec(shape, elements).expect("the size was checked");
            (0..shape[0])
                .map(|k| array.clone().index_axis_move(Axis(0), k).into())
                .collect()
        }
        Ok(match self.elements {
            Elements::F32(v) => split(shape, v),
            Elements::F64(v) => split(shape, v),
        })
    }
}

fn read_elements<T: Copy, const SIZE: usize>(
    reader: &mut impl Read,
    header: &NpyHeader,
    convert: impl Fn([u8; SIZE]) -> T,
) -> std::result::Result<Vec<T>, Fault> {
    let count = header.elements()?;
    let mut elements = Vec::new();
    elements.try_reserve_exact(count).map_err(|_| {
        Fault::Content(format!(
            "the array of shape {} does not fit into memory",
            tuple(&header.shape)
        ))
    })?;
    let mut buffer = vec![0; CHUNK.min(count * SIZE)];
    while elements.len() < count {
        let bytes = (count - elements.len()).saturating_mul(SIZE).min(CHUNK);
        let chunk = &mut buffer[..bytes];
        reader.read_exact(chunk)?;
        elements.extend(chunk.as_chunks::<SIZE>().0.iter().map(|&b| convert(b)));
    }
    if header.fortran && header.shape.len() > 1 && count > 0 {
        let array = ArrayD::from_shape_vec(IxDyn(&header.shape).f(), elements)
            .expect("the size was checked");
        elements = array.iter().copied().collect();
    }
    Ok(elements)
}

/// A trajectory whose padding is left out if `trim`.
pub(super) fn with_shared_times(values: Values, times: Times, trim: bool) -> Trajectory {
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
pub(super) fn write_values(writer: &mut impl Write, ensemble: &Ensemble) -> io::Result<()> {
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

/// Writes numbers in `dtype`, one of the two floating-point types in either order of bytes.
pub(super) fn write_numbers(
    writer: &mut impl Write,
    dtype: Dtype,
    numbers: &[f64],
    bytes: &mut Vec<u8>,
) -> io::Result<()> {
    /// Fills the places with numbers of this type, as bytes in this order.
    macro_rules! fill {
        ($to:ty, $order:ident) => {
            for (place, &v) in bytes.as_chunks_mut().0.iter_mut().zip(numbers) {
                *place = (v as $to).$order();
            }
        };
    }
    bytes.resize(numbers.len() * dtype.size(), 0);
    match (dtype.element == Element::F4, dtype.big_endian) {
        (true, false) => fill!(f32, to_le_bytes),
        (true, true) => fill!(f32, to_be_bytes),
        (false, false) => fill!(f64, to_le_bytes),
        (false, true) => fill!(f64, to_be_bytes),
    }
    writer.write_all(bytes)
}

/// Rows of the longest trajectory.
pub(super) fn longest(ensemble: &Ensemble) -> usize {
    let lengths = ensemble.trajectories().iter().map(Trajectory::len);
    lengths.max().expect("an ensemble is not empty")
}

/// Bytes of the values of an ensemble in a file, header included, or a little more.
pub(super) fn size_of_values(ensemble: &Ensemble) -> u64 {
    let numbers = ensemble.len() as u128 * longest(ensemble) as u128 * ensemble.dim() as u128;
    u64::try_from(8 * numbers + 128).unwrap_or(u64::MAX)
}
