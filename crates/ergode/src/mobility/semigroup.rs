//! Correlations predicted by the semigroup of the model in a polynomial Galerkin space.

use std::sync::Arc;

use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis, s};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::basis::{TensorBasis, TensorField};
use super::equations::{Equations, GeneratorResidual, choose};
use super::moments::{Expectations, PolynomialSums};
use super::propagator::Propagator;
use crate::error::{Error, Result};
use crate::lagged::BlockId;
use crate::linalg;
use crate::observable::{Moments, exponents};

/// The Galerkin space and the functions whose correlations are fitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SemigroupConfig {
    /// Degree of the polynomials in the Galerkin space.
    pub degree: usize,
    /// Degree of the polynomials at both ends of the fitted correlations.
    pub test_degree: usize,
}

impl Default for SemigroupConfig {
    fn default() -> Self {
        Self {
            degree: 6,
            test_degree: 3,
        }
    }
}

impl SemigroupConfig {
    /// The degree of moments that these equations need for a mobility of the given degree.
    pub fn moment_degree(&self, mobility_degree: usize) -> usize {
        (2 * self.degree)
            .max(2 * self.degree - 2 + mobility_degree)
            .max(2 * mobility_degree)
    }
}

/// C(t) = exp(l(M) t) with the weak generator l_ab(M) = −⟨∇ψ_a M ∇ψ_bᵀ⟩ on polynomials ψ orthonormal
/// under the data.
///
/// l is linear in the coefficients of M and made of stationary averages alone: no score, no
/// derivative of a noisy curve and no quadrature over lags. The equations are the differences
/// C(t_k) − C(t_{k−1}) of the correlations of all test functions, the ψ of degree 1 up to
/// `test_degree` under all data; noise that neighbouring lags share drops out of them.
///
/// At lags that are windows of separations t, of mean t̄ and variance σ², the prediction is the average
/// ⟨exp(l t)⟩ = exp(l t̄)(1 + ½ σ² l²) over the window. What is left out is the third moment about the
/// mean, zero where separations fill the window evenly, and the fourth: for windows of width w,
/// (λw)⁴/1920 of a mode of rate λ.
#[derive(Clone, Debug)]
pub struct Semigroup {
    plan: Arc<Plan>,
    /// The blocks that the averages are over; none where these are exact.
    blocks: Vec<usize>,
    expectations: Expectations,
    /// σ² of the separations at each lag.
    variances: Vec<f64>,
    observed: Array1<f64>,
    /// l_ab(T_k) in the orthonormal basis, the constant left out.
    generators: Vec<Array2<f64>>,
    /// The test functions of the later and of the earlier time in that basis, (test, ψ).
    tests: [Array2<f64>; 2],
}

/// Whose functions stand at the ends of the fitted correlations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ends {
    /// Those of all coordinates at both.
    All,
    /// Those of this many leading coordinates at the later time.
    LaterLeading(usize),
    /// Those of this many leading coordinates at both.
    BothLeading(usize),
}

impl Ends {
    /// Leading coordinates at the later and at the earlier time.
    fn leading(self, dim: usize) -> [usize; 2] {
        match self {
            Self::All => [dim, dim],
            Self::LaterLeading(leading) => [leading, dim],
            Self::BothLeading(leading) => [leading, leading],
        }
    }
}

/// The part that does not depend on the choice of blocks.
#[derive(Debug)]
struct Plan {
    sums: Option<Arc<PolynomialSums>>,
    basis: TensorBasis,
    config: SemigroupConfig,
    /// Places of the moments ⟨z^{α+β}⟩.
    gram: Array2<usize>,
    generators: Vec<Vec<Contribution>>,
    ends: Ends,
    /// The test functions of the later and of the earlier time in monomials, (test, α) for |α| up to
    /// `test_degree`.
    tests: [Array2<f64>; 2],
}

/// coefficient × moment, a part of −⟨∇z^α T ∇z^βᵀ⟩.
#[derive(Clone, Copy, Debug)]
struct Contribution {
    row: usize,
    column: usize,
    moment: usize,
    coefficient: f64,
}

impl Semigroup {
    /// The equations of a data set.
    ///
    /// # Errors
    /// When statistics and basis belong to different coordinates, or the test functions are linearly
    /// dependent.
    pub fn new(
        sums: &Arc<PolynomialSums>,
        basis: &TensorBasis,
        config: &SemigroupConfig,
    ) -> Result<Self> {
        Self::between(sums, basis, config, Ends::All)
    }

    /// The equations of a data set with functions of some coordinates only.
    pub(super) fn between(
        sums: &Arc<PolynomialSums>,
        basis: &TensorBasis,
        config: &SemigroupConfig,
        ends: Ends,
    ) -> Result<Self> {
        sums.require_same_coordinates(basis)?;
        let blocks: Vec<usize> = (0..sums.blocks()).collect();
        let (all, variances) = sums.with_variances(&blocks);
        let plan = Plan::new(Some(sums.clone()), &all, basis, config, ends)?;
        Self::assemble(Arc::new(plan), blocks, all, variances)
    }

    /// The equations of a process whose moments and correlations are known.
    ///
    /// # Errors
    /// When the correlations do not have the shape of the test functions.
    pub fn exact(
        expectations: Expectations,
        basis: &TensorBasis,
        config: &SemigroupConfig,
    ) -> Result<Self> {
        let plan = Plan::new(None, &expectations, basis, config, Ends::All)?;
        let exact = vec![0.0; expectations.lags.len()];
        Self::assemble(Arc::new(plan), Vec::new(), expectations, exact)
    }

    fn assemble(
        plan: Arc<Plan>,
        blocks: Vec<usize>,
        expectations: Expectations,
        variances: Vec<f64>,
    ) -> Result<Self> {
        let moments = expectations.moments.values();
        let gram = plan.gram.mapv(|place| moments[place]);
        let factor = orthonormalise(gram.view(), plan.config.degree)?;
        let inverse = linalg::inverse(factor.slice(s![1.., 1..]));
        let size = inverse.nrows();
        let transform = |contributions: &Vec<Contribution>| {
            let mut raw = Array2::zeros((size, size));
            for part in contributions {
                raw[[part.row - 1, part.column - 1]] += part.coefficient * moments[part.moment];
            }
            inverse.dot(&raw).dot(&inverse.t())
        };
        let generators = plan.generators.iter().map(transform).collect();
        let known = plan.tests[0].ncols();
        let in_space = |tests: &Array2<f64>| tests.dot(&factor.slice(s![..known, 1..]));
        let tests = plan.tests.each_ref().map(in_space);
        let observed = differences(&expectations, plan.tests.each_ref());
        Ok(Self {
            plan,
            blocks,
            expectations,
            variances,
            observed,
            generators,
            tests,
        })
    }

    /// l(M).
    fn generator(&self, coefficients: ArrayView1<f64>) -> Array2<f64> {
        let size = self.tests[0].ncols();
        let mut generator = Array2::zeros((size, size));
        for (l, c) in self.generators.iter().zip(coefficients) {
            generator.scaled_add(*c, l);
        }
        generator
    }

    /// From E(t̄) to the average of E over each window, E (1 + ½ σ² l²).
    fn average(&self, values: &mut [Array2<f64>], generator: ArrayView2<f64>) {
        for (value, variance) in values.iter_mut().zip(&self.variances) {
            if *variance > 0.0 {
                let second = value.dot(&generator).dot(&generator);
                value.scaled_add(0.5 * variance, &second);
            }
        }
    }

    /// What the derivative of that average along `direction` has besides the average of the derivative:
    /// ½ σ² E (l̇ l + l l̇).
    fn add_turn(
        &self,
        derivatives: &mut [Array2<f64>],
        values: &[Array2<f64>],
        generator: &Array2<f64>,
        direction: &Array2<f64>,
    ) {
        if self.variances.iter().all(|variance| *variance == 0.0) {
            return;
        }
        let turn = direction.dot(generator) + generator.dot(direction);
        let windows = derivatives.iter_mut().zip(values).zip(&self.variances);
        for ((derivative, value), variance) in windows {
            derivative.scaled_add(0.5 * variance, &value.dot(&turn));
        }
    }

    /// The test functions' part of E(t_k) − E(t_{k−1}), flat.
    fn project(&self, propagators: &[Array2<f64>]) -> Array1<f64> {
        let mut out = Vec::new();
        for pair in propagators.windows(2) {
            let difference = &pair[1] - &pair[0];
            out.extend(self.tests[0].dot(&difference).dot(&self.tests[1].t()));
        }
        Array1::from(out)
    }
}

impl Equations for Semigroup {
    fn basis(&self) -> &TensorBasis {
        &self.plan.basis
    }
    fn moments(&self) -> &Moments {
        &self.expectations.moments
    }
    fn blocks(&self) -> usize {
        self.blocks.len()
    }
    fn block_ids(&self) -> Vec<BlockId> {
        let sums = self.plan.sums.as_ref();
        sums.map_or_else(Vec::new, |sums| sums.block_ids(&self.blocks))
    }
    fn restricted(&self, keep: &dyn Fn(usize) -> bool) -> Result<Box<dyn Equations>> {
        let Some(sums) = &self.plan.sums else {
            return Err(Error::input(
                "exact equations have no blocks to choose from",
            ));
        };
        let blocks = choose(&self.blocks, keep);
        let (expectations, variances) = sums.with_variances(&blocks);
        let some = Self::assemble(self.plan.clone(), blocks, expectations, variances)?;
        Ok(Box::new(some))
    }
    fn observed(&self) -> ArrayView1<'_, f64> {
        self.observed.view()
    }
    fn predict(&self, coefficients: ArrayView1<f64>) -> Result<Array1<f64>> {
        let generator = self.generator(coefficients);
        let mut values = Propagator::new(generator.view(), &self.expectations.lags).values;
        self.average(&mut values, generator.view());
        Ok(self.project(&values))
    }
    fn linearise(&self, coefficients: ArrayView1<f64>) -> Result<(Array1<f64>, Array2<f64>)> {
        let generator = self.generator(coefficients);
        let propagator = Propagator::new(generator.view(), &self.expectations.lags);
        let columns: Vec<Array1<f64>> = self
            .generators
            .par_iter()
            .map(|direction| {
                let mut derivatives = propagator.derivative(direction.view());
                self.average(&mut derivatives, generator.view());
                self.add_turn(&mut derivatives, &propagator.values, &generator, direction);
                self.project(&derivatives)
            })
            .collect();
        let mut jacobian = Array2::zeros((self.observed.len(), columns.len()));
        for (mut place, column) in jacobian.columns_mut().into_iter().zip(&columns) {
            place.assign(column);
        }
        let mut values = propagator.values;
        self.average(&mut values, generator.view());
        Ok((self.project(&values), jacobian))
    }
    fn coarser(&self) -> Result<Option<Box<dyn Equations>>> {
        let mut config = self.plan.config;
        if config.degree <= config.test_degree {
            return Ok(None);
        }
        config.degree -= 1;
        let (sums, basis) = (self.plan.sums.clone(), &self.plan.basis);
        let plan = Plan::new(sums, &self.expectations, basis, &config, self.plan.ends)?;
        let expectations = self.expectations.clone();
        let (blocks, variances) = (self.blocks.clone(), self.variances.clone());
        let coarse = Self::assemble(Arc::new(plan), blocks, expectations, variances)?;
        Ok(Some(Box::new(coarse)))
    }
    fn initial_functions(&self) -> Option<ArrayView2<'_, f64>> {
        let all = !matches!(self.plan.ends, Ends::BothLeading(_));
        all.then(|| self.plan.tests[1].view())
    }
    /// With e = C_M − C between the test functions, R = ė − e l; the mean of e over a step is that of
    /// its ends, and C outside the test functions is taken from the model.
    fn generator_residual(
        &self,
        coefficients: ArrayView1<f64>,
    ) -> Result<Option<GeneratorResidual>> {
        if self.plan.ends != Ends::All {
            return Ok(None);
        }
        let generator = self.generator(coefficients);
        let generator = self.tests[0].dot(&generator).dot(&self.tests[0].t());
        let changes = self.predict(coefficients)? - &self.observed;
        let (lags, count) = (&self.expectations.lags, generator.nrows());
        let values = changes.into_shape_with_order((lags.len() - 1, count, count));
        let mut values = values.expect("lag, m, n");
        let spans: Vec<f64> = lags.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let mut before = Array2::zeros((count, count));
        let mut misfit = 0.0;
        for (span, mut value) in spans.iter().zip(values.outer_iter_mut()) {
            let now = &before + &value;
            let mean = (&before + &now) * 0.5;
            value /= *span;
            value -= &mean.dot(&generator);
            misfit = now.iter().fold(misfit, |m: f64, e| m.max(e.abs()));
            before = now;
        }
        Ok(Some(GeneratorResidual {
            values,
            spans,
            misfit: Some(misfit),
        }))
    }
    fn spectrum(&self, coefficients: ArrayView1<f64>) -> Result<Vec<(f64, f64)>> {
        let mut values = linalg::eigenvalues(self.generator(coefficients).view())?;
        values.sort_by(|a, b| b.0.total_cmp(&a.0).then(b.1.total_cmp(&a.1)));
        Ok(values)
    }
}

impl Plan {
    fn new(
        sums: Option<Arc<PolynomialSums>>,
        all: &Expectations,
        basis: &TensorBasis,
        config: &SemigroupConfig,
        ends: Ends,
    ) -> Result<Self> {
        if config.test_degree == 0 || config.degree < config.test_degree {
            return Err(Error::input(format!(
                "a Galerkin space of degree {} cannot hold test functions of degree 1 to {}; raise \
                 its degree",
                config.degree, config.test_degree
            )));
        }
        let space = exponents(basis.dim(), config.degree)?;
        let moments = &all.moments;
        let mut gram = Array2::zeros((space.len(), space.len()));
        for ((a, b), place) in gram.indexed_iter_mut() {
            let sum: Vec<u32> = space[a].iter().zip(&space[b]).map(|(a, b)| a + b).collect();
            *place = moments.place(&sum)?;
        }
        let generators = basis.fields().iter();
        let generators = generators.map(|field| contributions(field, &space, moments));
        let values = moments.values();
        let known = exponents(basis.dim(), config.test_degree)?.len();
        let moments_of_tests = gram.slice(s![..known, ..known]).mapv(|p| values[p]);
        let [later, earlier] = ends.leading(basis.dim()).map(|leading| {
            let chosen = |a: &usize| space[*a][leading..].iter().all(|power| *power == 0);
            let chosen: Vec<usize> = (0..known).filter(chosen).collect();
            leading_functions(moments_of_tests.view(), &chosen, config.test_degree)
        });
        Ok(Self {
            generators: generators.collect::<Result<_>>()?,
            tests: [later?, earlier?],
            ends,
            sums,
            basis: basis.clone(),
            config: *config,
            gram,
        })
    }
}

/// [`test_functions`] of the chosen monomials, in all of them.
fn leading_functions(
    gram: ArrayView2<f64>,
    chosen: &[usize],
    degree: usize,
) -> Result<Array2<f64>> {
    if chosen.len() == gram.nrows() {
        return test_functions(gram, degree);
    }
    let some = gram.select(Axis(0), chosen).select(Axis(1), chosen);
    let functions = test_functions(some.view(), degree)?;
    let mut out = Array2::zeros((functions.nrows(), gram.ncols()));
    for (column, &place) in functions.columns().into_iter().zip(chosen) {
        out.column_mut(place).assign(&column);
    }
    Ok(out)
}

/// The orthonormal functions other than the constant, in monomials, (function, monomial), from the
/// Gram matrix of all monomials up to `degree`.
pub(super) fn test_functions(gram: ArrayView2<f64>, degree: usize) -> Result<Array2<f64>> {
    let factor = orthonormalise(gram, degree)?;
    let inverse = linalg::inverse(factor.view());
    Ok(inverse.slice(s![1.., ..]).to_owned())
}

/// L with z^α = Σ_a L_αa ψ_a.
fn orthonormalise(gram: ArrayView2<f64>, degree: usize) -> Result<Array2<f64>> {
    linalg::cholesky(gram).map_err(|_| {
        Error::numerical(format!(
            "the polynomials up to degree {degree} are linearly dependent on the samples; lower the \
             degree of the space, or leave out dependent coordinates"
        ))
    })
}

/// C(t_k) − C(t_{k−1}) of the test functions, flat over (lag, m, n).
fn differences(expectations: &Expectations, [later, earlier]: [&Array2<f64>; 2]) -> Array1<f64> {
    let known = later.ncols();
    let correlation = |lag: usize| {
        let monomials = expectations.correlations.slice(s![lag, ..known, ..known]);
        later.dot(&monomials).dot(&earlier.t())
    };
    let mut out = Vec::new();
    let mut before = correlation(0);
    for lag in 1..expectations.lags.len() {
        let now = correlation(lag);
        out.extend(&now - &before);
        before = now;
    }
    Array1::from(out)
}

/// −⟨∂_i z^α T_ij ∂_j z^β⟩ as a list of moments.
fn contributions(
    field: &TensorField,
    space: &[Vec<u32>],
    moments: &Moments,
) -> Result<Vec<Contribution>> {
    let mut parts = Vec::new();
    let mut sum = vec![0u32; space[0].len()];
    for (i, j, polynomial) in &field.entries {
        for (gamma, coefficient) in polynomial.terms() {
            for (row, alpha) in space.iter().enumerate().filter(|(_, a)| a[*i] > 0) {
                for (column, beta) in space.iter().enumerate().filter(|(_, b)| b[*j] > 0) {
                    for (k, place) in sum.iter_mut().enumerate() {
                        *place = alpha[k] + beta[k] + gamma[k];
                    }
                    sum[*i] -= 1;
                    sum[*j] -= 1;
                    parts.push(Contribution {
                        row,
                        column,
                        moment: moments.place(&sum)?,
                        coefficient: -coefficient * f64::from(alpha[*i]) * f64::from(beta[*j]),
                    });
                }
            }
        }
    }
    Ok(parts)
}
