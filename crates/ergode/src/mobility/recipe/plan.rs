//! The averages that a recipe needs: lags, degrees of functions, and which pairs are used.

use ndarray::Array2;

use super::config::{Recipe, RecipeConfig};
use super::spaces::{CURRENT_DEGREE, Spaces, binomial};
use crate::control::Control;
use crate::data::{Ensemble, Standardiser};
use crate::error::{Error, Result};
use crate::lagged::{IntegralRule, LagGrid, Subsample};
use crate::limits;
use crate::mobility::charted::ChartedDegrees;
use crate::mobility::moments::{
    PolynomialConfig, PolynomialSums, accumulate_charted, doubling_lags,
};
use crate::mobility::noise::MeasurementNoise;
use crate::mobility::weak::TimeForm;
use crate::space::Chart;

/// Lags of the weak form, the last at the horizon or at the end of this many.
const WEAK_LAGS: usize = 20;
/// Pairs of a long record that are used at least.
const FEWEST_PAIRS: usize = 20_000_000;

/// A recipe with its numbers.
#[derive(Clone)]
pub(super) struct Plan {
    pub(super) recipe: Recipe,
    pub(super) spaces: Spaces,
    pub(super) mask: Option<Array2<bool>>,
    pub(super) statistics: PolynomialConfig,
}

impl Plan {
    pub(super) fn new(
        recipe: Recipe,
        interval: f64,
        horizon: f64,
        spaces: &Spaces,
        top: (usize, usize),
        config: &RecipeConfig,
    ) -> Self {
        let degree = top.0.max(top.1);
        let mut statistics = PolynomialConfig {
            statistics: config.statistics,
            ..PolynomialConfig::default()
        };
        match recipe {
            Recipe::Weak => {
                let stride = ((horizon / interval / WEAK_LAGS as f64) as usize).max(1);
                let lags = ((horizon / interval) as usize / stride).clamp(2, WEAK_LAGS);
                statistics.future_degree = spaces.weak.test_degree;
                statistics.initial_degree = spaces.weak.initial_degree(degree);
                statistics.moment_degree = spaces.weak.moment_degree(degree);
                statistics.lags = (0..=lags / 2 * 2)
                    .map(|k| (k * stride) as f64 * interval)
                    .collect();
                if stride > 1 && statistics.statistics.subsample == Subsample::All {
                    // Neighbouring samples are redundant; lags are multiples of the stride.
                    statistics.statistics.subsample = Subsample::Stride(stride);
                }
            }
            _ => {
                let space = spaces.space_of(recipe);
                statistics.future_degree = space.test_degree;
                statistics.initial_degree = space.test_degree;
                statistics.moment_degree = match recipe {
                    // R beside b and D needs moments of its own.
                    Recipe::Generator => {
                        let tensor = top.0.max(CURRENT_DEGREE.min(spaces.top.1));
                        space.generator_moment_degree(tensor, top.1)
                    }
                    _ => space.moment_degree(degree),
                } + spaces.beyond;
                statistics.lags = doubling_lags(interval, horizon);
            }
        }
        if !matches!(
            config.noise,
            MeasurementNoise::Auto | MeasurementNoise::None
        ) {
            // C(0) is then taken from the moments.
            let both_ends = statistics.future_degree + statistics.initial_degree;
            statistics.moment_degree = statistics.moment_degree.max(both_ends);
        }
        Self {
            recipe,
            spaces: spaces.clone(),
            mask: config.mask.clone(),
            statistics,
        }
    }

    /// The sums with charts; moments of z reach as far as the norms of the fields need.
    pub(super) fn collect_charted(
        &self,
        ensemble: &Ensemble,
        standardiser: &Standardiser,
        charts: &[Chart],
        top: (usize, usize),
        control: &Control,
    ) -> Result<PolynomialSums> {
        let (d, r) = (top.0.next_multiple_of(2), top.1);
        let space = self.spaces.space_of(self.recipe).degree;
        let mut degrees = ChartedDegrees {
            space: 2 * space,
            tensor: d.max(CURRENT_DEGREE),
            drift: r,
        };
        if self.recipe != Recipe::Generator {
            (degrees.tensor, degrees.drift) = (d.max(r), 0);
        }
        let statistics = PolynomialConfig {
            moment_degree: 2 * degrees.tensor.max(degrees.drift),
            ..self.statistics.clone()
        };
        accumulate_charted(
            ensemble,
            standardiser,
            charts,
            degrees,
            &statistics,
            control,
        )
    }

    /// Uses fewer pairs of a very long record to save time, unless the choice of pairs is set.
    pub(super) fn thin(&mut self, ensemble: &Ensemble, config: &RecipeConfig) {
        let dim = ensemble.dim();
        let statistics = &mut self.statistics;
        let functions = |degree: usize| binomial(dim + degree, dim) as f64;
        let products = functions(statistics.future_degree) * functions(statistics.initial_degree);
        let cost = statistics.lags.len() as f64 * products + functions(statistics.moment_degree);
        let samples = ensemble.samples();
        let stride = (samples as f64 * cost / limits::WORK_OF_AVERAGES).ceil() as usize;
        let stride = stride.min(samples / FEWEST_PAIRS);
        let before = match statistics.statistics.subsample {
            Subsample::Stride(before) => before,
            _ => 1,
        };
        if config.statistics.subsample == Subsample::All && stride > before {
            statistics.statistics.subsample = Subsample::Stride(stride);
        }
    }

    /// Leave out lags without pairs, and integrate over unequal lags, where sampling is uneven.
    pub(super) fn adapt(&mut self, ensemble: &Ensemble) -> Result<()> {
        if ensemble.sampling_interval().is_some() {
            return Ok(());
        }
        let lags = &mut self.statistics.lags;
        *lags = LagGrid::for_ensemble(ensemble, lags)?.occupied(ensemble);
        if lags.len() < 2 {
            return Err(Error::input(
                "too few consecutive samples lie a typical sampling interval apart without a gap; give \
                 a record with fewer gaps",
            ));
        }
        self.spaces.weak.time = TimeForm::Integral(IntegralRule::Cubic);
        Ok(())
    }
}
