//! Figures as plain data; [`draw`](super::draw) turns them into SVG.

use ndarray::Array2;
use serde::{Deserialize, Serialize};

use super::gaps;

/// A drawing: one panel, or several beside and below each other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// Name of the file and anchor in a page; characters other than letters, digits and hyphens
    /// become hyphens.
    pub name: String,
    /// Title.
    pub title: String,
    /// Caption: what the figure shows and how to read it.
    pub caption: String,
    /// Largest number of panels in a row.
    pub columns: usize,
    /// The panels, row by row.
    pub panels: Vec<Panel>,
}

/// One pair of axes with its content.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Panel {
    /// Heading; may be empty.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// What is drawn.
    pub content: PanelContent,
}

/// An axis: its name, and the numbers that it covers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Axis {
    /// Name, with the unit if any.
    pub name: String,
    /// Logarithmic; values that are not positive are left out.
    pub log: bool,
    /// First and last number; by default those of the data.
    pub range: Option<[f64; 2]>,
}

/// The kinds of drawing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum PanelContent {
    /// Curves and points.
    Lines(Lines),
    /// A function of two variables as colours.
    Heatmap(Heatmap),
    /// A vector field as arrows.
    Arrows(Arrows),
    /// A matrix with named rows and columns as colours.
    LabelledMatrix(LabelledMatrix),
    /// Bars side by side.
    Bars(Bars),
}

/// Meaning of a series; each role looks the same in every figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Measured.
    Data,
    /// The fitted equation.
    Model,
    /// The equation with a constant mobility.
    Constant,
    /// The exact answer of a reference system.
    Exact,
    /// Anything else; such series take turns with the remaining colours.
    Other,
}

/// How a series of points is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SeriesStyle {
    /// A curve, its error a band.
    #[default]
    Line,
    /// Dots with error bars.
    Points,
    /// Dots with error bars, joined by a curve.
    LineAndPoints,
}

/// Series of points, and marks at single numbers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lines {
    /// The series.
    pub series: Vec<Series>,
    /// Lines across the panel.
    pub marks: Vec<Mark>,
}

/// One curve.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Series {
    /// Name in the legend.
    pub name: String,
    /// What it stands for.
    pub role: Role,
    /// How it is drawn.
    pub style: SeriesStyle,
    /// Abscissae.
    #[serde(with = "gaps::list")]
    pub x: Vec<f64>,
    /// Ordinates; a curve is broken where one is not a number.
    #[serde(with = "gaps::list")]
    pub y: Vec<f64>,
    /// Standard errors of the ordinates, drawn twice as long; may be empty.
    #[serde(with = "gaps::list")]
    pub error: Vec<f64>,
}

/// A dashed line across a panel, with a label.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mark {
    /// Across which axis.
    pub across: Across,
    /// Where on it.
    pub at: f64,
    /// What it marks.
    pub label: String,
}

/// The axis that a mark crosses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Across {
    /// A vertical line at a number of the horizontal axis.
    X,
    /// A horizontal line at a number of the vertical axis.
    Y,
}

/// From numbers to colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Colours {
    /// The colours.
    pub palette: Palette,
    /// The numbers of the first and last colour; by default those of the data. Give the same
    /// to panels that are compared.
    pub range: Option<[f64; 2]>,
}

/// Colours that colour-blind readers can distinguish.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Palette {
    /// Blue below zero, white at zero, red above: the range is symmetric about zero.
    #[default]
    Diverging,
    /// Dark to bright.
    Sequential,
    /// White to blue, pale enough for arrows on top.
    Density,
}

/// A function on a rectangle cut into equal cells.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Heatmap {
    /// Left and right edge.
    pub x: [f64; 2],
    /// Lower and upper edge.
    pub y: [f64; 2],
    /// Values, (cell along x, cell along y); not a number where nothing is known.
    #[serde(with = "gaps::matrix")]
    pub values: Array2<f64>,
    /// What the colours mean.
    pub colours: Colours,
}

/// Arrows, each from a point to where the flow takes it in a time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Arrows {
    /// Where the arrows start, on a grid.
    #[serde(with = "gaps::pairs")]
    pub points: Vec<[f64; 2]>,
    /// Velocities there.
    #[serde(with = "gaps::pairs")]
    pub vectors: Vec<[f64; 2]>,
    /// That time; the same for fields that are compared.
    pub time: f64,
    /// Drawn below the arrows.
    pub background: Option<Heatmap>,
}

/// A matrix with names.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LabelledMatrix {
    /// Names of the rows, from the top.
    pub rows: Vec<String>,
    /// Names of the columns.
    pub columns: Vec<String>,
    /// Values, (row, column).
    #[serde(with = "gaps::matrix")]
    pub values: Array2<f64>,
    /// Their standard errors, if any.
    pub errors: Option<Array2<f64>>,
    /// What the colours mean.
    pub colours: Colours,
}

/// Groups of bars, one group per label.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bars {
    /// One label per group.
    pub labels: Vec<String>,
    /// The bars of every group, in this order.
    pub series: Vec<BarSeries>,
}

/// One bar in every group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BarSeries {
    /// Name in the legend.
    pub name: String,
    /// What it stands for.
    pub role: Role,
    /// Heights, one per label.
    #[serde(with = "gaps::list")]
    pub values: Vec<f64>,
    /// Standard errors, drawn twice as long; may be empty.
    #[serde(with = "gaps::list")]
    pub error: Vec<f64>,
}

impl Figure {
    /// A figure of one panel without a heading.
    pub fn single(name: &str, title: &str, caption: &str, panel: Panel) -> Self {
        Self::grid(name, title, caption, 1, vec![panel])
    }

    /// A figure of several panels, `columns` in a row.
    pub fn grid(
        name: &str,
        title: &str,
        caption: &str,
        columns: usize,
        panels: Vec<Panel>,
    ) -> Self {
        Self {
            name: name.into(),
            title: title.into(),
            caption: caption.into(),
            columns,
            panels,
        }
    }
}

impl Panel {
    /// `content` between the axes `x` and `y`, without a heading.
    pub fn new(x: impl Into<Axis>, y: impl Into<Axis>, content: impl Into<PanelContent>) -> Self {
        Self {
            title: String::new(),
            x: x.into(),
            y: y.into(),
            content: content.into(),
        }
    }

    /// The same under a heading.
    pub fn titled(mut self, title: impl Into<String>) -> Self {
        self.title = title.into();
        self
    }
}

impl Axis {
    /// A logarithmic axis.
    pub fn log(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            log: true,
            range: None,
        }
    }

    /// The same from `low` to `high`.
    pub fn within(mut self, low: f64, high: f64) -> Self {
        self.range = Some([low, high]);
        self
    }
}

impl From<&str> for Axis {
    fn from(name: &str) -> Self {
        Self::from(name.to_owned())
    }
}

impl From<String> for Axis {
    fn from(name: String) -> Self {
        Self {
            name,
            ..Self::default()
        }
    }
}

impl Lines {
    /// Series without marks.
    pub fn new(series: Vec<Series>) -> Self {
        Self {
            series,
            marks: Vec::new(),
        }
    }

    /// The same with a vertical line at `at`.
    pub fn mark_x(mut self, at: f64, label: impl Into<String>) -> Self {
        self.marks.push(Mark {
            across: Across::X,
            at,
            label: label.into(),
        });
        self
    }

    /// The same with a horizontal line at `at`.
    pub fn mark_y(mut self, at: f64, label: impl Into<String>) -> Self {
        self.marks.push(Mark {
            across: Across::Y,
            at,
            label: label.into(),
        });
        self
    }
}

impl Series {
    /// A curve called by its role.
    pub fn new(role: Role, x: impl Into<Vec<f64>>, y: impl Into<Vec<f64>>) -> Self {
        Self {
            name: role.name().into(),
            role,
            style: SeriesStyle::Line,
            x: x.into(),
            y: y.into(),
            error: Vec::new(),
        }
    }

    /// The same with another name.
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// The same with standard errors.
    pub fn with_error(mut self, error: impl Into<Vec<f64>>) -> Self {
        self.error = error.into();
        self
    }

    /// The same drawn in another way.
    pub fn styled(mut self, style: SeriesStyle) -> Self {
        self.style = style;
        self
    }
}

impl Role {
    /// What it is called in legends.
    pub fn name(self) -> &'static str {
        match self {
            Role::Data => "data",
            Role::Model => "model",
            Role::Constant => "constant mobility",
            Role::Exact => "exact",
            Role::Other => "other",
        }
    }
}

impl Colours {
    /// The range of the data.
    pub fn new(palette: Palette) -> Self {
        Self {
            palette,
            range: None,
        }
    }

    /// One range for several arrays, from all of their numbers.
    pub fn common<'a>(palette: Palette, arrays: impl IntoIterator<Item = &'a Array2<f64>>) -> Self {
        let values = arrays.into_iter().flatten().copied();
        let colours = Self::new(palette);
        Self {
            range: Some(colours.range_of(values)),
            ..colours
        }
    }

    /// The given range, or that of `values`, never empty.
    pub(super) fn range_of(&self, values: impl Iterator<Item = f64>) -> [f64; 2] {
        let start = (f64::INFINITY, f64::NEG_INFINITY);
        let found = values
            .filter(|v| v.is_finite())
            .fold(start, |(low, high), v| (low.min(v), high.max(v)));
        let [low, high] = self.range.unwrap_or([found.0, found.1]);
        let (low, high) = match self.palette {
            Palette::Diverging => {
                let most = low.abs().max(high.abs());
                (-most, most)
            }
            Palette::Sequential => (low, high),
            Palette::Density => (0.0, high),
        };
        if low.is_finite() && high.is_finite() && low < high {
            [low, high]
        } else if low.is_finite() && low == high {
            [low - 0.5, low + 0.5]
        } else {
            [0.0, 1.0]
        }
    }
}

impl Arrows {
    /// The time in which nine tenths of the velocities lead no further than the next grid point.
    pub fn usual_time(vectors: &[[f64; 2]], spacing: [f64; 2]) -> f64 {
        let steps = |v: &[f64; 2]| (v[0] / spacing[0]).hypot(v[1] / spacing[1]);
        let mut speeds: Vec<f64> = vectors
            .iter()
            .map(steps)
            .filter(|s| s.is_finite())
            .collect();
        speeds.sort_by(f64::total_cmp);
        match speeds.get(speeds.len() * 9 / 10) {
            Some(usual) if *usual > 0.0 => 1.0 / usual,
            _ => 1.0,
        }
    }
}

impl Heatmap {
    /// The centre of a cell.
    pub fn centre(&self, i: usize, j: usize) -> [f64; 2] {
        let (nx, ny) = self.values.dim();
        let along = |[low, high]: [f64; 2], k: usize, n: usize| {
            low + (high - low) * (k as f64 + 0.5) / n as f64
        };
        [along(self.x, i, nx), along(self.y, j, ny)]
    }
}

macro_rules! contents {
    ($($kind:ident),*) => {
        $(impl From<$kind> for PanelContent {
            fn from(content: $kind) -> Self {
                PanelContent::$kind(content)
            }
        })*
    };
}
contents!(Lines, Heatmap, Arrows, LabelledMatrix, Bars);
