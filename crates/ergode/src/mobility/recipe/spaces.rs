//! Galerkin spaces and the highest degrees that they determine, for a number of coordinates.

use super::config::{Recipe, RecipeConfig};
use crate::data::Standardiser;
use crate::error::Result;
use crate::limits;
use crate::mobility::semigroup::SemigroupConfig;
use crate::mobility::weak::WeakConfig;
use crate::observable::exponents;

/// The highest degrees of D and of b of several coordinates where some are angles.
const WAVE_DEGREES: (usize, usize) = (2, 4);

/// Degree of R that is taken from a drift and a diffusion.
pub(super) const CURRENT_DEGREE: usize = 4;

/// The spaces for a number of coordinates.
#[derive(Clone, Debug)]
pub(super) struct Spaces {
    pub(super) semigroup: SemigroupConfig,
    pub(super) generator: SemigroupConfig,
    pub(super) weak: WeakConfig,
    /// Highest degree of D and of R that these spaces determine.
    pub(super) top: (usize, usize),
    /// Highest degree of D and of b that the space of the generator determines.
    pub(super) generator_top: (usize, usize),
    /// Highest degree of a drift that is taken from M.
    pub(super) drift_degree: usize,
    /// Moments needed beyond those of powers: a derivative lowers the degree of a power, but not that of a wave.
    pub(super) beyond: usize,
}

impl Spaces {
    /// Test functions of degree 3 fix a mobility that varies; beyond a few coordinates there are too
    /// many of them, and of degree 2 or 1 they fix a linear or a constant one.
    pub(super) fn new(dim: usize) -> Self {
        let (degree, test_degree, potential_degree, top) = match dim {
            1 => (10, 4, 10, (6, 0)),
            2 => (6, 3, 8, (4, 6)),
            3 => (5, 3, 4, (2, 2)),
            4 => (4, 3, 4, (2, 2)),
            5 | 6 => (3, 2, 4, (1, 1)),
            _ => (2, 1, 2, (0, 0)),
        };
        // Between functions of degree 1 a linear drift and a constant D are closed.
        let (generator, generator_test, generator_top) = match dim {
            1 => (10, 4, (6, 7)),
            2 => (8, 3, (4, 5)),
            3 => (6, 3, (2, 3)),
            4 => (4, 2, (1, 3)),
            5 | 6 => (3, 2, (1, 2)),
            _ => (1, 1, (0, 1)),
        };
        Self {
            generator: SemigroupConfig {
                degree: generator,
                test_degree: generator_test,
            },
            generator_top,
            drift_degree: match dim {
                1 => 9,
                2 => 7,
                3 => 4,
                _ => generator_top.1,
            },
            beyond: 0,
            semigroup: SemigroupConfig {
                degree,
                test_degree,
            },
            weak: WeakConfig {
                test_degree,
                potential_degree,
                ..WeakConfig::default()
            },
            top,
        }
    }

    /// The same where some coordinates are angles: of these there are two waves of each degree, and a product of
    /// two waves is two waves, so that a lower degree gives as many functions and equations are as dear.
    pub(super) fn with_circles(mut self, standardiser: &Standardiser) -> Result<Self> {
        for space in [&mut self.generator, &mut self.semigroup] {
            let functions = |degree: usize| exponents(standardiser, degree).map(|e| e.len());
            while space.degree > 1 && functions(space.degree)? > limits::FUNCTIONS_WITH_WAVES {
                space.degree -= 1;
            }
            space.test_degree = space.test_degree.min(space.degree);
        }
        self.beyond = 2;
        if standardiser.scale.len() > 1 {
            let most = WAVE_DEGREES;
            let (d, b) = self.generator_top;
            self.generator_top = (d.min(most.0), b.min(most.1));
        }
        Ok(self)
    }

    /// Highest degrees that the space of a recipe determines.
    pub(super) fn top(&self, recipe: Recipe) -> (usize, usize) {
        match recipe {
            Recipe::Generator => self.generator_top,
            _ => self.top,
        }
    }

    /// The same, no higher than the configuration allows, or those that it sets.
    pub(super) fn allowed(&self, recipe: Recipe, config: &RecipeConfig) -> (usize, usize) {
        let (top, most) = (self.top(recipe), config.max_degrees);
        config
            .degrees
            .unwrap_or((top.0.min(most.0), top.1.min(most.1)))
    }

    /// The Galerkin space of a recipe.
    pub(super) fn space_of(&self, recipe: Recipe) -> SemigroupConfig {
        match recipe {
            Recipe::Generator => self.generator,
            _ => self.semigroup,
        }
    }

    /// The same, to be changed.
    pub(super) fn space(&mut self, recipe: Recipe) -> &mut SemigroupConfig {
        match recipe {
            Recipe::Generator => &mut self.generator,
            _ => &mut self.semigroup,
        }
    }
}

/// n over k, saturating.
pub(super) fn binomial(n: usize, k: usize) -> usize {
    (1..=k).fold(1usize, |c, i| c.saturating_mul(n + 1 - i) / i)
}
