//! The stationary operator on a ring as equations for the onsite block of M.

use std::sync::Arc;

use ndarray::{Array2, Array3, ArrayView2, s};

use super::operators::{LocalOperators, test_polynomials};
use super::reversal::Reversal;
use super::score::{LatticeScore, ScoreCoefficients};
use super::sums::LatticeSums;
use crate::error::{Error, Result};
use crate::lagged::{BlockId, PairSums};
use crate::linalg;
use crate::mobility::TensorBasis;
use crate::mobility::linear_equations::{Design, LinearEquations, LinearPlan};
use crate::mobility::weak::{TimeForm, WeakConfig, in_time, stack_columns, tests};
use crate::observable::{Moments, powers};

/// Equations C(t_k) − C(t_{k−1}) = ∫ ⟨φ_m(x_t) B_n(x_0)⟩ dt, or their derivative form, on a ring.
///
/// φ_n is a polynomial of the site i at the earlier time, φ_m a function at the site i + r at the later
/// one, and all averages are covariances over samples and sites. Where φ_m is one of the φ_n, an
/// equation and its time-reversed partner are replaced by their sum and difference. With M block-diagonal,
/// B_n = s_i·(T(m_i)∇φ_n) + ∇_i·(T(m_i)∇φ_n) knows only the site i and, through its score, the
/// neighbours: correlations of local monomials hold all of it for every β.
pub type LatticeWeak = LinearEquations<LatticeWeakPlan>;

/// What the equations on a ring are assembled from.
#[derive(Debug)]
pub struct LatticeWeakPlan {
    sums: Arc<LatticeSums>,
    basis: TensorBasis,
    coefficients: ScoreCoefficients,
    time: TimeForm,
    /// The test functions in monomials, (n, α).
    tests: Array2<f64>,
    /// The same in local monomials, (χ, n).
    local_tests: Array2<f64>,
    operators: LocalOperators,
    reversal: Reversal,
}

impl LatticeWeak {
    /// The equations for onsite blocks in `basis`, with a score of the given span and coefficients.
    ///
    /// # Errors
    /// When basis, score and statistics belong to different coordinates or blocks.
    pub fn new(
        sums: &Arc<LatticeSums>,
        score: &LatticeScore,
        coefficients: ScoreCoefficients,
        basis: &TensorBasis,
        time: &TimeForm,
    ) -> Result<Self> {
        if &sums.standardiser != basis.standardiser() {
            return Err(Error::input(
                "the tensor basis and the statistics use different standardisers; use the standardiser \
                 of a site for both",
            ));
        }
        if coefficients.len() != score.len() {
            return Err(Error::input(format!(
                "{} coefficients for a score of {} fields; give one per field",
                coefficients.len(),
                score.len()
            )));
        }
        if let ScoreCoefficients::Fitted(fitted) = &coefficients
            && !fitted.block_ids().eq(sums.lagged.block_ids())
        {
            return Err(Error::input(
                "the score and the correlations were collected in different blocks; use one \
                 LaggedConfig for both",
            ));
        }
        let config = WeakConfig {
            test_degree: sums.config.test_degree,
            ..WeakConfig::default()
        };
        let dim = basis.dim();
        let tests = tests(&sums.moments(&sums.lagged.total())?, dim, &config)?;
        let polynomials = test_polynomials(tests.view(), &powers(dim, config.test_degree)?);
        let fields = score.local(&sums.config.distances)?;
        let plan = LatticeWeakPlan {
            operators: LocalOperators::new(basis, &polynomials, &fields, &sums.places)?,
            reversal: Reversal::new(tests.view(), &sums.config.separations),
            local_tests: sums.local(tests.view())?,
            tests,
            basis: basis.clone(),
            coefficients,
            time: time.clone(),
            sums: sums.clone(),
        };
        let blocks = (0..sums.lagged.block_ids().len()).collect();
        Self::assemble(Arc::new(plan), blocks)
    }

    /// The test functions φ_n in monomials of one site, (n, α), in the order of
    /// [`Monomials`](crate::observable::Monomials) from the constant on.
    pub fn tests(&self) -> ArrayView2<'_, f64> {
        self.plan.tests.view()
    }

    /// The covariance of φ_m(x_t) and B_n(x_0) at one of the lags, (m, field, n): what each tensor field
    /// would contribute to dC/dt.
    ///
    /// # Errors
    /// When the blocks do not fix the coefficients of the score.
    pub fn operators(&self, lag: usize) -> Result<Array3<f64>> {
        let keep = |k: usize| self.blocks.binary_search(&k).is_ok();
        let totals = self.plan.sums.lagged.total_of(keep);
        let beta = self.plan.coefficients.of_blocks(keep)?;
        let map = self.plan.operators.at(beta.view());
        let flat = linalg::multiply(totals.covariance(lag).view(), map.view());
        let shape = (flat.nrows(), self.plan.basis.len(), self.plan.tests.nrows());
        Ok(flat.into_shape_with_order(shape).expect("m, (field, n)"))
    }
}

/// Covariances of φ_m(x_t) with combinations of the local monomials, (lag, m, combination).
fn covariances(totals: &PairSums, combinations: ArrayView2<f64>) -> Array3<f64> {
    let lags = totals.lags().len();
    let parts: Vec<_> = (0..lags).map(|lag| totals.covariance(lag)).collect();
    let views: Vec<_> = parts.iter().map(|part| part.view()).collect();
    let stacked = ndarray::concatenate(ndarray::Axis(0), &views).expect("one shape");
    let product = linalg::multiply(stacked.view(), combinations);
    let shape = (lags, product.nrows() / lags, product.ncols());
    product.into_shape_with_order(shape).expect("lag, m, n")
}

impl LatticeSums {
    /// ⟨z^α⟩ over samples and sites.
    fn moments(&self, totals: &PairSums) -> Result<Moments> {
        let means = totals.initial_mean(0);
        let components = self.standardiser.mean.len();
        Moments::new(components, self.config.moment_degree(), |alpha| {
            means[self.place(alpha)]
        })
    }

    /// Polynomials of one site, (n, α), in local monomials, (χ, n).
    fn local(&self, polynomials: ArrayView2<f64>) -> Result<Array2<f64>> {
        let mut local = Array2::zeros((self.places.len(), polynomials.nrows()));
        let known = powers(self.standardiser.mean.len(), self.config.test_degree)?;
        for (column, alpha) in polynomials.columns().into_iter().zip(&known) {
            local.row_mut(self.place(alpha)).assign(&column);
        }
        Ok(local)
    }

    /// The place of a monomial of the site alone.
    fn place(&self, alpha: &[u32]) -> usize {
        let mut wide = alpha.to_vec();
        wide.resize(alpha.len() * (1 + self.config.distances.len()), 0);
        self.places[&wide]
    }
}

impl LinearPlan for LatticeWeakPlan {
    fn basis(&self) -> &TensorBasis {
        &self.basis
    }
    fn block_ids(&self, blocks: &[usize]) -> Vec<BlockId> {
        let ids: Vec<BlockId> = self.sums.lagged.block_ids().collect();
        blocks.iter().map(|block| ids[*block]).collect()
    }
    fn assemble(&self, blocks: &[usize]) -> Result<Design> {
        let keep = |k: usize| blocks.binary_search(&k).is_ok();
        let totals = self.sums.lagged.total_of(keep);
        let beta = self.coefficients.of_blocks(keep)?;
        let lags = totals.lags().to_vec();
        let (of_c, of_b) = self.time.weights(&lags)?;
        let c = covariances(&totals, self.local_tests.view());
        let b = covariances(&totals, self.operators.at(beta.view()).view());
        let tests = self.tests.nrows();
        let column = |k: usize| {
            let part = b.slice(s![.., .., k * tests..(k + 1) * tests]);
            in_time(&of_b, &self.reversal.apply(part))
        };
        let columns: Vec<_> = (0..self.basis.len()).map(column).collect();
        Ok(Design {
            moments: self.sums.moments(&totals)?,
            observed: in_time(&of_c, &self.reversal.apply(c.view())),
            matrix: stack_columns(&columns),
            lags,
        })
    }
}
