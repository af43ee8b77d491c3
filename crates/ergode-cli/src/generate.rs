//! `ergode generate`.

use std::time::Instant;

use ergode::random::Stream;
use ergode::simulate::{Failure, Initial, simulate_to_file};
use ergode::systems::{Protocol, System, system_by_name};
use ergode::{Control, Scheme, write_ensemble};
use serde_json::{Map, Value, json};

use crate::args::{Generate, SchemeName};
use crate::output::{Failed, grouped, report, shown, trajectories};
use crate::progress::watched;

pub(crate) fn run(arguments: &Generate, json: bool) -> Result<(), Failed> {
    let start = Instant::now();
    let system = system_by_name(&arguments.system, &changes(&arguments.set)?)?;
    let protocol = protocol(&*system, arguments);
    let label = format!("simulating {}", arguments.system);
    let failures = watched(&label, |control| {
        make(&*system, &protocol, arguments, control)
    })?;
    let config = &protocol.simulate;
    let uneven = arguments.poisson || arguments.missing != 0.0;
    // For uneven samples this is the expected number.
    let samples = (config.samples()? as f64 * (1.0 - arguments.missing)) as usize;
    let result = json!({
        "file": shown(&arguments.output),
        "system": arguments.system,
        "parameters": system.parameters(),
        "protocol": protocol,
        "dimensions": system.dim(),
        "samples_per_trajectory": samples,
        "failures": failures,
        "wall_s": start.elapsed().as_secs_f64(),
    });
    let sentence = format!(
        "{}: {} of {} samples, {}every {} ({:.1} s)",
        shown(&arguments.output),
        trajectories(config.trajectories),
        grouped(samples),
        if uneven { "on average " } else { "" },
        config.save_every,
        start.elapsed().as_secs_f64(),
    );
    report(json, &result, &sentence)?;
    if failures.is_empty() {
        return Ok(());
    }
    let mut lines: Vec<String> = failures.iter().take(5).map(Failure::to_string).collect();
    lines.push(format!(
        "{} of {} trajectories failed; their rows in the file are NaN from the failure on",
        failures.len(),
        config.trajectories
    ));
    Err(Failed::other(lines.join("\n  ")))
}

/// Parse `key=value` pairs; a value that is not JSON is text.
fn changes(pairs: &[String]) -> Result<Map<String, Value>, Failed> {
    pairs
        .iter()
        .map(|pair| {
            let (key, value) = pair.split_once('=').ok_or_else(|| {
                Failed::input(format!("--set {pair}: expected key=value, e.g. omega=1.1"))
            })?;
            let parsed = serde_json::from_str(value).unwrap_or_else(|_| Value::from(value));
            Ok((key.to_owned(), parsed))
        })
        .collect()
}

fn protocol(system: &dyn System, arguments: &Generate) -> Protocol {
    let mut protocol = system.protocol();
    let config = &mut protocol.simulate;
    config.seed = arguments.seed;
    config.time = arguments.time.unwrap_or(config.time);
    config.dt = arguments.dt.unwrap_or(config.dt);
    config.save_every = arguments.save_every.unwrap_or(config.save_every);
    config.trajectories = arguments.trajectories.unwrap_or(config.trajectories);
    config.burn_in = arguments.burn_in.unwrap_or(config.burn_in);
    match arguments.scheme {
        None => {}
        Some(SchemeName::Euler) => (config.scheme, protocol.exact) = (Scheme::Euler, false),
        Some(SchemeName::Platen) => (config.scheme, protocol.exact) = (Scheme::Platen, false),
        Some(SchemeName::Exact) => protocol.exact = true,
    }
    protocol
}

/// Simulate in memory and write, or stream to disk if the result exceeds the memory budget.
fn make(
    system: &dyn System,
    protocol: &Protocol,
    arguments: &Generate,
    control: &Control,
) -> Result<Vec<Failure>, Failed> {
    let config = &protocol.simulate;
    let budget = arguments.memory * (1u64 << 30) as f64;
    if !(1e6..=1e18).contains(&budget) {
        return Err(Failed::input(format!(
            "--memory {:e}: give a number of GiB from 0.001 to 1e9",
            arguments.memory
        )));
    }
    let bytes = config.samples()? as f64 * config.trajectories as f64 * system.dim() as f64 * 8.0;
    let (poisson, missing) = (arguments.poisson, arguments.missing);
    if poisson || missing != 0.0 {
        let run = ergode::systems::generate_uneven(system, protocol, poisson, missing, control)?;
        write_ensemble(&arguments.output, &run.ensemble)?;
        return Ok(run.failures);
    }
    if bytes > budget && !protocol.exact {
        let draw = |stream: &mut Stream, x: &mut [f64]| system.draw_initial(stream, x);
        return Ok(simulate_to_file(
            system,
            &Initial::Drawn(&draw),
            config,
            &system.coordinate_names(),
            &arguments.output,
            budget as usize,
            control,
        )?);
    }
    let run = ergode::systems::generate(system, protocol, control)?;
    write_ensemble(&arguments.output, &run.ensemble)?;
    Ok(run.failures)
}
