//! Checked trajectories that share their coordinates.

use std::ops::Range;

use ndarray::{ArcArray3, Array2, Axis};

use super::circle::Circle;
use super::scan::{Scan, Segment, scan};
use super::shared::SharedRows;
use super::trajectory::{Times, Trajectory};
use crate::control::Control;
use crate::error::{Error, Result};

/// The part to drop at the start of every trajectory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum BurnIn {
    /// A fraction of the rows of each trajectory, from 0 up to but not including 1.
    Fraction(f64),
    /// The rows sampled less than this long after the first row of their trajectory.
    Time(f64),
}

/// The units of an ensemble, as given in its file.
///
/// Units are carried from file to file; nothing is converted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Units {
    /// One unit per coordinate, an empty text if unknown; an empty list if all are unknown.
    pub coordinates: Vec<String>,
    /// The unit of time, empty if unknown.
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
    repeated_rows: usize,
    /// The circle of every coordinate that is an angle; empty where none is.
    circles: Vec<Option<Circle>>,
    /// The lower and the upper wall of every coordinate; empty where there are none.
    walls: Vec<Walls>,
}

/// The lower and the upper wall of a coordinate, where it has any.
pub(crate) type Walls = [Option<f64>; 2];

impl Ensemble {
    /// Checks `trajectories` and finds their segments.
    ///
    /// The coordinates are called "x", "y", "z" when there are at most three, else "x1", "x2"
    /// and so on; see [`Ensemble::with_names`].
    ///
    /// # Errors
    /// When the promises of this type do not hold; the message names the place.
    pub fn new(trajectories: Vec<Trajectory>) -> Result<Self> {
        Self::watched(trajectories, &Control::new())
    }

    /// [`Ensemble::new`] of rows that take long to look at.
    pub(crate) fn watched(mut trajectories: Vec<Trajectory>, control: &Control) -> Result<Self> {
        let Scan {
            segments,
            partial_gaps,
        } = scan(&trajectories, control)?;
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
            repeated_rows: 0,
            circles: Vec::new(),
            walls: Vec::new(),
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

    /// A record of which only the layout is known: rows of every trajectory, and the segments that hold samples.
    /// Its values are zero.
    pub(crate) fn hollow(
        lengths: &[usize],
        dim: usize,
        interval: f64,
        segments: Vec<Segment>,
    ) -> Self {
        let hollow =
            |rows: &usize| Trajectory::new(SharedRows::hollow(*rows, dim), Times::every(interval));
        Self {
            trajectories: lengths.iter().map(hollow).collect(),
            names: default_names(dim),
            units: None,
            samples: segments.iter().map(|s| s.rows.len()).sum(),
            segments,
            partial_gaps: 0,
            repeated_rows: 0,
            circles: Vec::new(),
            walls: Vec::new(),
        }
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
                    "coordinate {j} (counted from 0) has an empty name; give it a name"
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

    /// Rows with a NaN in some coordinates but not in others.
    pub(crate) fn partial_gaps(&self) -> usize {
        self.partial_gaps
    }

    /// Rows that had the time of another one and were put together with it when they were read.
    pub(crate) fn repeated_rows(&self) -> usize {
        self.repeated_rows
    }

    pub(crate) fn with_repeated_rows(mut self, rows: usize) -> Self {
        self.repeated_rows = rows;
        self
    }

    /// The circle of a coordinate that is an angle.
    pub(crate) fn circle(&self, j: usize) -> Option<Circle> {
        self.circles.get(j).copied().flatten()
    }

    /// The same rows with these coordinates as angles; an empty list where none is.
    pub(super) fn marked(mut self, circles: Vec<Option<Circle>>) -> Self {
        self.circles = circles;
        self
    }

    /// The walls of a coordinate.
    pub(crate) fn walls(&self, j: usize) -> Walls {
        self.walls.get(j).copied().unwrap_or_default()
    }

    /// True where a coordinate has a wall.
    pub(crate) fn has_walls(&self) -> bool {
        !self.walls.is_empty()
    }

    /// The same rows of coordinates with these walls.
    pub(crate) fn with_walls(mut self, walls: Vec<Walls>) -> Self {
        let any = walls.iter().flatten().any(Option::is_some);
        self.walls = if any { walls } else { Vec::new() };
        self
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
    /// A trajectory of a single row with a given time matches any interval.
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
                "every sample is next to a gap, so no two samples are consecutive; give a record with \
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
                    "a burn-in fraction of {f} is out of range; give a fraction from 0 up to, but not \
                     including, 1"
                )));
            }
            BurnIn::Time(t) if !(t >= 0.0 && t.is_finite()) => {
                return Err(Error::input(format!(
                    "a burn-in time of {t} is out of range; give a finite time of 0 or more"
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
                    "the burn-in removes all of trajectory {k} (counted from 0), which has {n} rows \
                     and lasts {}; shorten the burn-in or drop the trajectory",
                    trajectory.time(n - 1) - trajectory.time(0)
                )));
            }
            trajectories.push((k, dropped..n, 1));
        }
        self.cut(&trajectories)
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
            return Err(Error::input("cannot keep every 0th row; thin by 1 or more"));
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
        let mut pieces = Vec::with_capacity(self.len());
        for (k, (trajectory, starts)) in self.trajectories.iter().zip(starts).enumerate() {
            for (p, &start) in starts.iter().enumerate() {
                let end = starts.get(p + 1).copied().unwrap_or(trajectory.len());
                pieces.push((k, start..end, every));
            }
        }
        self.cut(&pieces)
    }

    /// Every so many rows of parts of the trajectories, (trajectory, rows, every), sharing the values.
    pub(crate) fn cut(&self, pieces: &[(usize, Range<usize>, usize)]) -> Result<Self> {
        let slice = |(k, rows, every): &(usize, Range<usize>, usize)| {
            self.trajectories[*k].slice(rows.clone(), *every)
        };
        let mut trajectories: Vec<Trajectory> = pieces.iter().map(slice).collect();
        if !self.is_complete()
            || trajectories.is_empty()
            || trajectories.iter().any(Trajectory::is_empty)
        {
            return self.rebuilt(trajectories);
        }
        // Rows of a record without gaps have none; to look at them again could take a minute.
        trajectories.iter_mut().for_each(Trajectory::simplify_times);
        let whole = |(trajectory, t): (usize, &Trajectory)| Segment {
            trajectory,
            rows: 0..t.len(),
        };
        Ok(Self {
            segments: trajectories.iter().enumerate().map(whole).collect(),
            samples: trajectories.iter().map(Trajectory::len).sum(),
            trajectories,
            names: self.names.clone(),
            units: self.units.clone(),
            partial_gaps: 0,
            repeated_rows: self.repeated_rows,
            circles: self.circles.clone(),
            walls: self.walls.clone(),
        })
    }

    /// True where no row is a gap.
    fn is_complete(&self) -> bool {
        self.samples == self.trajectories.iter().map(Trajectory::len).sum::<usize>()
    }

    /// The result of a pass over the rows, or the error that reading them met.
    ///
    /// Rows that cannot be read any more are NaN, and whatever comes of these must not be taken for a
    /// result, nor what is then wrong with it for the cause.
    pub(crate) fn intact<T>(&self, result: Result<T>) -> Result<T> {
        self.trajectories.iter().try_for_each(Trajectory::intact)?;
        result
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
            trajectory.refuse_copy(rows.len())?;
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
    /// When the rows are in a file that is larger than memory should hold.
    pub fn bridged(&self) -> Result<Self> {
        if self.is_complete() {
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
        let pieces = indices
            .iter()
            .map(|&k| {
                let trajectory = self.trajectories.get(k);
                trajectory.map(|t| (k, 0..t.len(), 1)).ok_or_else(|| {
                    Error::input(format!(
                        "there is no trajectory {k}; the {} trajectories are counted from 0",
                        self.len()
                    ))
                })
            })
            .collect::<Result<Vec<_>>>()?;
        self.cut(&pieces)
    }

    /// The same coordinates with other trajectories.
    pub(crate) fn rebuilt(&self, trajectories: Vec<Trajectory>) -> Result<Self> {
        let mut ensemble = Self::new(trajectories)?;
        ensemble.names.clone_from(&self.names);
        ensemble.units.clone_from(&self.units);
        ensemble.repeated_rows = self.repeated_rows;
        ensemble.circles.clone_from(&self.circles);
        ensemble.walls.clone_from(&self.walls);
        Ok(ensemble)
    }

    /// The same trajectories with other values at the same rows, complete where these are.
    pub(crate) fn with_trajectories(&self, trajectories: Vec<Trajectory>) -> Self {
        Self {
            trajectories,
            ..self.clone()
        }
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
pub(crate) fn default_names(dim: usize) -> Vec<String> {
    if dim <= 3 {
        ["x", "y", "z"][..dim].iter().map(|&n| n.into()).collect()
    } else {
        (1..=dim).map(|j| format!("x{j}")).collect()
    }
}
