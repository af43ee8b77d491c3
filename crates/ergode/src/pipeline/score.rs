//! The score of a fit: closed form where held-out data allow it, else a network.

use std::path::Path;

use ndarray::ArrayView2;

use super::blame;
use super::collected::Collected;
use super::config::{FitConfig, ScoreKind};
use super::lattice::ring_score;
use super::truth::COMPARED;
use crate::control::Control;
use crate::data::Ensemble;
use crate::error::{Error, Result};
use crate::lagged::Subsample;
use crate::model::StoredScore;
use crate::score::{
    ClosedFormConfig, DenoisingConfig, ScoreCertificate, certificate_library_for, certify_score,
    certify_score_without_noise, fit_charted_score, fit_denoising_score, fit_logarithmic_score,
    fit_potential_score, fit_potential_score_without_noise,
};
use crate::space::Chart;

/// A score with its certificate on held-out data.
pub(super) struct ScoreFound {
    pub(super) score: StoredScore,
    pub(super) certificate: ScoreCertificate,
    /// Kind of score, in a few words.
    pub(super) kind: String,
    /// Why it is that.
    pub(super) reason: String,
}

/// Multiplications that the sums of a closed form may take; beyond, fewer samples are used.
const MOST_WORK: f64 = 1e12;

/// Most samples that a score is fitted to and judged on. Longer records are thinned: samples close in
/// time are redundant.
const ENOUGH: usize = 1 << 25;

/// Find the score of `training`, or of sums that were collected before, judged on `held_out`. A network keeps its state in the file `checkpoint`.
pub(super) fn find_score(
    training: &Ensemble,
    held_out: &Ensemble,
    collected: Option<&Collected>,
    degrees: &[usize],
    whole: &FitConfig,
    checkpoint: Option<&Path>,
    control: &Control,
) -> Result<ScoreFound> {
    let config = &whole.score;
    let judged = |score: StoredScore, kind: String| judge(score, kind, held_out, whole, control);
    let network = || -> Result<ScoreFound> {
        let mut denoising: DenoisingConfig = config.denoising.clone();
        denoising.noise.seed = whole.seed;
        let score = fit_denoising_score(training, &denoising, checkpoint, control)?;
        if control.stopped() {
            return Err(Error::interrupted());
        }
        judged(score.into(), "network trained by denoising".into())
    };
    let closed = || -> Result<ScoreFound> {
        if whole.ring.sites > 0 {
            let (score, kind) = ring_score(training, whole, control)?;
            return judged(score, kind);
        }
        if let Some(collected) = collected
            && let Some((score, terms)) = collected.score(degrees, whole)?
        {
            return judged(score, format!("gradient of a polynomial of {terms} terms"));
        }
        let closed_form = closed_form_config(training, degrees, &config.closed_form);
        let logged = near_zero(training);
        if logged.contains(&true) {
            let score = fit_logarithmic_score(training, &logged, &closed_form, control)?;
            let terms = score.inner().coefficients().count();
            let kind = format!(
                "gradient of a polynomial of {terms} terms, in logarithms of positive coordinates"
            );
            return judged(score.into(), kind);
        }
        if let Some(charts) = broad(training) {
            let score = fit_charted_score(training, &charts, &closed_form, control)?;
            let terms = score.inner().coefficients().count();
            let kind = format!(
                "gradient of a polynomial of {terms} terms, in normal scores of broad coordinates"
            );
            return judged(score.into(), kind);
        }
        let score = fit_potential_score(training, &closed_form, control)?;
        let terms = score.coefficients().count();
        judged(
            score.into(),
            match training.has_circles() {
                true => format!("gradient of a polynomial with waves of angles, of {terms} terms"),
                false => format!("gradient of a polynomial of {terms} terms"),
            },
        )
    };
    match config.kind {
        ScoreKind::Denoising => network(),
        ScoreKind::ClosedForm => closed(),
        ScoreKind::Auto => {
            let mut first = closed()?;
            if !first.certificate.refutes(&config.certificate) {
                first.reason = "held-out data do not reject the closed form".into();
                return Ok(first);
            }
            if training.has_circles() {
                first.reason = "networks do not support angles".into();
                return Ok(first);
            }
            if training.has_walls() {
                first.reason =
                    "held-out data reject the closed form, but a network is not supported between walls".into();
                return Ok(first);
            }
            let second = match network() {
                Err(error) if blame::allowed(&error, false) => {
                    let rejected = 100.0 * first.certificate.relative_error;
                    first.reason = format!(
                        "held-out data reject the closed form (relative error at least {rejected:.1} %), but \
                         the training of a network failed: {error}"
                    );
                    return Ok(first);
                }
                second => second?,
            };
            choose(first, second, held_out, whole, control)
        }
    }
}

/// The better of a rejected closed form and a network. One half of the held-out data chooses and the other
/// judges, so that the certificate of the chosen score is not flattered by the choice.
fn choose(
    first: ScoreFound,
    second: ScoreFound,
    held_out: &Ensemble,
    whole: &FitConfig,
    control: &Control,
) -> Result<ScoreFound> {
    let (choosing, judging) = held_out.split(0.5, 0.0)?;
    let rejected = first.certificate.relative_error;
    let on_half = |found: ScoreFound| judge(found.score, found.kind, &choosing, whole, control);
    let (first, second) = (on_half(first)?, on_half(second)?);
    let [a, b] = [&first, &second].map(|found| found.certificate.relative_error);
    let better = if b < a { second } else { first };
    let mut chosen = judge(better.score, better.kind, &judging, whole, control)?;
    chosen.reason = format!(
        "held-out data reject the closed form (relative error at least {:.1} %); on the first half of \
         them it has {:.1} % and a network {:.1} %, and the better of the two is used and judged by the \
         second half",
        100.0 * rejected,
        100.0 * a,
        100.0 * b
    );
    Ok(chosen)
}

/// The score of the density without measurement noise of covariance S, judged on `held_out` likewise.
pub(super) fn score_without_noise(
    training: &Ensemble,
    held_out: &Ensemble,
    covariance: ArrayView2<f64>,
    degrees: &[usize],
    whole: &FitConfig,
    control: &Control,
) -> Result<ScoreFound> {
    let closed_form = closed_form_config(training, degrees, &whole.score.closed_form);
    let score = fit_potential_score_without_noise(training, covariance, &closed_form, control)?;
    let judge = &whole.score.certificate;
    let certificate = certify_score_without_noise(&score, held_out, covariance, judge, control)?;
    let terms = score.coefficients().count();
    Ok(ScoreFound {
        score: score.into(),
        certificate,
        kind: format!("gradient of a polynomial of {terms} terms, corrected for measurement noise"),
        reason: "moments of a polynomial potential can be corrected for measurement noise".into(),
    })
}

/// The coordinates that are positive and come close to zero.
pub(super) fn near_zero(ensemble: &Ensemble) -> Vec<bool> {
    /// Closer than this fraction of the standard deviation, at this fraction of the samples.
    const CLOSE: f64 = 0.25;
    const OFTEN: f64 = 1e-3;
    let states = ensemble.sample_tile(COMPARED);
    let n = states.len() / ensemble.dim();
    states
        .chunks_exact(n)
        .enumerate()
        .map(|(i, row)| {
            let row = ndarray::ArrayView1::from(row);
            let close = CLOSE * row.std(0.0);
            let often = row.iter().filter(|x| **x < close).count() as f64;
            let angle = ensemble.circle(i).is_some();
            !angle && row.iter().all(|x| *x > 0.0) && often > OFTEN * n as f64
        })
        .collect()
}

/// True where the closed form is a polynomial of the coordinates themselves.
pub(super) fn is_potential(training: &Ensemble) -> bool {
    !near_zero(training).contains(&true) && broad(training).is_none()
}

/// Normal scores of the coordinates whose law is broad, the others as they are; none where no law is.
fn broad(ensemble: &Ensemble) -> Option<Vec<Chart>> {
    let states = ensemble.sample_tile(COMPARED);
    let n = (states.len() / ensemble.dim()).max(1);
    let charts = states.chunks_exact(n).map(|row| {
        let mut sorted = row.to_vec();
        sorted.sort_by(f64::total_cmp);
        let scores = Chart::is_needed(&sorted).then(|| Chart::normal_scores(&sorted, None));
        scores.flatten().unwrap_or(Chart::Identity {
            mean: 0.0,
            scale: 1.0,
        })
    });
    let charts: Vec<Chart> = charts.collect();
    let any = charts.iter().any(|chart| !chart.is_identity());
    any.then_some(charts)
}

/// A score with its certificate on held-out data.
pub(super) fn judge(
    score: StoredScore,
    kind: String,
    held_out: &Ensemble,
    config: &FitConfig,
    control: &Control,
) -> Result<ScoreFound> {
    let library = certificate_library_for(held_out)?;
    let mut judging = config.score.certificate.clone();
    let stride = held_out.samples().div_ceil(ENOUGH);
    if stride > 1 && judging.statistics.subsample == Subsample::All {
        judging.statistics.subsample = Subsample::Stride(stride);
    }
    let certificate = certify_score(score.as_score(), held_out, &library, &judging, control);
    let certificate = match certificate {
        Err(error) if blame::allowed(&error, blame::certificate_is_set(config)) => {
            ScoreCertificate::missing(held_out.dim(), &error.to_string())
        }
        certificate => certificate?,
    };
    Ok(ScoreFound {
        score,
        certificate,
        kind,
        reason: "asked for".into(),
    })
}

/// The planned degrees, and no more samples than the work allows.
fn closed_form_config(
    training: &Ensemble,
    degrees: &[usize],
    asked: &ClosedFormConfig,
) -> ClosedFormConfig {
    let mut config = asked.clone();
    let dim = training.dim();
    config.degrees = degrees.to_vec();
    let degree = config.degrees.iter().copied().max().unwrap_or(2);
    let functions = (1..=degree).fold(1.0, |c, i| c * (dim + i) as f64 / i as f64);
    let work = training.samples() as f64 * functions * functions * dim as f64;
    let stride = (work / MOST_WORK).ceil() as usize;
    let stride = stride.max(training.samples().div_ceil(ENOUGH));
    if stride > 1 && config.statistics.subsample == Subsample::All {
        config.statistics.subsample = Subsample::Stride(stride);
    }
    config
}
