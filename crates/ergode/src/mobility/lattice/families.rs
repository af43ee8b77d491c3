//! Functions of a site and its two neighbours.

use crate::data::Ensemble;
use crate::error::Result;
use crate::observable::{Expressions, Functions, RadialBasis, SpinFamilies};

/// Components of a site.
const SPIN: usize = 3;

/// The eleven vector families of [`SpinFamilies`] at one site, as functions of the sites m_{i−1}, m_i,
/// m_{i+1}; a function has the index family·3 + component.
#[derive(Clone, Debug)]
pub struct SpinNeighbourhood {
    ring: SpinFamilies,
    labels: Vec<String>,
}

impl SpinNeighbourhood {
    /// With these radial polynomials.
    ///
    /// # Errors
    /// When the radial functions cannot be written as expressions.
    pub fn new(radial: RadialBasis) -> Result<Self> {
        // On a ring of three the middle site has the other two as its neighbours.
        let ring = SpinFamilies::new(3, radial)?;
        let label = |family: &&str| ["x", "y", "z"].map(|c| format!("{family}.{c}"));
        let labels = ring.families().iter().flat_map(label).collect();
        Ok(Self { ring, labels })
    }

    /// With the radial polynomials that are orthonormal over the sites of an ensemble.
    ///
    /// # Errors
    /// When the moments of the spins do not fix the radial functions.
    pub fn from_ensemble(ensemble: &Ensemble) -> Result<Self> {
        Self::new(RadialBasis::from_ensemble(ensemble)?)
    }
}

impl Functions for SpinNeighbourhood {
    fn dim(&self) -> usize {
        self.ring.dim()
    }
    fn labels(&self) -> &[String] {
        &self.labels
    }
    fn values(&self, x: &[f64], out: &mut [f64]) {
        let n = x.len() / self.dim();
        let mut all = vec![0.0; self.ring.len() * n];
        self.ring.values(x, &mut all);
        let sites = all.chunks_exact((SPIN * n).max(1));
        let middle = sites.skip(1).step_by(self.ring.sites());
        for (out, vector) in out.chunks_exact_mut((SPIN * n).max(1)).zip(middle) {
            out.copy_from_slice(vector);
        }
    }
}

/// u = m_{i−1} + m_{i+1} − 2m_i and, for three components, m_i × u, as functions of m_{i−1}, m_i and
/// m_{i+1}: what drives a site beyond its own state.
///
/// The coordinates are called `before`, `here` and `after` with the number of the component from 1.
///
/// # Errors
/// When the expressions cannot be formed for that many components.
pub fn neighbourhood_families(components: usize) -> Result<Expressions> {
    let name = |place: &str, c: usize| format!("{place}{}", c + 1);
    let names: Vec<String> = ["before", "here", "after"]
        .iter()
        .flat_map(|place| (0..components).map(move |c| name(place, c)))
        .collect();
    let bend = |c: usize| {
        let [before, here, after] = ["before", "here", "after"].map(|place| name(place, c));
        format!("({before} + {after} - 2*{here})")
    };
    let mut texts: Vec<String> = (0..components).map(bend).collect();
    if components == SPIN {
        texts.extend((0..SPIN).map(|c| {
            let (a, b) = ((c + 1) % SPIN, (c + 2) % SPIN);
            format!(
                "{}*{} - {}*{}",
                name("here", a),
                bend(b),
                name("here", b),
                bend(a)
            )
        }));
    }
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    Expressions::parse(&texts, &names, &[])
}
