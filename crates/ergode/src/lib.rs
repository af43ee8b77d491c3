//! Effective Langevin equations from time series, with a statement of how good they are.
//!
//! The model is dx = [M s + ∇·M] dt + √2 Σ dW with Σ Σᵀ = sym M and s = ∇ ln p_ss: it keeps the
//! invariant density by construction, and M = D + R carries diffusion (D, symmetric) and currents
//! (R, antisymmetric). Noise is always written √2 Σ, so that D = Σ Σᵀ.
//!
//! | symbol | meaning | here |
//! |---|---|---|
//! | x(t) | the record | [`Ensemble`], [`Trajectory`], [`Segment`] |
//! | trend(t) + μ(θ) + σ(θ) x(t), x(t − τ) | how record and state belong together | [`Observation`], [`fit_observation`] |
//! | τ_int, N_eff, usable lags | what the record can tell | [`check_ensemble`], [`CheckReport`] |
//! | φ_k(x) | observables | [`Library`]: [`Monomials`], [`Expressions`], [`SpinFamilies`] |
//! | C_mn(τ), ⟨φ_m(x_t) B(x_0)⟩ | lagged statistics, per block | [`LagGrid`], [`accumulate_lagged`], [`LaggedSums`] |
//! | Ċ_mn(τ), ∫ dτ | their derivative and integral | [`LocalPolynomial`], [`IntegralRule`] |
//! | ŝ | estimated score | [`Score`], [`ClosedFormScore`], [`ExactScore`] |
//! | ⟨f s⟩ + ⟨∇f⟩ = 0 | how good a score is | [`certify_score`], [`ScoreCertificate`] |
//! | Φ, Φ̃_T | constant mobility, structure diagnostic | [`ConstantMobility`], [`Structure`] |
//! | f_θ(x), (∂f/∂x) ẋ, ∂L/∂θ | small networks | [`Mlp`], [`Engine`], [`Adam`] |
//! | M(x) = Σ_k c_k T_k(x) | mobility in a linear span | [`Mobility`], [`TensorBasis`], [`LinearMobility`] |
//! | exp(l t), l_ab = −⟨∇ψ_a M ∇ψ_bᵀ⟩ | equations by the semigroup | [`Semigroup`] |
//! | ⟨φ_m(x_t) B_n(x_0)⟩ | equations by the stationary operator | [`Weak`] |
//! | A\[M\] = −⟨φ_m(x_t) s_{t\|0}ᵀ M ∇φ_n⟩ | conditional operator, and equations by it | [`ConditionalOperator`], [`Conditional`] |
//! | M_θ(x) | mobility by a network | [`NeuralMobility`], [`fit_neural_mobility`] |
//! | diag(B(m_1), ..., B(m_N)) | mobility and equations on a ring of sites | [`LatticeMobility`], [`LatticeWeak`] |
//! | c, its errors, what is identifiable | the one solver | [`Equations`], [`fit_mobility`], [`MobilityFit`] |
//! | λ_V, ε, T (A_U λ_V^{−1/2} ε + ζ) | what the residual means for correlations | [`Identifiability`], [`CorrelationBound`] |
//! | M s + ∇·M, √2 Σ | the model: saved, simulated | [`LangevinModel`], [`simulate_model`] |
//! | F, √2 Σ | drift and noise of an equation | [`Dynamics`], [`Sde`] |
//! | s, M, ∇·M | score and mobility of a reference system | [`ExactFields`] |
//! | C_mn(τ), p_ss, S(f) of model and data | a verdict against the noise floor | [`validate_rollouts`], [`Validation`] |
//! | ⟨vᵀ D⁻¹ v⟩, v = R s + ∇·R | entropy production | [`entropy_production`], [`EntropyProduction`] |
//! | −1/Re λ, −τ/ln\|λ\| | time scales of model and data | [`compare_spectra`], [`SpectrumComparison`] |
//! | −⟨φ(x_t) s_j(x_0)⟩ | response to a kick | [`check_response`], [`ResponseCheck`] |
//! | p_ss, r_ref | stationary density, circulation | [`Grid1d`], [`Grid2d`] |
//! | K_t | semigroup without Monte Carlo | [`GalerkinReference`] |
//! | | a fit in one call, and what it found | [`fit`], [`fit_with`], [`Fitted`], [`RunRecord`] |
//! | | what a reader sees | [`run_page`], [`Page`], [`Figure`] |
//!
//! Read, check, fit, validate, simulate:
//!
//! ```
//! use ergode::{
//!     CheckConfig, Control, FitConfig, ReadOptions, Scheme, SimulateConfig, check_ensemble, fit,
//!     read_ensemble, simulate_model, validate_model,
//! };
//! # use ergode::{OrnsteinUhlenbeck, OrnsteinUhlenbeckParameters, System, generate, write_ensemble};
//! # let system = OrnsteinUhlenbeck::new(OrnsteinUhlenbeckParameters {
//! #     drift: vec![vec![1.0]], diffusion: vec![vec![1.0]], mean: vec![0.0],
//! # })?;
//! # let mut protocol = system.protocol();
//! # protocol.simulate.time = 200.0;
//! # protocol.simulate.save_every = 0.1;
//! # protocol.simulate.trajectories = 8;
//! # let generated = generate(&system, &protocol, &Control::new())?.ensemble;
//! # let folder = tempfile::tempdir().unwrap();
//! # let file = folder.path().join("data.npz");
//! # write_ensemble(&file, &generated)?;
//! let control = Control::new();
//! let data = read_ensemble(&file, &ReadOptions::default(), &control)?;
//! let check = check_ensemble(&data, &CheckConfig::default(), &control)?;
//! println!("{:?}, lags up to {}", check.verdict, check.usable_lags[1]);
//! let config = FitConfig::default();
//! let fitted = fit(&data, &config)?;
//! println!("{:?}: {}", fitted.results().validation.verdict, fitted.results().recipe);
//! // Against other data of the same process, and as new trajectories.
//! let (validation, _) =
//!     validate_model(&fitted.model, &fitted.constant, &data, None, &config, &control)?;
//! assert!(validation.rmse_over_floor < 2.0);
//! let protocol = SimulateConfig {
//!     time: 10.0, dt: 0.01, save_every: 0.1, trajectories: 4, seed: 0, scheme: Scheme::Euler, burn_in: 0.0,
//! };
//! let run = simulate_model(&fitted.model, &protocol, &control)?;
//! assert_eq!(run.simulation.ensemble.dim(), 1);
//! # Ok::<(), ergode::Error>(())
//! ```

mod check;
mod clock;
mod control;
mod data;
mod error;
mod finding;
// Parts that several formats share are idle where those are left out.
#[cfg_attr(
    not(all(feature = "netcdf", feature = "parquet", feature = "zarr")),
    allow(dead_code, unused_imports)
)]
mod io;
mod lagged;
mod limits;
mod linalg;
mod mobility;
mod model;
mod nn;
mod observable;
mod observe;
mod pipeline;
mod quadrature;
mod random;
mod report;
mod reproduce;
mod score;
mod simd;
mod simulate;
mod stats;
mod systems;
mod validate;

pub use check::{CheckConfig, CheckReport, CoordinateReport, check_ensemble};
pub use control::Control;
pub use data::{
    BurnIn, Ensemble, Segment, SharedRows, Standardiser, StoredRows, Support, Times, Trajectory,
    Units, Values,
};
pub use error::{Error, Result};
pub use finding::{Finding, FindingKind, Severity, Verdict};
pub use io::{
    Converted, ReadOptions, convert_ensemble, read_ensemble, write_arrays, write_ensemble,
};
pub use lagged::{
    BlockId, Blocking, IntegralRule, Jackknife, LagGrid, LaggedConfig, LaggedSums, LocalPolynomial,
    PairSums, Subsample, accumulate_lagged, choose_bandwidth, relaxation_rates,
};
pub use mobility::{
    ChannelScale, Conditional, ConditionalOperator, ConditionalPlan, ConstantMobility,
    CorrelationBound, Design, Equations, Expectations, GeneratorResidual, HomogeneousSlice,
    Identifiability, LadderConfig, LatticeConfig, LatticeMobility, LatticeScore, LatticeSums,
    LatticeWeak, LatticeWeakPlan, LinearEquations, LinearMobility, LinearPlan, MeanConstraint,
    MeasurementNoise, Mobility, MobilityConfig, MobilityFit, NeuralMobility, NeuralMobilityConfig,
    NeuralMobilityFit, NoiseEstimate, OperatorSums, PaperConfig, PaperFit, PaperRingConfig,
    PaperSpinFit, PhiMethod, PolynomialConfig, PolynomialSums, Positivity, Recipe, RecipeConfig,
    RecipeFit, Repair, ResidualConfig, ResidualCurve, ResidualTarget, RidgeTrial, Rung,
    ScoreCoefficients, Semigroup, SemigroupConfig, SpinNeighbourhood, Structure, StructureConfig,
    SymmetryClass, TensorBasis, TimeForm, Weak, WeakConfig, WeakPlan, accumulate_lattice,
    accumulate_polynomials, accumulate_site_polynomials, doubling_lags, estimate_constant_mobility,
    estimate_residual, estimate_structure, fit_mobility, fit_mobility_ladder, fit_mobility_recipe,
    fit_neural_mobility, fit_paper_mobility, fit_paper_ring, fit_paper_spin,
    neighbourhood_families, refine_positive, site_blocks,
};
pub use model::{
    LangevinModel, ModelField, ModelRun, Provenance, StepAdvice, StepConfig, StepTrial,
    StoredMobility, StoredScore, advise_step, default_step, simulate_model, simulation_protocol,
};
pub use nn::{
    Adam, AdamConfig, Average, Batch, CpuEngine, Decay, Engine, Mlp, Tile, TrainConfig,
    TrainRecord, TrainReport,
};
pub use observable::{
    Centred, Expressions, FunctionList, Functions, LatticeAverage, LatticePotential, Library,
    Moments, Monomials, RadialBasis, SpinFamilies, StoredLibrary,
};
pub use observe::{
    Auto, Choice, Cycle, CycleConfig, DelayConfig, DelayTrial, Delays, Observation,
    ObservationConfig, ObservationFit, Trend, TrendKind, fit_observation,
};
pub use pipeline::{
    FitConfig, FitOptions, Fitted, RingConfig, RingSpan, RolloutConfig, RunFolder, Runs,
    ScoreConfig, ScoreKind, fit, fit_with, validate_model,
};
pub use random::{Purpose, Stream};
pub use report::{
    Across, Arrows, Axis, BarSeries, Bars, BenchmarkPart, Colours, Conclusion, Decision, Evidence,
    FieldMaps, FieldPair, FieldRecord, Figure, Heatmap, LabelledMatrix, LearnedRecord, Lines, Mark,
    Measured, MobilityResults, NetworkResiduals, ObservationResults, OperatorChannel,
    OperatorRecord, Page, Palette, Panel, PanelContent, Part, RecipeVariant, Reproduced,
    Reproduction, ResidualLines, Results, Role, RunRecord, ScoreResults, Section, SectionPart,
    Series, SeriesStyle, SpaceTime, SpaceTimeWindow, SpinClosure, SpinMaps, Table, Truth,
    ValidationResults, check_page, check_section, climatology_section, entropy_section,
    equation_section, field_section, fit_section, hovmoeller_figure, residual_section,
    response_section, ring_sections, run_page, score_section, spectrum_section, spin_section,
    structure_section, validation_page, validation_sections, write_figures,
};
pub use reproduce::{Benchmark, ReproduceConfig, Scale, reproduce};
pub use score::{
    CertificateConfig, ClosedFormConditionalScore, ClosedFormConfig, ClosedFormScore,
    ConditionalCertificate, ConditionalConfig, ConditionalReport, ConditionalScore, Confinement,
    CoordinatesAndScore, DegreeTrial, DenoisingConfig, DenoisingReport, ExactScore, Gradients,
    Identity, IdentityTest, Layout, LogarithmicScore, Marginal, NeuralConditionalScore,
    NeuralScore, NoiseConfig, ResampleConfig, Resampling, Score, ScoreCertificate, ScoreObjective,
    ScoreSums, SpinFields, StoredFields, VectorFields, accumulate_score, certificate_library,
    certify_conditional_score, certify_score, certify_score_without_noise,
    fit_conditional_potential, fit_conditional_score, fit_denoising_score, fit_logarithmic_score,
    fit_potential_score, fit_potential_score_without_noise, fit_score,
};
pub use simd::{GROUP, Real};
pub use simulate::{
    Dimensions, Dynamics, Failure, Initial, Scheme, Sde, SimulateConfig, Simulation,
    simulate_ensemble, simulate_to_file,
};
pub use systems::{
    Affine2d, Affine2dReference, CoxIngersollRoss, DoubleWell, ExactFields, Function,
    GalerkinReference, Grid1d, Grid2d, OrnsteinUhlenbeck, OrnsteinUhlenbeckParameters, Protocol,
    SYSTEMS, SoftSpin, SoftSpinMoments, Spacing, System, SystemEntry, Transition, generate,
    generate_uneven, system_by_name,
};
pub use validate::{
    Climatology, ClimatologyCurve, Comparison, Curve, CurveAxis, Distance, EntropyProduction,
    LagSpectrum, Mode, RecordSummary, Response, ResponseCheck, RingCompareConfig, RingComparison,
    RingErrors, RingRollout, Rollout, RolloutCurve, RolloutRole, SpectrumComparison,
    SpectrumConfig, ValidateConfig, Validation, Worst, WorstPoint, check_response,
    compare_climatology, compare_rings, compare_spectra, entropy_production,
    entropy_production_of_fit, validate_rollouts,
};
