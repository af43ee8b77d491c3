//! The peer: Kramers-Moyal regression of increments on polynomials.

use std::collections::HashMap;

use ergode::data::Standardiser;
use ergode::mobility::{LinearMobility, PolynomialConfig, TensorBasis, accumulate_polynomials};
use ergode::observable::{Functions, Monomials};
use ergode::{Control, Ensemble, Result};
use faer::Mat;
use faer::linalg::solvers::Solve;
use ndarray::Array3;

/// Degree of the drift, that of the true one.
const DRIFT: usize = 3;
/// Degree of D, that of the true one.
const DIFFUSION: usize = 2;

/// What is regressed on polynomials of the earlier state; Δ is the increment over the interval δ.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Variant {
    /// Δ Δᵀ / 2δ.
    Plain,
    /// (Δ − F δ)(Δ − F δ)ᵀ / 2δ with the drift F from a regression of Δ/δ: the second-order drift
    /// correction.
    DriftCorrected,
    /// Twice the plain estimate at δ less that at 2δ, which removes the bias of order δ.
    Extrapolated,
}

/// A polynomial of the two standardised coordinates.
type Terms = Vec<([u32; 2], f64)>;

fn product(p: &Terms, q: &Terms) -> Terms {
    let times =
        |a: &([u32; 2], f64), b: &([u32; 2], f64)| ([a.0[0] + b.0[0], a.0[1] + b.0[1]], a.1 * b.1);
    let pairs = p.iter().flat_map(|a| q.iter().map(move |b| times(a, b)));
    pairs.collect()
}

/// Averages over the pairs of samples at one lag.
struct Increments<'a> {
    correlations: &'a Array3<f64>,
    places: &'a HashMap<[u32; 2], usize>,
    lag: usize,
    delta: f64,
}

impl Increments<'_> {
    /// ⟨z_t^α p(z_0)⟩.
    fn average(&self, later: [u32; 2], earlier: &Terms) -> f64 {
        let row = self.places[&later];
        let value =
            |(e, a): &([u32; 2], f64)| a * self.correlations[[self.lag, row, self.places[e]]];
        earlier.iter().map(value).sum()
    }

    /// ⟨Δ_i p(z_0)⟩.
    fn first(&self, i: usize, p: &Terms) -> f64 {
        self.average(unit(i), p) - self.average([0, 0], &product(&coordinate(i), p))
    }

    /// ⟨Δ_i Δ_j p(z_0)⟩.
    fn second(&self, i: usize, j: usize, p: &Terms) -> f64 {
        let (zi, zj) = (coordinate(i), coordinate(j));
        let both = product(&zi, &zj);
        self.average(both[0].0, p) + self.average([0, 0], &product(&both, p))
            - self.average(unit(i), &product(&zj, p))
            - self.average(unit(j), &product(&zi, p))
    }

    /// The least-squares polynomial of the given degree, from the averages of its target with each
    /// monomial.
    fn regress(&self, degree: usize, target: impl Fn(&Terms) -> f64) -> Terms {
        let functions = monomials(degree);
        let n = functions.len();
        let term = |k: usize| vec![(functions[k], 1.0)];
        let gram = Mat::from_fn(n, n, |a, b| {
            self.average([0, 0], &product(&term(a), &term(b)))
        });
        let target = Mat::from_fn(n, 1, |a, _| target(&term(a)));
        let solution = gram.partial_piv_lu().solve(&target);
        (0..n).map(|k| (functions[k], solution[(k, 0)])).collect()
    }

    /// D_ij.
    fn diffusion(&self, i: usize, j: usize, corrected: bool) -> Terms {
        let delta = self.delta;
        let drift = |i: usize| -> Terms {
            if corrected {
                self.regress(DRIFT, |phi| self.first(i, phi) / delta)
            } else {
                Vec::new()
            }
        };
        let (fi, fj) = (drift(i), drift(j));
        self.regress(DIFFUSION, |phi| {
            let mixed = self.first(i, &product(&fj, phi)) + self.first(j, &product(&fi, phi));
            let square = self.average([0, 0], &product(&product(&fi, &fj), phi));
            (self.second(i, j, phi) - delta * mixed + delta * delta * square) / (2.0 * delta)
        })
    }
}

fn unit(i: usize) -> [u32; 2] {
    std::array::from_fn(|k| u32::from(k == i))
}

fn coordinate(i: usize) -> Terms {
    vec![(unit(i), 1.0)]
}

fn monomials(degree: usize) -> Vec<[u32; 2]> {
    let names = ["x".to_owned(), "y".to_owned()];
    let monomials = Monomials::new(&names, 0..=degree).expect("two coordinates");
    let exponents = monomials.exponents().into_iter();
    exponents.map(|e| [e[0], e[1]]).collect()
}

/// D(x), quadratic; R stays zero, which this method does not estimate.
pub(crate) fn fit(data: &Ensemble, variant: Variant) -> Result<LinearMobility> {
    let standardiser = Standardiser::from_ensemble(data)?;
    let interval = data.sampling_interval().expect("evenly sampled");
    let corrected = variant == Variant::DriftCorrected;
    let initial_degree = DIFFUSION + if corrected { 2 * DRIFT } else { 2 };
    let lags = 1 + usize::from(variant == Variant::Extrapolated);
    let config = PolynomialConfig {
        future_degree: 2,
        initial_degree,
        moment_degree: 0,
        lags: (0..=lags).map(|lag| lag as f64 * interval).collect(),
        ..PolynomialConfig::default()
    };
    let sums = accumulate_polynomials(data, &standardiser, &config, &Control::new())?;
    let blocks: Vec<usize> = (0..sums.blocks()).collect();
    let correlations = sums.expectations(&blocks).correlations;
    let places = monomials(initial_degree).into_iter().zip(0..).collect();
    let at = |lag: usize| Increments {
        correlations: &correlations,
        places: &places,
        lag,
        delta: lag as f64 * interval,
    };
    let basis = TensorBasis::polynomial(sums.names(), &standardiser, DIFFUSION, 0, None)?;
    let labels = Monomials::new(sums.names(), 0..=DIFFUSION)?
        .labels()
        .to_vec();
    let mut found: HashMap<String, f64> = HashMap::new();
    for (i, j) in [(0, 0), (0, 1), (1, 1)] {
        let mut terms = at(1).diffusion(i, j, corrected);
        if variant == Variant::Extrapolated {
            for (one, two) in terms.iter_mut().zip(at(2).diffusion(i, j, corrected)) {
                one.1 = 2.0 * one.1 - two.1;
            }
        }
        for (label, (_, value)) in labels.iter().zip(terms) {
            let entry = format!("D[{},{}]", sums.names()[i], sums.names()[j]);
            found.insert(format!("{entry} {label}"), value);
        }
    }
    let value = |label: &str| found.get(label).copied().unwrap_or(0.0);
    let coefficients = basis.labels().map(value).collect();
    LinearMobility::new(basis, coefficients)
}
