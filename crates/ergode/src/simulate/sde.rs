//! Stochastic differential equations, and how a tile of trajectories is advanced.

use pulp::{Arch, Simd, WithSimd};

use super::platen::{Stages, platen};
use super::scheme::{Dimensions, Scheme};
use crate::simd::{GROUP, Lanes, Real};

/// An Itô equation dx = F(x) dt + √2 Σ(x) dW, written once for scalars and vectors.
///
/// The paper's convention: the noise is √2 Σ, and D = Σ Σᵀ. Implementing this trait gives
/// [`Sde`], the form that simulations take.
pub trait Dynamics: Dimensions {
    /// The Itô drift F(x).
    fn drift<T: Real>(&self, x: &[T], out: &mut [T]);
    /// The noise √2 Σ(x) ξ.
    fn noise<T: Real>(&self, x: &[T], xi: &[T], out: &mut [T]);
    /// Both at once, for equations that share work between them.
    #[inline(always)]
    fn drift_and_noise<T: Real>(&self, x: &[T], xi: &[T], drift: &mut [T], noise: &mut [T]) {
        self.drift(x, drift);
        self.noise(x, xi, noise);
    }
    /// Puts a state that left the space of the equation back into it: reflected at walls, wrapped on circles.
    /// Called after every step, and on the intermediate states of a step.
    #[inline(always)]
    fn fold<T: Real>(&self, _x: &mut [T]) {}
}

/// An equation as the simulator sees it: a tile of trajectories advanced by whole steps.
///
/// `state` is coordinate-major, (dimension, lane), with the number of lanes a multiple of
/// [`GROUP`]; `normals` is (step, number, lane). What happens in one lane does not depend on the
/// others.
pub trait Sde: Dimensions {
    /// Advance by as many steps of length `dt` as `normals` has numbers for.
    fn advance(&self, scheme: Scheme, dt: f64, lanes: usize, state: &mut [f64], normals: &[f64]);
    /// The most trajectories that are worth advancing together, a multiple of [`GROUP`].
    fn most_lanes(&self) -> usize {
        4 * GROUP
    }
    /// Drift and √2 Σ(x) ξ at one state.
    fn evaluate(&self, x: &[f64], xi: &[f64], drift: &mut [f64], noise: &mut [f64]);
}

impl<D: Dynamics> Sde for D {
    fn advance(&self, scheme: Scheme, dt: f64, lanes: usize, state: &mut [f64], normals: &[f64]) {
        assert_eq!(lanes % GROUP, 0);
        Arch::new().dispatch(Advance {
            dynamics: self,
            scheme,
            dt,
            lanes,
            state,
            normals,
        });
    }
    fn evaluate(&self, x: &[f64], xi: &[f64], drift: &mut [f64], noise: &mut [f64]) {
        Dynamics::drift(self, x, drift);
        Dynamics::noise(self, x, xi, noise);
    }
}

struct Advance<'a, D> {
    dynamics: &'a D,
    scheme: Scheme,
    dt: f64,
    lanes: usize,
    state: &'a mut [f64],
    normals: &'a [f64],
}

/// Below this dimension the state of a group lives in registers.
const SMALL: usize = 4;

impl<D: Dynamics> WithSimd for Advance<'_, D> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let zero = Lanes::splat(simd, 0.0);
        let (dim, noise_dim) = (self.dynamics.dim(), self.dynamics.noise_dim());
        match self.scheme {
            Scheme::Euler if dim <= SMALL && noise_dim <= SMALL => {
                let mut work = [[zero; SMALL]; 4];
                let [x, xi, drift, noise] = &mut work;
                self.euler(
                    simd,
                    &mut x[..dim],
                    &mut xi[..noise_dim],
                    &mut drift[..dim],
                    &mut noise[..dim],
                );
            }
            Scheme::Euler => {
                let [mut x, mut drift, mut noise] = [(); 3].map(|()| vec![zero; dim]);
                let mut xi = vec![zero; noise_dim];
                self.euler(simd, &mut x, &mut xi, &mut drift, &mut noise);
            }
            Scheme::Platen => {
                let mut stages = LaneStages::new(simd, self.dynamics, self.lanes);
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

impl<D: Dynamics> Advance<'_, D> {
    /// x ← x + F(x) Δ + √2 Σ(x) ξ √Δ, put back into the space.
    #[inline(always)]
    fn euler<S: Simd>(
        self,
        simd: S,
        x: &mut [Lanes<S>],
        xi: &mut [Lanes<S>],
        drift: &mut [Lanes<S>],
        noise: &mut [Lanes<S>],
    ) {
        let lanes = self.lanes;
        let dt = Lanes::splat(simd, self.dt);
        let root = Lanes::splat(simd, self.dt.sqrt());
        for normals in self.normals.chunks_exact(xi.len() * lanes) {
            let mut lane = 0;
            while lane < lanes {
                load(simd, x, self.state, lanes, lane);
                load(simd, xi, normals, lanes, lane);
                self.dynamics.drift_and_noise(x, xi, drift, noise);
                for i in 0..x.len() {
                    x[i] = noise[i].mul_add(root, drift[i].mul_add(dt, x[i]));
                }
                self.dynamics.fold(x);
                store(x, self.state, lanes, lane);
                lane += S::F64_LANES;
            }
        }
    }
}

/// An equation in lanes, evaluated group by group on a tile.
struct LaneStages<'a, S: Simd, D> {
    simd: S,
    dynamics: &'a D,
    lanes: usize,
    x: Vec<Lanes<S>>,
    xi: Vec<Lanes<S>>,
    out: Vec<Lanes<S>>,
}

impl<'a, S: Simd, D: Dynamics> LaneStages<'a, S, D> {
    fn new(simd: S, dynamics: &'a D, lanes: usize) -> Self {
        let zero = Lanes::splat(simd, 0.0);
        Self {
            simd,
            dynamics,
            lanes,
            x: vec![zero; dynamics.dim()],
            xi: vec![zero; dynamics.noise_dim()],
            out: vec![zero; dynamics.dim()],
        }
    }
}

impl<S: Simd, D: Dynamics> Dimensions for LaneStages<'_, S, D> {
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

impl<S: Simd, D: Dynamics> Stages for LaneStages<'_, S, D> {
    #[inline(always)]
    fn drift(&mut self, x: &[f64], out: &mut [f64]) {
        for lane in (0..self.lanes).step_by(S::F64_LANES) {
            load(self.simd, &mut self.x, x, self.lanes, lane);
            self.dynamics.fold(&mut self.x);
            self.dynamics.drift(&self.x, &mut self.out);
            store(&self.out, out, self.lanes, lane);
        }
    }
    #[inline(always)]
    fn noise(&mut self, x: &[f64], xi: &[f64], out: &mut [f64]) {
        for lane in (0..self.lanes).step_by(S::F64_LANES) {
            load(self.simd, &mut self.x, x, self.lanes, lane);
            load(self.simd, &mut self.xi, xi, self.lanes, lane);
            self.dynamics.fold(&mut self.x);
            self.dynamics.noise(&self.x, &self.xi, &mut self.out);
            store(&self.out, out, self.lanes, lane);
        }
    }
    #[inline(always)]
    fn fold(&mut self, x: &mut [f64]) {
        for lane in (0..self.lanes).step_by(S::F64_LANES) {
            load(self.simd, &mut self.x, x, self.lanes, lane);
            self.dynamics.fold(&mut self.x);
            store(&self.x, x, self.lanes, lane);
        }
    }
}

#[inline(always)]
fn load<S: Simd>(simd: S, into: &mut [Lanes<S>], from: &[f64], lanes: usize, lane: usize) {
    let (from, _) = S::as_simd_f64s(from);
    for (i, value) in into.iter_mut().enumerate() {
        *value = Lanes::new(simd, from[(i * lanes + lane) / S::F64_LANES]);
    }
}

#[inline(always)]
fn store<S: Simd>(from: &[Lanes<S>], into: &mut [f64], lanes: usize, lane: usize) {
    let (into, _) = S::as_mut_simd_f64s(into);
    for (i, value) in from.iter().enumerate() {
        into[(i * lanes + lane) / S::F64_LANES] = value.value();
    }
}
