//! Runs trials in processes of their own and judges what they leave.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use serde_json::{Value, json};

use crate::record::{Case, Expected};
use crate::score;
use crate::trial::{Ended, last_line, merge, wait};

/// Seconds that a peer in Python gets.
pub(crate) const PEER: f64 = 60.0;
/// An error of drift or D, relative to their size, at which a "pass" is wrong whatever the simulations say.
const USELESS: f64 = 0.5;

/// What to run.
pub(crate) struct Plan {
    pub(crate) quick: bool,
    /// Interpreter and script of the peer in Python.
    pub(crate) python: Option<(PathBuf, PathBuf)>,
    /// Without any peers.
    pub(crate) alone: bool,
    /// Seconds that a fit gets.
    pub(crate) limit: f64,
    /// Lines of a configuration file for the fits.
    pub(crate) settings: Vec<String>,
}

/// Seconds that a fit gets where nothing else is said.
pub(crate) fn limit(quick: bool) -> f64 {
    if quick { 30.0 } else { 120.0 }
}

/// All rows, worst first, and the score.
pub(crate) fn run(cases: &[(&str, &Case)], plan: &Plan) -> Value {
    let mut rows = Vec::new();
    for (class, case) in cases {
        let intervals = if plan.quick {
            &case.intervals[..1]
        } else {
            case.intervals
        };
        for interval in intervals {
            let row = row(class, case, *interval, plan);
            eprintln!("{}", progress(&row));
            rows.push(row);
        }
    }
    rows.sort_by(|a, b| score::badness(b).total_cmp(&score::badness(a)));
    json!({"score": score::score(&rows), "cases": rows})
}

fn progress(row: &Value) -> String {
    let text = |key: &str| row[key].as_str().unwrap_or("-").to_owned();
    let percent = |value: &Value| match value.as_f64() {
        Some(value) => format!("{:.1} %", 100.0 * value),
        None => "-".to_owned(),
    };
    format!(
        "{} {}: {} ({}), {:.1} s, drift {}, D {} {}",
        text("name"),
        row["interval"],
        text("verdict"),
        text("expected"),
        row["seconds"].as_f64().unwrap_or(f64::NAN),
        percent(&row["drift_rel_l2"]),
        percent(&row["D_rel_l2"]),
        row["message"].as_str().unwrap_or(""),
    )
}

/// One case at one interval.
fn row(class: &str, case: &Case, interval: f64, plan: &Plan) -> Value {
    let mut row = json!({
        "name": case.name, "class": class, "interval": interval, "seconds": null, "verdict": null,
        "expected": case.expected.name(), "drift_rel_l2": null, "D_rel_l2": null, "peers": {},
        "reason": case.reason,
    });
    if !plan.alone {
        let peers = child("peers", case, interval, plan, 2.0 * PEER);
        let found = peers.ok().filter(|peers| peers.get("error").is_none());
        row["peers"] = found.unwrap_or_else(|| json!({}));
    }
    let start = Instant::now();
    match child("fit", case, interval, plan, plan.limit) {
        Ok(found) => {
            let message = found["error"].as_str().map(str::to_owned);
            merge(&mut row, found);
            if let (Some(message), Some(all)) = (message, row.as_object_mut()) {
                all.remove("error");
                let refused = case.refusal.is_some_and(|word| message.contains(word));
                row["verdict"] = json!(if refused { "refused" } else { "error" });
                row["message"] = json!(message);
            }
        }
        Err((verdict, message)) => {
            row["verdict"] = json!(verdict);
            row["message"] = json!(message);
        }
    }
    if row["seconds"].is_null() {
        row["seconds"] = json!(start.elapsed().as_secs_f64());
    }
    row["right"] = json!(is_right(case, &row));
    row
}

/// Whether a row ends as its case should.
fn is_right(case: &Case, row: &Value) -> bool {
    let verdict = row["verdict"].as_str().unwrap_or("");
    let close = |key: &str| row[key].as_f64().is_none_or(|error| error <= USELESS);
    match (case.expected, verdict) {
        (_, "refused") => true,
        (Expected::Pass, "pass") => close("drift_rel_l2") && close("D_rel_l2"),
        (Expected::WarnOrFail, "warn" | "fail") | (Expected::Fail, "fail") => true,
        _ => false,
    }
}

/// The answer of this program in another process; else a word and a message on how it ended.
fn child(
    task: &str,
    case: &Case,
    interval: f64,
    plan: &Plan,
    limit: f64,
) -> Result<Value, (&'static str, String)> {
    let crash = |error: &dyn std::fmt::Display| ("crash", error.to_string());
    let folder = std::env::temp_dir().join(format!("ergode-zoo-driver-{}", std::process::id()));
    std::fs::create_dir_all(&folder).map_err(|error| crash(&error))?;
    let (out, errors) = (folder.join("out.json"), folder.join("errors.txt"));
    let file = |path: &Path| std::fs::File::create(path).map_err(|error| crash(&error));
    let mut command = Command::new(std::env::current_exe().map_err(|error| crash(&error))?);
    command.args([task, case.name, &interval.to_string()]);
    if plan.quick {
        command.arg("--quick");
    }
    for setting in &plan.settings {
        command.args(["--set", setting]);
    }
    if let (Some((interpreter, script)), "peers") = (&plan.python, task) {
        command.arg("--python").arg(interpreter).arg(script);
    }
    let mut process = command
        .stdin(Stdio::null())
        .stdout(file(&out)?)
        .stderr(file(&errors)?)
        .spawn()
        .map_err(|error| crash(&error))?;
    let ended = wait(&mut process, limit);
    let text = std::fs::read_to_string(&out).unwrap_or_default();
    let message = last_line(&std::fs::read_to_string(&errors).unwrap_or_default());
    let _ = std::fs::remove_dir_all(&folder);
    match ended {
        Ended::Killed => Err(("timeout", format!("not finished after {limit} s"))),
        Ended::InTime(false) => Err(("crash", message)),
        Ended::InTime(true) => serde_json::from_str(&text).map_err(|error| crash(&error)),
    }
}
