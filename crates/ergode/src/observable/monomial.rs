//! Monomials in the coordinates.

use std::collections::HashMap;
use std::ops::RangeInclusive;

use pulp::{Arch, Simd, WithSimd};
use serde::{Deserialize, Serialize};

use super::powers::{Derivative, Factors, Powers};
use super::{
    Factor, Functions, Library, MAX_FUNCTIONS, check_derivatives, derivative_tile_width, tile_width,
};
use crate::data::Standardiser;
use crate::error::{Error, Result};

/// Exponents above this are refused.
const MAX_EXPONENT: u32 = 1000;

/// Monomials x_1^e_1 ... x_D^e_D; of a coordinate that is an angle, cos m x or sin m x in place of a power.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "Stored", into = "Stored")]
pub struct Monomials {
    names: Vec<String>,
    labels: Vec<String>,
    factors: Vec<Factors>,
    steps: Vec<Step>,
    /// The waves of each function that has any.
    waves: Vec<Factors>,
}

/// The form of monomials in a file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    names: Vec<String>,
    exponents: Vec<Vec<u32>>,
}

impl From<Monomials> for Stored {
    fn from(monomials: Monomials) -> Self {
        Self {
            exponents: monomials.exponents(),
            names: monomials.names,
        }
    }
}

impl TryFrom<Stored> for Monomials {
    type Error = Error;

    fn try_from(stored: Stored) -> Result<Self> {
        Self::from_exponents(&stored.names, stored.exponents)
    }
}

/// How one monomial is computed; the steps are in the order of the degree.
#[derive(Clone, Copy, Debug)]
struct Step {
    function: usize,
    /// A monomial of the list and the coordinate whose power or wave it is to be multiplied by.
    parent: Option<(usize, usize, Multiplier)>,
}

/// What a monomial of the list is multiplied by to give another.
#[derive(Clone, Copy, Debug)]
enum Multiplier {
    /// The coordinate itself.
    Coordinate,
    /// A wave of it.
    Wave(Factor),
}

impl Monomials {
    /// All monomials whose total degree lies in `degrees`, by ascending degree, and within a
    /// degree x², xy, y²: descending exponents of the first coordinate, then of the second.
    ///
    /// # Errors
    /// When there are too many monomials, or none.
    pub fn new(names: &[String], degrees: RangeInclusive<usize>) -> Result<Self> {
        Self::with_waves(names, &|_| false, degrees)
    }

    /// The same in the coordinates of `standardiser`: of angles there are waves instead of powers, cos m z and
    /// sin m z of degree m.
    ///
    /// # Errors
    /// When there are too many functions, or none.
    pub(crate) fn of(
        names: &[String],
        standardiser: &Standardiser,
        degrees: RangeInclusive<usize>,
    ) -> Result<Self> {
        Self::with_waves(names, &|i| standardiser.is_circle(i), degrees)
    }

    fn with_waves(
        names: &[String],
        is_circle: &dyn Fn(usize) -> bool,
        degrees: RangeInclusive<usize>,
    ) -> Result<Self> {
        let (low, high) = (*degrees.start(), *degrees.end());
        if low > high {
            return Err(Error::input(format!(
                "the range of degrees {low} to {high} is empty; give the lower one first"
            )));
        }
        check_names(names)?;
        let dim = names.len();
        let count = if high > MAX_EXPONENT as usize {
            None
        } else {
            count(dim, low, high)
        };
        if count.is_none() {
            return Err(Error::input(format!(
                "monomials of degree {low} to {high} in dimension {dim} are too many; at most \
                 {MAX_FUNCTIONS} functions of degree up to {MAX_EXPONENT} are supported, so lower the \
                 degree"
            )));
        }
        let powers = (low..=high).flat_map(|degree| of_degree(dim, degree));
        let factors: Vec<Factors> = powers
            .flat_map(|factors| waved(&factors, is_circle))
            .collect();
        Self::from_factors(names, factors)
    }

    /// The coordinates themselves: degree 1.
    ///
    /// # Errors
    /// When there are no names.
    pub fn coordinates(names: &[String]) -> Result<Self> {
        Self::new(names, 1..=1)
    }

    /// The monomials with these exponents, one per coordinate in each.
    ///
    /// # Errors
    /// When an exponent list does not have one entry per name, or is repeated.
    pub fn from_exponents(names: &[String], exponents: Vec<Vec<u32>>) -> Result<Self> {
        check_names(names)?;
        if exponents.len() > MAX_FUNCTIONS {
            return Err(Error::input(format!(
                "{} monomials are too many; give at most {MAX_FUNCTIONS}",
                exponents.len()
            )));
        }
        for (k, list) in exponents.iter().enumerate() {
            if list.len() != names.len() {
                return Err(Error::input(format!(
                    "monomial {k} (counted from 0) has {} exponents for {} coordinates; give one \
                     per coordinate",
                    list.len(),
                    names.len()
                )));
            }
            let degrees = list.iter().map(|e| Factor::of(*e).degree());
            if let Some(e) = degrees.max().filter(|e| *e > MAX_EXPONENT) {
                return Err(Error::input(format!(
                    "monomial {k} (counted from 0) has the exponent {e}; the largest supported is \
                     {MAX_EXPONENT}"
                )));
            }
        }
        let sparse = |list: &Vec<u32>| {
            let positive = list.iter().copied().enumerate().filter(|&(_, e)| e > 0);
            positive.collect()
        };
        Self::from_factors(names, exponents.iter().map(sparse).collect())
    }

    fn from_factors(names: &[String], factors: Vec<Factors>) -> Result<Self> {
        let labels: Vec<String> = factors.iter().map(|f| label(names, f)).collect();
        let mut index = HashMap::with_capacity(factors.len());
        for (k, factors) in factors.iter().enumerate() {
            if let Some(other) = index.insert(factors.as_slice(), k) {
                return Err(Error::input(format!(
                    "the monomials {other} and {k} (counted from 0) are both {}; give each once",
                    labels[k]
                )));
            }
        }
        let mut steps: Vec<Step> = Vec::with_capacity(factors.len());
        for (function, factors) in factors.iter().enumerate() {
            let parent = (0..factors.len()).rev().find_map(|f| {
                let mut divided = factors.clone();
                let factor = Factor::of(factors[f].1);
                let by = if factor.is_wave() {
                    divided[f].1 = 0;
                    Multiplier::Wave(factor)
                } else {
                    divided[f].1 -= 1;
                    Multiplier::Coordinate
                };
                divided.retain(|&(_, e)| e > 0);
                Some((*index.get(divided.as_slice())?, factors[f].0, by))
            });
            steps.push(Step { function, parent });
        }
        steps.sort_by_key(|step| {
            let degrees = factors[step.function].iter();
            degrees
                .map(|f| u64::from(Factor::of(f.1).degree()))
                .sum::<u64>()
        });
        let waves = factors.iter().map(|factors| split(factors).1);
        Ok(Self {
            names: names.to_vec(),
            labels,
            steps,
            waves: waves.filter(|waves| !waves.is_empty()).collect(),
            factors,
        })
    }

    /// The exponents of each monomial, one per coordinate.
    pub fn exponents(&self) -> Vec<Vec<u32>> {
        let dense = |factors: &Factors| {
            let mut exponents = vec![0; self.names.len()];
            for &(i, e) in factors {
                exponents[i] = e;
            }
            exponents
        };
        self.factors.iter().map(dense).collect()
    }

    #[inline(always)]
    fn fill(&self, x: &[f64], out: &mut [f64], n: usize) {
        let range = |row: usize| row * n..(row + 1) * n;
        let waves = self.waves(x, n);
        for step in &self.steps {
            let k = step.function;
            if let Some((parent, coordinate, by)) = step.parent {
                let [row, parent] = out
                    .get_disjoint_mut([range(k), range(parent)])
                    .expect("a monomial is not its own divisor");
                let factor = match (&waves, by) {
                    (Some(waves), Multiplier::Wave(factor)) => waves.row(coordinate, factor),
                    _ => &x[range(coordinate)],
                };
                for ((value, &parent), &factor) in row.iter_mut().zip(&*parent).zip(factor) {
                    *value = parent * factor;
                }
            } else {
                let row = &mut out[range(k)];
                let Some(waves) = &waves else {
                    power(x, &self.factors[k], row);
                    continue;
                };
                let (powers, others) = split(&self.factors[k]);
                power(x, &powers, row);
                for (i, e) in others {
                    let wave = waves.row(i, Factor::of(e)).iter();
                    row.iter_mut()
                        .zip(wave)
                        .for_each(|(value, wave)| *value *= wave);
                }
            }
        }
    }

    /// The waves of the angles among the coordinates; none where there are none.
    fn waves(&self, x: &[f64], n: usize) -> Option<Powers> {
        (!self.waves.is_empty()).then(|| Powers::new(x, n, &self.waves))
    }
}

/// The powers and the waves among the factors.
fn split(factors: &Factors) -> (Factors, Factors) {
    (factors.iter()).partition(|(_, e)| !Factor::of(*e).is_wave())
}

/// A monomial over a tile by repeated squaring, all coordinates at once.
#[inline(always)]
fn power(x: &[f64], factors: &Factors, row: &mut [f64]) {
    let n = row.len();
    row.fill(1.0);
    let largest = factors.iter().map(|&(_, e)| e).max().unwrap_or(0);
    let bits = u32::BITS - largest.leading_zeros();
    for bit in (0..bits).rev() {
        if bit + 1 < bits {
            for value in row.iter_mut() {
                *value *= *value;
            }
        }
        for &(i, _) in factors.iter().filter(|&&(_, e)| e >> bit & 1 == 1) {
            for (value, factor) in row.iter_mut().zip(&x[i * n..(i + 1) * n]) {
                *value *= factor;
            }
        }
    }
}

fn check_names(names: &[String]) -> Result<()> {
    if names.is_empty() {
        return Err(Error::input(
            "monomials need at least one coordinate; give its name",
        ));
    }
    Ok(())
}

/// The number of monomials, Σ_d C(D + d − 1, d), unless it is too large.
fn count(dim: usize, low: usize, high: usize) -> Option<usize> {
    let limit = MAX_FUNCTIONS as u128;
    let (mut of_degree, mut total) = (1u128, 0);
    for degree in 0..=high {
        if degree > 0 {
            of_degree = of_degree * (dim as u128 + degree as u128 - 1) / degree as u128;
        }
        if degree >= low {
            total += of_degree;
        }
        // The number of a degree grows with it, so that a later one is too large as well.
        if of_degree > limit || total > limit {
            return None;
        }
    }
    Some(total as usize)
}

/// The monomials of one degree, as ascending sequences of coordinates in lexicographic order.
fn of_degree(dim: usize, degree: usize) -> Vec<Factors> {
    let mut sequence = vec![0; degree];
    let mut list = Vec::new();
    loop {
        let mut factors = Factors::new();
        for &i in &sequence {
            match factors.last_mut() {
                Some((last, exponent)) if *last == i => *exponent += 1,
                _ => factors.push((i, 1)),
            }
        }
        list.push(factors);
        let Some(place) = sequence.iter().rposition(|&i| i + 1 < dim) else {
            return list;
        };
        let next = sequence[place] + 1;
        sequence[place..].fill(next);
    }
}

/// The monomials that a monomial of powers becomes where the power of an angle is replaced by its waves of the
/// same degree.
fn waved(factors: &Factors, is_circle: &dyn Fn(usize) -> bool) -> Vec<Factors> {
    let mut list = vec![Factors::new()];
    for &(i, power) in factors {
        let of_coordinate = match is_circle(i) {
            true => vec![Factor::Cos(power), Factor::Sin(power)],
            false => vec![Factor::Power(power)],
        };
        let extended = list.iter().flat_map(|factors| {
            of_coordinate.iter().map(|factor| {
                let mut factors = factors.clone();
                factors.push((i, factor.exponent()));
                factors
            })
        });
        list = extended.collect();
    }
    list
}

fn label(names: &[String], factors: &Factors) -> String {
    if factors.is_empty() {
        return "1".to_owned();
    }
    let parts: Vec<String> = factors
        .iter()
        .map(|&(i, e)| match Factor::of(e) {
            Factor::Power(1) => names[i].clone(),
            Factor::Power(power) => format!("{}^{power}", names[i]),
            Factor::Cos(1) => format!("cos({})", names[i]),
            Factor::Sin(1) => format!("sin({})", names[i]),
            Factor::Cos(m) => format!("cos({m}*{})", names[i]),
            Factor::Sin(m) => format!("sin({m}*{})", names[i]),
        })
        .collect();
    parts.join("*")
}

/// The derivative of x^e, or of a wave, of the given order.
fn derivative(x: f64, e: u32, order: u32) -> f64 {
    let derivative = Factor::of(e).differentiated(order);
    derivative.map_or(0.0, |(factor, number)| number * factor.value(x))
}

/// The product over the factors, differentiated once for each mention in `along`.
fn differentiated(x: &[f64], factors: &Factors, along: &[usize]) -> f64 {
    factors
        .iter()
        .map(|&(i, e)| derivative(x[i], e, along.iter().filter(|&&a| a == i).count() as u32))
        .product()
}

/// The values of a tile of n states, with the vector instructions of the machine.
struct Fill<'a> {
    library: &'a Monomials,
    x: &'a [f64],
    out: &'a mut [f64],
    n: usize,
}

impl WithSimd for Fill<'_> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        self.library.fill(self.x, self.out, self.n);
    }
}

impl Functions for Monomials {
    fn dim(&self) -> usize {
        self.names.len()
    }
    fn labels(&self) -> &[String] {
        &self.labels
    }
    fn values(&self, x: &[f64], out: &mut [f64]) {
        let n = tile_width(self, x, out);
        if n > 0 {
            Arch::new().dispatch(Fill {
                library: self,
                x,
                out,
                n,
            });
        }
    }
}

impl Library for Monomials {
    fn gradients(&self, x: &[f64], out: &mut [f64]) {
        check_derivatives(self, x, out, 1);
        out.fill(0.0);
        for (factors, out) in self.factors.iter().zip(out.chunks_exact_mut(self.dim())) {
            for &(i, _) in factors {
                out[i] = differentiated(x, factors, &[i]);
            }
        }
    }
    fn hessians(&self, x: &[f64], out: &mut [f64]) {
        check_derivatives(self, x, out, 2);
        out.fill(0.0);
        let size = self.dim() * self.dim();
        for (factors, out) in self.factors.iter().zip(out.chunks_exact_mut(size)) {
            for &(i, _) in factors {
                for &(j, _) in factors {
                    out[i * self.dim() + j] = differentiated(x, factors, &[i, j]);
                }
            }
        }
    }
    fn is_affine(&self) -> bool {
        let linear = |factors: &Factors| match factors.as_slice() {
            [] => true,
            [(_, e)] => Factor::of(*e) == Factor::Power(1),
            _ => false,
        };
        self.factors.iter().all(linear)
    }
    fn gradient_tile(&self, x: &[f64], out: &mut [f64]) {
        let n = derivative_tile_width(self, x, out, self.dim());
        Powers::new(x, n, &self.factors).fill(Derivative::Gradient, &self.factors, out);
    }
    fn laplacian_tile(&self, x: &[f64], weights: &[f64], out: &mut [f64]) {
        let n = derivative_tile_width(self, x, out, 1);
        let powers = Powers::new(x, n, &self.factors);
        powers.fill(Derivative::Laplacian(weights), &self.factors, out);
    }
}
