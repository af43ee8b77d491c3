//! Drift and diffusion as unknowns of their own: exact answers, then data of an oscillator.

use ergode::data::Standardiser;
use ergode::mobility::{
    Expectations, Mobility, MobilityConfig, MobilityFit, Recipe, RecipeConfig, Semigroup,
    SemigroupConfig, TensorBasis, fit_mobility, fit_mobility_recipe,
};
use ergode::random::{Purpose, Stream};
use ergode::systems::{OrnsteinUhlenbeck, OrnsteinUhlenbeckParameters};
use ergode::{Control, Ensemble, Times, Trajectory};
use ndarray::{Array2, array};

use crate::mobility_semigroup::exact_expectations;
use crate::support::{identity, names};

const SPACE: SemigroupConfig = SemigroupConfig {
    degree: 3,
    test_degree: 2,
};

/// Coefficient of a label.
fn coefficient(fit: &MobilityFit, label: &str) -> f64 {
    let mut all = fit.coefficients();
    let found = all.find(|(name, _, _)| *name == label);
    found.expect("a term of the basis").1
}

fn fitted(expectations: Expectations) -> MobilityFit {
    let basis = TensorBasis::generator(&names(2), &identity(2), 1, 2).unwrap();
    let equations = Semigroup::exact(expectations, &basis, &SPACE).unwrap();
    fit_mobility(&equations, &MobilityConfig::default(), &Control::new()).unwrap()
}

/// A rotation of more than half a turn per lag in functions of degree 2: only the logarithm between linear
/// functions is near the solution. Transposed correlations are those of the reversed rotation.
#[test]
fn exact_correlations_of_a_rotating_ou_give_drift_and_diffusion() {
    let drift = [[0.4, 2.0], [-1.5, 0.3]];
    let system = OrnsteinUhlenbeck::new(OrnsteinUhlenbeckParameters {
        drift: drift.map(Vec::from).to_vec(),
        diffusion: vec![vec![0.7, 0.1], vec![0.1, 0.4]],
        mean: vec![0.0; 2],
    })
    .unwrap();
    let moments = SPACE.generator_moment_degree(1, 2);
    let exact = exact_expectations(&system, moments, 2, &[0.0, 1.1, 2.2]);
    let mut reversed = exact.clone();
    reversed.correlations.swap_axes(1, 2);
    let fit = fitted(exact);
    let expected = [
        ("b[x0] x0", -drift[0][0]),
        ("b[x0] x1", -drift[0][1]),
        ("b[x1] x0", -drift[1][0]),
        ("b[x1] x1", -drift[1][1]),
        ("D[x0,x0] 1", 0.7),
        ("D[x0,x1] 1", 0.1),
        ("D[x1,x1] 1", 0.4),
        ("b[x0] x0^2", 0.0),
        ("D[x0,x0] x1", 0.0),
    ];
    for (label, value) in expected {
        let found = coefficient(&fit, label);
        assert!((found - value).abs() < 1e-6, "{label}: {found} for {value}");
    }
    let twin = fitted(reversed);
    assert!((coefficient(&twin, "b[x0] x1") + drift[0][1]).abs() > 1.0);
    assert!((coefficient(&twin, "D[x0,x0] 1") - 0.7).abs() < 1e-6);
}

/// b of Van der Pol's oscillator.
fn van_der_pol(x: [f64; 2]) -> [f64; 2] {
    [x[1], (1.0 - x[0] * x[0]) * x[1] - x[0]]
}

/// Records of the oscillator with D = 0.1, saved every `interval`.
fn oscillator(records: u64, length: usize, interval: f64) -> Ensemble {
    const STEP: f64 = 0.005;
    let every = (interval / STEP).round() as usize;
    let record = |k: u64| {
        let mut stream = Stream::new(7, Purpose::Noise, k);
        let mut x = [1.0, 0.0];
        let mut rows = Array2::zeros((length, 2));
        for row in 0..length + 100 {
            for _ in 0..every {
                let b = van_der_pol(x);
                for i in 0..2 {
                    x[i] += STEP * b[i] + (0.2 * STEP).sqrt() * stream.normal();
                }
            }
            if row >= 100 {
                rows.row_mut(row - 100).assign(&array![x[0], x[1]]);
            }
        }
        Ensemble::from_array(rows, interval).unwrap().trajectories()[0].clone()
    };
    Ensemble::new((0..records).map(record).collect()).unwrap()
}

/// Relative L2 errors of drift and D over the samples; the drift of the fit comes from its own span.
fn errors(fit: &MobilityFit, data: &Ensemble) -> (f64, f64) {
    let basis = fit.mobility.basis();
    let (mut of_drift, mut drift, mut of_d) = (0.0, 0.0, 0.0);
    let (record, mut n) = (&data.trajectories()[0], 0);
    for row in 0..record.len() {
        let mut x = [0.0; 2];
        record.row(row, &mut x);
        n += 1;
        let exact = van_der_pol(x);
        let found = basis.drift_design(&x).dot(&fit.mobility.coefficients());
        let mut d = [0.0; 4];
        fit.mobility.diffusion(&x, &mut d);
        for i in 0..2 {
            of_drift += (found[i] - exact[i]).powi(2);
            drift += exact[i].powi(2);
        }
        of_d += (d[0] - 0.1).powi(2) + 2.0 * d[1].powi(2) + (d[3] - 0.1).powi(2);
    }
    (
        (of_drift / drift).sqrt(),
        (of_d / (0.02 * f64::from(n))).sqrt(),
    )
}

/// At 32 samples a turn the generator form finds what the mobility form cannot express, and the choice
/// between the two sees it.
#[test]
fn slow_the_drift_of_an_oscillator_is_found() {
    let data = oscillator(12, 600, 0.2);
    let fit = |recipe| {
        let config = RecipeConfig {
            recipe,
            ..RecipeConfig::default()
        };
        fit_mobility_recipe(&data, &config, &Control::new()).unwrap()
    };
    let found = fit(Recipe::Auto);
    assert_eq!(found.recipe, Recipe::Generator, "{}", found.reason);
    let (drift, d) = errors(&found.fit, &data);
    assert!(drift < 0.05 && d < 0.08, "drift {drift:.3}, D {d:.3}");
    assert!(found.fit.chi2_per_equation < 1.5);
    let other = fit(Recipe::Semigroup);
    assert!(other.fit.chi2_per_equation > 2.0 * found.fit.chi2_per_equation);
}

/// dx = −2x dt + √(2 (1 − x²)) dW, by Euler steps kept within the ends.
fn jacobi(trajectories: usize, rows: usize, interval: f64) -> Ensemble {
    const STEPS: usize = 20;
    let dt = interval / STEPS as f64;
    let path = |k: usize| {
        let mut stream = Stream::new(8, Purpose::Noise, k as u64);
        let mut x = 0.2f64;
        let values = Array2::from_shape_simple_fn((rows, 1), || {
            for _ in 0..STEPS {
                let noise = (2.0 * dt * (1.0 - x * x).max(0.0)).sqrt();
                x = (x - 2.0 * x * dt + noise * stream.normal()).clamp(-1.0, 1.0);
            }
            x
        });
        Trajectory::new(values, Times::every(interval))
    };
    Ensemble::new((0..trajectories).map(path).collect()).unwrap()
}

/// The first rung of the ladder, a constant D and a linear drift, cannot be stationary under a law between two
/// ends: its best fit is no motion at all, from which the search must find back.
#[test]
fn a_drift_between_ends_does_not_collapse() {
    let config = RecipeConfig {
        recipe: Recipe::Generator,
        ..RecipeConfig::default()
    };
    let data = jacobi(16, 1500, 0.1);
    let fit = fit_mobility_recipe(&data, &config, &Control::new())
        .unwrap()
        .fit;
    let basis = fit.mobility.basis();
    for x in [-0.7, 0.0, 0.5] {
        let b = basis.drift_design(&[x]).dot(&fit.mobility.coefficients());
        let mut d = [0.0];
        fit.mobility.diffusion(&[x], &mut d);
        assert!((b[0] + 2.0 * x).abs() < 0.25, "b({x}) = {}", b[0]);
        assert!((d[0] - (1.0 - x * x)).abs() < 0.06, "D({x}) = {}", d[0]);
    }
}

/// A basis keeps drift fields apart from tensors, and its standardiser is that of the record.
#[test]
fn a_generator_basis_names_its_fields() {
    let standardiser = Standardiser::new(vec![1.0], vec![2.0]).unwrap();
    let basis = TensorBasis::generator(&["x".to_owned()], &standardiser, 1, 2).unwrap();
    let labels: Vec<&str> = basis.labels().collect();
    assert_eq!(
        labels,
        ["D[x,x] 1", "D[x,x] x", "b[x] 1", "b[x] x", "b[x] x^2"]
    );
    assert!(basis.has_drift());
}

/// dx = −x dt + √2 dW, exact steps of `interval`.
fn relaxing(seed: u64, rows: usize, interval: f64) -> Ensemble {
    let mut stream = Stream::new(seed, Purpose::Analysis, 1);
    let (decay, kick) = ((-interval).exp(), (-(-2.0 * interval).exp_m1()).sqrt());
    let mut x = stream.normal();
    let values = Array2::from_shape_simple_fn((rows, 1), || {
        x = decay * x + kick * stream.normal();
        x
    });
    Ensemble::from_array(values, interval).unwrap()
}

/// On a line no current flows. What sampling errors make of one between functions of high degree is second order in
/// D and does not cancel over records: it made D 5 % too small in records of this length.
#[test]
fn sampling_errors_make_no_damping_on_a_line() {
    let config = RecipeConfig {
        recipe: Recipe::Generator,
        degrees: Some((0, 1)),
        ..RecipeConfig::default()
    };
    let records = 16;
    let found: Vec<[f64; 2]> = (0..records)
        .map(|seed| {
            let data = relaxing(seed, 16_000, 0.05);
            let fit = fit_mobility_recipe(&data, &config, &Control::new())
                .unwrap()
                .fit;
            let d = fit.mobility.at(&[0.0])[0];
            [d - 1.0, fit.diffusion_error(&[0.0])[[0, 0]]]
        })
        .collect();
    let n = records as f64;
    let mean = found.iter().map(|f| f[0]).sum::<f64>() / n;
    let error = found
        .iter()
        .map(|f| (f[0] - mean).powi(2))
        .sum::<f64>()
        .sqrt()
        / n;
    let printed = (found.iter().map(|f| f[1] * f[1]).sum::<f64>() / n).sqrt();
    println!("D {mean:.4} +- {error:.4} off, printed {printed:.4}");
    assert!(mean.abs() < 4.5 * error, "{mean} +- {error}");
    // The twin: five percent less would be seen, and errors are those that are printed.
    assert!(0.05 > 4.5 * error + mean.abs());
    let ratio = printed / (error * n.sqrt());
    assert!((0.6..1.7).contains(&ratio), "{ratio}");
}

/// The ladder takes a D of degree two where the record has one, and leaves a constant D alone.
#[test]
fn new_coefficients_are_taken_where_they_are_significant() {
    let config = RecipeConfig {
        recipe: Recipe::Semigroup,
        ..RecipeConfig::default()
    };
    let degree = |data: &Ensemble| {
        let fit = fit_mobility_recipe(data, &config, &Control::new())
            .unwrap()
            .fit;
        fit.mobility.basis().degrees().0.unwrap_or(0)
    };
    let constant = (0..8).filter(|seed| degree(&relaxing(*seed, 16_000, 0.05)) == 0);
    // One record in seven may show a degree by chance.
    assert!(constant.count() >= 5);
    assert!(degree(&jacobi(4, 8_000, 0.05)) >= 2);
}

/// The drift of a reversible process on a line comes from M and averages alone, and its errors hold the truth.
#[test]
fn the_drift_of_a_mobility_needs_no_score() {
    let mut inside = 0;
    for seed in 0..12 {
        let data = relaxing(100 + seed, 16_000, 0.05);
        let fit = fit_mobility_recipe(&data, &RecipeConfig::default(), &Control::new())
            .unwrap()
            .fit;
        assert!(fit.mobility.basis().has_drift());
        let found = fit.mobility.basis().drift_design(&[1.0]);
        let found = found.dot(&fit.mobility.coefficients());
        let error = fit.drift_error(&[1.0], &[-1.0]);
        inside += usize::from((found[0] + 1.0).abs() < 3.0 * error[0]);
        // The twin: a drift of the wrong sign.
        assert!((found[0] - 1.0).abs() > 3.0 * error[0]);
    }
    assert!(inside >= 10, "{inside}");
}
