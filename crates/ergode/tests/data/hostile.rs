//! Damaged files: an error or a readable ensemble, never a panic or a huge allocation.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use ergode::write_ensemble;
use zip::CompressionMethod;

use super::npy::{f8, simple};
use super::npz::archive;
use super::{Folder, dt, put, read_with, refused, samples};

/// The system's allocator, which remembers the largest request of each thread.
struct Watched;

thread_local! {
    static LARGEST: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: every call is passed on unchanged to the system's allocator.
unsafe impl GlobalAlloc for Watched {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LARGEST.with(|largest| largest.set(largest.get().max(layout.size())));
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        LARGEST.with(|largest| largest.set(largest.get().max(layout.size())));
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        LARGEST.with(|largest| largest.set(largest.get().max(size)));
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Watched = Watched;

/// Reads every truncation and every change of a single byte of `content`.
fn torture(name: &str, content: &[u8]) {
    let folder = Folder::new();
    LARGEST.set(0);
    for end in 0..content.len() {
        let result = folder.read(name, &content[..end]);
        if !name.ends_with("csv") {
            let error = result
                .err()
                .unwrap_or_else(|| panic!("{name} cut at {end} was read"));
            assert!(error.to_string().contains(name), "{error}");
        }
    }
    let mut damaged = content.to_vec();
    for i in 0..content.len() {
        for change in [0x01, 0x80, 0xff, content[i]] {
            damaged[i] = content[i] ^ change;
            let _ = folder.read(name, &damaged);
        }
        damaged[i] = content[i];
    }
    let largest = LARGEST.get();
    assert!(largest < 8 << 20, "{largest} bytes were allocated at once");
}

fn bytes_of(name: &str, sample: usize) -> Vec<u8> {
    let folder = Folder::new();
    let path = folder.path(name);
    write_ensemble(&path, &samples()[sample]).unwrap();
    std::fs::read(path).unwrap()
}

#[test]
fn damaged_arrays() {
    torture("a.npy", &bytes_of("a.npy", 0));
    torture("a.npy", &simple(">i4", "(2, 2)", &[0; 16]));
    torture("a.npy", &bytes_of("a.npy", 4));
}

#[test]
fn damaged_archives() {
    torture("a.npz", &bytes_of("a.npz", 7));
    let arrays = [
        ("x.npy", simple("<f8", "(3, 1)", &f8(&[1.0, 2.0, 3.0]))),
        ("t.npy", simple("<f8", "(3,)", &f8(&[1.0, 2.0, 3.0]))),
    ];
    torture("a.npz", &archive(CompressionMethod::Deflated, &arrays));
}

#[test]
fn damaged_tables() {
    torture("a.csv", &bytes_of("a.csv", 7));
    torture("a.parquet", &bytes_of("a.parquet", 7));
}

#[test]
fn damaged_netcdf() {
    torture("a.nc", &bytes_of("a.nc", 7));
    torture("a.nc", &bytes_of("a.nc", 4));
}

#[test]
fn damaged_hdf5() {
    torture("a.h5", &bytes_of("a.h5", 7));
}

/// Every file of a Zarr folder is cut and changed in turn.
#[test]
fn damaged_zarr() {
    let folder = Folder::new();
    let path = folder.path("a.zarr");
    write_ensemble(&path, &samples()[7]).unwrap();
    let files = [
        ".zgroup",
        "x/.zarray",
        "x/.zattrs",
        "x/0.0.0",
        "t/.zarray",
        "t/1.0",
    ];
    LARGEST.set(0);
    for file in files {
        let good = std::fs::read(path.join(file)).unwrap();
        for end in 0..good.len() {
            put(&path.join(file), &good[..end]);
            let result = read_with(&path, &dt(0.5));
            if !file.ends_with(".zgroup") {
                assert!(
                    result.unwrap_err().to_string().contains("a.zarr"),
                    "{file} {end}"
                );
            }
        }
        for i in 0..good.len() {
            for change in [0x01, 0x80, good[i]] {
                let mut damaged = good.clone();
                damaged[i] ^= change;
                put(&path.join(file), &damaged);
                let _ = read_with(&path, &dt(0.5));
            }
        }
        put(&path.join(file), &good);
    }
    let largest = LARGEST.get();
    assert!(largest < 8 << 20, "{largest} bytes were allocated at once");
}

/// Files that claim more than they hold.
#[test]
fn claims_larger_than_the_file() {
    let folder = Folder::new();
    let path = folder.path("a.zarr");
    write_ensemble(&path, &samples()[0]).unwrap();
    let good = std::fs::read_to_string(path.join("x/.zarray")).unwrap();
    let shape = "5,\n    1\n  ],\n  \"zarr";
    assert!(good.contains(shape), "{good}");
    let huge = good.replace(shape, "5000000000000,\n    1\n  ],\n  \"zarr");
    std::fs::write(path.join("x/.zarray"), huge).unwrap();
    std::fs::remove_dir_all(path.join("time")).unwrap();
    LARGEST.set(0);
    refused(
        read_with(&path, &dt(0.5)),
        &["a.zarr", "5000000000000", "too large for a file"],
    );
    assert!(LARGEST.get() < 8 << 20);
}

#[test]
fn an_archive_of_a_damaged_array_is_named_in_the_error() {
    let folder = Folder::new();
    let array = simple("<f8", "(2,)", &f8(&[1.0, 2.0]));
    for end in 0..array.len() {
        let bytes = archive(
            CompressionMethod::Stored,
            &[("x.npy", array[..end].to_vec())],
        );
        let path = folder.put("a.npz", bytes);
        let error = read_with(&path, &dt(1.0)).unwrap_err();
        assert!(error.to_string().contains("array 'x'"), "{error}");
    }
}
