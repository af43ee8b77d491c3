//! Potential, current and passages of fitted models, beside exact answers.

use std::sync::OnceLock;

use ergode::physics::{
    Landscape, PassageConfig, PassageRoute, Region, committor, first_passage, respond,
};
use ergode::systems::{DoubleWell, Grid1d, OrnsteinUhlenbeck, Spacing};
use ergode::{Control, FitConfig, Fitted, fit};

use super::support::{largest, sample};

fn config() -> FitConfig {
    let changes = ["limits.seconds=3000".to_owned()];
    FitConfig::default().with_changes(&changes).unwrap()
}

fn double_well() -> &'static Fitted {
    static FITTED: OnceLock<Fitted> = OnceLock::new();
    FITTED.get_or_init(|| {
        fit(
            &sample(&DoubleWell::default(), 1000.0, 0.1, 16, 3),
            &config(),
        )
        .unwrap()
    })
}

/// The exact mean passage time from [a0, a1] to [b0, ∞) of one coordinate: T(x) = ∫_x^b (∫_{-∞}^y p) / (D p) dy, on
/// a grid.
fn exact_passage(grid: &Grid1d, diffusion: impl Fn(f64) -> f64, a: [f64; 2], b: f64) -> f64 {
    let below = grid.cumulative();
    let step = grid.nodes[1] - grid.nodes[0];
    let (mut time, mut sum, mut total) = (0.0, 0.0, 0.0);
    for k in (0..grid.nodes.len()).rev() {
        let x = grid.nodes[k];
        if x < b {
            time += step * below[k] / (diffusion(x) * grid.density[k] * normal(grid));
        }
        if (a[0]..=a[1]).contains(&x) {
            sum += grid.weights[k] * time;
            total += grid.weights[k];
        }
    }
    sum / total
}

/// ∫ p dx over the sum of the weights, as the grid's density sums to one over its nodes.
fn normal(grid: &Grid1d) -> f64 {
    let step = grid.nodes[1] - grid.nodes[0];
    1.0 / (grid.density.iter().sum::<f64>() * step)
}

#[test]
fn slow_passages_of_the_double_well_agree_by_every_route() {
    let system = DoubleWell::default();
    let model = &double_well().model;
    let control = Control::new();
    let grid = Grid1d::solve(&system, Spacing::Linear, -3.0, 3.0, 6000).unwrap();
    let diffusion = |x: f64| 0.5 * (1.0 + 1.0 / (1.0 + x * x));
    let exact = exact_passage(&grid, diffusion, [-1.2, -0.8], 0.8);
    let (a, b) = (Region::slab(1, 0, -1.2, -0.8), Region::slab(1, 0, 0.8, 9.0));
    let by = |route: PassageRoute| {
        let config = PassageConfig {
            route,
            trajectories: 2000,
            ..PassageConfig::default()
        };
        first_passage(model, &a, &b, &config, &control).unwrap()
    };
    let (generator, rollouts) = (by(PassageRoute::Generator), by(PassageRoute::Rollouts));
    let error = generator.stderr.expect("the coefficients have errors");
    assert!(error < 0.1 * exact, "{error} of {exact}");
    let z = (generator.mean - exact) / error;
    assert!(
        z.abs() < 4.0,
        "generator {} ± {error}, exact {exact}",
        generator.mean
    );
    // Visits between two steps are missed, which makes simulated passages a little longer.
    let missed = 0.03 * generator.mean;
    let apart = (rollouts.mean - generator.mean).abs();
    let error = rollouts.stderr.expect("simulations have errors");
    assert!(
        apart < missed + 4.0 * error,
        "{} ± {error}, {}",
        rollouts.mean,
        generator.mean
    );
    assert_eq!(by(PassageRoute::Auto).route, PassageRoute::Generator);
    // A set given as a function, by both routes.
    let right = |x: &[f64]| x[0] >= 0.8;
    let again = PassageConfig {
        route: PassageRoute::Auto,
        ..PassageConfig::default()
    };
    let again = first_passage(model, &a, &Region::Where(&right), &again, &control).unwrap();
    assert!((again.mean / generator.mean - 1.0).abs() < 0.01);
}

#[test]
fn slow_the_potential_of_the_double_well_is_right() {
    let (system, model) = (DoubleWell::default(), &double_well().model);
    let landscape = Landscape::new(model).unwrap();
    // The central 99 % of the law, from its grid.
    let grid = Grid1d::solve(&system, Spacing::Linear, -3.0, 3.0, 3000).unwrap();
    let below = grid.cumulative();
    let inside: Vec<usize> = (0..below.len())
        .filter(|k| (0.005..0.995).contains(&below[*k]))
        .collect();
    let x: Vec<f64> = inside.iter().map(|k| grid.nodes[*k]).collect();
    let mut found = vec![0.0; x.len()];
    landscape.potential(&x, &mut found);
    let exact = inside
        .iter()
        .map(|k| -(grid.density[*k] * normal(&grid)).ln());
    let worst = largest(found.iter().zip(exact).map(|(u, exact)| u - exact));
    assert!(worst < 0.05, "{worst} kT");
    // A normalised density.
    let nodes: Vec<f64> = (0..4001).map(|k| -4.0 + 0.002 * f64::from(k)).collect();
    let mut density = vec![0.0; nodes.len()];
    landscape.density(&nodes, &mut density).unwrap();
    assert!((density.iter().sum::<f64>() * 0.002 - 1.0).abs() < 1e-3);
    // No current in one coordinate.
    let mut current = vec![0.0; x.len()];
    landscape.current(&x, &mut current).unwrap();
    assert!(largest(current) < 0.02);
    let control = Control::new();
    let (a, b) = (Region::slab(1, 0, -9.0, -0.9), Region::slab(1, 0, 0.9, 9.0));
    let at = [-1.0, 0.0, 1.0];
    let q = committor(model, &a, &b, &at, &PassageConfig::default(), &control).unwrap();
    assert_eq!((q.value[0], q.value[2]), (0.0, 1.0));
    assert!((q.value[1] - 0.5).abs() < 0.05, "{:?}", q);
}

#[test]
fn slow_a_rotating_process_has_current_passages_and_response() {
    // dx = −A x dt + √2 dW with A = [[1, 0.5], [−0.5, 1]]: p is normal with unit variance, v = (−x₂, x₁)/2.
    let parameters = serde_json::json!({"mean": [0.0, 0.0], "drift": [[1.0, 0.5], [-0.5, 1.0]], "diffusion": [[1.0, 0.0], [0.0, 1.0]]});
    let system = OrnsteinUhlenbeck::new(serde_json::from_value(parameters).unwrap()).unwrap();
    let model = fit(&sample(&system, 1600.0, 0.1, 8, 4), &config())
        .unwrap()
        .model;
    let landscape = Landscape::new(&model).unwrap();
    let (x, mut out) = ([1.0, 0.0, 0.5, -1.0], [0.0; 4]);
    landscape.current(&x, &mut out).unwrap();
    let density = |x: f64, y: f64| (-0.5 * (x * x + y * y)).exp() / std::f64::consts::TAU;
    // States (1, 0.5) and (0, −1).
    let exact = [
        -0.25 * density(1.0, 0.5),
        0.5 * density(0.0, 1.0),
        0.5 * density(1.0, 0.5),
        0.0,
    ];
    for (found, exact) in out.iter().zip(exact) {
        assert!((found - exact).abs() < 0.008, "{out:?} {exact}");
    }
    let control = Control::new();
    let (a, b) = (
        Region::Ball {
            centre: vec![0.0, 0.0],
            radius: 0.5,
        },
        Region::Box {
            low: vec![1.5, -9.0],
            high: vec![9.0, 9.0],
        },
    );
    let by = |route: PassageRoute| {
        let config = PassageConfig {
            route,
            ..PassageConfig::default()
        };
        first_passage(&model, &a, &b, &config, &control).unwrap()
    };
    let (grid, rollouts) = (by(PassageRoute::Generator), by(PassageRoute::Rollouts));
    let errors = rollouts.stderr.unwrap().hypot(grid.stderr.unwrap());
    let apart = (grid.mean - rollouts.mean).abs();
    assert!(
        apart < 4.0 * errors + 0.05 * grid.mean,
        "{grid:?} {rollouts:?}"
    );
    // exp(−A t) h after a kick h.
    let found = respond(&model, &[0.3, 0.0], (1.0, Some(0.5)), 500, 0, &control).unwrap();
    let last = found.times.len() - 1;
    let decay = 0.3 * (-1.0f64).exp();
    let exact = [decay * 0.5f64.cos(), decay * 0.5f64.sin()];
    for i in 0..2 {
        let miss = (found.mean[[last, i]] - exact[i]).abs();
        assert!(miss < 0.03, "{found:?}");
    }
}

#[test]
fn slow_sets_that_cannot_be_are_refused() {
    let (model, control) = (&double_well().model, Control::new());
    let good = Region::slab(1, 0, 0.5, 2.0);
    let ask = |a: Region| {
        first_passage(model, &a, &good, &PassageConfig::default(), &control)
            .unwrap_err()
            .to_string()
    };
    assert!(ask(Region::slab(2, 0, 0.0, 1.0)).contains("coordinates"));
    assert!(ask(Region::slab(1, 0, 1.0, -1.0)).contains("empty"));
    assert!(ask(Region::slab(1, 0, 50.0, 60.0)).contains("no state"));
}
