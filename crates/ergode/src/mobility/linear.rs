//! Mobilities of a linear span.

use std::ops::Range;

use ndarray::{Array1, Array2, ArrayView1};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::basis::TensorBasis;
use super::{Mobility, factorise};
use crate::data::{Ensemble, States, Trajectory};
use crate::error::{Error, Result};
use crate::lagged::CoefficientErrors;
use crate::observable::{Functions, Moments, Polynomial, Polynomials};

/// M(x) = Σ_k c_k T_k(x), and b(x) = Σ_k c_k f_k(x) where the drift is an unknown of its own.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "Stored", into = "Stored")]
pub struct LinearMobility {
    basis: TensorBasis,
    coefficients: Array1<f64>,
    errors: Option<CoefficientErrors>,
    entries: Polynomials,
    divergence: Polynomials,
    transposed: Polynomials,
    /// ∂_j M_ij and ∂_j M_ji, in row i·D + j.
    slopes: [Polynomials; 2],
    /// The drift, where it is an unknown of its own.
    drift: Option<Polynomials>,
}

/// The form of a mobility in a file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    basis: TensorBasis,
    coefficients: Array1<f64>,
    /// Left out where they are not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    errors: Option<CoefficientErrors>,
}

impl From<LinearMobility> for Stored {
    fn from(mobility: LinearMobility) -> Self {
        Self {
            basis: mobility.basis,
            coefficients: mobility.coefficients,
            errors: mobility.errors,
        }
    }
}

impl TryFrom<Stored> for LinearMobility {
    type Error = Error;

    fn try_from(stored: Stored) -> Result<Self> {
        let count = stored.coefficients.len();
        stored
            .errors
            .iter()
            .try_for_each(|errors| errors.require(count))?;
        let mobility = Self::new(stored.basis, stored.coefficients)?;
        Ok(mobility.with_errors(stored.errors))
    }
}

impl LinearMobility {
    /// ⟨M⟩ in raw coordinates, from moments of the standardised ones.
    pub(super) fn mean(&self, moments: &Moments) -> Result<Array2<f64>> {
        let dim = self.basis.dim();
        let flat = self.basis.means(moments)?.dot(&self.coefficients);
        Ok(Array2::from_shape_fn((dim, dim), |(i, j)| {
            flat[i * dim + j]
        }))
    }

    /// The mobility with these coefficients, one per field of the basis.
    ///
    /// # Errors
    /// When there is not one coefficient per field.
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
        let slopes = |entry: &dyn Fn(usize, usize) -> usize| -> Vec<Polynomial> {
            let slope = |at: usize| {
                // ∂/∂x_j of σ_i σ_j M_ij(z) is σ_i ∂/∂z_j M_ij.
                let (i, j) = (at / dim, at % dim);
                let mut slope = Polynomial::default();
                slope.add_scaled(scale[i], &entries[entry(i, j)].derivative(j));
                slope
            };
            (0..dim * dim).map(slope).collect()
        };
        let slopes = [slopes(&|i, j| i * dim + j), slopes(&|i, j| j * dim + i)];
        let divergence = |slopes: &[Polynomial]| -> Vec<Polynomial> {
            let row = |row: &[Polynomial]| {
                let mut sum = Polynomial::default();
                row.iter().for_each(|slope| sum.add_scaled(1.0, slope));
                sum
            };
            slopes.chunks_exact(dim).map(row).collect()
        };
        let list = |polynomials: &[Polynomial]| {
            Polynomials::new(basis.names(), basis.standardiser(), polynomials)
        };
        let transposed = list(&divergence(&slopes[1]))?;
        let divergence = list(&divergence(&slopes[0]))?;
        for (k, entry) in entries.iter_mut().enumerate() {
            let mut raw = Polynomial::default();
            raw.add_scaled(basis.unit(k / dim, k % dim), entry);
            *entry = raw;
        }
        let drift = basis.has_drift().then(|| {
            let components = basis.combine_drift(coefficients.view()).into_iter();
            let raw = components.zip(scale).map(|(component, scale)| {
                let mut raw = Polynomial::default();
                raw.add_scaled(*scale, &component);
                raw
            });
            list(&raw.collect::<Vec<_>>())
        });
        Ok(Self {
            drift: drift.transpose()?,
            entries: list(&entries)?,
            slopes: [list(&slopes[0])?, list(&slopes[1])?],
            basis,
            coefficients,
            errors: None,
            divergence,
            transposed,
        })
    }

    /// The mobility with its coefficients moved by `by`, without their errors.
    ///
    /// # Errors
    /// When there is not one number per coefficient.
    pub(crate) fn moved(&self, by: ArrayView1<f64>) -> Result<Self> {
        Self::new(self.basis.clone(), &self.coefficients + &by)
    }

    /// The same mobility with the sampling errors of its coefficients.
    pub(super) fn with_errors(self, errors: Option<CoefficientErrors>) -> Self {
        Self { errors, ..self }
    }

    /// The sampling errors of the coefficients, where they are known.
    pub(crate) fn errors(&self) -> Option<&CoefficientErrors> {
        self.errors.as_ref()
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

    /// ∂_j M_ij, or ∂_j M_ji where `transpose`, on a tile: (D·D, n), row i·D + j.
    pub(crate) fn slopes(&self, x: &[f64], transpose: bool, out: &mut [f64]) {
        self.slopes[usize::from(transpose)].values(x, out);
    }

    /// The drift b, where it is an unknown of its own beside D and not M s + ∇·M.
    pub(crate) fn drift(&self) -> Option<&Polynomials> {
        self.drift.as_ref()
    }

    /// The polynomials M_ij and ∂_j M_ij, in row i·D + j, of standardised coordinates.
    pub(crate) fn polynomials(&self) -> [&Polynomials; 2] {
        [&self.entries, &self.slopes[0]]
    }

    /// The fraction of the samples where D is not positive definite; of more than ten million, of stretches
    /// of them at even distances.
    pub fn psd_violation(&self, ensemble: &Ensemble) -> f64 {
        self.psd_violation_beyond(ensemble, 1.0)
    }

    /// The same at the states m + f (x − m), `stretch` = f times as far from the mean m of the basis'
    /// standardisation as the samples x are; angles stay where they are.
    pub fn psd_violation_beyond(&self, ensemble: &Ensemble, stretch: f64) -> f64 {
        /// Samples that are looked at, and how many of them together.
        const LOOKED_AT: usize = 10_000_000;
        const TOGETHER: usize = 1 << 12;
        let every = ensemble.samples().div_ceil(LOOKED_AT).max(1);
        let parts = ensemble.segments().iter().flat_map(|segment| {
            let end = segment.rows.end;
            let starts = segment.rows.clone().step_by(TOGETHER * every);
            starts.map(move |start| (segment.trajectory, start..end.min(start + TOGETHER)))
        });
        let parts: Vec<(usize, Range<usize>)> = parts.collect();
        let violations = parts
            .par_iter()
            .map(|(k, rows)| self.violations(&ensemble.trajectories()[*k], rows.clone(), stretch));
        let looked_at: usize = parts.iter().map(|(_, rows)| rows.len()).sum();
        violations.sum::<usize>() as f64 / looked_at as f64
    }

    /// The number of rows where D is not positive definite.
    fn violations(&self, trajectory: &Trajectory, rows: Range<usize>, stretch: f64) -> usize {
        const TILE: usize = 256;
        let dim = self.dim();
        let standardiser = self.basis.standardiser();
        let mean = &standardiser.mean;
        let (mut states, mut tensors) = (States::default(), Vec::new());
        let mut violations = 0;
        for start in rows.clone().step_by(TILE) {
            let end = rows.end.min(start + TILE);
            states.load(trajectory, start..end);
            if stretch != 1.0 {
                states.stretch(mean, |i| match standardiser.is_circle(i) {
                    true => 1.0,
                    false => stretch,
                });
            }
            tensors.resize(dim * dim * states.count(), 0.0);
            self.diffusion(&states, &mut tensors);
            violations += factorise(&mut tensors, dim, 0..dim).len();
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
