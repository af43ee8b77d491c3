//! Confinement: the score outside the support of the data.

use serde::{Deserialize, Serialize};

use crate::control::Control;
use crate::data::{Ensemble, Standardiser, Support};
use crate::error::{Error, Result};

/// The coordinates that a score is fitted in, and the pull back to the samples outside them.
///
/// In standardised coordinates z, inside the support, the score is the fitted s. Outside, with c the
/// point of the support that stands for z, d = |z − c| and n = (z − c)/d, it is
///
/// s(c) − max(0, s(c)·n) n − d n,
///
/// so that s·n ≤ −d < 0: it always points back to the samples, however the fit behaves there. This
/// holds for n from z to its own c; it is not a gradient outside, and it jumps where c does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Confinement {
    standardiser: Standardiser,
    support: Support,
}

impl Confinement {
    /// # Errors
    /// When the two are for different numbers of coordinates.
    pub fn new(standardiser: Standardiser, support: Support) -> Result<Self> {
        if standardiser.mean.len() != support.dim() {
            return Err(Error::input(format!(
                "dimensions do not match: the standardisation has {} coordinates, the support {}; make \
                 both from the same data",
                standardiser.mean.len(),
                support.dim()
            )));
        }
        Ok(Self {
            standardiser,
            support,
        })
    }

    /// The standardisation and the support of the samples.
    ///
    /// # Errors
    /// When a coordinate cannot be standardised.
    pub fn from_ensemble(ensemble: &Ensemble) -> Result<Self> {
        Self::watched(ensemble, &Control::new())
    }

    /// [`Confinement::from_ensemble`] of a record that takes long to read.
    pub(super) fn watched(ensemble: &Ensemble, control: &Control) -> Result<Self> {
        let standardiser = Standardiser::watched(ensemble, control)?;
        let support = Support::watched(ensemble, &standardiser, control)?;
        Self::new(standardiser, support)
    }

    /// From raw to standardised coordinates.
    pub fn standardiser(&self) -> &Standardiser {
        &self.standardiser
    }

    /// Where the samples are, in standardised coordinates.
    pub fn support(&self) -> &Support {
        &self.support
    }

    /// A tile of raw states, (D, n), as points of the support, and the states that were outside it.
    pub(crate) fn place(&self, x: &[f64]) -> (Vec<f64>, Vec<usize>) {
        let dim = self.support.dim();
        let n = x.len() / dim;
        let mut inside = x.to_vec();
        self.standardiser.forward_states(&mut inside);
        let mut outside = self.support.outside(&inside);
        let (mut z, mut c) = (vec![0.0; dim], vec![0.0; dim]);
        outside.retain(|s| {
            for (i, z) in z.iter_mut().enumerate() {
                *z = inside[i * n + s];
            }
            self.support.nearest(&z, &mut c);
            for (i, c) in c.iter().enumerate() {
                inside[i * n + s] = *c;
            }
            c != z
        });
        (inside, outside)
    }

    /// The score on a tile of raw states, (D, n). `fitted(z, s)` gives the score in standardised
    /// coordinates on a tile of points of the support.
    pub(crate) fn score(
        &self,
        x: &[f64],
        out: &mut [f64],
        fitted: impl FnOnce(&[f64], &mut [f64]),
    ) {
        self.confined(x, out, 1.0, fitted);
        let n = x.len() / self.support.dim();
        for (row, scale) in out.chunks_exact_mut(n.max(1)).zip(&self.standardiser.scale) {
            row.iter_mut().for_each(|value| *value /= scale);
        }
    }

    /// A drift on a tile of raw states, (D, n), confined as the score is, with a pull of `rate` per unit of
    /// time. `fitted(z, b)` gives it in standardised coordinates on a tile of points of the support.
    pub(crate) fn drift(
        &self,
        x: &[f64],
        out: &mut [f64],
        rate: f64,
        fitted: impl FnOnce(&[f64], &mut [f64]),
    ) {
        self.confined(x, out, rate, fitted);
        let n = x.len() / self.support.dim();
        for (row, scale) in out.chunks_exact_mut(n.max(1)).zip(&self.standardiser.scale) {
            row.iter_mut().for_each(|value| *value *= scale);
        }
    }

    /// A vector field in standardised coordinates, with a pull of this strength outside the support.
    fn confined(
        &self,
        x: &[f64],
        out: &mut [f64],
        strength: f64,
        fitted: impl FnOnce(&[f64], &mut [f64]),
    ) {
        let dim = self.support.dim();
        let n = x.len() / dim;
        let scale = &self.standardiser.scale;
        let (inside, outside) = self.place(x);
        fitted(&inside, out);
        let [mut z, mut c, mut state] = [(); 3].map(|()| vec![0.0; dim]);
        for s in outside {
            for i in 0..dim {
                z[i] = (x[i * n + s] - self.standardiser.mean[i]) / scale[i];
                c[i] = inside[i * n + s];
                state[i] = out[i * n + s];
            }
            Pull::new(&mut z, &c, &state).apply(&mut state, strength);
            for (i, value) in state.iter().enumerate() {
                out[i * n + s] = *value;
            }
        }
    }

    /// Changes of the fitted score, rows of D numbers, made those of the score at one raw state x, in place:
    /// δs − [s·n > 0] (δs·n) n outside the support. `c` is the point of the support that stands for x and
    /// `score` the fitted score there; these and the changes are in standardised coordinates, the result in
    /// raw ones.
    pub(crate) fn differentials(&self, x: &[f64], c: &[f64], score: &[f64], changes: &mut [f64]) {
        let mut z = x.to_vec();
        self.standardiser.forward(&mut z);
        if z != c {
            let pull = Pull::new(&mut z, c, score);
            if pull.outward > 0.0 {
                for change in changes.chunks_exact_mut(x.len()) {
                    pull.flatten(change);
                }
            }
        }
        for change in changes.chunks_exact_mut(x.len()) {
            let scaled = change.iter_mut().zip(&self.standardiser.scale);
            scaled.for_each(|(value, scale)| *value /= scale);
        }
    }

    /// The score or drift at the point `c` of the support, in place, made that of `z` outside it with a pull
    /// of this strength; `z` is lost. All in standardised coordinates.
    pub(crate) fn pull(z: &mut [f64], c: &[f64], vector: &mut [f64], strength: f64) {
        Pull::new(z, c, vector).apply(vector, strength);
    }

    /// ∂_j s_i at one raw state, known wherever `fitted(z, s, jacobian)` knows the Jacobian in
    /// standardised coordinates at a point of the support; on the walls of a cell one of the two
    /// one-sided values.
    pub(crate) fn jacobian(
        &self,
        x: &[f64],
        out: &mut [f64],
        fitted: impl FnOnce(&[f64], &mut [f64], &mut [f64]) -> bool,
    ) -> bool {
        let dim = self.support.dim();
        let mut z = x.to_vec();
        self.standardiser.forward(&mut z);
        let (mut c, mut score) = (vec![0.0; dim], vec![0.0; dim]);
        self.support.nearest(&z, &mut c);
        if !fitted(&c, &mut score, out) {
            return false;
        }
        if c != z {
            Pull::new(&mut z, &c, &score).differentiate(&score, out);
        }
        let scale = &self.standardiser.scale;
        for (i, row) in out.chunks_exact_mut(dim).enumerate() {
            for (value, other) in row.iter_mut().zip(scale) {
                *value /= scale[i] * other;
            }
        }
        true
    }
}

/// The pull from z towards c where the score at c is s.
struct Pull<'a> {
    /// n.
    direction: &'a [f64],
    /// d.
    distance: f64,
    /// max(0, s·n).
    outward: f64,
}

impl<'a> Pull<'a> {
    /// Takes the place of `z` for n.
    fn new(z: &'a mut [f64], c: &[f64], score: &[f64]) -> Self {
        z.iter_mut().zip(c).for_each(|(z, c)| *z -= c);
        let distance = z.iter().map(|r| r * r).sum::<f64>().sqrt();
        z.iter_mut().for_each(|r| *r /= distance);
        let direction = &*z;
        let outward = direction.iter().zip(score).map(|(n, s)| n * s).sum::<f64>();
        Self {
            direction,
            distance,
            outward: outward.max(0.0),
        }
    }

    /// s − max(0, s·n) n − a d n, in place of s, for a pull of strength a.
    fn apply(&self, score: &mut [f64], strength: f64) {
        for (score, n) in score.iter_mut().zip(self.direction) {
            *score -= (self.outward + strength * self.distance) * n;
        }
    }

    /// δs − (δs·n) n, in place of δs.
    fn flatten(&self, change: &mut [f64]) {
        let along: f64 = self
            .direction
            .iter()
            .zip(&*change)
            .map(|(n, c)| n * c)
            .sum();
        for (change, n) in change.iter_mut().zip(self.direction) {
            *change -= along * n;
        }
    }

    /// J P − Q − [s·n > 0] (n (P Jᵀn + N s)ᵀ + (s·n) N), in place of J = ∂s/∂z at c: P = ∂c/∂z keeps
    /// the coordinates in which z is within the walls of the cell of c, Q = 1 − P, and
    /// N = ∂n/∂z = (Q − n nᵀ)/d.
    fn differentiate(&self, score: &[f64], jacobian: &mut [f64]) {
        let (n, dim) = (self.direction, score.len());
        let beyond = |i: usize, j: usize| f64::from(u8::from(i == j && n[i] != 0.0));
        let turn = |i: usize, j: usize| (beyond(i, j) - n[i] * n[j]) / self.distance;
        for j in 0..dim {
            if n[j] != 0.0 {
                jacobian
                    .iter_mut()
                    .skip(j)
                    .step_by(dim)
                    .for_each(|v| *v = 0.0);
            }
        }
        let slope: Vec<f64> = (0..dim)
            .map(|j| {
                let along = |i: usize| jacobian[i * dim + j] * n[i] + turn(i, j) * score[i];
                (0..dim).map(along).sum()
            })
            .collect();
        for i in 0..dim {
            for j in 0..dim {
                let value = &mut jacobian[i * dim + j];
                *value -= beyond(i, j);
                if self.outward > 0.0 {
                    *value -= n[i] * slope[j] + self.outward * turn(i, j);
                }
            }
        }
    }
}
