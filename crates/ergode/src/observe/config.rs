//! Options that relate the record to the state of the model.

use serde::{Deserialize, Serialize};

/// A value that is given, or left to the data.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged, expecting = "give a number, or \"auto\"")]
pub enum Choice<T> {
    /// This one.
    Given(T),
    /// "auto": chosen from the data by the rule that stands at the option.
    Auto(Auto),
}

/// The word "auto".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Auto {
    /// "auto".
    Auto,
}

/// The slow change of the mean that is removed from a record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TrendKind {
    /// None.
    #[default]
    None,
    /// A straight line.
    Linear,
    /// A parabola.
    Quadratic,
}

impl TrendKind {
    /// Degree of the polynomial.
    pub(super) fn degree(self) -> usize {
        match self {
            Self::None => 0,
            Self::Linear => 1,
            Self::Quadratic => 2,
        }
    }
}

/// A cycle of known period, such as the seasons.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CycleConfig {
    /// The period, in units of time; "auto" takes it from the cycles that
    /// [`check_ensemble`](crate::check_ensemble) finds; no cycle if not given.
    pub period: Option<Choice<f64>>,
    /// Harmonics of the mean and of ln σ; chosen by held-out blocks by default.
    pub harmonics: Option<usize>,
}

/// Delayed coordinates as part of the state.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DelayConfig {
    /// How many; "auto" is the smallest number up to three, with at most six coordinates in all, for which
    /// the Markov test passes.
    pub count: Choice<usize>,
    /// Time from one to the next; "auto" is a quarter of the shortest decorrelation time of a coordinate,
    /// in whole sampling intervals.
    pub spacing: Choice<f64>,
}

impl Default for DelayConfig {
    fn default() -> Self {
        Self {
            count: Choice::Given(0),
            spacing: Choice::Auto(Auto::Auto),
        }
    }
}

/// Options that relate the observed record to the state of the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ObservationConfig {
    /// The trend.
    pub trend: TrendKind,
    /// The cycle.
    pub cycle: CycleConfig,
    /// The delays.
    pub delays: DelayConfig,
}

impl ObservationConfig {
    /// True where the record is the state.
    pub fn is_plain(&self) -> bool {
        *self == Self::default()
    }
}
