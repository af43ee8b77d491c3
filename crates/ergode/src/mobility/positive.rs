//! Diffusions that are positive by construction: sums of squares.

use std::collections::HashMap;

use ndarray::{Array1, Array2, ArrayView1, Axis};

use super::basis::TensorBasis;
use super::config::MobilityConfig;
use super::equations::Equations;
use super::fit::Solver;
use super::linear::LinearMobility;
use super::result::{MobilityFit, Positivity};
use crate::control::Control;
use crate::data::Ensemble;
use crate::error::{Error, Result};
use crate::linalg;
use crate::observable::{degree, exponents, products};

/// The smallest D that is allowed, relative to the mean of D.
const FLOOR: f64 = 1e-3;
/// χ² must rise by this factor for a positive D to be a worse fit.
const WORSE: f64 = 2.0;
/// Fraction of the samples up to which an indefinite D is no finding: simulations take the nearest positive D there, and
/// count how often.
const FEW: f64 = 1e-3;
/// Rounds of re-linearising the equations at the constrained solution.
const ROUNDS: usize = 4;
/// Steps of the constrained least squares.
const STEPS: usize = 400;

/// The tails are the samples moved away from their mean by these factors.
const STRETCHES: [f64; 2] = [2.0, 4.0];

/// The largest fraction of tail states where D is not positive definite.
pub(crate) fn tail_violation(mobility: &LinearMobility, ensemble: &Ensemble) -> f64 {
    let violations = STRETCHES.map(|stretch| mobility.psd_violation_beyond(ensemble, stretch));
    violations.into_iter().fold(0.0, f64::max)
}

/// Refit with D positive definite everywhere if the fitted D is indefinite at some sample or in the tails;
/// any other fit is returned unchanged.
///
/// D(z) = V(z)ᵀ Q V(z), with V the monomials, or the waves of angles, up to half the degree of D and
/// Q = L Lᵀ + δ, is positive for any L. Starting from the unconstrained solution, L and the coefficients of R minimise the same
/// objective, linearised again a few times. It needs D of even degree with no entry masked; errors of the
/// coefficients remain those of the unconstrained fit, which are the larger ones.
///
/// The refit replaces the fit only if the data hardly distinguish the two. If D is indefinite only in the
/// tails, where there are no data, χ² must rise by less than the number of coefficients. If it is indefinite
/// at samples, χ² must not double by more than that: a D that is positive in all of space is a poor fit where
/// the right one vanishes at a wall. Else the fit stays, with a warning if D is indefinite at samples, and
/// simulations raise the eigenvalues of D where they are too small.
///
/// # Errors
/// When the basis allows no positive D, or the work is stopped.
pub fn refine_positive(
    mut fit: MobilityFit,
    equations: &dyn Equations,
    ensemble: &Ensemble,
    config: &MobilityConfig,
    control: &Control,
) -> Result<MobilityFit> {
    let violation = fit.mobility.psd_violation(ensemble);
    let tail_violation = tail_violation(&fit.mobility, ensemble);
    if violation == 0.0 && tail_violation == 0.0 {
        return Ok(fit);
    }
    let size = equations.observed().len() as f64;
    let refit = match squares(&fit, equations, config, control) {
        Err(error) if error.is_numerical() || error.is_late() => {
            if violation > 0.0 {
                fit.warnings.push(indefinite(violation, &error.to_string()));
            }
            return Ok(fit);
        }
        refit => refit?,
    };
    let rise = (refit.chi2 - refit.free) * size;
    let distinct = rise > refit.coefficients.len() as f64;
    if violation == 0.0 && distinct {
        // Simulations take D at the nearest sample.
        return Ok(fit);
    }
    if distinct && refit.chi2 > WORSE * refit.free {
        let reason = format!(
            "a D that is positive everywhere would raise chi^2 per equation from {:.2} to {:.2}",
            refit.free, refit.chi2
        );
        if violation > FEW {
            fit.warnings.push(indefinite(violation, &reason));
        }
        return Ok(fit);
    }
    let mobility = LinearMobility::new(fit.mobility.basis().clone(), refit.coefficients)?
        .with_errors(fit.mobility.errors().cloned());
    Ok(MobilityFit {
        spectrum: equations.spectrum(mobility.coefficients())?,
        mobility,
        chi2_per_equation: refit.chi2,
        positivity: Some(Positivity {
            violation,
            tail_violation,
            cost: refit.chi2 - refit.free,
        }),
        ..fit
    })
}

/// The warning on a D that stays indefinite at a fraction `violation` of the samples.
fn indefinite(violation: f64, reason: &str) -> String {
    format!(
        "D is not positive at {:.2} % of the samples and stays so, because {reason}. Simulations use the \
         nearest positive D there; raise mobility.max_degrees, or give more data where D is small",
        100.0 * violation
    )
}

/// A fit with D a sum of squares.
struct Refit {
    coefficients: Array1<f64>,
    /// χ² per equation with them, and that of the fit without the constraint.
    chi2: f64,
    free: f64,
}

fn squares(
    fit: &MobilityFit,
    equations: &dyn Equations,
    config: &MobilityConfig,
    control: &Control,
) -> Result<Refit> {
    let squares = Squares::new(fit.mobility.basis())?;
    let mut solver = Solver::new(equations, config, control)?;
    let mut coefficients = fit.mobility.coefficients().to_owned();
    solver.approach(Some(coefficients.clone()))?;
    for _ in 0..ROUNDS {
        let (matrix, step) = solver.quadratic(coefficients.view(), fit.ridge)?;
        coefficients = squares.nearest((&coefficients + &step).view(), &matrix, control)?;
    }
    Ok(Refit {
        chi2: solver.chi2(coefficients.view())?,
        free: solver.chi2(fit.mobility.coefficients())?,
        coefficients,
    })
}

/// The map from Q to the coefficients of D.
struct Squares {
    /// Size of Q: monomials times coordinates.
    size: usize,
    /// The coefficients that the entry (u, v) of Q adds to, and how much of it, for the entries D_ij with i ≤ j.
    parts: Array2<Vec<(usize, f64)>>,
    /// Coefficients that are not of D.
    others: Vec<usize>,
    /// Number of all coefficients.
    count: usize,
}

impl Squares {
    fn new(basis: &TensorBasis) -> Result<Self> {
        let dim = basis.dim();
        let mut places = HashMap::new();
        let (mut others, mut top) = (Vec::new(), 0);
        for (k, field) in basis.fields().iter().enumerate() {
            match field.symmetric_monomial() {
                Some((i, j, exponents)) => {
                    top = top.max(degree(&exponents) as usize);
                    places.insert((i, j, exponents), k);
                }
                None => others.push(k),
            }
        }
        let half = exponents(basis.standardiser(), top / 2)?;
        let size = half.len() * dim;
        let mut parts = Array2::from_elem((size, size), Vec::new());
        let mut complete = top % 2 == 0;
        for (a, left) in half.iter().enumerate() {
            for (b, right) in half.iter().enumerate() {
                for (product, number) in products(left, right) {
                    for i in 0..dim {
                        for j in i..dim {
                            let found = places.get(&(i, j, product.clone())).copied();
                            complete &= found.is_some();
                            let entry = &mut parts[[a * dim + i, b * dim + j]];
                            entry.extend(found.map(|k| (k, number)));
                        }
                    }
                }
            }
        }
        if !complete {
            return Err(Error::input(
                "the fitted diffusion is indefinite at some samples, and only a full polynomial D of \
                 even degree can be made positive; use an even degree of D and mask no entries",
            ));
        }
        Ok(Self {
            size,
            parts,
            others,
            count: basis.len(),
        })
    }

    /// The coefficients of D for this Q, the others zero.
    fn coefficients(&self, q: &Array2<f64>) -> Array1<f64> {
        let mut c = Array1::zeros(self.count);
        for ((u, v), parts) in self.parts.indexed_iter() {
            for (k, number) in parts {
                c[*k] += number * q[[u, v]];
            }
        }
        c
    }

    /// The least symmetric Q with these coefficients of D: with c = A q, q = Aᵀ (A Aᵀ)⁻¹ c. Of monomials each
    /// coefficient is shared evenly by the entries that add to it.
    fn share(&self, c: ArrayView1<f64>) -> Array2<f64> {
        let mut normal = Array2::zeros((self.count, self.count));
        for parts in &self.parts {
            for (k, a) in parts {
                for (l, b) in parts {
                    normal[[*k, *l]] += a * b;
                }
            }
        }
        self.others.iter().for_each(|k| normal[[*k, *k]] = 1.0);
        let column = c.insert_axis(Axis(1));
        let weights = linalg::solve(normal.view(), column).remove_axis(Axis(1));
        let of_entry = |parts: &Vec<(usize, f64)>| -> f64 {
            parts.iter().map(|(k, number)| number * weights[*k]).sum()
        };
        let q = self.parts.map(of_entry);
        // Entries with i > j add to nothing: they mirror those with i < j.
        Array2::from_shape_fn(q.dim(), |(u, v)| match self.parts[[u, v]].is_empty() {
            false => q[[u, v]],
            true => q[[v, u]],
        })
    }

    /// The c of least (c − wanted)ᵀ H (c − wanted) with D a sum of squares.
    ///
    /// The unknowns are roots of rates and rates, so that the search is in units of time in which D is near one.
    fn nearest(
        &self,
        wanted: ArrayView1<f64>,
        matrix: &Array2<f64>,
        control: &Control,
    ) -> Result<Array1<f64>> {
        let unit = self.share(wanted).diag().mapv(f64::abs).sum() / self.size as f64;
        if !(unit.is_normal() && unit > 0.0) {
            return Ok(wanted.to_owned());
        }
        let scaled = (&wanted / unit, matrix * (unit * unit));
        Ok(self.nearest_in_unit(scaled.0.view(), &scaled.1, control)? * unit)
    }

    /// The same where D is near one.
    fn nearest_in_unit(
        &self,
        wanted: ArrayView1<f64>,
        matrix: &Array2<f64>,
        control: &Control,
    ) -> Result<Array1<f64>> {
        let share = self.share(wanted);
        let (values, vectors) = linalg::symmetric_eigen(share.view())?;
        let mean = values.iter().map(|v| v.abs()).sum::<f64>() / self.size as f64;
        let floor = FLOOR * mean;
        let mut factor = &vectors * &values.mapv(|v| (v - floor).max(1e-3 * mean).sqrt());
        let mut rest: Array1<f64> = self.others.iter().map(|k| wanted[*k]).collect();
        let model = |factor: &Array2<f64>, rest: &Array1<f64>| {
            let mut q = factor.dot(&factor.t());
            q.diag_mut().mapv_inplace(|d| d + floor);
            let mut c = self.coefficients(&q);
            self.others.iter().zip(rest).for_each(|(k, r)| c[*k] = *r);
            c
        };
        let distance = |c: &Array1<f64>| {
            let away = c - &wanted;
            linalg::bilinear(away.view(), matrix.view(), away.view())
        };
        let mut c = model(&factor, &rest);
        let (mut value, mut damping) = (distance(&c), 1e-3);
        let scale = wanted.dot(&matrix.dot(&wanted)).abs();
        for _ in 0..STEPS {
            let jacobian = self.jacobian(&factor);
            let along = matrix.dot(&jacobian);
            let normal = jacobian.t().dot(&along);
            let gradient = along.t().dot(&(&wanted - &c));
            let mut improved = false;
            control.advance(0)?;
            while damping < 1e12 {
                let mut damped = normal.clone();
                let typical = normal.diag().mean().unwrap_or(1.0);
                damped
                    .diag_mut()
                    .mapv_inplace(|d| d * (1.0 + damping) + damping * typical);
                let column = gradient.view().insert_axis(Axis(1));
                let step = linalg::solve(damped.view(), column).remove_axis(Axis(1));
                let (next_factor, next_rest) = self.moved(&factor, &rest, &step);
                let next = model(&next_factor, &next_rest);
                let next_value = distance(&next);
                if next_value < value {
                    improved = value - next_value > 1e-12 * scale;
                    (factor, rest, c, value) = (next_factor, next_rest, next, next_value);
                    damping = (damping * 0.2).max(1e-12);
                    break;
                }
                damping *= 5.0;
            }
            if !improved {
                break;
            }
        }
        Ok(c)
    }

    /// ∂c/∂(L, rest), (coefficient, unknown): ∂Q = e_u l_kᵀ + l_k e_uᵀ for L_uk.
    fn jacobian(&self, factor: &Array2<f64>) -> Array2<f64> {
        let n = self.size;
        let mut jacobian = Array2::zeros((self.count, n * n + self.others.len()));
        for ((u, v), parts) in self.parts.indexed_iter() {
            for (c, number) in parts {
                for k in 0..n {
                    jacobian[[*c, u * n + k]] += number * factor[[v, k]];
                    jacobian[[*c, v * n + k]] += number * factor[[u, k]];
                }
            }
        }
        for (at, k) in self.others.iter().enumerate() {
            jacobian[[*k, n * n + at]] = 1.0;
        }
        jacobian
    }

    fn moved(
        &self,
        factor: &Array2<f64>,
        rest: &Array1<f64>,
        step: &Array1<f64>,
    ) -> (Array2<f64>, Array1<f64>) {
        let n = self.size;
        let change = |(u, k): (usize, usize)| factor[[u, k]] + step[u * n + k];
        let factor = Array2::from_shape_fn((n, n), change);
        let tail = step.slice(ndarray::s![n * n..]);
        (factor, rest + &tail)
    }
}
