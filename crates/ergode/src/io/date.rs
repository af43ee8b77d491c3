//! Calendar dates as times.

use jiff::civil::{Date, DateTime, Time, date};
use jiff::{SignedDuration, Unit};

/// Days from 1970-01-01 to a date of the Gregorian calendar, `YYYY-MM-DD` or `YYYY/MM/DD`, with or without
/// a time of day after a blank or `T`, `HH:MM`, `HH:MM:SS` or with decimals, and with or without `Z`.
pub(crate) fn days(text: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(text).ok()?.trim();
    // Most fields that are looked at are numbers.
    let year = text.as_bytes().first_chunk::<4>()?;
    if !year.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let (day, clock) = match text.split_once(['T', ' ']) {
        Some((day, clock)) => (day, clock.strip_suffix('Z').unwrap_or(clock)),
        None => (text, ""),
    };
    let format = if day.contains('/') {
        "%Y/%m/%d"
    } else {
        "%Y-%m-%d"
    };
    let whole = Date::strptime(format, day)
        .ok()?
        .duration_since(date(1970, 1, 1));
    let time = match clock {
        "" => Time::midnight(),
        _ => ["%H:%M", "%H:%M:%S%.f"]
            .iter()
            .find_map(|format| Time::strptime(format, clock).ok())?,
    };
    let part = time.duration_since(Time::midnight());
    Some((whole.as_hours() / 24) as f64 + part.as_secs_f64() / 86_400.0)
}

/// The date so many days after 1970-01-01, `YYYY-MM-DD`, with the time of day `THH:MM:SS` unless it is midnight;
/// to the nearest second, and the number itself where it is beyond the years that a date can have.
pub fn date_of(days: f64) -> String {
    let start = DateTime::from_parts(date(1970, 1, 1), Time::midnight());
    let seconds = (days * 86_400.0).round();
    let moved = SignedDuration::try_from_secs_f64(seconds)
        .ok()
        .and_then(|by| start.checked_add(by).ok());
    match moved.and_then(|moved| moved.round(Unit::Second).ok()) {
        Some(moved) if moved.time() == Time::midnight() => moved.date().to_string(),
        Some(moved) => moved.to_string(),
        None => days.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::{date_of, days};

    #[test]
    fn days_are_dates_again() {
        for text in [
            "1970-01-01",
            "1969-12-31",
            "2024-02-29",
            "2012-01-01T12:30:00",
        ] {
            assert_eq!(date_of(days(text.as_bytes()).unwrap()), text);
        }
        assert_eq!(date_of(1e12), "1000000000000");
    }

    #[test]
    fn dates_are_counted_and_others_refused() {
        for (text, expected) in [
            ("1970-01-01", 0.0),
            ("1969-12-31", -1.0),
            ("1972/2/29", 789.0),
            ("2000-03-01", 11_017.0),
            ("1900-03-01", -25_508.0),
            ("2026-11-16T06:00:00Z", 20_773.25),
            ("2012/01/01 12:30", 15_340.0 + 12.5 / 24.0),
        ] {
            let found = days(text.as_bytes()).unwrap();
            assert!((found - expected).abs() < 1e-9, "{text}: {found}");
        }
        for text in [
            "",
            "12",
            "2020-13-01",
            "2021-02-29",
            "1900-02-29",
            "20-01-01",
            "2020-01-01-01",
            "2020-01-01 25:00",
            "2020-01-01 aa",
            "2020-1-",
            "-5-01-01",
            "2020-01-01T12",
        ] {
            assert_eq!(days(text.as_bytes()), None, "{text}");
        }
    }
}
