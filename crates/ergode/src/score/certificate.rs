//! Quality of a score, estimated from data alone.

use std::fmt;

use ndarray::{Array2, ArrayView1};
use serde::{Deserialize, Serialize};

use super::Score;
use super::identity::{Identity, IdentityTest};
use super::moments::{Basis, Moments};
use super::resample::{ResampleConfig, Resampling, resample};
use crate::check::{decorrelation_times, mean_interval};
use crate::control::Control;
use crate::data::{Ensemble, Standardiser};
use crate::error::{Error, Result};
use crate::finding::{Finding, FindingKind, Severity, Verdict, digits};
use crate::lagged::{Jackknife, LagGrid, LaggedConfig, PairSums, accumulate_lagged};
use crate::linalg;
use crate::observable::{Functions, Library};
use crate::stats::{nan_if_null, student_quantile};

/// Options of a certificate; with the defaults, about one data set in a thousand gives a false alarm.
///
/// A violation counts when it is both significant and of a size: on many samples even a very good
/// score violates something significantly, and on few samples a good one violates something by chance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CertificateConfig {
    /// Sub-sampling and blocks.
    pub statistics: LaggedConfig,
    /// Probability of a violation by chance, over all identities or all coordinates together, below
    /// which it is significant enough for a warning.
    pub warn_probability: f64,
    /// The same for a failure.
    pub fail_probability: f64,
    /// Relative errors of the score up to this are only information, however significant.
    pub warn_error: f64,
    /// Relative error of the score from which a violation is a failure.
    pub fail_error: f64,
    /// Kolmogorov-Smirnov distance from which a change of a marginal is a failure.
    pub fail_distance: f64,
    /// Fraction of Langevin steps out of the support from which there is a warning.
    pub warn_refused: f64,
    /// The Langevin runs.
    pub resample: ResampleConfig,
}

impl Default for CertificateConfig {
    fn default() -> Self {
        Self {
            statistics: LaggedConfig::default(),
            warn_probability: 1e-3,
            fail_probability: 1e-5,
            warn_error: 0.01,
            fail_error: 0.1,
            fail_distance: 0.1,
            warn_refused: 0.05,
            resample: ResampleConfig::default(),
        }
    }
}

/// Quality of a score on held-out data. All but the loss is in standardised coordinates z.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScoreCertificate {
    /// Number of blocks that the errors come from.
    pub blocks: usize,
    /// ⟨z sᵀ⟩ + 1, zero for the exact score.
    pub stein: Array2<f64>,
    /// ‖⟨z sᵀ⟩ + 1‖ / √D, the relative error of the part of the score that is linear in z.
    #[serde(deserialize_with = "nan_if_null")]
    pub stein_error: f64,
    /// Value of `stein_error` expected by chance alone.
    #[serde(deserialize_with = "nan_if_null")]
    pub stein_floor: f64,
    /// ⟨f s_j + ∂_j f⟩ for f = 1, every z_i and every function of the library; ⟨z·s⟩/D + 1 where D > 1; and
    /// ⟨|s|² + ∇·s⟩ where ∇·s is known.
    pub identities: Vec<Identity>,
    /// The identities together.
    pub test: IdentityTest,
    /// L2(p_ss) size of the projection of the score's error on the functions f, with what chance adds
    /// subtracted, over that of the true score, whose projection ⟨f s⟩ = −⟨∇f⟩ the data alone give: a lower
    /// bound on the relative error of the score.
    #[serde(deserialize_with = "nan_if_null")]
    pub relative_error: f64,
    /// Its value expected by chance alone.
    #[serde(deserialize_with = "nan_if_null")]
    pub relative_floor: f64,
    /// Hyvärinen's objective ⟨|s|²/2 + ∇·s⟩ in raw coordinates and its standard error, where ∇·s is known.
    pub loss: Option<[f64; 2]>,
    /// The Langevin runs.
    pub resampling: Option<Resampling>,
    /// Findings, the most severe first.
    pub findings: Vec<Finding>,
    /// The worst of it.
    pub verdict: Verdict,
}

/// Judge a score by data that it was not fitted to.
///
/// For the exact score ⟨f s + ∇f⟩ = 0 for every f (Stein's identity, by parts). This is tested for the
/// functions of `library`, of standardised coordinates ([`certificate_library`](super::certificate_library)
/// is the usual choice, with functions outside the span of a fit; between walls each times a function that is zero
/// at them), with errors over blocks of several
/// correlation times; short Langevin runs from the data then must leave their marginals alone.
///
/// # Errors
/// When the dimensions do not agree, there are fewer than two blocks, a coordinate is constant, or
/// the work is stopped.
///
/// ```
/// use ergode::{Control, Verdict};
/// use ergode::score::{
///     CertificateConfig, ClosedFormConfig, certificate_library, certify_score,
///     fit_potential_score,
/// };
/// use ergode::systems::{OrnsteinUhlenbeck, System, generate};
///
/// let system = OrnsteinUhlenbeck::new(Default::default())?;
/// let (mut protocol, control) = (system.protocol(), Control::new());
/// let train = generate(&system, &protocol, &control)?.ensemble;
/// protocol.simulate.seed += 1;
/// let heldout = generate(&system, &protocol, &control)?.ensemble;
///
/// let score = fit_potential_score(&train, &ClosedFormConfig::default(), &control)?;
/// let library = certificate_library(heldout.names())?;
/// let certificate =
///     certify_score(&score, &heldout, &library, &CertificateConfig::default(), &control)?;
/// println!("{certificate}");
/// assert_eq!(certificate.verdict, Verdict::Pass);
/// # Ok::<(), ergode::Error>(())
/// ```
pub fn certify_score(
    score: &dyn Score,
    heldout: &Ensemble,
    library: &dyn Library,
    config: &CertificateConfig,
    control: &Control,
) -> Result<ScoreCertificate> {
    let dim = heldout.dim();
    if score.dim() != dim || library.dim() != dim {
        return Err(Error::input(format!(
            "dimensions do not match: the score has {} coordinates, the functions {}, the data {dim}",
            score.dim(),
            library.dim()
        )));
    }
    let standardiser = Standardiser::watched(heldout, control)?;
    let basis = Basis::new(heldout.names(), library, &standardiser).between_walls(heldout);
    let divergence = !basis.has_walls() && known_divergence(score, heldout);
    let moments = Moments::new(score, &basis, divergence);
    let grid = match heldout.sampling_interval() {
        Some(interval) => LagGrid::even(interval, vec![0])?,
        None => LagGrid::windows(vec![0.0], 1.0)?,
    };
    let statistics = lasting(&config.statistics, heldout, control)?;
    let sums = accumulate_lagged(heldout, &basis, &moments, &grid, &statistics, control)?;
    let estimate = sums.jackknife(|sums: &PairSums| {
        let mut values = sums.initial_mean(0).to_vec();
        values.extend(sums.future_mean(0).iter().skip(1).take(dim));
        values
    })?;
    let gram = sums.total().correlation(0);
    let gram = gram
        .slice(ndarray::s![.., moments.basis_range()])
        .to_owned();
    let own: f64 = moments.square_range().map(|k| estimate.values[k]).sum();
    // The size of the true score, so that a score cannot hide its error behind its own size.
    let information = fisher_information(&basis, &gram, heldout)?;
    let squares = if information > 0.0 { information } else { own };
    let mut certificate = measure(&Evidence {
        labels: moments.identity_labels(),
        dim,
        estimate: &estimate,
        gram: &gram,
        squares,
        loss: moments.loss_index(),
    })?;
    if config.resample.starts > 0 {
        let errors = estimate.errors();
        let effective: Vec<f64> = (0..dim)
            .map(|i| errors[moments.len() + i].powi(-2))
            .collect();
        let squares = moments.square_range();
        let curvature = squares.map(|k| estimate.values[k]).fold(0.0, f64::max);
        let resampling = resample(
            score,
            heldout,
            &standardiser,
            (&effective, curvature),
            &config.resample,
            control,
        )?;
        certificate.resampling = Some(resampling);
    }
    certificate.judge(config);
    Ok(certificate)
}

/// Decorrelation times in a block of held-out data, at least.
const BLOCK: f64 = 2.0;
/// Blocks of a record that is too short to show its decorrelation time.
const BLOCKS: f64 = 8.0;
/// Samples from which decorrelation times are estimated, and the mean gradients of the functions.
const TIMED: usize = 1_000_000;
const GRADIENTS: usize = 20_000;

/// The same statistics with blocks of at least two decorrelation times.
pub(super) fn lasting(
    statistics: &LaggedConfig,
    heldout: &Ensemble,
    control: &Control,
) -> Result<LaggedConfig> {
    let times = decorrelation_times(&*heldout.excerpt(TIMED)?, control)?;
    let longest = times.into_iter().flatten().fold(0.0, f64::max);
    let rows = match longest {
        0.0 => heldout.samples() as f64 / BLOCKS,
        longest => BLOCK * longest / mean_interval(heldout),
    };
    Ok(LaggedConfig {
        blocking: statistics.blocking.lasting(heldout, rows),
        ..*statistics
    })
}

/// Σ_j v_jᵀ G⁻¹ v_j with v_j = ⟨∂_j f⟩ and G = ⟨f fᵀ⟩, the size ⟨|s|²⟩ of the projection of the true score on
/// the functions f, because ⟨f s_j⟩ = −⟨∂_j f⟩.
fn fisher_information(basis: &Basis, gram: &Array2<f64>, heldout: &Ensemble) -> Result<f64> {
    let gradients = basis.mean_gradients(&heldout.sample_tile(GRADIENTS));
    let along = whitening(gram)?.t().dot(&gradients);
    Ok(along.iter().map(|v| v * v).sum())
}

/// W with Wᵀ G W = 1 on the directions that the samples resolve. Functions are brought to one size first;
/// combinations of them that nearly vanish have derivatives that do not, and would add noise alone.
fn whitening(gram: &Array2<f64>) -> Result<Array2<f64>> {
    const RESOLVED: f64 = 1e-3;
    let sizes = gram
        .diag()
        .mapv(|square| square.max(f64::MIN_POSITIVE).sqrt());
    let scaled = Array2::from_shape_fn(gram.dim(), |(a, b)| {
        0.5 * (gram[[a, b]] + gram[[b, a]]) / (sizes[a] * sizes[b])
    });
    let (values, vectors) = linalg::symmetric_eigen(scaled.view())?;
    let largest = values[values.len() - 1];
    let roots = values.mapv(|v| {
        if v > RESOLVED * largest {
            1.0 / v.sqrt()
        } else {
            0.0
        }
    });
    Ok(vectors * &roots / &sizes.insert_axis(ndarray::Axis(1)))
}

fn known_divergence(score: &dyn Score, ensemble: &Ensemble) -> bool {
    let first = &ensemble.segments()[0];
    let mut x = vec![0.0; ensemble.dim()];
    ensemble.trajectories()[first.trajectory].row(first.rows.start, &mut x);
    score.divergence(&x, &mut [0.0])
}

/// The averages that a certificate is made of.
pub(super) struct Evidence<'a> {
    /// Labels of the identities.
    pub(super) labels: &'a [String],
    /// D.
    pub(super) dim: usize,
    /// The identities ⟨f s_j + ∂_j f⟩, (f, j) in order, f = 1 and the coordinates first; then others.
    pub(super) estimate: &'a Jackknife,
    /// ⟨f f'⟩.
    pub(super) gram: &'a Array2<f64>,
    /// ⟨|s|²⟩ of the true score in standardised coordinates.
    pub(super) squares: f64,
    /// Where the estimate has ⟨|s|²/2 + ∇·s⟩.
    pub(super) loss: Option<usize>,
}

/// Everything but the Langevin runs.
pub(super) fn measure(evidence: &Evidence) -> Result<ScoreCertificate> {
    let Evidence {
        labels,
        dim,
        estimate,
        gram,
        squares,
        loss,
    } = *evidence;
    let errors = estimate.errors();
    let identities = Identity::from_jackknife(labels, estimate);
    let stein_at = |i: usize, j: usize| (1 + i) * dim + j;
    let stein = Array2::from_shape_fn((dim, dim), |(i, j)| estimate.values[stein_at(i, j)]);
    let size = |of: &dyn Fn(usize, usize) -> f64| {
        let squares = (0..dim * dim).map(|k| of(k / dim, k % dim).powi(2));
        (squares.sum::<f64>() / dim as f64).sqrt()
    };
    // G⁻¹ = W Wᵀ, unresolved directions left out.
    let whiten = whitening(gram)?;
    let projected = |row: ArrayView1<f64>| -> f64 {
        let functions = gram.nrows();
        let row = row.slice(ndarray::s![..functions * dim]);
        let row = row
            .to_shape((functions, dim))
            .expect("function, coordinate");
        let along = whiten.t().dot(&row);
        along.iter().map(|v| v * v).sum()
    };
    let violation = projected(estimate.values.view());
    let chance: f64 = estimate.deviations.rows().into_iter().map(projected).sum();
    Ok(ScoreCertificate {
        blocks: estimate.deviations.nrows(),
        stein_error: size(&|i, j| stein[[i, j]]),
        stein_floor: size(&|i, j| errors[stein_at(i, j)]),
        stein,
        test: IdentityTest::new(&identities).expect("the score has a mean"),
        identities,
        // A maximum would take what is not a number for zero.
        relative_error: match violation - chance {
            excess if excess < 0.0 => 0.0,
            excess => (excess / squares).sqrt(),
        },
        relative_floor: (chance / squares).sqrt(),
        loss: loss.map(|k| [estimate.values[k], errors[k]]),
        resampling: None,
        findings: Vec::new(),
        verdict: Verdict::Pass,
    })
}

impl ScoreCertificate {
    pub(super) fn judge(&mut self, config: &CertificateConfig) {
        self.judge_identities(config);
        if let Some(resampling) = &self.resampling {
            self.findings.extend(judge_runs(resampling, config));
        }
        self.findings.sort_by_key(|f| std::cmp::Reverse(f.severity));
        self.verdict = Verdict::of(&self.findings);
    }

    /// An error of half the score or more, far beyond what chance adds, is seen by the eye: few blocks are no
    /// excuse for it.
    fn seen_by_eye(&self) -> bool {
        const LARGE: f64 = 0.5;
        /// Two-sided probability 1e-4 of a standard normal number, the unit of Student's quantiles.
        const Z: f64 = 3.89;
        let beyond = student_quantile(Z, (self.blocks.max(2) - 1) as f64);
        self.relative_error > LARGE && self.relative_error > beyond * self.relative_floor
    }

    /// Whether held-out data reject the score: by a failure, or by a violation that counts and whose size
    /// exceeds both what is tolerated and what chance adds. That data are few is no veto.
    pub(crate) fn refutes(&self, config: &CertificateConfig) -> bool {
        let violated = self
            .findings
            .iter()
            .find(|f| f.kind == FindingKind::Identities);
        violated.is_some_and(|finding| match finding.severity {
            Severity::Fail => true,
            Severity::Warn => {
                self.relative_error > config.fail_error && self.relative_error > self.relative_floor
            }
            Severity::Info => false,
        })
    }

    fn judge_identities(&mut self, config: &CertificateConfig) {
        let percent = |fraction: f64| format!("{} %", digits(100.0 * fraction));
        let test = &self.test;
        // An error that is not a number is no small one.
        let small = self.relative_error <= config.warn_error;
        let large = !self.relative_error.is_finite() || self.relative_error > config.fail_error;
        let seen = self.seen_by_eye();
        if test.probability < config.warn_probability || seen {
            let certain = test.probability < config.fail_probability;
            let severity = match (small, seen || large && certain) {
                (true, _) => Severity::Info,
                (_, true) => Severity::Fail,
                _ => Severity::Warn,
            };
            self.findings.push(Finding::new(
                FindingKind::Identities,
                severity,
                format!(
                    "{} averages should be zero for the exact score, but {} is {} standard errors away \
                     (probability {} by chance); the relative error of the score is at least {}",
                    test.count,
                    test.worst,
                    digits(test.z.abs()),
                    digits(test.probability),
                    percent(self.relative_error)
                ),
                "use a higher degree or a larger network for the score, or fit it to more data",
            ));
        }
        if self.relative_floor > config.fail_error {
            self.findings.push(Finding::new(
                FindingKind::FewData,
                Severity::Info,
                format!(
                    "chance alone gives an error of {}, so that smaller errors of the score cannot be \
                     seen",
                    percent(self.relative_floor)
                ),
                "certify the score on more data",
            ));
        }
    }
}

fn judge_runs(resampling: &Resampling, config: &CertificateConfig) -> Vec<Finding> {
    let mut findings = Vec::new();
    let count = resampling.marginals.len() as f64;
    if let Some(worst) = resampling.worst()
        && worst.probability * count < config.warn_probability
    {
        let certain = worst.probability * count < config.fail_probability;
        let severity = if certain && worst.distance > config.fail_distance {
            Severity::Fail
        } else {
            Severity::Warn
        };
        findings.push(Finding::new(
            FindingKind::Resampling,
            severity,
            format!(
                "short Langevin runs from the data change the distribution of {} by {} \
                 (Kolmogorov-Smirnov distance; about {} by chance)",
                worst.name,
                digits(worst.distance),
                digits(0.87 * worst.floor)
            ),
            "the score does not match these data; fit it again, or shorten the step of the runs",
        ));
    }
    if resampling.refused > config.warn_refused {
        findings.push(Finding::new(
            FindingKind::Refused,
            Severity::Warn,
            format!(
                "{} % of the Langevin steps would have left the support of the data",
                digits(100.0 * resampling.refused)
            ),
            "the score does not keep samples inside the support; confine it, or shorten the step",
        ));
    }
    findings
}

impl fmt::Display for ScoreCertificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = match self.verdict {
            Verdict::Pass => "pass",
            Verdict::Warn => "warn",
            Verdict::Fail => "fail",
        };
        writeln!(f, "score: {verdict}, errors over {} blocks", self.blocks)?;
        writeln!(
            f,
            "Stein error {} (chance {}), relative error at least {} (chance {})",
            digits(self.stein_error),
            digits(self.stein_floor),
            digits(self.relative_error),
            digits(self.relative_floor)
        )?;
        writeln!(
            f,
            "{} identities, worst {} at z = {}, probability {}",
            self.test.count,
            self.test.worst,
            digits(self.test.z),
            digits(self.test.probability)
        )?;
        if let Some([loss, error]) = self.loss {
            writeln!(f, "held-out loss {} +- {}", digits(loss), digits(error))?;
        }
        if let Some(worst) = self.resampling.as_ref().and_then(Resampling::worst) {
            writeln!(
                f,
                "Langevin runs change {} most, by {} (floor {})",
                worst.name,
                digits(worst.distance),
                digits(worst.floor)
            )?;
        }
        for finding in &self.findings {
            writeln!(f, "- {}; {}", finding.message, finding.advice)?;
        }
        Ok(())
    }
}
