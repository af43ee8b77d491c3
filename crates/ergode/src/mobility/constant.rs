//! The constant mobility Φ = ⟨M⟩ = −Ċ_xx(0⁺).

use ndarray::{Array1, Array2, ArrayView1, s};
use serde::{Deserialize, Serialize};

use super::Mobility;
use crate::error::{Error, Result};
use crate::lagged::{IntegralRule, Jackknife, LaggedSums, LocalPolynomial, PairSums};
use crate::linalg;

/// The estimator of Φ from the coordinate covariance (`eq:Phi_estimator_method`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PhiMethod {
    /// Minus the slope at zero of the quadratic through lag 0 and the first three positive lags.
    Quadratic,
    /// Minus the one-sided local-polynomial derivative at lag 0.
    LocalPolynomial(LocalPolynomial),
    /// A_s⁻¹ Ċ(0⁺) with A_s = ⟨x sᵀ⟩, which is −1 for the exact score: an error of the score that
    /// only scales it cancels (`eq:app_soft_spin_phi_stein_corrected_form`).
    SteinNormalised(LocalPolynomial),
    /// The Φ with C(T) − C(0) = ∫₀ᵀ⟨x_t s(x_0)ᵀ⟩dt Φ in least squares over the lags T of the
    /// statistics, in units of the standard deviations of the coordinates; keep the lags short, where a
    /// state-dependent M is seen through its mean only.
    Integral(IntegralRule),
}

/// Symmetry constraints on Φ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SymmetryClass {
    /// No constraint.
    #[default]
    None,
    /// Sites of `components` coordinates are equivalent and Φ does not couple them: one block, the
    /// average over sites, repeated (`eq:app_soft_spin_phi_site_block_structure`).
    SiteAverage {
        /// Coordinates per site.
        components: usize,
    },
    /// In addition an axis: three components, the block [[a, −b, 0], [b, a, 0], [0, 0, c]]
    /// (`eq:app_soft_spin_phi_onsite_axial_form`).
    Axial,
}

/// Φ with its sampling errors.
#[derive(Clone, Debug)]
pub struct ConstantMobility {
    /// Φ.
    pub value: Array2<f64>,
    /// Standard error of each entry, by jackknife over blocks.
    pub error: Array2<f64>,
    /// The change that made sym Φ positive, if any.
    pub repair: Option<Repair>,
    jackknife: Jackknife,
}

/// A correction of sym Φ.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Repair {
    /// Smallest eigenvalue of sym Φ before.
    pub smallest_eigenvalue: f64,
    /// The value that eigenvalues below it were raised to.
    pub floor: f64,
    /// Number of raised eigenvalues.
    pub raised: usize,
    /// Frobenius norm of the change relative to that of Φ.
    pub relative_change: f64,
}

impl ConstantMobility {
    /// A linear combination Σ w_ij Φ_ij with its standard error.
    pub fn combination(&self, weights: &Array2<f64>) -> (f64, f64) {
        let weights = weights.iter().copied().collect::<Array1<f64>>();
        let value = weights.dot(&self.jackknife.values);
        let deviations = self.jackknife.deviations.dot(&weights);
        (value, deviations.dot(&deviations).sqrt())
    }

    /// Raise the eigenvalues of sym Φ that are below `floor`, and say what that changed.
    ///
    /// # Errors
    /// When the floor is not positive or the matrix is not finite.
    pub fn repaired(mut self, floor: f64) -> Result<Self> {
        let symmetric = linalg::symmetric_part(self.value.view());
        let (values, vectors) = linalg::symmetric_eigen(symmetric.view())?;
        let raised = values.iter().filter(|v| **v < floor).count();
        if raised > 0 {
            let lifted = values.mapv(|v| v.max(floor));
            let fixed = (&vectors * &lifted).dot(&vectors.t());
            let change = &fixed - &symmetric;
            let norm = |a: &Array2<f64>| a.iter().map(|v| v * v).sum::<f64>().sqrt();
            self.repair = Some(Repair {
                smallest_eigenvalue: values[0],
                floor,
                raised,
                relative_change: norm(&change) / norm(&self.value),
            });
            self.value += &change;
        }
        Ok(self)
    }
}

/// A matrix as a mobility that is the same everywhere.
impl Mobility for Array2<f64> {
    fn dim(&self) -> usize {
        self.nrows()
    }
    fn mobility(&self, x: &[f64], out: &mut [f64]) {
        let n = x.len() / self.nrows();
        for (row, value) in out.chunks_exact_mut(n.max(1)).zip(self) {
            row.fill(*value);
        }
    }
    fn div_mobility(&self, _x: &[f64], out: &mut [f64]) {
        out.fill(0.0);
    }
    fn div_transpose(&self, _x: &[f64], out: &mut [f64]) {
        out.fill(0.0);
    }
}

impl Mobility for ConstantMobility {
    fn dim(&self) -> usize {
        self.value.nrows()
    }
    fn mobility(&self, x: &[f64], out: &mut [f64]) {
        self.value.mobility(x, out);
    }
    fn div_mobility(&self, x: &[f64], out: &mut [f64]) {
        self.value.div_mobility(x, out);
    }
    fn div_transpose(&self, x: &[f64], out: &mut [f64]) {
        self.value.div_transpose(x, out);
    }
}

/// Estimate Φ from the statistics of the coordinates with themselves.
///
/// The future functions must be the D coordinates; the initial functions the coordinates, followed
/// for the Stein-normalised and integral forms by the D components of the score.
///
/// # Errors
/// When the sums lack a lag or a function that the method needs, or there are fewer than two blocks.
pub fn estimate_constant_mobility(
    sums: &LaggedSums,
    method: &PhiMethod,
    symmetry: SymmetryClass,
) -> Result<ConstantMobility> {
    let dim = sums.future_labels().len();
    let score = match method {
        PhiMethod::Quadratic | PhiMethod::LocalPolynomial(_) => false,
        PhiMethod::SteinNormalised(_) | PhiMethod::Integral(_) => true,
    };
    require_layout(sums, dim, score)?;
    let project = symmetry.projection(dim)?;
    let lags = sums.total().lags().to_vec();
    let estimate = estimator(method, &lags)?;
    let jackknife = sums.jackknife(|totals| {
        let phi = project(estimate(totals, dim));
        phi.into_iter().collect()
    })?;
    let square = |a: ArrayView1<f64>| {
        a.to_owned()
            .into_shape_with_order((dim, dim))
            .expect("D by D")
    };
    Ok(ConstantMobility {
        value: square(jackknife.values.view()),
        error: square(jackknife.errors().view()),
        repair: None,
        jackknife,
    })
}

/// Refuse statistics that are not those of coordinates (and score).
pub(super) fn require_layout(sums: &LaggedSums, dim: usize, score: bool) -> Result<()> {
    let initial = sums.initial_labels();
    let enough = initial.len() >= if score { 2 * dim } else { dim };
    if !enough || initial[..dim] != *sums.future_labels() {
        return Err(Error::input(
            "the future functions of these statistics must be the coordinates; the initial functions \
             must be the coordinates, followed by the components of the score if it is used",
        ));
    }
    if sums.grid().lags()[0] != 0.0 {
        return Err(Error::input("the lag grid must begin with lag 0"));
    }
    Ok(())
}

/// Cov{x(t), x(0)} and ⟨(x(t) − μ) s(x(0))ᵀ⟩ at every lag.
pub(super) fn coordinate_curves(
    totals: &PairSums,
    dim: usize,
) -> (Vec<Array2<f64>>, Vec<Array2<f64>>) {
    (0..totals.lags().len())
        .map(|lag| {
            let covariance = totals.covariance(lag);
            let part = |from: usize| {
                let to = (from + dim).min(covariance.ncols());
                covariance.slice(s![.., from.min(to)..to]).to_owned()
            };
            (part(0), part(dim))
        })
        .unzip()
}

/// [`coordinate_curves`] in units of the standard deviations σ of the coordinates, where the score has the
/// unit 1/σ, and these.
pub(super) fn standardised_curves(
    totals: &PairSums,
    dim: usize,
) -> (Array1<f64>, Vec<Array2<f64>>, Vec<Array2<f64>>) {
    let (mut covariances, mut scores) = coordinate_curves(totals, dim);
    let scale = covariances[0]
        .diag()
        .mapv(|v| v.max(f64::MIN_POSITIVE).sqrt());
    for matrix in &mut covariances {
        *matrix = in_units(matrix, &scale.mapv(f64::recip));
    }
    for ((i, j), value) in scores.iter_mut().flat_map(|m| m.indexed_iter_mut()) {
        *value *= scale[j] / scale[i];
    }
    (scale, covariances, scores)
}

/// σ_i a_ij σ_j.
pub(super) fn in_units(matrix: &Array2<f64>, scale: &Array1<f64>) -> Array2<f64> {
    Array2::from_shape_fn(matrix.dim(), |(i, j)| scale[i] * matrix[[i, j]] * scale[j])
}

type Projection = Box<dyn Fn(Array2<f64>) -> Array2<f64>>;
type Estimator = Box<dyn Fn(&PairSums, usize) -> Array2<f64>>;

fn estimator(method: &PhiMethod, lags: &[f64]) -> Result<Estimator> {
    Ok(match method {
        PhiMethod::Quadratic => slope_at_zero(quadratic_weights(lags)?),
        PhiMethod::LocalPolynomial(polynomial) => slope_at_zero(polynomial.weights(lags, 0.0)?),
        PhiMethod::SteinNormalised(polynomial) => {
            let slope = slope_at_zero(polynomial.weights(lags, 0.0)?);
            Box::new(move |totals, dim| {
                let stein = &coordinate_curves(totals, dim).1[0];
                linalg::solve(stein.view(), (-slope(totals, dim)).view())
            })
        }
        PhiMethod::Integral(rule) => {
            let weights = rule.cumulative(lags)?;
            Box::new(move |totals, dim| {
                let (scale, c, f) = standardised_curves(totals, dim);
                let (mut normal, mut right) =
                    (Array2::zeros((dim, dim)), Array2::zeros((dim, dim)));
                for horizon in 1..c.len() {
                    let a = integrated(&f, weights.row(horizon));
                    normal += &a.t().dot(&a);
                    right += &a.t().dot(&(&c[horizon] - &c[0]));
                }
                in_units(&linalg::solve(normal.view(), right.view()), &scale)
            })
        }
    })
}

/// ∫₀ᵀ of matrix curves, by quadrature weights over the lags.
pub(super) fn integrated(curves: &[Array2<f64>], weights: ArrayView1<f64>) -> Array2<f64> {
    let mut sum = Array2::zeros(curves[0].dim());
    for (curve, weight) in curves.iter().zip(weights) {
        sum.scaled_add(*weight, curve);
    }
    sum
}

/// −Σ_ℓ w_ℓ C(τ_ℓ).
fn slope_at_zero(weights: Array1<f64>) -> Estimator {
    Box::new(move |totals, dim| -integrated(&coordinate_curves(totals, dim).0, weights.view()))
}

/// Slope at 0 of the least-squares quadratic on lag 0 and the first three positive lags.
fn quadratic_weights(lags: &[f64]) -> Result<Array1<f64>> {
    if lags.len() < 4 {
        return Err(Error::input(
            "the quadratic needs lag 0 and three positive lags",
        ));
    }
    let design = Array2::from_shape_fn((4, 3), |(l, q)| (lags[l] / lags[3]).powi(q as i32));
    let inverse = linalg::pseudo_inverse(design.view(), 1e-13);
    let mut weights = Array1::zeros(lags.len());
    for l in 0..4 {
        weights[l] = inverse[[1, l]] / lags[3];
    }
    Ok(weights)
}

impl SymmetryClass {
    fn projection(self, dim: usize) -> Result<Projection> {
        let components = match self {
            SymmetryClass::None => return Ok(Box::new(|phi| phi)),
            SymmetryClass::SiteAverage { components } => components,
            SymmetryClass::Axial => 3,
        };
        if components == 0 || !dim.is_multiple_of(components) {
            return Err(Error::input(format!(
                "{dim} coordinates cannot be divided into sites of {components} components"
            )));
        }
        let sites = dim / components;
        Ok(Box::new(move |phi| {
            let mut block = Array2::zeros((components, components));
            for site in 0..sites {
                let at = site * components;
                block += &phi.slice(s![at..at + components, at..at + components]);
            }
            block /= sites as f64;
            if self == SymmetryClass::Axial {
                let a = 0.5 * (block[[0, 0]] + block[[1, 1]]);
                let b = 0.5 * (block[[1, 0]] - block[[0, 1]]);
                block = ndarray::array![[a, -b, 0.0], [b, a, 0.0], [0.0, 0.0, block[[2, 2]]]];
            }
            let mut whole = Array2::zeros((dim, dim));
            for site in 0..sites {
                let at = site * components;
                whole
                    .slice_mut(s![at..at + components, at..at + components])
                    .assign(&block);
            }
            whole
        }))
    }
}
