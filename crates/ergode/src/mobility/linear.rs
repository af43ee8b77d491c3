//! Mobilities of a linear span, and the constant one.

use ndarray::{Array1, ArrayView1};

use super::basis::TensorBasis;
use super::constant::ConstantMobility;
use super::{Mobility, factorise};
use crate::data::Ensemble;
use crate::error::{Error, Result};
use crate::observable::{Functions, Polynomial, Polynomials};

/// M(x) = Σ_k c_k T_k(x).
#[derive(Clone, Debug)]
pub struct LinearMobility {
    basis: TensorBasis,
    coefficients: Array1<f64>,
    entries: Polynomials,
    divergence: Polynomials,
    transposed: Polynomials,
}

impl LinearMobility {
    /// The mobility with these coefficients, one per field of the basis.
    pub fn new(basis: TensorBasis, coefficients: Array1<f64>) -> Result<Self> {
        if coefficients.len() != basis.len() {
            return Err(Error::input(format!(
                "{} coefficients for a basis of {} tensor fields; give one per field",
                coefficients.len(),
                basis.len()
            )));
        }
        let dim = basis.dim();
        let mut entries = basis.combine(coefficients.view());
        let scale = &basis.standardiser().scale;
        let divergence = |entry: &dyn Fn(usize, usize) -> usize| -> Vec<Polynomial> {
            let row = |i: usize| {
                let mut sum = Polynomial::default();
                for j in 0..dim {
                    // ∂/∂x_j of σ_i σ_j M_ij(z) is σ_i ∂/∂z_j M_ij.
                    sum.add_scaled(scale[i], &entries[entry(i, j)].derivative(j));
                }
                sum
            };
            (0..dim).map(row).collect()
        };
        let list = |polynomials: &[Polynomial]| {
            Polynomials::new(basis.names(), basis.standardiser(), polynomials)
        };
        let transposed = list(&divergence(&|i, j| j * dim + i))?;
        let divergence = list(&divergence(&|i, j| i * dim + j))?;
        for (k, entry) in entries.iter_mut().enumerate() {
            let mut raw = Polynomial::default();
            raw.add_scaled(basis.unit(k / dim, k % dim), entry);
            *entry = raw;
        }
        Ok(Self {
            entries: list(&entries)?,
            basis,
            coefficients,
            divergence,
            transposed,
        })
    }

    /// The tensor fields.
    pub fn basis(&self) -> &TensorBasis {
        &self.basis
    }

    /// c.
    pub fn coefficients(&self) -> ArrayView1<'_, f64> {
        self.coefficients.view()
    }

    /// M at one state, row-major.
    pub fn at(&self, x: &[f64]) -> Vec<f64> {
        self.entries.values_at(x)
    }

    /// The fraction of the samples where D is not positive definite.
    pub fn psd_violation(&self, ensemble: &Ensemble) -> f64 {
        const TILE: usize = 256;
        let dim = self.dim();
        let (mut rows, mut x) = (Vec::new(), Vec::new());
        let mut tensors = vec![0.0; dim * dim * TILE];
        let mut violations = 0usize;
        for segment in ensemble.segments() {
            let trajectory = &ensemble.trajectories()[segment.trajectory];
            for start in segment.rows.clone().step_by(TILE) {
                let end = segment.rows.end.min(start + TILE);
                let n = end - start;
                rows.resize(n * dim, 0.0);
                trajectory.copy_rows(start..end, &mut rows);
                x.resize(n * dim, 0.0);
                for (s, row) in rows.chunks_exact(dim).enumerate() {
                    for (i, value) in row.iter().enumerate() {
                        x[i * n + s] = *value;
                    }
                }
                let tensors = &mut tensors[..dim * dim * n];
                self.diffusion(&x, tensors);
                violations += (0..n).filter(|s| !factorise(tensors, dim, n, *s)).count();
            }
        }
        violations as f64 / ensemble.samples() as f64
    }
}

impl Mobility for LinearMobility {
    fn dim(&self) -> usize {
        self.basis.dim()
    }
    fn mobility(&self, x: &[f64], out: &mut [f64]) {
        self.entries.values(x, out);
    }
    fn div_mobility(&self, x: &[f64], out: &mut [f64]) {
        self.divergence.values(x, out);
    }
    fn div_transpose(&self, x: &[f64], out: &mut [f64]) {
        self.transposed.values(x, out);
    }
}

impl Mobility for ConstantMobility {
    fn dim(&self) -> usize {
        self.value.nrows()
    }
    fn mobility(&self, x: &[f64], out: &mut [f64]) {
        let n = x.len() / self.dim();
        for (row, value) in out.chunks_exact_mut(n.max(1)).zip(&self.value) {
            row.fill(*value);
        }
    }
    fn div_mobility(&self, _x: &[f64], out: &mut [f64]) {
        out.fill(0.0);
    }
    fn div_transpose(&self, _x: &[f64], out: &mut [f64]) {
        out.fill(0.0);
    }
}
