//! A model as an equation that simulations take.

use super::LangevinModel;
use super::planar::Planar;
use super::tiles::Tiles;
use crate::simulate::Sde;

impl LangevinModel {
    /// The model as an equation that simulations take, in its fastest form: polynomials of one or two
    /// coordinates trajectory by trajectory in SIMD lanes, anything else tile by tile.
    pub fn equation(&self) -> Box<dyn Sde + '_> {
        if let Some(planar) = Planar::<1, 1>::new(self) {
            return Box::new(planar);
        }
        match Planar::<2, 4>::new(self) {
            Some(planar) => Box::new(planar),
            None => Box::new(Tiles::new(self)),
        }
    }
}
