//! Polynomials of one or two coordinates, and waves of angles, in SIMD lanes.

use crate::observable::{Factor, Polynomials};
use crate::simd::Real;

/// C polynomials of one or two coordinates.
pub(super) enum Series<const C: usize> {
    /// Of powers alone.
    Powers(Horner<C>),
    /// With waves of angles.
    Waves(Waves<C>),
}

impl<const C: usize> Series<C> {
    /// None for waves of a degree above [`MOST`] / 2.
    pub(super) fn new(polynomials: &Polynomials) -> Option<Self> {
        let (exponents, _) = polynomials.terms();
        let waves = exponents.iter().flatten().any(|e| Factor::of(*e).is_wave());
        match waves {
            false => Some(Self::Powers(Horner::new(polynomials))),
            true => Waves::new(polynomials).map(Self::Waves),
        }
    }

    #[inline(always)]
    pub(super) fn values<T: Real, const D: usize>(&self, z: [T; D]) -> [T; C] {
        match self {
            Self::Powers(horner) => horner.values(z),
            Self::Waves(waves) => waves.values(z),
        }
    }
}

/// C polynomials of one or two variables, Σ_k z_0^k Σ_l a_kl z_1^l, by nested Horner schemes.
///
/// The inner sums do not depend on each other, so that the processor works on several at a time.
pub(super) struct Horner<const C: usize> {
    /// Number of inner coefficients, by falling k.
    rows: Vec<usize>,
    /// a_kl, by falling k, then falling l.
    coefficients: Vec<[f64; C]>,
}

impl<const C: usize> Horner<C> {
    fn new(polynomials: &Polynomials) -> Self {
        let (exponents, values) = polynomials.terms();
        let inner = |e: &Vec<u32>| e.get(1).map_or(0, |l| *l as usize);
        let degree = exponents.iter().map(|e| e[0] as usize).max().unwrap_or(0);
        let (mut rows, mut coefficients) = (Vec::new(), Vec::new());
        for k in (0..=degree).rev() {
            let row = || (exponents.iter().enumerate()).filter(|(_, e)| e[0] as usize == k);
            let top = row().map(|(_, e)| inner(e)).max().unwrap_or(0);
            rows.push(top + 1);
            for l in (0..=top).rev() {
                let term = row().find(|(_, e)| inner(e) == l).map(|(at, _)| at);
                coefficients.push(std::array::from_fn(|c| {
                    term.map_or(0.0, |at| values[[c, at]])
                }));
            }
        }
        Self { rows, coefficients }
    }

    #[inline(always)]
    fn values<T: Real, const D: usize>(&self, z: [T; D]) -> [T; C] {
        let inner = z[D - 1];
        let mut sum = [z[0].constant(0.0); C];
        let mut rest = self.coefficients.as_slice();
        for length in &self.rows {
            let (row, tail) = rest.split_at(*length);
            rest = tail;
            let mut part = [z[0].constant(0.0); C];
            for c in 0..C {
                part[c] = z[0].constant(row[0][c]);
            }
            for term in &row[1..] {
                for c in 0..C {
                    part[c] = part[c].mul_add(inner, z[0].constant(term[c]));
                }
            }
            for c in 0..C {
                sum[c] = sum[c].mul_add(z[0], part[c]);
            }
        }
        sum
    }
}

/// Functions of one coordinate that are computed: 1 and its powers, or 1, cos z, sin z, cos 2z and so on.
const MOST: usize = 25;

/// C sums Σ_kl a_kl φ_k(z_0) ψ_l(z_1) of powers or waves φ and ψ.
pub(super) struct Waves<const C: usize> {
    /// Whether a coordinate is an angle, and the number of its functions.
    circle: [bool; 2],
    count: [usize; 2],
    /// k, l and a_kl.
    terms: Vec<([usize; 2], [f64; C])>,
}

impl<const C: usize> Waves<C> {
    fn new(polynomials: &Polynomials) -> Option<Self> {
        let (exponents, values) = polynomials.terms();
        let place = |e: u32| match Factor::of(e) {
            Factor::Power(power) => power as usize,
            Factor::Cos(m) => 2 * m as usize - 1,
            Factor::Sin(m) => 2 * m as usize,
        };
        let (mut circle, mut count, mut terms) = ([false; 2], [1; 2], Vec::new());
        for (at, exponents) in exponents.iter().enumerate() {
            let mut places = [0; 2];
            for (i, &e) in exponents.iter().enumerate() {
                places[i] = place(e);
                circle[i] |= Factor::of(e).is_wave();
                count[i] = count[i].max(places[i] + 1);
            }
            terms.push((places, std::array::from_fn(|c| values[[c, at]])));
        }
        let fits = count.iter().all(|count| *count <= MOST);
        fits.then_some(Self {
            circle,
            count,
            terms,
        })
    }

    #[inline(always)]
    fn values<T: Real, const D: usize>(&self, z: [T; D]) -> [T; C] {
        let one = z[0].constant(1.0);
        let mut functions = [[one; MOST]; 2];
        for i in 0..D {
            match self.circle[i] {
                true => waves(z[i], &mut functions[i][..self.count[i]]),
                false => {
                    for k in 1..self.count[i] {
                        functions[i][k] = functions[i][k - 1] * z[i];
                    }
                }
            }
        }
        let mut sum = [z[0].constant(0.0); C];
        for ([k, l], term) in &self.terms {
            let product = functions[0][*k] * functions[1][*l];
            for c in 0..C {
                sum[c] = product.mul_add(z[0].constant(term[c]), sum[c]);
            }
        }
        sum
    }
}

/// cos z, sin z, cos 2z and so on after the first of the functions, each pair turned by z from the one before.
#[inline(always)]
fn waves<T: Real>(z: T, functions: &mut [T]) {
    let mut first = [z; 2];
    T::each_lane(&mut first, |lane| {
        let (sin, cos) = lane[0].sin_cos();
        lane[0] = cos;
        lane[1] = sin;
    });
    let [c, s] = first;
    let (mut cos, mut sin) = (c, s);
    for pair in functions[1..].chunks_mut(2) {
        pair[0] = cos;
        if let Some(second) = pair.get_mut(1) {
            *second = sin;
        }
        (cos, sin) = (cos * c - sin * s, sin * c + cos * s);
    }
}
