//! Folders and patterns: several files as one ensemble.

use ergode::{Control, ReadOptions, convert_ensemble, write_ensemble};

use super::{Folder, assert_same, dt, plain, read_with, refused, samples};

/// Writes three files of two coordinates and says what they hold together.
fn three(folder: &Folder) {
    std::fs::create_dir(folder.path("runs")).unwrap();
    folder.put("runs/run-2.csv", "t,x,y\n0,5,6\n1,7,8\n");
    folder.put("runs/run-1.csv", "t,x,y\n0,1,2\n1,3,4\n");
    folder.put("runs/run-10.csv", "id,t,x,y\na,0,9,9\nb,0,8,8\n");
}

#[test]
fn a_folder_or_a_pattern_is_an_ensemble_in_the_order_of_names() {
    let folder = Folder::new();
    three(&folder);
    for name in ["runs", "runs/*", "runs/run-*.csv", "r*s/run-*.c?v"] {
        let ensemble = plain(folder.path(name)).unwrap();
        assert_eq!(ensemble.len(), 4, "{name}");
        let mut row = [0.0; 2];
        let firsts = ensemble.trajectories().iter().map(|t| {
            t.row(0, &mut row);
            row[0]
        });
        assert_eq!(firsts.collect::<Vec<_>>(), [1.0, 9.0, 8.0, 5.0]);
    }
    assert_eq!(plain(folder.path("runs/run-?.csv")).unwrap().len(), 2);
}

#[test]
fn brackets_are_plain_characters_and_hidden_files_stay_hidden() {
    let folder = Folder::new();
    folder.put("a[1].csv", "t,x\n0,1\n1,2\n");
    folder.put("a1.csv", "t,x\n0,3\n1,4\n");
    folder.put(".a[1].csv", "t,x\n0,3\n1,4\n");
    assert_eq!(plain(folder.path("a[1]*")).unwrap().len(), 1);
    assert_eq!(plain(folder.path("**.csv")).unwrap().len(), 2);
}

#[test]
fn the_file_that_differs_is_named() {
    let folder = Folder::new();
    three(&folder);
    let read = |name: &str| plain(folder.path(name));
    folder.put("runs/run-3.csv", "t,x,y,z\n0,1,2,3\n");
    let words = [
        "run-3.csv",
        "3 coordinates (x, y, z)",
        "run-1.csv",
        "2 (x, y)",
    ];
    refused(read("runs"), &words);
    folder.put("runs/run-3.csv", "t,x,v\n0,1,2\n");
    refused(
        read("runs/*.csv"),
        &["run-3.csv", "(x, v)", "run-1.csv", "(x, y)"],
    );
    folder.put("runs/run-3.csv", "t,x,y\n0,1,inf\n");
    refused(read("runs"), &["run-3.csv", "line 2", "infinite"]);
    folder.put("runs/run-3.csv", "");
    refused(read("runs"), &["run-3.csv", "empty"]);
    folder.put("runs/run-3.csv", "t,x,y\n0,1,2\n");
    folder.put("runs/notes.txt", "text");
    refused(read("runs"), &["runs", "'notes.txt'", "pattern", "*.csv"]);
    refused(read("runs/*.npz"), &["*.npz", "matches no file"]);
    std::fs::create_dir(folder.path("empty")).unwrap();
    refused(read("empty"), &["empty", "empty folder"]);
}

#[test]
fn a_zarr_folder_is_one_file_under_any_name() {
    let folder = Folder::new();
    let ensemble = &samples()[7];
    write_ensemble(folder.path("a.zarr"), ensemble).unwrap();
    std::fs::create_dir(folder.path("all")).unwrap();
    std::fs::rename(folder.path("a.zarr"), folder.path("all/first")).unwrap();
    assert_same(
        ensemble,
        &plain(folder.path("all/first")).unwrap(),
        true,
        true,
    );
    write_ensemble(folder.path("all/second.csv"), ensemble).unwrap();
    assert_eq!(plain(folder.path("all")).unwrap().len(), 4);
}

#[test]
fn conversion_in_blocks_gives_what_reading_and_writing_do() {
    let folder = Folder::new();
    let formats = ["npz", "npy", "csv", "tsv", "parquet", "zarr", "h5", "nc"];
    for ensemble in samples() {
        write_ensemble(folder.path("a.npz"), &ensemble).unwrap();
        let even = ensemble.sampling_interval();
        for from in formats {
            let first = folder.path(&format!("b.{from}"));
            let long = ensemble.trajectories().iter().any(|t| t.len() > 1);
            // Arrays alone hold no times, and take gaps at the end for padding.
            let end_gap = ensemble
                .trajectories()
                .iter()
                .any(|t| t.is_gap(t.len() - 1));
            if from == "npy" && (even.is_none() || !long || end_gap) {
                continue;
            }
            let options = match from {
                "npy" => dt(even.unwrap()),
                _ => ReadOptions::default(),
            };
            let made = convert_ensemble(
                folder.path("a.npz"),
                &first,
                &ReadOptions::default(),
                from == "npy",
                &Control::new(),
            )
            .unwrap();
            assert_eq!(made.samples, ensemble.samples());
            assert_eq!(made.warnings, ensemble.warnings());
            assert_eq!(made.sampling_interval.is_some(), even.is_some() && long);
            let read = read_with(&first, &options).unwrap();
            assert_same(
                &ensemble,
                &read,
                from != "npy",
                !matches!(from, "csv" | "tsv"),
            );
            let back = folder.path("c.npz");
            convert_ensemble(&first, &back, &options, false, &Control::new()).unwrap();
            assert_same(&read, &plain(&back).unwrap(), true, true);
        }
    }
}

#[test]
fn several_files_are_converted_as_they_are_read() {
    let folder = Folder::new();
    three(&folder);
    let (from, to) = (folder.path("runs/*.csv"), folder.path("all.parquet"));
    let made =
        convert_ensemble(&from, &to, &ReadOptions::default(), false, &Control::new()).unwrap();
    assert_eq!((made.trajectories, made.samples), (4, 6));
    assert_same(&plain(&from).unwrap(), &plain(&to).unwrap(), true, true);
}

#[test]
fn a_format_of_values_alone_loses_nothing_unasked() {
    let folder = Folder::new();
    let convert = |name: &str, content: &str, values_only| {
        let (from, to) = (folder.put(name, content), folder.path("out.npy"));
        let options = ReadOptions::default();
        convert_ensemble(from, to, &options, values_only, &Control::new())
    };
    let named = "t,u,v\n0,1,2\n1,3,4\n";
    let late = "t,u\n5,1\n6,3\n";
    refused(
        convert("a.csv", named, false),
        &["out.npy", "the names u, v", ".npz", "--values-only"],
    );
    refused(convert("b.csv", late, false), &["the start time 5"]);
    assert!(!folder.path("out.npy").exists());
    for content in [named, late] {
        assert_eq!(convert("c.csv", content, true).unwrap().samples, 2);
    }
    let uneven = "t,u\n0,1\n1,3\n3,4\n";
    refused(convert("d.csv", uneven, true), &["out.npy", "uneven"]);
}

#[test]
fn a_conversion_can_be_stopped_and_leaves_nothing() {
    let folder = Folder::new();
    let path = folder.put("a.csv", "t,x\n0,1\n1,2\n");
    let control = Control::new();
    control.stop();
    let options = ReadOptions::default();
    let result = convert_ensemble(&path, folder.path("b.npz"), &options, false, &control);
    assert!(result.unwrap_err().is_interrupted());
    std::fs::remove_file(path).unwrap();
    assert!(folder.is_empty());
}
