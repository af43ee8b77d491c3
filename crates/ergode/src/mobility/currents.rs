//! R of a drift and a diffusion that were fitted as unknowns of their own.

use std::sync::Arc;

use ndarray::{Array1, Axis, concatenate, s};

use super::basis::TensorBasis;
use super::linear::LinearMobility;
use super::moments::PolynomialSums;
use super::result::MobilityFit;
use super::semigroup::{Ends, Semigroup, SemigroupConfig};
use crate::error::Result;
use crate::lagged::{CoefficientErrors, Jackknife};
use crate::linalg;

/// Singular values below this part of the largest are noise.
const SEEN: f64 = 1e-6;

/// The fit of b and D with R of degree up to `degree` beside them, so that M = D + R is known.
///
/// b = M s + ∇·M means that −⟨∇ψ_a R ∇ψ_bᵀ⟩ is the antisymmetric part (A − Aᵀ)/2 of ⟨ψ_b L ψ_a⟩. The
/// coefficients of R are the least squares of this between the test functions, linear in those of b and D,
/// whose deviations give theirs. No score is needed.
///
/// # Errors
/// When the equations cannot be formed.
pub(super) fn with_currents(
    fit: MobilityFit,
    sums: &Arc<PolynomialSums>,
    space: &SemigroupConfig,
    degree: usize,
) -> Result<MobilityFit> {
    let basis = fit.mobility.basis();
    if basis.dim() == 1 {
        return Ok(fit);
    }
    let currents = TensorBasis::currents(basis.names(), basis.standardiser(), degree)?;
    let matrices = |basis: &TensorBasis| -> Result<_> {
        let equations = Semigroup::between(sums, basis, space, Ends::All)?;
        Ok(equations.antisymmetric())
    };
    let (known, wanted) = (matrices(basis)?, matrices(&currents)?);
    let map = linalg::pseudo_inverse(wanted.view(), SEEN).dot(&known);
    let coefficients = fit.mobility.coefficients().to_owned();
    let joined = |c: &Array1<f64>| concatenate![Axis(0), *c, map.dot(c)];
    let jackknife = Jackknife {
        values: joined(&fit.jackknife.values),
        deviations: concatenate![
            Axis(1),
            fit.jackknife.deviations,
            fit.jackknife.deviations.dot(&map.t())
        ],
    };
    let known = fit.errors.len();
    let of_currents = jackknife.errors().slice(s![known..]).to_owned();
    let errors_as_printed = concatenate![Axis(0), fit.errors, of_currents];
    let ids = sums.block_ids(&(0..sums.blocks()).collect::<Vec<_>>());
    let errors = CoefficientErrors::new(&ids, &jackknife.deviations);
    let mobility = LinearMobility::new(basis.with(&currents), joined(&coefficients))?;
    Ok(MobilityFit {
        mobility: mobility.with_errors(errors),
        jackknife,
        errors: errors_as_printed,
        ..fit
    })
}
