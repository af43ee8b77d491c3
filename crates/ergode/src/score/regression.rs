//! The least-squares problem that every denoising objective comes down to.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result, require_positive};
use crate::nn::{Batch, Engine, Mlp, Task, Tile};
use crate::random::Stream;

/// Inputs of a network and the numbers t that its outputs are multiplied with in ⟨½|y|² + y·t⟩.
///
/// That objective is least at y = −E[t | x]. With t = ξ/σ and y = −η/σ it is the paper's loss of a
/// noise predictor, ⟨|η − ξ|²⟩, less the constant ⟨|ξ|²⟩ and divided by 2σ²; as σ → 0 it tends to
/// Hyvärinen's ⟨½|s|² + ∇·s⟩.
#[derive(Default)]
pub(super) struct Regression {
    /// (inputs, columns)
    pub(super) x: Vec<f32>,
    /// (outputs, columns)
    pub(super) t: Vec<f32>,
    pub(super) columns: usize,
}

impl Regression {
    pub(super) fn zeros(inputs: usize, outputs: usize, columns: usize) -> Self {
        Self {
            x: vec![0.0; inputs * columns],
            t: vec![0.0; outputs * columns],
            columns,
        }
    }

    fn batch(&self) -> Batch<'_> {
        Batch {
            states: self.columns,
            x: &self.x,
            directions: 0,
            tangents: &[],
        }
    }

    /// Adds the gradient of ⟨½|y|² + y·t⟩ and returns its value.
    fn gradient(&self, engine: &dyn Engine, mlp: &Mlp, gradient: &mut [f32]) -> f64 {
        let (columns, share) = (self.columns, 1.0 / self.columns as f32);
        let loss = |tile: Tile| {
            let mut sum = 0.0;
            for (a, y) in tile.y.chunks_exact(tile.states).enumerate() {
                let t = &self.t[a * columns + tile.first..][..tile.states];
                let y_bar = &mut tile.y_bar[a * tile.states..][..tile.states];
                for ((y_bar, y), t) in y_bar.iter_mut().zip(y).zip(t) {
                    *y_bar = (y + t) * share;
                    sum += f64::from(y * (0.5 * y + t));
                }
            }
            sum / columns as f64
        };
        engine.gradient(mlp, &self.batch(), &loss, gradient)
    }

    /// y, (outputs, columns).
    pub(super) fn outputs(&self, engine: &dyn Engine, mlp: &Mlp) -> Vec<f32> {
        let mut y = vec![0.0; self.t.len()];
        engine.evaluate(mlp, &self.batch(), &mut y, &mut []);
        y
    }

    fn value(&self, engine: &dyn Engine, mlp: &Mlp) -> f64 {
        let y = self.outputs(engine, mlp);
        let terms = y.iter().zip(&self.t);
        let sum: f64 = terms.map(|(y, t)| f64::from(y * (0.5 * y + t))).sum();
        sum / self.columns as f64
    }
}

/// A denoising problem: batches drawn by number, and one that is held out.
pub(super) trait Denoising: Sync {
    /// Batch number `index` of the samples to learn from.
    fn batch(&self, engine: &dyn Engine, mlp: &Mlp, index: u64) -> Result<Regression>;
    /// The held-out batch.
    fn held_out(&self) -> &Regression;
}

/// A denoising problem as a task for training.
pub(super) struct DenoisingTask<T>(pub(super) T);

impl<T: Denoising> Task for DenoisingTask<T> {
    fn gradient(
        &self,
        engine: &dyn Engine,
        mlp: &Mlp,
        batch: u64,
        gradient: &mut [f32],
    ) -> Result<f64> {
        let batch = self.0.batch(engine, mlp, batch)?;
        Ok(batch.gradient(engine, mlp, gradient))
    }

    fn held_out(&self, engine: &dyn Engine, mlp: &Mlp) -> Result<f64> {
        Ok(self.0.held_out().value(engine, mlp))
    }
}

/// How noise is added to the states of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct NoiseConfig {
    /// Standard deviation σ of the noise, in standardised coordinates.
    pub sigma: f64,
    /// Every state is used with ξ and with −ξ: the part of the gradient's noise that grows as 1/σ
    /// cancels.
    pub antithetic: bool,
    /// States in a batch.
    pub batch: usize,
    /// Fraction of the record that is held out, in whole stretches.
    pub held_out: f64,
    /// States of the held-out batch.
    pub held_out_states: usize,
    /// Seed of batches, noise and weights.
    pub seed: u64,
}

impl Default for NoiseConfig {
    fn default() -> Self {
        Self {
            sigma: 0.05,
            antithetic: true,
            batch: 4096,
            held_out: 0.1,
            held_out_states: 65_536,
            seed: 0,
        }
    }
}

impl NoiseConfig {
    pub(super) fn validate(&self) -> Result<()> {
        require_positive("the noise sigma", self.sigma)?;
        if self.batch == 0 || self.held_out_states == 0 {
            return Err(Error::input("a batch needs at least one state"));
        }
        Ok(())
    }
}

/// A batch of states z + σξ with t = ξ/σ, (D, states).
pub(super) struct Noisy {
    pub(super) z: Vec<f32>,
    pub(super) t: Vec<f32>,
    /// Columns: twice the draws where the noise is antithetic.
    pub(super) states: usize,
    /// States to be set.
    pub(super) draws: usize,
    sigma: f64,
}

impl Noisy {
    pub(super) fn new(dim: usize, states: usize, noise: &NoiseConfig) -> Self {
        let draws = if noise.antithetic {
            states.div_ceil(2)
        } else {
            states
        };
        let states = if noise.antithetic { 2 * draws } else { draws };
        Self {
            z: vec![0.0; dim * states],
            t: vec![0.0; dim * states],
            states,
            draws,
            sigma: noise.sigma,
        }
    }

    /// State number `s`, standardised, with fresh noise.
    pub(super) fn set(&mut self, s: usize, z: &[f64], stream: &mut Stream) {
        for (i, z) in z.iter().enumerate() {
            let xi = stream.normal();
            for (column, xi) in [(s, xi), (s + self.draws, -xi)] {
                if column < self.states {
                    let at = i * self.states + column;
                    self.z[at] = (z + self.sigma * xi) as f32;
                    self.t[at] = (xi / self.sigma) as f32;
                }
            }
        }
    }
}
