//! Results of a run as plain data: everything that its page shows.

use serde::{Deserialize, Serialize};

use super::benchmark::BenchmarkPart;
use super::results::Results;
use super::{FieldMaps, NetworkResiduals, SpaceTime, SpinMaps};
use crate::check::CheckReport;
use crate::error::Result;
use crate::forecast::{ForecastReferences, ForecastSkill};
use crate::mobility::{MobilityFit, Structure};
use crate::observe::Observation;
use crate::score::ScoreCertificate;
use crate::validate::{
    Climatology, EntropyProduction, ResponseCheck, SpectrumComparison, Validation,
};

/// A part of the results, or why there is none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part<T> {
    /// It was computed.
    Done(T),
    /// It could not be computed, for this reason.
    Missing(String),
}

impl<T> Part<T> {
    /// The outcome of a computation that a run can do without.
    ///
    /// # Errors
    /// When the work was stopped on request.
    pub fn of(outcome: Result<T>) -> Result<Self> {
        match outcome {
            Ok(value) => Ok(Self::Done(value)),
            Err(error) if error.is_interrupted() => Err(error),
            Err(error) => Ok(Self::Missing(error.to_string())),
        }
    }

    /// The value, if it was computed.
    pub fn done(&self) -> Option<&T> {
        match self {
            Self::Done(value) => Some(value),
            Self::Missing(_) => None,
        }
    }
}

/// Everything that [`run_page`](super::run_page) shows. Parts that do not apply to a run are `None`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RunRecord {
    /// `results.json`.
    pub results: Results,
    /// Names of the coordinates of the state.
    pub names: Vec<String>,
    /// Sites of the ring; zero without one.
    pub sites: usize,
    /// The configuration, as TOML.
    pub configuration: String,
    /// Relation between record and state.
    pub observation: Observation,
    /// The pre-flight check.
    pub check: CheckReport,
    /// What was learned.
    pub learned: LearnedRecord,
    /// Score and mobility where the held-out samples are.
    pub fields: Option<Part<FieldRecord>>,
    /// The comparison with held-out data.
    pub validation: Validation,
    /// Further results of the simulations.
    pub evidence: Evidence,
    /// Parts of a benchmark of the paper, in the order of the page.
    pub benchmark: Vec<BenchmarkPart>,
}

/// Score and mobility with their diagnostics.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LearnedRecord {
    /// Certificate of the score on held-out data.
    pub certificate: ScoreCertificate,
    /// The fit of the mobility in a linear span.
    pub fit: Option<MobilityFit>,
    /// The equations that a network was trained on.
    pub network: Option<NetworkResiduals>,
    /// Which entries of the mobility matter.
    pub structure: Option<Part<Structure>>,
    /// Irreversibility.
    pub entropy_production: Part<EntropyProduction>,
}

/// Fields of one or two coordinates, or of a ring of spins.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FieldRecord {
    /// Of one or two coordinates.
    Plane(Box<FieldMaps>),
    /// The onsite block of spins.
    Spins(SpinMaps),
}

/// Comparisons besides those of the validation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// Time scales of model and held-out data.
    pub spectrum: Part<SpectrumComparison>,
    /// The response of the model to a kick.
    pub response: Part<ResponseCheck>,
    /// Mean and variance by phase, for a model with a cycle.
    pub climatology: Option<Part<Climatology>>,
    /// A ring in space and time, data and model.
    pub space_time: Option<Part<SpaceTime>>,
    /// Skill of forecasts of the held-out data; none in runs of versions before it.
    #[serde(default)]
    pub skill: Option<Part<ForecastRecord>>,
}

/// Skill of forecasts, with the forecasts that they are compared with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ForecastRecord {
    /// Scores by lead.
    pub skill: ForecastSkill,
    /// Climatology and linear inverse model of the training data.
    pub references: ForecastReferences,
}
