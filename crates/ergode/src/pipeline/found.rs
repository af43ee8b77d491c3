//! A mobility as a fit finds it.

use ndarray::Array2;

use crate::data::Ensemble;
use crate::error::{Error, Result};
use crate::mobility::{ChosenChart, MobilityFit, NoiseEstimate, Recipe, TermChoice};
use crate::model::StoredMobility;
use crate::report::{Measured, MobilityResults, NetworkResiduals};

/// A mobility with its report.
pub(super) struct MobilityFound {
    pub(super) mobility: StoredMobility,
    pub(super) results: MobilityResults,
    pub(super) recipe: Recipe,
    pub(super) reason: String,
    /// The fit in full, where it is one in a linear span.
    pub(super) fit: Option<MobilityFit>,
    /// The equations of a network.
    pub(super) network: Option<NetworkResiduals>,
    /// Seconds that lagged statistics took, where they were collected apart.
    pub(super) statistics_seconds: f64,
    /// The measurement noise that the record was freed from, and Φ = ⟨M⟩ without it.
    pub(super) noise: Option<(NoiseEstimate, Array2<f64>)>,
    /// Charts that the test functions were made of.
    pub(super) charts: Vec<ChosenChart>,
    /// The terms of drift and diffusion that were kept, where they were chosen.
    pub(super) terms: Option<TermChoice>,
}

/// A fit in a linear span in brief; D is indefinite at a fraction `violation` of the samples.
pub(super) fn linear_results(fit: &MobilityFit, kind: String, violation: f64) -> MobilityResults {
    let coefficients = fit.coefficients().map(|(label, value, stderr)| {
        let measured = Measured { value, stderr };
        (label.to_owned(), measured)
    });
    MobilityResults {
        kind,
        coefficients: coefficients.collect(),
        chi2_per_equation: Some(fit.chi2_per_equation),
        condition: Some(fit.condition).filter(|c| c.is_finite()),
        effective_rank: Some(fit.effective_rank),
        psd_violation: violation,
        measurement_noise: None,
        warnings: fit.warnings.clone(),
    }
}

/// The sampling interval of a record of a ring.
pub(super) fn interval_of(training: &Ensemble) -> Result<f64> {
    training.sampling_interval().ok_or_else(|| {
        Error::input(
            "fitting a ring needs even sampling, and the record is sampled unevenly; interpolate it to \
             one interval, or remove ring.sites and use recipe semigroup or weak",
        )
    })
}
