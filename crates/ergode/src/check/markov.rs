//! The Markov property: Chapman-Kolmogorov on covariances.

use ndarray::{Array2, s};

use super::CheckConfig;
use super::record::Record;
use crate::control::Control;
use crate::error::Result;
use crate::finding::{Finding, FindingKind, Severity, digits};
use crate::lagged::{Jackknife, PairSums};
use crate::linalg;
use crate::observable::{Monomials, Standardised};
use crate::stats::normal_score;

/// Effective samples for each observable.
const SAMPLES_PER_OBSERVABLE: f64 = 40.0;
/// Dimensions up to which products of different coordinates are observed, and powers at all.
const FEW: usize = 3;
const MANY: usize = 12;
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
/// It holds for a Markov process whose observables span an invariant space; the monomials (up to
/// degree 5, 4, 3 in one, two, three dimensions; powers up to 3 of single coordinates up to twelve
/// dimensions; coordinates alone beyond) do so nearly, and only the violation between the
/// coordinates themselves is judged. t₀ = 0, or the first lag if there is white measurement noise,
/// which spoils C(0) alone.
pub(super) fn test(
    record: &Record,
    setting: &Setting,
    config: &CheckConfig,
    control: &Control,
) -> Result<Option<MarkovOutcome>> {
    let dim = setting.coordinates.len();
    let exponents = exponents(dim, setting.effective);
    if exponents.is_empty() {
        return Ok(None);
    }
    let functions = monomials(record, setting.coordinates, &exponents)?;
    let (first, factor) = (
        usize::from(setting.noisy),
        (FRACTIONS[0] * setting.times[0] / record.interval / RESOLUTION).max(1.0) as usize,
    );
    let unit = factor as f64 * record.interval;
    let steps = steps(setting, unit, (record.longest - 1) / 2 / factor);
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
    if steps.is_empty() || sums.grid().len() < lags.len() || sums.block_ids().len() < 8 {
        return Ok(None);
    }
    let place = |step: usize| lags.binary_search(&step).expect("a lag of the grid");
    let triples: Vec<[usize; 3]> = steps
        .iter()
        .map(|s| [0, *s, 2 * s].map(|k| place(first + k)))
        .collect();
    let outcome = sums.jackknife(|sums| {
        triples
            .iter()
            .flat_map(|places| violation(sums, *places, setting.observed, dim))
            .collect()
    })?;
    let violation = outcome.values.iter().fold(0.0f64, |m, v| m.max(v.abs()));
    let Some((z, k)) = worst(&outcome, dim, config) else {
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
        if dim > FEW {
            "add delays (set delays.count to a number or \"auto\") or observe more coordinates; strong \
             nonlinear coupling between many coordinates can have the same effect"
        } else {
            "add delays (set delays.count to a number or \"auto\") or observe more coordinates"
        },
    );
    Ok(Some(MarkovOutcome {
        violation,
        finding: Some(finding),
    }))
}

/// The largest violation that is significant and of a size that counts: its z and its place.
fn worst(outcome: &Jackknife, dim: usize, config: &CheckConfig) -> Option<(f64, usize)> {
    let errors = outcome.errors();
    let nu = (outcome.deviations.nrows() - 1) as f64;
    let size = config.markov_size * if dim > FEW { 2.0 } else { 1.0 };
    let violation = |k: usize| outcome.values[k].abs();
    (0..outcome.values.len())
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
/// at the later time.
fn violation(
    sums: &PairSums,
    [start, once, twice]: [usize; 3],
    observed: usize,
    dim: usize,
) -> Vec<f64> {
    let (c0, c1, c2) = (
        sums.covariance(start),
        sums.covariance(once),
        sums.covariance(twice),
    );
    let predicted = c1.dot(&linalg::pseudo_inverse(c0.view(), 1e-10)).dot(&c1);
    let difference = (c2 - predicted).slice_move(s![..observed, ..dim]);
    let scale: Vec<f64> = (0..dim).map(|i| c0[[i, i]].abs().sqrt()).collect();
    Array2::from_shape_fn((observed, dim), |(i, j)| {
        difference[[i, j]] / (scale[i] * scale[j])
    })
    .into_iter()
    .collect()
}

/// Exponents of the monomials, the coordinates first; fewer if there are few samples.
fn exponents(dim: usize, effective: f64) -> Vec<Vec<usize>> {
    let highest = match dim {
        0 => return Vec::new(),
        1 => 5,
        2 => 4,
        3..=MANY => 3,
        _ => 1,
    };
    let mut all: Vec<Vec<usize>> = Vec::new();
    for degree in 1..=highest {
        let next = if dim <= FEW {
            of_degree(dim, degree)
        } else {
            let pure = |j| (0..dim).map(|i| if i == j { degree } else { 0 }).collect();
            (0..dim).map(pure).collect()
        };
        if ((all.len() + next.len()) as f64) * SAMPLES_PER_OBSERVABLE > effective {
            break;
        }
        all.extend(next);
    }
    all
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
