//! `cargo xtask calibrate`: how often a validation accuses exact models, and whether planted defects pass.

use crate::process;
use crate::workspace::Workspace;

/// Runs the example `calibrate` with the arguments that follow the command.
pub fn run(workspace: &Workspace, args: &[&str]) -> Result<(), String> {
    let known = [
        "run",
        "--release",
        "-p",
        "ergode",
        "--example",
        "calibrate",
        "--",
    ];
    let all: Vec<&str> = known.into_iter().chain(args.iter().copied()).collect();
    process::stream(&mut workspace.cargo(&all))
}
