//! The activation silu(z) = z σ(z), σ(z) = 1/(1 + e^{−z}), with its first two derivatives.

use pulp::{Arch, Simd, WithSimd};

use super::product::{columns, stride};

/// Coefficients of 2^f ≈ 1 + f (c_1 + f (c_2 + …)) for |f| ≤ ½: c_1 = ln 2 and, for the rest, the
/// least relative error (1.0·10⁻⁷).
const EXP2: [f32; 5] = [
    std::f32::consts::LN_2,
    0.240_222_8,
    0.055_505_6,
    0.009_669_71,
    0.001_330_026_6,
];

/// e^{−z} for |z| ≤ 80, beyond which it stays what it is there.
#[inline(always)]
fn exp_negative<S: Simd>(simd: S, z: S::f32s) -> S::f32s {
    // Adding 1.5·2²³ leaves a number rounded to an integer, which stands in its lowest bits.
    const ROUND: f32 = 12_582_912.0;
    let scale = simd.splat_f32s(-std::f32::consts::LOG2_E);
    let round = simd.splat_f32s(ROUND);
    let z = simd.min_f32s(
        simd.splat_f32s(80.0),
        simd.max_f32s(simd.splat_f32s(-80.0), z),
    );
    let shifted = simd.mul_add_e_f32s(z, scale, round);
    let whole = simd.sub_f32s(shifted, round);
    let fraction = simd.mul_add_e_f32s(z, scale, simd.neg_f32s(whole));
    let mut power = simd.splat_f32s(EXP2[4]);
    for k in (0..4).rev() {
        power = simd.mul_add_e_f32s(power, fraction, simd.splat_f32s(EXP2[k]));
    }
    power = simd.mul_add_e_f32s(power, fraction, simd.splat_f32s(1.0));
    // The integer goes into the exponent.
    let exponent = simd.wrapping_dyn_shl_u32s(
        simd.transmute_u32s_f32s(shifted),
        simd.splat_u32s(f32::MANTISSA_DIGITS - 1),
    );
    simd.transmute_f32s_u32s(simd.add_u32s(simd.transmute_u32s_f32s(power), exponent))
}

/// The terms of silu and its derivatives.
struct Silu<V> {
    z: V,
    /// σ(z).
    sigma: V,
    /// 1 − σ(z) = e^{−z} σ(z), which keeps its digits where σ is close to one.
    rest: V,
    /// silu(z).
    value: V,
}

impl<V: Copy> Silu<V> {
    #[inline(always)]
    fn new<S: Simd<f32s = V>>(simd: S, z: V) -> Self {
        let one = simd.splat_f32s(1.0);
        let exp = exp_negative(simd, z);
        let sigma = simd.div_f32s(one, simd.add_f32s(one, exp));
        Self {
            z,
            sigma,
            rest: simd.mul_f32s(exp, sigma),
            value: simd.mul_f32s(z, sigma),
        }
    }

    /// silu′ = σ + silu (1 − σ).
    #[inline(always)]
    fn slope<S: Simd<f32s = V>>(&self, simd: S) -> V {
        simd.mul_add_e_f32s(self.value, self.rest, self.sigma)
    }

    /// silu″ = σ (1 − σ) (2 + z (1 − 2σ)).
    #[inline(always)]
    fn curvature<S: Simd<f32s = V>>(&self, simd: S) -> V {
        let bell = simd.mul_f32s(self.sigma, self.rest);
        let odd = simd.sub_f32s(self.rest, self.sigma);
        let factor = simd.mul_add_e_f32s(self.z, odd, simd.splat_f32s(2.0));
        simd.mul_f32s(bell, factor)
    }
}

/// The state of a hidden layer for `states` states and as many directions as the lengths imply: blocks of one
/// row per state, the first for the value and one for each direction.
pub(super) struct Activate<'a> {
    pub(super) states: usize,
    pub(super) width: usize,
    /// b, in whole lines.
    pub(super) bias: &'a [f32],
    /// In: W a, then W ȧ for each direction. Out: silu′(z) in place of the first, ż unchanged.
    pub(super) z: &'a mut [f32],
    /// Out: silu(z), then silu′(z) ż for each direction.
    pub(super) a: &'a mut [f32],
    /// Out: silu″(z); empty when there are no directions.
    pub(super) curvature: &'a mut [f32],
}

impl Activate<'_> {
    pub(super) fn run(self, arch: Arch) {
        arch.dispatch(self);
    }
}

impl WithSimd for Activate<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let (stride, columns) = (stride(self.width), columns(self.width));
        let block = self.states * stride;
        let (z, dz) = self.z.split_at_mut(block);
        let (a, da) = self.a.split_at_mut(block);
        let (bias, _) = S::as_simd_f32s(&self.bias[..columns]);
        for s in 0..self.states {
            let row = s * stride..s * stride + columns;
            let (z, _) = S::as_mut_simd_f32s(&mut z[row.clone()]);
            let (a, _) = S::as_mut_simd_f32s(&mut a[row.clone()]);
            if self.curvature.is_empty() {
                for ((z, a), &bias) in z.iter_mut().zip(a).zip(bias) {
                    let silu = Silu::new(simd, simd.add_f32s(*z, bias));
                    *a = silu.value;
                    *z = silu.slope(simd);
                }
                continue;
            }
            let (curvature, _) = S::as_mut_simd_f32s(&mut self.curvature[row.clone()]);
            for (((z, a), &bias), curvature) in z.iter_mut().zip(a).zip(bias).zip(curvature) {
                let silu = Silu::new(simd, simd.add_f32s(*z, bias));
                *a = silu.value;
                *z = silu.slope(simd);
                *curvature = silu.curvature(simd);
            }
            for (dz, da) in dz.chunks_exact(block).zip(da.chunks_exact_mut(block)) {
                let (dz, _) = S::as_simd_f32s(&dz[row.clone()]);
                let (da, _) = S::as_mut_simd_f32s(&mut da[row.clone()]);
                for ((&dz, da), &slope) in dz.iter().zip(da).zip(&*z) {
                    *da = simd.mul_f32s(slope, dz);
                }
            }
        }
    }
}

/// From derivatives of the loss with respect to a and ȧ to those with respect to z and ż:
/// z̄ = silu′ ā + Σ silu″ ż ā̇ and ż̄ = silu′ ā̇.
pub(super) struct Deactivate<'a> {
    pub(super) states: usize,
    pub(super) width: usize,
    /// silu′(z), then ż for each direction, as [`Activate`] left them.
    pub(super) z: &'a [f32],
    /// silu″(z); empty when there are no directions.
    pub(super) curvature: &'a [f32],
    /// In: ā, ā̇. Out: z̄, ż̄.
    pub(super) bar: &'a mut [f32],
}

impl Deactivate<'_> {
    pub(super) fn run(self, arch: Arch) {
        arch.dispatch(self);
    }
}

impl WithSimd for Deactivate<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let (stride, columns) = (stride(self.width), columns(self.width));
        let block = self.states * stride;
        let (slope, dz) = self.z.split_at(block);
        let (bar, dbar) = self.bar.split_at_mut(block);
        for s in 0..self.states {
            let row = s * stride..s * stride + columns;
            let (slope, _) = S::as_simd_f32s(&slope[row.clone()]);
            let (bar, _) = S::as_mut_simd_f32s(&mut bar[row.clone()]);
            for (bar, &slope) in bar.iter_mut().zip(slope) {
                *bar = simd.mul_f32s(*bar, slope);
            }
            for (dz, dbar) in dz.chunks_exact(block).zip(dbar.chunks_exact_mut(block)) {
                let (dz, _) = S::as_simd_f32s(&dz[row.clone()]);
                let (dbar, _) = S::as_mut_simd_f32s(&mut dbar[row.clone()]);
                let (curvature, _) = S::as_simd_f32s(&self.curvature[row.clone()]);
                for j in 0..dz.len() {
                    let bend = simd.mul_f32s(curvature[j], dz[j]);
                    bar[j] = simd.mul_add_e_f32s(bend, dbar[j], bar[j]);
                    dbar[j] = simd.mul_f32s(dbar[j], slope[j]);
                }
            }
        }
    }
}
