//! The two forms: drift and diffusion as unknowns, or the mobility.

use super::config::{Recipe, RecipeConfig};
use super::found::RecipeFit;
use crate::data::Ensemble;
use crate::error::Result;
use crate::mobility::result::GOOD_CHI2;

/// The fit with drift and diffusion or with the mobility as unknowns, the better one where this is left open.
///
/// The generator form is tried where the mobility form does not fit. Both predict the same correlations, but where
/// the drift is an unknown of its own, sampling errors of l enter its antisymmetric part, whose square is taken for
/// damping; l of the mobility form has none.
pub(super) fn in_either_form(
    ensemble: &Ensemble,
    config: &RecipeConfig,
    fit: &dyn Fn(Recipe) -> Result<RecipeFit>,
) -> Result<RecipeFit> {
    if config.recipe != Recipe::Auto || !config.leaves_form_open(ensemble.dim()) {
        return fit(config.recipe);
    }
    if ensemble.has_walls() {
        let mut found = fit(Recipe::Semigroup)?;
        found.reason = "between walls the form of M holds, whether or not the noise vanishes at them, and gives \
                        the drift without a score"
            .into();
        return Ok(found);
    }
    let mobility = fit(Recipe::Semigroup);
    if let Ok(found) = &mobility
        && found.fit.chi2_per_equation <= GOOD_CHI2
    {
        let mut found = found.clone();
        found.reason = format!(
            "with the mobility as the unknown chi^2 per equation is {:.2}, as good as the data can show",
            found.fit.chi2_per_equation
        );
        return Ok(found);
    }
    match (fit(Recipe::Generator), mobility) {
        (Err(error), _) | (_, Err(error)) if error.is_interrupted() => Err(error),
        (Ok(generator), Ok(mobility)) => Ok(better(generator, mobility)),
        (Ok(mut found), Err(other)) | (Err(other), Ok(mut found)) => {
            found.reason = format!("the other form failed: {other}");
            Ok(found)
        }
        (Err(error), Err(other)) => Err(if error.is_bad_input() { error } else { other }),
    }
}

/// χ² per equation below which errors have swallowed the equations.
const SWALLOWED: f64 = 1e-3;

/// The form that fits better.
fn better(mut generator: RecipeFit, mut mobility: RecipeFit) -> RecipeFit {
    let chi2 = [&generator, &mobility].map(|found| found.fit.chi2_per_equation);
    let against = format!(
        "chi^2 per equation {:.2} with drift and diffusion as unknowns (generator), {:.2} with the mobility \
         (semigroup)",
        chi2[0], chi2[1]
    );
    generator.reason.clone_from(&against);
    mobility.reason = against;
    // Errors that have swallowed the equations leave nothing of χ².
    if chi2[1] <= chi2[0] || chi2[0] < SWALLOWED {
        mobility
    } else {
        generator
    }
}
