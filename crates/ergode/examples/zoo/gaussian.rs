//! Linear equations with constant noise.

use serde_json::json;

use crate::record::{Case, of_system};

/// The cases.
pub(crate) const CASES: &[Case] = &[
    Case::pass(
        "ou1",
        "one linear relaxation, 3200 correlation times: nothing is hidden",
        &[0.05, 0.5],
        |setting| {
            let one = json!({"drift": [[1.0]], "diffusion": [[1.0]], "mean": [0.0]});
            of_system("ou", &one, setting, (16, 200.0))
        },
    )
    .quick(),
    Case::pass(
        "ou2-rotating",
        "linear with currents, sampled well: nothing is hidden",
        &[0.05, 0.5],
        |setting| of_system("ou", &json!({}), setting, (16, 200.0)),
    )
    .quick(),
    Case::pass(
        "ou2-weakly-damped",
        "linear; twenty radians to a decay, and the decay is seen 320 times",
        &[0.1],
        |setting| {
            let drift = [[0.05, 1.0], [-1.0, 0.05]];
            let noise = [[0.05, 0.0], [0.0, 0.05]];
            let all = json!({"drift": drift, "diffusion": noise, "mean": [0.0, 0.0]});
            of_system("ou", &all, setting, (16, 400.0))
        },
    ),
];
