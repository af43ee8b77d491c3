//! What follows from a fitted equation: potential, density and current, rates, passages, responses.

mod band;
mod generator;
mod landscape;
mod passage;
mod region;
mod response;

pub use landscape::Landscape;
pub use passage::{Committor, FirstPassage, PassageConfig, PassageRoute, committor, first_passage};
pub use region::Region;
pub use response::{KickResponse, respond};
