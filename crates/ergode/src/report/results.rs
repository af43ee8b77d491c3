//! `results.json`: what a run found, under names that stay.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::finding::Verdict;
use crate::forecast::ForecastSkill;
use crate::mobility::{EdgeKind, Recipe};
use crate::model::{ModelEquation, Term};
use crate::observe::{DelayTrial, Observation};
use crate::space::Domain;
use crate::stats::nan_if_null;
use crate::validate::Climatology;

/// The content of `results.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// The version that made it.
    pub ergode: String,
    /// The recipe of the mobility.
    pub recipe: Recipe,
    /// Why that one.
    pub recipe_reason: String,
    /// The one seed.
    pub seed: u64,
    /// Fingerprint of the data, in hexadecimal digits.
    pub data: String,
    /// Seconds that each stage took when it was done, and in all.
    pub wall_s: BTreeMap<String, f64>,
    /// The score.
    pub score: ScoreResults,
    /// The mobility.
    pub mobility: MobilityResults,
    /// Automatic decisions, with reasons.
    #[serde(default)]
    pub policy: Vec<Decision>,
    /// Domain of every coordinate that is not a line, with the reason.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub space: BTreeMap<String, SpaceResults>,
    /// Drift and diffusion as polynomials of the state, in its units, where they are such.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub equation: Option<EquationResults>,
    /// The comparison with held-out data.
    pub validation: ValidationResults,
    /// Skill of forecasts of held-out data, where it could be measured.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub skill: Option<ForecastSkill>,
    /// Irreversibility of the model.
    pub entropy_production: Option<Measured>,
    /// Relation between record and state, if they differ.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub observation: Option<ObservationResults>,
    /// Against the exact answer, where a reference system knows it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub truth: Option<Truth>,
    /// Comparison with the paper, if one of its benchmarks was reproduced.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reproduction: Option<Reproduction>,
}

/// dx = b dt + √2 Σ dW with Σ Σᵀ = D, term by term.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EquationResults {
    /// b by coordinate.
    pub drift: BTreeMap<String, Vec<Term>>,
    /// D by entry, `x,y` with the coordinates in their order.
    pub diffusion: BTreeMap<String, Vec<Term>>,
    /// The map to the coordinates that coefficients of the mobility belong to.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub standardisation: Option<Standardisation>,
}

/// z = (x − mean)/scale, one of each for every coordinate in their order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Standardisation {
    /// Means.
    pub mean: Vec<f64>,
    /// Scales.
    pub scale: Vec<f64>,
}

impl EquationResults {
    /// The terms of an equation.
    pub fn new(equation: &ModelEquation) -> Self {
        let names = &equation.names;
        let entry = |(i, j): (usize, usize)| format!("{},{}", names[i], names[j]);
        let drift = names.iter().cloned().zip(equation.drift.clone());
        let diffusion = equation
            .entries()
            .map(entry)
            .zip(equation.diffusion.clone());
        Self {
            drift: drift.collect(),
            diffusion: diffusion.collect(),
            standardisation: Some(Standardisation {
                mean: equation.standardiser.mean.clone(),
                scale: equation.standardiser.scale.clone(),
            }),
        }
    }
}

/// Where a coordinate lives.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SpaceResults {
    /// The domain.
    pub kind: Domain,
    /// What it is, in words.
    pub description: String,
    /// What its lower and upper edge are to the process.
    #[serde(default)]
    pub edges: [Option<EdgeKind>; 2],
    /// The function of the coordinate whose polynomials are the test functions, where it is not the coordinate.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub chart: Option<String>,
    /// Why.
    pub reason: String,
}

/// A choice that the fit made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// What was decided.
    pub decision: String,
    /// What was chosen.
    pub choice: String,
    /// Why.
    pub reason: String,
}

/// The observation in brief.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ObservationResults {
    /// What it is, in words.
    pub summary: Vec<String>,
    /// The map between record and state.
    pub map: Observation,
    /// The numbers of delays that were tested.
    pub delay_trials: Vec<DelayTrial>,
}

/// A number with its standard error.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// The number.
    pub value: f64,
    /// Its standard error.
    pub stderr: f64,
}

/// The score in brief.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScoreResults {
    /// What it is.
    pub kind: String,
    /// Why it is that.
    pub reason: String,
    /// ‖⟨z sᵀ⟩ + 1‖ / √D on held-out data, z standardised.
    #[serde(deserialize_with = "nan_if_null")]
    pub stein_error: f64,
    /// Lower bound on its relative error, from held-out data.
    #[serde(deserialize_with = "nan_if_null")]
    pub relative_error: f64,
    /// Verdict of its certificate.
    pub verdict: Verdict,
}

/// The mobility in brief.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MobilityResults {
    /// What it is.
    pub kind: String,
    /// Coefficients by label, none for a network.
    pub coefficients: BTreeMap<String, Measured>,
    /// χ² per equation, where the fit has one.
    pub chi2_per_equation: Option<f64>,
    /// Ratio of the largest to the smallest singular value of the design.
    pub condition: Option<f64>,
    /// Directions that the data fix, of all.
    pub effective_rank: Option<usize>,
    /// Fraction of the training samples where D is not positive definite.
    pub psd_violation: f64,
    /// Covariance of the measurement noise that the record was freed from, by `S[x,y]`, in its units.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub measurement_noise: Option<BTreeMap<String, Measured>>,
    /// Warnings.
    pub warnings: Vec<String>,
}

/// The validation in brief.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ValidationResults {
    /// Mean over curves of the rms over lags of C_model − C_data.
    #[serde(deserialize_with = "nan_if_null")]
    pub correlation_rmse: f64,
    /// Its average for an independent record of the held-out size.
    #[serde(deserialize_with = "nan_if_null")]
    pub noise_floor: f64,
    /// Their ratio.
    #[serde(deserialize_with = "nan_if_null")]
    pub rmse_over_floor: f64,
    /// The ratio for observables that are not in the fit.
    #[serde(deserialize_with = "nan_if_null")]
    pub other_over_floor: f64,
    /// `correlation_rmse` of the constant closure.
    pub constant_rmse: Option<f64>,
    /// Distance of the marginal densities.
    #[serde(deserialize_with = "nan_if_null")]
    pub density_l1: f64,
    /// Its average for an independent record.
    #[serde(deserialize_with = "nan_if_null")]
    pub density_l1_floor: f64,
    /// Fraction of the simulated samples outside the support of the data.
    #[serde(deserialize_with = "nan_if_null")]
    pub out_of_support: f64,
    /// Fraction of the simulated samples where D is not positive definite.
    #[serde(default, deserialize_with = "nan_if_null")]
    pub indefinite: f64,
    /// Step of the simulations.
    #[serde(deserialize_with = "nan_if_null")]
    pub dt: f64,
    /// Mean and variance by phase of the cycle, where the model has one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub climatology: Option<Climatology>,
    /// Turns per unit of time of coordinates that are angles: of the held-out data and of the model.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub turns: BTreeMap<String, Turns>,
    /// The verdict.
    pub verdict: Verdict,
    /// Findings that led to the verdict.
    pub reasons: Vec<String>,
}

/// Turns of an angle per unit of time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Turns {
    /// Of the held-out data.
    pub data: Measured,
    /// Of the simulations of the model.
    pub model: Measured,
}

/// Relative L2(p_ss) errors against the exact answer.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Truth {
    /// Of the score.
    pub score_rel_l2: f64,
    /// Of D.
    #[serde(rename = "D_rel_l2")]
    pub diffusion_rel_l2: f64,
    /// Of R; none where R is zero.
    #[serde(rename = "R_rel_l2")]
    pub current_rel_l2: Option<f64>,
    /// rms(M − M_exact) / rms(M_exact − Φ); none where M is constant.
    #[serde(rename = "M_rel_delta")]
    pub mobility_rel_delta: Option<f64>,
}

/// A benchmark of the paper done again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reproduction {
    /// Which benchmark.
    pub benchmark: String,
    /// At which scale.
    pub scale: String,
    /// The machine.
    pub machine: String,
    /// Seconds in all, the reference data included.
    pub seconds: f64,
    /// Numbers, in the order in which a reader wants them.
    pub numbers: Vec<Reproduced>,
    /// Choices that the paper leaves open.
    pub choices: Vec<String>,
    /// Differences from the paper, and their reasons.
    pub differences: Vec<String>,
}

/// A number, with the paper's value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reproduced {
    /// A name that stays.
    pub key: String,
    /// What it is.
    pub what: String,
    /// The number found.
    pub found: f64,
    /// Its standard error, where it has one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub stderr: Option<f64>,
    /// The paper's.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub paper: Option<f64>,
    /// The exact one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub exact: Option<f64>,
}

impl Reproduced {
    /// A number by itself.
    pub(crate) fn new(key: &str, what: impl Into<String>, found: f64) -> Self {
        Self {
            key: key.into(),
            what: what.into(),
            found,
            stderr: None,
            paper: None,
            exact: None,
        }
    }

    /// With its standard error.
    pub(crate) fn give_or_take(mut self, stderr: f64) -> Self {
        self.stderr = Some(stderr);
        self
    }

    /// With the paper's.
    pub(crate) fn paper(mut self, value: f64) -> Self {
        self.paper = Some(value);
        self
    }

    /// With the exact one.
    pub(crate) fn exact(mut self, value: f64) -> Self {
        self.exact = Some(value);
        self
    }
}
