//! The range of every number of a configuration.

use serde_json::Value;

use super::config::FitConfig;
use crate::error::{Error, Result};
use crate::ranges::Range;

/// Positive, for quantities in the units of the record.
const POSITIVE: Range = Range::above(0.0, 1e100);
/// Not negative.
const NOT_NEGATIVE: Range = Range::closed(0.0, 1e100);
/// A probability or a fraction.
const FRACTION: Range = Range::closed(0.0, 1.0);
/// A probability or a fraction that is neither none nor all.
const PART: Range = Range::inside(0.0, 1.0);
/// A seed; TOML, in which configurations are written, has no larger numbers.
const SEED: Range = Range::whole(0, i64::MAX as u64);
/// Steps of a training.
const STEPS: Range = Range::whole(1, 1_000_000_000);
/// Lags, in sampling intervals.
const LAG: Range = Range::whole(1, 1_000_000_000);
/// Any finite number of reasonable size.
const FINITE: Range = Range::closed(-1e100, 1e100);

/// Ends of key paths and the ranges of their numbers; of several that fit a key, the longest decides. The
/// numbers of a list have the key of the list.
const RANGES: &[(&str, Range)] = &[
    ("seed", SEED),
    ("held_out", PART),
    ("noise.held_out", Range::above(0.0, 0.5)),
    ("mobility.held_out", Range::above(0.0, 0.5)),
    ("cycle.period", POSITIVE),
    ("cycle.harmonics", Range::whole(0, 1000)),
    ("delays.count", Range::whole(0, 100)),
    ("delays.spacing", POSITIVE),
    ("check.decorrelation_threshold", PART),
    ("check.short_fail", NOT_NEGATIVE),
    ("check.short_warn", NOT_NEGATIVE),
    ("check.coarse_warn", POSITIVE),
    ("check.coarse_fail", POSITIVE),
    ("check.stationarity_z", POSITIVE),
    ("check.stationarity_size", NOT_NEGATIVE),
    ("check.distribution_probability", FRACTION),
    ("check.cycle_false_alarm", FRACTION),
    ("check.cycle_amplitude", NOT_NEGATIVE),
    ("check.markov_z", POSITIVE),
    ("check.markov_size", NOT_NEGATIVE),
    ("check.noise_z", POSITIVE),
    ("check.noise_fraction", NOT_NEGATIVE),
    ("check.duplicate_correlation", FRACTION),
    ("check.duplicate_eigenvalue", NOT_NEGATIVE),
    // Statistics of every part.
    ("subsample.stride", Range::whole(1, 1_000_000_000)),
    ("subsample.random.fraction", Range::above(0.0, 1.0)),
    ("blocking.per-trajectory", Range::whole(1, 100_000)),
    ("blocking", Range::whole(1, 100_000)),
    (
        "statistics.first_trajectory",
        Range::whole(0, 1_000_000_000_000),
    ),
    // Scores.
    ("score.closed_form.degrees", Range::whole(1, 30)),
    ("ridges", NOT_NEGATIVE),
    ("folds", Range::whole(2, 1000)),
    ("certificate.warn_probability", FRACTION),
    ("certificate.fail_probability", FRACTION),
    ("certificate.warn_error", NOT_NEGATIVE),
    ("certificate.fail_error", NOT_NEGATIVE),
    ("certificate.fail_distance", NOT_NEGATIVE),
    ("certificate.warn_refused", NOT_NEGATIVE),
    ("resample.starts", Range::whole(0, 1_000_000)),
    ("resample.time", Range::above(0.0, 1e4)),
    ("resample.step", Range::closed(1e-6, 1.0)),
    // Networks.
    ("hidden", Range::whole(1, 4096)),
    ("layout.lattice.sites", Range::whole(1, 10_000)),
    ("layout.lattice.reach", Range::whole(0, 100)),
    ("symmetries", Range::closed(-1.0, 1.0)),
    ("noise.sigma", Range::above(0.0, 10.0)),
    ("noise.batch", Range::whole(1, 1_000_000)),
    ("noise.held_out_states", Range::whole(1, 10_000_000)),
    ("train.steps", STEPS),
    ("train.accumulate", Range::whole(1, 10_000)),
    ("train.average", Range::from(0.0, 1.0)),
    ("train.check_every", STEPS),
    ("train.patience", Range::whole(0, 1_000_000_000)),
    ("adam.rate", Range::above(0.0, 10.0)),
    ("adam.beta1", Range::from(0.0, 1.0)),
    ("adam.beta2", Range::from(0.0, 1.0)),
    ("adam.epsilon", Range::above(0.0, 1.0)),
    ("adam.weight_decay", Range::closed(0.0, 10.0)),
    ("adam.clip", POSITIVE),
    ("cosine.steps", STEPS),
    ("cosine.floor", FRACTION),
    ("conditional.frequencies", Range::whole(0, 1000)),
    ("moment_penalty", NOT_NEGATIVE),
    // Rings.
    ("ring.sites", Range::whole(0, 10_000)),
    ("ring.distances", Range::whole(1, 10_000)),
    ("ring.potential_degree", Range::whole(1, 12)),
    ("ring.mobility_degree", Range::whole(0, 8)),
    ("ring.lags", Range::whole(2, 10_000)),
    // The mobility.
    ("mobility.degrees", Range::whole(0, 12)),
    ("mobility.max_degrees", Range::whole(0, 12)),
    ("mobility.max_coefficients", Range::whole(1, 10_000)),
    ("mobility.caution", NOT_NEGATIVE),
    ("mobility.noise.variances", NOT_NEGATIVE),
    ("mobility.horizon", POSITIVE),
    ("mobility.leading", Range::whole(1, 10_000)),
    ("mobility.mean.value.data", FINITE),
    ("mobility.mean.error.data", NOT_NEGATIVE),
    ("mobility.floors", FINITE),
    ("mobility.iterations", Range::whole(1, 100_000)),
    // The paper's recipe.
    ("paper.lags", POSITIVE),
    ("paper.short_lags", NOT_NEGATIVE),
    ("paper.future_degree", Range::whole(1, 8)),
    ("paper.initial_degree", Range::whole(1, 8)),
    ("baseline_degree", Range::whole(0, 8)),
    ("mobility.floor", FRACTION),
    ("mobility.skew", NOT_NEGATIVE),
    ("mobility.states", Range::whole(1, 100_000_000)),
    ("mobility.batch", Range::whole(1, 1_000_000)),
    ("mobility.lags_per_step", Range::whole(1, 100_000)),
    ("mobility.lag_exponent", Range::closed(-10.0, 10.0)),
    ("mobility.mean_penalty", NOT_NEGATIVE),
    ("mobility.ridge", NOT_NEGATIVE),
    ("residual.degree", Range::whole(1, 12)),
    ("residual.bandwidth", POSITIVE),
    ("stationary_reach", Range::whole(0, 100)),
    ("conditional_reach", Range::whole(0, 100)),
    ("mobility_reach", Range::whole(0, 100)),
    ("paper.ring.conditional_lags", LAG),
    ("paper.ring.lags", LAG),
    ("paper.ring.pairs", Range::whole(1, 100_000_000)),
    // Simulation and validation.
    ("simulate.dt", POSITIVE),
    ("simulate.length", Range::above(0.0, 1000.0)),
    ("simulate.time", POSITIVE),
    ("simulate.trajectories", Range::whole(1, 1_000_000)),
    ("validate.horizon", POSITIVE),
    ("validate.lags", Range::whole(2, 10_000)),
    ("validate.channels", Range::whole(1, 10_000)),
    ("validate.bins", Range::whole(2, 10_000)),
    ("validate.joint_bins", Range::whole(2, 512)),
    ("validate.joints", Range::whole(0, 1000)),
    ("validate.frequencies", Range::whole(2, 10_000)),
    ("validate.quantiles", PART),
    ("validate.draws", Range::whole(64, 1_000_000)),
    ("validate.false_alarm", PART),
    ("validate.warn_floors", NOT_NEGATIVE),
    ("validate.fail_floors", NOT_NEGATIVE),
    ("validate.refute_floors", NOT_NEGATIVE),
    ("validate.training", POSITIVE),
];

/// The range of a key.
pub(super) fn range_of(key: &str) -> Option<Range> {
    let fits = |end: &str| {
        key.strip_suffix(end)
            .is_some_and(|before| before.is_empty() || before.ends_with('.'))
    };
    let fitting = RANGES.iter().filter(|(end, _)| fits(end));
    fitting
        .max_by_key(|(end, _)| end.len())
        .map(|(_, range)| *range)
}

impl FitConfig {
    /// Checks every number against its range, and what configurations of parts ask of several together.
    ///
    /// # Errors
    /// When a number is out of its range or no number; the message has its key.
    pub fn check(&self) -> Result<()> {
        let numbers = serde_json::to_value(self).expect("a configuration is plain data");
        check_numbers("", &numbers)?;
        // JSON leaves out what is no number, TOML does not.
        let all = toml::Value::try_from(self).map_err(|error| {
            Error::input(format!("the configuration cannot be written: {error}"))
        })?;
        refuse_non_numbers("", &all)?;
        self.space.check()?;
        self.validate.validate()
    }
}

/// The path of a part of a section.
pub(super) fn inside(key: &str, part: &str) -> String {
    match key {
        "" => part.to_owned(),
        _ => format!("{key}.{part}"),
    }
}

fn check_numbers(key: &str, value: &Value) -> Result<()> {
    match value {
        Value::Object(map) => map.iter().try_for_each(|(part, value)| match key {
            // Labels of coefficients are no keys.
            "mobility.floors" => check_numbers(key, value),
            _ => check_numbers(&inside(key, part), value),
        }),
        Value::Array(list) => list.iter().try_for_each(|value| check_numbers(key, value)),
        Value::Number(number) => {
            let value = number.as_f64().unwrap_or(f64::NAN);
            // Numbers without a range are no settings: the shape of an array, and its version.
            range_of(key).map_or(Ok(()), |range| range.check(key, value))
        }
        _ => Ok(()),
    }
}

fn refuse_non_numbers(key: &str, value: &toml::Value) -> Result<()> {
    match value {
        toml::Value::Table(table) => table
            .iter()
            .try_for_each(|(part, value)| refuse_non_numbers(&inside(key, part), value)),
        toml::Value::Array(list) => list
            .iter()
            .try_for_each(|value| refuse_non_numbers(key, value)),
        toml::Value::Float(number) if !number.is_finite() => {
            range_of(key).unwrap_or(FINITE).check(key, *number)
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lagged::{Blocking, Subsample};
    use crate::mobility::MeasurementNoise;
    use crate::observe::Choice;

    /// A configuration in which every number is there.
    fn complete() -> FitConfig {
        let mut config = FitConfig::default();
        config.cycle.period = Some(Choice::Given(12.0));
        config.cycle.harmonics = Some(2);
        config.delays.count = Choice::Given(1);
        config.delays.spacing = Choice::Given(0.1);
        config.score.closed_form.degrees = vec![4];
        config.score.closed_form.statistics.subsample = Subsample::Stride(2);
        config.score.closed_form.statistics.blocking = Blocking::PerTrajectory(4);
        config.mobility.statistics.subsample = Subsample::Random {
            fraction: 0.5,
            seed: 1,
        };
        config.score.denoising.symmetries = vec![vec![-1.0]];
        config.score.denoising.train.adam.clip = Some(1.0);
        config.mobility.degrees = Some((2, 3));
        config.mobility.noise = MeasurementNoise::Variances(vec![0.1]);
        config.mobility.horizon = Some(1.0);
        config.mobility.leading = Some(1);
        config.mobility.floors.insert("D[x,x] x.y".to_owned(), 0.0);
        config.paper.lags = vec![0.1];
        config.paper.short_lags = vec![0.0, 0.1];
        config.paper.baseline_degree = Some(2);
        config.simulate.dt = Some(0.01);
        config.simulate.time = Some(10.0);
        config.validate.horizon = Some(3.0);
        config.validate.training = Some(3.0);
        config
    }

    fn leaves(key: &str, value: &Value, out: &mut Vec<String>) {
        match value {
            Value::Object(_) if key == "mobility.floors" => out.push(key.to_owned()),
            Value::Object(map) => map
                .iter()
                .for_each(|(part, value)| leaves(&inside(key, part), value, out)),
            Value::Array(list) => list.iter().for_each(|value| leaves(key, value, out)),
            Value::Number(_) => out.push(key.to_owned()),
            _ => {}
        }
    }

    #[test]
    fn every_number_has_a_range_that_holds_its_default() {
        complete().check().unwrap();
        FitConfig::default().check().unwrap();
        let mut keys = Vec::new();
        let value = serde_json::to_value(complete()).unwrap();
        leaves("", &value, &mut keys);
        assert!(keys.len() > 150, "{}", keys.len());
        for key in &keys {
            assert!(range_of(key).is_some(), "{key} has no range");
        }
        // And no range is idle.
        for (end, _) in RANGES {
            let used = keys.iter().any(|key| {
                let before = key.strip_suffix(end);
                before.is_some_and(|before| before.is_empty() || before.ends_with('.'))
            });
            let spare = ["layout.lattice", "mobility.mean.", "blocking"];
            let spare = spare.iter().any(|start| end.starts_with(start));
            assert!(used || spare, "{end} has a range but does not occur");
        }
    }

    #[test]
    fn numbers_out_of_range_and_numbers_that_are_none_are_named() {
        type Change = fn(&mut FitConfig);
        let cases: [(&str, Change); 8] = [
            ("simulate.length = -1", |c| c.simulate.length = -1.0),
            ("simulate.trajectories = 0", |c| c.simulate.trajectories = 0),
            ("simulate.dt = NaN", |c| c.simulate.dt = Some(f64::NAN)),
            ("simulate.dt = 1e300", |c| c.simulate.dt = Some(1e300)),
            ("mobility.ridges = -1", |c| {
                c.mobility.ridges = vec![0.0, -1.0]
            }),
            ("mobility.horizon = inf", |c| {
                c.mobility.horizon = Some(f64::INFINITY)
            }),
            ("seed = 1.8446744073709552e19", |c| c.seed = u64::MAX),
            ("mobility.floors", |c| {
                c.mobility.floors.insert("D".to_owned(), f64::NAN);
            }),
        ];
        for (expected, change) in cases {
            let mut config = FitConfig::default();
            change(&mut config);
            let error = config.check().unwrap_err();
            let message = error.to_string();
            assert!(error.is_bad_input(), "{message}");
            assert!(
                message.contains(expected),
                "{expected} is not in: {message}"
            );
        }
    }

    #[test]
    fn a_file_of_numbers_that_are_none_is_refused() {
        let message = FitConfig::from_toml("[simulate]\ndt = nan\n")
            .unwrap_err()
            .to_string();
        assert!(message.contains("simulate.dt = NaN"), "{message}");
        let message = FitConfig::from_toml("[mobility]\nfolds = 6\nridges = [inf]\n").unwrap_err();
        assert!(
            message.to_string().contains("mobility.ridges = inf"),
            "{message}"
        );
        let changes = ["simulate.length=0".to_owned()];
        let message = FitConfig::default()
            .with_changes(&changes)
            .unwrap_err()
            .to_string();
        assert!(message.contains("simulate.length = 0"), "{message}");
    }
}
