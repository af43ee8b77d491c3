//! Two deep wells and a shallow one in the plane.

use serde::{Deserialize, Serialize};

use super::Protocol;
use super::gradient::Potential;

/// U = h [3 e^{−x² − (y − 1/3)²} − 3 e^{−x² − (y − 5/3)²} − 5 e^{−(x − 1)² − y²} − 5 e^{−(x + 1)² − y²}
///        + x⁴/5 + (y − 1/3)⁴/5].
///
/// Two paths join the deep wells: a direct one over a barrier, and one through the shallow well.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TripleWell {
    /// h, in units of the temperature.
    pub height: f64,
    /// Diffusion d.
    pub diffusion: f64,
}

impl Default for TripleWell {
    fn default() -> Self {
        Self {
            height: 1.5,
            diffusion: 0.5,
        }
    }
}

/// Height and centre of a Gaussian well or hill.
const TERMS: [[f64; 3]; 4] = [
    [3.0, 0.0, 1.0 / 3.0],
    [-3.0, 0.0, 5.0 / 3.0],
    [-5.0, 1.0, 0.0],
    [-5.0, -1.0, 0.0],
];

impl Potential for TripleWell {
    const NAMES: &'static [&'static str] = &["x", "y"];

    fn energy(&self, x: &[f64]) -> f64 {
        let term = |[height, x0, y0]: [f64; 3]| {
            height * (-(x[0] - x0).powi(2) - (x[1] - y0).powi(2)).exp()
        };
        let walls = 0.2 * (x[0].powi(4) + (x[1] - 1.0 / 3.0).powi(4));
        self.height * (TERMS.map(term).iter().sum::<f64>() + walls)
    }

    fn gradient(&self, x: &mut [f64]) {
        let mut sum = [0.8 * x[0].powi(3), 0.8 * (x[1] - 1.0 / 3.0).powi(3)];
        for [height, x0, y0] in TERMS {
            let (u, v) = (x[0] - x0, x[1] - y0);
            let value = height * (-u * u - v * v).exp();
            sum[0] -= 2.0 * u * value;
            sum[1] -= 2.0 * v * value;
        }
        x.copy_from_slice(&sum.map(|sum| self.height * sum));
    }

    fn diffusion(&self) -> f64 {
        self.diffusion
    }
    fn height(&self) -> f64 {
        self.height
    }
    fn bounds(&self) -> Vec<(f64, f64)> {
        vec![(-3.2, 3.2), (-2.9, 3.6)]
    }
    fn floor(&self) -> f64 {
        -4.0 * self.height
    }
    fn protocol(&self) -> Protocol {
        Protocol::euler(16, 1000.0, 0.05, 1e-3, 0.0)
    }
}
