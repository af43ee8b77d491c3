//! Vector fields whose span holds a score.

use std::fmt::Debug;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::observable::{Library, StoredLibrary};

/// Vector fields f_k(x), evaluated on tiles of n states; slices of the wrong length panic.
pub trait VectorFields: Send + Sync + Debug {
    /// Number of coordinates D.
    fn dim(&self) -> usize;
    /// One label per field.
    fn labels(&self) -> &[String];
    /// The fields on a tile: `x` is (D, n), `out` is (field, D, n).
    fn fields(&self, x: &[f64], out: &mut [f64]);
    /// Σ_i w_i ∂_i f_ki on a tile: `x` is (D, n), `out` is (field, n). Weights of 1 give ∇·f_k, other
    /// weights that in coordinates of another scale.
    fn divergences(&self, x: &[f64], weights: &[f64], out: &mut [f64]);
    /// Jacobians at one state: `out[(k*dim + i)*dim + j]` = ∂_j f_ki.
    fn jacobians(&self, x: &[f64], out: &mut [f64]);
    /// Description from which a file restores the fields; none if they cannot be stored.
    fn stored(&self) -> Option<StoredFields> {
        None
    }
}

/// The fields that a saved score may be built of.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StoredFields {
    /// [`Gradients`].
    Gradients(StoredLibrary),
    /// [`SpinFields`].
    Spin(SpinFields),
}

impl From<StoredFields> for Box<dyn VectorFields> {
    fn from(stored: StoredFields) -> Self {
        match stored {
            StoredFields::Gradients(StoredLibrary::Monomials(library)) => {
                Box::new(Gradients::new(library))
            }
            StoredFields::Gradients(StoredLibrary::LatticePotential(library)) => {
                Box::new(Gradients::new(library))
            }
            StoredFields::Spin(fields) => Box::new(fields),
        }
    }
}

/// f_k = ∇ψ_k: a score in this span is the gradient of a potential, an exponential family.
#[derive(Debug)]
pub struct Gradients(Box<dyn Library>);

impl Gradients {
    /// The gradients of the functions of `library`.
    pub fn new(library: impl Library + 'static) -> Self {
        Self(Box::new(library))
    }
}

impl VectorFields for Gradients {
    fn dim(&self) -> usize {
        self.0.dim()
    }
    fn labels(&self) -> &[String] {
        self.0.labels()
    }
    fn fields(&self, x: &[f64], out: &mut [f64]) {
        self.0.gradient_tile(x, out);
    }
    fn divergences(&self, x: &[f64], weights: &[f64], out: &mut [f64]) {
        self.0.laplacian_tile(x, weights, out);
    }
    fn jacobians(&self, x: &[f64], out: &mut [f64]) {
        self.0.hessians(x, out);
    }
    fn stored(&self) -> Option<StoredFields> {
        StoredLibrary::of(&*self.0).map(StoredFields::Gradients)
    }
}

/// The paper's physics-informed score of the spin chain (`eq:soft_spin_phys_score_ansatz_results`):
/// at site i the fields m_i, |m_i|² m_i, m_{i−1} + m_{i+1} − 2 m_i and (m_i·e_z) e_z, with coefficients
/// β_1, β_3, β_J and β_K.
///
/// The state is site-major, (site, component), on a ring, in coordinates that are not shifted and
/// share one scale.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "Ring", into = "Ring")]
pub struct SpinFields {
    sites: usize,
    labels: [String; 4],
}

/// Spin fields as they are written to a file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Ring {
    sites: usize,
}

impl From<SpinFields> for Ring {
    fn from(fields: SpinFields) -> Self {
        Self {
            sites: fields.sites,
        }
    }
}

impl TryFrom<Ring> for SpinFields {
    type Error = Error;

    fn try_from(ring: Ring) -> Result<Self> {
        Self::new(ring.sites)
    }
}

/// Components of a spin.
const SPIN: usize = 3;

impl SpinFields {
    /// On a ring of `sites` sites.
    ///
    /// # Errors
    /// When there are fewer than three sites, whose neighbours are not distinct.
    pub fn new(sites: usize) -> Result<Self> {
        if sites < 3 {
            return Err(Error::input(format!(
                "a ring of {sites} sites has no distinct neighbours; give at least 3"
            )));
        }
        let labels = ["beta_1", "beta_3", "beta_J", "beta_K"];
        Ok(Self {
            sites,
            labels: labels.map(String::from),
        })
    }

    /// First coordinates of a site and of its neighbours before and after.
    fn around(&self, site: usize) -> [usize; 3] {
        let n = self.sites;
        [site, (site + n - 1) % n, (site + 1) % n].map(|site| site * SPIN)
    }
}

impl VectorFields for SpinFields {
    fn stored(&self) -> Option<StoredFields> {
        Some(StoredFields::Spin(self.clone()))
    }
    fn dim(&self) -> usize {
        SPIN * self.sites
    }
    fn labels(&self) -> &[String] {
        &self.labels
    }

    fn fields(&self, x: &[f64], out: &mut [f64]) {
        let size = x.len();
        let n = size / self.dim();
        assert_eq!(
            out.len(),
            self.labels.len() * size,
            "fields are (4, dim, n)"
        );
        let (linear, rest) = out.split_at_mut(size);
        let (cubic, rest) = rest.split_at_mut(size);
        let (exchange, axial) = rest.split_at_mut(size);
        linear.copy_from_slice(x);
        axial.fill(0.0);
        for site in 0..self.sites {
            let [here, before, after] = self.around(site).map(|first| first * n);
            for s in 0..n {
                let m = |c: usize| x[here + c * n + s];
                let square = m(0) * m(0) + m(1) * m(1) + m(2) * m(2);
                for c in (0..SPIN).map(|c| c * n + s) {
                    cubic[here + c] = square * x[here + c];
                    exchange[here + c] = x[before + c] + x[after + c] - 2.0 * x[here + c];
                }
                axial[here + 2 * n + s] = m(2);
            }
        }
    }

    fn divergences(&self, x: &[f64], weights: &[f64], out: &mut [f64]) {
        let n = x.len() / self.dim();
        assert_eq!(out.len(), self.labels.len() * n, "divergences are (4, n)");
        let total: f64 = weights.iter().sum();
        let axial: f64 = weights.iter().skip(SPIN - 1).step_by(SPIN).sum();
        out[..n].fill(total);
        // ∂_c (|m|² m_c) = |m|² + 2 m_c².
        out[n..2 * n].fill(0.0);
        for (i, row) in x.chunks_exact(n.max(1)).enumerate() {
            let site = i / SPIN * SPIN;
            let onsite: f64 = weights[site..site + SPIN].iter().sum();
            for (sum, m) in out[n..2 * n].iter_mut().zip(row) {
                *sum += (onsite + 2.0 * weights[i]) * m * m;
            }
        }
        out[2 * n..3 * n].fill(-2.0 * total);
        out[3 * n..].fill(axial);
    }

    fn jacobians(&self, x: &[f64], out: &mut [f64]) {
        let dim = self.dim();
        assert_eq!(out.len(), 4 * dim * dim, "Jacobians are (4, dim, dim)");
        out.fill(0.0);
        for site in 0..self.sites {
            let [here, before, after] = self.around(site);
            let m = &x[here..here + SPIN];
            let square: f64 = m.iter().map(|m| m * m).sum();
            for c in 0..SPIN {
                let i = here + c;
                out[i * dim + i] = 1.0;
                for e in 0..SPIN {
                    out[(dim + i) * dim + here + e] = 2.0 * m[c] * m[e];
                }
                out[(dim + i) * dim + i] += square;
                out[(2 * dim + i) * dim + i] = -2.0;
                out[(2 * dim + i) * dim + before + c] = 1.0;
                out[(2 * dim + i) * dim + after + c] = 1.0;
            }
            let z = here + SPIN - 1;
            out[(3 * dim + z) * dim + z] = 1.0;
        }
    }
}
