//! Distances between ensembles, and their noise floors.

use ndarray::{Array1, Array2, ArrayView1, Axis};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::lagged::Jackknife;
use crate::linalg;
use crate::random::{Purpose, Stream};
use crate::stats::{normal_score, normal_tails};

/// A distance between a rollout and the held-out data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Distance {
    /// The distance.
    pub value: f64,
    /// Average distance of an independent record of the size of the held-out one, or of the rollout where
    /// that is shorter.
    pub floor: f64,
    /// Its 95 % quantile.
    pub floor_95: f64,
    /// `value / floor`.
    pub over_floor: f64,
    /// The excess over chance as a normal score; chance is that of the held-out data, of the rollout and of
    /// the training data, with errors scaled by their lengths.
    pub z: f64,
    /// The probability of so large a distance by chance.
    pub probability: f64,
}

/// Norm of the differences along a curve.
#[derive(Clone, Copy, Debug)]
pub(super) enum Norm {
    /// √(mean Δ²).
    RootMeanSquare,
    /// Σ |Δ|.
    Sum,
}

impl Norm {
    fn of(self, differences: ArrayView1<f64>) -> f64 {
        match self {
            Norm::RootMeanSquare => {
                (differences.dot(&differences) / differences.len() as f64).sqrt()
            }
            Norm::Sum => differences.iter().map(|d| d.abs()).sum(),
        }
    }
}

/// Lengths of the records behind a model's curves, in units of that of the held-out data.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lengths {
    /// Length of the rollout.
    pub(super) rollout: f64,
    /// Length of the data to which the model was fitted; infinite for an exact one.
    pub(super) training: f64,
}

impl Lengths {
    /// Standard deviation of a right model's curves in standard errors of the held-out data,
    /// √(1/n_rollout + 1/n_training): under the null the errors of rollout and fit are those of the data,
    /// scaled by length.
    pub(super) fn of_model(self) -> f64 {
        (1.0 / self.rollout + 1.0 / self.training).sqrt()
    }

    /// The same for the independent record of the noise floor, 1/√min(1, n_rollout).
    fn of_floor(self) -> f64 {
        1.0 / self.rollout.min(1.0).sqrt()
    }
}

/// The distances of all curves of a family.
pub(super) struct Distances {
    /// One per curve.
    pub(super) curves: Vec<Distance>,
    /// Their mean; `over_floor` is the mean of the distances in floors of their own curves, so that it
    /// has no units.
    pub(super) overall: Distance,
    /// The curve with the largest distance in floors, and that distance; its probability is that of
    /// the largest of all curves.
    pub(super) worst: (usize, Distance),
    /// The point with the largest difference in standard errors, and that difference.
    pub(super) point: (usize, Distance),
}

/// Draws that are made together.
const CHUNK: usize = 64;

/// The most that the errors of a rollout, scaled to the length of the held-out data, count for in units of
/// theirs.
const TRUSTED: f64 = 3.0;

/// Sampling errors of the held-out data under the null, in which the rollout has the same law.
///
/// The covariance is the mean w C_data + (1 − w) n_rollout C_rollout, weighed by the numbers of blocks. A short
/// record that misses rare excursions has errors far too small for high moments; a long rollout knows
/// them. But the errors of a rollout count as three times those of the data at most, curve by curve: one
/// that explodes would make any distance look like chance.
pub(super) fn pooled(
    data: &Jackknife,
    model: &Jackknife,
    lengths: &[usize],
    records: Lengths,
) -> Jackknife {
    let (own, other) = (
        data.deviations.nrows() as f64,
        model.deviations.nrows() as f64,
    );
    let mine = &data.deviations * (own / (own + other)).sqrt();
    let mut theirs = &model.deviations * (records.rollout * other / (own + other)).sqrt();
    let size = |all: &Array2<f64>, cut: std::ops::Range<usize>| {
        let part = all.slice(ndarray::s![.., cut]);
        part.iter().map(|d| d * d).sum::<f64>().sqrt()
    };
    let mut start = 0;
    for length in lengths {
        let cut = start..start + length;
        start += length;
        let most = TRUSTED * (other / own).sqrt() * size(&mine, cut.clone());
        let found = size(&theirs, cut.clone());
        let factor = match found {
            found if found <= most => 1.0,
            found if found.is_finite() => most / found,
            _ => 0.0,
        };
        let mut part = theirs.slice_mut(ndarray::s![.., cut]);
        part.mapv_inplace(|d| if factor == 0.0 { 0.0 } else { d * factor });
    }
    Jackknife {
        values: data.values.clone(),
        deviations: ndarray::concatenate(Axis(0), &[mine.view(), theirs.view()])
            .expect("one width"),
    }
}

/// Compare the values of a family of curves, given one after the other with these `lengths`.
///
/// Sampling errors are drawn as Σ_b ± δ_b with the [`pooled`] jackknife deviations δ_b of the blocks and
/// random signs, which keeps the correlations between curves and along them. The floor adds two such
/// draws, the second scaled to a rollout that is shorter than the held-out data; chance adds one draw and
/// one scaled by [`Lengths::of_model`].
pub(super) fn measure(
    data: &Jackknife,
    model: &Jackknife,
    lengths: &[usize],
    records: Lengths,
    norm: Norm,
    draws: usize,
    seed: u64,
) -> Distances {
    let null = &pooled(data, model, lengths, records);
    let sizes = |differences: ArrayView1<f64>| -> Array1<f64> {
        let mut start = 0;
        let mut size = |length: usize| {
            start += length;
            norm.of(differences.slice(ndarray::s![start - length..start]))
        };
        lengths.iter().map(|length| size(*length)).collect()
    };
    let differences = &model.values - &data.values;
    let values = sizes(differences.view());
    let chunks: Vec<[Array2<f64>; 2]> = (0..draws.div_ceil(CHUNK))
        .into_par_iter()
        .map(|chunk| {
            let mut stream = Stream::new(seed, Purpose::Analysis, chunk as u64);
            let mut noise = || {
                let shape = (CHUNK, null.deviations.nrows());
                let signs = Array2::from_shape_simple_fn(shape, || {
                    if stream.next_u64() >> 63 == 0 {
                        1.0
                    } else {
                        -1.0
                    }
                });
                linalg::multiply(signs.view(), null.deviations.view())
            };
            let (first, second, third) = (noise(), noise(), noise());
            let (second, third) = (second * records.of_floor(), third * records.of_model());
            let sums = [&first + &second, &first + &third];
            sums.map(|sum| {
                let mut all = Array2::zeros((CHUNK, lengths.len()));
                for (mut row, sum) in all.rows_mut().into_iter().zip(sum.rows()) {
                    row.assign(&sizes(sum));
                }
                all
            })
        })
        .collect();
    let stacked = |k: usize| {
        let views: Vec<_> = chunks.iter().map(|drawn| drawn[k].view()).collect();
        ndarray::concatenate(Axis(0), &views).expect("one width")
    };
    let freedoms = curve_freedoms(null, lengths);
    let (curves, overall, worst) = summarise(&values, &stacked(0), &stacked(1), &freedoms);
    Distances {
        curves,
        overall,
        worst,
        point: worst_point(
            differences.view(),
            &null.errors(),
            &point_freedoms(null),
            records,
        ),
    }
}

/// Degrees of freedom of a variance that is the sum of these squares, one per block.
///
/// If κ = B Σ q²/(Σ q)² is the kurtosis of the deviations whose squares are q, the relative variance of Σ q is
/// (κ − 1)/B, and that of a χ² of ν degrees of freedom 2/ν: ν = 2B/(κ − 1), B for a normal law. Where few
/// blocks make up the variance there are fewer; there are never more than B − 1.
fn freedom(squares: impl Iterator<Item = f64>) -> f64 {
    let (count, sum, fourth) =
        squares.fold((0.0, 0.0, 0.0), |(n, s, f), q| (n + 1.0, s + q, f + q * q));
    let kurtosis = count * fourth / (sum * sum);
    let most: f64 = count - 1.0;
    match 2.0 * count / (kurtosis - 1.0) {
        nu if nu.is_finite() && nu > 0.0 => nu.clamp(1.0, most.max(1.0)),
        _ => most,
    }
}

/// Degrees of freedom of the error of every point.
pub(super) fn point_freedoms(data: &Jackknife) -> Vec<f64> {
    let columns = data.deviations.columns().into_iter();
    columns
        .map(|column| freedom(column.iter().map(|d| d * d)))
        .collect()
}

/// Degrees of freedom of the errors of whole curves.
fn curve_freedoms(data: &Jackknife, lengths: &[usize]) -> Vec<f64> {
    let mut start = 0;
    let mut of_curve = |length: &usize| {
        start += length;
        let cut = data
            .deviations
            .slice(ndarray::s![.., start - length..start]);
        freedom(cut.rows().into_iter().map(|row| row.dot(&row)))
    };
    lengths.iter().map(&mut of_curve).collect()
}

/// The point with the largest difference in units of its standard error, and that difference.
///
/// A difference over its standard error is a Student t; the probability of the largest is at most that of
/// one times the number of points (Bonferroni), which for correlated points errs towards silence.
fn worst_point(
    differences: ArrayView1<f64>,
    errors: &Array1<f64>,
    freedoms: &[f64],
    records: Lengths,
) -> (usize, Distance) {
    let both = 1.0f64.hypot(records.of_model());
    let score = |((difference, error), freedom): ((&f64, &f64), &f64)| {
        normal_score(difference / (both * error), *freedom).abs()
    };
    let points = differences.iter().zip(errors).zip(freedoms);
    let scores: Vec<f64> = points.map(score).collect();
    let count = scores.iter().filter(|z| z.is_finite()).count();
    let (place, z) = largest(scores.into_iter());
    let error = errors[place] * 1.0f64.hypot(records.of_floor());
    let value = differences[place].abs();
    let floor = (2.0 / std::f64::consts::PI).sqrt() * error;
    let distance = Distance {
        value,
        floor,
        floor_95: 1.96 * error,
        over_floor: over(value, floor),
        z,
        probability: (count as f64 * normal_tails(z)).min(1.0),
    };
    (place, distance)
}

/// A distance in units of its floor, a finite number so that it can be written as JSON.
fn over(value: f64, floor: f64) -> f64 {
    match value {
        0.0 => 0.0,
        value => (value / floor).min(f64::MAX),
    }
}

/// The largest of the finite numbers, and where it is.
fn largest(values: impl Iterator<Item = f64>) -> (usize, f64) {
    let finite = values.enumerate().filter(|(_, value)| value.is_finite());
    finite.fold(
        (0, 0.0),
        |best, now| if now.1 > best.1 { now } else { best },
    )
}

/// From the distances and the drawn ones, (draw, curve).
fn summarise(
    values: &Array1<f64>,
    floor: &Array2<f64>,
    chance: &Array2<f64>,
    freedoms: &[f64],
) -> (Vec<Distance>, Distance, (usize, Distance)) {
    let curves: Vec<Distance> = (0..values.len())
        .map(|c| {
            let (floor, chance) = (floor.column(c).to_vec(), chance.column(c).to_vec());
            Distance::new(values[c], floor, &chance, freedoms[c])
        })
        .collect();
    let typical = freedoms.iter().sum::<f64>() / freedoms.len() as f64;
    // In units of the floor of each curve.
    let in_floors = |row: ArrayView1<f64>| -> Vec<f64> {
        let pairs = row.into_iter().zip(&curves);
        pairs.map(|(value, c)| over(*value, c.floor)).collect()
    };
    let mean = |row: ArrayView1<f64>| in_floors(row).iter().sum::<f64>() / curves.len() as f64;
    let means = |all: &Array2<f64>| all.rows().into_iter().map(mean).collect::<Vec<f64>>();
    let raw = |row: ArrayView1<f64>| row.mean().unwrap_or(0.0);
    let mut raw_floor: Vec<f64> = floor.rows().into_iter().map(raw).collect();
    raw_floor.sort_by(f64::total_cmp);
    let overall = Distance {
        value: raw(values.view()),
        floor: raw_floor.iter().sum::<f64>() / raw_floor.len() as f64,
        floor_95: quantile_95(&raw_floor),
        ..Distance::new(mean(values.view()), means(floor), &means(chance), typical)
    };
    let ratios = |row: ArrayView1<f64>| largest(in_floors(row).into_iter());
    let of_draws = |all: &Array2<f64>| -> Vec<f64> {
        all.rows().into_iter().map(|row| ratios(row).1).collect()
    };
    let (place, ratio) = ratios(values.view());
    let together = Distance::new(ratio, of_draws(floor), &of_draws(chance), freedoms[place]);
    let mut worst = curves[place];
    worst.z = together.z;
    worst.probability = together.probability;
    (curves, overall, (place, worst))
}

impl Distance {
    /// The cube root of a sum of squares is nearly normal (Wilson and Hilferty, 1931), so that
    /// z = (d^⅔ − mean) / deviation over the draws of chance reaches beyond their number; the errors
    /// come from few blocks, and z is taken as a Student t of that many degrees of freedom.
    fn new(value: f64, mut floor: Vec<f64>, chance: &[f64], freedom: f64) -> Self {
        floor.sort_by(f64::total_cmp);
        let mean = floor.iter().sum::<f64>() / floor.len() as f64;
        let root = |d: f64| d.cbrt().powi(2);
        let count = chance.len() as f64;
        let centre = chance.iter().map(|d| root(*d)).sum::<f64>() / count;
        let square: f64 = chance.iter().map(|d| (root(*d) - centre).powi(2)).sum();
        let t = (root(value) - centre) / (square / (count - 1.0)).sqrt();
        let z = match t {
            _ if value == 0.0 && centre == 0.0 => 0.0,
            // A finite number, so that it can be written as JSON.
            t if t.is_nan() || t == f64::INFINITY => f64::MAX,
            t => normal_score(t, freedom),
        };
        Self {
            value,
            floor: mean,
            floor_95: quantile_95(&floor),
            over_floor: over(value, mean),
            z,
            probability: upper_tail(z),
        }
    }
}

/// The 95 % quantile of sorted numbers.
fn quantile_95(sorted: &[f64]) -> f64 {
    sorted[(sorted.len() * 95 / 100).min(sorted.len() - 1)]
}

/// The probability that a standard normal number exceeds z.
fn upper_tail(z: f64) -> f64 {
    let half = 0.5 * normal_tails(z);
    if z > 0.0 { half } else { 1.0 - half }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(values: [f64; 3], errors: [f64; 3]) -> Jackknife {
        const BLOCKS: usize = 16;
        let sign = |b: usize, j: usize| {
            if (b >> j).is_multiple_of(2) {
                1.0
            } else {
                -1.0
            }
        };
        let deviation = |(b, j): (usize, usize)| sign(b, j) * errors[j] / (BLOCKS as f64).sqrt();
        Jackknife {
            values: Array1::from(values.to_vec()),
            deviations: Array2::from_shape_fn((BLOCKS, 3), deviation),
        }
    }

    /// A rollout four times as long as the held-out data, of an exact model.
    const LONG: Lengths = Lengths {
        rollout: 4.0,
        training: f64::INFINITY,
    };

    #[test]
    fn few_blocks_that_make_up_an_error_have_few_degrees_of_freedom() {
        assert_eq!(freedom([1.0; 16].into_iter()), 15.0);
        // A kurtosis of 3, as of a normal law.
        let normal = [3.0, 0.0, 0.0].into_iter().cycle().take(48);
        assert!((freedom(normal) - 47.0).abs() < 1e-9);
        let one = (0..16).map(|b| if b == 0 { 1.0 } else { 0.01 });
        assert!(freedom(one) < 4.0);
    }

    /// A bin without a sample, in a record a quarter as long as the rollout, is no evidence where the model
    /// has few there; a common bin that differs is.
    #[test]
    fn empty_bins_borrow_their_error_from_the_other_ensemble() {
        let data = estimate([0.5, 0.5, 0.0], [0.02, 0.02, 0.0]);
        let errors = [0.01, 0.01, 0.009];
        let point = |model: &Jackknife| measure(&data, model, &[3], LONG, Norm::Sum, 64, 0).point;
        let (place, rare) = point(&estimate([0.482, 0.482, 0.036], errors));
        assert_eq!(place, 2);
        assert!(rare.z < 2.5, "{rare:?}");
        let (place, common) = point(&estimate([0.7, 0.264, 0.036], errors));
        assert!(place < 2 && common.z > 4.0, "{place} {common:?}");
    }

    /// The scatter of a rollout counts for no more than three times that of the data, however large.
    #[test]
    fn the_scatter_of_a_rollout_excuses_no_distance() {
        let data = estimate([1.0, 0.5, 0.2], [0.02, 0.02, 0.02]);
        let measured = |scatter: f64, norm: Norm| {
            let model = estimate([1.5, 1.0, 0.7], [scatter; 3]);
            measure(&data, &model, &[3], LONG, norm, 256, 0)
        };
        for norm in [Norm::RootMeanSquare, Norm::Sum] {
            let (wild, wilder) = (measured(10.0, norm), measured(1e9, norm));
            let near = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-6;
            assert!(near(wild.overall.over_floor, wilder.overall.over_floor));
            assert!(wild.overall.over_floor > 5.0 && wild.overall.probability < 1e-4);
            assert!(wild.point.1.z > 3.5, "{:?}", wild.point);
        }
        // A right model is not accused.
        let right = estimate([1.01, 0.51, 0.19], [0.01; 3]);
        let near = measure(&data, &right, &[3], LONG, Norm::Sum, 256, 0);
        assert!(near.overall.probability > 0.05, "{:?}", near.overall);
    }

    /// A shorter rollout has a higher floor, and curves in other units change no ratio.
    #[test]
    fn floors_know_the_length_of_the_rollout_and_no_units() {
        let data = estimate([1.0, 0.5, 0.2], [0.02, 0.02, 0.02]);
        let model = |length: f64| estimate([1.05, 0.45, 0.25], [0.02 / length.sqrt(); 3]);
        let overall = |data: &Jackknife, model: &Jackknife, length: f64| {
            let records = Lengths {
                rollout: length,
                ..LONG
            };
            let norm = Norm::RootMeanSquare;
            measure(data, model, &[1, 2], records, norm, 4096, 0).overall
        };
        let at = |length: f64| overall(&data, &model(length), length);
        let (equal, short) = (at(1.0), at(0.25));
        // √(1 + 4) / √(1 + 1)
        assert!((short.floor / equal.floor - 2.5f64.sqrt()).abs() < 0.05);
        assert!((at(4.0).floor / equal.floor - 1.0).abs() < 1e-9);
        let scaled = |mut jackknife: Jackknife| {
            jackknife.values[0] *= 1e3;
            jackknife.deviations.column_mut(0).mapv_inplace(|d| d * 1e3);
            jackknife
        };
        let other = overall(&scaled(data.clone()), &scaled(model(4.0)), 4.0);
        assert!((other.over_floor / at(4.0).over_floor - 1.0).abs() < 1e-12);
    }
}
