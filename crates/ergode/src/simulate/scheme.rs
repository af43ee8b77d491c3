//! Sizes of an equation, and numerical schemes.

use serde::{Deserialize, Serialize};

/// The dimensions of an equation.
pub trait Dimensions: Sync {
    /// Number of coordinates D.
    fn dim(&self) -> usize;
    /// Number of independent Brownian motions.
    fn noise_dim(&self) -> usize {
        self.dim()
    }
    /// Whether the noise is additive: Σ does not depend on the state.
    fn is_additive(&self) -> bool {
        false
    }
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

    /// Evaluations of F and of √2 Σ ξ in a step of `equation`, of m Brownian motions: 2 of Euler's scheme, 3 + 5m
    /// of Platen's, which are 6 for m = 1 and 3 where the noise is additive.
    pub(crate) fn evaluations(self, equation: &(impl Dimensions + ?Sized)) -> usize {
        match (self, equation.noise_dim()) {
            (Scheme::Euler, _) => 2,
            (Scheme::Platen, _) if equation.is_additive() => 3,
            (Scheme::Platen, 1) => 6,
            (Scheme::Platen, m) => 3 + 5 * m,
        }
    }
}
