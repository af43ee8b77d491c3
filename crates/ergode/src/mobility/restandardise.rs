//! The uncertainty of the standardisation, as part of the errors of coefficients.

use std::collections::HashMap;

use ndarray::{Array1, Array2, ArrayView1};

use super::basis::TensorBasis;
use crate::data::Standardiser;
use crate::error::Result;
use crate::lagged::deviations;
use crate::linalg;
use crate::observable::{Moments, Polynomial};

/// Standard errors of coefficients as they are printed, for a reader who compares them between records, each
/// in its own standardised coordinates.
///
/// The jackknife gives the coefficients without each block, in the coordinates z of all of them; the error of a
/// field at a state is that. The coefficients themselves also depend on mean and scale of the record. In the
/// coordinates z' that have mean 0 and deviation 1 without a block, z = m + r z', the mobility is
/// M'_ij(z') = M_ij(m + r z') / (r_i r_j), to first order
///
/// M'_ij − M_ij = Σ_l (m_l + (r_l − 1) z_l) ∂_l M_ij − (r_i + r_j − 2) M_ij,
///
/// and a drift of its own b'_i(z') = b_i(m + r z') / r_i likewise.
///
/// `of_coefficients` are the deviations of the jackknife, `left_out` the moments of z without each block. In
/// coordinates that are not standardised nothing is added.
pub(super) fn printed_errors(
    basis: &TensorBasis,
    coefficients: ArrayView1<f64>,
    of_coefficients: &Array2<f64>,
    left_out: &[&Moments],
) -> Result<Array1<f64>> {
    let plain = |d: &Array2<f64>| d.columns().into_iter().map(|c| c.dot(&c).sqrt()).collect();
    if left_out.len() < 2 || !is_standardised(basis) {
        return Ok(plain(of_coefficients));
    }
    let scales = left_out
        .iter()
        .map(|moments| means_and_scales(moments, basis.standardiser()));
    let scales: Vec<Array1<f64>> = scales.collect::<Result<_>>()?;
    let turn = directions(basis, coefficients);
    Ok(plain(
        &(of_coefficients + &deviations(&scales).dot(&turn.t())),
    ))
}

/// False where mean and scale were given rather than measured.
fn is_standardised(basis: &TensorBasis) -> bool {
    let standardiser = basis.standardiser();
    let measured = |l: &usize| !standardiser.is_circle(*l);
    let (mean, scale) = (&standardiser.mean, &standardiser.scale);
    let mut coordinates = (0..mean.len()).filter(measured);
    coordinates.any(|l| mean[l] != 0.0 || scale[l] != 1.0)
}

/// m and then r − 1 = ½ (⟨z²⟩ − ⟨z⟩² − 1), coordinate by coordinate; 0 of angles, whose scale is given.
fn means_and_scales(moments: &Moments, standardiser: &Standardiser) -> Result<Array1<f64>> {
    let dim = standardiser.scale.len();
    let mut out = Array1::zeros(2 * dim);
    for l in (0..dim).filter(|l| !standardiser.is_circle(*l)) {
        let power = |exponent: u32| {
            let mut exponents = vec![0; dim];
            exponents[l] = exponent;
            moments.mean(&Polynomial::monomial(exponents, 1.0))
        };
        let mean = power(1)?;
        out[l] = mean;
        out[dim + l] = 0.5 * (power(2)? - mean * mean - 1.0);
    }
    Ok(out)
}

/// The change of the coefficients along each of m and r, (coefficient, m and r).
fn directions(basis: &TensorBasis, coefficients: ArrayView1<f64>) -> Array2<f64> {
    let dim = basis.dim();
    // The entries of M, then the components of b, with the coordinates whose units each is in.
    let mut entries = basis.combine(coefficients);
    entries.extend(basis.combine_drift(coefficients));
    let units = |at: usize, l: usize| match at.checked_sub(dim * dim) {
        Some(i) => usize::from(i == l),
        None => usize::from(at / dim == l) + usize::from(at % dim == l),
    };
    let mut turned = Vec::with_capacity(2 * dim);
    for l in 0..dim {
        turned.push(entries.iter().map(|entry| entry.derivative(l)).collect());
    }
    for l in 0..dim {
        if basis.standardiser().is_circle(l) {
            turned.push(vec![Polynomial::default(); entries.len()]);
            continue;
        }
        let mut exponents = vec![0; dim];
        exponents[l] = 1;
        let z = Polynomial::monomial(exponents, 1.0);
        let scaled = |(at, entry): (usize, &Polynomial)| {
            let mut change = entry.derivative(l).product(&z);
            change.add_scaled(-(units(at, l) as f64), entry);
            change
        };
        turned.push(entries.iter().enumerate().map(scaled).collect::<Vec<_>>());
    }
    projected(basis, &turned)
}

/// Place of an entry or a component, and a monomial of it.
type Place<'a> = (usize, &'a [u32]);

/// The coefficients of tensors and drifts, entry by entry, in the fields of the basis, (coefficient, tensor).
pub(super) fn projected(basis: &TensorBasis, tensors: &[Vec<Polynomial>]) -> Array2<f64> {
    let dim = basis.dim();
    // The fields that hold each monomial of each entry.
    let mut holders: HashMap<Place<'_>, Vec<(usize, f64)>> = HashMap::new();
    for (k, field) in basis.fields().iter().enumerate() {
        let entries = field.entries.iter().map(|(i, j, p)| (i * dim + j, p));
        let drift = field.drift.iter().map(|(i, p)| (dim * dim + i, p));
        for (at, polynomial) in entries.chain(drift) {
            for (exponents, a) in polynomial.terms() {
                let place = holders.entry((at, exponents.as_slice()));
                place.or_default().push((k, a));
            }
        }
    }
    let mut normal = Array2::zeros((basis.len(), basis.len()));
    for held in holders.values() {
        for (k, a) in held {
            for (l, b) in held {
                normal[[*k, *l]] += a * b;
            }
        }
    }
    let mut right = Array2::zeros((basis.len(), tensors.len()));
    for (t, tensor) in tensors.iter().enumerate() {
        for (at, entry) in tensor.iter().enumerate() {
            for (exponents, value) in entry.terms() {
                let held = holders.get(&(at, exponents.as_slice()));
                for (k, a) in held.into_iter().flatten() {
                    right[[*k, t]] += a * value;
                }
            }
        }
    }
    linalg::solve(normal.view(), right.view())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same of a drift of its own.
    #[test]
    fn directions_of_a_drift_are_those_of_other_standardised_coordinates() {
        let names = ["x".to_owned(), "y".to_owned()];
        let scales = Standardiser::new(vec![1.0, 2.0], vec![0.5, 3.0]).unwrap();
        let basis = TensorBasis::generator(&names, &scales, 1, 3).unwrap();
        let coefficients =
            Array1::from_shape_fn(basis.len(), |k| ((k * 5 + 2) as f64 * 0.83).sin());
        let turn = directions(&basis, coefficients.view());
        let (m, r) = ([0.3e-4, -0.8e-4], [1.0 + 0.5e-4, 1.0 - 0.7e-4]);
        let by = ndarray::array![m[0], m[1], r[0] - 1.0, r[1] - 1.0];
        let changed = &coefficients + &turn.dot(&by);
        let other = [0.4, -1.1];
        let z = [m[0] + r[0] * other[0], m[1] + r[1] * other[1]];
        for i in 0..2 {
            let expected = basis.combine_drift(coefficients.view())[i].value(&z) / r[i];
            let found = basis.combine_drift(changed.view())[i].value(&other);
            assert!((found - expected).abs() < 1e-7, "{i}: {found} {expected}");
        }
    }

    /// The change of every coefficient beside that of the fields themselves, evaluated in other coordinates.
    #[test]
    fn directions_are_those_of_other_standardised_coordinates() {
        let names = ["x".to_owned(), "y".to_owned()];
        let scales = Standardiser::new(vec![1.0, 2.0], vec![0.5, 3.0]).unwrap();
        let basis = TensorBasis::polynomial(&names, &scales, 2, 3, None).unwrap();
        let coefficients =
            Array1::from_shape_fn(basis.len(), |k| ((k * 7 + 3) as f64 * 0.61).sin());
        let turn = directions(&basis, coefficients.view());
        let (m, r) = ([0.3e-4, -0.8e-4], [1.0 + 0.5e-4, 1.0 - 0.7e-4]);
        let by = ndarray::array![m[0], m[1], r[0] - 1.0, r[1] - 1.0];
        let changed = &coefficients + &turn.dot(&by);
        let value = |c: &Array1<f64>, at: usize, z: [f64; 2]| basis.combine(c.view())[at].value(&z);
        for other in [[0.4, -1.1], [-0.9, 0.7], [1.3, 0.2]] {
            let z = [m[0] + r[0] * other[0], m[1] + r[1] * other[1]];
            for at in 0..4 {
                let expected = value(&coefficients, at, z) / (r[at / 2] * r[at % 2]);
                let found = value(&changed, at, other);
                assert!((found - expected).abs() < 1e-7, "{at}: {found} {expected}");
            }
        }
    }
}
