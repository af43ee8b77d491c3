//! Averages of monomials, and what measurement noise has added to them.

use std::collections::HashMap;
use std::sync::Arc;

use ndarray::{Array1, Array2, ArrayView1, ArrayView2, ArrayViewMut2};

use super::{Monomials, Polynomial, factor};
use crate::data::Standardiser;
use crate::error::{Error, Result};

/// ⟨z^α⟩ for every |α| up to a degree.
#[derive(Clone, Debug)]
pub struct Moments {
    index: Arc<HashMap<Vec<u32>, usize>>,
    values: Array1<f64>,
}

impl Moments {
    /// The moments given by `moment(α)` for all exponents of `dim` coordinates up to `degree`.
    ///
    /// # Errors
    /// When there are too many moments, or one is not finite.
    pub fn new(dim: usize, degree: usize, moment: impl Fn(&[u32]) -> f64) -> Result<Self> {
        let exponents = powers(dim, degree)?;
        let values = exponents.iter().map(|e| moment(e)).collect();
        Ok(Self {
            index: Arc::new(index(&exponents)),
            values,
        })
    }

    /// The moments at the places that `index` gives.
    pub(crate) fn at(index: &Arc<HashMap<Vec<u32>, usize>>, values: Array1<f64>) -> Self {
        Self {
            index: index.clone(),
            values,
        }
    }

    /// The index of ⟨z^α⟩ in [`Moments::values`].
    pub(crate) fn place(&self, exponents: &[u32]) -> Result<usize> {
        self.index.get(exponents).copied().ok_or_else(|| {
            let degree = factor::degree(exponents);
            Error::input(format!(
                "the moments do not reach degree {degree}; collect the statistics with a higher \
                 moment_degree, or lower the degree of the space or the mobility"
            ))
        })
    }

    pub(crate) fn values(&self) -> ArrayView1<'_, f64> {
        self.values.view()
    }

    /// The average of a polynomial.
    pub(crate) fn mean(&self, polynomial: &Polynomial) -> Result<f64> {
        let mut sum = 0.0;
        for (exponents, a) in polynomial.terms() {
            sum += a * self.values[self.place(exponents)?];
        }
        Ok(sum)
    }
}

/// The exponents of all monomials up to `degree` in the coordinates of `standardiser`, in the order of
/// [`Monomials`]; of angles there are waves instead of powers.
pub(crate) fn exponents(standardiser: &Standardiser, degree: usize) -> Result<Vec<Vec<u32>>> {
    let names = numbered(standardiser.scale.len());
    Ok(Monomials::of(&names, standardiser, 0..=degree)?.exponents())
}

/// The same where no coordinate is an angle.
pub(crate) fn powers(dim: usize, degree: usize) -> Result<Vec<Vec<u32>>> {
    Ok(Monomials::new(&numbered(dim), 0..=degree)?.exponents())
}

fn numbered(dim: usize) -> Vec<String> {
    (0..dim).map(|i| format!("z{i}")).collect()
}

pub(crate) fn index(exponents: &[Vec<u32>]) -> HashMap<Vec<u32>, usize> {
    let numbered = exponents.iter().cloned().enumerate();
    numbered.map(|(k, exponents)| (exponents, k)).collect()
}

/// Takes white Gaussian measurement noise out of averages of monomials.
///
/// The data are y = x + η, with x the state, with η independent of everything and ⟨η ηᵀ⟩ = S. The polynomials
/// H_α = exp(−½ S:∇∇) y^α have ⟨H_α(y) | x⟩ = x^α (in one coordinate they are Hermite's), so that averages of
/// x^α are the same combinations of the averages of y^β: exact, whatever the law of x.
#[derive(Clone, Debug)]
pub(crate) struct NoiseRemoval {
    degree: usize,
    /// −½ Σ S_ij ∂_i ∂_j in monomials.
    steps: Vec<Lowering>,
}

/// factor × S_ij × ⟨z^source⟩, a part of what −½ S:∇∇ makes of z^target.
#[derive(Clone, Copy, Debug)]
struct Lowering {
    target: usize,
    source: usize,
    entry: (usize, usize),
    factor: f64,
}

impl NoiseRemoval {
    /// For averages of the monomials with these exponents, which must hold all lower ones.
    pub(crate) fn new(exponents: &[Vec<u32>]) -> Self {
        let places = index(exponents);
        let mut steps = Vec::new();
        for (target, alpha) in exponents.iter().enumerate() {
            for i in 0..alpha.len() {
                for j in i..alpha.len() {
                    let (a, b) = (f64::from(alpha[i]), f64::from(alpha[j]));
                    let factor = if i == j { -0.5 * a * (a - 1.0) } else { -a * b };
                    if factor == 0.0 {
                        continue;
                    }
                    let mut lower = alpha.clone();
                    lower[i] -= 1;
                    lower[j] -= 1;
                    steps.push(Lowering {
                        target,
                        source: places[&lower],
                        entry: (i, j),
                        factor,
                    });
                }
            }
        }
        let degrees = exponents.iter().map(|alpha| alpha.iter().sum::<u32>());
        Self {
            degree: degrees.max().unwrap_or(0) as usize,
            steps,
        }
    }

    /// Turn averages of y^α, one per row, into those of x^α where the noise has covariance S.
    pub(crate) fn apply(&self, covariance: ArrayView2<f64>, mut averages: ArrayViewMut2<f64>) {
        let mut term = averages.to_owned();
        for order in 1..=self.degree / 2 {
            let mut next = Array2::zeros(term.raw_dim());
            for step in &self.steps {
                let factor = step.factor * covariance[step.entry] / order as f64;
                next.row_mut(step.target)
                    .scaled_add(factor, &term.row(step.source));
            }
            averages += &next;
            term = next;
        }
    }

    /// The same for one average per monomial.
    pub(crate) fn apply_to(&self, covariance: ArrayView2<f64>, averages: &mut Array1<f64>) {
        let column = averages.view_mut().insert_axis(ndarray::Axis(1));
        self.apply(covariance, column);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    /// ⟨x^a y^b⟩ of a Gaussian law with mean zero, by Isserlis' recursion.
    fn gaussian(p: &Array2<f64>, a: u32, b: u32) -> f64 {
        let (x, y) = (f64::from(a), f64::from(b));
        match (a, b) {
            (0, 0) => 1.0,
            (0, 1) => 0.0,
            (0, _) => (y - 1.0) * p[[1, 1]] * gaussian(p, 0, b - 2),
            _ => {
                let own = if a > 1 {
                    (x - 1.0) * p[[0, 0]] * gaussian(p, a - 2, b)
                } else {
                    0.0
                };
                let other = if b > 0 {
                    y * p[[0, 1]] * gaussian(p, a - 1, b - 1)
                } else {
                    0.0
                };
                own + other
            }
        }
    }

    /// Moments of N(0, P + S) freed from S are those of N(0, P); freed from another S they are not.
    #[test]
    fn gaussian_moments_are_freed_from_correlated_noise() {
        let law = array![[1.0, 0.3], [0.3, 0.7]];
        let noise = array![[0.2, -0.05], [-0.05, 0.1]];
        let exponents = powers(2, 10).unwrap();
        let moments = |p: &Array2<f64>| -> Array1<f64> {
            exponents.iter().map(|e| gaussian(p, e[0], e[1])).collect()
        };
        let removal = NoiseRemoval::new(&exponents);
        let error = |claimed: &Array2<f64>| {
            let mut freed = moments(&(&law + &noise));
            removal.apply_to(claimed.view(), &mut freed);
            let off = (freed - moments(&law)) / moments(&law).mapv(|m| 1.0 + m.abs());
            off.iter().fold(0.0, |worst: f64, e| worst.max(e.abs()))
        };
        assert!(error(&noise) < 1e-12, "{}", error(&noise));
        let mut wrong = noise.clone();
        wrong[[0, 1]] = 0.05;
        assert!(error(&wrong) > 1e-3);
    }
}
