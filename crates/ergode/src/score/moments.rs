//! The averages of a certificate, as functions for lagged statistics at lag zero.

use std::ops::Range;

use ndarray::Array2;

use super::Score;
use super::walls::WallWeight;
use crate::data::{Ensemble, Standardiser};
use crate::observable::{Functions, Library};

/// 1, z and the functions of a library, as functions of raw coordinates; sin z of an angle, which has a value on the
/// circle.
pub(super) struct Basis<'a> {
    library: &'a dyn Library,
    standardiser: &'a Standardiser,
    /// The weight of every coordinate; empty where there are no walls.
    walls: Vec<WallWeight>,
    labels: Vec<String>,
}

impl<'a> Basis<'a> {
    pub(super) fn new(
        names: &[String],
        library: &'a dyn Library,
        standardiser: &'a Standardiser,
    ) -> Self {
        let coordinates = names.iter().enumerate().map(|(i, name)| {
            let circle = standardiser.is_circle(i);
            if circle {
                format!("sin({name})")
            } else {
                name.clone()
            }
        });
        let labels = std::iter::once("1".to_owned())
            .chain(coordinates)
            .chain(library.labels().iter().cloned());
        Self {
            library,
            standardiser,
            walls: Vec::new(),
            labels: labels.collect(),
        }
    }

    /// The same functions for averages between the walls of a record.
    pub(super) fn between_walls(mut self, record: &Ensemble) -> Self {
        self.walls = WallWeight::of(record, self.standardiser);
        self
    }

    /// True where identities are weighted.
    pub(super) fn has_walls(&self) -> bool {
        !self.walls.is_empty()
    }

    /// h = Π_j h_j and ∂_j h on a tile of z, (n) and (D, n).
    fn weights(&self, z: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let n = z.len() / self.dim();
        let (mut h, mut slopes) = (vec![1.0; n], vec![1.0; z.len()]);
        for (j, (weight, row)) in self.walls.iter().zip(z.chunks_exact(n)).enumerate() {
            for (s, z) in row.iter().enumerate() {
                let [value, change] = weight.at(*z);
                h[s] *= value;
                for (i, slopes) in slopes.chunks_exact_mut(n).enumerate() {
                    slopes[s] *= if i == j { change } else { value };
                }
            }
        }
        (h, slopes)
    }

    /// ⟨∂_j (h f)⟩ over a tile of raw states, (f, j), in standardised coordinates; h = 1 without walls.
    pub(super) fn mean_gradients(&self, x: &[f64]) -> Array2<f64> {
        if !self.has_walls() {
            return self.mean_plain_gradients(x);
        }
        let (dim, count) = (self.dim(), self.labels.len());
        let n = x.len() / dim;
        let mut functions = vec![0.0; count * n];
        self.values(x, &mut functions);
        let z = &functions[n..][..x.len()];
        let (h, slopes) = self.weights(z);
        let mut gradients = vec![0.0; self.library.len() * x.len()];
        self.library.gradient_tile(z, &mut gradients);
        let gradient = |f: usize, j: usize, s: usize| match f {
            0 => 0.0,
            f if f <= dim => f64::from(u8::from(f - 1 == j)),
            f => gradients[((f - 1 - dim) * dim + j) * n + s],
        };
        Array2::from_shape_fn((count, dim), |(f, j)| {
            let at = |s: usize| h[s] * gradient(f, j, s) + functions[f * n + s] * slopes[j * n + s];
            (0..n).map(at).sum::<f64>() / n as f64
        })
    }

    fn mean_plain_gradients(&self, x: &[f64]) -> Array2<f64> {
        let (dim, count) = (self.dim(), self.labels.len());
        let n = x.len() / dim;
        let mut z = vec![0.0; x.len()];
        self.standardise(x, &mut z);
        let mut gradients = vec![0.0; self.library.len() * x.len()];
        self.library.gradient_tile(&z, &mut gradients);
        Array2::from_shape_fn((count, dim), |(f, j)| match f {
            0 => 0.0,
            f if f - 1 == j => self.slopes(j, &z[j * n..][..n]).sum::<f64>() / n as f64,
            f if f <= dim => 0.0,
            f => {
                let row = &gradients[((f - 1 - dim) * dim + j) * n..][..n];
                row.iter().sum::<f64>() / n as f64
            }
        })
    }

    /// The derivative of coordinate i, or of its sine where it is an angle, by itself.
    fn slopes(&self, i: usize, z: &[f64]) -> impl Iterator<Item = f64> {
        let circle = self.standardiser.is_circle(i);
        z.iter().map(move |z| if circle { z.cos() } else { 1.0 })
    }

    /// z of a tile, (D, n).
    fn standardise(&self, x: &[f64], z: &mut [f64]) {
        let n = x.len() / self.dim();
        let Standardiser { mean, scale, .. } = self.standardiser;
        for (i, (x, z)) in x.chunks_exact(n).zip(z.chunks_exact_mut(n)).enumerate() {
            for (z, x) in z.iter_mut().zip(x) {
                *z = (x - mean[i]) / scale[i];
            }
        }
    }
}

impl Functions for Basis<'_> {
    fn dim(&self) -> usize {
        self.library.dim()
    }
    fn labels(&self) -> &[String] {
        &self.labels
    }
    fn values(&self, x: &[f64], out: &mut [f64]) {
        let n = x.len() / self.dim();
        if n == 0 {
            return;
        }
        let (one, rest) = out.split_at_mut(n);
        let (z, functions) = rest.split_at_mut(x.len());
        one.fill(1.0);
        self.standardise(x, z);
        self.library.values(z, functions);
        for (i, row) in z.chunks_exact_mut(n).enumerate() {
            if self.standardiser.is_circle(i) {
                row.iter_mut().for_each(|z| *z = z.sin());
            }
        }
    }
}

/// f s_j + ∂_j f for every f of a basis, (f, j), in standardised coordinates; z·s/D + 1, which sees what
/// all of several coordinates have in common when each alone is too noisy; |s|² + ∇·s in raw coordinates where it
/// is known, which is the same with f = s. And then, not zero for the exact score, the basis, s_j², and
/// |s|²/2 + ∇·s where it is known.
///
/// Between walls f is h f, h being zero at the walls: for a density that does not vanish there the averages of
/// other fields are not zero.
pub(super) struct Moments<'a> {
    score: &'a dyn Score,
    basis: &'a Basis<'a>,
    divergence: bool,
    identities: Vec<String>,
    labels: Vec<String>,
}

impl<'a> Moments<'a> {
    /// `divergence` says whether ∇·s is known.
    pub(super) fn new(score: &'a dyn Score, basis: &'a Basis, divergence: bool) -> Self {
        let names = &basis.labels[1..=basis.dim()];
        let mut identities: Vec<String> = Vec::new();
        for f in &basis.labels {
            identities.extend(names.iter().map(|x| format!("<{f} s({x}) + d({f})/d{x}>")));
        }
        if names.len() > 1 {
            identities.push("<x.s/D + 1>".to_owned());
        }
        if divergence {
            identities.push("<s.s + div s>".to_owned());
        }
        let mut labels = identities.clone();
        labels.extend(basis.labels.iter().cloned());
        labels.extend(names.iter().map(|x| format!("s({x})^2")));
        if divergence {
            labels.push("loss".to_owned());
        }
        Self {
            score,
            basis,
            divergence,
            identities,
            labels,
        }
    }

    pub(super) fn identity_labels(&self) -> &[String] {
        &self.identities
    }

    /// The rows of the basis.
    pub(super) fn basis_range(&self) -> Range<usize> {
        let start = self.identities.len();
        start..start + self.basis.len()
    }

    /// The rows of s_j².
    pub(super) fn square_range(&self) -> Range<usize> {
        let start = self.basis_range().end;
        start..start + self.dim()
    }

    /// The row of |s|²/2 + ∇·s.
    pub(super) fn loss_index(&self) -> Option<usize> {
        self.divergence.then_some(self.labels.len() - 1)
    }
}

impl Functions for Moments<'_> {
    fn dim(&self) -> usize {
        self.basis.dim()
    }
    fn labels(&self) -> &[String] {
        &self.labels
    }

    fn values(&self, x: &[f64], out: &mut [f64]) {
        let (dim, basis) = (self.dim(), self.basis.len());
        let n = x.len() / dim;
        if n == 0 {
            return;
        }
        let (identities, rest) = out.split_at_mut(self.identities.len() * n);
        let (functions, rest) = rest.split_at_mut(basis * n);
        let (squares, loss) = rest.split_at_mut(dim * n);
        let identity_rows = self.identities.len() - usize::from(self.divergence);
        self.basis.values(x, functions);
        let mut score = vec![0.0; x.len()];
        self.score.score(x, &mut score);
        if self.divergence {
            let fisher = &mut identities[identity_rows * n..];
            self.score.divergence(x, loss);
            for (s, loss) in loss.iter_mut().enumerate() {
                let square: f64 = score.iter().skip(s).step_by(n).map(|s| s * s).sum();
                fisher[s] = square + *loss;
                *loss += 0.5 * square;
            }
        }
        for (row, scale) in score
            .chunks_exact_mut(n)
            .zip(&self.basis.standardiser.scale)
        {
            row.iter_mut().for_each(|s| *s *= scale);
        }
        for (square, s) in squares.iter_mut().zip(&score) {
            *square = s * s;
        }
        let mut z = vec![0.0; x.len()];
        self.basis.standardise(x, &mut z);
        let trace = &mut identities[basis * dim * n..identity_rows * n];
        trace.fill(0.0);
        let coordinates = functions[n..].chunks_exact(n).zip(score.chunks_exact(n));
        for (i, (f, s)) in coordinates.enumerate() {
            let slopes = self.basis.slopes(i, &z[i * n..][..n]);
            for (((sum, f), s), slope) in trace.iter_mut().zip(f).zip(s).zip(slopes) {
                *sum += (f * s + slope) / dim as f64;
            }
        }
        // The gradients first: 0 of the constant, those of the coordinates and of the library.
        let (known, gradients) = identities.split_at_mut((1 + dim) * dim * n);
        known.fill(0.0);
        for i in 0..dim {
            let at = ((1 + i) * dim + i) * n;
            let slopes = self.basis.slopes(i, &z[i * n..][..n]);
            known[at..at + n]
                .iter_mut()
                .zip(slopes)
                .for_each(|(out, slope)| *out = slope);
        }
        let library = &mut gradients[..(basis - 1 - dim) * dim * n];
        self.basis.library.gradient_tile(&z, library);
        for (k, f) in functions.chunks_exact(n).enumerate() {
            let rows = &mut identities[k * dim * n..(k + 1) * dim * n];
            for (row, s) in rows.chunks_exact_mut(n).zip(score.chunks_exact(n)) {
                for ((value, f), s) in row.iter_mut().zip(f).zip(s) {
                    *value += f * s;
                }
            }
        }
        if self.basis.has_walls() {
            self.weigh(functions, identities);
        }
    }
}

impl Moments<'_> {
    /// From f s_j + ∂_j f to h f s_j + ∂_j (h f), in place.
    fn weigh(&self, functions: &[f64], identities: &mut [f64]) {
        let (dim, basis) = (self.dim(), self.basis.len());
        let n = functions.len() / basis;
        let z = &functions[n..][..dim * n];
        let (h, slopes) = self.basis.weights(z);
        for (k, f) in functions.chunks_exact(n).enumerate() {
            for j in 0..dim {
                let row = &mut identities[(k * dim + j) * n..][..n];
                for (s, value) in row.iter_mut().enumerate() {
                    *value = h[s] * *value + f[s] * slopes[j * n + s];
                }
            }
        }
        let trace = &mut identities[basis * dim * n..];
        for (s, value) in trace.iter_mut().take(n).enumerate() {
            let along: f64 = (0..dim).map(|j| z[j * n + s] * slopes[j * n + s]).sum();
            *value = h[s] * *value + along / dim as f64;
        }
    }
}
