//! The stationary score by denoising: a network that predicts the noise that was added to a state.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::regression::{Denoising, DenoisingTask, NoiseConfig, Noisy, Regression};
use super::windows::{Layout, Windows};
use super::{Confinement, Score};
use crate::control::Control;
use crate::data::{Ensemble, Standardiser};
use crate::error::{Error, Result};
use crate::lagged::Pool;
use crate::nn::{Batch, CpuEngine, Engine, Mlp, TrainConfig, TrainReport, train};
use crate::random::{Purpose, Stream};

/// Options of a stationary score learned by denoising.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DenoisingConfig {
    /// Hidden widths of the network.
    pub hidden: Vec<usize>,
    /// One network for the whole state, or the same one at every site of a lattice.
    pub layout: Layout,
    /// Noise and batches.
    pub noise: NoiseConfig,
    /// Sign changes of the coordinates, one factor ±1 for each, that leave the density unchanged;
    /// every sample is used with one of them, or none, at random.
    pub symmetries: Vec<Vec<f64>>,
    /// Train on with noise σ and, apart, with √2 σ, and extrapolate to no noise: s = 2 s_σ − s_√2σ.
    pub extrapolate: bool,
    /// Training.
    pub train: TrainConfig,
}

impl Default for DenoisingConfig {
    fn default() -> Self {
        Self {
            hidden: vec![128, 64],
            layout: Layout::Whole,
            noise: NoiseConfig::default(),
            symmetries: Vec::new(),
            extrapolate: true,
            train: TrainConfig::with_steps(20_000),
        }
    }
}

/// Record of the training of a denoising score.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DenoisingReport {
    /// The configuration.
    pub config: DenoisingConfig,
    /// Training with noise σ.
    pub training: TrainReport,
    /// ⟨|s_√2σ − s_σ|²⟩^½ / ⟨|s_σ|²⟩^½ on the held-out states: to first order in σ² the bias that the
    /// noise leaves in s_σ. Known where the score was extrapolated.
    pub sigma_bias: Option<f64>,
}

/// A score that a network predicts: s^z = −η/σ in standardised coordinates.
#[derive(Debug, Serialize, Deserialize)]
#[serde(try_from = "Unchecked")]
pub struct NeuralScore {
    /// Networks and their weights in the sum that is the score.
    networks: Vec<(f64, Mlp)>,
    windows: Windows,
    confinement: Confinement,
    report: DenoisingReport,
}

/// A score read from a file, before its parts are checked to match.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Unchecked {
    networks: Vec<(f64, Mlp)>,
    windows: Windows,
    confinement: Confinement,
    report: DenoisingReport,
}

impl TryFrom<Unchecked> for NeuralScore {
    type Error = Error;

    fn try_from(read: Unchecked) -> Result<Self> {
        let fits = |(_, mlp): &(f64, Mlp)| read.windows.fits(mlp, read.windows.components);
        if read.windows.dim() != read.confinement.support().dim() || !read.networks.iter().all(fits)
        {
            return Err(Error::input(
                "the networks of the score do not match its coordinates; the file is damaged, write it \
                 again",
            ));
        }
        Ok(Self {
            networks: read.networks,
            windows: read.windows,
            confinement: read.confinement,
            report: read.report,
        })
    }
}

impl NeuralScore {
    /// Its coordinates, and where it is the fit.
    pub fn confinement(&self) -> &Confinement {
        &self.confinement
    }

    /// How it was learned.
    pub fn report(&self) -> &DenoisingReport {
        &self.report
    }
}

/// Learn the stationary score by denoising, as the paper does (appendix on score estimation).
///
/// The network η(z + σξ) ≈ ξ is trained in standardised coordinates on the loss
/// ⟨|η(z + σξ) − ξ|²⟩; the score is s^z = −η/σ. A `checkpoint` file keeps the state of the training.
///
/// # Errors
/// When the configuration is out of range, training diverges, or the work is stopped.
pub fn fit_denoising_score(
    ensemble: &Ensemble,
    config: &DenoisingConfig,
    checkpoint: Option<&Path>,
    control: &Control,
) -> Result<NeuralScore> {
    let dim = ensemble.dim();
    for signs in &config.symmetries {
        if signs.len() != dim || signs.iter().any(|s| s.abs() != 1.0) {
            return Err(Error::input(format!(
                "a symmetry needs {dim} factors of 1 or -1, one for each coordinate"
            )));
        }
    }
    let standardiser = config.layout.standardiser(ensemble)?;
    let windows = Windows::new(config.layout, &standardiser)?;
    let problem = |sigma: f64| -> Result<DenoisingTask<Stationary>> {
        let noise = NoiseConfig {
            sigma,
            ..config.noise
        };
        Stationary::new(ensemble, &windows, &standardiser, &config.symmetries, noise)
            .map(DenoisingTask)
    };
    let engine = CpuEngine::default();
    let mut widths = vec![windows.rows()];
    widths.extend(&config.hidden);
    widths.push(windows.components);
    let mlp = Mlp::new(&widths, config.noise.seed)?.with_zero_output();
    let purpose = format!(
        "stationary score of data {:016x}: {}",
        ensemble.fingerprint(),
        serde_json::to_string(config).expect("a configuration is plain")
    );
    let checkpoint = checkpoint.map(|path| (path, purpose.as_str()));
    let task = problem(config.noise.sigma)?;
    let (mlp, training) = train(&task, mlp, &config.train, &engine, checkpoint, control)?;
    let mut score = NeuralScore {
        networks: vec![(1.0, mlp)],
        windows: windows.clone(),
        confinement: config.layout.confinement(ensemble, standardiser.clone())?,
        report: DenoisingReport {
            config: config.clone(),
            training,
            sigma_bias: None,
        },
    };
    if config.extrapolate && !score.report.training.interrupted {
        let (_, start) = &score.networks[0];
        let again = config.train.refinement();
        let mut refined = Vec::new();
        for sigma in [config.noise.sigma, 2f64.sqrt() * config.noise.sigma] {
            let task = problem(sigma)?;
            let (mlp, report) = train(&task, start.clone(), &again, &engine, None, control)?;
            if report.interrupted {
                return Ok(score);
            }
            refined.push(mlp);
        }
        score.report.sigma_bias = Some(difference(&task.0, &engine, &refined[0], &refined[1]));
        score.networks = vec![
            (2.0, refined.swap_remove(0)),
            (-1.0, refined.swap_remove(0)),
        ];
    }
    Ok(score)
}

/// ⟨|b − a|²⟩^½ / ⟨|a|²⟩^½ over the held-out states.
fn difference(problem: &Stationary, engine: &dyn Engine, a: &Mlp, b: &Mlp) -> f64 {
    let (a, b) = (
        problem.held_out.outputs(engine, a),
        problem.held_out.outputs(engine, b),
    );
    let square = |x: f32| f64::from(x) * f64::from(x);
    let change: f64 = a.iter().zip(&b).map(|(a, b)| square(b - a)).sum();
    let size: f64 = a.iter().map(|a| square(*a)).sum();
    (change / size).sqrt()
}

/// Samples with noise added.
struct Stationary<'a> {
    training: Pool<'a>,
    windows: &'a Windows,
    standardiser: &'a Standardiser,
    symmetries: &'a [Vec<f64>],
    noise: NoiseConfig,
    held_out: Regression,
}

impl<'a> Stationary<'a> {
    fn new(
        ensemble: &'a Ensemble,
        windows: &'a Windows,
        standardiser: &'a Standardiser,
        symmetries: &'a [Vec<f64>],
        noise: NoiseConfig,
    ) -> Result<Self> {
        noise.validate()?;
        let (training, testing) = Pool::split(ensemble, noise.held_out)?;
        let mut problem = Self {
            training: testing,
            windows,
            standardiser,
            symmetries,
            noise,
            held_out: Regression::default(),
        };
        problem.held_out = problem.draw(noise.held_out_states, u64::MAX);
        problem.training = training;
        Ok(problem)
    }

    /// t = ξ/σ at z + σξ.
    fn draw(&self, states: usize, index: u64) -> Regression {
        let dim = self.standardiser.scale.len();
        let mut stream = Stream::new(self.noise.seed, Purpose::Training, index);
        let mut noisy = Noisy::new(dim, states, &self.noise);
        let mut x = vec![0.0; dim];
        for s in 0..noisy.draws {
            self.training.sample(&mut stream, &mut x);
            let choice = stream.below(self.symmetries.len() as u64 + 1) as usize;
            if let Some(signs) = self.symmetries.get(choice) {
                x.iter_mut().zip(signs).for_each(|(x, sign)| *x *= sign);
            }
            self.standardiser.forward(&mut x);
            noisy.set(s, &x, &mut stream);
        }
        let columns = self.windows.sites * noisy.states;
        let mut batch = Regression::zeros(self.windows.rows(), self.windows.components, columns);
        self.windows.gather(&noisy.z, &mut batch.x);
        self.windows.arrange(&noisy.t, &mut batch.t);
        batch
    }
}

impl Denoising for Stationary<'_> {
    fn batch(&self, _: &dyn Engine, _: &Mlp, index: u64) -> Result<Regression> {
        Ok(self.draw(self.noise.batch, index))
    }

    fn held_out(&self) -> &Regression {
        &self.held_out
    }
}

impl NeuralScore {
    /// Σ_k weight_k f_k at standardised states (D, n): outputs, and their derivatives along the given
    /// window components.
    fn network(&self, z: &[f64], along: &[(usize, usize)]) -> (Vec<f32>, Vec<f32>) {
        let windows = &self.windows;
        let z: Vec<f32> = z.iter().map(|z| *z as f32).collect();
        let columns = z.len() / windows.components;
        let rows = windows.rows() * columns;
        let mut x = vec![0.0; rows];
        windows.gather(&z, &mut x);
        let mut tangents = vec![0.0; along.len() * rows];
        for (&(place, component), out) in along.iter().zip(tangents.chunks_exact_mut(rows)) {
            windows.tangent(&z, place, component, out);
        }
        let batch = Batch {
            states: columns,
            x: &x,
            directions: along.len(),
            tangents: &tangents,
        };
        // Callers share the states out over the cores.
        let engine = CpuEngine::shared_single_core();
        let zeros = || (vec![0.0; z.len()], vec![0.0; along.len() * z.len()]);
        let ((mut y, mut dy), mut sum) = (zeros(), zeros());
        for (weight, mlp) in &self.networks {
            engine.evaluate(mlp, &batch, &mut y, &mut dy);
            for (sum, part) in [(&mut sum.0, &y), (&mut sum.1, &dy)] {
                let terms = sum.iter_mut().zip(part);
                terms.for_each(|(sum, part)| *sum += *weight as f32 * part);
            }
        }
        sum
    }

    /// Outputs (components, sites n) to coordinates (D, n).
    fn place(&self, y: &[f32], out: &mut [f64]) {
        let mut s = vec![0.0; y.len()];
        self.windows.scatter(y, &mut s);
        for (out, s) in out.iter_mut().zip(s) {
            *out = f64::from(s);
        }
    }
}

impl Score for NeuralScore {
    fn dim(&self) -> usize {
        self.confinement.support().dim()
    }

    fn score(&self, x: &[f64], out: &mut [f64]) {
        super::tile_width(self, x, out);
        self.confinement.score(x, out, |z, s| {
            self.place(&self.network(z, &[]).0, s);
        });
    }

    fn jacobian(&self, x: &[f64], out: &mut [f64]) -> bool {
        let (dim, c, sites) = (self.dim(), self.windows.components, self.windows.sites);
        let places = self.windows.places().0;
        let along: Vec<(usize, usize)> = (0..places * c).map(|k| (k / c, k % c)).collect();
        self.confinement.jacobian(x, out, |z, s, jacobian| {
            let (y, dy) = self.network(z, &along);
            self.place(&y, s);
            jacobian.fill(0.0);
            for (&(place, b), dy) in along.iter().zip(dy.chunks_exact(dim)) {
                for site in 0..sites {
                    let j = self.windows.coordinate(site, place, b);
                    for a in 0..c {
                        jacobian[(site * c + a) * dim + j] += f64::from(dy[a * sites + site]);
                    }
                }
            }
            true
        })
    }

    fn divergence(&self, x: &[f64], out: &mut [f64]) -> bool {
        let (dim, n) = (self.dim(), out.len());
        let (c, sites) = (self.windows.components, self.windows.sites);
        let Standardiser { mean, scale, .. } = self.confinement.standardiser();
        let z: Vec<f64> = (0..dim * n)
            .map(|k| (x[k] - mean[k / n]) / scale[k / n])
            .collect();
        let own = self.windows.places().1;
        let along: Vec<(usize, usize)> = (0..c).map(|a| (own, a)).collect();
        let (_, dy) = self.network(&z, &along);
        out.fill(0.0);
        for (a, dy) in dy.chunks_exact(dim * n).enumerate() {
            for (column, dy) in dy[a * sites * n..][..sites * n].iter().enumerate() {
                out[column % n] += f64::from(*dy) / (scale[a] * scale[a]);
            }
        }
        let (mut state, mut jacobian) = (vec![0.0; dim], vec![0.0; dim * dim]);
        for (s, out) in out.iter_mut().enumerate() {
            (0..dim).for_each(|i| state[i] = z[i * n + s]);
            if !self.confinement.support().contains(&state) {
                (0..dim).for_each(|i| state[i] = x[i * n + s]);
                self.jacobian(&state, &mut jacobian);
                *out = jacobian.iter().step_by(dim + 1).sum();
            }
        }
        true
    }
}
