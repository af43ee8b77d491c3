//! A certificate that could not be made.

use ndarray::Array2;

use super::certificate::ScoreCertificate;
use super::identity::IdentityTest;
use crate::finding::{Finding, FindingKind, Severity, Verdict};

impl ScoreCertificate {
    /// The certificate of a score of `dim` coordinates that could not be judged, for this `reason`: every
    /// number is NaN, no identity is tested, and the verdict is a failure.
    pub(crate) fn missing(dim: usize, reason: &str) -> Self {
        let finding = Finding::new(
            FindingKind::Missing,
            Severity::Fail,
            format!("the score was not certified: {reason}"),
            "without a certificate nothing is known of the quality of this score",
        );
        Self {
            blocks: 0,
            stein: Array2::zeros((dim, dim)),
            stein_error: f64::NAN,
            stein_floor: f64::NAN,
            identities: Vec::new(),
            test: IdentityTest {
                count: 0,
                worst: String::new(),
                z: 0.0,
                probability: 1.0,
            },
            relative_error: f64::NAN,
            relative_floor: f64::NAN,
            loss: None,
            resampling: None,
            findings: vec![finding],
            verdict: Verdict::Fail,
        }
    }

    /// Whether the score could not be judged.
    pub fn is_missing(&self) -> bool {
        self.blocks == 0
    }
}
