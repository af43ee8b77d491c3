//! Any model as an equation on tiles.

use ndarray::{Array2, ArrayView2, ArrayViewMut2};

use super::{LangevinModel, StoredMobility, StoredScore};
use crate::linalg;
use crate::simd::GROUP;
use crate::simulate::{Dimensions, Scheme, Sde, TileDynamics, advance_tiles};
use crate::space::Space;

/// Trajectories in a tile for polynomials, whose values should stay in the cache, and for networks,
/// whose weights are packed once per tile.
const POLYNOMIAL_LANES: usize = 8 * GROUP;
const NETWORK_LANES: usize = 64 * GROUP;

/// A model evaluated on whole tiles.
pub(super) struct Tiles<'a> {
    model: &'a LangevinModel,
    /// M and √2 Σ, where they do not depend on the state.
    constant: Option<[Array2<f64>; 2]>,
}

impl<'a> Tiles<'a> {
    pub(super) fn new(model: &'a LangevinModel) -> Self {
        let dim = model.dim();
        let linear = model.mobility.is_constant() && !model.has_fitted_drift();
        let constant = linear.then(|| {
            let x = model.starts.row(0).to_vec();
            let [mut m, mut noise] = [(); 2].map(|()| vec![0.0; dim * dim]);
            model.mobility().mobility(&x, &mut m);
            model.noise_amplitude(&x, &mut noise);
            [m, noise].map(|a| Array2::from_shape_vec((dim, dim), a).expect("a square"))
        });
        Self { model, constant }
    }

    /// M s and √2 Σ ξ for a constant M.
    fn linear(
        &self,
        [m, amplitude]: &[Array2<f64>; 2],
        x: &[f64],
        drift: Option<&mut [f64]>,
        noise: Option<(&[f64], &mut [f64])>,
    ) {
        let dim = self.model.dim();
        let n = x.len() / dim;
        let apply = |matrix: &Array2<f64>, vectors: &[f64], out: &mut [f64]| {
            let vectors = ArrayView2::from_shape((dim, n), vectors).expect("a tile");
            let mut out = ArrayViewMut2::from_shape((dim, n), out).expect("a tile");
            out.assign(&linalg::multiply(matrix.view(), vectors));
        };
        if let Some(drift) = drift {
            let mut score = vec![0.0; x.len()];
            self.model.score().score(x, &mut score);
            apply(m, &score, drift);
        }
        if let Some((xi, noise)) = noise {
            apply(amplitude, xi, noise);
        }
    }
}

impl Dimensions for Tiles<'_> {
    fn dim(&self) -> usize {
        self.model.dim()
    }
    fn is_additive(&self) -> bool {
        self.model.mobility.is_constant()
    }
}

impl TileDynamics for Tiles<'_> {
    fn evaluate(&self, x: &[f64], drift: Option<&mut [f64]>, noise: Option<(&[f64], &mut [f64])>) {
        if let Some(constant) = &self.constant {
            return self.linear(constant, x, drift, noise);
        }
        let (model, dim) = (self.model, self.model.dim());
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
    fn space(&self) -> &Space {
        self.model.space()
    }
}

impl Sde for Tiles<'_> {
    fn advance(&self, scheme: Scheme, dt: f64, lanes: usize, state: &mut [f64], normals: &[f64]) {
        advance_tiles(self, scheme, dt, lanes, state, normals);
    }
    fn most_lanes(&self) -> usize {
        let model = self.model;
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
