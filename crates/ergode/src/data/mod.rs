//! Trajectories, in memory or in the rows of a large file.
//!
//! An [`Ensemble`] holds checked trajectories with shared storage. [`Standardiser`] and [`Support`] say where
//! its states lie.

mod angles;
mod change;
mod circle;
mod dtype;
mod ensemble;
mod facts;
mod fingerprint;
mod packed;
mod sample;
mod scales;
mod scan;
mod shared;
mod split;
mod standardise;
mod states;
mod storage;
mod stored;
mod support;
mod trajectory;

pub(crate) use circle::Circle;
pub(crate) use dtype::{Dtype, Element};
pub(crate) use ensemble::Walls;
pub(crate) use ensemble::default_names;
pub use ensemble::{BurnIn, Ensemble, Units};
pub(crate) use facts::Facts;
pub(crate) use fingerprint::{Hash, checksum};
pub(crate) use packed::{Packed, pack};
pub use scan::Segment;
pub(crate) use scan::{check_dim, check_increasing, infinite, no_samples, scan_block};
pub use shared::SharedRows;
pub(crate) use split::Cut;
pub use standardise::Standardiser;
pub(crate) use states::States;
pub(crate) use stored::MEMORY;
pub use stored::StoredRows;
pub use support::Support;
pub(crate) use support::SupportCells;
pub use trajectory::{Times, Trajectory, Values};
