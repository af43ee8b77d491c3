//! Calendar dates as times.

use jiff::civil::{Date, Time, date};

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

#[cfg(test)]
mod tests {
    use super::days;

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
