//! The support of the samples.

use ergode::Ensemble;
use ergode::data::{Standardiser, Support};
use ergode::random::{Purpose, Stream};
use ndarray::Array2;

/// One trajectory of `count` rows from `draw`.
fn cloud(count: usize, dim: usize, seed: u64, draw: impl Fn(&mut Stream, &mut [f64])) -> Ensemble {
    let mut stream = Stream::new(seed, Purpose::Analysis, 0);
    let mut values = Array2::zeros((count, dim));
    for mut row in values.rows_mut() {
        draw(&mut stream, row.as_slice_mut().unwrap());
    }
    Ensemble::from_array(values, 1.0).unwrap()
}

fn banana(stream: &mut Stream, x: &mut [f64]) {
    x[0] = 2.0 * stream.normal();
    x[1] = x[0] * x[0] + 0.5 * stream.normal();
}

fn clusters(stream: &mut Stream, x: &mut [f64]) {
    let centre = if stream.uniform() < 0.5 { -4.0 } else { 4.0 };
    x.iter_mut().for_each(|x| *x = centre + stream.normal());
}

fn normals(stream: &mut Stream, x: &mut [f64]) {
    x.iter_mut().for_each(|x| *x = stream.normal());
}

fn supported(data: &Ensemble) -> (Standardiser, Support) {
    let standardiser = Standardiser::from_ensemble(data).unwrap();
    let support = Support::from_ensemble(data, &standardiser).unwrap();
    (standardiser, support)
}

/// Every sample is inside; nearest() is inside, idempotent, and the identity inside.
fn check(data: &Ensemble, standardiser: &Standardiser, support: &Support) {
    let dim = data.dim();
    let (mut z, mut c, mut again) = (vec![0.0; dim], vec![0.0; dim], vec![0.0; dim]);
    for row in 0..data.trajectories()[0].len() {
        data.trajectories()[0].row(row, &mut z);
        standardiser.forward(&mut z);
        assert!(support.contains(&z), "{z:?}");
        support.nearest(&z, &mut c);
        assert_eq!(z, c);
    }
    let mut stream = Stream::new(9, Purpose::Analysis, 1);
    let mut outside = 0;
    for _ in 0..20_000 {
        z.iter_mut()
            .for_each(|z| *z = 20.0 * stream.uniform() - 10.0);
        support.nearest(&z, &mut c);
        assert!(support.contains(&c), "{z:?} -> {c:?}");
        support.nearest(&c, &mut again);
        assert_eq!(c, again);
        outside += usize::from(!support.contains(&z));
    }
    assert!(outside > 10_000);
    let text = serde_json::to_string(support).unwrap();
    assert_eq!(&serde_json::from_str::<Support>(&text).unwrap(), support);
}

#[test]
fn samples_are_inside_and_the_nearest_point_is_too() {
    for dim in 1..=5 {
        let data = cloud(4000, dim, dim as u64, normals);
        let (standardiser, support) = supported(&data);
        check(&data, &standardiser, &support);
    }
    for draw in [banana, clusters] {
        let data = cloud(20_000, 2, 7, draw);
        let (standardiser, support) = supported(&data);
        check(&data, &standardiser, &support);
    }
}

#[test]
fn empty_corners_are_outside() {
    let inside = |data: &Ensemble, x: [f64; 2]| {
        let (standardiser, support) = supported(data);
        let mut z = x;
        standardiser.forward(&mut z);
        support.contains(&z)
    };
    let data = cloud(20_000, 2, 3, banana);
    for (x, expected) in [
        ([0.0, 0.0], true),
        ([3.0, 9.0], true),
        ([0.0, 9.0], false),
        ([5.0, 0.0], false),
        ([-5.0, 0.0], false),
    ] {
        assert_eq!(inside(&data, x), expected, "{x:?}");
    }
    let data = cloud(20_000, 2, 4, clusters);
    for (x, expected) in [
        ([-4.0, -4.0], true),
        ([4.0, 4.0], true),
        ([0.0, 0.0], false),
        ([-4.0, 4.0], false),
        ([4.0, -4.0], false),
    ] {
        assert_eq!(inside(&data, x), expected, "{x:?}");
    }
    // The box of the same samples, which is all that more than three dimensions have, holds them.
    let data = cloud(20_000, 4, 4, clusters);
    let (_, support) = supported(&data);
    assert!(support.contains(&[0.0; 4]));
}

#[test]
fn sites_of_a_lattice_share_their_cells() {
    // Unit vectors on six sites: the centre of the ball is outside at every site.
    let data = cloud(4000, 18, 5, |stream, x| {
        for spin in x.as_chunks_mut::<3>().0 {
            let m: [f64; 3] = std::array::from_fn(|_| stream.normal());
            let norm = m.iter().map(|m| m * m).sum::<f64>().sqrt();
            *spin = m.map(|m| m / norm);
        }
    });
    let standardiser = Standardiser::new(vec![0.0; 18], vec![1.0; 18]).unwrap();
    let support = Support::lattice(&data, &standardiser, 3).unwrap();
    check(&data, &standardiser, &support);
    let mut z: Vec<f64> = (0..18)
        .map(|i| 0.98 * f64::from(u8::from(i % 3 == 2)))
        .collect();
    assert!(support.contains(&z));
    z[11] = 0.0;
    assert!(!support.contains(&z));
    assert!(Support::lattice(&data, &standardiser, 4).is_err());
    assert!(Support::lattice(&data, &standardiser, 5).is_err());
}

#[test]
fn a_damaged_file_is_refused() {
    let (_, support) = supported(&cloud(500, 1, 6, normals));
    let text = serde_json::to_string(&support).unwrap();
    for (from, to) in [("\"dim\":1", "\"dim\":0"), ("\"cells\":[", "\"cells\":[3,")] {
        let damaged = text.replacen(from, to, 1);
        assert_ne!(text, damaged);
        assert!(serde_json::from_str::<Support>(&damaged).is_err(), "{to}");
    }
}

#[test]
fn a_million_samples_take_well_under_a_second() {
    let data = cloud(1_000_000, 2, 8, banana);
    let standardiser = Standardiser::from_ensemble(&data).unwrap();
    let start = std::time::Instant::now();
    let support = Support::from_ensemble(&data, &standardiser).unwrap();
    let elapsed = start.elapsed();
    println!("{} coordinates, {elapsed:.1?}", support.dim());
    assert!(elapsed.as_secs_f64() < 1.0);
}
