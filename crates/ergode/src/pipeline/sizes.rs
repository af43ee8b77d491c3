//! What a configuration asks for, multiplied out for a record before anything is fitted.

use super::config::FitConfig;
use super::rollout::most_samples;
use crate::data::{Ensemble, Trajectory};
use crate::error::{Error, Result};
use crate::lagged::Blocking;
use crate::memory;

/// More steps of a scheme than this end in days.
const MOST_STEPS: f64 = 1e12;

/// Simulations of a fit: the learned model and its constant closure, each copied once to be observed.
const ROLLOUTS: u64 = 4;

/// Draws of a validation that are made together by a thread, and arrays of them.
const DRAWN: u64 = 64 * 5;

/// Blocks of a record whose blocks are not set, at most, unless it has more trajectories.
const BLOCKS: u64 = 32;

impl FitConfig {
    /// Checks that what the configuration asks for fits into memory and ends, for this record.
    ///
    /// # Errors
    /// When it does not; the message names the option to change.
    pub(super) fn check_sizes(&self, ensemble: &Ensemble) -> Result<()> {
        self.check_simulation(ensemble)?;
        self.check_validation(ensemble)?;
        self.check_score(ensemble)
    }

    fn check_simulation(&self, ensemble: &Ensemble) -> Result<()> {
        let simulate = &self.simulate;
        let dim = ensemble.dim();
        let interval = ensemble.typical_interval()?;
        let total = (ensemble.samples() as f64 * simulate.length).min(most_samples(dim) as f64);
        let each = match simulate.time {
            Some(time) => time / interval + 1.0,
            None => total / simulate.trajectories as f64 + 1.0,
        };
        let factors = [
            ("simulate.trajectories", simulate.trajectories as u64),
            ("samples of each", each.ceil() as u64),
            ("coordinates", dim as u64),
        ];
        memory::claim("the simulations", &factors, 8 * ROLLOUTS)?;
        let Some(dt) = simulate.dt else {
            return Ok(());
        };
        let steps = each * simulate.trajectories as f64 * interval;
        if steps / dt > MOST_STEPS {
            return Err(Error::input(format!(
                "simulate.dt = {dt:e} makes {:.1e} steps, more than {MOST_STEPS:e}; choose a step of {:.1e} \
                 or longer",
                steps / dt,
                steps / MOST_STEPS
            )));
        }
        if dt > interval * (1.0 + 1e-6) {
            return Err(Error::input(format!(
                "simulate.dt = {dt:e} is longer than the sampling interval {interval}; choose a step of at \
                 most that"
            )));
        }
        Ok(())
    }

    fn check_validation(&self, ensemble: &Ensemble) -> Result<()> {
        let validate = &self.validate;
        let dim = ensemble.dim() as u64;
        let longest = ensemble.trajectories().iter().map(Trajectory::len).max();
        let blocks = match validate.blocking {
            Blocking::PerTrajectory(parts) => {
                let parts = parts.min(longest.unwrap_or(1)) as u64;
                parts.saturating_mul(ensemble.len() as u64)
            }
            _ => BLOCKS.max(ensemble.len() as u64),
        };
        // Deviations of the data and of two rollouts, their sums, and draws of them.
        let threads = rayon::current_num_threads() as u64;
        let point = 8 * (6 * blocks + DRAWN * threads);
        let observables = match validate.observables.len() {
            0 => observables(dim),
            given => given as u64,
        };
        let channels = (validate.channels as u64).min(observables * dim);
        let joints = (validate.joints as u64).min(dim.saturating_sub(1));
        let bins = validate.joint_bins as u64;
        let families = [
            (
                "the correlations",
                [
                    ("validate.lags", validate.lags as u64),
                    ("curves", channels),
                ],
            ),
            (
                "the densities",
                [
                    ("validate.bins", validate.bins as u64),
                    ("coordinates", dim),
                ],
            ),
            (
                "the joint densities",
                [
                    ("validate.joint_bins squared", bins * bins),
                    ("pairs", joints),
                ],
            ),
            (
                "the spectra",
                [
                    ("validate.frequencies", validate.frequencies as u64),
                    ("coordinates", dim),
                ],
            ),
        ];
        for (what, factors) in families {
            memory::claim(what, &factors, point)?;
        }
        let drawn = [
            ("validate.draws", validate.draws as u64),
            ("curves", channels),
        ];
        memory::claim("the draws of the noise floors", &drawn, 8 * 8)
    }

    fn check_score(&self, ensemble: &Ensemble) -> Result<()> {
        let Some(&degree) = self.score.closed_form.degrees.iter().max() else {
            return Ok(());
        };
        let functions = monomials(ensemble.dim() as u64, degree as u64);
        // One matrix of all pairs for every block.
        let factors = [
            ("score.closed_form.degrees", degree as u64),
            (
                "functions of that degree squared",
                functions.saturating_mul(functions),
            ),
        ];
        let blocks = BLOCKS.max(ensemble.len() as u64);
        memory::claim("the score", &factors[1..], 8 * blocks).map_err(|error| {
            Error::input(format!(
                "score.closed_form.degrees = {degree}: {error}; give lower degrees"
            ))
        })
    }
}

/// Monomials of degree 1 to `degree` in `dim` coordinates: (dim + degree choose degree) − 1.
fn monomials(dim: u64, degree: u64) -> u64 {
    let mut count: u64 = 1;
    for k in 1..=degree.min(dim) {
        count = match count.checked_mul(degree.max(dim) + k) {
            Some(product) => product / k,
            None => return u64::MAX,
        };
    }
    count - 1
}

/// Observables of the correlations where none are given.
fn observables(dim: u64) -> u64 {
    match dim {
        1..=3 => monomials(dim, 3),
        4..=6 => monomials(dim, 2),
        _ => 2 * dim,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::Array3;

    fn refusal(change: impl FnOnce(&mut FitConfig)) -> String {
        let rows = Array3::from_shape_fn((2, 500, 6), |(k, i, j)| ((k + i * j) as f64).sin());
        let data = Ensemble::from_array3(rows.into(), 0.1).unwrap();
        let mut config = FitConfig::default();
        config.check_sizes(&data).unwrap();
        change(&mut config);
        let error = config.check_sizes(&data).unwrap_err();
        assert!(error.is_bad_input());
        error.to_string()
    }

    #[test]
    fn monomials_are_counted() {
        assert_eq!(monomials(2, 3), 9);
        assert_eq!(monomials(3, 2), 9);
        assert_eq!(monomials(1, 30), 30);
        assert_eq!(monomials(1000, 1000), u64::MAX);
    }

    #[test]
    fn what_does_not_fit_is_refused_by_name() {
        let long = |c: &mut FitConfig| {
            (c.simulate.time, c.simulate.trajectories) = (Some(1e9), 1_000_000);
        };
        assert!(refusal(long).contains("simulate.trajectories = 1000000"));
        let message = refusal(|c| c.simulate.dt = Some(1e-14));
        assert!(
            message.starts_with("simulate.dt = 1e-14 makes"),
            "{message}"
        );
        assert!(refusal(|c| c.simulate.dt = Some(1.0)).contains("sampling interval 0.1"));
        let message = refusal(|c| c.score.closed_form.degrees = vec![2, 30]);
        assert!(
            message.starts_with("score.closed_form.degrees = 30"),
            "{message}"
        );
        let blocks = |c: &mut FitConfig| {
            (c.validate.blocking, c.validate.joint_bins) =
                (Blocking::PerTrajectory(1 << 20), 100_000);
        };
        assert!(refusal(blocks).contains("validate.joint_bins"));
    }
}
