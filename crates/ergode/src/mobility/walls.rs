//! Between walls: what M is at them.

use ndarray::{Array1, Axis};
use serde::{Deserialize, Serialize};

use super::Mobility;
use super::linear::LinearMobility;
use super::result::MobilityFit;
use crate::check::Lattices;
use crate::data::{Ensemble, Walls};
use crate::error::Result;
use crate::lagged::Jackknife;
use crate::linalg;

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
