//! Sums over the rows of files, a stretch of them at a time.

use std::collections::VecDeque;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use ndarray::Array2;

use super::collect::{Piece, Sums};
use super::plan::{Part, SumsPlan};
use crate::control::Control;
use crate::data::Ensemble;
use crate::error::{Error, Result};
use crate::io::{ReadOptions, RowBlock, RowSource};

/// Numbers that are summed at once.
const TOGETHER: usize = 1 << 21;

impl Sums {
    /// The sums over rows of a record in files, by default all: the rows are counted over all trajectories, one
    /// after the other. Few rows are in memory at a time.
    ///
    /// # Errors
    /// When the record cannot be read, is not the one of the plan, or the work is stopped.
    pub fn of_files(
        plan: &Arc<SumsPlan>,
        path: &Path,
        options: &ReadOptions,
        rows: Option<Range<usize>>,
        control: &Control,
    ) -> Result<Self> {
        let mut source = RowSource::open(path, options)?;
        let in_file = |error: Error| match error.is_interrupted() || error.is_file() {
            true => error,
            false => Error::file(path, error.to_string()),
        };
        Self::of_source(plan, &mut source, rows, control).map_err(in_file)
    }

    /// The same of a record that is open.
    ///
    /// # Errors
    /// When it is not the one of the plan, or the work is stopped.
    pub fn of_ensemble(
        plan: &Arc<SumsPlan>,
        ensemble: &Ensemble,
        rows: Option<Range<usize>>,
        control: &Control,
    ) -> Result<Self> {
        Self::of_source(plan, &mut RowSource::of(ensemble), rows, control)
    }

    fn of_source(
        plan: &Arc<SumsPlan>,
        source: &mut RowSource,
        rows: Option<Range<usize>>,
        control: &Control,
    ) -> Result<Self> {
        let total = plan.rows();
        let rows = rows.unwrap_or(0..total);
        if rows.is_empty() || rows.end > total {
            return Err(Error::input(format!(
                "rows {}:{} are none of the record, which has {total} rows",
                rows.start, rows.end
            )));
        }
        source.require(&plan.names)?;
        control.begin(rows.len() as u64);
        let mut parts: VecDeque<Part> = plan.parts_of(rows).into();
        let mut sums = Self::new(plan)?;
        let mut pieces: Vec<Piece> = Vec::new();
        let mut numbers = 0;
        let mut reading = Reading::new(plan, source);
        while let Some(part) = parts.pop_front() {
            let length = plan.rows[part.trajectory];
            let most = (TOGETHER.saturating_sub(numbers) / plan.dim())
                .max(plan.halo())
                .max(1);
            let core = part.first..part.end.min(part.first + most);
            let reach = length.min(core.end + plan.halo());
            let values = reading.rows(part.trajectory, core.start..reach, core.end)?;
            numbers += values.len();
            pieces.push(Piece {
                trajectory: part.trajectory,
                first: core.start,
                values,
                core: core.clone(),
            });
            if core.end < part.end {
                parts.push_front(Part {
                    first: core.end,
                    ..part
                });
            }
            if numbers >= TOGETHER || parts.is_empty() {
                let counted: usize = pieces.iter().map(|piece| piece.core.len()).sum();
                sums.merge(Self::of_pieces(plan, &pieces, &Control::new())?)?;
                control.advance(counted as u64)?;
                (numbers, pieces) = (0, Vec::new());
            }
        }
        reading.refuse_more_rows()?;
        Ok(sums)
    }
}

/// Rows of a source in order, of which some are held because they are needed again.
struct Reading<'a> {
    plan: &'a SumsPlan,
    source: &'a mut RowSource,
    trajectory: usize,
    /// The rows that are held begin with this one.
    first: usize,
    values: VecDeque<f64>,
    begun: bool,
}

impl<'a> Reading<'a> {
    fn new(plan: &'a SumsPlan, source: &'a mut RowSource) -> Self {
        Self {
            plan,
            source,
            trajectory: 0,
            first: 0,
            values: VecDeque::new(),
            begun: false,
        }
    }

    /// Rows of a trajectory, none before those asked for last; those before row `done` will not be asked for again.
    fn rows(&mut self, trajectory: usize, rows: Range<usize>, done: usize) -> Result<Array2<f64>> {
        let dim = self.plan.dim();
        if !self.begun || trajectory != self.trajectory {
            if !self.begun {
                self.source.seek(trajectory, rows.start)?;
            }
            (self.trajectory, self.first, self.begun) = (trajectory, rows.start, true);
            self.values.clear();
        }
        while self.first + self.values.len() / dim < rows.end {
            let block = self.source.next_block()?.ok_or_else(|| self.differs())?;
            if block.trajectory > trajectory {
                return Err(self.differs());
            }
            self.check_times(&block)?;
            if block.trajectory < trajectory {
                continue;
            }
            let end = self.first + self.values.len() / dim;
            let skipped = end.saturating_sub(block.start);
            if block.start > end {
                return Err(self.differs());
            }
            self.values.extend(block.values.iter().skip(skipped * dim));
        }
        let count = rows.len() * dim;
        let values: Vec<f64> = self.values.iter().take(count).copied().collect();
        self.values.drain(..(done - self.first) * dim);
        self.first = done;
        Ok(Array2::from_shape_vec((rows.len(), dim), values).expect("whole rows"))
    }

    /// Refuses rows at other times than those of the plan, or of trajectories that it does not have.
    fn check_times(&self, block: &RowBlock) -> Result<()> {
        const TOLERANCE: f64 = 1e-3;
        let dim = self.plan.dim();
        let k = block.trajectory;
        let Some(length) = self.plan.rows.get(k) else {
            return Err(self.differs());
        };
        let first = self.plan.first_times[k];
        let late = |(row, time): (usize, &f64)| {
            let expected = first + row as f64 * self.plan.interval;
            let rounding = 1e-6 * expected.abs().max(first.abs());
            (time - expected).abs() > TOLERANCE * self.plan.interval + rounding
        };
        let times = (block.start..).zip(&block.times);
        if block.start + block.values.len() / dim > *length || times.into_iter().any(late) {
            return Err(self.differs());
        }
        Ok(())
    }

    /// Refuses a record that goes on after the rows of the plan, as far as it was read.
    fn refuse_more_rows(&mut self) -> Result<()> {
        let (last, length) = (
            self.plan.rows.len() - 1,
            self.plan.rows[self.plan.rows.len() - 1],
        );
        if self.trajectory < last || self.first < length {
            return Ok(());
        }
        match self.source.next_block()? {
            None => Ok(()),
            Some(_) => Err(self.differs()),
        }
    }

    fn differs(&self) -> Error {
        Error::input(
            "its trajectories, rows or times are not those that the plan was made for; make another plan, or give \
             the data of this one",
        )
    }
}
