//! `ergode check`: the pre-flight report as text, JSON or a page.

use std::fmt::Write as _;

use ergode::{
    CheckConfig, CheckReport, CoordinateReport, Finding, ReadOptions, Severity, Verdict,
    check_ensemble, read_ensemble,
};

use crate::args::Check;
use crate::output::{Failed, grouped, report, shown, write_text};
use crate::progress::watched;

/// Most coordinates with a figure.
const FIGURES: usize = 12;

pub(crate) fn run(arguments: &Check, json: bool) -> Result<(), Failed> {
    let options = ReadOptions { dt: arguments.dt };
    let ensemble = read_ensemble(&arguments.data, &options)?;
    let outcome = watched("checking", |control| {
        check_ensemble(&ensemble, &CheckConfig::default(), control)
    })?;
    let title = shown(&arguments.data);
    if let Some(path) = &arguments.html {
        write_text(path, &page(&title, &outcome))?;
    }
    let result = serde_json::to_value(&outcome).expect("a report is plain data");
    let mut sentence = text(&title, &outcome);
    if let Some(path) = &arguments.html {
        let _ = write!(sentence, "\nreport: {}", shown(path));
    }
    report(json, &result, &sentence);
    Ok(())
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

/// How the data are sampled, in a line.
fn summary(outcome: &CheckReport) -> String {
    let plural = if outcome.trajectories == 1 {
        "y"
    } else {
        "ies"
    };
    let uneven = if outcome.even_sampling { "" } else { "about " };
    format!(
        "{} samples in {} trajector{plural}, one every {uneven}{}",
        grouped(outcome.samples),
        grouped(outcome.trajectories),
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

/// Text that is safe inside a page.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// One self-contained page.
fn page(title: &str, outcome: &CheckReport) -> String {
    let mut body = format!(
        "<h1>{}</h1><p>{}.</p><p class=\"verdict {verdict}\">Verdict: {verdict}</p>",
        escaped(title),
        summary(outcome),
        verdict = verdict(outcome)
    );
    body.push_str("<ul class=findings>");
    for finding in &outcome.findings {
        let _ = write!(
            body,
            "<li><b class={0}>{0}</b> {1}<br><small>{2}</small></li>",
            severity(finding),
            escaped(&finding.message),
            escaped(&finding.advice)
        );
    }
    body.push_str("</ul><div class=scroll><table><tr>");
    for heading in HEADINGS {
        let _ = write!(body, "<th>{heading}</th>");
    }
    for coordinate in &outcome.coordinates {
        body.push_str("</tr><tr>");
        for field in fields(coordinate) {
            let _ = write!(body, "<td>{}</td>", escaped(&field));
        }
    }
    body.push_str("</tr></table></div>");
    for coordinate in outcome.coordinates.iter().take(FIGURES) {
        if coordinate.autocorrelation.len() > 1 {
            let _ = write!(
                body,
                "<figure><figcaption>Autocorrelation of <i>{}</i></figcaption>{}</figure>",
                escaped(&coordinate.name),
                figure(coordinate)
            );
        }
    }
    if outcome.coordinates.len() > FIGURES {
        let _ = write!(body, "<p>Figures of the first {FIGURES} coordinates.</p>");
    }
    format!(
        "<!doctype html><html lang=en><meta charset=utf-8>\
<meta name=viewport content=\"width=device-width,initial-scale=1\">\
<title>Check of {}</title><style>{STYLE}</style>{body}</html>\n",
        escaped(title)
    )
}

const STYLE: &str = "\
:root{color-scheme:light dark}\
body{font:16px/1.5 system-ui,sans-serif;max-width:56rem;margin:2rem auto;padding:0 1rem}\
h1{font-size:1.5rem;overflow-wrap:anywhere}\
.verdict{font-size:1.25rem;font-weight:600}\
.pass{color:#2f9e44}.info{color:#1971c2}.warn{color:#e8590c}.fail{color:#e03131}\
.findings{padding:0;list-style:none}.findings li{margin:.75rem 0}\
.scroll{overflow-x:auto}table{border-collapse:collapse;font-variant-numeric:tabular-nums}\
th,td{padding:.25rem .75rem;text-align:right;border-bottom:1px solid #8884;white-space:nowrap}\
th:first-child,td:first-child{text-align:left}\
figure{margin:2rem 0}figcaption{font-weight:600;margin-bottom:.5rem}svg{width:100%;height:auto}\
svg text{font-size:13px;fill:currentColor}.axis{stroke:currentColor;opacity:.35}\
.band{fill:#1971c2;opacity:.25}.curve{fill:none;stroke:#1971c2;stroke-width:2}\
.mark{stroke:#d9480f;stroke-width:1.5;stroke-dasharray:5 4}";

/// The frame of a figure: lags from 0 to `last`, values from `low` to `high`.
struct Frame {
    last: f64,
    low: f64,
    high: f64,
}

impl Frame {
    const WIDTH: f64 = 720.0;
    const HEIGHT: f64 = 300.0;
    const LEFT: f64 = 56.0;
    const RIGHT: f64 = Self::WIDTH - 24.0;
    const BOTTOM: f64 = Self::HEIGHT - 40.0;

    fn x(&self, t: f64) -> f64 {
        Self::LEFT + (Self::RIGHT - Self::LEFT) * t / self.last
    }

    fn y(&self, r: f64) -> f64 {
        10.0 + (Self::BOTTOM - 10.0) * (self.high - r) / (self.high - self.low)
    }

    /// Grid lines with their numbers, and the name of the horizontal axis.
    fn axes(&self) -> String {
        let mut svg = String::new();
        for r in [0.0, 0.5, 1.0] {
            let _ = write!(
                svg,
                "<line class=axis x1={0} x2={1} y1={2:.1} y2={2:.1} />\
                 <text x={3:.1} y={4:.1} text-anchor=end>{r}</text>",
                Self::LEFT,
                Self::RIGHT,
                self.y(r),
                Self::LEFT - 8.0,
                self.y(r) + 4.0
            );
        }
        for k in 0..=4 {
            let t = self.last * f64::from(k) / 4.0;
            let _ = write!(
                svg,
                "<text x={:.1} y={:.1} text-anchor=middle>{}</text>",
                self.x(t),
                Self::HEIGHT - 18.0,
                number(t)
            );
        }
        let _ = write!(
            svg,
            "<text x={:.0} y={:.0} text-anchor=middle>lag</text>",
            0.5 * (Self::LEFT + Self::RIGHT),
            Self::HEIGHT - 2.0
        );
        svg
    }

    fn listed(&self, points: impl Iterator<Item = (f64, f64)>) -> String {
        points.fold(String::new(), |mut text, (t, r)| {
            let _ = write!(text, "{:.1},{:.1} ", self.x(t), self.y(r));
            text
        })
    }
}

/// ρ with two standard errors, the threshold, and the decorrelation time.
fn figure(coordinate: &CoordinateReport) -> String {
    let all = &coordinate.autocorrelation;
    let threshold = CheckConfig::default().decorrelation_threshold;
    let end = coordinate
        .decorrelation_time
        .map_or(f64::INFINITY, |d| 2.0 * d)
        .max(all[1][0]);
    let points: Vec<[f64; 3]> = all.iter().copied().filter(|p| p[0] <= end).collect();
    let upper = || points.iter().map(|p| (p[0], p[1] + 2.0 * p[2]));
    let lower = || points.iter().map(|p| (p[0], p[1] - 2.0 * p[2]));
    let frame = Frame {
        last: points.last().map_or(1.0, |p| p[0]),
        low: lower().map(|p| p.1).fold(-0.1, f64::min),
        high: upper().map(|p| p.1).fold(1.0, f64::max),
    };
    let mut svg = format!(
        "<svg viewBox=\"0 0 {} {}\" role=img>{}",
        Frame::WIDTH,
        Frame::HEIGHT,
        frame.axes()
    );
    let _ = write!(
        svg,
        "<polygon class=band points=\"{}\"/><polyline class=curve points=\"{}\"/>\
         <line class=mark x1={2} x2={3} y1={4:.1} y2={4:.1} />\
         <text x={3} y={5:.1} text-anchor=end>{threshold}</text>",
        frame.listed(upper().chain(lower().rev())),
        frame.listed(points.iter().map(|p| (p[0], p[1]))),
        Frame::LEFT,
        Frame::RIGHT,
        frame.y(threshold),
        frame.y(threshold) - 5.0
    );
    if let Some(d) = coordinate.decorrelation_time {
        let _ = write!(
            svg,
            "<line class=mark x1={0:.1} x2={0:.1} y1=10 y2={1} />\
             <text x={2:.1} y=24>decorrelation time {3}</text>",
            frame.x(d),
            Frame::BOTTOM,
            frame.x(d) + 6.0,
            number(d)
        );
    }
    svg + "</svg>"
}
