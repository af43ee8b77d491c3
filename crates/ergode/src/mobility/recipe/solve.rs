//! The mobility that the sums of a plan give.

use std::sync::Arc;

use ndarray::Array2;

use super::config::{Recipe, RecipeConfig};
use super::definite::{between_observed, positive};
use super::plan::Plan;
use super::spaces::CURRENT_DEGREE;
use crate::control::Control;
use crate::data::Ensemble;
use crate::error::Result;
use crate::limits;
use crate::mobility::basis::TensorBasis;
use crate::mobility::closure::Yardstick;
use crate::mobility::currents::with_currents;
use crate::mobility::drift;
use crate::mobility::equations::Equations;
use crate::mobility::fit::{fit_mobility, solve_near};
use crate::mobility::ladder::{LadderConfig, fit_mobility_ladder};
use crate::mobility::moments::PolynomialSums;
use crate::mobility::result::MobilityFit;
use crate::mobility::semigroup::{Ends, Semigroup};
use crate::mobility::terms::{TermChoice, basis_of_terms, in_basis, select_terms};
use crate::mobility::walls;
use crate::mobility::weak::Weak;

/// A fit, ⟨M⟩, and the terms that were chosen, if any.
pub(super) struct Solved {
    pub(super) fit: MobilityFit,
    pub(super) mean: Array2<f64>,
    pub(super) terms: Option<TermChoice>,
}

impl Plan {
    /// The mobility that the sums give, and its mean.
    pub(super) fn solve(
        &self,
        sums: &Arc<PolynomialSums>,
        ensemble: &Ensemble,
        top: (usize, usize),
        config: &RecipeConfig,
        control: &Control,
    ) -> Result<Solved> {
        let ends = match config.leading {
            Some(leading) => Ends::LaterLeading(leading),
            None => Ends::All,
        };
        if config.sparse || !config.library.is_empty() {
            return self.solve_terms(sums, ensemble, top, config, control);
        }
        let first = self.climb(sums, ensemble, (top, ends), config, control)?;
        let smaller = match self.recipe == Recipe::Generator && config.degrees.is_none() {
            true => self.smaller_space(&first, (sums, ends), config, control)?,
            false => None,
        };
        let (plan, fit) = match &smaller {
            Some(plan) => (
                plan,
                plan.climb(sums, ensemble, (top, ends), config, control)?,
            ),
            None => (self, first),
        };
        let equations = |d: usize, r: usize| plan.equations(sums, d, r, ends);
        let fit = match ensemble.has_walls() {
            true => walls::vanishing(fit, ensemble)?,
            false => fit,
        };
        let mut fit = positive(fit, &equations, ensemble, config, top, control)?;
        let raised = fit.positivity.is_some() || fit.mobility.psd_violation(ensemble) > 0.0;
        if let (Some(leading), true) = (config.leading, raised) {
            let both = Ends::BothLeading(leading);
            let leading = |d: usize, r: usize| plan.equations(sums, d, r, both);
            fit = between_observed(fit, &leading, ensemble, config, top, control)?;
        }
        // In more coordinates a score may have functions of higher degree than the moments give a drift.
        let rich = ensemble.dim() <= limits::DRIFT_FROM_MOMENTS;
        let plain = rich && sums.charted().is_none() && config.leading.is_none();
        let known = ensemble.has_walls() || plain;
        if self.recipe == Recipe::Semigroup && known && !ensemble.has_circles() {
            fit = drift::with_drift(fit, sums, ensemble, self.spaces.drift_degree)?;
        }
        plan.finish(fit, None, sums)
    }

    /// The fit at the degrees that are given, or that held-out blocks choose.
    fn climb(
        &self,
        sums: &Arc<PolynomialSums>,
        ensemble: &Ensemble,
        (top, ends): ((usize, usize), Ends),
        config: &RecipeConfig,
        control: &Control,
    ) -> Result<MobilityFit> {
        let equations = |d: usize, r: usize| self.equations(sums, d, r, ends);
        match config.degrees {
            Some((d, r)) => fit_mobility(&*equations(d, r)?, &config.fit(), control),
            None => {
                let ladder = LadderConfig {
                    // A high power of D is free where samples end at a wall that reflects.
                    significance: !ensemble.has_walls(),
                    ..config.ladder(self.lowest(sums, ensemble, top), top)
                };
                fit_mobility_ladder(&equations, &ladder, control)
            }
        }
    }

    /// The same plan in the smaller Galerkin space in which these coefficients, adapted to it, fit best; none where
    /// no smaller one is better.
    fn smaller_space(
        &self,
        fit: &MobilityFit,
        (sums, ends): (&Arc<PolynomialSums>, Ends),
        config: &RecipeConfig,
        control: &Control,
    ) -> Result<Option<Self>> {
        /// χ² relative to the least one, beyond which still smaller spaces are not tried.
        const WORSE: f64 = 2.0;
        let Some((d, r)) = fit.degrees() else {
            return Ok(None);
        };
        let whole = self.equations(sums, d, r, ends)?;
        let at = fit.mobility.coefficients();
        let yardstick = Yardstick::new(&*whole, at)?;
        let mut least = yardstick.chi2(&*whole, at)?;
        let space = self.spaces.generator;
        let mut chosen = None;
        for degree in (space.test_degree..space.degree).rev() {
            let mut plan = self.clone();
            plan.spaces.generator.degree = degree;
            let equations = plan.equations(sums, d, r, ends)?;
            let found = solve_near(at.to_owned(), &*equations, &config.fit(), control)?;
            let chi2 = yardstick.chi2(&*equations, found.view())?;
            if chi2 < least {
                (least, chosen) = (chi2, Some(plan));
            }
            if chi2.is_nan() || chi2 >= WORSE * least {
                break;
            }
        }
        Ok(chosen)
    }

    /// A fit with R beside b and D, and its mean.
    fn finish(
        &self,
        mut fit: MobilityFit,
        terms: Option<TermChoice>,
        sums: &Arc<PolynomialSums>,
    ) -> Result<Solved> {
        if self.recipe == Recipe::Generator {
            let degree = CURRENT_DEGREE.min(self.spaces.top.1);
            fit = with_currents(fit, sums, &self.spaces.generator, degree)?;
        }
        let blocks: Vec<usize> = (0..sums.blocks()).collect();
        let mean = fit.mobility.mean(&sums.expectations(&blocks).moments)?;
        Ok(Solved { fit, mean, terms })
    }

    /// Drift and diffusion in terms of the record's units: those that are given, or all up to degrees that
    /// held-out blocks choose, and of these the significant ones if only they are wanted.
    fn solve_terms(
        &self,
        sums: &Arc<PolynomialSums>,
        ensemble: &Ensemble,
        top: (usize, usize),
        config: &RecipeConfig,
        control: &Control,
    ) -> Result<Solved> {
        let library = &config.library;
        let basis =
            |d: usize, r: usize| basis_of_terms(sums.names(), sums.standardiser(), library, (d, r));
        let space = &self.spaces.generator;
        let within = |basis: &TensorBasis| -> Result<Box<dyn Equations>> {
            Ok(Box::new(Semigroup::new(sums, basis, space)?))
        };
        let equations = |d: usize, r: usize| within(&basis(d, r)?);
        // A part whose terms are given has no degree to choose.
        let open = self.lowest(sums, ensemble, top);
        let lowest = (
            if library.diffusion.is_empty() {
                open.0
            } else {
                top.0
            },
            if library.drift.is_empty() {
                open.1
            } else {
                top.1
            },
        );
        let fit = match config.degrees {
            None if lowest != top => {
                fit_mobility_ladder(&equations, &config.ladder(lowest, top), control)?
            }
            _ => fit_mobility(&*equations(top.0, top.1)?, &config.fit(), control)?,
        };
        let (mut fit, terms) = if config.sparse {
            let (d, r) = fit.degrees().unwrap_or(top);
            let all = basis(d, r)?;
            let (mut some, terms) =
                select_terms(in_basis(&fit, &all), &within, &all, &config.fit(), control)?;
            some.rungs = fit.rungs;
            (some, Some(terms))
        } else {
            (fit, None)
        };
        let violation = fit.mobility.psd_violation(ensemble);
        if violation > 0.0 {
            fit.warnings.push(format!(
                "D is indefinite at {:.2} % of the samples; give other terms of the diffusion \
                 (diffusion.terms), or leave them open",
                100.0 * violation
            ));
        }
        self.finish(fit, terms, sums)
    }

    /// The degrees that a ladder begins with: constant D and R, or constant D and a linear drift; a quadratic D
    /// between the walls of one coordinate, at which it may vanish, and with charts, because a constant one may be
    /// infinitely fast where a chart is steep; the first waves in D of one angle, which sampled coarsely are seen in
    /// few equations, so that held-out blocks miss them.
    fn lowest(
        &self,
        sums: &PolynomialSums,
        ensemble: &Ensemble,
        top: (usize, usize),
    ) -> (usize, usize) {
        let walls = ensemble.dim() == 1 && ensemble.has_walls();
        let angle = ensemble.dim() == 1 && ensemble.has_circles();
        let tensor = match walls || sums.charted().is_some() {
            true => top.0.min(2),
            false => top.0.min(usize::from(angle)),
        };
        match self.recipe {
            Recipe::Generator => (tensor, 1),
            _ => (tensor, 0),
        }
    }

    fn equations(
        &self,
        sums: &Arc<PolynomialSums>,
        d: usize,
        r: usize,
        ends: Ends,
    ) -> Result<Box<dyn Equations>> {
        if self.recipe == Recipe::Generator {
            let basis = TensorBasis::generator(sums.names(), sums.standardiser(), d, r)?;
            let space = &self.spaces.generator;
            return Ok(Box::new(Semigroup::between(sums, &basis, space, ends)?));
        }
        let mask = self.mask.as_ref();
        let basis = TensorBasis::polynomial(sums.names(), sums.standardiser(), d, r, mask)?;
        Ok(match self.recipe {
            Recipe::Weak => Box::new(Weak::new(sums, &basis, &self.spaces.weak)?),
            _ => Box::new(Semigroup::between(
                sums,
                &basis,
                &self.spaces.semigroup,
                ends,
            )?),
        })
    }
}
