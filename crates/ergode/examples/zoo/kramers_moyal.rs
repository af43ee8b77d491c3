//! A peer: regression of increments (Kramers and Moyal), the drift taken off before squaring.

use ergode::Ensemble;
use faer::Mat;
use faer::linalg::solvers::Solve;
use ndarray::{Array2, s};

use crate::compare::{Errors, States};
use crate::pairs::{Pairs, Scales};

/// Terms at most; more coordinates get a lower degree.
const MOST_TERMS: usize = 120;

/// Pairs that are worked on at once.
const TILE: usize = 2048;

/// ⟨f f⊤⟩ c = ⟨f Δ/δ⟩ for the drift b, then ⟨f f⊤⟩ c = ⟨f (Δ − b δ)(Δ − b δ)⊤ / 2δ⟩ for D. The functions f are
/// polynomials of standardised coordinates of degree 5 in one coordinate and 3 in more, Fourier functions of
/// angles; increments of angles are wrapped.
pub(crate) fn errors(ensemble: &Ensemble, circles: &[bool], states: &States) -> Option<Errors> {
    let pairs = Pairs::collect(ensemble, circles)?;
    let basis = Basis::new(&pairs.scales, circles, pairs.count());
    let dim = circles.len();
    let entries: Vec<(usize, usize)> = (0..dim)
        .flat_map(|i| (i..dim).map(move |j| (i, j)))
        .collect();
    let drift = regress(&basis, &pairs, dim, |increment, _, out| {
        for (out, increment) in out.iter_mut().zip(increment) {
            *out = increment / pairs.interval;
        }
    })?;
    let diffusion = regress(
        &basis,
        &pairs,
        entries.len(),
        |increment, functions, out| {
            let rest: Vec<f64> = (0..dim)
                .map(|i| increment[i] - pairs.interval * dot(&drift, functions, i))
                .collect();
            for (out, (i, j)) in out.iter_mut().zip(&entries) {
                *out = rest[*i] * rest[*j] / (2.0 * pairs.interval);
            }
        },
    )?;
    let mut functions = vec![0.0; basis.len()];
    Some(states.errors(|x, b, d| {
        basis.evaluate(x, &mut functions);
        for (i, b) in b.iter_mut().enumerate() {
            *b = dot(&drift, &functions, i);
        }
        for (k, (i, j)) in entries.iter().enumerate() {
            let value = dot(&diffusion, &functions, k);
            d[i * dim + j] = value;
            d[j * dim + i] = value;
        }
    }))
}

/// The function with the coefficients of a column.
fn dot(coefficients: &Array2<f64>, functions: &[f64], column: usize) -> f64 {
    let column = coefficients.column(column);
    column.iter().zip(functions).map(|(c, f)| c * f).sum()
}

/// Coefficients (function, target) of the least-squares fit to targets of each pair.
fn regress(
    basis: &Basis,
    pairs: &Pairs,
    targets: usize,
    mut target: impl FnMut(&[f64], &[f64], &mut [f64]),
) -> Option<Array2<f64>> {
    let (n, dim) = (basis.len(), pairs.scales.mean.len());
    let (mut gram, mut right) = (
        Array2::<f64>::zeros((n, n)),
        Array2::<f64>::zeros((n, targets)),
    );
    let mut functions = Array2::<f64>::zeros((TILE, n));
    let mut values = Array2::<f64>::zeros((TILE, targets));
    let rows: Vec<(&[f64], &[f64])> = pairs
        .states
        .chunks_exact(dim)
        .zip(pairs.increments.chunks_exact(dim))
        .collect();
    for tile in rows.chunks(TILE) {
        for (k, (x, increment)) in tile.iter().enumerate() {
            let mut row = functions.row_mut(k);
            let row = row.as_slice_mut().expect("adjacent functions");
            basis.evaluate(x, row);
            let mut out = values.row_mut(k);
            target(
                increment,
                row,
                out.as_slice_mut().expect("adjacent targets"),
            );
        }
        let part = functions.slice(s![..tile.len(), ..]);
        gram += &part.t().dot(&part);
        right += &part.t().dot(&values.slice(s![..tile.len(), ..]));
    }
    let matrix = Mat::from_fn(n, n, |i, j| gram[[i, j]]);
    let solved = matrix
        .partial_piv_lu()
        .solve(Mat::from_fn(n, targets, |i, j| right[[i, j]]));
    let found = Array2::from_shape_fn((n, targets), |(i, j)| solved[(i, j)]);
    found.iter().all(|c| c.is_finite()).then_some(found)
}

/// Products of functions of single coordinates: powers on lines, Fourier functions on circles.
struct Basis<'a> {
    scales: &'a Scales,
    circles: &'a [bool],
    degree: usize,
    /// For each function one index per coordinate: a power, or 2k − 1 for cos kθ and 2k for sin kθ.
    indices: Vec<Vec<usize>>,
}

impl<'a> Basis<'a> {
    /// Of the highest degree that leaves ten pairs to each function.
    fn new(scales: &'a Scales, circles: &'a [bool], pairs: usize) -> Self {
        let highest = if circles.len() == 1 { 5 } else { 3 };
        let most = MOST_TERMS.min(pairs / 10);
        let of = |degree: usize| Self {
            scales,
            circles,
            degree,
            indices: indices(circles, degree),
        };
        let fits = |basis: &Self| basis.len() <= most || basis.degree <= 1;
        (1..=highest).rev().map(of).find(fits).expect("degree one")
    }

    fn len(&self) -> usize {
        self.indices.len()
    }

    fn evaluate(&self, x: &[f64], out: &mut [f64]) {
        let single: Vec<Vec<f64>> = (0..x.len())
            .map(|i| {
                let most = if self.circles[i] {
                    2 * self.degree
                } else {
                    self.degree
                };
                let z = (x[i] - self.scales.mean[i]) / self.scales.spread[i];
                let function = |k: usize| match k {
                    0 => 1.0,
                    _ if !self.circles[i] => z.powi(k as i32),
                    _ if k % 2 == 1 => (k.div_ceil(2) as f64 * x[i]).cos(),
                    _ => ((k / 2) as f64 * x[i]).sin(),
                };
                (0..=most).map(function).collect()
            })
            .collect();
        for (out, index) in out.iter_mut().zip(&self.indices) {
            *out = index.iter().zip(&single).map(|(k, f)| f[*k]).product();
        }
    }
}

/// All indices of a total degree of at most `degree`.
fn indices(circles: &[bool], degree: usize) -> Vec<Vec<usize>> {
    let mut all = vec![(Vec::new(), 0)];
    for circle in circles {
        let choices: Vec<(usize, usize)> = if *circle {
            (0..=2 * degree).map(|k| (k, k.div_ceil(2))).collect()
        } else {
            (0..=degree).map(|k| (k, k)).collect()
        };
        let longer = |(index, used): &(Vec<usize>, usize)| -> Vec<(Vec<usize>, usize)> {
            let fitting = choices.iter().filter(|(_, cost)| used + cost <= degree);
            fitting
                .map(|(k, cost)| ([&index[..], &[*k]].concat(), used + cost))
                .collect()
        };
        all = all.iter().flat_map(longer).collect();
    }
    all.into_iter().map(|(index, _)| index).collect()
}
