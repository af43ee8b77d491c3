//! Rows of a record in order, a block at a time.

use std::path::Path;

use super::options::ReadOptions;
use super::read::open_all;
use super::rows::{Block, MemorySource, Source};
use crate::data::{Ensemble, default_names};
use crate::error::{Error, Result, printable};

/// The rows of a file, a folder of files or a pattern, as for [`read_ensemble`](crate::read_ensemble), or of an
/// ensemble.
pub(crate) struct RowSource(Box<dyn Source>);

impl RowSource {
    /// Opens what a path stands for.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub(crate) fn open(path: &Path, options: &ReadOptions) -> Result<Self> {
        open_all(path, options).map(Self)
    }

    /// The rows of an ensemble.
    pub(crate) fn of(ensemble: &Ensemble) -> Self {
        Self(Box::new(MemorySource::new(ensemble.clone())))
    }

    /// The next rows; `None` after the last.
    ///
    /// # Errors
    /// When they cannot be read.
    pub(crate) fn next_block(&mut self) -> Result<Option<Block>> {
        self.0.next_block()
    }

    /// Leaves out rows before this one, or some of them, where that saves reading.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub(crate) fn seek(&mut self, trajectory: usize, row: usize) -> Result<()> {
        self.0.seek(trajectory, row)
    }

    /// Refuses rows of other coordinates.
    ///
    /// # Errors
    /// When the coordinates have other names, or there is another number of them.
    pub(crate) fn require(&self, names: &[String]) -> Result<()> {
        let description = self.0.description();
        let own = match &description.names {
            Some(own) => own.iter().map(|name| printable(name)).collect(),
            None => default_names(description.dim),
        };
        if own == names || (description.names.is_none() && own.len() == names.len()) {
            return Ok(());
        }
        Err(Error::input(format!(
            "the coordinates are {}, but those of the plan {}",
            own.join(", "),
            names.join(", ")
        )))
    }
}
