//! The paper's recipe for a ring of spins.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ndarray::{Array2, s};
use serde::{Deserialize, Serialize};

use super::result::PaperFit;
use crate::control::Control;
use crate::data::Ensemble;
use crate::error::{Error, Result};
use crate::lagged::{LagGrid, LaggedConfig, Subsample, accumulate_lagged};
use crate::mobility::basis::TensorBasis;
use crate::mobility::conditional::{Conditional, ConditionalOperator, estimate_residual};
use crate::mobility::config::{MeanConstraint, MobilityConfig};
use crate::mobility::constant::{
    ConstantMobility, PhiMethod, SymmetryClass, estimate_constant_mobility,
};
use crate::mobility::fit::fit_mobility;
use crate::mobility::moments::{PolynomialConfig, accumulate_site_polynomials};
use crate::mobility::neural::{ChannelScale, NeuralMobilityConfig, fit_neural_mobility};
use crate::mobility::result::MobilityFit;
use crate::nn::{AdamConfig, Decay, TrainConfig};
use crate::observable::{LatticeAverage, Monomials, RadialBasis, SpinFamilies};
use crate::score::{
    ConditionalConfig, DenoisingConfig, Layout, NeuralConditionalScore, NoiseConfig, Score,
    fit_conditional_score, fit_denoising_score,
};

/// The parts of the paper's recipe for a ring of spins, with its settings for soft spins.
///
/// Networks sit at every site and see a window of it, where the paper's are convolutions; their layouts,
/// and the inversion m → −m with which the stationary score is trained, are set by the fit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PaperRingConfig {
    /// The stationary score.
    pub stationary: DenoisingConfig,
    /// The conditional score.
    pub conditional: ConditionalConfig,
    /// The mobility.
    pub mobility: NeuralMobilityConfig,
    /// Neighbours on each side that the stationary score sees.
    pub stationary_reach: usize,
    /// Neighbours on each side that the conditional score sees, of both states.
    pub conditional_reach: usize,
    /// Neighbours on each side that the onsite block of M depends on.
    pub mobility_reach: usize,
    /// Lags that the conditional score is trained on, in sampling intervals.
    pub conditional_lags: Vec<usize>,
    /// Lags of the equations for M, in sampling intervals.
    pub lags: Vec<usize>,
    /// Degree of the control variate in x_0; the paper has none.
    pub baseline_degree: Option<usize>,
    /// Pairs at each lag of the operators in the span of a spin.
    pub pairs: usize,
}

impl Default for PaperRingConfig {
    fn default() -> Self {
        let train = |steps: u64, rate: f32, floor: f32| TrainConfig {
            adam: AdamConfig {
                rate,
                decay: Decay::Cosine { steps, floor },
                ..AdamConfig::default()
            },
            ..TrainConfig::with_steps(steps)
        };
        let mut mobility_train = train(60 * 64, 3e-5, 1.0);
        mobility_train.adam.weight_decay = 1e-7;
        mobility_train.patience = 0;
        Self {
            stationary: DenoisingConfig {
                hidden: vec![128; 3],
                noise: NoiseConfig {
                    sigma: 0.02,
                    batch: 2048,
                    ..NoiseConfig::default()
                },
                extrapolate: false,
                train: TrainConfig {
                    accumulate: 2,
                    ..train(20_000, 1e-3, 0.01)
                },
                ..DenoisingConfig::default()
            },
            conditional: ConditionalConfig {
                hidden: vec![256; 3],
                noise: NoiseConfig {
                    batch: 2048,
                    ..NoiseConfig::default()
                },
                frequencies: 8,
                rescale: false,
                train: train(720 * 384, 8e-5, 0.04),
                ..ConditionalConfig::default()
            },
            mobility: NeuralMobilityConfig {
                hidden: vec![256; 4],
                floor: 1e-8,
                skew: 200.0,
                subsample: Subsample::Stride(5),
                states: 65_536,
                lags_per_step: Some(1),
                scale: ChannelScale::Global,
                mean_penalty: 0.0,
                train: mobility_train,
                ..NeuralMobilityConfig::default()
            },
            stationary_reach: 2,
            conditional_reach: 2,
            mobility_reach: 1,
            conditional_lags: (1..=60).collect(),
            lags: (7..=24).collect(),
            baseline_degree: None,
            pairs: 180_000,
        }
    }
}

impl PaperRingConfig {
    /// Small networks and few steps, for minutes of work on two cores: lags three apart, the conditional score
    /// rescaled and trained on no more than the lags that are used, ⟨M⟩ held at Φ.
    pub fn small() -> Self {
        let whole = Self::default();
        let train = |steps: u64, rate: f32| TrainConfig {
            adam: AdamConfig {
                rate,
                decay: Decay::Cosine { steps, floor: 0.01 },
                ..AdamConfig::default()
            },
            average: 0.99,
            ..TrainConfig::with_steps(steps)
        };
        let mut mobility_train = train(800, 1e-2);
        mobility_train.adam.weight_decay = 1e-7;
        mobility_train.patience = 0;
        Self {
            stationary: DenoisingConfig {
                hidden: vec![32; 2],
                train: train(2000, 5e-3),
                ..whole.stationary
            },
            conditional: ConditionalConfig {
                hidden: vec![64; 2],
                rescale: true,
                train: train(3000, 3e-3),
                ..whole.conditional
            },
            mobility: NeuralMobilityConfig {
                hidden: vec![32; 2],
                skew: 20.0,
                states: 32_768,
                batch: 4096,
                lags_per_step: None,
                mean_penalty: 10.0,
                ridge: 0.1,
                train: mobility_train,
                ..whole.mobility
            },
            stationary_reach: 1,
            conditional_lags: (7..=24).collect(),
            lags: (7..=24).step_by(3).collect(),
            pairs: 20_000,
            ..whole
        }
    }
}

/// The result of the paper's recipe in the span of a spin.
#[derive(Debug)]
pub struct PaperSpinFit {
    /// The conditional score.
    pub conditional: NeuralConditionalScore,
    /// Φ.
    pub constant: ConstantMobility,
    /// The onsite block, with its coefficients c_0, c_⊥, c_∥ and c_×.
    pub fit: MobilityFit,
}

/// Fit the mobility of spins on a ring of `sites` sites from data alone, as the paper does: networks for both
/// scores and for the onsite block, fitted to the eleven families of observables averaged over translations
/// (`eq:app_soft_spin_mobility_loss`).
///
/// With a `folder` the trainings save their state there, and an interrupted fit resumes.
///
/// # Errors
/// When the coordinates are not sites of three components, the record is sampled unevenly or too short for
/// the lags, or the work is stopped.
pub fn fit_paper_ring(
    ensemble: &Ensemble,
    sites: usize,
    config: &PaperRingConfig,
    folder: Option<&Path>,
    control: &Control,
) -> Result<PaperFit> {
    let ring = Ring::new(ensemble, sites, config, folder, control)?;
    let constant = ring.constant()?;
    let stationary = ring.stationary()?;
    let conditional = ring.conditional(&stationary, "conditional.json")?;
    let families = SpinFamilies::new(sites, RadialBasis::from_ensemble(ensemble)?)?;
    let coordinates = Monomials::coordinates(ensemble.names())?;
    let operator = ring.operator(&conditional, &families, &coordinates)?;
    let mobility = NeuralMobilityConfig {
        layout: ring.layout(config.mobility_reach),
        ..config.mobility.clone()
    };
    let fit = fit_neural_mobility(
        ensemble,
        &operator,
        &stationary,
        constant.value.view(),
        &mobility,
        ring.kept("mobility.json").as_deref(),
        control,
    )?;
    Ok(PaperFit {
        stationary,
        conditional,
        constant,
        fit,
    })
}

/// Fit the four coefficients of the onsite block in the span of a spin, as the paper's physics-informed
/// benchmark does (`eq:app_soft_spin_phys_ansatz`): the conditional score is a network on top of
/// `stationary`, the equations are those of [`fit_paper_ring`], and c_0, c_⊥ and c_∥ are at least 0.001.
///
/// ⟨M⟩ = Φ enters with the sampling errors of Φ, and the equations with theirs.
///
/// # Errors
/// As for [`fit_paper_ring`].
pub fn fit_paper_spin(
    ensemble: &Ensemble,
    sites: usize,
    stationary: &dyn Score,
    config: &PaperRingConfig,
    folder: Option<&Path>,
    control: &Control,
) -> Result<PaperSpinFit> {
    let ring = Ring::new(ensemble, sites, config, folder, control)?;
    let constant = ring.constant()?;
    let conditional = ring.conditional(stationary, "conditional-spin.json")?;
    let families = SpinFamilies::new(sites, RadialBasis::from_ensemble(ensemble)?)?;
    let coordinates = Monomials::coordinates(ensemble.names())?;
    let operator = ring.operator(&conditional, &families, &coordinates)?;
    let statistics = LaggedConfig {
        subsample: config.mobility.subsample,
        ..LaggedConfig::default()
    };
    let target = estimate_residual(
        ensemble,
        &operator,
        stationary,
        constant.value.view(),
        &config.mobility.residual,
        &statistics,
        control,
    )?;
    let moments = PolynomialConfig {
        future_degree: 1,
        initial_degree: 1,
        moment_degree: 4,
        lags: vec![0.0, ring.interval],
        statistics,
    };
    let moments = Arc::new(accumulate_site_polynomials(
        ensemble, sites, &moments, control,
    )?);
    let stride = Subsample::Stride((ensemble.samples() / config.pairs.max(1)).max(1));
    let basis = TensorBasis::spin();
    let equations = Conditional::new(
        ensemble, &operator, target, &moments, &basis, stride, control,
    )?;
    let fit = fit_mobility(&equations, &ring.linear(&constant), control)?;
    Ok(PaperSpinFit {
        conditional,
        constant,
        fit,
    })
}

/// Data and settings that all parts share.
struct Ring<'a> {
    ensemble: &'a Ensemble,
    sites: usize,
    config: &'a PaperRingConfig,
    folder: Option<&'a Path>,
    control: &'a Control,
    interval: f64,
}

/// Components of a site.
const SPIN: usize = 3;

impl<'a> Ring<'a> {
    fn new(
        ensemble: &'a Ensemble,
        sites: usize,
        config: &'a PaperRingConfig,
        folder: Option<&'a Path>,
        control: &'a Control,
    ) -> Result<Self> {
        if ensemble.dim() != SPIN * sites {
            return Err(Error::input(format!(
                "the paper's recipe for a ring needs sites of three components; {} coordinates are not \
                 {sites} such sites",
                ensemble.dim()
            )));
        }
        let Some(interval) = ensemble.sampling_interval() else {
            return Err(Error::input(
                "the paper's recipe for a ring needs an evenly sampled record",
            ));
        };
        Ok(Self {
            ensemble,
            sites,
            config,
            folder,
            control,
            interval,
        })
    }

    fn layout(&self, reach: usize) -> Layout {
        Layout::Lattice {
            sites: self.sites,
            reach,
        }
    }

    /// The file for the state of a training.
    fn kept(&self, name: &str) -> Option<PathBuf> {
        self.folder.map(|folder| folder.join(name))
    }

    /// Φ of the axial form, from the quadratic through the lags 0 to 3 (`eq:app_soft_spin_phi_covariance`).
    fn constant(&self) -> Result<ConstantMobility> {
        let (ensemble, control) = (self.ensemble, self.control);
        let x = Monomials::coordinates(ensemble.names())?;
        let near = LagGrid::even(self.interval, (0..4).collect())?;
        let every = LaggedConfig::default();
        let sums = accumulate_lagged(ensemble, &x, &x, &near, &every, control)?;
        estimate_constant_mobility(&sums, &PhiMethod::Quadratic, SymmetryClass::Axial)
    }

    /// The stationary score; the law is the same after m → −m, which the dynamics are not.
    fn stationary(&self) -> Result<crate::score::NeuralScore> {
        let config = DenoisingConfig {
            layout: self.layout(self.config.stationary_reach),
            symmetries: vec![vec![-1.0; self.ensemble.dim()]],
            ..self.config.stationary.clone()
        };
        let path = self.kept("stationary.json");
        let score = fit_denoising_score(self.ensemble, &config, path.as_deref(), self.control)?;
        self.go_on()?;
        Ok(score)
    }

    fn conditional(&self, stationary: &dyn Score, name: &str) -> Result<NeuralConditionalScore> {
        let config = ConditionalConfig {
            layout: self.layout(self.config.conditional_reach),
            ..self.config.conditional.clone()
        };
        let grid = LagGrid::even(self.interval, self.config.conditional_lags.clone())?;
        let path = self.kept(name);
        let score = fit_conditional_score(
            self.ensemble,
            stationary,
            &grid,
            &config,
            path.as_deref(),
            self.control,
        )?;
        self.go_on()?;
        Ok(score)
    }

    /// Fails if the fit was interrupted; a training that is stopped returns without an error.
    fn go_on(&self) -> Result<()> {
        match self.control.stopped() {
            true => Err(Error::interrupted()),
            false => Ok(()),
        }
    }

    /// The operator on the families and the coordinates, averaged over translations.
    fn operator<'b>(
        &self,
        conditional: &'b NeuralConditionalScore,
        families: &'b SpinFamilies,
        coordinates: &'b Monomials,
    ) -> Result<ConditionalOperator<'b>> {
        let grid = LagGrid::even(self.interval, self.config.lags.clone())?;
        let mut operator = ConditionalOperator::new(conditional, families, coordinates, grid)?;
        if let Some(degree) = self.config.baseline_degree {
            let sparse = LaggedConfig {
                subsample: Subsample::Stride(10),
                ..LaggedConfig::default()
            };
            operator = operator.with_baseline(self.ensemble, degree, &sparse, self.control)?;
        }
        operator.averaged(LatticeAverage {
            sites: self.sites,
            components: SPIN,
        })
    }

    /// The paper's solution in the span of a spin: hardly a ridge, floors, and the mean of M.
    fn linear(&self, constant: &ConstantMobility) -> MobilityConfig {
        let block = |a: &Array2<f64>| a.slice(s![..SPIN, ..SPIN]).to_owned();
        let error = block(&constant.error);
        // Entries that symmetry sets to zero have no error.
        let least = error.iter().filter(|e| **e > 0.0);
        let least = least.fold(f64::INFINITY, |least, e| least.min(*e));
        let floors = ["c0", "c_perp", "c_par"].map(|label| (label.to_owned(), 1e-3));
        MobilityConfig {
            ridges: vec![1e-8],
            mean: Some(MeanConstraint {
                value: block(&constant.value),
                error: error.mapv(|e| e.max(least)),
            }),
            floors: floors.into(),
            ..MobilityConfig::default()
        }
    }
}
