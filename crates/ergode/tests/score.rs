//! Closed-form scores against exact ones.

use ergode::data::{Standardiser, Support};
use ergode::lagged::{LaggedConfig, Subsample};
use ergode::observable::{Expressions, LatticePotential, Monomials};
use ergode::score::{
    ClosedFormConfig, ClosedFormScore, Confinement, Gradients, Score, ScoreObjective, SpinFields,
    VectorFields, accumulate_score, fit_logarithmic_score, fit_potential_score, fit_score,
};
use ergode::systems::{Affine2d, CoxIngersollRoss, DoubleWell, SoftSpin, System, generate};
use ergode::{BurnIn, Control, Ensemble};

use crate::support::{Z_BOUND, affine_reference, ou, relative_error, sample};

/// The interval at which a system is saved by default.
fn interval(system: &dyn System) -> f64 {
    system.protocol().simulate.save_every
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

/// A fit in the given span, in raw coordinates.
pub(crate) fn span(
    data: &Ensemble,
    fields: impl VectorFields + 'static,
    objective: ScoreObjective,
) -> ClosedFormScore {
    let dim = data.dim();
    let standardiser = Standardiser::new(vec![0.0; dim], vec![1.0; dim]).unwrap();
    let support = Support::from_ensemble(data, &standardiser).unwrap();
    let config = ClosedFormConfig {
        objective,
        ..ClosedFormConfig::default()
    };
    fit_score(
        data,
        Box::new(fields),
        Confinement::new(standardiser, support).unwrap(),
        &config,
        &Control::new(),
    )
    .unwrap()
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
    let score = span(&data, Gradients::new(library), ScoreObjective::Hyvarinen);
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

/// The same without being told the fields: a polynomial of ln x, whose gradients are checked against
/// differences, and whose value below the samples points up.
#[test]
fn a_positive_coordinate_is_fitted_by_its_logarithm() {
    let cir = CoxIngersollRoss {
        gamma: 0.25,
        ..CoxIngersollRoss::default()
    };
    let data = sample(&cir, 4000.0, interval(&cir), 64, 3);
    let config = ClosedFormConfig::default();
    let score = fit_logarithmic_score(&data, &[true], &config, &Control::new()).unwrap();
    let error = relative_error(&data, &score, &cir);
    let plain = fit_potential_score(&data, &config, &Control::new()).unwrap();
    let plain = relative_error(&data, &plain, &cir);
    println!("cir by ln x: {error:.4}, by x: {plain:.4}");
    assert!(error < 0.03 && error < 0.5 * plain);
    let at = |x: f64| {
        let mut s = [0.0];
        score.score(&[x], &mut s);
        s[0]
    };
    for x in [0.4, 1.0, 2.2] {
        let (mut slope, h) = ([0.0], 1e-5);
        assert!(score.jacobian(&[x], &mut slope));
        let expected = (at(x + h) - at(x - h)) / (2.0 * h);
        assert!(
            (slope[0] - expected).abs() < 1e-5 * expected.abs().max(1.0),
            "{x}"
        );
    }
    assert!(at(-1.0) > 0.0 && at(-1.0) == at(0.0) && at(1e-6) > 0.0);
    let negative = sample(&ou(), 10.0, interval(&ou()), 4, 3);
    let refused = fit_logarithmic_score(&negative, &[true, false], &config, &Control::new());
    assert!(refused.unwrap_err().to_string().contains("no logarithm"));
}

#[test]
fn slow_coefficient_errors_have_their_coverage() {
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
        let score = span(&one, Gradients::new(library), ScoreObjective::Hyvarinen);
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
fn affine_score_within_a_few_percent() {
    let system = Affine2d::default();
    let data = sample(&system, 3000.0, interval(&system), 36, 0)
        .burn_in(BurnIn::Fraction(0.1))
        .unwrap();
    let reference = affine_reference();
    let start = std::time::Instant::now();
    let score = fit(&data, &[2, 4, 6, 8, 10], 20);
    let error = relative_error(&data, &score, reference);
    println!(
        "affine2d: {error:.4} in {:.1?}, trials {:?}",
        start.elapsed(),
        score.trials()
    );
    assert!(error < 0.025, "{error}");
}

/// The spin chain, by Hyvärinen's objective in two spans: a local potential that knows of translation
/// symmetry and nothing else, and the paper's four terms.
#[test]
fn spin_chain_score_from_a_local_potential_and_from_four_terms() {
    let system = SoftSpin::default();
    let mut protocol = system.protocol();
    protocol.simulate.dt = 2.5e-4;
    protocol.simulate.save_every = 0.1;
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
    let local = span(&data, Gradients::new(library), ScoreObjective::Hyvarinen);
    // Exact coefficients: −λ/(4Θ) on x⁴, J/Θ on the neighbours.
    let exact = |label: &str| match label {
        "sum x^4" | "sum y^4" | "sum z^4" => -12.5,
        "sum x^2*y^2" | "sum x^2*z^2" | "sum y^2*z^2" => -25.0,
        "sum m[i].0 m[i+1].0" | "sum m[i].1 m[i+1].1" | "sum m[i].2 m[i+1].2" => 1.75,
        "sum x^2" | "sum y^2" => 25.0 - 1.75,
        "sum z^2" => 25.0 - 1.75 + 1.25,
        "beta_1" => 50.0,
        "beta_3" => -50.0,
        "beta_J" => 1.75,
        "beta_K" => 2.5,
        _ => unreachable!("{label}"),
    };
    let four = SpinFields::new(12).unwrap();
    let four = span(&data, four, ScoreObjective::Hyvarinen);
    for (score, z_bound) in [(&local, Z_BOUND), (&four, 3.0)] {
        let error = relative_error(&data, score, &system);
        println!("softspin: {error:.4}");
        assert!(error < 0.01, "{error}");
        for (label, value, stderr) in score.coefficients() {
            let exact = exact(label);
            println!("{label}: {value:.3} +- {stderr:.3}, exact {exact}");
            assert!((value - exact).abs() < z_bound * stderr, "{label}");
        }
    }
}

/// In the span {x e_x, y e_x, x e_y, y e_y}, most of it not gradients, the score −C⁻¹x is symmetric.
#[test]
fn fields_need_not_be_gradients() {
    #[derive(Debug)]
    struct Linear([String; 4]);
    impl VectorFields for Linear {
        fn dim(&self) -> usize {
            2
        }
        fn labels(&self) -> &[String] {
            &self.0
        }
        fn fields(&self, x: &[f64], out: &mut [f64]) {
            let n = x.len() / 2;
            out.fill(0.0);
            for i in 0..2 {
                for j in 0..2 {
                    let at = ((2 * i + j) * 2 + i) * n;
                    out[at..at + n].copy_from_slice(&x[j * n..(j + 1) * n]);
                }
            }
        }
        fn divergences(&self, x: &[f64], weights: &[f64], out: &mut [f64]) {
            let n = x.len() / 2;
            for (k, row) in out.chunks_exact_mut(n).enumerate() {
                row.fill([weights[0], 0.0, 0.0, weights[1]][k]);
            }
        }
        fn jacobians(&self, _: &[f64], out: &mut [f64]) {
            out.fill(0.0);
            for k in 0..4 {
                out[4 * k + k] = 1.0;
            }
        }
    }
    let data = sample(&ou(), 2000.0, 5.0 * interval(&ou()), 32, 21);
    let labels = ["xx", "xy", "yx", "yy"].map(String::from);
    let score = span(&data, Linear(labels), ScoreObjective::Hyvarinen);
    let system = ou();
    let c = system.covariance();
    let det = c[[0, 0]] * c[[1, 1]] - c[[0, 1]] * c[[1, 0]];
    let exact = [-c[[1, 1]], c[[0, 1]], c[[1, 0]], -c[[0, 0]]].map(|v| v / det);
    for ((label, value, stderr), exact) in score.coefficients().zip(exact) {
        let z = (value - exact) / stderr;
        println!("{label}: {value:.4} +- {stderr:.4}, exact {exact:.4}, z {z:.2}");
        assert!(z.abs() < Z_BOUND, "{label}");
        // The twin: the transposed sign of the coupling.
        if label.as_bytes()[0] != label.as_bytes()[1] {
            assert!(((value + exact) / stderr).abs() > Z_BOUND);
        }
    }
}

/// Denoising gives the score of the smoothed law: −x/(v + σ²) for a normal law of variance v.
#[test]
fn denoising_tends_to_hyvarinen_and_shows_its_bias() {
    let system = ou();
    let data = sample(&system, 2000.0, 5.0 * interval(&system), 32, 22);
    let quadratic = |objective| {
        let library = Monomials::new(data.names(), 2..=2).unwrap();
        span(&data, Gradients::new(library), objective)
    };
    let denoise = |sigma| quadratic(ScoreObjective::Denoising { sigma, seed: 1 });
    let plain = relative_error(&data, &quadratic(ScoreObjective::Hyvarinen), &system);
    let covariance = system.covariance();
    let spread = covariance[[0, 0]].min(covariance[[1, 1]]).sqrt();
    let mut errors = Vec::new();
    for fraction in [0.2, 0.05, 0.01] {
        let sigma = fraction * spread;
        let score = denoise(sigma);
        assert_eq!(
            score.objective(),
            ScoreObjective::Denoising { sigma, seed: 1 }
        );
        errors.push(relative_error(&data, &score, &system));
        // The exact score of the smoothed law, −(C + σ²)⁻¹ x, is ½ β_xx = that of x² and so on.
        let mut c = covariance.to_owned();
        c[[0, 0]] += sigma * sigma;
        c[[1, 1]] += sigma * sigma;
        let det = c[[0, 0]] * c[[1, 1]] - c[[0, 1]] * c[[1, 0]];
        let exact = [-0.5 * c[[1, 1]], c[[0, 1]], -0.5 * c[[0, 0]]].map(|v| v / det);
        for ((label, value, stderr), exact) in score.coefficients().zip(exact) {
            let z = (value - exact) / stderr;
            println!("sigma {sigma:.3} {label}: {value:.4} +- {stderr:.4}, z {z:.2}");
            assert!(z.abs() < Z_BOUND, "{label}");
        }
        // The twin: at the largest noise the score of the law itself is far off.
        if fraction == 0.2 {
            let (_, value, stderr) = score.coefficients().next().unwrap();
            let det = covariance[[0, 0]] * covariance[[1, 1]] - covariance[[0, 1]].powi(2);
            let unsmoothed = -0.5 * covariance[[1, 1]] / det;
            assert!(((value - unsmoothed) / stderr).abs() > Z_BOUND);
        }
    }
    println!("hyvarinen {plain:.4}, denoising {errors:.4?}");
    assert!(plain < 0.02);
    // What is left of the difference at the smallest noise is the sampling of the noise itself.
    assert!(errors[2] < plain + 0.01 && errors[0] > 0.03);
}

#[test]
fn sums_do_not_depend_on_the_number_of_threads() {
    let data = sample(&ou(), 100.0, interval(&ou()), 20, 24);
    let fields = Gradients::new(Monomials::new(data.names(), 1..=4).unwrap());
    let standardiser = Standardiser::from_ensemble(&data).unwrap();
    for objective in [
        ScoreObjective::Hyvarinen,
        ScoreObjective::Denoising {
            sigma: 0.1,
            seed: 3,
        },
    ] {
        let sums = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
            let (config, control) = (LaggedConfig::default(), Control::new());
            let run =
                || accumulate_score(&data, &fields, &standardiser, objective, &config, &control);
            pool.unwrap().install(run).unwrap()
        };
        assert_eq!(sums(1), sums(3));
    }
}

/// Directions that samples do not resolve must not spoil a high degree.
#[test]
fn high_degrees_stay_well_conditioned() {
    let data = sample(&ou(), 4000.0, 10.0 * interval(&ou()), 32, 23);
    for degree in [10, 12] {
        let error = relative_error(&data, &fit(&data, &[degree], 1), &ou());
        println!("ou, degree {degree} forced: {error:.4}");
        assert!(error < 0.05, "{degree}: {error}");
    }
}
