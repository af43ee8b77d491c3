//! How the outputs of a network make up a mobility whose symmetric part is positive.

use ndarray::{Array2, ArrayView2};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result, require_positive};
use crate::linalg;

/// M = L Lᵀ + ε diag Φ + R, a matrix of c rows (`eq:app_affine_2d_D_parameterization`,
/// `eq:app_affine_2d_R_parameterization`).
///
/// L is lower triangular, L_ii = L⁰_ii softplus(y + y⁰) with softplus(y⁰) = 1 and
/// L_ij = L⁰_ij + √Φ_ii y; R is antisymmetric, R_ij = R⁰_ij + ρ √(Φ_ii Φ_jj) y for i > j. With y = 0, M = Φ. Entries
/// that a mask leaves out are zero, in L and in R.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct TensorMap {
    size: usize,
    /// Φ.
    phi: Array2<f64>,
    /// ε.
    floor: f64,
    /// An output for each entry of L, then one for each of R below the diagonal.
    lower: Vec<Entry>,
    skew: Vec<Entry>,
    /// L_ik L_jk in D_ij: i ≥ j, then the places of the two factors in `lower`.
    products: Vec<(usize, usize, usize, usize)>,
}

/// Entry (row, column) is start + unit · y, or start · softplus on the diagonal of L.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Entry {
    row: usize,
    column: usize,
    start: f64,
    unit: f64,
}

/// ln(e − 1): softplus(y⁰) = 1.
const ONE: f64 = 0.541_324_854_612_918_1;

/// softplus(y + y⁰) and its derivative.
fn softplus(y: f64) -> (f64, f64) {
    let t = y + ONE;
    let small = (-t.abs()).exp();
    let sigmoid = if t >= 0.0 { 1.0 } else { small } / (1.0 + small);
    (t.max(0.0) + small.ln_1p(), sigmoid)
}

impl TensorMap {
    /// Around Φ; `mask` selects the entries of M, all by default; `skew` is ρ.
    pub(super) fn new(
        phi: ArrayView2<f64>,
        mask: Option<&[bool]>,
        floor: f64,
        skew: f64,
    ) -> Result<Self> {
        let size = phi.nrows();
        let allowed = |i: usize, j: usize| mask.is_none_or(|mask| mask[i * size + j]);
        check_mask(size, mask, &allowed)?;
        let phi =
            Array2::from_shape_fn(
                (size, size),
                |(i, j)| {
                    if allowed(i, j) { phi[[i, j]] } else { 0.0 }
                },
            );
        if !(0.0..0.1).contains(&floor) {
            return Err(Error::input(format!(
                "the floor of the diffusion must be a small fraction of its mean, not {floor}"
            )));
        }
        require_positive("the unit of the antisymmetric part", skew)?;
        let mut above_floor = linalg::symmetric_part(phi.view());
        above_floor.diag_mut().map_inplace(|d| *d *= 1.0 - floor);
        let factor = linalg::cholesky(above_floor.view()).map_err(|_| {
            Error::input(
                "the symmetric part of the constant mobility must be positive definite by more than \
                 the floor; repair it first (ConstantMobility::repaired)",
            )
        })?;
        let below = |diagonal: bool| {
            let rows =
                (0..size).flat_map(move |i| (0..i + usize::from(diagonal)).map(move |j| (i, j)));
            rows.filter(|&(i, j)| allowed(i, j))
        };
        let lower: Vec<Entry> = below(true)
            .map(|(row, column)| Entry {
                row,
                column,
                start: factor[[row, column]],
                unit: phi[[row, row]].sqrt(),
            })
            .collect();
        let circulation = below(false)
            .map(|(row, column)| Entry {
                row,
                column,
                start: 0.5 * (phi[[row, column]] - phi[[column, row]]),
                unit: skew * (phi[[row, row]] * phi[[column, column]]).sqrt(),
            })
            .collect();
        let mut products = Vec::new();
        for (a, left) in lower.iter().enumerate() {
            for (b, right) in lower.iter().enumerate().take(a + 1) {
                if left.column == right.column {
                    products.push((left.row, right.row, a, b));
                }
            }
        }
        Ok(Self {
            size,
            phi,
            floor,
            lower,
            skew: circulation,
            products,
        })
    }

    /// True for a map to matrices of `size` rows whose entries and products lie in range.
    pub(super) fn is_sound(&self, size: usize) -> bool {
        let entries = || self.lower.iter().chain(&self.skew);
        let within = |(i, j, a, b): &(usize, usize, usize, usize)| {
            i.max(j) < &size && a.max(b) < &self.lower.len()
        };
        self.size == size
            && self.phi.dim() == (size, size)
            && entries().all(|entry| entry.row.max(entry.column) < size)
            && self.products.iter().all(within)
    }

    /// Number c of rows of M.
    pub(super) fn size(&self) -> usize {
        self.size
    }

    /// Φ.
    pub(super) fn phi(&self) -> ArrayView2<'_, f64> {
        self.phi.view()
    }

    /// Numbers that a network gives for one matrix.
    pub(super) fn outputs(&self) -> usize {
        self.lower.len() + self.skew.len()
    }

    /// L and ∂L/∂y, each (entry, n).
    fn factor(&self, y: &[f32], n: usize) -> (Vec<f64>, Vec<f64>) {
        let (mut l, mut slope) = (
            vec![0.0; self.lower.len() * n],
            vec![0.0; self.lower.len() * n],
        );
        for (k, entry) in self.lower.iter().enumerate() {
            let at = k * n..(k + 1) * n;
            let out = l[at.clone()].iter_mut().zip(&mut slope[at.clone()]);
            for ((l, slope), y) in out.zip(&y[at]) {
                let y = f64::from(*y);
                (*l, *slope) = if entry.row == entry.column {
                    let (value, derivative) = softplus(y);
                    (entry.start * value, entry.start * derivative)
                } else {
                    (entry.start + entry.unit * y, entry.unit)
                };
            }
        }
        (l, slope)
    }

    /// M, (c·c, n), of outputs `y`, (outputs, n).
    pub(super) fn values(&self, y: &[f32], out: &mut [f64]) {
        let (c, n) = (self.size, y.len() / self.outputs());
        let (l, _) = self.factor(y, n);
        out.fill(0.0);
        for i in 0..c {
            let floor = self.floor * self.phi[[i, i]];
            out[(i * c + i) * n..][..n].fill(floor);
        }
        for &(i, j, a, b) in &self.products {
            let factors = l[a * n..][..n].iter().zip(&l[b * n..][..n]);
            let out = &mut out[(i * c + j) * n..][..n];
            out.iter_mut()
                .zip(factors)
                .for_each(|(out, (a, b))| *out += a * b);
        }
        self.mirror(out, n);
        for (k, entry) in self.skew.iter().enumerate() {
            let y = &y[(self.lower.len() + k) * n..][..n];
            self.add_skew(entry, y, entry.start, out, n);
        }
    }

    /// The derivative of M, (c·c, n), along `dy`, (outputs, n).
    pub(super) fn tangents(&self, y: &[f32], dy: &[f32], out: &mut [f64]) {
        let (c, n) = (self.size, y.len() / self.outputs());
        let (l, mut dl) = self.factor(y, n);
        dl.iter_mut()
            .zip(dy)
            .for_each(|(dl, dy)| *dl *= f64::from(*dy));
        out.fill(0.0);
        for &(i, j, a, b) in &self.products {
            let out = &mut out[(i * c + j) * n..][..n];
            for (s, out) in out.iter_mut().enumerate() {
                *out += dl[a * n + s] * l[b * n + s] + l[a * n + s] * dl[b * n + s];
            }
        }
        self.mirror(out, n);
        for (k, entry) in self.skew.iter().enumerate() {
            let dy = &dy[(self.lower.len() + k) * n..][..n];
            self.add_skew(entry, dy, 0.0, out, n);
        }
    }

    /// ∂L/∂y, (outputs, n), from ∂L/∂M, (c·c, n).
    pub(super) fn pull_back(&self, y: &[f32], m_bar: &[f64], y_bar: &mut [f32]) {
        let (c, n) = (self.size, y.len() / self.outputs());
        let (l, slope) = self.factor(y, n);
        let mut l_bar = vec![0.0; l.len()];
        for &(i, j, a, b) in &self.products {
            for s in 0..n {
                let mut weight = m_bar[(i * c + j) * n + s];
                if i != j {
                    weight += m_bar[(j * c + i) * n + s];
                }
                l_bar[a * n + s] += weight * l[b * n + s];
                l_bar[b * n + s] += weight * l[a * n + s];
            }
        }
        let (lower, skew) = y_bar.split_at_mut(l.len());
        for (y_bar, (l_bar, slope)) in lower.iter_mut().zip(l_bar.iter().zip(&slope)) {
            *y_bar = (l_bar * slope) as f32;
        }
        for (entry, y_bar) in self.skew.iter().zip(skew.chunks_exact_mut(n.max(1))) {
            let (i, j) = (entry.row, entry.column);
            for (s, y_bar) in y_bar.iter_mut().enumerate() {
                let difference = m_bar[(i * c + j) * n + s] - m_bar[(j * c + i) * n + s];
                *y_bar = (entry.unit * difference) as f32;
            }
        }
    }

    /// Copy the entries below the diagonal above it.
    fn mirror(&self, out: &mut [f64], n: usize) {
        let c = self.size;
        for i in 0..c {
            for j in 0..i {
                out.copy_within((i * c + j) * n..(i * c + j + 1) * n, (j * c + i) * n);
            }
        }
    }

    /// Add start + unit · y below the diagonal, and its negative above.
    fn add_skew(&self, entry: &Entry, y: &[f32], start: f64, out: &mut [f64], n: usize) {
        let (i, j) = (entry.row, entry.column);
        for (s, y) in y.iter().enumerate() {
            let r = start + entry.unit * f64::from(*y);
            out[(i * self.size + j) * n + s] += r;
            out[(j * self.size + i) * n + s] -= r;
        }
    }
}

/// A mask is symmetric, holds the diagonal, and L Lᵀ fills no entry that it leaves out.
fn check_mask(
    size: usize,
    mask: Option<&[bool]>,
    allowed: &dyn Fn(usize, usize) -> bool,
) -> Result<()> {
    let Some(mask) = mask else { return Ok(()) };
    if mask.len() != size * size {
        return Err(Error::input(format!(
            "the mask of a {size} by {size} mobility has {} entries, not {}",
            size * size,
            mask.len()
        )));
    }
    for i in 0..size {
        for j in 0..i {
            let fills = (0..=j).any(|k| allowed(i, k) && allowed(j, k));
            if allowed(i, j) != allowed(j, i) || (!allowed(i, j) && fills) {
                return Err(Error::input(format!(
                    "the mask cannot exclude entry ({i}, {j}) alone: the mask must be symmetric, and \
                     two coordinates coupled to the same earlier one must be coupled to each other; \
                     allow the entry or reorder the coordinates"
                )));
            }
        }
        if !allowed(i, i) {
            return Err(Error::input(format!(
                "the mask excludes the diagonal entry {i}; the diffusion must be positive, so allow it"
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    fn map(mask: Option<&[bool]>) -> TensorMap {
        let phi = array![[0.5, 0.3, 0.0], [-0.1, 0.4, 0.05], [0.1, 0.0, 0.3]];
        TensorMap::new(phi.view(), mask, 1e-3, 1.5).unwrap()
    }

    fn outputs(count: usize, n: usize) -> Vec<f32> {
        (0..count * n).map(|k| (1.7 * k as f32).sin()).collect()
    }

    #[test]
    fn it_starts_at_the_constant_mobility() {
        let map = map(None);
        assert_eq!(map.outputs(), 9);
        let mut m = vec![0.0; 9];
        map.values(&[0.0; 9], &mut m);
        for (m, phi) in m.iter().zip(map.phi()) {
            assert!((m - phi).abs() < 1e-15, "{m} and {phi}");
        }
    }

    #[test]
    fn tangents_and_pull_back_agree_with_differences() {
        let (map, n) = (map(None), 5);
        let (y, dy) = (outputs(9, n), outputs(18, n)[9 * n..].to_vec());
        let at = |step: f64| {
            let moved: Vec<f32> = y
                .iter()
                .zip(&dy)
                .map(|(y, dy)| y + step as f32 * dy)
                .collect();
            let mut m = vec![0.0; 9 * n];
            map.values(&moved, &mut m);
            m
        };
        let step = 1.0 / 256.0;
        let (above, below) = (at(step), at(-step));
        let mut tangents = vec![0.0; 9 * n];
        map.tangents(&y, &dy, &mut tangents);
        for (t, (a, b)) in tangents.iter().zip(above.iter().zip(&below)) {
            assert!((t - (a - b) / (2.0 * step)).abs() < 2e-5, "{t}");
        }
        // ⟨M̄, dM⟩ = ⟨ȳ, dy⟩.
        let m_bar: Vec<f64> = (0..9 * n).map(|k| (0.7 * k as f64).cos()).collect();
        let mut y_bar = vec![0.0; 9 * n];
        map.pull_back(&y, &m_bar, &mut y_bar);
        let forwards: f64 = m_bar.iter().zip(&tangents).map(|(a, b)| a * b).sum();
        let backwards: f64 = y_bar.iter().zip(&dy).map(|(a, b)| f64::from(a * b)).sum();
        assert!(
            (forwards - backwards).abs() < 1e-5,
            "{forwards} and {backwards}"
        );
    }

    #[test]
    fn masks_keep_entries_at_zero_or_are_refused() {
        let blocks = [true, true, false, true, true, false, false, false, true];
        let map = map(Some(&blocks));
        assert_eq!(map.outputs(), 5);
        let mut m = vec![0.0; 9 * 4];
        map.values(&outputs(5, 4), &mut m);
        for (entry, row) in m.chunks_exact(4).enumerate() {
            assert_eq!(row.iter().any(|m| *m != 0.0), blocks[entry]);
        }
        let arrow = [true, true, true, true, true, false, true, false, true];
        let refused = TensorMap::new(Array2::eye(3).view(), Some(&arrow), 0.0, 1.0).unwrap_err();
        assert!(refused.to_string().contains("(2, 1)"), "{refused}");
    }
}
