//! `ergode check`: test data before a fit; the report as text, JSON or a page.

use std::fmt::Write as _;

use ergode::check::CoordinateReport;
use ergode::report::check_page;
use ergode::{CheckConfig, CheckReport, Finding, Severity, Verdict, check_ensemble};

use crate::args::Check;
use crate::output::{Failed, grouped, report, shown, trajectories, write_text};
use crate::progress::watched;

pub(crate) fn run(arguments: &Check, json: bool) -> Result<(), Failed> {
    let (ensemble, _) = arguments.reading.read(&arguments.data, None)?;
    let outcome = watched("checking", |control| {
        check_ensemble(&ensemble, &CheckConfig::default(), control)
    })?;
    let title = shown(&arguments.data);
    if let Some(path) = &arguments.html {
        write_text(path, &check_page(&title, &outcome).html())?;
    }
    let result = serde_json::to_value(&outcome).expect("a report is plain data");
    let mut sentence = text(&title, &outcome);
    if let Some(path) = &arguments.html {
        let _ = write!(sentence, "\nreport: {}", shown(path));
    }
    report(json, &result, &sentence)
}

fn severity(finding: &Finding) -> &'static str {
    match finding.severity {
        Severity::Info => "info",
        Severity::Warn => "warn",
        Severity::Fail => "fail",
    }
}

fn verdict(outcome: &CheckReport) -> &'static str {
    match outcome.verdict {
        Verdict::Pass => "pass",
        Verdict::Warn => "warn",
        Verdict::Fail => "fail",
    }
}

/// One line on how the data are sampled.
fn summary(outcome: &CheckReport) -> String {
    let kind = if outcome.even_sampling { "" } else { "mean " };
    format!(
        "{} samples in {}, {kind}sampling interval {}",
        grouped(outcome.samples),
        trajectories(outcome.trajectories),
        number(outcome.sampling_interval)
    )
}

const HEADINGS: [&str; 6] = [
    "coordinate",
    "mean",
    "std",
    "decorrelation time",
    "integrated time",
    "effective samples",
];

fn fields(coordinate: &CoordinateReport) -> [String; 6] {
    let optional = |value: Option<f64>| value.map_or("-".into(), number);
    [
        coordinate.name.clone(),
        number(coordinate.mean),
        number(coordinate.std),
        optional(coordinate.decorrelation_time),
        optional(coordinate.integrated_time),
        grouped(coordinate.effective_samples.round() as usize),
    ]
}

/// Four significant digits.
fn number(value: f64) -> String {
    let size = value.abs();
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    if !(1e-3..1e6).contains(&size) {
        return format!("{value:.3e}");
    }
    let decimals = (3.0 - size.log10().floor()).clamp(0.0, 6.0) as usize;
    format!("{value:.decimals$}")
}

fn text(title: &str, outcome: &CheckReport) -> String {
    let mut out = format!("{title}: {}\n\n", summary(outcome));
    let mut table = vec![HEADINGS.map(String::from)];
    table.extend(outcome.coordinates.iter().map(fields));
    let width = |column: usize| {
        let lengths = table.iter().map(|row| row[column].chars().count());
        lengths.max().unwrap_or(0)
    };
    for row in &table {
        let _ = write!(out, "{:<1$}", row[0], width(0));
        for (column, field) in row.iter().enumerate().skip(1) {
            let _ = write!(out, "  {field:>0$}", width(column));
        }
        out.push('\n');
    }
    out.push('\n');
    for finding in &outcome.findings {
        let _ = writeln!(out, "{}: {}", severity(finding), finding.message);
        let _ = writeln!(out, "  {}", finding.advice);
    }
    let _ = write!(out, "\nverdict: {}", verdict(outcome));
    out
}
