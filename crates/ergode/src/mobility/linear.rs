//! Mobilities of a linear span.

use std::ops::Range;

use ndarray::{Array1, ArrayView1};
use rayon::prelude::*;

use super::basis::TensorBasis;
use super::{Mobility, factorise};
use crate::data::{Ensemble, Trajectory};
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
        self.psd_violation_beyond(ensemble, 1.0)
    }

    /// The same at the states m + f (x − m), `stretch` = f times as far from the mean m of the basis'
    /// standardisation as the samples x are.
    pub fn psd_violation_beyond(&self, ensemble: &Ensemble, stretch: f64) -> f64 {
        let segments = ensemble.segments().par_iter();
        let violations: usize = segments
            .map(|segment| {
                let trajectory = &ensemble.trajectories()[segment.trajectory];
                self.violations(trajectory, segment.rows.clone(), stretch)
            })
            .sum();
        violations as f64 / ensemble.samples() as f64
    }

    /// The number of rows where D is not positive definite.
    fn violations(&self, trajectory: &Trajectory, rows: Range<usize>, stretch: f64) -> usize {
        const TILE: usize = 256;
        let dim = self.dim();
        let mean = &self.basis.standardiser().mean;
        let (mut states, mut x) = (vec![0.0; dim * TILE], vec![0.0; dim * TILE]);
        let mut tensors = vec![0.0; dim * dim * TILE];
        let mut violations = 0;
        for start in rows.clone().step_by(TILE) {
            let end = rows.end.min(start + TILE);
            let n = end - start;
            trajectory.copy_rows(start..end, &mut states[..dim * n]);
            for (s, state) in states[..dim * n].chunks_exact(dim).enumerate() {
                for (i, value) in state.iter().enumerate() {
                    x[i * n + s] = mean[i] + stretch * (value - mean[i]);
                }
            }
            let tensors = &mut tensors[..dim * dim * n];
            self.diffusion(&x[..dim * n], tensors);
            violations += (0..n).filter(|s| !factorise(tensors, dim, n, *s)).count();
        }
        violations
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
