//! Rings of sites beside data: exact correlations, the noise floor, and planted defects.

use ergode::systems::{OrnsteinUhlenbeck, OrnsteinUhlenbeckParameters, SoftSpin};
use ergode::validate::{RingCompareConfig, RingComparison, Rollout, RolloutRole, compare_rings};
use ergode::{Control, Ensemble};
use ndarray::Array2;

use crate::support::{Z_BOUND, sample};

fn rollout(name: &str, role: RolloutRole, ensemble: Ensemble) -> Rollout {
    Rollout {
        name: name.into(),
        role,
        ensemble,
    }
}

/// A ring of linear sites of two components: a site turns, and is driven by the one before it.
fn linear_ring(sites: usize) -> OrnsteinUhlenbeck {
    let dim = 2 * sites;
    let onsite = [[1.0, 0.7], [-0.7, 1.4]];
    let mut drift = vec![vec![0.0; dim]; dim];
    let mut diffusion = vec![vec![0.0; dim]; dim];
    for i in 0..sites {
        let before = (i + sites - 1) % sites;
        for (c, row) in onsite.iter().enumerate() {
            for (d, value) in row.iter().enumerate() {
                drift[2 * i + c][2 * i + d] = *value;
            }
            drift[2 * i + c][2 * before + c] -= 0.5;
        }
        diffusion[2 * i][2 * i] = 1.0;
        diffusion[2 * i + 1][2 * i + 1] = 0.4;
    }
    let mean = vec![0.0; dim];
    OrnsteinUhlenbeck::new(OrnsteinUhlenbeckParameters {
        drift,
        diffusion,
        mean,
    })
    .unwrap()
}

/// The worst difference in standard errors of scale·C_cd(r, t)·scale from `exact(t)` between site 0 at the
/// later time and site r at the earlier one, for separations r → sign·r.
fn worst(ring: &RingComparison, exact: impl Fn(f64) -> Array2<f64>, transposed: bool) -> f64 {
    let mut worst = 0.0f64;
    for lag in [0, 2, 5] {
        let exact = exact(ring.lags[lag]);
        for ((c, d, r), value) in ring
            .correlations
            .index_axis(ndarray::Axis(0), lag)
            .indexed_iter()
        {
            let scale = ring.scale[c] * ring.scale[d];
            let (later, earlier) = (c, 2 * r + d);
            let expected = if transposed {
                exact[[earlier, later]]
            } else {
                exact[[later, earlier]]
            };
            let error = scale * ring.correlation_errors[[lag, c, d, r]];
            worst = worst.max(((scale * value - expected) / error).abs());
        }
    }
    worst
}

#[test]
fn correlations_of_a_linear_ring_are_exact() {
    let sites = 4;
    let system = linear_ring(sites);
    let data = sample(&system, 400.0, 0.1, 40, 11);
    let config = RingCompareConfig {
        sites,
        longest_lag: 1.0,
        lags: 6,
        matrix_time: 0.41,
        ..Default::default()
    };
    let ring = compare_rings(&data, &[], &config, &Control::new()).unwrap();
    assert_eq!(ring.lags.len(), 6);
    assert_eq!(ring.components, ["x_1", "x_2"]);
    let exact = |t: f64| system.correlation(t);
    let z = worst(&ring, exact, false);
    assert!(z < Z_BOUND, "{z}");
    // The twin: later and earlier time exchanged.
    let z = worst(&ring, exact, true);
    assert!(z > 10.0, "{z}");
    // The matrix is not averaged; a translation average of it is the curve.
    assert_eq!(ring.matrix_time, ring.lags[2]);
    let mean = (0..sites).map(|i| ring.matrix[[2 * i, 2 * ((i + 1) % sites) + 1]]);
    let mean = mean.sum::<f64>() / sites as f64;
    assert!((mean - ring.correlations[[2, 0, 1, 1]]).abs() < 1e-12);
}

/// Runs of a ring of spins with this rate of precession and preferred amplitude. Spins lie near the plane
/// across z and hardly hold each other, so that no slow reversals make most of the noise.
fn spins(gamma: f64, m_star: f64, seed: u64) -> Ensemble {
    let system = SoftSpin {
        sites: 4,
        gamma,
        m_star,
        anisotropy: -0.5,
        exchange: 0.1,
        ..SoftSpin::default()
    };
    let mut protocol = ergode::systems::System::protocol(&system);
    protocol.simulate.dt = 1e-3;
    protocol.simulate.save_every = 0.04;
    protocol.simulate.time = 80.0;
    protocol.simulate.trajectories = 48;
    protocol.simulate.seed = seed;
    ergode::systems::generate(&system, &protocol, &Control::new())
        .unwrap()
        .ensemble
}

#[test]
fn a_reference_run_is_the_floor_and_missing_precession_is_far_above() {
    let config = RingCompareConfig {
        sites: 4,
        longest_lag: 2.0,
        lags: 26,
        ..Default::default()
    };
    let rollouts = [
        rollout("reference", RolloutRole::Reference, spins(4.0, 1.0, 2)),
        rollout("again", RolloutRole::Learned, spins(4.0, 1.0, 3)),
        rollout("reversed", RolloutRole::Other, spins(-4.0, 1.0, 4)),
        rollout("still", RolloutRole::Other, spins(0.0, 1.0, 5)),
    ];
    let data = spins(4.0, 1.0, 1);
    let control = Control::new();
    let ring = compare_rings(&data, &rollouts, &config, &control).unwrap();
    assert_eq!(ring.reference, Some(0));
    let reference = &ring.rollouts[0];
    assert_eq!(reference.error_over_floor, 1.0);
    let over = |k: usize| ring.rollouts[k].error_over_floor;
    let z = |k: usize| (over(k) - 1.0) / ring.rollouts[k].error_over_floor_error;
    assert!(z(1).abs() < Z_BOUND, "{} {}", over(1), z(1));
    // With m also γ changes its sign, so that correlations of two coordinates are even in γ.
    assert!(z(2).abs() < Z_BOUND, "{} {}", over(2), z(2));
    // The twin: no precession.
    let difference = ring.rollouts[3].error.total - reference.error.total;
    let errors = [0, 3].map(|k| ring.rollouts[k].standard_error.total);
    let twin = difference / errors[0].hypot(errors[1]);
    assert!(twin > 10.0 && over(3) > 3.0, "{twin} {}", over(3));
    // The floor of the blocks is that of the run, up to the noise of both.
    let ratio = ring.block_floor.total / reference.error.total;
    assert!((0.6..1.6).contains(&ratio), "{ratio}");
    // Densities do not see precession.
    for family in [&ring.marginals, &ring.joints, &ring.neighbours] {
        assert!(
            family.overall.iter().all(|d| d.probability > 1e-5),
            "{:?}",
            family.overall
        );
    }
    assert_eq!(ring.joints.curves.len(), 3);
    assert_eq!(ring.neighbours.curves.len(), 6);
    for curve in ring.joints.curves.iter().chain(&ring.marginals.curves) {
        assert!((curve.data.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    }
    // It can be written and read.
    let text = serde_json::to_string(&ring).unwrap();
    let read: RingComparison = serde_json::from_str(&text).unwrap();
    assert_eq!(read.config, ring.config);
    assert_eq!(read.rollouts[1].matrix.dim(), (12, 12));
}

#[test]
fn densities_of_another_system_are_far_above_the_floor() {
    let config = RingCompareConfig {
        sites: 4,
        longest_lag: 0.2,
        lags: 3,
        ..Default::default()
    };
    let runs = [rollout("large", RolloutRole::Other, spins(4.0, 1.2, 2))];
    let ring = compare_rings(&spins(4.0, 1.0, 1), &runs, &config, &Control::new()).unwrap();
    assert_eq!(ring.reference, None);
    for family in [&ring.marginals, &ring.joints, &ring.neighbours] {
        assert!(family.overall[0].probability < 1e-6, "{:?}", family.overall);
    }
}

#[test]
fn records_that_cannot_be_compared_are_refused() {
    let system = linear_ring(3);
    let data = sample(&system, 20.0, 0.1, 4, 1);
    let refuse = |rollouts: &[Rollout], config: RingCompareConfig| {
        let error = compare_rings(&data, rollouts, &config, &Control::new());
        error.unwrap_err().to_string()
    };
    let config = || RingCompareConfig {
        sites: 3,
        ..Default::default()
    };
    let other = sample(&system, 20.0, 0.2, 4, 2);
    let error = refuse(&[rollout("sparse", RolloutRole::Learned, other)], config());
    assert!(
        error.contains("sparse has sampling interval 0.2 and the data 0.1"),
        "{error}"
    );
    let other = sample(&linear_ring(4), 20.0, 0.1, 4, 2);
    let error = refuse(&[rollout("long", RolloutRole::Learned, other)], config());
    assert!(error.contains("long: 8 coordinates"), "{error}");
    let error = refuse(
        &[],
        RingCompareConfig {
            sites: 4,
            ..config()
        },
    );
    assert!(error.contains("4 sites"), "{error}");
    let error = refuse(
        &[],
        RingCompareConfig {
            longest_lag: 30.0,
            ..config()
        },
    );
    assert!(error.contains("choose shorter lags"), "{error}");
}
