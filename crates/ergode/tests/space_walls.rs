//! Models between walls beside the exact laws of reflected processes.

use std::f64::consts::PI;

use ergode::mobility::EdgeKind;
use ergode::pipeline::detect_walls;
use ergode::random::{Purpose, Stream};
use ergode::space::{Domain, DomainChoice, Space};
use ergode::systems::{DoubleWell, OrnsteinUhlenbeck, OrnsteinUhlenbeckParameters, System};
use ergode::{
    CheckConfig, Control, Ensemble, FitConfig, LangevinModel, Scheme, Times, Trajectory, Verdict,
    check_ensemble,
};
use ndarray::Array2;

use crate::model::{
    config, filled_box, names, polynomial_mobility, potential, provenance, simulate, unscaled,
};
use crate::support::{Estimate, Z_BOUND, lagged, rows, sample};

/// ln p = −`slope` x and D = 0.5 + `tilt` x in every coordinate, between reflecting walls at 0 and 1.
fn walled(dim: usize, slope: f64, tilt: f64) -> LangevinModel {
    let data = if dim == 3 {
        let corners = [[-6.0; 3], [6.0; 3]];
        let ends = Array2::from_shape_fn((2, 3), |(k, i)| corners[k][i]);
        Ensemble::from_array(ends, 1.0)
            .unwrap()
            .with_names(names(3))
    } else {
        Ok(filled_box(dim, 6.0))
    }
    .unwrap();
    let confinement = unscaled(&data);
    let names = names(dim);
    let fields = |name: &String| {
        let entry = format!("D[{name},{name}]");
        [
            (format!("{entry} 1"), 0.5),
            (format!("{entry} {name}"), tilt),
        ]
    };
    let fields: Vec<(String, f64)> = names.iter().flat_map(fields).collect();
    let fields: Vec<(&str, f64)> = fields.iter().map(|(name, c)| (name.as_str(), *c)).collect();
    let mobility = polynomial_mobility(confinement.standardiser(), (1, 1), &fields);
    let slopes: Vec<(&str, f64)> = names.iter().map(|name| (name.as_str(), -slope)).collect();
    let score = potential(confinement, 1, &slopes);
    let starts = Array2::from_shape_fn((20, dim), |(k, _)| (k as f64 + 0.5) / 20.0);
    let model = LangevinModel::new(names, score, mobility, starts, provenance(&data)).unwrap();
    let domains = vec![Domain::Interval([0.0, 1.0]); dim];
    model.with_space(Space { domains }).unwrap()
}

/// The mean of the first coordinate.
fn mean(model: &LangevinModel, step: f64, scheme: Scheme, time: f64) -> Estimate {
    let run = simulate(model, &config(time, step, step, 64, scheme));
    let means = (0..64).map(|k| rows(&run.simulation.ensemble, k).column(0).mean().unwrap());
    Estimate::new(&means.collect::<Vec<f64>>())
}

/// Reflected Brownian motion is exact at any step: cos πx decays at the rate π² D.
#[test]
fn reflected_brownian_motion_is_exact_at_large_steps() {
    let z = |model: &LangevinModel| {
        let mut worst = 0f64;
        for scheme in [Scheme::Euler, Scheme::Platen] {
            let run = simulate(model, &config(300.0, 0.1, 0.1, 64, scheme));
            for lag in [0, 1, 3] {
                let cosine = |x: &[f64]| (PI * x[0]).cos();
                let found = lagged(&run.simulation.ensemble, cosine, cosine, lag, 0);
                let exact = 0.5 * (-0.5 * PI * PI * 0.1 * lag as f64).exp();
                worst = worst.max(found.z(exact).abs());
            }
            // The cosine is the same for the path that is not reflected, this is not.
            let square = lagged(&run.simulation.ensemble, |x| x[0], |x| x[0], 0, 0);
            worst = worst.max(square.z(1.0 / 3.0).abs());
        }
        worst
    };
    let worst = z(&walled(1, 0.0, 0.0));
    assert!(worst < Z_BOUND, "z = {worst}");
    // The twin: the same steps without walls.
    let open = walled(1, 0.0, 0.0).with_space(Space::lines(1)).unwrap();
    let worst = z(&open);
    assert!(worst > 3.0 * Z_BOUND, "z = {worst} without walls");
}

/// The mean of p ∝ exp(−2x) on [0, 1] is approached in proportion to the step, in lanes and in tiles.
#[test]
fn the_weak_order_between_walls_is_one() {
    let slope = 2.0f64;
    let exact = 1.0 / slope - 1.0 / slope.exp_m1();
    for (dim, time) in [(1, 4e3), (3, 1e3)] {
        for scheme in [Scheme::Euler, Scheme::Platen] {
            let model = walled(dim, slope, 0.5);
            let [coarse, fine] = [0.1, 0.025].map(|step| mean(&model, step, scheme, time));
            let [bias, rest] = [coarse, fine].map(|found| (found.mean - exact).abs());
            let chance = Z_BOUND * (coarse.error + 4.0 * fine.error);
            // A fourth of the step has a fourth of the error; half of it with an order of one half.
            assert!(
                4.0 * rest < 1.5 * bias + chance,
                "{dim} {scheme:?}: {bias} and {rest}, chance {chance}"
            );
        }
    }
}

/// Simulations stay between the walls, whatever the scheme and however large the step; without walls they do not.
#[test]
fn simulations_stay_between_the_walls() {
    let outside = |model: &LangevinModel, scheme: Scheme| {
        let run = simulate(model, &config(50.0, 0.5, 0.5, 64, scheme));
        let count = |k: usize| {
            let rows = rows(&run.simulation.ensemble, k);
            rows.iter().filter(|x| !(0.0..=1.0).contains(*x)).count()
        };
        (0..64).map(count).sum::<usize>()
    };
    for dim in [1, 2, 3] {
        for scheme in [Scheme::Euler, Scheme::Platen] {
            let model = walled(dim, 2.0, 0.5);
            assert_eq!(outside(&model, scheme), 0, "{dim} {scheme:?}");
            let open = model.with_space(Space::lines(dim)).unwrap();
            assert!(outside(&open, scheme) > 1000, "{dim} {scheme:?}");
        }
    }
}

/// p ∝ exp(−2x) between the walls, D = 0.05 (1 + x), b = M s + ∇·M = −0.05 − 0.1 x.
fn boxed() -> Ensemble {
    let model = walled(1, 2.0, 0.5);
    // Time in units in which D is a tenth of that of the model.
    let run = simulate(&model, &config(20.0, 5e-4, 5e-3, 24, Scheme::Euler));
    let slow = run.simulation.ensemble.trajectories().iter().map(|t| {
        let mut values = Array2::zeros((t.len(), 1));
        for (i, mut row) in values.rows_mut().into_iter().enumerate() {
            t.row(i, row.as_slice_mut().unwrap());
        }
        Trajectory::new(
            values,
            Times::Even {
                start: 0.0,
                step: 0.05,
            },
        )
    });
    Ensemble::new(slow.collect()).unwrap()
}

/// Relative L2 errors of drift and D over the states between 0.05 and 0.95, drift and D being exact.
fn errors(model: &LangevinModel, exact: impl Fn(f64) -> [f64; 2]) -> [f64; 2] {
    let mut sums = [[0.0; 2]; 2];
    for k in 0..91 {
        let x = 0.05 + 0.01 * f64::from(k);
        let [mut drift, mut diffusion] = [[0.0]; 2];
        model.drift(&[x], &mut drift);
        model.diffusion(&[x], &mut diffusion);
        for (sum, (found, exact)) in sums
            .iter_mut()
            .zip([drift[0], diffusion[0]].iter().zip(exact(x)))
        {
            sum[0] += (found - exact).powi(2);
            sum[1] += exact * exact;
        }
    }
    sums.map(|[error, size]| (error / size).sqrt())
}

/// Without a hint the walls are found, and the fit is right and passes; with the walls taken away it does not
/// pass.
#[test]
fn slow_a_reflecting_box_is_seen_and_learned() {
    let data = boxed();
    let mut config = FitConfig::default();
    config.limits.seconds = Some(3000.0);
    let fitted = ergode::fit(&data, &config).unwrap();
    let domain = fitted.model.space().domains[0];
    assert_eq!(
        domain,
        Domain::Interval([0.0, 1.0]),
        "{:?}",
        fitted.results().policy
    );
    let space = &fitted.results().space["x"];
    assert_eq!(space.edges, [Some(EdgeKind::Reflecting); 2]);
    let [drift, diffusion] = errors(&fitted.model, |x| [-0.05 - 0.1 * x, 0.05 + 0.05 * x]);
    assert!(diffusion < 0.06 && drift < 0.2, "D {diffusion}, b {drift}");
    let verdict = fitted.results().validation.verdict;
    assert_eq!(verdict, Verdict::Pass, "{:?}", fitted.results().validation);
    // The twin: the same record on the line.
    config
        .space
        .coordinates
        .insert("x".into(), DomainChoice::Line);
    let open = ergode::fit(&data, &config).unwrap();
    assert_ne!(open.results().validation.verdict, Verdict::Pass);
}

/// Records on the line show no walls: a hundred of Ornstein-Uhlenbeck processes and double wells, sampled finely
/// and coarsely, long and short. The twin, a box, shows both.
#[test]
fn records_on_the_line_show_no_walls() {
    let control = Control::new();
    let domain = |data: &Ensemble| {
        let check = check_ensemble(data, &CheckConfig::default(), &control).unwrap();
        let report = &check.coordinates[0];
        let horizon = report.decorrelation_time.unwrap_or(1.0);
        detect_walls(data, 0, report, horizon, &control).unwrap()
    };
    let ou = OrnsteinUhlenbeck::new(OrnsteinUhlenbeckParameters {
        drift: vec![vec![1.0]],
        diffusion: vec![vec![1.0]],
        mean: vec![0.0],
    })
    .unwrap();
    for seed in 0..25 {
        for (interval, time) in [(0.05, 100.0), (0.5, 400.0)] {
            let systems: [&dyn System; 2] = [&ou, &DoubleWell::default()];
            for (k, system) in systems.into_iter().enumerate() {
                let data = sample(system, time, interval, 4, 100 + seed);
                assert_eq!(
                    domain(&data),
                    None,
                    "system {k}, seed {seed}, interval {interval}"
                );
            }
        }
    }
    let found = domain(&boxed()).map(|(domain, _)| domain);
    assert_eq!(found, Some(Domain::Interval([0.0, 1.0])));
}

/// Events of a count that rises and falls by one at these rates, sampled every `interval`, and changed.
fn jumping(
    seed: u64,
    interval: f64,
    rates: impl Fn(f64) -> [f64; 2],
    change: impl Fn(f64) -> f64,
) -> Ensemble {
    let one = |k: u64| {
        let mut stream = Stream::new(seed, Purpose::Noise, k);
        let mut count = 25.0;
        let mut left = 0.0;
        let mut values = Array2::zeros((2000, 1));
        for i in 0..2300 {
            left += interval;
            loop {
                let [up, down] = rates(count);
                left += stream.uniform().ln() / (up + down);
                if left < 0.0 {
                    break;
                }
                count += if stream.uniform() * (up + down) < up {
                    1.0
                } else {
                    -1.0
                };
            }
            // The next event has no memory of the time since the last one.
            left = 0.0;
            if i >= 300 {
                values[[i - 300, 0]] = change(count);
            }
        }
        Trajectory::new(values, Times::every(interval))
    };
    Ensemble::new((0..4).map(one).collect()).unwrap()
}

/// The opinion of fifty agents ends at its last values, births and deaths and rounded records do not end.
#[test]
fn a_lattice_ends_where_samples_crowd_at_its_last_value() {
    let control = Control::new();
    let domain = |data: &Ensemble| {
        let check = check_ensemble(data, &CheckConfig::default(), &control).unwrap();
        let report = &check.coordinates[0];
        assert!(report.quantum.is_some(), "{report:?}");
        let horizon = report.decorrelation_time.unwrap_or(1.0);
        let found = detect_walls(data, 0, report, horizon, &control).unwrap();
        found.map(|(domain, _)| domain)
    };
    for seed in 0..5 {
        let agents = |up: f64| {
            let copies = up * (50.0 - up) / 49.0;
            [copies + 0.01 * (50.0 - up), copies + 0.01 * up]
        };
        let data = jumping(seed, 1.0, agents, |up| up / 25.0 - 1.0);
        assert_eq!(
            domain(&data),
            Some(Domain::Interval([-1.0, 1.0])),
            "seed {seed}"
        );
        // A few individuals: none is left as often as one.
        let data = jumping(seed, 0.2, |n| [1.0, n], |n| n);
        assert_eq!(domain(&data), Some(Domain::Above(0.0)), "seed {seed}");
        let data = jumping(seed, 0.1, |n| [50.0, n], |n| n);
        assert_eq!(domain(&data), None, "seed {seed}");
    }
    for seed in 0..25 {
        let data = sample(&DoubleWell::default(), 400.0, 0.1, 4, 300 + seed);
        let unit = [0.1, 0.5][seed as usize % 2];
        let rounded = data
            .trajectories()
            .iter()
            .enumerate()
            .map(|(k, trajectory)| {
                let values = rows(&data, k).mapv(|x| (x / unit).round() * unit);
                Trajectory::new(values, trajectory.times().clone())
            });
        let rounded = Ensemble::new(rounded.collect()).unwrap();
        assert_eq!(domain(&rounded), None, "seed {seed}, rounded to {unit}");
    }
}
