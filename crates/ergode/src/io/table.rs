//! Tables of rows: what their columns mean, and how rows become trajectories.

use std::collections::{HashSet, VecDeque};

use super::options::ReadOptions;
use super::rows::{BLOCK, Block};
use crate::error::{Error, Result};

/// The role of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Time,
    Trajectory,
    Coordinate,
    /// A column that is not selected.
    Ignored,
}

/// A name of times. A capital T alone is a temperature as often as a time.
pub(crate) fn is_time(name: &str) -> bool {
    name == "t" || name.eq_ignore_ascii_case("time")
}

/// Whether a name is that of the trajectory column.
pub(crate) fn is_trajectory(name: &str) -> bool {
    ["trajectory", "traj", "id", "run"]
        .iter()
        .any(|n| name.eq_ignore_ascii_case(n))
}

/// The columns of a table.
#[derive(Clone, Debug)]
pub(crate) struct Columns {
    /// Role and name of every column.
    pub(crate) all: Vec<(Role, String)>,
    /// Times are dates.
    pub(crate) dates: bool,
}

impl Columns {
    /// Assigns roles by name; without names, every column is a coordinate.
    ///
    /// A column that the options name for trajectories or times has that role, and then no other column does.
    /// If the options name coordinates, other columns are ignored.
    pub(crate) fn new(fields: Vec<String>, named: bool, options: &ReadOptions) -> Result<Self> {
        let (id, time) = (options.trajectory.as_deref(), options.time.as_deref());
        let purposes = [(id, "trajectories"), (time, "times")];
        for (chosen, purpose) in purposes {
            if let Some(chosen) = chosen
                && !(named && fields.iter().any(|name| name == chosen))
            {
                let columns = if named { fields } else { Vec::new() };
                return Err(Error::input(format!(
                    "no column is named '{chosen}', given for the {purpose}; the named columns are: {}",
                    columns.join(", ")
                )));
            }
        }
        if let Some(absent) = options.columns.iter().find(|name| !fields.contains(name)) {
            return Err(Error::input(format!(
                "no coordinate is named '{absent}'; the columns are: {}",
                fields.join(", ")
            )));
        }
        let asked = |name: &str| options.columns.iter().any(|column| column == name);
        let role = |name: &str| match () {
            () if id == Some(name) => Role::Trajectory,
            () if time == Some(name) => Role::Time,
            () if asked(name) => Role::Coordinate,
            () if id.is_none() && is_trajectory(name) => Role::Trajectory,
            () if time.is_none() && is_time(name) => Role::Time,
            () if options.columns.is_empty() => Role::Coordinate,
            () => Role::Ignored,
        };
        let all: Vec<(Role, String)> = fields
            .into_iter()
            .enumerate()
            .map(|(j, name)| match named {
                true => (role(&name), name),
                false => (Role::Coordinate, (j + 1).to_string()),
            })
            .collect();
        let count = |role| all.iter().filter(|(r, _)| *r == role).count();
        if count(Role::Time) > 1 || count(Role::Trajectory) > 1 {
            return Err(Error::input(
                "several columns hold times, or several name the trajectory; keep one of t and time, \
                 and one of trajectory, traj, id and run",
            ));
        }
        if count(Role::Coordinate) == 0 {
            return Err(Error::input(
                "no column holds a coordinate; add one besides the times",
            ));
        }
        Ok(Self { all, dates: false })
    }

    /// True when there is a column of this role.
    pub(crate) fn has(&self, role: Role) -> bool {
        self.all.iter().any(|(r, _)| *r == role)
    }

    /// The field of a row in the column of this role.
    pub(crate) fn field_of<'a>(
        &self,
        role: Role,
        mut fields: impl Iterator<Item = &'a [u8]>,
    ) -> Option<&'a [u8]> {
        let place = self.all.iter().position(|(r, _)| *r == role)?;
        fields.nth(place)
    }

    /// The names of the coordinates.
    pub(crate) fn coordinates(&self) -> Vec<String> {
        let coordinates = self.all.iter().filter(|(r, _)| *r == Role::Coordinate);
        coordinates.map(|(_, name)| name.clone()).collect()
    }
}

/// Refuses coordinates whose names would be read back as something else.
pub(crate) fn check_names(names: &[String]) -> Result<()> {
    match names.iter().find(|n| is_time(n) || is_trajectory(n)) {
        Some(name) => Err(Error::input(format!(
            "cannot store a coordinate named '{name}': on reading, the column would count as times or \
             trajectories; rename it or write .npz"
        ))),
        None => Ok(()),
    }
}

/// Rows on their way into blocks.
#[derive(Default)]
pub(crate) struct Assembler {
    ready: VecDeque<Block>,
    block: Block,
    rows: usize,
    trajectories: usize,
    /// The trajectory of the row before, and all trajectories seen.
    current: Vec<u8>,
    seen: HashSet<Vec<u8>>,
}

impl Assembler {
    /// Makes `id` the trajectory of the rows that follow; `place` says where the row is.
    pub(crate) fn enter(&mut self, id: &[u8], place: impl Fn() -> String) -> Result<()> {
        if self.trajectories > 0 && self.current == id {
            return Ok(());
        }
        if !self.seen.insert(id.to_vec()) {
            return Err(Error::input(format!(
                "{}: trajectory \"{}\" continues after rows of another one; \
                 sort the rows by trajectory",
                place(),
                String::from_utf8_lossy(id).escape_debug()
            )));
        }
        self.close();
        id.clone_into(&mut self.current);
        self.block.trajectory = self.trajectories;
        (self.trajectories, self.rows) = (self.trajectories + 1, 0);
        self.block.start = 0;
        Ok(())
    }

    /// Adds a coordinate of the row.
    pub(crate) fn value(&mut self, value: f64) {
        self.block.values.push(value);
    }

    /// Adds the time of the row.
    pub(crate) fn time(&mut self, time: f64) {
        self.block.times.push(time);
    }

    /// Ends the row.
    pub(crate) fn end_row(&mut self) {
        self.rows += 1;
        if self.block.values.len() >= BLOCK {
            self.close();
        }
    }

    /// Ends the block, if there is anything in it.
    pub(crate) fn close(&mut self) {
        if !self.block.values.is_empty() {
            let next = Block {
                trajectory: self.block.trajectory,
                start: self.rows,
                ..Block::default()
            };
            self.ready
                .push_back(std::mem::replace(&mut self.block, next));
        }
    }

    /// A complete block.
    pub(crate) fn take(&mut self) -> Option<Block> {
        self.ready.pop_front()
    }

    /// True when no row was ever added.
    pub(crate) fn is_empty(&self) -> bool {
        self.trajectories == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_capital_t_is_a_coordinate() {
        assert!(["t", "time", "Time"].into_iter().all(is_time));
        assert!(!is_time("T"));
    }
}
