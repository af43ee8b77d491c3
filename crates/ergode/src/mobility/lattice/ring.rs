//! A block-diagonal mobility, the same function of the state at every site.

use serde::{Deserialize, Serialize};

use crate::data::Ensemble;
use crate::error::{Error, Result};
use crate::mobility::{LinearMobility, Mobility};

/// M(x) = diag(B(m_1), ..., B(m_N)) on a ring of N sites with one onsite block B.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "Unchecked")]
pub struct LatticeMobility {
    sites: usize,
    onsite: LinearMobility,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Unchecked {
    sites: usize,
    onsite: LinearMobility,
}

impl TryFrom<Unchecked> for LatticeMobility {
    type Error = Error;

    fn try_from(read: Unchecked) -> Result<Self> {
        Self::new(read.sites, read.onsite)
    }
}

/// The records of single sites, those of a trajectory after each other.
pub(in crate::mobility) fn site_records(ensemble: &Ensemble, sites: usize) -> Result<Ensemble> {
    if sites == 0 || !ensemble.dim().is_multiple_of(sites) {
        return Err(Error::input(format!(
            "{} coordinates cannot be divided into {sites} equal sites",
            ensemble.dim()
        )));
    }
    let components = ensemble.dim() / sites;
    let records = ensemble.trajectories().iter().flat_map(|trajectory| {
        (0..sites).map(move |i| trajectory.columns(i * components..(i + 1) * components))
    });
    Ensemble::new(records.collect())
}

impl LatticeMobility {
    /// The block `onsite`, a mobility in the components of one site, repeated at every site.
    ///
    /// # Errors
    /// When the ring has no sites.
    pub fn new(sites: usize, onsite: LinearMobility) -> Result<Self> {
        if sites == 0 {
            return Err(Error::input("a ring needs at least one site"));
        }
        Ok(Self { sites, onsite })
    }

    /// Number of sites N.
    pub fn sites(&self) -> usize {
        self.sites
    }

    /// B.
    pub fn onsite(&self) -> &LinearMobility {
        &self.onsite
    }

    /// The fraction of the samples of single sites where D is not positive definite.
    ///
    /// # Errors
    /// When the data do not have the coordinates of the ring.
    pub fn psd_violation(&self, ensemble: &Ensemble) -> Result<f64> {
        if ensemble.dim() != self.dim() {
            return Err(Error::input(format!(
                "the mobility has dimension {}, the data {}; use the same coordinates for both",
                self.dim(),
                ensemble.dim()
            )));
        }
        let records = site_records(ensemble, self.sites)?;
        Ok(self.onsite.psd_violation(&records))
    }

    /// Applies `vector(states of a site, result)` to every site of a tile: rows of a site are adjacent.
    fn each_site(&self, x: &[f64], out: &mut [f64], vector: impl Fn(&[f64], &mut [f64])) {
        assert_eq!(x.len(), out.len(), "a tile is (dim, n)");
        let size = (x.len() / self.sites).max(1);
        for (x, out) in x.chunks_exact(size).zip(out.chunks_exact_mut(size)) {
            vector(x, out);
        }
    }

    /// Fills the diagonal blocks of a tile of tensors, the rest with zeros.
    fn each_block(
        &self,
        x: &[f64],
        out: &mut [f64],
        block: impl Fn(&[f64], &mut [f64]) -> Result<()>,
    ) -> Result<()> {
        let (dim, components) = (self.dim(), self.onsite.dim());
        let n = x.len() / dim;
        assert_eq!(out.len(), dim * dim * n, "tensors are (dim, dim, n)");
        out.fill(0.0);
        let mut local = vec![0.0; components * components * n];
        for (site, x) in x.chunks_exact((components * n).max(1)).enumerate() {
            block(x, &mut local)?;
            let first = site * components;
            for (a, row) in local.chunks_exact(components * n).enumerate() {
                let at = ((first + a) * dim + first) * n;
                out[at..at + components * n].copy_from_slice(row);
            }
        }
        Ok(())
    }
}

impl Mobility for LatticeMobility {
    fn dim(&self) -> usize {
        self.sites * self.onsite.dim()
    }
    fn mobility(&self, x: &[f64], out: &mut [f64]) {
        let block = |x: &[f64], out: &mut [f64]| {
            self.onsite.mobility(x, out);
            Ok(())
        };
        self.each_block(x, out, block).expect("never fails");
    }
    fn div_mobility(&self, x: &[f64], out: &mut [f64]) {
        self.each_site(x, out, |x, out| self.onsite.div_mobility(x, out));
    }
    fn div_transpose(&self, x: &[f64], out: &mut [f64]) {
        self.each_site(x, out, |x, out| self.onsite.div_transpose(x, out));
    }
    fn noise_factor(&self, x: &[f64], out: &mut [f64]) -> Result<()> {
        self.each_block(x, out, |x, out| self.onsite.noise_factor(x, out))
    }
}
