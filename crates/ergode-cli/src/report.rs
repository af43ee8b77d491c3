//! `ergode report`: the page of a run, and its figures as files.

use ergode::Fitted;
use ergode::report::write_figures;
use serde_json::json;

use crate::args::Report;
use crate::output::{Failed, report, shown, write_text};

pub(crate) fn run(arguments: &Report, json: bool) -> Result<(), Failed> {
    let page = Fitted::load(&arguments.run)?.page();
    if let Some(folder) = &arguments.figures {
        let files = write_figures(&page, folder)?;
        let names: Vec<String> = files.iter().map(|file| shown(file)).collect();
        let sentence = format!("{} figures in {}", names.len(), shown(folder));
        return report(json, &json!({"figures": names}), &sentence);
    }
    let path = arguments.run.join("report.html");
    write_text(&path, &page.html())?;
    report(
        json,
        &json!({"report": shown(&path)}),
        &format!("report: {}", shown(&path)),
    )
}
