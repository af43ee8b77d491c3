//! Initial states with a partner at every lag, and the operator on them.

use std::ops::Range;

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};
use ndarray::ArrayView2;
use rayon::prelude::*;

use super::tensor::TensorMap;
use crate::control::Control;
use crate::data::{Standardiser, States};
use crate::error::Result;
use crate::lagged::{PairTile, Pool};
use crate::mobility::conditional::{Channels, ConditionalOperator, PairValues};
use crate::random::{Purpose, Stream};
use crate::score::Windows;

/// States whose sums are formed by one thread.
const CHUNK: usize = 512;

/// Some initial states, the same at all lags: the network is evaluated once for all of them.
pub(super) struct Slice {
    /// What the network sees, (inputs, columns); the columns of a chunk follow each other.
    pub(super) x: Vec<f32>,
    pub(super) columns: usize,
    channels: Channels,
    chunks: Vec<Chunk>,
}

/// All of some states that does not depend on the network.
struct Chunk {
    states: usize,
    columns: Range<usize>,
    /// ∇φ_n(x_0), (n, D, state).
    gradients: Vec<f32>,
    lags: Vec<Partners>,
}

/// φ_m(x_t) − b_m(x_0), (m, state), and s_{t|0}, (D, state), at one lag.
struct Partners {
    future: Vec<f32>,
    score: Vec<f32>,
}

/// A\[δM\] at some lags, (lag, equation), and ⟨δM⟩, (c·c).
#[derive(Clone)]
pub(super) struct Applied {
    pub(super) operator: Vec<f64>,
    pub(super) mean: Vec<f64>,
}

/// Where states are drawn from.
pub(super) struct Source<'a> {
    pub(super) operator: &'a ConditionalOperator<'a>,
    pub(super) windows: &'a Windows,
    pub(super) standardiser: &'a Standardiser,
    pub(super) seed: u64,
    pub(super) control: &'a Control,
}

impl Source<'_> {
    /// Slice number `index`, of about so many states.
    pub(super) fn slice(&self, pool: &Pool, states: usize, index: u64) -> Result<Slice> {
        let chunks = (0..states.div_ceil(CHUNK).max(1) as u64)
            .into_par_iter()
            .map(|k| {
                let stream = Stream::new(self.seed, Purpose::Analysis, index << 32 | k);
                self.chunk(pool, states.min(CHUNK), stream)
            })
            .collect::<Result<Vec<_>>>()?;
        Ok(Slice::new(chunks, self.windows, self.operator.channels()))
    }

    /// A chunk, and what the network sees of it, (inputs, columns of the chunk).
    fn chunk(&self, pool: &Pool, states: usize, mut stream: Stream) -> Result<(Chunk, Vec<f32>)> {
        self.control.advance(0)?;
        let (grid, dim) = (self.operator.grid(), self.standardiser.scale.len());
        let mut tile = PairTile {
            initial: States::zeros(dim, states),
            ..PairTile::default()
        };
        let mut futures = vec![(States::zeros(dim, states), vec![0.0; states]); grid.len()];
        let mut rows = Vec::new();
        for s in 0..states {
            let (trajectory, initial) = pool.fan(grid, &mut stream, &mut rows)?;
            tile.initial.place(s, trajectory, initial);
            for (row, (future, times)) in rows.iter().zip(&mut futures) {
                future.place(s, trajectory, *row);
                times[s] = trajectory.time(*row) - trajectory.time(initial);
            }
        }
        let single = |values: &[f64]| values.iter().map(|v| *v as f32).collect::<Vec<f32>>();
        let mut values = PairValues::default();
        let lags = futures
            .into_iter()
            .enumerate()
            .map(|(lag, (future, times))| {
                tile.lag = lag;
                tile.future = future;
                tile.times = times;
                self.operator.values(&tile, &mut values);
                Partners {
                    future: single(&values.future),
                    score: single(&values.score),
                }
            });
        let lags = lags.collect();
        let library = self.operator.initial();
        let mut gradients = vec![0.0; library.len() * dim * states];
        library.gradient_tile(&tile.initial, &mut gradients);
        let z = self.standardiser.forward_tile(&tile.initial);
        let mut inputs = vec![0.0; self.windows.rows() * self.windows.sites * states];
        self.windows.gather(&z, &mut inputs);
        let chunk = Chunk {
            states,
            columns: 0..self.windows.sites * states,
            gradients: single(&gradients),
            lags,
        };
        Ok((chunk, inputs))
    }
}

impl Slice {
    fn new(chunks: Vec<(Chunk, Vec<f32>)>, windows: &Windows, channels: Channels) -> Self {
        let columns = chunks.iter().map(|(chunk, _)| chunk.columns.len()).sum();
        let mut slice = Self {
            x: vec![0.0; windows.rows() * columns],
            columns,
            channels,
            chunks: Vec::new(),
        };
        let mut first = 0;
        for (mut chunk, inputs) in chunks {
            let width = chunk.columns.len();
            chunk.columns = first..first + width;
            for (row, inputs) in inputs.chunks_exact(width).enumerate() {
                slice.x[row * columns + first..][..width].copy_from_slice(inputs);
            }
            slice.chunks.push(chunk);
            first += width;
        }
        slice
    }

    /// Number of initial states.
    fn states(&self) -> usize {
        self.chunks.iter().map(|chunk| chunk.states).sum()
    }

    /// A\[δM\] at some lags and ⟨δM⟩, from outputs `y` of the network, (outputs, columns).
    pub(super) fn apply(&self, map: &TensorMap, y: &[f32], lags: &[usize]) -> Applied {
        let parts: Vec<Applied> = self
            .chunks
            .par_iter()
            .map_init(Work::default, |work, chunk| {
                work.load(self, chunk, map, y);
                chunk.apply(map, lags, work)
            })
            .collect();
        let mut total = parts[0].clone();
        for part in &parts[1..] {
            for (sum, part) in [
                (&mut total.operator, &part.operator),
                (&mut total.mean, &part.mean),
            ] {
                sum.iter_mut()
                    .zip(part)
                    .for_each(|(sum, part)| *sum += part);
            }
        }
        let states = self.states() as f64;
        let (m, n) = self.channels.functions();
        let sums = total.operator.chunks_exact(m * n);
        let averages = sums.flat_map(|sums| {
            let sums = ArrayView2::from_shape((m, n), sums).expect("(m, n)");
            self.channels.average(sums)
        });
        total.operator = averages.map(|v| v / states).collect();
        total
            .mean
            .iter_mut()
            .for_each(|v| *v /= self.columns as f64);
        total
    }

    /// ∂J/∂y from ∂J/∂A and ∂J/∂⟨δM⟩.
    pub(super) fn pull_back(
        &self,
        map: &TensorMap,
        y: &[f32],
        lags: &[usize],
        bar: &Applied,
    ) -> Vec<f32> {
        let shares = (1.0 / self.states() as f64, 1.0 / self.columns as f64);
        let equations = bar.operator.chunks_exact(self.channels.len());
        let operator = equations.flat_map(|bar| self.channels.spread(bar));
        let bar = &Applied {
            operator: operator.collect(),
            mean: bar.mean.clone(),
        };
        let parts: Vec<Vec<f32>> = self
            .chunks
            .par_iter()
            .map_init(Work::default, |work, chunk| {
                work.load(self, chunk, map, y);
                chunk.pull_back(map, lags, bar, shares, work)
            })
            .collect();
        let mut y_bar = vec![0.0; y.len()];
        for (chunk, part) in self.chunks.iter().zip(&parts) {
            let width = chunk.columns.len();
            for (row, part) in part.chunks_exact(width).enumerate() {
                y_bar[row * self.columns + chunk.columns.start..][..width].copy_from_slice(part);
            }
        }
        y_bar
    }
}

/// Buffers of one thread.
#[derive(Default)]
struct Work {
    /// Outputs of the network in the chunk, (outputs, columns of the chunk).
    y: Vec<f32>,
    /// δM, (c·c, columns of the chunk).
    tensors: Vec<f64>,
    /// δM ∇φ_n, or the derivative of the loss by it, (n, D, state).
    flows: Vec<f32>,
    /// s_{t|0}ᵀ δM ∇φ_n, or the derivative of the loss by it, (n, state).
    along: Vec<f32>,
    /// (m, n) in single precision.
    product: Vec<f32>,
}

impl Work {
    fn load(&mut self, slice: &Slice, chunk: &Chunk, map: &TensorMap, y: &[f32]) {
        self.y.clear();
        for row in y.chunks_exact(slice.columns) {
            self.y.extend(&row[chunk.columns.clone()]);
        }
        let c = map.size();
        self.tensors.resize(c * c * chunk.columns.len(), 0.0);
        self.flows.resize(chunk.gradients.len(), 0.0);
        self.along.resize(chunk.functions() * chunk.states, 0.0);
        self.product.resize(
            chunk.functions() * chunk.lags[0].future.len() / chunk.states,
            0.0,
        );
    }
}

impl Chunk {
    fn dim(&self) -> usize {
        self.lags[0].score.len() / self.states
    }

    /// Number of the φ_n.
    fn functions(&self) -> usize {
        self.gradients.len() / self.lags[0].score.len()
    }

    /// Calls `visit` with the places of δM_ab of a site, of the flow along a and of the slope along b, for
    /// every φ_n.
    fn contract(&self, c: usize, mut visit: impl FnMut(usize, usize, usize)) {
        let (n, dim) = (self.states, self.dim());
        for f in 0..self.functions() {
            for i in 0..dim {
                let site = i / c;
                for b in 0..c {
                    let tensor = (i % c * c + b) * self.columns.len() + site * n;
                    visit(tensor, (f * dim + i) * n, (f * dim + site * c + b) * n);
                }
            }
        }
    }

    /// Sums over the states of the chunk.
    fn apply(&self, map: &TensorMap, lags: &[usize], work: &mut Work) -> Applied {
        let (n, dim, count) = (self.states, self.dim(), self.functions());
        map.values(&work.y, &mut work.tensors);
        let tensors = work.tensors.chunks_exact_mut(self.columns.len());
        let mean = tensors.zip(map.phi()).map(|(row, phi)| {
            row.iter_mut().for_each(|m| *m -= phi);
            row.iter().sum()
        });
        let mean = mean.collect();
        work.flows.fill(0.0);
        self.contract(map.size(), |tensor, flow, slope| {
            let factors = work.tensors[tensor..][..n].iter();
            let factors = factors.zip(&self.gradients[slope..][..n]);
            for (flow, (m, g)) in work.flows[flow..][..n].iter_mut().zip(factors) {
                *flow += *m as f32 * g;
            }
        });
        let mut operator = Vec::with_capacity(lags.len() * work.product.len());
        for &lag in lags {
            let Partners { future, score } = &self.lags[lag];
            work.along.fill(0.0);
            for (f, along) in work.along.chunks_exact_mut(n).enumerate() {
                for i in 0..dim {
                    let factors = score[i * n..][..n].iter();
                    let factors = factors.zip(&work.flows[(f * dim + i) * n..][..n]);
                    along
                        .iter_mut()
                        .zip(factors)
                        .for_each(|(a, (s, v))| *a += s * v);
                }
            }
            let future = MatRef::from_row_major_slice(future, future.len() / n, n);
            let along = MatRef::from_row_major_slice(&work.along, count, n);
            let product =
                MatMut::from_row_major_slice_mut(&mut work.product, future.nrows(), count);
            let replace = Accum::Replace;
            matmul(product, replace, future, along.transpose(), -1.0, Par::Seq);
            operator.extend(work.product.iter().map(|v| f64::from(*v)));
        }
        Applied { operator, mean }
    }

    /// ∂J/∂y, (outputs, columns of the chunk); `shares` are those of a state and of a column in the
    /// averages.
    fn pull_back(
        &self,
        map: &TensorMap,
        lags: &[usize],
        bar: &Applied,
        shares: (f64, f64),
        work: &mut Work,
    ) -> Vec<f32> {
        let (n, dim, count) = (self.states, self.dim(), self.functions());
        work.flows.fill(0.0);
        for (&lag, bar) in lags
            .iter()
            .zip(bar.operator.chunks_exact(work.product.len()))
        {
            let Partners { future, score } = &self.lags[lag];
            for (out, bar) in work.product.iter_mut().zip(bar) {
                *out = -(bar * shares.0) as f32;
            }
            let future = MatRef::from_row_major_slice(future, future.len() / n, n);
            let weights = MatRef::from_row_major_slice(&work.product, future.nrows(), count);
            let along = MatMut::from_row_major_slice_mut(&mut work.along, count, n);
            let replace = Accum::Replace;
            matmul(along, replace, weights.transpose(), future, 1.0, Par::Seq);
            for (f, along) in work.along.chunks_exact(n).enumerate() {
                for i in 0..dim {
                    let factors = score[i * n..][..n].iter().zip(along);
                    let flow = work.flows[(f * dim + i) * n..][..n].iter_mut();
                    flow.zip(factors).for_each(|(v, (s, a))| *v += s * a);
                }
            }
        }
        for (row, bar) in work
            .tensors
            .chunks_exact_mut(self.columns.len())
            .zip(&bar.mean)
        {
            row.fill(bar * shares.1);
        }
        self.contract(map.size(), |tensor, flow, slope| {
            let factors = work.flows[flow..][..n].iter();
            let factors = factors.zip(&self.gradients[slope..][..n]);
            for (m, (v, g)) in work.tensors[tensor..][..n].iter_mut().zip(factors) {
                *m += f64::from(v * g);
            }
        });
        let mut y_bar = vec![0.0; work.y.len()];
        map.pull_back(&work.y, &work.tensors, &mut y_bar);
        y_bar
    }
}
