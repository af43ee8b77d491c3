//! One self-contained page: verdict, sections, figures that answer to the reader.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::draw::{Legend, escaped, swatch};
use super::figure::Figure;
use super::identifier::identifier;
use crate::error::{Error, Result};
use crate::finding::{Finding, Severity, Verdict};
use crate::io::AtomicFile;

/// A page: what was found, first of all, then the evidence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Page {
    /// Heading.
    pub title: String,
    /// A sentence below it: what was done to what.
    pub summary: String,
    /// The verdict with its reasons, if any.
    pub conclusion: Option<Conclusion>,
    /// The evidence.
    pub sections: Vec<Section>,
    /// Lines at the end of the page, such as seeds and versions; how to cite is always there.
    pub notes: Vec<String>,
}

/// A verdict and what led to it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Conclusion {
    /// The worst of the findings.
    pub verdict: Verdict,
    /// What the verdict is about, in a sentence.
    pub summary: String,
    /// The findings, the worst first.
    pub findings: Vec<Finding>,
}

/// A part of a page with an entry in its table of contents.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Section {
    /// Anchor.
    pub id: String,
    /// Heading.
    pub title: String,
    /// Its parts, in order.
    pub parts: Vec<SectionPart>,
}

/// Part of a section.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SectionPart {
    /// A paragraph of plain text.
    Prose(String),
    /// A formula on separate lines, plain text.
    Equation(String),
    /// A figure.
    Figure(Figure),
    /// A table.
    Table(Table),
    /// Findings with their advice.
    Findings(Vec<Finding>),
    /// Parts that are folded away until the reader asks for them.
    Details {
        /// What the fold says.
        summary: String,
        /// What it hides.
        parts: Vec<SectionPart>,
    },
}

/// A table; the first column holds names, the others numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// What is listed.
    pub caption: String,
    /// One heading per column.
    pub headings: Vec<String>,
    /// The rows.
    pub rows: Vec<Vec<String>>,
}

impl Page {
    /// A page without sections.
    pub fn new(title: impl Into<String>, summary: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            summary: summary.into(),
            conclusion: None,
            sections: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Every figure in order, those in folds too.
    pub fn figures(&self) -> Vec<&Figure> {
        let mut figures = Vec::new();
        for section in &self.sections {
            collect_figures(&section.parts, &mut figures);
        }
        figures
    }

    /// The page as one file that refers to nothing outside itself.
    pub fn html(&self) -> String {
        let title = escaped(&self.title);
        let mut body = format!("<header><h1>{title}</h1>");
        if !self.summary.is_empty() {
            let _ = write!(body, "<p class=\"lead\">{}</p>", escaped(&self.summary));
        }
        if let Some(conclusion) = &self.conclusion {
            write_conclusion(conclusion, &mut body);
        }
        body.push_str("</header>");
        if self.sections.len() > 1 {
            body.push_str("<nav aria-label=\"Contents\"><ul>");
            for section in &self.sections {
                let (id, title) = (identifier(&section.id), escaped(&section.title));
                let _ = write!(body, "<li><a href=\"#{id}\">{title}</a></li>");
            }
            body.push_str("</ul></nav>");
        }
        body.push_str("<main>");
        for section in &self.sections {
            let (id, title) = (identifier(&section.id), escaped(&section.title));
            let _ = write!(body, "<section id=\"{id}\"><h2>{title}</h2>");
            write_parts(&section.parts, &mut body);
            body.push_str("</section>");
        }
        body.push_str("</main><footer>");
        for note in &self.notes {
            let _ = write!(body, "<p>{}</p>", escaped(note));
        }
        let _ = write!(
            body,
            "<p>Made by Ergode {}. Please cite Ergode (CITATION.cff) and the method: L. T. Giorgini, \
             <cite>Conditional Score-Based Modeling of Effective Langevin Dynamics</cite>.</p></footer>",
            env!("CARGO_PKG_VERSION")
        );
        format!(
            "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
             <meta name=\"color-scheme\" content=\"light dark\"><link rel=\"icon\" href=\"data:,\">\
             <title>{title}</title><style>{}</style></head><body>{body}<script>{}</script></body>\
             </html>\n",
            include_str!("page.css"),
            include_str!("page.js")
        )
    }
}

impl Conclusion {
    /// The verdict of `findings`, sorted.
    pub fn new(summary: impl Into<String>, mut findings: Vec<Finding>) -> Self {
        findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
        Self {
            verdict: Verdict::of(&findings),
            summary: summary.into(),
            findings,
        }
    }
}

impl Section {
    /// A section without content.
    pub fn new(id: &str, title: &str) -> Self {
        Self {
            id: id.into(),
            title: title.into(),
            parts: Vec::new(),
        }
    }

    /// The same with one more part.
    pub fn with(mut self, part: impl Into<SectionPart>) -> Self {
        self.parts.push(part.into());
        self
    }

    /// The same with one more paragraph.
    pub fn prose(self, text: impl Into<String>) -> Self {
        self.with(SectionPart::Prose(text.into()))
    }
}

impl From<Figure> for SectionPart {
    fn from(figure: Figure) -> Self {
        SectionPart::Figure(figure)
    }
}

impl From<Table> for SectionPart {
    fn from(table: Table) -> Self {
        SectionPart::Table(table)
    }
}

impl Table {
    /// A table without rows.
    pub fn new(caption: impl Into<String>, headings: &[&str]) -> Self {
        Self {
            caption: caption.into(),
            headings: headings.iter().map(|h| (*h).to_owned()).collect(),
            rows: Vec::new(),
        }
    }

    /// The same with one more row.
    pub fn row(mut self, fields: impl IntoIterator<Item = String>) -> Self {
        self.rows.push(fields.into_iter().collect());
        self
    }
}

/// Write every figure of a page as `NAME.svg` into a folder, which is created if missing; the
/// files in order.
///
/// # Errors
/// When the folder cannot be made or a file cannot be written, or two figures have the same name.
pub fn write_figures(page: &Page, folder: impl AsRef<Path>) -> Result<Vec<PathBuf>> {
    let folder = folder.as_ref();
    std::fs::create_dir_all(folder).map_err(|error| Error::io(folder, error))?;
    let mut paths = Vec::new();
    for figure in page.figures() {
        let path = folder.join(format!("{}.svg", identifier(&figure.name)));
        if paths.contains(&path) {
            return Err(Error::input(format!(
                "two figures have the name {:?}; give each figure a different name",
                figure.name
            )));
        }
        let mut file = AtomicFile::create(&path)?;
        let written = file.file().write_all(figure.svg().as_bytes());
        written.map_err(|error| Error::io(&path, error))?;
        file.commit()?;
        paths.push(path);
    }
    Ok(paths)
}

fn collect_figures<'a>(parts: &'a [SectionPart], figures: &mut Vec<&'a Figure>) {
    for part in parts {
        match part {
            SectionPart::Figure(figure) => figures.push(figure),
            SectionPart::Details { parts, .. } => collect_figures(parts, figures),
            SectionPart::Prose(_)
            | SectionPart::Equation(_)
            | SectionPart::Table(_)
            | SectionPart::Findings(_) => {}
        }
    }
}

fn write_conclusion(conclusion: &Conclusion, out: &mut String) {
    let (class, word) = match conclusion.verdict {
        Verdict::Pass => ("pass", "Pass"),
        Verdict::Warn => ("warn", "Warning"),
        Verdict::Fail => ("fail", "Fail"),
    };
    let _ = write!(
        out,
        "<section class=\"verdict {class}\" id=\"verdict\"><p><strong>{word}</strong> {}</p>",
        escaped(&conclusion.summary)
    );
    write_findings(&conclusion.findings, out);
    out.push_str("</section>");
}

fn write_findings(findings: &[Finding], out: &mut String) {
    if findings.is_empty() {
        return;
    }
    out.push_str("<ul class=\"findings\">");
    for finding in findings {
        let severity = match finding.severity {
            Severity::Info => "info",
            Severity::Warn => "warn",
            Severity::Fail => "fail",
        };
        let _ = write!(
            out,
            "<li><span class=\"tag {severity}\">{severity}</span> {}",
            escaped(&finding.message)
        );
        if !finding.advice.is_empty() {
            let _ = write!(out, "<p class=\"advice\">{}</p>", escaped(&finding.advice));
        }
        out.push_str("</li>");
    }
    out.push_str("</ul>");
}

fn write_parts(parts: &[SectionPart], out: &mut String) {
    for part in parts {
        match part {
            SectionPart::Prose(text) => {
                let _ = write!(out, "<p>{}</p>", escaped(text));
            }
            SectionPart::Equation(text) => {
                let _ = write!(out, "<p class=\"equation\">{}</p>", escaped(text));
            }
            SectionPart::Figure(figure) => write_figure(figure, out),
            SectionPart::Table(table) => write_table(table, out),
            SectionPart::Findings(findings) => write_findings(findings, out),
            SectionPart::Details { summary, parts } => {
                let summary = escaped(summary);
                let _ = write!(out, "<details><summary>{summary}</summary>");
                write_parts(parts, out);
                out.push_str("</details>");
            }
        }
    }
}

fn write_figure(figure: &Figure, out: &mut String) {
    let legend = Legend::of(figure);
    let _ = write!(
        out,
        "<figure id=\"figure-{}\" data-columns=\"{}\"><h3>{}</h3>",
        identifier(&figure.name),
        figure.columns.clamp(1, 4),
        escaped(&figure.title)
    );
    if !legend.keys.is_empty() {
        out.push_str("<div class=\"legend\">");
        for key in &legend.keys {
            let _ = write!(
                out,
                "<button type=\"button\" data-key=\"{}\" aria-pressed=\"true\"><svg width=\"24\" \
                 height=\"12\" viewBox=\"0 0 24 12\" aria-hidden=\"true\" class=\"series\" \
                 data-key=\"{0}\" color=\"{}\">{}</svg>{}</button>",
                key.id,
                key.colour,
                swatch(key),
                escaped(&key.name)
            );
        }
        out.push_str("</div>");
    }
    out.push_str("<div class=\"panels\">");
    for panel in figure.page_panels(&legend) {
        let _ = write!(out, "<div class=\"scroll\">{panel}</div>");
    }
    let mut data = serde_json::to_value(figure).expect("a figure is plain data");
    shorten(&mut data);
    // Inside a script only `<` could end it.
    let data = data.to_string().replace('<', "\\u003c");
    let _ = write!(
        out,
        "</div><figcaption>{}</figcaption><script type=\"application/json\">{data}</script></figure>",
        escaped(&figure.caption)
    );
}

/// Six significant digits: what a reader is shown, in a third of the bytes.
fn shorten(value: &mut Value) {
    match value {
        Value::Number(number) if number.is_f64() => {
            let rounded = number
                .as_f64()
                .and_then(|v| format!("{v:.5e}").parse().ok());
            if let Some(rounded) = rounded.and_then(serde_json::Number::from_f64) {
                *number = rounded;
            }
        }
        Value::Array(values) => values.iter_mut().for_each(shorten),
        Value::Object(fields) => fields.values_mut().for_each(shorten),
        _ => {}
    }
}

fn write_table(table: &Table, out: &mut String) {
    out.push_str("<div class=\"scroll\"><table>");
    if !table.caption.is_empty() {
        let _ = write!(out, "<caption>{}</caption>", escaped(&table.caption));
    }
    out.push_str("<thead><tr>");
    for heading in &table.headings {
        let _ = write!(out, "<th scope=\"col\">{}</th>", escaped(heading));
    }
    out.push_str("</tr></thead><tbody>");
    for row in &table.rows {
        out.push_str("<tr>");
        for field in row {
            let _ = write!(out, "<td>{}</td>", escaped(field));
        }
        out.push_str("</tr>");
    }
    out.push_str("</tbody></table></div>");
}
