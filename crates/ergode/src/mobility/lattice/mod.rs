//! Mobility on a ring of sites: block-diagonal, one block of polynomials shared by all sites.
//!
//! With a law that is invariant under translations, the averages over a ring are those over one site.
//! So the tensor fields of a block are a [`TensorBasis`](super::TensorBasis) in the components of one
//! site, the equations are [`Equations`](super::Equations) for it, and [`LatticeMobility`] repeats the
//! block around the ring.

mod families;
mod operators;
mod reversal;
mod ring;
mod score;
mod slice;
mod span;
mod sums;
mod weak;

pub use families::{SpinNeighbourhood, neighbourhood_families};
pub use ring::LatticeMobility;
pub(super) use ring::site_records;
pub use score::{LatticeScore, ScoreCoefficients};
pub use slice::HomogeneousSlice;
pub use sums::{LatticeConfig, LatticeSums, accumulate_lattice};
pub use weak::{LatticeWeak, LatticeWeakPlan};
