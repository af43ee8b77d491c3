//! The command line as scripts see it: exit codes, JSON, files.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use serde_json::Value;

fn ergode(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_ergode"))
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap()
}

fn json(output: &Output) -> Value {
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Exit code and message of a command that must fail.
fn failure(folder: &Path, arguments: &[&str]) -> (i32, String) {
    let output = ergode(folder, arguments);
    assert!(output.stdout.is_empty(), "{output:?}");
    let message = String::from_utf8(output.stderr).unwrap();
    (output.status.code().unwrap(), message)
}

fn entries(folder: &Path) -> usize {
    std::fs::read_dir(folder).unwrap().count()
}

#[test]
fn generate_and_convert_report_what_they_made() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let made = json(&ergode(
        at,
        &[
            "generate", "affine2d", "-o", "a.npz", "--time", "5", "--json",
        ],
    ));
    assert_eq!(made["samples_per_trajectory"], 501);
    assert_eq!(made["protocol"]["trajectories"], 36);
    assert_eq!(made["failures"], Value::Array(vec![]));
    let converted = json(&ergode(at, &["--json", "convert", "a.npz", "b.csv"]));
    assert_eq!(converted["samples"], 36 * 501);
    assert_eq!(converted["names"][1], "y");
    json(&ergode(at, &["convert", "b.csv", "c.npz", "--json"]));
    let bytes = |name: &str| std::fs::read(at.join(name)).unwrap();
    assert_eq!(bytes("a.npz"), bytes("c.npz"));
    assert_eq!(entries(at), 3);
}

#[test]
fn the_same_seed_gives_the_same_file_and_another_gives_another() {
    let folder = tempfile::tempdir().unwrap();
    let make = |name: &str, seed: &str| {
        let arguments = ["generate", "cir", "-o", name, "--time", "5", "--seed", seed];
        assert!(ergode(folder.path(), &arguments).status.success());
        std::fs::read(folder.path().join(name)).unwrap()
    };
    assert_eq!(make("a.npy", "1"), make("b.npy", "1"));
    assert_ne!(make("a.npy", "1"), make("c.npy", "2"));
}

#[test]
fn a_small_memory_budget_changes_nothing_but_the_memory() {
    let folder = tempfile::tempdir().unwrap();
    let make = |name: &str, memory: &str| {
        let system = [
            "generate",
            "softspin",
            "--time",
            "36.5",
            "--trajectories",
            "20",
        ];
        let rest = ["-o", name, "--memory", memory];
        let output = ergode(folder.path(), &[&system[..], &rest[..]].concat());
        assert!(output.status.success(), "{output:?}");
        std::fs::read(folder.path().join(name)).unwrap()
    };
    assert_eq!(make("whole.npz", "1"), make("parts.npz", "0.001"));
}

#[test]
fn bad_usage_and_bad_input_exit_with_2() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    std::fs::write(at.join("bad.npy"), b"PK\x03\x04 this is no array").unwrap();
    let cases: [(&[&str], &str); 13] = [
        (&["frobnicate"], "unrecognized"),
        (
            &["generate", "cir", "-o", "a.npz", "--time", "-1"],
            "time = -1",
        ),
        (
            &["generate", "cir", "-o", "a.npz", "--seed", "-1"],
            "invalid value '-1'",
        ),
        (&["generate", "pendulum", "-o", "a.npz"], "affine2d"),
        (
            &["generate", "cir", "-o", "a.npz", "--set", "gamma=2"],
            "Feller",
        ),
        (
            &["generate", "cir", "-o", "a.npz", "--set", "gamma"],
            "key=value",
        ),
        (&["generate", "cir", "-o", "a.xyz"], ".npz"),
        (
            &["generate", "affine2d", "-o", "a.npz", "--scheme", "exact"],
            "transition law",
        ),
        (
            &["generate", "affine2d", "-o", "a.npz", "--dt", "0.003"],
            "whole multiple",
        ),
        (&["convert", "absent.npz", "a.csv"], "absent.npz"),
        (&["convert", "bad.npy", "a.csv"], "zip"),
        (&["check", "absent.npz", "--html", "a.html"], "absent.npz"),
        (&["check", "bad.npy"], "zip"),
    ];
    for (arguments, expected) in cases {
        let (code, message) = failure(at, arguments);
        assert_eq!(code, 2, "{arguments:?}: {message}");
        assert!(message.contains(expected), "{arguments:?}: {message}");
    }
    assert_eq!(entries(at), 1, "nothing is left behind");
}

#[test]
fn a_trajectory_that_explodes_is_reported_and_the_rest_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = [
        "generate",
        "affine2d",
        "-o",
        "a.npz",
        "--dt",
        "0.45",
        "--save-every",
        "0.45",
    ];
    let output = ergode(folder.path(), &[&arguments[..], &["--time", "90"]].concat());
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(message.contains("too large"), "{message}");
}

#[test]
fn an_interrupt_leaves_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_ergode"))
        .args(["generate", "softspin", "-o", "big.npz", "--memory", "0.01"])
        .current_dir(folder.path())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(1500));
    assert!(entries(folder.path()) > 0, "the work is under way");
    let killed = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status()
        .unwrap();
    assert!(killed.success());
    assert_eq!(child.wait().unwrap().code(), Some(1));
    assert_eq!(entries(folder.path()), 0);
}

#[test]
fn every_command_has_help_with_an_example_and_shells_have_completions() {
    let folder = tempfile::tempdir().unwrap();
    for command in [
        "demo",
        "check",
        "fit",
        "simulate",
        "eval",
        "validate",
        "report",
        "reproduce",
        "generate",
        "convert",
        "equation",
        "config",
        "doctor",
        "completions",
    ] {
        let output = ergode(folder.path(), &[command, "--help"]);
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(
            output.status.success() && text.contains("Example"),
            "{text}"
        );
    }
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let output = ergode(folder.path(), &["completions", shell]);
        assert!(output.status.success() && output.stdout.len() > 500);
    }
}

#[test]
fn the_demo_says_where_its_report_is() {
    let folder = tempfile::tempdir().unwrap();
    let output = ergode(folder.path(), &["demo", "ou", "--json"]);
    let result = json(&output);
    let report = folder.path().join(result["report"].as_str().unwrap());
    let page = std::fs::read_to_string(report).unwrap();
    assert!(page.contains("</svg>") && !page.contains("NaN"));
    assert_eq!(result["validation"]["verdict"], "pass", "{result}");
    assert!(result["truth"]["D_rel_l2"].as_f64().unwrap() < 0.05);
}

/// Data, fit, and every use of a fit.
#[test]
fn a_fit_is_simulated_evaluated_validated_and_reported() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let make = |name: &str, seed: &str| {
        let system = [
            "generate",
            "ou",
            "-o",
            name,
            "--time",
            "200",
            "--save-every",
            "0.1",
        ];
        let rest = ["--trajectories", "16", "--seed", seed];
        assert!(
            ergode(at, &[&system[..], &rest[..]].concat())
                .status
                .success()
        );
    };
    make("data.npz", "1");
    make("other.npz", "2");
    let fit = json(&ergode(
        at,
        &["fit", "data.npz", "-o", "run", "--json", "--seed", "4"],
    ));
    assert_eq!(fit["seed"], 4);
    assert_eq!(fit["recipe"], "semigroup");
    for key in [
        "correlation_rmse",
        "noise_floor",
        "rmse_over_floor",
        "density_l1",
        "out_of_support",
    ] {
        assert!(fit["validation"][key].is_number(), "{key}");
    }
    for file in [
        "config.toml",
        "model.safetensors",
        "model.json",
        "results.json",
        "report.html",
        "log.jsonl",
    ] {
        assert!(at.join("run").join(file).exists(), "{file}");
    }
    let simulate = [
        "simulate",
        "run",
        "-o",
        "new.npz",
        "--time",
        "50",
        "--save-every",
        "0.1",
    ];
    let new = json(&ergode(
        at,
        &[
            &simulate[..],
            &["--trajectories", "3", "--start", "-5", "--json"],
        ]
        .concat(),
    ));
    assert_eq!(new["samples_per_trajectory"], 501);
    let points = [
        "eval",
        "run",
        "--points",
        "new.npz",
        "-o",
        "fields.npz",
        "--json",
    ];
    let fields = json(&ergode(at, &points));
    assert_eq!(fields["states"], 3 * 501);
    let arrays: Vec<&str> = (fields["arrays"].as_array().unwrap().iter())
        .map(|name| name.as_str().unwrap())
        .collect();
    let names = ["score", "drift", "mobility", "diffusion", "div_mobility"];
    assert_eq!(arrays[1..6], names);
    assert_eq!(arrays[6..], names.map(|name| format!("{name}_stderr")));
    assert_eq!(fields["without_stderr"], serde_json::json!({}));
    let constant = [
        "eval",
        "run/constant",
        "--points",
        "new.npz",
        "-o",
        "c.npz",
        "--json",
    ];
    let fields = json(&ergode(at, &constant));
    assert_eq!(fields["arrays"].as_array().unwrap().len(), 7);
    let reason = fields["without_stderr"]["drift"].as_str().unwrap();
    assert!(reason.contains("constant"), "{reason}");
    let against = ["validate", "run", "--against", "other.npz", "--json"];
    assert_eq!(json(&ergode(at, &against))["validation"]["verdict"], "pass");
    let kept = json(&ergode(at, &["validate", "run", "--json"]));
    assert_eq!(kept["validation"], fit["validation"]);
    let drawn = json(&ergode(
        at,
        &["report", "run", "--figures", "figures", "--json"],
    ));
    let figures = drawn["figures"].as_array().unwrap();
    assert_eq!(entries(&at.join("figures")), figures.len());
    let before = std::fs::read(at.join("run/report.html")).unwrap();
    assert!(ergode(at, &["report", "run"]).status.success());
    assert!(before == std::fs::read(at.join("run/report.html")).unwrap());
    let cases: [(&[&str], &str); 5] = [
        (
            &["fit", "data.npz", "-o", "run2", "--set", "sed=1"],
            "unknown key `sed`",
        ),
        (
            &["fit", "data.npz", "-o", "run2", "-c", "run/model.json"],
            "model.json",
        ),
        (
            &["eval", "run", "--points", "new.npz", "-o", "fields.csv"],
            ".npz",
        ),
        (
            &["simulate", "absent", "-o", "a.npz", "--time", "1"],
            "absent",
        ),
        (&["validate", "absent"], "finished `ergode fit`"),
    ];
    for (arguments, expected) in cases {
        let (code, message) = failure(at, arguments);
        assert_eq!(code, 2, "{arguments:?}: {message}");
        assert!(message.contains(expected), "{arguments:?}: {message}");
    }
}

/// Without --dt a simulation has the step and the scheme of the validation, also where only these were
/// changed in a finished run; with --save-every a whole number of steps.
#[test]
fn a_simulation_takes_step_and_scheme_of_the_validation() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let make = ["generate", "ou", "-o", "data.npz", "--time", "100"];
    assert!(ergode(at, &make).status.success());
    let protocol = |more: &[&str]| {
        let simulate = ["simulate", "run", "-o", "new.npz", "--time", "5", "--json"];
        json(&ergode(at, &[&simulate[..], more].concat()))["protocol"].clone()
    };
    for scheme in ["euler", "platen"] {
        let set = format!("simulate.scheme={scheme}");
        let fit = ["fit", "data.npz", "-o", "run", "--set", &set, "--json"];
        let validation = json(&ergode(at, &fit))["validation"].clone();
        let plain = protocol(&[]);
        assert_eq!(plain["dt"], validation["dt"]);
        assert_eq!(plain["scheme"], scheme);
        let dt = validation["dt"].as_f64().unwrap();
        let longer = protocol(&["--save-every", &(2.5 * dt).to_string()]);
        let third = longer["dt"].as_f64().unwrap();
        assert!((third - 2.5 * dt / 3.0).abs() < 1e-12, "{third} {dt}");
        let asked = protocol(&["--dt", "0.001"]);
        assert_eq!(
            (&asked["dt"], &asked["scheme"]),
            (&0.001.into(), &scheme.into())
        );
    }
}

/// Killed without warning in the middle, and given again: the same result as without.
#[test]
fn slow_a_killed_fit_resumes_to_the_same_result() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let make = ["generate", "affine2d", "-o", "data.npz", "--time", "100"];
    assert!(ergode(at, &make).status.success());
    let run = |name: &str| json(&ergode(at, &["fit", "data.npz", "-o", name, "--json"]));
    let timeless = |mut result: Value| {
        result["wall_s"] = Value::Null;
        result["report"] = Value::Null;
        result
    };
    let expected = timeless(run("whole"));
    let mut child = Command::new(env!("CARGO_BIN_EXE_ergode"))
        .args(["fit", "data.npz", "-o", "broken"])
        .current_dir(at)
        .stderr(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    // Kill it once the model is learned and the simulations have begun.
    let log = at.join("broken/log.jsonl");
    for _ in 0..600 {
        std::thread::sleep(Duration::from_millis(100));
        let text = std::fs::read_to_string(&log).unwrap_or_default();
        if text.contains("steps") {
            break;
        }
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(
        !at.join("broken/results.json").exists(),
        "it was not finished"
    );
    assert_eq!(timeless(run("broken")), expected);
    let text = std::fs::read_to_string(&log).unwrap();
    assert!(text.contains(r#""kept":true"#), "{text}");
}

#[test]
fn check_reports_as_text_as_json_and_as_a_page() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let make = ["generate", "ou", "-o", "ou.npz", "--time", "200"];
    assert!(ergode(at, &make).status.success());
    let clean = json(&ergode(at, &["check", "ou.npz", "--json"]));
    assert_eq!(clean["verdict"], "pass", "{clean}");
    assert_eq!(clean["coordinates"][1]["name"], "x2");
    // A record with a trend: a warning, but the command has succeeded.
    let mut text = String::from("t,x\n");
    let (mut x, mut random) = (0.0, 1_u64);
    for i in 0..20_000_u32 {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let noise = (random >> 40) as f64 / f64::from(1 << 24) - 0.5;
        x += -0.05 * x + noise;
        text += &format!("{},{}\n", 0.1 * f64::from(i), x + 1e-4 * f64::from(i));
    }
    std::fs::write(at.join("trend.csv"), text).unwrap();
    let output = ergode(at, &["check", "trend.csv", "--html", "page.html"]);
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{said}");
    for part in [
        "decorrelation time",
        "linear trend",
        "trend = \"linear\"",
        "verdict: warn",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let page = std::fs::read_to_string(at.join("page.html")).unwrap();
    assert!(page.contains("</svg>") && page.contains("linear trend"));
    assert!(!page.contains("NaN") && !page.contains("http"));
    assert_eq!(entries(at), 3);
}

#[test]
fn the_time_column_has_one_name_and_a_hidden_alias() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    std::fs::write(at.join("a.csv"), "day,x\n0,1\n1,2\n2,5\n").unwrap();
    for option in ["--time-column", "--times"] {
        let made = json(&ergode(
            at,
            &["convert", "a.csv", "b.npz", option, "day", "--json"],
        ));
        assert_eq!(made["names"], serde_json::json!(["x"]));
    }
    for command in ["check", "fit", "validate", "convert"] {
        let help = ergode(at, &[command, "--help"]).stdout;
        let help = String::from_utf8(help).unwrap();
        assert!(help.contains("--time-column <COLUMN>") && !help.contains("--times"));
    }
}

#[test]
fn dates_are_counted_in_a_unit_of_the_calendar() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let months = (0..240).map(|k| {
        let value = (k as f64 * 0.7).sin() + (k as f64 * 2.3).cos();
        format!("{}-{:02}-15,{value}\n", 1990 + k / 12, k % 12 + 1)
    });
    let text = format!("date,y\n{}", months.collect::<String>());
    std::fs::write(at.join("monthly.csv"), text).unwrap();
    let check = |unit: &[&str]| {
        let arguments = ["check", "monthly.csv", "--time-column", "date", "--json"];
        json(&ergode(at, &[&arguments[..], unit].concat()))
    };
    assert_eq!(check(&["--time-unit", "M"])["sampling_interval"], 1.0);
    let days = check(&[])["sampling_interval"].as_f64().unwrap();
    assert!((days - 365.2425 / 12.0).abs() < 0.1, "{days}");
    std::fs::write(at.join("numbers.csv"), "t,y\n0,1\n1,2\n2,1\n").unwrap();
    let (code, message) = failure(at, &["check", "numbers.csv", "--time-unit", "M"]);
    assert!(
        code == 2 && message.contains("the times of the record are numbers"),
        "{message}"
    );
}

#[test]
fn every_format_is_written_read_and_refused_when_it_is_bad() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    std::fs::write(at.join("a.csv"), "run,t,x\n1,0,1\n1,1,2\n2,0,3\n2,1,5\n").unwrap();
    for format in ["npz", "npy", "tsv", "parquet", "zarr", "h5", "nc"] {
        let name = format!("b.{format}");
        let made = json(&ergode(at, &["convert", "a.csv", &name, "--json"]));
        assert_eq!(
            (&made["trajectories"], &made["samples"]),
            (&2.into(), &4.into())
        );
        let mut arguments = vec!["convert", &name, "c.csv", "--json"];
        if format == "npy" {
            arguments.extend(["--dt", "1"]);
        }
        json(&ergode(at, &arguments));
        let text = std::fs::read_to_string(at.join("c.csv")).unwrap();
        assert_eq!(
            text,
            "trajectory,t,x\n0,0.0,1.0\n0,1.0,2.0\n1,0.0,3.0\n1,1.0,5.0\n"
        );
        if format != "zarr" {
            std::fs::write(at.join(&name), "").unwrap();
            let (code, message) = failure(at, &["check", &name]);
            assert_eq!(code, 2, "{message}");
            assert!(
                message.contains(&name) && message.contains("empty"),
                "{message}"
            );
        }
    }
    let help = ergode(at, &["convert", "--help"]);
    let help = String::from_utf8(help.stdout).unwrap();
    for format in [
        ".npz", ".npy", ".csv", ".tsv", ".parquet", ".zarr", ".h5", ".nc",
    ] {
        assert!(help.contains(format), "{format}");
    }
}

/// A limit on the size of files stands for a full disk.
#[cfg(unix)]
#[test]
fn a_full_disk_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let rows: String = (0..20_000).map(|i| format!("{i},{}\n", i * i)).collect();
    std::fs::write(at.join("a.csv"), format!("t,x\n{rows}")).unwrap();
    for format in ["npz", "npy", "csv", "parquet", "zarr", "h5", "nc"] {
        let command = format!(
            "trap '' XFSZ; ulimit -f 8; exec '{}' convert a.csv full.{format}",
            env!("CARGO_BIN_EXE_ergode")
        );
        let output = Command::new("sh")
            .args(["-c", &command])
            .current_dir(at)
            .output()
            .unwrap();
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{format}: {message}");
        assert!(
            message.contains("full") && message.contains("free some space"),
            "{message}"
        );
        assert_eq!(entries(at), 1, "{format}");
    }
}

/// The record of the documentation: seasons are part of the model and of what it gives.
#[test]
fn a_record_with_seasons_is_learned_and_simulated() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let data = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/data/nino.csv");
    let fit = [
        "fit",
        data,
        "--columns",
        "nino34",
        "-o",
        "run",
        "--set",
        "cycle.period=12",
        "--json",
    ];
    let results = json(&ergode(at, &fit));
    let climatology = &results["validation"]["climatology"];
    assert_eq!(climatology["period"], 12.0);
    assert!(climatology["mean_worst_z"].as_f64().unwrap() < 4.5);
    let made = [
        "simulate",
        "run",
        "-o",
        "new.csv",
        "--time",
        "1200",
        "--save-every",
        "1",
        "--start",
        "732",
        "--trajectories",
        "8",
    ];
    assert!(ergode(at, &made).status.success());
    let table = std::fs::read_to_string(at.join("new.csv")).unwrap();
    // Mean by month of the year: warmest in May, coldest in January, over a degree apart.
    let mut months = [(0.0, 0.0); 12];
    for line in table.lines().skip(1) {
        let numbers: Vec<f64> = line.split(',').map(|n| n.parse().unwrap()).collect();
        let [time, x] = [numbers[numbers.len() - 2], numbers[numbers.len() - 1]];
        let month = &mut months[(time + 1e-6) as usize % 12];
        *month = (month.0 + x, month.1 + 1.0);
    }
    let means = months.map(|(sum, count)| sum / count);
    assert!(means[4] - means[0] > 0.8, "{means:?}");
    assert!(
        (means.iter().sum::<f64>() / 12.0 - 27.0).abs() < 0.3,
        "{means:?}"
    );
    let (code, message) = failure(at, &["fit", data, "-o", "run2", "--columns", "nino5"]);
    assert!(code == 2 && message.contains("nino5"), "{message}");
}

#[test]
fn the_configuration_that_is_shown_is_one_that_a_fit_takes() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let shown = ergode(at, &["config", "--show"]);
    std::fs::write(at.join("shown.toml"), &shown.stdout).unwrap();
    let text = String::from_utf8(shown.stdout).unwrap();
    assert!(text.contains("\n[mobility]\n") && text.contains("recipe = \"auto\""));
    // The configuration is read before the data, which are missing.
    let (code, message) = failure(at, &["fit", "x.npz", "-o", "run", "-c", "shown.toml"]);
    assert!(code == 2 && message.contains("x.npz"), "{message}");
    let keys = json(&ergode(
        at,
        &["config", "--show", "validate.draws", "--json"],
    ));
    assert_eq!(keys["keys"][0]["default"], 1024);
    assert_eq!(keys["keys"].as_array().unwrap().len(), 1);
    let (code, message) = failure(at, &["config", "--show", "validate.drows"]);
    assert!(code == 2 && message.contains("validate.drows"), "{message}");
    let (code, message) = failure(at, &["fit", "x.npz", "-o", "run", "--set", "recipe=weak"]);
    assert!(
        code == 2 && message.contains("did you mean `mobility.recipe`"),
        "{message}"
    );
}

#[test]
fn the_doctor_knows_the_machine_and_manual_pages_are_written() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let facts = json(&ergode(at, &["doctor", "--json"]));
    assert_eq!(facts["version"], env!("CARGO_PKG_VERSION"));
    for name in ["threads", "simd", "memory", "formats", "python"] {
        assert!(!facts[name].as_str().unwrap().is_empty(), "{name}");
    }
    assert!(ergode(at, &["man", "pages"]).status.success());
    let page = std::fs::read_to_string(at.join("pages/ergode-fit.1")).unwrap();
    assert!(page.contains("\\-\\-recipe"), "{page}");
}

/// Sums of parts, merged in any order, give the numbers of the fit of the whole record; parts that do not belong
/// together are refused.
#[test]
fn slow_sums_of_parts_fit_as_the_whole_record() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let system = ["generate", "ou", "-o", "a.npy", "--time", "150"];
    let sampling = ["--save-every", "0.1", "--trajectories", "4"];
    json(&ergode(at, &[&system[..], &sampling, &["--json"]].concat()));
    let step = ["--set", "simulate.dt=0.02"];
    let dt = ["--dt", "0.1", "--json"];
    let whole = ["fit", "a.npy", "-o", "whole"];
    let whole = json(&ergode(at, &[&whole[..], &step, &dt].concat()));
    let plan = ["accumulate", "a.npy", "--write-plan", "plan.toml"];
    let plan = json(&ergode(at, &[&plan[..], &step, &dt].concat()));
    assert_eq!(plan["rows"], 4 * 1501);
    for (rows, part) in [
        ("0:700", "1.sums"),
        ("700:701", "2.sums"),
        ("701:6004", "3.sums"),
    ] {
        let part = [
            "accumulate",
            "a.npy",
            "--plan",
            "plan.toml",
            "--rows",
            rows,
            "-o",
            part,
        ];
        json(&ergode(at, &[&part[..], &dt].concat()));
    }
    let merged = [
        "merge", "3.sums", "1.sums", "2.sums", "-o", "all.sums", "--json",
    ];
    assert_eq!(json(&ergode(at, &merged))["counted"], 6004);
    let fitted = json(&ergode(at, &["fit", "all.sums", "-o", "run", "--json"]));
    let coefficients = |results: &Value| results["mobility"]["coefficients"].clone();
    let (expected, found) = (coefficients(&whole), coefficients(&fitted));
    for (label, value) in expected.as_object().unwrap() {
        let (a, b) = (&value["value"], &found[label]["value"]);
        let (a, b) = (a.as_f64().unwrap(), b.as_f64().unwrap());
        let scale = a.abs().max(value["stderr"].as_f64().unwrap());
        assert!((a - b).abs() < 1e-9 * scale, "{label}: {a} and {b}");
    }
    assert_eq!(
        whole["validation"]["verdict"],
        fitted["validation"]["verdict"]
    );
    let refused = |arguments: &[&str]| {
        let (code, message) = failure(at, arguments);
        assert_eq!(code, 2, "{message}");
        message
    };
    let twice = refused(&["merge", "1.sums", "1.sums", "-o", "b.sums"]);
    assert!(twice.contains("rows 0:700 are counted twice"), "{twice}");
    let missing = refused(&["fit", "1.sums", "-o", "c"]);
    assert!(missing.contains("rows 700:6004"), "{missing}");
    let changed = ["fit", "all.sums", "-o", "d", "--recipe", "weak"];
    assert!(refused(&changed).contains("mobility cannot be changed"));
    let bytes = std::fs::read(at.join("1.sums")).unwrap();
    std::fs::write(at.join("cut.sums"), &bytes[..bytes.len() / 2]).unwrap();
    let cut = refused(&["merge", "cut.sums", "2.sums", "-o", "b.sums"]);
    assert!(cut.contains("cut.sums: is truncated"), "{cut}");
    assert!(!at.join("b.sums").exists());
}
