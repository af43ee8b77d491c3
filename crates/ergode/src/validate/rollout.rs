//! Simulations that are compared with data.

use serde::{Deserialize, Serialize};

use crate::data::Ensemble;

/// The kind of model that a rollout simulates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RolloutRole {
    /// The learned model, which is judged.
    Learned,
    /// The same score with the constant mobility, for comparison.
    Constant,
    /// An independent run of the system that the data are from; no model can be closer to the data.
    Reference,
    /// Anything else, for comparison.
    Other,
}

/// A simulation of a model, without its transient.
#[derive(Clone, Debug)]
pub struct Rollout {
    /// Name of the model.
    pub name: String,
    /// The kind of model that it simulates.
    pub role: RolloutRole,
    /// The trajectories; as many samples as the held-out data or more.
    pub ensemble: Ensemble,
}
