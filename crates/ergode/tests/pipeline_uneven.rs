//! From uneven and gappy data to a verdict.

use ergode::finding::FindingKind;
use ergode::random::{Purpose, Stream};
use ergode::systems::{Affine2d, Affine2dReference};
use ergode::{
    CheckConfig, Control, Ensemble, FitConfig, FitOptions, Fitted, Recipe, Severity, Times,
    Trajectory, Verdict, check_ensemble, fit_with,
};

use crate::support::{Z_BOUND, affine_reference, poisson, rotating, rows};

fn fit(data: &Ensemble, config: &FitConfig, reference: &Affine2dReference) -> Fitted {
    let options = FitOptions {
        exact: Some(reference as _),
        ..FitOptions::default()
    };
    fit_with(data, config, options).unwrap()
}

/// D within `bound`, correlations within 1.3 of the noise floor.
fn good(fitted: &Fitted, bound: f64) -> bool {
    let (validation, truth) = (
        &fitted.results().validation,
        fitted.results().truth.unwrap(),
    );
    println!(
        "D {:.4}, R {:?}, over floor {:.3}, other {:.3}, chi2 {:?}, {:?}",
        truth.diffusion_rel_l2,
        truth.current_rel_l2,
        validation.rmse_over_floor,
        validation.other_over_floor,
        fitted.results().mobility.chi2_per_equation,
        fitted.results().wall_s
    );
    truth.diffusion_rel_l2 < bound && validation.rmse_over_floor < 1.3
}

/// Samples at Poisson times with a fifth of them missing are learned as even ones are, by both recipes; the
/// same samples taken to be evenly spaced, the missing ones forgotten, are not.
#[test]
fn slow_affine_data_at_poisson_times_are_learned_to_their_noise_floor() {
    let system = Affine2d::default();
    let data = poisson(&system, 300.0, 0.01, 0.2, 7);
    let reference = affine_reference();
    let mut config = FitConfig::default();
    config.mobility.degrees = Some((2, 2));
    config.simulate.dt = Some(0.005);
    // The weak form sees the noise of the numbers of pairs, and a tenth of the paper's record is short for it.
    for (recipe, bound) in [(Recipe::Auto, 0.02), (Recipe::Weak, 0.1)] {
        config.mobility.recipe = recipe;
        let fitted = fit(&data, &config, reference);
        assert!(good(&fitted, bound), "{recipe:?}");
        assert_eq!(
            fitted.results().validation.verdict,
            Verdict::Pass,
            "{:?}",
            fitted.validation().reasons
        );
        assert!(fitted.validation().spectra.curves.is_empty());
        assert!(fitted.page().html().contains("sampling is uneven"));
    }
    // The rows one after the other at the nominal interval, as a file without times would have them.
    let counted = (0..data.len()).map(|k| {
        let values = rows(&data, k).to_owned();
        Trajectory::new(values, Times::every(0.01))
    });
    let counted = Ensemble::new(counted.collect()).unwrap();
    config.mobility.recipe = Recipe::Auto;
    assert!(!good(&fit(&counted, &config, reference), 0.05), "the twin");
}

/// The check of uneven and gappy data tells how they are sampled and raises no alarm; with pairs cut at
/// missing samples or bridging them the diffusion is right, with bridges more precisely.
#[test]
fn slow_gaps_are_counted_and_bridged() {
    let system = rotating(2);
    let whole = poisson(&system, 160.0, 0.05, 0.0, 9);
    let mut stream = Stream::new(10, Purpose::Analysis, 0);
    let gappy = (0..whole.len()).map(|k| {
        let mut values = rows(&whole, k).to_owned();
        for mut row in values.rows_mut() {
            if stream.uniform() < 0.2 {
                row.fill(f64::NAN);
            }
        }
        Trajectory::new(values, whole.trajectories()[k].times().clone())
    });
    let gappy = Ensemble::new(gappy.collect()).unwrap();
    let report = check_ensemble(&whole, &CheckConfig::default(), &Control::new()).unwrap();
    println!("{:#?}", report.findings);
    assert_eq!(report.verdict, Verdict::Pass);
    let found = |kind: &str| report.findings.iter().any(|f| f.kind.as_str() == kind);
    assert!(found("uneven-sampling") && found("usable-lags") && !found("gaps"));

    let report = check_ensemble(&gappy, &CheckConfig::default(), &Control::new()).unwrap();
    let gaps = report
        .findings
        .iter()
        .find(|f| f.kind == FindingKind::Gaps)
        .unwrap();
    println!("{:#?}", report.findings);
    assert_eq!(gaps.severity, Severity::Info);
    assert!(
        gaps.message.contains(" 20.") || gaps.message.contains(" 19."),
        "{}",
        gaps.message
    );
    assert!(gaps.advice.contains("bridge_gaps"));
    let run = |bridge_gaps: bool| {
        let mut config = FitConfig {
            bridge_gaps,
            ..FitConfig::default()
        };
        config.simulate.dt = Some(0.01);
        ergode::fit(&gappy, &config).unwrap()
    };
    // In both, D and R of the linear system within their errors; bridges make them smaller.
    let exact = system.mobility_matrix();
    let worst = |fitted: &Fitted| {
        let mut found = [0.0; 4];
        fitted.model.mobility().mobility(&[0.0, 0.0], &mut found);
        // Coefficients are those of standardised coordinates: only their relative errors are used.
        let relative = ["D[x,x] 1", "D[y,y] 1"].map(|label| {
            let coefficient = fitted.results().mobility.coefficients[label];
            coefficient.stderr / coefficient.value
        });
        let z = |i: usize| ((found[3 * i] / exact[[i, i]] - 1.0) / relative[i]).abs();
        (z(0).max(z(1)), relative[0])
    };
    let (cut, bridged) = (run(false), run(true));
    assert_eq!(bridged.results().validation.verdict, Verdict::Pass);
    let ((z_cut, error_cut), (z, error)) = (worst(&cut), worst(&bridged));
    println!("z {z_cut:.2} {z:.2}, errors {error_cut:.5} {error:.5}");
    assert!(z_cut < Z_BOUND && z < Z_BOUND);
    assert!(error < error_cut);
}

/// Two records of one process, one with its times in seconds, the other in milliseconds.
#[test]
fn mixed_units_of_time_are_doubted() {
    let data = crate::support::sample(&rotating(2), 100.0, 0.1, 2, 3);
    let record =
        |k: usize, step: f64| Trajectory::new(rows(&data, k).to_owned(), Times::every(step));
    let doubt = |step: f64| {
        let mixed = Ensemble::new(vec![record(0, 0.1), record(1, step)]).unwrap();
        let report = check_ensemble(&mixed, &CheckConfig::default(), &Control::new()).unwrap();
        let finding = |f: &&ergode::Finding| f.advice.contains("same unit");
        report.findings.iter().find(finding).map(|f| f.severity)
    };
    assert_eq!(doubt(100.0), Some(Severity::Warn));
    assert_eq!(doubt(0.15), None);
}
