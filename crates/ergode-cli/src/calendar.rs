//! Records whose times are dates: counted in a unit of the calendar, and written as dates again.

use std::collections::BTreeMap;
use std::path::Path;

use clap::ValueEnum;
use ergode::data::Units;
use ergode::io::date_of;
use ergode::{Ensemble, Times, Trajectory};
use jiff::Span;
use jiff::civil::{Date, DateTime, Weekday, date};
use serde::{Deserialize, Serialize};

use crate::output::{Failed, write_text};

/// File of a run with the units of its record; the Python package writes the same.
const FILE: &str = "units.json";

/// Seconds of a day.
const DAY: f64 = 86_400.0;

/// A unit that dates are counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
pub(crate) enum TimeUnit {
    #[value(name = "s", help = "seconds")]
    #[serde(rename = "s")]
    Second,
    #[value(name = "m", help = "minutes")]
    #[serde(rename = "m")]
    Minute,
    #[value(name = "h", help = "hours")]
    #[serde(rename = "h")]
    Hour,
    #[value(name = "D", help = "days")]
    #[serde(rename = "D")]
    Day,
    #[value(name = "W", help = "weeks")]
    #[serde(rename = "W")]
    Week,
    #[value(
        name = "M",
        help = "calendar months, so that monthly dates are evenly spaced"
    )]
    #[serde(rename = "M")]
    Month,
    #[value(name = "Y", help = "calendar years")]
    #[serde(rename = "Y")]
    Year,
    #[value(name = "B", help = "business days, Monday to Friday")]
    #[serde(rename = "B")]
    BusinessDay,
}

impl TimeUnit {
    /// The name on the command line and in files.
    fn name(self) -> String {
        let value = self.to_possible_value().expect("no unit is hidden");
        value.get_name().to_owned()
    }

    /// Seconds, of a unit that has always as many.
    fn seconds(self) -> Option<f64> {
        match self {
            Self::Second => Some(1.0),
            Self::Minute => Some(60.0),
            Self::Hour => Some(3600.0),
            Self::Day => Some(DAY),
            Self::Week => Some(7.0 * DAY),
            Self::Month | Self::Year | Self::BusinessDay => None,
        }
    }
}

/// The date of time zero, the unit of time, and what all dates share.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Epoch {
    origin: DateTime,
    unit: TimeUnit,
    anchor: Option<Anchor>,
}

/// The place in the month of all dates.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Anchor {
    /// Days after its start.
    Days(f64),
    /// The last day.
    End,
}

/// `units.json`.
#[derive(Serialize, Deserialize)]
struct Content {
    #[serde(default)]
    units: BTreeMap<String, String>,
    time_unit: Option<String>,
    #[serde(default)]
    form: Form,
}

#[derive(Default, Serialize, Deserialize)]
struct Form {
    origin: Option<String>,
    anchor: Option<String>,
}

impl Epoch {
    /// Of times that count days from 1970.
    fn days() -> Self {
        Self {
            origin: start_of_1970(),
            unit: TimeUnit::Day,
            anchor: None,
        }
    }

    /// The epoch that a run was fitted with; none where its times were numbers.
    pub(crate) fn of_run(run: &Path) -> Result<Option<Self>, Failed> {
        let path = run.join(FILE);
        let Ok(text) = std::fs::read_to_string(&path) else {
            return Ok(None);
        };
        let bad = |what: String| Failed::input(format!("{}: {what}", path.display()));
        let content: Content =
            serde_json::from_str(&text).map_err(|error| bad(error.to_string()))?;
        let (Some(origin), Some(unit)) = (content.form.origin, content.time_unit) else {
            return Ok(None);
        };
        let unit = TimeUnit::from_str(&unit, false)
            .map_err(|_| bad(format!("the unit of time {unit} is not supported")))?;
        let origin =
            parsed(&origin).ok_or_else(|| bad(format!("the origin {origin} is not a date")))?;
        let anchor = match content.form.anchor.as_deref() {
            None => None,
            Some("end") => Some(Anchor::End),
            Some(days) => {
                let known: Option<f64> = days.parse().ok();
                Some(Anchor::Days(known.ok_or_else(|| {
                    bad(format!("the anchor {days} is no number"))
                })?))
            }
        };
        Ok(Some(Self {
            origin,
            unit,
            anchor,
        }))
    }

    fn save(&self, run: &Path, record: &Ensemble) -> Result<(), Failed> {
        let units = record.units().map(|units| units.coordinates.as_slice());
        let units = units.unwrap_or_default().iter();
        let units = record.names().iter().zip(units);
        let content = Content {
            units: units
                .filter(|(_, unit)| !unit.is_empty())
                .map(|(name, unit)| (name.clone(), unit.clone()))
                .collect(),
            time_unit: Some(self.unit.name()),
            form: Form {
                origin: Some(self.origin.to_string()),
                anchor: self.anchor.map(|anchor| match anchor {
                    Anchor::End => "end".to_owned(),
                    Anchor::Days(days) => format!("{days:?}"),
                }),
            },
        };
        let text = serde_json::to_string(&content).expect("units are plain data");
        write_text(&run.join(FILE), &text)
    }

    /// Dates, as days from 1970, counted from the date of time zero.
    fn count(&self, days: &[f64]) -> Result<Vec<f64>, Failed> {
        let shared = anchor_of(days);
        let one = |days: &f64| -> Result<f64, Failed> {
            if let Some(unit) = self.unit.seconds() {
                return Ok((days - days_of(self.origin)) * DAY / unit);
            }
            let at = civil(*days)?;
            if self.unit == TimeUnit::BusinessDay {
                return business_days(self.origin.date(), at);
            }
            let first = self.origin.date();
            let months = 12 * (i32::from(at.year()) - i32::from(first.year()))
                + i32::from(at.month())
                - i32::from(first.month());
            let part = match (self.anchor, shared) {
                (Some(_), Some(_)) => 0.0,
                _ => into_month(at) / f64::from(at.date().days_in_month()),
            };
            let months = f64::from(months) + part;
            Ok(match self.unit {
                TimeUnit::Year => months / 12.0,
                _ => months,
            })
        };
        days.iter().map(one).collect()
    }

    /// A time as a date, to the second.
    pub(crate) fn date(&self, time: f64) -> String {
        self.day(time).map_or_else(|| time.to_string(), date_of)
    }

    /// A time as days from 1970; none beyond the years that a date can have.
    fn day(&self, time: f64) -> Option<f64> {
        if let Some(unit) = self.unit.seconds() {
            return Some(days_of(self.origin) + time * unit / DAY);
        }
        let first = self.origin.date();
        if self.unit == TimeUnit::BusinessDay {
            return after_business_days(first, time);
        }
        let months = if self.unit == TimeUnit::Year {
            12.0 * time
        } else {
            time
        };
        let whole = (months + 1e-6).floor();
        let span = Span::new().try_months(whole as i64).ok()?;
        let start = first.first_of_month().checked_add(span).ok()?;
        let length = f64::from(start.days_in_month());
        let into = match self.anchor {
            Some(Anchor::End) => length - 1.0,
            Some(Anchor::Days(days)) => days.min(length - 1.0),
            None => (months - whole).max(0.0) * length,
        };
        Some(days_of(start.into()) + into)
    }
}

/// Keep the epoch of a record with its run.
pub(crate) fn keep(run: &Path, record: &Ensemble, epoch: Option<&Epoch>) -> Result<(), Failed> {
    match epoch {
        Some(epoch) => epoch.save(run, record),
        None => {
            // That of an earlier fit in the same folder.
            let _ = std::fs::remove_file(run.join(FILE));
            Ok(())
        }
    }
}

/// A record with dates in `unit`, or in that of `known`, and its epoch. Where times are numbers there is none.
///
/// # Errors
/// When a unit is asked for of times that are numbers, when units differ, and for dates that a unit does not count.
pub(crate) fn counted(
    record: Ensemble,
    unit: Option<TimeUnit>,
    known: Option<Epoch>,
) -> Result<(Ensemble, Option<Epoch>), Failed> {
    if !has_dates(&record) {
        return match unit {
            None => Ok((record, None)),
            Some(unit) => Err(Failed::input(format!(
                "--time-unit {} counts dates, but the times of the record are numbers; leave it out, or name the \
                 column of dates with --time-column",
                unit.name()
            ))),
        };
    }
    if let (Some(unit), Some(known)) = (unit, &known)
        && unit != known.unit
    {
        return Err(Failed::input(format!(
            "the run was fitted with --time-unit {}, not {}",
            known.unit.name(),
            unit.name()
        )));
    }
    let days: Vec<Vec<f64>> = record.trajectories().iter().map(times_of).collect();
    let epoch = match (known, unit) {
        (Some(known), _) => known,
        (None, None) => return Ok((record, Some(Epoch::days()))),
        (None, Some(unit)) => first_epoch(&days[0], unit)?,
    };
    let mut trajectories = Vec::with_capacity(days.len());
    for (trajectory, days) in record.trajectories().iter().zip(&days) {
        let times = Times::Uneven(epoch.count(days)?.into());
        trajectories.push(Trajectory::new(trajectory.values().clone(), times));
    }
    let counted = Ensemble::new(trajectories)?
        .with_names(record.names().to_vec())?
        .with_units(Units {
            time: epoch.unit.name(),
            ..Units::default()
        })?;
    Ok((counted, Some(epoch)))
}

/// True where the times of a record were read from dates, which are counted in days from 1970.
fn has_dates(record: &Ensemble) -> bool {
    let units = record.units();
    units.is_some_and(|units| units.time == "days" && units.coordinates.is_empty())
}

fn times_of(trajectory: &Trajectory) -> Vec<f64> {
    (0..trajectory.len()).map(|i| trajectory.time(i)).collect()
}

/// The epoch of the first date of a record.
fn first_epoch(days: &[f64], unit: TimeUnit) -> Result<Epoch, Failed> {
    let first = civil(days[0])?;
    let (origin, anchor) = match unit {
        TimeUnit::Month | TimeUnit::Year => (first.first_of_month().date().into(), anchor_of(days)),
        TimeUnit::BusinessDay => (first.date().into(), None),
        _ => (first, None),
    };
    Ok(Epoch {
        origin,
        unit,
        anchor,
    })
}

/// The place in the month that all dates share.
fn anchor_of(days: &[f64]) -> Option<Anchor> {
    let dates: Option<Vec<DateTime>> = days.iter().map(|day| civil(*day).ok()).collect();
    let dates = dates?;
    let into: Vec<f64> = dates.iter().map(|at| into_month(*at)).collect();
    let last = |at: &DateTime| f64::from(at.date().days_in_month()) - 1.0;
    if dates.iter().zip(&into).all(|(at, into)| *into == last(at)) {
        return Some(Anchor::End);
    }
    into.iter()
        .all(|day| *day == into[0])
        .then(|| Anchor::Days(into[0]))
}

/// Days since the start of the month.
fn into_month(at: DateTime) -> f64 {
    let start: DateTime = at.date().first_of_month().into();
    days_of(at) - days_of(start)
}

fn start_of_1970() -> DateTime {
    date(1970, 1, 1).at(0, 0, 0, 0)
}

/// Days from 1970.
fn days_of(at: DateTime) -> f64 {
    at.duration_since(start_of_1970()).as_secs_f64() / DAY
}

/// The date so many days from 1970, to the second.
fn civil(days: f64) -> Result<DateTime, Failed> {
    parsed(&date_of(days)).ok_or_else(|| {
        Failed::input(format!(
            "{days} days from 1970 is not a date of the calendar"
        ))
    })
}

/// A date with or without a time of day, or a month.
fn parsed(text: &str) -> Option<DateTime> {
    let whole = match text.len() {
        7 => format!("{text}-01"),
        _ => text.to_owned(),
    };
    whole.parse().ok()
}

fn is_weekend(day: Date) -> bool {
    matches!(day.weekday(), Weekday::Saturday | Weekday::Sunday)
}

/// Business days from `first` to `at`, which must be midnight of a business day.
fn business_days(first: Date, at: DateTime) -> Result<f64, Failed> {
    let day = at.date();
    if at != DateTime::from(day) {
        return Err(Failed::input(format!(
            "--time-unit B counts business days, but {at} has a time of day; use h or D"
        )));
    }
    if is_weekend(day) {
        return Err(Failed::input(format!(
            "--time-unit B counts business days, but {day} is a weekend; use D"
        )));
    }
    // Days since a Monday have five business days a week, of which the first five.
    let since_monday = |day: Date| days_of(day.into()) as i64 + 3;
    let business = |days: i64| 5 * days.div_euclid(7) + days.rem_euclid(7).min(5);
    Ok((business(since_monday(day)) - business(since_monday(first))) as f64)
}

/// The day, from 1970, so many business days after `first`.
fn after_business_days(first: Date, time: f64) -> Option<f64> {
    let start = days_of(first.into()) as i64 + 3;
    let count = 5 * start.div_euclid(7) + start.rem_euclid(7).min(4) + time.round() as i64;
    Some((7 * count.div_euclid(5) + count.rem_euclid(5) - 3) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Days from 1970 of dates.
    fn days(dates: &[&str]) -> Vec<f64> {
        dates
            .iter()
            .map(|text| days_of(parsed(text).unwrap()))
            .collect()
    }

    #[test]
    fn dates_are_counted_and_written_again() {
        let months = ["2000-01-31", "2000-02-29", "2000-03-31", "2001-01-31"];
        let mid = ["1999-11-15", "1999-12-15", "2000-01-15", "2000-03-15"];
        let years = ["1950-07-01", "1951-07-01", "1953-07-01"];
        let business = ["2000-01-06", "2000-01-07", "2000-01-10", "2000-01-31"];
        let hours = ["2000-01-01T06:00:00", "2000-01-01T18:00:00", "2000-01-02"];
        let cases: [(&[&str], TimeUnit, &[f64]); 5] = [
            (&months, TimeUnit::Month, &[0.0, 1.0, 2.0, 12.0]),
            (&mid, TimeUnit::Month, &[0.0, 1.0, 2.0, 4.0]),
            (&years, TimeUnit::Year, &[0.0, 1.0, 3.0]),
            (&business, TimeUnit::BusinessDay, &[0.0, 1.0, 2.0, 17.0]),
            (&hours, TimeUnit::Hour, &[0.0, 12.0, 18.0]),
        ];
        for (dates, unit, expected) in cases {
            let days = days(dates);
            let epoch = first_epoch(&days, unit).unwrap();
            let found = epoch.count(&days).unwrap();
            for (k, (found, expected)) in found.iter().zip(expected).enumerate() {
                assert!((found - expected).abs() < 1e-9, "{dates:?}: {found}");
                assert_eq!(epoch.date(*found), dates[k]);
            }
        }
    }

    #[test]
    fn days_of_no_unit_are_refused() {
        let refused = |dates: &[&str]| {
            let days = days(dates);
            let epoch = first_epoch(&days, TimeUnit::BusinessDay);
            epoch.and_then(|epoch| epoch.count(&days)).is_err()
        };
        assert!(refused(&["2000-01-01"]) && refused(&["2000-01-03T12:00:00"]));
        assert!(!refused(&["2000-01-03"]));
    }

    #[test]
    fn a_run_keeps_its_epoch() {
        let folder = tempfile::tempdir().unwrap();
        let record = Ensemble::from_array(ndarray::Array2::zeros((2, 1)), 1.0).unwrap();
        for unit in TimeUnit::value_variants() {
            let epoch = first_epoch(&days(&["2000-01-31"]), *unit);
            let epoch = epoch.unwrap();
            epoch.save(folder.path(), &record).unwrap();
            assert_eq!(Epoch::of_run(folder.path()).unwrap(), Some(epoch));
        }
        // As the Python package writes it.
        let text = r#"{"units": {"y": "K"}, "time_unit": "M",
            "form": {"kind": "pandas", "origin": "1950-01", "anchor": "14.5"}}"#;
        std::fs::write(folder.path().join(FILE), text).unwrap();
        let epoch = Epoch::of_run(folder.path()).unwrap();
        assert_eq!(epoch.unwrap().date(1.0), "1950-02-15T12:00:00");
    }
}
