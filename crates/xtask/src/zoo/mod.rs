//! `cargo xtask zoo`: how the library does on records that it was not built on.

mod table;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::process;
use crate::python::Environment;
use crate::workspace::Workspace;

/// The peer in Python.
const PEER: &str = "StochasticForceInference==2.0.4";

/// The arguments of the command.
#[derive(Debug, Default, PartialEq)]
struct Options<'a> {
    cases: Vec<&'a str>,
    json: bool,
    quick: bool,
    alone: bool,
    write: Option<&'a str>,
    limit: Option<&'a str>,
}

/// Runs the zoo, or the cases named, and prints the table.
pub(crate) fn run(workspace: &Workspace, args: &[&str]) -> Result<(), String> {
    let options = parse(args)?;
    let results = measure(workspace, &options)?;
    if let Some(path) = options.write {
        let path = workspace.root().join(path);
        write_page(&path, &results, &args.join(" "))?;
    }
    if options.json {
        println!("{results}");
    } else {
        print!("{}", table::text(&results));
    }
    Ok(())
}

/// Runs the quick zoo without the peer in Python; an error if a case ends without a report or passes wrongly.
pub(crate) fn check(workspace: &Workspace) -> Result<(), String> {
    let options = Options {
        quick: true,
        ..Options::default()
    };
    let results = measure_with(workspace, &options, None)?;
    print!("{}", table::text(&results));
    let faults = faults(&results);
    if faults.is_empty() {
        return Ok(());
    }
    Err(format!("the zoo shows faults:\n  {}", faults.join("\n  ")))
}

/// Cases that end without a report, and those that pass where they must not.
fn faults(results: &Value) -> Vec<String> {
    let rows = results["cases"].as_array().map_or(&[][..], Vec::as_slice);
    let fault = |row: &Value| {
        let (verdict, expected) = (row["verdict"].as_str()?, row["expected"].as_str()?);
        let name = row["name"].as_str()?;
        match verdict {
            "error" | "crash" | "timeout" => {
                let message = row["message"].as_str().unwrap_or("");
                Some(format!(
                    "{name} ends without a report ({verdict}): {message}"
                ))
            }
            "pass" if expected != "pass" => {
                let reason = row["reason"].as_str().unwrap_or("");
                Some(format!("{name} passes, but {reason}"))
            }
            _ => None,
        }
    };
    rows.iter().filter_map(fault).collect()
}

fn measure(workspace: &Workspace, options: &Options) -> Result<Value, String> {
    if options.alone {
        return measure_with(workspace, options, None);
    }
    let python = Environment::prepare(workspace, "zoo-python", &[PEER]);
    let python = python
        .inspect_err(|message| eprintln!("warning: the peer in Python is left out: {message}"))
        .ok();
    let interpreter = python.as_ref().map(Environment::interpreter);
    measure_with(workspace, options, interpreter)
}

/// Builds the example, with the features that the tests of the workspace are built with, so that nothing is compiled
/// twice, and runs it.
fn measure_with(
    workspace: &Workspace,
    options: &Options,
    python: Option<&Path>,
) -> Result<Value, String> {
    let mut build = workspace.cargo(&["build", "--workspace", "--example", "zoo"]);
    process::stream_to_stderr(&mut build)?;
    let mut command = std::process::Command::new(workspace.debug_example("zoo"));
    command.args(&options.cases);
    for (wanted, option) in [(options.quick, "--quick"), (options.alone, "--alone")] {
        if wanted {
            command.arg(option);
        }
    }
    if let Some(seconds) = options.limit {
        command.args(["--limit", seconds]);
    }
    if let Some(interpreter) = python {
        let script: PathBuf = workspace.root().join("crates/xtask/src/zoo/sfi.py");
        command.arg("--python").arg(interpreter).arg(script);
    }
    let text = process::capture(&mut command)?;
    serde_json::from_str(&text).map_err(|error| format!("cannot read the zoo's output: {error}"))
}

fn write_page(path: &Path, results: &Value, arguments: &str) -> Result<(), String> {
    let page = table::page(results, &format!("cargo xtask zoo {arguments}"));
    fs::write(path, page).map_err(|error| format!("cannot write {}: {error}", path.display()))
}

/// Reads `[CASE..] [--json] [--quick] [--alone] [--limit SECONDS] [--write FILE]`.
fn parse<'a>(args: &[&'a str]) -> Result<Options<'a>, String> {
    let mut options = Options::default();
    let mut rest = args.iter();
    while let Some(argument) = rest.next() {
        let mut value = || {
            let value = rest.next().copied();
            value.ok_or_else(|| format!("{argument} needs a value"))
        };
        match *argument {
            "--json" => options.json = true,
            "--quick" => options.quick = true,
            "--alone" => options.alone = true,
            "--write" => options.write = Some(value()?),
            "--limit" => options.limit = Some(value()?),
            other if other.starts_with('-') => {
                return Err(format!("unknown option `{other}` of `cargo xtask zoo`"));
            }
            case => options.cases.push(case),
        }
    }
    Ok(options)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn options_and_cases_are_told_apart() {
        let options = parse(&["ou1", "--quick", "--write", "docs/zoo.md", "box"]).unwrap();
        assert_eq!(options.cases, ["ou1", "box"]);
        assert_eq!(options.write, Some("docs/zoo.md"));
        assert!(options.quick && !options.json);
        assert_eq!(parse(&["--write"]).unwrap_err(), "--write needs a value");
        assert!(parse(&["--fast"]).unwrap_err().contains("`--fast`"));
    }

    #[test]
    fn wrong_passes_and_missing_reports_are_faults_and_errors_of_fields_are_not() {
        let row = |name, verdict, expected| {
            json!({"name": name, "verdict": verdict, "expected": expected, "drift_rel_l2": 9.0,
                   "reason": "because", "message": "why"})
        };
        let results = json!({"cases": [
            row("good", "pass", "pass"),
            row("cautious", "warn", "pass"),
            row("refused", "refused", "warn-or-fail"),
            row("bribed", "pass", "warn-or-fail"),
            row("slow", "timeout", "pass"),
        ]});
        let faults = faults(&results);
        assert_eq!(
            faults,
            [
                "bribed passes, but because",
                "slow ends without a report (timeout): why"
            ]
        );
    }
}
