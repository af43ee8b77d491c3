//! The time that a fit may take.

use super::config::{FitConfig, ScoreKind};
use crate::clock::Clock;
use crate::error::{Result, require_positive};
use crate::mobility::Recipe;

/// Seconds of a fit that says nothing of its time.
const SECONDS: f64 = 600.0;

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
