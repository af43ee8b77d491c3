//! Ensemble forecasts: their skill beside that of the truth, and records with trend and cycle.

use std::f64::consts::TAU;
use std::sync::OnceLock;

use ergode::forecast::{
    CoordinateSkill, ForecastConfig, ForecastReferences, SkillConfig, ensemble_crps, forecast,
    forecast_skill,
};
use ergode::observe::TrendAhead;
use ergode::random::{Purpose, Stream};
use ergode::simulate::{Initial, SimulateConfig, simulate_ensemble};
use ergode::systems::{
    Affine2d, DoubleWell, OrnsteinUhlenbeck, OrnsteinUhlenbeckParameters, System,
};
use ergode::{Control, Ensemble, FitConfig, Fitted, LangevinModel, Scheme, fit};
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
const MEMBERS: usize = 128;

/// A record, its system, and leads from 0.1 to 3 decorrelation times, in samples.
struct Case {
    system: Box<dyn System>,
    interval: f64,
    steps: [usize; 4],
}

/// CRPS of forecasts by a model and by the truth from the same states, at one lead of one coordinate.
#[derive(Debug)]
struct Beside {
    lead: f64,
    coordinate: usize,
    /// Score of the model over that of the truth.
    ratio: f64,
    /// Standard error of the ratio, of differences start by start.
    stderr: f64,
}

impl Case {
    /// Forecasts of `data` from every so many rows, without the last ones, which have nothing to be compared with.
    fn beside_the_truth(&self, model: &LangevinModel, data: &Ensemble) -> Vec<Beside> {
        let last = self.steps[3];
        let cut: Vec<_> = data.trajectories().iter().map(|t| t.len() - last).collect();
        let config = ForecastConfig {
            horizon: last as f64 * self.interval,
            trajectories: MEMBERS,
            every: Some(last),
            seed: 3,
            ..ForecastConfig::default()
        };
        let found = forecast(model, data, &config, &Control::new()).unwrap();
        let has_data = |s: &usize| found.starts[*s].row < cut[found.starts[*s].trajectory];
        let starts: Vec<usize> = (0..found.starts.len()).filter(has_data).collect();
        let of = |s: usize| rows(data, found.starts[s].trajectory);
        let dim = data.dim();
        let states = Array2::from_shape_fn((starts.len() * MEMBERS, dim), |(k, i)| {
            let s = starts[k / MEMBERS];
            of(s)[[found.starts[s].row, i]]
        });
        let config = SimulateConfig {
            time: last as f64 * self.interval,
            dt: 0.05 * self.interval,
            scheme: Scheme::Platen,
            save_every: self.interval,
            trajectories: states.nrows(),
            seed: 11,
            burn_in: 0.0,
        };
        let initial = Initial::Given(states);
        let exact = simulate_ensemble(&*self.system, &initial, &config, &Control::new());
        let exact = exact.unwrap().ensemble;
        let mut all = Vec::new();
        for (coordinate, step) in (0..dim).flat_map(|i| self.steps.map(|step| (i, step))) {
            let (mut truth, mut apart) = (Vec::new(), Vec::new());
            for (k, &s) in starts.iter().enumerate() {
                let y = of(s)[[found.starts[s].row + step, coordinate]];
                let members = found.members.slice(s![s, .., step - 1, coordinate]);
                let exact = |m| rows(&exact, k * MEMBERS + m)[[step, coordinate]];
                let exact: Vec<f64> = (0..MEMBERS).map(exact).collect();
                truth.push(ensemble_crps(&exact, y));
                apart.push(ensemble_crps(&members.to_vec(), y) - truth[k]);
            }
            let (truth, apart) = (Estimate::new(&truth), Estimate::new(&apart));
            all.push(Beside {
                lead: step as f64 * self.interval,
                coordinate,
                ratio: 1.0 + apart.mean / truth.mean,
                stderr: apart.error / truth.mean,
            });
        }
        all
    }

    /// Scores must lie within 2 % of those of the truth, and their errors must be small enough to say so.
    fn accept(&self, model: &LangevinModel, data: &Ensemble) {
        for of in self.beside_the_truth(model, data) {
            println!(
                "coordinate {} at {}: {:.4}",
                of.coordinate, of.lead, of.ratio
            );
            assert!(of.stderr < 0.009, "{of:?}");
            assert!((of.ratio - 1.0).abs() < 0.02, "{of:?}");
        }
    }
}

/// The double well at the interval 0.1, whose decorrelation time is about 4.
fn well() -> Case {
    Case {
        system: Box::new(DoubleWell::default()),
        interval: 0.1,
        steps: [4, 12, 40, 120],
    }
}

#[test]
fn slow_a_fitted_double_well_forecasts_as_well_as_the_truth() {
    let (fitted, data) = double_well();
    well().accept(&fitted.model, data);
    // A model that is three times too slow does not.
    let slow = fitted
        .model
        .with_constant_mobility(ndarray::array![[0.2]].view());
    let of = well().beside_the_truth(&slow.unwrap(), data);
    let seen = |of: &Beside| of.ratio > 1.02 + 5.0 * of.stderr;
    assert!(of.iter().any(seen), "{of:?}");
}

/// Fits a record of 16 trajectories and forecasts another.
fn accept_a_fit(case: &Case) {
    let config = FitConfig::default().with_changes(&["limits.seconds=3000".into()]);
    let learned = sample(&*case.system, 500.0, case.interval, 16, 1);
    let fitted = fit(&learned, &config.unwrap()).unwrap();
    let data = sample(&*case.system, 1000.0, case.interval, 16, 2);
    case.accept(&fitted.model, &data);
}

#[test]
fn slow_a_fitted_ou_forecasts_as_well_as_the_truth() {
    accept_a_fit(&Case {
        system: Box::new(OrnsteinUhlenbeck::new(OrnsteinUhlenbeckParameters::default()).unwrap()),
        interval: 0.1,
        steps: [1, 3, 10, 30],
    });
}

#[test]
fn slow_a_fitted_affine2d_forecasts_as_well_as_the_truth() {
    // Its decorrelation time is 1.3.
    accept_a_fit(&Case {
        system: Box::new(Affine2d::default()),
        interval: 0.13,
        steps: [1, 3, 10, 30],
    });
}

/// Spread less error of the mean, lead by lead, in standard errors.
fn apart(of: &CoordinateSkill) -> Vec<f64> {
    let leads = of.spread.iter().zip(&of.model.rmse);
    let errors = leads.zip(&of.model.rmse_stderr);
    errors
        .map(|((spread, rmse), e)| (spread - rmse) / e)
        .collect()
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
    let scores = apart(of);
    assert!(scores.iter().all(|z| z.abs() < 5.0), "{scores:?}");
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
    let scores = [&right, &wrong].map(|skill| apart(&skill.coordinates[0]));
    assert!(scores[0].iter().all(|z| z.abs() < 5.0), "{scores:?}");
    assert!(scores[1][..2].iter().all(|z| *z < -5.0), "{scores:?}");
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
