//! Statistics shared by the tests: every Monte Carlo assertion is a z-score.

mod systems;

pub(crate) use systems::{Exact, Truth, cir, ou, poisson, poisson_record, rotating};

use std::sync::OnceLock;

use ergode::data::Standardiser;
use ergode::mobility::Mobility;
use ergode::random::Stream;
use ergode::score::{ExactScore, Score};
use ergode::simulate::{Initial, Sde, SimulateConfig};
use ergode::systems::{Affine2d, Affine2dReference, ExactFields, System};
use ergode::{Control, Ensemble, Scheme, Values};
use ndarray::Array2;

/// A mean over independent blocks, with its standard error.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Estimate {
    pub(crate) mean: f64,
    pub(crate) error: f64,
}

impl Estimate {
    pub(crate) fn new(blocks: &[f64]) -> Self {
        let n = blocks.len() as f64;
        let mean = blocks.iter().sum::<f64>() / n;
        let variance = blocks.iter().map(|b| (b - mean).powi(2)).sum::<f64>() / (n - 1.0);
        Self {
            mean,
            error: (variance / n).sqrt(),
        }
    }

    pub(crate) fn z(&self, exact: f64) -> f64 {
        (self.mean - exact) / self.error
    }
}

/// x0, x1 and so on.
pub(crate) fn names(dim: usize) -> Vec<String> {
    (0..dim).map(|i| format!("x{i}")).collect()
}

/// Coordinates as they are.
pub(crate) fn identity(dim: usize) -> Standardiser {
    Standardiser::new(vec![0.0; dim], vec![1.0; dim]).unwrap()
}

/// The largest absolute value.
pub(crate) fn largest(values: impl IntoIterator<Item = f64>) -> f64 {
    values.into_iter().fold(0.0, |m: f64, v| m.max(v.abs()))
}

/// The grid solution of the affine system with its default parameters, made once for all tests.
pub(crate) fn affine_reference() -> &'static Affine2dReference {
    static REFERENCE: OnceLock<Affine2dReference> = OnceLock::new();
    REFERENCE.get_or_init(|| Affine2dReference::solve(Affine2d::default(), 320).unwrap())
}

/// The worst z-score of a family; |z| below this bound fails once in 10⁵ runs for up to 30 of them.
pub(crate) const Z_BOUND: f64 = 5.1;

/// Kolmogorov-Smirnov statistic √n sup|F_n − F| of independent samples; exceeds 2.5 once in 10⁵.
pub(crate) fn kolmogorov_smirnov(samples: &mut [f64], cumulative: impl Fn(f64) -> f64) -> f64 {
    samples.sort_by(f64::total_cmp);
    let n = samples.len() as f64;
    let gap = samples
        .iter()
        .enumerate()
        .map(|(k, &x)| {
            let f = cumulative(x);
            (f - k as f64 / n).abs().max(((k + 1) as f64 / n - f).abs())
        })
        .fold(0.0, f64::max);
    gap * n.sqrt()
}

pub(crate) const KS_BOUND: f64 = 2.5;

/// Linear interpolation in a table.
pub(crate) fn interpolate(xs: &[f64], ys: &[f64], x: f64) -> f64 {
    let k = xs.partition_point(|&v| v < x).clamp(1, xs.len() - 1);
    let fraction = ((x - xs[k - 1]) / (xs[k] - xs[k - 1])).clamp(0.0, 1.0);
    ys[k - 1] + fraction * (ys[k] - ys[k - 1])
}

/// The samples of trajectory `k`, (time, dimension).
pub(crate) fn rows(ensemble: &Ensemble, k: usize) -> ndarray::ArrayView2<'_, f64> {
    match ensemble.trajectories()[k].values() {
        Values::F64(values) => values.view(),
        Values::Shared(values) => values.view(),
        Values::F32(_) | Values::Stored(_) => panic!("simulations are doubles in memory"),
    }
}

/// Reference data of a system by its own protocol, at this length and interval.
pub(crate) fn sample(
    system: &dyn System,
    time: f64,
    interval: f64,
    trajectories: usize,
    seed: u64,
) -> Ensemble {
    let mut protocol = system.protocol();
    protocol.simulate.time = time;
    protocol.simulate.save_every = interval;
    protocol.simulate.trajectories = trajectories;
    protocol.simulate.seed = seed;
    ergode::systems::generate(system, &protocol, &Control::new())
        .unwrap()
        .ensemble
}

/// Independent trajectories from `draw`, sampled at 0 and after `time`: (first, last) states.
pub(crate) fn ends(
    sde: &dyn Sde,
    draw: &(dyn Fn(&mut Stream, &mut [f64]) + Sync),
    scheme: Scheme,
    dt: f64,
    time: f64,
    trajectories: usize,
    seed: u64,
) -> (Array2<f64>, Array2<f64>) {
    let config = SimulateConfig {
        time,
        dt,
        save_every: time,
        trajectories,
        seed,
        scheme,
        burn_in: 0.0,
    };
    let run =
        ergode::simulate::simulate_ensemble(sde, &Initial::Drawn(draw), &config, &Control::new())
            .unwrap();
    assert!(run.failures.is_empty());
    let pick = |row: usize| {
        Array2::from_shape_fn((trajectories, sde.dim()), |(k, i)| {
            rows(&run.ensemble, k)[[row, i]]
        })
    };
    (pick(0), pick(1))
}

/// ⟨f(x_{t+lag}) g(x_t)⟩ of each trajectory, skipping the first `skip` samples.
pub(crate) fn lagged(
    ensemble: &Ensemble,
    f: impl Fn(&[f64]) -> f64,
    g: impl Fn(&[f64]) -> f64,
    lag: usize,
    skip: usize,
) -> Estimate {
    let blocks: Vec<f64> = (0..ensemble.len())
        .map(|k| {
            let rows = rows(ensemble, k);
            let n = rows.nrows() - lag;
            let row = |i: usize| rows.row(i).to_slice().expect("row-major");
            (skip..n).map(|i| f(row(i + lag)) * g(row(i))).sum::<f64>() / (n - skip) as f64
        })
        .collect();
    Estimate::new(&blocks)
}

/// Relative L2(p_ss) error over every 37th sample.
pub(crate) fn relative_error(data: &Ensemble, score: &dyn Score, exact: &dyn ExactFields) -> f64 {
    let dim = data.dim();
    let exact = ExactScore::new(dim, exact);
    let mut x = vec![0.0; dim];
    let (mut difference, mut size) = (0.0, 0.0);
    for segment in data.segments() {
        let rows: Vec<usize> = segment.rows.clone().step_by(37).collect();
        let n = rows.len();
        let mut tile = vec![0.0; dim * n];
        for (s, row) in rows.into_iter().enumerate() {
            data.trajectories()[segment.trajectory].row(row, &mut x);
            for i in 0..dim {
                tile[i * n + s] = x[i];
            }
        }
        let (mut fitted, mut truth) = (vec![0.0; dim * n], vec![0.0; dim * n]);
        score.score(&tile, &mut fitted);
        exact.score(&tile, &mut truth);
        for (s, e) in fitted.iter().zip(&truth) {
            difference += (s - e).powi(2);
            size += e.powi(2);
        }
    }
    (difference / size).sqrt()
}

/// Relative L2(p_ss) errors of D and R over every 37th sample.
pub(crate) fn mobility_errors(
    data: &Ensemble,
    mobility: &dyn Mobility,
    exact: &dyn ExactFields,
) -> (f64, f64) {
    let dim = data.dim();
    let (mut x, mut m, mut e) = (vec![0.0; dim], vec![0.0; dim * dim], vec![0.0; dim * dim]);
    // Difference and size of the symmetric and of the antisymmetric part.
    let mut sums = [0.0; 4];
    for segment in data.segments() {
        for row in segment.rows.clone().step_by(37) {
            data.trajectories()[segment.trajectory].row(row, &mut x);
            mobility.mobility(&x, &mut m);
            exact.mobility(&x, &mut e);
            for i in 0..dim {
                for j in 0..dim {
                    let (at, mirrored) = (i * dim + j, j * dim + i);
                    for (k, sign) in [(0, 1.0), (2, -1.0)] {
                        let part = |m: &[f64]| 0.5 * (m[at] + sign * m[mirrored]);
                        sums[k] += (part(&m) - part(&e)).powi(2);
                        sums[k + 1] += part(&e).powi(2);
                    }
                }
            }
        }
    }
    ((sums[0] / sums[1]).sqrt(), (sums[2] / sums[3]).sqrt())
}
