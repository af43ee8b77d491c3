//! Lag windows: what they hold, exactly, and what is lost by leaving a part of it out.

use std::sync::Arc;

use ergode::data::Standardiser;
use ergode::lagged::{LagGrid, LaggedConfig, accumulate_lagged};
use ergode::mobility::{
    Equations, MobilityConfig, PolynomialConfig, Semigroup, SemigroupConfig, TensorBasis,
    accumulate_polynomials, doubling_lags, fit_mobility,
};
use ergode::observable::FunctionList;
use ergode::random::{Purpose, Stream};
use ergode::{Control, Ensemble, Times, Trajectory};
use ndarray::{Array1, Array2};

use crate::support::{Estimate, Z_BOUND, identity, names, poisson, rotating, rows};

/// The sums in windows from lag zero on are what their definition says, pair by pair.
#[test]
fn the_ends_of_pairs_count_alike_in_windows_from_zero() {
    let mut stream = Stream::new(8, Purpose::Analysis, 0);
    let mut t = 0.0;
    let times: Vec<f64> = (0..700)
        .map(|_| {
            t += 0.1 + stream.uniform();
            t
        })
        .collect();
    let mut values = Array2::from_shape_fn((700, 1), |_| 3.0 + stream.normal());
    values[[20, 0]] = f64::NAN;
    let record = Trajectory::new(values.clone(), Times::Uneven(times.clone().into()));
    let data = Ensemble::new(vec![record]).unwrap();
    let square = FunctionList::new(1, vec!["x2".into()], |x, out| out[0] = x[0] * x[0]);
    let x = FunctionList::new(1, vec!["x".into()], |x, out| out[0] = x[0]);
    let (centres, half) = ([0.0, 0.7, 2.1], 0.35);
    let grid = LagGrid::windows(centres.to_vec(), half)
        .unwrap()
        .with_ends_off();
    for stride in [1, 3] {
        let config = LaggedConfig {
            blocking: ergode::lagged::Blocking::Trajectories,
            subsample: ergode::lagged::Subsample::Stride(stride),
            ..LaggedConfig::default()
        };
        let sums = accumulate_lagged(&data, &square, &x, &grid, &config, &Control::new()).unwrap();
        let total = sums.total();
        let phi = |i: usize| values[[i, 0]].powi(2);
        let samples: Vec<usize> = (0..700).filter(|i| *i != 20).collect();
        // A stride begins anew after the gap.
        let starts = samples.iter().copied();
        let starts: Vec<usize> = starts
            .filter(|i| {
                if *i < 20 {
                    i % stride == 0
                } else {
                    (i - 21) % stride == 0
                }
            })
            .collect();
        let mean = |f: &dyn Fn(usize) -> f64| {
            starts.iter().map(|i| f(*i)).sum::<f64>() / starts.len() as f64
        };
        for (lag, centre) in centres.into_iter().enumerate().skip(1) {
            let (mut n, mut separations, mut squares) = (0.0, 0.0, 0.0);
            let (mut change, mut plain, mut future, mut initial) = (0.0, 0.0, 0.0, 0.0);
            for &i in &starts {
                for &j in samples.iter().filter(|j| **j > i && (i < 20) == (**j < 20)) {
                    let separation = times[j] - times[i];
                    if separation >= centre - half && separation < centre + half {
                        let (now, later) = (values[[i, 0]], values[[j, 0]]);
                        n += 1.0;
                        separations += separation;
                        squares += separation * separation;
                        change += phi(j) * now - 0.5 * (phi(i) * now + phi(j) * later);
                        plain += phi(j) * now;
                        future += 0.5 * (phi(j) - phi(i));
                        initial += 0.5 * (now - later);
                    }
                }
            }
            let expected = change / n + mean(&|i| phi(i) * values[[i, 0]]);
            assert!((total.correlation(lag)[[0, 0]] - expected).abs() < 1e-10);
            assert!(
                (plain / n - expected).abs() > 1e-3,
                "the plain average is another"
            );
            assert!((total.future_mean(lag)[0] - future / n - mean(&phi)).abs() < 1e-10);
            let level = initial / n + mean(&|i| values[[i, 0]]);
            assert!((total.initial_mean(lag)[0] - level).abs() < 1e-10);
            let variance = squares / n - (separations / n).powi(2);
            assert!((total.lag_variances(&grid)[lag] - variance).abs() < 1e-10);
        }
        assert_eq!(total.lag_variances(&grid)[0], 0.0);
    }
}

/// C(t) − C(0) at the first window of Poisson samples: right within its error, which is many times smaller
/// than that of the plain average over the same pairs.
#[test]
fn the_noise_of_uneven_numbers_of_partners_is_taken_out() {
    let system = rotating(2);
    let data = poisson(&system, 150.0, 0.02, 0.0, 3);
    let delta = data.typical_interval().unwrap();
    // Poisson intervals have their median at ln 2 of their mean; an eighth of it is the grid of times.
    assert!((delta / 0.02 - 2f64.ln()).abs() < 0.125, "{delta}");
    let x = FunctionList::new(2, names(2), |x, out| out.copy_from_slice(x));
    let grid = LagGrid::for_ensemble(&data, &[0.0, delta])
        .unwrap()
        .with_ends_off();
    let (mut levelled, mut plain) = (Vec::new(), Vec::new());
    for k in 0..data.len() {
        let one = data.select(&[k]).unwrap();
        let config = LaggedConfig::default();
        let sums = accumulate_lagged(&one, &x, &x, &grid, &config, &Control::new()).unwrap();
        let total = sums.total();
        levelled.push((total.correlation(1) - total.correlation(0))[[0, 0]] / total.lags()[1]);
        let (values, trajectory) = (rows(&one, 0), &one.trajectories()[0]);
        let (mut n, mut sum, mut lag) = (0.0, 0.0, 0.0);
        for i in 0..values.nrows() {
            for j in i + 1..values.nrows() {
                let separation = trajectory.time(j) - trajectory.time(i);
                if separation >= 1.5 * delta {
                    break;
                }
                if separation >= 0.5 * delta {
                    (n, sum, lag) = (
                        n + 1.0,
                        sum + values[[i, 0]] * values[[j, 0]],
                        lag + separation,
                    );
                }
            }
        }
        plain.push((sum / n - total.correlation(0)[[0, 0]]) / (lag / n));
    }
    // The slope between lag 0 and the mean separation, up to the curvature within the window.
    let exact = (system.correlation(delta) - system.correlation(0.0))[[0, 0]] / delta;
    let (levelled, plain) = (Estimate::new(&levelled), Estimate::new(&plain));
    println!("exact {exact:.4}, levelled {levelled:?}, plain {plain:?}");
    assert!(levelled.z(exact).abs() < Z_BOUND);
    assert!(plain.error > 20.0 * levelled.error);
}

/// Samples so far apart that the width of a window is seen: the semigroup averages over it; without
/// that, or with the nominal lags of a record whose times lean to one side, the same check fails.
#[test]
fn the_semigroup_sees_windows_as_they_are() {
    let system = rotating(2);
    let data = poisson(&system, 2500.0, 1.0, 0.2, 4);
    let delta = data.typical_interval().unwrap();
    let space = SemigroupConfig {
        degree: 2,
        test_degree: 2,
    };
    let config = PolynomialConfig {
        future_degree: 2,
        initial_degree: 2,
        moment_degree: space.moment_degree(0),
        lags: doubling_lags(delta, 3.0),
        statistics: LaggedConfig::default(),
    };
    let unit: Standardiser = identity(2);
    let sums = accumulate_polynomials(&data, &unit, &config, &Control::new()).unwrap();
    let sums = Arc::new(sums);
    let basis = TensorBasis::polynomial(data.names(), &unit, 0, 0, None).unwrap();
    let equations = Semigroup::new(&sums, &basis, &space).unwrap();

    // The Jacobian is that of the prediction.
    let at = Array1::from_shape_fn(basis.len(), |k| 0.4 + 0.1 * k as f64);
    let (_, jacobian) = equations.linearise(at.view()).unwrap();
    for k in 0..basis.len() {
        let moved = |step: f64| {
            let mut at = at.clone();
            at[k] += step;
            equations.predict(at.view()).unwrap()
        };
        let slope = (moved(1e-5) - moved(-1e-5)) / 2e-5;
        let error = (&slope - &jacobian.column(k)).mapv(f64::abs);
        assert!(error.iter().all(|e| *e < 1e-8), "{error}");
    }

    let fitting = MobilityConfig {
        ridges: vec![0.0],
        ..MobilityConfig::default()
    };
    let fit = fit_mobility(&equations, &fitting, &Control::new()).unwrap();
    let errors = fit.mobility_error(&[0.0, 0.0]);
    let exact = system.mobility_matrix();
    let worst = |m: Vec<f64>| {
        let z = m.iter().zip(exact).zip(&errors);
        z.map(|((m, e), s)| ((m - e) / s).abs()).fold(0.0, f64::max)
    };
    let all: Vec<usize> = (0..sums.blocks()).collect();
    let narrow = Semigroup::exact(sums.expectations(&all), &basis, &space).unwrap();
    let narrow = fit_mobility(&narrow, &fitting, &Control::new()).unwrap();
    let (z, twin) = (
        worst(fit.mobility.at(&[0.0, 0.0])),
        worst(narrow.mobility.at(&[0.0, 0.0])),
    );
    println!("z {z:.2}, without the width {twin:.1}, errors {errors:.4}");
    assert!(z < Z_BOUND && twin > Z_BOUND);
}

/// Samples that were not taken: without bridges no pair is long, with them all pairs are at whole
/// numbers of intervals, and a bridge over nothing changes nothing.
#[test]
fn bridges_over_missing_samples() {
    let system = rotating(2);
    let even = crate::support::sample(&system, 100.0, 0.05, 4, 5);
    assert_eq!(even.bridged().unwrap().fingerprint(), even.fingerprint());
    let mut stream = Stream::new(6, Purpose::Analysis, 0);
    let gappy = (0..even.len()).map(|k| {
        let mut values = rows(&even, k).to_owned();
        for mut row in values.rows_mut() {
            if stream.uniform() < 0.2 {
                row.fill(f64::NAN);
            }
        }
        Trajectory::new(values, Times::every(0.05))
    });
    let gappy = Ensemble::new(gappy.collect()).unwrap();
    let bridged = gappy.bridged().unwrap();
    assert_eq!(bridged.samples(), gappy.samples());
    assert_eq!(bridged.segments().len(), 4);
    assert!((bridged.typical_interval().unwrap() - 0.05).abs() < 1e-9);
    let x = FunctionList::new(2, names(2), |x, out| out.copy_from_slice(x));
    let pairs = |data: &Ensemble| {
        let grid = LagGrid::for_ensemble(data, &[0.0, 0.05, 1.0]).unwrap();
        let config = LaggedConfig::default();
        accumulate_lagged(data, &x, &x, &grid, &config, &Control::new())
            .map(|sums| (sums.total().pairs(2), sums.total().lag_variances(&grid)))
    };
    let (count, variances) = pairs(&bridged).unwrap();
    assert!(count > 0.6 * 0.8 * even.samples() as f64, "{count}");
    assert!(variances.iter().all(|v| *v < 1e-20), "{variances}");
    let within = pairs(&gappy).map_or(0.0, |(count, _)| count);
    assert!(within < 0.1 * count, "{within}");
}
