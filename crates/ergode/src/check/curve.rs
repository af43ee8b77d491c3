//! Samples on a curve or a surface: polynomials that vanish there.

use ndarray::{Array1, Array2};

use super::excerpt::Excerpt;
use super::report::Curve;
use crate::error::Result;
use crate::finding::{Finding, FindingKind, Severity};
use crate::linalg;

/// Monomials up to which a degree is tried, and rows for each.
const MONOMIALS: usize = 100;
const ROWS: usize = 20_000;
const ROWS_EACH: usize = 5;
/// Degrees, and the smallest eigenvalue below which a polynomial of this degree vanishes.
const DEGREES: [(usize, f64); 2] = [(2, 1e-6), (3, 1e-8)];
/// Coefficients above this, relative to the largest, name the coordinates.
const INVOLVED: f64 = 0.05;

/// The polynomial of the lowest degree that vanishes at the samples, of coordinates that are linearly
/// independent.
///
/// With φ the monomials of the standardised coordinates, each divided by its root mean square, the smallest
/// eigenvalue of ⟨φ φᵀ⟩ is the mean square of a polynomial with coefficients of norm 1.
pub(super) fn find(
    excerpt: &Excerpt,
    coordinates: &[usize],
    findings: &mut Vec<Finding>,
) -> Result<Option<Curve>> {
    let dim = coordinates.len();
    if dim < 2 {
        return Ok(None);
    }
    let places = excerpt.places(0, 0, ROWS);
    for (degree, least) in DEGREES {
        let exponents = exponents(dim, degree);
        if exponents.len() > MONOMIALS || places.len() < ROWS_EACH * exponents.len() {
            break;
        }
        let mut values = Array2::zeros((places.len(), exponents.len()));
        for (row, &t) in places.iter().enumerate() {
            for (column, factors) in exponents.iter().enumerate() {
                let factor = |i: &usize| excerpt.unit(coordinates[*i], t);
                values[[row, column]] = factors.iter().map(factor).product::<f64>();
            }
        }
        let size: Array1<f64> = values
            .columns()
            .into_iter()
            .map(|c| c.dot(&c).sqrt())
            .collect();
        if size.iter().any(|s| !(s.is_finite() && *s > 0.0)) {
            return Ok(None);
        }
        values /= &size;
        let (eigenvalues, vectors) = linalg::symmetric_eigen(values.t().dot(&values).view())?;
        if eigenvalues[0] >= least {
            continue;
        }
        let names = involved(&vectors.column(0).to_vec(), &exponents, dim);
        let names: Vec<String> = names
            .iter()
            .map(|&i| excerpt.names[coordinates[i]].clone())
            .collect();
        let curve = Curve {
            coordinates: names,
            degree,
            eigenvalue: eigenvalues[0].max(0.0),
        };
        findings.push(report(&curve));
        return Ok(Some(curve));
    }
    Ok(None)
}

fn report(curve: &Curve) -> Finding {
    let names: Vec<String> = curve.coordinates.iter().map(|n| format!("'{n}'")).collect();
    Finding::new(
        FindingKind::Curve,
        Severity::Warn,
        format!(
            "all samples lie on a curve or surface: a polynomial of degree {} in {} vanishes there (mean square {:.0e})",
            curve.degree,
            names.join(", "),
            curve.eigenvalue
        ),
        "polynomials of the coordinates are dependent: leave a coordinate out (--columns), or give coordinates on \
         the curve, such as the angle of a point on a circle",
    )
}

/// The coordinates of the monomials with large coefficients.
fn involved(coefficients: &[f64], exponents: &[Vec<usize>], dim: usize) -> Vec<usize> {
    let largest = coefficients.iter().fold(0.0f64, |m, c| m.max(c.abs()));
    let large = |i: usize| {
        let mut both = coefficients.iter().zip(exponents);
        both.any(|(c, factors)| c.abs() > INVOLVED * largest && factors.contains(&i))
    };
    (0..dim).filter(|i| large(*i)).collect()
}

/// The monomials up to a degree, as lists of factors.
fn exponents(dim: usize, degree: usize) -> Vec<Vec<usize>> {
    let mut all: Vec<Vec<usize>> = vec![Vec::new()];
    let mut last = all.clone();
    for _ in 0..degree {
        let mut next = Vec::new();
        for factors in &last {
            for i in factors.last().copied().unwrap_or(0)..dim {
                let mut longer = factors.clone();
                longer.push(i);
                next.push(longer);
            }
            if all.len() + next.len() > MONOMIALS {
                break;
            }
        }
        all.extend(next.iter().cloned());
        last = next;
    }
    all
}
