//! Numbers that may be one value or one SIMD vector of values, so that a system is written once.

use std::ops::{Add, Div, Mul, Neg, Sub};

use pulp::Simd;
use pulp::bytemuck::{cast_slice, cast_slice_mut};

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
    /// 1 in lanes where `low` ≤ `self` ≤ `high`, 0 in the others.
    fn within(self, low: f64, high: f64) -> Self;
    /// The smallest value of all lanes.
    fn smallest(self) -> f64;
    /// Lets `change` change the values of one lane after the other, at most eight of them: for
    /// what has no formula, such as looking up a table.
    fn each_lane(values: &mut [Self], change: impl FnMut(&mut [f64]));
}

/// Name of the SIMD instructions that this processor has and the library uses.
pub fn instructions() -> &'static str {
    match pulp::Arch::new() {
        #[cfg(target_arch = "x86_64")]
        pulp::Arch::V4(_) => "AVX-512",
        #[cfg(target_arch = "x86_64")]
        pulp::Arch::V3(_) => "AVX2 and FMA",
        #[cfg(target_arch = "aarch64")]
        pulp::Arch::Neon(_) => "NEON",
        _ => "none beyond the baseline",
    }
}

/// Values that [`Real::each_lane`] takes at most.
pub(crate) const MOST_VALUES: usize = 8;

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
    #[inline(always)]
    fn within(self, low: f64, high: f64) -> Self {
        f64::from(u8::from(low <= self && self <= high))
    }
    #[inline(always)]
    fn smallest(self) -> f64 {
        self
    }
    #[inline(always)]
    fn each_lane(values: &mut [Self], mut change: impl FnMut(&mut [f64])) {
        change(values);
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
    #[inline(always)]
    fn within(self, low: f64, high: f64) -> Self {
        let simd = self.simd;
        let (zero, one) = (simd.splat_f64s(0.0), simd.splat_f64s(1.0));
        let above = simd.less_than_or_equal_f64s(simd.splat_f64s(low), self.value);
        let below = simd.less_than_or_equal_f64s(self.value, simd.splat_f64s(high));
        let inside = simd.select_f64s(below, one, zero);
        Self::new(simd, simd.select_f64s(above, inside, zero))
    }
    #[inline(always)]
    fn smallest(self) -> f64 {
        self.simd.reduce_min_f64s(self.value)
    }
    #[inline(always)]
    fn each_lane(values: &mut [Self], mut change: impl FnMut(&mut [f64])) {
        let mut lane = [0.0; MOST_VALUES];
        for k in 0..S::F64_LANES {
            for (lane, value) in lane.iter_mut().zip(values.iter()) {
                *lane = cast_slice::<S::f64s, f64>(std::slice::from_ref(&value.value))[k];
            }
            change(&mut lane[..values.len()]);
            for (lane, value) in lane.iter().zip(values.iter_mut()) {
                cast_slice_mut::<S::f64s, f64>(std::slice::from_mut(&mut value.value))[k] = *lane;
            }
        }
    }
}

/// Number of trajectories that are advanced together in one vector group.
///
/// A multiple of every SIMD width, so that the lanes of a group fill whole registers.
pub const GROUP: usize = 8;

/// Σ x, in eight running sums that fill vector registers.
pub(crate) fn sum(values: &[f64]) -> f64 {
    let (groups, rest) = values.as_chunks::<GROUP>();
    let mut sums = [0.0; GROUP];
    for group in groups {
        for (sum, value) in sums.iter_mut().zip(group) {
            *sum += value;
        }
    }
    sums.iter().sum::<f64>() + rest.iter().sum::<f64>()
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
