//! The time that a fit may take.

use serde::{Deserialize, Serialize};

use super::config::{FitConfig, ScoreKind};
use crate::clock::Clock;
use crate::error::{Result, require_positive};
use crate::mobility::Recipe;

/// Seconds of a fit that says nothing of its time.
const SECONDS: f64 = 600.0;

/// Limits of a fit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LimitsConfig {
    /// Seconds for the whole fit. A stage that would take more than its share is stopped, and the fit continues
    /// with less and says so. By default 600; no limit for rings, the paper's recipe, and networks set by
    /// `score.kind`.
    pub seconds: Option<f64>,
}

/// What is left of the time.
pub(super) struct Budget {
    clock: Clock,
    seconds: f64,
}

impl Budget {
    /// The time that a configuration allows, from now on.
    ///
    /// # Errors
    /// When it is not positive.
    pub(super) fn new(config: &FitConfig) -> Result<Self> {
        let long = config.ring.sites > 0
            || config.mobility.recipe == Recipe::Paper
            || config.score.kind == ScoreKind::Denoising;
        let seconds = match config.limits.seconds {
            Some(seconds) => {
                require_positive("limits.seconds", seconds)?;
                seconds
            }
            None if long => f64::INFINITY,
            None => SECONDS,
        };
        Ok(Self {
            clock: Clock::start(),
            seconds,
        })
    }

    /// A part of the seconds that are left. There are always some, so that every stage can begin.
    pub(super) fn share(&self, part: f64) -> f64 {
        /// Part of the whole that no stage is refused.
        const LEAST: f64 = 0.02;
        (part * (self.seconds - self.clock.seconds())).max(LEAST * self.seconds)
    }
}
