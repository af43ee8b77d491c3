//! A comparison that could not be made.

use super::{Comparison, RecordSummary, ValidateConfig, Validation};
use crate::finding::{Finding, FindingKind, Severity, Verdict};

impl Validation {
    /// The outcome for data called `names` where nothing could be compared, for this `reason`: every number is
    /// NaN, every comparison empty, and the verdict a failure.
    pub(crate) fn missing(names: &[String], reason: &str, config: &ValidateConfig) -> Self {
        let finding = Finding::new(
            FindingKind::Missing,
            Severity::Fail,
            format!("the model was not compared with the held-out data: {reason}"),
            "without a comparison nothing is known of the quality of this model",
        );
        Self {
            names: names.to_vec(),
            sampling_interval: 0.0,
            horizon: 0.0,
            held_out: RecordSummary {
                name: "held-out data".into(),
                role: None,
                trajectories: 0,
                samples: 0,
                decorrelation_times: vec![None; names.len()],
            },
            blocks: 0,
            rollouts: Vec::new(),
            correlation_rmse: f64::NAN,
            noise_floor: f64::NAN,
            rmse_over_floor: f64::NAN,
            constant_rmse: None,
            density_l1: f64::NAN,
            density_l1_floor: f64::NAN,
            correlations: Comparison::default(),
            other_correlations: Comparison::default(),
            marginals: Comparison::default(),
            joints: Comparison::default(),
            spectra: Comparison::default(),
            passages: Comparison::default(),
            windings: Comparison::default(),
            extents: Vec::new(),
            reasons: vec![finding],
            verdict: Verdict::Fail,
            notes: Vec::new(),
            config: config.clone(),
        }
    }

    /// Whether nothing could be compared.
    pub fn is_missing(&self) -> bool {
        self.rollouts.is_empty()
    }
}
