//! Scores of positive coordinates, in their logarithms.

use serde::{Deserialize, Serialize};

use super::closed_form::{ClosedFormConfig, ClosedFormScore, fit_potential_score};
use super::confinement::Confinement;
use super::{Score, tile_width};
use crate::control::Control;
use crate::data::Ensemble;
use crate::error::{Error, Result};

/// The score of coordinates that are positive and come close to zero, where ln p has no polynomial.
///
/// With y_i = ln x_i for these, p_y(y) = p_x(x) Π x_i; the potential ln p_y is a polynomial of y, and
/// s_i(x) = (s^y_i(y) − 1)/x_i, the other components being those of s^y. Below a fraction of the smallest
/// sample, and below zero, x_i counts as that fraction: the score there points up.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogarithmicScore {
    pub(super) inner: ClosedFormScore,
    /// The least x_i that is looked at, for the coordinates taken by their logarithms.
    pub(super) floors: Vec<Option<f64>>,
    confinement: Confinement,
}

/// The least x_i is this fraction of the smallest sample.
const FLOOR: f64 = 0.25;

impl LogarithmicScore {
    /// The fit to the logarithms.
    pub fn inner(&self) -> &ClosedFormScore {
        &self.inner
    }

    /// The samples in the coordinates themselves.
    pub fn confinement(&self) -> &Confinement {
        &self.confinement
    }

    /// A tile of states in the coordinates of the fit, and in raw ones not below the floors.
    pub(super) fn logarithms(&self, x: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let n = x.len() / self.floors.len();
        let (mut y, mut raised) = (x.to_vec(), x.to_vec());
        for (i, floor) in self.floors.iter().enumerate() {
            let Some(floor) = floor else { continue };
            for s in i * n..(i + 1) * n {
                raised[s] = x[s].max(*floor);
                y[s] = raised[s].ln();
            }
        }
        (y, raised)
    }
}

impl Score for LogarithmicScore {
    fn dim(&self) -> usize {
        self.floors.len()
    }

    fn score(&self, x: &[f64], out: &mut [f64]) {
        let n = tile_width(self, x, out);
        let (y, raised) = self.logarithms(x);
        self.inner.score(&y, out);
        for (i, floor) in self.floors.iter().enumerate() {
            if floor.is_some() {
                for s in i * n..(i + 1) * n {
                    out[s] = (out[s] - 1.0) / raised[s];
                }
            }
        }
    }

    fn jacobian(&self, x: &[f64], out: &mut [f64]) -> bool {
        let dim = self.dim();
        let (y, raised) = self.logarithms(x);
        if !self.inner.jacobian(&y, out) {
            return false;
        }
        let mut score = vec![0.0; dim];
        self.inner.score(&y, &mut score);
        for i in 0..dim {
            for j in 0..dim {
                let entry = &mut out[i * dim + j];
                if let Some(floor) = self.floors[j] {
                    // ∂y_j/∂x_j, zero below the floor.
                    *entry = if x[j] > floor {
                        *entry / raised[j]
                    } else {
                        0.0
                    };
                }
                if let Some(floor) = self.floors[i] {
                    *entry /= raised[i];
                    if i == j && x[i] > floor {
                        *entry -= (score[i] - 1.0) / (raised[i] * raised[i]);
                    }
                }
            }
        }
        true
    }
}

/// Fit the score with the coordinates that `logged` marks taken by their logarithms.
///
/// # Errors
/// When such a coordinate is not positive at some sample, and as for [`fit_potential_score`].
pub fn fit_logarithmic_score(
    ensemble: &Ensemble,
    logged: &[bool],
    config: &ClosedFormConfig,
    control: &Control,
) -> Result<LogarithmicScore> {
    let dim = ensemble.dim();
    if logged.len() != dim {
        return Err(Error::input(format!(
            "{} marks given for {dim} coordinates; give one for each",
            logged.len()
        )));
    }
    let (least, _) = ensemble.bounds(control)?;
    if let Some(i) = (0..dim).find(|i| logged[*i] && least[*i] <= 0.0) {
        return Err(Error::input(format!(
            "coordinate '{}' has no logarithm: its samples go down to {}",
            ensemble.names()[i],
            least[i]
        )));
    }
    let marks = logged.to_vec();
    let walls = |i: usize| match (logged[i], ensemble.walls(i)) {
        (true, [_, upper]) => [None, upper.map(f64::ln)],
        (false, walls) => walls,
    };
    let walls = (0..dim).map(walls).collect();
    let transformed = ensemble.mapped(move |_, i, x| if marks[i] { x.ln() } else { x })?;
    let transformed = transformed.with_walls(walls);
    let floor = |i: usize| logged[i].then(|| FLOOR * least[i]);
    Ok(LogarithmicScore {
        inner: fit_potential_score(&transformed, config, control)?,
        floors: (0..dim).map(floor).collect(),
        confinement: Confinement::watched(ensemble, control)?,
    })
}
