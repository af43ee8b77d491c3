//! The layout of a file, known before the first row is written.

use super::rows::Block;
use crate::data::{Ensemble, Trajectory, Units};

/// Shape, times, names and units of what will be written.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    /// Rows of every trajectory.
    pub(crate) lengths: Vec<usize>,
    /// The first and the last time of every trajectory.
    pub(crate) ends: Vec<(f64, f64)>,
    pub(crate) dim: usize,
    pub(crate) names: Vec<String>,
    pub(crate) units: Option<Units>,
    /// All values are of single precision.
    pub(crate) single: bool,
    /// A reader can give every trajectory its times from one shared array.
    ///
    /// Times must agree over the common rows, and no trajectory may end in a row of NaN, which
    /// would be taken for padding.
    pub(crate) shared_times: bool,
}

impl Layout {
    /// The layout of an ensemble in memory.
    pub(crate) fn of(ensemble: &Ensemble) -> Self {
        let trajectories = ensemble.trajectories();
        let single = |t: &Trajectory| t.values().is_single();
        let longest = trajectories
            .iter()
            .max_by_key(|t| t.len())
            .expect("an ensemble is not empty");
        let shared = |t: &Trajectory| {
            let same =
                t.times() == longest.times() || (0..t.len()).all(|i| t.time(i) == longest.time(i));
            same && !t.is_gap(t.len() - 1)
        };
        Self {
            lengths: trajectories.iter().map(Trajectory::len).collect(),
            ends: trajectories
                .iter()
                .map(|t| (t.time(0), t.time(t.len() - 1)))
                .collect(),
            dim: ensemble.dim(),
            names: ensemble.names().to_vec(),
            units: ensemble.units().cloned(),
            single: trajectories.iter().all(single),
            shared_times: trajectories.len() == 1 || trajectories.iter().all(shared),
        }
    }

    /// Rows of the longest trajectory.
    pub(crate) fn longest(&self) -> usize {
        self.lengths.iter().copied().max().unwrap_or(0)
    }

    /// The unit of a coordinate, empty where it is not known.
    pub(crate) fn unit(&self, coordinate: usize) -> &str {
        let units = self.units.as_ref();
        units
            .and_then(|units| units.coordinates.get(coordinate))
            .map_or("", String::as_str)
    }

    /// The unit of time, empty where it is not known.
    pub(crate) fn time_unit(&self) -> &str {
        self.units.as_ref().map_or("", |units| &units.time)
    }

    /// True when the times of a block lie on the line from the first to the last of its trajectory.
    pub(crate) fn is_even(&self, block: &Block) -> bool {
        let (rows, (first, last)) = (self.lengths[block.trajectory], self.ends[block.trajectory]);
        let step = (last - first) / (rows.max(2) - 1) as f64;
        let tolerance = 1e-6 * step + 4.0 * f64::EPSILON * first.abs().max(last.abs());
        let on_line = |(i, t): (usize, &f64)| {
            (t - (first + (block.start + i) as f64 * step)).abs() <= tolerance
        };
        block.times.iter().enumerate().all(on_line)
    }

    /// The sampling interval computed from the first and last times, if it is the same everywhere (to
    /// `1e-9`); 1 if every trajectory has a single row.
    pub(crate) fn interval(&self) -> Option<f64> {
        let mut common: Option<f64> = None;
        for (&rows, &(first, last)) in self.lengths.iter().zip(&self.ends) {
            if rows < 2 {
                continue;
            }
            let step = (last - first) / (rows - 1) as f64;
            match common {
                None => common = Some(step),
                Some(common) if (step - common).abs() > 1e-9 * common => return None,
                Some(_) => {}
            }
        }
        Some(common.unwrap_or(1.0))
    }
}
