//! Motion among several wells in one, two and three coordinates.

use serde_json::json;

use crate::record::{Case, Record, Run, Setting, diagonal, free, of_system};

/// The cases.
pub(crate) const CASES: &[Case] = &[
    Case::pass(
        "double-well",
        "one coordinate, smooth fields, hundreds of passages",
        &[0.05, 0.5],
        |setting| of_system("double-well", &json!({}), setting, (16, 300.0)),
    )
    .quick(),
    Case::pass(
        "tilted-well",
        "one coordinate with polynomial drift and constant noise, hundreds of passages",
        &[0.05],
        tilted_well,
    )
    .quick(),
    Case::pass(
        "prinz",
        "four wells with passages among all of them in every trajectory",
        &[0.02, 0.2],
        |setting| of_system("prinz", &json!({}), setting, (16, 600.0)),
    ),
    Case::pass(
        "triple-well",
        "reversible, smooth, passages among all wells",
        &[0.05, 0.2],
        |setting| of_system("triple-well", &json!({}), setting, (16, 500.0)),
    ),
    Case::pass(
        "mueller-brown",
        "reversible, smooth, passages among all wells",
        &[0.05, 0.5],
        |setting| of_system("mueller-brown", &json!({}), setting, (16, 800.0)),
    ),
    Case::pass(
        "double-well-3d",
        "three coordinates with polynomial drift and constant noise, hundreds of passages",
        &[0.05],
        double_well_3d,
    ),
];

/// dx = (x − x³ + 0.1) dt + √(2·0.25) dW.
fn tilted_well(setting: &Setting) -> Record {
    let run = Run {
        step: 2e-3,
        burn_in: 10.0,
        time: 400.0,
        trajectories: 16,
    };
    let fields = |x: &[f64], b: &mut [f64], d: &mut [f64]| {
        b[0] = x[0] - x[0].powi(3) + 0.1;
        d[0] = 0.25;
    };
    diagonal(setting, &run, &[1.0], fields, free)
}

/// U = (x² − 1)² + (y − x)² + (z − x y)² / 2 + z² / 2 with D = diag(0.5, 0.4, 0.3), D ∇U the drift.
fn double_well_3d(setting: &Setting) -> Record {
    let run = Run {
        step: 1e-3,
        burn_in: 10.0,
        time: 300.0,
        trajectories: 16,
    };
    let fields = |s: &[f64], b: &mut [f64], d: &mut [f64]| {
        let (x, y, z) = (s[0], s[1], s[2]);
        d.copy_from_slice(&[0.5, 0.4, 0.3]);
        let away = z - x * y;
        b[0] = -d[0] * (4.0 * x * (x * x - 1.0) - 2.0 * (y - x) - away * y);
        b[1] = -d[1] * (2.0 * (y - x) - away * x);
        b[2] = -d[2] * (away + z);
    };
    diagonal(setting, &run, &[1.0, 1.0, 0.0], fields, free)
}
