//! Whether a fit takes measurement noise out of its record.

use super::config::{FitConfig, ScoreKind};
use super::score::near_zero;
use crate::check::CheckReport;
use crate::data::Ensemble;
use crate::error::{Error, Result};
use crate::finding::{Finding, FindingKind, Severity};
use crate::mobility::{MeasurementNoise, Recipe};
use crate::observe::Observation;

/// What is done about noise: as asked, or, where that is left open, what the check suggests; with what the
/// reader of the results should know of it.
pub(super) fn decide(
    config: &FitConfig,
    check: &CheckReport,
    training: &Ensemble,
    observation: &Observation,
) -> Result<(MeasurementNoise, Option<Finding>)> {
    match &config.mobility.noise {
        MeasurementNoise::None => Ok((MeasurementNoise::None, None)),
        MeasurementNoise::Auto if check.findings.iter().all(|f| f.kind != FindingKind::Noise) => {
            Ok((MeasurementNoise::None, None))
        }
        MeasurementNoise::Auto => Ok(match obstacle(config, training, observation) {
            None => (MeasurementNoise::Estimate, None),
            Some(obstacle) => {
                let finding = Finding::new(
                    FindingKind::Noise,
                    Severity::Warn,
                    format!(
                        "the measurement noise of the record is not taken out of the fit: {obstacle}"
                    ),
                    "expect a diffusion that is too large",
                );
                (MeasurementNoise::None, Some(finding))
            }
        }),
        asked => match obstacle(config, training, observation) {
            None => Ok((asked.clone(), None)),
            Some(obstacle) => Err(Error::input(format!(
                "measurement noise cannot be taken out of this fit: {obstacle}; or set mobility.noise to \
                 \"none\""
            ))),
        },
    }
}

/// Why noise cannot be taken out, where it cannot.
fn obstacle(config: &FitConfig, training: &Ensemble, observation: &Observation) -> Option<String> {
    /// With more coordinates the fit has no polynomial mobility.
    const MOST_COORDINATES: usize = 6;
    if config.mobility.recipe == Recipe::Paper || config.score.kind == ScoreKind::Denoising {
        return Some(
            "networks learn the density with its noise; use the recipe semigroup or weak, and the \
             closed-form score"
                .into(),
        );
    }
    if observation.cycle.is_some() || observation.delays.is_some() {
        return Some("that is not done together with a cycle or delays".into());
    }
    if config.ring.sites > 0 {
        return Some("that is not done for rings".into());
    }
    if training.dim() > MOST_COORDINATES {
        return Some(format!(
            "that is done for up to {MOST_COORDINATES} coordinates, and these are {}; select fewer",
            training.dim()
        ));
    }
    let logged = near_zero(training);
    let place = logged.iter().position(|logged| *logged)?;
    Some(format!(
        "the score of '{}', which is positive and comes close to zero, is a polynomial of its logarithm, \
         and noise is taken out of polynomials of the coordinate only; give that logarithm as the coordinate",
        training.names()[place]
    ))
}
