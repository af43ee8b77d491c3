//! The Müller-Brown potential: three minima joined by a bent valley.

use serde::{Deserialize, Serialize};

use super::Protocol;
use super::gradient::Potential;

/// U = h Σ_k A_k exp(a_k ξ² + b_k ξ η + c_k η²) with ξ = x − X_k, η = y − Y_k (Müller and Brown, 1979).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MuellerBrown {
    /// Factor h from the published energies to units of the temperature.
    pub height: f64,
    /// Diffusion d.
    pub diffusion: f64,
}

impl Default for MuellerBrown {
    /// The deepest minimum is four units of the temperature below the saddle beside it.
    fn default() -> Self {
        Self {
            height: 0.04,
            diffusion: 0.05,
        }
    }
}

/// A, a, b, c, X, Y of a term.
const TERMS: [[f64; 6]; 4] = [
    [-200.0, -1.0, 0.0, -10.0, 1.0, 0.0],
    [-100.0, -1.0, 0.0, -10.0, 0.0, 0.5],
    [-170.0, -6.5, 11.0, -6.5, -0.5, 1.5],
    [15.0, 0.7, 0.6, 0.7, -1.0, 1.0],
];

impl Potential for MuellerBrown {
    const NAMES: &'static [&'static str] = &["x", "y"];

    fn energy(&self, x: &[f64]) -> f64 {
        let term = |[height, a, b, c, x0, y0]: [f64; 6]| {
            let (u, v) = (x[0] - x0, x[1] - y0);
            height * (a * u * u + b * u * v + c * v * v).exp()
        };
        self.height * TERMS.map(term).iter().sum::<f64>()
    }

    fn gradient(&self, x: &mut [f64]) {
        let mut sum = [0.0; 2];
        for [height, a, b, c, x0, y0] in TERMS {
            let (u, v) = (x[0] - x0, x[1] - y0);
            let value = self.height * height * (a * u * u + b * u * v + c * v * v).exp();
            sum[0] += value * (2.0 * a * u + b * v);
            sum[1] += value * (b * u + 2.0 * c * v);
        }
        x.copy_from_slice(&sum);
    }

    fn diffusion(&self) -> f64 {
        self.diffusion
    }
    fn height(&self) -> f64 {
        self.height
    }
    fn bounds(&self) -> Vec<(f64, f64)> {
        vec![(-2.0, 1.5), (-0.8, 2.4)]
    }
    fn floor(&self) -> f64 {
        -147.0 * self.height
    }
    fn protocol(&self) -> Protocol {
        Protocol::euler(16, 1000.0, 0.05, 1e-3, 0.0)
    }
}
