//! Tables of text.

use ergode::{Ensemble, write_ensemble};

use super::{Folder, assert_same, even, numbers, plain, refused, samples};

#[test]
fn round_trips() {
    let folder = Folder::new();
    for name in ["a.csv", "a.tsv"] {
        for ensemble in samples() {
            let path = folder.path(name);
            write_ensemble(&path, &ensemble).unwrap();
            let again = plain(&path).unwrap();
            assert_same(&ensemble, &again, true, false);
            assert_eq!(ensemble.names(), again.names());
            std::fs::remove_file(path).unwrap();
            assert!(folder.is_empty());
        }
    }
}

#[test]
fn the_header_names_what_is_there() {
    let folder = Folder::new();
    let path = folder.path("a.csv");
    let first = |ensemble: &Ensemble| {
        write_ensemble(&path, ensemble).unwrap();
        std::fs::read_to_string(&path)
            .unwrap()
            .lines()
            .next()
            .unwrap()
            .to_owned()
    };
    assert_eq!(first(&samples()[2]), "t,x,y");
    assert_eq!(
        first(&samples()[7]),
        "trajectory,t,temperature,\"größe, in m\""
    );
    let single = Ensemble::new(vec![even(numbers(2, 1).mapv(|v| v as f32), 0.1, 0.5)]).unwrap();
    write_ensemble(&path, &single).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    assert_eq!(text, "t,x\n0.1,0.0\n0.6,0.064421766\n");
    let named = single.with_names(vec!["Time".into()]).unwrap();
    let other = folder.path("b.csv");
    refused(write_ensemble(&other, &named), &["named 'Time'", "rename"]);
    assert!(!other.exists());
}

#[test]
fn tables_without_header_hold_coordinates() {
    let folder = Folder::new();
    let e = folder
        .read(
            "a.csv",
            "1,2\r\n3, 4e0\r\n,nan\r\nNA,\" 5 \"\r\n7,+8\r\n\r\n\r\n",
        )
        .unwrap();
    assert_eq!((e.dim(), e.trajectories()[0].len(), e.samples()), (2, 5, 3));
    assert_eq!(e.names(), ["x", "y"]);
    assert_eq!(e.sampling_interval(), Some(0.5));
    assert!(e.warnings()[0].contains("1 rows"));
    refused(plain(folder.path("a.csv")), &["no times", "dt"]);
}

#[test]
fn special_columns_are_found_anywhere() {
    let folder = Folder::new();
    let text = "\u{feff}u,TIME,Run\n1,0,a\n2,0.5,a\n3,10,b\n4,10.5,b\n5,11.5,b\n";
    let e = plain(folder.put("a.csv", text)).unwrap();
    assert_eq!((e.names(), e.len()), (&["u".to_owned()][..], 2));
    assert_eq!(e.trajectories()[1].time(2), 11.5);
    let e = plain(folder.put("a.tsv", "# t\tx 1\n0\t1\n1\t2\n")).unwrap();
    assert_eq!(
        (e.names()[0].as_str(), e.sampling_interval()),
        ("x 1", Some(1.0))
    );
}

#[test]
fn blank_lines_are_gaps_only_where_they_can_be_fields() {
    let folder = Folder::new();
    let e = folder.read("a.csv", "\n1\n2\n\n4\n\n\n").unwrap();
    assert_eq!((e.trajectories()[0].len(), e.segments().len()), (4, 2));
    refused(
        folder.read("a.csv", "1,2\n\n3,4\n"),
        &["line 2 is blank", "remove"],
    );
}

#[test]
fn refusals_name_the_place() {
    let folder = Folder::new();
    let read = |text: &str| folder.read("a.csv", text);
    let words = ["a.csv", "line 3", "column 'y'", "\"abc\"", "not a number"];
    refused(read("x,y\n1,2\n3,abc\n"), &words);
    refused(read("1,2\n3,abc\n"), &["line 2, column '2'", "abc"]);
    refused(
        read("1,2\n3\n"),
        &["line 2 has 1 fields", "first row has 2"],
    );
    refused(read("1,2\n3,4,5\n"), &["line 2 has 3 fields"]);
    refused(read("x\n1\ninf\n"), &["line 3", "'x'", "infinite"]);
    refused(read("x\n1\n1e999\n"), &["line 3", "infinite"]);
    refused(read("t,x\n0,1\n,2\n"), &["line 3", "'t'", "not a time"]);
    refused(read("t,x\n1,1\n0,2\n"), &["a.csv", "row 1", "sort"]);
    let split = "id,x\na,1\nb,2\na,3\n";
    refused(read(split), &["line 4", "trajectory \"a\"", "sort"]);
    refused(read("t,time,x\n0,0,1\n"), &["line 1", "keep one of"]);
    refused(read("t,run\n0,0\n"), &["no column holds a coordinate"]);
    refused(read("x,y\n"), &["header but no rows"]);
    refused(read("\n\n"), &["no rows"]);
    refused(read(",x\n0,1\n"), &["coordinate 0", "empty name"]);
    refused(read("x,x\n0,1\n"), &["both named 'x'"]);
    let words = ["dt = 0.5", "1.0 apart"];
    refused(read("t,x\n0,1\n1,2\n2,3\n"), &words);
}

#[test]
fn dates_are_times_in_days() {
    let folder = Folder::new();
    let read = |content: &str| plain(folder.put("a.csv", content));
    let ensemble = read("time,x\n2012/02/28,1\n2012/02/29,2\n2012/03/01,3\n").unwrap();
    assert_eq!(ensemble.sampling_interval(), Some(1.0));
    assert_eq!(ensemble.units().unwrap().time, "days");
    let ensemble = read("t,x\n2020-01-01T00:00Z,1\n2020-01-01T06:00Z,2\n").unwrap();
    assert_eq!(ensemble.sampling_interval(), Some(0.25));
    refused(
        read("time,x\n2012-02-28,1\n59,2\n"),
        &["line 3", "59", "is not a date"],
    );
    refused(
        read("time,x\n0,1\n2012-02-28,2\n"),
        &["line 3", "is a date, but the first time is a number"],
    );
    refused(
        read("time,x\n2012-02-30,1\n"),
        &["line 2", "is not a number"],
    );
}
