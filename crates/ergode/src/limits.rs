//! Sizes beyond which something is not done, one name for each.

/// With more coordinates, a mobility that varies has more coefficients than data determine.
pub(crate) const VARYING_MOBILITY: usize = 14;

/// With more coordinates, measurement noise is not taken out of a fit.
pub(crate) const MEASUREMENT_NOISE: usize = 6;

/// With more coordinates, kicks of all of them take too long.
pub(crate) const KICKS: usize = 12;

/// Coordinates of a state with delays.
pub(crate) const DELAYED_STATE: usize = 6;

/// Coordinates of a record; more are rows and columns exchanged, or too many for any estimate.
pub(crate) const RECORD: usize = 10_000;

/// With more coordinates, only one of the two forms is fitted: drift and diffusion, or the mobility.
pub(crate) const TWO_FORMS: usize = 6;

/// With more coordinates, charts are not looked for.
pub(crate) const CHARTS: usize = 3;

/// Functions in a Galerkin space; the cost grows with the cube.
pub(crate) const FUNCTIONS: usize = 130;

/// The same where some coordinates are angles.
pub(crate) const FUNCTIONS_WITH_WAVES: usize = 64;

/// Multiplications that the averages of a long record may take, about a minute on two cores; beyond, every so many
/// samples begin a pair.
pub(crate) const WORK_OF_AVERAGES: f64 = 4e11;
/// Coordinates up to which the drift is taken from M and moments; with more, from M and the score.
pub(crate) const DRIFT_FROM_MOMENTS: usize = 4;
