//! Scores outside the samples.

use ergode::data::{Standardiser, Support};
use ergode::observable::{Expressions, LatticePotential, Monomials};
use ergode::random::{Purpose, Stream};
use ergode::score::{
    ClosedFormConfig, ClosedFormScore, Confinement, Gradients, Score, fit_potential_score,
    fit_score,
};
use ergode::systems::{Affine2d, CoxIngersollRoss, DoubleWell, SoftSpin, System};
use ergode::{BurnIn, Control, Ensemble};

use crate::support::{ou, sample};

fn potential(data: &Ensemble, degree: usize) -> ClosedFormScore {
    let config = ClosedFormConfig {
        degrees: vec![degree],
        ..ClosedFormConfig::default()
    };
    fit_potential_score(data, &config, &Control::new()).unwrap()
}

fn short(system: &dyn System, trajectories: usize, time: f64) -> Ensemble {
    let interval = system.protocol().simulate.save_every;
    sample(system, time, 5.0 * interval, trajectories, 11)
        .burn_in(BurnIn::Fraction(0.1))
        .unwrap()
}

fn unscaled(data: &Ensemble, components: Option<usize>) -> Confinement {
    let dim = data.dim();
    let standardiser = Standardiser::new(vec![0.0; dim], vec![1.0; dim]).unwrap();
    let support = match components {
        Some(components) => Support::lattice(data, &standardiser, components).unwrap(),
        None => Support::from_ensemble(data, &standardiser).unwrap(),
    };
    Confinement::new(standardiser, support).unwrap()
}

fn affine() -> Ensemble {
    short(&Affine2d::default(), 24, 300.0)
}

fn spins() -> ClosedFormScore {
    let data = sample(&SoftSpin::default(), 4.0, 0.5, 64, 4);
    let names = ["x", "y", "z"].map(String::from);
    let onsite = Monomials::new(&names, 1..=4).unwrap();
    let fields = Gradients::new(LatticePotential::new(12, onsite, &[1]).unwrap());
    let confinement = unscaled(&data, Some(3));
    let config = ClosedFormConfig::default();
    fit_score(
        &data,
        Box::new(fields),
        confinement,
        &config,
        &Control::new(),
    )
    .unwrap()
}

fn all() -> Vec<(&'static str, ClosedFormScore)> {
    let ou = ou();
    let cir = CoxIngersollRoss {
        gamma: 0.25,
        ..CoxIngersollRoss::default()
    };
    let root = short(&cir, 24, 200.0);
    let logarithm = Expressions::parse(&["log(x)", "x"], root.names(), &[]).unwrap();
    let cir = fit_score(
        &root,
        Box::new(Gradients::new(logarithm)),
        unscaled(&root, None),
        &ClosedFormConfig::default(),
        &Control::new(),
    );
    let affine = affine();
    vec![
        ("ou", potential(&short(&ou, 24, 200.0), 2)),
        ("cir", cir.unwrap()),
        (
            "double well",
            potential(&short(&DoubleWell::default(), 24, 200.0), 8),
        ),
        ("affine, degree 8", potential(&affine, 8)),
        ("affine, degree 10", potential(&affine, 10)),
        ("spins", spins()),
    ]
}

/// Half the length of the sampled box along each axis, found from outside, and its middle.
fn sampled_box(support: &Support) -> Vec<(f64, f64)> {
    let dim = support.dim();
    let mut end = vec![0.0; dim];
    (0..dim)
        .map(|i| {
            let mut reach = |sign: f64| {
                // Beyond the box the nearest point lies on its wall, for some value of the others.
                let mut stream = Stream::new(3, Purpose::Analysis, i as u64);
                let mut extreme = f64::NEG_INFINITY;
                for _ in 0..400 {
                    let mut z: Vec<f64> = (0..dim).map(|_| 8.0 * stream.uniform() - 4.0).collect();
                    z[i] = 1e3 * sign;
                    support.nearest(&z, &mut end);
                    extreme = extreme.max(sign * end[i]);
                }
                sign * extreme
            };
            let (low, high) = (reach(-1.0), reach(1.0));
            (0.5 * (low + high), 0.5 * (high - low))
        })
        .collect()
}

/// States in a box three times the sampled one, the first of them corners.
fn surroundings(support: &Support, count: usize) -> Vec<Vec<f64>> {
    let mut stream = Stream::new(4, Purpose::Analysis, 0);
    let axes = sampled_box(support);
    (0..count)
        .map(|k| {
            let corner = k < 64;
            let place = |(i, (middle, half)): (usize, &(f64, f64))| {
                let sign = if (k >> (i % 6)) & 1 == 1 { 1.0 } else { -1.0 };
                let u = if corner {
                    sign
                } else {
                    2.0 * stream.uniform() - 1.0
                };
                middle + 3.0 * half * u
            };
            axes.iter().enumerate().map(place).collect()
        })
        .collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// The score in standardised coordinates on a tile of states z, (D, n).
fn standardised(score: &ClosedFormScore, z: &[f64]) -> Vec<f64> {
    let standardiser = score.confinement().standardiser();
    let n = z.len() / score.dim();
    let (mut x, mut s) = (z.to_vec(), vec![0.0; z.len()]);
    for (i, row) in x.chunks_exact_mut(n).enumerate() {
        for z in row {
            *z = *z * standardiser.scale[i] + standardiser.mean[i];
        }
    }
    score.score(&x, &mut s);
    for (row, scale) in s.chunks_exact_mut(n).zip(&standardiser.scale) {
        row.iter_mut().for_each(|s| *s *= scale);
    }
    s
}

/// s·n ≤ −d outside; the number of states where the fit at the nearest point alone breaks this.
fn check_pull(name: &str, score: &ClosedFormScore) -> usize {
    let support = score.confinement().support();
    let (mut outside, mut unconfined) = (0, 0);
    let mut c = vec![0.0; support.dim()];
    for z in surroundings(support, 4000) {
        support.nearest(&z, &mut c);
        if c == z {
            continue;
        }
        outside += 1;
        let difference: Vec<f64> = z.iter().zip(&c).map(|(z, c)| z - c).collect();
        let distance = dot(&difference, &difference).sqrt();
        let bound = -distance * (1.0 - 1e-6);
        let along = dot(&standardised(score, &z), &difference) / distance;
        assert!(along <= bound, "{name} {z:?}: {along} {bound}");
        unconfined += usize::from(dot(&standardised(score, &c), &difference) / distance > bound);
    }
    println!("{name}: {outside} outside, {unconfined} would not be confined");
    assert!(outside > 1000, "{name}");
    unconfined
}

/// dz = s dt + √2 dW from the far corners returns to the samples and stays there.
fn check_return(name: &str, score: &ClosedFormScore) {
    let support = score.confinement().support();
    let (dim, axes) = (support.dim(), sampled_box(support));
    let starts = surroundings(support, 64);
    let n = starts.len();
    let mut tile: Vec<f64> = (0..dim)
        .flat_map(|i| starts.iter().map(move |z| z[i]))
        .collect();
    let mut stream = Stream::new(5, Purpose::Analysis, 0);
    // The onsite potential of the spins is stiff.
    let dt = if name == "spins" { 5e-4 } else { 2e-3 };
    let (mut inside, mut total, mut furthest) = (0.0, 0.0, 0.0f64);
    for step in 0..4000 {
        let s = standardised(score, &tile);
        for (z, s) in tile.iter_mut().zip(s) {
            *z += s * dt + (2.0 * dt).sqrt() * stream.normal();
        }
        if step < 3000 || step % 10 != 0 {
            continue;
        }
        for k in 0..n {
            let z: Vec<f64> = (0..dim).map(|i| tile[i * n + k]).collect();
            inside += f64::from(u8::from(support.contains(&z)));
            total += 1.0;
            let reach = z.iter().zip(&axes).map(|(z, (m, h))| (z - m).abs() / h);
            furthest = furthest.max(reach.fold(0.0, f64::max));
        }
    }
    let fraction = inside / total;
    println!("{name}: {fraction:.4} inside, furthest {furthest:.2} half-boxes");
    assert!(furthest < 1.3, "{name} {furthest}");
    assert!(fraction > 0.98, "{name} {fraction}");
}

#[test]
fn scores_pull_back_to_the_samples_and_langevin_runs_return() {
    for (name, score) in all() {
        let unconfined = check_pull(name, &score);
        // The twin: without the pull a polynomial breaks the bound somewhere around the samples.
        if name.starts_with("affine") {
            assert!(unconfined > 0, "{name}");
        }
        check_return(name, &score);
    }
}

#[test]
fn the_jacobian_matches_differences_inside_and_outside() {
    for score in [potential(&affine(), 8), spins()] {
        let support = score.confinement().support();
        let standardiser = score.confinement().standardiser();
        let dim = score.dim();
        let (mut checked, mut pulled) = (0, 0);
        let mut c = vec![0.0; dim];
        for z in surroundings(support, 400).into_iter().skip(64) {
            let mut x = z.clone();
            standardiser.inverse(&mut x);
            let mut jacobian = vec![0.0; dim * dim];
            assert!(score.jacobian(&x, &mut jacobian));
            let size = jacobian.iter().fold(1.0, |m: f64, v| m.max(v.abs()));
            for j in 0..dim {
                let moved = |step: f64| {
                    let (mut y, mut s) = (x.clone(), vec![0.0; dim]);
                    y[j] += step;
                    score.score(&y, &mut s);
                    s
                };
                // A step across a wall of a cell has no derivative; such coordinates are left out.
                let pairs = [1e-5, 5e-6].map(|h| (moved(h), moved(-h), h));
                let slope = |i: usize, k: usize| {
                    let (up, down, h) = &pairs[k];
                    (up[i] - down[i]) / (2.0 * h)
                };
                if (0..dim).any(|i| (slope(i, 0) - slope(i, 1)).abs() > 1e-5 * size) {
                    continue;
                }
                checked += 1;
                for i in 0..dim {
                    let exact = jacobian[dim * i + j];
                    assert!((slope(i, 1) - exact).abs() < 1e-4 * size, "{z:?} {i} {j}");
                }
            }
            // Twice the same state as a tile.
            let mut divergence = [0.0; 2];
            let tile: Vec<f64> = x.iter().flat_map(|x| [*x; 2]).collect();
            assert!(score.divergence(&tile, &mut divergence));
            let trace: f64 = jacobian.iter().step_by(dim + 1).sum();
            for divergence in divergence {
                assert!((divergence - trace).abs() < 1e-9 * (1.0 + trace.abs()));
            }
            support.nearest(&z, &mut c);
            pulled += usize::from(c != z);
        }
        println!("{checked} columns checked at 336 states, {pulled} outside");
        assert!(checked > 300 * dim && pulled > 100);
    }
}
