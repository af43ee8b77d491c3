//! Archives of NumPy arrays.

use std::io::{Cursor, Write};

use ergode::{Control, ReadOptions, Times, convert_ensemble, write_ensemble};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use super::npy::{f8, simple};
use super::{Folder, assert_same, dt, plain, read_with, refused, samples};

pub(crate) fn archive(method: CompressionMethod, arrays: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in arrays {
        let options = SimpleFileOptions::default().compression_method(method);
        zip.start_file(*name, options).unwrap();
        zip.write_all(content).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

fn stored(arrays: &[(&str, Vec<u8>)]) -> Vec<u8> {
    archive(CompressionMethod::Stored, arrays)
}

fn x() -> (&'static str, Vec<u8>) {
    (
        "x.npy",
        simple(
            "<f8",
            "(2, 3, 1)",
            &f8(&[1.0, 2.0, 3.0, 4.0, 5.0, f64::NAN]),
        ),
    )
}

fn array(name: &'static str, shape: &str, values: &[f64]) -> (&'static str, Vec<u8>) {
    (name, simple("<f8", shape, &f8(values)))
}

#[test]
fn round_trips() {
    let folder = Folder::new();
    for ensemble in samples() {
        let path = folder.path("a.npz");
        write_ensemble(&path, &ensemble).unwrap();
        let again = plain(&path).unwrap();
        assert_same(&ensemble, &again, true, true);
        assert_eq!(ensemble.names(), again.names());
        assert_eq!(
            std::fs::read_dir(path.parent().unwrap()).unwrap().count(),
            1
        );
    }
}

#[test]
fn archives_are_written_like_those_of_numpy() {
    let folder = Folder::new();
    let path = folder.path("a.npz");
    for (sample, rank) in [
        (0, "'shape': (5,)"),
        (4, "'shape': (7,)"),
        (7, "'shape': (2, 4)"),
    ] {
        write_ensemble(&path, &samples()[sample]).unwrap();
        let file = std::fs::File::open(&path).unwrap();
        let mut zip = ZipArchive::new(file).unwrap();
        let names: Vec<_> = zip.file_names().map(|n| n.unwrap().into_owned()).collect();
        assert_eq!(names, ["x.npy", "t.npy", "names.npy"]);
        let mut entry = zip.by_name("t.npy").unwrap();
        assert_eq!(entry.compression(), CompressionMethod::Stored);
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut entry, &mut bytes).unwrap();
        let header = String::from_utf8_lossy(&bytes[10..128]).into_owned();
        assert!(header.contains(rank), "{header}");
    }
}

#[test]
fn compressed_archives_are_read() {
    let folder = Folder::new();
    let arrays = [x(), array("t.npy", "(3,)", &[0.0, 1.0, 5.0])];
    let bytes = archive(CompressionMethod::Deflated, &arrays);
    let path = folder.put("a.npz", bytes);
    let ensemble = plain(&path).unwrap();
    assert_eq!(ensemble.trajectories()[0].time(2), 5.0);
    assert_eq!(ensemble.trajectories()[1].len(), 2);
}

#[test]
fn times_are_shared_or_per_trajectory() {
    let folder = Folder::new();
    let per = array("t", "(2, 3)", &[0.0, 1.0, 2.0, 7.0, 9.0, f64::NAN]);
    let ensemble = plain(folder.put("a.npz", stored(&[x(), per]))).unwrap();
    assert_eq!(ensemble.trajectories()[1].len(), 2);
    assert_eq!(ensemble.trajectories()[1].time(1), 9.0);
    let bad = array("t.npy", "(4,)", &[0.0, 1.0, 2.0, 3.0]);
    let words = ["'t'", "(4,)", "(3,) or (2, 3)"];
    refused(folder.read("a.npz", stored(&[x(), bad])), &words);
    let bad = array("t.npy", "(3,)", &[0.0, 2.0, 1.0]);
    refused(
        folder.read("a.npz", stored(&[x(), bad])),
        &["trajectory 0, row 2"],
    );
    let single: Vec<u8> = (0..3)
        .flat_map(|i| (i as f32 * 0.1).to_le_bytes())
        .collect();
    let t = ("t.npy", simple("<f4", "(3,)", &single));
    let ensemble = plain(folder.put("a.npz", stored(&[x(), t]))).unwrap();
    assert!(matches!(
        ensemble.trajectories()[0].times(),
        Times::Even { .. }
    ));
}

#[test]
fn the_interval_comes_from_the_file_or_the_caller() {
    let folder = Folder::new();
    refused(
        plain(folder.put("a.npz", stored(&[x()]))),
        &["no times", "dt"],
    );
    let path = folder.path("a.npz");
    let step = |o| read_with(&path, &o).map(|e| e.sampling_interval());
    assert_eq!(step(dt(0.25)).unwrap(), Some(0.25));
    for shape in ["()", "(1,)"] {
        folder.put("a.npz", stored(&[x(), array("dt.npy", shape, &[0.125])]));
        assert_eq!(step(Default::default()).unwrap(), Some(0.125));
        assert_eq!(step(dt(0.125)).unwrap(), Some(0.125));
        refused(step(dt(0.5)), &["dt = 0.5", "0.125", "leave dt out"]);
    }
    let times = array("t.npy", "(3,)", &[0.0, 0.5, 1.0]);
    folder.put("a.npz", stored(&[x(), times.clone()]));
    assert_eq!(step(dt(0.5)).unwrap(), Some(0.5));
    refused(step(dt(0.4)), &["dt = 0.4", "0.5 apart"]);
    folder.put(
        "a.npz",
        stored(&[x(), times, array("dt.npy", "()", &[0.3])]),
    );
    refused(step(Default::default()), &["dt = 0.3", "0.5 apart"]);
    folder.put(
        "a.npz",
        stored(&[x(), array("t.npy", "(3,)", &[0.0, 0.5, 9.0])]),
    );
    refused(step(dt(0.5)), &["uneven"]);
    folder.put(
        "a.npz",
        stored(&[x(), array("dt.npy", "(2,)", &[0.1, 0.2])]),
    );
    refused(step(Default::default()), &["'dt'", "(2,)"]);
    folder.put("a.npz", stored(&[x(), array("dt.npy", "()", &[-0.1])]));
    refused(step(Default::default()), &["'dt' is -0.1", "positive"]);
}

#[test]
fn names_are_read_and_checked() {
    let folder = Folder::new();
    let text = |s: &str| -> Vec<u8> { s.chars().flat_map(|c| (c as u32).to_le_bytes()).collect() };
    let big: Vec<u8> = "ψ\0"
        .chars()
        .flat_map(|c| (c as u32).to_be_bytes())
        .collect();
    let read = |descr: &str, shape: &str, data: &[u8]| {
        let names = ("names.npy", simple(descr, shape, data));
        folder.read("a.npz", stored(&[x(), names]))
    };
    assert_eq!(read("<U3", "(1,)", &text("ab\0")).unwrap().names(), ["ab"]);
    assert_eq!(read(">U2", "(1,)", &big).unwrap().names(), ["ψ"]);
    refused(
        read("<U1", "(2,)", &text("ab")),
        &["'names'", "(2,)", "1 in all"],
    );
    refused(read("<U0", "(1,)", &[]), &["empty name"]);
    refused(read("<U0", "(99999999999,)", &[]), &["'names'"]);
    refused(read("<f8", "(1,)", &[0; 8]), &["'names'", "not text"]);
    refused(read("<U1", "(1,)", &[255; 4]), &["not a character"]);
}

#[test]
fn the_values_are_found_under_another_name() {
    let folder = Folder::new();
    let other = array("data.npy", "(2, 1)", &[1.0, 2.0]);
    let time = array("t.npy", "(2,)", &[1.0, 2.0]);
    let count = ("n.npy", simple("<i8", "(1,)", &[0; 8]));
    let notes = ("notes.txt", b"hello".to_vec());
    let arrays = [other.clone(), time, count, notes];
    assert_eq!(
        folder
            .read("a.npz", stored(&arrays[..1]))
            .unwrap()
            .samples(),
        2
    );
    let path = folder.put("a.npz", stored(&arrays));
    assert_eq!(
        read_with(&path, &dt(1.0)).unwrap().trajectories()[0].time(0),
        1.0
    );
    let two = [other, array("more.npy", "(2, 1)", &[1.0, 2.0])];
    let words = [
        "no array is named 'x'",
        "'data' of shape (2, 1)",
        "'more'",
        "name the values 'x'",
    ];
    refused(folder.read("a.npz", stored(&two)), &words);
    refused(
        folder.read("a.npz", stored(&arrays[2..])),
        &["'n' of shape (1,)", "'notes.txt'"],
    );
    refused(folder.read("a.npz", stored(&[])), &["empty"]);
}

#[test]
fn bombs_and_lies_are_refused() {
    let folder = Folder::new();
    let lie = simple("<f8", "(1000000000, 1)", &[0; 16]);
    let both = [CompressionMethod::Stored, CompressionMethod::Deflated];
    for method in both {
        let bytes = archive(method, &[("x.npy", lie.clone())]);
        refused(folder.read("a.npz", bytes), &["'x'", "truncated"]);
        let trailing = simple("<f8", "(1, 1)", &[0; 16]);
        let bytes = archive(method, &[("x.npy", trailing)]);
        refused(folder.read("a.npz", bytes), &["'x'", "trailing"]);
        let text = archive(method, &[("x.npy", b"hello, world".to_vec())]);
        refused(folder.read("a.npz", text), &["'x'", "not a NumPy array"]);
    }
    // Both headers claim that the entry unpacks to four gigabytes.
    let mut bytes = archive(CompressionMethod::Deflated, &[("x.npy", lie)]);
    let central = bytes.windows(4).position(|w| w == b"PK\x01\x02").unwrap();
    bytes[22..26].fill(0xfe);
    bytes[central + 24..central + 28].fill(0xfe);
    refused(
        folder.read("a.npz", bytes),
        &["'x'", "should have 4278124286 bytes"],
    );
}

#[test]
fn checksums_are_compared() {
    let folder = Folder::new();
    let mut bytes = stored(&[x()]);
    let place = bytes
        .windows(8)
        .position(|w| w == 2.0f64.to_le_bytes())
        .unwrap();
    bytes[place + 1] ^= 1;
    refused(folder.read("a.npz", bytes), &["'x'", "damaged"]);
}

#[test]
fn archives_too_large_for_memory_are_converted_row_by_row() {
    let folder = Folder::new();
    let (from, to) = (folder.path("a.npz"), folder.path("b.h5"));
    let little = ReadOptions {
        memory: Some(64),
        ..ReadOptions::default()
    };
    for ensemble in samples() {
        write_ensemble(&from, &ensemble).unwrap();
        convert_ensemble(&from, &to, &little, false, &Control::new()).unwrap();
        let (whole, streamed) = (plain(&from).unwrap(), plain(&to).unwrap());
        assert_same(&whole, &streamed, true, true);
        assert_eq!(whole.names(), streamed.names());
    }
    // A compressed archive of several trajectories with padding, and one whose checksum is wrong.
    let values: Vec<f64> = (0..30)
        .map(|i| if i % 10 > 6 { f64::NAN } else { f64::from(i) })
        .collect();
    let arrays = [
        array("x.npy", "(3, 10, 1)", &values),
        array("dt.npy", "()", &[0.5]),
    ];
    let content = archive(CompressionMethod::Deflated, &arrays);
    folder.put("a.npz", &content);
    convert_ensemble(&from, &to, &little, false, &Control::new()).unwrap();
    assert_same(&plain(&from).unwrap(), &plain(&to).unwrap(), true, true);
    let mut content = stored(&arrays);
    let place = content
        .windows(8)
        .position(|b| b == 26f64.to_le_bytes())
        .unwrap();
    content[place] ^= 1;
    folder.put("a.npz", &content);
    let damaged = convert_ensemble(&from, &to, &little, false, &Control::new());
    assert!(damaged.unwrap_err().to_string().contains("checksum"));
}

#[test]
fn the_unpacked_size_is_what_counts() {
    let folder = Folder::new();
    let zeros = simple("<f8", "(1000000, 1)", &f8(&vec![0.0; 1_000_000]));
    let content = archive(CompressionMethod::Deflated, &[("x.npy", zeros)]);
    assert!(content.len() < 20_000);
    folder.put("zeros.npz", &content);
    let read = |memory| {
        let options = ReadOptions {
            memory: Some(memory),
            ..dt(1.0)
        };
        read_with(folder.path("zeros.npz"), &options)
    };
    refused(
        read(1_000_000),
        &["GiB of values", "ergode convert --values-only"],
    );
    assert_eq!(read(8_000_000).unwrap().samples(), 1_000_000);
}

#[test]
fn an_array_is_chosen_by_name() {
    let folder = Folder::new();
    let arrays = [
        array("x.npy", "(2,)", &[1.0, 2.0]),
        array("v.npy", "(3,)", &[3.0, 4.0, 5.0]),
    ];
    folder.put("a.npz", stored(&arrays));
    let read = |name: &str| {
        let options = ReadOptions {
            array: Some(name.to_owned()),
            ..dt(1.0)
        };
        read_with(folder.path("a.npz"), &options)
    };
    assert_eq!(read("x").unwrap().samples(), 2);
    assert_eq!(read("v").unwrap().samples(), 3);
    refused(read("w"), &["has no array 'w'", "'x', 'v'"]);
}
