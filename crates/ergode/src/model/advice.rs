//! How long a step may be.

use serde::{Deserialize, Serialize};

use super::LangevinModel;
use super::damping::longest_step;
use super::search::{Search, StepAdvice, StepConfig};
use crate::control::Control;
use crate::error::Result;
use crate::finding::{Finding, FindingKind, Severity};
use crate::simulate::{Scheme, SimulateConfig};

/// Step and scheme of a simulation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepChoice {
    /// The step.
    pub dt: f64,
    /// The scheme.
    pub scheme: Scheme,
    /// What is known of the step, where its error may be large.
    pub finding: Option<Finding>,
    /// True where the noise is so weak that trials would take too many steps, as long simulations do.
    #[serde(default)]
    pub is_slow: bool,
}

/// Step and scheme for a simulation of which nothing is said. The step is that of
/// [`advise_step`](super::advise_step) in one or two coordinates, at most `longest`. In more, where coupled runs take
/// long, it is a fiftieth (Platen: a tenth) of the time in which the drift changes
/// ([`LangevinModel::fastest_rate`]): a weak error of about a percent for the fastest mode, less for others. In any
/// number of coordinates it is short enough for the damping of every mode.
///
/// Without a `scheme`, in one or two coordinates without walls, Platen's is tried first. In a relaxation of time τ
/// the variance of Euler's scheme is off by Δ/2τ, that of Platen's by (Δ/2τ)²: with a tolerance ε its steps are
/// 1/√ε times longer, and have 3 to 13 evaluations instead of 2. Euler's is tried where no step of Platen's is
/// known to be short enough. In more coordinates the scheme is Euler's, unless a rotation that is fast beside its
/// damping makes steps of Platen's much longer.
///
/// # Errors
/// As for [`advise_step`](super::advise_step).
pub fn default_step(
    model: &LangevinModel,
    scheme: Option<Scheme>,
    longest: Option<f64>,
    config: &StepConfig,
    control: &Control,
) -> Result<StepChoice> {
    let rule = Rule::new(model, config);
    let free = scheme.is_none() && !model.space().has_walls();
    if model.dim() > 2 {
        let scheme = match scheme {
            None if rule.is_rotating(Scheme::Euler)? => Scheme::Platen,
            scheme => scheme.unwrap_or_default(),
        };
        return Ok(StepChoice {
            dt: rule.step(scheme)?,
            scheme,
            finding: None,
            is_slow: false,
        });
    }
    let longest = longest.unwrap_or(f64::INFINITY);
    let searched = |scheme: Scheme| rule.search(scheme, longest, control);
    let first = match free {
        true => Scheme::Platen,
        false => scheme.unwrap_or_default(),
    };
    let without_trial = |reason: &str, is_slow: bool| {
        Ok(StepChoice {
            dt: rule.step(first)?,
            scheme: first,
            finding: Some(untried(reason)),
            is_slow,
        })
    };
    let advice = match searched(first) {
        Ok(Some(advice)) => advice,
        Ok(None) => {
            let reason = "the noise is so weak that trials would take too many steps";
            return without_trial(reason, true);
        }
        Err(error) if error.is_late() => return without_trial(&error.to_string(), false),
        Err(error) => return Err(error),
    };
    let (advice, scheme) = match free && advice.is_doubtful() {
        true => match searched(Scheme::Euler) {
            Ok(Some(other)) if other.bound() < advice.bound() => (other, Scheme::Euler),
            Err(error) if !error.is_late() => return Err(error),
            _ => (advice, first),
        },
        false => (advice, first),
    };
    // Coupled runs are too short to see the damping of a slow mode.
    let dt = match scheme == Scheme::Platen || rule.is_rotating(scheme)? {
        true => advice.recommended.min(rule.step(scheme)?),
        false => advice.recommended,
    };
    Ok(StepChoice {
        dt,
        scheme,
        finding: advice.finding,
        is_slow: false,
    })
}

/// Steps that follow from how fast the drift changes and turns.
struct Rule<'a> {
    model: &'a LangevinModel,
    config: &'a StepConfig,
    changes: f64,
}

impl<'a> Rule<'a> {
    fn new(model: &'a LangevinModel, config: &'a StepConfig) -> Self {
        Self {
            model,
            config,
            changes: 1.0 / model.fastest_rate(),
        }
    }

    /// What stiffness asks for.
    fn stiff(&self, scheme: Scheme) -> f64 {
        match scheme {
            Scheme::Euler => self.changes / 50.0,
            Scheme::Platen => self.changes / 10.0,
        }
    }

    /// What stiffness and the damping of every mode ask for.
    fn step(&self, scheme: Scheme) -> Result<f64> {
        // The stiff part of the rule has an error of a percent.
        let tolerance = self.config.tolerance.max(0.012);
        longest_step(self.model, scheme, self.stiff(scheme), tolerance)
    }

    /// Whether the damping asks for much shorter steps than stiffness.
    fn is_rotating(&self, scheme: Scheme) -> Result<bool> {
        const ROTATING: f64 = 0.25;
        Ok(self.step(scheme)? < ROTATING * self.stiff(scheme))
    }

    /// The advice on the steps of a scheme, none of which is above `longest`. The first of Platen's is that of the
    /// rule, above which none is used, unless trials of it take too long. None where trials of the longest do, too.
    fn search(
        &self,
        scheme: Scheme,
        longest: f64,
        control: &Control,
    ) -> Result<Option<StepAdvice>> {
        let config = StepConfig {
            scheme,
            ..*self.config
        };
        let first = match scheme {
            Scheme::Platen => longest.min(self.step(scheme)?),
            Scheme::Euler => longest,
        };
        for start in [first, longest] {
            let search = Search::new(self.model, &config, start)?;
            if search.is_affordable() {
                return search.run(control).map(Some);
            }
        }
        Ok(None)
    }
}

/// The finding on a step that no trial confirmed.
fn untried(reason: &str) -> Finding {
    Finding::new(
        FindingKind::Step,
        Severity::Warn,
        format!(
            "no step of the simulations was found by trial, because {reason}; the step follows from how \
             fast the drift changes"
        ),
        "set simulate.dt, and compare the results with those of half that step",
    )
}

/// The configuration of a simulation, with defaults from the model. The scheme is that of the validation
/// ([`LangevinModel::validated_step`]), Euler for a model that was not validated. Without `dt` the step is
/// that of the validation, or of [`default_step`] for a model that was not validated, shortened so that a
/// whole number of steps makes `save_every`. Without `save_every` each step is saved.
///
/// # Errors
/// As for [`advise_step`](super::advise_step).
pub fn simulation_protocol(
    model: &LangevinModel,
    time: f64,
    dt: Option<f64>,
    save_every: Option<f64>,
    trajectories: usize,
    seed: u64,
    control: &Control,
) -> Result<SimulateConfig> {
    let validated = model.validated_step();
    let fitting = |dt: f64| save_every.map_or(dt, |every| whole_steps(every, dt));
    let known = validated.map_or_else(Scheme::default, |(_, scheme)| scheme);
    let (dt, scheme) = match (dt, validated) {
        (Some(dt), _) => (dt, known),
        (None, Some((dt, _))) => (fitting(dt), known),
        (None, None) => {
            let steps = StepConfig {
                seed,
                ..StepConfig::default()
            };
            let choice = default_step(model, None, save_every, &steps, control)?;
            (fitting(choice.dt), choice.scheme)
        }
    };
    Ok(SimulateConfig {
        time,
        dt,
        save_every: save_every.unwrap_or(dt),
        trajectories,
        seed,
        scheme,
        burn_in: 0.0,
    })
}

/// The longest step that is not above `longest`, a whole number of which makes `interval`.
fn whole_steps(interval: f64, longest: f64) -> f64 {
    // A factor of rounding, so that 0.07 is seven steps of 0.01.
    let steps = (interval / longest * (1.0 - 1e-9)).ceil();
    interval / steps
}
