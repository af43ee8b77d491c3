//! Derivatives of functions of a generator between test functions, in the eigenvectors of the generator.

use faer::c64;
use ndarray::{Array2, ArrayView2, Axis, concatenate, s};
use pulp::{Arch, Simd, WithSimd};

use crate::linalg;

/// The derivative of P f(l) Qᵀ along any direction, for several functions f and tests P and Q:
///
/// P f′(l)\[δ\] Qᵀ = P V (F ∘ V⁻¹ δ V) V⁻¹ Qᵀ,  l = V Λ V⁻¹,  F_ij = (f(λ_i) − f(λ_j))/(λ_i − λ_j)
///
/// (Daleckii and Krein), f′(λ_i) where i = j. The functions are the changes from one lag to the next of the
/// averages over windows,
///
/// f(λ) = e^{λt} (1 + ½ σ² λ²).
///
/// V⁻¹ δ V is computed in the real and imaginary parts of the eigenvectors, and of two conjugate columns one
/// is left out.
pub(super) struct Tangent {
    /// Where the eigenvalues begin that are real, or the first of two conjugate ones.
    columns: Vec<Column>,
    /// The real and imaginary parts of the eigenvectors, and the inverse of this matrix.
    basis: Array2<f64>,
    inverse: Array2<f64>,
    /// F of every step, real parts above imaginary ones, (2 n, column).
    tables: Vec<Array2<f64>>,
    /// P V as the real matrix that maps real above imaginary parts to the same.
    left: Array2<f64>,
    /// V⁻¹ Qᵀ, real parts and imaginary parts with their sign changed, (column, test); twice that where a
    /// conjugate column is left out.
    right: [Array2<f64>; 2],
}

#[derive(Clone, Copy)]
struct Column {
    first: usize,
    is_real: bool,
}

impl Tangent {
    /// None where the eigenvectors are too nearly dependent, or functions of the eigenvalues are not finite.
    pub(super) fn new(
        generator: ArrayView2<f64>,
        lags: &[f64],
        variances: &[f64],
        tests: [ArrayView2<f64>; 2],
    ) -> Option<Self> {
        let eigen = linalg::eigen(generator).ok()?;
        let values: Vec<c64> = eigen
            .values
            .iter()
            .map(|&(re, im)| c64::new(re, im))
            .collect();
        let columns = columns(&values)?;
        let n = values.len();
        let mut basis = Array2::zeros((n, n));
        for Column { first, is_real } in &columns {
            let parts = [&eigen.real, &eigen.imaginary].map(|part| part.column(*first));
            let norm = (parts[0].dot(&parts[0]) + parts[1].dot(&parts[1])).sqrt();
            basis.column_mut(*first).assign(&(&parts[0] / norm));
            if !is_real {
                basis.column_mut(first + 1).assign(&(&parts[1] / norm));
            }
        }
        let inverse = linalg::inverse(basis.view());
        is_accurate(generator, &values, &columns, &basis, &inverse).then_some(())?;
        let windows: Vec<(f64, f64)> = lags
            .iter()
            .copied()
            .zip(variances.iter().copied())
            .collect();
        let tables: Vec<_> = windows
            .windows(2)
            .map(|pair| table(&values, &columns, [pair[0], pair[1]]))
            .collect();
        let finite = |table: &Array2<f64>| table.iter().all(|f| f.is_finite());
        tables.iter().all(finite).then_some(())?;
        let [later, earlier] = tests;
        let (real, imaginary) = in_eigenvectors(later.dot(&basis), &columns);
        let left = concatenate![
            Axis(0),
            concatenate![Axis(1), real, -&imaginary],
            concatenate![Axis(1), imaginary, real]
        ];
        let right = right(&inverse.dot(&earlier.t()), &columns);
        Some(Self {
            columns,
            basis,
            inverse,
            tables,
            left,
            right,
        })
    }

    /// The derivatives along `direction`, one for each step from a lag to the next, (later, earlier test).
    pub(super) fn along(&self, direction: ArrayView2<f64>) -> Vec<Array2<f64>> {
        let n = self.basis.nrows();
        let (count, tests) = (self.columns.len(), self.left.nrows() / 2);
        let mut half = Array2::zeros((n, n));
        linalg::add_multiplied(&mut half, self.inverse.view(), direction);
        let mut turned = Array2::zeros((n, n));
        linalg::add_multiplied(&mut turned, half.view(), self.basis.view());
        let turned = self.turned(&turned);
        let mut product = Array2::zeros((2 * n, count));
        let mut image = Array2::zeros((2 * tests, count));
        let derivative = |table: &Array2<f64>| {
            Arch::new().dispatch(MultiplyEntries {
                product: &mut product,
                a: table,
                b: &turned,
            });
            image.fill(0.0);
            linalg::add_multiplied(&mut image, self.left.view(), product.view());
            let mut out = Array2::zeros((tests, self.right[0].ncols()));
            let parts = image.view().split_at(Axis(0), tests);
            linalg::add_multiplied(&mut out, parts.0, self.right[0].view());
            linalg::add_multiplied(&mut out, parts.1, self.right[1].view());
            out
        };
        self.tables.iter().map(derivative).collect()
    }

    /// V⁻¹ δ V from the same in real and imaginary parts of the eigenvectors, real parts above imaginary ones.
    ///
    /// With v = u + iw in columns (u, w), V = S C, where C = \[\[1, 1\], \[i, −i\]\] for each pair.
    fn turned(&self, real: &Array2<f64>) -> Array2<f64> {
        let n = real.nrows();
        let mut out = Array2::zeros((2 * n, self.columns.len()));
        for (mut place, column) in out.columns_mut().into_iter().zip(&self.columns) {
            let of_u = real.column(column.first);
            let of_w = (!column.is_real).then(|| real.column(column.first + 1));
            let at = |row: usize| c64::new(of_u[row], of_w.as_ref().map_or(0.0, |w| w[row]));
            let mut set = |row: usize, value: c64| {
                place[row] = value.re;
                place[n + row] = value.im;
            };
            for Column { first, is_real } in &self.columns {
                if *is_real {
                    set(*first, at(*first));
                    continue;
                }
                let (a, b) = (at(*first), at(first + 1));
                let turned = c64::new(-b.im, b.re);
                set(*first, (a - turned) * 0.5);
                set(first + 1, (a + turned) * 0.5);
            }
        }
        out
    }
}

/// The products of complex entries, real parts above imaginary ones, with the vector instructions of the machine.
struct MultiplyEntries<'a> {
    product: &'a mut Array2<f64>,
    a: &'a Array2<f64>,
    b: &'a Array2<f64>,
}

impl WithSimd for MultiplyEntries<'_> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let half = self.product.len() / 2;
        let contiguous = "an owned matrix is contiguous";
        let out = self.product.as_slice_mut().expect(contiguous);
        let (real, imaginary) = out.split_at_mut(half);
        let halves =
            [self.a, self.b].map(|matrix| matrix.as_slice().expect(contiguous).split_at(half));
        let [(a, b), (c, d)] = halves;
        let (left, right) = (a.iter().zip(b), c.iter().zip(d));
        let out = real.iter_mut().zip(imaginary);
        for ((real, imaginary), ((a, b), (c, d))) in out.zip(left.zip(right)) {
            *real = a * c - b * d;
            *imaginary = a * d + b * c;
        }
    }
}

/// The columns of eigenvalues of which conjugate ones are neighbours; none where they are not.
fn columns(values: &[c64]) -> Option<Vec<Column>> {
    let mut columns = Vec::new();
    let mut first = 0;
    while first < values.len() {
        let is_real = values[first].im == 0.0;
        columns.push(Column { first, is_real });
        if !is_real && values.get(first + 1) != Some(&values[first].conj()) {
            return None;
        }
        first += if is_real { 1 } else { 2 };
    }
    Some(columns)
}

/// Whether S B S⁻¹ is l, B being l in the real and imaginary parts S of the eigenvectors.
fn is_accurate(
    generator: ArrayView2<f64>,
    values: &[c64],
    columns: &[Column],
    basis: &Array2<f64>,
    inverse: &Array2<f64>,
) -> bool {
    /// The error relative to the largest entry of l: derivatives of search directions need no more.
    const ACCURATE: f64 = 1e-8;
    let mut scaled = Array2::zeros(basis.dim());
    for Column { first, is_real } in columns {
        let c64 { re, im } = values[*first];
        let u = basis.column(*first);
        if *is_real {
            scaled.column_mut(*first).assign(&(&u * re));
            continue;
        }
        // l (u + iw) = (a + ib) (u + iw).
        let w = basis.column(first + 1);
        scaled.column_mut(*first).assign(&(&u * re - &w * im));
        scaled.column_mut(first + 1).assign(&(&u * im + &w * re));
    }
    let largest = |values: &Array2<f64>| values.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
    let error = largest(&(scaled.dot(inverse) - generator));
    error <= ACCURATE * largest(&generator.to_owned())
}

/// F of the change from one window of lags to the next, real parts above imaginary ones, (2 n, column).
fn table(values: &[c64], columns: &[Column], windows: [(f64, f64); 2]) -> Array2<f64> {
    let n = values.len();
    let mut out = Array2::zeros((2 * n, columns.len()));
    for (mut place, column) in out.columns_mut().into_iter().zip(columns) {
        for (row, value) in values.iter().enumerate() {
            let [before, after] =
                windows.map(|window| divided_difference(*value, values[column.first], window));
            let change = after - before;
            place[row] = change.re;
            place[n + row] = change.im;
        }
    }
    out
}

/// (f(λ) − f(μ))/(λ − μ) of f(λ) = e^{λt} (1 + ½ σ² λ²).
fn divided_difference(lambda: c64, mu: c64, (time, variance): (f64, f64)) -> c64 {
    /// |λ − μ| t below which the difference of the exponentials loses digits.
    const NEAR: f64 = 0.5;
    let apart = (lambda - mu) * time;
    let exponential = if apart.norm() < NEAR {
        // e^{(λ + μ)t/2} t sinh(z)/z with z = (λ − μ)t/2.
        let square = apart * apart * 0.25;
        let mut series = c64::new(1.0, 0.0);
        for k in (1..7).rev() {
            series = square * series / f64::from(2 * k * (2 * k + 1)) + 1.0;
        }
        ((lambda + mu) * (0.5 * time)).exp() * series * time
    } else {
        ((lambda * time).exp() - (mu * time).exp()) / (lambda - mu)
    };
    let half = 0.5 * variance;
    exponential * (lambda * lambda * half + 1.0) + (mu * time).exp() * (lambda + mu) * half
}

/// Rows times eigenvectors, from rows times their real and imaginary parts.
fn in_eigenvectors(rows: Array2<f64>, columns: &[Column]) -> (Array2<f64>, Array2<f64>) {
    let mut imaginary = Array2::zeros(rows.dim());
    let mut real = rows;
    for Column { first, .. } in columns.iter().filter(|column| !column.is_real) {
        let of_w = real.column(first + 1).to_owned();
        let of_u = real.column(*first).to_owned();
        real.column_mut(first + 1).assign(&of_u);
        imaginary.column_mut(*first).assign(&of_w);
        imaginary.column_mut(first + 1).assign(&-of_w);
    }
    (real, imaginary)
}

/// V⁻¹ Qᵀ of every column, from S⁻¹ Qᵀ.
fn right(coordinates: &Array2<f64>, columns: &[Column]) -> [Array2<f64>; 2] {
    let mut out = [(); 2].map(|()| Array2::zeros((columns.len(), coordinates.ncols())));
    for (k, Column { first, is_real }) in columns.iter().enumerate() {
        // (a − ib)/2, and twice the real part of products with it.
        out[0].row_mut(k).assign(&coordinates.row(*first));
        if !is_real {
            out[1]
                .row_mut(k)
                .assign(&coordinates.slice(s![first + 1, ..]));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::propagator::Propagator;
    use super::*;

    #[test]
    fn derivatives_match_those_of_the_series() {
        let n = 11;
        let wave = |i: usize, j: usize, f: f64| ((i * n + j) as f64 * f).sin();
        let generator = Array2::from_shape_fn((n, n), |(i, j)| {
            wave(i, j, 0.7) - if i == j { 1.5 * i as f64 } else { 0.0 }
        });
        let direction = Array2::from_shape_fn((n, n), |(i, j)| wave(i, j, 1.3));
        let tests = [2.1, 0.4].map(|f| Array2::from_shape_fn((3, n), |(i, j)| wave(i, j, f)));
        let views = [tests[0].view(), tests[1].view()];
        let (lags, variances) = ([0.0, 0.1, 0.2, 0.45], [0.0, 0.002, 0.001, 0.0]);
        let tangent = Tangent::new(generator.view(), &lags, &variances, views).unwrap();
        assert!(tangent.columns.iter().any(|column| !column.is_real));
        assert!(tangent.columns.iter().any(|column| column.is_real));
        let propagator = Propagator::new(generator.view(), &lags);
        let square = generator.dot(&generator);
        let turn = direction.dot(&generator) + generator.dot(&direction);
        let whole: Vec<Array2<f64>> = propagator
            .derivative(direction.view())
            .iter()
            .zip(&propagator.values)
            .zip(variances)
            .map(|((d, e), v)| d + &((d.dot(&square) + e.dot(&turn)) * (0.5 * v)))
            .collect();
        for (k, step) in tangent.along(direction.view()).iter().enumerate() {
            let exact = tests[0]
                .dot(&(&whole[k + 1] - &whole[k]))
                .dot(&tests[1].t());
            let error = (step - &exact).iter().fold(0.0, |m: f64, v| m.max(v.abs()));
            assert!(error < 1e-11, "{k} {error}");
        }
    }

    #[test]
    fn equal_eigenvalues_are_a_limit_and_parallel_eigenvectors_are_refused() {
        let at = |apart: f64| {
            divided_difference(
                c64::new(-0.7 + apart, 0.2),
                c64::new(-0.7, 0.2),
                (1.3, 0.01),
            )
        };
        assert!((at(0.0) - at(1e-6)).norm() < 1e-5);
        let edge = 0.5 / 1.3;
        assert!((at(edge - 1e-12) - at(edge + 1e-12)).norm() < 1e-10);
        let test = Array2::eye(2);
        let jordan = ndarray::array![[-1.0, 1.0], [0.0, -1.0]];
        let tests = [test.view(), test.view()];
        assert!(Tangent::new(jordan.view(), &[0.0, 1.0], &[0.0, 0.0], tests).is_none());
    }
}
