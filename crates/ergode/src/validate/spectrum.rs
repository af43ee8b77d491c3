//! Power spectra by Welch's method.

use std::f64::consts::PI;
use std::ops::Range;

use rayon::prelude::*;

use super::config::ValidateConfig;
use super::curves::{Comparison, CurveAxis, Shape, compare};
use super::floor::Norm;
use super::setting::Setting;
use crate::check::fourier;
use crate::control::Control;
use crate::data::{Ensemble, Trajectory};
use crate::error::Result;
use crate::lagged::Jackknife;

/// Length of a stretch in units of the longest lag.
const STRETCH: f64 = 4.0;
/// Longest stretch in samples.
const LONGEST: usize = 1 << 14;
/// Fewest samples in a stretch, and fewest stretches in a record.
const FEWEST: usize = 16;

/// The logarithm of the power spectral density of every coordinate, with the variance as its integral
/// over the positive frequencies; a note instead where a record is too short.
///
/// S(f) = 2 Δ |Σ_b w_b (x_b − x̄) e^{−2πifbΔ}|² / Σ_b w_b², averaged over the stretches of a record, with
/// Hann's window w and x̄ the mean of the held-out data, and over bands of frequencies that are equally
/// wide on a logarithmic scale.
pub(super) fn spectra(
    setting: &Setting,
    config: &ValidateConfig,
    control: &Control,
) -> Result<(Comparison, Option<String>)> {
    let wanted = (STRETCH * setting.horizon / setting.interval) as usize;
    let length = wanted.next_power_of_two().min(LONGEST);
    let all = || std::iter::once(&setting.held_out).chain(&setting.rollouts);
    let enough =
        |length: usize| all().all(|e| Welch::new(e, length, setting, config).stretches() >= FEWEST);
    let halved = std::iter::successors(Some(length), |l| (l / 2 >= FEWEST).then_some(l / 2));
    let Some(length) = { halved }.find(|length| enough(*length)) else {
        let note = format!(
            "power spectra need {FEWEST} stretches of {FEWEST} samples without gaps in every \
             ensemble; give longer records"
        );
        return Ok((Comparison::default(), Some(note)));
    };
    let (data, rollouts) =
        setting.each(|e| Welch::new(e, length, setting, config).estimate(control))?;
    let axis = CurveAxis {
        name: "frequency".into(),
        at: bands(length, config.frequencies)
            .iter()
            .map(|band| {
                let middle = 0.5 * (band.start + band.end - 1) as f64;
                middle / (length as f64 * setting.interval)
            })
            .collect(),
    };
    let shapes = setting.held_out.names().iter().map(|name| Shape {
        label: name.clone(),
        axes: vec![axis.clone()],
    });
    let comparison = compare(
        shapes.collect(),
        &data,
        &rollouts,
        Norm::RootMeanSquare,
        config.draws,
        config.seed,
    );
    Ok((comparison, None))
}

/// Bands of the positive frequencies k/(nΔ), about `count` of them, equally wide on a logarithmic
/// scale but at least one frequency wide; the last is below the Nyquist frequency.
fn bands(length: usize, count: usize) -> Vec<Range<usize>> {
    let last = length / 2;
    let mut bands: Vec<Range<usize>> = Vec::new();
    let mut start = 1;
    for k in 1..=count {
        let edge = (last as f64).powf(k as f64 / count as f64).round() as usize;
        let end = edge.clamp(start + 1, last.max(start + 1));
        if start < last {
            bands.push(start..end);
            start = end;
        }
    }
    bands
}

/// Stretches of one ensemble.
struct Welch<'a> {
    ensemble: &'a Ensemble,
    /// Per block: trajectory and first row of every stretch.
    blocks: Vec<Vec<(usize, usize)>>,
    length: usize,
    bands: Vec<Range<usize>>,
    setting: &'a Setting,
}

impl<'a> Welch<'a> {
    fn new(
        ensemble: &'a Ensemble,
        length: usize,
        setting: &'a Setting,
        config: &ValidateConfig,
    ) -> Self {
        let plan = config.blocking.plan(ensemble, 0);
        let blocks = plan.iter().map(|block| {
            let fitting = block.starts.iter().flat_map(|(_, rows)| {
                let starts = (rows.start..rows.end).step_by(length);
                starts.filter(|start| start + length <= rows.end)
            });
            fitting.map(|start| (block.id.trajectory, start)).collect()
        });
        Self {
            ensemble,
            blocks: blocks.collect(),
            length,
            bands: bands(length, config.frequencies),
            setting,
        }
    }

    fn stretches(&self) -> usize {
        self.blocks.iter().map(Vec::len).sum()
    }

    /// ln S of every band of every coordinate.
    fn estimate(&self, control: &Control) -> Result<Jackknife> {
        let (dim, bands) = (self.ensemble.dim(), self.bands.len());
        let window: Vec<f64> = (0..self.length)
            .map(|b| (PI * (b as f64 + 0.5) / self.length as f64).sin().powi(2))
            .collect();
        let weight: f64 = window.iter().map(|w| w * w).sum();
        control.begin(self.stretches() as u64);
        let blocks = self
            .blocks
            .par_iter()
            .map(|stretches| {
                let mut sums = vec![0.0; dim * bands + 1];
                let mut work = Work::new(dim, self.length);
                for &(trajectory, start) in stretches {
                    work.load(&self.ensemble.trajectories()[trajectory], start);
                    for first in (0..dim).step_by(2) {
                        work.transform(first, &self.setting.scales.mean, &window);
                        for j in first..dim.min(first + 2) {
                            for (sum, band) in sums[j * bands..].iter_mut().zip(&self.bands) {
                                *sum += work.power(band, j - first);
                            }
                        }
                    }
                    sums[dim * bands] += 1.0;
                    control.advance(1)?;
                }
                Ok(sums)
            })
            .collect::<Result<Vec<Vec<f64>>>>()?;
        let factor = 2.0 * self.setting.interval / weight;
        Jackknife::of_sums(&blocks, |sums| {
            let mean = |sum: &f64| (factor * sum / sums[dim * bands]).ln();
            sums[..dim * bands].iter().map(mean).collect()
        })
    }
}

/// Buffers of one thread.
struct Work {
    dim: usize,
    rows: Vec<f64>,
    re: Vec<f64>,
    im: Vec<f64>,
}

impl Work {
    fn new(dim: usize, length: usize) -> Self {
        Self {
            dim,
            rows: vec![0.0; dim * length],
            re: vec![0.0; length],
            im: vec![0.0; length],
        }
    }

    fn load(&mut self, trajectory: &Trajectory, start: usize) {
        trajectory.copy_rows(start..start + self.re.len(), &mut self.rows);
    }

    /// Transform coordinates `j` and `j` + 1 of the stretch together, one as the real and one as the
    /// imaginary part.
    fn transform(&mut self, j: usize, means: &[f64], window: &[f64]) {
        for (part, j) in [&mut self.re, &mut self.im].into_iter().zip([j, j + 1]) {
            if j == self.dim {
                part.fill(0.0);
                continue;
            }
            let rows = self.rows.chunks_exact(self.dim);
            for ((value, row), w) in part.iter_mut().zip(rows).zip(window) {
                *value = w * (row[j] - means[j]);
            }
        }
        fourier(&mut self.re, &mut self.im);
    }

    /// Mean |X_k|² over a band of the first (0) or the second (1) coordinate of the transform Z:
    /// (Z_k + Z*_{n−k})/2 and (Z_k − Z*_{n−k})/2i.
    fn power(&self, band: &Range<usize>, which: usize) -> f64 {
        let n = self.re.len();
        let sign = if which == 0 { 1.0 } else { -1.0 };
        let square = |k: usize| {
            let re = self.re[k] + sign * self.re[n - k];
            let im = self.im[k] - sign * self.im[n - k];
            0.25 * (re * re + im * im)
        };
        band.clone().map(square).sum::<f64>() / band.len() as f64
    }
}
