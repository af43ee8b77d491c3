//! Reference systems whose score is not known, or is that of a potential: data, drift and diffusion agree.

use ergode::random::{Purpose, Stream};
use ergode::systems::{
    Grid1d, MuellerBrown, Overdamped, Potential, Prinz, Spacing, System, TripleWell, generate,
    system_by_name,
};
use ergode::{Control, Ensemble};
use serde_json::{Map, Value, json};

fn system(name: &str, changes: &Value) -> Box<dyn System> {
    let none = Map::new();
    system_by_name(name, changes.as_object().unwrap_or(&none)).unwrap()
}

/// The largest |z| of ⟨b·∇f + D:∇∇f⟩ = 0 over the functions f = x_i and x_i x_j, with independent
/// trajectories as blocks; drift and D are multiplied by the given factors.
fn worst_violation(system: &dyn System, data: &Ensemble, drift: f64, diffusion: f64) -> f64 {
    let dim = system.dim();
    let (mut x, mut b, mut d) = (vec![0.0; dim], vec![0.0; dim], vec![0.0; dim * dim]);
    let averages: Vec<Vec<f64>> = data
        .trajectories()
        .iter()
        .map(|trajectory| {
            let mut sums = vec![0.0; dim + dim * dim];
            for row in 0..trajectory.len() {
                trajectory.row(row, &mut x);
                system.exact_equation(&x, &mut b, &mut d);
                for i in 0..dim {
                    sums[i] += drift * b[i];
                    for j in 0..dim {
                        let change = drift * (b[i] * x[j] + x[i] * b[j]);
                        sums[dim + i * dim + j] += change + 2.0 * diffusion * d[i * dim + j];
                    }
                }
            }
            let n = trajectory.len() as f64;
            sums.into_iter().map(|sum| sum / n).collect()
        })
        .collect();
    let blocks = averages.len() as f64;
    (0..dim + dim * dim)
        .map(|k| {
            let mean = averages.iter().map(|a| a[k]).sum::<f64>() / blocks;
            let variance = averages.iter().map(|a| (a[k] - mean).powi(2)).sum::<f64>();
            mean.abs() / (variance / (blocks * (blocks - 1.0))).sqrt()
        })
        .fold(0.0, f64::max)
}

/// The law of the data is the stationary one of the exact equation, and not that of an equation with
/// twice the D (½ left out of ½ σσᵀ) or twice the drift.
#[test]
fn slow_long_records_are_stationary_under_the_exact_equation() {
    let cases = [
        ("van-der-pol", json!({}), 100.0, 0.1),
        ("limit-cycle", json!({}), 60.0, 0.1),
        ("limit-cycle", json!({"coordinates": 3}), 60.0, 0.1),
        ("lorenz63", json!({}), 70.0, 0.05),
        ("fitzhugh-nagumo", json!({}), 1000.0, 0.5),
    ];
    for (name, changes, time, interval) in cases {
        let system = system(name, &changes);
        let mut protocol = system.protocol();
        protocol.simulate.seed = 11;
        protocol.simulate.time = time;
        protocol.simulate.save_every = interval;
        protocol.simulate.trajectories = 64;
        // The bias of Euler's scheme must stay below the noise of the averages.
        protocol.simulate.dt *= 0.5;
        let run = generate(&*system, &protocol, &Control::new()).unwrap();
        assert!(run.failures.is_empty(), "{name}");
        let z = |drift, diffusion| worst_violation(&*system, &run.ensemble, drift, diffusion);
        assert!(z(1.0, 1.0) < 6.0, "{name} {changes}: {}", z(1.0, 1.0));
        assert!(z(1.0, 2.0) > 6.0, "{name} {changes}: {}", z(1.0, 2.0));
        assert!(z(2.0, 1.0) > 6.0, "{name} {changes}: {}", z(2.0, 1.0));
    }
}

/// ∇U by central differences at states drawn from e^{−U}; ⟨ΔU − |∇U|²⟩ = 0 over these states, and not with
/// a potential of another height.
fn check_potential<P: Potential>(potential: P) {
    const COUNT: usize = 4000;
    let system = Overdamped(potential);
    let dim = P::NAMES.len();
    let h = 1e-4;
    let mut values = Vec::new();
    let mut twin = Vec::new();
    for k in 0..COUNT {
        let mut x = vec![0.0; dim];
        system.draw_initial(&mut Stream::new(5, Purpose::Initial, k as u64), &mut x);
        let mut gradient = x.clone();
        potential.gradient(&mut gradient);
        let mut laplacian = 0.0;
        for i in 0..dim {
            let at = |step: f64| {
                let mut y = x.clone();
                y[i] += step;
                potential.energy(&y)
            };
            let slope = (at(h) - at(-h)) / (2.0 * h);
            assert!(
                (slope - gradient[i]).abs() < 1e-4 * (1.0 + slope.abs()),
                "{:?}",
                x
            );
            laplacian += (at(h) - 2.0 * at(0.0) + at(-h)) / (h * h);
        }
        assert!(potential.energy(&x) >= potential.floor());
        let square: f64 = gradient.iter().map(|g| g * g).sum();
        values.push(laplacian - square);
        twin.push(1.2 * laplacian - 1.44 * square);
    }
    let z = |values: &[f64]| {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0);
        mean.abs() / (variance / n).sqrt()
    };
    assert!(z(&values) < 4.5, "{}", z(&values));
    assert!(z(&twin) > 4.5, "{}", z(&twin));
}

#[test]
fn initial_states_follow_the_law_of_the_potential() {
    check_potential(Prinz::default());
    check_potential(TripleWell::default());
    check_potential(MuellerBrown::default());
}

/// The grid solves the stationary equation from drift and D alone: p ∝ e^{−U}.
#[test]
fn the_density_of_the_four_wells_follows_from_drift_and_diffusion() {
    let potential = Prinz::default();
    let grid = Grid1d::solve(&Overdamped(potential), Spacing::Linear, -1.5, 1.5, 2000).unwrap();
    let at = |x: f64| grid.nodes.partition_point(|node| *node < x);
    let (a, b) = (at(-0.7), at(0.25));
    let difference = potential.energy(&[grid.nodes[a]]) - potential.energy(&[grid.nodes[b]]);
    let ratio = (grid.density[b] / grid.density[a]).ln();
    assert!((ratio - difference).abs() < 1e-8, "{ratio} {difference}");
}

/// The drift that follows from score and mobility is that of the equation.
#[test]
fn the_drift_of_exact_fields_is_that_of_the_equation() {
    for name in [
        "ou",
        "cir",
        "double-well",
        "prinz",
        "triple-well",
        "mueller-brown",
    ] {
        let system = system(name, &json!({}));
        let fields = system.exact_fields().unwrap();
        let dim = system.dim();
        let mut x = vec![0.0; dim];
        system.draw_initial(&mut Stream::new(2, Purpose::Initial, 0), &mut x);
        let (mut from_score, mut drift) = (vec![0.0; dim], vec![0.0; dim]);
        fields.drift(&x, &mut from_score);
        system.exact_equation(&x, &mut drift, &mut vec![0.0; dim * dim]);
        for (a, b) in from_score.iter().zip(&drift) {
            assert!((a - b).abs() < 1e-11 * (1.0 + b.abs()), "{name}: {a} {b}");
        }
    }
}

#[test]
fn parameters_outside_their_range_are_refused() {
    let refused =
        |name: &str, changes: Value| match system_by_name(name, changes.as_object().unwrap()) {
            Err(error) => error.to_string(),
            Ok(_) => panic!("{name} {changes} was accepted"),
        };
    assert!(refused("van-der-pol", json!({"diffusion": 0})).contains("diffusion"));
    assert!(refused("van-der-pol", json!({"damping": -1})).contains("damping"));
    assert!(refused("limit-cycle", json!({"coordinates": 4})).contains("2 or 3"));
    assert!(refused("limit-cycle", json!({"slope": 0.9})).contains("slope"));
    assert!(refused("lorenz63", json!({"beta": -1})).contains("beta"));
    assert!(refused("fitzhugh-nagumo", json!({"epsilon": 0})).contains("epsilon"));
    assert!(refused("prinz", json!({"height": -2})).contains("height"));
}
