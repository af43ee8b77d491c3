//! One case at one interval, in a process of its own: the fit, or its peers.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use ergode::{Ensemble, Error, FitConfig, ModelField, fit, write_ensemble};
use serde_json::{Map, Value, json};

use crate::compare::{Errors, States};
use crate::record::{Case, Record, Setting};
use crate::{kramers_moyal, linear};

/// Samples that a peer in Python gets at most.
const MOST_SAMPLES: usize = 400_000;

/// Coordinates beyond which that peer is not run: its cubic polynomials would have hundreds of terms.
const MOST_COORDINATES: usize = 6;

/// Prints that the record was refused before a fit, and ends the process.
pub(crate) fn refuse(error: &Error) -> ! {
    println!("{}", json!({"error": error.to_string()}));
    std::process::exit(0)
}

/// Fits a case with defaults and these lines of a configuration file: verdict, seconds, errors, coverage; or the
/// message of an error.
///
/// # Errors
/// When the configuration cannot be read.
pub(crate) fn fit_case(
    case: &Case,
    setting: &Setting,
    settings: &[String],
) -> Result<Value, String> {
    let config = FitConfig::from_toml(&settings.join("\n")).map_err(|error| error.to_string())?;
    let record = (case.make)(setting);
    let start = Instant::now();
    let outcome = fit(&record.ensemble, &config);
    let seconds = start.elapsed().as_secs_f64();
    let fitted = match outcome {
        Ok(fitted) => fitted,
        Err(error) => return Ok(json!({"seconds": seconds, "error": error.to_string()})),
    };
    // The page is part of a report.
    let page = fitted.page();
    drop(page);
    let results = fitted.results();
    let mut row = json!({
        "seconds": seconds, "verdict": results.validation.verdict, "recipe": results.recipe,
        "recipe_reason": results.recipe_reason, "reasons": results.validation.reasons,
        "chi2_per_equation": results.mobility.chi2_per_equation, "wall_s": results.wall_s,
        "space": results.space,
    });
    let is_record = fitted.model.dim() == record.ensemble.dim() && results.observation.is_none();
    if let (Some(truth), true) = (&record.truth, is_record) {
        let states = States::new(&record.ensemble, truth);
        merge(&mut row, states.model_errors(&fitted.model).json());
        row["coverage"] = json!({
            "drift": states.coverage(&fitted.model, ModelField::Drift),
            "D": states.coverage(&fitted.model, ModelField::Diffusion),
        });
    }
    Ok(row)
}

/// How to run the peer in Python: interpreter, script, seconds at most.
pub(crate) struct Python<'a> {
    pub(crate) interpreter: &'a Path,
    pub(crate) script: &'a Path,
    pub(crate) limit: f64,
}

/// Runs the peers on a case; empty where the exact fields are not known.
pub(crate) fn run_peers(case: &Case, setting: &Setting, python: Option<&Python>) -> Value {
    let record = (case.make)(setting);
    let Some(truth) = &record.truth else {
        return json!({});
    };
    let states = States::new(&record.ensemble, truth);
    let mut peers = Map::new();
    type Peer = fn(&Ensemble, &[bool], &States) -> Option<Errors>;
    let ours: [(&str, Peer); 2] = [
        ("kramers_moyal", kramers_moyal::errors),
        ("linear_inverse_model", linear::errors),
    ];
    for (name, peer) in ours {
        let start = Instant::now();
        let errors = peer(&record.ensemble, &record.circles, &states);
        let none = Errors {
            drift: f64::NAN,
            diffusion: f64::NAN,
        };
        let mut row = errors.unwrap_or(none).json();
        row["seconds"] = json!(start.elapsed().as_secs_f64());
        peers.insert(name.into(), row);
    }
    if let Some(python) = python {
        let row = force_inference(&record, &states, python);
        let row = row.unwrap_or_else(|message| {
            json!({"drift_rel_l2": null, "D_rel_l2": null, "seconds": null, "error": message})
        });
        peers.insert("stochastic_force_inference".into(), row);
    }
    Value::Object(peers)
}

/// StochasticForceInference by its defaults: the record goes out as a file, its fields at the compared
/// states come back.
fn force_inference(record: &Record, states: &States, python: &Python) -> Result<Value, String> {
    let dim = record.ensemble.dim();
    if record.circles.contains(&true) {
        return Err("it has no angles".into());
    }
    if dim > MOST_COORDINATES {
        return Err("too many coordinates".into());
    }
    let interval = record.ensemble.sampling_interval().ok_or("uneven times")?;
    if record.ensemble.samples() > MOST_SAMPLES {
        return Err("too many samples".into());
    }
    let folder = std::env::temp_dir().join(format!("ergode-zoo-{}", std::process::id()));
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let answer = ask(record, states, interval, python, &folder);
    let _ = std::fs::remove_dir_all(&folder);
    let answer = answer?;
    let field = |name: &str, width: usize| -> Result<Vec<f64>, String> {
        let values = serde_json::from_value::<Vec<Option<f64>>>(answer[name].clone())
            .map_err(|error| format!("{name}: {error}"))?;
        let all: Vec<f64> = values.into_iter().map(|v| v.unwrap_or(f64::NAN)).collect();
        let complete = all.len() == states.count() * width;
        complete
            .then_some(all)
            .ok_or_else(|| format!("{name}: wrong size"))
    };
    let (drift, diffusion) = (field("drift", dim)?, field("diffusion", dim * dim)?);
    let mut k = 0;
    let errors = states.errors(|_, b, d| {
        b.copy_from_slice(&drift[k * dim..][..dim]);
        d.copy_from_slice(&diffusion[k * dim * dim..][..dim * dim]);
        k += 1;
    });
    let mut row = errors.json();
    row["seconds"] = answer["seconds"].clone();
    Ok(row)
}

/// Runs the script on files in `folder`.
fn ask(
    record: &Record,
    states: &States,
    interval: f64,
    python: &Python,
    folder: &Path,
) -> Result<Value, String> {
    let task = json!({"interval": interval, "states": states.rows(), "degree": if record.circles.len() == 1 { 5 } else { 3 }});
    write_ensemble(folder.join("data.npz"), &record.ensemble).map_err(|error| error.to_string())?;
    std::fs::write(folder.join("task.json"), task.to_string()).map_err(|e| e.to_string())?;
    let errors = std::fs::File::create(folder.join("errors.txt")).map_err(|e| e.to_string())?;
    let mut child = Command::new(python.interpreter)
        .arg(python.script)
        .arg(folder)
        .stdout(Stdio::null())
        .stderr(errors)
        .spawn()
        .map_err(|error| error.to_string())?;
    match wait(&mut child, python.limit) {
        Ended::InTime(true) => {
            let text = std::fs::read_to_string(folder.join("answer.json"));
            let text = text.map_err(|error| error.to_string())?;
            serde_json::from_str(&text).map_err(|error| error.to_string())
        }
        Ended::InTime(false) => {
            let text = std::fs::read_to_string(folder.join("errors.txt")).unwrap_or_default();
            Err(last_line(&text))
        }
        Ended::Killed => Err(format!("not finished after {} s", python.limit)),
    }
}

/// How a process ended.
pub(crate) enum Ended {
    /// By itself, successfully or not.
    InTime(bool),
    /// It took too long and was killed.
    Killed,
}

/// Waits for a process, at most `limit` seconds; then kills it.
pub(crate) fn wait(child: &mut std::process::Child, limit: f64) -> Ended {
    let start = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ended::InTime(status.success()),
            Ok(None) if start.elapsed().as_secs_f64() < limit => {
                std::thread::sleep(Duration::from_millis(20));
            }
            _ => {
                let _ = child.kill();
                let _ = child.wait();
                return Ended::Killed;
            }
        }
    }
}

/// The last line that says something.
pub(crate) fn last_line(text: &str) -> String {
    let line = text.lines().rev().find(|line| !line.trim().is_empty());
    line.unwrap_or("no message")
        .trim()
        .chars()
        .take(200)
        .collect()
}

/// Adds the entries of one object to another.
pub(crate) fn merge(row: &mut Value, more: Value) {
    if let (Value::Object(row), Value::Object(more)) = (row, more) {
        row.extend(more);
    }
}
