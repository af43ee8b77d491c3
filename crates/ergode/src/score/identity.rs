//! Quantities that are zero for the truth, with their significance.

use serde::{Deserialize, Serialize};

use crate::check::normal_score;
use crate::lagged::Jackknife;

/// An average that is zero for the exact score.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Identity {
    /// What is averaged.
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
    /// Of all `identities`; none where there are none.
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

/// The probability that |Z| of a standard normal number exceeds |z|.
pub(crate) fn normal_tails(z: f64) -> f64 {
    let z = z.abs();
    if z == f64::INFINITY {
        return 0.0;
    }
    let density = (-0.5 * z * z).exp() / (2.0 * std::f64::consts::PI).sqrt();
    if z < 3.0 {
        // Φ(z) − ½ = φ(z) Σ_k z^{2k+1} / (1·3·5···(2k+1)).
        let (mut term, mut sum) = (z, 0.0);
        for k in 1..60 {
            sum += term;
            term *= z * z / f64::from(2 * k + 1);
        }
        1.0 - 2.0 * density * sum
    } else {
        // 1 − Φ(z) = φ(z) / (z + 1/(z + 2/(z + 3/(z + ···)))).
        let fraction = (1..80).rev().fold(z, |rest, k| z + f64::from(k) / rest);
        2.0 * density / fraction
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tails_of_the_normal_law() {
        for (z, tails) in [
            (0.0, 1.0),
            (1.0, 0.317_310_507_862_914_1),
            (1.959_963_984_540_054, 0.05),
            (-3.0, 2.699_796_063_260_19e-3),
            (5.0, 5.733_031_437_583_87e-7),
        ] {
            assert!((normal_tails(z) / tails - 1.0).abs() < 1e-10, "{z}");
        }
        let (below, above) = (normal_tails(3.0 - 1e-9), normal_tails(3.0 + 1e-9));
        assert!((below / above - 1.0).abs() < 1e-7);
    }
}
