//! The axes of a panel.

use super::axis::{Scale, Ticks};
use super::svg::{Anchor, Svg, number, width};
use crate::report::figure::Panel;

/// Width of a colour bar without its labels.
const BAR: f64 = 10.0;

/// Where the axes of a panel stand, and what they cover.
pub(super) struct Frame {
    pub(super) left: f64,
    pub(super) top: f64,
    pub(super) width: f64,
    pub(super) height: f64,
    pub(super) x: Scale,
    pub(super) y: Scale,
    x_ticks: Ticks,
    y_ticks: Ticks,
}

impl Frame {
    /// The largest frame with room for its labels in a panel of `size`, and `right` units for what
    /// stands beside it.
    pub(super) fn new(panel: &Panel, size: [f64; 2], x: Scale, y: Scale, right: f64) -> Self {
        let bare = panel.title.is_empty() && !panel.y.name.is_empty();
        let top = if bare { 10.0 } else { 28.0 };
        let below = if panel.x.name.is_empty() { 24.0 } else { 42.0 };
        let height = size[1] - top - below;
        let y_ticks = y.ticks((height / 42.0) as usize);
        let labels = y_ticks.labels.iter().map(|label| width(label));
        let name = if panel.y.name.is_empty() { 4.0 } else { 20.0 };
        let left = name + labels.fold(0.0, f64::max) + 8.0;
        let width = size[0] - left - right.max(14.0);
        let x_ticks = x.ticks((width / 62.0) as usize);
        Self {
            left,
            top,
            width,
            height,
            x,
            y,
            x_ticks,
            y_ticks,
        }
    }

    /// The same without numbers on the horizontal axis.
    pub(super) fn without_x_ticks(mut self) -> Self {
        self.x_ticks.at.clear();
        self
    }

    /// Frame coordinates of a point, from the upper left corner of the frame.
    pub(super) fn at(&self, x: f64, y: f64) -> [f64; 2] {
        [
            self.width * self.x.fraction(x),
            self.height * (1.0 - self.y.fraction(y)),
        ]
    }

    /// The panel around `plot`, which is drawn in frame coordinates and cut off at the frame.
    pub(super) fn around(&self, panel: &Panel, plot: &str, labels: &str) -> String {
        let mut svg = Svg::default();
        let of = |scale: &Scale| {
            let kind = if scale.log { "log" } else { "linear" };
            format!("{:e} {:e} {kind}", scale.low, scale.high)
        };
        let [left, top, wide, high] = [self.left, self.top, self.width, self.height].map(number);
        svg.raw(&format!(
            "<g class=\"frame\" data-box=\"{left} {top} {wide} {high}\" data-x=\"{}\" \
             data-y=\"{}\">",
            of(&self.x),
            of(&self.y)
        ));
        self.ticks(&mut svg);
        svg.raw(&format!(
            "<svg class=\"plot\" x=\"{left}\" y=\"{top}\" width=\"{wide}\" height=\"{high}\" \
             viewBox=\"0 0 {wide} {high}\" preserveAspectRatio=\"none\" overflow=\"hidden\">{plot}\
             </svg>"
        ));
        self.border(&mut svg);
        svg.raw(&format!("<g class=\"labels\">{labels}</g></g>"));
        self.names(panel, &mut svg);
        svg.text
    }

    fn border(&self, svg: &mut Svg) {
        svg.rectangle(
            [self.left, self.top],
            [self.width, self.height],
            "fill=\"none\" stroke=\"currentColor\" stroke-opacity=\".45\"",
        );
    }

    fn ticks(&self, svg: &mut Svg) {
        const GRID: &str = "stroke=\"currentColor\" stroke-opacity=\".12\"";
        let (right, bottom) = (self.left + self.width, self.top + self.height);
        svg.raw("<g class=\"ticks-x\">");
        for (at, label) in self.x_ticks.at.iter().zip(&self.x_ticks.labels) {
            let x = self.left + self.at(*at, self.y.low)[0];
            svg.line([x, self.top], [x, bottom], GRID);
            svg.label([x, bottom + 15.0], Anchor::Middle, "", label);
        }
        svg.raw("</g><g class=\"ticks-y\">");
        for (at, label) in self.y_ticks.at.iter().zip(&self.y_ticks.labels) {
            let y = self.top + self.at(self.x.low, *at)[1];
            svg.line([self.left, y], [right, y], GRID);
            svg.label([self.left - 6.0, y + 4.0], Anchor::End, "", label);
        }
        svg.raw("</g>");
    }

    /// Heading and names of the axes.
    fn names(&self, panel: &Panel, svg: &mut Svg) {
        let (middle, bottom) = (self.left + 0.5 * self.width, self.top + self.height);
        heading(panel, svg);
        if !panel.x.name.is_empty() {
            let name = format!("{}{}", panel.x.name, self.x_ticks.factor);
            svg.label([middle, bottom + 33.0], Anchor::Middle, "", &name);
        }
        if !panel.y.name.is_empty() {
            let name = format!("{}{}", panel.y.name, self.y_ticks.factor);
            svg.upward([13.0, self.top + 0.5 * self.height], Anchor::Middle, &name);
        } else if !self.y_ticks.factor.is_empty() {
            let at = [self.left + self.width, self.top - 5.0];
            svg.label(at, Anchor::End, "", self.y_ticks.factor.trim());
        }
    }
}

/// The heading of a panel.
pub(super) fn heading(panel: &Panel, svg: &mut Svg) {
    if !panel.title.is_empty() {
        svg.label(
            [4.0, 17.0],
            Anchor::Start,
            "font-weight=\"600\"",
            &panel.title,
        );
    }
}

/// The units that a colour bar of a range needs.
pub(super) fn bar_room(range: [f64; 2]) -> f64 {
    let labels = bar_ticks(range, 200.0).labels;
    let widest = labels.iter().map(|label| width(label)).fold(0.0, f64::max);
    8.0 + BAR + 5.0 + widest + 4.0
}

fn bar_ticks(range: [f64; 2], height: f64) -> Ticks {
    let scale = Scale {
        low: range[0],
        high: range[1],
        log: false,
    };
    scale.ticks((height / 40.0) as usize)
}

/// A colour bar beside a box, its numbers and their factor.
pub(super) fn colour_bar(
    svg: &mut Svg,
    range: [f64; 2],
    palette: crate::report::figure::Palette,
    [x, y, height]: [f64; 3],
) {
    use super::colour::{STEPS, of_step};
    let x = x + 8.0;
    svg.raw("<g class=\"bar\" shape-rendering=\"crispEdges\">");
    let slice = height / STEPS as f64;
    for step in 0..STEPS {
        let top = y + height - (step + 1) as f64 * slice;
        let fill = format!("fill=\"{}\"", of_step(palette, step));
        // Slices overlap so that no seam shows.
        svg.rectangle([x, top], [BAR, slice + 0.5], &fill);
    }
    svg.raw("</g>");
    let ticks = bar_ticks(range, height);
    for (at, label) in ticks.at.iter().zip(&ticks.labels) {
        let place = y + height * (1.0 - (at - range[0]) / (range[1] - range[0]));
        svg.label([x + BAR + 5.0, place + 4.0], Anchor::Start, "", label);
    }
    if !ticks.factor.is_empty() {
        // Below the bar, ending where its labels end.
        let right = x - 8.0 + bar_room(range);
        let at = [right, y + height + 15.0];
        svg.label(at, Anchor::End, "", ticks.factor.trim());
    }
}
