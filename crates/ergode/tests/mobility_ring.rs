//! The paper's recipe on a ring of spins: equations averaged over translations, and the fit as a whole.

use ergode::lagged::{Jackknife, LagGrid, LaggedConfig, Subsample, accumulate_lagged};
use ergode::mobility::{
    ConditionalOperator, Mobility, PaperRingConfig, ResidualConfig, estimate_residual,
    fit_paper_ring, fit_paper_spin,
};
use ergode::observable::{Functions, LatticeAverage, Monomials, RadialBasis, SpinFamilies};
use ergode::score::{ExactScore, Score};
use ergode::systems::{ExactFields, SoftSpin};
use ergode::{Control, Ensemble};
use ndarray::{Array1, Array2, ArrayView1, s};

use crate::support::{Exact, Z_BOUND, rows, sample};

const SITES: usize = 4;
const DIM: usize = 3 * SITES;
const INTERVAL: f64 = 0.0365;
const RING: LatticeAverage = LatticeAverage {
    sites: SITES,
    components: 3,
};

fn ring() -> SoftSpin {
    SoftSpin {
        sites: SITES,
        ..SoftSpin::default()
    }
}

fn families(data: &Ensemble) -> SpinFamilies {
    SpinFamilies::new(SITES, RadialBasis::from_ensemble(data).unwrap()).unwrap()
}

/// A score that is any smooth function of both states.
fn some_score(t: f64, xt: &[f64], x0: &[f64]) -> Vec<f64> {
    let term = |i: usize| (xt[i] - 0.7 * x0[i]) / t + x0[i] * xt[(i + 1) % DIM];
    (0..DIM).map(term).collect()
}

/// A mobility with blocks between all sites.
fn some_mobility() -> Array2<f64> {
    Array2::from_shape_fn((DIM, DIM), |(i, j)| ((3 * i + 5 * j) as f64).sin())
}

#[test]
fn averaged_operators_agree_with_a_loop_over_pairs_and_sites() {
    let data = sample(&ring(), 20.0 * INTERVAL, INTERVAL, 2, 1);
    let (future, x) = (
        families(&data),
        Monomials::coordinates(data.names()).unwrap(),
    );
    let score = Exact {
        dim: DIM,
        truth: &some_score,
        factor: 1.0,
    };
    let steps = [2, 5];
    let grid = LagGrid::even(INTERVAL, steps.to_vec()).unwrap();
    let operator = ConditionalOperator::new(&score, &future, &x, grid).unwrap();
    let operator = operator.averaged(RING).unwrap();
    let m = some_mobility();
    let sums = operator
        .accumulate(&data, &[&m], &LaggedConfig::default(), &Control::new())
        .unwrap();
    let found = sums.jackknife().unwrap().values;
    let count = 11 * 3 * 3 * SITES;
    assert_eq!(found.len(), steps.len() * count);
    let mut values = vec![0.0; future.len()];
    for (lag, step) in steps.into_iter().enumerate() {
        let (mut sums, mut pairs) = (vec![0.0; count], 0.0);
        for k in 0..data.len() {
            let rows = rows(&data, k);
            for i in 0..rows.nrows() - step {
                let (x0, xt) = (rows.row(i).to_vec(), rows.row(i + step).to_vec());
                future.values(&xt, &mut values);
                let turned = m
                    .t()
                    .dot(&Array1::from(some_score(step as f64 * INTERVAL, &xt, &x0)));
                for (at, sum) in sums.iter_mut().enumerate() {
                    let (r, d) = (at % SITES, at / SITES % 3);
                    let (c, family) = (at / (3 * SITES) % 3, at / (9 * SITES));
                    for site in 0..SITES {
                        let phi = values[(family * SITES + site) * 3 + c];
                        *sum -= phi * turned[(site + r) % SITES * 3 + d] / SITES as f64;
                    }
                }
                pairs += 1.0;
            }
        }
        for (at, sum) in sums.iter().enumerate() {
            let (found, direct) = (found[lag * count + at], sum / pairs);
            assert!(
                (found - direct).abs() < 1e-9 * (1.0 + direct.abs()),
                "{lag} {at}"
            );
        }
    }
    let whole = ConditionalOperator::new(
        &score,
        &x,
        &future,
        LagGrid::even(INTERVAL, vec![1]).unwrap(),
    );
    assert!(whole.unwrap().averaged(RING).err().unwrap().is_bad_input());
}

/// ⟨y, average(X)⟩ = ⟨spread(y), X⟩.
#[test]
fn spreading_is_the_transpose_of_averaging() {
    let matrix = Array2::from_shape_fn((2 * DIM, DIM), |(i, j)| ((7 * i + 3 * j) as f64).cos());
    let averages = RING.average(matrix.view()).unwrap();
    let weights: Array1<f64> = (0..averages.len()).map(|k| (k as f64).sin()).collect();
    let left: f64 = weights.iter().zip(&averages).map(|(w, a)| w * a).sum();
    let spread = RING.spread(weights.view()).unwrap();
    assert!((left - (&spread * &matrix).sum()).abs() < 1e-11);
    assert!(
        RING.spread(ArrayView1::from(&[0.0; 5]))
            .unwrap_err()
            .is_bad_input()
    );
}

/// B = Mᵀ s + ∇·Mᵀ of the system, or with M transposed.
struct Conjugate {
    system: SoftSpin,
    transposed: bool,
    labels: Vec<String>,
}

impl Functions for Conjugate {
    fn dim(&self) -> usize {
        DIM
    }
    fn labels(&self) -> &[String] {
        &self.labels
    }
    fn values(&self, x: &[f64], out: &mut [f64]) {
        let n = x.len() / DIM;
        let (mut state, mut m) = (vec![0.0; DIM], Array2::zeros((DIM, DIM)));
        let (mut score, mut divergence) = (Array1::zeros(DIM), vec![0.0; DIM]);
        for s in 0..n {
            (0..DIM).for_each(|i| state[i] = x[i * n + s]);
            let entries = m.as_slice_mut().unwrap();
            ExactFields::mobility(&self.system, &state, entries);
            ExactFields::score(&self.system, &state, score.as_slice_mut().unwrap());
            // That of M and of its transpose: the circulation has none.
            self.system.div_mobility(&state, &mut divergence);
            let flow = if self.transposed {
                m.dot(&score)
            } else {
                m.t().dot(&score)
            };
            (0..DIM).for_each(|i| out[i * n + s] = flow[i] + divergence[i]);
        }
    }
}

/// The derivative of the averaged correlations is what the stationary operator of the true mobility gives.
#[test]
fn averaged_targets_obey_the_weak_identity() {
    let system = ring();
    let data = sample(&system, 30.0, INTERVAL, 64, 2);
    let (future, x) = (
        families(&data),
        Monomials::coordinates(data.names()).unwrap(),
    );
    let score = Exact {
        dim: DIM,
        truth: &some_score,
        factor: 1.0,
    };
    let steps = [7, 12];
    let grid = LagGrid::even(INTERVAL, steps.to_vec()).unwrap();
    let operator = ConditionalOperator::new(&score, &future, &x, grid.clone()).unwrap();
    let operator = operator.averaged(RING).unwrap();
    let statistics = LaggedConfig {
        subsample: Subsample::Stride(2),
        ..LaggedConfig::default()
    };
    let control = Control::new();
    let exact = ExactScore::new(DIM, &system);
    let stationary: &dyn Score = &exact;
    // Of a degree whose bias is far below the sampling error.
    let config = ResidualConfig {
        degree: 5,
        bandwidth: 3.0,
    };
    let phi = Array2::eye(DIM);
    let target = estimate_residual(
        &data,
        &operator,
        stationary,
        phi.view(),
        &config,
        &statistics,
        &control,
    );
    let curves = target.unwrap().jackknife().unwrap();
    let half = curves.values.len() / 2;
    let spread = |transposed: bool| {
        let conjugate = Conjugate {
            system,
            transposed,
            labels: data.names().to_vec(),
        };
        let sums = accumulate_lagged(&data, &future, &conjugate, &grid, &statistics, &control);
        let operators = sums.unwrap().jackknife(|totals| {
            let of = |lag| RING.average(totals.covariance(lag).view()).unwrap();
            (0..steps.len()).flat_map(of).collect()
        });
        let operators = operators.unwrap();
        let left = Jackknife {
            values: &curves.values.slice(s![..half]) - &operators.values,
            deviations: &curves.deviations.slice(s![.., ..half]) - &operators.deviations,
        };
        let errors = left.errors();
        let known = left
            .values
            .iter()
            .zip(&errors)
            .filter(|(_, error)| **error > 0.0);
        let z: Array1<f64> = known.map(|(value, error)| value / error).collect();
        // Families along the axis have components that are zero at every state, on both sides.
        let zero = left
            .values
            .iter()
            .zip(&errors)
            .filter(|(_, error)| **error == 0.0);
        assert!(zero.clone().all(|(value, _)| *value == 0.0) && zero.count() < half / 8);
        (
            z.dot(&z) / z.len() as f64,
            z.iter().fold(0.0f64, |most, z| most.max(z.abs())),
        )
    };
    let ((chi2, most), (twin, _)) = (spread(false), spread(true));
    println!("chi2 per equation {chi2:.2}, largest z {most:.2}; M transposed {twin:.1}");
    // 792 equations, of which many are nearly one: a bound somewhat above that for thirty.
    assert!(chi2 < 2.0 && most < 1.2 * Z_BOUND);
    assert!(twin > 20.0);
}

fn tiny() -> PaperRingConfig {
    let mut config = PaperRingConfig::small();
    config.conditional.hidden = vec![16];
    config.stationary.hidden = vec![16];
    config.mobility.hidden = vec![8];
    for train in [
        &mut config.stationary.train,
        &mut config.conditional.train,
        &mut config.mobility.train,
    ] {
        train.steps = 20;
        train.check_every = 10;
    }
    for noise in [&mut config.stationary.noise, &mut config.conditional.noise] {
        noise.batch = 256;
        noise.held_out_states = 512;
    }
    config.conditional_reach = 1;
    config.mobility.states = 1024;
    config.mobility.batch = 512;
    config.lags = vec![7, 12];
    config.pairs = 2000;
    config
}

/// A second call takes the networks from the folder, the result does not depend on the number of threads,
/// and the parts are those of the recipe.
#[test]
fn a_ring_of_spins_is_fitted_as_in_the_paper() {
    let data = sample(&ring(), 15.0, INTERVAL, 16, 3);
    let folder = tempfile::tempdir().unwrap();
    let config = tiny();
    let fit = |threads: usize, path| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        let run = || fit_paper_ring(&data, SITES, &config, path, &Control::new()).unwrap();
        let fit = pool.build().unwrap().install(run);
        let mut m = vec![0.0; DIM * DIM];
        fit.fit.mobility.mobility(&[0.4; DIM], &mut m);
        (m, fit)
    };
    let (first, found) = fit(1, Some(folder.path()));
    assert_eq!(first, fit(3, None).0);
    assert_eq!(first, fit(2, Some(folder.path())).0);
    assert_eq!(found.fit.curves.len(), 11 * 9 * SITES);
    assert!(found.fit.smallest_pivot > 0.0);
    // The axial form of the constant mobility.
    let phi = &found.constant.value;
    assert_eq!((phi[[0, 0]], phi[[0, 1]]), (phi[[4, 4]], -phi[[1, 0]]));
    assert_eq!((phi[[0, 2]], phi[[0, 3]]), (0.0, 0.0));
    let control = Control::new();
    control.stop();
    let stopped = fit_paper_ring(&data, SITES, &config, None, &control);
    assert!(stopped.unwrap_err().is_interrupted());

    let system = ring();
    let exact = ExactScore::new(DIM, &system);
    let spin = fit_paper_spin(&data, SITES, &exact, &config, None, &Control::new()).unwrap();
    let labels: Vec<&str> = spin.fit.coefficients().map(|(label, _, _)| label).collect();
    assert_eq!(labels, ["c0", "c_perp", "c_par", "c_x"]);
    for (label, value, _) in spin.fit.coefficients().take(3) {
        assert!(value >= 1e-3, "{label}");
    }
    let refused = fit_paper_ring(&data, 3, &config, None, &Control::new());
    assert!(refused.unwrap_err().is_bad_input());
}
