//! Ranges of numbers that users give.

use crate::error::{Error, Result};

/// The numbers that an option takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Range {
    least: f64,
    /// The least number is not one of them.
    open: bool,
    most: f64,
    /// Neither is the largest.
    below: bool,
    whole: bool,
}

impl Range {
    /// Whole numbers from `least` to `most`.
    pub(crate) const fn whole(least: u64, most: u64) -> Self {
        Self {
            whole: true,
            ..Self::closed(least as f64, most as f64)
        }
    }

    /// least <= x <= most.
    pub(crate) const fn closed(least: f64, most: f64) -> Self {
        Self {
            least,
            open: false,
            most,
            below: false,
            whole: false,
        }
    }

    /// least < x <= most.
    pub(crate) const fn above(least: f64, most: f64) -> Self {
        Self {
            open: true,
            ..Self::closed(least, most)
        }
    }

    /// least < x < most.
    pub(crate) const fn inside(least: f64, most: f64) -> Self {
        Self {
            below: true,
            ..Self::above(least, most)
        }
    }

    /// least <= x < most.
    pub(crate) const fn from(least: f64, most: f64) -> Self {
        Self {
            below: true,
            ..Self::closed(least, most)
        }
    }

    /// The range in a few characters, such as `number > 0, < 1`.
    pub(crate) fn brief(self) -> String {
        /// Bounds that stand for any number of reasonable size.
        const ANY: f64 = 1e100;
        let mut words = vec![if self.whole { "whole number" } else { "number" }.to_owned()];
        let mut bounds = Vec::new();
        if self.least > -ANY {
            let sign = if self.open { ">" } else { ">=" };
            bounds.push(format!("{sign} {}", shown(self.least)));
        }
        if self.most < ANY && !(self.whole && self.most >= 1e9) {
            let sign = if self.below { "<" } else { "<=" };
            bounds.push(format!("{sign} {}", shown(self.most)));
        }
        words.extend((!bounds.is_empty()).then(|| bounds.join(", ")));
        words.join(" ")
    }

    pub(crate) fn contains(self, value: f64) -> bool {
        let above = if self.open {
            value > self.least
        } else {
            value >= self.least
        };
        let below = if self.below {
            value < self.most
        } else {
            value <= self.most
        };
        above && below && !(self.whole && value.fract() != 0.0)
    }

    /// Refuses a number outside the range.
    ///
    /// # Errors
    /// When it is outside or no number; the message has the key and the range.
    pub(crate) fn check(self, key: &str, value: f64) -> Result<()> {
        match self.contains(value) {
            true => Ok(()),
            false => Err(Error::input(format!(
                "{key} = {} is out of range; give {self}",
                shown(value)
            ))),
        }
    }
}

/// A number with an exponent where it is very large or small.
fn shown(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        size if (1e-3..1e7).contains(&size) => format!("{value}"),
        _ => format!("{value:e}"),
    }
}

impl std::fmt::Display for Range {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let noun = if self.whole {
            "a whole number"
        } else {
            "a number"
        };
        let least = shown(self.least);
        match self.open {
            true => write!(f, "{noun} above {least} and ")?,
            false => write!(f, "{noun} from {least} ")?,
        }
        match (self.open, self.below) {
            (true, true) => write!(f, "below {}", shown(self.most)),
            (true, false) => write!(f, "at most {}", shown(self.most)),
            (false, true) => write!(f, "up to, but not including, {}", shown(self.most)),
            (false, false) => write!(f, "to {}", shown(self.most)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_belong_to_a_range_or_not() {
        assert!(Range::closed(0.0, 1.0).contains(0.0) && Range::closed(0.0, 1.0).contains(1.0));
        assert!(!Range::above(0.0, 1.0).contains(0.0) && Range::above(0.0, 1.0).contains(1.0));
        assert!(!Range::inside(0.0, 1.0).contains(1.0) && Range::inside(0.0, 1.0).contains(0.5));
        assert!(Range::from(0.0, 1.0).contains(0.0) && !Range::from(0.0, 1.0).contains(1.0));
        assert!(Range::whole(1, 3).contains(3.0) && !Range::whole(1, 3).contains(2.5));
        for range in [Range::closed(0.0, 1.0), Range::above(0.0, f64::MAX)] {
            assert!(!range.contains(f64::NAN) && !range.contains(f64::INFINITY));
        }
    }

    #[test]
    fn a_refusal_has_the_key_and_the_range() {
        let message = Range::above(0.0, 1e12)
            .check("simulate.dt", -1.0)
            .unwrap_err()
            .to_string();
        assert_eq!(
            message,
            "simulate.dt = -1 is out of range; give a number above 0 and at most 1e12"
        );
        let message = Range::whole(2, 1000)
            .check("mobility.folds", 0.0)
            .unwrap_err()
            .to_string();
        assert_eq!(
            message,
            "mobility.folds = 0 is out of range; give a whole number from 2 to 1000"
        );
    }
}
