//! Averages over the translations of a ring.

use ndarray::{Array2, Array4, ArrayView1, ArrayView2};

use crate::error::{Error, Result};

/// The translation average over a ring of sites that carry vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LatticeAverage {
    /// Number N of sites of the ring.
    pub sites: usize,
    /// Number of components at a site.
    pub components: usize,
}

impl LatticeAverage {
    /// The transpose of [`LatticeAverage::average`]: each number of (a, c, d, r), divided by N, at all the
    /// places that it is the mean of.
    ///
    /// # Errors
    /// When the numbers are not those of whole families.
    pub fn spread(&self, averages: ArrayView1<f64>) -> Result<Array2<f64>> {
        let (sites, components) = (self.sites, self.components);
        let family = components * components * sites;
        if family == 0 || !averages.len().is_multiple_of(family) {
            return Err(Error::input(format!(
                "{} averages are not whole families on a ring of {sites} sites with {components} \
                 components",
                averages.len()
            )));
        }
        let state = sites * components;
        let rows = averages.len() / family * state;
        Ok(Array2::from_shape_fn((rows, state), |(row, column)| {
            let (a, i, c) = (row / state, row % state / components, row % components);
            let (j, d) = (column / components, column % components);
            let r = (j + sites - i) % sites;
            averages[((a * components + c) * components + d) * sites + r] / sites as f64
        }))
    }

    /// C_{ac;dr} = (1/N) Σ_i C[(a, i, c), (i + r, d)], with i + r taken around the ring.
    ///
    /// Rows of `correlations` are (family a, site, component c), columns (site, component d), the
    /// last index running fastest; the result is (a, c, d, r).
    ///
    /// # Errors
    /// When the matrix does not have one row per function and site.
    pub fn average(&self, correlations: ArrayView2<f64>) -> Result<Array4<f64>> {
        let (sites, components) = (self.sites, self.components);
        let state = sites.checked_mul(components).filter(|&state| state > 0);
        let (rows, columns) = correlations.dim();
        let Some(state) = state.filter(|&s| columns == s && rows.is_multiple_of(s)) else {
            return Err(Error::input(format!(
                "a correlation matrix of {rows} rows and {columns} columns does not fit a ring of \
                 {sites} sites with {components} components; it needs sites*components columns \
                 and a multiple of that in rows"
            )));
        };
        let mut out = Array4::zeros((rows / state, components, components, sites));
        for ((family, c, d, r), value) in out.indexed_iter_mut() {
            let sum: f64 = (0..sites)
                .map(|i| {
                    let row = (family * sites + i) * components + c;
                    correlations[[row, (i + r) % sites * components + d]]
                })
                .sum();
            *value = sum / sites as f64;
        }
        Ok(out)
    }
}
