//! Rows that stay in their file.

use std::cell::RefCell;
use std::fmt;
use std::fs::File;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ndarray::Array2;

use super::dtype::{Dtype, Element};
use super::standardise::Standardiser;
use super::storage::{Storage, decode};
use crate::error::{Error, Result};

/// Bytes of values up to which a file is read into memory: 1 GiB, on every machine.
///
/// A larger file of an array in C order stays on disk and is read piece by piece, with the same results.
pub(crate) const MEMORY: u64 = 1 << 30;

/// Bytes of a file that are read at once.
const CHUNK: usize = 1 << 20;
/// Bytes from one row to the next from which rows are read one by one.
const SPARSE: usize = 1 << 16;
/// Bytes of the file that a window of single rows spans: at first, and when rows follow one another.
const WINDOW: [usize; 2] = [1 << 12, 1 << 16];
/// Windows of a thread: enough for both ends of a pair in two ensembles.
const WINDOWS: usize = 4;

/// Rows of numbers that stay in a file, some of them, in every so many rows, of some of its columns.
///
/// Rows are read where they are needed, by position, so that any number of threads share one file. What
/// is changed about them (standardisation, a trend taken out, logarithms) is applied as they are read. A file that
/// cannot be read any more gives NaN, and [`Ensemble`](crate::Ensemble)s of its rows end every pass with
/// that error.
#[derive(Clone)]
pub struct StoredRows {
    storage: Arc<Storage>,
    /// Tells the rows from others in the windows of a thread; clones have the same.
    id: u64,
    /// The row of the file that is row 0.
    first: usize,
    rows: usize,
    /// Rows of the file from one row to the next.
    stride: usize,
    /// The columns of the file; `None` means all.
    columns: Option<Arc<[usize]>>,
    /// Columns of the file in which a NaN makes the whole row one.
    gaps: Option<Arc<[usize]>>,
    changes: Vec<Change>,
    single: bool,
}

/// f(row of the file, column, x).
type Map = Arc<dyn Fn(usize, usize, f64) -> f64 + Send + Sync>;

/// A transformation of the values of a row, one by one.
#[derive(Clone)]
enum Change {
    /// (x − mean) / scale, rounded to single precision where the values are of it.
    Standardise(Arc<Standardiser>, bool),
    /// f(x).
    Map(Map),
}

impl StoredRows {
    /// All rows of an array in C order: `rows` of `width` numbers each, after `offset` bytes.
    ///
    /// # Errors
    /// When the metadata of the file cannot be read.
    pub(crate) fn new(
        path: &Path,
        file: File,
        offset: u64,
        dtype: Dtype,
        (rows, width): (usize, usize),
    ) -> Result<Self> {
        Ok(Self {
            storage: Arc::new(Storage::new(path, file, offset, dtype, width)?),
            id: new_id(),
            first: 0,
            rows,
            stride: 1,
            columns: None,
            gaps: None,
            changes: Vec::new(),
            single: dtype.element == Element::F4,
        })
    }

    /// True for an element type that is read where it is.
    pub(crate) fn takes(dtype: Dtype) -> bool {
        dtype.is_float()
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of coordinates.
    pub fn dim(&self) -> usize {
        let width = self.storage.width;
        self.columns.as_ref().map_or(width, |columns| columns.len())
    }

    /// True for values of single precision.
    pub fn is_single(&self) -> bool {
        self.single
    }

    /// Every `step`-th row of `rows`.
    pub(crate) fn slice(&self, rows: Range<usize>, step: usize) -> Self {
        assert!(rows.end <= self.rows, "these rows do not exist");
        Self {
            id: new_id(),
            first: self.first + rows.start * self.stride,
            rows: rows.len().div_ceil(step),
            stride: self.stride * step,
            ..self.clone()
        }
    }

    /// Some of the coordinates; where `whole`, in double precision and with a gap in any coordinate as one
    /// in all.
    pub(super) fn columns(&self, chosen: &[usize], whole: bool) -> Self {
        let of_file = |j: usize| self.columns.as_ref().map_or(j, |columns| columns[j]);
        let gaps = || (0..self.dim()).map(of_file).collect();
        let changes = self.changes.iter().map(|change| match change {
            Change::Standardise(all, single) => {
                let some = |of: &[f64]| chosen.iter().map(|&j| of[j]).collect();
                let (mean, scale) = (some(&all.mean), some(&all.scale));
                let some = Standardiser::new(mean, scale).expect("parts of a sound one");
                Change::Standardise(Arc::new(some), *single)
            }
            // A map knows the columns of the file.
            Change::Map(map) => Change::Map(map.clone()),
        });
        Self {
            id: new_id(),
            columns: Some(chosen.iter().map(|&j| of_file(j)).collect()),
            gaps: if whole {
                Some(gaps())
            } else {
                self.gaps.clone()
            },
            changes: changes.collect(),
            single: self.single && !whole,
            ..self.clone()
        }
    }

    /// The same rows in standardised coordinates.
    pub(super) fn standardised(&self, standardiser: &Standardiser) -> Self {
        let change = Change::Standardise(Arc::new(standardiser.clone()), self.single);
        self.changed(change, self.single)
    }

    /// The same rows, in double precision, with `map(row, coordinate, x)` for every x.
    pub(super) fn mapped(
        &self,
        map: impl Fn(usize, usize, f64) -> f64 + Send + Sync + 'static,
    ) -> Self {
        let (first, stride, columns) = (self.first, self.stride, self.columns.clone());
        let place = move |column: usize| {
            let place = |of: &Arc<[usize]>| of.iter().position(|c| *c == column);
            columns.as_ref().map_or(Some(column), place)
        };
        let map = move |row: usize, column: usize, x: f64| {
            place(column).map_or(x, |j| map((row - first) / stride, j, x))
        };
        self.changed(Change::Map(Arc::new(map)), false)
    }

    fn changed(&self, change: Change, single: bool) -> Self {
        let mut changed = self.clone();
        changed.id = new_id();
        changed.changes.push(change);
        changed.single = single;
        changed
    }

    /// Fails if the file changed or could not be read since it was opened.
    ///
    /// # Errors
    /// When rows could not be read, or the file is not the one any more that it was.
    pub(super) fn intact(&self) -> Result<()> {
        self.storage.intact()
    }

    /// All values, (time, dimension), where they are no more than memory should hold.
    ///
    /// # Errors
    /// When they are, or cannot be read.
    pub fn to_array(&self) -> Result<Array2<f64>> {
        self.refuse_copy(self.rows)?;
        let mut values = Array2::zeros((self.rows, self.dim()));
        self.copy(0..self.rows, values.as_slice_mut().expect("row-major"));
        self.intact()?;
        Ok(values)
    }

    /// Refuses to copy so many rows into memory where they are too many.
    pub(super) fn refuse_copy(&self, rows: usize) -> Result<()> {
        let bytes = rows as u64 * self.dim() as u64 * 8;
        if bytes <= MEMORY {
            return Ok(());
        }
        Err(Error::file(
            &self.storage.path,
            format!(
                "{rows} rows take {:.1} GiB, too much to hold in memory at once; use a part of the \
                 record, or thin it",
                bytes as f64 / (1u64 << 30) as f64
            ),
        ))
    }

    /// Looks at row `i` in a window of rows that the thread holds.
    pub(super) fn row<T>(&self, i: usize, look: impl FnOnce(&[f64]) -> T) -> T {
        assert!(i < self.rows, "there is no row {i}");
        thread_local! {
            static HELD: RefCell<Windows> = RefCell::default();
        }
        HELD.with_borrow_mut(|windows| look(windows.row(self, i)))
    }

    /// Copies rows in row-major order.
    pub(super) fn copy(&self, rows: Range<usize>, out: &mut [f64]) {
        assert!(rows.end <= self.rows, "these rows do not exist");
        thread_local! {
            static BYTES: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
        }
        let (dim, step) = (self.dim(), self.stride * self.storage.row_bytes());
        let together = if step > SPARSE {
            1
        } else {
            (CHUNK / step).max(1)
        };
        BYTES.with_borrow_mut(|bytes| {
            let starts = rows.clone().step_by(together);
            for (start, out) in starts.zip(out.chunks_mut(together * dim)) {
                self.load(start, out, bytes);
            }
        });
    }

    /// Reads rows that lie close together.
    fn load(&self, start: usize, out: &mut [f64], bytes: &mut Vec<u8>) {
        let (dim, size) = (self.dim(), self.storage.dtype.size());
        let (count, row_bytes) = (out.len() / dim, self.storage.row_bytes());
        let first = self.first + start * self.stride;
        bytes.resize(((count - 1) * self.stride + 1) * row_bytes, 0);
        if !self.storage.read(first, bytes) {
            return out.fill(f64::NAN);
        }
        let dtype = self.storage.dtype;
        if self.stride == 1 && self.columns.is_none() {
            decode(dtype, bytes, out);
        } else {
            let rows = bytes.chunks(self.stride * row_bytes);
            for (row, out) in rows.zip(out.chunks_exact_mut(dim)) {
                match &self.columns {
                    None => decode(dtype, &row[..row_bytes], out),
                    Some(columns) => self.pick(row, columns, size, out),
                }
            }
        }
        for change in &self.changes {
            self.apply(change, first, out);
        }
    }

    /// The chosen columns of a row.
    fn pick(&self, row: &[u8], columns: &[usize], size: usize, out: &mut [f64]) {
        let dtype = self.storage.dtype;
        let one = |column: usize, out: &mut [f64]| {
            decode(dtype, &row[column * size..][..size], out);
        };
        for (j, &column) in columns.iter().enumerate() {
            one(column, &mut out[j..=j]);
        }
        let mut watched = [0.0];
        let gap = self.gaps.iter().flat_map(|gaps| gaps.iter()).any(|column| {
            one(*column, &mut watched);
            watched[0].is_nan()
        });
        if gap {
            out.fill(f64::NAN);
        }
    }

    fn apply(&self, change: &Change, first: usize, out: &mut [f64]) {
        let dim = self.dim();
        match change {
            Change::Standardise(standardiser, single) => {
                standardiser.forward(out);
                if *single {
                    out.iter_mut().for_each(|x| *x = f64::from(*x as f32));
                }
            }
            Change::Map(map) => {
                for (i, row) in out.chunks_exact_mut(dim).enumerate() {
                    for (j, x) in row.iter_mut().enumerate() {
                        let column = self.columns.as_ref().map_or(j, |columns| columns[j]);
                        *x = map(first + i * self.stride, column, *x);
                    }
                }
            }
        }
    }
}

impl fmt::Debug for StoredRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (rows, dim, path) = (self.rows, self.dim(), self.storage.path.display());
        write!(f, "StoredRows({rows} rows of {dim} in {path})")
    }
}

/// Some rows of a few views, for access row by row.
#[derive(Default)]
struct Windows {
    held: [Window; WINDOWS],
    /// The window that goes next.
    oldest: usize,
}

#[derive(Default)]
struct Window {
    id: u64,
    rows: Range<usize>,
    values: Vec<f64>,
}

impl Windows {
    fn row(&mut self, view: &StoredRows, i: usize) -> &[f64] {
        let dim = view.dim();
        let mine = |w: &Window| w.id == view.id && w.rows.contains(&i);
        let k = match self.held.iter().position(mine) {
            Some(k) => k,
            None => self.load(view, i),
        };
        let window = &self.held[k];
        &window.values[(i - window.rows.start) * dim..][..dim]
    }

    /// Reads a window that begins with row `i`. The window grows each time reading continues where the last
    /// one ended.
    fn load(&mut self, view: &StoredRows, i: usize) -> usize {
        let step = view.stride * view.storage.row_bytes();
        let [least, most] = WINDOW.map(|bytes| (bytes / step).max(1));
        let follows = |w: &Window| {
            w.id == view.id && (w.rows.end..w.rows.end + w.rows.len().max(1)).contains(&i)
        };
        let (k, length) = match self.held.iter().position(follows) {
            Some(k) => (k, (2 * self.held[k].rows.len()).min(most)),
            None => {
                self.oldest = (self.oldest + 1) % WINDOWS;
                (self.oldest, least)
            }
        };
        let window = &mut self.held[k];
        window.id = view.id;
        window.rows = i..view.rows.min(i + length);
        window.values.resize(window.rows.len() * view.dim(), 0.0);
        view.copy(window.rows.clone(), &mut window.values);
        k
    }
}

/// A number that no other rows have; 0 is that of an empty window.
fn new_id() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}
