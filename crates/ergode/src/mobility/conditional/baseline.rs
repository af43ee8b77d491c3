//! The control variate of the conditional operator.

use ndarray::{Array2, s};

use crate::control::Control;
use crate::data::{Ensemble, Standardiser};
use crate::error::Result;
use crate::lagged::{LagGrid, LaggedConfig, accumulate_pairs};
use crate::linalg;
use crate::observable::{Functions, Polynomial, Polynomials, powers};

/// b_m(x_0) ≈ E[φ_m(x_t) | x_0], a polynomial of least squares for every m and lag.
pub(super) struct Baseline {
    monomials: Polynomials,
    /// For every lag, (m, monomial).
    coefficients: Vec<Array2<f64>>,
}

/// Directions of the monomials that the samples span less than this, relative to the widest, are
/// left out.
const SPAN: f64 = 1e-10;

impl Baseline {
    pub(super) fn fit(
        ensemble: &Ensemble,
        future: &dyn Functions,
        grid: &LagGrid,
        degree: usize,
        statistics: &LaggedConfig,
        control: &Control,
    ) -> Result<Self> {
        let standardiser = Standardiser::from_ensemble(ensemble)?;
        let monomials = powers(ensemble.dim(), degree)?.into_iter();
        let monomials: Vec<_> = monomials.map(|e| Polynomial::monomial(e, 1.0)).collect();
        let monomials = Polynomials::new(ensemble.names(), &standardiser, &monomials)?;
        let (count, m) = (monomials.len(), future.len());
        let blocks = accumulate_pairs(
            ensemble,
            grid,
            statistics,
            control,
            || vec![Array2::zeros((count + m, count)); grid.len()],
            |sums: &mut Vec<Array2<f64>>, tile| {
                let n = tile.times.len();
                let mut values = Array2::zeros((count + m, n));
                let (left, right) = values
                    .as_slice_mut()
                    .expect("row-major")
                    .split_at_mut(count * n);
                monomials.values(&tile.initial, left);
                future.values(&tile.future, right);
                let products = linalg::multiply(values.view(), values.slice(s![..count, ..]).t());
                sums[tile.lag] += &products;
            },
        )?;
        let fit = |lag: usize| {
            let mut sum = Array2::zeros((count + m, count));
            blocks.iter().for_each(|(_, block)| sum += &block[lag]);
            let inverse = linalg::pseudo_inverse(sum.slice(s![..count, ..]), SPAN);
            sum.slice(s![count.., ..]).dot(&inverse)
        };
        Ok(Self {
            coefficients: (0..grid.len()).map(fit).collect(),
            monomials,
        })
    }

    /// φ_m − b_m for pairs at one lag with these initial states, (D, n); `phi` is (m, n).
    pub(super) fn subtract(&self, lag: usize, initial: &[f64], phi: &mut [f64]) {
        let n = initial.len() / self.monomials.dim();
        let mut monomials = vec![0.0; self.monomials.len() * n];
        self.monomials.values(initial, &mut monomials);
        let rows = phi.chunks_exact_mut(n.max(1));
        for (row, coefficients) in rows.zip(self.coefficients[lag].rows()) {
            for (monomial, a) in monomials.chunks_exact(n).zip(coefficients) {
                for (value, monomial) in row.iter_mut().zip(monomial) {
                    *value -= a * monomial;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observable::Monomials;

    /// x_{k+1} = x_k/2 + x_k²/8 exactly, so that the regression of degree two has no residual.
    #[test]
    fn a_deterministic_map_leaves_no_residual() {
        let starts = (0..40).map(|k| f64::from(k) / 20.0 - 1.0);
        let map = |x: f64| 0.5 * x + 0.125 * x * x;
        let trajectories = starts.map(|x| {
            let values = Array2::from_shape_vec((2, 1), vec![x, map(x)]).expect("two rows");
            crate::data::Trajectory::new(values, crate::data::Times::every(1.0))
        });
        let data = Ensemble::new(trajectories.collect()).unwrap();
        let phi = Monomials::coordinates(data.names()).unwrap();
        let grid = LagGrid::even(1.0, vec![1]).unwrap();
        let fit = |degree| {
            let (statistics, control) = (LaggedConfig::default(), Control::new());
            Baseline::fit(&data, &phi, &grid, degree, &statistics, &control).unwrap()
        };
        let x0 = [-1.0, -0.4, 0.1, 0.5, 0.9];
        let left = |baseline: &Baseline| {
            let mut values: Vec<f64> = x0.iter().map(|x| map(*x)).collect();
            baseline.subtract(0, &x0, &mut values);
            values.iter().fold(0.0f64, |most, v| most.max(v.abs()))
        };
        assert!(left(&fit(2)) < 1e-9, "{}", left(&fit(2)));
        assert!(left(&fit(1)) > 0.01);
    }
}
