//! Score and mobility of a ring of equal sites.

use std::path::Path;
use std::sync::Arc;

use super::config::FitConfig;
use super::found::{MobilityFound, interval_of, linear_results};
use super::ring::RingSpan;
use crate::clock::Clock;
use crate::control::Control;
use crate::data::{Ensemble, Standardiser, Support};
use crate::error::Result;
use crate::lagged::IntegralRule;
use crate::mobility::{
    LatticeConfig, LatticeMobility, LatticeScore, LatticeWeak, MobilityConfig, PaperRingConfig,
    Recipe, ScoreCoefficients, SpinNeighbourhood, TensorBasis, TimeForm, accumulate_lattice,
    fit_mobility, fit_paper_spin, neighbourhood_families,
};
use crate::model::StoredScore;
use crate::observable::{LatticePotential, Monomials};
use crate::score::{Confinement, Gradients, SpinFields, VectorFields, fit_score};

/// The components as they are.
fn raw(components: usize) -> Result<Standardiser> {
    Standardiser::new(vec![0.0; components], vec![1.0; components])
}

/// The closed-form score of a ring, with what it is.
pub(super) fn ring_score(
    training: &Ensemble,
    config: &FitConfig,
    control: &Control,
) -> Result<(StoredScore, String)> {
    let (ring, dim) = (&config.ring, training.dim());
    let components = ring.components(dim)?;
    let (fields, kind): (Box<dyn VectorFields>, _) = match ring.span {
        RingSpan::Spin => (
            Box::new(SpinFields::new(ring.sites)?),
            "four fields of a spin",
        ),
        RingSpan::Polynomial => {
            let onsite = Monomials::new(&ring.names(dim)?, 1..=ring.potential_degree)?;
            let potential = LatticePotential::new(ring.sites, onsite, &ring.distances)?;
            (
                Box::new(Gradients::new(potential)),
                "gradient of a local potential",
            )
        }
    };
    let whole = raw(dim)?;
    let support = Support::lattice(training, &whole, components)?;
    let confinement = Confinement::new(whole, support)?;
    let score = fit_score(
        training,
        fields,
        confinement,
        &config.score.closed_form,
        control,
    )?;
    Ok((score.into(), format!("{kind}, the same at every site")))
}

/// The onsite block of a ring by the weak form.
pub(super) fn ring_mobility(
    training: &Ensemble,
    config: &FitConfig,
    control: &Control,
) -> Result<MobilityFound> {
    let (ring, dim) = (&config.ring, training.dim());
    let components = ring.components(dim)?;
    let (names, site) = (ring.names(dim)?, raw(components)?);
    let interval = interval_of(training)?;
    let spin = ring.span == RingSpan::Spin;
    let mut statistics = LatticeConfig {
        lags: (0..=ring.lags).map(|k| k as f64 * interval).collect(),
        ..LatticeConfig::default()
    };
    let clock = Clock::start();
    let (score, basis, fitting);
    let sums = if spin {
        statistics.test_degree = 1;
        score = LatticeScore::spin(ring.sites)?;
        basis = TensorBasis::spin();
        // Few well-determined coefficients need no ridge, which would only shift them.
        fitting = MobilityConfig {
            ridges: vec![0.0],
            ..config.mobility.fit()
        };
        let families = SpinNeighbourhood::from_ensemble(training)?;
        accumulate_lattice(training, &site, &families, &statistics, control)?
    } else {
        statistics.separations = vec![0];
        statistics.test_degree = 3;
        statistics.mobility_degree = ring.mobility_degree;
        statistics.score_degree = ring.potential_degree - 1;
        statistics.distances.clone_from(&ring.distances);
        score =
            LatticeScore::potential(ring.sites, &names, ring.potential_degree, &ring.distances)?;
        let degree = ring.mobility_degree;
        basis = TensorBasis::polynomial(&names, &site, degree, degree, None)?;
        fitting = config.mobility.fit();
        let families = neighbourhood_families(components)?;
        accumulate_lattice(training, &site, &families, &statistics, control)?
    };
    let statistics_seconds = clock.seconds();
    let fitted = score.accumulate(training, &site, &statistics.statistics, control)?;
    let time = TimeForm::Integral(IntegralRule::Simpson);
    let coefficients = ScoreCoefficients::Fitted(fitted);
    let equations = LatticeWeak::new(&Arc::new(sums), &score, coefficients, &basis, &time)?;
    let fit = fit_mobility(&equations, &fitting, control)?;
    let mobility = LatticeMobility::new(ring.sites, fit.mobility.clone())?;
    let kind = match ring.span {
        RingSpan::Spin => "onsite block in the span of a spin".to_owned(),
        RingSpan::Polynomial => format!("onsite block of degree {}", ring.mobility_degree),
    };
    let violation = mobility.psd_violation(training)?;
    Ok(MobilityFound {
        results: linear_results(&fit, kind, violation),
        mobility: mobility.into(),
        recipe: Recipe::Weak,
        reason: "the weak form uses the local statistics of a ring".into(),
        fit: Some(fit),
        network: None,
        statistics_seconds,
        noise: None,
        charts: Vec::new(),
        terms: None,
    })
}

/// Score and onsite block of a ring of spins by the paper's physics-informed recipe.
///
/// The paper minimises the denoising loss over the four fields of the score; without noise that is the
/// closed form.
pub(super) fn spin_by_network(
    training: &Ensemble,
    config: &FitConfig,
    folder: Option<&Path>,
    control: &Control,
) -> Result<(StoredScore, String, MobilityFound)> {
    let (score, kind) = ring_score(training, config, control)?;
    let (sites, paper) = (
        config.ring.sites,
        with_seed(&config.paper.ring, config.seed),
    );
    let stationary = score.as_score();
    let found = fit_paper_spin(training, sites, stationary, &paper, folder, control)?;
    let mobility = LatticeMobility::new(sites, found.fit.mobility.clone())?;
    let violation = mobility.psd_violation(training)?;
    let span = "onsite block in the span of a spin".to_owned();
    let mobility = MobilityFound {
        results: linear_results(&found.fit, span, violation),
        mobility: mobility.into(),
        recipe: Recipe::Paper,
        reason: "asked for".into(),
        fit: Some(found.fit),
        network: None,
        statistics_seconds: 0.0,
        noise: None,
        charts: Vec::new(),
        terms: None,
    };
    Ok((score, kind, mobility))
}

/// The recipe with the random seed of the fit.
pub(super) fn with_seed(config: &PaperRingConfig, seed: u64) -> PaperRingConfig {
    let mut paper = config.clone();
    paper.stationary.noise.seed = seed;
    paper.conditional.noise.seed = seed;
    paper.mobility.seed = seed;
    paper
}
