//! Angles through the whole product.

use std::f64::consts::TAU;

use ergode::finding::FindingKind;
use ergode::mobility::{Mobility, RecipeConfig, fit_mobility_recipe};
use ergode::model::{ModelEquation, WrittenFactor};
use ergode::random::{Purpose, Stream};
use ergode::space::{Domain, DomainChoice, Space};
use ergode::{
    CheckConfig, Control, Ensemble, FitConfig, FitOptions, Fitted, LangevinModel, Severity,
    Trajectory, Verdict, check_ensemble, fit_with,
};
use ndarray::Array2;

/// dθ = (1 + 0.7 sin θ) dt with D = 0.3 + 0.1 cos θ.
fn drift(x: f64) -> f64 {
    1.0 + 0.7 * x.sin()
}

fn diffusion(x: f64) -> f64 {
    0.3 + 0.1 * x.cos()
}

/// Records of the driven angle, not wrapped.
fn turning(interval: f64, trajectories: usize, time: f64) -> Ensemble {
    let steps = (interval / 2e-3_f64).round() as usize;
    let dt = interval / steps as f64;
    let rows = (time / interval) as usize;
    let one = |k: usize| {
        let mut stream = Stream::new(11, Purpose::Noise, k as u64);
        let mut x = TAU * k as f64 / trajectories as f64;
        let mut values = Array2::zeros((rows, 1));
        for i in 0..rows + 20 {
            for _ in 0..steps {
                x += drift(x) * dt + (2.0 * diffusion(x) * dt).sqrt() * stream.normal();
            }
            if i >= 20 {
                values[[i - 20, 0]] = x;
            }
        }
        Trajectory::new(values, ergode::Times::every(interval))
    };
    let record = Ensemble::new((0..trajectories).map(one).collect()).unwrap();
    record.with_names(vec!["theta".to_owned()]).unwrap()
}

fn changed(record: &Ensemble, change: impl Fn(f64) -> f64) -> Ensemble {
    let each = |trajectory: &Trajectory| {
        let mut row = [0.0];
        let mut value = |(i, _): (usize, usize)| {
            trajectory.row(i, &mut row);
            change(row[0])
        };
        let values = Array2::from_shape_fn((trajectory.len(), 1), &mut value);
        Trajectory::new(values, trajectory.times().clone())
    };
    let changed = Ensemble::new(record.trajectories().iter().map(each).collect()).unwrap();
    changed.with_names(record.names().to_vec()).unwrap()
}

fn wrapped(record: &Ensemble) -> Ensemble {
    changed(record, |x| x.rem_euclid(TAU))
}

fn fit(record: &Ensemble, choice: DomainChoice) -> ergode::Result<Fitted> {
    let mut config = FitConfig::default();
    config.limits.seconds = Some(3000.0);
    config.score.certificate.resample.starts = 512;
    config.space.coordinates.insert("theta".to_owned(), choice);
    fit_with(record, &config, FitOptions::default())
}

/// Relative errors of drift and D over the circle.
fn errors(model: &LangevinModel, unit: f64) -> [f64; 2] {
    let x: Vec<f64> = (0..64).map(|k| unit * TAU * k as f64 / 64.0).collect();
    let [mut b, mut d] = [(); 2].map(|()| vec![0.0; 64]);
    model.drift(&x, &mut b);
    model.diffusion(&x, &mut d);
    let relative = |found: &[f64], exact: &dyn Fn(f64) -> f64, unit: f64| {
        let exact: Vec<f64> = (0..64).map(|k| exact(TAU * k as f64 / 64.0)).collect();
        let off = found
            .iter()
            .zip(&exact)
            .map(|(a, b)| (a / unit - b).powi(2));
        let size: f64 = exact.iter().map(|b| b * b).sum();
        (off.sum::<f64>() / size).sqrt()
    };
    [
        relative(&b, &drift, unit),
        relative(&d, &diffusion, unit * unit),
    ]
}

/// The written equation at a state, from its terms.
fn written(equation: &ModelEquation, x: f64) -> [f64; 2] {
    let z = (x - equation.standardiser.mean[0]) / equation.standardiser.scale[0];
    let value = |factor: &WrittenFactor| match *factor {
        WrittenFactor::Power(power) => z.powi(power as i32),
        WrittenFactor::Cos(m) => (f64::from(m) * z).cos(),
        WrittenFactor::Sin(m) => (f64::from(m) * z).sin(),
    };
    [
        &equation.standardised_drift[0],
        &equation.standardised_diffusion[0],
    ]
    .map(|terms| {
        let term = |(factors, c): &(Vec<WrittenFactor>, f64)| {
            c * factors.iter().map(value).product::<f64>()
        };
        terms.iter().map(term).sum()
    })
}

#[test]
fn slow_a_driven_angle_is_learned_and_without_its_circle_fails() {
    let record = wrapped(&turning(0.2, 32, 100.0));
    let fitted = fit(&record, DomainChoice::Auto).unwrap();
    let (model, results) = (&fitted.model, fitted.results());
    let [b, d] = errors(model, 1.0);
    println!("drift {b:.3}, D {d:.3}: {:?}", results.validation.reasons);
    assert!(b < 0.1 && d < 0.07, "drift {b}, D {d}");
    assert_eq!(results.validation.verdict, Verdict::Pass);
    let turns = results.validation.turns["theta"];
    let scatter = turns.data.stderr.hypot(turns.model.stderr);
    assert!((turns.data.value - turns.model.value).abs() < 5.0 * scatter);
    // Exact: the current is constant, and about one turn in 2π/⟨b⟩.
    assert!(
        turns.data.value > 0.1 && turns.data.value < 0.16,
        "{turns:?}"
    );

    let equation = model.written_equation().unwrap();
    for x in [0.1, 2.0, 5.9] {
        let [mut b, mut d] = [[0.0]; 2];
        model.drift(&[x], &mut b);
        model.diffusion(&[x], &mut d);
        let [wb, wd] = written(&equation, x);
        assert!((wb - b[0]).abs() < 1e-12 && (wd - d[0]).abs() < 1e-12);
    }
    let terms: Vec<&str> = equation.drift[0].iter().map(|t| t.term.as_str()).collect();
    assert_eq!(terms[..3], ["1", "cos(theta)", "sin(theta)"]);

    let line = fit(&record, DomainChoice::Line).unwrap();
    assert_ne!(line.results().validation.verdict, Verdict::Pass);
}

/// The unit and the wrapping of an angle change nothing but the unit.
#[test]
fn slow_an_angle_in_degrees_that_is_not_wrapped_gives_the_same_model() {
    let record = turning(0.2, 16, 50.0);
    let radians = fit(&wrapped(&record), DomainChoice::Circle(TAU)).unwrap();
    let degrees = changed(&record, |x| x.to_degrees());
    let degrees = fit(&degrees, DomainChoice::Circle(360.0)).unwrap();
    let x: Vec<f64> = (0..32).map(|k| 0.19 * k as f64).collect();
    let turned: Vec<f64> = x.iter().map(|x| x.to_degrees()).collect();
    let [mut b, mut other] = [(); 2].map(|()| vec![0.0_f64; 32]);
    radians.model.drift(&x, &mut b);
    degrees.model.drift(&turned, &mut other);
    for (b, other) in b.into_iter().zip(other) {
        assert!((b.to_degrees() - other).abs() < 1e-6 * other.abs().max(1.0));
    }
    let equation = degrees.model.written_equation().unwrap();
    assert_eq!(equation.drift[0][1].term, "cos(2*pi*theta/360)");
}

#[test]
fn slow_a_wrong_period_does_not_pass() {
    let record = wrapped(&turning(0.2, 32, 100.0));
    let fitted = fit(&record, DomainChoice::Circle(1.1 * TAU)).unwrap();
    println!("{:?}", fitted.results().validation.reasons);
    assert_ne!(fitted.results().validation.verdict, Verdict::Pass);
    // Drift and diffusion may bend to the wrong period; the part of it that has no samples shows.
    let found = &fitted.validation().reasons;
    assert!(found.iter().any(|f| f.kind == FindingKind::Density));
}

#[test]
fn an_angle_is_seen_and_told_from_lines() {
    let control = Control::new();
    let check =
        |record: &Ensemble| check_ensemble(record, &CheckConfig::default(), &control).unwrap();
    for interval in [0.05, 0.5, 1.0] {
        let report = check(&wrapped(&turning(interval, 16, 400.0 * interval.max(0.1))));
        let seen = report.coordinates[0].angle.expect("an angle");
        assert_eq!((seen.low, seen.period), (0.0, TAU), "{interval}");
        let finding = report
            .findings
            .iter()
            .find(|f| f.kind == FindingKind::Angle);
        let finding = finding.expect("a finding");
        assert_eq!(finding.severity, Severity::Info);
        assert!(finding.advice.contains("space.theta"), "{}", finding.advice);
        // The correlation of cosine and sine, not of the sawtooth.
        let time = report.coordinates[0].decorrelation_time.expect("a time");
        assert!(time > 1.0 && time < 30.0, "{time}");
    }
    // Independent values, and an angle that is not wrapped.
    let mut stream = Stream::new(3, Purpose::Analysis, 0);
    let noise = Array2::from_shape_fn((20_000, 1), |_| stream.uniform());
    let noise = Ensemble::from_array(noise, 1.0).unwrap();
    assert_eq!(check(&noise).coordinates[0].angle, None);
    assert_eq!(check(&turning(0.1, 16, 40.0)).coordinates[0].angle, None);
}

#[test]
fn what_angles_do_not_support_is_refused() {
    let record = wrapped(&turning(0.2, 8, 40.0));
    for (change, word) in [
        ("mobility.recipe=weak", "mobility.recipe"),
        ("score.kind=denoising", "score.kind"),
        ("mobility.noise=estimate", "mobility.noise"),
    ] {
        let changes = [
            change.to_owned(),
            format!(r#"space.theta={{"circle":{TAU}}}"#),
        ];
        let config = FitConfig::default().with_changes(&changes).unwrap();
        let error = fit_with(&record, &config, FitOptions::default()).unwrap_err();
        assert!(error.to_string().contains(word), "{error}");
        assert!(error.is_bad_input());
    }
}

/// At half a turn between samples few equations see the first waves of D; a constant D is 23 % off.
#[test]
fn coarse_samples_of_an_angle_show_the_first_waves_of_the_diffusion() {
    let record = wrapped(&turning(1.0, 16, 150.0));
    let circle = Domain::Circle {
        low: 0.0,
        period: TAU,
    };
    let space = Space {
        domains: vec![circle],
    };
    let record = space.admit(&record).unwrap();
    let found = fit_mobility_recipe(&record, &RecipeConfig::default(), &Control::new()).unwrap();
    let states: Vec<f64> = (0..64).map(|k| TAU * k as f64 / 64.0).collect();
    let mut values = vec![0.0; 64];
    found.fit.mobility.diffusion(&states, &mut values);
    let off: f64 = states
        .iter()
        .zip(&values)
        .map(|(x, d)| (d - diffusion(*x)).powi(2))
        .sum();
    let size: f64 = states.iter().map(|x| diffusion(*x).powi(2)).sum();
    let error = (off / size).sqrt();
    assert!(error < 0.15, "{error}");
}
