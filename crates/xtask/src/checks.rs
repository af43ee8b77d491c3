//! The checks: order of modules, formatting, lints, documentation and tests.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::order;
use crate::pages;
use crate::process;
use crate::python::Environment;
use crate::workspace::Workspace;

/// The Python packages that the tests need.
const TEST_REQUIREMENTS: &[&str] = &[
    "numpy",
    "pandas",
    "xarray",
    "h5py",
    "netCDF4",
    "pyarrow",
    "zarr",
    "matplotlib",
    "pytest",
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

const TEST_STEPS: &[Step] = &[
    Step {
        name: "cargo test",
        run: test_rust,
    },
    Step {
        name: "Python tests",
        run: test_python,
    },
    Step {
        name: "pages",
        run: pages::test,
    },
];

/// Runs the Rust and the Python tests, and opens pages in a browser.
pub fn test(workspace: &Workspace) -> Result<(), String> {
    run_steps(workspace, TEST_STEPS.iter(), &mut Vec::new())
}

/// Runs every check, then prints how long each took.
pub fn ci(workspace: &Workspace) -> Result<(), String> {
    let mut times = Vec::new();
    let outcome = run_steps(workspace, LINT_STEPS.iter().chain(TEST_STEPS), &mut times);
    print!("\n{}", time_table(&times));
    outcome
}

/// Runs steps up to the first that fails, and records the wall time of each.
fn run_steps<'a>(
    workspace: &Workspace,
    steps: impl Iterator<Item = &'a Step>,
    times: &mut Vec<(&'static str, Duration)>,
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

/// Runs every Python test script on the debug build of the command line, which the Rust tests
/// have just made, and the tests of the Python package on its wheel.
fn test_python(workspace: &Workspace) -> Result<(), String> {
    let environment = Environment::prepare(workspace, "python", TEST_REQUIREMENTS)?;
    let mut failures = Vec::new();
    for script in &python_scripts(workspace.root())? {
        let shown = script.strip_prefix(workspace.root()).unwrap_or(script);
        process::announce(&shown.display().to_string());
        let mut command = environment.script(script);
        command
            .arg(workspace.debug_cli())
            .current_dir(workspace.root());
        failures.extend(process::stream(&mut command).err());
    }
    environment.install_package(workspace)?;
    process::announce("pytest python/tests");
    let mut command = environment.module("pytest");
    command
        .args(["--quiet", "--durations=5"])
        .current_dir(workspace.root().join("python"))
        .env("ERGODE_CLI", workspace.debug_cli());
    failures.extend(process::stream(&mut command).err());
    if failures.is_empty() {
        Ok(())
    } else {
        Err(failures.join("\n"))
    }
}

/// The scripts `crates/*/tests/python/test_*.py`, in order of their paths.
fn python_scripts(root: &Path) -> Result<Vec<PathBuf>, String> {
    let mut scripts = Vec::new();
    for package in entries(&root.join("crates"))? {
        let directory = package.join("tests").join("python");
        if directory.is_dir() {
            scripts.extend(entries(&directory)?.into_iter().filter(|p| is_test(p)));
        }
    }
    scripts.sort();
    Ok(scripts)
}

/// Whether a file is named like a Python test.
fn is_test(path: &Path) -> bool {
    path.file_name()
        .and_then(|name| name.to_str())
        .is_some_and(|name| name.starts_with("test_") && name.ends_with(".py"))
}

/// The paths of the entries of a directory.
fn entries(directory: &Path) -> Result<Vec<PathBuf>, String> {
    fs::read_dir(directory)
        .and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect())
        .map_err(|error| format!("cannot list {}: {error}", directory.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_python_tests_are_collected() {
        assert!(is_test(Path::new("a/tests/python/test_export.py")));
        assert!(!is_test(Path::new("a/tests/python/helpers.py")));
        assert!(!is_test(Path::new("a/tests/python/test_data.csv")));
    }

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
