//! Mean first-passage times between the low and the high states of a coordinate.

use super::config::ValidateConfig;
use super::curves::{Comparison, Shape, compare};
use super::floor::Norm;
use super::setting::Setting;
use crate::control::Control;
use crate::data::Ensemble;
use crate::error::Result;
use crate::lagged::{Jackknife, over_blocks};

/// Fewest passages in a record for a mean.
const FEWEST: f64 = 16.0;

/// Mean time of a passage from below the lower quantile to above the upper one, and back, as its
/// logarithm; passages too rare for a mean are left out with a note.
///
/// A phase of a trajectory lasts from its first visit of the one set to its next visit of the other.
/// The mean is the time in all phases over the number of those that ended, so that phases cut off at
/// the end of a record do not shorten it.
pub(super) fn passages(
    setting: &Setting,
    config: &ValidateConfig,
    control: &Control,
) -> Result<(Comparison, Vec<String>)> {
    let dim = setting.held_out.dim();
    let bounds = |i: usize| config.quantiles.map(|q| setting.quantile(i, q));
    let bounds: Vec<[f64; 2]> = (0..dim).map(bounds).collect();
    let all = std::iter::once(&setting.held_out).chain(&setting.rollouts);
    let sums = all
        .map(|ensemble| phases(ensemble, &bounds, config, setting.interval, control))
        .collect::<Result<Vec<_>>>()?;
    let frequent = |direction: usize| {
        let count = |blocks: &Vec<Vec<f64>>| -> f64 {
            blocks.iter().map(|block| block[2 * direction + 1]).sum()
        };
        sums.iter().all(|blocks| count(blocks) >= FEWEST)
    };
    let kept: Vec<usize> = (0..2 * dim).filter(|k| frequent(*k)).collect();
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
        Norm::RootMeanSquare,
        config.draws,
        config.seed,
    );
    Ok((comparison, notes))
}

/// Per block: the time in upward phases, the number that ended, the same downwards; for each
/// coordinate.
fn phases(
    ensemble: &Ensemble,
    bounds: &[[f64; 2]],
    config: &ValidateConfig,
    interval: f64,
    control: &Control,
) -> Result<Vec<Vec<f64>>> {
    let plan = config.blocking.plan(ensemble, 0);
    let blocks = over_blocks(ensemble, &plan, control, |block| {
        let mut sums = vec![0.0; 4 * bounds.len()];
        let mut row = vec![0.0; bounds.len()];
        for stretch in &block.starts {
            let (trajectory, rows) = (&ensemble.trajectories()[stretch.trajectory], &stretch.rows);
            let mut phase: Vec<Option<usize>> = vec![None; bounds.len()];
            for i in rows.clone() {
                trajectory.row(i, &mut row);
                for (j, phase) in phase.iter_mut().enumerate() {
                    let sums = &mut sums[4 * j..4 * j + 4];
                    if let Some(direction) = *phase {
                        sums[2 * direction] += interval;
                    }
                    let visited = match row[j] {
                        x if x < bounds[j][0] => Some(0),
                        x if x > bounds[j][1] => Some(1),
                        _ => None,
                    };
                    if visited.is_some() && visited != *phase {
                        if let Some(direction) = *phase {
                            sums[2 * direction + 1] += 1.0;
                        }
                        *phase = visited;
                    }
                }
            }
            control.advance(rows.len() as u64)?;
        }
        Ok(sums)
    })?;
    Ok(blocks.into_iter().map(|(_, sums)| sums).collect())
}
