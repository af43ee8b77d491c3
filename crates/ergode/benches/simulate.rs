//! Cost of a simulation step on one core: trajectories in SIMD lanes against the straightforward
//! scalar loop with ziggurat normals. `--json` prints one machine-readable line.

use std::hint::black_box;
use std::time::Instant;

use ergode::{
    Affine2d, Control, Initial, Scheme, SimulateConfig, SoftSpin, Stream, System, simulate_ensemble,
};
use rand::{RngExt, SeedableRng, rngs::SmallRng};
use rand_distr::StandardNormal;

/// Nanoseconds per trajectory-step of the library, the best of many runs, on one thread.
fn lanes_ns(system: &dyn System, steps: usize, save: usize) -> f64 {
    let dt = system.protocol().simulate.dt;
    let config = SimulateConfig {
        time: dt * steps as f64,
        dt,
        save_every: dt * save as f64,
        trajectories: 32,
        seed: 1,
        scheme: Scheme::Euler,
        burn_in: 0.0,
    };
    let draw = |stream: &mut Stream, x: &mut [f64]| system.draw_initial(stream, x);
    best_of_many(|| {
        simulate_ensemble(system, &Initial::Drawn(&draw), &config, &Control::new())
            .expect("the system is stable");
    }) / (steps * config.trajectories) as f64
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
    if std::env::args().any(|argument| argument == "--json") {
        println!(
            "{{\"affine2d\":{{\"lanes_ns\":{affine:.3},\"scalar_ns\":{affine_scalar:.3}}},\
             \"softspin\":{{\"lanes_ns_per_site\":{spin:.3},\"scalar_ns_per_site\":{spin_scalar:.3}}}}}"
        );
    } else {
        println!(
            "affine2d, per step:       {affine:6.2} ns in lanes, {affine_scalar:6.2} ns scalar"
        );
        println!("softspin, per site-step:  {spin:6.2} ns in lanes, {spin_scalar:6.2} ns scalar");
    }
}

/// The figures are for one core.
fn rayon_one_thread() {
    rayon::ThreadPoolBuilder::new()
        .num_threads(1)
        .build_global()
        .expect("the pool is built once");
}
