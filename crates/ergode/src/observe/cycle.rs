//! Mean and standard deviation by phase.

use ndarray::{Array1, Array2, Axis};
use serde::{Deserialize, Serialize};

use super::signal::{FOLDS, Trend, harmonics, visit};
use crate::check::{CheckConfig, CheckReport};
use crate::data::Ensemble;
use crate::error::Result;
use crate::finding::{Finding, FindingKind, Severity, digits};
use crate::lagged::paired;
use crate::linalg;
use crate::stats::normal_score;

/// Mean μ(θ) and standard deviation σ(θ) at the phase θ = 2πt/period of absolute time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cycle {
    /// The period.
    pub period: f64,
    /// μ of every coordinate: coefficients of 1, cos θ, sin θ, cos 2θ, sin 2θ and so on.
    pub mean: Vec<Vec<f64>>,
    /// ln σ of every coordinate, likewise.
    pub log_scale: Vec<Vec<f64>>,
}

/// Harmonics at most.
pub(super) const MOST_HARMONICS: usize = 4;

/// Cells of the phase in which squares are added up; they blur the fourth harmonic by 2e-4 of itself.
const CELLS: usize = 360;

/// Steps of Fisher's scoring, which converges quadratically.
const STEPS: usize = 30;

impl Cycle {
    /// μ(θ) of a coordinate at a time.
    pub fn mean_at(&self, t: f64, coordinate: usize) -> f64 {
        self.sum(t, &self.mean[coordinate])
    }

    /// σ(θ) of a coordinate at a time.
    pub fn scale_at(&self, t: f64, coordinate: usize) -> f64 {
        self.sum(t, &self.log_scale[coordinate]).exp()
    }

    fn sum(&self, t: f64, coefficients: &[f64]) -> f64 {
        /// More harmonics are not fitted.
        const MOST: usize = 1 + 2 * MOST_HARMONICS;
        let mut features = [0.0; MOST];
        let features = &mut features[..coefficients.len()];
        harmonics(t, self.period, features);
        features.iter().zip(coefficients).map(|(f, c)| f * c).sum()
    }

    /// From y to x.
    pub(super) fn remove(&self, t: f64, row: &mut [f64]) {
        for (j, x) in row.iter_mut().enumerate() {
            *x = (*x - self.mean_at(t, j)) / self.scale_at(t, j);
        }
    }

    /// From x to y.
    pub(super) fn restore(&self, t: f64, row: &mut [f64]) {
        for (j, x) in row.iter_mut().enumerate() {
            *x = self.mean_at(t, j) + self.scale_at(t, j) * *x;
        }
    }

    /// Harmonics of μ and of ln σ.
    pub fn harmonics(&self) -> [usize; 2] {
        [&self.mean, &self.log_scale].map(|list| list.first().map_or(0, |c| c.len() / 2))
    }

    pub(super) fn sentence(&self) -> String {
        let [mean, scale] = self.harmonics();
        format!(
            "The model includes a cycle of period {}. The mean has {mean} harmonics and the logarithm of \
             the standard deviation has {scale}, fitted to the whole record. The equation describes the \
             standardised anomaly (y - mean)/sd. Its dynamics are assumed to be the same at all phases: a \
             relaxation that is faster in one season than in another is not modelled.",
            digits(self.period)
        )
    }
}

/// Σ of squared deviations from trend and mean, by phase, kept per fold.
pub(super) struct ScaleFit {
    /// Samples, (fold, cell).
    count: Array2<f64>,
    /// Σ r², per coordinate, (fold, cell).
    squares: Vec<Array2<f64>>,
    most: usize,
    /// Harmonics at the middle of each cell, (cell, feature).
    features: Array2<f64>,
}

impl ScaleFit {
    pub(super) fn collect(
        ensemble: &Ensemble,
        trend: Option<&Trend>,
        mean: &Cycle,
        most: usize,
    ) -> Self {
        let mut count = Array2::zeros((FOLDS, CELLS));
        let mut squares = vec![Array2::zeros((FOLDS, CELLS)); ensemble.dim()];
        visit(ensemble, FOLDS, |fold, t, row| {
            let phase = (t / mean.period).rem_euclid(1.0);
            let cell = ((phase * CELLS as f64) as usize).min(CELLS - 1);
            count[[fold, cell]] += 1.0;
            for (j, (squares, y)) in squares.iter_mut().zip(row).enumerate() {
                let trend = trend.map_or(0.0, |trend| trend.at(t, j));
                squares[[fold, cell]] += (y - trend - mean.mean_at(t, j)).powi(2);
            }
        });
        let mut features = Array2::zeros((CELLS, 1 + 2 * most));
        for (cell, mut row) in features.rows_mut().into_iter().enumerate() {
            let row = row.as_slice_mut().expect("row-major");
            harmonics((cell as f64 + 0.5) / CELLS as f64, 1.0, row);
        }
        Self {
            count,
            squares,
            most,
            features,
        }
    }

    /// Counts and squares of the folds that are kept.
    fn sums(&self, coordinate: usize, keep: impl Fn(usize) -> bool) -> [Array1<f64>; 2] {
        let rows: Vec<usize> = (0..FOLDS).filter(|fold| keep(*fold)).collect();
        [&self.count, &self.squares[coordinate]].map(|a| a.select(Axis(0), &rows).sum_axis(Axis(0)))
    }

    /// The coefficients η of ln σ that minimise Σ [ln σ + r²/(2σ²)], by Fisher's scoring; σ is positive
    /// whatever they are, and consistent whatever the law of r.
    fn solve(&self, harmonics: usize, [count, squares]: &[Array1<f64>; 2]) -> Array1<f64> {
        let known = 1 + 2 * harmonics;
        let features = self.features.slice(ndarray::s![.., ..known]);
        let information = features
            .t()
            .dot(&(&features * &count.view().insert_axis(Axis(1))));
        let inverse = linalg::pseudo_inverse(information.view(), 1e-12);
        let mut eta = Array1::zeros(known);
        eta[0] = 0.5 * (squares.sum() / count.sum()).max(f64::MIN_POSITIVE).ln();
        for _ in 0..STEPS {
            let inverse_variance = features.dot(&eta).mapv(|ln: f64| (-2.0 * ln).exp());
            let gradient = features.t().dot(&(squares * &inverse_variance - count));
            let step = inverse.dot(&gradient) * 0.5;
            // A step of one is a factor e of σ.
            let length = step.iter().fold(0.0f64, |m, s| m.max(s.abs()));
            eta.scaled_add(1.0 / length.max(1.0), &step);
            if length < 1e-12 {
                break;
            }
        }
        eta
    }

    /// The same sum in each fold under the fit to the others, over all coordinates.
    pub(super) fn held_out(&self, harmonics: usize) -> Vec<f64> {
        let loss = |fold: usize, j: usize| {
            let eta = self.solve(harmonics, &self.sums(j, |k| k != fold));
            let known = self.features.slice(ndarray::s![.., ..eta.len()]);
            let ln = known.dot(&eta);
            let [count, squares] = self.sums(j, |k| k == fold);
            (&count * &ln + squares * ln.mapv(|ln| 0.5 * (-2.0 * ln).exp())).sum() / count.sum()
        };
        let coordinates = 0..self.squares.len();
        (0..FOLDS)
            .map(|fold| coordinates.clone().map(|j| loss(fold, j)).sum())
            .collect()
    }

    /// ln σ of every coordinate.
    pub(super) fn finish(&self, harmonics: usize) -> Vec<Vec<f64>> {
        let harmonics = harmonics.min(self.most);
        (0..self.squares.len())
            .map(|j| self.solve(harmonics, &self.sums(j, |_| true)).to_vec())
            .collect()
    }
}

/// Stretches over which the errors of the test of the dynamics are taken.
const STRETCHES: usize = 16;

/// Does the correlation x(t) x(t + l) at a quarter of the decorrelation time depend on the phase?
///
/// Tested are the coefficients of its first harmonic, over stretches of the record; only where these hold
/// whole periods, and sampling is even.
pub(super) fn dynamics(
    stationary: &Ensemble,
    cycle: &Cycle,
    report: &CheckReport,
    config: &CheckConfig,
) -> Result<Vec<Finding>> {
    /// Periods in a stretch, at least, and the part of the variance that matters.
    const PERIODS: f64 = 2.0;
    const SIZE: f64 = 0.05;
    let mut findings = Vec::new();
    let Some(interval) = stationary.sampling_interval() else {
        return Ok(findings);
    };
    let length = stationary.samples() as f64 * interval / STRETCHES as f64;
    if length < PERIODS * cycle.period {
        return Ok(findings);
    }
    for (j, coordinate) in report.coordinates.iter().enumerate() {
        let Some(time) = coordinate.crossing_time else {
            continue;
        };
        let lag = ((0.25 * time / interval).round() as usize).max(1);
        let waves = first_harmonics(stationary, cycle.period, j, lag);
        let zero = vec![0.0; waves[0].len()];
        let [cosine, sine] = waves.map(|wave| paired(&wave, &zero));
        let size = cosine.0.hypot(sine.0);
        let z = [cosine, sine]
            .map(|(mean, error)| normal_score((mean / error).abs(), (STRETCHES - 1) as f64))
            .into_iter()
            .fold(0.0, f64::max);
        if z > config.stationarity_z && size > SIZE {
            findings.push(Finding::new(
                FindingKind::CycleDynamics,
                Severity::Warn,
                format!(
                    "the correlation of '{}' at lag {} changes with the phase of the cycle, by ±{size:.2} \
                     of the variance (z = {z:.1})",
                    coordinate.name,
                    digits(lag as f64 * interval)
                ),
                "the model assumes the same relaxation at all phases; fit the seasons separately if this \
                 matters",
            ));
        }
    }
    Ok(findings)
}

/// Coefficients of cos θ and sin θ in x(t) x(t + l), θ the phase half-way, of each stretch.
fn first_harmonics(ensemble: &Ensemble, period: f64, j: usize, lag: usize) -> [Vec<f64>; 2] {
    let mut normal = vec![Array2::<f64>::zeros((3, 3)); STRETCHES];
    let mut right = vec![Array1::<f64>::zeros(3); STRETCHES];
    let (mut row, mut features) = (vec![0.0; ensemble.dim()], [0.0; 3]);
    let mut passed = 0;
    for segment in ensemble.segments() {
        let trajectory = &ensemble.trajectories()[segment.trajectory];
        let mut before = Vec::new();
        for i in segment.rows.clone() {
            trajectory.row(i, &mut row);
            before.push(row[j]);
            let stretch = passed * STRETCHES / ensemble.samples();
            passed += 1;
            let Some(first) = before.len().checked_sub(lag + 1) else {
                continue;
            };
            let time = 0.5 * (trajectory.time(i) + trajectory.time(i - lag));
            harmonics(time, period, &mut features);
            for (a, f) in features.iter().enumerate() {
                right[stretch][a] += f * before[first] * row[j];
                for (b, g) in features.iter().enumerate() {
                    normal[stretch][[a, b]] += f * g;
                }
            }
        }
    }
    let solved: Vec<Array1<f64>> = normal
        .iter()
        .zip(&right)
        .map(|(normal, right)| linalg::pseudo_inverse(normal.view(), 1e-12).dot(right))
        .collect();
    [1, 2].map(|k| solved.iter().map(|c| c[k]).collect())
}
