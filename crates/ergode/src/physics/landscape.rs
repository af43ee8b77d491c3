//! Potential, density and current of a model.

use crate::error::{Error, Result};
use crate::model::LangevinModel;
use crate::observable::{Functions, Polynomials};
use crate::quadrature::gauss_legendre;

/// U = −ln p, in units of k_B T, with p, current and their path dependence.
///
/// A score in closed form is the gradient of a polynomial, and U is that polynomial. Any other score is integrated
/// along straight lines, U(x) = −∫ s · dx from a sample near the mean; how far this depends on the path says
/// [`Landscape::path_difference`]. Outside the samples, with c the nearest state among them, d the distance in
/// standardised coordinates and n its direction, the score that pulls back gives U(x) = U(c) + d max(0, −s(c)·n) +
/// d²/2. In one and two coordinates p is normalised by quadrature.
pub struct Landscape<'a> {
    model: &'a LangevinModel,
    polynomial: Option<Polynomials>,
    centre: Vec<f64>,
    /// ln ∫ exp(−U), where it is known.
    ln_norm: Option<f64>,
}

/// How far beyond the support, in standard deviations, densities are integrated.
const MARGIN: f64 = 3.0;

/// Nodes of the quadrature along an axis, by number of coordinates.
const NODES: [usize; 2] = [4000, 240];

/// Panels and nodes of the integral along a line.
const PANELS: usize = 6;
const ORDER: usize = 6;

/// States that are integrated together.
const TILE: usize = 256;

impl<'a> Landscape<'a> {
    /// The landscape of a model.
    ///
    /// # Errors
    /// When the density cannot be normalised.
    pub fn new(model: &'a LangevinModel) -> Result<Self> {
        let mut landscape = Self::up_to_a_constant(model);
        if let 1..=2 = model.dim() {
            let ln_norm = landscape.integral();
            if !ln_norm.is_finite() {
                return Err(Error::numerical(
                    "the density of the model cannot be normalised; check the certificate of its score",
                ));
            }
            landscape.ln_norm = Some(ln_norm);
        }
        Ok(landscape)
    }

    /// The landscape of a model without the normalisation of its density.
    pub(super) fn up_to_a_constant(model: &'a LangevinModel) -> Self {
        Self {
            polynomial: model.ln_density_polynomial(),
            centre: central(model),
            model,
            ln_norm: None,
        }
    }

    /// True where the potential is that of a normalised density.
    pub fn is_normalised(&self) -> bool {
        self.ln_norm.is_some()
    }

    /// U = −ln p on a tile of raw states, (D, n), to (n); in more than two coordinates up to a constant.
    pub fn potential(&self, x: &[f64], out: &mut [f64]) {
        self.relative(x, out);
        let shift = self.ln_norm.unwrap_or(0.0);
        out.iter_mut().for_each(|u| *u += shift);
    }

    /// p on a tile of raw states, per unit volume of the record's units.
    ///
    /// # Errors
    /// In more than two coordinates, where p is not normalised.
    pub fn density(&self, x: &[f64], out: &mut [f64]) -> Result<()> {
        if self.ln_norm.is_none() {
            return Err(Error::input(format!(
                "the density is normalised in one and two coordinates, and the model has {}; use the potential, \
                 which is known up to a constant",
                self.model.dim()
            )));
        }
        self.potential(x, out);
        out.iter_mut().for_each(|u| *u = (-*u).exp());
        Ok(())
    }

    /// The irreversible velocity v = b − D s − ∇·D on a tile, (D, n); with M it is R s + ∇·R. On a line it is zero:
    /// nothing can flow along it for ever.
    pub fn velocity(&self, x: &[f64], out: &mut [f64]) {
        let dim = self.model.dim();
        if dim == 1 && !self.model.space().has_circles() {
            return out.fill(0.0);
        }
        let n = x.len() / dim.max(1);
        let [mut score, mut along, mut across] = [(); 3].map(|()| vec![0.0; x.len()]);
        let mut diffusion = vec![0.0; dim * x.len()];
        let mobility = self.model.mobility();
        self.model.drift(x, out);
        self.model.score().score(x, &mut score);
        self.model.diffusion(x, &mut diffusion);
        mobility.div_mobility(x, &mut along);
        mobility.div_transpose(x, &mut across);
        for i in 0..dim {
            for s in 0..n {
                let pushed = (0..dim).map(|j| diffusion[(i * dim + j) * n + s] * score[j * n + s]);
                out[i * n + s] -=
                    pushed.sum::<f64>() + 0.5 * (along[i * n + s] + across[i * n + s]);
            }
        }
    }

    /// The probability current J = p v on a tile, (D, n).
    ///
    /// # Errors
    /// As for [`Landscape::density`].
    pub fn current(&self, x: &[f64], out: &mut [f64]) -> Result<()> {
        let n = x.len() / self.model.dim();
        let mut density = vec![0.0; n];
        self.density(x, &mut density)?;
        self.velocity(x, out);
        for row in out.chunks_exact_mut(n.max(1)) {
            row.iter_mut().zip(&density).for_each(|(v, p)| *v *= p);
        }
        Ok(())
    }

    /// |U along the straight line − U along the axes, one after the other| on a tile; zero for a score that is a
    /// gradient.
    pub fn path_difference(&self, x: &[f64], out: &mut [f64]) {
        let (dim, n) = (self.model.dim(), out.len());
        if self.polynomial.is_some() || dim == 1 {
            return out.fill(0.0);
        }
        let (placed, _) = self.placed(x);
        self.along_line(&self.repeated(n), &placed, out);
        let mut corner = self.repeated(n);
        let mut part = vec![0.0; n];
        for i in 0..dim {
            let start = corner.clone();
            corner[i * n..][..n].copy_from_slice(&placed[i * n..][..n]);
            self.along_line(&start, &corner, &mut part);
            out.iter_mut().zip(&part).for_each(|(u, step)| *u -= step);
        }
        out.iter_mut().for_each(|u| *u = u.abs());
    }

    /// U up to a constant.
    pub(super) fn relative(&self, x: &[f64], out: &mut [f64]) {
        let (dim, n) = (self.model.dim(), out.len());
        let (placed, outside) = self.placed(x);
        match &self.polynomial {
            Some(polynomial) => {
                polynomial.values(&placed, out);
                out.iter_mut().for_each(|u| *u = -*u);
            }
            None => self.along_line(&self.repeated(n), &placed, out),
        }
        let scale = &self.model.confinement().standardiser().scale;
        for s in outside {
            let state: Vec<f64> = (0..dim).map(|i| placed[i * n + s]).collect();
            let mut score = vec![0.0; dim];
            self.model.score().score(&state, &mut score);
            // In standardised coordinates the score is σ s.
            let away = (0..dim).map(|i| (x[i * n + s] - placed[i * n + s]) / scale[i]);
            let away: Vec<f64> = away.collect();
            let square: f64 = away.iter().map(|d| d * d).sum();
            let outward: f64 = (0..dim).map(|i| score[i] * scale[i] * away[i]).sum();
            out[s] += (-outward).max(0.0) + 0.5 * square;
        }
    }

    /// Raw states moved into the support, and which were outside.
    fn placed(&self, x: &[f64]) -> (Vec<f64>, Vec<usize>) {
        let confinement = self.model.confinement();
        let (mut placed, outside) = confinement.place(x);
        let n = x.len() / self.model.dim();
        let standardiser = confinement.standardiser();
        for (i, row) in placed.chunks_exact_mut(n.max(1)).enumerate() {
            let (mean, scale) = (standardiser.mean[i], standardiser.scale[i]);
            row.iter_mut().for_each(|z| *z = mean + scale * *z);
        }
        (placed, outside)
    }

    fn repeated(&self, n: usize) -> Vec<f64> {
        let rows = self.centre.iter();
        rows.flat_map(|centre| std::iter::repeat_n(*centre, n))
            .collect()
    }

    /// −∫ s · dx along straight lines from the states of one tile to those of another.
    fn along_line(&self, from: &[f64], to: &[f64], out: &mut [f64]) {
        let (dim, n) = (self.model.dim(), out.len());
        let nodes: Vec<(f64, f64)> = (0..PANELS)
            .flat_map(|k| {
                let edge = |k: usize| k as f64 / PANELS as f64;
                gauss_legendre(ORDER, edge(k), edge(k + 1))
            })
            .collect();
        for first in (0..n).step_by(TILE) {
            let count = TILE.min(n - first);
            let width = count * nodes.len();
            let (mut states, mut score) = (vec![0.0; dim * width], vec![0.0; dim * width]);
            for i in 0..dim {
                for s in 0..count {
                    let (a, b) = (from[i * n + first + s], to[i * n + first + s]);
                    for (k, (u, _)) in nodes.iter().enumerate() {
                        states[i * width + s * nodes.len() + k] = a + u * (b - a);
                    }
                }
            }
            self.model.score().score(&states, &mut score);
            for s in 0..count {
                let mut sum = 0.0;
                for i in 0..dim {
                    let step = to[i * n + first + s] - from[i * n + first + s];
                    let row = &score[i * width + s * nodes.len()..][..nodes.len()];
                    let mean: f64 = row.iter().zip(&nodes).map(|(v, (_, w))| v * w).sum();
                    sum -= step * mean;
                }
                out[first + s] = sum;
            }
        }
    }

    /// ln ∫ exp(−U) by the trapezoid rule over the support and a margin.
    fn integral(&self) -> f64 {
        let dim = self.model.dim();
        let axes = axes(self.model, MARGIN, NODES[dim - 1]);
        let x = tile_of(&axes);
        let n = x.len() / dim;
        let mut u = vec![0.0; n];
        self.relative(&x, &mut u);
        let least = u.iter().fold(f64::INFINITY, |m, u| m.min(*u));
        let volume: f64 = axes.iter().map(|axis| axis[1] - axis[0]).product();
        // The integrand vanishes at the ends.
        let sum: f64 = u.iter().map(|u| (least - u).exp()).sum();
        (sum * volume).ln() - least
    }
}

/// The start state nearest to the mean.
fn central(model: &LangevinModel) -> Vec<f64> {
    let (standardiser, starts) = (model.confinement().standardiser(), model.starts());
    let distance = |k: &usize| -> f64 {
        let row = starts.row(*k);
        let parts = row.iter().zip(&standardiser.mean).zip(&standardiser.scale);
        parts
            .map(|((x, mean), scale)| ((x - mean) / scale).powi(2))
            .sum()
    };
    let nearest = (0..starts.nrows()).min_by(|a, b| distance(a).total_cmp(&distance(b)));
    starts
        .row(nearest.expect("a model has start states"))
        .to_vec()
}

/// Evenly spaced nodes along each axis, over the support and a margin in standard deviations, in raw coordinates.
pub(super) fn axes(model: &LangevinModel, margin: f64, nodes: usize) -> Vec<Vec<f64>> {
    let confinement = model.confinement();
    let (low, high) = confinement.support().bounds();
    let standardiser = confinement.standardiser();
    let axis = |i: usize| {
        let (low, high) = (low[i] - margin, high[i] + margin);
        let node = |k: usize| low + (high - low) * k as f64 / (nodes - 1) as f64;
        let raw = |z: f64| standardiser.mean[i] + standardiser.scale[i] * z;
        (0..nodes).map(|k| raw(node(k))).collect()
    };
    (0..model.dim()).map(axis).collect()
}

/// The nodes of a rectangular grid as a tile, the last axis fastest.
pub(super) fn tile_of(axes: &[Vec<f64>]) -> Vec<f64> {
    let n: usize = axes.iter().map(Vec::len).product();
    let mut tile = Vec::with_capacity(n * axes.len());
    let mut inner = n;
    for axis in axes {
        inner /= axis.len();
        tile.extend((0..n).map(|k| axis[k / inner % axis.len()]));
    }
    tile
}
