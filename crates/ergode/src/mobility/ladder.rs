//! Degrees of D and R chosen by held-out blocks.

use std::collections::HashMap;

use ndarray::{Array1, Axis};
use serde::{Deserialize, Serialize};

use super::config::MobilityConfig;
use super::equations::Equations;
use super::fit::{Solver, best, fit_mobility_from};
use super::result::{MobilityFit, Rung};
use crate::control::Control;
use crate::error::{Error, Result};
use crate::lagged::{deviations, paired};
use crate::linalg;
use crate::stats::fisher_score;

/// The configuration of the degree ladder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LadderConfig {
    /// Highest degree of D.
    pub diffusion_degree: usize,
    /// Highest degree of R, or of the drift where it is an unknown of its own.
    pub current_degree: usize,
    /// Degrees that the ladder begins with.
    pub lowest: (usize, usize),
    /// Most tensor fields.
    pub fields: usize,
    /// Standard errors that an improvement must exceed.
    pub caution: f64,
    /// Take coefficients that are significant though held-out blocks hardly show it.
    pub significance: bool,
    /// The configuration of the fit of each rung.
    pub fit: MobilityConfig,
}

impl Default for LadderConfig {
    fn default() -> Self {
        Self {
            diffusion_degree: 6,
            current_degree: 7,
            lowest: (0, 0),
            fields: 200,
            caution: 2.0,
            significance: true,
            fit: MobilityConfig::default(),
        }
    }
}

/// Fit with the degrees of D and R, or of D and b, raised by one or two while the new coefficients c matter.
///
/// They do where cᵀ S⁻¹ c, S their covariance over the B blocks, is larger than chance would make it (Hotelling's test: (B − k)/(k (B − 1)) cᵀ S⁻¹ c has an F distribution with k and B − k
/// degrees of freedom) and the held-out χ² falls. Where they are too many for a covariance, the held-out χ² must fall
/// by more than `caution` times the error of the difference. Both degrees are raised together where neither does it alone: a linear drift
/// makes no double well, and a double well with a constant D may be no better.
///
/// `equations(d, r)` writes the equations for D of degree d and R of degree r; they must be the same
/// observed numbers for all degrees. The rungs are kept in the result.
///
/// # Errors
/// When no degrees can be fitted, or the work is stopped.
pub fn fit_mobility_ladder(
    equations: &dyn Fn(usize, usize) -> Result<Box<dyn Equations>>,
    config: &LadderConfig,
    control: &Control,
) -> Result<MobilityFit> {
    let lowest = config.lowest;
    let bottom = equations(lowest.0, lowest.1)?;
    if bottom.blocks() < 2 {
        return Err(Error::input(
            "held-out blocks choose the degrees, but there are no blocks; give the degrees, or divide \
             the record into stretches",
        ));
    }
    let stand =
        |degrees: (usize, usize),
         equations: &dyn Equations,
         below: Option<&Standing>,
         own: bool| { Standing::new(degrees, equations, below, own, &config.fit, control) };
    let mut at = stand(lowest, &*bottom, None, true)?;
    let mut chosen = bottom;
    let mut rungs = vec![at.rung(0.0, 0.0, true)];
    loop {
        let (d, r) = at.degrees;
        let mut next: Option<(f64, usize, Box<dyn Equations>)> = None;
        let alone = [(d + 1, r), (d + 2, r), (d, r + 1), (d, r + 2)];
        for (d, r) in alone.into_iter().chain([(d + 2, r + 2)]) {
            let both = d > at.degrees.0 && r > at.degrees.1;
            if d > config.diffusion_degree || r > config.current_degree || both && next.is_some() {
                continue;
            }
            let candidate = equations(d, r)?;
            let fields = candidate.basis().len();
            let most = config.fields.min(candidate.observed().len());
            if fields == chosen.basis().len() || fields > most {
                continue;
            }
            let standing = stand((d, r), &*candidate, Some(&at), false)?;
            let (improvement, error) = paired(&at.losses, &standing.losses);
            rungs.push(standing.rung(improvement, error, false));
            let worth = match standing.evidence {
                Some(z) if config.significance && improvement > 0.0 => z / LEAST_SCORE,
                _ => improvement / (config.caution * error),
            };
            if worth > next.as_ref().map_or(1.0, |(best, ..)| *best) {
                next = Some((worth, rungs.len() - 1, candidate));
            }
        }
        let Some((_, rung, equations)) = next else {
            break;
        };
        rungs[rung].taken = true;
        let degrees = (rungs[rung].diffusion_degree, rungs[rung].current_degree);
        at = stand(degrees, &*equations, Some(&at), true)?;
        chosen = equations;
    }
    // With a drift of its own the search may end far from here where it begins anew: at a start that is far off a
    // coarser space changes the predictions so much that the errors swallow the equations.
    let start = chosen.basis().has_drift().then(|| at.start(&*chosen));
    let mut fit = fit_mobility_from(start, &*chosen, &config.fit, control)?;
    fit.rungs = rungs;
    Ok(fit)
}

/// The least normal score of new coefficients that matter. Leaving out what is there biases fields without widening
/// their errors, taking in what is not only widens them: chance may reach it in one of forty cases.
const LEAST_SCORE: f64 = 2.0;
/// Coefficients per block up to which their covariance is known.
const MOST_PER_BLOCK: f64 = 1.0 / 3.0;

/// A pair of degrees with its solution and held-out losses.
struct Standing {
    degrees: (usize, usize),
    coefficients: HashMap<String, f64>,
    losses: Vec<f64>,
    weights: Array1<f64>,
    /// The normal score of the coefficients that the rung below has not, where blocks can tell.
    evidence: Option<f64>,
}

impl Standing {
    /// Fit, starting from the rung below, and test in units of its own errors or of those below.
    fn new(
        degrees: (usize, usize),
        equations: &dyn Equations,
        below: Option<&Self>,
        own: bool,
        config: &MobilityConfig,
        control: &Control,
    ) -> Result<Self> {
        let mut solver = Solver::new(equations, config, control)?;
        let labels = || equations.basis().labels();
        let start = below.map(|below| below.start(equations));
        let first = solver.approach(start)?;
        if let Some(below) = below.filter(|_| !own) {
            solver.weights.clone_from(&below.weights);
        }
        let trials = solver.cross_validate(first.view())?;
        let evidence = match below {
            Some(below) => {
                let new = labels().enumerate();
                let new = new.filter(|(_, label)| !below.coefficients.contains_key(*label));
                let new: Vec<usize> = new.map(|(k, _)| k).collect();
                evidence(&first, &solver.refits_nearby(first.view(), 1.0)?, &new)
            }
            None => None,
        };
        Ok(Self {
            degrees,
            evidence,
            losses: best(&trials).map_or_else(Vec::new, |trial| trial.folds.clone()),
            coefficients: labels().map(str::to_owned).zip(first).collect(),
            weights: solver.weights,
        })
    }

    /// The coefficients, zero where they are not known.
    fn start(&self, equations: &dyn Equations) -> Array1<f64> {
        let known = |label| self.coefficients.get(label).copied().unwrap_or(0.0);
        equations.basis().labels().map(known).collect()
    }

    fn rung(&self, improvement: f64, improvement_error: f64, taken: bool) -> Rung {
        Rung {
            diffusion_degree: self.degrees.0,
            current_degree: self.degrees.1,
            loss: self.losses.iter().sum::<f64>() / self.losses.len() as f64,
            improvement,
            improvement_error,
            taken,
        }
    }
}

/// The normal score of cᵀ S⁻¹ c for the coefficients with these numbers, S from the solutions without each block.
fn evidence(coefficients: &Array1<f64>, refits: &[Array1<f64>], chosen: &[usize]) -> Option<f64> {
    let (blocks, k) = (refits.len() as f64, chosen.len() as f64);
    if chosen.is_empty() || k > MOST_PER_BLOCK * blocks {
        return None;
    }
    let deviations = deviations(refits).select(Axis(1), chosen);
    let errors = deviations.map_axis(Axis(0), |column| column.dot(&column).sqrt());
    if errors.iter().any(|e| !(e.is_finite() && *e > 0.0)) {
        return None;
    }
    let scaled = &deviations / &errors;
    let (values, vectors) = linalg::symmetric_eigen(scaled.t().dot(&scaled).view()).ok()?;
    let z: Array1<f64> = chosen.iter().map(|k| coefficients[*k]).collect();
    let along = vectors.t().dot(&(z / errors));
    // Directions that no block moves say nothing.
    let seen = values.iter().zip(&along).filter(|(v, _)| **v > 1e-10);
    let square: f64 = seen.map(|(v, a)| a * a / v).sum();
    let ratio = square * (blocks - k) / (k * (blocks - 1.0));
    Some(fisher_score(ratio, k, blocks - k))
}
