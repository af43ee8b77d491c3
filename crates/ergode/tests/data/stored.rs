//! Rows that stay in their file.

use std::fs::{self, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;

use ergode::data::Standardiser;
use ergode::finding::FindingKind;
use ergode::lagged::{LagGrid, LaggedConfig, Subsample, accumulate_lagged};
use ergode::mobility::{RecipeConfig, fit_mobility_recipe};
use ergode::observable::Monomials;
use ergode::systems::{Affine2d, System, generate};
use ergode::{
    BurnIn, CheckConfig, Control, Ensemble, ReadOptions, Recipe, Values, check_ensemble,
    write_ensemble,
};
use ndarray::{Array2, Array3, Axis, array, concatenate};

use super::{Folder, dt, numbers, read_with, refused};

/// Reads a file of which nothing may be held in memory, sampled every 0.5.
fn stored(path: &Path) -> Ensemble {
    let ensemble = read_with(path, &without_memory()).unwrap();
    let in_file = |t: &ergode::Trajectory| matches!(t.values(), Values::Stored(_));
    assert!(ensemble.trajectories().iter().all(in_file));
    ensemble
}

fn without_memory() -> ReadOptions {
    ReadOptions {
        memory: Some(0),
        ..dt(0.5)
    }
}

/// A NumPy file of this type and shape.
fn npy(descr: &str, shape: &str, data: Vec<u8>) -> Vec<u8> {
    let text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
    let length = (10 + text.len() + 1).next_multiple_of(64) - 10;
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((length as u16).to_le_bytes());
    bytes.extend(format!("{text:<0$}\n", length - 1).bytes());
    bytes.extend(data);
    bytes
}

/// Whether two ensembles agree in every bit of times and values, however these are read.
fn alike(a: &Ensemble, b: &Ensemble) -> bool {
    let shapes = |e: &Ensemble| e.trajectories().iter().map(|t| t.len()).collect::<Vec<_>>();
    if a.dim() != b.dim() || shapes(a) != shapes(b) || a.segments() != b.segments() {
        return false;
    }
    let dim = a.dim();
    a.trajectories().iter().zip(b.trajectories()).all(|(a, b)| {
        let (mut x, mut y) = (vec![0.0; dim * a.len()], vec![0.0; dim * a.len()]);
        let bits = |x: &[f64]| x.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        a.copy_rows(0..a.len(), &mut x);
        b.copy_rows(0..b.len(), &mut y);
        let together = bits(&x) == bits(&y);
        // Forwards, backwards and in leaps.
        let n = a.len();
        let order = (0..n)
            .chain((0..n).rev())
            .chain((0..n).map(|i| i * 7919 % n));
        let one_by_one = order.into_iter().all(|i| {
            let (mut x, mut y) = (vec![0.0; dim], vec![0.0; dim]);
            a.row(i, &mut x);
            b.row(i, &mut y);
            bits(&x) == bits(&y) && a.is_gap(i) == b.is_gap(i) && a.time(i) == b.time(i)
        });
        together && one_by_one
    })
}

/// The parts of ensembles that share their rows.
fn views(ensemble: &Ensemble) -> Vec<Ensemble> {
    let scales = Standardiser::from_ensemble(ensemble).unwrap();
    let (fit, test) = ensemble.split(0.25, 3.0).unwrap();
    let thinned = ensemble.thin(3).unwrap();
    vec![
        ensemble.burn_in(BurnIn::Fraction(0.3)).unwrap(),
        ensemble.select(&[0]).unwrap(),
        ensemble.standardised(&scales),
        thinned
            .standardised(&scales)
            .burn_in(BurnIn::Time(20.0))
            .unwrap(),
        thinned.thin(5).unwrap(),
        thinned,
        fit,
        test,
    ]
}

#[test]
fn rows_in_a_file_are_those_in_memory() {
    let folder = Folder::new();
    let (rows, dim) = (5000, 3);
    let values = numbers(rows, dim);
    let flat = || values.iter();
    let files = [
        npy(
            "<f8",
            "(5000, 3)",
            flat().flat_map(|v| v.to_le_bytes()).collect(),
        ),
        npy(
            ">f8",
            "(5000, 3)",
            flat().flat_map(|v| v.to_be_bytes()).collect(),
        ),
        npy(
            "<f4",
            "(5000, 3)",
            flat().flat_map(|v| (*v as f32).to_le_bytes()).collect(),
        ),
        npy(
            ">f4",
            "(5000, 3)",
            flat().flat_map(|v| (*v as f32).to_be_bytes()).collect(),
        ),
        npy(
            "<f8",
            "(15000,)",
            flat().flat_map(|v| v.to_le_bytes()).collect(),
        ),
        npy(
            "<f8",
            "(2, 2500, 3)",
            flat().flat_map(|v| v.to_le_bytes()).collect(),
        ),
    ];
    for (k, file) in files.into_iter().enumerate() {
        let path = folder.put(&format!("{k}.npy"), file);
        let (large, small) = (stored(&path), read_with(&path, &dt(0.5)).unwrap());
        assert!(alike(&large, &small), "file {k}");
        assert_eq!(large.fingerprint(), small.fingerprint());
        for (v, (large, small)) in views(&large).iter().zip(views(&small)).enumerate() {
            assert!(alike(large, &small), "file {k}, view {v}");
        }
    }
}

/// The twin: rows from a wrong place or at a wrong distance are noticed.
#[test]
fn a_wrong_offset_or_stride_is_noticed() {
    let folder = Folder::new();
    let values = numbers(4000, 2);
    let ensemble = Ensemble::from_array(values.clone(), 0.5).unwrap();
    let path = folder.path("x.npy");
    write_ensemble(&path, &ensemble).unwrap();
    assert!(alike(&stored(&path), &ensemble));
    let bytes = fs::read(&path).unwrap();
    for shift in [8, 16] {
        let mut wrong = bytes.clone();
        let at = bytes.len() - 8 * values.len();
        wrong.copy_within(at..bytes.len() - shift, at + shift);
        let wrong = stored(&folder.put("wrong.npy", wrong));
        assert!(!alike(&wrong, &ensemble), "shifted by {shift}");
    }
    let every = |step: usize| stored(&path).thin(step).unwrap();
    let short = |step: usize| {
        let cut = values.select(Axis(0), &(0..4000).step_by(step).collect::<Vec<_>>());
        Ensemble::from_array(cut, 0.5 * step as f64).unwrap()
    };
    assert!(alike(&every(4), &short(4)));
    assert!(!alike(
        &every(4),
        &short(2).burn_in(BurnIn::Fraction(0.5)).unwrap()
    ));
}

#[test]
fn gaps_and_padding_are_found() {
    let folder = Folder::new();
    let mut values = Array3::from_shape_fn((3, 700, 2), |(k, i, j)| (k * i + j) as f64);
    values[[0, 10, 1]] = f64::NAN;
    values.slice_mut(ndarray::s![1, 500.., ..]).fill(f64::NAN);
    values
        .slice_mut(ndarray::s![2, 300..302, ..])
        .fill(f64::NAN);
    let data = values.iter().flat_map(|v| v.to_le_bytes()).collect();
    let path = folder.put("x.npy", npy("<f8", "(3, 700, 2)", data));
    let (large, small) = (stored(&path), read_with(&path, &dt(0.5)).unwrap());
    assert_eq!(large.trajectories()[1].len(), 500);
    assert!(alike(&large, &small) && large.warnings() == small.warnings());
    assert!(alike(&large.thin(7).unwrap(), &small.thin(7).unwrap()));
    assert!(alike(&large.bridged().unwrap(), &small.bridged().unwrap()));
    values[[1, 3, 0]] = f64::INFINITY;
    let data = values.iter().flat_map(|v| v.to_le_bytes()).collect();
    let path = folder.put("x.npy", npy("<f8", "(3, 700, 2)", data));
    let words = ["x.npy", "trajectory 1, row 3, coordinate 0", "infinite"];
    refused(read_with(path, &without_memory()), &words);
}

/// A record of a reference system.
fn record(trajectories: usize, time: f64) -> Ensemble {
    let system = Affine2d::default();
    let mut protocol = system.protocol();
    protocol.simulate.trajectories = trajectories;
    protocol.simulate.time = time;
    generate(&system, &protocol, &Control::new())
        .unwrap()
        .ensemble
}

/// The same record in memory and in a file, with its own sampling interval.
fn both(folder: &Folder, ensemble: &Ensemble) -> [Ensemble; 2] {
    let path = folder.path("record.npy");
    write_ensemble(&path, ensemble).unwrap();
    let read = |memory: u64| {
        let options = ReadOptions {
            dt: ensemble.sampling_interval(),
            memory: Some(memory),
            ..ReadOptions::default()
        };
        read_with(&path, &options).unwrap()
    };
    [read(1 << 40), read(0)]
}

#[test]
fn statistics_fits_and_checks_are_the_same_to_the_last_bit() {
    let (folder, control) = (Folder::new(), Control::new());
    let [small, large] = both(&folder, &record(3, 500.0));
    assert!(matches!(
        large.trajectories()[0].values(),
        Values::Stored(_)
    ));
    let interval = small.sampling_interval().unwrap();
    let grid = LagGrid::even(interval, vec![0, 1, 7, 90]).unwrap();
    let functions = Monomials::new(small.names(), 1..=3).unwrap();
    for subsample in [
        Subsample::All,
        Subsample::Stride(17),
        Subsample::Random {
            fraction: 0.1,
            seed: 3,
        },
    ] {
        let config = LaggedConfig {
            subsample,
            ..LaggedConfig::default()
        };
        let sums = |data: &Ensemble| {
            accumulate_lagged(data, &functions, &functions, &grid, &config, &control).unwrap()
        };
        assert_eq!(sums(&small), sums(&large));
        // The twin: one row later is another record.
        let later = large.burn_in(BurnIn::Time(interval)).unwrap();
        assert_ne!(sums(&small), sums(&later));
    }
    for recipe in [Recipe::Semigroup, Recipe::Weak] {
        let config = RecipeConfig {
            recipe,
            degrees: Some((1, 1)),
            ..RecipeConfig::default()
        };
        let fit = |data: &Ensemble| {
            let found = fit_mobility_recipe(data, &config, &control).unwrap().fit;
            found.mobility.coefficients().to_vec()
        };
        assert_eq!(fit(&small), fit(&large));
    }
    let check = |data: &Ensemble| check_ensemble(data, &CheckConfig::default(), &control).unwrap();
    assert_eq!(check(&small), check(&large));
}

/// A check takes trends and constant coordinates out, in a file as the rows are read.
#[test]
fn trends_and_constants_are_taken_out_of_rows_in_a_file() {
    let (folder, control) = (Folder::new(), Control::new());
    let data = record(1, 800.0);
    let n = data.samples();
    let mut x = vec![0.0; 2 * n];
    data.trajectories()[0].copy_rows(0..n, &mut x);
    let x = Array2::from_shape_vec((n, 2), x).unwrap();
    let trend = Array2::from_shape_fn((n, 1), |(i, _)| 4.0 * i as f64 / n as f64);
    let constant = Array2::from_elem((n, 1), 2.5);
    let mut all = concatenate![Axis(1), constant, x];
    all.slice_mut(ndarray::s![.., 1..2]).scaled_add(1.0, &trend);
    all.row_mut(n / 3).assign(&array![f64::NAN, 1.0, 1.0]);
    let data = Ensemble::from_array(all, data.sampling_interval().unwrap()).unwrap();
    let [small, large] = both(&folder, &data);
    let check = |data: &Ensemble| check_ensemble(data, &CheckConfig::default(), &control).unwrap();
    let report = check(&large);
    assert!(report.findings.iter().any(|f| f.kind == FindingKind::Trend));
    assert_eq!(check(&small), report);
}

/// A file that is cut, or written to, while it is in use ends every pass with an error.
#[test]
fn a_file_that_changes_while_it_is_in_use_is_noticed() {
    let (folder, control) = (Folder::new(), Control::new());
    let grid = LagGrid::even(0.5, vec![0, 1]).unwrap();
    let outcomes = |data: &Ensemble| {
        let functions = Monomials::new(data.names(), 1..=2).unwrap();
        let config = LaggedConfig::default();
        let sums = accumulate_lagged(data, &functions, &functions, &grid, &config, &control);
        let check = check_ensemble(data, &CheckConfig::default(), &control);
        let scales = Standardiser::from_ensemble(data);
        let copy = write_ensemble(folder.path("copy.npz"), data);
        let fit = fit_mobility_recipe(data, &RecipeConfig::default(), &control);
        let all = [
            sums.map(|_| ()),
            check.map(|_| ()),
            scales.map(|_| ()),
            copy,
            fit.map(|_| ()),
        ];
        assert!(data.fingerprint() == data.fingerprint());
        all.map(|outcome| outcome.map_err(|error| error.to_string()))
    };
    let path = folder.path("x.npy");
    let values = Array2::from_shape_fn((60_000, 2), |(i, j)| ((i * (j + 2)) as f64 * 0.37).sin());
    write_ensemble(&path, &Ensemble::from_array(values, 0.5).unwrap()).unwrap();
    let whole = stored(&path);
    Standardiser::from_ensemble(&whole).unwrap();

    let open = || OpenOptions::new().write(true).open(&path).unwrap();
    let length = open().metadata().unwrap().len();
    open().set_len(length / 2).unwrap();
    for outcome in outcomes(&whole) {
        let message = outcome.unwrap_err();
        assert!(
            message.contains("x.npy") && message.contains("in use"),
            "{message}"
        );
    }
    assert!(!folder.path("copy.npz").exists());
    // A part that is still there counts as little: the record is not what was checked.
    let beginning = whole.split(0.9, 0.0).unwrap().0;
    assert!(Standardiser::from_ensemble(&beginning).is_err());

    let values = Array2::from_shape_fn((60_000, 2), |(i, j)| ((i * (j + 2)) as f64 * 0.37).sin());
    write_ensemble(&path, &Ensemble::from_array(values, 0.5).unwrap()).unwrap();
    let whole = stored(&path);
    Standardiser::from_ensemble(&whole).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(20));
    let mut file = open();
    file.seek(SeekFrom::Start(length / 2)).unwrap();
    file.write_all(&[1; 8]).unwrap();
    drop(file);
    assert!(Standardiser::from_ensemble(&whole).is_err());
    // A new file under the name leaves the old one to those who read it.
    let other = stored(&path);
    write_ensemble(&path, &Ensemble::from_array(numbers(9, 2), 0.5).unwrap()).unwrap();
    Standardiser::from_ensemble(&other).unwrap();
}

#[test]
fn what_must_be_held_in_memory_is_refused_where_it_is_too_large() {
    let folder = Folder::new();
    let ensemble = Ensemble::from_array(numbers(5000, 2), 0.5).unwrap();
    for name in ["x.npz", "x.csv", "x.parquet", "x.h5", "x.nc", "x.zarr"] {
        let path = folder.path(name);
        write_ensemble(&path, &ensemble).unwrap();
        let options = |memory| ReadOptions {
            memory: Some(memory),
            ..ReadOptions::default()
        };
        refused(
            read_with(&path, &options(10_000)),
            &[name, "ergode convert", ".npy"],
        );
        read_with(&path, &options(40_000)).unwrap();
    }
    let integers = (0..8000u64).flat_map(|v| v.to_le_bytes()).collect();
    let path = folder.put("i.npy", npy("<i8", "(4000, 2)", integers));
    refused(read_with(path, &without_memory()), &["ergode convert"]);
}

#[test]
fn files_of_an_ensemble_share_the_memory() {
    let folder = Folder::new();
    for name in ["a.npy", "b.npy"] {
        let ensemble = Ensemble::from_array(numbers(1000, 2), 0.5).unwrap();
        write_ensemble(folder.path(name), &ensemble).unwrap();
    }
    let read = |memory| {
        let options = ReadOptions {
            memory: Some(memory),
            ..dt(0.5)
        };
        read_with(folder.path("*.npy"), &options).unwrap()
    };
    let (small, large) = (read(40_000), read(20_000));
    let in_files = |e: &Ensemble| {
        let stored = |t: &&ergode::Trajectory| matches!(t.values(), Values::Stored(_));
        e.trajectories().iter().filter(stored).count()
    };
    assert_eq!((in_files(&small), in_files(&large)), (0, 2));
    assert!(alike(&small, &large));
}
