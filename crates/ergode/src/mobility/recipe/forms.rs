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
    fit: &dyn Fn(&RecipeConfig) -> Result<RecipeFit>,
) -> Result<RecipeFit> {
    /// χ² per equation of the mobility form at which the other form is likely to be taken.
    const MISSED: f64 = 4.0;
    if config.recipe != Recipe::Auto || !config.leaves_form_open(ensemble.dim()) {
        return fit(config);
    }
    let with = |recipe: Recipe, positive_up_to: f64| {
        fit(&RecipeConfig {
            recipe,
            positive_up_to,
            ..config.clone()
        })
    };
    let whole = |recipe: Recipe| with(recipe, f64::INFINITY);
    if ensemble.has_walls() {
        let mut found = whole(Recipe::Semigroup)?;
        found.reason = "between walls the form of M holds, whether or not the noise vanishes at them, and gives \
                        the drift without a score"
            .into();
        return Ok(found);
    }
    let mobility = with(Recipe::Semigroup, MISSED);
    if let Ok(found) = &mobility
        && found.fit.chi2_per_equation <= GOOD_CHI2
        && is_sound(found, ensemble)
    {
        let mut found = found.clone();
        found.reason = format!(
            "with the mobility as the unknown chi^2 per equation is {:.2}, as good as the data can show",
            found.fit.chi2_per_equation
        );
        return Ok(found);
    }
    let chosen = match (whole(Recipe::Generator), mobility) {
        (Err(error), _) | (_, Err(error)) if error.is_interrupted() => return Err(error),
        (Ok(generator), Ok(mobility)) => better(generator, mobility, ensemble),
        (Ok(mut found), Err(other)) | (Err(other), Ok(mut found)) => {
            found.reason = format!("the other form failed: {other}");
            found
        }
        (Err(error), Err(other)) => {
            return Err(if error.is_bad_input() { error } else { other });
        }
    };
    let unfinished = chosen.recipe == Recipe::Semigroup && chosen.fit.chi2_per_equation > MISSED;
    match unfinished {
        true => Ok(RecipeFit {
            reason: chosen.reason,
            ..whole(Recipe::Semigroup)?
        }),
        false => Ok(chosen),
    }
}

/// Whether a fit can be a model: D is positive at most samples, errors are numbers, and they have not swallowed the
/// equations.
fn is_sound(found: &RecipeFit, ensemble: &Ensemble) -> bool {
    /// Fraction of the samples at which D may be indefinite.
    const MOST: f64 = 0.5;
    /// χ² per equation of which errors leave nothing.
    const SWALLOWED: f64 = 1e-3;
    let fit = &found.fit;
    fit.chi2_per_equation > SWALLOWED
        && fit.errors.iter().all(|error| error.is_finite())
        && fit.mobility.psd_violation(ensemble) < MOST
}

/// The form that fits better, of those that can be a model.
fn better(mut generator: RecipeFit, mut mobility: RecipeFit, ensemble: &Ensemble) -> RecipeFit {
    let chi2 = [&generator, &mobility].map(|found| found.fit.chi2_per_equation);
    let sound = [&generator, &mobility].map(|found| is_sound(found, ensemble));
    let against = format!(
        "chi^2 per equation {:.2} with drift and diffusion as unknowns (generator), {:.2} with the mobility \
         (semigroup)",
        chi2[0], chi2[1]
    );
    let reason = |other: &str| match sound[0] == sound[1] {
        true => against.clone(),
        false => {
            format!("{against}; D of the {other} form is not positive, or its errors are infinite")
        }
    };
    generator.reason = reason("semigroup");
    mobility.reason = reason("generator");
    match sound {
        [true, false] => generator,
        [false, true] => mobility,
        _ if chi2[1] <= chi2[0] => mobility,
        _ => generator,
    }
}
