//! The zoo: records with known answers that the library was not built on, each fitted with defaults in a
//! process of its own, beside what other methods find. `cargo xtask zoo` builds and runs it.
//!
//! ```text
//! zoo [CASE..] [--quick] [--limit SECONDS] [--alone] [--set KEY=VALUE].. [--python INTERPRETER SCRIPT]
//!                                                                   all cases, or those named
//! zoo list                                                          names, expected verdicts and reasons
//! zoo fit CASE INTERVAL [--quick] [--set KEY=VALUE]..               one fit
//! zoo repeat CASE INTERVAL RECORDS SCALE [--set KEY=VALUE]..         fits of independent records, SCALE times as long
//! zoo peers CASE INTERVAL [--quick] [--python INTERPRETER SCRIPT]   its peers
//! ```
//!
//! Except for the list the output is one JSON object. Fits use defaults except for what `--set` changes, a line of
//! a configuration file.

mod bounded;
mod circles;
mod compare;
mod driver;
mod gaussian;
mod heavy;
mod hidden;
mod high;
mod imperfect;
mod kramers_moyal;
mod linear;
mod oscillators;
mod pairs;
mod record;
mod repeat;
mod score;
mod trial;
mod wells;

use std::path::PathBuf;
use std::process::ExitCode;

use driver::Plan;
use record::{Case, Setting};
use trial::Python;

/// All cases by class.
const CLASSES: &[(&str, &[Case])] = &[
    ("gaussian", gaussian::CASES),
    ("wells", wells::CASES),
    ("oscillators", oscillators::CASES),
    ("bounded", bounded::CASES),
    ("circles", circles::CASES),
    ("heavy-tailed", heavy::CASES),
    ("high-dimensional", high::CASES),
    ("hidden", hidden::CASES),
    ("imperfect", imperfect::CASES),
];

fn main() -> ExitCode {
    match run(std::env::args().skip(1).collect()) {
        Ok(text) => {
            println!("{text}");
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

fn run(mut arguments: Vec<String>) -> Result<String, String> {
    let quick = take(&mut arguments, "--quick", 0).is_some();
    let alone = take(&mut arguments, "--alone", 0).is_some();
    let python = take(&mut arguments, "--python", 2)
        .map(|paths| (PathBuf::from(&paths[0]), PathBuf::from(&paths[1])));
    let limit = match take(&mut arguments, "--limit", 1) {
        Some(seconds) => seconds[0].parse().map_err(|_| "--limit is not a number")?,
        None => driver::limit(quick),
    };
    let mut settings = Vec::new();
    while let Some(mut setting) = take(&mut arguments, "--set", 1) {
        settings.append(&mut setting);
    }
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let plan = |python| Plan {
        quick,
        python,
        alone,
        limit,
        settings: settings.clone(),
    };
    match words.as_slice() {
        ["list"] => Ok(list()),
        [task @ ("fit" | "peers"), name, interval] => {
            let (_, case) = find(name)?;
            let interval = interval.parse().map_err(|_| "INTERVAL is not a number")?;
            let setting = Setting::new(interval, quick);
            let python = python.as_ref().map(|(interpreter, script)| Python {
                interpreter,
                script,
                limit: driver::PEER,
            });
            Ok(match *task {
                "fit" => trial::fit_case(case, &setting, &settings)?,
                _ => trial::run_peers(case, &setting, python.as_ref()),
            }
            .to_string())
        }
        ["repeat", name, interval, records, scale] => {
            let (_, case) = find(name)?;
            let number = |text: &str| -> Result<f64, String> {
                text.parse()
                    .map_err(|_| format!("`{text}` is not a number"))
            };
            let (interval, scale) = (number(interval)?, number(scale)?);
            repeat::repeat(case, interval, number(records)? as u64, scale, &settings)
        }
        [] => {
            let chosen = all()
                .filter(|(_, case)| case.quick || !quick)
                .collect::<Vec<_>>();
            Ok(driver::run(&chosen, &plan(python)).to_string())
        }
        names => {
            let chosen = names
                .iter()
                .map(|name| find(name))
                .collect::<Result<Vec<_>, _>>()?;
            Ok(driver::run(&chosen, &plan(python)).to_string())
        }
    }
}

/// Removes an option and the values that follow it.
fn take(arguments: &mut Vec<String>, option: &str, values: usize) -> Option<Vec<String>> {
    let at = arguments.iter().position(|argument| argument == option)?;
    let end = (at + 1 + values).min(arguments.len());
    let taken: Vec<String> = arguments.drain(at..end).skip(1).collect();
    (taken.len() == values).then_some(taken)
}

fn all() -> impl Iterator<Item = (&'static str, &'static Case)> {
    CLASSES
        .iter()
        .flat_map(|(class, cases)| cases.iter().map(move |case| (*class, case)))
}

fn find(name: &str) -> Result<(&'static str, &'static Case), String> {
    all()
        .find(|(_, case)| case.name == name)
        .ok_or_else(|| format!("there is no case `{name}`; `zoo list` names all"))
}

fn list() -> String {
    let line = |(class, case): (&str, &Case)| {
        let Case {
            name,
            reason,
            expected,
            ..
        } = case;
        format!("{name} ({class}): {}: {reason}", expected.name())
    };
    all().map(line).collect::<Vec<_>>().join("\n")
}
