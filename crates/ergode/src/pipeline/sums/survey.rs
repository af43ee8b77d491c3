//! The plan of sums for a record of which only a part is at hand.

use std::ops::Range;

use super::make::{Decided, Layout, refuse_decisions, refuse_options};
use super::plan::{Excerpt, Part, SumsPlan};
use crate::control::Control;
use crate::data::{Cut, Ensemble, Segment, Standardiser};
use crate::error::{Error, Result, require_positive};
use crate::pipeline::config::FitConfig;
use crate::pipeline::run::{Prepared, Run};
use crate::pipeline::score::is_potential;
use crate::pipeline::store::Store;

/// The rows of an evenly sampled record that is elsewhere.
#[derive(Clone, Debug)]
pub struct Survey {
    /// Names of the coordinates.
    pub names: Vec<String>,
    /// Units of the coordinates, or none.
    pub units: Vec<String>,
    /// Unit of time, empty if unknown.
    pub time_unit: String,
    /// The time between rows.
    pub interval: f64,
    /// Rows of every trajectory.
    pub rows: Vec<usize>,
    /// The time of the first row of every trajectory.
    pub first_times: Vec<f64>,
}

/// Count, mean, sum of squared deviations, least and greatest value of every coordinate of some samples.
#[derive(Clone, Debug, PartialEq)]
pub struct Scales {
    /// Number of samples.
    pub count: f64,
    /// Mean of every coordinate.
    pub mean: Vec<f64>,
    /// Sum of squared deviations from it.
    pub squares: Vec<f64>,
    /// Least values.
    pub low: Vec<f64>,
    /// Greatest values.
    pub high: Vec<f64>,
}

/// A plan that lacks the scales of the training samples.
pub struct Draft {
    layout: Layout,
    decided: Decided,
    potential: bool,
    config: FitConfig,
}

impl Survey {
    /// The rows to bring here, evenly spread stretches of no more numbers than `kept`: (trajectory, first row, one
    /// past the last).
    pub fn excerpt(&self, kept: usize) -> Vec<(usize, usize, usize)> {
        let rows = (kept / self.names.len().max(1)).max(2);
        let hollow = self.hollow(Vec::new());
        let whole = || {
            self.rows
                .iter()
                .enumerate()
                .map(|(k, n)| (k, 0..*n, 1))
                .collect()
        };
        let cuts: Vec<Cut> = hollow.excerpt_rows(rows).unwrap_or_else(whole);
        cuts.into_iter()
            .map(|(k, rows, _)| (k, rows.start, rows.end))
            .collect()
    }

    /// What a fit would decide, by the rows of [`Survey::excerpt`] and the runs of complete rows of the whole record,
    /// (trajectory, first row, one past the last).
    ///
    /// # Errors
    /// When the rows are not those, or as [`SumsPlan::new`].
    pub fn draft(
        self,
        excerpt: &Ensemble,
        kept: usize,
        runs: &[(usize, usize, usize)],
        config: &FitConfig,
        control: &Control,
    ) -> Result<Draft> {
        config.check()?;
        require_positive("the sampling interval", self.interval)?;
        refuse_options(config)?;
        let stretches = self.excerpt(kept);
        let lengths = stretches.iter().map(|(_, first, end)| end - first);
        let found = excerpt.trajectories().iter().map(|t| t.len());
        if !lengths.eq(found) || excerpt.names() != self.names {
            return Err(Error::input(
                "the excerpt does not hold the rows that were asked for",
            ));
        }
        let segments = self.segments(runs)?;
        let hollow = self.hollow(segments.clone());
        let run = Run::new(excerpt, config, Store::Memory, None, control)?;
        if let Some(finding) = run.left_out().first() {
            return Err(Error::input(format!(
                "{}; {}",
                finding.message, finding.advice
            )));
        }
        let Prepared {
            check,
            plan: mut decided,
            training,
            ..
        } = run.prepare()?;
        refuse_decisions(&decided)?;
        let cuts = run.split(&hollow, &mut decided)?;
        let [inside, outside] = [0, 1].map(|k| within(&segments, &cuts[k]));
        let lengths: Vec<usize> = cuts[0].iter().map(|(_, rows, _)| rows.len()).collect();
        let samples = |segments: &[Segment]| segments.iter().map(|s| s.rows.len()).sum();
        let counts = [samples(&segments), samples(&inside), samples(&outside)];
        let hollow = Ensemble::hollow(&lengths, self.names.len(), self.interval, inside);
        let total: usize = self.rows.iter().sum();
        let kept: usize = stretches.iter().map(|(_, first, end)| end - first).sum();
        let common = |cuts: &[Cut]| -> Vec<Part> {
            let of = |stretch: &(usize, usize, usize)| {
                let rows = stretch.1..stretch.2;
                let own = cuts.iter().filter(move |cut| cut.0 == stretch.0);
                own.filter_map(move |cut| Part::of(cut).within(&rows))
                    .map(|rows| Part::of(&(stretch.0, rows, 1)))
                    .collect::<Vec<_>>()
            };
            stretches.iter().flat_map(of).collect()
        };
        let excerpt = match kept == total {
            true => Excerpt {
                whole: true,
                training: stretches
                    .iter()
                    .map(|s| Part::of(&(s.0, s.1..s.2, 1)))
                    .collect(),
                held_out: Vec::new(),
            },
            false => Excerpt {
                whole: false,
                training: common(&cuts[0]),
                held_out: common(&cuts[1]),
            },
        };
        if !excerpt.whole && (excerpt.training.is_empty() || excerpt.held_out.is_empty()) {
            return Err(Error::input(
                "the rows that are kept are too few for a validation; keep more of them",
            ));
        }
        Ok(Draft {
            potential: is_potential(&training),
            layout: Layout {
                beginnings: config.mobility.statistics.beginnings(&hollow),
                names: self.names,
                units: self.units,
                time_unit: self.time_unit,
                interval: self.interval,
                rows: self.rows,
                first_times: self.first_times,
                samples: counts,
                cuts,
                excerpt,
            },
            decided: Decided {
                plan: decided,
                check,
            },
            config: config.clone(),
        })
    }

    fn hollow(&self, segments: Vec<Segment>) -> Ensemble {
        Ensemble::hollow(&self.rows, self.names.len(), self.interval, segments)
    }

    /// Runs of complete rows as segments, those that touch joined.
    fn segments(&self, runs: &[(usize, usize, usize)]) -> Result<Vec<Segment>> {
        let mut segments: Vec<Segment> = Vec::with_capacity(runs.len());
        for &(trajectory, first, end) in runs {
            let known = self.rows.get(trajectory).is_some_and(|rows| end <= *rows);
            let last = segments.last();
            let after = last.is_none_or(|s| (s.trajectory, s.rows.end) <= (trajectory, first));
            if !known || first >= end || !after {
                return Err(Error::input(
                    "the runs of complete rows are not in order, or not of the record",
                ));
            }
            match segments.last_mut() {
                Some(last) if last.trajectory == trajectory && last.rows.end == first => {
                    last.rows.end = end;
                }
                _ => segments.push(Segment {
                    trajectory,
                    rows: first..end,
                }),
            }
        }
        match segments.is_empty() {
            true => Err(crate::data::no_samples()),
            false => Ok(segments),
        }
    }
}

/// The parts of segments in cuts, which are counted as trajectories.
fn within(segments: &[Segment], cuts: &[Cut]) -> Vec<Segment> {
    let mut found = Vec::new();
    for (trajectory, (k, rows, _)) in cuts.iter().enumerate() {
        let from = segments.partition_point(|s| s.trajectory < *k);
        let to = segments.partition_point(|s| s.trajectory <= *k);
        for segment in &segments[from..to] {
            let common: Range<usize> =
                segment.rows.start.max(rows.start)..segment.rows.end.min(rows.end);
            if !common.is_empty() {
                let rows = common.start - rows.start..common.end - rows.start;
                found.push(Segment { trajectory, rows });
            }
        }
    }
    found
}

impl Draft {
    /// The training rows, (trajectory, first row, one past the last).
    pub fn training(&self) -> Vec<(usize, usize, usize)> {
        let cuts = self.layout.cuts[0].iter();
        cuts.map(|(k, rows, _)| (*k, rows.start, rows.end))
            .collect()
    }

    /// The plan, with the scales of all complete training rows.
    ///
    /// # Errors
    /// When a coordinate is constant, or the scales are of other rows.
    pub fn plan(self, scales: &Scales) -> Result<SumsPlan> {
        if scales.count != self.layout.samples[1] as f64 {
            return Err(Error::input(format!(
                "the scales are of {} samples, but the training part has {}; the record changed while it was read",
                scales.count, self.layout.samples[1]
            )));
        }
        let variance = |squares: &f64| (squares / scales.count).sqrt();
        let standardiser = Standardiser::new(
            scales.mean.clone(),
            scales.squares.iter().map(variance).collect(),
        )?;
        let bounds = (scales.low.clone(), scales.high.clone());
        self.layout.plan(
            self.decided,
            (standardiser, bounds),
            self.potential,
            &self.config,
        )
    }
}

impl Scales {
    /// Of no samples.
    pub fn none(dim: usize) -> Self {
        Self {
            count: 0.0,
            mean: vec![0.0; dim],
            squares: vec![0.0; dim],
            low: vec![f64::INFINITY; dim],
            high: vec![f64::NEG_INFINITY; dim],
        }
    }

    /// Adds other samples; deviations are from the mean of each part, so that a large mean does not spoil them.
    pub fn add(&mut self, other: &Self) {
        if other.count == 0.0 {
            return;
        }
        let count = self.count + other.count;
        for j in 0..self.mean.len() {
            let off = other.mean[j] - self.mean[j];
            self.squares[j] += other.squares[j] + off * off * self.count * other.count / count;
            self.mean[j] += off * other.count / count;
            self.low[j] = self.low[j].min(other.low[j]);
            self.high[j] = self.high[j].max(other.high[j]);
        }
        self.count = count;
    }
}
