//! The checks: order of modules, formatting, lints, documentation and tests.

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

const LINT_STEPS: &[Step] = &[
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

const RUST_TESTS: &[Step] = &[Step {
    name: "cargo test",
    run: test_rust,
}];

const ZOO: &[Step] = &[Step {
    name: "quick zoo",
    run: zoo::check,
}];

/// The steps that need a Python environment and a browser.
const OUTER_TESTS: &[Step] = &[
    Step {
        name: "Python tests",
        run: test_python,
    },
    Step {
        name: "pages",
        run: pages::test,
    },
];

/// The beginning of the names of the tests that `test --quick` leaves out.
const SLOW: &str = "slow_";

/// The times that steps took.
type Times = Vec<(&'static str, Duration)>;

/// Runs the Rust and the Python tests, and opens pages in a browser.
pub fn test(workspace: &Workspace) -> Result<(), String> {
    run_all(workspace, RUST_TESTS.iter(), &mut Vec::new())
}

/// Runs the Rust tests that take a second or two at most.
pub fn test_quickly(workspace: &Workspace) -> Result<(), String> {
    let mut command = workspace.cargo(&["test", "--workspace", "--tests"]);
    process::stream(command.args(["--", "--skip", SLOW]))
}

/// Runs every check, then prints how long each took.
pub fn ci(workspace: &Workspace) -> Result<(), String> {
    let mut times = Vec::new();
    let first = LINT_STEPS.iter().chain(RUST_TESTS).chain(ZOO);
    let outcome = run_all(workspace, first, &mut times);
    print!("\n{}", time_table(&times));
    outcome
}

/// Runs the first steps while what the outer tests need is installed beside them, since that mostly waits for
/// the network; then the outer tests.
fn run_all<'a>(
    workspace: &Workspace,
    first: impl Iterator<Item = &'a Step>,
    times: &mut Times,
) -> Result<(), String> {
    thread::scope(|scope| {
        let installed = scope.spawn(|| {
            prepare_python(workspace)?;
            pages::ensure_browser()
        });
        run_steps(workspace, first, times)?;
        let start = Instant::now();
        let outcome = installed.join();
        times.push(("wait for installations", start.elapsed()));
        outcome.map_err(|_| "the installation of the Python packages panicked")??;
        run_steps(workspace, OUTER_TESTS.iter(), times)
    })
}

/// Runs steps up to the first that fails, and records the wall time of each.
fn run_steps<'a>(
    workspace: &Workspace,
    steps: impl Iterator<Item = &'a Step>,
    times: &mut Times,
) -> Result<(), String> {
    for step in steps {
        process::announce(step.name);
        let start = Instant::now();
        let outcome = (step.run)(workspace);
        times.push((step.name, start.elapsed()));
        outcome?;
    }
    Ok(())
}

/// A table of steps and their wall times.
fn time_table(times: &[(&str, Duration)]) -> String {
    let total = times.iter().map(|(_, time)| *time).sum();
    let width = times.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    times
        .iter()
        .chain([&("total", total)])
        .map(|(name, time)| format!("{name:<width$}  {:>7.1} s\n", time.as_secs_f64()))
        .collect()
}

fn check_format(workspace: &Workspace) -> Result<(), String> {
    process::stream(&mut workspace.cargo(&["fmt", "--all", "--check"]))
}

fn check_lints(workspace: &Workspace) -> Result<(), String> {
    let args = ["clippy", "--workspace", "--all-targets"];
    process::stream(workspace.cargo(&args).args(["--", "-D", "warnings"]))
}

fn check_documentation(workspace: &Workspace) -> Result<(), String> {
    let mut command = workspace.cargo(&["doc", "--workspace", "--no-deps"]);
    process::stream(command.env("RUSTDOCFLAGS", "-D warnings"))
}

fn test_rust(workspace: &Workspace) -> Result<(), String> {
    process::stream(&mut workspace.cargo(&["test", "--workspace"]))
}

fn prepare_python(workspace: &Workspace) -> Result<Environment, String> {
    Environment::prepare(workspace, "python", TEST_REQUIREMENTS)
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
    fn the_table_ends_with_the_total() {
        let times = [
            ("cargo doc", Duration::from_millis(1500)),
            ("cargo test", Duration::from_millis(12_250)),
        ];
        let lines = [
            "cargo doc       1.5 s",
            "cargo test     12.2 s",
            "total          13.8 s",
        ];
        assert_eq!(time_table(&times), lines.join("\n") + "\n");
    }
}
