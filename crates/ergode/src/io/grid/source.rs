//! The rows of a file of named arrays.

use std::path::{Path, PathBuf};

use super::roles::Roles;
use super::{Content, Grid, Variable};
use crate::data::Units;
use crate::error::{Error, Result};
use crate::io::array::tuple;
use crate::io::options::ReadOptions;
use crate::io::rows::{BLOCK, Block, Description, Source};

/// Reads the rows of a [`Grid`].
pub(crate) struct GridSource<G> {
    path: PathBuf,
    grid: G,
    roles: Roles,
    description: Description,
    trajectories: usize,
    rows: usize,
    rows_per_block: usize,
    /// The next trajectory and row, and the end of that trajectory.
    next: (usize, usize, usize),
}

/// The end of a trajectory that was not looked for.
const UNKNOWN: usize = usize::MAX;

impl<G: Grid> GridSource<G> {
    /// Finds out what the arrays mean.
    pub(crate) fn new(path: &Path, mut grid: G, options: &ReadOptions) -> Result<Self> {
        let roles = Roles::find(path, &mut grid, options)?;
        let main = &grid.variables()[roles.values[0]];
        let (trajectories, rows, width) = roles.axes.extents(&main.shape);
        let dim = width * roles.values.len();
        let step = match (roles.times, roles.interval.or(options.dt)) {
            (Some(_), _) => None,
            (None, Some(step)) => Some(step),
            (None, None) => {
                return Err(Error::file(
                    path,
                    "has no times; give the sampling interval with dt",
                ));
            }
        };
        let all_single = |&v: &usize| grid.variables()[v].content == Content::Single;
        let packed = |v: &usize| Packing::of(&grid.variables()[*v]).is_scaled();
        let rounding = roles
            .times
            .map_or(0.0, |t| match grid.variables()[t].content {
                Content::Single => f64::from(f32::EPSILON),
                _ => 0.0,
            });
        let bytes = (trajectories as u128) * (rows as u128) * (dim as u128);
        if bytes > u128::from(grid.capacity()) {
            return Err(Error::file(
                path,
                format!(
                    "array '{}' has shape {} in its header, too large for a file of {} bytes; the file \
                     is damaged or incomplete, write it again",
                    main.name,
                    tuple(&main.shape),
                    grid.size()
                ),
            ));
        }
        let chunk = grid.chunk(roles.values[0], roles.axes.time).max(1);
        let wanted = (BLOCK / dim).max(1);
        let description = Description {
            dim,
            names: roles.names.clone(),
            units: units(&grid, &roles, width),
            single: roles.values.iter().all(all_single) && !roles.values.iter().any(packed),
            step,
            rounding: rounding.max(f64::EPSILON),
            expected_rows: if 4 * bytes <= u128::from(grid.size()) {
                rows
            } else {
                0
            },
        };
        Ok(Self {
            path: path.to_owned(),
            grid,
            roles,
            description,
            trajectories,
            rows,
            rows_per_block: if chunk < wanted {
                wanted / chunk * chunk
            } else {
                wanted
            },
            next: (0, 0, 0),
        })
    }

    /// The values of some rows of a trajectory, (row, coordinate).
    fn values(&mut self, trajectory: usize, start: usize, count: usize) -> Result<Vec<f64>> {
        let dim = self.description.dim;
        let mut out = vec![0.0; count * dim];
        for (part, &v) in self.roles.values.iter().enumerate() {
            let variable = &self.grid.variables()[v];
            let packing = Packing::of(variable);
            let name = variable.name.clone();
            let (from, counts) = self
                .roles
                .axes
                .slab(&variable.shape, trajectory, start, count);
            let numbers = self
                .grid
                .numbers(v, &from, &counts)
                .map_err(|fault| fault.at(&self.path, &format!("array '{name}'")))?;
            let width = numbers.len() / count;
            let rows_first = self.roles.axes.rows_first();
            for i in 0..count {
                for j in 0..width {
                    let number = numbers[if rows_first {
                        i * width + j
                    } else {
                        j * count + i
                    }];
                    out[i * dim + part * width + j] = packing.value(number);
                }
            }
        }
        Ok(out)
    }

    /// The times of some rows of a trajectory.
    fn times(&mut self, trajectory: usize, start: usize, count: usize) -> Result<Vec<f64>> {
        let Some(t) = self.roles.times else {
            return Ok(Vec::new());
        };
        let variable = &self.grid.variables()[t];
        let (packing, name) = (Packing::of(variable), variable.name.clone());
        let shared = variable.shape.len() == 1;
        let (from, counts) = match (shared, self.roles.times_transposed) {
            (true, _) => (vec![start], vec![count]),
            (false, false) => (vec![trajectory, start], vec![1, count]),
            (false, true) => (vec![start, trajectory], vec![count, 1]),
        };
        let mut times = self
            .grid
            .numbers(t, &from, &counts)
            .map_err(|fault| fault.at(&self.path, &format!("array '{name}'")))?;
        times.iter_mut().for_each(|t| *t = packing.value(*t));
        Ok(times)
    }

    /// The rows of a trajectory without the padding at its end.
    ///
    /// Rows whose time is NaN are padding; where several trajectories share their times, so are
    /// rows that hold nothing but NaN. One row is always kept.
    fn end(&mut self, trajectory: usize) -> Result<usize> {
        let mut end = self.rows;
        if self.roles.times.is_some() {
            end = self.last(end, |source, start, count| {
                let times = source.times(trajectory, start, count)?;
                Ok(times.iter().rposition(|t| !t.is_nan()))
            })?;
        }
        let own_times = self
            .roles
            .times
            .is_some_and(|t| self.grid.variables()[t].shape.len() > 1);
        if self.trajectories > 1 && !own_times {
            end = self.last(end, |source, start, count| {
                let dim = source.description.dim;
                let values = source.values(trajectory, start, count)?;
                Ok(values.iter().rposition(|v| !v.is_nan()).map(|i| i / dim))
            })?;
        }
        Ok(end)
    }

    /// One past the last row that `find` accepts, looking back from `end` block by block.
    fn last(
        &mut self,
        mut end: usize,
        mut find: impl FnMut(&mut Self, usize, usize) -> Result<Option<usize>>,
    ) -> Result<usize> {
        // The last row alone decides in files without padding.
        let mut block = 1;
        while end > 1 {
            let start = end.saturating_sub(block);
            if let Some(i) = find(self, start, end - start)? {
                return Ok(start + i + 1);
            }
            end = start.max(1);
            block = self.rows_per_block;
        }
        Ok(1)
    }
}

impl<G: Grid> Source for GridSource<G> {
    fn description(&self) -> &Description {
        &self.description
    }

    fn next_block(&mut self) -> Result<Option<Block>> {
        let (mut k, mut start, mut end) = self.next;
        if end == UNKNOWN && k < self.trajectories {
            end = self.end(k)?;
            start = start.min(end);
        }
        if start == end || k >= self.trajectories {
            if end > 0 {
                k += 1;
            }
            if k >= self.trajectories {
                return Ok(None);
            }
            (start, end) = (0, self.end(k)?);
        }
        let count = self.rows_per_block.min(end - start);
        let values = self.values(k, start, count)?;
        let times = self.times(k, start, count)?;
        self.next = (k, start + count, end);
        Ok(Some(Block {
            trajectory: k,
            start,
            values,
            times,
        }))
    }

    fn seek(&mut self, trajectory: usize, row: usize) -> Result<()> {
        self.next = (trajectory, row, UNKNOWN);
        Ok(())
    }

    fn trajectories(&self) -> Option<usize> {
        Some(self.trajectories)
    }
}

/// The decoding of stored numbers: value = number · scale + offset, with some numbers marking gaps.
struct Packing {
    scale: f64,
    offset: f64,
    gaps: [Option<f64>; 2],
}

impl Packing {
    fn of(variable: &Variable) -> Self {
        Self {
            scale: variable.number("scale_factor").unwrap_or(1.0),
            offset: variable.number("add_offset").unwrap_or(0.0),
            gaps: ["_FillValue", "missing_value"].map(|name| variable.number(name)),
        }
    }

    fn is_scaled(&self) -> bool {
        self.scale != 1.0 || self.offset != 0.0
    }

    fn value(&self, number: f64) -> f64 {
        if self.gaps.contains(&Some(number)) {
            f64::NAN
        } else if self.is_scaled() {
            number * self.scale + self.offset
        } else {
            number
        }
    }
}

/// The units of coordinates and time, from notes of these names.
fn units(grid: &impl Grid, roles: &Roles, width: usize) -> Option<Units> {
    let of = |v: usize| grid.variables()[v].texts("units").unwrap_or_default();
    let time = roles.times.and_then(|t| of(t).first().cloned());
    let mut coordinates = roles.units.clone().unwrap_or_default();
    for &v in &roles.values {
        match of(v) {
            _ if roles.units.is_some() => {}
            [one] => coordinates.extend(std::iter::repeat_n(one.clone(), width)),
            several if several.len() == width => coordinates.extend_from_slice(several),
            _ => coordinates.extend(std::iter::repeat_n(String::new(), width)),
        }
    }
    if coordinates.iter().all(String::is_empty) {
        coordinates.clear();
    }
    (time.is_some() || !coordinates.is_empty()).then(|| Units {
        coordinates,
        time: time.unwrap_or_default(),
    })
}
