//! Records that a fit was not made for: every one ends in a report with an honest verdict.

use std::time::Duration;

use ergode::finding::FindingKind;
use ergode::random::{Purpose, Stream};
use ergode::{Control, Ensemble, FitConfig, FitOptions, Fitted, RunFolder, Verdict, fit_with};
use ndarray::{Array2, Array3};

use crate::support::{ou, sample};

/// A fit with little simulation.
fn quick() -> FitConfig {
    let mut config = FitConfig::default();
    config.simulate.trajectories = 8;
    config.score.certificate.resample.starts = 64;
    config
}

/// Normal numbers of one stream.
fn normals(count: usize) -> Vec<f64> {
    let mut stream = Stream::new(17, Purpose::Analysis, 0);
    (0..count).map(|_| stream.normal()).collect()
}

/// An autoregressive series of unit variance with the given memory of one step.
fn series(memory: f64, count: usize) -> Vec<f64> {
    let innovation = (1.0 - memory * memory).sqrt();
    let step = |x: &mut f64, xi: f64| {
        *x = memory * *x + innovation * xi;
        Some(*x)
    };
    normals(count).into_iter().scan(0.0, step).collect()
}

fn record(columns: &[Vec<f64>]) -> Ensemble {
    let shape = (columns[0].len(), columns.len());
    let rows = Array2::from_shape_fn(shape, |(row, column)| columns[column][row]);
    Ensemble::from_array(rows, 0.1).unwrap()
}

/// The fit, its page, and what is read back from its folder.
fn reported(name: &str, data: &Ensemble, config: &FitConfig) -> Fitted {
    let folder = tempfile::tempdir().unwrap();
    let run = RunFolder::open(folder.path()).unwrap();
    let options = FitOptions {
        folder: Some(&run),
        ..FitOptions::default()
    };
    let fitted = fit_with(data, config, options).unwrap_or_else(|error| panic!("{name}: {error}"));
    let read = Fitted::load(folder.path()).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert!(read.page().html() == fitted.page().html(), "{name}");
    assert!(folder.path().join("report.html").exists(), "{name}");
    let reasons = &fitted.validation().reasons;
    println!("{name}: {:?} {reasons:#?}", fitted.validation().verdict);
    assert!(
        fitted.validation().verdict == Verdict::Pass || !reasons.is_empty(),
        "{name}: a verdict has reasons"
    );
    fitted
}

fn has(fitted: &Fitted, kind: FindingKind) -> bool {
    fitted
        .validation()
        .reasons
        .iter()
        .any(|finding| finding.kind == kind)
}

#[test]
fn a_record_of_thirty_samples_ends_in_a_report() {
    let fitted = reported("30 samples", &record(&[series(0.9, 30)]), &quick());
    assert_eq!(fitted.validation().verdict, Verdict::Fail);
}

#[test]
fn slow_a_random_walk_has_no_stationary_law() {
    let sum = |sum: &mut f64, xi: f64| {
        *sum += xi;
        Some(*sum)
    };
    let walk: Vec<f64> = normals(800).into_iter().scan(0.0, sum).collect();
    let fitted = reported("random walk", &record(&[walk]), &quick());
    assert_eq!(fitted.validation().verdict, Verdict::Fail);
}

/// Two values, a circle and an orbit without noise: polynomials are linearly dependent on them.
#[test]
fn slow_samples_on_few_states_or_a_curve_are_not_passed() {
    let angle: Vec<f64> = series(0.99, 1500).iter().map(|x| 3.0 * x).collect();
    let of = |f: fn(f64) -> f64| angle.iter().map(|x| f(*x)).collect::<Vec<f64>>();
    let orbit = |f: fn(f64) -> f64| {
        (0..1500)
            .map(|k| f(0.07 * f64::from(k)))
            .collect::<Vec<f64>>()
    };
    let records = [
        ("two values", vec![of(f64::signum)]),
        ("circle", vec![of(f64::cos), of(f64::sin)]),
        ("orbit", vec![orbit(f64::cos), orbit(f64::sin)]),
    ];
    // The step of an orbit without noise is searched as long as the fit may last.
    let mut config = quick();
    config.limits.seconds = Some(90.0);
    for (name, columns) in records {
        let fitted = reported(name, &record(&columns), &config);
        assert_ne!(fitted.validation().verdict, Verdict::Pass, "{name}");
    }
}

#[test]
fn slow_spikes_rounding_and_short_trajectories_end_in_a_report() {
    let mut spiky: Vec<f64> = series(0.95, 2000)
        .iter()
        .map(|x| (10.0 * x).round() / 10.0)
        .collect();
    (100..2000).step_by(700).for_each(|k| spiky[k] += 50.0);
    reported("spikes", &record(&[spiky]), &quick());
    let values = series(0.9, 1200);
    let many = Array3::from_shape_fn((240, 5, 1), |(k, row, _)| values[5 * k + row]);
    reported(
        "240 trajectories of 5",
        &Ensemble::from_array3(many.into_shared(), 0.1).unwrap(),
        &quick(),
    );
}

/// Coordinates that say nothing new are left out, with a warning; if none is left the input is bad.
#[test]
fn constant_and_repeated_coordinates_are_left_out() {
    let (x, y) = (series(0.9, 1000), series(0.8, 1000));
    let constant = vec![5.0; 1000];
    let sum: Vec<f64> = x.iter().zip(&y).map(|(x, y)| x + 2.0 * y).collect();
    let data = record(&[constant.clone(), x.clone(), y, x, sum]);
    let names = ["c", "x", "y", "twin", "sum"].map(str::to_owned).to_vec();
    let fitted = reported("dependent", &data.with_names(names).unwrap(), &quick());
    assert_eq!(fitted.model.names(), ["x", "y"]);
    assert!(has(&fitted, FindingKind::Duplicate));
    assert_ne!(fitted.validation().verdict, Verdict::Pass);
    let error = ergode::fit(&record(&[constant]), &quick()).unwrap_err();
    assert!(
        error.is_bad_input() && error.to_string().contains("same value"),
        "{error}"
    );
}

/// A fit without time has a report all the same, and never passes.
#[test]
fn a_fit_that_runs_out_of_time_says_so() {
    let mut config = quick();
    config.limits.seconds = Some(1e-4);
    let fitted = reported("no time", &sample(&ou(), 200.0, 0.1, 4, 1), &config);
    assert_eq!(fitted.validation().verdict, Verdict::Fail);
    let reasons = &fitted.validation().reasons;
    let late = reasons
        .iter()
        .filter(|finding| finding.message.contains("limits.seconds"));
    assert!(late.count() > 0, "{reasons:?}");
    assert!(has(&fitted, FindingKind::Fallback) && has(&fitted, FindingKind::Missing));
    config.limits.seconds = Some(0.0);
    let data = sample(&ou(), 200.0, 0.1, 4, 1);
    assert!(ergode::fit(&data, &config).unwrap_err().is_bad_input());
}

/// A wrong option is the user's, and no fallback hides it.
#[test]
fn wrong_options_are_refused() {
    let data = sample(&ou(), 100.0, 0.1, 4, 1);
    for change in [
        "score.closed_form.folds=1",
        "mobility.ridges=[-1]",
        "simulate.dt=-1",
        "validate.lags=0",
    ] {
        let config = quick().with_changes(&[change.to_owned()]);
        let outcome = config.and_then(|config| ergode::fit(&data, &config));
        assert!(outcome.is_err_and(|error| error.is_bad_input()), "{change}");
    }
}

/// Stopped at any moment and resumed until it is done, a fit gives what one call gives.
#[test]
fn slow_a_fit_stopped_at_random_moments_gives_the_same_result() {
    let data = sample(&ou(), 60.0, 0.1, 8, 3);
    let config = quick();
    let mut expected = ergode::fit(&data, &config).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut stream = Stream::new(5, Purpose::Analysis, 0);
    let (mut stops, mut patience) = (0, 20.0);
    let mut found = loop {
        let control = Control::new();
        let run = RunFolder::open(folder.path()).unwrap();
        let options = FitOptions {
            folder: Some(&run),
            control: Some(&control),
            ..FitOptions::default()
        };
        let moment = Duration::from_secs_f64(1e-3 * patience * stream.uniform());
        let outcome = std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(moment);
                control.stop();
            });
            fit_with(&data, &config, options)
        });
        match outcome {
            Ok(found) => break found,
            Err(error) => assert!(error.is_interrupted(), "{error}"),
        }
        (stops, patience) = (stops + 1, 1.5 * patience);
    };
    println!("stopped {stops} times");
    assert!(stops >= 3);
    for fitted in [&mut expected, &mut found] {
        fitted.record.results.wall_s.clear();
    }
    assert_eq!(found.results(), expected.results());
    assert_eq!(found.validation(), expected.validation());
    let fields = [&found, &expected].map(|fitted| {
        let mut drift = [0.0; 2];
        fitted.model.drift(&[0.3, -0.4], &mut drift);
        drift
    });
    assert_eq!(fields[0], fields[1]);
}
