//! Curves, points, bands, bars of errors and marks.

use super::axis::Scale;
use super::frame::Frame;
use super::legend::Legend;
use super::svg::{Anchor, Svg, number, width};
use crate::report::figure::{Across, Lines, Panel, Series, SeriesStyle};

/// Strokes keep their width when a reader zooms in.
pub(super) const FIXED: &str = "vector-effect=\"non-scaling-stroke\"";

/// Ordinate and, if it has an error, the ends of its error bar.
fn extent(series: &Series, k: usize) -> [f64; 3] {
    let y = series.y[k];
    match series.error.get(k) {
        Some(error) if error.is_finite() => [y, y - 2.0 * error, y + 2.0 * error],
        _ => [y, y, y],
    }
}

impl Series {
    /// Points that have both coordinates.
    fn len(&self) -> usize {
        self.x.len().min(self.y.len())
    }
}

pub(super) fn draw(panel: &Panel, lines: &Lines, size: [f64; 2], legend: &Legend) -> String {
    let mark = |across: Across| {
        let marks = lines.marks.iter();
        marks.filter(move |m| m.across == across).map(|m| m.at)
    };
    let xs = lines.series.iter().flat_map(|s| s.x[..s.len()].to_vec());
    let ys = lines
        .series
        .iter()
        .flat_map(|s| (0..s.len()).flat_map(|k| extent(s, k)));
    let dotted = lines.series.iter().any(|s| s.style != SeriesStyle::Line);
    let x = Scale::new(
        &panel.x,
        xs.chain(mark(Across::X)),
        if dotted { 0.03 } else { 0.0 },
    );
    let y = Scale::new(&panel.y, ys.chain(mark(Across::Y)), 0.06);
    let frame = Frame::new(panel, size, x, y, 0.0);
    let mut plot = Svg::default();
    for series in &lines.series {
        let key = legend.key(series.role, &series.name);
        plot.raw(&format!(
            "<g class=\"series\" data-key=\"{}\" color=\"{}\">",
            key.id, key.colour
        ));
        draw_series(series, &frame, key.dashes, &mut plot);
        plot.raw("</g>");
    }
    let mut labels = Svg::default();
    draw_marks(lines, &frame, &mut plot, &mut labels);
    frame.around(panel, &plot.text, &labels.text)
}

fn draw_series(series: &Series, frame: &Frame, dashes: &str, svg: &mut Svg) {
    if !series.error.is_empty() {
        match series.style {
            SeriesStyle::Line => {
                let band = band(series, frame);
                if !band.is_empty() {
                    svg.path(
                        &band,
                        "class=\"mark\" fill=\"currentColor\" fill-opacity=\".2\"",
                    );
                }
            }
            SeriesStyle::Points | SeriesStyle::LineAndPoints => {
                let bars = error_bars(series, frame);
                if !bars.is_empty() {
                    let style = format!("class=\"mark\" stroke=\"currentColor\" {FIXED}");
                    svg.path(&bars, &style);
                }
            }
        }
    }
    let points = (0..series.len()).map(|k| frame.at(series.x[k], series.y[k]));
    if series.style != SeriesStyle::Points {
        let curve = curve(points.clone());
        if !curve.is_empty() {
            let dashes = match dashes {
                "" => String::new(),
                dashes => format!("stroke-dasharray=\"{dashes}\""),
            };
            svg.path(
                &curve,
                &format!(
                    "class=\"mark\" fill=\"none\" stroke=\"currentColor\" stroke-width=\"1.8\" \
                     stroke-linejoin=\"round\" {dashes} {FIXED}"
                ),
            );
        }
    }
    if series.style != SeriesStyle::Line {
        // A round end of a line without length is a dot that stays round under any zoom.
        let dots: String = points
            .filter(|p| p.iter().all(|v| v.is_finite()))
            .map(|[x, y]| format!("M{} {}h0", number(x), number(y)))
            .collect();
        if !dots.is_empty() {
            svg.path(
                &dots,
                &format!(
                    "class=\"mark\" stroke=\"currentColor\" stroke-width=\"5.5\" \
                     stroke-linecap=\"round\" {FIXED}"
                ),
            );
        }
    }
}

/// A path through points, broken where one is missing.
fn curve(points: impl Iterator<Item = [f64; 2]>) -> String {
    let mut path = String::new();
    let mut drawing = false;
    for [x, y] in points {
        if x.is_finite() && y.is_finite() {
            let command = if drawing { 'L' } else { 'M' };
            path.push_str(&format!("{command}{} {}", number(x), number(y)));
        }
        drawing = x.is_finite() && y.is_finite();
    }
    path
}

/// Two standard errors to either side, one polygon per stretch without gaps.
fn band(series: &Series, frame: &Frame) -> String {
    let edges = |k: usize| {
        let [_, low, high] = extent(series, k);
        // On a logarithmic axis the lower edge may be beyond it.
        let low = if frame.y.log {
            low.max(1e-3 * frame.y.low)
        } else {
            low
        };
        [frame.at(series.x[k], high), frame.at(series.x[k], low)]
    };
    let all: Vec<[[f64; 2]; 2]> = (0..series.len()).map(edges).collect();
    let whole = |e: &[[f64; 2]; 2]| e.as_flattened().iter().all(|v| v.is_finite());
    let mut path = String::new();
    for stretch in all.split(|e| !whole(e)).filter(|s| !s.is_empty()) {
        let upper = stretch.iter().map(|e| e[0]);
        let around = upper.chain(stretch.iter().rev().map(|e| e[1]));
        path.push_str(&curve(around));
        path.push('z');
    }
    path
}

fn error_bars(series: &Series, frame: &Frame) -> String {
    let mut path = String::new();
    for k in 0..series.len() {
        let [_, low, high] = extent(series, k);
        let low = if frame.y.log {
            low.max(1e-3 * frame.y.low)
        } else {
            low
        };
        let ([x, top], [_, bottom]) = (frame.at(series.x[k], high), frame.at(series.x[k], low));
        if x.is_finite() && top.is_finite() && bottom.is_finite() {
            path.push_str(&format!(
                "M{} {}V{}",
                number(x),
                number(top),
                number(bottom)
            ));
        }
    }
    path
}

/// Dashed lines across the plot; their labels stand where they find room inside the frame.
fn draw_marks(lines: &Lines, frame: &Frame, plot: &mut Svg, labels: &mut Svg) {
    let style =
        format!("stroke=\"currentColor\" stroke-opacity=\".6\" stroke-dasharray=\"4 4\" {FIXED}");
    let mut row = 0.0;
    for mark in &lines.marks {
        match mark.across {
            Across::X => {
                let [x, _] = frame.at(mark.at, frame.y.low);
                if !(-1e-6..=frame.width + 1e-6).contains(&x) {
                    continue;
                }
                plot.line([x, 0.0], [x, frame.height], &style);
                let long = width(&mark.label) + 8.0;
                let (place, anchor) = if x + long < frame.width {
                    (x + 5.0, Anchor::Start)
                } else if x > long {
                    (x - 5.0, Anchor::End)
                } else {
                    (frame.width - 5.0, Anchor::End)
                };
                let at = [frame.left + place, frame.top + 14.0 + row];
                labels.label(at, anchor, "class=\"note\"", &mark.label);
                row += 15.0;
            }
            Across::Y => {
                let [_, y] = frame.at(frame.x.low, mark.at);
                if !(-1e-6..=frame.height + 1e-6).contains(&y) {
                    continue;
                }
                plot.line([0.0, y], [frame.width, y], &style);
                let above = if y > 18.0 { -4.0 } else { 14.0 };
                let at = [frame.left + frame.width - 5.0, frame.top + y + above];
                labels.label(at, Anchor::End, "class=\"note\"", &mark.label);
            }
        }
    }
}
