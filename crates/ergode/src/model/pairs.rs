//! Pairs of trajectories with a step and its half, on the same Brownian paths.

use pulp::Arch;
use rayon::prelude::*;

use super::LangevinModel;
use crate::control::Control;
use crate::error::Result;
use crate::random::{LaneStreams, Purpose, Stream};
use crate::simd::{AlignedBuffer, GROUP};
use crate::simulate::{Scheme, Sde};

/// Trajectories that one task advances; fixed, so that results do not depend on the threads.
const LANES: usize = 4 * GROUP;

/// Standard deviations beyond which a coordinate counts as so far away in means and mean squares: averages of the
/// squares of a heavy tail need not settle, however long the runs.
const REACH: f64 = 5.0;

/// Steps whose normal numbers are drawn together, after which the work may stop.
const BLOCK: usize = 16;

/// What is run with steps Δ and Δ/2: equation and scheme, Δ, the steps that are left out at the start and those
/// that are averaged, the random seed.
pub(super) struct Runs<'a> {
    pub(super) model: &'a LangevinModel,
    pub(super) equation: &'a dyn Sde,
    pub(super) scheme: Scheme,
    pub(super) dt: f64,
    pub(super) burn_in: usize,
    pub(super) steps: usize,
    pub(super) seed: u64,
}

impl Runs<'_> {
    /// Of each pair from number `have` to `wanted`, rounded up to whole tiles: averages over time of z_i and z_i²,
    /// of an angle cos z_i and sin z_i, of the run with Δ less those of the run with Δ/2. What a pair does
    /// depends on its number alone.
    pub(super) fn differences(
        &self,
        have: usize,
        wanted: usize,
        control: &Control,
    ) -> Result<Vec<Vec<f64>>> {
        let tiles = have.div_ceil(LANES)..wanted.div_ceil(LANES).max(1);
        let pairs = tiles.into_par_iter().map(|tile| {
            let mut pair = Pair::new(self, tile * LANES);
            for (steps, sum) in [(self.burn_in, false), (self.steps, true)] {
                for first in (0..steps).step_by(BLOCK) {
                    pair.advance(self, BLOCK.min(steps - first), sum);
                    control.advance(0)?;
                }
            }
            Ok(pair.differences(self.steps))
        });
        Ok(pairs.collect::<Result<Vec<_>>>()?.concat())
    }
}

/// A tile of pairs.
struct Pair {
    coarse: AlignedBuffer,
    fine: AlignedBuffer,
    streams: LaneStreams,
    /// Normal numbers of the fine and of the coarse steps.
    normals: [AlignedBuffer; 2],
    /// Sums over the steps, (function, lane).
    sums: Vec<f64>,
}

impl Pair {
    fn new(runs: &Runs, first: usize) -> Self {
        let dim = runs.model.dim();
        let mut coarse = AlignedBuffer::zeros(dim * LANES);
        let mut start = vec![0.0; dim];
        for lane in 0..LANES {
            let index = (first + lane) as u64;
            let mut stream = Stream::new(runs.seed, Purpose::Initial, index);
            runs.model.draw_start(&mut stream, &mut start);
            for (i, x) in start.iter().enumerate() {
                coarse.as_mut_slice()[i * LANES + lane] = *x;
            }
        }
        let stream = |lane: usize| Stream::new(runs.seed, Purpose::Noise, (first + lane) as u64);
        let streams: Vec<Stream> = (0..LANES).map(stream).collect();
        Self {
            fine: coarse.clone(),
            coarse,
            streams: LaneStreams::new(&streams),
            normals: [AlignedBuffer::default(), AlignedBuffer::default()],
            sums: vec![0.0; 2 * dim * LANES],
        }
    }

    fn advance(&mut self, runs: &Runs, steps: usize, sum: bool) {
        let arch = Arch::new();
        let size = runs.scheme.normals_per_step(runs.equation.noise_dim()) * LANES;
        let [fine, coarse] = &mut self.normals;
        fine.resize(2 * steps * size);
        coarse.resize(steps * size);
        self.streams.fill_normal(arch, fine.as_mut_slice());
        let pairs = fine.as_slice().chunks_exact(2 * size);
        for (whole, halves) in coarse.as_mut_slice().chunks_exact_mut(size).zip(pairs) {
            let (first, second) = halves.split_at(size);
            for (whole, (a, b)) in whole.iter_mut().zip(first.iter().zip(second)) {
                *whole = (a + b) * 0.5f64.sqrt();
            }
        }
        let of = |state: &mut AlignedBuffer, dt: f64, normals: &[f64]| {
            let state = state.as_mut_slice();
            runs.equation
                .advance(runs.scheme, dt, LANES, state, normals);
        };
        if !sum {
            of(&mut self.coarse, runs.dt, coarse.as_slice());
            of(&mut self.fine, 0.5 * runs.dt, fine.as_slice());
            return;
        }
        for step in 0..steps {
            let normals = &coarse.as_slice()[step * size..][..size];
            of(&mut self.coarse, runs.dt, normals);
            let normals = &fine.as_slice()[2 * step * size..][..2 * size];
            of(&mut self.fine, 0.5 * runs.dt, normals);
            let (states, sums) = ((&self.coarse, &self.fine), &mut self.sums);
            arch.dispatch(|| add(runs.model, states, sums));
        }
    }

    /// Of every trajectory, the averages over time.
    fn differences(&self, steps: usize) -> Vec<Vec<f64>> {
        let of = |lane: usize| {
            let sums = self.sums.iter().skip(lane).step_by(LANES);
            sums.map(|sum| sum / steps as f64).collect()
        };
        (0..LANES).map(of).collect()
    }
}

/// Adds what the coarse states have more than the fine ones.
#[inline(always)]
fn add(model: &LangevinModel, (coarse, fine): (&AlignedBuffer, &AlignedBuffer), sums: &mut [f64]) {
    let standardiser = model.score.confinement().standardiser();
    let (means, squares) = sums.split_at_mut(model.dim() * LANES);
    for i in 0..model.dim() {
        let rows = i * LANES..(i + 1) * LANES;
        let (mean, rate) = (standardiser.mean[i], 1.0 / standardiser.scale[i]);
        let states = coarse.as_slice()[rows.clone()].iter();
        let states = states.zip(&fine.as_slice()[rows.clone()]);
        let sums = means[rows.clone()].iter_mut().zip(&mut squares[rows]);
        if standardiser.is_circle(i) {
            for ((mean_sum, square_sum), (coarse, fine)) in sums.zip(states) {
                let (a, b) = ((coarse - mean) * rate, (fine - mean) * rate);
                *mean_sum += a.cos() - b.cos();
                *square_sum += a.sin() - b.sin();
            }
            continue;
        }
        for ((mean_sum, square_sum), (coarse, fine)) in sums.zip(states) {
            let (a, b) = (held((coarse - mean) * rate), held((fine - mean) * rate));
            *mean_sum += a - b;
            *square_sum += a * a - b * b;
        }
    }
}

/// z limited to the reach; NaN where it is not finite, which a clamp alone would hide.
#[inline(always)]
fn held(z: f64) -> f64 {
    z.clamp(-REACH, REACH) + 0.0 * z
}
