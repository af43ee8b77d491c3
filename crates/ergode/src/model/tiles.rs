//! Any model as an equation on tiles.

use super::{LangevinModel, StoredMobility, StoredScore};
use crate::simulate::{Dimensions, GROUP, Scheme, Sde, TileDynamics, advance_tiles};

/// Trajectories in a tile for polynomials, whose values should stay in the cache, and for networks,
/// whose weights are packed once per tile.
const POLYNOMIAL_LANES: usize = 8 * GROUP;
const NETWORK_LANES: usize = 64 * GROUP;

/// A model evaluated on whole tiles.
pub(super) struct Tiles<'a>(&'a LangevinModel);

impl<'a> Tiles<'a> {
    pub(super) fn new(model: &'a LangevinModel) -> Self {
        Self(model)
    }
}

impl Dimensions for Tiles<'_> {
    fn dim(&self) -> usize {
        self.0.dim()
    }
}

impl TileDynamics for Tiles<'_> {
    fn evaluate(&self, x: &[f64], drift: Option<&mut [f64]>, noise: Option<(&[f64], &mut [f64])>) {
        let (model, dim) = (self.0, self.0.dim());
        let mut m = vec![0.0; dim * x.len()];
        match drift {
            Some(drift) => model.drift_and_mobility(x, drift, &mut m),
            None => model.mobility().mobility(x, &mut m),
        }
        let Some((xi, noise)) = noise else { return };
        model.factor(&mut m);
        let (n, block) = (x.len() / dim, model.mobility.block());
        for (i, noise) in noise.chunks_exact_mut(n).enumerate() {
            noise.fill(0.0);
            for j in i / block * block..=i {
                let factor = &m[(i * dim + j) * n..][..n];
                for (noise, (factor, xi)) in noise.iter_mut().zip(factor.iter().zip(&xi[j * n..])) {
                    *noise += factor * xi;
                }
            }
            noise.iter_mut().for_each(|value| *value *= 2f64.sqrt());
        }
    }
}

impl Sde for Tiles<'_> {
    fn advance(&self, scheme: Scheme, dt: f64, lanes: usize, state: &mut [f64], normals: &[f64]) {
        advance_tiles(self, scheme, dt, lanes, state, normals);
    }
    fn most_lanes(&self) -> usize {
        let model = self.0;
        let network = matches!(&*model.score, StoredScore::Neural(_))
            || matches!(&model.mobility.stored, StoredMobility::Neural(_));
        if network {
            NETWORK_LANES
        } else {
            POLYNOMIAL_LANES
        }
    }
    fn evaluate(&self, x: &[f64], xi: &[f64], drift: &mut [f64], noise: &mut [f64]) {
        TileDynamics::evaluate(self, x, Some(drift), Some((xi, noise)));
    }
}
