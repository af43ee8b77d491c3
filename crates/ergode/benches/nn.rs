//! Training steps of small networks (forward, mean-square loss, backward, Adam) on one core and on
//! all, beside the fused multiply-adds that a core can do. `--json` prints one machine-readable line.

use std::hint::black_box;
use std::time::Instant;

use ergode::nn::{Adam, AdamConfig, Batch, CpuEngine, Engine, Mlp, Tile};
use ergode::random::{Purpose, Stream};
use pulp::{Arch, Simd, WithSimd};

/// The networks, by their widths; the peer has the same.
const NETWORKS: [&[usize]; 2] = [&[5, 256, 128, 2], &[2, 128, 64, 2]];

/// States in a step.
const STATES: usize = 4096;

/// Timings of each quantity; the best counts. Those of different quantities take turns, so that all
/// of them see the machine in its best moments.
const ROUNDS: usize = 300;

/// A network in training.
struct Training {
    mlp: Mlp,
    adam: Adam,
    x: Vec<f32>,
    targets: Vec<f32>,
    gradient: Vec<f32>,
}

impl Training {
    fn new(widths: &[usize]) -> Self {
        let mlp = Mlp::new(widths, 1).expect("valid widths");
        let mut stream = Stream::new(1, Purpose::Analysis, 0);
        let mut draw = |width: usize| {
            (0..width * STATES)
                .map(|_| stream.normal() as f32)
                .collect()
        };
        Self {
            adam: Adam::new(&AdamConfig::default(), &mlp).expect("valid configuration"),
            x: draw(mlp.inputs()),
            targets: draw(mlp.outputs()),
            gradient: vec![0.0; mlp.parameters().len()],
            mlp,
        }
    }

    fn step(&mut self, engine: &CpuEngine) -> f64 {
        self.gradient.fill(0.0);
        let scale = 2.0 / self.targets.len() as f32;
        let targets = &self.targets;
        let loss = |tile: Tile| {
            let mut sum = 0.0;
            let rows = tile.y.chunks_exact(tile.states);
            let bars = tile.y_bar.chunks_exact_mut(tile.states);
            for (j, (y, y_bar)) in rows.zip(bars).enumerate() {
                let targets = &targets[j * STATES + tile.first..][..tile.states];
                for ((y, y_bar), target) in y.iter().zip(y_bar).zip(targets) {
                    let residual = y - target;
                    *y_bar = scale * residual;
                    sum += f64::from(0.5 * scale * residual * residual);
                }
            }
            sum
        };
        let batch = Batch::new(STATES, &self.x);
        let loss = engine.gradient(&self.mlp, &batch, &loss, &mut self.gradient);
        self.adam.step(&mut self.mlp, &self.gradient);
        loss
    }
}

/// Operations of a step: the products of the forward pass and of the derivatives with respect to
/// weights and, except in the first layer, inputs; two operations for each multiply-add.
fn operations(widths: &[usize]) -> f64 {
    let products = |widths: &[usize]| -> usize { widths.windows(2).map(|w| w[0] * w[1]).sum() };
    2.0 * STATES as f64 * (2 * products(widths) + products(&widths[1..])) as f64
}

/// Multiply-adds with all operands in registers.
struct MultiplyAdd;

/// Chains of multiply-adds side by side, enough to hide their latency, and links in each.
const CHAINS: usize = 12;
const LINKS: usize = 200_000;

impl WithSimd for MultiplyAdd {
    /// Operations done.
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f64 {
        let (factor, summand) = (simd.splat_f32s(0.999), simd.splat_f32s(0.001));
        let mut chains = [simd.splat_f32s(black_box(1.0)); CHAINS];
        for _ in 0..LINKS {
            for chain in &mut chains {
                *chain = simd.mul_add_e_f32s(*chain, factor, summand);
            }
        }
        for chain in chains {
            black_box(simd.reduce_sum_f32s(chain));
        }
        (2 * CHAINS * LINKS * S::F32_LANES) as f64
    }
}

/// Seconds that `work` takes, if less than before, and what it returns.
fn improve(best: &mut f64, work: impl FnOnce() -> f64) -> f64 {
    let start = Instant::now();
    let result = black_box(work());
    *best = best.min(start.elapsed().as_secs_f64());
    result
}

/// Best seconds of a step of one network.
struct Timing {
    one_core: f64,
    all_cores: f64,
}

fn main() {
    let (single, all) = (CpuEngine::single_core(), CpuEngine::default());
    let mut trainings = NETWORKS.map(Training::new);
    let mut timings = NETWORKS.map(|_| Timing {
        one_core: f64::INFINITY,
        all_cores: f64::INFINITY,
    });
    let mut peak = 0.0f64;
    let arch = Arch::new();
    for _ in 0..ROUNDS {
        let mut seconds = f64::INFINITY;
        let done = improve(&mut seconds, || arch.dispatch(MultiplyAdd));
        peak = peak.max(done / seconds);
        for (training, timing) in trainings.iter_mut().zip(&mut timings) {
            improve(&mut timing.one_core, || training.step(&single));
            improve(&mut timing.all_cores, || training.step(&all));
        }
    }
    report(peak, &timings);
}

fn report(peak: f64, timings: &[Timing]) {
    let threads = rayon::current_num_threads();
    let json = std::env::args().any(|argument| argument == "--json");
    if !json {
        println!("multiply-adds of one core: {:.1} Gflop/s", 1e-9 * peak);
    }
    let mut networks = Vec::new();
    for (widths, timing) in NETWORKS.iter().zip(timings) {
        let name = widths.iter().map(usize::to_string).collect::<Vec<_>>();
        let name = name.join("-");
        let flops = operations(widths) / timing.one_core;
        let (one, all) = (1.0 / timing.one_core, 1.0 / timing.all_cores);
        if !json {
            println!(
                "{name}: {one:.1} steps/s on one core ({:.1} Gflop/s, {:.3} of its multiply-adds), \
                 {all:.1} on {threads}",
                1e-9 * flops,
                flops / peak
            );
        }
        networks.push(format!(
            "\"{name}\":{{\"ergode_steps_per_s\":{one:.2},\"ergode_all_cores_steps_per_s\":{all:.2},\
             \"gflops\":{:.2},\"fraction_of_peak\":{:.4}}}",
            1e-9 * flops,
            flops / peak
        ));
    }
    if json {
        println!(
            "{{\"states\":{STATES},\"threads\":{threads},\"peak_gflops\":{:.2},\"networks\":{{{}}}}}",
            1e-9 * peak,
            networks.join(",")
        );
    }
}
