//! A peer: the linear inverse model.

use ergode::Ensemble;
use faer::linalg::solvers::DenseSolveCore;
use faer::{Mat, MatRef};

use crate::compare::{Errors, States};
use crate::pairs::Pairs;

/// b = A (x − ⟨x⟩) with A = ln(C(τ) C(0)⁻¹)/τ at the sampling interval τ, D = −(A C(0) + C(0) A⊤)/2.
///
/// Coordinates are standardised; angles count as numbers, their increments wrapped.
pub(crate) fn errors(ensemble: &Ensemble, circles: &[bool], states: &States) -> Option<Errors> {
    let pairs = Pairs::collect(ensemble, circles)?;
    let (mean, spread) = (&pairs.scales.mean, &pairs.scales.spread);
    let (dim, n) = (mean.len(), pairs.count() as f64);
    let z = |k: usize, i: usize| (pairs.states[k * dim + i] - mean[i]) / spread[i];
    let (mut now, mut later) = (Mat::<f64>::zeros(dim, dim), Mat::<f64>::zeros(dim, dim));
    for k in 0..pairs.count() {
        for j in 0..dim {
            for i in 0..dim {
                let (here, step) = (z(k, i) * z(k, j), pairs.increments[k * dim + i] / spread[i]);
                now[(i, j)] += here / n;
                later[(i, j)] += (here + step * z(k, j)) / n;
            }
        }
    }
    let propagator = &later * now.partial_piv_lu().inverse();
    let rate = logarithm(propagator)? * faer::Scale(1.0 / pairs.interval);
    let half = &rate * &now;
    Some(states.errors(|x, drift, diffusion| {
        for i in 0..dim {
            let at = |j: usize| rate[(i, j)] * (x[j] - mean[j]) / spread[j];
            drift[i] = spread[i] * (0..dim).map(at).sum::<f64>();
            for j in 0..dim {
                let value = -0.5 * (half[(i, j)] + half[(j, i)]);
                diffusion[i * dim + j] = spread[i] * spread[j] * value;
            }
        }
    }))
}

/// The principal logarithm of a matrix by inverse scaling and squaring: roots by the iteration of Denman and
/// Beavers until G is near one, then ln G = 2 artanh((G − 1)(G + 1)⁻¹). None where there is no real one.
fn logarithm(mut matrix: Mat<f64>) -> Option<Mat<f64>> {
    let n = matrix.nrows();
    let one = Mat::<f64>::identity(n, n);
    let mut factor = 2.0;
    while distance(matrix.as_ref(), one.as_ref()) > 0.2 {
        matrix = root(matrix)?;
        factor *= 2.0;
        if factor > 1e9 {
            return None;
        }
    }
    let z = (&matrix - &one) * (&matrix + &one).partial_piv_lu().inverse();
    let square = &z * &z;
    let (mut power, mut sum) = (z.clone(), z);
    for k in 1..12 {
        power = &power * &square;
        sum += &power * faer::Scale(1.0 / (2 * k + 1) as f64);
    }
    let sum = sum * faer::Scale(factor);
    let finite = (0..n).all(|j| (0..n).all(|i| sum[(i, j)].is_finite()));
    finite.then_some(sum)
}

/// The principal square root.
fn root(matrix: Mat<f64>) -> Option<Mat<f64>> {
    let (mut y, mut z) = (
        matrix.clone(),
        Mat::<f64>::identity(matrix.nrows(), matrix.nrows()),
    );
    for _ in 0..50 {
        let (next_y, next_z) = (
            (&y + z.partial_piv_lu().inverse()) * faer::Scale(0.5),
            (&z + y.partial_piv_lu().inverse()) * faer::Scale(0.5),
        );
        let moved = distance(next_y.as_ref(), y.as_ref());
        (y, z) = (next_y, next_z);
        if moved < 1e-13 {
            return Some(y);
        }
    }
    (distance((&y * &y).as_ref(), matrix.as_ref()) < 1e-8).then_some(y)
}

/// The largest difference of two entries; infinite where one is not a number.
fn distance(a: MatRef<'_, f64>, b: MatRef<'_, f64>) -> f64 {
    let mut most = 0.0_f64;
    for j in 0..a.ncols() {
        for i in 0..a.nrows() {
            let away = (a[(i, j)] - b[(i, j)]).abs();
            most = if away.is_nan() {
                f64::INFINITY
            } else {
                most.max(away)
            };
        }
    }
    most
}
