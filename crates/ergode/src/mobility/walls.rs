//! Between walls: what M is at them, and the drift that goes with it.

use std::sync::Arc;

use ndarray::{Array1, Array2, ArrayView1, Axis, concatenate, s};
use serde::{Deserialize, Serialize};

use super::Mobility;
use super::basis::{TensorBasis, TensorField};
use super::linear::LinearMobility;
use super::moments::PolynomialSums;
use super::result::MobilityFit;
use crate::check::Lattices;
use crate::data::{Ensemble, Standardiser, Walls};
use crate::error::Result;
use crate::lagged::{CoefficientErrors, Jackknife, deviations, paired};
use crate::linalg;
use crate::observable::{Functions, Moments, Monomials, Polynomial};

/// What a wall is to the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EdgeKind {
    /// The noise across it vanishes there.
    Natural,
    /// It does not: the process is reflected.
    Reflecting,
    /// The process is stopped there for a while: many samples are exactly at the wall, and the noise does not
    /// vanish.
    Sticky,
}

/// D_jj at a wall over its mean, up to which the noise vanishes there.
const VANISHES: f64 = 0.1;
/// Fraction of the samples that are exactly at a wall where the process sticks.
const STICKS: f64 = 2e-3;
/// Singular values below this part of the largest are rounding errors.
const SEEN: f64 = 1e-12;
/// Samples that the mean is over.
const SAMPLES: usize = 4096;

/// The kind of the lower and the upper wall of every coordinate, none where there is no wall. Values of a lattice are
/// at a wall without sticking to it.
pub fn edge_kinds(mobility: &dyn Mobility, ensemble: &Ensemble) -> Vec<[Option<EdgeKind>; 2]> {
    let dim = ensemble.dim();
    let states = ensemble.sample_tile(SAMPLES);
    let n = states.len() / dim;
    let mut tensors = vec![0.0; dim * states.len()];
    let lattices = Lattices::of(ensemble);
    let mut mean = |states: &[f64], j: usize| {
        mobility.diffusion(states, &mut tensors);
        tensors[(j * dim + j) * n..][..n].iter().sum::<f64>() / n as f64
    };
    let mut kind = |j: usize, wall: f64| {
        let mut moved = states.clone();
        moved[j * n..][..n].fill(wall);
        if mean(&moved, j) <= VANISHES * mean(&states, j) {
            return EdgeKind::Natural;
        }
        let there = states[j * n..][..n].iter().filter(|x| **x == wall).count();
        match there as f64 > STICKS * n as f64 && !lattices.has(j) {
            true => EdgeKind::Sticky,
            false => EdgeKind::Reflecting,
        }
    };
    (0..dim)
        .map(|j| ensemble.walls(j).map(|wall| wall.map(|wall| kind(j, wall))))
        .collect()
}

/// The walls at which the noise does not vanish.
pub(super) fn reflecting(mobility: &dyn Mobility, ensemble: &Ensemble) -> Vec<Walls> {
    let kinds = edge_kinds(mobility, ensemble);
    let of = |j: usize| {
        let [lower, upper] = ensemble.walls(j);
        let [below, above] = kinds[j];
        let kept = |wall: Option<f64>, kind| wall.filter(|_| kind != Some(EdgeKind::Natural));
        [kept(lower, below), kept(upper, above)]
    };
    (0..ensemble.dim()).map(of).collect()
}

/// Whether D is positive between the walls, but for what may be noise where it vanishes: with a twentieth of its
/// mean added to the diagonal, and but for one sample in two hundred.
pub(super) fn positive_between(mobility: &LinearMobility, ensemble: &Ensemble) -> Result<bool> {
    const PART: f64 = 0.05;
    const FEW: f64 = 0.005;
    let (basis, dim) = (mobility.basis(), mobility.dim());
    let states = ensemble.sample_tile(SAMPLES);
    let n = states.len() / dim;
    let mut tensors = vec![0.0; dim * states.len()];
    mobility.diffusion(&states, &mut tensors);
    let mut raised = mobility.coefficients().to_owned();
    for (i, k) in basis.diagonal_constants().into_iter().enumerate() {
        let mean = tensors[(i * dim + i) * n..][..n].iter().sum::<f64>() / n as f64;
        raised[k] += PART * mean / basis.standardiser().scale[i].powi(2);
    }
    let raised = LinearMobility::new(basis.clone(), raised)?;
    Ok(raised.psd_violation(ensemble) < FEW)
}

/// The fit of one coordinate with D exactly zero at the walls at which it vanishes within its errors.
///
/// Of all coefficients with A c = 0, A c being D at these walls, those are taken that are nearest to the fit in
/// units of its errors: c − S Aᵀ (A S Aᵀ)⁻¹ A c, S the covariance of the jackknife.
pub(super) fn vanishing(fit: MobilityFit, ensemble: &Ensemble) -> Result<MobilityFit> {
    /// Standard errors of zero.
    const WITHIN: f64 = 3.0;
    if ensemble.dim() != 1 || fit.jackknife.deviations.nrows() < 2 {
        return Ok(fit);
    }
    let kinds = edge_kinds(&fit.mobility, ensemble)[0];
    let zero = |wall: f64| {
        let error = fit.diffusion_error(&[wall])[[0, 0]];
        fit.mobility.at(&[wall])[0].abs() < WITHIN * error
    };
    let walls = ensemble.walls(0).into_iter().zip(kinds);
    let walls: Vec<f64> = walls
        .filter_map(|(wall, kind)| wall.filter(|_| kind == Some(EdgeKind::Natural)))
        .filter(|wall| zero(*wall))
        .collect();
    let degree = fit.mobility.basis().degree();
    if walls.is_empty() || walls.len() > degree {
        return Ok(fit);
    }
    let rows: Vec<Array1<f64>> = walls
        .iter()
        .map(|wall| fit.mobility.basis().design(&[*wall]).0.row(0).to_owned())
        .collect();
    let rows: Vec<_> = rows.iter().map(|row| row.view()).collect();
    let at = ndarray::stack(Axis(0), &rows).expect("one length");
    let covariance = fit.jackknife.covariance();
    let along = covariance.dot(&at.t());
    let gain = along.dot(&linalg::inverse(at.dot(&along).view()));
    let moved = |c: &Array1<f64>| c - &gain.dot(&at.dot(c));
    let coefficients = moved(&fit.mobility.coefficients().to_owned());
    let jackknife = Jackknife {
        values: moved(&fit.jackknife.values),
        deviations: &fit.jackknife.deviations
            - &fit.jackknife.deviations.dot(&at.t()).dot(&gain.t()),
    };
    with_coefficients(fit, coefficients, jackknife)
}

/// The fit with other coefficients of the same fields.
fn with_coefficients(
    fit: MobilityFit,
    coefficients: Array1<f64>,
    jackknife: Jackknife,
) -> Result<MobilityFit> {
    let errors = fit.mobility.errors().cloned();
    let errors = errors.map(|errors| errors.with_deviations(&jackknife.deviations));
    let mobility = LinearMobility::new(fit.mobility.basis().clone(), coefficients)?;
    Ok(MobilityFit {
        mobility: mobility.with_errors(errors),
        jackknife,
        ..fit
    })
}

/// The fit of M with the drift b of degree up to `top` beside it, from averages alone: no score is needed.
///
/// b = M s + ∇·M means ⟨f·b⟩ = −⟨M : ∇f⟩ for every field f that vanishes at the walls where M does not. With
/// b = Σ c_k g_k and f_k = w g_k, w the product of the distances from these walls,
///
/// ⟨w g_k·g_l⟩ c_l = −⟨M : ∇(w g_k)⟩,
///
/// which is the minimum of ⟨w |b|²⟩/2 + ⟨M : ∇(w b)⟩: the degree is that of least expected minimum on new data, between
/// walls the least degree that no higher one is surely better than on blocks held out: a high degree is free near a wall.
pub(super) fn with_drift(
    fit: MobilityFit,
    sums: &Arc<PolynomialSums>,
    ensemble: &Ensemble,
    top: usize,
) -> Result<MobilityFit> {
    let basis = fit.mobility.basis();
    if basis.has_drift() {
        return Ok(fit);
    }
    let weight = weight(&reflecting(&fit.mobility, ensemble), basis.standardiser());
    let moments = sums.config().moment_degree;
    let Some(free) = (moments + 1).checked_sub(weight.degree() + basis.degree()) else {
        return Ok(fit);
    };
    let top = top
        .min(moments.saturating_sub(weight.degree()) / 2)
        .min(free);
    let plan = Plan::new(basis, &weight, top)?;
    let all: Vec<usize> = (0..sums.blocks()).collect();
    let equations = |keep: &dyn Fn(usize) -> bool| {
        let blocks: Vec<usize> = all.iter().copied().filter(|b| keep(*b)).collect();
        plan.equations(&sums.expectations(&blocks).moments)
    };
    let mobility = fit.mobility.coefficients().to_owned();
    let whole = equations(&|_| true)?;
    let blocks = fit.jackknife.deviations.nrows();
    let known = blocks == sums.blocks() && blocks > 1;
    let factor = (blocks as f64 / (blocks as f64 - 1.0)).sqrt();
    let without = (0..if known { blocks } else { 0 }).map(|left_out| {
        let c = &mobility + &(&fit.jackknife.deviations.row(left_out) * factor);
        Ok((equations(&|b| b != left_out)?, c))
    });
    let without = without.collect::<Result<Vec<_>>>()?;
    let degrees = match known {
        true if ensemble.has_walls() => {
            Degrees::one(held_out(&plan, &equations, blocks, &mobility)?)
        }
        true => Degrees::likely(&plan, &whole, &without, &mobility),
        false => Degrees::one(plan.top().min(1)),
    };
    let degree = degrees.highest;
    let size = plan.functions(degree);
    let joined = |equations: &Sums, c: &Array1<f64>| -> Array1<f64> {
        concatenate![Axis(0), *c, degrees.drift(&plan, equations, c)]
    };
    if joined(&whole, &mobility).iter().any(|c| !c.is_finite()) {
        return Ok(fit);
    }
    let jackknife = if known {
        let without: Vec<_> = without.iter().map(|(sums, c)| joined(sums, c)).collect();
        Jackknife {
            values: joined(&whole, &fit.jackknife.values),
            deviations: deviations(&without),
        }
    } else {
        Jackknife {
            values: joined(&whole, &fit.jackknife.values),
            deviations: Array2::zeros((0, mobility.len() + size * basis.dim())),
        }
    };
    let drift = plan.basis(basis, degree)?;
    let of_drift = jackknife.errors().slice(s![mobility.len()..]).to_owned();
    let errors = concatenate![Axis(0), fit.errors, of_drift];
    let ids = sums.block_ids(&all);
    let named = CoefficientErrors::new(&ids, &jackknife.deviations);
    let with = LinearMobility::new(basis.with(&drift), joined(&whole, &mobility))?;
    Ok(MobilityFit {
        mobility: with.with_errors(named),
        jackknife,
        errors,
        ..fit
    })
}

/// w: the product of the distances from these walls, in standardised coordinates.
fn weight(walls: &[Walls], standardiser: &Standardiser) -> Polynomial {
    let dim = walls.len();
    let mut weight = Polynomial::monomial(vec![0; dim], 1.0);
    for (j, walls) in walls.iter().enumerate() {
        for (wall, sign) in walls.iter().zip([1.0, -1.0]) {
            let Some(wall) = wall else { continue };
            let place = (wall - standardiser.mean[j]) / standardiser.scale[j];
            let mut exponents = vec![0; dim];
            exponents[j] = 1;
            let mut distance = Polynomial::monomial(exponents, sign);
            distance.add_scaled(-sign * place, &Polynomial::monomial(vec![0; dim], 1.0));
            weight = weight.product(&distance);
        }
    }
    weight
}

/// The polynomials whose averages the drift needs.
struct Plan {
    dim: usize,
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
struct Sums {
    gram: Array2<f64>,
    images: Vec<Array2<f64>>,
}

impl Plan {
    fn new(basis: &TensorBasis, weight: &Polynomial, top: usize) -> Result<Self> {
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
    fn functions(&self, degree: usize) -> usize {
        let low = |e: &&Vec<u32>| e.iter().sum::<u32>() as usize <= degree;
        self.exponents.iter().take_while(low).count()
    }

    fn top(&self) -> usize {
        let last = self.exponents.last().map_or(0, |e| e.iter().sum::<u32>());
        last as usize
    }

    fn equations(&self, moments: &Moments) -> Result<Sums> {
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
    fn basis(&self, tensors: &TensorBasis, degree: usize) -> Result<TensorBasis> {
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
    fn drift(&self, size: usize, mobility: &Array1<f64>) -> Array1<f64> {
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
    fn loss(&self, size: usize, drift: &Array1<f64>, mobility: &Array1<f64>) -> f64 {
        let dim = self.images.len();
        let of = |(i, images): (usize, &Array2<f64>)| {
            let c: Array1<f64> = drift.iter().skip(i).step_by(dim).copied().collect();
            c.dot(&images.slice(s![..size, ..]).dot(mobility))
        };
        let sides: f64 = self.images.iter().enumerate().map(of).sum();
        0.5 * self.square(size, drift.view()) + sides
    }

    /// ⟨w |b|²⟩.
    fn square(&self, size: usize, drift: ArrayView1<f64>) -> f64 {
        let gram = self.gram.slice(s![..size, ..size]);
        let dim = self.images.len();
        let of = |i: usize| {
            let c = drift.slice(s![i..;dim]);
            c.dot(&gram.dot(&c))
        };
        (0..dim).map(of).sum()
    }
}

/// The averages over the blocks that a function keeps.
type OfBlocks<'a> = dyn Fn(&dyn Fn(usize) -> bool) -> Result<Sums> + 'a;

/// The least degree that no higher one is better than on blocks held out.
fn held_out(
    plan: &Plan,
    equations: &OfBlocks<'_>,
    blocks: usize,
    mobility: &Array1<f64>,
) -> Result<usize> {
    const FOLDS: usize = 8;
    /// Standard errors by which the loss must fall.
    const CAUTION: f64 = 2.0;
    let folds = FOLDS.min(blocks);
    let mut parts = Vec::new();
    for fold in 0..folds {
        let train = equations(&|b| b % folds != fold)?;
        parts.push((train, equations(&|b| b % folds == fold)?));
    }
    let losses = |degree: usize| -> Vec<f64> {
        let size = plan.functions(degree);
        let of =
            |(train, test): &(Sums, Sums)| test.loss(size, &train.drift(size, mobility), mobility);
        parts.iter().map(of).collect()
    };
    let mut best = (plan.top().min(1), losses(plan.top().min(1)));
    for degree in 2..=plan.top() {
        let tried = losses(degree);
        let (gain, error) = paired(&best.1, &tried);
        if gain > CAUTION * error {
            best = (degree, tried);
        }
    }
    Ok(best.0)
}

/// Degrees of a drift between which the record hardly decides. Their drifts are averaged, so that it does not matter
/// which degree is best by a hair, and the errors of the average, whose weights are found again without every
/// block, contain that choice.
///
/// The best degree has the least risk: ⟨w |b|²⟩/2 + ⟨M : ∇(w b)⟩ on new data, estimated by that of these data plus a
/// multiple of the variance of b over the blocks, ⟨w |δb|²⟩, that of M included.
struct Degrees {
    lowest: usize,
    highest: usize,
    /// The part of the variance that is added, for each degree.
    penalties: Vec<f64>,
    /// Standard errors of the differences from the least risk.
    errors: Vec<f64>,
}

impl Degrees {
    fn one(degree: usize) -> Self {
        Self {
            lowest: degree,
            highest: degree,
            penalties: vec![0.0],
            errors: vec![0.0],
        }
    }

    fn likely(
        plan: &Plan,
        whole: &Sums,
        without: &[(Sums, Array1<f64>)],
        mobility: &Array1<f64>,
    ) -> Self {
        /// The plain sum takes a degree by chance once in a few records.
        const CAUTION: f64 = 2.0;
        let variance = |degree: usize| -> f64 {
            let size = plan.functions(degree);
            let refits: Vec<Array1<f64>> = without
                .iter()
                .map(|(sums, mobility)| sums.drift(size, mobility))
                .collect();
            let spread = deviations(&refits);
            let of = |row| whole.square(size, row);
            spread.rows().into_iter().map(of).sum()
        };
        let least = plan.top().min(1);
        let all = Self {
            lowest: least,
            highest: plan.top(),
            penalties: (least..=plan.top())
                .map(|degree| CAUTION * variance(degree))
                .collect(),
            errors: Vec::new(),
        };
        let risks = all.risks(plan, whole, mobility);
        let finite = (0..risks.len()).filter(|k| risks[*k].is_finite());
        let Some(best) = finite.min_by(|a, b| risks[*a].total_cmp(&risks[*b])) else {
            return Self::one(least);
        };
        let differences: Vec<Array1<f64>> = without
            .iter()
            .map(|(sums, mobility)| {
                let risks = all.risks(plan, sums, mobility);
                risks.iter().map(|risk| risk - risks[best]).collect()
            })
            .collect();
        let error = |column: ArrayView1<f64>| column.dot(&column).sqrt();
        let errors = deviations(&differences).map_axis(Axis(0), error).to_vec();
        let weights = weights(&risks, &errors);
        let taken = |k: &usize| weights[*k] > 0.0;
        let lowest = (0..risks.len()).find(taken).unwrap_or(best);
        let highest = (0..risks.len()).rfind(taken).unwrap_or(best);
        Self {
            lowest: least + lowest,
            highest: least + highest,
            penalties: all.penalties[lowest..=highest].to_vec(),
            errors: errors[lowest..=highest].to_vec(),
        }
    }

    fn risks(&self, plan: &Plan, equations: &Sums, mobility: &Array1<f64>) -> Vec<f64> {
        let of = |(degree, penalty): (usize, &f64)| {
            let size = plan.functions(degree);
            let drift = equations.drift(size, mobility);
            equations.loss(size, &drift, mobility) + penalty
        };
        (self.lowest..).zip(&self.penalties).map(of).collect()
    }

    /// The averaged drift, in the functions of the highest degree, (function, coordinate) flat.
    fn drift(&self, plan: &Plan, equations: &Sums, mobility: &Array1<f64>) -> Array1<f64> {
        let size = plan.functions(self.highest);
        if self.lowest == self.highest {
            return equations.drift(size, mobility);
        }
        let weights = weights(&self.risks(plan, equations, mobility), &self.errors);
        let mut mean = Array1::zeros(size * plan.dim);
        for (degree, weight) in (self.lowest..).zip(weights) {
            let drift = equations.drift(plan.functions(degree), mobility);
            mean.slice_mut(s![..drift.len()]).scaled_add(weight, &drift);
        }
        mean
    }
}

/// Weights that add up to one: exp(−z²/2), z being how many standard errors a risk is above the least one, less a
/// part up to which a degree does not count.
fn weights(risks: &[f64], errors: &[f64]) -> Vec<f64> {
    /// A needless coefficient of one coordinate has about this weight.
    const UNLIKELY: f64 = 0.3;
    let least = risks.iter().copied().fold(f64::INFINITY, f64::min);
    let of = |(risk, error): (&f64, &f64)| {
        if *risk <= least {
            return 1.0 - UNLIKELY;
        }
        let z = (risk - least) / error;
        // f64::max takes the number where the other is none.
        ((-0.5 * z * z).exp() - UNLIKELY).max(0.0)
    };
    let weights: Vec<f64> = risks.iter().zip(errors).map(of).collect();
    let sum: f64 = weights.iter().sum();
    weights.iter().map(|w| w / sum).collect()
}
