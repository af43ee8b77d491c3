//! Ensembles of trajectories, in memory or streamed to disk.

use std::path::Path;

use ndarray::{Array2, Array3, ArrayViewMut3, Axis, s};
use pulp::Arch;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::scheme::Scheme;
use super::sde::Sde;
use crate::control::Control;
use crate::data::Ensemble;
use crate::error::{Error, Result, require_positive};
use crate::io::RowStream;
use crate::memory::{self, countable};
use crate::random::{LaneStreams, Purpose, Stream};
use crate::ranges::Range;
use crate::simd::{AlignedBuffer, GROUP};

/// The configuration of a simulation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SimulateConfig {
    /// Length of each trajectory; samples are saved at 0, `save_every`, ... up to `time`.
    pub time: f64,
    /// Step of the scheme.
    pub dt: f64,
    /// Interval between saved samples, a whole number of steps.
    pub save_every: f64,
    /// Number of independent trajectories.
    pub trajectories: usize,
    /// The one seed; trajectory k uses streams derived from (seed, k) alone.
    pub seed: u64,
    /// Numerical scheme.
    #[serde(default)]
    pub scheme: Scheme,
    /// Time integrated and thrown away before the first saved sample.
    #[serde(default)]
    pub burn_in: f64,
}

/// Copies of a state that a trajectory keeps, and numbers of its random stream.
const STATES: u64 = 4;
const STREAM: u64 = 8;

impl SimulateConfig {
    /// Samples saved of each trajectory, the one at time zero included.
    ///
    /// # Errors
    /// When a number is out of its range, or there are more samples than can be counted.
    pub fn samples(&self) -> Result<usize> {
        let not_negative = Range::closed(0.0, 1e100);
        require_positive("dt", self.dt)?;
        require_positive("save_every", self.save_every)?;
        not_negative.check("time", self.time)?;
        not_negative.check("burn_in", self.burn_in)?;
        let count = (self.time / self.save_every * (1.0 + 1e-12)).floor();
        match countable(count) {
            Some(count) => Ok(count + 1),
            None => Err(Error::input(format!(
                "time = {} has more samples at save_every = {} than can be counted; shorten the time or save \
                 less often",
                self.time, self.save_every
            ))),
        }
    }

    /// Samples of each trajectory, once it is known that `held` of them, of all trajectories, fit into memory
    /// beside the states.
    ///
    /// # Errors
    /// As [`samples`](Self::samples), and when they do not fit.
    pub(crate) fn claim(&self, dim: usize, held: impl FnOnce(usize) -> usize) -> Result<usize> {
        let samples = self.samples()?;
        if self.trajectories == 0 {
            return Err(Error::input("trajectories must be at least 1"));
        }
        let trajectories = ("trajectories", self.trajectories as u64);
        let dimensions = ("coordinates", dim as u64);
        let row = STREAM + STATES * dim as u64;
        memory::claim("the states of the simulation", &[trajectories], 8 * row)?;
        let samples_each = ("samples of each", held(samples) as u64);
        memory::claim(
            "the simulated samples",
            &[trajectories, samples_each, dimensions],
            8,
        )?;
        Ok(samples)
    }
}

/// The initial states of trajectories.
pub enum Initial<'a> {
    /// The given states, (trajectory, dimension).
    Given(Array2<f64>),
    /// Drawn, each from the trajectory's own stream.
    Drawn(&'a (dyn Fn(&mut Stream, &mut [f64]) + Sync)),
}

/// A trajectory that left the finite numbers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Failure {
    /// Index of the trajectory.
    pub trajectory: usize,
    /// Time of the first sample that was not finite.
    pub time: f64,
    /// The last finite sample, one interval earlier.
    pub last_state: Vec<f64>,
    /// Step of the scheme.
    pub dt: f64,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let shown: Vec<String> = self
            .last_state
            .iter()
            .take(6)
            .map(|v| format!("{v:.4}"))
            .collect();
        let more = if self.last_state.len() > 6 {
            ", ..."
        } else {
            ""
        };
        write!(
            f,
            "trajectory {} diverged by t = {} (last finite state: [{}{more}]); most likely the step dt \
             = {} is too large, try dt = {}",
            self.trajectory,
            self.time,
            shown.join(", "),
            self.dt,
            self.dt / 4.0
        )
    }
}

/// The outcome of a simulation.
#[derive(Clone, Debug)]
pub struct Simulation {
    /// All trajectories; one that failed is NaN from its failure on.
    pub ensemble: Ensemble,
    /// The trajectories that failed.
    pub failures: Vec<Failure>,
}

/// Simulate `config.trajectories` trajectories of `sde` in memory.
///
/// The result is the same, to the byte, for any number of threads.
///
/// # Errors
/// When the configuration is inconsistent, all trajectories fail, or the work is stopped.
pub fn simulate_ensemble(
    sde: &dyn Sde,
    initial: &Initial,
    config: &SimulateConfig,
    control: &Control,
) -> Result<Simulation> {
    let mut run = Run::new(sde, initial, config, |samples| samples)?;
    control.begin(run.total_steps());
    let mut values = Array3::zeros((config.trajectories, run.samples, sde.dim()));
    run.fill(&mut values.view_mut(), control)?;
    let failures = run.failures();
    if failures.len() == config.trajectories && run.samples > 1 {
        return Err(Error::numerical(format!(
            "every trajectory diverged; the first: {}",
            failures[0]
        )));
    }
    let ensemble = Ensemble::from_array3(values.into(), config.save_every)?;
    Ok(Simulation { ensemble, failures })
}

/// Simulate to a `.npy` or `.npz` file, holding at most `memory` bytes of samples at a time.
///
/// The file appears under its name only when complete. Returns the failed trajectories.
///
/// # Errors
/// As for [`simulate_ensemble`], and when the file cannot be written.
pub fn simulate_to_file(
    sde: &dyn Sde,
    initial: &Initial,
    config: &SimulateConfig,
    names: &[String],
    path: &Path,
    memory: usize,
    control: &Control,
) -> Result<Vec<Failure>> {
    let chunk = |samples: usize| {
        let row = (config.trajectories as u128) * (sde.dim() * size_of::<f64>()) as u128;
        let fit = (memory as u128 / row.max(1)).clamp(1, samples as u128);
        fit as usize
    };
    let mut run = Run::new(sde, initial, config, chunk)?;
    control.begin(run.total_steps());
    let shape = (config.trajectories, run.samples, sde.dim());
    let chunk = chunk(run.samples);
    let mut stream = RowStream::create(path, shape, config.save_every, names)?;
    let mut buffer = Array3::zeros((config.trajectories, chunk, sde.dim()));
    let mut start = 0;
    while start < run.samples {
        let length = chunk.min(run.samples - start);
        let mut part = buffer.slice_mut(s![.., ..length, ..]);
        run.fill(&mut part, control)?;
        stream.write_rows(start, part.view())?;
        start += length;
    }
    stream.finish()?;
    Ok(run.failures())
}

/// A simulation under way: tiles of trajectories with their states and streams.
struct Run<'a> {
    sde: &'a dyn Sde,
    config: &'a SimulateConfig,
    steps_per_save: usize,
    burn_steps: usize,
    samples: usize,
    tiles: Vec<Tile>,
}

struct Tile {
    first: usize,
    used: usize,
    lanes: usize,
    /// (dimension, lane)
    state: AlignedBuffer,
    streams: LaneStreams,
    normals: AlignedBuffer,
    /// Samples delivered so far.
    sample: usize,
    last_finite: Vec<f64>,
    failures: Vec<Failure>,
}

/// Samples are collected in about this many bytes before they are copied out.
const STAGE: usize = 32 * 1024;

/// Normal numbers are drawn in blocks of about this many bytes, to stay in the L2 cache.
const NORMAL_BLOCK: usize = 64 * 1024;

impl<'a> Run<'a> {
    /// A simulation of which `held` samples are in memory at a time.
    fn new(
        sde: &'a dyn Sde,
        initial: &Initial,
        config: &'a SimulateConfig,
        held: impl FnOnce(usize) -> usize,
    ) -> Result<Self> {
        let samples = config.claim(sde.dim(), held)?;
        let steps_per_save = whole_steps("save_every", config.save_every, config.dt)?;
        let burn_steps = match config.burn_in {
            0.0 => 0,
            burn_in => whole_steps("burn_in", burn_in, config.dt)?,
        };
        if let Initial::Given(states) = initial
            && states.dim() != (config.trajectories, sde.dim())
        {
            return Err(Error::input(format!(
                "the initial states have shape {:?}, but the simulation has {} trajectories in \
                 dimension {}",
                states.dim(),
                config.trajectories,
                sde.dim()
            )));
        }
        let per_thread = config.trajectories.div_ceil(rayon::current_num_threads());
        let tile_lanes = (per_thread.div_ceil(GROUP) * GROUP).clamp(GROUP, sde.most_lanes());
        let tiles = (0..config.trajectories)
            .step_by(tile_lanes)
            .map(|first| {
                let used = tile_lanes.min(config.trajectories - first);
                Tile::new(sde, initial, config, first, used)
            })
            .collect();
        Ok(Self {
            sde,
            config,
            steps_per_save,
            burn_steps,
            samples,
            tiles,
        })
    }

    fn total_steps(&self) -> u64 {
        let saved = (self.samples as u64 - 1).saturating_mul(self.steps_per_save as u64);
        let steps = saved.saturating_add(self.burn_steps as u64);
        steps.saturating_mul(self.config.trajectories as u64)
    }

    /// Deliver the next `out.len_of(Axis(1))` samples of every trajectory.
    fn fill(&mut self, out: &mut ArrayViewMut3<f64>, control: &Control) -> Result<()> {
        let (sde, config) = (self.sde, self.config);
        let (burn, save) = (self.burn_steps, self.steps_per_save);
        let mut parts = Vec::with_capacity(self.tiles.len());
        let mut rest = out.view_mut();
        for tile in &self.tiles {
            let (part, tail) = rest.split_at(Axis(0), tile.used);
            parts.push(part);
            rest = tail;
        }
        self.tiles
            .par_iter_mut()
            .zip(parts)
            .try_for_each(|(tile, mut part)| {
                let arch = Arch::new();
                // Trajectories lie far apart in `part`: samples go there in runs, not one by one.
                let row = tile.used * sde.dim() * size_of::<f64>();
                let run = (STAGE / row).clamp(1, 64);
                let mut stage = Array3::zeros((tile.used, run, sde.dim()));
                for mut part in part.axis_chunks_iter_mut(Axis(1), run) {
                    let length = part.len_of(Axis(1));
                    for sample in 0..length {
                        let steps = if tile.sample == 0 { burn } else { save };
                        tile.advance(arch, sde, config, steps, control)?;
                        tile.deliver(config, stage.slice_mut(s![.., sample, ..]));
                    }
                    part.assign(&stage.slice(s![.., ..length, ..]));
                }
                Ok(())
            })
    }

    fn failures(&self) -> Vec<Failure> {
        self.tiles
            .iter()
            .flat_map(|tile| tile.failures.iter().cloned())
            .collect()
    }
}

impl Tile {
    fn new(
        sde: &dyn Sde,
        initial: &Initial,
        config: &SimulateConfig,
        first: usize,
        used: usize,
    ) -> Self {
        let lanes = used.div_ceil(GROUP) * GROUP;
        let dim = sde.dim();
        let mut state = AlignedBuffer::zeros(dim * lanes);
        let mut start = vec![0.0; dim];
        for lane in 0..lanes {
            // Lanes beyond the last trajectory repeat it; they are never delivered.
            let index = first + lane.min(used - 1);
            match initial {
                Initial::Given(states) => {
                    for (value, given) in start.iter_mut().zip(states.row(index)) {
                        *value = *given;
                    }
                }
                Initial::Drawn(draw) => {
                    let mut stream = Stream::new(config.seed, Purpose::Initial, index as u64);
                    draw(&mut stream, &mut start);
                }
            }
            for i in 0..dim {
                state.as_mut_slice()[i * lanes + lane] = start[i];
            }
        }
        let streams: Vec<Stream> = (0..lanes)
            .map(|lane| {
                let index = first + lane.min(used - 1);
                Stream::new(config.seed, Purpose::Noise, index as u64)
            })
            .collect();
        Self {
            first,
            used,
            lanes,
            last_finite: state.as_slice().to_vec(),
            state,
            streams: LaneStreams::new(&streams),
            normals: AlignedBuffer::default(),
            sample: 0,
            failures: Vec::new(),
        }
    }

    fn advance(
        &mut self,
        arch: Arch,
        sde: &dyn Sde,
        config: &SimulateConfig,
        steps: usize,
        control: &Control,
    ) -> Result<()> {
        let per_step = config.scheme.normals_per_step(sde.noise_dim()) * self.lanes;
        let block = (NORMAL_BLOCK / (per_step * size_of::<f64>())).max(1);
        let mut left = steps;
        while left > 0 {
            let now = left.min(block);
            self.normals.resize(now * per_step);
            self.streams.fill_normal(arch, self.normals.as_mut_slice());
            sde.advance(
                config.scheme,
                config.dt,
                self.lanes,
                self.state.as_mut_slice(),
                self.normals.as_slice(),
            );
            left -= now;
            control.advance((now * self.used) as u64)?;
        }
        Ok(())
    }

    /// Copy the state out as the next sample, noting trajectories that ceased to be finite.
    fn deliver(&mut self, config: &SimulateConfig, mut out: ndarray::ArrayViewMut2<f64>) {
        let lanes = self.lanes;
        for (lane, mut row) in out.rows_mut().into_iter().enumerate() {
            let row = row
                .as_slice_mut()
                .expect("the dimensions of a sample are contiguous");
            for (value, coordinate) in row
                .iter_mut()
                .zip(self.state.as_slice().chunks_exact(lanes))
            {
                *value = coordinate[lane];
            }
        }
        if self.state.as_slice().iter().all(|v| v.is_finite()) {
            self.last_finite.copy_from_slice(self.state.as_slice());
        } else {
            self.note_failures(config, out);
        }
        self.sample += 1;
    }

    #[cold]
    fn note_failures(&mut self, config: &SimulateConfig, mut out: ndarray::ArrayViewMut2<f64>) {
        let (lanes, dim) = (self.lanes, self.last_finite.len() / self.lanes);
        for lane in 0..self.used {
            let of = |values: &[f64]| -> Vec<f64> {
                (0..dim).map(|i| values[i * lanes + lane]).collect()
            };
            let state = of(self.state.as_slice());
            if state.iter().all(|v| v.is_finite()) {
                for i in 0..dim {
                    self.last_finite[i * lanes + lane] = state[i];
                }
                continue;
            }
            out.row_mut(lane).fill(f64::NAN);
            let trajectory = self.first + lane;
            if self.failures.iter().all(|f| f.trajectory != trajectory) {
                self.failures.push(Failure {
                    trajectory,
                    time: self.sample as f64 * config.save_every,
                    last_state: of(&self.last_finite),
                    dt: config.dt,
                });
            }
        }
    }
}

/// `span / dt` as a whole number, or an error that says how to make it one.
fn whole_steps(name: &str, span: f64, dt: f64) -> Result<usize> {
    require_positive(name, span)?;
    require_positive("dt", dt)?;
    let ratio = span / dt;
    let whole = ratio.round();
    if whole < 1.0 || (ratio - whole).abs() > 1e-6 * whole {
        let nearest = (dt * whole.max(1.0) * 1e12).round() / 1e12;
        return Err(Error::input(format!(
            "{name} = {span} is not a whole multiple of dt = {dt}; try {nearest}"
        )));
    }
    countable(whole).ok_or_else(|| {
        Error::input(format!(
            "{name} = {span} has more steps of dt = {dt} than can be counted; choose a longer dt"
        ))
    })
}
