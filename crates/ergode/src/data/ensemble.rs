//! Checked trajectories that share their coordinates.

use std::ops::Range;

use ndarray::{ArcArray3, Array2, Axis};

use super::scan::{Scan, scan};
use super::trajectory::{Times, Trajectory};
use crate::error::{Error, Result};

/// A maximal run of consecutive rows of one trajectory without NaN.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Index of the trajectory in [`Ensemble::trajectories`].
    pub trajectory: usize,
    /// The rows of that trajectory.
    pub rows: Range<usize>,
}

/// How much of the start of every trajectory to leave out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum BurnIn {
    /// A fraction of the rows of each trajectory, from 0 up to but not including 1.
    Fraction(f64),
    /// The rows sampled less than this long after the first row of their trajectory.
    Time(f64),
}

/// What the numbers of an ensemble are measured in, as its file says.
///
/// Units are carried from file to file; nothing is converted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Units {
    /// One unit per coordinate, or empty where none is known; an empty text is an unknown unit.
    pub coordinates: Vec<String>,
    /// The unit of time, empty where it is not known.
    pub time: String,
}

/// Trajectories of the same coordinates, checked once and for all.
///
/// There is at least one trajectory, each has at least one row, all have the same dimension, no
/// value is infinite, times increase strictly, and at least one row is complete. A row with a NaN
/// is a gap; [`Ensemble::segments`] lists the runs of rows between gaps. Pairs of samples are only
/// ever taken inside one segment, so they never cross the join between two trajectories or a gap.
///
/// Uneven times that are evenly spaced up to rounding, within `1e-6` of the mean step (plus the
/// rounding of the times themselves), are stored as even ones with
/// `step = (last - first) / (rows - 1)`.
///
/// ```
/// use ergode::{BurnIn, Ensemble};
/// use ndarray::array;
///
/// let values = array![[0.0, 1.0], [0.1, 0.9], [f64::NAN, 0.8], [0.3, 0.7]];
/// let ensemble = Ensemble::from_array(values, 0.5)?;
/// assert_eq!(ensemble.names(), ["x", "y"]);
/// assert_eq!(ensemble.samples(), 3);
/// assert_eq!(ensemble.segments().len(), 2);
/// assert_eq!(ensemble.burn_in(BurnIn::Fraction(0.25))?.samples(), 2);
/// # Ok::<(), ergode::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Ensemble {
    trajectories: Vec<Trajectory>,
    names: Vec<String>,
    units: Option<Units>,
    segments: Vec<Segment>,
    samples: usize,
    partial_gaps: usize,
}

impl Ensemble {
    /// Checks `trajectories` and finds their segments.
    ///
    /// The coordinates are called "x", "y", "z" when there are at most three, else "x1", "x2"
    /// and so on; see [`Ensemble::with_names`].
    ///
    /// # Errors
    /// When the promises of this type do not hold; the message names the place.
    pub fn new(mut trajectories: Vec<Trajectory>) -> Result<Self> {
        let Scan {
            segments,
            partial_gaps,
        } = scan(&trajectories)?;
        for trajectory in &mut trajectories {
            trajectory.simplify_times();
        }
        Ok(Self {
            names: default_names(trajectories[0].dim()),
            units: None,
            samples: segments.iter().map(|s| s.rows.len()).sum(),
            trajectories,
            segments,
            partial_gaps,
        })
    }

    /// One trajectory of shape (time, dimension), sampled every `dt` from time zero.
    ///
    /// # Errors
    /// As for [`Ensemble::new`].
    pub fn from_array(values: Array2<f64>, dt: f64) -> Result<Self> {
        Self::new(vec![Trajectory::new(values, Times::every(dt))])
    }

    /// Trajectories from an array of shape (trajectory, time, dimension), sampled every `dt`.
    ///
    /// Every trajectory is a view of the storage of `values`; nothing is copied unless the
    /// coordinates of a row are not adjacent in memory.
    ///
    /// # Errors
    /// As for [`Ensemble::new`].
    pub fn from_array3(values: ArcArray3<f64>, dt: f64) -> Result<Self> {
        let trajectories = (0..values.len_of(Axis(0)))
            .map(|k| {
                let values = values.clone().index_axis_move(Axis(0), k);
                Trajectory::new(values, Times::every(dt))
            })
            .collect();
        Self::new(trajectories)
    }

    /// The same ensemble with other names for its coordinates.
    ///
    /// # Errors
    /// When there is not exactly one name per coordinate, or a name is empty or repeated.
    pub fn with_names(mut self, names: Vec<String>) -> Result<Self> {
        if names.len() != self.dim() {
            return Err(Error::input(format!(
                "{} names for {} coordinates; give one name per coordinate",
                names.len(),
                self.dim()
            )));
        }
        for (j, name) in names.iter().enumerate() {
            if name.trim().is_empty() {
                return Err(Error::input(format!(
                    "coordinate {j} (counted from 0) has an empty name; give it one"
                )));
            }
        }
        let mut sorted: Vec<&String> = names.iter().collect();
        sorted.sort_unstable();
        if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(Error::input(format!(
                "two coordinates are both named '{}'; give every coordinate its own name",
                pair[0]
            )));
        }
        self.names = names;
        Ok(self)
    }

    /// The same ensemble with units.
    ///
    /// # Errors
    /// When there are units of coordinates, but not one per coordinate.
    pub fn with_units(mut self, units: Units) -> Result<Self> {
        if !units.coordinates.is_empty() && units.coordinates.len() != self.dim() {
            return Err(Error::input(format!(
                "{} units for {} coordinates; give one unit per coordinate",
                units.coordinates.len(),
                self.dim()
            )));
        }
        self.units = Some(units);
        Ok(self)
    }

    /// The units, where they are known.
    pub fn units(&self) -> Option<&Units> {
        self.units.as_ref()
    }

    /// Number of coordinates.
    pub fn dim(&self) -> usize {
        self.trajectories[0].dim()
    }

    /// Number of trajectories.
    pub fn len(&self) -> usize {
        self.trajectories.len()
    }

    /// Always false: an ensemble has at least one trajectory.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Number of complete rows, gaps left out, over all trajectories.
    pub fn samples(&self) -> usize {
        self.samples
    }

    /// Names of the coordinates.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The trajectories.
    pub fn trajectories(&self) -> &[Trajectory] {
        &self.trajectories
    }

    /// The maximal runs of rows without NaN, ordered by trajectory and row.
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// The time between consecutive rows, if it is the same (to `1e-9`) everywhere.
    ///
    /// A trajectory of a single row with a time of its own agrees with any interval.
    pub fn sampling_interval(&self) -> Option<f64> {
        let mut common: Option<f64> = None;
        for trajectory in &self.trajectories {
            match (trajectory.times(), common) {
                (Times::Uneven(times), _) if times.len() == 1 => {}
                (Times::Uneven(_), _) => return None,
                (&Times::Even { step, .. }, None) => common = Some(step),
                (&Times::Even { step, .. }, Some(common)) => {
                    if (step - common).abs() > 1e-9 * common {
                        return None;
                    }
                }
            }
        }
        common
    }

    /// The time between neighbouring samples that is typical of the record: the sampling interval where
    /// there is one, else the median over neighbours without a gap between them, of a hundred thousand
    /// spread over the record.
    ///
    /// # Errors
    /// When no two samples are neighbours.
    pub fn typical_interval(&self) -> Result<f64> {
        const LOOKED_AT: usize = 100_000;
        if let Some(interval) = self.sampling_interval() {
            return Ok(interval);
        }
        let neighbours = self.samples - self.segments.len();
        let stride = neighbours.div_ceil(LOOKED_AT).max(1);
        let rows = self.segments.iter().flat_map(|segment| {
            let trajectory = &self.trajectories[segment.trajectory];
            let rows = segment.rows.start + 1..segment.rows.end;
            rows.map(move |row| (trajectory, row))
        });
        let mut intervals: Vec<f64> = rows
            .step_by(stride)
            .map(|(trajectory, row)| trajectory.time(row) - trajectory.time(row - 1))
            .collect();
        if intervals.is_empty() {
            return Err(Error::input(
                "no two samples follow one another without a gap in between; give a record with \
                 fewer gaps",
            ));
        }
        let middle = intervals.len() / 2;
        Ok(*intervals.select_nth_unstable_by(middle, f64::total_cmp).1)
    }

    /// Leaves out the start of every trajectory; the values are shared, not copied.
    ///
    /// A fraction drops `floor(fraction * rows)` rows, where a product that misses a whole number
    /// only by rounding counts as that number.
    ///
    /// # Errors
    /// When the amount is out of range, or leaves a trajectory without rows or the ensemble
    /// without samples.
    pub fn burn_in(&self, burn_in: BurnIn) -> Result<Self> {
        match burn_in {
            BurnIn::Fraction(f) if !(0.0..1.0).contains(&f) => {
                return Err(Error::input(format!(
                    "a burn-in of {f} of each trajectory is not possible; \
                     give a fraction from 0 up to but not including 1"
                )));
            }
            BurnIn::Time(t) if !(t >= 0.0 && t.is_finite()) => {
                return Err(Error::input(format!(
                    "a burn-in time of {t} is not possible; give a finite time that is not negative"
                )));
            }
            _ => {}
        }
        let mut trajectories = Vec::with_capacity(self.len());
        for (k, trajectory) in self.trajectories.iter().enumerate() {
            let n = trajectory.len();
            let dropped = rows_to_drop(trajectory, burn_in);
            if dropped >= n {
                return Err(Error::input(format!(
                    "the burn-in leaves nothing of trajectory {k} (counted from 0), which has {n} \
                     rows and lasts {}; shorten the burn-in or leave the trajectory out",
                    trajectory.time(n - 1) - trajectory.time(0)
                )));
            }
            trajectories.push(trajectory.slice(dropped..n, 1));
        }
        self.rebuilt(trajectories)
    }

    /// Keeps rows 0, `every`, 2 `every` and so on of each trajectory; the values are shared.
    ///
    /// A gap that lies between two kept rows would vanish; the trajectory is split there in two,
    /// so that pairs of samples still do not cross it.
    ///
    /// # Errors
    /// When `every` is zero, or only gaps would be kept.
    pub fn thin(&self, every: usize) -> Result<Self> {
        if every == 0 {
            return Err(Error::input(
                "cannot keep every 0th row; give 1 or more to thin",
            ));
        }
        let mut starts: Vec<Vec<usize>> = vec![vec![0]; self.len()];
        for pair in self.segments.windows(2) {
            let (before, after) = (&pair[0], &pair[1]);
            let next = after.rows.start.next_multiple_of(every);
            let joined = before.trajectory == after.trajectory
                && before.rows.end.next_multiple_of(every) == next
                && next < self.trajectories[after.trajectory].len();
            let pieces = &mut starts[after.trajectory];
            if joined && pieces.last() != Some(&next) {
                pieces.push(next);
            }
        }
        let mut trajectories = Vec::with_capacity(self.len());
        for (trajectory, starts) in self.trajectories.iter().zip(starts) {
            for (p, &start) in starts.iter().enumerate() {
                let end = starts.get(p + 1).copied().unwrap_or(trajectory.len());
                trajectories.push(trajectory.slice(start..end, every));
            }
        }
        self.rebuilt(trajectories)
    }

    /// The rows of trajectory k that `choose(k, trajectory)` keeps, at their own times; trajectories of
    /// which nothing is kept are left out.
    pub(crate) fn with_rows<'a, F: FnMut(usize) -> bool>(
        &'a self,
        choose: impl Fn(usize, &'a Trajectory) -> F,
    ) -> Result<Self> {
        let mut trajectories = Vec::with_capacity(self.len());
        for (k, trajectory) in self.trajectories.iter().enumerate() {
            let mut keep = choose(k, trajectory);
            let rows: Vec<usize> = (0..trajectory.len()).filter(|i| keep(*i)).collect();
            if !rows.is_empty() {
                trajectories.push(trajectory.rows(&rows));
            }
        }
        self.rebuilt(trajectories)
    }

    /// The same record without its gaps: rows with a NaN are left out, and samples to either side of them
    /// follow one another at their own times, so that pairs reach across.
    ///
    /// Right where a gap is a sample that was not taken; not where it stands between two records.
    ///
    /// # Errors
    /// Never for an ensemble, which has a complete row.
    pub fn bridged(&self) -> Result<Self> {
        if self.samples == self.trajectories.iter().map(Trajectory::len).sum::<usize>() {
            return Ok(self.clone());
        }
        self.with_rows(|_, trajectory| move |i| !trajectory.is_gap(i))
    }

    /// The trajectories with these indices, in this order; the values are shared.
    ///
    /// An index may be repeated, as resampling with replacement does.
    ///
    /// # Errors
    /// When there is no such trajectory, none is selected, or only gaps are.
    pub fn select(&self, indices: &[usize]) -> Result<Self> {
        let trajectories = indices
            .iter()
            .map(|&k| {
                self.trajectories.get(k).cloned().ok_or_else(|| {
                    Error::input(format!(
                        "there is no trajectory {k}; the {} trajectories are counted from 0",
                        self.len()
                    ))
                })
            })
            .collect::<Result<_>>()?;
        self.rebuilt(trajectories)
    }

    /// What may be wrong with the data although they can be used, one sentence each.
    pub fn warnings(&self) -> Vec<String> {
        let facts = Facts {
            samples: self.samples,
            partial_gaps: self.partial_gaps,
            constant: self.constant_coordinates(),
        };
        facts.warnings(&self.names)
    }

    /// The same coordinates with other trajectories.
    pub(crate) fn rebuilt(&self, trajectories: Vec<Trajectory>) -> Result<Self> {
        let mut ensemble = Self::new(trajectories)?;
        ensemble.names.clone_from(&self.names);
        ensemble.units.clone_from(&self.units);
        Ok(ensemble)
    }

    /// The same trajectories with other values at the same rows, complete where these are.
    pub(super) fn with_trajectories(&self, trajectories: Vec<Trajectory>) -> Self {
        Self {
            trajectories,
            ..self.clone()
        }
    }

    /// Indices of the coordinates that have one and the same value in every sample.
    pub(crate) fn constant_coordinates(&self) -> Vec<usize> {
        let dim = self.dim();
        let (mut first, mut row) = (vec![0.0; dim], vec![0.0; dim]);
        let start = &self.segments[0];
        self.trajectories[start.trajectory].row(start.rows.start, &mut first);
        let mut constant: Vec<usize> = (0..dim).collect();
        for segment in &self.segments {
            for i in segment.rows.clone() {
                if constant.is_empty() || self.samples == 1 {
                    return Vec::new();
                }
                self.trajectories[segment.trajectory].row(i, &mut row);
                constant.retain(|&j| row[j] == first[j]);
            }
        }
        constant
    }
}

/// What a look at all values finds.
pub(super) struct Facts {
    /// Complete rows.
    pub(super) samples: usize,
    /// Rows with a NaN in some coordinates but not in others.
    pub(super) partial_gaps: usize,
    /// The coordinates that have one and the same value in every sample.
    pub(super) constant: Vec<usize>,
}

impl Facts {
    /// What may be wrong with the data although they can be used, one sentence each.
    pub(super) fn warnings(&self, names: &[String]) -> Vec<String> {
        let mut warnings = Vec::new();
        if names.len() > self.samples {
            warnings.push(format!(
                "there are more coordinates ({}) than samples ({}); \
                 is the array transposed? rows are times, columns are coordinates",
                names.len(),
                self.samples
            ));
        }
        for &j in &self.constant {
            warnings.push(format!(
                "coordinate '{}' is constant; leave it out",
                names[j]
            ));
        }
        if self.partial_gaps > 0 {
            warnings.push(format!(
                "{} rows have a NaN in some coordinates but not in others; \
                 these rows are left out as a whole",
                self.partial_gaps
            ));
        }
        warnings
    }
}

fn rows_to_drop(trajectory: &Trajectory, burn_in: BurnIn) -> usize {
    // Absorbs the rounding of decimal fractions: 0.29 * 100 is a little below 29.
    const ROUNDING: f64 = 1e-9;
    match (burn_in, trajectory.times()) {
        (BurnIn::Fraction(fraction), _) => {
            (fraction * trajectory.len() as f64 + ROUNDING).floor() as usize
        }
        (BurnIn::Time(time), Times::Even { step, .. }) => {
            (time / step * (1.0 - ROUNDING)).ceil() as usize
        }
        (BurnIn::Time(time), Times::Uneven(times)) => {
            times.partition_point(|t| t - times[0] < time)
        }
    }
}

/// The names of coordinates that have none.
pub(super) fn default_names(dim: usize) -> Vec<String> {
    if dim <= 3 {
        ["x", "y", "z"][..dim].iter().map(|&n| n.into()).collect()
    } else {
        (1..=dim).map(|j| format!("x{j}")).collect()
    }
}
