//! M(x) by a network.

use ndarray::Array2;
use serde::{Deserialize, Serialize};

use super::tensor::TensorMap;
use crate::error::{Error, Result};
use crate::mobility::Mobility;
use crate::nn::{Batch, CpuEngine, Engine, Mlp};
use crate::score::{Confinement, Windows};

/// M(x) = L(x) L(x)ᵀ + ε diag Φ + R(x) by a network: D is positive definite everywhere.
///
/// Outside the samples M has the value of the nearest point of their support, so that it stays
/// bounded. On a ring the network gives the onsite block of every site from the site and its neighbours, and
/// blocks between sites are zero.
#[derive(Debug, Serialize, Deserialize)]
#[serde(try_from = "Unchecked")]
pub struct NeuralMobility {
    pub(super) mlp: Mlp,
    pub(super) windows: Windows,
    pub(super) map: TensorMap,
    pub(super) confinement: Confinement,
}

/// A mobility read from a file, before its parts are checked.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Unchecked {
    mlp: Mlp,
    windows: Windows,
    map: TensorMap,
    confinement: Confinement,
}

impl TryFrom<Unchecked> for NeuralMobility {
    type Error = Error;

    fn try_from(read: Unchecked) -> Result<Self> {
        if read.windows.dim() != read.confinement.support().dim()
            || !read.map.is_sound(read.windows.components)
            || !read.windows.fits(&read.mlp, read.map.outputs())
        {
            return Err(Error::input(
                "the network of the mobility does not match its coordinates; the file is damaged, \
                 write it again",
            ));
        }
        Ok(Self {
            mlp: read.mlp,
            windows: read.windows,
            map: read.map,
            confinement: read.confinement,
        })
    }
}

impl NeuralMobility {
    /// Φ, the constant mobility that it corrects.
    pub fn constant(&self) -> Array2<f64> {
        let c = self.map.size();
        let dim = c * self.windows.sites;
        Array2::from_shape_fn((dim, dim), |(i, j)| {
            if i / c == j / c {
                self.map.phi()[[i % c, j % c]]
            } else {
                0.0
            }
        })
    }

    /// The same map with another network.
    ///
    /// # Errors
    /// When its inputs or outputs are of another number.
    pub fn with_network(self, mlp: Mlp) -> Result<Self> {
        if !self.windows.fits(&mlp, self.map.outputs()) {
            return Err(Error::input(format!(
                "the mobility needs a network of {} inputs and {} outputs, not one of widths {:?}",
                self.windows.rows(),
                self.map.outputs(),
                mlp.widths()
            )));
        }
        Ok(Self { mlp, ..self })
    }

    /// Rows of the diagonal blocks, outside of which M is zero.
    pub(crate) fn block(&self) -> usize {
        self.map.size()
    }

    /// Outputs of the network at points of the support, and along `directions` of the site's own
    /// components.
    fn network(&self, z: &[f64], directions: usize) -> (Vec<f32>, Vec<f32>) {
        let windows = &self.windows;
        let z: Vec<f32> = z.iter().map(|z| *z as f32).collect();
        let columns = z.len() / windows.components;
        let rows = windows.rows() * columns;
        let mut x = vec![0.0; rows];
        windows.gather(&z, &mut x);
        let mut tangents = vec![0.0; directions * rows];
        let own = windows.places().1;
        for (component, out) in tangents.chunks_exact_mut(rows.max(1)).enumerate() {
            windows.tangent(&z, own, component, out);
        }
        let batch = Batch {
            states: columns,
            x: &x,
            directions,
            tangents: &tangents,
        };
        let outputs = self.map.outputs() * columns;
        let (mut y, mut dy) = (vec![0.0; outputs], vec![0.0; directions * outputs]);
        // Callers share the states out over the cores.
        CpuEngine::shared_single_core().evaluate(&self.mlp, &batch, &mut y, &mut dy);
        (y, dy)
    }

    /// M of outputs of the network at n states.
    fn values(&self, y: &[f32], n: usize, out: &mut [f64]) {
        let (dim, c, columns) = (self.dim(), self.map.size(), self.windows.sites * n);
        let mut blocks = vec![0.0; c * c * columns];
        self.map.values(y, &mut blocks);
        out.fill(0.0);
        for (entry, block) in blocks.chunks_exact(columns.max(1)).enumerate() {
            for (site, values) in block.chunks_exact(n).enumerate() {
                let (i, j) = (site * c + entry / c, site * c + entry % c);
                out[(i * dim + j) * n..][..n].copy_from_slice(values);
            }
        }
    }

    /// Σ_j ∂_j M_ij, or Σ_j ∂_j M_ji if `transpose`, and M if requested.
    fn divergence(
        &self,
        x: &[f64],
        transpose: bool,
        out: &mut [f64],
        mobility: Option<&mut [f64]>,
    ) {
        let (dim, c, sites) = (self.dim(), self.map.size(), self.windows.sites);
        let n = x.len() / dim;
        let (z, outside) = self.confinement.place(x);
        let (y, dy) = self.network(&z, c);
        if let Some(mobility) = mobility {
            self.values(&y, n, mobility);
        }
        let columns = sites * n;
        let standardiser = self.confinement.standardiser();
        let mut slopes = vec![0.0; c * c * columns];
        out.fill(0.0);
        for (j, dy) in dy.chunks_exact(y.len().max(1)).enumerate() {
            self.map.tangents(&y, dy, &mut slopes);
            // Along a coordinate that was moved to the support, M does not change.
            for s in &outside {
                for site in 0..sites {
                    let at = site * c + j;
                    let own = (x[at * n + s] - standardiser.mean[at]) / standardiser.scale[at];
                    if own != z[at * n + s] {
                        (0..c * c).for_each(|entry| slopes[entry * columns + site * n + s] = 0.0);
                    }
                }
            }
            for i in 0..c {
                let entry = if transpose { j * c + i } else { i * c + j };
                let slopes = &slopes[entry * columns..][..columns];
                for (column, slope) in slopes.iter().enumerate() {
                    let (site, s) = (column / n, column % n);
                    out[(site * c + i) * n + s] += slope / standardiser.scale[site * c + j];
                }
            }
        }
    }
}

impl Mobility for NeuralMobility {
    fn dim(&self) -> usize {
        self.confinement.support().dim()
    }

    fn mobility(&self, x: &[f64], out: &mut [f64]) {
        let (y, _) = self.network(&self.confinement.place(x).0, 0);
        self.values(&y, x.len() / self.dim(), out);
    }

    fn div_mobility(&self, x: &[f64], out: &mut [f64]) {
        self.divergence(x, false, out, None);
    }

    fn div_transpose(&self, x: &[f64], out: &mut [f64]) {
        self.divergence(x, true, out, None);
    }

    fn with_divergence(&self, x: &[f64], mobility: &mut [f64], divergence: &mut [f64]) {
        self.divergence(x, false, divergence, Some(mobility));
    }
}
