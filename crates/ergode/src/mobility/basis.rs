//! Spans of polynomial fields: M(x) = Σ_k c_k T_k(x), and b(x) = Σ_k c_k f_k(x) where the drift is an unknown of
//! its own.

use ndarray::{Array2, ArrayView1};
use serde::{Deserialize, Serialize};

use crate::data::Standardiser;
use crate::error::{Error, Result};
use crate::observable::{Functions, Moments, Monomials, Polynomial, degree};

/// Tensor fields T_k whose entries are polynomials of the standardised coordinates z = (x − μ)/σ.
///
/// The span is that of the mobility in the coordinates z; in the raw ones
/// M_ij(x) = σ_i σ_j Σ_k c_k T_k,ij(z).
///
/// A field may be a drift f_k instead of a tensor, b_i(x) = σ_i Σ_k c_k f_k,i(z). A span with such fields is
/// that of the generator form, in which b and D are the unknowns and M s + ∇·M is not the drift.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "Unchecked")]
pub struct TensorBasis {
    names: Vec<String>,
    standardiser: Standardiser,
    fields: Vec<TensorField>,
}

/// A basis read from a file, before its fields are checked.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Unchecked {
    names: Vec<String>,
    standardiser: Standardiser,
    fields: Vec<TensorField>,
}

impl TryFrom<Unchecked> for TensorBasis {
    type Error = Error;

    fn try_from(read: Unchecked) -> Result<Self> {
        let dim = read.names.len();
        let of_dim = |polynomial: &Polynomial| {
            let mut terms = polynomial.terms();
            terms.all(|(exponents, _)| exponents.len() == dim)
        };
        let fits = |field: &TensorField| {
            let mut entries = field.entries.iter();
            let mut drift = field.drift.iter();
            entries.all(|(i, j, p)| i.max(j) < &dim && of_dim(p))
                && drift.all(|(i, p)| i < &dim && of_dim(p))
        };
        if dim == 0 || read.standardiser.mean.len() != dim || !read.fields.iter().all(fits) {
            return Err(Error::input(format!(
                "the tensor fields do not match the dimension {dim}; the file is damaged, write it again"
            )));
        }
        Ok(Self::from_fields(
            &read.names,
            &read.standardiser,
            read.fields,
        ))
    }
}

/// One field: a label and the entries that are not zero.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TensorField {
    pub(super) label: String,
    /// (row, column, polynomial)
    pub(super) entries: Vec<(usize, usize, Polynomial)>,
    /// (coordinate, polynomial) of a drift.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) drift: Vec<(usize, Polynomial)>,
}

impl TensorField {
    /// (i, j, α) with i ≤ j where the field is z^α at (i, j) and (j, i) and nothing else.
    pub(super) fn symmetric_monomial(&self) -> Option<(usize, usize, Vec<u32>)> {
        let (i, j, first) = self.entries.first()?;
        let mut terms = first.terms();
        let (exponents, 1.0) = terms.next()? else {
            return None;
        };
        let mirrored = match &self.entries[1..] {
            [] => i == j,
            [(k, l, second)] => (k, l) == (j, i) && second == first,
            _ => false,
        };
        (terms.next().is_none() && mirrored && i <= j).then(|| (*i, *j, exponents.clone()))
    }

    /// A tensor with these entries.
    pub(super) fn tensor(label: String, entries: Vec<(usize, usize, Polynomial)>) -> Self {
        Self {
            label,
            entries,
            drift: Vec::new(),
        }
    }

    /// True for a constant tensor and for a drift that is at most linear: together they span the
    /// Ornstein-Uhlenbeck processes.
    fn is_constant(&self) -> bool {
        self.entries.iter().all(|(_, _, p)| p.degree() == 0)
            && self.drift.iter().all(|(_, p)| p.degree() <= 1)
    }
}

impl TensorBasis {
    /// Every entry of D a polynomial of total degree up to `diffusion_degree`, every entry of R up
    /// to `current_degree`; entries (i, j) that `mask` forbids in both orders are left out.
    ///
    /// Labels read `D[x,y] x^2` for the symmetric and `R[x,y] y` for the antisymmetric fields, with
    /// R_xy = −R_yx = the coefficient, and monomials of the standardised coordinates.
    ///
    /// # Errors
    /// When names and standardiser do not match, or the basis would be too large.
    pub fn polynomial(
        names: &[String],
        standardiser: &Standardiser,
        diffusion_degree: usize,
        current_degree: usize,
        mask: Option<&Array2<bool>>,
    ) -> Result<Self> {
        let dim = names.len();
        if standardiser.mean.len() != dim {
            return Err(Error::input(format!(
                "there are {dim} names, but the standardisation has dimension {}; give one name per \
                 coordinate",
                standardiser.mean.len()
            )));
        }
        if let Some(mask) = mask
            && mask.dim() != (dim, dim)
        {
            return Err(Error::input(format!(
                "the mask of mobility entries is {:?}; it must be {dim} by {dim}",
                mask.dim()
            )));
        }
        let allowed = |i: usize, j: usize| mask.is_none_or(|m| m[[i, j]] || m[[j, i]]);
        let top = diffusion_degree.max(current_degree);
        let monomials = Monomials::of(names, standardiser, 0..=top)?;
        let mut fields = Vec::new();
        for (exponents, label) in monomials.exponents().iter().zip(monomials.labels()) {
            let degree = degree(exponents) as usize;
            let entry = |sign: f64| Polynomial::monomial(exponents.clone(), sign);
            for i in 0..dim {
                for j in (i..dim).filter(|j| allowed(i, *j)) {
                    let mut push = |part: &str, entries| {
                        let label = format!("{part}[{},{}] {label}", names[i], names[j]);
                        fields.push(TensorField::tensor(label, entries));
                    };
                    if degree <= diffusion_degree {
                        let mut entries = vec![(i, j, entry(1.0))];
                        if i != j {
                            entries.push((j, i, entry(1.0)));
                        }
                        push("D", entries);
                    }
                    if i != j && degree <= current_degree {
                        push("R", vec![(i, j, entry(1.0)), (j, i, entry(-1.0))]);
                    }
                }
            }
        }
        if fields.is_empty() {
            return Err(Error::input(
                "the mask excludes every entry of the mobility; allow at least the diagonal",
            ));
        }
        Ok(Self::from_fields(names, standardiser, fields))
    }

    /// Every entry of D a polynomial of total degree up to `diffusion_degree`, every component of the drift b
    /// up to `drift_degree`.
    ///
    /// Labels read `D[x,y] x^2` and `b[x] y`, with monomials of the standardised coordinates.
    ///
    /// # Errors
    /// When names and standardiser do not match, or the basis would be too large.
    pub fn generator(
        names: &[String],
        standardiser: &Standardiser,
        diffusion_degree: usize,
        drift_degree: usize,
    ) -> Result<Self> {
        let tensors = Self::polynomial(names, standardiser, diffusion_degree, 0, None)?;
        let mut fields = tensors.fields;
        fields.retain(|field| field.symmetric_monomial().is_some());
        let monomials = Monomials::of(names, standardiser, 0..=drift_degree)?;
        for (exponents, label) in monomials.exponents().iter().zip(monomials.labels()) {
            for (i, name) in names.iter().enumerate() {
                fields.push(TensorField {
                    label: format!("b[{name}] {label}"),
                    entries: Vec::new(),
                    drift: vec![(i, Polynomial::monomial(exponents.clone(), 1.0))],
                });
            }
        }
        Ok(Self::from_fields(names, standardiser, fields))
    }

    /// Every entry of R a polynomial of total degree up to `degree`.
    pub(super) fn currents(
        names: &[String],
        standardiser: &Standardiser,
        degree: usize,
    ) -> Result<Self> {
        let mut all = Self::polynomial(names, standardiser, 0, degree, None)?;
        all.fields.retain(|f| f.symmetric_monomial().is_none());
        Ok(all)
    }

    /// The fields of both.
    pub(super) fn with(&self, other: &Self) -> Self {
        let fields = self.fields.iter().chain(&other.fields).cloned();
        Self::from_fields(&self.names, &self.standardiser, fields.collect())
    }

    /// The span of given fields, at least one, in coordinates called `names`.
    pub(super) fn from_fields(
        names: &[String],
        standardiser: &Standardiser,
        fields: Vec<TensorField>,
    ) -> Self {
        Self {
            names: names.to_vec(),
            standardiser: standardiser.clone(),
            fields,
        }
    }

    /// Number of coordinates D.
    pub fn dim(&self) -> usize {
        self.names.len()
    }

    /// Number of fields.
    pub fn len(&self) -> usize {
        self.fields.len()
    }

    /// Never true: a basis has at least one field.
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    /// Names of the coordinates.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// One label per field.
    pub fn labels(&self) -> impl ExactSizeIterator<Item = &str> {
        self.fields.iter().map(|field| field.label.as_str())
    }

    /// The map to the coordinates z.
    pub fn standardiser(&self) -> &Standardiser {
        &self.standardiser
    }

    /// True where the drift is an unknown of its own.
    pub fn has_drift(&self) -> bool {
        self.fields.iter().any(|field| !field.drift.is_empty())
    }

    /// False on a line, where the current of a stationary law is zero everywhere.
    pub(super) fn may_turn(&self) -> bool {
        self.dim() > 1 || self.standardiser.has_circles()
    }

    /// The largest degree of an entry.
    pub fn degree(&self) -> usize {
        let entries = self.fields.iter().flat_map(|field| &field.entries);
        entries.map(|(_, _, p)| p.degree()).max().unwrap_or(0)
    }

    /// The largest degree of an entry of D and of R; none where that part is zero.
    pub fn degrees(&self) -> (Option<usize>, Option<usize>) {
        let part = |sign: f64| {
            let of_field = |field: &TensorField| {
                let entry = |(i, j, p): &(usize, usize, Polynomial)| {
                    let mut sum = p.clone();
                    for (_, _, q) in field.entries.iter().filter(|e| (e.0, e.1) == (*j, *i)) {
                        sum.add_scaled(sign, q);
                    }
                    let degrees = sum.terms().filter(|(_, c)| *c != 0.0);
                    degrees.map(|(e, _)| degree(e) as usize).max()
                };
                field.entries.iter().filter_map(entry).max()
            };
            self.fields.iter().filter_map(of_field).max()
        };
        (part(1.0), part(-1.0))
    }

    pub(super) fn fields(&self) -> &[TensorField] {
        &self.fields
    }

    /// The entry (i, j) of field k in z.
    pub(crate) fn entry(&self, k: usize, at: (usize, usize)) -> Polynomial {
        let mut sum = Polynomial::default();
        for (i, j, polynomial) in &self.fields[k].entries {
            if (*i, *j) == at {
                sum.add_scaled(1.0, polynomial);
            }
        }
        sum
    }

    /// The component i of the drift of field k in z.
    pub(crate) fn drift_component(&self, k: usize, at: usize) -> Polynomial {
        let mut sum = Polynomial::default();
        for (_, polynomial) in self.fields[k].drift.iter().filter(|(i, _)| *i == at) {
            sum.add_scaled(1.0, polynomial);
        }
        sum
    }

    /// The fields that span the constant mobilities, or the Ornstein-Uhlenbeck processes where the drift is
    /// an unknown of its own.
    pub(super) fn constants(&self) -> Vec<usize> {
        let constant = |k: &usize| self.fields[*k].is_constant();
        (0..self.len()).filter(constant).collect()
    }

    /// The fields that are 1 in one diagonal entry and zero elsewhere.
    pub(super) fn diagonal_constants(&self) -> Vec<usize> {
        let diagonal = |k: &usize| {
            let field = &self.fields[*k];
            let entry = field.symmetric_monomial().map(|(i, j, _)| i == j);
            field.is_constant() && entry == Some(true)
        };
        (0..self.len()).filter(diagonal).collect()
    }

    /// σ_i σ_j, which turns the entry (i, j) of a mobility in z into that in x.
    pub(super) fn unit(&self, i: usize, j: usize) -> f64 {
        self.standardiser.scale[i] * self.standardiser.scale[j]
    }

    /// Σ_k c_k T_k, entry by entry in z, row-major.
    pub(crate) fn combine(&self, coefficients: ArrayView1<f64>) -> Vec<Polynomial> {
        let dim = self.dim();
        let mut entries = vec![Polynomial::default(); dim * dim];
        for (field, &c) in self.fields.iter().zip(coefficients) {
            for (i, j, polynomial) in &field.entries {
                entries[i * dim + j].add_scaled(c, polynomial);
            }
        }
        entries
    }

    /// Σ_k c_k f_k, coordinate by coordinate in z.
    pub(super) fn combine_drift(&self, coefficients: ArrayView1<f64>) -> Vec<Polynomial> {
        let mut components = vec![Polynomial::default(); self.dim()];
        for (field, &c) in self.fields.iter().zip(coefficients) {
            for (i, polynomial) in &field.drift {
                components[*i].add_scaled(c, polynomial);
            }
        }
        components
    }

    /// G_kl = ⟨T_k : T_l⟩ + ⟨f_k · f_l⟩, so that cᵀGc = ⟨|M|²⟩ + ⟨|b|²⟩ in the coordinates z, where both are
    /// rates.
    pub(super) fn metric(&self, moments: &Moments) -> Result<Array2<f64>> {
        let mut metric = self.contraction(moments, false)?;
        for (k, left) in self.fields.iter().enumerate() {
            for (l, right) in self.fields.iter().enumerate() {
                for (i, p) in &left.drift {
                    for (_, q) in right.drift.iter().filter(|(j, _)| j == i) {
                        metric[[k, l]] += moments.mean(&p.product(q))?;
                    }
                }
            }
        }
        Ok(metric)
    }

    /// ⟨sym T_k : sym T_l⟩, so that cᵀGc = ⟨|D|²⟩ in the coordinates z.
    pub(super) fn diffusion_metric(&self, moments: &Moments) -> Result<Array2<f64>> {
        Ok((self.contraction(moments, false)? + self.contraction(moments, true)?) * 0.5)
    }

    /// ⟨T_k : T_l⟩, or ⟨T_k : T_lᵀ⟩.
    fn contraction(&self, moments: &Moments, transposed: bool) -> Result<Array2<f64>> {
        let n = self.len();
        let mut metric = Array2::zeros((n, n));
        for (k, left) in self.fields.iter().enumerate() {
            for (l, right) in self.fields.iter().enumerate().skip(k) {
                let mut sum = 0.0;
                for (i, j, p) in &left.entries {
                    let place = if transposed { (j, i) } else { (i, j) };
                    for (_, _, q) in right.entries.iter().filter(|(a, b, _)| (a, b) == place) {
                        sum += moments.mean(&p.product(q))?;
                    }
                }
                metric[[k, l]] = sum;
                metric[[l, k]] = sum;
            }
        }
        Ok(metric)
    }

    /// ⟨T_k,ij⟩ in the raw coordinates, (entry, field): the mean ⟨M⟩ is this times c.
    pub(super) fn means(&self, moments: &Moments) -> Result<Array2<f64>> {
        let dim = self.dim();
        let mut means = Array2::zeros((dim * dim, self.len()));
        for (k, field) in self.fields.iter().enumerate() {
            for (i, j, polynomial) in &field.entries {
                means[[i * dim + j, k]] += self.unit(*i, *j) * moments.mean(polynomial)?;
            }
        }
        Ok(means)
    }

    /// f_k,i at a raw state, in raw coordinates, (i, field).
    pub fn drift_design(&self, x: &[f64]) -> Array2<f64> {
        let mut z = x.to_vec();
        self.standardiser.forward(&mut z);
        let mut design = Array2::zeros((self.dim(), self.len()));
        for (k, field) in self.fields.iter().enumerate() {
            for (i, polynomial) in &field.drift {
                design[[*i, k]] += self.standardiser.scale[*i] * polynomial.value(&z);
            }
        }
        design
    }

    /// T_k,ij and (∇·T_k)_i at a raw state, in raw coordinates: (entry, field) and (i, field).
    pub(crate) fn design(&self, x: &[f64]) -> (Array2<f64>, Array2<f64>) {
        self.design_along(x, &|_| true)
    }

    /// The same, with the derivatives along the coordinates that `varies` names only.
    pub(crate) fn design_along(
        &self,
        x: &[f64],
        varies: &dyn Fn(usize) -> bool,
    ) -> (Array2<f64>, Array2<f64>) {
        let dim = self.dim();
        let mut z = x.to_vec();
        self.standardiser.forward(&mut z);
        let mut fields = Array2::zeros((dim * dim, self.len()));
        let mut divergences = Array2::zeros((dim, self.len()));
        for (k, field) in self.fields.iter().enumerate() {
            for (i, j, polynomial) in &field.entries {
                fields[[i * dim + j, k]] += self.unit(*i, *j) * polynomial.value(&z);
                if varies(*j) {
                    let slope = polynomial.derivative(*j).value(&z);
                    divergences[[*i, k]] += self.standardiser.scale[*i] * slope;
                }
            }
        }
        (fields, divergences)
    }
}
