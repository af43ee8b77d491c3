//! Parts of a report, each made from one result of the library.

mod check;
mod validation;

pub use check::check_section;
pub use validation::validation_sections;
