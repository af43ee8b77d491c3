//! Named choices of equations, spaces and lags, for a user who says nothing.

mod charts;
mod choice;
mod collected;
mod config;
mod definite;
mod fit;
mod forms;
mod found;
mod noise;
mod plan;
mod solve;
mod spaces;

pub(crate) use collected::{RecipeSums, recipe_statistics};
pub use config::{Recipe, RecipeConfig};
pub use fit::fit_mobility_recipe;
pub(crate) use fit::fit_mobility_sums;
pub use found::RecipeFit;
