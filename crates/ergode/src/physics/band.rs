//! Linear equations with a band matrix.

/// A square matrix whose entries vanish further than `width` from the diagonal, with room for what pivoting fills
/// in.
pub(super) struct BandMatrix {
    size: usize,
    width: usize,
    /// Row i holds the columns i − width to i + 2 width.
    rows: Vec<f64>,
}

impl BandMatrix {
    pub(super) fn zeros(size: usize, width: usize) -> Self {
        Self {
            size,
            width,
            rows: vec![0.0; size * (3 * width + 1)],
        }
    }

    fn stride(&self) -> usize {
        3 * self.width + 1
    }

    /// Place of an entry of the band.
    fn at(&self, i: usize, j: usize) -> usize {
        i * self.stride() + j + self.width - i
    }

    pub(super) fn add(&mut self, i: usize, j: usize, value: f64) {
        let at = self.at(i, j);
        self.rows[at] += value;
    }

    /// Replace row i by that of the identity.
    pub(super) fn fix(&mut self, i: usize) {
        let stride = self.stride();
        self.rows[i * stride..(i + 1) * stride].fill(0.0);
        let at = self.at(i, i);
        self.rows[at] = 1.0;
    }

    /// The solutions for several right sides, in their place, by elimination with row pivots; false where the
    /// matrix is singular.
    pub(super) fn solve(mut self, sides: &mut [Vec<f64>]) -> bool {
        let (n, width) = (self.size, self.width);
        for k in 0..n {
            let last = (k + width).min(n - 1);
            let size = |i: &usize| self.rows[self.at(*i, k)].abs();
            let pivot = (k..=last).max_by(|a, b| size(a).total_cmp(&size(b)));
            let pivot = pivot.expect("a row");
            let largest = size(&pivot);
            if largest.is_nan() || largest == 0.0 {
                return false;
            }
            let reach = (k + 2 * width).min(n - 1);
            if pivot != k {
                for j in k..=reach {
                    let (a, b) = (self.at(k, j), self.at(pivot, j));
                    self.rows.swap(a, b);
                }
                sides.iter_mut().for_each(|side| side.swap(k, pivot));
            }
            let first = self.at(k, k);
            let (above, below) = self.rows.split_at_mut((k + 1) * (3 * width + 1));
            let row = &above[first..=first + reach - k];
            for i in k + 1..=last {
                // Row i begins at column i − width.
                let start = (i - k - 1) * (3 * width + 1) + k + width - i;
                let other = &mut below[start..=start + reach - k];
                let factor = other[0] / row[0];
                if factor == 0.0 {
                    continue;
                }
                other
                    .iter_mut()
                    .zip(row)
                    .for_each(|(o, r)| *o -= factor * r);
                sides
                    .iter_mut()
                    .for_each(|side| side[i] -= factor * side[k]);
            }
        }
        for side in sides {
            for i in (0..n).rev() {
                let reach = (i + 2 * width).min(n - 1);
                let rest: f64 = (i + 1..=reach)
                    .map(|j| self.rows[self.at(i, j)] * side[j])
                    .sum();
                side[i] = (side[i] - rest) / self.rows[self.at(i, i)];
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::BandMatrix;
    use crate::random::{Purpose, Stream};

    #[test]
    fn solutions_are_those_of_dense_elimination() {
        let (n, width) = (40, 3);
        let mut stream = Stream::new(1, Purpose::Analysis, 0);
        let (mut band, mut dense) = (BandMatrix::zeros(n, width), Array2::zeros((n, n)));
        for i in 0..n {
            for j in i.saturating_sub(width)..(i + width + 1).min(n) {
                // Small diagonals, so that pivots are needed.
                let value = stream.normal() * if i == j { 0.01 } else { 1.0 };
                band.add(i, j, value);
                dense[[i, j]] = value;
            }
        }
        let side: Vec<f64> = (0..n).map(|_| stream.normal()).collect();
        let mut sides = [side.clone()];
        assert!(band.solve(&mut sides));
        let right = Array2::from_shape_vec((n, 1), side).unwrap();
        let exact = crate::linalg::solve(dense.view(), right.view());
        for (found, exact) in sides[0].iter().zip(exact.column(0)) {
            assert!((found - exact).abs() < 1e-8 * exact.abs().max(1.0));
        }
        assert!(!BandMatrix::zeros(3, 1).solve(&mut [vec![1.0; 3]]));
    }
}
