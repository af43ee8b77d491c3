//! Reference systems, each with its exact answers.
//!
//! A system is one file: parameters with the paper's values as defaults, their validation, the
//! equation ([`Dynamics`](crate::simulate::Dynamics)), the exact score and mobility, and whatever else is
//! known in closed form. Of a system whose score is not known the drift and the diffusion are
//! ([`System::exact_equation`]). One line in [`SYSTEMS`] makes it available by name.

mod affine2d;
mod cir;
mod double_well;
mod fitzhugh_nagumo;
mod galerkin;
mod gradient;
mod grid1d;
mod grid2d;
mod limit_cycle;
mod lorenz63;
mod mueller_brown;
mod ornstein_uhlenbeck;
mod prinz;
mod registry;
mod soft_spin;
mod special;
mod triple_well;
mod van_der_pol;

use ndarray::Array2;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::control::Control;
use crate::data::Ensemble;
use crate::error::{Error, Result};
use crate::random::{Purpose, Stream};
use crate::simulate::{Initial, Scheme, Sde, SimulateConfig, Simulation, simulate_ensemble};

pub use affine2d::{Affine2d, Affine2dReference};
pub use cir::CoxIngersollRoss;
pub use double_well::DoubleWell;
pub use fitzhugh_nagumo::FitzHughNagumo;
pub use galerkin::{Function, GalerkinReference};
pub use gradient::{Overdamped, Potential};
pub use grid1d::{Grid1d, Spacing};
pub use grid2d::Grid2d;
pub use limit_cycle::LimitCycle;
pub use lorenz63::Lorenz63;
pub use mueller_brown::MuellerBrown;
pub use ornstein_uhlenbeck::{OrnsteinUhlenbeck, OrnsteinUhlenbeckParameters};
pub use prinz::Prinz;
pub use registry::{SYSTEMS, SystemEntry, system_by_name};
pub use soft_spin::{SoftSpin, SoftSpinMoments};
pub use triple_well::TripleWell;
pub use van_der_pol::VanDerPol;

/// A system that can be named, built from parameters, and simulated.
pub trait System: Sde {
    /// Names of the coordinates.
    fn coordinate_names(&self) -> Vec<String>;
    /// The default protocol of its reference data.
    fn protocol(&self) -> Protocol;
    /// Draw an initial state, from the stationary law if it is known.
    fn draw_initial(&self, stream: &mut Stream, x: &mut [f64]);
    /// Advance `x` by one draw from the exact transition law over `interval`, where it is known.
    fn exact_transition(&self, interval: f64) -> Option<Transition<'_>> {
        let _ = interval;
        None
    }
    /// The exact score and mobility, where they are known in closed form.
    fn exact_fields(&self) -> Option<&dyn ExactFields> {
        None
    }
    /// The exact drift F and, row-major, the exact diffusion D = ½ (√2 Σ)(√2 Σ)ᵀ at a state: known of
    /// every system, whether or not its score is.
    fn exact_equation(&self, x: &[f64], drift: &mut [f64], diffusion: &mut [f64]) {
        let (dim, noise_dim) = (self.dim(), self.noise_dim());
        let (mut column, mut unit) = (vec![0.0; dim], vec![0.0; noise_dim]);
        diffusion.fill(0.0);
        for j in 0..noise_dim {
            unit[j] = 1.0;
            self.evaluate(x, &unit, drift, &mut column);
            unit[j] = 0.0;
            for (i, row) in diffusion.chunks_exact_mut(dim).enumerate() {
                for (entry, other) in row.iter_mut().zip(&column) {
                    *entry += 0.5 * column[i] * other;
                }
            }
        }
    }
    /// All parameters, as they would be written in a configuration.
    fn parameters(&self) -> Value;
}

/// Advances a state in place by one exact transition.
pub type Transition<'a> = Box<dyn Fn(&mut Stream, &mut [f64]) + Sync + 'a>;

/// The paper's s, M and ∇·M at a state.
pub trait ExactFields: Sync {
    /// The stationary score s = ∇ log p_ss.
    fn score(&self, x: &[f64], out: &mut [f64]);
    /// The mobility M = D + R, row-major.
    fn mobility(&self, x: &[f64], out: &mut [f64]);
    /// (∇·M)_i = Σ_j ∂_j M_ij.
    fn div_mobility(&self, x: &[f64], out: &mut [f64]);
    /// The drift M s + ∇·M.
    fn drift(&self, x: &[f64], out: &mut [f64]) {
        let dim = x.len();
        let (mut score, mut mobility) = (vec![0.0; dim], vec![0.0; dim * dim]);
        self.score(x, &mut score);
        self.mobility(x, &mut mobility);
        self.div_mobility(x, out);
        for (out, row) in out.iter_mut().zip(mobility.chunks_exact(dim)) {
            *out += row.iter().zip(&score).map(|(m, s)| m * s).sum::<f64>();
        }
    }
}

/// Score and mobility of the system called `name`, in closed form.
///
/// # Errors
/// When they are not known in closed form.
pub fn closed_fields<'a>(system: &'a dyn System, name: &str) -> Result<&'a dyn ExactFields> {
    system.exact_fields().ok_or_else(|| {
        Error::input(format!(
            "score and mobility of {name} are not known in closed form; its drift and diffusion are"
        ))
    })
}

/// The protocol of the reference data of a system.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Protocol {
    /// Scheme, step, length, number of trajectories, seed.
    #[serde(flatten)]
    pub simulate: SimulateConfig,
    /// Sample the exact transition law at the save interval instead of stepping a scheme.
    pub exact: bool,
}

impl Protocol {
    /// Euler-Maruyama by steps of `dt`, with seed 0.
    fn euler(trajectories: usize, time: f64, save_every: f64, dt: f64, burn_in: f64) -> Self {
        Self {
            simulate: SimulateConfig {
                time,
                dt,
                save_every,
                trajectories,
                seed: 0,
                scheme: Scheme::Euler,
                burn_in,
            },
            exact: false,
        }
    }
}

/// Parameters that make a system once they are found valid.
trait Parameters: Default + Serialize + DeserializeOwned {
    fn build(self) -> Result<Box<dyn System>>;
}

/// Reference data of `system` by `protocol`, in memory.
///
/// # Errors
/// When the protocol is inconsistent, or the work is stopped.
pub fn generate(system: &dyn System, protocol: &Protocol, control: &Control) -> Result<Simulation> {
    let config = &protocol.simulate;
    let draw = |stream: &mut Stream, x: &mut [f64]| system.draw_initial(stream, x);
    let mut simulation = if protocol.exact {
        sample_transitions(system, config, control)?
    } else {
        simulate_ensemble(system, &Initial::Drawn(&draw), config, control)?
    };
    simulation.ensemble = simulation.ensemble.with_names(system.coordinate_names())?;
    Ok(simulation)
}

/// Reference data at uneven times: with `poisson` those of a Poisson process whose mean interval is the
/// save interval of the protocol, and with a part `missing` of the rows left out at random.
///
/// The system is simulated on a grid of times several times finer, and each row of it kept with one
/// probability: samples are states of the simulation at their exact times, never interpolated. The fine
/// simulation is held in memory.
///
/// # Errors
/// When `missing` is not at least 0 and below 1, or the simulation cannot be made.
pub fn generate_uneven(
    system: &dyn System,
    protocol: &Protocol,
    poisson: bool,
    missing: f64,
    control: &Control,
) -> Result<Simulation> {
    /// Most rows of the fine grid in a mean interval.
    const FINER: usize = 8;
    if !(0.0..1.0).contains(&missing) {
        return Err(Error::input(format!(
            "--missing {missing}: give a fraction from 0 up to, but not including, 1"
        )));
    }
    let mut fine = protocol.clone();
    fine.simulate.samples()?;
    let steps = (fine.simulate.save_every / fine.simulate.dt).round() as usize;
    let divides = |parts: &usize| protocol.exact || steps.is_multiple_of(*parts);
    let parts = if poisson {
        (1..=FINER).rfind(divides).unwrap_or(1)
    } else {
        1
    };
    fine.simulate.save_every /= parts as f64;
    let mut simulation = generate(system, &fine, control)?;
    let probability = (1.0 - missing) / parts as f64;
    simulation.ensemble = simulation.ensemble.with_rows(|k, _| {
        let mut stream = Stream::new(fine.simulate.seed, Purpose::Analysis, k as u64);
        move |_| stream.uniform() < probability
    })?;
    Ok(simulation)
}

fn sample_transitions(
    system: &dyn System,
    config: &SimulateConfig,
    control: &Control,
) -> Result<Simulation> {
    use rayon::prelude::*;
    let Some(transition) = system.exact_transition(config.save_every) else {
        return Err(Error::input(
            "this system has no exact transition law (only ou and cir have); choose another scheme",
        ));
    };
    let dim = system.dim();
    let samples = config.claim(dim, |samples| samples)?;
    let burn = (config.burn_in / config.save_every).ceil() as u64;
    control.begin((config.trajectories as u64).saturating_mul(samples as u64));
    let mut values = ndarray::Array3::zeros((config.trajectories, samples, dim));
    values
        .outer_iter_mut()
        .into_par_iter()
        .enumerate()
        .try_for_each(|(index, mut rows): (usize, ndarray::ArrayViewMut2<f64>)| {
            let index = index as u64;
            let mut x = vec![0.0; dim];
            system.draw_initial(
                &mut Stream::new(config.seed, Purpose::Initial, index),
                &mut x,
            );
            let mut stream = Stream::new(config.seed, Purpose::Transition, index);
            for _ in 0..burn {
                transition(&mut stream, &mut x);
            }
            for (sample, mut row) in rows.rows_mut().into_iter().enumerate() {
                if sample > 0 {
                    transition(&mut stream, &mut x);
                }
                row.assign(&ndarray::aview1(&x));
                if sample % 1024 == 1023 {
                    control.advance(1024)?;
                }
            }
            Ok(())
        })?;
    Ok(Simulation {
        ensemble: Ensemble::from_array3(values.into(), config.save_every)?,
        failures: Vec::new(),
    })
}

/// √2 Σ(x) as a matrix (dimension, Brownian motion), and the drift, at one state.
pub(crate) fn drift_and_noise(sde: &dyn Sde, x: &[f64], drift: &mut [f64]) -> Array2<f64> {
    let (dim, noise_dim) = (sde.dim(), sde.noise_dim());
    let mut matrix = Array2::zeros((dim, noise_dim));
    let mut column = vec![0.0; dim];
    let mut unit = vec![0.0; noise_dim];
    for j in 0..noise_dim {
        unit[j] = 1.0;
        sde.evaluate(x, &unit, drift, &mut column);
        unit[j] = 0.0;
        for i in 0..dim {
            matrix[[i, j]] = column[i];
        }
    }
    matrix
}

/// D = ½ (√2 Σ)(√2 Σ)ᵀ, and the drift, at one state.
pub(crate) fn drift_and_diffusion(sde: &dyn Sde, x: &[f64], drift: &mut [f64]) -> Array2<f64> {
    let noise = drift_and_noise(sde, x, drift);
    noise.dot(&noise.t()) * 0.5
}
