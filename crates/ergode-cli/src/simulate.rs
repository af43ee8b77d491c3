//! `ergode simulate`: new trajectories of a fitted model.

use std::time::Instant;

use ergode::simulate::Failure;
use ergode::{LangevinModel, simulate_model, simulation_protocol, write_ensemble};
use serde_json::json;

use crate::args::Simulate;
use crate::output::{Failed, grouped, report, shown, trajectories};
use crate::progress::watched;

pub(crate) fn run(arguments: &Simulate, json: bool) -> Result<(), Failed> {
    let start = Instant::now();
    let model = LangevinModel::load(&arguments.run)?;
    let config = watched("choosing a step", |control| {
        simulation_protocol(
            &model,
            arguments.time,
            arguments.dt,
            arguments.save_every,
            arguments.trajectories,
            arguments.seed,
            control,
        )
    })?;
    let run = watched("simulating", |control| {
        simulate_model(&model, &config, control)
    })?;
    let states = run.simulation.ensemble;
    let ensemble = match arguments.state {
        true => states,
        false => model
            .observation()
            .observe(&states, arguments.start, arguments.seed)?,
    };
    write_ensemble(&arguments.output, &ensemble)?;
    let failures = &run.simulation.failures;
    let result = json!({
        "file": shown(&arguments.output),
        "protocol": config,
        "samples_per_trajectory": config.samples()?,
        "out_of_support": run.out_of_support,
        "failures": failures,
        "wall_s": start.elapsed().as_secs_f64(),
    });
    let sentence = format!(
        "{}: {} of {} samples, step {}, {:.2} % of the samples outside the \
         support of the data ({:.1} s)",
        shown(&arguments.output),
        trajectories(config.trajectories),
        grouped(config.samples()?),
        config.dt,
        100.0 * run.out_of_support,
        start.elapsed().as_secs_f64()
    );
    report(json, &result, &sentence)?;
    if failures.is_empty() {
        return Ok(());
    }
    let lines: Vec<String> = failures.iter().take(5).map(Failure::to_string).collect();
    Err(Failed::other(lines.join("\n  ")))
}
