//! Ensemble forecasts of a record, and how good they are on data that a fit has not seen.

mod crps;
mod linear;
mod skill;

pub use crps::{ensemble_crps, normal_crps};
pub use linear::LinearInverseModel;
pub use skill::{
    CoordinateSkill, ForecastReferences, ForecastScores, ForecastSkill, SkillConfig, forecast_skill,
};

use std::borrow::Cow;

use ndarray::{Array2, Array3, Array4, s};
use serde::{Deserialize, Serialize};

use crate::control::Control;
use crate::data::{Ensemble, Times, Trajectory, Units};
use crate::error::{Error, Result, require_positive};
use crate::model::{LangevinModel, simulate_model_from, simulation_protocol};
use crate::observe::TrendAhead;

/// The configuration of a forecast.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ForecastConfig {
    /// How far ahead, in units of time.
    pub horizon: f64,
    /// Time from one forecast value to the next; by default the sampling interval of the record.
    pub interval: Option<f64>,
    /// Members of the ensemble.
    pub trajectories: usize,
    /// Forecast from every so many rows of each trajectory; from the last one alone by default.
    pub every: Option<usize>,
    /// The trend after the end of the record.
    pub trend: TrendAhead,
    /// Step of the simulation; by default that of the validation.
    pub dt: Option<f64>,
    /// The one seed.
    pub seed: u64,
}

impl Default for ForecastConfig {
    fn default() -> Self {
        Self {
            horizon: 0.0,
            interval: None,
            trajectories: 200,
            every: None,
            trend: TrendAhead::default(),
            dt: None,
            seed: 0,
        }
    }
}

/// The sample that a forecast starts from.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ForecastStart {
    /// Index of the trajectory.
    pub trajectory: usize,
    /// Its row.
    pub row: usize,
    /// The time of that row.
    pub time: f64,
}

/// An ensemble forecast in the units of the record.
#[derive(Clone, Debug)]
pub struct Forecast {
    /// Names of the observed coordinates.
    pub names: Vec<String>,
    /// Their units, where known.
    pub units: Option<Units>,
    /// Where forecasts start.
    pub starts: Vec<ForecastStart>,
    /// Times after the start.
    pub leads: Vec<f64>,
    /// Values, (start, member, lead, coordinate); NaN after a member diverged.
    pub members: Array4<f64>,
    /// Fraction of the values outside the support of the data.
    pub out_of_support: f64,
    /// Members that diverged.
    pub failures: usize,
    interval: f64,
}

/// Forecast a record with an ensemble of trajectories of a model.
///
/// Members start from the state of the record, without its measurement noise where the model knows none, and
/// simulate the model; mean by phase and trend are put back at the times of the record. Members contain
/// measurement noise as the record does.
///
/// # Errors
/// When the record has other coordinates than the model, has no complete state, the horizon is shorter than
/// the interval, or the work is stopped.
pub fn forecast(
    model: &LangevinModel,
    record: &Ensemble,
    config: &ForecastConfig,
    control: &Control,
) -> Result<Forecast> {
    require_positive("the horizon of a forecast", config.horizon)?;
    if config.trajectories == 0 {
        return Err(Error::input("trajectories must be at least 1"));
    }
    let observation = model.observation();
    let record = &*observed(record, &observation.names)?;
    let states = observation.states(observation.stationary(record)?)?;
    let interval = match config.interval {
        Some(interval) => interval,
        None => record.typical_interval()?,
    };
    require_positive("the interval of a forecast", interval)?;
    let count = (config.horizon / interval * (1.0 + 1e-9)).floor();
    if count < 1.0 {
        return Err(Error::input(format!(
            "the horizon {} is shorter than the interval {interval} between forecast values; raise the horizon, \
             or set a shorter interval",
            config.horizon
        )));
    }
    let starts = starts(&states, config.every)?;
    let initial = rows_of(&states, &starts);
    let ahead = Ahead {
        members: config.trajectories,
        leads: count as usize,
        interval,
        dt: config.dt,
        seed: config.seed,
    };
    let times: Vec<f64> = starts.iter().map(|start| start.time).collect();
    let run = ahead.simulate(model, &initial, &times, control)?;
    let ahead_of_record = observation.record(&run.anomalies, config.trend)?;
    Ok(Forecast {
        names: observation.names.clone(),
        units: record.units().cloned(),
        members: ahead.members_of(&ahead_of_record, starts.len()),
        leads: (1..=ahead.leads).map(|k| k as f64 * interval).collect(),
        starts,
        out_of_support: run.out_of_support,
        failures: run.failures,
        interval,
    })
}

/// The coordinates of a record that a model observes; all where it has as many.
pub(crate) fn observed<'a>(record: &'a Ensemble, names: &[String]) -> Result<Cow<'a, Ensemble>> {
    let place = |name: &String| record.names().iter().position(|other| other == name);
    let places: Option<Vec<usize>> = names.iter().map(place).collect();
    let Some(places) = places.filter(|_| record.dim() > names.len()) else {
        return Ok(Cow::Borrowed(record));
    };
    let chosen = record.columns(&places)?;
    Ok(Cow::Owned(match record.units() {
        Some(units) => chosen.with_units(Units {
            coordinates: match units.coordinates.is_empty() {
                true => Vec::new(),
                false => places
                    .iter()
                    .map(|j| units.coordinates[*j].clone())
                    .collect(),
            },
            time: units.time.clone(),
        })?,
        None => chosen,
    }))
}

/// The last complete state of every trajectory, or those of every so many rows.
fn starts(states: &Ensemble, every: Option<usize>) -> Result<Vec<ForecastStart>> {
    if every == Some(0) {
        return Err(Error::input(
            "cannot forecast from every 0th row; give 1 or more",
        ));
    }
    let mut found: Vec<ForecastStart> = Vec::new();
    for segment in states.segments() {
        let trajectory = &states.trajectories()[segment.trajectory];
        let start = |row: usize| ForecastStart {
            trajectory: segment.trajectory,
            row,
            time: trajectory.time(row),
        };
        match every {
            Some(every) => {
                let rows = segment.rows.clone().filter(|row| row % every == 0);
                found.extend(rows.map(start));
            }
            None => {
                found.retain(|earlier| earlier.trajectory != segment.trajectory);
                found.push(start(segment.rows.end - 1));
            }
        }
    }
    match found.is_empty() {
        true => Err(Error::input(
            "no row from which a forecast would start is complete; choose another number of rows",
        )),
        false => Ok(found),
    }
}

/// The states at these rows, (start, coordinate).
fn rows_of(states: &Ensemble, starts: &[ForecastStart]) -> Array2<f64> {
    let mut rows = Array2::zeros((starts.len(), states.dim()));
    for (start, mut row) in starts.iter().zip(rows.rows_mut()) {
        let row = row.as_slice_mut().expect("row-major");
        states.trajectories()[start.trajectory].row(start.row, row);
    }
    rows
}

/// An ensemble of trajectories from each of several states.
struct Ahead {
    members: usize,
    leads: usize,
    interval: f64,
    dt: Option<f64>,
    seed: u64,
}

/// What was simulated.
struct Simulated {
    /// x(t) with measurement noise at the times of the record, member by member of each start.
    anomalies: Ensemble,
    out_of_support: f64,
    failures: usize,
}

impl Ahead {
    /// Simulate from `initial`, (start, coordinate), states at these times.
    fn simulate(
        &self,
        model: &LangevinModel,
        initial: &Array2<f64>,
        times: &[f64],
        control: &Control,
    ) -> Result<Simulated> {
        let total = initial.nrows().saturating_mul(self.members);
        let length = self.leads as f64 * self.interval;
        let interval = Some(self.interval);
        let mut protocol =
            simulation_protocol(model, length, self.dt, interval, total, self.seed, control)?;
        // A margin for the rounding of the last sample.
        protocol.time = length * (1.0 + 1e-9);
        protocol.claim(model.dim(), |samples| samples)?;
        let states = Array2::from_shape_fn((total, model.dim()), |(k, i)| {
            initial[[k / self.members, i]]
        });
        control.stage("simulating");
        let run = simulate_model_from(model, states, &protocol, control)?;
        let start = |k: usize| times[k / self.members];
        let states = &run.simulation.ensemble;
        Ok(Simulated {
            anomalies: model.observation().seen(states, &start, self.seed)?,
            out_of_support: run.out_of_support,
            failures: run.simulation.failures.len(),
        })
    }

    /// (start, member, lead, coordinate) without the start itself.
    fn members_of(&self, ensemble: &Ensemble, starts: usize) -> Array4<f64> {
        let shape = (starts, self.members, self.leads, ensemble.dim());
        let mut members = Array4::zeros(shape);
        let mut row = vec![0.0; ensemble.dim()];
        for (k, trajectory) in ensemble.trajectories().iter().enumerate() {
            let (start, member) = (k / self.members, k % self.members);
            for lead in 0..self.leads {
                trajectory.row(lead + 1, &mut row);
                let place = members.slice_mut(s![start, member, lead, ..]);
                place.into_iter().zip(&row).for_each(|(to, x)| *to = *x);
            }
        }
        members
    }
}

impl Forecast {
    /// `statistic` of the members that are numbers, sorted, for every (start, lead, coordinate).
    fn summarised(&self, statistic: impl Fn(&[f64]) -> f64) -> Array3<f64> {
        let (starts, _, leads, dim) = self.members.dim();
        Array3::from_shape_fn((starts, leads, dim), |(start, lead, i)| {
            let members = self.members.slice(s![start, .., lead, i]);
            let mut members: Vec<f64> = members.iter().copied().filter(|x| x.is_finite()).collect();
            members.sort_by(f64::total_cmp);
            match members.is_empty() {
                true => f64::NAN,
                false => statistic(&members),
            }
        })
    }

    /// The mean of the members, (start, lead, coordinate).
    pub fn mean(&self) -> Array3<f64> {
        self.summarised(mean)
    }

    /// Their standard deviation.
    pub fn deviation(&self) -> Array3<f64> {
        self.summarised(|x| {
            let centre = mean(x);
            let square: f64 = x.iter().map(|x| (x - centre).powi(2)).sum();
            (square / (x.len() as f64 - 1.0).max(1.0)).sqrt()
        })
    }

    /// A quantile of the members, by linear interpolation between them.
    ///
    /// # Errors
    /// When it is not between 0 and 1.
    pub fn quantile(&self, level: f64) -> Result<Array3<f64>> {
        if !(0.0..=1.0).contains(&level) {
            return Err(Error::input(format!(
                "a quantile of {level} is out of range; give quantiles between 0 and 1"
            )));
        }
        Ok(self.summarised(|x| {
            let place = level * (x.len() - 1) as f64;
            let low = place.floor() as usize;
            let high = (low + 1).min(x.len() - 1);
            x[low] + (place - low as f64) * (x[high] - x[low])
        }))
    }

    /// The members as trajectories at the times of the record: those of the first start, then those of the
    /// next.
    ///
    /// # Errors
    /// When every member diverged.
    pub fn ensemble(&self) -> Result<Ensemble> {
        let (starts, members, ..) = self.members.dim();
        let trajectories = (0..starts * members).map(|k| {
            let (start, member) = (k / members, k % members);
            let values = self.members.slice(s![start, member, .., ..]).to_owned();
            Trajectory::new(values, self.times(start))
        });
        let ensemble = Ensemble::new(trajectories.collect())?.with_names(self.names.clone())?;
        match &self.units {
            Some(units) => ensemble.with_units(units.clone()),
            None => Ok(ensemble),
        }
    }

    /// Mean, standard deviation and quantiles as coordinates `x`, `x_sd`, `x_q05` and so on at the times of
    /// the record, one trajectory for each start.
    ///
    /// # Errors
    /// When a quantile is out of range, or every member diverged.
    pub fn table(&self, quantiles: &[f64]) -> Result<Ensemble> {
        let mut fields = vec![
            (String::new(), self.mean()),
            ("_sd".into(), self.deviation()),
        ];
        for level in quantiles {
            fields.push((quantile_suffix(*level), self.quantile(*level)?));
        }
        let (dim, width) = (self.names.len(), fields.len());
        let trajectories = (0..self.starts.len()).map(|start| {
            let shape = (self.leads.len(), dim * width);
            let values = Array2::from_shape_fn(shape, |(lead, j)| {
                fields[j % width].1[[start, lead, j / width]]
            });
            Trajectory::new(values, self.times(start))
        });
        let names =
            (0..dim * width).map(|j| format!("{}{}", self.names[j / width], fields[j % width].0));
        let table = Ensemble::new(trajectories.collect())?.with_names(names.collect())?;
        let Some(units) = &self.units else {
            return Ok(table);
        };
        let repeated = units
            .coordinates
            .iter()
            .flat_map(|unit| vec![unit.clone(); width]);
        table.with_units(Units {
            coordinates: repeated.collect(),
            time: units.time.clone(),
        })
    }

    /// The times of the forecasts from a start.
    fn times(&self, start: usize) -> Times {
        Times::Even {
            start: self.starts[start].time + self.interval,
            step: self.interval,
        }
    }
}

/// `_q05` for 0.05, `_q50` for a half, `_q99_5` for 0.995.
fn quantile_suffix(level: f64) -> String {
    let percent = format!("{:.6}", 100.0 * level);
    let percent = percent.trim_end_matches('0').trim_end_matches('.');
    let (whole, part) = percent.split_once('.').unwrap_or((percent, ""));
    match part {
        "" => format!("_q{whole:0>2}"),
        part => format!("_q{whole:0>2}_{part}"),
    }
}

fn mean(x: &[f64]) -> f64 {
    x.iter().sum::<f64>() / x.len() as f64
}

#[cfg(test)]
mod tests {
    use super::quantile_suffix;

    #[test]
    fn quantiles_have_short_names() {
        let names = [0.05, 0.5, 0.995, 0.0, 1.0].map(quantile_suffix);
        assert_eq!(names, ["_q05", "_q50", "_q99_5", "_q00", "_q100"]);
    }
}
