//! Pre-flight: is the record stationary, long enough, fine enough, Markov, clean?
//!
//! What the samples are like one by one is in `law`, how they move in `motion`.

mod angles;
mod cells;
mod config;
mod correlation;
mod curve;
mod cycle;
mod duplicate;
mod excerpt;
mod law;
mod markov;
mod motion;
mod noise;
mod record;
mod report;
mod series;
mod stationarity;
mod trajectories;

use std::borrow::Cow;

use crate::control::Control;
use crate::data::{Ensemble, Standardiser};
use crate::error::Result;
use crate::finding::{Finding, FindingKind, Severity, Verdict, digits};
use crate::space::SpaceConfig;

pub use config::CheckConfig;
use correlation::Correlations;
use excerpt::Excerpt;
pub(crate) use law::Lattices;
pub(crate) use markov::MarkovOutcome;
use record::Record;
pub(crate) use record::interval as mean_interval;
pub use report::{Angle, Bound, BoundKind, Bounds, CheckReport, CoordinateReport, Curve, Motion};

/// Samples below which nothing is tested.
const FEWEST: usize = 32;

/// Look at the data before a fit, and say in words what is wrong with them and what to do.
///
/// In this order: cycles, which are then removed; trends, which are then removed; the halves of
/// the record compared; decorrelation and integrated times and what they say about the length and
/// the sampling interval; duplicate coordinates; measurement noise; the Markov property. The data
/// are read several times, long records with a stride where nothing is lost by it.
///
/// # Errors
/// When the work is stopped, or a coordinate is too large or too small for its variance to be
/// represented.
///
/// ```
/// use ergode::{CheckConfig, Control, Verdict, check_ensemble};
/// use ergode::systems::{OrnsteinUhlenbeck, System, generate};
///
/// let system = OrnsteinUhlenbeck::new(Default::default())?;
/// let data = generate(&system, &system.protocol(), &Control::new())?.ensemble;
/// let report = check_ensemble(&data, &CheckConfig::default(), &Control::new())?;
/// assert_eq!(report.verdict, Verdict::Pass);
/// # Ok::<(), ergode::Error>(())
/// ```
pub fn check_ensemble(
    ensemble: &Ensemble,
    config: &CheckConfig,
    control: &Control,
) -> Result<CheckReport> {
    check_in_space(ensemble, config, &SpaceConfig::default(), control)
}

/// [`check_ensemble`] of coordinates that live where `space` says.
pub(crate) fn check_in_space(
    ensemble: &Ensemble,
    config: &CheckConfig,
    space: &SpaceConfig,
    control: &Control,
) -> Result<CheckReport> {
    ensemble.intact(examine(ensemble, config, space, control))
}

fn examine(
    given: &Ensemble,
    config: &CheckConfig,
    space: &SpaceConfig,
    control: &Control,
) -> Result<CheckReport> {
    let mut report = blank(given);
    let (ensemble, jumps) = record::without_jumps(given)?;
    let ensemble = &*ensemble;
    report.findings.extend(record::unevenness(ensemble));
    report.findings.extend(jumps);
    let constant = ensemble.constant_coordinates();
    let mut active: Vec<usize> = (0..ensemble.dim())
        .filter(|j| !constant.contains(j))
        .collect();
    if ensemble.samples() < FEWEST || record::longest(ensemble) < 2 || active.is_empty() {
        report.findings.push(too_little(ensemble, active.len()));
        if let Ok(scales) = Standardiser::from_ensemble(ensemble) {
            fill_scales(&mut report, &scales, &active);
        }
        return Ok(report.conclude());
    }
    let mut raw = Record::new(record::columns(ensemble, &active)?, control)?;
    let mut excerpt = Excerpt::collect(&raw);
    let found = &mut report.findings;
    let circles = angles::choose(ensemble, &excerpt, &active, space, found);
    if circles.iter().any(Option::is_some) {
        let (lifted, sources) = ensemble
            .with_circles(&circles)?
            .columns(&active)?
            .lifted()?;
        raw = Record::new(Cow::Owned(lifted), control)?;
        angles::describe(&mut report, &circles, &excerpt, &active);
        excerpt = Excerpt::collect(&raw);
        active = sources.into_iter().map(|k| active[k]).collect();
    }
    fill_scales(&mut report, &raw.scales, &active);
    examine_record(raw, &excerpt, &active, config, report, control)
}

/// The rest of the check, of a record whose coordinate k is the coordinate `active[k]` of the report, or the
/// cosine or sine of it.
fn examine_record(
    original: Record,
    excerpt: &Excerpt,
    active: &[usize],
    config: &CheckConfig,
    mut report: CheckReport,
    control: &Control,
) -> Result<CheckReport> {
    let (record, hidden_cycle) = without_signals(original, config, control, &mut report.findings)?;
    stationarity::halves(&record, config, control, &mut report.findings)?;
    control.advance(0)?;
    if let Some(correlations) =
        Correlations::measure(&record, config.decorrelation_threshold, control)?
    {
        let times = scales_of_time(&record, &correlations, active, config, &mut report);
        let found = &mut report.findings;
        let independent = duplicate::find(&record, &correlations.equal_time, config, found)?;
        let noisy = noise::find(&record, &correlations, &times, config, found);
        let noisy = noisy.contains(&true);
        usable_lags(&mut report, if noisy { record.interval } else { 0.0 });
        law::examine(excerpt, active, &mut report);
        motion::examine(excerpt, &correlations, active, &mut report)?;
        // Cosine and sine of an angle are on a curve.
        let lines = independent.iter().copied();
        let lines: Vec<usize> = lines
            .filter(|&k| report.coordinates[active[k]].angle.is_none())
            .collect();
        report.curve = curve::find(excerpt, &lines, &mut report.findings)?;
        trajectories::compare(&record, config, &mut report.findings)?;
        control.advance(0)?;
        let known: Vec<f64> = independent.iter().filter_map(|&k| times[k]).collect();
        if known.len() == independent.len() && !hidden_cycle {
            let setting = markov::Setting {
                coordinates: &independent,
                observed: independent.len(),
                times: extremes(&known),
                effective: active
                    .iter()
                    .map(|&j| report.coordinates[j].effective_samples)
                    .fold(f64::INFINITY, f64::min),
                noisy,
            };
            let outcome = markov::test(&record, &setting, config, control)?;
            report.findings.extend(outcome.and_then(|o| o.finding));
        }
    }
    Ok(report.conclude())
}

fn too_little(ensemble: &Ensemble, active: usize) -> Finding {
    Finding::new(
        FindingKind::ShortRecord,
        Severity::Fail,
        format!(
            "too little data to test: {} samples, at most {} in a row, {active} coordinates that vary",
            ensemble.samples(),
            record::longest(ensemble),
        ),
        "collect more data",
    )
}

fn extremes(times: &[f64]) -> [f64; 2] {
    let all = times.iter().copied();
    [
        all.clone().fold(f64::INFINITY, f64::min),
        all.fold(0.0, f64::max),
    ]
}

/// A cycle that stands out of a spectrum and is large enough to matter.
pub(crate) struct FoundCycle {
    /// Its period.
    pub(crate) period: f64,
    /// Its amplitude, as a fraction of the standard deviation of its coordinate.
    pub(crate) amplitude: f64,
}

/// The cycles of a record that its whole length shows.
pub(crate) fn find_cycles(
    ensemble: &Ensemble,
    config: &CheckConfig,
    control: &Control,
) -> Result<Vec<FoundCycle>> {
    let record = Record::new(Cow::Borrowed(ensemble), control)?;
    let lines = cycle::find(&record, config, control, &mut Vec::new())?;
    let removable = lines.iter().filter(|line| line.removable);
    Ok(removable
        .map(|line| FoundCycle {
            period: 1.0 / line.frequency,
            amplitude: line.amplitude() / record.scales.scale[line.coordinate],
        })
        .collect())
}

/// The Markov test of states whose first `observed` coordinates are those that `report` is of; only these
/// are judged at the later time. None if there is too little data to test.
pub(crate) fn test_markov(
    states: &Ensemble,
    observed: usize,
    report: &CheckReport,
    config: &CheckConfig,
    control: &Control,
) -> Result<Option<MarkovOutcome>> {
    let known = report.coordinates.iter().filter_map(|c| c.crossing_time);
    let known: Vec<f64> = known.collect();
    if known.len() < report.coordinates.len() {
        return Ok(None);
    }
    let coordinates: Vec<usize> = (0..states.dim()).collect();
    let effective = report.coordinates.iter().map(|c| c.effective_samples);
    let setting = markov::Setting {
        coordinates: &coordinates,
        observed,
        times: extremes(&known),
        effective: effective.fold(f64::INFINITY, f64::min),
        noisy: report
            .findings
            .iter()
            .any(|f| f.kind == FindingKind::Noise && f.severity > Severity::Info),
    };
    let record = Record::new(Cow::Borrowed(states), control)?;
    markov::test(&record, &setting, config, control)
}

/// The lag at which the envelope of the autocorrelation of each coordinate falls below 0.05. Where the record
/// is too short to show it, the last lag that it has; none for a constant coordinate, or where no two samples
/// follow one another. Of an angle it is the longer one of its cosine and its sine.
pub(crate) fn decorrelation_times(
    ensemble: &Ensemble,
    control: &Control,
) -> Result<Vec<Option<f64>>> {
    if ensemble.has_circles() {
        let (lifted, sources) = ensemble.lifted()?;
        let times = decorrelation_times(&lifted, control)?;
        return Ok(angles::longest(&times, &sources, ensemble.dim()));
    }
    let threshold = CheckConfig::default().decorrelation_threshold;
    let (ensemble, _) = record::without_jumps(ensemble)?;
    let ensemble = &*ensemble;
    let constant = ensemble.constant_coordinates();
    let active: Vec<usize> = (0..ensemble.dim())
        .filter(|j| !constant.contains(j))
        .collect();
    let mut times = vec![None; ensemble.dim()];
    let longest = record::longest(ensemble);
    if longest < 2 || active.is_empty() {
        return Ok(times);
    }
    let last = record::interval(ensemble) * ((longest - 1) / 2).max(1) as f64;
    for &j in &active {
        times[j] = Some(last);
    }
    if ensemble.samples() < FEWEST {
        return Ok(times);
    }
    let record = Record::new(record::columns(ensemble, &active)?, control)?;
    if let Some(correlations) = Correlations::measure(&record, threshold, control)? {
        for (j, curve) in active.iter().zip(&correlations.curves) {
            let estimate = curve.decorrelation_time(threshold);
            times[*j] = estimate.or_else(|| curve.lags.last().copied());
        }
    }
    Ok(times)
}

/// The report before anything is measured, with what the ensemble itself has to say.
fn blank(ensemble: &Ensemble) -> CheckReport {
    let findings = ensemble
        .warnings()
        .into_iter()
        .map(|warning| {
            let (message, advice) = warning.split_once("; ").unwrap_or((&warning, ""));
            Finding::new(FindingKind::Data, Severity::Warn, message, advice)
        })
        .collect();
    let mut findings: Vec<Finding> = findings;
    findings.extend(record::gaps(ensemble));
    findings.extend(record::repeated(ensemble));
    let mut row = vec![0.0; ensemble.dim()];
    let start = &ensemble.segments()[0];
    ensemble.trajectories()[start.trajectory].row(start.rows.start, &mut row);
    let coordinates = ensemble
        .names()
        .iter()
        .enumerate()
        .map(|(j, name)| CoordinateReport {
            name: name.clone(),
            // Right where the coordinate is constant; the others are measured later.
            mean: row[j],
            std: 0.0,
            decorrelation_time: None,
            crossing_time: None,
            integrated_time: None,
            effective_samples: 0.0,
            usable_lag: None,
            bounds: Bounds::default(),
            angle: None,
            quantum: None,
            outliers: 0,
            tail_index: None,
            motion: Motion::default(),
            autocorrelation: Vec::new(),
        })
        .collect();
    CheckReport {
        sampling_interval: record::interval(ensemble),
        even_sampling: ensemble.sampling_interval().is_some(),
        samples: ensemble.samples(),
        trajectories: ensemble.len(),
        coordinates,
        curve: None,
        second_order: Vec::new(),
        usable_lags: [0.0, 0.0],
        findings,
        verdict: Verdict::Pass,
    }
}

fn fill_scales(report: &mut CheckReport, scales: &Standardiser, active: &[usize]) {
    for (k, &j) in active.iter().enumerate() {
        let entry = &mut report.coordinates[j];
        if entry.angle.is_none() {
            (entry.mean, entry.std) = (scales.mean[k], scales.scale[k]);
        }
    }
}

/// The record without its cycles and trends, and whether a cycle was left in.
fn without_signals<'a>(
    mut record: Record<'a>,
    config: &CheckConfig,
    control: &Control,
    findings: &mut Vec<Finding>,
) -> Result<(Record<'a>, bool)> {
    let lines = cycle::find(&record, config, control, findings)?;
    let hidden = lines.iter().any(|line| !line.removable);
    if lines.iter().any(|line| line.removable) {
        let cycles = move |t: f64, j: usize| {
            lines
                .iter()
                .filter(|line| line.removable && line.coordinate == j)
                .map(|line| line.at(t))
                .sum()
        };
        record = record.without(cycles, control)?;
    }
    control.advance(0)?;
    let slopes = stationarity::trends(&record, config, control, findings)?;
    if slopes.iter().any(|slope| *slope != 0.0) {
        record = record.without(move |t, j| slopes[j] * t, control)?;
    }
    Ok((record, hidden))
}

/// Fill in the times of every coordinate, and judge the length and the sampling by them; returns the lags at
/// which the autocorrelations first cross the threshold.
fn scales_of_time(
    record: &Record,
    correlations: &Correlations,
    active: &[usize],
    config: &CheckConfig,
    report: &mut CheckReport,
) -> Vec<Option<f64>> {
    let samples = record.ensemble.samples() as f64;
    let mut times = Vec::new();
    for (curve, &j) in correlations.curves.iter().zip(active) {
        let crossing = curve.crossing_time(config.decorrelation_threshold);
        let integrated = curve.integrated_time().map(|t| t.0);
        times.push(crossing);
        let entry = &mut report.coordinates[j];
        let slower = integrated >= entry.integrated_time;
        if !entry.autocorrelation.is_empty() && !slower {
            // Of the cosine and the sine of an angle the slower one counts.
            continue;
        }
        entry.decorrelation_time = curve.decorrelation_time(config.decorrelation_threshold);
        entry.crossing_time = crossing;
        entry.integrated_time = integrated;
        entry.effective_samples =
            integrated.map_or(0.0, |tau| (record.total_time() / (2.0 * tau)).min(samples));
        entry.usable_lag = curve.usable_lag(config.decorrelation_threshold);
        entry.autocorrelation = points(curve);
    }
    report
        .findings
        .extend(length(record, &correlations.curves, config));
    report.findings.extend(sampling(record, &times, config));
    times
}

fn points(curve: &correlation::Curve) -> Vec<[f64; 3]> {
    (0..curve.lags.len())
        .map(|k| [curve.lags[k], curve.rho[k], curve.error[k]])
        .collect()
}

/// Is the record long enough for the slowest coordinate?
///
/// Counted are N Δ / d, with d the decorrelation time or, where that is less, the time at which an
/// exponential of the same integral crosses the threshold, τ_int ln(1/threshold): the noisy tail of a
/// curve may cross late. A curve that oscillates has d from its integral already; one that never crosses has
/// d beyond its last lag.
fn length(record: &Record, curves: &[correlation::Curve], config: &CheckConfig) -> Option<Finding> {
    let threshold = config.decorrelation_threshold;
    let time = |curve: &correlation::Curve| match curve.decorrelation_time(threshold) {
        Some(d) if curve.oscillates() => d,
        Some(d) => {
            let exponential = curve
                .integrated_time()
                .map(|(tau, _)| -tau * threshold.ln());
            d.min(exponential.unwrap_or(d))
        }
        None => curve.lags.last().copied().unwrap_or(record.interval),
    };
    let (slowest, time) = curves
        .iter()
        .map(time)
        .enumerate()
        .max_by(|a, b| a.1.total_cmp(&b.1))?;
    let many = record.total_time() / time;
    let crosses = curves[slowest].decorrelation_time(threshold).is_some();
    if crosses && many >= config.short_warn {
        return None;
    }
    let name = &record.ensemble.names()[slowest];
    Some(Finding::new(
        FindingKind::ShortRecord,
        if many < config.short_fail {
            Severity::Fail
        } else {
            Severity::Warn
        },
        if crosses {
            format!(
                "the record spans only {many:.0} decorrelation times of the slowest coordinate '{name}' \
                 ({} each); at least {:.0} are recommended",
                digits(time),
                config.short_warn
            )
        } else {
            format!(
                "the autocorrelation of '{name}' does not fall below {threshold} within the available \
                 lags (up to {}): the record spans at most {many:.0} decorrelation times",
                digits(time)
            )
        },
        if crosses {
            "collect a longer record or more trajectories"
        } else {
            "collect longer trajectories with fewer gaps; lags do not cross gaps unless bridge_gaps = \
             true, for gaps that are missing samples"
        },
    ))
}

/// Is the sampling interval short against the fastest fall of an autocorrelation?
fn sampling(record: &Record, times: &[Option<f64>], config: &CheckConfig) -> Option<Finding> {
    let (time, k) = times
        .iter()
        .enumerate()
        .filter_map(|(k, time)| time.map(|t| (t, k)))
        .min_by(|a, b| a.0.total_cmp(&b.0))?;
    let ratio = record.interval / time;
    let (severity, advice) = if ratio > config.coarse_fail {
        (
            Severity::Fail,
            "sample more often: consecutive samples are almost independent",
        )
    } else if ratio > config.coarse_warn {
        (
            Severity::Warn,
            "use recipe semigroup, or sample more often; recipes that differentiate or integrate over \
             lags fail here",
        )
    } else {
        return None;
    };
    Some(Finding::new(
        FindingKind::CoarseSampling,
        severity,
        format!(
            "the sampling interval {} is {ratio:.2} times the shortest decorrelation time, {} of '{}'",
            digits(record.interval),
            digits(time),
            record.ensemble.names()[k]
        ),
        advice,
    ))
}

/// From the first lag without measurement noise to the last at which some coordinate is still correlated.
fn usable_lags(report: &mut CheckReport, first: f64) {
    let last = report
        .coordinates
        .iter()
        .filter_map(|c| c.usable_lag)
        .fold(report.sampling_interval, f64::max);
    report.usable_lags = [first, last.max(first)];
    report.findings.push(Finding::new(
        FindingKind::UsableLags,
        Severity::Info,
        format!("lags from {} to {} are usable", digits(first), digits(last)),
        "choose lags in this range",
    ));
}
