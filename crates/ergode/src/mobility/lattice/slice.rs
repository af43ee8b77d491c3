//! The onsite block of a field on a ring whose sites are all in the same state.

use crate::error::{Error, Result};
use crate::mobility::Mobility;
use crate::observable::state_by_state;

/// B(m) = M_00(m, ..., m): the block of the first site of a field on a ring, at equal sites.
///
/// A block that depends on the neighbours of its site becomes a function of one site, which can be
/// drawn. Its divergence is along all sites at once, which M does not know, and is differenced.
pub struct HomogeneousSlice<'a> {
    field: &'a dyn Mobility,
    sites: usize,
}

/// Most numbers in a tile of tensors of the whole ring.
const MOST_NUMBERS: usize = 400_000;
/// Step of the differences in units of a coordinate: the errors of rounding and of the third derivative
/// are alike.
const STEP: f64 = 1e-5;

impl<'a> HomogeneousSlice<'a> {
    /// Of `field`, which is on a ring of `sites`.
    ///
    /// # Errors
    /// When the coordinates of the field are not those of so many sites.
    pub fn new(field: &'a dyn Mobility, sites: usize) -> Result<Self> {
        if sites == 0 || !field.dim().is_multiple_of(sites) {
            return Err(Error::input(format!(
                "a mobility of dimension {} cannot be divided into {sites} equal sites",
                field.dim()
            )));
        }
        Ok(Self { field, sites })
    }

    /// Σ_j ∂_j of the entries that `entry(i, j)` places in a block.
    fn divergence(&self, x: &[f64], out: &mut [f64], entry: impl Fn(usize, usize) -> usize) {
        let dim = self.dim();
        let (mut moved, mut block) = (vec![0.0; dim], vec![0.0; dim * dim]);
        state_by_state(dim, x, out, |x, out| {
            out.fill(0.0);
            for j in 0..dim {
                let step = STEP * x[j].abs().max(1.0);
                for sign in [1.0, -1.0] {
                    moved.copy_from_slice(x);
                    moved[j] += sign * step;
                    self.mobility(&moved, &mut block);
                    for (i, out) in out.iter_mut().enumerate() {
                        *out += sign * block[entry(i, j)] / (2.0 * step);
                    }
                }
            }
        });
    }
}

impl Mobility for HomogeneousSlice<'_> {
    fn dim(&self) -> usize {
        self.field.dim() / self.sites
    }
    fn mobility(&self, x: &[f64], out: &mut [f64]) {
        let (dim, whole) = (self.dim(), self.field.dim());
        let n = x.len() / dim;
        let most = (MOST_NUMBERS / (whole * whole)).clamp(1, n.max(1));
        let (mut ring, mut tensor) = (vec![0.0; whole * most], vec![0.0; whole * whole * most]);
        for first in (0..n).step_by(most) {
            let count = most.min(n - first);
            let ring = &mut ring[..whole * count];
            for (k, row) in ring.chunks_exact_mut(count).enumerate() {
                row.copy_from_slice(&x[k % dim * n + first..][..count]);
            }
            let tensor = &mut tensor[..whole * whole * count];
            self.field.mobility(ring, tensor);
            for i in 0..dim {
                for j in 0..dim {
                    let row = &tensor[(i * whole + j) * count..][..count];
                    out[(i * dim + j) * n + first..][..count].copy_from_slice(row);
                }
            }
        }
    }
    fn div_mobility(&self, x: &[f64], out: &mut [f64]) {
        let dim = self.dim();
        self.divergence(x, out, |i, j| i * dim + j);
    }
    fn div_transpose(&self, x: &[f64], out: &mut [f64]) {
        let dim = self.dim();
        self.divergence(x, out, |i, j| j * dim + i);
    }
}
