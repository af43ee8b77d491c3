//! Matrix products of the network, in single precision, on one core.
//!
//! Matrices hold one row per state, and a row begins on a cache line. All products of a layer then
//! have the same form: numbers of one matrix, broadcast, times vectors along the rows of another.

use pulp::{Arch, Simd, WithSimd};

/// Numbers in a cache line; rows are computed in whole lines, zeros beyond the width.
const LINE: usize = 16;

/// Columns that are computed for a matrix of this width.
pub(super) fn columns(width: usize) -> usize {
    width.next_multiple_of(LINE)
}

/// Numbers from one row to the next: an odd number of lines, so that a few columns of many rows do
/// not all fall into the same sets of the cache.
pub(super) fn stride(width: usize) -> usize {
    (width.div_ceil(LINE) | 1) * LINE
}

/// Rows of a block of the result kept in registers, if there are 32 registers and otherwise.
const TALL: usize = 12;
const SHORT: usize = 4;

/// Terms of a sum taken at a time, so that a panel of them stays in the first-level cache.
const DEPTH: usize = 128;

/// Vectors in a row of a full block: block and operands fill the registers.
const fn panel_vectors<S: Simd>() -> usize {
    if S::REGISTER_COUNT >= 32 { 2 } else { 3 }
}

/// The sizes of the panels that `columns` columns are cut into, with the column each begins at.
fn panels<S: Simd>(columns: usize) -> impl Iterator<Item = (usize, usize)> {
    let width = panel_vectors::<S>() * S::F32_LANES;
    (0..columns)
        .step_by(width)
        .map(move |start| (start, width.min(columns - start)))
}

/// The source of the right-hand matrix of a product.
#[derive(Clone, Copy)]
pub(super) enum Source {
    /// The rows of the matrix.
    Rows,
    /// Its columns.
    Columns,
}

/// Writes the right-hand matrix of a product, of shape (depth, width), panel by panel in the order in
/// which [`multiply`] reads it; `packed` holds depth × columns(width).
pub(super) fn pack(
    arch: Arch,
    source: Source,
    matrix: &[f32],
    depth: usize,
    width: usize,
    packed: &mut [f32],
) {
    assert_eq!(matrix.len(), depth * width);
    assert_eq!(packed.len(), depth * columns(width));
    arch.dispatch(Pack {
        source,
        matrix,
        depth,
        width,
        packed,
    });
}

struct Pack<'a> {
    source: Source,
    matrix: &'a [f32],
    depth: usize,
    width: usize,
    packed: &'a mut [f32],
}

impl WithSimd for Pack<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        for (start, size) in panels::<S>(columns(self.width)) {
            let panel = &mut self.packed[start * self.depth..][..size * self.depth];
            let used = size.min(self.width.saturating_sub(start));
            if used < size {
                panel.fill(0.0);
            }
            if used == 0 {
                continue;
            }
            match self.source {
                Source::Rows => {
                    let rows = self.matrix.chunks_exact(self.width);
                    for (row, target) in rows.zip(panel.chunks_exact_mut(size)) {
                        target[..used].copy_from_slice(&row[start..start + used]);
                    }
                }
                Source::Columns => {
                    let columns = self.matrix[start * self.depth..].chunks_exact(self.depth);
                    for (j, column) in columns.take(used).enumerate() {
                        for (row, &value) in panel.chunks_exact_mut(size).zip(column) {
                            row[j] = value;
                        }
                    }
                }
            }
        }
    }
}

/// A matrix with one row per state, [`stride`] apart.
#[derive(Clone, Copy)]
pub(super) struct Rows<'a> {
    pub(super) data: &'a [f32],
    pub(super) width: usize,
}

impl Rows<'_> {
    fn stride(&self) -> usize {
        stride(self.width)
    }
}

/// C = A B for `rows` rows of A, with B as [`pack`] wrote it and C of `width` columns.
pub(super) fn multiply(
    arch: Arch,
    rows: usize,
    a: Rows,
    packed: &[f32],
    width: usize,
    c: &mut [f32],
) {
    assert!(a.data.len() >= rows * a.stride());
    assert!(packed.len() >= a.width * columns(width));
    assert!(c.len() >= rows * stride(width));
    arch.dispatch(Multiply {
        rows,
        a,
        packed,
        width,
        c,
    });
}

struct Multiply<'a> {
    rows: usize,
    a: Rows<'a>,
    packed: &'a [f32],
    width: usize,
    c: &'a mut [f32],
}

impl WithSimd for Multiply<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let (a_stride, c_stride) = (self.a.stride(), stride(self.width));
        let depth = self.a.width;
        for first in (0..depth).step_by(DEPTH) {
            let terms = DEPTH.min(depth - first);
            for (start, size) in panels::<S>(columns(self.width)) {
                // SAFETY: `multiply` checked the lengths: rows × a_stride, depth × columns,
                // rows × c_stride; first + terms ≤ depth and start + size ≤ columns.
                unsafe {
                    let a = self.a.data.as_ptr().add(first);
                    let b = self.packed.as_ptr().add(start * depth + first * size);
                    let c = self.c.as_mut_ptr().add(start);
                    let product = Panel {
                        rows: self.rows,
                        depth: terms,
                        a,
                        a_row: a_stride,
                        a_depth: 1,
                        b,
                        b_depth: size,
                        c,
                        c_row: c_stride,
                        add: first > 0,
                    };
                    product.run(simd, size);
                }
            }
        }
    }
}

/// C = Pᵀ Q, or C += Pᵀ Q with `add`, summed over `rows` rows of both; C has a row for each column
/// of P.
pub(super) fn outer(arch: Arch, rows: usize, p: Rows, q: Rows, add: bool, c: &mut [f32]) {
    assert!(p.data.len() >= rows * p.stride());
    assert!(q.data.len() >= rows * q.stride());
    assert!(c.len() >= p.width * columns(q.width));
    arch.dispatch(Outer { rows, p, q, add, c });
}

struct Outer<'a> {
    rows: usize,
    p: Rows<'a>,
    q: Rows<'a>,
    add: bool,
    c: &'a mut [f32],
}

impl WithSimd for Outer<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let width = columns(self.q.width);
        for first in (0..self.rows).step_by(DEPTH) {
            for (start, size) in panels::<S>(width) {
                // SAFETY: `outer` checked the lengths: rows × strides, P's width × columns.
                unsafe {
                    let product = Panel {
                        rows: self.p.width,
                        depth: DEPTH.min(self.rows - first),
                        a: self.p.data.as_ptr().add(first * self.p.stride()),
                        a_row: 1,
                        a_depth: self.p.stride(),
                        b: self.q.data.as_ptr().add(first * self.q.stride() + start),
                        b_depth: self.q.stride(),
                        c: self.c.as_mut_ptr().add(start),
                        c_row: width,
                        add: self.add || first > 0,
                    };
                    product.run(simd, size);
                }
            }
        }
    }
}

/// The sum of the first `rows` rows of A, written to `sum` or added to it.
pub(super) fn sum_rows(arch: Arch, rows: usize, a: Rows, add: bool, sum: &mut [f32]) {
    arch.dispatch(SumRows { rows, a, add, sum });
}

struct SumRows<'a> {
    rows: usize,
    a: Rows<'a>,
    add: bool,
    sum: &'a mut [f32],
}

impl WithSimd for SumRows<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        if !self.add {
            self.sum.fill(0.0);
        }
        let (sums, _) = S::as_mut_simd_f32s(self.sum);
        for row in self.a.data.chunks_exact(self.a.stride()).take(self.rows) {
            let (values, _) = S::as_simd_f32s(row);
            for (sum, &value) in sums.iter_mut().zip(values) {
                *sum = simd.add_f32s(*sum, value);
            }
        }
    }
}

/// A product whose result is one panel of vectors wide: C[r, :] = Σ_k A[r, k] B[k, :].
#[derive(Clone, Copy)]
struct Panel {
    rows: usize,
    depth: usize,
    a: *const f32,
    a_row: usize,
    a_depth: usize,
    b: *const f32,
    b_depth: usize,
    c: *mut f32,
    c_row: usize,
    /// Whether C is added to rather than written.
    add: bool,
}

impl Panel {
    /// # Safety
    /// A (rows, depth), B (depth, size) and C (rows, size) must lie within their allocations.
    #[inline(always)]
    unsafe fn run<S: Simd>(self, simd: S, size: usize) {
        // SAFETY: as promised by the caller.
        unsafe {
            match size / S::F32_LANES {
                1 => self.sweep::<S, 1>(simd),
                2 => self.sweep::<S, 2>(simd),
                _ => self.sweep::<S, 3>(simd),
            }
        }
    }

    /// # Safety
    /// As for [`Panel::run`], with N vectors in a row.
    #[inline(always)]
    unsafe fn sweep<S: Simd, const N: usize>(self, simd: S) {
        let mut row = 0;
        // SAFETY: blocks end at or before the last row.
        unsafe {
            while S::REGISTER_COUNT >= 32 && row + TALL <= self.rows {
                self.block::<S, TALL, N>(simd, row);
                row += TALL;
            }
            while row + SHORT <= self.rows {
                self.block::<S, SHORT, N>(simd, row);
                row += SHORT;
            }
            while row < self.rows {
                self.block::<S, 1, N>(simd, row);
                row += 1;
            }
        }
    }

    /// M rows of the result, summed in registers.
    ///
    /// # Safety
    /// As for [`Panel::run`], with `row + M` at most the number of rows.
    #[inline(always)]
    unsafe fn block<S: Simd, const M: usize, const N: usize>(self, simd: S, row: usize) {
        let mut sum = [[simd.splat_f32s(0.0); N]; M];
        // SAFETY: as promised by the caller; `S::f32s` is read and written without alignment.
        unsafe {
            let a = self.a.add(row * self.a_row);
            for k in 0..self.depth {
                let b = self.b.add(k * self.b_depth).cast::<S::f32s>();
                let mut vectors = [simd.splat_f32s(0.0); N];
                for j in 0..N {
                    vectors[j] = b.add(j).read_unaligned();
                }
                for i in 0..M {
                    let factor = simd.splat_f32s(*a.add(i * self.a_row + k * self.a_depth));
                    for j in 0..N {
                        sum[i][j] = simd.mul_add_e_f32s(factor, vectors[j], sum[i][j]);
                    }
                }
            }
            for i in 0..M {
                let c = self.c.add((row + i) * self.c_row).cast::<S::f32s>();
                for j in 0..N {
                    let mut value = sum[i][j];
                    if self.add {
                        value = simd.add_f32s(value, c.add(j).read_unaligned());
                    }
                    c.add(j).write_unaligned(value);
                }
            }
        }
    }
}
