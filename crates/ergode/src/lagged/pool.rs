//! Random draws of samples and of lagged pairs, for training by stochastic gradients.

use super::blocks::{Blocking, Stretch};
use super::grid::LagGrid;
use crate::data::{Ensemble, Trajectory};
use crate::error::{Error, Result};
use crate::random::Stream;

/// Samples that may be drawn at random, each with the same probability.
#[derive(Clone, Debug)]
pub(crate) struct Pool<'a> {
    ensemble: &'a Ensemble,
    stretches: Vec<Stretch>,
    /// Samples in all stretches up to and with this one.
    ends: Vec<u64>,
}

/// A sample and one that follows it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pair<'a> {
    pub(crate) trajectory: &'a Trajectory,
    pub(crate) initial: usize,
    pub(crate) future: usize,
    /// The time between the two.
    pub(crate) lag: f64,
}

/// The stretches of which some are held out: ten per trajectory, fewer if there are many trajectories.
pub(crate) fn stretches(ensemble: &Ensemble) -> Blocking {
    Blocking::PerTrajectory((720 / ensemble.len().max(1)).clamp(1, 10))
}

/// Draws without a partner after which a lag grid is taken not to fit the record.
const PATIENCE: usize = 100_000;

impl<'a> Pool<'a> {
    /// The samples to learn from and those held out: whole stretches, so that a held-out sample is
    /// mostly far in time from those that are learned from.
    pub(crate) fn split(ensemble: &'a Ensemble, held_out: f64) -> Result<(Self, Self)> {
        let blocks = stretches(ensemble).plan(ensemble, 0);
        let held_out = held_out_stretches(blocks.len(), held_out)?;
        let (mut training, mut testing) = (Self::empty(ensemble), Self::empty(ensemble));
        for (block, held_out) in blocks.into_iter().zip(held_out) {
            let pool = if held_out {
                &mut testing
            } else {
                &mut training
            };
            block.starts.into_iter().for_each(|start| pool.push(start));
        }
        if training.is_empty() || testing.is_empty() {
            return Err(Error::input(
                "the record is too short to hold out data; give a longer record",
            ));
        }
        Ok((training, testing))
    }

    fn empty(ensemble: &'a Ensemble) -> Self {
        Self {
            ensemble,
            stretches: Vec::new(),
            ends: Vec::new(),
        }
    }

    fn push(&mut self, stretch: Stretch) {
        let before = self.ends.last().copied().unwrap_or(0);
        self.ends.push(before + stretch.rows.len() as u64);
        self.stretches.push(stretch);
    }

    fn is_empty(&self) -> bool {
        self.ends.last().copied().unwrap_or(0) == 0
    }

    /// A sample: its stretch and row.
    fn draw(&self, stream: &mut Stream) -> (&Stretch, usize) {
        let total = self.ends[self.ends.len() - 1];
        let pick = stream.below(total);
        let k = self.ends.partition_point(|&end| end <= pick);
        let stretch = &self.stretches[k];
        let before = self.ends[k] - stretch.rows.len() as u64;
        (stretch, stretch.rows.start + (pick - before) as usize)
    }

    /// Copy a sample drawn at random.
    pub(crate) fn sample(&self, stream: &mut Stream, x: &mut [f64]) {
        let (stretch, row) = self.draw(stream);
        self.ensemble.trajectories()[stretch.trajectory].row(row, x);
    }

    /// A pair whose lag is drawn from those of `grid` with equal probability; in an uneven record the
    /// pair has the lag of its own two samples, within the window that was drawn.
    pub(crate) fn pair(&self, grid: &LagGrid, stream: &mut Stream) -> Result<Pair<'a>> {
        let lag = stream.below(grid.len() as u64) as usize;
        for _ in 0..PATIENCE {
            let (stretch, initial) = self.draw(stream);
            let trajectory = &self.ensemble.trajectories()[stretch.trajectory];
            if let Some(future) = self.partner(grid, stretch, initial, lag, stream) {
                return Ok(Pair {
                    trajectory,
                    initial,
                    future,
                    lag: trajectory.time(future) - trajectory.time(initial),
                });
            }
        }
        Err(without_pairs(grid, lag))
    }

    /// A sample with a partner at every lag of `grid`: its trajectory, its row, and theirs.
    pub(crate) fn fan(
        &self,
        grid: &LagGrid,
        stream: &mut Stream,
        futures: &mut Vec<usize>,
    ) -> Result<(&'a Trajectory, usize)> {
        for _ in 0..PATIENCE {
            let (stretch, initial) = self.draw(stream);
            futures.clear();
            // The longest lag is the one that is most often missing.
            for lag in (0..grid.len()).rev() {
                let Some(future) = self.partner(grid, stretch, initial, lag, stream) else {
                    break;
                };
                futures.push(future);
            }
            if futures.len() == grid.len() {
                futures.reverse();
                return Ok((&self.ensemble.trajectories()[stretch.trajectory], initial));
            }
        }
        Err(without_pairs(grid, grid.len() - 1))
    }

    /// One of the rows at this lag from a sample, if there is any.
    fn partner(
        &self,
        grid: &LagGrid,
        stretch: &Stretch,
        initial: usize,
        lag: usize,
        stream: &mut Stream,
    ) -> Option<usize> {
        let trajectory = &self.ensemble.trajectories()[stretch.trajectory];
        let partners = grid.partners(trajectory, &stretch.segment, initial, lag);
        let pick = || partners.start + stream.below(partners.len() as u64) as usize;
        (!partners.is_empty()).then(pick)
    }
}

/// Which of so many consecutive stretches are held out: spread evenly, over trajectories too.
pub(crate) fn held_out_stretches(stretches: usize, fraction: f64) -> Result<Vec<bool>> {
    if !(fraction > 0.0 && fraction <= 0.5) {
        return Err(Error::input(format!(
            "the held-out fraction must be above 0 and at most 0.5, not {fraction}"
        )));
    }
    let mut owed = 0.5;
    let held_out = (0..stretches).map(|_| {
        owed += fraction;
        let due = owed >= 1.0;
        owed -= f64::from(u8::from(due));
        due
    });
    Ok(held_out.collect())
}

fn without_pairs(grid: &LagGrid, lag: usize) -> Error {
    Error::input(format!(
        "almost no pair of samples is {} apart; choose lags that occur in the record",
        grid.lags()[lag]
    ))
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::*;
    use crate::random::Purpose;

    fn ramp(rows: usize) -> Ensemble {
        Ensemble::from_array(Array2::from_shape_fn((rows, 1), |(i, _)| i as f64), 0.5).unwrap()
    }

    #[test]
    fn parts_are_disjoint_and_complete() {
        let ensemble = ramp(1000);
        let (training, testing) = Pool::split(&ensemble, 0.2).unwrap();
        let mut seen = [0; 1000];
        for pool in [&training, &testing] {
            for stretch in &pool.stretches {
                for row in stretch.rows.clone() {
                    seen[row] += 1;
                }
            }
        }
        assert_eq!(seen, [1; 1000]);
        assert_eq!(testing.ends.last(), Some(&200));
    }

    #[test]
    fn draws_are_uniform_and_pairs_have_their_lag() {
        let ensemble = ramp(100);
        let (training, _) = Pool::split(&ensemble, 0.1).unwrap();
        let grid = LagGrid::even(0.5, vec![1, 4]).unwrap();
        let mut stream = Stream::new(3, Purpose::Analysis, 0);
        let (mut counts, mut x) = ([0.0; 100], [0.0]);
        let mut long = 0;
        for _ in 0..90_000 {
            training.sample(&mut stream, &mut x);
            counts[x[0] as usize] += 1.0;
            let pair = training.pair(&grid, &mut stream).unwrap();
            assert_eq!(pair.lag, 0.5 * (pair.future - pair.initial) as f64);
            long += usize::from(pair.lag == 2.0);
        }
        let drawn: Vec<f64> = counts.into_iter().filter(|c| *c > 0.0).collect();
        assert_eq!(drawn.len(), 90);
        let chi2: f64 = drawn.iter().map(|c| (c - 1000.0).powi(2) / 1000.0).sum();
        assert!((chi2 - 89.0).abs() < 5.1 * (2.0f64 * 89.0).sqrt(), "{chi2}");
        assert!((long as f64 - 45_000.0).abs() < 5.1 * 150.0, "{long}");
    }

    #[test]
    fn a_lag_that_never_occurs_is_refused() {
        let ensemble = ramp(20);
        let (training, _) = Pool::split(&ensemble, 0.1).unwrap();
        let grid = LagGrid::even(0.5, vec![40]).unwrap();
        let mut stream = Stream::new(3, Purpose::Analysis, 0);
        assert!(
            training
                .pair(&grid, &mut stream)
                .unwrap_err()
                .is_bad_input()
        );
    }
}
