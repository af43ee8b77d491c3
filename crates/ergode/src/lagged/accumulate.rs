//! One pass over the data: tiles of initial samples through matrix products.

use std::ops::Range;

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};
use ndarray::{ArrayView3, s};

use super::blocks::{Block, BlockId, Blocking, by_block, over_blocks};
use super::grid::{LagGrid, Subsample};
use super::sums::{LaggedSums, PairSums};
use crate::control::Control;
use crate::data::{Ensemble, Standardiser, States, Trajectory};
use crate::error::{Error, Result};
use crate::observable::{Functions, Monomials, Standardised};
use crate::simd;

/// How statistics are collected.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LaggedConfig {
    /// Which samples begin a pair.
    pub subsample: Subsample,
    /// The units of the standard errors.
    pub blocking: Blocking,
    /// The index that the first trajectory counts as; shards need distinct ones.
    pub first_trajectory: usize,
}

/// The samples that begin pairs, block by block.
#[derive(Clone, Debug)]
pub(crate) struct Starts {
    pub(crate) blocks: Vec<Block>,
    pub(crate) subsample: Subsample,
}

impl LaggedConfig {
    /// The samples of an ensemble that begin pairs.
    pub(crate) fn starts(&self, ensemble: &Ensemble) -> Starts {
        Starts {
            blocks: self.blocking.plan(ensemble, self.first_trajectory),
            subsample: self.subsample,
        }
    }
}

/// Initial samples in a tile: the inner dimension of the matrix products.
const TILE: usize = 256;

/// Sums of all monomials of the standardised coordinates up to `degree`, (the constant, monomial) at the one lag
/// zero.
pub(crate) fn accumulate_moments(
    ensemble: &Ensemble,
    standardiser: &Standardiser,
    degree: usize,
    starts: &Starts,
    control: &Control,
) -> Result<LaggedSums> {
    let sums = moments_of_shard(ensemble, standardiser, degree, starts, control)?;
    sums.require_pairs()?;
    Ok(sums)
}

/// [`accumulate_moments`] of a part of the data, which may have no sample.
pub(crate) fn moments_of_shard(
    ensemble: &Ensemble,
    standardiser: &Standardiser,
    degree: usize,
    starts: &Starts,
    control: &Control,
) -> Result<LaggedSums> {
    let constant = Monomials::new(ensemble.names(), 0..=0)?;
    let monomials = Monomials::of(ensemble.names(), standardiser, 0..=degree)?;
    let monomials = Standardised::new(standardiser.clone(), monomials);
    let zero = LagGrid::for_ensemble(ensemble, &[0.0])?;
    accumulate_shard(ensemble, &constant, &monomials, &zero, starts, control)
}

/// Sums of φ_m(x_t) B_n(x_0) over the pairs of `ensemble`.
///
/// The work is a matrix product for each tile of initial samples: the values of all φ at all lags,
/// (lag × m, sample), times the values of all B, (sample, n). Pairs are never materialised. Where a
/// lag window holds several partners of a sample, their φ are added up first.
///
/// # Errors
/// When the functions and the data differ in dimension, a lag has no pair of samples, or the work is
/// stopped.
pub fn accumulate_lagged(
    ensemble: &Ensemble,
    future: &dyn Functions,
    initial: &dyn Functions,
    grid: &LagGrid,
    config: &LaggedConfig,
    control: &Control,
) -> Result<LaggedSums> {
    let starts = config.starts(ensemble);
    accumulate_starts(ensemble, future, initial, grid, &starts, control)
}

/// [`accumulate_lagged`] of pairs that begin with given samples.
pub(crate) fn accumulate_starts(
    ensemble: &Ensemble,
    future: &dyn Functions,
    initial: &dyn Functions,
    grid: &LagGrid,
    starts: &Starts,
    control: &Control,
) -> Result<LaggedSums> {
    let sums = accumulate_shard(ensemble, future, initial, grid, starts, control)?;
    sums.require_pairs()?;
    Ok(sums)
}

/// [`accumulate_starts`] of a part of the data, which may have no pair at some lags.
pub(crate) fn accumulate_shard(
    ensemble: &Ensemble,
    future: &dyn Functions,
    initial: &dyn Functions,
    grid: &LagGrid,
    starts: &Starts,
    control: &Control,
) -> Result<LaggedSums> {
    let blocks = accumulate_blocks(ensemble, future, initial, grid, starts, control, |sums| {
        sums
    })?;
    Ok(LaggedSums {
        grid: grid.clone(),
        future: future.labels().to_vec(),
        initial: initial.labels().to_vec(),
        blocks: by_block(blocks, |sum, part| sum.add(part, 1.0)),
    })
}

/// The sums of every block, each reduced as soon as it is done: for statistics whose blocks are too large
/// to be kept.
pub(crate) fn accumulate_blocks<T: Send>(
    ensemble: &Ensemble,
    future: &dyn Functions,
    initial: &dyn Functions,
    grid: &LagGrid,
    starts: &Starts,
    control: &Control,
    reduce: impl Fn(PairSums) -> T + Sync,
) -> Result<Vec<(BlockId, T)>> {
    grid.check(ensemble)?;
    starts.subsample.validate()?;
    for functions in [future, initial] {
        if functions.dim() != ensemble.dim() {
            return Err(Error::input(format!(
                "the functions are in dimension {}, the data in dimension {}; use the same coordinates \
                 for both",
                functions.dim(),
                ensemble.dim()
            )));
        }
    }
    over_blocks(ensemble, &starts.blocks, control, |block| {
        let mut worker = Worker::new(future, initial, grid);
        let subsample = starts.subsample;
        block.each_tile(
            ensemble,
            subsample,
            TILE,
            control,
            |record, segment, tile| {
                worker.tile(record, segment, tile);
            },
        )?;
        Ok(reduce(worker.finish()))
    })
}

/// Buffers of one thread working on one block.
struct Worker<'a> {
    future: &'a dyn Functions,
    initial: &'a dyn Functions,
    grid: &'a LagGrid,
    sums: PairSums,
    /// The running product, (lag, m and the number of partners; n).
    product: Vec<f64>,
    states: States,
    /// φ at the rows that a tile reaches, (m, row).
    reached: Vec<f64>,
    /// φ summed over partners and the number of partners, (lag, m + 1; sample).
    left: Vec<f64>,
    /// B at the initial samples, (n, sample).
    right: Vec<f64>,
    ends: Ends,
}

/// A tile of initial samples and the rows that it reaches.
struct Reached<'a> {
    trajectory: &'a Trajectory,
    segment: &'a Range<usize>,
    /// Rows of the initial samples.
    starts: &'a [usize],
    /// The first row that is reached.
    base: usize,
    /// Number of states at which φ was evaluated.
    loaded: usize,
}

/// Buffers for the correction of sums in windows, if enabled: both ends of every pair, each with itself.
#[derive(Default)]
struct Ends {
    /// B at the rows that a tile reaches, (n, row).
    reached: Vec<f64>,
    /// Half the number of pairs that each row is an end of.
    weights: Vec<f64>,
    /// φ and 1 times these, (m + 1, row).
    weighted: Vec<f64>,
}

impl<'a> Worker<'a> {
    fn new(future: &'a dyn Functions, initial: &'a dyn Functions, grid: &'a LagGrid) -> Self {
        let (lags, m, n) = (grid.len(), future.len(), initial.len());
        Self {
            future,
            initial,
            grid,
            sums: PairSums::zeros(grid, m, n),
            product: vec![0.0; lags * (m + 1) * n],
            states: States::default(),
            reached: Vec::new(),
            left: vec![0.0; lags * (m + 1) * TILE],
            right: vec![0.0; n * TILE],
            ends: Ends::default(),
        }
    }

    fn tile(&mut self, trajectory: &Trajectory, segment: &Range<usize>, starts: &[usize]) {
        let count = starts.len();
        let (m, n) = (self.future.len(), self.initial.len());
        let base = starts[0];
        let end = self.grid.reach(trajectory, segment, starts[count - 1]);
        // φ on every row that the tile reaches or, where these are fewer, on the partners of its samples.
        let partners = self.grid.len() * count;
        let scattered = self.grid.exact(0).is_some() && partners < end - base;
        let loaded = if scattered { partners } else { end - base };
        if scattered {
            let grid = self.grid;
            let partner = |k: usize| {
                let (lag, start) = (k / count, starts[k % count]);
                let partner = grid.exact(lag).map_or(start, |(step, _)| start + step);
                if partner < segment.end { partner } else { base }
            };
            self.states.pick(trajectory, (0..loaded).map(partner));
        } else {
            self.states.load(trajectory, base..end);
        }
        self.reached.resize(m * loaded, 0.0);
        self.future.values(&self.states, &mut self.reached);
        let reached = Reached {
            trajectory,
            segment,
            starts,
            base,
            loaded,
        };
        self.gather(&reached, scattered);
        if self.grid.ends_off() {
            self.take_off_ends(&reached);
        }
        // B on the initial samples; a list that serves both ends is not evaluated twice.
        self.right.resize(n * count, 0.0);
        if std::ptr::addr_eq(self.future, self.initial) && !scattered {
            let rows = self.right.chunks_exact_mut(count);
            for (row, reached) in rows.zip(self.reached.chunks_exact(loaded)) {
                choose(reached, starts, base, row);
            }
        } else {
            self.states.pick(trajectory, starts.iter().copied());
            self.initial.values(&self.states, &mut self.right);
        }
        let lag_rows = self.grid.len() * (m + 1);
        let left = MatRef::from_row_major_slice(&self.left[..lag_rows * count], lag_rows, count);
        let right = MatRef::from_row_major_slice(&self.right, n, count);
        let product = MatMut::from_row_major_slice_mut(&mut self.product, lag_rows, n);
        matmul(product, Accum::Add, left, right.transpose(), 1.0, Par::Seq);
    }

    /// Fill `left` and the counts: for every lag the φ of the partners of each initial sample, which are
    /// (lag, sample) where `scattered`, else rows from `base` on.
    fn gather(&mut self, tile: &Reached, scattered: bool) {
        let &Reached {
            trajectory,
            segment,
            starts,
            base,
            loaded,
        } = tile;
        let (m, count) = (self.future.len(), starts.len());
        let nominal = self.grid.lags();
        let lags = self.left.chunks_exact_mut((m + 1) * count);
        for (lag, rows) in lags.take(self.grid.len()).enumerate() {
            let (values, partners) = rows.split_at_mut(m * count);
            let sums = &mut self.sums;
            if let Some((step, lag_time)) = self.grid.exact(lag) {
                let paired = starts.partition_point(|start| start + step < segment.end);
                partners[..paired].fill(1.0);
                partners[paired..].fill(0.0);
                for (row, reached) in values
                    .chunks_exact_mut(count)
                    .zip(self.reached.chunks_exact(loaded))
                {
                    if scattered {
                        row[..paired].copy_from_slice(&reached[lag * count..][..paired]);
                    } else {
                        let later = &reached[step.min(loaded)..];
                        choose(later, &starts[..paired], base, &mut row[..paired]);
                    }
                    row[paired..].fill(0.0);
                }
                sums.pairs[lag] += paired as f64;
                sums.separations[lag] += paired as f64 * lag_time;
            } else {
                for (s, &start) in starts.iter().enumerate() {
                    let window = self.grid.partners(trajectory, segment, start, lag);
                    let now = trajectory.time(start);
                    partners[s] = window.len() as f64;
                    sums.pairs[lag] += window.len() as f64;
                    for row in window.clone() {
                        let separation = trajectory.time(row) - now;
                        sums.separations[lag] += separation;
                        sums.scatter[lag] += (separation - nominal[lag]).powi(2);
                    }
                    for k in 0..m {
                        let reached = &self.reached[k * loaded..];
                        values[k * count + s] =
                            reached[window.start - base..window.end - base].iter().sum();
                    }
                }
            }
            for (k, row) in values.chunks_exact(count).enumerate() {
                sums.future[[lag, k]] += simd::sum(row);
            }
        }
    }

    /// −½ Σ [φ(x_0) B(x_0) + φ(x_t) B(x_t)] over the pairs of every lag but the first, and the same of the
    /// means.
    fn take_off_ends(&mut self, tile: &Reached) {
        let &Reached {
            trajectory,
            segment,
            starts,
            base,
            loaded,
        } = tile;
        let (m, n) = (self.future.len(), self.initial.len());
        let ends = &mut self.ends;
        ends.reached.resize(n * loaded, 0.0);
        self.initial.values(&self.states, &mut ends.reached);
        ends.weighted.resize((m + 1) * loaded, 0.0);
        let right = MatRef::from_row_major_slice(&ends.reached, n, loaded);
        let products = self.product.chunks_exact_mut((m + 1) * n);
        for (lag, product) in products.enumerate().skip(1) {
            ends.weights.clear();
            ends.weights.resize(loaded, 0.0);
            for &start in starts {
                let window = self.grid.partners(trajectory, segment, start, lag);
                ends.weights[start - base] += 0.5 * window.len() as f64;
                for row in window {
                    ends.weights[row - base] += 0.5;
                }
            }
            let (values, ones) = ends.weighted.split_at_mut(m * loaded);
            ones.copy_from_slice(&ends.weights);
            let functions = values
                .chunks_exact_mut(loaded)
                .zip(self.reached.chunks_exact(loaded));
            for (k, (weighted, reached)) in functions.enumerate() {
                for ((out, phi), weight) in weighted.iter_mut().zip(reached).zip(&ends.weights) {
                    *out = phi * weight;
                }
                self.sums.future[[lag, k]] -= simd::sum(weighted);
            }
            let left = MatRef::from_row_major_slice(&ends.weighted, m + 1, loaded);
            let product = MatMut::from_row_major_slice_mut(product, m + 1, n);
            matmul(product, Accum::Add, left, right.transpose(), -1.0, Par::Seq);
        }
    }

    fn finish(mut self) -> PairSums {
        let (lags, m, n) = self.sums.products.dim();
        let product =
            ArrayView3::from_shape((lags, m + 1, n), &self.product).expect("lag, m + 1, n");
        self.sums.products.assign(&product.slice(s![.., ..m, ..]));
        self.sums.initial.assign(&product.slice(s![.., m, ..]));
        self.sums
    }
}

/// The values at the rows `starts`, of values that begin at row `base`.
fn choose(values: &[f64], starts: &[usize], base: usize, out: &mut [f64]) {
    let [Some(&first), Some(&last)] = [starts.first(), starts.last()] else {
        return;
    };
    if last - first + 1 == starts.len() {
        out.copy_from_slice(&values[first - base..][..starts.len()]);
        return;
    }
    for (out, start) in out.iter_mut().zip(starts) {
        *out = values[start - base];
    }
}
