//! Quality of a conditional score, estimated from data.

use serde::{Deserialize, Serialize};

use super::ConditionalScore;
use crate::control::Control;
use crate::data::Ensemble;
use crate::error::{Error, Result};
use crate::lagged::{Jackknife, LagGrid, LaggedConfig, PairTile, accumulate_pairs};
use crate::observable::Functions;
use crate::score::Score;
use crate::score::identity::{Identity, IdentityTest};

/// Quality of a conditional score on held-out pairs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConditionalCertificate {
    /// ⟨s_{t|0}⟩ over the pairs whose x_0 is in a bin of its own coordinate, for each lag, coordinate and
    /// bin: zero, because E[s_{t|0} | x_0] = 0.
    pub bins: Vec<Identity>,
    /// ⟨φ_m(x_t) (s_{t|0} + s(x_0))⟩ for each lag, function and coordinate: zero, by parts.
    pub responses: Vec<Identity>,
    /// All of them together.
    pub test: IdentityTest,
    /// Root mean square of ⟨φ_m (s_{t|0} + s)⟩ over that of ⟨φ_m s⟩: the relative error of the response that
    /// the score predicts.
    pub relative_error: f64,
    /// Its value expected by chance alone.
    pub relative_floor: f64,
}

/// Bins of equal probability that a coordinate of x_0 is cut into.
const BINS: usize = 8;

/// Test a conditional score on pairs that it was not fitted to.
///
/// `stationary` is the stationary score s, and `library` holds the functions φ_m of the future state.
/// Errors come from blocks.
///
/// # Errors
/// When a lag has no pair of samples, or the work is stopped.
pub fn certify_conditional_score(
    score: &dyn ConditionalScore,
    stationary: &dyn Score,
    heldout: &Ensemble,
    grid: &LagGrid,
    library: &dyn Functions,
    config: &LaggedConfig,
    control: &Control,
) -> Result<ConditionalCertificate> {
    super::check(heldout, stationary, grid)?;
    let dim = heldout.dim();
    if score.dim() != dim || library.dim() != dim {
        return Err(Error::input(format!(
            "a conditional score of {} coordinates and functions of {} cannot be tested on data of \
             {dim}",
            score.dim(),
            library.dim()
        )));
    }
    let sums = Sums {
        score,
        stationary,
        library,
        edges: edges(heldout),
        lags: grid.len(),
    };
    let blocks = accumulate_pairs(
        heldout,
        grid,
        config,
        control,
        || vec![0.0; sums.size()],
        |block, tile| sums.add(block, tile),
    )?;
    let blocks: Vec<Vec<f64>> = blocks.into_iter().map(|(_, block)| block).collect();
    let estimate = Jackknife::of_sums(&blocks, |total| sums.averages(total))?;
    let (bin_labels, response_labels) = sums.labels(heldout.names(), &grid.lags());
    let labels: Vec<String> = bin_labels.iter().chain(&response_labels).cloned().collect();
    let mut bins = Identity::from_jackknife(&labels, &estimate);
    let test = IdentityTest::new(&bins)
        .ok_or_else(|| Error::input("a certificate needs at least one lag"))?;
    let responses = bins.split_off(bin_labels.len());
    // The averages end with ⟨φ_m s⟩, which is the scale of the responses.
    let first = labels.len();
    let sizes = estimate.values.iter().skip(first);
    let size = sizes.map(|v| v * v).sum::<f64>().sqrt();
    let norm = |of: fn(&Identity) -> f64| {
        let sum: f64 = responses.iter().map(|r| of(r).powi(2)).sum();
        sum.sqrt() / size
    };
    Ok(ConditionalCertificate {
        relative_error: norm(|r| r.value),
        relative_floor: norm(|r| r.error),
        bins,
        responses,
        test,
    })
}

/// The edges between the bins of each coordinate: quantiles of every n-th sample.
fn edges(ensemble: &Ensemble) -> Vec<Vec<f64>> {
    const SAMPLES: usize = 20_000;
    let stride = (ensemble.samples() / SAMPLES).max(1);
    let dim = ensemble.dim();
    let mut values = vec![Vec::new(); dim];
    let mut x = vec![0.0; dim];
    for segment in ensemble.segments() {
        for row in segment.rows.clone().step_by(stride) {
            ensemble.trajectories()[segment.trajectory].row(row, &mut x);
            values.iter_mut().zip(&x).for_each(|(v, x)| v.push(*x));
        }
    }
    let cut = |mut values: Vec<f64>| {
        values.sort_by(f64::total_cmp);
        (1..BINS).map(|b| values[values.len() * b / BINS]).collect()
    };
    values.into_iter().map(cut).collect()
}

/// The layout of the sums: for each lag the pairs; for each coordinate and bin the pairs and Σ s_{t|0};
/// for each function and coordinate Σ φ (s_{t|0} + s) and Σ φ s.
struct Sums<'a> {
    score: &'a dyn ConditionalScore,
    stationary: &'a dyn Score,
    library: &'a dyn Functions,
    edges: Vec<Vec<f64>>,
    lags: usize,
}

impl Sums<'_> {
    fn dim(&self) -> usize {
        self.edges.len()
    }

    fn per_lag(&self) -> usize {
        1 + 2 * self.dim() * BINS + 2 * self.library.labels().len() * self.dim()
    }

    fn size(&self) -> usize {
        self.lags * self.per_lag()
    }

    fn add(&self, sums: &mut [f64], tile: &PairTile) {
        let (dim, n) = (self.dim(), tile.times.len());
        let sums = &mut sums[tile.lag * self.per_lag()..][..self.per_lag()];
        let (count, rest) = sums.split_at_mut(1);
        let (bins, responses) = rest.split_at_mut(2 * dim * BINS);
        count[0] += n as f64;
        let mut r = vec![0.0; dim * n];
        self.score
            .conditional_score(&tile.initial, &tile.future, &tile.times, &mut r);
        let mut s = vec![0.0; dim * n];
        self.stationary.score(&tile.initial, &mut s);
        for i in 0..dim {
            for k in 0..n {
                let x0 = tile.initial[i * n + k];
                let bin = self.edges[i].partition_point(|&edge| edge <= x0);
                let at = 2 * (i * BINS + bin);
                bins[at] += 1.0;
                bins[at + 1] += r[i * n + k];
            }
        }
        let functions = self.library.labels().len();
        let mut phi = vec![0.0; functions * n];
        self.library.values(&tile.future, &mut phi);
        for (m, phi) in phi.chunks_exact(n).enumerate() {
            for i in 0..dim {
                let at = 2 * (m * dim + i);
                for k in 0..n {
                    responses[at] += phi[k] * (r[i * n + k] + s[i * n + k]);
                    responses[at + 1] += phi[k] * s[i * n + k];
                }
            }
        }
    }

    /// Bin averages, then ⟨φ (s_{t|0} + s)⟩, then ⟨φ s⟩, each for all lags.
    fn averages(&self, total: &[f64]) -> Vec<f64> {
        let (mut bins, mut responses, mut sizes) = (Vec::new(), Vec::new(), Vec::new());
        for lag in total.chunks_exact(self.per_lag()) {
            let (in_bins, in_responses) = lag[1..].split_at(2 * self.dim() * BINS);
            bins.extend(in_bins.chunks_exact(2).map(|b| b[1] / b[0].max(1.0)));
            responses.extend(in_responses.chunks_exact(2).map(|r| r[0] / lag[0]));
            sizes.extend(in_responses.chunks_exact(2).map(|r| r[1] / lag[0]));
        }
        bins.extend(responses);
        bins.extend(sizes);
        bins
    }

    fn labels(&self, names: &[String], lags: &[f64]) -> (Vec<String>, Vec<String>) {
        let (mut bins, mut responses) = (Vec::new(), Vec::new());
        for t in lags {
            for name in names {
                for b in 1..=BINS {
                    bins.push(format!("s({name}), {name}_0 in bin {b} of {BINS}, lag {t}"));
                }
            }
            for phi in self.library.labels() {
                for name in names {
                    responses.push(format!("({phi})_t (s_t|0 + s)({name}), lag {t}"));
                }
            }
        }
        (bins, responses)
    }
}
