//! Distances between ensembles, and their noise floors.

use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis};
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
    /// Average distance of an independent record of the same size as the held-out one.
    pub floor: f64,
    /// Its 95 % quantile.
    pub floor_95: f64,
    /// `value / floor`.
    pub over_floor: f64,
    /// The excess over chance as a normal score; chance is that of the held-out data and of a rollout of
    /// this length together.
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

/// The distances of all curves of a family.
pub(super) struct Distances {
    /// One per curve.
    pub(super) curves: Vec<Distance>,
    /// Their mean.
    pub(super) overall: Distance,
    /// The curve with the largest distance in floors, and that distance; its probability is that of
    /// the largest of all curves.
    pub(super) worst: (usize, Distance),
    /// The point with the largest difference in standard errors, and that difference.
    pub(super) point: (usize, Distance),
}

/// Draws that are made together.
const CHUNK: usize = 64;

/// Compare the values of a family of curves, given one after the other with these `lengths`.
///
/// Sampling errors are drawn as Σ_b ± δ_b with the jackknife deviations δ_b of the blocks and random
/// signs, which keeps the correlations between curves and along them. The floor adds two such draws of
/// the held-out data; chance adds one of these and one of the rollout.
pub(super) fn measure(
    data: &Jackknife,
    model: &Jackknife,
    lengths: &[usize],
    norm: Norm,
    draws: usize,
    seed: u64,
) -> Distances {
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
            let mut noise = |deviations: ArrayView2<f64>| {
                let shape = (CHUNK, deviations.nrows());
                let signs = Array2::from_shape_simple_fn(shape, || {
                    if stream.next_u64() >> 63 == 0 {
                        1.0
                    } else {
                        -1.0
                    }
                });
                linalg::multiply(signs.view(), deviations)
            };
            let first = noise(data.deviations.view());
            let second = noise(data.deviations.view());
            let rollout = noise(model.deviations.view());
            let sums = [&first + &second, &first + &rollout];
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
    let blocks = data.deviations.nrows().min(model.deviations.nrows());
    let (curves, overall, worst) =
        summarise(&values, &stacked(0), &stacked(1), (blocks - 1) as f64);
    Distances {
        curves,
        overall,
        worst,
        point: worst_point(differences.view(), data, model),
    }
}

/// The difference at each point over its standard error is a Student t, whose degrees of freedom are
/// those of Welch and Satterthwaite; the probability of the largest is at most that of one times the
/// number of points (Bonferroni), which for correlated points errs towards silence.
///
/// Where an ensemble has hardly a sample, as in the tail of a density, its own error is near zero and says
/// nothing. If both follow the same law their errors are everywhere in the proportion of their lengths, and
/// each is taken to be at least what the other's gives.
fn worst_point(
    differences: ArrayView1<f64>,
    data: &Jackknife,
    model: &Jackknife,
) -> (usize, Distance) {
    let freedom = |jackknife: &Jackknife| (jackknife.deviations.nrows() - 1) as f64;
    let (nu_a, nu_b) = (freedom(data), freedom(model));
    let mut errors = [data.errors(), model.errors()];
    let proportion = (errors[0].dot(&errors[0]) / errors[1].dot(&errors[1])).sqrt();
    if proportion.is_finite() && proportion > 0.0 {
        let [data, model] = &mut errors;
        for (a, b) in data.iter_mut().zip(model) {
            (*a, *b) = (a.max(*b * proportion), b.max(*a / proportion));
        }
    }
    let score = |(difference, (a, b)): (&f64, (&f64, &f64))| {
        let (a, b) = (a * a, b * b);
        let nu = (a + b).powi(2) / (a * a / nu_a + b * b / nu_b);
        normal_score(difference / (a + b).sqrt(), nu).abs()
    };
    let pairs = errors[0].iter().zip(&errors[1]);
    let scores: Vec<f64> = differences.iter().zip(pairs).map(score).collect();
    let count = scores.iter().filter(|z| z.is_finite()).count();
    let (place, z) = largest(scores.into_iter());
    // Two records of the size of the shorter one.
    let error = std::f64::consts::SQRT_2 * errors[0][place].max(errors[1][place]);
    let value = differences[place].abs();
    let floor = (2.0 / std::f64::consts::PI).sqrt() * error;
    let distance = Distance {
        value,
        floor,
        floor_95: 1.96 * error,
        over_floor: if value == 0.0 { 0.0 } else { value / floor },
        z,
        probability: (count as f64 * normal_tails(z)).min(1.0),
    };
    (place, distance)
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
    freedom: f64,
) -> (Vec<Distance>, Distance, (usize, Distance)) {
    let curves: Vec<Distance> = (0..values.len())
        .map(|c| {
            let (floor, chance) = (floor.column(c).to_vec(), chance.column(c).to_vec());
            Distance::new(values[c], floor, &chance, freedom)
        })
        .collect();
    let mean = |row: ArrayView1<f64>| row.mean().unwrap_or(0.0);
    let means = |all: &Array2<f64>| all.rows().into_iter().map(mean).collect::<Vec<f64>>();
    let overall = Distance::new(mean(values.view()), means(floor), &means(chance), freedom);
    // In units of the floor of each curve.
    let ratios =
        |row: ArrayView1<f64>| largest(row.iter().zip(&curves).map(|(value, c)| value / c.floor));
    let of_draws = |all: &Array2<f64>| -> Vec<f64> {
        all.rows().into_iter().map(|row| ratios(row).1).collect()
    };
    let (place, ratio) = ratios(values.view());
    let together = Distance::new(ratio, of_draws(floor), &of_draws(chance), freedom);
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
            floor_95: floor[(floor.len() * 95 / 100).min(floor.len() - 1)],
            over_floor: if value == 0.0 {
                0.0
            } else {
                (value / mean).min(f64::MAX)
            },
            z,
            probability: upper_tail(z),
        }
    }
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

    /// A bin without a sample, in a record a quarter as long as the rollout, is no evidence where the model
    /// has few there; a common bin that differs is.
    #[test]
    fn empty_bins_borrow_their_error_from_the_other_ensemble() {
        let data = estimate([0.5, 0.5, 0.0], [0.02, 0.02, 0.0]);
        let errors = [0.01, 0.01, 0.009];
        let rare = estimate([0.482, 0.482, 0.036], errors);
        let (place, point) = measure(&data, &rare, &[3], Norm::Sum, 64, 0).point;
        assert_eq!(place, 2);
        assert!(point.z < 2.5, "{point:?}");
        let common = estimate([0.7, 0.264, 0.036], errors);
        let (place, point) = measure(&data, &common, &[3], Norm::Sum, 64, 0).point;
        assert!(place < 2 && point.z > 4.0, "{place} {point:?}");
    }
}
