//! Forecast skill as part of a fit.

use super::rollout::Runs;
use crate::control::Control;
use crate::data::Ensemble;
use crate::error::Result;
use crate::forecast::{ForecastReferences, SkillConfig, forecast_skill};
use crate::model::LangevinModel;
use crate::report::{ForecastRecord, Part};

/// Skill of forecasts of the held-out states by a model that was simulated in `runs`, or why there is none.
///
/// # Errors
/// When the work is stopped.
pub(super) fn skill(
    model: &LangevinModel,
    (training, held_out): (&Ensemble, &Ensemble),
    runs: &Runs,
    seed: u64,
    control: &Control,
) -> Result<Part<ForecastRecord>> {
    if runs.dt.is_nan() {
        return Ok(Part::Missing("the model was not simulated".into()));
    }
    let work = || {
        let model = model.clone().with_validated_step(runs.dt, runs.scheme)?;
        let observed = model.observation().observed();
        let references = ForecastReferences::new(training, observed, control)?;
        /// Steps of coordinates: a few seconds where a model is not simulated in SIMD lanes.
        const WORK: f64 = 1e7;
        let config = SkillConfig {
            seed,
            work: WORK,
            ..SkillConfig::default()
        };
        let skill = forecast_skill(&model, held_out, &references, &config, control)?;
        Ok(ForecastRecord { skill, references })
    };
    Part::of(work())
}
