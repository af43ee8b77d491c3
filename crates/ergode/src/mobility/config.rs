//! How a mobility is fitted.

use std::collections::BTreeMap;

use ndarray::Array2;
use serde::{Deserialize, Serialize};

use super::basis::TensorBasis;
use crate::error::{Error, Result};

/// How the coefficients of a mobility are fitted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MobilityConfig {
    /// Ridges that are tried: χ² added for ⟨|M − Φ|²⟩ = ⟨|Φ|²⟩.
    pub ridges: Vec<f64>,
    /// Folds of the cross-validation over blocks.
    pub folds: usize,
    /// Known mean of M; it enters with its error, and is not estimated again in the blocks.
    pub mean: Option<MeanConstraint>,
    /// Lower bounds of coefficients, by label: a coefficient below its floor is set to it, and the others are
    /// fitted again. Errors remain those of the free fit.
    pub floors: BTreeMap<String, f64>,
    /// Most Gauss-Newton steps.
    pub iterations: usize,
}

impl Default for MobilityConfig {
    fn default() -> Self {
        Self {
            ridges: vec![0.0, 0.1, 1.0, 10.0, 100.0],
            folds: 6,
            mean: None,
            floors: BTreeMap::new(),
            iterations: 50,
        }
    }
}

impl MobilityConfig {
    pub(super) fn validate(&self, basis: &TensorBasis) -> Result<()> {
        if self.ridges.is_empty() || self.ridges.iter().any(|r| !(r.is_finite() && *r >= 0.0)) {
            return Err(Error::input(
                "give at least one ridge, each finite and not negative",
            ));
        }
        if self.folds < 2 {
            return Err(Error::input("a held-out test needs at least two folds"));
        }
        let known = |label: &str| basis.labels().any(|known| known == label);
        if let Some(label) = self.floors.keys().find(|label| !known(label)) {
            let labels: Vec<&str> = basis.labels().take(8).collect();
            return Err(Error::input(format!(
                "a floor is given for `{label}`, which is not a coefficient; the coefficients are {}{}",
                labels.join(", "),
                if basis.len() > labels.len() {
                    ", ..."
                } else {
                    ""
                }
            )));
        }
        Ok(())
    }
}

/// ⟨M⟩ = Φ as further equations, each weighted by its error.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MeanConstraint {
    /// Φ.
    pub value: Array2<f64>,
    /// Standard error of each entry, positive.
    pub error: Array2<f64>,
}
