//! Polynomial models of one or two coordinates, one trajectory per SIMD lane.

use super::series::Series;
use super::{LangevinModel, StoredMobility, StoredScore};
use crate::data::Standardiser;
use crate::mobility::Mobility;
use crate::observable::{Polynomial, Polynomials};
use crate::score::{ClosedFormScore, Confinement};
use crate::simd::Real;
use crate::simulate::{Dimensions, Dynamics};
use crate::space::Space;

/// A model of D coordinates whose potential and mobility, of E = D² entries, are polynomials.
pub(super) struct Planar<'a, const D: usize, const E: usize> {
    model: &'a LangevinModel,
    confinement: &'a Confinement,
    cells: Cells<D>,
    /// s, in raw units, of the standardised coordinates of the score.
    score: Affine<D>,
    scores: Series<D>,
    /// M_ij and ∂_j M_ij, in raw units, of the standardised coordinates of the mobility.
    mobility: Affine<D>,
    entries: Series<E>,
    slopes: Series<E>,
    /// The drift, where it is an unknown of its own, in raw units, of the same coordinates as M.
    drift: Option<Series<D>>,
    /// The space, where it is not all of space.
    space: Option<&'a Space>,
}

impl<'a, const D: usize, const E: usize> Planar<'a, D, E> {
    /// None where the model is of another kind.
    pub(super) fn new(model: &'a LangevinModel) -> Option<Self> {
        let StoredScore::ClosedForm(score) = &*model.score else {
            return None;
        };
        let confinement = score.confinement();
        if model.dim() != D {
            return None;
        }
        let (entries, slopes, standardiser) = match &model.mobility.stored {
            StoredMobility::Constant(matrix) => {
                let constant = |value: &f64| Polynomial::monomial(vec![0; D], *value);
                let list = |factor: f64| -> Option<Series<E>> {
                    let entries: Vec<Polynomial> = matrix
                        .iter()
                        .map(|value| constant(&(factor * value)))
                        .collect();
                    let standardiser = confinement.standardiser();
                    Series::new(&Polynomials::new(&model.names, standardiser, &entries).ok()?)
                };
                (list(1.0)?, list(0.0)?, confinement.standardiser())
            }
            StoredMobility::Linear(mobility) => {
                let [entries, slopes] = mobility.polynomials();
                let standardiser = mobility.basis().standardiser();
                (Series::new(entries)?, Series::new(slopes)?, standardiser)
            }
            StoredMobility::Lattice(_) | StoredMobility::Neural(_) => return None,
        };
        let drift = match model.mobility.drift() {
            Some(drift) => Some(Series::new(drift)?),
            None => None,
        };
        Some(Self {
            drift,
            space: model.space.bounded(),
            model,
            confinement,
            cells: Cells::new(confinement)?,
            score: Affine::new(confinement.standardiser()),
            scores: Series::new(&gradient(model, score)?)?,
            mobility: Affine::new(standardiser),
            entries,
            slopes,
        })
    }

    /// s at z, confined as [`Confinement`] says.
    #[inline(always)]
    fn confined_score<T: Real>(&self, (z, inside): ([T; D], bool)) -> [T; D] {
        if inside {
            return self.scores.values(z);
        }
        let mut c = z;
        self.place(&mut c);
        let mut score = self.scores.values(c);
        let units = |i: usize| self.confinement.standardiser().scale[i];
        self.pull(z, c, &mut score, std::array::from_fn(units), 1.0);
        score
    }

    /// A fitted drift, confined in the same way.
    #[inline(always)]
    fn fitted<T: Real>(&self, drift: &Series<D>, x: &[T], (z, inside): ([T; D], bool)) -> [T; D] {
        if inside {
            return drift.values(self.mobility.forward(x));
        }
        let mut c = z;
        self.place(&mut c);
        let mut placed = c;
        for (i, placed) in placed.iter_mut().enumerate() {
            let standardiser = self.confinement.standardiser();
            *placed = *placed * standardiser.scale[i] + x[0].constant(standardiser.mean[i]);
        }
        let mut values = drift.values(self.mobility.forward(&placed));
        let units = |i: usize| 1.0 / self.confinement.standardiser().scale[i];
        let rate = self.model.pull_rate();
        self.pull(z, c, &mut values, std::array::from_fn(units), rate);
        values
    }

    /// Points of the support in the lanes that are outside it; the others are not touched.
    #[cold]
    #[inline(never)]
    fn place<T: Real>(&self, z: &mut [T; D]) {
        T::each_lane(z, |z| {
            if !self.cells.contains(z) {
                let mut c = [0.0; D];
                self.confinement.support().nearest(z, &mut c);
                z.copy_from_slice(&c);
            }
        });
    }

    /// The vectors at c made those at z, in the lanes where these differ; they are standardised by `units`.
    #[cold]
    #[inline(never)]
    fn pull<T: Real>(
        &self,
        z: [T; D],
        c: [T; D],
        score: &mut [T; D],
        units: [f64; D],
        strength: f64,
    ) {
        let mut all = [z[0]; 6];
        all[..D].copy_from_slice(&z);
        all[D..2 * D].copy_from_slice(&c);
        all[2 * D..3 * D].copy_from_slice(score);
        T::each_lane(&mut all[..3 * D], |values| {
            let (z, rest) = values.split_at_mut(D);
            let (c, score) = rest.split_at_mut(D);
            if z != c {
                let scaled = score.iter_mut().zip(units);
                scaled.for_each(|(s, unit)| *s *= unit);
                Confinement::pull(z, c, score, strength);
                let raw = score.iter_mut().zip(units);
                raw.for_each(|(s, unit)| *s /= unit);
            }
        });
        score.copy_from_slice(&all[2 * D..3 * D]);
    }

    /// The coordinates of the score, and whether every lane is inside the support.
    #[inline(always)]
    fn located<T: Real>(&self, x: &[T]) -> ([T; D], bool) {
        let z = self.score.forward(x);
        (z, self.cells.all_inside(z))
    }

    /// M, its D positive.
    #[inline(always)]
    fn tensor<T: Real>(&self, x: &[T], inside: bool) -> [T; E] {
        let mut m = self.entries.values(self.mobility.forward(x));
        if !inside {
            self.outside(x, &mut m, &mut [x[0]; D]);
        }
        if !sound::<T, D, E>(&m) {
            self.lift(&mut m);
        }
        m
    }

    /// M, its D positive, and F = M s + ∇·M.
    #[inline(always)]
    fn tensor_and_drift<T: Real>(&self, x: &[T], out: &mut [T]) -> [T; E] {
        let located = self.located(x);
        if let Some(drift) = &self.drift {
            out.copy_from_slice(&self.fitted(drift, x, located));
            return self.tensor(x, located.1);
        }
        let z = self.mobility.forward(x);
        let mut m = self.entries.values(z);
        let slopes = self.slopes.values(z);
        let mut divergence = [x[0].constant(0.0); D];
        for i in 0..D {
            for j in 0..D {
                divergence[i] = divergence[i] + slopes[i * D + j];
            }
        }
        if !located.1 {
            self.outside(x, &mut m, &mut divergence);
        }
        if !sound::<T, D, E>(&m) {
            self.lift(&mut m);
        }
        let score = self.confined_score(located);
        for i in 0..D {
            let mut sum = divergence[i];
            for j in 0..D {
                sum = m[i * D + j].mul_add(score[j], sum);
            }
            out[i] = sum;
        }
        m
    }

    /// M and ∇·M in the lanes that are outside the support; the others are not touched.
    #[cold]
    #[inline(never)]
    fn outside<T: Real>(&self, x: &[T], m: &mut [T; E], divergence: &mut [T; D]) {
        let mut all = [x[0]; 8];
        let rows = 2 * D + E;
        all[..D].copy_from_slice(&x[..D]);
        all[D..D + E].copy_from_slice(m);
        all[D + E..rows].copy_from_slice(divergence);
        T::each_lane(&mut all[..rows], |values| {
            let (x, rest) = values.split_at_mut(D);
            let (m, divergence) = rest.split_at_mut(E);
            let mut z = [0.0; D];
            z.copy_from_slice(x);
            self.confinement.standardiser().forward(&mut z);
            if !self.confinement.support().contains(&z) {
                self.model.mobility.with_divergence(x, m, divergence);
            }
        });
        m.copy_from_slice(&all[D..D + E]);
        divergence.copy_from_slice(&all[D + E..rows]);
    }

    /// D with its eigenvalues raised in the lanes where it is not positive definite.
    #[cold]
    #[inline(never)]
    fn lift<T: Real>(&self, m: &mut [T; E]) {
        T::each_lane(m, |m| self.model.lift(m));
    }

    /// √2 Σ ξ of an M whose D is positive.
    #[inline(always)]
    fn noise_by<T: Real>(&self, m: &[T; E], xi: &[T], out: &mut [T]) {
        let mut factor = [xi[0].constant(0.0); E];
        for j in 0..D {
            for i in j..D {
                let mut rest = (m[i * D + j] + m[j * D + i]) * 0.5;
                for k in 0..j {
                    rest = rest - factor[i * D + k] * factor[j * D + k];
                }
                factor[i * D + j] = if i == j {
                    rest.sqrt()
                } else {
                    rest / factor[j * D + j]
                };
            }
        }
        let root = xi[0].constant(2f64.sqrt());
        for i in 0..D {
            let mut sum = xi[0].constant(0.0);
            for j in 0..=i {
                sum = factor[i * D + j].mul_add(xi[j], sum);
            }
            out[i] = sum * root;
        }
    }
}

/// Whether D is positive definite in every lane.
#[inline(always)]
fn sound<T: Real, const D: usize, const E: usize>(m: &[T; E]) -> bool {
    let first = m[0].smallest() > 0.0;
    if D == 1 {
        return first;
    }
    let cross = (m[1] + m[D]) * 0.5;
    first && (m[E - 1] - cross * cross / m[0]).smallest() > 0.0
}

/// s_i = Σ_k β_k ∂_i ψ_k(z)/σ_i.
fn gradient(model: &LangevinModel, score: &ClosedFormScore) -> Option<Polynomials> {
    let standardiser = score.confinement().standardiser();
    let raw = |(component, scale): (Polynomial, &f64)| {
        let mut raw = Polynomial::default();
        raw.add_scaled(1.0 / scale, &component);
        raw
    };
    let components = score.component_polynomials()?.into_iter();
    let components: Vec<Polynomial> = components.zip(&standardiser.scale).map(raw).collect();
    Polynomials::new(&model.names, standardiser, &components).ok()
}

impl<const D: usize, const E: usize> Dimensions for Planar<'_, D, E> {
    fn dim(&self) -> usize {
        D
    }
    fn is_additive(&self) -> bool {
        self.model.mobility.is_constant()
    }
}

impl<const D: usize, const E: usize> Dynamics for Planar<'_, D, E> {
    #[inline(always)]
    fn drift<T: Real>(&self, x: &[T], out: &mut [T]) {
        self.tensor_and_drift(x, out);
    }
    #[inline(always)]
    fn noise<T: Real>(&self, x: &[T], xi: &[T], out: &mut [T]) {
        self.noise_by(&self.tensor(x, self.located(x).1), xi, out);
    }
    #[inline(always)]
    fn drift_and_noise<T: Real>(&self, x: &[T], xi: &[T], drift: &mut [T], noise: &mut [T]) {
        let m = self.tensor_and_drift(x, drift);
        self.noise_by(&m, xi, noise);
    }
    #[inline(always)]
    fn fold<T: Real>(&self, x: &mut [T]) {
        if let Some(space) = self.space {
            space.fold_lanes(x);
        }
    }
}

/// z = (x − μ)/σ.
struct Affine<const D: usize> {
    mean: [f64; D],
    inverse: [f64; D],
}

impl<const D: usize> Affine<D> {
    fn new(standardiser: &Standardiser) -> Self {
        Self {
            mean: std::array::from_fn(|i| standardiser.mean[i]),
            inverse: std::array::from_fn(|i| 1.0 / standardiser.scale[i]),
        }
    }

    #[inline(always)]
    fn forward<T: Real>(&self, x: &[T]) -> [T; D] {
        let mut z = [x[0]; D];
        for i in 0..D {
            z[i] = (x[i] - self.mean[i]) * self.inverse[i];
        }
        z
    }
}

/// Which cells belong to the support, with a border of cells that do not.
struct Cells<const D: usize> {
    /// A place along an axis is (z − low) · per_unit, the border included.
    low: [f64; D],
    per_unit: [f64; D],
    most: [f64; D],
    stride: usize,
    inside: Vec<bool>,
    /// Whether an axis is that of an angle, along which every place is that of its one cell.
    circle: [bool; D],
    /// Square of the radius around the mean of the samples within which every state is inside: most
    /// states need no look at the cells.
    core: f64,
}

impl<const D: usize> Cells<D> {
    fn new(confinement: &Confinement) -> Option<Self> {
        let support = confinement.support();
        let (low, high) = support.bounds();
        let (counts, kept) = support.cells()?;
        let width = |i: usize| (high[i] - low[i]) / counts[i] as f64;
        let second = if D == 2 { counts[1] } else { 1 };
        let stride = second + 2;
        let mut inside = vec![false; (counts[0] + 2) * stride];
        for (cell, kept) in kept.enumerate() {
            inside[(cell / second + 1) * stride + cell % second + 1] = kept;
        }
        let low: [f64; D] = std::array::from_fn(|i| low[i] - width(i));
        let circle: [bool; D] = std::array::from_fn(|i| confinement.standardiser().is_circle(i));
        let place = |i: usize, cell: usize| if i == 0 { cell / stride } else { cell % stride };
        // The square of the distance of a cell from z = 0.
        let distance = |cell: usize| -> f64 {
            let along = |i: usize| {
                if circle[i] {
                    return 0.0;
                }
                let place = place(i, cell);
                let near = low[i] + place as f64 * width(i);
                near.max(-near - width(i)).max(0.0).powi(2)
            };
            (0..D).map(along).sum()
        };
        // On a line only the middle column is of cells.
        let on_circle = |cell: usize| (0..D).all(|i| !circle[i] || place(i, cell) == 1);
        let real = |cell: &usize| on_circle(*cell) && (D == 2 || cell % stride == 1);
        let outside = (0..inside.len()).filter(|cell| real(cell) && !inside[*cell]);
        let core = outside.map(distance).fold(f64::INFINITY, f64::min);
        Some(Self {
            low,
            per_unit: std::array::from_fn(|i| 1.0 / width(i)),
            most: std::array::from_fn(|i| counts[i] as f64 + 1.0),
            stride,
            // Less what rounding may do to the walls.
            core: core * (1.0 - 1e-9),
            inside,
            circle,
        })
    }

    #[inline(always)]
    fn places<T: Real>(&self, z: [T; D]) -> [T; D] {
        let mut places = z;
        for i in 0..D {
            let place = ((z[i] - self.low[i]) * self.per_unit[i]).at_least(0.0);
            places[i] = match self.circle[i] {
                true => z[0].constant(1.0),
                false => -(-place).at_least(-self.most[i]),
            };
        }
        places
    }

    /// Whether the cell at these places belongs to the support.
    #[inline(always)]
    fn at(&self, places: &[f64]) -> bool {
        let second = if D == 2 { places[1] as usize } else { 1 };
        self.inside[places[0] as usize * self.stride + second]
    }

    #[inline(always)]
    fn all_inside<T: Real>(&self, z: [T; D]) -> bool {
        let mut rest = z[0].constant(self.core);
        for i in 0..D {
            if !self.circle[i] {
                rest = rest - z[i] * z[i];
            }
        }
        if rest.smallest() > 0.0 {
            return true;
        }
        let mut places = self.places(z);
        let mut all = true;
        T::each_lane(&mut places, |places| all &= self.at(places));
        all
    }

    fn contains(&self, z: &[f64]) -> bool {
        let mut state = [0.0; D];
        state.copy_from_slice(z);
        self.at(&self.places(state))
    }
}
