//! The stationary operator: correlations with B_n = s·(M∇φ_n) + ∇·(M∇φ_n), linear in M.

use std::sync::Arc;

use ndarray::{Array1, Array2, Array3, ArrayView2, Axis, s};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::basis::TensorBasis;
use super::equations::GeneratorResidual;
use super::linear_equations::{Design, LinearEquations, LinearPlan};
use super::moments::{Expectations, PolynomialSums, correlations};
use super::operators::{StationaryOperators, divergence, flow};
use super::semigroup::test_functions;
use crate::control::Control;
use crate::data::Ensemble;
use crate::error::{Error, Result};
use crate::lagged::{
    BlockId, IntegralRule, LagGrid, LaggedSums, LocalPolynomial, accumulate_lagged,
};
use crate::observable::{Moments, Polynomial, Polynomials, index, powers};
use crate::score::{PotentialMoments, Score, minimiser};

/// The treatment of time in the equations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TimeForm {
    /// C(t_k) − C(t_{k−1}) = ∫ ⟨φ_m(x_t) B_n(x_0)⟩ dt over [t_{k−1}, t_k].
    Integral(IntegralRule),
    /// Ċ(t_k) = ⟨φ_m(x_{t_k}) B_n(x_0)⟩, the derivative by local polynomials.
    Derivative(LocalPolynomial),
}

impl TimeForm {
    /// The weights of C and of the operator in each equation, (equation in time, lag).
    pub(super) fn weights(&self, lags: &[f64]) -> Result<(Array2<f64>, Array2<f64>)> {
        let count = lags.len();
        match self {
            TimeForm::Integral(rule) => {
                let cumulative = rule.cumulative(lags)?;
                let one = Array2::<f64>::eye(count);
                let differences = |a: &Array2<f64>| &a.slice(s![1.., ..]) - &a.slice(s![..-1, ..]);
                Ok((differences(&one), differences(&cumulative)))
            }
            TimeForm::Derivative(polynomial) => {
                let mut slopes = Array2::zeros((count, count));
                for (mut row, lag) in slopes.rows_mut().into_iter().zip(lags) {
                    row.assign(&polynomial.weights(lags, *lag)?);
                }
                Ok((slopes, Array2::eye(count)))
            }
        }
    }

    /// The time that each equation stands for.
    fn spans(&self, lags: &[f64]) -> Vec<f64> {
        let steps: Vec<f64> = lags.windows(2).map(|pair| pair[1] - pair[0]).collect();
        match self {
            TimeForm::Integral(_) => steps,
            TimeForm::Derivative(_) => {
                let step = |k: Option<usize>| k.and_then(|k| steps.get(k)).unwrap_or(&0.0);
                let around = |k: usize| 0.5 * (step(k.checked_sub(1)) + step(Some(k)));
                (0..lags.len()).map(around).collect()
            }
        }
    }
}

/// The functions and the time form of the stationary-operator equations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct WeakConfig {
    /// Degree of the test functions φ_m and φ_n.
    pub test_degree: usize,
    /// Degree of the potential whose gradient is the score, where it is a polynomial.
    pub potential_degree: usize,
    /// The treatment of time in the equations.
    pub time: TimeForm,
}

impl Default for WeakConfig {
    fn default() -> Self {
        Self {
            test_degree: 3,
            potential_degree: 8,
            time: TimeForm::Integral(IntegralRule::Simpson),
        }
    }
}

impl WeakConfig {
    /// The degree of functions at the earlier time that a polynomial score needs.
    pub fn initial_degree(&self, mobility_degree: usize) -> usize {
        let test = self.test_degree;
        test.max((self.potential_degree + mobility_degree + test).saturating_sub(2))
    }

    /// The degree of moments that these equations need.
    pub fn moment_degree(&self, mobility_degree: usize) -> usize {
        let potential = 2 * self.potential_degree.saturating_sub(1);
        potential.max(2 * mobility_degree).max(2 * self.test_degree)
    }
}

/// Equations C(t_k) − C(t_{k−1}) = ∫ ⟨φ_m(x_t) B_n(x_0)⟩ dt, or their derivative form, with
/// B_n = s·(M∇φ_n) + ∇·(M∇φ_n) (the paper's `eq:B_b_M_n_j`): linear in the coefficients of M.
///
/// The test functions are the polynomials of degree 1 up to `test_degree`, orthonormal under the
/// data. A polynomial score is estimated again in every set of blocks, so that errors include those of the
/// score.
pub type Weak = LinearEquations<WeakPlan>;

/// The statistics from which the equations of the weak form are assembled.
#[derive(Debug)]
pub struct WeakPlan {
    basis: TensorBasis,
    config: WeakConfig,
    /// The test functions in monomials, (test, α).
    tests: Array2<f64>,
    source: Source,
}

#[derive(Debug)]
enum Source {
    /// Score and operators are polynomials, put together from correlations of monomials.
    Polynomials(Arc<PolynomialSums>),
    /// The operators were evaluated with a score that is held fixed.
    Operators(Arc<PolynomialSums>, LaggedSums),
    Exact,
}

impl Weak {
    /// The equations of a data set, with the polynomial score from its moments.
    ///
    /// # Errors
    /// When statistics and basis belong to different coordinates, or the degrees of the statistics are
    /// too low.
    pub fn new(
        sums: &Arc<PolynomialSums>,
        basis: &TensorBasis,
        config: &WeakConfig,
    ) -> Result<Self> {
        let needed = config.initial_degree(basis.degree());
        if sums.config().initial_degree < needed {
            return Err(Error::input(format!(
                "the correlations reach degree {} at the earlier time, but the fit needs {needed}; \
                 collect the statistics again with WeakConfig::initial_degree",
                sums.config().initial_degree
            )));
        }
        Self::over(sums, basis, config, Source::Polynomials(sums.clone()))
    }

    /// The equations of a data set with a given score, which is held fixed.
    ///
    /// # Errors
    /// As for [`Weak::new`], and when the work is stopped.
    pub fn with_score(
        ensemble: &Ensemble,
        sums: &Arc<PolynomialSums>,
        score: &dyn Score,
        basis: &TensorBasis,
        config: &WeakConfig,
        control: &Control,
    ) -> Result<Self> {
        let all: Vec<usize> = (0..sums.blocks()).collect();
        let tests = tests(&sums.expectations(&all).moments, basis.dim(), config)?;
        let operators = StationaryOperators::new(basis, tests.view(), config.test_degree, score)?;
        let monomials = powers(basis.dim(), config.test_degree)?.into_iter();
        let monomials: Vec<_> = monomials.map(|e| Polynomial::monomial(e, 1.0)).collect();
        let future = Polynomials::new(basis.names(), basis.standardiser(), &monomials)?;
        let grid = LagGrid::for_ensemble(ensemble, &sums.config().lags)?;
        let statistics = &sums.config().statistics;
        let lagged = accumulate_lagged(ensemble, &future, &operators, &grid, statistics, control)?;
        Self::over(sums, basis, config, Source::Operators(sums.clone(), lagged))
    }

    /// The equations of a process whose correlations are known: C(t) = ⟨φ_m(x_t) φ_n(x_0)⟩ and, for
    /// each field of the basis, ⟨φ_m(x_t) B_n(x_0)⟩, all (lag, m, n), for functions of any kind.
    ///
    /// # Errors
    /// When the arrays do not have one shape.
    pub fn exact(
        moments: Moments,
        lags: &[f64],
        correlations: &Array3<f64>,
        operators: &[Array3<f64>],
        basis: &TensorBasis,
        time: &TimeForm,
    ) -> Result<Self> {
        if operators.len() != basis.len()
            || operators.iter().any(|o| o.dim() != correlations.dim())
            || correlations.dim().0 != lags.len()
        {
            return Err(Error::input(
                "exact equations need the correlations at every lag, and for each field of the basis \
                 an array of the same shape",
            ));
        }
        let (of_c, of_b) = time.weights(lags)?;
        let columns = operators.iter().map(|o| in_time(&of_b, o));
        let plan = WeakPlan {
            basis: basis.clone(),
            config: WeakConfig::default(),
            tests: Array2::zeros((0, 0)),
            source: Source::Exact,
        };
        Ok(Self {
            plan: Arc::new(plan),
            blocks: Vec::new(),
            design: Design {
                moments,
                lags: lags.to_vec(),
                observed: in_time(&of_c, correlations),
                matrix: stack_columns(&columns.collect::<Vec<_>>()),
            },
        })
    }

    fn over(
        sums: &Arc<PolynomialSums>,
        basis: &TensorBasis,
        config: &WeakConfig,
        source: Source,
    ) -> Result<Self> {
        sums.require_same_coordinates(basis)?;
        let blocks: Vec<usize> = (0..sums.blocks()).collect();
        let plan = WeakPlan {
            tests: tests(&sums.expectations(&blocks).moments, basis.dim(), config)?,
            basis: basis.clone(),
            config: config.clone(),
            source,
        };
        Self::assemble(Arc::new(plan), blocks)
    }
}

impl LinearPlan for WeakPlan {
    fn basis(&self) -> &TensorBasis {
        &self.basis
    }
    fn assemble(&self, blocks: &[usize]) -> Result<Design> {
        let (expectations, operators) = match &self.source {
            Source::Polynomials(sums) => {
                let expectations = sums.expectations(blocks);
                let degree = sums.config().initial_degree;
                let operators = self.polynomial_operators(&expectations, degree)?;
                (expectations, operators)
            }
            Source::Operators(sums, lagged) => {
                let totals = lagged.total_of(|k| blocks.binary_search(&k).is_ok());
                let operators = self.evaluated_operators(&correlations(&totals));
                (sums.expectations(blocks), operators)
            }
            Source::Exact => {
                return Err(Error::input(
                    "exact equations have no blocks to choose from",
                ));
            }
        };
        let known = self.tests.ncols();
        let c = expectations.correlations.slice(s![.., ..known, ..known]);
        let initial = transform(&c.to_owned(), self.tests.view(), Axis(2));
        let c = transform(&initial, self.tests.view(), Axis(1));
        let (of_c, of_b) = self.config.time.weights(&expectations.lags)?;
        let columns: Vec<_> = operators.iter().map(|o| in_time(&of_b, o)).collect();
        Ok(Design {
            observed: in_time(&of_c, &c),
            matrix: stack_columns(&columns),
            moments: expectations.moments,
            lags: expectations.lags,
        })
    }
    fn block_ids(&self, blocks: &[usize]) -> Vec<BlockId> {
        match &self.source {
            Source::Polynomials(sums) | Source::Operators(sums, _) => sums.block_ids(blocks),
            Source::Exact => Vec::new(),
        }
    }
    fn initial_functions(&self) -> Option<ArrayView2<'_, f64>> {
        let known = !matches!(self.source, Source::Exact);
        known.then(|| self.tests.view())
    }
    /// The residual of each equation, in the integral form over the length of its step.
    fn generator_residual(&self, residual: Array1<f64>, lags: &[f64]) -> Option<GeneratorResidual> {
        if matches!(self.source, Source::Exact) {
            return None;
        }
        let (spans, count) = (self.config.time.spans(lags), self.tests.nrows());
        let values = residual.into_shape_with_order((spans.len(), count, count));
        let mut values = values.expect("lag, m, n");
        if let TimeForm::Integral(_) = self.config.time {
            for (mut part, span) in values.outer_iter_mut().zip(&spans) {
                part /= *span;
            }
        }
        Some(GeneratorResidual {
            values,
            spans,
            misfit: None,
        })
    }
}

impl WeakPlan {
    /// ⟨φ_m(x_t) B_n(x_0)⟩ of every field, (lag, m, n), from correlations of monomials.
    fn polynomial_operators(
        &self,
        expectations: &Expectations,
        initial_degree: usize,
    ) -> Result<Vec<Array3<f64>>> {
        let dim = self.basis.dim();
        let score = polynomial_score(&expectations.moments, dim, self.config.potential_degree)?;
        let known = self.tests.ncols();
        let monomials = powers(dim, self.config.test_degree)?;
        let correlations = expectations.correlations.slice(s![.., ..known, ..]);
        let (lags, _, initial) = correlations.dim();
        let places = index(&powers(dim, initial_degree)?);
        let flat = correlations
            .to_shape((lags * known, initial))
            .expect("row-major")
            .to_owned();
        let fields = self.basis.fields().par_iter();
        fields
            .map(|field| {
                // The coefficients of B for each monomial φ, (χ, α).
                let mut map = Array2::zeros((initial, known));
                for (alpha, exponents) in monomials.iter().enumerate() {
                    let phi = Polynomial::monomial(exponents.clone(), 1.0);
                    let flow = flow(field, &phi, dim);
                    let mut operator = divergence(&flow);
                    for (s, v) in score.iter().zip(&flow) {
                        operator.add_scaled(1.0, &s.product(v));
                    }
                    for (exponents, a) in operator.terms() {
                        map[[places[exponents], alpha]] = a;
                    }
                }
                let operators = flat.dot(&map.dot(&self.tests.t()));
                let tests = self.tests.nrows();
                let operators = operators.into_shape_with_order((lags, known, tests));
                let operators = operators.expect("lag, m, n");
                Ok(transform(&operators, self.tests.view(), Axis(1)))
            })
            .collect()
    }

    /// The same from operators that were evaluated at the samples, (field, n) at the earlier time.
    fn evaluated_operators(&self, correlations: &Array3<f64>) -> Vec<Array3<f64>> {
        let (tests, known) = self.tests.dim();
        let field = |k: usize| {
            let part = correlations.slice(s![.., ..known, k * tests..(k + 1) * tests]);
            transform(&part.to_owned(), self.tests.view(), Axis(1))
        };
        (0..self.basis.len()).map(field).collect()
    }
}

/// The orthonormal test functions in monomials, (test, α).
pub(super) fn tests(moments: &Moments, dim: usize, config: &WeakConfig) -> Result<Array2<f64>> {
    let monomials = powers(dim, config.test_degree)?;
    let mut gram = Array2::zeros((monomials.len(), monomials.len()));
    for ((a, b), value) in gram.indexed_iter_mut() {
        let product = monomials[a].iter().zip(&monomials[b]).map(|(a, b)| a + b);
        *value = moments.values()[moments.place(&product.collect::<Vec<_>>())?];
    }
    test_functions(gram.view(), &monomials)
}

/// s = Σ_k β_k ∇ψ_k over the monomials ψ of degree 1 up to `degree`, with ⟨∇ψ_k·∇ψ_l⟩ β = −⟨Δψ_k⟩
/// (Hyvärinen's objective), all of it moments.
fn polynomial_score(moments: &Moments, dim: usize, degree: usize) -> Result<Vec<Polynomial>> {
    let (gram, laplacian) = PotentialMoments::new(moments, dim, degree)?.means(moments);
    let beta = minimiser(&gram, &laplacian)?;
    let mut potential = Polynomial::default();
    for (exponents, beta) in powers(dim, degree)?.into_iter().skip(1).zip(&beta) {
        potential.add_scaled(*beta, &Polynomial::monomial(exponents, 1.0));
    }
    Ok((0..dim).map(|i| potential.derivative(i)).collect())
}

/// A matrix applied to one axis.
fn transform(array: &Array3<f64>, matrix: ArrayView2<f64>, axis: Axis) -> Array3<f64> {
    let mut shape = array.raw_dim();
    shape[axis.0] = matrix.nrows();
    let mut out = Array3::zeros(shape);
    for (mut out, lag) in out.outer_iter_mut().zip(array.outer_iter()) {
        match axis.0 {
            1 => out.assign(&matrix.dot(&lag)),
            _ => out.assign(&lag.dot(&matrix.t())),
        }
    }
    out
}

/// Weights over the lags applied to curves (lag, m, n), flat over (equation in time, m, n).
pub(super) fn in_time(weights: &Array2<f64>, curves: &Array3<f64>) -> Array1<f64> {
    let (lags, m, n) = curves.dim();
    let flat = curves.to_shape((lags, m * n)).expect("lag, m n");
    weights.dot(&flat).into_iter().collect()
}

pub(super) fn stack_columns(columns: &[Array1<f64>]) -> Array2<f64> {
    let views: Vec<_> = columns.iter().map(|column| column.view()).collect();
    ndarray::stack(Axis(1), &views).expect("columns of one length")
}
