//! Records with the faults of ordinary life.

use std::f64::consts::TAU;

use ergode::data::{Times, Trajectory};
use ergode::random::{Purpose, Stream};
use ergode::{Control, Ensemble, ReadOptions, read_ensemble};
use ndarray::{Array3, s};
use serde_json::{Value, json};

use crate::record::{Case, Expected, Record, Run, Setting, Truth, full, simulate};
use crate::record::{of_system, simulate_system};

/// The cases.
pub(crate) const CASES: &[Case] = &[
    Case::pass(
        "counts",
        "births and deaths of 50 individuals: the steps are small beside the spread",
        &[0.1],
        counts,
    )
    .quick(),
    Case::pass(
        "rounded-0.1",
        "rounding to a tenth of the spread is measurement noise of 3 % of it",
        &[0.05],
        |setting| rounded(setting, 0.1),
    ),
    Case::warn(
        "rounded-1",
        "rounded to one standard deviation: most increments are zero, the rest far too large",
        &[0.05],
        |setting| rounded(setting, 1.0),
    ),
    Case::warn(
        "spikes",
        "one sample in a thousand is a fault ten spreads high",
        &[0.05],
        spikes,
    ),
    Case::warn(
        "repeated-times",
        "some times occur twice with different values: one of them is wrong",
        &[0.05],
        repeated_times,
    )
    .or_refused("not later than"),
    Case::warn(
        "thirty-samples",
        "fifteen correlation times cannot show whether a model is right",
        &[0.5],
        thirty_samples,
    ),
    Case::warn(
        "different-means",
        "each trajectory has its own mean: there is no common law",
        &[0.05],
        different_means,
    ),
    Case::warn(
        "random-walk",
        "there is no stationary law",
        &[0.1],
        random_walk,
    ),
    Case::warn(
        "white-noise",
        "samples are independent: no lag shows any dynamics",
        &[1.0],
        white_noise,
    )
    .quick(),
    Case::warn(
        "noiseless-cycle",
        "no noise, and all samples on a curve: there is no density and no diffusion",
        &[0.05],
        noiseless_cycle,
    ),
    Case {
        expected: Expected::Fail,
        ..Case::warn("constant", "nothing moves", &[0.1], constant).or_refused("constant")
    },
    Case::pass(
        "scales-1e9-apart",
        "linear, sampled well; units must not matter",
        &[0.05],
        scales,
    ),
    Case::pass(
        "nanoseconds",
        "linear, sampled well; the unit and the origin of time must not matter",
        &[5e7],
        nanoseconds,
    )
    .quick(),
];

fn ou1() -> Value {
    json!({"drift": [[1.0]], "diffusion": [[1.0]], "mean": [0.0]})
}

/// A record of a double well, as samples.
fn wells(setting: &Setting) -> (Array3<f64>, Truth) {
    let (values, _, system) = simulate_system("double-well", &json!({}), setting, (16, 300.0));
    (
        values,
        Box::new(move |x, b, d| system.exact_equation(x, b, d)),
    )
}

fn spread(values: &Array3<f64>) -> f64 {
    values.std(0.0)
}

/// Births at rate 50, deaths at rate n, event by event: b = 50 − n, D = (50 + n)/2.
fn counts(setting: &Setting) -> Record {
    let run = Run {
        step: setting.interval,
        burn_in: 10.0,
        time: 300.0,
        trajectories: 16,
    };
    let start = |_: &mut Stream, x: &mut [f64]| x[0] = 50.0;
    let advance = |stream: &mut Stream, dt: f64, x: &mut [f64]| {
        let mut left = dt;
        loop {
            let rate = 50.0 + x[0];
            left += stream.uniform().ln() / rate;
            if left < 0.0 {
                return;
            }
            let birth = stream.uniform() * rate < 50.0;
            x[0] += if birth { 1.0 } else { -1.0 };
        }
    };
    let values = simulate(setting, &run, 1, start, advance);
    let fields = |x: &[f64], b: &mut [f64], d: &mut [f64]| {
        b[0] = 50.0 - x[0];
        d[0] = 0.5 * (50.0 + x[0]);
    };
    Record::new(values, setting.interval, Some(full(1, fields)))
}

fn rounded(setting: &Setting, spreads: f64) -> Record {
    let (mut values, truth) = wells(setting);
    let unit = spreads * spread(&values);
    values.mapv_inplace(|x| (x / unit).round() * unit);
    Record::new(values, setting.interval, Some(truth))
}

fn spikes(setting: &Setting) -> Record {
    let (mut values, truth) = wells(setting);
    let height = 10.0 * spread(&values);
    let mut stream = Stream::new(setting.seed, Purpose::Measurement, 0);
    values.mapv_inplace(|x| if stream.uniform() < 1e-3 { height } else { x });
    Record::new(values, setting.interval, Some(truth))
}

/// A table whose every hundredth time is that of the row before, read as a user would; times of an
/// ensemble that is built in memory where the table is refused.
fn repeated_times(setting: &Setting) -> Record {
    let (values, interval, _) = simulate_system("ou", &ou1(), setting, (1, 400.0));
    let mut table = String::from("t,x\n");
    for (i, x) in values.iter().enumerate() {
        let row = if i % 100 == 99 { i - 1 } else { i };
        table += &format!("{},{x}\n", row as f64 * interval);
    }
    let folder = std::env::temp_dir().join(format!("ergode-zoo-{}", std::process::id()));
    let file = folder.join("repeated.csv");
    let written = std::fs::create_dir_all(&folder).and_then(|()| std::fs::write(&file, table));
    written.expect("a temporary file");
    let read = read_ensemble(&file, &ReadOptions::default(), &Control::new());
    let _ = std::fs::remove_dir_all(&folder);
    match read {
        Ok(ensemble) => Record {
            ensemble,
            truth: None,
            circles: vec![false],
        },
        Err(error) => crate::trial::refuse(&error),
    }
}

fn thirty_samples(setting: &Setting) -> Record {
    let long = Setting {
        scale: 1.0,
        ..*setting
    };
    of_system("ou", &ou1(), &long, (1, 14.5))
}

fn different_means(setting: &Setting) -> Record {
    let (mut values, ..) = simulate_system("ou", &ou1(), setting, (16, 200.0));
    for (k, mut trajectory) in values.outer_iter_mut().enumerate() {
        let mean = 10.0 * (0.618 * k as f64).fract();
        trajectory.mapv_inplace(|x| x + mean);
    }
    Record::new(values, setting.interval, None)
}

fn random_walk(setting: &Setting) -> Record {
    let run = Run {
        step: setting.interval,
        burn_in: 0.0,
        time: 500.0,
        trajectories: 4,
    };
    let advance =
        |stream: &mut Stream, dt: f64, x: &mut [f64]| x[0] += (2.0 * dt).sqrt() * stream.normal();
    let values = simulate(setting, &run, 1, |_, x| x[0] = 0.0, advance);
    let fields = |_: &[f64], b: &mut [f64], d: &mut [f64]| {
        b[0] = 0.0;
        d[0] = 1.0;
    };
    Record::new(values, setting.interval, Some(full(1, fields)))
}

fn white_noise(setting: &Setting) -> Record {
    let run = Run {
        step: setting.interval,
        burn_in: 0.0,
        time: 4000.0,
        trajectories: 4,
    };
    let advance = |stream: &mut Stream, _: f64, x: &mut [f64]| x[0] = stream.normal();
    let values = simulate(setting, &run, 1, |_, x| x[0] = 0.0, advance);
    Record::new(
        values.slice(s![.., 1.., ..]).to_owned(),
        setting.interval,
        None,
    )
}

/// A turn takes 2π; sixteen trajectories from different phases.
fn noiseless_cycle(setting: &Setting) -> Record {
    let run = Run {
        step: setting.interval,
        burn_in: 0.0,
        time: 100.0,
        trajectories: 16,
    };
    let start = |stream: &mut Stream, x: &mut [f64]| {
        let phase = TAU * stream.uniform();
        (x[0], x[1]) = (phase.cos(), phase.sin());
    };
    let advance = |_: &mut Stream, dt: f64, x: &mut [f64]| {
        let (cos, sin) = (dt.cos(), dt.sin());
        (x[0], x[1]) = (cos * x[0] - sin * x[1], sin * x[0] + cos * x[1]);
    };
    let values = simulate(setting, &run, 2, start, advance);
    Record::new(values, setting.interval, None)
}

fn constant(setting: &Setting) -> Record {
    Record::new(Array3::from_elem((4, 1000, 1), 3.0), setting.interval, None)
}

/// Two coordinates of an Ornstein-Uhlenbeck process, the second in units a billion times smaller.
fn scales(setting: &Setting) -> Record {
    const UNIT: f64 = 1e9;
    let (mut values, interval, system) = simulate_system("ou", &json!({}), setting, (16, 200.0));
    values.slice_mut(s![.., .., 1]).mapv_inplace(|x| UNIT * x);
    let truth: Truth = Box::new(move |x, b, d| {
        system.exact_equation(&[x[0], x[1] / UNIT], b, d);
        b[1] *= UNIT;
        d[1] *= UNIT;
        d[2] *= UNIT;
        d[3] *= UNIT * UNIT;
    });
    Record::new(values, interval, Some(truth))
}

/// An Ornstein-Uhlenbeck process with times in nanoseconds since 1970, one unit of its time a second.
fn nanoseconds(setting: &Setting) -> Record {
    const SECOND: f64 = 1e9;
    let seconds = Setting {
        interval: setting.interval / SECOND,
        ..*setting
    };
    let (values, _, system) = simulate_system("ou", &ou1(), &seconds, (16, 200.0));
    let times = Times::Even {
        start: 1.7e18,
        step: setting.interval,
    };
    let trajectories = values
        .outer_iter()
        .map(|values| Trajectory::new(values.to_owned(), times.clone()));
    let truth: Truth = Box::new(move |x, b, d| {
        system.exact_equation(x, b, d);
        b.iter_mut().chain(d).for_each(|entry| *entry /= SECOND);
    });
    Record {
        ensemble: Ensemble::new(trajectories.collect()).expect("a plain record"),
        truth: Some(truth),
        circles: vec![false],
    }
}
