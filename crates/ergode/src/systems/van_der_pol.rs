//! The Van der Pol oscillator with additive noise.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Parameters, Protocol, System};
use crate::error::{Error, Result, require_positive};
use crate::random::Stream;
use crate::simd::Real;
use crate::simulate::{Dimensions, Dynamics};

/// dx = v dt + √(2D) dW₁, dv = (μ (1 − x²) v − x) dt + √(2D) dW₂.
///
/// The same noise enters both coordinates, so that the law has a density everywhere.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VanDerPol {
    /// Strength μ of the nonlinear damping.
    pub damping: f64,
    /// Diffusion D of each coordinate.
    pub diffusion: f64,
}

impl Default for VanDerPol {
    fn default() -> Self {
        Self {
            damping: 1.0,
            diffusion: 0.1,
        }
    }
}

impl Dimensions for VanDerPol {
    fn dim(&self) -> usize {
        2
    }
}

impl Dynamics for VanDerPol {
    #[inline(always)]
    fn drift<T: Real>(&self, x: &[T], out: &mut [T]) {
        let open = -(x[0] * x[0]) + 1.0;
        out[0] = x[1];
        out[1] = (open * self.damping).mul_add(x[1], -x[0]);
    }

    #[inline(always)]
    fn noise<T: Real>(&self, _x: &[T], xi: &[T], out: &mut [T]) {
        let root = (2.0 * self.diffusion).sqrt();
        out[0] = xi[0] * root;
        out[1] = xi[1] * root;
    }
}

impl Parameters for VanDerPol {
    fn build(self) -> Result<Box<dyn System>> {
        if !(self.damping.is_finite() && self.damping >= 0.0) {
            return Err(Error::input(
                "parameter damping must be finite and not negative",
            ));
        }
        require_positive("parameter diffusion", self.diffusion)?;
        Ok(Box::new(self))
    }
}

impl System for VanDerPol {
    fn coordinate_names(&self) -> Vec<String> {
        vec!["x".into(), "v".into()]
    }
    fn protocol(&self) -> Protocol {
        Protocol::euler(16, 160.0, 0.02, 1e-3, 30.0)
    }
    /// Near the limit cycle; the burn-in of the protocol does the rest.
    fn draw_initial(&self, stream: &mut Stream, x: &mut [f64]) {
        x[0] = stream.normal();
        x[1] = stream.normal();
    }
    fn parameters(&self) -> Value {
        serde_json::to_value(self).expect("parameters are plain")
    }
}
