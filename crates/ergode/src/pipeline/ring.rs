//! Options of a fit whose coordinates are sites of a ring.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// Coordinates that are sites of a ring, one after the other, all of them alike.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RingConfig {
    /// Number of sites; zero if the coordinates do not form a ring.
    pub sites: usize,
    /// Known structure of a site.
    pub span: RingSpan,
    /// Distances of the neighbours that the score couples, for polynomials.
    pub distances: Vec<usize>,
    /// Degree of the onsite potential, for polynomials.
    pub potential_degree: usize,
    /// Degree of the onsite block of M, for polynomials.
    pub mobility_degree: usize,
    /// Number of lags beyond zero, an even one, each a sampling interval after the other.
    pub lags: usize,
}

/// Known structure of a site.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RingSpan {
    /// Nothing: polynomials of its components.
    #[default]
    Polynomial,
    /// It is a spin: the paper's four fields of the score and four tensors of the mobility.
    Spin,
}

impl Default for RingConfig {
    fn default() -> Self {
        Self {
            sites: 0,
            span: RingSpan::default(),
            distances: vec![1, 2],
            potential_degree: 6,
            mobility_degree: 2,
            lags: 4,
        }
    }
}

impl RingConfig {
    /// Components of a site.
    ///
    /// # Errors
    /// When the coordinates are not sites.
    pub(super) fn components(&self, dim: usize) -> Result<usize> {
        if self.sites == 0 || !dim.is_multiple_of(self.sites) {
            return Err(Error::input(format!(
                "{dim} coordinates cannot form a ring of {} sites; set ring.sites to a divisor of the \
                 number of coordinates",
                self.sites
            )));
        }
        let components = dim / self.sites;
        if self.span == RingSpan::Spin && components != 3 {
            return Err(Error::input(format!(
                "a spin has three components, but a site has {components}; set ring.span = \"polynomial\""
            )));
        }
        Ok(components)
    }

    pub(super) fn names(&self, dim: usize) -> Result<Vec<String>> {
        let components = self.components(dim)?;
        Ok(match components {
            1..=3 => ["x", "y", "z"][..components]
                .iter()
                .map(|n| (*n).to_owned())
                .collect(),
            _ => (1..=components).map(|c| format!("x{c}")).collect(),
        })
    }
}
