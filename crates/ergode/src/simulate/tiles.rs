//! Equations that are evaluated on whole tiles, such as networks.

use pulp::{Arch, Simd, WithSimd};

use super::platen::{Stages, platen};
use super::scheme::{Dimensions, Scheme};
use crate::simd::{AlignedBuffer, Lanes, Real};

/// An Itô equation dx = F(x) dt + √2 Σ(x) dW on tiles, coordinate-major, (dimension, lane).
pub(crate) trait TileDynamics: Dimensions {
    /// F(x) and √2 Σ(x) ξ, each if requested.
    fn evaluate(&self, x: &[f64], drift: Option<&mut [f64]>, noise: Option<(&[f64], &mut [f64])>);
}

/// Advance a tile by as many steps as `normals` has numbers for ([`Sde::advance`](super::Sde::advance)).
pub(crate) fn advance_tiles(
    dynamics: &impl TileDynamics,
    scheme: Scheme,
    dt: f64,
    lanes: usize,
    state: &mut [f64],
    normals: &[f64],
) {
    Arch::new().dispatch(Advance {
        dynamics,
        scheme,
        dt,
        lanes,
        state,
        normals,
    });
}

struct Advance<'a, D> {
    dynamics: &'a D,
    scheme: Scheme,
    dt: f64,
    lanes: usize,
    state: &'a mut [f64],
    normals: &'a [f64],
}

impl<D: TileDynamics> WithSimd for Advance<'_, D> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        match self.scheme {
            Scheme::Euler => self.euler(simd),
            Scheme::Platen => {
                let mut stages = TileStages(self.dynamics);
                platen(
                    simd,
                    &mut stages,
                    self.dt,
                    self.lanes,
                    self.state,
                    self.normals,
                );
            }
        }
    }
}

impl<D: TileDynamics> Advance<'_, D> {
    /// x ← x + F(x) Δ + √2 Σ(x) ξ √Δ.
    #[inline(always)]
    fn euler<S: Simd>(self, simd: S) {
        let dt = Lanes::splat(simd, self.dt);
        let root = Lanes::splat(simd, self.dt.sqrt());
        let [mut drift, mut noise] =
            [(); 2].map(|()| AlignedBuffer::<f64>::zeros(self.state.len()));
        for xi in self
            .normals
            .chunks_exact(self.dynamics.noise_dim() * self.lanes)
        {
            let parts = (xi, noise.as_mut_slice());
            (self.dynamics).evaluate(self.state, Some(drift.as_mut_slice()), Some(parts));
            let drift = S::as_simd_f64s(drift.as_slice()).0;
            let noise = S::as_simd_f64s(noise.as_slice()).0;
            let (state, _) = S::as_mut_simd_f64s(self.state);
            for (x, (drift, noise)) in state.iter_mut().zip(drift.iter().zip(noise)) {
                let [now, drift, noise] = [*x, *drift, *noise].map(|v| Lanes::new(simd, v));
                *x = noise.mul_add(root, drift.mul_add(dt, now)).value();
            }
        }
    }
}

struct TileStages<'a, D>(&'a D);

impl<D: TileDynamics> Dimensions for TileStages<'_, D> {
    fn dim(&self) -> usize {
        self.0.dim()
    }
    fn noise_dim(&self) -> usize {
        self.0.noise_dim()
    }
}

impl<D: TileDynamics> Stages for TileStages<'_, D> {
    fn drift(&mut self, x: &[f64], out: &mut [f64]) {
        self.0.evaluate(x, Some(out), None);
    }
    fn noise(&mut self, x: &[f64], xi: &[f64], out: &mut [f64]) {
        self.0.evaluate(x, None, Some((xi, out)));
    }
}
