//! The model beside exact answers: its fields, in and out of the samples.

use ergode::data::{Standardiser, Support};
use ergode::mobility::{LinearMobility, NeuralMobility, NeuralMobilityConfig, TensorBasis};
use ergode::model::{ModelRun, Provenance};
use ergode::nn::Mlp;
use ergode::observable::Monomials;
use ergode::random::Stream;
use ergode::score::{
    ClosedFormConfig, ClosedFormScore, Confinement, Gradients, Score, fit_potential_score,
};
use ergode::simulate::{Initial, SimulateConfig, simulate_ensemble};
use ergode::systems::{Affine2d, CoxIngersollRoss};
use ergode::{Control, Ensemble, LangevinModel, Scheme, simulate_model};
use ndarray::{Array1, Array2};
use serde_json::json;

use crate::support::{lagged, rows, sample};

pub(crate) fn names(dim: usize) -> Vec<String> {
    ["x", "y", "z"][..dim]
        .iter()
        .map(|s| s.to_string())
        .collect()
}

/// States of a square lattice that fills [−half, half]^dim, so that every cell is in the support.
pub(crate) fn filled_box(dim: usize, half: f64) -> Ensemble {
    let side: usize = if dim == 1 { 4000 } else { 200 };
    let place = |k: usize| half * (2.0 * k as f64 / (side - 1) as f64 - 1.0);
    let count = side.pow(dim as u32);
    let values = Array2::from_shape_fn((count, dim), |(row, i)| {
        place(if i == 0 {
            row / side.pow(dim as u32 - 1)
        } else {
            row % side
        })
    });
    Ensemble::from_array(values, 1.0)
        .unwrap()
        .with_names(names(dim))
        .unwrap()
}

pub(crate) fn provenance(data: &Ensemble) -> Provenance {
    Provenance::new(data, 7, json!({"recipe": "exact"}))
}

/// Coordinates as they are, confined to the states of `data`.
pub(crate) fn unscaled(data: &Ensemble) -> Confinement {
    let dim = data.dim();
    let standardiser = Standardiser::new(vec![0.0; dim], vec![1.0; dim]).unwrap();
    let support = Support::from_ensemble(data, &standardiser).unwrap();
    Confinement::new(standardiser, support).unwrap()
}

/// The score of ln p = Σ β z^α.
pub(crate) fn potential(
    confinement: Confinement,
    degree: usize,
    terms: &[(&str, f64)],
) -> ClosedFormScore {
    let dim = confinement.support().dim();
    let library = Monomials::new(&names(dim), 1..=degree).unwrap();
    let labels: Vec<String> = ergode::observable::Functions::labels(&library).to_vec();
    let beta = coefficients(labels.iter().map(String::as_str), terms);
    ClosedFormScore::new(Box::new(Gradients::new(library)), confinement, beta).unwrap()
}

/// The coefficients of the labels that are named, all others zero.
fn coefficients<'a>(labels: impl Iterator<Item = &'a str>, terms: &[(&str, f64)]) -> Array1<f64> {
    let labels: Vec<&str> = labels.collect();
    let mut values = Array1::zeros(labels.len());
    for (label, value) in terms {
        let place = labels.iter().position(|l| l == label);
        values[place.unwrap_or_else(|| panic!("{label} is not in {labels:?}"))] = *value;
    }
    values
}

pub(crate) fn polynomial_mobility(
    standardiser: &Standardiser,
    degrees: (usize, usize),
    terms: &[(&str, f64)],
) -> LinearMobility {
    let names = names(standardiser.mean.len());
    let basis = TensorBasis::polynomial(&names, standardiser, degrees.0, degrees.1, None).unwrap();
    let values = coefficients(basis.labels().collect::<Vec<_>>().into_iter(), terms);
    LinearMobility::new(basis, values).unwrap()
}

pub(crate) fn config(
    time: f64,
    dt: f64,
    save: f64,
    trajectories: usize,
    scheme: Scheme,
) -> SimulateConfig {
    SimulateConfig {
        time,
        dt,
        save_every: save,
        trajectories,
        seed: 11,
        scheme,
        burn_in: 5.0,
    }
}

pub(crate) fn simulate(model: &LangevinModel, config: &SimulateConfig) -> ModelRun {
    let run = simulate_model(model, config, &Control::new()).unwrap();
    assert!(run.simulation.failures.is_empty());
    run
}

/// ln p = −x²/2 − x⁴/8 − y²/2 with a mobility of degree two.
pub(crate) fn quartic_model(data: &Ensemble) -> LangevinModel {
    let confinement = unscaled(data);
    let mobility = polynomial_mobility(
        confinement.standardiser(),
        (2, 2),
        &[
            ("D[x,x] 1", 0.5),
            ("D[x,x] x^2", 0.4),
            ("D[x,x] y", 0.05),
            ("D[x,y] 1", 0.1),
            ("D[x,y] x*y", 0.1),
            ("D[y,y] 1", 0.6),
            ("D[y,y] y^2", 0.3),
            ("R[x,y] 1", 0.4),
            ("R[x,y] x", 0.6),
            ("R[x,y] y^2", 0.2),
        ],
    );
    let score = potential(
        confinement,
        4,
        &[("x^2", -0.5), ("x^4", -0.125), ("y^2", -0.5)],
    );
    let starts = Array2::from_shape_fn((9, 2), |(k, i)| [k / 3, k % 3][i] as f64 - 1.0);
    LangevinModel::new(names(2), score, mobility, starts, provenance(data)).unwrap()
}

/// Σ_j ∂_j M_ij by central differences.
fn divergence_by_differences(model: &LangevinModel, x: &[f64]) -> Vec<f64> {
    let (dim, step) = (model.dim(), 1e-5);
    let at = |j: usize, step: f64| {
        let mut moved = x.to_vec();
        moved[j] += step;
        let mut m = vec![0.0; dim * dim];
        model.mobility().mobility(&moved, &mut m);
        m
    };
    let mut out = vec![0.0; dim];
    for j in 0..dim {
        let (above, below) = (at(j, step), at(j, -step));
        for i in 0..dim {
            out[i] += (above[i * dim + j] - below[i * dim + j]) / (2.0 * step);
        }
    }
    out
}

#[test]
fn the_divergence_is_exact_inside_and_outside_the_box() {
    let data = filled_box(2, 2.0);
    let model = quartic_model(&data);
    let mut worst = 0f64;
    for x in [
        [0.3, -1.1],
        [2.5, 0.4],
        [-0.7, -3.0],
        [4.0, 5.0],
        [-2.2, 2.1],
    ] {
        let mut div = [0.0; 2];
        model.div_mobility(&x, &mut div);
        for (div, exact) in div.iter().zip(divergence_by_differences(&model, &x)) {
            worst = worst.max((div - exact).abs());
        }
    }
    assert!(worst < 1e-8, "{worst}");
    let mut inside = [0.0; 2];
    model.div_mobility(&[2.0, 0.4], &mut inside);
    let mut outside = [0.0; 2];
    model.div_mobility(&[2.5, 0.4], &mut outside);
    assert!(
        (inside[0] - outside[0]).abs() > 0.1,
        "∂_x D_xx stops at the box"
    );
}

/// Drift and noise of the form that is simulated are those of the model.
fn compare_forms(model: &LangevinModel, points: &[Vec<f64>], tolerance: f64) {
    let dim = model.dim();
    let equation = model.equation();
    let xi: Vec<f64> = (0..dim).map(|i| 0.7 - 1.3 * i as f64).collect();
    let [mut drift, mut noise, mut exact] = [(); 3].map(|()| vec![0.0; dim]);
    let mut sigma = vec![0.0; dim * dim];
    for x in points {
        equation.evaluate(x, &xi, &mut drift, &mut noise);
        model.drift(x, &mut exact);
        model.noise_amplitude(x, &mut sigma);
        for i in 0..dim {
            let kick: f64 = (0..dim).map(|j| sigma[i * dim + j] * xi[j]).sum();
            let (a, b) = ((drift[i] - exact[i]).abs(), (noise[i] - kick).abs());
            assert!(
                a < tolerance * (1.0 + exact[i].abs()),
                "drift at {x:?}: {a}"
            );
            assert!(b < tolerance * (1.0 + kick.abs()), "noise at {x:?}: {b}");
        }
    }
}

#[test]
fn the_simulated_form_is_the_model_in_and_out_of_the_samples() {
    let mut stream = Stream::new(3, ergode::random::Purpose::Analysis, 0);
    let mut points = |dim: usize| -> Vec<Vec<f64>> {
        let point = |_| (0..dim).map(|_| 2.0 * stream.normal()).collect();
        (0..200).map(point).collect()
    };
    let disc = sample(&Affine2d::default(), 200.0, 0.1, 8, 1);
    compare_forms(&quartic_model(&disc), &points(2), 1e-11);
    compare_forms(&indefinite_model(), &points(2), 1e-11);
    compare_forms(&cir_model().0, &points(1), 1e-9);
}

/// D_xx = 0.3 + 0.2 x is negative in a part of the samples.
fn indefinite_model() -> LangevinModel {
    let data = filled_box(2, 2.0);
    let confinement = unscaled(&data);
    let terms = [
        ("D[x,x] 1", 0.3),
        ("D[x,x] x", 0.2),
        ("D[y,y] 1", 0.5),
        ("D[x,y] 1", 0.05),
    ];
    let mobility = polynomial_mobility(confinement.standardiser(), (1, 1), &terms);
    let score = potential(confinement, 2, &[("x^2", -0.5), ("y^2", -0.5)]);
    let starts = Array2::zeros((3, 2));
    LangevinModel::new(names(2), score, mobility, starts, provenance(&data)).unwrap()
}

/// A strong circulation that grows outwards, over a disc of samples.
fn swirling_model() -> LangevinModel {
    let data = sample(&Affine2d::default(), 200.0, 0.1, 8, 1);
    let confinement = unscaled(&data);
    let terms = [
        ("D[x,x] 1", 0.3),
        ("D[y,y] 1", 0.3),
        ("R[x,y] 1", 2.0),
        ("R[x,y] x^2", 4.0),
        ("R[x,y] y^2", 4.0),
    ];
    let mobility = polynomial_mobility(confinement.standardiser(), (2, 2), &terms);
    let score = potential(confinement, 2, &[("x^2", -0.5), ("y^2", -0.5)]);
    let starts = Array2::zeros((3, 2));
    LangevinModel::new(names(2), score, mobility, starts, provenance(&data)).unwrap()
}

/// Far from the samples every model returns to them, where D is not positive and where R turns faster than the
/// step allows.
#[test]
fn states_far_outside_return() {
    let directions = [
        [1.0, 0.0],
        [-1.0, 0.0],
        [0.0, 1.0],
        [0.0, -1.0],
        [0.7, 0.7],
        [-0.7, 0.7],
    ];
    for model in [
        indefinite_model(),
        swirling_model(),
        quartic_model(&filled_box(2, 2.0)),
    ] {
        let starts = [2.0, 5.0, 10.0]
            .iter()
            .flat_map(|far| directions.map(|d| d.map(|x| 2.0 * far * x)));
        let starts: Vec<[f64; 2]> = starts.collect();
        let initial = Array2::from_shape_fn((starts.len(), 2), |(k, i)| starts[k][i]);
        let protocol = config(200.0, 0.01, 10.0, starts.len(), Scheme::Euler);
        let equation = model.equation();
        let run = simulate_ensemble(
            &*equation,
            &Initial::Given(initial),
            &protocol,
            &Control::new(),
        );
        let run = run.unwrap();
        assert_eq!(run.failures, []);
        for (trajectory, start) in run.ensemble.trajectories().iter().zip(&starts) {
            let mut last = [0.0; 2];
            trajectory.row(trajectory.len() - 1, &mut last);
            let distance = last[0].hypot(last[1]);
            assert!(distance < 6.0, "from {start:?} to {last:?}");
        }
    }
    // The twin: with the D of the fit the drift leads away.
    let model = indefinite_model();
    let (x, mut score, mut m, mut drift) = ([-8.0, 0.0], [0.0; 2], [0.0; 4], [0.0; 2]);
    model.score().score(&x, &mut score);
    model.drift(&x, &mut drift);
    let inside = [-2.0, 0.0];
    model.mobility().mobility(&inside, &mut m);
    assert!(
        m[0] * score[0] < 0.0 && drift[0] > 0.0,
        "{m:?} {score:?} {drift:?}"
    );
}

#[test]
fn an_indefinite_diffusion_is_repaired_and_counted() {
    let model = indefinite_model();
    let mut factor = [0.0; 4];
    // D_xx = −0.1: in standardised coordinates, here the raw ones, the floor is 0.4e-3.
    assert_eq!(model.noise_factor(&[-2.0, 0.0], &mut factor), 1);
    let d = [[-0.1f64, 0.05], [0.05, 0.5]];
    let (mean, half) = ((d[0][0] + d[1][1]) / 2.0, (d[1][1] - d[0][0]) / 2.0);
    let root = (half * half + d[0][1] * d[0][1]).sqrt();
    let high = mean + root;
    let floor = 1e-3 * 0.4;
    // The projector on the eigenvector of the larger eigenvalue.
    let p = (d[1][1] - (mean - root)) / (2.0 * root);
    let repaired = |i: usize, j: usize| {
        let projector = [
            [1.0 - p, d[0][1] / (2.0 * root)],
            [d[0][1] / (2.0 * root), p],
        ][i][j];
        floor * f64::from(u8::from(i == j)) + (high - floor) * projector
    };
    for (i, j) in [(0, 0), (1, 0), (1, 1)] {
        let value: f64 = (0..2).map(|k| factor[i * 2 + k] * factor[j * 2 + k]).sum();
        assert!(
            (value - repaired(i, j)).abs() < 1e-14,
            "({i}, {j}): {value}"
        );
    }
    assert_eq!(model.noise_factor(&[0.0, 0.0], &mut factor), 0);
    let run = simulate(&model, &config(20.0, 0.01, 0.1, 64, Scheme::Euler));
    let ensemble = &run.simulation.ensemble;
    let below = |k: usize| {
        rows(ensemble, k)
            .column(0)
            .iter()
            .filter(|x| **x < -1.46)
            .count()
    };
    let count: usize = (0..ensemble.len()).map(below).sum();
    let share = count as f64 / ensemble.samples() as f64;
    assert!(
        run.indefinite > 0.0 && run.indefinite <= share,
        "{} of {share}",
        run.indefinite
    );
}

/// The square-root process with its exact mobility γx and a fitted score.
fn cir_model() -> (LangevinModel, CoxIngersollRoss) {
    let system = CoxIngersollRoss::default();
    let data = sample(&system, 200.0, 0.1, 32, 5);
    let score = fit_potential_score(&data, &ClosedFormConfig::default(), &Control::new()).unwrap();
    let standardiser = score.confinement().standardiser().clone();
    let (mean, scale) = (standardiser.mean[0], standardiser.scale[0]);
    let terms = [
        ("D[x,x] 1", system.gamma * mean / (scale * scale)),
        ("D[x,x] x", system.gamma / scale),
    ];
    let mobility = polynomial_mobility(&standardiser, (1, 0), &terms);
    let starts = rows(&data, 0).to_owned();
    let model = LangevinModel::new(names(1), score, mobility, starts, provenance(&data));
    (model.unwrap(), system)
}

#[test]
fn the_square_root_process_runs_beyond_its_samples() {
    let (model, system) = cir_model();
    let mut m = [0.0];
    model.mobility().mobility(&[-0.5], &mut m);
    assert!(m[0] > 0.0, "M is that of the smallest sample: {}", m[0]);
    model.mobility().mobility(&[1.0], &mut m);
    assert!((m[0] - system.gamma).abs() < 1e-12);
    let run = simulate(&model, &config(100.0, 0.01, 0.1, 64, Scheme::Euler));
    assert_eq!(run.indefinite, 0.0);
    let mean = lagged(&run.simulation.ensemble, |x| x[0], |_| 1.0, 0, 0);
    let exact = system.moment(1);
    println!(
        "out of support {}, mean {} ± {}",
        run.out_of_support, mean.mean, mean.error
    );
    assert!((mean.mean - exact).abs() < 0.05 * exact + 3.0 * mean.error);
    assert!(run.out_of_support < 0.02, "{}", run.out_of_support);
}

/// A model of two networks that were never trained, with a mobility that does depend on the state.
pub(crate) fn neural_model(hidden: &[usize]) -> LangevinModel {
    let data = sample(&Affine2d::default(), 50.0, 0.1, 8, 2);
    let mut score = ergode::score::DenoisingConfig {
        hidden: hidden.to_vec(),
        extrapolate: false,
        ..Default::default()
    };
    score.train.steps = 40;
    let control = Control::new();
    let score = ergode::score::fit_denoising_score(&data, &score, None, &control).unwrap();
    let phi = ndarray::array![[0.2, 0.18], [-0.07, 0.16]];
    let settings = NeuralMobilityConfig {
        hidden: hidden.to_vec(),
        ..Default::default()
    };
    let mut widths = vec![2];
    widths.extend(hidden);
    widths.push(4);
    let mobility = NeuralMobility::new(&data, phi.view(), &settings)
        .unwrap()
        .with_network(Mlp::new(&widths, 9).unwrap())
        .unwrap();
    let starts = rows(&data, 0).to_owned();
    LangevinModel::new(names(2), score, mobility, starts, provenance(&data)).unwrap()
}

#[test]
fn a_model_of_parts_that_do_not_fit_is_refused() {
    let data = filled_box(2, 5.0);
    let score = || potential(unscaled(&data), 2, &[("x^2", -0.5), ("y^2", -0.5)]);
    let refuse = |m: Array2<f64>, starts: Array2<f64>| {
        let model = LangevinModel::new(names(2), score(), m, starts, provenance(&data));
        let error = model.unwrap_err();
        assert!(error.is_bad_input());
        error.to_string()
    };
    let starts = || Array2::zeros((4, 2));
    assert!(refuse(Array2::eye(3), starts()).contains("same data"));
    assert!(refuse(Array2::zeros((2, 3)), starts()).contains("square"));
    assert!(refuse(-Array2::<f64>::eye(2), starts()).contains("positive"));
    assert!(refuse(Array2::eye(2), Array2::zeros((0, 2))).contains("start state"));
    assert!(refuse(Array2::eye(2), Array2::from_elem((1, 2), f64::NAN)).contains("finite"));
    assert_eq!(score().dim(), 2);
}
