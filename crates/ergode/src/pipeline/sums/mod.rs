//! Fits of sums that were collected part by part, by a plan for the whole record.

mod collect;
mod file;
mod fit;
mod make;
mod plan;
mod read;
mod survey;

pub use collect::{Piece, Sums};
pub use fit::fit_sums;
pub use plan::SumsPlan;
pub use survey::{Draft, Scales, Survey};
