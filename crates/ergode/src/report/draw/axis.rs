//! Numbers along an axis: where they stand, and which are named.

use crate::report::figure::Axis;

/// Larger numbers are not shown: their differences and powers might not be numbers.
const LARGEST: f64 = 1e100;

/// An axis with its range fixed.
#[derive(Clone, Debug)]
pub(super) struct Scale {
    pub(super) low: f64,
    pub(super) high: f64,
    pub(super) log: bool,
}

/// Named numbers of an axis, and a factor that stands beside the name of the axis.
#[derive(Clone, Debug)]
pub(super) struct Ticks {
    pub(super) at: Vec<f64>,
    pub(super) labels: Vec<String>,
    /// " (×10⁻⁵)" or nothing.
    pub(super) factor: String,
}

impl Scale {
    /// The scale of an axis that shows `values`, with a margin of a fraction of its length.
    pub(super) fn new(axis: &Axis, values: impl Iterator<Item = f64>, margin: f64) -> Self {
        let shown = |v: &f64| match axis.log {
            true => (1.0 / LARGEST..=LARGEST).contains(v),
            false => v.abs() <= LARGEST,
        };
        let start = (f64::INFINITY, f64::NEG_INFINITY);
        let found = values
            .filter(shown)
            .fold(start, |(low, high), v| (low.min(v), high.max(v)));
        if let Some([low, high]) = axis.range
            && low < high
            && shown(&low)
            && shown(&high)
        {
            return Self {
                low,
                high,
                log: axis.log,
            };
        }
        let mut scale = Self {
            low: found.0,
            high: found.1,
            log: axis.log,
        };
        if scale.low > scale.high {
            (scale.low, scale.high) = if axis.log { (0.1, 1.0) } else { (0.0, 1.0) };
        }
        let (low, high) = (scale.inner(scale.low), scale.inner(scale.high));
        let pad = match high - low {
            0.0 if axis.log => 0.5,
            0.0 => 0.5 * low.abs().max(1e-12),
            length => margin * length,
        };
        (scale.low, scale.high) = (scale.outer(low - pad), scale.outer(high + pad));
        scale
    }

    fn inner(&self, value: f64) -> f64 {
        if self.log { value.log10() } else { value }
    }

    fn outer(&self, value: f64) -> f64 {
        if self.log { 10f64.powf(value) } else { value }
    }

    /// 0 at the low end, 1 at the high end; not a number for what a logarithmic axis cannot show.
    pub(super) fn fraction(&self, value: f64) -> f64 {
        if self.log && value <= 0.0 {
            return f64::NAN;
        }
        let (low, high) = (self.inner(self.low), self.inner(self.high));
        (self.inner(value) - low) / (high - low)
    }

    /// About `count` named numbers.
    pub(super) fn ticks(&self, count: usize) -> Ticks {
        if self.log {
            self.decades(count)
        } else {
            self.even(count)
        }
    }

    fn even(&self, count: usize) -> Ticks {
        let length = self.high - self.low;
        let raw = length / count.max(1) as f64;
        let power = 10f64.powf(raw.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0]
            .into_iter()
            .map(|s| s * power)
            .find(|s| *s >= 0.75 * raw)
            .unwrap_or(10.0 * power);
        let slack = 1e-9 * length;
        let first = ((self.low - slack) / step).ceil() as i64;
        let last = ((self.high + slack) / step).floor() as i64;
        let at: Vec<f64> = (first..=last).map(|k| k as f64 * step).collect();
        let most = self.low.abs().max(self.high.abs());
        let exponent = most.log10().floor() as i32;
        let exponent = if (-2..5).contains(&exponent) {
            0
        } else {
            exponent
        };
        let unit = 10f64.powi(exponent);
        let decimals = (-(step / unit).log10().floor()).clamp(0.0, 9.0) as usize;
        let label = |v: &f64| {
            let text = format!("{:.decimals$}", v / unit);
            // Typographic minus, as wide as a digit.
            text.replace('-', "−")
        };
        Ticks {
            labels: at.iter().map(label).collect(),
            at,
            factor: match exponent {
                0 => String::new(),
                exponent => format!(" (×10{})", superscript(exponent)),
            },
        }
    }

    fn decades(&self, count: usize) -> Ticks {
        let (low, high) = (self.low.log10(), self.high.log10());
        let (first, last) = (low.floor() as i32, high.ceil() as i32);
        let spare = (high - low) < 0.6 * count as f64;
        let factors: &[f64] = match spare {
            true if high - low < 0.3 * count as f64 => &[1.0, 2.0, 5.0],
            true => &[1.0, 3.0],
            false => &[1.0],
        };
        let every = (((high - low) / count.max(1) as f64).ceil() as i32).max(1);
        let inside = |v: &f64| (low - 1e-9..=high + 1e-9).contains(&v.log10());
        let at: Vec<f64> = (first..=last)
            .filter(|k| k.rem_euclid(every) == 0)
            .flat_map(|k| factors.iter().map(move |f| f * 10f64.powi(k)))
            .filter(inside)
            .collect();
        if at.len() < 2 {
            return self.even(count);
        }
        Ticks {
            labels: at.iter().map(|v| logarithmic(*v)).collect(),
            at,
            factor: String::new(),
        }
    }
}

/// A number of a logarithmic axis.
fn logarithmic(value: f64) -> String {
    let exponent = (value.log10() + 1e-9).floor() as i32;
    if (-3..4).contains(&exponent) {
        let decimals = (-exponent).max(0) as usize;
        return format!("{value:.decimals$}");
    }
    let leading = (value / 10f64.powi(exponent)).round();
    let power = format!("10{}", superscript(exponent));
    if leading == 1.0 {
        power
    } else {
        format!("{leading}·{power}")
    }
}

fn superscript(exponent: i32) -> String {
    let raised = |c: char| match c {
        '-' => '⁻',
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        c => char::from_u32(0x2070 + c.to_digit(10).unwrap_or(0)).unwrap_or(c),
    };
    exponent.to_string().chars().map(raised).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_numbers_inside_the_range() {
        let even = Scale {
            low: -0.31,
            high: 1.02,
            log: false,
        }
        .ticks(5);
        assert_eq!(
            even.labels,
            ["−0.2", "0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]
        );
        let small = Scale {
            low: 0.0,
            high: 4.1e-6,
            log: false,
        }
        .ticks(4);
        assert_eq!((small.labels.len(), small.factor.as_str()), (5, " (×10⁻⁶)"));
        let log = Scale {
            low: 2e-7,
            high: 3.0,
            log: true,
        }
        .ticks(5);
        assert_eq!(log.labels[0], "10⁻⁶");
        let short = Scale {
            low: 0.9,
            high: 6.0,
            log: true,
        }
        .ticks(5);
        assert_eq!(short.labels, ["1", "2", "5"]);
    }

    #[test]
    fn scales_of_nothing_or_of_one_number_have_a_length() {
        for values in [
            vec![],
            vec![f64::NAN],
            vec![0.0],
            vec![3.0, 3.0],
            vec![1.0, 1e300],
            vec![-1.0],
        ] {
            for log in [false, true] {
                let axis = Axis {
                    log,
                    ..Axis::default()
                };
                let scale = Scale::new(&axis, values.iter().copied(), 0.05);
                assert!(scale.low < scale.high, "{values:?} {log}: {scale:?}");
                assert!(scale.ticks(5).at.iter().all(|v| v.is_finite()));
            }
        }
    }
}
