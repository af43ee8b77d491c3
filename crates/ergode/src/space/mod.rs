//! Where the coordinates of a state live: lines, half-lines, intervals, circles.

mod chart;
mod config;

pub use chart::{Chart, ScoreCurve};
pub use config::{DomainChoice, SpaceConfig};

use serde::{Deserialize, Serialize};

use crate::data::{Circle, Ensemble};
use crate::error::{Error, Result};
use crate::simd::Real;

/// Where a coordinate lives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Domain {
    /// All real numbers.
    #[default]
    Line,
    /// Numbers above a wall.
    Above(f64),
    /// Numbers below a wall.
    Below(f64),
    /// Numbers between two walls.
    Interval([f64; 2]),
    /// Angles [low, low + period), the ends joined.
    Circle {
        /// Where the period begins.
        low: f64,
        /// Length of the period.
        period: f64,
    },
}

impl Domain {
    /// The walls, where there are any.
    pub fn walls(self) -> [Option<f64>; 2] {
        match self {
            Self::Line | Self::Circle { .. } => [None, None],
            Self::Above(low) => [Some(low), None],
            Self::Below(high) => [None, Some(high)],
            Self::Interval([low, high]) => [Some(low), Some(high)],
        }
    }

    /// The period of a circle.
    pub fn period(self) -> Option<f64> {
        match self {
            Self::Circle { period, .. } => Some(period),
            _ => None,
        }
    }

    /// True where walls leave room for a value; an angle may have any value.
    pub fn contains(self, value: f64) -> bool {
        let [low, high] = self.walls();
        low.is_none_or(|low| value >= low) && high.is_none_or(|high| value <= high)
    }

    /// The place of a value that left the domain: wrapped on a circle, reflected at a wall.
    pub fn fold(self, value: f64) -> f64 {
        match self {
            Self::Line => value,
            Self::Above(low) => low + (value - low).abs(),
            Self::Below(high) => high - (high - value).abs(),
            Self::Interval([low, high]) => {
                if value >= low && value <= high {
                    return value;
                }
                let width = high - low;
                let part = (value - low).rem_euclid(2.0 * width);
                low + if part > width {
                    2.0 * width - part
                } else {
                    part
                }
            }
            Self::Circle { low, period } => Circle { low, period }.wrap(value),
        }
    }

    /// The least and the largest value that [`Domain::fold`] leaves alone.
    fn range(self) -> [f64; 2] {
        let [low, high] = match self {
            Self::Circle { low, period } => [Some(low), Some((low + period).next_down())],
            _ => self.walls(),
        };
        [
            low.unwrap_or(f64::NEG_INFINITY),
            high.unwrap_or(f64::INFINITY),
        ]
    }

    /// The shortest way from one value to another.
    pub fn step(self, from: f64, to: f64) -> f64 {
        match self {
            Self::Circle { low, period } => Circle { low, period }.step(from, to),
            _ => to - from,
        }
    }

    /// What the domain is, in words.
    pub fn describe(self) -> String {
        match self {
            Self::Line => "line".into(),
            Self::Above(low) => format!("above {low}"),
            Self::Below(high) => format!("below {high}"),
            Self::Interval([low, high]) => {
                format!("interval from {low} to {high}")
            }
            Self::Circle { period, .. } => format!("circle of period {period}"),
        }
    }
}

/// Where the coordinates of a state live, one domain each.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Space {
    /// One for each coordinate.
    pub domains: Vec<Domain>,
}

impl Space {
    /// All real vectors.
    pub fn lines(dim: usize) -> Self {
        Self {
            domains: vec![Domain::Line; dim],
        }
    }

    /// True where every coordinate is any real number.
    pub fn is_plain(&self) -> bool {
        self.domains.iter().all(|domain| *domain == Domain::Line)
    }

    /// True where a coordinate is an angle.
    pub fn has_circles(&self) -> bool {
        self.domains.iter().any(|domain| domain.period().is_some())
    }

    /// True where a coordinate has a wall.
    pub fn has_walls(&self) -> bool {
        self.domains
            .iter()
            .any(|domain| domain.walls().iter().any(Option::is_some))
    }

    /// The space, unless every coordinate is any real number: simulations then have nothing to put back.
    pub(crate) fn bounded(&self) -> Option<&Self> {
        (!self.is_plain()).then_some(self)
    }

    /// Puts the states of those lanes that left the space back into it, one number per coordinate.
    #[inline(always)]
    pub(crate) fn fold_lanes<T: Real>(&self, x: &mut [T]) {
        for (value, domain) in x.iter_mut().zip(&self.domains) {
            let [low, high] = domain.range();
            if *domain != Domain::Line && value.within(low, high).smallest() <= 0.0 {
                Self::fold_one(*domain, value);
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn fold_one<T: Real>(domain: Domain, value: &mut T) {
        T::each_lane(std::slice::from_mut(value), |value| {
            value[0] = domain.fold(value[0]);
        });
    }

    /// Puts states that left the space back into it, coordinate-major, (D, n).
    pub fn fold(&self, states: &mut [f64]) {
        let n = states.len() / self.domains.len().max(1);
        if n == 0 {
            return;
        }
        for (row, domain) in states.chunks_exact_mut(n).zip(&self.domains) {
            if *domain != Domain::Line {
                row.iter_mut()
                    .for_each(|value| *value = domain.fold(*value));
            }
        }
    }

    /// The record with its angles wrapped.
    ///
    /// # Errors
    /// When a value lies beyond a wall; the message names its row.
    pub fn admit(&self, record: &Ensemble) -> Result<Ensemble> {
        if self.is_plain() {
            return Ok(record.clone());
        }
        let walls = self.domains.iter().map(|domain| domain.walls()).collect();
        let record = &record.clone().with_walls(walls);
        for (k, trajectory) in record.trajectories().iter().enumerate() {
            let mut row = vec![0.0; record.dim()];
            for i in (0..trajectory.len()).filter(|_| self.has_walls()) {
                trajectory.row(i, &mut row);
                let beyond =
                    |(value, domain): (&f64, &Domain)| !value.is_nan() && !domain.contains(*value);
                if let Some(c) = row.iter().zip(&self.domains).position(beyond) {
                    let name = &record.names()[c];
                    return Err(Error::input(format!(
                        "trajectory {k}, row {i} (counted from 0): '{name}' is {}, but space.{name} says {}; \
                         correct the row, or space.{name}",
                        row[c],
                        self.domains[c].describe()
                    )));
                }
            }
        }
        record.with_circles(&self.circles())
    }

    /// The circles among the domains, coordinate by coordinate.
    fn circles(&self) -> Vec<Option<Circle>> {
        let circle = |domain: &Domain| match *domain {
            Domain::Circle { low, period } => Some(Circle { low, period }),
            _ => None,
        };
        self.domains.iter().map(circle).collect()
    }

    /// Simulated states of this space, with its angles wrapped.
    ///
    /// # Errors
    /// When the states are in a file that cannot be read any more.
    pub(crate) fn wrap(&self, states: Ensemble) -> Result<Ensemble> {
        match self.has_circles() {
            true => states.with_circles(&self.circles()),
            false => Ok(states),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_left_come_back() {
        let circle = Domain::Circle {
            low: -1.0,
            period: 2.0,
        };
        let cases = [
            (Domain::Line, 7.0, 7.0),
            (Domain::Above(1.0), 0.75, 1.25),
            (Domain::Below(1.0), 1.25, 0.75),
            (Domain::Interval([0.0, 1.0]), 1.25, 0.75),
            (Domain::Interval([0.0, 1.0]), -2.25, 0.25),
            (circle, 1.0, -1.0),
            (circle, 4.5, 0.5),
            (circle, -1.0 - 1e-17, -1.0),
        ];
        for (domain, value, expected) in cases {
            assert_eq!(domain.fold(value), expected, "{domain:?} {value}");
        }
        assert_eq!(circle.step(0.9, -0.9), 0.19999999999999996);
        assert_eq!(Domain::Line.step(0.75, -0.75), -1.5);
    }

    #[test]
    fn a_record_beyond_a_wall_is_refused_with_the_row() {
        let rows = ndarray::array![[0.1], [0.4], [1.5]];
        let record = Ensemble::from_array(rows, 1.0).unwrap();
        let space = Space {
            domains: vec![Domain::Interval([0.0, 1.0])],
        };
        let message = space.admit(&record).unwrap_err().to_string();
        assert!(message.contains("row 2"), "{message}");
        assert!(message.contains("interval from 0 to 1"), "{message}");
        let space = Space {
            domains: vec![Domain::Circle {
                low: 0.0,
                period: 1.0,
            }],
        };
        let wrapped = space.admit(&record).unwrap();
        let mut row = [0.0];
        wrapped.trajectories()[0].row(2, &mut row);
        assert_eq!(row, [0.5]);
    }
}
