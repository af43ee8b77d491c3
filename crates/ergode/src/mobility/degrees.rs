//! Degrees of a drift: chosen by held-out blocks, or averaged where the record hardly decides between them.

use ndarray::{Array1, ArrayView1, Axis, s};

use super::drift_equations::{Plan, Sums};
use crate::error::Result;
use crate::lagged::{deviations, paired};

/// The averages over the blocks that a function keeps.
type OfBlocks<'a> = dyn Fn(&dyn Fn(usize) -> bool) -> Result<Sums> + 'a;

/// The least degree that no higher one is better than on blocks held out.
pub(super) fn held_out(
    plan: &Plan,
    equations: &OfBlocks<'_>,
    blocks: usize,
    mobility: &Array1<f64>,
) -> Result<usize> {
    const FOLDS: usize = 8;
    /// Standard errors by which the loss must fall.
    const CAUTION: f64 = 2.0;
    let folds = FOLDS.min(blocks);
    let mut parts = Vec::new();
    for fold in 0..folds {
        let train = equations(&|b| b % folds != fold)?;
        parts.push((train, equations(&|b| b % folds == fold)?));
    }
    let losses = |degree: usize| -> Vec<f64> {
        let size = plan.functions(degree);
        let of =
            |(train, test): &(Sums, Sums)| test.loss(size, &train.drift(size, mobility), mobility);
        parts.iter().map(of).collect()
    };
    let mut best = (plan.top().min(1), losses(plan.top().min(1)));
    for degree in 2..=plan.top() {
        let tried = losses(degree);
        let (gain, error) = paired(&best.1, &tried);
        if gain > CAUTION * error {
            best = (degree, tried);
        }
    }
    Ok(best.0)
}

/// Degrees of a drift between which the record hardly decides. Their drifts are averaged, so that it does not matter
/// which degree is best by a hair, and the errors of the average, whose weights are found again without every
/// block, contain that choice.
///
/// The best degree has the least risk: ⟨w |b|²⟩/2 + ⟨M : ∇(w b)⟩ on new data, estimated by that of these data plus a
/// multiple of the variance of b over the blocks, ⟨w |δb|²⟩, that of M included.
pub(super) struct Degrees {
    lowest: usize,
    pub(super) highest: usize,
    /// The part of the variance that is added, for each degree.
    penalties: Vec<f64>,
    /// Standard errors of the differences from the least risk.
    errors: Vec<f64>,
}

impl Degrees {
    pub(super) fn one(degree: usize) -> Self {
        Self {
            lowest: degree,
            highest: degree,
            penalties: vec![0.0],
            errors: vec![0.0],
        }
    }

    pub(super) fn likely(
        plan: &Plan,
        whole: &Sums,
        without: &[(Sums, Array1<f64>)],
        mobility: &Array1<f64>,
    ) -> Self {
        /// The plain sum takes a degree by chance once in a few records.
        const CAUTION: f64 = 2.0;
        let variance = |degree: usize| -> f64 {
            let size = plan.functions(degree);
            let refits: Vec<Array1<f64>> = without
                .iter()
                .map(|(sums, mobility)| sums.drift(size, mobility))
                .collect();
            let spread = deviations(&refits);
            let of = |row| whole.square(size, row);
            spread.rows().into_iter().map(of).sum()
        };
        let least = plan.top().min(1);
        let all = Self {
            lowest: least,
            highest: plan.top(),
            penalties: (least..=plan.top())
                .map(|degree| CAUTION * variance(degree))
                .collect(),
            errors: Vec::new(),
        };
        let risks = all.risks(plan, whole, mobility);
        let finite = (0..risks.len()).filter(|k| risks[*k].is_finite());
        let Some(best) = finite.min_by(|a, b| risks[*a].total_cmp(&risks[*b])) else {
            return Self::one(least);
        };
        let differences: Vec<Array1<f64>> = without
            .iter()
            .map(|(sums, mobility)| {
                let risks = all.risks(plan, sums, mobility);
                risks.iter().map(|risk| risk - risks[best]).collect()
            })
            .collect();
        let error = |column: ArrayView1<f64>| column.dot(&column).sqrt();
        let errors = deviations(&differences).map_axis(Axis(0), error).to_vec();
        let weights = weights(&risks, &errors);
        let taken = |k: &usize| weights[*k] > 0.0;
        let lowest = (0..risks.len()).find(taken).unwrap_or(best);
        let highest = (0..risks.len()).rfind(taken).unwrap_or(best);
        Self {
            lowest: least + lowest,
            highest: least + highest,
            penalties: all.penalties[lowest..=highest].to_vec(),
            errors: errors[lowest..=highest].to_vec(),
        }
    }

    fn risks(&self, plan: &Plan, equations: &Sums, mobility: &Array1<f64>) -> Vec<f64> {
        let of = |(degree, penalty): (usize, &f64)| {
            let size = plan.functions(degree);
            let drift = equations.drift(size, mobility);
            equations.loss(size, &drift, mobility) + penalty
        };
        (self.lowest..).zip(&self.penalties).map(of).collect()
    }

    /// The averaged drift, in the functions of the highest degree, (function, coordinate) flat.
    pub(super) fn drift(
        &self,
        plan: &Plan,
        equations: &Sums,
        mobility: &Array1<f64>,
    ) -> Array1<f64> {
        let size = plan.functions(self.highest);
        if self.lowest == self.highest {
            return equations.drift(size, mobility);
        }
        let weights = weights(&self.risks(plan, equations, mobility), &self.errors);
        let mut mean = Array1::zeros(size * plan.dim);
        for (degree, weight) in (self.lowest..).zip(weights) {
            let drift = equations.drift(plan.functions(degree), mobility);
            mean.slice_mut(s![..drift.len()]).scaled_add(weight, &drift);
        }
        mean
    }
}

/// Weights that add up to one: exp(−z²/2), z being how many standard errors a risk is above the least one, less a
/// part up to which a degree does not count.
fn weights(risks: &[f64], errors: &[f64]) -> Vec<f64> {
    /// A needless coefficient of one coordinate has about this weight.
    const UNLIKELY: f64 = 0.3;
    let least = risks.iter().copied().fold(f64::INFINITY, f64::min);
    let of = |(risk, error): (&f64, &f64)| {
        if *risk <= least {
            return 1.0 - UNLIKELY;
        }
        let z = (risk - least) / error;
        // f64::max takes the number where the other is none.
        ((-0.5 * z * z).exp() - UNLIKELY).max(0.0)
    };
    let weights: Vec<f64> = risks.iter().zip(errors).map(of).collect();
    let sum: f64 = weights.iter().sum();
    weights.iter().map(|w| w / sum).collect()
}
