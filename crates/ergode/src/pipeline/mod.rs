//! From data to a verdict: check, score, mobility, simulation, validation, report, in one call.

mod blame;
mod budget;
mod collected;
mod config;
mod descriptions;
mod fallback;
mod fitted;
mod folder;
mod found;
mod keys;
mod lattice;
mod learn;
mod mobility;
mod policy;
mod ranges;
mod ring;
mod rollout;
mod run;
mod score;
mod sizes;
mod skill;
mod store;
mod sums;
mod truth;
mod walls;

pub use config::{FitConfig, LimitsConfig, RolloutConfig, ScoreConfig, ScoreKind, TermsConfig};
pub use fitted::Fitted;
pub use folder::RunFolder;
pub use keys::ConfigKey;
pub use ring::{RingConfig, RingSpan};
pub use rollout::{Runs, validate_model};
pub use sums::{Draft, Piece, Scales, Sums, SumsPlan, Survey, fit_sums};
pub use walls::detect_walls;

use crate::control::Control;
use crate::data::Ensemble;
use crate::error::Result;
use crate::systems::ExactFields;
use run::{Prepared, Run};
use store::Store;
pub(crate) use truth::{COMPARED, ExactMobility, compare};

/// Inputs of a fit besides data and configuration.
#[derive(Clone, Copy, Default)]
pub struct FitOptions<'a> {
    /// A folder that keeps the stages and the files of the run. A stage that it holds from an earlier,
    /// interrupted fit with the same data and configuration is not computed again. Without a folder, no
    /// file is written.
    pub folder: Option<&'a RunFolder>,
    /// The exact fields of a reference system, which the model is compared with.
    pub exact: Option<&'a dyn ExactFields>,
    /// Progress out, a request to stop in.
    pub control: Option<&'a Control>,
}

/// Learn a Langevin equation from data and say how good it is: check the data, hold some out, fit score
/// and mobility, simulate the model and its constant closure, and compare both with the held-out data.
///
/// Nothing is written; see [`fit_with`] for a run folder, progress and reference systems.
///
/// # Errors
/// When the data cannot be used, the configuration contradicts itself, or a fit fails.
pub fn fit(ensemble: &Ensemble, config: &FitConfig) -> Result<Fitted> {
    fit_with(ensemble, config, FitOptions::default())
}

/// [`fit`] in a run folder, under control, or with the exact answer.
///
/// # Errors
/// As [`fit`], and when the folder cannot be written or the work is stopped.
pub fn fit_with(ensemble: &Ensemble, config: &FitConfig, options: FitOptions) -> Result<Fitted> {
    let idle = Control::new();
    let control = options.control.unwrap_or(&idle);
    config.check()?;
    config.check_sizes(ensemble)?;
    let store = Store::new(options.folder);
    let run = Run::new(ensemble, config, store, options.exact, control)?;
    let prepared = run.prepare()?;
    finish(&run, prepared)
}

/// The stages after the first.
fn finish(run: &Run, prepared: Prepared) -> Result<Fitted> {
    let learned = run.learn(&prepared)?;
    let rollouts = run.roll_out(&learned)?;
    let judged = run.judge(&prepared, &learned, rollouts)?;
    run.write(prepared, learned, judged)
}
