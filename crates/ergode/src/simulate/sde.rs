//! Stochastic differential equations, and how a tile of trajectories is advanced.

use pulp::{Arch, Simd, WithSimd};
use serde::{Deserialize, Serialize};

use super::lanes::{Lanes, Real};

/// How many numbers an equation deals in.
pub trait Dimensions: Sync {
    /// Number of coordinates D.
    fn dim(&self) -> usize;
    /// Number of independent Brownian motions.
    fn noise_dim(&self) -> usize {
        self.dim()
    }
}

/// An Itô equation dx = F(x) dt + √2 Σ(x) dW, written once for scalars and vectors.
///
/// The paper's convention: the noise is √2 Σ, and D = Σ Σᵀ. Implementing this trait gives
/// [`Sde`], the form that simulations take.
pub trait Dynamics: Dimensions {
    /// The Itô drift F(x).
    fn drift<T: Real>(&self, x: &[T], out: &mut [T]);
    /// The noise √2 Σ(x) ξ.
    fn noise<T: Real>(&self, x: &[T], xi: &[T], out: &mut [T]);
}

/// Numerical schemes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scheme {
    /// Euler-Maruyama: weak order 1.
    #[default]
    Euler,
    /// Platen's explicit scheme (Kloeden and Platen 1992, eq. 15.1.3): weak order 2, no derivatives.
    Platen,
}

impl Scheme {
    /// Standard normals consumed per step by an equation with `noise_dim` Brownian motions.
    pub fn normals_per_step(self, noise_dim: usize) -> usize {
        match self {
            Scheme::Euler => noise_dim,
            // The signs of the extra ones make the two-point variables V_{rj}, r < j.
            Scheme::Platen => noise_dim + noise_dim * (noise_dim - 1) / 2,
        }
    }
}

/// Number of trajectories that are advanced together in one vector group.
///
/// A multiple of every SIMD width, so that the lanes of a group fill whole registers.
pub const GROUP: usize = 8;

/// An equation as the simulator sees it: a tile of trajectories advanced by whole steps.
///
/// `state` is coordinate-major, (dimension, lane), with the number of lanes a multiple of
/// [`GROUP`]; `normals` is (step, number, lane). What happens in one lane does not depend on the
/// others.
pub trait Sde: Dimensions {
    /// Advance by as many steps of length `dt` as `normals` has numbers for.
    fn advance(&self, scheme: Scheme, dt: f64, lanes: usize, state: &mut [f64], normals: &[f64]);
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
            Scheme::Platen => self.platen(simd),
        }
    }
}

impl<D: Dynamics> Advance<'_, D> {
    /// x ← x + F(x) Δ + √2 Σ(x) ξ √Δ.
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
                self.dynamics.drift(x, drift);
                self.dynamics.noise(x, xi, noise);
                let (state, _) = S::as_mut_simd_f64s(self.state);
                for i in 0..x.len() {
                    let next = noise[i].mul_add(root, drift[i].mul_add(dt, x[i]));
                    state[(i * lanes + lane) / S::F64_LANES] = next.value();
                }
                lane += S::F64_LANES;
            }
        }
    }

    /// Platen's order 2.0 weak scheme. With b_j the columns of √2 Σ,
    ///
    /// Y' = Y + ½(a(Ῡ) + a) Δ
    ///    + ¼ Σ_j [ (b_j(R⁺_j) + b_j(R⁻_j) + 2 b_j) ΔW_j + Σ_{r≠j} (b_j(U⁺_r) + b_j(U⁻_r) − 2 b_j) ΔW_j ]
    ///    + ¼ Δ^{-½} Σ_j [ (b_j(R⁺_j) − b_j(R⁻_j)) (ΔW_j² − Δ) + Σ_{r≠j} (b_j(U⁺_r) − b_j(U⁻_r)) (ΔW_j ΔW_r + V_{rj}) ],
    ///
    /// Ῡ = Y + aΔ + Σ b_j ΔW_j, R^±_j = Y + aΔ ± b_j √Δ, U^±_r = Y ± b_r √Δ, V_{rj} = −V_{jr} = ±Δ.
    /// The sums over j are products of √2 Σ with a vector, so only `noise` is needed.
    #[inline(always)]
    fn platen<S: Simd>(self, simd: S) {
        let (dim, m, lanes) = (self.dynamics.dim(), self.dynamics.noise_dim(), self.lanes);
        let per_step = Scheme::Platen.normals_per_step(m);
        let zero = Lanes::splat(simd, 0.0);
        let dt = Lanes::splat(simd, self.dt);
        let root = Lanes::splat(simd, self.dt.sqrt());
        let quarter_root = Lanes::splat(simd, 0.25 / self.dt.sqrt());
        let [
            mut x,
            mut drift,
            mut drift_end,
            mut moved,
            mut column,
            mut point,
            mut term,
            mut next,
        ] = [(); 8].map(|()| vec![zero; dim]);
        let mut random = vec![zero; per_step];
        let [mut increment, mut weight, mut unit] = [(); 3].map(|()| vec![zero; m]);
        for normals in self.normals.chunks_exact(per_step * lanes) {
            let mut lane = 0;
            while lane < lanes {
                load(simd, &mut x, self.state, lanes, lane);
                load(simd, &mut random, normals, lanes, lane);
                for j in 0..m {
                    increment[j] = random[j] * root;
                }
                self.dynamics.drift(&x, &mut drift);
                for i in 0..dim {
                    moved[i] = drift[i].mul_add(dt, x[i]);
                }
                // Ῡ, the drift average, and the terms in b_j(Y): 2/4 − 2(m−1)/4 = 1 − m/2.
                self.dynamics.noise(&x, &increment, &mut term);
                for i in 0..dim {
                    point[i] = moved[i] + term[i];
                }
                self.dynamics.drift(&point, &mut drift_end);
                for i in 0..dim {
                    next[i] = x[i]
                        + (drift[i] + drift_end[i]) * dt * 0.5
                        + term[i] * (1.0 - 0.5 * m as f64);
                }
                for r in 0..m {
                    unit[r] = zero + 1.0;
                    self.dynamics.noise(&x, &unit, &mut column);
                    for (sign, add) in [(1.0, true), (-1.0, false)] {
                        // R^±_r contributes to column r alone.
                        for i in 0..dim {
                            point[i] = moved[i] + column[i] * root * sign;
                        }
                        let spread = (increment[r] * increment[r] - dt) * quarter_root;
                        let straight = increment[r] * 0.25;
                        unit[r] = if add {
                            straight + spread
                        } else {
                            straight - spread
                        };
                        self.dynamics.noise(&point, &unit, &mut term);
                        for i in 0..dim {
                            next[i] = next[i] + term[i];
                        }
                        unit[r] = zero + 1.0;
                        // U^±_r contributes to every other column.
                        for i in 0..dim {
                            point[i] = x[i] + column[i] * root * sign;
                        }
                        for j in 0..m {
                            weight[j] = if j == r {
                                zero
                            } else {
                                let v = two_point(simd, &random, m, r, j) * dt;
                                let spread = (increment[j] * increment[r] + v) * quarter_root;
                                let straight = increment[j] * 0.25;
                                if add {
                                    straight + spread
                                } else {
                                    straight - spread
                                }
                            };
                        }
                        self.dynamics.noise(&point, &weight, &mut term);
                        for i in 0..dim {
                            next[i] = next[i] + term[i];
                        }
                    }
                    unit[r] = zero;
                }
                store(&next, self.state, lanes, lane);
                lane += S::F64_LANES;
            }
        }
    }
}

/// V_{rj}/Δ: the sign of one of the spare normals for r < j, antisymmetric.
#[inline(always)]
fn two_point<S: Simd>(simd: S, random: &[Lanes<S>], m: usize, r: usize, j: usize) -> Lanes<S> {
    let (low, high) = (r.min(j), r.max(j));
    let z = random[m + high * (high - 1) / 2 + low].value();
    let zero = simd.splat_f64s(0.0);
    let (one, minus) = (simd.splat_f64s(1.0), simd.splat_f64s(-1.0));
    let sign = simd.select_f64s(simd.less_than_f64s(z, zero), minus, one);
    let sign = Lanes::new(simd, sign);
    if r < j { sign } else { -sign }
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
