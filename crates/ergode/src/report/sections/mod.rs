//! Parts of a report, each made from one result of the library.

mod check;

pub use check::check_section;
