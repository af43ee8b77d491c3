//! Reference systems against their exact answers.

use ergode::random::{Purpose, Stream};
use ergode::systems::{
    Affine2d, Affine2dReference, CoxIngersollRoss, DoubleWell, ExactFields, Grid1d,
    OrnsteinUhlenbeck, OrnsteinUhlenbeckParameters, SYSTEMS, SoftSpin, Spacing, System,
    system_by_name,
};
use serde_json::Map;

use crate::support::ou;

fn default_system(name: &str) -> Box<dyn System> {
    system_by_name(name, &Map::new()).unwrap()
}

/// √2 Σ at a state, column by column, and the drift.
fn coefficients(system: &dyn System, x: &[f64]) -> (Vec<f64>, Vec<Vec<f64>>) {
    let dim = system.dim();
    let mut drift = vec![0.0; dim];
    let columns = (0..system.noise_dim())
        .map(|j| {
            let mut unit = vec![0.0; system.noise_dim()];
            unit[j] = 1.0;
            let mut column = vec![0.0; dim];
            system.evaluate(x, &unit, &mut drift, &mut column);
            column
        })
        .collect();
    (drift, columns)
}

/// F = M s + ∇·M and Σ Σᵀ = sym M, at states drawn from the system.
#[test]
fn drift_and_noise_follow_from_score_and_mobility() {
    for entry in SYSTEMS {
        let system = default_system(entry.name);
        let Some(fields) = system.exact_fields() else {
            continue;
        };
        let dim = system.dim();
        for k in 0..20 {
            let mut x = vec![0.0; dim];
            system.draw_initial(&mut Stream::new(3, Purpose::Initial, k), &mut x);
            let (mut s, mut div) = (vec![0.0; dim], vec![0.0; dim]);
            let mut m = vec![0.0; dim * dim];
            fields.score(&x, &mut s);
            fields.mobility(&x, &mut m);
            fields.div_mobility(&x, &mut div);
            let (drift, columns) = coefficients(&*system, &x);
            for i in 0..dim {
                let ms: f64 = (0..dim).map(|j| m[i * dim + j] * s[j]).sum();
                assert!((drift[i] - ms - div[i]).abs() < 1e-12 * (1.0 + drift[i].abs() * 10.0));
                for j in 0..dim {
                    let d: f64 = columns.iter().map(|c| 0.5 * c[i] * c[j]).sum();
                    let sym = 0.5 * (m[i * dim + j] + m[j * dim + i]);
                    assert!((d - sym).abs() < 1e-13, "{} {i} {j}", entry.name);
                }
                // ∇·M by central differences of M.
                let h = 1e-5 * (1.0 + x[0].abs());
                let slope: f64 = (0..dim)
                    .map(|j| {
                        let entry = |step: f64| {
                            let mut y = x.clone();
                            y[j] += step;
                            let mut m = vec![0.0; dim * dim];
                            fields.mobility(&y, &mut m);
                            m[i * dim + j]
                        };
                        (entry(h) - entry(-h)) / (2.0 * h)
                    })
                    .sum();
                assert!((slope - div[i]).abs() < 1e-8, "{} {i}", entry.name);
            }
        }
    }
}

#[test]
fn parameters_are_validated() {
    let refused = |name: &str, text: &str| {
        let changes = serde_json::from_str(text).unwrap();
        match system_by_name(name, &changes) {
            Err(error) => {
                assert!(error.is_bad_input());
                error.to_string()
            }
            Ok(_) => panic!("{name} {text} was accepted"),
        }
    };
    assert!(refused("cir", r#"{"gamma": 1.5}"#).contains("Feller"));
    assert!(refused("cir", r#"{"kappa": -1}"#).contains("kappa"));
    assert!(refused("cir", r#"{"sigma": 1}"#).contains("gamma, kappa, theta"));
    assert!(refused("ou", r#"{"drift": [[-1, 0], [0, 1]]}"#).contains("stationary"));
    assert!(refused("ou", r#"{"diffusion": [[1, 2], [2, 1]]}"#).contains("positive definite"));
    assert!(refused("ou", r#"{"mean": [0]}"#).contains("1 by 1"));
    assert!(refused("softspin", r#"{"sites": 0}"#).contains("sites"));
    assert!(refused("softspin", r#"{"sites": "many"}"#).contains("parameters"));
    assert!(refused("double-well", r#"{"excess": -2}"#).contains("excess"));
    assert!(refused("nothing", "{}").contains("affine2d"));
}

fn rotating_ou() -> OrnsteinUhlenbeck {
    OrnsteinUhlenbeck::new(OrnsteinUhlenbeckParameters {
        drift: vec![
            vec![1.0, 2.5, 0.0],
            vec![-0.7, 1.5, 0.4],
            vec![0.2, 0.0, 0.8],
        ],
        diffusion: vec![
            vec![1.0, 0.2, 0.0],
            vec![0.2, 0.5, 0.1],
            vec![0.0, 0.1, 0.3],
        ],
        mean: vec![0.5, -1.0, 2.0],
    })
    .unwrap()
}

#[test]
fn ou_identities() {
    let ou = rotating_ou();
    let h = 1e-5;
    let slope = (ou.correlation(0.7 + h) - ou.correlation(0.7 - h)) / (2.0 * h);
    let exact = ou.correlation_derivative(0.7);
    assert!((&slope - &exact).iter().all(|v| v.abs() < 1e-8));
    // Φ = −Ċ(0⁺) = M
    let phi = -ou.correlation_derivative(0.0);
    assert!(
        (&phi - &ou.mobility_matrix())
            .iter()
            .all(|v| v.abs() < 1e-13)
    );
    let (x, x0) = ([0.3, -0.4, 1.1], [1.0, -1.2, 2.4]);
    let score = ou.conditional_score(0.6, &x, &x0);
    for i in 0..3 {
        let shifted = |d: f64| {
            let mut y = x0;
            y[i] += d;
            ou.ln_transition_density(0.6, &x, &y)
        };
        let slope = (shifted(h) - shifted(-h)) / (2.0 * h);
        assert!((slope - score[i]).abs() < 1e-8);
    }
}

/// A two-dimensional trap of stiffness k with a curl force ε: the rate is 2ε²/k.
#[test]
fn entropy_production_of_a_trap_with_curl_force() {
    let (k, curl, temperature) = (1.3, 0.7, 0.4);
    let ou = OrnsteinUhlenbeck::new(OrnsteinUhlenbeckParameters {
        drift: vec![vec![k, -curl], vec![curl, k]],
        diffusion: vec![vec![temperature, 0.0], vec![0.0, temperature]],
        mean: vec![0.0, 0.0],
    })
    .unwrap();
    assert!((ou.entropy_production() - 2.0 * curl * curl / k).abs() < 1e-12);
}

/// ∫₀^∞ f(x) dx by the trapezoid in ln x, spectrally accurate for these integrands.
fn integrate(f: impl Fn(f64) -> f64) -> f64 {
    let (low, high, n) = (-40.0f64, 6.0f64, 40_000);
    let h = (high - low) / f64::from(n);
    (0..=n)
        .map(|k| {
            let x = (low + h * f64::from(k)).exp();
            h * x * f(x)
        })
        .sum()
}

fn cir_cases() -> Vec<CoxIngersollRoss> {
    let build = |kappa, theta, gamma| CoxIngersollRoss {
        kappa,
        theta,
        gamma,
    };
    vec![
        CoxIngersollRoss::default(),
        build(0.7, 2.0, 1.4),
        build(2.0, 0.5, 0.13),
    ]
}

#[test]
fn cir_closed_forms_agree_with_quadrature_of_the_transition_density() {
    for cir in cir_cases() {
        for t in [0.02, 0.3, 2.5] {
            for x0 in [0.05, 0.9, 3.0] {
                let average = |f: &dyn Fn(f64) -> f64| {
                    integrate(|x| f(x) * cir.ln_transition_density(t, x, x0).exp())
                };
                let close =
                    |a: f64, b: f64| assert!((a - b).abs() < 1e-8 * (1.0 + b.abs()), "{a} {b}");
                close(average(&|_| 1.0), 1.0);
                close(average(&|x| cir.conditional_score(t, x, x0)), 0.0);
                for m in 1..=4 {
                    close(
                        average(&|x| x.powi(m as i32)),
                        cir.conditional_moment(m, t, x0),
                    );
                    close(
                        average(&|x| x.powi(m as i32) * cir.conditional_score(t, x, x0)),
                        cir.conditional_moment_slope(m, t, x0),
                    );
                }
                let h = 1e-5 * x0;
                let slope = (cir.ln_transition_density(t, 1.1 * x0, x0 + h)
                    - cir.ln_transition_density(t, 1.1 * x0, x0 - h))
                    / (2.0 * h);
                let score = cir.conditional_score(t, 1.1 * x0, x0);
                assert!(
                    (slope - score).abs() < 1e-6 * (1.0 + score.abs()),
                    "{slope} {score}"
                );
            }
        }
    }
}

/// The identities of the paper's appendix, each by quadrature over the stationary law.
#[test]
fn cir_appendix_identities() {
    for cir in cir_cases() {
        let average = |f: &dyn Fn(f64) -> f64| integrate(|x| f(x) * cir.ln_density(x).exp());
        let close = |name: &str, a: f64, b: f64| {
            assert!((a - b).abs() < 1e-10 * (1.0 + b.abs()), "{name}: {a} {b}");
        };
        close("normalisation", average(&|_| 1.0), 1.0);
        for x in [0.1, 1.0, 4.0] {
            let drift = cir.kappa * (cir.theta - x);
            close("drift", cir.gamma * x * cir.score_at(x) + cir.gamma, drift);
        }
        for t in [0.05, 0.4, 1.7] {
            for m in 1..=5u32 {
                close("moment", average(&|x| x.powi(m as i32)), cir.moment(m));
                let c = average(&|x| x * cir.conditional_moment(m, t, x));
                close("C_m1", c, cir.power_correlation(m, t));
                close("C_m1 as C_mn", cir.moment_correlation(m, 1, t), c);
                let slope = average(&|x| cir.conditional_moment_slope(m, t, x));
                close("<X^m s>", cir.score_correlation(m, t), -slope);
                let operator =
                    average(&|x| (x - cir.theta) * cir.conditional_moment_slope(m, t, x));
                close("K_m", operator, cir.affine_channel(m, t));
                let phi = cir.theta * cir.gamma;
                let residual =
                    cir.power_correlation_derivative(m, t) - phi * cir.score_correlation(m, t);
                close(
                    "residual = -gamma K_m",
                    residual,
                    -cir.gamma * cir.affine_channel(m, t),
                );
                let h = 1e-5;
                let difference =
                    (cir.power_correlation(m, t + h) - cir.power_correlation(m, t - h)) / (2.0 * h);
                let derivative = cir.power_correlation_derivative(m, t);
                assert!((difference - derivative).abs() < 1e-7 * (1.0 + derivative.abs()));
            }
            close("K_1", cir.affine_channel(1, t), 0.0);
        }
        let two = average(&|x| x * x * cir.conditional_moment(3, 0.4, x));
        close("C_32", cir.moment_correlation(3, 2, 0.4), two);
    }
}

#[test]
fn one_dimensional_grids_recover_density_score_and_correlations() {
    let cir = CoxIngersollRoss::default();
    let grid = Grid1d::solve(&cir, Spacing::Logarithmic, 1e-7, 40.0, 3000).unwrap();
    let semigroup = grid.semigroup(&cir, 8).unwrap();
    for (k, &x) in grid.nodes.iter().enumerate().step_by(50) {
        if (0.01..10.0).contains(&x) {
            assert!((grid.density[k].ln() - cir.ln_density(x)).abs() < 1e-10);
            assert!((grid.score()[k - 1] - cir.score_at(x)).abs() < 1e-3 * (1.0 + 1.0 / x));
        }
    }
    let lags = [0.0, 0.1, 0.8, 3.0];
    for m in 1..=4 {
        let computed = semigroup.correlation(|x| x[0].powi(m), |x| x[0], &lags);
        for (t, c) in lags.iter().zip(computed) {
            let exact = cir.moment_correlation(m as u32, 1, *t);
            assert!((c / exact - 1.0).abs() < 1e-9, "{m} {t} {c} {exact}");
        }
    }

    let well = DoubleWell::default();
    let grid = Grid1d::solve(&well, Spacing::Linear, -2.6, 2.6, 1000).unwrap();
    let constant = grid.density[500].ln() - well.ln_density(grid.nodes[500]);
    for (k, &x) in grid.nodes.iter().enumerate() {
        if x.abs() < 2.0 {
            assert!((grid.density[k].ln() - well.ln_density(x) - constant).abs() < 1e-10);
        }
    }
    // The correlation of the double well has no closed form: raise the degree until it settles.
    let at = |degree| {
        grid.semigroup(&well, degree)
            .unwrap()
            .correlation(|x| x[0], |x| x[0], &[0.5, 2.0, 8.0])
    };
    let (coarse, fine) = (at(24), at(32));
    for (a, b) in coarse.iter().zip(&fine) {
        assert!((a - b).abs() < 1e-6, "{coarse:?} {fine:?}");
    }
}

/// The finite-volume reference against an Ornstein-Uhlenbeck process, where all is known.
#[test]
fn two_dimensional_grid_recovers_ou() {
    let ou = ou();
    let grid = ergode::systems::Grid2d::solve(&ou, [-7.0, -5.5], [7.0, 5.5], 256).unwrap();
    let exact = ou.exact_fields().unwrap();
    let m = ou.mobility_matrix();
    let r = 0.5 * (m[[1, 0]] - m[[0, 1]]);
    for x in [[0.0, 0.0], [0.7, -0.6], [-1.5, 0.8], [1.9, 1.1]] {
        let mut s = [0.0; 2];
        exact.score(&x, &mut s);
        let score = grid.score(&x);
        let (circulation, slope) = grid.circulation(&x);
        for i in 0..2 {
            assert!(
                (score[i] - s[i]).abs() < 5e-5 * (1.0 + s[i].abs()),
                "{score:?} {s:?}"
            );
        }
        assert!(
            (circulation - r).abs() < 1e-4 && slope[0].abs() < 2e-3,
            "{circulation} {r}"
        );
    }
    let semigroup = grid.semigroup(&ou, 4).unwrap();
    for t in [0.0, 0.3, 1.5] {
        let c = ou.correlation(t);
        let computed = semigroup.correlation(|x| x[0], |x| x[1], &[t])[0];
        assert!(
            (computed - c[[0, 1]]).abs() < 1e-6,
            "{computed} {}",
            c[[0, 1]]
        );
    }
}

/// The stated tolerance of the affine reference: what changes when the grid is refined and the
/// polynomial space enlarged, as relative L2(p_ss) differences.
#[test]
fn slow_affine_reference_converges() {
    let system = Affine2d::default();
    let coarse = Affine2dReference::solve(system, 320).unwrap();
    let fine = Affine2dReference::solve(system, Affine2dReference::CELLS).unwrap();
    let grid = fine.grid();
    let mut score = [0.0; 2];
    let mut circulation = [0.0; 2];
    let mut residual = [0.0; 2];
    for ((i, j), &p) in grid.density().indexed_iter() {
        let x = grid.node(i, j);
        let inside = x.iter().all(|v| (-1.25..2.6).contains(v));
        if p < 1e-7 || !inside {
            continue;
        }
        let (a, b) = (coarse.grid().score(&x), grid.score(&x));
        let (ra, rb) = (coarse.circulation(&x), fine.circulation(&x));
        circulation[0] += p * (ra - rb).powi(2);
        circulation[1] += p * rb.powi(2);
        // f = M s + ∇·M (`eq:affine_2d_reference_mobility_diagnostic_main`)
        let (mut m, mut div) = ([0.0; 4], [0.0; 2]);
        fine.mobility(&x, &mut m);
        fine.div_mobility(&x, &mut div);
        let (drift, _) = coefficients(&system, &x);
        for i in 0..2 {
            score[0] += p * (a[i] - b[i]).powi(2);
            score[1] += p * b[i].powi(2);
            let model = m[2 * i] * b[0] + m[2 * i + 1] * b[1] + div[i];
            residual[0] += p * (drift[i] - model).powi(2);
            residual[1] += p * drift[i].powi(2);
        }
    }
    let relative = |pair: [f64; 2]| (pair[0] / pair[1]).sqrt();
    let lags: Vec<f64> = (0..=10).map(|k| 0.5 * f64::from(k)).collect();
    let curve = |reference: &Affine2dReference, degree| {
        let semigroup = reference.grid().semigroup(&system, degree).unwrap();
        semigroup.correlation(|x| x[0].powi(2) * x[1], |x| x[1], &lags)
    };
    let (a, b, c) = (curve(&coarse, 12), curve(&fine, 12), curve(&fine, 16));
    let correlation = (0..lags.len())
        .map(|k| (a[k] - b[k]).abs().max((b[k] - c[k]).abs()))
        .fold(0.0, f64::max);
    println!(
        "score {:.1e}, circulation {:.1e}, drift residual {:.1e}, correlations {correlation:.1e}",
        relative(score),
        relative(circulation),
        relative(residual)
    );
    assert!(relative(score) < 3e-3);
    assert!(relative(circulation) < 3e-5);
    assert!(relative(residual) < 3e-4);
    assert!(correlation < 1e-7);
}

#[test]
fn soft_spin_transfer_operator_settles_and_matches_a_single_spin() {
    let spin = SoftSpin {
        sites: 1,
        ..SoftSpin::default()
    };
    // One site: a plain integral over ℝ³.
    let (mut z, mut square, mut zz) = (0.0, 0.0, 0.0);
    let n = 120;
    let h = 3.6 / n as f64;
    for i in 0..=n {
        for j in 0..=n {
            for k in 0..=n {
                let m = [i, j, k].map(|a| -1.8 + h * a as f64);
                let weight = (-spin.energy(&m) / spin.temperature).exp();
                z += weight;
                square += weight * m.iter().map(|v| v * v).sum::<f64>();
                zz += weight * m[2] * m[2];
            }
        }
    }
    let moments = spin.moments();
    assert!((moments.square() - square / z).abs() < 1e-9);
    assert!((moments.longitudinal - zz / z).abs() < 1e-9);
}
