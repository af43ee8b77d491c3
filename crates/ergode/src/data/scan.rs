//! The checks that every ensemble passes, and the gap-free segments they find.

use std::ops::Range;

use ndarray::{ArrayView2, s};
use rayon::prelude::*;

use super::trajectory::{Times, Trajectory, Values};
use crate::control::Control;
use crate::error::{Error, Result};
use crate::limits;

/// A maximal run of consecutive rows of one trajectory without NaN.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Index of the trajectory in [`Ensemble::trajectories`](super::Ensemble::trajectories).
    pub trajectory: usize,
    /// The rows of that trajectory.
    pub rows: Range<usize>,
}

/// Numbers that one parallel task looks at.
const BLOCK: usize = 1 << 16;

/// The result of a scan of all values.
#[derive(Debug)]
pub(crate) struct Scan {
    /// Maximal runs of rows without NaN, in order.
    pub(crate) segments: Vec<Segment>,
    /// Gaps in which some coordinates, but not all, are NaN.
    pub(crate) partial_gaps: usize,
}

/// Checks shapes, times and values of `trajectories` and finds their segments.
pub(crate) fn scan(trajectories: &[Trajectory], control: &Control) -> Result<Scan> {
    check_shapes(trajectories)?;
    trajectories
        .par_iter()
        .enumerate()
        .map(|(k, trajectory)| check_times(k, trajectory))
        .collect::<Vec<_>>()
        .into_iter()
        .collect::<Result<()>>()?;
    scan_values(trajectories, control)
}

fn check_shapes(trajectories: &[Trajectory]) -> Result<()> {
    let Some(first) = trajectories.first() else {
        return Err(Error::input("there are no trajectories; give at least one"));
    };
    check_dim(first.dim())?;
    for (k, trajectory) in trajectories.iter().enumerate() {
        if trajectory.is_empty() || trajectory.dim() == 0 {
            return Err(Error::input(format!(
                "trajectory {k} (counted from 0) is empty: it has {} rows and {} coordinates; leave it \
                 out, or give at least one row and one coordinate",
                trajectory.len(),
                trajectory.dim()
            )));
        }
        if trajectory.dim() != first.dim() {
            return Err(Error::input(format!(
                "trajectory 0 has {} coordinates but trajectory {k} has {} (counted from 0); \
                 all trajectories of an ensemble need the same coordinates",
                first.dim(),
                trajectory.dim()
            )));
        }
    }
    Ok(())
}

fn check_times(k: usize, trajectory: &Trajectory) -> Result<()> {
    match trajectory.times() {
        &Times::Even { start, step } => {
            let last = trajectory.time(trajectory.len() - 1);
            if !(step.is_finite() && step > 0.0 && start.is_finite() && last.is_finite()) {
                return Err(Error::input(format!(
                    "trajectory {k} (counted from 0) starts at time {start} and is sampled every \
                     {step}; the start must be finite and the interval finite and positive"
                )));
            }
        }
        Times::Uneven(times) => {
            if times.len() != trajectory.len() {
                return Err(Error::input(format!(
                    "trajectory {k} (counted from 0) has {} rows but {} times; give one time per row",
                    trajectory.len(),
                    times.len()
                )));
            }
            check_increasing(k, 0, f64::NEG_INFINITY, times)?;
        }
    }
    Ok(())
}

/// Refuses times of trajectory `k`, from row `start` on, that are not finite or do not come after
/// those before them.
pub(crate) fn check_increasing(
    k: usize,
    start: usize,
    mut before: f64,
    times: &[f64],
) -> Result<()> {
    for (i, &time) in times.iter().enumerate() {
        let place = start + i;
        if !time.is_finite() {
            return Err(Error::input(format!(
                "trajectory {k}, row {place} (counted from 0): the time is {time}; every row needs a \
                 finite time, even a gap"
            )));
        }
        if before >= time {
            return Err(Error::input(format!(
                "trajectory {k}, row {place} (counted from 0): the time {time:?} is not later than \
                 {before:?}, the time of the previous row; sort the rows by time, drop repeated rows, \
                 and pass separate runs as separate trajectories"
            )));
        }
        before = time;
    }
    Ok(())
}

/// Refuses more coordinates than can be used.
pub(crate) fn check_dim(dim: usize) -> Result<()> {
    if dim <= limits::RECORD {
        return Ok(());
    }
    Err(Error::input(format!(
        "there are {dim} coordinates, more than {}; rows must be times and columns coordinates: \
         transpose the array if they are swapped, or reduce the dimension, for example to \
         principal components",
        limits::RECORD
    )))
}

/// The error for an infinite value.
pub(crate) fn infinite(trajectory: usize, row: usize, coordinate: usize) -> Error {
    Error::input(format!(
        "trajectory {trajectory}, row {row}, coordinate {coordinate} (counted from 0): the value is \
         infinite; mark a missing sample with NaN, and cut or drop a trajectory that diverged"
    ))
}

/// The error for data without a complete row.
pub(crate) fn no_samples() -> Error {
    Error::input(
        "every row contains a NaN, so there are no samples; check how the data were written",
    )
}

/// The findings of one block of rows of one trajectory.
pub(crate) struct Block {
    pub(crate) runs: Vec<Range<usize>>,
    pub(crate) partial_gaps: usize,
}

/// An infinite value: its row and coordinate.
pub(crate) struct Infinite(pub(crate) usize, pub(crate) usize);

fn scan_values(trajectories: &[Trajectory], control: &Control) -> Result<Scan> {
    let rows_per_block = (BLOCK / trajectories[0].dim()).max(1);
    let blocks: Vec<(usize, Range<usize>)> = trajectories
        .iter()
        .enumerate()
        .flat_map(|(k, trajectory)| {
            let n = trajectory.len();
            (0..n)
                .step_by(rows_per_block)
                .map(move |a| (k, a..n.min(a + rows_per_block)))
        })
        .collect();
    control.begin(trajectories.iter().map(|t| t.len() as u64).sum());
    let found = blocks
        .par_iter()
        .map_init(Vec::new, |read, (k, rows)| {
            control.advance(rows.len() as u64)?;
            Ok(scan_rows(trajectories[*k].values(), rows.clone(), read))
        })
        .collect::<Result<Vec<_>>>()?;
    // What a lost file gives are not gaps.
    trajectories.iter().try_for_each(Trajectory::intact)?;

    let mut segments: Vec<Segment> = Vec::new();
    let mut partial_gaps = 0;
    for ((trajectory, _), block) in blocks.into_iter().zip(found) {
        let block =
            block.map_err(|Infinite(row, coordinate)| infinite(trajectory, row, coordinate))?;
        partial_gaps += block.partial_gaps;
        for rows in block.runs {
            match segments.last_mut() {
                Some(last) if last.trajectory == trajectory && last.rows.end == rows.start => {
                    last.rows.end = rows.end;
                }
                _ => segments.push(Segment { trajectory, rows }),
            }
        }
    }
    if segments.is_empty() {
        return Err(no_samples());
    }
    Ok(Scan {
        segments,
        partial_gaps,
    })
}

/// The findings of some rows, which are read into `read` first where they are in a file.
fn scan_rows(
    values: &Values,
    rows: Range<usize>,
    read: &mut Vec<f64>,
) -> std::result::Result<Block, Infinite> {
    match values {
        Values::F32(a) => scan_block(a.view(), rows),
        Values::F64(a) => scan_block(a.view(), rows),
        Values::Shared(a) => scan_block(a.view(), rows),
        Values::Stored(a) => {
            let (start, shape) = (rows.start, (rows.len(), a.dim()));
            read.resize(shape.0 * shape.1, 0.0);
            a.copy(rows, read);
            let view = ArrayView2::from_shape(shape, read).expect("whole rows");
            let mut block = scan_block(view, 0..shape.0)
                .map_err(|Infinite(row, coordinate)| Infinite(start + row, coordinate))?;
            for run in &mut block.runs {
                *run = start + run.start..start + run.end;
            }
            Ok(block)
        }
    }
}

/// Finds runs without NaN among some rows, and stops at an infinite value.
pub(crate) fn scan_block<A: Copy + Into<f64>>(
    array: ArrayView2<'_, A>,
    rows: Range<usize>,
) -> std::result::Result<Block, Infinite> {
    // Without early exit the compiler makes this a fast vector loop.
    let all_finite = |values: &[A]| {
        values
            .iter()
            .fold(true, |yes, &v| yes & v.into().is_finite())
    };
    let mut block = Block {
        runs: Vec::new(),
        partial_gaps: 0,
    };
    if let Some(values) = array.slice(s![rows.clone(), ..]).as_slice()
        && all_finite(values)
    {
        block.runs.push(rows);
        return Ok(block);
    }
    let mut start = rows.start;
    for i in rows.clone() {
        let row = array.row(i);
        let mut nans = 0;
        for (j, &value) in row.iter().enumerate() {
            let value: f64 = value.into();
            if value.is_infinite() {
                return Err(Infinite(i, j));
            }
            nans += usize::from(value.is_nan());
        }
        if nans > 0 {
            block.partial_gaps += usize::from(nans < row.len());
            if start < i {
                block.runs.push(start..i);
            }
            start = i + 1;
        }
    }
    if start < rows.end {
        block.runs.push(start..rows.end);
    }
    Ok(block)
}
