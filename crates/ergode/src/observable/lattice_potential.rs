//! Translation-invariant potentials on a ring.

use serde::{Deserialize, Serialize};

use super::{Functions, Library, Monomials, check_derivatives, derivative_tile_width, tile_width};
use crate::error::{Error, Result};

/// Σ_i φ(m_i) for onsite monomials φ, and Σ_i m_ic m_{i+d,c} for couplings to chosen neighbours.
///
/// The state is site-major, (site, component), on a ring. With onsite terms of degree 2 and 4 and
/// the first neighbour this span holds the paper's four-term spin score
/// (`eq:soft_spin_phys_score_ansatz_results`).
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "Stored", into = "Stored")]
pub struct LatticePotential {
    sites: usize,
    onsite: Monomials,
    distances: Vec<usize>,
    labels: Vec<String>,
}

/// The form of a potential in a file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    sites: usize,
    onsite: Monomials,
    distances: Vec<usize>,
}

impl From<LatticePotential> for Stored {
    fn from(potential: LatticePotential) -> Self {
        Self {
            sites: potential.sites,
            onsite: potential.onsite,
            distances: potential.distances,
        }
    }
}

impl TryFrom<Stored> for LatticePotential {
    type Error = Error;

    fn try_from(stored: Stored) -> Result<Self> {
        Self::new(stored.sites, stored.onsite, &stored.distances)
    }
}

impl LatticePotential {
    /// `onsite` acts on the components of one site; `distances` are the neighbours coupled to it.
    ///
    /// # Errors
    /// When a distance does not exist on the ring, or there are too many functions.
    pub fn new(sites: usize, onsite: Monomials, distances: &[usize]) -> Result<Self> {
        if let Some(d) = distances
            .iter()
            .find(|d| **d == 0 || 2 * **d >= sites.max(1))
        {
            return Err(Error::input(format!(
                "a coupling over {d} sites repeats itself on a ring of {sites}; distances must be \
                 at least 1 and less than half the ring"
            )));
        }
        let mut labels: Vec<String> = onsite.labels().iter().map(|l| format!("sum {l}")).collect();
        for d in distances {
            for c in 0..onsite.dim() {
                labels.push(format!("sum m[i].{c} m[i+{d}].{c}"));
            }
        }
        Ok(Self {
            sites,
            onsite,
            distances: distances.to_vec(),
            labels,
        })
    }

    fn components(&self) -> usize {
        self.onsite.dim()
    }

    /// (function, component, distance) of every coupling.
    fn couplings(&self) -> impl Iterator<Item = (usize, usize, usize)> {
        let (first, components) = (self.onsite.len(), self.components());
        self.distances.iter().enumerate().flat_map(move |(k, &d)| {
            (0..components).map(move |c| (first + k * components + c, c, d))
        })
    }
}

impl Functions for LatticePotential {
    fn dim(&self) -> usize {
        self.sites * self.components()
    }
    fn labels(&self) -> &[String] {
        &self.labels
    }
    fn values(&self, x: &[f64], out: &mut [f64]) {
        let n = tile_width(self, x, out);
        if n == 0 {
            return;
        }
        let (components, onsite) = (self.components(), self.onsite.len());
        out.fill(0.0);
        let mut local = vec![0.0; onsite * n];
        for site in x.chunks_exact(components * n) {
            self.onsite.values(site, &mut local);
            for (sum, value) in out.iter_mut().zip(&local) {
                *sum += value;
            }
        }
        for (k, c, d) in self.couplings() {
            for site in 0..self.sites {
                let a = (site * components + c) * n;
                let b = ((site + d) % self.sites * components + c) * n;
                for s in 0..n {
                    out[k * n + s] += x[a + s] * x[b + s];
                }
            }
        }
    }
}

impl Library for LatticePotential {
    fn gradients(&self, x: &[f64], out: &mut [f64]) {
        check_derivatives(self, x, out, 1);
        let (components, dim) = (self.components(), self.dim());
        let mut local = vec![0.0; self.onsite.len() * components];
        for (site, m) in x.chunks_exact(components).enumerate() {
            self.onsite.gradients(m, &mut local);
            for (k, gradient) in local.chunks_exact(components).enumerate() {
                let at = k * dim + site * components;
                out[at..at + components].copy_from_slice(gradient);
            }
        }
        for (k, c, d) in self.couplings() {
            out[k * dim..(k + 1) * dim].fill(0.0);
            for site in 0..self.sites {
                let after = (site + d) % self.sites * components + c;
                let before = (site + self.sites - d) % self.sites * components + c;
                out[k * dim + site * components + c] = x[after] + x[before];
            }
        }
    }

    fn hessians(&self, x: &[f64], out: &mut [f64]) {
        check_derivatives(self, x, out, 2);
        let (components, dim) = (self.components(), self.dim());
        out.fill(0.0);
        let mut local = vec![0.0; self.onsite.len() * components * components];
        for (site, m) in x.chunks_exact(components).enumerate() {
            self.onsite.hessians(m, &mut local);
            for (k, hessian) in local.chunks_exact(components * components).enumerate() {
                for (i, row) in hessian.chunks_exact(components).enumerate() {
                    let at = (k * dim + site * components + i) * dim + site * components;
                    out[at..at + components].copy_from_slice(row);
                }
            }
        }
        for (k, c, d) in self.couplings() {
            for site in 0..self.sites {
                let (a, b) = (
                    site * components + c,
                    (site + d) % self.sites * components + c,
                );
                out[(k * dim + a) * dim + b] += 1.0;
                out[(k * dim + b) * dim + a] += 1.0;
            }
        }
    }

    fn laplacians(&self, x: &[f64], out: &mut [f64]) {
        let onsite = self.onsite.len();
        out.fill(0.0);
        let mut local = vec![0.0; onsite];
        for m in x.chunks_exact(self.components()) {
            self.onsite.laplacians(m, &mut local);
            for (sum, value) in out.iter_mut().zip(&local) {
                *sum += value;
            }
        }
    }

    fn gradient_tile(&self, x: &[f64], out: &mut [f64]) {
        let (components, dim) = (self.components(), self.dim());
        let n = derivative_tile_width(self, x, out, dim);
        if n == 0 {
            return;
        }
        let block = components * n;
        let mut local = vec![0.0; self.onsite.len() * block];
        for (site, m) in x.chunks_exact(block).enumerate() {
            self.onsite.gradient_tile(m, &mut local);
            for (k, gradient) in local.chunks_exact(block).enumerate() {
                let at = k * dim * n + site * block;
                out[at..at + block].copy_from_slice(gradient);
            }
        }
        for (k, c, d) in self.couplings() {
            let out = &mut out[k * dim * n..(k + 1) * dim * n];
            out.fill(0.0);
            for (site, out) in out.chunks_exact_mut(block).enumerate() {
                let row = |site: usize| {
                    let start = (site % self.sites * components + c) * n;
                    &x[start..start + n]
                };
                let around = row(site + d).iter().zip(row(site + self.sites - d));
                for (out, (after, before)) in out[c * n..(c + 1) * n].iter_mut().zip(around) {
                    *out = after + before;
                }
            }
        }
    }

    fn laplacian_tile(&self, x: &[f64], weights: &[f64], out: &mut [f64]) {
        let n = derivative_tile_width(self, x, out, 1);
        if n == 0 {
            return;
        }
        out.fill(0.0);
        let mut local = vec![0.0; self.onsite.len() * n];
        let components = self.components();
        let sites = x.chunks_exact(components * n);
        for (m, weights) in sites.zip(weights.chunks_exact(components)) {
            self.onsite.laplacian_tile(m, weights, &mut local);
            for (sum, value) in out.iter_mut().zip(&local) {
                *sum += value;
            }
        }
    }
}
