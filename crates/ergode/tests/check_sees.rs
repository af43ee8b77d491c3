//! What the check sees in records with a known peculiarity, and that it sees nothing in records without.

use ergode::check::{BoundKind, Motion};
use ergode::finding::FindingKind;
use ergode::io::RepeatedTimes;
use ergode::random::{Purpose, Stream};
use ergode::systems::{
    Affine2d, CoxIngersollRoss, DoubleWell, OrnsteinUhlenbeck, OrnsteinUhlenbeckParameters,
    SoftSpin,
};
use ergode::{
    CheckConfig, CheckReport, Control, Ensemble, ReadOptions, Severity, Times, Trajectory,
    check_ensemble, read_ensemble,
};
use ndarray::Array2;

use crate::support::{rows, sample};

fn check(ensemble: &Ensemble) -> CheckReport {
    check_ensemble(ensemble, &CheckConfig::default(), &Control::new()).unwrap()
}

/// Kinds of the findings that are at least warnings.
fn kinds(report: &CheckReport) -> Vec<FindingKind> {
    let warned = report
        .findings
        .iter()
        .filter(|f| f.severity >= Severity::Warn);
    let mut kinds: Vec<FindingKind> = warned.map(|f| f.kind).collect();
    kinds.dedup();
    kinds
}

fn sees(report: &CheckReport, kind: FindingKind) -> bool {
    report.findings.iter().any(|f| f.kind == kind)
}

/// A record of dx = b(x) dt + √(2 D_j) dW by Euler steps of a fraction of the interval, after a burn-in of a
/// tenth.
fn euler(
    drift: impl Fn(&[f64], &mut [f64]),
    diffusion: &[f64],
    start: &[f64],
    [interval, substeps]: [f64; 2],
    samples: usize,
    seed: u64,
) -> Ensemble {
    let dim = start.len();
    let mut stream = Stream::new(seed, Purpose::Transition, 77);
    let (mut x, mut b) = (start.to_vec(), vec![0.0; dim]);
    let dt = interval / substeps;
    let mut values = Array2::zeros((samples, dim));
    for i in 0..samples + samples / 10 {
        if i >= samples / 10 {
            values
                .row_mut(i - samples / 10)
                .assign(&ndarray::ArrayView1::from(&x));
        }
        for _ in 0..substeps as usize {
            drift(&x, &mut b);
            for j in 0..dim {
                x[j] += b[j] * dt;
                if diffusion[j] > 0.0 {
                    x[j] += (2.0 * diffusion[j] * dt).sqrt() * stream.normal();
                }
            }
        }
    }
    Ensemble::from_array(values, interval).unwrap()
}

/// Rate and angular velocity of a rotating Ornstein-Uhlenbeck process of unit variance.
fn rotating(rate: f64, omega: f64, time: f64, interval: f64, seed: u64) -> Ensemble {
    let system = OrnsteinUhlenbeck::new(OrnsteinUhlenbeckParameters {
        drift: vec![vec![rate, omega], vec![-omega, rate]],
        diffusion: vec![vec![rate, 0.0], vec![0.0, rate]],
        mean: vec![0.0; 2],
    });
    sample(&system.unwrap(), time, interval, 1, seed)
}

fn van_der_pol(interval: f64, samples: usize, seed: u64) -> Ensemble {
    let drift = |x: &[f64], b: &mut [f64]| {
        b[0] = x[1];
        b[1] = 2.0 * (1.0 - x[0] * x[0]) * x[1] - x[0];
    };
    euler(
        drift,
        &[0.1, 0.1],
        &[1.0, 0.0],
        [interval, 20.0],
        samples,
        seed,
    )
}

fn lorenz(diffusion: f64, interval: f64, samples: usize, seed: u64) -> Ensemble {
    let drift = |x: &[f64], b: &mut [f64]| {
        b[0] = 10.0 * (x[1] - x[0]);
        b[1] = x[0] * (28.0 - x[2]) - x[1];
        b[2] = x[0] * x[1] - 8.0 / 3.0 * x[2];
    };
    let substeps = (interval / 0.001).round();
    euler(
        drift,
        &[diffusion; 3],
        &[1.0, 2.0, 20.0],
        [interval, substeps],
        samples,
        seed,
    )
}

/// Position and velocity of a particle in a harmonic well.
fn underdamped(interval: f64, samples: usize, seed: u64) -> Ensemble {
    let drift = |x: &[f64], b: &mut [f64]| {
        b[0] = x[1];
        b[1] = -x[0] - x[1];
    };
    euler(
        drift,
        &[0.0, 1.0],
        &[0.0, 0.0],
        [interval, 20.0],
        samples,
        seed,
    )
}

fn single(values: Vec<f64>, interval: f64) -> Ensemble {
    let n = values.len();
    Ensemble::from_array(Array2::from_shape_vec((n, 1), values).unwrap(), interval).unwrap()
}

/// The record with `change(row number, row)` applied.
fn changed(ensemble: &Ensemble, mut change: impl FnMut(usize, &mut [f64])) -> Ensemble {
    let all = (0..ensemble.len()).map(|k| {
        let mut values = rows(ensemble, k).to_owned();
        for (i, mut row) in values.rows_mut().into_iter().enumerate() {
            change(i, row.as_slice_mut().unwrap());
        }
        Trajectory::new(values, ensemble.trajectories()[k].times().clone())
    });
    Ensemble::new(all.collect()).unwrap()
}

fn column(ensemble: &Ensemble, j: usize) -> Ensemble {
    let values = rows(ensemble, 0).column(j).to_vec();
    single(values, ensemble.sampling_interval().unwrap())
}

/// dx = −x dt + √2 dW at 20 samples per unit of time.
fn simple(samples: usize, seed: u64) -> Ensemble {
    euler(
        |x, b| b[0] = -x[0],
        &[1.0],
        &[0.0],
        [0.05, 5.0],
        samples,
        seed,
    )
}

#[test]
fn slow_an_oscillator_decorrelates_with_its_envelope() {
    for seed in 0..3 {
        let report = check(&rotating(0.1, 1.0, 250.0, 0.1, seed));
        println!("{seed}: {:?}", report.coordinates[0].effective_samples);
        assert!(
            sees(&report, FindingKind::ShortRecord),
            "{:#?}",
            report.findings
        );
        assert!(report.coordinates[0].effective_samples < 60.0);
    }
    let report = check(&rotating(0.1, 1.0, 20_000.0, 0.2, 1));
    for x in &report.coordinates {
        let (d, n) = (x.decorrelation_time.unwrap(), x.effective_samples);
        println!("d {d:.2}, crossing {:?}, N_eff {n:.0}", x.crossing_time);
        // −ln(0.05)/λ = 29.96 and T λ = 2000, with 1/√(Tλ) of error.
        assert!((d / 29.96 - 1.0).abs() < 0.15, "{d}");
        assert!((n / 2000.0 - 1.0).abs() < 0.15, "{n}");
        assert!(x.crossing_time.unwrap() < 1.6);
    }
}

#[test]
fn slow_oscillators_have_no_cycles() {
    let mut found = 0;
    for seed in 0..seeds(10) {
        for (rate, time) in [(0.1, 250.0), (0.02, 1000.0)] {
            let report = check(&rotating(rate, 1.0, time, 0.1, seed));
            found += usize::from(sees(&report, FindingKind::Cycle));
        }
    }
    println!("{found} of {}", 2 * seeds(10));
    assert!(found <= 1, "{found}");
    // The same record with a true cycle.
    let cyclic = changed(&rotating(0.1, 1.0, 1000.0, 0.1, 1), |i, x| {
        x[0] += 1.2 * (0.13 * i as f64).sin();
    });
    assert!(sees(&check(&cyclic), FindingKind::Cycle));
}

#[test]
fn jumps_of_the_times_change_nothing() {
    let whole = simple(3000, 4);
    let without = check(&whole);
    for jump in [1e3, 1e4, 1e6] {
        let times: Vec<f64> = (0..3000)
            .map(|i| 0.05 * f64::from(i) + if i >= 1500 { jump } else { 0.0 })
            .collect();
        let values = rows(&whole, 0).to_owned();
        let record = Trajectory::new(values, Times::Uneven(times.into()));
        let report = check(&Ensemble::new(vec![record]).unwrap());
        assert_eq!(report.verdict, without.verdict);
        assert_eq!(kinds(&report), kinds(&without), "{:#?}", report.findings);
        let (a, b) = (&report.coordinates[0], &without.coordinates[0]);
        let ratio = a.effective_samples / b.effective_samples;
        println!(
            "{jump}: {:.1} of {:.1}",
            a.effective_samples, b.effective_samples
        );
        // Pairs across the jump are missing.
        assert!((ratio - 1.0).abs() < 0.25, "{ratio}");
        assert!((report.sampling_interval / 0.05 - 1.0).abs() < 1e-6);
        assert!(sees(&report, FindingKind::Gaps));
    }
}

#[test]
fn angles_bounds_and_lattices_are_seen() {
    let mut stream = Stream::new(1, Purpose::Analysis, 0);
    let turn = std::f64::consts::TAU;
    let mut theta = 0.0;
    let angle: Vec<f64> = (0..20_000)
        .map(|_| {
            theta += 0.02 + 0.15 * stream.normal();
            f64::rem_euclid(theta, turn)
        })
        .collect();
    let report = check(&single(angle, 0.1));
    let seen = report.coordinates[0].angle.expect("an angle");
    assert_eq!((seen.low, seen.period), (0.0, turn));
    assert!(sees(&report, FindingKind::Angle));

    let clipped = check(&changed(&simple(20_000, 1), |_, x| x[0] = x[0].min(1.0)));
    let bounds = clipped.coordinates[0].bounds;
    assert_eq!(
        bounds.upper.map(|b| (b.value, b.kind)),
        Some((1.0, BoundKind::Mass))
    );
    assert_eq!(bounds.lower, None);
    let mut x = 0.5;
    let walls: Vec<f64> = (0..200_000)
        .map(|_| {
            x = f64::abs(x + 0.1 * stream.normal());
            x = if x > 1.0 { 2.0 - x } else { x };
            x
        })
        .collect();
    let walled = check(&single(walls, 0.01)).coordinates[0].bounds;
    println!("{walled:?}");
    assert_eq!(walled.lower.map(|b| b.kind), Some(BoundKind::Edge));
    assert_eq!(walled.upper.map(|b| b.kind), Some(BoundKind::Edge));

    for step in [0.1, 1.0] {
        let rounded = check(&changed(&simple(20_000, 1), |_, x| {
            x[0] = (x[0] / step).round() * step;
        }));
        let quantum = rounded.coordinates[0].quantum.expect("a lattice");
        assert!((quantum / step - 1.0).abs() < 1e-9, "{quantum}");
        assert!(sees(&rounded, FindingKind::Quantised));
    }
}

#[test]
fn outliers_tails_and_differing_trajectories_are_seen() {
    let spiky = changed(&simple(20_000, 2), |i, x| {
        x[0] += if i % 1000 == 500 { 8.0 } else { 0.0 };
    });
    let report = check(&spiky);
    assert_eq!(report.coordinates[0].outliers, 20, "{:#?}", report.findings);

    // Student t with three degrees of freedom: dx = −2x dt + √(2 (1 + x²)) dW.
    let mut stream = Stream::new(5, Purpose::Analysis, 0);
    let mut x = 0.0f64;
    let heavy: Vec<f64> = (0..400_000)
        .map(|_| {
            for _ in 0..4 {
                x += -2.0 * x * 0.0125 + (2.0 * (1.0 + x * x) * 0.0125).sqrt() * stream.normal();
            }
            x
        })
        .collect();
    let report = check(&single(heavy, 0.05));
    println!("{:?}", report.coordinates[0].tail_index);
    assert!(report.coordinates[0].tail_index.is_some_and(|a| a < 4.0));

    let shifted: Vec<Trajectory> = (0..6u64)
        .map(|k| {
            let record = changed(&simple(4000, k), |_, x| x[0] += 0.7 * (k % 3) as f64);
            record.trajectories()[0].clone()
        })
        .collect();
    let report = check(&Ensemble::new(shifted).unwrap());
    assert!(
        sees(&report, FindingKind::Trajectories),
        "{:#?}",
        report.findings
    );
    let alike: Vec<Trajectory> = (0..6u64)
        .map(|k| simple(4000, k).trajectories()[0].clone())
        .collect();
    assert!(!sees(
        &check(&Ensemble::new(alike).unwrap()),
        FindingKind::Trajectories
    ));
}

#[test]
fn curves_and_orders_of_motion_are_seen() {
    let mut theta = 0.0f64;
    let mut stream = Stream::new(3, Purpose::Analysis, 0);
    let mut circle = Array2::zeros((10_000, 2));
    for mut row in circle.rows_mut() {
        theta += 0.05 * stream.normal();
        row[0] = theta.cos();
        row[1] = theta.sin();
    }
    let report = check(&Ensemble::from_array(circle, 0.01).unwrap());
    let curve = report.curve.as_ref().expect("a curve");
    assert_eq!((curve.degree, curve.coordinates.len()), (2, 2));

    let both = underdamped(0.05, 20_000, 1);
    let report = check(&both);
    assert_eq!(
        report.coordinates[0].motion,
        Motion::SecondOrder,
        "{:#?}",
        report.findings
    );
    assert_eq!(report.coordinates[1].motion, Motion::Diffusive);
    assert!(report.second_order.is_empty());
    let report = check(&column(&both, 0));
    assert_eq!(report.second_order, ["x"], "{:#?}", report.findings);
    assert!(
        sees(&report, FindingKind::NonMarkov),
        "{:#?}",
        report.findings
    );

    let still = lorenz(0.0, 0.01, 10_000, 1);
    let report = check(&still);
    assert!(
        sees(&report, FindingKind::Deterministic),
        "{:#?}",
        report.findings
    );
    assert!(!sees(
        &check(&lorenz(5.0, 0.01, 10_000, 1)),
        FindingKind::Deterministic
    ));
}

#[test]
fn white_noise_walks_and_fast_motion_are_seen() {
    let mut stream = Stream::new(9, Purpose::Analysis, 0);
    let white: Vec<f64> = (0..5000).map(|_| stream.normal()).collect();
    assert!(sees(&check(&single(white, 0.1)), FindingKind::WhiteNoise));
    let mut sum = 0.0;
    let walk: Vec<f64> = (0..5000)
        .map(|_| {
            sum += stream.normal();
            sum
        })
        .collect();
    assert!(sees(&check(&single(walk, 0.1)), FindingKind::RandomWalk));
    assert!(!sees(&check(&simple(5000, 1)), FindingKind::RandomWalk));
    // Noise with a memory of a sample on a slow coordinate, and noise without.
    let mut fast = 0.0;
    let coloured = changed(&simple(100_000, 7), |_, x| {
        fast = 0.15 * fast + 0.99 * stream.normal();
        x[0] += 0.5 * fast;
    });
    let report = check(&coloured);
    assert!(
        sees(&report, FindingKind::FastMotion),
        "{:#?}",
        report.findings
    );
    let noisy = changed(&simple(100_000, 7), |_, x| x[0] += 0.5 * stream.normal());
    let report = check(&noisy);
    assert!(
        !sees(&report, FindingKind::FastMotion),
        "{:#?}",
        report.findings
    );
    let noise = report
        .findings
        .iter()
        .find(|f| f.kind == FindingKind::Noise);
    assert!(noise.unwrap().message.contains("cannot tell apart"));
}

/// Seeds of a calibration: the environment's ERGODE_SEEDS, or a few.
fn seeds(few: u64) -> u64 {
    let given = std::env::var("ERGODE_SEEDS").ok();
    given.map_or(few, |text| text.parse().unwrap())
}

fn spins(seed: u64) -> Ensemble {
    let spin = SoftSpin {
        sites: 4,
        ..SoftSpin::default()
    };
    sample(&spin, 2000.0, 0.1, 4, seed)
}

#[test]
fn slow_nonlinear_markov_records_give_no_false_findings() {
    type Record = dyn Fn(u64) -> Ensemble;
    let systems: [(&str, &Record); 7] = [
        ("ou", &|seed| simple(20_000, seed)),
        ("affine2d", &|seed| {
            sample(&Affine2d::default(), 500.0, 0.05, 4, seed)
        }),
        ("double-well", &|seed| {
            sample(&DoubleWell::default(), 3000.0, 0.05, 4, seed)
        }),
        ("cir", &|seed| {
            sample(&CoxIngersollRoss::default(), 500.0, 0.05, 4, seed)
        }),
        ("lorenz", &|seed| lorenz(5.0, 0.02, 20_000, seed)),
        ("van der Pol", &|seed| van_der_pol(0.05, 40_000, seed)),
        ("rotating", &|seed| rotating(0.2, 1.0, 4000.0, 0.1, seed)),
    ];
    for (name, record) in systems {
        let mut alarms = 0;
        for seed in 0..seeds(2) {
            let report = check(&record(seed));
            for f in report
                .findings
                .iter()
                .filter(|f| f.severity >= Severity::Warn)
            {
                println!("{name} {seed}: {} {}", f.kind, f.message);
            }
            alarms += usize::from(!kinds(&report).is_empty());
        }
        println!("{name}: {alarms} of {}", seeds(2));
        assert_eq!(alarms, 0, "{name}");
    }
}

#[test]
fn slow_spins_with_precession_are_markov_or_untold() {
    for seed in 0..seeds(1) {
        let report = check(&spins(seed));
        let wrong = [FindingKind::NonMarkov, FindingKind::Cycle];
        assert!(
            !wrong.iter().any(|kind| sees(&report, *kind)),
            "{:#?}",
            report.findings
        );
    }
}

#[test]
fn slow_hidden_coordinates_are_found() {
    let van_der_pol = van_der_pol(0.05, 40_000, 1);
    assert!(sees(
        &check(&column(&van_der_pol, 0)),
        FindingKind::NonMarkov
    ));
    let rotating = rotating(0.5, 1.0, 2000.0, 0.05, 1);
    assert!(sees(&check(&column(&rotating, 0)), FindingKind::NonMarkov));
}

#[test]
fn every_finite_record_has_a_report() {
    for samples in [1, 2, 3, 10, 30, 40, 100] {
        for dim in [1, 2, 5] {
            let mut stream = Stream::new(3, Purpose::Analysis, samples as u64);
            let mut values = Array2::zeros((samples, dim));
            for mut row in values.rows_mut() {
                for (j, x) in row.iter_mut().enumerate() {
                    *x = 10f64.powi(9 * j as i32) * stream.normal();
                }
            }
            let record = |values: Array2<f64>| check(&Ensemble::from_array(values, 1e-9).unwrap());
            record(values.clone());
            record(values.mapv(f64::round));
            record(Array2::from_elem((samples, dim), 3.0));
            record(values.mapv(|x| if x > 0.0 { 1.0 } else { 0.0 }));
        }
    }
    // Nanoseconds since 1970, at intervals that their rounding spoils.
    for interval in [1e3, 1e9] {
        let values = rows(&simple(2000, 1), 0).to_owned();
        let times: Vec<f64> = (0..2000)
            .map(|i| 1.7e18 + interval * f64::from(i))
            .collect();
        let record = Trajectory::new(values, Times::Uneven(times.into()));
        check(&Ensemble::new(vec![record]).unwrap());
    }
    // Scales 1e9 apart do not change what is found.
    let apart = changed(&rotating(0.2, 1.0, 2000.0, 0.1, 1), |_, x| x[1] *= 1e9);
    let report = check(&apart);
    assert_eq!(kinds(&report), [], "{:#?}", report.findings);
}

#[test]
fn repeated_times_are_put_together_as_asked() {
    let folder = std::env::temp_dir().join(format!("ergode-repeated-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("x.csv");
    std::fs::write(&file, "t,x\n0,1\n1,2\n1,4\n2,5\n3,7\n").unwrap();
    let read = |repeated| {
        let options = ReadOptions {
            repeated,
            ..ReadOptions::default()
        };
        read_ensemble(&file, &options, &Control::new())
    };
    let mean = read(RepeatedTimes::Mean).unwrap();
    assert_eq!(rows(&mean, 0).column(0).to_vec(), [1.0, 3.0, 5.0, 7.0]);
    assert_eq!(mean.sampling_interval(), Some(1.0));
    assert!(sees(&check(&mean), FindingKind::RepeatedTimes));
    let first = read(RepeatedTimes::First).unwrap();
    assert_eq!(rows(&first, 0).column(0).to_vec(), [1.0, 2.0, 5.0, 7.0]);
    let refused = read(RepeatedTimes::Error).unwrap_err().to_string();
    assert!(refused.contains("not later"), "{refused}");
    std::fs::remove_dir_all(&folder).unwrap();
}
