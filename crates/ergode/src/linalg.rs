//! Dense linear algebra on `ndarray` matrices, carried out by `faer`.

use faer::linalg::matmul::matmul;
use faer::linalg::solvers::Solve;
use faer::{Accum, MatMut, MatRef, Par, Side};
use ndarray::{Array1, Array2, ArrayView1, ArrayView2};

use crate::error::{Error, Result};

/// An `ndarray` matrix seen by `faer`, whatever its strides.
pub(crate) fn view<'a>(a: &'a ArrayView2<'_, f64>) -> MatRef<'a, f64> {
    let (rows, cols) = a.dim();
    let strides = a.strides();
    // SAFETY: the view borrows `a`; shape and strides are those of a valid array view.
    unsafe { MatRef::from_raw_parts(a.as_ptr(), rows, cols, strides[0], strides[1]) }
}

/// A `faer` matrix as an `ndarray` one.
pub(crate) fn own(a: MatRef<'_, f64>) -> Array2<f64> {
    Array2::from_shape_fn((a.nrows(), a.ncols()), |(i, j)| a[(i, j)])
}

/// The product A B, on all threads.
pub(crate) fn multiply(a: ArrayView2<f64>, b: ArrayView2<f64>) -> Array2<f64> {
    let (rows, columns) = (a.nrows(), b.ncols());
    let mut product = Array2::zeros((rows, columns));
    let out = product.as_slice_mut().expect("zeros are contiguous");
    let out = MatMut::from_row_major_slice_mut(out, rows, columns);
    let parallel = faer::get_global_parallelism();
    matmul(out, Accum::Replace, view(&a), view(&b), 1.0, parallel);
    product
}

/// The product A B on this thread, for small matrices and for work that is parallel outside.
pub(crate) fn multiply_here(a: &Array2<f64>, b: &Array2<f64>) -> Array2<f64> {
    let mut product = Array2::zeros((a.nrows(), b.ncols()));
    add_multiplied(&mut product, a.view(), b.view());
    product
}

/// A += B C, on this thread.
pub(crate) fn add_multiplied(a: &mut Array2<f64>, b: ArrayView2<f64>, c: ArrayView2<f64>) {
    let (rows, columns) = a.dim();
    let a = a.as_slice_mut().expect("an owned matrix is contiguous");
    let a = MatMut::from_row_major_slice_mut(a, rows, columns);
    matmul(a, Accum::Add, view(&b), view(&c), 1.0, Par::Seq);
}

/// X with A X = B, by LU with partial pivoting.
pub(crate) fn solve(a: ArrayView2<f64>, b: ArrayView2<f64>) -> Array2<f64> {
    own(view(&a).partial_piv_lu().solve(view(&b)).as_ref())
}

/// A⁻¹.
pub(crate) fn inverse(a: ArrayView2<f64>) -> Array2<f64> {
    solve(a, Array2::eye(a.nrows()).view())
}

/// The lower Cholesky factor L of A = L Lᵀ.
pub(crate) fn cholesky(a: ArrayView2<f64>) -> Result<Array2<f64>> {
    let factor = view(&a)
        .llt(Side::Lower)
        .map_err(|_| Error::numerical("matrix is not positive definite"))?;
    let factor = own(factor.L());
    Ok(Array2::from_shape_fn(factor.dim(), |(i, j)| {
        if j <= i { factor[[i, j]] } else { 0.0 }
    }))
}

/// Eigenvalues (ascending) and eigenvectors (columns) of a symmetric matrix.
pub(crate) fn symmetric_eigen(a: ArrayView2<f64>) -> Result<(Array1<f64>, Array2<f64>)> {
    let eigen = view(&a)
        .self_adjoint_eigen(Side::Lower)
        .map_err(|_| Error::numerical("symmetric eigenvalue iteration did not converge"))?;
    let values = eigen.S().column_vector();
    let values = (0..a.nrows()).map(|i| values[i]).collect();
    Ok((values, own(eigen.U())))
}

/// Eigenvalues of a square matrix, as (real, imaginary) parts.
pub(crate) fn eigenvalues(a: ArrayView2<f64>) -> Result<Vec<(f64, f64)>> {
    let values = view(&a)
        .eigenvalues()
        .map_err(|_| Error::numerical("eigenvalue iteration did not converge"))?;
    Ok(values.iter().map(|v| (v.re, v.im)).collect())
}

/// Eigenvalues of a square matrix, as (real, imaginary) parts, and its eigenvectors.
pub(crate) struct Eigen {
    pub(crate) values: Vec<(f64, f64)>,
    /// Real parts of the eigenvectors, in columns.
    pub(crate) real: Array2<f64>,
    /// Imaginary parts of the eigenvectors, in columns.
    pub(crate) imaginary: Array2<f64>,
}

/// Eigenvalues and eigenvectors of a square matrix.
pub(crate) fn eigen(a: ArrayView2<f64>) -> Result<Eigen> {
    let eigen = view(&a)
        .eigen()
        .map_err(|_| Error::numerical("eigenvalue iteration did not converge"))?;
    let (values, vectors) = (eigen.S().column_vector(), eigen.U());
    let values = (0..a.nrows()).map(|k| (values[k].re, values[k].im));
    Ok(Eigen {
        values: values.collect(),
        real: Array2::from_shape_fn(a.dim(), |(i, j)| vectors[(i, j)].re),
        imaginary: Array2::from_shape_fn(a.dim(), |(i, j)| vectors[(i, j)].im),
    })
}

/// The Moore-Penrose inverse, singular values below `tolerance` of the largest taken as zero.
pub(crate) fn pseudo_inverse(a: ArrayView2<f64>, tolerance: f64) -> Array2<f64> {
    let (rows, cols) = a.dim();
    let Ok(svd) = view(&a).thin_svd() else {
        return Array2::from_elem((cols, rows), f64::NAN);
    };
    let (u, v) = (own(svd.U()), own(svd.V()));
    let values = svd.S().column_vector();
    let largest = (0..rows.min(cols)).map(|k| values[k]).fold(0.0, f64::max);
    let mut scaled = v;
    for (k, mut column) in scaled.columns_mut().into_iter().enumerate() {
        let value = values[k];
        column *= if value > tolerance * largest {
            1.0 / value
        } else {
            0.0
        };
    }
    multiply(scaled.view(), u.t())
}

/// (A + Aᵀ)/2.
pub(crate) fn symmetric_part(a: ArrayView2<f64>) -> Array2<f64> {
    (&a + &a.t()) * 0.5
}

/// Σ_ij A_ij x_i y_j.
pub(crate) fn bilinear(x: ArrayView1<f64>, a: ArrayView2<f64>, y: ArrayView1<f64>) -> f64 {
    x.dot(&a.dot(&y))
}

/// exp(A), by scaling and squaring of the [13/13] Padé approximant (Higham, 2005).
pub(crate) fn expm(a: ArrayView2<f64>) -> Array2<f64> {
    const B: [f64; 14] = [
        64764752532480000.0,
        32382376266240000.0,
        7771770303897600.0,
        1187353796428800.0,
        129060195264000.0,
        10559470521600.0,
        670442572800.0,
        33522128640.0,
        1323241920.0,
        40840800.0,
        960960.0,
        16380.0,
        182.0,
        1.0,
    ];
    const THETA: f64 = 5.371920351148152;
    let n = a.nrows();
    let norm = a
        .columns()
        .into_iter()
        .map(|c| c.iter().map(|v| v.abs()).sum::<f64>())
        .fold(0.0, f64::max);
    let squarings = if norm > THETA {
        (norm / THETA).log2().ceil() as i32
    } else {
        0
    };
    let a = &a * 0.5f64.powi(squarings);
    let a2 = multiply(a.view(), a.view());
    let a4 = multiply(a2.view(), a2.view());
    let a6 = multiply(a4.view(), a2.view());
    let one = Array2::<f64>::eye(n);
    let combine = |c6: f64, c4: f64, c2: f64, c0: f64| &a6 * c6 + &a4 * c4 + &a2 * c2 + &one * c0;
    let u_high = multiply(a6.view(), combine(B[13], B[11], B[9], 0.0).view());
    let u = multiply(a.view(), (u_high + combine(B[7], B[5], B[3], B[1])).view());
    let v_high = multiply(a6.view(), combine(B[12], B[10], B[8], 0.0).view());
    let v = v_high + combine(B[6], B[4], B[2], B[0]);
    let mut result = solve((&v - &u).view(), (&v + &u).view());
    for _ in 0..squarings {
        result = multiply(result.view(), result.view());
    }
    result
}

/// log(A), the principal logarithm: square roots by the iteration of Denman and Beavers until A^(1/2^k) is near
/// 1, then 2^(k+1) artanh((X − 1)(X + 1)⁻¹). None where A has an eigenvalue that is not positive, or nearly so.
pub(crate) fn logm(a: ArrayView2<f64>) -> Option<Array2<f64>> {
    /// Square roots, steps to each, and terms of the series.
    const ROOTS: usize = 40;
    const STEPS: usize = 60;
    const TERMS: usize = 12;
    let one = Array2::<f64>::eye(a.nrows());
    let size = |a: &Array2<f64>| a.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
    let mut root = a.to_owned();
    let mut scale = 2.0;
    for _ in 0..ROOTS {
        if size(&(&root - &one)) * (a.nrows() as f64) < 0.3 {
            let quotient = multiply((&root - &one).view(), inverse((&root + &one).view()).view());
            let square = multiply(quotient.view(), quotient.view());
            let (mut term, mut sum) = (quotient.clone(), quotient);
            for k in 1..TERMS {
                term = multiply(term.view(), square.view());
                sum.scaled_add(1.0 / (2 * k + 1) as f64, &term);
            }
            let log = sum * scale;
            let back = expm(log.view());
            return (size(&(back - a)) < 1e-6 * size(&a.to_owned()).max(1.0)).then_some(log);
        }
        let (mut y, mut z) = (root.clone(), one.clone());
        for _ in 0..STEPS {
            let next = (&y + &inverse(z.view())) * 0.5;
            z = (&z + &inverse(y.view())) * 0.5;
            let change = size(&(&next - &y));
            y = next;
            if change.is_nan() || change <= 1e-14 * size(&y) {
                break;
            }
        }
        if y.iter().any(|v| !v.is_finite()) {
            return None;
        }
        root = y;
        scale *= 2.0;
    }
    None
}

/// X with A X + X Aᵀ = Q, for A whose eigenvalues have positive real parts, by Smith's doubling.
///
/// Returns `None` where A is not stable, that is, where the doubling does not converge.
pub(crate) fn lyapunov(a: ArrayView2<f64>, q: ArrayView2<f64>) -> Option<Array2<f64>> {
    let n = a.nrows();
    let shift = (a.iter().map(|v| v * v).sum::<f64>() / n as f64).sqrt();
    if !(shift.is_finite() && shift > 0.0) {
        return None;
    }
    let one = Array2::<f64>::eye(n);
    // U = (A + σ)⁻¹ (σ − A), V = 2σ (A + σ)⁻¹ Q (A + σ)⁻ᵀ turn it into X = U X Uᵀ + V.
    let inverse = inverse((&a + &one * shift).view());
    let mut u = inverse.dot(&(&one * shift - a));
    let mut x = inverse.dot(&q).dot(&inverse.t()) * (2.0 * shift);
    for _ in 0..60 {
        let step = u.dot(&x).dot(&u.t());
        let change = step.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
        let size = x.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
        x += &step;
        if x.iter().any(|v| !v.is_finite()) {
            return None;
        }
        if change <= 1e-17 * size {
            return Some(symmetric_part(x.view()));
        }
        u = u.dot(&u);
    }
    None
}

/// A += B Cᵀ, all row-major; B and C have `rows` rows, on one thread and with the vector instructions of the
/// machine.
pub(crate) fn add_product(a: &mut [f64], b: &[f64], c: &[f64], rows: usize) {
    let columns = b.len() / rows.max(1);
    let b = MatRef::from_row_major_slice(b, rows, columns);
    let c = MatRef::from_row_major_slice(c, rows, columns);
    let a = MatMut::from_row_major_slice_mut(a, rows, rows);
    matmul(a, Accum::Add, b, c.transpose(), 1.0, Par::Seq);
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    fn largest(a: &Array2<f64>) -> f64 {
        a.iter().fold(0.0, |m: f64, v| m.max(v.abs()))
    }

    #[test]
    fn exponential_of_a_rotation_and_of_a_stiff_diagonal() {
        let t = 40.0f64;
        let rotation = expm(array![[0.0, -t], [t, 0.0]].view());
        let exact = array![[t.cos(), -t.sin()], [t.sin(), t.cos()]];
        assert!(largest(&(rotation - exact)) < 1e-12);
        let stiff = expm(array![[-1000.0, 1.0], [0.0, -0.5]].view());
        assert!((stiff[[1, 1]] - (-0.5f64).exp()).abs() < 1e-13);
        assert!((stiff[[0, 1]] - (-0.5f64).exp() / 999.5).abs() < 1e-15);
    }

    #[test]
    fn logarithm_inverts_the_exponential_and_refuses_reflections() {
        let a = array![[-0.3, 2.5, 0.0], [-2.5, -0.4, 0.7], [0.1, 0.0, -1.0]];
        let log = logm(expm(a.view()).view()).unwrap();
        assert!(largest(&(log - &a)) < 1e-10);
        assert!(logm(array![[-0.5, 0.0], [0.0, 0.5]].view()).is_none());
    }

    #[test]
    fn lyapunov_solves_and_refuses() {
        let a = array![[1.0, 8.0, 0.0], [0.0, 1.2, 3.0], [0.5, 0.0, 2.0]];
        let q = array![[2.0, 0.3, 0.0], [0.3, 1.0, 0.1], [0.0, 0.1, 0.5]];
        let x = lyapunov(a.view(), q.view()).unwrap();
        assert!(largest(&(a.dot(&x) + x.dot(&a.t()) - &q)) < 1e-13 * largest(&x) * 10.0);
        assert!(
            lyapunov(
                array![[-1.0, 0.0], [0.0, 1.0]].view(),
                Array2::eye(2).view()
            )
            .is_none()
        );
    }
}
