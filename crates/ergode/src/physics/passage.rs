//! First passages from one set of states to another, and committors.

use ndarray::Array2;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::generator::GridGenerator;
use super::region::Region;
use crate::control::Control;
use crate::error::{Error, Result};
use crate::model::{LangevinModel, simulate_model_from, simulation_protocol};
use crate::random::{Purpose, Stream};

/// How passages are computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PassageRoute {
    /// On a grid in one and two coordinates, by simulation in more.
    #[default]
    Auto,
    /// From the generator on a grid of finite elements; one and two coordinates.
    Generator,
    /// From simulated trajectories.
    Rollouts,
}

/// The configuration of a passage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PassageConfig {
    /// By which route.
    pub route: PassageRoute,
    /// Trajectories of the simulation.
    pub trajectories: usize,
    /// Its longest time; by default long enough for half of the trajectories to arrive.
    pub longest: Option<f64>,
    /// Nodes per axis of the grid; by default 1200 in one coordinate and 100 in two.
    pub nodes: Option<usize>,
    /// The one seed.
    pub seed: u64,
}

impl Default for PassageConfig {
    fn default() -> Self {
        Self {
            route: PassageRoute::Auto,
            trajectories: 1000,
            longest: None,
            nodes: None,
            seed: 0,
        }
    }
}

/// The mean time of a first passage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FirstPassage {
    /// The mean.
    pub mean: f64,
    /// Its standard error: from the coefficients of the model on a grid, from the number of trajectories in a
    /// simulation; none where it is not known.
    pub stderr: Option<f64>,
    /// How it was computed.
    pub route: PassageRoute,
    /// Passages that were simulated.
    pub passages: Option<usize>,
}

/// Nodes per axis by number of coordinates: of the result, and of the replicates that errors come from.
const NODES: [usize; 2] = [1200, 100];
const COARSE: [usize; 2] = [400, 48];

/// The mean time from set `a` to the first visit of set `b`, starting from the law of the samples in `a`.
///
/// On a grid it is ⟨T⟩ over p in `a` with L T = −1 outside `b` and T = 0 in it. In a simulation the trajectories that
/// have not arrived at the longest time t count as passages at a constant rate: the mean is the time of all
/// trajectories over the number that arrived.
///
/// # Errors
/// When a set has another number of coordinates or holds no state, no trajectory arrives, or the work is stopped.
pub fn first_passage(
    model: &LangevinModel,
    a: &Region,
    b: &Region,
    config: &PassageConfig,
    control: &Control,
) -> Result<FirstPassage> {
    a.require(model.dim(), "a")?;
    b.require(model.dim(), "b")?;
    match (config.route, model.dim()) {
        (PassageRoute::Auto | PassageRoute::Generator, 1 | 2) => {
            on_grid(model, a, b, config, control)
        }
        (PassageRoute::Generator, dim) => Err(Error::input(format!(
            "the generator has a grid in one and two coordinates, and the model has {dim}; use rollouts"
        ))),
        _ => simulated(model, a, b, config, control),
    }
}

fn on_grid(
    model: &LangevinModel,
    a: &Region,
    b: &Region,
    config: &PassageConfig,
    control: &Control,
) -> Result<FirstPassage> {
    let dim = model.dim();
    let mean = mean_on_grid(model, a, b, config.nodes.unwrap_or(NODES[dim - 1]))?;
    control.advance(0)?;
    // Errors are differences on one coarser grid.
    let coarse = config.nodes.unwrap_or(COARSE[dim - 1]).min(COARSE[dim - 1]);
    let centre = mean_on_grid(model, a, b, coarse)?.ln();
    let stderr = root_sum_square(&model.replicates(), control, |replicate| {
        mean_on_grid(replicate, a, b, coarse).map(|mean| mean.ln() - centre)
    })?;
    Ok(FirstPassage {
        mean,
        stderr: stderr.map(|relative| relative * mean),
        route: PassageRoute::Generator,
        passages: None,
    })
}

/// √Σ d² of a difference over replicates; none without any.
fn root_sum_square(
    replicates: &[LangevinModel],
    control: &Control,
    difference: impl Fn(&LangevinModel) -> Result<f64> + Sync,
) -> Result<Option<f64>> {
    let squares = replicates.par_iter().map(|replicate| {
        control.advance(0)?;
        // A replicate without a solution tells nothing of the error.
        Ok(difference(replicate).map_or(0.0, |d| d * d))
    });
    let squares = squares.collect::<Result<Vec<f64>>>()?;
    Ok((!squares.is_empty()).then(|| squares.iter().sum::<f64>().sqrt()))
}

fn mean_on_grid(model: &LangevinModel, a: &Region, b: &Region, nodes: usize) -> Result<f64> {
    let grid = GridGenerator::new(model, nodes, &[a, b]);
    let (from, to) = (grid.within(a), grid.within(b));
    if !to.contains(&true) {
        return Err(Error::input(
            "set b holds no state near the samples; choose another set",
        ));
    }
    let fixed: Vec<Option<f64>> = to.iter().map(|inside| inside.then_some(0.0)).collect();
    let times = grid.solve(1.0, &fixed)?;
    let (mut sum, mut total) = (0.0, 0.0);
    for ((time, weight), inside) in times.iter().zip(grid.weights()).zip(&from) {
        if *inside {
            sum += weight * time;
            total += weight;
        }
    }
    match total > 0.0 {
        true => Ok(sum / total),
        false => Err(Error::input(
            "set a holds no state near the samples; choose another set",
        )),
    }
}

/// A set as trajectories see it that are looked at once a step.
struct Visits<'a> {
    model: &'a LangevinModel,
    set: &'a Region<'a>,
    step: f64,
    /// The set with its faces as far outside as any state has them.
    widest: Option<Region<'a>>,
}

impl<'a> Visits<'a> {
    /// −ζ(½)/√(2π): a Brownian motion with increments of variance v that is looked at once a step meets a face as the
    /// continuous one meets another that lies this many √v further (Broadie, Glasserman and Kou 1997).
    const FURTHER: f64 = 0.582_597_157_939_010_7;

    fn new(model: &'a LangevinModel, set: &'a Region<'a>, step: f64) -> Self {
        let mut visits = Self {
            model,
            set,
            step,
            widest: None,
        };
        let mut most = vec![0.0; model.dim()];
        for row in model.starts().rows() {
            let by = visits.by(&row.to_vec());
            most.iter_mut().zip(by).for_each(|(m, by)| *m = by.max(*m));
        }
        // States beyond the samples may have a larger D.
        most.iter_mut().for_each(|m| *m *= 2.0);
        visits.widest = set.widened(&most);
        visits
    }

    /// How far outwards each coordinate sees a face at `x`.
    fn by(&self, x: &[f64]) -> Vec<f64> {
        let dim = x.len();
        let mut diffusion = vec![0.0; dim * dim];
        self.model.diffusion(x, &mut diffusion);
        let variance = |i: usize| 2.0 * diffusion[i * dim + i].max(0.0) * self.step;
        (0..dim)
            .map(|i| Self::FURTHER * variance(i).sqrt())
            .collect()
    }

    /// Whether a trajectory at `x` counts as having visited the set.
    fn contain(&self, x: &[f64]) -> bool {
        match &self.widest {
            Some(widest) if widest.contains(x) => {
                let widened = self.set.widened(&self.by(x));
                widened.is_some_and(|widened| widened.contains(x))
            }
            Some(_) => false,
            None => self.set.contains(x),
        }
    }
}

/// Trajectories from the start states in `a`, in rounds until half have arrived.
fn simulated(
    model: &LangevinModel,
    a: &Region,
    b: &Region,
    config: &PassageConfig,
    control: &Control,
) -> Result<FirstPassage> {
    /// Steps of a round, and coordinates times steps of all of them.
    const STEPS: f64 = 1000.0;
    const WORK: f64 = 2e9;
    if config.trajectories == 0 {
        return Err(Error::input("trajectories must be at least 1"));
    }
    let inside: Vec<usize> = (0..model.starts().nrows())
        .filter(|k| a.contains(&model.starts().row(*k).to_vec()))
        .collect();
    if inside.is_empty() {
        return Err(Error::input(
            "set a holds no sample of the data; choose a larger set",
        ));
    }
    let mut stream = Stream::new(config.seed, Purpose::Analysis, 1);
    let mut states = Array2::zeros((config.trajectories, model.dim()));
    for mut row in states.rows_mut() {
        let k = inside[stream.below(inside.len() as u64) as usize];
        row.assign(&model.starts().row(k));
    }
    let step = simulation_protocol(model, 0.0, None, None, 1, config.seed, control)?.dt;
    let visits = Visits::new(model, b, step);
    let (mut passed, mut arrived, mut moving) = (0.0, Vec::new(), states);
    let (mut spent, mut work) = (0.0, 0.0);
    for round in 0.. {
        let left = config
            .longest
            .map_or(f64::INFINITY, |longest| longest - passed);
        let steps = (left / step).round().clamp(1.0, STEPS);
        work += steps * (moving.nrows() * model.dim()) as f64;
        let mut protocol = simulation_protocol(
            model,
            steps * step * (1.0 + 1e-9),
            Some(step),
            Some(step),
            moving.nrows(),
            config.seed.wrapping_add(round),
            control,
        )?;
        protocol.trajectories = moving.nrows();
        let run = simulate_model_from(model, moving.clone(), &protocol, control)?;
        let mut left = Vec::new();
        let mut row = vec![0.0; model.dim()];
        for trajectory in run.simulation.ensemble.trajectories() {
            let visit = (0..trajectory.len()).find(|i| {
                trajectory.row(*i, &mut row);
                visits.contain(&row)
            });
            match visit {
                Some(i) => arrived.push(passed + trajectory.time(i)),
                None => {
                    trajectory.row(trajectory.len() - 1, &mut row);
                    left.extend_from_slice(&row);
                }
            }
        }
        passed += steps * step;
        let count = left.len() / model.dim();
        spent = count as f64 * passed;
        moving = Array2::from_shape_vec((count, model.dim()), left).expect("whole states");
        let enough = config.longest.is_none() && 2 * arrived.len() >= config.trajectories;
        let over = config
            .longest
            .is_some_and(|longest| passed >= longest * (1.0 - 1e-9));
        if count == 0 || enough || over || work > WORK {
            break;
        }
    }
    let passages = arrived.len();
    if passages == 0 {
        return Err(Error::numerical(format!(
            "none of {} trajectories went from set a to set b within {passed}; give a longer time, or larger sets",
            config.trajectories
        )));
    }
    let mean = (arrived.iter().sum::<f64>() + spent) / passages as f64;
    let stderr = match moving.nrows() {
        0 => {
            let square: f64 = arrived.iter().map(|t| (t - mean).powi(2)).sum();
            (square / passages as f64).sqrt() / (passages as f64).sqrt()
        }
        _ => mean / (passages as f64).sqrt(),
    };
    Ok(FirstPassage {
        mean,
        stderr: Some(stderr),
        route: PassageRoute::Rollouts,
        passages: Some(passages),
    })
}

/// The probability to visit set `b` before set `a`, at given states.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Committor {
    /// The probability at each state.
    pub value: Vec<f64>,
    /// Its standard error from the coefficients of the model, where known.
    pub stderr: Option<Vec<f64>>,
}

/// The committor q at the states of a tile, (D, n), of a model of one or two coordinates: L q = 0, q = 0 in `a` and 1
/// in `b`.
///
/// # Errors
/// When the model has more coordinates, a set holds no state near the samples, or the work is stopped.
pub fn committor(
    model: &LangevinModel,
    a: &Region,
    b: &Region,
    x: &[f64],
    config: &PassageConfig,
    control: &Control,
) -> Result<Committor> {
    let dim = model.dim();
    if dim > 2 {
        return Err(Error::input(format!(
            "committors are computed in one and two coordinates, and the model has {dim}"
        )));
    }
    a.require(dim, "a")?;
    b.require(dim, "b")?;
    let at = |model: &LangevinModel, nodes: usize| -> Result<Vec<f64>> {
        let grid = GridGenerator::new(model, nodes, &[a, b]);
        let (from, to) = (grid.within(a), grid.within(b));
        if !(from.contains(&true) && to.contains(&true)) {
            return Err(Error::input(
                "a set holds no state near the samples; choose another set",
            ));
        }
        let value = |(a, b): (&bool, &bool)| match (a, b) {
            (_, true) => Some(1.0),
            (true, false) => Some(0.0),
            (false, false) => None,
        };
        let fixed: Vec<Option<f64>> = from.iter().zip(&to).map(value).collect();
        let q = grid.solve(0.0, &fixed)?;
        let n = x.len() / dim;
        let state = |s: usize| (0..dim).map(|i| x[i * n + s]).collect::<Vec<f64>>();
        Ok((0..n)
            .map(|s| grid.interpolate(&q, &state(s)).clamp(0.0, 1.0))
            .collect())
    };
    let value = at(model, config.nodes.unwrap_or(NODES[dim - 1]))?;
    control.advance(0)?;
    let coarse = config.nodes.unwrap_or(COARSE[dim - 1]).min(COARSE[dim - 1]);
    let centre = at(model, coarse)?;
    let replicates = model.replicates();
    let moved = replicates.par_iter().map(|replicate| {
        control.advance(0)?;
        Ok(at(replicate, coarse).unwrap_or_else(|_| centre.clone()))
    });
    let moved = moved.collect::<Result<Vec<Vec<f64>>>>()?;
    let error = |s: usize| {
        let squares = moved.iter().map(|q| (q[s] - centre[s]).powi(2));
        squares.sum::<f64>().sqrt()
    };
    Ok(Committor {
        stderr: (!moved.is_empty()).then(|| (0..value.len()).map(error).collect()),
        value,
    })
}
