//! M outside the samples.

use std::ops::Range;

use ndarray::{Array2, ArrayView2, s};

use super::parts::StoredMobility;
use crate::error::Result;
use crate::lagged::CoefficientErrors;
use crate::linalg;
use crate::mobility::{LinearMobility, Mobility};
use crate::observable::Polynomials;
use crate::score::Confinement;

/// M at the point c of the support that stands for the state ([`Confinement`]), its antisymmetric part R weakened
/// outside: D(c) + g R(c) with g = 1/(1 + d²), d being the distance from c in standardised coordinates.
///
/// Polynomials would run away outside, and there is nothing there that R must keep in balance with the pull of
/// the score. Along a coordinate in which c is not moved M changes as it does at c, along the others only by g,
/// so that ∇·M = Σ_j ∂_j (D + g R)_ij + R ∇g is exact. Where D(c) is small or not positive its eigenvalues are
/// raised, or the state would hardly return. A constant or a network is bounded by itself.
#[derive(Debug)]
pub(super) struct BoundedMobility {
    pub(super) stored: StoredMobility,
    confinement: Confinement,
    /// The fields of a basis of polynomials that are antisymmetric; none where M is constant.
    currents: Vec<bool>,
    /// Least eigenvalue of D outside the support, in standardised coordinates.
    pub(super) least: f64,
}

/// D with its eigenvalues at least `floor`.
pub(super) fn raised(diffusion: ArrayView2<f64>, floor: f64) -> Result<Array2<f64>> {
    let (values, vectors) = linalg::symmetric_eigen(diffusion)?;
    let lifted = values.mapv(|value| value.max(floor));
    Ok((&vectors * &lifted).dot(&vectors.t()))
}

/// States moved into the support.
struct Placed {
    /// The points that stand for them, a raw tile.
    states: Vec<f64>,
    outside: Vec<Outside>,
}

/// A state outside the support.
struct Outside {
    /// Its place in the tile.
    state: usize,
    /// g.
    damping: f64,
    /// ∂_j g in raw coordinates.
    slope: Vec<f64>,
    /// True for coordinates that were not moved.
    free: Vec<bool>,
}

impl BoundedMobility {
    /// Within the support of the samples.
    pub(super) fn new(stored: StoredMobility, confinement: &Confinement) -> Self {
        let mut bounded = Self {
            stored,
            confinement: confinement.clone(),
            currents: Vec::new(),
            least: 0.0,
        };
        if let Some(onsite) = bounded
            .polynomials()
            .filter(|onsite| onsite.basis().degree() > 0)
        {
            let c = onsite.dim();
            // At a state like any other, where no field vanishes.
            let state = confinement.standardiser();
            let at = |i: usize| state.mean[i] + state.scale[i] * (0.437 + 0.291 * i as f64);
            let (entries, _) = onsite.basis().design(&(0..c).map(at).collect::<Vec<_>>());
            let antisymmetric = |k: usize| {
                let transposed = |at: usize| at % c * c + at / c;
                (0..c * c).all(|at| entries[[at, k]] == -entries[[transposed(at), k]])
            };
            bounded.currents = (0..entries.ncols()).map(antisymmetric).collect();
        } else if let Some(onsite) = bounded.polynomials() {
            bounded.currents = vec![false; onsite.basis().len()];
        }
        bounded
    }

    /// True where M is the same everywhere.
    pub(super) fn is_constant(&self) -> bool {
        match &self.stored {
            StoredMobility::Constant(_) => true,
            StoredMobility::Linear(mobility) => mobility.basis().degree() == 0,
            StoredMobility::Lattice(_) | StoredMobility::Neural(_) => false,
        }
    }

    /// The drift, where it is an unknown of its own.
    pub(super) fn drift(&self) -> Option<&Polynomials> {
        match &self.stored {
            StoredMobility::Linear(mobility) => mobility.drift(),
            _ => None,
        }
    }

    /// ∂b_i/∂c_k at one raw state, (i, k), where the drift is an unknown of its own; outside the samples that
    /// at the point of the support that stands for the state.
    pub(super) fn drift_design(&self, x: &[f64]) -> Option<Array2<f64>> {
        let mobility = self.drift().and(self.polynomials())?;
        let (mut state, _) = self.confinement.place(x);
        self.confinement.standardiser().inverse(&mut state);
        Some(mobility.basis().drift_design(&state))
    }

    pub(super) fn onsite(&self) -> Option<&LinearMobility> {
        match &self.stored {
            StoredMobility::Lattice(mobility) => Some(mobility.onsite()),
            _ => None,
        }
    }

    /// Rows of the diagonal blocks, outside of which M is zero.
    pub(super) fn block(&self) -> usize {
        match &self.stored {
            StoredMobility::Constant(matrix) => matrix.nrows(),
            StoredMobility::Linear(mobility) => mobility.dim(),
            StoredMobility::Lattice(mobility) => mobility.onsite().dim(),
            StoredMobility::Neural(mobility) => mobility.block(),
        }
    }

    /// The sampling errors of the coefficients, where they are known.
    pub(super) fn coefficient_errors(&self) -> Option<&CoefficientErrors> {
        self.polynomials().and_then(LinearMobility::errors)
    }

    /// ∂M_ij/∂c_k and ∂(∇·M)_i/∂c_k at one raw state, (i·D + j, k) and (i, k), where M is made of
    /// polynomials.
    pub(super) fn design(&self, x: &[f64]) -> Option<(Array2<f64>, Array2<f64>)> {
        let onsite = self.polynomials()?;
        let (dim, block) = (x.len(), onsite.dim());
        let count = onsite.basis().len();
        let placed = self.place(x);
        let outside = placed.outside.first();
        let mut entries = Array2::zeros((dim * dim, count));
        let mut divergence = Array2::zeros((dim, count));
        for first in (0..dim).step_by(block) {
            let free = |j: usize| outside.is_none_or(|outside| outside.free[first + j]);
            let state = &placed.states[first..first + block];
            let (mut local, mut slopes) = onsite.basis().design_along(state, &free);
            let currents = (0..count).filter(|k| self.currents[*k]);
            for (k, outside) in currents.flat_map(|k| outside.map(|outside| (k, outside))) {
                for i in 0..block {
                    let along = |j: usize| local[[i * block + j, k]] * outside.slope[first + j];
                    let change: f64 = (0..block).map(along).sum();
                    slopes[[i, k]] = outside.damping * slopes[[i, k]] + change;
                }
                local
                    .column_mut(k)
                    .mapv_inplace(|entry| outside.damping * entry);
            }
            for (at, row) in local.outer_iter().enumerate() {
                let (i, j) = (first + at / block, first + at % block);
                entries.row_mut(i * dim + j).assign(&row);
            }
            divergence
                .slice_mut(s![first..first + block, ..])
                .assign(&slopes);
        }
        Some((entries, divergence))
    }

    /// The polynomials of one site, where M is made of such.
    fn polynomials(&self) -> Option<&LinearMobility> {
        match &self.stored {
            StoredMobility::Linear(mobility) => Some(mobility),
            StoredMobility::Lattice(mobility) => Some(mobility.onsite()),
            StoredMobility::Constant(_) | StoredMobility::Neural(_) => None,
        }
    }

    fn place(&self, x: &[f64]) -> Placed {
        let (dim, standardiser) = (self.dim(), self.confinement.standardiser());
        let n = x.len() / dim;
        if self.is_constant() {
            let states = x.to_vec();
            let outside = Vec::new();
            return Placed { states, outside };
        }
        let (inside, moved) = self.confinement.place(x);
        let mut states = x.to_vec();
        let outside = moved.into_iter().map(|state| {
            let mut z: Vec<f64> = (0..dim).map(|i| x[i * n + state]).collect();
            standardiser.forward(&mut z);
            let mut point: Vec<f64> = (0..dim).map(|i| inside[i * n + state]).collect();
            let free: Vec<bool> = z.iter().zip(&point).map(|(z, c)| z == c).collect();
            let away: Vec<f64> = z.iter().zip(&point).map(|(z, c)| z - c).collect();
            let damping = 1.0 / (1.0 + away.iter().map(|a| a * a).sum::<f64>());
            standardiser.inverse(&mut point);
            for i in (0..dim).filter(|i| !free[*i]) {
                states[i * n + state] = point[i];
            }
            let scales = away.iter().zip(&standardiser.scale);
            Outside {
                state,
                damping,
                slope: scales
                    .map(|(a, scale)| -2.0 * a * damping * damping / scale)
                    .collect(),
                free,
            }
        });
        let outside = outside.collect();
        Placed { states, outside }
    }

    /// D + g R in place of M at the states outside.
    fn weaken(&self, outside: &[Outside], m: &mut [f64]) {
        let (dim, block) = (self.dim(), self.block());
        let n = m.len() / (dim * dim);
        for Outside { state, damping, .. } in outside {
            for i in 0..dim {
                for j in i / block * block..i {
                    let at = [(i * dim + j) * n + state, (j * dim + i) * n + state];
                    let [a, b] = at.map(|at| m[at]);
                    let (even, odd) = (0.5 * (a + b), 0.5 * damping * (a - b));
                    (m[at[0]], m[at[1]]) = (even + odd, even - odd);
                }
            }
            for first in (0..dim).step_by(block) {
                self.raise(first..first + block, (*state, n), m);
            }
        }
    }

    /// Raise the eigenvalues of a block of D at a state that is outside.
    fn raise(&self, rows: Range<usize>, (state, n): (usize, usize), m: &mut [f64]) {
        let (dim, first) = (self.dim(), rows.start);
        let scale = &self.confinement.standardiser().scale[rows];
        let size = scale.len();
        if let [scale] = scale {
            let value = &mut m[(first * dim + first) * n + state];
            *value = value.max(self.least * scale * scale);
            return;
        }
        let at = |i: usize, j: usize| ((first + i) * dim + first + j) * n + state;
        let even = Array2::from_shape_fn((size, size), |(i, j)| {
            0.5 * (m[at(i, j)] + m[at(j, i)]) / (scale[i] * scale[j])
        });
        let Ok(raised) = raised(even.view(), self.least) else {
            return;
        };
        for ((i, j), value) in raised.indexed_iter() {
            m[at(i, j)] += (value - even[[i, j]]) * scale[i] * scale[j];
        }
    }

    /// Σ_j ∂_j M_ij, or Σ_j ∂_j M_ji where `transpose`.
    fn divergence(
        &self,
        onsite: &LinearMobility,
        placed: &Placed,
        transpose: bool,
        out: &mut [f64],
    ) {
        let (c, n) = (onsite.dim(), placed.states.len() / self.dim());
        let (mut slopes, mut swapped) = (vec![0.0; c * c * n], Vec::new());
        let mut values = Vec::new();
        out.fill(0.0);
        let tile = (c * n).max(1);
        let sites = placed
            .states
            .chunks_exact(tile)
            .zip(out.chunks_exact_mut(tile));
        for (site, (states, out)) in sites.enumerate() {
            onsite.slopes(states, transpose, &mut slopes);
            for (at, slopes) in slopes.chunks_exact(n).enumerate() {
                let out = &mut out[at / c * n..][..n];
                out.iter_mut()
                    .zip(slopes)
                    .for_each(|(out, slope)| *out += slope);
            }
            if placed.outside.is_empty() {
                continue;
            }
            swapped.resize(slopes.len(), 0.0);
            values.resize(slopes.len(), 0.0);
            onsite.slopes(states, !transpose, &mut swapped);
            onsite.mobility(states, &mut values);
            let sign = if transpose { -0.5 } else { 0.5 };
            for Outside {
                state,
                damping,
                slope,
                free,
            } in &placed.outside
            {
                for i in 0..c {
                    let along = |j: usize| {
                        let at = [i * c + j, j * c + i].map(|at| at * n + state);
                        let (a, b) = (slopes[at[0]], swapped[at[0]]);
                        let inside = if free[site * c + j] {
                            0.5 * (a + b) + 0.5 * damping * (a - b)
                        } else {
                            0.0
                        };
                        inside + sign * (values[at[0]] - values[at[1]]) * slope[site * c + j]
                    };
                    out[i * n + state] = (0..c).map(along).sum();
                }
            }
        }
    }
}

impl Mobility for BoundedMobility {
    fn dim(&self) -> usize {
        self.stored.as_mobility().dim()
    }

    fn mobility(&self, x: &[f64], out: &mut [f64]) {
        if self.polynomials().is_none() {
            return self.stored.as_mobility().mobility(x, out);
        }
        let placed = self.place(x);
        self.stored.as_mobility().mobility(&placed.states, out);
        self.weaken(&placed.outside, out);
    }

    fn div_mobility(&self, x: &[f64], out: &mut [f64]) {
        match self.polynomials() {
            Some(onsite) => self.divergence(onsite, &self.place(x), false, out),
            None => self.stored.as_mobility().div_mobility(x, out),
        }
    }

    fn div_transpose(&self, x: &[f64], out: &mut [f64]) {
        match self.polynomials() {
            Some(onsite) => self.divergence(onsite, &self.place(x), true, out),
            None => self.stored.as_mobility().div_transpose(x, out),
        }
    }

    fn with_divergence(&self, x: &[f64], mobility: &mut [f64], divergence: &mut [f64]) {
        match self.polynomials() {
            Some(onsite) => {
                let placed = self.place(x);
                self.stored.as_mobility().mobility(&placed.states, mobility);
                self.weaken(&placed.outside, mobility);
                self.divergence(onsite, &placed, false, divergence);
            }
            None => (self.stored.as_mobility()).with_divergence(x, mobility, divergence),
        }
    }
}

#[cfg(test)]
mod tests {
    use ndarray::Array1;

    use super::*;
    use crate::data::Ensemble;
    use crate::mobility::{LatticeMobility, TensorBasis};
    use crate::random::{Purpose, Stream};

    /// M and ∇·M are linear in the coefficients, in the box of the samples and outside, at one site or two.
    #[test]
    fn the_design_times_the_coefficients_is_the_mobility() {
        let mut stream = Stream::new(5, Purpose::Analysis, 0);
        let rows = Array2::from_shape_fn((500, 4), |_| stream.normal());
        let ring = Ensemble::from_array(rows, 1.0).unwrap();
        let two = Ensemble::new(vec![ring.trajectories()[0].columns(0..2)]).unwrap();
        let confinement = [&two, &ring].map(|data| Confinement::from_ensemble(data).unwrap());
        let site = confinement[0].standardiser();
        let basis = TensorBasis::polynomial(two.names(), site, 2, 1, None).unwrap();
        let mut coefficients = Array1::from_shape_fn(basis.len(), |_| stream.normal());
        // Where D is not positive its eigenvalues are raised, which no design knows.
        let places: Vec<usize> = basis
            .labels()
            .enumerate()
            .filter_map(|(k, label)| ["D[x,x] 1", "D[y,y] 1"].contains(&label).then_some(k))
            .collect();
        assert_eq!(places.len(), 2);
        places.iter().for_each(|k| coefficients[*k] += 1e3);
        let onsite = LinearMobility::new(basis, coefficients.clone()).unwrap();
        let lattice = LatticeMobility::new(2, onsite.clone()).unwrap();
        let models = [
            BoundedMobility::new(onsite.into(), &confinement[0]),
            BoundedMobility::new(lattice.into(), &confinement[1]),
        ];
        for x in [[0.1, -0.4, 0.3, 1.0], [9.0, 0.2, -0.5, -8.0]] {
            for model in &models {
                let dim = model.dim();
                let (entries, divergence) = model.design(&x[..dim]).unwrap();
                let (mut m, mut div) = (vec![0.0; dim * dim], vec![0.0; dim]);
                model.with_divergence(&x[..dim], &mut m, &mut div);
                let pairs = [
                    (entries.dot(&coefficients), m),
                    (divergence.dot(&coefficients), div),
                ];
                for (found, expected) in pairs {
                    let close = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-12 * (1e3 + b.abs());
                    assert!(
                        found.iter().zip(&expected).all(close),
                        "{found} {expected:?}"
                    );
                }
            }
        }
    }
}
