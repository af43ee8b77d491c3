//! The mobility of a fit.

use std::path::Path;

use ndarray::Array2;

use super::collected::Collected;
use super::config::FitConfig;
use super::found::{MobilityFound, linear_results};
use super::lattice::{ring_mobility, spin_by_network, with_seed};
use super::policy::{Plan, RECIPE};
use super::ring::RingSpan;
use crate::control::Control;
use crate::data::{Ensemble, Standardiser};
use crate::error::{Error, Result};
use crate::lagged::{
    IntegralRule, LagGrid, LaggedConfig, LaggedSums, Subsample, accumulate_lagged,
};
use crate::mobility::{
    MeasurementNoise, PaperConfig, PhiMethod, Recipe, RecipeConfig, Structure, StructureConfig,
    SymmetryClass, TermLibrary, estimate_constant_mobility, estimate_structure,
    fit_mobility_recipe, fit_mobility_sums, fit_paper_mobility, fit_paper_ring,
};
use crate::model::StoredScore;
use crate::observable::{Functions, Monomials, Standardised};
use crate::report::{Measured, MobilityResults, NetworkResiduals};
use crate::score::{CoordinatesAndScore, Score};

/// Find the mobility of `training`, not by the paper's recipe; the first `leading` coordinates are observed,
/// where the others are delays.
pub(super) fn find_mobility(
    training: &Ensemble,
    collected: Option<&Collected>,
    score: &dyn Score,
    config: &FitConfig,
    plan: &Plan,
    leading: Option<usize>,
    control: &Control,
) -> Result<MobilityFound> {
    if config.ring.sites > 0 {
        return ring_mobility(training, config, control);
    }
    let horizon = plan.horizon;
    match plan.recipe {
        Recipe::Constant => {
            let reason = plan.reason(RECIPE);
            constant(training, score, horizon, reason, control)
        }
        _ => {
            let none = &MeasurementNoise::None;
            by_recipe(
                (training, collected),
                config,
                none,
                leading,
                horizon,
                control,
            )
        }
    }
}

/// The options of a recipe, where the first `leading` coordinates are observed.
pub(super) fn recipe_config(
    config: &FitConfig,
    noise: &MeasurementNoise,
    leading: Option<usize>,
    horizon: f64,
) -> RecipeConfig {
    let mut recipe = config.mobility.clone();
    recipe.noise = noise.clone();
    recipe.library = TermLibrary {
        drift: config.drift.terms.clone(),
        diffusion: config.diffusion.terms.clone(),
    };
    recipe.horizon.get_or_insert(horizon);
    recipe.leading = recipe.leading.or(leading);
    recipe
}

/// A polynomial mobility of training samples, or of sums that were collected before, corrected for measurement
/// noise if any.
pub(super) fn by_recipe(
    (training, collected): (&Ensemble, Option<&Collected>),
    config: &FitConfig,
    noise: &MeasurementNoise,
    leading: Option<usize>,
    horizon: f64,
    control: &Control,
) -> Result<MobilityFound> {
    let recipe = recipe_config(config, noise, leading, horizon);
    let found = match collected {
        Some(collected) => fit_mobility_sums(&collected.recipes, training, &recipe, control)?,
        None => fit_mobility_recipe(training, &recipe, control)?,
    };
    let fit = found.fit;
    let degree = fit.mobility.basis().degree();
    let kind = match degree {
        0 => "constant".to_owned(),
        _ => format!("polynomial of degree {degree}"),
    };
    let violation = fit.mobility.psd_violation(training);
    let mut results = linear_results(&fit, kind, violation);
    let names = training.names();
    results.measurement_noise = found.noise.as_ref().map(|noise| {
        let pairs = (0..names.len()).flat_map(|i| (0..=i).map(move |j| (j, i)));
        let measured = |(i, j): (usize, usize)| {
            let (value, stderr) = (noise.covariance[[i, j]], noise.errors[[i, j]]);
            let label = format!("S[{},{}]", names[i], names[j]);
            (label, Measured { value, stderr })
        };
        pairs.map(measured).collect()
    });
    Ok(MobilityFound {
        mobility: fit.mobility.clone().into(),
        results,
        recipe: found.recipe,
        reason: found.reason,
        network: None,
        statistics_seconds: found.statistics_seconds,
        noise: found.noise.map(|noise| (noise, found.mean)),
        charts: found.charts,
        terms: found.terms,
        fit: Some(fit),
    })
}

/// Intervals between the lags of the short statistics, and the part of the horizon that they cover.
const INTERVALS: usize = 8;
const PART: f64 = 0.25;

/// Standardised coordinates z = (x − μ)/σ and the score in them, σ s.
struct InScales<'a> {
    scales: &'a Standardiser,
    raw: CoordinatesAndScore<'a>,
}

impl Functions for InScales<'_> {
    fn dim(&self) -> usize {
        self.raw.dim()
    }
    fn labels(&self) -> &[String] {
        self.raw.labels()
    }
    fn values(&self, x: &[f64], out: &mut [f64]) {
        self.raw.values(x, out);
        let (coordinates, score) = out.split_at_mut(x.len());
        self.scales.forward_states(coordinates);
        let states = (x.len() / self.dim()).max(1);
        for (row, scale) in score.chunks_exact_mut(states).zip(&self.scales.scale) {
            row.iter_mut().for_each(|s| *s *= scale);
        }
    }
}

/// Correlations of standardised coordinates with coordinates and score over short lags.
fn short_statistics(
    training: &Ensemble,
    scales: &Standardiser,
    score: &dyn Score,
    horizon: f64,
    control: &Control,
) -> Result<LaggedSums> {
    let interval = training.typical_interval()?;
    let stride = ((PART * horizon / interval) as usize / INTERVALS).max(1);
    let lags: Vec<f64> = (0..=INTERVALS)
        .map(|k| (k * stride) as f64 * interval)
        .collect();
    let names = training.names();
    let future = Standardised::new(scales.clone(), Monomials::coordinates(names)?);
    let initial = InScales {
        scales,
        raw: CoordinatesAndScore::new(names, score),
    };
    let grid = LagGrid::for_ensemble(training, &lags)?.with_ends_off();
    let statistics = LaggedConfig {
        subsample: Subsample::Stride(stride),
        ..LaggedConfig::default()
    };
    accumulate_lagged(training, &future, &initial, &grid, &statistics, control)
}

/// How the short statistics are integrated over their lags, which are unequal where sampling is uneven.
fn rule(training: &Ensemble) -> IntegralRule {
    match training.sampling_interval() {
        Some(_) => IntegralRule::Simpson,
        None => IntegralRule::Cubic,
    }
}

/// Which entries of M matter, by the constant matrix that links standardised coordinates and their score over
/// short times.
pub(super) fn find_structure(
    training: &Ensemble,
    score: &dyn Score,
    horizon: f64,
    control: &Control,
) -> Result<Structure> {
    let scales = Standardiser::watched(training, control)?;
    let sums = short_statistics(training, &scales, score, horizon, control)?;
    let config = StructureConfig {
        horizons: vec![INTERVALS / 4, INTERVALS / 2, INTERVALS],
        ridge: 1e-6,
        rule: rule(training),
    };
    estimate_structure(&sums, &config)
}

/// Φ from the integrated covariance of coordinates and score over short lags. Eigenvalues of its symmetric
/// part, in standardised coordinates, are at least a thousandth of its mean diagonal.
pub(super) fn constant(
    training: &Ensemble,
    score: &dyn Score,
    horizon: f64,
    reason: String,
    control: &Control,
) -> Result<MobilityFound> {
    let scales = Standardiser::watched(training, control)?;
    let sums = short_statistics(training, &scales, score, horizon, control)?;
    let method = PhiMethod::Integral(rule(training));
    let phi = estimate_constant_mobility(&sums, &method, SymmetryClass::None)?;
    let typical = phi.value.diag().iter().map(|d| d.abs()).sum::<f64>() / training.dim() as f64;
    let phi = phi.repaired(1e-3 * typical)?;
    let unit = |(i, j): (usize, usize)| scales.scale[i] * scales.scale[j];
    let units = Array2::from_shape_fn(phi.value.dim(), unit);
    let (value, error) = (&phi.value * &units, &phi.error * &units);
    let names = training.names();
    let entries = value.indexed_iter().map(|((i, j), value)| {
        let stderr = error[[i, j]];
        let value = *value;
        (
            format!("M[{},{}]", names[i], names[j]),
            Measured { value, stderr },
        )
    });
    let warnings = phi.repair.iter().map(|repair| {
        format!(
            "{} eigenvalues of the symmetric part of the constant mobility were not positive and were \
             raised; give a longer record, or fewer coordinates",
            repair.raised
        )
    });
    let results = MobilityResults {
        kind: "constant".into(),
        coefficients: entries.collect(),
        chi2_per_equation: None,
        condition: None,
        effective_rank: None,
        psd_violation: 0.0,
        measurement_noise: None,
        warnings: warnings.collect(),
    };
    Ok(MobilityFound {
        mobility: value.into(),
        results,
        recipe: Recipe::Constant,
        reason,
        fit: None,
        network: None,
        statistics_seconds: 0.0,
        noise: None,
        charts: Vec::new(),
        terms: None,
    })
}

/// Score, what it is, and mobility by the paper's recipe; networks keep their state in `folder`.
pub(super) fn by_network(
    training: &Ensemble,
    config: &FitConfig,
    horizon: f64,
    folder: Option<&Path>,
    control: &Control,
) -> Result<(StoredScore, String, MobilityFound)> {
    let found = if config.ring.sites == 0 {
        let paper = with_lags(&config.paper, training, horizon, config.seed)?;
        fit_paper_mobility(training, &paper, folder, control)?
    } else if config.ring.span == RingSpan::Spin {
        return spin_by_network(training, config, folder, control);
    } else {
        let paper = with_seed(&config.paper.ring, config.seed);
        fit_paper_ring(training, config.ring.sites, &paper, folder, control)?
    };
    if control.stopped() {
        return Err(Error::interrupted());
    }
    let results = MobilityResults {
        kind: "network".into(),
        coefficients: Default::default(),
        chi2_per_equation: None,
        condition: None,
        effective_rank: None,
        psd_violation: 0.0,
        measurement_noise: None,
        warnings: Vec::new(),
    };
    let network = NetworkResiduals::from(&found.fit);
    let mobility = MobilityFound {
        mobility: found.fit.mobility.into(),
        results,
        recipe: Recipe::Paper,
        reason: "asked for".into(),
        fit: None,
        network: Some(network),
        statistics_seconds: 0.0,
        noise: None,
        charts: Vec::new(),
        terms: None,
    };
    let kind = "network trained by denoising".to_owned();
    Ok((found.stationary.into(), kind, mobility))
}

/// Lags up to a little more than the decorrelation time, as the paper has them, and seeds, where the
/// configuration leaves them open.
fn with_lags(
    config: &PaperConfig,
    training: &Ensemble,
    horizon: f64,
    seed: u64,
) -> Result<PaperConfig> {
    /// Lags of the operator.
    const LAGS: usize = 24;
    /// Typical intervals between them in an uneven record, where a sample must have a partner near each
    /// and may have none in one interval, and the fewest lags that are then of use.
    const UNEVEN_STRIDE: usize = 4;
    const FEWEST: usize = 6;
    let interval = training.typical_interval()?;
    let mut paper = config.clone();
    let reach = (1.15 * horizon / interval) as usize;
    let (mut stride, mut lags) = ((reach / LAGS).max(1), LAGS);
    if training.sampling_interval().is_none() {
        stride = stride.max(UNEVEN_STRIDE);
        lags = lags.min(reach / stride);
    }
    if paper.lags.is_empty() {
        if lags < FEWEST {
            return Err(Error::input(format!(
                "the record is sampled unevenly, with median interval {interval}, too coarse for the \
                 paper's recipe with a longest lag of {horizon:.3}; use recipe semigroup"
            )));
        }
        paper.lags = (1..=lags).map(|k| (k * stride) as f64 * interval).collect();
    }
    if paper.short_lags.is_empty() {
        let short = ((0.015 * horizon / interval) as usize).max(1);
        paper.short_lags = (0..4).map(|k| (k * short) as f64 * interval).collect();
    }
    paper.stationary.noise.seed = seed;
    paper.conditional.noise.seed = seed;
    paper.mobility.seed = seed;
    Ok(paper)
}
