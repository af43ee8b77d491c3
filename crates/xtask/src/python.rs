//! Python virtual environments under the target directory.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::process;
use crate::workspace::Workspace;

/// How to get what a virtual environment needs.
const INSTALL_HINT: &str =
    "install Python 3 with its venv module (Debian, Ubuntu: apt install python3 python3-venv)";

/// The file that records what an environment was made with.
const STAMP: &str = "requirements.stamp";

/// The feature of the Python package that gives its dependencies the features they have in the Rust tests.
const AS_TESTED: &str = "as-tested";

/// A virtual environment with its requirements installed.
pub struct Environment {
    interpreter: PathBuf,
}

impl Environment {
    /// Creates the environment `name` under the target directory, or reuses the
    /// one there if it was made with the same requirements.
    pub fn prepare(
        workspace: &Workspace,
        name: &str,
        requirements: &[&str],
    ) -> Result<Self, String> {
        let directory = workspace.target().join(name);
        let environment = Self {
            interpreter: interpreter_in(&directory),
        };
        let stamp = directory.join(STAMP);
        let wanted = requirements.join("\n") + "\n";
        let is_current = environment.interpreter.exists()
            && fs::read_to_string(&stamp).is_ok_and(|text| text == wanted);
        if !is_current {
            process::announce(&format!("python3 -m venv {}", directory.display()));
            create(&directory)?;
            environment.install(requirements)?;
            fs::write(&stamp, wanted)
                .map_err(|error| format!("cannot write {}: {error}", stamp.display()))?;
        }
        Ok(environment)
    }

    /// Builds the wheel of the Python package and installs it. Profile and features are those of the tests,
    /// so that the library is not compiled a second time.
    pub fn install_package(&self, workspace: &Workspace) -> Result<(), String> {
        let wheels = workspace.target().join("wheels");
        // Remove wheels of other versions.
        if wheels.exists() {
            fs::remove_dir_all(&wheels)
                .map_err(|error| format!("cannot remove {}: {error}", wheels.display()))?;
        }
        process::announce("maturin build");
        let mut command = self.module("maturin");
        command
            .args(["build", "--locked", "--quiet"])
            .args(["--profile", "dev", "--features", AS_TESTED])
            .arg("--out")
            .arg(&wheels)
            .current_dir(workspace.root().join("python"))
            .env("CARGO_TARGET_DIR", workspace.target());
        process::stream_to_stderr(&mut command)?;
        let wheel = fs::read_dir(&wheels)
            .ok()
            .and_then(|mut entries| entries.next()?.ok())
            .ok_or_else(|| format!("maturin left no wheel in {}", wheels.display()))?;
        let mut command = self.pip(&["--force-reinstall", "--no-deps"]);
        process::stream_to_stderr(command.arg(wheel.path()))
    }

    /// The interpreter.
    pub fn interpreter(&self) -> &Path {
        &self.interpreter
    }

    /// A command that runs a module with the interpreter of the environment.
    pub fn module(&self, name: &str) -> Command {
        let mut command = Command::new(&self.interpreter);
        command.args(["-m", name]);
        command
    }

    /// A command that runs a script with the interpreter of the environment.
    pub fn script(&self, path: &Path) -> Command {
        let mut command = Command::new(&self.interpreter);
        command.arg(path);
        command
    }

    fn install(&self, requirements: &[&str]) -> Result<(), String> {
        process::announce(&format!("pip install {}", requirements.join(" ")));
        process::stream_to_stderr(&mut self.pip(requirements)).map_err(|error| {
            let names = requirements.join(", ");
            format!("cannot install {names} from the Python package index: {error}")
        })
    }

    /// `pip install` with these arguments.
    fn pip(&self, arguments: &[&str]) -> Command {
        let mut command = self.module("pip");
        command
            .args(["install", "--quiet", "--disable-pip-version-check"])
            // Most modules of the packages are never loaded.
            .arg("--no-compile")
            .args(arguments);
        command
    }
}

/// Creates an empty virtual environment, in place of any that is there.
fn create(directory: &Path) -> Result<(), String> {
    require_venv("python3")?;
    let mut command = Command::new("python3");
    command.args(["-m", "venv", "--clear"]).arg(directory);
    process::stream_to_stderr(&mut command)
}

/// Checks that `program` is there and can create virtual environments.
fn require_venv(program: &str) -> Result<(), String> {
    let status = Command::new(program)
        .args(["-c", "import venv, ensurepip"])
        .stderr(Stdio::null())
        .status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(_) => Err(format!(
            "{program} cannot create virtual environments; {INSTALL_HINT}"
        )),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            Err(format!("{program} was not found; {INSTALL_HINT}"))
        }
        Err(error) => Err(format!("cannot run {program}: {error}")),
    }
}

/// The interpreter of the virtual environment in `directory`.
fn interpreter_in(directory: &Path) -> PathBuf {
    if cfg!(windows) {
        directory.join("Scripts").join("python.exe")
    } else {
        directory.join("bin").join("python")
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// The packages of a dependency tree, each with its features.
    fn packages(workspace: &Workspace, arguments: &[&str]) -> BTreeSet<String> {
        let mut command = workspace.cargo(&["tree", "--locked", "--prefix", "none"]);
        let tree = process::capture(command.args(["--format", "{p}|{f}"]).args(arguments));
        let tree = tree.unwrap();
        let lines = tree.lines().map(|line| line.trim_end_matches(" (*)"));
        lines.map(str::to_owned).collect()
    }

    /// Otherwise the extension would not use the library that the tests have compiled, but compile it again.
    #[test]
    fn dependencies_of_the_extension_have_the_features_of_the_tests() {
        let workspace = Workspace::locate().unwrap();
        let tests = packages(&workspace, &["--workspace", "--edges", "normal,build,dev"]);
        let package = ["--package", "ergode-python", "--edges", "normal,build"];
        let with = |features: &[&str]| packages(&workspace, &[&package[..], features].concat());
        let unlike = |extension: BTreeSet<String>| -> Vec<String> {
            let other = extension.difference(&tests).cloned();
            other
                .filter(|line| !line.starts_with("ergode-python "))
                .collect()
        };
        assert_eq!(unlike(with(&["--features", AS_TESTED])), [""; 0]);
        assert!(!unlike(with(&[])).is_empty());
    }

    #[test]
    fn a_missing_interpreter_says_what_to_install() {
        let message = require_venv("no-such-python").unwrap_err();
        assert!(
            message.starts_with("no-such-python was not found"),
            "{message}"
        );
        assert!(message.contains("python3-venv"), "{message}");
    }
}
