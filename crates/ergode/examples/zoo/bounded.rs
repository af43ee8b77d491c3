//! Coordinates with ends: noise that vanishes there, or walls that reflect.

use ergode::random::Stream;

use crate::record::{Case, Record, Run, Setting, diagonal, full, reflect, simulate};

/// The cases.
pub(crate) const CASES: &[Case] = &[
    Case::pass(
        "jacobi-bell",
        "polynomial fields, the law vanishes at the ends",
        &[0.05, 0.2],
        |setting| jacobi(setting, 2.0),
    )
    .quick(),
    Case::pass(
        "jacobi-u",
        "polynomial fields; the law peaks at ends that are reached and left",
        &[0.05, 0.2],
        |setting| jacobi(setting, 0.25),
    ),
    Case::pass(
        "wright-fisher",
        "polynomial fields, the law vanishes at the ends",
        &[0.2],
        wright_fisher,
    ),
    Case::pass(
        "agents",
        "opinion of many agents: polynomial fields, two wells near the ends",
        &[1.0],
        agents,
    ),
    Case::pass(
        "agents-jumps",
        "50 agents that copy each other, event by event: the steps are small beside the spread",
        &[1.0],
        agents_jumps,
    ),
    Case::pass(
        "box",
        "polynomial fields; both walls are hit hundreds of times",
        &[0.05],
        reflecting_box,
    ),
    Case::pass(
        "box-2d",
        "polynomial fields; all walls are hit hundreds of times",
        &[0.05],
        reflecting_square,
    ),
    Case::pass(
        "polarisation-disc",
        "polynomial fields, the law vanishes at the edge",
        &[0.05],
        polarisation,
    ),
];

const fn run(step: f64, time: f64) -> Run {
    Run {
        step,
        burn_in: 10.0,
        time,
        trajectories: 16,
    }
}

/// dx = −k x dt + √(1 − x²) dW: D = (1 − x²)/2, p ∝ (1 − x²)^{k − 1}.
fn jacobi(setting: &Setting, rate: f64) -> Record {
    let fields = move |x: &[f64], b: &mut [f64], d: &mut [f64]| {
        b[0] = -rate * x[0];
        d[0] = 0.5 * (1.0 - x[0] * x[0]);
    };
    diagonal(setting, &run(5e-4, 200.0), &[0.1], fields, |x| {
        x[0] = x[0].clamp(-1.0, 1.0);
    })
}

/// Frequency of an allele with mutation both ways: b = 0.3 (1 − x) − 0.5 x, D = 0.1 x (1 − x).
fn wright_fisher(setting: &Setting) -> Record {
    let fields = |x: &[f64], b: &mut [f64], d: &mut [f64]| {
        b[0] = 0.3 * (1.0 - x[0]) - 0.5 * x[0];
        d[0] = 0.1 * x[0] * (1.0 - x[0]);
    };
    diagonal(setting, &run(2e-3, 500.0), &[0.4], fields, |x| {
        x[0] = x[0].clamp(0.0, 1.0);
    })
}

/// Opinion m of agents: b = 0.02 m − 0.05 m³, D = 0.0198 (1 − m²).
fn agents(setting: &Setting) -> Record {
    let fields = |x: &[f64], b: &mut [f64], d: &mut [f64]| {
        b[0] = 0.02 * x[0] - 0.05 * x[0].powi(3);
        d[0] = 0.0198 * (1.0 - x[0] * x[0]);
    };
    diagonal(setting, &run(0.02, 3000.0), &[0.1], fields, |x| {
        x[0] = x[0].clamp(-1.0, 1.0);
    })
}

/// The mean opinion m of 50 agents, event by event: each copies another one with rate 1 and turns with rate 0.01.
/// A step is δ = 0.04, so that b = −0.02 m and D = δ²/2 (1250 (1 − m²)/49 + 0.5).
fn agents_jumps(setting: &Setting) -> Record {
    const AGENTS: f64 = 50.0;
    const TURN: f64 = 0.01;
    let exact = Run {
        step: setting.interval,
        burn_in: 300.0,
        ..run(0.0, 3000.0)
    };
    let start = |stream: &mut Stream, x: &mut [f64]| {
        let up = (0..50).filter(|_| stream.uniform() < 0.5).count();
        x[0] = 2.0 * up as f64 / AGENTS - 1.0;
    };
    let advance = |stream: &mut Stream, dt: f64, x: &mut [f64]| {
        let mut up = (0.5 * AGENTS * (1.0 + x[0])).round();
        let mut left = dt;
        loop {
            let down = AGENTS - up;
            let copies = up * down / (AGENTS - 1.0);
            let rate = 2.0 * copies + TURN * AGENTS;
            left += stream.uniform().ln() / rate;
            if left < 0.0 {
                break;
            }
            let rises = stream.uniform() * rate < copies + TURN * down;
            up += if rises { 1.0 } else { -1.0 };
        }
        x[0] = 2.0 * up / AGENTS - 1.0;
    };
    let values = simulate(setting, &exact, 1, start, advance);
    let fields = |x: &[f64], b: &mut [f64], d: &mut [f64]| {
        b[0] = -2.0 * TURN * x[0];
        d[0] = 8e-4 * (1250.0 / 49.0 * (1.0 - x[0] * x[0]) + TURN * AGENTS);
    };
    Record::new(values, setting.interval, Some(full(1, fields)))
}

/// Between reflecting walls at 0 and 1: b = 0.1 − 0.2 x, D = 0.05 + 0.05 x.
fn reflecting_box(setting: &Setting) -> Record {
    let fields = |x: &[f64], b: &mut [f64], d: &mut [f64]| {
        b[0] = 0.1 - 0.2 * x[0];
        d[0] = 0.05 + 0.05 * x[0];
    };
    diagonal(setting, &run(2.5e-4, 300.0), &[0.5], fields, |x| {
        reflect(&mut x[0], 0.0, 1.0);
    })
}

/// Between reflecting walls of the unit square: b = 0.2 (y − x, x − y), D = 0.05.
fn reflecting_square(setting: &Setting) -> Record {
    let fields = |x: &[f64], b: &mut [f64], d: &mut [f64]| {
        b[0] = 0.2 * (x[1] - x[0]);
        b[1] = 0.2 * (x[0] - x[1]);
        d.fill(0.05);
    };
    diagonal(setting, &run(5e-4, 300.0), &[0.5, 0.5], fields, |x| {
        x.iter_mut().for_each(|x| reflect(x, 0.0, 1.0));
    })
}

/// Polarisation in the unit disc, p ∝ 1 − |m|²: b = −m, D = (1 − |m|²)/4.
fn polarisation(setting: &Setting) -> Record {
    let fields = |x: &[f64], b: &mut [f64], d: &mut [f64]| {
        b[0] = -x[0];
        b[1] = -x[1];
        d.fill(0.25 * (1.0 - x[0] * x[0] - x[1] * x[1]));
    };
    diagonal(setting, &run(5e-4, 200.0), &[0.1, 0.0], fields, |x| {
        let norm = x[0].hypot(x[1]);
        if norm > 1.0 {
            x.iter_mut().for_each(|x| *x /= norm);
        }
    })
}
