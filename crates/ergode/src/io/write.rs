//! Writing ensembles, whole or some rows of every trajectory at a time.

use std::path::Path;

use ndarray::{ArrayView3, Axis};

use super::layout::Layout;
use super::registry::format_of;
use super::rows::{Block, Sink};
use crate::data::Ensemble;
use crate::error::{Error, Result};

/// Writes trajectories to a file whose extension names its format.
///
/// The file appears under its name only once it is complete.
///
/// # Errors
/// When the extension is not known, the file cannot be written, or the format cannot hold the ensemble.
pub fn write_ensemble(path: impl AsRef<Path>, ensemble: &Ensemble) -> Result<()> {
    let path = path.as_ref();
    format_of(path)?.write(path, ensemble)
}

/// Trajectories of equal length that grow on disk; the file gets its name at the end.
pub(crate) struct RowStream {
    sink: Box<dyn Sink>,
    step: f64,
}

impl RowStream {
    /// Begin a file of this shape (trajectory, time, dimension), with times 0, `step`, ... where the
    /// format holds them.
    pub(crate) fn create(
        path: &Path,
        shape: (usize, usize, usize),
        step: f64,
        names: &[String],
    ) -> Result<Self> {
        let format = format_of(path)?;
        let (trajectories, samples, dim) = shape;
        if !format.takes_any_order() && trajectories > 1 {
            return Err(Error::file(
                path,
                "tables cannot be written piece by piece; choose .npz, .npy, .zarr, .h5 or .nc, \
                 or raise the memory budget",
            ));
        }
        let layout = Layout {
            lengths: vec![samples; trajectories],
            ends: vec![(0.0, samples.saturating_sub(1) as f64 * step); trajectories],
            dim,
            names: names.to_vec(),
            units: None,
            single: false,
            shared_times: true,
        };
        Ok(Self {
            sink: format.create(path, &layout)?,
            step,
        })
    }

    /// Write `rows` (trajectory, time, dimension) from time index `start` on.
    pub(crate) fn write_rows(&mut self, start: usize, rows: ArrayView3<f64>) -> Result<()> {
        let count = rows.len_of(Axis(1));
        let mut block = Block {
            start,
            times: (start..start + count)
                .map(|i| i as f64 * self.step)
                .collect(),
            ..Block::default()
        };
        for (k, part) in rows.outer_iter().enumerate() {
            block.trajectory = k;
            block.values.clear();
            block.values.extend(part);
            self.sink.write(&block)?;
        }
        Ok(())
    }

    /// Give the file its name.
    pub(crate) fn finish(self) -> Result<()> {
        self.sink.finish()
    }
}
