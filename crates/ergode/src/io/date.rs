//! Calendar dates as times.

/// Days from 1970-01-01 to a date of the Gregorian calendar, `YYYY-MM-DD` or `YYYY/MM/DD`, with or without
/// a time of day after a blank or `T`, `HH:MM`, `HH:MM:SS` or with decimals, and with or without `Z`.
pub(crate) fn days(text: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(text).ok()?.trim();
    let (date, clock) = match text.split_once(['T', ' ']) {
        Some((date, clock)) => (date, clock.strip_suffix('Z').unwrap_or(clock)),
        None => (text, ""),
    };
    let separator = if date.contains('/') { '/' } else { '-' };
    let mut parts = date.split(separator);
    let mut number = |digits: std::ops::RangeInclusive<usize>| -> Option<i64> {
        let part = parts.next()?;
        let plain = digits.contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit());
        plain.then(|| part.parse().ok())?
    };
    let (year, month, day) = (number(4..=4)?, number(1..=2)?, number(1..=2)?);
    if parts.next().is_some() || !(1..=12).contains(&month) {
        return None;
    }
    if !(1..=length(year, month)).contains(&day) {
        return None;
    }
    let before: i64 = (1..month).map(|month| length(year, month)).sum();
    let days = (leap_days(year) - leap_days(1970)) + 365 * (year - 1970) + before + day - 1;
    Some(days as f64 + fraction(clock)?)
}

/// Days of a month.
fn length(year: i64, month: i64) -> i64 {
    match month {
        2 => 28 + leap_days(year + 1) - leap_days(year),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Leap days before the first of January of a year.
fn leap_days(year: i64) -> i64 {
    let before = year - 1;
    before / 4 - before / 100 + before / 400
}

/// A time of day as a part of it; zero for none.
fn fraction(clock: &str) -> Option<f64> {
    if clock.is_empty() {
        return Some(0.0);
    }
    let parts: Vec<&str> = clock.split(':').collect();
    let plain = |part: &&str| part.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    if !(2..=3).contains(&parts.len()) || !parts.iter().all(plain) {
        return None;
    }
    let mut seconds = 0.0;
    for (part, (unit, most)) in parts
        .iter()
        .zip([(3600.0, 24.0), (60.0, 60.0), (1.0, 61.0)])
    {
        let value: f64 = part.parse().ok()?;
        if value >= most {
            return None;
        }
        seconds += unit * value;
    }
    Some(seconds / 86_400.0)
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
