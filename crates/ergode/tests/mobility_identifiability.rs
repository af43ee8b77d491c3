//! What the report of a mobility fit says: against exact answers, then on data.

use std::sync::Arc;

use ergode::Control;
use ergode::data::Standardiser;
use ergode::lagged::{IntegralRule, LocalPolynomial};
use ergode::mobility::{
    CorrelationBound, Equations, MobilityConfig, MobilityFit, PolynomialSums, Semigroup,
    SemigroupConfig, TensorBasis, TimeForm, Weak, WeakConfig, doubling_lags, fit_mobility,
};
use ergode::systems::{Affine2d, OrnsteinUhlenbeck, OrnsteinUhlenbeckParameters};
use ndarray::{Array2, ArrayView2, array};

use crate::mobility_semigroup::{exact_expectations, polynomial_sums};
use crate::mobility_weak::weak_sums;
use crate::support::{Estimate, Z_BOUND, identity, largest, names, rotating, rows, sample};

fn fit(equations: &dyn Equations) -> MobilityFit {
    fit_mobility(equations, &MobilityConfig::default(), &Control::new()).unwrap()
}

fn bound(fit: &MobilityFit) -> &CorrelationBound {
    fit.identifiability.bound.as_ref().unwrap()
}

/// A basis without the entries off the diagonal, which a rotation does not fit into.
fn diagonal(data_names: &[String], standardiser: &Standardiser, degree: usize) -> TensorBasis {
    let dim = data_names.len();
    let mask = Array2::from_shape_fn((dim, dim), |(i, j)| i == j);
    TensorBasis::polynomial(data_names, standardiser, degree, degree, Some(&mask)).unwrap()
}

fn inverse(a: ArrayView2<f64>) -> Array2<f64> {
    let determinant = a[[0, 0]] * a[[1, 1]] - a[[0, 1]] * a[[1, 0]];
    array![[a[[1, 1]], -a[[0, 1]]], [-a[[1, 0]], a[[0, 0]]]] / determinant
}

/// The symmetric W with W C Wᵀ = 1.
fn whitening(c: ArrayView2<f64>) -> Array2<f64> {
    // The symmetric root of a matrix of two rows is (C + √det C)/√(tr C + 2 √det C).
    let root = (c[[0, 0]] * c[[1, 1]] - c[[0, 1]] * c[[1, 0]]).sqrt();
    let size = (c[[0, 0]] + c[[1, 1]] + 2.0 * root).sqrt();
    inverse(((&c + &(Array2::<f64>::eye(2) * root)) / size).view())
}

/// The means of W e^{−Ar} ΔM Wᵀ over the steps, squared and added up: ε² of a process with linear drift
/// −Ax and φ = Wx, where K_r φ = W e^{−Ar} x.
fn exact_epsilon(system: &OrnsteinUhlenbeck, lags: &[f64], defect: &Array2<f64>) -> f64 {
    let covariance = system.covariance();
    let (whiten, precision) = (whitening(covariance), inverse(covariance));
    let evolved = |r: f64| system.correlation(r).dot(&precision);
    let squares = lags.windows(2).map(|pair| {
        let (a, b) = (pair[0], pair[1]);
        // Simpson's rule, whose error here is below 1e-9.
        let mean = (evolved(a) + evolved(0.5 * (a + b)) * 4.0 + evolved(b)) / 6.0;
        let residual = whiten.dot(&mean).dot(defect).dot(&whiten.t());
        residual.iter().map(|r| r * r).sum::<f64>()
    });
    squares.sum::<f64>().sqrt()
}

/// A rotating process fitted without off-diagonal entries: ε, the misfit and λ_V are known.
#[test]
fn the_report_of_a_model_that_cannot_rotate_is_the_exact_one() {
    let system = rotating(2);
    let space = SemigroupConfig {
        degree: 1,
        test_degree: 1,
    };
    let basis = diagonal(&names(2), &identity(2), 0);
    let lags = |count: u32| -> Vec<f64> {
        let step = 0.8 / f64::from(count);
        (0..=count).map(|k| step * f64::from(k)).collect()
    };
    let fitted = |lags: &[f64]| {
        let expectations = exact_expectations(&system, space.moment_degree(0), 1, lags);
        let fit = fit(&Semigroup::exact(expectations, &basis, &space).unwrap());
        let mobility = Array2::from_shape_vec((2, 2), fit.mobility.at(&[0.0; 2])).unwrap();
        (fit, mobility)
    };
    // What is left is the rule of second order by which e is averaged over a step.
    let error = |count: u32, time_reversed: bool| {
        let (fit, mobility) = fitted(&lags(count));
        let defect = &mobility - &system.mobility_matrix();
        let defect = if time_reversed {
            defect.t().to_owned()
        } else {
            defect
        };
        bound(&fit).epsilon / exact_epsilon(&system, &lags(count), &defect) - 1.0
    };
    let order = |reversed: bool| (error(20, reversed) / error(40, reversed)).log2();
    println!("error {:.1e}, order {:.3}", error(40, false), order(false));
    assert!(error(40, false).abs() < 1e-4 && (order(false) - 2.0).abs() < 0.05);
    assert!(error(40, true).abs() > 1e-3 && (order(true) - 2.0).abs() > 0.5);

    let lags = lags(40);
    let (fit, mobility) = fitted(&lags);
    let report = bound(&fit);
    println!("{}", fit.identifiability);
    // The model is the process with drift −M C⁻¹ x and the same covariance.
    let covariance = system.covariance();
    let list = |a: &Array2<f64>| a.outer_iter().map(|row| row.to_vec()).collect();
    let model = OrnsteinUhlenbeck::new(OrnsteinUhlenbeckParameters {
        drift: list(&mobility.dot(&inverse(covariance))),
        diffusion: list(&mobility),
        mean: vec![0.5; 2],
    })
    .unwrap();
    let whiten = whitening(covariance);
    let misfit = largest(lags.iter().flat_map(|&t| {
        let error = model.correlation(t) - system.correlation(t);
        whiten.dot(&error).dot(&whiten.t()).into_iter()
    }));
    assert!((report.misfit.unwrap() - misfit).abs() < 1e-9);
    assert!((report.bound - report.horizon * report.epsilon).abs() < 1e-12);
    assert!(misfit < report.sharp_bound && report.sharp_bound < 3.0 * misfit);
    assert!(report.sharp_bound < report.bound);
    assert_eq!((report.noise, report.closure), (None, None));

    let correlation = covariance[[0, 1]] / (covariance[[0, 0]] * covariance[[1, 1]]).sqrt();
    let lambda = fit.identifiability.lambda_v.unwrap();
    assert!(
        (lambda - (1.0 - correlation.abs())).abs() < 1e-12,
        "{lambda}"
    );
}

fn semigroup(
    sums: &Arc<PolynomialSums>,
    basis: &TensorBasis,
    space: &SemigroupConfig,
) -> Semigroup {
    Semigroup::new(sums, basis, space).unwrap()
}

/// ε² is on average what the blocks say noise makes of it; that of a model that cannot rotate is not.
#[test]
fn the_residual_of_a_right_model_is_no_larger_than_noise() {
    let system = rotating(2);
    let space = SemigroupConfig {
        degree: 2,
        test_degree: 2,
    };
    let (mut ratios, mut wrong) = (Vec::new(), Vec::new());
    for seed in 0..30 {
        let data = sample(&system, 60.0, 0.1, 24, 500 + seed);
        let standardiser = Standardiser::from_ensemble(&data).unwrap();
        let sums = polynomial_sums(&data, &standardiser, &space, 0, doubling_lags(0.1, 0.8));
        let full = TensorBasis::polynomial(data.names(), &standardiser, 0, 0, None).unwrap();
        let right = fit(&semigroup(&sums, &full, &space));
        let less = fit(&semigroup(
            &sums,
            &diagonal(data.names(), &standardiser, 0),
            &space,
        ));
        for (fit, ratios) in [(&right, &mut ratios), (&less, &mut wrong)] {
            let report = bound(fit);
            ratios.push((report.epsilon / report.noise.unwrap()).powi(2));
            assert!(report.misfit.unwrap() < report.sharp_bound);
            assert!(report.sharp_bound < report.bound);
        }
        let excess = bound(&right).excess.unwrap();
        assert!(excess < 2.0 * Z_BOUND, "seed {seed}: {excess}");
        assert!(bound(&less).excess.unwrap() > 4.0 * Z_BOUND);
        assert!(
            less.identifiability
                .to_string()
                .contains("larger than noise")
        );
    }
    let (right, wrong) = (Estimate::new(&ratios), Estimate::new(&wrong));
    println!("epsilon²/noise² {right:?}, without rotation {wrong:?}");
    assert!(right.z(1.0).abs() < Z_BOUND);
    assert!(wrong.z(1.0) > 2.0 * Z_BOUND);
}

/// The error of D, averaged by moments, is that averaged over the samples.
#[test]
fn the_error_of_the_diffusion_is_its_mean_over_the_samples() {
    let data = sample(&rotating(2), 40.0, 0.1, 16, 23);
    let space = SemigroupConfig {
        degree: 3,
        test_degree: 2,
    };
    let sums = polynomial_sums(&data, &identity(2), &space, 1, doubling_lags(0.1, 0.8));
    let basis = TensorBasis::polynomial(data.names(), &identity(2), 1, 1, None).unwrap();
    let fit = fit(&semigroup(&sums, &basis, &space));
    let (mut error, mut size) = (0.0, 0.0);
    for k in 0..data.len() {
        for x in rows(&data, k).outer_iter() {
            let x = x.to_slice().unwrap();
            let m = fit.mobility.at(x);
            size += m[0].powi(2) + 0.5 * (m[1] + m[2]).powi(2) + m[3].powi(2);
            error += fit.diffusion_error(x).iter().map(|e| e * e).sum::<f64>();
        }
    }
    let (mean, report) = (
        (error / size).sqrt(),
        fit.identifiability.diffusion_error.unwrap(),
    );
    println!("over samples {mean:.5}, report {report:.5}");
    assert!((report / mean - 1.0).abs() < 1e-3);
    let written = serde_json::to_value(&fit.identifiability).unwrap();
    assert_eq!(written["diffusion_error"].as_f64(), Some(report));
    assert!(written["bound"]["epsilon"].is_number());
}

/// Largest |C_model − C| of a mobility, whichever equations it was found by.
fn actual_misfit(equations: &Semigroup, fit: &MobilityFit) -> f64 {
    let residual = equations.generator_residual(fit.mobility.coefficients());
    residual.unwrap().unwrap().misfit.unwrap()
}

/// Bounds of the weak forms hold for the correlations of the fitted mobility, and fail for a model that
/// they were not made for.
#[test]
fn bounds_of_both_time_forms_hold() {
    let data = sample(&rotating(2), 150.0, 0.1, 16, 29);
    let standardiser = Standardiser::from_ensemble(&data).unwrap();
    let config = |time: TimeForm| WeakConfig {
        test_degree: 2,
        potential_degree: 2,
        time,
    };
    let integral = config(TimeForm::Integral(IntegralRule::Simpson));
    let derivative = config(TimeForm::Derivative(LocalPolynomial {
        degree: 3,
        bandwidth: 0.2,
    }));
    let lags: Vec<f64> = (0..=8).map(|k| 0.1 * f64::from(k)).collect();
    let sums = weak_sums(&data, &standardiser, &integral, 0, lags);
    let full = TensorBasis::polynomial(data.names(), &standardiser, 0, 0, None).unwrap();
    let less = diagonal(data.names(), &standardiser, 0);
    let space = SemigroupConfig {
        degree: 2,
        test_degree: 2,
    };
    for config in [integral, derivative] {
        let right = fit(&Weak::new(&sums, &full, &config).unwrap());
        let wrong = fit(&Weak::new(&sums, &less, &config).unwrap());
        let misfits = [(&right, &full), (&wrong, &less)].map(|(fit, basis)| {
            assert!((bound(fit).horizon - 0.8).abs() < 1e-12);
            actual_misfit(&semigroup(&sums, basis, &space), fit)
        });
        println!("{misfits:?}, {:?}, {:?}", bound(&right), bound(&wrong));
        assert!(misfits[0] < bound(&right).sharp_bound);
        assert!(misfits[1] < bound(&wrong).sharp_bound);
        assert!(misfits[1] > bound(&right).sharp_bound);
    }
}

/// On the affine system: bounds hold in both forms, and coordinates alone are reported as too few.
#[test]
fn the_report_of_the_affine_system_tells_rich_from_poor_functions() {
    let data = sample(&Affine2d::default(), 150.0, 0.05, 36, 9);
    let standardiser = Standardiser::from_ensemble(&data).unwrap();
    let basis = TensorBasis::polynomial(data.names(), &standardiser, 2, 2, None).unwrap();
    let lags: Vec<f64> = (0..=10).map(|k| 0.1 * f64::from(k)).collect();
    let config = WeakConfig::default();
    let sums = weak_sums(&data, &standardiser, &config, 2, lags);
    let equations = semigroup(&sums, &basis, &SemigroupConfig::default());
    let rich = fit(&Weak::new(&sums, &basis, &config).unwrap());
    let poor = WeakConfig {
        test_degree: 1,
        ..config
    };
    let poor = fit(&Weak::new(&sums, &basis, &poor).unwrap());
    let propagated = fit(&equations);
    for fit in [&rich, &poor, &propagated] {
        println!("{}\n", fit.identifiability);
    }
    for fit in [&rich, &propagated] {
        assert!(fit.warnings.is_empty(), "{:?}", fit.warnings);
        assert!(fit.identifiability.to_string().starts_with("identifiable"));
        let misfit = actual_misfit(&equations, fit);
        println!("misfit {misfit:.2e}");
        assert!(misfit < bound(fit).sharp_bound && bound(fit).sharp_bound < bound(fit).bound);
    }
    assert!(bound(&propagated).closure.is_some());
    assert!(
        rich.identifiability
            .to_string()
            .contains("without the closure defect")
    );

    let (report, text) = (&poor.identifiability, poor.identifiability.to_string());
    assert!(
        text.contains("not identifiable") && text.contains("Add functions at the earlier time")
    );
    assert!(report.fixed() < basis.len());
    assert_eq!(poor.warnings[0], report.warning().unwrap());
    let last = |fit: &MobilityFit| *fit.identifiability.standard_errors.last().unwrap();
    assert!(last(&poor) > 1.0 && last(&rich) < 1.0);
    // A part of the functions is never worse conditioned than all (Cauchy's interlacing).
    assert!(report.lambda_v.unwrap() > rich.identifiability.lambda_v.unwrap());
    assert!(basis.labels().any(|label| text.contains(label)));
}

#[test]
fn a_fit_that_ends_by_its_limit_says_so() {
    let system = rotating(2);
    let space = SemigroupConfig {
        degree: 2,
        test_degree: 2,
    };
    let lags = [0.0, 0.5, 1.0, 2.0];
    let expectations = exact_expectations(&system, space.moment_degree(0), 2, &lags);
    let basis = TensorBasis::polynomial(&names(2), &identity(2), 0, 0, None).unwrap();
    let equations = Semigroup::exact(expectations, &basis, &space).unwrap();
    let warnings = |iterations: usize| {
        let config = MobilityConfig {
            iterations,
            ..MobilityConfig::default()
        };
        fit_mobility(&equations, &config, &Control::new())
            .unwrap()
            .warnings
    };
    assert!(
        warnings(0)
            .iter()
            .any(|w| w.contains("did not converge in 0"))
    );
    assert!(warnings(50).is_empty());
}
