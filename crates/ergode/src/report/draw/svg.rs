//! SVG as text.

use std::fmt::Write;

/// Text that is safe between tags and in attributes.
pub(in crate::report) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // Not allowed in XML.
            c if c.is_control() && !matches!(c, '\n' | '\t' | '\r') => {}
            c => out.push(c),
        }
    }
    out
}

/// A coordinate with two decimals at most; far outside every drawing it stops growing.
pub(super) fn number(value: f64) -> String {
    let value = if value.is_nan() {
        0.0
    } else {
        value.clamp(-1e5, 1e5)
    };
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    match text {
        "-0" => "0".into(),
        text => text.into(),
    }
}

/// About as wide as the text is drawn at 12 units.
pub(super) fn width(text: &str) -> f64 {
    7.0 * text.chars().count() as f64
}

/// Where a label ends up relative to its point.
#[derive(Clone, Copy)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

impl Anchor {
    fn name(self) -> &'static str {
        match self {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        }
    }
}

/// Elements written one after the other.
#[derive(Default)]
pub(super) struct Svg {
    pub(super) text: String,
}

impl Svg {
    /// Raw markup.
    pub(super) fn raw(&mut self, markup: &str) {
        self.text.push_str(markup);
    }

    /// A line with attributes.
    pub(super) fn line(&mut self, from: [f64; 2], to: [f64; 2], attributes: &str) {
        let [x1, y1, x2, y2] = [from[0], from[1], to[0], to[1]].map(number);
        let _ = write!(
            self.text,
            "<line x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\" {attributes}/>"
        );
    }

    /// A rectangle with attributes.
    pub(super) fn rectangle(&mut self, corner: [f64; 2], size: [f64; 2], attributes: &str) {
        let [x, y, width, height] = [corner[0], corner[1], size[0], size[1]].map(number);
        let _ = write!(
            self.text,
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" {attributes}/>"
        );
    }

    /// A path with attributes.
    pub(super) fn path(&mut self, d: &str, attributes: &str) {
        let _ = write!(self.text, "<path d=\"{d}\" {attributes}/>");
    }

    /// A label, escaped.
    pub(super) fn label(&mut self, at: [f64; 2], anchor: Anchor, attributes: &str, text: &str) {
        let [x, y] = at.map(number);
        let _ = write!(
            self.text,
            "<text x=\"{x}\" y=\"{y}\" text-anchor=\"{}\" {attributes}>{}</text>",
            anchor.name(),
            escaped(text)
        );
    }

    /// A label that reads upwards, escaped.
    pub(super) fn upward(&mut self, at: [f64; 2], anchor: Anchor, text: &str) {
        let [x, y] = at.map(number);
        let _ = write!(
            self.text,
            "<text transform=\"translate({x} {y}) rotate(-90)\" text-anchor=\"{}\">{}</text>",
            anchor.name(),
            escaped(text)
        );
    }
}
