//! Comparison of rollouts with held-out data, in units of the noise floor.

mod climatology;
mod config;
mod correlations;
mod curves;
mod density;
mod entropy;
mod extent;
mod floor;
mod increments;
mod missing;
mod modes;
mod observables;
mod passage;
mod response;
mod ring;
mod rollout;
mod setting;
mod spectrum;
mod transitions;
mod usable;
mod verdict;
mod winding;

pub(crate) use usable::refuse_unusable;

pub use climatology::{Climatology, ClimatologyCurve, compare_climatology};
pub use config::ValidateConfig;
pub use curves::{Comparison, Curve, CurveAxis, RolloutCurve, Worst, WorstPoint};
pub use entropy::{EntropyProduction, entropy_production, entropy_production_of_fit};
pub use extent::Extent;
pub use floor::Distance;
pub(crate) use increments::drift_against_increments;
pub use modes::{LagSpectrum, Mode, SpectrumComparison, SpectrumConfig, compare_spectra};
pub use response::{Response, ResponseCheck, check_response};
pub use ring::{RingCompareConfig, RingComparison, RingErrors, RingRollout, compare_rings};
pub use rollout::{Rollout, RolloutRole};
pub(crate) use transitions::transitions_against_model;

use serde::{Deserialize, Serialize};

use crate::control::Control;
use crate::data::Ensemble;
use crate::error::{Error, Result};
use crate::finding::{Finding, FindingKind, Severity, Verdict, digits};
use crate::stats::nan_if_null;
use setting::Setting;
use verdict::{Judge, judge};

/// An ensemble that was compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordSummary {
    /// Its name.
    pub name: String,
    /// What it is; none for the held-out data.
    pub role: Option<RolloutRole>,
    /// Number of trajectories.
    pub trajectories: usize,
    /// Number of samples, after thinning to the common interval.
    pub samples: usize,
    /// The lag at which the autocorrelation of each coordinate falls below 0.05; none where the record
    /// is too short to show it.
    pub decorrelation_times: Vec<Option<f64>>,
}

/// Rollouts compared with held-out data; see [`validate_rollouts`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Validation {
    /// Names of the coordinates.
    pub names: Vec<String>,
    /// The sampling interval at which all ensembles were compared.
    pub sampling_interval: f64,
    /// The longest lag.
    pub horizon: f64,
    /// The held-out data.
    pub held_out: RecordSummary,
    /// Blocks of the held-out data, from which their errors come.
    pub blocks: usize,
    /// The rollouts; the first is the one that is judged.
    pub rollouts: Vec<RecordSummary>,
    /// Mean over the observables of a fit of the root mean square over lags of C_model − C_data.
    #[serde(deserialize_with = "nan_if_null")]
    pub correlation_rmse: f64,
    /// Its average for an independent record of the size of the held-out one, or of the rollout where that
    /// is shorter.
    #[serde(deserialize_with = "nan_if_null")]
    pub noise_floor: f64,
    /// Mean over the observables of the distance over the floor of each; it depends on no units.
    #[serde(deserialize_with = "nan_if_null")]
    pub rmse_over_floor: f64,
    /// `correlation_rmse` of the constant closure, if it was simulated.
    pub constant_rmse: Option<f64>,
    /// Mean over the coordinates of Σ |p_model − p_data| over bins.
    #[serde(deserialize_with = "nan_if_null")]
    pub density_l1: f64,
    /// Its average for an independent record.
    #[serde(deserialize_with = "nan_if_null")]
    pub density_l1_floor: f64,
    /// Correlations of the observables of a fit.
    pub correlations: Comparison,
    /// Correlations of observables, and at lags, outside a fit; those of the default are functions of
    /// standardised coordinates.
    pub other_correlations: Comparison,
    /// Densities of the coordinates: the probabilities of bins, the outermost of which are open.
    pub marginals: Comparison,
    /// Joint densities of consecutive coordinates.
    pub joints: Comparison,
    /// Logarithms of the power spectra of the coordinates.
    pub spectra: Comparison,
    /// Logarithms of mean passage times between low and high states of the coordinates.
    pub passages: Comparison,
    /// Turns per unit of time of the coordinates that are angles.
    #[serde(default)]
    pub windings: Comparison,
    /// Range and variance, (rollout, coordinate).
    pub extents: Vec<Vec<Extent>>,
    /// Findings, the most severe first.
    pub reasons: Vec<Finding>,
    /// The worst of it.
    pub verdict: Verdict,
    /// Comparisons that were left out, and why.
    pub notes: Vec<String>,
    /// The configuration.
    pub config: ValidateConfig,
}

/// Compare rollouts of a model with data that it was not fitted to.
///
/// Compared are correlations of observables inside and outside a fit, marginal and joint densities,
/// power spectra, mean passage times and decorrelation times. Each distance stands beside the noise
/// floor, the distance that an independent record of the same size would have, and its probability by
/// chance; errors are over blocks, and their correlations are kept. Chance is what an
/// exact model would give, or with [`ValidateConfig::training`] one fitted to as much data; the scatter of
/// the rollout counts for no more than three times that of the data. The first rollout is judged.
/// Ensembles with different sampling intervals are thinned to the largest of them.
///
/// # Errors
/// When there is no rollout, the first is not a learned model, dimensions differ, sampling intervals
/// have no common multiple among them, records are too short, or the work is stopped.
///
/// ```
/// use ergode::{Control, Verdict};
/// use ergode::systems::{OrnsteinUhlenbeck, System, generate};
/// use ergode::validate::{RolloutRole, Rollout, ValidateConfig, validate_rollouts};
///
/// let system = OrnsteinUhlenbeck::new(Default::default())?;
/// let (mut protocol, control) = (system.protocol(), Control::new());
/// let held_out = generate(&system, &protocol, &control)?.ensemble;
/// protocol.simulate.seed += 1;
/// let rollout = Rollout {
///     name: "the truth".into(),
///     role: RolloutRole::Learned,
///     ensemble: generate(&system, &protocol, &control)?.ensemble,
/// };
/// let validation =
///     validate_rollouts(&held_out, &[rollout], &ValidateConfig::default(), &control)?;
/// assert_eq!(validation.verdict, Verdict::Pass);
/// assert!(validation.rmse_over_floor < 2.0);
/// # Ok::<(), ergode::Error>(())
/// ```
pub fn validate_rollouts(
    held_out: &Ensemble,
    rollouts: &[Rollout],
    config: &ValidateConfig,
    control: &Control,
) -> Result<Validation> {
    config.validate()?;
    if rollouts.first().map(|rollout| rollout.role) != Some(RolloutRole::Learned) {
        return Err(Error::input(
            "the first rollout must be of the learned model, because the verdict is on the first rollout",
        ));
    }
    let setting = Setting::new(held_out, rollouts, config, control)?;
    let correlations = correlations::training(&setting, config, control)?;
    let other_correlations = correlations::other(&setting, config, control)?;
    let marginals = density::marginals(&setting, config, control)?;
    let joints = density::joints(&setting, config, control)?;
    let mut notes = setting.notes.clone();
    let (mut spectra, mut passages) = (Comparison::default(), Comparison::default());
    if setting.even {
        let (compared, note) = spectrum::spectra(&setting, config, control)?;
        spectra = compared;
        notes.extend(note);
        let (compared, rare) = passage::passages(&setting, config, control)?;
        passages = compared;
        notes.extend(rare);
    }
    let constant = rollouts
        .iter()
        .position(|r| r.role == RolloutRole::Constant);
    let (rmse, density) = (correlations.overall[0], marginals.overall[0]);
    let mut validation = Validation {
        names: held_out.names().to_vec(),
        sampling_interval: setting.interval,
        horizon: setting.horizon,
        blocks: setting
            .blocking(&setting.held_out)
            .plan(&setting.held_out, 0)
            .len(),
        extents: extent::extents(&setting, control)?,
        held_out: summary("held-out data", None, &setting.held_out, &setting.times[0]),
        rollouts: rollouts
            .iter()
            .enumerate()
            .map(|(k, r)| {
                let (ensemble, times) = (&setting.rollouts[k], &setting.times[k + 1]);
                summary(&r.name, Some(r.role), ensemble, times)
            })
            .collect(),
        correlation_rmse: rmse.value,
        noise_floor: rmse.floor,
        rmse_over_floor: rmse.over_floor,
        constant_rmse: constant.map(|k| correlations.overall[k].value),
        density_l1: density.value,
        density_l1_floor: density.floor,
        correlations,
        other_correlations,
        marginals,
        joints,
        spectra,
        passages,
        windings: winding::windings(&setting, config, control)?,
        reasons: Vec::new(),
        verdict: Verdict::Pass,
        notes,
        config: config.clone(),
    };
    validation.reasons = validation.judge(0);
    validation.conclude();
    Ok(validation)
}

fn summary(
    name: &str,
    role: Option<RolloutRole>,
    ensemble: &Ensemble,
    times: &[Option<f64>],
) -> RecordSummary {
    RecordSummary {
        name: name.to_owned(),
        role,
        trajectories: ensemble.len(),
        samples: ensemble.samples(),
        decorrelation_times: times.to_vec(),
    }
}

/// A finding on equations that a fit does not meet, from χ² per equation; values of right fits are 0.1 to
/// 1.5, because equations are weighted by errors that are estimated and those of near lags are alike.
pub(crate) fn judge_misfit(chi2_per_equation: f64) -> Option<Finding> {
    /// Values from which there is a warning, and a failure.
    const WARN: f64 = 3.0;
    const FAIL: f64 = 10.0;
    let severity = match chi2_per_equation {
        chi2 if chi2 < WARN => return None,
        chi2 if chi2 < FAIL => Severity::Warn,
        _ => Severity::Fail,
    };
    Some(Finding::new(
        FindingKind::Misfit,
        severity,
        format!(
            "the fit of the mobility misses its equations: chi^2 per equation is {}, while right fits have \
             about 1",
            digits(chi2_per_equation)
        ),
        "raise the degrees of the mobility (mobility.degrees), or choose another recipe (mobility.recipe)",
    ))
}

impl Validation {
    /// Add what is known from elsewhere, such as the pre-flight check of the data, the time that the
    /// model spent out of the support of the samples, or a diffusion that was not positive; what is only
    /// information is left out.
    pub fn add_findings(&mut self, findings: &[Finding]) {
        let counted = findings.iter().filter(|f| f.severity > Severity::Info);
        self.reasons.extend(counted.cloned());
        self.conclude();
    }

    /// Findings on rollout `k`, counted from 0 in the order given; empty if the comparisons cannot
    /// distinguish it from the data.
    pub fn judge(&self, k: usize) -> Vec<Finding> {
        let families = [
            (&verdict::CORRELATIONS, &self.correlations),
            (&verdict::OTHER_CORRELATIONS, &self.other_correlations),
            (&verdict::MARGINALS, &self.marginals),
            (&verdict::JOINTS, &self.joints),
            (&verdict::SPECTRA, &self.spectra),
            (&verdict::PASSAGES, &self.passages),
            (&verdict::WINDINGS, &self.windings),
        ];
        let judged = |family: &&(_, &Comparison)| !family.1.curves.is_empty();
        let judging = Judge {
            config: &self.config,
            families: families.iter().filter(judged).count(),
            blocks: self.blocks,
        };
        let of_families = families
            .into_iter()
            .filter_map(|(words, comparison)| judge(words, comparison, k, &judging));
        let mut findings: Vec<Finding> = of_families.collect();
        if let Some(extents) = self.extents.get(k) {
            findings.extend(extent::judge(extents, &self.names, &self.config));
        }
        findings
    }

    /// Order the reasons and draw the verdict.
    fn conclude(&mut self) {
        self.reasons.sort_by_key(|f| std::cmp::Reverse(f.severity));
        self.verdict = Verdict::of(&self.reasons);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fit_far_from_its_equations_is_a_finding() {
        let severity = |chi2: f64| judge_misfit(chi2).map(|finding| finding.severity);
        assert_eq!([0.1, 1.5, 2.9].map(severity), [None; 3]);
        assert_eq!(severity(5.0), Some(Severity::Warn));
        assert_eq!([89.0, f64::NAN].map(severity), [Some(Severity::Fail); 2]);
    }
}
