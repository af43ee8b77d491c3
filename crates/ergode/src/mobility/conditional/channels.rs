//! Which equations the channels of an operator make.

use ndarray::{Array2, ArrayView1, ArrayView2};

use crate::error::{Error, Result};
use crate::observable::LatticeAverage;

/// The equations that the channels (m, n) of an operator make: one each, or one for all that translations
/// of a ring make the same (`eq:app_soft_spin_neural_operator`).
#[derive(Clone, Copy, Debug)]
pub(in crate::mobility) struct Channels {
    future: usize,
    initial: usize,
    ring: Option<LatticeAverage>,
}

impl Channels {
    pub(super) fn new(future: usize, initial: usize) -> Self {
        Self {
            future,
            initial,
            ring: None,
        }
    }

    /// The averages over a ring: φ_m are (family, site, component), φ_n (site, component).
    pub(super) fn averaged(self, ring: LatticeAverage) -> Result<Self> {
        let state = ring.sites * ring.components;
        if state == 0 || self.initial != state || !self.future.is_multiple_of(state) {
            return Err(Error::input(format!(
                "{} functions of the later state and {} of the earlier state are not whole families on \
                 a ring of {} sites with {} components",
                self.future, self.initial, ring.sites, ring.components
            )));
        }
        Ok(Self {
            ring: Some(ring),
            ..self
        })
    }

    /// The ring that is averaged over.
    pub(in crate::mobility) fn ring(&self) -> Option<LatticeAverage> {
        self.ring
    }

    /// Numbers of the φ_m and of the φ_n.
    pub(in crate::mobility) fn functions(&self) -> (usize, usize) {
        (self.future, self.initial)
    }

    /// Number of equations at a lag.
    pub(in crate::mobility) fn len(&self) -> usize {
        let all = self.future * self.initial;
        self.ring.map_or(all, |ring| all / ring.sites)
    }

    /// The equations from the channels, (m, n): the channels themselves, or (family, c, d, r).
    pub(in crate::mobility) fn average(&self, channels: ArrayView2<f64>) -> Vec<f64> {
        match self.ring {
            None => channels.iter().copied().collect(),
            Some(ring) => {
                let averages = ring.average(channels).expect("checked when it was set");
                averages.into_iter().collect()
            }
        }
    }

    /// Derivatives by the channels, (m, n), from those by the equations: the transpose of `average`.
    pub(in crate::mobility) fn spread(&self, equations: &[f64]) -> Array2<f64> {
        let equations = ArrayView1::from(equations);
        match self.ring {
            None => equations
                .to_owned()
                .into_shape_with_order((self.future, self.initial))
                .expect("one per channel"),
            Some(ring) => ring.spread(equations).expect("checked when it was set"),
        }
    }

    /// φ_m and φ_n of each equation; on a ring φ_m is at the first site.
    pub(in crate::mobility) fn labels(
        &self,
        future: &[String],
        initial: &[String],
    ) -> Vec<(String, String)> {
        let pair = |m: usize, n: usize| (future[m].clone(), initial[n].clone());
        let Some(ring) = self.ring else {
            let each = 0..self.future * self.initial;
            return each
                .map(|k| pair(k / self.initial, k % self.initial))
                .collect();
        };
        let (sites, components) = (ring.sites, ring.components);
        let equation = |k: usize| {
            let (r, d) = (k % sites, k / sites % components);
            let c = k / (sites * components) % components;
            let family = k / (sites * components * components);
            pair(family * self.initial + c, r * components + d)
        };
        (0..self.len()).map(equation).collect()
    }
}
