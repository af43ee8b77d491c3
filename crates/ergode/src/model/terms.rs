//! Drift and diffusion of a model written out: polynomials of the state in its own units.

use std::collections::BTreeMap;
use std::f64::consts::TAU;

use ndarray::{Array1, Array2};
use serde::{Deserialize, Serialize};

use super::deviations::Deviations;
use super::{LangevinModel, StoredMobility, StoredScore};
use crate::data::Standardiser;
use crate::mobility::LinearMobility;
use crate::observable::{Factor, Polynomial, degree};
use crate::score::ClosedFormScore;

/// c x^α, with the standard error of c.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Term {
    /// The monomial, such as `x^2*y` or `cos(2*theta)*r`; `1` for the constant.
    pub term: String,
    /// c, in units of the state.
    pub value: f64,
    /// Its standard error, where it is known.
    pub stderr: Option<f64>,
}

/// A polynomial of z = (x − mean)/scale: factors and coefficient of each term.
pub type StandardisedTerms = Vec<(Vec<WrittenFactor>, f64)>;

/// What stands for one coordinate z in a term.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WrittenFactor {
    /// z^p; 1 for p = 0.
    Power(u32),
    /// cos mz
    Cos(u32),
    /// sin mz
    Sin(u32),
}

impl From<Factor> for WrittenFactor {
    fn from(factor: Factor) -> Self {
        match factor {
            Factor::Power(power) => Self::Power(power),
            Factor::Cos(m) => Self::Cos(m),
            Factor::Sin(m) => Self::Sin(m),
        }
    }
}

/// dx = b(x) dt + √2 Σ dW with Σ Σᵀ = D(x), b and D being polynomials.
///
/// It is the equation among the samples, wherever D is positive; outside them the model pulls back.
#[derive(Clone, Debug)]
pub struct ModelEquation {
    /// Names of the coordinates.
    pub names: Vec<String>,
    /// b_i in the units of the state.
    pub drift: Vec<Vec<Term>>,
    /// D_ij for i ≤ j, row by row.
    pub diffusion: Vec<Vec<Term>>,
    /// The map to the coordinates z, in which large powers lose no digits.
    pub standardiser: Standardiser,
    /// b_i, in units of the state, of z.
    pub standardised_drift: Vec<StandardisedTerms>,
    /// D_ij for i ≤ j, likewise.
    pub standardised_diffusion: Vec<StandardisedTerms>,
}

impl ModelEquation {
    /// The pairs i ≤ j in the order of the entries of D.
    pub fn entries(&self) -> impl Iterator<Item = (usize, usize)> {
        upper(self.names.len())
    }
}

impl LangevinModel {
    /// Drift and diffusion written out; none where one of them is not made of polynomials, as of a network, a
    /// ring, or a score of logarithms.
    ///
    /// Standard errors come from the jackknife of the coefficients: of drift and diffusion, or of score and mobility.
    pub fn written_equation(&self) -> Option<ModelEquation> {
        let equation = match &self.mobility.stored {
            StoredMobility::Linear(mobility) if mobility.drift().is_some() => {
                Unknowns::of_fit(mobility)
            }
            StoredMobility::Linear(mobility) => {
                let m = mobility.basis().combine(mobility.coefficients());
                self.by_score(&m, mobility.basis().standardiser(), Some(mobility))?
            }
            StoredMobility::Constant(matrix) => {
                let standardiser = self.score.confinement().standardiser();
                let scale = &standardiser.scale;
                let entry = |((i, j), value): ((usize, usize), &f64)| {
                    Polynomial::monomial(vec![0; self.dim()], value / (scale[i] * scale[j]))
                };
                let m: Vec<Polynomial> = matrix.indexed_iter().map(entry).collect();
                self.by_score(&m, standardiser, None)?
            }
            StoredMobility::Lattice(_) | StoredMobility::Neural(_) => return None,
        };
        Some(equation.written(self.names()))
    }

    /// b = M s + ∇·M and D for a polynomial score, M in standardised coordinates.
    fn by_score(
        &self,
        m: &[Polynomial],
        standardiser: &Standardiser,
        mobility: Option<&LinearMobility>,
    ) -> Option<Unknowns> {
        let StoredScore::ClosedForm(score) = &*self.score else {
            return None;
        };
        if score.confinement().standardiser() != standardiser {
            return None;
        }
        let (dim, s) = (self.dim(), score.component_polynomials()?);
        let drift = drift_of(m, &s);
        let replicates = self.drift_replicates(score, m, mobility);
        let diffusion = match mobility {
            Some(mobility) => diffusion_fields(mobility),
            None => upper(dim)
                .map(|(i, j)| {
                    let mut even = Polynomial::default();
                    even.add_scaled(0.5, &m[i * dim + j]);
                    even.add_scaled(0.5, &m[j * dim + i]);
                    vec![(None, even)]
                })
                .collect(),
        };
        Some(Unknowns {
            standardiser: standardiser.clone(),
            drift: drift.into_iter().map(|sum| vec![(None, sum)]).collect(),
            replicates,
            diffusion,
            coefficients: mobility
                .map_or_else(|| Array1::zeros(0), |m| m.coefficients().to_owned()),
            deviations: deviations_of(mobility),
        })
    }
}

impl LangevinModel {
    /// The drift with each row of the deviations of score and mobility; none where these are not known, or where
    /// there are too many terms to multiply.
    fn drift_replicates(
        &self,
        score: &ClosedFormScore,
        m: &[Polynomial],
        mobility: Option<&LinearMobility>,
    ) -> Vec<Vec<Polynomial>> {
        /// Products of terms.
        const MOST: usize = 20_000_000;
        let deviations = Deviations::new(&self.score, &self.mobility);
        let known = mobility.is_none() || deviations.mobility.is_some();
        let (Some(of_score), true) = (deviations.score, known) else {
            return Vec::new();
        };
        let count = |polynomials: &[Polynomial]| -> usize {
            polynomials
                .iter()
                .map(|p| p.terms().count())
                .max()
                .unwrap_or(0)
        };
        let s = score.component_polynomials().unwrap_or_default();
        if of_score.nrows() * m.len() * count(m) * count(&s) > MOST {
            return Vec::new();
        }
        let replicate = |k: usize| {
            let s = score.moved(of_score.row(k))?.component_polynomials()?;
            let moved = mobility.zip(deviations.mobility.as_ref()).map(|(of, by)| {
                let coefficients = &of.coefficients() + &by.row(k);
                of.basis().combine(coefficients.view())
            });
            Some(drift_of(moved.as_deref().unwrap_or(m), &s))
        };
        let all: Option<Vec<_>> = (0..of_score.nrows()).map(replicate).collect();
        all.unwrap_or_default()
    }
}

/// b_i = Σ_j (M_ij s_j + ∂_j M_ij).
fn drift_of(m: &[Polynomial], s: &[Polynomial]) -> Vec<Polynomial> {
    let dim = s.len();
    let component = |i: usize| {
        let mut sum = Polynomial::default();
        for j in 0..dim {
            let entry = &m[i * dim + j];
            sum.add_scaled(1.0, &entry.product(&s[j]));
            sum.add_scaled(1.0, &entry.derivative(j));
        }
        sum
    };
    (0..dim).map(component).collect()
}

/// Sums of polynomials in z, each with the coefficient that it is multiplied by, if any.
type Sum = Vec<(Option<usize>, Polynomial)>;

/// Exponents of a monomial of x, its coefficient and its standard error.
type RawTerm = (Vec<u32>, f64, Option<f64>);

struct Unknowns {
    standardiser: Standardiser,
    drift: Vec<Sum>,
    /// The drift with each row of deviations of score and mobility; none where it is linear in the coefficients,
    /// or no errors are known.
    replicates: Vec<Vec<Polynomial>>,
    diffusion: Vec<Sum>,
    coefficients: Array1<f64>,
    /// (block, coefficient), where they are known.
    deviations: Option<Array2<f64>>,
}

fn upper(dim: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..dim).flat_map(move |i| (i..dim).map(move |j| (i, j)))
}

fn deviations_of(mobility: Option<&LinearMobility>) -> Option<Array2<f64>> {
    let errors = mobility.and_then(LinearMobility::errors);
    // One layout, so that sums of a model read from a file are those of the fit, to the bit.
    errors.map(|errors| errors.deviations().as_standard_layout().into_owned())
}

/// The fields of D_ij for i ≤ j.
fn diffusion_fields(mobility: &LinearMobility) -> Vec<Sum> {
    let basis = mobility.basis();
    let of_entry = |(i, j): (usize, usize)| {
        let even = |k: usize| {
            let [a, b] = [(i, j), (j, i)].map(|at| basis.entry(k, at));
            let mut sum = Polynomial::default();
            sum.add_scaled(0.5, &a);
            sum.add_scaled(0.5, &b);
            (Some(k), sum)
        };
        let some = |field: &(Option<usize>, Polynomial)| field.1.terms().any(|(_, c)| c != 0.0);
        (0..basis.len()).map(even).filter(some).collect()
    };
    upper(basis.dim()).map(of_entry).collect()
}

impl Unknowns {
    /// Where b and D are the unknowns.
    fn of_fit(mobility: &LinearMobility) -> Self {
        let basis = mobility.basis();
        let component = |i: usize| {
            let fields = (0..basis.len()).map(|k| (Some(k), basis.drift_component(k, i)));
            let some = |field: &(Option<usize>, Polynomial)| field.1.terms().next().is_some();
            fields.filter(some).collect()
        };
        Self {
            standardiser: basis.standardiser().clone(),
            drift: (0..basis.dim()).map(component).collect(),
            replicates: Vec::new(),
            diffusion: diffusion_fields(mobility),
            coefficients: mobility.coefficients().to_owned(),
            deviations: deviations_of(Some(mobility)),
        }
    }

    fn written(self, names: &[String]) -> ModelEquation {
        let scale = &self.standardiser.scale;
        let drift = || self.drift.iter().zip(scale.iter().copied());
        let units = upper(names.len()).map(|(i, j)| scale[i] * scale[j]);
        let units: Vec<f64> = units.collect();
        let diffusion = || self.diffusion.iter().zip(units.iter().copied());
        ModelEquation {
            names: names.to_vec(),
            drift: drift()
                .enumerate()
                .map(|(i, (sum, unit))| self.with_replicates(i, unit, self.raw(sum, unit)))
                .map(|terms| self.named(terms, names))
                .collect(),
            diffusion: diffusion()
                .map(|(sum, unit)| self.named(self.raw(sum, unit), names))
                .collect(),
            standardised_drift: drift().map(|(sum, unit)| self.total(sum, unit)).collect(),
            standardised_diffusion: diffusion()
                .map(|(sum, unit)| self.total(sum, unit))
                .collect(),
            standardiser: self.standardiser.clone(),
        }
    }

    fn factor(&self, coefficient: Option<usize>) -> f64 {
        coefficient.map_or(1.0, |k| self.coefficients[k])
    }

    /// The sum as one polynomial of z.
    fn total(&self, sum: &Sum, unit: f64) -> StandardisedTerms {
        let mut total = Polynomial::default();
        for (k, polynomial) in sum {
            total.add_scaled(unit * self.factor(*k), polynomial);
        }
        let terms = total.terms().filter(|(_, c)| *c != 0.0);
        let written = |powers: &Vec<u32>| powers.iter().map(|e| Factor::of(*e).into()).collect();
        terms.map(|(powers, c)| (written(powers), c)).collect()
    }

    /// The sum in monomials of x, with errors.
    fn raw(&self, sum: &Sum, unit: f64) -> Vec<RawTerm> {
        /// A sum of parts this much smaller than they are is rounding: the monomial is not there.
        const ROUNDING: f64 = 1e-12;
        // Coefficient, size of its parts and derivatives by every unknown, of each monomial.
        let mut monomials: BTreeMap<Vec<u32>, (f64, f64, Array1<f64>)> = BTreeMap::new();
        for (k, polynomial) in sum {
            for (powers, c) in polynomial.terms() {
                for (powers, factor) in expanded(powers, &self.standardiser) {
                    let none = || (0.0, 0.0, Array1::zeros(self.coefficients.len()));
                    let (value, size, slopes) = monomials.entry(powers).or_insert_with(none);
                    let part = unit * c * factor;
                    *value += part * self.factor(*k);
                    *size += (part * self.factor(*k)).abs();
                    if let Some(k) = k {
                        slopes[*k] += part;
                    }
                }
            }
        }
        let known = sum.iter().all(|(k, _)| k.is_some());
        monomials
            .into_iter()
            .filter(|(_, (value, size, _))| value.abs() > ROUNDING * size || *size == 0.0)
            .map(|(powers, (value, _, slopes))| {
                let deviations = self.deviations.as_ref().filter(|_| known);
                let stderr = deviations.map(|rows| {
                    let along = rows.dot(&slopes);
                    along.dot(&along).sqrt()
                });
                (powers, value, stderr)
            })
            .collect()
    }

    /// Errors of the drift of component `i` from its replicates.
    fn with_replicates(&self, i: usize, unit: f64, mut terms: Vec<RawTerm>) -> Vec<RawTerm> {
        if self.replicates.is_empty() {
            return terms;
        }
        let mut squares: BTreeMap<Vec<u32>, f64> = BTreeMap::new();
        for replicate in &self.replicates {
            let mut moved: BTreeMap<Vec<u32>, f64> = BTreeMap::new();
            for (powers, c) in replicate[i].terms() {
                for (powers, factor) in expanded(powers, &self.standardiser) {
                    *moved.entry(powers).or_insert(0.0) += unit * c * factor;
                }
            }
            for (powers, value, _) in &terms {
                let by = moved.get(powers).copied().unwrap_or(0.0) - value;
                *squares.entry(powers.clone()).or_insert(0.0) += by * by;
            }
        }
        for (powers, _, stderr) in &mut terms {
            *stderr = squares.get(powers).map(|square| square.sqrt());
        }
        terms
    }

    /// The terms in the order and with the names that people read.
    fn named(&self, terms: Vec<RawTerm>, names: &[String]) -> Vec<Term> {
        let named = |(powers, value, stderr): RawTerm| {
            let term = monomial(&powers, names, &self.standardiser);
            (
                powers,
                Term {
                    term,
                    value,
                    stderr,
                },
            )
        };
        let mut terms: Vec<(Vec<u32>, Term)> = terms.into_iter().map(named).collect();
        // By degree, then with the first coordinates first.
        terms.sort_by_key(|(powers, _)| {
            (
                degree(powers),
                powers.iter().map(|p| rank(*p)).collect::<Vec<_>>(),
            )
        });
        terms.into_iter().map(|(_, term)| term).collect()
    }
}

/// The place of a factor among those of one coordinate: high powers first, and cosines before sines.
fn rank(exponent: u32) -> u32 {
    match Factor::of(exponent) {
        Factor::Power(power) => u32::MAX - power,
        Factor::Cos(m) => 2 * m,
        Factor::Sin(m) => 2 * m + 1,
    }
}

/// `x^2*y`, or `1`; of an angle `cos(2*x)`, or `cos(4*pi*x/360)` where its unit is not the radian.
fn monomial(powers: &[u32], names: &[String], standardiser: &Standardiser) -> String {
    let wave = |function: &str, i: usize, m: u32| {
        let (name, scale) = (&names[i], standardiser.scale[i]);
        let argument = match (scale == 1.0, m) {
            (true, 1) => name.clone(),
            (true, m) => format!("{m}*{name}"),
            (false, m) => format!("{}*pi*{name}/{}", 2 * m, period(scale)),
        };
        format!("{function}({argument})")
    };
    let factor = |(i, power): (usize, &u32)| match Factor::of(*power) {
        Factor::Power(0) => None,
        Factor::Power(1) => Some(names[i].clone()),
        Factor::Power(power) => Some(format!("{}^{power}", names[i])),
        Factor::Cos(m) => Some(wave("cos", i, m)),
        Factor::Sin(m) => Some(wave("sin", i, m)),
    };
    let factors: Vec<String> = powers.iter().enumerate().filter_map(factor).collect();
    match factors.is_empty() {
        true => "1".to_owned(),
        false => factors.join("*"),
    }
}

/// The period of an angle of this scale, without the digits that rounding adds.
fn period(scale: f64) -> f64 {
    let text = format!("{:.12e}", scale * TAU);
    text.parse().unwrap_or(scale * TAU)
}

/// z^α in monomials of x: Π_i ((x_i − μ_i)/σ_i)^α_i by the binomial theorem; waves stay what they are.
fn expanded(powers: &[u32], standardiser: &Standardiser) -> Vec<(Vec<u32>, f64)> {
    let mut terms = vec![(vec![0; powers.len()], 1.0)];
    for (i, &power) in powers.iter().enumerate() {
        if Factor::of(power).is_wave() {
            terms
                .iter_mut()
                .for_each(|(exponents, _)| exponents[i] = power);
            continue;
        }
        let (mean, scale) = (standardiser.mean[i], standardiser.scale[i]);
        let mut next = Vec::new();
        for (exponents, factor) in &terms {
            let mut binomial = 1.0;
            for k in (0..=power).rev() {
                // C(power, k) x^k (−μ)^(power − k) / σ^power
                let mut exponents = exponents.clone();
                exponents[i] = k;
                let rest = (-mean).powi((power - k) as i32) / scale.powi(power as i32);
                next.push((exponents, factor * binomial * rest));
                binomial *= f64::from(k) / f64::from(power - k + 1);
            }
        }
        terms = next;
    }
    terms
}
