//! What a fit does where a part of it fails: something simpler, and a finding.

use ndarray::{Array1, Array2};

use super::blame::{allowed, fell_back, mobility_is_set, score_is_set};
use super::collected::Collected;
use super::config::FitConfig;
use super::found::MobilityFound;
use super::mobility::{by_recipe, constant};
use super::score::ScoreFound;
use super::truth::COMPARED;
use crate::check::{CheckReport, CoordinateReport};
use crate::control::Control;
use crate::data::{Ensemble, Standardiser};
use crate::error::{Error, Result};
use crate::finding::{Finding, FindingKind, Severity, Verdict};
use crate::linalg;
use crate::mobility::{MeasurementNoise, Recipe, RecipeConfig};
use crate::model::StoredScore;
use crate::observable::{Factor, Monomials};
use crate::report::MobilityResults;
use crate::score::{ClosedFormScore, Confinement, Gradients, Score, ScoreCertificate};

/// The report of a record whose check failed: its scales and nothing else.
pub(super) fn unchecked(record: &Ensemble, error: &Error) -> Result<CheckReport> {
    let scales = Standardiser::from_ensemble(record)?;
    let interval = record.typical_interval()?;
    let each = record
        .names()
        .iter()
        .zip(scales.mean.iter().zip(&scales.scale));
    let coordinates = each.map(|(name, (mean, std))| CoordinateReport {
        name: name.clone(),
        mean: *mean,
        std: *std,
        ..CoordinateReport::default()
    });
    let finding = Finding::new(
        FindingKind::Missing,
        Severity::Fail,
        format!("the record was not checked: {error}"),
        "set the longest lag (mobility.horizon), or raise limits.seconds",
    );
    Ok(CheckReport {
        sampling_interval: interval,
        even_sampling: record.sampling_interval().is_some(),
        samples: record.samples(),
        trajectories: record.len(),
        coordinates: coordinates.collect(),
        curve: None,
        second_order: Vec::new(),
        usable_lags: [0.0, 0.0],
        findings: vec![finding],
        verdict: Verdict::Fail,
    })
}

/// The coordinates that vary and are no linear function of those before them, and a finding on each of the
/// others. A coordinate depends on others where they leave less than twice `least` of its variance: of two
/// that are nearly the same this is twice the smaller eigenvalue of their correlation matrix.
pub(super) fn independent(record: &Ensemble, least: f64) -> (Vec<usize>, Vec<Finding>) {
    let names = record.names();
    let constant = record.constant_coordinates();
    let active: Vec<usize> = (0..record.dim())
        .filter(|j| !constant.contains(j))
        .collect();
    let left_out = |name: &str, reason: &str| {
        Finding::new(
            FindingKind::Duplicate,
            Severity::Warn,
            format!("coordinate '{name}' is left out of the fit: {reason}"),
            "select the coordinates with --columns",
        )
    };
    let mut findings: Vec<Finding> = constant
        .iter()
        .map(|j| left_out(&names[*j], "it is the same in every sample"))
        .collect();
    let correlation = correlations(record, &active);
    // Rows of the Cholesky factor of the correlations of what is kept.
    let (mut kept, mut factor): (Vec<usize>, Vec<Vec<f64>>) = (Vec::new(), Vec::new());
    for j in 0..active.len() {
        let mut row: Vec<f64> = Vec::with_capacity(kept.len() + 1);
        for (k, other) in kept.iter().zip(&factor) {
            let known: f64 = row.iter().zip(other).map(|(a, b)| a * b).sum();
            row.push((correlation[[j, *k]] - known) / other[other.len() - 1]);
        }
        let rest = correlation[[j, j]] - row.iter().map(|a| a * a).sum::<f64>();
        if rest >= 2.0 * least {
            row.push(rest.sqrt());
            factor.push(row);
            kept.push(j);
        } else {
            let name = &names[active[j]];
            findings.push(left_out(name, "it is a linear function of those before it"));
        }
    }
    (kept.into_iter().map(|k| active[k]).collect(), findings)
}

/// Correlations of some coordinates, from evenly chosen samples.
fn correlations(record: &Ensemble, chosen: &[usize]) -> Array2<f64> {
    let z = standardised(record);
    let z = z.select(ndarray::Axis(0), chosen);
    let n = z.ncols() as f64;
    z.dot(&z.t()) / n
}

/// Evenly chosen samples with mean 0 and variance 1, (coordinate, sample).
fn standardised(record: &Ensemble) -> Array2<f64> {
    let states = record.sample_tile(COMPARED);
    let shape = (record.dim(), states.len() / record.dim());
    let mut z = Array2::from_shape_vec(shape, states.to_vec()).expect("a tile");
    for mut row in z.rows_mut() {
        let (mean, std) = (row.mean().unwrap_or(0.0), row.std(0.0));
        let scale = if std > 0.0 { std } else { 1.0 };
        row.mapv_inplace(|x| (x - mean) / scale);
    }
    z
}

/// The score of the normal law with mean and covariance of the samples, s = −(C + ε)⁻¹ z; angles are uniform.
fn gaussian_score(training: &Ensemble) -> Result<StoredScore> {
    /// ε, in standardised coordinates.
    const RIDGE: f64 = 1e-3;
    let confinement = Confinement::from_ensemble(training)?;
    let dim = training.dim();
    let every: Vec<usize> = (0..dim).collect();
    let mut covariance = correlations(training, &every);
    covariance.diag_mut().mapv_inplace(|c| c + RIDGE);
    let precision = linalg::inverse(covariance.view());
    let library = Monomials::of(training.names(), confinement.standardiser(), 1..=2)?;
    let coefficient = |exponents: Vec<u32>| {
        if exponents.iter().any(|e| Factor::of(*e).is_wave()) {
            return 0.0;
        }
        let of: Vec<usize> = (0..dim)
            .flat_map(|i| std::iter::repeat_n(i, exponents[i] as usize))
            .collect();
        match of[..] {
            [i, j] if i == j => -0.5 * precision[[i, i]],
            [i, j] => -precision[[i, j]],
            _ => 0.0,
        }
    };
    let coefficients: Array1<f64> = library.exponents().into_iter().map(coefficient).collect();
    let fields = Box::new(Gradients::new(library));
    Ok(ClosedFormScore::new(fields, confinement, coefficients)?.into())
}

/// A score found by `search`, or the normal one.
pub(super) fn score(
    search: impl FnOnce() -> Result<ScoreFound>,
    (training, config): (&Ensemble, &FitConfig),
    findings: &mut Vec<Finding>,
) -> Result<ScoreFound> {
    let error = match search() {
        Err(error) if allowed(&error, score_is_set(config)) => error,
        found => return found,
    };
    let instead = "the score of the normal law with the covariance of the samples was used instead";
    let advice = "lower score.closed_form.degrees, or give a longer record";
    let finding = fell_back(
        Severity::Fail,
        "the fit of the score",
        &error,
        instead,
        advice,
    );
    findings.push(finding);
    gaussian(training, &error)
}

/// The normal score, in the place of one whose fit failed.
fn gaussian(training: &Ensemble, error: &Error) -> Result<ScoreFound> {
    Ok(ScoreFound {
        score: gaussian_score(training)?,
        certificate: ScoreCertificate::missing(training.dim(), &error.to_string()),
        kind: "normal, from the covariance of the samples".into(),
        reason: format!("the fit failed: {error}"),
    })
}

/// The normal score and the diffusion of the increments, which every record that varies has.
pub(super) fn simplest(training: &Ensemble, error: &Error) -> Result<(ScoreFound, MobilityFound)> {
    let mobility = by_increments(training, format!("the fit failed: {error}"))?;
    Ok((gaussian(training, error)?, mobility))
}

/// Where a mobility is looked for.
pub(super) struct Search<'a> {
    pub(super) training: &'a Ensemble,
    pub(super) collected: Option<&'a Collected>,
    pub(super) score: &'a dyn Score,
    pub(super) config: &'a FitConfig,
    pub(super) horizon: f64,
    /// Seconds for the search that was asked for, and for each of the simpler ones.
    pub(super) seconds: [f64; 2],
}

impl Search<'_> {
    /// A mobility found by `search`; where it fails, the constant one of the semigroup, then that of the short
    /// correlations with the score, then that of the increments.
    pub(super) fn mobility(
        &self,
        search: impl FnOnce() -> Result<MobilityFound>,
        findings: &mut Vec<Finding>,
        control: &Control,
    ) -> Result<MobilityFound> {
        let error = match control
            .within(self.seconds[0], search)
            .and_then(|found| self.sound(found))
        {
            Err(error) if allowed(&error, mobility_is_set(self.config)) => error,
            found => return found,
        };
        let mut simple = self.config.clone();
        simple.mobility = RecipeConfig {
            recipe: Recipe::Semigroup,
            max_degrees: (0, 0),
            statistics: self.config.mobility.statistics,
            ..RecipeConfig::default()
        };
        let recipe = self.config.mobility.recipe;
        let failed = match recipe {
            Recipe::Auto => "the fit of the mobility".to_owned(),
            recipe => format!("the fit of the mobility by recipe {recipe}, which was asked for,"),
        };
        let advice = "lower the degrees (mobility.max_degrees), set mobility.horizon, or give a longer record";
        let none = &MeasurementNoise::None;
        let reason = || format!("{failed} failed: {error}");
        let parts = (self.training, self.collected);
        let by_semigroup = || by_recipe(parts, &simple, none, None, self.horizon, control);
        let by_score = || constant(self.training, self.score, self.horizon, reason(), control);
        let attempts: [(&dyn Fn() -> Result<MobilityFound>, &str); 2] = [
            (&by_semigroup, "a constant mobility was fitted instead"),
            (
                &by_score,
                "a constant mobility from correlations over short lags was used instead",
            ),
        ];
        // Correlations of an angle with its score are no diffusion.
        let usable = if self.training.has_circles() { 1 } else { 2 };
        for (attempt, instead) in attempts.into_iter().take(usable) {
            match control
                .within(self.seconds[1], attempt)
                .and_then(|found| self.sound(found))
            {
                Ok(mut found) => {
                    found.reason = reason();
                    findings.push(fell_back(Severity::Warn, &failed, &error, instead, advice));
                    return Ok(found);
                }
                Err(other) if !allowed(&other, false) => return Err(other),
                Err(_) => {}
            }
        }
        let instead = "the constant diffusion of the increments was used instead";
        findings.push(fell_back(Severity::Fail, &failed, &error, instead, advice));
        by_increments(self.training, reason())
    }

    /// A mobility whose D is positive on average, as a model needs, with numbers and errors that can be saved.
    fn sound(&self, found: MobilityFound) -> Result<MobilityFound> {
        let mobility = found.mobility.as_mobility();
        let states = self.training.sample_tile(COMPARED);
        let scale = Standardiser::from_ensemble(self.training)?.scale;
        let n = states.len() / scale.len();
        let mut tensors = vec![0.0; scale.len() * states.len()];
        mobility.mobility(&states, &mut tensors);
        let of = |i: usize| {
            let row = &tensors[(i * scale.len() + i) * n..][..n];
            row.iter().sum::<f64>() / (scale[i] * scale[i])
        };
        let sum: f64 = (0..scale.len()).map(of).sum();
        let mut coefficients = found.results.coefficients.values();
        let known = coefficients.all(|c| c.value.is_finite() && c.stderr.is_finite());
        match known && sum > 0.0 && tensors.iter().all(|value| value.is_finite()) {
            true => Ok(found),
            false => Err(Error::numerical(
                "the fitted diffusion is not positive on average, or its errors are not finite",
            )),
        }
    }
}

/// D = ⟨Δx Δxᵀ⟩/2Δt over neighbouring samples, R = 0: right to first order in Δt, positive always.
fn by_increments(training: &Ensemble, reason: String) -> Result<MobilityFound> {
    /// Least eigenvalue in standardised coordinates, relative to the mean one.
    const LEAST: f64 = 1e-6;
    let dim = training.dim();
    let scale = Standardiser::from_ensemble(training)?.scale;
    let (values, vectors) = linalg::symmetric_eigen(increments(training, &scale)?.view())?;
    let mean = values.sum() / dim as f64;
    let lifted = values.mapv(|value| value.max(LEAST * mean.max(f64::MIN_POSITIVE)));
    let mut diffusion = (&vectors * &lifted).dot(&vectors.t());
    for ((i, j), value) in diffusion.indexed_iter_mut() {
        *value *= scale[i] * scale[j];
    }
    if !(mean > 0.0 && diffusion.iter().all(|value| value.is_finite())) {
        return Err(Error::input(
            "the record does not change from sample to sample, or its values overflow; check the data",
        ));
    }
    Ok(MobilityFound {
        mobility: diffusion.into(),
        results: MobilityResults {
            kind: "constant, from increments".into(),
            coefficients: Default::default(),
            chi2_per_equation: None,
            condition: None,
            effective_rank: None,
            psd_violation: 0.0,
            measurement_noise: None,
            warnings: Vec::new(),
        },
        recipe: Recipe::Constant,
        reason,
        fit: None,
        network: None,
        statistics_seconds: 0.0,
        noise: None,
        charts: Vec::new(),
        terms: None,
    })
}

/// ⟨Δx Δxᵀ⟩/2Δt in standardised coordinates.
fn increments(training: &Ensemble, scale: &[f64]) -> Result<Array2<f64>> {
    let dim = training.dim();
    let (mut sum, mut count) = (Array2::<f64>::zeros((dim, dim)), 0.0);
    let every = (training.samples() / COMPARED).max(1);
    let (mut now, mut next) = (vec![0.0; dim], vec![0.0; dim]);
    for segment in training.segments() {
        let trajectory = &training.trajectories()[segment.trajectory];
        let rows = segment.rows.clone().step_by(every);
        for row in rows.filter(|row| row + 1 < segment.rows.end) {
            trajectory.row(row, &mut now);
            trajectory.row(row + 1, &mut next);
            let time = trajectory.time(row + 1) - trajectory.time(row);
            let of = |i: usize| training.step(i, now[i], next[i]) / scale[i];
            for ((i, j), sum) in sum.indexed_iter_mut() {
                *sum += of(i) * of(j) / (2.0 * time.max(f64::MIN_POSITIVE));
            }
            count += 1.0;
        }
    }
    match count > 0.0 {
        true => Ok(sum / count),
        false => Err(Error::input(
            "no two samples of the record follow each other; give a record with fewer gaps",
        )),
    }
}
