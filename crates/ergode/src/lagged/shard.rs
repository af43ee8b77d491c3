//! The samples of a part of a record, by the rows where the blocks of the whole begin.

use std::ops::Range;

use super::accumulate::{LaggedConfig, Starts};
use super::blocks::{Block, BlockId, Stretch};
use super::grid::Subsample;
use crate::data::Ensemble;

/// Initial rows that one task takes.
const TOGETHER: usize = 1 << 14;

impl LaggedConfig {
    /// The blocks of an ensemble in order, each with the trajectory and the row of its first sample.
    pub(crate) fn beginnings(&self, ensemble: &Ensemble) -> Vec<(BlockId, usize, usize)> {
        let blocks = self.blocking.plan(ensemble, self.first_trajectory);
        let first = |block: &Block| {
            let start = &block.starts[0];
            (block.id, start.trajectory, start.rows.start)
        };
        blocks.iter().map(first).collect()
    }
}

impl Starts {
    /// The samples of an ensemble in given rows of a trajectory, as parts of given blocks.
    pub(crate) fn of_parts(ensemble: &Ensemble, parts: &[(BlockId, usize, Range<usize>)]) -> Self {
        let mut blocks = Vec::new();
        let segments = ensemble.segments();
        for (id, trajectory, rows) in parts {
            let from = segments.partition_point(|s| s.trajectory < *trajectory);
            let to = segments.partition_point(|s| s.trajectory <= *trajectory);
            for segment in &segments[from..to] {
                let (start, end) = (
                    rows.start.max(segment.rows.start),
                    rows.end.min(segment.rows.end),
                );
                let pieces = (start..end).step_by(TOGETHER);
                blocks.extend(pieces.map(|low| Block {
                    id: *id,
                    first: 0,
                    starts: vec![Stretch {
                        trajectory: *trajectory,
                        segment: segment.rows.clone(),
                        rows: low..end.min(low + TOGETHER),
                    }],
                }));
            }
        }
        Self {
            blocks,
            subsample: Subsample::All,
        }
    }
}
