//! Report of the pre-flight check.

use serde::{Deserialize, Serialize};

use crate::finding::{Finding, Verdict};

/// An end of the range of a coordinate that samples do not pass.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bound {
    /// The value that no sample passes.
    pub value: f64,
    /// How the samples behave there.
    pub kind: BoundKind,
}

/// How samples behave at a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BoundKind {
    /// Many samples have exactly this value.
    Mass,
    /// The density ends there without a tail.
    Edge,
}

/// The ends of the range of a coordinate, where they are bounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Bounds {
    /// At the smallest value.
    pub lower: Option<Bound>,
    /// At the largest value.
    pub upper: Option<Bound>,
}

/// A coordinate that is an angle, wrapped into one period.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Angle {
    /// Where the period begins.
    pub low: f64,
    /// Length of the period.
    pub period: f64,
}

/// The order of the noise that moves a coordinate, from the growth of its prediction error in time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Motion {
    /// The variance of the error grows as t, or cannot be told.
    #[default]
    Diffusive,
    /// It grows as t³: noise enters through the velocity.
    SecondOrder,
    /// It grows faster than t³: no noise is seen.
    Smooth,
}

/// A polynomial in the coordinates that vanishes at all samples.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// The coordinates in it.
    pub coordinates: Vec<String>,
    /// Its degree.
    pub degree: usize,
    /// Mean square of the polynomial at the samples, its coefficients in standardised coordinates and
    /// normalised monomials of norm 1.
    pub eigenvalue: f64,
}

/// Statistics of one coordinate of the record.
///
/// Times and correlations are those of the record without the trend and the cycles that were found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CoordinateReport {
    /// Its name.
    pub name: String,
    /// Mean over all samples.
    pub mean: f64,
    /// Standard deviation over all samples.
    pub std: f64,
    /// Lag at which the envelope of the autocorrelation falls below the threshold; none if the record is too
    /// short to show it.
    pub decorrelation_time: Option<f64>,
    /// First lag at which the autocorrelation is below the threshold: shorter than the decorrelation time
    /// where it oscillates.
    #[serde(default)]
    pub crossing_time: Option<f64>,
    /// τ_int = ∫ ρ(t) dt, or 2 ∫ ρ(t)² dt where ρ oscillates; none where the record has no lags.
    pub integrated_time: Option<f64>,
    /// N Δ / (2 τ_int), at most N.
    pub effective_samples: f64,
    /// Last lag with a usable autocorrelation.
    pub usable_lag: Option<f64>,
    /// Bounds of its range.
    #[serde(default)]
    pub bounds: Bounds,
    /// Its period, where it is a wrapped angle.
    #[serde(default)]
    pub angle: Option<Angle>,
    /// Step of the lattice of its values, where they are rounded or counted.
    #[serde(default)]
    pub quantum: Option<f64>,
    /// Isolated samples far from both neighbours.
    #[serde(default)]
    pub outliers: usize,
    /// Hill index α of tails |x|^{−α}, where they are heavy.
    #[serde(default)]
    pub tail_index: Option<f64>,
    /// Order of its motion.
    #[serde(default)]
    pub motion: Motion,
    /// Lag, autocorrelation ρ and its standard error.
    pub autocorrelation: Vec<[f64; 3]>,
}

/// The outcome of [`check_ensemble`](crate::check_ensemble).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CheckReport {
    /// Time between samples, the mean one where sampling is uneven.
    pub sampling_interval: f64,
    /// True where all samples are equally spaced.
    pub even_sampling: bool,
    /// Number of complete samples.
    pub samples: usize,
    /// Number of trajectories.
    pub trajectories: usize,
    /// One entry per coordinate.
    pub coordinates: Vec<CoordinateReport>,
    /// A curve or surface on which all samples lie.
    #[serde(default)]
    pub curve: Option<Curve>,
    /// Names of the coordinates whose noise enters through an unobserved velocity.
    #[serde(default)]
    pub second_order: Vec<String>,
    /// First and last lag, in units of time, that a fit should use.
    pub usable_lags: [f64; 2],
    /// Everything found, the worst first.
    pub findings: Vec<Finding>,
    /// The worst severity.
    pub verdict: Verdict,
}

impl CheckReport {
    /// Order the findings and draw the verdict.
    pub(super) fn conclude(mut self) -> Self {
        self.findings.sort_by_key(|f| std::cmp::Reverse(f.severity));
        self.verdict = Verdict::of(&self.findings);
        self
    }
}
