//! Derivatives of monomials on tiles, from powers that are computed once per tile.

use pulp::{Arch, Simd, WithSimd};

/// The coordinates of a monomial that have a positive exponent, with it, in ascending order.
pub(super) type Factors = Vec<(usize, u32)>;

/// Which derivatives of a monomial are wanted.
#[derive(Clone, Copy, Debug)]
pub(super) enum Derivative<'a> {
    /// ∂_i, one row per coordinate.
    Gradient,
    /// Σ_i w_i ∂_i², one row.
    Laplacian(&'a [f64]),
}

/// x_i^p on a tile of n states, for every power p up to the largest exponent of coordinate i.
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
        let mut highest = vec![0; dim];
        for &(i, e) in monomials.iter().flatten().filter(|_| n > 0) {
            highest[i] = highest[i].max(e as usize);
        }
        let mut first = Vec::with_capacity(highest.len());
        let mut rows = Vec::new();
        for (i, &top) in highest.iter().enumerate() {
            let x = &x[i * n..(i + 1) * n];
            first.push(rows.len() / n);
            rows.extend(std::iter::repeat_n(1.0, n));
            for _ in 0..top {
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

    /// The monomial with the factor at `place` differentiated `order` times, into `out`.
    #[inline(always)]
    fn differentiate(&self, factors: &Factors, place: usize, order: u32, out: &mut [f64]) {
        let row = |i: usize, power: u32| {
            let start = (self.first[i] + power as usize) * self.n;
            &self.rows[start..start + self.n]
        };
        let (i, e) = factors[place];
        let coefficient: f64 = (0..order).map(|k| f64::from(e - k)).product();
        for (out, power) in out.iter_mut().zip(row(i, e - order)) {
            *out = coefficient * power;
        }
        for (_, &(j, e)) in factors.iter().enumerate().filter(|(k, _)| *k != place) {
            for (out, power) in out.iter_mut().zip(row(j, e)) {
                *out *= power;
            }
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
                    Derivative::Laplacian(weights) if e >= 2 => {
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
