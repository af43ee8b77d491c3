//! Entropy production of a fitted model.

use ndarray::Array1;
use serde::{Deserialize, Serialize};

use super::setting::same_time;
use crate::control::Control;
use crate::data::Ensemble;
use crate::error::{Error, Result};
use crate::lagged::{Jackknife, LaggedConfig, PairTile, Subsample, accumulate_pairs};
use crate::mobility::{LinearMobility, Mobility, MobilityFit};
use crate::observable::{Functions, Polynomials};
use crate::score::Score;

/// The rate of entropy production with its errors, in units of k_B per unit of time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct EntropyProduction {
    /// ⟨vᵀ D⁻¹ v⟩, with `bias` subtracted.
    pub rate: f64,
    /// What the errors of the coefficients add to a square on average; zero where they are not known.
    pub bias: f64,
    /// Standard error from the finite number of samples, over blocks.
    pub sampling_error: f64,
    /// Standard error from the coefficients of the mobility, by jackknife; none where they are not known.
    pub coefficient_error: Option<f64>,
    /// Both together.
    pub error: f64,
}

/// Evaluations of a mobility that are made at most.
const WORK: usize = 20_000_000;

/// The rate ⟨vᵀ D⁻¹ v⟩ over the samples, with the irreversible velocity v = R s + ∇·R.
///
/// The current of the equation dx = (M s + ∇·M) dt + √2 Σ dW is
/// J = (M s + ∇·M) p − ∇·(D p) = (R s + ∇·R) p, since ∇·(D p) = (D s + ∇·D) p. Dissipation is
/// ∫ Jᵀ D⁻¹ J / p dx; it is zero for a reversible process, R = 0.
///
/// # Errors
/// When dimensions differ, D is not positive definite at a sample, there are fewer than two blocks, or
/// the work is stopped.
pub fn entropy_production(
    score: &dyn Score,
    mobility: &dyn Mobility,
    ensemble: &Ensemble,
    control: &Control,
) -> Result<EntropyProduction> {
    let flow = Flow {
        mobility,
        drift: None,
    };
    let rates = dissipation(score, &[flow], ensemble, control)?;
    let sampling_error = rates.errors()[0];
    Ok(EntropyProduction {
        rate: rates.values[0],
        bias: 0.0,
        sampling_error,
        coefficient_error: None,
        error: sampling_error,
    })
}

/// The same for a fitted mobility, with the errors of its coefficients.
///
/// The rate is evaluated again with every coefficient vector of the jackknife, c_b = c + √(B/(B−1)) δ_b
/// for the deviations δ_b of B blocks; with e_b their rates and e that of c, the variance is
/// (B−1)/B Σ (e_b − ē)² and the bias (B−1)(ē − e): a square of noisy currents is too large by their
/// variance. The score is held fixed. Where D of some c_b is not positive, that of the fit is used. In a record
/// with angles v = b − D s − ∇·D, with the drift b of the fit.
///
/// # Errors
/// As for [`entropy_production`].
pub fn entropy_production_of_fit(
    score: &dyn Score,
    fit: &MobilityFit,
    ensemble: &Ensemble,
    control: &Control,
) -> Result<EntropyProduction> {
    let blocks = fit.jackknife.deviations.nrows();
    if blocks < 2 {
        if ensemble.has_circles() {
            return Err(Error::input(
                "entropy production of angles needs the errors of a fit over blocks",
            ));
        }
        return entropy_production(score, &fit.mobility, ensemble, control);
    }
    let count = blocks as f64;
    let stretch = (count / (count - 1.0)).sqrt();
    let replicates = fit
        .jackknife
        .deviations
        .rows()
        .into_iter()
        .map(|deviation| {
            let coefficients: Array1<f64> = &fit.mobility.coefficients() + &(&deviation * stretch);
            LinearMobility::new(fit.mobility.basis().clone(), coefficients)
        })
        .collect::<Result<Vec<_>>>()?;
    // A steady turn of an angle is in the drift, and in no R.
    let turns = ensemble.has_circles();
    let flow = |mobility| Flow::of(mobility, turns);
    let mut flows = vec![flow(&fit.mobility)];
    flows.extend(replicates.iter().map(flow));
    let rates = dissipation(score, &flows, ensemble, control)?;
    let sampling_error = rates.errors()[0];
    let replicates = rates.values.slice(ndarray::s![1..]);
    let mean = replicates.sum() / count;
    let square: f64 = replicates.iter().map(|rate| (rate - mean).powi(2)).sum();
    let coefficient_error = ((count - 1.0) / count * square).sqrt();
    let bias = (count - 1.0) * (mean - rates.values[0]);
    Ok(EntropyProduction {
        rate: rates.values[0] - bias,
        bias,
        sampling_error,
        coefficient_error: Some(coefficient_error),
        error: sampling_error.hypot(coefficient_error),
    })
}

/// A mobility, and the drift where the irreversible velocity is b − D s − ∇·D instead of R s + ∇·R.
#[derive(Clone, Copy)]
struct Flow<'a> {
    mobility: &'a dyn Mobility,
    drift: Option<&'a Polynomials>,
}

impl<'a> Flow<'a> {
    /// Of a fit, with its drift where that is fitted and asked for.
    fn of(fit: &'a LinearMobility, with_drift: bool) -> Self {
        Self {
            mobility: fit,
            drift: fit.drift().filter(|_| with_drift),
        }
    }
}

/// Sums of one block.
struct Sums {
    /// Σ vᵀ D⁻¹ v of every mobility, and the number of samples.
    rates: Vec<f64>,
    work: Work,
    fault: Option<Error>,
}

/// Buffers of one thread.
#[derive(Default)]
struct Work {
    score: Vec<f64>,
    mobility: Vec<f64>,
    divergence: Vec<f64>,
    transposed: Vec<f64>,
    /// Σ of the first mobility, and that of another.
    factor: Vec<f64>,
    other: Vec<f64>,
    /// v, then Σ⁻¹ v.
    velocity: Vec<f64>,
}

/// ⟨vᵀ D⁻¹ v⟩ of every mobility, on the same samples; D of the first must be positive.
fn dissipation(
    score: &dyn Score,
    flows: &[Flow],
    ensemble: &Ensemble,
    control: &Control,
) -> Result<Jackknife> {
    let dim = ensemble.dim();
    let first = flows[0].mobility;
    if score.dim() != dim || first.dim() != dim {
        return Err(Error::input(format!(
            "dimensions do not match: the score has {} coordinates, the mobility {}, the data {dim}",
            score.dim(),
            first.dim()
        )));
    }
    let stride = (ensemble.samples() * flows.len()).div_ceil(WORK);
    let statistics = LaggedConfig {
        subsample: Subsample::Stride(stride),
        ..LaggedConfig::default()
    };
    let zero = || Sums {
        rates: vec![0.0; flows.len() + 1],
        work: Work::default(),
        fault: None,
    };
    let add = |sums: &mut Sums, tile: &PairTile| {
        if let Err(fault) = sums.work.add(score, flows, tile, &mut sums.rates) {
            sums.fault.get_or_insert(fault);
        }
    };
    let grid = same_time(ensemble)?;
    let blocks = accumulate_pairs(ensemble, &grid, &statistics, control, zero, add)?;
    let mut rates = Vec::with_capacity(blocks.len());
    for (_, sums) in blocks {
        if let Some(fault) = sums.fault {
            return Err(fault);
        }
        rates.push(sums.rates);
    }
    let last = flows.len();
    Jackknife::of_sums(&rates, |sums| {
        sums[..last].iter().map(|rate| rate / sums[last]).collect()
    })
}

impl Work {
    fn add(
        &mut self,
        score: &dyn Score,
        flows: &[Flow],
        tile: &PairTile,
        rates: &mut [f64],
    ) -> Result<()> {
        let (x, n) = (&tile.initial, tile.times.len());
        let dim = x.len() / n;
        for vector in [
            &mut self.score,
            &mut self.divergence,
            &mut self.transposed,
            &mut self.velocity,
        ] {
            vector.resize(dim * n, 0.0);
        }
        for tensor in [&mut self.mobility, &mut self.factor, &mut self.other] {
            tensor.resize(dim * dim * n, 0.0);
        }
        score.score(x, &mut self.score);
        for (k, Flow { mobility, drift }) in flows.iter().enumerate() {
            mobility.mobility(x, &mut self.mobility);
            mobility.div_mobility(x, &mut self.divergence);
            mobility.div_transpose(x, &mut self.transposed);
            if let Some(drift) = drift {
                drift.values(x, &mut self.velocity);
            }
            let mut own = k == 0;
            if own {
                mobility.noise_factor(x, &mut self.factor)?;
            } else {
                own = mobility.noise_factor(x, &mut self.other).is_err();
            }
            for s in 0..n {
                match drift {
                    Some(_) => self.less_reversible(dim, n, s),
                    None => self.irreversible_velocity(dim, n, s),
                }
                let factor = if own { &self.factor } else { &self.other };
                rates[k] += whitened_square(factor, &mut self.velocity, dim, n, s);
            }
        }
        rates[flows.len()] += n as f64;
        Ok(())
    }

    /// v_i = b_i − Σ_j D_ij s_j − (∇·D)_i with D = (M + Mᵀ)/2, in place of b.
    fn less_reversible(&mut self, dim: usize, n: usize, s: usize) {
        for i in 0..dim {
            let mut reversible = 0.5 * (self.divergence[i * n + s] + self.transposed[i * n + s]);
            for j in 0..dim {
                let (upper, lower) = ((i * dim + j) * n + s, (j * dim + i) * n + s);
                let entry = 0.5 * (self.mobility[upper] + self.mobility[lower]);
                reversible += entry * self.score[j * n + s];
            }
            self.velocity[i * n + s] -= reversible;
        }
    }

    /// v_i = Σ_j R_ij s_j + (∇·R)_i with R = (M − Mᵀ)/2.
    fn irreversible_velocity(&mut self, dim: usize, n: usize, s: usize) {
        for i in 0..dim {
            let mut v = 0.5 * (self.divergence[i * n + s] - self.transposed[i * n + s]);
            for j in 0..dim {
                let (upper, lower) = ((i * dim + j) * n + s, (j * dim + i) * n + s);
                v += 0.5 * (self.mobility[upper] - self.mobility[lower]) * self.score[j * n + s];
            }
            self.velocity[i * n + s] = v;
        }
    }
}

/// |Σ⁻¹ v|² = vᵀ D⁻¹ v by forward substitution, in place of v.
fn whitened_square(factor: &[f64], velocity: &mut [f64], dim: usize, n: usize, s: usize) -> f64 {
    let mut square = 0.0;
    for i in 0..dim {
        let mut rest = velocity[i * n + s];
        for j in 0..i {
            rest -= factor[(i * dim + j) * n + s] * velocity[j * n + s];
        }
        let u = rest / factor[(i * dim + i) * n + s];
        velocity[i * n + s] = u;
        square += u * u;
    }
    square
}
