//! Samples of a score by a short Langevin run that starts from the data.

use std::f64::consts::TAU;
use std::sync::atomic::{AtomicU64, Ordering};

use ndarray::Array2;
use serde::{Deserialize, Serialize};

use super::Score;
use crate::control::Control;
use crate::data::{Ensemble, Standardiser, Support};
use crate::error::{Result, require_positive};
use crate::random::{Purpose, Stream};
use crate::simd::GROUP;
use crate::simulate::{Dimensions, Initial, Scheme, Sde, SimulateConfig, simulate_ensemble};
use crate::stats::{kolmogorov_tail, two_sample};

/// Options for sampling a score: dz = s dt + √2 dW in standardised coordinates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ResampleConfig {
    /// Number of runs, each from a sample drawn at random; none leaves this test out.
    pub starts: usize,
    /// Length of a run; a coordinate with a normal law relaxes in 1.
    pub time: f64,
    /// Euler step for a normal law; it is divided by the largest ⟨s_i²⟩ where that exceeds 1.
    pub step: f64,
    /// Seed of the choice of samples and of the noise.
    pub seed: u64,
}

impl Default for ResampleConfig {
    fn default() -> Self {
        Self {
            starts: 2048,
            time: 2.0,
            step: 0.02,
            seed: 0,
        }
    }
}

/// Change of the distribution of a coordinate in a Langevin run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Marginal {
    /// Name of the coordinate.
    pub name: String,
    /// Kolmogorov-Smirnov distance sup|F_run − F_data|.
    pub distance: f64,
    /// √(1/n + 1/N), n runs and N effective samples of the data: chance gives about 0.87 of it.
    pub floor: f64,
    /// The probability of so large a distance by chance.
    pub probability: f64,
}

/// The outcome of the Langevin runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Resampling {
    /// One entry per coordinate.
    pub marginals: Vec<Marginal>,
    /// Fraction of steps that would have left the support of the data, and were not made.
    pub refused: f64,
    /// The step that was used.
    pub step: f64,
    /// The length of the runs; shorter than asked for where a steep score would need too many steps.
    #[serde(default)]
    pub time: f64,
}

impl Resampling {
    /// The coordinate whose law moved most, by probability.
    pub(super) fn worst(&self) -> Option<&Marginal> {
        let marginals = self.marginals.iter();
        marginals.min_by(|a, b| a.probability.total_cmp(&b.probability))
    }
}

/// Evaluations of the score that all runs may take together; steep scores get shorter runs.
const MOST_EVALUATIONS: f64 = 8e6;

/// Samples of the data that the runs are compared with, at most.
const COMPARED: usize = 200_000;

/// Run from random samples of `ensemble` and compare the marginals. `effective` is the number of
/// effective samples of each coordinate, `curvature` the largest ⟨s_i²⟩ in standardised coordinates.
pub(super) fn resample(
    score: &dyn Score,
    ensemble: &Ensemble,
    standardiser: &Standardiser,
    (effective, curvature): (&[f64], f64),
    config: &ResampleConfig,
    control: &Control,
) -> Result<Resampling> {
    require_positive("the time of the Langevin runs", config.time)?;
    require_positive("the step of the Langevin runs", config.step)?;
    let dim = ensemble.dim();
    let support = Support::watched(ensemble, standardiser, control)?;
    // Whole groups of lanes, so that no step is counted twice.
    let starts = config.starts.next_multiple_of(GROUP);
    let mut stream = Stream::new(config.seed, Purpose::Analysis, 0);
    let mut initial = Array2::zeros((starts, dim));
    let mut ends = Vec::with_capacity(ensemble.segments().len());
    let mut count = 0;
    for segment in ensemble.segments() {
        count += segment.rows.len();
        ends.push(count);
    }
    for mut state in initial.rows_mut() {
        let index = stream.below(count as u64) as usize;
        let k = ends.partition_point(|end| *end <= index);
        let segment = &ensemble.segments()[k];
        let row = segment.rows.end - (ends[k] - index);
        let state = state.as_slice_mut().expect("row-major");
        ensemble.trajectories()[segment.trajectory].row(row, state);
        standardiser.forward(state);
    }
    let step = config.step / curvature.max(1.0);
    let most = (MOST_EVALUATIONS / starts as f64).max(1.0);
    let steps = (config.time / step).ceil().min(most.ceil());
    let time = config.time.min(steps * step);
    let run = UnitLangevin {
        score,
        standardiser,
        support: &support,
        refused: AtomicU64::new(0),
    };
    let simulate = SimulateConfig {
        time,
        dt: time / steps,
        save_every: time,
        trajectories: starts,
        seed: config.seed,
        scheme: Scheme::Euler,
        burn_in: 0.0,
    };
    let ran = simulate_ensemble(&run, &Initial::Given(initial), &simulate, control)?.ensemble;
    let data = columns(ensemble, standardiser);
    let place = |i: usize, z: f64| match standardiser.is_circle(i) {
        true => z.rem_euclid(TAU),
        false => z,
    };
    let marginals = (0..dim)
        .map(|i| {
            let moved = ran.trajectories().iter().map(|trajectory| {
                let mut z = vec![0.0; dim];
                trajectory.row(1, &mut z);
                (place(i, z[i]), true)
            });
            let kept = data[i].iter().map(|z| (place(i, *z), false));
            let (distance, _) = two_sample(moved.chain(kept).collect());
            let floor = (1.0 / starts as f64 + 1.0 / effective[i].min(data[i].len() as f64)).sqrt();
            Marginal {
                name: ensemble.names()[i].clone(),
                distance,
                floor,
                probability: kolmogorov_tail(distance / floor),
            }
        })
        .collect();
    Ok(Resampling {
        marginals,
        refused: run.refused.into_inner() as f64 / (steps * starts as f64),
        step: simulate.dt,
        time,
    })
}

/// The standardised coordinates of every so many samples, one list per coordinate.
fn columns(ensemble: &Ensemble, standardiser: &Standardiser) -> Vec<Vec<f64>> {
    let stride = ensemble.samples().div_ceil(COMPARED);
    let mut columns = vec![Vec::new(); ensemble.dim()];
    let mut z = vec![0.0; ensemble.dim()];
    for segment in ensemble.segments() {
        for row in segment.rows.clone().step_by(stride) {
            ensemble.trajectories()[segment.trajectory].row(row, &mut z);
            standardiser.forward(&mut z);
            for (column, z) in columns.iter_mut().zip(&z) {
                column.push(*z);
            }
        }
    }
    columns
}

/// dz = s dt + √2 dW in standardised coordinates, by Euler steps that stay in the support.
///
/// A step that would leave it is not made, as for a wall: an exact score need not be defined there.
struct UnitLangevin<'a> {
    score: &'a dyn Score,
    standardiser: &'a Standardiser,
    support: &'a Support,
    refused: AtomicU64,
}

impl Dimensions for UnitLangevin<'_> {
    fn dim(&self) -> usize {
        self.score.dim()
    }
}

impl UnitLangevin<'_> {
    /// The score in standardised coordinates on a tile, (D, n); `x` takes the raw states.
    fn drift(&self, z: &[f64], x: &mut [f64], out: &mut [f64]) {
        let n = z.len() / self.score.dim();
        let Standardiser { mean, scale, .. } = self.standardiser;
        for i in 0..self.score.dim() {
            let row = i * n..(i + 1) * n;
            for (x, z) in x[row.clone()].iter_mut().zip(&z[row]) {
                *x = z * scale[i] + mean[i];
            }
        }
        self.score.score(x, out);
        for (row, scale) in out.chunks_exact_mut(n).zip(scale) {
            row.iter_mut().for_each(|s| *s *= scale);
        }
    }
}

impl Sde for UnitLangevin<'_> {
    fn advance(&self, scheme: Scheme, dt: f64, lanes: usize, state: &mut [f64], normals: &[f64]) {
        assert_eq!(scheme, Scheme::Euler, "the runs use Euler steps");
        let dim = self.score.dim();
        let (mut x, mut drift) = (vec![0.0; state.len()], vec![0.0; state.len()]);
        let mut next = vec![0.0; dim];
        let noise = (2.0 * dt).sqrt();
        let mut refused = 0;
        for normals in normals.chunks_exact(state.len()) {
            self.drift(state, &mut x, &mut drift);
            for lane in 0..lanes {
                for (i, next) in next.iter_mut().enumerate() {
                    let at = i * lanes + lane;
                    *next = state[at] + drift[at] * dt + noise * normals[at];
                }
                if self.support.contains(&next) {
                    for (i, next) in next.iter().enumerate() {
                        state[i * lanes + lane] = *next;
                    }
                } else {
                    refused += 1;
                }
            }
        }
        self.refused.fetch_add(refused, Ordering::Relaxed);
    }

    fn evaluate(&self, z: &[f64], xi: &[f64], drift: &mut [f64], noise: &mut [f64]) {
        self.drift(z, &mut vec![0.0; z.len()], drift);
        for (noise, xi) in noise.iter_mut().zip(xi) {
            *noise = std::f64::consts::SQRT_2 * xi;
        }
    }
}
