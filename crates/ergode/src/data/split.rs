//! Samples kept apart for a test.

use super::ensemble::Ensemble;
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
                "a held-out fraction of {fraction} is not possible; give one between 0 and 1"
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
        for trajectory in self.trajectories() {
            let rows = trajectory.len();
            let cut = ((rows as f64) * (1.0 - fraction)).round() as usize;
            if cut == 0 || cut == rows {
                continue;
            }
            let resumed = trajectory.time(cut - 1) + gap;
            let start = (cut..rows).find(|&i| trajectory.time(i) > resumed);
            kept.push(trajectory.slice(0..cut, 1));
            held.extend(start.map(|start| trajectory.slice(start..rows, 1)));
        }
        if kept.is_empty() || held.is_empty() {
            return Err(Error::input(format!(
                "the record is too short to hold out {fraction} of it; give a longer record"
            )));
        }
        Ok((self.rebuilt(kept)?, self.rebuilt(held)?))
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
}
