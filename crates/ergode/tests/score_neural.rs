//! Networks that learn scores by denoising, against exact scores.

use std::time::Instant;

use ergode::data::Support;
use ergode::nn::TrainConfig;
use ergode::score::{
    DenoisingConfig, Layout, NeuralScore, NoiseConfig, Score, fit_denoising_score,
};
use ergode::systems::{Affine2d, SoftSpin, System, generate};
use ergode::{BurnIn, Control, Ensemble};

use crate::support::{affine_reference, ou, relative_error, sample};

fn learn(data: &Ensemble, config: &DenoisingConfig) -> NeuralScore {
    fit_denoising_score(data, config, None, &Control::new()).unwrap()
}

/// Few steps on small batches.
fn brief(layout: Layout) -> DenoisingConfig {
    DenoisingConfig {
        hidden: vec![24, 16],
        layout,
        noise: NoiseConfig {
            batch: 64,
            held_out_states: 256,
            ..NoiseConfig::default()
        },
        train: TrainConfig::with_steps(60),
        ..DenoisingConfig::default()
    }
}

fn spins() -> (SoftSpin, Ensemble) {
    let system = SoftSpin::default();
    let mut protocol = system.protocol();
    // Four times the paper's step: its bias, 0.35 % of |m|², is far below what networks reach.
    protocol.simulate.dt = 1e-3;
    protocol.simulate.save_every = 0.2;
    protocol.simulate.time = 800.0;
    protocol.simulate.trajectories = 64;
    let data = generate(&system, &protocol, &Control::new()).unwrap();
    let data = data.ensemble.burn_in(BurnIn::Fraction(0.1)).unwrap();
    (system, data)
}

fn report(name: &str, score: &NeuralScore, error: f64, clock: Instant) {
    let report = score.report();
    println!(
        "{name}: relative L2 error {error:.4} in {:.1} s, sigma bias {:?}, best step {}",
        clock.elapsed().as_secs_f64(),
        report.sigma_bias,
        report.training.best_step,
    );
}

#[test]
fn slow_affine2d_is_learned() {
    let system = Affine2d::default();
    let data = sample(&system, 3000.0, 0.05, 36, 1)
        .burn_in(BurnIn::Fraction(0.1))
        .unwrap();
    let reference = affine_reference();
    let clock = Instant::now();
    let config = DenoisingConfig {
        train: TrainConfig::with_steps(2000),
        ..DenoisingConfig::default()
    };
    let score = learn(&data, &config);
    let error = relative_error(&data, &score, reference);
    report("affine2d", &score, error, clock);
    assert!(error < 0.05, "{error}");
    assert!(score.report().sigma_bias.unwrap() > 0.002);
}

#[test]
fn slow_soft_spins_are_learned_by_one_network_for_all_sites() {
    let (system, data) = spins();
    let clock = Instant::now();
    let config = DenoisingConfig {
        hidden: vec![64, 64],
        layout: Layout::Lattice {
            sites: system.sites,
            reach: 1,
        },
        noise: NoiseConfig {
            sigma: 0.015,
            batch: 512,
            held_out_states: 4096,
            ..NoiseConfig::default()
        },
        symmetries: vec![vec![-1.0; 36]],
        extrapolate: false,
        train: TrainConfig::with_steps(6000),
    };
    let score = learn(&data, &config);
    let error = relative_error(&data, &score, &system);
    report("soft spin", &score, error, clock);
    assert!(error < 0.05, "{error}");
}

/// The noise of width σ is part of what is learned: for a Gaussian of unit variance the score becomes
/// −z/(1 + σ²). Extrapolation takes the first order of that away.
#[test]
fn slow_extrapolation_removes_the_bias_of_the_noise() {
    let system = ou();
    let data = sample(&system, 2000.0, 0.2, 64, 3);
    let config = |extrapolate| DenoisingConfig {
        hidden: vec![32, 32],
        extrapolate,
        noise: NoiseConfig {
            sigma: 0.4,
            batch: 2048,
            ..NoiseConfig::default()
        },
        train: TrainConfig::with_steps(3000),
        ..DenoisingConfig::default()
    };
    let plain = relative_error(&data, &learn(&data, &config(false)), &system);
    let better = learn(&data, &config(true));
    let corrected = relative_error(&data, &better, &system);
    let bias = better.report().sigma_bias.unwrap();
    println!("sigma 0.4: plain {plain:.4}, extrapolated {corrected:.4}, measured bias {bias:.4}");
    assert!((0.08..0.25).contains(&plain), "{plain}");
    assert!(corrected < 0.5 * plain, "{corrected}");
    assert!((0.05..0.25).contains(&bias), "{bias}");
}

/// Jacobian and divergence against central differences, for one network and for one per site.
#[test]
fn derivatives_match_finite_differences() {
    let plain = sample(&ou(), 200.0, 0.2, 16, 1);
    let (_, chain) = spins();
    let lattice = Layout::Lattice {
        sites: 12,
        reach: 1,
    };
    for (data, layout) in [(plain, Layout::Whole), (chain, lattice)] {
        let score = learn(&data, &brief(layout));
        let dim = data.dim();
        let mut x = vec![0.0; dim];
        for row in [5, 33, 90] {
            data.trajectories()[3].row(row, &mut x);
            let mut jacobian = vec![0.0; dim * dim];
            assert!(score.jacobian(&x, &mut jacobian));
            let size = jacobian.iter().fold(0.0f64, |a, b| a.max(b.abs()));
            // Single precision: the difference must not be too small.
            let h = 0.01;
            for j in 0..dim {
                let shifted = |sign: f64| {
                    let mut y = x.clone();
                    y[j] += sign * h;
                    let mut s = vec![0.0; dim];
                    score.score(&y, &mut s);
                    s
                };
                let (up, down) = (shifted(1.0), shifted(-1.0));
                for i in 0..dim {
                    let slope = (up[i] - down[i]) / (2.0 * h);
                    let exact = jacobian[i * dim + j];
                    assert!(
                        (slope - exact).abs() < 0.01 * size,
                        "{i} {j}: {slope} {exact} of {size}"
                    );
                }
            }
            let mut divergence = [0.0];
            assert!(score.divergence(&x, &mut divergence));
            let trace: f64 = jacobian.iter().step_by(dim + 1).sum();
            assert!((divergence[0] - trace).abs() < 1e-4 * (size * dim as f64));
        }
    }
}

/// Shifting the sites of a state shifts its score.
#[test]
fn slow_one_network_for_all_sites_is_translation_invariant() {
    let (_, data) = spins();
    let score = learn(
        &data,
        &brief(Layout::Lattice {
            sites: 12,
            reach: 2,
        }),
    );
    let (mut x, mut s, mut t) = (vec![0.0; 36], vec![0.0; 36], vec![0.0; 36]);
    data.trajectories()[0].row(7, &mut x);
    score.score(&x, &mut s);
    x.rotate_right(3);
    score.score(&x, &mut t);
    s.rotate_right(3);
    assert_eq!(s, t);
}

/// Far from the samples a network is not to be trusted; the score points back.
#[test]
fn networks_are_confined() {
    let data = sample(&ou(), 200.0, 0.2, 16, 1);
    let score = learn(&data, &brief(Layout::Whole));
    let standardiser = ergode::data::Standardiser::from_ensemble(&data).unwrap();
    let support = Support::from_ensemble(&data, &standardiser).unwrap();
    let (mut s, mut c) = ([0.0; 2], [0.0; 2]);
    for k in 0..200 {
        let angle = 0.1 * f64::from(k);
        let z = [9.0 * angle.cos(), 9.0 * angle.sin()];
        support.nearest(&z, &mut c);
        let mut x = z;
        standardiser.inverse(&mut x);
        score.score(&x, &mut s);
        let inward: f64 = (0..2)
            .map(|i| s[i] * standardiser.scale[i] * (c[i] - z[i]))
            .sum();
        assert!(inward > 0.0);
    }
}

#[test]
fn training_resumes_where_it_stopped() {
    let data = sample(&ou(), 200.0, 0.2, 16, 1);
    let mut config = brief(Layout::Whole);
    config.extrapolate = false;
    let whole = learn(&data, &config);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("score.checkpoint");
    let run =
        |control: &Control| fit_denoising_score(&data, &config, Some(&path), control).unwrap();
    let stopped = Control::new();
    stopped.stop();
    assert!(run(&stopped).report().training.interrupted);
    let resumed = run(&Control::new());
    assert!(!resumed.report().training.interrupted);
    let mut x = [0.0; 2];
    data.trajectories()[0].row(3, &mut x);
    let at = |score: &NeuralScore| {
        let mut s = [0.0; 2];
        score.score(&x, &mut s);
        s
    };
    assert_eq!(at(&whole), at(&resumed));
    // A finished training is not repeated, and one with other settings is refused.
    assert_eq!(at(&whole), at(&run(&Control::new())));
    config.noise.seed = 9;
    let other = fit_denoising_score(&data, &config, Some(&path), &Control::new());
    let message = other.unwrap_err().to_string();
    assert!(message.contains("other data or settings"), "{message}");
    std::fs::write(&path, b"{").unwrap();
    let broken = fit_denoising_score(&data, &config, Some(&path), &Control::new());
    assert!(broken.unwrap_err().is_bad_input());
}

#[test]
fn wrong_settings_are_refused() {
    let data = sample(&ou(), 200.0, 0.2, 16, 1);
    let refuse = |change: &dyn Fn(&mut DenoisingConfig)| {
        let mut config = brief(Layout::Whole);
        change(&mut config);
        let result = fit_denoising_score(&data, &config, None, &Control::new());
        let error = result.unwrap_err();
        assert!(error.is_bad_input());
        error.to_string()
    };
    assert!(refuse(&|c| c.noise.sigma = 0.0).contains("sigma"));
    assert!(refuse(&|c| c.noise.batch = 0).contains("batch"));
    assert!(refuse(&|c| c.noise.held_out = 0.9).contains("held-out fraction"));
    assert!(refuse(&|c| c.symmetries = vec![vec![1.0]]).contains("symmetry"));
    assert!(refuse(&|c| c.train.check_every = 0).contains("check_every"));
    let chain = Layout::Lattice { sites: 3, reach: 1 };
    assert!(refuse(&|c| c.layout = chain).contains("3 sites"));
}
