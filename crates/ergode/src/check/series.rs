//! The record as one series on a regular grid of times, and its periodogram.

use std::f64::consts::{PI, TAU};
use std::ops::Range;

use super::record::Record;
use crate::control::Control;
use crate::error::Result;
use crate::stats::Fourier;

/// Most bins of a series.
pub(super) const BINS: usize = 1 << 15;

/// Sums over bins of time of the standardised coordinates of all trajectories.
pub(super) struct Series {
    start: f64,
    pub(super) width: f64,
    /// True where a bin holds many samples, so that averaging damps what is faster.
    averaged: bool,
    counts: Vec<f64>,
    /// Mean time of the samples of a bin.
    times: Vec<f64>,
    /// One list of bin sums per coordinate.
    sums: Vec<Vec<f64>>,
}

impl Series {
    /// The whole record; bins as wide as the sampling interval, or wider where it is long.
    pub(super) fn whole(record: &Record, control: &Control) -> Result<Self> {
        let (mut first, mut last) = (f64::INFINITY, f64::NEG_INFINITY);
        for trajectory in record.ensemble.trajectories() {
            first = first.min(trajectory.time(0));
            last = last.max(trajectory.time(trajectory.len() - 1));
        }
        let width = record.interval.max((last - first) / (BINS - 1) as f64);
        let mut series = Self::empty(record, first, last, width);
        control.begin(record.ensemble.samples() as u64);
        for segment in record.ensemble.segments() {
            series.add(record, segment.trajectory, segment.rows.clone(), control)?;
        }
        Ok(series.finish())
    }

    /// The beginning of the longest stretch, at full resolution.
    pub(super) fn beginning(record: &Record, control: &Control) -> Result<Self> {
        let segments = record.ensemble.segments();
        let longest = segments
            .iter()
            .max_by_key(|s| s.rows.len())
            .expect("there is a segment");
        let trajectory = &record.ensemble.trajectories()[longest.trajectory];
        let start = longest.rows.start;
        let limit = trajectory.time(start) + record.interval * (BINS - 2) as f64;
        let end = longest
            .rows
            .clone()
            .find(|&i| trajectory.time(i) > limit)
            .unwrap_or(longest.rows.end);
        let mut series = Self::empty(
            record,
            trajectory.time(start),
            trajectory.time(end - 1),
            record.interval,
        );
        series.add(record, longest.trajectory, start..end, control)?;
        Ok(series.finish())
    }

    fn empty(record: &Record, first: f64, last: f64, width: f64) -> Self {
        let bins = ((last - first) / width + 1e-6) as usize + 1;
        Self {
            start: first,
            width,
            averaged: width > 1.5 * record.interval,
            counts: vec![0.0; bins],
            times: vec![0.0; bins],
            sums: vec![vec![0.0; bins]; record.dim()],
        }
    }

    fn add(
        &mut self,
        record: &Record,
        trajectory: usize,
        rows: Range<usize>,
        control: &Control,
    ) -> Result<()> {
        /// Rows that are read together.
        const TOGETHER: usize = 4096;
        let (trajectory, dim) = (&record.ensemble.trajectories()[trajectory], record.dim());
        let mut block = Vec::new();
        for start in rows.clone().step_by(TOGETHER) {
            let rows = start..rows.end.min(start + TOGETHER);
            block.resize(rows.len() * dim, 0.0);
            trajectory.copy_rows(rows.clone(), &mut block);
            record.scales.forward(&mut block);
            control.advance(rows.len() as u64)?;
            for (i, row) in rows.zip(block.chunks_exact(dim)) {
                let time = trajectory.time(i);
                // The sum in `empty` and this one may round differently.
                let bin =
                    (((time - self.start) / self.width + 1e-6) as usize).min(self.counts.len() - 1);
                self.counts[bin] += 1.0;
                self.times[bin] += time - self.start;
                for (sums, x) in self.sums.iter_mut().zip(row) {
                    sums[bin] += x;
                }
            }
        }
        Ok(())
    }

    fn finish(mut self) -> Self {
        for (time, count) in self.times.iter_mut().zip(&self.counts) {
            *time /= count.max(1.0);
        }
        self
    }

    pub(super) fn len(&self) -> usize {
        self.counts.len()
    }

    pub(super) fn dim(&self) -> usize {
        self.sums.len()
    }

    /// One coordinate alone.
    pub(super) fn only(&self, j: usize) -> Self {
        Self {
            sums: vec![self.sums[j].clone()],
            counts: self.counts.clone(),
            times: self.times.clone(),
            ..*self
        }
    }

    /// Take the mean and the linear trend out of every coordinate.
    pub(super) fn detrended(mut self) -> Self {
        let n: f64 = self.counts.iter().sum();
        let weighted = |f: &dyn Fn(usize) -> f64| -> f64 { (0..self.counts.len()).map(f).sum() };
        let centre = weighted(&|b| self.counts[b] * self.times[b]) / n;
        let sxx = weighted(&|b| self.counts[b] * (self.times[b] - centre).powi(2));
        for sums in &mut self.sums {
            let mean = sums.iter().sum::<f64>() / n;
            let sxy: f64 = sums
                .iter()
                .zip(&self.times)
                .map(|(s, t)| s * (t - centre))
                .sum();
            let slope = if sxx > 0.0 { sxy / sxx } else { 0.0 };
            for (b, sum) in sums.iter_mut().enumerate() {
                *sum -= self.counts[b] * (mean + slope * (self.times[b] - centre));
            }
        }
        self
    }

    /// |Σ_b s_b e^{−2πi f b w}|² at the frequencies k/(n w), n the next power of two, k ≤ n/2.
    pub(super) fn periodogram(&self, j: usize) -> Vec<f64> {
        let n = self.len().next_power_of_two();
        let mut fourier = Fourier::new(n);
        fourier.input[..self.len()].copy_from_slice(&self.sums[j]);
        let amplitudes = fourier.transform().iter();
        amplitudes.map(|amplitude| amplitude.norm_sqr()).collect()
    }

    /// Correlation of neighbouring bins.
    pub(super) fn neighbour_correlation(&self, j: usize) -> f64 {
        let s = &self.sums[j];
        let square: f64 = s.iter().map(|v| v * v).sum();
        s.windows(2).map(|w| w[0] * w[1]).sum::<f64>() / square
    }

    /// Amplitudes (a, b) of a cos 2πft + b sin 2πft, t absolute, fitted by least squares.
    pub(super) fn amplitudes(&self, j: usize, frequency: f64) -> [f64; 2] {
        let (mut cc, mut cs, mut ss, mut yc, mut ys) = (0.0, 0.0, 0.0, 0.0, 0.0);
        for (b, count) in self.counts.iter().enumerate().filter(|c| *c.1 > 0.0) {
            let (s, c) = (TAU * frequency * (self.start + self.times[b])).sin_cos();
            cc += count * c * c;
            cs += count * c * s;
            ss += count * s * s;
            yc += self.sums[j][b] * c;
            ys += self.sums[j][b] * s;
        }
        let determinant = cc * ss - cs * cs;
        // Averaging over a bin damps a sinusoid by sin(πfw)/(πfw).
        let x = PI * frequency * self.width;
        let damping = if self.averaged { x.sin() / x } else { 1.0 };
        [
            (yc * ss - ys * cs) / determinant / damping,
            (ys * cc - yc * cs) / determinant / damping,
        ]
    }

    /// How well a sinusoid keeps its phase over `parts` parts of whole periods; none where the record has
    /// fewer periods.
    ///
    /// With z_k = Σ s_b e^{−2πi f t_b} of part k, n_k its samples, n and z their sums over all parts, the ratio is
    /// |z|²/n over Σ_k |z_k − n_k z/n|²/n_k/(K − 1).
    pub(super) fn phase_ratio(&self, j: usize, frequency: f64, parts: usize) -> Option<f64> {
        let periods = (self.len() as f64 * self.width * frequency / parts as f64 + 1e-6).floor();
        if periods < 1.0 {
            return None;
        }
        let length = periods / frequency;
        // (n, Re z, Im z) of every part.
        let mut sums = vec![[0.0; 3]; parts];
        for (b, count) in self.counts.iter().enumerate().filter(|c| *c.1 > 0.0) {
            let Some(part) = sums.get_mut((self.times[b] / length) as usize) else {
                continue;
            };
            let (s, c) = (TAU * frequency * self.times[b]).sin_cos();
            part[0] += count;
            part[1] += self.sums[j][b] * c;
            part[2] -= self.sums[j][b] * s;
        }
        sums.retain(|part| part[0] > 0.0);
        let total = |i: usize| sums.iter().map(|part| part[i]).sum::<f64>();
        let (n, z) = (total(0), [total(1), total(2)]);
        let rest = |part: &[f64; 3]| -> f64 {
            let square = |i: usize| (part[1 + i] - part[0] * z[i] / n).powi(2);
            (square(0) + square(1)) / part[0]
        };
        let scatter = sums.iter().map(rest).sum::<f64>() / (sums.len() as f64 - 1.0);
        (sums.len() > 2).then(|| (z[0] * z[0] + z[1] * z[1]) / n / scatter)
    }

    /// The frequency within `reach` of `guess` at which the fitted sinusoid is largest.
    pub(super) fn refine(&self, j: usize, guess: f64, reach: f64) -> f64 {
        let power = |f: f64| self.amplitudes(j, f).iter().map(|a| a * a).sum::<f64>();
        let ratio = 0.5 * (5f64.sqrt() - 1.0);
        let (mut low, mut high) = (guess - reach, guess + reach);
        for _ in 0..24 {
            let step = ratio * (high - low);
            if power(high - step) > power(low + step) {
                high = low + step;
            } else {
                low = high - step;
            }
        }
        0.5 * (low + high)
    }

    /// Take a sinusoid of these amplitudes out of coordinate `j`.
    pub(super) fn remove(&mut self, j: usize, frequency: f64, [a, b]: [f64; 2]) {
        let x = PI * frequency * self.width;
        let damping = if self.averaged { x.sin() / x } else { 1.0 };
        for (k, sum) in self.sums[j].iter_mut().enumerate() {
            let (s, c) = (TAU * frequency * (self.start + self.times[k])).sin_cos();
            *sum -= self.counts[k] * damping * (a * c + b * s);
        }
    }
}
