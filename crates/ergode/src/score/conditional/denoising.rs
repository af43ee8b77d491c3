//! The conditional score by denoising: a network predicts, from the future state, the noise that was
//! added to the initial one.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::ConditionalScore;
use crate::control::Control;
use crate::data::{Ensemble, Standardiser};
use crate::error::Result;
use crate::lagged::{LagGrid, Pool};
use crate::nn::{Batch, CpuEngine, Engine, Mlp, TrainConfig, TrainReport, train};
use crate::random::{Purpose, Stream};
use crate::score::Score;
use crate::score::regression::{Denoising, DenoisingTask, NoiseConfig, Noisy, Regression};
use crate::score::windows::{Layout, Windows};

/// Options of a conditional score learned by denoising.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ConditionalConfig {
    /// Hidden widths of the network.
    pub hidden: Vec<usize>,
    /// One network for the whole state, or the same one at every site of a lattice.
    pub layout: Layout,
    /// Noise, which the initial states receive, and batches.
    pub noise: NoiseConfig,
    /// Frequencies k of the lag features cos kπu and sin kπu, u = t/t_max, beside u itself.
    pub frequencies: usize,
    /// Give the network the difference (z_t − z_0)/√(t/t_max) too and divide its output by √(t/t_max),
    /// which is how a transition score grows at short lags; the loss is weighted so that all lags count
    /// the same. Off, the network is the paper's.
    pub rescale: bool,
    /// Weight of the penalties on ⟨r⟩ and ⟨r z_0ᵀ⟩, which vanish for the true residual r.
    pub moment_penalty: f64,
    /// Training.
    pub train: TrainConfig,
}

impl Default for ConditionalConfig {
    fn default() -> Self {
        Self {
            hidden: vec![256, 128],
            layout: Layout::Whole,
            noise: NoiseConfig::default(),
            frequencies: 3,
            rescale: true,
            moment_penalty: 0.1,
            train: TrainConfig::with_steps(10_000),
        }
    }
}

/// Record of the training of a conditional score.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConditionalReport {
    /// The configuration.
    pub config: ConditionalConfig,
    /// Training.
    pub training: TrainReport,
}

/// s_{t|0} = ρ(z_0, z_t, t)/σ, in standardised coordinates, by a network ρ.
#[derive(Debug, Serialize, Deserialize)]
pub struct NeuralConditionalScore {
    mlp: Mlp,
    inputs: Inputs,
    standardiser: Standardiser,
    report: ConditionalReport,
}

impl NeuralConditionalScore {
    /// How it was learned.
    pub fn report(&self) -> &ConditionalReport {
        &self.report
    }
}

/// Learn the conditional score from lagged pairs, as the paper does (appendix on score estimation).
///
/// Initial states receive noise; the network ρ is trained on
/// ⟨|ρ(z_0 + σξ, z_t, t) − (−ξ − σ ŝ(z_0 + σξ))|²⟩, lags of `grid` with equal probability, so that ρ/σ is what z_t adds
/// to the stationary score ŝ, which is s_{t|0}. Pairs of an uneven record enter with their own lag.
///
/// # Errors
/// When the configuration is out of range, training diverges, or the work is stopped.
pub fn fit_conditional_score(
    ensemble: &Ensemble,
    stationary: &dyn Score,
    grid: &LagGrid,
    config: &ConditionalConfig,
    checkpoint: Option<&Path>,
    control: &Control,
) -> Result<NeuralConditionalScore> {
    super::check(ensemble, stationary, grid)?;
    let lags = grid.lags();
    let longest = lags.iter().copied().fold(0.0, f64::max);
    let standardiser = config.layout.standardiser(ensemble)?;
    let inputs = Inputs {
        windows: Windows::new(config.layout, &standardiser)?,
        frequencies: config.frequencies,
        longest,
        rescale: config.rescale,
    };
    let mut widths = vec![inputs.rows()];
    widths.extend(&config.hidden);
    widths.push(inputs.windows.components);
    let mlp = Mlp::new(&widths, config.noise.seed)?.with_zero_output();
    let purpose = format!(
        "conditional score of data {:016x}: {} lags {lags:?}",
        ensemble.fingerprint(),
        serde_json::to_string(config).expect("a configuration is plain")
    );
    let checkpoint = checkpoint.map(|path| (path, purpose.as_str()));
    let task = DenoisingTask(Conditional::new(
        ensemble,
        grid,
        stationary,
        &inputs,
        &standardiser,
        config,
    )?);
    let engine = CpuEngine::default();
    let (mlp, training) = train(&task, mlp, &config.train, &engine, checkpoint, control)?;
    Ok(NeuralConditionalScore {
        mlp,
        inputs,
        standardiser,
        report: ConditionalReport {
            config: config.clone(),
            training,
        },
    })
}

/// Inputs of the network for a pair.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Inputs {
    windows: Windows,
    frequencies: usize,
    longest: f64,
    rescale: bool,
}

impl Inputs {
    fn rows(&self) -> usize {
        let differences = if self.rescale {
            self.windows.components
        } else {
            0
        };
        2 * self.windows.rows() + differences + 1 + 2 * self.frequencies
    }

    /// What the output is multiplied with to give r: (t/t_max)^-½, or one.
    fn growth(&self, lag: f64) -> f32 {
        if self.rescale {
            (self.longest / lag).sqrt() as f32
        } else {
            1.0
        }
    }

    /// Rows for standardised states z0 and zt, (D, n), and lags t, (n), in `sites` × n columns.
    fn fill(&self, z0: &[f32], zt: &[f32], t: &[f64], out: &mut [f32]) {
        let (n, sites) = (t.len(), self.windows.sites);
        let columns = sites * n;
        let (initial, rest) = out.split_at_mut(self.windows.rows() * columns);
        self.windows.gather(z0, initial);
        let (future, mut rest) = rest.split_at_mut(self.windows.rows() * columns);
        self.windows.gather(zt, future);
        if self.rescale {
            let (differences, after) = rest.split_at_mut(self.windows.components * columns);
            let growth: Vec<f32> = t.iter().map(|t| self.growth(*t)).collect();
            let change: Vec<f32> = (0..z0.len())
                .map(|k| (zt[k] - z0[k]) * growth[k % n])
                .collect();
            self.windows.arrange(&change, differences);
            rest = after;
        }
        for (row, out) in rest.chunks_exact_mut(columns).enumerate() {
            let k = row.div_ceil(2) as f64 * std::f64::consts::PI;
            for (s, t) in t.iter().enumerate() {
                let u = t / self.longest;
                out[s] = match (row, row % 2) {
                    (0, _) => 2.0 * u - 1.0,
                    (_, 1) => (k * u).cos(),
                    _ => (k * u).sin(),
                } as f32;
            }
            let (first, others) = out.split_at_mut(n);
            others
                .chunks_exact_mut(n)
                .for_each(|o| o.copy_from_slice(first));
        }
    }
}

/// Lagged pairs with noise added to the initial state.
struct Conditional<'a> {
    training: Pool<'a>,
    grid: &'a LagGrid,
    stationary: &'a dyn Score,
    inputs: &'a Inputs,
    standardiser: &'a Standardiser,
    config: &'a ConditionalConfig,
    held_out: Regression,
}

impl<'a> Conditional<'a> {
    fn new(
        ensemble: &'a Ensemble,
        grid: &'a LagGrid,
        stationary: &'a dyn Score,
        inputs: &'a Inputs,
        standardiser: &'a Standardiser,
        config: &'a ConditionalConfig,
    ) -> Result<Self> {
        config.noise.validate()?;
        let (training, testing) = Pool::split(ensemble, config.noise.held_out)?;
        let mut problem = Self {
            training: testing,
            grid,
            stationary,
            inputs,
            standardiser,
            config,
            held_out: Regression::default(),
        };
        problem.held_out = problem.draw(config.noise.held_out_states, u64::MAX)?.0;
        problem.training = training;
        Ok(problem)
    }

    /// t = (ξ/σ + ŝ(z_0 + σξ)) / growth, with the states z_0 + σξ in the order of the outputs.
    fn draw(&self, states: usize, index: u64) -> Result<(Regression, Vec<f32>)> {
        let dim = self.standardiser.scale.len();
        let mut stream = Stream::new(self.config.noise.seed, Purpose::Training, index);
        let mut noisy = Noisy::new(dim, states, &self.config.noise);
        let n = noisy.states;
        let (mut zt, mut lags) = (vec![0.0f32; dim * n], vec![0.0; n]);
        let mut x = vec![0.0; dim];
        for s in 0..noisy.draws {
            let pair = self.training.pair(self.grid, &mut stream)?;
            pair.trajectory.row(pair.future, &mut x);
            self.standardiser.forward(&mut x);
            for column in (s..n).step_by(noisy.draws) {
                lags[column] = pair.lag;
                for (i, z) in x.iter().enumerate() {
                    zt[i * n + column] = *z as f32;
                }
            }
            pair.trajectory.row(pair.initial, &mut x);
            self.standardiser.forward(&mut x);
            noisy.set(s, &x, &mut stream);
        }
        self.add_stationary_score(&mut noisy);
        for (k, t) in noisy.t.iter_mut().enumerate() {
            *t /= self.inputs.growth(lags[k % n]);
        }
        let windows = &self.inputs.windows;
        let mut batch =
            Regression::zeros(self.inputs.rows(), windows.components, windows.sites * n);
        self.inputs.fill(&noisy.z, &zt, &lags, &mut batch.x);
        windows.arrange(&noisy.t, &mut batch.t);
        let mut initial = vec![0.0; dim * n];
        windows.arrange(&noisy.z, &mut initial);
        Ok((batch, initial))
    }

    /// t += ŝ^z.
    fn add_stationary_score(&self, noisy: &mut Noisy) {
        let n = noisy.states;
        let Standardiser { mean, scale, .. } = self.standardiser;
        let raw = |(k, z): (usize, &f32)| mean[k / n] + scale[k / n] * f64::from(*z);
        let x: Vec<f64> = noisy.z.iter().enumerate().map(raw).collect();
        let mut score = vec![0.0; x.len()];
        self.stationary.score(&x, &mut score);
        for (k, (t, s)) in noisy.t.iter_mut().zip(&score).enumerate() {
            *t += (s * scale[k / n]) as f32;
        }
    }

    /// Adds to t the gradient of weight/2 (|⟨y⟩|² + |⟨y zᵀ⟩|²) with respect to the outputs, the averages taken
    /// from another batch so that their own noise is not penalised.
    fn add_moment_penalty(
        &self,
        engine: &dyn Engine,
        mlp: &Mlp,
        (batch, initial): &mut (Regression, Vec<f32>),
        index: u64,
    ) -> Result<()> {
        let states = self.config.noise.batch.div_ceil(4);
        // Batches of training count up from zero; these count down.
        let (other, z) = self.draw(states, u64::MAX - 1 - index)?;
        let y = other.outputs(engine, mlp);
        let c = self.inputs.windows.components;
        let weight = self.config.moment_penalty as f32;
        let average = |a: usize, b: Option<usize>| {
            let y = &y[a * other.columns..][..other.columns];
            let sum: f32 = match b {
                None => y.iter().sum(),
                Some(b) => {
                    let z = &z[b * other.columns..][..other.columns];
                    y.iter().zip(z).map(|(y, z)| y * z).sum()
                }
            };
            weight * sum / other.columns as f32
        };
        for a in 0..c {
            let t = &mut batch.t[a * batch.columns..][..batch.columns];
            let mean = average(a, None);
            t.iter_mut().for_each(|t| *t += mean);
            for b in 0..c {
                let stein = average(a, Some(b));
                let z = &initial[b * batch.columns..][..batch.columns];
                t.iter_mut().zip(z).for_each(|(t, z)| *t += stein * z);
            }
        }
        Ok(())
    }
}

impl Denoising for Conditional<'_> {
    fn batch(&self, engine: &dyn Engine, mlp: &Mlp, index: u64) -> Result<Regression> {
        let mut drawn = self.draw(self.config.noise.batch, index)?;
        if self.config.moment_penalty > 0.0 {
            self.add_moment_penalty(engine, mlp, &mut drawn, index)?;
        }
        Ok(drawn.0)
    }

    fn held_out(&self) -> &Regression {
        &self.held_out
    }
}

impl ConditionalScore for NeuralConditionalScore {
    fn dim(&self) -> usize {
        self.standardiser.scale.len()
    }

    fn conditional_score(&self, x0: &[f64], xt: &[f64], t: &[f64], out: &mut [f64]) {
        let n = t.len();
        let Standardiser { scale, .. } = &self.standardiser;
        let (z0, zt) = (
            self.standardiser.forward_tile(x0),
            self.standardiser.forward_tile(xt),
        );
        let windows = &self.inputs.windows;
        let columns = windows.sites * n;
        let mut x = vec![0.0; self.inputs.rows() * columns];
        self.inputs.fill(&z0, &zt, t, &mut x);
        let batch = Batch {
            states: columns,
            x: &x,
            directions: 0,
            tangents: &[],
        };
        let mut y = vec![0.0; z0.len()];
        // Callers share the pairs out over the cores.
        CpuEngine::single_core().evaluate(&self.mlp, &batch, &mut y, &mut []);
        let mut r = vec![0.0; y.len()];
        windows.scatter(&y, &mut r);
        for (k, (out, r)) in out.iter_mut().zip(r).enumerate() {
            *out = f64::from(r * self.inputs.growth(t[k % n])) / scale[k / n];
        }
    }
}
