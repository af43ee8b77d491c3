//! Numbers of coordinates beyond which something is not done, one name for each.

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
