//! B_n of every tensor field for any score, as functions of the state.

use ndarray::ArrayView2;

use super::basis::{TensorBasis, TensorField};
use crate::error::{Error, Result};
use crate::observable::{Functions, Polynomial, Polynomials, exponents};
use crate::score::{CoordinatesAndScore, Score};

/// V_i = Σ_j T_ij ∂_jφ of a field, (i).
pub(super) fn flow(field: &TensorField, phi: &Polynomial, dim: usize) -> Vec<Polynomial> {
    let mut flow = vec![Polynomial::default(); dim];
    for (i, j, entry) in &field.entries {
        flow[*i].add_scaled(1.0, &entry.product(&phi.derivative(*j)));
    }
    flow
}

/// Σ_i ∂_i V_i.
pub(super) fn divergence(flow: &[Polynomial]) -> Polynomial {
    let mut sum = Polynomial::default();
    for (i, component) in flow.iter().enumerate() {
        sum.add_scaled(1.0, &component.derivative(i));
    }
    sum
}

/// B_n = s·V + ∇·V with V = T_k ∇φ_n, for every field k and test function n, (k, n) flat.
pub(super) struct StationaryOperators<'a> {
    labels: Vec<String>,
    /// σ_i, which turns a score of raw coordinates into one of standardised ones.
    scale: Vec<f64>,
    score: CoordinatesAndScore<'a>,
    /// V_1 ... V_D and ∇·V of each operator.
    flows: Polynomials,
}

impl<'a> StationaryOperators<'a> {
    /// For the test functions Σ_α `tests`_nα z^α of degree up to `test_degree`.
    pub(super) fn new(
        basis: &TensorBasis,
        tests: ArrayView2<f64>,
        test_degree: usize,
        score: &'a dyn Score,
    ) -> Result<Self> {
        let dim = basis.dim();
        if score.dim() != dim {
            return Err(Error::input(format!(
                "the score has dimension {}, the data {dim}; use the same coordinates for both",
                score.dim()
            )));
        }
        let monomials = exponents(basis.standardiser(), test_degree)?;
        let (mut labels, mut polynomials) = (Vec::new(), Vec::new());
        for field in basis.fields() {
            for (n, row) in tests.rows().into_iter().enumerate() {
                let mut phi = Polynomial::default();
                for (exponents, a) in monomials.iter().zip(row) {
                    phi.add_scaled(*a, &Polynomial::monomial(exponents.clone(), 1.0));
                }
                let flow = flow(field, &phi, dim);
                let divergence = divergence(&flow);
                polynomials.extend(flow);
                polynomials.push(divergence);
                labels.push(format!("B{n} of {}", field.label));
            }
        }
        Ok(Self {
            labels,
            scale: basis.standardiser().scale.clone(),
            score: CoordinatesAndScore::new(basis.names(), score),
            flows: Polynomials::new(basis.names(), basis.standardiser(), &polynomials)?,
        })
    }
}

impl Functions for StationaryOperators<'_> {
    fn dim(&self) -> usize {
        self.scale.len()
    }
    fn labels(&self) -> &[String] {
        &self.labels
    }
    fn values(&self, x: &[f64], out: &mut [f64]) {
        let dim = self.dim();
        let n = x.len() / dim;
        let mut score = vec![0.0; 2 * dim * n];
        self.score.values(x, &mut score);
        let mut flows = vec![0.0; self.flows.len() * n];
        self.flows.values(x, &mut flows);
        for (out, flows) in out
            .chunks_exact_mut(n)
            .zip(flows.chunks_exact((dim + 1) * n))
        {
            out.copy_from_slice(&flows[dim * n..]);
            for i in 0..dim {
                let score = &score[(dim + i) * n..(dim + i + 1) * n];
                let flow = &flows[i * n..(i + 1) * n];
                for ((out, score), flow) in out.iter_mut().zip(score).zip(flow) {
                    *out += self.scale[i] * score * flow;
                }
            }
        }
    }
}
