//! Mean currents of angles: how many turns they make.

use super::config::ValidateConfig;
use super::curves::{Comparison, Shape, compare};
use super::floor::Norm;
use super::setting::Setting;
use crate::control::Control;
use crate::data::Ensemble;
use crate::error::Result;
use crate::lagged::Jackknife;

/// Turns per unit of time of every angle: the mean of the steps between neighbouring samples, the shorter way round,
/// over the time between them and the period, with errors over blocks. Their sum over a record is its winding
/// number.
pub(super) fn windings(
    setting: &Setting,
    config: &ValidateConfig,
    control: &Control,
) -> Result<Comparison> {
    let circles = setting.held_out.circles().enumerate();
    let angles: Vec<usize> = circles.filter_map(|(j, c)| c.map(|_| j)).collect();
    if angles.is_empty() {
        return Ok(Comparison::default());
    }
    let (data, rollouts) = setting.each(|ensemble| turns(ensemble, &angles, setting, control))?;
    let shape = |j: &usize| Shape {
        label: setting.held_out.names()[*j].clone(),
        axes: Vec::new(),
    };
    Ok(compare(
        angles.iter().map(shape).collect(),
        &data,
        &rollouts,
        &setting.records,
        Norm::RootMeanSquare,
        config.draws,
        config.seed,
    ))
}

/// The turns per unit of time of these coordinates.
fn turns(
    ensemble: &Ensemble,
    angles: &[usize],
    setting: &Setting,
    control: &Control,
) -> Result<Jackknife> {
    let plan = setting.blocking(ensemble).plan(ensemble, 0);
    let [mut now, mut next] = [(); 2].map(|()| vec![0.0; ensemble.dim()]);
    let mut blocks = Vec::with_capacity(plan.len());
    for block in &plan {
        let mut sums = vec![0.0; angles.len() + 1];
        for stretch in &block.starts {
            let trajectory = &ensemble.trajectories()[stretch.trajectory];
            let rows = &stretch.rows;
            if rows.len() < 2 {
                continue;
            }
            trajectory.row(rows.start, &mut now);
            for row in rows.start + 1..rows.end {
                trajectory.row(row, &mut next);
                for (sum, &j) in sums.iter_mut().zip(angles) {
                    *sum += ensemble.step(j, now[j], next[j]);
                }
                std::mem::swap(&mut now, &mut next);
            }
            *sums.last_mut().expect("the time") +=
                trajectory.time(rows.end - 1) - trajectory.time(rows.start);
        }
        control.advance(0)?;
        blocks.push(sums);
    }
    let blocks = ensemble.intact(Ok(blocks))?;
    let period = |j: &usize| ensemble.circle(*j).map_or(1.0, |circle| circle.period);
    let periods: Vec<f64> = angles.iter().map(period).collect();
    Jackknife::of_sums(&blocks, |sums| {
        let time = sums[angles.len()];
        sums.iter()
            .zip(&periods)
            .map(|(sum, period)| sum / (time * period))
            .collect()
    })
}
