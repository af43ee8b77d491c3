//! One-dimensional double well with multiplicative noise.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{ExactFields, Parameters, Protocol, System};
use crate::error::{Result, require_positive};
use crate::random::Stream;
use crate::simd::Real;
use crate::simulate::{Dimensions, Dynamics, Scheme, SimulateConfig};

/// dx = [D s + D'] dt + √(2D) dW with p_ss ∝ exp(−h (x² − 1)²) and D(x) = d (1 + a/(1 + x²)).
///
/// The diffusion is not a polynomial, the density is bimodal, and the process is reversible.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DoubleWell {
    /// Barrier height h, in units of the temperature.
    pub barrier: f64,
    /// Diffusion d far from the barrier.
    pub diffusion: f64,
    /// Relative excess a of the diffusion on top of the barrier.
    pub excess: f64,
}

impl Default for DoubleWell {
    fn default() -> Self {
        Self {
            barrier: 1.5,
            diffusion: 0.5,
            excess: 1.0,
        }
    }
}

impl DoubleWell {
    /// ln p_ss up to a constant.
    pub fn ln_density(&self, x: f64) -> f64 {
        -self.barrier * (x * x - 1.0).powi(2)
    }

    #[inline(always)]
    fn score_at<T: Real>(&self, x: T) -> T {
        (x * x - 1.0) * x * (-4.0 * self.barrier)
    }

    /// D and D'.
    #[inline(always)]
    fn diffusion_at<T: Real>(&self, x: T) -> (T, T) {
        let one = x.constant(1.0);
        let inverse = one / (x * x + 1.0);
        let value = (inverse * self.excess + 1.0) * self.diffusion;
        let slope = x * inverse * inverse * (-2.0 * self.excess * self.diffusion);
        (value, slope)
    }
}

impl Dimensions for DoubleWell {
    fn dim(&self) -> usize {
        1
    }
}

impl Dynamics for DoubleWell {
    #[inline(always)]
    fn drift<T: Real>(&self, x: &[T], out: &mut [T]) {
        let (value, slope) = self.diffusion_at(x[0]);
        out[0] = value.mul_add(self.score_at(x[0]), slope);
    }

    #[inline(always)]
    fn noise<T: Real>(&self, x: &[T], xi: &[T], out: &mut [T]) {
        out[0] = (self.diffusion_at(x[0]).0 * 2.0).sqrt() * xi[0];
    }
}

impl ExactFields for DoubleWell {
    fn score(&self, x: &[f64], out: &mut [f64]) {
        out[0] = self.score_at(x[0]);
    }
    fn mobility(&self, x: &[f64], out: &mut [f64]) {
        out[0] = self.diffusion_at(x[0]).0;
    }
    fn div_mobility(&self, x: &[f64], out: &mut [f64]) {
        out[0] = self.diffusion_at(x[0]).1;
    }
}

impl Parameters for DoubleWell {
    fn build(self) -> Result<Box<dyn System>> {
        require_positive("parameter barrier", self.barrier)?;
        require_positive("parameter diffusion", self.diffusion)?;
        require_positive("parameter 1 + excess", 1.0 + self.excess)?;
        Ok(Box::new(self))
    }
}

impl System for DoubleWell {
    fn coordinate_names(&self) -> Vec<String> {
        vec!["x".into()]
    }
    fn protocol(&self) -> Protocol {
        Protocol {
            simulate: SimulateConfig {
                time: 2000.0,
                dt: 1e-3,
                save_every: 0.05,
                trajectories: 32,
                seed: 0,
                scheme: Scheme::Euler,
                burn_in: 20.0,
            },
            exact: false,
        }
    }
    /// Exact draw by rejection from a uniform law on the region that holds all but 1e-15 of p_ss.
    fn draw_initial(&self, stream: &mut Stream, x: &mut [f64]) {
        let reach = (1.0 + (35.0 / self.barrier).sqrt()).sqrt();
        loop {
            x[0] = (2.0 * stream.uniform() - 1.0) * reach;
            if stream.uniform().ln() < self.ln_density(x[0]) {
                return;
            }
        }
    }
    fn exact_fields(&self) -> Option<&dyn ExactFields> {
        Some(self)
    }
    fn parameters(&self) -> Value {
        serde_json::to_value(self).expect("parameters are plain")
    }
}
