//! The mobility M: its mean, and which of its entries matter.

mod constant;
mod structure;

pub use constant::{
    ConstantMobility, PhiMethod, Repair, SymmetryClass, estimate_constant_mobility,
};
pub use structure::{Structure, StructureConfig, estimate_structure, site_blocks};
