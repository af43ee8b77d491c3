//! The form of function libraries in a file.

use std::any::Any;

use serde::{Deserialize, Serialize};

use super::{LatticePotential, Library, Monomials};

/// The libraries that a saved model may be built of.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StoredLibrary {
    /// Monomials.
    Monomials(Monomials),
    /// A potential on a ring.
    LatticePotential(LatticePotential),
}

impl StoredLibrary {
    /// The form written to a file, from which the library is restored; `None` if it cannot be written.
    pub(crate) fn of(library: &dyn Library) -> Option<Self> {
        let library: &dyn Any = library;
        let monomials = library.downcast_ref::<Monomials>();
        let potential = library.downcast_ref::<LatticePotential>();
        let monomials = monomials.map(|found| Self::Monomials(found.clone()));
        monomials.or_else(|| potential.map(|found| Self::LatticePotential(found.clone())))
    }
}
