//! Parts of a report, each made from one result of the library.

mod check;
mod climatology;
mod contour;
mod fields;
mod fit;
mod forecast;
mod grid;
mod physics;
mod residual;
mod ring;
mod score;
mod space_time;
mod spins;
mod structure;
mod validation;

pub use check::{check_page, check_section};
pub use climatology::climatology_section;
pub use fields::{FieldMaps, FieldPair, field_section};
pub use fit::{equation_section, fit_section};
pub use forecast::forecast_section;
pub use physics::{entropy_section, response_section, spectrum_section};
pub use residual::{NetworkResiduals, ResidualLines, residual_section};
pub use ring::ring_sections;
pub use score::score_section;
pub use space_time::{SpaceTime, SpaceTimeWindow, hovmoeller_figure};
pub use spins::{SpinClosure, SpinMaps, spin_section};
pub use structure::structure_section;
pub(in crate::report) use validation::validation_conclusion;
pub use validation::{validation_page, validation_sections};
