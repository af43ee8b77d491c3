//! One solver for every way of writing the equations.

use ndarray::{Array1, Array2, ArrayView1, Axis, concatenate, s};
use rayon::prelude::*;

use super::config::MobilityConfig;
use super::equations::Equations;
use super::identifiability::{Evidence, Identifiability};
use super::linear::LinearMobility;
use super::restandardise::printed_errors;
use super::result::{MobilityFit, RidgeTrial};
use crate::control::Control;
use crate::error::{Error, Result};
use crate::lagged::{CoefficientErrors, Jackknife, deviations};
use crate::linalg;

/// A standard error this small against the largest is rounding.
const NEGLIGIBLE: f64 = 1e-9;

/// χ² per equation at which coefficients are no solution.
const MISSED: f64 = 4.0;

/// A relative fall of the objective that ends the iteration.
const CONVERGED: f64 = 1e-7;

/// Fit the coefficients of M(x) = Σ_k c_k T_k(x).
///
/// Minimises Σ_e ((observed_e − predicted_e(c))/ε_e)² + λ ⟨|M − Φ|²⟩ by Gauss-Newton with Levenberg's
/// damping. ε_e is the standard error of the residual, both sides of the equation re-estimated in
/// every block; Φ is the best constant mobility, and λ has the least held-out χ². Errors of the
/// coefficients come from the jackknife over blocks, weights and all, one Gauss-Newton step from the
/// solution for each.
///
/// # Errors
/// When the configuration does not fit the equations, the search does not converge, or the work is
/// stopped.
pub fn fit_mobility(
    equations: &dyn Equations,
    config: &MobilityConfig,
    control: &Control,
) -> Result<MobilityFit> {
    fit_mobility_from(None, equations, config, control)
}

/// [`fit_mobility`] started from coefficients near the solution, if given.
pub(super) fn fit_mobility_from(
    start: Option<Array1<f64>>,
    equations: &dyn Equations,
    config: &MobilityConfig,
    control: &Control,
) -> Result<MobilityFit> {
    let mut solver = Solver::new(equations, config, control)?;
    let first = solver.approach(start)?;
    let trials = solver.cross_validate(first.view())?;
    solver.finish(first, trials)
}

/// The coefficients of [`fit_mobility_from`] before a ridge is chosen, without errors.
pub(super) fn solve_near(
    start: Array1<f64>,
    equations: &dyn Equations,
    config: &MobilityConfig,
    control: &Control,
) -> Result<Array1<f64>> {
    Solver::new(equations, config, control)?.approach(Some(start))
}

/// Equations with their errors, prior and leave-one-out versions.
pub(super) struct Solver<'a> {
    equations: &'a dyn Equations,
    config: &'a MobilityConfig,
    control: &'a Control,
    left_out: Vec<Box<dyn Equations>>,
    /// Their residuals, at the coefficients that the weights were found with.
    residuals: Vec<Array1<f64>>,
    /// 1/ε_e.
    pub(super) weights: Array1<f64>,
    /// Least ε_e of the homogeneous equations; empty where there are none.
    least: Array1<f64>,
    /// Most ε_e of the others.
    most: Array1<f64>,
    /// The equations in a coarser space, where what that changes is part of ε_e.
    coarse: Option<Box<dyn Equations>>,
    /// That change; empty where there is none.
    defect: Array1<f64>,
    metric: Array2<f64>,
    target: Array1<f64>,
    /// ⟨|Φ|²⟩.
    size: f64,
}

impl<'a> Solver<'a> {
    pub(super) fn new(
        equations: &'a dyn Equations,
        config: &'a MobilityConfig,
        control: &'a Control,
    ) -> Result<Self> {
        config.validate(equations.basis())?;
        let blocks = equations.blocks();
        if blocks == 1 {
            return Err(Error::input(
                "a standard error needs at least two blocks; divide the record into stretches",
            ));
        }
        let coefficients = equations.basis().len();
        let left_out = (0..blocks).into_par_iter();
        let left_out = left_out.map(|b| equations.restricted(&|k| k != b));
        let mut solver = Self {
            equations,
            config,
            control,
            left_out: left_out.collect::<Result<_>>()?,
            residuals: Vec::new(),
            weights: Array1::ones(equations.observed().len()),
            least: Array1::zeros(0),
            most: Array1::zeros(0),
            coarse: match equations.basis().has_drift() {
                true => equations.coarser()?,
                false => None,
            },
            defect: Array1::zeros(0),
            metric: equations.basis().metric(equations.moments())?,
            target: Array1::zeros(coefficients),
            size: 1.0,
        };
        solver.update_weights(Array1::zeros(coefficients).view())?;
        solver.most = solver.most_errors();
        Ok(solver)
    }

    /// Weigh each equation by the error of its residual at these coefficients.
    pub(super) fn update_weights(&mut self, coefficients: ArrayView1<f64>) -> Result<()> {
        if self.left_out.is_empty() {
            return Ok(());
        }
        self.residuals = self
            .left_out
            .par_iter()
            .map(|part| residual(&**part, coefficients))
            .collect::<Result<_>>()?;
        if let Some(coarse) = &self.coarse {
            self.defect = change_of(&**coarse, self.equations, coefficients)?;
        }
        self.weights = self.weigh(self.residuals.iter());
        Ok(())
    }

    /// Bounds on the errors, from those of the observed values, which are the residuals at zero: coefficients far
    /// from any solution have predictions so uncertain that otherwise they would meet all equations.
    fn most_errors(&self) -> Array1<f64> {
        /// Errors of good fits are of the size of those of the observed values.
        const FACTOR: f64 = 10.0;
        let count = self.weights.len() - self.equations.homogeneous();
        let bound = |(e, weight): (usize, &f64)| match FACTOR / weight {
            most if e < count && most > 0.0 => most,
            _ => f64::INFINITY,
        };
        self.weights.iter().enumerate().map(bound).collect()
    }

    /// The inverse errors of these residuals, those of homogeneous equations no larger than near the solution.
    fn weigh<'b>(&self, residuals: impl Iterator<Item = &'b Array1<f64>>) -> Array1<f64> {
        let mut weights = weights(&residuals.collect::<Vec<_>>(), &self.defect);
        for (weight, most) in weights.iter_mut().zip(&self.most) {
            *weight = weight.max(1.0 / most);
        }
        for (weight, least) in weights.iter_mut().zip(&self.least) {
            if *least > 0.0 {
                *weight = weight.min(1.0 / least);
            }
        }
        weights
    }

    /// Bound the errors of homogeneous equations from below by a part of those at `rough`, coefficients near the
    /// solution: at zero they vanish, and equations without errors would hold the search there.
    fn bound_errors(&mut self, rough: ArrayView1<f64>) -> Result<()> {
        /// That part.
        const PART: f64 = 0.3;
        let homogeneous = self.equations.homogeneous();
        self.least = Array1::zeros(0);
        if homogeneous == 0 {
            return Ok(());
        }
        self.update_weights(rough)?;
        let first = self.weights.len() - homogeneous;
        let least = |(e, weight): (usize, &f64)| match (e >= first, PART / weight) {
            (true, least) if least.is_finite() => least,
            _ => 0.0,
        };
        self.least = self.weights.iter().enumerate().map(least).collect();
        Ok(())
    }

    /// The weights that the equations would have without a block.
    fn weights_without(&self, block: usize) -> Array1<f64> {
        if self.residuals.len() < 3 {
            return self.weights.clone();
        }
        let others = (0..self.residuals.len()).filter(|k| *k != block);
        self.weigh(others.map(|k| &self.residuals[k]))
    }

    /// Find the constant mobility Φ, the mean of the prior, and from it a solution under a prior
    /// that lets M vary as much as it is large, beginning with `start` if given; the weights are then those
    /// of its residuals.
    ///
    /// Where the drift is an unknown of its own, Φ is the best Ornstein-Uhlenbeck process, and the search also
    /// begins with the starts of the equations: that process may be far from an oscillator.
    pub(super) fn approach(&mut self, start: Option<Array1<f64>>) -> Result<Array1<f64>> {
        let basis = self.equations.basis();
        let rough = self.rough()?;
        self.bound_errors(rough.view())?;
        // A start that is worse than what the equations suggest, or that misses the equations, may be far from any
        // solution: where a law cannot be stationary, the best drift and diffusion are nearly zero.
        let better = |start: &Array1<f64>| -> Result<bool> {
            let of = |c: &Array1<f64>| self.objective(self.equations, c.view(), 0.0);
            let (of_start, equations) = (of(start)?, self.weights.len() as f64);
            Ok(!(of_start <= MISSED * equations && of_start <= of(&rough)?))
        };
        let astray = match &start {
            Some(start) if basis.has_drift() => better(start)?,
            _ => false,
        };
        let mut constant = rough.clone();
        let constants = basis.constants();
        (0..constant.len())
            .filter(|k| !constants.contains(k))
            .for_each(|k| constant[k] = 0.0);
        let (phi, _) = self.minimise(self.equations, constant, &constants, 0.0)?;
        self.size = linalg::bilinear(phi.view(), self.metric.view(), phi.view());
        if self.size <= 0.0 {
            self.size = 1.0;
        }
        let guessed = self.equations.has_constant_guess();
        if !guessed {
            let own = linalg::bilinear(rough.view(), self.metric.view(), rough.view());
            self.size = self.size.max(own);
        }
        self.target.clone_from(&phi);
        let ridge = if self.left_out.is_empty() { 0.0 } else { 1.0 };
        let near = match &start {
            Some(start) if !astray => start,
            _ => &rough,
        };
        self.update_weights(if basis.has_drift() {
            near.view()
        } else {
            phi.view()
        })?;
        let mut starts = Vec::from_iter(start);
        let unset = starts.is_empty();
        if unset {
            starts.push(phi);
        }
        if !guessed || (unset || astray) && basis.has_drift() {
            starts.push(rough);
        }
        let every = self.every();
        let search = |from: Array1<f64>| -> Result<(f64, Array1<f64>)> {
            let (found, _) = self.minimise(self.equations, from, &every, ridge)?;
            let value = self.objective(self.equations, found.view(), ridge / self.size)?;
            Ok((if value.is_nan() { f64::INFINITY } else { value }, found))
        };
        let found = starts.into_iter().map(search).collect::<Result<Vec<_>>>()?;
        let best = found.into_iter().min_by(|a, b| a.0.total_cmp(&b.0));
        let (_, first) = best.expect("there is a start");
        self.update_weights(first.view())?;
        Ok(first)
    }

    /// The start of least objective: those of the equations, and the best constant D that is the same along
    /// every standardised coordinate. The weights are then those of the first start that has errors.
    ///
    /// Predictions that decay in time say little about a rate that is far off, so that a search which
    /// starts at zero may end in a wrong minimum; where correlations change sign within an interval, the
    /// objective falls for D → ∞, and only the logarithm of the propagator is near the solution.
    fn rough(&mut self) -> Result<Array1<f64>> {
        let mut starts = self.equations.starts();
        let mut finite = Vec::new();
        for start in starts.drain(..) {
            if self
                .equations
                .predict(start.view())?
                .iter()
                .all(|v| v.is_finite())
            {
                finite.push(start);
            }
        }
        if let Some(first) = finite.first() {
            let weights = self.weights.clone();
            self.update_weights(first.view())?;
            if self.weights.iter().any(|w| !w.is_finite()) {
                self.weights = weights;
            }
        }
        finite.push(self.isotropic()?);
        let mut best = (f64::INFINITY, None);
        for start in finite {
            let value = self.objective(self.equations, start.view(), 0.0)?;
            if value < best.0 || best.1.is_none() {
                best = (value, Some(start));
            }
        }
        Ok(best.1.expect("the last start is always there"))
    }

    /// The best constant D that is the same along every standardised coordinate, to a factor of two, in
    /// units of the time scale of the equations.
    fn isotropic(&self) -> Result<Array1<f64>> {
        /// Powers of two between the first trials, and the largest.
        const COARSE: i32 = 4;
        const LARGEST: i32 = 24;
        let diagonal = self.equations.basis().diagonal_constants();
        let unit = 1.0 / self.equations.time_unit();
        let trial = |power: i32| -> Result<(f64, Array1<f64>)> {
            let mut coefficients = Array1::zeros(self.target.len());
            diagonal
                .iter()
                .for_each(|&k| coefficients[k] = unit * f64::from(power).exp2());
            let value = self.objective(self.equations, coefficients.view(), 0.0)?;
            Ok((
                if value.is_nan() { f64::INFINITY } else { value },
                coefficients,
            ))
        };
        let mut best = (f64::INFINITY, Array1::zeros(self.target.len()));
        let mut at = 0;
        let coarse = (-LARGEST..=LARGEST).step_by(COARSE as usize);
        for (power, outcome) in coarse.map(|power| (power, trial(power))) {
            let outcome = outcome?;
            if outcome.0 < best.0 {
                (best, at) = (outcome, power);
            }
        }
        for power in at - COARSE + 1..at + COARSE {
            let outcome = trial(power)?;
            if outcome.0 < best.0 {
                best = outcome;
            }
        }
        Ok(best.1)
    }

    /// All coefficients.
    fn every(&self) -> Vec<usize> {
        (0..self.target.len()).collect()
    }

    /// The weighted residuals and the derivatives of the predictions, and the rows of the mean
    /// constraint.
    fn system(
        &self,
        equations: &dyn Equations,
        coefficients: ArrayView1<f64>,
        weights: &Array1<f64>,
    ) -> Result<(Array1<f64>, Array2<f64>)> {
        let (predicted, jacobian) = equations.linearise(coefficients)?;
        let residual = (&equations.observed() - &predicted) * weights;
        let jacobian = jacobian * weights.view().insert_axis(Axis(1));
        let Some((rest, rows)) = self.mean_rows(equations, coefficients)? else {
            return Ok((residual, jacobian));
        };
        Ok((
            concatenate![Axis(0), residual, rest],
            concatenate![Axis(0), jacobian, rows],
        ))
    }

    /// (Φ − ⟨M⟩)/error and its derivative.
    fn mean_rows(
        &self,
        equations: &dyn Equations,
        coefficients: ArrayView1<f64>,
    ) -> Result<Option<(Array1<f64>, Array2<f64>)>> {
        let Some(mean) = &self.config.mean else {
            return Ok(None);
        };
        let rows = equations.basis().means(equations.moments())?;
        let flat = |a: &Array2<f64>| a.iter().copied().collect::<Array1<f64>>();
        let error = flat(&mean.error);
        if error.len() != rows.nrows() || error.iter().any(|e| e.is_nan() || *e <= 0.0) {
            return Err(Error::input(
                "the mean constraint needs one value and one positive error per entry of M",
            ));
        }
        let rest = (flat(&mean.value) - rows.dot(&coefficients)) / &error;
        Ok(Some((rest, rows / &error.insert_axis(Axis(1)))))
    }

    /// The objective.
    fn objective(
        &self,
        equations: &dyn Equations,
        coefficients: ArrayView1<f64>,
        lambda: f64,
    ) -> Result<f64> {
        let weighted = residual(equations, coefficients)? * &self.weights;
        let mean = self.mean_rows(equations, coefficients)?;
        let mean = mean.map_or(0.0, |(rest, _)| rest.dot(&rest));
        let away = &coefficients - &self.target;
        let prior = linalg::bilinear(away.view(), self.metric.view(), away.view());
        Ok(weighted.dot(&weighted) + mean + lambda * prior)
    }

    /// Normal matrix JᵀJ + λG and gradient Jᵀr − λG(c − c_Φ).
    fn normal(
        &self,
        system: &(Array1<f64>, Array2<f64>),
        coefficients: ArrayView1<f64>,
        lambda: f64,
    ) -> (Array2<f64>, Array1<f64>) {
        let (residual, jacobian) = system;
        let away = &coefficients - &self.target;
        let matrix = linalg::multiply(jacobian.t(), jacobian.view()) + &self.metric * lambda;
        let gradient = jacobian.t().dot(residual) - self.metric.dot(&away) * lambda;
        (matrix, gradient)
    }

    /// The coefficients of least objective, those not in `free` kept, and whether they were reached
    /// within the iterations allowed.
    pub(super) fn minimise(
        &self,
        equations: &dyn Equations,
        start: Array1<f64>,
        free: &[usize],
        ridge: f64,
    ) -> Result<(Array1<f64>, bool)> {
        let lambda = ridge / self.size;
        let mut coefficients = start;
        if free.is_empty() {
            return Ok((coefficients, true));
        }
        let mut value = self.objective(equations, coefficients.view(), lambda)?;
        let mut damping = 1e-3;
        for _ in 0..self.config.iterations {
            self.control.advance(1)?;
            let system = self.system(equations, coefficients.view(), &self.weights)?;
            let (matrix, gradient) = self.normal(&system, coefficients.view(), lambda);
            let mut improved = None;
            while improved.is_none() && damping < 1e12 {
                let step = damped_step(&matrix, &gradient, free, damping)?;
                let trial = &coefficients + &step;
                let next = self.objective(equations, trial.view(), lambda)?;
                if next <= value {
                    improved = Some((trial, next));
                    damping = (damping * 0.1).max(1e-15);
                } else {
                    damping *= 10.0;
                }
            }
            let Some((trial, next)) = improved else {
                return Ok((coefficients, true));
            };
            let gain = value - next;
            (coefficients, value) = (trial, next);
            if gain <= CONVERGED * value {
                return Ok((coefficients, true));
            }
        }
        Ok((coefficients, false))
    }

    /// The coefficients of least objective, those that fall below their floors held there.
    fn minimise_above_floors(&self, start: Array1<f64>, ridge: f64) -> Result<(Array1<f64>, bool)> {
        let labels = self.equations.basis().labels();
        let floor = |label: &str| self.config.floors.get(label).copied();
        let floors: Vec<f64> = labels
            .map(|label| floor(label).unwrap_or(f64::NEG_INFINITY))
            .collect();
        let mut free = self.every();
        let mut from = start;
        loop {
            let (mut coefficients, converged) =
                self.minimise(self.equations, from, &free, ridge)?;
            let before = free.len();
            free.retain(|&k| coefficients[k] >= floors[k]);
            if free.len() == before {
                return Ok((coefficients, converged));
            }
            for (c, floor) in coefficients.iter_mut().zip(&floors) {
                *c = c.max(*floor);
            }
            from = coefficients;
        }
    }

    /// The normal matrix at these coefficients, and the Gauss-Newton step from them.
    pub(super) fn quadratic(
        &self,
        from: ArrayView1<f64>,
        ridge: f64,
    ) -> Result<(Array2<f64>, Array1<f64>)> {
        let system = self.system(self.equations, from, &self.weights)?;
        let (matrix, gradient) = self.normal(&system, from, ridge / self.size);
        let step = damped_step(&matrix, &gradient, &self.every(), 0.0)?;
        Ok((matrix, step))
    }

    /// χ² per equation.
    pub(super) fn chi2(&self, coefficients: ArrayView1<f64>) -> Result<f64> {
        Ok(mean_square(
            &(residual(self.equations, coefficients)? * &self.weights),
        ))
    }

    /// One Gauss-Newton step from these coefficients to those without a block, whose equations and
    /// weights are those of the other blocks.
    fn step_without(&self, block: usize, from: ArrayView1<f64>, ridge: f64) -> Result<Array1<f64>> {
        let weights = self.weights_without(block);
        let system = self.system(&*self.left_out[block], from, &weights)?;
        let (matrix, gradient) = self.normal(&system, from, ridge / self.size);
        Ok(&from + &damped_step(&matrix, &gradient, &self.every(), 0.0)?)
    }

    /// Gauss-Newton steps of further unknowns beside the coefficients, from all blocks and without each;
    /// `slopes` are the derivatives of observed − predicted along them, (equation, unknown). The prior
    /// lets M vary as much as it is large.
    pub(super) fn joint_steps(
        &self,
        from: ArrayView1<f64>,
        slopes: &Array2<f64>,
    ) -> Result<(Array1<f64>, Vec<Array1<f64>>)> {
        let weigh = |rows: &Array2<f64>| rows * &self.weights.view().insert_axis(Axis(1));
        let (_, jacobian) = self.equations.linearise(from)?;
        let design = concatenate![Axis(1), weigh(&jacobian), weigh(slopes) * -1.0];
        let (known, all) = (from.len(), design.ncols());
        let mut matrix = linalg::multiply(design.t(), design.view());
        let mut block = matrix.slice_mut(s![..known, ..known]);
        block.scaled_add(1.0 / self.size, &self.metric);
        let away = self.metric.dot(&(&from - &self.target)) / self.size;
        let every: Vec<usize> = (0..all).collect();
        let step = |equations: &dyn Equations| -> Result<Array1<f64>> {
            let weighted = residual(equations, from)? * &self.weights;
            let mut gradient = design.t().dot(&weighted);
            let mut part = gradient.slice_mut(s![..known]);
            part -= &away;
            let step = damped_step(&matrix, &gradient, &every, 0.0)?;
            Ok(step.slice(s![known..]).to_owned())
        };
        let left_out = self.left_out.par_iter().map(|part| step(&**part));
        Ok((step(self.equations)?, left_out.collect::<Result<_>>()?))
    }

    /// Held-out χ² per equation of every ridge: fitted without a fold, tested on it.
    pub(super) fn cross_validate(&self, from: ArrayView1<f64>) -> Result<Vec<RidgeTrial>> {
        let folds = self.config.folds.min(self.left_out.len());
        if folds < 2 {
            return Ok(Vec::new());
        }
        let every = self.every();
        let losses = (0..folds)
            .into_par_iter()
            .map(|fold| {
                let train = self.equations.restricted(&|k| k % folds != fold)?;
                let test = self.equations.restricted(&|k| k % folds == fold)?;
                let system = self.system(&*train, from, &self.weights)?;
                let loss = |ridge: &f64| {
                    let (matrix, gradient) = self.normal(&system, from, ridge / self.size);
                    let trial = &from + &damped_step(&matrix, &gradient, &every, 0.0)?;
                    Ok(mean_square(
                        &(residual(&*test, trial.view())? * &self.weights),
                    ))
                };
                self.control.advance(1)?;
                self.config.ridges.iter().map(loss).collect()
            })
            .collect::<Result<Vec<Vec<f64>>>>()?;
        let trial = |(k, ridge): (usize, &f64)| {
            let folds: Vec<f64> = losses.iter().map(|fold| fold[k]).collect();
            RidgeTrial {
                ridge: *ridge,
                loss: folds.iter().sum::<f64>() / folds.len() as f64,
                folds,
            }
        };
        Ok(self.config.ridges.iter().enumerate().map(trial).collect())
    }

    /// The solution with the ridge of least held-out χ², its errors and diagnostics.
    pub(super) fn finish(&self, from: Array1<f64>, trials: Vec<RidgeTrial>) -> Result<MobilityFit> {
        let ridge = best(&trials).map_or(0.0, |trial| trial.ridge);
        let (coefficients, converged) = self.minimise_above_floors(from, ridge)?;
        let (residual, jacobian) =
            self.system(self.equations, coefficients.view(), &self.weights)?;
        let fitted = residual.slice(s![..self.weights.len()]).to_owned();
        if fitted.iter().any(|r| !r.is_finite()) {
            return Err(Error::numerical(
                "the fitted mobility predicts growing correlations: its diffusion is negative at some \
                 samples; lower the degree of the mobility",
            ));
        }
        let refits = self.refits(coefficients.view(), ridge)?;
        let jackknife = Jackknife {
            deviations: match refits.is_empty() {
                true => Array2::zeros((0, coefficients.len())),
                false => deviations(&refits),
            },
            values: coefficients.clone(),
        };
        let ids = self.equations.block_ids();
        let mobility = LinearMobility::new(self.equations.basis().clone(), coefficients.clone())?
            .with_errors(CoefficientErrors::new(&ids, &jackknife.deviations));
        let moments: Vec<_> = self.left_out.iter().map(|part| part.moments()).collect();
        let basis = self.equations.basis();
        let errors = printed_errors(basis, coefficients.view(), &jackknife.deviations, &moments)?;
        let coarse = self.equations.coarser()?;
        let closure = coarse
            .as_deref()
            .map(|coarse| self.closure(coarse, coefficients.view()));
        let closure = closure.transpose()?;
        let (singular_values, identifiability) = Identifiability::new(&Evidence {
            equations: self.equations,
            coarse: coarse.as_deref(),
            left_out: &self.left_out,
            refits: &refits,
            jackknife: &jackknife,
            jacobian: jacobian.view(),
            metric: self.metric.view(),
            size: self.size.sqrt(),
        })?;
        let unclosed = closure.filter(|c| *c > 1.0).map(|closure| {
            format!(
                "a Galerkin space of one degree less changes the predictions by {closure:.1} x their \
                 standard errors; raise its degree"
            )
        });
        let unfinished = (!converged).then(|| {
            format!(
                "the fit did not converge in {} Gauss-Newton steps; allow more iterations, or lower \
                 the degree of the mobility",
                self.config.iterations
            )
        });
        let warnings = [identifiability.warning(), unclosed, unfinished];
        Ok(MobilityFit {
            jackknife,
            errors,
            chi2_per_equation: mean_square(&fitted),
            condition: singular_values[0] / singular_values[singular_values.len() - 1],
            effective_rank: identifiability.fixed(),
            ridge,
            trials,
            rungs: Vec::new(),
            positivity: None,
            closure,
            spectrum: self.equations.spectrum(coefficients.view())?,
            warnings: warnings.into_iter().flatten().collect(),
            singular_values,
            identifiability,
            mobility,
        })
    }

    /// Rms change of the predictions under a coarser closure, in units of their errors.
    fn closure(&self, coarse: &dyn Equations, coefficients: ArrayView1<f64>) -> Result<f64> {
        let change = change_of(coarse, self.equations, coefficients)?;
        Ok(mean_square(&(change * &self.weights)).sqrt())
    }

    /// The solutions without each block, one Gauss-Newton step away. With a drift of its own, whose equations
    /// are expensive to differentiate, the derivatives are those of all blocks: exact to first order.
    fn refits(&self, from: ArrayView1<f64>, ridge: f64) -> Result<Vec<Array1<f64>>> {
        if self.equations.basis().has_drift() {
            return self.refits_nearby(from, ridge);
        }
        let blocks = (0..self.left_out.len()).into_par_iter();
        blocks.map(|b| self.step_without(b, from, ridge)).collect()
    }

    /// The solutions without each block to first order, with the derivatives and the weights of all blocks.
    pub(super) fn refits_nearby(
        &self,
        from: ArrayView1<f64>,
        ridge: f64,
    ) -> Result<Vec<Array1<f64>>> {
        let lambda = ridge / self.size;
        let (_, jacobian) = self.equations.linearise(from)?;
        let jacobian = jacobian * self.weights.view().insert_axis(Axis(1));
        let step = |b: usize| {
            let weighted = residual(&*self.left_out[b], from)? * &self.weights;
            let (matrix, gradient) = self.normal(&(weighted, jacobian.clone()), from, lambda);
            Ok(&from + &damped_step(&matrix, &gradient, &self.every(), 0.0)?)
        };
        (0..self.left_out.len()).into_par_iter().map(step).collect()
    }
}

/// The ridge of least held-out χ².
pub(super) fn best(trials: &[RidgeTrial]) -> Option<&RidgeTrial> {
    trials.iter().min_by(|a, b| a.loss.total_cmp(&b.loss))
}

/// What a coarser space changes in the predictions. It has fewer functions to be stationary under, whose
/// equations are the last.
fn change_of(
    coarse: &dyn Equations,
    fine: &dyn Equations,
    coefficients: ArrayView1<f64>,
) -> Result<Array1<f64>> {
    let (coarse, mut change) = (coarse.predict(coefficients)?, fine.predict(coefficients)?);
    change.slice_mut(s![coarse.len()..]).fill(0.0);
    let mut both = change.slice_mut(s![..coarse.len()]);
    both -= &coarse;
    Ok(change)
}

/// The inverse standard errors of equations, from their residuals without each block and, in quadrature, the
/// defect of the closure where it is given.
fn weights(left_out: &[&Array1<f64>], defect: &Array1<f64>) -> Array1<f64> {
    let mut errors =
        deviations(left_out.iter().copied()).map_axis(Axis(0), |column| column.dot(&column).sqrt());
    if defect.iter().all(|d| d.is_finite()) {
        for (error, defect) in errors.iter_mut().zip(defect) {
            *error = error.hypot(*defect);
        }
    }
    // An equation that holds identically has no error but rounding.
    let floor = NEGLIGIBLE * errors.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    errors.mapv(|error| 1.0 / error.max(floor))
}

fn mean_square(values: &Array1<f64>) -> f64 {
    values.dot(values) / values.len() as f64
}

/// Observed − predicted.
pub(super) fn residual(
    equations: &dyn Equations,
    coefficients: ArrayView1<f64>,
) -> Result<Array1<f64>> {
    Ok(&equations.observed() - &equations.predict(coefficients)?)
}

/// The step of the free coefficients, in units where the diagonal of the normal matrix is 1 + damping;
/// directions that the equations do not see are left alone.
fn damped_step(
    matrix: &Array2<f64>,
    gradient: &Array1<f64>,
    free: &[usize],
    damping: f64,
) -> Result<Array1<f64>> {
    let diagonal = |k: usize| matrix[[k, k]].max(f64::MIN_POSITIVE).sqrt();
    let n = free.len();
    let scaled = Array2::from_shape_fn((n, n), |(a, b)| {
        matrix[[free[a], free[b]]] / (diagonal(free[a]) * diagonal(free[b]))
    });
    let (values, vectors) = linalg::symmetric_eigen(scaled.view())?;
    let right: Array1<f64> = free.iter().map(|&k| gradient[k] / diagonal(k)).collect();
    let mut projected = vectors.t().dot(&right);
    for (p, value) in projected.iter_mut().zip(&values) {
        let seen = *value > 1e-14 * values[n - 1];
        *p = if seen { *p / (value + damping) } else { 0.0 };
    }
    let solution = vectors.dot(&projected);
    let mut step = Array1::zeros(gradient.len());
    for (a, &k) in free.iter().enumerate() {
        step[k] = solution[a] / diagonal(k);
    }
    Ok(step)
}
