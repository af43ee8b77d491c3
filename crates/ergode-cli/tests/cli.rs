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
    let cases: [(&[&str], &str); 11] = [
        (&["frobnicate"], "unrecognized"),
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
    for command in ["demo", "check", "generate", "convert", "completions"] {
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
    let output = ergode(folder.path(), &["demo", "double-well", "--json"]);
    let result = json(&output);
    let report = folder.path().join(result["report"].as_str().unwrap());
    let page = std::fs::read_to_string(report).unwrap();
    assert!(page.contains("</svg>") && !page.contains("NaN"));
    assert!(result["worst_z"].as_f64().unwrap() < 5.0);
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
        "remove the trend first",
        "verdict: warn",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let page = std::fs::read_to_string(at.join("page.html")).unwrap();
    assert!(page.contains("</svg>") && page.contains("linear trend"));
    assert!(!page.contains("NaN") && !page.contains("http"));
    assert_eq!(entries(at), 3);
}
