//! Gauss-Legendre quadrature.

/// Nodes and weights of Gauss-Legendre quadrature on [a, b].
pub(crate) fn gauss_legendre(n: usize, a: f64, b: f64) -> Vec<(f64, f64)> {
    (0..n)
        .map(|i| {
            // Newton's iteration on P_n from Tricomi's estimate of the root.
            let mut x =
                (std::f64::consts::PI * (n as f64 - i as f64 - 0.25) / (n as f64 + 0.5)).cos();
            let mut slope = 1.0;
            for _ in 0..100 {
                let (mut p, mut previous) = (x, 1.0);
                for k in 2..=n {
                    let k = k as f64;
                    (p, previous) = (((2.0 * k - 1.0) * x * p - (k - 1.0) * previous) / k, p);
                }
                slope = n as f64 * (x * p - previous) / (x * x - 1.0);
                let step = p / slope;
                x -= step;
                if step.abs() < 1e-15 {
                    break;
                }
            }
            let weight = 2.0 / ((1.0 - x * x) * slope * slope);
            (0.5 * (a + b) + 0.5 * (b - a) * x, 0.5 * (b - a) * weight)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gauss_legendre_integrates_polynomials_exactly() {
        for n in [1, 2, 5, 28] {
            for power in 0..2 * n as i32 {
                let sum: f64 = gauss_legendre(n, 0.0, 2.0)
                    .iter()
                    .map(|(x, w)| w * x.powi(power))
                    .sum();
                let exact = 2f64.powi(power + 1) / f64::from(power + 1);
                assert!((sum / exact - 1.0).abs() < 1e-12, "{n} {power}");
            }
        }
    }
}
