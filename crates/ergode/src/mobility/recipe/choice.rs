//! The recipe, where none is asked for.

use super::config::Recipe;
use super::spaces::{Spaces, binomial};
use crate::error::{Error, Result};
use crate::limits;

pub(super) fn choose(asked: Recipe, dim: usize, spaces: &Spaces) -> Result<(Recipe, String)> {
    let functions = binomial(dim + spaces.semigroup.degree, dim);
    match asked {
        Recipe::Semigroup | Recipe::Generator | Recipe::Weak => Ok((asked, "asked for".to_owned())),
        Recipe::Constant => Err(Error::input(
            "a constant mobility is not a polynomial fit; use estimate_constant_mobility",
        )),
        Recipe::Paper => Err(Error::input(
            "the paper's recipe has no polynomial mobility; use fit_paper_mobility",
        )),
        Recipe::Auto if functions <= limits::FUNCTIONS => Ok((
            Recipe::Semigroup,
            format!(
                "in dimension {dim} a Galerkin space of degree {} has only {functions} functions, and \
                 the semigroup has no error from the sampling interval",
                spaces.semigroup.degree
            ),
        )),
        Recipe::Auto => Err(Error::input(format!(
            "in dimension {dim} a Galerkin space would have {functions} functions, more than \
             {}; use recipe weak or constant, or select fewer coordinates",
            limits::FUNCTIONS
        ))),
    }
}
