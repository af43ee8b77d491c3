//! White measurement noise, known or estimated by the semigroup whatever the recipe of the mobility.

use super::config::RecipeConfig;
use super::plan::Plan;
use super::spaces::{Spaces, binomial};
use crate::control::Control;
use crate::error::{Error, Result};
use crate::limits;
use crate::mobility::basis::TensorBasis;
use crate::mobility::block_noise::BlockNoise;
use crate::mobility::moments::PolynomialSums;
use crate::mobility::noise::{self, MeasurementNoise, NoiseEstimate};

impl Plan {
    /// The measurement noise, with mobilities of these degrees where it is estimated.
    pub(super) fn noise(
        &self,
        sums: &PolynomialSums,
        (d, r): (usize, usize),
        config: &RecipeConfig,
        control: &Control,
    ) -> Result<Option<(BlockNoise, NoiseEstimate)>> {
        match &config.noise {
            MeasurementNoise::Auto | MeasurementNoise::None => Ok(None),
            MeasurementNoise::Variances(variances) => {
                noise::known(variances, sums.standardiser()).map(Some)
            }
            MeasurementNoise::Estimate => {
                let mask = self.mask.as_ref();
                let basis = TensorBasis::polynomial(sums.names(), sums.standardiser(), d, r, mask)?;
                let space = &self.spaces.semigroup;
                noise::estimate(sums, &basis, space, &config.fit(), control).map(Some)
            }
        }
    }
}

/// Refuse a Galerkin space with too many functions.
pub(super) fn require_affordable(dim: usize, spaces: &Spaces) -> Result<()> {
    let functions = binomial(dim + spaces.semigroup.degree, dim);
    if functions <= limits::FUNCTIONS {
        return Ok(());
    }
    Err(Error::input(format!(
        "measurement noise is estimated in a Galerkin space, which in dimension {dim} would have \
         {functions} functions, more than supported; give its variances (mobility.noise), or select \
         fewer coordinates"
    )))
}
