//! Closed-form scores against exact ones.

use ergode::{
    Affine2d, Affine2dReference, BurnIn, ClosedFormConfig, ClosedFormScore, Control,
    CoxIngersollRoss, DoubleWell, Ensemble, ExactFields, Expressions, LaggedConfig,
    LatticePotential, Monomials, OrnsteinUhlenbeck, OrnsteinUhlenbeckParameters, Score, SoftSpin,
    Standardiser, Subsample, System, fit_potential_score, fit_score, generate,
};

use crate::support::{Z_BOUND, sample};

/// The interval at which a system is saved by default.
fn interval(system: &dyn System) -> f64 {
    system.protocol().simulate.save_every
}

/// Relative L2(p_ss) error over every 37th sample.
fn relative_error(data: &Ensemble, score: &dyn Score, exact: &dyn ExactFields) -> f64 {
    let dim = data.dim();
    let (mut x, mut s, mut e) = (vec![0.0; dim], vec![0.0; dim], vec![0.0; dim]);
    let (mut difference, mut size) = (0.0, 0.0);
    for segment in data.segments() {
        for row in segment.rows.clone().step_by(37) {
            data.trajectories()[segment.trajectory].row(row, &mut x);
            score.score(&x, &mut s);
            exact.score(&x, &mut e);
            for i in 0..dim {
                difference += (s[i] - e[i]).powi(2);
                size += e[i].powi(2);
            }
        }
    }
    (difference / size).sqrt()
}

fn fit(data: &Ensemble, degrees: &[usize], stride: usize) -> ClosedFormScore {
    let config = ClosedFormConfig {
        degrees: degrees.to_vec(),
        statistics: LaggedConfig {
            subsample: Subsample::Stride(stride),
            ..LaggedConfig::default()
        },
        ..ClosedFormConfig::default()
    };
    fit_potential_score(data, &config, &Control::new()).unwrap()
}

fn ou() -> OrnsteinUhlenbeck {
    OrnsteinUhlenbeck::new(OrnsteinUhlenbeckParameters::default()).unwrap()
}

#[test]
fn the_degree_stops_where_the_truth_is() {
    let data = sample(&ou(), 4000.0, interval(&ou()), 64, 1);
    let score = fit(&data, &[2, 4, 6], 10);
    let error = relative_error(&data, &score, &ou());
    println!("ou: {error:.4}, trials {:?}", score.trials());
    assert!(error < 0.01, "{error}");
    let used = score
        .coefficients()
        .filter(|(_, value, _)| *value != 0.0)
        .count();
    assert_eq!(used, 5, "a quadratic potential in two dimensions");

    let well = DoubleWell::default();
    let data = sample(&well, 2000.0, interval(&well), 64, 2);
    let score = fit(&data, &[2, 4, 6, 8], 4);
    let error = relative_error(&data, &score, &well);
    println!("double well: {error:.4}, trials {:?}", score.trials());
    assert!(error < 0.01, "{error}");
    // The twin: a quadratic potential cannot hold two wells.
    assert!(relative_error(&data, &fit(&data, &[2], 4), &well) > 0.3);
}

/// With ln x in the span the CIR score is exact; the coefficients are (ν − 1, −β).
#[test]
fn cir_is_recovered_with_a_logarithm() {
    let cir = CoxIngersollRoss {
        gamma: 0.25,
        ..CoxIngersollRoss::default()
    };
    let data = sample(&cir, 4000.0, interval(&cir), 64, 3);
    let library = Expressions::parse(&["log(x)", "x"], data.names(), &[]).unwrap();
    let standardiser = Standardiser::new(vec![0.0], vec![1.0]).unwrap();
    let config = ClosedFormConfig::default();
    let score = fit_score(
        &data,
        Box::new(library),
        standardiser,
        &config,
        &Control::new(),
    )
    .unwrap();
    let error = relative_error(&data, &score, &cir);
    println!(
        "cir: {error:.4} {:?}",
        score.coefficients().collect::<Vec<_>>()
    );
    assert!(error < 0.01, "{error}");
    for ((_, value, stderr), exact) in score.coefficients().zip([cir.nu() - 1.0, -cir.beta()]) {
        assert!(((value - exact) / stderr).abs() < Z_BOUND);
    }
}

#[test]
fn coefficient_errors_have_their_coverage() {
    let exact = -0.5 / ou().covariance()[[0, 0]];
    let (mut inside, mut total) = ([0.0; 2], 0.0);
    for seed in 0..150 {
        // One coordinate of the process: its law is Gaussian, s = −x/σ².
        let data = sample(&ou(), 40.0, interval(&ou()), 24, 500 + seed);
        let one = Ensemble::new(
            data.trajectories()
                .iter()
                .map(|t| {
                    let column = ndarray::Array2::from_shape_fn((t.len(), 1), |(r, _)| {
                        let mut x = [0.0; 2];
                        t.row(r, &mut x);
                        x[0]
                    });
                    ergode::Trajectory::new(column, t.times().clone())
                })
                .collect(),
        )
        .unwrap();
        let library = Expressions::parse(&["x", "x^2"], one.names(), &[]).unwrap();
        let standardiser = Standardiser::new(vec![0.0], vec![1.0]).unwrap();
        let config = ClosedFormConfig::default();
        let score = fit_score(
            &one,
            Box::new(library),
            standardiser,
            &config,
            &Control::new(),
        )
        .unwrap();
        let (_, value, error) = score.coefficients().nth(1).unwrap();
        let z = ((value - exact) / error).abs();
        total += 1.0;
        inside[0] += f64::from(u8::from(z < 1.0));
        inside[1] += f64::from(u8::from(z < 1.96));
    }
    println!("coverage {:.3} {:.3}", inside[0] / total, inside[1] / total);
    assert!((inside[0] / total - 0.67).abs() < 0.12 && inside[1] / total > 0.88);
}

/// The paper's data set against the grid reference.
#[test]
fn affine_score_within_a_few_percent_and_confining_outside() {
    let system = Affine2d::default();
    let data = sample(&system, 3000.0, interval(&system), 36, 0)
        .burn_in(BurnIn::Fraction(0.1))
        .unwrap();
    let reference = Affine2dReference::solve(system, 320).unwrap();
    let start = std::time::Instant::now();
    let score = fit(&data, &[2, 4, 6, 8, 10], 20);
    let error = relative_error(&data, &score, &reference);
    println!(
        "affine2d: {error:.4} in {:.1?}, trials {:?}",
        start.elapsed(),
        score.trials()
    );
    assert!(error < 0.025, "{error}");
    // Far outside the samples, along either axis, the score points back, and the Jacobian matches it everywhere.
    for x in [
        [9.0, 0.3],
        [-7.0, 8.0],
        [0.1, -20.0],
        [0.3, 0.2],
        [-0.4, 0.5],
    ] {
        let mut s = [0.0; 2];
        score.score(&x, &mut s);
        if x[0].abs() + x[1].abs() > 5.0 {
            assert!(s[0] * x[0] + s[1] * x[1] < -1.0, "{x:?} {s:?}");
        }
        let mut jacobian = [0.0; 4];
        assert!(score.jacobian(&x, &mut jacobian));
        for j in 0..2 {
            let moved = |step: f64| {
                let mut y = x;
                y[j] += step;
                let mut s = [0.0; 2];
                score.score(&y, &mut s);
                s
            };
            let (up, down) = (moved(1e-5), moved(-1e-5));
            for i in 0..2 {
                let slope = (up[i] - down[i]) / 2e-5;
                let exact = jacobian[2 * i + j];
                assert!(
                    (slope - exact).abs() < 1e-4 * (1.0 + exact.abs()),
                    "{x:?} {slope} {exact}"
                );
            }
        }
        let mut divergence = [0.0];
        assert!(score.divergence(&x, &mut divergence));
        assert!((divergence[0] - jacobian[0] - jacobian[3]).abs() < 1e-12);
    }
}

/// The spin chain, data only: a local potential that knows of translation symmetry and nothing else.
#[test]
fn spin_chain_score_from_a_local_potential() {
    let system = SoftSpin::default();
    let mut protocol = system.protocol();
    protocol.simulate.dt = 2.5e-4;
    protocol.simulate.save_every = 0.5;
    protocol.simulate.time = 120.0;
    protocol.simulate.trajectories = 72;
    let data = generate(&system, &protocol, &Control::new())
        .unwrap()
        .ensemble;
    let names = ["x", "y", "z"].map(String::from);
    let onsite = Monomials::new(&names, 2..=4).unwrap();
    let even: Vec<Vec<u32>> = onsite
        .exponents()
        .into_iter()
        .filter(|e| e.iter().all(|p| p % 2 == 0))
        .collect();
    let onsite = Monomials::from_exponents(&names, even).unwrap();
    let library = LatticePotential::new(12, onsite, &[1]).unwrap();
    let standardiser = Standardiser::new(vec![0.0; 36], vec![1.0; 36]).unwrap();
    let config = ClosedFormConfig::default();
    let score = fit_score(
        &data,
        Box::new(library),
        standardiser,
        &config,
        &Control::new(),
    )
    .unwrap();
    let error = relative_error(&data, &score, &system);
    println!("softspin: {error:.4}");
    // Exact coefficients: −λ/(4Θ) on x⁴, J/Θ on the neighbours.
    for (label, value, stderr) in score.coefficients() {
        println!("{label}: {value:.3} +- {stderr:.3}");
        let exact = match label {
            "sum x^4" | "sum y^4" | "sum z^4" => -12.5,
            "sum x^2*y^2" | "sum x^2*z^2" | "sum y^2*z^2" => -25.0,
            "sum m[i].0 m[i+1].0" | "sum m[i].1 m[i+1].1" | "sum m[i].2 m[i+1].2" => 1.75,
            "sum x^2" | "sum y^2" => 25.0 - 1.75,
            _ => 25.0 - 1.75 + 1.25,
        };
        // The Euler step leaves the law 0.1 % off.
        assert!(
            (value - exact).abs() < Z_BOUND * stderr + 3e-3 * exact.abs(),
            "{label}"
        );
    }
    assert!(error < 0.02, "{error}");
}
