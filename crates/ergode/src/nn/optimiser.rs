//! Training: Adam with decoupled weight decay, and the moving average of the parameters.

use std::fmt::Display;

use pulp::Arch;
use serde::{Deserialize, Serialize};

use super::mlp::Mlp;
use crate::error::{Error, Result};

/// The schedule of the learning rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Decay {
    /// The same rate throughout.
    #[default]
    Constant,
    /// From the full rate at the first step to `floor` times it after `steps` steps, along half a
    /// cosine; `floor` from then on.
    Cosine {
        /// Steps until the floor is reached.
        steps: u64,
        /// The last rate over the first.
        floor: f32,
    },
}

impl Decay {
    /// The rate after `done` steps, over the full rate.
    fn factor(self, done: u64) -> f32 {
        match self {
            Self::Constant => 1.0,
            Self::Cosine { steps, floor } => {
                let phase = done.min(steps) as f64 / steps as f64 * std::f64::consts::PI;
                let floor = f64::from(floor);
                (floor + (1.0 - floor) * 0.5 * (1.0 + phase.cos())) as f32
            }
        }
    }
}

/// Settings of [`Adam`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AdamConfig {
    /// Step size α.
    pub rate: f32,
    /// Memory of the first moment.
    pub beta1: f32,
    /// Memory of the second moment.
    pub beta2: f32,
    /// Added to the root of the second moment.
    pub epsilon: f32,
    /// λ: weights, not biases, shrink by the factor 1 − αλ in each step.
    pub weight_decay: f32,
    /// The course of the step size.
    pub decay: Decay,
    /// The largest Euclidean norm of a gradient; a longer one is scaled down to it.
    pub clip: Option<f32>,
}

impl Default for AdamConfig {
    fn default() -> Self {
        Self {
            rate: 1e-3,
            beta1: 0.9,
            beta2: 0.999,
            epsilon: 1e-8,
            weight_decay: 0.0,
            decay: Decay::Constant,
            clip: None,
        }
    }
}

impl AdamConfig {
    fn check(&self) -> Result<()> {
        let positive = |value: f32| value.is_finite() && value > 0.0;
        let fraction = |value: f32| (0.0..1.0).contains(&value);
        let decay = self.weight_decay;
        require(positive(self.rate), "rate", "positive", self.rate)?;
        require(fraction(self.beta1), "beta1", "in [0, 1)", self.beta1)?;
        require(fraction(self.beta2), "beta2", "in [0, 1)", self.beta2)?;
        require(positive(self.epsilon), "epsilon", "positive", self.epsilon)?;
        require(
            decay == 0.0 || positive(decay),
            "weight_decay",
            "zero or positive",
            decay,
        )?;
        if let Some(clip) = self.clip {
            require(positive(clip), "clip", "positive", clip)?;
        }
        if let Decay::Cosine { steps, floor } = self.decay {
            require(steps > 0, "decay.steps", "positive", steps)?;
            let inside = (0.0..=1.0).contains(&floor);
            require(inside, "decay.floor", "in [0, 1]", floor)?;
        }
        Ok(())
    }
}

/// Refuse a setting of Adam that is not as it must be.
fn require(holds: bool, name: &str, must: &str, value: impl Display) -> Result<()> {
    if holds {
        return Ok(());
    }
    Err(Error::input(format!(
        "the setting `{name}` of Adam must be {must}, not {value}"
    )))
}

/// The Adam optimiser (Kingma and Ba, 2015) with decoupled weight decay (Loshchilov and Hutter,
/// 2019).
///
/// m ← β₁ m + (1 − β₁) g, v ← β₂ v + (1 − β₂) g²,
/// θ ← (1 − αλ) θ − α m̂/(√v̂ + ε), with m̂ = m/(1 − β₁ᵗ) and v̂ = v/(1 − β₂ᵗ).
///
/// Serialised completely: saved and resumed training gives the same result as training without a stop.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Adam {
    config: AdamConfig,
    steps: u64,
    first: Vec<f32>,
    second: Vec<f32>,
}

impl Adam {
    /// The optimiser at the start of the training of `mlp`.
    ///
    /// # Errors
    /// When a rate or a decay is out of range.
    pub fn new(config: &AdamConfig, mlp: &Mlp) -> Result<Self> {
        config.check()?;
        let zeros = vec![0.0; mlp.parameters().len()];
        Ok(Self {
            config: config.clone(),
            steps: 0,
            first: zeros.clone(),
            second: zeros,
        })
    }

    /// The steps taken so far.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Move the parameters of `mlp` one step against `gradient`.
    pub fn step(&mut self, mlp: &mut Mlp, gradient: &[f32]) {
        let count = mlp.parameters().len();
        assert_eq!(gradient.len(), count, "one derivative per parameter");
        assert_eq!(
            self.first.len(),
            count,
            "the network that training began with"
        );
        let config = &self.config;
        let rate = config.rate * config.decay.factor(self.steps);
        self.steps += 1;
        let steps = self.steps as f64;
        let correction = |beta: f32| 1.0 - f64::from(beta).powf(steps);
        let update = Update {
            scale: config.clip.map_or(1.0, |clip| clip_factor(gradient, clip)),
            beta1: config.beta1,
            beta2: config.beta2,
            rate: rate / correction(config.beta1) as f32,
            second_scale: (1.0 / correction(config.beta2)) as f32,
            epsilon: config.epsilon,
        };
        let arch = Arch::new();
        let shrink = 1.0 - rate * config.weight_decay;
        let (layers, parameters) = mlp.layers_mut();
        for layer in layers {
            for (range, keep) in [(layer.weights, shrink), (layer.bias, 1.0)] {
                let parameters = &mut parameters[range.clone()];
                let first = &mut self.first[range.clone()];
                let second = &mut self.second[range.clone()];
                let gradient = &gradient[range];
                arch.dispatch(|| update.apply(keep, parameters, first, second, gradient));
            }
        }
    }
}

/// The factor that brings the norm of `gradient` down to `clip`, if it is larger.
fn clip_factor(gradient: &[f32], clip: f32) -> f32 {
    let square: f64 = gradient.iter().map(|&g| f64::from(g).powi(2)).sum();
    (f64::from(clip) / square.sqrt()).min(1.0) as f32
}

/// The numbers of one step of Adam.
struct Update {
    scale: f32,
    beta1: f32,
    beta2: f32,
    rate: f32,
    second_scale: f32,
    epsilon: f32,
}

impl Update {
    #[inline(always)]
    fn apply(
        &self,
        keep: f32,
        parameters: &mut [f32],
        first: &mut [f32],
        second: &mut [f32],
        gradient: &[f32],
    ) {
        let (rest1, rest2) = (1.0 - self.beta1, 1.0 - self.beta2);
        for (((theta, m), v), &g) in parameters.iter_mut().zip(first).zip(second).zip(gradient) {
            let g = g * self.scale;
            *m = self.beta1 * *m + rest1 * g;
            *v = self.beta2 * *v + rest2 * (g * g);
            let root = (*v * self.second_scale).sqrt() + self.epsilon;
            *theta = keep * *theta - self.rate * (*m / root);
        }
    }
}

/// The exponential moving average of parameters, θ̄ = Σ_k β^{t−k} θ_k / Σ_k β^{t−k}.
///
/// The weights are normalised at every step, so that the start of training leaves no trace beyond
/// its share.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Average {
    beta: f64,
    steps: u64,
    parameters: Vec<f32>,
}

impl Average {
    /// An average with memory `beta`, in [0, 1); about 1/(1 − beta) steps count.
    ///
    /// # Errors
    /// When beta is not between 0 and 1.
    pub fn new(beta: f64) -> Result<Self> {
        if !(0.0..1.0).contains(&beta) {
            return Err(Error::input(format!(
                "the memory of a moving average must be in [0, 1), not {beta}"
            )));
        }
        Ok(Self {
            beta,
            steps: 0,
            parameters: Vec::new(),
        })
    }

    /// Take in the parameters of `mlp`.
    pub fn update(&mut self, mlp: &Mlp) {
        if self.steps == 0 {
            self.parameters = mlp.parameters().to_vec();
        }
        assert_eq!(
            self.parameters.len(),
            mlp.parameters().len(),
            "the network that the average began with"
        );
        self.steps += 1;
        // The share of the newest: (1 − β)/(1 − βᵗ).
        let share = ((1.0 - self.beta) / (1.0 - self.beta.powf(self.steps as f64))) as f32;
        for (mean, &new) in self.parameters.iter_mut().zip(mlp.parameters()) {
            *mean += share * (new - *mean);
        }
    }

    /// Give `mlp` the averaged parameters; before the first update `mlp` does not change.
    pub fn copy_to(&self, mlp: &mut Mlp) {
        if self.steps > 0 {
            mlp.parameters_mut().copy_from_slice(&self.parameters);
        }
    }
}
