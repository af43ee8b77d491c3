//! Scores in a linear span, by Hyvärinen's objective.

use std::sync::OnceLock;

use ndarray::{Array1, Array2, ArrayView1};
use serde::{Deserialize, Serialize, Serializer, ser::Error as _};

use super::confinement::Confinement;
use super::fields::{Gradients, StoredFields, VectorFields};
use super::sums::{BlockSums, ScoreObjective, ScoreSums, accumulate_score};
use super::{Score, tile_width};
use crate::control::Control;
use crate::data::{Ensemble, Standardiser};
use crate::error::{Error, Result};
use crate::lagged::{BlockId, CoefficientErrors, Jackknife, LaggedConfig, paired};
use crate::linalg;
use crate::observable::{Functions, Monomials, Polynomial, Polynomials, StoredLibrary};

/// Options of a closed-form score.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ClosedFormConfig {
    /// Degrees of the potential that are tried, in increasing order.
    pub degrees: Vec<usize>,
    /// Ridges that are tried, relative to the diagonal of the Gram matrix.
    pub ridges: Vec<f64>,
    /// Folds of the cross-validation over blocks.
    pub folds: usize,
    /// Objective to minimise.
    pub objective: ScoreObjective,
    /// Sub-sampling and blocks.
    pub statistics: LaggedConfig,
}

impl Default for ClosedFormConfig {
    fn default() -> Self {
        Self {
            degrees: vec![2, 4, 6, 8, 10],
            ridges: vec![0.0, 1e-10, 1e-8, 1e-6, 1e-5, 1e-4, 1e-3],
            folds: 6,
            objective: ScoreObjective::default(),
            statistics: LaggedConfig::default(),
        }
    }
}

/// The held-out objective ½ βᵀGβ + dᵀβ of one choice ([`ScoreSums`]).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct DegreeTrial {
    /// Number of functions.
    pub functions: usize,
    /// Ridge.
    pub ridge: f64,
    /// Mean over folds.
    pub loss: f64,
    /// Standard error of the improvement over the trial before it.
    pub improvement_error: f64,
}

/// s = Σ_k β_k f_k, confined outside the samples.
///
/// It can be written to a file where its fields can ([`VectorFields::stored`]).
#[derive(Debug, Deserialize)]
#[serde(try_from = "Stored")]
pub struct ClosedFormScore {
    pub(super) fields: Box<dyn VectorFields>,
    confinement: Confinement,
    objective: ScoreObjective,
    pub(super) coefficients: Array1<f64>,
    errors: Array1<f64>,
    /// The deviations that the errors come from.
    pub(super) replicates: Option<CoefficientErrors>,
    trials: Vec<DegreeTrial>,
    /// s in standardised coordinates as one polynomial per component, where it is that; made when it is
    /// first needed.
    pub(super) components: OnceLock<Option<Polynomials>>,
}

/// The stored form of a score.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    fields: StoredFields,
    confinement: Confinement,
    objective: ScoreObjective,
    coefficients: Array1<f64>,
    errors: Array1<f64>,
    /// Left out where they are not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    replicates: Option<CoefficientErrors>,
    trials: Vec<DegreeTrial>,
}

impl Serialize for ClosedFormScore {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let fields = self.fields.stored().ok_or_else(|| {
            S::Error::custom(
                "the vector fields of the score cannot be written to a file; fit it with gradients of \
                 monomials or of a lattice potential, or with spin fields",
            )
        })?;
        let stored = Stored {
            fields,
            confinement: self.confinement.clone(),
            objective: self.objective,
            coefficients: self.coefficients.clone(),
            errors: self.errors.clone(),
            replicates: self.replicates.clone(),
            trials: self.trials.clone(),
        };
        stored.serialize(serializer)
    }
}

impl TryFrom<Stored> for ClosedFormScore {
    type Error = Error;

    fn try_from(stored: Stored) -> Result<Self> {
        let score = Self::new(
            stored.fields.into(),
            stored.confinement,
            stored.coefficients,
        )?;
        if stored.errors.len() != score.coefficients.len() {
            return Err(Error::input(format!(
                "the score has {} standard errors for {} coefficients; the file is damaged, write it again",
                stored.errors.len(),
                score.coefficients.len()
            )));
        }
        let count = score.coefficients.len();
        let replicates = stored.replicates;
        replicates
            .iter()
            .try_for_each(|errors| errors.require(count))?;
        Ok(Self {
            objective: stored.objective,
            errors: stored.errors,
            replicates,
            trials: stored.trials,
            ..score
        })
    }
}

impl ClosedFormScore {
    /// The score with known coefficients β, in the standardised coordinates of `confinement`.
    ///
    /// # Errors
    /// When there is not one finite coefficient per field, or the dimensions differ.
    pub fn new(
        fields: Box<dyn VectorFields>,
        confinement: Confinement,
        coefficients: Array1<f64>,
    ) -> Result<Self> {
        let (dim, count) = (fields.dim(), fields.labels().len());
        if coefficients.len() != count || coefficients.iter().any(|beta| !beta.is_finite()) {
            return Err(Error::input(format!(
                "a score of {count} fields needs {count} finite coefficients, not {}",
                coefficients.len()
            )));
        }
        if confinement.support().dim() != dim {
            return Err(Error::input(format!(
                "dimensions do not match: the fields have {dim} coordinates, the support {}; make both \
                 from the same data",
                confinement.support().dim()
            )));
        }
        Ok(Self {
            errors: Array1::zeros(count),
            replicates: None,
            fields,
            confinement,
            objective: ScoreObjective::default(),
            coefficients,
            trials: Vec::new(),
            components: OnceLock::new(),
        })
    }

    /// ∂_i Σ_k β_k ψ_k(z), one polynomial of standardised coordinates per component, where the fields are
    /// gradients of monomials.
    pub(crate) fn component_polynomials(&self) -> Option<Vec<Polynomial>> {
        let potential = self.potential_polynomial()?;
        Some((0..self.dim()).map(|i| potential.derivative(i)).collect())
    }

    /// The same score with its coefficients moved by `by`, without their errors; none in fields that cannot be
    /// stored.
    pub(crate) fn moved(&self, by: ArrayView1<f64>) -> Option<Self> {
        let fields = self.fields.stored()?.into();
        Self::new(fields, self.confinement.clone(), &self.coefficients + &by).ok()
    }

    /// Σ_k β_k ψ_k(z), a polynomial of standardised coordinates, where the fields are gradients of monomials.
    pub(crate) fn potential_polynomial(&self) -> Option<Polynomial> {
        let Some(StoredFields::Gradients(StoredLibrary::Monomials(monomials))) =
            self.fields.stored()
        else {
            return None;
        };
        let mut potential = Polynomial::default();
        for (exponents, beta) in monomials.exponents().into_iter().zip(&self.coefficients) {
            potential.add_scaled(*beta, &Polynomial::monomial(exponents, 1.0));
        }
        Some(potential)
    }

    fn components(&self) -> Option<&Polynomials> {
        let make = || {
            let dim = self.dim();
            let names: Vec<String> = (0..dim).map(|i| format!("z{i}")).collect();
            let plain = Standardiser::new(vec![0.0; dim], vec![1.0; dim]).ok()?;
            Polynomials::new(&names, &plain, &self.component_polynomials()?).ok()
        };
        self.components.get_or_init(make).as_ref()
    }

    /// β, in standardised coordinates, with standard errors by jackknife over blocks, and labels.
    pub fn coefficients(&self) -> impl Iterator<Item = (&str, f64, f64)> {
        let labels = self.fields.labels().iter().map(String::as_str);
        let values = self.coefficients.iter().zip(&self.errors);
        labels
            .zip(values)
            .map(|(label, (value, error))| (label, *value, *error))
    }

    /// Objective that was minimised.
    pub fn objective(&self) -> ScoreObjective {
        self.objective
    }

    /// Its coordinates, and where it is the fit.
    pub fn confinement(&self) -> &Confinement {
        &self.confinement
    }

    /// Sizes that were tried.
    pub fn trials(&self) -> &[DegreeTrial] {
        &self.trials
    }

    /// Σ β_k a_k, the rows a_k of `terms` one after the other.
    pub(super) fn combine(&self, terms: &[f64], out: &mut [f64]) {
        out.fill(0.0);
        let terms = terms.chunks_exact(out.len().max(1));
        for (term, beta) in terms.zip(&self.coefficients) {
            for (sum, value) in out.iter_mut().zip(term) {
                *sum += beta * value;
            }
        }
    }
}

impl Score for ClosedFormScore {
    fn dim(&self) -> usize {
        self.fields.dim()
    }

    fn score(&self, x: &[f64], out: &mut [f64]) {
        tile_width(self, x, out);
        if let Some(components) = self.components() {
            let values = |z: &[f64], score: &mut [f64]| components.values(z, score);
            return self.confinement.score(x, out, values);
        }
        let mut fields = vec![0.0; self.coefficients.len() * x.len()];
        self.confinement.score(x, out, |z, score| {
            self.fields.fields(z, &mut fields);
            self.combine(&fields, score);
        });
    }

    fn jacobian(&self, x: &[f64], out: &mut [f64]) -> bool {
        let mut terms = vec![0.0; self.coefficients.len() * out.len()];
        self.confinement.jacobian(x, out, |z, score, jacobian| {
            let size = self.coefficients.len() * z.len();
            self.fields.fields(z, &mut terms[..size]);
            self.combine(&terms[..size], score);
            self.fields.jacobians(z, &mut terms);
            self.combine(&terms, jacobian);
            true
        })
    }

    fn divergence(&self, x: &[f64], out: &mut [f64]) -> bool {
        let (dim, n) = (self.dim(), out.len());
        assert_eq!(x.len(), dim * n, "a tile is (dim, n)");
        let scale = &self.confinement.standardiser().scale;
        let weights: Vec<f64> = scale.iter().map(|scale| scale.powi(-2)).collect();
        let (inside, outside) = self.confinement.place(x);
        let mut terms = vec![0.0; self.coefficients.len() * n];
        self.fields.divergences(&inside, &weights, &mut terms);
        self.combine(&terms, out);
        let mut jacobian = vec![0.0; dim * dim];
        for s in outside {
            let state: Vec<f64> = (0..dim).map(|i| x[i * n + s]).collect();
            self.jacobian(&state, &mut jacobian);
            out[s] = jacobian.iter().step_by(dim + 1).sum();
        }
        true
    }
}

/// Fit a potential of monomials, or waves of angles, whose degree and ridge are chosen by the held-out objective: the
/// degree rises while the objective falls by more than the error of the difference.
///
/// # Errors
/// When no degree can be fitted to the data, or the work is stopped.
pub fn fit_potential_score(
    ensemble: &Ensemble,
    config: &ClosedFormConfig,
    control: &Control,
) -> Result<ClosedFormScore> {
    let Some(&top) = config.degrees.iter().max() else {
        return Err(no_degree());
    };
    let confinement = Confinement::watched(ensemble, control)?;
    let library = Monomials::of(ensemble.names(), confinement.standardiser(), 1..=top)?;
    let sums = accumulate(
        ensemble,
        &Gradients::new(library),
        &confinement,
        config,
        control,
    )?;
    potential_of_sums(&sums, ensemble.names(), confinement, config)
}

/// [`fit_potential_score`] from the sums for all monomials up to the highest degree.
pub(crate) fn potential_of_sums(
    sums: &ScoreSums,
    names: &[String],
    confinement: Confinement,
    config: &ClosedFormConfig,
) -> Result<ClosedFormScore> {
    if config.degrees.is_empty() {
        return Err(no_degree());
    }
    let up_to = |degree: usize| Monomials::of(names, confinement.standardiser(), 1..=degree);
    let sizes = config
        .degrees
        .iter()
        .map(|&degree| Ok(up_to(degree)?.len()))
        .collect::<Result<Vec<_>>>()?;
    let fit = select(sums, &sizes, config)?;
    let kept = up_to(config.degrees[fit.choice])?;
    Ok(fit.score(Box::new(Gradients::new(kept)), confinement, config))
}

fn no_degree() -> Error {
    Error::input("give at least one degree for the potential")
}

/// Fit s = Σ β_k f_k for the given fields of the coordinates that `confinement` normalises.
///
/// A field such as 1/x needs a standardiser that does not shift that coordinate.
///
/// # Errors
/// When the fields are linearly dependent on the data, or the work is stopped.
pub fn fit_score(
    ensemble: &Ensemble,
    fields: Box<dyn VectorFields>,
    confinement: Confinement,
    config: &ClosedFormConfig,
    control: &Control,
) -> Result<ClosedFormScore> {
    let sums = accumulate(ensemble, &*fields, &confinement, config, control)?;
    let fit = select(&sums, &[fields.labels().len()], config)?;
    Ok(fit.score(fields, confinement, config))
}

fn accumulate(
    ensemble: &Ensemble,
    fields: &dyn VectorFields,
    confinement: &Confinement,
    config: &ClosedFormConfig,
    control: &Control,
) -> Result<ScoreSums> {
    accumulate_score(
        ensemble,
        fields,
        confinement.standardiser(),
        config.objective,
        &config.statistics,
        control,
    )
}

/// The outcome of the choice of size and ridge.
pub(super) struct Selection {
    choice: usize,
    pub(super) coefficients: Array1<f64>,
    jackknife: Jackknife,
    blocks: Vec<BlockId>,
    pub(super) trials: Vec<DegreeTrial>,
}

impl Selection {
    /// Index of the size.
    pub(super) fn choice(&self) -> usize {
        self.choice
    }

    pub(super) fn score(
        self,
        fields: Box<dyn VectorFields>,
        confinement: Confinement,
        config: &ClosedFormConfig,
    ) -> ClosedFormScore {
        ClosedFormScore {
            fields,
            confinement,
            objective: config.objective,
            coefficients: self.coefficients,
            errors: self.jackknife.errors(),
            replicates: CoefficientErrors::new(&self.blocks, &self.jackknife.deviations),
            trials: self.trials,
            components: OnceLock::new(),
        }
    }
}

/// The first of the increasing `sizes` after which the held-out objective falls no more.
pub(super) fn select(
    sums: &ScoreSums,
    sizes: &[usize],
    config: &ClosedFormConfig,
) -> Result<Selection> {
    if config.ridges.is_empty() || config.folds < 2 {
        return Err(Error::input("give at least one ridge and two folds"));
    }
    if sizes.windows(2).any(|pair| pair[0] >= pair[1]) {
        return Err(Error::input(
            "the degrees of the potential must be given in increasing order",
        ));
    }
    let folds = config.folds.min(sums.blocks.len());
    if folds < 2 {
        return Err(Error::input(
            "a held-out test needs at least two blocks; cut the record into stretches",
        ));
    }
    let mut trials: Vec<DegreeTrial> = Vec::new();
    let mut best: Option<(usize, f64, Vec<f64>)> = None;
    for (choice, &size) in sizes.iter().enumerate() {
        let (ridge, losses) = best_ridge(sums, size, folds, &config.ridges)?;
        let (change, error) = match &best {
            None => (f64::NEG_INFINITY, 0.0),
            Some((_, _, before)) => paired(&losses, before),
        };
        trials.push(DegreeTrial {
            functions: size,
            ridge,
            loss: losses.iter().sum::<f64>() / folds as f64,
            improvement_error: error,
        });
        if change > -error {
            break;
        }
        best = Some((choice, ridge, losses));
    }
    let (choice, ridge, _) = best.expect("the first size is always taken");
    let coefficients = Normal::new(&sums.total(sizes[choice], |_| true))?.solve(ridge);
    Ok(Selection {
        choice,
        jackknife: jackknife(sums, sizes[choice], ridge, &coefficients)?,
        blocks: sums.block_ids().collect(),
        coefficients,
        trials,
    })
}

/// The normal equations in the basis that is orthonormal under the samples: G = S V w Vᵀ S with
/// S² = diag G.
struct Normal {
    scale: Array1<f64>,
    values: Array1<f64>,
    vectors: Array2<f64>,
    /// Vᵀ S⁻¹ d.
    projected: Array1<f64>,
}

impl Normal {
    fn new(sums: &BlockSums) -> Result<Self> {
        let (gram, divergence) = sums.means();
        Self::of(&gram, &divergence)
    }

    fn of(gram: &Array2<f64>, divergence: &Array1<f64>) -> Result<Self> {
        let scale = gram.diag().mapv(|g| 1.0 / g.max(f64::MIN_POSITIVE).sqrt());
        let scaled = Array2::from_shape_fn(gram.dim(), |(i, j)| gram[[i, j]] * scale[i] * scale[j]);
        let (values, vectors) = linalg::symmetric_eigen(scaled.view())?;
        let projected = vectors.t().dot(&(divergence * &scale));
        Ok(Self {
            scale,
            values,
            vectors,
            projected,
        })
    }

    /// β = −(G + λ diag G)⁻¹ d; directions that the samples do not resolve are left out.
    fn solve(&self, ridge: f64) -> Array1<f64> {
        let largest = self.values[self.values.len() - 1];
        let mut along = self.projected.clone();
        for (p, value) in along.iter_mut().zip(&self.values) {
            *p = if *value > 1e-14 * largest {
                -*p / (value + ridge)
            } else {
                0.0
            };
        }
        self.vectors.dot(&along) * &self.scale
    }
}

/// The β that minimises ½ βᵀGβ + dᵀβ.
pub(crate) fn minimiser(gram: &Array2<f64>, divergence: &Array1<f64>) -> Result<Array1<f64>> {
    Ok(Normal::of(gram, divergence)?.solve(0.0))
}

impl ScoreSums {
    /// β = −G⁻¹ d of the chosen blocks.
    pub(crate) fn solve(&self, keep: impl Fn(usize) -> bool) -> Result<Array1<f64>> {
        Ok(Normal::new(&self.total(self.labels.len(), keep))?.solve(0.0))
    }
}

/// ½ βᵀGβ + dᵀβ.
fn objective(sums: &BlockSums, beta: &Array1<f64>) -> f64 {
    let (gram, divergence) = sums.means();
    0.5 * linalg::bilinear(beta.view(), gram.view(), beta.view()) + divergence.dot(beta)
}

/// The ridge of least held-out objective, with the objective of every fold.
fn best_ridge(
    sums: &ScoreSums,
    size: usize,
    folds: usize,
    ridges: &[f64],
) -> Result<(f64, Vec<f64>)> {
    let mut best: Option<(f64, Vec<f64>)> = None;
    let split = (0..folds)
        .map(|f| {
            let train = Normal::new(&sums.total(size, |k| k % folds != f))?;
            Ok((train, sums.total(size, |k| k % folds == f)))
        })
        .collect::<Result<Vec<_>>>()?;
    for &ridge in ridges {
        let losses: Vec<f64> = split
            .iter()
            .map(|(train, test)| objective(test, &train.solve(ridge)))
            .collect();
        let mean = |l: &[f64]| l.iter().sum::<f64>() / folds as f64;
        if best
            .as_ref()
            .is_none_or(|(_, kept)| mean(&losses) < mean(kept))
        {
            best = Some((ridge, losses));
        }
    }
    best.ok_or_else(|| Error::input("give at least one ridge"))
}

/// β with its sampling errors.
fn jackknife(sums: &ScoreSums, size: usize, ridge: f64, all: &Array1<f64>) -> Result<Jackknife> {
    let left_out = (0..sums.blocks.len())
        .map(|skip| Ok(Normal::new(&sums.total(size, |k| k != skip))?.solve(ridge)))
        .collect::<Result<Vec<_>>>()?;
    Jackknife::new(all.clone(), &left_out)
}
