//! The averages that fix a score in a linear span, kept per block.

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};
use ndarray::{Array1, Array2};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::control::Control;
use crate::data::{Ensemble, Standardiser};
use crate::error::{Error, Result};
use crate::lagged::{BlockId, LaggedConfig};
use crate::observable::Library;

/// Σ ∇ψ_k·∇ψ_l and Σ Δψ_k over the samples of every block.
///
/// For s = Σ β_k ∇ψ_k, Hyvärinen's objective ⟨|s|²/2 + ∇·s⟩ is ½ βᵀGβ + dᵀβ with G = ⟨∇ψ_k·∇ψ_l⟩ and
/// d = ⟨Δψ_k⟩: no noise is added and one pass is enough.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScoreSums {
    pub(super) labels: Vec<String>,
    pub(super) blocks: Vec<(BlockId, BlockSums)>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct BlockSums {
    pub(super) samples: f64,
    pub(super) gram: Array2<f64>,
    pub(super) laplacian: Array1<f64>,
}

impl BlockSums {
    fn zeros(functions: usize) -> Self {
        Self {
            samples: 0.0,
            gram: Array2::zeros((functions, functions)),
            laplacian: Array1::zeros(functions),
        }
    }

    /// G and d of these samples.
    pub(super) fn means(&self) -> (Array2<f64>, Array1<f64>) {
        (&self.gram / self.samples, &self.laplacian / self.samples)
    }
}

impl ScoreSums {
    /// Labels of the functions ψ.
    pub fn labels(&self) -> &[String] {
        &self.labels
    }

    /// The sums over the chosen blocks, of the first `functions` functions.
    pub(super) fn total(&self, functions: usize, keep: impl Fn(usize) -> bool) -> BlockSums {
        let mut total = BlockSums::zeros(functions);
        for (k, (_, block)) in self.blocks.iter().enumerate() {
            if keep(k) {
                total.samples += block.samples;
                total.gram += &block.gram.slice(ndarray::s![..functions, ..functions]);
                total.laplacian += &block.laplacian.slice(ndarray::s![..functions]);
            }
        }
        total
    }
}

/// States in a tile.
const TILE: usize = 256;

/// Collect the sums for potentials ψ of the standardised coordinates.
pub fn accumulate_score(
    ensemble: &Ensemble,
    library: &dyn Library,
    standardiser: &Standardiser,
    config: &LaggedConfig,
    control: &Control,
) -> Result<ScoreSums> {
    let (dim, functions) = (ensemble.dim(), library.len());
    if library.dim() != dim {
        return Err(Error::input(format!(
            "functions of {} coordinates cannot be evaluated on data of {dim}",
            library.dim()
        )));
    }
    let blocks = config.blocking.plan(ensemble, config.first_trajectory);
    control.begin(ensemble.samples() as u64);
    let blocks = blocks
        .par_iter()
        .map(|block| {
            let trajectory =
                &ensemble.trajectories()[block.id.trajectory - config.first_trajectory];
            let mut sums = BlockSums::zeros(functions);
            let mut fields = vec![0.0; functions * dim * TILE];
            let mut gradient = vec![0.0; functions * dim];
            let mut laplacian = vec![0.0; functions];
            let mut x = vec![0.0; dim];
            for (segment, rows) in &block.starts {
                let picked = block.initial_rows(segment, rows, config.subsample);
                for tile in picked.chunks(TILE) {
                    for (s, &row) in tile.iter().enumerate() {
                        trajectory.row(row, &mut x);
                        standardiser.forward(&mut x);
                        library.gradients(&x, &mut gradient);
                        library.laplacians(&x, &mut laplacian);
                        for k in 0..functions {
                            let at = (k * TILE + s) * dim;
                            let row = &gradient[k * dim..(k + 1) * dim];
                            fields[at..at + dim].copy_from_slice(row);
                            sums.laplacian[k] += laplacian[k];
                        }
                    }
                    sums.samples += tile.len() as f64;
                    let width = tile.len() * dim;
                    let fields = MatRef::from_row_major_slice_with_stride(
                        &fields,
                        functions,
                        width,
                        dim * TILE,
                    );
                    let gram = sums.gram.as_slice_mut().expect("row-major");
                    let gram = MatMut::from_row_major_slice_mut(gram, functions, functions);
                    matmul(gram, Accum::Add, fields, fields.transpose(), 1.0, Par::Seq);
                }
                control.advance(rows.len() as u64)?;
            }
            Ok((block.id, sums))
        })
        .collect::<Result<_>>()?;
    Ok(ScoreSums {
        labels: library.labels().to_vec(),
        blocks,
    })
}
