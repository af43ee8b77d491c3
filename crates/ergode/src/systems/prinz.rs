//! Four wells on a line.

use serde::{Deserialize, Serialize};

use super::Protocol;
use super::gradient::Potential;

/// U = 4h [x⁸ + 0.8 e^{−80 x²} + 0.2 e^{−80 (x − 1/2)²} + 0.5 e^{−40 (x + 1/2)²}]
/// (Prinz et al., 2011).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prinz {
    /// h, in units of the temperature.
    pub height: f64,
    /// Diffusion d.
    pub diffusion: f64,
}

impl Default for Prinz {
    fn default() -> Self {
        Self {
            height: 1.0,
            diffusion: 0.05,
        }
    }
}

/// Height, steepness and centre of a Gaussian hill.
const TERMS: [[f64; 3]; 3] = [[0.8, 80.0, 0.0], [0.2, 80.0, 0.5], [0.5, 40.0, -0.5]];

impl Potential for Prinz {
    const NAMES: &'static [&'static str] = &["x"];

    fn energy(&self, x: &[f64]) -> f64 {
        let term =
            |[height, steep, centre]: [f64; 3]| height * (-steep * (x[0] - centre).powi(2)).exp();
        4.0 * self.height * (x[0].powi(8) + TERMS.map(term).iter().sum::<f64>())
    }

    fn gradient(&self, x: &mut [f64]) {
        let mut sum = 8.0 * x[0].powi(7);
        for [height, steep, centre] in TERMS {
            let u = x[0] - centre;
            sum -= 2.0 * steep * u * height * (-steep * u * u).exp();
        }
        x[0] = 4.0 * self.height * sum;
    }

    fn diffusion(&self) -> f64 {
        self.diffusion
    }
    fn height(&self) -> f64 {
        self.height
    }
    fn bounds(&self) -> Vec<(f64, f64)> {
        vec![(-1.7, 1.7)]
    }
    fn floor(&self) -> f64 {
        0.0
    }
    fn protocol(&self) -> Protocol {
        Protocol::euler(16, 1000.0, 0.02, 5e-4, 0.0)
    }
}
