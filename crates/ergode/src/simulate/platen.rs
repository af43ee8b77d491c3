//! Platen's explicit scheme on tiles of trajectories.

use pulp::Simd;

use super::scheme::{Dimensions, Scheme};
use crate::simd::{AlignedBuffer, Lanes, Real};

/// Drift and noise of a whole tile, coordinate-major, (dimension, lane).
pub(super) trait Stages: Dimensions {
    /// F(x).
    fn drift(&mut self, x: &[f64], out: &mut [f64]);
    /// √2 Σ(x) ξ.
    fn noise(&mut self, x: &[f64], xi: &[f64], out: &mut [f64]);
    /// Puts states that left the space back into it. `drift` and `noise` take such states for those that
    /// they are put to.
    fn fold(&mut self, x: &mut [f64]);
}

/// Platen's order 2.0 weak scheme. With b_j the columns of √2 Σ,
///
/// Y' = Y + ½(a(Ῡ) + a) Δ
///    + ¼ Σ_j [ (b_j(R⁺_j) + b_j(R⁻_j) + 2 b_j) ΔW_j + Σ_{r≠j} (b_j(U⁺_r) + b_j(U⁻_r) − 2 b_j) ΔW_j ]
///    + ¼ Δ^{-½} Σ_j [ (b_j(R⁺_j) − b_j(R⁻_j)) (ΔW_j² − Δ) + Σ_{r≠j} (b_j(U⁺_r) − b_j(U⁻_r)) (ΔW_j ΔW_r + V_{rj}) ],
///
/// Ῡ = Y + aΔ + Σ b_j ΔW_j, R^±_j = Y + aΔ ± b_j √Δ, U^±_r = Y ± b_r √Δ, V_{rj} = −V_{jr} = ±Δ.
/// The sums over j are products of √2 Σ with a vector, so only `noise` is needed.
///
/// Where the noise is additive it is Y' = Y + ½(a(Ῡ) + a) Δ + Σ_j b_j ΔW_j.
///
/// Y', and the states at which a and b_j are evaluated, are put back into the space of the equation. Where walls
/// are hit the order is one, that of Euler's scheme with reflection: drift and noise, continued as mirror images,
/// are not smooth at a wall, and a state is within a step of it with probability of order √Δ.
#[inline(always)]
pub(super) fn platen<S: Simd>(
    simd: S,
    stages: &mut impl Stages,
    dt: f64,
    lanes: usize,
    state: &mut [f64],
    normals: &[f64],
) {
    let (size, m) = (stages.dim() * lanes, stages.noise_dim());
    let per_step = Scheme::Platen.normals_per_step(m);
    let step = Lanes::splat(simd, dt);
    let root = Lanes::splat(simd, dt.sqrt());
    let columns = if stages.is_additive() { 0 } else { m };
    let along_state = 1.0 - 0.5 * columns as f64;
    let [
        mut drift,
        mut drift_end,
        mut moved,
        mut column,
        mut point,
        mut term,
        mut next,
    ] = [(); 7].map(|()| AlignedBuffer::<f64>::zeros(size));
    let [mut increment, mut weight] = [(); 2].map(|()| AlignedBuffer::<f64>::zeros(m * lanes));
    for random in normals.chunks_exact(per_step * lanes) {
        combine(simd, &mut increment, [&random[..m * lanes]], |[z]| z * root);
        stages.drift(state, drift.as_mut_slice());
        combine(simd, &mut moved, [drift.as_slice(), state], |[a, x]| {
            a.mul_add(step, x)
        });
        // Ῡ, the drift average, and the terms in b_j(Y): 2/4 − 2(m−1)/4 = 1 − m/2.
        stages.noise(state, increment.as_slice(), term.as_mut_slice());
        combine(
            simd,
            &mut point,
            [moved.as_slice(), term.as_slice()],
            |[y, b]| y + b,
        );
        stages.drift(point.as_slice(), drift_end.as_mut_slice());
        let parts = [
            state,
            drift.as_slice(),
            drift_end.as_slice(),
            term.as_slice(),
        ];
        combine(simd, &mut next, parts, |[x, a, end, b]| {
            x + (a + end) * step * 0.5 + b * along_state
        });
        for r in 0..columns {
            let unit = r * lanes..(r + 1) * lanes;
            weight.as_mut_slice().fill(0.0);
            weight.as_mut_slice()[unit].fill(1.0);
            stages.noise(state, weight.as_slice(), column.as_mut_slice());
            for sign in [1.0, -1.0] {
                // A single column has no others.
                let starts = [(moved.as_slice(), false), (&*state, true)];
                for (start, others) in starts.into_iter().take(m.min(2)) {
                    // R^±_r contributes to column r alone, U^±_r to every other column.
                    combine(simd, &mut point, [start, column.as_slice()], |[y, b]| {
                        y + b * root * sign
                    });
                    for (j, weight) in weight.as_mut_slice().chunks_exact_mut(lanes).enumerate() {
                        if others == (j == r) {
                            weight.fill(0.0);
                        } else {
                            weigh(simd, dt, random, (r, j, m), sign, weight);
                        }
                    }
                    stages.noise(point.as_slice(), weight.as_slice(), term.as_mut_slice());
                    add(simd, &mut next, term.as_slice());
                }
            }
        }
        state.copy_from_slice(next.as_slice());
        stages.fold(state);
    }
}

/// ¼ ΔW_j ± ¼ Δ^{-½} (ΔW_j ΔW_r + V_{rj}), with −Δ for V_{rj} where j = r.
#[inline(always)]
fn weigh<S: Simd>(
    simd: S,
    dt: f64,
    random: &[f64],
    (r, j, m): (usize, usize, usize),
    sign: f64,
    weight: &mut [f64],
) {
    let lanes = weight.len();
    let row = |k: usize| S::as_simd_f64s(&random[k * lanes..(k + 1) * lanes]).0;
    let step = Lanes::splat(simd, dt);
    let root = Lanes::splat(simd, dt.sqrt());
    let quarter_root = Lanes::splat(simd, 0.25 / dt.sqrt());
    let spare = row(if j == r {
        r
    } else {
        m + r.max(j) * (r.max(j) - 1) / 2 + r.min(j)
    });
    let (along, across) = (row(j), row(r));
    for (k, weight) in S::as_mut_simd_f64s(weight).0.iter_mut().enumerate() {
        let increment = Lanes::new(simd, along[k]) * root;
        let other = Lanes::new(simd, across[k]) * root;
        let correction = if j == r {
            -step
        } else {
            two_point(simd, spare[k], r < j) * step
        };
        let spread = (increment * other + correction) * quarter_root;
        let straight = increment * 0.25;
        let sum = if sign > 0.0 {
            straight + spread
        } else {
            straight - spread
        };
        *weight = sum.value();
    }
}

/// V_{rj}/Δ: the sign of a spare normal for r < j, antisymmetric.
#[inline(always)]
fn two_point<S: Simd>(simd: S, z: S::f64s, ordered: bool) -> Lanes<S> {
    let zero = simd.splat_f64s(0.0);
    let (one, minus) = (simd.splat_f64s(1.0), simd.splat_f64s(-1.0));
    let sign = simd.select_f64s(simd.less_than_f64s(z, zero), minus, one);
    let sign = Lanes::new(simd, sign);
    if ordered { sign } else { -sign }
}

/// A tile of what `formula` makes of the entries of other tiles.
#[inline(always)]
fn combine<S: Simd, const N: usize>(
    simd: S,
    out: &mut AlignedBuffer,
    parts: [&[f64]; N],
    formula: impl Fn([Lanes<S>; N]) -> Lanes<S>,
) {
    let out = S::as_mut_simd_f64s(out.as_mut_slice()).0;
    let zero = Lanes::splat(simd, 0.0);
    for (k, out) in out.iter_mut().enumerate() {
        let mut values = [zero; N];
        for (value, part) in values.iter_mut().zip(&parts) {
            *value = Lanes::new(simd, S::as_simd_f64s(part).0[k]);
        }
        *out = formula(values).value();
    }
}

/// sum += terms.
#[inline(always)]
fn add<S: Simd>(simd: S, sum: &mut AlignedBuffer, terms: &[f64]) {
    let terms = S::as_simd_f64s(terms).0;
    for (sum, term) in S::as_mut_simd_f64s(sum.as_mut_slice())
        .0
        .iter_mut()
        .zip(terms)
    {
        *sum = (Lanes::new(simd, *sum) + Lanes::new(simd, *term)).value();
    }
}
