//! The pre-flight check.

use crate::check::{CheckConfig, CheckReport, CoordinateReport};
use crate::finding::{Verdict, digits};
use crate::report::{Axis, Conclusion, Figure, Lines, Page, Panel, Role, Section, Series, Table};

/// Most coordinates with a figure.
const FIGURES: usize = 12;

/// A page on the pre-flight check of a record, verdict first.
pub fn check_page(title: &str, report: &CheckReport) -> Page {
    let mut page = Page::new(title, "Pre-flight check of a record.");
    let meaning = match report.verdict {
        Verdict::Pass => "The record can be fitted.",
        Verdict::Warn => "The record can be fitted, with care.",
        Verdict::Fail => "A fit to this record would not be reliable.",
    };
    page.conclusion = Some(Conclusion::new(meaning, report.findings.clone()));
    page.sections.push(check_section(report));
    page
}

/// Statistics of each coordinate: a table, and autocorrelations with their errors.
///
/// The findings are not repeated here: they are the reasons of the page's verdict
/// ([`Conclusion`](crate::report::Conclusion)).
pub fn check_section(report: &CheckReport) -> Section {
    let mut section = Section::new("check", "The record");
    let uneven = if report.even_sampling { "" } else { "about " };
    let plural = if report.trajectories == 1 { "y" } else { "ies" };
    section = section.prose(format!(
        "{} samples in {} trajector{plural}, sampling interval {uneven}{}. Lags from {} to {} are usable.",
        report.samples,
        report.trajectories,
        digits(report.sampling_interval),
        digits(report.usable_lags[0]),
        digits(report.usable_lags[1])
    ));
    section = section.with(coordinates(report));
    let shown: Vec<&CoordinateReport> = report
        .coordinates
        .iter()
        .filter(|coordinate| coordinate.autocorrelation.len() > 1)
        .take(FIGURES)
        .collect();
    if shown.is_empty() {
        return section;
    }
    let columns = if shown.len() == 1 { 1 } else { 2 };
    let panels = shown.iter().map(|c| autocorrelation(c, shown.len() > 1));
    let figure = Figure::grid(
        "autocorrelations",
        "Autocorrelations of the coordinates",
        "A vertical line marks the decorrelation time. The band is two standard errors to either side.",
        columns,
        panels.collect(),
    );
    section = section.with(figure);
    match report.coordinates.len() {
        all if all > FIGURES => section.prose(format!(
            "The figure shows the first {FIGURES} of {all} coordinates."
        )),
        _ => section,
    }
}

fn coordinates(report: &CheckReport) -> Table {
    let headings = [
        "coordinate",
        "mean",
        "std",
        "decorrelation time",
        "integrated time",
        "effective samples",
    ];
    let optional = |value: Option<f64>| value.map_or("–".into(), digits);
    let rows = report.coordinates.iter().map(|c| {
        [
            c.name.clone(),
            digits(c.mean),
            digits(c.std),
            optional(c.decorrelation_time),
            optional(c.integrated_time),
            format!("{:.0}", c.effective_samples),
        ]
    });
    rows.fold(Table::new("", &headings), Table::row)
}

/// ρ to twice the decorrelation time, with the threshold that defines it.
fn autocorrelation(coordinate: &CoordinateReport, titled: bool) -> Panel {
    let all = &coordinate.autocorrelation;
    let end = coordinate
        .decorrelation_time
        .map_or(f64::INFINITY, |time| 2.0 * time)
        .max(all[1][0]);
    let shown: Vec<&[f64; 3]> = all.iter().take_while(|point| point[0] <= end).collect();
    let column = |k: usize| shown.iter().map(|point| point[k]).collect::<Vec<_>>();
    let series = Series::new(Role::Data, column(0), column(1)).with_error(column(2));
    let threshold = CheckConfig::default().decorrelation_threshold;
    let mut lines = Lines::new(vec![series]).mark_y(threshold, threshold.to_string());
    if let Some(time) = coordinate.decorrelation_time {
        lines = lines.mark_x(time, format!("decorrelation time {}", digits(time)));
    }
    let panel = Panel::new("lag", Axis::from("autocorrelation"), lines);
    if titled {
        panel.titled(&coordinate.name)
    } else {
        panel
    }
}
