//! Special functions for the Cox-Ingersoll-Ross process and the soft-spin ring.

/// ln Γ(x) for x > 0, by Stirling's series after shifting the argument above 12.
pub(crate) fn ln_gamma(x: f64) -> f64 {
    let mut shift = 0.0;
    let mut y = x;
    let mut product = 1.0;
    while y < 12.0 {
        product *= y;
        if product > 1e200 {
            shift += f64::ln(product);
            product = 1.0;
        }
        y += 1.0;
    }
    shift += product.ln();
    let inverse = 1.0 / (y * y);
    let series = (1.0 / 12.0
        - inverse
            * (1.0 / 360.0
                - inverse
                    * (1.0 / 1260.0
                        - inverse
                            * (1.0 / 1680.0
                                - inverse * (1.0 / 1188.0 - inverse * (691.0 / 360_360.0))))))
        / y;
    (y - 0.5) * y.ln() - y + 0.5 * std::f64::consts::TAU.ln() + series - shift
}

/// Γ(x + n)/Γ(x), the rising factorial (x)_n.
pub(crate) fn rising(x: f64, n: u32) -> f64 {
    (0..n).map(|k| x + f64::from(k)).product()
}

/// ₁F₁(−m; b; −y), a polynomial of degree m with positive terms for y ≥ 0.
pub(crate) fn kummer_polynomial(m: u32, b: f64, y: f64) -> f64 {
    let mut term = 1.0;
    let mut sum = 1.0;
    for k in 0..m {
        let k = f64::from(k);
        term *= (f64::from(m) - k) * y / ((b + k) * (k + 1.0));
        sum += term;
    }
    sum
}

/// ₂F₁(−m, 1; b; z), a polynomial of degree m.
pub(crate) fn gauss_polynomial(m: u32, b: f64, z: f64) -> f64 {
    let mut term = 1.0;
    let mut sum = 1.0;
    for k in 0..m {
        let k = f64::from(k);
        term *= -(f64::from(m) - k) * z / (b + k);
        sum += term;
    }
    sum
}

/// True where Hankel's expansion of I_q(r) reaches rounding error.
fn hankel_applies(q: f64, r: f64) -> bool {
    r > 500.0 && r > 2.0 * q * q
}

/// √(2πr) e^{−r} I_q(r) = 1 − (μ−1)/(8r) + (μ−1)(μ−9)/(2!(8r)²) − ..., μ = 4q².
fn hankel(q: f64, r: f64) -> f64 {
    let mu = 4.0 * q * q;
    let mut term = 1.0;
    let mut sum = 1.0;
    for k in 1..60 {
        let k = f64::from(k);
        let next = -term * (mu - (2.0 * k - 1.0).powi(2)) / (8.0 * r * k);
        if next.abs() > term.abs() && k > q {
            break;
        }
        term = next;
        sum += term;
        if term.abs() < 1e-17 * sum.abs() {
            break;
        }
    }
    sum
}

/// ln I_q(r) for r > 0 and q > −1, without overflow.
pub(crate) fn ln_bessel_i(q: f64, r: f64) -> f64 {
    if hankel_applies(q, r) {
        return r - 0.5 * (std::f64::consts::TAU * r).ln() + hankel(q, r).ln();
    }
    // I_q(r) = (r/2)^q / Γ(q+1) Σ_k (r²/4)^k / (k! (q+1)_k): all terms positive.
    let quarter = 0.25 * r * r;
    let (mut term, mut sum, mut scale) = (1.0, 1.0, 0.0);
    let mut k = 0.0;
    loop {
        k += 1.0;
        term *= quarter / (k * (q + k));
        sum += term;
        if sum > 1e280 {
            term *= 1e-280;
            sum *= 1e-280;
            scale += 280.0 * std::f64::consts::LN_10;
        }
        if term < 1e-17 * sum && k * (q + k) > quarter {
            break;
        }
    }
    q * (0.5 * r).ln() - ln_gamma(q + 1.0) + sum.ln() + scale
}

/// I_q(r) / I_{q−1}(r) for r > 0 and q > 0, stable from tiny to huge r.
///
/// Gauss's continued fraction r/(2q + r²/(2q+2 + r²/(2q+4 + ...))), all of whose terms are
/// positive, by Lentz's method; Hankel's expansion beyond.
pub(crate) fn bessel_i_ratio(q: f64, r: f64) -> f64 {
    if hankel_applies(q, r) {
        return hankel(q, r) / hankel(q - 1.0, r);
    }
    let square = r * r;
    let mut b = 2.0 * q;
    let mut f = b.max(1e-300);
    let (mut c, mut d) = (f, 0.0);
    loop {
        b += 2.0;
        d = 1.0 / (b + square * d);
        c = b + square / c;
        let change = c * d;
        f *= change;
        if (change - 1.0).abs() < 1e-16 {
            break;
        }
    }
    r / f
}

#[cfg(test)]
mod tests {
    use super::*;

    /// I_{1/2}(r) = √(2/(πr)) sinh r, I_{3/2}(r) = √(2/(πr)) (cosh r − sinh r / r).
    #[test]
    fn half_integer_bessel_functions() {
        for r in [1e-8, 1e-3, 0.3, 2.0, 17.0, 300.0, 499.0, 501.0, 699.0] {
            let exact = r / 3.0f64;
            let ratio = if r < 1e-2 {
                exact * (1.0 - r * r / 15.0)
            } else {
                1.0 / f64::tanh(r) - 1.0 / r
            };
            let computed = bessel_i_ratio(1.5, r);
            assert!(
                (computed / ratio - 1.0).abs() < 3e-13,
                "{r} {computed} {ratio}"
            );
            let ln_half = 0.5 * (2.0 / (std::f64::consts::PI * r)).ln()
                + r
                + (-f64::exp_m1(-2.0 * r) / 2.0).ln();
            assert!((ln_bessel_i(0.5, r) - ln_half).abs() < 1e-12 * ln_half.abs().max(1.0));
        }
    }

    #[test]
    fn ratio_is_monotone_and_bounded_over_twenty_decades() {
        for q in [0.05, 0.5, 2.0, 31.0] {
            let mut last = 0.0;
            for k in -100..=100 {
                let r = 10f64.powf(f64::from(k) / 10.0);
                let ratio = bessel_i_ratio(q, r);
                assert!(ratio > last || ratio > 1.0 - 1e-9, "{q} {r}");
                assert!(ratio <= 1.0 + 1e-14 || q < 0.5);
                last = ratio;
            }
        }
    }

    #[test]
    fn branches_join() {
        for q in [0.3, 1.0, 4.7, 15.0] {
            let r = 500.0f64;
            let below = bessel_i_ratio(q, r * (1.0 - 1e-12));
            let above = bessel_i_ratio(q, r * (1.0 + 1e-12));
            assert!((below / above - 1.0).abs() < 1e-13, "{q} {below} {above}");
            let below = ln_bessel_i(q, r * (1.0 - 1e-14));
            let above = ln_bessel_i(q, r * (1.0 + 1e-14));
            assert!((below - above).abs() < 1e-10, "{q}");
        }
    }

    #[test]
    fn gamma_function() {
        let mut factorial = 1.0f64;
        for n in 1..20 {
            factorial *= f64::from(n);
            assert!((ln_gamma(f64::from(n) + 1.0) - factorial.ln()).abs() < 1e-13 * 40.0);
        }
        assert!((ln_gamma(0.5) - 0.5 * std::f64::consts::PI.ln()).abs() < 1e-14);
        assert!((ln_gamma(1e-5) - 11.512_919_692_895_83).abs() < 1e-11);
        assert!((rising(0.5, 3) - 1.875).abs() < 1e-15);
    }
}
