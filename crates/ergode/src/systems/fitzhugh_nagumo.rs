//! The FitzHugh-Nagumo model of an excitable cell with additive noise.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Parameters, Protocol, System};
use crate::error::{Error, Result, require_positive};
use crate::random::Stream;
use crate::simd::Real;
use crate::simulate::{Dimensions, Dynamics};

/// dv = (v − v³/3 − w + I) dt + √(2 D_v) dW₁, dw = ε (v + a − b w) dt + √(2 D_w) dW₂.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FitzHughNagumo {
    /// Current I.
    pub current: f64,
    /// Ratio ε of the time scales of v and w.
    pub epsilon: f64,
    /// a.
    pub a: f64,
    /// b.
    pub b: f64,
    /// Diffusion D_v of the potential.
    pub diffusion_v: f64,
    /// Diffusion D_w of the recovery variable.
    pub diffusion_w: f64,
}

impl Default for FitzHughNagumo {
    /// Spikes that repeat.
    fn default() -> Self {
        Self {
            current: 0.5,
            epsilon: 0.08,
            a: 0.7,
            b: 0.8,
            diffusion_v: 0.02,
            diffusion_w: 2e-3,
        }
    }
}

impl Dimensions for FitzHughNagumo {
    fn dim(&self) -> usize {
        2
    }
}

impl Dynamics for FitzHughNagumo {
    #[inline(always)]
    fn drift<T: Real>(&self, x: &[T], out: &mut [T]) {
        let (v, w) = (x[0], x[1]);
        let slope = v * v * (-1.0 / 3.0) + 1.0;
        out[0] = slope.mul_add(v, -w + self.current);
        out[1] = (v + self.a - w * self.b) * self.epsilon;
    }

    #[inline(always)]
    fn noise<T: Real>(&self, _x: &[T], xi: &[T], out: &mut [T]) {
        out[0] = xi[0] * (2.0 * self.diffusion_v).sqrt();
        out[1] = xi[1] * (2.0 * self.diffusion_w).sqrt();
    }
}

impl Parameters for FitzHughNagumo {
    fn build(self) -> Result<Box<dyn System>> {
        if ![self.current, self.a].iter().all(|v| v.is_finite()) {
            return Err(Error::input("parameters current and a must be finite"));
        }
        require_positive("parameter epsilon", self.epsilon)?;
        require_positive("parameter b", self.b)?;
        require_positive("parameter diffusion_v", self.diffusion_v)?;
        require_positive("parameter diffusion_w", self.diffusion_w)?;
        Ok(Box::new(self))
    }
}

impl System for FitzHughNagumo {
    fn coordinate_names(&self) -> Vec<String> {
        vec!["v".into(), "w".into()]
    }
    fn protocol(&self) -> Protocol {
        Protocol::euler(16, 1000.0, 0.1, 5e-3, 100.0)
    }
    /// Near the origin; the burn-in of the protocol does the rest.
    fn draw_initial(&self, stream: &mut Stream, x: &mut [f64]) {
        x[0] = stream.normal();
        x[1] = 0.3 * stream.normal();
    }
    fn parameters(&self) -> Value {
        serde_json::to_value(self).expect("parameters are plain")
    }
}
