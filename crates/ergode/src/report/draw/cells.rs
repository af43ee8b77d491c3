//! Heatmaps, vector fields and matrices.

use super::axis::Scale;
use super::colour::{self, STEPS};
use super::frame::{Frame, bar_room, colour_bar, heading};
use super::lines::FIXED;
use super::svg::{Anchor, Svg, number, width};
use crate::report::figure::{Arrows, Axis, Heatmap, LabelledMatrix, Palette, Panel};

/// Cells below this size have no room for their number.
const ROOM: [f64; 2] = [40.0, 18.0];

pub(super) fn draw_heatmap(panel: &Panel, heatmap: &Heatmap, size: [f64; 2]) -> String {
    let range = heatmap.colours.range_of(heatmap.values.iter().copied());
    let frame = frame_of(panel, heatmap, size, bar_room(range));
    let mut plot = Svg::default();
    draw_cells(heatmap, &frame, range, &mut plot);
    let mut labels = Svg::default();
    let at = [frame.left + frame.width, frame.top, frame.height];
    colour_bar(&mut labels, range, heatmap.colours.palette, at);
    let labels = std::mem::take(&mut labels.text);
    frame.around(panel, &plot.text, "") + &labels
}

pub(super) fn draw_field(panel: &Panel, field: &Arrows, size: [f64; 2]) -> String {
    let frame = match &field.background {
        Some(background) => frame_of(panel, background, size, 0.0),
        None => {
            let of =
                |axis: &Axis, k: usize| Scale::new(axis, field.points.iter().map(|p| p[k]), 0.08);
            Frame::new(panel, size, of(&panel.x, 0), of(&panel.y, 1), 0.0)
        }
    };
    let mut plot = Svg::default();
    let mut colour = "currentColor";
    if let Some(background) = &field.background {
        let range = background
            .colours
            .range_of(background.values.iter().copied());
        draw_cells(background, &frame, range, &mut plot);
        // The density is pale in dark mode, too.
        colour = "#333333";
    }
    let arrows = arrows(field, &frame);
    if !arrows.is_empty() {
        plot.path(
            &arrows,
            &format!(
                "class=\"mark\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.1\" \
                 stroke-linecap=\"round\" {FIXED}"
            ),
        );
    }
    frame.around(panel, &plot.text, "")
}

/// The frame of a panel whose axes cover a heatmap, unless they say otherwise.
fn frame_of(panel: &Panel, heatmap: &Heatmap, size: [f64; 2], right: f64) -> Frame {
    let of = |axis: &Axis, ends: [f64; 2]| Scale::new(axis, ends.into_iter(), 0.0);
    let (x, y) = (of(&panel.x, heatmap.x), of(&panel.y, heatmap.y));
    Frame::new(panel, size, x, y, right)
}

/// One path per colour, in a coordinate system of cells.
fn draw_cells(heatmap: &Heatmap, frame: &Frame, range: [f64; 2], svg: &mut Svg) {
    let (nx, ny) = heatmap.values.dim();
    let (from, to) = (
        frame.at(heatmap.x[0], heatmap.y[1]),
        frame.at(heatmap.x[1], heatmap.y[0]),
    );
    if nx == 0 || ny == 0 || from.iter().chain(&to).any(|v| !v.is_finite()) {
        return;
    }
    let paths = coloured(nx, ny, |i, j| heatmap.values[[i, ny - 1 - j]], range);
    svg.rectangle(
        [0.0, 0.0],
        [frame.width, frame.height],
        "fill=\"currentColor\" fill-opacity=\".07\"",
    );
    let scale = [(to[0] - from[0]) / nx as f64, (to[1] - from[1]) / ny as f64];
    svg.raw(&format!(
        "<g shape-rendering=\"crispEdges\" transform=\"translate({} {}) scale({:.5} {:.5})\">",
        number(from[0]),
        number(from[1]),
        scale[0],
        scale[1]
    ));
    fill(&paths, heatmap.colours.palette, svg);
    svg.raw("</g>");
}

fn fill(paths: &[String], palette: Palette, svg: &mut Svg) {
    for (step, path) in paths.iter().enumerate().filter(|(_, p)| !p.is_empty()) {
        let fill = format!("class=\"mark\" fill=\"{}\"", colour::of_step(palette, step));
        svg.path(path, &fill);
    }
}

/// The cells of each colour as a path, adjacent ones of a row joined; row 0 is on top.
fn coloured(
    columns: usize,
    rows: usize,
    value: impl Fn(usize, usize) -> f64,
    range: [f64; 2],
) -> Vec<String> {
    let mut paths = vec![String::new(); STEPS];
    for j in 0..rows {
        let mut i = 0;
        while i < columns {
            let step = colour::step(value(i, j), range);
            let start = i;
            while i < columns && colour::step(value(i, j), range) == step {
                i += 1;
            }
            if let Some(step) = step {
                let run = i - start;
                paths[step].push_str(&format!("M{start} {j}h{run}v1h-{run}z"));
            }
        }
    }
    paths
}

/// All arrows as one path: shafts, then the two strokes of each head.
fn arrows(field: &Arrows, frame: &Frame) -> String {
    let place = |p: &[f64; 2]| frame.at(p[0], p[1]);
    let per_unit = [
        frame.width / (frame.x.high - frame.x.low),
        -frame.height / (frame.y.high - frame.y.low),
    ];
    let pairs = field.points.iter().zip(&field.vectors);
    let pairs: Vec<([f64; 2], [f64; 2])> = pairs
        .map(|(p, v)| (place(p), [v[0] * per_unit[0], v[1] * per_unit[1]]))
        .filter(|(p, v)| p.iter().chain(v).all(|c| c.is_finite()))
        .collect();
    let mut path = String::new();
    for ([x, y], [u, v]) in pairs {
        let (dx, dy) = (field.time * u, field.time * v);
        let length = dx.hypot(dy);
        if length < 0.3 {
            path.push_str(&format!("M{} {}h0", number(x), number(y)));
            continue;
        }
        let head = (0.35 * length).min(4.5) / length;
        let (ex, ey) = (x + dx, y + dy);
        let side = |turn: f64| {
            let (a, b) = (-dx * head, -dy * head);
            [ex + a - turn * b, ey + b + turn * a]
        };
        let ([ax, ay], [bx, by]) = (side(0.55), side(-0.55));
        let [x, y, ex, ey, ax, ay, bx, by] = [x, y, ex, ey, ax, ay, bx, by].map(number);
        path.push_str(&format!("M{x} {y}L{ex} {ey}M{ax} {ay}L{ex} {ey}L{bx} {by}"));
    }
    path
}

pub(super) fn draw_matrix(panel: &Panel, matrix: &LabelledMatrix, size: [f64; 2]) -> String {
    let (rows, columns) = matrix.values.dim();
    let range = matrix.colours.range_of(matrix.values.iter().copied());
    let widest = |names: &[String]| {
        names
            .iter()
            .map(|n| width(n))
            .fold(0.0, f64::max)
            .min(150.0)
    };
    let left = 10.0 + widest(&matrix.rows) + if panel.y.name.is_empty() { 0.0 } else { 16.0 };
    let wide = size[0] - left - bar_room(range) - 4.0;
    let cell_width = wide / columns.max(1) as f64;
    let upright = widest(&matrix.columns) + 6.0 > cell_width && widest(&matrix.columns) > 14.0;
    let below = if upright {
        widest(&matrix.columns) + 10.0
    } else {
        20.0
    };
    let below = below + if panel.x.name.is_empty() { 0.0 } else { 18.0 };
    let top = if panel.title.is_empty() { 10.0 } else { 28.0 };
    let high = size[1] - top - below;
    let cell = [cell_width, high / rows.max(1) as f64];
    let mut svg = Svg::default();
    heading(panel, &mut svg);
    let box_of = [left, top, wide, high].map(number).join(" ");
    svg.raw(&format!("<g class=\"frame\" data-box=\"{box_of}\">"));
    svg.raw(&format!(
        "<g shape-rendering=\"crispEdges\" transform=\"translate({} {}) scale({:.5} {:.5})\">",
        number(left),
        number(top),
        cell[0],
        cell[1]
    ));
    let paths = coloured(columns, rows, |i, j| matrix.values[[j, i]], range);
    fill(&paths, matrix.colours.palette, &mut svg);
    svg.raw("</g>");
    svg.rectangle(
        [left, top],
        [wide, high],
        "fill=\"none\" stroke=\"currentColor\" stroke-opacity=\".45\"",
    );
    svg.raw("</g>");
    write_values(matrix, [left, top], cell, range, &mut svg);
    write_names(matrix, [left, top, high], cell, upright, &mut svg);
    if !panel.x.name.is_empty() {
        let at = [left + 0.5 * wide, size[1] - 5.0];
        svg.label(at, Anchor::Middle, "", &panel.x.name);
    }
    if !panel.y.name.is_empty() {
        svg.upward([12.0, top + 0.5 * high], Anchor::Middle, &panel.y.name);
    }
    colour_bar(
        &mut svg,
        range,
        matrix.colours.palette,
        [left + wide, top, high],
    );
    svg.text
}

/// Names of rows and columns, as many as there is room for.
fn write_names(
    matrix: &LabelledMatrix,
    [left, top, high]: [f64; 3],
    cell: [f64; 2],
    upright: bool,
    svg: &mut Svg,
) {
    let every = |step: f64, least: f64| ((least / step).ceil() as usize).max(1);
    for (r, name) in matrix.rows.iter().enumerate().step_by(every(cell[1], 13.0)) {
        let y = top + (r as f64 + 0.5) * cell[1] + 4.0;
        svg.label([left - 5.0, y], Anchor::End, "", name);
    }
    for (c, name) in matrix
        .columns
        .iter()
        .enumerate()
        .step_by(every(cell[0], 13.0))
    {
        let x = left + (c as f64 + 0.5) * cell[0];
        if upright {
            svg.upward([x + 4.0, top + high + 6.0], Anchor::End, name);
        } else {
            svg.label([x, top + high + 15.0], Anchor::Middle, "", name);
        }
    }
}

/// The numbers in the cells, where they have room.
fn write_values(
    matrix: &LabelledMatrix,
    corner: [f64; 2],
    cell: [f64; 2],
    range: [f64; 2],
    svg: &mut Svg,
) {
    if cell[0] < ROOM[0] || cell[1] < ROOM[1] {
        return;
    }
    for ((r, c), value) in matrix.values.indexed_iter() {
        let Some(step) = colour::step(*value, range) else {
            continue;
        };
        let dark = colour::is_dark(&colour::of_step(matrix.colours.palette, step));
        let fill = if dark {
            "fill=\"#ffffff\""
        } else {
            "fill=\"#222222\""
        };
        let at = [
            corner[0] + (c as f64 + 0.5) * cell[0],
            corner[1] + (r as f64 + 0.5) * cell[1] + 4.0,
        ];
        let text = format!("{value:.3}").replace('-', "−");
        svg.label(at, Anchor::Middle, fill, &text);
    }
}
