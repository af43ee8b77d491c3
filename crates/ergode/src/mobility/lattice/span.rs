//! The tensor fields that physics suggests for a spin.

use crate::data::Standardiser;
use crate::mobility::TensorBasis;
use crate::mobility::basis::TensorField;
use crate::observable::Polynomial;

/// Components of a site.
const SPIN: usize = 3;

impl TensorBasis {
    /// The paper's span of onsite blocks (`eq:soft_spin_phys_informed_tensor_span_results`),
    /// c_0 I + c_⊥ (|m|² I − m mᵀ) + c_∥ m mᵀ + c_× \[m\]× with \[m\]× v = m × v, in the raw components of
    /// one spin. The labels are c0, c_perp, c_par and c_x.
    pub fn spin() -> Self {
        let square = (0..SPIN).fold(Polynomial::default(), |mut sum, a| {
            sum.add_scaled(1.0, &product(&[a, a], 1.0));
            sum
        });
        let field = |label: &str, entry: &dyn Fn(usize, usize) -> Polynomial| {
            let entries = (0..SPIN * SPIN)
                .map(|at| (at / SPIN, at % SPIN, entry(at / SPIN, at % SPIN)))
                .filter(|(_, _, polynomial)| polynomial.terms().next().is_some());
            TensorField::tensor(label.to_owned(), entries.collect())
        };
        let unit = |a: usize, b: usize| match a == b {
            true => product(&[], 1.0),
            false => Polynomial::default(),
        };
        let across = |a: usize, b: usize| {
            let mut entry = product(&[a, b], -1.0);
            if a == b {
                entry.add_scaled(1.0, &square);
            }
            entry
        };
        // ([m]×)_ab = −ε_abc m_c.
        let turn = |a: usize, b: usize| match (b + SPIN - a) % SPIN {
            1 => product(&[(a + 2) % SPIN], -1.0),
            2 => product(&[(a + 1) % SPIN], 1.0),
            _ => Polynomial::default(),
        };
        let fields = vec![
            field("c0", &unit),
            field("c_perp", &across),
            field("c_par", &|a, b| product(&[a, b], 1.0)),
            field("c_x", &turn),
        ];
        let raw = Standardiser::new(vec![0.0; SPIN], vec![1.0; SPIN]).expect("positive scales");
        Self::from_fields(&["x", "y", "z"].map(String::from), &raw, fields)
    }
}

/// `factor` times the product of the chosen components.
fn product(components: &[usize], factor: f64) -> Polynomial {
    let mut exponents = vec![0; SPIN];
    for c in components {
        exponents[*c] += 1;
    }
    Polynomial::monomial(exponents, factor)
}
