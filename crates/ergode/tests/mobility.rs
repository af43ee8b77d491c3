//! The constant mobility and the structure diagnostic against exact answers.

use ergode::lagged::{
    IntegralRule, LagGrid, LaggedConfig, LaggedSums, LocalPolynomial, Subsample, accumulate_lagged,
};
use ergode::mobility::{
    ConstantMobility, PhiMethod, StructureConfig, SymmetryClass, estimate_constant_mobility,
    estimate_structure, site_blocks,
};
use ergode::observable::{FunctionList, Functions};
use ergode::systems::{
    Affine2d, CoxIngersollRoss, ExactFields, OrnsteinUhlenbeck, OrnsteinUhlenbeckParameters,
    SoftSpin, System, generate,
};
use ergode::{Control, Ensemble, Times, Trajectory};
use ndarray::{Array2, ArrayView2};

use crate::support::{Z_BOUND, affine_reference, rotating, rows};

/// Coordinates, then the score.
fn coordinates_and_score<'a>(
    dim: usize,
    fields: &'a dyn ExactFields,
    scale: f64,
) -> impl Functions + 'a {
    let labels = (0..2 * dim)
        .map(|i| {
            if i < dim {
                format!("x{i}")
            } else {
                format!("s{}", i - dim)
            }
        })
        .collect();
    FunctionList::new(dim, labels, move |x: &[f64], out: &mut [f64]| {
        out[..dim].copy_from_slice(x);
        fields.score(x, &mut out[dim..]);
        out[dim..].iter_mut().for_each(|s| *s *= scale);
    })
}

fn statistics(
    data: &Ensemble,
    fields: &dyn ExactFields,
    scale: f64,
    grid: &LagGrid,
    subsample: Subsample,
) -> LaggedSums {
    let dim = data.dim();
    let labels = (0..dim).map(|i| format!("x{i}")).collect();
    let x = FunctionList::new(dim, labels, |x: &[f64], out: &mut [f64]| {
        out.copy_from_slice(x)
    });
    let config = LaggedConfig {
        subsample,
        ..LaggedConfig::default()
    };
    let both = coordinates_and_score(dim, fields, scale);
    accumulate_lagged(data, &x, &both, grid, &config, &Control::new()).unwrap()
}

fn largest_z(phi: &ConstantMobility, exact: ArrayView2<f64>) -> f64 {
    (&phi.value - &exact)
        .iter()
        .zip(&phi.error)
        .map(|(d, e)| (d / e).abs())
        .fold(0.0, f64::max)
}

fn methods() -> Vec<PhiMethod> {
    let polynomial = LocalPolynomial {
        degree: 3,
        bandwidth: 0.15,
    };
    vec![
        PhiMethod::Quadratic,
        PhiMethod::LocalPolynomial(polynomial),
        PhiMethod::SteinNormalised(polynomial),
        PhiMethod::Integral(IntegralRule::Simpson),
    ]
}

#[test]
fn phi_of_a_rotating_ou_has_its_antisymmetric_part() {
    for dim in [2, 5] {
        let system = rotating(dim);
        let mut protocol = system.protocol();
        protocol.simulate.time = 600.0;
        protocol.simulate.save_every = 0.03;
        protocol.simulate.trajectories = 40;
        let data = generate(&system, &protocol, &Control::new())
            .unwrap()
            .ensemble;
        let lags: Vec<f64> = (0..=20).map(|k| 0.03 * f64::from(k)).collect();
        let grid = LagGrid::for_ensemble(&data, &lags).unwrap();
        let sums = statistics(&data, &system, 1.0, &grid, Subsample::Stride(3));
        let exact = system.mobility_matrix();
        for method in methods() {
            let phi = estimate_constant_mobility(&sums, &method, SymmetryClass::None).unwrap();
            let (z, transposed) = (largest_z(&phi, exact), largest_z(&phi, exact.t()));
            println!(
                "{dim} {method:?}: z {z:.2}, transposed {transposed:.1}, error {:.4}",
                phi.error[[0, 1]]
            );
            assert!(z < Z_BOUND, "{method:?} {z}");
            assert!(transposed > 2.0 * Z_BOUND, "{method:?} {transposed}");
        }
        // A score that is 5 % too large passes through Φ, except in the Stein-normalised form,
        // where it cancels against nothing: Φ then carries the inverse factor.
        let wrong = statistics(&data, &system, 1.05, &grid, Subsample::Stride(3));
        let stein = estimate_constant_mobility(&wrong, &methods()[2], SymmetryClass::None).unwrap();
        let plain = estimate_constant_mobility(&wrong, &methods()[1], SymmetryClass::None).unwrap();
        let ratio = stein.value[[0, 0]] / plain.value[[0, 0]];
        assert!((ratio * 1.05 - 1.0).abs() < 0.03, "{ratio}");
    }
}

/// Φ = θγ for Cox-Ingersoll-Ross (`eq:cir_phi_recovery_results`).
#[test]
fn phi_of_cir_is_theta_gamma() {
    let system = CoxIngersollRoss::default();
    let mut protocol = system.protocol();
    protocol.simulate.time = 800.0;
    protocol.simulate.save_every = 0.04;
    let data = generate(&system, &protocol, &Control::new())
        .unwrap()
        .ensemble;
    let lags: Vec<f64> = (0..=16).map(|k| 0.04 * f64::from(k)).collect();
    let grid = LagGrid::for_ensemble(&data, &lags).unwrap();
    let sums = statistics(&data, &system, 1.0, &grid, Subsample::All);
    let exact = Array2::from_elem((1, 1), system.theta * system.gamma);
    for method in methods() {
        // The score has the tail 1/x, whose square ν = 2 makes barely integrable: the forms with
        // the score are noisier, not biased.
        let phi = estimate_constant_mobility(&sums, &method, SymmetryClass::None).unwrap();
        let z = largest_z(&phi, exact.view());
        println!(
            "{method:?}: {:.4} +- {:.4}",
            phi.value[[0, 0]],
            phi.error[[0, 0]]
        );
        assert!(z < Z_BOUND, "{method:?} {z}");
        assert!(
            largest_z(&phi, (&exact * 1.3).view()) > Z_BOUND,
            "30 % passes"
        );
    }
}

/// The affine system kept at random times of a fine grid gives the same Φ as even sampling.
#[test]
fn slow_phi_of_the_affine_system_from_even_and_uneven_samples() {
    let system = Affine2d::default();
    let reference = affine_reference();
    let semigroup = reference.grid().semigroup(&system, 8).unwrap();
    let exact = Array2::from_shape_fn((2, 2), |(i, j)| {
        semigroup.mean(|x| {
            let mut m = [0.0; 4];
            reference.mobility(x, &mut m);
            m[2 * i + j]
        })
    });
    println!("exact Phi {exact}");
    let mut protocol = system.protocol();
    protocol.simulate.time = 1000.0;
    protocol.simulate.save_every = 0.01;
    protocol.simulate.burn_in = 10.0;
    let even = generate(&system, &protocol, &Control::new())
        .unwrap()
        .ensemble;
    let thinned = (0..even.len())
        .map(|k| {
            let mut stream =
                ergode::random::Stream::new(5, ergode::random::Purpose::Analysis, k as u64);
            let all = rows(&even, k);
            let kept: Vec<usize> = (0..all.nrows())
                .filter(|_| stream.uniform() < 0.4)
                .collect();
            let values = Array2::from_shape_fn((kept.len(), 2), |(r, i)| all[[kept[r], i]]);
            let times: Vec<f64> = kept.iter().map(|r| 0.01 * *r as f64).collect();
            Trajectory::new(values, Times::Uneven(times.into()))
        })
        .collect();
    let uneven = Ensemble::new(thinned).unwrap();
    let lags: Vec<f64> = (0..=20).map(|k| 0.02 * f64::from(k)).collect();
    let even_grid = LagGrid::for_ensemble(&even, &lags).unwrap();
    let windows = LagGrid::windows(lags, 0.01).unwrap();
    let method = PhiMethod::LocalPolynomial(LocalPolynomial {
        degree: 3,
        bandwidth: 0.1,
    });
    let phi = |data: &Ensemble, grid: &LagGrid| {
        let sums = statistics(data, reference, 1.0, grid, Subsample::Stride(4));
        estimate_constant_mobility(&sums, &method, SymmetryClass::None).unwrap()
    };
    let (a, b) = (phi(&even, &even_grid), phi(&uneven, &windows));
    println!(
        "even {} +- {}\nuneven {} +- {}",
        a.value, a.error, b.value, b.error
    );
    assert!(largest_z(&a, exact.view()) < Z_BOUND);
    assert!(largest_z(&b, exact.view()) < Z_BOUND);
    assert!(largest_z(&a, exact.t()) > 3.0 * Z_BOUND && largest_z(&b, exact.t()) > 3.0 * Z_BOUND);
}

#[test]
fn phi_and_structure_of_the_spin_chain() {
    let system = SoftSpin::default();
    let mut protocol = system.protocol();
    protocol.simulate.dt = 5e-4;
    protocol.simulate.save_every = 0.0365;
    protocol.simulate.time = 200.0;
    protocol.simulate.trajectories = 64;
    protocol.simulate.dt = 0.0365 / 73.0;
    let data = generate(&system, &protocol, &Control::new())
        .unwrap()
        .ensemble;
    let lags: Vec<f64> = (0..=60).map(|k| 0.0365 * f64::from(k)).collect();
    let grid = LagGrid::for_ensemble(&data, &lags).unwrap();
    let sums = statistics(&data, &system, 1.0, &grid, Subsample::Stride(3));
    let (a, c) = system.moments().mean_mobility();
    // Precession bends the curves within a few saved lags: a quartic on a narrow window agrees with
    // ⟨M⟩, the quadratic on four lags is some percent off, and the integral form sees the curvature.
    let early = LagGrid::for_ensemble(&data, &lags[..=8]).unwrap();
    let short = statistics(&data, &system, 1.0, &early, Subsample::Stride(3));
    let z = |method: PhiMethod| {
        let phi = estimate_constant_mobility(&short, &method, SymmetryClass::Axial).unwrap();
        assert!(phi.clone().repaired(1e-6).unwrap().repair.is_none());
        let score = |i: usize, j: usize, exact: f64| {
            let (value, error) = (phi.value[[i, j]], phi.error[[i, j]]);
            println!("{method:?} {i}{j}: {value:.5} +- {error:.5}, exact {exact:.5}");
            ((value - exact) / error).abs()
        };
        [score(0, 0, a), score(1, 0, 0.0), score(2, 2, c)]
    };
    let quartic = PhiMethod::LocalPolynomial(LocalPolynomial {
        degree: 4,
        bandwidth: 2.0 * 0.0365,
    });
    assert!(z(quartic).iter().all(|z| *z < 4.0));
    let quadratic = z(PhiMethod::Quadratic);
    assert!(
        quadratic[0] > 4.0 && quadratic[1] < 4.0,
        "the bias of the quadratic is seen"
    );

    let config = StructureConfig {
        horizons: vec![20, 40, 60],
        ridge: 1e-6,
        rule: IntegralRule::Simpson,
    };
    let structure = estimate_structure(&sums, &config).unwrap();
    let groups = site_blocks(12, 3);
    let mean = |range: std::ops::Range<usize>| {
        let n = range.len() as f64;
        range.map(|g| structure.group_norm(&groups[g])).sum::<f64>() / n
    };
    let ratio = mean(12..144) / mean(0..12);
    println!("mean offsite block norm over mean onsite block norm: {ratio:.4}");
    assert!(ratio < 0.25, "{ratio}");
    let scores = structure.group_scores(&groups);
    let weakest_onsite = scores[..12].iter().copied().fold(f64::INFINITY, f64::min);
    let strongest_offsite = scores[12..].iter().copied().fold(0.0, f64::max);
    assert!(
        weakest_onsite > 1.5 * strongest_offsite,
        "{weakest_onsite} {strongest_offsite}"
    );
}

#[test]
fn structure_of_two_uncoupled_pairs_is_block_diagonal() {
    let drift = vec![
        vec![1.0, 0.8, 0.0, 0.0],
        vec![-0.8, 1.0, 0.0, 0.0],
        vec![0.0, 0.0, 1.5, 0.5],
        vec![0.0, 0.0, -0.2, 0.9],
    ];
    let diffusion = Array2::<f64>::eye(4)
        .outer_iter()
        .map(|r| r.to_vec())
        .collect();
    let system = OrnsteinUhlenbeck::new(OrnsteinUhlenbeckParameters {
        drift,
        diffusion,
        mean: vec![0.0; 4],
    })
    .unwrap();
    let mut protocol = system.protocol();
    protocol.simulate.time = 500.0;
    protocol.simulate.save_every = 0.1;
    protocol.simulate.trajectories = 40;
    let data = generate(&system, &protocol, &Control::new())
        .unwrap()
        .ensemble;
    let lags: Vec<f64> = (0..=12).map(|k| 0.1 * f64::from(k)).collect();
    let grid = LagGrid::for_ensemble(&data, &lags).unwrap();
    let sums = statistics(&data, &system, 1.0, &grid, Subsample::All);
    let config = StructureConfig {
        horizons: vec![4, 8, 12],
        ridge: 1e-8,
        rule: IntegralRule::Simpson,
    };
    let structure = estimate_structure(&sums, &config).unwrap();
    let exact = system.mobility_matrix();
    for (value, error) in structure
        .single
        .iter()
        .chain([&(structure.combined.clone(), structure.error.clone())])
    {
        let z = (value - &exact)
            .iter()
            .zip(error)
            .map(|(d, e)| (d / e).abs())
            .fold(0.0, f64::max);
        assert!(z < Z_BOUND, "{z}");
    }
    // The twin: the transposed mobility.
    let transposed = (&structure.combined - &exact.t())
        .iter()
        .zip(&structure.error)
        .map(|(d, e)| (d / e).abs())
        .fold(0.0, f64::max);
    assert!(transposed > 2.0 * Z_BOUND, "{transposed}");
    let support = structure.support(0.1);
    for ((i, j), seen) in support.indexed_iter() {
        let real = exact[[i, j]].abs() > 0.15;
        assert_eq!(*seen, real, "{i} {j} {}", structure.combined[[i, j]]);
    }
    assert!(structure.instability().iter().all(|v| *v < 0.2));
    assert!(
        structure
            .entry_scores()
            .iter()
            .all(|v| (0.0..=1.0).contains(v))
    );
}

#[test]
fn a_repair_says_what_it_changed() {
    let system = rotating(2);
    let mut protocol = system.protocol();
    protocol.simulate.time = 50.0;
    let data = generate(&system, &protocol, &Control::new())
        .unwrap()
        .ensemble;
    let lags: Vec<f64> = (0..=6).map(|k| 0.05 * f64::from(k)).collect();
    let grid = LagGrid::for_ensemble(&data, &lags).unwrap();
    let sums = statistics(&data, &system, 1.0, &grid, Subsample::All);
    let phi =
        estimate_constant_mobility(&sums, &PhiMethod::Quadratic, SymmetryClass::None).unwrap();
    let antisymmetric = phi.value[[1, 0]] - phi.value[[0, 1]];
    let fixed = phi.repaired(5.0).unwrap();
    let repair = fixed.repair.clone().unwrap();
    assert!(repair.raised == 2 && repair.smallest_eigenvalue < 5.0 && repair.relative_change > 0.5);
    assert!((fixed.value[[0, 0]] - 5.0).abs() < 1e-12);
    assert!((fixed.value[[1, 0]] - fixed.value[[0, 1]] - antisymmetric).abs() < 1e-12);
}

#[test]
fn statistics_of_the_wrong_layout_are_refused() {
    let system = rotating(2);
    let data = generate(&system, &system.protocol(), &Control::new())
        .unwrap()
        .ensemble;
    let labels = vec!["a".to_string(), "b".to_string()];
    let f = FunctionList::new(2, labels, |x: &[f64], out: &mut [f64]| {
        out.copy_from_slice(x)
    });
    let grid = LagGrid::for_ensemble(&data, &[0.0, 0.05, 0.1, 0.15]).unwrap();
    let sums = accumulate_lagged(
        &data,
        &f,
        &f,
        &grid,
        &LaggedConfig::default(),
        &Control::new(),
    )
    .unwrap();
    let stein = PhiMethod::Integral(IntegralRule::Simpson);
    assert!(estimate_constant_mobility(&sums, &stein, SymmetryClass::None).is_err());
    assert!(
        estimate_constant_mobility(&sums, &PhiMethod::Quadratic, SymmetryClass::Axial).is_err()
    );
    let late = LagGrid::for_ensemble(&data, &[0.05, 0.1, 0.15, 0.2]).unwrap();
    let sums = accumulate_lagged(
        &data,
        &f,
        &f,
        &late,
        &LaggedConfig::default(),
        &Control::new(),
    )
    .unwrap();
    let error =
        estimate_constant_mobility(&sums, &PhiMethod::Quadratic, SymmetryClass::None).unwrap_err();
    assert!(error.to_string().contains("lag 0"));
}
