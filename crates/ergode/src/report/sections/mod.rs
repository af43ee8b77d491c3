//! Parts of a report, each made from one result of the library.

mod check;
mod physics;
mod validation;

pub use check::check_section;
pub use physics::{entropy_section, response_section, spectrum_section};
pub use validation::validation_sections;
