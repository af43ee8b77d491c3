//! Named choices of equations, spaces and lags, for a user who says nothing.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use ndarray::Array2;
use serde::{Deserialize, Serialize};

use super::basis::TensorBasis;
use super::block_noise::BlockNoise;
use super::charted::ChartedDegrees;
use super::charts::{self, ChartKind, ChosenChart, Laws, Standing};
use super::config::{MeanConstraint, MobilityConfig};
use super::currents::with_currents;
use super::equations::Equations;
use super::fit::{fit_mobility, fit_mobility_from};
use super::ladder::{LadderConfig, fit_mobility_ladder};
use super::moments::{
    PolynomialConfig, PolynomialSums, accumulate_charted, accumulate_polynomials, doubling_lags,
};
use super::noise::{self, MeasurementNoise, NoiseEstimate};
use super::positive::{refine_positive, tail_violation};
use super::result::MobilityFit;
use super::semigroup::{Ends, Semigroup, SemigroupConfig};
use super::terms::{TermChoice, TermLibrary, basis_of_terms, degrees_of, in_basis, select_terms};
use super::walls;
use super::weak::{TimeForm, Weak, WeakConfig};
use crate::check::decorrelation_times;
use crate::clock::Clock;
use crate::control::Control;
use crate::data::{Ensemble, Standardiser};
use crate::error::{Error, Result};
use crate::lagged::{IntegralRule, LagGrid, LaggedConfig, Subsample};
use crate::observable::exponents;
use crate::space::Chart;

/// Which equations determine the mobility.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Recipe {
    /// The one that suits the record; the result says why.
    #[default]
    Auto,
    /// Correlations predicted by the semigroup in a Galerkin space ([`Semigroup`]).
    Semigroup,
    /// The same with the drift as an unknown beside the diffusion, instead of M ([`Semigroup`]).
    Generator,
    /// Stationary operator, integral in time, polynomial score ([`Weak`]).
    Weak,
    /// The constant Φ, integral in time, with the score
    /// ([`estimate_constant_mobility`](super::estimate_constant_mobility)).
    Constant,
    /// The paper's: conditional score, derivative in time, mobility by a network
    /// ([`fit_paper_mobility`](super::fit_paper_mobility)).
    Paper,
}

/// The configuration of a recipe.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RecipeConfig {
    /// The recipe.
    pub recipe: Recipe,
    /// Degrees of D and R; by default held-out blocks choose them.
    pub degrees: Option<(usize, usize)>,
    /// Entries of M that may be nonzero, such as those that [`Structure::support`](super::Structure::support)
    /// suggests; all by default.
    pub mask: Option<Array2<bool>>,
    /// Charts of coordinates, in which the test functions of recipes semigroup and generator are polynomials; by
    /// default those that fit best.
    pub charts: BTreeMap<String, ChartKind>,
    /// Keep only the terms of drift and diffusion that the record supports, functions of the coordinates in their
    /// own units; recipe generator.
    pub sparse: bool,
    /// The terms of drift and diffusion, where they are given; recipe generator.
    #[serde(skip)]
    pub library: TermLibrary,
    /// White measurement noise, removed from averages of the record.
    pub noise: MeasurementNoise,
    /// Longest lag; by default the longest decorrelation time of a coordinate.
    pub horizon: Option<f64>,
    /// Number of leading coordinates that are observed, by default all; the others are delayed copies of
    /// them. Functions of delayed coordinates are left out at the later time of the correlations: they have a
    /// kink at the delay, which no Markov model follows.
    pub leading: Option<usize>,
    /// Highest degrees of D and R that are tried.
    pub max_degrees: (usize, usize),
    /// Most coefficients.
    pub max_coefficients: usize,
    /// Standard errors by which held-out χ² must fall for a higher degree to be taken.
    pub caution: f64,
    /// Ridges that are tried: χ² added for ⟨|M − Φ|²⟩ = ⟨|Φ|²⟩.
    pub ridges: Vec<f64>,
    /// Folds of the cross-validation over blocks.
    pub folds: usize,
    /// Known mean of M, which enters with its error.
    pub mean: Option<MeanConstraint>,
    /// Least values of coefficients, by label.
    pub floors: BTreeMap<String, f64>,
    /// Most Gauss-Newton steps.
    pub iterations: usize,
    /// Sub-sampling and blocks.
    pub statistics: LaggedConfig,
}

impl Default for RecipeConfig {
    fn default() -> Self {
        let ladder = LadderConfig::default();
        Self {
            recipe: Recipe::default(),
            degrees: None,
            mask: None,
            charts: BTreeMap::new(),
            sparse: false,
            library: TermLibrary::default(),
            noise: MeasurementNoise::default(),
            horizon: None,
            leading: None,
            max_degrees: (ladder.diffusion_degree, ladder.current_degree),
            max_coefficients: ladder.fields,
            caution: ladder.caution,
            ridges: ladder.fit.ridges,
            folds: ladder.fit.folds,
            mean: ladder.fit.mean,
            floors: ladder.fit.floors,
            iterations: ladder.fit.iterations,
            statistics: LaggedConfig::default(),
        }
    }
}

impl RecipeConfig {
    /// The configuration of the fit at given degrees.
    pub fn fit(&self) -> MobilityConfig {
        MobilityConfig {
            ridges: self.ridges.clone(),
            folds: self.folds,
            mean: self.mean.clone(),
            floors: self.floors.clone(),
            iterations: self.iterations,
        }
    }

    /// True where nothing asks for one of the two forms, M or b and D, and both are affordable.
    fn leaves_form_open(&self, dim: usize) -> bool {
        /// Most coordinates with two fits.
        const MOST: usize = 6;
        let noiseless = matches!(self.noise, MeasurementNoise::Auto | MeasurementNoise::None);
        let unconstrained = self.mean.is_none() && self.floors.is_empty() && self.mask.is_none();
        dim <= MOST
            && noiseless
            && unconstrained
            && self.degrees.is_none()
            && self.leading.is_none()
    }

    /// The same with recipe generator where terms of drift and diffusion are chosen or given, which it alone knows.
    fn for_terms(&self) -> Result<Self> {
        let mut config = self.clone();
        let option = match (self.sparse, self.library.is_empty()) {
            (false, true) => return Ok(config),
            (true, _) => "mobility.sparse",
            (false, false) => "drift.terms or diffusion.terms",
        };
        let allowed = matches!(self.recipe, Recipe::Auto | Recipe::Generator);
        if !allowed || self.mask.is_some() || self.leading.is_some() {
            return Err(Error::input(format!(
                "{option} is supported with recipe generator, without a mask and without delays; set \
                 mobility.recipe to generator or auto, and remove the other options"
            )));
        }
        config.recipe = Recipe::Generator;
        Ok(config)
    }

    /// True where test functions may be polynomials of charts.
    fn allows_charts(&self, ensemble: &Ensemble) -> bool {
        let semigroup = !matches!(self.recipe, Recipe::Weak | Recipe::Constant | Recipe::Paper);
        let noiseless = matches!(self.noise, MeasurementNoise::Auto | MeasurementNoise::None);
        let on_lines = !ensemble.has_circles() && !ensemble.has_walls();
        semigroup
            && noiseless
            && on_lines
            && self.leading.is_none()
            && ensemble.dim() <= charts::MOST
    }

    /// How degrees from `lowest` up to `top` are chosen.
    fn ladder(&self, lowest: (usize, usize), top: (usize, usize)) -> LadderConfig {
        LadderConfig {
            diffusion_degree: top.0,
            current_degree: top.1,
            lowest,
            fields: self.max_coefficients,
            caution: self.caution,
            fit: self.fit(),
        }
    }
}

/// A fitted mobility and the choices that led to it.
#[derive(Clone, Debug)]
pub struct RecipeFit {
    /// The recipe that was used, never [`Recipe::Auto`].
    pub recipe: Recipe,
    /// Why, in a sentence.
    pub reason: String,
    /// The lags of the equations.
    pub lags: Vec<f64>,
    /// Seconds that the lagged statistics took.
    pub statistics_seconds: f64,
    /// The mobility.
    pub fit: MobilityFit,
    /// Φ = ⟨M⟩.
    pub mean: Array2<f64>,
    /// The measurement noise that the record was freed from.
    pub noise: Option<NoiseEstimate>,
    /// Charts of coordinates, where test functions are not polynomials of the coordinates themselves.
    pub charts: Vec<ChosenChart>,
    /// The terms that were kept and dropped, where they were chosen.
    pub terms: Option<TermChoice>,
}

/// Most functions in a Galerkin space; the cost grows with the cube.
const MOST_FUNCTIONS: usize = 130;
/// The same where some coordinates are angles, and the highest degrees of D and of b of several coordinates then.
const MOST_WITH_WAVES: usize = 64;
const WAVE_DEGREES: (usize, usize) = (2, 4);
/// Lags of the weak form, the last at the horizon or at the end of this many.
const WEAK_LAGS: usize = 20;
/// Multiplications that the statistics of a long record may take, about a minute on two cores; beyond, every
/// so many samples begin a pair, at least [`FEWEST_PAIRS`] of them.
const MOST_WORK: f64 = 4e11;
const FEWEST_PAIRS: usize = 20_000_000;

/// The spaces for a number of coordinates.
#[derive(Clone, Debug)]
struct Spaces {
    semigroup: SemigroupConfig,
    generator: SemigroupConfig,
    weak: WeakConfig,
    /// Highest degree of D and of R that these spaces determine.
    top: (usize, usize),
    /// Highest degree of D and of b that the space of the generator determines.
    generator_top: (usize, usize),
    /// Moments needed beyond those of powers: a derivative lowers the degree of a power, but not that of a wave.
    beyond: usize,
}

impl Spaces {
    /// Test functions of degree 3 fix a mobility that varies; beyond a few coordinates there are too
    /// many of them, and of degree 2 or 1 they fix a linear or a constant one.
    fn new(dim: usize) -> Self {
        let (degree, test_degree, potential_degree, top) = match dim {
            1 => (10, 4, 10, (4, 0)),
            2 => (6, 3, 8, (4, 6)),
            3 => (5, 3, 4, (2, 2)),
            4 => (4, 3, 4, (2, 2)),
            5 | 6 => (3, 2, 4, (1, 1)),
            _ => (2, 1, 2, (0, 0)),
        };
        // Between functions of degree 1 a linear drift and a constant D are closed.
        let (generator, generator_test, generator_top) = match dim {
            1 => (10, 4, (4, 7)),
            2 => (8, 3, (4, 5)),
            3 => (6, 3, (2, 3)),
            4 => (4, 2, (1, 3)),
            5 | 6 => (3, 2, (1, 2)),
            _ => (1, 1, (0, 1)),
        };
        Self {
            generator: SemigroupConfig {
                degree: generator,
                test_degree: generator_test,
            },
            generator_top,
            beyond: 0,
            semigroup: SemigroupConfig {
                degree,
                test_degree,
            },
            weak: WeakConfig {
                test_degree,
                potential_degree,
                ..WeakConfig::default()
            },
            top,
        }
    }

    /// The same where some coordinates are angles: of these there are two waves of each degree, and a product of
    /// two waves is two waves, so that a lower degree gives as many functions and equations are as dear.
    fn with_circles(mut self, standardiser: &Standardiser) -> Result<Self> {
        for space in [&mut self.generator, &mut self.semigroup] {
            let functions = |degree: usize| exponents(standardiser, degree).map(|e| e.len());
            while space.degree > 1 && functions(space.degree)? > MOST_WITH_WAVES {
                space.degree -= 1;
            }
            space.test_degree = space.test_degree.min(space.degree);
        }
        self.beyond = 2;
        if standardiser.scale.len() > 1 {
            let most = WAVE_DEGREES;
            let (d, b) = self.generator_top;
            self.generator_top = (d.min(most.0), b.min(most.1));
        }
        Ok(self)
    }

    /// Highest degrees that the space of a recipe determines.
    fn top(&self, recipe: Recipe) -> (usize, usize) {
        match recipe {
            Recipe::Generator => self.generator_top,
            _ => self.top,
        }
    }

    /// The Galerkin space of a recipe.
    fn space_of(&self, recipe: Recipe) -> SemigroupConfig {
        match recipe {
            Recipe::Generator => self.generator,
            _ => self.semigroup,
        }
    }

    /// The same, to be changed.
    fn space(&mut self, recipe: Recipe) -> &mut SemigroupConfig {
        match recipe {
            Recipe::Generator => &mut self.generator,
            _ => &mut self.semigroup,
        }
    }
}

/// Fit a polynomial mobility: recipe, spaces, lags and degrees chosen from the data where the
/// configuration leaves them open, and D made positive where it is not.
///
/// In an uneven record lags are windows one typical interval δ wide ([`LagGrid::for_ensemble`]) at
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
    let fit = |recipe: Recipe, charts: Option<&[Chart]>| {
        let config = &RecipeConfig {
            recipe,
            ..config.clone()
        };
        fit_shrinking(ensemble, config, times, charts, control)
    };
    if config.recipe == Recipe::Auto && ensemble.has_circles() {
        let mut found = fit(Recipe::Generator, None)?;
        found.reason =
            "a steady turn of an angle is part of a drift, but of no M s + div M".to_owned();
        return Ok(found);
    }
    if !config.allows_charts(ensemble) {
        if let Some(name) = config.charts.keys().next() {
            return Err(Error::input(format!(
                "mobility.charts.{name} is set, but charts are supported with recipes semigroup and generator, \
                 without measurement noise, delays, walls and angles, in up to {} coordinates; remove it",
                charts::MOST
            )));
        }
        return in_either_form(ensemble, config, &|recipe| fit(recipe, None));
    }
    let laws = Laws::new(ensemble, &Standardiser::watched(ensemble, control)?);
    let in_charts = |charts: &[Chart]| {
        let charts = (!charts.iter().all(Chart::is_identity)).then_some(charts);
        in_either_form(ensemble, config, &|recipe| fit(recipe, charts))
    };
    if let Some(asked) = laws.asked(&config.charts)? {
        let mut found = in_charts(&asked)?;
        let reason = |_: usize| "set by mobility.charts".to_owned();
        found.charts = laws.chosen(&asked, &reason);
        return Ok(found);
    }
    best_charts(ensemble, &laws, &in_charts)
}

/// The fit with the charts that suit the record best, one coordinate at a time.
///
/// Charts are tried for coordinates whose law is broad and, where the fit in the coordinates themselves misses
/// its equations, for all.
fn best_charts(
    ensemble: &Ensemble,
    laws: &Laws,
    in_charts: &dyn Fn(&[Chart]) -> Result<RecipeFit>,
) -> Result<RecipeFit> {
    /// χ² per equation that makes charts worth trying for a law that is not broad.
    const MISSED: f64 = 4.0;
    let dim = ensemble.dim();
    let mut charts = laws.identity();
    let identity = charts.clone();
    let plain = || in_charts(&identity);
    let mut coordinates: Vec<usize> = (0..dim).filter(|i| laws.is_broad(*i)).collect();
    // In coordinates with heavy tails the search may take long: what charts give comes first.
    let first = !coordinates.is_empty();
    let mut best = if first { None } else { Some(plain()?) };
    if let Some(found) = &best {
        if found.recipe == Recipe::Weak || found.fit.chi2_per_equation <= MISSED {
            return Ok(found.clone());
        }
        coordinates = (0..dim).collect();
    }
    let standing = |found: &RecipeFit| Standing::of(&found.fit, ensemble);
    let mut at = best.as_ref().map(&standing);
    for i in coordinates {
        for chart in laws.candidates(i) {
            let mut trial = charts.clone();
            trial[i] = chart;
            match in_charts(&trial) {
                Ok(found) => {
                    let stands = standing(&found);
                    let wins = match at {
                        Some(at) => stands.beats(at),
                        None => stands.is_sound(),
                    };
                    if wins {
                        (charts, at, best) = (trial, Some(stands), Some(found));
                    }
                }
                Err(error) if error.is_late() && best.is_some() => break,
                Err(error) if error.is_interrupted() => return Err(error),
                Err(_) => {}
            }
        }
    }
    let Some(mut found) = best else {
        return plain();
    };
    let mut words = at.map_or(String::new(), Standing::describe);
    if first {
        match plain() {
            Ok(mut other) => {
                let others = standing(&other);
                if !at.is_some_and(|at| at.beats(others)) {
                    let tried = laws.chosen(&charts, &|_| String::new());
                    let of =
                        |c: &ChosenChart| format!("{} of {}", c.chart.describe(), c.coordinate);
                    let tried: Vec<String> = tried.iter().map(of).collect();
                    other.reason = format!(
                        "{}; {}, and {words} with test functions of the {}",
                        other.reason,
                        others.describe(),
                        tried.join(", ")
                    );
                    return Ok(other);
                }
                words = format!(
                    "{words}, instead of {} in the coordinate itself",
                    others.describe()
                );
            }
            Err(error) if error.is_late() => {}
            Err(error) if error.is_interrupted() => return Err(error),
            Err(error) => {
                words = format!("{words}; in the coordinate itself the fit fails: {error}")
            }
        }
    }
    found.charts = laws.chosen(&charts, &|i: usize| match laws.is_broad(i) {
        true => {
            format!("the law is broad, so that averages of high powers are badly known; {words}")
        }
        false => words.clone(),
    });
    Ok(found)
}

/// The fit with drift and diffusion or with the mobility as unknowns, the better one where this is left open.
fn in_either_form(
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
    match (fit(Recipe::Generator), fit(Recipe::Semigroup)) {
        (Err(error), _) | (_, Err(error)) if error.is_interrupted() => Err(error),
        (Ok(generator), Ok(mobility)) => Ok(better(generator, mobility)),
        (Ok(mut found), Err(other)) | (Err(other), Ok(mut found)) => {
            found.reason = format!("the other form failed: {other}");
            Ok(found)
        }
        (Err(error), Err(other)) => Err(if error.is_bad_input() { error } else { other }),
    }
}

/// χ² per equation up to which a fit is as good as the data can show.
const GOOD_CHI2: f64 = 1.5;

/// The generator form unless it does not fit and the mobility form fits better: both predict the same
/// correlations; where both fit, the drift of the first does not contain the errors of a score.
fn better(mut generator: RecipeFit, mut mobility: RecipeFit) -> RecipeFit {
    let chi2 = [&generator, &mobility].map(|found| found.fit.chi2_per_equation);
    let against = format!(
        "chi^2 per equation {:.2} with drift and diffusion as unknowns (generator), {:.2} with the mobility \
         (semigroup)",
        chi2[0], chi2[1]
    );
    generator.reason.clone_from(&against);
    mobility.reason = against;
    if chi2[0] <= GOOD_CHI2.max(chi2[1]) {
        generator
    } else {
        mobility
    }
}

/// The fit in the largest space that the moments allow.
fn fit_shrinking(
    ensemble: &Ensemble,
    config: &RecipeConfig,
    times: (f64, f64),
    charts: Option<&[Chart]>,
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
        let found = fit_in(ensemble, config, times, (&spaces, charts), control);
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

/// The fit in spaces that are given, with test functions of these charts.
fn fit_in(
    ensemble: &Ensemble,
    config: &RecipeConfig,
    (interval, horizon): (f64, f64),
    (spaces, charts): (&Spaces, Option<&[Chart]>),
    control: &Control,
) -> Result<RecipeFit> {
    if config.leading.is_some() && matches!(config.recipe, Recipe::Weak | Recipe::Generator) {
        return Err(Error::input(
            "only recipe semigroup supports delayed coordinates; use recipe semigroup or auto",
        ));
    }
    let (recipe, reason) = choose(config.recipe, ensemble.dim(), spaces)?;
    let top = spaces.top(recipe);
    let top = config.degrees.unwrap_or((
        top.0.min(config.max_degrees.0),
        top.1.min(config.max_degrees.1),
    ));
    let top = degrees_of(&config.library, ensemble.names(), top)?;
    let make = |recipe: Recipe| -> Result<Plan> {
        let mut plan = Plan::new(recipe, interval, horizon, spaces, top, config);
        plan.adapt(ensemble)?;
        plan.thin(ensemble, config);
        Ok(plan)
    };
    let plan = make(recipe)?;
    let standardiser = Standardiser::watched(ensemble, control)?;
    let clock = Clock::start();
    let collect = |plan: &Plan| match charts {
        Some(charts) => plan.collect_charted(ensemble, &standardiser, charts, top, control),
        None => accumulate_polynomials(ensemble, &standardiser, &plan.statistics, control),
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

/// Degree of R that is taken from a drift and a diffusion.
const CURRENT_DEGREE: usize = 4;

/// Degree of D and R with which measurement noise is first estimated.
const FIRST_DEGREE: usize = 2;

/// The fit with D positive; an odd degree of D is raised by one first, if it may be. Between walls D need not be
/// positive beyond them, and may be zero at them.
fn positive(
    fit: MobilityFit,
    equations: &dyn Fn(usize, usize) -> Result<Box<dyn Equations>>,
    ensemble: &Ensemble,
    config: &RecipeConfig,
    top: (usize, usize),
    control: &Control,
) -> Result<MobilityFit> {
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
fn between_observed(
    fit: MobilityFit,
    equations: &dyn Fn(usize, usize) -> Result<Box<dyn Equations>>,
    ensemble: &Ensemble,
    config: &RecipeConfig,
    top: (usize, usize),
    control: &Control,
) -> Result<MobilityFit> {
    let (d, r) = fit.degrees().unwrap_or(top);
    let equations = equations(d.next_multiple_of(2), r)?;
    let start = fit.mobility.coefficients().to_owned();
    let mut observed = fit_mobility_from(Some(start), &*equations, &config.fit(), control)?;
    observed.rungs = fit.rungs;
    refine_positive(observed, &*equations, ensemble, &config.fit(), control)
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

fn choose(asked: Recipe, dim: usize, spaces: &Spaces) -> Result<(Recipe, String)> {
    let functions = binomial(dim + spaces.semigroup.degree, dim);
    match asked {
        Recipe::Semigroup | Recipe::Generator | Recipe::Weak => Ok((asked, "asked for".to_owned())),
        Recipe::Constant => Err(Error::input(
            "a constant mobility is not a polynomial fit; use estimate_constant_mobility",
        )),
        Recipe::Paper => Err(Error::input(
            "the paper's recipe has no polynomial mobility; use fit_paper_mobility",
        )),
        Recipe::Auto if functions <= MOST_FUNCTIONS => Ok((
            Recipe::Semigroup,
            format!(
                "in dimension {dim} a Galerkin space of degree {} has only {functions} functions, and \
                 the semigroup has no error from the sampling interval",
                spaces.semigroup.degree
            ),
        )),
        Recipe::Auto => Err(Error::input(format!(
            "in dimension {dim} a Galerkin space would have {functions} functions, more than \
             {MOST_FUNCTIONS}; use recipe weak or constant, or select fewer coordinates"
        ))),
    }
}

impl fmt::Display for Recipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Auto => "auto",
            Self::Semigroup => "semigroup",
            Self::Generator => "generator",
            Self::Weak => "weak",
            Self::Constant => "constant",
            Self::Paper => "paper",
        })
    }
}

/// Refuse a Galerkin space with too many functions.
fn require_affordable(dim: usize, spaces: &Spaces) -> Result<()> {
    let functions = binomial(dim + spaces.semigroup.degree, dim);
    if functions <= MOST_FUNCTIONS {
        return Ok(());
    }
    Err(Error::input(format!(
        "measurement noise is estimated in a Galerkin space, which in dimension {dim} would have \
         {functions} functions, more than supported; give its variances (mobility.noise), or select \
         fewer coordinates"
    )))
}

/// n over k, saturating.
fn binomial(n: usize, k: usize) -> usize {
    (1..=k).fold(1usize, |c, i| c.saturating_mul(n + 1 - i) / i)
}

/// A fit, ⟨M⟩, and the terms that were chosen, if any.
struct Solved {
    fit: MobilityFit,
    mean: Array2<f64>,
    terms: Option<TermChoice>,
}

/// A recipe with its numbers.
struct Plan {
    recipe: Recipe,
    spaces: Spaces,
    mask: Option<Array2<bool>>,
    statistics: PolynomialConfig,
}

impl Plan {
    fn new(
        recipe: Recipe,
        interval: f64,
        horizon: f64,
        spaces: &Spaces,
        top: (usize, usize),
        config: &RecipeConfig,
    ) -> Self {
        let degree = top.0.max(top.1);
        let mut statistics = PolynomialConfig {
            statistics: config.statistics,
            ..PolynomialConfig::default()
        };
        match recipe {
            Recipe::Weak => {
                let stride = ((horizon / interval / WEAK_LAGS as f64) as usize).max(1);
                let lags = ((horizon / interval) as usize / stride).clamp(2, WEAK_LAGS);
                statistics.future_degree = spaces.weak.test_degree;
                statistics.initial_degree = spaces.weak.initial_degree(degree);
                statistics.moment_degree = spaces.weak.moment_degree(degree);
                statistics.lags = (0..=lags / 2 * 2)
                    .map(|k| (k * stride) as f64 * interval)
                    .collect();
                if stride > 1 && statistics.statistics.subsample == Subsample::All {
                    // Neighbouring samples are redundant; lags are multiples of the stride.
                    statistics.statistics.subsample = Subsample::Stride(stride);
                }
            }
            _ => {
                let space = spaces.space_of(recipe);
                statistics.future_degree = space.test_degree;
                statistics.initial_degree = space.test_degree;
                statistics.moment_degree = match recipe {
                    // R beside b and D needs moments of its own.
                    Recipe::Generator => {
                        let tensor = top.0.max(CURRENT_DEGREE.min(spaces.top.1));
                        space.generator_moment_degree(tensor, top.1)
                    }
                    _ => space.moment_degree(degree),
                } + spaces.beyond;
                statistics.lags = doubling_lags(interval, horizon);
            }
        }
        if !matches!(
            config.noise,
            MeasurementNoise::Auto | MeasurementNoise::None
        ) {
            // C(0) is then taken from the moments.
            let both_ends = statistics.future_degree + statistics.initial_degree;
            statistics.moment_degree = statistics.moment_degree.max(both_ends);
        }
        Self {
            recipe,
            spaces: spaces.clone(),
            mask: config.mask.clone(),
            statistics,
        }
    }

    /// The sums with charts; moments of z reach as far as the norms of the fields need.
    fn collect_charted(
        &self,
        ensemble: &Ensemble,
        standardiser: &Standardiser,
        charts: &[Chart],
        top: (usize, usize),
        control: &Control,
    ) -> Result<PolynomialSums> {
        let (d, r) = (top.0.next_multiple_of(2), top.1);
        let space = self.spaces.space_of(self.recipe).degree;
        let mut degrees = ChartedDegrees {
            space: 2 * space,
            tensor: d.max(CURRENT_DEGREE),
            drift: r,
        };
        if self.recipe != Recipe::Generator {
            (degrees.tensor, degrees.drift) = (d.max(r), 0);
        }
        let statistics = PolynomialConfig {
            moment_degree: 2 * degrees.tensor.max(degrees.drift),
            ..self.statistics.clone()
        };
        accumulate_charted(
            ensemble,
            standardiser,
            charts,
            degrees,
            &statistics,
            control,
        )
    }

    /// Uses fewer pairs of a very long record to save time, unless the choice of pairs is set.
    fn thin(&mut self, ensemble: &Ensemble, config: &RecipeConfig) {
        let dim = ensemble.dim();
        let statistics = &mut self.statistics;
        let functions = |degree: usize| binomial(dim + degree, dim) as f64;
        let products = functions(statistics.future_degree) * functions(statistics.initial_degree);
        let cost = statistics.lags.len() as f64 * products + functions(statistics.moment_degree);
        let samples = ensemble.samples();
        let stride = (samples as f64 * cost / MOST_WORK).ceil() as usize;
        let stride = stride.min(samples / FEWEST_PAIRS);
        let before = match statistics.statistics.subsample {
            Subsample::Stride(before) => before,
            _ => 1,
        };
        if config.statistics.subsample == Subsample::All && stride > before {
            statistics.statistics.subsample = Subsample::Stride(stride);
        }
    }

    /// Leave out lags without pairs, and integrate over unequal lags, where sampling is uneven.
    fn adapt(&mut self, ensemble: &Ensemble) -> Result<()> {
        if ensemble.sampling_interval().is_some() {
            return Ok(());
        }
        let lags = &mut self.statistics.lags;
        *lags = LagGrid::for_ensemble(ensemble, lags)?.occupied(ensemble);
        if lags.len() < 2 {
            return Err(Error::input(
                "too few consecutive samples lie a typical sampling interval apart without a gap; give \
                 a record with fewer gaps",
            ));
        }
        self.spaces.weak.time = TimeForm::Integral(IntegralRule::Cubic);
        Ok(())
    }

    /// The measurement noise, with mobilities of these degrees where it is estimated.
    fn noise(
        &self,
        sums: &PolynomialSums,
        (d, r): (usize, usize),
        config: &RecipeConfig,
        control: &Control,
    ) -> Result<Option<(BlockNoise, NoiseEstimate)>> {
        match &config.noise {
            MeasurementNoise::Auto | MeasurementNoise::None => Ok(None),
            MeasurementNoise::Variances(variances) => {
                noise::known(variances, sums.standardiser()).map(Some)
            }
            MeasurementNoise::Estimate => {
                let mask = self.mask.as_ref();
                let basis = TensorBasis::polynomial(sums.names(), sums.standardiser(), d, r, mask)?;
                let space = &self.spaces.semigroup;
                noise::estimate(sums, &basis, space, &config.fit(), control).map(Some)
            }
        }
    }

    /// The mobility that the sums give, and its mean.
    fn solve(
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
        let equations = |d: usize, r: usize| self.equations(sums, d, r, ends);
        if config.sparse || !config.library.is_empty() {
            return self.solve_terms(sums, ensemble, top, config, control);
        }
        let fit = match config.degrees {
            Some((d, r)) => fit_mobility(&*equations(d, r)?, &config.fit(), control)?,
            None => {
                let ladder = config.ladder(self.lowest(sums, ensemble, top), top);
                fit_mobility_ladder(&equations, &ladder, control)?
            }
        };
        let fit = match ensemble.has_walls() {
            true => walls::vanishing(fit, ensemble)?,
            false => fit,
        };
        let mut fit = positive(fit, &equations, ensemble, config, top, control)?;
        let raised = fit.positivity.is_some() || fit.mobility.psd_violation(ensemble) > 0.0;
        if let (Some(leading), true) = (config.leading, raised) {
            let both = Ends::BothLeading(leading);
            let leading = |d: usize, r: usize| self.equations(sums, d, r, both);
            fit = between_observed(fit, &leading, ensemble, config, top, control)?;
        }
        if self.recipe == Recipe::Semigroup && ensemble.has_walls() {
            fit = walls::with_drift(fit, sums, ensemble, self.spaces.generator_top.1)?;
        }
        self.finish(fit, None, sums)
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
    /// infinitely fast where a chart is steep.
    fn lowest(
        &self,
        sums: &PolynomialSums,
        ensemble: &Ensemble,
        top: (usize, usize),
    ) -> (usize, usize) {
        let walls = ensemble.dim() == 1 && ensemble.has_walls();
        let tensor = match walls || sums.charted().is_some() {
            true => top.0.min(2),
            false => 0,
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
