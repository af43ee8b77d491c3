//! Rows that go from a file to memory or to another file, a block at a time.

use std::path::Path;

use ndarray::ArcArray2;

use super::options::{ReadOptions, check_dt, in_file, refuse_large};
use super::repeated::merged;
use crate::control::Control;
use crate::data::{Ensemble, Times, Trajectory, Units, Values, default_names};
use crate::error::{Error, Result, printable};

/// Numbers of a block, unless a single row has more.
pub(crate) const BLOCK: usize = 1 << 17;

/// The description of the rows of a file, known before they are read.
#[derive(Clone, Debug)]
pub(crate) struct Description {
    /// Number of coordinates.
    pub(crate) dim: usize,
    /// The names of the coordinates, where the file has them.
    pub(crate) names: Option<Vec<String>>,
    /// Units, where the file has them.
    pub(crate) units: Option<Units>,
    /// All values are of single precision.
    pub(crate) single: bool,
    /// The sampling interval of blocks without times.
    pub(crate) step: Option<f64>,
    /// Relative precision with which times are stored.
    pub(crate) rounding: f64,
    /// Rows of a trajectory for which memory may be taken at once; 0 where the size of the file
    /// does not vouch for them.
    pub(crate) expected_rows: usize,
}

/// Consecutive rows of one trajectory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Block {
    /// Which trajectory, counted from 0; blocks come in order of trajectory and row.
    pub(crate) trajectory: usize,
    /// The first row.
    pub(crate) start: usize,
    /// (row, coordinate) in C order.
    pub(crate) values: Vec<f64>,
    /// One time per row, or none in a file without times.
    pub(crate) times: Vec<f64>,
}

/// A file from which rows are read in order.
pub(crate) trait Source {
    /// The description of the rows.
    fn description(&self) -> &Description;

    /// The next block, which is not empty; `None` after the last.
    ///
    /// # Errors
    /// When the file cannot be read or its content is invalid; the error names the file.
    fn next_block(&mut self) -> Result<Option<Block>>;

    /// Leaves out rows before this one, or some of them, where that saves reading.
    ///
    /// # Errors
    /// As for [`Source::next_block`].
    fn seek(&mut self, trajectory: usize, row: usize) -> Result<()> {
        let _ = (trajectory, row);
        Ok(())
    }

    /// Number of trajectories, where it is known before they are read.
    fn trajectories(&self) -> Option<usize> {
        None
    }
}

/// A file to which rows are written in order; it appears under its name when it is complete.
pub(crate) trait Sink {
    /// Writes a block with its times.
    fn write(&mut self, block: &Block) -> Result<()>;

    /// Completes the file.
    fn finish(self: Box<Self>) -> Result<()>;
}

/// The next block of `source`, with times also where the file has none.
pub(crate) fn timed_block(source: &mut dyn Source) -> Result<Option<Block>> {
    let (dim, step) = (source.description().dim, source.description().step);
    Ok(source.next_block()?.map(|mut block| {
        if let (true, Some(step)) = (block.times.is_empty(), step) {
            let rows = block.start..block.start + block.values.len() / dim;
            block.times.extend(rows.map(|i| i as f64 * step));
        }
        block
    }))
}

/// Writes all rows of `source`.
pub(crate) fn copy(source: &mut dyn Source, mut sink: Box<dyn Sink>) -> Result<()> {
    while let Some(block) = timed_block(source)? {
        sink.write(&block)?;
    }
    sink.finish()
}

/// One trajectory as it grows; single precision stays so.
#[derive(Default)]
struct Growing {
    single: Vec<f32>,
    double: Vec<f64>,
    times: Vec<f64>,
}

/// Reads all rows of `source` into memory.
pub(crate) fn collect(
    path: &Path,
    source: &mut dyn Source,
    options: &ReadOptions,
    control: &Control,
) -> Result<Ensemble> {
    let description = source.description().clone();
    let (dim, expected_rows) = (description.dim, description.expected_rows);
    let mut growing: Vec<Growing> = Vec::new();
    let mut bytes = 0;
    while let Some(mut block) = source.next_block()? {
        let size = if description.single { 4 } else { 8 };
        bytes += (block.values.len() * size + block.times.len() * 8) as u64;
        refuse_large(path, bytes, options.memory)?;
        control.advance(0)?;
        if block.trajectory == growing.len() {
            let (mut new, numbers) = (Growing::default(), expected_rows * dim);
            if description.single {
                new.single.reserve_exact(numbers);
            } else {
                new.double.reserve_exact(numbers);
            }
            growing.push(new);
        }
        let place = &mut growing[block.trajectory];
        if description.single {
            place.single.extend(block.values.iter().map(|&v| v as f32));
        } else {
            place.double.append(&mut block.values);
        }
        place.times.append(&mut block.times);
    }
    let trajectories = growing.into_iter().map(|grown| {
        let values: Values = if description.single {
            shaped(grown.single, dim).into()
        } else {
            shaped(grown.double, dim).into()
        };
        let times = match description.step {
            Some(step) if grown.times.is_empty() => Times::every(step),
            _ if grown.times.windows(2).all(|pair| pair[0] < pair[1]) => {
                Times::Uneven(grown.times.into()).simplified(description.rounding)
            }
            // Decreasing times are left for the ensemble to complain about.
            _ => Times::Uneven(grown.times.into()),
        };
        Trajectory::new(values, times)
    });
    let (trajectories, gone) = merged(
        trajectories.collect(),
        options.repeated,
        description.rounding,
    );
    let ensemble = in_file(path, Ensemble::watched(trajectories, control))?;
    let mut ensemble = ensemble.with_repeated_rows(gone);
    if let Some(names) = description.names {
        let names = names.iter().map(|name| printable(name)).collect();
        ensemble = in_file(path, ensemble.with_names(names))?;
    }
    if let Some(units) = description.units {
        ensemble = in_file(path, ensemble.with_units(units))?;
    }
    check_dt(path, &ensemble, options.dt)?;
    Ok(ensemble)
}

fn shaped<A: Clone>(mut values: Vec<A>, dim: usize) -> ArcArray2<A> {
    values.shrink_to_fit();
    ArcArray2::from_shape_vec((values.len() / dim, dim), values)
        .expect("blocks hold whole rows of the described width")
}

/// Some of the coordinates of another source.
pub(crate) struct Picked {
    source: Box<dyn Source>,
    places: Vec<usize>,
    /// Coordinates of the other source.
    width: usize,
    description: Description,
}

impl Picked {
    /// The coordinates called `columns`, in this order.
    ///
    /// # Errors
    /// When a coordinate does not exist or is selected twice.
    pub(crate) fn new(source: Box<dyn Source>, columns: &[String]) -> Result<Self> {
        let mut description = source.description().clone();
        let width = description.dim;
        let names = description.names.unwrap_or_else(|| default_names(width));
        let place = |column: &String| {
            names.iter().position(|name| name == column).ok_or_else(|| {
                Error::input(format!(
                    "no coordinate is named '{column}'; the coordinates are: {}",
                    names.join(", ")
                ))
            })
        };
        let places = columns.iter().map(place).collect::<Result<Vec<_>>>()?;
        if let Some(units) = &mut description.units
            && !units.coordinates.is_empty()
        {
            units.coordinates = places
                .iter()
                .map(|&j| units.coordinates[j].clone())
                .collect();
        }
        description.dim = columns.len();
        description.names = Some(columns.to_vec());
        Ok(Self {
            source,
            places,
            width,
            description,
        })
    }
}

impl Source for Picked {
    fn description(&self) -> &Description {
        &self.description
    }

    fn next_block(&mut self) -> Result<Option<Block>> {
        let block = self.source.next_block()?;
        Ok(block.map(|mut block| {
            let rows = block.values.chunks_exact(self.width);
            let picked = rows.flat_map(|row| self.places.iter().map(|&j| row[j]));
            block.values = picked.collect();
            block
        }))
    }

    fn seek(&mut self, trajectory: usize, row: usize) -> Result<()> {
        self.source.seek(trajectory, row)
    }

    fn trajectories(&self) -> Option<usize> {
        self.source.trajectories()
    }
}

/// The rows of an ensemble in memory.
pub(crate) struct MemorySource {
    ensemble: Ensemble,
    description: Description,
    next: (usize, usize),
}

impl MemorySource {
    pub(crate) fn new(ensemble: Ensemble) -> Self {
        let single = |t: &Trajectory| t.values().is_single();
        let description = Description {
            dim: ensemble.dim(),
            names: Some(ensemble.names().to_vec()),
            units: ensemble.units().cloned(),
            single: ensemble.trajectories().iter().all(single),
            step: None,
            rounding: f64::EPSILON,
            expected_rows: 0,
        };
        Self {
            ensemble,
            description,
            next: (0, 0),
        }
    }
}

impl Source for MemorySource {
    fn description(&self) -> &Description {
        &self.description
    }

    fn next_block(&mut self) -> Result<Option<Block>> {
        let (mut k, mut start) = self.next;
        let trajectories = self.ensemble.trajectories();
        if trajectories.get(k).is_some_and(|t| t.len() == start) {
            (k, start) = (k + 1, 0);
        }
        let Some(trajectory) = trajectories.get(k) else {
            return Ok(None);
        };
        let dim = self.description.dim;
        let end = trajectory.len().min(start + (BLOCK / dim).max(1));
        let mut values = vec![0.0; (end - start) * dim];
        trajectory.copy_rows(start..end, &mut values);
        trajectory.intact()?;
        self.next = (k, end);
        Ok(Some(Block {
            trajectory: k,
            start,
            values,
            times: (start..end).map(|i| trajectory.time(i)).collect(),
        }))
    }

    fn seek(&mut self, trajectory: usize, row: usize) -> Result<()> {
        let rows = self.ensemble.trajectories().get(trajectory);
        self.next = (trajectory, row.min(rows.map_or(0, Trajectory::len)));
        Ok(())
    }

    fn trajectories(&self) -> Option<usize> {
        Some(self.ensemble.len())
    }
}
