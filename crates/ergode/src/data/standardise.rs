//! Coordinates of mean zero and unit variance.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// The affine map that gives every coordinate mean zero and unit variance, and an angle in radians.
///
/// ```
/// use ergode::Ensemble;
/// use ergode::data::Standardiser;
/// use ndarray::array;
///
/// let ensemble = Ensemble::from_array(array![[1.0], [3.0]], 1.0)?;
/// let standardiser = Standardiser::from_ensemble(&ensemble)?;
/// let mut row = [3.0];
/// standardiser.forward(&mut row);
/// assert_eq!(row, [1.0]);
/// standardiser.inverse(&mut row);
/// assert_eq!(row, [3.0]);
/// # Ok::<(), ergode::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked")]
pub struct Standardiser {
    /// Mean of every coordinate.
    pub mean: Vec<f64>,
    /// Standard deviation of every coordinate, positive.
    pub scale: Vec<f64>,
    /// Whether a coordinate is an angle, of mean zero and of a period 2π in units of its scale; empty where
    /// none is.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    circles: Vec<bool>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Unchecked {
    mean: Vec<f64>,
    scale: Vec<f64>,
    #[serde(default)]
    circles: Vec<bool>,
}

impl TryFrom<Unchecked> for Standardiser {
    type Error = Error;

    fn try_from(unchecked: Unchecked) -> Result<Self> {
        let standardiser = Self::new(unchecked.mean, unchecked.scale)?;
        if !unchecked.circles.is_empty() && unchecked.circles.len() != standardiser.scale.len() {
            return Err(Error::input(
                "the angles of the standardisation do not match its coordinates; the file is damaged, write \
                 it again",
            ));
        }
        Ok(standardiser.with_circles(unchecked.circles))
    }
}

impl Standardiser {
    /// The map `(x - mean) / scale`.
    ///
    /// # Errors
    /// When the lengths differ, a mean is not finite, or a scale is not finite and positive.
    pub fn new(mean: Vec<f64>, scale: Vec<f64>) -> Result<Self> {
        if mean.len() != scale.len() || mean.is_empty() {
            return Err(Error::input(format!(
                "the standardisation has {} means and {} scales; give one of each per coordinate",
                mean.len(),
                scale.len()
            )));
        }
        for (j, (mean, scale)) in mean.iter().zip(&scale).enumerate() {
            if !(mean.is_finite() && scale.is_finite() && *scale > 0.0) {
                return Err(Error::input(format!(
                    "the standardisation of coordinate {j} (counted from 0) has mean {mean} and \
                     scale {scale}; both must be finite and the scale positive"
                )));
            }
        }
        Ok(Self {
            mean,
            scale,
            circles: Vec::new(),
        })
    }

    /// The same map of coordinates that are angles where `circles` says so.
    pub(crate) fn with_circles(mut self, circles: Vec<bool>) -> Self {
        self.circles = if circles.contains(&true) {
            circles
        } else {
            Vec::new()
        };
        self
    }

    /// True for a coordinate that is an angle.
    pub fn is_circle(&self, coordinate: usize) -> bool {
        self.circles.get(coordinate).copied().unwrap_or(false)
    }

    /// True where a coordinate is an angle.
    pub fn has_circles(&self) -> bool {
        !self.circles.is_empty()
    }

    /// Replaces every row of a row-major block by its standardised coordinates.
    ///
    /// # Panics
    /// If the block does not hold whole rows.
    pub fn forward(&self, rows: &mut [f64]) {
        self.check(rows.len());
        for row in rows.chunks_exact_mut(self.mean.len()) {
            for ((x, mean), scale) in row.iter_mut().zip(&self.mean).zip(&self.scale) {
                *x = (*x - mean) / scale;
            }
        }
    }

    /// Replaces every state of a tile, (D, n), by its standardised coordinates.
    pub(crate) fn forward_states(&self, states: &mut [f64]) {
        let n = states.len() / self.scale.len();
        if n == 0 {
            return;
        }
        let scales = self.mean.iter().zip(&self.scale);
        for (row, (mean, scale)) in states.chunks_exact_mut(n).zip(scales) {
            row.iter_mut().for_each(|x| *x = (*x - mean) / scale);
        }
    }

    /// Standardised coordinates of a tile (D, n), in the single precision of networks.
    pub(crate) fn forward_tile(&self, x: &[f64]) -> Vec<f32> {
        let n = x.len() / self.scale.len();
        let forward = |(k, x): (usize, &f64)| ((x - self.mean[k / n]) / self.scale[k / n]) as f32;
        x.iter().enumerate().map(forward).collect()
    }

    /// Undoes [`Standardiser::forward`].
    ///
    /// # Panics
    /// If the block does not hold whole rows.
    pub fn inverse(&self, rows: &mut [f64]) {
        self.check(rows.len());
        for row in rows.chunks_exact_mut(self.mean.len()) {
            for ((x, mean), scale) in row.iter_mut().zip(&self.mean).zip(&self.scale) {
                *x = *x * scale + mean;
            }
        }
    }

    fn check(&self, len: usize) {
        assert_eq!(self.mean.len(), self.scale.len(), "one scale per mean");
        assert_eq!(
            len % self.mean.len(),
            0,
            "the block must hold whole rows of {} coordinates",
            self.mean.len()
        );
    }
}
