//! Options of the space of a state.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// Where a coordinate lives, as far as a user says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DomainChoice {
    /// What the check of the record sees.
    #[default]
    Auto,
    /// All real numbers.
    Line,
    /// Numbers above a wall.
    Above(f64),
    /// Numbers below a wall.
    Below(f64),
    /// Numbers between two walls.
    Interval([f64; 2]),
    /// Angles of this period.
    Circle(f64),
}

/// Where coordinates live, by name; coordinates without an entry are "auto".
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SpaceConfig {
    /// By the name of a coordinate.
    pub coordinates: BTreeMap<String, DomainChoice>,
}

impl SpaceConfig {
    /// The choice for a coordinate.
    pub fn of(&self, name: &str) -> DomainChoice {
        self.coordinates.get(name).copied().unwrap_or_default()
    }

    /// Checks every entry by itself.
    ///
    /// # Errors
    /// When a wall or a period is not finite, a period is not positive, or an interval is empty.
    pub fn check(&self) -> Result<()> {
        for (name, choice) in &self.coordinates {
            let fault = match choice {
                DomainChoice::Auto | DomainChoice::Line => None,
                DomainChoice::Above(wall) | DomainChoice::Below(wall) => {
                    (!wall.is_finite()).then_some("a wall must be a finite number")
                }
                DomainChoice::Interval([low, high]) => (!(low.is_finite() && high.is_finite())
                    || low >= high)
                    .then_some("an interval needs two finite numbers, the smaller first"),
                DomainChoice::Circle(period) => (!period.is_finite() || *period <= 0.0)
                    .then_some("a period must be a positive number"),
            };
            if let Some(fault) = fault {
                return Err(Error::input(format!("space.{name}: {fault}")));
            }
        }
        Ok(())
    }

    /// Refuses entries for coordinates that the record does not have.
    ///
    /// # Errors
    /// When an entry names no coordinate.
    pub fn match_names(&self, names: &[String]) -> Result<()> {
        match self.coordinates.keys().find(|key| !names.contains(key)) {
            None => Ok(()),
            Some(unknown) => Err(Error::input(format!(
                "space.{unknown}: the record has no coordinate '{unknown}'; it has {}",
                names.join(", ")
            ))),
        }
    }
}
