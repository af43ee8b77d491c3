//! Weights that vanish at the walls of a coordinate.

use crate::data::{Ensemble, Standardiser};

/// h(z) = (z − a)(b − z), z − a, b − z or 1: zero at the walls a and b, in standardised coordinates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct WallWeight([Option<f64>; 2]);

impl WallWeight {
    /// The weight of every coordinate; none where there are no walls.
    pub(super) fn of(ensemble: &Ensemble, standardiser: &Standardiser) -> Vec<Self> {
        if !ensemble.has_walls() {
            return Vec::new();
        }
        let weight = |j: usize| {
            let place = |wall: f64| (wall - standardiser.mean[j]) / standardiser.scale[j];
            Self(ensemble.walls(j).map(|wall| wall.map(place)))
        };
        (0..ensemble.dim()).map(weight).collect()
    }

    /// h and h'; beyond a wall, where rounding may put a sample, h is zero.
    pub(super) fn at(self, z: f64) -> [f64; 2] {
        let [h, change] = match self.0 {
            [None, None] => [1.0, 0.0],
            [Some(low), None] => [z - low, 1.0],
            [None, Some(high)] => [high - z, -1.0],
            [Some(low), Some(high)] => [(z - low) * (high - z), low + high - 2.0 * z],
        };
        [h.max(0.0), change]
    }
}
