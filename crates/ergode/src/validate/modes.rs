//! Time scales and slowest modes of a model, compared with those of the data.

use ndarray::{Array2, ArrayView2, s};
use serde::{Deserialize, Serialize};

use super::setting::same_time;
use crate::check::decorrelation_times;
use crate::control::Control;
use crate::data::{Ensemble, Standardiser, States};
use crate::error::{Error, Result};
use crate::lagged::{
    Jackknife, LagGrid, LaggedConfig, PairSums, PairTile, Subsample, accumulate_lagged,
    accumulate_pairs,
};
use crate::linalg;
use crate::mobility::{Mobility, doubling_lags};
use crate::observable::{Functions, Library, Monomials, Standardised};

/// The space in which modes are looked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SpectrumConfig {
    /// Degree of the polynomials; by default from 6 in one dimension down to 1 in many.
    pub degree: Option<usize>,
    /// Number of modes.
    pub modes: usize,
    /// Lags of the data, whole numbers of sampling intervals; by default doubling ones up to the
    /// longest decorrelation time of a coordinate.
    pub lags: Vec<f64>,
}

impl Default for SpectrumConfig {
    fn default() -> Self {
        Self {
            degree: None,
            modes: 4,
            lags: Vec::new(),
        }
    }
}

/// An eigenfunction of the model's generator; of a complex pair the one with positive frequency.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mode {
    /// Implied time scale −1/Re λ.
    pub time_scale: f64,
    /// Its standard error from the finite number of samples, over blocks.
    pub error: f64,
    /// Im λ.
    pub frequency: f64,
    /// Real and imaginary part of the coefficient of each function; ⟨|f|²⟩ = 1, ⟨f⟩ = 0.
    pub coefficients: Vec<[f64; 2]>,
}

/// Implied time scales of the data at one lag.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LagSpectrum {
    /// The lag τ.
    pub lag: f64,
    /// −τ / ln |λ| and its standard error, slowest first; none where noise hides it.
    pub time_scales: Vec<Option<[f64; 2]>>,
}

/// Modes of a model and time scales of the data, in one space of polynomials.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SpectrumComparison {
    /// Degree of the space.
    pub degree: usize,
    /// Its functions: monomials of standardised coordinates, the constant first.
    pub functions: Vec<String>,
    /// The slowest modes of the model.
    pub model: Vec<Mode>,
    /// The data, lag by lag.
    pub data: Vec<LagSpectrum>,
}

/// States at which the generator is evaluated at most, times functions.
const WORK: usize = 20_000_000;

/// The slowest modes of the generator of a model, and the time scales of the data.
///
/// The model: eigenvalues of l_ab = −⟨∇ψ_a M ∇ψ_bᵀ⟩ on polynomials ψ orthonormal under the samples; no
/// score is needed. The data: eigenvalues λ of C(τ) C(0)⁻¹ of the same polynomials, t = −τ / ln|λ|. Both
/// are limited by the space, the data less so at longer lags.
///
/// # Errors
/// When dimensions differ, sampling is uneven, the polynomials are linearly dependent on the samples,
/// or the work is stopped.
pub fn compare_spectra(
    ensemble: &Ensemble,
    mobility: &dyn Mobility,
    config: &SpectrumConfig,
    control: &Control,
) -> Result<SpectrumComparison> {
    let dim = ensemble.dim();
    if mobility.dim() != dim {
        return Err(Error::input(format!(
            "dimensions do not match: the mobility has {} coordinates, the data {dim}",
            mobility.dim()
        )));
    }
    let degree = config.degree.unwrap_or(match dim {
        1 => 6,
        2 => 4,
        3 => 3,
        4..=6 => 2,
        _ => 1,
    });
    let space = Space {
        library: Monomials::new(ensemble.names(), 0..=degree)?,
        scales: Standardiser::from_ensemble(ensemble)?,
    };
    let modes = space.modes(ensemble, mobility, config.modes, control)?;
    let data = space.time_scales(ensemble, config, control)?;
    Ok(SpectrumComparison {
        degree,
        functions: space.library.labels().to_vec(),
        model: modes,
        data,
    })
}

/// Monomials of the standardised coordinates.
struct Space {
    library: Monomials,
    scales: Standardiser,
}

/// Σ of one block: ∇φ M ∇φᵀ, φ φᵀ and the number of samples, flat; and buffers.
struct Sums {
    totals: Vec<f64>,
    z: States,
    values: Vec<f64>,
    gradients: Vec<f64>,
    pushed: Vec<f64>,
    tensors: Vec<f64>,
}

impl Space {
    fn modes(
        &self,
        ensemble: &Ensemble,
        mobility: &dyn Mobility,
        count: usize,
        control: &Control,
    ) -> Result<Vec<Mode>> {
        let size = self.library.len();
        let statistics = LaggedConfig {
            subsample: Subsample::Stride((ensemble.samples() * size).div_ceil(WORK)),
            ..LaggedConfig::default()
        };
        let zero = || Sums {
            totals: vec![0.0; 2 * size * size + 1],
            z: States::default(),
            values: Vec::new(),
            gradients: Vec::new(),
            pushed: Vec::new(),
            tensors: Vec::new(),
        };
        let add = |sums: &mut Sums, tile: &PairTile| self.add(mobility, sums, tile);
        let grid = same_time(ensemble)?;
        let blocks = accumulate_pairs(ensemble, &grid, &statistics, control, zero, add)?;
        let blocks: Vec<Vec<f64>> = blocks.into_iter().map(|(_, sums)| sums.totals).collect();
        let all = (0..blocks[0].len()).map(|k| blocks.iter().map(|block| block[k]).sum());
        let mut modes = self.eigenfunctions(&all.collect::<Vec<f64>>(), count)?;
        let scales = Jackknife::of_sums(&blocks, |sums| {
            let found = self.eigenfunctions(sums, count).unwrap_or_default();
            let scale = |k: usize| found.get(k).map_or(f64::NAN, |mode| mode.time_scale);
            (0..modes.len()).map(scale).collect()
        })?;
        for (mode, error) in modes.iter_mut().zip(scales.errors()) {
            mode.error = error;
        }
        Ok(modes)
    }

    /// Add a tile to the sums of its block.
    fn add(&self, mobility: &dyn Mobility, sums: &mut Sums, tile: &PairTile) {
        let (n, size, dim) = (tile.times.len(), self.library.len(), mobility.dim());
        let scale = &self.scales.scale;
        sums.z.clone_from(&tile.initial);
        sums.z.standardise(&self.scales);
        sums.values.resize(size * n, 0.0);
        sums.gradients.resize(size * dim * n, 0.0);
        sums.pushed.resize(size * dim * n, 0.0);
        sums.tensors.resize(dim * dim * n, 0.0);
        self.library.values(&sums.z, &mut sums.values);
        self.library.gradient_tile(&sums.z, &mut sums.gradients);
        mobility.mobility(&tile.initial, &mut sums.tensors);
        // M ∇φᵀ in standardised coordinates.
        for (k, tensor) in sums.tensors.chunks_exact_mut(n).enumerate() {
            let unit = 1.0 / (scale[k / dim] * scale[k % dim]);
            tensor.iter_mut().for_each(|m| *m *= unit);
        }
        sums.pushed.fill(0.0);
        for f in 0..size {
            for (i, j) in (0..dim * dim).map(|k| (k / dim, k % dim)) {
                let tensor = &sums.tensors[(i * dim + j) * n..][..n];
                let gradient = &sums.gradients[(f * dim + j) * n..][..n];
                let pushed = &mut sums.pushed[(f * dim + i) * n..][..n];
                for ((out, m), g) in pushed.iter_mut().zip(tensor).zip(gradient) {
                    *out += m * g;
                }
            }
        }
        let (dissipation, rest) = sums.totals.split_at_mut(size * size);
        let (gram, samples) = rest.split_at_mut(size * size);
        linalg::add_product(dissipation, &sums.gradients, &sums.pushed, size);
        linalg::add_product(gram, &sums.values, &sums.values, size);
        samples[0] += n as f64;
    }

    /// The slowest modes from the sums.
    fn eigenfunctions(&self, sums: &[f64], count: usize) -> Result<Vec<Mode>> {
        let size = self.library.len();
        let square = |k: usize| {
            let part = &sums[k * size * size..(k + 1) * size * size];
            ArrayView2::from_shape((size, size), part)
                .expect("square")
                .to_owned()
                / sums[2 * size * size]
        };
        let (dissipation, gram) = (square(0), square(1));
        let factor = linalg::cholesky(gram.view()).map_err(|_| {
            Error::numerical(
                "the polynomials are linearly dependent on the samples; lower the degree",
            )
        })?;
        // ψ = L⁻¹ φ with z^α = Σ_a L_αa ψ_a; the constant is ψ_0.
        let inverse = linalg::inverse(factor.view());
        let generator = inverse.dot(&dissipation).dot(&inverse.t()) * -1.0;
        // ℒ Σ u_a ψ_a = λ Σ u_a ψ_a for left eigenvectors u.
        let generator = generator.slice(s![1.., 1..]).t().to_owned();
        let eigen = linalg::eigen(generator.view())?;
        let values = &eigen.values;
        let mut order: Vec<usize> = (0..values.len()).filter(|k| values[*k].1 >= 0.0).collect();
        order.sort_by(|a, b| values[*b].0.total_cmp(&values[*a].0));
        let basis = inverse.slice(s![1.., ..]);
        let mode = |k: &usize| {
            let part = |vectors: &Array2<f64>| basis.t().dot(&vectors.column(*k));
            let (re, im) = (part(&eigen.real), part(&eigen.imaginary));
            Mode {
                time_scale: -1.0 / values[*k].0,
                error: 0.0,
                frequency: values[*k].1,
                coefficients: re.iter().zip(&im).map(|(re, im)| [*re, *im]).collect(),
            }
        };
        Ok(order.iter().take(count).map(mode).collect())
    }

    /// Implied time scales of the data.
    fn time_scales(
        &self,
        ensemble: &Ensemble,
        config: &SpectrumConfig,
        control: &Control,
    ) -> Result<Vec<LagSpectrum>> {
        let Some(interval) = ensemble.sampling_interval() else {
            return Err(Error::input(
                "time scales of the data need even sampling; interpolate the record to one interval",
            ));
        };
        let lags = if config.lags.is_empty() {
            let times = decorrelation_times(ensemble, control)?;
            let longest = times.iter().flatten().copied().fold(interval, f64::max);
            doubling_lags(interval, longest)
        } else {
            std::iter::once(0.0)
                .chain(config.lags.iter().copied())
                .collect()
        };
        let grid = LagGrid::for_ensemble(ensemble, &lags)?;
        let size = self.library.len();
        let cost = ensemble.samples() * size * lags.len();
        let statistics = LaggedConfig {
            subsample: Subsample::Stride(cost.div_ceil(10 * WORK)),
            ..LaggedConfig::default()
        };
        let library = &Standardised::new(self.scales.clone(), &self.library);
        let sums = accumulate_lagged(ensemble, library, library, &grid, &statistics, control)?;
        let estimate = sums.jackknife(|sums: &PairSums| {
            let zero = sums.covariance(0);
            let zero = linalg::inverse(zero.slice(s![1.., 1..]));
            let scales = (1..lags.len()).flat_map(|lag| {
                let later = sums.covariance(lag);
                let carried = later.slice(s![1.., 1..]).dot(&zero);
                implied(carried.view(), lags[lag], config.modes)
            });
            scales.collect()
        })?;
        let errors = estimate.errors();
        let entry = |k: usize| {
            let (value, error) = (estimate.values[k], errors[k]);
            (value.is_finite() && error.is_finite()).then_some([value, error])
        };
        let spectrum = |l: usize| LagSpectrum {
            lag: lags[l + 1],
            time_scales: (0..config.modes)
                .map(|k| entry(l * config.modes + k))
                .collect(),
        };
        Ok((0..lags.len() - 1).map(spectrum).collect())
    }
}

/// −τ / ln|λ| of the `count` largest |λ|, one of each complex pair; NaN if there are fewer.
fn implied(matrix: ArrayView2<f64>, lag: f64, count: usize) -> Vec<f64> {
    let mut scales: Vec<f64> = linalg::eigenvalues(matrix)
        .unwrap_or_default()
        .into_iter()
        .filter(|value| value.1 >= 0.0)
        .map(|(re, im)| -lag / re.hypot(im).ln())
        .map(|scale| if scale > 0.0 { scale } else { f64::NAN })
        .collect();
    scales.sort_by(|a, b| b.total_cmp(a));
    scales.resize(count, f64::NAN);
    scales
}
