//! Statistics that several rooms use: laws of test statistics, and the Fourier transform.

use std::sync::Arc;

use realfft::num_complex::Complex64;
use realfft::{RealFftPlanner, RealToComplex};
use statrs::function::erf::erfc;

/// A Student t of ν degrees of freedom as a normal score (Wallace, 1959).
pub(crate) fn normal_score(t: f64, nu: f64) -> f64 {
    t.signum() * (nu * (t * t / nu).ln_1p()).sqrt() * (8.0 * nu + 1.0) / (8.0 * nu + 3.0)
}

/// A variance ratio F of d₁ and d₂ degrees of freedom as a normal score (Paulson, 1942).
pub(crate) fn fisher_score(ratio: f64, d1: f64, d2: f64) -> f64 {
    let (a, b) = (2.0 / (9.0 * d1), 2.0 / (9.0 * d2));
    let root = ratio.max(0.0).cbrt();
    ((1.0 - b) * root - (1.0 - a)) / (b * root * root + a).sqrt()
}

/// The t of ν degrees of freedom whose [`normal_score`] is z ≥ 0.
pub(crate) fn student_quantile(z: f64, nu: f64) -> f64 {
    let z = z * (8.0 * nu + 3.0) / (8.0 * nu + 1.0);
    (nu * (z * z / nu).exp_m1()).sqrt()
}

/// The probability that |Z| of a standard normal number exceeds |z|.
pub(crate) fn normal_tails(z: f64) -> f64 {
    erfc(z.abs() / std::f64::consts::SQRT_2)
}

/// sup |F_1 − F_2| between the samples that are marked and those that are not, and
/// n_1 n_2 / (n_1 + n_2).
pub(crate) fn two_sample(mut order: Vec<(f64, bool)>) -> (f64, f64) {
    order.sort_by(|a, b| a.0.total_cmp(&b.0));
    let marked = order.iter().filter(|s| s.1).count() as f64;
    let others = order.len() as f64 - marked;
    if marked == 0.0 || others == 0.0 {
        return (0.0, 0.0);
    }
    let (mut difference, mut largest) = (0.0f64, 0.0f64);
    for (k, (x, is_marked)) in order.iter().enumerate() {
        difference += if *is_marked {
            1.0 / marked
        } else {
            -1.0 / others
        };
        if order.get(k + 1).is_none_or(|next| next.0 > *x) {
            largest = largest.max(difference.abs());
        }
    }
    (largest, marked * others / (marked + others))
}

/// Q(λ) = 2 Σ_{k≥1} (−1)^{k−1} e^{−2 k² λ²}, the probability that √n sup|F_1 − F_2| exceeds λ.
pub(crate) fn kolmogorov_tail(lambda: f64) -> f64 {
    if lambda.is_nan() || lambda < 0.3 {
        return 1.0;
    }
    let term = |k: i32| {
        2.0 * f64::from(1 - 2 * ((k + 1) % 2)) * (-2.0 * f64::from(k * k) * lambda * lambda).exp()
    };
    (1..20).map(term).sum::<f64>().clamp(0.0, 1.0)
}

/// Discrete Fourier transform of n real numbers, X_k = Σ_b x_b e^{−2πi kb/n} for k ≤ n/2, with the buffers of
/// one thread.
pub(crate) struct Fourier {
    plan: Arc<dyn RealToComplex<f64>>,
    /// The numbers to transform; their values are lost by [`Fourier::transform`].
    pub(crate) input: Vec<f64>,
    output: Vec<Complex64>,
    scratch: Vec<Complex64>,
}

impl Fourier {
    /// For n numbers.
    pub(crate) fn new(n: usize) -> Self {
        let plan = RealFftPlanner::new().plan_fft_forward(n);
        Self {
            input: plan.make_input_vec(),
            output: plan.make_output_vec(),
            scratch: plan.make_scratch_vec(),
            plan,
        }
    }

    /// The transform of `input`.
    pub(crate) fn transform(&mut self) -> &[Complex64] {
        let (input, output) = (&mut self.input, &mut self.output);
        let done = self
            .plan
            .process_with_scratch(input, output, &mut self.scratch);
        done.expect("the buffers have the lengths of the plan");
        output
    }
}

/// Read a number that JSON, which has no NaN, writes as null.
pub(crate) fn nan_if_null<'de, D: serde::Deserializer<'de>>(source: D) -> Result<f64, D::Error> {
    use serde::Deserialize;
    Ok(Option::<f64>::deserialize(source)?.unwrap_or(f64::NAN))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_transform_equals_the_sum() {
        let mut fourier = Fourier::new(16);
        let x: Vec<f64> = (0..16).map(|b| f64::from(b * b % 7)).collect();
        fourier.input.copy_from_slice(&x);
        for (k, found) in fourier.transform().iter().enumerate() {
            let terms = x.iter().enumerate().map(|(b, x)| {
                let phase = -std::f64::consts::TAU * (k * b) as f64 / 16.0;
                Complex64::from_polar(*x, phase)
            });
            assert!((found - terms.sum::<Complex64>()).norm() < 1e-12);
        }
    }

    #[test]
    fn student_quantiles_are_wider_than_normal_ones() {
        // 97.5 % quantiles of Student's t, from tables; Wallace's approximation is worst for few degrees of freedom.
        for (nu, t) in [(3.0, 3.182), (7.0, 2.365), (30.0, 2.042), (1e6, 1.960)] {
            let found = student_quantile(1.959_964, nu);
            assert!((found / t - 1.0).abs() < 0.012, "{nu}: {found}");
            assert!((normal_score(found, nu) - 1.959_964).abs() < 1e-9);
        }
    }

    #[test]
    fn tails_of_the_normal_law() {
        for (z, tails) in [
            (0.0, 1.0),
            (1.0, 0.317_310_507_862_914_1),
            (1.959_963_984_540_054, 0.05),
            (-3.0, 2.699_796_063_260_19e-3),
            (5.0, 5.733_031_437_583_87e-7),
        ] {
            assert!((normal_tails(z) / tails - 1.0).abs() < 1e-10, "{z}");
        }
        let (below, above) = (normal_tails(3.0 - 1e-9), normal_tails(3.0 + 1e-9));
        assert!((below / above - 1.0).abs() < 1e-7);
    }
}
