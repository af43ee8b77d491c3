//! What a network computes: values, directional derivatives, parameter gradients.

use super::mlp::Mlp;

/// States, and directions along which the output is differentiated at each of them.
#[derive(Clone, Copy, Debug)]
pub struct Batch<'a> {
    /// Number of states n.
    pub states: usize,
    /// The states x, of shape (inputs, n).
    pub x: &'a [f32],
    /// Number of directions at each state; zero asks for values alone.
    pub directions: usize,
    /// The directions ẋ, of shape (directions, inputs, n).
    pub tangents: &'a [f32],
}

impl<'a> Batch<'a> {
    /// States without directions.
    pub fn new(states: usize, x: &'a [f32]) -> Self {
        Self {
            states,
            x,
            directions: 0,
            tangents: &[],
        }
    }
}

/// The outputs that a loss reads for some states, and the buffers for its derivatives.
#[derive(Debug)]
pub struct Tile<'a> {
    /// The column of the batch at which the tile begins.
    pub first: usize,
    /// Number of columns.
    pub states: usize,
    /// The output y, of shape (outputs, states).
    pub y: &'a [f32],
    /// The directional derivatives ẏ = (∂y/∂x) ẋ, of shape (directions, outputs, states).
    pub dy: &'a [f32],
    /// ∂L/∂y, all of it to be written, of the shape of `y`.
    pub y_bar: &'a mut [f32],
    /// ∂L/∂ẏ, all of it to be written, of the shape of `dy`.
    pub dy_bar: &'a mut [f32],
}

/// A device that evaluates and differentiates networks.
///
/// Results depend on the network and the batch alone, not on the number of threads. Slices of a
/// wrong length are a fault of the caller and panic.
pub trait Engine: Send + Sync {
    /// The output `y`, of shape (outputs, n), and its directional derivatives `dy`, of shape
    /// (directions, outputs, n).
    fn evaluate(&self, mlp: &Mlp, batch: &Batch, y: &mut [f32], dy: &mut [f32]);

    /// Adds ∂L/∂parameters to `gradient` and returns L, the sum of what `loss` returns over the
    /// tiles of the batch; exact, the path through `dy` included. Every column is in one tile; the
    /// tiles come in any order, from any thread.
    fn gradient(
        &self,
        mlp: &Mlp,
        batch: &Batch,
        loss: &(dyn Fn(Tile) -> f64 + Sync),
        gradient: &mut [f32],
    ) -> f64;
}
