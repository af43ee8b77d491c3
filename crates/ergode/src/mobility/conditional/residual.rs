//! What of Ċ the constant mobility does not explain.

use ndarray::{Array2, ArrayView1, ArrayView2, s};
use serde::{Deserialize, Serialize};

use super::channels::Channels;
use super::operator::ConditionalOperator;
use crate::control::Control;
use crate::data::Ensemble;
use crate::error::{Error, Result};
use crate::lagged::{
    Jackknife, LagGrid, LaggedConfig, LocalPolynomial, PairSums, accumulate_blocks,
};
use crate::observable::{Functions, Library};
use crate::score::Score;

/// How the derivative of the correlations is taken.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ResidualConfig {
    /// Degree p of the local polynomial.
    pub degree: usize,
    /// Its bandwidth h in sampling intervals (in typical ones where sampling is uneven).
    pub bandwidth: f64,
}

impl Default for ResidualConfig {
    fn default() -> Self {
        Self {
            degree: 3,
            bandwidth: 3.0,
        }
    }
}

impl ResidualConfig {
    /// Lags that the local polynomials need around those of `grid`, and their spacing.
    pub(crate) fn grid(&self, ensemble: &Ensemble, grid: &LagGrid) -> Result<(LagGrid, f64)> {
        let lags = grid.lags();
        let interval = ensemble.typical_interval()?;
        let reach = (4.0 * self.bandwidth).ceil() as usize;
        let mut steps: Vec<usize> = Vec::new();
        for lag in lags {
            let step = (lag / interval).round() as usize;
            let first = steps.last().map_or(0, |last| last + 1);
            steps.extend(step.saturating_sub(reach).max(first)..=step + reach);
        }
        let grid = match ensemble.sampling_interval() {
            Some(interval) => LagGrid::even(interval, steps)?,
            None => {
                let centres = steps.iter().filter(|step| **step > 0);
                let centres = centres.map(|step| *step as f64 * interval);
                LagGrid::windows(centres.collect(), 0.5 * interval)?
            }
        };
        Ok((grid, interval))
    }
}

/// Ċ_obs and A\[Φ\] at the lags of an operator, kept per block.
///
/// A\[Φ\] is evaluated with the stationary score (`eq:app_affine_2d_Phi_operator`), and the target of the
/// correction is Ċ_obs − A\[Φ\] (`eq:app_affine_2d_residual_target`). Both are covariances: ⟨B⟩ = 0 for
/// the true score, and what an estimated one leaves of it is not let in. Φ is held fixed.
#[derive(Clone, Debug)]
pub struct ResidualTarget {
    phi: Array2<f64>,
    channels: Channels,
    /// The sums of every block.
    blocks: Vec<Vec<f64>>,
    /// Ċ from C, (lag of the operator, lag of the statistics).
    slopes: Array2<f64>,
    /// The lags of the operator among those of the statistics.
    places: Vec<usize>,
}

/// Collect the statistics of [`ResidualTarget`].
///
/// # Errors
/// When the statistics do not fit together, a derivative cannot be estimated, or the work is stopped.
pub fn estimate_residual(
    ensemble: &Ensemble,
    operator: &ConditionalOperator,
    stationary: &dyn Score,
    phi: ArrayView2<f64>,
    config: &ResidualConfig,
    statistics: &LaggedConfig,
    control: &Control,
) -> Result<ResidualTarget> {
    let dim = ensemble.dim();
    if phi.dim() != (dim, dim) || stationary.dim() != dim || operator.initial().dim() != dim {
        return Err(Error::input(format!(
            "the constant mobility, the score and the functions must have dimension {dim}, as the data"
        )));
    }
    let (grid, spacing) = config.grid(ensemble, operator.grid())?;
    let initial = Initial::new(operator.initial(), stationary, phi);
    let future = operator.future();
    let channels = operator.channels();
    let reduce = |sums: PairSums| flatten(&sums, channels);
    let starts = statistics.starts(ensemble);
    let blocks = accumulate_blocks(ensemble, future, &initial, &grid, &starts, control, reduce)?;
    let blocks: Vec<Vec<f64>> = blocks.into_iter().map(|(_, sums)| sums).collect();
    let total = add_up(blocks.iter());
    let lags: Vec<f64> = Totals::new(&total, channels).lags().collect();
    if lags.iter().any(|lag| lag.is_nan()) {
        return Err(Error::input(
            "the record has no pairs at some lags of the derivative; give a longer record or shorter lags",
        ));
    }
    let nominal = grid.lags();
    let places: Vec<usize> = operator
        .grid()
        .lags()
        .iter()
        .map(|lag| nominal.partition_point(|other| *other < lag - 0.5 * spacing))
        .collect();
    let polynomial = LocalPolynomial {
        degree: config.degree,
        bandwidth: config.bandwidth * spacing,
    };
    let targets: Vec<f64> = places.iter().map(|place| lags[*place]).collect();
    Ok(ResidualTarget {
        phi: phi.to_owned(),
        slopes: polynomial.matrix(&lags, &targets)?,
        channels,
        blocks,
        places,
    })
}

/// The sums of a block in one list: the pairs of every lag, their separations, the φ_m, the φ_n and B_n, and
/// the products with the φ_n, then with the B_n, as equations.
fn flatten(sums: &PairSums, channels: Channels) -> Vec<f64> {
    let (_, n) = channels.functions();
    let mut flat: Vec<f64> = sums.pairs.iter().copied().collect();
    flat.extend(&sums.separations);
    flat.extend(&sums.future);
    flat.extend(&sums.initial);
    for products in sums.products.outer_iter() {
        for half in [s![.., ..n], s![.., n..]] {
            flat.extend(channels.average(products.slice(half)));
        }
    }
    flat
}

fn add_up<'a>(blocks: impl Iterator<Item = &'a Vec<f64>>) -> Vec<f64> {
    let mut total = Vec::new();
    for block in blocks {
        total.resize(block.len(), 0.0);
        let pairs = total.iter_mut().zip(block);
        pairs.for_each(|(total, value): (&mut f64, _)| *total += value);
    }
    total
}

/// Sums as [`flatten`] lists them.
struct Totals<'a> {
    channels: Channels,
    pairs: &'a [f64],
    separations: &'a [f64],
    future: &'a [f64],
    initial: &'a [f64],
    products: &'a [f64],
}

impl<'a> Totals<'a> {
    fn new(flat: &'a [f64], channels: Channels) -> Self {
        let (m, n) = channels.functions();
        let lags = flat.len() / (2 + m + 2 * n + 2 * channels.len());
        let (pairs, rest) = flat.split_at(lags);
        let (separations, rest) = rest.split_at(lags);
        let (future, rest) = rest.split_at(lags * m);
        let (initial, products) = rest.split_at(lags * 2 * n);
        Self {
            channels,
            pairs,
            separations,
            future,
            initial,
            products,
        }
    }

    fn lags(&self) -> impl Iterator<Item = f64> {
        let sums = self.separations.iter().zip(self.pairs);
        sums.map(|(sum, pairs)| sum / pairs)
    }

    /// Covariances at a lag as equations, of the φ_m with the φ_n or, in the second `half`, with the B_n.
    fn covariances(&self, lag: usize, half: usize) -> Vec<f64> {
        let (m, n) = self.channels.functions();
        let (pairs, size) = (self.pairs[lag], self.channels.len());
        let future = ArrayView1::from(&self.future[lag * m..][..m]);
        let initial = ArrayView1::from(&self.initial[(2 * lag + half) * n..][..n]);
        let means = Array2::from_shape_fn((m, n), |(m, n)| future[m] * initial[n]);
        let means = self.channels.average(means.view());
        let products = self.products[(2 * lag + half) * size..][..size].iter();
        let terms = products.zip(means);
        terms
            .map(|(sum, means)| (sum - means / pairs) / pairs)
            .collect()
    }
}

impl ResidualTarget {
    /// Ċ_obs followed by A\[Φ\], each (lag, equation) flat, from these sums.
    fn curves(&self, flat: &[f64]) -> Vec<f64> {
        let totals = Totals::new(flat, self.channels);
        let lags = 0..totals.pairs.len();
        let covariances: Vec<Vec<f64>> = lags.map(|lag| totals.covariances(lag, 0)).collect();
        let size = self.channels.len();
        let mut curves = vec![0.0; self.places.len() * size];
        let slopes = self.slopes.rows().into_iter();
        for (curve, weights) in curves.chunks_exact_mut(size).zip(slopes) {
            for (weight, covariances) in weights.iter().zip(&covariances) {
                let terms = curve.iter_mut().zip(covariances);
                terms.for_each(|(sum, c)| *sum += weight * c);
            }
        }
        let constant = |place: &usize| totals.covariances(*place, 1);
        curves.extend(self.places.iter().flat_map(constant));
        curves
    }

    /// Number of blocks.
    pub(in crate::mobility) fn blocks(&self) -> usize {
        self.blocks.len()
    }

    /// Ċ_obs followed by A\[Φ\], each (lag, equation) flat, from the chosen blocks.
    pub(in crate::mobility) fn curves_of(&self, keep: impl Fn(usize) -> bool) -> Vec<f64> {
        let numbered = self.blocks.iter().enumerate();
        let kept = numbered.filter(|(k, _)| keep(*k));
        self.curves(&add_up(kept.map(|(_, block)| block)))
    }

    /// Φ.
    pub fn constant_mobility(&self) -> Array2<f64> {
        self.phi.clone()
    }

    /// Ċ_obs followed by A\[Φ\], each (lag, m, n) flat, with the jackknife over blocks; on a ring (lag,
    /// family, c, d, r).
    ///
    /// # Errors
    /// When there are fewer than two blocks.
    pub fn jackknife(&self) -> Result<Jackknife> {
        Jackknife::of_sums(&self.blocks, |total| self.curves(total))
    }
}

/// φ_n and B_Φ,n = sᵀ Φ ∇φ_n + Φ : ∇∇φ_n (`eq:app_affine_2d_Phi_conjugate`).
struct Initial<'a> {
    library: &'a dyn Library,
    score: &'a dyn Score,
    phi: ArrayView2<'a, f64>,
    labels: Vec<String>,
}

impl<'a> Initial<'a> {
    fn new(library: &'a dyn Library, score: &'a dyn Score, phi: ArrayView2<'a, f64>) -> Self {
        let labels = library.labels().iter();
        let operators = labels.clone().map(|label| format!("B({label})"));
        Self {
            labels: labels.cloned().chain(operators).collect(),
            library,
            score,
            phi,
        }
    }
}

impl Functions for Initial<'_> {
    fn dim(&self) -> usize {
        self.library.dim()
    }
    fn labels(&self) -> &[String] {
        &self.labels
    }
    fn values(&self, x: &[f64], out: &mut [f64]) {
        let (dim, count) = (self.dim(), self.library.len());
        let n = x.len() / dim;
        let (values, operators) = out.split_at_mut(count * n);
        self.library.values(x, values);
        let mut score = vec![0.0; dim * n];
        self.score.score(x, &mut score);
        // Φᵀ s.
        let mut turned = vec![0.0; dim * n];
        for ((i, j), phi) in self.phi.indexed_iter().filter(|(_, phi)| **phi != 0.0) {
            let turned = turned[j * n..][..n].iter_mut();
            for (turned, s) in turned.zip(&score[i * n..]) {
                *turned += phi * s;
            }
        }
        let mut gradients = vec![0.0; count * dim * n];
        self.library.gradient_tile(x, &mut gradients);
        operators.fill(0.0);
        if !self.library.is_affine() {
            let mut hessians = vec![0.0; count * dim * dim];
            crate::observable::state_by_state(dim, x, operators, |x, out| {
                self.library.hessians(x, &mut hessians);
                for (out, hessian) in out.iter_mut().zip(hessians.chunks_exact(dim * dim)) {
                    *out = hessian.iter().zip(&self.phi).map(|(h, phi)| h * phi).sum();
                }
            });
        }
        let gradients = gradients.chunks_exact((dim * n).max(1));
        for (out, gradient) in operators.chunks_exact_mut(n.max(1)).zip(gradients) {
            for (k, (v, g)) in turned.iter().zip(gradient).enumerate() {
                out[k % n] += v * g;
            }
        }
    }
}
