//! Where the workspace and its build products are.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::process;

/// The directories of the workspace, as Cargo reports them.
pub struct Workspace {
    root: PathBuf,
    target: PathBuf,
}

impl Workspace {
    /// Asks Cargo for the directories, so that every way of setting the target
    /// directory is honoured.
    pub fn locate() -> Result<Self, String> {
        let mut command = Command::new(cargo_program());
        command.args(["metadata", "--no-deps", "--format-version", "1"]);
        let metadata = process::capture(&mut command)?;
        let metadata: Value = serde_json::from_str(&metadata)
            .map_err(|error| format!("cannot read the output of cargo metadata: {error}"))?;
        let directory = |key: &str| {
            let path = metadata[key].as_str().map(PathBuf::from);
            path.ok_or_else(|| format!("cargo metadata does not report `{key}`"))
        };
        Ok(Self {
            root: directory("workspace_root")?,
            target: directory("target_directory")?,
        })
    }

    /// The root of the repository.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The directory of build products.
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// The command line program in its debug build.
    pub fn debug_cli(&self) -> PathBuf {
        let name = format!("ergode{}", std::env::consts::EXE_SUFFIX);
        self.target.join("debug").join(name)
    }

    /// An example of the library in its debug build.
    pub fn debug_example(&self, name: &str) -> PathBuf {
        let name = format!("{name}{}", std::env::consts::EXE_SUFFIX);
        self.target.join("debug").join("examples").join(name)
    }

    /// A Cargo command that runs at the root and builds in the same target directory.
    pub fn cargo(&self, args: &[&str]) -> Command {
        let mut command = Command::new(cargo_program());
        command
            .args(args)
            .current_dir(&self.root)
            .env("CARGO_TARGET_DIR", &self.target);
        command
    }
}

/// The Cargo that runs this program, or the one on the path.
fn cargo_program() -> String {
    std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned())
}
