//! One-dimensional diffusions on a fine grid.

use ndarray::{Array1, Array2};

use super::{GalerkinReference, drift_and_diffusion};
use crate::error::{Error, Result};
use crate::quadrature::gauss_legendre;
use crate::simulate::Sde;

/// The spacing of the nodes of a grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spacing {
    /// Equal steps in x.
    Linear,
    /// Equal steps in ln x, for positive coordinates.
    Logarithmic,
}

/// Density and score of a one-dimensional diffusion from its drift F and diffusion D alone:
/// ln(D p) = ∫ F/D dx, by Gauss quadrature between the nodes.
#[derive(Clone, Debug)]
pub struct Grid1d {
    /// The nodes.
    pub nodes: Vec<f64>,
    /// p_ss at the nodes.
    pub density: Vec<f64>,
    /// Probability of each node: the quadrature weight times the density.
    pub weights: Vec<f64>,
}

impl Grid1d {
    /// Solve on `cells` cells over [low, high], which must hold practically all probability.
    ///
    /// # Errors
    /// When the interval is empty or the grid too coarse.
    pub fn solve(
        sde: &dyn Sde,
        spacing: Spacing,
        low: f64,
        high: f64,
        cells: usize,
    ) -> Result<Self> {
        if sde.dim() != 1 {
            return Err(Error::input(
                "a one-dimensional grid needs a one-dimensional system",
            ));
        }
        let from = |u: f64| match spacing {
            Spacing::Linear => u,
            Spacing::Logarithmic => u.exp(),
        };
        let (a, b) = match spacing {
            Spacing::Linear => (low, high),
            Spacing::Logarithmic => (low.ln(), high.ln()),
        };
        let step = (b - a) / cells as f64;
        let coefficients = |x: f64| {
            let mut drift = [0.0];
            let diffusion = drift_and_diffusion(sde, &[x], &mut drift)[[0, 0]];
            (drift[0], diffusion)
        };
        let nodes: Vec<f64> = (0..=cells).map(|k| from(a + step * k as f64)).collect();
        let mut integral = 0.0;
        let mut ln_density = Vec::with_capacity(nodes.len());
        for (k, &x) in nodes.iter().enumerate() {
            if k > 0 {
                for (y, w) in gauss_legendre(6, nodes[k - 1], x) {
                    let (drift, diffusion) = coefficients(y);
                    integral += w * drift / diffusion;
                }
            }
            ln_density.push(integral - coefficients(x).1.ln());
        }
        let top = ln_density.iter().fold(f64::NEG_INFINITY, |m, v| m.max(*v));
        let mut density: Vec<f64> = ln_density.iter().map(|v| (v - top).exp()).collect();
        // The trapezoid in the spread variable; dx = x du on a logarithmic grid.
        let jacobian = |x: f64| match spacing {
            Spacing::Linear => step,
            Spacing::Logarithmic => step * x,
        };
        let mut weights: Vec<f64> = density
            .iter()
            .zip(&nodes)
            .map(|(p, &x)| p * jacobian(x))
            .collect();
        let total: f64 = weights.iter().sum();
        if !(total.is_finite() && weights[0].max(weights[cells]) < 1e-8 * total) {
            return Err(Error::numerical(format!(
                "the density does not vanish at the ends of [{low}, {high}]; widen the grid"
            )));
        }
        density.iter_mut().for_each(|p| *p /= total);
        weights.iter_mut().for_each(|w| *w /= total);
        Ok(Self {
            nodes,
            density,
            weights,
        })
    }

    /// Probability below each node.
    pub fn cumulative(&self) -> Vec<f64> {
        let mut sum = 0.0;
        self.weights
            .iter()
            .map(|w| {
                sum += w;
                sum - 0.5 * w
            })
            .collect()
    }

    /// s = ∂ ln p_ss at the interior nodes, by central differences of the grid density.
    pub fn score(&self) -> Vec<f64> {
        self.nodes
            .windows(3)
            .zip(self.density.windows(3))
            .map(|(x, p)| {
                let (left, right) = (x[1] - x[0], x[2] - x[1]);
                let backward = (p[1] / p[0]).ln() / left;
                let forward = (p[2] / p[1]).ln() / right;
                (backward * right + forward * left) / (left + right)
            })
            .collect()
    }

    /// The generator on polynomials up to `degree`, for correlations at any lag.
    ///
    /// # Errors
    /// When the functions are linearly dependent on the grid.
    pub fn semigroup(&self, sde: &dyn Sde, degree: usize) -> Result<GalerkinReference> {
        let nodes =
            Array2::from_shape_vec((self.nodes.len(), 1), self.nodes.clone()).expect("one column");
        GalerkinReference::new(sde, nodes, Array1::from(self.weights.clone()), degree)
    }
}
