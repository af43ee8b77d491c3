//! The mobility of the square-root diffusion from simulated data: M(x) = a0 + a1 x + a2 x² with
//! a1 = γ and the others zero, by every form, with exact and with estimated scores.

use std::sync::{Arc, LazyLock};

use ergode::mobility::{
    MobilityConfig, MobilityFit, PolynomialSums, SemigroupConfig, TensorBasis, Weak, WeakConfig,
    fit_mobility,
};
use ergode::observable::Expressions;
use ergode::score::{ExactScore, Gradients, Score, ScoreObjective};
use ergode::systems::CoxIngersollRoss;
use ergode::{Control, Ensemble, Times, Trajectory};

use crate::mobility_semigroup::fit_semigroup;
use crate::mobility_weak::weak_sums;
use crate::score::span;
use crate::support::{Estimate, Z_BOUND, identity, largest, rows, sample};

/// ν = 4, so that ⟨s²⟩ is finite and equations with the score have a variance.
const SYSTEM: CoxIngersollRoss = CoxIngersollRoss {
    kappa: 1.0,
    theta: 1.0,
    gamma: 0.25,
};

const INTERVAL: f64 = 0.2;

static DATA: LazyLock<Ensemble> = LazyLock::new(|| sample(&SYSTEM, 2000.0, INTERVAL, 128, 1));

/// Standard errors and relative error of γ that the fits must keep.
const ERRORS: f64 = 3.0;
const PRECISION: f64 = 0.03;

fn exact(label: &str) -> f64 {
    if label.ends_with(" x") {
        SYSTEM.gamma
    } else {
        0.0
    }
}

/// Largest z-score of the coefficients a0, a1, a2, and the relative error of M(θ) = γθ.
fn deviations(what: &str, fit: &MobilityFit) -> (f64, f64) {
    let z = largest(
        fit.coefficients()
            .map(|(l, value, e)| (value - exact(l)) / e),
    );
    let error = (fit.mobility.at(&[SYSTEM.theta])[0] / (SYSTEM.gamma * SYSTEM.theta) - 1.0).abs();
    let coefficients: Vec<_> = fit.coefficients().collect();
    println!(
        "{what}: z {z:.2}, M(theta) off by {error:.4}, chi2 {:.2}, {coefficients:.4?}",
        fit.chi2_per_equation
    );
    (z, error)
}

/// With M affine, a1 itself has the precision.
fn assert_found(what: &str, fit: &MobilityFit) {
    let (z, error) = deviations(what, fit);
    assert!(z < ERRORS && error < PRECISION, "{what}: {z} {error}");
    if fit.mobility.coefficients().len() == 2 {
        let slope = fit.mobility.coefficients()[1];
        assert!((slope / SYSTEM.gamma - 1.0).abs() < PRECISION, "{slope}");
    }
}

fn basis(degree: usize) -> TensorBasis {
    TensorBasis::polynomial(DATA.names(), &identity(1), degree, 0, None).unwrap()
}

fn sums(data: &Ensemble, config: &WeakConfig) -> Arc<PolynomialSums> {
    let lags = (0..=5).map(|k| INTERVAL * f64::from(k)).collect();
    weak_sums(data, &identity(1), config, 2, lags)
}

/// M of the given degree by the weak form with a score that is held fixed.
fn with_score(data: &Ensemble, score: &dyn Score, degree: usize) -> MobilityFit {
    let config = WeakConfig {
        test_degree: 2,
        ..WeakConfig::default()
    };
    let (sums, control) = (sums(data, &config), Control::new());
    let equations = Weak::with_score(data, &sums, score, &basis(degree), &config, &control);
    fit_mobility(&equations.unwrap(), &MobilityConfig::default(), &control).unwrap()
}

/// A score that is too large by a factor.
struct Scaled<'a>(&'a dyn Score, f64);

impl Score for Scaled<'_> {
    fn dim(&self) -> usize {
        self.0.dim()
    }
    fn score(&self, x: &[f64], out: &mut [f64]) {
        self.0.score(x, out);
        out.iter_mut().for_each(|s| *s *= self.1);
    }
}

#[test]
fn the_weak_form_with_the_exact_score_finds_the_noise_strength() {
    let score = ExactScore::new(1, &SYSTEM);
    for degree in [1, 2] {
        assert_found("exact score", &with_score(&DATA, &score, degree));
    }
    // The twin: a score 10 % too large.
    let twin = with_score(&DATA, &Scaled(&score, 1.1), 1);
    assert!(deviations("score times 1.1", &twin).0 > Z_BOUND);
}

/// The score is estimated with the mobility in each of 16 groups of trajectories, so that the errors
/// include its own.
#[test]
fn the_weak_form_with_an_estimated_score_finds_the_noise_strength() {
    let groups = |functions: &[&str]| {
        let (mut constant, mut slope) = (Vec::new(), Vec::new());
        for group in (0..DATA.len()).collect::<Vec<_>>().chunks(8) {
            let data = DATA.select(group).unwrap();
            let library = Expressions::parse(functions, data.names(), &[]).unwrap();
            let score = span(&data, Gradients::new(library), ScoreObjective::Hyvarinen);
            let fit = with_score(&data, &score, 1);
            constant.push(fit.mobility.coefficients()[0]);
            slope.push(fit.mobility.coefficients()[1]);
        }
        let (constant, slope) = (Estimate::new(&constant), Estimate::new(&slope));
        println!("{functions:?}: {constant:.4?} {slope:.4?}");
        let z = largest([constant.z(0.0), slope.z(SYSTEM.gamma)]);
        (z, (slope.mean / SYSTEM.gamma - 1.0).abs())
    };
    let (z, error) = groups(&["log(x)", "x"]);
    assert!(z < ERRORS && error < PRECISION, "{z} {error}");
    // The twin: a Gaussian has no 1/x in its score.
    assert!(groups(&["x", "x^2"]).0 > 2.0 * Z_BOUND);
}

/// The gradient of a polynomial has no 1/x, and yet its weak equations can be exact: the fitted score is
/// the L2(p_ss) projection of the true one, which enters only in averages with K_tφ_m T φ_n′. For this
/// process K_tφ_m is a polynomial of the degree of φ_m; with tests of degree 2 and M affine the product
/// has degree 2 + 1 + 1, and the score must hold it: a potential of degree 5 does, one more for M
/// quadratic. With a smaller one M is wrong; near zero the values of the score are wrong at any degree,
/// and where they matter a score with 1/x is to be given to `Weak::with_score`.
#[test]
fn slow_a_polynomial_potential_serves_once_it_holds_the_products_of_the_equations() {
    let fit = |potential_degree: usize, degree: usize| {
        let config = WeakConfig {
            test_degree: 2,
            potential_degree,
            ..WeakConfig::default()
        };
        let equations = Weak::new(&sums(&DATA, &config), &basis(degree), &config).unwrap();
        fit_mobility(&equations, &MobilityConfig::default(), &Control::new()).unwrap()
    };
    assert_found("potential of degree 5", &fit(5, 1));
    assert_found("potential of degree 6", &fit(6, 2));
    // The twins: potentials that are too small, the first of them a Gaussian.
    let gaussian = fit(2, 1);
    assert!(deviations("potential of degree 2", &gaussian).0 > 2.0 * Z_BOUND);
    let short = fit(4, 2);
    assert!(deviations("potential of degree 4", &short).0 > 2.0 * Z_BOUND);
}

#[test]
fn the_semigroup_finds_the_noise_strength_without_a_score() {
    let space = SemigroupConfig {
        degree: 4,
        test_degree: 2,
    };
    let fit = |data: &Ensemble, degree| fit_semigroup(data, &identity(1), &space, degree, 1.6);
    for degree in [1, 2] {
        assert_found("semigroup", &fit(&DATA, degree));
    }
    // The twin: a clock that is 10 % slow.
    let slow = |k| Trajectory::new(rows(&DATA, k).to_owned(), Times::every(1.1 * INTERVAL));
    let slow = Ensemble::new((0..DATA.len()).map(slow).collect()).unwrap();
    let slow = slow.with_names(DATA.names().to_vec()).unwrap();
    assert!(deviations("slow clock", &fit(&slow, 1)).0 > 2.0 * Z_BOUND);
}
