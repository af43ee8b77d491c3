//! The conditional score in a linear span, by Hyvärinen's objective.

use ndarray::Array1;

use super::ConditionalScore;
use crate::control::Control;
use crate::data::{Ensemble, Standardiser};
use crate::error::{Error, Result};
use crate::lagged::{LagGrid, accumulate_pairs};
use crate::observable::{Functions, Library, Monomials};
use crate::score::Score;
use crate::score::closed_form::{ClosedFormConfig, DegreeTrial, select};
use crate::score::sums::{BlockSums, ScoreSums};

/// s_{t|0} = Σ_k β_k(t) ∇_{z_0} ψ_k(z_0, z_t), the ψ monomials of both states, with coefficients of their own
/// at every lag of a grid and linear in between.
#[derive(Debug)]
pub struct ClosedFormConditionalScore {
    library: Monomials,
    standardiser: Standardiser,
    lags: Vec<LagFit>,
}

/// The coefficients at one lag.
#[derive(Clone, Debug)]
struct LagFit {
    lag: f64,
    coefficients: Array1<f64>,
    trials: Vec<DegreeTrial>,
}

/// Fit the conditional score in a span of gradients, lag by lag; degree and ridge are chosen by the
/// held-out objective as for the stationary score.
///
/// With q = ∇_{x_0} ln p(x_0, x_t) = s_{t|0} + s, partial integration gives ⟨r·s_{t|0}⟩ = −⟨∇_{x_0}·r⟩ − ⟨r·s⟩, so
/// that ⟨½|r − s_{t|0}|²⟩ is ⟨½|r|² + ∇_{x_0}·r + r·s⟩ and a constant: no noise is added.
///
/// # Errors
/// When the functions are linearly dependent on the pairs, or the work is stopped.
pub fn fit_conditional_potential(
    ensemble: &Ensemble,
    stationary: &dyn Score,
    grid: &LagGrid,
    config: &ClosedFormConfig,
    control: &Control,
) -> Result<ClosedFormConditionalScore> {
    super::check(ensemble, stationary, grid)?;
    let Some(&top) = config.degrees.iter().max() else {
        return Err(Error::input("give at least one degree for the potential"));
    };
    let library = pair_monomials(ensemble.names(), top)?;
    let sizes = config
        .degrees
        .iter()
        .map(|&degree| Ok(pair_monomials(ensemble.names(), degree)?.len()))
        .collect::<Result<Vec<_>>>()?;
    let standardiser = Standardiser::from_ensemble(ensemble)?;
    let functions = library.len();
    let blocks = accumulate_pairs(
        ensemble,
        grid,
        &config.statistics,
        control,
        || vec![(BlockSums::zeros(functions), 0.0); grid.len()],
        |sums, tile| {
            let (sums, times) = &mut sums[tile.lag];
            let pairs = Pairs::new(&standardiser, &tile.initial, &tile.future);
            pairs.add(&library, stationary, &tile.initial, sums);
            *times += tile.times.iter().sum::<f64>();
        },
    )?;
    let lags = (0..grid.len())
        .map(|lag| {
            let mut sums = ScoreSums {
                labels: library.labels().to_vec(),
                blocks: Vec::new(),
            };
            let mut times = 0.0;
            for (id, block) in &blocks {
                let (block, time) = &block[lag];
                if block.samples > 0.0 {
                    sums.blocks.push((*id, block.clone().finish()));
                    times += time;
                }
            }
            let fit = select(&sums, &sizes, config)?;
            let mut coefficients = fit.coefficients.to_vec();
            coefficients.resize(functions, 0.0);
            Ok(LagFit {
                lag: times / sums.samples(),
                coefficients: coefficients.into(),
                trials: fit.trials,
            })
        })
        .collect::<Result<Vec<_>>>()?;
    Ok(ClosedFormConditionalScore {
        library,
        standardiser,
        lags,
    })
}

/// Monomials of (z_0, z_t) up to a degree, those of z_t alone left out.
fn pair_monomials(names: &[String], degree: usize) -> Result<Monomials> {
    let pair: Vec<String> = ["0", "t"]
        .iter()
        .flat_map(|when| names.iter().map(move |name| format!("{name}_{when}")))
        .collect();
    let all = Monomials::new(&pair, 1..=degree)?;
    let involves_initial = |e: &Vec<u32>| e[..names.len()].iter().any(|&power| power > 0);
    let kept = all
        .exponents()
        .iter()
        .filter(|e| involves_initial(e))
        .cloned()
        .collect();
    Monomials::from_exponents(&pair, kept)
}

/// A tile of pairs in standardised coordinates.
struct Pairs<'a> {
    standardiser: &'a Standardiser,
    /// (z_0, z_t), (2D, n).
    joint: Vec<f64>,
    n: usize,
}

impl<'a> Pairs<'a> {
    fn new(standardiser: &'a Standardiser, x0: &[f64], xt: &[f64]) -> Self {
        let Standardiser { mean, scale, .. } = standardiser;
        let (dim, n) = (scale.len(), x0.len() / scale.len());
        let joint = (0..2 * dim * n).map(|k| {
            let (row, x) = (
                k / n % dim,
                if k < dim * n { x0[k] } else { xt[k - dim * n] },
            );
            (x - mean[row]) / scale[row]
        });
        Self {
            standardiser,
            joint: joint.collect(),
            n,
        }
    }

    fn dim(&self) -> usize {
        self.standardiser.scale.len()
    }

    /// ∇_{z_0} ψ_k, (k, D n).
    fn fields(&self, library: &Monomials) -> Vec<f64> {
        let size = self.dim() * self.n;
        let mut gradients = vec![0.0; library.len() * 2 * size];
        library.gradient_tile(&self.joint, &mut gradients);
        for k in 1..library.len() {
            gradients.copy_within(2 * k * size..(2 * k + 1) * size, k * size);
        }
        gradients.truncate(library.len() * size);
        gradients
    }

    /// Adds f_k·f_l and ∇_{z_0}·f_k + f_k·ŝ.
    fn add(&self, library: &Monomials, stationary: &dyn Score, x0: &[f64], sums: &mut BlockSums) {
        let (dim, n) = (self.dim(), self.n);
        let fields = self.fields(library);
        sums.add_gram(&fields, 1.0);
        sums.samples += n as f64;
        let mut score = vec![0.0; dim * n];
        stationary.score(x0, &mut score);
        for (k, s) in score.iter_mut().enumerate() {
            *s *= self.standardiser.scale[k / n];
        }
        for (sum, field) in sums.divergence.iter_mut().zip(fields.chunks_exact(dim * n)) {
            *sum += field.iter().zip(&score).map(|(f, s)| f * s).sum::<f64>();
        }
        let mut hessians = vec![0.0; library.len() * 4 * dim * dim];
        let mut z = vec![0.0; 2 * dim];
        for s in 0..n {
            (0..2 * dim).for_each(|i| z[i] = self.joint[i * n + s]);
            library.hessians(&z, &mut hessians);
            for (sum, hessian) in sums
                .divergence
                .iter_mut()
                .zip(hessians.chunks_exact(4 * dim * dim))
            {
                *sum += (0..dim).map(|i| hessian[i * 2 * dim + i]).sum::<f64>();
            }
        }
    }
}

impl ClosedFormConditionalScore {
    /// Lags of the fit, with what was tried at each.
    pub fn trials(&self) -> impl Iterator<Item = (f64, &[DegreeTrial])> {
        self.lags.iter().map(|fit| (fit.lag, fit.trials.as_slice()))
    }

    /// β(t).
    fn coefficients(&self, t: f64) -> Array1<f64> {
        let after = self.lags.partition_point(|fit| fit.lag < t);
        let low = &self.lags[after.saturating_sub(1)];
        let high = &self.lags[after.min(self.lags.len() - 1)];
        if high.lag <= low.lag {
            return high.coefficients.clone();
        }
        let share = (t - low.lag) / (high.lag - low.lag);
        &low.coefficients + &((&high.coefficients - &low.coefficients) * share)
    }
}

impl ConditionalScore for ClosedFormConditionalScore {
    fn dim(&self) -> usize {
        self.standardiser.scale.len()
    }

    fn conditional_score(&self, x0: &[f64], xt: &[f64], t: &[f64], out: &mut [f64]) {
        let (dim, n) = (self.dim(), t.len());
        let fields = Pairs::new(&self.standardiser, x0, xt).fields(&self.library);
        let mut coefficients = self.coefficients(t[0]);
        for s in 0..n {
            if s > 0 && t[s] != t[s - 1] {
                coefficients = self.coefficients(t[s]);
            }
            for i in 0..dim {
                let terms = coefficients.iter().enumerate();
                let sum: f64 = terms.map(|(k, c)| c * fields[(k * dim + i) * n + s]).sum();
                out[i * n + s] = sum / self.standardiser.scale[i];
            }
        }
    }
}
