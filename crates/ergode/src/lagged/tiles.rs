//! A pass over lagged pairs for statistics that do not factor into future times initial.

use super::accumulate::LaggedConfig;
use super::blocks::{Block, BlockId, Stretch, in_tiles, over_blocks};
use super::grid::LagGrid;
use crate::control::Control;
use crate::data::{Ensemble, States, Trajectory};
use crate::error::Result;

/// Pairs of one block at one lag of the grid.
#[derive(Debug, Default)]
pub(crate) struct PairTile {
    /// Index of the lag in the grid.
    pub(crate) lag: usize,
    /// Initial states, (D, n).
    pub(crate) initial: States,
    /// Future states, (D, n).
    pub(crate) future: States,
    /// The time between the two, (n).
    pub(crate) times: Vec<f64>,
}

/// Pairs in a tile.
const TILE: usize = 256;

/// Adds up `sums` over the pairs of every block, tile by tile, lag by lag; blocks run side by side.
pub(crate) fn accumulate_pairs<T: Send>(
    ensemble: &Ensemble,
    grid: &LagGrid,
    config: &LaggedConfig,
    control: &Control,
    zero: impl Fn() -> T + Sync,
    add: impl Fn(&mut T, &PairTile) + Sync,
) -> Result<Vec<(BlockId, T)>> {
    config.subsample.validate()?;
    grid.check(ensemble)?;
    let blocks = config.starts(ensemble).blocks;
    over_blocks(ensemble, &blocks, control, |block| {
        let (mut sums, mut tile) = (zero(), PairTile::default());
        for (lag, _) in grid.lags().iter().enumerate() {
            tile.lag = lag;
            let trajectories = block.starts.chunk_by(|a, b| a.trajectory == b.trajectory);
            for own in trajectories {
                let trajectory = &ensemble.trajectories()[own[0].trajectory];
                let pairs = pairs(block, own, trajectory, (grid, lag), config);
                in_tiles(pairs, TILE, |pairs| {
                    tile.fill(trajectory, pairs);
                    add(&mut sums, &tile);
                    control.advance(0)
                })?;
            }
        }
        let rows = block.starts.iter().map(|own| own.rows.len() as u64);
        control.advance(rows.sum())?;
        Ok(sums)
    })
}

/// (initial, future) rows of the stretches of one trajectory at one lag.
fn pairs<'a>(
    block: &'a Block,
    own: &'a [Stretch],
    trajectory: &'a Trajectory,
    (grid, lag): (&'a LagGrid, usize),
    config: &'a LaggedConfig,
) -> impl Iterator<Item = (usize, usize)> + 'a {
    own.iter().flat_map(move |stretch| {
        let rows = block.initial_rows(stretch, config.subsample);
        rows.flat_map(move |row| {
            let partners = grid.partners(trajectory, &stretch.segment, row, lag);
            partners.map(move |partner| (row, partner))
        })
    })
}

impl PairTile {
    fn fill(&mut self, trajectory: &Trajectory, pairs: &[(usize, usize)]) {
        self.initial
            .pick(trajectory, pairs.iter().map(|pair| pair.0));
        // At lag zero both ends are the same sample.
        if pairs.iter().any(|(initial, future)| initial != future) {
            self.future
                .pick(trajectory, pairs.iter().map(|pair| pair.1));
        } else {
            self.future.clone_from(&self.initial);
        }
        let time = |(initial, future): &(usize, usize)| {
            trajectory.time(*future) - trajectory.time(*initial)
        };
        self.times.clear();
        self.times.extend(pairs.iter().map(time));
    }
}
