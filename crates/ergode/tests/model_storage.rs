//! Models written to a folder and read again.

use std::fs;
use std::path::Path;

use ergode::data::{Standardiser, Support};
use ergode::mobility::{LatticeMobility, LinearMobility, TensorBasis};
use ergode::observable::{LatticePotential, Monomials};
use ergode::random::Stream;
use ergode::score::{ClosedFormScore, Confinement, Gradients, SpinFields, VectorFields};
use ergode::systems::SoftSpin;
use ergode::{Ensemble, LangevinModel};
use ndarray::{Array1, Array2, array};
use serde_json::Value;
use tempfile::tempdir;

use crate::model::{
    filled_box, names, neural_model, polynomial_mobility, potential, provenance, unscaled,
};
use crate::support::{rows, sample};

/// Drift, Σ and ∇·M at some states, to the bit.
fn fields(model: &LangevinModel) -> Vec<u64> {
    let (dim, n) = (model.dim(), 50);
    let mut stream = Stream::new(4, ergode::random::Purpose::Analysis, 0);
    let x: Vec<f64> = (0..dim * n).map(|_| 0.8 * stream.normal()).collect();
    let (mut drift, mut div) = (vec![0.0; dim * n], vec![0.0; dim * n]);
    let mut sigma = vec![0.0; dim * dim * n];
    model.drift(&x, &mut drift);
    model.div_mobility(&x, &mut div);
    model.noise_factor(&x, &mut sigma);
    let all = drift.iter().chain(&div).chain(&sigma);
    all.map(|v| v.to_bits()).collect()
}

fn round_trip(model: &LangevinModel) {
    let folder = tempdir().unwrap();
    let run = folder.path().join("new").join("run");
    model.save(&run).unwrap();
    let read = LangevinModel::load(&run).unwrap();
    assert_eq!(fields(model), fields(&read));
    assert_eq!(model.names(), read.names());
    assert_eq!(model.starts(), read.starts());
    assert_eq!(model.provenance(), read.provenance());
    let mut files: Vec<_> = fs::read_dir(&run)
        .unwrap()
        .map(|f| f.unwrap().file_name())
        .collect();
    files.sort();
    assert_eq!(files, ["model.json", "model.safetensors"]);
}

fn polynomial_model() -> LangevinModel {
    let data = filled_box(2, 3.0);
    let confinement = unscaled(&data);
    let terms = [
        ("D[x,x] 1", 0.5),
        ("D[x,x] x^2", 0.1 / 3.0),
        ("D[y,y] 1", 0.6),
        ("R[x,y] y", 0.3),
    ];
    let mobility = polynomial_mobility(confinement.standardiser(), (2, 1), &terms);
    let score = potential(
        confinement,
        4,
        &[("x^2", -1.0 / 3.0), ("y^4", -0.1), ("x*y", 0.05)],
    );
    let starts = Array2::from_shape_fn((40, 2), |(k, i)| (k as f64 / 7.0 + i as f64).sin());
    LangevinModel::new(names(2), score, mobility, starts, provenance(&data)).unwrap()
}

#[test]
fn polynomial_constant_and_neural_models_come_back_to_the_bit() {
    let model = polynomial_model();
    round_trip(&model);
    let phi = array![[0.3, 0.1], [-0.2, 0.4]];
    round_trip(&model.with_constant_mobility(phi.view()).unwrap());
    round_trip(&neural_model(&[16, 16]));
}

/// A chain with the exact mobility of a spin and the given fields of the score.
fn chain(data: &Ensemble, fields: Box<dyn VectorFields>, beta: Array1<f64>) -> LangevinModel {
    let dim = data.dim();
    let standardiser = Standardiser::new(vec![0.0; dim], vec![1.0; dim]).unwrap();
    let support = Support::lattice(data, &standardiser, 3).unwrap();
    let confinement = Confinement::new(standardiser, support).unwrap();
    let score = ClosedFormScore::new(fields, confinement, beta).unwrap();
    let onsite = LinearMobility::new(TensorBasis::spin(), array![0.002, 0.05, 0.006, -0.8]);
    let mobility = LatticeMobility::new(dim / 3, onsite.unwrap()).unwrap();
    let starts = rows(data, 0).to_owned();
    LangevinModel::new(
        data.names().to_vec(),
        score,
        mobility,
        starts,
        provenance(data),
    )
    .unwrap()
}

#[test]
fn models_on_a_lattice_come_back_to_the_bit() {
    let system = SoftSpin::default();
    let data = sample(&system, 20.0, 0.05, 2, 3);
    let sites = data.dim() / 3;
    let beta = array![50.0, -50.0, 1.75, 2.5];
    round_trip(&chain(
        &data,
        Box::new(SpinFields::new(sites).unwrap()),
        beta,
    ));
    let site = ["x", "y", "z"].map(String::from);
    let onsite = Monomials::new(&site, 2..=4).unwrap();
    let library = LatticePotential::new(sites, onsite, &[1]).unwrap();
    let fields = Gradients::new(library);
    let beta = (0..fields.labels().len())
        .map(|k| -0.1 - k as f64 / 90.0)
        .collect();
    round_trip(&chain(&data, Box::new(fields), beta));
}

/// What loading says after `damage` to the folder of a saved model.
fn refusal(damage: impl FnOnce(&Path)) -> String {
    let folder = tempdir().unwrap();
    polynomial_model().save(folder.path()).unwrap();
    damage(folder.path());
    let error = LangevinModel::load(folder.path()).unwrap_err();
    assert!(error.is_bad_input(), "{error}");
    error.to_string()
}

/// Replace text in `model.json`.
fn edit(folder: &Path, from: &str, to: &str) {
    let path = folder.join("model.json");
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains(from), "{from} is not in {text}");
    fs::write(&path, text.replacen(from, to, 1)).unwrap();
}

#[test]
fn damage_is_named_with_what_to_do() {
    let expect = |message: String, parts: &[&str]| {
        for part in parts {
            assert!(message.contains(part), "\"{part}\" is not in: {message}");
        }
    };
    let tensors = |folder: &Path| folder.join("model.safetensors");
    expect(
        refusal(|folder| edit(folder, "\"format\": 1", "\"format\": 9")),
        &["format 9", "reads format 1", env!("CARGO_PKG_VERSION")],
    );
    expect(
        refusal(|folder| {
            let file = fs::read(tensors(folder)).unwrap();
            fs::write(tensors(folder), &file[..file.len() / 2]).unwrap();
        }),
        &[
            "model.safetensors",
            "truncated, changed",
            "save the model again",
        ],
    );
    expect(
        refusal(|folder| {
            let mut file = fs::read(tensors(folder)).unwrap();
            *file.last_mut().unwrap() ^= 1;
            fs::write(tensors(folder), &file).unwrap();
        }),
        &["truncated, changed"],
    );
    expect(
        refusal(|folder| edit(folder, "\"array\": \"starts\"", "\"array\": \"begin\"")),
        &["\"begin\"", "that is not in model.safetensors"],
    );
    expect(
        refusal(|folder| {
            edit(
                folder,
                "\"starts\": {\n    \"array\": \"starts\",\n    \"shape\": [\n      40",
                "\"starts\": {\n    \"array\": \"starts\",\n    \"shape\": [\n      20",
            )
        }),
        &["\"starts\" of shape [20, 2]", "[40, 2]"],
    );
    expect(
        refusal(|folder| fs::remove_file(tensors(folder)).unwrap()),
        &["model.safetensors", "does not exist"],
    );
    expect(
        refusal(|folder| fs::remove_file(folder.join("model.json")).unwrap()),
        &["model.json", "does not exist"],
    );
    expect(
        refusal(|folder| edit(folder, "{", "")),
        &["model.json", "is not the description of a model"],
    );
    expect(
        refusal(|folder| edit(folder, "\"x\"", "\"x\", \"y\"")),
        &["3 names", "same data"],
    );
}

#[test]
fn a_score_in_fields_of_ones_own_is_refused() {
    let data = filled_box(2, 3.0);
    let expressions =
        ergode::observable::Expressions::parse(&["x^2", "y^2"], &names(2), &[]).unwrap();
    let fields = Box::new(Gradients::new(expressions));
    let score = ClosedFormScore::new(fields, unscaled(&data), array![-0.5, -0.5]).unwrap();
    let starts = Array2::zeros((1, 2));
    let model = LangevinModel::new(names(2), score, Array2::eye(2), starts, provenance(&data));
    let folder = tempdir().unwrap();
    let error = model.unwrap().save(folder.path()).unwrap_err();
    assert!(
        error.to_string().contains("cannot be written to a file"),
        "{error}"
    );
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// Doubles the first number with a fraction.
fn double(value: &mut Value) -> bool {
    match value {
        Value::Number(number) if number.is_f64() && number.as_f64() != Some(0.0) => {
            *value = Value::from(2.0 * number.as_f64().unwrap());
            true
        }
        Value::Array(list) => list.iter_mut().any(double),
        Value::Object(map) => map.values_mut().any(double),
        _ => false,
    }
}

#[test]
fn a_description_that_was_changed_by_hand_is_refused() {
    let rewrite = |folder: &Path, change: &dyn Fn(&mut Value)| {
        let path = folder.join("model.json");
        let mut description: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        change(&mut description);
        fs::write(&path, description.to_string()).unwrap();
    };
    let changes: [&dyn Fn(&mut Value); 3] = [
        &|value| assert!(double(&mut value["score"])),
        &|value| value["provenance"]["seed"] = 77.into(),
        &|value| value["names"] = serde_json::json!(["x", "z"]),
    ];
    for change in changes {
        let message = refusal(|folder| rewrite(folder, change));
        assert!(
            message.contains("model.json: was changed after it was written"),
            "{message}"
        );
    }
    // The twin: laid out anew, but the same.
    let folder = tempdir().unwrap();
    let model = polynomial_model();
    model.save(folder.path()).unwrap();
    rewrite(folder.path(), &|_| {});
    let read = LangevinModel::load(folder.path()).unwrap();
    assert_eq!(fields(&model), fields(&read));
}
