//! Coordinates that are not seen, and noise with a memory.

use ndarray::{Array3, s};

use crate::heavy::{RUN, volatility};
use crate::record::{Case, Record, Run, Setting, euler, free, full};

/// The cases.
pub(crate) const CASES: &[Case] = &[
    Case::warn(
        "pitchfork-coloured",
        "the noise has a memory of eight samples: x alone is not Markov",
        &[0.05],
        pitchfork,
    ),
    Case::warn(
        "underdamped-position",
        "the velocity is not seen: x alone is not Markov, and its path is smooth",
        &[0.1],
        |setting| {
            let values = euler(setting, &LONG, &[1.0, 0.0], inertial, free);
            Record::new(first(&values), setting.interval, None)
        },
    )
    .quick(),
    Case::pass(
        "underdamped-both",
        "position and velocity are seen: Markov, with noise in the velocity alone",
        &[0.1],
        |setting| {
            let values = euler(setting, &LONG, &[1.0, 0.0], inertial, free);
            Record::new(values, setting.interval, Some(full(2, inertial)))
        },
    ),
    Case::pass(
        "slow-fast",
        "the hidden coordinate is 50 times faster than the interval: x is Markov at this interval",
        &[0.1],
        slow_fast,
    )
    .quick(),
    Case::warn(
        "volatility-hidden",
        "the volatility is not seen and slow: x alone is not Markov",
        &[0.05],
        |setting| {
            let values = euler(setting, &RUN, &[0.0, 0.0], volatility, free);
            Record::new(first(&values), setting.interval, None)
        },
    ),
];

const LONG: Run = Run {
    step: 2e-3,
    burn_in: 20.0,
    time: 400.0,
    trajectories: 16,
};

/// The first coordinate alone.
fn first(values: &Array3<f64>) -> Array3<f64> {
    values.slice(s![.., .., ..1]).to_owned()
}

/// dx = (x − x³ + η) dt with η of correlation time 0.4 and variance 0.6, of which x is seen.
fn pitchfork(setting: &Setting) -> Record {
    let fields = |x: &[f64], b: &mut [f64], d: &mut [f64]| {
        b[0] = x[0] - x[0].powi(3) + x[1];
        b[1] = -x[1] / 0.4;
        d.copy_from_slice(&[0.0, 1.5]);
    };
    let values = euler(setting, &LONG, &[1.0, 0.0], fields, free);
    Record::new(first(&values), setting.interval, None)
}

/// dx = v dt, dv = (x − x³ − 0.5 v) dt with D = 0.25 in v.
fn inertial(x: &[f64], b: &mut [f64], d: &mut [f64]) {
    b[0] = x[1];
    b[1] = x[0] - x[0].powi(3) - 0.5 * x[1];
    d.copy_from_slice(&[0.0, 0.25]);
}

/// dx = (x − x³ + y/ε) dt, dy = −y/ε² dt + √(2 · 0.3)/ε dW with ε² = 0.002, of which x is seen: in the
/// limit dx = (x − x³) dt with D = 0.3.
fn slow_fast(setting: &Setting) -> Record {
    let square: f64 = 2e-3;
    let run = Run { step: 2e-4, ..LONG };
    let fields = move |x: &[f64], b: &mut [f64], d: &mut [f64]| {
        b[0] = x[0] - x[0].powi(3) + x[1] / square.sqrt();
        b[1] = -x[1] / square;
        d.copy_from_slice(&[0.0, 0.3 / square]);
    };
    let values = euler(setting, &run, &[1.0, 0.0], fields, free);
    let limit = |x: &[f64], b: &mut [f64], d: &mut [f64]| {
        b[0] = x[0] - x[0].powi(3);
        d[0] = 0.3;
    };
    Record::new(first(&values), setting.interval, Some(full(1, limit)))
}
