//! `ergode simulate`: new trajectories of a learned model.

use std::time::Instant;

use ergode::{
    Failure, LangevinModel, Scheme, SimulateConfig, StepConfig, default_step, simulate_model,
    write_ensemble,
};
use serde_json::json;

use crate::args::Simulate;
use crate::output::{Failed, grouped, report, shown};
use crate::progress::watched;

pub(crate) fn run(arguments: &Simulate, json: bool) -> Result<(), Failed> {
    let start = Instant::now();
    let model = LangevinModel::load(&arguments.run)?;
    let dt = match arguments.dt {
        Some(dt) => dt,
        None => {
            let steps = StepConfig {
                seed: arguments.seed,
                ..StepConfig::default()
            };
            let advised = watched("choosing a step", |control| {
                default_step(&model, &steps, control)
            })?;
            match arguments.save_every {
                Some(every) => every / (every / advised).ceil(),
                None => advised,
            }
        }
    };
    let config = SimulateConfig {
        time: arguments.time,
        dt,
        save_every: arguments.save_every.unwrap_or(dt),
        trajectories: arguments.trajectories,
        seed: arguments.seed,
        scheme: Scheme::Euler,
        burn_in: 0.0,
    };
    let run = watched("simulating", |control| {
        simulate_model(&model, &config, control)
    })?;
    let ensemble = run.simulation.ensemble.with_names(model.names().to_vec())?;
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
        "{}: {} trajectories of {} samples, step {dt}, {:.2} % of the samples outside the data's \
         support ({:.1} s)",
        shown(&arguments.output),
        config.trajectories,
        grouped(config.samples()?),
        100.0 * run.out_of_support,
        start.elapsed().as_secs_f64()
    );
    report(json, &result, &sentence);
    if failures.is_empty() {
        return Ok(());
    }
    let lines: Vec<String> = failures.iter().take(5).map(Failure::to_string).collect();
    Err(Failed::other(lines.join("\n  ")))
}
