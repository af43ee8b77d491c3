//! Angles, recorded in [0, 2π).

use crate::record::{Case, Record, Run, Setting, diagonal, wrap};

/// The cases.
pub(crate) const CASES: &[Case] = &[
    Case::pass(
        "driven-angle",
        "two harmonics in drift and diffusion, hundreds of turns",
        &[0.05, 0.5],
        driven_angle,
    ),
    Case::pass(
        "coupled-angles",
        "the first harmonics in drift, constant diffusion, hundreds of turns",
        &[0.1],
        coupled_angles,
    ),
    Case::pass(
        "angle-and-radius",
        "smooth fields of an angle and a coordinate on the line",
        &[0.1],
        angle_and_radius,
    ),
];

const RUN: Run = Run {
    step: 1e-3,
    burn_in: 10.0,
    time: 200.0,
    trajectories: 16,
};

/// dθ = (1 + 0.7 sin θ) dt with D = 0.3 + 0.1 cos θ.
fn driven_angle(setting: &Setting) -> Record {
    let fields = |x: &[f64], b: &mut [f64], d: &mut [f64]| {
        b[0] = 1.0 + 0.7 * x[0].sin();
        d[0] = 0.3 + 0.1 * x[0].cos();
    };
    diagonal(setting, &RUN, &[1.0], fields, |x| wrap(&mut x[0])).with_circles(&[true])
}

/// dθ_i = (ω_i + 0.7 sin(θ_j − θ_i)) dt with D = 0.2.
fn coupled_angles(setting: &Setting) -> Record {
    let fields = |x: &[f64], b: &mut [f64], d: &mut [f64]| {
        let pull = 0.7 * (x[1] - x[0]).sin();
        b[0] = 1.0 + pull;
        b[1] = 0.6 - pull;
        d.fill(0.2);
    };
    let keep = |x: &mut [f64]| x.iter_mut().for_each(wrap);
    diagonal(setting, &RUN, &[0.0, 1.0], fields, keep).with_circles(&[true, true])
}

/// dθ = (1 + u) dt with D = 0.2, du = (0.5 cos θ − u) dt with D = 0.1.
fn angle_and_radius(setting: &Setting) -> Record {
    let fields = |x: &[f64], b: &mut [f64], d: &mut [f64]| {
        b[0] = 1.0 + x[1];
        b[1] = 0.5 * x[0].cos() - x[1];
        d.copy_from_slice(&[0.2, 0.1]);
    };
    diagonal(setting, &RUN, &[0.0, 0.0], fields, |x| wrap(&mut x[0])).with_circles(&[true, false])
}
