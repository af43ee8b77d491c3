//! The mobility by a network that is fitted to the residual of the constant one, as in the paper.

mod bank;
mod field;
mod report;
mod task;
mod tensor;

use std::path::Path;

use ndarray::{Array2, ArrayView2, s};
use serde::{Deserialize, Serialize};

pub use field::NeuralMobility;
pub use report::{NeuralMobilityFit, ResidualCurve};

use self::bank::Source;
use self::report::{Correction, Judge, summarise};
use self::task::MobilityTask;
use self::tensor::TensorMap;
use super::Mobility;
use super::conditional::{ConditionalOperator, ResidualConfig, ResidualTarget, estimate_residual};
use crate::control::Control;
use crate::data::Ensemble;
use crate::error::{Error, Result};
use crate::lagged::{LaggedConfig, Pool, Subsample, held_out_stretches, stretches};
use crate::nn::{AdamConfig, CpuEngine, Decay, Mlp, TrainConfig, train};
use crate::score::{Layout, Score, Windows};

/// What the residuals of a channel (m, n) are measured in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChannelScale {
    /// The rms over the lags of the target of the channel, its sampling error included: a channel that is zero
    /// by symmetry counts no more than its noise allows. The paper's, but for that.
    Channel,
    /// The rms over all channels and lags, the same for all.
    Global,
    /// The sampling error of the target of each channel at each lag: the loss is χ² per equation.
    #[default]
    SamplingError,
}

/// How a neural mobility is fitted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct NeuralMobilityConfig {
    /// Hidden widths of the network.
    pub hidden: Vec<usize>,
    /// One matrix for all coordinates, or the onsite block of every site of a lattice.
    pub layout: Layout,
    /// Which entries of the matrix, or of the block, there are, row by row; all if not given.
    pub mask: Option<Vec<bool>>,
    /// ε: D is at least this fraction of diag Φ.
    pub floor: f64,
    /// What an output of one adds to an entry of R, in units of √(Φ_ii Φ_jj): large where the currents are
    /// known to be, so that the network need not grow to them.
    pub skew: f64,
    /// Which samples begin the pairs of the observed correlations.
    pub subsample: Subsample,
    /// The derivative of the observed correlations.
    pub residual: ResidualConfig,
    /// Initial states that are drawn from the record once, each with a partner at every lag.
    pub states: usize,
    /// Initial states of a step.
    pub batch: usize,
    /// Lags of a step, drawn at random; all if not given. The network is evaluated once for all
    /// lags, so that more lags cost little.
    pub lags_per_step: Option<usize>,
    /// Units of the residuals.
    pub scale: ChannelScale,
    /// p in the weights w_τ ∝ τ^−p of the lags.
    pub lag_exponent: f64,
    /// λ_mean: weight of |⟨M⟩ − Φ|²/|Φ|², the mean over equations of the squared residuals having weight one.
    pub mean_penalty: f64,
    /// λ_reg: weight of the mean square of the network's outputs, which are zero where M = Φ, the squared residuals
    /// of Φ having weight one. It decides where the equations do not: with φ_n the coordinates alone they leave
    /// much of M open.
    pub ridge: f64,
    /// Fraction of the record that is held out, in whole stretches: pairs and targets.
    pub held_out: f64,
    /// Seed of draws and weights.
    pub seed: u64,
    /// Training.
    pub train: TrainConfig,
}

impl Default for NeuralMobilityConfig {
    fn default() -> Self {
        let steps = 1500;
        Self {
            hidden: vec![128, 128],
            layout: Layout::Whole,
            mask: None,
            floor: 1e-6,
            skew: 1.0,
            subsample: Subsample::All,
            residual: ResidualConfig::default(),
            states: 131_072,
            batch: 8192,
            lags_per_step: None,
            scale: ChannelScale::default(),
            lag_exponent: 0.0,
            mean_penalty: 10.0,
            ridge: 0.0,
            held_out: 0.1,
            seed: 0,
            train: TrainConfig {
                adam: AdamConfig {
                    rate: 2e-3,
                    weight_decay: 1e-6,
                    decay: Decay::Cosine { steps, floor: 0.01 },
                    ..AdamConfig::default()
                },
                average: 0.99,
                ..TrainConfig::with_steps(steps)
            },
        }
    }
}

/// Fit M_θ so that the conditional operator of δM = M_θ − Φ gives what Φ leaves of Ċ_obs
/// (`eq:app_affine_2d_mobility_loss`).
///
/// Φ should be the constant mobility of the data, its symmetric part positive definite; on a lattice its
/// onsite blocks are averaged over sites. A `checkpoint` file keeps the state of the training.
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

/// The mean of the onsite blocks of Φ: Φ itself where there is one site.
fn site_average(phi: ArrayView2<f64>, windows: &Windows) -> Result<Array2<f64>> {
    let (c, sites) = (windows.components, windows.sites);
    if phi.dim() != (c * sites, c * sites) {
        return Err(Error::input(format!(
            "the constant mobility is {:?}, the data have {} coordinates",
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
