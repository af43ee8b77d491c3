//! Sums over pairs, kept per block; everything else is computed from them.

use ndarray::{Array, Array1, Array2, Array3, ArrayView, Axis, Dimension};
use serde::{Deserialize, Serialize};

use super::blocks::{BlockId, by_block};
use super::grid::LagGrid;
use super::jackknife::Jackknife;
use crate::data::{Packed, pack};
use crate::error::{Error, Result};

/// Σ φ_m(x_t) B_n(x_0) over the pairs of every lag and block.
///
/// Sums of different trajectories merge exactly, in any order; they serialise, so that shards can
/// be computed elsewhere.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LaggedSums {
    pub(super) grid: LagGrid,
    pub(super) future: Vec<String>,
    pub(super) initial: Vec<String>,
    pub(super) blocks: Vec<(BlockId, PairSums)>,
}

/// The sums of one block, or of several added up.
///
/// With uneven sampling the number of partners in a window varies from sample to sample. For correlations of
/// like functions this is corrected: the average over the pairs of a lag is
/// ⟨φ(x_t) B(x_0) − ½ [φ(x_0) B(x_0) + φ(x_t) B(x_t)]⟩ over them plus ⟨φ(x) B(x)⟩ over all initial
/// samples, and likewise for the means, where φ or B is 1. For stationary data the expectation is the same.
/// In an even record the ends of all pairs cancel, except those of the record. In an uneven record the noise
/// of their numbers, and x_0 (x_t − x_0), would hide the short-time change C(t) − C(0); the correction makes
/// its symmetric part the average of −½ Δφ ΔB.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PairSums {
    /// Number of pairs at each lag.
    pub(crate) pairs: Array1<f64>,
    /// Σ (t_s − t_r) at each lag.
    pub(crate) separations: Array1<f64>,
    /// Σ (t_s − t_r − c)² at each lag, with its nominal value c.
    pub(super) scatter: Array1<f64>,
    /// True where the ends of the pairs are taken off the sums below, at all lags but the first, zero.
    ends_off: bool,
    /// Σ φ_m(x_t), (lag, m).
    pub(crate) future: Array2<f64>,
    /// Σ B_n(x_0), (lag, n).
    pub(crate) initial: Array2<f64>,
    /// Σ φ_m(x_t) B_n(x_0), (lag, m, n).
    pub(crate) products: Array3<f64>,
}

impl PairSums {
    pub(super) fn zeros(grid: &LagGrid, m: usize, n: usize) -> Self {
        let lags = grid.len();
        Self {
            ends_off: grid.ends_off(),
            pairs: Array1::zeros(lags),
            separations: Array1::zeros(lags),
            scatter: Array1::zeros(lags),
            future: Array2::zeros((lags, m)),
            initial: Array2::zeros((lags, n)),
            products: Array3::zeros((lags, m, n)),
        }
    }

    /// Appends the numbers.
    pub(super) fn pack(&self, out: &mut Vec<u8>) {
        pack(&self.pairs, out);
        pack(&self.separations, out);
        pack(&self.scatter, out);
        pack(&self.future, out);
        pack(&self.initial, out);
        pack(&self.products, out);
    }

    /// The sums with these numbers.
    pub(super) fn unpack(grid: &LagGrid, m: usize, n: usize, numbers: &mut Packed) -> Result<Self> {
        let lags = grid.len();
        Ok(Self {
            ends_off: grid.ends_off(),
            pairs: numbers.vector(lags)?,
            separations: numbers.vector(lags)?,
            scatter: numbers.vector(lags)?,
            future: numbers.matrix((lags, m))?,
            initial: numbers.matrix((lags, n))?,
            products: numbers.cube((lags, m, n))?,
        })
    }

    pub(super) fn add(&mut self, other: &Self, sign: f64) {
        self.pairs.scaled_add(sign, &other.pairs);
        self.separations.scaled_add(sign, &other.separations);
        self.scatter.scaled_add(sign, &other.scatter);
        self.future.scaled_add(sign, &other.future);
        self.initial.scaled_add(sign, &other.initial);
        self.products.scaled_add(sign, &other.products);
    }

    /// Number of pairs at a lag.
    pub fn pairs(&self, lag: usize) -> f64 {
        self.pairs[lag]
    }

    /// Mean separation t_s − t_r of the pairs at each lag.
    pub fn lags(&self) -> Array1<f64> {
        &self.separations / &self.pairs
    }

    /// Variance of the separation t_s − t_r over the pairs at each lag of `grid`, on which the sums
    /// were collected; zero where every pair has its lag exactly.
    pub fn lag_variances(&self, grid: &LagGrid) -> Array1<f64> {
        let offsets = self.lags() - Array1::from(grid.lags());
        let variances = &self.scatter / &self.pairs - &offsets * &offsets;
        variances.mapv(|variance| variance.max(0.0))
    }

    /// ⟨φ_m(x_t) B_n(x_0)⟩ at a lag (`eq:app_localpoly_empirical_correlation`).
    pub fn correlation(&self, lag: usize) -> Array2<f64> {
        self.average(lag, |lag| self.products.index_axis(Axis(0), lag))
    }

    /// Sums at a lag over its pairs, with what was taken off the ends given back from lag zero.
    fn average<'a, D: Dimension>(
        &self,
        lag: usize,
        sums: impl Fn(usize) -> ArrayView<'a, f64, D>,
    ) -> Array<f64, D> {
        let mut average = sums(lag).to_owned() / self.pairs[lag];
        if self.ends_off && lag > 0 {
            average += &(sums(0).to_owned() / self.pairs[0]);
        }
        average
    }

    /// ⟨(φ_m(x_t) − ⟨φ_m⟩)(B_n(x_0) − ⟨B_n⟩)⟩, both means over the pairs of the lag.
    pub fn covariance(&self, lag: usize) -> Array2<f64> {
        let (future, initial) = (self.future_mean(lag), self.initial_mean(lag));
        let outer = future
            .insert_axis(Axis(1))
            .dot(&initial.insert_axis(Axis(0)));
        self.correlation(lag) - outer
    }

    /// ⟨φ_m(x_t)⟩ over the pairs of a lag.
    pub fn future_mean(&self, lag: usize) -> Array1<f64> {
        self.average(lag, |lag| self.future.row(lag))
    }

    /// ⟨B_n(x_0)⟩ over the pairs of a lag.
    pub fn initial_mean(&self, lag: usize) -> Array1<f64> {
        self.average(lag, |lag| self.initial.row(lag))
    }
}

impl LaggedSums {
    /// The lag grid.
    pub fn grid(&self) -> &LagGrid {
        &self.grid
    }

    /// Labels of the functions at the later time.
    pub fn future_labels(&self) -> &[String] {
        &self.future
    }

    /// Labels of the functions at the earlier time.
    pub fn initial_labels(&self) -> &[String] {
        &self.initial
    }

    /// The blocks, in order.
    pub fn block_ids(&self) -> impl ExactSizeIterator<Item = BlockId> {
        self.blocks.iter().map(|(id, _)| *id)
    }

    /// Join the blocks of another shard to these; the same block in both is an error.
    ///
    /// # Errors
    /// When the sums have other functions or lags, or share a block.
    pub fn merge(&mut self, other: Self) -> Result<()> {
        if self.grid != other.grid || self.future != other.future || self.initial != other.initial {
            return Err(Error::input(
                "statistics of different lags or functions cannot be merged",
            ));
        }
        self.blocks.extend(other.blocks);
        self.blocks.sort_by_key(|(id, _)| *id);
        if let Some(twice) = self.blocks.windows(2).find(|w| w[0].0 == w[1].0) {
            return Err(Error::input(format!(
                "trajectory {} (part {}) is in both shards; give each shard a different first index",
                twice[0].0.trajectory, twice[0].0.part
            )));
        }
        Ok(())
    }

    /// Add up shards of like statistics, whose blocks may be parts of the same.
    pub(crate) fn added(mut self, others: impl IntoIterator<Item = Self>) -> Result<Self> {
        others.into_iter().for_each(|shard| self.join(shard));
        self.require_pairs()?;
        Ok(self)
    }

    /// Sums of these functions without a block.
    pub(crate) fn empty(grid: &LagGrid, future: &[String], initial: &[String]) -> Self {
        Self {
            grid: grid.clone(),
            future: future.to_vec(),
            initial: initial.to_vec(),
            blocks: Vec::new(),
        }
    }

    /// Adds a part of like statistics, whose blocks may be parts of the same.
    pub(crate) fn join(&mut self, other: Self) {
        let mine = std::mem::take(&mut self.blocks);
        let all = mine.into_iter().chain(other.blocks);
        self.blocks = by_block(all, |sum, part| sum.add(part, 1.0));
    }

    /// Appends the numbers of all blocks.
    pub(crate) fn pack(&self, out: &mut Vec<u8>) {
        self.blocks.iter().for_each(|(_, block)| block.pack(out));
    }

    /// Sums of these functions with the numbers of these blocks.
    ///
    /// # Errors
    /// When there are too few numbers.
    pub(crate) fn unpack(
        mut empty: Self,
        blocks: &[BlockId],
        numbers: &mut Packed,
    ) -> Result<Self> {
        let (m, n) = (empty.future.len(), empty.initial.len());
        for id in blocks {
            let block = PairSums::unpack(&empty.grid, m, n, numbers)?;
            empty.blocks.push((*id, block));
        }
        Ok(empty)
    }

    /// Refuse sums without pairs at one of the lags.
    pub(crate) fn require_pairs(&self) -> Result<()> {
        match self.total().pairs.iter().position(|n| *n == 0.0) {
            None => Ok(()),
            Some(lag) => Err(Error::input(format!(
                "no pair of samples without a gap in between is {} apart; choose shorter lags, or give \
                 a record with fewer gaps",
                self.grid.lags()[lag]
            ))),
        }
    }

    /// The sums over all blocks.
    pub fn total(&self) -> PairSums {
        let mut total = self.zeros();
        for (_, block) in &self.blocks {
            total.add(block, 1.0);
        }
        total
    }

    /// The sums over the chosen blocks, for cross-validation.
    pub fn total_of(&self, keep: impl Fn(usize) -> bool) -> PairSums {
        let mut total = self.zeros();
        for (k, (_, block)) in self.blocks.iter().enumerate() {
            if keep(k) {
                total.add(block, 1.0);
            }
        }
        total
    }

    /// Any statistic of the sums, with the jackknife over blocks.
    ///
    /// # Errors
    /// When there are fewer than two blocks.
    pub fn jackknife(&self, statistic: impl Fn(&PairSums) -> Vec<f64>) -> Result<Jackknife> {
        let total = self.total();
        let without = |block: &PairSums| {
            let mut rest = total.clone();
            rest.add(block, -1.0);
            Array1::from(statistic(&rest))
        };
        let blocks = self.blocks.iter().map(|(_, block)| without(block));
        let blocks: Vec<_> = blocks.collect();
        Jackknife::new(statistic(&total).into(), &blocks)
    }

    fn zeros(&self) -> PairSums {
        PairSums::zeros(&self.grid, self.future.len(), self.initial.len())
    }
}
