//! Mean first-passage times between the low and the high states of a coordinate.

use rayon::prelude::*;

use super::config::ValidateConfig;
use super::curves::{Comparison, Shape, compare};
use super::floor::Norm;
use super::setting::Setting;
use crate::control::Control;
use crate::data::Ensemble;
use crate::error::Result;
use crate::lagged::Jackknife;

/// Fewest passages in a record for a mean.
const FEWEST: f64 = 16.0;

/// Mean time of a passage from below the lower quantile to above the upper one, and back, as its
/// logarithm, of coordinates that are no angles; passages too rare for a mean are left out with a note.
///
/// A phase of a trajectory lasts from its first visit of the one set to its next visit of the other.
/// The mean is the time in all phases over the number of those that ended, so that phases cut off at
/// the end of a record shorten it less. Every ensemble is cut into windows of one length, so that what
/// the cuts do to the mean is the same for data and rollouts; blocks do not cut phases.
pub(super) fn passages(
    setting: &Setting,
    config: &ValidateConfig,
    control: &Control,
) -> Result<(Comparison, Vec<String>)> {
    let dim = setting.held_out.dim();
    let bounds = |i: usize| config.quantiles.map(|q| setting.quantile(i, q));
    let bounds: Vec<[f64; 2]> = (0..dim).map(bounds).collect();
    let all = || std::iter::once(&setting.held_out).chain(&setting.rollouts);
    let window = all().map(usual_stretch).min().unwrap_or(1);
    let count = |ensemble: &Ensemble| {
        let blocks = setting.blocking(ensemble).plan(ensemble, 0).len();
        phases(ensemble, &bounds, window, blocks, setting.interval, control)
    };
    let sums = all().map(count).collect::<Result<Vec<_>>>()?;
    let frequent = |direction: usize| {
        let count = |blocks: &Vec<Vec<f64>>| -> f64 {
            blocks.iter().map(|block| block[2 * direction + 1]).sum()
        };
        sums.iter().all(|blocks| count(blocks) >= FEWEST)
    };
    // On a circle no state is between two others.
    let line = |k: &usize| setting.held_out.circle(k / 2).is_none();
    let kept: Vec<usize> = (0..2 * dim).filter(line).filter(|k| frequent(*k)).collect();
    let label = |k: usize| {
        let (name, [low, high]) = (&setting.held_out.names()[k / 2], config.quantiles);
        let (from, to) = if k.is_multiple_of(2) {
            (low, high)
        } else {
            (high, low)
        };
        format!("{name} from quantile {from} to {to}")
    };
    let notes = (0..2 * dim)
        .filter(line)
        .filter(|k| !kept.contains(k))
        .map(|k| {
            format!(
                "an ensemble has fewer than {FEWEST} passages of {}, too few to compare; give longer \
                 records",
                label(k)
            )
        })
        .collect();
    if kept.is_empty() {
        return Ok((Comparison::default(), notes));
    }
    let estimate = |blocks: &Vec<Vec<f64>>| {
        Jackknife::of_sums(blocks, |sums| {
            let mean = |k: &usize| (sums[2 * k] / sums[2 * k + 1].max(0.5)).ln();
            kept.iter().map(mean).collect()
        })
    };
    let mut estimates = sums.iter().map(estimate).collect::<Result<Vec<_>>>()?;
    let data = estimates.remove(0);
    let shape = |k: &usize| Shape {
        label: label(*k),
        axes: Vec::new(),
    };
    let comparison = compare(
        kept.iter().map(shape).collect(),
        &data,
        &estimates,
        &setting.records,
        Norm::RootMeanSquare,
        config.draws,
        config.seed,
    );
    Ok((comparison, notes))
}

/// The length of stretches without gaps such that half of all samples lie in stretches at least as long.
fn usual_stretch(ensemble: &Ensemble) -> usize {
    let mut lengths: Vec<usize> = ensemble.segments().iter().map(|s| s.rows.len()).collect();
    lengths.sort_unstable_by(|a, b| b.cmp(a));
    let mut seen = 0;
    let longest = lengths.iter().find(|length| {
        seen += *length;
        2 * seen >= ensemble.samples()
    });
    longest.copied().unwrap_or(1)
}

/// Per block: the time in upward phases, the number that ended, the same downwards; for each
/// coordinate. A phase counts where its samples are, its end where it ends.
fn phases(
    ensemble: &Ensemble,
    bounds: &[[f64; 2]],
    window: usize,
    blocks: usize,
    interval: f64,
    control: &Control,
) -> Result<Vec<Vec<f64>>> {
    let mut windows: Vec<(usize, usize)> = Vec::new();
    for segment in ensemble.segments() {
        let starts = segment.rows.clone().step_by(window);
        let whole = starts.filter(|start| start + window <= segment.rows.end);
        windows.extend(whole.map(|start| (segment.trajectory, start)));
    }
    control.begin((windows.len() * window) as u64);
    let total = windows.len() * window;
    let pieces = windows
        .par_iter()
        .enumerate()
        .map(|(k, &(trajectory, start))| {
            let trajectory = &ensemble.trajectories()[trajectory];
            // Blocks of equal numbers of samples, in the order of the windows.
            let block = |i: usize| (k * window + i) * blocks / total;
            let first = block(0);
            let mut sums = vec![vec![0.0; 4 * bounds.len()]; block(window - 1) - first + 1];
            let mut phase: Vec<Option<usize>> = vec![None; bounds.len()];
            let mut row = vec![0.0; bounds.len()];
            for i in 0..window {
                trajectory.row(start + i, &mut row);
                let sums = &mut sums[block(i) - first];
                for (j, phase) in phase.iter_mut().enumerate() {
                    step(
                        phase,
                        row[j],
                        bounds[j],
                        interval,
                        &mut sums[4 * j..4 * j + 4],
                    );
                }
            }
            control.advance(window as u64)?;
            Ok((first, sums))
        });
    let pieces = ensemble.intact(pieces.collect::<Result<Vec<_>>>())?;
    let mut all = vec![vec![0.0; 4 * bounds.len()]; blocks];
    for (first, sums) in pieces {
        for (all, sums) in all[first..].iter_mut().zip(sums) {
            all.iter_mut().zip(sums).for_each(|(all, sum)| *all += sum);
        }
    }
    Ok(all)
}

/// Add one sample to the time in the phase that it is in, and to the number that ended if it ends it.
fn step(phase: &mut Option<usize>, x: f64, bounds: [f64; 2], interval: f64, sums: &mut [f64]) {
    if let Some(direction) = *phase {
        sums[2 * direction] += interval;
    }
    let visited = match x {
        x if x < bounds[0] => Some(0),
        x if x > bounds[1] => Some(1),
        _ => None,
    };
    if visited.is_some() && visited != *phase {
        if let Some(direction) = *phase {
            sums[2 * direction + 1] += 1.0;
        }
        *phase = visited;
    }
}
