//! Development commands of the workspace: `cargo xtask help` lists them.

mod bench;
mod calibrate;
mod checks;
mod docs;
mod order;
mod pages;
mod paper;
mod process;
mod python;
mod workspace;
mod zoo;

use std::process::ExitCode;

use workspace::Workspace;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match dispatch(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

/// Runs the command that the arguments name.
fn dispatch(args: &[&str]) -> Result<(), String> {
    match args {
        ["help" | "--help" | "-h"] => {
            print!("{}", help());
            Ok(())
        }
        ["test"] => checks::test(&Workspace::locate()?),
        ["test", "--quick"] => checks::test_quickly(&Workspace::locate()?),
        ["pages"] => pages::test(&Workspace::locate()?),
        ["order"] => order::check(&Workspace::locate()?),
        ["ci"] => checks::ci(&Workspace::locate()?),
        ["docs"] => docs::build(&Workspace::locate()?, false),
        ["docs", "--execute"] => docs::build(&Workspace::locate()?, true),
        ["bench", rest @ ..] => bench::run(rest),
        ["calibrate", rest @ ..] => calibrate::run(&Workspace::locate()?, rest),
        ["zoo", rest @ ..] => zoo::run(&Workspace::locate()?, rest),
        ["paper", rest @ ..] => paper::write(&Workspace::locate()?, rest),
        [] => Err(format!("no command given\n\n{}", help())),
        [
            "help" | "test" | "pages" | "order" | "ci" | "docs",
            extra,
            ..,
        ] => Err(format!("unexpected argument `{extra}`")),
        [other, ..] => Err(format!("unknown command `{other}`\n\n{}", help())),
    }
}

/// The text of `cargo xtask help`.
fn help() -> String {
    format!(
        "\
Usage: cargo xtask COMMAND

Commands:
  test                 run the Rust tests, the Python tests and the tests of report pages in Chromium
  test --quick         run the Rust tests except the slow ones
  pages                run only the tests of report pages, on the debug build
  order                check that the library's modules use each other in the order of DESIGN.md
  ci                   check the order of modules, formatting, lints and documentation, then run the tests
  docs [--execute]     build the site of docs/ in target/docs/html; --execute: run notebooks and gallery too
  bench NAME [--json]  compare a benchmark with its peers; --json prints one JSON object
  calibrate [--models N]
                       hold exact models and planted defects against records of them, and print the verdicts
  paper [--scale small|paper | --finished]
                       run the paper's benchmarks that are not finished, and write docs/paper.md;
                       --finished skips them
  zoo [CASE..] [--quick] [--json] [--alone] [--limit SECONDS] [--write FILE]
                       fit records with known answers with defaults, beside other methods (--alone: without them);
                       --quick: ten cases, short records; --write docs/zoo.md: the page too
  help                 print this text

Benchmarks:
{}",
        bench::list()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_arguments_are_reported() {
        let message = |args: &[&str]| dispatch(args).unwrap_err();
        assert!(message(&[]).starts_with("no command given"));
        assert!(message(&["tset"]).starts_with("unknown command `tset`"));
        assert_eq!(message(&["ci", "--fast"]), "unexpected argument `--fast`");
    }

    #[test]
    fn help_names_every_command_and_benchmark() {
        let text = help();
        for word in [
            "test", "pages", "order", "ci", "docs", "bench", "paper", "zoo", "help", "simulate",
        ] {
            assert!(text.contains(&format!("\n  {word} ")), "{word}");
        }
    }
}
