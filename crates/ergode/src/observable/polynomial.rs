//! Polynomials, with waves of angles: the algebra that turns averages of fields into moments.

use std::collections::{BTreeMap, BTreeSet};

use ndarray::{Array2, ArrayView2};
use pulp::{Arch, Simd, WithSimd};
use serde::{Deserialize, Serialize};

use super::{Functions, Monomials, Standardised, factor, tile_width};
use crate::data::Standardiser;
use crate::error::Result;

/// Σ_α a_α z^α, by the exponents α, which also number the waves of angles ([`Factor`](super::Factor)).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "Terms", into = "Terms")]
pub(crate) struct Polynomial {
    terms: BTreeMap<Vec<u32>, f64>,
}

/// (α, a_α), in the form written to a file.
type Terms = Vec<(Vec<u32>, f64)>;

impl From<Polynomial> for Terms {
    fn from(polynomial: Polynomial) -> Self {
        polynomial.terms.into_iter().collect()
    }
}

impl From<Terms> for Polynomial {
    fn from(terms: Terms) -> Self {
        Self {
            terms: terms.into_iter().collect(),
        }
    }
}

impl Polynomial {
    /// a z^α.
    pub(crate) fn monomial(exponents: Vec<u32>, coefficient: f64) -> Self {
        Self {
            terms: BTreeMap::from([(exponents, coefficient)]),
        }
    }

    /// The exponents and coefficients, in a fixed order.
    pub(crate) fn terms(&self) -> impl Iterator<Item = (&Vec<u32>, f64)> {
        self.terms.iter().map(|(exponents, a)| (exponents, *a))
    }

    /// The largest |α|; zero for the empty sum.
    pub(crate) fn degree(&self) -> usize {
        let degrees = self.terms.keys().map(|e| factor::degree(e) as usize);
        degrees.max().unwrap_or(0)
    }

    /// Add `factor` times another polynomial.
    pub(crate) fn add_scaled(&mut self, factor: f64, other: &Self) {
        for (exponents, a) in &other.terms {
            match self.terms.get_mut(exponents) {
                Some(term) => *term += factor * a,
                None => {
                    self.terms.insert(exponents.clone(), factor * a);
                }
            }
        }
    }

    /// The product with another polynomial.
    pub(crate) fn product(&self, other: &Self) -> Self {
        let (mut product, mut place) = (Self::default(), Vec::new());
        for (left, a) in &self.terms {
            for (right, b) in &other.terms {
                factor::multiply(left, right, &mut place, &mut |exponents, number| {
                    *product.terms.entry(exponents.to_vec()).or_insert(0.0) += number * (a * b);
                });
            }
        }
        product
    }

    /// The value at one state.
    pub(crate) fn value(&self, z: &[f64]) -> f64 {
        self.terms()
            .map(|(exponents, a)| a * factor::value(exponents, z))
            .sum()
    }

    /// ∂/∂z_i.
    pub(crate) fn derivative(&self, i: usize) -> Self {
        let differentiate = |(exponents, a): (&Vec<u32>, &f64)| {
            let mut lower = exponents.clone();
            let number = factor::differentiate(&mut lower, i)?;
            Some((lower, a * number))
        };
        Self {
            terms: self.terms.iter().filter_map(differentiate).collect(),
        }
    }
}

/// Polynomials of standardised coordinates, as functions of the raw ones.
#[derive(Clone, Debug)]
pub(crate) struct Polynomials {
    monomials: Standardised<Monomials>,
    labels: Vec<String>,
    /// (polynomial, monomial)
    coefficients: Array2<f64>,
}

impl Polynomials {
    /// The list of polynomials in the coordinates called `names`.
    pub(crate) fn new(
        names: &[String],
        standardiser: &Standardiser,
        polynomials: &[Polynomial],
    ) -> Result<Self> {
        let mut exponents = BTreeSet::from([vec![0; names.len()]]);
        for polynomial in polynomials {
            exponents.extend(polynomial.terms().map(|(exponents, _)| exponents.clone()));
        }
        let exponents: Vec<Vec<u32>> = exponents.into_iter().collect();
        let mut coefficients = Array2::zeros((polynomials.len(), exponents.len()));
        for (k, polynomial) in polynomials.iter().enumerate() {
            for (term, a) in polynomial.terms() {
                let place = exponents.binary_search(term).expect("collected above");
                coefficients[[k, place]] = a;
            }
        }
        Ok(Self {
            monomials: Standardised::new(
                standardiser.clone(),
                Monomials::from_exponents(names, exponents)?,
            ),
            labels: (0..polynomials.len()).map(|k| format!("p{k}")).collect(),
            coefficients,
        })
    }
}

impl Polynomials {
    /// The exponents, and the coefficients, (polynomial, exponents).
    pub(crate) fn terms(&self) -> (Vec<Vec<u32>>, ArrayView2<'_, f64>) {
        (self.monomials.inner().exponents(), self.coefficients.view())
    }
}

impl Functions for Polynomials {
    fn dim(&self) -> usize {
        self.monomials.dim()
    }
    fn labels(&self) -> &[String] {
        &self.labels
    }
    fn values(&self, x: &[f64], out: &mut [f64]) {
        let n = tile_width(self, x, out);
        if n == 0 {
            return;
        }
        let mut monomials = vec![0.0; self.monomials.len() * n];
        self.monomials.values(x, &mut monomials);
        Arch::new().dispatch(Combine {
            monomials: &monomials,
            coefficients: self.coefficients.view(),
            out,
        });
    }
}

/// Σ_α a_kα z^α on a tile, with the vector instructions of the machine.
struct Combine<'a> {
    monomials: &'a [f64],
    coefficients: ArrayView2<'a, f64>,
    out: &'a mut [f64],
}

impl WithSimd for Combine<'_> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let n = self.out.len() / self.coefficients.nrows().max(1);
        self.out.fill(0.0);
        let rows = self.out.chunks_exact_mut(n.max(1));
        for (row, coefficients) in rows.zip(self.coefficients.rows()) {
            for (monomial, &a) in self.monomials.chunks_exact(n).zip(coefficients) {
                if a != 0.0 {
                    for (value, monomial) in row.iter_mut().zip(monomial) {
                        *value += a * monomial;
                    }
                }
            }
        }
    }
}
