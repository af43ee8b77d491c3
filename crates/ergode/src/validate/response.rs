//! Response to small kicks, predicted from fluctuations.

use ndarray::{Array2, ArrayView2};
use serde::{Deserialize, Serialize};

use crate::control::Control;
use crate::data::Ensemble;
use crate::error::{Error, Result, require_positive};
use crate::lagged::Jackknife;
use crate::observable::Functions;
use crate::score::Score;
use crate::simulate::{Initial, Sde, SimulateConfig, simulate_ensemble};
use crate::stats::{normal_score, normal_tails};

/// The response of ⟨φ(x_t)⟩ to a kick in one initial coordinate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Response {
    /// Label of φ.
    pub observable: String,
    /// Index of the coordinate that is kicked.
    pub coordinate: usize,
    /// −⟨φ(x_t) s_j(x_0)⟩ at each time.
    pub predicted: Vec<f64>,
    /// Its standard errors.
    pub predicted_error: Vec<f64>,
    /// [⟨φ(x_t)⟩ with +h/2 − ⟨φ(x_t)⟩ with −h/2] / h, with the same noise.
    pub simulated: Vec<f64>,
    /// Its standard errors.
    pub simulated_error: Vec<f64>,
    /// The difference over its own standard error, as a normal score.
    pub z: Vec<f64>,
}

/// Predicted and simulated responses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ResponseCheck {
    /// The times.
    pub times: Vec<f64>,
    /// Every observable with every coordinate.
    pub responses: Vec<Response>,
    /// The largest |z|.
    pub worst_z: f64,
    /// The probability of so large a |z| by chance, at most the number of them times that of one.
    pub probability: f64,
}

/// Blocks of trajectories that errors are taken over.
const BLOCKS: usize = 32;

/// Test the score and the dynamics of a model against each other by the generalised
/// fluctuation-dissipation relation: a kick h in coordinate j of the initial state changes ⟨φ(x_t)⟩ by
/// R_j(t) h with
///
/// R_j(t) = ∂⟨φ(x_t)⟩/∂h = −⟨φ(x_t) s_j(x_0)⟩.
///
/// The right side is averaged over a simulation from `starts`, (trajectory, dimension), which must be
/// independent draws of the stationary law; the left over two more from starts moved by ±h/2, with `kick`
/// = h / σ_j in units of the spread of the starts and the same random numbers. Errors are over blocks of
/// trajectories.
///
/// # Errors
/// When dimensions differ, there are fewer than 64 starts, a trajectory leaves the finite numbers, or
/// the work is stopped.
pub fn check_response(
    sde: &dyn Sde,
    score: &dyn Score,
    observables: &dyn Functions,
    starts: ArrayView2<f64>,
    kick: f64,
    config: &SimulateConfig,
    control: &Control,
) -> Result<ResponseCheck> {
    let (count, dim) = starts.dim();
    require_positive("the kick", kick)?;
    if score.dim() != dim || observables.dim() != dim || sde.dim() != dim {
        return Err(Error::input(format!(
            "dimensions do not match: the starts have {dim} coordinates, the equation {}, the score {}, \
             the observables {}",
            sde.dim(),
            score.dim(),
            observables.dim()
        )));
    }
    if count < 2 * BLOCKS {
        return Err(Error::input(format!(
            "{count} starts are too few to estimate standard errors; give {} or more",
            2 * BLOCKS
        )));
    }
    let config = SimulateConfig {
        trajectories: count,
        burn_in: 0.0,
        ..config.clone()
    };
    let run = |starts: Array2<f64>| -> Result<Ensemble> {
        let run = simulate_ensemble(sde, &Initial::Given(starts), &config, control)?;
        match run.failures.first() {
            None => Ok(run.ensemble),
            Some(failure) => Err(Error::numerical(failure.to_string())),
        }
    };
    let samples = config.samples()?;
    let initial = score_of(score, starts);
    let plain = values(&run(starts.to_owned())?, observables, samples);
    let mut responses = Vec::new();
    for j in 0..dim {
        let h = kick * starts.column(j).std(0.0);
        let moved = |by: f64| {
            let mut moved = starts.to_owned();
            moved.column_mut(j).mapv_inplace(|x| x + by);
            run(moved).map(|ensemble| values(&ensemble, observables, samples))
        };
        let (up, down) = (moved(0.5 * h)?, moved(-0.5 * h)?);
        for (k, label) in observables.labels().iter().enumerate() {
            let sums = Sums {
                plain: plain[k].view(),
                score: initial.column(j).to_vec(),
                response: (&up[k] - &down[k]) / h,
            };
            responses.push(sums.response(label, j)?);
        }
    }
    let all = responses.iter().flat_map(|r| &r.z).map(|z| z.abs());
    let worst_z = all.clone().fold(0.0, f64::max);
    Ok(ResponseCheck {
        times: (0..samples).map(|k| k as f64 * config.save_every).collect(),
        probability: (all.count() as f64 * normal_tails(worst_z)).min(1.0),
        responses,
        worst_z,
    })
}

/// s at the starts, (trajectory, dimension).
fn score_of(score: &dyn Score, starts: ArrayView2<f64>) -> Array2<f64> {
    let tile: Vec<f64> = starts.t().iter().copied().collect();
    let mut out = vec![0.0; tile.len()];
    score.score(&tile, &mut out);
    let (count, dim) = starts.dim();
    Array2::from_shape_fn((count, dim), |(r, j)| out[j * count + r])
}

/// φ along every trajectory, (trajectory, time), one array per function.
fn values(ensemble: &Ensemble, observables: &dyn Functions, samples: usize) -> Vec<Array2<f64>> {
    let (count, dim) = (ensemble.len(), ensemble.dim());
    let mut all = vec![Array2::zeros((count, samples)); observables.len()];
    let (mut rows, mut tile) = (vec![0.0; dim * samples], vec![0.0; dim * samples]);
    let mut out = vec![0.0; observables.len() * samples];
    for (r, trajectory) in ensemble.trajectories().iter().enumerate() {
        trajectory.copy_rows(0..samples, &mut rows);
        for (t, row) in rows.chunks_exact(dim).enumerate() {
            for (i, x) in row.iter().enumerate() {
                tile[i * samples + t] = *x;
            }
        }
        observables.values(&tile, &mut out);
        for (function, values) in all.iter_mut().zip(out.chunks_exact(samples)) {
            function.row_mut(r).assign(&ndarray::aview1(values));
        }
    }
    all
}

/// One observable and one coordinate.
struct Sums<'a> {
    /// φ(x_t), (trajectory, time).
    plain: ArrayView2<'a, f64>,
    /// s_j(x_0).
    score: Vec<f64>,
    /// The change of φ(x_t) over h.
    response: Array2<f64>,
}

impl Sums<'_> {
    fn response(&self, label: &str, coordinate: usize) -> Result<Response> {
        let (count, samples) = self.plain.dim();
        // ⟨s⟩ = 0, so that the mean of φ may be taken off: it only adds noise.
        let means = self
            .plain
            .mean_axis(ndarray::Axis(0))
            .expect("trajectories");
        let mut blocks = vec![vec![0.0; 2 * samples + 1]; BLOCKS];
        for r in 0..count {
            let block = &mut blocks[r * BLOCKS / count];
            for t in 0..samples {
                block[t] -= (self.plain[[r, t]] - means[t]) * self.score[r];
                block[samples + t] += self.response[[r, t]];
            }
            block[2 * samples] += 1.0;
        }
        let estimate = Jackknife::of_sums(&blocks, |sums| {
            let mean = |k: usize| sums[k] / sums[2 * samples];
            let both = (0..2 * samples).map(mean);
            both.chain((0..samples).map(|t| mean(t) - mean(samples + t)))
                .collect()
        })?;
        let errors = estimate.errors().to_vec();
        let values = estimate.values.to_vec();
        let z = (2 * samples..3 * samples).map(|k| match values[k] {
            0.0 => 0.0,
            value => normal_score(value / errors[k], (BLOCKS - 1) as f64),
        });
        Ok(Response {
            observable: label.to_owned(),
            coordinate,
            predicted: values[..samples].to_vec(),
            predicted_error: errors[..samples].to_vec(),
            simulated: values[samples..2 * samples].to_vec(),
            simulated_error: errors[samples..2 * samples].to_vec(),
            z: z.collect(),
        })
    }
}
