//! Networks: the engine against a plain scalar version in double precision, the optimiser against
//! its formulas, and the fit of a known function.

use crate::support::{Estimate, Z_BOUND};
use ergode::nn::{Adam, AdamConfig, Average, Batch, CpuEngine, Decay, Engine, Mlp, Tile};
use ergode::random::{Purpose, Stream};

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

#[test]
fn the_scalar_version_matches_finite_differences() {
    let case = Case::new(&[3, 5, 4, 2], 2, 2);
    let (_, gradient) = case.scalar_gradient(false);
    let mut scalar = Scalar::new(&case.mlp);
    let mut loss_at = |k: usize, shift: f64| -> f64 {
        scalar.parameters[k] += shift;
        let top = |s: usize| scalar.forward(&case.state(s)).pop().unwrap();
        let sum = (0..case.states).map(|s| loss(&top(s)).0).sum();
        scalar.parameters[k] -= shift;
        sum
    };
    let h = 1e-5;
    for (k, exact) in gradient.iter().enumerate() {
        let difference = (loss_at(k, h) - loss_at(k, -h)) / (2.0 * h);
        let error = (difference - exact).abs();
        assert!(
            error < 1e-8 * (1.0 + exact.abs()),
            "parameter {k}: {error:e}"
        );
    }
    // Directional derivatives of the output.
    let scalar = Scalar::new(&case.mlp);
    let top = |x: &Layer| scalar.forward(x).pop().unwrap();
    let state = case.state(0);
    for (direction, exact) in state.dz.iter().zip(&top(&state).dz) {
        let moved = |shift: f64| {
            let z = state.z.iter().zip(direction).map(|(x, dx)| x + shift * dx);
            top(&Layer {
                z: z.collect(),
                dz: Vec::new(),
            })
            .z
        };
        for ((up, down), exact) in moved(h).iter().zip(moved(-h)).zip(exact) {
            let error = ((up - down) / (2.0 * h) - exact).abs();
            assert!(error < 1e-8 * (1.0 + exact.abs()), "{error:e}");
        }
    }
}

#[test]
fn values_and_derivatives_hold_far_from_the_origin() {
    let mut mlp = Mlp::new(&[1, 1, 1], 0).unwrap();
    mlp.parameters_mut().copy_from_slice(&[1.0, 0.0, 1.0, 0.0]);
    let x: Vec<f32> = (-400..=400).map(|k| 0.5 * k as f32).collect();
    let (ones, n) = (vec![1.0; x.len()], x.len());
    let batch = Batch {
        states: n,
        x: &x,
        directions: 1,
        tangents: &ones,
    };
    let (mut y, mut dy) = (vec![0.0; n], vec![0.0; n]);
    CpuEngine::default().evaluate(&mlp, &batch, &mut y, &mut dy);
    for k in 0..n {
        let (value, slope, _) = silu(f64::from(x[k]));
        let error = |single: f32, exact: f64| (f64::from(single) - exact).abs();
        assert!(
            error(y[k], value) < 5e-7 * (1.0 + value.abs()),
            "silu({})",
            x[k]
        );
        assert!(error(dy[k], slope) < 5e-7, "silu'({})", x[k]);
    }
}

#[test]
fn bits_do_not_depend_on_threads_or_repetition() {
    let case = Case::new(&[3, 40, 24, 2], 5000, 1);
    let pool = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        pool.build().unwrap()
    };
    let results = |engine: &CpuEngine| (case.evaluate(engine), case.gradient(engine));
    let engine = CpuEngine::default();
    let one = pool(1).install(|| results(&engine));
    assert_eq!(one, pool(2).install(|| results(&engine)));
    assert_eq!(one, pool(2).install(|| results(&engine)));
    assert_eq!(one, results(&CpuEngine::single_core()));
}

#[test]
fn gradients_accumulate_and_an_empty_batch_adds_nothing() {
    let case = Case::new(&[2, 9, 1], 50, 0);
    let engine = CpuEngine::single_core();
    let (loss, once) = case.gradient(&engine);
    let mut twice = once.clone();
    let again = engine.gradient(&case.mlp, &case.batch(), &tile_loss, &mut twice);
    assert_eq!(loss, again);
    let doubled: Vec<f32> = once.iter().map(|g| 2.0 * g).collect();
    assert_eq!(twice, doubled);
    let nothing = Batch::new(0, &[]);
    engine.evaluate(&case.mlp, &nothing, &mut [], &mut []);
    assert_eq!(
        engine.gradient(&case.mlp, &nothing, &tile_loss, &mut twice),
        0.0
    );
    assert_eq!(twice, doubled);
}

#[test]
fn weights_start_with_variance_one_over_fan_in() {
    let z = |factor: f32| {
        let mlp = Mlp::new(&[100, 200], 3).unwrap();
        let (weights, bias) = mlp.parameters().split_at(20_000);
        assert!(bias.iter().all(|&b| b == 0.0));
        let square = |row: &[f32]| row.iter().map(|&w| f64::from(factor * w).powi(2)).sum();
        let rows: Vec<f64> = weights.chunks_exact(100).map(square).collect();
        Estimate::new(&rows).z(1.0).abs()
    };
    assert!(z(1.0) < Z_BOUND, "z = {}", z(1.0));
    assert!(z(1.1) > Z_BOUND, "a tenth too large: z = {}", z(1.1));
    let zero = Mlp::new(&[3, 8, 2], 3).unwrap().with_zero_output();
    assert!(zero.parameters()[32..].iter().all(|&p| p == 0.0));
    assert!(zero.parameters()[..24].iter().all(|&p| p != 0.0));
}

#[test]
fn networks_without_a_shape_are_refused() {
    for widths in [&[][..], &[3], &[3, 0, 2]] {
        let message = Mlp::new(widths, 0).unwrap_err().to_string();
        assert!(message.contains("widths"), "{message}");
    }
    let text = r#"{"widths": [2, 1], "parameters": [0.5, 0.5]}"#;
    let message = serde_json::from_str::<Mlp>(text).unwrap_err().to_string();
    assert!(message.contains("3 parameters, not 2"), "{message}");
}

/// A network with one weight, 1, and one bias, 0.
fn one_weight() -> Mlp {
    let mut mlp = Mlp::new(&[1, 1], 0).unwrap();
    mlp.parameters_mut().copy_from_slice(&[1.0, 0.0]);
    mlp
}

/// The parameters of [`one_weight`] after each of these gradients.
fn descend(config: &AdamConfig, gradients: &[[f32; 2]]) -> Vec<[f32; 2]> {
    let mut mlp = one_weight();
    let mut adam = Adam::new(config, &mlp).unwrap();
    let mut path = Vec::new();
    for gradient in gradients {
        adam.step(&mut mlp, gradient);
        path.push([mlp.parameters()[0], mlp.parameters()[1]]);
    }
    assert_eq!(adam.steps(), gradients.len() as u64);
    path
}

fn assert_close(path: &[[f32; 2]], expected: &[[f32; 2]]) {
    for (at, to) in path.as_flattened().iter().zip(expected.as_flattened()) {
        assert!((at - to).abs() < 2e-6, "{path:?} is not {expected:?}");
    }
}

#[test]
fn adam_follows_its_formulas() {
    let config = AdamConfig {
        rate: 0.1,
        beta1: 0.5,
        beta2: 0.75,
        ..AdamConfig::default()
    };
    // First: m̂ = 2, v̂ = 4. Then m = −1.5, m̂ = −2, v = 4.75, v̂ = 10.857143. A gradient that does
    // not change gives steps of the rate.
    let path = descend(&config, &[[2.0, 3.0], [-4.0, 3.0]]);
    assert_close(&path, &[[0.9, -0.1], [0.960_698, -0.2]]);
    // Weights shrink by 1 − 0.1·0.5 first; biases do not.
    let decayed = AdamConfig {
        weight_decay: 0.5,
        ..config.clone()
    };
    let path = descend(&decayed, &[[2.0, 3.0], [2.0, 3.0]]);
    assert_close(&path, &[[0.85, -0.1], [0.7075, -0.2]]);
    let cosine = AdamConfig {
        decay: Decay::Cosine {
            steps: 2,
            floor: 0.1,
        },
        ..config.clone()
    };
    let path = descend(&cosine, &[[1.0, 1.0]; 4]);
    assert_close(
        &path,
        &[
            [0.9, -0.1],
            [0.845, -0.155],
            [0.835, -0.165],
            [0.825, -0.175],
        ],
    );
    // A gradient of norm 5 counts as one of norm 1; a short one is left alone.
    let clipped = AdamConfig {
        clip: Some(1.0),
        ..config.clone()
    };
    let path = descend(&clipped, &[[3.0, 4.0], [0.1, -0.2]]);
    assert_close(&path, &descend(&config, &[[0.6, 0.8], [0.1, -0.2]]));
    let unclipped = descend(&config, &[[3.0, 4.0], [0.1, -0.2]]);
    assert!((path[1][1] - unclipped[1][1]).abs() > 1e-3);
}

#[test]
fn settings_out_of_range_are_refused() {
    let refuse = |change: fn(&mut AdamConfig), word: &str| {
        let mut config = AdamConfig::default();
        change(&mut config);
        let message = Adam::new(&config, &one_weight()).unwrap_err().to_string();
        assert!(message.contains(word), "{message}");
    };
    refuse(|config| config.rate = 0.0, "rate");
    refuse(|config| config.beta1 = 1.0, "beta1");
    refuse(|config| config.beta2 = -0.1, "beta2");
    refuse(|config| config.epsilon = f32::NAN, "epsilon");
    refuse(|config| config.weight_decay = -1.0, "weight_decay");
    refuse(|config| config.clip = Some(0.0), "clip");
    refuse(
        |config| {
            config.decay = Decay::Cosine {
                steps: 0,
                floor: 0.0,
            }
        },
        "steps",
    );
    refuse(
        |config| {
            config.decay = Decay::Cosine {
                steps: 9,
                floor: 1.5,
            }
        },
        "floor",
    );
    assert!(Average::new(1.0).is_err());
    assert!(serde_json::from_str::<AdamConfig>(r#"{"lr": 0.1}"#).is_err());
}

#[test]
fn the_average_weighs_parameters_by_their_age() {
    let mut average = Average::new(0.5).unwrap();
    let mut mlp = one_weight();
    let mut mean_after = |value: f32| {
        mlp.parameters_mut()[0] = value;
        average.update(&mlp);
        let mut mean = one_weight();
        average.copy_to(&mut mean);
        mean.parameters()[0]
    };
    assert_eq!(mean_after(1.0), 1.0);
    assert!((mean_after(3.0) - 7.0 / 3.0).abs() < 1e-6); // (1/2 + 3) / (3/2)
    assert!((mean_after(0.0) - 1.0).abs() < 1e-6); // (1/4 + 3/2) / (7/4)
}

/// f(x) = sin 2x₁ cos x₂ at `states` random points of [−2, 2]²: the points, (2, n), and the values.
fn sine(states: usize, index: u64) -> (Vec<f32>, Vec<f32>) {
    let mut stream = Stream::new(5, Purpose::Analysis, index);
    let x: Vec<f32> = (0..2 * states)
        .map(|_| (4.0 * stream.uniform() - 2.0) as f32)
        .collect();
    let f = (0..states).map(|s| (2.0 * x[s]).sin() * x[states + s].cos());
    (x.clone(), f.collect())
}

/// A regression of `sine` in progress.
#[derive(Clone, PartialEq, Debug, serde::Serialize, serde::Deserialize)]
struct Regression {
    mlp: Mlp,
    adam: Adam,
    average: Average,
}

impl Regression {
    fn new(steps: u64) -> Self {
        let mlp = Mlp::new(&[2, 48, 32, 1], 1).unwrap().with_zero_output();
        let config = AdamConfig {
            rate: 1e-2,
            decay: Decay::Cosine { steps, floor: 0.01 },
            clip: Some(10.0),
            ..AdamConfig::default()
        };
        Self {
            adam: Adam::new(&config, &mlp).unwrap(),
            average: Average::new(0.98).unwrap(),
            mlp,
        }
    }

    fn train(&mut self, engine: &CpuEngine, steps: u64) {
        const STATES: usize = 512;
        let mut gradient = vec![0.0; self.mlp.parameters().len()];
        for _ in 0..steps {
            let (x, f) = sine(STATES, self.adam.steps());
            let square = |tile: Tile| {
                let mut sum = 0.0;
                for s in 0..tile.states {
                    let residual = tile.y[s] - f[tile.first + s];
                    tile.y_bar[s] = 2.0 * residual / STATES as f32;
                    sum += f64::from(residual * residual);
                }
                sum / STATES as f64
            };
            gradient.fill(0.0);
            engine.gradient(&self.mlp, &Batch::new(STATES, &x), &square, &mut gradient);
            self.adam.step(&mut self.mlp, &gradient);
            self.average.update(&self.mlp);
        }
    }
}

#[test]
fn a_known_function_is_learned() {
    let engine = CpuEngine::default();
    let mut regression = Regression::new(1500);
    regression.train(&engine, 1500);
    regression.average.copy_to(&mut regression.mlp);
    let (x, f) = sine(5000, u64::MAX);
    let mut y = vec![0.0; f.len()];
    engine.evaluate(&regression.mlp, &Batch::new(f.len(), &x), &mut y, &mut []);
    let square: f32 = y.iter().zip(&f).map(|(y, f)| (y - f).powi(2)).sum();
    let error = (square / f.len() as f32).sqrt();
    assert!(error < 0.01, "rms error {error}");
}

#[test]
fn training_resumes_with_the_same_bits() {
    let engine = CpuEngine::default();
    let mut whole = Regression::new(20);
    whole.train(&engine, 8);
    let saved = serde_json::to_string(&whole).unwrap();
    let mut resumed: Regression = serde_json::from_str(&saved).unwrap();
    assert_eq!(whole, resumed);
    whole.train(&engine, 8);
    resumed.train(&engine, 8);
    assert_eq!(whole, resumed);
}
