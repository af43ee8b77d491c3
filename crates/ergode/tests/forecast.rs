//! Ensemble forecasts: their skill beside that of the truth, and records with trend and cycle.

use std::f64::consts::TAU;
use std::sync::OnceLock;

use ergode::forecast::{
    Forecast, ForecastConfig, ForecastReferences, SkillConfig, ensemble_crps, forecast,
    forecast_skill,
};
use ergode::observe::TrendAhead;
use ergode::random::{Purpose, Stream};
use ergode::simulate::{Initial, SimulateConfig, simulate_ensemble};
use ergode::systems::{DoubleWell, System};
use ergode::{Control, Ensemble, FitConfig, Fitted, Scheme, fit};
use ndarray::{Array2, s};

use super::support::{Estimate, rows, sample};

/// A fit of the double well, and independent data.
fn double_well() -> &'static (Fitted, Ensemble) {
    static FITTED: OnceLock<(Fitted, Ensemble)> = OnceLock::new();
    FITTED.get_or_init(|| {
        let system = DoubleWell::default();
        let config = FitConfig::default()
            .with_changes(&["limits.seconds=3000".into()])
            .unwrap();
        let fitted = fit(&sample(&system, 500.0, 0.1, 16, 1), &config).unwrap();
        (fitted, sample(&system, 400.0, 0.1, 16, 2))
    })
}

/// Members of a forecast.
const MEMBERS: usize = 256;

/// Forecasts from every 40th row, by the fitted model.
fn ahead(data: &Ensemble, model: &ergode::LangevinModel) -> Forecast {
    let config = ForecastConfig {
        horizon: 4.0,
        interval: Some(0.5),
        trajectories: MEMBERS,
        every: Some(40),
        ..ForecastConfig::default()
    };
    forecast(model, data, &config, &Control::new()).unwrap()
}

/// Mean CRPS at each lead over starts that have data to compare with, one list for each trajectory of the data.
fn scores(
    found: &Forecast,
    data: &Ensemble,
    members: impl Fn(usize, usize) -> Vec<f64>,
) -> Vec<Vec<f64>> {
    let steps: Vec<usize> = found
        .leads
        .iter()
        .map(|t| (t / 0.1).round() as usize)
        .collect();
    let mut scores = vec![Vec::new(); steps.len()];
    for (s, start) in found.starts.iter().enumerate() {
        let truth = rows(data, start.trajectory);
        if start.row + steps[steps.len() - 1] >= truth.nrows() {
            continue;
        }
        for (lead, step) in steps.iter().enumerate() {
            let y = truth[[start.row + step, 0]];
            scores[lead].push(ensemble_crps(&members(s, lead), y));
        }
    }
    scores
}

#[test]
fn slow_a_fitted_double_well_forecasts_as_well_as_the_truth() {
    let (fitted, data) = double_well();
    let found = ahead(data, &fitted.model);
    let of_model = scores(&found, data, |s, lead| {
        found.members.slice(s![s, .., lead, 0]).to_vec()
    });
    // The truth from the same states.
    let states = Array2::from_shape_fn((found.starts.len() * MEMBERS, 1), |(k, _)| {
        let start = &found.starts[k / MEMBERS];
        rows(data, start.trajectory)[[start.row, 0]]
    });
    let system = DoubleWell::default();
    let config = SimulateConfig {
        time: 4.0,
        dt: 0.02,
        scheme: Scheme::Platen,
        save_every: 0.5,
        trajectories: states.nrows(),
        seed: 11,
        ..system.protocol().simulate
    };
    let config = SimulateConfig {
        burn_in: 0.0,
        ..config
    };
    let exact = simulate_ensemble(&system, &Initial::Given(states), &config, &Control::new());
    let exact = exact.unwrap().ensemble;
    let of_truth = scores(&found, data, |s, lead| {
        (0..MEMBERS)
            .map(|k| rows(&exact, s * MEMBERS + k)[[lead + 1, 0]])
            .collect()
    });
    for (lead, (model, truth)) in of_model.iter().zip(&of_truth).enumerate() {
        let (model, truth) = (Estimate::new(model), Estimate::new(truth));
        let ratio = model.mean / truth.mean;
        assert!(
            (ratio - 1.0).abs() < 0.02,
            "lead {}: {ratio}",
            found.leads[lead]
        );
    }
}

#[test]
fn slow_the_skill_of_a_fit_beats_a_linear_model_and_a_wrong_one() {
    let (fitted, data) = double_well();
    let skill = fitted
        .results()
        .skill
        .as_ref()
        .expect("an even record has skill");
    assert_eq!(skill.coordinates.len(), 1);
    let of = &skill.coordinates[0];
    let ratios: Vec<f64> = (0..skill.leads.len())
        .map(|k| of.spread[k] / of.model.rmse[k])
        .collect();
    assert!(
        ratios.iter().all(|r| (0.85..1.15).contains(r)),
        "{ratios:?}"
    );
    assert!(fitted.page().html().contains("Forecast skill"));
    // A model that is three times too slow has too little spread, and scores worse.
    let control = Control::new();
    let slow = fitted
        .model
        .with_constant_mobility(ndarray::array![[0.2]].view())
        .unwrap();
    let references = ForecastReferences::new(data, 1, &control).unwrap();
    let config = SkillConfig {
        leads: vec![0.5, 1.0, 2.0],
        starts: 4000,
        work: 1e9,
        ..SkillConfig::default()
    };
    let right = forecast_skill(&fitted.model, data, &references, &config, &control).unwrap();
    let scores = &right.coordinates[0];
    let linear = scores
        .linear
        .as_ref()
        .expect("a double well has a linear model");
    let gains: Vec<f64> = (0..3)
        .map(|k| (linear.crps[k] - scores.model.crps[k]) / linear.difference_stderr[k])
        .collect();
    assert!(gains.iter().any(|z| *z > 3.0), "{gains:?}");
    let wrong = forecast_skill(&slow, data, &references, &config, &control).unwrap();
    for k in 0..2 {
        let (right, wrong) = (&right.coordinates[0], &wrong.coordinates[0]);
        assert!(wrong.model.crps[k] > 1.05 * right.model.crps[k]);
        assert!(wrong.spread[k] < 0.8 * wrong.model.rmse[k]);
    }
}

/// Forty years of months: a trend, a season and an autoregressive anomaly.
fn monthly() -> Ensemble {
    let mut stream = Stream::new(5, Purpose::Analysis, 0);
    let mut x = 0.0;
    let values = Array2::from_shape_fn((480, 1), |(i, _)| {
        x = 0.6 * x + 0.8 * stream.normal();
        expected(i as f64) + x
    });
    Ensemble::from_array(values, 1.0)
        .unwrap()
        .with_names(vec!["sst".into()])
        .unwrap()
}

fn expected(month: f64) -> f64 {
    20.0 + 0.02 * month + 3.0 * (TAU * month / 12.0).cos()
}

#[test]
fn slow_a_monthly_record_goes_on_with_season_and_trend() {
    let data = monthly();
    let changes = ["cycle.period=12", "trend=\"linear\"", "limits.seconds=3000"].map(String::from);
    let config = FitConfig::default().with_changes(&changes).unwrap();
    let model = fit(&data, &config).unwrap().model;
    let ahead = |trend: TrendAhead| {
        let config = ForecastConfig {
            horizon: 36.0,
            trajectories: 400,
            trend,
            ..ForecastConfig::default()
        };
        forecast(&model, &data, &config, &Control::new()).unwrap()
    };
    let found = ahead(TrendAhead::Continue);
    assert_eq!(found.leads.len(), 36);
    let table = found.table(&[0.05, 0.95]).unwrap();
    assert_eq!(table.names(), ["sst", "sst_sd", "sst_q05", "sst_q95"]);
    assert_eq!(table.trajectories()[0].time(0), 480.0);
    let mean = found.mean();
    for lead in 6..36 {
        let (found, truth) = (mean[[0, lead, 0]], expected(479.0 + found.leads[lead]));
        // The standard error of trend and season of 480 months with memory is about 0.3.
        assert!((found - truth).abs() < 1.2, "lead {lead}: {found} {truth}");
    }
    let held = ahead(TrendAhead::Hold).mean();
    let apart = mean[[0, 35, 0]] - held[[0, 35, 0]];
    assert!((apart / (0.02 * 36.0) - 1.0).abs() < 0.5, "{apart}");
    // From record to anomaly and back.
    let anomaly = model.observation().stationary(&data).unwrap();
    let back = model
        .observation()
        .record(&anomaly, TrendAhead::Continue)
        .unwrap();
    let worst = (&rows(&back, 0) - &rows(&data, 0)).mapv(f64::abs);
    assert!(worst.iter().all(|d| *d < 1e-9));
}

#[test]
fn slow_forecasts_are_refused_with_what_to_change() {
    let (fitted, data) = double_well();
    let control = Control::new();
    let ask = |change: &dyn Fn(&mut ForecastConfig)| {
        let mut config = ForecastConfig {
            horizon: 1.0,
            ..ForecastConfig::default()
        };
        change(&mut config);
        forecast(&fitted.model, data, &config, &control)
            .unwrap_err()
            .to_string()
    };
    assert!(ask(&|c| c.horizon = 0.0).contains("horizon"));
    assert!(ask(&|c| c.horizon = 0.01).contains("shorter than the interval"));
    assert!(ask(&|c| c.trajectories = 0).contains("trajectories"));
    assert!(ask(&|c| c.every = Some(0)).contains("every"));
}
