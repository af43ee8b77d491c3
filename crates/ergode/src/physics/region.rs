//! Sets of states.

use crate::error::{Error, Result};

/// A set of states, in raw coordinates.
pub enum Region<'a> {
    /// All states between two corners; infinite where a coordinate does not matter.
    Box {
        /// Least value of each coordinate.
        low: Vec<f64>,
        /// Largest value of each coordinate.
        high: Vec<f64>,
    },
    /// All states no further from a centre than this, in units of the record.
    Ball {
        /// Its centre.
        centre: Vec<f64>,
        /// Its radius.
        radius: f64,
    },
    /// The states for which a function is true.
    Where(&'a (dyn Fn(&[f64]) -> bool + Sync)),
}

impl Region<'_> {
    /// All states with `low` ≤ x ≤ `high` in one coordinate of several.
    pub fn slab(dim: usize, coordinate: usize, low: f64, high: f64) -> Self {
        let of = |value: f64, other: f64| {
            (0..dim)
                .map(|i| if i == coordinate { value } else { other })
                .collect()
        };
        Self::Box {
            low: of(low, f64::NEG_INFINITY),
            high: of(high, f64::INFINITY),
        }
    }

    /// True where a state belongs to the set.
    pub fn contains(&self, x: &[f64]) -> bool {
        match self {
            Self::Box { low, high } => {
                let bounds = low.iter().zip(high);
                x.iter()
                    .zip(bounds)
                    .all(|(x, (low, high))| low <= x && x <= high)
            }
            Self::Ball { centre, radius } => {
                let square: f64 = x.iter().zip(centre).map(|(x, c)| (x - c).powi(2)).sum();
                square <= radius * radius
            }
            Self::Where(test) => test(x),
        }
    }

    /// The set with its faces moved outwards, by as much in each coordinate; functions stay what they are.
    pub(super) fn widened(&self, by: &[f64]) -> Option<Region<'static>> {
        match self {
            Self::Box { low, high } => Some(Region::Box {
                low: low.iter().zip(by).map(|(x, by)| x - by).collect(),
                high: high.iter().zip(by).map(|(x, by)| x + by).collect(),
            }),
            Self::Ball { centre, radius } => Some(Region::Ball {
                centre: centre.clone(),
                radius: radius + by.iter().fold(0.0, |most: f64, by| most.max(*by)),
            }),
            Self::Where(_) => None,
        }
    }

    /// # Errors
    /// When the set is of another number of coordinates, or empty by its bounds.
    pub(super) fn require(&self, dim: usize, what: &str) -> Result<()> {
        let refused = |found: usize| {
            Err(Error::input(format!(
                "set {what} has {found} coordinates, the model has {dim}; give as many"
            )))
        };
        match self {
            Self::Box { low, .. } if low.len() != dim => refused(low.len()),
            Self::Box { low, high } if low.iter().zip(high).any(|(a, b)| a.is_nan() || a > b) => {
                Err(Error::input(format!(
                    "set {what} is empty: a lower bound is above the upper one; exchange them"
                )))
            }
            Self::Ball { centre, .. } if centre.len() != dim => refused(centre.len()),
            _ => Ok(()),
        }
    }

    /// Finite bounds along an axis, where a grid should have nodes.
    pub(super) fn edges(&self, axis: usize) -> Vec<f64> {
        match self {
            Self::Box { low, high } => [low[axis], high[axis]]
                .into_iter()
                .filter(|edge| edge.is_finite())
                .collect(),
            _ => Vec::new(),
        }
    }
}
