//! Marginal and joint densities on fixed bins.

use super::config::ValidateConfig;
use super::curves::{Comparison, CurveAxis, Shape, compare};
use super::floor::Norm;
use super::setting::{Setting, same_time};
use crate::control::Control;
use crate::data::Ensemble;
use crate::error::Result;
use crate::lagged::{Jackknife, LaggedConfig, PairTile, Subsample, accumulate_pairs};

/// Equal bins of one coordinate; the outermost ones are open.
#[derive(Clone, Copy, Debug)]
struct Bins {
    coordinate: usize,
    low: f64,
    width: f64,
    count: usize,
}

/// Values that a pass counts; longer records are sub-sampled.
const WORK: usize = 8_000_000;
/// Standard deviations to either side of the mean that bins cover at most.
const REACH: f64 = 4.0;

impl Bins {
    /// `count` bins over the held-out values of a coordinate.
    fn new(setting: &Setting, coordinate: usize, count: usize) -> Self {
        let (mean, scale) = (
            setting.scales.mean[coordinate],
            setting.scales.scale[coordinate],
        );
        let low = setting.quantile(coordinate, 0.0).max(mean - REACH * scale);
        let high = setting.quantile(coordinate, 1.0).min(mean + REACH * scale);
        Self {
            coordinate,
            low,
            width: (high - low) / count as f64,
            count,
        }
    }

    fn of(&self, x: f64) -> usize {
        // A conversion to an integer takes what is below zero as zero.
        (((x - self.low) / self.width) as usize).min(self.count - 1)
    }

    fn axis(&self, names: &[String]) -> CurveAxis {
        let centre = |k: usize| self.low + (k as f64 + 0.5) * self.width;
        CurveAxis {
            name: names[self.coordinate].clone(),
            at: (0..self.count).map(centre).collect(),
        }
    }
}

/// The density of every coordinate; values are the probabilities of the bins, distances
/// L1 = Σ |p_model − p_data|.
pub(super) fn marginals(
    setting: &Setting,
    config: &ValidateConfig,
    control: &Control,
) -> Result<Comparison> {
    let bins = (0..setting.held_out.dim()).map(|i| vec![Bins::new(setting, i, config.bins)]);
    histograms(&bins.collect::<Vec<_>>(), setting, config, control)
}

/// The joint densities of consecutive coordinates.
pub(super) fn joints(
    setting: &Setting,
    config: &ValidateConfig,
    control: &Control,
) -> Result<Comparison> {
    let bins = |i: usize| Bins::new(setting, i, config.joint_bins);
    let pairs = (1..setting.held_out.dim()).map(|i| vec![bins(i - 1), bins(i)]);
    let pairs: Vec<_> = pairs.take(config.joints).collect();
    histograms(&pairs, setting, config, control)
}

/// Histograms over one or two coordinates each.
fn histograms(
    histograms: &[Vec<Bins>],
    setting: &Setting,
    config: &ValidateConfig,
    control: &Control,
) -> Result<Comparison> {
    if histograms.is_empty() {
        return Ok(Comparison::default());
    }
    let estimate = |ensemble: &Ensemble| count(histograms, ensemble, config, control);
    let (data, rollouts) = setting.each(estimate)?;
    let names = setting.held_out.names();
    let shape = |bins: &Vec<Bins>| {
        let axes: Vec<CurveAxis> = bins.iter().map(|b| b.axis(names)).collect();
        let label: Vec<&str> = axes.iter().map(|axis| axis.name.as_str()).collect();
        Shape {
            label: label.join(", "),
            axes,
        }
    };
    let shapes = histograms.iter().map(shape).collect();
    Ok(compare(
        shapes,
        &data,
        &rollouts,
        Norm::Sum,
        config.draws,
        config.seed,
    ))
}

/// The probabilities of all bins of all histograms, one after the other.
fn count(
    histograms: &[Vec<Bins>],
    ensemble: &Ensemble,
    config: &ValidateConfig,
    control: &Control,
) -> Result<Jackknife> {
    let size = |bins: &Vec<Bins>| bins.iter().map(|b| b.count).product::<usize>();
    let total: usize = histograms.iter().map(size).sum();
    let statistics = LaggedConfig {
        subsample: Subsample::Stride((ensemble.samples() * histograms.len()).div_ceil(WORK)),
        blocking: config.blocking,
        first_trajectory: 0,
    };
    let add = |counts: &mut Vec<f64>, tile: &PairTile| {
        let n = tile.times.len();
        let mut start = 0;
        for bins in histograms {
            for s in 0..n {
                let place = bins.iter().fold(0, |place, b| {
                    place * b.count + b.of(tile.initial[b.coordinate * n + s])
                });
                counts[start + place] += 1.0;
            }
            start += size(bins);
        }
        counts[total] += n as f64;
    };
    let blocks = accumulate_pairs(
        ensemble,
        &same_time(ensemble)?,
        &statistics,
        control,
        || vec![0.0; total + 1],
        add,
    )?;
    let blocks: Vec<Vec<f64>> = blocks.into_iter().map(|(_, counts)| counts).collect();
    Jackknife::of_sums(&blocks, |sums| {
        sums[..total]
            .iter()
            .map(|count| count / sums[total])
            .collect()
    })
}
