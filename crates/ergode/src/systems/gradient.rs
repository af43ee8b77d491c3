//! Overdamped motion in a potential, of which everything at one time is known.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{ExactFields, Parameters, Protocol, System};
use crate::error::{Result, require_positive};
use crate::random::Stream;
use crate::simd::Real;
use crate::simulate::{Dimensions, Dynamics};

/// A potential U(x) in units of the temperature, and the diffusion d of the motion in it:
/// dx = −d ∇U dt + √(2d) dW, p_ss ∝ e^{−U}, s = −∇U, M = d.
pub trait Potential: Copy + Default + Serialize + DeserializeOwned + Send + Sync + 'static {
    /// Names of the coordinates, at most three.
    const NAMES: &'static [&'static str];
    /// U(x).
    fn energy(&self, x: &[f64]) -> f64;
    /// Replaces x by ∇U(x).
    fn gradient(&self, x: &mut [f64]);
    /// d.
    fn diffusion(&self) -> f64;
    /// The factor by which a reference form of U is multiplied; positive.
    fn height(&self) -> f64;
    /// A box that holds practically all probability: least and greatest value of each coordinate.
    fn bounds(&self) -> Vec<(f64, f64)>;
    /// A number that U is nowhere below.
    fn floor(&self) -> f64;
    /// The protocol of reference data.
    fn protocol(&self) -> Protocol;
}

/// The system of a [`Potential`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Overdamped<P>(pub P);

impl<P: Potential> Dimensions for Overdamped<P> {
    fn dim(&self) -> usize {
        P::NAMES.len()
    }
}

impl<P: Potential> Dynamics for Overdamped<P> {
    #[inline(always)]
    fn drift<T: Real>(&self, x: &[T], out: &mut [T]) {
        out.copy_from_slice(x);
        T::each_lane(out, |x| self.0.gradient(x));
        for out in out {
            *out = *out * -self.0.diffusion();
        }
    }

    #[inline(always)]
    fn noise<T: Real>(&self, _x: &[T], xi: &[T], out: &mut [T]) {
        let root = (2.0 * self.0.diffusion()).sqrt();
        for (out, xi) in out.iter_mut().zip(xi) {
            *out = *xi * root;
        }
    }
}

impl<P: Potential> ExactFields for Overdamped<P> {
    fn score(&self, x: &[f64], out: &mut [f64]) {
        out.copy_from_slice(x);
        self.0.gradient(out);
        out.iter_mut().for_each(|out| *out = -*out);
    }
    fn mobility(&self, _x: &[f64], out: &mut [f64]) {
        out.fill(0.0);
        for out in out.iter_mut().step_by(P::NAMES.len() + 1) {
            *out = self.0.diffusion();
        }
    }
    fn div_mobility(&self, _x: &[f64], out: &mut [f64]) {
        out.fill(0.0);
    }
}

impl<P: Potential> Parameters for P {
    fn build(self) -> Result<Box<dyn System>> {
        require_positive("parameter height", self.height())?;
        require_positive("parameter diffusion", self.diffusion())?;
        Ok(Box::new(Overdamped(self)))
    }
}

impl<P: Potential> System for Overdamped<P> {
    fn coordinate_names(&self) -> Vec<String> {
        P::NAMES.iter().map(|name| (*name).into()).collect()
    }
    fn protocol(&self) -> Protocol {
        self.0.protocol()
    }
    /// Exact draw by rejection from a uniform law on the box.
    fn draw_initial(&self, stream: &mut Stream, x: &mut [f64]) {
        let bounds = self.0.bounds();
        loop {
            for (x, (low, high)) in x.iter_mut().zip(&bounds) {
                *x = low + (high - low) * stream.uniform();
            }
            if stream.uniform().ln() < self.0.floor() - self.0.energy(x) {
                return;
            }
        }
    }
    fn exact_fields(&self) -> Option<&dyn ExactFields> {
        Some(self)
    }
    fn parameters(&self) -> Value {
        serde_json::to_value(self.0).expect("parameters are plain")
    }
}
