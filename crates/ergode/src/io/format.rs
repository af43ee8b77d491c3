//! The interface of a file format.

use std::path::Path;

use super::layout::Layout;
use super::options::ReadOptions;
use super::rows::{MemorySource, Sink, Source, collect, copy};
use crate::control::Control;
use crate::data::Ensemble;
use crate::error::Result;

/// One kind of file that holds trajectories.
pub(crate) trait Format: Sync {
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

    /// True for a format of values alone, without times, names and units.
    fn holds_values_only(&self) -> bool {
        false
    }

    /// True for tables, whose columns have names, rather than files of named arrays.
    fn is_table(&self) -> bool {
        false
    }

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
