//! The paper's two-dimensional nonreversible diffusion with affine multiplicative noise.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{ExactFields, Grid2d, Parameters, Protocol, System};
use crate::error::{Error, Result};
use crate::random::Stream;
use crate::simd::Real;
use crate::simulate::{Dimensions, Dynamics, Scheme, SimulateConfig};

/// dx = (−∇U + ωJx) dt + B(x) dW, U = (x² + y²)²/4 + (x² + y²)/2, B = B₀ + x B₁ + y B₂
/// (`eq:affine_2d_reference_sde_main`). In the √2 Σ convention, D = ½ B Bᵀ.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Affine2d {
    /// Rotation rate ω.
    pub omega: f64,
    /// B₀.
    pub b0: [[f64; 2]; 2],
    /// B₁.
    pub b1: [[f64; 2]; 2],
    /// B₂.
    pub b2: [[f64; 2]; 2],
}

impl Default for Affine2d {
    fn default() -> Self {
        Self {
            omega: 1.1,
            b0: [[0.60, 0.10], [0.08, 0.55]],
            b1: [[0.36, 0.12], [0.15, -0.06]],
            b2: [[-0.09, 0.21], [0.18, 0.30]],
        }
    }
}

impl Affine2d {
    #[inline(always)]
    fn amplitude<T: Real>(&self, i: usize, j: usize, x: &[T]) -> T {
        let slope_x = x[0].constant(self.b1[i][j]);
        let slope_y = x[0].constant(self.b2[i][j]);
        let base = x[0].constant(self.b0[i][j]);
        x[0].mul_add(slope_x, x[1].mul_add(slope_y, base))
    }

    /// D_ref = ½ B Bᵀ (`eq:affine_2d_reference_diffusion_tensor_main`), row-major.
    pub fn diffusion(&self, x: &[f64]) -> [f64; 4] {
        let b = |i, j| self.amplitude(i, j, x);
        let entry = |i, k| 0.5 * (b(i, 0) * b(k, 0) + b(i, 1) * b(k, 1));
        [entry(0, 0), entry(0, 1), entry(1, 0), entry(1, 1)]
    }

    /// (∇·D)_i = Σ_j ∂_j D_ij.
    pub fn div_diffusion(&self, x: &[f64]) -> [f64; 2] {
        let slope = [&self.b1, &self.b2];
        let mut out = [0.0; 2];
        for i in 0..2 {
            for j in 0..2 {
                for k in 0..2 {
                    // ∂_j of ½ B_ik B_jk
                    out[i] += 0.5
                        * (slope[j][i][k] * self.amplitude(j, k, x)
                            + self.amplitude(i, k, x) * slope[j][j][k]);
                }
            }
        }
        out
    }
}

impl Dimensions for Affine2d {
    fn dim(&self) -> usize {
        2
    }
}

impl Dynamics for Affine2d {
    #[inline(always)]
    fn drift<T: Real>(&self, x: &[T], out: &mut [T]) {
        // −∇U = −(1 + x² + y²) x
        let pull = -(x[0].mul_add(x[0], x[1].mul_add(x[1], x[0].constant(1.0))));
        out[0] = pull.mul_add(x[0], x[1] * -self.omega);
        out[1] = pull.mul_add(x[1], x[0] * self.omega);
    }

    #[inline(always)]
    fn noise<T: Real>(&self, x: &[T], xi: &[T], out: &mut [T]) {
        for (i, out) in out.iter_mut().enumerate() {
            let first = self.amplitude(i, 0, x) * xi[0];
            *out = self.amplitude(i, 1, x).mul_add(xi[1], first);
        }
    }
}

impl Parameters for Affine2d {
    fn build(self) -> Result<Box<dyn System>> {
        let all = [self.b0, self.b1, self.b2];
        if !self.omega.is_finite()
            || all
                .as_flattened()
                .as_flattened()
                .iter()
                .any(|v| !v.is_finite())
        {
            return Err(Error::input("every parameter must be finite"));
        }
        Ok(Box::new(self))
    }
}

impl System for Affine2d {
    fn coordinate_names(&self) -> Vec<String> {
        vec!["x".into(), "y".into()]
    }
    /// The paper's: 36 trajectories, Euler-Maruyama, T = 3000, saved every 0.01.
    fn protocol(&self) -> Protocol {
        Protocol {
            simulate: SimulateConfig {
                time: 3000.0,
                dt: 1e-3,
                save_every: 0.01,
                trajectories: 36,
                seed: 0,
                scheme: Scheme::Euler,
                burn_in: 0.0,
            },
            exact: false,
        }
    }
    /// Near the origin; the law is stationary after a few time units.
    fn draw_initial(&self, stream: &mut Stream, x: &mut [f64]) {
        x[0] = 0.4 * stream.normal();
        x[1] = 0.4 * stream.normal();
    }
    fn parameters(&self) -> Value {
        serde_json::to_value(self).expect("parameters are plain")
    }
}

/// The affine system with its numerically exact stationary density, score and circulation.
#[derive(Clone, Debug)]
pub struct Affine2dReference {
    system: Affine2d,
    grid: Grid2d,
}

impl Affine2dReference {
    /// Cells a side at which, for the paper's parameters and against 560 cells, the relative L2(p_ss)
    /// error is 5e-4 for the score (3e-5 where the density exceeds 1e-4), 4e-6 for the circulation, and the
    /// correlations are exact to 1e-7; solved in a few seconds.
    pub const CELLS: usize = 400;

    /// Solve the stationary Fokker-Planck equation with `cells` cells a side (see [`Grid2d`]) on a
    /// box that holds all but 1e-9 of the probability at the paper's parameters.
    ///
    /// # Errors
    /// When the grid is too coarse or the linear system is singular.
    pub fn solve(system: Affine2d, cells: usize) -> Result<Self> {
        let grid = Grid2d::solve(&system, [-1.3, -1.3], [2.7, 2.7], cells)?;
        Ok(Self { system, grid })
    }

    /// The grid solution: density, circulation, moments, correlations.
    pub fn grid(&self) -> &Grid2d {
        &self.grid
    }

    /// The system it belongs to.
    pub fn system(&self) -> &Affine2d {
        &self.system
    }

    /// Φ = ⟨M⟩, (2, 2) row by row.
    pub fn mean_mobility(&self) -> [f64; 4] {
        let (mut sum, mut total, mut m) = ([0.0; 4], 0.0, [0.0; 4]);
        for ((i, j), p) in self.grid.density().indexed_iter() {
            self.mobility(&self.grid.node(i, j), &mut m);
            sum.iter_mut().zip(m).for_each(|(sum, m)| *sum += p * m);
            total += p;
        }
        sum.map(|sum| sum / total)
    }

    /// r_ref, the circulation in R_ref = r_ref J.
    pub fn circulation(&self, x: &[f64]) -> f64 {
        self.grid.circulation(x).0
    }
}

impl ExactFields for Affine2dReference {
    fn score(&self, x: &[f64], out: &mut [f64]) {
        out.copy_from_slice(&self.grid.score(x));
    }
    fn mobility(&self, x: &[f64], out: &mut [f64]) {
        let r = self.circulation(x);
        out.copy_from_slice(&self.system.diffusion(x));
        out[1] -= r;
        out[2] += r;
    }
    fn div_mobility(&self, x: &[f64], out: &mut [f64]) {
        let (_, [r_x, r_y]) = self.grid.circulation(x);
        let div = self.system.div_diffusion(x);
        out[0] = div[0] - r_y;
        out[1] = div[1] + r_x;
    }
}
