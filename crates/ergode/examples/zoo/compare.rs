//! Errors of drift and diffusion over the samples.

use ergode::{Ensemble, LangevinModel, ModelField};
use serde_json::{Value, json};

use crate::record::Truth;

/// States at which fields are compared, at most.
const MOST: usize = 2000;

/// Samples of a record with the exact drift and D there.
pub(crate) struct States {
    dim: usize,
    states: Vec<f64>,
    drift: Vec<f64>,
    diffusion: Vec<f64>,
}

/// Relative L2 errors of drift and of D over states.
#[derive(Clone, Copy)]
pub(crate) struct Errors {
    pub(crate) drift: f64,
    pub(crate) diffusion: f64,
}

impl Errors {
    /// Both, by the names of the output; what is not finite is null.
    pub(crate) fn json(self) -> Value {
        json!({"drift_rel_l2": self.drift, "D_rel_l2": self.diffusion})
    }
}

impl States {
    /// Evenly chosen samples of all trajectories.
    pub(crate) fn new(ensemble: &Ensemble, truth: &Truth) -> Self {
        let dim = ensemble.dim();
        let every = ensemble.samples().div_ceil(MOST);
        let mut x = vec![0.0; dim];
        let (mut states, mut count) = (Vec::new(), 0_usize);
        for trajectory in ensemble.trajectories() {
            for i in 0..trajectory.len() {
                if trajectory.is_gap(i) {
                    continue;
                }
                count += 1;
                if count.is_multiple_of(every) {
                    trajectory.row(i, &mut x);
                    states.extend_from_slice(&x);
                }
            }
        }
        let (mut drift, mut diffusion) = (states.clone(), vec![0.0; states.len() * dim]);
        for (k, x) in states.chunks_exact(dim).enumerate() {
            let d = &mut diffusion[k * dim * dim..][..dim * dim];
            truth(x, &mut drift[k * dim..][..dim], d);
        }
        Self {
            dim,
            states,
            drift,
            diffusion,
        }
    }

    /// The errors of `fields`, which writes drift and row-major D at a state.
    ///
    /// Each coordinate is measured in units of its own exact field, so that a unit of length does not
    /// decide which coordinate counts: entry ij of D by the root of the mean squares of D_ii and D_jj.
    pub(crate) fn errors(&self, mut fields: impl FnMut(&[f64], &mut [f64], &mut [f64])) -> Errors {
        let dim = self.dim;
        let (mut drift, mut diffusion) = (vec![0.0; dim], vec![0.0; dim * dim]);
        let size = |values: &[f64], width: usize, i: usize| -> f64 {
            values.iter().skip(i).step_by(width).map(|v| v * v).sum()
        };
        let drift_size: Vec<f64> = (0..dim).map(|i| size(&self.drift, dim, i)).collect();
        let noise_size: Vec<f64> = (0..dim)
            .map(|i| size(&self.diffusion, dim * dim, i * (dim + 1)))
            .collect();
        let (mut b_away, mut d_away, mut d_all) = (0.0, 0.0, 0.0);
        for (k, x) in self.states.chunks_exact(dim).enumerate() {
            fields(x, &mut drift, &mut diffusion);
            let exact_drift = &self.drift[k * dim..][..dim];
            let exact = &self.diffusion[k * dim * dim..][..dim * dim];
            for i in 0..dim {
                b_away += ratio((drift[i] - exact_drift[i]).powi(2), drift_size[i]);
                for j in 0..dim {
                    let unit = (noise_size[i] * noise_size[j]).sqrt();
                    let entry = i * dim + j;
                    d_away += ratio((diffusion[entry] - exact[entry]).powi(2), unit);
                    d_all += ratio(exact[entry].powi(2), unit);
                }
            }
        }
        let moving = drift_size.iter().filter(|size| **size > 0.0).count();
        Errors {
            drift: (b_away / moving as f64).sqrt(),
            diffusion: (d_away / d_all).sqrt(),
        }
    }

    /// The errors of a model.
    pub(crate) fn model_errors(&self, model: &LangevinModel) -> Errors {
        self.errors(|x, drift, diffusion| {
            model.drift(x, drift);
            model.diffusion(x, diffusion);
        })
    }

    /// The share of states and entries whose exact value lies within 1.96 standard errors of that of the
    /// model; none where the model does not know its errors.
    pub(crate) fn coverage(&self, model: &LangevinModel, field: ModelField) -> Option<f64> {
        let dim = self.dim;
        let (exact, width) = match field {
            ModelField::Drift => (&self.drift, dim),
            ModelField::Diffusion => (&self.diffusion, dim * dim),
            _ => return None,
        };
        let (mut value, mut stderr) = (vec![0.0; width], vec![0.0; width]);
        let (mut within, mut all) = (0_usize, 0_usize);
        for (k, x) in self.states.chunks_exact(dim).enumerate() {
            model.field(field, x, &mut value);
            model.field_error(field, x, &mut stderr).ok()?;
            for (i, exact) in exact[k * width..][..width].iter().enumerate() {
                // An error of zero belongs to an entry that is not fitted.
                if stderr[i] > 0.0 {
                    all += 1;
                    within += usize::from((value[i] - exact).abs() <= 1.96 * stderr[i]);
                }
            }
        }
        (all > 0).then(|| within as f64 / all as f64)
    }

    /// Number of states.
    pub(crate) fn count(&self) -> usize {
        self.states.len() / self.dim
    }

    /// The states.
    pub(crate) fn rows(&self) -> Vec<Vec<f64>> {
        let rows = self.states.chunks_exact(self.dim);
        rows.map(<[f64]>::to_vec).collect()
    }
}

/// `away` in units of `size`; nothing where the exact field is zero.
fn ratio(away: f64, size: f64) -> f64 {
    if size > 0.0 { away / size } else { 0.0 }
}
