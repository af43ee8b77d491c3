//! Cycles: lines in the spectrum that keep their phase.

use std::f64::consts::{LN_2, PI, TAU};

use rayon::prelude::*;

use super::CheckConfig;
use super::record::Record;
use super::series::Series;
use crate::control::Control;
use crate::error::Result;
use crate::finding::{Finding, FindingKind, Severity, digits};

/// Fewest periods in the record.
const PERIODS: f64 = 3.0;
/// Independent frequencies to either side that make the background: few, so that a broad resonance
/// is part of it, and many, so that it is known well; the nearest are left out.
const NEIGHBOURS: [f64; 2] = [16.0, 48.0];
const NEAREST: f64 = 3.0;
/// The median of 2 (48 − 3) exponential variables scatters as a mean of this many.
const BACKGROUND: f64 = 45.0;
/// Most lines in a coordinate.
const LINES: usize = 4;
/// Peaks of the spectrum that are tried for a phase that stays.
const TRIED: usize = 24;
/// Numbers of parts of the record between which the phase must stay.
const PARTS: [usize; 2] = [8, 16];
/// Shortest series that is looked at.
const SHORTEST: usize = 128;

/// a cos 2πft + b sin 2πft in one coordinate, in its own units.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    pub(super) coordinate: usize,
    pub(super) frequency: f64,
    amplitudes: [f64; 2],
    /// True where the fit covers the whole record, so that the line can be taken out.
    pub(super) removable: bool,
}

impl Line {
    /// Its amplitude, in units of the coordinate.
    pub(super) fn amplitude(&self) -> f64 {
        self.amplitudes[0].hypot(self.amplitudes[1])
    }

    pub(super) fn at(&self, t: f64) -> f64 {
        let (s, c) = (TAU * self.frequency * t).sin_cos();
        self.amplitudes[0] * c + self.amplitudes[1] * s
    }
}

/// Find the cycles; those too small to matter are reported but not returned.
pub(super) fn find(
    record: &Record,
    config: &CheckConfig,
    control: &Control,
    findings: &mut Vec<Finding>,
) -> Result<Vec<Line>> {
    let whole = Series::whole(record, control)?.detrended();
    let longest_fast = 8.0 * whole.width;
    let mut lines = scan(whole, f64::INFINITY, config);
    if longest_fast > 12.0 * record.interval {
        for mut line in scan(
            Series::beginning(record, control)?.detrended(),
            longest_fast,
            config,
        ) {
            line.removable = false;
            lines.push(line);
        }
    }
    lines.retain_mut(|line| {
        let size = line.amplitude();
        let small = size < config.cycle_amplitude;
        findings.push(Finding::new(
            FindingKind::Cycle,
            if small {
                Severity::Info
            } else {
                Severity::Warn
            },
            format!(
                "coordinate '{}' has a cycle of period {} with an amplitude of {size:.2} standard \
                 deviations",
                record.ensemble.names()[line.coordinate],
                digits(1.0 / line.frequency),
            ),
            if small {
                "small enough to ignore"
            } else {
                "include the cycle in the model: set cycle.period to its length or to \"auto\""
            },
        ));
        for a in &mut line.amplitudes {
            *a *= record.scales.scale[line.coordinate];
        }
        !small
    });
    Ok(lines)
}

/// The lines of every coordinate with periods up to `longest`, amplitudes in standard deviations.
fn scan(series: Series, longest: f64, config: &CheckConfig) -> Vec<Line> {
    if series.len() < SHORTEST {
        return Vec::new();
    }
    (0..series.dim())
        .into_par_iter()
        .map(|j| {
            let mut series = series.only(j);
            let mut lines = Vec::new();
            while lines.len() < LINES
                && let Some(frequency) = peaks(&series, longest, config.cycle_false_alarm)
                    .into_iter()
                    .find(|f| coherent(&series, *f, config.cycle_false_alarm))
            {
                let amplitudes = series.amplitudes(0, frequency);
                series.remove(0, frequency, amplitudes);
                lines.push(Line {
                    coordinate: j,
                    frequency,
                    amplitudes,
                    removable: true,
                });
            }
            lines
        })
        .flatten()
        .collect()
}

/// Whether a peak keeps its phase from part to part of the record, as a cycle does and a resonance, whose
/// phase diffuses, does not.
///
/// For K parts of whole periods whose phases are independent, the ratio of [`Series::phase_ratio`] exceeds x
/// with probability (1 + x/(K−1))^{−(K−1)}. Of fewer periods than that each is a part.
fn coherent(series: &Series, frequency: f64, false_alarm: f64) -> bool {
    let periods = series.len() as f64 * series.width * frequency + 1e-6;
    PARTS.into_iter().all(|parts| {
        let parts = if periods < PARTS[0] as f64 {
            periods as usize
        } else {
            parts
        };
        let nu = (parts - 1) as f64;
        let critical = nu * ((parts as f64 / false_alarm).powf(1.0 / nu) - 1.0);
        let ratio = series.phase_ratio(0, frequency, parts);
        ratio.is_none_or(|ratio| ratio > critical)
    })
}

/// The frequencies whose power stands out from its neighbourhood significantly, the clearest first.
///
/// The periodogram is first divided by the spectrum 1/|1 − φ e^{−iω}|² of an autoregression, φ the
/// correlation of neighbouring bins, then by the larger of the medians of few and of many neighbours
/// over ln 2. For noise, that ratio exceeds x with probability about (1 + x/n)^{−n}, n the number of
/// values that the median is worth; so x = n ((M/α)^{1/n} − 1) is exceeded by any of M frequencies
/// with probability α.
fn peaks(series: &Series, longest: f64, false_alarm: f64) -> Vec<f64> {
    let mut power = series.periodogram(0);
    let half = power.len() - 1;
    let phi = series.neighbour_correlation(0).clamp(0.0, 0.9999);
    for (k, p) in power.iter_mut().enumerate() {
        let omega = PI * k as f64 / half as f64;
        *p *= 1.0 + phi * phi - 2.0 * phi * omega.cos();
    }
    let padding = 2.0 * half as f64 / series.len() as f64;
    let unit = 1.0 / (2.0 * half as f64 * series.width);
    let lowest = ((PERIODS * padding).max(1.0 / (longest * unit)).ceil() as usize).max(1);
    let independent = series.len() as f64 / 2.0;
    let critical = BACKGROUND * ((independent / false_alarm).powf(1.0 / BACKGROUND) - 1.0);
    let mut scratch = Vec::new();
    let mut found: Vec<(f64, usize)> = Vec::new();
    for k in lowest..half {
        let background = NEIGHBOURS
            .iter()
            .map(|far| median_around(&power, k, [NEAREST * padding, far * padding], &mut scratch))
            .fold(0.0, f64::max);
        let ratio = power[k] * LN_2 / background;
        if ratio > critical && power[k] >= power[k - 1] && power[k] >= power[k + 1] {
            found.push((ratio, k));
        }
    }
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    let refined = found.iter().take(TRIED);
    refined
        .map(|(_, k)| series.refine(0, *k as f64 * unit, unit))
        .collect()
}

/// Median of the values more than `near` and at most `far` places from `k`, the ends left out.
fn median_around(power: &[f64], k: usize, [near, far]: [f64; 2], scratch: &mut Vec<f64>) -> f64 {
    let (near, far, end) = (near.round() as usize, far.round() as usize, power.len() - 1);
    scratch.clear();
    scratch.extend_from_slice(&power[k.saturating_sub(far).max(1)..k.saturating_sub(near).max(1)]);
    scratch.extend_from_slice(&power[(k + near + 1).min(end)..(k + far + 1).min(end)]);
    if scratch.is_empty() {
        return f64::INFINITY;
    }
    let middle = scratch.len() / 2;
    *scratch.select_nth_unstable_by(middle, f64::total_cmp).1
}
