//! Partial observation, cycles and trends: the map between record and state, and fits through it.

use std::f64::consts::TAU;

use ergode::finding::FindingKind;
use ergode::observe::{
    Auto, Choice, Cycle, CycleConfig, Delays, Observation, ObservationConfig, TrendKind,
    fit_observation,
};
use ergode::random::{Purpose, Stream};
use ergode::simulate::SimulateConfig;
use ergode::systems::{OrnsteinUhlenbeck, OrnsteinUhlenbeckParameters};
use ergode::validate::{Climatology, compare_climatology};
use ergode::{
    CheckConfig, Control, Ensemble, FitConfig, FitOptions, Fitted, LangevinModel, RunFolder, Times,
    Trajectory, Verdict, check_ensemble, fit_with, simulate_model,
};
use ndarray::{Array2, Axis, array, s};

use crate::support::{Z_BOUND, ou, rows, sample};

const AUTO: Auto = Auto::Auto;

fn fit(data: &Ensemble, config: &FitConfig) -> (Fitted, LangevinModel) {
    let folder = tempfile::tempdir().unwrap();
    let run = RunFolder::open(folder.path()).unwrap();
    let options = FitOptions {
        folder: Some(&run),
        ..FitOptions::default()
    };
    let fitted = fit_with(data, config, options).unwrap();
    let validation = &fitted.results().validation;
    println!(
        "over floor {:.3}, other {:.3}, verdict {:?}, {:?}",
        validation.rmse_over_floor,
        validation.other_over_floor,
        validation.verdict,
        validation.reasons
    );
    let read = LangevinModel::load(folder.path()).unwrap();
    (fitted, read)
}

/// One coordinate of a noisy oscillator, whose correlation e^{−0.4 t} (cos ωt + ...) changes its sign.
fn partial(time: f64, trajectories: usize, seed: u64) -> Ensemble {
    let system = OrnsteinUhlenbeck::new(OrnsteinUhlenbeckParameters {
        drift: vec![vec![0.2, -1.0], vec![1.0, 0.6]],
        diffusion: vec![vec![0.05, 0.0], vec![0.0, 0.5]],
        mean: vec![0.0, 0.0],
    });
    let whole = sample(&system.unwrap(), time, 0.05, trajectories, seed);
    let seen = (0..whole.len()).map(|k| {
        let x = rows(&whole, k).slice(s![.., ..1]).to_owned();
        Trajectory::new(x, Times::every(0.05))
    });
    Ensemble::new(seen.collect()).unwrap()
}

/// The correlation of a coordinate that is not Markov by itself is met to its noise floor with delays that
/// are chosen from the data; the plain model is told to be wrong, and is.
#[test]
fn slow_one_coordinate_of_two_is_learned_with_delays() {
    let data = partial(500.0, 8, 3);
    let mut config = FitConfig::default();
    config.delays.count = Choice::Auto(AUTO);
    // The weak error of this step is far below the noise floor, and the default takes much longer.
    config.simulate.dt = Some(0.01);
    let (fitted, read) = fit(&data, &config);
    let results = fitted.results().observation.as_ref().unwrap();
    println!("{results:#?}\n{:#?}", fitted.results().mobility);
    assert!(!results.delay_trials[0].passed && results.delay_trials[0].violation > 0.3);
    assert!(results.delay_trials.last().unwrap().passed);
    assert_eq!(read.observation().observed(), 1);
    assert!(read.dim() > 1);
    assert!(fitted.results().validation.rmse_over_floor < 1.3);
    assert_eq!(fitted.validation().names, ["x"]);

    let (plain, _) = fit(&data, &FitConfig::default());
    let found = plain.validation().reasons.iter();
    assert!(found.into_iter().any(|f| f.kind == FindingKind::NonMarkov));
    assert_eq!(plain.validation().verdict, Verdict::Fail, "the twin");
    let over_floor = |fitted: &Fitted| fitted.results().validation.rmse_over_floor;
    assert!(over_floor(&plain) > 2.0 * over_floor(&fitted), "the twin");
}

/// dx = −(x − μ(θ)) dt + √2 s(θ) dW with period 20, s between 0.5 and 1.
struct Seasonal;

impl Seasonal {
    const PERIOD: f64 = 20.0;
    const STEP: f64 = 0.01;

    fn mean(t: f64) -> f64 {
        1.5 * (TAU * t / Self::PERIOD).sin()
    }

    fn noise(t: f64) -> f64 {
        0.5 * (2f64.ln() * (0.5 + 0.5 * (TAU * t / Self::PERIOD).cos())).exp()
    }

    /// Steps of the exact mean and variance: m' = −(m − μ), v' = −2v + 2s².
    fn step(t: f64, m: f64, v: f64) -> (f64, f64) {
        let (h, middle) = (Self::STEP, t + 0.5 * Self::STEP);
        let (decay, s) = ((-h).exp(), Self::noise(middle));
        let mean = Self::mean(middle);
        (
            mean + (m - mean) * decay,
            s * s + (v - s * s) * decay * decay,
        )
    }

    /// Trajectories sampled every 0.1, each beginning at the phase where the one before ended.
    fn sample(trajectories: usize, periods: usize, seed: u64) -> Ensemble {
        let rows = periods * 200;
        let one = |k: usize| {
            let mut stream = Stream::new(seed, Purpose::Transition, k as u64);
            let mut x = 0.0;
            let mut values = Array2::zeros((rows, 1));
            // Two periods of transient.
            for n in 0..(rows + 400) * 10 {
                if n % 10 == 0 && n >= 4000 {
                    values[[n / 10 - 400, 0]] = x;
                }
                let t = n as f64 * Self::STEP;
                let (_, spread) = Self::step(t, 0.0, 0.0);
                let (mean, _) = Self::step(t, x, 0.0);
                x = mean + spread.sqrt() * stream.normal();
            }
            Trajectory::new(
                values,
                Times::Even {
                    start: 3.0 * Self::PERIOD,
                    step: 0.1,
                },
            )
        };
        Ensemble::new((0..trajectories).map(one).collect()).unwrap()
    }

    /// Exact mean and variance in twelve bins of the phase, over the phases of samples.
    fn exact() -> Vec<(f64, f64)> {
        let (mut m, mut v) = (0.0, 0.0);
        let mut sums = vec![[0.0; 3]; 12];
        let period = (Self::PERIOD / Self::STEP) as usize;
        for n in 0..6 * period {
            let t = n as f64 * Self::STEP;
            if n >= 5 * period && n % 10 == 0 {
                let bin = ((t / Self::PERIOD).rem_euclid(1.0) * 12.0) as usize;
                let sum = &mut sums[bin];
                *sum = [sum[0] + 1.0, sum[1] + m, sum[2] + v + m * m];
            }
            (m, v) = Self::step(t, m, v);
        }
        let of = |s: &[f64; 3]| (s[1] / s[0], s[2] / s[0] - (s[1] / s[0]).powi(2));
        sums.iter().map(of).collect()
    }
}

/// What a model observes by phase beside the data.
fn by_phase(model: &LangevinModel, data: &Ensemble) -> Climatology {
    let config = SimulateConfig {
        time: 400.0,
        dt: 0.02,
        save_every: 0.1,
        trajectories: 32,
        seed: 11,
        scheme: ergode::Scheme::default(),
        burn_in: 0.0,
    };
    let run = simulate_model(model, &config, &Control::new()).unwrap();
    let seen = model
        .observation()
        .observe(&run.simulation.ensemble, Some(47.0), 11);
    compare_climatology(Seasonal::PERIOD, data, &seen.unwrap()).unwrap()
}

/// Mean and variance by phase of the model agree with those of the data and with the exact ones; those of a
/// model without the cycle do not.
#[test]
fn slow_a_seasonal_process_has_its_variance_at_every_phase() {
    let data = Seasonal::sample(16, 30, 5);
    let exact = Seasonal::exact();
    let against_exact = |climatology: &Climatology| {
        let curve = &climatology.coordinates[0];
        let z = |b: usize| {
            let (m, v) = exact[b];
            // The fit is to the same data: its error is that of the data.
            let mean = (curve.model_mean[b] - m)
                / curve.data_mean_stderr[b].hypot(curve.model_mean_stderr[b]);
            let error = curve.data_variance_stderr[b].hypot(curve.model_variance_stderr[b]);
            mean.abs()
                .max(((curve.model_variance[b] - v) / error).abs())
        };
        (0..12).map(z).fold(0.0, f64::max)
    };
    let mut config = FitConfig::default();
    config.cycle.period = Some(Choice::Auto(AUTO));
    let (fitted, read) = fit(&data, &config);
    let cycle = read.observation().cycle.as_ref().unwrap();
    println!("{cycle:?}");
    // A thousandth of a period per record, so that phases agree at both of its ends.
    assert!((cycle.period / Seasonal::PERIOD - 1.0).abs() < 1e-3);
    config.cycle.period = Some(Choice::Given(Seasonal::PERIOD));
    let (given, read) = fit(&data, &config);
    let climatology = by_phase(&read, &data);
    let worst = (
        climatology.mean_worst_z,
        climatology.variance_worst_z,
        against_exact(&climatology),
    );
    println!("{worst:?} {:?}", given.results().validation.climatology);
    assert!(worst.0 < Z_BOUND && worst.1 < Z_BOUND && worst.2 < Z_BOUND);
    for fitted in [&fitted, &given] {
        let validation = &fitted.results().validation;
        assert!(validation.rmse_over_floor < 1.3);
        let inside = validation.climatology.as_ref().unwrap();
        assert!(inside.mean_worst_z < Z_BOUND && inside.variance_worst_z < Z_BOUND);
        assert!(
            fitted
                .page()
                .html()
                .contains("Mean and standard deviation by phase")
        );
    }
    let (_, plain) = fit(&data, &FitConfig::default());
    let climatology = by_phase(&plain, &data);
    println!(
        "twin {} {}",
        climatology.variance_worst_z,
        against_exact(&climatology)
    );
    assert!(climatology.variance_worst_z > Z_BOUND && against_exact(&climatology) > Z_BOUND);
}

/// A record with a trend, fitted with the option, gives what the record without it gives, within errors;
/// without the option it does not.
#[test]
fn slow_a_trend_is_taken_out_and_put_back() {
    let system = ou();
    let plain = sample(&system, 400.0, 0.05, 8, 21);
    let sloped = (0..plain.len()).map(|k| {
        let mut values = rows(&plain, k).to_owned();
        for (i, mut row) in values.rows_mut().into_iter().enumerate() {
            row[0] += 0.01 * i as f64 * 0.05;
        }
        Trajectory::new(values, Times::every(0.05))
    });
    let sloped = Ensemble::new(sloped.collect()).unwrap();
    let names = plain.names().to_vec();
    let sloped = sloped.with_names(names).unwrap();
    let mut config = FitConfig::default();
    config.mobility.degrees = Some((0, 0));
    let (without, _) = fit(&plain, &config);
    let (ignored, _) = fit(&sloped, &config);
    config.trend = TrendKind::Linear;
    let (with, read) = fit(&sloped, &config);
    let matrix = |fitted: &Fitted| {
        let mut m = [0.0; 4];
        fitted.model.mobility().mobility(&[0.0, 0.0], &mut m);
        m
    };
    // −∂s_1/∂x_1, with the relative error √(2/N_eff) of a variance.
    let stiffness = |fitted: &Fitted| {
        let (mut up, mut down) = ([0.0; 2], [0.0; 2]);
        // About the mean, which a trend moves.
        let mean = fitted.model.starts().mean_axis(Axis(0)).unwrap();
        let at = |away: f64| [mean[0] + away, mean[1]];
        fitted.model.score().score(&at(1.0), &mut up);
        fitted.model.score().score(&at(-1.0), &mut down);
        0.5 * (down[0] - up[0])
    };
    let report = check_ensemble(&plain, &CheckConfig::default(), &Control::new()).unwrap();
    let error = (2.0 / report.coordinates[0].effective_samples).sqrt();
    // Coefficients are those of standardised coordinates: only relative errors are used.
    let worst = |fitted: &Fitted| {
        let (a, b) = (matrix(fitted), matrix(&without));
        let c = without.results().mobility.coefficients["D[x1,x1] 1"];
        let diffusion = (a[0] / b[0] - 1.0) * c.value / c.stderr;
        let score = (stiffness(fitted) / stiffness(&without) - 1.0) / error;
        diffusion.abs().max(score.abs())
    };
    println!(
        "{:?} {:?} {:?}",
        matrix(&without),
        matrix(&with),
        matrix(&ignored)
    );
    println!("z {} {}", worst(&with), worst(&ignored));
    assert!(worst(&with) < 1.0);
    assert!(worst(&ignored) > Z_BOUND, "the twin");
    assert!(
        ignored
            .validation()
            .reasons
            .iter()
            .any(|f| f.kind == FindingKind::Trend)
    );
    assert!(
        !with
            .validation()
            .reasons
            .iter()
            .any(|f| f.kind == FindingKind::Trend)
    );

    // In simulations within the record the trend is there, beyond it is not.
    let trend = read.observation().trend.as_ref().unwrap();
    let change = trend.at(400.0, 0) - trend.at(0.0, 0);
    assert!((change - 4.0).abs() < 0.5, "{change}");
    let states = Ensemble::from_array(Array2::zeros((5, 2)), 100.0).unwrap();
    let seen = |start: f64| {
        rows(
            &read.observation().observe(&states, Some(start), 0).unwrap(),
            0,
        )
        .to_owned()
    };
    let (inside, beyond) = (seen(0.0), seen(1.0));
    assert!((inside[[4, 0]] - inside[[0, 0]] - change).abs() < 1e-9);
    assert_eq!(beyond[[4, 0]], beyond[[0, 0]]);
}

/// From state to record and back, and no delay across a gap.
#[test]
fn the_map_and_its_inverse() {
    let cycle = Cycle {
        period: 3.0,
        mean: vec![vec![1.0, 0.5, -0.2], vec![0.0]],
        log_scale: vec![vec![0.2, 0.3, 0.1], vec![-1.0]],
    };
    let names = ["a".to_owned(), "b".to_owned()];
    let observation = Observation {
        span: [2.0, 12.0],
        cycle: Some(cycle),
        ..Observation::plain(&names)
    };
    let mut stream = Stream::new(1, Purpose::Analysis, 0);
    let x = Array2::from_shape_simple_fn((11, 2), || stream.normal());
    let states = Ensemble::from_array(x.clone(), 1.0).unwrap();
    let seen = observation.observe(&states, None, 0).unwrap();
    assert_eq!(seen.trajectories()[0].time(0), 2.0);
    let back = observation.stationary(&seen).unwrap();
    let error = (&rows(&back, 0) - &x).mapv(f64::abs);
    assert!(error.iter().all(|e| *e < 1e-12));
    // The twin: the same values at another phase.
    let shifted = observation.observe(&states, Some(3.0), 0).unwrap();
    assert!((rows(&shifted, 0)[[0, 0]] - rows(&seen, 0)[[0, 0]]).abs() > 0.01);
    let shown = serde_json::to_string(&observation).unwrap();
    assert_eq!(
        serde_json::from_str::<Observation>(&shown).unwrap(),
        observation
    );

    let values = array![[0.0], [1.0], [2.0], [f64::NAN], [4.0], [5.0], [6.0], [7.0]];
    let record = Ensemble::from_array(values, 0.5).unwrap();
    let delayed = Observation {
        delays: Some(Delays {
            count: 1,
            spacing: 1.0,
        }),
        ..Observation::plain(&["a".to_owned()])
    };
    let states = delayed
        .states(delayed.stationary(&record).unwrap())
        .unwrap();
    assert_eq!(states.names(), ["x", "x_lag1"]);
    let found: Vec<usize> = states
        .segments()
        .iter()
        .flat_map(|s| s.rows.clone())
        .collect();
    assert_eq!(found, [2, 6, 7]);
    assert_eq!(rows(&states, 0).row(6).to_vec(), [6.0, 4.0]);
    let uneven = Trajectory::new(
        array![[0.0], [1.0], [0.5], [2.0]],
        Times::Uneven(vec![0.0, 1.0, 2.5, 3.0].into()),
    );
    let uneven = Ensemble::new(vec![uneven]).unwrap();
    let refused = delayed.states(delayed.stationary(&uneven).unwrap());
    assert!(refused.unwrap_err().to_string().contains("uneven"));
}

/// Measurement noise has its covariance, and is the same for the same seed.
#[test]
fn noise_is_added_to_what_is_observed() {
    let noise = array![[0.5, 0.2], [0.2, 0.3]];
    let observation = Observation {
        noise: Some(noise.clone()),
        ..Observation::plain(&["a".to_owned(), "b".to_owned()])
    };
    let n = 40_000;
    let states = Ensemble::from_array(Array2::zeros((n, 2)), 1.0).unwrap();
    let seen = observation.observe(&states, None, 4).unwrap();
    let x = rows(&seen, 0);
    let covariance = x.t().dot(&x) / n as f64;
    for ((i, j), c) in noise.indexed_iter() {
        // Var(ξ_i ξ_j) = C_ii C_jj + C_ij².
        let error = ((noise[[i, i]] * noise[[j, j]] + c * c) / n as f64).sqrt();
        assert!(((covariance[[i, j]] - c) / error).abs() < Z_BOUND);
        assert!(((covariance[[i, j]] - 1.2 * c) / error).abs() > Z_BOUND);
    }
    let again = observation.observe(&states, None, 4).unwrap();
    assert_eq!(rows(&again, 0), x);
    let other = observation.observe(&states, None, 5).unwrap();
    assert_ne!(rows(&other, 0), x);
}

/// An anomaly of unit variance that relaxes faster in one season than in another is told; one that relaxes
/// alike in all seasons is not.
#[test]
fn a_relaxation_that_depends_on_the_season_is_told() {
    const STEP: f64 = 0.1;
    let found = |amplitude: f64| {
        let mut stream = Stream::new(5, Purpose::Transition, 0);
        let mut x = stream.normal();
        let mut values = Array2::zeros((40_000, 1));
        for (n, value) in values.iter_mut().enumerate() {
            *value = x;
            let phase = TAU * (n as f64 + 0.5) * STEP / Seasonal::PERIOD;
            let decay = (-STEP * (1.0 + amplitude * phase.cos())).exp();
            x = decay * x + (1.0 - decay * decay).sqrt() * stream.normal();
        }
        let data = Ensemble::from_array(values, STEP).unwrap();
        let config = ObservationConfig {
            cycle: CycleConfig {
                period: Some(Choice::Given(Seasonal::PERIOD)),
                ..CycleConfig::default()
            },
            ..ObservationConfig::default()
        };
        let check = CheckConfig::default();
        let fit = fit_observation(&data, &config, &check, &Control::new()).unwrap();
        println!("{:#?}", fit.check.findings);
        fit.check
            .findings
            .iter()
            .any(|f| f.kind == FindingKind::CycleDynamics)
    };
    assert!(found(0.7));
    assert!(!found(0.0));
}
