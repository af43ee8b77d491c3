//! The averages that fix a score in a linear span, kept per block.

use faer::linalg::matmul::triangular::{self, BlockStructure};
use faer::{Accum, MatMut, MatRef, Par};
use ndarray::{Array1, Array2};
use serde::{Deserialize, Serialize};

use super::fields::VectorFields;
use super::walls::WallWeight;
use crate::control::Control;
use crate::data::{Ensemble, Packed, Standardiser, States, Trajectory, pack};
use crate::error::{Error, Result, require_positive};
use crate::lagged::{BlockId, LaggedConfig, Starts, by_block, over_blocks};
use crate::random::{Purpose, Stream};
use crate::simd;

/// Objective of a score in a linear span.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum ScoreObjective {
    /// Hyvärinen's ⟨|s|²/2 + ∇·s⟩: no noise is added and one pass is enough.
    #[default]
    Hyvarinen,
    /// ⟨|s(z + σξ) + ξ/σ|²⟩ with ξ standard normal, drawn once per sample and used with both signs.
    ///
    /// In expectation this is Hyvärinen's objective for the law of z + σξ, so the score that it gives
    /// is that of the smoothed density: it is for comparison with networks that are trained so.
    Denoising {
        /// σ, in standardised coordinates.
        sigma: f64,
        /// Seed of ξ.
        seed: u64,
    },
}

/// Σ f_k·f_l and Σ ∇·f_k over the samples of every block.
///
/// For s = Σ β_k f_k both objectives are ½ βᵀGβ + dᵀβ and a constant: Hyvärinen's with
/// G = ⟨f_k·f_l⟩ and d = ⟨∇·f_k⟩, the denoising one with both fields at z ± σξ and
/// d = ⟨(f_k(z + σξ) − f_k(z − σξ))·ξ⟩/2σ.
///
/// Between walls Hyvärinen's objective would need a density that vanishes there. Weighted with h_i that vanish
/// at the walls of coordinate i, G = ⟨Σ_i h_i f_ki f_li⟩ and d = ⟨Σ_i (h_i ∂_i f_ki + h_i' f_ki)⟩: no term at a
/// wall is left, whatever the density is there (generalised score matching).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScoreSums {
    pub(super) labels: Vec<String>,
    pub(super) blocks: Vec<(BlockId, BlockSums)>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct BlockSums {
    pub(super) samples: f64,
    pub(super) gram: Array2<f64>,
    pub(super) divergence: Array1<f64>,
}

impl BlockSums {
    pub(super) fn zeros(functions: usize) -> Self {
        Self {
            samples: 0.0,
            gram: Array2::zeros((functions, functions)),
            divergence: Array1::zeros(functions),
        }
    }

    /// Add w F Fᵀ to the lower half of the Gram matrix, F = `values` being (field, D n).
    pub(super) fn add_gram(&mut self, values: &[f64], weight: f64) {
        let functions = self.divergence.len();
        let fields = MatRef::from_row_major_slice(values, functions, values.len() / functions);
        let gram = self.gram.as_slice_mut().expect("row-major");
        triangular::matmul(
            MatMut::from_row_major_slice_mut(gram, functions, functions),
            BlockStructure::TriangularLower,
            Accum::Add,
            fields,
            BlockStructure::Rectangular,
            fields.transpose(),
            BlockStructure::Rectangular,
            weight,
            Par::Seq,
        );
    }

    /// The sums with the upper half of the Gram matrix filled in.
    pub(super) fn finish(mut self) -> Self {
        for i in 0..self.gram.nrows() {
            for j in 0..i {
                self.gram[[j, i]] = self.gram[[i, j]];
            }
        }
        self
    }

    fn add(&mut self, other: &Self) {
        self.samples += other.samples;
        self.gram += &other.gram;
        self.divergence += &other.divergence;
    }

    /// G and d of these samples.
    pub(super) fn means(&self) -> (Array2<f64>, Array1<f64>) {
        (&self.gram / self.samples, &self.divergence / self.samples)
    }
}

impl ScoreSums {
    /// Sums for these fields without a block.
    pub(crate) fn empty(labels: &[String]) -> Self {
        Self {
            labels: labels.to_vec(),
            blocks: Vec::new(),
        }
    }

    /// Adds a part of like statistics, whose blocks may be parts of the same.
    pub(crate) fn join(&mut self, other: Self) {
        let mine = std::mem::take(&mut self.blocks);
        self.blocks = by_block(mine.into_iter().chain(other.blocks), BlockSums::add);
    }

    /// Appends the numbers of all blocks.
    pub(crate) fn pack(&self, out: &mut Vec<u8>) {
        for (_, block) in &self.blocks {
            pack([&block.samples], out);
            pack(&block.gram, out);
            pack(&block.divergence, out);
        }
    }

    /// Sums for the fields of `empty` with the numbers of these blocks.
    ///
    /// # Errors
    /// When there are too few numbers.
    pub(crate) fn unpack(
        mut empty: Self,
        blocks: &[BlockId],
        numbers: &mut Packed,
    ) -> Result<Self> {
        let n = empty.labels.len();
        for id in blocks {
            let block = BlockSums {
                samples: numbers.vector(1)?[0],
                gram: numbers.matrix((n, n))?,
                divergence: numbers.vector(n)?,
            };
            empty.blocks.push((*id, block));
        }
        Ok(empty)
    }

    /// Labels of the fields f.
    pub fn labels(&self) -> &[String] {
        &self.labels
    }

    /// The blocks, in order.
    pub(crate) fn block_ids(&self) -> impl Iterator<Item = BlockId> {
        self.blocks.iter().map(|(id, _)| *id)
    }

    /// Number of samples.
    pub(super) fn samples(&self) -> f64 {
        self.blocks.iter().map(|(_, block)| block.samples).sum()
    }

    /// The sums over the chosen blocks, of the first `functions` fields.
    pub(super) fn total(&self, functions: usize, keep: impl Fn(usize) -> bool) -> BlockSums {
        let mut total = BlockSums::zeros(functions);
        for (k, (_, block)) in self.blocks.iter().enumerate() {
            if keep(k) {
                total.samples += block.samples;
                total.gram += &block.gram.slice(ndarray::s![..functions, ..functions]);
                total.divergence += &block.divergence.slice(ndarray::s![..functions]);
            }
        }
        total
    }
}

/// Numbers that the fields on a tile may take, to stay in the second cache.
const TILE_NUMBERS: usize = 1 << 15;

/// Collect the sums for vector fields of the standardised coordinates.
///
/// # Errors
/// When fields, standardiser and data differ in dimension, or the work is stopped.
pub fn accumulate_score(
    ensemble: &Ensemble,
    fields: &dyn VectorFields,
    standardiser: &Standardiser,
    objective: ScoreObjective,
    config: &LaggedConfig,
    control: &Control,
) -> Result<ScoreSums> {
    let dim = ensemble.dim();
    if fields.dim() != dim || standardiser.mean.len() != dim {
        return Err(Error::input(format!(
            "dimensions do not match: the fields have {} coordinates, the standardisation {}, the data \
             {dim}",
            fields.dim(),
            standardiser.mean.len()
        )));
    }
    if let ScoreObjective::Denoising { sigma, .. } = objective {
        require_positive("the noise sigma of the denoising objective", sigma)?;
    }
    let starts = config.starts(ensemble);
    accumulate_score_from(ensemble, fields, standardiser, objective, &starts, control)
}

/// [`accumulate_score`] of given samples, parts of the same blocks added up.
pub(crate) fn accumulate_score_from(
    ensemble: &Ensemble,
    fields: &dyn VectorFields,
    standardiser: &Standardiser,
    objective: ScoreObjective,
    starts: &Starts,
    control: &Control,
) -> Result<ScoreSums> {
    let blocks = over_blocks(ensemble, &starts.blocks, control, |block| {
        let mut worker = Worker::new(fields, standardiser, objective, block.id);
        worker.walls = WallWeight::of(ensemble, standardiser);
        let size = worker.tile;
        let subsample = starts.subsample;
        block.each_tile(ensemble, subsample, size, control, |trajectory, _, tile| {
            worker.load(trajectory, tile);
            worker.add();
        })?;
        Ok(worker.sums.finish())
    })?;
    Ok(ScoreSums {
        labels: fields.labels().to_vec(),
        blocks: by_block(blocks, BlockSums::add),
    })
}

/// Buffers of one thread working on one block.
struct Worker<'a> {
    fields: &'a dyn VectorFields,
    standardiser: &'a Standardiser,
    /// σ and the stream of ξ.
    noise: Option<(f64, Stream)>,
    /// The weight of every coordinate; empty where there are no walls.
    walls: Vec<WallWeight>,
    /// States in a tile.
    tile: usize,
    sums: BlockSums,
    ones: Vec<f64>,
    /// z, (D, n).
    z: States,
    /// ξ and z ± σξ, (D, n).
    xi: Vec<f64>,
    moved: Vec<f64>,
    /// f on the tile, (field, D, n), and ∇·f, (field, n).
    values: Vec<f64>,
    divergences: Vec<f64>,
}

impl<'a> Worker<'a> {
    fn new(
        fields: &'a dyn VectorFields,
        standardiser: &'a Standardiser,
        objective: ScoreObjective,
        id: BlockId,
    ) -> Self {
        let (dim, functions) = (fields.dim(), fields.labels().len());
        let noise = match objective {
            ScoreObjective::Hyvarinen => None,
            ScoreObjective::Denoising { sigma, seed } => {
                let key = (id.trajectory as u64) << 24 | id.part as u64;
                Some((sigma, Stream::new(seed, Purpose::Noise, key)))
            }
        };
        Self {
            fields,
            standardiser,
            noise,
            walls: Vec::new(),
            tile: (TILE_NUMBERS / (functions * dim).max(1)).clamp(16, 256),
            sums: BlockSums::zeros(functions),
            ones: vec![1.0; dim],
            z: States::default(),
            xi: Vec::new(),
            moved: Vec::new(),
            values: Vec::new(),
            divergences: Vec::new(),
        }
    }

    /// Rows as a tile of standardised states, coordinate-major.
    fn load(&mut self, trajectory: &Trajectory, rows: &[usize]) {
        let n = rows.len();
        self.z.pick(trajectory, rows.iter().copied());
        self.z.standardise(self.standardiser);
        self.sums.samples += n as f64;
        self.values
            .resize(self.sums.divergence.len() * self.z.len(), 0.0);
        self.divergences.resize(self.sums.divergence.len() * n, 0.0);
    }

    /// Add the loaded tile.
    fn add(&mut self) {
        if self.noise.is_none() && !self.walls.is_empty() {
            return self.add_weighted();
        }
        let Some((sigma, stream)) = &mut self.noise else {
            self.fields.fields(&self.z, &mut self.values);
            self.fields
                .divergences(&self.z, &self.ones, &mut self.divergences);
            let n = self.z.len() / self.fields.dim();
            for (sum, row) in
                (self.sums.divergence.iter_mut()).zip(self.divergences.chunks_exact(n))
            {
                *sum += simd::sum(row);
            }
            self.sums.add_gram(&self.values, 1.0);
            return;
        };
        self.xi.resize(self.z.len(), 0.0);
        self.moved.resize(self.z.len(), 0.0);
        self.xi.fill_with(|| stream.normal());
        for sign in [1.0, -1.0] {
            for ((moved, z), xi) in self.moved.iter_mut().zip(self.z.iter()).zip(&self.xi) {
                *moved = z + sign * *sigma * xi;
            }
            self.fields.fields(&self.moved, &mut self.values);
            let fields = self.values.chunks_exact(self.xi.len());
            for (sum, field) in self.sums.divergence.iter_mut().zip(fields) {
                let along: f64 = field.iter().zip(&self.xi).map(|(f, xi)| f * xi).sum();
                *sum += 0.5 * sign * along / *sigma;
            }
            self.sums.add_gram(&self.values, 0.5);
        }
    }

    /// Add the loaded tile, weighted.
    fn add_weighted(&mut self) {
        let dim = self.fields.dim();
        let n = self.z.len() / dim;
        self.fields.fields(&self.z, &mut self.values);
        for (i, weight) in self.walls.iter().enumerate() {
            let unit: Vec<f64> = (0..dim).map(|j| f64::from(u8::from(i == j))).collect();
            self.fields
                .divergences(&self.z, &unit, &mut self.divergences);
            let z = &self.z[i * n..][..n];
            for (k, sum) in self.sums.divergence.iter_mut().enumerate() {
                let field = &mut self.values[(k * dim + i) * n..][..n];
                let slopes = &self.divergences[k * n..][..n];
                for ((f, slope), z) in field.iter_mut().zip(slopes).zip(z) {
                    let [h, change] = weight.at(*z);
                    *sum += h * slope + change * *f;
                    *f *= h.sqrt();
                }
            }
        }
        self.sums.add_gram(&self.values, 1.0);
    }
}
