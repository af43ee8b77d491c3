//! Cost of a simulation step on one core: trajectories in SIMD lanes against the straightforward
//! scalar loop with ziggurat normals. `--json` prints one machine-readable line.

use std::hint::black_box;
use std::time::Instant;

use ergode::mobility::{LinearMobility, NeuralMobility, NeuralMobilityConfig, TensorBasis};
use ergode::model::Provenance;
use ergode::nn::{Batch, CpuEngine, Engine, Mlp};
use ergode::random::Stream;
use ergode::score::{ClosedFormConfig, DenoisingConfig, fit_denoising_score, fit_potential_score};
use ergode::simulate::{Initial, Sde, SimulateConfig, simulate_ensemble};
use ergode::systems::{Affine2d, SoftSpin, System, generate};
use ergode::{Control, Ensemble, LangevinModel, Scheme, Values};
use ndarray::{Array1, Array2, array};
use rand::{RngExt, SeedableRng, rngs::SmallRng};
use rand_distr::StandardNormal;

/// Nanoseconds per trajectory-step of the library, the best of many runs, on one thread.
fn lanes_ns(system: &dyn System, steps: usize, save: usize) -> f64 {
    let draw = |stream: &mut Stream, x: &mut [f64]| system.draw_initial(stream, x);
    let dt = system.protocol().simulate.dt;
    equation_ns(system, &draw, dt, (steps, save), 32)
}

/// The same of a learned model, with as many trajectories as it likes to advance together.
fn model_ns(model: &LangevinModel, steps: usize, save: usize) -> f64 {
    let draw = |stream: &mut Stream, x: &mut [f64]| model.draw_start(stream, x);
    let equation = model.equation();
    equation_ns(
        &*equation,
        &draw,
        1e-3,
        (steps, save),
        equation.most_lanes(),
    )
}

fn equation_ns(
    sde: &dyn Sde,
    draw: &(dyn Fn(&mut Stream, &mut [f64]) + Sync),
    dt: f64,
    (steps, save): (usize, usize),
    trajectories: usize,
) -> f64 {
    let config = SimulateConfig {
        time: dt * steps as f64,
        dt,
        save_every: dt * save as f64,
        trajectories,
        seed: 1,
        scheme: Scheme::Euler,
        burn_in: 0.0,
    };
    best_of_many(|| {
        simulate_ensemble(sde, &Initial::Drawn(draw), &config, &Control::new())
            .expect("the equation is stable");
    }) / (steps * config.trajectories) as f64
}

/// Data of the affine system, to learn from.
fn affine_data() -> Ensemble {
    let system = Affine2d::default();
    let mut protocol = system.protocol();
    protocol.simulate.time = 300.0;
    generate(&system, &protocol, &Control::new())
        .expect("the system is stable")
        .ensemble
}

fn model_of(
    data: &Ensemble,
    score: impl Into<ergode::model::StoredScore>,
    mobility: impl Into<ergode::model::StoredMobility>,
) -> LangevinModel {
    let Values::F64(values) = data.trajectories()[0].values() else {
        unreachable!("simulations are double precision");
    };
    let starts: Array2<f64> = values.slice(ndarray::s![1000.., ..]).to_owned();
    let provenance = Provenance::new(data, 0, serde_json::Value::Null);
    LangevinModel::new(data.names().to_vec(), score, mobility, starts, provenance)
        .expect("the parts fit")
}

/// A potential of degree 8, D and R of degree 2.
fn polynomial_model(data: &Ensemble) -> LangevinModel {
    let config = ClosedFormConfig {
        degrees: vec![8],
        ..ClosedFormConfig::default()
    };
    let score = fit_potential_score(data, &config, &Control::new()).expect("the data are fine");
    let standardiser = score.confinement().standardiser();
    let basis =
        TensorBasis::polynomial(data.names(), standardiser, 2, 2, None).expect("valid degrees");
    let coefficients: Array1<f64> = basis
        .labels()
        .enumerate()
        .map(|(k, label)| match label {
            "D[x,x] 1" | "D[y,y] 1" => 1.0,
            _ => 0.02 * (k as f64).sin(),
        })
        .collect();
    let mobility = LinearMobility::new(basis, coefficients).expect("one coefficient per field");
    model_of(data, score, mobility)
}

/// Hidden widths of the networks of score and mobility.
const HIDDEN: [usize; 2] = [128, 128];

fn neural_model(data: &Ensemble) -> LangevinModel {
    let mut config = DenoisingConfig {
        hidden: HIDDEN.to_vec(),
        extrapolate: false,
        ..DenoisingConfig::default()
    };
    config.train.steps = 300;
    let score = fit_denoising_score(data, &config, None, &Control::new()).expect("it trains");
    let phi = array![[0.197, 0.186], [-0.075, 0.160]];
    let config = NeuralMobilityConfig {
        hidden: HIDDEN.to_vec(),
        ..NeuralMobilityConfig::default()
    };
    let mobility = NeuralMobility::new(data, phi.view(), &config)
        .and_then(|mobility| mobility.with_network(Mlp::new(&widths(4), 2)?))
        .expect("the network fits");
    model_of(data, score, mobility)
}

fn widths(outputs: usize) -> Vec<usize> {
    let mut widths = vec![2];
    widths.extend(HIDDEN);
    widths.push(outputs);
    widths
}

/// Nanoseconds per state of the two networks alone: the score, and the mobility with two tangents.
fn engine_ns() -> f64 {
    const STATES: usize = 4096;
    let engine = CpuEngine::single_core();
    let x: Vec<f32> = (0..2 * STATES).map(|k| (k as f32).sin()).collect();
    let tangents = vec![1.0; 2 * x.len()];
    let [score, mobility] = [2, 4].map(|outputs| Mlp::new(&widths(outputs), 1).expect("valid"));
    let mut y = vec![0.0; 4 * STATES];
    let mut dy = vec![0.0; 2 * 4 * STATES];
    best_of_many(|| {
        engine.evaluate(
            &score,
            &Batch::new(STATES, &x),
            &mut y[..2 * STATES],
            &mut [],
        );
        let batch = Batch {
            states: STATES,
            x: &x,
            directions: 2,
            tangents: &tangents,
        };
        engine.evaluate(&mobility, &batch, &mut y, &mut dy);
    }) / STATES as f64
}

/// Nanoseconds of the fastest of eleven runs, enough to see the machine undisturbed.
fn best_of_many(mut run: impl FnMut()) -> f64 {
    (0..11)
        .map(|_| {
            let start = Instant::now();
            run();
            start.elapsed().as_secs_f64() * 1e9
        })
        .fold(f64::INFINITY, f64::min)
}

fn scalar_affine(steps: usize) -> f64 {
    const B0: [[f64; 2]; 2] = [[0.60, 0.10], [0.08, 0.55]];
    const B1: [[f64; 2]; 2] = [[0.36, 0.12], [0.15, -0.06]];
    const B2: [[f64; 2]; 2] = [[-0.09, 0.21], [0.18, 0.30]];
    let (dt, omega) = (1e-3f64, 1.1);
    let root = dt.sqrt();
    let mut rng = SmallRng::seed_from_u64(1);
    let (mut x, mut y) = (0.1f64, 0.1f64);
    for _ in 0..steps {
        let (u, v): (f64, f64) = (rng.sample(StandardNormal), rng.sample(StandardNormal));
        let r = 1.0 + x * x + y * y;
        let b = |i: usize, j: usize| B0[i][j] + x * B1[i][j] + y * B2[i][j];
        let dx = (-r * x - omega * y) * dt + root * (b(0, 0) * u + b(0, 1) * v);
        let dy = (-r * y + omega * x) * dt + root * (b(1, 0) * u + b(1, 1) * v);
        x += dx;
        y += dy;
    }
    x + y
}

fn scalar_spin(steps: usize) -> f64 {
    const N: usize = 12;
    let (lambda, j, k, theta, gamma) = (10.0, 0.35, 0.5, 0.2, 4.0);
    let (perp, par, eps, dt) = (0.25, 0.03, 0.01, 2.5e-4f64);
    let scale = (2.0f64 * theta * dt).sqrt();
    let mut rng = SmallRng::seed_from_u64(1);
    let mut m = [[0.1, 0.0, 1.0f64]; N];
    let mut next = m;
    for _ in 0..steps {
        for i in 0..N {
            let (a, b, c) = (m[(i + N - 1) % N], m[i], m[(i + 1) % N]);
            let r2 = b[0] * b[0] + b[1] * b[1] + b[2] * b[2];
            let mut h = [0.0; 3];
            for q in 0..3 {
                h[q] = -lambda * (r2 - 1.0) * b[q] + j * (a[q] + c[q] - 2.0 * b[q]);
            }
            h[2] += k * b[2];
            let torque = [
                b[1] * h[2] - b[2] * h[1],
                b[2] * h[0] - b[0] * h[2],
                b[0] * h[1] - b[1] * h[0],
            ];
            let mh = b[0] * h[0] + b[1] * h[1] + b[2] * h[2];
            let xi: [f64; 3] = std::array::from_fn(|_| rng.sample(StandardNormal));
            let mxi = b[0] * xi[0] + b[1] * xi[1] + b[2] * xi[2];
            let (across, along) = (eps + perp * r2, eps + par * r2);
            let (ra, rb) = (across.sqrt(), along.sqrt());
            let factor = (par - perp) / (ra + rb) * mxi;
            for q in 0..3 {
                let drift = across * h[q] + (par - perp) * mh * b[q] - gamma * torque[q]
                    + theta * (4.0 * par - 2.0 * perp) * b[q];
                next[i][q] = b[q] + drift * dt + scale * (ra * xi[q] + factor * b[q]);
            }
        }
        std::mem::swap(&mut m, &mut next);
    }
    m[0][0]
}

fn main() {
    rayon_one_thread();
    let (affine_steps, spin_steps) = (400_000, 60_000);
    let affine = lanes_ns(&Affine2d::default(), affine_steps, 10);
    let affine_scalar = best_of_many(|| {
        black_box(scalar_affine(black_box(5 * affine_steps)));
    }) / (5 * affine_steps) as f64;
    let spin = lanes_ns(&SoftSpin::default(), spin_steps, 60) / 12.0;
    let spin_scalar = best_of_many(|| {
        black_box(scalar_spin(black_box(5 * spin_steps)));
    }) / (60 * spin_steps) as f64;
    let data = affine_data();
    let polynomial = model_ns(&polynomial_model(&data), affine_steps / 4, 10);
    let network = neural_model(&data);
    let (mut neural, mut engine) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..3 {
        neural = neural.min(model_ns(&network, 60, 10));
        engine = engine.min(engine_ns());
    }
    if std::env::args().any(|argument| argument == "--json") {
        println!(
            "{{\"affine2d\":{{\"lanes_ns\":{affine:.3},\"scalar_ns\":{affine_scalar:.3}}},\
             \"softspin\":{{\"lanes_ns_per_site\":{spin:.3},\"scalar_ns_per_site\":{spin_scalar:.3}}},\
             \"models\":{{\"polynomial_ns\":{polynomial:.3},\"neural_ns\":{neural:.2},\
             \"neural_engine_ns\":{engine:.2}}}}}"
        );
    } else {
        println!(
            "affine2d, per step:       {affine:6.2} ns in lanes, {affine_scalar:6.2} ns scalar"
        );
        println!("softspin, per site-step:  {spin:6.2} ns in lanes, {spin_scalar:6.2} ns scalar");
        println!(
            "polynomial model, per step: {polynomial:6.2} ns, {:.2} times affine2d",
            polynomial / affine
        );
        println!(
            "neural model, per step:     {neural:6.1} ns, its networks alone {engine:6.1} ns: {:.2} of the \
             engine's peak",
            engine / neural
        );
    }
}

/// The figures are for one core.
fn rayon_one_thread() {
    rayon::ThreadPoolBuilder::new()
        .num_threads(1)
        .build_global()
        .expect("the pool is built once");
}
