//! Correlations predicted by the semigroup of the model in a polynomial Galerkin space.

use std::sync::Arc;

use ndarray::{Array1, Array2, Array3, ArrayView1, ArrayView2, Axis, CowArray, Ix1, s};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::basis::{TensorBasis, TensorField};
use super::charted::Contribution;
use super::equations::{Equations, GeneratorResidual, choose};
use super::moments::{Expectations, PolynomialSums};
use super::propagator::Propagator;
use super::tangent::Tangent;
use crate::error::{Error, Result};
use crate::lagged::BlockId;
use crate::linalg;
use crate::observable::{Moments, Polynomial, degree, differentiate, exponents, multiply};

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

    /// The same for D and b of these degrees.
    pub fn generator_moment_degree(&self, diffusion_degree: usize, drift_degree: usize) -> usize {
        self.moment_degree(diffusion_degree)
            .max(2 * self.degree - 1 + drift_degree)
            .max(2 * drift_degree)
    }
}

/// C(t) = exp(l t) with the weak generator l on polynomials ψ orthonormal under the data.
///
/// The unknowns are M, with l_ab = −⟨∇ψ_a M ∇ψ_bᵀ⟩, or drift b and diffusion D, with L f = b·∇f + D:∇∇f and
///
/// l_ab = −⟨∇ψ_a D ∇ψ_bᵀ⟩ + (A_ab − A_ba)/2,  A_ab = ⟨ψ_b L ψ_a⟩,
///
/// dissipative for D ≥ 0 whatever b is. That the sampled law is stationary under b and D is ⟨L ψ_a⟩ = 0, one
/// further equation for each function up to twice `test_degree`: those of high degree fluctuate too much to say
/// anything. On a line no current flows, A is symmetric under the exact law,
/// and what sampling errors make of (A − Aᵀ)/2 is left out: its square would be taken for damping.
///
/// l is linear in the coefficients and made of stationary averages alone: no score, no derivative of a noisy
/// curve and no quadrature over lags. The equations are the differences C(t_k) − C(t_{k−1}) of the
/// correlations of all test functions, the ψ of degree 1 up to `test_degree` under all data; noise that
/// neighbouring lags share drops out of them. Where the functions at both ends are the same, the symmetric and
/// the antisymmetric part of each difference are separate equations: the first is what increments know of D,
/// the second what currents know of b or R, and their noise is of different size.
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
    /// ⟨L_k ψ_a⟩, (a, k); no rows where the unknown is M, under which the sampled law is stationary.
    stationarity: Array2<f64>,
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
    /// True where the functions at both ends are the same.
    fn are_alike(self) -> bool {
        !matches!(self, Self::LaterLeading(_))
    }

    /// Leading coordinates at the later and at the earlier time.
    fn leading(self, dim: usize) -> [usize; 2] {
        match self {
            Self::All => [dim, dim],
            Self::LaterLeading(leading) => [leading, dim],
            Self::BothLeading(leading) => [leading, leading],
        }
    }
}

/// The part that does not depend on the choice of blocks. With charts, z^α of the space is y^α.
#[derive(Debug)]
struct Plan {
    sums: Option<Arc<PolynomialSums>>,
    basis: TensorBasis,
    config: SemigroupConfig,
    /// Exponents α of the space, the constant first.
    space: Vec<Vec<u32>>,
    /// ⟨z^α z^β⟩ as moments.
    gram: Vec<Contribution>,
    fields: Vec<FieldParts>,
    ends: Ends,
    /// The test functions of the later and of the earlier time in monomials, (test, α) for |α| up to
    /// `test_degree`.
    tests: [Array2<f64>; 2],
    /// Number of functions, the constant left out, under which the law is asked to be stationary.
    stationary: usize,
}

/// The parts of l that a field makes, as moments.
#[derive(Debug)]
struct FieldParts {
    /// −⟨∇z^α T ∇z^βᵀ⟩
    dissipative: Vec<Contribution>,
    /// ⟨z^β L z^α⟩; empty where the unknown is M.
    advective: Vec<Contribution>,
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
        let plan = Plan::new(Some(sums.clone()), &blocks, &all, basis, config, ends)?;
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
        let plan = Plan::new(None, &[], &expectations, basis, config, Ends::All)?;
        let exact = vec![0.0; expectations.lags.len()];
        Self::assemble(Arc::new(plan), Vec::new(), expectations, exact)
    }

    fn assemble(
        plan: Arc<Plan>,
        blocks: Vec<usize>,
        expectations: Expectations,
        variances: Vec<f64>,
    ) -> Result<Self> {
        let moments = averages(plan.sums.as_deref(), &blocks, &expectations);
        let gram = combined(&plan.gram, moments.view(), plan.space.len());
        let factor = orthonormalise(gram.view(), &plan.space)?;
        let inverse = linalg::inverse(factor.view());
        let size = inverse.nrows();
        let matrix = |contributions: &[Contribution]| {
            let raw = combined(contributions, moments.view(), size);
            if contributions.is_empty() {
                return raw;
            }
            linalg::multiply(
                linalg::multiply(inverse.view(), raw.view()).view(),
                inverse.t(),
            )
        };
        let turns = plan.basis.may_turn();
        let parts = plan.fields.par_iter().map(|parts| {
            let advective = matrix(&parts.advective);
            let mut generator = matrix(&parts.dissipative).slice(s![1.., 1..]).to_owned();
            if turns {
                let inner = advective.slice(s![1.., 1..]);
                generator += &((&inner - &inner.t()) * 0.5);
            }
            let changes = advective.slice(s![1..=plan.stationary, 0]).to_owned();
            (generator, changes)
        });
        let (generators, changes): (Vec<Array2<f64>>, Vec<Array1<f64>>) = parts.unzip();
        let stationarity = match plan.basis.has_drift() {
            true => stack_columns(&changes),
            false => Array2::zeros((0, changes.len())),
        };
        let known = plan.tests[0].ncols();
        let in_space = |tests: &Array2<f64>| tests.dot(&factor.slice(s![..known, 1..]));
        let tests = plan.tests.each_ref().map(in_space);
        let observed = plan.observed(&expectations, stationarity.nrows());
        Ok(Self {
            plan,
            blocks,
            expectations,
            stationarity,
            variances,
            observed,
            generators,
            tests,
        })
    }

    /// l.
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

    /// The test functions' part of E(t_k) − E(t_{k−1}) and the stationarity equations, flat.
    fn project(&self, propagators: &[Array2<f64>], stationarity: ArrayView1<f64>) -> Array1<f64> {
        let steps = propagators.windows(2).map(|pair| {
            let difference = &pair[1] - &pair[0];
            self.tests[0].dot(&difference).dot(&self.tests[1].t())
        });
        self.flat(steps, stationarity)
    }

    /// The [parts](Plan::parts) of these matrices between the test functions and the stationarity equations.
    fn flat(
        &self,
        steps: impl Iterator<Item = Array2<f64>>,
        stationarity: ArrayView1<f64>,
    ) -> Array1<f64> {
        let mut out = Vec::with_capacity(self.observed.len());
        steps.for_each(|step| self.plan.parts(step.view(), &mut out));
        out.extend(stationarity);
        Array1::from(out)
    }

    /// The antisymmetric part of l of each field between the test functions, (pair a < b, field).
    pub(super) fn antisymmetric(&self) -> Array2<f64> {
        let count = self.tests[0].nrows();
        let upper = |l: &Array2<f64>| -> Array1<f64> {
            let pairs = pairs(count).filter(|(a, b)| a < b);
            pairs.map(|(a, b)| 0.5 * (l[[a, b]] - l[[b, a]])).collect()
        };
        stack_columns(&self.tested(count).iter().map(upper).collect::<Vec<_>>())
    }

    /// l of each field between the leading test functions, (a, b).
    fn tested(&self, functions: usize) -> Vec<Array2<f64>> {
        let [later, earlier] = self.tests.each_ref().map(|t| t.slice(s![..functions, ..]));
        let project = |l: &Array2<f64>| later.dot(l).dot(&earlier.t());
        self.generators.iter().map(project).collect()
    }

    /// The coefficients whose generator is nearest to l̂ between these leading test functions, ⟨Lψ⟩ = 0 for all
    /// functions beside it. Directions that are not seen stay zero.
    fn nearest(&self, observed: &Array2<f64>) -> Array1<f64> {
        /// Singular values below this part of the largest are noise.
        const SEEN: f64 = 1e-4;
        let functions = observed.nrows();
        let fields = self.tested(functions);
        let rows = functions * functions;
        let all = rows + self.stationarity.nrows();
        let mut design = Array2::zeros((all, fields.len()));
        for (k, field) in fields.iter().enumerate() {
            let column = field.iter().chain(self.stationarity.column(k));
            design
                .column_mut(k)
                .assign(&column.copied().collect::<Array1<f64>>());
        }
        let mut right = Array1::zeros(all);
        right
            .slice_mut(s![..rows])
            .assign(&observed.iter().copied().collect::<Array1<f64>>());
        linalg::pseudo_inverse(design.view(), SEEN).dot(&right)
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
        Ok(self.project(&values, self.stationarity.dot(&coefficients).view()))
    }
    fn linearise(&self, coefficients: ArrayView1<f64>) -> Result<(Array1<f64>, Array2<f64>)> {
        let generator = self.generator(coefficients);
        let mut propagator = Propagator::new(generator.view(), &self.expectations.lags);
        let tangent = Tangent::new(
            generator.view(),
            &self.expectations.lags,
            &self.variances,
            self.tests.each_ref().map(|tests| tests.view()),
        );
        let column = |(k, direction): (usize, &Array2<f64>)| match &tangent {
            Some(tangent) => {
                let steps = tangent.along(direction.view());
                self.flat(steps.into_iter(), self.stationarity.column(k))
            }
            None => {
                let mut derivatives = propagator.derivative(direction.view());
                self.average(&mut derivatives, generator.view());
                self.add_turn(&mut derivatives, &propagator.values, &generator, direction);
                self.project(&derivatives, self.stationarity.column(k))
            }
        };
        let columns = self.generators.par_iter().enumerate().map(column);
        let columns: Vec<Array1<f64>> = columns.collect();
        let mut jacobian = Array2::zeros((self.observed.len(), columns.len()));
        for (mut place, column) in jacobian.columns_mut().into_iter().zip(&columns) {
            place.assign(column);
        }
        self.average(&mut propagator.values, generator.view());
        let stationarity = self.stationarity.dot(&coefficients);
        Ok((
            self.project(&propagator.values, stationarity.view()),
            jacobian,
        ))
    }
    fn coarser(&self) -> Result<Option<Box<dyn Equations>>> {
        let mut config = self.plan.config;
        if config.degree <= config.test_degree {
            return Ok(None);
        }
        config.degree -= 1;
        let (sums, basis) = (self.plan.sums.clone(), &self.plan.basis);
        let (all, ends) = (&self.expectations, self.plan.ends);
        let plan = Plan::new(sums, &self.blocks, all, basis, &config, ends)?;
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
        let mut values = Array3::zeros((lags.len() - 1, count, count));
        for (k, mut value) in values.outer_iter_mut().enumerate() {
            let parts = changes.slice(s![k * count * count..(k + 1) * count * count]);
            value.assign(&self.plan.whole(parts, count));
        }
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
    fn has_constant_guess(&self) -> bool {
        let sums = self.plan.sums.as_ref();
        sums.is_none_or(|sums| sums.charted().is_none())
    }
    fn homogeneous(&self) -> usize {
        self.stationarity.nrows()
    }
    fn time_unit(&self) -> f64 {
        self.expectations.lags[1]
    }
    /// The matrix logarithm of C(t₁) C(0)⁻¹ between test functions up to each degree, and its finite
    /// difference. Functions of high degree turn faster than the sampling may resolve; those of low degree
    /// are closed only for linear systems.
    fn starts(&self) -> Vec<Array1<f64>> {
        if !self.plan.ends.are_alike() {
            return Vec::new();
        }
        let correlation = |lag: usize| self.plan.tested_correlation(&self.expectations, lag);
        let (before, after) = (correlation(0), correlation(1));
        let time = self.time_unit();
        let mut starts = Vec::new();
        for functions in self.plan.functions_up_to_each_degree() {
            let part = s![..functions, ..functions];
            let inverse = linalg::inverse(before.slice(part));
            let propagator = after.slice(part).dot(&inverse);
            starts.extend(linalg::logm(propagator.view()).map(|log| self.nearest(&(log / time))));
            let difference = (&propagator - &Array2::<f64>::eye(functions)) / time;
            starts.push(self.nearest(&difference));
        }
        starts.retain(|start| start.iter().all(|c| c.is_finite()));
        starts
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
        blocks: &[usize],
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
        let space = exponents(basis.standardiser(), config.degree)?;
        let moments = &all.moments;
        let charted = sums.as_ref().and_then(|sums| sums.charted());
        let mut gram = Products::new(moments);
        for (row, alpha) in space.iter().enumerate() {
            for (column, beta) in space.iter().enumerate() {
                match charted {
                    Some(charted) => {
                        gram.parts
                            .push(charted.product((row, column), alpha, beta)?)
                    }
                    None => gram.add((row, column), alpha, beta, 1.0)?,
                }
            }
        }
        let gram = gram.parts;
        let fields = basis.fields().iter();
        let fields = fields.map(|field| {
            Ok(FieldParts {
                dissipative: match charted {
                    Some(charted) => charted.dissipative(field, &space)?,
                    None => dissipative(field, &space, moments)?,
                },
                advective: match (basis.has_drift(), charted) {
                    (true, Some(charted)) => charted.advective(field, &space)?,
                    (true, None) => advective(field, &space, moments)?,
                    (false, _) => Vec::new(),
                },
            })
        });
        let values = averages(sums.as_deref(), blocks, all);
        let known = exponents(basis.standardiser(), config.test_degree)?.len();
        let moments_of_tests = combined(&gram, values.view(), space.len());
        let moments_of_tests = moments_of_tests.slice(s![..known, ..known]).to_owned();
        let [later, earlier] = ends.leading(basis.dim()).map(|leading| {
            let chosen = |a: &usize| space[*a][leading..].iter().all(|power| *power == 0);
            let chosen: Vec<usize> = (0..known).filter(chosen).collect();
            leading_functions(moments_of_tests.view(), &chosen, &space[..known])
        });
        Ok(Self {
            fields: fields.collect::<Result<_>>()?,
            stationary: space
                .iter()
                .filter(|alpha| (1..=2 * config.test_degree).contains(&(degree(alpha) as usize)))
                .count(),
            tests: [later?, earlier?],
            ends,
            sums,
            basis: basis.clone(),
            config: *config,
            gram,
            space,
        })
    }

    /// C(t_k) of the test functions.
    fn tested_correlation(&self, expectations: &Expectations, lag: usize) -> Array2<f64> {
        let [later, earlier] = &self.tests;
        let known = later.ncols();
        let monomials = expectations.correlations.slice(s![lag, ..known, ..known]);
        later.dot(&monomials).dot(&earlier.t())
    }

    /// C(t_k) − C(t_{k−1}) of the test functions, in [parts](Self::parts), and zeros.
    fn observed(&self, expectations: &Expectations, zeros: usize) -> Array1<f64> {
        let mut out = Vec::new();
        let mut before = self.tested_correlation(expectations, 0);
        for lag in 1..expectations.lags.len() {
            let now = self.tested_correlation(expectations, lag);
            self.parts((&now - &before).view(), &mut out);
            before = now;
        }
        out.resize(out.len() + zeros, 0.0);
        Array1::from(out)
    }

    /// Appends the symmetric and the antisymmetric part of a matrix between the test functions, the entries
    /// (a, b ≥ a) of the first and (a, b > a) of the second; the entries themselves where the functions at the
    /// two ends differ.
    fn parts(&self, matrix: ArrayView2<f64>, out: &mut Vec<f64>) {
        if !self.ends.are_alike() {
            out.extend(matrix);
            return;
        }
        let n = matrix.nrows();
        for (a, b) in pairs(n) {
            out.push(0.5 * (matrix[[a, b]] + matrix[[b, a]]));
        }
        for (a, b) in pairs(n).filter(|(a, b)| a < b) {
            out.push(0.5 * (matrix[[a, b]] - matrix[[b, a]]));
        }
    }

    /// The matrix with these [parts](Self::parts).
    fn whole(&self, parts: ArrayView1<f64>, n: usize) -> Array2<f64> {
        if !self.ends.are_alike() {
            return Array2::from_shape_fn((n, n), |(a, b)| parts[a * n + b]);
        }
        let mut matrix = Array2::zeros((n, n));
        let (even, odd) = parts.split_at(Axis(0), n * (n + 1) / 2);
        for ((a, b), value) in pairs(n).zip(even) {
            matrix[[a, b]] = *value;
            matrix[[b, a]] = *value;
        }
        for ((a, b), value) in pairs(n).filter(|(a, b)| a < b).zip(odd) {
            matrix[[a, b]] += value;
            matrix[[b, a]] -= value;
        }
        matrix
    }

    /// Numbers of test functions of degree 1, up to 2, and so on.
    fn functions_up_to_each_degree(&self) -> Vec<usize> {
        let leading = self.ends.leading(self.basis.dim())[0];
        let up_to = |most: usize| {
            let counted = |alpha: &&Vec<u32>| {
                let own = alpha[leading..].iter().all(|power| *power == 0);
                own && (1..=most).contains(&(degree(alpha) as usize))
            };
            self.space.iter().filter(counted).count()
        };
        (1..=self.config.test_degree).map(up_to).collect()
    }
}

/// The averages that the matrices are made of: moments of z, or of charts times functions of z.
fn averages<'a>(
    sums: Option<&PolynomialSums>,
    blocks: &[usize],
    of: &'a Expectations,
) -> CowArray<'a, f64, Ix1> {
    match sums.and_then(PolynomialSums::charted) {
        Some(charted) => charted.averages(blocks).into(),
        None => of.moments.values().into(),
    }
}

/// (a, b) with a ≤ b < n.
fn pairs(n: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..n).flat_map(move |a| (a..n).map(move |b| (a, b)))
}

fn stack_columns(columns: &[Array1<f64>]) -> Array2<f64> {
    let views: Vec<_> = columns.iter().map(|column| column.view()).collect();
    ndarray::stack(Axis(1), &views).expect("one length")
}

/// [`test_functions`] of the chosen monomials, in all of them.
fn leading_functions(
    gram: ArrayView2<f64>,
    chosen: &[usize],
    space: &[Vec<u32>],
) -> Result<Array2<f64>> {
    if chosen.len() == gram.nrows() {
        return test_functions(gram, space);
    }
    let some = gram.select(Axis(0), chosen).select(Axis(1), chosen);
    let of_some: Vec<Vec<u32>> = chosen.iter().map(|a| space[*a].clone()).collect();
    let functions = test_functions(some.view(), &of_some)?;
    let mut out = Array2::zeros((functions.nrows(), gram.ncols()));
    for (column, &place) in functions.columns().into_iter().zip(chosen) {
        out.column_mut(place).assign(&column);
    }
    Ok(out)
}

/// The orthonormal functions other than the constant, in monomials, (function, monomial), from the
/// Gram matrix of the monomials with these exponents, in the order of their degrees.
pub(super) fn test_functions(gram: ArrayView2<f64>, space: &[Vec<u32>]) -> Result<Array2<f64>> {
    let factor = orthonormalise(gram, space)?;
    let inverse = linalg::inverse(factor.view());
    Ok(inverse.slice(s![1.., ..]).to_owned())
}

/// F with z^α = Σ_a F_αa ψ_a.
///
/// The monomials of each degree lose what lower degrees span and are then orthonormalised symmetrically among
/// themselves (Löwdin), so that the ψ are permuted and change sign as the coordinates do: no order of
/// coordinates is preferred.
fn orthonormalise(gram: ArrayView2<f64>, space: &[Vec<u32>]) -> Result<Array2<f64>> {
    let degrees: Vec<u32> = space.iter().map(|alpha| degree(alpha)).collect();
    let mut factor = linalg::cholesky(gram).map_err(|_| {
        let degree = degrees[degrees.len() - 1];
        Error::numerical(format!(
            "the polynomials up to degree {degree} are linearly dependent on the samples; lower the \
             degree of the space, or leave out dependent coordinates"
        ))
    })?;
    let mut first = 0;
    while first < degrees.len() {
        let count = degrees[first..].partition_point(|d| *d == degrees[first]);
        let end = first + count;
        // The rest r of degree d is P ψ; (P Pᵀ)^(−1/2) r = Q ψ with Q orthogonal.
        let own = factor.slice(s![first..end, first..end]).to_owned();
        let square = linalg::multiply(own.view(), own.t());
        let (values, vectors) = linalg::symmetric_eigen(square.view())?;
        let scaled = &vectors / &values.mapv(|v| v.max(f64::MIN_POSITIVE).sqrt());
        let turn = scaled.dot(&vectors.t()).dot(&own);
        let columns = factor.slice(s![.., first..end]).dot(&turn.t());
        factor.slice_mut(s![.., first..end]).assign(&columns);
        first = end;
    }
    Ok(factor)
}

/// Averages of products of monomials, written as moments.
struct Products<'a> {
    moments: &'a Moments,
    parts: Vec<Contribution>,
    /// Places for exponents.
    product: Vec<u32>,
}

impl<'a> Products<'a> {
    fn new(moments: &'a Moments) -> Self {
        Self {
            moments,
            parts: Vec::new(),
            product: Vec::new(),
        }
    }

    /// Adds `coefficient` ⟨z^left z^right⟩ to an entry.
    fn add(
        &mut self,
        (row, column): (usize, usize),
        left: &[u32],
        right: &[u32],
        coefficient: f64,
    ) -> Result<()> {
        let (moments, parts) = (self.moments, &mut self.parts);
        let mut outcome = Ok(());
        multiply(
            left,
            right,
            &mut self.product,
            &mut |exponents, number| match moments.place(exponents) {
                Ok(moment) => parts.push(Contribution {
                    row,
                    column,
                    moment,
                    coefficient: coefficient * number,
                }),
                Err(error) => outcome = Err(error),
            },
        );
        outcome
    }
}

/// The matrix of these contributions.
fn combined(contributions: &[Contribution], moments: ArrayView1<f64>, size: usize) -> Array2<f64> {
    let mut matrix = Array2::zeros((size, size));
    let entries = matrix.as_slice_mut().expect("zeros are contiguous");
    let moments = moments.as_slice().expect("averages are contiguous");
    for part in contributions {
        entries[part.row * size + part.column] += part.coefficient * moments[part.moment];
    }
    matrix
}

/// ∂_i z^α of every function of the space that depends on z_i: its place, the exponents, and the number.
fn slopes(space: &[Vec<u32>], i: usize) -> Vec<(usize, Vec<u32>, f64)> {
    let slope = |(place, alpha): (usize, &Vec<u32>)| {
        let mut lower = alpha.clone();
        let number = differentiate(&mut lower, i)?;
        Some((place, lower, number))
    };
    space.iter().enumerate().filter_map(slope).collect()
}

/// −⟨∂_i z^α T_ij ∂_j z^β⟩ as a list of moments.
fn dissipative(
    field: &TensorField,
    space: &[Vec<u32>],
    moments: &Moments,
) -> Result<Vec<Contribution>> {
    let mut products = Products::new(moments);
    let mut place = Vec::new();
    for (i, j, polynomial) in &field.entries {
        let [along, other] = [i, j].map(|k| slopes(space, *k));
        for (gamma, coefficient) in polynomial.terms() {
            for (row, alpha, a) in &along {
                let mut weighted = Vec::new();
                multiply(alpha, gamma, &mut place, &mut |exponents, number| {
                    weighted.push((exponents.to_vec(), number));
                });
                for (column, beta, b) in &other {
                    for (left, number) in &weighted {
                        let coefficient = -coefficient * number * a * b;
                        products.add((*row, *column), left, beta, coefficient)?;
                    }
                }
            }
        }
    }
    Ok(products.parts)
}

/// ⟨z^β (T_ij ∂_i ∂_j + f_i ∂_i) z^α⟩ as a list of moments.
fn advective(
    field: &TensorField,
    space: &[Vec<u32>],
    moments: &Moments,
) -> Result<Vec<Contribution>> {
    let mut products = Products::new(moments);
    for (row, alpha) in space.iter().enumerate() {
        let mut image = Polynomial::default();
        let monomial = Polynomial::monomial(alpha.clone(), 1.0);
        for (i, j, entry) in &field.entries {
            image.add_scaled(1.0, &entry.product(&monomial.derivative(*i).derivative(*j)));
        }
        for (i, component) in &field.drift {
            image.add_scaled(1.0, &component.product(&monomial.derivative(*i)));
        }
        for (gamma, coefficient) in image.terms().filter(|(_, c)| *c != 0.0) {
            for (column, beta) in space.iter().enumerate() {
                products.add((row, column), beta, gamma, coefficient)?;
            }
        }
    }
    Ok(products.parts)
}
