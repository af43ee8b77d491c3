//! The errors against the sampling interval as a drawing, on logarithmic axes.

use std::fmt::Write;

use super::{CORRECTED, EXTRAPOLATED, Figure, HORIZON, LADDER, PLAIN, SEMIGROUP, WEAK};

/// Method, colour (told apart by colour-blind readers), dashes, marker.
const SERIES: [(&str, &str, &str, Marker); 6] = [
    (SEMIGROUP, "#0072b2", "", Marker::Disc),
    (LADDER, "#56b4e9", "5 3", Marker::Ring),
    (WEAK, "#009e73", "", Marker::Square),
    (PLAIN, "#d55e00", "", Marker::Disc),
    (CORRECTED, "#e69f00", "5 3", Marker::Ring),
    (EXTRAPOLATED, "#cc79a7", "", Marker::Square),
];

#[derive(Clone, Copy)]
enum Marker {
    Disc,
    Ring,
    Square,
}

impl Marker {
    fn draw(self, x: f64, y: f64, colour: &str) -> String {
        match self {
            Marker::Disc => format!("<circle cx='{x:.1}' cy='{y:.1}' r='4' fill='{colour}'/>"),
            Marker::Ring => format!(
                "<circle cx='{x:.1}' cy='{y:.1}' r='4' fill='white' stroke='{colour}' stroke-width='2'/>"
            ),
            Marker::Square => format!(
                "<rect x='{:.1}' y='{:.1}' width='8' height='8' fill='{colour}'/>",
                x - 4.0,
                y - 4.0
            ),
        }
    }
}

const WIDTH: f64 = 860.0;
const HEIGHT: f64 = 470.0;
const INTERVALS: (f64, f64) = (0.008, 1.7);
const ERRORS: (f64, f64) = (0.001, 1.0);

/// A pair of logarithmic axes on the page.
struct Panel {
    left: f64,
    title: &'static str,
    error: fn(&Figure) -> Option<f64>,
}

impl Panel {
    const TOP: f64 = 44.0;
    const WIDTH: f64 = 340.0;
    const HEIGHT: f64 = 300.0;

    fn x(&self, interval: f64) -> f64 {
        self.left + Self::WIDTH * fraction(interval, INTERVALS)
    }

    fn y(&self, error: f64) -> f64 {
        Self::TOP + Self::HEIGHT * (1.0 - fraction(error, ERRORS))
    }

    fn draw(&self, figures: &[Figure], out: &mut String) {
        self.draw_axes(out);
        for (method, colour, dashes, marker) in SERIES {
            let of_method = figures.iter().filter(|figure| figure.method == method);
            let points: Vec<(f64, f64)> = of_method
                .filter_map(|f| Some((self.x(f.interval), self.y((self.error)(f)?))))
                .collect();
            let line: Vec<String> = points
                .iter()
                .map(|(x, y)| format!("{x:.1},{y:.1}"))
                .collect();
            let _ = writeln!(
                out,
                "<polyline points='{}' fill='none' stroke='{colour}' stroke-width='2' \
                 stroke-dasharray='{dashes}'/>",
                line.join(" ")
            );
            for (x, y) in points {
                let _ = writeln!(out, "{}", marker.draw(x, y, colour));
            }
        }
    }

    fn draw_axes(&self, out: &mut String) {
        let (left, right) = (self.left, self.left + Self::WIDTH);
        let (top, bottom) = (Self::TOP, Self::TOP + Self::HEIGHT);
        let line = |x1: f64, y1: f64, x2: f64, y2: f64, style: &str| {
            format!("<line x1='{x1:.1}' y1='{y1:.1}' x2='{x2:.1}' y2='{y2:.1}' {style}/>\n")
        };
        let text = |x: f64, y: f64, anchor: &str, text: &str| {
            format!("<text x='{x:.1}' y='{y:.1}' text-anchor='{anchor}'>{text}</text>\n")
        };
        for error in [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0] {
            let y = self.y(error);
            *out += &line(left, y, right, y, "stroke='#e3e3e3'");
            *out += &text(left - 7.0, y + 4.0, "end", &format!("{} %", 100.0 * error));
        }
        for interval in [0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.8] {
            let x = self.x(interval);
            *out += &line(x, top, x, bottom, "stroke='#e3e3e3'");
            *out += &text(x, bottom + 18.0, "middle", &interval.to_string());
        }
        let x = self.x(HORIZON);
        *out += &line(x, top, x, bottom, "stroke='#777' stroke-dasharray='2 3'");
        *out += &format!(
            "<text transform='translate({:.1} {:.1}) rotate(-90)' fill='#555'>decorrelation time \
             {HORIZON}</text>\n",
            x - 5.0,
            bottom - 8.0
        );
        *out += &format!(
            "<rect x='{left}' y='{top}' width='{}' height='{}' fill='none' stroke='#444'/>\n",
            Self::WIDTH,
            Self::HEIGHT
        );
        let middle = left + 0.5 * Self::WIDTH;
        *out += &text(middle, top - 14.0, "middle", self.title);
        *out += &text(middle, bottom + 38.0, "middle", "sampling interval");
    }
}

/// Where a value stands on a logarithmic axis.
fn fraction(value: f64, (low, high): (f64, f64)) -> f64 {
    (value / low).ln() / (high / low).ln()
}

/// The drawing, with a white page of its own so that it reads on dark ones.
pub(super) fn draw(figures: &[Figure]) -> String {
    let mut out = format!(
        "<svg xmlns='http://www.w3.org/2000/svg' width='{WIDTH}' height='{HEIGHT}' \
         viewBox='0 0 {WIDTH} {HEIGHT}' font-family='sans-serif' font-size='12' fill='#222'>\n\
         <rect width='{WIDTH}' height='{HEIGHT}' rx='6' fill='white'/>\n"
    );
    let panels = [
        Panel {
            left: 64.0,
            title: "relative error of the diffusion D",
            error: |figure| Some(figure.errors.0),
        },
        Panel {
            left: 490.0,
            title: "relative error of the current R",
            error: |figure| figure.errors.1,
        },
    ];
    for panel in &panels {
        panel.draw(figures, &mut out);
    }
    for (k, (method, colour, dashes, marker)) in SERIES.into_iter().enumerate() {
        let (x, y) = (64.0 + 270.0 * (k % 3) as f64, 412.0 + 26.0 * (k / 3) as f64);
        let _ = writeln!(
            out,
            "<line x1='{x}' y1='{y}' x2='{}' y2='{y}' stroke='{colour}' stroke-width='2' \
             stroke-dasharray='{dashes}'/>{}<text x='{}' y='{}'>{method}</text>",
            x + 36.0,
            marker.draw(x + 18.0, y, colour),
            x + 44.0,
            y + 4.0
        );
    }
    out + "</svg>\n"
}
