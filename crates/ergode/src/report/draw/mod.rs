//! Figures as SVG: every number is placed here, once, for pages, files and print.
//!
//! Looks are attributes rather than styles, so that a file is drawn alike by every program; a page
//! overrides the colours where it is dark.

mod axis;
mod bars;
mod cells;
mod colour;
mod frame;
mod legend;
mod lines;
mod svg;

use super::figure::{Figure, Panel, PanelContent};
pub(super) use legend::{Key, Legend};
pub(super) use svg::escaped;
use svg::{Anchor, Svg, number, width};

/// Font of every label.
const FONT: &str = "font-family=\"system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', \
                    sans-serif\" font-size=\"12\"";

impl Figure {
    /// Width and height of each panel.
    fn panel_size(&self) -> [f64; 2] {
        let map = |panel: &Panel| {
            matches!(
                panel.content,
                PanelContent::Arrows(_) | PanelContent::Heatmap(_)
            )
        };
        let matrix = |panel: &Panel| matches!(panel.content, PanelContent::LabelledMatrix(_));
        let wide = match self.columns.min(self.panels.len()) {
            0 | 1 => 480.0,
            2 => 400.0,
            _ => 330.0,
        };
        let high = if self.panels.iter().any(matrix) {
            0.8 * wide
        } else if self.panels.iter().any(map) {
            0.76 * wide
        } else {
            0.62 * wide
        };
        let labels = self.panels.iter().map(|panel| match &panel.content {
            PanelContent::Bars(bars) => bars::label_room(bars, wide) - 24.0,
            _ => 0.0,
        });
        [wide, high + labels.fold(0.0, f64::max)]
    }

    /// The figure as a separate file, on white, with title and legend.
    pub fn svg(&self) -> String {
        let [wide, high] = self.panel_size();
        let columns = self.columns.clamp(1, self.panels.len().max(1));
        let rows = self.panels.len().div_ceil(columns);
        let legend = Legend::of(self);
        let total = columns as f64 * wide;
        let (key_rows, keys) = legend_rows(&legend, total);
        let head = 30.0 + 20.0 * key_rows as f64;
        let size = [total, head + rows as f64 * high].map(number);
        let mut svg = Svg::default();
        svg.raw(&format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" \
             viewBox=\"0 0 {0} {1}\" color=\"#222222\" fill=\"currentColor\" {FONT} role=\"img\">\
             <title>{2}</title><desc>{3}</desc><rect width=\"{0}\" height=\"{1}\" \
             fill=\"#ffffff\"/>",
            size[0],
            size[1],
            escaped(&self.title),
            escaped(&self.caption)
        ));
        let bold = "font-weight=\"600\" font-size=\"14\"";
        svg.label([8.0, 20.0], Anchor::Start, bold, &self.title);
        svg.raw(&keys);
        for (k, panel) in self.panels.iter().enumerate() {
            let x = number((k % columns) as f64 * wide);
            let y = number(head + (k / columns) as f64 * high);
            let body = draw_panel(panel, [wide, high], &legend);
            svg.raw(&format!("<g transform=\"translate({x} {y})\">{body}</g>"));
        }
        svg.raw("</svg>\n");
        svg.text
    }

    /// The panels, each a drawing that a page may place as it likes.
    pub(super) fn page_panels(&self, legend: &Legend) -> Vec<String> {
        let size = self.panel_size();
        let [wide, high] = size.map(number);
        let draw = |(k, panel): (usize, &Panel)| {
            let name = match panel.title.as_str() {
                "" => self.title.clone(),
                title => format!("{}: {title}", self.title),
            };
            format!(
                "<svg class=\"panel\" data-panel=\"{k}\" viewBox=\"0 0 {wide} {high}\" \
                 fill=\"currentColor\" {FONT} role=\"img\" tabindex=\"0\" aria-label=\"{}\">{}</svg>",
                escaped(&name),
                draw_panel(panel, size, legend)
            )
        };
        self.panels.iter().enumerate().map(draw).collect()
    }
}

/// One panel from (0, 0) to its size.
fn draw_panel(panel: &Panel, size: [f64; 2], legend: &Legend) -> String {
    match &panel.content {
        PanelContent::Lines(content) => lines::draw(panel, content, size, legend),
        PanelContent::Heatmap(content) => cells::draw_heatmap(panel, content, size),
        PanelContent::Arrows(content) => cells::draw_field(panel, content, size),
        PanelContent::LabelledMatrix(content) => cells::draw_matrix(panel, content, size),
        PanelContent::Bars(content) => bars::draw(panel, content, size, legend),
    }
}

/// A sample of a series: its colour and dashes.
pub(super) fn swatch(key: &Key) -> String {
    let dashes = match key.dashes {
        "" => String::new(),
        dashes => format!(" stroke-dasharray=\"{dashes}\""),
    };
    format!(
        "<path d=\"M1 6h22\" stroke=\"currentColor\" stroke-width=\"3\" fill=\"none\"{dashes}/>"
    )
}

/// The legend of a file: its number of rows and its markup.
fn legend_rows(legend: &Legend, total: f64) -> (usize, String) {
    let mut svg = Svg::default();
    let (mut x, mut row) = (8.0, 0);
    for key in &legend.keys {
        let wide = 46.0 + width(&key.name);
        if x + wide > total && x > 8.0 {
            (x, row) = (8.0, row + 1);
        }
        let y = 30.0 + 20.0 * row as f64;
        svg.raw(&format!(
            "<g transform=\"translate({} {})\" color=\"{}\">{}</g>",
            number(x),
            number(y),
            key.colour,
            swatch(key)
        ));
        svg.label([x + 30.0, y + 10.0], Anchor::Start, "", &key.name);
        x += wide;
    }
    let rows = if legend.keys.is_empty() { 0 } else { row + 1 };
    (rows, svg.text)
}
