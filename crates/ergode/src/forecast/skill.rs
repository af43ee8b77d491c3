//! Forecast skill on held-out data, beside climatology, persistence and a linear inverse model.

use std::borrow::Cow;
use std::ops::Range;

use ndarray::Array2;
use serde::{Deserialize, Serialize};

use super::crps::{half_spread, normal_crps, sorted_crps};
use super::linear::LinearInverseModel;
use super::{Ahead, ForecastStart, mean, rows_of};
use crate::check::decorrelation_times;
use crate::control::Control;
use crate::data::{Ensemble, Times, Trajectory};
use crate::error::{Error, Result};
use crate::model::LangevinModel;

/// How forecasts are tested.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SkillConfig {
    /// Members of every forecast.
    pub members: usize,
    /// Forecasts at most, spread evenly over the held-out data.
    pub starts: usize,
    /// Leads, whole numbers of sampling intervals; by default nine from a tenth of the longest decorrelation
    /// time to three of them.
    pub leads: Vec<f64>,
    /// Coordinates of members, times steps; more would lower the numbers of forecasts and of members.
    pub work: f64,
    /// The one seed.
    pub seed: u64,
}

impl Default for SkillConfig {
    fn default() -> Self {
        Self {
            members: 64,
            starts: 512,
            leads: Vec::new(),
            work: 3e7,
            seed: 0,
        }
    }
}

/// Default leads, in longest decorrelation times.
const LEADS: [f64; 9] = [0.1, 0.2, 0.3, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0];

/// Lag of the linear inverse model, in longest decorrelation times.
const LINEAR_LAG: f64 = 0.3;

/// The least number of forecasts, and of members.
const FEWEST: usize = 16;

/// Stretches of forecasts that errors are taken over.
const BLOCKS: usize = 16;

/// Values of a climatology.
const CLIMATOLOGY: usize = 1024;

/// Scores of one kind of forecast, one for each lead.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ForecastScores {
    /// Root mean square error of the mean of the forecast.
    pub rmse: Vec<f64>,
    /// Standard error of that.
    #[serde(default)]
    pub rmse_stderr: Vec<f64>,
    /// Continuous ranked probability score, in units of the coordinate; smaller is better.
    pub crps: Vec<f64>,
    /// Standard error of that score.
    pub crps_stderr: Vec<f64>,
    /// Standard error of its difference from the score of the model.
    pub difference_stderr: Vec<f64>,
}

/// Skill for one observed coordinate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CoordinateSkill {
    /// Name of the coordinate.
    pub name: String,
    /// The ensemble of the model.
    pub model: ForecastScores,
    /// The linear inverse model; none where it could not be fitted.
    pub linear: Option<ForecastScores>,
    /// The last value, for all leads.
    pub persistence: ForecastScores,
    /// The law of the training data.
    pub climatology: ForecastScores,
    /// Root mean variance of the ensemble at each lead, which is the error that it expects of its mean.
    pub spread: Vec<f64>,
}

/// Forecasts of held-out data, tested lead by lead.
///
/// Where the model has a trend or a cycle, values are anomalies: the trend is taken off, and the cycle of mean
/// and standard deviation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ForecastSkill {
    /// Leads, in units of time.
    pub leads: Vec<f64>,
    /// Number of forecasts.
    pub starts: usize,
    /// Members of each.
    pub members: usize,
    /// Members that diverged, of all forecasts.
    pub failures: usize,
    /// Skill of each observed coordinate.
    pub coordinates: Vec<CoordinateSkill>,
    /// Why there is no linear inverse model.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub without_linear: Option<String>,
}

/// What the forecasts of a model are compared with, made from the training data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ForecastReferences {
    /// The linear inverse model, or why there is none.
    pub linear: std::result::Result<LinearInverseModel, String>,
    /// Sorted values of each observed coordinate.
    climatology: Vec<Vec<f64>>,
}

impl ForecastReferences {
    /// From the states of the training data, of which the first `observed` coordinates are forecast.
    ///
    /// # Errors
    /// When the work is stopped.
    pub fn new(training: &Ensemble, observed: usize, control: &Control) -> Result<Self> {
        let linear = training.sampling_interval().map_or_else(
            || Err("the training data are sampled unevenly".to_owned()),
            |interval| {
                let time = longest_time(training, observed, interval, control);
                let steps = time.map(|time| (LINEAR_LAG * time / interval).round().max(1.0));
                let fitted =
                    steps.and_then(|k| LinearInverseModel::fit(training, interval, k as usize));
                fitted.map_err(|error| error.to_string())
            },
        );
        control.advance(0)?;
        let tile = training.sample_tile(CLIMATOLOGY);
        let n = tile.len() / training.dim();
        let column = |i: usize| {
            let mut values = tile[i * n..][..n].to_vec();
            values.sort_by(f64::total_cmp);
            values
        };
        Ok(Self {
            linear,
            climatology: (0..observed).map(column).collect(),
        })
    }
}

/// The longest decorrelation time of the observed coordinates.
fn longest_time(
    states: &Ensemble,
    observed: usize,
    interval: f64,
    control: &Control,
) -> Result<f64> {
    /// Rows that are looked at.
    const ROWS: usize = 1 << 20;
    let times = decorrelation_times(&*states.excerpt(ROWS)?, control)?;
    let observed = times.into_iter().take(observed).flatten();
    Ok(observed.fold(interval, f64::max))
}

/// Test ensemble forecasts of a model on `held_out` states, delays included, with `references` from the training
/// data.
///
/// Forecasts start at samples spread evenly over the held-out data, each long enough before the end of its
/// segment. Where the times of a record are multiples of one interval, some of which have no sample, forecasts go on
/// through these. Standard errors are over 16 stretches of forecasts.
///
/// # Errors
/// When times are no multiples of one interval, no segment is as long as a lead, forecasts take too long, or the work
/// is stopped.
pub fn forecast_skill(
    model: &LangevinModel,
    held_out: &Ensemble,
    references: &ForecastReferences,
    config: &SkillConfig,
    control: &Control,
) -> Result<ForecastSkill> {
    let Some(lattice) = Lattice::new(held_out)? else {
        return Err(Error::input(
            "the skill of forecasts needs times that are multiples of one interval",
        ));
    };
    let observed = model.observation().observed();
    let steps = lead_steps(held_out, &lattice, observed, config, control)?;
    let (held_out, interval) = (&*lattice.rows, lattice.interval);
    let last = *steps.last().expect("at least one lead");
    let dt = model.validated_step().map_or(0.1 * interval, |(dt, _)| dt);
    let per_member = last as f64 * (interval / dt).ceil().max(1.0) * model.dim() as f64;
    let affordable = (config.work / per_member / config.members.max(1) as f64) as usize;
    let most = config.starts.min(affordable.max(FEWEST));
    let starts = spread(&lattice, last, most)?;
    let fits = (config.work / per_member / starts.len() as f64) as usize;
    let ahead = Ahead {
        members: config.members.min(fits.max(FEWEST)),
        leads: last,
        interval,
        dt: None,
        seed: config.seed,
    };
    let initial = rows_of(held_out, &starts);
    let times: Vec<f64> = starts.iter().map(|start| start.time).collect();
    let run = ahead.simulate(model, &initial, &times, control)?;
    let members = ahead.members_of(&run.anomalies, starts.len());
    let mut coordinates = Vec::with_capacity(observed);
    for i in 0..observed {
        let mut curves = Curves::default();
        for step in &steps {
            let later = |start: &ForecastStart| value(held_out, start, *step, i);
            let truth: Vec<f64> = starts.iter().map(later).collect();
            let ensemble: Vec<Vec<f64>> = (0..starts.len())
                .map(|s| members.slice(ndarray::s![s, .., step - 1, i]).to_vec())
                .collect();
            let lead = *step as f64 * interval;
            let case = Case {
                truth: &truth,
                initial: &initial,
                i,
                lead,
            };
            curves.add(&case, ensemble, references);
        }
        if curves.model.crps.iter().any(|crps| crps.is_nan()) {
            return Err(Error::numerical(
                "every forecast has members that diverge; set a smaller simulate.dt",
            ));
        }
        coordinates.push(curves.named(&model.names()[i]));
        control.advance(0)?;
    }
    Ok(ForecastSkill {
        leads: steps.iter().map(|k| *k as f64 * interval).collect(),
        starts: starts.len(),
        members: ahead.members,
        failures: run.failures,
        coordinates,
        without_linear: references.linear.as_ref().err().cloned(),
    })
}

/// Leads in sampling intervals, increasing, none longer than the longest segment allows.
fn lead_steps(
    held_out: &Ensemble,
    lattice: &Lattice,
    observed: usize,
    config: &SkillConfig,
    control: &Control,
) -> Result<Vec<usize>> {
    /// Part of the longest segment that a lead may take.
    const PART: f64 = 0.5;
    let interval = lattice.interval;
    let longest = lattice.stretches().into_iter().map(|(_, rows)| rows.len());
    let most = (PART * longest.max().unwrap_or(0) as f64) as usize;
    let wanted: Vec<f64> = match config.leads.is_empty() {
        false => config.leads.clone(),
        true => {
            let time = longest_time(held_out, observed, interval, control)?;
            LEADS.map(|part| part * time).to_vec()
        }
    };
    let steps = wanted
        .iter()
        .map(|lead| (lead / interval).round().max(1.0) as usize);
    let mut steps: Vec<usize> = steps.filter(|k| *k <= most).collect();
    steps.sort_unstable();
    steps.dedup();
    match steps.is_empty() {
        true => Err(Error::input(
            "the held-out data have no stretch twice as long as the shortest lead of a forecast; give longer \
             trajectories, or raise held_out",
        )),
        false => Ok(steps),
    }
}

/// Held-out data in rows of one interval.
struct Lattice<'a> {
    rows: Cow<'a, Ensemble>,
    interval: f64,
    /// Rows without a sample are times at which none was taken, and a forecast may pass them.
    sparse: bool,
}

impl<'a> Lattice<'a> {
    /// None where times are no multiples of one interval, or less than half of its multiples have a sample.
    fn new(held_out: &'a Ensemble) -> Result<Option<Self>> {
        /// Part of the interval by which a time may be off.
        const OFF: f64 = 1e-3;
        if let Some(interval) = held_out.sampling_interval() {
            return Ok(Some(Self {
                rows: Cow::Borrowed(held_out),
                interval,
                sparse: false,
            }));
        }
        let trajectories = held_out.trajectories();
        let steps = trajectories
            .iter()
            .flat_map(|t| (1..t.len()).map(|i| t.time(i) - t.time(i - 1)));
        let interval = steps.fold(f64::INFINITY, f64::min);
        let mut filled = Vec::with_capacity(trajectories.len());
        let mut row = vec![0.0; held_out.dim()];
        for trajectory in trajectories {
            let start = trajectory.time(0);
            let place = |i: usize| {
                let steps = (trajectory.time(i) - start) / interval;
                ((steps - steps.round()).abs() < OFF).then(|| steps.round() as usize)
            };
            let places: Option<Vec<usize>> = (0..trajectory.len()).map(place).collect();
            let Some(places) = places else {
                return Ok(None);
            };
            let count = places.last().map_or(0, |last| last + 1);
            if count > 2 * trajectory.len() {
                return Ok(None);
            }
            let mut values = Array2::from_elem((count, held_out.dim()), f64::NAN);
            for (i, place) in places.into_iter().enumerate() {
                trajectory.row(i, &mut row);
                values.row_mut(place).assign(&ndarray::aview1(&row));
            }
            let step = interval;
            filled.push(Trajectory::new(values, Times::Even { start, step }));
        }
        let rows = Ensemble::new(filled)?.with_names(held_out.names().to_vec())?;
        Ok(Some(Self {
            rows: Cow::Owned(rows),
            interval,
            sparse: true,
        }))
    }

    /// Rows that a forecast may run through, with their trajectory.
    fn stretches(&self) -> Vec<(usize, Range<usize>)> {
        let trajectories = self.rows.trajectories().iter().enumerate();
        match self.sparse {
            true => trajectories.map(|(k, t)| (k, 0..t.len())).collect(),
            false => {
                let segments = self.rows.segments().iter();
                segments.map(|s| (s.trajectory, s.rows.clone())).collect()
            }
        }
    }
}

/// At most so many samples, spread evenly, each followed by `last` other rows of its stretch.
fn spread(lattice: &Lattice, last: usize, most: usize) -> Result<Vec<ForecastStart>> {
    let room = |rows: &Range<usize>| rows.len().saturating_sub(last);
    let stretches = lattice.stretches();
    let total: usize = stretches.iter().map(|(_, rows)| room(rows)).sum();
    let count = total.min(most);
    if count < FEWEST {
        return Err(Error::input(format!(
            "the held-out data allow only {count} forecasts; give a longer record, or raise held_out"
        )));
    }
    let mut places = (0..count).map(|k| k * total / count).peekable();
    let (mut passed, mut starts) = (0, Vec::with_capacity(count));
    for (k, rows) in stretches {
        let trajectory = &lattice.rows.trajectories()[k];
        let room = room(&rows);
        while let Some(place) = places.next_if(|place| *place < passed + room) {
            let row = rows.start + place - passed;
            if !trajectory.is_gap(row) {
                starts.push(ForecastStart {
                    trajectory: k,
                    row,
                    time: trajectory.time(row),
                });
            }
        }
        passed += room;
    }
    Ok(starts)
}

/// A coordinate some steps after a start.
fn value(states: &Ensemble, start: &ForecastStart, step: usize, i: usize) -> f64 {
    let mut row = vec![0.0; states.dim()];
    states.trajectories()[start.trajectory].row(start.row + step, &mut row);
    row[i]
}

/// What was observed of a coordinate at a lead.
struct Case<'a> {
    truth: &'a [f64],
    /// States at the starts.
    initial: &'a Array2<f64>,
    i: usize,
    lead: f64,
}

/// Error of the mean and CRPS of each forecast.
type Marks = Vec<[f64; 2]>;

#[derive(Default)]
struct Curves {
    model: ForecastScores,
    linear: ForecastScores,
    persistence: ForecastScores,
    climatology: ForecastScores,
    spread: Vec<f64>,
}

impl Curves {
    /// Add a lead.
    fn add(&mut self, case: &Case, ensemble: Vec<Vec<f64>>, references: &ForecastReferences) {
        let (mut model, mut variances) = (Marks::new(), Vec::new());
        for (members, y) in ensemble.into_iter().zip(case.truth) {
            let mut x: Vec<f64> = members.into_iter().filter(|x| x.is_finite()).collect();
            // Nothing was observed then, or nothing is left of the ensemble.
            if x.len() < 2 || y.is_nan() {
                model.push([f64::NAN; 2]);
                continue;
            }
            x.sort_by(f64::total_cmp);
            let centre = mean(&x);
            let square: f64 = x.iter().map(|x| (x - centre).powi(2)).sum();
            variances.push(square / (x.len() as f64 - 1.0));
            model.push([centre - y, sorted_crps(&x, *y, half_spread(&x))]);
        }
        self.spread.push(mean(&variances).sqrt());
        self.model.add(&model, &model);
        let starts = case.initial.column(case.i);
        let last = starts
            .iter()
            .zip(case.truth)
            .map(|(x, y)| [x - y, (x - y).abs()]);
        self.persistence.add(&last.collect(), &model);
        let law = &references.climatology[case.i];
        let (centre, half) = (mean(law), half_spread(law));
        let usual = case
            .truth
            .iter()
            .map(|y| [centre - y, sorted_crps(law, *y, half)]);
        self.climatology.add(&usual.collect(), &model);
        if let Ok(linear) = &references.linear {
            let (propagator, deviations) = linear.at(case.lead);
            let forecasts = case.initial.rows().into_iter().zip(case.truth);
            let marks = forecasts.map(|(x, y)| {
                let centre = linear.forecast(&propagator, x)[case.i];
                [centre - y, normal_crps(centre, deviations[case.i], *y)]
            });
            self.linear.add(&marks.collect(), &model);
        }
    }

    fn named(self, name: &str) -> CoordinateSkill {
        CoordinateSkill {
            name: name.to_owned(),
            model: self.model,
            linear: (!self.linear.crps.is_empty()).then_some(self.linear),
            persistence: self.persistence,
            climatology: self.climatology,
            spread: self.spread,
        }
    }
}

impl ForecastScores {
    /// Add a lead, with the scores of the model on the same forecasts; those without one are left out.
    fn add(&mut self, marks: &Marks, model: &Marks) {
        let known: Vec<usize> = (0..marks.len())
            .filter(|k| model[*k][1].is_finite())
            .collect();
        let square: Vec<f64> = known.iter().map(|k| marks[*k][0].powi(2)).collect();
        let scores: Vec<f64> = known.iter().map(|k| marks[*k][1]).collect();
        let excess: Vec<f64> = known.iter().map(|k| marks[*k][1] - model[*k][1]).collect();
        let rmse = mean(&square).sqrt();
        self.rmse.push(rmse);
        self.rmse_stderr.push(0.5 * block_error(&square) / rmse);
        self.crps.push(mean(&scores));
        self.crps_stderr.push(block_error(&scores));
        self.difference_stderr.push(block_error(&excess));
    }
}

/// Standard error of the mean over stretches of equal length.
fn block_error(values: &[f64]) -> f64 {
    let blocks = BLOCKS.min(values.len());
    let means: Vec<f64> = (0..blocks)
        .map(|b| mean(&values[b * values.len() / blocks..(b + 1) * values.len() / blocks]))
        .collect();
    let centre = mean(&means);
    let square: f64 = means.iter().map(|m| (m - centre).powi(2)).sum();
    let count = blocks as f64;
    (square / (count * (count - 1.0))).sqrt()
}
