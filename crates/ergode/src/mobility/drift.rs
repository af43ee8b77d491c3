//! The drift that goes with a mobility, from averages.

use std::sync::Arc;

use ndarray::{Array1, Array2, Axis, concatenate, s};

use super::degrees::{Degrees, held_out};
use super::drift_equations::{Plan, Sums};
use super::linear::LinearMobility;
use super::moments::PolynomialSums;
use super::result::MobilityFit;
use super::walls::reflecting;
use crate::data::{Ensemble, Standardiser, Walls};
use crate::error::Result;
use crate::lagged::{CoefficientErrors, Jackknife, deviations};
use crate::observable::Polynomial;

/// The fit of M with the drift b of degree up to `top` beside it, from averages alone: no score is needed.
///
/// b = M s + ∇·M means ⟨f·b⟩ = −⟨M : ∇f⟩ for every field f that vanishes at the walls where M does not. With
/// b = Σ c_k g_k and f_k = w g_k, w the product of the distances from these walls,
///
/// ⟨w g_k·g_l⟩ c_l = −⟨M : ∇(w g_k)⟩,
///
/// which is the minimum of ⟨w |b|²⟩/2 + ⟨M : ∇(w b)⟩: the degree is that of least expected minimum on new data, between
/// walls the least degree that no higher one is surely better than on blocks held out: a high degree is free near a wall.
pub(super) fn with_drift(
    fit: MobilityFit,
    sums: &Arc<PolynomialSums>,
    ensemble: &Ensemble,
    top: usize,
) -> Result<MobilityFit> {
    let basis = fit.mobility.basis();
    if basis.has_drift() {
        return Ok(fit);
    }
    let weight = weight(&reflecting(&fit.mobility, ensemble), basis.standardiser());
    let moments = sums.config().moment_degree;
    let Some(free) = (moments + 1).checked_sub(weight.degree() + basis.degree()) else {
        return Ok(fit);
    };
    let top = top
        .min(moments.saturating_sub(weight.degree()) / 2)
        .min(free);
    let plan = Plan::new(basis, &weight, top)?;
    let all: Vec<usize> = (0..sums.blocks()).collect();
    let equations = |keep: &dyn Fn(usize) -> bool| {
        let blocks: Vec<usize> = all.iter().copied().filter(|b| keep(*b)).collect();
        plan.equations(&sums.expectations(&blocks).moments)
    };
    let mobility = fit.mobility.coefficients().to_owned();
    let whole = equations(&|_| true)?;
    let blocks = fit.jackknife.deviations.nrows();
    let known = blocks == sums.blocks() && blocks > 1;
    let factor = (blocks as f64 / (blocks as f64 - 1.0)).sqrt();
    let without = (0..if known { blocks } else { 0 }).map(|left_out| {
        let c = &mobility + &(&fit.jackknife.deviations.row(left_out) * factor);
        Ok((equations(&|b| b != left_out)?, c))
    });
    let without = without.collect::<Result<Vec<_>>>()?;
    let degrees = match known {
        true if ensemble.has_walls() => {
            Degrees::one(held_out(&plan, &equations, blocks, &mobility)?)
        }
        true => Degrees::likely(&plan, &whole, &without, &mobility),
        false => Degrees::one(plan.top().min(1)),
    };
    let degree = degrees.highest;
    let size = plan.functions(degree);
    let joined = |equations: &Sums, c: &Array1<f64>| -> Array1<f64> {
        concatenate![Axis(0), *c, degrees.drift(&plan, equations, c)]
    };
    if joined(&whole, &mobility).iter().any(|c| !c.is_finite()) {
        return Ok(fit);
    }
    let jackknife = if known {
        let without: Vec<_> = without.iter().map(|(sums, c)| joined(sums, c)).collect();
        Jackknife {
            values: joined(&whole, &fit.jackknife.values),
            deviations: deviations(&without),
        }
    } else {
        Jackknife {
            values: joined(&whole, &fit.jackknife.values),
            deviations: Array2::zeros((0, mobility.len() + size * basis.dim())),
        }
    };
    let drift = plan.basis(basis, degree)?;
    let of_drift = jackknife.errors().slice(s![mobility.len()..]).to_owned();
    let errors = concatenate![Axis(0), fit.errors, of_drift];
    let ids = sums.block_ids(&all);
    let named = CoefficientErrors::new(&ids, &jackknife.deviations);
    let with = LinearMobility::new(basis.with(&drift), joined(&whole, &mobility))?;
    Ok(MobilityFit {
        mobility: with.with_errors(named),
        jackknife,
        errors,
        ..fit
    })
}

/// w: the product of the distances from these walls, in standardised coordinates.
fn weight(walls: &[Walls], standardiser: &Standardiser) -> Polynomial {
    let dim = walls.len();
    let mut weight = Polynomial::monomial(vec![0; dim], 1.0);
    for (j, walls) in walls.iter().enumerate() {
        for (wall, sign) in walls.iter().zip([1.0, -1.0]) {
            let Some(wall) = wall else { continue };
            let place = (wall - standardiser.mean[j]) / standardiser.scale[j];
            let mut exponents = vec![0; dim];
            exponents[j] = 1;
            let mut distance = Polynomial::monomial(exponents, sign);
            distance.add_scaled(-sign * place, &Polynomial::monomial(vec![0; dim], 1.0));
            weight = weight.product(&distance);
        }
    }
    weight
}
