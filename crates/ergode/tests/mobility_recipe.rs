//! The mobility for a user who says nothing, and D made positive.

use std::sync::Arc;

use ergode::data::Standardiser;
use ergode::mobility::{
    Mobility, MobilityConfig, PaperConfig, PolynomialConfig, RecipeConfig, Semigroup,
    SemigroupConfig, TensorBasis, accumulate_polynomials, doubling_lags, fit_mobility,
    fit_mobility_recipe, fit_paper_mobility, refine_positive,
};
use ergode::nn::TrainConfig;
use ergode::random::{Purpose, Stream};
use ergode::systems::{Affine2d, DoubleWell, OrnsteinUhlenbeck, OrnsteinUhlenbeckParameters};
use ergode::{BurnIn, Control, Ensemble, Recipe};
use ndarray::{Array2, array};

use crate::support::{Z_BOUND, affine_reference, mobility_errors, ou, sample};

/// Interval 0.1, degrees by held-out blocks: D to a percent, R better than a quadratic can be.
#[test]
fn slow_the_affine_mobility_is_found_without_being_told_anything() {
    let system = Affine2d::default();
    let data = sample(&system, 3000.0, 0.1, 36, 5)
        .burn_in(BurnIn::Time(10.0))
        .unwrap();
    let reference = affine_reference();
    for recipe in [Recipe::Auto, Recipe::Weak] {
        let config = RecipeConfig {
            recipe,
            ..RecipeConfig::default()
        };
        let clock = std::time::Instant::now();
        let found = fit_mobility_recipe(&data, &config, &Control::new()).unwrap();
        let seconds = clock.elapsed().as_secs_f64();
        let (d, r) = mobility_errors(&data, &found.fit.mobility, reference);
        println!(
            "{:?}: D {d:.4}, R {r:.4}, chi2 {:.2}, {seconds:.1} s, lags to {:?}; {}",
            found.recipe,
            found.fit.chi2_per_equation,
            found.lags.last(),
            found.reason
        );
        assert!(d < 0.03, "{d}");
        assert!(r < 0.06, "{r}");
        assert_ne!(found.recipe, Recipe::Auto);
        for stretch in [1.0, 2.0, 4.0] {
            let indefinite = found.fit.mobility.psd_violation_beyond(&data, stretch);
            println!(
                "  indefinite at {stretch}: {indefinite}; {:?}",
                found.fit.positivity
            );
            assert_eq!(indefinite, 0.0, "{stretch} times as far as the samples");
        }
        assert_eq!(found.fit.warnings, Vec::<String>::new());
    }
}

/// A slow process beside fast ones: hops over a barrier take many times as long as the motion in a well,
/// and lags are as long as the hops. D is not a polynomial, and is found to a few percent.
#[test]
fn a_double_well_is_taken_for_what_it_is() {
    let system = DoubleWell::default();
    let data = sample(&system, 1000.0, 0.01, 64, 5);
    let found = fit_mobility_recipe(&data, &RecipeConfig::default(), &Control::new()).unwrap();
    let (d, _) = mobility_errors(&data, &found.fit.mobility, &system);
    println!(
        "double well: D {d:.4}, chi2 {:.2}, lags {:?}, rungs {:?}",
        found.fit.chi2_per_equation, found.lags, found.fit.rungs
    );
    assert!(d < 0.06, "{d}");
}

/// A short record and a D of degree 4: the free fit is indefinite somewhere, the refined one nowhere,
/// at little cost.
#[test]
fn slow_an_indefinite_diffusion_is_made_positive_everywhere() {
    let system = Affine2d::default();
    let reference = affine_reference();
    let data = sample(&system, 250.0, 0.2, 20, 3);
    let standardiser = Standardiser::from_ensemble(&data).unwrap();
    let space = SemigroupConfig::default();
    let config = PolynomialConfig {
        moment_degree: space.moment_degree(4),
        lags: doubling_lags(0.2, 1.3),
        ..PolynomialConfig::default()
    };
    let sums = accumulate_polynomials(&data, &standardiser, &config, &Control::new()).unwrap();
    let basis = TensorBasis::polynomial(data.names(), &standardiser, 4, 2, None).unwrap();
    let equations = Semigroup::new(&Arc::new(sums), &basis, &space).unwrap();
    let fitting = MobilityConfig {
        ridges: vec![0.0],
        ..MobilityConfig::default()
    };
    let free = fit_mobility(&equations, &fitting, &Control::new()).unwrap();
    let violation = free.mobility.psd_violation(&data);
    let before = mobility_errors(&data, &free.mobility, reference).0;
    assert!(violation > 0.0, "the data must be poor enough");
    let refined = refine_positive(free, &equations, &data, &fitting, &Control::new()).unwrap();
    let after = mobility_errors(&data, &refined.mobility, reference).0;
    let positivity = refined.positivity.unwrap();
    println!("violation {violation:.4}, error of D {before:.3} then {after:.3}, {positivity:?}");
    assert_eq!(refined.mobility.psd_violation(&data), 0.0);
    assert_eq!(positivity.violation, violation);
    assert!(positivity.cost < 0.2, "{positivity:?}");
    assert!(after < before, "positivity is information");
    // Far outside the samples too.
    let mut factor = [0.0; 4];
    for k in 0..100 {
        let angle = 0.3 * f64::from(k);
        for radius in [2.0, 10.0, 100.0] {
            let x = [radius * angle.cos(), radius * angle.sin()];
            refined.mobility.noise_factor(&x, &mut factor).unwrap();
        }
    }
}

/// Two independent coordinates: with the off-diagonal entries masked, the diagonal is found as well.
#[test]
fn masked_entries_stay_zero() {
    let system = OrnsteinUhlenbeck::new(OrnsteinUhlenbeckParameters {
        drift: vec![vec![1.0, 0.0], vec![0.0, 2.0]],
        diffusion: vec![vec![1.0, 0.0], vec![0.0, 0.5]],
        mean: vec![0.0, 0.0],
    })
    .unwrap();
    let data = sample(&system, 400.0, 0.2, 32, 3);
    let config = RecipeConfig {
        mask: Some(array![[true, false], [false, true]]),
        ..RecipeConfig::default()
    };
    let found = fit_mobility_recipe(&data, &config, &Control::new()).unwrap();
    let (m, error) = (
        found.fit.mobility.at(&[0.3, 0.1]),
        found.fit.mobility_error(&[0.3, 0.1]),
    );
    assert_eq!((m[1], m[2]), (0.0, 0.0));
    let z = [(m[0] - 1.0) / error[[0, 0]], (m[3] - 0.5) / error[[1, 1]]];
    println!("masked: z {z:?}");
    assert!(z.iter().all(|z| z.abs() < Z_BOUND));
}

#[test]
fn what_a_recipe_cannot_do_is_said() {
    let system = ou();
    let data = sample(&system, 200.0, 0.5, 16, 3);
    let thirty: Vec<Vec<f64>> = (0..30)
        .map(|i| (0..30).map(|j| f64::from(u8::from(i == j))).collect())
        .collect();
    let wide = OrnsteinUhlenbeck::new(OrnsteinUhlenbeckParameters {
        drift: thirty.clone(),
        diffusion: thirty,
        mean: vec![0.0; 30],
    })
    .unwrap();
    let wide = sample(&wide, 600.0, 3.0, 4, 1);
    let error = fit_mobility_recipe(&wide, &RecipeConfig::default(), &Control::new());
    let message = error.unwrap_err().to_string();
    assert!(message.contains("select fewer coordinates"), "{message}");
    let short = data.select(&[0]).unwrap();
    let short = short.burn_in(BurnIn::Time(199.0)).unwrap();
    let error = fit_mobility_recipe(&short, &RecipeConfig::default(), &Control::new());
    let error = error.unwrap_err();
    assert!(
        error
            .to_string()
            .contains("linearly dependent on the samples"),
        "{error}"
    );
}

/// The paper's recipe end to end, small: on a process with a constant mobility the network stays near
/// it, and a second call takes the trained networks from the folder.
#[test]
fn slow_the_papers_recipe_runs_and_resumes() {
    let system = ou();
    let data = sample(&system, 400.0, 0.05, 32, 3);
    let mut config = PaperConfig {
        lags: vec![0.1, 0.2, 0.4, 0.8],
        short_lags: vec![0.0, 0.05, 0.1, 0.15],
        ..PaperConfig::default()
    };
    for (hidden, train) in [
        (&mut config.stationary.hidden, &mut config.stationary.train),
        (
            &mut config.conditional.hidden,
            &mut config.conditional.train,
        ),
        (&mut config.mobility.hidden, &mut config.mobility.train),
    ] {
        *hidden = vec![32, 32];
        *train = TrainConfig::with_steps(300);
    }
    config.mobility.states = 16_384;
    config.mobility.batch = 2048;
    let folder = tempfile::tempdir().unwrap();
    let run = || fit_paper_mobility(&data, &config, Some(folder.path()), &Control::new()).unwrap();
    let first = run();
    assert_eq!(first.fit.curves.len(), 18);
    let (x, mut m, mut again) = ([0.2, -0.1], [0.0; 4], [0.0; 4]);
    first.fit.mobility.mobility(&x, &mut m);
    let exact = system.mobility_matrix();
    let off: f64 = m
        .iter()
        .zip(exact.iter())
        .map(|(m, e)| (m - e).powi(2))
        .sum();
    let size: f64 = exact.iter().map(|e| e * e).sum();
    println!("paper's recipe on OU: M off by {:.3}", (off / size).sqrt());
    assert!((off / size).sqrt() < 0.2);
    run().fit.mobility.mobility(&x, &mut again);
    assert_eq!(m, again);
    config.lags.clear();
    let refused = fit_paper_mobility(&data, &config, None, &Control::new());
    assert!(refused.unwrap_err().is_bad_input());
}

/// The rate of an Ornstein-Uhlenbeck process is D in standardised coordinates: its error is that of D, which short
/// lags know well, and that of the variance, which they do not. Thirty exact records of 200 decorrelation times;
/// the jackknife in the coordinates of the whole record, without the uncertainty of these, covers about half.
#[test]
fn printed_errors_contain_the_uncertainty_of_the_standardisation() {
    let rate = 0.04f64;
    let (decay, kick) = ((-rate).exp(), (-(-2.0 * rate).exp_m1()).sqrt());
    let mut found = Vec::new();
    for seed in 0..30 {
        let mut stream = Stream::new(seed, Purpose::Analysis, 0);
        let mut x = stream.normal();
        let values = Array2::from_shape_simple_fn((5000, 1), || {
            x = decay * x + kick * stream.normal();
            3.0 + 20.0 * x
        });
        let data = Ensemble::from_array(values, 1.0).unwrap();
        let config = RecipeConfig {
            degrees: Some((0, 0)),
            ..RecipeConfig::default()
        };
        let fit = fit_mobility_recipe(&data, &config, &Control::new()).unwrap();
        let (_, value, error) = fit.fit.coefficients().next().unwrap();
        found.push([value - rate, error, fit.fit.jackknife.errors()[0]]);
    }
    let covered = |error: usize| {
        let inside = found.iter().filter(|f| f[0].abs() < 1.96 * f[error]);
        inside.count() as f64 / found.len() as f64
    };
    let root = |k: usize| {
        let sum: f64 = found.iter().map(|f| f[k] * f[k]).sum();
        (sum / found.len() as f64).sqrt()
    };
    println!(
        "spread {:.4}, printed {:.4}, without the standardisation {:.4}; covered {:.2}, {:.2}",
        root(0),
        root(1),
        root(2),
        covered(1),
        covered(2)
    );
    assert!(covered(1) >= 0.86, "{}", covered(1));
    assert!(covered(2) < 0.8, "{}", covered(2));
}
