//! Effective Langevin equations from time series, with a statement of how good they are.
//!
//! The model is dx = [M s + ∇·M] dt + √2 Σ dW with Σ Σᵀ = sym M and s = ∇ ln p_ss: it keeps the
//! invariant density by construction, and M = D + R carries diffusion (D, symmetric) and currents
//! (R, antisymmetric). Noise is always written √2 Σ, so that D = Σ Σᵀ.
//!
//! | symbol | meaning | here |
//! |---|---|---|
//! | x(t) | the record | [`Ensemble`], [`Trajectory`], [`Segment`] |
//! | τ_int, N_eff, usable lags | what the record can tell | [`check_ensemble`], [`CheckReport`] |
//! | φ_k(x) | observables | [`Library`]: [`Monomials`], [`Expressions`], [`SpinFamilies`] |
//! | F, √2 Σ | drift and noise of an equation | [`Dynamics`], [`Sde`] |
//! | s, M, ∇·M | score, mobility, its divergence | [`ExactFields`] |
//! | p_ss, r_ref | stationary density, circulation | [`Grid1d`], [`Grid2d`] |
//! | K_t, C_mn(t) | semigroup, lagged correlations | [`GalerkinReference`] |
//!
//! Simulate the paper's two-dimensional system, and compare a moment with the exact one:
//!
//! ```
//! use ergode::{Affine2d, Affine2dReference, BurnIn, Control, System, generate};
//!
//! let system = Affine2d::default();
//! let mut protocol = system.protocol();
//! protocol.simulate.time = 100.0;
//! let data = generate(&system, &protocol, &Control::new())?.ensemble;
//! let data = data.burn_in(BurnIn::Fraction(0.1))?;
//! assert_eq!((data.len(), data.dim(), data.names()[1].as_str()), (36, 2, "y"));
//!
//! let reference = Affine2dReference::solve(system, 160)?;
//! let exact = reference.grid().semigroup(&system, 6)?;
//! let (mut sum, mut x) = (0.0, [0.0; 2]);
//! for segment in data.segments() {
//!     for row in segment.rows.clone() {
//!         data.trajectories()[segment.trajectory].row(row, &mut x);
//!         sum += x[0] * x[0];
//!     }
//! }
//! let mean = sum / data.samples() as f64;
//! assert!((mean / exact.mean(|x| x[0] * x[0]) - 1.0).abs() < 0.2);
//! # Ok::<(), ergode::Error>(())
//! ```

mod check;
mod control;
mod data;
mod error;
mod lagged;
mod linalg;
mod mobility;
mod observable;
mod quadrature;
mod score;
mod simulate;
mod systems;

pub use check::{
    CheckConfig, CheckReport, CoordinateReport, Finding, Severity, Verdict, check_ensemble,
};
pub use control::Control;
pub use data::{
    BurnIn, Ensemble, Format, ReadOptions, Segment, Standardiser, Times, Trajectory, Values,
    formats, read_ensemble, write_ensemble,
};
pub use error::{Error, Result};
pub use lagged::{
    BlockId, Blocking, IntegralRule, Jackknife, LagGrid, LaggedConfig, LaggedSums, LocalPolynomial,
    PairSums, Subsample, accumulate_lagged, choose_bandwidth, relaxation_rates,
};
pub use mobility::{
    ConstantMobility, PhiMethod, Repair, Structure, StructureConfig, SymmetryClass,
    estimate_constant_mobility, estimate_structure, site_blocks,
};
pub use observable::{
    Centred, Expressions, FunctionList, Functions, LatticeAverage, LatticePotential, Library,
    Monomials, RadialBasis, SpinFamilies,
};
pub use score::{
    ClosedFormConfig, ClosedFormScore, CoordinatesAndScore, DegreeTrial, Score, ScoreSums,
    accumulate_score, fit_potential_score, fit_score,
};
pub use simulate::{
    Dimensions, Dynamics, Failure, GROUP, Initial, Purpose, Real, Scheme, Sde, SimulateConfig,
    Simulation, Stream, simulate_ensemble, simulate_to_file,
};
pub use systems::{
    Affine2d, Affine2dReference, CoxIngersollRoss, DoubleWell, ExactFields, Function,
    GalerkinReference, Grid1d, Grid2d, OrnsteinUhlenbeck, OrnsteinUhlenbeckParameters, Protocol,
    SYSTEMS, SoftSpin, SoftSpinMoments, Spacing, System, SystemEntry, Transition, generate,
    system_by_name,
};
