//! Comparison of learned fields with exact ones.

use crate::mobility::Mobility;
use crate::model::LangevinModel;
use crate::observable::state_by_state;
use crate::report::Truth;
use crate::score::{ExactScore, Score};
use crate::systems::ExactFields;

/// States at which fields are compared, at most.
pub(crate) const COMPARED: usize = 20_000;

/// The errors of a score and a mobility, whose constant closure is Φ, at the states of a tile.
pub(crate) fn compare(
    score: &dyn Score,
    mobility: &dyn Mobility,
    constant: &dyn Mobility,
    exact: &dyn ExactFields,
    states: &[f64],
) -> Truth {
    let dim = score.dim();
    let n = states.len() / dim;
    let [mut found, mut phi, mut wanted] = [(); 3].map(|()| vec![0.0; dim * dim * n]);
    mobility.mobility(states, &mut found);
    constant.mobility(states, &mut phi);
    state_by_state(dim, states, &mut wanted, |x, m| exact.mobility(x, m));
    // ½(A ± Aᵀ) of found and wanted, summed over entries and states.
    let part = |sign: f64| {
        let mut sums = (0.0, 0.0);
        for i in 0..dim {
            for j in 0..dim {
                for s in 0..n {
                    let (a, b) = ((i * dim + j) * n + s, (j * dim + i) * n + s);
                    let exact = 0.5 * (wanted[a] + sign * wanted[b]);
                    let away = 0.5 * (found[a] + sign * found[b]) - exact;
                    sums = (sums.0 + away * away, sums.1 + exact * exact);
                }
            }
        }
        sums
    };
    let (symmetric, skew) = (part(1.0), part(-1.0));
    let distance = |a: &[f64]| {
        let pairs = a.iter().zip(&wanted);
        pairs.map(|(a, b)| (a - b).powi(2)).sum::<f64>()
    };
    let ratio = |(away, size): (f64, f64), least: f64| (size > least).then(|| (away / size).sqrt());
    let negligible = 1e-6 * (symmetric.1 + skew.1);
    Truth {
        score_rel_l2: score_error(score, &ExactScore::new(dim, exact), states),
        diffusion_rel_l2: (symmetric.0 / symmetric.1).sqrt(),
        current_rel_l2: ratio(skew, negligible),
        mobility_rel_delta: ratio((distance(&found), distance(&phi)), negligible),
    }
}

/// ⟨|ŝ − s|²⟩^½ / ⟨|s|²⟩^½ over the states of a tile.
fn score_error(found: &dyn Score, exact: &dyn Score, states: &[f64]) -> f64 {
    let (mut a, mut b) = (vec![0.0; states.len()], vec![0.0; states.len()]);
    found.score(states, &mut a);
    exact.score(states, &mut b);
    let away: f64 = a.iter().zip(&b).map(|(a, b)| (a - b).powi(2)).sum();
    let size: f64 = b.iter().map(|b| b * b).sum();
    (away / size).sqrt()
}

/// The exact mobility as figures take it. Exact fields know ∇·M; for ∇·Mᵀ, which only the figure of the
/// current needs, M is differenced over a thousandth of the spread of the samples.
pub(crate) struct ExactMobility<'a> {
    fields: &'a dyn ExactFields,
    steps: Vec<f64>,
}

impl<'a> ExactMobility<'a> {
    /// For the coordinates of `model`.
    pub(crate) fn new(model: &LangevinModel, fields: &'a dyn ExactFields) -> Self {
        let spread = |column: ndarray::ArrayView1<f64>| 1e-3 * column.std(0.0);
        let starts = model.starts();
        Self {
            fields,
            steps: starts.columns().into_iter().map(spread).collect(),
        }
    }
}

impl Mobility for ExactMobility<'_> {
    fn dim(&self) -> usize {
        self.steps.len()
    }
    fn mobility(&self, x: &[f64], out: &mut [f64]) {
        state_by_state(self.dim(), x, out, |x, m| self.fields.mobility(x, m));
    }
    fn div_mobility(&self, x: &[f64], out: &mut [f64]) {
        state_by_state(self.dim(), x, out, |x, v| self.fields.div_mobility(x, v));
    }
    fn div_transpose(&self, x: &[f64], out: &mut [f64]) {
        let dim = self.dim();
        state_by_state(dim, x, out, |x, v| {
            let (mut moved, mut m) = (x.to_vec(), vec![0.0; dim * dim]);
            v.fill(0.0);
            for (j, h) in self.steps.iter().enumerate() {
                for sign in [1.0, -1.0] {
                    moved[j] = x[j] + sign * h;
                    self.fields.mobility(&moved, &mut m);
                    for (i, v) in v.iter_mut().enumerate() {
                        *v += sign * m[j * dim + i] / (2.0 * h);
                    }
                }
                moved[j] = x[j];
            }
        });
    }
}
