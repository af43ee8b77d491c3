//! Lagged statistics: pairs, sums kept per block, correlations, their derivative and integral.

mod accumulate;
mod blocks;
mod derivative;
mod grid;
mod integral;
mod jackknife;
mod lasting;
mod pool;
mod shard;
mod sums;
mod tiles;

pub use accumulate::{LaggedConfig, accumulate_lagged};
pub(crate) use accumulate::{
    Starts, accumulate_blocks, accumulate_moments, accumulate_shard, accumulate_starts,
    moments_of_shard,
};
pub use blocks::{BlockId, Blocking};
pub(crate) use blocks::{by_block, over_blocks};
pub use derivative::{LocalPolynomial, choose_bandwidth};
pub use grid::{LagGrid, Subsample};
pub use integral::{IntegralRule, relaxation_rates};
pub use jackknife::Jackknife;
pub(crate) use jackknife::{CoefficientErrors, deviations, paired};
pub(crate) use pool::{Pool, held_out_stretches, stretches};
pub use sums::{LaggedSums, PairSums};
pub(crate) use tiles::{PairTile, accumulate_pairs};
