//! The order of the noise: how the error of a prediction grows.

use ndarray::{Array1, Array2};

use crate::check::excerpt::Excerpt;
use crate::check::report::{CheckReport, Motion};
use crate::error::Result;
use crate::finding::{Finding, FindingKind, Severity};
use crate::linalg;

/// Rows of a regression.
const ROWS: usize = 20_000;
const FEWEST: usize = 300;
/// Coordinates up to which all of them predict; beyond, each predicts itself.
const TOGETHER: usize = 16;
/// Mean square displacement in one step, as a fraction of twice the variance, up to which motion is resolved.
const RESOLVED: f64 = 0.05;
/// Growth of the mean square displacement, as a power of time, that smooth motion has.
const BALLISTIC: f64 = 1.8;
/// Growth of the error of prediction from which noise is of second order, and from which there is none.
const SECOND: f64 = 2.4;
const SMOOTH: f64 = 3.7;
/// Errors of prediction, in variances, that are the rounding of the numbers.
const ROUNDING: f64 = 1e-12;
/// Part of the variance of the increments that the state predicts where it contains the velocity.
const VELOCITY: f64 = 0.9;

/// The motion of every coordinate.
///
/// Predicted is x(t + kΔ), linearly from all coordinates at t and t − kΔ. The variance of the error grows
/// as k where noise moves the coordinate itself, as k³ where it enters through the velocity, and faster where
/// there is none.
pub(in crate::check) fn find(
    excerpt: &Excerpt,
    walks: &[bool],
    active: &[usize],
    report: &mut CheckReport,
) -> Result<()> {
    let dim = excerpt.dim();
    if excerpt.interval.is_none() || excerpt.places(4, 4, ROWS).len() < FEWEST {
        return Ok(());
    }
    let own: Vec<Vec<usize>> = (0..dim).map(|j| vec![j]).collect();
    let groups = if dim <= TOGETHER {
        vec![(0..dim).collect()]
    } else {
        own
    };
    let mut orders = vec![Motion::Diffusive; dim];
    let mut known = vec![false; dim];
    for group in &groups {
        let [one, two] = [1, 2].map(|k| Step::measure(excerpt, group, k));
        let (one, two) = (one?, two?);
        for (g, &j) in group.iter().enumerate() {
            let power = |f: &dyn Fn(&Step) -> f64| (f(&two) / f(&one)).log2();
            let resolved = one.displaced[g] < 2.0 * RESOLVED && one.displaced[g] > 0.0;
            if !resolved || walks[j] || power(&|s| s.displaced[g]) < BALLISTIC {
                continue;
            }
            let growth = power(&|s| s.error[g].max(f64::MIN_POSITIVE));
            orders[j] = match growth {
                _ if one.error[g] < ROUNDING => Motion::Smooth,
                growth if growth < SECOND => Motion::Diffusive,
                growth if growth < SMOOTH => Motion::SecondOrder,
                _ => Motion::Smooth,
            };
            known[j] = one.now[g] < (1.0 - VELOCITY) * one.displaced[g];
        }
    }
    for (k, &j) in active.iter().enumerate() {
        report.coordinates[j].motion = orders[k];
    }
    conclude(excerpt, &orders, &known, report);
    Ok(())
}

fn conclude(excerpt: &Excerpt, orders: &[Motion], known: &[bool], report: &mut CheckReport) {
    let listed = |names: &[usize]| {
        let names = names.iter().map(|&j| format!("'{}'", excerpt.names[j]));
        names.collect::<Vec<_>>().join(", ")
    };
    let all = 0..orders.len();
    let smooth: Vec<usize> = all
        .clone()
        .filter(|&j| orders[j] == Motion::Smooth)
        .collect();
    if smooth.len() == orders.len() {
        report.findings.push(Finding::new(
            FindingKind::Deterministic,
            Severity::Warn,
            format!("the motion of {} is smooth: no noise is seen", listed(&smooth)),
            "a Langevin equation needs noise, and its diffusion here is zero: fit an ordinary differential equation; \
             if the record was smoothed or filtered, give the raw one",
        ));
        return;
    }
    let of = |wanted: bool| -> Vec<usize> {
        let second = all.clone().filter(|&j| orders[j] != Motion::Diffusive);
        second.filter(|&j| known[j] == wanted).collect()
    };
    let (seen, unseen) = (of(true), of(false));
    if !seen.is_empty() {
        report.findings.push(Finding::new(
            FindingKind::SecondOrder,
            Severity::Info,
            format!(
                "noise enters {} through a velocity, which the other coordinates contain; its own diffusion is zero",
                listed(&seen)
            ),
            "nothing to do: the velocity is part of the state",
        ));
    }
    if unseen.is_empty() {
        return;
    }
    report.findings.push(Finding::new(
        FindingKind::SecondOrder,
        Severity::Warn,
        format!(
            "the motion of {} is of second order: its mean square displacement grows as t², and noise enters through \
             a velocity that is not observed",
            listed(&unseen)
        ),
        "add the velocity to the state: as a coordinate, or through delays (set delays.count to a number or \
         \"auto\")",
    ));
    report.second_order = unseen.iter().map(|&j| excerpt.names[j].clone()).collect();
}

/// Motion over k samples, in units of the variance of each coordinate.
struct Step {
    /// Mean square displacement.
    displaced: Vec<f64>,
    /// Mean square of what the coordinates now and k samples before leave of it.
    error: Vec<f64>,
    /// The same from the coordinates now alone.
    now: Vec<f64>,
}

impl Step {
    fn measure(excerpt: &Excerpt, group: &[usize], k: usize) -> Result<Self> {
        let places = excerpt.places(k, k, ROWS);
        let (n, g) = (places.len(), group.len());
        // 1, the state now, the displacements before.
        let mut design = Array2::zeros((n, 1 + 2 * g));
        let mut target = Array2::zeros((n, g));
        for (row, &t) in places.iter().enumerate() {
            design[[row, 0]] = 1.0;
            for (i, &j) in group.iter().enumerate() {
                let x = excerpt.unit(j, t);
                design[[row, 1 + i]] = x;
                design[[row, 1 + g + i]] = x - excerpt.unit(j, t - k);
                target[[row, i]] = excerpt.unit(j, t + k) - x;
            }
        }
        let squares = |a: &Array2<f64>| -> Vec<f64> {
            let columns = a.columns().into_iter();
            columns.map(|c| c.dot(&c) / n as f64).collect()
        };
        let left = |columns: usize| {
            let design = design.slice(ndarray::s![.., ..columns]);
            let scale: Array1<f64> = design
                .columns()
                .into_iter()
                .map(|c| c.dot(&c).sqrt().max(f64::MIN_POSITIVE))
                .collect();
            let design = &design / &scale;
            let gram = design.t().dot(&design);
            let inverse = linalg::pseudo_inverse(gram.view(), 1e-14);
            squares(&(&target - &design.dot(&inverse.dot(&design.t().dot(&target)))))
        };
        Ok(Self {
            displaced: squares(&target),
            error: left(1 + 2 * g),
            now: left(1 + g),
        })
    }
}
