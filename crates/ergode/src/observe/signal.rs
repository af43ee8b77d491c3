//! Trend and mean by phase: one least-squares fit.

use std::f64::consts::TAU;

use ndarray::{Array1, Array2, Axis, s};
use serde::{Deserialize, Serialize};

use crate::data::Ensemble;
use crate::error::Result;
use crate::finding::digits;
use crate::linalg;

/// Σ_k a_k (u^k − ⟨u^k⟩) with u = (t − centre)/unit, ⟨·⟩ over the samples of the record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trend {
    /// Middle of the record.
    pub centre: f64,
    /// Half its length.
    pub unit: f64,
    /// ⟨u⟩, ⟨u²⟩.
    pub means: Vec<f64>,
    /// a_k for every coordinate.
    pub coefficients: Vec<Vec<f64>>,
}

impl Trend {
    /// The trend of a coordinate at a time.
    pub fn at(&self, t: f64, coordinate: usize) -> f64 {
        let u = (t - self.centre) / self.unit;
        let terms = self.coefficients[coordinate].iter().zip(&self.means);
        let mut power = 1.0;
        terms.fold(0.0, |sum, (a, mean)| {
            power *= u;
            sum + a * (power - mean)
        })
    }

    /// Add the trend `sign` times to a row.
    pub(super) fn add(&self, t: f64, sign: f64, row: &mut [f64]) {
        for (j, x) in row.iter_mut().enumerate() {
            *x += sign * self.at(t, j);
        }
    }

    pub(super) fn sentence(&self, names: &[String], span: [f64; 2]) -> String {
        let changes = names.iter().enumerate().map(|(j, name)| {
            let change = self.at(span[1], j) - self.at(span[0], j);
            format!(
                "{name} {}{}",
                if change > 0.0 { "+" } else { "" },
                digits(change)
            )
        });
        let changes: Vec<String> = changes.collect();
        format!(
            "A {} trend was removed by least squares. Change over the record: {}. Simulations include the \
             trend only at times within the record.",
            if self.means.len() > 1 {
                "quadratic"
            } else {
                "linear"
            },
            changes.join(", ")
        )
    }
}

/// Contiguous stretches of the record that are held out in turn.
pub(super) const FOLDS: usize = 8;

/// First and last time of a record.
pub(super) fn span(ensemble: &Ensemble) -> [f64; 2] {
    let trajectories = ensemble.trajectories().iter();
    trajectories.fold([f64::INFINITY, f64::NEG_INFINITY], |[a, b], t| {
        [a.min(t.time(0)), b.max(t.time(t.len() - 1))]
    })
}

/// Mean of every coordinate. The differences to the first sample are summed, so that a large mean costs no
/// digits.
fn means(ensemble: &Ensemble) -> Vec<f64> {
    let mut sums = vec![0.0; ensemble.dim()];
    let mut first: Option<Vec<f64>> = None;
    visit(ensemble, 1, |_, _, row| {
        let first = first.get_or_insert_with(|| row.to_vec());
        for ((sum, y), start) in sums.iter_mut().zip(row).zip(&*first) {
            *sum += y - start;
        }
    });
    let first = first.unwrap_or_else(|| vec![0.0; ensemble.dim()]);
    let means = first.iter().zip(&sums);
    means
        .map(|(start, sum)| start + sum / ensemble.samples() as f64)
        .collect()
}

/// `visit(fold, time, row)` at every sample, folds being equal stretches of the record.
pub(super) fn visit(ensemble: &Ensemble, folds: usize, mut visit: impl FnMut(usize, f64, &[f64])) {
    let samples = ensemble.samples();
    let mut row = vec![0.0; ensemble.dim()];
    let mut passed = 0;
    for segment in ensemble.segments() {
        let trajectory = &ensemble.trajectories()[segment.trajectory];
        for i in segment.rows.clone() {
            trajectory.row(i, &mut row);
            visit(passed * folds / samples, trajectory.time(i), &row);
            passed += 1;
        }
    }
}

/// 1, cos θ, sin θ, cos 2θ, sin 2θ, ... at the phase θ = 2πt/period, as many as there are places.
pub(super) fn harmonics(t: f64, period: f64, out: &mut [f64]) {
    let (sin, cos) = (TAU * (t / period).rem_euclid(1.0)).sin_cos();
    out[0] = 1.0;
    let (mut c, mut s) = (1.0, 0.0);
    for pair in out[1..].chunks_exact_mut(2) {
        (c, s) = (c * cos - s * sin, s * cos + c * sin);
        (pair[0], pair[1]) = (c, s);
    }
}

/// Least squares on polynomials of time and harmonics, kept per fold.
pub(super) struct MeanFit {
    centre: f64,
    unit: f64,
    degree: usize,
    /// Mean of every coordinate, taken off before sums are formed: squares of a large mean would hide the
    /// variance.
    centres: Vec<f64>,
    /// Normal matrices, (feature, feature), features being 1, harmonics, powers of u.
    normal: Vec<Array2<f64>>,
    /// (feature, coordinate).
    right: Vec<Array2<f64>>,
    /// Σ y² of the centred coordinates.
    square: Vec<Array1<f64>>,
    most: usize,
}

impl MeanFit {
    /// Of a record, with up to `most` harmonics of a cycle.
    pub(super) fn collect(ensemble: &Ensemble, degree: usize, period: f64, most: usize) -> Self {
        let [first, last] = span(ensemble);
        let (centre, unit) = (
            0.5 * (first + last),
            (0.5 * (last - first)).max(f64::MIN_POSITIVE),
        );
        let (size, dim) = (1 + 2 * most + degree, ensemble.dim());
        let mut fit = Self {
            centre,
            unit,
            degree,
            centres: means(ensemble),
            normal: vec![Array2::zeros((size, size)); FOLDS],
            right: vec![Array2::zeros((size, dim)); FOLDS],
            square: vec![Array1::zeros(dim); FOLDS],
            most,
        };
        let mut features = vec![0.0; size];
        visit(ensemble, FOLDS, |fold, t, row| {
            harmonics(t, period, &mut features[..1 + 2 * most]);
            let (u, mut power) = ((t - centre) / unit, 1.0);
            for place in &mut features[1 + 2 * most..] {
                power *= u;
                *place = power;
            }
            for (a, f) in features.iter().enumerate() {
                for (b, g) in features[..=a].iter().enumerate() {
                    fit.normal[fold][[a, b]] += f * g;
                }
                for (j, (y, centre)) in row.iter().zip(&fit.centres).enumerate() {
                    fit.right[fold][[a, j]] += f * (y - centre);
                }
            }
            let rows = row.iter().zip(&fit.centres);
            for (sum, (y, centre)) in fit.square[fold].iter_mut().zip(rows) {
                *sum += (y - centre).powi(2);
            }
        });
        for normal in &mut fit.normal {
            for a in 0..size {
                for b in 0..a {
                    normal[[b, a]] = normal[[a, b]];
                }
            }
        }
        fit
    }

    /// The features of `count` harmonics.
    fn features(&self, count: usize) -> Vec<usize> {
        let powers = 1 + 2 * self.most..1 + 2 * self.most + self.degree;
        (0..1 + 2 * count).chain(powers).collect()
    }

    /// Coefficients, (feature, coordinate), from all folds but one.
    fn solve(&self, count: usize, without: Option<usize>) -> Array2<f64> {
        let chosen = self.features(count);
        let mut normal = Array2::zeros(self.normal[0].raw_dim());
        let mut right = Array2::zeros(self.right[0].raw_dim());
        for fold in (0..FOLDS).filter(|fold| Some(*fold) != without) {
            normal += &self.normal[fold];
            right += &self.right[fold];
        }
        let normal = normal.select(Axis(0), &chosen).select(Axis(1), &chosen);
        linalg::pseudo_inverse(normal.view(), 1e-12).dot(&right.select(Axis(0), &chosen))
    }

    /// Squared residuals of each fold under the fit to the others, in variances of each coordinate.
    pub(super) fn held_out(&self, count: usize) -> Vec<f64> {
        let chosen = self.features(count);
        let total: Array1<f64> = self.residual_squares(0);
        let loss = |fold: usize| {
            let c = self.solve(count, Some(fold));
            let normal = self.normal[fold].select(Axis(0), &chosen);
            let normal = normal.select(Axis(1), &chosen);
            let right = self.right[fold].select(Axis(0), &chosen);
            (0..c.ncols())
                .map(|j| {
                    let c = c.column(j);
                    let square = self.square[fold][j] - 2.0 * c.dot(&right.column(j))
                        + linalg::bilinear(c, normal.view(), c);
                    square / total[j]
                })
                .sum()
        };
        (0..FOLDS).map(loss).collect()
    }

    /// Sum of squares left by `count` harmonics, per coordinate.
    fn residual_squares(&self, count: usize) -> Array1<f64> {
        let (chosen, c) = (self.features(count), self.solve(count, None));
        let mut left = Array1::zeros(c.ncols());
        for fold in 0..FOLDS {
            left += &self.square[fold];
            let right = self.right[fold].select(Axis(0), &chosen);
            for (j, left) in left.iter_mut().enumerate() {
                *left -= c.column(j).dot(&right.column(j));
            }
        }
        left
    }

    /// The trend, and the harmonics of the mean of every coordinate.
    pub(super) fn finish(&self, count: usize) -> (Option<Trend>, Vec<Vec<f64>>) {
        let c = self.solve(count, None);
        let known = 1 + 2 * count;
        let all = |k: usize| self.normal.iter().map(|n| n[[0, k]]).sum::<f64>();
        let means: Vec<f64> = (0..self.degree)
            .map(|k| all(1 + 2 * self.most + k) / all(0))
            .collect();
        let columns = || c.columns().into_iter();
        // What the centred powers leave out belongs to the mean.
        let mean = columns().zip(&self.centres).map(|(c, centre)| {
            let mut mean = c.slice(s![..known]).to_vec();
            let powers = c.slice(s![known..]);
            mean[0] += powers.iter().zip(&means).map(|(a, m)| a * m).sum::<f64>();
            mean[0] += centre;
            mean
        });
        let mean = mean.collect();
        let coefficients = columns().map(|c| c.slice(s![known..]).to_vec()).collect();
        let trend = (self.degree > 0).then_some(Trend {
            centre: self.centre,
            unit: self.unit,
            means,
            coefficients,
        });
        (trend, mean)
    }
}

/// The number of harmonics whose held-out losses are least, or the smallest that is not worse than that by
/// more than the standard error of the difference over the folds.
pub(super) fn choose(losses: &[Vec<f64>]) -> usize {
    let sum = |k: &usize| losses[*k].iter().sum::<f64>();
    let best = (0..losses.len()).min_by(|a, b| sum(a).total_cmp(&sum(b)));
    let best = best.expect("at least no harmonics");
    let close = |k: &usize| {
        let (gain, error) = crate::lagged::paired(&losses[*k], &losses[best]);
        gain <= error
    };
    (0..best).find(close).unwrap_or(best)
}

/// No harmonics where nothing is cyclic.
pub(super) fn fit_trend(ensemble: &Ensemble, degree: usize) -> Result<Option<Trend>> {
    Ok(MeanFit::collect(ensemble, degree, 1.0, 0).finish(0).0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A small wave and slope on `mean`, in steps that a large mean still resolves.
    fn record(mean: f64) -> Ensemble {
        let step = 2f64.powi(-16);
        let value = |i: usize| {
            let wave = (TAU * i as f64 / 25.0).cos() + 1e-3 * i as f64;
            let noise = ((i * 7919 % 101) as f64 / 101.0 - 0.5) * 0.2;
            mean + ((wave + noise) / step).round() * step
        };
        Ensemble::from_array(Array2::from_shape_fn((2000, 1), |(i, _)| value(i)), 1.0).unwrap()
    }

    #[test]
    fn a_large_mean_changes_neither_trend_nor_losses() {
        let fit = |mean: f64| {
            let fit = MeanFit::collect(&record(mean), 1, 25.0, 3);
            let losses: Vec<Vec<f64>> = (0..=3).map(|count| fit.held_out(count)).collect();
            let (trend, harmonics) = fit.finish(1);
            (losses, trend.unwrap().coefficients[0][0], harmonics)
        };
        let ((near, slope, wave), (far, other, moved)) = (fit(0.0), fit(2f64.powi(33)));
        assert!((slope / other - 1.0).abs() < 1e-9, "{slope} {other}");
        let losses = near.iter().flatten().zip(far.iter().flatten());
        for (a, b) in losses {
            assert!((a - b).abs() < 1e-6 * a.abs(), "{a} {b}");
        }
        assert_eq!(choose(&near), choose(&far));
        assert!((wave[0][1] - moved[0][1]).abs() < 1e-9);
        assert!((moved[0][0] - wave[0][0] - 2f64.powi(33)).abs() < 1e-5);
    }
}
