//! `ergode accumulate` and `ergode merge`.

use std::ops::Range;
use std::sync::Arc;

use ergode::pipeline::{Sums, SumsPlan};
use ergode::read_ensemble;
use serde_json::json;

use crate::args::{Accumulate, Merge};
use crate::fit::configured;
use crate::output::{Failed, grouped, read_text, report, shown, write_text};
use crate::progress::watched;

pub(crate) fn run(arguments: &Accumulate, json: bool) -> Result<(), Failed> {
    if arguments.output.is_none() && arguments.write_plan.is_none() {
        return Err(Failed::input(
            "give a file for the sums (-o part.sums), for the plan (--write-plan plan.toml), or both",
        ));
    }
    let options = arguments.reading.options();
    let (data, rows) = (&arguments.data, arguments.rows.clone());
    let (plan, sums) = match &arguments.plan {
        Some(path) => {
            let plan = SumsPlan::from_toml(&read_text(path)?)
                .map_err(|error| Failed::input(format!("{}: {error}", shown(path))))?;
            let plan = Arc::new(plan);
            let wanted = arguments.output.is_some();
            let sums = wanted.then(|| {
                watched("accumulating", |control| {
                    Sums::of_files(&plan, data, &options, rows, control)
                })
            });
            (plan, sums.transpose()?)
        }
        None => {
            let changes = (arguments.config.as_deref(), &arguments.set[..]);
            let config = configured(changes, arguments.seed, arguments.recipe)?;
            let ensemble = watched("reading", |control| read_ensemble(data, &options, control))?;
            let kept = arguments.keep.unwrap_or(SumsPlan::KEPT);
            let plan = watched("planning", |control| {
                SumsPlan::with_excerpt(&ensemble, &config, kept, control)
            })?;
            let plan = Arc::new(plan);
            let wanted = arguments.output.is_some();
            let sums = wanted.then(|| {
                watched("accumulating", |control| {
                    Sums::of_ensemble(&plan, &ensemble, rows, control)
                })
            });
            (plan, sums.transpose()?)
        }
    };
    let mut lines = Vec::new();
    if let Some(path) = &arguments.write_plan {
        write_text(path, &plan.to_toml()?)?;
        lines.push(format!(
            "{}: plan of sums for {} rows of {}, pairs up to {} rows apart",
            shown(path),
            grouped(plan.rows()),
            plan.names().join(", "),
            grouped(plan.halo())
        ));
    }
    let mut counted = None;
    if let (Some(path), Some(sums)) = (&arguments.output, &sums) {
        sums.save(path)?;
        counted = Some(sums.counted().0);
        lines.push(written(&shown(path), sums));
    }
    let result = json!({
        "file": arguments.output.as_deref().map(shown),
        "plan": arguments.write_plan.as_deref().map(shown),
        "rows": plan.rows(),
        "counted": counted,
        "halo": plan.halo(),
        "names": plan.names(),
    });
    report(json, &result, &lines.join("\n"))
}

pub(crate) fn merge(arguments: &Merge, json: bool) -> Result<(), Failed> {
    let sums = watched("merging", |_| {
        let (first, others) = arguments.parts.split_first().expect("clap asks for one");
        let mut sums = Sums::load(first)?;
        for path in others {
            let part = Sums::load(path)?;
            sums.merge(part)
                .map_err(|error| Failed::input(format!("{}: {error}", shown(path))))?;
        }
        Ok::<Sums, Failed>(sums)
    })?;
    sums.save(&arguments.output)?;
    let (counted, rows) = sums.counted();
    let result = json!({
        "file": shown(&arguments.output),
        "parts": arguments.parts.len(),
        "rows": rows,
        "counted": counted,
    });
    report(json, &result, &written(&shown(&arguments.output), &sums))
}

fn written(file: &str, sums: &Sums) -> String {
    let (counted, rows) = sums.counted();
    format!(
        "{file}: sums over {} of {} rows",
        grouped(counted),
        grouped(rows)
    )
}

/// Rows as `A:B`, of which either may be left out.
pub(crate) fn parse_rows(text: &str) -> Result<Range<usize>, String> {
    let problem = || {
        format!(
            "'{text}' are no rows; give the first and one past the last, counted from 0, as in 0:1000"
        )
    };
    let (first, end) = text.split_once(':').ok_or_else(problem)?;
    let number = |text: &str| text.trim().parse::<usize>().map_err(|_| problem());
    let rows = number(first)?..number(end)?;
    match rows.is_empty() {
        true => Err(problem()),
        false => Ok(rows),
    }
}
