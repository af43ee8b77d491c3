//! Training: stochastic gradients, a held-out loss that decides when to stop, checkpoints.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{Adam, AdamConfig, Average, Decay, Engine, Mlp};
use crate::clock::Clock;
use crate::control::Control;
use crate::error::{Error, Result};
use crate::io::{read_sealed, write_sealed};

/// The configuration of training.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TrainConfig {
    /// Steps of the optimiser, at most.
    pub steps: u64,
    /// Batches whose gradients are added up for one step.
    pub accumulate: u64,
    /// The optimiser.
    pub adam: AdamConfig,
    /// Decay of the running average of the weights; the average is what is kept.
    pub average: f64,
    /// Steps between two looks at the held-out loss.
    pub check_every: u64,
    /// Looks without improvement after which training ends; zero makes all steps and keeps the
    /// weights of the last, whatever the held-out loss says.
    pub patience: u64,
}

impl TrainConfig {
    /// The usual settings for this many steps.
    pub fn with_steps(steps: u64) -> Self {
        Self {
            steps,
            accumulate: 1,
            adam: AdamConfig {
                rate: 1e-2,
                decay: Decay::Cosine { steps, floor: 0.01 },
                ..AdamConfig::default()
            },
            average: 0.999,
            check_every: (steps / 40).max(1),
            patience: 20,
        }
    }

    /// The settings for going on a little from weights that are already good.
    pub(crate) fn refinement(&self) -> Self {
        let steps = (self.steps / 4).max(1);
        let mut short = self.clone();
        short.steps = steps;
        short.adam.rate *= 0.2;
        short.patience = 0;
        short.adam.decay = Decay::Cosine { steps, floor: 0.01 };
        short
    }
}

impl Default for TrainConfig {
    fn default() -> Self {
        Self::with_steps(20_000)
    }
}

/// One look at the losses.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrainRecord {
    /// Steps made.
    pub step: u64,
    /// Mean loss of the batches since the look before.
    pub training: f64,
    /// Held-out loss of the averaged weights.
    pub held_out: f64,
}

/// The record of a training.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TrainReport {
    /// The losses over time.
    pub history: Vec<TrainRecord>,
    /// Held-out loss of the weights that were kept.
    pub held_out: f64,
    /// The step at which they were found.
    pub best_step: u64,
    /// Training was stopped from outside: the weights are the best until then.
    pub interrupted: bool,
}

/// A training task.
pub(crate) trait Task: Sync {
    /// Adds the gradient of the loss of batch number `batch`; returns that loss.
    ///
    /// The batch depends on its number alone, so that training can be resumed.
    fn gradient(
        &self,
        engine: &dyn Engine,
        mlp: &Mlp,
        batch: u64,
        gradient: &mut [f32],
    ) -> Result<f64>;
    /// The loss on data held out, the same data at every call.
    fn held_out(&self, engine: &dyn Engine, mlp: &Mlp) -> Result<f64>;
}

/// Everything that training needs to resume.
#[derive(Serialize, Deserialize)]
struct State {
    /// An identifier of the task and its settings; a checkpoint of another task is refused.
    purpose: String,
    step: u64,
    mlp: Mlp,
    adam: Adam,
    average: Average,
    best: Mlp,
    report: TrainReport,
}

/// Trains `mlp` and returns the averaged weights of least held-out loss.
///
/// With a `checkpoint` the state is written there at every look, and a file that is already there is
/// where training starts: it must come from the same `purpose` (a text that says what is learned
/// from which data). A request to stop is not an error: the best weights until then come back.
pub(crate) fn train(
    task: &dyn Task,
    mlp: Mlp,
    config: &TrainConfig,
    engine: &dyn Engine,
    checkpoint: Option<(&Path, &str)>,
    control: &Control,
) -> Result<(Mlp, TrainReport)> {
    if config.check_every == 0 || config.accumulate == 0 {
        return Err(Error::input(
            "the training options check_every and accumulate must be at least 1",
        ));
    }
    let purpose = checkpoint.map_or(String::new(), |(_, purpose)| purpose.to_owned());
    let mut state = match checkpoint {
        Some((path, _)) if path.exists() => resume(path, &purpose)?,
        _ => start(task, mlp, config, engine, purpose)?,
    };
    state.report.interrupted = false;
    control.begin(config.steps);
    control.advance(state.step).or_else(keep_going)?;
    let begun = (Clock::start(), state.step);
    let mut gradient = vec![0.0f32; state.mlp.parameters().len()];
    let mut losses = 0.0;
    while state.step < config.steps && !given_up(&state, config) {
        gradient.fill(0.0);
        for k in 0..config.accumulate {
            let batch = state.step * config.accumulate + k;
            losses += task.gradient(engine, &state.mlp, batch, &mut gradient)?;
        }
        let share = 1.0 / config.accumulate as f32;
        gradient.iter_mut().for_each(|g| *g *= share);
        state.adam.step(&mut state.mlp, &gradient);
        state.average.update(&state.mlp);
        state.step += 1;
        let stop = control.advance(1).is_err();
        let count = (state.step - 1) % config.check_every + 1;
        if count == config.check_every || state.step == config.steps || stop {
            let training = losses / (count * config.accumulate) as f64;
            losses = 0.0;
            look(task, engine, &mut state, training, config)?;
            if let Some((path, _)) = checkpoint {
                save(path, &state)?;
            }
            let rate = (state.step - begun.1) as f64 / begun.0.seconds();
            let held_out = state.report.history.last().map_or(f64::NAN, |r| r.held_out);
            control.say(format!("loss {held_out:.4}, {rate:.0} steps/s"));
        }
        if stop {
            state.report.interrupted = true;
            break;
        }
    }
    Ok((state.best, state.report))
}

/// Stopping is handled at the next look.
fn keep_going(error: Error) -> Result<()> {
    if error.is_interrupted() {
        Ok(())
    } else {
        Err(error)
    }
}

fn start(
    task: &dyn Task,
    mlp: Mlp,
    config: &TrainConfig,
    engine: &dyn Engine,
    purpose: String,
) -> Result<State> {
    let report = TrainReport {
        held_out: task.held_out(engine, &mlp)?,
        ..TrainReport::default()
    };
    Ok(State {
        purpose,
        step: 0,
        adam: Adam::new(&config.adam, &mlp)?,
        average: Average::new(config.average)?,
        best: mlp.clone(),
        mlp,
        report,
    })
}

/// Judge the averaged weights, and keep them if they are the best so far.
fn look(
    task: &dyn Task,
    engine: &dyn Engine,
    state: &mut State,
    training: f64,
    config: &TrainConfig,
) -> Result<()> {
    let mut averaged = state.mlp.clone();
    state.average.copy_to(&mut averaged);
    let held_out = task.held_out(engine, &averaged)?;
    if !held_out.is_finite() || !training.is_finite() {
        return Err(Error::numerical(format!(
            "the loss is no longer finite after {} steps; lower the learning rate",
            state.step
        )));
    }
    state.report.history.push(TrainRecord {
        step: state.step,
        training,
        held_out,
    });
    if held_out < state.report.held_out || config.patience == 0 {
        state.report.held_out = held_out;
        state.report.best_step = state.step;
        state.best = averaged;
    }
    Ok(())
}

/// No improvement for as many looks as patience allows.
fn given_up(state: &State, config: &TrainConfig) -> bool {
    let looks = state.report.history.iter();
    let waited = looks.filter(|r| r.step > state.report.best_step).count() as u64;
    config.patience > 0 && waited >= config.patience
}

fn save(path: &Path, state: &State) -> Result<()> {
    write_sealed(path, state)
}

fn resume(path: &Path, purpose: &str) -> Result<State> {
    let state: State = read_sealed(path).map_err(|error| {
        Error::input(format!(
            "{error}; delete this training checkpoint to restart the training"
        ))
    })?;
    if state.purpose != purpose {
        return Err(Error::file(
            path,
            "is a checkpoint from other data or settings; delete it or choose another folder",
        ));
    }
    Ok(state)
}
