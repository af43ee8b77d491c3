//! The command line of Ergode.

mod accumulate;
mod args;
mod calendar;
mod check;
mod completions;
mod config;
mod convert;
mod demo;
mod doctor;
mod equation;
mod eval;
mod fit;
mod forecast;
mod generate;
mod man;
mod output;
mod progress;
mod report;
mod reproduce;
mod simulate;
mod summary;
mod threads;
mod validate;

use std::process::ExitCode;

use clap::Parser;

use args::{Arguments, Command};
use output::Failed;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    threads::start();
    progress::stop_on_interrupt();
    let json = arguments.json;
    let outcome = match &arguments.command {
        Command::Demo(demo) => demo::run(demo, json),
        Command::Check(check) => check::run(check, json),
        Command::Fit(fit) => fit::run(fit, json),
        Command::Accumulate(accumulate) => accumulate::run(accumulate, json),
        Command::Merge(merge) => accumulate::merge(merge, json),
        Command::Simulate(simulate) => simulate::run(simulate, json),
        Command::Forecast(forecast) => forecast::run(forecast, json),
        Command::Eval(eval) => eval::run(eval, json),
        Command::Validate(validate) => validate::run(validate, json),
        Command::Report(report) => report::run(report, json),
        Command::Equation(equation) => equation::run(equation, json),
        Command::Reproduce(reproduce) => reproduce::run(reproduce, json),
        Command::Generate(generate) => generate::run(generate, json),
        Command::Convert(convert) => convert::run(convert, json),
        Command::Config(config) => config::run(config, json),
        Command::Doctor(_) => doctor::run(json),
        Command::Completions(completions) => completions::run(completions),
        Command::Man(man) => man::run(man),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failed { message, code }) => {
            output::note(&format!("error: {message}"));
            ExitCode::from(code)
        }
    }
}
