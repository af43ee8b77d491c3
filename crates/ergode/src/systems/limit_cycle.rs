//! A noisy limit cycle in two or three coordinates.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Parameters, Protocol, System};
use crate::error::{Error, Result, require_positive};
use crate::random::Stream;
use crate::simd::Real;
use crate::simulate::{Dimensions, Dynamics};

/// d(x, y) = [(1 − x² − y²)(x, y) + ω (−y, x)] dt + √2 Σ dW with D = d diag(1 + a x, 1 + a y); in three
/// coordinates also dz = κ (x² − y² − z) dt + √(2d) dW.
///
/// D is affine; below zero, which takes |x| > 1/a, it counts as zero.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LimitCycle {
    /// Number of coordinates, 2 or 3.
    pub coordinates: usize,
    /// Angular velocity ω.
    pub omega: f64,
    /// Diffusion d at the origin.
    pub diffusion: f64,
    /// Relative slope a of D.
    pub slope: f64,
    /// Rate κ of the third coordinate.
    pub relaxation: f64,
}

impl Default for LimitCycle {
    fn default() -> Self {
        Self {
            coordinates: 2,
            omega: 3.0,
            diffusion: 0.05,
            slope: 0.4,
            relaxation: 2.0,
        }
    }
}

impl Dimensions for LimitCycle {
    fn dim(&self) -> usize {
        self.coordinates
    }
}

impl Dynamics for LimitCycle {
    #[inline(always)]
    fn drift<T: Real>(&self, x: &[T], out: &mut [T]) {
        let (xx, yy) = (x[0] * x[0], x[1] * x[1]);
        let pull = -(xx + yy) + 1.0;
        out[0] = pull.mul_add(x[0], x[1] * -self.omega);
        out[1] = pull.mul_add(x[1], x[0] * self.omega);
        if self.coordinates == 3 {
            out[2] = (xx - yy - x[2]) * self.relaxation;
        }
    }

    #[inline(always)]
    fn noise<T: Real>(&self, x: &[T], xi: &[T], out: &mut [T]) {
        for i in 0..2 {
            let diffusion = (x[i] * self.slope + 1.0).at_least(0.0) * (2.0 * self.diffusion);
            out[i] = diffusion.sqrt() * xi[i];
        }
        if self.coordinates == 3 {
            out[2] = xi[2] * (2.0 * self.diffusion).sqrt();
        }
    }
}

impl Parameters for LimitCycle {
    fn build(self) -> Result<Box<dyn System>> {
        if !(2..=3).contains(&self.coordinates) {
            return Err(Error::input("parameter coordinates must be 2 or 3"));
        }
        require_positive("parameter omega", self.omega)?;
        require_positive("parameter diffusion", self.diffusion)?;
        require_positive("parameter relaxation", self.relaxation)?;
        if !(0.0..=0.5).contains(&self.slope) {
            return Err(Error::input(
                "parameter slope must be from 0 to 0.5: a steeper D is zero on the limit cycle",
            ));
        }
        Ok(Box::new(self))
    }
}

impl System for LimitCycle {
    fn coordinate_names(&self) -> Vec<String> {
        let names = ["x", "y", "z"];
        names[..self.coordinates]
            .iter()
            .map(|n| (*n).into())
            .collect()
    }
    fn protocol(&self) -> Protocol {
        Protocol::euler(16, 160.0, 0.02, 1e-3, 10.0)
    }
    /// On the cycle at a random phase.
    fn draw_initial(&self, stream: &mut Stream, x: &mut [f64]) {
        let phase = std::f64::consts::TAU * stream.uniform();
        (x[0], x[1]) = (phase.cos(), phase.sin());
        if let Some(z) = x.get_mut(2) {
            *z = 0.0;
        }
    }
    fn parameters(&self) -> Value {
        serde_json::to_value(self).expect("parameters are plain")
    }
}
