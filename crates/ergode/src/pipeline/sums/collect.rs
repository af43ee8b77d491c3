//! Sums over rows of a record, by a plan; sums of parts add up.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use ndarray::{Array2, Axis, concatenate, s};

use super::plan::{Part, SumsPlan};
use crate::control::Control;
use crate::data::{SupportCells, infinite};
use crate::error::{Error, Result};
use crate::lagged::{LaggedSums, Starts};
use crate::mobility::{PolynomialSums, polynomials_of_shard};
use crate::observable::Monomials;
use crate::score::{Gradients, ScoreObjective, ScoreSums, VectorFields, accumulate_score_from};

/// Rows of one trajectory of a record, and which of them begin pairs.
#[derive(Clone, Debug)]
pub struct Piece {
    /// The trajectory, counted from 0.
    pub trajectory: usize,
    /// The row of the trajectory that is the first of `values`.
    pub first: usize,
    /// (row, coordinate); a row with a NaN is a gap.
    pub values: Array2<f64>,
    /// The rows of the trajectory that are counted; those after them, up to the longest lag
    /// ([`SumsPlan::halo`]), are partners of these.
    pub core: Range<usize>,
}

/// Everything that a fit takes from rows of a record, by a [`SumsPlan`].
///
/// Sums of different rows add up ([`Sums::merge`]), and rows that are counted twice are refused. The blocks of the
/// errors begin at rows of the plan, so that the sums do not depend, but for rounding, on how the rows were cut into
/// parts.
#[derive(Clone, Debug)]
pub struct Sums {
    pub(super) plan: Arc<SumsPlan>,
    /// The rows that were counted, in order, over all trajectories one after the other.
    pub(super) rows: Vec<Range<usize>>,
    /// Moments and lagged sums of every table of the plan.
    pub(super) tables: Vec<[LaggedSums; 2]>,
    pub(super) score: ScoreSums,
    pub(super) cells: SupportCells,
    /// Rows that are kept as they are, by trajectory and first row.
    pub(super) excerpt: BTreeMap<(usize, usize), Array2<f64>>,
}

impl Sums {
    /// Sums of no rows.
    ///
    /// # Errors
    /// When the plan asks for more functions than can be listed.
    pub fn new(plan: &Arc<SumsPlan>) -> Result<Self> {
        let (names, scales) = (&plan.names, &plan.standardiser);
        let tables = plan.tables.iter().map(|table| {
            PolynomialSums::empty_parts(names, scales, &table.statistics, plan.interval)
        });
        Ok(Self {
            tables: tables.collect::<Result<_>>()?,
            score: match fields(plan)? {
                Some(fields) => ScoreSums::empty(fields.labels()),
                None => ScoreSums::empty(&[]),
            },
            cells: plan.cells(),
            rows: Vec::new(),
            excerpt: BTreeMap::new(),
            plan: plan.clone(),
        })
    }

    /// The plan.
    pub fn plan(&self) -> &SumsPlan {
        &self.plan
    }

    /// Number of rows that were counted, and of those of the record.
    pub fn counted(&self) -> (usize, usize) {
        (self.rows.iter().map(Range::len).sum(), self.plan.rows())
    }

    /// The sums over rows of one or several trajectories.
    ///
    /// # Errors
    /// When the rows are not of the record or are counted twice, rows within the longest lag after them are missing,
    /// a value is infinite, or the work is stopped.
    pub fn of_pieces(plan: &Arc<SumsPlan>, pieces: &[Piece], control: &Control) -> Result<Self> {
        let mut sums = Self::new(plan)?;
        let offsets = plan.offsets();
        let mut training = Vec::new();
        for piece in pieces {
            piece.check(plan)?;
            let (k, core) = (piece.trajectory, &piece.core);
            for part in parts_of(&plan.training, k) {
                if let Some(rows) = part.within(core) {
                    let reach = part.end.min(rows.end + plan.halo());
                    piece.require(&rows, reach)?;
                    training.push((piece, rows, reach));
                }
            }
            let kept = &plan.excerpt;
            for parts in [&kept.training, &kept.held_out] {
                for rows in parts_of(parts, k)
                    .iter()
                    .filter_map(|part| part.within(core))
                {
                    let values = piece.rows(&rows).to_owned();
                    sums.excerpt.insert((k, rows.start), values);
                }
            }
            sums.count(offsets[k] + core.start..offsets[k] + core.end)?;
        }
        sums.add_training(&training, control)?;
        Ok(sums)
    }

    /// Adds pairs that begin in training rows of pieces and end before row `reach`.
    fn add_training(
        &mut self,
        training: &[(&Piece, Range<usize>, usize)],
        control: &Control,
    ) -> Result<()> {
        let plan = self.plan.clone();
        let complete = |row: &ndarray::ArrayView1<f64>| row.iter().all(|x| !x.is_nan());
        let (mut trajectories, mut blocks) = (Vec::new(), Vec::new());
        for (piece, rows, reach) in training {
            let mut samples: Vec<f64> = Vec::new();
            let counted = piece.rows(rows);
            let counted = counted.rows().into_iter().filter(complete);
            counted.for_each(|row| samples.extend(row));
            if samples.is_empty() {
                continue;
            }
            plan.standardiser.forward(&mut samples);
            self.cells.add(&samples);
            let of_plan = plan.blocks_of(piece.trajectory, rows).into_iter();
            blocks.extend(of_plan.map(|(id, block)| {
                let local = block.start - rows.start..block.end - rows.start;
                (id, trajectories.len(), local)
            }));
            let values = piece.rows(&(rows.start..*reach)).to_owned();
            let part = Part {
                trajectory: piece.trajectory,
                first: rows.start,
                end: *reach,
            };
            trajectories.push(plan.trajectory(&part, values));
        }
        if trajectories.is_empty() {
            return Ok(());
        }
        let ensemble = plan.ensemble(trajectories)?;
        let starts = Starts::of_parts(&ensemble, &blocks);
        let scales = &plan.standardiser;
        for (table, sums) in plan.tables.iter().zip(&mut self.tables) {
            let statistics = &table.statistics;
            let [moments, lagged] =
                polynomials_of_shard(&ensemble, scales, statistics, &starts, control)?;
            sums[0].join(moments);
            sums[1].join(lagged);
        }
        if let Some(fields) = fields(&plan)? {
            let objective = ScoreObjective::Hyvarinen;
            let score =
                accumulate_score_from(&ensemble, &fields, scales, objective, &starts, control)?;
            self.score.join(score);
        }
        Ok(())
    }

    /// Counts rows, which must not have been counted before.
    fn count(&mut self, more: Range<usize>) -> Result<()> {
        let after = self.rows.partition_point(|rows| rows.start < more.start);
        let before = after.checked_sub(1).map(|k| &self.rows[k]);
        let neighbours = before.into_iter().chain(self.rows.get(after));
        for rows in neighbours {
            let twice = rows.start.max(more.start)..rows.end.min(more.end);
            if !twice.is_empty() {
                return Err(Error::input(format!(
                    "rows {}:{} are counted twice; merge every part once",
                    twice.start, twice.end
                )));
            }
        }
        self.rows.insert(after, more);
        for k in [Some(after), after.checked_sub(1)].into_iter().flatten() {
            let next = self.rows.get(k + 1).cloned();
            if let Some(next) = next.filter(|next| next.start == self.rows[k].end) {
                self.rows[k].end = next.end;
                self.rows.remove(k + 1);
            }
        }
        Ok(())
    }

    /// Adds the sums of other rows.
    ///
    /// # Errors
    /// When they have another plan, or count the same rows.
    pub fn merge(&mut self, other: Self) -> Result<()> {
        let alike =
            Arc::ptr_eq(&self.plan, &other.plan) || self.plan.to_toml()? == other.plan.to_toml()?;
        if !alike {
            return Err(Error::input(format!(
                "sums of different plans cannot be merged; these differ in {}",
                self.plan.differences(&other.plan)
            )));
        }
        let before = self.rows.clone();
        for rows in other.rows {
            if let Err(error) = self.count(rows) {
                self.rows = before;
                return Err(error);
            }
        }
        for (mine, [moments, lagged]) in self.tables.iter_mut().zip(other.tables) {
            mine[0].join(moments);
            mine[1].join(lagged);
        }
        self.score.join(other.score);
        self.cells.join(other.cells.occupied());
        self.excerpt.extend(other.excerpt);
        Ok(())
    }

    /// The kept rows of a part, which must all be there.
    pub(super) fn kept(&self, part: &Part) -> Result<Array2<f64>> {
        let (k, first) = (part.trajectory, part.first);
        let mut row = first;
        let mut pieces = Vec::new();
        while row < part.end {
            let before = self.excerpt.range(..=(k, row)).next_back();
            let found =
                before.filter(|((j, start), values)| *j == k && start + values.nrows() > row);
            let Some(((_, start), values)) = found else {
                return Err(Error::input(format!(
                    "row {row} of trajectory {k} is not in the sums; merge all parts"
                )));
            };
            let end = part.end.min(start + values.nrows());
            pieces.push(values.slice(s![row - start..end - start, ..]));
            row = end;
        }
        Ok(concatenate(Axis(0), &pieces).expect("rows of one width"))
    }
}

impl Piece {
    /// Refuses rows that are not of the record.
    fn check(&self, plan: &SumsPlan) -> Result<()> {
        let (k, core) = (self.trajectory, &self.core);
        let end = self.first + self.values.nrows();
        let known = plan.rows.get(k).is_some_and(|rows| end <= *rows);
        if !known || core.start < self.first || core.end > end || core.is_empty() {
            return Err(Error::input(format!(
                "rows {}..{} of trajectory {k}, of which {}..{} are to be counted, are not rows of the record of \
                 the plan",
                self.first, end, core.start, core.end
            )));
        }
        if self.values.ncols() != plan.dim() {
            return Err(Error::input(format!(
                "the rows have {} coordinates, but those of the plan are {}",
                self.values.ncols(),
                plan.names.join(", ")
            )));
        }
        match self.values.indexed_iter().find(|(_, x)| x.is_infinite()) {
            Some(((row, j), _)) => Err(infinite(k, self.first + row, j)),
            None => Ok(()),
        }
    }

    /// Refuses a piece that ends before row `reach`, where the longest lag after `rows` ends.
    fn require(&self, rows: &Range<usize>, reach: usize) -> Result<()> {
        let end = self.first + self.values.nrows();
        if reach <= end {
            return Ok(());
        }
        Err(Error::input(format!(
            "the longest lag reaches from rows {}..{} of trajectory {} to row {reach}, but the rows given end at \
             {end}",
            rows.start, rows.end, self.trajectory
        )))
    }

    /// Some of the rows.
    fn rows(&self, rows: &Range<usize>) -> ndarray::ArrayView2<'_, f64> {
        self.values
            .slice(s![rows.start - self.first..rows.end - self.first, ..])
    }
}

/// The parts that are of one trajectory.
fn parts_of(parts: &[Part], trajectory: usize) -> &[Part] {
    let from = parts.partition_point(|part| part.trajectory < trajectory);
    let to = parts.partition_point(|part| part.trajectory <= trajectory);
    &parts[from..to]
}

/// The fields of the score, if it is fitted to sums.
pub(super) fn fields(plan: &SumsPlan) -> Result<Option<Gradients>> {
    let top = plan.score_degrees.last();
    top.map(|degree| {
        let library = Monomials::of(&plan.names, &plan.standardiser, 1..=*degree)?;
        Ok(Gradients::new(library))
    })
    .transpose()
}
