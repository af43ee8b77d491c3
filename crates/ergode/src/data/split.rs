//! Samples kept apart for a test, and parts that stand for a long record.

use std::borrow::Cow;
use std::ops::Range;

use super::ensemble::Ensemble;
use super::scan::Segment;
use super::trajectory::Trajectory;
use crate::error::{Error, Result};

/// Trajectories with more than this share of all samples are cut, and their ends held out.
const LONG: f64 = 0.125;

/// Every so many rows of one trajectory: its index, the rows, every how many.
pub(crate) type Cut = (usize, Range<usize>, usize);

/// Samples of one trajectory, and where it is cut.
struct Part {
    trajectory: usize,
    /// Number of samples.
    samples: usize,
    /// Rows kept for the fit and rows held out, where it is cut.
    cut: Option<(Range<usize>, Range<usize>)>,
}

impl Ensemble {
    /// The data in two: for a fit, and about `fraction` of their samples held out for its test. Values are
    /// shared.
    ///
    /// Of trajectories with more than an eighth of all samples the end is held out, and `gap`, a time after
    /// which samples are independent, is left out in between. Of the others, and of those whose end would be
    /// lost in the gap, the last ones are held out whole.
    ///
    /// # Errors
    /// When the fraction is not between 0 and 1, or a part would be empty.
    pub fn split(&self, fraction: f64, gap: f64) -> Result<(Self, Self)> {
        let [kept, held] = self.split_rows(fraction, gap)?;
        Ok((self.cut(&kept)?, self.cut(&held)?))
    }

    /// The rows of either part of [`Ensemble::split`].
    pub(crate) fn split_rows(&self, fraction: f64, gap: f64) -> Result<[Vec<Cut>; 2]> {
        if !(fraction > 0.0 && fraction < 1.0) {
            return Err(Error::input(format!(
                "a held-out fraction of {fraction} is out of range; give a fraction between 0 and 1"
            )));
        }
        let parts = self.parts(fraction, gap);
        let (mut kept, mut held) = (Vec::new(), Vec::new());
        let mut whole = held_whole(&parts, fraction).into_iter();
        for part in &parts {
            let k = part.trajectory;
            match &part.cut {
                Some((before, after)) => {
                    kept.push((k, before.clone(), 1));
                    held.push((k, after.clone(), 1));
                }
                None => {
                    let place = match whole.next() {
                        Some(true) => &mut held,
                        _ => &mut kept,
                    };
                    place.push((k, 0..self.trajectories()[k].len(), 1));
                }
            }
        }
        if kept.is_empty() || held.is_empty() {
            return Err(Error::input(format!(
                "the record is too short to hold out a fraction of {fraction}; give a longer record"
            )));
        }
        Ok([kept, held])
    }

    /// The trajectories that have samples, the long ones cut.
    fn parts(&self, fraction: f64, gap: f64) -> Vec<Part> {
        let all = self.samples() as f64;
        let segments = self.segments();
        let trajectories = segments.chunk_by(|a, b| a.trajectory == b.trajectory);
        let part = |segments: &[Segment]| {
            let samples: usize = segments.iter().map(|s| s.rows.len()).sum();
            let long = samples as f64 > LONG * all;
            Part {
                trajectory: segments[0].trajectory,
                samples,
                cut: long
                    .then(|| self.ends(segments, samples, fraction, gap))
                    .flatten(),
            }
        };
        trajectories.map(part).collect()
    }

    /// Rows before and after the cut of a trajectory; none where the gap would take more than half of what is
    /// to be held out.
    fn ends(
        &self,
        segments: &[Segment],
        samples: usize,
        fraction: f64,
        gap: f64,
    ) -> Option<(Range<usize>, Range<usize>)> {
        let trajectory = &self.trajectories()[segments[0].trajectory];
        let kept = (samples as f64 * (1.0 - fraction)).round() as usize;
        let mut left = kept;
        let within = segments.iter().find_map(|segment| {
            let rows = segment.rows.len();
            let end = (left <= rows).then(|| segment.rows.start + left);
            left = left.saturating_sub(rows);
            end
        });
        let cut = within.filter(|_| (1..samples).contains(&kept))?;
        let resumed = trajectory.time(cut - 1) + gap;
        let rows = trajectory.len();
        let start = (cut..rows).find(|&i| trajectory.time(i) > resumed)?;
        let held: usize = segments
            .iter()
            .map(|segment| {
                segment
                    .rows
                    .end
                    .saturating_sub(segment.rows.start.max(start))
            })
            .sum();
        let alone = self.len() == 1;
        let enough = held > 0 && (alone || held as f64 >= 0.5 * fraction * samples as f64);
        enough.then_some((0..cut, start..rows))
    }
}

/// Which of the trajectories that are not cut are held out: from the last one on, each that brings the number
/// of samples held out closer to its share; at least one and not all where none is cut.
fn held_whole(parts: &[Part], fraction: f64) -> Vec<bool> {
    let whole: Vec<usize> = parts
        .iter()
        .filter(|part| part.cut.is_none())
        .map(|part| part.samples)
        .collect();
    let target = fraction * whole.iter().sum::<usize>() as f64;
    let mut held = vec![false; whole.len()];
    let mut sum = 0.0;
    for (held, samples) in held.iter_mut().zip(&whole).rev() {
        let with = sum + *samples as f64;
        if (with - target).abs() <= (sum - target).abs() {
            (*held, sum) = (true, with);
        }
    }
    if whole.len() == parts.len() && whole.len() > 1 {
        let off = |k: &usize| (whole[*k] as f64 - target).abs();
        let nearest =
            |among: &mut dyn Iterator<Item = usize>| among.min_by(|a, b| off(a).total_cmp(&off(b)));
        if !held.contains(&true) {
            let best = nearest(&mut (0..whole.len()).rev());
            best.into_iter().for_each(|k| held[k] = true);
        } else if !held.contains(&false) {
            held[0] = false;
        }
    }
    held
}

impl Ensemble {
    /// About `most` rows, in evenly spaced stretches of equal length, each a separate trajectory. A record
    /// with no more rows is returned unchanged. Values are shared.
    ///
    /// For statistics that a part of a long record determines as well as the whole. There are 64 stretches,
    /// more if trajectories are shorter.
    ///
    /// # Errors
    /// When only gaps would be left.
    pub(crate) fn excerpt(&self, most: usize) -> Result<Cow<'_, Self>> {
        Ok(match self.excerpt_rows(most) {
            None => Cow::Borrowed(self),
            Some(pieces) => Cow::Owned(self.cut(&pieces)?),
        })
    }

    /// The rows of [`Ensemble::excerpt`]; none where it is the whole record.
    pub(crate) fn excerpt_rows(&self, most: usize) -> Option<Vec<Cut>> {
        const STRETCHES: usize = 64;
        let lengths = self.trajectories().iter().map(Trajectory::len);
        let total: usize = lengths.clone().sum();
        if total <= most {
            return None;
        }
        let longest = lengths.max().unwrap_or(1);
        let length = (most / STRETCHES).clamp(1, longest);
        let count = most.div_ceil(length);
        let mut pieces: Vec<Cut> = Vec::with_capacity(count);
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
        Some(pieces)
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, Array3};

    use super::*;
    use crate::data::Times;

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

    fn record(lengths: &[usize]) -> Ensemble {
        let one = |(k, length): (usize, &usize)| {
            let values = Array2::from_elem((*length, 1), k as f64);
            Trajectory::new(values, Times::every(1.0))
        };
        Ensemble::new(lengths.iter().enumerate().map(one).collect()).unwrap()
    }

    #[test]
    fn a_quarter_of_the_samples_is_held_out_whatever_the_lengths() {
        let long_and_short: Vec<usize> = std::iter::once(5001).chain([12; 16]).collect();
        let short_and_long: Vec<usize> = [12; 16].into_iter().chain([5001]).collect();
        let growing: Vec<usize> = (1..60).collect();
        for lengths in [
            vec![5001],
            long_and_short,
            short_and_long,
            growing,
            vec![10; 3000],
            vec![700, 50, 400, 30, 20, 900],
            vec![300; 9],
        ] {
            let ensemble = record(&lengths);
            let (fit, test) = ensemble.split(0.25, 3.0).unwrap();
            let share = test.samples() as f64 / ensemble.samples() as f64;
            assert!((0.22..0.28).contains(&share), "{lengths:?}: {share}");
            let rest = 1.0 - fit.samples() as f64 / ensemble.samples() as f64;
            assert!((0.22..0.28).contains(&rest), "{lengths:?}: {rest}");
        }
    }

    #[test]
    fn trajectories_as_short_as_the_gap_are_held_out_whole() {
        let (fit, test) = record(&[20, 20, 20]).split(0.25, 9.0).unwrap();
        assert_eq!((fit.len(), test.len(), test.samples()), (2, 1, 20));
    }

    #[test]
    fn gaps_are_not_samples() {
        let values =
            Array2::from_shape_fn((400, 1), |(i, _)| if i < 200 { i as f64 } else { f64::NAN });
        let (fit, test) = Ensemble::from_array(values, 1.0)
            .unwrap()
            .split(0.25, 3.0)
            .unwrap();
        assert_eq!((fit.samples(), test.samples()), (150, 47));
    }
}
