//! Oscillators and chaos.

use serde_json::json;

use crate::record::{Case, of_system};

/// The cases.
pub(crate) const CASES: &[Case] = &[
    Case::pass(
        "affine2d",
        "smooth polynomial fields with currents, sampled well",
        &[0.05, 0.2],
        |setting| of_system("affine2d", &json!({}), setting, (16, 200.0)),
    ),
    Case::pass(
        "van-der-pol",
        "all coordinates seen, 400 turns, at least thirteen samples a turn",
        &[0.02, 0.1, 0.2, 0.5],
        |setting| of_system("van-der-pol", &json!({}), setting, (16, 160.0)),
    ),
    Case::pass(
        "limit-cycle",
        "all coordinates seen, 1200 turns",
        &[0.02, 0.1, 0.2, 0.5],
        |setting| of_system("limit-cycle", &json!({}), setting, (16, 160.0)),
    ),
    Case::pass(
        "limit-cycle-3d",
        "all coordinates seen, 1200 turns",
        &[0.05, 0.2],
        |setting| {
            of_system(
                "limit-cycle",
                &json!({"coordinates": 3}),
                setting,
                (16, 160.0),
            )
        },
    ),
    Case::pass(
        "lorenz63",
        "all coordinates seen, thousands of turns",
        &[0.01, 0.03, 0.05],
        |setting| of_system("lorenz63", &json!({}), setting, (16, 100.0)),
    ),
    Case::pass(
        "fitzhugh-nagumo",
        "all coordinates seen, hundreds of spikes",
        &[0.1, 0.5],
        |setting| of_system("fitzhugh-nagumo", &json!({}), setting, (16, 600.0)),
    ),
];
