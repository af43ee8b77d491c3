//! M(x) in a linear span by the semigroup, and what all forms share: exact answers, then data.

use std::sync::Arc;

use ergode::data::Standardiser;
use ergode::mobility::{
    Equations, Expectations, LadderConfig, LinearMobility, Mobility, MobilityConfig, MobilityFit,
    PolynomialConfig, PolynomialSums, Rung, Semigroup, SemigroupConfig, TensorBasis,
    accumulate_polynomials, doubling_lags, fit_mobility, fit_mobility_ladder,
};
use ergode::observable::{Moments, Monomials};
use ergode::systems::{Affine2d, CoxIngersollRoss, OrnsteinUhlenbeck};
use ergode::{Control, Ensemble};
use ndarray::{Array1, Array2, Array3, ArrayView2, array};

use crate::support::{Z_BOUND, identity, largest, names, rotating, sample};

/// ⟨x_a x_b x_c ...⟩ of a centred Gaussian: the sum over pairings (Isserlis).
fn gaussian_moment(covariance: ArrayView2<f64>, indices: &[usize]) -> f64 {
    let Some((&first, rest)) = indices.split_first() else {
        return 1.0;
    };
    (0..rest.len())
        .map(|k| {
            let mut others = rest.to_vec();
            let partner = others.remove(k);
            covariance[[first, partner]] * gaussian_moment(covariance, &others)
        })
        .sum()
}

/// The coordinates that a monomial multiplies, each as often as it does, from `offset` on.
fn factors(exponents: &[u32], offset: usize) -> impl Iterator<Item = usize> {
    let repeat = move |(i, e): (usize, &u32)| std::iter::repeat_n(offset + i, *e as usize);
    exponents.iter().enumerate().flat_map(repeat)
}

/// Exact moments and correlations of the process, in coordinates about its mean.
pub(crate) fn exact_expectations(
    system: &OrnsteinUhlenbeck,
    moment_degree: usize,
    test_degree: usize,
    lags: &[f64],
) -> Expectations {
    let covariance = system.covariance();
    let dim = covariance.nrows();
    let moments = Moments::new(dim, moment_degree, |e| {
        gaussian_moment(covariance, &factors(e, 0).collect::<Vec<_>>())
    });
    let tests = Monomials::new(&names(dim), 0..=test_degree)
        .unwrap()
        .exponents();
    let mut correlations = Array3::zeros((lags.len(), tests.len(), tests.len()));
    for (lag, &t) in lags.iter().enumerate() {
        let across = system.correlation(t);
        // (x_t, x_0) is jointly Gaussian.
        let joint = Array2::from_shape_fn((2 * dim, 2 * dim), |(i, j)| match (i < dim, j < dim) {
            (true, false) => across[[i, j - dim]],
            (false, true) => across[[j, i - dim]],
            _ => covariance[[i % dim, j % dim]],
        });
        for (a, future) in tests.iter().enumerate() {
            for (b, initial) in tests.iter().enumerate() {
                let indices: Vec<usize> = factors(future, 0).chain(factors(initial, dim)).collect();
                correlations[[lag, a, b]] = gaussian_moment(joint.view(), &indices);
            }
        }
    }
    Expectations {
        moments: moments.unwrap(),
        lags: lags.to_vec(),
        correlations,
    }
}

/// Largest deviation of M at a state from a constant matrix.
fn deviation(fit: &MobilityFit, x: &[f64], exact: ArrayView2<f64>) -> f64 {
    largest(fit.mobility.at(x).iter().zip(exact).map(|(m, e)| m - e))
}

/// A coefficient below its floor is put there and the others are fitted anew; one above it is not
/// touched.
#[test]
fn coefficients_stay_above_their_floors() {
    let system = rotating(2);
    let space = SemigroupConfig {
        degree: 2,
        test_degree: 2,
    };
    let expectations = exact_expectations(&system, space.moment_degree(0), 2, &[0.0, 0.2, 0.5]);
    let basis = TensorBasis::polynomial(&names(2), &identity(2), 0, 0, None).unwrap();
    let equations = Semigroup::exact(expectations, &basis, &space).unwrap();
    let fit = |label: &str, floor: f64| {
        let floors = [(label.to_owned(), floor)].into();
        let config = MobilityConfig {
            floors,
            ..MobilityConfig::default()
        };
        fit_mobility(&equations, &config, &Control::new())
    };
    let exact = system.mobility_matrix();
    let low = fit("D[x0,x0] 1", 0.5 * exact[[0, 0]]).unwrap();
    assert!(deviation(&low, &[0.0, 0.0], exact) < 1e-9);
    let high = fit("D[x0,x0] 1", 1.2 * exact[[0, 0]]).unwrap();
    let m = high.mobility.at(&[0.0, 0.0]);
    assert_eq!(m[0], 1.2 * exact[[0, 0]]);
    assert!((m[3] - exact[[1, 1]]).abs() > 1e-6, "the others give way");
    let refused = fit("D[y,y] 1", 0.0).unwrap_err().to_string();
    assert!(
        refused.contains("D[y,y] 1") && refused.contains("D[x0,x0] 1"),
        "{refused}"
    );
}

#[test]
fn exact_correlations_of_a_rotating_ou_give_its_mobility() {
    for (dim, degree, mobility_degree) in [(2, 3, 0), (2, 3, 2), (5, 2, 0)] {
        let system = rotating(dim);
        let space = SemigroupConfig {
            degree,
            test_degree: degree,
        };
        let lags = [0.0, 0.1, 0.2, 0.35, 0.8];
        let moments = space.moment_degree(mobility_degree);
        let mut expectations = exact_expectations(&system, moments, degree, &lags);
        let (d, r) = (mobility_degree, mobility_degree);
        let basis = TensorBasis::polynomial(&names(dim), &identity(dim), d, r, None).unwrap();
        let config = MobilityConfig::default();
        let control = Control::new();
        let equations = Semigroup::exact(expectations.clone(), &basis, &space).unwrap();
        let fit = fit_mobility(&equations, &config, &control).unwrap();
        let exact = system.mobility_matrix();
        let states = [vec![0.0; dim], vec![1.3; dim]];
        let error = largest(states.iter().map(|x| deviation(&fit, x, exact)));
        println!(
            "{dim} {mobility_degree}: {error:.1e}, condition {:.1}",
            fit.condition
        );
        assert!(error < 1e-8, "{error}");
        assert_eq!(fit.effective_rank, basis.len());
        // The slowest modes are those of the drift, in conjugate pairs where it rotates.
        assert!(fit.spectrum[0].0 < 0.0);
        // The twin: time runs the other way, and R with it.
        let swapped = expectations.correlations.clone().permuted_axes([0, 2, 1]);
        expectations.correlations = swapped.as_standard_layout().to_owned();
        let reversed = Semigroup::exact(expectations, &basis, &space).unwrap();
        let reversed = fit_mobility(&reversed, &config, &control).unwrap();
        let error = largest(states.iter().map(|x| deviation(&reversed, x, exact.t())));
        assert!(error < 1e-8, "{error}");
        assert!(deviation(&reversed, &states[0], exact) > 0.1);
    }
}

/// Polynomials up to a degree are closed under the square-root diffusion, so that every degree is
/// exact but for rounding; degree 8 takes moments up to degree 16.
#[test]
fn exact_moments_of_the_square_root_diffusion_give_its_mobility_at_any_degree() {
    let system = CoxIngersollRoss::default();
    let lags = [0.0, 0.2, 0.4, 0.8];
    let fit = |degree: usize, defect: f64| {
        let space = SemigroupConfig {
            degree,
            test_degree: 2,
        };
        let expectations = Expectations {
            moments: Moments::new(1, space.moment_degree(1), |e| system.moment(e[0])).unwrap(),
            lags: lags.to_vec(),
            correlations: Array3::from_shape_fn((4, 3, 3), |(k, m, n)| {
                system.moment_correlation(m as u32, n as u32, lags[k] * defect)
            }),
        };
        let basis = TensorBasis::polynomial(&names(1), &identity(1), 1, 0, None).unwrap();
        let equations = Semigroup::exact(expectations, &basis, &space).unwrap();
        let fit = fit_mobility(&equations, &MobilityConfig::default(), &Control::new()).unwrap();
        let c = &fit.jackknife.values;
        (c[0].abs() + (c[1] - system.gamma).abs(), fit.spectrum)
    };
    for (degree, tolerance) in [(2, 1e-12), (4, 1e-11), (8, 1e-8)] {
        let (error, spectrum) = fit(degree, 1.0);
        println!("degree {degree}: {error:.1e}, slowest {:?}", &spectrum[..2]);
        assert!(error < tolerance, "degree {degree}: {error}");
        // The relaxation rates are κ, 2κ, ...
        assert!((spectrum[0].0 + system.kappa).abs() < 1e-6);
        assert!((spectrum[1].0 + 2.0 * system.kappa).abs() < 1e-6);
    }
    assert!(fit(4, 1.1).0 > 0.04, "a clock that is 10 % slow passes");
}

#[test]
fn jacobian_of_the_semigroup_matches_finite_differences() {
    let system = rotating(2);
    let space = SemigroupConfig {
        degree: 4,
        test_degree: 2,
    };
    let lags = [0.0, 0.05, 0.1, 0.2, 0.33];
    let expectations = exact_expectations(&system, space.moment_degree(2), 2, &lags);
    let basis = TensorBasis::polynomial(&names(2), &identity(2), 2, 1, None).unwrap();
    let equations = Semigroup::exact(expectations, &basis, &space).unwrap();
    let at: Array1<f64> = (0..basis.len())
        .map(|k| 0.3 + 0.1 * (k as f64).sin())
        .collect();
    let (values, jacobian) = equations.linearise(at.view()).unwrap();
    assert_eq!(values, equations.predict(at.view()).unwrap());
    for k in 0..basis.len() {
        let moved = |h: f64| {
            let mut c = at.clone();
            c[k] += h;
            equations.predict(c.view()).unwrap()
        };
        let h = 1e-5;
        let difference = (moved(h) - moved(-h)) / (2.0 * h);
        let size = largest(difference.iter().copied());
        let error = largest(&jacobian.column(k) - &difference);
        assert!(error < 1e-7 * (1.0 + size), "{k}: {error} of {size}");
    }
}

#[test]
fn divergences_and_noise_factors_of_a_polynomial_mobility() {
    let standardiser = Standardiser::new(vec![0.3, -0.2], vec![0.7, 1.9]).unwrap();
    let basis = TensorBasis::polynomial(&names(2), &standardiser, 2, 3, None).unwrap();
    let coefficient = |label: &str| match label {
        "D[x0,x0] 1" | "D[x1,x1] 1" => 3.0,
        label => 0.1 + 0.01 * label.len() as f64,
    };
    let coefficients = basis.labels().map(coefficient).collect();
    let mobility = LinearMobility::new(basis, coefficients).unwrap();
    // A tile of two states, coordinate-major.
    let x = [0.4, -0.3, 0.1, 0.8];
    let (mut divergence, mut transposed) = ([0.0; 4], [0.0; 4]);
    mobility.div_mobility(&x, &mut divergence);
    mobility.div_transpose(&x, &mut transposed);
    for s in 0..2 {
        let state = [x[s], x[2 + s]];
        let slope = |entry: usize, j: usize| {
            let at = |h: f64| {
                let mut moved = state;
                moved[j] += h;
                mobility.at(&moved)[entry]
            };
            (at(1e-5) - at(-1e-5)) / 2e-5
        };
        for i in 0..2 {
            let rows = slope(2 * i, 0) + slope(2 * i + 1, 1);
            let columns = slope(i, 0) + slope(2 + i, 1);
            assert!((divergence[2 * i + s] - rows).abs() < 1e-8);
            assert!((transposed[2 * i + s] - columns).abs() < 1e-8);
        }
    }
    let (mut diffusion, mut factor) = ([0.0; 8], [0.0; 8]);
    mobility.diffusion(&x, &mut diffusion);
    mobility.noise_factor(&x, &mut factor).unwrap();
    for s in 0..2 {
        let l = |i: usize, j: usize| factor[(2 * i + j) * 2 + s];
        for (i, j) in [(0, 0), (0, 1), (1, 1)] {
            let product = l(i, 0) * l(j, 0) + l(i, 1) * l(j, 1);
            assert!((product - diffusion[(2 * i + j) * 2 + s]).abs() < 1e-12);
        }
        assert_eq!(l(0, 1), 0.0);
    }
}

/// Moments and correlations of a data set for the given space and mobility degree.
pub(crate) fn polynomial_sums(
    data: &Ensemble,
    standardiser: &Standardiser,
    space: &SemigroupConfig,
    mobility_degree: usize,
    lags: Vec<f64>,
) -> Arc<PolynomialSums> {
    let config = PolynomialConfig {
        future_degree: space.test_degree,
        initial_degree: space.test_degree,
        moment_degree: space.moment_degree(mobility_degree),
        lags,
        ..PolynomialConfig::default()
    };
    Arc::new(accumulate_polynomials(data, standardiser, &config, &Control::new()).unwrap())
}

pub(crate) fn fit_semigroup(
    data: &Ensemble,
    standardiser: &Standardiser,
    space: &SemigroupConfig,
    degree: usize,
    horizon: f64,
) -> MobilityFit {
    let lags = doubling_lags(data.sampling_interval().unwrap(), horizon);
    let sums = polynomial_sums(data, standardiser, space, degree, lags);
    let basis = TensorBasis::polynomial(data.names(), standardiser, degree, degree, None).unwrap();
    let equations = Semigroup::new(&sums, &basis, space).unwrap();
    fit_mobility(&equations, &MobilityConfig::default(), &Control::new()).unwrap()
}

/// Largest z-score of M at a state.
fn mobility_z(fit: &MobilityFit, x: &[f64], exact: ArrayView2<f64>) -> f64 {
    let errors = fit.mobility_error(x);
    let values = fit.mobility.at(x);
    let each = values.iter().zip(exact).zip(&errors);
    largest(each.map(|((m, e), error)| (m - e) / error))
}

#[test]
fn the_mobility_of_a_simulated_ou_is_found_within_errors() {
    for (dim, degree) in [(2, 3), (5, 2)] {
        let system = rotating(dim);
        let data = sample(&system, 400.0, 0.2, 32, 3);
        let standardiser = Standardiser::from_ensemble(&data).unwrap();
        let space = SemigroupConfig {
            degree,
            test_degree: 2,
        };
        let fit = fit_semigroup(&data, &standardiser, &space, 0, 1.6);
        let exact = system.mobility_matrix();
        let x = vec![0.5; dim];
        let (z, twin) = (mobility_z(&fit, &x, exact), mobility_z(&fit, &x, exact.t()));
        println!(
            "{dim}: z {z:.2}, transposed {twin:.1}, chi2 {:.2}, closure {:?}",
            fit.chi2_per_equation, fit.closure
        );
        assert!(z < Z_BOUND, "{z}");
        assert!(
            twin > 2.0 * Z_BOUND,
            "the transposed mobility passes: {twin}"
        );
        assert!((0.7..1.4).contains(&fit.chi2_per_equation));
        assert_eq!(fit.mobility.psd_violation(&data), 0.0);
        assert!(fit.warnings.is_empty(), "{:?}", fit.warnings);
    }
}

/// D of the affine system is quadratic, so the fit holds it; its R is not.
#[test]
fn the_diffusion_of_the_affine_system_is_found_at_a_coarse_interval() {
    let system = Affine2d::default();
    let data = sample(&system, 500.0, 0.2, 36, 7);
    let standardiser = Standardiser::from_ensemble(&data).unwrap();
    let fit = fit_semigroup(&data, &standardiser, &SemigroupConfig::default(), 2, 1.3);
    let z = |scale: f64| diffusion_z(&fit, &system, scale);
    println!(
        "z {:.2}, 20 % more {:.1}, chi2 {:.2}",
        z(1.0),
        z(1.2),
        fit.chi2_per_equation
    );
    assert!(z(1.0) < Z_BOUND, "{}", z(1.0));
    assert!(z(1.2) > 2.0 * Z_BOUND, "20 % more diffusion passes");
}

/// Largest z-score of D against `scale` times the exact one, over four states.
pub(crate) fn diffusion_z(fit: &MobilityFit, system: &Affine2d, scale: f64) -> f64 {
    let states = [[0.0, 0.0], [0.4, -0.3], [-0.5, 0.3], [0.2, 0.6]];
    largest(states.iter().flat_map(|x| {
        let (m, exact, errors) = (
            fit.mobility.at(x),
            system.diffusion(x),
            fit.diffusion_error(x),
        );
        [(0, m[0]), (1, 0.5 * (m[1] + m[2])), (3, m[3])]
            .map(|(k, value)| (value - scale * exact[k]) / errors[[k / 2, k % 2]])
    }))
}

#[test]
fn one_step_errors_agree_with_full_refits_for_any_number_of_threads() {
    let system = CoxIngersollRoss::default();
    let data = sample(&system, 200.0, 0.1, 16, 11);
    let standardiser = Standardiser::from_ensemble(&data).unwrap();
    let space = SemigroupConfig {
        degree: 4,
        test_degree: 3,
    };
    let sums = polynomial_sums(&data, &standardiser, &space, 1, doubling_lags(0.1, 1.6));
    let basis = TensorBasis::polynomial(data.names(), &standardiser, 1, 0, None).unwrap();
    let equations = Semigroup::new(&sums, &basis, &space).unwrap();
    let (blocks, count) = (equations.blocks(), equations.blocks() as f64);
    let config = MobilityConfig {
        ridges: vec![0.0],
        ..MobilityConfig::default()
    };
    let fit =
        |equations: &dyn Equations| fit_mobility(equations, &config, &Control::new()).unwrap();
    let whole = fit(&equations);
    let refits: Vec<Array1<f64>> = (0..blocks)
        .map(|b| {
            fit(&*equations.restricted(&|k| k != b).unwrap())
                .jackknife
                .values
        })
        .collect();
    for (k, error) in whole.jackknife.errors().iter().enumerate() {
        let mean = refits.iter().map(|c| c[k]).sum::<f64>() / count;
        let square: f64 = refits.iter().map(|c| (c[k] - mean).powi(2)).sum();
        let refitted = (square * (count - 1.0) / count).sqrt();
        println!("{k}: one step {error:.5}, refitted {refitted:.5}");
        assert!((error / refitted - 1.0).abs() < 0.15);
    }
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(1)
        .build()
        .unwrap();
    let alone = pool.install(|| fit(&equations));
    assert_eq!(alone.jackknife.values, whole.jackknife.values);
    assert_eq!(alone.jackknife.deviations, whole.jackknife.deviations);
}

/// 95 % intervals hold the truth about as often as they say, and intervals half as wide do not.
pub(crate) fn check_coverage(deviations: &[f64]) {
    let within = |errors: f64| {
        let inside = deviations.iter().filter(|z| z.abs() < errors).count();
        inside as f64 / deviations.len() as f64
    };
    println!("{:.3} of {}", within(1.96), deviations.len());
    assert!((0.88..=1.0).contains(&within(1.96)));
    assert!(within(0.98) < 0.88, "half as wide is as good");
}

#[test]
fn intervals_of_the_semigroup_fit_cover_the_truth() {
    let system = CoxIngersollRoss::default();
    let space = SemigroupConfig {
        degree: 4,
        test_degree: 2,
    };
    let mut deviations = Vec::new();
    for seed in 0..40 {
        let data = sample(&system, 100.0, 0.1, 24, 100 + seed);
        let fit = fit_semigroup(&data, &identity(1), &space, 1, 0.8);
        for (label, value, error) in fit.coefficients() {
            let exact = if label.ends_with(" x") {
                system.gamma
            } else {
                0.0
            };
            deviations.push((value - exact) / error);
        }
    }
    check_coverage(&deviations);
}

#[test]
fn the_ladder_stops_at_a_constant_where_the_truth_is_one() {
    for (dim, degree) in [(2, 3), (5, 2)] {
        let system = rotating(dim);
        let data = sample(&system, 200.0, 0.2, 24, 17);
        let standardiser = Standardiser::from_ensemble(&data).unwrap();
        let space = SemigroupConfig {
            degree,
            test_degree: 2,
        };
        let sums = polynomial_sums(&data, &standardiser, &space, 2, doubling_lags(0.2, 0.8));
        let fit = ladder(&data, &sums, &space);
        let taken: Vec<&Rung> = fit.rungs.iter().filter(|rung| rung.taken).collect();
        println!("{dim}: {:?}", fit.rungs);
        assert_eq!(taken.len(), 1);
        assert_eq!(fit.mobility.basis().degree(), 0);
        let x = vec![0.5; dim];
        assert!(mobility_z(&fit, &x, system.mobility_matrix()) < Z_BOUND);
        assert!(fit.rungs.len() > 2, "nothing else was tried");
    }
}

fn ladder(data: &Ensemble, sums: &Arc<PolynomialSums>, space: &SemigroupConfig) -> MobilityFit {
    let equations = |d: usize, r: usize| {
        let basis = TensorBasis::polynomial(data.names(), sums.standardiser(), d, r, None)?;
        let equations: Box<dyn Equations> = Box::new(Semigroup::new(sums, &basis, space)?);
        Ok(equations)
    };
    let config = LadderConfig {
        diffusion_degree: 2,
        current_degree: 2,
        ..LadderConfig::default()
    };
    fit_mobility_ladder(&equations, &config, &Control::new()).unwrap()
}

#[test]
fn bases_leave_out_masked_entries_and_name_their_fields() {
    let mask = array![
        [true, false, false],
        [true, true, false],
        [false, false, true]
    ];
    let basis = TensorBasis::polynomial(&names(3), &identity(3), 1, 0, Some(&mask)).unwrap();
    let labels: Vec<&str> = basis.labels().collect();
    // Three diagonal entries and the pair (0, 1): D of degree 1, R constant.
    assert_eq!(labels.len(), 4 * 4 + 1);
    assert!(labels.contains(&"D[x0,x1] x2") && labels.contains(&"R[x0,x1] 1"));
    assert!(labels.iter().all(|label| !label.contains("[x0,x2]")));
    let closed = Array2::from_elem((3, 3), false);
    assert!(TensorBasis::polynomial(&names(3), &identity(3), 1, 0, Some(&closed)).is_err());
    assert!(LinearMobility::new(basis, Array1::zeros(3)).is_err());
}

#[test]
fn equations_refuse_what_they_cannot_use() {
    let system = rotating(2);
    let data = sample(&system, 20.0, 0.1, 4, 1);
    let standardiser = Standardiser::from_ensemble(&data).unwrap();
    let space = SemigroupConfig::default();
    let sums = polynomial_sums(&data, &standardiser, &space, 0, doubling_lags(0.1, 0.4));
    let quartic = TensorBasis::polynomial(data.names(), &standardiser, 4, 0, None).unwrap();
    let message = |result: Result<Semigroup, ergode::Error>| result.unwrap_err().to_string();
    assert!(message(Semigroup::new(&sums, &quartic, &space)).contains("moments do not reach"));
    let other = TensorBasis::polynomial(data.names(), &identity(2), 0, 0, None).unwrap();
    assert!(message(Semigroup::new(&sums, &other, &space)).contains("different standardisers"));
    let basis = TensorBasis::polynomial(data.names(), &standardiser, 0, 0, None).unwrap();
    let late = PolynomialConfig {
        lags: vec![0.1, 0.2],
        ..PolynomialConfig::default()
    };
    assert!(accumulate_polynomials(&data, &standardiser, &late, &Control::new()).is_err());
    let equations = Semigroup::new(&sums, &basis, &space).unwrap();
    let control = Control::new();
    control.stop();
    let stopped = fit_mobility(&equations, &MobilityConfig::default(), &control).unwrap_err();
    assert!(stopped.is_interrupted());
    let none = MobilityConfig {
        ridges: Vec::new(),
        ..MobilityConfig::default()
    };
    assert!(fit_mobility(&equations, &none, &Control::new()).is_err());
}
