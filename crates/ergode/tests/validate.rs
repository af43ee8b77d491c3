//! Rollouts against held-out data: perfect models pass, planted defects do not.

use ergode::finding::FindingKind;
use ergode::simd::Real;
use ergode::simulate::{Dimensions, Dynamics, Initial, Sde, SimulateConfig};
use ergode::systems::{DoubleWell, OrnsteinUhlenbeck, OrnsteinUhlenbeckParameters, System};
use ergode::validate::{Rollout, RolloutRole, ValidateConfig, Validation, validate_rollouts};
use ergode::{Control, Ensemble, Finding, Scheme, Severity, Verdict};
use ndarray::Array2;

use crate::support::{ou, sample};

fn learned(ensemble: Ensemble) -> Vec<Rollout> {
    vec![Rollout {
        name: "model".into(),
        role: RolloutRole::Learned,
        ensemble,
    }]
}

fn validate(held_out: &Ensemble, rollout: Ensemble) -> Validation {
    let config = ValidateConfig::default();
    validate_rollouts(held_out, &learned(rollout), &config, &Control::new()).unwrap()
}

/// Trajectories of a defective equation, started like those of the true one.
fn defective(
    sde: &dyn Sde,
    truth: &dyn System,
    time: f64,
    interval: f64,
    count: usize,
) -> Ensemble {
    let config = SimulateConfig {
        time,
        dt: 2e-3,
        save_every: interval,
        trajectories: count,
        seed: 77,
        scheme: Scheme::Euler,
        burn_in: 10.0,
    };
    let draw = |stream: &mut ergode::random::Stream, x: &mut [f64]| truth.draw_initial(stream, x);
    ergode::simulate::simulate_ensemble(sde, &Initial::Drawn(&draw), &config, &Control::new())
        .unwrap()
        .ensemble
        .with_names(truth.coordinate_names())
        .unwrap()
}

/// A linear equation dx = −A x dt + √2 Σ dW, whatever A and Σ.
struct Linear {
    drift: Array2<f64>,
    noise: Array2<f64>,
}

impl Dimensions for Linear {
    fn dim(&self) -> usize {
        2
    }
}

impl Dynamics for Linear {
    fn drift<T: Real>(&self, x: &[T], out: &mut [T]) {
        for (i, out) in out.iter_mut().enumerate() {
            *out = x[0] * -self.drift[[i, 0]] - x[1] * self.drift[[i, 1]];
        }
    }
    fn noise<T: Real>(&self, _: &[T], xi: &[T], out: &mut [T]) {
        for (i, out) in out.iter_mut().enumerate() {
            *out = xi[0] * self.noise[[i, 0]] + xi[1] * self.noise[[i, 1]];
        }
    }
}

/// The drift M s with s = −(precision) x, and any noise.
fn linear(mobility: &Array2<f64>, precision: &Array2<f64>, noise: &Array2<f64>) -> Linear {
    Linear {
        drift: mobility.dot(precision),
        noise: noise.clone(),
    }
}

/// The lower factor of 2D for two coordinates.
fn noise_factor(diffusion: &Array2<f64>) -> Array2<f64> {
    let a = (2.0 * diffusion[[0, 0]]).sqrt();
    let b = 2.0 * diffusion[[1, 0]] / a;
    let c = (2.0 * diffusion[[1, 1]] - b * b).sqrt();
    ndarray::array![[a, 0.0], [b, c]]
}

/// The double well without ∇·M in its drift.
struct NoDivergence(DoubleWell);

impl Dimensions for NoDivergence {
    fn dim(&self) -> usize {
        1
    }
}

impl Dynamics for NoDivergence {
    fn drift<T: Real>(&self, x: &[T], out: &mut [T]) {
        self.0.drift(x, out);
        let inverse = x[0].constant(1.0) / (x[0] * x[0] + 1.0);
        let slope = x[0] * inverse * inverse * (-2.0 * self.0.excess * self.0.diffusion);
        out[0] = out[0] - slope;
    }
    fn noise<T: Real>(&self, x: &[T], xi: &[T], out: &mut [T]) {
        self.0.noise(x, xi, out);
    }
}

/// Data sets out of `sets` whose perfect model did not pass, with the reasons.
fn false_alarms(system: &dyn System, time: f64, sets: u64) -> Vec<String> {
    let alarm = |k: u64| {
        let data = sample(system, time, 0.05, 16, 90_000 + 2 * k);
        let validation = validate(&data, sample(system, time, 0.05, 16, 90_001 + 2 * k));
        let reason = || validation.reasons[0].message.clone();
        (validation.verdict != Verdict::Pass).then(reason)
    };
    (0..sets).filter_map(alarm).collect()
}

#[test]
fn slow_perfect_models_pass() {
    let linear = ou();
    let alarms = false_alarms(&linear, 100.0, 40);
    assert!(alarms.len() <= 2, "{alarms:#?}");
    let bistable = false_alarms(&DoubleWell::default(), 200.0, 20);
    assert!(bistable.len() <= 1, "{bistable:#?}");
}

#[test]
fn defects_of_a_linear_model_are_seen() {
    let system = ou();
    let (time, interval, count) = (400.0, 0.05, 16);
    let data = sample(&system, time, interval, count, 3);
    let mobility = system.mobility_matrix().to_owned();
    let covariance = system.covariance();
    let determinant = covariance[[0, 0]] * covariance[[1, 1]] - covariance[[0, 1]].powi(2);
    let precision = ndarray::array![
        [covariance[[1, 1]], -covariance[[0, 1]]],
        [-covariance[[0, 1]], covariance[[0, 0]]]
    ] / determinant;
    let noise = noise_factor(&((&mobility + &mobility.t()) * 0.5));
    let half = 0.5f64.sqrt();
    let models = [
        ("truth", linear(&mobility, &precision, &noise)),
        ("score", linear(&mobility, &(&precision * 1.15), &noise)),
        (
            "transposed",
            linear(&mobility.t().to_owned(), &precision, &noise),
        ),
        (
            "half",
            linear(&(&mobility * 0.5), &precision, &(&noise * half)),
        ),
    ];
    for (name, model) in &models {
        let rollout = defective(model, &system, time, interval, count);
        let validation = validate(&data, rollout);
        assert_eq!(
            validation.verdict == Verdict::Pass,
            *name == "truth",
            "{name}"
        );
    }
}

#[test]
fn a_missing_divergence_is_seen() {
    let system = DoubleWell::default();
    let (time, interval, count) = (400.0, 0.05, 16);
    let data = sample(&system, time, interval, count, 5);
    let truth = validate(&data, defective(&system, &system, time, interval, count));
    assert_eq!(truth.verdict, Verdict::Pass, "{:#?}", truth.reasons);
    let rollout = defective(&NoDivergence(system), &system, time, interval, count);
    let validation = validate(&data, rollout);
    assert_ne!(validation.verdict, Verdict::Pass);
    assert!(
        validation
            .reasons
            .iter()
            .any(|r| r.kind == FindingKind::Density)
    );
}

#[test]
fn slow_the_floor_is_what_independent_records_give() {
    // The mean of the distance between independent pairs against the mean of the estimated floors.
    let system = ou();
    let (mut ratios, mut densities) = (Vec::new(), Vec::new());
    for k in 0..24 {
        let data = sample(&system, 100.0, 0.05, 16, 5000 + 2 * k);
        let rollout = sample(&system, 100.0, 0.05, 16, 5001 + 2 * k);
        let validation = validate(&data, rollout);
        ratios.push(validation.rmse_over_floor);
        densities.push(validation.density_l1 / validation.density_l1_floor);
    }
    for values in [ratios, densities] {
        let estimate = crate::support::Estimate::new(&values);
        assert!(
            estimate.z(1.0).abs() < crate::support::Z_BOUND,
            "{estimate:?}"
        );
        // The floor of one record alone, without the second one's noise, would be √2 lower.
        assert!(estimate.z(2f64.sqrt()).abs() > crate::support::Z_BOUND);
    }
}

#[test]
fn reasons_from_elsewhere_change_the_verdict() {
    let system = ou();
    let data = sample(&system, 100.0, 0.05, 16, 1);
    let mut rollouts = learned(sample(&system, 100.0, 0.05, 16, 2));
    rollouts.push(Rollout {
        name: "constant".into(),
        role: RolloutRole::Constant,
        ensemble: sample(&system, 100.0, 0.05, 16, 3),
    });
    let config = ValidateConfig::default();
    let mut validation = validate_rollouts(&data, &rollouts, &config, &Control::new()).unwrap();
    assert_eq!(
        validation.verdict,
        Verdict::Pass,
        "{:#?}",
        validation.reasons
    );
    assert!(validation.constant_rmse.is_some());
    assert_eq!(validation.correlations.curves.len(), 18);
    let finding = |severity, message: &str| Finding {
        kind: FindingKind::Data,
        severity,
        message: message.into(),
        advice: String::new(),
    };
    let outside = "2 % of the time was spent out of the support";
    validation.add_findings(&[finding(Severity::Info, "all is well")]);
    assert_eq!(validation.verdict, Verdict::Pass);
    validation.add_findings(&[finding(Severity::Warn, outside)]);
    assert_eq!(validation.verdict, Verdict::Warn);
    validation.add_findings(&[finding(Severity::Fail, "the record is not Markov")]);
    assert_eq!(validation.verdict, Verdict::Fail);
    assert_eq!(validation.reasons[0].severity, Severity::Fail);
    let text = serde_json::to_string(&validation).unwrap();
    assert_eq!(
        serde_json::from_str::<Validation>(&text).unwrap(),
        validation
    );
}

#[test]
fn sampling_intervals_must_agree() {
    let system = ou();
    let data = sample(&system, 100.0, 0.1, 16, 1);
    let finer = validate(&data, sample(&system, 100.0, 0.05, 16, 2));
    assert_eq!(finer.sampling_interval, 0.1);
    assert_eq!(finer.verdict, Verdict::Pass, "{:#?}", finer.reasons);
    let rollouts = learned(sample(&system, 100.0, 0.07, 16, 2));
    let config = ValidateConfig::default();
    let error = validate_rollouts(&data, &rollouts, &config, &Control::new()).unwrap_err();
    assert!(
        error.is_bad_input() && error.to_string().contains("0.07"),
        "{error}"
    );
}

#[test]
fn spectra_of_a_linear_process_are_exact() {
    let rate = 1.3;
    let system = OrnsteinUhlenbeck::new(OrnsteinUhlenbeckParameters {
        drift: vec![vec![rate]],
        diffusion: vec![vec![0.7]],
        mean: vec![2.0],
    })
    .unwrap();
    let interval = 0.05;
    let config = ValidateConfig {
        frequencies: 4096,
        ..ValidateConfig::default()
    };
    let data = sample(&system, 800.0, interval, 24, 31);
    let rollouts = learned(sample(&system, 800.0, interval, 24, 32));
    let validation = validate_rollouts(&data, &rollouts, &config, &Control::new()).unwrap();
    let curve = &validation.spectra.curves[0];
    // The sampled process is autoregressive with a = e^{−AΔ}; twice the power of a two-sided spectrum.
    let a = (-rate * interval).exp();
    let exact = |f: f64| {
        let phase = std::f64::consts::TAU * f * interval;
        2.0 * interval * (0.7 / rate) * (1.0 - a * a) / (1.0 - 2.0 * a * phase.cos() + a * a)
    };
    // The window mixes the lowest frequencies with zero.
    for k in 2..curve.data.len() {
        let exact = exact(curve.axes[0].at[k]);
        let z = |exact: f64| (curve.data[k] - exact.ln()) / curve.error[k];
        assert!(z(exact).abs() < 5.5, "{k}: {}", z(exact));
        // A spectrum of both signs of the frequency has half of it.
        assert!(z(0.5 * exact).abs() > 5.5, "{k}: {}", z(0.5 * exact));
    }
}

#[test]
fn passage_times_are_counted_exactly() {
    // 8 samples from the low to the high peak, 12 back, and a last low peak that ends the last one.
    let pattern = |k: usize| match k % 20 {
        0 => -2.0,
        1..8 => -1.0,
        8 => 2.0,
        _ => 1.0,
    };
    let values = ndarray::Array3::from_shape_fn((16, 20 * 30 + 1, 1), |(_, k, _)| pattern(k));
    let data = Ensemble::from_array3(values.into(), 0.5).unwrap();
    let config = ValidateConfig {
        horizon: Some(20.0),
        quantiles: [0.06, 0.94],
        ..ValidateConfig::default()
    };
    let rollouts = learned(data.clone());
    let validation = validate_rollouts(&data, &rollouts, &config, &Control::new()).unwrap();
    let times: Vec<f64> = validation
        .passages
        .curves
        .iter()
        .map(|c| c.data[0].exp())
        .collect();
    assert_eq!(times.len(), 2);
    assert!(
        (times[0] - 4.0).abs() < 1e-12 && (times[1] - 6.0).abs() < 1e-12,
        "{times:?}"
    );
    assert_eq!(
        validation.verdict,
        Verdict::Pass,
        "{:#?}",
        validation.reasons
    );
}

#[test]
fn uneven_records_and_many_coordinates() {
    let dim = 12;
    let unit = |scale: f64| -> Vec<Vec<f64>> {
        let entry = |i: usize, j: usize| if i == j { scale } else { 0.0 };
        (0..dim)
            .map(|i| (0..dim).map(|j| entry(i, j)).collect())
            .collect()
    };
    let system = OrnsteinUhlenbeck::new(OrnsteinUhlenbeckParameters {
        drift: unit(1.0),
        diffusion: unit(0.5),
        mean: vec![0.0; dim],
    })
    .unwrap();
    let data = sample(&system, 100.0, 0.1, 16, 41);
    let validation = validate(&data, sample(&system, 100.0, 0.1, 16, 42));
    assert_eq!(
        validation.verdict,
        Verdict::Pass,
        "{:#?}",
        validation.reasons
    );
    assert_eq!(validation.correlations.curves.len(), 200);
    assert_eq!(validation.joints.curves.len(), 6);

    // A third of the rows left out at random, of a process with two coordinates.
    let system = ou();
    let uneven = |seed: u64| {
        let even = sample(&system, 100.0, 0.05, 16, seed);
        let mut stream = ergode::random::Stream::new(seed, ergode::random::Purpose::Analysis, 0);
        let trajectories = (0..even.len()).map(|k| {
            let all = crate::support::rows(&even, k);
            let kept: Vec<usize> = (0..all.nrows())
                .filter(|_| stream.uniform() < 0.67)
                .collect();
            let times = kept.iter().map(|i| *i as f64 * 0.05).collect();
            let values = all.select(ndarray::Axis(0), &kept);
            ergode::Trajectory::new(values, ergode::Times::Uneven(times))
        });
        Ensemble::new(trajectories.collect()).unwrap()
    };
    let validation = validate(&uneven(51), uneven(52));
    assert_eq!(
        validation.verdict,
        Verdict::Pass,
        "{:#?}",
        validation.reasons
    );
    assert!(validation.spectra.curves.is_empty() && !validation.notes.is_empty());
}

/// One trajectory in sixteen explodes: its scatter must not make its own distance look like chance.
#[test]
fn an_exploded_trajectory_excuses_nothing() {
    let system = ou();
    let data = sample(&system, 100.0, 0.05, 16, 11);
    let calm = sample(&system, 100.0, 0.05, 16, 12);
    let (rows, dim) = (calm.trajectories()[0].len(), 2);
    let mut row = vec![0.0; dim];
    let mut values = ndarray::Array3::zeros((16, rows, dim));
    for ((k, i, j), value) in values.indexed_iter_mut() {
        calm.trajectories()[k].row(i, &mut row);
        let growth = (12.0 * i as f64 / rows as f64).exp();
        *value = row[j] * if k == 0 { growth } else { 1.0 };
    }
    let wild = Ensemble::from_array3(values.into(), 0.05).unwrap();
    let wild = wild.with_names(calm.names().to_vec()).unwrap();
    assert_eq!(validate(&data, calm).verdict, Verdict::Pass);
    let validation = validate(&data, wild);
    assert_eq!(validation.verdict, Verdict::Fail);
    let failed = |kind| {
        let mut reasons = validation.reasons.iter();
        reasons.any(|r| r.kind == kind && r.severity == Severity::Fail)
    };
    for kind in [
        FindingKind::RolloutRange,
        FindingKind::Variance,
        FindingKind::Correlations,
    ] {
        assert!(failed(kind), "{kind}: {:#?}", validation.reasons);
    }
    assert!(validation.correlations.overall[0].probability < 1e-3);
}

/// A quarter of a record of some sixty decorrelation times: too short to refute an exact model by chance, long
/// enough to refute one whose error the eye sees.
#[test]
fn short_records_refute_only_what_the_eye_sees() {
    let system = OrnsteinUhlenbeck::new(OrnsteinUhlenbeckParameters {
        drift: vec![vec![0.04]],
        diffusion: vec![vec![0.04]],
        mean: vec![0.0],
    })
    .unwrap();
    let (mut passed, mut wrong) = (0, 0);
    for seed in 0..30 {
        let data = sample(&system, 1250.0, 1.0, 1, 300 + 2 * seed);
        let validation = validate(&data, sample(&system, 5000.0, 1.0, 1, 301 + 2 * seed));
        assert_ne!(
            validation.verdict,
            Verdict::Fail,
            "{:#?}",
            validation.reasons
        );
        passed += usize::from(validation.verdict == Verdict::Pass);
        // The twin: the variance twenty times too large.
        let mut values = ndarray::Array3::zeros((1, 5000, 1));
        let rollout = sample(&system, 5000.0, 1.0, 1, 301 + 2 * seed);
        let mut row = [0.0];
        for ((_, i, _), value) in values.indexed_iter_mut() {
            rollout.trajectories()[0].row(i, &mut row);
            *value = 4.5 * row[0];
        }
        let large = Ensemble::from_array3(values.into(), 1.0).unwrap();
        let large = large.with_names(data.names().to_vec()).unwrap();
        wrong += usize::from(validate(&data, large).verdict == Verdict::Fail);
    }
    assert!(passed >= 26, "{passed}");
    assert_eq!(wrong, 30);
}

/// Passage times are those of the record, whatever the blocks of their errors and the trajectories of the
/// rollout.
#[test]
fn passage_times_do_not_depend_on_blocks() {
    let system = ou();
    let data = sample(&system, 2000.0, 0.05, 1, 61);
    let rollouts = learned(sample(&system, 2000.0, 0.05, 4, 62));
    let times = |parts: usize| -> Vec<f64> {
        let config = ValidateConfig {
            blocking: ergode::lagged::Blocking::PerTrajectory(parts),
            ..ValidateConfig::default()
        };
        let validation = validate_rollouts(&data, &rollouts, &config, &Control::new()).unwrap();
        let curves = &validation.passages.curves;
        curves.iter().map(|curve| curve.data[0]).collect()
    };
    let few = times(8);
    assert_eq!(few.len(), 4);
    for (few, many) in few.iter().zip(times(400)) {
        assert!((few - many).abs() < 1e-9, "{few} {many}");
    }
    // Windows of one length: many short trajectories of data against one long rollout.
    let short = sample(&system, 15.0, 0.05, 400, 63);
    let validation = validate(&short, sample(&system, 6000.0, 0.05, 1, 64));
    let passages = &validation.passages;
    assert!(
        passages.overall[0].probability > 1e-4,
        "{:?}",
        passages.overall
    );
}

#[test]
fn a_horizon_between_two_lags_is_rounded() {
    let system = ou();
    let data = sample(&system, 100.0, 0.1, 16, 71);
    let rollouts = learned(sample(&system, 100.0, 0.1, 16, 72));
    let config = ValidateConfig {
        horizon: Some(0.25),
        ..ValidateConfig::default()
    };
    let validation = validate_rollouts(&data, &rollouts, &config, &Control::new()).unwrap();
    assert!((validation.horizon - 0.3).abs() < 1e-12 || (validation.horizon - 0.2).abs() < 1e-12);
    assert_eq!(
        validation.verdict,
        Verdict::Pass,
        "{:#?}",
        validation.reasons
    );
}
