//! Effective Langevin equations from time series, with a statement of how good they are.
//!
//! The model is dx = [M s + ∇·M] dt + √2 Σ dW with Σ Σᵀ = sym M and s = ∇ ln p_ss: it keeps the
//! invariant density by construction, and M = D + R carries diffusion (D, symmetric) and currents
//! (R, antisymmetric). Noise is always written √2 Σ, so that D = Σ Σᵀ.
//!
//! | symbol | meaning | here |
//! |---|---|---|
//! | x(t) | the record | [`Ensemble`], [`Trajectory`], [`Segment`](data::Segment) |
//! | trend(t) + μ(θ) + σ(θ) x(t), x(t − τ) | how record and state belong together | [`Observation`](observe::Observation), [`fit_observation`](observe::fit_observation) |
//! | τ_int, N_eff, usable lags | what the record can tell | [`check_ensemble`], [`CheckReport`] |
//! | φ_k(x) | observables | [`Library`](observable::Library): [`Monomials`](observable::Monomials), [`Expressions`](observable::Expressions), [`SpinFamilies`](observable::SpinFamilies) |
//! | C_mn(τ), ⟨φ_m(x_t) B(x_0)⟩ | lagged statistics, per block | [`LagGrid`](lagged::LagGrid), [`accumulate_lagged`](lagged::accumulate_lagged), [`LaggedSums`](lagged::LaggedSums) |
//! | Ċ_mn(τ), ∫ dτ | their derivative and integral | [`LocalPolynomial`](lagged::LocalPolynomial), [`IntegralRule`](lagged::IntegralRule) |
//! | ŝ | estimated score | [`Score`](score::Score), [`ClosedFormScore`](score::ClosedFormScore), [`ExactScore`](score::ExactScore) |
//! | ⟨f s⟩ + ⟨∇f⟩ = 0 | how good a score is | [`certify_score`](score::certify_score), [`ScoreCertificate`](score::ScoreCertificate) |
//! | Φ, Φ̃_T | constant mobility, structure diagnostic | [`ConstantMobility`](mobility::ConstantMobility), [`Structure`](mobility::Structure) |
//! | f_θ(x), (∂f/∂x) ẋ, ∂L/∂θ | small networks | [`Mlp`](nn::Mlp), [`Engine`](nn::Engine), [`Adam`](nn::Adam) |
//! | M(x) = Σ_k c_k T_k(x) | mobility in a linear span | [`Mobility`](mobility::Mobility), [`TensorBasis`](mobility::TensorBasis), [`LinearMobility`](mobility::LinearMobility) |
//! | exp(l t), l_ab = −⟨∇ψ_a M ∇ψ_bᵀ⟩ | equations by the semigroup | [`Semigroup`](mobility::Semigroup) |
//! | ⟨φ_m(x_t) B_n(x_0)⟩ | equations by the stationary operator | [`Weak`](mobility::Weak) |
//! | A\[M\] = −⟨φ_m(x_t) s_{t\|0}ᵀ M ∇φ_n⟩ | conditional operator, and equations by it | [`ConditionalOperator`](mobility::ConditionalOperator), [`Conditional`](mobility::Conditional) |
//! | M_θ(x) | mobility by a network | [`NeuralMobility`](mobility::NeuralMobility), [`fit_neural_mobility`](mobility::fit_neural_mobility) |
//! | diag(B(m_1), ..., B(m_N)) | mobility and equations on a ring of sites | [`LatticeMobility`](mobility::LatticeMobility), [`LatticeWeak`](mobility::LatticeWeak) |
//! | c, its errors, what is identifiable | the one solver | [`Equations`](mobility::Equations), [`fit_mobility`](mobility::fit_mobility), [`MobilityFit`](mobility::MobilityFit) |
//! | λ_V, ε, T (A_U λ_V^{−1/2} ε + ζ) | what the residual means for correlations | [`Identifiability`](mobility::Identifiability), [`CorrelationBound`](mobility::CorrelationBound) |
//! | M s + ∇·M, √2 Σ | the model: saved, simulated | [`LangevinModel`], [`simulate_model`] |
//! | F, √2 Σ | drift and noise of an equation | [`Dynamics`](simulate::Dynamics), [`Sde`](simulate::Sde) |
//! | s, M, ∇·M | score and mobility of a reference system | [`ExactFields`](systems::ExactFields) |
//! | C_mn(τ), p_ss, S(f) of model and data | a verdict against the noise floor | [`validate_rollouts`](validate::validate_rollouts), [`Validation`](validate::Validation) |
//! | ⟨vᵀ D⁻¹ v⟩, v = R s + ∇·R | entropy production | [`entropy_production`](validate::entropy_production), [`EntropyProduction`](validate::EntropyProduction) |
//! | −1/Re λ, −τ/ln\|λ\| | time scales of model and data | [`compare_spectra`](validate::compare_spectra), [`SpectrumComparison`](validate::SpectrumComparison) |
//! | −⟨φ(x_t) s_j(x_0)⟩ | response to a kick | [`check_response`](validate::check_response), [`ResponseCheck`](validate::ResponseCheck) |
//! | p_ss, r_ref | stationary density, circulation | [`Grid1d`](systems::Grid1d), [`Grid2d`](systems::Grid2d) |
//! | K_t | semigroup without Monte Carlo | [`GalerkinReference`](systems::GalerkinReference) |
//! | | a fit in one call, and what it found | [`fit`], [`fit_with`], [`Fitted`], [`RunRecord`](report::RunRecord) |
//! | | what a reader sees | [`run_page`](report::run_page), [`Page`](report::Page), [`Figure`](report::Figure) |
//!
//! Read, check, fit, validate, simulate:
//!
//! ```
//! use ergode::simulate::SimulateConfig;
//! use ergode::{
//!     CheckConfig, Control, FitConfig, ReadOptions, Scheme, check_ensemble, fit, read_ensemble,
//!     simulate_model, validate_model,
//! };
//! # use ergode::systems::{OrnsteinUhlenbeck, OrnsteinUhlenbeckParameters, System, generate};
//! # use ergode::write_ensemble;
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

pub mod check;
mod clock;
mod control;
pub mod data;
mod error;
pub mod finding;
pub mod forecast;
// Parts that several formats share are idle where those are left out.
#[cfg_attr(
    not(all(feature = "netcdf", feature = "parquet", feature = "zarr")),
    allow(dead_code, unused_imports)
)]
pub mod io;
pub mod lagged;
mod limits;
mod linalg;
mod memory;
pub mod mobility;
pub mod model;
pub mod nn;
pub mod observable;
pub mod observe;
pub mod physics;
pub mod pipeline;
mod quadrature;
pub mod random;
mod ranges;
pub mod report;
pub mod reproduce;
pub mod score;
pub mod simd;
pub mod simulate;
pub mod space;
mod stats;
pub mod systems;
pub mod validate;

pub use check::{CheckConfig, CheckReport, check_ensemble};
pub use control::Control;
pub use data::{BurnIn, Ensemble, SharedRows, Times, Trajectory, Values};
pub use error::{Error, Result, printable};
pub use finding::{Finding, Severity, Verdict};
pub use io::{ReadOptions, convert_ensemble, read_ensemble, write_ensemble};
pub use memory::budget as memory_budget;
pub use mobility::Recipe;
pub use model::{
    LangevinModel, ModelField, simulate_model, simulate_model_from, simulation_protocol,
};
pub use pipeline::{FitConfig, FitOptions, Fitted, RunFolder, fit, fit_with, validate_model};
pub use report::Results;
pub use simulate::Scheme;
