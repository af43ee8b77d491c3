//! What stands for one coordinate in a monomial: a power of it, or a wave where it is an angle.
//!
//! A list of exponents numbers these by plain integers: p is z^p, and with [`WAVE`] added 2m is cos mz and 2m + 1
//! is sin mz, m ≥ 1. All lists then say by themselves what they mean, and 0 is the constant in either case.

/// The bit that marks a wave.
const WAVE: u32 = 1 << 31;

/// What an exponent stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Factor {
    /// z^p
    Power(u32),
    /// cos mz
    Cos(u32),
    /// sin mz
    Sin(u32),
}

impl Factor {
    /// What an exponent stands for.
    #[inline(always)]
    pub(crate) fn of(exponent: u32) -> Self {
        let number = exponent & !WAVE;
        match (exponent & WAVE, number % 2) {
            (0, _) => Self::Power(number),
            (_, 0) => Self::Cos(number / 2),
            _ => Self::Sin(number / 2),
        }
    }

    /// The exponent; those of cos 0 and sin 0 are not defined.
    pub(crate) fn exponent(self) -> u32 {
        match self {
            Self::Power(power) => power,
            Self::Cos(m) => WAVE | (2 * m),
            Self::Sin(m) => WAVE | (2 * m + 1),
        }
    }

    /// p, or m.
    #[inline(always)]
    pub(crate) fn degree(self) -> u32 {
        match self {
            Self::Power(degree) | Self::Cos(degree) | Self::Sin(degree) => degree,
        }
    }

    /// True for a wave.
    #[inline(always)]
    pub(crate) fn is_wave(self) -> bool {
        !matches!(self, Self::Power(_))
    }

    /// Its value at z.
    pub(crate) fn value(self, z: f64) -> f64 {
        match self {
            Self::Power(power) => z.powi(power as i32),
            Self::Cos(m) => (f64::from(m) * z).cos(),
            Self::Sin(m) => (f64::from(m) * z).sin(),
        }
    }

    /// The derivative, a factor and a number; none where it is zero.
    #[inline(always)]
    pub(crate) fn derivative(self) -> Option<(Self, f64)> {
        match self {
            Self::Power(0) => None,
            Self::Power(power) => Some((Self::Power(power - 1), f64::from(power))),
            Self::Cos(m) => Some((Self::Sin(m), -f64::from(m))),
            Self::Sin(m) => Some((Self::Cos(m), f64::from(m))),
        }
    }

    /// The derivative of this order.
    pub(crate) fn differentiated(self, order: u32) -> Option<(Self, f64)> {
        let next = |(factor, number): (Self, f64)| {
            let (factor, by) = factor.derivative()?;
            Some((factor, number * by))
        };
        (0..order).try_fold((self, 1.0), |factor, _| next(factor))
    }

    /// The product of two factors of one coordinate, at most two factors with their numbers:
    /// 2 cos a cos b = cos(a − b) + cos(a + b), 2 sin a sin b = cos(a − b) − cos(a + b),
    /// 2 sin a cos b = sin(a + b) + sin(a − b).
    fn product(self, other: Self) -> [(Self, f64); 2] {
        let none = (Self::Power(0), 0.0);
        let cos = |m: u32, number: f64| match m {
            0 => (Self::Power(0), number),
            m => (Self::Cos(m), number),
        };
        match (self, other) {
            (Self::Power(0), factor) | (factor, Self::Power(0)) => [(factor, 1.0), none],
            (Self::Power(a), Self::Power(b)) => [(Self::Power(a + b), 1.0), none],
            (Self::Cos(a), Self::Cos(b)) => [cos(a.abs_diff(b), 0.5), cos(a + b, 0.5)],
            (Self::Sin(a), Self::Sin(b)) => [cos(a.abs_diff(b), 0.5), cos(a + b, -0.5)],
            (Self::Sin(a), Self::Cos(b)) | (Self::Cos(b), Self::Sin(a)) => {
                let sign = if a < b { -0.5 } else { 0.5 };
                let second = match a.abs_diff(b) {
                    0 => none,
                    m => (Self::Sin(m), sign),
                };
                [(Self::Sin(a + b), 0.5), second]
            }
            (Self::Power(_), _) | (_, Self::Power(_)) => {
                unreachable!("a coordinate has powers or waves, not both")
            }
        }
    }
}

/// |α|, the sum of the degrees.
#[inline(always)]
pub(crate) fn degree(exponents: &[u32]) -> u32 {
    exponents.iter().map(|e| Factor::of(*e).degree()).sum()
}

/// True where there is a wave among the factors.
#[inline(always)]
fn has_waves(exponents: &[u32]) -> bool {
    exponents.iter().any(|e| Factor::of(*e).is_wave())
}

/// `visit(α, a)` for the terms of z^left z^right = Σ a z^α, one for powers alone. `product` is a place for
/// the exponents.
#[inline(always)]
pub(crate) fn multiply(
    left: &[u32],
    right: &[u32],
    product: &mut Vec<u32>,
    visit: &mut dyn FnMut(&[u32], f64),
) {
    product.clear();
    if has_waves(left) || has_waves(right) {
        return expand(left, right, 1.0, product, visit);
    }
    product.extend(left.iter().zip(right).map(|(l, r)| l + r));
    visit(product, 1.0);
}

/// The terms whose first factors are chosen.
fn expand(
    left: &[u32],
    right: &[u32],
    number: f64,
    chosen: &mut Vec<u32>,
    visit: &mut dyn FnMut(&[u32], f64),
) {
    let place = chosen.len();
    let ([_, ..], [_, ..]) = (&left[place..], &right[place..]) else {
        return visit(chosen, number);
    };
    let factors = Factor::of(left[place]).product(Factor::of(right[place]));
    for (factor, by) in factors.into_iter().filter(|(_, by)| *by != 0.0) {
        chosen.push(factor.exponent());
        expand(left, right, number * by, chosen, visit);
        chosen.truncate(place);
    }
}

/// The terms of z^left z^right.
pub(crate) fn products(left: &[u32], right: &[u32]) -> Vec<(Vec<u32>, f64)> {
    let mut terms = Vec::new();
    multiply(left, right, &mut Vec::new(), &mut |exponents, number| {
        terms.push((exponents.to_vec(), number));
    });
    terms
}

/// ∂_i z^α in its place, and the number that it is multiplied by; none where it is zero.
#[inline(always)]
pub(crate) fn differentiate(exponents: &mut [u32], i: usize) -> Option<f64> {
    let (factor, number) = Factor::of(exponents[i]).derivative()?;
    exponents[i] = factor.exponent();
    Some(number)
}

/// z^α at one state.
pub(crate) fn value(exponents: &[u32], z: &[f64]) -> f64 {
    let factors = z.iter().zip(exponents);
    factors.map(|(z, e)| Factor::of(*e).value(*z)).product()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FACTORS: [Factor; 7] = [
        Factor::Power(0),
        Factor::Cos(1),
        Factor::Sin(1),
        Factor::Cos(2),
        Factor::Sin(2),
        Factor::Cos(5),
        Factor::Sin(5),
    ];

    #[test]
    fn products_and_derivatives_are_those_of_the_functions() {
        let (z, h) = ([0.7, -1.3], 1e-5);
        for a in FACTORS {
            assert_eq!(Factor::of(a.exponent()), a);
            for order in 1..=3 {
                let slope = |z: f64| (a.value(z + h) - a.value(z - h)) / (2.0 * h);
                let exact = match a.differentiated(order) {
                    None => 0.0,
                    Some((factor, number)) => number * factor.value(z[0]),
                };
                if order == 1 {
                    assert!((slope(z[0]) - exact).abs() < 1e-8, "{a:?}");
                } else if a.is_wave() {
                    let m = f64::from(a.degree());
                    let before = a.differentiated(order - 2).expect("a wave");
                    let twice = -m * m * before.1 * before.0.value(z[0]);
                    assert!((twice - exact).abs() < 1e-12 * m.powi(3), "{a:?} {order}");
                }
            }
            for b in FACTORS {
                for c in [Factor::Power(0), Factor::Power(3)] {
                    let left = [a.exponent(), c.exponent()];
                    let right = [b.exponent(), Factor::Power(2).exponent()];
                    let sum: f64 = products(&left, &right)
                        .iter()
                        .map(|(alpha, number)| number * value(alpha, &z))
                        .sum();
                    let product = value(&left, &z) * value(&right, &z);
                    assert!(
                        (sum - product).abs() < 1e-14,
                        "{a:?} {b:?}: {sum} {product}"
                    );
                }
            }
        }
    }

    #[test]
    fn degrees_add_up_over_coordinates() {
        let wave = [Factor::Sin(3).exponent(), 2, Factor::Cos(1).exponent()];
        assert_eq!(degree(&wave), 6);
    }
}
