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
