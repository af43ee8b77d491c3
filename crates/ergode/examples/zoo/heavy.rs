//! Positive coordinates and heavy tails.

use ergode::random::Stream;
use serde_json::json;

use crate::record::{Case, Record, Run, Setting, diagonal, euler, free, full, of_system, simulate};

/// The cases.
pub(crate) const CASES: &[Case] = &[
    Case::pass(
        "lognormal",
        "smooth fields on the half-line, all moments exist",
        &[0.05, 0.5],
        lognormal,
    ),
    Case::pass(
        "cir-above-feller",
        "polynomial fields, the law vanishes at zero",
        &[0.05, 0.5],
        |setting| of_system("cir", &json!({}), setting, (16, 200.0)),
    ),
    Case::pass(
        "cir-below-feller",
        "polynomial fields; the law has a pole at zero, which is reached and left",
        &[0.05],
        cir_below_feller,
    ),
    Case::pass(
        "student-t",
        "polynomial fields, four degrees of freedom: the variance exists",
        &[0.05, 0.2],
        student_t,
    ),
    Case::pass(
        "stochastic-volatility",
        "smooth fields, the volatility is seen too",
        &[0.05],
        |setting| {
            let values = euler(setting, &RUN, &[0.0, 0.0], volatility, free);
            Record::new(values, setting.interval, Some(full(2, volatility)))
        },
    ),
];

pub(crate) const RUN: Run = Run {
    step: 1e-3,
    burn_in: 10.0,
    time: 200.0,
    trajectories: 16,
};

/// x = e^y with dy = −y dt + dW: b = x (1/2 − ln x), D = x²/2.
fn lognormal(setting: &Setting) -> Record {
    let logarithm = |y: &[f64], b: &mut [f64], d: &mut [f64]| {
        b[0] = -y[0];
        d[0] = 0.5;
    };
    let mut values = euler(setting, &RUN, &[0.0], logarithm, free);
    values.mapv_inplace(f64::exp);
    let fields = |x: &[f64], b: &mut [f64], d: &mut [f64]| {
        b[0] = x[0] * (0.5 - x[0].ln());
        d[0] = 0.5 * x[0] * x[0];
    };
    Record::new(values, setting.interval, Some(full(1, fields)))
}

/// dx = (1 − x) dt + √(4x) dW by its exact transition law: ν = κθ/γ = 1/2 is below one.
fn cir_below_feller(setting: &Setting) -> Record {
    let (nu, beta): (f64, f64) = (0.5, 0.5);
    let exact = Run {
        step: setting.interval,
        ..RUN
    };
    let start = |stream: &mut Stream, x: &mut [f64]| x[0] = stream.gamma(nu) / beta;
    let advance = |stream: &mut Stream, dt: f64, x: &mut [f64]| {
        let z = (-dt).exp();
        let c = beta / (1.0 - z);
        let count = stream.poisson(c * z * x[0]);
        x[0] = stream.gamma(nu + count as f64) / c;
    };
    let values = simulate(setting, &exact, 1, start, advance);
    let fields = |x: &[f64], b: &mut [f64], d: &mut [f64]| {
        b[0] = 1.0 - x[0];
        d[0] = 2.0 * x[0];
    };
    Record::new(values, setting.interval, Some(full(1, fields)))
}

/// dx = −x dt with D = (1 + x²)/3: Student's t with four degrees of freedom, scaled.
fn student_t(setting: &Setting) -> Record {
    let fields = |x: &[f64], b: &mut [f64], d: &mut [f64]| {
        b[0] = -x[0];
        d[0] = (1.0 + x[0] * x[0]) / 3.0;
    };
    diagonal(setting, &RUN, &[0.0], fields, free)
}

/// dx = −x dt with D = e^v / 2, dv = −v/2 dt with D = 0.15.
pub(crate) fn volatility(x: &[f64], b: &mut [f64], d: &mut [f64]) {
    b[0] = -x[0];
    b[1] = -0.5 * x[1];
    d[0] = 0.5 * x[1].exp();
    d[1] = 0.15;
}
