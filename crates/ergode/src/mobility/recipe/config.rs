//! The recipes and what may be set of them.

use std::collections::BTreeMap;
use std::fmt;

use ndarray::Array2;
use serde::{Deserialize, Serialize};

use crate::data::Ensemble;
use crate::error::{Error, Result};
use crate::lagged::LaggedConfig;
use crate::limits;
use crate::mobility::charts::ChartKind;
use crate::mobility::config::{MeanConstraint, MobilityConfig};
use crate::mobility::ladder::LadderConfig;
use crate::mobility::noise::MeasurementNoise;
use crate::mobility::terms::TermLibrary;

/// Which equations determine the mobility.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Recipe {
    /// The one that suits the record; the result says why.
    #[default]
    Auto,
    /// Correlations predicted by the semigroup in a Galerkin space
    /// ([`Semigroup`](crate::mobility::Semigroup)).
    Semigroup,
    /// The same with the drift as an unknown beside the diffusion, instead of M
    /// ([`Semigroup`](crate::mobility::Semigroup)).
    Generator,
    /// Stationary operator, integral in time, polynomial score ([`Weak`](crate::mobility::Weak)).
    Weak,
    /// The constant Φ, integral in time, with the score
    /// ([`estimate_constant_mobility`](crate::mobility::estimate_constant_mobility)).
    Constant,
    /// The paper's: conditional score, derivative in time, mobility by a network
    /// ([`fit_paper_mobility`](crate::mobility::fit_paper_mobility)).
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
    /// Entries of M that may be nonzero, such as those that [`Structure::support`](crate::mobility::Structure::support)
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
    /// χ² per equation beyond which D is not made positive: such a fit is no solution, and another form may be.
    #[serde(skip, default = "unbounded")]
    pub positive_up_to: f64,
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
            positive_up_to: unbounded(),
            statistics: LaggedConfig::default(),
        }
    }
}

fn unbounded() -> f64 {
    f64::INFINITY
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
    pub(super) fn leaves_form_open(&self, dim: usize) -> bool {
        let noiseless = matches!(self.noise, MeasurementNoise::Auto | MeasurementNoise::None);
        let unconstrained = self.mean.is_none() && self.floors.is_empty() && self.mask.is_none();
        dim <= limits::TWO_FORMS
            && noiseless
            && unconstrained
            && self.degrees.is_none()
            && self.leading.is_none()
    }

    /// The same with recipe generator where terms of drift and diffusion are chosen or given, which it alone knows.
    pub(super) fn for_terms(&self) -> Result<Self> {
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
    pub(super) fn allows_charts(&self, ensemble: &Ensemble) -> bool {
        let semigroup = !matches!(self.recipe, Recipe::Weak | Recipe::Constant | Recipe::Paper);
        let noiseless = matches!(self.noise, MeasurementNoise::Auto | MeasurementNoise::None);
        let on_lines = !ensemble.has_circles() && !ensemble.has_walls();
        semigroup
            && noiseless
            && on_lines
            && self.leading.is_none()
            && ensemble.dim() <= limits::CHARTS
    }

    /// How degrees from `lowest` up to `top` are chosen.
    pub(super) fn ladder(&self, lowest: (usize, usize), top: (usize, usize)) -> LadderConfig {
        LadderConfig {
            diffusion_degree: top.0,
            current_degree: top.1,
            lowest,
            fields: self.max_coefficients,
            caution: self.caution,
            significance: true,
            fit: self.fit(),
        }
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
