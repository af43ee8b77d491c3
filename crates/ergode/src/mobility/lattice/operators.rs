//! The stationary operator at one site, in local monomials.

use std::collections::HashMap;

use ndarray::{Array2, ArrayView1, ArrayView2};
use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::mobility::TensorBasis;
use crate::mobility::basis::TensorField;
use crate::mobility::operators::{divergence, flow};
use crate::observable::Polynomial;

/// B = Σ_l β_l f_l·V + ∇·V with V = T_k ∇φ_n at one site, for every tensor field k and test function n,
/// as coefficients of local monomials χ: linear in β.
#[derive(Debug)]
pub(super) struct LocalOperators {
    monomials: usize,
    columns: usize,
    /// Of ∇·V: (χ, column, coefficient), the column being that of (k, n).
    divergence: Vec<(usize, usize, f64)>,
    /// Of f_l·V: (χ, column, l, coefficient).
    force: Vec<(usize, usize, usize, f64)>,
}

impl LocalOperators {
    /// For test functions Σ_α `tests`_nα z^α and the score fields `score`, (l, component), written in
    /// the variables of the local monomials whose places are given.
    pub(super) fn new(
        basis: &TensorBasis,
        tests: &[Polynomial],
        score: &[Vec<Polynomial>],
        places: &HashMap<Vec<u32>, usize>,
    ) -> Result<Self> {
        let variables = places.keys().next().map_or(0, Vec::len);
        let place = |exponents: &Vec<u32>| {
            places.get(exponents).copied().ok_or_else(|| {
                Error::input(
                    "the degree of the ring statistics is too low for this mobility and score; raise \
                     the degrees of LatticeConfig and collect the statistics again",
                )
            })
        };
        let of_field = |(k, field): (usize, &TensorField)| {
            let (mut plain, mut force) = (Vec::new(), Vec::new());
            for (n, phi) in tests.iter().enumerate() {
                let column = k * tests.len() + n;
                let flow = flow(field, phi, basis.dim());
                for (exponents, a) in widened(&divergence(&flow), variables).terms() {
                    plain.push((place(exponents)?, column, a));
                }
                let flow: Vec<_> = flow.iter().map(|v| widened(v, variables)).collect();
                for (l, f) in score.iter().enumerate() {
                    for (f, v) in f.iter().zip(&flow) {
                        for (exponents, a) in f.product(v).terms() {
                            force.push((place(exponents)?, column, l, a));
                        }
                    }
                }
            }
            Ok((plain, force))
        };
        let fields = basis.fields().par_iter().enumerate();
        let parts = fields.map(of_field).collect::<Result<Vec<_>>>()?;
        let (plain, force): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
        Ok(Self {
            monomials: places.len(),
            columns: basis.len() * tests.len(),
            divergence: plain.concat(),
            force: force.concat(),
        })
    }

    /// B at these β, (χ, column).
    pub(super) fn at(&self, beta: ArrayView1<f64>) -> Array2<f64> {
        let mut map = Array2::zeros((self.monomials, self.columns));
        for (chi, column, a) in &self.divergence {
            map[[*chi, *column]] += a;
        }
        for (chi, column, l, a) in &self.force {
            map[[*chi, *column]] += beta[*l] * a;
        }
        map
    }
}

/// The rows of `tests` as polynomials, the columns being the monomials with these exponents.
pub(super) fn test_polynomials(tests: ArrayView2<f64>, exponents: &[Vec<u32>]) -> Vec<Polynomial> {
    let polynomial = |row: ArrayView1<f64>| {
        let mut phi = Polynomial::default();
        for (alpha, a) in exponents.iter().zip(row) {
            if *a != 0.0 {
                phi.add_scaled(*a, &Polynomial::monomial(alpha.clone(), 1.0));
            }
        }
        phi
    };
    tests.rows().into_iter().map(polynomial).collect()
}

/// The same polynomial with further variables that it does not depend on.
fn widened(polynomial: &Polynomial, variables: usize) -> Polynomial {
    let mut wide = Polynomial::default();
    for (exponents, a) in polynomial.terms() {
        let mut exponents = exponents.clone();
        exponents.resize(variables, 0);
        wide.add_scaled(a, &Polynomial::monomial(exponents, 1.0));
    }
    wide
}
