//! Lorenz' equations of 1963 with additive noise.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Parameters, Protocol, System};
use crate::error::{Result, require_positive};
use crate::random::Stream;
use crate::simd::Real;
use crate::simulate::{Dimensions, Dynamics};

/// dx = σ (y − x) dt, dy = (x (ρ − z) − y) dt, dz = (x y − β z) dt, each with noise √(2D) dW.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lorenz63 {
    /// σ.
    pub sigma: f64,
    /// ρ.
    pub rho: f64,
    /// β.
    pub beta: f64,
    /// Diffusion D of each coordinate.
    pub diffusion: f64,
}

impl Default for Lorenz63 {
    fn default() -> Self {
        Self {
            sigma: 10.0,
            rho: 28.0,
            beta: 8.0 / 3.0,
            diffusion: 5.0,
        }
    }
}

impl Dimensions for Lorenz63 {
    fn dim(&self) -> usize {
        3
    }
}

impl Dynamics for Lorenz63 {
    #[inline(always)]
    fn drift<T: Real>(&self, x: &[T], out: &mut [T]) {
        out[0] = (x[1] - x[0]) * self.sigma;
        out[1] = x[0].mul_add(-x[2] + self.rho, -x[1]);
        out[2] = x[0].mul_add(x[1], x[2] * -self.beta);
    }

    #[inline(always)]
    fn noise<T: Real>(&self, _x: &[T], xi: &[T], out: &mut [T]) {
        let root = (2.0 * self.diffusion).sqrt();
        for i in 0..3 {
            out[i] = xi[i] * root;
        }
    }
}

impl Parameters for Lorenz63 {
    fn build(self) -> Result<Box<dyn System>> {
        require_positive("parameter sigma", self.sigma)?;
        require_positive("parameter rho", self.rho)?;
        require_positive("parameter beta", self.beta)?;
        require_positive("parameter diffusion", self.diffusion)?;
        Ok(Box::new(self))
    }
}

impl System for Lorenz63 {
    fn coordinate_names(&self) -> Vec<String> {
        vec!["x".into(), "y".into(), "z".into()]
    }
    fn protocol(&self) -> Protocol {
        Protocol::euler(16, 200.0, 0.01, 2.5e-4, 10.0)
    }
    /// Near one of the two fixed points; the burn-in of the protocol does the rest.
    fn draw_initial(&self, stream: &mut Stream, x: &mut [f64]) {
        let side = if stream.uniform() < 0.5 { -1.0 } else { 1.0 };
        let height = (self.rho - 1.0).max(0.0);
        let width = (self.beta * height).sqrt();
        x[0] = side * width + stream.normal();
        x[1] = side * width + stream.normal();
        x[2] = height + stream.normal();
    }
    fn parameters(&self) -> Value {
        serde_json::to_value(self).expect("parameters are plain")
    }
}
