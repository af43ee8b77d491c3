//! The site: `docs/` by Sphinx, with pages that the command line describes.

use std::fs;
use std::path::Path;

use crate::process;
use crate::python::Environment;
use crate::workspace::Workspace;

/// What the notebooks and the gallery need beside the package.
const TO_EXECUTE: &[&str] = &[
    "ipykernel",
    "jinja2",
    "matplotlib",
    "maturin>=1.9,<2",
    "netCDF4",
    "pandas",
    "xarray",
];

/// Builds the site in target/docs/html; an error for any warning and for links that lead nowhere. With `execute`
/// the package is installed, the figures of the gallery are made again and the notebooks run.
pub fn build(workspace: &Workspace, execute: bool) -> Result<(), String> {
    let source = workspace.root().join("docs");
    let mut requirements = requirements(&source)?;
    let name = if execute {
        requirements.extend(TO_EXECUTE.iter().map(|&name| name.to_owned()));
        "python-docs-execute"
    } else {
        "python-docs"
    };
    let names: Vec<&str> = requirements.iter().map(String::as_str).collect();
    let environment = Environment::prepare(workspace, name, &names)?;
    process::announce("cargo build --package ergode-cli");
    process::stream_to_stderr(&mut workspace.cargo(&["build", "--package", "ergode-cli"]))?;
    if execute {
        environment.install_package(workspace)?;
        draw_gallery(&environment, &source.join("gallery"))?;
    }
    let site = workspace.target().join("docs").join("html");
    process::announce("sphinx-build docs");
    let mut command = environment.module("sphinx");
    command
        .args(["-W", "--keep-going", "-q", "-b", "html", "-d"])
        .arg(workspace.target().join("docs").join("doctrees"))
        .args([&source, &site])
        .env("ERGODE_CLI", workspace.debug_cli());
    if execute {
        command.env("ERGODE_EXECUTE", "1");
    }
    process::stream(&mut command)?;
    process::stream(environment.script(&source.join("links.py")).arg(&site))?;
    println!("{}", site.join("index.html").display());
    Ok(())
}

/// The lines of docs/requirements.txt.
fn requirements(source: &Path) -> Result<Vec<String>, String> {
    let path = source.join("requirements.txt");
    let text = fs::read_to_string(&path)
        .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    let wanted = text
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    Ok(wanted.map(str::to_owned).collect())
}

/// Runs every script of the gallery in its folder, where it leaves its figure.
fn draw_gallery(environment: &Environment, gallery: &Path) -> Result<(), String> {
    let entries = fs::read_dir(gallery)
        .map_err(|error| format!("cannot read {}: {error}", gallery.display()))?;
    let mut scripts: Vec<_> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "py"))
        .collect();
    scripts.sort();
    for script in scripts {
        process::announce(&format!("{}", script.display()));
        let mut command = environment.script(&script);
        command.current_dir(gallery).env("MPLBACKEND", "Agg");
        process::stream_to_stderr(&mut command)?;
    }
    Ok(())
}
