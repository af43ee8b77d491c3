//! Writing arrays (trajectory, time, dimension) whose places in the file are known beforehand.

use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use crate::data::Dtype;
use crate::error::{Error, Result};
use crate::io::array::write_numbers;
use crate::io::atomic::AtomicFile;
use crate::io::layout::Layout;
use crate::io::rows::{BLOCK, Block, Sink};

/// The two arrays of an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Array {
    Values,
    Times,
}

/// Something that takes numbers at any place of its arrays.
pub(crate) trait Store {
    /// False for formats without times.
    fn holds_times(&self) -> bool;

    /// Writes consecutive numbers of an array, in C order, from number `position` on.
    fn put(&mut self, array: Array, position: u64, numbers: &[f64]) -> io::Result<()>;

    /// Completes the output.
    fn finish(self: Box<Self>) -> Result<()>;
}

/// The position of an array in a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Region {
    /// The first byte.
    pub(crate) offset: u64,
    pub(crate) dtype: Dtype,
}

impl Region {
    /// Writes numbers from number `position` of the region on.
    pub(crate) fn put(
        self,
        file: &mut File,
        position: u64,
        numbers: &[f64],
        bytes: &mut Vec<u8>,
    ) -> io::Result<()> {
        let at = self.offset + position * self.dtype.size() as u64;
        file.seek(SeekFrom::Start(at))?;
        write_numbers(file, self.dtype, numbers, bytes)
    }
}

/// A file with its arrays at fixed places.
pub(crate) struct FileStore {
    file: AtomicFile,
    values: Region,
    times: Option<Region>,
    bytes: Vec<u8>,
}

impl FileStore {
    pub(crate) fn new(file: AtomicFile, values: Region, times: Option<Region>) -> Self {
        Self {
            file,
            values,
            times,
            bytes: Vec::new(),
        }
    }
}

impl Store for FileStore {
    fn holds_times(&self) -> bool {
        self.times.is_some()
    }

    fn put(&mut self, array: Array, position: u64, numbers: &[f64]) -> io::Result<()> {
        let region = match (array, self.times) {
            (Array::Values, _) => self.values,
            (Array::Times, Some(times)) => times,
            (Array::Times, None) => return Ok(()),
        };
        region.put(self.file.file(), position, numbers, &mut self.bytes)
    }

    fn finish(self: Box<Self>) -> Result<()> {
        self.file.commit()
    }
}

/// Puts blocks in their places and NaN where trajectories are shorter than the longest.
pub(crate) struct GridSink<S> {
    path: PathBuf,
    store: S,
    layout: Layout,
    longest: usize,
    /// The trajectory whose times are those of all, where they are shared.
    clock: Option<usize>,
}

impl<S: Store> GridSink<S> {
    /// # Errors
    /// When the format has no place for times and these are not even.
    pub(crate) fn new(path: &Path, store: S, layout: &Layout) -> Result<Self> {
        if !store.holds_times() && layout.interval().is_none() {
            return Err(uneven(path));
        }
        let longest = layout.longest();
        let clock = layout.lengths.iter().position(|&n| n == longest);
        Ok(Self {
            path: path.to_owned(),
            store,
            layout: layout.clone(),
            longest,
            clock: clock.filter(|_| layout.shared_times),
        })
    }

    fn put(&mut self, array: Array, position: usize, numbers: &[f64]) -> Result<()> {
        self.store
            .put(array, position as u64, numbers)
            .map_err(|error| Error::io(&self.path, error))
    }

    fn pad(&mut self) -> Result<()> {
        let (longest, dim) = (self.longest, self.layout.dim);
        let rows_per_block = (BLOCK / dim).max(1).min(longest);
        let nan = vec![f64::NAN; rows_per_block * dim];
        for (k, rows) in self.layout.lengths.clone().into_iter().enumerate() {
            for start in (rows..longest).step_by(rows_per_block) {
                let count = rows_per_block.min(longest - start);
                let row = k * longest + start;
                self.put(Array::Values, row * dim, &nan[..count * dim])?;
                if self.clock.is_none() {
                    self.put(Array::Times, row, &nan[..count])?;
                }
            }
        }
        Ok(())
    }
}

fn uneven(path: &Path) -> Error {
    Error::file(
        path,
        "cannot store uneven times, or times that differ between trajectories; write .npz or .csv instead",
    )
}

impl<S: Store> Sink for GridSink<S> {
    fn write(&mut self, block: &Block) -> Result<()> {
        let row = block.trajectory * self.longest + block.start;
        if !self.store.holds_times() && !self.layout.is_even(block) {
            return Err(uneven(&self.path));
        }
        self.put(Array::Values, row * self.layout.dim, &block.values)?;
        match self.clock {
            None => self.put(Array::Times, row, &block.times),
            Some(k) if k == block.trajectory => self.put(Array::Times, block.start, &block.times),
            Some(_) => Ok(()),
        }
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        self.pad()?;
        Box::new(self.store).finish()
    }
}
