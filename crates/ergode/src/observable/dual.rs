//! Numbers that carry their derivatives.

use std::ops::{Add, Mul, Sub};

/// The operations that a polynomial needs of a number.
pub(super) trait Ring:
    Copy
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Add<f64, Output = Self>
    + Mul<f64, Output = Self>
{
}

impl<T> Ring for T where
    T: Copy
        + Add<Output = T>
        + Sub<Output = T>
        + Mul<Output = T>
        + Add<f64, Output = T>
        + Mul<f64, Output = T>
{
}

/// A value with its slopes along N variables; nested twice, it carries second derivatives.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dual<T, const N: usize> {
    pub(super) value: T,
    pub(super) slope: [T; N],
}

/// First derivatives along N variables.
pub(super) type First<const N: usize> = Dual<f64, N>;

/// First and second derivatives along N variables.
pub(super) type Second<const N: usize> = Dual<First<N>, N>;

impl<const N: usize> First<N> {
    /// The variable with number `index`.
    pub(super) fn variable(value: f64, index: usize) -> Self {
        let mut slope = [0.0; N];
        slope[index] = 1.0;
        Self { value, slope }
    }
}

impl<const N: usize> Second<N> {
    /// The variable with number `index`.
    pub(super) fn variable(value: f64, index: usize) -> Self {
        let constant = |value| Dual {
            value,
            slope: [0.0; N],
        };
        let mut slope = [constant(0.0); N];
        slope[index] = constant(1.0);
        Self {
            value: First::variable(value, index),
            slope,
        }
    }
}

impl<T: Ring, const N: usize> Add for Dual<T, N> {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self {
            value: self.value + other.value,
            slope: std::array::from_fn(|i| self.slope[i] + other.slope[i]),
        }
    }
}

impl<T: Ring, const N: usize> Sub for Dual<T, N> {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self {
            value: self.value - other.value,
            slope: std::array::from_fn(|i| self.slope[i] - other.slope[i]),
        }
    }
}

impl<T: Ring, const N: usize> Mul for Dual<T, N> {
    type Output = Self;
    #[expect(clippy::suspicious_arithmetic_impl)] // the product rule
    fn mul(self, other: Self) -> Self {
        Self {
            value: self.value * other.value,
            slope: std::array::from_fn(|i| {
                self.slope[i] * other.value + self.value * other.slope[i]
            }),
        }
    }
}

impl<T: Ring, const N: usize> Add<f64> for Dual<T, N> {
    type Output = Self;
    fn add(self, constant: f64) -> Self {
        Self {
            value: self.value + constant,
            slope: self.slope,
        }
    }
}

impl<T: Ring, const N: usize> Mul<f64> for Dual<T, N> {
    type Output = Self;
    fn mul(self, constant: f64) -> Self {
        Self {
            value: self.value * constant,
            slope: self.slope.map(|slope| slope * constant),
        }
    }
}
