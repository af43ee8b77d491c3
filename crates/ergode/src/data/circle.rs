//! Coordinates that are angles.

use std::f64::consts::TAU;

/// Angles [low, low + period), the ends joined.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Circle {
    /// Where the period begins.
    pub(crate) low: f64,
    /// Length of the period.
    pub(crate) period: f64,
}

impl Circle {
    /// The same angle in [low, low + period).
    pub(crate) fn wrap(self, value: f64) -> f64 {
        let Self { low, period } = self;
        if value >= low && value < low + period {
            return value;
        }
        let part = (value - low).rem_euclid(period);
        // Of a tiny negative number the remainder rounds to the period itself.
        low + if part < period { part } else { 0.0 }
    }

    /// The shortest way from one angle to another.
    pub(crate) fn step(self, from: f64, to: f64) -> f64 {
        let step = to - from;
        step - self.period * (step / self.period).round()
    }

    /// What one radian is worth.
    pub(crate) fn unit(self) -> f64 {
        self.period / TAU
    }

    /// The angle in radians.
    pub(crate) fn radians(self, value: f64) -> f64 {
        value / self.unit()
    }
}
