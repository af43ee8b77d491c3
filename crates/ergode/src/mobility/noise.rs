//! Measurement noise: its covariance, separated from diffusion by the decay of correlations.

use std::sync::Arc;

use ndarray::{Array1, Array2, ArrayView1, Axis};
use serde::{Deserialize, Serialize};

use super::basis::TensorBasis;
use super::block_noise::BlockNoise;
use super::config::MobilityConfig;
use super::equations::Equations;
use super::fit::Solver;
use super::moments::PolynomialSums;
use super::semigroup::{Semigroup, SemigroupConfig};
use crate::control::Control;
use crate::data::Standardiser;
use crate::error::{Error, Result};
use crate::lagged::deviations;
use crate::linalg;

/// What is known of white measurement noise in a record.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MeasurementNoise {
    /// Its covariance is estimated where the check of the record finds noise; without a check there is
    /// taken to be none.
    #[default]
    Auto,
    /// There is none.
    None,
    /// Its covariance is estimated.
    Estimate,
    /// Its variance in each coordinate, independent between them, in the units of the record.
    Variances(Vec<f64>),
}

/// The covariance S of measurement noise, in the units of the record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NoiseEstimate {
    /// S.
    pub covariance: Array2<f64>,
    /// Standard errors by jackknife over blocks; zero where S was given.
    pub errors: Array2<f64>,
    /// Rounds of the estimate; zero where S was given.
    pub rounds: usize,
}

/// The noise that is given by its variances.
pub(super) fn known(
    variances: &[f64],
    standardiser: &Standardiser,
) -> Result<(BlockNoise, NoiseEstimate)> {
    let scale = &standardiser.scale;
    let dim = scale.len();
    if variances.len() != dim || variances.iter().any(|v| !(v.is_finite() && *v >= 0.0)) {
        return Err(Error::input(format!(
            "give one variance of the measurement noise per coordinate, {dim} in all, each finite and \
             not negative"
        )));
    }
    if let Some(i) = (0..dim).find(|&i| variances[i] >= scale[i].powi(2)) {
        return Err(Error::input(format!(
            "the measurement noise of variance {} exceeds the total variance of coordinate {i} \
             (counted from 0), {}; give the variance, not the standard deviation, in the units of the \
             record",
            variances[i],
            scale[i].powi(2)
        )));
    }
    let covariance = Array2::from_diag(&ArrayView1::from(variances));
    let standardised = Array2::from_shape_fn((dim, dim), |(i, j)| {
        covariance[[i, j]] / (scale[i] * scale[j])
    });
    let estimate = NoiseEstimate {
        covariance,
        errors: Array2::zeros((dim, dim)),
        rounds: 0,
    };
    Ok((BlockNoise::uniform(standardised), estimate))
}

/// Estimate S together with a mobility in `basis`.
///
/// White noise changes C(0) and the moments, but not the correlations at other lags; a diffusion that would
/// explain the step from lag zero to the first lag also decides how correlations decay from there. So S and
/// the coefficients of M are the unknowns of the same weighted equations ([`Semigroup`]), solved by
/// Gauss-Newton with M at its best for every S.
pub(super) fn estimate(
    sums: &PolynomialSums,
    basis: &TensorBasis,
    space: &SemigroupConfig,
    config: &MobilityConfig,
    control: &Control,
) -> Result<(BlockNoise, NoiseEstimate)> {
    /// Most rounds, and the change in standard errors that ends them.
    const ROUNDS: usize = 12;
    const SETTLED: f64 = 0.05;
    let dim = sums.names().len();
    let pairs: Vec<(usize, usize)> = (0..dim)
        .flat_map(|i| (i..dim).map(move |j| (i, j)))
        .collect();
    let matrix = |flat: &Array1<f64>| {
        let mut covariance = Array2::zeros((dim, dim));
        for (&(i, j), value) in pairs.iter().zip(flat) {
            covariance[[i, j]] = *value;
            covariance[[j, i]] = *value;
        }
        covariance
    };
    let equations = |flat: &Array1<f64>| {
        let sums = Arc::new(sums.with_noise(BlockNoise::uniform(matrix(flat)))?);
        Semigroup::new(&sums, basis, space)
    };
    let mut noise = Array1::zeros(pairs.len());
    let mut start: Option<Array1<f64>> = None;
    for round in 1..=ROUNDS {
        let current = equations(&noise)?;
        let mut solver = Solver::new(&current, config, control)?;
        let coefficients = solver.approach(start.take())?;
        let slopes = slopes(&noise, coefficients.view(), &equations)?;
        let (step, left_out) = solver.joint_steps(coefficients.view(), &slopes)?;
        let errors = deviations(&left_out).map_axis(Axis(0), |d| d.dot(&d).sqrt());
        let settled = step
            .iter()
            .zip(&errors)
            .all(|(s, e)| s.abs() <= SETTLED * e);
        let (next, taken) = advance(&noise, &step, &equations)?;
        if settled || round == ROUNDS {
            let without: Vec<Array2<f64>> =
                left_out.iter().map(|s| matrix(&(&noise + s))).collect();
            let scale = &sums.standardiser().scale;
            let raw = |standardised: Array2<f64>| {
                let unit = |(i, j): (usize, usize)| scale[i] * scale[j] * standardised[[i, j]];
                Array2::from_shape_fn((dim, dim), unit)
            };
            let found = NoiseEstimate {
                covariance: raw(matrix(&next)),
                errors: raw(matrix(&errors)),
                rounds: round,
            };
            return Ok((BlockNoise::new(&matrix(&next), &without), found));
        }
        if taken {
            start = Some(coefficients);
        }
        noise = next;
    }
    unreachable!("the last round returns")
}

/// ∂(observed − predicted)/∂S at fixed coefficients, (equation, pair), by central differences.
fn slopes(
    noise: &Array1<f64>,
    coefficients: ArrayView1<f64>,
    equations: &dyn Fn(&Array1<f64>) -> Result<Semigroup>,
) -> Result<Array2<f64>> {
    /// In units of the variance of a coordinate: the sums are polynomials of S.
    const STEP: f64 = 1e-4;
    let residual = |pair: usize, by: f64| -> Result<Array1<f64>> {
        let mut shifted = noise.clone();
        shifted[pair] += by;
        let equations = equations(&shifted)?;
        Ok(&equations.observed() - &equations.predict(coefficients)?)
    };
    let columns = (0..noise.len()).map(|pair| {
        let difference = residual(pair, STEP)? - residual(pair, -STEP)?;
        Ok(difference / (2.0 * STEP))
    });
    let columns = columns.collect::<Result<Vec<_>>>()?;
    let views: Vec<_> = columns.iter().map(|c| c.view()).collect();
    Ok(ndarray::stack(Axis(1), &views).expect("columns of one length"))
}

/// The longest of the whole step, half of it, and so on, that leaves a law behind.
fn advance(
    noise: &Array1<f64>,
    step: &Array1<f64>,
    equations: &dyn Fn(&Array1<f64>) -> Result<Semigroup>,
) -> Result<(Array1<f64>, bool)> {
    let mut factor = 1.0;
    for _ in 0..20 {
        let trial = noise + &(step * factor);
        if equations(&trial).is_ok() {
            return Ok((trial, factor == 1.0));
        }
        factor *= 0.5;
    }
    Err(Error::numerical(
        "these data do not determine the covariance of the measurement noise; give its variances \
         (mobility.noise), or a record sampled more often",
    ))
}

impl NoiseEstimate {
    /// S as a noise can have it: eigenvalues that are not positive are raised to nearly nothing.
    pub(crate) fn positive(&self) -> Result<Array2<f64>> {
        const NOTHING: f64 = 1e-9;
        let (values, vectors) = linalg::symmetric_eigen(self.covariance.view())?;
        let floor = NOTHING
            * values
                .iter()
                .fold(f64::MIN_POSITIVE, |a: f64, v| a.max(v.abs()));
        let scaled = &vectors * &values.mapv(|v| v.max(floor));
        Ok(scaled.dot(&vectors.t()))
    }
}
