//! What ensembles promise in memory.

use std::sync::Arc;

use ergode::data::{Segment, Standardiser};
use ergode::{BurnIn, Ensemble, SharedRows, Times, Trajectory, Values, write_ensemble};
use ndarray::{Array3, ShapeBuilder, array};

use super::{Folder, even, numbers, refused, samples, uneven};

fn address(trajectory: &Trajectory) -> *const f64 {
    let Values::F64(array) = trajectory.values() else {
        panic!("expected double precision");
    };
    array.as_ptr()
}

#[test]
fn segments_lie_between_gaps() {
    let nan = f64::NAN;
    let values = array![[nan], [1.0], [2.0], [nan], [nan], [3.0], [nan]];
    let ensemble =
        Ensemble::new(vec![even(values, 0.0, 1.0), even(numbers(2, 1), 0.0, 1.0)]).unwrap();
    let segment = |trajectory, rows| Segment { trajectory, rows };
    assert_eq!(
        ensemble.segments(),
        [segment(0, 1..3), segment(0, 5..6), segment(1, 0..2)]
    );
    assert_eq!(ensemble.samples(), 5);
    assert!(ensemble.trajectories()[0].is_gap(3) && !ensemble.trajectories()[0].is_gap(5));
}

#[test]
fn segments_are_merged_across_blocks() {
    let n = 200_000;
    let mut values = numbers(n, 3);
    values[[n / 2, 1]] = f64::NAN;
    let ensemble = Ensemble::from_array(values, 1.0).unwrap();
    let rows: Vec<_> = ensemble.segments().iter().map(|s| s.rows.clone()).collect();
    assert_eq!(rows, [0..n / 2, n / 2 + 1..n]);
    // One row of so many is nothing to warn of.
    assert!(ensemble.warnings().is_empty());
    let few =
        ndarray::Array2::from_shape_fn(
            (50, 3),
            |(k, i)| if (k, i) == (7, 1) { f64::NAN } else { k as f64 },
        );
    let few = Ensemble::from_array(few, 1.0).unwrap();
    assert!(few.warnings()[0].starts_with("1 rows have a NaN in some"));
}

#[test]
fn names_have_defaults_and_are_checked() {
    let names = |dim| {
        Ensemble::from_array(numbers(9, dim), 1.0)
            .unwrap()
            .names()
            .join(" ")
    };
    assert_eq!(names(1), "x");
    assert_eq!(names(3), "x y z");
    assert_eq!(names(4), "x1 x2 x3 x4");
    let named = |names: &[&str]| {
        let names = names.iter().map(|n| (*n).to_owned()).collect();
        Ensemble::from_array(numbers(9, 2), 1.0)
            .unwrap()
            .with_names(names)
    };
    assert_eq!(named(&["u", "v"]).unwrap().names(), ["u", "v"]);
    refused(named(&["u"]), &["1 names for 2 coordinates"]);
    refused(named(&["u", " "]), &["coordinate 1", "empty"]);
    refused(named(&["u", "u"]), &["both named 'u'"]);
}

#[test]
fn bad_trajectories_are_refused() {
    let new = Ensemble::new;
    refused(new(vec![]), &["no trajectories"]);
    refused(
        new(vec![even(numbers(0, 2), 0.0, 1.0)]),
        &["trajectory 0", "0 rows"],
    );
    refused(
        new(vec![even(numbers(2, 0), 0.0, 1.0)]),
        &["trajectory 0", "0 coordinates"],
    );
    let mixed = vec![even(numbers(2, 3), 0.0, 1.0), even(numbers(2, 2), 0.0, 1.0)];
    refused(new(mixed), &["trajectory 0 has 3", "trajectory 1 has 2"]);
    for bad in [f64::INFINITY, f64::NEG_INFINITY] {
        let mut values = numbers(5, 2);
        values[[3, 1]] = bad;
        let all = vec![even(numbers(5, 2), 0.0, 1.0), even(values, 0.0, 1.0)];
        refused(
            new(all),
            &["trajectory 1, row 3, coordinate 1", "infinite", "NaN"],
        );
    }
    for step in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        refused(
            new(vec![even(numbers(5, 2), 0.0, step)]),
            &["trajectory 0", "positive"],
        );
    }
    let times = |t: &[f64]| new(vec![uneven(numbers(3, 1), t)]);
    refused(times(&[0.0, 1.0]), &["3 rows but 2 times"]);
    refused(times(&[0.0, f64::NAN, 2.0]), &["row 1", "finite time"]);
    refused(times(&[0.0, 2.5, 1.5]), &["row 2", "1.5", "2.5", "sort"]);
    refused(times(&[0.0, 0.0, 1.0]), &["row 1", "is not later than"]);
    refused(
        Ensemble::from_array(array![[f64::NAN]], 1.0),
        &["no samples"],
    );
}

#[test]
fn nearly_even_times_become_even() {
    let times: Vec<f64> = (0..1000).map(|i| 5.0 + f64::from(i) * 0.1).collect();
    let ensemble = Ensemble::new(vec![uneven(numbers(1000, 1), &times)]).unwrap();
    assert!(matches!(
        ensemble.trajectories()[0].times(),
        Times::Even { start: 5.0, .. }
    ));
    assert!((ensemble.sampling_interval().unwrap() - 0.1).abs() < 1e-12);
    let stamps: Vec<f64> = (0..100).map(|i| 1.7e9 + f64::from(i) * 0.01).collect();
    let ensemble = Ensemble::new(vec![uneven(numbers(100, 1), &stamps)]).unwrap();
    assert!(ensemble.sampling_interval().is_some());
    let mut uneven_times = times;
    uneven_times[500] += 1e-5;
    let ensemble = Ensemble::new(vec![uneven(numbers(1000, 1), &uneven_times)]).unwrap();
    assert_eq!(ensemble.sampling_interval(), None);
}

#[test]
fn the_sampling_interval_is_common_or_none() {
    let both = |a, b| {
        let all = vec![even(numbers(2, 1), 0.0, a), even(numbers(2, 1), 7.0, b)];
        Ensemble::new(all).unwrap().sampling_interval()
    };
    assert_eq!(both(0.5, 0.5 + 1e-12), Some(0.5));
    assert_eq!(both(0.5, 0.6), None);
    let single = vec![uneven(numbers(1, 1), &[3.0]), even(numbers(2, 1), 0.0, 0.5)];
    assert_eq!(
        Ensemble::new(single).unwrap().sampling_interval(),
        Some(0.5)
    );
}

#[test]
fn rows_are_widened_and_copied_in_blocks() {
    let wide = numbers(6, 3);
    let ensemble = Ensemble::new(vec![even(wide.mapv(|v| v as f32), 0.0, 1.0)]).unwrap();
    for thinned in [&ensemble, &ensemble.thin(2).unwrap()] {
        let t = &thinned.trajectories()[0];
        let mut block = vec![0.0; 2 * 3];
        t.copy_rows(1..3, &mut block);
        let mut row = [0.0; 3];
        for i in 1..3 {
            t.row(i, &mut row);
            assert_eq!(row, block[(i - 1) * 3..i * 3]);
            let source = i * (6 / t.len());
            assert!((0..3).all(|j| row[j] == f64::from(wide[[source, j]] as f32)));
        }
    }
}

#[test]
fn three_dimensional_arrays_are_shared() {
    let array = Array3::from_shape_fn((4, 5, 2), |(k, i, j)| (k * 100 + i * 10 + j) as f64);
    let array = array.into_shared();
    let start = array.as_ptr();
    let ensemble = Ensemble::from_array3(array, 0.1).unwrap();
    for (k, t) in ensemble.trajectories().iter().enumerate() {
        assert_eq!(address(t), start.wrapping_add(10 * k));
    }
    let mut fortran = Array3::zeros((2, 3, 4).f());
    fortran[[1, 2, 3]] = 7.0;
    let ensemble = Ensemble::from_array3(fortran.into_shared(), 0.1).unwrap();
    let mut block = [0.0; 12];
    ensemble.trajectories()[1].copy_rows(0..3, &mut block);
    assert_eq!(block[11], 7.0);
}

#[test]
fn burn_in_shares_storage() {
    let ensemble = Ensemble::from_array(numbers(100, 2), 0.5).unwrap();
    let t = &ensemble.trajectories()[0];
    for (burn_in, dropped) in [
        (BurnIn::Fraction(0.1), 10),
        (BurnIn::Fraction(0.29), 29),
        (BurnIn::Fraction(0.0), 0),
        (BurnIn::Fraction(0.999), 99),
        (BurnIn::Time(1.5), 3),
        (BurnIn::Time(1.6), 4),
    ] {
        let shorter = ensemble.burn_in(burn_in).unwrap();
        let s = &shorter.trajectories()[0];
        assert_eq!(s.len(), 100 - dropped, "{burn_in:?}");
        assert_eq!(s.time(0), 0.5 * dropped as f64);
        assert_eq!(address(s), address(t).wrapping_add(2 * dropped));
    }
    let times = Ensemble::new(vec![uneven(numbers(3, 1), &[1.0, 2.0, 4.0])]).unwrap();
    let late = times.burn_in(BurnIn::Time(1.0)).unwrap();
    assert_eq!(late.trajectories()[0].time(0), 2.0);
    for bad in [
        BurnIn::Fraction(1.0),
        BurnIn::Fraction(f64::NAN),
        BurnIn::Time(-1.0),
    ] {
        refused(ensemble.burn_in(bad), &["burn-in", "out of range"]);
    }
    refused(
        ensemble.burn_in(BurnIn::Time(50.0)),
        &["all of trajectory 0", "100 rows"],
    );
}

#[test]
fn thinning_shares_storage_and_keeps_gaps_apart() {
    let ensemble = Ensemble::from_array(numbers(10, 2), 0.5).unwrap();
    let thinned = ensemble.thin(3).unwrap();
    let (t, s) = (&ensemble.trajectories()[0], &thinned.trajectories()[0]);
    assert_eq!((s.len(), thinned.sampling_interval()), (4, Some(1.5)));
    assert_eq!(address(s), address(t));
    refused(ensemble.thin(0), &["every 0th row"]);

    let mut values = numbers(10, 1);
    values[[4, 0]] = f64::NAN;
    let gap = Ensemble::from_array(values.clone(), 1.0)
        .unwrap()
        .thin(3)
        .unwrap();
    assert_eq!(gap.len(), 2);
    assert_eq!(gap.trajectories()[1].time(0), 6.0);
    let (mut a, mut b) = ([0.0], [0.0]);
    gap.trajectories()[0].row(1, &mut a);
    gap.trajectories()[1].row(0, &mut b);
    assert_eq!((a[0], b[0]), (values[[3, 0]], values[[6, 0]]));
    let kept = Ensemble::from_array(values, 1.0).unwrap().thin(2).unwrap();
    assert_eq!((kept.len(), kept.segments().len()), (1, 2));
}

#[test]
fn trajectories_are_selected() {
    let ensemble = &samples()[5];
    let chosen = ensemble.select(&[1, 0, 1]).unwrap();
    let lengths: Vec<_> = chosen.trajectories().iter().map(Trajectory::len).collect();
    assert_eq!(lengths, [9, 6, 9]);
    refused(ensemble.select(&[2]), &["no trajectory 2"]);
    refused(ensemble.select(&[]), &["no trajectories"]);
}

#[test]
fn warnings_point_at_suspicious_data() {
    assert!(
        Ensemble::from_array(numbers(50, 2), 1.0)
            .unwrap()
            .warnings()
            .is_empty()
    );
    let wide = Ensemble::from_array(numbers(3, 5), 1.0).unwrap().warnings();
    assert!(wide[0].contains("transposed"), "{wide:?}");
    let constant = array![[1.0, 5.0], [2.0, 5.0], [3.0, f64::NAN]];
    let warnings = Ensemble::from_array(constant, 1.0).unwrap().warnings();
    assert!(warnings[0].contains("'y' is constant"), "{warnings:?}");
    assert!(warnings[1].starts_with("1 rows"), "{warnings:?}");
}

#[test]
fn standardising_round_trips() {
    let mut values = numbers(10_000, 3);
    values.column_mut(2).mapv_inplace(|v| 1e9 + v);
    values[[17, 1]] = f64::NAN;
    let ensemble = Ensemble::from_array(values.clone(), 1.0).unwrap();
    let standardiser = Standardiser::from_ensemble(&ensemble).unwrap();
    let unit = ensemble.standardised(&standardiser);
    assert_eq!(unit.segments(), ensemble.segments());
    let again = Standardiser::from_ensemble(&unit).unwrap();
    for j in 0..3 {
        // A mean of 1e9 is itself rounded to 1e-7.
        let tolerance = if j == 2 { 2e-8 } else { 1e-14 };
        assert!(again.mean[j].abs() < tolerance, "{again:?}");
        assert!((again.scale[j] - 1.0).abs() < 1e-13, "{again:?}");
    }
    let mut block = vec![0.0; 30];
    unit.trajectories()[0].copy_rows(0..10, &mut block);
    standardiser.inverse(&mut block);
    for (x, y) in block.iter().zip(values.iter()) {
        assert!((x - y).abs() <= 1e-14 * y.abs().max(1.0));
    }
    standardiser.forward(&mut block);
    let json = serde_json::to_string(&standardiser).unwrap();
    let again: Standardiser = serde_json::from_str(&json).unwrap();
    for (a, b) in again.mean.iter().zip(&standardiser.mean) {
        // By default serde_json reads numbers to within one unit in the last place.
        assert!((a - b).abs() <= 4e-16 * b.abs());
    }
    assert!(serde_json::from_str::<Standardiser>(r#"{"mean":[0],"scale":[0]}"#).is_err());

    let single = Ensemble::new(vec![even(numbers(50, 2).mapv(|v| v as f32), 0.0, 1.0)]).unwrap();
    let unit = single.standardised(&Standardiser::from_ensemble(&single).unwrap());
    assert!(matches!(unit.trajectories()[0].values(), Values::F32(_)));
}

#[test]
fn constant_coordinates_cannot_be_standardised() {
    let mut values = numbers(1000, 2);
    values.column_mut(1).fill(0.1);
    let ensemble = Ensemble::from_array(values, 1.0).unwrap();
    refused(
        Standardiser::from_ensemble(&ensemble),
        &["'y'", "0.1", "leave it out"],
    );
    let tiny = Ensemble::from_array(array![[1e-300], [2e-300]], 1.0).unwrap();
    refused(Standardiser::from_ensemble(&tiny), &["'x'", "units"]);
}

/// Rows in the memory of another owner, spaced apart, are the same ensemble as an array, and stay there.
#[test]
fn shared_rows_are_used_where_they_are() {
    let (rows, dim, stride) = (300, 2, 3);
    let mut owned = numbers(rows, dim);
    owned[[100, 1]] = f64::NAN;
    let mut memory = vec![f64::INFINITY; rows * stride];
    for ((i, j), value) in owned.indexed_iter() {
        memory[i * stride + j] = *value;
    }
    let first = memory.as_ptr();
    let shared = SharedRows::new(Arc::new(memory), rows, dim, stride).unwrap();
    assert_eq!(shared.view().as_ptr(), first);
    let shared = Ensemble::new(vec![Trajectory::new(shared, Times::every(0.5))]).unwrap();
    let plain = Ensemble::from_array(owned, 0.5).unwrap();
    let folder = Folder::new();
    for (a, b) in [
        (shared.clone(), plain.clone()),
        (shared.thin(7).unwrap(), plain.thin(7).unwrap()),
        (
            shared.burn_in(BurnIn::Fraction(0.2)).unwrap(),
            plain.burn_in(BurnIn::Fraction(0.2)).unwrap(),
        ),
        (
            shared.standardised(&Standardiser::from_ensemble(&shared).unwrap()),
            plain.standardised(&Standardiser::from_ensemble(&plain).unwrap()),
        ),
    ] {
        assert_eq!(a.segments(), b.segments());
        assert_eq!(a.fingerprint(), b.fingerprint());
        for name in ["a.csv", "a.npy"] {
            let written = [&a, &b].map(|ensemble| {
                let path = folder.path(name);
                write_ensemble(&path, ensemble).unwrap();
                std::fs::read(path).unwrap()
            });
            assert!(written[0] == written[1], "{name}");
        }
    }
    let Values::Shared(thinned) = shared.thin(7).unwrap().trajectories()[0].values().clone() else {
        panic!("thinning copies nothing");
    };
    assert_eq!(thinned.view().as_ptr(), first);
    let owner = || Arc::new(vec![0.0; 10]);
    assert!(SharedRows::new(owner(), 4, 2, 2).is_ok());
    for (rows, dim, stride) in [(6, 2, 2), (2, 2, 1), (usize::MAX, 2, usize::MAX)] {
        refused(
            SharedRows::new(owner(), rows, dim, stride),
            &["without overlap"],
        );
    }
}
