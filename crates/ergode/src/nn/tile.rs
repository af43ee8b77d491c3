//! Forward and backward pass of one tile of states, whose activations stay in the cache.
//!
//! A tile carries 1 + d blocks of rows through the layers, one row per state: the values, and the
//! derivatives along each of d directions. The affine maps treat all rows alike, so that a layer is
//! one product for all of them.

use ndarray::ArrayViewMut2;
use pulp::Arch;

use super::activation::{Activate, Deactivate};
use super::engine::{Batch, Tile};
use super::mlp::{Layer, Mlp};
use super::product::{Rows, Source, columns, multiply, outer, pack, stride, sum_rows};
use crate::simd::AlignedBuffer;

/// Bytes of activations in a tile: half of a common second-level cache, which also has to hold
/// weights and their gradient.
const TILE_BYTES: usize = 384 << 10;

/// Tiles have a multiple of this number of states, where they are not cut by the end of the batch.
const TILE_STEP: usize = 24;

/// The offsets of one layer in the packed weights and in a partial gradient.
#[derive(Debug)]
struct Place {
    layer: Layer,
    /// Wᵀ for the forward product.
    forward: usize,
    /// W for the backward product; the first layer needs none.
    backward: usize,
    /// b in whole lines.
    bias: usize,
    /// The derivative of W, transposed where the layer widens.
    gradient: usize,
    /// The derivative of b.
    bias_gradient: usize,
}

impl Place {
    /// Whether the derivative of W is kept transposed: vectors run along the wider side.
    fn widens(&self) -> bool {
        self.layer.outputs > self.layer.inputs
    }

    /// Rows of the derivative of W, and numbers in a row.
    fn gradient_shape(&self) -> (usize, usize) {
        let Layer {
            inputs, outputs, ..
        } = self.layer;
        (inputs.min(outputs), columns(inputs.max(outputs)))
    }
}

/// The work plan for a network of given widths.
#[derive(Debug, Default)]
pub(super) struct Plan {
    widths: Vec<usize>,
    directions: usize,
    places: Vec<Place>,
    packed: usize,
    partial: usize,
    /// States in a tile.
    pub(super) states: usize,
}

impl Plan {
    /// Make this the plan for `mlp` with this number of directions.
    pub(super) fn update(&mut self, mlp: &Mlp, directions: usize) {
        if self.widths == mlp.widths() && self.directions == directions {
            return;
        }
        *self = Self {
            widths: mlp.widths().to_vec(),
            directions,
            ..Self::default()
        };
        for layer in mlp.layers() {
            let Layer {
                inputs, outputs, ..
            } = layer;
            let forward = self.packed;
            let backward = forward + inputs * columns(outputs);
            let bias = backward + outputs * columns(inputs);
            self.packed = bias + columns(outputs);
            let mut place = Place {
                layer,
                forward,
                backward,
                bias,
                gradient: self.partial,
                bias_gradient: 0,
            };
            let (rows, row) = place.gradient_shape();
            place.bias_gradient = place.gradient + rows * row;
            self.partial = place.bias_gradient + columns(outputs);
            self.places.push(place);
        }
        self.states = self.choose_states();
    }

    fn choose_states(&self) -> usize {
        let blocks = 1 + self.directions;
        // Rows of a, z and, with directions, silu″ at each level; two of derivatives.
        let rows = 2 * blocks + usize::from(self.directions > 0);
        let all: usize = self.widths.iter().map(|&width| stride(width)).sum();
        let widest = self.widths.iter().map(|&width| stride(width)).max();
        let numbers = rows * all + 2 * blocks * widest.unwrap_or(0);
        let states = TILE_BYTES / (numbers * size_of::<f32>());
        (states / TILE_STEP * TILE_STEP).clamp(TILE_STEP, 16 * TILE_STEP)
    }

    /// Rows that `states` states take.
    fn rows(&self, states: usize) -> usize {
        (1 + self.directions) * states
    }

    /// Length of a partial gradient.
    pub(super) fn partial_len(&self) -> usize {
        self.partial
    }

    /// Write the weights in the order in which the products read them.
    pub(super) fn pack(&self, arch: Arch, mlp: &Mlp, packed: &mut AlignedBuffer<f32>) {
        packed.resize(self.packed);
        let packed = packed.as_mut_slice();
        for (index, place) in self.places.iter().enumerate() {
            let layer = &place.layer;
            let (inputs, outputs) = (layer.inputs, layer.outputs);
            let weights = &mlp.parameters()[layer.weights.clone()];
            let forward = &mut packed[place.forward..place.backward];
            pack(arch, Source::Columns, weights, inputs, outputs, forward);
            if index > 0 {
                let backward = &mut packed[place.backward..place.bias];
                pack(arch, Source::Rows, weights, outputs, inputs, backward);
            }
            let bias = &mut packed[place.bias..place.bias + columns(outputs)];
            bias[..outputs].copy_from_slice(&mlp.parameters()[layer.bias.clone()]);
            bias[outputs..].fill(0.0);
        }
    }

    /// Add a partial gradient to the flat vector of derivatives.
    pub(super) fn add_partial(&self, partial: &[f32], gradient: &mut [f32]) {
        for place in &self.places {
            let layer = &place.layer;
            let (_, row) = place.gradient_shape();
            let partial_weights = &partial[place.gradient..place.bias_gradient];
            let weights = &mut gradient[layer.weights.clone()];
            for (o, weights) in weights.chunks_exact_mut(layer.inputs).enumerate() {
                if place.widens() {
                    for (i, weight) in weights.iter_mut().enumerate() {
                        *weight += partial_weights[i * row + o];
                    }
                } else {
                    for (weight, part) in weights.iter_mut().zip(&partial_weights[o * row..]) {
                        *weight += part;
                    }
                }
            }
            let bias = &mut gradient[layer.bias.clone()];
            for (bias, part) in bias.iter_mut().zip(&partial[place.bias_gradient..]) {
                *bias += part;
            }
        }
    }
}

/// The rows of one level of the network: the inputs, a hidden layer, or the outputs.
#[derive(Debug, Default)]
struct Level {
    z: AlignedBuffer<f32>,
    a: AlignedBuffer<f32>,
    curvature: AlignedBuffer<f32>,
}

/// Work space of one tile, kept between calls.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    levels: Vec<Level>,
    bar: AlignedBuffer<f32>,
    next_bar: AlignedBuffer<f32>,
    /// y, then ẏ, of shape (1 + directions, outputs, states).
    outputs: Vec<f32>,
    /// Derivatives of the loss, of the same shape.
    outputs_bar: Vec<f32>,
}

/// A tile of a batch, with all that is needed to work on it.
pub(super) struct Task<'a> {
    arch: Arch,
    plan: &'a Plan,
    packed: &'a [f32],
    batch: &'a Batch<'a>,
    /// The column of the batch at which the tile begins.
    first: usize,
    states: usize,
}

impl<'a> Task<'a> {
    /// The tile number `tile` of the batch, with the weights as [`Plan::pack`] wrote them.
    pub(super) fn new(
        arch: Arch,
        plan: &'a Plan,
        packed: &'a [f32],
        batch: &'a Batch<'a>,
        tile: usize,
    ) -> Self {
        let first = tile * plan.states;
        Self {
            arch,
            plan,
            packed,
            batch,
            first,
            states: plan.states.min(batch.states - first),
        }
    }

    /// Write y and ẏ to the columns of the tile, (outputs, states) and (directions × outputs, states).
    pub(super) fn evaluate(
        &self,
        scratch: &mut Scratch,
        mut y: ArrayViewMut2<f32>,
        mut dy: ArrayViewMut2<f32>,
    ) {
        self.forward(scratch);
        let rows = scratch.outputs.chunks_exact(self.states);
        let targets = y.rows_mut().into_iter().chain(dy.rows_mut());
        for (mut target, row) in targets.zip(rows) {
            target.assign(&ndarray::ArrayView1::from(row));
        }
    }

    /// Write the derivatives of the loss to `partial`, or add them with `add`, and return the loss.
    pub(super) fn gradient(
        &self,
        scratch: &mut Scratch,
        loss: &(dyn Fn(Tile) -> f64 + Sync),
        add: bool,
        partial: &mut [f32],
    ) -> f64 {
        self.forward(scratch);
        scratch.outputs_bar.resize(scratch.outputs.len(), 0.0);
        let values = scratch.outputs.len() / (1 + self.plan.directions);
        let (y, dy) = scratch.outputs.split_at(values);
        let (y_bar, dy_bar) = scratch.outputs_bar.split_at_mut(values);
        let loss = loss(Tile {
            first: self.first,
            states: self.states,
            y,
            dy,
            y_bar,
            dy_bar,
        });
        self.backward(scratch, add, partial);
        loss
    }

    /// From the columns of the batch to `scratch.outputs`.
    fn forward(&self, scratch: &mut Scratch) {
        let (plan, rows) = (self.plan, self.plan.rows(self.states));
        scratch
            .levels
            .resize_with(plan.widths.len(), Level::default);
        let input = &mut scratch.levels[0].a;
        input.resize(rows * stride(plan.widths[0]));
        self.read_inputs(input.as_mut_slice());
        let last = plan.places.len() - 1;
        for (index, place) in plan.places.iter().enumerate() {
            let (inputs, outputs) = (place.layer.inputs, place.layer.outputs);
            let (below, above) = scratch.levels.split_at_mut(index + 1);
            let (below, above) = (&below[index], &mut above[0]);
            let a = Rows {
                data: below.a.as_slice(),
                width: inputs,
            };
            above.z.resize(rows * stride(outputs));
            let weights = &self.packed[place.forward..place.backward];
            multiply(self.arch, rows, a, weights, outputs, above.z.as_mut_slice());
            if index == last {
                break;
            }
            above.a.resize(rows * stride(outputs));
            let curved = if plan.directions > 0 { self.states } else { 0 };
            above.curvature.resize(curved * stride(outputs));
            Activate {
                states: self.states,
                width: outputs,
                bias: &self.packed[place.bias..],
                z: above.z.as_mut_slice(),
                a: above.a.as_mut_slice(),
                curvature: above.curvature.as_mut_slice(),
            }
            .run(self.arch);
        }
        self.write_outputs(scratch);
    }

    /// x and ẋ of the tile, one row per state.
    fn read_inputs(&self, rows: &mut [f32]) {
        let (n, width) = (self.batch.states, self.plan.widths[0]);
        let block = self.states * stride(width);
        let sources = [self.batch.x, self.batch.tangents];
        let sources = sources
            .iter()
            .flat_map(|source| source.chunks_exact(width * n));
        for (rows, source) in rows.chunks_exact_mut(block).zip(sources) {
            for i in 0..width {
                let column = &source[i * n + self.first..][..self.states];
                for (row, &value) in rows.chunks_exact_mut(stride(width)).zip(column) {
                    row[i] = value;
                }
            }
        }
    }

    /// y = z + b and ẏ = ż of the last level, one column per state.
    fn write_outputs(&self, scratch: &mut Scratch) {
        let plan = self.plan;
        let place = &plan.places[plan.places.len() - 1];
        let width = place.layer.outputs;
        let bias = &self.packed[place.bias..][..width];
        let z = scratch.levels[plan.places.len()].z.as_slice();
        scratch.outputs.resize(plan.rows(self.states) * width, 0.0);
        let blocks = z.chunks_exact(self.states * stride(width));
        let outputs = scratch.outputs.chunks_exact_mut(width * self.states);
        for (block, (rows, outputs)) in blocks.zip(outputs).enumerate() {
            for (j, column) in outputs.chunks_exact_mut(self.states).enumerate() {
                let shift = if block == 0 { bias[j] } else { 0.0 };
                for (value, row) in column.iter_mut().zip(rows.chunks_exact(stride(width))) {
                    *value = row[j] + shift;
                }
            }
        }
    }

    /// From `scratch.outputs_bar` to the derivatives of all parameters.
    fn backward(&self, scratch: &mut Scratch, add: bool, partial: &mut [f32]) {
        let (plan, rows) = (self.plan, self.plan.rows(self.states));
        self.read_outputs_bar(scratch);
        for (index, place) in plan.places.iter().enumerate().rev() {
            let (inputs, outputs) = (place.layer.inputs, place.layer.outputs);
            let below = &scratch.levels[index];
            let z_bar = Rows {
                data: scratch.bar.as_slice(),
                width: outputs,
            };
            let a = Rows {
                data: below.a.as_slice(),
                width: inputs,
            };
            let weights = &mut partial[place.gradient..place.bias_gradient];
            let (p, q) = if place.widens() {
                (a, z_bar)
            } else {
                (z_bar, a)
            };
            outer(self.arch, rows, p, q, add, weights);
            let bias = &mut partial[place.bias_gradient..][..columns(outputs)];
            sum_rows(self.arch, self.states, z_bar, add, bias);
            if index == 0 {
                break;
            }
            scratch.next_bar.resize(rows * stride(inputs));
            let weights = &self.packed[place.backward..place.bias];
            let next = scratch.next_bar.as_mut_slice();
            multiply(self.arch, rows, z_bar, weights, inputs, next);
            Deactivate {
                states: self.states,
                width: inputs,
                z: below.z.as_slice(),
                curvature: below.curvature.as_slice(),
                bar: next,
            }
            .run(self.arch);
            std::mem::swap(&mut scratch.bar, &mut scratch.next_bar);
        }
    }

    /// Derivatives with respect to y and ẏ, one row per state.
    fn read_outputs_bar(&self, scratch: &mut Scratch) {
        let width = self.plan.widths[self.plan.widths.len() - 1];
        let rows = self.plan.rows(self.states);
        scratch.bar.resize(rows * stride(width));
        let blocks = scratch.bar.as_mut_slice();
        let blocks = blocks.chunks_exact_mut(self.states * stride(width));
        let sources = scratch.outputs_bar.chunks_exact(width * self.states);
        for (rows, source) in blocks.zip(sources) {
            for (j, column) in source.chunks_exact(self.states).enumerate() {
                for (row, &value) in rows.chunks_exact_mut(stride(width)).zip(column) {
                    row[j] = value;
                }
            }
        }
    }
}
