//! The conditional operator and the mobility by a network: exact answers, then data.

use std::sync::Arc;

use ergode::lagged::{Jackknife, LagGrid, LaggedConfig, Subsample};
use ergode::mobility::{
    Conditional, ConditionalOperator, LinearMobility, Mobility, MobilityConfig, MobilityFit,
    NeuralMobilityConfig, NeuralMobilityFit, PolynomialConfig, ResidualConfig, TensorBasis,
    accumulate_polynomials, estimate_residual, fit_mobility, fit_neural_mobility,
};
use ergode::nn::TrainConfig;
use ergode::observable::{Functions, Library, Monomials};
use ergode::score::{ConditionalScore, ExactScore, Layout, Score};
use ergode::systems::{Affine2d, CoxIngersollRoss, OrnsteinUhlenbeck, SoftSpin};
use ergode::{BurnIn, Control, Ensemble};
use ndarray::{Array1, Array2, ArrayView2, array};

use crate::support::{Exact, Z_BOUND, identity, names, rotating, sample};

fn largest_z(estimate: &Jackknife, exact: &Array1<f64>) -> f64 {
    let deviations = (&estimate.values - exact) / estimate.errors();
    deviations.iter().fold(0.0, |most, z| most.max(z.abs()))
}

const STEPS: [usize; 3] = [1, 4, 10];

fn grid(data: &Ensemble) -> LagGrid {
    LagGrid::even(data.sampling_interval().unwrap(), STEPS.to_vec()).unwrap()
}

fn every() -> LaggedConfig {
    LaggedConfig::default()
}

/// Ċ of the coordinates of an Ornstein-Uhlenbeck process, (lag, m, n).
fn exact_slopes(ou: &OrnsteinUhlenbeck, interval: f64) -> Array1<f64> {
    let slopes = STEPS.map(|step| ou.correlation_derivative(interval * step as f64));
    slopes.into_iter().flatten().collect()
}

#[test]
fn slow_the_conditional_operator_gives_the_derivative_of_correlations() {
    let ou = rotating(2);
    let truth = |t: f64, xt: &[f64], x0: &[f64]| ou.conditional_score(t, xt, x0).to_vec();
    let data = sample(&ou, 100.0, 0.05, 32, 3);
    let x = Monomials::coordinates(data.names()).unwrap();
    let estimate = |factor: f64, m: ArrayView2<f64>, baseline: Option<usize>| {
        let score = Exact {
            dim: 2,
            truth: &truth,
            factor,
        };
        let mut operator = ConditionalOperator::new(&score, &x, &x, grid(&data)).unwrap();
        if let Some(degree) = baseline {
            let control = Control::new();
            operator = operator
                .with_baseline(&data, degree, &every(), &control)
                .unwrap();
        }
        let mobility = m.to_owned();
        let sums = operator.accumulate(&data, &[&mobility], &every(), &Control::new());
        sums.unwrap().jackknife().unwrap()
    };
    let (m, exact) = (ou.mobility_matrix(), exact_slopes(&ou, 0.05));
    let plain = estimate(1.0, m, None);
    let steady = estimate(1.0, m, Some(1));
    let gain = plain.errors() / steady.errors();
    println!(
        "z {:.2}, with a baseline {:.2}; errors smaller by {gain:.2}",
        largest_z(&plain, &exact),
        largest_z(&steady, &exact)
    );
    assert!(largest_z(&plain, &exact) < Z_BOUND && largest_z(&steady, &exact) < Z_BOUND);
    assert!(gain.iter().take(4).all(|gain| *gain > 2.0));
    // The twins: the sign, and M transposed.
    assert!(largest_z(&estimate(-1.0, m, Some(1)), &exact) > 2.0 * Z_BOUND);
    assert!(largest_z(&estimate(1.0, m.t(), Some(1)), &exact) > 2.0 * Z_BOUND);
}

/// A library that forgets its second derivatives.
#[derive(Debug)]
struct Straight(Monomials);

impl Functions for Straight {
    fn dim(&self) -> usize {
        self.0.dim()
    }
    fn labels(&self) -> &[String] {
        self.0.labels()
    }
    fn values(&self, x: &[f64], out: &mut [f64]) {
        self.0.values(x, out);
    }
}

impl Library for Straight {
    fn gradients(&self, x: &[f64], out: &mut [f64]) {
        self.0.gradients(x, out);
    }
    fn hessians(&self, _x: &[f64], out: &mut [f64]) {
        out.fill(0.0);
    }
}

/// With the exact Φ and score nothing is left to correct in an Ornstein-Uhlenbeck process.
#[test]
fn a_constant_mobility_leaves_no_residual() {
    let ou = rotating(2);
    let truth = |t: f64, xt: &[f64], x0: &[f64]| ou.conditional_score(t, xt, x0).to_vec();
    let data = sample(&ou, 200.0, 0.05, 32, 4);
    let score = Exact {
        dim: 2,
        truth: &truth,
        factor: 1.0,
    };
    let future = Monomials::new(data.names(), 1..=2).unwrap();
    // The Hessian of a square is a constant, which a covariance does not see.
    let initial = Monomials::new(data.names(), 1..=3).unwrap();
    let config = ResidualConfig {
        degree: 4,
        bandwidth: 3.0,
    };
    let z = |initial: &dyn Library, phi: ArrayView2<f64>| {
        let operator = ConditionalOperator::new(&score, &future, initial, grid(&data)).unwrap();
        let stationary = ExactScore::new(2, &ou);
        let control = Control::new();
        let target = estimate_residual(
            &data,
            &operator,
            &stationary,
            phi,
            &config,
            &every(),
            &control,
        );
        let curves = target.unwrap().jackknife().unwrap();
        let half = curves.values.len() / 2;
        let difference = Array2::from_shape_fn((half, 2 * half), |(k, l)| {
            f64::from(u8::from(l == k)) - f64::from(u8::from(l == k + half))
        });
        largest_z(&curves.linear(difference.view()), &Array1::zeros(half))
    };
    let phi = ou.mobility_matrix();
    let (good, straight, transposed) = (
        z(&initial, phi),
        z(&Straight(initial.clone()), phi),
        z(&initial, phi.t()),
    );
    println!("z {good:.2}; without Hessian {straight:.1}; transposed {transposed:.1}");
    assert!(good < Z_BOUND);
    assert!(straight > 2.0 * Z_BOUND && transposed > 2.0 * Z_BOUND);
}

/// M = ax + b with aθ + b = ⟨M⟩: the channels ⟨x_t^m x_0⟩ with m ≥ 2 give a = γ (the paper's
/// square-root diffusion).
#[test]
fn channels_of_the_square_root_diffusion_give_its_slope() {
    let cir = CoxIngersollRoss::default();
    let truth = |t: f64, xt: &[f64], x0: &[f64]| vec![cir.conditional_score(t, xt[0], x0[0])];
    let data = sample(&cir, 200.0, 0.1, 64, 5);
    let future = Monomials::new(data.names(), 1..=4).unwrap();
    let x = Monomials::coordinates(data.names()).unwrap();
    let basis = TensorBasis::polynomial(&names(1), &identity(1), 1, 0, None).unwrap();
    let field = |c: Array1<f64>| LinearMobility::new(basis.clone(), c).unwrap();
    let (one, linear) = (field(array![1.0, 0.0]), field(array![0.0, 1.0]));
    let estimate = |factor: f64| {
        let score = Exact {
            dim: 1,
            truth: &truth,
            factor,
        };
        let operator = ConditionalOperator::new(&score, &future, &x, grid(&data)).unwrap();
        let operator = operator.with_baseline(&data, 4, &every(), &Control::new());
        let control = Control::new();
        let sums = operator
            .unwrap()
            .accumulate(&data, &[&one, &linear], &every(), &control);
        sums.unwrap().jackknife().unwrap()
    };
    // Ċ − ⟨M⟩ A[1] = a (A[x] − θ A[1]), the error of a to first order.
    let slope = |sums: &Jackknife, m: usize, lag: usize| {
        let (theta, mean) = (cir.theta, cir.theta * cir.gamma);
        let at = |field: usize| (lag * 2 + field) * 4 + m - 1;
        let t = 0.1 * STEPS[lag] as f64;
        let derivative = cir.power_correlation_derivative(m as u32, t);
        let seen = sums.values[at(1)] - theta * sums.values[at(0)];
        let a = (derivative - mean * sums.values[at(0)]) / seen;
        let mut weights = Array2::zeros((1, sums.values.len()));
        weights[[0, at(0)]] = (a * theta - mean) / seen;
        weights[[0, at(1)]] = -a / seen;
        (a, sums.linear(weights.view()).errors()[0])
    };
    let (sums, wrong) = (estimate(1.0), estimate(-1.0));
    for m in 2..=4 {
        for lag in 0..STEPS.len() {
            let (a, error) = slope(&sums, m, lag);
            println!("m = {m}, lag {lag}: a = {a:.4} +- {error:.4}");
            assert!((a - cir.gamma).abs() < Z_BOUND * error);
        }
        let (a, error) = slope(&wrong, m, 0);
        assert!((a - cir.gamma).abs() > 2.0 * Z_BOUND * error, "{a} {error}");
    }
    assert!(slope(&sums, 2, 0).1 < 0.05);
}

/// The same channels as equations for the coefficients of M = b + ax.
#[test]
fn the_linear_class_finds_the_square_root_diffusion() {
    let cir = CoxIngersollRoss {
        gamma: 0.25,
        ..CoxIngersollRoss::default()
    };
    let truth = |t: f64, xt: &[f64], x0: &[f64]| vec![cir.conditional_score(t, xt[0], x0[0])];
    let data = sample(&cir, 400.0, 0.05, 32, 10);
    let future = Monomials::new(data.names(), 1..=3).unwrap();
    let initial = Monomials::new(data.names(), 1..=2).unwrap();
    let basis = TensorBasis::polynomial(data.names(), &identity(1), 1, 0, None).unwrap();
    let moments = PolynomialConfig {
        future_degree: 1,
        initial_degree: 1,
        moment_degree: 4,
        lags: vec![0.0, 0.05],
        ..PolynomialConfig::default()
    };
    let control = Control::new();
    let moments = accumulate_polynomials(&data, &identity(1), &moments, &control).unwrap();
    let moments = Arc::new(moments);
    let fit = |factor: f64| {
        let score = Exact {
            dim: 1,
            truth: &truth,
            factor,
        };
        let lags = LagGrid::even(0.05, vec![2, 5, 10, 20]).unwrap();
        let operator = ConditionalOperator::new(&score, &future, &initial, lags).unwrap();
        let operator = operator.with_baseline(&data, 3, &every(), &control);
        let operator = operator.unwrap();
        let phi = array![[cir.theta * cir.gamma]];
        let stationary = ExactScore::new(1, &cir);
        let config = ResidualConfig::default();
        let target = estimate_residual(
            &data,
            &operator,
            &stationary,
            phi.view(),
            &config,
            &every(),
            &control,
        );
        let target = target.unwrap();
        let pairs = Subsample::All;
        let equations =
            Conditional::new(&data, &operator, target, &moments, &basis, pairs, &control);
        fit_mobility(&equations.unwrap(), &MobilityConfig::default(), &control).unwrap()
    };
    let z = |fit: &MobilityFit| {
        let exact = [0.0, cir.gamma];
        let each = fit.coefficients().zip(exact);
        each.fold(0.0, |most: f64, ((label, c, error), exact)| {
            println!("{label}: {c:.4} +- {error:.4}");
            most.max(((c - exact) / error).abs())
        })
    };
    let good = fit(1.0);
    println!("chi2 {:.2}", good.chi2_per_equation);
    assert!(z(&good) < Z_BOUND);
    assert!(good.jackknife.errors()[1] < 0.02);
    // The twin: the sign of the operator.
    assert!(z(&fit(-1.0)) > 2.0 * Z_BOUND);
}

fn small(steps: u64) -> NeuralMobilityConfig {
    let mut config = NeuralMobilityConfig {
        hidden: vec![24, 24],
        states: 32_768,
        batch: 8192,
        ..NeuralMobilityConfig::default()
    };
    let adam = config.train.adam.clone();
    config.train = TrainConfig {
        adam,
        average: 0.99,
        ..TrainConfig::with_steps(steps)
    };
    config.train.adam.rate = 3e-3;
    config
}

fn cir_fit(cir: &CoxIngersollRoss, data: &Ensemble, factor: f64, steps: u64) -> NeuralMobilityFit {
    let truth = |t: f64, xt: &[f64], x0: &[f64]| vec![cir.conditional_score(t, xt[0], x0[0])];
    let score = Exact {
        dim: 1,
        truth: &truth,
        factor,
    };
    let future = Monomials::new(data.names(), 1..=3).unwrap();
    let x = Monomials::new(data.names(), 1..=2).unwrap();
    let lags = LagGrid::even(0.05, vec![2, 4, 8, 14, 20]).unwrap();
    let operator = ConditionalOperator::new(&score, &future, &x, lags).unwrap();
    let operator = operator.with_baseline(data, 3, &every(), &Control::new());
    let phi = array![[cir.theta * cir.gamma]];
    let config = small(steps);
    let stationary = ExactScore::new(1, cir);
    let control = Control::new();
    let operator = operator.unwrap();
    fit_neural_mobility(
        data,
        &operator,
        &stationary,
        phi.view(),
        &config,
        None,
        &control,
    )
    .unwrap()
}

/// rms(M − γx) / rms(Φ − γx) over samples.
fn cir_error(cir: &CoxIngersollRoss, data: &Ensemble, fit: &NeuralMobilityFit) -> f64 {
    let (mut wrong, mut size, mut x, mut m) = (0.0, 0.0, [0.0], [0.0]);
    for trajectory in data.trajectories() {
        for row in (0..trajectory.len()).step_by(101) {
            trajectory.row(row, &mut x);
            fit.mobility.mobility(&x, &mut m);
            let exact = cir.gamma * x[0];
            wrong += (m[0] - exact).powi(2);
            size += (cir.gamma * cir.theta - exact).powi(2);
        }
    }
    (wrong / size).sqrt()
}

/// Exact scores: the network must find M = γx, and with the sign of the operator wrong it must not.
#[test]
fn a_network_learns_the_mobility_of_the_square_root_diffusion() {
    let cir = CoxIngersollRoss {
        gamma: 0.25,
        ..CoxIngersollRoss::default()
    };
    let data = sample(&cir, 500.0, 0.05, 64, 6);
    let fit = cir_fit(&cir, &data, 1.0, 300);
    let error = cir_error(&cir, &data, &fit);
    println!(
        "error {error:.3}, mean off by {:.4}, held-out loss {:.2} at step {}",
        fit.mean_deviation, fit.training.held_out, fit.training.best_step
    );
    for curve in &fit.curves {
        let (misfit, noise) = curve.relative_misfit();
        println!(
            "A[{}, {}]: misfit {misfit:.3}, its error {noise:.3}, chi2 {:.2}",
            curve.future,
            curve.initial,
            curve.chi2()
        );
    }
    assert!(error < 0.2 && fit.mean_deviation < 0.02 && fit.smallest_pivot > 0.0);
    let wrong = cir_error(&cir, &data, &cir_fit(&cir, &data, -1.0, 60));
    println!("with the wrong sign {wrong:.3}");
    assert!(wrong > 1.0);
}

/// A conditional score that is wrong but smooth: enough to move a network away from Φ.
struct Spring(usize);

impl ConditionalScore for Spring {
    fn dim(&self) -> usize {
        self.0
    }
    fn conditional_score(&self, x0: &[f64], xt: &[f64], t: &[f64], out: &mut [f64]) {
        for (k, out) in out.iter_mut().enumerate() {
            *out = (xt[k] - x0[k]) / t[k % t.len()];
        }
    }
}

fn moved_fit(
    data: &Ensemble,
    score: &dyn Score,
    layout: Layout,
    phi: ArrayView2<f64>,
) -> NeuralMobilityFit {
    let spring = Spring(data.dim());
    let x = Monomials::coordinates(data.names()).unwrap();
    let operator = ConditionalOperator::new(&spring, &x, &x, grid(data)).unwrap();
    let mut config = NeuralMobilityConfig {
        layout,
        states: 4096,
        batch: 1024,
        ..small(40)
    };
    config.train.patience = 0;
    fit_neural_mobility(data, &operator, score, phi, &config, None, &Control::new()).unwrap()
}

/// A fit of the block of a ring of four spins, and the record.
pub(crate) fn moved_ring_fit() -> (Ensemble, NeuralMobilityFit) {
    let chain = SoftSpin {
        sites: 4,
        ..SoftSpin::default()
    };
    let data = sample(&chain, 20.0, 0.02, 8, 8);
    let dim = data.dim();
    let layout = Layout::Lattice { sites: 4, reach: 1 };
    let phi = Array2::from_diag(&Array1::from_elem(dim, 0.05));
    let fit = moved_fit(&data, &ExactScore::new(dim, &chain), layout, phi.view());
    (data, fit)
}

/// ∇·M and ∇·Mᵀ against central differences, and D = ΣΣᵀ.
fn check_derivatives(mobility: &dyn Mobility, x: &[f64], tolerance: f64) {
    let dim = x.len();
    let tensor = |x: &[f64]| {
        let mut m = vec![0.0; dim * dim];
        mobility.mobility(x, &mut m);
        m
    };
    let (mut differences, mut transposed) = (vec![0.0; dim], vec![0.0; dim]);
    let step = 4e-3;
    for j in 0..dim {
        let moved = |step: f64| {
            let mut x = x.to_vec();
            x[j] += step;
            tensor(&x)
        };
        let (above, below) = (moved(step), moved(-step));
        for i in 0..dim {
            let slope = |at: usize| (above[at] - below[at]) / (2.0 * step);
            differences[i] += slope(i * dim + j);
            transposed[i] += slope(j * dim + i);
        }
    }
    let (mut div, mut div_transpose) = (vec![0.0; dim], vec![0.0; dim]);
    mobility.div_mobility(x, &mut div);
    mobility.div_transpose(x, &mut div_transpose);
    for i in 0..dim {
        assert!(
            (div[i] - differences[i]).abs() < tolerance,
            "{div:?} {differences:?}"
        );
        let off = div_transpose[i] - transposed[i];
        assert!(off.abs() < tolerance, "{div_transpose:?} {transposed:?}");
    }
    let (mut factor, mut diffusion) = (vec![0.0; dim * dim], vec![0.0; dim * dim]);
    mobility.noise_factor(x, &mut factor).unwrap();
    mobility.diffusion(x, &mut diffusion);
    let factor = Array2::from_shape_vec((dim, dim), factor).unwrap();
    for (product, entry) in factor.dot(&factor.t()).iter().zip(&diffusion) {
        assert!((product - entry).abs() < 1e-12);
    }
}

#[test]
fn divergences_are_exact_inside_and_outside_the_samples() {
    let data = sample(&Affine2d::default(), 50.0, 0.05, 16, 7);
    let data = data.burn_in(BurnIn::Fraction(0.1)).unwrap();
    let zero = rotating(2);
    let phi = array![[0.2, 0.19], [-0.08, 0.16]];
    let fit = moved_fit(&data, &ExactScore::new(2, &zero), Layout::Whole, phi.view());
    let mut m = [0.0; 8];
    fit.mobility.mobility(&[0.0, 0.4, 0.0, 0.2], &mut m);
    assert!((m[0] - m[1]).abs() > 1e-3, "the network has moved: {m:?}");
    for x in [[0.0, 0.0], [0.3, -0.2], [-0.4, 0.5]] {
        check_derivatives(&fit.mobility, &x, 2e-3);
    }
    // Beyond every sample, in both coordinates and in one.
    check_derivatives(&fit.mobility, &[40.0, -30.0], 1e-9);
    check_derivatives(&fit.mobility, &[0.1, 50.0], 2e-3);
    let (mut far, mut farther) = ([0.0; 4], [0.0; 4]);
    fit.mobility.mobility(&[40.0, 40.0], &mut far);
    fit.mobility.mobility(&[4e6, 4e6], &mut farther);
    assert_eq!(far, farther);
}

#[test]
fn slow_sites_of_a_lattice_share_one_network() {
    let (data, fit) = moved_ring_fit();
    let dim = data.dim();
    let mut x = vec![0.0; dim];
    data.trajectories()[3].row(500, &mut x);
    check_derivatives(&fit.mobility, &x, 1e-2);
    // Turning the ring turns the blocks.
    let turned: Vec<f64> = (0..dim).map(|i| x[(i + 3) % dim]).collect();
    let (mut m, mut of_turned) = (vec![0.0; dim * dim], vec![0.0; dim * dim]);
    fit.mobility.mobility(&x, &mut m);
    fit.mobility.mobility(&turned, &mut of_turned);
    for i in 0..dim {
        for j in 0..dim {
            let same = m[(i + 3) % dim * dim + (j + 3) % dim];
            assert!((of_turned[i * dim + j] - same).abs() < 1e-6);
            assert!(i / 3 == j / 3 || m[i * dim + j] == 0.0);
        }
    }
}

#[test]
fn the_fit_does_not_depend_on_the_number_of_threads() {
    let data = sample(&Affine2d::default(), 30.0, 0.05, 16, 9);
    let zero = rotating(2);
    let phi = array![[0.2, 0.19], [-0.08, 0.16]];
    let fit = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        let run = || moved_fit(&data, &ExactScore::new(2, &zero), Layout::Whole, phi.view());
        let fit = pool.build().unwrap().install(run);
        let mut m = [0.0; 4];
        fit.mobility.mobility(&[0.3, 0.1], &mut m);
        (m, fit.curves)
    };
    assert_eq!(fit(1), fit(3));
}
