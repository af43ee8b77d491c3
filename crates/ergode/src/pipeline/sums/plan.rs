//! The plan of sums: what is collected from which rows, decided once for all parts of a record.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::check::CheckReport;
use crate::data::{Cut, Ensemble, Standardiser, SupportCells, Times, Trajectory, Units};
use crate::error::{Error, Result, require_positive};
use crate::lagged::{BlockId, Subsample};
use crate::mobility::{PolynomialConfig, Recipe};
use crate::pipeline::config::FitConfig;
use crate::pipeline::policy::Plan;

/// The layout of plans and sums; raised when older versions could not read them.
pub(super) const FORMAT: u32 = 1;

/// Rows of a trajectory of the record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Part {
    pub(super) trajectory: usize,
    pub(super) first: usize,
    /// One past the last row.
    pub(super) end: usize,
}

impl Part {
    pub(super) fn of((trajectory, rows, _): &Cut) -> Self {
        Self {
            trajectory: *trajectory,
            first: rows.start,
            end: rows.end,
        }
    }

    pub(super) fn rows(&self) -> Range<usize> {
        self.first..self.end
    }

    /// The rows that it has in common with others of the same trajectory.
    pub(super) fn within(&self, rows: &Range<usize>) -> Option<Range<usize>> {
        let common = self.first.max(rows.start)..self.end.min(rows.end);
        (!common.is_empty()).then_some(common)
    }
}

/// Where a block of training samples begins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Beginning {
    pub(super) trajectory: usize,
    pub(super) row: usize,
    pub(super) id: BlockId,
}

/// The sums of one recipe.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Table {
    pub(super) recipe: Recipe,
    pub(super) statistics: PolynomialConfig,
}

/// The rows that are kept as they are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Excerpt {
    /// True where they are the whole record.
    pub(super) whole: bool,
    pub(super) training: Vec<Part>,
    pub(super) held_out: Vec<Part>,
}

/// What is collected from which rows of a record, decided once for all of its parts ([`Sums`](super::Sums)).
///
/// It holds the layout of the record, the rows that are held out, the coordinates in which sums are taken, lags,
/// degrees, the rows where blocks begin, the rows that are kept as they are, the check of the record, and the
/// configuration of the fit. Sums of parts of the record add up if they have the same plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SumsPlan {
    pub(super) format: u32,
    pub(super) ergode: String,
    pub(super) names: Vec<String>,
    pub(super) units: Vec<String>,
    pub(super) time_unit: String,
    pub(super) interval: f64,
    /// Complete rows of the record, of its training part, and of what is held out.
    pub(super) samples: [usize; 3],
    /// Rows of every trajectory, and the times of the first ones.
    pub(super) rows: Vec<usize>,
    pub(super) first_times: Vec<f64>,
    /// The degrees of the score; none where it is not fitted to sums.
    pub(super) score_degrees: Vec<usize>,
    /// The box of the training samples, in standardised coordinates.
    pub(super) low: Vec<f64>,
    pub(super) high: Vec<f64>,
    pub(super) standardiser: Standardiser,
    pub(super) training: Vec<Part>,
    pub(super) held_out: Vec<Part>,
    pub(super) blocks: Vec<Beginning>,
    pub(super) excerpt: Excerpt,
    pub(super) tables: Vec<Table>,
    pub(super) decided: Plan,
    pub(super) check: CheckReport,
    pub(super) config: FitConfig,
}

/// Most of what a plan may list, far above what any record needs.
const MOST_DEGREE: usize = 40;
const MOST_LAGS: usize = 10_000;
const MOST_FUNCTIONS: usize = 1 << 16;

impl SumsPlan {
    /// From the text of a TOML file.
    ///
    /// # Errors
    /// When it is no plan, is of another format, or contradicts itself.
    pub fn from_toml(text: &str) -> Result<Self> {
        let format = toml::from_str::<toml::Table>(text)
            .ok()
            .and_then(|table| table.get("format")?.as_integer());
        if let Some(format) = format.filter(|format| *format != i64::from(FORMAT)) {
            return Err(Error::input(format!(
                "the plan has format {format}, but this version reads format {FORMAT}; make the plan again with \
                 `ergode accumulate`"
            )));
        }
        let plan: Self = toml::from_str(text).map_err(|error| {
            Error::input(format!(
                "this is not the plan of sums: {}; make one with `ergode accumulate DATA --write-plan FILE`",
                error.message().lines().next().unwrap_or("")
            ))
        })?;
        plan.refuse_contradictions()?;
        Ok(plan)
    }

    /// The text of a TOML file.
    ///
    /// # Errors
    /// When a value cannot be written as TOML.
    pub fn to_toml(&self) -> Result<String> {
        toml::to_string(self)
            .map_err(|error| Error::numerical(format!("the plan cannot be written: {error}")))
    }

    /// Names of the coordinates.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The configuration of the fit.
    pub fn config(&self) -> &FitConfig {
        &self.config
    }

    /// Rows of all trajectories together.
    pub fn rows(&self) -> usize {
        self.rows.iter().sum()
    }

    /// Rows of every trajectory.
    pub fn trajectories(&self) -> &[usize] {
        &self.rows
    }

    /// The time between rows.
    pub fn interval(&self) -> f64 {
        self.interval
    }

    /// Rows after those that begin pairs which a part of the record needs: the longest lag.
    pub fn halo(&self) -> usize {
        let last = |table: &Table| table.statistics.lags.last().copied().unwrap_or(0.0);
        let longest = self.tables.iter().map(last).fold(0.0, f64::max);
        (longest / self.interval).round() as usize
    }

    pub(super) fn dim(&self) -> usize {
        self.names.len()
    }

    /// The first row of every trajectory, counted over all rows.
    pub(super) fn offsets(&self) -> Vec<usize> {
        let before = |total: &mut usize, rows: &usize| {
            let first = *total;
            *total += rows;
            Some(first)
        };
        self.rows.iter().scan(0, before).collect()
    }

    /// The rows of the record with these numbers, trajectory by trajectory.
    pub(super) fn parts_of(&self, rows: Range<usize>) -> Vec<Part> {
        let mut before = 0;
        let mut parts = Vec::new();
        for (trajectory, length) in self.rows.iter().enumerate() {
            let (low, high) = (rows.start.max(before), rows.end.min(before + length));
            if low < high {
                parts.push(Part {
                    trajectory,
                    first: low - before,
                    end: high - before,
                });
            }
            before += length;
        }
        parts
    }

    /// The blocks that hold rows of a trajectory, with their rows.
    pub(super) fn blocks_of(
        &self,
        trajectory: usize,
        rows: &Range<usize>,
    ) -> Vec<(BlockId, Range<usize>)> {
        let after = |at: (usize, usize)| {
            let before = |block: &Beginning| (block.trajectory, block.row) <= at;
            self.blocks.partition_point(before)
        };
        let mut found = Vec::new();
        let mut row = rows.start;
        while row < rows.end {
            let next = after((trajectory, row));
            let end = match self.blocks.get(next) {
                Some(block) if block.trajectory == trajectory => rows.end.min(block.row),
                _ => rows.end,
            };
            // Rows before the first block are gaps.
            if let Some(block) = next.checked_sub(1) {
                found.push((self.blocks[block].id, row..end));
            }
            row = end;
        }
        found
    }

    /// Which cells of the support hold samples: none as yet.
    pub(super) fn cells(&self) -> SupportCells {
        SupportCells::new(&self.low, &self.high, self.samples[1])
    }

    /// Rows of a trajectory, sampled when the record was.
    pub(super) fn trajectory(&self, part: &Part, values: ndarray::Array2<f64>) -> Trajectory {
        let start = self.first_times[part.trajectory] + part.first as f64 * self.interval;
        let step = self.interval;
        Trajectory::new(values, Times::Even { start, step })
    }

    /// An ensemble of some of the rows, with the names of the record.
    pub(super) fn ensemble(&self, trajectories: Vec<Trajectory>) -> Result<Ensemble> {
        let ensemble = Ensemble::new(trajectories)?.with_names(self.names.clone())?;
        if self.units.is_empty() && self.time_unit.is_empty() {
            return Ok(ensemble);
        }
        ensemble.with_units(Units {
            coordinates: self.units.clone(),
            time: self.time_unit.clone(),
        })
    }

    /// Refuses what no record has, such as a file that was changed by hand.
    pub(super) fn refuse_contradictions(&self) -> Result<()> {
        let wrong = |what: &str| {
            Error::input(format!(
                "the plan contradicts itself: {what}; make it again with `ergode accumulate`"
            ))
        };
        let dim = self.dim();
        require_positive("the sampling interval of the plan", self.interval)?;
        let boxed = |(low, high): (&f64, &f64)| low.is_finite() && high.is_finite() && low <= high;
        if self.standardiser.mean.len() != dim
            || self.standardiser.has_circles()
            || [self.low.len(), self.high.len()] != [dim; 2]
            || !self.low.iter().zip(&self.high).all(boxed)
        {
            return Err(wrong("its scales are not those of its coordinates"));
        }
        let total = self
            .rows
            .iter()
            .try_fold(0usize, |n, rows| n.checked_add(*rows));
        if self.rows.is_empty() || self.rows.contains(&0) || total.is_none() {
            return Err(wrong("a trajectory has no rows"));
        }
        if self.first_times.len() != self.rows.len()
            || !self.first_times.iter().all(|t| t.is_finite())
        {
            return Err(wrong("there is not one first time for each trajectory"));
        }
        let excerpt = &self.excerpt;
        for parts in [
            &self.training,
            &self.held_out,
            &excerpt.training,
            &excerpt.held_out,
        ] {
            let known = |part: &Part| {
                let rows = self.rows.get(part.trajectory);
                part.first < part.end && rows.is_some_and(|rows| part.end <= *rows)
            };
            let ordered = |pair: &[Part]| {
                (pair[0].trajectory, pair[0].end) <= (pair[1].trajectory, pair[1].first)
            };
            if !parts.iter().all(known) || !parts.windows(2).all(ordered) {
                return Err(wrong("rows of its parts do not exist"));
            }
        }
        let place = |block: &Beginning| (block.trajectory, block.row);
        let ordered =
            |pair: &[Beginning]| place(&pair[0]) < place(&pair[1]) && pair[0].id < pair[1].id;
        let in_part = |block: &Beginning| {
            let holds = |part: &Part| {
                part.trajectory == block.trajectory && part.rows().contains(&block.row)
            };
            self.training.iter().any(holds)
        };
        let first = self.blocks.first().filter(|block| in_part(block));
        if first.is_none() || !self.blocks.windows(2).all(ordered) {
            return Err(wrong("its blocks are not in order"));
        }
        let listed = |degree: usize| {
            degree <= MOST_DEGREE && functions(dim, degree).is_some_and(|n| n <= MOST_FUNCTIONS)
        };
        for Table { statistics, .. } in &self.tables {
            let degrees = [
                statistics.future_degree,
                statistics.initial_degree,
                statistics.moment_degree,
            ];
            let lags = &statistics.lags;
            let whole = |lag: &f64| {
                let steps = lag / self.interval;
                (steps - steps.round()).abs() <= 1e-6 * steps.max(1.0) && steps < 1e12
            };
            if !degrees.into_iter().all(listed)
                || !(2..=MOST_LAGS).contains(&lags.len())
                || lags[0] != 0.0
                || !lags
                    .windows(2)
                    .all(|pair| pair[1] - pair[0] > 0.5 * self.interval)
                || !lags.iter().all(whole)
                || statistics.statistics.subsample != Subsample::All
            {
                return Err(wrong("its lags or degrees cannot be collected"));
            }
        }
        let degrees = &self.score_degrees;
        if !degrees.iter().all(|degree| *degree > 0 && listed(*degree))
            || !degrees.windows(2).all(|pair| pair[0] < pair[1])
        {
            return Err(wrong("the degrees of the score cannot be collected"));
        }
        self.config.check()
    }

    /// What differs between two plans, in a few words.
    pub(super) fn differences(&self, other: &Self) -> String {
        let value = |plan: &Self| serde_json::to_value(plan).unwrap_or_default();
        let mut found = Vec::new();
        compare("", &value(self), &value(other), &mut found);
        let more = found.len().saturating_sub(3);
        found.truncate(3);
        match more {
            0 => found.join(", "),
            more => format!("{} and {more} more", found.join(", ")),
        }
    }
}

/// Number of monomials up to a degree.
fn functions(dim: usize, degree: usize) -> Option<usize> {
    (1..=degree).try_fold(1usize, |n, k| Some(n.checked_mul(dim + k)? / k))
}

/// The places where two values differ.
fn compare(
    place: &str,
    one: &serde_json::Value,
    other: &serde_json::Value,
    found: &mut Vec<String>,
) {
    use serde_json::Value::{Array, Object};
    match (one, other) {
        (Object(a), Object(b)) => {
            for (key, value) in a {
                let place = match place {
                    "" => key.clone(),
                    place => format!("{place}.{key}"),
                };
                match b.get(key) {
                    Some(other) => compare(&place, value, other, found),
                    None => found.push(place),
                }
            }
            found.extend(b.keys().filter(|key| !a.contains_key(*key)).cloned());
        }
        (Array(a), Array(b)) if a.len() != b.len() || a.iter().any(|v| v.is_object()) => {
            if a != b {
                found.push(place.to_owned());
            }
        }
        (a, b) if a == b => {}
        (a, b) => {
            let (a, b) = (a.to_string(), b.to_string());
            match a.len() + b.len() <= 60 {
                true => found.push(format!("{place} ({a} and {b})")),
                false => found.push(place.to_owned()),
            }
        }
    }
}
