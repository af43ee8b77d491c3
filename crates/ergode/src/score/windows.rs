//! Inputs of a network on a state, and the score assembled from its outputs.

use serde::{Deserialize, Serialize};

use super::Confinement;
use crate::data::{Ensemble, Standardiser, Support};
use crate::error::{Error, Result};
use crate::nn::Mlp;

/// Whether one network sees the whole state or the same network sits at every site of a lattice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Layout {
    /// One network for all coordinates.
    #[default]
    Whole,
    /// A periodic chain of sites, coordinates ordered site by site: at every site the same network
    /// sees the site, its neighbours and the local squared amplitude |m_i|².
    Lattice {
        /// Number of sites.
        sites: usize,
        /// Neighbours seen on each side.
        reach: usize,
    },
}

impl Layout {
    /// Components per site: D / N.
    fn components(self, dim: usize) -> Result<usize> {
        match self {
            Self::Whole => Ok(dim),
            Self::Lattice { sites, reach } => {
                if sites == 0 || !dim.is_multiple_of(sites) || 2 * reach >= sites {
                    return Err(Error::input(format!(
                        "{dim} coordinates cannot be a chain of {sites} sites with windows that \
                         reach {reach} neighbours each way; the windows must fit into the chain"
                    )));
                }
                Ok(dim / sites)
            }
        }
    }

    /// Means and scales of the coordinates, the same at every site.
    pub(crate) fn standardiser(self, ensemble: &Ensemble) -> Result<Standardiser> {
        let components = self.components(ensemble.dim())?;
        let each = Standardiser::from_ensemble(ensemble)?;
        let dim = ensemble.dim();
        let sites = (dim / components) as f64;
        let over_sites = |values: &dyn Fn(usize) -> f64, a: usize| {
            (a..dim).step_by(components).map(values).sum::<f64>() / sites
        };
        let mean: Vec<f64> = (0..components)
            .map(|a| over_sites(&|i| each.mean[i], a))
            .collect();
        let scale = (0..dim).map(|i| {
            let shared = mean[i % components];
            let square = |j: usize| each.scale[j].powi(2) + (each.mean[j] - shared).powi(2);
            over_sites(&square, i % components).sqrt()
        });
        let scale = scale.collect();
        let mean = (0..dim).map(|i| mean[i % components]).collect();
        Standardiser::new(mean, scale)
    }
}

impl Layout {
    /// Where the samples are: of every site alike on a lattice.
    pub(crate) fn confinement(
        self,
        ensemble: &Ensemble,
        standardiser: Standardiser,
    ) -> Result<Confinement> {
        let components = self.components(ensemble.dim())?;
        let support = match self {
            Self::Lattice { .. } if components <= 3 => {
                Support::lattice(ensemble, &standardiser, components)?
            }
            _ => Support::from_ensemble(ensemble, &standardiser)?,
        };
        Confinement::new(standardiser, support)
    }
}

/// A [`Layout`] with its numbers.
///
/// A tile of n states becomes sites × n columns, column i n + s being site i of state s. A row is
/// a component of the window, or the amplitude |m_i|² relative to its typical size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Windows {
    pub(crate) sites: usize,
    pub(crate) components: usize,
    reach: usize,
    /// |m|² / Σσ_a² = Σ_a weight_a (z_a + centre_a)².
    amplitude: Option<(Vec<f32>, Vec<f32>)>,
}

impl Windows {
    pub(crate) fn new(layout: Layout, standardiser: &Standardiser) -> Result<Self> {
        let dim = standardiser.scale.len();
        let components = layout.components(dim)?;
        let (sites, reach, amplitude) = match layout {
            Layout::Whole => (1, 0, None),
            Layout::Lattice { sites, reach } => {
                let scale = &standardiser.scale[..components];
                let total: f64 = scale.iter().map(|s| s * s).sum();
                let weight = scale.iter().map(|s| (s * s / total) as f32).collect();
                let centre = (0..components)
                    .map(|a| (standardiser.mean[a] / scale[a]) as f32)
                    .collect();
                (sites, reach, Some((weight, centre)))
            }
        };
        Ok(Self {
            sites,
            components,
            reach,
            amplitude,
        })
    }

    /// Number of coordinates D.
    pub(crate) fn dim(&self) -> usize {
        self.sites * self.components
    }

    /// True for a network from the rows of a state to `outputs` numbers.
    pub(crate) fn fits(&self, mlp: &Mlp, outputs: usize) -> bool {
        let amplitude = self.amplitude.as_ref().is_none_or(|(weight, centre)| {
            weight.len() == self.components && centre.len() == self.components
        });
        let reach = self.reach < self.sites.max(1);
        amplitude && reach && mlp.inputs() == self.rows() && mlp.outputs() == outputs
    }

    /// Rows that a state gives.
    pub(crate) fn rows(&self) -> usize {
        (2 * self.reach + 1) * self.components + usize::from(self.amplitude.is_some())
    }

    /// The site `offset − reach` places after `site`.
    fn neighbour(&self, site: usize, offset: usize) -> usize {
        (site + self.sites + offset - self.reach) % self.sites
    }

    /// `z` (D, n) to `out` (rows, sites n).
    pub(crate) fn gather(&self, z: &[f32], out: &mut [f32]) {
        let (c, sites) = (self.components, self.sites);
        let n = z.len() / (c * sites);
        let windows = (2 * self.reach + 1) * c;
        for (row, out) in out.chunks_exact_mut(sites * n).enumerate() {
            for (site, out) in out.chunks_exact_mut(n).enumerate() {
                if row < windows {
                    let from = self.neighbour(site, row / c) * c + row % c;
                    out.copy_from_slice(&z[from * n..(from + 1) * n]);
                } else {
                    self.amplitudes(&z[site * c * n..(site + 1) * c * n], out);
                }
            }
        }
    }

    fn amplitudes(&self, z: &[f32], out: &mut [f32]) {
        let (weight, centre) = self.amplitude.as_ref().expect("there is an amplitude row");
        let n = out.len();
        out.fill(0.0);
        for a in 0..self.components {
            for (out, z) in out.iter_mut().zip(&z[a * n..(a + 1) * n]) {
                *out += weight[a] * (z + centre[a]) * (z + centre[a]);
            }
        }
    }

    /// Derivatives of the rows with respect to one component of one window place, (rows, sites n).
    pub(crate) fn tangent(&self, z: &[f32], place: usize, component: usize, out: &mut [f32]) {
        let (c, sites) = (self.components, self.sites);
        let n = z.len() / (c * sites);
        out.fill(0.0);
        let row = place * c + component;
        out[row * sites * n..(row + 1) * sites * n].fill(1.0);
        if let (Some((weight, centre)), true) = (&self.amplitude, place == self.reach) {
            let out = &mut out[(self.rows() - 1) * sites * n..];
            for (site, out) in out.chunks_exact_mut(n).enumerate() {
                let from = (site * c + component) * n;
                for (out, z) in out.iter_mut().zip(&z[from..from + n]) {
                    *out = 2.0 * weight[component] * (z + centre[component]);
                }
            }
        }
    }

    /// Places of the window, and which of them is the site itself.
    pub(crate) fn places(&self) -> (usize, usize) {
        (2 * self.reach + 1, self.reach)
    }

    /// The coordinate of `component` at a place of the window of `site`.
    pub(crate) fn coordinate(&self, site: usize, place: usize, component: usize) -> usize {
        self.neighbour(site, place) * self.components + component
    }

    /// Outputs (components, sites n) to coordinates (D, n).
    pub(crate) fn scatter(&self, y: &[f32], out: &mut [f32]) {
        self.exchange(y.len(), |from, to, n| {
            out[to..to + n].copy_from_slice(&y[from..from + n]);
        });
    }

    /// Coordinates (D, n) to the order of outputs, (components, sites n).
    pub(crate) fn arrange(&self, z: &[f32], out: &mut [f32]) {
        self.exchange(z.len(), |from, to, n| {
            out[from..from + n].copy_from_slice(&z[to..to + n]);
        });
    }

    /// Calls `copy` with the start of a run of n numbers among outputs and among coordinates.
    fn exchange(&self, length: usize, mut copy: impl FnMut(usize, usize, usize)) {
        let (c, sites) = (self.components, self.sites);
        let n = length / (c * sites);
        for a in 0..c {
            for site in 0..sites {
                copy((a * sites + site) * n, (site * c + a) * n, n);
            }
        }
    }
}
