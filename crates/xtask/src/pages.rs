//! Tests of report pages in a browser.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process;
use crate::workspace::Workspace;

/// Name of the browser program.
const BROWSER: &str = "chromium";

/// Writes pages with the debug build of the command line and inspects them in a browser. Damaged copies
/// must be rejected.
pub fn test(workspace: &Workspace) -> Result<(), String> {
    ensure_browser()?;
    let folder = workspace.target().join("pages");
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(|error| unusable(&folder, &error))?;
    }
    fs::create_dir_all(&folder).map_err(|error| unusable(&folder, &error))?;
    let cli = |args: &[&str]| {
        let mut command = Command::new(workspace.debug_cli());
        process::stream_to_stderr(command.args(args).current_dir(&folder))
    };
    let size = ["--time", "50", "--trajectories", "4"];
    cli(&[&["generate", "affine2d", "-o", "data.npz"], &size[..]].concat())?;
    cli(&["check", "data.npz", "--html", "check.html"])?;
    cli(&["demo", "affine2d", "-o", "demo", "--time", "100"])?;
    cli(&["reproduce", "cir", "-o", "cir", "--time", "100"])?;
    let good = folder.join("check.html");
    for page in ["check.html", "demo/report.html", "cir/report.html"] {
        let page = &folder.join(page);
        look(&folder, page).map_err(|fault| format!("{}: {fault}", page.display()))?;
    }
    let html = fs::read_to_string(&good).map_err(|error| unusable(&good, &error))?;
    for (name, expected, damaged) in damaged_copies(&html) {
        let path = folder.join(format!("{name}.html"));
        fs::write(&path, damaged).map_err(|error| unusable(&path, &error))?;
        match look(&folder, &path) {
            Err(fault) if fault.contains(expected) => {}
            other => {
                return Err(format!(
                    "{}: expected a fault, found {other:?}",
                    path.display()
                ));
            }
        }
    }
    Ok(())
}

/// A page with an empty figure, one with a fault in a script, one without a verdict: name, a word of the
/// fault that must be found, page.
fn damaged_copies(html: &str) -> [(&'static str, &'static str, String); 3] {
    let fault = "<script>throw new Error(\"planted\")</script></body>";
    let blank = html.replace("class=\"mark\"", "class=\"\"");
    [
        ("empty-figure", "is empty", blank),
        ("script-error", "planted", html.replace("</body>", fault)),
        ("no-verdict", "verdict", html.replace("id=\"verdict\"", "")),
    ]
}

/// Opens a page and returns the first fault found.
fn look(folder: &Path, page: &Path) -> Result<(), String> {
    // A fresh profile, so that no state is carried over.
    let profile = folder.join("profile");
    if profile.exists() {
        fs::remove_dir_all(&profile).map_err(|error| unusable(&profile, &error))?;
    }
    let mut command = Command::new(BROWSER);
    command
        .args(["--headless", "--no-sandbox", "--disable-gpu"])
        .args(["--disable-quic", "--no-first-run", "--disable-sync"])
        .args([
            "--disable-background-networking",
            "--disable-component-update",
        ])
        .args(["--enable-logging=stderr", "--virtual-time-budget=5000"])
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg("--dump-dom")
        .arg(format!("file://{}", page.display()));
    let output = command
        .output()
        .map_err(|error| format!("cannot run `{}`: {error}", process::describe(&command)))?;
    let (dom, log) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    if !output.status.success() {
        return Err(format!("the browser failed ({}): {log}", output.status));
    }
    judge(&dom, &log)
}

/// The first fault in the rendered page or in the log of the browser.
fn judge(dom: &str, log: &str) -> Result<(), String> {
    if let Some(line) = log.lines().find(|line| line.contains("CONSOLE")) {
        return Err(format!("message on the console: {line}"));
    }
    let root = tags(dom, "html").next().unwrap_or("");
    if let Some(errors) = attribute(root, "data-errors") {
        return Err(format!("errors in the script: {errors}"));
    }
    let figures: Vec<&str> = tags(dom, "figure").collect();
    let ready = attribute(root, "data-ready").and_then(|count| count.parse().ok());
    if figures.is_empty() || ready != Some(figures.len()) {
        return Err(format!("{} figures, {ready:?} ready", figures.len()));
    }
    for figure in figures {
        let marks = attribute(figure, "data-marks").and_then(|count| count.parse::<usize>().ok());
        if marks.unwrap_or(0) == 0 {
            let name = attribute(figure, "id").unwrap_or("a figure");
            return Err(format!("{name} is empty"));
        }
    }
    let shown = |tag: &str| attribute(tag, "id") == Some("verdict");
    if tags(dom, "section").any(shown) {
        Ok(())
    } else {
        Err("the verdict is not shown".to_owned())
    }
}

/// The opening tags called `name`.
fn tags<'a>(dom: &'a str, name: &str) -> impl Iterator<Item = &'a str> {
    let start = format!("<{name} ");
    let starts: Vec<usize> = dom.match_indices(&start).map(|(at, _)| at).collect();
    starts
        .into_iter()
        .filter_map(move |at| dom[at..].split_once('>').map(|(tag, _)| tag))
}

/// An attribute of an opening tag.
fn attribute<'a>(tag: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = tag.split_once(&format!(" {name}=\""))?;
    rest.split_once('"').map(|(value, _)| value)
}

/// Finds the browser, or installs it if permitted.
pub fn ensure_browser() -> Result<(), String> {
    if find_on_path(BROWSER).is_some() {
        return Ok(());
    }
    let advice = "testing the pages needs Chromium; install it so that `chromium` is on the path \
                  (Debian: apt-get install -y chromium)";
    if find_on_path("apt-get").is_none() || !is_root() {
        return Err(advice.to_owned());
    }
    process::announce("apt-get install -y chromium");
    let mut command = Command::new("apt-get");
    process::stream_to_stderr(command.args(["install", "-y", BROWSER]))
        .map_err(|error| format!("{error}; {advice}"))
}

fn find_on_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let places = std::env::split_paths(&path).map(|folder| folder.join(program));
    places.into_iter().find(|place| place.is_file())
}

fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output();
    id.is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}

fn unusable(path: &Path, error: &std::io::Error) -> String {
    format!("{}: {error}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "<html lang=\"en\" class=\"live\" data-ready=\"1\"><section class=\"verdict \
                        pass\" id=\"verdict\"></section><figure id=\"figure-a\" data-marks=\"2\">";

    #[test]
    fn every_fault_is_found() {
        assert_eq!(judge(GOOD, "[1:2:WARNING:x.cc] something\n"), Ok(()));
        let faults = [
            (GOOD.replace("data-marks=\"2\"", "data-marks=\"0\""), ""),
            (GOOD.replace(" data-marks=\"2\"", ""), ""),
            (GOOD.replace("data-ready=\"1\"", "data-ready=\"2\""), ""),
            (
                GOOD.replace("data-ready", "data-errors=\"no\" data-ready"),
                "",
            ),
            (GOOD.replace("id=\"verdict\"", ""), ""),
            (GOOD.to_owned(), "[1:2:INFO:CONSOLE:1] \"Uncaught Error\"\n"),
        ];
        for (dom, log) in faults {
            assert!(judge(&dom, log).is_err(), "{dom} {log}");
        }
    }
}
