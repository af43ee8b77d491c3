//! Averages that were collected before, by a plan for the whole record.

use super::choice::choose;
use super::config::{Recipe, RecipeConfig};
use super::plan::Plan;
use super::spaces::Spaces;
use crate::data::Standardiser;
use crate::error::{Error, Result};
use crate::mobility::moments::{PolynomialConfig, PolynomialSums};
use crate::mobility::noise::MeasurementNoise;
use crate::mobility::terms::degrees_of;
use crate::space::Chart;

/// Where the averages of a fit come from.
#[derive(Clone, Copy)]
pub(super) enum Averages<'a> {
    /// Passes over the samples, with test functions of these charts.
    Samples(Option<&'a [Chart]>),
    /// Sums that were collected before.
    Collected(&'a RecipeSums),
}

/// The averages of recipes semigroup and generator, of an evenly sampled record.
pub(crate) struct RecipeSums {
    interval: f64,
    sums: Vec<(Recipe, PolynomialSums)>,
}

impl RecipeSums {
    /// Sums with the statistics of [`recipe_statistics`].
    pub(crate) fn new(interval: f64, sums: Vec<(Recipe, PolynomialSums)>) -> Self {
        Self { interval, sums }
    }

    /// The sampling interval.
    pub(super) fn interval(&self) -> f64 {
        self.interval
    }

    /// The coordinates of the sums.
    pub(super) fn standardiser(&self) -> Result<&Standardiser> {
        let first = self.sums.first().map(|(_, sums)| sums.standardiser());
        first.ok_or_else(|| missing("there are no sums"))
    }

    /// The sums of a recipe, which hold at least these statistics.
    pub(super) fn of(&self, recipe: Recipe, wanted: &PolynomialConfig) -> Result<PolynomialSums> {
        let found = self.sums.iter().find(|(of, _)| *of == recipe);
        let Some((_, sums)) = found else {
            return Err(missing(&format!("recipe {recipe} has none")));
        };
        let has = sums.config();
        let enough = has.future_degree >= wanted.future_degree
            && has.initial_degree >= wanted.initial_degree
            && has.moment_degree >= wanted.moment_degree;
        let lag = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-6 * self.interval;
        let lags =
            has.lags.len() == wanted.lags.len() && has.lags.iter().zip(&wanted.lags).all(lag);
        match enough && lags {
            true => Ok(sums.clone()),
            false => Err(missing("lags or degrees differ")),
        }
    }
}

fn missing(what: &str) -> Error {
    Error::input(format!(
        "the fit needs other sums than were collected: {what}; make another plan with `ergode accumulate`"
    ))
}

/// The averages that a fit with this configuration needs of an evenly sampled record without angles and walls, for
/// every recipe that it may use.
///
/// # Errors
/// When the configuration asks for another recipe, or contradicts itself.
pub(crate) fn recipe_statistics(
    names: &[String],
    standardiser: &Standardiser,
    interval: f64,
    config: &RecipeConfig,
) -> Result<Vec<(Recipe, PolynomialConfig)>> {
    let config = &config.for_terms()?;
    let dim = standardiser.scale.len();
    let spaces = Spaces::new(dim);
    let horizon = config
        .horizon
        .ok_or_else(|| Error::input("the longest lag (horizon) is not known"))?;
    let mut recipes = match config.recipe {
        Recipe::Auto if config.leaves_form_open(dim) => vec![Recipe::Generator, Recipe::Semigroup],
        asked => vec![choose(asked, dim, &spaces)?.0],
    };
    if config.noise == MeasurementNoise::Estimate && recipes == [Recipe::Generator] {
        recipes.push(Recipe::Semigroup);
    }
    let statistics = |recipe: Recipe| {
        let top = spaces.allowed(recipe, config);
        let top = degrees_of(&config.library, names, top)?;
        Ok((
            recipe,
            Plan::new(recipe, interval, horizon, &spaces, top, config).statistics,
        ))
    };
    recipes.into_iter().map(statistics).collect()
}
