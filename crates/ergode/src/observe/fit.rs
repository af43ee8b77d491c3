//! Trend, cycle and delays of a record.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::config::{Choice, CycleConfig, DelayConfig, ObservationConfig};
use super::cycle::{Cycle, MOST_HARMONICS, ScaleFit, dynamics};
use super::delays::{DelayTrial, Delays, even_interval};
use super::signal::{MeanFit, choose, fit_trend, span};
use super::{Observation, Trend};
use crate::check::{
    CheckConfig, CheckReport, FoundCycle, MarkovOutcome, check_ensemble, find_cycles, test_markov,
};
use crate::control::Control;
use crate::data::Ensemble;
use crate::error::{Error, Result, require_positive};
use crate::finding::{Finding, FindingKind, Severity, Verdict, digits};
use crate::limits::DELAYED_STATE;

/// An observation with what was noticed while it was fitted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ObservationFit {
    /// The map between record and state.
    pub observation: Observation,
    /// The check of the stationary record x, the Markov test that of the states.
    pub check: CheckReport,
    /// The numbers of delays that were tested.
    pub trials: Vec<DelayTrial>,
}

/// Samples in the shortest harmonic.
const SAMPLES_PER_HARMONIC: f64 = 4.0;
/// Delays at most.
const MOST_DELAYS: usize = 3;
/// Delays as a part of the shortest decorrelation time.
const SPACING: f64 = 0.25;

/// Find trend, cycle and delays of a record, and check what is left of it.
///
/// Trend and mean by phase are one least-squares fit, ln σ by phase one of Gaussian likelihood, both to
/// the whole record: a few numbers for each coordinate. The number of harmonics, up to four, is the
/// smallest whose loss in eight stretches of the record, each under the fit to the others, is not worse
/// than the least by more than a standard error.
///
/// # Errors
/// When an option does not fit the record, or the work is stopped.
pub fn fit_observation(
    record: &Ensemble,
    config: &ObservationConfig,
    check: &CheckConfig,
    control: &Control,
) -> Result<ObservationFit> {
    let mut observation = Observation::plain(record.names());
    observation.span = span(record);
    let degree = config.trend.degree();
    let mut findings = Vec::new();
    match period(record, &config.cycle, degree, check, control)? {
        Some(period) => {
            let (trend, cycle) = fit_cycle(record, degree, period, &config.cycle)?;
            (observation.trend, observation.cycle) = (trend, Some(cycle));
        }
        None => {
            observation.trend = fit_trend(record, degree)?;
            findings.extend(config.cycle.period.map(|_| {
                Finding::new(
                    FindingKind::Cycle,
                    Severity::Info,
                    "no cycle was found",
                    "if there is a cycle, set cycle.period to its length",
                )
            }));
        }
    }
    control.advance(0)?;
    let stationary = observation.stationary(record)?;
    let mut report = check_ensemble(&stationary, check, control)?;
    if let Some(cycle) = &observation.cycle {
        findings.extend(dynamics(&stationary, cycle, &report, check)?);
    }
    let trials = fit_delays(
        &mut observation,
        &stationary,
        &config.delays,
        &mut report,
        check,
        control,
    )?;
    let told = observation.sentences().into_iter();
    findings
        .extend(told.map(|text| Finding::new(FindingKind::Observation, Severity::Info, text, "")));
    report.findings.extend(findings);
    report
        .findings
        .sort_by_key(|f| std::cmp::Reverse(f.severity));
    report.verdict = Verdict::of(&report.findings);
    Ok(ObservationFit {
        observation,
        check: report,
        trials,
    })
}

/// The period that is given, or that of the strongest cycle that the check finds; where a longer one is
/// found of which it is a harmonic, that one.
fn period(
    record: &Ensemble,
    config: &CycleConfig,
    degree: usize,
    check: &CheckConfig,
    control: &Control,
) -> Result<Option<f64>> {
    let [first, last] = span(record);
    match config.period {
        None => Ok(None),
        Some(Choice::Given(period)) => {
            require_positive("cycle.period", period)?;
            let interval = record.typical_interval()?;
            if period < SAMPLES_PER_HARMONIC * interval || period > last - first {
                return Err(Error::input(format!(
                    "a cycle of period {period} cannot be resolved in a record from {first} to {last} \
                     with sampling interval {interval}; set cycle.period in the record's unit of time"
                )));
            }
            Ok(Some(period))
        }
        Some(Choice::Auto(_)) => {
            let trend = fit_trend(record, degree)?;
            let level = Observation {
                trend,
                ..Observation::plain(record.names())
            };
            let level = level.stationary(record)?;
            let found = find_cycles(&level, check, control)?;
            Ok(fundamental(&found, last - first))
        }
    }
}

/// The longest found period of which the strongest cycle is a harmonic.
fn fundamental(found: &[FoundCycle], length: f64) -> Option<f64> {
    let strongest = found
        .iter()
        .max_by(|a, b| a.amplitude.total_cmp(&b.amplitude))?;
    let whole = |period: f64| {
        let ratio = period / strongest.period;
        // Frequencies are resolved to about a tenth of 1/length.
        let multiple = ratio.round();
        multiple <= MOST_HARMONICS as f64
            && (multiple / period - 1.0 / strongest.period).abs() < 0.2 / length
    };
    let longer = found.iter().map(|c| c.period).filter(|p| whole(*p));
    Some(longer.fold(strongest.period, f64::max))
}

fn fit_cycle(
    record: &Ensemble,
    degree: usize,
    period: f64,
    config: &CycleConfig,
) -> Result<(Option<Trend>, Cycle)> {
    let resolved = (period / record.typical_interval()? / SAMPLES_PER_HARMONIC) as usize;
    let most = MOST_HARMONICS.min(resolved).max(1);
    if let Some(asked) = config.harmonics.filter(|asked| *asked > most) {
        return Err(Error::input(format!(
            "cycle.harmonics = {asked} is too large; at most {most} can be fitted to a period of {period} \
             in this record"
        )));
    }
    let means = MeanFit::collect(record, degree, period, most);
    let tried = |losses: &dyn Fn(usize) -> Vec<f64>| {
        let by_blocks = || choose(&(0..=most).map(losses).collect::<Vec<_>>());
        config.harmonics.unwrap_or_else(by_blocks)
    };
    let (trend, mean) = means.finish(tried(&|count| means.held_out(count)));
    let mut cycle = Cycle {
        period,
        mean,
        log_scale: Vec::new(),
    };
    let scales = ScaleFit::collect(record, trend.as_ref(), &cycle, most);
    cycle.log_scale = scales.finish(tried(&|count| scales.held_out(count)));
    Ok((trend, cycle))
}

/// Choose the delays, and put the Markov test of the states in the place of that of the record.
fn fit_delays(
    observation: &mut Observation,
    stationary: &Ensemble,
    config: &DelayConfig,
    report: &mut CheckReport,
    check: &CheckConfig,
    control: &Control,
) -> Result<Vec<DelayTrial>> {
    if config.count == Choice::Given(0) {
        return Ok(Vec::new());
    }
    let interval = even_interval(stationary)?;
    let times = report.coordinates.iter().filter_map(|c| c.crossing_time);
    let shortest = times.fold(f64::INFINITY, f64::min);
    let spacing = match config.spacing {
        Choice::Given(spacing) => spacing,
        Choice::Auto(_) if shortest.is_finite() => {
            (SPACING * shortest / interval).round().max(1.0) * interval
        }
        Choice::Auto(_) => {
            return Err(Error::input(
                "the spacing of delays cannot be chosen, because no coordinate decorrelates within the \
                 record; set delays.spacing to a time",
            ));
        }
    };
    let affordable = (DELAYED_STATE / stationary.dim()).max(1) - 1;
    let counts = match config.count {
        Choice::Given(count) if count > MOST_DELAYS.max(affordable) || count > affordable => {
            return Err(Error::input(format!(
                "{count} delays of {} coordinates are too many; the state can have up to {DELAYED_STATE} \
                 coordinates, delays included; lower delays.count",
                stationary.dim()
            )));
        }
        Choice::Given(count) => count..=count,
        Choice::Auto(_) => 0..=MOST_DELAYS.min(affordable),
    };
    let mut outcomes = Vec::new();
    for count in counts {
        let delays = Delays { count, spacing };
        let states = if count == 0 {
            Cow::Borrowed(stationary)
        } else {
            Cow::Owned(delays.embed(stationary)?)
        };
        let outcome = test_markov(&states, stationary.dim(), report, check, control)?;
        let passed = outcome.as_ref().is_none_or(|o| o.finding.is_none());
        outcomes.push((delays, outcome));
        if passed {
            break;
        }
    }
    conclude(observation, outcomes, report)
}

/// The first number of delays that passes, else that of the smallest violation.
fn conclude(
    observation: &mut Observation,
    outcomes: Vec<(Delays, Option<MarkovOutcome>)>,
    report: &mut CheckReport,
) -> Result<Vec<DelayTrial>> {
    let violation = |o: &Option<MarkovOutcome>| o.as_ref().map_or(0.0, |o| o.violation);
    let trials: Vec<DelayTrial> = outcomes
        .iter()
        .map(|(delays, outcome)| DelayTrial {
            count: delays.count,
            violation: violation(outcome),
            passed: outcome.as_ref().is_none_or(|o| o.finding.is_none()),
        })
        .collect();
    let best = (0..trials.len())
        .min_by(|a, b| {
            let order = |k: &usize| (!trials[*k].passed, trials[*k].violation);
            let ((a, x), (b, y)) = (order(a), order(b));
            a.cmp(&b).then(x.total_cmp(&y))
        })
        .expect("at least one number of delays");
    let (delays, outcome) = outcomes.into_iter().nth(best).expect("one of them");
    report
        .findings
        .retain(|finding| finding.kind != FindingKind::NonMarkov);
    report.findings.extend(outcome.and_then(|o| o.finding));
    let words = trials.iter().map(|trial| {
        format!(
            "{} delays: {:.1} % of the variance, {}",
            trial.count,
            100.0 * trial.violation,
            if trial.passed { "passed" } else { "not Markov" }
        )
    });
    report.findings.push(Finding::new(
        FindingKind::Delays,
        Severity::Info,
        format!(
            "Markov test with delays {} apart ({})",
            digits(delays.spacing),
            words.collect::<Vec<_>>().join("; ")
        ),
        "",
    ));
    observation.delays = (delays.count > 0).then_some(delays);
    Ok(trials)
}
