//! Quantities that are zero for the truth, with their significance.

use serde::{Deserialize, Serialize};

use crate::lagged::Jackknife;
use crate::stats::{normal_score, normal_tails};

/// An average that is zero for the exact score.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Identity {
    /// Label of the average.
    pub label: String,
    /// Its average over the samples.
    pub value: f64,
    /// Standard error over blocks.
    pub error: f64,
    /// Value over error, as the normal score of a Student t with one degree of freedom less than
    /// there are blocks; infinite where the value is not a number.
    pub z: f64,
}

/// The identities together: is the largest |z| more than chance would give?
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IdentityTest {
    /// Number of identities.
    pub count: usize,
    /// Label of the one with the largest |z|.
    pub worst: String,
    /// Its z.
    pub z: f64,
    /// The probability of so large a |z| among all of them, at most `count` times that of one
    /// (Bonferroni). It needs no covariance, which is singular when there are fewer blocks than
    /// identities, and for correlated identities it errs towards silence.
    pub probability: f64,
}

impl Identity {
    /// One identity per value of the jackknife.
    pub(crate) fn from_jackknife(labels: &[String], estimate: &Jackknife) -> Vec<Self> {
        let nu = (estimate.deviations.nrows() - 1) as f64;
        let measured = estimate.values.iter().zip(estimate.errors());
        labels
            .iter()
            .zip(measured)
            .map(|(label, (&value, error))| {
                let t = if value == 0.0 { 0.0 } else { value / error };
                let z = normal_score(t, nu);
                Self {
                    label: label.clone(),
                    value,
                    error,
                    z: if z.is_nan() { f64::INFINITY } else { z },
                }
            })
            .collect()
    }
}

impl IdentityTest {
    /// Test of all `identities`; `None` for an empty list.
    pub(crate) fn new(identities: &[Identity]) -> Option<Self> {
        let worst = identities
            .iter()
            .max_by(|a, b| a.z.abs().total_cmp(&b.z.abs()))?;
        let count = identities.len();
        Some(Self {
            count,
            worst: worst.label.clone(),
            z: worst.z,
            probability: (count as f64 * normal_tails(worst.z)).min(1.0),
        })
    }
}
