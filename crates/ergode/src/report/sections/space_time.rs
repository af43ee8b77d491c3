//! A lattice in space and time.

use ndarray::{Array2, s};
use serde::{Deserialize, Serialize};

use crate::data::Ensemble;
use crate::error::{Error, Result};
use crate::report::gaps;
use crate::report::{Colours, Figure, Heatmap, Palette, Panel};

/// Panels in a row.
const COLUMNS: usize = 2;

/// The first states of several records of a ring, data beside models.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SpaceTime {
    /// Which component of a site is drawn.
    pub component: usize,
    /// Components of a site.
    pub components: usize,
    /// The records.
    pub windows: Vec<SpaceTimeWindow>,
}

/// The first states of one record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SpaceTimeWindow {
    /// Name of the record.
    pub name: String,
    /// First and last time.
    pub times: [f64; 2],
    /// The states, (time, coordinate).
    #[serde(with = "gaps::matrix")]
    pub states: Array2<f64>,
}

impl SpaceTime {
    /// The first `rows` states of the first trajectory of every record, or as many as the shortest has.
    ///
    /// # Errors
    /// When a record does not have whole sites of `components`, or has no two states.
    pub fn new(
        records: &[(&str, &Ensemble)],
        component: usize,
        components: usize,
        rows: usize,
    ) -> Result<Self> {
        let mut trajectories = Vec::new();
        for (who, data) in records {
            let whole = components > 0 && data.dim().is_multiple_of(components);
            let trajectory = data.trajectories().first().filter(|t| t.len() > 1);
            let (true, Some(trajectory)) = (whole && component < components, trajectory) else {
                return Err(Error::input(format!(
                    "{who}: {} coordinates are not sites of {components} components with number \
                     {component}",
                    data.dim()
                )));
            };
            trajectories.push(trajectory);
        }
        let shortest = trajectories.iter().map(|t| t.len()).min().unwrap_or(2);
        let rows = rows.clamp(2, shortest);
        let windows = records.iter().zip(trajectories).map(|((who, data), t)| {
            let mut states = vec![0.0; rows * data.dim()];
            t.copy_rows(0..rows, &mut states);
            let states =
                Array2::from_shape_vec((rows, data.dim()), states).expect("(time, coordinate)");
            SpaceTimeWindow {
                name: (*who).to_owned(),
                times: [t.time(0), t.time(rows - 1)],
                states,
            }
        });
        Ok(Self {
            component,
            components,
            windows: windows.collect(),
        })
    }
}

/// One component of a ring in space and time, one panel per record: data beside model.
pub fn hovmoeller_figure(patterns: &SpaceTime) -> Figure {
    let windows: Vec<_> = patterns
        .windows
        .iter()
        .map(|window| (window.name.as_str(), window.times, window.states.clone()))
        .collect();
    let name = format!("Component {}", patterns.component + 1);
    space_time_figure(&windows, patterns.component, patterns.components, &name)
}

/// A component of states (time, coordinate) that begin and end at these times, in common colours.
pub(super) fn space_time_figure(
    windows: &[(&str, [f64; 2], Array2<f64>)],
    component: usize,
    components: usize,
    name: &str,
) -> Figure {
    let of = |states: &Array2<f64>| states.slice(s![.., component..;components]).to_owned();
    let maps: Vec<Array2<f64>> = windows.iter().map(|(.., states)| of(states)).collect();
    let colours = Colours::common(Palette::Diverging, &maps);
    let panels = windows.iter().zip(maps).map(|((who, x, _), values)| {
        let y = [0.5, values.ncols() as f64 + 0.5];
        let x = *x;
        let map = Heatmap {
            x,
            y,
            values,
            colours,
        };
        Panel::new("time", "site", map).titled(*who)
    });
    Figure::grid(
        &format!("hovmoeller-{component}"),
        &format!("{name} in space and time"),
        "A good model gives patterns of the same size, duration and speed as the data. The patterns \
         themselves differ.",
        windows.len().min(COLUMNS),
        panels.collect(),
    )
}
