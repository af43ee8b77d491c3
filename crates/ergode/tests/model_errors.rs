//! Standard errors of the fields of a model: coverage of the exact answers, and what they are made of.

use std::fs;

use ergode::lagged::{Blocking, LaggedConfig};
use ergode::mobility::{RecipeConfig, fit_mobility_recipe};
use ergode::score::{ClosedFormConfig, fit_potential_score};
use ergode::systems::{
    Affine2d, ExactFields, OrnsteinUhlenbeck, OrnsteinUhlenbeckParameters, System,
};
use ergode::{BurnIn, Control, Ensemble, LangevinModel, ModelField};
use ndarray::array;
use rayon::prelude::*;
use serde_json::Value;

use crate::model::{neural_model, provenance};
use crate::support::{Estimate, Z_BOUND, affine_reference, rows, sample};

/// Trajectories of a record, each a block.
const BLOCKS: usize = 32;

/// The probability that |t| < 1.96 for Student's t with 31 degrees of freedom, those of an error from 32
/// blocks.
const COVERAGE: f64 = 0.941;

/// Degrees of the potential and of D and R.
type Degrees = (usize, (usize, usize));

/// Score and mobility of these degrees without a ridge, so that the span is all that may be wrong.
fn learn(data: &Ensemble, degrees: Degrees, blocking: Blocking) -> LangevinModel {
    learn_by(RecipeConfig::default(), data, degrees, blocking)
}

/// The same with a drift that is made with the score, as where some coordinates may be delayed.
fn learn_with_score(data: &Ensemble, degrees: Degrees, blocking: Blocking) -> LangevinModel {
    let of_leading = RecipeConfig {
        leading: Some(data.dim()),
        ..RecipeConfig::default()
    };
    learn_by(of_leading, data, degrees, blocking)
}

fn learn_by(
    recipe: RecipeConfig,
    data: &Ensemble,
    (potential, degrees): Degrees,
    blocking: Blocking,
) -> LangevinModel {
    let control = Control::new();
    let mut closed = ClosedFormConfig {
        degrees: vec![potential],
        ridges: vec![0.0],
        ..ClosedFormConfig::default()
    };
    closed.statistics.blocking = blocking;
    let recipe = RecipeConfig {
        degrees: Some(degrees),
        horizon: Some(1.0),
        ridges: vec![0.0],
        statistics: LaggedConfig {
            blocking: match blocking {
                Blocking::Auto => blocking,
                _ => Blocking::Trajectories,
            },
            ..LaggedConfig::default()
        },
        ..recipe
    };
    let score = fit_potential_score(data, &closed, &control).unwrap();
    let mobility = fit_mobility_recipe(data, &recipe, &control).unwrap();
    let (starts, names) = (rows(data, 0).to_owned(), data.names().to_vec());
    let mobility = mobility.fit.mobility;
    LangevinModel::new(names, score, mobility, starts, provenance(data)).unwrap()
}

fn values(model: &LangevinModel, field: ModelField, x: &[f64]) -> Vec<f64> {
    let mut out = vec![0.0; x.len() / 2 * 2usize.pow(field.rank() as u32)];
    model.field(field, x, &mut out);
    out
}

fn errors(model: &LangevinModel, field: ModelField, x: &[f64]) -> Vec<f64> {
    let mut out = vec![0.0; x.len() / 2 * 2usize.pow(field.rank() as u32)];
    model.field_error(field, x, &mut out).unwrap();
    out
}

/// A field of a reference system at one state.
fn exact(fields: &dyn ExactFields, field: ModelField, x: &[f64]) -> Vec<f64> {
    let (mut s, mut m, mut div) = ([0.0; 2], [0.0; 4], [0.0; 2]);
    fields.score(x, &mut s);
    fields.mobility(x, &mut m);
    fields.div_mobility(x, &mut div);
    match field {
        ModelField::Score => s.to_vec(),
        ModelField::Mobility => m.to_vec(),
        ModelField::DivMobility => div.to_vec(),
        ModelField::Diffusion => vec![m[0], 0.5 * (m[1] + m[2]), 0.5 * (m[1] + m[2]), m[3]],
        ModelField::Drift => (0..2)
            .map(|i| m[2 * i] * s[0] + m[2 * i + 1] * s[1] + div[i])
            .collect(),
    }
}

/// For every seed and field, (field − exact)/error at the states, all components.
fn deviations(
    system: &dyn System,
    truth: &dyn ExactFields,
    (time, interval): (f64, f64),
    degrees: Degrees,
    states: &[[f64; 2]],
    seeds: std::ops::Range<u64>,
) -> Vec<Vec<Vec<f64>>> {
    let n = states.len();
    let tile: Vec<f64> = (0..2)
        .flat_map(|i| states.iter().map(move |x| x[i]))
        .collect();
    let of_seed = |seed: u64| {
        let data = sample(system, time + 10.0, interval, BLOCKS, seed);
        let data = data.burn_in(BurnIn::Time(10.0)).unwrap();
        let model = learn(&data, degrees, Blocking::Auto);
        assert!(states.iter().all(|x| model.in_support(x)), "seed {seed}");
        let of_field = |field: &ModelField| {
            let (found, error) = (values(&model, *field, &tile), errors(&model, *field, &tile));
            let truth: Vec<_> = states.iter().map(|x| exact(truth, *field, x)).collect();
            let z = |k: usize| (found[k] - truth[k % n][k / n]) / error[k];
            (0..found.len())
                .filter(|k| error[*k] > 0.0)
                .map(z)
                .collect()
        };
        ModelField::ALL.iter().map(of_field).collect()
    };
    let seeds: Vec<u64> = seeds.collect();
    seeds.into_par_iter().map(of_seed).collect()
}

/// The fraction of fields within 1.96 standard errors of the exact ones, a block per seed: that of Student's
/// t; with half the errors it is not.
fn assert_coverage(all: &[Vec<Vec<f64>>], fields: &[ModelField]) {
    for field in fields {
        let k = ModelField::ALL.iter().position(|f| f == field).unwrap();
        let covered = |bound: f64| {
            let of_seed = |fields: &Vec<Vec<f64>>| {
                let inside = fields[k].iter().filter(|z| z.abs() < bound).count();
                inside as f64 / fields[k].len() as f64
            };
            Estimate::new(&all.iter().map(of_seed).collect::<Vec<_>>())
        };
        let (found, twin) = (covered(1.96), covered(0.98));
        let z = [found.z(COVERAGE), twin.z(COVERAGE)];
        println!(
            "{}: coverage {:.3} +- {:.3}, z {:.1}; with half the errors {:.3}, z {:.1}",
            field.name(),
            found.mean,
            found.error,
            z[0],
            twin.mean,
            z[1]
        );
        assert!(z[0].abs() < Z_BOUND, "{}: {found:?}", field.name());
        assert!(z[1] < -Z_BOUND, "{}: the twin, {twin:?}", field.name());
    }
}

/// A linear drift and a constant mobility are in the span.
#[test]
fn slow_errors_of_a_linear_process_cover_the_exact_fields() {
    let system = OrnsteinUhlenbeck::new(OrnsteinUhlenbeckParameters::default()).unwrap();
    let states = [
        [0.0, 0.0],
        [1.0, 0.0],
        [-0.8, 0.3],
        [0.4, -0.6],
        [-1.2, -0.4],
        [0.9, 0.7],
    ];
    let all = deviations(&system, &system, (40.0, 0.1), (2, (0, 0)), &states, 0..96);
    // ∇·M is zero without error.
    assert_coverage(&all, &ModelField::ALL[..4]);
}

/// D is a polynomial of degree two; ln p and R are none, but of degrees 8 and 4 near enough to them in the
/// bulk of the samples for a record of this length.
#[test]
fn slow_errors_of_the_affine_system_cover_the_exact_fields() {
    let states = [
        [0.0, 0.0],
        [0.4, 0.1],
        [-0.3, 0.4],
        [0.1, -0.5],
        [-0.5, -0.2],
        [0.5, 0.5],
    ];
    let (system, degrees) = (Affine2d::default(), (8, (2, 4)));
    let reference = affine_reference();
    let all = deviations(&system, reference, (60.0, 0.1), degrees, &states, 0..24);
    assert_coverage(&all, &ModelField::ALL);
}

/// The errors are those of fits without each block in turn: of the score to rounding, of M as far as one step
/// of the solver goes, of the drift with the correlation between the two. With other blocks for the score its
/// part and that of M add in quadrature, which is another number here.
#[test]
fn errors_are_those_of_fits_without_a_block() {
    const FEW: usize = 16;
    let system = OrnsteinUhlenbeck::new(OrnsteinUhlenbeckParameters::default()).unwrap();
    let data = sample(&system, 100.0, 0.1, FEW, 3);
    let (degrees, x) = ((2, (0, 0)), [1.0, 0.0, -1.0, 0.0, 1.0, 0.8]);
    let model = learn_with_score(&data, degrees, Blocking::Trajectories);
    let without = |skip: usize| {
        let others: Vec<usize> = (0..FEW).filter(|k| *k != skip).collect();
        learn_with_score(
            &data.select(&others).unwrap(),
            degrees,
            Blocking::Trajectories,
        )
    };
    let others: Vec<LangevinModel> = (0..FEW).into_par_iter().map(without).collect();
    let apart = learn_with_score(&data, degrees, Blocking::PerTrajectory(2));
    for (field, tolerance) in [
        (ModelField::Score, 1e-3),
        (ModelField::Drift, 0.3),
        (ModelField::Mobility, 0.3),
        (ModelField::Diffusion, 0.3),
    ] {
        let replicates: Vec<_> = others.iter().map(|m| values(m, field, &x)).collect();
        let largest = |found: Vec<f64>| {
            let ratio = |(k, error): (usize, &f64)| {
                let spread: Vec<f64> = replicates.iter().map(|values| values[k]).collect();
                // (B − 1)/B Σ (f_b − f̄)² is (B − 1)² times the variance of the mean of the f_b.
                let expected = (FEW - 1) as f64 * Estimate::new(&spread).error;
                (error / expected - 1.0).abs()
            };
            found.iter().enumerate().map(ratio).fold(0.0, f64::max)
        };
        let together = largest(errors(&model, field, &x));
        let in_quadrature = largest(errors(&apart, field, &x));
        println!("{}: {together:.4} {in_quadrature:.2}", field.name());
        assert!(together < tolerance, "{}: {together}", field.name());
        assert!(field != ModelField::Drift || in_quadrature > 2.0 * tolerance);
    }
}

/// Errors are saved with a model. One that was saved without them is read, and has none; errors of another
/// number of coefficients are refused.
#[test]
fn errors_come_back_to_the_bit_or_are_missing() {
    let data = sample(&Affine2d::default(), 60.0, 0.1, 16, 2);
    let model = learn_with_score(&data, (4, (1, 1)), Blocking::Auto);
    let x = [0.1, 0.5, 3.0, -0.2, 0.4, -2.0];
    let folder = tempfile::tempdir().unwrap();
    model.save(folder.path()).unwrap();
    let read = || LangevinModel::load(folder.path());
    for field in ModelField::ALL {
        assert_eq!(
            errors(&model, field, &x),
            errors(&read().unwrap(), field, &x)
        );
    }
    let path = folder.path().join("model.json");
    let description: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    let write = |change: &dyn Fn(&mut Value)| {
        let mut changed = description.clone();
        // Models of versions without errors have no such checksum either.
        remove_checksum(&mut changed);
        change(&mut changed);
        fs::write(&path, changed.to_string()).unwrap();
    };
    let [score, mobility] = ["/score/closed-form", "/mobility/linear"];
    let remove = |value: &mut Value, part: &str, key: &str| {
        let part = value.pointer_mut(part).unwrap().as_object_mut().unwrap();
        assert!(part.remove(key).is_some(), "{key}");
    };
    write(&|value| remove(value, score, "replicates"));
    let old = read().unwrap();
    let known = |model: &LangevinModel| ModelField::ALL.map(|f| model.without_error(f).is_none());
    assert_eq!(known(&old), [false, false, true, true, true]);
    assert_eq!(
        values(&old, ModelField::Drift, &x),
        values(&model, ModelField::Drift, &x)
    );
    let refused = old.field_error(ModelField::Drift, &x, &mut [0.0; 6]);
    let message = refused.unwrap_err().to_string();
    assert!(
        message.contains("error of drift is not known: the score"),
        "{message}"
    );
    write(&|value| remove(value, mobility, "errors"));
    assert_eq!(known(&read().unwrap()), [true, false, false, false, false]);
    write(&|value| {
        let other = value
            .pointer("/score/closed-form/replicates")
            .unwrap()
            .clone();
        value["mobility"]["linear"]["errors"] = other;
    });
    let message = read().unwrap_err().to_string();
    assert!(message.contains("but there are"), "{message}");

    let phi = array![[0.3, 0.1], [-0.2, 0.4]];
    let closure = model.with_constant_mobility(phi.view()).unwrap();
    assert_eq!(known(&closure), [true, false, false, false, false]);
    let network = neural_model(&[8]);
    let message = network.without_error(ModelField::Mobility).unwrap();
    assert!(message.contains("network"), "{message}");
}

fn remove_checksum(description: &mut Value) {
    let entries = description.as_object_mut().unwrap();
    assert!(entries.remove("description_checksum").is_some());
}
