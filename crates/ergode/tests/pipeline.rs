//! From data to a verdict in one call.

use std::path::Path;

use ergode::finding::{Finding, FindingKind, Severity};
use ergode::report::{Part, run_page};
use ergode::systems::{Affine2d, OrnsteinUhlenbeck, OrnsteinUhlenbeckParameters, SoftSpin};
use ergode::{
    Control, Ensemble, FitConfig, FitOptions, Fitted, LangevinModel, ModelField, Recipe, Results,
    RunFolder, Trajectory, Values, Verdict, fit_with,
};
use ndarray::Axis;

use crate::support::{Z_BOUND, affine_reference, rows, sample};

fn fit(data: &Ensemble, config: &FitConfig, folder: &Path) -> ergode::Result<Fitted> {
    fit_in(data, config, folder, &Control::new())
}

fn fit_in(
    data: &Ensemble,
    config: &FitConfig,
    folder: &Path,
    control: &Control,
) -> ergode::Result<Fitted> {
    let folder = RunFolder::open(folder)?;
    let options = FitOptions {
        folder: Some(&folder),
        control: Some(control),
        ..FitOptions::default()
    };
    fit_with(data, config, options)
}

/// The results without the times that they took.
fn timeless(results: &Results) -> Results {
    Results {
        wall_s: Default::default(),
        ..results.clone()
    }
}

fn rotating() -> OrnsteinUhlenbeck {
    OrnsteinUhlenbeck::new(OrnsteinUhlenbeckParameters {
        drift: vec![vec![1.0, 0.8], vec![-0.8, 1.0]],
        diffusion: vec![vec![1.0, 0.0], vec![0.0, 1.0]],
        mean: vec![0.0, 0.0],
    })
    .unwrap()
}

/// Stopped while it learns, simulates and judges: the last call gives what one call
/// without interruption gives, bit for bit, and repeats no finished stage.
#[test]
fn slow_a_stopped_fit_goes_on_to_the_same_result() {
    let data = sample(&rotating(), 100.0, 0.1, 16, 3);
    let mut config = FitConfig::default();
    config.simulate.dt = Some(0.02);
    let (whole, broken) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let expected = fit(&data, &config, whole.path()).unwrap();
    for stage in ["learning the mobility", "simulating", "validating"] {
        let control = Control::new();
        control.stop_at(stage);
        let stopped = fit_in(&data, &config, broken.path(), &control);
        assert!(stopped.unwrap_err().is_interrupted());
        assert_eq!(control.current_stage(), stage);
        assert!(!broken.path().join("results.json").exists());
    }
    let found = fit(&data, &config, broken.path()).unwrap();
    let log = std::fs::read_to_string(broken.path().join("log.jsonl")).unwrap();
    let begun = |stage: &str| {
        log.matches(&format!(r#""begun":true,"stage":"{stage}""#))
            .count()
    };
    // The step is given, so that choosing it takes no time to be stopped in.
    let counts = (begun("model"), begun("steps"), begun("validation"));
    assert_eq!(counts, (2, 1, 2), "{log}");
    assert_eq!(timeless(found.results()), timeless(expected.results()));
    assert_eq!(found.validation(), expected.validation());
    for file in [
        "model.safetensors",
        "model.json",
        "config.toml",
        "constant/model.safetensors",
    ] {
        let read = |folder: &Path| std::fs::read(folder.join(file)).unwrap();
        assert!(read(whole.path()) == read(broken.path()), "{file}");
    }
    // Another seed is another fit.
    let other = FitConfig { seed: 1, ..config };
    let other = fit(&data, &other, broken.path()).unwrap();
    assert_ne!(timeless(other.results()), timeless(expected.results()));
}

/// The model of a run is in its folder, complete; a folder that another run writes to is refused.
#[test]
fn a_run_is_a_folder() {
    let data = sample(&rotating(), 100.0, 0.1, 16, 4);
    let folder = tempfile::tempdir().unwrap();
    let fitted = fit(&data, &FitConfig::default(), folder.path()).unwrap();
    assert_eq!(fitted.results().validation.verdict, Verdict::Pass);
    let model = LangevinModel::load(folder.path()).unwrap();
    let (x, mut a, mut b) = ([0.3, -0.2], [0.0; 2], [0.0; 2]);
    fitted.model.drift(&x, &mut a);
    model.drift(&x, &mut b);
    assert_eq!(a, b);
    let text = std::fs::read_to_string(folder.path().join("config.toml")).unwrap();
    assert_eq!(FitConfig::from_toml(&text).unwrap(), FitConfig::default());
    let html = std::fs::read_to_string(folder.path().join("report.html")).unwrap();
    assert!(html.contains("held-out data to within their sampling error"));
    // A folder changes nothing but where the results are.
    let memory = ergode::fit(&data, &FitConfig::default()).unwrap();
    assert_eq!(timeless(memory.results()), timeless(fitted.results()));
    assert_eq!(memory.validation(), fitted.validation());
    // All of it is read back.
    let read = Fitted::load(folder.path()).unwrap();
    assert_eq!(read.results(), fitted.results());
    assert_eq!(read.validation(), fitted.validation());
    assert!(read.page().html() == fitted.page().html());
    let message = Fitted::load(&folder.path().join("constant")).unwrap_err();
    assert!(message.is_bad_input() && message.to_string().contains("finished `ergode fit`"));
    // A run of another layout is refused by name of its version, and its page is left alone.
    let record = folder.path().join("stages/record.json");
    let kept = std::fs::read(&record).unwrap();
    std::fs::remove_file(&record).unwrap();
    let error = Fitted::load(folder.path()).unwrap_err();
    assert!(
        error.is_bad_input() && error.to_string().contains("ergode 0.1.0 wrote this run"),
        "{error}"
    );
    std::fs::write(&record, kept).unwrap();
    let held = RunFolder::open(folder.path()).unwrap();
    let message = RunFolder::open(folder.path()).unwrap_err().to_string();
    assert!(message.contains("another run is writing"), "{message}");
    drop(held);
    // A damaged model is learned anew.
    std::fs::write(folder.path().join("model.safetensors"), b"short").unwrap();
    let again = fit(&data, &FitConfig::default(), folder.path()).unwrap();
    assert_eq!(timeless(again.results()), timeless(fitted.results()));
}

/// A part that could not be computed leaves a note on the page.
#[test]
fn a_missing_part_is_noted_on_the_page() {
    let data = sample(&rotating(), 60.0, 0.1, 8, 4);
    let folder = tempfile::tempdir().unwrap();
    let mut record = fit(&data, &FitConfig::default(), folder.path())
        .unwrap()
        .record;
    let note = "Time scales were not computed: the record is too short.";
    assert!(!run_page(&record).html().contains(note));
    record.evidence.spectrum = Part::Missing("the record is too short".into());
    let html = run_page(&record).html();
    assert!(
        html.contains(note) && html.contains("Entropy production"),
        "{html}"
    );
}

/// One coordinate of a rotating pair is not Markov, and forty decorrelation times are too few: the
/// verdict says so, whatever the model reproduces.
#[test]
fn slow_data_that_no_model_can_be_trusted_on_do_not_pass() {
    let folder = tempfile::tempdir().unwrap();
    let slow = OrnsteinUhlenbeck::new(OrnsteinUhlenbeckParameters {
        drift: vec![vec![0.0, -1.0], vec![1.0, 0.6]],
        diffusion: vec![vec![0.01, 0.0], vec![0.0, 0.6]],
        mean: vec![0.0, 0.0],
    })
    .unwrap();
    let both = sample(&slow, 500.0, 0.1, 16, 5);
    let first = both.trajectories().iter().map(|trajectory| {
        let Values::F64(values) = trajectory.values() else {
            unreachable!("simulations are in double precision")
        };
        let column = values.slice_axis(Axis(1), (0..1).into()).to_owned();
        Trajectory::new(column, trajectory.times().clone())
    });
    let hidden = Ensemble::new(first.collect()).unwrap();
    let fitted = fit(
        &hidden,
        &FitConfig::default(),
        &folder.path().join("hidden"),
    )
    .unwrap();
    let validation = &fitted.results().validation;
    println!("hidden: {:?} {:#?}", validation.verdict, validation.reasons);
    assert_ne!(validation.verdict, Verdict::Pass);

    let short = sample(&rotating(), 40.0, 0.1, 2, 6);
    let fitted = fit(&short, &FitConfig::default(), &folder.path().join("short")).unwrap();
    let validation = &fitted.results().validation;
    println!("short: {:?} {:#?}", validation.verdict, validation.reasons);
    assert_ne!(validation.verdict, Verdict::Pass);
}

/// The weak recipe on a tenth of the paper's data: correlations inside and outside the fit and densities
/// at the noise floor, the constant closure far from it; the truth is measured where it is known.
#[test]
fn slow_affine_data_are_learned_to_their_noise_floor() {
    let data = sample(&Affine2d::default(), 600.0, 0.05, 36, 7);
    let reference = affine_reference();
    let mut config = FitConfig::default();
    config.mobility.recipe = Recipe::Weak;
    let options = FitOptions {
        exact: Some(reference as _),
        ..FitOptions::default()
    };
    let fitted = fit_with(&data, &config, options).unwrap();
    let (validation, truth) = (
        &fitted.results().validation,
        fitted.results().truth.unwrap(),
    );
    println!("{validation:#?} {truth:?} {:?}", fitted.results().wall_s);
    assert_eq!(validation.verdict, Verdict::Pass);
    assert!(validation.rmse_over_floor < 1.15);
    assert!(validation.other_over_floor < 1.3);
    assert!(validation.density_l1 < 1.3 * validation.density_l1_floor);
    assert!(validation.constant_rmse.unwrap() > 1.5 * validation.noise_floor);
    assert!(truth.diffusion_rel_l2 < 0.03 && truth.current_rel_l2.unwrap() < 0.06);
    assert!(truth.score_rel_l2 < 0.06);
}

/// A ring of spins is learned with one onsite block in the span of a spin.
#[test]
fn slow_a_ring_of_spins_has_one_onsite_block() {
    let system = SoftSpin {
        sites: 6,
        ..SoftSpin::default()
    };
    let data = sample(&system, 36.5, 0.0365, 48, 8);
    let folder = tempfile::tempdir().unwrap();
    let changes = ["ring.sites=6", "ring.span=spin", "mobility.horizon=3"];
    let config = FitConfig::default().with_changes(&changes.map(String::from));
    let mut config = config.unwrap();
    config.simulate.dt = Some(0.0365 / 25.0);
    config.simulate.length = 0.5;
    let fitted = fit(&data, &config, folder.path()).unwrap();
    let theta = system.temperature;
    let truth = [
        ("c0", system.epsilon),
        ("c_perp", system.alpha_perp),
        ("c_par", system.alpha_par),
        ("c_x", -system.gamma),
    ];
    for (label, exact) in truth {
        let found = &fitted.results().mobility.coefficients[label];
        let z = (found.value - theta * exact) / found.stderr;
        println!("{label}: {} +- {}, z {z:.2}", found.value, found.stderr);
        assert!(z.abs() < Z_BOUND, "{label}");
    }
    assert_eq!(fitted.model.onsite().unwrap().basis().len(), 4);
    for field in ModelField::ALL {
        assert_eq!(fitted.model.without_error(field), None);
        let (states, width) = (
            fitted.model.starts().nrows(),
            18usize.pow(field.rank() as u32),
        );
        let x: Vec<f64> = fitted.model.starts().t().iter().copied().collect();
        let mut errors = vec![0.0; states * width];
        fitted.model.field_error(field, &x, &mut errors).unwrap();
        assert!(errors.iter().all(|e| e.is_finite()), "{}", field.name());
    }
    let page = fitted.page();
    let titles: Vec<&str> = page.sections.iter().map(|s| s.id.as_str()).collect();
    assert!(
        titles.contains(&"space-time") && titles.contains(&"spins"),
        "{titles:?}"
    );
    let refused = fit(
        &data,
        &config.with_changes(&["ring.sites=5".into()]).unwrap(),
        folder.path(),
    );
    assert!(refused.unwrap_err().to_string().contains("ring.sites"));
    // A recipe that does not know rings is refused, not replaced.
    config.mobility.recipe = Recipe::Semigroup;
    let refused = ergode::fit(&data, &config).unwrap_err();
    let message = refused.to_string();
    assert!(refused.is_bad_input());
    for part in ["recipe = semigroup", "ring.sites = 6", "weak"] {
        assert!(message.contains(part), "{message}");
    }
}

/// Many coordinates without a known structure have a constant mobility, which is called so.
#[test]
fn the_policy_is_part_of_the_results() {
    let data = sample(&crate::support::rotating(16), 60.0, 0.1, 16, 9);
    let fitted = ergode::fit(&data, &FitConfig::default()).unwrap();
    let results = fitted.results();
    assert_eq!(results.recipe, Recipe::Constant);
    let json = serde_json::to_value(results).unwrap();
    assert_eq!(json["recipe"], "constant");
    let recipe = results.policy.iter().find(|made| made.decision == "recipe");
    let recipe = recipe.unwrap();
    assert!(recipe.choice.starts_with("constant"), "{recipe:?}");
    assert!(
        recipe.reason.contains("16 coordinates are too many"),
        "{recipe:?}"
    );
    assert!(fitted.page().html().contains(&recipe.reason));
    assert!(results.policy.iter().all(|made| !made.reason.is_empty()));
}

#[test]
fn a_configuration_is_changed_by_dotted_keys() {
    let config = FitConfig::default();
    let changed = |text: &str| config.with_changes(&[text.to_owned()]);
    assert_eq!(
        changed("mobility.recipe=weak").unwrap().mobility.recipe,
        Recipe::Weak
    );
    assert_eq!(
        changed("mobility.degrees=[2,2]").unwrap().mobility.degrees,
        Some((2, 2))
    );
    assert_eq!(
        changed("mobility.ridges=[1.0]").unwrap().mobility.ridges,
        [1.0]
    );
    assert_eq!(changed("held_out=0.5").unwrap().held_out, 0.5);
    for (wrong, part) in [
        ("mobility.recipe", "key=value"),
        (
            "mobility.recipy=weak",
            "unknown key `recipy`; did you mean `mobility.recipe`?",
        ),
        ("mobility.recipe=best", "best"),
        ("held_out.x=1", "is a value, not a section"),
        ("seed=-1", "seed=-1"),
    ] {
        let error = changed(wrong).unwrap_err();
        assert!(
            error.is_bad_input() && error.to_string().contains(part),
            "{error}"
        );
    }
    let unknown = FitConfig::from_toml("sed = 3").unwrap_err().to_string();
    assert!(unknown.contains("sed"), "{unknown}");
}

/// Four hundred records of 21 samples, shorter than two decorrelation times: D and R within their errors;
/// joined into one, with pairs across the joins, they are not.
#[test]
fn slow_many_short_records_are_learned() {
    let data = sample(&rotating(), 2.0, 0.1, 400, 5);
    let mut joined = ndarray::Array2::zeros((0, 2));
    for k in 0..data.len() {
        joined.append(Axis(0), rows(&data, k)).unwrap();
    }
    let joined = Ensemble::from_array(joined, 0.1).unwrap();
    let joined = joined.with_names(data.names().to_vec()).unwrap();
    let mut config = FitConfig::default();
    config.mobility.degrees = Some((0, 0));
    let worst = |data: &Ensemble| {
        let folder = tempfile::tempdir().unwrap();
        let fitted = fit(data, &config, folder.path()).unwrap();
        let mut found = [0.0; 4];
        fitted.model.mobility().mobility(&[0.0, 0.0], &mut found);
        let relative = |label: &str| {
            let coefficient = fitted.results().mobility.coefficients[label];
            coefficient.stderr / coefficient.value.abs()
        };
        println!("{found:.3?} {:?}", fitted.results().mobility.coefficients);
        let z = |exact: f64, found: f64, label: &str| (found / exact - 1.0).abs() / relative(label);
        z(1.0, found[0], "D[x1,x1] 1")
            .max(z(1.0, found[3], "D[x2,x2] 1"))
            .max(z(0.8, 0.5 * (found[1] - found[2]), "R[x1,x2] 1"))
    };
    let (apart, joined) = (worst(&data), worst(&joined));
    println!("{apart:.2} {joined:.2}");
    assert!(apart < Z_BOUND, "{apart}");
    assert!(joined > Z_BOUND, "the twin: {joined}");
}

/// A coordinate that is a linear function of another is left out, by name and with a warning.
#[test]
fn slow_coordinates_that_say_the_same_are_left_out() {
    let data = sample(&rotating(), 100.0, 0.1, 2, 5);
    let doubled = (0..data.len()).map(|k| {
        let x = rows(&data, k).column(0).to_owned();
        let values = ndarray::stack![Axis(1), x, 2.0 * &x + 1.0];
        Trajectory::new(values, data.trajectories()[k].times().clone())
    });
    let doubled = Ensemble::new(doubled.collect()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let fitted = fit(&doubled, &FitConfig::default(), folder.path());
    let fitted = fitted.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(fitted.model.names(), ["x"]);
    let left_out = |finding: &&Finding| finding.kind == FindingKind::Duplicate;
    let finding = fitted.validation().reasons.iter().find(left_out);
    let finding = finding.expect("a finding of the coordinate that is left out");
    assert!(finding.message.contains("'y'") && finding.severity != Severity::Info);
    assert_ne!(fitted.validation().verdict, Verdict::Pass);
}
