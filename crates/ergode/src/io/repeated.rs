//! Rows with the time of the row before them.

use ndarray::Array2;

use super::options::RepeatedTimes;
use crate::data::{Times, Trajectory};

/// The trajectories with one row for each time, and the number of rows that are gone; times that decrease are
/// left for the ensemble to refuse. `rounding` is the relative precision of the times.
pub(super) fn merged(
    trajectories: Vec<Trajectory>,
    rule: RepeatedTimes,
    rounding: f64,
) -> (Vec<Trajectory>, usize) {
    if rule == RepeatedTimes::Error {
        return (trajectories, 0);
    }
    let mut gone = 0;
    let one = |trajectory: Trajectory| {
        let Some(groups) = groups(&trajectory) else {
            return trajectory;
        };
        gone += trajectory.len() - groups.len();
        let mut values = Array2::zeros((groups.len(), trajectory.dim()));
        for (group, mut row) in groups.iter().zip(values.rows_mut()) {
            let rows = match rule {
                RepeatedTimes::First => group.start..group.start + 1,
                _ => group.clone(),
            };
            row.assign(&mean(&trajectory, rows));
        }
        let times: Vec<f64> = groups.iter().map(|g| trajectory.time(g.start)).collect();
        Trajectory::new(values, Times::Uneven(times.into()).simplified(rounding))
    };
    let trajectories = trajectories.into_iter().map(one).collect();
    (trajectories, gone)
}

/// The rows of each time; none where no time is repeated, or one decreases.
fn groups(trajectory: &Trajectory) -> Option<Vec<std::ops::Range<usize>>> {
    let Times::Uneven(times) = trajectory.times() else {
        return None;
    };
    let ordered = times.windows(2).all(|pair| pair[0] <= pair[1]);
    if times.len() != trajectory.len() || !ordered || times.windows(2).all(|pair| pair[0] < pair[1])
    {
        return None;
    }
    let mut groups: Vec<std::ops::Range<usize>> = Vec::new();
    for (i, time) in times.iter().enumerate() {
        match groups.last_mut() {
            Some(group) if times[group.start] == *time => group.end = i + 1,
            _ => groups.push(i..i + 1),
        }
    }
    Some(groups)
}

/// The mean over rows without gaps, a gap where there is none.
fn mean(trajectory: &Trajectory, rows: std::ops::Range<usize>) -> ndarray::Array1<f64> {
    let mut sum = ndarray::Array1::zeros(trajectory.dim());
    let (mut row, mut count) = (vec![0.0; trajectory.dim()], 0.0);
    for i in rows.filter(|i| !trajectory.is_gap(*i)) {
        trajectory.row(i, &mut row);
        sum += &ndarray::ArrayView1::from(&row);
        count += 1.0;
    }
    if count == 0.0 {
        return ndarray::Array1::from_elem(trajectory.dim(), f64::NAN);
    }
    sum / count
}
