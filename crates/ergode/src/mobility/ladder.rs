//! Degrees of D and R chosen by held-out blocks.

use std::collections::HashMap;

use ndarray::Array1;
use serde::{Deserialize, Serialize};

use super::config::MobilityConfig;
use super::equations::Equations;
use super::fit::{Solver, best, fit_mobility};
use super::result::{MobilityFit, Rung};
use crate::control::Control;
use crate::error::{Error, Result};
use crate::lagged::paired;

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
    /// The configuration of the fit of each rung.
    pub fit: MobilityConfig,
}

impl Default for LadderConfig {
    fn default() -> Self {
        Self {
            diffusion_degree: 4,
            current_degree: 6,
            lowest: (0, 0),
            fields: 200,
            caution: 2.0,
            fit: MobilityConfig::default(),
        }
    }
}

/// Fit with the degrees of D and R, or of D and b, raised, one at a time and by one or two, while the held-out χ² falls
/// by more than `caution` times the error of the difference.
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
        let mut next: Option<(usize, Box<dyn Equations>)> = None;
        for (d, r) in [(d + 1, r), (d + 2, r), (d, r + 1), (d, r + 2)] {
            if d > config.diffusion_degree || r > config.current_degree {
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
            let beaten = next.as_ref().map_or(0.0, |(k, _)| rungs[*k].improvement);
            if improvement > config.caution * error && improvement > beaten {
                next = Some((rungs.len() - 1, candidate));
            }
        }
        let Some((rung, equations)) = next else {
            break;
        };
        rungs[rung].taken = true;
        let degrees = (rungs[rung].diffusion_degree, rungs[rung].current_degree);
        at = stand(degrees, &*equations, Some(&at), true)?;
        chosen = equations;
    }
    let mut fit = fit_mobility(&*chosen, &config.fit, control)?;
    fit.rungs = rungs;
    Ok(fit)
}

/// A pair of degrees with its solution and held-out losses.
struct Standing {
    degrees: (usize, usize),
    coefficients: HashMap<String, f64>,
    losses: Vec<f64>,
    weights: Array1<f64>,
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
        let start = below.map(|below| {
            let known = |label| below.coefficients.get(label).copied().unwrap_or(0.0);
            labels().map(known).collect()
        });
        let first = solver.approach(start)?;
        if let Some(below) = below.filter(|_| !own) {
            solver.weights.clone_from(&below.weights);
        }
        let trials = solver.cross_validate(first.view())?;
        Ok(Self {
            degrees,
            losses: best(&trials).map_or_else(Vec::new, |trial| trial.folds.clone()),
            coefficients: labels().map(str::to_owned).zip(first).collect(),
            weights: solver.weights,
        })
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
