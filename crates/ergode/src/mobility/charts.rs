//! In which charts of the coordinates the test functions of a fit are polynomials.

use std::collections::BTreeMap;

use ndarray::Array1;
use serde::{Deserialize, Serialize};

use super::result::MobilityFit;
use crate::data::{Ensemble, Standardiser};
use crate::error::{Error, Result};
use crate::space::Chart;

/// The chart of a coordinate as a user sets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChartKind {
    /// The one that fits best.
    Auto,
    /// The coordinate itself.
    Identity,
    /// Its logarithm.
    Logarithm,
    /// Its normal scores Φ⁻¹(F(x)).
    NormalScores,
}

/// The chart that a fit has chosen for a coordinate.
#[derive(Clone, Debug, PartialEq)]
pub struct ChosenChart {
    /// Name of the coordinate.
    pub coordinate: String,
    /// Its chart.
    pub chart: Chart,
    /// Why, in a sentence.
    pub reason: String,
}

/// Samples that are looked at.
const LOOKED_AT: usize = 1 << 16;
/// χ² per equation up to which a fit is as good as the data can show.
const GOOD: f64 = 1.5;
/// A chart must lower χ² per equation by this factor, or have errors of the fields at most [`WIDER`] times as
/// large: of a broad law the errors in the coordinate itself, averages of high powers, come out too small.
const BETTER: f64 = 0.8;
const WIDER: f64 = 3.0;
/// Samples that errors of fields are averaged over where fits with charts are compared.
const LOOKED_AT_FIELDS: usize = 512;
/// Errors over those of a fit of higher degree from which the lower degree is taken.
const STEADIER: f64 = 0.6;

/// The coordinates as they are, and the samples of each in increasing order.
pub(super) struct Laws {
    names: Vec<String>,
    identity: Vec<Chart>,
    sorted: Vec<Vec<f64>>,
}

impl Laws {
    pub(super) fn new(ensemble: &Ensemble, standardiser: &Standardiser) -> Self {
        let states = ensemble.sample_tile(LOOKED_AT);
        let n = (states.len() / ensemble.dim()).max(1);
        let sorted = states.chunks_exact(n).map(|row| {
            let mut row = row.to_vec();
            row.sort_by(f64::total_cmp);
            row
        });
        let scales = standardiser.mean.iter().zip(&standardiser.scale);
        Self {
            names: ensemble.names().to_vec(),
            identity: scales
                .map(|(mean, scale)| Chart::Identity {
                    mean: *mean,
                    scale: *scale,
                })
                .collect(),
            sorted: sorted.collect(),
        }
    }

    /// The charts y = z.
    pub(super) fn identity(&self) -> Vec<Chart> {
        self.identity.clone()
    }

    /// The charts that a user has set; none where every coordinate is left open.
    pub(super) fn asked(&self, asked: &BTreeMap<String, ChartKind>) -> Result<Option<Vec<Chart>>> {
        if let Some(name) = asked.keys().find(|name| !self.names.contains(name)) {
            return Err(Error::input(format!(
                "mobility.charts names '{name}', which is not a coordinate; the coordinates are {}",
                self.names.join(", ")
            )));
        }
        if asked.values().all(|kind| *kind == ChartKind::Auto) {
            return Ok(None);
        }
        let one = |(i, name): (usize, &String)| {
            let kind = asked.get(name).copied().unwrap_or(ChartKind::Auto);
            let made = match kind {
                ChartKind::Auto | ChartKind::Identity => Some(self.identity[i].clone()),
                ChartKind::Logarithm => Chart::logarithm(&self.sorted[i], 0.0),
                ChartKind::NormalScores => Chart::normal_scores(&self.sorted[i], self.origin(i)),
            };
            made.ok_or_else(|| {
                Error::input(format!(
                    "coordinate '{name}' has no such chart, because its samples are not positive, or too few \
                     values differ; set mobility.charts.{name} to identity"
                ))
            })
        };
        let charts = self.names.iter().enumerate().map(one);
        charts.collect::<Result<Vec<_>>>().map(Some)
    }

    /// Zero where the samples are above it.
    fn origin(&self, i: usize) -> Option<f64> {
        self.sorted[i]
            .first()
            .is_some_and(|x| *x > 0.0)
            .then_some(0.0)
    }

    /// True where the law of a coordinate has tails far beyond its bulk.
    pub(super) fn is_broad(&self, i: usize) -> bool {
        Chart::is_needed(&self.sorted[i])
    }

    /// The coordinates whose charts are not the coordinates themselves.
    pub(super) fn chosen(
        &self,
        charts: &[Chart],
        reason: &dyn Fn(usize) -> String,
    ) -> Vec<ChosenChart> {
        let named = self.names.iter().zip(charts).enumerate();
        let bent = named.filter(|(_, (_, chart))| !chart.is_identity());
        bent.map(|(i, (name, chart))| ChosenChart {
            coordinate: name.clone(),
            chart: chart.clone(),
            reason: reason(i),
        })
        .collect()
    }

    /// The charts that are tried for a coordinate.
    pub(super) fn candidates(&self, i: usize) -> Vec<Chart> {
        let origin = self.origin(i);
        let logarithm = origin.and_then(|origin| Chart::logarithm(&self.sorted[i], origin));
        let scores = Chart::normal_scores(&self.sorted[i], origin);
        logarithm.into_iter().chain(scores).collect()
    }
}

/// What two fits are compared by.
#[derive(Clone, Copy, Debug)]
pub(super) struct Standing {
    /// χ² per equation.
    pub(super) chi2: f64,
    /// Standard error of b and D over the samples, relative to b and D.
    pub(super) error: f64,
}

impl Standing {
    pub(super) fn of(fit: &MobilityFit, ensemble: &Ensemble) -> Self {
        Self {
            chi2: fit.chi2_per_equation,
            error: largest(field_errors(fit, ensemble, LOOKED_AT_FIELDS)),
        }
    }

    /// True where this fit, of a lower degree, meets the equations as well as `other`, and the fields of that are known
    /// much worse: at the few samples far out in a tail a high power is hardly determined.
    pub(super) fn is_steadier(fit: &MobilityFit, other: &MobilityFit, ensemble: &Ensemble) -> bool {
        let error = |fit: &MobilityFit| largest(field_errors(fit, ensemble, LOOKED_AT));
        let meets = fit.chi2_per_equation <= GOOD.max(other.chi2_per_equation);
        meets && error(fit) < STEADIER * error(other)
    }

    /// True where the equations determine the fields.
    pub(super) fn is_sound(self) -> bool {
        /// χ² of equations whose errors have swallowed them, and an error that leaves nothing.
        const EMPTY: f64 = 1e-3;
        const LARGEST: f64 = 1.0;
        self.chi2 > EMPTY && self.error < LARGEST
    }

    /// True where a fit with another chart takes the place of that with `other`: it fits where the other does not,
    /// or both fit and its errors are not much wider.
    pub(super) fn beats(self, other: Self) -> bool {
        if !(self.is_sound() && other.is_sound()) {
            return self.is_sound();
        }
        let [own, others] = [self, other].map(|standing| standing.chi2.max(GOOD));
        if own == others {
            return self.error < WIDER * other.error;
        }
        own < BETTER * others
    }

    /// χ² and error in words.
    pub(super) fn describe(self) -> String {
        format!(
            "chi^2 per equation {:.2}, error of the fields {:.1} %",
            self.chi2,
            100.0 * self.error
        )
    }
}

fn largest(errors: [f64; 2]) -> f64 {
    errors.into_iter().fold(0.0, f64::max)
}

/// Standard errors of M or D, and of b where it is an unknown, in the mean square over so many samples, relative to the
/// fields.
pub(crate) fn field_errors(fit: &MobilityFit, ensemble: &Ensemble, count: usize) -> [f64; 2] {
    let states = ensemble.sample_tile(count);
    let dim = ensemble.dim();
    let n = states.len() / dim;
    let (basis, coefficients) = (fit.mobility.basis(), fit.mobility.coefficients());
    let deviations = &fit.jackknife.deviations;
    let mut sums = [[0.0f64; 2]; 2];
    let mut add = |part: usize, design: &ndarray::Array2<f64>, unit: &dyn Fn(usize) -> f64| {
        let value: Array1<f64> = design.dot(&coefficients);
        let spread = deviations.dot(&design.t());
        for (at, value) in value.iter().enumerate() {
            let variance = spread.column(at).dot(&spread.column(at));
            sums[part][0] += variance / unit(at).powi(2);
            sums[part][1] += (value / unit(at)).powi(2);
        }
    };
    for s in 0..n {
        let x: Vec<f64> = (0..dim).map(|i| states[i * n + s]).collect();
        add(0, &basis.design(&x).0, &|at| basis.unit(at / dim, at % dim));
        if basis.has_drift() {
            add(1, &basis.drift_design(&x), &|i| basis.unit(i, i).sqrt());
        }
    }
    let relative = |[error, size]: [f64; 2]| if size > 0.0 { error / size } else { 0.0 };
    sums.map(|sum| relative(sum).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chart_wins_by_chi2_and_among_good_fits_by_errors() {
        let standing = |chi2, error| Standing { chi2, error };
        assert!(standing(0.9, 0.5).beats(standing(20.0, 0.01)));
        assert!(standing(0.9, 0.2).beats(standing(0.7, 0.1)));
        assert!(!standing(0.5, 0.35).beats(standing(1.4, 0.1)));
        assert!(!standing(8.0, 0.01).beats(standing(1.0, 0.5)));
        assert!(standing(1.0, 0.5).beats(standing(f64::NAN, 0.1)));
        assert!(!standing(1e-100, 0.1).beats(standing(1.0, 0.5)));
    }
}
