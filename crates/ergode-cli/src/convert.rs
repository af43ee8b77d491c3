//! `ergode convert`.

use ergode::convert_ensemble;
use serde_json::json;

use crate::args::Convert;
use crate::output::{Failed, grouped, note, report, shown, trajectories};
use crate::progress::watched;

pub(crate) fn run(arguments: &Convert, json: bool) -> Result<(), Failed> {
    let options = arguments.reading.options();
    let made = watched("converting", |control| {
        convert_ensemble(
            &arguments.input,
            &arguments.output,
            &options,
            arguments.values_only,
            control,
        )
    })?;
    for warning in &made.warnings {
        note(&format!("warning: {warning}"));
    }
    let result = json!({
        "file": shown(&arguments.output),
        "trajectories": made.trajectories,
        "samples": made.samples,
        "dimensions": made.names.len(),
        "names": made.names,
        "sampling_interval": made.sampling_interval,
    });
    let sentence = format!(
        "{}: {} samples of {} in {}",
        shown(&arguments.output),
        grouped(made.samples),
        made.names.join(", "),
        trajectories(made.trajectories),
    );
    report(json, &result, &sentence)
}
