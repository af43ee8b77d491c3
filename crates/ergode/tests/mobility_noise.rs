//! Measurement noise: its covariance found, and taken out of mobility and score.

use ergode::mobility::{MeasurementNoise, RecipeConfig, fit_mobility_recipe};
use ergode::random::{Purpose, Stream};
use ergode::score::{
    CertificateConfig, ClosedFormConfig, ExactScore, Score, certify_score_without_noise,
    fit_potential_score, fit_potential_score_without_noise,
};
use ergode::systems::Affine2d;
use ergode::{
    BurnIn, Control, Ensemble, FitConfig, FitOptions, LangevinModel, Recipe, RunFolder, Trajectory,
    Verdict, fit_with,
};
use ndarray::{Array2, array};

use crate::support::{Z_BOUND, affine_reference, mobility_errors, rotating, rows, sample};

/// The record with noise η = A ξ added to every sample.
fn with_noise(data: &Ensemble, factor: &Array2<f64>, seed: u64) -> Ensemble {
    let trajectories = (0..data.len()).map(|k| {
        let mut values = rows(data, k).to_owned();
        let mut stream = Stream::new(seed, Purpose::Analysis, k as u64);
        for mut row in values.rows_mut() {
            let xi = ndarray::Array1::from_shape_fn(factor.ncols(), |_| stream.normal());
            row += &factor.dot(&xi);
        }
        Trajectory::new(values, data.trajectories()[k].times().clone())
    });
    Ensemble::new(trajectories.collect()).unwrap()
}

fn estimate(noise: MeasurementNoise) -> RecipeConfig {
    RecipeConfig {
        noise,
        ..RecipeConfig::default()
    }
}

/// Correlated noise in a linear system: every entry of S within its error; and the same estimate is many
/// errors away from a noise that is a tenth larger.
#[test]
fn the_covariance_of_noise_is_found_with_its_error() {
    let data = sample(&rotating(2), 800.0, 0.2, 32, 3);
    let factor = array![[0.30, 0.0], [0.12, 0.2]];
    let truth = factor.dot(&factor.t());
    let mut squares = [0.0; 2];
    for seed in 0..4 {
        let noisy = with_noise(&data, &factor, seed);
        let config = RecipeConfig {
            degrees: Some((1, 1)),
            ..estimate(MeasurementNoise::Estimate)
        };
        let found = fit_mobility_recipe(&noisy, &config, &Control::new()).unwrap();
        let noise = found.noise.unwrap();
        println!(
            "{:.5} +- {:.5}, {} rounds",
            noise.covariance, noise.errors, noise.rounds
        );
        for (k, claim) in [&truth, &(&truth * 1.1)].into_iter().enumerate() {
            let z = (&noise.covariance - claim) / &noise.errors;
            squares[k] += z[[0, 0]].powi(2) + z[[0, 1]].powi(2) + z[[1, 1]].powi(2);
        }
    }
    // χ² of twelve numbers, of which those of one record are correlated.
    println!("chi2 {squares:.2?}");
    assert!(squares[0] < 12.0 + Z_BOUND * 24f64.sqrt(), "{squares:?}");
    assert!(squares[1] > 12.0 + Z_BOUND * 24f64.sqrt(), "{squares:?}");
}

/// A fifth of the standard deviation is noise of unknown size: variance within a tenth, D within three
/// percent, by both recipes; without the correction D is off by more.
#[test]
fn slow_the_affine_mobility_is_found_through_noise() {
    let system = Affine2d::default();
    let clean = sample(&system, 3000.0, 0.1, 36, 5)
        .burn_in(BurnIn::Time(10.0))
        .unwrap();
    let reference = affine_reference();
    let scale = ergode::data::Standardiser::from_ensemble(&clean)
        .unwrap()
        .scale;
    let factor = Array2::from_diag(&array![0.2 * scale[0], 0.2 * scale[1]]);
    let noisy = with_noise(&clean, &factor, 1);
    let fit = |recipe: Recipe, noise: MeasurementNoise| {
        let config = RecipeConfig {
            recipe,
            degrees: Some((2, 2)).filter(|_| recipe != Recipe::Auto),
            ..estimate(noise)
        };
        let clock = std::time::Instant::now();
        let found = fit_mobility_recipe(&noisy, &config, &Control::new()).unwrap();
        // D where the states are, not where they seem to be.
        let (d, r) = mobility_errors(&clean, &found.fit.mobility, reference);
        println!(
            "{recipe:?}: D {d:.4}, R {r:.4}, chi2 {:.2}, S {:?}, {:.1} s",
            found.fit.chi2_per_equation,
            found.noise,
            clock.elapsed().as_secs_f64()
        );
        (d, found.noise)
    };
    for recipe in [Recipe::Auto, Recipe::Weak] {
        let (d, noise) = fit(recipe, MeasurementNoise::Estimate);
        assert!(d < 0.03, "{d}");
        let noise = noise.unwrap();
        for i in 0..2 {
            let truth = factor[[i, i]].powi(2);
            let ratio = noise.covariance[[i, i]] / truth;
            assert!((ratio - 1.0).abs() < 0.1, "{ratio}");
            let z = (noise.covariance[[i, i]] - truth) / noise.errors[[i, i]];
            assert!(z.abs() < Z_BOUND, "{z}");
        }
    }
    let (known, _) = fit(
        Recipe::Semigroup,
        MeasurementNoise::Variances(factor.diag().mapv(|a| a * a).to_vec()),
    );
    assert!(known < 0.02, "{known}");
    let (uncorrected, _) = fit(Recipe::Semigroup, MeasurementNoise::None);
    assert!(uncorrected > 0.03, "the twin: {uncorrected}");
}

/// The score of the density behind the noise, judged on held-out noisy data; the score of the density with
/// its noise is further from the truth, and refuted.
#[test]
fn the_score_is_found_through_noise() {
    let system = Affine2d::default();
    let clean = sample(&system, 1000.0, 0.1, 36, 7);
    let reference = affine_reference();
    let scale = ergode::data::Standardiser::from_ensemble(&clean)
        .unwrap()
        .scale;
    let factor = Array2::from_diag(&array![0.2 * scale[0], 0.2 * scale[1]]);
    let covariance = factor.dot(&factor);
    let noisy = with_noise(&clean, &factor, 1);
    let heldout = with_noise(&sample(&system, 1000.0, 0.1, 36, 8), &factor, 2);
    let (config, control) = (ClosedFormConfig::default(), Control::new());
    let free =
        fit_potential_score_without_noise(&noisy, covariance.view(), &config, &control).unwrap();
    let plain = fit_potential_score(&noisy, &config, &control).unwrap();
    let noiseless = fit_potential_score(&clean, &config, &control).unwrap();
    let exact = ExactScore::new(2, reference);
    let error = |score: &dyn Score| {
        let (mut off, mut size) = (0.0, 0.0);
        let (mut a, mut b) = ([0.0; 2], [0.0; 2]);
        for row in rows(&clean, 0).rows() {
            score.score(row.as_slice().unwrap(), &mut a);
            exact.score(row.as_slice().unwrap(), &mut b);
            off += (a[0] - b[0]).powi(2) + (a[1] - b[1]).powi(2);
            size += b[0].powi(2) + b[1].powi(2);
        }
        (off / size).sqrt()
    };
    let certify = |score| {
        let config = CertificateConfig::default();
        let covariance = covariance.view();
        certify_score_without_noise(score, &heldout, covariance, &config, &control).unwrap()
    };
    let errors = [&noiseless, &free, &plain].map(|score| error(score));
    let certificates = [certify(&free), certify(&plain)];
    println!("{errors:.4?}\n{}\n{}", certificates[0], certificates[1]);
    // Noise costs information: some of the error stays, but most of it goes.
    assert!(errors[1] < 0.06, "{errors:?}");
    assert!(errors[2] > 3.0 * errors[1], "{errors:?}");
    assert_eq!(certificates[0].verdict, Verdict::Pass);
    assert_ne!(certificates[1].verdict, Verdict::Pass);
}

/// One call: noise is found by the check, taken out, and added again to what is compared with held-out
/// data; told that there is none, the fit does not pass.
#[test]
fn slow_a_noisy_record_passes_once_its_noise_is_known() {
    let data = sample(&rotating(2), 400.0, 0.1, 36, 11);
    let noisy = with_noise(&data, &array![[0.3, 0.0], [0.0, 0.2]], 3);
    let fit = |noise: MeasurementNoise| {
        let mut config = FitConfig::default();
        config.mobility.noise = noise;
        let folder = tempfile::tempdir().unwrap();
        let run = RunFolder::open(folder.path()).unwrap();
        let options = FitOptions {
            folder: Some(&run),
            ..FitOptions::default()
        };
        let fitted = fit_with(&noisy, &config, options).unwrap();
        let validation = &fitted.results().validation;
        println!(
            "{:?} {:.3} {:?} {:?}",
            validation.verdict,
            validation.rmse_over_floor,
            validation.reasons,
            fitted.results().mobility.measurement_noise
        );
        let again = LangevinModel::load(folder.path()).unwrap();
        assert_eq!(again.observation(), fitted.model.observation());
        fitted
    };
    let corrected = fit(MeasurementNoise::Auto);
    assert_eq!(corrected.results().validation.verdict, Verdict::Pass);
    let noise = corrected.model.observation().noise.as_ref().unwrap();
    assert!((noise[[0, 0]] / 0.09 - 1.0).abs() < 0.1, "{noise}");
    let ignored = fit(MeasurementNoise::None);
    assert_ne!(ignored.results().validation.verdict, Verdict::Pass);
    assert!(ignored.model.observation().noise.is_none());
}

/// Where noise cannot be taken out the fit says so, and refuses to when asked.
#[test]
fn noise_that_cannot_be_taken_out_is_refused() {
    let data = sample(&rotating(2), 20.0, 0.1, 8, 11);
    let mut config = FitConfig::default();
    config.mobility.recipe = Recipe::Paper;
    config.mobility.noise = MeasurementNoise::Estimate;
    let fit = |config: &FitConfig| ergode::fit(&data, config).unwrap_err();
    let error = fit(&config);
    assert!(
        error.is_bad_input() && error.to_string().contains("networks"),
        "{error}"
    );
    config.mobility.recipe = Recipe::Semigroup;
    config.mobility.noise = MeasurementNoise::Variances(vec![0.1]);
    let error = fit(&config);
    assert!(
        error.is_bad_input() && error.to_string().contains("one variance"),
        "{error}"
    );
    config.mobility.noise = MeasurementNoise::Variances(vec![0.1, 7.0]);
    let error = fit(&config);
    assert!(
        error.is_bad_input() && error.to_string().contains("not the standard deviation"),
        "{error}"
    );
}

/// Records too short for moments of high degree without noise are fitted in a smaller space. There S comes
/// out low by about a standard error, so that only its size is asked for.
#[test]
fn slow_short_noisy_records_are_fitted_in_a_smaller_space() {
    const RECORDS: u64 = 8;
    let factor = array![[0.3, 0.0], [0.1, 0.2]];
    let truth = factor.dot(&factor.t());
    let mut mean = Array2::<f64>::zeros((2, 2));
    for seed in 0..RECORDS {
        let clean = sample(&rotating(2), 150.0, 0.1, 16, 40 + seed);
        let noisy = with_noise(&clean, &factor, seed);
        let config = RecipeConfig {
            degrees: Some((0, 0)),
            ..estimate(MeasurementNoise::Estimate)
        };
        let found = fit_mobility_recipe(&noisy, &config, &Control::new()).unwrap();
        mean.scaled_add(1.0 / RECORDS as f64, &found.noise.unwrap().covariance);
    }
    println!("{mean:.4}, exact {truth:.4}");
    for i in 0..2 {
        let ratio = mean[[i, i]] / truth[[i, i]];
        assert!((ratio - 1.0).abs() < 0.1, "{mean}");
    }
}
