//! Bars with errors.

use super::axis::Scale;
use super::frame::Frame;
use super::legend::Legend;
use super::lines::FIXED;
use super::svg::{Anchor, Svg, number, width};
use crate::report::figure::{Axis, Bars, Panel};

/// Longest name of a group; longer ones are cut.
const LONGEST: f64 = 180.0;
/// Part of a group's width that its bars fill.
const FILLED: f64 = 0.8;

pub(super) fn draw(panel: &Panel, bars: &Bars, size: [f64; 2], legend: &Legend) -> String {
    let groups = bars.labels.len().max(1);
    let values = bars.series.iter().flat_map(|series| {
        series.values.iter().enumerate().flat_map(|(k, value)| {
            let error = series.error.get(k).copied().unwrap_or(0.0);
            let error = if error.is_finite() { error } else { 0.0 };
            [value - 2.0 * error, *value, value + 2.0 * error]
        })
    });
    let base = (!panel.y.log).then_some(0.0);
    let y = Scale::new(&panel.y, values.chain(base), 0.06);
    let x = Scale {
        low: -0.5,
        high: groups as f64 - 0.5,
        log: false,
    };
    // The labels replace the numbers of the horizontal axis.
    let mut blank = panel.clone();
    blank.x = Axis::default();
    let room = label_room(bars, size[0]) + if panel.x.name.is_empty() { 0.0 } else { 18.0 };
    let frame = Frame::new(&blank, [size[0], size[1] - room + 24.0], x, y, 0.0).without_x_ticks();
    let mut plot = Svg::default();
    for (turn, series) in bars.series.iter().enumerate() {
        let key = legend.key(series.role, &series.name);
        plot.raw(&format!(
            "<g class=\"series\" data-key=\"{}\" color=\"{}\">",
            key.id, key.colour
        ));
        let (blocks, errors) = outlines(bars, turn, &frame);
        if !blocks.is_empty() {
            let style = "class=\"mark\" fill=\"currentColor\" fill-opacity=\".75\"";
            plot.path(&blocks, style);
        }
        if !errors.is_empty() {
            plot.raw(&format!(
                "<path d=\"{errors}\" class=\"whisker\" stroke=\"#666666\" stroke-width=\"1.5\" {FIXED}/>"
            ));
        }
        plot.raw("</g>");
    }
    let mut labels = Svg::default();
    draw_labels(panel, bars, &frame, size, &mut labels);
    frame.around(&blank, &plot.text, &labels.text)
}

fn upright(bars: &Bars, size: f64) -> bool {
    let widest = bars.labels.iter().map(|l| width(l)).fold(0.0, f64::max);
    widest + 8.0 > (size - 60.0) / bars.labels.len().max(1) as f64
}

/// Height that the names of the groups need below the frame.
pub(super) fn label_room(bars: &Bars, size: f64) -> f64 {
    let widest = bars.labels.iter().map(|l| width(l)).fold(0.0, f64::max);
    if upright(bars, size) {
        widest.min(LONGEST) + 14.0
    } else {
        24.0
    }
}

/// Bars and error bars of one series.
fn outlines(bars: &Bars, turn: usize, frame: &Frame) -> (String, String) {
    let series = &bars.series[turn];
    let wide = FILLED / bars.series.len() as f64;
    let floor = if frame.y.log { frame.y.low } else { 0.0 };
    let (mut blocks, mut errors) = (String::new(), String::new());
    for (k, value) in series.values.iter().enumerate().take(bars.labels.len()) {
        let left = k as f64 - 0.5 * FILLED + turn as f64 * wide;
        let ([x0, top], [x1, bottom]) = (frame.at(left, *value), frame.at(left + wide, floor));
        if ![x0, top, x1, bottom].iter().all(|v| v.is_finite()) {
            continue;
        }
        let corners = [x0, bottom, top, x1, bottom].map(number);
        let [a, b, c, d, e] = corners;
        blocks.push_str(&format!("M{a} {b}V{c}H{d}V{e}z"));
        let Some(error) = series.error.get(k).filter(|e| e.is_finite() && **e > 0.0) else {
            continue;
        };
        let low = value - 2.0 * error;
        let low = if frame.y.log {
            low.max(1e-3 * frame.y.low)
        } else {
            low
        };
        let middle = left + 0.5 * wide;
        let ([x, up], [_, down]) = (frame.at(middle, value + 2.0 * error), frame.at(middle, low));
        errors.push_str(&format!("M{} {}V{}", number(x), number(up), number(down)));
    }
    (blocks, errors)
}

/// Names of the groups, as many as there is room for.
fn draw_labels(panel: &Panel, bars: &Bars, frame: &Frame, size: [f64; 2], svg: &mut Svg) {
    let bottom = frame.top + frame.height;
    let upright = upright(bars, size[0]);
    let step = frame.width / bars.labels.len().max(1) as f64;
    let every = if upright {
        (13.0 / step).ceil().max(1.0) as usize
    } else {
        1
    };
    for (k, name) in bars.labels.iter().enumerate().step_by(every) {
        let x = frame.left + (k as f64 + 0.5) * step;
        if upright {
            let most = (LONGEST / width("x")) as usize;
            let name = match name.char_indices().nth(most) {
                Some((end, _)) => format!("{}…", &name[..end]),
                None => name.clone(),
            };
            svg.upward([x + 4.0, bottom + 6.0], Anchor::End, &name);
        } else {
            svg.label([x, bottom + 15.0], Anchor::Middle, "", name);
        }
    }
    if !panel.x.name.is_empty() {
        let at = [frame.left + 0.5 * frame.width, size[1] - 5.0];
        svg.label(at, Anchor::Middle, "", &panel.x.name);
    }
}
