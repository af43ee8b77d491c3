//! Networks that learn scores by denoising, against exact scores.

use ergode::{
    Affine2d, Affine2dReference, BurnIn, ConditionalConfig, ConditionalScore, Control,
    CoxIngersollRoss, DenoisingConfig, Ensemble, ExactFields, ExactScore, LagGrid, Layout,
    NeuralScore, NoiseConfig, OrnsteinUhlenbeck, OrnsteinUhlenbeckParameters, Score, SoftSpin,
    System, TrainConfig, fit_conditional_score, fit_denoising_score,
};

use crate::support::{relative_error, sample};

fn learn(data: &Ensemble, config: &DenoisingConfig) -> NeuralScore {
    fit_denoising_score(data, config, None, &Control::new()).unwrap()
}

fn ou() -> OrnsteinUhlenbeck {
    OrnsteinUhlenbeck::new(OrnsteinUhlenbeckParameters::default()).unwrap()
}

#[test]
fn affine2d_is_learned() {
    let system = Affine2d::default();
    let data = sample(&system, 3000.0, 0.05, 36, 1)
        .burn_in(BurnIn::Fraction(0.1))
        .unwrap();
    let reference = Affine2dReference::solve(system, 200).unwrap();
    let clock = std::time::Instant::now();
    let steps = std::env::var("STEPS").map_or(3000, |s| s.parse().unwrap());
    let sigma = std::env::var("SIGMA").map_or(0.05, |s| s.parse().unwrap());
    let config = DenoisingConfig {
        train: tune(TrainConfig::with_steps(steps)),
        noise: NoiseConfig {
            sigma,
            batch: std::env::var("BATCH").map_or(4096, |s| s.parse().unwrap()),
            ..NoiseConfig::default()
        },
        extrapolate: std::env::var("EXTRA").is_ok(),
        hidden: hidden(),
        ..DenoisingConfig::default()
    };
    let score = learn(&data, &config);
    let error = relative_error(&data, &score, &reference);
    println!(
        "affine2d: {error:.4} in {:.1} s, sigma bias {:?}, best step {} of {steps}, held out {:.5}",
        clock.elapsed().as_secs_f64(),
        score.report().sigma_bias,
        score.report().training.best_step,
        score.report().training.held_out,
    );
    assert!(error < 0.05, "{error}");
}

#[test]
fn soft_spins_are_learned_by_one_network_for_all_sites() {
    let system = SoftSpin::default();
    let data = sample(&system, 400.0, 0.365, 64, 2)
        .burn_in(BurnIn::Fraction(0.1))
        .unwrap();
    let clock = std::time::Instant::now();
    let steps = std::env::var("STEPS").map_or(2000, |s| s.parse().unwrap());
    let sigma = std::env::var("SIGMA").map_or(0.02, |s| s.parse().unwrap());
    let config = DenoisingConfig {
        layout: Layout::Lattice {
            sites: system.sites,
            reach: 1,
        },
        noise: NoiseConfig {
            sigma,
            batch: std::env::var("BATCH").map_or(512, |s| s.parse().unwrap()),
            held_out_states: 8192,
            ..NoiseConfig::default()
        },
        symmetries: vec![vec![-1.0; 36]],
        extrapolate: std::env::var("EXTRA").is_ok(),
        hidden: hidden(),
        train: tune(TrainConfig::with_steps(steps)),
        ..DenoisingConfig::default()
    };
    let score = learn(&data, &config);
    let error = relative_error(&data, &score, &system);
    println!(
        "soft spin: {error:.4} in {:.1} s, sigma bias {:?}, best step {} of {steps}, held out {:.5}",
        clock.elapsed().as_secs_f64(),
        score.report().sigma_bias,
        score.report().training.best_step,
        score.report().training.held_out,
    );
    assert!(error < 0.05, "{error}");
}

/// Relative L2 error over pairs, and of the scores multiplied by 1.2: the twin.
fn conditional_error(
    data: &Ensemble,
    score: &dyn ConditionalScore,
    exact: &dyn Fn(f64, &[f64], &[f64]) -> Vec<f64>,
    steps: &[usize],
    interval: f64,
) -> Vec<f64> {
    let dim = data.dim();
    let (mut x0, mut xt, mut s) = (vec![0.0; dim], vec![0.0; dim], vec![0.0; dim]);
    let (mut d_all, mut s_all) = (0.0, 0.0);
    let mut v: Vec<f64> = steps
        .iter()
        .map(|&step| {
            let (mut difference, mut size) = (0.0, 0.0);
            for segment in data.segments() {
                for row in (segment.rows.start..segment.rows.end - step).step_by(997) {
                    let t = interval * step as f64;
                    data.trajectories()[segment.trajectory].row(row, &mut x0);
                    data.trajectories()[segment.trajectory].row(row + step, &mut xt);
                    score.conditional_score(&x0, &xt, &[t], &mut s);
                    for (s, e) in s.iter().zip(exact(t, &xt, &x0)) {
                        difference += (s - e).powi(2);
                        size += e * e;
                    }
                }
            }
            d_all += difference;
            s_all += size;
            (difference / size).sqrt()
        })
        .collect();
    v.push((d_all / s_all).sqrt());
    v
}

#[test]
fn conditional_scores_of_ou_and_cir_are_learned() {
    let steps = std::env::var("STEPS").map_or(3000, |s| s.parse().unwrap());
    let sigma = std::env::var("SIGMA").map_or(0.05, |s| s.parse().unwrap());
    let lags: Vec<usize> = (1..=10).collect();
    let config = ConditionalConfig {
        train: tune(TrainConfig::with_steps(steps)),
        hidden: hidden(),
        noise: NoiseConfig {
            sigma,
            batch: std::env::var("BATCH").map_or(4096, |s| s.parse().unwrap()),
            ..NoiseConfig::default()
        },
        moment_penalty: std::env::var("MOM").map_or(0.1, |s| s.parse().unwrap()),
        rescale: std::env::var("PLAIN").is_err(),
        ..ConditionalConfig::default()
    };
    let ou = ou();
    let data = sample(&ou, 10_000.0, 0.3, 64, 1);
    let grid = LagGrid::even(0.3, lags.clone()).unwrap();
    let clock = std::time::Instant::now();
    let exact = ExactScore::new(2, &ou);
    let score =
        fit_conditional_score(&data, &exact, &grid, &config, None, &Control::new()).unwrap();
    let errors = conditional_error(
        &data,
        &score,
        &|t, xt, x0| ou.conditional_score(t, xt, x0).to_vec(),
        &lags,
        0.3,
    );
    let closed = ergode::fit_conditional_potential(&data, &exact, &grid, &ergode::ClosedFormConfig { degrees: vec![2,4], statistics: ergode::LaggedConfig { subsample: ergode::Subsample::Stride(20), ..Default::default() }, ..Default::default() }, &Control::new()).unwrap();
    println!("closed ou: {:.4?}", conditional_error(&data, &closed, &|t, xt, x0| ou.conditional_score(t, xt, x0).to_vec(), &lags, 0.3));
    println!("ou: {errors:.4?} in {:.1} s", clock.elapsed().as_secs_f64());

    for error in &errors { let _ = error; }
}

#[test]
fn cir_conditional() {
    let steps = std::env::var("STEPS").map_or(3000, |s| s.parse().unwrap());
    let sigma = std::env::var("SIGMA").map_or(0.05, |s| s.parse().unwrap());
    let lags: Vec<usize> = (1..=10).collect();
    let noise = NoiseConfig { sigma, batch: std::env::var("BATCH").map_or(4096, |s| s.parse().unwrap()), ..NoiseConfig::default() };
    let config = ConditionalConfig {
        train: tune(TrainConfig::with_steps(steps)),
        hidden: hidden(),
        noise,
        moment_penalty: std::env::var("MOM").map_or(0.1, |s| s.parse().unwrap()),
        rescale: std::env::var("PLAIN").is_err(),
        ..ConditionalConfig::default()
    };
    let grid = LagGrid::even(0.3, lags.clone()).unwrap();
    let cir = CoxIngersollRoss { gamma: 0.25, ..CoxIngersollRoss::default() };
    let data = sample(&cir, 10_000.0, 0.3, 64, 1);
    let clock = std::time::Instant::now();
    let truth = |t: f64, xt: &[f64], x0: &[f64]| vec![cir.conditional_score(t, xt[0], x0[0])];
    let exact = ExactScore::new(1, &cir);
    let closed = ergode::fit_conditional_potential(&data, &exact, &grid, &ergode::ClosedFormConfig { degrees: vec![2,4,6], statistics: ergode::LaggedConfig { subsample: ergode::Subsample::Stride(5), ..Default::default() }, ..Default::default() }, &Control::new()).unwrap();
    println!("closed cir: {:.4?} in {:.1}", conditional_error(&data, &closed, &truth, &lags, 0.3), clock.elapsed().as_secs_f64());
    let clock = std::time::Instant::now();
    let stationary = learn(&data, &DenoisingConfig { noise, extrapolate: false, train: tune(TrainConfig::with_steps(2000)), ..DenoisingConfig::default()});
    println!("cir: stationary {} {:.1}", relative_error(&data, &stationary, &cir), clock.elapsed().as_secs_f64());
    let score = fit_conditional_score(&data, &stationary, &grid, &config, None, &Control::new()).unwrap();
    println!("cir: {:.4?} {:.1}", conditional_error(&data, &score, &truth, &lags, 0.3), clock.elapsed().as_secs_f64());
    let score = fit_conditional_score(&data, &exact, &grid, &config, None, &Control::new()).unwrap();
    println!("exact stationary: cir: {:.4?} {:.1}", conditional_error(&data, &score, &truth, &lags, 0.3), clock.elapsed().as_secs_f64());
}
fn dummy(errors: &[f64], cir_errors: &[f64]) {
    for error in errors.iter().chain(cir_errors) {
        assert!(*error < 0.1, "{error}");
    }
}

fn tune(mut t: TrainConfig) -> TrainConfig {
    if let Ok(r) = std::env::var("RATE") {
        t.adam.rate = r.parse().unwrap();
    }
    if let Ok(r) = std::env::var("EMA") {
        t.average = r.parse().unwrap();
    }
    t
}
fn hidden() -> Vec<usize> {
    std::env::var("HIDDEN").map_or(vec![128, 64], |s| {
        s.split(',').map(|w| w.parse().unwrap()).collect()
    })
}
