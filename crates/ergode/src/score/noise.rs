//! The score of a density that is seen through measurement noise.

use ndarray::{Array1, Array2, ArrayView2};

use super::certificate::{CertificateConfig, Evidence, ScoreCertificate, lasting, measure};
use super::closed_form::{ClosedFormConfig, ClosedFormScore, Selection, select};
use super::confinement::Confinement;
use super::fields::Gradients;
use super::sums::{BlockSums, ScoreObjective, ScoreSums};
use crate::control::Control;
use crate::data::{Ensemble, Standardiser};
use crate::error::{Error, Result};
use crate::lagged::{Jackknife, LaggedConfig, LaggedSums, PairSums, accumulate_moments};
use crate::observable::{Functions, Moments, Monomials, NoiseRemoval, Polynomial, index, powers};

/// ⟨∇ψ_k·∇ψ_l⟩ and ⟨Δψ_k⟩ of the monomials ψ of degree 1 up to a degree, as lists of moments: what
/// Hyvärinen's objective of a potential asks of the data.
pub(crate) struct PotentialMoments {
    count: usize,
    /// (k, l ≤ k, place, factor).
    gram: Vec<(usize, usize, usize, f64)>,
    /// (k, place, factor).
    divergence: Vec<(usize, usize, f64)>,
}

impl PotentialMoments {
    /// # Errors
    /// When the moments do not reach twice the degree less two.
    pub(crate) fn new(moments: &Moments, dim: usize, degree: usize) -> Result<Self> {
        let potentials = powers(dim, degree)?;
        let potentials = &potentials[1..];
        let (mut gram, mut divergence) = (Vec::new(), Vec::new());
        for (k, alpha) in potentials.iter().enumerate() {
            for i in (0..dim).filter(|&i| alpha[i] > 0) {
                let power = f64::from(alpha[i]);
                if alpha[i] > 1 {
                    let mut lower = alpha.clone();
                    lower[i] -= 2;
                    divergence.push((k, moments.place(&lower)?, power * (power - 1.0)));
                }
                for (l, beta) in potentials[..=k].iter().enumerate() {
                    if beta[i] > 0 {
                        let mut sum: Vec<u32> =
                            alpha.iter().zip(beta).map(|(a, b)| a + b).collect();
                        sum[i] -= 2;
                        gram.push((k, l, moments.place(&sum)?, power * f64::from(beta[i])));
                    }
                }
            }
        }
        Ok(Self {
            count: potentials.len(),
            gram,
            divergence,
        })
    }

    /// G and d of these moments.
    pub(crate) fn means(&self, moments: &Moments) -> (Array2<f64>, Array1<f64>) {
        let values = moments.values();
        let mut gram = Array2::zeros((self.count, self.count));
        for &(k, l, place, factor) in &self.gram {
            gram[[k, l]] += factor * values[place];
        }
        for k in 0..self.count {
            for l in 0..k {
                gram[[l, k]] = gram[[k, l]];
            }
        }
        let mut divergence = Array1::zeros(self.count);
        for &(k, place, factor) in &self.divergence {
            divergence[k] += factor * values[place];
        }
        (gram, divergence)
    }
}

/// Moments of standardised coordinates without noise, from sums per block.
struct CleanMoments {
    sums: LaggedSums,
    index: std::sync::Arc<std::collections::HashMap<Vec<u32>, usize>>,
    removal: NoiseRemoval,
    /// S in these coordinates.
    covariance: Array2<f64>,
}

impl CleanMoments {
    fn collect(
        ensemble: &Ensemble,
        standardiser: &Standardiser,
        covariance: ArrayView2<f64>,
        degree: usize,
        statistics: &LaggedConfig,
        control: &Control,
    ) -> Result<Self> {
        let scale = &standardiser.scale;
        let covariance = Array2::from_shape_fn(covariance.dim(), |(i, j)| {
            covariance[[i, j]] / (scale[i] * scale[j])
        });
        let exponents = powers(ensemble.dim(), degree)?;
        Ok(Self {
            sums: accumulate_moments(
                ensemble,
                standardiser,
                degree,
                &statistics.starts(ensemble),
                control,
            )?,
            index: std::sync::Arc::new(index(&exponents)),
            removal: NoiseRemoval::new(&exponents),
            covariance,
        })
    }

    /// The moments of some sums.
    fn of(&self, sums: &PairSums) -> Moments {
        let mut values = sums.initial_mean(0);
        self.removal.apply_to(self.covariance.view(), &mut values);
        Moments::at(&self.index, values)
    }
}

/// Fit the potential of the density of x where y = x + η is seen, η being white Gaussian noise of the
/// given covariance in the units of `ensemble`; degree and ridge are chosen as in
/// [`fit_potential_score`](super::fit_potential_score).
///
/// All that Hyvärinen's objective asks of polynomial potentials are moments, and these are known without
/// the noise. The support of the samples, outside of which the score is confined, remains that of y. The
/// errors of the coefficients are those at the given covariance.
///
/// # Errors
/// When the objective is not Hyvärinen's, or as for the fit without noise.
pub fn fit_potential_score_without_noise(
    ensemble: &Ensemble,
    covariance: ArrayView2<f64>,
    config: &ClosedFormConfig,
    control: &Control,
) -> Result<ClosedFormScore> {
    if config.objective != ScoreObjective::Hyvarinen {
        return Err(Error::input(
            "only Hyvärinen's objective can correct for measurement noise; use it for the score",
        ));
    }
    let Some(&top) = config.degrees.iter().max() else {
        return Err(Error::input("give at least one degree for the potential"));
    };
    let names = ensemble.names();
    let confinement = Confinement::from_ensemble(ensemble)?;
    let clean = CleanMoments::collect(
        ensemble,
        confinement.standardiser(),
        covariance,
        2 * top - 2,
        &config.statistics,
        control,
    )?;
    let plan = PotentialMoments::new(&clean.of(&clean.sums.total()), names.len(), top)?;
    let ids: Vec<_> = clean.sums.block_ids().collect();
    let blocks = ids.into_iter().enumerate().map(|(b, id)| {
        let sums = clean.sums.total_of(|k| k == b);
        let (gram, divergence) = plan.means(&clean.of(&sums));
        let samples = sums.pairs(0);
        let sums = BlockSums {
            samples,
            gram: gram * samples,
            divergence: divergence * samples,
        };
        (id, sums)
    });
    let sums = ScoreSums {
        labels: Monomials::new(names, 1..=top)?.labels().to_vec(),
        blocks: blocks.collect(),
    };
    let sizes = config
        .degrees
        .iter()
        .map(|&degree| Ok(Monomials::new(names, 1..=degree)?.len()))
        .collect::<Result<Vec<_>>>()?;
    let fit: Selection = select(&sums, &sizes, config)?;
    let kept = Monomials::new(names, 1..=config.degrees[fit.choice()])?;
    let mut score = fit.score(Box::new(Gradients::new(kept)), confinement, config);
    // They were found at one S, and would lack its error.
    score.replicates = None;
    Ok(score)
}

/// Judge a polynomial score of the noise-free density by noisy data that it was not fitted to: the Stein
/// identities of [`certify_score`](super::certify_score) in standardised coordinates, as polynomials whose
/// averages are freed from the noise. Langevin runs have no noise-free start and are left out.
///
/// # Errors
/// When the score is no gradient of a polynomial, or there are fewer than two blocks.
pub fn certify_score_without_noise(
    score: &ClosedFormScore,
    heldout: &Ensemble,
    covariance: ArrayView2<f64>,
    config: &CertificateConfig,
    control: &Control,
) -> Result<ScoreCertificate> {
    /// Degree of the functions f.
    const DEGREE: usize = 3;
    let Some(components) = score.component_polynomials() else {
        return Err(Error::input(
            "only polynomial scores can correct for measurement noise; use the closed form (score.kind)",
        ));
    };
    let (dim, names) = (heldout.dim(), heldout.names());
    let library = Monomials::new(names, 0..=DEGREE)?;
    let functions: Vec<Polynomial> = library
        .exponents()
        .into_iter()
        .map(|exponents| Polynomial::monomial(exponents, 1.0))
        .collect();
    let (mut labels, mut identities) = (Vec::new(), Vec::new());
    for (f, label) in functions.iter().zip(library.labels()) {
        for (j, x) in names.iter().enumerate() {
            let mut identity = f.product(&components[j]);
            identity.add_scaled(1.0, &f.derivative(j));
            identities.push(identity);
            labels.push(format!("<{label} s({x}) + d({label})/d{x}>"));
        }
    }
    let degree = components.iter().map(Polynomial::degree).max().unwrap_or(0);
    let clean = CleanMoments::collect(
        heldout,
        score.confinement().standardiser(),
        covariance,
        (degree + degree.max(DEGREE)).max(2 * DEGREE),
        &lasting(&config.statistics, heldout, control)?,
        control,
    )?;
    let total = clean.of(&clean.sums.total());
    let mut gram = Array2::zeros((functions.len(), functions.len()));
    for ((a, b), value) in gram.indexed_iter_mut() {
        *value = total.mean(&functions[a].product(&functions[b]))?;
    }
    let squares = components.iter().map(|s| total.mean(&s.product(s)));
    let squares = squares.sum::<Result<f64>>()?;
    let estimate: Jackknife = clean.sums.jackknife(|sums| {
        let moments = clean.of(sums);
        let mean = |p: &Polynomial| moments.mean(p).unwrap_or(f64::NAN);
        identities.iter().map(mean).collect()
    })?;
    let mut certificate = measure(&Evidence {
        labels: &labels,
        dim,
        estimate: &estimate,
        gram: &gram,
        squares,
        loss: None,
    })?;
    certificate.judge(config);
    Ok(certificate)
}
