//! Blocks of initial samples: the units of every standard error.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
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
/// decorrelation time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Blocking {
    /// 32 to 64 blocks of about equal numbers of samples: a long trajectory is cut into several, many short
    /// ones share one. Blocks end at the end of a trajectory where one is near.
    #[default]
    Auto,
    /// One block per trajectory.
    Trajectories,
    /// Each trajectory cut into this many stretches of equal length.
    PerTrajectory(usize),
}

/// Name of a block: where it begins, so that shards can be merged in any order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct BlockId {
    /// Index of the trajectory.
    pub trajectory: usize,
    /// Number of blocks that begin in this trajectory before this one.
    pub part: usize,
}

/// The initial samples of one block.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    pub(crate) id: BlockId,
    /// The index that the first trajectory of the ensemble counts as.
    pub(crate) first: usize,
    /// In the order of the ensemble.
    pub(crate) starts: Vec<Stretch>,
}

/// Consecutive initial samples.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stretch {
    /// Index of the trajectory in the ensemble.
    pub(crate) trajectory: usize,
    /// Rows between gaps, which no pair leaves.
    pub(crate) segment: Range<usize>,
    /// Rows of the samples.
    pub(crate) rows: Range<usize>,
}

/// Fewest and most blocks of [`Blocking::Auto`].
const FEWEST: usize = 32;
const MOST: usize = 64;

impl Blocking {
    /// The blocks of the ensemble; `first` is the index its first trajectory counts as.
    pub(crate) fn plan(&self, ensemble: &Ensemble, first: usize) -> Vec<Block> {
        match *self {
            Blocking::Auto => of_equal_size(ensemble, first),
            Blocking::Trajectories => of_trajectories(ensemble, first, 1),
            Blocking::PerTrajectory(parts) => of_trajectories(ensemble, first, parts.max(1)),
        }
    }
}

/// Every trajectory cut into this many stretches of equal length.
fn of_trajectories(ensemble: &Ensemble, first: usize, parts: usize) -> Vec<Block> {
    let mut blocks = Vec::new();
    // Segments come in the order of their trajectories.
    let trajectories = ensemble.segments();
    for segments in trajectories.chunk_by(|a, b| a.trajectory == b.trajectory) {
        let trajectory = segments[0].trajectory;
        let length = ensemble.trajectories()[trajectory].len();
        for part in 0..parts {
            let (low, high) = (length * part / parts, length * (part + 1) / parts);
            let starts = segments.iter().filter_map(|segment| {
                let rows = segment.rows.start.max(low)..segment.rows.end.min(high);
                (!rows.is_empty()).then(|| Stretch {
                    trajectory,
                    segment: segment.rows.clone(),
                    rows,
                })
            });
            let starts: Vec<Stretch> = starts.collect();
            if !starts.is_empty() {
                let id = BlockId {
                    trajectory: first + trajectory,
                    part,
                };
                blocks.push(Block { id, first, starts });
            }
        }
    }
    blocks
}

/// Blocks of about equal numbers of samples, whatever the lengths of the trajectories.
fn of_equal_size(ensemble: &Ensemble, first: usize) -> Vec<Block> {
    let bounds = equal_bounds(ensemble);
    let mut blocks: Vec<Block> = Vec::with_capacity(bounds.len());
    let (mut bounds, mut passed) = (bounds.into_iter().peekable(), 0);
    let mut open = false;
    for segment in ensemble.segments() {
        let mut row = segment.rows.start;
        while row < segment.rows.end {
            while bounds.next_if(|bound| *bound <= passed).is_some() {
                open = false;
            }
            let left = segment.rows.end - row;
            let taken = bounds.peek().map_or(left, |bound| left.min(bound - passed));
            let stretch = Stretch {
                trajectory: segment.trajectory,
                segment: segment.rows.clone(),
                rows: row..row + taken,
            };
            match blocks.last_mut().filter(|_| open) {
                Some(block) => block.starts.push(stretch),
                None => blocks.push(Block {
                    id: next_id(blocks.last(), first + segment.trajectory),
                    first,
                    starts: vec![stretch],
                }),
            }
            (row, passed, open) = (row + taken, passed + taken, true);
        }
    }
    blocks
}

/// The name of a block that begins in `trajectory`, after the block `before`.
fn next_id(before: Option<&Block>, trajectory: usize) -> BlockId {
    let before = before.filter(|block| block.id.trajectory == trajectory);
    BlockId {
        trajectory,
        part: before.map_or(0, |block| block.id.part + 1),
    }
}

/// Numbers of samples after which a block ends, increasing: multiples of an equal share of all samples,
/// moved by up to a quarter of it to the end of a trajectory.
fn equal_bounds(ensemble: &Ensemble) -> Vec<usize> {
    let mut ends: Vec<usize> = Vec::with_capacity(ensemble.len());
    let segments = ensemble.segments();
    for segments in segments.chunk_by(|a, b| a.trajectory == b.trajectory) {
        let samples: usize = segments.iter().map(|segment| segment.rows.len()).sum();
        ends.push(ends.last().unwrap_or(&0) + samples);
    }
    let samples = ensemble.samples();
    let count = match ends.len() {
        few if few <= MOST => few * FEWEST.div_ceil(few),
        many => many.div_ceil(many.div_ceil(MOST)),
    };
    let near = samples / (4 * count);
    let bounds = (1..=count).map(|k| {
        let bound = (samples as u128 * k as u128 / count as u128) as usize;
        let after = ends.partition_point(|end| *end < bound);
        let joins = &ends[after.saturating_sub(1)..ends.len().min(after + 1)];
        let join = joins.iter().min_by_key(|end| end.abs_diff(bound));
        *join
            .filter(|end| end.abs_diff(bound) <= near)
            .unwrap_or(&bound)
    });
    let mut bounds: Vec<usize> = bounds.collect();
    bounds.dedup();
    bounds
}

impl Block {
    /// The same block of an ensemble in which `sites` trajectories stand for each of this one.
    pub(crate) fn of_sites(&self, sites: usize) -> Self {
        let starts = self.starts.iter().flat_map(|stretch| {
            (0..sites).map(|site| Stretch {
                trajectory: stretch.trajectory * sites + site,
                ..stretch.clone()
            })
        });
        Self {
            id: self.id,
            first: self.first * sites,
            starts: starts.collect(),
        }
    }

    /// The part of this block in one trajectory, as a block of that trajectory alone.
    pub(crate) fn within(&self, trajectory: usize) -> Option<Self> {
        let from = |index: usize| self.starts.partition_point(|s| s.trajectory < index);
        let own = self.starts[from(trajectory)..from(trajectory + 1)].iter();
        let own = own.map(|stretch| Stretch {
            trajectory: 0,
            ..stretch.clone()
        });
        let starts: Vec<Stretch> = own.collect();
        (!starts.is_empty()).then_some(Self {
            id: self.id,
            first: self.first + trajectory,
            starts,
        })
    }

    /// The initial rows of one stretch after sub-sampling, in order.
    pub(crate) fn initial_rows(
        &self,
        stretch: &Stretch,
        subsample: Subsample,
    ) -> impl Iterator<Item = usize> + use<> {
        let rows = &stretch.rows;
        let (mut first, mut step, mut chance) = (rows.start, 1, None);
        match subsample {
            Subsample::All => {}
            Subsample::Stride(stride) => {
                let start = stretch.segment.start;
                (first, step) = (
                    start + (rows.start - start).next_multiple_of(stride),
                    stride,
                );
            }
            Subsample::Random { fraction, seed } => {
                let trajectory = self.first + stretch.trajectory;
                let key = (trajectory as u64) << 40 | rows.start as u64;
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

    /// Calls `visit(trajectory, segment, rows)` with up to `size` initial rows at a time, and reports progress
    /// to `control`.
    pub(crate) fn each_tile<'a>(
        &self,
        ensemble: &'a Ensemble,
        subsample: Subsample,
        size: usize,
        control: &Control,
        mut visit: impl FnMut(&'a Trajectory, &Range<usize>, &[usize]),
    ) -> Result<()> {
        for stretch in &self.starts {
            let trajectory = &ensemble.trajectories()[stretch.trajectory];
            let rows = &stretch.rows;
            let mut done = rows.start;
            let mut step = |tile: &[usize]| {
                visit(trajectory, &stretch.segment, tile);
                let end = tile[tile.len() - 1] + 1;
                let passed = (end - done) as u64;
                done = end;
                control.advance(passed)
            };
            match subsample {
                // The same rows without the cost of choosing them one by one.
                Subsample::All => in_tiles(rows.clone(), size, &mut step),
                _ => in_tiles(self.initial_rows(stretch, subsample), size, &mut step),
            }?;
            control.advance((rows.end - done) as u64)?;
        }
        Ok(())
    }
}

/// The results of `work` for every block; blocks run in parallel.
pub(crate) fn over_blocks<T: Send>(
    ensemble: &Ensemble,
    blocks: &[Block],
    control: &Control,
    work: impl Fn(&Block) -> Result<T> + Sync,
) -> Result<Vec<(BlockId, T)>> {
    control.begin(ensemble.samples() as u64);
    let done = blocks.par_iter().map(|block| Ok((block.id, work(block)?)));
    ensemble.intact(done.collect())
}

/// Adds up what belongs to the same block.
pub(crate) fn by_block<T>(
    parts: impl IntoIterator<Item = (BlockId, T)>,
    add: impl Fn(&mut T, &T),
) -> Vec<(BlockId, T)> {
    let mut all: BTreeMap<BlockId, T> = BTreeMap::new();
    for (id, part) in parts {
        match all.entry(id) {
            Entry::Occupied(mut sum) => add(sum.get_mut(), &part),
            Entry::Vacant(place) => {
                place.insert(part);
            }
        }
    }
    all.into_iter().collect()
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

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::*;
    use crate::data::Times;

    /// Trajectories of these lengths.
    fn record(lengths: &[usize]) -> Ensemble {
        let one = |length: &usize| {
            let values = Array2::from_shape_fn((*length, 1), |(i, _)| i as f64);
            Trajectory::new(values, Times::every(0.1))
        };
        Ensemble::new(lengths.iter().map(one).collect()).unwrap()
    }

    fn sizes(blocks: &[Block]) -> Vec<usize> {
        let size = |block: &Block| block.starts.iter().map(|s| s.rows.len()).sum();
        blocks.iter().map(size).collect()
    }

    #[test]
    fn blocks_have_equal_numbers_of_samples_whatever_the_lengths() {
        let uneven: Vec<usize> = std::iter::once(5001).chain([12; 16]).collect();
        let growing: Vec<usize> = (1..200).collect();
        for lengths in [
            vec![4000],
            vec![300; 5],
            vec![100; 27],
            vec![10; 3000],
            vec![50; 65],
            uneven,
            growing,
        ] {
            let ensemble = record(&lengths);
            let blocks = Blocking::Auto.plan(&ensemble, 0);
            let sizes = sizes(&blocks);
            let mean = ensemble.samples() as f64 / sizes.len() as f64;
            assert!((32..=64).contains(&sizes.len()), "{}", sizes.len());
            let even = |size: &usize| (0.45..=1.55).contains(&(*size as f64 / mean));
            assert!(sizes.iter().all(even), "{sizes:?}");
            // Every sample once, in order, within its trajectory, under its own name.
            let all = blocks.iter().flat_map(|block| &block.starts);
            let mut expected = (0, 0);
            for stretch in all {
                if stretch.trajectory != expected.0 {
                    assert_eq!(expected, (stretch.trajectory - 1, lengths[expected.0]));
                    expected = (stretch.trajectory, 0);
                }
                assert_eq!(stretch.rows.start, expected.1);
                assert!(stretch.rows.end <= stretch.segment.end);
                expected.1 = stretch.rows.end;
            }
            assert_eq!(expected, (lengths.len() - 1, lengths[lengths.len() - 1]));
            assert!(blocks.windows(2).all(|pair| pair[0].id < pair[1].id));
        }
    }

    #[test]
    fn equal_trajectories_are_not_cut_without_need() {
        for (count, blocks, trajectories) in [(36, 36, 1), (128, 64, 2), (3000, 64, 47)] {
            let plan = Blocking::Auto.plan(&record(&vec![20; count]), 0);
            assert_eq!(plan.len(), blocks);
            let whole = |block: &Block| block.starts.iter().all(|s| s.rows.len() == 20);
            assert!(plan.iter().all(whole));
            assert!(
                plan.iter()
                    .all(|b| b.starts.len().abs_diff(trajectories) <= 1)
            );
        }
    }

    #[test]
    fn gaps_do_not_count() {
        let values = Array2::from_shape_fn((6400, 1), |(i, _)| {
            if i < 3200 && i % 320 != 0 {
                f64::NAN
            } else {
                i as f64
            }
        });
        let plan = Blocking::Auto.plan(&Ensemble::from_array(values, 0.1).unwrap(), 0);
        let sizes = sizes(&plan);
        assert_eq!(sizes.len(), 32);
        assert!(
            sizes.iter().all(|size| (100..=101).contains(size)),
            "{sizes:?}"
        );
    }
}
