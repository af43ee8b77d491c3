//! Options of a fit.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ring::RingConfig;
use crate::check::CheckConfig;
use crate::data::Ensemble;
use crate::error::{Error, Result};
use crate::mobility::{PaperConfig, Recipe, RecipeConfig};
use crate::nn::TrainConfig;
use crate::observe::{CycleConfig, DelayConfig, ObservationConfig, TrendKind};
use crate::score::{CertificateConfig, ClosedFormConfig, DenoisingConfig};
use crate::simulate::Scheme;
use crate::space::SpaceConfig;
use crate::validate::ValidateConfig;

/// Everything that decides a fit; every part has good defaults.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FitConfig {
    /// The one seed of all random numbers.
    pub seed: u64,
    /// Let pairs reach across gaps (rows with NaN): they are samples that were not taken, not breaks
    /// between records ([`Ensemble::bridged`](crate::Ensemble::bridged)).
    pub bridge_gaps: bool,
    /// Fraction of the data that no fit sees, kept for the validation.
    pub held_out: f64,
    /// Where coordinates live: walls and circles; what the check sees where nothing is said.
    pub space: SpaceConfig,
    /// Trend to remove from the mean: "none", "linear" or "quadratic".
    pub trend: TrendKind,
    /// The cycle that the record follows.
    pub cycle: CycleConfig,
    /// Delayed coordinates as part of the state.
    pub delays: DelayConfig,
    /// The pre-flight check.
    pub check: CheckConfig,
    /// The stationary score.
    pub score: ScoreConfig,
    /// Whether the coordinates are sites of a ring.
    pub ring: RingConfig,
    /// The mobility, and by which recipe.
    pub mobility: RecipeConfig,
    /// The terms of the drift, where they are given.
    pub drift: TermsConfig,
    /// The terms of the diffusion, where they are given.
    pub diffusion: TermsConfig,
    /// Options of the paper's recipe.
    pub paper: PaperConfig,
    /// The simulations of the learned model.
    pub simulate: RolloutConfig,
    /// The comparison with the held-out data.
    pub validate: ValidateConfig,
    /// The time that the fit may take.
    pub limits: LimitsConfig,
}

impl Default for FitConfig {
    fn default() -> Self {
        Self {
            seed: 0,
            bridge_gaps: false,
            held_out: 0.25,
            space: SpaceConfig::default(),
            trend: TrendKind::default(),
            cycle: CycleConfig::default(),
            delays: DelayConfig::default(),
            check: CheckConfig::default(),
            score: ScoreConfig::default(),
            ring: RingConfig::default(),
            mobility: RecipeConfig::default(),
            drift: TermsConfig::default(),
            diffusion: TermsConfig::default(),
            paper: PaperConfig::default(),
            simulate: RolloutConfig::default(),
            validate: ValidateConfig::default(),
            limits: LimitsConfig::default(),
        }
    }
}

/// The terms that a field is a sum of.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TermsConfig {
    /// Polynomials of the coordinates, such as `x^3` or `x*(1 - y)`, for every component of the drift or every
    /// entry of the diffusion; with recipe generator. Empty: all monomials up to a degree.
    pub terms: Vec<String>,
}

/// Options of the stationary score.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ScoreConfig {
    /// Which kind.
    pub kind: ScoreKind,
    /// The closed form; where no degrees are given they follow from the number of coordinates.
    pub closed_form: ClosedFormConfig,
    /// The network.
    pub denoising: DenoisingConfig,
    /// Options of the score's certificate.
    pub certificate: CertificateConfig,
}

impl Default for ScoreConfig {
    fn default() -> Self {
        Self {
            kind: ScoreKind::default(),
            closed_form: ClosedFormConfig {
                degrees: Vec::new(),
                ..ClosedFormConfig::default()
            },
            denoising: DenoisingConfig {
                train: TrainConfig::with_steps(4000),
                ..DenoisingConfig::default()
            },
            certificate: CertificateConfig::default(),
        }
    }
}

/// Kinds of stationary score.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ScoreKind {
    /// The closed form; if held-out data reject it, the better of it and a network.
    #[default]
    Auto,
    /// The gradient of a polynomial.
    ClosedForm,
    /// A network trained by denoising.
    Denoising,
}

/// Options of the simulations for the validation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RolloutConfig {
    /// Numerical scheme; by default the one of [`default_step`](crate::model::default_step).
    pub scheme: Option<Scheme>,
    /// Step of the scheme; by default found by trial.
    pub dt: Option<f64>,
    /// Length of all trajectories together, in lengths of the whole record.
    pub length: f64,
    /// Length of each trajectory, instead of what follows from `length`.
    pub time: Option<f64>,
    /// Least number of trajectories.
    pub trajectories: usize,
}

impl Default for RolloutConfig {
    fn default() -> Self {
        Self {
            scheme: None,
            dt: None,
            length: 1.0,
            time: None,
            trajectories: 64,
        }
    }
}

/// Limits of a fit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LimitsConfig {
    /// Seconds for the whole fit. A stage that would take more than its share is stopped, and the fit continues
    /// with less and says so. By default 600; no limit for rings, the paper's recipe, and networks set by
    /// `score.kind`.
    pub seconds: Option<f64>,
}

impl FitConfig {
    /// The record with its gaps, or bridged if `bridge_gaps` is set.
    pub(super) fn record<'a>(&self, ensemble: &'a Ensemble) -> Result<Cow<'a, Ensemble>> {
        Ok(match self.bridge_gaps {
            true => Cow::Owned(ensemble.bridged()?),
            false => Cow::Borrowed(ensemble),
        })
    }

    /// Relation between record and state.
    ///
    /// # Errors
    /// When a ring is combined with trend, cycle or delays, or delays with a recipe that does not support them.
    pub(super) fn observation(&self) -> Result<ObservationConfig> {
        let observation = ObservationConfig {
            trend: self.trend,
            cycle: self.cycle,
            delays: self.delays,
        };
        if self.ring.sites > 0 && !observation.is_plain() {
            return Err(Error::input(
                "a ring cannot be fitted with trend, cycle or delays; remove these options, or ring.sites",
            ));
        }
        let delayed = self.delays != DelayConfig::default();
        if delayed && matches!(self.mobility.recipe, Recipe::Paper | Recipe::Weak) {
            return Err(Error::input(
                "delays need recipe semigroup or auto; change mobility.recipe, or remove delays",
            ));
        }
        Ok(observation)
    }

    /// From the text of a TOML file.
    ///
    /// # Errors
    /// When it is not TOML, a key or value is not known, or a number is out of its range; the message shows
    /// the place.
    pub fn from_toml(text: &str) -> Result<Self> {
        let config: Self = toml::from_str(text).map_err(|error| {
            let before = error.span().and_then(|span| text.get(..span.start));
            let place = before.map_or(String::new(), |before| {
                let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
                format!(
                    "line {}, column {column}: ",
                    before.matches('\n').count() + 1
                )
            });
            let message: Vec<&str> = error.message().lines().map(str::trim).collect();
            Error::input(format!("{place}{}", message.join("; ")))
        })?;
        config.check()?;
        Ok(config)
    }

    /// The text of a TOML file.
    ///
    /// # Errors
    /// When a value cannot be written as TOML.
    pub(super) fn to_toml(&self) -> Result<String> {
        toml::to_string(self).map_err(|error| {
            Error::numerical(format!("the configuration cannot be written: {error}"))
        })
    }

    /// This configuration with `key=value` changes, the keys dotted as in `mobility.recipe=weak`, the
    /// values JSON or plain text.
    ///
    /// # Errors
    /// When a key does not exist, a value does not fit or a number is out of its range; the message names it.
    pub fn with_changes(&self, changes: &[String]) -> Result<Self> {
        let mut whole = serde_json::to_value(self).expect("a configuration is plain data");
        for change in changes {
            let (key, value) = change.split_once('=').ok_or_else(|| {
                Error::input(format!(
                    "--set {change}: expected key=value, for example mobility.recipe=weak"
                ))
            })?;
            let value = serde_json::from_str(value).unwrap_or_else(|_| Value::from(value));
            let mut place = &mut whole;
            for part in key.split('.') {
                let Value::Object(map) = place else {
                    return Err(Error::input(format!(
                        "--set {key}: the key before `{part}` is a value, not \
                                                     a section"
                    )));
                };
                let named = key.starts_with("space.") || key.starts_with("mobility.charts.");
                if named && !map.contains_key(part) {
                    // Its keys are the names of coordinates.
                    map.insert(part.to_owned(), Value::Null);
                }
                let known: Vec<String> = map.keys().cloned().collect();
                place = map
                    .get_mut(part)
                    .ok_or_else(|| unknown_key(key, part, &known))?;
            }
            *place = value;
            // Each change by itself, so that the message can name it.
            serde_json::from_value::<Self>(whole.clone())
                .map_err(|error| Error::input(format!("--set {change}: {error}")))?;
        }
        let changed: Self =
            serde_json::from_value(whole).map_err(|error| Error::input(error.to_string()))?;
        changed.check()?;
        Ok(changed)
    }
}

/// The error for a key that does not exist, with the key that was probably meant.
fn unknown_key(key: &str, part: &str, known: &[String]) -> Error {
    let advice = match FitConfig::nearest_key(key) {
        Some(nearest) => format!("did you mean `{nearest}`? `ergode config --show` lists all keys"),
        None => format!("expected one of {}", known.join(", ")),
    };
    Error::input(format!("--set {key}: unknown key `{part}`; {advice}"))
}
