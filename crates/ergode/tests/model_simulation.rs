//! Simulations of models against exact answers, and the advice on their step.

use ergode::mobility::{RecipeConfig, fit_mobility_recipe};
use ergode::model::{ModelRun, StepConfig, StepTrial, advise_step, default_step};
use ergode::random::Stream;
use ergode::score::{ClosedFormConfig, fit_potential_score};
use ergode::simulate::{Dimensions, Sde, SimulateConfig, simulate_ensemble};
use ergode::systems::{Affine2d, OrnsteinUhlenbeck};
use ergode::{BurnIn, Control, Ensemble, LangevinModel, Scheme, simulation_protocol};
use ndarray::{Array2, ArrayView2};

use crate::model::{
    config, filled_box, names, neural_model, potential, provenance, quartic_model, simulate,
    unscaled,
};
use crate::support::{Estimate, Z_BOUND, affine_reference, lagged, ou, rotating, rows, sample};

/// The exact Ornstein-Uhlenbeck model with mobility `m`.
fn gaussian_model(
    system: &OrnsteinUhlenbeck,
    data: &Ensemble,
    m: ArrayView2<f64>,
) -> LangevinModel {
    let s = system.covariance();
    let det = s[[0, 0]] * s[[1, 1]] - s[[0, 1]] * s[[1, 0]];
    let score = potential(
        unscaled(data),
        2,
        &[
            ("x^2", -0.5 * s[[1, 1]] / det),
            ("x*y", s[[0, 1]] / det),
            ("y^2", -0.5 * s[[0, 0]] / det),
        ],
    );
    let starts = Array2::zeros((1, 2));
    LangevinModel::new(names(2), score, m.to_owned(), starts, provenance(data)).unwrap()
}

/// The worst z-score of moments and of correlations at lag 0.5 (5 samples) of an exact process.
fn gaussian_z(system: &OrnsteinUhlenbeck, run: &ModelRun) -> f64 {
    let mut worst = 0f64;
    for lag in [0, 5] {
        let exact = system.correlation(0.1 * lag as f64);
        for (i, j) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            let estimate = lagged(&run.simulation.ensemble, |x| x[i], |x| x[j], lag, 0);
            worst = worst.max(estimate.z(exact[[i, j]]).abs());
        }
    }
    worst
}

#[test]
fn an_exact_gaussian_model_has_the_moments_and_correlations_of_the_process() {
    let system = ou();
    let data = filled_box(2, 6.0);
    let m = system.mobility_matrix();
    let model = gaussian_model(&system, &data, m);
    let config = config(100.0, 0.02, 0.1, 128, Scheme::Platen);
    let run = simulate(&model, &config);
    let worst = gaussian_z(&system, &run);
    assert!(worst < Z_BOUND, "z = {worst}");
    assert_eq!((run.out_of_support, run.indefinite), (0.0, 0.0));
    // The transposed mobility keeps the density and turns the currents round.
    let turned = simulate(&model.with_constant_mobility(m.t()).unwrap(), &config);
    let worst = gaussian_z(&system, &turned);
    assert!(
        worst > 3.0 * Z_BOUND,
        "z = {worst} for the transposed mobility"
    );
}

/// The exact model, started where the data start and with their seed, follows no path of the data.
#[test]
fn rollouts_share_no_noise_with_data_of_the_same_seed() {
    let system = ou();
    let model = gaussian_model(&system, &filled_box(2, 6.0), system.mobility_matrix());
    let config = config(4.0, 0.01, 2.0, 512, Scheme::Euler);
    // The correlation of the last states path by path, of standard error 1/√512.
    let correlation = |other: &Ensemble| {
        let run = simulate(&model, &config).simulation.ensemble;
        let last = |ensemble: &Ensemble, k: usize| rows(ensemble, k)[[2, 0]];
        let mean = |f: &dyn Fn(usize) -> f64| (0..512).map(f).sum::<f64>() / 512.0;
        let of = |e: &Ensemble| mean(&|k| last(e, k).powi(2)).sqrt();
        mean(&|k| last(&run, k) * last(other, k)) / (of(&run) * of(other))
    };
    let start = |_: &mut Stream, x: &mut [f64]| x.fill(0.0);
    let initial = ergode::simulate::Initial::Drawn(&start);
    let data = simulate_ensemble(&system, &initial, &config, &Control::new()).unwrap();
    let shared = correlation(&data.ensemble);
    assert!(shared.abs() < Z_BOUND / 512f64.sqrt(), "{shared}");
    // The twin: two rollouts of the same seed share all of it.
    let same = correlation(&simulate(&model, &config).simulation.ensemble);
    assert!(same > 0.99, "{same}");
}

/// The equation of a model without ∇·M.
struct NoDivergence<'a>(&'a LangevinModel);

impl Dimensions for NoDivergence<'_> {
    fn dim(&self) -> usize {
        self.0.dim()
    }
}

impl Sde for NoDivergence<'_> {
    fn advance(&self, _: Scheme, dt: f64, lanes: usize, state: &mut [f64], normals: &[f64]) {
        let dim = self.dim();
        let [mut drift, mut div] = [(); 2].map(|()| vec![0.0; dim * lanes]);
        let mut sigma = vec![0.0; dim * dim * lanes];
        for xi in normals.chunks_exact(dim * lanes) {
            self.0.drift(state, &mut drift);
            self.0.div_mobility(state, &mut div);
            self.0.noise_amplitude(state, &mut sigma);
            for s in 0..lanes {
                for i in 0..dim {
                    let noise = |j: usize| sigma[(i * dim + j) * lanes + s] * xi[j * lanes + s];
                    let kick: f64 = (0..dim).map(noise).sum();
                    let at = i * lanes + s;
                    state[at] += (drift[at] - div[at]) * dt + kick * dt.sqrt();
                }
            }
        }
    }
    fn evaluate(&self, _: &[f64], _: &[f64], _: &mut [f64], _: &mut [f64]) {
        unreachable!("simulations advance tiles")
    }
}

/// The worst z-score of ⟨x²⟩, ⟨y²⟩, ⟨xy⟩, ⟨x⟩, ⟨y⟩.
fn quartic_z(ensemble: &Ensemble) -> f64 {
    let weight = |x: f64| (-x * x / 2.0 - x.powi(4) / 8.0).exp();
    let grid: Vec<f64> = (-6000..=6000).map(|k| k as f64 * 1e-3).collect();
    let mass: f64 = grid.iter().map(|x| weight(*x)).sum();
    let square = grid.iter().map(|x| x * x * weight(*x)).sum::<f64>() / mass;
    let of = |f: &dyn Fn(&[f64]) -> f64| lagged(ensemble, f, |_| 1.0, 0, 0);
    [
        of(&|x| x[0] * x[0]).z(square),
        of(&|x| x[1] * x[1]).z(1.0),
        of(&|x| x[0] * x[1]).z(0.0),
        of(&|x| x[0]).z(0.0),
        of(&|x| x[1]).z(0.0),
    ]
    .iter()
    .fold(0.0, |worst: f64, z| worst.max(z.abs()))
}

#[test]
fn a_state_dependent_mobility_keeps_the_density() {
    let data = filled_box(2, 5.0);
    let model = quartic_model(&data);
    let run = simulate(&model, &config(60.0, 0.01, 0.2, 256, Scheme::Platen));
    let worst = quartic_z(&run.simulation.ensemble);
    assert!(worst < Z_BOUND, "z = {worst}");
    let draw = |stream: &mut Stream, x: &mut [f64]| model.draw_start(stream, x);
    let config = config(60.0, 0.01, 0.2, 256, Scheme::Euler);
    let initial = ergode::simulate::Initial::Drawn(&draw);
    let wrong =
        simulate_ensemble(&NoDivergence(&model), &initial, &config, &Control::new()).unwrap();
    let worst = quartic_z(&wrong.ensemble);
    assert!(worst > 3.0 * Z_BOUND, "z = {worst} without the divergence");
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let disc = sample(&Affine2d::default(), 200.0, 0.1, 8, 1);
    for model in [quartic_model(&disc), neural_model(&[24, 24])] {
        for scheme in [Scheme::Euler, Scheme::Platen] {
            let config = config(2.0, 0.01, 0.1, 43, scheme);
            let on = |threads: usize| {
                let pool = rayon_pool(threads);
                let run = pool.install(|| simulate(&model, &config));
                (
                    run.simulation.ensemble.fingerprint(),
                    run.out_of_support.to_bits(),
                )
            };
            let one = on(1);
            assert_eq!(one, on(2));
            assert_eq!(one, on(5));
        }
    }
}

fn rayon_pool(threads: usize) -> rayon::ThreadPool {
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .unwrap()
}

#[test]
fn models_with_the_same_seed_see_the_same_numbers() {
    let data = filled_box(2, 5.0);
    let model = quartic_model(&data);
    let phi = ndarray::array![[0.9, 0.4], [-0.4, 0.9]];
    let closure = model.with_constant_mobility(phi.view()).unwrap();
    let config = SimulateConfig {
        burn_in: 0.0,
        ..config(5.0, 0.01, 0.05, 64, Scheme::Euler)
    };
    let (a, b) = (simulate(&model, &config), simulate(&closure, &config));
    let both = |k: usize, row: usize| {
        let of = |run: &ModelRun| rows(&run.simulation.ensemble, k).row(row).to_vec();
        (of(&a), of(&b))
    };
    // The same start, and increments that are strongly correlated.
    let product: Vec<f64> = (0..64)
        .map(|k| {
            let (start, other) = both(k, 0);
            assert_eq!(start, other);
            let (next, next_other) = both(k, 1);
            (next[0] - start[0]) * (next_other[0] - other[0])
        })
        .collect();
    let correlated = Estimate::new(&product);
    assert!(correlated.z(0.0) > Z_BOUND, "{correlated:?}");
}

/// The exact model of dx = −x dt + √2 dW, started at rest.
fn relaxing_model() -> LangevinModel {
    let data = filled_box(1, 7.0);
    let score = potential(unscaled(&data), 2, &[("x^2", -0.5)]);
    let starts = Array2::from_shape_fn((7, 1), |(k, _)| 0.5 * (k as f64 - 3.0));
    LangevinModel::new(names(1), score, Array2::eye(1), starts, provenance(&data)).unwrap()
}

#[test]
fn the_weak_error_of_a_step_is_that_of_the_scheme() {
    let model = relaxing_model();
    let advice = advise_step(&model, &StepConfig::default(), &Control::new()).unwrap();
    // Euler's stationary variance is 1/(1 − Δ/2); extrapolated from Δ and Δ/2 its error is twice the
    // difference of the two.
    let variance = |dt: f64| 1.0 / (1.0 - dt / 2.0);
    let expected = |dt: f64| 2.0 * (variance(dt) - variance(dt / 2.0));
    for trial in &advice.trials {
        let z = (trial.weak_error - expected(trial.dt)) / trial.standard_error;
        assert!(z.abs() < Z_BOUND, "z = {z} at dt = {}", trial.dt);
        // Without the coupling of the two runs the step could not be told from the noise.
        assert!(trial.dt > 0.1 || trial.standard_error < 0.02, "{trial:?}");
        let twin = (trial.weak_error - 0.5 * expected(trial.dt)) / trial.standard_error;
        assert!(
            trial.dt < 0.05 || twin.abs() > Z_BOUND,
            "z = {twin} without extrapolation"
        );
    }
    assert!(
        advice.recommended == 0.01 || advice.recommended == 0.005,
        "{advice:?}"
    );
    assert_eq!(advice.largest_stable, 0.2, "{advice:?}");
    let platen = StepConfig {
        scheme: Scheme::Platen,
        ..StepConfig::default()
    };
    let second = advise_step(&model, &platen, &Control::new()).unwrap();
    assert!(
        second.recommended >= 10.0 * advice.recommended,
        "{second:?}"
    );
}

/// An Ornstein-Uhlenbeck model of unit variance in two coordinates or more, the first two of which turn with angular
/// velocity 1 and all of which relax at the rate `rate`.
fn rotation(dim: usize, rate: f64) -> LangevinModel {
    let place = |k: usize| 12.0 * k as f64 / 39.0 - 6.0;
    let lattice = Array2::from_shape_fn((40usize.pow(dim as u32), dim), |(row, i)| {
        place(row / 40usize.pow(i as u32) % 40)
    });
    let data = Ensemble::from_array(lattice, 1.0)
        .unwrap()
        .with_names(names(dim))
        .unwrap();
    let squares = [("x^2", -0.5), ("y^2", -0.5), ("z^2", -0.5)];
    let potential = potential(unscaled(&data), 2, &squares[..dim]);
    let mut m = Array2::eye(dim) * rate;
    (m[[0, 1]], m[[1, 0]]) = (1.0, -1.0);
    let mut stream = Stream::new(8, ergode::random::Purpose::Analysis, 0);
    let starts = Array2::from_shape_fn((512, dim), |_| stream.normal());
    LangevinModel::new(names(dim), potential, m, starts, provenance(&data)).unwrap()
}

/// The step that is chosen for an oscillator keeps its variance to the tolerance; one several times as long, or
/// Euler's scheme with the same step, does not.
#[test]
fn the_step_of_an_oscillator_keeps_its_variance() {
    let (tolerance, lag) = (0.003, 1.0);
    let model = rotation(2, 0.2);
    let steps = StepConfig {
        tolerance,
        ..StepConfig::default()
    };
    let chosen = default_step(&model, None, Some(lag), &steps, &Control::new()).unwrap();
    assert_eq!((chosen.scheme, chosen.finding), (Scheme::Platen, None));
    let dt = lag / (lag / chosen.dt).ceil();
    assert!(dt > 0.01 && dt < 0.1, "{dt}");
    let variance = |dt: f64, scheme: Scheme| {
        let run = simulate(&model, &config(2000.0, dt, lag, 256, scheme));
        Estimate::new(&lagged_squares(&run.simulation.ensemble))
    };
    let kept = variance(dt, chosen.scheme);
    let z = kept.z(1.0 + tolerance).max(-kept.z(1.0 - tolerance));
    assert!(z < Z_BOUND, "z = {z} with the step {dt}");
    for (dt, scheme) in [(lag, Scheme::Platen), (dt, Scheme::Euler)] {
        let twin = variance(dt, scheme).z(1.0 + tolerance);
        assert!(
            twin > Z_BOUND,
            "z = {twin} with the step {dt} of {scheme:?}"
        );
    }
}

/// A rotation that is fast beside its damping is simulated with its variance, which Euler's scheme needs steps
/// of λ/ω² for; with the step that stiffness alone asks for it doubles the variance.
#[test]
fn a_slow_rotation_keeps_its_variance() {
    let model = rotation(3, 0.02);
    let control = Control::new();
    let of = |scheme| default_step(&model, scheme, None, &StepConfig::default(), &control).unwrap();
    let chosen = of(None);
    assert_eq!(chosen.scheme, Scheme::Platen);
    assert!(chosen.dt > 0.03 && chosen.dt < 0.2, "{chosen:?}");
    // Δ/2λ = 0.012.
    let euler = of(Some(Scheme::Euler)).dt;
    assert!(euler < 5e-4 && euler > 2e-4, "{euler}");
    let variance = |dt: f64, scheme: Scheme| {
        let run = simulate(&model, &config(300.0, dt, 1.0, 64, scheme));
        Estimate::new(&lagged_squares(&run.simulation.ensemble))
    };
    let z = variance(0.1 / (0.1 / chosen.dt).ceil(), chosen.scheme).z(1.0);
    assert!(z.abs() < Z_BOUND, "z = {z}");
    let twin = variance(0.02, Scheme::Euler).z(1.0);
    assert!(
        twin > Z_BOUND,
        "z = {twin} with a fiftieth of the time of the drift"
    );
}

/// ⟨x²⟩ of each trajectory after a relaxation time.
fn lagged_squares(ensemble: &Ensemble) -> Vec<f64> {
    let trajectories = ensemble.trajectories().iter();
    let square = |trajectory: &ergode::Trajectory| {
        let mut row = vec![0.0; ensemble.dim()];
        let late = 100..trajectory.len();
        let count = late.len() as f64;
        let squares = late.map(|k| {
            trajectory.row(k, &mut row);
            row[0] * row[0]
        });
        squares.sum::<f64>() / count
    };
    trajectories.map(square).collect()
}

/// The step of a validated model is that of its validation; another model's is advised. Whole numbers of
/// steps make an interval, rounding or not.
#[test]
fn the_step_of_a_simulation_is_that_of_the_validation() {
    let control = Control::new();
    let protocol = |model: &LangevinModel, dt: Option<f64>, every: Option<f64>| {
        simulation_protocol(model, 1.0, dt, every, 3, 5, &control).unwrap()
    };
    let model = relaxing_model();
    let steps = StepConfig {
        seed: 5,
        ..StepConfig::default()
    };
    let chosen = default_step(&model, None, None, &steps, &control).unwrap();
    let plain = protocol(&model, None, None);
    assert_eq!((plain.dt, plain.scheme), (chosen.dt, chosen.scheme));
    let model = model.with_validated_step(0.01, Scheme::Platen).unwrap();
    let folder = tempfile::tempdir().unwrap();
    model.save(folder.path()).unwrap();
    let read = LangevinModel::load(folder.path()).unwrap();
    for model in [&model, &read] {
        assert_eq!(model.validated_step(), Some((0.01, Scheme::Platen)));
        let plain = protocol(model, None, None);
        assert_eq!((plain.dt, plain.save_every), (0.01, 0.01));
        assert_eq!(plain.scheme, Scheme::Platen);
        // 0.07/0.01 is above 7 in floating point.
        assert_eq!(protocol(model, None, Some(0.07)).dt, 0.07 / 7.0);
        assert_eq!(protocol(model, None, Some(0.025)).dt, 0.025 / 3.0);
        assert_eq!(protocol(model, Some(0.5), None).dt, 0.5);
    }
    assert!(model.with_validated_step(0.0, Scheme::Euler).is_err());
}

#[test]
fn an_advice_that_cannot_be_had_says_so() {
    let config = StepConfig {
        tolerance: 1e-9,
        trajectories: 8,
        ..StepConfig::default()
    };
    let stopped = Control::new();
    stopped.stop();
    let error = advise_step(&relaxing_model(), &config, &stopped).unwrap_err();
    assert!(error.is_interrupted());
    // A tolerance that no step is known to meet: the best of the steps, and a finding.
    let loose = advise_step(&relaxing_model(), &StepConfig::default(), &Control::new()).unwrap();
    assert_eq!(loose.finding, None);
    let advice = advise_step(&relaxing_model(), &config, &Control::new()).unwrap();
    let finding = advice.finding.as_ref().expect("no step is that good");
    assert_eq!(finding.kind.as_str(), "step");
    assert!(
        finding.message.contains("weak error below 0.000000001"),
        "{}",
        finding.message
    );
    let bound = |trial: &&StepTrial| trial.weak_error + 2.0 * trial.standard_error;
    let best = advice
        .trials
        .iter()
        .min_by(|a, b| bound(a).total_cmp(&bound(b)));
    assert_eq!(best.map(|trial| trial.dt), Some(advice.recommended));
    let config = StepConfig {
        tolerance: 0.0,
        ..config
    };
    let error = advise_step(&relaxing_model(), &config, &Control::new()).unwrap_err();
    assert!(
        error.to_string().contains("tolerance must be positive"),
        "{error}"
    );
}

/// Learned from data: correlations against those of the true process, which the grid and its semigroup
/// know without noise.
#[test]
fn a_learned_model_has_the_correlations_of_the_affine_system() {
    let (system, control) = (Affine2d::default(), Control::new());
    let data = sample(&system, 1500.0, 0.1, 36, 5);
    let data = data.burn_in(BurnIn::Time(10.0)).unwrap();
    let score = fit_potential_score(&data, &ClosedFormConfig::default(), &control).unwrap();
    let recipe = RecipeConfig {
        degrees: Some((2, 2)),
        ..RecipeConfig::default()
    };
    let mobility = fit_mobility_recipe(&data, &recipe, &control)
        .unwrap()
        .fit
        .mobility;
    let starts = rows(&data, 0).to_owned();
    let names = data.names().to_vec();
    let model = LangevinModel::new(names, score, mobility, starts, provenance(&data)).unwrap();
    let reference = affine_reference();
    let semigroup = reference.grid().semigroup(&system, 12).unwrap();
    // Short against the data, so that the error of the fit does not count.
    let config = config(25.0, 0.01, 0.1, 128, Scheme::Platen);
    let worst = |ensemble: &Ensemble| {
        let mut worst = 0f64;
        for (i, j) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            let exact = semigroup.correlation(|x| x[i], |x| x[j], &[0.0, 0.5]);
            for (lag, exact) in [0, 5].into_iter().zip(exact) {
                worst = worst.max(lagged(ensemble, |x| x[i], |x| x[j], lag, 0).z(exact).abs());
            }
        }
        worst
    };
    let run = simulate(&model, &config);
    let z = worst(&run.simulation.ensemble);
    assert!(z < Z_BOUND, "z = {z}");
    assert!(run.out_of_support < 1e-3, "{}", run.out_of_support);
    let draw = |stream: &mut Stream, x: &mut [f64]| model.draw_start(stream, x);
    let initial = ergode::simulate::Initial::Drawn(&draw);
    let wrong = simulate_ensemble(&NoDivergence(&model), &initial, &config, &control).unwrap();
    let z = worst(&wrong.ensemble);
    assert!(z > 2.0 * Z_BOUND, "z = {z} without the divergence");
}

/// The rate of a linear drift is the largest row sum of its matrix.
#[test]
fn the_fastest_rate_of_a_linear_drift_is_exact() {
    let system = rotating(2);
    let data = sample(&system, 20.0, 0.1, 16, 3);
    let model = gaussian_model(&system, &data, system.mobility_matrix());
    let drift = |x: [f64; 2]| {
        let mut out = [0.0; 2];
        model.drift(&x, &mut out);
        out
    };
    let (zero, one, two) = (drift([0.0, 0.0]), drift([0.1, 0.0]), drift([0.0, 0.1]));
    let row = |i: usize| 10.0 * ((one[i] - zero[i]).abs() + (two[i] - zero[i]).abs());
    let expected = row(0).max(row(1));
    let rate = model.fastest_rate();
    assert!((rate / expected - 1.0).abs() < 1e-6, "{rate} {expected}");
}

/// A constant mobility of three coordinates, which has a form of its own in simulations: drift and noise
/// are those of the model, and not those of the transposed mobility.
#[test]
fn a_constant_mobility_of_many_coordinates_is_simulated_as_it_is() {
    let system = rotating(3);
    let data = sample(&system, 60.0, 0.1, 16, 3);
    let config = ClosedFormConfig {
        degrees: vec![2],
        ..ClosedFormConfig::default()
    };
    let score = fit_potential_score(&data, &config, &Control::new()).unwrap();
    let starts = Array2::from_shape_fn((64, 3), |(k, i)| (0.7 * (k + 5 * i) as f64).sin());
    let m = system.mobility_matrix().to_owned();
    let model = LangevinModel::new(
        data.names().to_vec(),
        score,
        m.clone(),
        starts,
        provenance(&data),
    )
    .unwrap();
    let turned = model.with_constant_mobility(m.t()).unwrap();
    let (x, xi) = ([0.3, -0.4, 0.2], [1.0, -0.5, 2.0]);
    let [mut drift, mut noise, mut expected, mut other] = [[0.0; 3]; 4];
    model.equation().evaluate(&x, &xi, &mut drift, &mut noise);
    model.drift(&x, &mut expected);
    turned.drift(&x, &mut other);
    let mut amplitude = [0.0; 9];
    assert_eq!(model.noise_amplitude(&x, &mut amplitude), 0);
    for i in 0..3 {
        let wanted: f64 = (0..3).map(|j| amplitude[3 * i + j] * xi[j]).sum();
        assert!((drift[i] - expected[i]).abs() < 1e-12 && (noise[i] - wanted).abs() < 1e-12);
    }
    assert!((0..3).any(|i| (drift[i] - other[i]).abs() > 0.01));
}
