//! The paper's recipe as one call: scores by denoising, conditional operator, neural mobility.

mod result;
mod ring;

use std::path::Path;

use serde::{Deserialize, Serialize};

pub use result::PaperFit;
pub use ring::{PaperRingConfig, PaperSpinFit, fit_paper_ring, fit_paper_spin};

use super::conditional::ConditionalOperator;
use super::constant::{PhiMethod, SymmetryClass, estimate_constant_mobility};
use super::neural::{NeuralMobilityConfig, fit_neural_mobility};
use crate::control::Control;
use crate::data::Ensemble;
use crate::error::{Error, Result};
use crate::lagged::{LagGrid, LaggedConfig, Subsample, accumulate_lagged};
use crate::nn::Decay;
use crate::observable::Monomials;
use crate::score::{
    ConditionalConfig, DenoisingConfig, fit_conditional_score, fit_denoising_score,
};

/// The parts of the paper's recipe, with its settings for the two-dimensional benchmark.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PaperConfig {
    /// The stationary score.
    pub stationary: DenoisingConfig,
    /// The conditional score.
    pub conditional: ConditionalConfig,
    /// The mobility.
    pub mobility: NeuralMobilityConfig,
    /// Lags, positive and increasing, multiples of the sampling interval.
    pub lags: Vec<f64>,
    /// Lags, from zero, of the one-sided derivative that gives Φ.
    pub short_lags: Vec<f64>,
    /// Degree of the monomials φ_m at the later time.
    pub future_degree: usize,
    /// Degree of the monomials φ_n at the earlier time.
    pub initial_degree: usize,
    /// Degree of the control variate in x_0; the paper has none.
    pub baseline_degree: Option<usize>,
    /// The settings on a ring of spins, which replace all of the above.
    pub ring: PaperRingConfig,
}

impl Default for PaperConfig {
    fn default() -> Self {
        // The paper's 250 epochs of five times four lags.
        let mut train = NeuralMobilityConfig::default().train;
        train.steps = 1250;
        train.adam.decay = Decay::Cosine {
            steps: train.steps,
            floor: 0.01,
        };
        Self {
            stationary: DenoisingConfig {
                extrapolate: false,
                ..DenoisingConfig::default()
            },
            conditional: ConditionalConfig {
                rescale: false,
                ..ConditionalConfig::default()
            },
            mobility: NeuralMobilityConfig {
                lags_per_step: Some(4),
                ridge: 0.3,
                train,
                ..NeuralMobilityConfig::default()
            },
            lags: Vec::new(),
            short_lags: Vec::new(),
            future_degree: 3,
            initial_degree: 1,
            baseline_degree: None,
            ring: PaperRingConfig::default(),
        }
    }
}

/// Fit a mobility as the paper does: scores by denoising, Φ from the one-sided derivative at lag zero,
/// and a network for what Φ leaves of the derivatives of the correlations.
///
/// With a `folder` the trainings save their state there, and an interrupted fit resumes.
///
/// # Errors
/// When a network diverges, the record is too short, or the work is stopped.
pub fn fit_paper_mobility(
    ensemble: &Ensemble,
    config: &PaperConfig,
    folder: Option<&Path>,
    control: &Control,
) -> Result<PaperFit> {
    if config.lags.is_empty() || config.short_lags.len() < 3 {
        return Err(Error::input(
            "the paper's recipe needs lags, and for the constant mobility at least three short lags \
             that begin at zero",
        ));
    }
    let names = ensemble.names();
    let coordinates = Monomials::coordinates(names)?;
    let near = LagGrid::for_ensemble(ensemble, &config.short_lags)?.with_ends_off();
    let every = LaggedConfig::default();
    let sums = accumulate_lagged(ensemble, &coordinates, &coordinates, &near, &every, control)?;
    let constant = estimate_constant_mobility(&sums, &PhiMethod::Quadratic, SymmetryClass::None)?;

    let kept = |name: &str| folder.map(|folder| folder.join(name));
    let path = kept("stationary.json");
    let stationary = fit_denoising_score(ensemble, &config.stationary, path.as_deref(), control)?;
    let grid = operator_grid(ensemble, &config.lags)?;
    let path = kept("conditional.json");
    let (network, path) = (&config.conditional, path.as_deref());
    let conditional = fit_conditional_score(ensemble, &stationary, &grid, network, path, control)?;
    if control.stopped() {
        return Err(Error::interrupted());
    }
    let future = Monomials::new(names, 1..=config.future_degree)?;
    let initial = Monomials::new(names, 1..=config.initial_degree)?;
    let mut operator = ConditionalOperator::new(&conditional, &future, &initial, grid)?;
    if let Some(degree) = config.baseline_degree {
        let sparse = LaggedConfig {
            subsample: Subsample::Stride(10),
            ..LaggedConfig::default()
        };
        operator = operator.with_baseline(ensemble, degree, &sparse, control)?;
    }
    let path = kept("mobility.json");
    let fit = fit_neural_mobility(
        ensemble,
        &operator,
        &stationary,
        constant.value.view(),
        &config.mobility,
        path.as_deref(),
        control,
    )?;
    Ok(PaperFit {
        stationary,
        conditional,
        constant,
        fit,
    })
}

/// The lags of the operator. In an uneven record they are windows that reach half way to the next lag: the
/// conditional score takes every pair at its own lag, and a sample needs a partner in each of them.
fn operator_grid(ensemble: &Ensemble, lags: &[f64]) -> Result<LagGrid> {
    let spacings = lags.windows(2).map(|w| w[1] - w[0]);
    let spacing = spacings.fold(f64::INFINITY, f64::min);
    match ensemble.sampling_interval() {
        None if spacing.is_finite() => LagGrid::windows(lags.to_vec(), 0.5 * spacing),
        _ => LagGrid::for_ensemble(ensemble, lags),
    }
}
