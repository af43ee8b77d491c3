//! `ergode doctor`.

use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::output::{Failed, print};

/// Prints the versions of Python and of packages that work with Ergode, one `name version` a line.
const PYTHON: &str = "
import sys
from importlib.metadata import PackageNotFoundError, version
print('python', sys.version.split()[0])
for name in ('ergode', 'numpy', 'pandas', 'xarray', 'matplotlib'):
    try:
        print(name, version(name))
    except PackageNotFoundError:
        print(name, 'missing')
";

pub(crate) fn run(json: bool) -> Result<(), Failed> {
    let facts = facts();
    if json {
        let object: serde_json::Map<String, Value> = facts
            .into_iter()
            .map(|(name, value)| (name.to_owned(), json!(value)))
            .collect();
        return print(&format!("{}\n", Value::Object(object)));
    }
    let width = facts.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let lines: Vec<String> = facts
        .iter()
        .map(|(name, value)| format!("{name:<width$}  {value}\n"))
        .collect();
    print(&lines.concat())
}

/// What a report of a problem needs.
fn facts() -> Vec<(&'static str, String)> {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let gib = ergode::memory_budget() as f64 / f64::from(1 << 30);
    vec![
        ("version", env!("CARGO_PKG_VERSION").to_owned()),
        (
            "system",
            format!("{} on {}", std::env::consts::OS, std::env::consts::ARCH),
        ),
        (
            "build",
            match cfg!(debug_assertions) {
                true => "with debug assertions: slow; build with --release".to_owned(),
                false => "release".to_owned(),
            },
        ),
        (
            "threads",
            format!(
                "{} for {processors} processors",
                rayon::current_num_threads()
            ),
        ),
        ("simd", ergode::simd::instructions().to_owned()),
        ("memory", format!("{gib:.1} GiB for one request")),
        ("formats", formats()),
        ("devices", "cpu".to_owned()),
        ("temporary", writable()),
        ("python", python()),
    ]
}

/// The file formats of this build, and those that were left out.
fn formats() -> String {
    let optional = [
        ("hdf5", cfg!(feature = "hdf5")),
        ("netcdf", cfg!(feature = "netcdf")),
        ("parquet", cfg!(feature = "parquet")),
        ("zarr", cfg!(feature = "zarr")),
    ];
    let names = |wanted: bool| {
        let some = optional.iter().filter(|(_, built)| *built == wanted);
        some.map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
    };
    match (names(true), names(false)) {
        (built, without) if without.is_empty() => format!("npy, npz, csv, tsv, {built}"),
        (built, without) => format!("npy, npz, csv, tsv, {built}; built without {without}"),
    }
}

/// Whether temporary files can be made.
fn writable() -> String {
    let folder = std::env::temp_dir();
    let file = folder.join(format!("ergode-doctor-{}", std::process::id()));
    let outcome = std::fs::write(&file, "");
    // A file that could not be written need not be removed.
    let _ = std::fs::remove_file(&file);
    match outcome {
        Ok(()) => "files can be written".to_owned(),
        Err(error) => format!("{}: {error}; set TMPDIR", folder.display()),
    }
}

/// The Python on the path with its packages.
fn python() -> String {
    let name = if cfg!(windows) { "python" } else { "python3" };
    let asked = Command::new(name)
        .args(["-c", PYTHON])
        .stderr(Stdio::null())
        .output();
    match asked {
        Ok(output) if output.status.success() => {
            let text = String::from_utf8_lossy(&output.stdout);
            text.lines().collect::<Vec<_>>().join(", ")
        }
        _ => format!("{name} was not found; only the Python package needs it"),
    }
}
