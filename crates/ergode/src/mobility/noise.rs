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
    /// Standard deviation of every coordinate of the record.
    pub scale: Vec<f64>,
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
        scale: scale.clone(),
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
            let without = around(&next, &left_out);
            let without: Vec<Array2<f64>> = without.iter().map(matrix).collect();
            let scale = &sums.standardiser().scale;
            let raw = |standardised: Array2<f64>| {
                let unit = |(i, j): (usize, usize)| scale[i] * scale[j] * standardised[[i, j]];
                Array2::from_shape_fn((dim, dim), unit)
            };
            let found = NoiseEstimate {
                covariance: raw(matrix(&next)),
                errors: raw(matrix(&errors)),
                rounds: round,
                scale: scale.clone(),
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

/// What the unknowns would be without each block: `found` and the deviations of the steps, whether or not
/// the last step was taken whole.
fn around(found: &Array1<f64>, left_out: &[Array1<f64>]) -> Vec<Array1<f64>> {
    let mut mean = Array1::zeros(found.len());
    for step in left_out {
        mean.scaled_add(1.0 / left_out.len() as f64, step);
    }
    left_out.iter().map(|step| found + step - &mean).collect()
}

impl NoiseEstimate {
    /// S as a noise can have it: eigenvalues that are not positive are raised to nearly nothing, in units of
    /// the standard deviations of the coordinates.
    pub(crate) fn positive(&self) -> Result<Array2<f64>> {
        const NOTHING: f64 = 1e-9;
        let unit = |(i, j): (usize, usize)| self.scale[i] * self.scale[j];
        let units = Array2::from_shape_fn(self.covariance.dim(), unit);
        let (values, vectors) = linalg::symmetric_eigen((&self.covariance / &units).view())?;
        let floor = NOTHING
            * values
                .iter()
                .fold(f64::MIN_POSITIVE, |a: f64, v| a.max(v.abs()));
        let scaled = &vectors * &values.mapv(|v| v.max(floor));
        Ok(scaled.dot(&vectors.t()) * units)
    }
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    #[test]
    fn the_floor_of_the_noise_does_not_depend_on_units() {
        let plain = NoiseEstimate {
            covariance: array![[0.04, 0.001], [0.001, 0.01]],
            errors: Array2::zeros((2, 2)),
            rounds: 1,
            scale: vec![1.0, 0.7],
        };
        let small = NoiseEstimate {
            covariance: array![[0.04, 0.0], [0.0, -0.01]],
            ..plain.clone()
        };
        for estimate in [plain, small] {
            let expected = estimate.positive().unwrap();
            assert!(expected[[1, 1]] > 0.0);
            let unit = |i: usize| [1e6, 1e-6][i];
            let units = Array2::from_shape_fn((2, 2), |(i, j)| unit(i) * unit(j));
            let other = NoiseEstimate {
                covariance: &estimate.covariance * &units,
                scale: (0..2).map(|i| unit(i) * estimate.scale[i]).collect(),
                ..estimate
            };
            let found = other.positive().unwrap() / &units;
            let close = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-12 * expected[[0, 0]];
            assert!(found.iter().zip(&expected).all(close), "{found} {expected}");
            // The small variance itself, which a floor in raw units would replace.
            let ratio = found[[1, 1]] / expected[[1, 1]];
            assert!((ratio - 1.0).abs() < 1e-6, "{ratio}");
        }
    }

    /// With half of the last step taken, the mean over blocks is still the covariance that was found.
    #[test]
    fn blocks_agree_with_the_covariance_after_a_shortened_step() {
        let steps = [array![0.4], array![0.5], array![0.9]];
        let found = array![0.1 + 0.5 * 0.6];
        let without = around(&found, &steps);
        let mean = without.iter().map(|w| w[0]).sum::<f64>() / 3.0;
        assert!((mean - found[0]).abs() < 1e-14);
        let matrix = |w: &Array1<f64>| array![[w[0]]];
        let without: Vec<_> = without.iter().map(matrix).collect();
        let blocks = BlockNoise::new(&matrix(&found), &without);
        assert!((blocks.of_blocks(&[0, 1, 2])[[0, 0]] - found[0]).abs() < 1e-14);
        assert!((blocks.of_blocks(&[1, 2]) - &without[0])[[0, 0]].abs() < 1e-14);
        // The deviations are those of the steps.
        assert!((without[2][[0, 0]] - without[0][[0, 0]] - 0.5).abs() < 1e-14);
    }
}
