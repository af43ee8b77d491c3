//! Files of one NumPy array.

use ergode::{Values, write_ensemble};
use ndarray::{Array3, array};

use super::{Folder, assert_same, dt, plain, read_with, refused, samples};

/// The bytes of an array file with this header text and data.
pub(crate) fn npy(version: u8, header: &str, data: &[u8]) -> Vec<u8> {
    let mut bytes = b"\x93NUMPY".to_vec();
    bytes.extend([version, 0]);
    if version == 1 {
        bytes.extend((header.len() as u16).to_le_bytes());
    } else {
        bytes.extend((header.len() as u32).to_le_bytes());
    }
    bytes.extend(header.as_bytes());
    bytes.extend(data);
    bytes
}

pub(crate) fn simple(descr: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n");
    npy(1, &header, data)
}

pub(crate) fn f8(values: &[f64]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

fn rows(folder: &Folder, content: Vec<u8>) -> Vec<Vec<f64>> {
    let ensemble = folder.read("a.npy", content).unwrap();
    let mut all = Vec::new();
    for t in ensemble.trajectories() {
        let mut block = vec![0.0; t.len() * t.dim()];
        t.copy_rows(0..t.len(), &mut block);
        all.push(block);
    }
    all
}

#[test]
fn round_trips() {
    let folder = Folder::new();
    for ensemble in samples() {
        let path = folder.path("a.npy");
        let result = write_ensemble(&path, &ensemble);
        let Some(step) = ensemble.sampling_interval() else {
            refused(result, &["uneven", ".npz"]);
            assert!(folder.is_empty());
            continue;
        };
        result.unwrap();
        if ensemble
            .trajectories()
            .iter()
            .any(|t| t.is_gap(t.len() - 1))
        {
            // A gap at the end cannot be told from padding here.
            std::fs::remove_file(&path).unwrap();
            continue;
        }
        let again = read_with(&path, &dt(step)).unwrap();
        assert_same(&ensemble, &again, false, true);
        assert_eq!(
            std::fs::read_dir(path.parent().unwrap()).unwrap().count(),
            1
        );
        std::fs::remove_file(&path).unwrap();
    }
}

#[test]
fn the_written_header_is_that_of_numpy() {
    let folder = Folder::new();
    let path = folder.path("a.npy");
    write_ensemble(&path, &samples()[3]).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    assert_eq!(&bytes[..10], b"\x93NUMPY\x01\x00\x76\x00");
    let header = "{'descr': '<f4', 'fortran_order': False, 'shape': (7, 2), }";
    assert!(bytes[10..].starts_with(header.as_bytes()));
    assert_eq!((bytes[127], bytes.len()), (b'\n', 128 + 7 * 2 * 4));
}

#[test]
fn large_arrays_round_trip_in_chunks() {
    let folder = Folder::new();
    let array = Array3::from_shape_fn((3, 70_001, 3), |(k, i, j)| (k * 1000 + i + j) as f64);
    let ensemble = ergode::Ensemble::from_array3(array.into_shared(), 1.0).unwrap();
    let path = folder.path("a.npy");
    write_ensemble(&path, &ensemble).unwrap();
    assert_same(&ensemble, &read_with(&path, &dt(1.0)).unwrap(), true, true);
}

#[test]
fn every_rank_is_read() {
    let folder = Folder::new();
    let data = f8(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    for (shape, expected) in [
        ("(6,)", (1, 6, 1)),
        ("(3, 2)", (1, 3, 2)),
        ("(3, 1, 2)", (3, 1, 2)),
        ("(1, 6, 1)", (1, 6, 1)),
    ] {
        let e = folder.read("a.npy", simple("<f8", shape, &data)).unwrap();
        assert_eq!((e.len(), e.trajectories()[0].len(), e.dim()), expected);
        assert_eq!(e.sampling_interval(), Some(0.5));
    }
    refused(plain(folder.path("a.npy")), &["no times", "dt"]);
    for shape in ["()", "(1, 1, 6, 1)"] {
        let data = if shape == "()" { &data[..8] } else { &data };
        let words = ["shape", shape, "(time, dimension)"];
        refused(folder.read("a.npy", simple("<f8", shape, data)), &words);
    }
    for shape in ["(0, 3)", "(2, 0, 3)", "(0, 99999999999999999)"] {
        refused(
            folder.read("a.npy", simple("<f8", shape, &[])),
            &["empty", shape],
        );
    }
}

#[test]
fn every_number_type_is_read_in_both_byte_orders() {
    macro_rules! check {
        ($folder:ident, $($descr:literal $type:ty),*) => {$(
            let values: [$type; 2] = [3 as $type, <$type>::MAX];
            let little: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
            let big: Vec<u8> = values.iter().flat_map(|v| v.to_be_bytes()).collect();
            for (order, data) in [("<", &little), (">", &big)] {
                let content = simple(&format!("{order}{}", $descr), "(2,)", data);
                assert_eq!(rows(&$folder, content), [[3.0, <$type>::MAX as f64]]);
            }
        )*};
    }
    let folder = Folder::new();
    check!(folder, "i1" i8, "i2" i16, "i4" i32, "i8" i64);
    check!(folder, "u1" u8, "u2" u16, "u4" u32, "u8" u64);
    check!(folder, "f4" f32, "f8" f64);
    assert_eq!(
        rows(&folder, simple("|i1", "(2,)", &[255, 1])),
        [[-1.0, 1.0]]
    );
    let single = folder
        .read("a.npy", simple(">f4", "(1,)", &1.5f32.to_be_bytes()))
        .unwrap();
    assert!(matches!(single.trajectories()[0].values(), Values::F32(_)));
}

#[test]
fn fortran_order_and_all_versions_are_read() {
    let folder = Folder::new();
    let data = f8(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    for version in 1..=3 {
        let header = "{'descr': '<f8', 'fortran_order': True, 'shape': (3, 2), }   \n";
        let expected = vec![1.0, 4.0, 2.0, 5.0, 3.0, 6.0];
        assert_eq!(rows(&folder, npy(version, header, &data)), [expected]);
    }
    let header = "{'descr': '<f8', 'fortran_order': True, 'shape': (2, 3, 1), }";
    let expected = [[1.0, 3.0, 5.0], [2.0, 4.0, 6.0]];
    assert_eq!(rows(&folder, npy(1, header, &data)), expected);
    refused(
        folder.read("a.npy", npy(4, header, &data)),
        &["version 4.0"],
    );
}

#[test]
fn headers_are_read_in_any_spelling() {
    let folder = Folder::new();
    let data = f8(&[1.0, 2.0]);
    for header in [
        "{'shape': (2L, 1L), 'fortran_order': False, 'descr': '<f8'}",
        "  {\"descr\":\"<f8\",\"shape\":( 2 ,1 , ) ,\"fortran_order\":False,}\n\n",
        "{'fortran_order': False, 'shape': (2,), 'descr': 'f8'}",
    ] {
        assert_eq!(
            rows(&folder, npy(1, header, &data)),
            [[1.0, 2.0]],
            "{header}"
        );
    }
    for header in [
        "",
        "{}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2,)",
        "{'descr': '<f8', 'fortran_order': Maybe, 'shape': (2,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (-2,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2,)} x",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2 1)}",
        "{'descr': '<f8', 'shape': (2,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), 'more': 1}",
    ] {
        refused(folder.read("a.npy", npy(1, header, &data)), &["damaged"]);
    }
}

#[test]
fn other_types_are_refused_by_name() {
    let folder = Folder::new();
    for (descr, word) in [
        ("|b1", "bool"),
        ("<c16", "complex"),
        ("|O", "objects"),
        ("|S3", "byte strings"),
        ("<U3", "text"),
        ("<f2", "unusual size"),
        ("<M8[ns]", "dates"),
        ("|V8", "records"),
    ] {
        let content = simple(descr, "(2,)", &[0; 24]);
        refused(folder.read("a.npy", content), &["a.npy", word, descr]);
    }
    let content = simple("<U3", "(2,)", &[0; 24]);
    refused(folder.read("a.npy", content), &["text", "astype"]);
    let header = "{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (2,), }";
    refused(
        folder.read("a.npy", npy(1, header, &[0; 16])),
        &["structured"],
    );
}

#[test]
fn sizes_are_checked_before_memory_is_taken() {
    let folder = Folder::new();
    let read = |shape: &str, n| folder.read("a.npy", simple("<f8", shape, &vec![0; n]));
    refused(read("(3,)", 23), &["truncated", "24 bytes", "23"]);
    refused(read("(3,)", 25), &["trailing", "24 bytes", "25"]);
    refused(read("(1000000000000,)", 8), &["truncated"]);
    refused(
        read("(9999999999999, 9999999999999)", 8),
        &["impossible shape"],
    );
    refused(read("(99999999999999999999999,)", 8), &["impossible"]);
    let mut bytes = b"\x93NUMPY\x02\x00".to_vec();
    bytes.extend(u32::MAX.to_le_bytes());
    refused(folder.read("a.npy", bytes), &["header of 4294967295 bytes"]);
}

#[test]
fn padding_is_left_out_of_several_trajectories_only() {
    let folder = Folder::new();
    let nan = f64::NAN;
    let data = f8(&[1.0, nan, nan, 2.0, nan, 3.0]);
    let lengths = |shape: &str| -> Vec<usize> {
        let ensemble = folder.read("a.npy", simple("<f8", shape, &data)).unwrap();
        ensemble.trajectories().iter().map(|t| t.len()).collect()
    };
    assert_eq!(lengths("(2, 3, 1)"), [1, 3]);
    assert_eq!(lengths("(6, 1)"), [6]);
    let bad = f8(&[1.0, f64::INFINITY]);
    let words = ["a.npy", "trajectory 0, row 1, coordinate 0", "infinite"];
    refused(folder.read("a.npy", simple("<f8", "(2,)", &bad)), &words);
}

#[test]
fn thinned_ensembles_are_written() {
    let folder = Folder::new();
    let ensemble = ergode::Ensemble::from_array(array![[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], 1.0);
    let path = folder.path("a.npy");
    write_ensemble(&path, &ensemble.unwrap().thin(2).unwrap()).unwrap();
    assert_eq!(
        rows(&folder, std::fs::read(&path).unwrap()),
        [[1.0, 2.0, 5.0, 6.0]]
    );
}
