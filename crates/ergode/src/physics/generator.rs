//! The generator of a model of one or two coordinates on a grid of finite elements.

use super::band::BandMatrix;
use super::landscape::{Landscape, axes, tile_of};
use super::region::Region;
use crate::error::{Error, Result};
use crate::model::LangevinModel;

/// L f = b·∇f + D:∇∇f in linear (bilinear) elements on a rectangular grid, in its weak form under p = exp(−U),
///
/// ⟨ψ L f⟩ = −⟨∇ψ · D ∇f⟩ + ⟨ψ v·∇f⟩,  v = b − ∇·D + D ∇U.
///
/// U is interpolated between the nodes, so that the two sides agree for any U. No current leaves through the edge
/// of the grid, which lies beyond the samples, where the model pulls back.
pub(super) struct GridGenerator<'a> {
    model: &'a LangevinModel,
    axes: Vec<Vec<f64>>,
    /// U at the nodes.
    potential: Vec<f64>,
    /// The nodes, a tile.
    pub(super) nodes: Vec<f64>,
}

/// How far the grid reaches beyond the support, in standard deviations.
const MARGIN: f64 = 0.75;

/// Nodes of an axis that are nearer than this part of the spacing to the edge of a set give way to it.
const NEAR: f64 = 0.4;

/// Gauss nodes and weights on [0, 1].
const GAUSS: [(f64, f64); 2] = [
    (0.211_324_865_405_187_1, 0.5),
    (0.788_675_134_594_812_9, 0.5),
];

impl<'a> GridGenerator<'a> {
    /// The generator on a grid of `nodes` per axis, with nodes at the edges of the regions.
    pub(super) fn new(model: &'a LangevinModel, nodes: usize, regions: &[&Region]) -> Self {
        let mut axes = axes(model, MARGIN, nodes);
        for (i, axis) in axes.iter_mut().enumerate() {
            for edge in regions.iter().flat_map(|region| region.edges(i)) {
                insert(axis, edge);
            }
        }
        let nodes = tile_of(&axes);
        let mut potential = vec![0.0; nodes.len() / model.dim()];
        Landscape::up_to_a_constant(model).relative(&nodes, &mut potential);
        Self {
            model,
            axes,
            potential,
            nodes,
        }
    }

    /// Number of nodes.
    pub(super) fn len(&self) -> usize {
        self.potential.len()
    }

    /// A node.
    pub(super) fn node(&self, k: usize) -> Vec<f64> {
        let n = self.len();
        (0..self.model.dim())
            .map(|i| self.nodes[i * n + k])
            .collect()
    }

    /// The nodes in a region.
    pub(super) fn within(&self, region: &Region) -> Vec<bool> {
        (0..self.len())
            .map(|k| region.contains(&self.node(k)))
            .collect()
    }

    /// p at the nodes times the volume of each, up to a factor.
    pub(super) fn weights(&self) -> Vec<f64> {
        let least = self.potential.iter().fold(f64::INFINITY, |m, u| m.min(*u));
        let mut inner = self.len();
        let mut weights: Vec<f64> = self.potential.iter().map(|u| (least - u).exp()).collect();
        for axis in &self.axes {
            inner /= axis.len();
            for (k, weight) in weights.iter_mut().enumerate() {
                let at = k / inner % axis.len();
                *weight *= axis[(at + 1).min(axis.len() - 1)] - axis[at.saturating_sub(1)];
            }
        }
        weights
    }

    /// f with L f = −`source` where `fixed` says nothing, and f as `fixed` says elsewhere.
    ///
    /// # Errors
    /// When the equations have no solution, as where no node is fixed.
    pub(super) fn solve(&self, source: f64, fixed: &[Option<f64>]) -> Result<Vec<f64>> {
        let (mut matrix, mut side) = self.assemble(source);
        for (k, value) in fixed.iter().enumerate() {
            if let Some(value) = value {
                matrix.fix(k);
                side[k] = *value;
            }
        }
        let mut sides = [side];
        let solved = fixed.iter().any(Option::is_some) && matrix.solve(&mut sides);
        let [found] = sides;
        match solved && found.iter().all(|f| f.is_finite()) {
            true => Ok(found),
            false => Err(Error::numerical(
                "the equation on the grid has no solution; the sets may lie outside the samples",
            )),
        }
    }

    /// The matrix of −⟨ψ_a L ψ_b⟩ and the side `source` ⟨ψ_a⟩, row a in units of p at node a.
    fn assemble(&self, source: f64) -> (BandMatrix, Vec<f64>) {
        let inner = match self.axes.as_slice() {
            [_, second] => second.len(),
            _ => 1,
        };
        let width = if self.axes.len() == 2 { inner + 1 } else { 1 };
        let mut matrix = BandMatrix::zeros(self.len(), width);
        let mut side = vec![0.0; self.len()];
        let points = self.points(inner);
        let fields = self.fields(&points);
        let dim = self.axes.len();
        for (q, point) in points.iter().enumerate() {
            let at = |row: usize| fields[row * points.len() + q];
            // v = b − ∇·D + D ∇U.
            let mut slope = [0.0; 2];
            let mut u = 0.0;
            for corner in &point.corners {
                let value = self.potential[corner.node];
                u += corner.value * value;
                (0..dim).for_each(|i| slope[i] += corner.gradient[i] * value);
            }
            let diffusion = |i: usize, j: usize| at(2 * dim + i * dim + j);
            let velocity: Vec<f64> = (0..dim)
                .map(|i| {
                    let pull: f64 = (0..dim).map(|j| diffusion(i, j) * slope[j]).sum();
                    at(i) - at(dim + i) + pull
                })
                .collect();
            for a in &point.corners {
                let weight = point.weight * (self.potential[a.node] - u).exp();
                side[a.node] += weight * source * a.value;
                for b in &point.corners {
                    let mut entry = 0.0;
                    for i in 0..dim {
                        let flux: f64 = (0..dim).map(|j| diffusion(i, j) * b.gradient[j]).sum();
                        entry += a.gradient[i] * flux - a.value * velocity[i] * b.gradient[i];
                    }
                    matrix.add(a.node, b.node, weight * entry);
                }
            }
        }
        (matrix, side)
    }

    /// b, ∇·D and D at the points of the quadrature, (D + D + D², point).
    fn fields(&self, points: &[Point]) -> Vec<f64> {
        let (dim, n) = (self.axes.len(), points.len());
        let mut tile = vec![0.0; dim * n];
        for (q, point) in points.iter().enumerate() {
            for i in 0..dim {
                tile[i * n + q] = point.state[i];
            }
        }
        let mut fields = vec![0.0; (2 * dim + dim * dim) * n];
        let (drift, rest) = fields.split_at_mut(dim * n);
        let (divergence, diffusion) = rest.split_at_mut(dim * n);
        self.model.drift(&tile, drift);
        self.model.diffusion(&tile, diffusion);
        let mobility = self.model.mobility();
        let mut across = vec![0.0; dim * n];
        mobility.div_mobility(&tile, divergence);
        mobility.div_transpose(&tile, &mut across);
        for (along, across) in divergence.iter_mut().zip(&across) {
            *along = 0.5 * (*along + across);
        }
        fields
    }

    /// The points of the quadrature, with the functions of their element there.
    fn points(&self, inner: usize) -> Vec<Point> {
        let cells = |axis: &[f64]| axis.len() - 1;
        let along = |axis: &[f64], cell: usize, u: f64| {
            let (low, step) = (axis[cell], axis[cell + 1] - axis[cell]);
            // State, the two functions, their slopes, the length.
            (
                low + u * step,
                [1.0 - u, u],
                [-1.0 / step, 1.0 / step],
                step,
            )
        };
        let mut points = Vec::new();
        let first = &self.axes[0];
        for cell in 0..cells(first) {
            for (u, w) in GAUSS {
                let (x, f, df, step) = along(first, cell, u);
                let Some(second) = self.axes.get(1) else {
                    let corner = |k: usize| Corner {
                        node: cell + k,
                        value: f[k],
                        gradient: [df[k], 0.0],
                    };
                    points.push(Point {
                        state: [x, 0.0],
                        weight: w * step,
                        corners: vec![corner(0), corner(1)],
                    });
                    continue;
                };
                for other in 0..cells(second) {
                    for (t, wt) in GAUSS {
                        let (y, g, dg, height) = along(second, other, t);
                        let corner = |k: usize| {
                            let (i, j) = (k / 2, k % 2);
                            Corner {
                                node: (cell + i) * inner + other + j,
                                value: f[i] * g[j],
                                gradient: [df[i] * g[j], f[i] * dg[j]],
                            }
                        };
                        points.push(Point {
                            state: [x, y],
                            weight: w * wt * step * height,
                            corners: (0..4).map(corner).collect(),
                        });
                    }
                }
            }
        }
        points
    }

    /// A function on the nodes at any state, by linear interpolation; that of the nearest node outside the grid.
    pub(super) fn interpolate(&self, values: &[f64], x: &[f64]) -> f64 {
        let place = |i: usize| {
            let axis = &self.axes[i];
            let k = axis
                .partition_point(|a| *a <= x[i])
                .clamp(1, axis.len() - 1)
                - 1;
            let u = (x[i] - axis[k]) / (axis[k + 1] - axis[k]);
            (k, u.clamp(0.0, 1.0))
        };
        let (k, u) = place(0);
        match self.axes.get(1) {
            None => (1.0 - u) * values[k] + u * values[k + 1],
            Some(second) => {
                let (l, t) = place(1);
                let row = |k: usize| {
                    let at = k * second.len() + l;
                    (1.0 - t) * values[at] + t * values[at + 1]
                };
                (1.0 - u) * row(k) + u * row(k + 1)
            }
        }
    }
}

/// A point of the quadrature.
struct Point {
    state: [f64; 2],
    weight: f64,
    corners: Vec<Corner>,
}

/// A node of an element, with its function and gradient at a point.
struct Corner {
    node: usize,
    value: f64,
    gradient: [f64; 2],
}

/// Add a node to an axis in place of those that are too near; nothing outside the axis.
fn insert(axis: &mut Vec<f64>, edge: f64) {
    let (first, last) = (axis[0], axis[axis.len() - 1]);
    let spacing = (last - first) / (axis.len() - 1) as f64;
    if edge <= first + NEAR * spacing || edge >= last - NEAR * spacing {
        return;
    }
    axis.retain(|node| {
        let end = *node == first || *node == last;
        end || (node - edge).abs() > NEAR * spacing
    });
    let place = axis.partition_point(|node| *node < edge);
    axis.insert(place, edge);
}
