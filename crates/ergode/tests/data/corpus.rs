//! Files that other programs wrote, which also seed the fuzzer.

use ergode::ReadOptions;

use super::{dt, read_with};

/// Every file of the corpus holds x(k, i, j) = 100 k + i + j / 4 at times i / 2, for two trajectories
/// of 12 and 10 rows and two coordinates.
#[test]
fn every_file_of_the_corpus_is_read() {
    let corpus = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let mut count = 0;
    for entry in std::fs::read_dir(corpus).unwrap() {
        let path = entry.unwrap().path();
        let options = match path.extension() {
            Some(extension) if extension == "npy" => dt(0.5),
            _ => ReadOptions::default(),
        };
        let ensemble = read_with(&path, &options).unwrap();
        assert_eq!(
            (ensemble.len(), ensemble.dim()),
            (2, 2),
            "{}",
            path.display()
        );
        let mut row = [0.0; 2];
        for (k, rows) in [(0, 12), (1, 10)] {
            let trajectory = &ensemble.trajectories()[k];
            assert_eq!(trajectory.len(), rows, "{}", path.display());
            for i in 0..rows {
                trajectory.row(i, &mut row);
                let x = (100 * k + i) as f64;
                assert_eq!(row, [x, x + 0.25], "{}", path.display());
                assert_eq!(trajectory.time(i), i as f64 / 2.0);
            }
        }
        count += 1;
    }
    assert_eq!(count, 20);
}
