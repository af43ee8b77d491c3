//! A_mn(t)[M] from pairs of samples.

use ndarray::{Array2, Array3, ArrayView1, ArrayView2, s};

use super::baseline::Baseline;
use super::channels::Channels;
use crate::control::Control;
use crate::data::Ensemble;
use crate::error::{Error, Result};
use crate::lagged::{Jackknife, LagGrid, LaggedConfig, PairTile, accumulate_pairs};
use crate::linalg;
use crate::mobility::Mobility;
use crate::observable::{Functions, LatticeAverage, Library};
use crate::score::ConditionalScore;

/// The conditional operator of the paper (`eq:central_conditional_score_identity`),
///
/// A_mn(t)\[M\] = −⟨(φ_m(x_t) − b_m(x_0)) s_{t|0}(x_t|x_0)ᵀ M(x_0) ∇φ_n(x_0)⟩,
///
/// which is Ċ_mn(t) for the mobility of the process and needs no derivative of M. As
/// E[s_{t|0} | x_0] = 0, the baseline b_m changes no average; where it is near E[φ_m(x_t) | x_0] it takes
/// most of the noise away at short lags. Without one b_m = 0, as in the paper.
pub struct ConditionalOperator<'a> {
    conditional: &'a dyn ConditionalScore,
    future: &'a dyn Functions,
    initial: &'a dyn Library,
    grid: LagGrid,
    channels: Channels,
    baseline: Option<Baseline>,
}

/// What does not depend on M in a tile of n pairs.
#[derive(Debug, Default)]
pub(in crate::mobility) struct PairValues {
    /// φ_m(x_t) − b_m(x_0), (m, n).
    pub(in crate::mobility) future: Vec<f64>,
    /// s_{t|0}, (D, n).
    pub(in crate::mobility) score: Vec<f64>,
}

impl<'a> ConditionalOperator<'a> {
    /// With the functions φ_m of the later state and φ_n of the earlier one, at the lags of `grid`.
    ///
    /// # Errors
    /// When functions, scores and lags do not belong to the same coordinates.
    pub fn new(
        conditional: &'a dyn ConditionalScore,
        future: &'a dyn Functions,
        initial: &'a dyn Library,
        grid: LagGrid,
    ) -> Result<Self> {
        let dim = conditional.dim();
        if future.dim() != dim || initial.dim() != dim {
            return Err(Error::input(format!(
                "the conditional score has dimension {dim}, the functions have {} and {}; use the same \
                 coordinates for all",
                future.dim(),
                initial.dim()
            )));
        }
        if grid.lags().contains(&0.0) {
            return Err(Error::input(
                "the conditional operator is not defined at lag zero; remove zero from the lags",
            ));
        }
        Ok(Self {
            conditional,
            future,
            initial,
            grid,
            channels: Channels::new(future.len(), initial.len()),
            baseline: None,
        })
    }

    /// The same operator averaged over the translations of a ring: instead of the channels (m, n) it has
    /// the equations (family, c, d, r) of [`LatticeAverage`].
    ///
    /// # Errors
    /// When φ_m are not families of vectors on the sites or φ_n not the components of the sites.
    pub fn averaged(mut self, ring: LatticeAverage) -> Result<Self> {
        self.channels = self.channels.averaged(ring)?;
        Ok(self)
    }

    /// The same operator with the control variate: b_m a polynomial of this degree in x_0, fitted at every lag.
    ///
    /// # Errors
    /// When the regression of the baseline fails, or the work is stopped.
    pub fn with_baseline(
        mut self,
        ensemble: &Ensemble,
        degree: usize,
        statistics: &LaggedConfig,
        control: &Control,
    ) -> Result<Self> {
        let (future, grid) = (self.future, &self.grid);
        let fit = Baseline::fit(ensemble, future, grid, degree, statistics, control)?;
        self.baseline = Some(fit);
        Ok(self)
    }

    /// The lags.
    pub fn grid(&self) -> &LagGrid {
        &self.grid
    }

    /// φ_m.
    pub fn future(&self) -> &'a dyn Functions {
        self.future
    }

    /// The equations that the channels make.
    pub(in crate::mobility) fn channels(&self) -> Channels {
        self.channels
    }

    /// φ_n.
    pub fn initial(&self) -> &'a dyn Library {
        self.initial
    }

    /// A\[M\] of each of these mobilities, from the pairs of `ensemble`, per block.
    ///
    /// # Errors
    /// When a lag has no pair of samples, or the work is stopped.
    pub fn accumulate(
        &self,
        ensemble: &Ensemble,
        mobilities: &[&dyn Mobility],
        statistics: &LaggedConfig,
        control: &Control,
    ) -> Result<OperatorSums> {
        let dim = self.conditional.dim();
        if ensemble.dim() != dim || mobilities.iter().any(|m| m.dim() != dim) {
            return Err(Error::input(format!(
                "data and mobilities must have dimension {dim}, as the conditional score"
            )));
        }
        let shape = (self.grid.len(), mobilities.len(), self.channels.len());
        let blocks = accumulate_pairs(
            ensemble,
            &self.grid,
            statistics,
            control,
            || (vec![0.0; shape.0], Array3::zeros(shape)),
            |(pairs, sums): &mut BlockSums, tile| {
                pairs[tile.lag] += tile.times.len() as f64;
                self.add(tile, mobilities, sums);
            },
        )?;
        Ok(OperatorSums {
            blocks: blocks.into_iter().map(|(_, sums)| sums).collect(),
        })
    }

    /// The parts of the operator in a tile of pairs at lag number `lag`.
    pub(in crate::mobility) fn values(&self, tile: &PairTile, out: &mut PairValues) {
        let n = tile.times.len();
        out.future.resize(self.future.len() * n, 0.0);
        out.score.resize(self.conditional.dim() * n, 0.0);
        self.future.values(&tile.future, &mut out.future);
        if let Some(baseline) = &self.baseline {
            baseline.subtract(tile.lag, &tile.initial, &mut out.future);
        }
        let (x0, xt, t) = (&tile.initial, &tile.future, &tile.times);
        self.conditional
            .conditional_score(x0, xt, t, &mut out.score);
    }

    fn add(&self, tile: &PairTile, mobilities: &[&dyn Mobility], sums: &mut Array3<f64>) {
        let (dim, n) = (self.conditional.dim(), tile.times.len());
        let mut values = PairValues::default();
        self.values(tile, &mut values);
        let count = self.initial.len();
        let mut gradients = vec![0.0; count * dim * n];
        self.initial.gradient_tile(&tile.initial, &mut gradients);
        let mut tensors = vec![0.0; dim * dim * n];
        let future =
            ArrayView2::from_shape((self.future.len(), n), &values.future).expect("(m, n)");
        // Mᵀ s, (D, pair), and sᵀ M ∇φ_n, (n, pair).
        let mut turned = vec![0.0; dim * n];
        let mut flows = Array2::zeros((count, n));
        for (k, mobility) in mobilities.iter().enumerate() {
            mobility.mobility(&tile.initial, &mut tensors);
            turned.fill(0.0);
            for (entry, tensor) in tensors.chunks_exact(n).enumerate() {
                let (i, j) = (entry / dim, entry % dim);
                add_product(&mut turned[j * n..][..n], &values.score[i * n..], tensor);
            }
            flows.fill(0.0);
            for (mut flow, gradients) in flows
                .rows_mut()
                .into_iter()
                .zip(gradients.chunks_exact(dim * n))
            {
                let flow = flow.as_slice_mut().expect("row-major");
                for (turned, gradient) in turned.chunks_exact(n).zip(gradients.chunks_exact(n)) {
                    add_product(flow, turned, gradient);
                }
            }
            let product = linalg::multiply(future, flows.t());
            let mut sum = sums.slice_mut(s![tile.lag, k, ..]);
            sum -= &ArrayView1::from(&self.channels.average(product.view()));
        }
    }
}

/// sum += a b, number by number.
fn add_product(sum: &mut [f64], a: &[f64], b: &[f64]) {
    for (sum, (a, b)) in sum.iter_mut().zip(a.iter().zip(b)) {
        *sum += a * b;
    }
}

/// A\[M\] of some mobilities, as sums over the pairs of every block.
#[derive(Clone, Debug)]
pub struct OperatorSums {
    blocks: Vec<BlockSums>,
}

/// Pairs at every lag, and sums, (lag, mobility, equation).
type BlockSums = (Vec<f64>, Array3<f64>);

impl OperatorSums {
    /// Number of blocks.
    pub fn blocks(&self) -> usize {
        self.blocks.len()
    }

    /// The averages, (lag, mobility, m, n) flat, with the jackknife over blocks; on a ring (lag, mobility,
    /// family, c, d, r).
    ///
    /// # Errors
    /// When there are fewer than two blocks.
    pub fn jackknife(&self) -> Result<Jackknife> {
        let flat = |(pairs, sums): &BlockSums| pairs.iter().chain(sums).copied().collect();
        let blocks: Vec<Vec<f64>> = self.blocks.iter().map(flat).collect();
        let lags = self.blocks.first().map_or(0, |(pairs, _)| pairs.len());
        Jackknife::of_sums(&blocks, |total| {
            let (pairs, sums) = total.split_at(lags);
            let size = sums.len() / lags.max(1);
            let averages = sums.chunks_exact(size).zip(pairs);
            averages
                .flat_map(|(sums, pairs)| sums.iter().map(move |sum| sum / pairs))
                .collect()
        })
    }

    /// The averages over the chosen blocks, (lag, mobility, equation).
    pub(super) fn average_of(&self, blocks: &[usize]) -> Array3<f64> {
        let mut total = Array3::zeros(self.blocks[0].1.dim());
        let mut pairs = vec![0.0; self.blocks[0].0.len()];
        for (counts, sums) in blocks.iter().map(|k| &self.blocks[*k]) {
            total += sums;
            pairs.iter_mut().zip(counts).for_each(|(p, c)| *p += c);
        }
        for (mut lag, pairs) in total.outer_iter_mut().zip(pairs) {
            lag /= pairs;
        }
        total
    }
}
