//! The mobility of the soft-spin chain from its own simulation: the four coefficients of the
//! physics-informed span, and the onsite block as 90 polynomials without that knowledge.
//!
//!     cargo run --release -p ergode --example spin_mobility -- [TIME] [TRAJECTORIES] [SEED]

use std::sync::Arc;
use std::time::Instant;

use ergode::{
    Control, Ensemble, ExactFields, IntegralRule, LaggedConfig, LatticeConfig, LatticeMobility,
    LatticeScore, LatticeSums, LatticeWeak, Mobility, MobilityConfig, MobilityFit,
    ScoreCoefficients, SoftSpin, SpinNeighbourhood, Standardiser, System, TensorBasis, TimeForm,
    accumulate_lattice, fit_mobility, generate, neighbourhood_families,
};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> Outcome<()> {
    let arguments: Vec<f64> = std::env::args()
        .skip(1)
        .map(|argument| argument.parse())
        .collect::<Result<_, _>>()?;
    let argument = |k: usize, default: f64| arguments.get(k).copied().unwrap_or(default);
    let system = SoftSpin::default();
    let mut protocol = system.protocol();
    protocol.simulate.time = argument(0, 1000.0);
    protocol.simulate.trajectories = argument(1, 72.0) as usize;
    protocol.simulate.seed = argument(2, 0.0) as u64;
    let control = Control::new();
    let clock = Instant::now();
    let data = generate(&system, &protocol, &control)?.ensemble;
    println!(
        "{} trajectories, T = {}, dt = {}, seed {}: {} states in {:.0} s",
        data.len(),
        protocol.simulate.time,
        protocol.simulate.dt,
        protocol.simulate.seed,
        data.samples(),
        clock.elapsed().as_secs_f64()
    );
    physics_informed(&system, &data, &control)?;
    data_only(&system, &data, &control)
}

/// The components of a spin as they are.
fn raw() -> Standardiser {
    Standardiser::new(vec![0.0; 3], vec![1.0; 3]).expect("positive scales")
}

/// Five saved states, the first included.
fn lags(data: &Ensemble) -> Vec<f64> {
    let interval = data.sampling_interval().expect("evenly saved");
    (0..5).map(|k| f64::from(k) * interval).collect()
}

fn fit(
    sums: LatticeSums,
    score: &LatticeScore,
    data: &Ensemble,
    basis: &TensorBasis,
    config: &MobilityConfig,
    control: &Control,
) -> Outcome<(LatticeWeak, MobilityFit)> {
    let statistics = LaggedConfig::default();
    let clock = Instant::now();
    let fitted = score.accumulate(data, &raw(), &statistics, control)?;
    let score_time = clock.elapsed().as_secs_f64();
    let coefficients = ScoreCoefficients::Fitted(fitted);
    let time = TimeForm::Integral(IntegralRule::Simpson);
    let clock = Instant::now();
    let equations = LatticeWeak::new(&Arc::new(sums), score, coefficients, basis, &time)?;
    let fit = fit_mobility(&equations, config, control)?;
    println!(
        "  score {score_time:.1} s, solution {:.1} s; chi2 per equation {:.2}, condition {:.0}, rank \
         {} of {}, ridge {}",
        clock.elapsed().as_secs_f64(),
        fit.chi2_per_equation,
        fit.condition,
        fit.effective_rank,
        basis.len(),
        fit.ridge
    );
    Ok((equations, fit))
}

fn physics_informed(system: &SoftSpin, data: &Ensemble, control: &Control) -> Outcome<()> {
    let config = LatticeConfig {
        test_degree: 1,
        lags: lags(data),
        ..LatticeConfig::default()
    };
    let clock = Instant::now();
    let families = SpinNeighbourhood::from_ensemble(data)?;
    let sums = accumulate_lattice(data, &raw(), &families, &config, control)?;
    println!(
        "physics-informed span, eleven families at separations {:?}, tests of degree 1: {:.1} s",
        config.separations,
        clock.elapsed().as_secs_f64()
    );
    let score = LatticeScore::spin(system.sites)?;
    // Four well-determined coefficients need no ridge, which would only shift them.
    let plain = MobilityConfig {
        ridges: vec![0.0],
        ..MobilityConfig::default()
    };
    let (equations, fit) = fit(sums, &score, data, &TensorBasis::spin(), &plain, control)?;
    println!("  score beta {:.3}", equations.score_coefficients());
    let theta = system.temperature;
    let truth = [
        system.epsilon,
        system.alpha_perp,
        system.alpha_par,
        -system.gamma,
    ];
    for ((label, value, error), truth) in fit.coefficients().zip(truth) {
        let truth = theta * truth;
        println!(
            "  {label:7} {value:9.5} +- {error:.5}   truth {truth:7.4}   z {:5.2}   {:6.2} %",
            (value - truth) / error,
            100.0 * (value / truth - 1.0)
        );
    }
    report(system, data, fit)
}

fn data_only(system: &SoftSpin, data: &Ensemble, control: &Control) -> Outcome<()> {
    let names = ["x", "y", "z"].map(String::from);
    let config = LatticeConfig {
        separations: vec![0],
        test_degree: 3,
        score_degree: 5,
        distances: vec![1, 2],
        lags: lags(data),
        ..LatticeConfig::default()
    };
    let clock = Instant::now();
    let families = neighbourhood_families(3)?;
    let sums = accumulate_lattice(data, &raw(), &families, &config, control)?;
    println!(
        "data only, 90 coefficients, tests of degree 3, u and m x u at the same site: {:.1} s",
        clock.elapsed().as_secs_f64()
    );
    let score = LatticeScore::potential(system.sites, &names, 6, &config.distances)?;
    let basis = TensorBasis::polynomial(&names, &raw(), 2, 2, None)?;
    let (_, fit) = fit(
        sums,
        &score,
        data,
        &basis,
        &MobilityConfig::default(),
        control,
    )?;
    report(system, data, fit)
}

/// Relative L2(p_ss) errors against the exact mobility over every 37th state.
fn report(system: &SoftSpin, data: &Ensemble, fit: MobilityFit) -> Outcome<()> {
    let mobility = LatticeMobility::new(system.sites, fit.mobility)?;
    let dim = data.dim();
    let (mut x, mut fitted, mut exact) =
        (vec![0.0; dim], vec![0.0; dim * dim], vec![0.0; dim * dim]);
    // Squared difference and size, of D and of R.
    let mut sums = [[0.0; 2]; 2];
    for segment in data.segments() {
        for row in segment.rows.clone().step_by(37) {
            data.trajectories()[segment.trajectory].row(row, &mut x);
            mobility.mobility(&x, &mut fitted);
            ExactFields::mobility(system, &x, &mut exact);
            for at in 0..dim * dim {
                let mirrored = at % dim * dim + at / dim;
                for (sums, sign) in sums.iter_mut().zip([1.0, -1.0]) {
                    let part = |m: &[f64]| 0.5 * (m[at] + sign * m[mirrored]);
                    sums[0] += (part(&fitted) - part(&exact)).powi(2);
                    sums[1] += part(&exact).powi(2);
                }
            }
        }
    }
    let [d, r] = sums.map(|[difference, size]| 100.0 * (difference / size).sqrt());
    println!(
        "  relative L2: D {d:.2} %, R {r:.2} %; D not positive at {:.1e} of the spins; warnings {:?}",
        mobility.psd_violation(data)?,
        fit.warnings
    );
    Ok(())
}
