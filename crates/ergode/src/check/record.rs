//! The record under test: the data, their scales, and the signals removed from them.

use std::borrow::Cow;

use crate::control::Control;
use crate::data::{Ensemble, Standardiser, Times, Trajectory};
use crate::error::Result;
use crate::finding::{Finding, FindingKind, Severity, digits};
use crate::lagged::{Blocking, LagGrid, LaggedConfig, LaggedSums, Subsample, accumulate_lagged};
use crate::observable::Functions;

/// Multiplications and look-ups that one pass of lagged statistics may cost.
const WORK: f64 = 3e9;
/// Cost of a lag window relative to an exact lag.
const WINDOW_COST: f64 = 8.0;
/// Typical intervals that make a jump of the times, and how many intervals there are for each jump.
const JUMP: f64 = 20.0;
const RARE: usize = 200;
/// Stretches from which rows are skipped in place instead of cutting trajectories at gaps.
const MANY_SEGMENTS: usize = 1000;

/// Data with the scales that every test needs.
pub(super) struct Record<'a> {
    pub(super) ensemble: Cow<'a, Ensemble>,
    pub(super) scales: Standardiser,
    /// Δ: time between samples, the mean one where sampling is uneven.
    pub(super) interval: f64,
    /// Rows of the longest stretch without gap.
    pub(super) longest: usize,
}

impl<'a> Record<'a> {
    pub(super) fn new(ensemble: Cow<'a, Ensemble>, control: &Control) -> Result<Self> {
        let scales = Standardiser::watched(&ensemble, control)?;
        let (interval, longest) = (interval(&ensemble), longest(&ensemble));
        Ok(Self {
            ensemble,
            scales,
            interval,
            longest,
        })
    }

    /// The same record without `signal(t, coordinate)`; the scales are measured again.
    pub(super) fn without(
        &self,
        signal: impl Fn(f64, usize) -> f64 + Send + Sync + 'static,
        control: &Control,
    ) -> Result<Self> {
        let without = self.ensemble.mapped(move |t, j, x| x - signal(t, j))?;
        Self::new(Cow::Owned(without), control)
    }

    pub(super) fn dim(&self) -> usize {
        self.ensemble.dim()
    }

    /// N Δ.
    pub(super) fn total_time(&self) -> f64 {
        self.ensemble.samples() as f64 * self.interval
    }

    /// Sums at lags of `steps` times `factor` intervals, from every `factor`-th sample.
    ///
    /// Lags at which no pair exists (uneven sampling) are left out; none where no lag is left.
    pub(super) fn sums(
        &self,
        functions: &dyn Functions,
        steps: &[usize],
        factor: usize,
        control: &Control,
    ) -> Result<Option<LaggedSums>> {
        let thin =
            factor > 1 && self.ensemble.segments().len() <= self.ensemble.len() + MANY_SEGMENTS;
        let ensemble = if thin {
            Cow::Owned(self.ensemble.thin(factor)?)
        } else {
            Cow::Borrowed(&*self.ensemble)
        };
        let even = ensemble.sampling_interval();
        let unit = self.interval * factor as f64;
        let (rows_per_step, skip) = if thin { (1, 1) } else { (factor, factor) };
        let m = functions.len() as f64;
        let cost =
            steps.len() as f64 * m * (m + 8.0) * if even.is_some() { 1.0 } else { WINDOW_COST };
        let stride = ((ensemble.samples() / skip) as f64 * cost / WORK).ceil() as usize;
        let config = LaggedConfig {
            subsample: Subsample::Stride(stride.max(1) * skip),
            blocking: Blocking::Auto,
            first_trajectory: 0,
        };
        let accumulate = |steps: &[usize]| {
            let grid = match even {
                Some(interval) => {
                    LagGrid::even(interval, steps.iter().map(|s| s * rows_per_step).collect())?
                }
                None => {
                    let centres = steps.iter().map(|s| *s as f64 * unit).collect();
                    LagGrid::windows(centres, 0.5 * unit)?.with_ends_off()
                }
            };
            accumulate_lagged(&ensemble, functions, functions, &grid, &config, control)
        };
        let attempt = accumulate(steps);
        if attempt.is_ok() || attempt.as_ref().is_err_and(crate::Error::is_interrupted) {
            return attempt.map(Some);
        }
        let kept: Vec<usize> = steps
            .iter()
            .copied()
            .filter(|s| accumulate(&[*s]).is_ok())
            .collect();
        if kept.is_empty() {
            return Ok(None);
        }
        accumulate(&kept).map(Some)
    }
}

/// Mean time between neighbouring samples, jumps of the times left out.
pub(crate) fn interval(ensemble: &Ensemble) -> f64 {
    if let Some(interval) = ensemble.sampling_interval() {
        return interval;
    }
    let longest = jump(ensemble).unwrap_or(f64::INFINITY);
    let steps = neighbours(ensemble).filter(|step| *step <= longest);
    let (time, count) = steps.fold((0.0, 0), |(sum, n), step| (sum + step, n + 1));
    if count == 0 {
        f64::NAN
    } else {
        time / f64::from(count)
    }
}

/// The time between samples beyond which it is a jump of the times; none where no time jumps.
///
/// A jump is [`JUMP`] times the typical interval, and rare: where long intervals are common, they belong to
/// the sampling.
fn jump(ensemble: &Ensemble) -> Option<f64> {
    let uneven = |t: &Trajectory| matches!(t.times(), Times::Uneven(_));
    if !ensemble.trajectories().iter().any(uneven) {
        return None;
    }
    let longest = JUMP * ensemble.typical_interval().ok()?;
    let (mut long, mut all) = (0, 0);
    for step in neighbours(ensemble) {
        long += usize::from(step > longest);
        all += 1;
    }
    (long > 0 && long * RARE <= all).then_some(longest)
}

/// The record with its times taken together at jumps, and what was done: every stretch between jumps is a
/// trajectory, and begins one interval after the one before it.
pub(super) fn without_jumps(ensemble: &Ensemble) -> Result<(Cow<'_, Ensemble>, Option<Finding>)> {
    let Some(longest) = jump(ensemble) else {
        return Ok((Cow::Borrowed(ensemble), None));
    };
    let typical = ensemble.typical_interval()?;
    let (mut pieces, mut jumps, mut widest) = (Vec::new(), 0, 0.0f64);
    for trajectory in ensemble.trajectories() {
        let (mut begin, mut start) = (0, trajectory.time(0));
        for row in 1..=trajectory.len() {
            let step =
                (row < trajectory.len()).then(|| trajectory.time(row) - trajectory.time(row - 1));
            if step.is_some_and(|step| step <= longest) {
                continue;
            }
            let piece = trajectory.slice(begin..row, 1);
            let shift = start - trajectory.time(begin);
            start += trajectory.time(row - 1) - trajectory.time(begin) + typical;
            pieces.push(shifted(&piece, shift));
            begin = row;
            if let Some(step) = step {
                (jumps, widest) = (jumps + 1, widest.max(step));
            }
        }
    }
    // Steps that differ by the rounding of large times are one.
    let even = |t: &Trajectory| match t.times() {
        Times::Even { step, .. } if t.len() > 1 => Some((t.len(), *step)),
        _ => None,
    };
    let common = pieces.iter().filter_map(even).max_by_key(|e| e.0);
    for piece in &mut pieces {
        if let (Times::Even { start, step }, Some((_, shared))) = (piece.times().clone(), common)
            && (step / shared - 1.0).abs() < 1e-6
        {
            let times = Times::Even {
                start,
                step: shared,
            };
            *piece = Trajectory::new(piece.values().clone(), times);
        }
    }
    let finding = Finding::new(
        FindingKind::Gaps,
        Severity::Info,
        format!(
            "the times jump in {jumps} places, by up to {} sampling intervals; the stretches between jumps are \
             checked as trajectories",
            digits(widest / typical)
        ),
        "give every stretch as a trajectory: with a column that names it (--id), or as one file each",
    );
    let cut = ensemble.rebuilt(pieces.into_iter().filter(has_sample).collect())?;
    Ok((Cow::Owned(cut), Some(finding)))
}

/// The same rows at later times, even where they are on a line.
fn shifted(trajectory: &Trajectory, shift: f64) -> Trajectory {
    let times: Vec<f64> = (0..trajectory.len())
        .map(|i| trajectory.time(i) + shift)
        .collect();
    let largest = times.iter().fold(shift.abs(), |m, t| m.max(t.abs()));
    let last = times.last().map_or(0.0, |t| t.abs());
    let rounding = f64::EPSILON * largest / last.max(f64::MIN_POSITIVE);
    let times = Times::Uneven(times.into()).simplified(rounding.max(f64::EPSILON));
    Trajectory::new(trajectory.values().clone(), times)
}

fn has_sample(trajectory: &Trajectory) -> bool {
    (0..trajectory.len()).any(|i| !trajectory.is_gap(i))
}

/// That sampling is uneven, and how; or that trajectories seem to count time in different units.
pub(super) fn unevenness(ensemble: &Ensemble) -> Option<Finding> {
    /// Factor between the intervals of trajectories from which their units are doubted.
    const DOUBTFUL: f64 = 50.0;
    if ensemble.sampling_interval().is_some() {
        return None;
    }
    let typical = ensemble.typical_interval().ok()?;
    let mean = |t: &Trajectory| (t.time(t.len() - 1) - t.time(0)) / (t.len() - 1) as f64;
    let long = ensemble.trajectories().iter().filter(|t| t.len() > 1);
    let (least, most) = long
        .map(mean)
        .fold((f64::INFINITY, 0.0f64), |(a, b), m| (a.min(m), b.max(m)));
    if most > DOUBTFUL * least {
        return Some(Finding::new(
            FindingKind::UnevenSampling,
            Severity::Warn,
            format!(
                "sampling intervals differ between trajectories: {} in some, {} in others",
                digits(least),
                digits(most)
            ),
            "check that all trajectories use the same unit of time; if they do, fit each sampling \
             interval separately",
        ));
    }
    let longest = neighbours(ensemble).fold(0.0, f64::max);
    let message = format!(
        "sampling is uneven: the median interval is {}, the mean {}, the longest {}",
        digits(typical),
        digits(interval(ensemble)),
        digits(longest)
    );
    let advice = "the fit groups pairs of samples into windows of lags; the validation leaves out spectra and \
         passage times";
    Some(Finding::new(
        FindingKind::UnevenSampling,
        Severity::Info,
        message,
        advice,
    ))
}

/// The times between neighbouring samples.
fn neighbours(ensemble: &Ensemble) -> impl Iterator<Item = f64> {
    ensemble.segments().iter().flat_map(|segment| {
        let trajectory = &ensemble.trajectories()[segment.trajectory];
        let rows = segment.rows.start + 1..segment.rows.end;
        rows.map(|row| trajectory.time(row) - trajectory.time(row - 1))
    })
}

/// Number of gaps, and lengths of the stretches between them.
pub(super) fn gaps(ensemble: &Ensemble) -> Option<Finding> {
    let rows: usize = ensemble.trajectories().iter().map(Trajectory::len).sum();
    if rows == ensemble.samples() {
        return None;
    }
    let segments = ensemble.segments();
    let pairs = segments.windows(2);
    let gaps = pairs.filter(|pair| pair[0].trajectory == pair[1].trajectory);
    let mut lengths: Vec<usize> = segments.iter().map(|s| s.rows.len()).collect();
    let middle = lengths.len() / 2;
    let typical = *lengths.select_nth_unstable(middle).1;
    let message = format!(
        "{} gaps: {:.1} % of the rows are missing, the median length of a stretch without gaps is \
         {typical} rows, the longest {}",
        gaps.count(),
        100.0 * (rows - ensemble.samples()) as f64 / rows as f64,
        longest(ensemble)
    );
    let advice = "pairs do not cross gaps; if the gaps are missing samples rather than breaks between \
                  records, set bridge_gaps = true";
    Some(Finding::new(
        FindingKind::Gaps,
        Severity::Info,
        message,
        advice,
    ))
}

/// Rows with equal times.
pub(super) fn repeated(ensemble: &Ensemble) -> Option<Finding> {
    /// Fraction of all rows from which the times are doubted.
    const DOUBTFUL: f64 = 0.01;
    let (rows, samples) = (ensemble.repeated_rows(), ensemble.samples());
    let many = rows as f64 > DOUBTFUL * samples as f64;
    (rows > 0).then(|| {
        Finding::new(
            FindingKind::RepeatedTimes,
            if many { Severity::Warn } else { Severity::Info },
            format!("{rows} rows had the time of the row before them and were put together with it"),
            "choose with --repeated what becomes of such rows: mean, first or error; if they are different \
             trajectories, name the column that tells them apart (--id)",
        )
    })
}

pub(super) fn longest(ensemble: &Ensemble) -> usize {
    ensemble
        .segments()
        .iter()
        .map(|s| s.rows.len())
        .max()
        .unwrap_or(0)
}

/// The chosen coordinates alone.
pub(super) fn columns<'a>(ensemble: &'a Ensemble, chosen: &[usize]) -> Result<Cow<'a, Ensemble>> {
    if chosen.len() == ensemble.dim() {
        return Ok(Cow::Borrowed(ensemble));
    }
    Ok(Cow::Owned(ensemble.columns(chosen)?))
}
