//! How a neural mobility is fitted.

use serde::{Deserialize, Serialize};

use crate::lagged::Subsample;
use crate::mobility::conditional::ResidualConfig;
use crate::nn::{AdamConfig, Decay, TrainConfig};
use crate::score::Layout;

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
    /// One matrix for all coordinates, or the onsite block of every site of a ring.
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
