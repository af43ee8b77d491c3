//! Many coordinates.

use serde_json::{Value, json};

use crate::record::{Case, Record, Run, Setting, diagonal, free, of_system};

/// The cases.
pub(crate) const CASES: &[Case] = &[
    Case::pass("ou6", "linear, sampled well", &[0.1], |setting| {
        of_system("ou", &shear(6, 0.4), setting, (16, 200.0))
    }),
    Case::pass(
        "ou6-nonnormal",
        "linear with transient growth, sampled well",
        &[0.1],
        |setting| of_system("ou", &shear(6, 2.0), setting, (16, 200.0)),
    ),
    Case::pass("ou20", "linear, sampled well", &[0.1], |setting| {
        of_system("ou", &shear(20, 0.4), setting, (16, 200.0))
    }),
    Case::pass("ou50", "linear, sampled well", &[0.1], |setting| {
        of_system("ou", &shear(50, 0.4), setting, (16, 100.0))
    }),
    Case::pass(
        "chain-of-wells-4",
        "polynomial drift, constant noise, neighbours coupled, passages in every site",
        &[0.05],
        chain::<4>,
    ),
    Case::pass(
        "chain-of-wells-8",
        "polynomial drift, constant noise, neighbours coupled, passages in every site",
        &[0.05],
        chain::<8>,
    ),
];

/// Rates from 1 to 2 on the diagonal, `strength` above it: the drift is not normal.
fn shear(dim: usize, strength: f64) -> Value {
    let rate = |i: usize| 1.0 + i as f64 / dim as f64;
    let entry = |i: usize, j: usize| match j {
        _ if i == j => rate(i),
        _ if j == i + 1 => strength,
        _ => 0.0,
    };
    let square = |entry: &dyn Fn(usize, usize) -> f64| -> Vec<Vec<f64>> {
        let row = |i| (0..dim).map(|j| entry(i, j)).collect();
        (0..dim).map(row).collect()
    };
    let noise = |i: usize, j: usize| {
        if i == j {
            0.5 + 0.1 * (i % 3) as f64
        } else {
            0.0
        }
    };
    json!({"drift": square(&entry), "diffusion": square(&noise), "mean": vec![0.0; dim]})
}

/// An open chain of wells: dx_i = [x_i − x_i³ + 0.5 Σ_neighbours (x_j − x_i)] dt with D = 0.4. The ends
/// have one neighbour and the rates differ from site to site, so that it is no ring.
fn chain<const N: usize>(setting: &Setting) -> Record {
    let run = Run {
        step: 2e-3,
        burn_in: 20.0,
        time: 150.0,
        trajectories: 16,
    };
    let fields = |x: &[f64], b: &mut [f64], d: &mut [f64]| {
        for i in 0..N {
            let pull = |j: usize| 0.5 * (x[j] - x[i]);
            let left = if i > 0 { pull(i - 1) } else { 0.0 };
            let right = if i + 1 < N { pull(i + 1) } else { 0.0 };
            let rate = 1.0 + 0.1 * (i % 3) as f64;
            b[i] = rate * (x[i] - x[i].powi(3)) + left + right;
            d[i] = 0.4;
        }
    };
    let start: Vec<f64> = (0..N)
        .map(|i| if i % 2 == 0 { 1.0 } else { -1.0 })
        .collect();
    diagonal(setting, &run, &start, fields, free)
}
