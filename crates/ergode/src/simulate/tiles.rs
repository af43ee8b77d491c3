//! Equations that are evaluated on whole tiles, such as networks.

use pulp::{Arch, Simd, WithSimd};

use super::platen::{Stages, platen};
use super::scheme::{Dimensions, Scheme};
use crate::simd::{AlignedBuffer, Lanes, Real};
use crate::space::Space;

/// An Itô equation dx = F(x) dt + √2 Σ(x) dW on tiles, coordinate-major, (dimension, lane).
pub(crate) trait TileDynamics: Dimensions {
    /// F(x) and √2 Σ(x) ξ, each if requested.
    fn evaluate(&self, x: &[f64], drift: Option<&mut [f64]>, noise: Option<(&[f64], &mut [f64])>);
    /// Where the states live.
    fn space(&self) -> &Space;
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
                let mut stages = TileStages {
                    dynamics: self.dynamics,
                    space: self.dynamics.space().bounded(),
                    folded: AlignedBuffer::zeros(self.state.len()),
                };
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
    /// x ← x + F(x) Δ + √2 Σ(x) ξ √Δ, put back into the space.
    #[inline(always)]
    fn euler<S: Simd>(self, simd: S) {
        let dt = Lanes::splat(simd, self.dt);
        let root = Lanes::splat(simd, self.dt.sqrt());
        let space = self.dynamics.space().bounded();
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
            if let Some(space) = space {
                space.fold(self.state);
            }
        }
    }
}

struct TileStages<'a, D> {
    dynamics: &'a D,
    /// The space, where it is not all of space.
    space: Option<&'a Space>,
    /// States that were put back into it.
    folded: AlignedBuffer<f64>,
}

impl<D: TileDynamics> TileStages<'_, D> {
    fn evaluate(
        &mut self,
        x: &[f64],
        drift: Option<&mut [f64]>,
        noise: Option<(&[f64], &mut [f64])>,
    ) {
        let Some(space) = self.space else {
            return self.dynamics.evaluate(x, drift, noise);
        };
        let folded = self.folded.as_mut_slice();
        folded.copy_from_slice(x);
        space.fold(folded);
        self.dynamics.evaluate(folded, drift, noise);
    }
}

impl<D: TileDynamics> Dimensions for TileStages<'_, D> {
    fn dim(&self) -> usize {
        self.dynamics.dim()
    }
    fn noise_dim(&self) -> usize {
        self.dynamics.noise_dim()
    }
    fn is_additive(&self) -> bool {
        self.dynamics.is_additive()
    }
}

impl<D: TileDynamics> Stages for TileStages<'_, D> {
    fn drift(&mut self, x: &[f64], out: &mut [f64]) {
        self.evaluate(x, Some(out), None);
    }
    fn noise(&mut self, x: &[f64], xi: &[f64], out: &mut [f64]) {
        self.evaluate(x, None, Some((xi, out)));
    }
    fn fold(&mut self, x: &mut [f64]) {
        if let Some(space) = self.space {
            space.fold(x);
        }
    }
}
