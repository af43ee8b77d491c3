//! Wrapped angles: steps of a full range between neighbouring samples.

use std::f64::consts::{PI, TAU};
use std::ops::Range;

use super::samples::Law;
use crate::check::report::Angle;

/// Steps across the seam that must be seen.
const WRAPS: usize = 5;
/// Steps up to this fraction of the range are short, and most must be.
const SHORT: f64 = 0.25;
/// Parts of the range that must all have samples.
const PARTS: usize = 12;
/// Periods that an angle or a time of day is likely to have.
const PERIODS: [f64; 8] = [TAU, PI, 360.0, 180.0, 1.0, 2.0, 24.0, 12.0];

/// Of steps that are not all short, the fraction that must be near, and parts of the range next to the seam
/// whose steps are looked at.
const NEAR: f64 = 0.6;
const SEAM: f64 = 0.1;
/// The fraction of the steps from there that must be near, and of these that must cross the seam.
const NEAR_SEAM: f64 = 0.45;
const CROSSING: f64 = 0.2;

/// The period, and the number of steps across the seam, where samples fill all of the range and steps are short or
/// nearly the whole range.
///
/// A step Δ across the seam is R − |Δ| short of the range R: like a step within the range. Steps in between must be
/// much rarer; or, where sampling is too coarse for that, R must be a usual period, most steps be near the shorter way
/// round, and those from either side of the seam cross it as those of a circle do.
pub(super) fn find(law: &Law, stretches: &[Range<usize>]) -> Option<(Angle, usize)> {
    let (low, range, n) = (law.sorted[0], law.range(), law.values.len());
    let steps = Steps::count(law, stretches);
    let mut filled = [0usize; PARTS];
    for x in law.values {
        filled[(((x - low) / range * PARTS as f64) as usize).min(PARTS - 1)] += 1;
    }
    let full = filled.iter().all(|count| *count * 1000 >= n);
    // The largest of n uniform values is about 1/n short of the end on either side.
    let known = PERIODS
        .into_iter()
        .find(|p| *p >= range && p - range < 0.02 * p);
    if !(full && (steps.are_short() || known.is_some() && steps.go_round())) {
        return None;
    }
    let period = known.unwrap_or(range * (1.0 + 2.0 / n as f64));
    let start = if low >= 0.0 && low < 0.02 * period {
        0.0
    } else {
        -0.5 * period
    };
    let low = if (low - start).abs() < 0.02 * period {
        start
    } else {
        low
    };
    Some((Angle { low, period }, steps.wraps))
}

/// Numbers of steps between neighbouring samples, by their length as a fraction of the range.
#[derive(Default)]
struct Steps {
    short: usize,
    between: usize,
    /// Nearly the whole range.
    wraps: usize,
    /// From next to the seam: all, those that are near the shorter way round, and those of them that cross it.
    from_seam: [usize; 3],
}

impl Steps {
    fn count(law: &Law, stretches: &[Range<usize>]) -> Self {
        let (low, range) = (law.sorted[0], law.range());
        let mut steps = Self::default();
        let pairs = stretches
            .iter()
            .flat_map(|s| law.values[s.clone()].windows(2));
        for step in pairs {
            let part = (step[1] - step[0]).abs() / range;
            let (short, wraps) = (part < SHORT, part > 1.0 - SHORT);
            steps.short += usize::from(short);
            steps.wraps += usize::from(wraps);
            steps.between += usize::from(!short && !wraps);
            let place = (step[0] - low) / range;
            if !(SEAM..=1.0 - SEAM).contains(&place) {
                let [all, near, across] = &mut steps.from_seam;
                *all += 1;
                *near += usize::from(short || wraps);
                *across += usize::from(wraps);
            }
        }
        steps
    }

    fn are_short(&self) -> bool {
        let all = self.short + self.between + self.wraps;
        self.wraps >= WRAPS && 10 * self.between <= self.wraps && 2 * self.short >= all
    }

    fn go_round(&self) -> bool {
        let all = (self.short + self.between + self.wraps) as f64;
        let [from_seam, near, across] = self.from_seam.map(|count| count as f64);
        let near_everywhere = (self.short + self.wraps) as f64 / all;
        self.wraps >= 10 * WRAPS
            && near_everywhere > NEAR
            && near > NEAR_SEAM * from_seam
            && across > CROSSING * near
    }
}
