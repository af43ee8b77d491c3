//! The drift of a model against increments of the data.

use rayon::prelude::*;

use crate::control::Control;
use crate::data::{Ensemble, Standardiser, States};
use crate::error::Result;
use crate::finding::{Finding, FindingKind, Severity, digits};
use crate::lagged::Jackknife;
use crate::model::LangevinModel;
use crate::stats::{normal_score, normal_tails};

/// Most increments that are looked at.
const MOST: usize = 200_000;
/// States whose drift is computed together.
const TILE: usize = 256;
/// Blocks of consecutive increments.
const BLOCKS: usize = 32;
/// Variance of an increment over that of the coordinate, below which sampling is fine.
const FINE: f64 = 0.5;
/// Probability by chance below which an excess counts, over all coordinates.
const CHANCE: f64 = 1e-3;
/// Excess in ⟨(b Δ)²⟩ from which there is a failure. Where increments hardly show a drift, as in a position
/// whose velocity is not seen, it is one at most.
const FAIL: f64 = 0.25;

/// Whether the drift b of a model explains the increments of the data worse than no drift:
///
/// ⟨(Δx − b Δ)²⟩ > ⟨Δx²⟩, or ⟨(b Δ)² − 2 Δx b Δ⟩ > 0, which for the right drift is −⟨(b Δ)²⟩.
///
/// Tested in every coordinate that is sampled finely, with errors over stretches of the record.
pub(crate) fn drift_against_increments(
    model: &LangevinModel,
    states: &Ensemble,
    control: &Control,
) -> Result<Option<Finding>> {
    let Some(interval) = states.sampling_interval() else {
        return Ok(None);
    };
    let dim = states.dim();
    let blocks = sums(model, states, interval, control)?;
    if blocks.len() < 2 {
        return Ok(None);
    }
    // Mean excess and ⟨(b Δ)²⟩ of every coordinate, and ⟨Δx²⟩.
    let means = Jackknife::of_sums(&blocks, |sums| {
        sums[..3 * dim]
            .iter()
            .map(|sum| sum / sums[3 * dim])
            .collect()
    })?;
    let (errors, scales) = (means.errors(), Standardiser::from_ensemble(states)?);
    let freedom = (blocks.len() - 1) as f64;
    let excess = |i: usize| {
        let fine = means.values[2 * dim + i] < FINE * scales.scale[i].powi(2);
        let z = normal_score(means.values[i] / errors[i], freedom);
        let probability = 0.5 * normal_tails(z) * dim as f64;
        let size = means.values[i] / means.values[dim + i];
        (fine && z > 0.0 && probability < CHANCE).then_some((i, size, z))
    };
    let worst = (0..dim).filter_map(excess);
    let Some((i, size, z)) = worst.max_by(|a, b| a.1.total_cmp(&b.1)) else {
        return Ok(None);
    };
    let severity = if size > FAIL {
        Severity::Fail
    } else {
        Severity::Warn
    };
    Ok(Some(Finding::new(
        FindingKind::DriftIncrements,
        severity,
        format!(
            "the increments of {} vary more about the drift of the model than about zero, by {} of what \
             the drift moves ({} standard errors)",
            states.names()[i],
            digits(size),
            digits(z)
        ),
        "the drift is wrong: raise the degrees of score and mobility, or try another mobility.recipe; if \
         the data are not Markov at this interval, add delays (delays.count) or thin them",
    )))
}

/// Per block, for every coordinate: sums of (b Δ)² − 2 Δx b Δ, of (b Δ)² and of Δx²; and the number of
/// increments.
fn sums(
    model: &LangevinModel,
    states: &Ensemble,
    interval: f64,
    control: &Control,
) -> Result<Vec<Vec<f64>>> {
    let dim = states.dim();
    let stride = states.samples().div_ceil(MOST);
    let mut starts: Vec<(usize, usize)> = Vec::new();
    for segment in states.segments() {
        let rows = segment.rows.start..segment.rows.end - 1;
        starts.extend(rows.step_by(stride).map(|row| (segment.trajectory, row)));
    }
    let length = starts.len().div_ceil(BLOCKS).max(1);
    let blocks = starts.par_chunks(length).map(|starts| {
        let mut sums = vec![0.0; 3 * dim + 1];
        let (mut tile, mut next) = (States::default(), vec![0.0; dim]);
        let tiles = starts.chunk_by(|a, b| a.0 == b.0);
        for same in tiles.flat_map(|same| same.chunks(TILE)) {
            let trajectory = &states.trajectories()[same[0].0];
            tile.pick(trajectory, same.iter().map(|start| start.1));
            let mut drift = vec![0.0; tile.len()];
            model.drift(&tile, &mut drift);
            for (k, (_, row)) in same.iter().enumerate() {
                trajectory.row(row + 1, &mut next);
                for i in 0..dim {
                    let at = i * same.len() + k;
                    let moved = states.step(i, tile[at], next[i]);
                    let step = drift[at] * interval;
                    sums[i] += step * (step - 2.0 * moved);
                    sums[dim + i] += step * step;
                    sums[2 * dim + i] += moved * moved;
                }
                sums[3 * dim] += 1.0;
            }
            control.advance(0)?;
        }
        Ok(sums)
    });
    states.intact(blocks.collect())
}
