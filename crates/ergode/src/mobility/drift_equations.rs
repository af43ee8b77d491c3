//! ⟨w g_k·g_l⟩ c_l = −⟨M : ∇(w g_k)⟩, the equations of the drift that goes with a mobility.

use ndarray::{Array1, Array2, ArrayView1, Axis, s};

use super::basis::{TensorBasis, TensorField};
use crate::error::Result;
use crate::linalg;
use crate::observable::{Functions, Moments, Monomials, Polynomial};

/// Singular values below this part of the largest are rounding errors.
const SEEN: f64 = 1e-12;

/// The polynomials whose averages the drift needs.
pub(super) struct Plan {
    pub(super) dim: usize,
    /// The monomials g, by degree, and their labels.
    exponents: Vec<Vec<u32>>,
    labels: Vec<String>,
    /// w g_a g_b, a ≤ b.
    products: Vec<(usize, usize, Polynomial)>,
    /// T_k : ∇(w g_a e_i), (a, i, k).
    images: Vec<(usize, usize, usize, Polynomial)>,
    fields: usize,
}

/// ⟨w g_a g_b⟩, and ⟨T_k : ∇(w g_a e_i)⟩ as one matrix (a, k) for every i.
pub(super) struct Sums {
    gram: Array2<f64>,
    images: Vec<Array2<f64>>,
}

impl Plan {
    pub(super) fn new(basis: &TensorBasis, weight: &Polynomial, top: usize) -> Result<Self> {
        let dim = basis.dim();
        let monomials = Monomials::new(basis.names(), 0..=top)?;
        let exponents = monomials.exponents();
        let tests: Vec<Polynomial> = exponents
            .iter()
            .map(|e| weight.product(&Polynomial::monomial(e.clone(), 1.0)))
            .collect();
        let (mut products, mut images) = (Vec::new(), Vec::new());
        for (a, test) in tests.iter().enumerate() {
            for (b, exponents) in exponents.iter().enumerate().skip(a) {
                let other = Polynomial::monomial(exponents.clone(), 1.0);
                products.push((a, b, test.product(&other)));
            }
            for (k, field) in basis.fields().iter().enumerate() {
                for i in 0..dim {
                    let mut image = Polynomial::default();
                    for (_, j, entry) in field.entries.iter().filter(|e| e.0 == i) {
                        image.add_scaled(1.0, &entry.product(&test.derivative(*j)));
                    }
                    images.push((a, i, k, image));
                }
            }
        }
        Ok(Self {
            dim,
            labels: monomials.labels().to_vec(),
            exponents,
            products,
            images,
            fields: basis.len(),
        })
    }

    /// Number of monomials up to a degree.
    pub(super) fn functions(&self, degree: usize) -> usize {
        let low = |e: &&Vec<u32>| e.iter().sum::<u32>() as usize <= degree;
        self.exponents.iter().take_while(low).count()
    }

    pub(super) fn top(&self) -> usize {
        let last = self.exponents.last().map_or(0, |e| e.iter().sum::<u32>());
        last as usize
    }

    pub(super) fn equations(&self, moments: &Moments) -> Result<Sums> {
        let count = self.exponents.len();
        let mut gram = Array2::zeros((count, count));
        for (a, b, product) in &self.products {
            gram[[*a, *b]] = moments.mean(product)?;
            gram[[*b, *a]] = gram[[*a, *b]];
        }
        let mut images = vec![Array2::zeros((count, self.fields)); self.dim];
        for (a, i, k, image) in &self.images {
            images[*i][[*a, *k]] = moments.mean(image)?;
        }
        Ok(Sums { gram, images })
    }

    /// The fields of a drift of this degree.
    pub(super) fn basis(&self, tensors: &TensorBasis, degree: usize) -> Result<TensorBasis> {
        let names = tensors.names();
        let mut fields = Vec::new();
        for a in 0..self.functions(degree) {
            for (i, name) in names.iter().enumerate() {
                fields.push(TensorField {
                    label: format!("b[{name}] {}", self.labels[a]),
                    entries: Vec::new(),
                    drift: vec![(i, Polynomial::monomial(self.exponents[a].clone(), 1.0))],
                });
            }
        }
        Ok(TensorBasis::from_fields(
            names,
            tensors.standardiser(),
            fields,
        ))
    }
}

impl Sums {
    /// The coefficients of the drift, (function, coordinate) flat, for these of M.
    pub(super) fn drift(&self, size: usize, mobility: &Array1<f64>) -> Array1<f64> {
        let sides: Vec<Array1<f64>> = (self.images.iter())
            .map(|images| -images.slice(s![..size, ..]).dot(mobility))
            .collect();
        let views: Vec<_> = sides.iter().map(|side| side.view()).collect();
        let right = ndarray::stack(Axis(1), &views).expect("one length");
        let gram = self.gram.slice(s![..size, ..size]);
        // Monomials are linearly dependent on few distinct values.
        let inverse = linalg::pseudo_inverse(gram, SEEN);
        inverse.dot(&right).iter().copied().collect()
    }

    /// ⟨w |b|²⟩/2 + ⟨M : ∇(w b)⟩.
    pub(super) fn loss(&self, size: usize, drift: &Array1<f64>, mobility: &Array1<f64>) -> f64 {
        let dim = self.images.len();
        let of = |(i, images): (usize, &Array2<f64>)| {
            let c: Array1<f64> = drift.iter().skip(i).step_by(dim).copied().collect();
            c.dot(&images.slice(s![..size, ..]).dot(mobility))
        };
        let sides: f64 = self.images.iter().enumerate().map(of).sum();
        0.5 * self.square(size, drift.view()) + sides
    }

    /// ⟨w |b|²⟩.
    pub(super) fn square(&self, size: usize, drift: ArrayView1<f64>) -> f64 {
        let gram = self.gram.slice(s![..size, ..size]);
        let dim = self.images.len();
        let of = |i: usize| {
            let c = drift.slice(s![i..;dim]);
            c.dot(&gram.dot(&c))
        };
        (0..dim).map(of).sum()
    }
}
