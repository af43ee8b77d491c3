//! Samples kept apart for a test, and parts that stand for a long record.

use std::borrow::Cow;
use std::ops::Range;

use super::ensemble::Ensemble;
use super::trajectory::Trajectory;
use crate::error::{Error, Result};

/// With this many trajectories or more, whole ones are held out.
const WHOLE: usize = 8;

impl Ensemble {
    /// The data in two: for a fit, and `fraction` of them held out for its test. Values are shared.
    ///
    /// With eight trajectories or more the last ones are held out whole. Of fewer, the end of each is,
    /// and `gap`, a time after which samples are independent, is left out in between.
    ///
    /// # Errors
    /// When the fraction is not between 0 and 1, or a part would be empty.
    pub fn split(&self, fraction: f64, gap: f64) -> Result<(Self, Self)> {
        if !(fraction > 0.0 && fraction < 1.0) {
            return Err(Error::input(format!(
                "a held-out fraction of {fraction} is out of range; give a fraction between 0 and 1"
            )));
        }
        let n = self.len();
        if n >= WHOLE {
            let held = ((n as f64 * fraction).round() as usize).clamp(1, n - 1);
            let indices: Vec<usize> = (0..n).collect();
            return Ok((
                self.select(&indices[..n - held])?,
                self.select(&indices[n - held..])?,
            ));
        }
        let (mut kept, mut held) = (Vec::new(), Vec::new());
        for (k, trajectory) in self.trajectories().iter().enumerate() {
            let rows = trajectory.len();
            let cut = ((rows as f64) * (1.0 - fraction)).round() as usize;
            if cut == 0 || cut == rows {
                continue;
            }
            let resumed = trajectory.time(cut - 1) + gap;
            let start = (cut..rows).find(|&i| trajectory.time(i) > resumed);
            kept.push((k, 0..cut, 1));
            held.extend(start.map(|start| (k, start..rows, 1)));
        }
        if kept.is_empty() || held.is_empty() {
            return Err(Error::input(format!(
                "the record is too short to hold out a fraction of {fraction}; give a longer record"
            )));
        }
        Ok((self.cut(&kept)?, self.cut(&held)?))
    }

    /// About `most` rows, in evenly spaced stretches of equal length, each a separate trajectory. A record
    /// with no more rows is returned unchanged. Values are shared.
    ///
    /// For statistics that a part of a long record determines as well as the whole. There are 64 stretches,
    /// more if trajectories are shorter.
    ///
    /// # Errors
    /// When only gaps would be left.
    pub(crate) fn excerpt(&self, most: usize) -> Result<Cow<'_, Self>> {
        const STRETCHES: usize = 64;
        let lengths = self.trajectories().iter().map(Trajectory::len);
        let total: usize = lengths.clone().sum();
        if total <= most {
            return Ok(Cow::Borrowed(self));
        }
        let longest = lengths.max().unwrap_or(1);
        let length = (most / STRETCHES).clamp(1, longest);
        let count = most.div_ceil(length);
        let mut pieces: Vec<(usize, Range<usize>, usize)> = Vec::with_capacity(count);
        let (mut k, mut before) = (0, 0);
        for piece in 0..count {
            let place = (total as u128 * piece as u128 / count as u128) as usize;
            while before + self.trajectories()[k].len() <= place {
                before += self.trajectories()[k].len();
                k += 1;
            }
            let rows = self.trajectories()[k].len();
            let taken = pieces
                .last()
                .filter(|last| last.0 == k)
                .map_or(0, |last| last.1.end);
            let start = (place - before).min(rows.saturating_sub(length)).max(taken);
            let end = rows.min(start + length);
            if start < end {
                pieces.push((k, start..end, 1));
            }
        }
        Ok(Cow::Owned(self.cut(&pieces)?))
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, Array3};

    use super::*;

    #[test]
    fn no_sample_is_in_both_parts() {
        let one = Ensemble::from_array(Array2::from_shape_fn((100, 1), |(i, _)| i as f64), 0.1);
        let (fit, test) = one.unwrap().split(0.25, 0.5).unwrap();
        assert_eq!(fit.samples(), 75);
        let mut row = [0.0];
        test.trajectories()[0].row(0, &mut row);
        // Rows 75 to 79 lie within the gap.
        assert_eq!((row[0], test.samples()), (80.0, 20));

        let many = Array3::from_shape_fn((12, 5, 1), |(k, _, _)| k as f64).into_shared();
        let (fit, test) = Ensemble::from_array3(many, 1.0)
            .unwrap()
            .split(0.25, 9.0)
            .unwrap();
        assert_eq!((fit.len(), test.len(), test.samples()), (9, 3, 15));
    }

    #[test]
    fn impossible_parts_are_refused() {
        let short = Ensemble::from_array(Array2::from_shape_fn((8, 1), |(i, _)| i as f64), 1.0);
        let short = short.unwrap();
        assert!(short.split(0.0, 0.0).unwrap_err().is_bad_input());
        assert!(short.split(0.25, 5.0).unwrap_err().is_bad_input());
    }

    #[test]
    fn an_excerpt_is_spread_evenly() {
        let first = |e: &Ensemble, k: usize| {
            let mut row = [0.0];
            e.trajectories()[k].row(0, &mut row);
            row[0]
        };
        let long = Ensemble::from_array(Array2::from_shape_fn((64_000, 1), |(i, _)| i as f64), 1.0);
        let long = long.unwrap();
        assert_eq!(long.excerpt(64_000).unwrap().len(), 1);
        let part = long.excerpt(6400).unwrap();
        assert_eq!((part.len(), part.samples()), (64, 6400));
        assert_eq!((first(&part, 1), first(&part, 63)), (1000.0, 63_000.0));
        assert_eq!(part.trajectories()[1].time(0), 1000.0);
        // Short trajectories are taken whole.
        let many = Array3::from_shape_fn((100, 10, 1), |(k, i, _)| (10 * k + i) as f64);
        let many = Ensemble::from_array3(many.into_shared(), 1.0).unwrap();
        let part = many.excerpt(640).unwrap();
        assert_eq!((part.len(), part.samples()), (64, 640));
        assert_eq!((first(&part, 0), first(&part, 32)), (0.0, 500.0));
    }
}
