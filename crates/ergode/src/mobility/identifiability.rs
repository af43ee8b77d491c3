//! What the equations determine of the mobility, and what their residual means for correlations.

use std::fmt;

use ndarray::{Array1, Array2, Array3, ArrayView2, Axis, s};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::equations::{Equations, GeneratorResidual};
use super::infinite;
use crate::error::{Error, Result};
use crate::finding::digits;
use crate::lagged::{Jackknife, deviations};
use crate::linalg;

/// Which directions of M the data determine, and how well.
///
/// A direction is a right singular vector of the design, each equation in units of its error and each
/// direction a change of M of unit rms.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Identifiability {
    /// Standard error of M along each direction in units of the rms of Φ, smallest first, from the
    /// equations alone; infinite where they are blind, and else zero where they are exact.
    #[serde(with = "infinite::list")]
    pub standard_errors: Vec<f64>,
    /// The last direction: label of each field with its part in the rms of M, largest first.
    pub least_determined: Vec<(String, f64)>,
    /// √(⟨|δD|²⟩/⟨|D|²⟩) in standardised coordinates, δD the standard error over blocks, ridge and all.
    pub diffusion_error: Option<f64>,
    /// λ_V, the smallest eigenvalue of the Gram matrix of the functions φ_n, each with its mean removed
    /// and of unit variance (the paper's `eq:app_pgc_initial_gram_interpretation`): 1 where they are
    /// uncorrelated, 0 where they are linearly dependent. Whether they are enough is another matter:
    /// coordinates alone have a large λ_V.
    pub lambda_v: Option<f64>,
    /// What the residual of the equations means for correlations.
    pub bound: Option<CorrelationBound>,
}

/// |C_model(t) − C(t)| ≤ T (A_U λ_V^{−1/2} ε + ζ) for functions of unit norm and lags t ≤ T (the paper's
/// `eq:app_pgc_final_bound`).
///
/// The φ_n of the equations are orthonormal combinations, so that λ_V = 1 here. The future dictionary
/// is K_r φ_m at the fitted lags, or its mean over each step between them: it holds its own members
/// with coefficient 1, A_U = 1, and how K_r φ_m moves within a step is left to ζ.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CorrelationBound {
    /// ε = ‖R‖_F, the projected generator residual (the paper's `eq:app_pgc_epsilon_residual`), per
    /// unit of time.
    pub epsilon: f64,
    /// The ε that sampling noise alone leaves after a fit; none where the equations are exact.
    pub noise: Option<f64>,
    /// ε² less that of noise, in units of its standard error.
    pub excess: Option<f64>,
    /// T, the longest fitted lag.
    pub horizon: f64,
    /// An estimate of ζ, the change of R when the Galerkin space is one degree smaller; without it, ζ is not
    /// part of the bound.
    pub closure: Option<f64>,
    /// T (ε + ζ).
    pub bound: f64,
    /// max_m ∫ ‖P_V (L_M − L) K_r φ_m‖ dr over 0 ≤ r ≤ T, plus T ζ: the same bound before ε takes all
    /// functions and lags together, and so smaller.
    pub sharp_bound: f64,
    /// The largest misfit of a fitted correlation, where the equations predict correlations.
    pub misfit: Option<f64>,
}

/// Singular values this small against the largest are rounding.
const ROUNDING: f64 = 1e-10;
/// Up to this many standard errors a residual is no larger than noise.
const LIKE_NOISE: f64 = 3.0;
/// Parts of a direction below this fraction of the largest are not put into words.
const MINOR: f64 = 0.3;
/// Most parts that are put into words.
const WORDS: usize = 4;

/// What a report is made from.
pub(super) struct Evidence<'a> {
    pub(super) equations: &'a dyn Equations,
    pub(super) coarse: Option<&'a dyn Equations>,
    /// The equations without each block, and their solutions.
    pub(super) left_out: &'a [Box<dyn Equations>],
    pub(super) refits: &'a [Array1<f64>],
    pub(super) jackknife: &'a Jackknife,
    /// The derivatives of the predictions in units of their errors.
    pub(super) jacobian: ArrayView2<'a, f64>,
    /// ⟨T_k : T_l⟩.
    pub(super) metric: ArrayView2<'a, f64>,
    /// The rms of Φ.
    pub(super) size: f64,
}

impl Identifiability {
    /// The singular values of the design, largest first, and the report.
    pub(super) fn new(evidence: &Evidence) -> Result<(Array1<f64>, Self)> {
        let (values, modes) = design_modes(evidence.jacobian, evidence.metric)?;
        let exact = evidence.left_out.is_empty();
        let error = |value: &f64| match *value > ROUNDING * values[0] {
            false => f64::INFINITY,
            true if exact => 0.0,
            true => 1.0 / (value * evidence.size),
        };
        let worst = modes.column(values.len() - 1);
        let parts = worst.iter().zip(evidence.metric.diag());
        let parts = parts.map(|(c, square)| c * square.sqrt());
        let labels = evidence.equations.basis().labels().map(str::to_owned);
        let mut least_determined: Vec<(String, f64)> = labels.zip(parts).collect();
        least_determined.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
        let sign = least_determined[0].1.signum();
        least_determined.iter_mut().for_each(|part| part.1 *= sign);
        let report = Self {
            standard_errors: values.iter().map(error).collect(),
            least_determined,
            diffusion_error: evidence.diffusion_error()?,
            lambda_v: evidence
                .equations
                .initial_functions()
                .map(smallest_correlation)
                .transpose()?,
            bound: evidence.bound()?,
        };
        Ok((values, report))
    }

    /// Directions along which a change as large as Φ exceeds the noise.
    pub fn fixed(&self) -> usize {
        self.standard_errors.iter().filter(|e| **e < 1.0).count()
    }

    /// The combination of fields that the equations determine least: its main parts with their signs.
    pub fn least_determined_combination(&self) -> String {
        let largest = self.least_determined[0].1.abs();
        let main = self.least_determined.iter().take(WORDS);
        let main = main.filter(|(_, part)| part.abs() >= MINOR * largest);
        let mut words = String::new();
        for (label, part) in main {
            let sign = match (words.is_empty(), *part < 0.0) {
                (true, _) => "",
                (false, false) => " + ",
                (false, true) => " − ",
            };
            words += &format!("{sign}{:.2} {label}", part.abs());
        }
        words
    }

    /// What to do where the equations do not fix every direction.
    pub fn warning(&self) -> Option<String> {
        let (fixed, all) = (self.fixed(), self.standard_errors.len());
        (fixed < all).then(|| {
            format!(
                "the equations determine {fixed} of {all} directions of the mobility; the least \
                 determined is {}. Add functions at the earlier time (a higher test degree) or longer \
                 lags, or lower the degree of the mobility",
                self.least_determined_combination()
            )
        })
    }
}

impl Evidence<'_> {
    fn diffusion_error(&self) -> Result<Option<f64>> {
        if self.left_out.is_empty() {
            return Ok(None);
        }
        let moments = self.equations.moments();
        let metric = self.equations.basis().diffusion_metric(moments)?;
        let square = |c| linalg::bilinear(c, metric.view(), c);
        let errors: f64 = self.jackknife.deviations.outer_iter().map(square).sum();
        Ok(Some((errors / square(self.jackknife.values.view())).sqrt()))
    }

    fn bound(&self) -> Result<Option<CorrelationBound>> {
        let coefficients = self.jackknife.values.view();
        let Some(residual) = self.equations.generator_residual(coefficients)? else {
            return Ok(None);
        };
        let epsilon = norm(&residual.values);
        let horizon: f64 = residual.spans.iter().sum();
        let noise = self.noise()?;
        let coarse = match self.coarse {
            Some(coarse) => coarse.generator_residual(coefficients)?,
            None => None,
        };
        let closure = coarse.map(|coarse| norm(&(coarse.values - &residual.values)));
        let defect = horizon * closure.unwrap_or(0.0);
        Ok(Some(CorrelationBound {
            epsilon,
            noise: noise.map(|(square, _)| square.sqrt()),
            excess: noise.map(|(square, error)| (epsilon.powi(2) - square) / error),
            horizon,
            closure,
            bound: horizon * epsilon + defect,
            sharp_bound: along_tube(&residual) + defect,
            misfit: residual.misfit,
        }))
    }

    /// The expected ε² of noise alone, tr S with S the covariance of R over blocks, each with its solution,
    /// and the standard error of ε² − tr S.
    fn noise(&self) -> Result<Option<(f64, f64)>> {
        let parts = self.left_out.par_iter().zip(self.refits);
        let parts = parts.map(|(part, solution)| part.generator_residual(solution.view()));
        let parts = parts.collect::<Result<Vec<_>>>()?.into_iter();
        let parts: Vec<Array1<f64>> = parts
            .flatten()
            .map(|residual| residual.values.into_iter().collect())
            .collect();
        if parts.len() < 3 {
            return Ok(None);
        }
        let deviations = deviations(&parts);
        let gram = linalg::multiply(deviations.view(), deviations.t());
        let trace = gram.diag().sum();
        // tr S² is too large by (tr S)²/ν for few degrees of freedom ν; it is at least (tr S)²/n.
        let freedom = parts.len() as f64 - 1.0;
        let unbiased = (gram.iter().map(|v| v * v).sum::<f64>() - trace.powi(2) / freedom)
            * (freedom.powi(2) / ((freedom - 1.0) * (freedom + 2.0)));
        let square = unbiased.max(trace.powi(2) / parts[0].len() as f64);
        let error = (2.0 * square * (1.0 + 1.0 / freedom)).sqrt();
        Ok(Some((trace, error)))
    }
}

fn norm(values: &Array3<f64>) -> f64 {
    values.iter().map(|v| v * v).sum::<f64>().sqrt()
}

/// max_m ∫ ‖P_V (L_M − L) K_r φ_m‖ dr, the norm that of a row of R where the φ_n are orthonormal (the
/// paper's `eq:app_pgc_projection_exact`).
fn along_tube(residual: &GeneratorResidual) -> f64 {
    let (_, functions, _) = residual.values.dim();
    let integral = |m: usize| {
        let rows = residual.values.index_axis(Axis(1), m);
        let rows = rows.outer_iter().zip(&residual.spans);
        rows.map(|(row, span)| span * row.dot(&row).sqrt()).sum()
    };
    (0..functions).map(integral).fold(0.0, f64::max)
}

/// The singular values of the whitened design J G^{−1/2}, largest first, and its right singular
/// vectors in coefficients, (coefficient, direction).
fn design_modes(
    jacobian: ArrayView2<f64>,
    metric: ArrayView2<f64>,
) -> Result<(Array1<f64>, Array2<f64>)> {
    let factor = linalg::cholesky(metric).map_err(|_| {
        Error::numerical(
            "the tensor fields are linearly dependent on the samples; lower the degree of the \
             mobility or mask entries",
        )
    })?;
    // c = L⁻ᵀ u has ⟨|M|²⟩ = |u|².
    let inverse = linalg::inverse(factor.view());
    let design = linalg::multiply(jacobian, inverse.t());
    let normal = linalg::multiply(design.t(), design.view());
    let (values, vectors) = linalg::symmetric_eigen(normal.view())?;
    let order: Vec<usize> = (0..values.len()).rev().collect();
    let values = values.select(Axis(0), &order).mapv(|v| v.max(0.0).sqrt());
    Ok((values, inverse.t().dot(&vectors.select(Axis(1), &order))))
}

/// λ_V from orthonormal functions in terms of the constant and the φ_n.
fn smallest_correlation(functions: ArrayView2<f64>) -> Result<f64> {
    // φ − ⟨φ⟩ = L ψ with L the inverse of the part without the constant; rows of unit length have
    // unit variance.
    let mut rows = linalg::inverse(functions.slice(s![.., 1..]));
    for mut row in rows.rows_mut() {
        let length = row.dot(&row).sqrt();
        row /= length;
    }
    let (values, _) = linalg::symmetric_eigen(linalg::multiply(rows.view(), rows.t()).view())?;
    Ok(values[0])
}

impl fmt::Display for Identifiability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = self.standard_errors.len();
        match self.warning() {
            Some(warning) => writeln!(f, "not identifiable: {warning}")?,
            None => {
                let least = self.least_determined_combination();
                writeln!(
                    f,
                    "identifiable: all {all} directions of the mobility, least {least}"
                )?;
            }
        }
        let (best, worst) = (self.standard_errors[0], self.standard_errors[all - 1]);
        if worst > 0.0 {
            writeln!(
                f,
                "standard errors along them, of the rms of Φ: {best:.2e} to {worst:.2e}"
            )?;
        }
        if let Some(error) = self.diffusion_error {
            writeln!(
                f,
                "standard error of D, rms over samples: {:.2} %",
                100.0 * error
            )?;
        }
        if let Some(lambda) = self.lambda_v {
            writeln!(f, "smallest Gram eigenvalue of the φ_n: λ_V = {lambda:.2e}")?;
        }
        match &self.bound {
            Some(bound) => bound.fmt(f),
            None => Ok(()),
        }
    }
}

impl fmt::Display for CorrelationBound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "projected generator residual: ε = {:.2e}", self.epsilon)?;
        if let (Some(noise), Some(excess)) = (self.noise, self.excess) {
            let verdict = match excess > LIKE_NOISE {
                true => "larger than noise",
                false => "no larger than noise",
            };
            write!(
                f,
                ", {noise:.2e} expected of noise: {verdict} ({excess:+.1} errors)"
            )?;
        }
        write!(
            f,
            "\ncorrelations of unit functions to lag {}: error bound {:.2e}",
            digits(self.horizon),
            self.sharp_bound
        )?;
        match self.closure {
            Some(closure) => write!(f, " with ζ = {closure:.2e}, the change in a coarser space")?,
            None => write!(f, " without the closure defect ζ")?,
        }
        match self.misfit {
            Some(misfit) => write!(f, "; largest misfit {misfit:.2e}"),
            None => write!(f, "; simulate the model to see the misfit"),
        }
    }
}
