//! Scores in a linear span, by Hyvärinen's objective.

use ndarray::{Array1, Array2};
use serde::{Deserialize, Serialize};

use super::sums::{BlockSums, ScoreSums, accumulate_score};
use super::{Score, tile_width};
use crate::control::Control;
use crate::data::{Ensemble, Standardiser};
use crate::error::{Error, Result};
use crate::lagged::LaggedConfig;
use crate::linalg;
use crate::observable::{Library, Monomials};

/// How a closed-form score is fitted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ClosedFormConfig {
    /// Degrees of the potential that are tried, in increasing order.
    pub degrees: Vec<usize>,
    /// Ridges that are tried, relative to the diagonal of the Gram matrix.
    pub ridges: Vec<f64>,
    /// Folds of the cross-validation over blocks.
    pub folds: usize,
    /// Sub-sampling and blocks.
    pub statistics: LaggedConfig,
}

impl Default for ClosedFormConfig {
    fn default() -> Self {
        Self {
            degrees: vec![2, 4, 6, 8, 10],
            ridges: vec![0.0, 1e-10, 1e-8, 1e-6],
            folds: 6,
            statistics: LaggedConfig::default(),
        }
    }
}

/// The held-out objective ⟨|s|²/2 + ∇·s⟩ of one choice.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct DegreeTrial {
    /// Number of functions.
    pub functions: usize,
    /// Ridge.
    pub ridge: f64,
    /// Mean over folds.
    pub loss: f64,
    /// Standard error of the improvement over the trial before it.
    pub improvement_error: f64,
}

/// s = Σ_k β_k ∇ψ_k, a gradient by construction.
///
/// Inside the box that holds the samples it is the fitted polynomial. Outside, the polynomial is
/// taken at the nearest point of the box and a linear pull back to it, of unit strength in
/// standardised coordinates, is added. Corners of the box that hold no samples are still the
/// polynomial's, which may point anywhere there.
#[derive(Debug)]
pub struct ClosedFormScore {
    library: Box<dyn Library>,
    standardiser: Standardiser,
    coefficients: Array1<f64>,
    errors: Array1<f64>,
    low: Vec<f64>,
    high: Vec<f64>,
    trials: Vec<DegreeTrial>,
}

impl ClosedFormScore {
    /// β, in standardised coordinates, with standard errors by jackknife over blocks, and labels.
    pub fn coefficients(&self) -> impl Iterator<Item = (&str, f64, f64)> {
        let labels = self.library.labels().iter().map(String::as_str);
        let values = self.coefficients.iter().zip(&self.errors);
        labels
            .zip(values)
            .map(|(label, (value, error))| (label, *value, *error))
    }

    /// What was tried on the way.
    pub fn trials(&self) -> &[DegreeTrial] {
        &self.trials
    }

    /// Standardised coordinates, and the nearest point of the sampled box.
    fn place(&self, x: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let mut z = x.to_vec();
        self.standardiser.forward(&mut z);
        let inside = (0..z.len())
            .map(|i| z[i].clamp(self.low[i], self.high[i]))
            .collect();
        (z, inside)
    }
}

impl Score for ClosedFormScore {
    fn dim(&self) -> usize {
        self.low.len()
    }

    fn score(&self, x: &[f64], out: &mut [f64]) {
        let (dim, n) = (self.dim(), tile_width(self, x, out));
        let mut gradients = vec![0.0; self.coefficients.len() * dim];
        let mut state = vec![0.0; dim];
        for s in 0..n {
            for (i, value) in state.iter_mut().enumerate() {
                *value = x[i * n + s];
            }
            let (z, inside) = self.place(&state);
            self.library.gradients(&inside, &mut gradients);
            for i in 0..dim {
                let fitted: f64 = (0..self.coefficients.len())
                    .map(|k| self.coefficients[k] * gradients[k * dim + i])
                    .sum();
                out[i * n + s] = (fitted - (z[i] - inside[i])) / self.standardiser.scale[i];
            }
        }
    }

    fn jacobian(&self, x: &[f64], out: &mut [f64]) -> bool {
        let dim = x.len();
        let (z, inside) = self.place(x);
        let scale = &self.standardiser.scale;
        let mut hessians = vec![0.0; self.coefficients.len() * dim * dim];
        self.library.hessians(&inside, &mut hessians);
        for i in 0..dim {
            for j in 0..dim {
                let fitted: f64 = (0..self.coefficients.len())
                    .map(|k| self.coefficients[k] * hessians[(k * dim + i) * dim + j])
                    .sum();
                // Beyond the box the polynomial no longer moves with that coordinate.
                let fitted = if z[j] == inside[j] { fitted } else { 0.0 };
                let pull = if i == j && z[i] != inside[i] {
                    -1.0
                } else {
                    0.0
                };
                out[i * dim + j] = (fitted + pull) / (scale[i] * scale[j]);
            }
        }
        true
    }
}

/// Fit a potential of monomials whose degree and ridge are chosen by the held-out objective: the
/// degree rises while the objective falls by more than the error of the difference.
pub fn fit_potential_score(
    ensemble: &Ensemble,
    config: &ClosedFormConfig,
    control: &Control,
) -> Result<ClosedFormScore> {
    let Some(&top) = config.degrees.iter().max() else {
        return Err(Error::input("give at least one degree for the potential"));
    };
    let library = Monomials::new(ensemble.names(), 1..=top)?;
    let sizes: Vec<usize> = config
        .degrees
        .iter()
        .map(|degree| {
            let exponents = library.exponents();
            exponents
                .iter()
                .filter(|e| e.iter().sum::<u32>() as usize <= *degree)
                .count()
        })
        .collect();
    let standardiser = Standardiser::from_ensemble(ensemble)?;
    fit(
        ensemble,
        Box::new(library),
        standardiser,
        &sizes,
        config,
        control,
    )
}

/// Fit s = Σ β_k ∇ψ_k for the given functions ψ of coordinates normalised by `standardiser`.
///
/// A function such as ln x needs a standardiser that does not shift that coordinate.
pub fn fit_score(
    ensemble: &Ensemble,
    library: Box<dyn Library>,
    standardiser: Standardiser,
    config: &ClosedFormConfig,
    control: &Control,
) -> Result<ClosedFormScore> {
    let sizes = [library.len()];
    fit(ensemble, library, standardiser, &sizes, config, control)
}

fn fit(
    ensemble: &Ensemble,
    library: Box<dyn Library>,
    standardiser: Standardiser,
    sizes: &[usize],
    config: &ClosedFormConfig,
    control: &Control,
) -> Result<ClosedFormScore> {
    if config.ridges.is_empty() || config.folds < 2 {
        return Err(Error::input("give at least one ridge and two folds"));
    }
    let sums = accumulate_score(
        ensemble,
        &*library,
        &standardiser,
        &config.statistics,
        control,
    )?;
    let folds = config.folds.min(sums.blocks.len());
    if folds < 2 {
        return Err(Error::input(
            "a held-out test needs at least two blocks; cut the record into stretches",
        ));
    }
    let mut trials: Vec<DegreeTrial> = Vec::new();
    let mut best: Option<(usize, f64, Vec<f64>)> = None;
    for &size in sizes {
        let (ridge, losses) = best_ridge(&sums, size, folds, &config.ridges)?;
        let (change, error) = match &best {
            None => (f64::NEG_INFINITY, 0.0),
            Some((_, _, before)) => paired(&losses, before),
        };
        trials.push(DegreeTrial {
            functions: size,
            ridge,
            loss: losses.iter().sum::<f64>() / folds as f64,
            improvement_error: error,
        });
        if change > -error {
            break;
        }
        best = Some((size, ridge, losses));
    }
    let (size, ridge, _) = best.expect("the first size is always taken");
    let coefficients = solve(&sums.total(size, |_| true), ridge)?;
    let errors = jackknife(&sums, size, ridge)?;
    let pad = |a: Array1<f64>| {
        let mut padded = Array1::zeros(library.len());
        padded.slice_mut(ndarray::s![..size]).assign(&a);
        padded
    };
    let (low, high) = sampled_box(ensemble, &standardiser);
    Ok(ClosedFormScore {
        coefficients: pad(coefficients),
        errors: pad(errors),
        library,
        standardiser,
        low,
        high,
        trials,
    })
}

/// β = −(G + λ diag G)⁻¹ d, in the basis where diag G = 1; directions that the samples do not
/// resolve are left out.
fn solve(sums: &BlockSums, ridge: f64) -> Result<Array1<f64>> {
    let (gram, laplacian) = sums.means();
    let scale = gram.diag().mapv(|g| 1.0 / g.max(f64::MIN_POSITIVE).sqrt());
    let scaled = Array2::from_shape_fn(gram.dim(), |(i, j)| gram[[i, j]] * scale[i] * scale[j]);
    let (values, vectors) = linalg::symmetric_eigen(scaled.view())?;
    let largest = values[values.len() - 1];
    let mut projected = vectors.t().dot(&(&laplacian * &scale));
    for (p, value) in projected.iter_mut().zip(&values) {
        *p = if *value > 1e-14 * largest {
            -*p / (value + ridge)
        } else {
            0.0
        };
    }
    Ok(vectors.dot(&projected) * &scale)
}

/// ½ βᵀGβ + dᵀβ.
fn objective(sums: &BlockSums, beta: &Array1<f64>) -> f64 {
    let (gram, laplacian) = sums.means();
    0.5 * linalg::bilinear(beta.view(), gram.view(), beta.view()) + laplacian.dot(beta)
}

/// The ridge of least held-out objective, with the objective of every fold.
fn best_ridge(
    sums: &ScoreSums,
    size: usize,
    folds: usize,
    ridges: &[f64],
) -> Result<(f64, Vec<f64>)> {
    let mut best: Option<(f64, Vec<f64>)> = None;
    let split: Vec<(BlockSums, BlockSums)> = (0..folds)
        .map(|f| {
            (
                sums.total(size, |k| k % folds != f),
                sums.total(size, |k| k % folds == f),
            )
        })
        .collect();
    for &ridge in ridges {
        let losses = split
            .iter()
            .map(|(train, test)| Ok(objective(test, &solve(train, ridge)?)))
            .collect::<Result<Vec<f64>>>()?;
        let mean = |l: &[f64]| l.iter().sum::<f64>() / folds as f64;
        if best
            .as_ref()
            .is_none_or(|(_, kept)| mean(&losses) < mean(kept))
        {
            best = Some((ridge, losses));
        }
    }
    best.ok_or_else(|| Error::input("give at least one ridge"))
}

/// Mean of a − b over folds, and its standard error.
fn paired(a: &[f64], b: &[f64]) -> (f64, f64) {
    let n = a.len() as f64;
    let mean = a.iter().zip(b).map(|(a, b)| a - b).sum::<f64>() / n;
    let square: f64 = a.iter().zip(b).map(|(a, b)| (a - b - mean).powi(2)).sum();
    (mean, (square / (n * (n - 1.0))).sqrt())
}

/// Standard errors of β: the spread of the leave-one-block-out solutions.
fn jackknife(sums: &ScoreSums, size: usize, ridge: f64) -> Result<Array1<f64>> {
    let count = sums.blocks.len();
    let without = (0..count)
        .map(|skip| solve(&sums.total(size, |k| k != skip), ridge))
        .collect::<Result<Vec<_>>>()?;
    let mut mean = Array1::<f64>::zeros(size);
    for beta in &without {
        mean += beta;
    }
    mean /= count as f64;
    let mut square = Array1::<f64>::zeros(size);
    for beta in &without {
        square += &(beta - &mean).mapv(|v| v * v);
    }
    let factor = (count - 1) as f64 / count as f64;
    Ok(square.mapv(|v| (v * factor).sqrt()))
}

/// The smallest box of standardised coordinates that holds every sample.
fn sampled_box(ensemble: &Ensemble, standardiser: &Standardiser) -> (Vec<f64>, Vec<f64>) {
    let dim = ensemble.dim();
    let (mut low, mut high) = (vec![f64::INFINITY; dim], vec![f64::NEG_INFINITY; dim]);
    let mut x = vec![0.0; dim];
    for segment in ensemble.segments() {
        for row in segment.rows.clone() {
            ensemble.trajectories()[segment.trajectory].row(row, &mut x);
            for i in 0..dim {
                low[i] = low[i].min(x[i]);
                high[i] = high[i].max(x[i]);
            }
        }
    }
    standardiser.forward(&mut low);
    standardiser.forward(&mut high);
    (low, high)
}
