//! D made positive where the fit leaves it indefinite.

use super::config::RecipeConfig;
use crate::control::Control;
use crate::data::Ensemble;
use crate::error::Result;
use crate::mobility::equations::Equations;
use crate::mobility::fit::{fit_mobility, fit_mobility_from};
use crate::mobility::positive::{refine_positive, tail_violation};
use crate::mobility::result::MobilityFit;
use crate::mobility::walls;

/// The fit with D positive; an odd degree of D is raised by one first, if it may be. Between walls D need not be
/// positive beyond them, and may be zero at them.
pub(super) fn positive(
    fit: MobilityFit,
    equations: &dyn Fn(usize, usize) -> Result<Box<dyn Equations>>,
    ensemble: &Ensemble,
    config: &RecipeConfig,
    top: (usize, usize),
    control: &Control,
) -> Result<MobilityFit> {
    if fit.chi2_per_equation > config.positive_up_to {
        return Ok(fit);
    }
    if ensemble.has_walls() && walls::positive_between(&fit.mobility, ensemble)? {
        return Ok(fit);
    }
    let inside = fit.mobility.psd_violation(ensemble) == 0.0;
    if inside && tail_violation(&fit.mobility, ensemble) == 0.0 {
        return Ok(fit);
    }
    let (d, r) = fit.degrees().unwrap_or(top);
    let even = d.next_multiple_of(2);
    if inside && (even != d || config.mask.is_some()) {
        // A linear D is negative far away whatever the data; there the model is not evaluated.
        return Ok(fit);
    }
    if even > top.0.next_multiple_of(2) || (even != d && config.degrees.is_some()) {
        let mut fit = fit;
        fit.warnings.push(format!(
            "D of degree {d} is indefinite at some samples, and only an even degree can be made \
             positive; choose another degree before the model is simulated"
        ));
        return Ok(fit);
    }
    let equations = equations(even, r)?;
    let fit = if even == d {
        fit
    } else {
        let mut raised = fit_mobility(&*equations, &config.fit(), control)?;
        raised.rungs = fit.rungs;
        raised
    };
    refine_positive(fit, &*equations, ensemble, &config.fit(), control)
}

/// The fit to correlations among observed coordinates alone, from one whose D had to be made positive.
///
/// With delays the stationary law of (x, x_τ) and the correlations of x(t) with x_τ(0) together ask for a D
/// that is not positive: x_τ carries information on the hidden state, but not all that the past carries.
/// Among the observed coordinates the correlations of any hidden Markov state can be reproduced, with any law
/// of the other coordinates. They do not distinguish R from −R; the initial fit does.
pub(super) fn between_observed(
    fit: MobilityFit,
    equations: &dyn Fn(usize, usize) -> Result<Box<dyn Equations>>,
    ensemble: &Ensemble,
    config: &RecipeConfig,
    top: (usize, usize),
    control: &Control,
) -> Result<MobilityFit> {
    let (d, r) = fit.degrees().unwrap_or(top);
    if !d.is_multiple_of(2) {
        // Only an even degree can be made positive, and a warning says so.
        return Ok(fit);
    }
    let equations = equations(d, r)?;
    let start = fit.mobility.coefficients().to_owned();
    let mut observed = fit_mobility_from(Some(start), &*equations, &config.fit(), control)?;
    observed.rungs = fit.rungs;
    refine_positive(observed, &*equations, ensemble, &config.fit(), control)
}
