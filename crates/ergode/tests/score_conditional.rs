//! Conditional transition scores against exact ones.

use std::time::Instant;

use ergode::data::{Standardiser, Support};
use ergode::lagged::{LagGrid, LaggedConfig, Subsample};
use ergode::nn::TrainConfig;
use ergode::observable::{Expressions, Monomials};
use ergode::random::{Purpose, Stream};
use ergode::score::{
    ClosedFormConfig, ConditionalConfig, ConditionalScore, Confinement, ExactScore, Gradients,
    Layout, NeuralConditionalScore, NoiseConfig, Score, certify_conditional_score,
    fit_conditional_potential, fit_conditional_score, fit_score,
};
use ergode::systems::{OrnsteinUhlenbeck, OrnsteinUhlenbeckParameters};
use ergode::{Control, Ensemble, Times, Trajectory};
use ndarray::Array2;

use crate::support::{Exact, Truth, cir, ou, relative_error, rows, sample};

/// A tenth of the decorrelation time of both systems, ln 20.
const INTERVAL: f64 = 0.3;

fn lags() -> (Vec<usize>, LagGrid) {
    let steps: Vec<usize> = (1..=10).collect();
    (steps.clone(), LagGrid::even(INTERVAL, steps).unwrap())
}

fn every(stride: usize) -> LaggedConfig {
    LaggedConfig {
        subsample: Subsample::Stride(stride),
        ..LaggedConfig::default()
    }
}

/// Relative L2 error over pairs at each lag, and over all lags.
fn errors(data: &Ensemble, score: &dyn ConditionalScore, truth: Truth) -> (Vec<f64>, f64) {
    let dim = data.dim();
    let (mut x0, mut xt, mut s) = (vec![0.0; dim], vec![0.0; dim], vec![0.0; dim]);
    let (mut total_difference, mut total_size) = (0.0, 0.0);
    let each = lags().0.into_iter().map(|step| {
        let (mut difference, mut size) = (0.0, 0.0);
        for segment in data.segments() {
            let trajectory = &data.trajectories()[segment.trajectory];
            for row in (segment.rows.start..segment.rows.end - step).step_by(997) {
                let t = INTERVAL * step as f64;
                trajectory.row(row, &mut x0);
                trajectory.row(row + step, &mut xt);
                score.conditional_score(&x0, &xt, &[t], &mut s);
                for (s, e) in s.iter().zip(truth(t, &xt, &x0)) {
                    difference += (s - e).powi(2);
                    size += e * e;
                }
            }
        }
        total_difference += difference;
        total_size += size;
        (difference / size).sqrt()
    });
    let each = each.collect();
    (each, (total_difference / total_size).sqrt())
}

/// The exact span of the CIR score, fitted.
fn cir_score(data: &Ensemble) -> impl Score {
    let functions = Expressions::parse(&["log(x)", "x"], data.names(), &[]).unwrap();
    let raw = Standardiser::new(vec![0.0], vec![1.0]).unwrap();
    let support = Support::from_ensemble(data, &raw).unwrap();
    fit_score(
        data,
        Box::new(Gradients::new(functions)),
        Confinement::new(raw, support).unwrap(),
        &ClosedFormConfig::default(),
        &Control::new(),
    )
    .unwrap()
}

fn train(data: &Ensemble, stationary: &dyn Score, grid: &LagGrid) -> NeuralConditionalScore {
    let config = ConditionalConfig {
        hidden: vec![64, 64],
        noise: NoiseConfig {
            sigma: 0.03,
            batch: 2048,
            held_out_states: 16_384,
            ..NoiseConfig::default()
        },
        train: TrainConfig::with_steps(4000),
        ..ConditionalConfig::default()
    };
    fit_conditional_score(data, stationary, grid, &config, None, &Control::new()).unwrap()
}

/// Lags from a tenth to one decorrelation time, scores estimated from the same data.
#[test]
fn slow_networks_learn_the_transition_scores_of_ou_and_cir() {
    let ou = ou();
    let data = sample(&ou, 10_000.0, INTERVAL, 64, 1);
    let truth = |t: f64, xt: &[f64], x0: &[f64]| ou.conditional_score(t, xt, x0).to_vec();
    let config = ClosedFormConfig {
        degrees: vec![2, 4],
        ..ClosedFormConfig::default()
    };
    let stationary = ergode::score::fit_potential_score(&data, &config, &Control::new()).unwrap();
    let clock = Instant::now();
    let score = train(&data, &stationary, &lags().1);
    let (each, all) = errors(&data, &score, &truth);
    println!(
        "ou, network: {all:.4}, by lag {each:.3?}, {:.1} s",
        clock.elapsed().as_secs_f64()
    );
    assert!(all < 0.1, "{all}");

    let cir = cir();
    let data = sample(&cir, 10_000.0, INTERVAL, 64, 2);
    let truth = |t: f64, xt: &[f64], x0: &[f64]| vec![cir.conditional_score(t, xt[0], x0[0])];
    let stationary = cir_score(&data);
    println!(
        "cir, stationary: {:.4}",
        relative_error(&data, &stationary, &cir)
    );
    let clock = Instant::now();
    let score = train(&data, &stationary, &lags().1);
    let (each, all) = errors(&data, &score, &truth);
    println!(
        "cir, network: {all:.4}, by lag {each:.3?}, {:.1} s",
        clock.elapsed().as_secs_f64()
    );
    assert!(all < 0.1, "{all}");
    // The twin: pairs taken backwards in time answer another question.
    let backwards = |t: f64, xt: &[f64], x0: &[f64]| truth(t, x0, xt);
    assert!(errors(&data, &score, &backwards).1 > 0.5);
}

#[test]
fn slow_potentials_of_both_states_hold_the_transition_scores() {
    let ou = ou();
    let data = sample(&ou, 10_000.0, INTERVAL, 64, 1);
    let truth = |t: f64, xt: &[f64], x0: &[f64]| ou.conditional_score(t, xt, x0).to_vec();
    let fit = |data: &Ensemble, stationary: &dyn Score, degrees: &[usize], stride: usize| {
        let config = ClosedFormConfig {
            degrees: degrees.to_vec(),
            statistics: every(stride),
            ..ClosedFormConfig::default()
        };
        fit_conditional_potential(data, stationary, &lags().1, &config, &Control::new()).unwrap()
    };
    let score = fit(&data, &ExactScore::new(2, &ou), &[2], 8);
    let (each, all) = errors(&data, &score, &truth);
    println!("ou, closed form: {all:.4}, by lag {each:.3?}");
    assert!(all < 0.02, "{all}");

    let cir = cir();
    let data = sample(&cir, 10_000.0, INTERVAL, 64, 2);
    let truth = |t: f64, xt: &[f64], x0: &[f64]| vec![cir.conditional_score(t, xt[0], x0[0])];
    let score = fit(&data, &cir_score(&data), &[2, 4, 6], 4);
    let (each, all) = errors(&data, &score, &truth);
    println!("cir, closed form: {all:.4}, by lag {each:.3?}");
    assert!(all < 0.1, "{all}");
    // The twin: quadratic potentials belong to Gaussian transitions only.
    let quadratic = fit(&data, &cir_score(&data), &[2], 4);
    assert!(errors(&data, &quadratic, &truth).1 > 0.2);
}

/// A chain with coupled neighbours, one network for all sites; the exact score couples all sites,
/// but hardly beyond the window.
#[test]
fn slow_one_network_for_all_sites_learns_the_transitions_of_a_chain() {
    let sites = 6;
    let ring = |i: usize, j: usize| match (i + sites - j) % sites {
        0 => 1.0,
        1 | 5 => -0.25,
        _ => 0.0,
    };
    let matrix = |f: &dyn Fn(usize, usize) -> f64| -> Vec<Vec<f64>> {
        (0..sites)
            .map(|i| (0..sites).map(|j| f(i, j)).collect())
            .collect()
    };
    let chain = OrnsteinUhlenbeck::new(OrnsteinUhlenbeckParameters {
        drift: matrix(&ring),
        diffusion: matrix(&|i, j| f64::from(u8::from(i == j))),
        mean: vec![0.0; sites],
    })
    .unwrap();
    let data = sample(&chain, 3000.0, INTERVAL, 32, 4);
    let config = ConditionalConfig {
        hidden: vec![48, 48],
        layout: Layout::Lattice { sites, reach: 2 },
        noise: NoiseConfig {
            batch: 512,
            held_out_states: 4096,
            ..NoiseConfig::default()
        },
        train: TrainConfig::with_steps(2000),
        ..ConditionalConfig::default()
    };
    let grid = LagGrid::even(INTERVAL, vec![1, 2, 3]).unwrap();
    let exact = ExactScore::new(sites, &chain);
    let score =
        fit_conditional_score(&data, &exact, &grid, &config, None, &Control::new()).unwrap();
    let (mut difference, mut size) = (0.0, 0.0f64);
    let (mut x0, mut xt) = (vec![0.0; sites], vec![0.0; sites]);
    let mut s = vec![0.0; sites];
    for row in (0..9000).step_by(7) {
        data.trajectories()[1].row(row, &mut x0);
        data.trajectories()[1].row(row + 2, &mut xt);
        score.conditional_score(&x0, &xt, &[2.0 * INTERVAL], &mut s);
        let truth = chain.conditional_score(2.0 * INTERVAL, &xt, &x0);
        for (s, e) in s.iter().zip(&truth) {
            difference += (s - e).powi(2);
            size += e * e;
        }
    }
    let error = (difference / size).sqrt();
    println!("chain of 6 sites: {error:.4}");
    assert!(error < 0.15, "{error}");
}

/// Uneven times: the pairs enter with their own lags.
#[test]
fn slow_uneven_pairs_keep_their_own_lag() {
    let ou = ou();
    let fine = sample(&ou, 10_000.0, 0.05, 32, 5);
    let mut stream = Stream::new(1, Purpose::Analysis, 0);
    let uneven = (0..fine.len()).map(|k| {
        let x = rows(&fine, k);
        let kept: Vec<usize> = (0..x.nrows()).filter(|_| stream.uniform() < 0.25).collect();
        let values = Array2::from_shape_fn((kept.len(), 2), |(i, j)| x[[kept[i], j]]);
        let times: Vec<f64> = kept.iter().map(|i| 0.05 * *i as f64).collect();
        Trajectory::new(values, Times::Uneven(times.into()))
    });
    let data = Ensemble::new(uneven.collect()).unwrap();
    let grid = LagGrid::windows(vec![0.4, 1.2, 2.0, 2.8], 0.4).unwrap();
    let score = train(&data, &ExactScore::new(2, &ou), &grid);
    let truth = |t: f64, xt: &[f64], x0: &[f64]| ou.conditional_score(t, xt, x0).to_vec();
    let even = sample(&ou, 3_000.0, INTERVAL, 32, 6);
    let (each, all) = errors(&even, &score, &truth);
    println!("uneven ou: {all:.4}, by lag {each:.3?}");
    assert!(all < 0.1, "{all}");
}

#[test]
fn slow_the_certificate_tells_a_wrong_transition_score() {
    let ou = ou();
    let truth = |t: f64, xt: &[f64], x0: &[f64]| ou.conditional_score(t, xt, x0).to_vec();
    let data = sample(&ou, 4_000.0, INTERVAL, 64, 7);
    let grid = LagGrid::even(INTERVAL, vec![1, 3, 10]).unwrap();
    let library = Monomials::new(data.names(), 1..=2).unwrap();
    let stationary = ExactScore::new(2, &ou);
    let certify = |score: &dyn ConditionalScore| {
        certify_conditional_score(
            score,
            &stationary,
            &data,
            &grid,
            &library,
            &every(4),
            &Control::new(),
        )
        .unwrap()
    };
    let exact = |factor| Exact {
        dim: 2,
        truth: &truth,
        factor,
    };
    let good = certify(&exact(1.0));
    println!(
        "exact: {:?}, error {:.4}, floor {:.4}",
        good.test, good.relative_error, good.relative_floor
    );
    assert!(good.test.probability > 1e-5);
    assert_eq!(good.bins.len(), 3 * 2 * 8);
    assert_eq!(good.responses.len(), 3 * 5 * 2);
    let wrong = certify(&exact(1.05));
    println!(
        "5 % too large: {:?}, error {:.4}",
        wrong.test, wrong.relative_error
    );
    assert!(wrong.test.probability < 1e-5);
    assert!(wrong.relative_error > 2.0 * good.relative_floor);

    // The score of the pair, s_t|0 + s, does not average to zero at fixed x_0.
    struct Joint<'a>(Exact<'a>, &'a dyn Score);
    impl ConditionalScore for Joint<'_> {
        fn dim(&self) -> usize {
            2
        }
        fn conditional_score(&self, x0: &[f64], xt: &[f64], t: &[f64], out: &mut [f64]) {
            self.0.conditional_score(x0, xt, t, out);
            let mut s = vec![0.0; x0.len()];
            self.1.score(x0, &mut s);
            out.iter_mut().zip(s).for_each(|(out, s)| *out += s);
        }
    }
    let joint = certify(&Joint(exact(1.0), &stationary));
    assert!(joint.bins.iter().any(|identity| identity.z.abs() > 20.0));
}
