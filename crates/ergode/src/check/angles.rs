//! Coordinates that are angles: which they are, and how their statistics are taken.
//!
//! The statistics of an angle are those of its cosine and its sine: a wrapped angle jumps at the seam.

use ndarray::ArrayView1;

use super::excerpt::Excerpt;
use super::law;
use super::report::{Angle, CheckReport};
use crate::data::{Circle, Ensemble};
use crate::finding::{Finding, FindingKind, Severity, digits};
use crate::space::{DomainChoice, SpaceConfig};

/// The circles of the coordinates, as configured or seen, in the order of the coordinates.
pub(super) fn choose(
    given: &Ensemble,
    excerpt: &Excerpt,
    active: &[usize],
    space: &SpaceConfig,
    findings: &mut Vec<Finding>,
) -> Vec<Option<Circle>> {
    let mut circles: Vec<Option<Circle>> = given.circles().collect();
    for (k, &j) in active.iter().enumerate() {
        let name = &given.names()[j];
        let choice = space.of(name);
        let seen = || law::angle(excerpt, k);
        match (circles[j], choice) {
            (None, DomainChoice::Circle(period)) => {
                let low = first(&excerpt.columns[k], period);
                circles[j] = Some(Circle { low, period });
            }
            (None, DomainChoice::Auto | DomainChoice::Line) => {
                let Some((angle, wraps)) = seen() else {
                    continue;
                };
                let line = choice == DomainChoice::Line;
                findings.push(finding(name, angle, wraps, line));
                if !line {
                    let Angle { low, period } = angle;
                    circles[j] = Some(Circle { low, period });
                }
            }
            _ => {}
        }
    }
    circles
}

/// Where a period of this length begins that holds values: at 0, or half a period below it.
fn first(values: &[f64], period: f64) -> f64 {
    let (low, high) = values
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| {
            (low.min(*x), high.max(*x))
        });
    match low < 0.0 && low >= -0.5 * period && high <= 0.5 * period {
        true => -0.5 * period,
        false => 0.0,
    }
}

fn finding(name: &str, angle: Angle, wraps: usize, line: bool) -> Finding {
    let period = digits(angle.period);
    let severity = if line { Severity::Warn } else { Severity::Info };
    Finding::new(
        FindingKind::Angle,
        severity,
        format!(
            "coordinate '{name}' is a wrapped angle of period {period}: {wraps} steps between neighbouring \
             samples are nearly its whole range"
        ),
        match line {
            true => format!(
                "its jumps at the seam are no motion: remove space.{name} = \"line\", or set space.{name} = \
                 {{circle = {}}}",
                angle.period
            ),
            false => format!(
                "a fit treats it as a circle; set space.{name} = {{circle = ...}} for another period, or \
                 space.{name} = \"line\" if it is no angle"
            ),
        },
    )
}

/// Fills in the circles of the report, with the mean direction and the deviation of the angles:
/// ⟨e^{iθ}⟩ = R e^{iμ}, σ² = −2 ln R.
pub(super) fn describe(
    report: &mut CheckReport,
    circles: &[Option<Circle>],
    excerpt: &Excerpt,
    active: &[usize],
) {
    for (k, &j) in active.iter().enumerate() {
        let Some(circle) = circles[j] else { continue };
        let angles = ArrayView1::from(&excerpt.columns[k]).mapv(|x| circle.radians(x));
        let [cos, sin] = [f64::cos, f64::sin].map(|f| angles.mapv(f).mean().unwrap_or(0.0));
        let entry = &mut report.coordinates[j];
        entry.mean = circle.wrap(circle.unit() * sin.atan2(cos));
        entry.std = circle.unit() * (-2.0 * cos.hypot(sin).ln()).max(0.0).sqrt();
        entry.angle = Some(Angle {
            low: circle.low,
            period: circle.period,
        });
    }
}

/// The decorrelation times of the coordinates of a lifted record as those of the coordinates they come from: of
/// an angle the longer one.
pub(super) fn longest(times: &[Option<f64>], sources: &[usize], dim: usize) -> Vec<Option<f64>> {
    let mut out = vec![None; dim];
    for (time, &j) in times.iter().zip(sources) {
        out[j] = match (out[j], *time) {
            (Some(a), Some(b)) => Some(f64::max(a, b)),
            (one, None) | (None, one) => one,
        };
    }
    out
}
