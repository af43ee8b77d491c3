//! Correlations of a diffusion without Monte Carlo: the semigroup in a polynomial space.

use ndarray::{Array1, Array2, ArrayView1};

use super::drift_and_diffusion;
use crate::error::{Error, Result};
use crate::linalg::{self, multiply};
use crate::simulate::Sde;

/// A function of the state.
pub type Function<'a> = &'a dyn Fn(&[f64]) -> f64;

/// The generator of a diffusion in the space of polynomials up to a degree, orthonormal under
/// p_ss, with p_ss given as weighted nodes.
///
/// l_ab = ⟨(ℒψ_a) ψ_b⟩ and C(t) = ⟨ψ(x_t) ψ(x_0)ᵀ⟩ = exp(l t). Raising the degree shows how well
/// the space is closed under the dynamics.
#[derive(Clone, Debug)]
pub struct GalerkinReference {
    nodes: Array2<f64>,
    weights: Array1<f64>,
    space: Space,
    /// ψ at the nodes, (function, node).
    basis: Array2<f64>,
    generator: Array2<f64>,
}

/// Polynomials made orthonormal one by one (Arnoldi's process, which stays well conditioned where
/// a Gram matrix would not): ψ_a = (u ψ_parent − Σ_b h_b ψ_b)/h_a with u a standardised coordinate.
#[derive(Clone, Debug, Default)]
struct Space {
    mean: Vec<f64>,
    scale: Vec<f64>,
    steps: Vec<Step>,
}

#[derive(Clone, Debug)]
struct Step {
    coordinate: usize,
    parent: usize,
    projections: Array1<f64>,
    norm: f64,
}

/// ψ with its first and second derivatives: (channel, node), the channels being the value, ∂_i, and
/// ∂_i∂_j for i ≤ j.
type Jet = Array2<f64>;

impl Space {
    /// Channel of ∂_i∂_j.
    fn second(dim: usize, i: usize, j: usize) -> usize {
        let (i, j) = (i.min(j), i.max(j));
        1 + dim + i * dim - i * (i + 1) / 2 + j
    }

    /// The jet of u_c ψ, by the product rule.
    fn raise(&self, jet: &Jet, c: usize, u: ArrayView1<f64>) -> Jet {
        let dim = self.mean.len();
        let slope = 1.0 / self.scale[c];
        let mut raised = jet * &u;
        let (value, first) = (jet.row(0), |i: usize| jet.row(1 + i));
        raised.row_mut(1 + c).scaled_add(slope, &value);
        for i in 0..dim {
            // ∂_i∂_c (u ψ) gains ∂_i ψ ∂_c u, twice when i = c.
            let times = if i == c { 2.0 } else { 1.0 };
            raised
                .row_mut(Self::second(dim, i, c))
                .scaled_add(times * slope, &first(i));
        }
        raised
    }

    fn constant(&self, nodes: usize) -> Jet {
        let dim = self.mean.len();
        let mut jet = Jet::zeros((1 + dim + dim * (dim + 1) / 2, nodes));
        jet.row_mut(0).fill(1.0);
        jet
    }

    fn standardised(&self, nodes: &Array2<f64>, c: usize) -> Array1<f64> {
        nodes.column(c).mapv(|x| (x - self.mean[c]) / self.scale[c])
    }

    /// All jets at the nodes of the measure, finding the coefficients on the way.
    fn build(&mut self, nodes: &Array2<f64>, weights: &Array1<f64>, degree: usize) -> Vec<Jet> {
        let powers = multi_indices(nodes.ncols(), degree);
        let mut jets = vec![self.constant(nodes.nrows())];
        for power in &powers[1..] {
            let coordinate = power.iter().position(|p| *p > 0).expect("not the constant");
            let mut below = power.clone();
            below[coordinate] -= 1;
            let parent = powers
                .iter()
                .position(|p| *p == below)
                .expect("graded order");
            let u = self.standardised(nodes, coordinate);
            let mut jet = self.raise(&jets[parent], coordinate, u.view());
            let mut projections = Array1::zeros(jets.len());
            // Twice is enough to keep the functions orthogonal to rounding.
            for _ in 0..2 {
                for (b, other) in jets.iter().enumerate() {
                    let overlap = (&jet.row(0) * &other.row(0)).dot(weights);
                    jet.scaled_add(-overlap, other);
                    projections[b] += overlap;
                }
            }
            let norm = (&jet.row(0) * &jet.row(0)).dot(weights).sqrt();
            jet /= norm;
            jets.push(jet);
            self.steps.push(Step {
                coordinate,
                parent,
                projections,
                norm,
            });
        }
        jets
    }

    /// ψ at any state.
    fn evaluate(&self, x: &[f64]) -> Array1<f64> {
        let mut values = vec![1.0];
        for step in &self.steps {
            let c = step.coordinate;
            let u = (x[c] - self.mean[c]) / self.scale[c];
            let removed: f64 = step
                .projections
                .iter()
                .zip(&values)
                .map(|(h, v)| h * v)
                .sum();
            values.push((u * values[step.parent] - removed) / step.norm);
        }
        Array1::from(values)
    }
}

impl GalerkinReference {
    /// The generator of `sde` on polynomials of total degree up to `degree`; `weights` is the
    /// stationary probability of each node.
    ///
    /// # Errors
    /// When the functions are linearly dependent on the nodes.
    pub fn new(
        sde: &dyn Sde,
        nodes: Array2<f64>,
        weights: Array1<f64>,
        degree: usize,
    ) -> Result<Self> {
        let (count, dim) = nodes.dim();
        let weights = &weights / weights.sum();
        let mean = nodes.t().dot(&weights).to_vec();
        let scale = (0..dim)
            .map(|i| {
                nodes
                    .column(i)
                    .mapv(|x| (x - mean[i]).powi(2))
                    .dot(&weights)
                    .sqrt()
            })
            .collect();
        let mut space = Space {
            mean,
            scale,
            steps: Vec::new(),
        };
        let jets = space.build(&nodes, &weights, degree);
        if space
            .steps
            .iter()
            .any(|step| step.norm.is_nan() || step.norm < 1e-10)
        {
            return Err(Error::numerical(format!(
                "polynomials of degree {degree} are linearly dependent on these nodes; lower the \
                 degree, or refine the grid"
            )));
        }
        // ℒψ = F·∇ψ + D:∇∇ψ at the nodes.
        let mut images = Array2::zeros((jets.len(), count));
        let mut basis = Array2::zeros((jets.len(), count));
        let mut drift = vec![0.0; dim];
        for k in 0..count {
            let x = nodes.row(k).to_vec();
            let diffusion = drift_and_diffusion(sde, &x, &mut drift);
            for (a, jet) in jets.iter().enumerate() {
                basis[[a, k]] = jet[[0, k]];
                images[[a, k]] = (0..dim)
                    .map(|i| {
                        let second: f64 = (0..dim)
                            .map(|j| diffusion[[i, j]] * jet[[Space::second(dim, i, j), k]])
                            .sum();
                        drift[i] * jet[[1 + i, k]] + second
                    })
                    .sum();
            }
        }
        let weighted = &basis * &weights;
        Ok(Self {
            generator: multiply(images.view(), weighted.t()),
            nodes,
            weights,
            space,
            basis,
        })
    }

    /// (K_t f)(x_0) = E[f(x_t) | x_0].
    pub fn conditional_mean(&self, f: impl Fn(&[f64]) -> f64, t: f64, x0: &[f64]) -> f64 {
        let semigroup = linalg::expm((&self.generator * t).view());
        let psi = self.space.evaluate(x0);
        linalg::bilinear(self.project(f).view(), semigroup.view(), psi.view())
    }

    /// ⟨f⟩ under the stationary law.
    pub fn mean(&self, f: impl Fn(&[f64]) -> f64) -> f64 {
        self.values(f).dot(&self.weights)
    }

    /// ⟨f(x_t) g(x_0)⟩ at each lag.
    pub fn correlation(
        &self,
        f: impl Fn(&[f64]) -> f64,
        g: impl Fn(&[f64]) -> f64,
        lags: &[f64],
    ) -> Vec<f64> {
        let future = self.project(f);
        let initial = self.project(g);
        lags.iter()
            .map(|&t| {
                let semigroup = linalg::expm((&self.generator * t).view());
                linalg::bilinear(future.view(), semigroup.view(), initial.view())
            })
            .collect()
    }

    /// ⟨f_m(x_t) g_n(x_0)⟩ for all m and n at the lags 0, `step`, ..., (lag, m, n).
    pub fn correlations(
        &self,
        future: &[Function],
        initial: &[Function],
        step: f64,
        lags: usize,
    ) -> ndarray::Array3<f64> {
        let columns = |list: &[Function]| {
            let mut all = Array2::zeros((self.generator.nrows(), list.len()));
            for (mut column, f) in all.columns_mut().into_iter().zip(list) {
                column.assign(&self.project(f));
            }
            all
        };
        let future = columns(future);
        let mut carried = columns(initial);
        let semigroup = linalg::expm((&self.generator * step).view());
        let mut out = ndarray::Array3::zeros((lags, future.ncols(), carried.ncols()));
        for mut lag in out.outer_iter_mut() {
            lag.assign(&future.t().dot(&carried));
            carried = multiply(semigroup.view(), carried.view());
        }
        out
    }

    /// Coefficients of the projection of f on the space.
    fn project(&self, f: impl Fn(&[f64]) -> f64) -> Array1<f64> {
        self.basis.dot(&(self.values(f) * &self.weights))
    }

    fn values(&self, f: impl Fn(&[f64]) -> f64) -> Array1<f64> {
        self.nodes
            .rows()
            .into_iter()
            .map(|row: ArrayView1<f64>| f(row.as_slice().expect("nodes are row-major")))
            .collect()
    }
}

/// All exponents of total degree up to `degree`, the constant first.
fn multi_indices(dim: usize, degree: usize) -> Vec<Vec<usize>> {
    let mut all = vec![vec![]];
    for _ in 0..dim {
        all = all
            .into_iter()
            .flat_map(|head: Vec<usize>| {
                let used: usize = head.iter().sum();
                (0..=degree - used).map(move |next| [head.clone(), vec![next]].concat())
            })
            .collect();
    }
    all.sort_by_key(|power| power.iter().sum::<usize>());
    all
}
