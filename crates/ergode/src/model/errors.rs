//! The fields of a model by name, and their standard errors.

use std::sync::Arc;

use ndarray::{Array1, Array2, Axis};
use rayon::prelude::*;

use super::LangevinModel;
use super::deviations::Deviations;
use super::parts::{StoredMobility, StoredScore};
use crate::error::{Error, Result};
use crate::mobility::Mobility;

/// A field of the equation dx = [M s + ∇·M] dt + √2 Σ dW.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelField {
    /// The score s.
    Score,
    /// The Itô drift M s + ∇·M.
    Drift,
    /// The mobility M.
    Mobility,
    /// The diffusion D = sym M.
    Diffusion,
    /// (∇·M)_i = Σ_j ∂_j M_ij.
    DivMobility,
}

impl ModelField {
    /// Every field.
    pub const ALL: [Self; 5] = [
        Self::Score,
        Self::Drift,
        Self::Mobility,
        Self::Diffusion,
        Self::DivMobility,
    ];

    /// Name in files and in Python.
    pub fn name(self) -> &'static str {
        match self {
            Self::Score => "score",
            Self::Drift => "drift",
            Self::Mobility => "mobility",
            Self::Diffusion => "diffusion",
            Self::DivMobility => "div_mobility",
        }
    }

    /// The field with this name.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|field| field.name() == name)
    }

    /// Number of indices: 1 for a vector, 2 for a matrix.
    pub fn rank(self) -> usize {
        match self {
            Self::Score | Self::Drift | Self::DivMobility => 1,
            Self::Mobility | Self::Diffusion => 2,
        }
    }
}

impl LangevinModel {
    /// A field on a tile of raw states, (D, n): a vector as (D, n), a matrix as (D·D, n).
    pub fn field(&self, field: ModelField, x: &[f64], out: &mut [f64]) {
        match field {
            ModelField::Score => self.score().score(x, out),
            ModelField::Drift => self.drift(x, out),
            ModelField::Mobility => self.mobility.mobility(x, out),
            ModelField::Diffusion => self.diffusion(x, out),
            ModelField::DivMobility => self.div_mobility(x, out),
        }
    }

    /// Standard errors of a field on a tile of raw states, of the shape of [`LangevinModel::field`].
    ///
    /// With δβ_b and δc_b the deviations of the coefficients of score and mobility without the block b
    /// ([`Jackknife`](crate::lagged::Jackknife)), δs_b and δM_b those of the fields that they belong to, the error of
    /// the drift is, to first order,
    ///
    /// σ² = Σ_b (M δs_b + δM_b s + ∇·δM_b)²,
    ///
    /// component by component, and those of the other fields likewise. Score and mobility are fitted to the
    /// same blocks unless their configurations differ, so that the sum contains the correlation between
    /// them; with different blocks the two parts add in quadrature. The errors are those of sampling, at the
    /// chosen degrees and ridges: what the span cannot represent is not part of them. If D was made positive,
    /// they are those of the unconstrained fit.
    ///
    /// # Errors
    /// When the error is not known; [`LangevinModel::without_error`] gives the reason.
    pub fn field_error(&self, field: ModelField, x: &[f64], out: &mut [f64]) -> Result<()> {
        if let Some(reason) = self.without_error(field) {
            return Err(Error::input(format!(
                "the standard error of {} is not known: {reason}",
                field.name()
            )));
        }
        let dim = self.dim();
        let n = x.len() / dim;
        assert_eq!(out.len(), n * dim.pow(field.rank() as u32), "a tile");
        let at = |s: usize| {
            let state: Vec<f64> = (0..dim).map(|i| x[i * n + s]).collect();
            self.error_at(field, &state)
        };
        let errors: Vec<Array1<f64>> = (0..n).into_par_iter().map(at).collect();
        for (s, errors) in errors.iter().enumerate() {
            for (k, error) in errors.iter().enumerate() {
                out[k * n + s] = *error;
            }
        }
        Ok(())
    }

    /// Why the standard error of a field is not known; `None` if it is known.
    pub fn without_error(&self, field: ModelField) -> Option<&'static str> {
        let score = || match &*self.score {
            score if score.coefficient_errors().is_some() => None,
            StoredScore::Neural(_) => {
                Some("the score is a network; fit it in closed form (score.kind)")
            }
            _ if self.observation.noise.is_some() => Some(
                "the score is corrected for measurement noise, and its errors do not include that of the noise",
            ),
            _ => Some(
                "the score was made or saved without the errors of its coefficients; fit it again",
            ),
        };
        let mobility = || match &self.mobility.stored {
            _ if self.mobility.coefficient_errors().is_some() => None,
            StoredMobility::Neural(_) => {
                Some("the mobility is a network; use recipe semigroup or weak")
            }
            StoredMobility::Constant(_) => {
                Some("a constant mobility has no saved errors; use recipe semigroup or weak")
            }
            _ => Some(
                "the mobility was made or saved without the errors of its coefficients; fit it again",
            ),
        };
        match field {
            ModelField::Score => score(),
            ModelField::Drift if !self.has_fitted_drift() => score().or_else(mobility),
            _ => mobility(),
        }
    }

    /// Standard errors at one raw state, flat; the deviations are there.
    fn error_at(&self, field: ModelField, x: &[f64]) -> Array1<f64> {
        let dim = self.dim();
        let deviations = self
            .deviations
            .get_or_init(|| Arc::new(Deviations::new(&self.score, &self.mobility)));
        let score = || {
            let rows = deviations.score.as_ref().zip(self.score.design(x));
            let (rows, design) = rows.expect("asked for where it is known");
            rows.dot(&design)
        };
        let mobility = || {
            let rows = deviations.mobility.as_ref().zip(self.mobility.design(x));
            let (rows, (entries, divergence)) = rows.expect("asked for where it is known");
            (rows.dot(&entries.t()), rows.dot(&divergence.t()))
        };
        let changes = match field {
            ModelField::Score => score(),
            ModelField::Mobility => mobility().0,
            ModelField::DivMobility => mobility().1,
            ModelField::Diffusion => {
                let entries = mobility().0;
                Array2::from_shape_fn(entries.dim(), |(row, at)| {
                    let mirrored = at % dim * dim + at / dim;
                    0.5 * (entries[[row, at]] + entries[[row, mirrored]])
                })
            }
            ModelField::Drift if self.has_fitted_drift() => {
                let rows = deviations.mobility.as_ref();
                let (rows, design) = rows
                    .zip(self.mobility.drift_design(x))
                    .expect("asked for where it is known");
                rows.dot(&design.t())
            }
            ModelField::Drift => {
                let (mut s, mut m) = (vec![0.0; dim], vec![0.0; dim * dim]);
                self.score().score(x, &mut s);
                self.mobility.mobility(x, &mut m);
                let (of_score, (entries, divergence)) = (score(), mobility());
                Array2::from_shape_fn(divergence.dim(), |(row, i)| {
                    let term = |j: usize| {
                        m[i * dim + j] * of_score[[row, j]] + entries[[row, i * dim + j]] * s[j]
                    };
                    divergence[[row, i]] + (0..dim).map(term).sum::<f64>()
                })
            }
        };
        changes.map_axis(Axis(0), |column| column.dot(&column).sqrt())
    }
}
