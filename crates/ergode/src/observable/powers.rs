//! Derivatives of monomials on tiles, from powers and waves that are computed once per tile.

use pulp::{Arch, Simd, WithSimd};

use super::Factor;

/// The coordinates of a monomial whose factor is not one, with its exponent, in ascending order.
pub(super) type Factors = Vec<(usize, u32)>;

/// Which derivatives of a monomial are wanted.
#[derive(Clone, Copy, Debug)]
pub(super) enum Derivative<'a> {
    /// ∂_i, one row per coordinate.
    Gradient,
    /// Σ_i w_i ∂_i², one row.
    Laplacian(&'a [f64]),
}

/// x_i^p on a tile of n states, for every power p up to the largest exponent of coordinate i; of an angle 1, cos x_i,
/// sin x_i, cos 2x_i and so on.
pub(super) struct Powers {
    n: usize,
    /// The row of x_i^0.
    first: Vec<usize>,
    rows: Vec<f64>,
}

impl Powers {
    /// `x` is (D, n).
    pub(super) fn new(x: &[f64], n: usize, monomials: &[Factors]) -> Self {
        let dim = x.len().checked_div(n).unwrap_or(0);
        let mut highest = vec![Factor::Power(0); dim];
        for &(i, e) in monomials.iter().flatten().filter(|_| n > 0) {
            let factor = Factor::of(e);
            if factor.degree() > highest[i].degree() {
                highest[i] = factor;
            }
        }
        let mut first = Vec::with_capacity(highest.len());
        let mut rows = Vec::new();
        for (i, &top) in highest.iter().enumerate() {
            let x = &x[i * n..(i + 1) * n];
            first.push(rows.len() / n);
            rows.extend(std::iter::repeat_n(1.0, n));
            if top.is_wave() {
                add_waves(x, top.degree(), &mut rows);
                continue;
            }
            for _ in 0..top.degree() {
                let last = rows.len() - n;
                rows.extend_from_within(last..);
                for (power, x) in rows[last + n..].iter_mut().zip(x) {
                    *power *= x;
                }
            }
        }
        Self { n, first, rows }
    }

    /// The derivatives of all monomials, (monomial, D, n) or (monomial, n).
    pub(super) fn fill(&self, derivative: Derivative, monomials: &[Factors], out: &mut [f64]) {
        if !out.is_empty() {
            Arch::new().dispatch(Fill {
                powers: self,
                derivative,
                monomials,
                out,
            });
        }
    }

    /// One factor of coordinate i.
    #[inline(always)]
    pub(super) fn row(&self, i: usize, factor: Factor) -> &[f64] {
        let place = match factor {
            Factor::Power(power) => power,
            Factor::Cos(m) => 2 * m - 1,
            Factor::Sin(m) => 2 * m,
        };
        let start = (self.first[i] + place as usize) * self.n;
        &self.rows[start..start + self.n]
    }

    /// The monomial with the factor at `place` differentiated `order` times, into `out`.
    #[inline(always)]
    fn differentiate(&self, factors: &Factors, place: usize, order: u32, out: &mut [f64]) {
        let (i, e) = factors[place];
        let Some((factor, coefficient)) = Factor::of(e).differentiated(order) else {
            return out.fill(0.0);
        };
        for (out, power) in out.iter_mut().zip(self.row(i, factor)) {
            *out = coefficient * power;
        }
        for (_, &(j, e)) in factors.iter().enumerate().filter(|(k, _)| *k != place) {
            for (out, power) in out.iter_mut().zip(self.row(j, Factor::of(e))) {
                *out *= power;
            }
        }
    }
}

/// cos x, sin x, cos 2x and so on up to m, by turning the pair before by x.
fn add_waves(x: &[f64], m: u32, rows: &mut Vec<f64>) {
    let n = x.len();
    let first = rows.len();
    rows.extend(x.iter().map(|x| x.cos()));
    rows.extend(x.iter().map(|x| x.sin()));
    for k in 1..m as usize {
        let before = first + 2 * (k - 1) * n;
        rows.extend(std::iter::repeat_n(0.0, 2 * n));
        for s in 0..n {
            let [c, d] = [rows[first + s], rows[first + n + s]];
            let [cos, sin] = [rows[before + s], rows[before + n + s]];
            rows[before + 2 * n + s] = cos * c - sin * d;
            rows[before + 3 * n + s] = sin * c + cos * d;
        }
    }
}

/// The derivatives on a tile, with the vector instructions of the machine.
struct Fill<'a> {
    powers: &'a Powers,
    derivative: Derivative<'a>,
    monomials: &'a [Factors],
    out: &'a mut [f64],
}

impl WithSimd for Fill<'_> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let n = self.powers.n;
        let width = self.out.len() / self.monomials.len().max(1);
        let mut term = vec![0.0; n];
        self.out.fill(0.0);
        for (factors, out) in self.monomials.iter().zip(self.out.chunks_exact_mut(width)) {
            for (place, &(i, e)) in factors.iter().enumerate() {
                match self.derivative {
                    Derivative::Gradient => {
                        let row = &mut out[i * n..(i + 1) * n];
                        self.powers.differentiate(factors, place, 1, row);
                    }
                    Derivative::Laplacian(weights) if Factor::of(e).differentiated(2).is_some() => {
                        self.powers.differentiate(factors, place, 2, &mut term);
                        for (sum, term) in out.iter_mut().zip(&term) {
                            *sum += weights[i] * term;
                        }
                    }
                    Derivative::Laplacian(_) => {}
                }
            }
        }
    }
}
