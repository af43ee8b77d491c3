//! The stationary Fokker-Planck equation in two dimensions, solved on a grid.

use ndarray::{Array1, Array2, s};

use super::{GalerkinReference, drift_and_diffusion};
use crate::error::{Error, Result};
use crate::linalg;
use crate::simulate::Sde;

/// p_ss, score and circulation of a two-dimensional diffusion.
///
/// The equation ∇·J = 0, J_i = F_i p − ∂_j(D_ij p), is discretised by finite volumes around the
/// nodes of a rectangular grid with no flux through its edge, and solved directly. The solutions
/// on two nested grids (spacing 2h and h) are extrapolated to spacing zero, error O(h⁴); the
/// discrete current is divergence-free to rounding, so its stream function r p is exact on each.
#[derive(Clone, Debug)]
pub struct Grid2d {
    low: [f64; 2],
    spacing: [f64; 2],
    /// p_ss, (x node, y node).
    density: Array2<f64>,
    /// Densities below this are not resolved.
    resolved: f64,
    /// The node of largest density.
    mode: [f64; 2],
    ln_density: Array2<f64>,
    circulation: Array2<f64>,
}

/// Densities below this fraction of the largest are not resolved by the linear solve.
const RESOLVED: f64 = 1e-11;

impl Grid2d {
    /// Solve on [low, high] with `cells` cells a side on the finer of the two grids.
    ///
    /// # Errors
    /// When the box is empty, the grid too coarse, or the linear system singular.
    pub fn solve(sde: &dyn Sde, low: [f64; 2], high: [f64; 2], cells: usize) -> Result<Self> {
        if sde.dim() != 2 {
            return Err(Error::input(
                "a two-dimensional grid needs a two-dimensional system",
            ));
        }
        if cells < 32 || !cells.is_multiple_of(2) {
            return Err(Error::input("cells must be even, at least 32"));
        }
        let coarse = Level::solve(sde, low, high, cells / 2)?;
        let fine = Level::solve(sde, low, high, cells)?;
        let density = extrapolate(&coarse.density, &fine.density);
        let stream = extrapolate(&coarse.stream, &fine.stream);
        let spacing = [0, 1].map(|i| (high[i] - low[i]) / (cells / 2) as f64);
        let total = density.sum() * spacing[0] * spacing[1];
        let top = density.iter().fold(0.0, |m: f64, v| m.max(*v));
        let edge = density
            .indexed_iter()
            .filter(|((i, j), _)| *i == 0 || *j == 0 || *i == cells / 2 || *j == cells / 2)
            .fold(0.0, |m: f64, (_, v)| m.max(v.abs()));
        if edge > 1e-6 * top {
            return Err(Error::numerical(format!(
                "the density does not vanish at the edge of the grid ({:.1e} of its maximum); widen \
                 the grid",
                edge / top
            )));
        }
        let floor = RESOLVED * top;
        let ln_density = density.mapv(|p| (p.max(floor) / total).ln());
        let circulation =
            Array2::from_shape_fn(density.dim(), |at| stream[at] / density[at].max(floor));
        let mode = density
            .indexed_iter()
            .max_by(|a, b| a.1.total_cmp(b.1))
            .map(|((i, j), _)| {
                [
                    low[0] + spacing[0] * i as f64,
                    low[1] + spacing[1] * j as f64,
                ]
            })
            .expect("the grid is not empty");
        Ok(Self {
            low,
            spacing,
            mode,
            resolved: floor / total,
            density: density / total,
            ln_density,
            circulation,
        })
    }

    /// p_ss at the nodes, (x node, y node).
    pub fn density(&self) -> &Array2<f64> {
        &self.density
    }

    /// The coordinates of a node.
    pub fn node(&self, i: usize, j: usize) -> [f64; 2] {
        [
            self.low[0] + self.spacing[0] * i as f64,
            self.low[1] + self.spacing[1] * j as f64,
        ]
    }

    /// ln p_ss at any state.
    pub fn ln_density(&self, x: &[f64]) -> f64 {
        self.interpolate(&self.ln_density, x).0
    }

    /// s = ∇ ln p_ss at any state.
    pub fn score(&self, x: &[f64]) -> [f64; 2] {
        self.interpolate(&self.ln_density, x).1
    }

    /// r and ∇r, the antisymmetric part of the mobility: R = r [[0, −1], [1, 0]].
    pub fn circulation(&self, x: &[f64]) -> (f64, [f64; 2]) {
        self.interpolate(&self.circulation, x)
    }

    /// The generator on polynomials up to `degree`, for moments and correlations at any lag.
    ///
    /// # Errors
    /// When the functions are linearly dependent on the grid.
    pub fn semigroup(&self, sde: &dyn Sde, degree: usize) -> Result<GalerkinReference> {
        let mut nodes = Vec::new();
        let mut weights = Vec::new();
        for ((i, j), &p) in self.density.indexed_iter() {
            if p > 1e-4 * self.resolved {
                nodes.extend(self.node(i, j));
                weights.push(p);
            }
        }
        let nodes = Array2::from_shape_vec((weights.len(), 2), nodes).expect("pairs");
        GalerkinReference::new(sde, nodes, Array1::from(weights), degree)
    }

    /// Value and gradient of a field by sixth-order Lagrange interpolation.
    ///
    /// Where the density is not resolved, the nearest resolved state on the way to its maximum is
    /// used.
    fn interpolate(&self, field: &Array2<f64>, x: &[f64]) -> (f64, [f64; 2]) {
        let shape = field.dim();
        let mut shrink = 1.0;
        loop {
            let at = [0, 1].map(|i| {
                (self.mode[i] + shrink * (x[i] - self.mode[i]) - self.low[i]) / self.spacing[i]
            });
            let start = [(at[0], shape.0), (at[1], shape.1)].map(|(u, n)| {
                let first = u.floor() - 2.0;
                (first >= 0.0 && first + 6.0 <= n as f64).then_some(first as usize)
            });
            if let [Some(i0), Some(j0)] = start {
                let floor = self.resolved;
                let inside = (0..6).all(|i| (0..6).all(|j| self.density[[i0 + i, j0 + j]] > floor));
                if inside {
                    let wx = lagrange(at[0] - i0 as f64);
                    let wy = lagrange(at[1] - j0 as f64);
                    let mut out = [0.0; 3];
                    for i in 0..6 {
                        for j in 0..6 {
                            let f = field[[i0 + i, j0 + j]];
                            out[0] += wx[i].0 * wy[j].0 * f;
                            out[1] += wx[i].1 * wy[j].0 * f;
                            out[2] += wx[i].0 * wy[j].1 * f;
                        }
                    }
                    return (out[0], [out[1] / self.spacing[0], out[2] / self.spacing[1]]);
                }
            }
            shrink *= 0.99;
        }
    }
}

/// Weights of value and slope at u for the nodes 0..5.
fn lagrange(u: f64) -> [(f64, f64); 6] {
    std::array::from_fn(|k| {
        let others = (0..6).filter(|&j| j != k);
        let value: f64 = others
            .clone()
            .map(|j| (u - j as f64) / (k as f64 - j as f64))
            .product();
        let slope: f64 = others
            .clone()
            .map(|skip| {
                let rest: f64 = others
                    .clone()
                    .filter(|&j| j != skip)
                    .map(|j| (u - j as f64) / (k as f64 - j as f64))
                    .product();
                rest / (k as f64 - skip as f64)
            })
            .sum();
        (value, slope)
    })
}

/// Richardson's extrapolation of an even error expansion, on the nodes of the coarser grid.
fn extrapolate(coarse: &Array2<f64>, fine: &Array2<f64>) -> Array2<f64> {
    Array2::from_shape_fn(coarse.dim(), |(i, j)| {
        let better = fine[[2 * i, 2 * j]];
        better + (better - coarse[[i, j]]) / 3.0
    })
}

/// The finite-volume solution on one grid.
struct Level {
    density: Array2<f64>,
    /// The stream function r p at the nodes.
    stream: Array2<f64>,
}

/// Coefficients of the flux through one face in terms of the six nodes around it.
///
/// With s the direction across the face and q the one along it,
/// J_s = ½(F p)₀ + ½(F p)₁ − [(D_ss p)₁ − (D_ss p)₀]/h_s − ½[δ_q(D_sq p)₀ + δ_q(D_sq p)₁].
struct Coefficients {
    drift: [Array2<f64>; 2],
    diffusion: [[Array2<f64>; 2]; 2],
}

impl Level {
    fn solve(sde: &dyn Sde, low: [f64; 2], high: [f64; 2], cells: usize) -> Result<Self> {
        let n = cells + 1;
        let h = [0, 1].map(|i| (high[i] - low[i]) / cells as f64);
        let zero = || Array2::<f64>::zeros((n, n));
        let mut c = Coefficients {
            drift: [zero(), zero()],
            diffusion: [[zero(), zero()], [zero(), zero()]],
        };
        let mut drift = [0.0; 2];
        for i in 0..n {
            for j in 0..n {
                let x = [low[0] + h[0] * i as f64, low[1] + h[1] * j as f64];
                let diffusion = drift_and_diffusion(sde, &x, &mut drift);
                for a in 0..2 {
                    c.drift[a][[i, j]] = drift[a];
                    for b in 0..2 {
                        c.diffusion[a][b][[i, j]] = diffusion[[a, b]];
                    }
                }
            }
        }
        let mut density = c.stationary(h, n)?;
        density /= density.sum() * h[0] * h[1];
        let stream = c.stream(&density, h, n);
        Ok(Self { density, stream })
    }
}

impl Coefficients {
    /// The flux through the face between node (i, j) and its neighbour in direction s, as a sum of
    /// (node, factor).
    fn flux(&self, s: usize, i: usize, j: usize, h: [f64; 2], n: usize) -> Vec<([usize; 2], f64)> {
        let q = 1 - s;
        let near = [i, j];
        let mut far = near;
        far[s] += 1;
        let mut terms = Vec::with_capacity(6);
        for (node, sign) in [(near, 1.0), (far, -1.0)] {
            let across = 0.5 * self.drift[s][node] + sign * self.diffusion[s][s][node] / h[s];
            terms.push((node, across));
            // δ_q by a central difference; at the edge of the grid by a one-sided one.
            let mut up = node;
            let mut down = node;
            if node[q] + 1 < n {
                up[q] += 1;
            }
            if node[q] > 0 {
                down[q] -= 1;
            }
            let span = (up[q] - down[q]) as f64 * h[q];
            terms.push((up, -0.5 * self.diffusion[s][q][up] / span));
            terms.push((down, 0.5 * self.diffusion[s][q][down] / span));
        }
        terms
    }

    /// The null vector of the discrete operator, with the value 1 at the centre, by block
    /// elimination along x: every block couples two neighbouring columns of nodes.
    fn stationary(&self, h: [f64; 2], n: usize) -> Result<Array2<f64>> {
        let mut balance: Vec<[Band; 3]> = (0..n)
            .map(|_| std::array::from_fn(|_| Band::zeros((n, 3))))
            .collect();
        for s in 0..2 {
            let (ni, nj) = if s == 0 { (n - 1, n) } else { (n, n - 1) };
            for i in 0..ni {
                for j in 0..nj {
                    // The cells at the edge are half as wide along the face.
                    let along = [i, j][1 - s];
                    let width = h[1 - s]
                        * if along == 0 || along == n - 1 {
                            0.5
                        } else {
                            1.0
                        };
                    let mut far = [i, j];
                    far[s] += 1;
                    for (node, factor) in self.flux(s, i, j, h, n) {
                        for (cell, sign) in [([i, j], 1.0), (far, -1.0)] {
                            let block = node[0] + 1 - cell[0];
                            let offset = node[1] + 1 - cell[1];
                            balance[cell[0]][block][[cell[1], offset]] += sign * width * factor;
                        }
                    }
                }
            }
        }
        // One balance is redundant; it makes room for the normalisation.
        let pin = n / 2;
        for block in &mut balance[pin] {
            block.row_mut(pin).fill(0.0);
        }
        balance[pin][1][[pin, 1]] = 1.0;
        eliminate(balance, pin, n)
    }

    /// The stream function ψ = r p with J_x = −∂_y ψ, from the fluxes through the x faces; at
    /// the nodes by averaging the four corners around them.
    fn stream(&self, density: &Array2<f64>, h: [f64; 2], n: usize) -> Array2<f64> {
        // corner[i][j] is the corner above node row j − 1 and below row j, between columns i, i+1.
        let mut corner = Array2::<f64>::zeros((n - 1, n + 1));
        for i in 0..n - 1 {
            for j in 0..n {
                let flux: f64 = self
                    .flux(0, i, j, h, n)
                    .iter()
                    .map(|(node, factor)| factor * density[*node])
                    .sum();
                corner[[i, j + 1]] = corner[[i, j]] - flux * h[1];
            }
        }
        Array2::from_shape_fn((n, n), |(i, j)| {
            if i == 0 || i == n - 1 {
                return 0.0;
            }
            0.25 * (corner[[i - 1, j]]
                + corner[[i - 1, j + 1]]
                + corner[[i, j]]
                + corner[[i, j + 1]])
        })
    }
}

/// A tridiagonal block: entry (j, b) acts from node j + b − 1 on node j. The balances of a column
/// of nodes are three such blocks, for the column before, the column itself and the one after.
type Band = Array2<f64>;

/// Band · X.
fn band_product(band: &Band, x: &Array2<f64>) -> Array2<f64> {
    let n = x.nrows();
    let mut out = Array2::zeros(x.dim());
    for j in 0..n {
        for b in 0..3 {
            let factor = band[[j, b]];
            if factor != 0.0 {
                out.row_mut(j).scaled_add(factor, &x.row(j + b - 1));
            }
        }
    }
    out
}

/// The block as a full matrix.
fn dense(band: &Band) -> Array2<f64> {
    let n = band.nrows();
    let mut out = Array2::zeros((n, n));
    for ((j, b), &value) in band.indexed_iter() {
        if value != 0.0 {
            out[[j, j + b - 1]] = value;
        }
    }
    out
}

/// Solve the block-tridiagonal system whose right-hand side is 1 at node (pin, pin), 0 elsewhere.
fn eliminate(balance: Vec<[Band; 3]>, pin: usize, n: usize) -> Result<Array2<f64>> {
    // Column i is g_i − X_i p_{i+1} once the columns before it are eliminated; the right-hand
    // side travels as one more column of X.
    let mut carried: Vec<Array2<f64>> = Vec::with_capacity(n);
    for (i, [left, middle, right]) in balance.into_iter().enumerate() {
        let mut middle = dense(&middle);
        let mut rhs = Array2::zeros((n, n + 1));
        rhs.slice_mut(s![.., ..n]).assign(&dense(&right));
        if i == pin {
            rhs[[pin, n]] = 1.0;
        }
        if let Some(before) = carried.last() {
            let coupled = band_product(&left, before);
            middle -= &coupled.slice(s![.., ..n]);
            rhs.column_mut(n).scaled_add(-1.0, &coupled.column(n));
        }
        let solution = linalg::solve(middle.view(), rhs.view());
        if solution.iter().any(|v| !v.is_finite()) {
            return Err(Error::numerical(
                "the stationary equation is singular on this grid; is the noise degenerate?",
            ));
        }
        carried.push(solution);
    }
    let mut density = Array2::zeros((n, n));
    let mut next = Array1::zeros(n);
    for (i, solution) in carried.into_iter().enumerate().rev() {
        next = &solution.column(n) - &solution.slice(s![.., ..n]).dot(&next);
        density.row_mut(i).assign(&next);
    }
    Ok(density)
}
