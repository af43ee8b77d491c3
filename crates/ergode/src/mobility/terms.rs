//! Drift and diffusion as sums of terms in the record's own units.

use ndarray::{Array1, Array2};
use serde::{Deserialize, Serialize};

use super::basis::{TensorBasis, TensorField};
use super::config::MobilityConfig;
use super::equations::Equations;
use super::fit::{Solver, fit_mobility_from};
use super::restandardise::projected;
use super::result::MobilityFit;
use crate::control::Control;
use crate::data::Standardiser;
use crate::error::{Error, Result};
use crate::linalg;
use crate::observable::{Expressions, Functions, Monomials, Polynomial};
use crate::stats::normal_score;

/// The functions of the state that drift and diffusion are sums of; all monomials where they are not given.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TermLibrary {
    /// Of every component of the drift, such as `x^3` or `x*(1 - y)`.
    pub drift: Vec<String>,
    /// Of every entry of the diffusion.
    pub diffusion: Vec<String>,
}

impl TermLibrary {
    /// True where nothing is given.
    pub fn is_empty(&self) -> bool {
        self.drift.is_empty() && self.diffusion.is_empty()
    }
}

/// What a choice of terms did.
#[derive(Clone, Debug, PartialEq)]
pub struct TermChoice {
    /// The terms that stayed, such as `b[x] x^3`.
    pub kept: Vec<String>,
    /// Those that were dropped, the least significant first.
    pub dropped: Vec<String>,
    /// χ² per equation with all terms and with those that stayed.
    pub chi2: [f64; 2],
}

/// Part of the records in which a term that is not there may stay.
pub const FALSE_TERMS: f64 = 1e-3;

/// A function and what it is called.
type Named = (String, Polynomial);

/// The terms of a library, or all monomials up to a degree.
fn terms(texts: &[String], names: &[String], degree: usize, option: &str) -> Result<Vec<Named>> {
    if texts.is_empty() {
        let monomials = Monomials::new(names, 0..=degree)?;
        let exponents = monomials.exponents().into_iter();
        let terms = exponents.zip(monomials.labels());
        return Ok(terms
            .map(|(e, label)| (label.clone(), Polynomial::monomial(e, 1.0)))
            .collect());
    }
    let listed: Vec<&str> = texts.iter().map(String::as_str).collect();
    let read = Expressions::parse(&listed, names, &[])?.polynomials();
    let named = texts.iter().zip(read).map(|(text, polynomial)| {
        let polynomial = polynomial.ok_or_else(|| {
            Error::input(format!(
                "{option} contains `{text}`, which is not a polynomial of {}; only polynomials are supported",
                names.join(", ")
            ))
        })?;
        Ok((text.clone(), polynomial))
    });
    named.collect()
}

/// A polynomial of x = mean + scale z as one of z.
fn standardised(of: &Polynomial, by: &Standardiser) -> Polynomial {
    let dim = by.mean.len();
    let line = |i: usize| {
        let mut exponents = vec![0; dim];
        let mut line = Polynomial::monomial(exponents.clone(), by.mean[i]);
        exponents[i] = 1;
        line.add_scaled(by.scale[i], &Polynomial::monomial(exponents, 1.0));
        line
    };
    let lines: Vec<Polynomial> = (0..dim).map(line).collect();
    let mut out = Polynomial::default();
    for (exponents, c) in of.terms() {
        let mut product = Polynomial::monomial(vec![0; dim], 1.0);
        for (line, exponent) in lines.iter().zip(exponents) {
            product = (0..*exponent).fold(product, |p, _| p.product(line));
        }
        out.add_scaled(c, &product);
    }
    out
}

/// The span of drifts and diffusions with these terms: b_i/σ_i and D_ij/(σ_i σ_j) are sums of them.
///
/// Labels read `b[x] x^3` and `D[x,y] 1`, with functions of the state in the record's units.
///
/// # Errors
/// When a term is not a polynomial of the coordinates.
pub(super) fn basis_of_terms(
    names: &[String],
    standardiser: &Standardiser,
    library: &TermLibrary,
    degrees: (usize, usize),
) -> Result<TensorBasis> {
    let dim = names.len();
    let mut fields = Vec::new();
    for (label, raw) in terms(&library.diffusion, names, degrees.0, "diffusion.terms")? {
        let entry = standardised(&raw, standardiser);
        for i in 0..dim {
            for j in i..dim {
                let mut entries = vec![(i, j, entry.clone())];
                if i != j {
                    entries.push((j, i, entry.clone()));
                }
                let label = format!("D[{},{}] {label}", names[i], names[j]);
                fields.push(TensorField::tensor(label, entries));
            }
        }
    }
    for (label, raw) in terms(&library.drift, names, degrees.1, "drift.terms")? {
        let component = standardised(&raw, standardiser);
        for (i, name) in names.iter().enumerate() {
            fields.push(TensorField {
                label: format!("b[{name}] {label}"),
                entries: Vec::new(),
                drift: vec![(i, component.clone())],
            });
        }
    }
    Ok(TensorBasis::from_fields(names, standardiser, fields))
}

/// The degrees of D and b that the terms of a library reach.
pub(super) fn degrees_of(
    library: &TermLibrary,
    names: &[String],
    (d, b): (usize, usize),
) -> Result<(usize, usize)> {
    let degree = |texts: &[String], option: &str, otherwise: usize| -> Result<usize> {
        if texts.is_empty() {
            return Ok(otherwise);
        }
        let terms = terms(texts, names, 0, option)?;
        Ok(terms.iter().map(|(_, p)| p.degree()).max().unwrap_or(0))
    };
    Ok((
        degree(&library.diffusion, "diffusion.terms", d)?,
        degree(&library.drift, "drift.terms", b)?,
    ))
}

/// The coefficients of a fit in another basis of the same span.
pub(super) fn in_basis(fit: &MobilityFit, basis: &TensorBasis) -> Array1<f64> {
    let (of, coefficients) = (fit.mobility.basis(), fit.mobility.coefficients());
    let mut whole = of.combine(coefficients);
    whole.extend(of.combine_drift(coefficients));
    projected(basis, &[whole]).column(0).to_owned()
}

/// Drop the terms of drift and diffusion that the record does not support, and fit the others again.
///
/// The terms are left out one by one, the least significant first, until all others are significant. Near the fit
/// with all terms, ĉ with normal matrix H, the best fit with the terms S is ĉ_S = H_SS⁻¹ (H ĉ)_S, and its
/// deviations without each block follow from those of ĉ likewise; z_k is ĉ_k over their root sum of squares, as
/// a normal score. Of n terms one that gains less information than ln(n/p) goes: z_k² < 2 ln(n/p), with p the
/// part of the records in which one false term may stay (Gerardos and Ronceray's criterion, with errors from
/// blocks). Constants on the diagonal of D stay.
///
/// # Errors
/// When a fit fails, or the work is stopped.
pub(super) fn select_terms(
    start: Array1<f64>,
    equations: &dyn Fn(&TensorBasis) -> Result<Box<dyn Equations>>,
    basis: &TensorBasis,
    config: &MobilityConfig,
    control: &Control,
) -> Result<(MobilityFit, TermChoice)> {
    let config = &MobilityConfig {
        ridges: vec![0.0],
        ..config.clone()
    };
    let all = equations(basis)?;
    let full = fit_mobility_from(Some(start), &*all, config, control)?;
    let mut solver = Solver::new(&*all, config, control)?;
    let coefficients = full.mobility.coefficients().to_owned();
    solver.update_weights(coefficients.view())?;
    let (normal, step) = solver.quadratic(coefficients.view(), 0.0)?;
    let stays = basis.diagonal_constants();
    let evidence = Evidence {
        normal: &normal,
        coefficients: &coefficients + &step,
        deviations: &full.jackknife.deviations,
    };
    let (kept, dropped) = evidence.eliminate(&stays, FALSE_TERMS);
    let fields = kept.iter().map(|k| basis.fields()[*k].clone()).collect();
    let some = TensorBasis::from_fields(basis.names(), basis.standardiser(), fields);
    let from = evidence.within(&kept).0;
    let mut fit = fit_mobility_from(Some(from), &*equations(&some)?, config, control)?;
    fit.rungs = full.rungs;
    let labels: Vec<String> = basis.labels().map(str::to_owned).collect();
    let named = |places: &[usize]| places.iter().map(|k| labels[*k].clone()).collect();
    let choice = TermChoice {
        kept: named(&kept),
        dropped: named(&dropped),
        chi2: [full.chi2_per_equation, fit.chi2_per_equation],
    };
    Ok((fit, choice))
}

/// A fit with all terms, near which χ² is quadratic.
struct Evidence<'a> {
    normal: &'a Array2<f64>,
    coefficients: Array1<f64>,
    /// (block, coefficient)
    deviations: &'a Array2<f64>,
}

impl Evidence<'_> {
    /// The best coefficients with these terms only, and their deviations.
    fn within(&self, kept: &[usize]) -> (Array1<f64>, Array2<f64>) {
        let scale: Vec<f64> = kept
            .iter()
            .map(|k| self.normal[[*k, *k]].max(f64::MIN_POSITIVE).sqrt())
            .collect();
        let n = kept.len();
        let part = Array2::from_shape_fn((n, n), |(a, b)| {
            self.normal[[kept[a], kept[b]]] / (scale[a] * scale[b])
        });
        let inverse = linalg::pseudo_inverse(part.view(), 1e-13);
        let pulled = self.normal.dot(&self.coefficients);
        let pulls = self.deviations.dot(self.normal);
        let right: Array1<f64> = (0..n).map(|a| pulled[kept[a]] / scale[a]).collect();
        let rights =
            Array2::from_shape_fn((pulls.nrows(), n), |(b, a)| pulls[[b, kept[a]]] / scale[a]);
        let scales = Array1::from(scale);
        (
            inverse.dot(&right) / &scales,
            rights.dot(&inverse.t()) / &scales,
        )
    }

    /// The terms that stay, in order, and those that go, the first to go first.
    fn eliminate(&self, stays: &[usize], rate: f64) -> (Vec<usize>, Vec<usize>) {
        let count = self.coefficients.len();
        let least = (2.0 * (count as f64 / rate).ln()).sqrt();
        let freedom = (self.deviations.nrows().max(2) - 1) as f64;
        let (mut kept, mut dropped): (Vec<usize>, Vec<usize>) = ((0..count).collect(), Vec::new());
        loop {
            let (values, deviations) = self.within(&kept);
            let score = |a: usize| {
                let column = deviations.column(a);
                let error = column.dot(&column).sqrt();
                normal_score(values[a] / error.max(f64::MIN_POSITIVE), freedom).abs()
            };
            let candidates = (0..kept.len()).filter(|a| !stays.contains(&kept[*a]));
            let weakest = candidates.min_by(|a, b| score(*a).total_cmp(&score(*b)));
            match weakest.filter(|a| score(*a) < least) {
                Some(a) => dropped.push(kept.remove(a)),
                None => return (kept, dropped),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, Stream};

    /// A regression with correlated terms, blocks of equal noise: the true terms are found, in most of many
    /// records no other; without a penalty there are others.
    #[test]
    fn elimination_finds_the_true_terms() {
        let (terms, rows, blocks, records) = (12, 640, 32, 40);
        let truth = |k: usize| [0.5, -0.3, 0.2].get(k / 4).filter(|_| k % 4 == 1);
        let (mut wrong, mut careless) = (0, 0);
        for record in 0..records {
            let mut stream = Stream::new(11, Purpose::Analysis, record);
            let mut design = Array2::from_shape_fn((rows, terms), |_| stream.normal());
            for k in 1..terms {
                let before = design.column(k - 1).to_owned();
                design.column_mut(k).scaled_add(0.7, &before);
            }
            let signal = |row: ndarray::ArrayView1<f64>| -> f64 {
                let parts = row.iter().enumerate();
                parts.filter_map(|(k, x)| truth(k).map(|c| c * x)).sum()
            };
            let values: Array1<f64> = design
                .outer_iter()
                .map(|row| signal(row) + 0.5 * stream.normal())
                .collect();
            let normal = design.t().dot(&design);
            let inverse = linalg::inverse(normal.view());
            let coefficients = inverse.dot(&design.t().dot(&values));
            let residual = &values - &design.dot(&coefficients);
            let size = rows / blocks;
            let mut deviations = Array2::zeros((blocks, terms));
            for b in 0..blocks {
                let part = ndarray::s![b * size..(b + 1) * size, ..];
                let pull = design
                    .slice(part)
                    .t()
                    .dot(&residual.slice(ndarray::s![b * size..(b + 1) * size]));
                deviations.row_mut(b).assign(&inverse.dot(&pull));
            }
            let evidence = Evidence {
                normal: &normal,
                coefficients,
                deviations: &deviations,
            };
            wrong += usize::from(evidence.eliminate(&[], FALSE_TERMS).0 != [1, 5, 9]);
            careless += usize::from(evidence.eliminate(&[], 10.0).0 != [1, 5, 9]);
        }
        assert!(wrong <= 1, "{wrong}");
        assert!(careless > 20, "{careless}");
    }
}
