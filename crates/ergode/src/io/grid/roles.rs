//! Which arrays of a file hold values, times and names.

use std::path::Path;

use super::{Content, Grid, Variable};
use crate::error::{Error, Result};
use crate::io::array::tuple;
use crate::io::options::ReadOptions;
use crate::io::table::{is_time, is_trajectory};

/// The positions of trajectory, time and coordinate among the axes of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Axes {
    pub(crate) trajectory: Option<usize>,
    pub(crate) time: usize,
    pub(crate) coordinate: Option<usize>,
}

impl Axes {
    /// From the names of the axes if they are known, else (time,), (time, dimension) or (trajectory, time,
    /// dimension).
    fn of(variable: &Variable, time_axis: Option<&str>) -> Option<Self> {
        let named_time = |name: &String| is_time_axis(name) || Some(name.as_str()) == time_axis;
        let time = variable.axes.iter().position(named_time);
        let (trajectory, time, coordinate) = match (variable.shape.len(), time) {
            (1, _) => (None, 0, None),
            (2, time) => {
                let named = time.is_some();
                let time = time.unwrap_or(0);
                let other = variable.axes.get(1 - time).map_or("", String::as_str);
                if is_run(other) || (named && time == 1 && !is_coordinate(other)) {
                    (Some(1 - time), time, None)
                } else {
                    (None, time, Some(1 - time))
                }
            }
            (3, time) => {
                let time = time.unwrap_or(1);
                let mut others = (0..3).filter(|&axis| axis != time);
                let (a, b) = (others.next()?, others.next()?);
                let runs_last = variable.axes.get(b).is_some_and(|name| is_run(name));
                let (trajectory, coordinate) = if runs_last { (b, a) } else { (a, b) };
                (Some(trajectory), time, Some(coordinate))
            }
            _ => return None,
        };
        Some(Self {
            trajectory,
            time,
            coordinate,
        })
    }

    /// Trajectories, rows and coordinates of an array of this shape.
    pub(crate) fn extents(self, shape: &[usize]) -> (usize, usize, usize) {
        let along = |axis: Option<usize>| axis.map_or(1, |axis| shape[axis]);
        (
            along(self.trajectory),
            shape[self.time],
            along(self.coordinate),
        )
    }

    /// The box with some rows of one trajectory.
    pub(crate) fn slab(
        self,
        shape: &[usize],
        trajectory: usize,
        start: usize,
        count: usize,
    ) -> (Vec<usize>, Vec<usize>) {
        let (mut from, mut counts) = (vec![0; shape.len()], shape.to_vec());
        if let Some(axis) = self.trajectory {
            (from[axis], counts[axis]) = (trajectory, 1);
        }
        (from[self.time], counts[self.time]) = (start, count);
        (from, counts)
    }

    /// The coordinates of a row are adjacent.
    pub(crate) fn rows_first(self) -> bool {
        self.coordinate.is_none_or(|axis| axis > self.time)
    }
}

/// Names of an axis of times; in grids T stands beside X, Y and Z.
fn is_time_axis(name: &str) -> bool {
    is_time(name) || name == "T"
}

/// Names of an axis that counts independent runs.
fn is_run(name: &str) -> bool {
    let names = ["member", "ensemble", "realization", "realisation", "sample"];
    is_trajectory(name) || names.iter().any(|n| name.eq_ignore_ascii_case(n))
}

/// Names of an axis that counts coordinates.
fn is_coordinate(name: &str) -> bool {
    let names = ["dim", "dimension", "coordinate", "component", "variable"];
    names.iter().any(|n| name.eq_ignore_ascii_case(n))
}

/// The roles of the arrays of a file.
pub(crate) struct Roles {
    /// The arrays of the values: one, or one per coordinate.
    pub(crate) values: Vec<usize>,
    pub(crate) axes: Axes,
    pub(crate) times: Option<usize>,
    /// Times stand as (time, trajectory).
    pub(crate) times_transposed: bool,
    /// The sampling interval, where an array `dt` holds it.
    pub(crate) interval: Option<f64>,
    pub(crate) names: Option<Vec<String>>,
    /// The units of the coordinates, where an array `units` holds them.
    pub(crate) units: Option<Vec<String>>,
}

impl Roles {
    /// Looks at names, shapes and types.
    pub(crate) fn find(path: &Path, grid: &mut impl Grid, options: &ReadOptions) -> Result<Self> {
        let variables = grid.variables();
        let times = variables
            .iter()
            .position(|v| is_time_axis(&v.name) && is_number(v) && matches!(v.shape.len(), 1 | 2));
        let time_axis = times
            .and_then(|t| variables[t].axes.last())
            .filter(|name| !name.is_empty() && times.is_some_and(|t| variables[t].shape.len() == 1))
            .cloned();
        let candidates: Vec<usize> = (0..variables.len())
            .filter(|&v| Some(v) != times && is_candidate(&variables[v]))
            .collect();
        let values = choose(path, variables, &candidates, time_axis.as_deref(), options)?;
        let main = &variables[values[0]];
        let axes = Axes::of(main, time_axis.as_deref()).ok_or_else(|| unusable(path, main))?;
        if main.shape.contains(&0) {
            return Err(Error::file(
                path,
                format!(
                    "array '{}' is empty, of shape {}; give at least one row and one coordinate",
                    main.name,
                    tuple(&main.shape)
                ),
            ));
        }
        let (trajectories, rows, width) = axes.extents(&main.shape);
        let times_transposed = match times.map(|t| &*variables[t].shape) {
            None => false,
            Some([n]) if *n == rows => false,
            Some([k, n]) if (*k, *n) == (trajectories, rows) => false,
            Some([n, k]) if (*k, *n) == (trajectories, rows) => true,
            Some(shape) => {
                return Err(Error::file(
                    path,
                    format!(
                        "the times have shape {} but the values have {trajectories} trajectories \
                         of {rows} rows; give times of shape ({rows},) or ({trajectories}, {rows})",
                        tuple(shape)
                    ),
                ));
            }
        };
        let interval = interval(path, grid)?;
        let names = names(path, grid, &values, axes, width)?;
        let units = text_array(path, grid, &["units"], width)?;
        Ok(Self {
            values,
            axes,
            times,
            times_transposed,
            interval,
            names,
            units,
        })
    }
}

fn is_number(variable: &Variable) -> bool {
    use Content::{Double, Integer, Single};
    matches!(variable.content, Single | Double | Integer)
}

/// An array that may hold values: not the positions along one of its own axes, not `dt`.
fn is_candidate(variable: &Variable) -> bool {
    is_number(variable)
        && matches!(variable.shape.len(), 1..=3)
        && !variable.axes.contains(&variable.name)
        && variable.name != "dt"
        // Whole numbers without a scale are flags and counts rather than coordinates.
        && (variable.content != Content::Integer
            || variable.number("scale_factor").is_some()
            || variable.name == "x")
}

/// The array `x`, or the only one that could be meant, or all that share one shape.
fn choose(
    path: &Path,
    variables: &[Variable],
    candidates: &[usize],
    time_axis: Option<&str>,
    options: &ReadOptions,
) -> Result<Vec<usize>> {
    if let Some(wanted) = &options.array {
        let found = variables.iter().position(|v| v.name == *wanted);
        return match found {
            Some(v) if is_number(&variables[v]) => Ok(vec![v]),
            Some(v) => Err(unusable(path, &variables[v])),
            None => Err(Error::file(
                path,
                format!("has no array '{wanted}'; it has {}", list(variables)),
            )),
        };
    }
    let scalar = |&v: &usize| {
        Axes::of(&variables[v], time_axis).is_some_and(|axes| axes.coordinate.is_none())
    };
    let x = candidates
        .iter()
        .copied()
        .find(|&v| variables[v].name == "x");
    let alike = candidates.iter().all(|&v| {
        let (a, b) = (&variables[v], &variables[candidates[0]]);
        (&a.shape, &a.axes) == (&b.shape, &b.axes)
    });
    match (candidates, x) {
        ([only], _) => Ok(vec![*only]),
        ([_, ..], _) if alike && candidates.iter().all(scalar) => Ok(candidates.to_vec()),
        (_, Some(x)) => Ok(vec![x]),
        ([], _) if variables.is_empty() => Err(Error::file(
            path,
            "has no arrays; save the values as the array 'x'",
        )),
        _ => match variables.iter().find(|v| v.name == "x") {
            Some(x) if !is_number(x) || !matches!(x.shape.len(), 1..=3) => Err(unusable(path, x)),
            _ => Err(Error::file(
                path,
                format!(
                    "no array is named 'x', and no single other array can hold the values; the file \
                     has {}; choose one with --array, or name the values 'x'",
                    list(variables)
                ),
            )),
        },
    }
}

fn list(variables: &[Variable]) -> String {
    let shown = variables.iter().take(20);
    let mut all: Vec<String> = shown
        .map(|v| format!("'{}' of shape {}", v.name, tuple(&v.shape)))
        .collect();
    if variables.len() > all.len() {
        all.push(format!("{} more", variables.len() - all.len()));
    }
    all.join(", ")
}

fn unusable(path: &Path, variable: &Variable) -> Error {
    let problem = match &variable.content {
        Content::Text => "holds text; save numbers".to_owned(),
        Content::Other(what) => {
            format!("holds {what}; save it as float64, float32 or integers")
        }
        _ => format!(
            "has shape {}; use (time,), (time, dimension) or (trajectory, time, dimension)",
            tuple(&variable.shape)
        ),
    };
    Error::file(path, format!("array '{}' {problem}", variable.name))
}

fn interval(path: &Path, grid: &mut impl Grid) -> Result<Option<f64>> {
    let one = |v: &Variable| v.name == "dt" && is_number(v) && v.shape.iter().all(|&n| n == 1);
    let Some(v) = grid.variables().iter().position(one) else {
        return Ok(None);
    };
    let rank = grid.variables()[v].shape.len();
    let numbers = grid
        .numbers(v, &vec![0; rank], &vec![1; rank])
        .map_err(|fault| fault.at(path, "array 'dt'"))?;
    match numbers[..] {
        [dt] if dt.is_finite() && dt > 0.0 => Ok(Some(dt)),
        _ => Err(Error::file(
            path,
            format!(
                "array 'dt' is {numbers:?}; the sampling interval must be one number, finite and \
                 positive"
            ),
        )),
    }
}

/// The names of the coordinates: those of their arrays, a note `names`, or an array of text.
fn names(
    path: &Path,
    grid: &mut impl Grid,
    values: &[usize],
    axes: Axes,
    width: usize,
) -> Result<Option<Vec<String>>> {
    let variables = grid.variables();
    let main = &variables[values[0]];
    if let [_, _, ..] = values {
        let names = values.iter().map(|&v| variables[v].name.clone());
        return Ok(Some(names.collect()));
    }
    if let Some(names) = main.texts("names")
        && names.len() == width
    {
        return Ok(Some(names.to_vec()));
    }
    let axis = axes
        .coordinate
        .and_then(|axis| main.axes.get(axis))
        .cloned();
    // The only array of a scalar record names its coordinate, unless it has the common name.
    let own = (axes.coordinate.is_none() && main.name != "x").then(|| vec![main.name.clone()]);
    let wanted = ["names", axis.as_deref().unwrap_or("names")];
    Ok(text_array(path, grid, &wanted, width)?.or(own))
}

/// An array of text under one of these names, with one text per coordinate.
fn text_array(
    path: &Path,
    grid: &mut impl Grid,
    wanted: &[&str],
    width: usize,
) -> Result<Option<Vec<String>>> {
    let found = grid.variables().iter().position(|v| {
        wanted.contains(&v.name.as_str()) && v.content == Content::Text && v.shape == [width]
    });
    let Some(v) = found else {
        return Ok(None);
    };
    let name = grid.variables()[v].name.clone();
    let texts = grid
        .texts(v)
        .map_err(|fault| fault.at(path, &format!("array '{name}'")))?;
    Ok(Some(texts))
}
