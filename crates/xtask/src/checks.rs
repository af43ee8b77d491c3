//! The checks: order of modules, formatting, lints, documentation and tests.

use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use crate::order;
use crate::pages;
use crate::process;
use crate::python::Environment;
use crate::workspace::Workspace;
use crate::zoo;

/// The Python packages that the tests need.
const TEST_REQUIREMENTS: &[&str] = &[
    "numpy",
    "pandas",
    "dask[array,distributed]",
    "xarray",
    "h5py",
    "netCDF4",
    "pyarrow",
    "zarr",
    "matplotlib",
    "mypy",
    "pandas-stubs",
    "polars",
    "pytest",
    "scikit-learn",
    "sympy",
    "maturin>=1.9,<2",
];

/// One check, under the name that its progress line and the table show.
struct Step {
    name: &'static str,
    run: fn(&Workspace) -> Result<(), String>,
}

/// Steps in order, of which each may use what those before it made.
type Lane = &'static [Step];

/// What compiles nothing that a program is made of.
const LINTS: Lane = &[
    Step {
        name: "order of modules",
        run: order::check,
    },
    Step {
        name: "cargo fmt --check",
        run: check_format,
    },
    Step {
        name: "cargo clippy",
        run: check_lints,
    },
    Step {
        name: "cargo doc",
        run: check_documentation,
    },
];

const COMPILATION: Lane = &[Step {
    name: "compilation of tests",
    run: compile_tests,
}];

/// What the Python tests and the tests of pages need from the network.
const INSTALLATIONS: Lane = &[
    Step {
        name: "Python packages",
        run: install_python_packages,
    },
    Step {
        name: "browser",
        run: install_browser,
    },
];

const RUST_TESTS: Lane = &[Step {
    name: "cargo test",
    run: test_rust,
}];

const PYTHON_TESTS: Lane = &[Step {
    name: "Python tests",
    run: test_python,
}];

const PAGES: Step = Step {
    name: "pages",
    run: pages::test,
};

const ZOO: Step = Step {
    name: "quick zoo",
    run: zoo::check,
};

/// The beginning of the names of the tests that `test --quick` leaves out.
const SLOW: &str = "slow_";

/// Wall times of steps, by name.
type Times = Vec<(&'static str, Duration)>;

/// Runs the Rust and the Python tests, and opens pages in a browser.
pub fn test(workspace: &Workspace) -> Result<(), String> {
    let stages: [&[Lane]; 3] = [
        &[COMPILATION, INSTALLATIONS],
        &[RUST_TESTS],
        &[PYTHON_TESTS, &[PAGES]],
    ];
    run_stages(workspace, &stages, &mut Vec::new())
}

/// Runs the Rust tests that take a second or two at most.
pub fn test_quickly(workspace: &Workspace) -> Result<(), String> {
    let mut command = workspace.cargo(&["test", "--workspace", "--tests"]);
    process::stream(command.args(["--", "--skip", SLOW]))
}

/// Runs every check, then prints how long each took.
pub fn ci(workspace: &Workspace) -> Result<(), String> {
    let stages: [&[Lane]; 3] = [
        &[LINTS, COMPILATION, INSTALLATIONS],
        &[RUST_TESTS],
        &[PYTHON_TESTS, &[ZOO, PAGES]],
    ];
    let start = Instant::now();
    let mut times = Vec::new();
    let outcome = run_stages(workspace, &stages, &mut times);
    print!("\n{}", time_table(&times, start.elapsed()));
    outcome
}

/// Runs stages one after the other, up to the first that fails.
fn run_stages(workspace: &Workspace, stages: &[&[Lane]], times: &mut Times) -> Result<(), String> {
    for lanes in stages {
        run_lanes(workspace, lanes, times)?;
    }
    Ok(())
}

/// Runs lanes side by side, so that the parts of one that take a single processor leave none idle.
fn run_lanes(workspace: &Workspace, lanes: &[Lane], times: &mut Times) -> Result<(), String> {
    let ended: Vec<_> = thread::scope(|scope| {
        let start = |&lane| scope.spawn(move || run_steps(workspace, lane));
        let running: Vec<_> = lanes.iter().map(start).collect();
        running.into_iter().map(|lane| lane.join()).collect()
    });
    let mut outcomes = Vec::new();
    for lane in ended {
        let (lane_times, outcome) = lane.map_err(|_| "a check panicked")?;
        times.extend(lane_times);
        outcomes.push(outcome);
    }
    outcomes.into_iter().collect()
}

/// Runs steps up to the first that fails.
fn run_steps(workspace: &Workspace, steps: &[Step]) -> (Times, Result<(), String>) {
    let mut times = Vec::new();
    for step in steps {
        process::announce(step.name);
        let start = Instant::now();
        let outcome = (step.run)(workspace);
        times.push((step.name, start.elapsed()));
        if let Err(message) = outcome {
            let message = format!("{}: {message}", step.name);
            return (times, Err(message));
        }
    }
    (times, Ok(()))
}

/// A table of steps and their wall times, which overlap where lanes run side by side, and of the whole.
fn time_table(times: &[(&str, Duration)], whole: Duration) -> String {
    let width = times.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    times
        .iter()
        .chain([&("whole", whole)])
        .map(|(name, time)| format!("{name:<width$}  {:>7.1} s\n", time.as_secs_f64()))
        .collect()
}

fn check_format(workspace: &Workspace) -> Result<(), String> {
    process::stream(&mut workspace.cargo(&["fmt", "--all", "--check"]))
}

fn check_lints(workspace: &Workspace) -> Result<(), String> {
    let args = ["clippy", "--workspace", "--all-targets"];
    process::stream(lint(workspace, &args).args(["--", "-D", "warnings"]))
}

fn check_documentation(workspace: &Workspace) -> Result<(), String> {
    let mut command = lint(workspace, &["doc", "--workspace", "--no-deps"]);
    process::stream(command.env("RUSTDOCFLAGS", "-D warnings"))
}

/// A Cargo command that builds in a directory of its own, so that it need not wait for the compilation of tests.
/// Lints and documentation share what they compile with each other and, but for build scripts, with nothing else.
fn lint(workspace: &Workspace, args: &[&str]) -> Command {
    let mut command = workspace.cargo(args);
    command.env("CARGO_TARGET_DIR", workspace.target().join("lints"));
    command
}

fn compile_tests(workspace: &Workspace) -> Result<(), String> {
    process::stream(&mut workspace.cargo(&["test", "--workspace", "--no-run", "--quiet"]))
}

fn test_rust(workspace: &Workspace) -> Result<(), String> {
    process::stream(&mut workspace.cargo(&["test", "--workspace"]))
}

fn prepare_python(workspace: &Workspace) -> Result<Environment, String> {
    Environment::prepare(workspace, "python", TEST_REQUIREMENTS)
}

fn install_python_packages(workspace: &Workspace) -> Result<(), String> {
    prepare_python(workspace).map(drop)
}

fn install_browser(_: &Workspace) -> Result<(), String> {
    pages::ensure_browser()
}

/// Runs the Python tests on the wheel of the package and on the debug build of the command line, which the
/// Rust tests have just made.
fn test_python(workspace: &Workspace) -> Result<(), String> {
    let environment = prepare_python(workspace)?;
    environment.install_package(workspace)?;
    process::announce("pytest python/tests");
    let mut command = environment.module("pytest");
    command
        .args(["--quiet", "--durations=5"])
        .current_dir(workspace.root().join("python"))
        .env("ERGODE_CLI", workspace.debug_cli());
    process::stream(&mut command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_ends_with_the_whole() {
        let times = [
            ("cargo doc", Duration::from_millis(1500)),
            ("cargo test", Duration::from_millis(12_250)),
        ];
        let lines = [
            "cargo doc       1.5 s",
            "cargo test     12.2 s",
            "whole          12.5 s",
        ];
        let whole = Duration::from_millis(12_500);
        assert_eq!(time_table(&times, whole), lines.join("\n") + "\n");
    }

    #[test]
    fn a_lane_stops_at_its_first_failure_and_leaves_the_others_alone() {
        const FINE: Step = Step {
            name: "fine",
            run: |_| Ok(()),
        };
        const BROKEN: Step = Step {
            name: "broken",
            run: |_| Err("because".to_owned()),
        };
        let workspace = Workspace::locate().unwrap();
        let lanes: [Lane; 2] = [&[BROKEN, FINE], &[FINE, FINE]];
        let mut times = Vec::new();
        let outcome = run_stages(&workspace, &[&lanes, &lanes], &mut times);
        assert_eq!(outcome, Err("broken: because".to_owned()));
        let names: Vec<_> = times.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, ["broken", "fine", "fine"]);
    }
}
