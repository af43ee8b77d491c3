//! The pre-flight check says the right thing, and nothing else, about data with known defects.

use ergode::random::{Purpose, Stream};
use ergode::systems::{
    Affine2d, CoxIngersollRoss, DoubleWell, OrnsteinUhlenbeck, OrnsteinUhlenbeckParameters, System,
};
use ergode::{
    CheckConfig, CheckReport, Control, Ensemble, Severity, Times, Trajectory, Verdict,
    check_ensemble,
};
use ndarray::{Array2, Axis, concatenate};

use crate::support::{Z_BOUND, poisson_record, rows, sample};

fn check(ensemble: &Ensemble) -> CheckReport {
    check_ensemble(ensemble, &CheckConfig::default(), &Control::new()).unwrap()
}

/// Kinds of the findings that are at least warnings.
fn kinds(report: &CheckReport) -> Vec<&str> {
    let mut kinds: Vec<&str> = report
        .findings
        .iter()
        .filter(|f| f.severity >= Severity::Warn)
        .map(|f| f.kind.as_str())
        .collect();
    kinds.sort_unstable();
    kinds.dedup();
    kinds
}

fn ou(drift: Vec<Vec<f64>>) -> OrnsteinUhlenbeck {
    let dim = drift.len();
    let diffusion = (0..dim)
        .map(|i| (0..dim).map(|j| f64::from(i == j)).collect())
        .collect();
    OrnsteinUhlenbeck::new(OrnsteinUhlenbeckParameters {
        drift,
        diffusion,
        mean: vec![0.0; dim],
    })
    .unwrap()
}

/// dx = −x dt + √2 dW: variance 1, ρ(t) = e^{−t}, τ_int = 1, decorrelation time ln 20.
fn simple() -> OrnsteinUhlenbeck {
    ou(vec![vec![1.0]])
}

/// The ensemble with `change(time, row)` applied to every row.
fn changed(ensemble: &Ensemble, mut change: impl FnMut(f64, &mut [f64])) -> Ensemble {
    let all = (0..ensemble.len())
        .map(|k| {
            let trajectory = &ensemble.trajectories()[k];
            let mut values = rows(ensemble, k).to_owned();
            for (i, mut row) in values.rows_mut().into_iter().enumerate() {
                change(trajectory.time(i), row.as_slice_mut().unwrap());
            }
            Trajectory::new(values, trajectory.times().clone())
        })
        .collect();
    Ensemble::new(all).unwrap()
}

/// The chosen coordinates, with repetition.
fn columns(ensemble: &Ensemble, chosen: &[usize]) -> Ensemble {
    let all = (0..ensemble.len())
        .map(|k| {
            let picked: Vec<_> = chosen
                .iter()
                .map(|&j| {
                    rows(ensemble, k)
                        .index_axis_move(Axis(1), j)
                        .insert_axis(Axis(1))
                })
                .collect();
            let values = concatenate(Axis(1), &picked).unwrap();
            Trajectory::new(values, ensemble.trajectories()[k].times().clone())
        })
        .collect();
    Ensemble::new(all).unwrap()
}

/// Number of reports that are not clean; each is printed.
fn alarms(what: &str, reports: impl Iterator<Item = CheckReport>) -> usize {
    reports
        .enumerate()
        .filter(|(seed, report)| {
            for f in report
                .findings
                .iter()
                .filter(|f| f.severity >= Severity::Warn)
            {
                println!("{what} {seed}: {} {}", f.kind, f.message);
            }
            report.verdict != Verdict::Pass
        })
        .count()
}

/// Observed at the times of a Poisson process.
fn uneven(system: &OrnsteinUhlenbeck, rate: f64, count: usize, seed: u64) -> Ensemble {
    let stream = Stream::new(seed, Purpose::Transition, 0);
    Ensemble::new(vec![poisson_record(system, rate, count, stream)]).unwrap()
}

#[test]
fn stationary_records_pass() {
    let system = simple();
    let short = |seed| check(&sample(&system, 600.0, 0.1, 1, seed));
    assert!(alarms("one trajectory", (0..20).map(short)) <= 1);
    let two = crate::support::ou();
    let many = |seed| check(&sample(&two, 100.0, 0.05, 20, seed));
    assert!(alarms("many trajectories", (0..20).map(many)) <= 1);
    let uneven = |seed| check(&uneven(&system, 10.0, 6000, seed));
    assert!(alarms("Poisson times", (0..20).map(uneven)) <= 1);
}

#[test]
fn slow_decorrelation_and_integrated_times_are_the_known_ones() {
    for (interval, rate) in [(0.05, 1.0), (0.01, 0.2), (0.25, 1.0)] {
        let report = check(&sample(
            &ou(vec![vec![rate]]),
            20_000.0 / rate,
            interval,
            4,
            7,
        ));
        let x = &report.coordinates[0];
        let (tau, d) = (x.integrated_time.unwrap(), x.decorrelation_time.unwrap());
        println!(
            "Δ = {interval}, λ = {rate}: τ {tau:.4}, d {d:.4}, N_eff {:.0}",
            x.effective_samples
        );
        assert!((tau * rate - 1.0).abs() < 0.05, "{tau}");
        // The slope of ρ at its decorrelation time is −0.05 λ.
        let error = x.autocorrelation.iter().find(|p| p[0] >= d).unwrap()[2] / (0.05 * rate);
        let z = (d - 20f64.ln() / rate) / error;
        assert!(z.abs() < Z_BOUND && error < 0.1 * d, "{d} ± {error}");
        let effective = 4.0 * 20_000.0 / 2.0;
        assert!((x.effective_samples / effective - 1.0).abs() < 0.05);
        assert!((x.std * rate.sqrt() - 1.0).abs() < 0.05);
        assert_eq!(report.usable_lags[0], 0.0);
        assert!(report.usable_lags[1] > 1.5 / rate && report.usable_lags[1] <= d);
    }
}

#[test]
fn a_trend_is_found_and_nothing_else() {
    let data = sample(&simple(), 1000.0, 0.1, 1, 3);
    let report = check(&changed(&data, |t, x| x[0] += 0.002 * t));
    println!("{:#?}", report.findings);
    assert_eq!(kinds(&report), ["trend"]);
    assert!((report.coordinates[0].integrated_time.unwrap() - 1.0).abs() < 0.2);
    let many = sample(&simple(), 50.0, 0.1, 40, 3);
    let report = check(&changed(&many, |t, x| x[0] += 0.02 * t));
    assert_eq!(kinds(&report), ["trend"]);
}

#[test]
fn a_change_of_variance_or_a_transient_is_found() {
    let data = sample(&simple(), 1000.0, 0.1, 1, 4);
    let louder = changed(&data, |t, x| x[0] *= if t > 500.0 { 1.5 } else { 1.0 });
    assert_eq!(kinds(&check(&louder)), ["nonstationary"]);
}

#[test]
fn a_cycle_is_found_with_its_period_and_nothing_else() {
    let data = sample(&simple(), 3000.0, 0.1, 1, 5);
    let yearly = |t: f64| 0.6 * (std::f64::consts::TAU * t / 100.0 + 0.3).sin();
    let report = check(&changed(&data, |t, x| x[0] += yearly(t)));
    println!("{:#?}", report.findings);
    assert_eq!(kinds(&report), ["cycle"]);
    assert!(
        report.findings[0].message.contains("period 100."),
        "{:?}",
        report.findings[0]
    );
    let many = sample(&simple(), 300.0, 0.1, 20, 1);
    let report = check(&changed(&many, |t, x| x[0] += 0.5 * (0.3 * t).sin()));
    assert_eq!(kinds(&report), ["cycle"]);
    // Faster than the bins of a long record.
    let data = sample(&simple(), 40_000.0, 0.1, 1, 5);
    let fast = |t: f64| 0.6 * (std::f64::consts::TAU * t / 1.7).sin();
    let report = check(&changed(&data, |t, x| x[0] += fast(t)));
    println!("{:#?}", report.findings);
    assert_eq!(kinds(&report), ["cycle"]);
}

#[test]
fn measurement_noise_is_found_and_nothing_else() {
    let data = sample(&simple(), 2000.0, 0.05, 1, 6);
    let mut stream = Stream::new(6, Purpose::Analysis, 0);
    let report = check(&changed(&data, |_, x| x[0] += 0.2 * stream.normal()));
    println!("{:#?}", report.findings);
    assert_eq!(kinds(&report), ["noise"]);
    assert_eq!(report.usable_lags[0], 0.05);
    let poisson = uneven(&simple(), 20.0, 40_000, 3);
    let uneven = check(&changed(&poisson, |_, x| x[0] += 0.4 * stream.normal()));
    assert_eq!(kinds(&uneven), ["noise"], "{:#?}", uneven.findings);
    let loud = check(&changed(&data, |_, x| x[0] += 0.7 * stream.normal()));
    println!("{:#?}", loud.findings);
    assert_eq!(kinds(&loud), ["noise"]);
}

#[test]
fn one_coordinate_of_a_rotation_is_not_markov_but_both_are() {
    let rotating = ou(vec![vec![0.5, 1.0], vec![-1.0, 0.5]]);
    let data = sample(&rotating, 2000.0, 0.05, 4, 8);
    assert_eq!(kinds(&check(&data)), [""; 0]);
    let report = check(&columns(&data, &[0]));
    println!("{:#?}", report.findings);
    assert_eq!(kinds(&report), ["non-markov"]);
    // Four dimensions, where products are not observed.
    let four = ou(vec![
        vec![0.5, 1.0, 0.0, 0.0],
        vec![-1.0, 0.5, 0.0, 0.0],
        vec![0.0, 0.0, 1.0, 0.0],
        vec![0.0, 0.0, 0.0, 2.0],
    ]);
    let data = sample(&four, 2000.0, 0.05, 4, 3);
    assert_eq!(kinds(&check(&data)), [""; 0]);
    assert_eq!(kinds(&check(&columns(&data, &[0, 2, 3]))), ["non-markov"]);
}

#[test]
fn slow_nonlinear_markov_data_are_not_called_otherwise() {
    let systems: [(&str, &dyn System, f64, f64, usize); 4] = [
        ("affine2d", &Affine2d::default(), 300.0, 0.05, 20),
        ("double-well", &DoubleWell::default(), 2000.0, 0.05, 20),
        (
            "double-well, one",
            &DoubleWell::default(),
            10_000.0,
            0.05,
            1,
        ),
        ("cir", &CoxIngersollRoss::default(), 500.0, 0.05, 20),
    ];
    for (name, system, time, interval, trajectories) in systems {
        let data = sample(system, time, interval, trajectories, 9)
            .burn_in(ergode::BurnIn::Fraction(0.1))
            .unwrap();
        let report = check(&data);
        println!(
            "{name}: {:?} {:#?}",
            report.coordinates[0].decorrelation_time, report.findings
        );
        assert_eq!(kinds(&report), [""; 0], "{name}");
    }
    // Log-normal: linear observables alone would not close.
    let data = sample(&simple(), 2000.0, 0.05, 4, 3);
    let skewed = check(&changed(&data, |_, x| x[0] = x[0].exp()));
    assert_eq!(kinds(&skewed), ["heavy-tails"], "{:#?}", skewed.findings);
}

#[test]
fn sampling_that_is_too_coarse_is_found() {
    let warned = check(&sample(&simple(), 5000.0, 1.5, 1, 10));
    assert_eq!(kinds(&warned), ["coarse-sampling"]);
    assert_eq!(warned.verdict, Verdict::Warn);
    // At six relaxation times the samples are as good as white noise.
    let failed = check(&sample(&simple(), 30_000.0, 6.0, 1, 10));
    assert_eq!(kinds(&failed), ["coarse-sampling", "white-noise"]);
    assert_eq!(failed.verdict, Verdict::Fail);
}

#[test]
fn records_that_are_too_short_are_found_without_panic() {
    for seed in 0..5 {
        let warned = check(&sample(&simple(), 150.0, 0.1, 1, seed));
        assert_eq!(kinds(&warned), ["short-record"], "{:#?}", warned.findings);
        let failed = check(&sample(&simple(), 20.0, 0.1, 1, seed));
        assert_eq!(failed.verdict, Verdict::Fail);
        assert!(
            kinds(&failed).contains(&"short-record"),
            "{:#?}",
            failed.findings
        );
    }
    for samples in [1, 2, 3, 20, 33, 40, 65] {
        for trajectories in [1, 3, 20] {
            let time = 0.1 * f64::from(samples - 1).max(1.0);
            let report = check(&sample(&simple(), time, 0.1, trajectories, 1));
            assert_ne!(report.verdict, Verdict::Pass, "{samples} {trajectories}");
        }
    }
    let constant = Ensemble::from_array(Array2::ones((100, 2)), 0.1).unwrap();
    assert_eq!(check(&constant).verdict, Verdict::Fail);
}

#[test]
fn duplicates_and_constants_are_named() {
    let two = crate::support::ou();
    let data = sample(&two, 100.0, 0.05, 20, 11);
    let report = check(&columns(&data, &[0, 1, 0]));
    assert_eq!(kinds(&report), ["duplicate"]);
    assert!(report.findings[0].message.contains("'x' and 'z'"));
    let mut dependent = columns(&data, &[0, 1, 0]);
    dependent = changed(&dependent, |_, x| x[2] = x[0] - 2.0 * x[1]);
    let report = check(&dependent);
    assert_eq!(kinds(&report), ["duplicate"]);
    assert!(report.findings[0].message.contains("dependent"));
    let constant = check(&changed(&columns(&data, &[0, 1, 0]), |_, x| x[1] = 3.0));
    assert_eq!(kinds(&constant), ["data", "duplicate"]);
    assert_eq!(
        (constant.coordinates[1].mean, constant.coordinates[1].std),
        (3.0, 0.0)
    );
}

#[test]
fn slow_gaps_do_not_disturb() {
    let mut stream = Stream::new(12, Purpose::Analysis, 0);
    let holed = |data: &Ensemble, probability: f64, stream: &mut Stream| {
        changed(data, |_, x| {
            if stream.uniform() < probability {
                x[0] = f64::NAN;
            }
        })
    };
    let data = sample(&simple(), 2000.0, 0.1, 2, 12);
    for probability in [0.0005, 0.003, 0.02] {
        let report = check(&holed(&data, probability, &mut stream));
        let tau = report.coordinates[0].integrated_time;
        println!("{probability}: τ {tau:?} {:?}", kinds(&report));
        assert_eq!(kinds(&report), [""; 0], "{:#?}", report.findings);
    }
}

#[test]
fn the_report_is_the_json_of_the_contract() {
    let report = check(&sample(&simple(), 600.0, 0.1, 1, 2));
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(json["verdict"], "pass");
    assert_eq!(json["sampling_interval"], 0.1);
    assert_eq!(json["usable_lags"].as_array().unwrap().len(), 2);
    for key in [
        "name",
        "mean",
        "std",
        "decorrelation_time",
        "integrated_time",
        "effective_samples",
    ] {
        assert!(!json["coordinates"][0][key].is_null(), "{key}");
    }
    for key in ["kind", "severity", "message", "advice"] {
        assert!(json["findings"][0][key].is_string(), "{key}");
    }
    let bad = serde_json::from_str::<CheckConfig>(r#"{"markov": 1}"#);
    assert!(bad.is_err());
    let config: CheckConfig = serde_json::from_str(r#"{"markov_z": 4.0}"#).unwrap();
    assert_eq!(config.noise_z, CheckConfig::default().noise_z);
}

#[test]
fn odd_sampling_and_odd_scales_do_not_disturb() {
    // Five days of seven.
    let data = sample(&simple(), 3000.0, 0.3, 1, 5);
    let kept: Vec<usize> = (0..10_000).filter(|i| i % 7 < 5).collect();
    let values = rows(&data, 0).select(Axis(0), &kept);
    let times: Vec<f64> = kept.iter().map(|i| *i as f64 * 0.3).collect();
    let weekdays = Ensemble::new(vec![Trajectory::new(values, Times::Uneven(times.into()))]);
    let report = check(&weekdays.unwrap());
    assert_eq!(kinds(&report), [""; 0], "{:#?}", report.findings);
    // Bursts with long silence between them: most lags have no pairs.
    let (system, mut stream) = (simple(), Stream::new(9, Purpose::Transition, 0));
    let (mut values, mut times, mut t, mut x) = (Vec::new(), Vec::new(), 0.0, vec![0.0]);
    for i in 0..20_000 {
        values.push(x[0]);
        times.push(t);
        let wait = if i % 10 == 9 { 5.0 } else { 0.01 };
        t += wait;
        system.exact_transition(wait).unwrap()(&mut stream, &mut x);
    }
    let values = Array2::from_shape_vec((20_000, 1), values).unwrap();
    let bursts = Ensemble::new(vec![Trajectory::new(values, Times::Uneven(times.into()))]);
    let report = check(&bursts.unwrap());
    assert_eq!(kinds(&report), [""; 0], "{:#?}", report.findings);
    let far = sample(&simple(), 1000.0, 0.05, 4, 3);
    let report = check(&changed(&far, |_, x| x[0] = 1e9 + 1e-3 * x[0]));
    assert_eq!(kinds(&report), [""; 0], "{:#?}", report.findings);
}

#[test]
fn a_random_walk_fails_and_short_trajectories_warn() {
    let mut sum = 0.0;
    let walk = changed(&sample(&simple(), 1000.0, 0.05, 1, 3), |_, x| {
        sum += x[0];
        x[0] = sum;
    });
    let report = check(&walk);
    assert_eq!(report.verdict, Verdict::Fail);
    assert!(kinds(&report).contains(&"short-record"));
    let brief = check(&sample(&simple(), 1.0, 0.1, 2000, 1));
    assert_eq!(kinds(&brief), ["short-record"]);
    assert_eq!(brief.verdict, Verdict::Warn);
    assert_eq!(brief.coordinates[0].decorrelation_time, None);
}

#[test]
fn a_check_can_be_stopped() {
    let control = Control::new();
    control.stop();
    let data = sample(&simple(), 600.0, 0.1, 1, 2);
    let error = check_ensemble(&data, &CheckConfig::default(), &control).unwrap_err();
    assert!(error.is_interrupted());
}
