//! Every choice that a fit makes for its user, with the reason in words.

use serde::{Deserialize, Serialize};

use super::config::{FitConfig, ScoreKind};
use crate::check::{Angle, CheckReport};
use crate::error::{Error, Result};
use crate::finding::{Finding, FindingKind, Severity};
use crate::limits;
use crate::mobility::{MeasurementNoise, Recipe};
use crate::observe::Observation;
use crate::report::Decision;
use crate::space::{Domain, DomainChoice, Space};

/// With at least so many trajectories, their starts are enough independent states.
const MANY_TRAJECTORIES: usize = 20;

/// Plan of a fit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Plan {
    /// Degrees of the closed-form score that are tried.
    pub(super) degrees: Vec<usize>,
    /// The recipe of the mobility, never [`Recipe::Auto`].
    pub(super) recipe: Recipe,
    /// Treatment of measurement noise.
    pub(super) noise: MeasurementNoise,
    /// Where the coordinates of the state live.
    pub(super) space: Space,
    /// The longest lag.
    pub(super) horizon: f64,
    /// What was noticed on the way.
    pub(super) noticed: Vec<Finding>,
    /// All of it in words.
    pub(super) decisions: Vec<Decision>,
}

impl Plan {
    /// Decide how a record is fitted, given its check and what lies between it and the state.
    ///
    /// # Errors
    /// When nothing can be learned from the record, or options exclude each other.
    pub(super) fn for_record(
        check: &CheckReport,
        observation: &Observation,
        config: &FitConfig,
    ) -> Result<Self> {
        let dim = observation.dim();
        let mut plan = Self {
            degrees: Vec::new(),
            recipe: Recipe::Auto,
            noise: MeasurementNoise::None,
            space: Space::lines(dim),
            horizon: 0.0,
            noticed: Vec::new(),
            decisions: Vec::new(),
        };
        plan.choose_space(check, observation, config)?;
        plan.choose_horizon(check, config)?;
        plan.choose_score(dim, config);
        plan.choose_recipe(dim, config)?;
        plan.choose_noise(check, observation, config)?;
        Ok(plan)
    }

    /// Record a decision, in place of an earlier one on the same matter.
    pub(super) fn decide(
        decisions: &mut Vec<Decision>,
        decision: &str,
        choice: impl Into<String>,
        reason: impl Into<String>,
    ) {
        decisions.retain(|earlier| earlier.decision != decision);
        decisions.push(Decision {
            decision: decision.to_owned(),
            choice: choice.into(),
            reason: reason.into(),
        });
    }

    /// True where no measurement noise is taken out.
    pub(super) fn noise_is_left(&self) -> bool {
        self.noise == MeasurementNoise::None
    }

    /// Why a matter was decided as it was.
    pub(super) fn reason(&self, decision: &str) -> String {
        let made = self.decisions.iter().find(|made| made.decision == decision);
        made.map_or(String::new(), |made| made.reason.clone())
    }

    pub(super) fn choose(
        &mut self,
        decision: &str,
        choice: impl Into<String>,
        reason: impl Into<String>,
    ) {
        Self::decide(&mut self.decisions, decision, choice, reason);
    }

    /// The domain of every coordinate: as configured, else what the check sees.
    fn choose_space(
        &mut self,
        check: &CheckReport,
        observation: &Observation,
        config: &FitConfig,
    ) -> Result<()> {
        config.space.match_names(&observation.names)?;
        for (place, name) in observation.names.iter().enumerate() {
            let report = check.coordinates.iter().find(|c| &c.name == name);
            let angle = report.and_then(|c| c.angle);
            let (domain, reason) = match config.space.of(name) {
                DomainChoice::Auto => match angle.filter(|_| observation.is_plain()) {
                    Some(Angle { low, period }) => (
                        Domain::Circle { low, period },
                        "samples fill one period evenly, and steps between neighbours are short or nearly the \
                         whole period",
                    ),
                    None => continue,
                },
                DomainChoice::Line => (Domain::Line, SET_BY_SPACE),
                DomainChoice::Above(low) => (Domain::Above(low), SET_BY_SPACE),
                DomainChoice::Below(high) => (Domain::Below(high), SET_BY_SPACE),
                DomainChoice::Interval(walls) => (Domain::Interval(walls), SET_BY_SPACE),
                DomainChoice::Circle(period) => {
                    let low = angle.map_or(0.0, |angle| angle.low);
                    (Domain::Circle { low, period }, SET_BY_SPACE)
                }
            };
            self.space.domains[place] = domain;
            self.choose(&space_of(name), domain.describe(), reason);
        }
        if !self.space.is_plain() && !observation.is_plain() {
            return Err(Error::input(
                "walls and circles are not supported together with trend, cycle or delays; remove \
                 these options, or the entries of space",
            ));
        }
        match self.space.has_circles() {
            true => self.require_waves(config),
            false => Ok(()),
        }
    }

    /// Refuses options that do not support angles.
    fn require_waves(&self, config: &FitConfig) -> Result<()> {
        let dim = self.space.domains.len();
        let asked = config.mobility.recipe;
        let obstacle = if config.ring.sites > 0 {
            "rings (ring.sites)".to_owned()
        } else if config.score.kind == ScoreKind::Denoising {
            "score.kind = denoising".to_owned()
        } else if matches!(asked, Recipe::Constant | Recipe::Weak | Recipe::Paper) {
            format!("mobility.recipe = {asked}")
        } else if dim > limits::VARYING_MOBILITY {
            format!("{dim} coordinates (at most {})", limits::VARYING_MOBILITY)
        } else {
            return Ok(());
        };
        let angles = self.space.domains.iter().position(|d| d.period().is_some());
        let example = angles.expect("there is an angle");
        Err(Error::input(format!(
            "coordinate {example} (counted from 0) is an angle, which {obstacle} does not support; change that, \
             or set its entry of space to \"line\""
        )))
    }

    /// The longest decorrelation time, to which lags reach; the longest usable lag if trajectories are
    /// shorter than that but many.
    fn choose_horizon(&mut self, check: &CheckReport, config: &FitConfig) -> Result<()> {
        let coordinates = check.coordinates.iter();
        let longest = coordinates
            .filter_map(|c| c.decorrelation_time)
            .fold(0.0, f64::max);
        let (horizon, reason) = match config.mobility.horizon {
            Some(horizon) => (horizon, "set by mobility.horizon".to_owned()),
            None if longest == 0.0 && check.trajectories >= MANY_TRAJECTORIES => (
                check.usable_lags[1],
                format!(
                    "no coordinate decorrelates within a trajectory, but {} trajectories have enough \
                     independent starts; this is the longest usable lag",
                    check.trajectories
                ),
            ),
            None => (longest, "the longest decorrelation time".to_owned()),
        };
        let (horizon, reason) = match horizon > 0.0 {
            true => (horizon, reason),
            false => self.without_decorrelation(check),
        };
        self.horizon = horizon;
        self.choose("longest lag", format!("{horizon:.4}"), reason);
        Ok(())
    }

    /// A longest lag for a record in which no coordinate decorrelates, and the finding.
    fn without_decorrelation(&mut self, check: &CheckReport) -> (f64, String) {
        /// Part of the mean length of a trajectory.
        const PART: f64 = 0.1;
        self.noticed.push(Finding::new(
            FindingKind::ShortRecord,
            Severity::Fail,
            "no coordinate decorrelates within the record: its law is not known, and the learned model \
             is a guess",
            "give a longer record, or set the longest lag (mobility.horizon); if the gaps are missing \
             samples, set bridge_gaps = true; of a record that drifts away without end give the increments",
        ));
        let rows = check.samples as f64 / check.trajectories.max(1) as f64;
        let longest = (PART * rows).floor().max(1.0) * check.sampling_interval;
        let reason = format!(
            "no coordinate decorrelates within the record; this is {:.0} % of the mean length of a trajectory",
            100.0 * PART
        );
        (longest, reason)
    }

    /// The kind of score, and the degrees that the number of coordinates allows.
    fn choose_score(&mut self, dim: usize, config: &FitConfig) {
        let asked = &config.score.closed_form.degrees;
        self.degrees = match (asked.is_empty(), dim) {
            (false, _) => asked.clone(),
            (true, 1 | 2) => vec![2, 4, 6, 8, 10],
            (true, 3) => vec![2, 4, 6],
            (true, 4..=6) => vec![2, 4],
            (true, 7..=12) => vec![2, 3],
            (true, _) => vec![2],
        };
        let reason = match config.score.kind {
            ScoreKind::Auto => "the closed form, and a network if held-out data reject it",
            ScoreKind::ClosedForm | ScoreKind::Denoising => "set by score.kind",
        };
        let kind = match config.score.kind {
            ScoreKind::Auto => "auto",
            ScoreKind::ClosedForm => "closed form",
            ScoreKind::Denoising => "network",
        };
        self.choose("score", kind, reason);
        if config.score.kind == ScoreKind::Denoising || config.ring.sites > 0 {
            return;
        }
        let degrees: Vec<String> = self.degrees.iter().map(usize::to_string).collect();
        let reason = match asked.is_empty() {
            true => format!(
                "the degrees affordable in {dim} coordinates; held-out data choose among them"
            ),
            false => "set by score.closed_form.degrees".to_owned(),
        };
        self.choose("degrees of the score", degrees.join(", "), reason);
    }

    fn choose_recipe(&mut self, dim: usize, config: &FitConfig) -> Result<()> {
        let asked = config.mobility.recipe;
        let ring = config.ring.sites > 0;
        let most = limits::VARYING_MOBILITY;
        let (recipe, reason) = match asked {
            Recipe::Semigroup | Recipe::Constant if ring => {
                return Err(Error::input(format!(
                    "mobility.recipe = {asked} does not support rings, but ring.sites = {} is set; use \
                     recipe weak or auto, or remove ring.sites",
                    config.ring.sites
                )));
            }
            Recipe::Auto if ring => (
                Recipe::Weak,
                "the weak form uses the local statistics of a ring".to_owned(),
            ),
            Recipe::Auto if dim > most => (
                Recipe::Constant,
                format!(
                    "{dim} coordinates are too many for a state-dependent mobility without known \
                     structure (at most {most}); the constant mobility comes from the integral form with \
                     the score"
                ),
            ),
            Recipe::Auto => (
                Recipe::Auto,
                format!(
                    "no error from the sampling interval, and affordable in up to {most} coordinates; chi^2 \
                     chooses between drift and diffusion (generator) and the mobility (semigroup)"
                ),
            ),
            asked => (asked, "set by mobility.recipe".to_owned()),
        };
        self.recipe = recipe;
        self.choose(RECIPE, recipe.to_string(), reason);
        Ok(())
    }

    /// Treatment of measurement noise: as configured, else as the check suggests.
    fn choose_noise(
        &mut self,
        check: &CheckReport,
        observation: &Observation,
        config: &FitConfig,
    ) -> Result<()> {
        let found = check.findings.iter().any(|f| f.kind == FindingKind::Noise);
        let (noise, reason) = match &config.mobility.noise {
            MeasurementNoise::Auto if found => (
                MeasurementNoise::Estimate,
                "the check found measurement noise",
            ),
            MeasurementNoise::Auto => (
                MeasurementNoise::None,
                "the check found no measurement noise",
            ),
            asked => (asked.clone(), "set by mobility.noise"),
        };
        self.noise = noise;
        self.choose(NOISE, described(&self.noise), reason);
        match self.obstacle(observation, config) {
            Some(obstacle) => self.leave_noise(obstacle, config),
            None => Ok(()),
        }
    }

    /// Reason why the fit cannot correct for noise, if any.
    fn obstacle(&self, observation: &Observation, config: &FitConfig) -> Option<String> {
        let most = limits::MEASUREMENT_NOISE;
        if self.recipe == Recipe::Paper || config.score.kind == ScoreKind::Denoising {
            return Some(
                "networks learn the density with its noise; use recipe semigroup or weak, and score.kind \
                 = \"closed-form\""
                    .into(),
            );
        }
        if self.space.has_circles() {
            return Some(
                "the correction is not supported for angles; set mobility.noise = \"none\"".into(),
            );
        }
        if observation.cycle.is_some() || observation.delays.is_some() {
            return Some("the correction is not supported with a cycle or delays".into());
        }
        if config.ring.sites > 0 {
            return Some("the correction is not supported for rings".into());
        }
        if observation.dim() > most {
            return Some(format!(
                "the correction supports up to {most} coordinates, not {}; select fewer",
                observation.dim()
            ));
        }
        (self.recipe == Recipe::Constant).then(|| {
            "the correction is not supported for a constant mobility; use recipe semigroup or weak".into()
        })
    }

    /// Fit the score in logarithms of the coordinates that are `positive` and come close to zero.
    ///
    /// # Errors
    /// When the configuration requires a noise correction of such a coordinate.
    pub(super) fn with_logarithms(
        mut self,
        positive: &[bool],
        names: &[String],
        config: &FitConfig,
    ) -> Result<Self> {
        let logged = names
            .iter()
            .zip(positive)
            .filter(|(_, positive)| **positive);
        let logged: Vec<&str> = logged.map(|(name, _)| name.as_str()).collect();
        let network = self.recipe == Recipe::Paper || config.score.kind == ScoreKind::Denoising;
        let Some(first) = logged
            .first()
            .filter(|_| !network && config.ring.sites == 0)
        else {
            return Ok(self);
        };
        let obstacle = format!(
            "'{first}' is positive with samples close to zero, so its score is a polynomial of its \
             logarithm, and the correction supports polynomials of the coordinate only; give the \
             logarithm as the coordinate"
        );
        self.choose(
            "logarithms in the score",
            logged.join(", "),
            "positive, with samples close to zero",
        );
        self.leave_noise(obstacle, config)?;
        Ok(self)
    }

    /// Leave measurement noise in the record, or refuse if taking it out was asked for.
    fn leave_noise(&mut self, obstacle: String, config: &FitConfig) -> Result<()> {
        if self.noise == MeasurementNoise::None {
            return Ok(());
        }
        if config.mobility.noise != MeasurementNoise::Auto {
            return Err(Error::input(format!(
                "this fit cannot correct for measurement noise: {obstacle}; or set mobility.noise = \
                 \"none\""
            )));
        }
        self.noise = MeasurementNoise::None;
        self.noticed.push(Finding::new(
            FindingKind::Noise,
            Severity::Warn,
            format!("the fit does not correct for the measurement noise of the record: {obstacle}"),
            "expect a diffusion that is too large",
        ));
        self.choose(NOISE, described(&MeasurementNoise::None), obstacle);
        Ok(())
    }
}

/// The decision on the domain of a coordinate.
pub(super) fn space_of(name: &str) -> String {
    format!("space of {name}")
}

/// The decision on the chart of a coordinate.
pub(super) fn chart_of(name: &str) -> String {
    format!("{CHART}{name}")
}

/// True of the decision on a chart.
pub(super) fn is_chart(decision: &str) -> bool {
    decision.starts_with(CHART)
}

const CHART: &str = "chart of ";

/// Why a coordinate has its domain.
const SET_BY_SPACE: &str = "set by space";

/// The decision on measurement noise, and that on the recipe.
pub(super) const NOISE: &str = "measurement noise";
pub(super) const RECIPE: &str = "recipe";

fn described(noise: &MeasurementNoise) -> &'static str {
    match noise {
        MeasurementNoise::Auto | MeasurementNoise::None => "no correction",
        MeasurementNoise::Estimate => "estimated and corrected for",
        MeasurementNoise::Variances(_) => "corrected for, with the given variances",
    }
}
