//! Power spectra by Welch's method.

use std::f64::consts::PI;
use std::ops::Range;

use rayon::prelude::*;
use realfft::num_complex::Complex64;

use super::config::ValidateConfig;
use super::curves::{Comparison, CurveAxis, Shape, compare};
use super::floor::Norm;
use super::setting::Setting;
use crate::control::Control;
use crate::data::{Ensemble, Trajectory};
use crate::error::Result;
use crate::lagged::Jackknife;
use crate::stats::Fourier;

/// Length of a stretch in units of the longest lag.
const STRETCH: f64 = 4.0;
/// Longest stretch in samples.
const LONGEST: usize = 1 << 14;
/// What an angle is taken for.
const WAVES: [fn(f64) -> f64; 2] = [f64::cos, f64::sin];
/// Fewest samples in a stretch, and fewest stretches in a record.
const FEWEST: usize = 16;

/// The logarithm of the power spectral density of every coordinate, of an angle θ that of e^{iθ}, with the variance as its integral
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
        &setting.records,
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
        let plan = setting.blocking(ensemble).plan(ensemble, 0);
        let blocks = plan.iter().map(|block| {
            let fitting = block.starts.iter().flat_map(|stretch| {
                let rows = &stretch.rows;
                let starts = (rows.start..rows.end).step_by(length);
                let starts = starts.filter(|start| start + length <= rows.end);
                starts.map(|start| (stretch.trajectory, start))
            });
            fitting.collect()
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
                    for (j, sums) in sums[..dim * bands].chunks_exact_mut(bands).enumerate() {
                        let Some(circle) = self.setting.held_out.circle(j) else {
                            let of = (j, self.setting.scales.mean[j]);
                            work.add_power(of, |x| x, &window, &self.bands, sums);
                            continue;
                        };
                        for (wave, mean) in WAVES.iter().zip(self.setting.directions[j]) {
                            let function = |x: f64| wave(circle.radians(x));
                            work.add_power((j, mean), function, &window, &self.bands, sums);
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
    fourier: Fourier,
}

impl Work {
    fn new(dim: usize, length: usize) -> Self {
        Self {
            dim,
            rows: vec![0.0; dim * length],
            fourier: Fourier::new(length),
        }
    }

    fn load(&mut self, trajectory: &Trajectory, start: usize) {
        let length = self.rows.len() / self.dim;
        trajectory.copy_rows(start..start + length, &mut self.rows);
    }

    /// Add the mean |X_k|² over each band of coordinate `j` of the stretch to `sums`.
    fn add_power(
        &mut self,
        (j, mean): (usize, f64),
        function: impl Fn(f64) -> f64,
        window: &[f64],
        bands: &[Range<usize>],
        sums: &mut [f64],
    ) {
        let column = self.rows.iter().skip(j).step_by(self.dim);
        for ((value, x), w) in self.fourier.input.iter_mut().zip(column).zip(window) {
            *value = w * (function(*x) - mean);
        }
        let amplitudes = self.fourier.transform();
        for (sum, band) in sums.iter_mut().zip(bands) {
            let power: f64 = amplitudes[band.clone()]
                .iter()
                .map(Complex64::norm_sqr)
                .sum();
            *sum += power / band.len() as f64;
        }
    }
}
