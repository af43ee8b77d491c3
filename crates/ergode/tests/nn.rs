//! Networks: the engine against a plain scalar version in double precision, the optimiser against
//! its formulas, and the fit of a known function.

use ergode::{
    Adam, AdamConfig, Average, Batch, CpuEngine, Decay, Engine, Mlp, Purpose, Stream, Tile,
};

/// Largest relative error allowed to sums in single precision.
const SINGLE: f64 = 1e-5;

/// The network written out for one state, in double precision.
struct Scalar<'a> {
    widths: &'a [usize],
    parameters: Vec<f64>,
    /// Leave out the path from ẏ through silu″, as a defect that must be noticed.
    without_curvature: bool,
}

/// One layer at one state: z, and ż for each direction.
struct Layer {
    z: Vec<f64>,
    dz: Vec<Vec<f64>>,
}

fn silu(z: f64) -> (f64, f64, f64) {
    let sigma = 1.0 / (1.0 + (-z).exp());
    let slope = sigma * (1.0 + z * (1.0 - sigma));
    let curvature = sigma * (1.0 - sigma) * (2.0 + z * (1.0 - 2.0 * sigma));
    (z * sigma, slope, curvature)
}

impl<'a> Scalar<'a> {
    fn new(mlp: &'a Mlp) -> Self {
        Self {
            widths: mlp.widths(),
            parameters: mlp.parameters().iter().map(|&p| f64::from(p)).collect(),
            without_curvature: false,
        }
    }

    fn layers(&self) -> usize {
        self.widths.len() - 1
    }

    /// W and b of a layer.
    fn start(&self, layer: usize) -> (usize, usize) {
        let size = |l: usize| self.widths[l + 1] * (self.widths[l] + 1);
        let weights = (0..layer).map(size).sum();
        (
            weights,
            weights + self.widths[layer] * self.widths[layer + 1],
        )
    }

    /// The input of `layer`: silu of the level below, or x itself.
    fn input(&self, layer: usize, x: &Layer, levels: &[Layer]) -> Layer {
        let below = if layer == 0 { x } else { &levels[layer - 1] };
        let activated = |z: &[f64], dz: Option<&Vec<f64>>| {
            z.iter()
                .enumerate()
                .map(|(i, &z)| match (layer, dz) {
                    (0, None) => z,
                    (0, Some(dz)) => dz[i],
                    (_, None) => silu(z).0,
                    (_, Some(dz)) => silu(z).1 * dz[i],
                })
                .collect()
        };
        Layer {
            z: activated(&below.z, None),
            dz: below
                .dz
                .iter()
                .map(|dz| activated(&below.z, Some(dz)))
                .collect(),
        }
    }

    fn forward(&self, x: &Layer) -> Vec<Layer> {
        let mut levels = Vec::new();
        for layer in 0..self.layers() {
            let (weights, bias) = self.start(layer);
            let input = self.input(layer, x, &levels);
            let inputs = self.widths[layer];
            let row = |a: &[f64], o: usize| -> f64 {
                let row = &self.parameters[weights + o * inputs..];
                a.iter().zip(row).map(|(a, w)| a * w).sum()
            };
            let outputs = 0..self.widths[layer + 1];
            let z = outputs
                .clone()
                .map(|o| row(&input.z, o) + self.parameters[bias + o]);
            let dz = |da: &Vec<f64>| outputs.clone().map(|o| row(da, o)).collect();
            levels.push(Layer {
                z: z.collect(),
                dz: input.dz.iter().map(dz).collect(),
            });
        }
        levels
    }

    /// Add the derivatives of the loss of one state, and return it.
    fn gradient(&self, x: &Layer, gradient: &mut [f64]) -> f64 {
        let levels = self.forward(x);
        let top = &levels[self.layers() - 1];
        let (loss, mut bar) = loss(top);
        for layer in (0..self.layers()).rev() {
            let (weights, bias) = self.start(layer);
            let (inputs, outputs) = (self.widths[layer], self.widths[layer + 1]);
            let input = self.input(layer, x, &levels);
            let pairs = |bar: &Layer| {
                let tangents = bar.dz.clone().into_iter().zip(input.dz.clone());
                std::iter::once((bar.z.clone(), input.z.clone()))
                    .chain(tangents)
                    .collect::<Vec<_>>()
            };
            let mut below: Vec<Vec<f64>> = Vec::new();
            for (z_bar, a) in pairs(&bar) {
                let mut a_bar = vec![0.0; inputs];
                for o in 0..outputs {
                    for i in 0..inputs {
                        gradient[weights + o * inputs + i] += z_bar[o] * a[i];
                        a_bar[i] += z_bar[o] * self.parameters[weights + o * inputs + i];
                    }
                }
                below.push(a_bar);
            }
            for o in 0..outputs {
                gradient[bias + o] += bar.z[o];
            }
            if layer > 0 {
                bar = self.through_activation(&levels[layer - 1], &below);
            }
        }
        loss
    }

    fn through_activation(&self, level: &Layer, a_bar: &[Vec<f64>]) -> Layer {
        let width = level.z.len();
        let mut z: Vec<f64> = (0..width)
            .map(|i| a_bar[0][i] * silu(level.z[i]).1)
            .collect();
        let mut dz = Vec::new();
        for (da_bar, dz_in) in a_bar[1..].iter().zip(&level.dz) {
            for i in 0..width {
                if !self.without_curvature {
                    z[i] += da_bar[i] * silu(level.z[i]).2 * dz_in[i];
                }
            }
            dz.push((0..width).map(|i| da_bar[i] * silu(level.z[i]).1).collect());
        }
        Layer { z, dz }
    }
}

/// A loss of one state in which y and ẏ both enter, and multiply each other:
/// ½ |y − 1|² + ½ Σ_d |y + ẏ_d|². It has no terms that could cancel.
fn loss(top: &Layer) -> (f64, Layer) {
    let mut bar = Layer {
        z: top.z.iter().map(|y| y - 1.0).collect(),
        dz: Vec::new(),
    };
    let mut sum: f64 = bar.z.iter().map(|r| 0.5 * r * r).sum();
    for dy in &top.dz {
        let both: Vec<f64> = top.z.iter().zip(dy).map(|(y, dy)| y + dy).collect();
        for (bar, both) in bar.z.iter_mut().zip(&both) {
            *bar += both;
            sum += 0.5 * both * both;
        }
        bar.dz.push(both);
    }
    (sum, bar)
}

/// The same loss on a tile.
fn tile_loss(tile: Tile) -> f64 {
    let directions = tile.dy.len() / tile.y.len();
    let mut sum = 0.0;
    for k in 0..tile.y.len() {
        let dy = |d: usize| f64::from(tile.dy[d * tile.y.len() + k]);
        let top = Layer {
            z: vec![f64::from(tile.y[k])],
            dz: (0..directions).map(|d| vec![dy(d)]).collect(),
        };
        let (value, bar) = loss(&top);
        sum += value;
        tile.y_bar[k] = bar.z[0] as f32;
        for d in 0..directions {
            tile.dy_bar[d * tile.y.len() + k] = bar.dz[d][0] as f32;
        }
    }
    sum
}

/// A network with biases, states and directions, all random.
struct Case {
    mlp: Mlp,
    states: usize,
    directions: usize,
    x: Vec<f32>,
    tangents: Vec<f32>,
}

impl Case {
    fn new(widths: &[usize], states: usize, directions: usize) -> Self {
        let mut mlp = Mlp::new(widths, 7).unwrap();
        let mut stream = Stream::new(11, Purpose::Analysis, states as u64);
        for parameter in mlp.parameters_mut() {
            *parameter += 0.1 * stream.normal() as f32;
        }
        let mut draw = |count: usize| (0..count).map(|_| stream.normal() as f32).collect();
        let x = draw(widths[0] * states);
        let tangents = draw(directions * widths[0] * states);
        Self {
            mlp,
            states,
            directions,
            x,
            tangents,
        }
    }

    fn batch(&self) -> Batch<'_> {
        Batch {
            states: self.states,
            x: &self.x,
            directions: self.directions,
            tangents: &self.tangents,
        }
    }

    /// The input of one state.
    fn state(&self, s: usize) -> Layer {
        let (n, inputs) = (self.states, self.mlp.inputs());
        let column = |x: &[f32]| (0..inputs).map(|i| f64::from(x[i * n + s])).collect();
        Layer {
            z: column(&self.x),
            dz: self.tangents.chunks_exact(inputs * n).map(column).collect(),
        }
    }

    fn evaluate(&self, engine: &CpuEngine) -> Vec<f32> {
        let size = self.mlp.outputs() * self.states;
        let (mut y, mut dy) = (vec![0.0; size], vec![0.0; self.directions * size]);
        engine.evaluate(&self.mlp, &self.batch(), &mut y, &mut dy);
        y.extend(dy);
        y
    }

    fn gradient(&self, engine: &CpuEngine) -> (f64, Vec<f32>) {
        let mut gradient = vec![0.0; self.mlp.parameters().len()];
        let loss = engine.gradient(&self.mlp, &self.batch(), &tile_loss, &mut gradient);
        (loss, gradient)
    }

    /// Value and directional derivatives of all states by the scalar version, as `evaluate` has them.
    fn scalar_evaluate(&self) -> Vec<f64> {
        let (scalar, outputs) = (Scalar::new(&self.mlp), self.mlp.outputs());
        let mut all = vec![0.0; (1 + self.directions) * outputs * self.states];
        for s in 0..self.states {
            let levels = scalar.forward(&self.state(s));
            let top = &levels[levels.len() - 1];
            for (block, row) in std::iter::once(&top.z).chain(&top.dz).enumerate() {
                for (j, value) in row.iter().enumerate() {
                    all[(block * outputs + j) * self.states + s] = *value;
                }
            }
        }
        all
    }

    fn scalar_gradient(&self, without_curvature: bool) -> (f64, Vec<f64>) {
        let scalar = Scalar {
            without_curvature,
            ..Scalar::new(&self.mlp)
        };
        let mut gradient = vec![0.0; scalar.parameters.len()];
        let loss = (0..self.states).map(|s| scalar.gradient(&self.state(s), &mut gradient));
        (loss.sum(), gradient)
    }
}

/// |a − b| / |b| in the Euclidean norm.
fn distance(a: &[f32], b: &[f64]) -> f64 {
    let square = |x: f64| x * x;
    let gap: f64 = a
        .iter()
        .zip(b)
        .map(|(&a, &b)| square(f64::from(a) - b))
        .sum();
    let norm: f64 = b.iter().map(|&b| square(b)).sum();
    (gap / norm).sqrt()
}

/// Shapes of one to four layers; widths off the vector size and on it, tiles cut and whole.
const CASES: &[(&[usize], usize, usize)] = &[
    (&[3, 2], 7, 1),
    (&[1, 1], 1, 0),
    (&[2, 17, 3], 300, 3),
    (&[5, 64, 33, 2], 300, 0),
    (&[5, 64, 33, 2], 300, 1),
    (&[30, 40, 1], 1, 3),
    (&[4, 19, 70, 6, 9], 7, 3),
    (&[2, 32, 16, 2], 5000, 1),
    (&[20, 3, 50], 5000, 0),
];

#[test]
fn the_engine_matches_the_scalar_version() {
    let engine = CpuEngine::default();
    for &(widths, states, directions) in CASES {
        let case = Case::new(widths, states, directions);
        let label = format!("{widths:?}, {states} states, {directions} directions");
        let error = distance(&case.evaluate(&engine), &case.scalar_evaluate());
        assert!(error < SINGLE, "{label}: values off by {error:e}");
        let (loss, gradient) = case.gradient(&engine);
        let (exact_loss, exact) = case.scalar_gradient(false);
        let error = distance(&gradient, &exact);
        assert!(error < SINGLE, "{label}: gradient off by {error:e}");
        let error = (loss / exact_loss - 1.0).abs();
        assert!(error < SINGLE, "{label}: loss off by {error:e}");
    }
}

#[test]
fn a_gradient_without_the_second_derivative_is_noticed() {
    let engine = CpuEngine::default();
    for (widths, states) in [(&[2, 17, 3][..], 300), (&[4, 19, 70, 6, 9], 7)] {
        let case = Case::new(widths, states, 3);
        let (_, gradient) = case.gradient(&engine);
        let (_, defective) = case.scalar_gradient(true);
        let error = distance(&gradient, &defective);
        assert!(error > 100.0 * SINGLE, "{widths:?}: only {error:e}");
    }
}
