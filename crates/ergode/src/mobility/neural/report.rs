//! How well a neural mobility explains what the constant one does not.

use ndarray::{Array1, Array2, ArrayView2, Axis, s};
use serde::{Deserialize, Serialize};

use super::field::NeuralMobility;
use super::{ChannelScale, NeuralMobilityConfig};
use crate::control::Control;
use crate::data::Ensemble;
use crate::error::Result;
use crate::lagged::{Jackknife, LagGrid, LaggedConfig, accumulate_pairs};
use crate::mobility::Mobility;
use crate::mobility::conditional::{ConditionalOperator, ResidualTarget};
use crate::nn::TrainReport;

/// The residual of one channel at all lags: what Φ leaves of Ċ_obs, and what the network explains.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ResidualCurve {
    /// φ_m.
    pub future: String,
    /// φ_n.
    pub initial: String,
    /// Ċ_obs.
    pub observed: Vec<f64>,
    /// A\[Φ\].
    pub constant: Vec<f64>,
    /// A\[δM_θ\].
    pub fitted: Vec<f64>,
    /// Standard error of Ċ_obs − A\[Φ\], by jackknife over stretches.
    pub target_error: Vec<f64>,
    /// Standard error of A\[δM_θ\] for this M_θ.
    pub fitted_error: Vec<f64>,
    /// Standard error of Ċ_obs − A\[Φ\] − A\[δM_θ\] for this M_θ.
    pub misfit_error: Vec<f64>,
}

impl ResidualCurve {
    /// Ċ_obs − A\[Φ\].
    pub fn target(&self) -> impl Iterator<Item = f64> + '_ {
        let pairs = self.observed.iter().zip(&self.constant);
        pairs.map(|(observed, constant)| observed - constant)
    }

    /// Rms over the lags of what is left, relative to that of the target, and the same of its
    /// standard error.
    pub fn relative_misfit(&self) -> (f64, f64) {
        let norm =
            |values: &mut dyn Iterator<Item = f64>| values.map(|v| v * v).sum::<f64>().sqrt();
        let size = norm(&mut self.target());
        let left = norm(&mut self.target().zip(&self.fitted).map(|(t, f)| t - f));
        (
            left / size,
            norm(&mut self.misfit_error.iter().copied()) / size,
        )
    }

    /// Mean over the lags of the squared residual in units of its standard error.
    pub fn chi2(&self) -> f64 {
        let left = self.target().zip(&self.fitted).zip(&self.misfit_error);
        let sum: f64 = left.map(|((t, f), error)| ((t - f) / error).powi(2)).sum();
        sum / self.fitted.len() as f64
    }
}

/// A neural mobility with what there is to know about its fit.
#[derive(Debug)]
pub struct NeuralMobilityFit {
    /// The mobility.
    pub mobility: NeuralMobility,
    /// The configuration.
    pub config: NeuralMobilityConfig,
    /// Training.
    pub training: TrainReport,
    /// Lags of the curves.
    pub lags: Vec<f64>,
    /// One curve for each channel, (m, n), or on a ring for each (family, c, d, r), with φ_m at the first site.
    pub curves: Vec<ResidualCurve>,
    /// |⟨M_θ⟩ − Φ| / |Φ|, Frobenius norms.
    pub mean_deviation: f64,
    /// Least Σ²_ii/Φ_ii over the states looked at, Σ being the Cholesky factor of D: positive, since D is.
    pub smallest_pivot: f64,
}

/// The targets of all channels with their errors.
pub(super) struct Judge {
    /// Labels of φ_m and φ_n, for each equation.
    channels: Vec<(String, String)>,
    lags: Vec<f64>,
    /// Ċ_obs, then A\[Φ\].
    curves: Jackknife,
    /// Ċ_obs − A\[Φ\].
    target: Jackknife,
}

impl Judge {
    pub(super) fn new(operator: &ConditionalOperator, target: &ResidualTarget) -> Result<Self> {
        let curves = target.jackknife()?;
        let half = curves.values.len() / 2;
        let difference = |row: ArrayView2<f64>| -> Array2<f64> {
            &row.slice(s![.., ..half]) - &row.slice(s![.., half..])
        };
        let values = curves.values.view().insert_axis(Axis(0));
        let target = Jackknife {
            values: difference(values).row(0).to_owned(),
            deviations: difference(curves.deviations.view()),
        };
        let (future, initial) = (operator.future().labels(), operator.initial().labels());
        Ok(Self {
            channels: operator.channels().labels(future, initial),
            lags: operator.grid().lags(),
            curves,
            target,
        })
    }

    /// w_τ / S²_mn(τ), (lag, equation), scaled so that residuals of size S give a sum of one.
    pub(super) fn weights(&self, scale: ChannelScale, exponent: f64) -> Vec<f64> {
        let channels = self.channels.len();
        let errors = self.target.errors();
        let squares: Vec<f64> = self.target.values.iter().map(|v| v * v).collect();
        let mean = |of: &dyn Fn(usize) -> f64, places: &mut dyn Iterator<Item = usize>| {
            let (mut sum, mut count) = (0.0, 0.0);
            for k in places {
                sum += of(k);
                count += 1.0;
            }
            sum / count
        };
        let all = squares.len();
        let unit = |k: usize| match scale {
            ChannelScale::SamplingError => errors[k].powi(2),
            ChannelScale::Global => mean(&|k| squares[k], &mut (0..all)),
            ChannelScale::Channel => {
                let both = |k: usize| squares[k] + errors[k].powi(2);
                mean(&both, &mut (k % channels..all).step_by(channels))
            }
        };
        let lag_weights: Vec<f64> = self.lags.iter().map(|lag| lag.powf(-exponent)).collect();
        let total = lag_weights.iter().sum::<f64>() * channels as f64;
        let weight = |k: usize| lag_weights[k / channels] / total / unit(k).max(f64::MIN_POSITIVE);
        (0..all).map(weight).collect()
    }

    /// The curves of all channels, with A\[δM_θ\] as it was `fitted`, (lag, equation).
    pub(super) fn curves(&self, fitted: &Jackknife) -> Vec<ResidualCurve> {
        let left = Jackknife {
            values: &self.target.values - &fitted.values,
            deviations: &self.target.deviations - &fitted.deviations,
        };
        let (target_error, fitted_error, misfit_error) =
            (self.target.errors(), fitted.errors(), left.errors());
        let (count, half) = (self.channels.len(), fitted.values.len());
        let curves = self.channels.iter().enumerate().map(|(channel, (m, n))| {
            let pick = |values: &Array1<f64>, first: usize| {
                let places = (0..half / count).map(|lag| first + lag * count + channel);
                places.map(|k| values[k]).collect::<Vec<f64>>()
            };
            ResidualCurve {
                future: m.clone(),
                initial: n.clone(),
                observed: pick(&self.curves.values, 0),
                constant: pick(&self.curves.values, half),
                fitted: pick(&fitted.values, 0),
                target_error: pick(&target_error, 0),
                fitted_error: pick(&fitted_error, 0),
                misfit_error: pick(&misfit_error, 0),
            }
        });
        curves.collect()
    }
}

/// |⟨M_θ⟩ − Φ| / |Φ| and the least Σ²_ii/Φ_ii, over the initial states of the pairs that `statistics`
/// chooses.
pub(super) fn summarise(
    ensemble: &Ensemble,
    grid: &LagGrid,
    mobility: &NeuralMobility,
    statistics: &LaggedConfig,
    control: &Control,
) -> Result<(f64, f64)> {
    let (dim, phi) = (ensemble.dim(), mobility.constant());
    let blocks = accumulate_pairs(
        ensemble,
        grid,
        statistics,
        control,
        || (0.0, Array2::zeros((dim, dim)), f64::INFINITY),
        |(states, sum, least): &mut (f64, Array2<f64>, f64), tile| {
            if tile.lag > 0 {
                return;
            }
            let n = tile.times.len();
            let mut tensors = vec![0.0; dim * dim * n];
            mobility.mobility(&tile.initial, &mut tensors);
            *states += n as f64;
            for (sum, row) in sum.iter_mut().zip(tensors.chunks_exact(n)) {
                *sum += row.iter().sum::<f64>();
            }
            if mobility.noise_factor(&tile.initial, &mut tensors).is_err() {
                *least = 0.0;
            }
            for i in 0..dim {
                let pivots = tensors[(i * dim + i) * n..][..n].iter();
                *least = pivots.fold(*least, |least, p| least.min(p * p / phi[[i, i]]));
            }
        },
    )?;
    let (mut states, mut sum, mut least) = (0.0, Array2::zeros((dim, dim)), f64::INFINITY);
    for (_, block) in blocks {
        states += block.0;
        sum += &block.1;
        least = least.min(block.2);
    }
    let norm = |a: &Array2<f64>| a.iter().map(|v| v * v).sum::<f64>().sqrt();
    Ok((norm(&(sum / states - &phi)) / norm(&phi), least))
}

/// δM = M_θ − Φ.
pub(super) struct Correction<'a>(pub(super) &'a NeuralMobility);

impl Mobility for Correction<'_> {
    fn dim(&self) -> usize {
        self.0.dim()
    }
    fn mobility(&self, x: &[f64], out: &mut [f64]) {
        self.0.mobility(x, out);
        let n = x.len() / self.dim();
        let rows = out.chunks_exact_mut(n.max(1));
        for (row, phi) in rows.zip(&self.0.constant()) {
            row.iter_mut().for_each(|m| *m -= phi);
        }
    }
    fn div_mobility(&self, x: &[f64], out: &mut [f64]) {
        self.0.div_mobility(x, out);
    }
    fn div_transpose(&self, x: &[f64], out: &mut [f64]) {
        self.0.div_transpose(x, out);
    }
}
