//! `ergode forecast`: a record beyond its end.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Instant;

use ergode::forecast::{ForecastConfig, forecast};
use ergode::{Ensemble, LangevinModel, write_ensemble};
use serde_json::json;

use crate::args::Forecast;
use crate::calendar::Epoch;
use crate::output::{Failed, grouped, report, shown, write_text};
use crate::progress::watched;

pub(crate) fn run(arguments: &Forecast, json: bool) -> Result<(), Failed> {
    let clock = Instant::now();
    let model = LangevinModel::load(&arguments.run)?;
    let known = Epoch::of_run(&arguments.run)?;
    let (record, epoch) = arguments.reading.read(&arguments.data, known)?;
    let config = ForecastConfig {
        horizon: arguments.horizon,
        interval: arguments.interval,
        trajectories: arguments.trajectories,
        every: arguments.every,
        trend: arguments.trend.into(),
        dt: None,
        seed: arguments.seed,
    };
    let found = watched("forecasting", |control| {
        forecast(&model, &record, &config, control)
    })?;
    let written = match arguments.members {
        true => found.ensemble()?,
        false => found.table(&arguments.quantiles)?,
    };
    match epoch.filter(|_| is_text(&arguments.output)) {
        Some(epoch) => write_dated(&arguments.output, &written, &epoch)?,
        None => write_ensemble(&arguments.output, &written)?,
    }
    let result = json!({
        "file": shown(&arguments.output),
        "starts": found.starts,
        "leads": found.leads,
        "members": config.trajectories,
        "columns": written.names(),
        "out_of_support": found.out_of_support,
        "failures": found.failures,
        "wall_s": clock.elapsed().as_secs_f64(),
    });
    let sentence = format!(
        "{}: {} of {} values, {} members each, {:.2} % of the values outside the support of the data ({:.1} s)",
        shown(&arguments.output),
        match found.starts.len() {
            1 => "1 forecast".to_owned(),
            count => format!("{} forecasts", grouped(count)),
        },
        grouped(found.leads.len()),
        grouped(config.trajectories),
        100.0 * found.out_of_support,
        clock.elapsed().as_secs_f64()
    );
    report(json, &result, &sentence)?;
    match found.failures {
        0 => Ok(()),
        failures => Err(Failed::other(format!(
            "{failures} members diverged and are left out; fit the model again with a smaller simulate.dt"
        ))),
    }
}

/// True for files of text.
fn is_text(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    extension.is_some_and(|extension| ["csv", "tsv"].contains(&extension))
}

/// Write a table with dates as times.
fn write_dated(path: &Path, table: &Ensemble, epoch: &Epoch) -> Result<(), Failed> {
    let separator = if path.extension().is_some_and(|e| e == "tsv") {
        '\t'
    } else {
        ','
    };
    let several = table.len() > 1;
    let mut text = String::from("time");
    if several {
        let _ = write!(text, "{separator}trajectory");
    }
    for name in table.names() {
        let _ = write!(text, "{separator}{name}");
    }
    text.push('\n');
    let mut row = vec![0.0; table.dim()];
    for (k, trajectory) in table.trajectories().iter().enumerate() {
        for i in 0..trajectory.len() {
            text += &epoch.date(trajectory.time(i));
            if several {
                let _ = write!(text, "{separator}{k}");
            }
            trajectory.row(i, &mut row);
            for value in &row {
                let _ = match value.is_nan() {
                    true => write!(text, "{separator}"),
                    false => write!(text, "{separator}{value}"),
                };
            }
            text.push('\n');
        }
    }
    write_text(path, &text)
}
