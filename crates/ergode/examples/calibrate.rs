//! How often a validation accuses exact models, and whether planted defects pass.
//!
//! `cargo xtask calibrate [--models N]`
//!
//! Exact models of five systems are held against records of three lengths, as a fit does it: a quarter of the
//! record is held out, and the rollout is as long as the record. Printed are the shares of the verdicts,
//! and the Kolmogorov-Smirnov probability that the probabilities by chance are uniform. Then models
//! with planted defects are held against the longest records.

use ergode::check::{CheckConfig, check_ensemble};
use ergode::random::Stream;
use ergode::simulate::{Dimensions, Initial, Sde, SimulateConfig, simulate_ensemble};
use ergode::systems::{
    ExactFields, OrnsteinUhlenbeck, OrnsteinUhlenbeckParameters, System, generate, system_by_name,
};
use ergode::validate::{Rollout, RolloutRole, ValidateConfig, Validation, validate_rollouts};
use ergode::{Control, Ensemble, Scheme, Verdict};
use ndarray::{Array2, Array3};

/// Errors of the library, and of bad arguments.
type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Decorrelation times of the records.
const LENGTHS: [f64; 3] = [50.0, 200.0, 1000.0];
/// Samples in a decorrelation time.
const SAMPLES: f64 = 30.0;
/// Part of a record that is held out.
const HELD_OUT: f64 = 0.25;

/// A reference system with what a record of it needs.
struct Case {
    name: &'static str,
    system: Box<dyn System>,
    /// Longest decorrelation time of its coordinates, rounded to whole steps.
    memory: f64,
}

/// What is planted in a model.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Defect {
    /// Score x 1.15.
    Score,
    /// R → −R.
    Reversed,
    /// M/2.
    Half,
    /// ∇·M left out.
    NoDivergence,
    /// D replaced by its mean over the samples.
    ConstantDiffusion,
    /// One trajectory of twenty grows tenfold in every tenth of its time.
    Exploding,
}

/// Systems and defects where the eye sees them.
const PLANTED: &[(&str, &[Defect])] = &[
    ("ou", &[Defect::Score, Defect::Half, Defect::Exploding]),
    (
        "rotating",
        &[
            Defect::Score,
            Defect::Reversed,
            Defect::Half,
            Defect::Exploding,
        ],
    ),
    (
        "double-well",
        &[
            Defect::Score,
            Defect::Half,
            Defect::NoDivergence,
            Defect::ConstantDiffusion,
            Defect::Exploding,
        ],
    ),
    (
        "cir",
        &[
            Defect::Score,
            Defect::Half,
            Defect::NoDivergence,
            Defect::ConstantDiffusion,
            Defect::Exploding,
        ],
    ),
    ("affine2d", &[Defect::Exploding]),
];

fn main() -> Result<()> {
    let models = models()?;
    let cases = cases()?;
    println!("exact models, {models} of each system and length");
    println!(
        "{:<12} {:>6} {:>6} {:>6} {:>6} {:>14} {:>14}",
        "system", "length", "pass", "warn", "fail", "KS correlation", "KS density"
    );
    for case in &cases {
        for length in LENGTHS {
            row(case, length, models)?;
        }
    }
    println!(
        "\nplanted defects, {} of each, length {}",
        models.div_ceil(4),
        LENGTHS[2]
    );
    println!(
        "{:<12} {:<18} {:>6} {:>6} {:>6}",
        "system", "defect", "pass", "warn", "fail"
    );
    for (name, defects) in PLANTED {
        let case = cases.iter().find(|case| case.name == *name);
        let case = case.ok_or_else(|| format!("no system {name}"))?;
        for defect in *defects {
            planted(case, *defect, models.div_ceil(4))?;
        }
    }
    Ok(())
}

/// The number after `--models`, 20 by default.
fn models() -> Result<u64> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => Ok(20),
        ["--models", count] => count
            .parse()
            .map_err(|_| format!("--models takes a number, not {count}").into()),
        _ => Err("usage: calibrate [--models N]".into()),
    }
}

fn cases() -> Result<Vec<Case>> {
    let rotating = OrnsteinUhlenbeckParameters {
        drift: vec![vec![0.3, 1.0], vec![-1.0, 0.3]],
        diffusion: vec![vec![0.3, 0.0], vec![0.0, 0.3]],
        mean: vec![0.0; 2],
    };
    let named = |name: &'static str| -> Result<(&'static str, Box<dyn System>)> {
        Ok((name, system_by_name(name, &Default::default())?))
    };
    let systems = vec![
        named("ou")?,
        ("rotating", Box::new(OrnsteinUhlenbeck::new(rotating)?)),
        named("double-well")?,
        named("affine2d")?,
        named("cir")?,
    ];
    systems
        .into_iter()
        .map(|(name, system)| Case::new(name, system))
        .collect()
}

impl Case {
    fn new(name: &'static str, system: Box<dyn System>) -> Result<Self> {
        let mut protocol = system.protocol();
        protocol.simulate.seed = 1;
        protocol.simulate.trajectories = 8;
        let long = generate(&*system, &protocol, &Control::new())?.ensemble;
        let report = check_ensemble(&long, &CheckConfig::default(), &Control::new())?;
        let times = report
            .coordinates
            .iter()
            .filter_map(|c| c.decorrelation_time);
        let memory = times.fold(0.0, f64::max);
        println!("{name}: decorrelation time {memory:.3}");
        Ok(Self {
            name,
            system,
            memory,
        })
    }

    /// Interval between samples, a whole number of the system's steps.
    fn interval(&self) -> f64 {
        let dt = self.system.protocol().simulate.dt;
        (self.memory / SAMPLES / dt).round().max(1.0) * dt
    }

    /// A record of one trajectory that lasts `times` decorrelation times.
    fn record(&self, times: f64, seed: u64) -> Result<Ensemble> {
        let mut protocol = self.system.protocol();
        protocol.simulate.time = times * self.memory;
        protocol.simulate.save_every = self.interval();
        protocol.simulate.trajectories = 1;
        protocol.simulate.seed = seed;
        Ok(generate(&*self.system, &protocol, &Control::new())?.ensemble)
    }
}

fn validate(held_out: &Ensemble, rollout: Ensemble) -> Result<Validation> {
    let rollout = Rollout {
        name: "model".into(),
        role: RolloutRole::Learned,
        ensemble: rollout,
    };
    let config = ValidateConfig::default();
    Ok(validate_rollouts(
        held_out,
        &[rollout],
        &config,
        &Control::new(),
    )?)
}

/// One line of the table of exact models.
fn row(case: &Case, length: f64, models: u64) -> Result<()> {
    let (mut counts, mut correlations, mut densities) = ([0; 3], Vec::new(), Vec::new());
    for k in 0..models {
        let held_out = case.record(HELD_OUT * length, 1000 + 2 * k)?;
        let validation = validate(&held_out, case.record(length, 1001 + 2 * k)?)?;
        counts[place(validation.verdict)] += 1;
        correlations.push(validation.correlations.overall[0].probability);
        densities.push(validation.marginals.overall[0].probability);
        if validation.verdict == Verdict::Fail {
            eprintln!(
                "{} {length} {k}: {}",
                case.name, validation.reasons[0].message
            );
        }
    }
    let share = |count: i32| format!("{:.0} %", 100.0 * f64::from(count) / models as f64);
    println!(
        "{:<12} {length:>6} {:>6} {:>6} {:>6} {:>14.3} {:>14.3}",
        case.name,
        share(counts[0]),
        share(counts[1]),
        share(counts[2]),
        uniform(&mut correlations),
        uniform(&mut densities)
    );
    Ok(())
}

fn place(verdict: Verdict) -> usize {
    match verdict {
        Verdict::Pass => 0,
        Verdict::Warn => 1,
        Verdict::Fail => 2,
    }
}

/// The probability by chance of a Kolmogorov-Smirnov distance from the uniform law,
/// Q(λ) = 2 Σ (−1)^{k−1} e^{−2k²λ²} with λ = (√n + 0.12 + 0.11/√n) sup|F − u| (Stephens, 1970).
fn uniform(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    let n = values.len() as f64;
    let gap = values.iter().enumerate().map(|(k, u)| {
        let k = k as f64;
        (u - k / n).abs().max(((k + 1.0) / n - u).abs())
    });
    let lambda = (n.sqrt() + 0.12 + 0.11 / n.sqrt()) * gap.fold(0.0, f64::max);
    let term = |k: i32| {
        f64::from(1 - 2 * ((k + 1) % 2)) * (-2.0 * f64::from(k * k) * lambda * lambda).exp()
    };
    (2.0 * (1..50).map(term).sum::<f64>()).clamp(0.0, 1.0)
}

/// One line of the table of defects.
fn planted(case: &Case, defect: Defect, models: u64) -> Result<()> {
    let mut counts = [0; 3];
    for k in 0..models {
        let held_out = case.record(HELD_OUT * LENGTHS[2], 5000 + 2 * k)?;
        let rollout = match defect {
            Defect::Exploding => explode(&case.record(LENGTHS[2], 5001 + 2 * k)?)?,
            _ => defective(case, defect, &held_out, 5001 + 2 * k)?,
        };
        counts[place(validate(&held_out, rollout)?.verdict)] += 1;
    }
    println!(
        "{:<12} {:<18} {:>6} {:>6} {:>6}",
        case.name,
        format!("{defect:?}"),
        counts[0],
        counts[1],
        counts[2]
    );
    Ok(())
}

/// The record cut into trajectories, one of which grows tenfold in every tenth of its time.
fn explode(record: &Ensemble) -> Result<Ensemble> {
    const PIECES: usize = 20;
    let (rows, dim) = (record.samples() / PIECES, record.dim());
    let mut values = Array3::zeros((PIECES, rows, dim));
    let mut row = vec![0.0; dim];
    for ((piece, i, j), value) in values.indexed_iter_mut() {
        record.trajectories()[0].row(piece * rows + i, &mut row);
        let growth = match piece {
            0 => 10f64.powf(10.0 * i as f64 / rows as f64),
            _ => 1.0,
        };
        *value = row[j] * growth;
    }
    let interval = record.sampling_interval().expect("an even record");
    Ok(Ensemble::from_array3(values.into_shared(), interval)?
        .with_names(record.names().to_vec())?)
}

/// A rollout of the model with a defect.
fn defective(case: &Case, defect: Defect, held_out: &Ensemble, seed: u64) -> Result<Ensemble> {
    let fields = case.system.exact_fields();
    let fields = fields.ok_or_else(|| format!("{} has no fields", case.name))?;
    let model = Defective {
        system: &*case.system,
        fields,
        defect,
        mean: mean_diffusion(fields, held_out),
        positive: case.name == "cir",
    };
    let interval = case.interval();
    let dt = (interval / 0.01).ceil();
    let config = SimulateConfig {
        time: LENGTHS[2] / 16.0 * case.memory,
        dt: interval / dt,
        save_every: interval,
        trajectories: 16,
        seed,
        scheme: Scheme::Euler,
        burn_in: (5.0 * case.memory / interval).ceil() * interval,
    };
    let draw = |stream: &mut Stream, x: &mut [f64]| case.system.draw_initial(stream, x);
    let run = simulate_ensemble(&model, &Initial::Drawn(&draw), &config, &Control::new())?;
    Ok(run.ensemble.with_names(held_out.names().to_vec())?)
}

fn mean_diffusion(fields: &dyn ExactFields, held_out: &Ensemble) -> Array2<f64> {
    let dim = held_out.dim();
    let (mut row, mut m) = (vec![0.0; dim], vec![0.0; dim * dim]);
    let mut mean = Array2::<f64>::zeros((dim, dim));
    let trajectory = &held_out.trajectories()[0];
    for i in 0..trajectory.len() {
        trajectory.row(i, &mut row);
        fields.mobility(&row, &mut m);
        for ((a, b), mean) in mean.indexed_iter_mut() {
            *mean += 0.5 * (m[a * dim + b] + m[b * dim + a]) / trajectory.len() as f64;
        }
    }
    mean
}

/// A system with a defect, from its exact fields, in one or two coordinates.
struct Defective<'a> {
    system: &'a dyn System,
    fields: &'a dyn ExactFields,
    defect: Defect,
    mean: Array2<f64>,
    /// The square-root process lives on the half line.
    positive: bool,
}

impl Dimensions for Defective<'_> {
    fn dim(&self) -> usize {
        self.system.dim()
    }
}

impl Sde for Defective<'_> {
    fn advance(&self, scheme: Scheme, dt: f64, lanes: usize, state: &mut [f64], normals: &[f64]) {
        assert_eq!(scheme, Scheme::Euler);
        let dim = self.dim();
        let [mut x, mut xi, mut drift, mut noise] = [(); 4].map(|()| vec![0.0; dim]);
        for normals in normals.chunks_exact(dim * lanes) {
            for lane in 0..lanes {
                for i in 0..dim {
                    (x[i], xi[i]) = (state[i * lanes + lane], normals[i * lanes + lane]);
                }
                self.evaluate(&x, &xi, &mut drift, &mut noise);
                for i in 0..dim {
                    let next = x[i] + drift[i] * dt + noise[i] * dt.sqrt();
                    state[i * lanes + lane] = if self.positive { next.abs() } else { next };
                }
            }
        }
    }

    fn evaluate(&self, x: &[f64], xi: &[f64], drift: &mut [f64], noise: &mut [f64]) {
        let dim = self.dim();
        let [mut s, mut div] = [(); 2].map(|()| vec![0.0; dim]);
        let mut m = vec![0.0; dim * dim];
        self.fields.score(x, &mut s);
        self.fields.mobility(x, &mut m);
        self.fields.div_mobility(x, &mut div);
        match self.defect {
            Defect::Score => s.iter_mut().for_each(|s| *s *= 1.15),
            Defect::Reversed => {
                m = (0..dim * dim).map(|k| m[k % dim * dim + k / dim]).collect();
            }
            Defect::Half => {
                m.iter_mut().chain(&mut div).for_each(|value| *value *= 0.5);
            }
            Defect::NoDivergence => div.fill(0.0),
            Defect::ConstantDiffusion => {
                m = self.mean.iter().copied().collect();
                div.fill(0.0);
            }
            Defect::Exploding => {}
        }
        for (i, drift) in drift.iter_mut().enumerate() {
            *drift = div[i] + (0..dim).map(|j| m[i * dim + j] * s[j]).sum::<f64>();
        }
        let a = (2.0 * m[0]).max(0.0).sqrt();
        noise[0] = a * xi[0];
        if dim == 2 {
            let b = (m[1] + m[2]) / a;
            noise[1] = b * xi[0] + (2.0 * m[3] - b * b).max(0.0).sqrt() * xi[1];
        }
    }
}
