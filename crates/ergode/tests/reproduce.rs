//! The paper's benchmarks, done again in short.

use ergode::report::Reproduced;
use ergode::reproduce::{Benchmark, ReproduceConfig, Scale, reproduce};
use ergode::{Control, Recipe, Results, RunFolder};

use crate::support::Z_BOUND;

fn run(benchmark: Benchmark, recipe: Recipe, time: f64, changes: &[&str]) -> Results {
    let config = ReproduceConfig {
        benchmark,
        recipe,
        scale: Scale::Small,
        seed: 1,
        time: Some(time),
        changes: changes.iter().map(|change| (*change).to_owned()).collect(),
    };
    let folder = tempfile::tempdir().unwrap();
    let run = RunFolder::open(folder.path()).unwrap();
    let results = reproduce(&config, &run, &Control::new()).unwrap();
    let kept = std::fs::read_to_string(folder.path().join("results.json")).unwrap();
    assert_eq!(serde_json::from_str::<Results>(&kept).unwrap(), results);
    results
}

fn number<'a>(results: &'a Results, key: &str) -> &'a Reproduced {
    let numbers = &results.reproduction.as_ref().unwrap().numbers;
    numbers.iter().find(|number| number.key == key).unwrap()
}

/// Deviation from the exact number in standard errors.
fn z(number: &Reproduced) -> f64 {
    (number.found - number.exact.unwrap()) / number.stderr.unwrap()
}

#[test]
fn slow_cox_ingersoll_ross_is_recovered_analytically_and_from_data() {
    let results = run(Benchmark::Cir, Recipe::Semigroup, 600.0, &[]);
    for m in 2..=4 {
        let analytic = number(&results, &format!("analytic_a_{m}"));
        assert!(analytic.found.abs() < 1e-10, "{analytic:?}");
        let channel = number(&results, &format!("a_channel_{m}"));
        assert!(z(channel).abs() < Z_BOUND, "{channel:?}");
    }
    assert!(number(&results, "analytic_channel_1").found < 1e-10);
    for key in ["phi", "a"] {
        assert!(z(number(&results, key)).abs() < Z_BOUND, "{key}");
    }
    let relative = number(&results, "a_over_gamma_minus_one");
    assert!(relative.found.abs() < 0.03, "{relative:?}");
}

#[test]
fn slow_the_affine_benchmark_meets_its_noise_floor() {
    let results = run(
        Benchmark::Affine2d,
        Recipe::Weak,
        300.0,
        &["simulate.length=1.0"],
    );
    for (i, j) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
        let phi = number(&results, &format!("phi_{i}{j}"));
        assert!(z(phi).abs() < Z_BOUND, "{phi:?}");
    }
    let truth = results.truth.unwrap();
    assert!(truth.diffusion_rel_l2 < 0.03, "{truth:?}");
    assert!(
        results.validation.rmse_over_floor < 1.5,
        "{:?}",
        results.validation
    );
    let constant = number(&results, "rmse_constant").found;
    assert!(constant > 1.5 * number(&results, "rmse").found);
}

/// Too short for its numbers to mean much; the weak form finds the strongest of them all the same.
#[test]
fn slow_the_spin_benchmark_shows_every_closure() {
    let quick = ["score.certificate.resample.starts=0"];
    let results = run(Benchmark::Softspin, Recipe::Weak, 8.0, &quick);
    for key in ["c_perp", "c_x"] {
        let found = number(&results, key);
        assert!(z(found).abs() < Z_BOUND, "{found:?}");
        assert!(
            (found.found / found.exact.unwrap() - 1.0).abs() < 0.3,
            "{found:?}"
        );
    }
    let error = |name: &str| number(&results, &format!("correlation_error_{name}")).found;
    for closure in ["data_only", "physics_informed"] {
        assert!(error(closure) < error("constant"), "{closure}");
    }
}
