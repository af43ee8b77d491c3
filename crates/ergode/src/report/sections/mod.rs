//! Parts of a report, each made from one result of the library.

mod check;
mod fields;
mod fit;
mod grid;
mod lattice;
mod physics;
mod residual;
mod score;
mod structure;
mod validation;

pub use check::check_section;
pub use fields::{FieldPair, field_section};
pub use fit::{equation_section, fit_section};
pub use lattice::{hovmoeller_figure, spin_section};
pub use physics::{entropy_section, response_section, spectrum_section};
pub use residual::residual_section;
pub use score::score_section;
pub use structure::structure_section;
pub use validation::validation_sections;
