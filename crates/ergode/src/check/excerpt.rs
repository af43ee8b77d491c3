//! Stretches of the record in memory, coordinate by coordinate.

use std::ops::Range;

use super::record::Record;

/// Most values in an excerpt, and rows of a stretch where only a part of the record is taken.
const VALUES: usize = 4_000_000;
const STRETCH: usize = 4096;

/// Rows of the record without gaps between them, all of them where they are not many.
pub(super) struct Excerpt {
    pub(super) names: Vec<String>,
    /// The values of every coordinate, stretch after stretch.
    pub(super) columns: Vec<Vec<f64>>,
    /// Places of the stretches in the columns.
    pub(super) stretches: Vec<Range<usize>>,
    /// The sampling interval, if all samples are equally spaced.
    pub(super) interval: Option<f64>,
    /// Mean and standard deviation of every coordinate.
    pub(super) mean: Vec<f64>,
    pub(super) scale: Vec<f64>,
}

impl Excerpt {
    pub(super) fn collect(record: &Record) -> Self {
        let (ensemble, dim) = (&record.ensemble, record.dim());
        let rows = (VALUES / dim).max(STRETCH);
        let every = ensemble.samples().div_ceil(rows);
        let mut columns = vec![Vec::new(); dim];
        let (mut stretches, mut seen) = (Vec::new(), 0);
        let mut row = vec![0.0; dim];
        for segment in ensemble.segments() {
            let trajectory = &ensemble.trajectories()[segment.trajectory];
            let length = if every == 1 {
                segment.rows.len()
            } else {
                STRETCH
            };
            for start in segment.rows.clone().step_by(length) {
                let rows = start..segment.rows.end.min(start + length);
                seen += 1;
                if every > 1 && seen % every != 0 {
                    continue;
                }
                let first = columns[0].len();
                for i in rows {
                    trajectory.row(i, &mut row);
                    for (column, x) in columns.iter_mut().zip(&row) {
                        column.push(*x);
                    }
                }
                stretches.push(first..columns[0].len());
            }
        }
        Self {
            names: ensemble.names().to_vec(),
            columns,
            stretches,
            interval: ensemble.sampling_interval(),
            mean: record.scales.mean.clone(),
            scale: record.scales.scale.clone(),
        }
    }

    pub(super) fn dim(&self) -> usize {
        self.columns.len()
    }

    pub(super) fn len(&self) -> usize {
        self.columns[0].len()
    }

    /// About `most` places t, evenly spread, whose neighbours t − before and t + after are in the same stretch.
    pub(super) fn places(&self, before: usize, after: usize, most: usize) -> Vec<usize> {
        let inside = |stretch: &Range<usize>| {
            let end = stretch.end.saturating_sub(after);
            (stretch.start + before).min(end)..end
        };
        let all: usize = self.stretches.iter().map(|s| inside(s).len()).sum();
        let every = all.div_ceil(most).max(1);
        let places = self.stretches.iter().flat_map(inside);
        places.step_by(every).collect()
    }

    /// Standardised value.
    pub(super) fn unit(&self, j: usize, t: usize) -> f64 {
        (self.columns[j][t] - self.mean[j]) / self.scale[j]
    }
}
