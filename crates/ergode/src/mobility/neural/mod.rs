//! The mobility by a network that is fitted to the residual of the constant one, as in the paper.

mod bank;
mod config;
mod field;
mod report;
mod task;
mod tensor;

use std::path::Path;

use ndarray::{Array2, ArrayView2, s};

pub use config::{ChannelScale, NeuralMobilityConfig};
pub use field::NeuralMobility;
pub use report::{NeuralMobilityFit, ResidualCurve};

use self::bank::Source;
use self::report::{Correction, Judge, summarise};
use self::task::MobilityTask;
use self::tensor::TensorMap;
use super::Mobility;
use super::conditional::{ConditionalOperator, ResidualTarget, estimate_residual};
use crate::control::Control;
use crate::data::Ensemble;
use crate::error::{Error, Result};
use crate::lagged::{LaggedConfig, Pool, Subsample, held_out_stretches, stretches};
use crate::nn::{CpuEngine, Mlp, train};
use crate::score::{Score, Windows};

/// Fit M_θ so that the conditional operator of δM = M_θ − Φ gives what Φ leaves of Ċ_obs
/// (`eq:app_affine_2d_mobility_loss`).
///
/// Φ should be the constant mobility of the data, its symmetric part positive definite; on a ring its onsite
/// blocks are averaged over sites. A `checkpoint` file keeps the state of the training.
///
/// # Errors
/// When the configuration is out of range, training diverges, or the work is stopped.
pub fn fit_neural_mobility(
    ensemble: &Ensemble,
    operator: &ConditionalOperator,
    stationary: &dyn Score,
    phi: ArrayView2<f64>,
    config: &NeuralMobilityConfig,
    checkpoint: Option<&Path>,
    control: &Control,
) -> Result<NeuralMobilityFit> {
    let mut mobility = NeuralMobility::new(ensemble, phi, config)?;
    let phi = mobility.constant();
    let mut statistics = LaggedConfig {
        subsample: config.subsample,
        blocking: stretches(ensemble),
        ..LaggedConfig::default()
    };
    let target = estimate_residual(
        ensemble,
        operator,
        stationary,
        phi.view(),
        &config.residual,
        &statistics,
        control,
    )?;
    let judge = Judge::new(operator, &target)?;
    let task = draw(
        ensemble, operator, &mobility, &target, &judge, config, control,
    )?;
    let purpose = format!(
        "mobility of data {:016x}: {} lags {:?}",
        ensemble.fingerprint(),
        serde_json::to_string(config).expect("a configuration is plain"),
        operator.grid().lags()
    );
    let checkpoint = checkpoint.map(|path| (path, purpose.as_str()));
    let (engine, first) = (CpuEngine::default(), mobility.mlp.clone());
    let (mlp, training) = train(&task, first, &config.train, &engine, checkpoint, control)?;
    drop(task);
    mobility.mlp = mlp;
    statistics.subsample = Subsample::Stride((ensemble.samples() / config.states).max(1));
    let correction: &dyn Mobility = &Correction(&mobility);
    let fitted = operator.accumulate(ensemble, &[correction], &statistics, control)?;
    let curves = judge.curves(&fitted.jackknife()?);
    let grid = operator.grid();
    let (mean_deviation, smallest_pivot) =
        summarise(ensemble, grid, &mobility, &statistics, control)?;
    Ok(NeuralMobilityFit {
        mobility,
        config: config.clone(),
        training,
        lags: grid.lags(),
        curves,
        mean_deviation,
        smallest_pivot,
    })
}

impl NeuralMobility {
    /// M = Φ, by a network whose last layer is zero: where the training begins.
    ///
    /// # Errors
    /// When the configuration does not fit the data, or sym Φ is not positive definite.
    pub fn new(
        ensemble: &Ensemble,
        phi: ArrayView2<f64>,
        config: &NeuralMobilityConfig,
    ) -> Result<Self> {
        let standardiser = config.layout.standardiser(ensemble)?;
        let windows = Windows::new(config.layout, &standardiser)?;
        let block = site_average(phi, &windows)?;
        let map = TensorMap::new(
            block.view(),
            config.mask.as_deref(),
            config.floor,
            config.skew,
        )?;
        let mut widths = vec![windows.rows()];
        widths.extend(&config.hidden);
        widths.push(map.outputs());
        Ok(Self {
            mlp: Mlp::new(&widths, config.seed)?.with_zero_output(),
            confinement: config.layout.confinement(ensemble, standardiser)?,
            windows,
            map,
        })
    }
}

/// The loss, with all pairs drawn.
fn draw(
    ensemble: &Ensemble,
    operator: &ConditionalOperator,
    mobility: &NeuralMobility,
    target: &ResidualTarget,
    judge: &Judge,
    config: &NeuralMobilityConfig,
    control: &Control,
) -> Result<MobilityTask> {
    let lags = operator.grid().len();
    let lags_per_step = config.lags_per_step.unwrap_or(lags);
    if config.batch < 2 || lags_per_step == 0 || lags_per_step > lags {
        return Err(Error::input(format!(
            "a step needs at least two states and between 1 and {lags} lags"
        )));
    }
    let source = Source {
        operator,
        windows: &mobility.windows,
        standardiser: mobility.confinement.standardiser(),
        seed: config.seed,
        control,
    };
    let (training, testing) = Pool::split(ensemble, config.held_out)?;
    let half = config.batch / 2;
    let slices = (config.states / half).max(2) as u64;
    // The held-out loss is looked at rarely, and decides: it should be less noisy than a step.
    let testing_states = half.max(config.states / 8);
    let (learned, held_out) = targets(target, config.held_out)?;
    let size: f64 = mobility.map.phi().iter().map(|v| v * v).sum();
    let weights = judge.weights(config.scale, config.lag_exponent);
    let pairs = weights.iter().zip(&learned);
    let constant: f64 = pairs.map(|(weight, target)| weight * target * target).sum();
    Ok(MobilityTask {
        ridge: config.ridge * constant,
        training: (0..slices)
            .map(|k| source.slice(&training, half, k))
            .collect::<Result<_>>()?,
        held_out: [
            source.slice(&testing, testing_states, slices)?,
            source.slice(&testing, testing_states, slices + 1)?,
        ],
        map: mobility.map.clone(),
        target: learned,
        held_out_target: held_out,
        weights,
        mean_weight: config.mean_penalty / size,
        lags,
        lags_per_step,
        seed: config.seed,
    })
}

/// The mean of the onsite blocks of Φ: Φ itself for a single site.
fn site_average(phi: ArrayView2<f64>, windows: &Windows) -> Result<Array2<f64>> {
    let (c, sites) = (windows.components, windows.sites);
    if phi.dim() != (c * sites, c * sites) {
        return Err(Error::input(format!(
            "the constant mobility has shape {:?}, but the data have dimension {}",
            phi.dim(),
            c * sites
        )));
    }
    let mut sum = Array2::zeros((c, c));
    for site in 0..sites {
        let at = site * c..(site + 1) * c;
        sum += &phi.slice(s![at.clone(), at]);
    }
    Ok(sum / sites as f64)
}

/// Ċ_obs − A\[Φ\], (lag, equation), in the stretches to learn from and in those held out.
fn targets(target: &ResidualTarget, fraction: f64) -> Result<(Vec<f64>, Vec<f64>)> {
    let held_out = held_out_stretches(target.blocks(), fraction)?;
    let of = |kept: bool| {
        let curves = target.curves_of(|k| held_out[k] == kept);
        let (observed, constant) = curves.split_at(curves.len() / 2);
        observed.iter().zip(constant).map(|(o, c)| o - c).collect()
    };
    Ok((of(false), of(true)))
}
