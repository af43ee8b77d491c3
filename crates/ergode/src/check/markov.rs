//! The Markov property: Chapman-Kolmogorov on covariances.

use std::borrow::Cow;

use ndarray::{Array2, s};

use super::CheckConfig;
use super::excerpt::Excerpt;
use super::record::Record;
use crate::control::Control;
use crate::error::Result;
use crate::finding::{Finding, FindingKind, Severity, digits};
use crate::lagged::{Jackknife, PairSums};
use crate::linalg;
use crate::observable::{Monomials, Standardised};
use crate::stats::{normal_score, normal_tails};

/// Effective samples for each observable.
const SAMPLES_PER_OBSERVABLE: f64 = 40.0;
/// Dimensions up to which all monomials are observed, and up to which products of coordinates are tried.
const FEW: usize = 3;
const MANY: usize = 40;
/// Most observables, and samples on which they are chosen.
const OBSERVABLES: usize = 120;
const CHOSEN_ON: usize = 4000;
/// Times by which the change from the smaller space to the larger one may still continue.
const CLOSING: f64 = 2.0;
/// Samples kept up to the shortest lag of the test; the data are thinned to these.
const RESOLUTION: f64 = 8.0;
/// Lags of the test, as fractions of the decorrelation time.
const FRACTIONS: [f64; 3] = [1.0 / 6.0, 1.0 / 3.0, 2.0 / 3.0];

/// Properties of the record that the test needs.
pub(super) struct Setting<'a> {
    /// Coordinates that are independent of one another.
    pub(super) coordinates: &'a [usize],
    /// Those of them, the first, that are judged at the later time.
    pub(super) observed: usize,
    /// Shortest and longest decorrelation time.
    pub(super) times: [f64; 2],
    /// Smallest number of effective samples.
    pub(super) effective: f64,
    /// Whether lag 0 is spoilt by measurement noise.
    pub(super) noisy: bool,
}

/// Result of the test.
pub(crate) struct MarkovOutcome {
    /// The largest violation, as a fraction of the variance.
    pub(crate) violation: f64,
    /// The finding, if a violation is significant and large enough to matter.
    pub(crate) finding: Option<Finding>,
}

/// Test C(t₀ + 2t) = C(t₀ + t) C(t₀)⁻¹ C(t₀ + t), C the covariance of the observables.
///
/// It holds for a Markov process whose observables span an invariant space; only the violation between the
/// coordinates themselves is judged. The observables are monomials ([`Space`]), whose space is invariant only
/// nearly where the process is nonlinear. In few dimensions they are those of the coordinates' normal scores
/// ([`scores`]), which have moments whatever the law; a function of each coordinate leaves a Markov process what
/// it is. What is missing shows in a smaller space of them: the violation of a
/// Markov process becomes smaller as the space grows, that of a hidden coordinate stays. So [`CLOSING`] times
/// the change from the smaller space to the larger is taken off. t₀ = 0, or the first lag if there is white
/// measurement noise, which spoils C(0) alone.
pub(super) fn test(
    record: &Record,
    setting: &Setting,
    config: &CheckConfig,
    control: &Control,
) -> Result<Option<MarkovOutcome>> {
    let dim = setting.coordinates.len();
    let scored = if dim <= FEW {
        Some(scores(record, control)?)
    } else {
        None
    };
    let record = scored.as_ref().unwrap_or(record);
    let (first, factor) = (
        usize::from(setting.noisy),
        (FRACTIONS[0] * setting.times[0] / record.interval / RESOLUTION).max(1.0) as usize,
    );
    let unit = factor as f64 * record.interval;
    let steps = steps(setting, unit, (record.longest - 1) / 2 / factor);
    if steps.is_empty() {
        return Ok(None);
    }
    let space = Space::choose(record, setting, steps[steps.len() / 2] * factor)?;
    if space.inner == space.exponents.len() {
        return Ok(None);
    }
    let functions = monomials(record, setting.coordinates, &space.exponents)?;
    let mut lags: Vec<usize> = steps
        .iter()
        .flat_map(|s| [first + s, first + 2 * s])
        .chain([first])
        .collect();
    lags.sort_unstable();
    lags.dedup();
    let Some(sums) = record.sums(&functions, &lags, factor, control)? else {
        return Ok(None);
    };
    if sums.grid().len() < lags.len() || sums.block_ids().len() < 8 {
        return Ok(None);
    }
    let place = |step: usize| lags.binary_search(&step).expect("a lag of the grid");
    let triples: Vec<[usize; 3]> = steps
        .iter()
        .map(|s| [0, *s, 2 * s].map(|k| place(first + k)))
        .collect();
    let sizes = [space.exponents.len(), space.inner];
    let outcome = sums.jackknife(|sums| {
        let each = |size: usize| {
            let one =
                move |places: &[usize; 3]| violation(sums, *places, size, [setting.observed, dim]);
            triples.iter().flat_map(one)
        };
        sizes.into_iter().flat_map(each).collect()
    })?;
    let judged = outcome.values.len() / 2;
    let violation = outcome.values.iter().take(judged);
    let violation = violation.fold(0.0f64, |m, v| m.max(v.abs()));
    let Some((z, k)) = worst(&outcome, [setting.observed * dim, dim], config) else {
        return Ok(Some(MarkovOutcome {
            violation,
            finding: None,
        }));
    };
    let name = |i: usize| &record.ensemble.names()[setting.coordinates[i]];
    let pairs = setting.observed * dim;
    let (pair, step) = (k % pairs, steps[k / pairs]);
    let finding = Finding::new(
        FindingKind::NonMarkov,
        Severity::Warn,
        format!(
            "the coordinates are not Markov: between '{}' and '{}', the covariance at lag {} \
             misses its prediction from lag {} by {:.0} % of the variance (z = {z:.1})",
            name(pair / dim),
            name(pair % dim),
            digits((first + 2 * step) as f64 * unit),
            digits((first + step) as f64 * unit),
            100.0 * outcome.values[k].abs(),
        ),
        "add delays (set delays.count to a number or \"auto\") or observe more coordinates",
    );
    Ok(Some(MarkovOutcome {
        violation,
        finding: Some(finding),
    }))
}

/// The largest violation in the larger space that is significant and of a size that counts, what closing the
/// space may still take off left out: its z and its place. What it may take off is judged by the largest change
/// among the pairs of a lag, because that of a single pair may be small by chance.
fn worst(
    outcome: &Jackknife,
    [pairs, dim]: [usize; 2],
    config: &CheckConfig,
) -> Option<(f64, usize)> {
    let errors = outcome.errors();
    let nu = (outcome.deviations.nrows() - 1) as f64;
    let size = config.markov_size * if dim > FEW { 2.0 } else { 1.0 };
    let judged = outcome.values.len() / 2;
    let violation = |k: usize| {
        let start = k / pairs * pairs;
        let change = (start..start + pairs)
            .map(|l| (outcome.values[l] - outcome.values[judged + l]).abs())
            .fold(0.0, f64::max);
        outcome.values[k].abs() - CLOSING * change
    };
    (0..judged)
        .filter(|&k| violation(k) > size)
        .map(|k| (normal_score(violation(k) / errors[k], nu), k))
        .filter(|(z, _)| *z > config.markov_z)
        .max_by(|a, b| violation(a.1).total_cmp(&violation(b.1)))
}

/// The lags t of the test in multiples of `unit`, 2t at most `limit`.
fn steps(setting: &Setting, unit: f64, limit: usize) -> Vec<usize> {
    let mut steps: Vec<usize> = setting
        .times
        .iter()
        .flat_map(|time| FRACTIONS.map(|f| (f * time / unit).round() as usize))
        .filter(|&s| s > 0 && usize::from(setting.noisy) + 2 * s <= limit)
        .collect();
    steps.sort_unstable();
    steps.dedup();
    steps
}

/// [C(t₀+2t) − C(t₀+t) C(t₀)⁻¹ C(t₀+t)]_ij / √(C_ii(t₀) C_jj(t₀)) of the coordinates, the observed ones i
/// at the later time, C of the first `size` observables.
fn violation(
    sums: &PairSums,
    places: [usize; 3],
    size: usize,
    [observed, dim]: [usize; 2],
) -> Vec<f64> {
    let [c0, c1, c2] = places.map(|lag| sums.covariance(lag).slice_move(s![..size, ..size]));
    let predicted = c1.dot(&linalg::pseudo_inverse(c0.view(), 1e-10)).dot(&c1);
    let difference = (c2 - predicted).slice_move(s![..observed, ..dim]);
    let scale: Vec<f64> = (0..dim).map(|i| c0[[i, i]].abs().sqrt()).collect();
    Array2::from_shape_fn((observed, dim), |(i, j)| {
        difference[[i, j]] / (scale[i] * scale[j])
    })
    .into_iter()
    .collect()
}

/// The record with y = Φ⁻¹(F(x)) in the place of every coordinate, F its distribution function, linear between
/// the quantiles at y = −3, −2.75, ..., 3 and beyond.
fn scores(record: &Record, control: &Control) -> Result<Record<'static>> {
    let excerpt = Excerpt::collect(record);
    let tables: Vec<Vec<[f64; 2]>> = excerpt.columns.iter().map(|x| table(x)).collect();
    let score = move |_: f64, j: usize, x: f64| interpolate(&tables[j], x);
    Record::new(Cow::Owned(record.ensemble.mapped(score)?), control)
}

/// Quantiles and their normal scores, both increasing.
fn table(values: &[f64]) -> Vec<[f64; 2]> {
    /// Samples beyond the outermost quantile.
    const BEYOND: f64 = 20.0;
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = (sorted.len() - 1) as f64;
    let mut table: Vec<[f64; 2]> = Vec::new();
    for k in -12..=12 {
        let y = 0.25 * f64::from(k);
        let tail = 0.5 * normal_tails(y);
        let place = last * if k < 0 { tail } else { 1.0 - tail };
        let inside = place >= BEYOND && last - place >= BEYOND;
        let x = sorted[place.round() as usize];
        if inside && table.last().is_none_or(|before| x > before[0]) {
            table.push([x, y]);
        }
    }
    table
}

/// Linear between the points of a table, and beyond them as between the last two; x itself where there are
/// fewer than three.
fn interpolate(table: &[[f64; 2]], x: f64) -> f64 {
    if table.len() < 3 {
        return x;
    }
    let k = table
        .partition_point(|point| point[0] < x)
        .clamp(1, table.len() - 1);
    let ([x0, y0], [x1, y1]) = (table[k - 1], table[k]);
    y0 + (y1 - y0) * (x - x0) / (x1 - x0)
}

/// The monomials that are observed, the coordinates first.
struct Space {
    /// Exponents of all of them.
    exponents: Vec<Vec<usize>>,
    /// How many of them, the first, make the smaller space.
    inner: usize,
}

impl Space {
    /// In one, two, three dimensions all monomials up to degree 6, 6, 4, the smaller space two degrees less,
    /// or one where there are few samples. In more, the coordinates and the monomials of degree 2 and 3 that
    /// best predict what a linear prediction over `step` samples leaves; the smaller space is that of the
    /// coordinates.
    fn choose(record: &Record, setting: &Setting, step: usize) -> Result<Self> {
        let dim = setting.coordinates.len();
        let most = (setting.effective / SAMPLES_PER_OBSERVABLE) as usize;
        if dim > FEW {
            let most = most.min(OBSERVABLES.max(2 * dim));
            let mut exponents = of_degree_one(dim);
            if most > dim {
                exponents.extend(predictive(record, setting.coordinates, step, most - dim)?);
            }
            return Ok(Self {
                exponents,
                inner: dim,
            });
        }
        let highest = [0, 6, 6, 4][dim];
        let (mut exponents, mut ends) = (Vec::new(), vec![0]);
        for degree in 1..=highest {
            let next = of_degree(dim, degree);
            if exponents.len() + next.len() > most {
                break;
            }
            exponents.extend(next);
            ends.push(exponents.len());
        }
        let degree = ends.len() - 1;
        let inner = match degree {
            0 | 1 => exponents.len(),
            2 | 3 => ends[degree - 1],
            _ => ends[degree - 2],
        };
        Ok(Self { exponents, inner })
    }
}

fn of_degree_one(dim: usize) -> Vec<Vec<usize>> {
    let one = |j| (0..dim).map(|i| usize::from(i == j)).collect();
    (0..dim).map(one).collect()
}

/// The monomials x_j x_k and x_j² x_k most correlated with the error of the linear prediction of any coordinate
/// over `step` samples, at most `most` of them; squares alone in many dimensions.
fn predictive(
    record: &Record,
    coordinates: &[usize],
    step: usize,
    most: usize,
) -> Result<Vec<Vec<usize>>> {
    let excerpt = Excerpt::collect(record);
    let (places, dim) = (excerpt.places(0, step, CHOSEN_ON), coordinates.len());
    let mut factors: Vec<Vec<usize>> = (0..dim).map(|j| vec![j, j]).collect();
    if dim <= MANY {
        for j in 0..dim {
            factors.extend((0..j).map(|k| vec![j, k]));
            factors.extend((0..dim).map(|k| vec![j, j, k]));
        }
    }
    let n = places.len();
    let state = |after: usize| {
        let value = |(row, i): (usize, usize)| excerpt.unit(coordinates[i], places[row] + after);
        Array2::from_shape_fn((n, dim), value)
    };
    let (now, later) = (state(0), state(step));
    let gram = linalg::multiply(now.t(), now.view());
    let slope = linalg::pseudo_inverse(gram.view(), 1e-10).dot(&now.t().dot(&later));
    let mut left = later - now.dot(&slope);
    for mut column in left.columns_mut() {
        let mean = column.sum() / n.max(1) as f64;
        column -= mean;
        let size = column.dot(&column).sqrt().max(f64::MIN_POSITIVE);
        column /= size;
    }
    let mut scored: Vec<(f64, Vec<usize>)> = Vec::with_capacity(factors.len());
    for product in factors {
        let mut value = ndarray::Array1::ones(n);
        for &i in &product {
            value *= &now.column(i);
        }
        value -= value.sum() / n.max(1) as f64;
        let size = value.dot(&value).sqrt().max(f64::MIN_POSITIVE);
        let explained = left.t().dot(&value) / size;
        let score = explained.iter().fold(0.0f64, |m, c| m.max(c.abs()));
        let exponents = (0..dim).map(|i| product.iter().filter(|f| **f == i).count());
        scored.push((score, exponents.collect()));
    }
    scored.sort_by(|a, b| b.0.total_cmp(&a.0));
    scored.truncate(most);
    Ok(scored.into_iter().map(|s| s.1).collect())
}

/// All exponents of one total degree, the first coordinates first.
fn of_degree(dim: usize, degree: usize) -> Vec<Vec<usize>> {
    if dim == 1 {
        return vec![vec![degree]];
    }
    (0..=degree)
        .rev()
        .flat_map(|first| {
            of_degree(dim - 1, degree - first)
                .into_iter()
                .map(move |rest| {
                    let mut exponents = vec![first];
                    exponents.extend(rest);
                    exponents
                })
        })
        .collect()
}

/// Products of powers of the standardised coordinates, `exponents` those of the chosen `coordinates`.
fn monomials(
    record: &Record,
    coordinates: &[usize],
    exponents: &[Vec<usize>],
) -> Result<Standardised<Monomials>> {
    let of_all = |exponents: &Vec<usize>| {
        let mut all = vec![0; record.dim()];
        for (&j, &power) in coordinates.iter().zip(exponents) {
            all[j] = power as u32;
        }
        all
    };
    let exponents = exponents.iter().map(of_all).collect();
    let monomials = Monomials::from_exponents(record.ensemble.names(), exponents)?;
    Ok(Standardised::new(record.scales.clone(), monomials))
}
