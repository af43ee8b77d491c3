//! M(x) in a linear span by the stationary operator: exact answers, then data.

use std::sync::Arc;

use ergode::data::Standardiser;
use ergode::lagged::{IntegralRule, LocalPolynomial};
use ergode::mobility::{
    Equations, MeanConstraint, MobilityConfig, PolynomialConfig, PolynomialSums, TensorBasis,
    TimeForm, Weak, WeakConfig, accumulate_polynomials, fit_mobility,
};
use ergode::observable::Moments;
use ergode::score::{ClosedFormConfig, fit_potential_score};
use ergode::systems::{Affine2d, CoxIngersollRoss};
use ergode::{Control, Ensemble};
use ndarray::{Array1, Array2, Array3};

use crate::mobility_semigroup::{check_coverage, diffusion_z};
use crate::support::{Z_BOUND, identity, largest, names, rotating, sample};

pub(crate) fn weak_sums(
    data: &Ensemble,
    standardiser: &Standardiser,
    config: &WeakConfig,
    mobility_degree: usize,
    lags: Vec<f64>,
) -> Arc<PolynomialSums> {
    let config = PolynomialConfig {
        future_degree: config.test_degree,
        initial_degree: config.initial_degree(mobility_degree),
        moment_degree: config.moment_degree(mobility_degree),
        lags,
        ..PolynomialConfig::default()
    };
    Arc::new(accumulate_polynomials(data, standardiser, &config, &Control::new()).unwrap())
}

/// The paper's square-root diffusion: M(x) = ax + b from ⟨x_t^m x_0⟩ with the exact score.
#[test]
fn exact_channels_of_the_square_root_diffusion_give_its_mobility() {
    let system = CoxIngersollRoss::default();
    let (nu, beta) = (system.nu(), system.beta());
    let basis = TensorBasis::polynomial(&names(1), &identity(1), 1, 0, None).unwrap();
    let lags: Vec<f64> = (0..=40).map(|k| 0.05 * f64::from(k)).collect();
    let fit = |m: u32, divergence: f64, mean: Option<MeanConstraint>| {
        // φ_n = x: B = s for the field 1, and x s + 1 = ν − βx for the field x.
        let curve = |f: &dyn Fn(f64) -> f64| {
            Array3::from_shape_fn((lags.len(), 1, 1), |(k, _, _)| f(lags[k]))
        };
        let constant = curve(&|t| system.score_correlation(m, t));
        let linear = curve(&|t| {
            let product = nu * system.moment(m) - beta * system.moment_correlation(m, 1, t);
            product + (divergence - 1.0) * system.moment(m)
        });
        let rates = (0..=m).map(|k| (-system.kappa * f64::from(k), 0.0));
        let time = TimeForm::Integral(IntegralRule::Exponential(rates.collect()));
        let moments = Moments::new(1, 2, |e| system.moment(e[0])).unwrap();
        let correlations = curve(&|t| system.moment_correlation(m, 1, t));
        let operators = [constant, linear];
        let equations =
            Weak::exact(moments, &lags, &correlations, &operators, &basis, &time).unwrap();
        let config = MobilityConfig {
            mean,
            ..MobilityConfig::default()
        };
        fit_mobility(&equations, &config, &Control::new()).unwrap()
    };
    let mean = Some(MeanConstraint {
        value: Array2::from_elem((1, 1), system.theta * system.gamma),
        error: Array2::from_elem((1, 1), 0.01),
    });
    for m in 2..=5 {
        for mean in [None, mean.clone()] {
            let c = fit(m, 1.0, mean).jackknife.values;
            println!(
                "m = {m}: a - gamma {:.1e}, b {:.1e}",
                c[1] - system.gamma,
                c[0]
            );
            assert!((c[1] - system.gamma).abs() < 1e-10 && c[0].abs() < 1e-10);
        }
        // The twin: ∇·(M∇φ) forgotten.
        let c = fit(m, 0.0, mean.clone()).jackknife.values;
        assert!((c[1] - system.gamma).abs() > 0.05, "no divergence: {c}");
    }
    // The coordinate channel sees only the mean of M.
    let blind = fit(1, 1.0, mean);
    assert_eq!(blind.effective_rank, 1);
    assert!(
        blind.warnings[0].contains("determine 1 of 2"),
        "{:?}",
        blind.warnings
    );
}

#[test]
fn a_polynomial_score_and_the_same_score_as_a_function_give_the_same_fit() {
    let system = rotating(2);
    let data = sample(&system, 150.0, 0.1, 16, 5);
    let standardiser = Standardiser::from_ensemble(&data).unwrap();
    let config = WeakConfig {
        test_degree: 2,
        potential_degree: 2,
        time: TimeForm::Derivative(LocalPolynomial {
            degree: 3,
            bandwidth: 0.2,
        }),
    };
    let integral = WeakConfig {
        time: TimeForm::Integral(IntegralRule::Simpson),
        ..config.clone()
    };
    let control = Control::new();
    let lags = (0..=8).map(|k| 0.1 * f64::from(k)).collect();
    let sums = weak_sums(&data, &standardiser, &config, 1, lags);
    let basis = TensorBasis::polynomial(data.names(), &standardiser, 1, 1, None).unwrap();
    let score = ClosedFormConfig {
        degrees: vec![2],
        ridges: vec![0.0],
        ..ClosedFormConfig::default()
    };
    let score = fit_potential_score(&data, &score, &control).unwrap();
    for config in [config, integral] {
        let own = Weak::new(&sums, &basis, &config).unwrap();
        let given = Weak::with_score(&data, &sums, &score, &basis, &config, &control).unwrap();
        let at: Array1<f64> = (0..basis.len()).map(|k| 0.2 + 0.05 * k as f64).collect();
        let (own_values, own_jacobian) = own.linearise(at.view()).unwrap();
        let (values, jacobian) = given.linearise(at.view()).unwrap();
        assert!(largest(&own_values - &values) < 1e-9);
        assert!(largest(&own_jacobian - &jacobian) < 1e-9);
        assert_eq!(own.observed(), given.observed());
        // In a block the first estimates its score anew, the second does not.
        let part = |equations: &dyn Equations| {
            let part = equations.restricted(&|k| k != 3).unwrap();
            part.predict(at.view()).unwrap()
        };
        assert!(largest(part(&own) - part(&given)) > 1e-6);
    }
}

/// The errors include those of the score, which every block estimates anew.
#[test]
fn intervals_of_the_weak_fit_cover_the_truth() {
    let system = rotating(2);
    let config = WeakConfig {
        test_degree: 2,
        potential_degree: 2,
        ..WeakConfig::default()
    };
    let lags: Vec<f64> = (0..=8).map(|k| 0.1 * f64::from(k)).collect();
    let mut deviations = Vec::new();
    for seed in 0..40 {
        let data = sample(&system, 100.0, 0.1, 24, 300 + seed);
        let sums = weak_sums(&data, &identity(2), &config, 0, lags.clone());
        let basis = TensorBasis::polynomial(data.names(), &identity(2), 0, 0, None).unwrap();
        let equations = Weak::new(&sums, &basis, &config).unwrap();
        let fit = fit_mobility(&equations, &MobilityConfig::default(), &Control::new()).unwrap();
        let (m, errors) = (fit.mobility.at(&[0.0; 2]), fit.mobility_error(&[0.0; 2]));
        let exact = system.mobility_matrix();
        let each = m.iter().zip(exact).zip(&errors);
        deviations.extend(each.map(|((m, e), error)| (m - e) / error));
    }
    check_coverage(&deviations);
}

/// The weak form on the affine system: the diffusion within errors, the ladder up to its degree, and
/// with coordinates alone as test functions a warning that names the remedy.
#[test]
fn the_weak_form_finds_the_affine_diffusion_and_says_when_it_cannot() {
    let system = Affine2d::default();
    let data = sample(&system, 300.0, 0.05, 36, 9);
    let standardiser = Standardiser::from_ensemble(&data).unwrap();
    let basis = TensorBasis::polynomial(data.names(), &standardiser, 2, 2, None).unwrap();
    let lags: Vec<f64> = (0..=20).map(|k| 0.05 * f64::from(k)).collect();
    let config = WeakConfig::default();
    let sums = weak_sums(&data, &standardiser, &config, 2, lags);
    let fit = |config: &WeakConfig| {
        let equations = Weak::new(&sums, &basis, config).unwrap();
        fit_mobility(&equations, &MobilityConfig::default(), &Control::new()).unwrap()
    };
    let rich = fit(&config);
    let z = |scale: f64| diffusion_z(&rich, &system, scale);
    println!(
        "z {:.2}, 20 % more {:.1}, chi2 {:.2}",
        z(1.0),
        z(1.2),
        rich.chi2_per_equation
    );
    assert!(z(1.0) < Z_BOUND && z(1.2) > 2.0 * Z_BOUND);
    assert!((0.5..2.0).contains(&rich.chi2_per_equation));
    assert!(rich.warnings.is_empty(), "{:?}", rich.warnings);
    let poor = fit(&WeakConfig {
        test_degree: 1,
        ..config
    });
    println!(
        "coordinates only: rank {}, {:?}",
        poor.effective_rank, poor.warnings
    );
    assert!(poor.effective_rank < basis.len());
    assert!(poor.warnings[0].contains("Add functions at the earlier time"));
}

#[test]
fn statistics_of_too_low_a_degree_are_refused() {
    let data = sample(&rotating(2), 20.0, 0.1, 4, 1);
    let standardiser = Standardiser::from_ensemble(&data).unwrap();
    let basis = TensorBasis::polynomial(data.names(), &standardiser, 0, 0, None).unwrap();
    let config = WeakConfig::default();
    let few = WeakConfig {
        potential_degree: 4,
        ..config.clone()
    };
    let sums = weak_sums(&data, &standardiser, &few, 0, vec![0.0, 0.1, 0.2]);
    let refused = Weak::new(&sums, &basis, &config).unwrap_err().to_string();
    assert!(refused.contains("earlier time"), "{refused}");
    assert!(Weak::new(&sums, &basis, &few).is_ok());
}
