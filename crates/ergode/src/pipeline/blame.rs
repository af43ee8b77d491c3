//! Whether a failure is the user's to mend, or something simpler may take the place of what failed.

use super::config::{FitConfig, ScoreConfig};
use crate::error::Error;
use crate::finding::{Finding, FindingKind, Severity};
use crate::mobility::{MeasurementNoise, PaperConfig, RecipeConfig};
use crate::score::ResampleConfig;

/// Whether something simpler may take the place of work that failed so. A wrong option that was `set` is an
/// error of the user, who must see it; what the data do not allow is not.
pub(super) fn allowed(error: &Error, set: bool) -> bool {
    !(error.is_interrupted() || error.is_file() || (set && error.is_bad_input()))
}

/// Whether options of the score are set that may be wrong by themselves.
pub(super) fn score_is_set(config: &FitConfig) -> bool {
    let (score, default) = (&config.score, ScoreConfig::default());
    config.ring.sites > 0
        || score.closed_form.ridges != default.closed_form.ridges
        || score.closed_form.folds != default.closed_form.folds
        || score
            .closed_form
            .degrees
            .windows(2)
            .any(|pair| pair[0] >= pair[1])
        || certificate_is_set(config)
}

/// Whether options of the score's certificate are set that may be wrong by themselves.
pub(super) fn certificate_is_set(config: &FitConfig) -> bool {
    let (runs, default) = (
        &config.score.certificate.resample,
        ResampleConfig::default(),
    );
    runs.time != default.time || runs.step != default.step
}

/// Whether options of the mobility are set that may be wrong by themselves.
pub(super) fn mobility_is_set(config: &FitConfig) -> bool {
    let (mobility, default) = (&config.mobility, RecipeConfig::default());
    config.ring.sites > 0
        || matches!(mobility.noise, MeasurementNoise::Variances(_))
        || mobility.mask.is_some()
        || mobility.mean.is_some()
        || !mobility.floors.is_empty()
        || mobility.ridges != default.ridges
        || mobility.folds != default.folds
        || config.paper != PaperConfig::default()
}

/// Whether options of the comparison are set that may be wrong by themselves.
pub(super) fn validation_is_set(config: &FitConfig) -> bool {
    let validate = &config.validate;
    !(validate.observables.is_empty() && validate.other_observables.is_empty())
}

/// The finding on a part that took the place of one that failed.
pub(super) fn fell_back(
    severity: Severity,
    failed: &str,
    error: &Error,
    instead: &str,
    advice: &str,
) -> Finding {
    let message = format!("{failed} failed ({error}); {instead}");
    Finding::new(FindingKind::Fallback, severity, message, advice)
}
