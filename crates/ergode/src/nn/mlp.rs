//! The network: its shape and its parameters.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::random::{Purpose, Stream};

/// f(x) = W_L silu(W_{L−1} ⋯ silu(W_1 x + b_1) ⋯) + b_L, with silu(z) = z/(1 + e^{−z}).
///
/// The parameters are one flat vector: for each layer the rows of W, then b.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked")]
pub struct Mlp {
    widths: Vec<usize>,
    parameters: Vec<f32>,
}

/// A network read from a file, before its shape is checked.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Unchecked {
    widths: Vec<usize>,
    parameters: Vec<f32>,
}

impl TryFrom<Unchecked> for Mlp {
    type Error = Error;

    fn try_from(read: Unchecked) -> Result<Self> {
        let Unchecked { widths, parameters } = read;
        check_widths(&widths)?;
        let expected = parameter_count(&widths);
        if parameters.len() != expected {
            return Err(Error::input(format!(
                "a network of widths {widths:?} has {expected} parameters, not {}; the file it was \
                 read from is damaged or belongs to another network",
                parameters.len()
            )));
        }
        Ok(Self { widths, parameters })
    }
}

/// One affine layer: its shape, and where its parameters lie in the flat vector.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Layer {
    pub(super) inputs: usize,
    pub(super) outputs: usize,
    /// W, of shape (outputs, inputs).
    pub(super) weights: Range<usize>,
    /// b, of shape (outputs).
    pub(super) bias: Range<usize>,
}

impl Mlp {
    /// A network of these widths, from the inputs to the outputs, with random weights.
    ///
    /// Weights are normal with standard deviation 1/√fan-in, so that inputs of order one give
    /// outputs of order one at every depth; biases are zero.
    ///
    /// # Errors
    /// When there are fewer than two widths, or one is zero.
    pub fn new(widths: &[usize], seed: u64) -> Result<Self> {
        check_widths(widths)?;
        let mut mlp = Self {
            widths: widths.to_vec(),
            parameters: vec![0.0; parameter_count(widths)],
        };
        for (index, layer) in layers(widths).enumerate() {
            let mut stream = Stream::new(seed, Purpose::Weights, index as u64);
            let scale = 1.0 / (layer.inputs as f64).sqrt();
            for weight in &mut mlp.parameters[layer.weights] {
                *weight = (scale * stream.normal()) as f32;
            }
        }
        Ok(mlp)
    }

    /// The same network with a last layer of zeros, so that training starts at f = 0.
    pub fn with_zero_output(mut self) -> Self {
        if let Some(layer) = self.layers().last() {
            self.parameters[layer.weights].fill(0.0);
            self.parameters[layer.bias].fill(0.0);
        }
        self
    }

    /// The widths, from the inputs to the outputs.
    pub fn widths(&self) -> &[usize] {
        &self.widths
    }

    /// The dimension of x.
    pub fn inputs(&self) -> usize {
        self.widths[0]
    }

    /// The dimension of f(x).
    pub fn outputs(&self) -> usize {
        self.widths[self.widths.len() - 1]
    }

    /// All parameters.
    pub fn parameters(&self) -> &[f32] {
        &self.parameters
    }

    /// All parameters, to be changed.
    pub fn parameters_mut(&mut self) -> &mut [f32] {
        &mut self.parameters
    }

    /// The layers, from the inputs to the outputs.
    pub(super) fn layers(&self) -> impl Iterator<Item = Layer> + use<'_> {
        layers(&self.widths)
    }

    /// The layers and all parameters, to be changed layer by layer.
    pub(super) fn layers_mut(&mut self) -> (impl Iterator<Item = Layer> + use<'_>, &mut [f32]) {
        (layers(&self.widths), &mut self.parameters)
    }
}

fn check_widths(widths: &[usize]) -> Result<()> {
    if widths.len() < 2 || widths.contains(&0) {
        return Err(Error::input(format!(
            "a network needs the widths of its inputs, hidden layers and outputs, all at least one, \
             not {widths:?}"
        )));
    }
    Ok(())
}

fn layers(widths: &[usize]) -> impl Iterator<Item = Layer> + use<'_> {
    let mut start = 0;
    widths.windows(2).map(move |pair| {
        let (inputs, outputs) = (pair[0], pair[1]);
        let weights = start..start + inputs * outputs;
        let bias = weights.end..weights.end + outputs;
        start = bias.end;
        Layer {
            inputs,
            outputs,
            weights,
            bias,
        }
    })
}

fn parameter_count(widths: &[usize]) -> usize {
    layers(widths).last().map_or(0, |layer| layer.bias.end)
}
