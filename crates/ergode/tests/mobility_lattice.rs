//! The mobility on a ring of spins: exact identities, then data.

use std::sync::Arc;

use ergode::data::Standardiser;
use ergode::lagged::{IntegralRule, LagGrid, LaggedConfig, accumulate_lagged};
use ergode::mobility::{
    Equations, LatticeConfig, LatticeMobility, LatticeScore, LatticeSums, LatticeWeak,
    LinearMobility, Mobility, MobilityConfig, MobilityFit, ScoreCoefficients, SpinNeighbourhood,
    TensorBasis, TimeForm, accumulate_lattice, fit_mobility, neighbourhood_families,
};
use ergode::observable::{
    Expressions, Functions, LatticeAverage, Library, Monomials, RadialBasis, SpinFamilies,
};
use ergode::random::{Purpose, Stream};
use ergode::systems::{ExactFields, SoftSpin};
use ergode::{Control, Ensemble, Trajectory};
use ndarray::{Array1, Array2, Axis, s};

use crate::support::{Estimate, Z_BOUND, identity, largest, names, rows, sample};

/// The saving interval of the paper.
const INTERVAL: f64 = 0.0365;

fn component_names() -> Vec<String> {
    ["x", "y", "z"].map(String::from).to_vec()
}

fn lags(last: usize) -> Vec<f64> {
    (0..=last).map(|k| k as f64 * INTERVAL).collect()
}

/// c_0, c_⊥, c_∥, c_×.
fn truth(system: &SoftSpin) -> Array1<f64> {
    let SoftSpin {
        epsilon,
        alpha_perp,
        alpha_par,
        gamma,
        temperature,
        ..
    } = *system;
    Array1::from(vec![epsilon, alpha_perp, alpha_par, -gamma]) * temperature
}

/// β of the four spin fields.
fn exact_score(system: &SoftSpin) -> Array1<f64> {
    let SoftSpin {
        lambda,
        m_star,
        exchange,
        anisotropy,
        temperature,
        ..
    } = *system;
    Array1::from(vec![
        lambda * m_star * m_star,
        -lambda,
        exchange,
        anisotropy,
    ]) / temperature
}

fn states(count: usize, dim: usize, seed: u64) -> Vec<f64> {
    let mut stream = Stream::new(seed, Purpose::Analysis, 0);
    (0..count * dim).map(|_| stream.normal()).collect()
}

/// A quadratic block with random coefficients.
fn random_block(seed: u64) -> LinearMobility {
    let basis = TensorBasis::polynomial(&component_names(), &identity(3), 2, 2, None).unwrap();
    assert_eq!(basis.len(), 90);
    let coefficients = Array1::from(states(basis.len(), 1, seed));
    LinearMobility::new(basis, coefficients).unwrap()
}

#[test]
fn the_spin_span_holds_the_exact_mobility() {
    let system = SoftSpin::default();
    let onsite = LinearMobility::new(TensorBasis::spin(), truth(&system)).unwrap();
    let mobility = LatticeMobility::new(system.sites, onsite).unwrap();
    let dim = mobility.dim();
    let (n, x) = (3, states(3, dim, 1));
    let mut tensors = vec![0.0; dim * dim * n];
    let (mut factors, mut divergence) = (tensors.clone(), vec![0.0; dim * n]);
    mobility.mobility(&x, &mut tensors);
    mobility.div_mobility(&x, &mut divergence);
    mobility.noise_factor(&x, &mut factors).unwrap();
    for s in 0..n {
        let state: Vec<f64> = (0..dim).map(|i| x[i * n + s]).collect();
        let (mut m, mut div) = (vec![0.0; dim * dim], vec![0.0; dim]);
        ExactFields::mobility(&system, &state, &mut m);
        ExactFields::div_mobility(&system, &state, &mut div);
        let at = |tile: &[f64], k: usize| tile[k * n + s];
        assert!(largest((0..dim).map(|i| at(&divergence, i) - div[i])) < 1e-12);
        for k in 0..dim * dim {
            assert!((at(&tensors, k) - m[k]).abs() < 1e-12, "entry {k}");
            let (i, j) = (k / dim, k % dim);
            let product: f64 = (0..dim)
                .map(|l| at(&factors, i * dim + l) * at(&factors, j * dim + l))
                .sum();
            assert!(
                (product - 0.5 * (m[k] + m[j * dim + i])).abs() < 1e-12,
                "factor {k}"
            );
        }
    }
}

#[test]
fn divergences_on_the_ring_are_those_of_finite_differences() {
    let mobility = LatticeMobility::new(4, random_block(2)).unwrap();
    let dim = mobility.dim();
    let x = states(1, dim, 3);
    let (mut plain, mut transposed) = (vec![0.0; dim], vec![0.0; dim]);
    mobility.div_mobility(&x, &mut plain);
    mobility.div_transpose(&x, &mut transposed);
    let h = 1e-4;
    let (mut rows, mut columns) = (vec![0.0; dim], vec![0.0; dim]);
    for j in 0..dim {
        for sign in [1.0, -1.0] {
            let mut moved = x.clone();
            moved[j] += sign * h;
            let mut m = vec![0.0; dim * dim];
            mobility.mobility(&moved, &mut m);
            for i in 0..dim {
                rows[i] += sign * m[i * dim + j] / (2.0 * h);
                columns[i] += sign * m[j * dim + i] / (2.0 * h);
            }
        }
    }
    assert!(largest(rows.iter().zip(&plain).map(|(a, b)| a - b)) < 1e-8);
    assert!(largest(columns.iter().zip(&transposed).map(|(a, b)| a - b)) < 1e-8);
    assert!(largest(rows.iter().zip(&transposed).map(|(a, b)| a - b)) > 0.1);
}

#[test]
fn positive_and_indefinite_blocks_are_told_apart() {
    let system = SoftSpin::default();
    let data = sample(&system, 2.0, INTERVAL, 2, 1);
    let violation = |coefficients: Array1<f64>| {
        let onsite = LinearMobility::new(TensorBasis::spin(), coefficients).unwrap();
        let mobility = LatticeMobility::new(system.sites, onsite).unwrap();
        mobility.psd_violation(&data).unwrap()
    };
    assert_eq!(violation(truth(&system)), 0.0);
    assert_eq!(violation(-truth(&system)), 1.0);
}

fn spin_sums(data: &Ensemble, config: &LatticeConfig) -> Arc<LatticeSums> {
    let families = SpinNeighbourhood::from_ensemble(data).unwrap();
    let sums = accumulate_lattice(data, &identity(3), &families, config, &Control::new());
    Arc::new(sums.unwrap())
}

fn equations(
    sums: &Arc<LatticeSums>,
    score: &LatticeScore,
    coefficients: ScoreCoefficients,
    basis: &TensorBasis,
) -> LatticeWeak {
    let time = TimeForm::Integral(IntegralRule::Simpson);
    LatticeWeak::new(sums, score, coefficients, basis, &time).unwrap()
}

/// The correlations are those of all functions on the whole ring, averaged over translations.
#[test]
fn correlations_are_translation_averages() {
    let system = SoftSpin {
        sites: 7,
        ..SoftSpin::default()
    };
    let data = sample(&system, 8.0, INTERVAL, 2, 4);
    let radial = RadialBasis::from_moments([1.0, 1.1, 1.5, 2.5, 5.0]).unwrap();
    let config = LatticeConfig {
        separations: vec![0, 1, -1],
        test_degree: 1,
        lags: lags(2),
        ..LatticeConfig::default()
    };
    let control = Control::new();
    let near = SpinNeighbourhood::new(radial).unwrap();
    let sums = accumulate_lattice(&data, &identity(3), &near, &config, &control).unwrap();
    let score = LatticeScore::spin(system.sites).unwrap();
    let known = ScoreCoefficients::Known(exact_score(&system));
    let equations = equations(&Arc::new(sums), &score, known, &TensorBasis::spin());

    let all = SpinFamilies::new(system.sites, radial).unwrap();
    let coordinates = Monomials::coordinates(data.names()).unwrap();
    let grid = LagGrid::for_ensemble(&data, &lags(2)).unwrap();
    let plain = LaggedConfig::default();
    let totals = accumulate_lagged(&data, &all, &coordinates, &grid, &plain, &control).unwrap();
    let totals = totals.total();
    let ring = LatticeAverage {
        sites: system.sites,
        components: 3,
    };
    let covariance = |lag: usize, family: usize, c: usize, d: usize, r: isize| {
        // The average counts the earlier site from the later one.
        let place = (-r).rem_euclid(system.sites as isize) as usize;
        let mean = |values: Array1<f64>, first: usize| -> f64 {
            (0..system.sites)
                .map(|i| values[first + 3 * i])
                .sum::<f64>()
                / system.sites as f64
        };
        let average = ring.average(totals.correlation(lag).view()).unwrap();
        let future = mean(totals.future_mean(lag), family * system.sites * 3 + c);
        average[[family, c, d, place]] - future * mean(totals.initial_mean(lag), d)
    };
    // Rows at each separation: the three components, then eleven families of three.
    let observed = equations.observed();
    let width = 3 + near.len();
    for (step, (place, r)) in [(0, (0, 0)), (1, (1, 1)), (0, (2, -1))] {
        for (family, c, n) in [(0, 0, 0), (4, 1, 2), (6, 2, 1), (10, 0, 1)] {
            let expected: f64 = (0..3)
                .map(|d| {
                    let change =
                        covariance(step + 1, family, c, d, r) - covariance(step, family, c, d, r);
                    equations.tests()[[n, 1 + d]] * change
                })
                .sum();
            let row = place * width + 3 + family * 3 + c;
            let value = observed[(step * 3 * width + row) * 3 + n];
            assert!(
                (value - expected).abs() < 1e-11,
                "{value} {expected} at {r}"
            );
        }
    }
}

/// At lag zero ⟨φ_m B_n⟩ = −⟨∇φ_m·M∇φ_n⟩ by parts, for any block M where the score is right.
#[test]
fn slow_the_operator_is_the_dirichlet_form_at_lag_zero() {
    const DRAWS: u64 = 10;
    let system = SoftSpin {
        sites: 6,
        ..SoftSpin::default()
    };
    let data = sample(&system, 30.0, INTERVAL, 48, 5);
    let config = LatticeConfig {
        separations: vec![0],
        test_degree: 2,
        lags: lags(1),
        ..LatticeConfig::default()
    };
    let score = LatticeScore::spin(system.sites).unwrap();
    let control = Control::new();
    let nothing = Expressions::parse(&[], &names(9), &[]).unwrap();
    let own = Monomials::new(&component_names(), 1..=2).unwrap();
    // Differences of each draw in each trajectory: right, with a score too soft, with Mᵀ for M, without
    // the divergence.
    let mut differences = vec![[const { Vec::new() }; 4]; DRAWS as usize];
    for k in 0..data.len() {
        let data = data.select(&[k]).unwrap();
        let sums = accumulate_lattice(&data, &identity(3), &nothing, &config, &control).unwrap();
        let sums = Arc::new(sums);
        let basis = random_block(0).basis().clone();
        let with_score = |factor: f64| {
            let mut beta = exact_score(&system);
            beta[1] *= factor;
            equations(&sums, &score, ScoreCoefficients::Known(beta), &basis)
        };
        let (right, wrong) = (with_score(1.0), with_score(0.5));
        // B is linear in the score, and without one it is the divergence.
        let none = ScoreCoefficients::Known(Array1::zeros(exact_score(&system).len()));
        let none = equations(&sums, &score, none, &basis);
        let operators = [&right, &wrong, &none].map(|equations| equations.operators(0).unwrap());
        for draw in 0..DRAWS {
            let block = random_block(100 + draw);
            let a = Array1::from(states(9, 1, 200 + draw));
            let n = Array1::from(states(9, 1, 300 + draw));
            let b = right.tests().slice(s![.., 1..]).t().dot(&n);
            let contract = |o: &ndarray::Array3<f64>| -> f64 {
                let sum = o
                    .indexed_iter()
                    .map(|((m, f, k), v)| a[m] * n[k] * block.coefficients()[f] * v);
                sum.sum()
            };
            let [form, transposed] = dirichlet(&data, &own, &block, &a, &b);
            let [right, wrong, divergence] = operators.each_ref().map(contract);
            let values = [
                right + form,
                wrong + form,
                right + transposed,
                right - divergence + form,
            ];
            for (list, value) in differences[draw as usize].iter_mut().zip(values) {
                list.push(value);
            }
        }
    }
    let worst = |which: usize| largest(differences.iter().map(|d| Estimate::new(&d[which]).z(0.0)));
    let [right, softer, transposed, without] = [0, 1, 2, 3].map(worst);
    println!(
        "z {right:.2}, softer {softer:.1}, transposed {transposed:.1}, without divergence {without:.1}"
    );
    assert!(right < Z_BOUND);
    assert!(softer > 2.0 * Z_BOUND && transposed > 2.0 * Z_BOUND && without > Z_BOUND);
}

/// ⟨∇φ_m·M∇φ_n⟩ and the same with Mᵀ, for φ_m = Σ a_α z^α and φ_n = Σ b_α z^α over samples and sites.
fn dirichlet(
    data: &Ensemble,
    own: &Monomials,
    block: &LinearMobility,
    a: &Array1<f64>,
    b: &Array1<f64>,
) -> [f64; 2] {
    let (mut sums, mut count) = ([0.0; 2], 0.0);
    let mut gradients = vec![0.0; 27];
    for row in rows(data, 0).rows() {
        for m in row.as_slice().unwrap().chunks_exact(3) {
            own.gradients(m, &mut gradients);
            let slope = |weights: &Array1<f64>| -> [f64; 3] {
                std::array::from_fn(|c| (0..9).map(|k| weights[k] * gradients[3 * k + c]).sum())
            };
            let (left, right, tensor) = (slope(a), slope(b), block.at(m));
            for i in 0..3 {
                for j in 0..3 {
                    sums[0] += left[i] * tensor[3 * i + j] * right[j];
                    sums[1] += left[i] * tensor[3 * j + i] * right[j];
                }
            }
            count += 1.0;
        }
    }
    sums.map(|sum| sum / count)
}

/// The same score as four spin fields and as the gradient of a potential.
#[test]
fn two_ways_to_write_a_score_give_the_same_operators() {
    let system = SoftSpin::default();
    let data = sample(&system, 5.0, INTERVAL, 2, 6);
    let config = LatticeConfig {
        distances: vec![2, 1],
        lags: lags(2),
        ..LatticeConfig::default()
    };
    let sums = spin_sums(&data, &config);
    let spin = LatticeScore::spin(system.sites).unwrap();
    let potential = LatticeScore::potential(system.sites, &component_names(), 4, &[1, 2]).unwrap();
    let SoftSpin {
        lambda,
        m_star,
        exchange,
        anisotropy,
        temperature,
        ..
    } = system;
    let mut beta = Vec::new();
    for e in Monomials::new(&component_names(), 1..=4)
        .unwrap()
        .exponents()
    {
        let even = e.iter().all(|e| e % 2 == 0);
        let largest = *e.iter().max().unwrap();
        beta.push(match (even, e.iter().sum::<u32>()) {
            (true, 2) => {
                let easy = if e[2] == 2 { anisotropy } else { 0.0 };
                0.5 * (lambda * m_star * m_star - 2.0 * exchange + easy)
            }
            (true, 4) => -0.25 * lambda * if largest == 4 { 1.0 } else { 2.0 },
            _ => 0.0,
        });
    }
    beta.extend([exchange, exchange, exchange, 0.0, 0.0, 0.0]);
    let beta = Array1::from(beta) / temperature;
    let basis = random_block(0).basis().clone();
    let one = equations(
        &sums,
        &spin,
        ScoreCoefficients::Known(exact_score(&system)),
        &basis,
    );
    let other = equations(
        &sums,
        &potential,
        ScoreCoefficients::Known(beta.clone()),
        &basis,
    );
    let gap = |a: &LatticeWeak, b: &LatticeWeak| {
        largest(&a.operators(1).unwrap() - &b.operators(1).unwrap())
    };
    assert!(gap(&one, &other) < 1e-9);
    let mut weaker = beta;
    let last = weaker.len() - 4;
    weaker[last] *= 0.9;
    let weaker = equations(&sums, &potential, ScoreCoefficients::Known(weaker), &basis);
    assert!(gap(&one, &weaker) > 1e-3);
}

/// Without a ridge, which would shift the coefficients.
fn unbiased() -> MobilityConfig {
    MobilityConfig {
        ridges: vec![0.0],
        ..MobilityConfig::default()
    }
}

fn physics_informed(data: &Ensemble, sites: usize, fixed: Option<&Array1<f64>>) -> MobilityFit {
    let config = LatticeConfig {
        separations: vec![0],
        test_degree: 1,
        lags: lags(4),
        ..LatticeConfig::default()
    };
    let control = Control::new();
    let sums = spin_sums(data, &config);
    let score = LatticeScore::spin(sites).unwrap();
    let coefficients = match fixed {
        Some(beta) => ScoreCoefficients::Known(beta.clone()),
        None => {
            let fitted = score.accumulate(data, &identity(3), &config.statistics, &control);
            ScoreCoefficients::Fitted(fitted.unwrap())
        }
    };
    let equations = equations(&sums, &score, coefficients, &TensorBasis::spin());
    fit_mobility(&equations, &unbiased(), &control).unwrap()
}

/// Trajectories made from those of an ensemble, row by row.
fn changed(data: &Ensemble, change: impl Fn(Array2<f64>) -> Array2<f64>) -> Vec<Trajectory> {
    let trajectories = data.trajectories().iter().enumerate();
    let changed = trajectories.map(|(k, trajectory)| {
        Trajectory::new(change(rows(data, k).to_owned()), trajectory.times().clone())
    });
    changed.collect()
}

#[test]
fn slow_the_spin_span_is_recovered_and_defects_are_seen() {
    let system = SoftSpin::default();
    let data = sample(&system, 80.0, INTERVAL, 36, 7);
    let z = |fit: &MobilityFit| -> Vec<f64> {
        let each = fit.coefficients().zip(truth(&system));
        each.map(|((_, c, error), truth)| (c - truth) / error)
            .collect()
    };
    let fit = physics_informed(&data, system.sites, None);
    println!("{:?}", fit.coefficients().collect::<Vec<_>>());
    println!("z {:.2?}, chi2 {:.2}", z(&fit), fit.chi2_per_equation);
    assert!(largest(z(&fit)) < Z_BOUND);
    assert!((0.5..2.0).contains(&fit.chi2_per_equation));
    let relative = |k: usize| (fit.jackknife.values[k] / truth(&system)[k] - 1.0).abs();
    assert!(relative(1) < 0.06 && relative(3) < 0.1);

    // Where the score is known the precession is far better known: its error is that of the score.
    let known = physics_informed(&data, system.sites, Some(&exact_score(&system)));
    println!("known score z {:.2?}", z(&known));
    assert!(largest(z(&known)) < Z_BOUND);
    assert!(known.jackknife.errors()[3] < 0.3 * fit.jackknife.errors()[3]);

    // Twins: a record run backwards, and one with its mirror image m → −m, under which the density is
    // invariant and the precession is not.
    let backwards = changed(&data, |rows| rows.slice(s![..;-1, ..]).to_owned());
    let backwards = Ensemble::new(backwards).unwrap();
    let fit = physics_informed(&backwards, system.sites, None);
    println!("backwards z {:.1?}", z(&fit));
    assert!(z(&fit)[3].abs() > 2.0 * Z_BOUND && fit.jackknife.values[3] > 0.0);
    let mirrored = changed(&data, |rows| {
        let gap = Array2::from_elem((1, rows.ncols()), f64::NAN);
        ndarray::concatenate![Axis(0), rows, gap, -&rows]
    });
    let fit = physics_informed(&Ensemble::new(mirrored).unwrap(), system.sites, None);
    println!("{:?}", fit.coefficients().collect::<Vec<_>>());
    println!("with its inversion z {:.1?}", z(&fit));
    assert!(z(&fit)[3].abs() > 2.0 * Z_BOUND && fit.jackknife.values[3].abs() < 0.1);
}

#[test]
fn the_onsite_block_is_found_without_physics() {
    let system = SoftSpin::default();
    let data = sample(&system, 100.0, INTERVAL, 36, 8);
    let control = Control::new();
    let config = LatticeConfig {
        separations: vec![0],
        test_degree: 3,
        lags: lags(4),
        ..LatticeConfig::default()
    };
    let families = neighbourhood_families(3).unwrap();
    let sums = accumulate_lattice(&data, &identity(3), &families, &config, &control).unwrap();
    let score = LatticeScore::potential(system.sites, &component_names(), 4, &[1]).unwrap();
    let fitted = score
        .accumulate(&data, &identity(3), &config.statistics, &control)
        .unwrap();
    let basis = random_block(0).basis().clone();
    let coefficients = ScoreCoefficients::Fitted(fitted);
    let equations = equations(&Arc::new(sums), &score, coefficients, &basis);
    let fit = fit_mobility(&equations, &unbiased(), &control).unwrap();
    let site = SoftSpin { sites: 1, ..system };
    let points = [
        [0.9, 0.0, 0.3],
        [0.0, -0.8, 0.6],
        [-0.5, 0.5, -0.7],
        [0.1, 0.2, 1.0],
    ];
    let worst = |diffusion: f64, current: f64| {
        let mut exact = vec![0.0; 9];
        largest(points.iter().flat_map(|m| {
            ExactFields::mobility(&site, m, &mut exact);
            let (value, error) = (fit.mobility.at(m), fit.mobility_error(m));
            let z = |k: usize| {
                let (own, other) = (exact[k], exact[k % 3 * 3 + k / 3]);
                let (d, r) = (0.5 * (own + other), 0.5 * (own - other));
                (value[k] - diffusion * d - current * r) / error[[k / 3, k % 3]]
            };
            (0..9).map(z).collect::<Vec<_>>()
        }))
    };
    let [right, more, backwards] = [worst(1.0, 1.0), worst(1.3, 1.0), worst(1.0, -1.0)];
    println!("z {right:.2}, 30 % more D {more:.1}, currents reversed {backwards:.1}");
    assert!(right < Z_BOUND && more > 2.0 * Z_BOUND && backwards > 2.0 * Z_BOUND);
}

#[test]
fn rings_do_not_depend_on_the_number_of_threads() {
    let system = SoftSpin::default();
    let data = sample(&system, 5.0, INTERVAL, 3, 9);
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        pool.unwrap().install(|| {
            let fit = physics_informed(&data, system.sites, None);
            (fit.jackknife.values.clone(), fit.jackknife.errors())
        })
    };
    assert_eq!(run(1), run(3));
}

#[test]
fn what_does_not_fit_together_is_refused() {
    let system = SoftSpin::default();
    let data = sample(&system, 5.0, INTERVAL, 2, 10);
    let control = Control::new();
    let config = LatticeConfig {
        lags: lags(2),
        ..LatticeConfig::default()
    };
    let sums = spin_sums(&data, &config);
    let time = TimeForm::Integral(IntegralRule::Simpson);
    let refused = |score: &LatticeScore, coefficients: ScoreCoefficients, basis: &TensorBasis| {
        let result = LatticeWeak::new(&sums, score, coefficients, basis, &time);
        result.unwrap_err().to_string()
    };
    let spin = LatticeScore::spin(system.sites).unwrap();
    let exact = || ScoreCoefficients::Known(exact_score(&system));
    let few = ScoreCoefficients::Known(Array1::zeros(3));
    assert!(refused(&spin, few, &TensorBasis::spin()).contains("one per field"));
    let far = LatticeScore::potential(system.sites, &component_names(), 1, &[2]).unwrap();
    let zeros = ScoreCoefficients::Known(Array1::zeros(6));
    assert!(refused(&far, zeros, &TensorBasis::spin()).contains("LatticeConfig::distances"));
    let cubic = TensorBasis::polynomial(&component_names(), &identity(3), 3, 0, None).unwrap();
    assert!(refused(&spin, exact(), &cubic).contains("is too low for this mobility"));
    let scaled = Standardiser::new(vec![0.0; 3], vec![2.0; 3]).unwrap();
    let scaled = TensorBasis::polynomial(&component_names(), &scaled, 1, 0, None).unwrap();
    assert!(refused(&spin, exact(), &scaled).contains("different standardisers"));
    let other = data.select(&[0]).unwrap();
    let other = spin
        .accumulate(&other, &identity(3), &config.statistics, &control)
        .unwrap();
    let other = ScoreCoefficients::Fitted(other);
    assert!(refused(&spin, other, &TensorBasis::spin()).contains("different blocks"));

    let families = neighbourhood_families(3).unwrap();
    let wide = LatticeConfig {
        separations: vec![0, 6],
        ..config.clone()
    };
    let collect = |config: &LatticeConfig, functions: &dyn Functions| {
        let sums = accumulate_lattice(&data, &identity(3), functions, config, &control);
        sums.unwrap_err().to_string()
    };
    assert!(collect(&wide, &families).contains("do not fit on a ring"));
    let none = LatticeConfig {
        separations: Vec::new(),
        ..config.clone()
    };
    assert!(collect(&none, &families).contains("at least one separation"));
    let two = neighbourhood_families(2).unwrap();
    assert!(collect(&config, &two).contains("two neighbours have 9"));
    let late = LatticeConfig {
        lags: vec![INTERVAL],
        ..config.clone()
    };
    assert!(collect(&late, &families).contains("must be 0 followed"));
}
