//! Bad input and bad places: what is wrong, where, and what to do.

use ergode::{Control, Ensemble, ReadOptions, Result, convert_ensemble, write_ensemble};
use ndarray::Array2;

use super::{Folder, dt, even, numbers, plain, read_with, refused, samples, uneven};
use crate::support::rows;

const FORMATS: [&str; 7] = ["npz", "npy", "csv", "parquet", "zarr", "h5", "nc"];

/// Reads a file, and converts it, which must say the same.
fn both(folder: &Folder, name: &str, options: &ReadOptions, words: &[&str]) {
    let path = folder.path(name);
    refused(read_with(&path, options), words);
    let output = folder.path("out.csv");
    let converted: Result<_> = convert_ensemble(&path, &output, options, false, &Control::new());
    refused(converted, words);
    assert!(!output.exists());
}

#[test]
fn empty_files() {
    let folder = Folder::new();
    for format in FORMATS {
        let name = format!("empty.{format}");
        folder.put(&name, "");
        let word = if format == "zarr" {
            "not a folder"
        } else {
            "empty"
        };
        both(&folder, &name, &dt(1.0), &[&name, word]);
    }
}

#[test]
fn one_sample_is_read() {
    let folder = Folder::new();
    let one = Ensemble::new(vec![even(numbers(1, 2), 0.0, 1.0)]).unwrap();
    for format in FORMATS {
        let path = folder.path(&format!("one.{format}"));
        write_ensemble(&path, &one).unwrap();
        let options = if format == "npy" {
            dt(1.0)
        } else {
            ReadOptions::default()
        };
        assert_eq!(read_with(&path, &options).unwrap().samples(), 1, "{format}");
    }
}

#[test]
fn infinities_gaps_and_times_that_go_back() {
    // Ensembles refuse such numbers, so files are made by changing good ones.
    let folder = Folder::new();
    let values = |bad: f64| Array2::from_shape_fn((4, 1), |(i, _)| if i == 2 { bad } else { 3.25 });
    let marked = Ensemble::new(vec![uneven(values(7.125), &[0.0, 1.0, 2.5, 4.0])]).unwrap();
    let swap = |name: &str, from: f64, to: f64| {
        let path = folder.path(name);
        write_ensemble(&path, &marked).unwrap();
        let target = if name.ends_with("zarr") {
            let array = if from == 2.5 { "time/0" } else { "x/0.0.0" };
            path.join(array)
        } else {
            path
        };
        let mut bytes = std::fs::read(&target).unwrap();
        for (from, to) in [
            (from.to_le_bytes(), to.to_le_bytes()),
            (from.to_be_bytes(), to.to_be_bytes()),
        ] {
            while let Some(at) = bytes.windows(8).position(|w| w == from) {
                bytes[at..at + 8].copy_from_slice(&to);
            }
        }
        std::fs::write(target, bytes).unwrap();
    };
    for format in ["parquet", "zarr", "h5", "nc"] {
        let name = format!("a.{format}");
        let options = ReadOptions::default();
        swap(&name, 7.125, f64::INFINITY);
        both(
            &folder,
            &name,
            &options,
            &[&name, "trajectory 0, row 2, coordinate 0", "infinite"],
        );
        swap(&name, 2.5, 0.5);
        both(
            &folder,
            &name,
            &options,
            &[&name, "row 2", "is not later than", "sort"],
        );
        swap(&name, 2.5, f64::INFINITY);
        both(&folder, &name, &options, &[&name, "row 2", "finite time"]);
        swap(&name, 3.25, f64::NAN);
        assert_eq!(plain(folder.path(&name)).unwrap().samples(), 1);
        let gaps = folder.path(&name);
        let gap = |place: &std::path::Path| {
            let bytes = std::fs::read(place).unwrap();
            let nan = |bytes: Vec<u8>, from: [u8; 8], to: [u8; 8]| {
                let mut bytes = bytes;
                while let Some(at) = bytes.windows(8).position(|w| w == from) {
                    bytes[at..at + 8].copy_from_slice(&to);
                }
                bytes
            };
            let bytes = nan(bytes, 7.125_f64.to_le_bytes(), f64::NAN.to_le_bytes());
            let bytes = nan(bytes, 7.125_f64.to_be_bytes(), f64::NAN.to_be_bytes());
            std::fs::write(place, bytes).unwrap();
        };
        gap(&if format == "zarr" {
            gaps.join("x/0.0.0")
        } else {
            gaps
        });
        both(
            &folder,
            &name,
            &options,
            &[&name, "every row contains a NaN"],
        );
    }
}

#[test]
fn a_million_dimensions() {
    let folder = Folder::new();
    let mut array = Vec::from(b"\x93NUMPY\x01\x00\x76\x00".as_slice());
    let mut header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1000000), }".to_vec();
    header.resize(117, b' ');
    header.push(b'\n');
    array.extend(header);
    array.resize(array.len() + 8_000_000, 0);
    folder.put("wide.npy", array);
    both(
        &folder,
        "wide.npy",
        &dt(1.0),
        &["1000000 coordinates", "transpose"],
    );
}

#[test]
fn the_wrong_name_for_the_content() {
    let folder = Folder::new();
    for content in ["npy", "npz", "parquet", "h5", "nc"] {
        let made = folder.path(&format!("made.{content}"));
        write_ensemble(&made, &samples()[0]).unwrap();
        for name in ["npy", "npz", "csv", "parquet", "h5", "nc"] {
            // NetCDF-4 is HDF5, so that HDF5 under the name of NetCDF is read.
            if name == content || (content, name) == ("h5", "nc") {
                continue;
            }
            let wrong = format!("wrong.{name}");
            std::fs::copy(&made, folder.path(&wrong)).unwrap();
            both(
                &folder,
                &wrong,
                &dt(0.1),
                &[&wrong, "does not match its extension", content],
            );
        }
    }
}

#[test]
fn arrays_and_columns_that_are_asked_for() {
    let folder = Folder::new();
    folder.put("a.csv", "particle,t,x\n1,0,1\n1,1,2\n2,0,3\n");
    let id = |name: &str| ReadOptions {
        trajectory: Some(name.to_owned()),
        ..ReadOptions::default()
    };
    let read = read_with(folder.path("a.csv"), &id("particle")).unwrap();
    assert_eq!((read.len(), read.dim()), (2, 1));
    refused(
        read_with(folder.path("a.csv"), &id("run")),
        &["no column is named 'run'", "particle, t, x"],
    );
    write_ensemble(folder.path("a.h5"), &samples()[0]).unwrap();
    let array = |name: &str| ReadOptions {
        array: Some(name.to_owned()),
        ..ReadOptions::default()
    };
    assert!(read_with(folder.path("a.h5"), &array("x")).is_ok());
    refused(
        read_with(folder.path("a.h5"), &array("v")),
        &["has no array 'v'", "'x' of shape (1, 5, 1)"],
    );
    refused(
        read_with(folder.path("a.h5"), &array("names")),
        &["'names'", "text"],
    );
}

#[test]
fn columns_are_taken_by_name_and_the_others_not_looked_at() {
    let folder = Folder::new();
    folder.put("a.csv", "day,a,sky,b\n0,1,rain,10\n1,2,sun,20\n");
    let pick = |columns: &[&str]| ReadOptions {
        time: Some("day".to_owned()),
        columns: columns.iter().map(|name| (*name).to_owned()).collect(),
        ..ReadOptions::default()
    };
    let check = |read: &Ensemble| {
        assert_eq!(read.names(), ["b", "a"]);
        assert_eq!(rows(read, 0), ndarray::array![[10.0, 1.0], [20.0, 2.0]]);
    };
    let read = read_with(folder.path("a.csv"), &pick(&["b", "a"])).unwrap();
    check(&read);
    assert_eq!(read.sampling_interval(), Some(1.0));
    let (from, to) = (folder.path("a.csv"), folder.path("b.npz"));
    convert_ensemble(&from, &to, &pick(&["a", "b"]), false, &Control::new()).unwrap();
    let again = ReadOptions {
        time: None,
        ..pick(&["b", "a"])
    };
    check(&read_with(&to, &again).unwrap());
    for (columns, words) in [
        (&["c"][..], "no coordinate is named 'c'"),
        (&["a", "a"], "both named 'a'"),
        (&["sky"], "is not a number"),
    ] {
        refused(read_with(&from, &pick(columns)), &[words]);
    }
    let elsewhere = ReadOptions {
        time: Some("hour".to_owned()),
        ..ReadOptions::default()
    };
    refused(read_with(&from, &elsewhere), &["'hour'", "for the times"]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_folder_that_cannot_be_written() {
    // The process may be the superuser's, whom permissions do not stop; /proc stops everyone.
    for format in FORMATS {
        let path = format!("/proc/ergode.{format}");
        let error = write_ensemble(&path, &samples()[0]).unwrap_err();
        assert!(error.to_string().contains(&path), "{error}");
    }
}
