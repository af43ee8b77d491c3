//! Lagged statistics of the paper's affine data set against the machine's matrix-product peak.
//! `--json` prints one machine-readable line.

use std::time::Instant;

use ergode::lagged::{LagGrid, LaggedConfig, Subsample, accumulate_lagged};
use ergode::observable::{Functions, Monomials};
use ergode::systems::{Affine2d, System, generate};
use ergode::{BurnIn, Control};
use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, Par};

/// Seconds of the fastest of three runs.
fn best_of_three(mut run: impl FnMut()) -> f64 {
    (0..3)
        .map(|_| {
            let start = Instant::now();
            run();
            start.elapsed().as_secs_f64()
        })
        .fold(f64::INFINITY, f64::min)
}

/// Billion operations per second of large double-precision matrix products on all threads.
fn peak() -> f64 {
    let n = 2048;
    let a = Mat::<f64>::from_fn(n, n, |i, j| (i * 7 + j) as f64 * 1e-3);
    let mut c = Mat::<f64>::zeros(n, n);
    let seconds = best_of_three(|| {
        matmul(&mut c, Accum::Replace, &a, &a, 1.0, Par::rayon(0));
    });
    2.0 * (n as f64).powi(3) / seconds * 1e-9
}

/// Largest resident memory of the process so far, in MB, where the system tells.
fn peak_memory() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM"))?;
    let kilobytes: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes * 1e-3)
}

fn main() {
    let system = Affine2d::default();
    let data = generate(&system, &system.protocol(), &Control::new())
        .expect("the system is stable")
        .ensemble;
    let data = data.burn_in(BurnIn::Fraction(0.1)).expect("a tenth");
    let future = Monomials::new(data.names(), 1..=3).expect("nine monomials");
    let all = Monomials::new(data.names(), 0..=20).expect("231 monomials");
    let chosen = all.exponents()[..225].to_vec();
    let initial = Monomials::from_exponents(data.names(), chosen).expect("225 monomials");
    let lags: Vec<f64> = (0..=20).map(|k| 0.05 * f64::from(k)).collect();
    let grid = LagGrid::for_ensemble(&data, &lags).expect("whole samples");
    let config = LaggedConfig {
        subsample: Subsample::Stride(5),
        ..LaggedConfig::default()
    };
    let mut pairs = 0.0;
    let seconds = best_of_three(|| {
        let sums = accumulate_lagged(&data, &future, &initial, &grid, &config, &Control::new())
            .expect("the data are long enough");
        let total = sums.total();
        pairs = (0..grid.len()).map(|lag| total.pairs(lag)).sum();
    });
    let rate = 2.0 * pairs * (future.len() * initial.len()) as f64 / seconds * 1e-9;
    let peak = peak();
    let fraction = rate / peak;
    let data_mb = (data.samples() * 2 * 8) as f64 * 1e-6;
    let memory = peak_memory().unwrap_or(f64::NAN);
    if std::env::args().any(|argument| argument == "--json") {
        println!(
            "{{\"seconds\":{seconds:.3},\"gflops\":{rate:.1},\"peak_gflops\":{peak:.1},\
             \"fraction_of_peak\":{fraction:.3},\"data_mb\":{data_mb:.0},\"peak_memory_mb\":{memory:.0}}}"
        );
    } else {
        println!(
            "{} samples, stride 5, 9 x 225 functions x 21 lags: {seconds:.2} s, {rate:.0} Gflop/s, \
             {:.0} % of the {peak:.0} Gflop/s of large matrix products; peak memory {memory:.0} MB, \
             data {data_mb:.0} MB",
            data.samples(),
            100.0 * fraction
        );
    }
}
