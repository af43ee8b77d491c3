//! Numbers that may be one value or one SIMD vector of values, so that a system is written once.

use std::ops::{Add, Div, Mul, Neg, Sub};

use pulp::Simd;

/// A real number, or several of them in the lanes of a vector register.
///
/// Formulas of a system are written over `T: Real`; with `f64` they evaluate one state, with a
/// vector they advance one trajectory per lane. Constants enter as `f64` on the right-hand side
/// of an operator or through [`Real::constant`].
pub trait Real:
    Copy
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + Add<f64, Output = Self>
    + Sub<f64, Output = Self>
    + Mul<f64, Output = Self>
{
    /// `value` in every lane.
    fn constant(self, value: f64) -> Self;
    /// Square root.
    fn sqrt(self) -> Self;
    /// `self * factor + summand`, in one rounding where the hardware has it.
    fn mul_add(self, factor: Self, summand: Self) -> Self;
    /// The larger of `self` and `bound`, lane by lane.
    fn at_least(self, bound: f64) -> Self;
}

impl Real for f64 {
    #[inline(always)]
    fn constant(self, value: f64) -> Self {
        value
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        f64::sqrt(self)
    }
    #[inline(always)]
    fn mul_add(self, factor: Self, summand: Self) -> Self {
        // `f64::mul_add` calls a slow library routine where the target has no such instruction.
        self * factor + summand
    }
    #[inline(always)]
    fn at_least(self, bound: f64) -> Self {
        self.max(bound)
    }
}

/// A SIMD register of `f64`, with the token that proves the instructions exist.
#[derive(Clone, Copy)]
pub(crate) struct Lanes<S: Simd> {
    simd: S,
    value: S::f64s,
}

impl<S: Simd> Lanes<S> {
    #[inline(always)]
    pub(crate) fn new(simd: S, value: S::f64s) -> Self {
        Self { simd, value }
    }
    #[inline(always)]
    pub(crate) fn splat(simd: S, value: f64) -> Self {
        Self::new(simd, simd.splat_f64s(value))
    }
    #[inline(always)]
    pub(crate) fn value(self) -> S::f64s {
        self.value
    }
}

macro_rules! lanes_operator {
    ($($trait:ident $method:ident $simd:ident),*) => {$(
        impl<S: Simd> $trait for Lanes<S> {
            type Output = Self;
            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                Self::new(self.simd, self.simd.$simd(self.value, other.value))
            }
        }
    )*};
}
lanes_operator!(Add add add_f64s, Sub sub sub_f64s, Mul mul mul_f64s, Div div div_f64s);

macro_rules! lanes_constant_operator {
    ($($trait:ident $method:ident),*) => {$(
        impl<S: Simd> $trait<f64> for Lanes<S> {
            type Output = Self;
            #[inline(always)]
            fn $method(self, other: f64) -> Self {
                self.$method(self.constant(other))
            }
        }
    )*};
}
lanes_constant_operator!(Add add, Sub sub, Mul mul);

impl<S: Simd> Neg for Lanes<S> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Self::new(self.simd, self.simd.neg_f64s(self.value))
    }
}

impl<S: Simd> Real for Lanes<S> {
    #[inline(always)]
    fn constant(self, value: f64) -> Self {
        Self::splat(self.simd, value)
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        Self::new(self.simd, self.simd.sqrt_f64s(self.value))
    }
    #[inline(always)]
    fn mul_add(self, factor: Self, summand: Self) -> Self {
        Self::new(
            self.simd,
            self.simd
                .mul_add_e_f64s(self.value, factor.value, summand.value),
        )
    }
    #[inline(always)]
    fn at_least(self, bound: f64) -> Self {
        let bound = self.simd.splat_f64s(bound);
        Self::new(self.simd, self.simd.max_f64s(self.value, bound))
    }
}

/// A buffer of numbers that begins on a cache line, so that vectors in it never straddle two.
#[derive(Clone, Debug, Default)]
pub(crate) struct AlignedBuffer<T = f64> {
    data: Vec<T>,
    offset: usize,
    length: usize,
}

impl<T: Copy + Default> AlignedBuffer<T> {
    const LINE: usize = 64;

    pub(crate) fn zeros(length: usize) -> Self {
        let mut buffer = Self::default();
        buffer.resize(length);
        buffer
    }

    /// Change the length; the content is lost where the buffer grows.
    pub(crate) fn resize(&mut self, length: usize) {
        if self.offset + length > self.data.len() {
            self.data = vec![T::default(); length + Self::LINE / size_of::<T>()];
            self.offset = self.data.as_ptr().align_offset(Self::LINE);
        }
        self.length = length;
    }

    pub(crate) fn as_slice(&self) -> &[T] {
        &self.data[self.offset..self.offset + self.length]
    }

    pub(crate) fn as_mut_slice(&mut self) -> &mut [T] {
        &mut self.data[self.offset..self.offset + self.length]
    }
}
