//! `ergode convert`.

use ergode::{read_ensemble, write_ensemble};
use serde_json::json;

use crate::args::Convert;
use crate::output::{Failed, grouped, report, shown};

pub(crate) fn run(arguments: &Convert, json: bool) -> Result<(), Failed> {
    let options = arguments.reading.options();
    let ensemble = read_ensemble(&arguments.input, &options)?;
    for warning in ensemble.warnings() {
        eprintln!("warning: {warning}");
    }
    write_ensemble(&arguments.output, &ensemble)?;
    let result = json!({
        "file": shown(&arguments.output),
        "trajectories": ensemble.len(),
        "samples": ensemble.samples(),
        "dimensions": ensemble.dim(),
        "names": ensemble.names(),
        "sampling_interval": ensemble.sampling_interval(),
    });
    let sentence = format!(
        "{}: {} samples of {} in {} trajectories",
        shown(&arguments.output),
        grouped(ensemble.samples()),
        ensemble.names().join(", "),
        ensemble.len(),
    );
    report(json, &result, &sentence);
    Ok(())
}
