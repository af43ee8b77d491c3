//! Marginal and joint densities on fixed bins.

use super::config::ValidateConfig;
use super::curves::{Comparison, CurveAxis, Shape, compare};
use super::floor::Norm;
use super::setting::{Setting, same_time};
use crate::control::Control;
use crate::data::Ensemble;
use crate::error::Result;
use crate::lagged::{Jackknife, LaggedConfig, PairTile, Subsample, accumulate_pairs};

/// Equal bins of a number; the outermost ones are open.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bins {
    low: f64,
    width: f64,
    count: usize,
}

/// A histogram of one or two numbers. The coordinates at several places are counted together.
#[derive(Clone, Debug)]
pub(super) struct Histogram {
    /// What is along the axes.
    pub(super) names: Vec<String>,
    /// The bins along each.
    pub(super) bins: Vec<Bins>,
    /// Coordinates that are counted, one per axis.
    pub(super) places: Vec<Vec<usize>>,
}

/// Values that a pass counts; longer records are sub-sampled.
const WORK: usize = 8_000_000;
/// Standard deviations to either side of the mean that bins cover at most.
const REACH: f64 = 4.0;

impl Bins {
    /// `count` bins from `low` to `high`, but not far from the `mean` in units of the `scale`.
    pub(super) fn new([low, high]: [f64; 2], mean: f64, scale: f64, count: usize) -> Self {
        let (low, high) = (
            low.max(mean - REACH * scale),
            high.min(mean + REACH * scale),
        );
        Self {
            low,
            width: (high - low) / count as f64,
            count,
        }
    }

    /// `count` bins over the held-out values of a coordinate, over all of the period of an angle.
    fn of_coordinate(setting: &Setting, coordinate: usize, count: usize) -> Self {
        if let Some(circle) = setting.held_out.circle(coordinate) {
            return Self {
                low: circle.low,
                width: circle.period / count as f64,
                count,
            };
        }
        let ends = [0.0, 1.0].map(|fraction| setting.quantile(coordinate, fraction));
        let scales = &setting.scales;
        Self::new(
            ends,
            scales.mean[coordinate],
            scales.scale[coordinate],
            count,
        )
    }

    fn of(&self, x: f64) -> usize {
        // A conversion to an integer takes what is below zero as zero.
        (((x - self.low) / self.width) as usize).min(self.count - 1)
    }

    fn centres(&self) -> Vec<f64> {
        let centre = |k: usize| self.low + (k as f64 + 0.5) * self.width;
        (0..self.count).map(centre).collect()
    }
}

impl Histogram {
    /// Of coordinates as they are, with `count` bins each.
    fn of_coordinates(setting: &Setting, coordinates: Vec<usize>, count: usize) -> Self {
        let each = || coordinates.iter();
        Self {
            names: each()
                .map(|i| setting.held_out.names()[*i].clone())
                .collect(),
            bins: each()
                .map(|i| Bins::of_coordinate(setting, *i, count))
                .collect(),
            places: vec![coordinates],
        }
    }

    fn size(&self) -> usize {
        self.bins.iter().map(|bins| bins.count).product()
    }

    pub(super) fn shape(&self) -> Shape {
        let axes = self.names.iter().zip(&self.bins);
        Shape {
            label: self.names.join(", "),
            axes: axes
                .map(|(name, bins)| CurveAxis {
                    name: name.clone(),
                    at: bins.centres(),
                })
                .collect(),
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
    let marginal = |i: usize| Histogram::of_coordinates(setting, vec![i], config.bins);
    let marginals: Vec<_> = (0..setting.held_out.dim()).map(marginal).collect();
    histograms(&marginals, setting, config, control)
}

/// The joint densities of consecutive coordinates.
pub(super) fn joints(
    setting: &Setting,
    config: &ValidateConfig,
    control: &Control,
) -> Result<Comparison> {
    let joint = |i: usize| Histogram::of_coordinates(setting, vec![i - 1, i], config.joint_bins);
    let joints = (1..setting.held_out.dim()).take(config.joints).map(joint);
    histograms(&joints.collect::<Vec<_>>(), setting, config, control)
}

/// Histograms over one or two coordinates each.
fn histograms(
    histograms: &[Histogram],
    setting: &Setting,
    config: &ValidateConfig,
    control: &Control,
) -> Result<Comparison> {
    if histograms.is_empty() {
        return Ok(Comparison::default());
    }
    let estimate = |ensemble: &Ensemble| {
        let statistics = LaggedConfig {
            subsample: Subsample::Stride((ensemble.samples() * histograms.len()).div_ceil(WORK)),
            blocking: setting.blocking(ensemble),
            first_trajectory: 0,
        };
        count(histograms, ensemble, &statistics, control)
    };
    let (data, rollouts) = setting.each(estimate)?;
    Ok(compare(
        histograms.iter().map(Histogram::shape).collect(),
        &data,
        &rollouts,
        &setting.records,
        Norm::Sum,
        config.draws,
        config.seed,
    ))
}

/// The probabilities of all bins of all histograms, one after the other.
pub(super) fn count(
    histograms: &[Histogram],
    ensemble: &Ensemble,
    statistics: &LaggedConfig,
    control: &Control,
) -> Result<Jackknife> {
    let total: usize = histograms.iter().map(Histogram::size).sum();
    let add = |counts: &mut Vec<f64>, tile: &PairTile| {
        let n = tile.times.len();
        let mut start = 0;
        for histogram in histograms {
            for coordinates in &histogram.places {
                for s in 0..n {
                    let axes = coordinates.iter().zip(&histogram.bins);
                    let place = axes.fold(0, |place, (i, bins)| {
                        place * bins.count + bins.of(tile.initial[i * n + s])
                    });
                    counts[start + place] += 1.0;
                }
            }
            start += histogram.size();
        }
        counts[total] += n as f64;
    };
    let blocks = accumulate_pairs(
        ensemble,
        &same_time(ensemble)?,
        statistics,
        control,
        || vec![0.0; total + 1],
        add,
    )?;
    let blocks: Vec<Vec<f64>> = blocks.into_iter().map(|(_, counts)| counts).collect();
    Jackknife::of_sums(&blocks, |sums| {
        let (counts, samples) = sums.split_at(total);
        let mut rest = counts;
        let mut probabilities = Vec::with_capacity(total);
        for histogram in histograms {
            let (own, others) = rest.split_at(histogram.size());
            let all = samples[0] * histogram.places.len() as f64;
            probabilities.extend(own.iter().map(|count| count / all));
            rest = others;
        }
        probabilities
    })
}
