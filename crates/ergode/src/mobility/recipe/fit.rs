//! From a record and a configuration to the mobility.

use std::sync::Arc;

use super::charts::best_charts;
use super::choice::choose;
use super::collected::{Averages, RecipeSums};
use super::config::{Recipe, RecipeConfig};
use super::forms::in_either_form;
use super::found::RecipeFit;
use super::noise::require_affordable;
use super::plan::Plan;
use super::solve::Solved;
use super::spaces::Spaces;
use crate::check::decorrelation_times;
use crate::clock::Clock;
use crate::control::Control;
use crate::data::{Ensemble, Standardiser};
use crate::error::{Error, Result};
use crate::limits;
use crate::mobility::block_noise::BlockNoise;
use crate::mobility::charts::{Laws, Standing};
use crate::mobility::moments::accumulate_polynomials;
use crate::mobility::noise::MeasurementNoise;
use crate::mobility::terms::degrees_of;
use crate::space::Chart;

/// Degree of D and R with which measurement noise is first estimated.
const FIRST_DEGREE: usize = 2;

/// Degree of D in broad laws that is taken where a higher one is hardly determined in the tails.
const STEADY: usize = 2;

/// Fit a polynomial mobility: recipe, spaces, lags and degrees chosen from the data where the
/// configuration leaves them open, and D made positive where it is not.
///
/// In an uneven record lags are windows one typical interval δ wide ([`LagGrid::for_ensemble`](crate::lagged::LagGrid::for_ensemble)) at
/// multiples of δ, without those in which pairs are rare; everything is evaluated at the mean separation
/// of the pairs. The semigroup knows the variance of the separations too, so that the width of a window
/// leaves no visible error. In the weak form the operator is averaged over the same windows as C, and
/// only the step from lag zero to the first window, at t₁, sees the width: by a part λδ²/(24 t₁) of D for
/// a mode of rate λ. With t₁ a twentieth of the decorrelation time, or δ where that is longer, this is
/// below the error of the quadrature.
///
/// # Errors
/// When the recipe does not suit the data or the options, the fit fails, or the work is stopped.
pub fn fit_mobility_recipe(
    ensemble: &Ensemble,
    config: &RecipeConfig,
    control: &Control,
) -> Result<RecipeFit> {
    let config = &config.for_terms()?;
    let interval = ensemble.typical_interval()?;
    let horizon = match config.horizon {
        Some(horizon) => horizon,
        None => longest_decorrelation(ensemble, control)?,
    };
    let times = (interval, horizon);
    let fit = |config: &RecipeConfig, charts: Option<&[Chart]>| {
        fit_shrinking(ensemble, config, times, Averages::Samples(charts), control)
    };
    if config.recipe == Recipe::Auto && ensemble.has_circles() {
        let generator = RecipeConfig {
            recipe: Recipe::Generator,
            ..config.clone()
        };
        let mut found = fit(&generator, None)?;
        found.reason =
            "a steady turn of an angle is part of a drift, but of no M s + div M".to_owned();
        return Ok(found);
    }
    if !config.allows_charts(ensemble) {
        if let Some(name) = config.charts.keys().next() {
            return Err(Error::input(format!(
                "mobility.charts.{name} is set, but charts are supported with recipes semigroup and generator, \
                 without measurement noise, delays, walls and angles, in up to {} coordinates; remove it",
                limits::CHARTS
            )));
        }
        return in_either_form(ensemble, config, &|config| fit(config, None));
    }
    let laws = Laws::new(ensemble, &Standardiser::watched(ensemble, control)?);
    let in_charts = |charts: &[Chart]| {
        let charts = (!charts.iter().all(Chart::is_identity)).then_some(charts);
        let found = in_either_form(ensemble, config, &|config| fit(config, charts))?;
        if charts.is_none()
            || config.degrees.is_some()
            || found.fit.mobility.basis().degree() <= STEADY
        {
            return Ok(found);
        }
        let low = RecipeConfig {
            recipe: found.recipe,
            max_degrees: (STEADY, config.max_degrees.1),
            ..config.clone()
        };
        match fit(&low, charts) {
            Err(error) if error.is_interrupted() => Err(error),
            Ok(low) if Standing::is_steadier(&low.fit, &found.fit, ensemble) => Ok(RecipeFit {
                reason: found.reason,
                ..low
            }),
            _ => Ok(found),
        }
    };
    if let Some(asked) = laws.asked(&config.charts)? {
        let mut found = in_charts(&asked)?;
        let reason = |_: usize| "set by mobility.charts".to_owned();
        found.charts = laws.chosen(&asked, &reason);
        return Ok(found);
    }
    best_charts(ensemble, &laws, &in_charts)
}

/// [`fit_mobility_recipe`] with averages that were collected before; whether D is positive is looked at in
/// `samples`. Charts are not tried.
///
/// # Errors
/// As [`fit_mobility_recipe`], and when the fit needs other averages.
pub(crate) fn fit_mobility_sums(
    sums: &RecipeSums,
    samples: &Ensemble,
    config: &RecipeConfig,
    control: &Control,
) -> Result<RecipeFit> {
    let config = &config.for_terms()?;
    let horizon = config
        .horizon
        .ok_or_else(|| Error::input("the longest lag (horizon) is not known"))?;
    let times = (sums.interval(), horizon);
    in_either_form(samples, config, &|config| {
        fit_shrinking(samples, config, times, Averages::Collected(sums), control)
    })
}

/// The fit in the largest space that the moments allow.
fn fit_shrinking(
    ensemble: &Ensemble,
    config: &RecipeConfig,
    times: (f64, f64),
    averages: Averages,
    control: &Control,
) -> Result<RecipeFit> {
    let mut spaces = Spaces::new(ensemble.dim());
    if ensemble.has_circles() {
        spaces = spaces.with_circles(&Standardiser::watched(ensemble, control)?)?;
    }
    let mut lowered = None;
    let freed = !matches!(
        config.noise,
        MeasurementNoise::Auto | MeasurementNoise::None
    );
    loop {
        let found = fit_in(ensemble, config, times, (&spaces, averages), control);
        let space = spaces.space(config.recipe);
        match found {
            // Moments freed from noise are less certain, those of high degree most: a smaller space needs
            // fewer of them.
            Err(error) if freed && error.is_numerical() && space.degree > space.test_degree => {
                space.degree -= 1;
            }
            // On a curve, or on few distinct values, polynomials of high degree are linearly dependent.
            Err(error) if !freed && error.is_numerical() && space.degree > 1 => {
                space.degree -= 1;
                space.test_degree = space.test_degree.min(space.degree);
                lowered = Some(error.to_string());
            }
            Ok(mut found) => {
                found.fit.warnings.extend(lowered.map(|error| {
                    format!(
                        "the Galerkin space was lowered to degree {}, because in a larger one: {error}",
                        space.degree
                    )
                }));
                return Ok(found);
            }
            found => return found,
        }
    }
}

/// The fit in spaces that are given, with these averages.
fn fit_in(
    ensemble: &Ensemble,
    config: &RecipeConfig,
    (interval, horizon): (f64, f64),
    (spaces, averages): (&Spaces, Averages),
    control: &Control,
) -> Result<RecipeFit> {
    if config.leading.is_some() && matches!(config.recipe, Recipe::Weak | Recipe::Generator) {
        return Err(Error::input(
            "only recipe semigroup supports delayed coordinates; use recipe semigroup or auto",
        ));
    }
    let (recipe, reason) = choose(config.recipe, ensemble.dim(), spaces)?;
    let top = spaces.allowed(recipe, config);
    let top = degrees_of(&config.library, ensemble.names(), top)?;
    let make = |recipe: Recipe| -> Result<Plan> {
        let mut plan = Plan::new(recipe, interval, horizon, spaces, top, config);
        plan.adapt(ensemble)?;
        if matches!(averages, Averages::Samples(_)) {
            plan.thin(ensemble, config);
        }
        Ok(plan)
    };
    let plan = make(recipe)?;
    let standardiser = match averages {
        Averages::Samples(_) => Standardiser::watched(ensemble, control)?,
        Averages::Collected(sums) => sums.standardiser()?.clone(),
    };
    let clock = Clock::start();
    let collect = |plan: &Plan| match averages {
        Averages::Samples(Some(charts)) => {
            plan.collect_charted(ensemble, &standardiser, charts, top, control)
        }
        Averages::Samples(None) => {
            accumulate_polynomials(ensemble, &standardiser, &plan.statistics, control)
        }
        Averages::Collected(sums) => sums.of(plan.recipe, &plan.statistics),
    };
    let raw = collect(&plan)?;
    // The noise is estimated by the semigroup whatever the recipe of the mobility.
    let semigroup = match (&config.noise, recipe) {
        (MeasurementNoise::Estimate, Recipe::Weak | Recipe::Generator) => {
            require_affordable(ensemble.dim(), spaces)?;
            let plan = make(Recipe::Semigroup)?;
            Some((collect(&plan)?, plan))
        }
        _ => None,
    };
    let statistics_seconds = clock.seconds();
    let (noisy, noisy_plan) = match &semigroup {
        Some((sums, plan)) => (sums, plan),
        None => (&raw, &plan),
    };
    let estimate = |degrees| noisy_plan.noise(noisy, degrees, config, control);
    let solve = |noise: Option<&BlockNoise>| {
        let sums = Arc::new(match noise {
            Some(noise) => raw.with_noise(noise.clone())?,
            None => raw.clone(),
        });
        plan.solve(&sums, ensemble, top, config, control)
    };
    let first = (top.0.min(FIRST_DEGREE), top.1.min(FIRST_DEGREE));
    let mut noise = estimate(first)?;
    let mut found = solve(noise.as_ref().map(|(blocks, _)| blocks))?;
    let degrees = found.fit.degrees().unwrap_or(first);
    if config.noise == MeasurementNoise::Estimate && degrees != first {
        noise = estimate(degrees)?;
        found = solve(noise.as_ref().map(|(blocks, _)| blocks))?;
    }
    let Solved { fit, mean, terms } = found;
    Ok(RecipeFit {
        recipe,
        reason,
        lags: plan.statistics.lags,
        statistics_seconds,
        fit,
        mean,
        noise: noise.map(|(_, estimate)| estimate),
        charts: Vec::new(),
        terms,
    })
}

/// The longest decorrelation time of a coordinate.
fn longest_decorrelation(ensemble: &Ensemble, control: &Control) -> Result<f64> {
    let times = decorrelation_times(ensemble, control)?;
    let longest = times.iter().flatten().copied().fold(0.0, f64::max);
    if longest > 0.0 {
        return Ok(longest);
    }
    Err(Error::input(
        "no coordinate decorrelates within the record; give a longer record, or set the horizon (the \
         longest lag)",
    ))
}
