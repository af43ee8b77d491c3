//! The learned equation dx = [M s + ∇·M] dt + √2 Σ dW: evaluated, saved, simulated.

mod advice;
mod bounded;
mod damping;
mod deviations;
mod equation;
mod errors;
mod pairs;
mod parts;
mod planar;
mod replicates;
mod run;
mod search;
mod series;
mod storage;
mod tensors;
mod terms;
mod tiles;

pub use advice::{StepChoice, default_step, simulation_protocol};
pub use errors::ModelField;
pub use parts::{StoredMobility, StoredScore};
pub use run::{ModelRun, simulate_model, simulate_model_from};
pub use search::{StepAdvice, StepConfig, StepTrial, advise_step};
pub use terms::{ModelEquation, StandardisedTerms, Term, WrittenFactor};

use std::sync::{Arc, OnceLock};

use ndarray::{Array2, ArrayView2};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use self::bounded::{BoundedMobility, raised};
use self::deviations::Deviations;
use crate::data::{Ensemble, Standardiser};
use crate::error::{Error, Result, require_positive};
use crate::linalg;
use crate::mobility::{LinearMobility, Mobility, factorise, symmetrise};
use crate::observable::{Functions, Polynomials};
use crate::observe::Observation;
use crate::random::Stream;
use crate::score::Score;
use crate::simulate::Scheme;
use crate::space::Space;

/// Where D is not positive definite, the noise takes its eigenvalues, in standardised coordinates, to
/// be at least this fraction of their mean over the start states.
const FLOOR: f64 = 1e-3;

/// The same outside the samples, where states should return soon.
const OUTSIDE_FLOOR: f64 = 0.1;

/// What a model was made from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provenance {
    /// Version of this library.
    pub ergode: String,
    /// [`Ensemble::fingerprint`] of the data, in hexadecimal.
    pub data: String,
    /// Seed of the fit.
    pub seed: u64,
    /// Configuration of the fit.
    pub configuration: Value,
}

impl Provenance {
    /// Of a model that this version of the library fitted to `data`.
    pub fn new(data: &Ensemble, seed: u64, configuration: Value) -> Self {
        Self {
            ergode: env!("CARGO_PKG_VERSION").to_owned(),
            data: format!("{:016x}", data.fingerprint()),
            seed,
            configuration,
        }
    }
}

/// The equation dx = [M s + ∇·M] dt + √2 Σ dW with Σ Σᵀ = D = sym M.
///
/// Fields are evaluated on tiles of n raw states, coordinate-major, (D, n), vectors as (D, n) and
/// matrices as (D·D, n), entry (i, j) in row i·D + j. Slices of the wrong length are a fault of the
/// caller, and panic.
///
/// Outside the samples the score pulls back to them ([`Confinement`](crate::score::Confinement)), and a
/// polynomial M is D(c) + R(c)/(1 + d²) with c the nearest state among them and d its distance, so that it does
/// not run away. Where D is not positive definite, drift and noise have the same D with its eigenvalues raised.
#[derive(Clone, Debug)]
pub struct LangevinModel {
    names: Vec<String>,
    score: Arc<StoredScore>,
    mobility: Arc<BoundedMobility>,
    starts: Array2<f64>,
    provenance: Provenance,
    observation: Observation,
    space: Space,
    /// Step and scheme of the validation.
    validated_step: Option<(f64, Scheme)>,
    /// Computed when errors are first requested.
    deviations: OnceLock<Arc<Deviations>>,
    /// Least eigenvalue of a repaired D, in standardised coordinates.
    floor: f64,
}

impl LangevinModel {
    /// A model of coordinates called `names`; `starts`, (state, coordinate), are states of the data
    /// that simulations start from.
    ///
    /// # Errors
    /// When the numbers of coordinates differ, there is no finite start state, or D is not positive on
    /// average.
    pub fn new(
        names: Vec<String>,
        score: impl Into<StoredScore>,
        mobility: impl Into<StoredMobility>,
        starts: Array2<f64>,
        provenance: Provenance,
    ) -> Result<Self> {
        Self::assemble(
            names,
            Arc::new(score.into()),
            mobility.into(),
            starts,
            provenance,
        )
    }

    fn assemble(
        names: Vec<String>,
        score: Arc<StoredScore>,
        mobility: StoredMobility,
        starts: Array2<f64>,
        provenance: Provenance,
    ) -> Result<Self> {
        if let StoredMobility::Constant(matrix) = &mobility
            && !matrix.is_square()
        {
            return Err(Error::input(format!(
                "a constant mobility must be a square matrix, not of shape {:?}",
                matrix.dim()
            )));
        }
        let mobility = BoundedMobility::new(mobility, score.confinement());
        let (dim, of_score) = (mobility.dim(), score.as_score().dim());
        if dim != of_score || dim != names.len() || dim != starts.ncols() {
            return Err(Error::input(format!(
                "the dimensions of the model do not match: {} names, score {of_score}, mobility {dim}, \
                 start states {}; make all parts from the same data",
                names.len(),
                starts.ncols()
            )));
        }
        if starts.is_empty() || starts.iter().any(|x| !x.is_finite()) {
            return Err(Error::input(
                "a model needs at least one start state, and all must be finite; draw them from the data",
            ));
        }
        let mut model = Self {
            observation: Observation::plain(&names),
            space: Space::lines(dim),
            names,
            score,
            mobility: Arc::new(mobility),
            starts,
            provenance,
            validated_step: None,
            deviations: OnceLock::new(),
            floor: 0.0,
        };
        let mean = model.mean_diffusion().iter().sum::<f64>() / dim as f64;
        model.floor = FLOOR * mean;
        if let Some(mobility) = Arc::get_mut(&mut model.mobility) {
            mobility.least = OUTSIDE_FLOOR * mean;
        }
        if model.floor.is_nan() || model.floor <= 0.0 {
            return Err(Error::input(
                "the diffusion is not positive at the start states; repair the constant mobility, or \
                 fit a positive mobility",
            ));
        }
        Ok(model)
    }

    /// ⟨D_ii⟩ over the start states, in standardised coordinates.
    fn mean_diffusion(&self) -> Vec<f64> {
        let (dim, n) = (self.dim(), self.starts.nrows());
        let x: Vec<f64> = self.starts.t().iter().copied().collect();
        let mut m = vec![0.0; dim * dim * n];
        self.mobility.mobility(&x, &mut m);
        let scale = self.scale();
        let of = |i: usize| {
            let row = &m[(i * dim + i) * n..][..n];
            row.iter().sum::<f64>() / (n as f64 * scale[i] * scale[i])
        };
        (0..dim).map(of).collect()
    }

    /// min_i σ_i²/⟨D_ii⟩: the time in which the fastest coordinate forgets.
    fn fastest_time(&self) -> f64 {
        1.0 / self.mean_diffusion().into_iter().fold(0.0, f64::max)
    }

    /// The same score with the mobility `phi` everywhere: the constant closure.
    ///
    /// # Errors
    /// When `phi` has another number of coordinates or its symmetric part is not positive.
    pub fn with_constant_mobility(&self, phi: ArrayView2<f64>) -> Result<Self> {
        let closure = Self::assemble(
            self.names.clone(),
            Arc::clone(&self.score),
            StoredMobility::Constant(phi.to_owned()),
            self.starts.clone(),
            self.provenance.clone(),
        )?;
        let closure = closure.with_observation(self.observation.clone())?;
        closure.with_space(self.space.clone())
    }

    /// The same model of a state that is observed in this way; without it the state is the record.
    ///
    /// # Errors
    /// When the observation is of another number of coordinates.
    pub fn with_observation(mut self, observation: Observation) -> Result<Self> {
        if observation.dim() != self.dim() {
            return Err(Error::input(format!(
                "the observation has {} state coordinates, the model has {}; use the observation of \
                 the same fit",
                observation.dim(),
                self.dim()
            )));
        }
        self.observation = observation;
        Ok(self)
    }

    /// The same model of a state that lives in this space; without it coordinates are any real numbers.
    ///
    /// # Errors
    /// When the space is of another number of coordinates.
    pub fn with_space(mut self, space: Space) -> Result<Self> {
        if space.domains.len() != self.dim() {
            return Err(Error::input(format!(
                "the space has {} coordinates, the model has {}; use the space of the same fit",
                space.domains.len(),
                self.dim()
            )));
        }
        self.space = space;
        Ok(self)
    }

    /// Where the state lives.
    pub fn space(&self) -> &Space {
        &self.space
    }

    /// How the state and what was observed belong together.
    pub fn observation(&self) -> &Observation {
        &self.observation
    }

    /// The same model, validated by simulations with this step and scheme.
    ///
    /// # Errors
    /// When the step is not positive and finite.
    pub fn with_validated_step(mut self, dt: f64, scheme: Scheme) -> Result<Self> {
        require_positive("the step of the validation", dt)?;
        self.validated_step = Some((dt, scheme));
        Ok(self)
    }

    /// Step and scheme of the simulations that validated the model; none where there were none.
    pub fn validated_step(&self) -> Option<(f64, Scheme)> {
        self.validated_step
    }

    /// Number of coordinates D.
    pub fn dim(&self) -> usize {
        self.names.len()
    }

    /// Names of the coordinates.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// s.
    pub fn score(&self) -> &dyn Score {
        self.score.as_score()
    }

    /// M, bounded outside the samples.
    pub fn mobility(&self) -> &dyn Mobility {
        &*self.mobility
    }

    /// The block of one site, where M is the same block at every site of a ring.
    pub fn onsite(&self) -> Option<&LinearMobility> {
        self.mobility.onsite()
    }

    /// States of the data that simulations start from, (state, coordinate).
    pub fn starts(&self) -> ArrayView2<'_, f64> {
        self.starts.view()
    }

    /// What it was made from.
    pub fn provenance(&self) -> &Provenance {
        &self.provenance
    }

    /// One of the start states, by the trajectory's own stream.
    pub fn draw_start(&self, stream: &mut Stream, x: &mut [f64]) {
        let k = stream.below(self.starts.nrows() as u64) as usize;
        for (x, start) in x.iter_mut().zip(self.starts.row(k)) {
            *x = *start;
        }
    }

    /// True where a raw state is among the samples.
    pub fn in_support(&self, x: &[f64]) -> bool {
        self.out_of_support(x) == 0
    }

    /// Number of states of a tile, (D, n), outside the region where there were samples.
    pub(crate) fn out_of_support(&self, x: &[f64]) -> usize {
        let confinement = self.score.confinement();
        let mut z = x.to_vec();
        confinement.standardiser().forward_states(&mut z);
        let (n, support) = (x.len() / self.dim(), confinement.support());
        let mut state = vec![0.0; self.dim()];
        let outside = (0..n).filter(|s| {
            for (value, row) in state.iter_mut().zip(z.chunks_exact(n)) {
                *value = row[*s];
            }
            !support.contains(&state)
        });
        outside.count()
    }

    /// The map that leaves coordinates what they are, and gives angles in radians.
    pub(crate) fn radians(&self) -> Standardiser {
        let standardiser = self.score.confinement().standardiser();
        let dim = self.dim();
        let circles: Vec<bool> = (0..dim).map(|i| standardiser.is_circle(i)).collect();
        let scale = |i: usize| match circles[i] {
            true => standardiser.scale[i],
            false => 1.0,
        };
        let plain = Standardiser::new(vec![0.0; dim], (0..dim).map(scale).collect());
        plain.expect("scales of a sound one").with_circles(circles)
    }

    fn scale(&self) -> &[f64] {
        &self.score.confinement().standardiser().scale
    }

    /// The Itô drift b: M s + ∇·M, or the fitted drift where it is an unknown of its own. Where D is not
    /// positive definite, M has the D of the noise ([`LangevinModel::noise_factor`]).
    pub fn drift(&self, x: &[f64], out: &mut [f64]) {
        let dim = self.dim();
        let mut m = vec![0.0; dim * x.len()];
        self.drift_and_mobility(x, out, &mut m);
    }

    /// The drift, and M.
    fn drift_and_mobility(&self, x: &[f64], drift: &mut [f64], m: &mut [f64]) {
        let (dim, block) = (self.dim(), self.mobility.block());
        if let Some(fitted) = self.mobility.drift() {
            self.confined_drift(fitted, x, drift);
            self.mobility.mobility(x, m);
            return self.lift(m);
        }
        let n = x.len() / dim;
        let mut score = vec![0.0; x.len()];
        self.score().score(x, &mut score);
        self.mobility.with_divergence(x, m, drift);
        self.lift(m);
        for i in 0..dim {
            let drift = &mut drift[i * n..][..n];
            let first = i / block * block;
            for j in first..first + block {
                let terms = m[(i * dim + j) * n..][..n].iter().zip(&score[j * n..][..n]);
                for (drift, (m, s)) in drift.iter_mut().zip(terms) {
                    *drift += m * s;
                }
            }
        }
    }

    /// A fitted drift, which outside the samples pulls back at the rate at which the noise spreads.
    fn confined_drift(&self, fitted: &Polynomials, x: &[f64], out: &mut [f64]) {
        let confinement = self.score.confinement();
        let n = x.len() / self.dim();
        confinement.drift(x, out, self.pull_rate(), |z, out| {
            let mut states = z.to_vec();
            for (i, row) in states.chunks_exact_mut(n.max(1)).enumerate() {
                let (mean, scale) = (confinement.standardiser().mean[i], self.scale()[i]);
                row.iter_mut().for_each(|z| *z = mean + scale * *z);
            }
            fitted.values(&states, out);
            for (row, scale) in out.chunks_exact_mut(n.max(1)).zip(self.scale()) {
                row.iter_mut().for_each(|b| *b /= scale);
            }
        });
    }

    /// The mean of D in standardised coordinates, a rate.
    fn pull_rate(&self) -> f64 {
        self.floor / FLOOR
    }

    /// True where drift and diffusion were fitted, rather than score and mobility.
    pub fn has_fitted_drift(&self) -> bool {
        self.mobility.drift().is_some()
    }

    /// How fast the drift F changes: the largest row sum of |∂_j F_i| σ_j/σ_i, σ being the scales of the
    /// coordinates, exceeded at one in twenty of the states that are looked at.
    pub fn fastest_rate(&self) -> f64 {
        /// States, and the difference in units of the scale of a coordinate.
        const STATES: usize = 64;
        const STEP: f64 = 1e-4;
        let (dim, scale) = (self.dim(), self.scale());
        let every = self.starts.nrows().div_ceil(STATES);
        let states = self.starts.slice(ndarray::s![..; every, ..]);
        let n = states.nrows();
        let tile: Vec<f64> = states.t().iter().copied().collect();
        let mut rows = vec![0.0; dim * n];
        let [mut up, mut down] = [(); 2].map(|()| vec![0.0; dim * n]);
        for j in 0..dim {
            for (sign, out) in [(1.0, &mut up), (-1.0, &mut down)] {
                let mut moved = tile.clone();
                let row = moved[j * n..][..n].iter_mut();
                row.for_each(|x| *x += sign * STEP * scale[j]);
                self.drift(&moved, out);
            }
            for (i, rows) in rows.chunks_exact_mut(n).enumerate() {
                for (s, sum) in rows.iter_mut().enumerate() {
                    let change = (up[i * n + s] - down[i * n + s]).abs();
                    *sum += change / (2.0 * STEP * scale[i]);
                }
            }
        }
        let largest = |s: usize| (0..dim).map(|i| rows[i * n + s]).fold(0.0, f64::max);
        let mut rates: Vec<f64> = (0..n).map(largest).collect();
        rates.sort_by(f64::total_cmp);
        rates[(n - 1) * 19 / 20]
    }

    /// (∇·M)_i = Σ_j ∂_j M_ij.
    pub fn div_mobility(&self, x: &[f64], out: &mut [f64]) {
        self.mobility.div_mobility(x, out);
    }

    /// D = sym M; the noise of the equation is √2 Σ with Σ Σᵀ = D.
    pub fn diffusion(&self, x: &[f64], out: &mut [f64]) {
        self.mobility.diffusion(x, out);
    }

    /// The lower triangular Σ with Σ Σᵀ = D. Where D is not positive definite, Σ belongs to the nearest
    /// matrix, in standardised coordinates, whose eigenvalues are at least a thousandth of their mean
    /// over the start states; the number of such states is returned.
    pub fn noise_factor(&self, x: &[f64], out: &mut [f64]) -> usize {
        self.mobility.mobility(x, out);
        self.factor(out)
    }

    /// Number of states of a tile where D is not positive definite; `tensors` is lost. Between walls, where D may
    /// vanish, with a twentieth of its mean added.
    pub(crate) fn indefinite(&self, x: &[f64], tensors: &mut [f64]) -> usize {
        const PART: f64 = 0.05;
        self.mobility.mobility(x, tensors);
        if self.space.has_walls() {
            let (dim, n) = (self.dim(), x.len() / self.dim());
            for (i, scale) in self.scale().iter().enumerate() {
                let raise = PART * self.pull_rate() * scale * scale;
                let diagonal = &mut tensors[(i * dim + i) * n..][..n];
                diagonal.iter_mut().for_each(|d| *d += raise);
            }
        }
        self.factor(tensors)
    }

    /// σ = √2 Σ, the noise in the convention dx = F dt + σ dW; see [`LangevinModel::noise_factor`].
    pub fn noise_amplitude(&self, x: &[f64], out: &mut [f64]) -> usize {
        let repaired = self.noise_factor(x, out);
        out.iter_mut().for_each(|value| *value *= 2f64.sqrt());
        repaired
    }

    /// Raise the eigenvalues of D where it is not positive definite, as for the noise; R stays.
    fn lift(&self, m: &mut [f64]) {
        let (dim, block) = (self.dim(), self.mobility.block());
        let n = m.len() / (dim * dim);
        let mut factors = m.to_vec();
        for s in self.factored(&mut factors) {
            for i in 0..dim {
                for j in i / block * block..=i {
                    let at = |i: usize, j: usize| (i * dim + j) * n + s;
                    let terms =
                        (j / block * block..=j).map(|k| factors[at(i, k)] * factors[at(j, k)]);
                    let (even, odd) = (terms.sum::<f64>(), 0.5 * (m[at(i, j)] - m[at(j, i)]));
                    (m[at(i, j)], m[at(j, i)]) = (even + odd, even - odd);
                }
            }
        }
    }

    /// Σ in the place of M; the number of states where D had to be repaired.
    fn factor(&self, tile: &mut [f64]) -> usize {
        self.factored(tile).len()
    }

    /// Σ in the place of M; the states where D had to be repaired.
    fn factored(&self, tile: &mut [f64]) -> Vec<usize> {
        let (dim, block) = (self.dim(), self.mobility.block());
        let n = tile.len() / (dim * dim);
        symmetrise(tile, dim);
        let (mut diffusion, mut one) = (Vec::new(), vec![0.0; block * block]);
        let mut repaired = Vec::new();
        for first in (0..dim).step_by(block) {
            // Row k of the block in the tile, kept for states whose D has no factor.
            let at = |k: usize| ((first + k / block) * dim + first + k % block) * n;
            diffusion.clear();
            (0..block * block).for_each(|k| diffusion.extend_from_slice(&tile[at(k)..][..n]));
            for s in factorise(tile, dim, first..first + block) {
                for (k, value) in one.iter_mut().enumerate() {
                    *value = diffusion[k * n + s];
                }
                self.positive_factor(first, &mut one);
                for (k, value) in one.iter().enumerate() {
                    tile[at(k) + s] = *value;
                }
                repaired.push(s);
            }
        }
        repaired.sort_unstable();
        repaired.dedup();
        repaired
    }

    /// Σ of the nearest positive matrix, in the place of the block of D that begins at `first`; NaN
    /// where that is not a number.
    #[cold]
    fn positive_factor(&self, first: usize, block: &mut [f64]) {
        let size = block.len().isqrt();
        let scale = &self.scale()[first..first + size];
        let standardised = Array2::from_shape_fn((size, size), |(i, j)| {
            block[i * size + j] / (scale[i] * scale[j])
        });
        let factor = raised(standardised.view(), self.floor);
        let factor = factor.and_then(|raised| linalg::cholesky(raised.view()));
        for (k, value) in block.iter_mut().enumerate() {
            let (i, j) = (k / size, k % size);
            *value = match &factor {
                Ok(factor) => scale[i] * factor[[i, j]],
                Err(_) => f64::NAN,
            };
        }
    }
}
