//! Blocks of initial samples: the units of every standard error.

use std::ops::Range;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::grid::Subsample;
use crate::control::Control;
use crate::data::{Ensemble, Trajectory};
use crate::error::Result;
use crate::random::{Purpose, Stream};

/// How samples are grouped into blocks that count as independent.
///
/// A pair belongs to the block of its initial sample. Blocks should be much longer than the
/// decorrelation time; whole trajectories are the safest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Blocking {
    /// Trajectories if there are at least 16, else about 32 stretches of time.
    #[default]
    Auto,
    /// One block per trajectory.
    Trajectories,
    /// Each trajectory cut into this many stretches of equal length.
    PerTrajectory(usize),
}

/// Name of a block: where it came from, so that shards can be merged in any order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct BlockId {
    /// Index of the trajectory.
    pub trajectory: usize,
    /// Stretch of the trajectory.
    pub part: usize,
}

/// The initial samples of one block, segment by segment.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    pub(crate) id: BlockId,
    /// (segment, rows of initial samples)
    pub(crate) starts: Vec<(Range<usize>, Range<usize>)>,
}

impl Blocking {
    /// Number of stretches that each trajectory of the ensemble is cut into.
    pub(crate) fn parts(&self, ensemble: &Ensemble) -> usize {
        match *self {
            Blocking::Auto if ensemble.len() >= 16 => 1,
            Blocking::Auto => 32usize.div_ceil(ensemble.len()),
            Blocking::Trajectories => 1,
            Blocking::PerTrajectory(parts) => parts.max(1),
        }
    }

    /// The blocks of the ensemble; `first` is the index its first trajectory counts as.
    pub(crate) fn plan(&self, ensemble: &Ensemble, first: usize) -> Vec<Block> {
        let parts = self.parts(ensemble);
        let mut blocks = Vec::new();
        // Segments come in the order of their trajectories.
        for segments in ensemble
            .segments()
            .chunk_by(|a, b| a.trajectory == b.trajectory)
        {
            let k = segments[0].trajectory;
            let length = ensemble.trajectories()[k].len();
            for part in 0..parts {
                let (low, high) = (length * part / parts, length * (part + 1) / parts);
                let starts: Vec<_> = segments
                    .iter()
                    .filter_map(|segment| {
                        let rows = segment.rows.start.max(low)..segment.rows.end.min(high);
                        (!rows.is_empty()).then(|| (segment.rows.clone(), rows))
                    })
                    .collect();
                if !starts.is_empty() {
                    let id = BlockId {
                        trajectory: first + k,
                        part,
                    };
                    blocks.push(Block { id, starts });
                }
            }
        }
        blocks
    }
}

impl Block {
    /// The initial rows of one stretch after sub-sampling, in order.
    pub(crate) fn initial_rows(
        &self,
        segment: &Range<usize>,
        rows: &Range<usize>,
        subsample: Subsample,
    ) -> impl Iterator<Item = usize> + use<> {
        let (mut first, mut step, mut chance) = (rows.start, 1, None);
        match subsample {
            Subsample::All => {}
            Subsample::Stride(stride) => {
                let offset = (rows.start - segment.start).next_multiple_of(stride);
                (first, step) = (segment.start + offset, stride);
            }
            Subsample::Random { fraction, seed } => {
                let key = (self.id.trajectory as u64) << 40 | rows.start as u64;
                chance = Some((Stream::new(seed, Purpose::Analysis, key), fraction));
            }
        }
        (first..rows.end)
            .step_by(step)
            .filter(move |_| match &mut chance {
                None => true,
                Some((stream, fraction)) => stream.uniform() < *fraction,
            })
    }
}

impl Block {
    /// Calls `visit(segment, rows)` with `size` initial rows at a time, and reports progress to `control`.
    pub(crate) fn each_tile(
        &self,
        subsample: Subsample,
        size: usize,
        control: &Control,
        mut visit: impl FnMut(&Range<usize>, &[usize]),
    ) -> Result<()> {
        for (segment, rows) in &self.starts {
            let mut done = rows.start;
            let mut step = |tile: &[usize]| {
                visit(segment, tile);
                let end = tile[tile.len() - 1] + 1;
                let passed = (end - done) as u64;
                done = end;
                control.advance(passed)
            };
            match subsample {
                // The same rows without the cost of choosing them one by one.
                Subsample::All => in_tiles(rows.clone(), size, &mut step),
                _ => in_tiles(self.initial_rows(segment, rows, subsample), size, &mut step),
            }?;
            control.advance((rows.end - done) as u64)?;
        }
        Ok(())
    }
}

/// The results of `work` for every block and its trajectory; blocks run in parallel.
pub(crate) fn over_blocks<T: Send>(
    ensemble: &Ensemble,
    blocking: Blocking,
    first_trajectory: usize,
    control: &Control,
    work: impl Fn(&Block, &Trajectory) -> Result<T> + Sync,
) -> Result<Vec<(BlockId, T)>> {
    let blocks = blocking.plan(ensemble, first_trajectory);
    control.begin(ensemble.samples() as u64);
    let done = blocks.par_iter().map(|block| {
        let trajectory = &ensemble.trajectories()[block.id.trajectory - first_trajectory];
        Ok((block.id, work(block, trajectory)?))
    });
    ensemble.intact(done.collect())
}

/// Calls `visit` with `size` items at a time, the last time with fewer: blocks of a long record have more
/// items than memory should hold.
pub(super) fn in_tiles<T>(
    mut items: impl Iterator<Item = T>,
    size: usize,
    mut visit: impl FnMut(&[T]) -> Result<()>,
) -> Result<()> {
    let mut tile = Vec::with_capacity(size);
    loop {
        tile.clear();
        tile.extend(items.by_ref().take(size));
        if tile.is_empty() {
            return Ok(());
        }
        visit(&tile)?;
    }
}
