//! Ensembles in memory and in files.

mod arrays;
mod bad;
mod corpus;
mod csv;
mod files;
mod hostile;
mod memory;
mod npy;
mod npz;
mod stored;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ergode::{Control, Ensemble, Error, ReadOptions, Result, Times, Trajectory, Values};
use ergode::{read_ensemble, write_ensemble};
use ndarray::{Array2, ArrayView2};
use tempfile::TempDir;

/// A folder with the paths and files of one test.
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn put(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        put(&path, content);
        path
    }

    /// Writes a file and reads it as an ensemble sampled every 0.5 unless it says otherwise.
    pub(crate) fn read(&self, name: &str, content: impl AsRef<[u8]>) -> Result<Ensemble> {
        read_with(self.put(name, content), &dt(0.5))
    }

    pub(crate) fn is_empty(&self) -> bool {
        std::fs::read_dir(self.0.path()).unwrap().next().is_none()
    }
}

/// Writes a new file, in place of any that is there. Some file systems wait for the disk where a file is cut to
/// nothing and written again.
pub(crate) fn put(path: &Path, content: impl AsRef<[u8]>) {
    if path.exists() {
        std::fs::remove_file(path).unwrap();
    }
    std::fs::write(path, content).unwrap();
}

pub(crate) fn dt(dt: f64) -> ReadOptions {
    ReadOptions {
        dt: Some(dt),
        ..ReadOptions::default()
    }
}

pub(crate) fn plain(path: impl AsRef<Path>) -> Result<Ensemble> {
    read_with(path, &ReadOptions::default())
}

pub(crate) fn read_with(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Ensemble> {
    read_ensemble(path, options, &Control::new())
}

/// Asserts that `result` is an error of the user's input whose message holds all `words`.
#[track_caller]
pub(crate) fn refused<T>(result: Result<T>, words: &[&str]) -> Error {
    let Err(error) = result else {
        panic!("expected an error with {words:?}");
    };
    let message = error.to_string();
    for word in words {
        assert!(message.contains(word), "\"{word}\" is not in: {message}");
    }
    assert!(error.is_bad_input(), "{message}");
    error
}

/// A matrix of smooth numbers.
pub(crate) fn numbers(rows: usize, dim: usize) -> Array2<f64> {
    Array2::from_shape_fn((rows, dim), |(i, j)| {
        ((i * dim + j) as f64 * 0.7).sin() * 10f64.powi(j as i32 - 1)
    })
}

pub(crate) fn even(values: impl Into<Values>, start: f64, step: f64) -> Trajectory {
    Trajectory::new(values, Times::Even { start, step })
}

pub(crate) fn uneven(values: impl Into<Values>, times: &[f64]) -> Trajectory {
    Trajectory::new(values, Times::Uneven(Arc::from(times)))
}

/// The ensembles whose round trips are tested: even, uneven, gaps, unequal lengths, precisions.
pub(crate) fn samples() -> Vec<Ensemble> {
    let mut gaps = numbers(9, 2);
    gaps[[0, 0]] = f64::NAN;
    gaps.row_mut(4).fill(f64::NAN);
    let mut end_gap = numbers(6, 2);
    end_gap.row_mut(5).fill(f64::NAN);
    let single = numbers(7, 2).mapv(|v| v as f32);
    let new = |t| Ensemble::new(t).unwrap();
    let names = |n: &[&str]| n.iter().map(|n| (*n).to_owned()).collect::<Vec<_>>();
    vec![
        new(vec![even(numbers(5, 1), 0.0, 0.1)]),
        new(vec![even(numbers(1, 3), 2.0, 0.1)]),
        new(vec![even(gaps.clone(), -1.0, 0.25)]),
        new(vec![even(single.clone(), 0.0, 0.5)]),
        new(vec![even(single.clone(), 0.0, 0.5), even(single, 0.0, 0.5)]),
        new(vec![
            even(numbers(6, 4), 0.0, 1e-3),
            even(numbers(9, 4), 0.0, 1e-3),
        ]),
        new(vec![even(gaps.clone(), 0.0, 1.0), even(end_gap, 0.0, 1.0)]),
        new(vec![
            uneven(numbers(3, 2), &[0.0, 1.0, 10.0]),
            uneven(numbers(4, 2), &[0.5, 0.75, 3.0, 1e9]),
        ])
        .with_names(names(&["temperature", "größe, in m"]))
        .unwrap(),
        new(vec![
            even(gaps, 0.0, 0.5),
            uneven(numbers(2, 2), &[3.0, 4.5]),
        ]),
    ]
}

fn close(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits() || (a - b).abs() <= 1e-12 * a.abs().max(b.abs())
}

/// Asserts equal values and names, and times equal up to rounding.
///
/// `times` is false for formats without times; `precision` for those that widen.
#[track_caller]
pub(crate) fn assert_same(a: &Ensemble, b: &Ensemble, times: bool, precision: bool) {
    assert_eq!(a.len(), b.len());
    assert_eq!(a.segments(), b.segments());
    for (s, t) in a.trajectories().iter().zip(b.trajectories()) {
        assert_eq!((s.len(), s.dim()), (t.len(), t.dim()));
        match (s.values(), t.values()) {
            (Values::F32(a), Values::F32(b)) => same(a.view(), b.view()),
            (Values::F64(a), Values::F64(b)) => same(a.view(), b.view()),
            (Values::F32(a), Values::F64(b)) if !precision => {
                same(a.view(), b.mapv(|v| v as f32).view());
            }
            _ => panic!("the precision changed"),
        }
        if times {
            assert!((0..s.len()).all(|i| close(s.time(i), t.time(i))));
        }
    }
}

#[track_caller]
fn same<A: Copy + Into<f64>>(a: ArrayView2<'_, A>, b: ArrayView2<'_, A>) {
    for (&a, &b) in a.iter().zip(b) {
        let (a, b): (f64, f64) = (a.into(), b.into());
        assert!(a == b || a.is_nan() && b.is_nan(), "{a} is not {b}");
    }
}

#[test]
fn unknown_extensions_are_refused_with_the_known_ones() {
    let folder = Folder::new();
    for name in ["a.mat", "a"] {
        refused(
            plain(folder.path(name)),
            &["extension", ".npz", ".npy", ".csv", ".tsv"],
        );
        refused(
            write_ensemble(folder.path(name), &samples()[0]),
            &["extension", ".npy"],
        );
    }
    assert!(folder.is_empty());
}

#[test]
fn extensions_are_compared_without_case() {
    let folder = Folder::new();
    let path = folder.path("A.NPZ");
    write_ensemble(&path, &samples()[0]).unwrap();
    assert_same(&samples()[0], &plain(&path).unwrap(), true, true);
}

#[test]
fn missing_files_and_folders_are_bad_input() {
    let folder = Folder::new();
    for name in ["a.npz", "a.npy", "a.csv"] {
        let error = plain(folder.path(name)).unwrap_err();
        assert!(error.is_bad_input() && error.to_string().contains(name));
        std::fs::create_dir(folder.path(name)).unwrap();
        assert!(plain(folder.path(name)).unwrap_err().is_bad_input());
        refused(
            write_ensemble(folder.path(name), &samples()[0]),
            &["folder"],
        );
    }
}

#[test]
fn files_of_another_kind_are_recognised() {
    let folder = Folder::new();
    let kinds: [(&[u8], &str); 9] = [
        (b"\x93NUMPY\x01\x00", "NumPy array"),
        (b"PK\x03\x04....", "zip archive"),
        (b"\x89HDF\r\n\x1a\n....", "HDF5"),
        (b"CDF\x01....", "NetCDF"),
        (b"\x1f\x8b\x08....", "gzip"),
        (b"PAR1....", "Parquet"),
        (b"\xff\xfet\x00,\x00", "UTF-16"),
        (b"\x00\x01\x02\x03", "binary"),
        (b"", "empty"),
    ];
    for name in ["a.npy", "a.npz", "a.csv", "a.tsv"] {
        for (bytes, kind) in kinds {
            if (name, kind) == ("a.npy", "NumPy array") || (name, kind) == ("a.npz", "zip archive")
            {
                continue;
            }
            refused(
                folder.read(name, bytes),
                &[name, "does not match its extension", kind],
            );
        }
    }
    refused(folder.read("a.npy", "t,x\n0,1\n"), &["text", ".csv"]);
}
