//! `cargo xtask paper`: run the paper's benchmarks and collect their numbers and figures in docs/paper.md.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::process;
use crate::workspace::Workspace;

/// A run on the page.
struct Run {
    benchmark: &'static str,
    recipe: &'static str,
    /// Figures to copy: name in the report of the run, and caption.
    figures: &'static [(&'static str, &'static str)],
}

const RUNS: &[Run] = &[
    Run {
        benchmark: "cir",
        recipe: "semigroup",
        figures: &[
            ("k-curves", "K_m(t)"),
            ("channels", "the channels from data"),
        ],
    },
    Run {
        benchmark: "affine2d",
        recipe: "semigroup",
        figures: AFFINE,
    },
    Run {
        benchmark: "affine2d",
        recipe: "weak",
        figures: &[],
    },
    Run {
        benchmark: "affine2d",
        recipe: "paper",
        figures: AFFINE,
    },
    Run {
        benchmark: "softspin",
        recipe: "weak",
        figures: SPINS,
    },
    Run {
        benchmark: "softspin",
        recipe: "paper",
        figures: SPINS,
    },
];

const SPINS: &[(&str, &str)] = &[
    ("structure", "structure diagnostic"),
    (
        "spin-mobility",
        "onsite mobility of the closures, and their errors",
    ),
    ("ring-same-site", "correlations at a site"),
    ("ring-neighbours", "correlations of nearest neighbours"),
    ("ring-matrices", "correlation matrices at t = 1"),
    ("ring-errors", "errors against time and distance"),
    ("ring-densities", "densities of the components"),
    ("ring-joints", "joint densities at a site"),
    ("ring-neighbour-densities", "joint densities at two sites"),
    ("operator", "residual operator of the eleven families"),
    ("hovmoeller-0", "m_x in space and time"),
    ("hovmoeller-1", "m_y in space and time"),
    ("hovmoeller-2", "m_z in space and time"),
];

const AFFINE: &[(&str, &str)] = &[
    ("mobility", "mobility fields"),
    ("marginals", "densities of the coordinates"),
    ("joints", "joint density"),
    (
        "correlations",
        "forward validation: the fitted correlations",
    ),
    ("operator", "residual-operator fit"),
];

/// Runs the benchmarks that have no finished run at this scale, or with `--finished` skips them, then writes
/// `docs/paper.md` and its figures.
pub fn write(workspace: &Workspace, args: &[&str]) -> Result<(), String> {
    let (scale, finished) = match args {
        [] => ("small", false),
        ["--finished"] => ("small", true),
        ["--scale", scale @ ("small" | "paper")] => (*scale, false),
        other => {
            return Err(format!(
                "unexpected arguments {other:?}; expected --scale small|paper or --finished"
            ));
        }
    };
    process::stream_to_stderr(&mut workspace.cargo(&["build", "--release"]))?;
    let docs = workspace.root().join("docs");
    let mut text = String::from(HEAD);
    for run in RUNS {
        let Some((folder, command)) = done(workspace, run, scale, finished)? else {
            continue;
        };
        let results = read(&folder.join("results.json"))?;
        text += &section(run, &results, &command)?;
        for (name, title) in run.figures {
            let file = figure(&folder, &docs, run, name)?;
            let _ = writeln!(text, "![{title}](paper/{file})\n");
        }
    }
    let page = docs.join("paper.md");
    fs::write(&page, text).map_err(|error| format!("{}: {error}", page.display()))
}

const HEAD: &str = "# The paper's benchmarks, reproduced

Every number and figure on this page comes from `ergode reproduce`, with the command given above it.
`cargo xtask paper` builds the page from the `results.json` and the figures of the runs. *Paper* is
\"Conditional Score-Based Modeling of Effective Langevin Dynamics\" (L. T. Giorgini).

";

/// The folder of a run and its command. Runs the command if there is no finished run; with `only_finished`,
/// returns nothing instead.
fn done(
    workspace: &Workspace,
    run: &Run,
    scale: &str,
    only_finished: bool,
) -> Result<Option<(PathBuf, String)>, String> {
    let name = format!("{}-{}-{scale}", run.benchmark, run.recipe);
    let folder = workspace.target().join("paper").join(&name);
    let args = [
        "reproduce",
        run.benchmark,
        "--recipe",
        run.recipe,
        "--scale",
        scale,
        "-o",
    ];
    let shown = format!("ergode {} {name}", args.join(" "));
    let finished =
        read(&folder.join("results.json")).is_ok_and(|r| r.get("reproduction").is_some());
    let cli = || Command::new(workspace.target().join("release").join("ergode"));
    if !finished && only_finished {
        return Ok(None);
    }
    if !finished {
        process::announce(&shown);
        process::stream_to_stderr(cli().args(args).arg(&folder))?;
    }
    let figures = folder.join("figures");
    process::stream_to_stderr(
        cli()
            .arg("report")
            .arg(&folder)
            .arg("--figures")
            .arg(figures),
    )?;
    Ok(Some((folder, shown)))
}

fn read(path: &Path) -> Result<Value, String> {
    let fault = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let text = fs::read_to_string(path).map_err(|error| fault(&error))?;
    serde_json::from_str(&text).map_err(|error| fault(&error))
}

/// Title, command, numbers, choices and differences of a run.
fn section(run: &Run, results: &Value, command: &str) -> Result<String, String> {
    let found = &results["reproduction"];
    let (Some(numbers), Some(machine)) = (found["numbers"].as_array(), found["machine"].as_str())
    else {
        return Err(format!(
            "{command}: results.json has no section `reproduction`"
        ));
    };
    let mut text = format!("## {}, recipe {}\n\n", run.benchmark, run.recipe);
    let seconds = found["seconds"].as_f64().unwrap_or(0.0);
    let _ = writeln!(text, "`{command}`: {seconds:.0} s on {machine}.\n");
    text += "| | here | standard error | paper | exact |\n|---|---|---|---|---|\n";
    for number in numbers {
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} |",
            number["what"]
                .as_str()
                .unwrap_or_default()
                .replace('|', "\\|"),
            digits(&number["found"]),
            digits(&number["stderr"]),
            digits(&number["paper"]),
            digits(&number["exact"])
        );
    }
    text += &against_exact(results);
    for (title, key) in [
        ("Choices that the paper leaves open", "choices"),
        ("Differences from the paper", "differences"),
    ] {
        let lines: Vec<&str> = found[key]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        if !lines.is_empty() {
            let _ = writeln!(text, "\n{title}:\n\n- {}", lines.join("\n- "));
        }
    }
    text.push('\n');
    Ok(text)
}

/// The pointwise errors and the verdict, as table rows and a sentence.
fn against_exact(results: &Value) -> String {
    let (truth, validation) = (&results["truth"], &results["validation"]);
    let mut text = String::new();
    for (what, value) in [
        ("relative error of the score", &truth["score_rel_l2"]),
        ("relative error of D", &truth["D_rel_l2"]),
        ("relative error of R", &truth["R_rel_l2"]),
        ("error of M relative to M − Φ", &truth["M_rel_delta"]),
        (
            "correlations: error / noise floor",
            &validation["rmse_over_floor"],
        ),
        (
            "other observables: error / noise floor",
            &validation["other_over_floor"],
        ),
    ] {
        if value.is_number() {
            let _ = writeln!(text, "| {what} | {} | | | |", digits(value));
        }
    }
    let verdict = validation["verdict"].as_str().unwrap_or("none");
    text + &format!("\nVerdict on held-out data: *{verdict}*.\n")
}

/// A number with four significant digits, or an empty cell.
fn digits(value: &Value) -> String {
    let Some(value) = value.as_f64() else {
        return String::new();
    };
    let size = value.abs();
    if size != 0.0 && !(1e-3..1e5).contains(&size) {
        return format!("{value:.3e}");
    }
    let places = if size == 0.0 {
        0
    } else {
        (3 - size.log10().floor() as i32).max(0) as usize
    };
    format!("{value:.places$}")
}

/// Copies a figure of a run to the folder of the page, and returns its name there.
fn figure(folder: &Path, docs: &Path, run: &Run, name: &str) -> Result<String, String> {
    let file = format!("{}-{}-{name}.svg", run.benchmark, run.recipe);
    let target = docs.join("paper");
    fs::create_dir_all(&target).map_err(|error| format!("{}: {error}", target.display()))?;
    let source = folder.join("figures").join(format!("{name}.svg"));
    fs::copy(&source, target.join(&file))
        .map_err(|error| format!("{}: {error}", source.display()))?;
    Ok(file)
}
