//! Scores on a ring whose value at a site is a polynomial of its neighbourhood.

use ndarray::Array1;

use super::sums::repeated;
use crate::control::Control;
use crate::data::{Ensemble, Standardiser};
use crate::error::{Error, Result};
use crate::lagged::LaggedConfig;
use crate::observable::{LatticePotential, Monomials, Polynomial};
use crate::score::{
    Gradients, ScoreObjective, ScoreSums, SpinFields, VectorFields, accumulate_score,
};

/// A span of scores s = Σ_l β_l f_l on a ring, with f_l at a site a polynomial of its own components z
/// and of the sums w_d = z_{i+d} + z_{i−d} over pairs of neighbours.
#[derive(Debug)]
pub struct LatticeScore {
    fields: Box<dyn VectorFields>,
    components: usize,
    pub(super) distances: Vec<usize>,
    /// f_l at a site in the variables (z, w of every distance), (field, component).
    local: Vec<Vec<Polynomial>>,
}

/// Where the coefficients β of a score come from.
#[derive(Clone, Debug)]
pub enum ScoreCoefficients {
    /// Estimated again from every set of blocks, so that errors include those of the score.
    Fitted(ScoreSums),
    /// Known, and held fixed.
    Known(Array1<f64>),
}

impl ScoreCoefficients {
    /// β of the chosen blocks.
    pub(super) fn of_blocks(&self, keep: impl Fn(usize) -> bool) -> Result<Array1<f64>> {
        match self {
            Self::Fitted(sums) => sums.solve(keep),
            Self::Known(beta) => Ok(beta.clone()),
        }
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Self::Fitted(sums) => sums.labels().len(),
            Self::Known(beta) => beta.len(),
        }
    }
}

impl LatticeScore {
    /// The paper's four fields of soft spins on a ring, those of [`SpinFields`].
    ///
    /// # Errors
    /// When the ring has too few sites.
    pub fn spin(sites: usize) -> Result<Self> {
        const SPIN: usize = 3;
        let variable = |k: usize, factor: f64| product(2 * SPIN, &[k], factor);
        let each = |component: &dyn Fn(usize) -> Polynomial| (0..SPIN).map(component).collect();
        let square = sum((0..SPIN).map(|a| product(2 * SPIN, &[a, a], 1.0)));
        let zero = Polynomial::default;
        let local = vec![
            each(&|c| variable(c, 1.0)),
            each(&|c| square.product(&variable(c, 1.0))),
            each(&|c| sum([variable(SPIN + c, 1.0), variable(c, -2.0)])),
            each(&|c| if c == 2 { variable(c, 1.0) } else { zero() }),
        ];
        Ok(Self {
            fields: Box::new(SpinFields::new(sites)?),
            components: SPIN,
            distances: vec![1],
            local,
        })
    }

    /// The gradients of a [`LatticePotential`]: onsite monomials up to `degree`, and bilinear couplings
    /// of equal components over the given distances.
    ///
    /// # Errors
    /// When the degree or the distances do not fit the ring.
    pub fn potential(
        sites: usize,
        components: &[String],
        degree: usize,
        distances: &[usize],
    ) -> Result<Self> {
        let onsite = Monomials::new(components, 1..=degree)?;
        let count = components.len();
        let variables = count * (1 + distances.len());
        let mut local = Vec::new();
        for exponents in onsite.exponents() {
            let mut wide = exponents;
            wide.resize(variables, 0);
            let psi = Polynomial::monomial(wide, 1.0);
            local.push((0..count).map(|c| psi.derivative(c)).collect());
        }
        for coupled in count..variables {
            let mut field = vec![Polynomial::default(); count];
            field[coupled % count] = product(variables, &[coupled], 1.0);
            local.push(field);
        }
        let potential = LatticePotential::new(sites, onsite, distances)?;
        Ok(Self {
            fields: Box::new(Gradients::new(potential)),
            components: count,
            distances: distances.to_vec(),
            local,
        })
    }

    /// The sums from which β is estimated, in the coordinates of `standardiser`, that of one site.
    ///
    /// # Errors
    /// When the data do not have the coordinates of the ring, or the work is stopped.
    pub fn accumulate(
        &self,
        ensemble: &Ensemble,
        standardiser: &Standardiser,
        statistics: &LaggedConfig,
        control: &Control,
    ) -> Result<ScoreSums> {
        let ring = repeated(standardiser, ensemble.dim())?;
        let objective = ScoreObjective::Hyvarinen;
        accumulate_score(
            ensemble,
            &*self.fields,
            &ring,
            objective,
            statistics,
            control,
        )
    }

    /// Number of fields.
    pub(super) fn len(&self) -> usize {
        self.local.len()
    }

    /// The fields at a site, (field, component), in the variables z and w of other distances.
    pub(super) fn local(&self, distances: &[usize]) -> Result<Vec<Vec<Polynomial>>> {
        let count = self.components;
        let mut places: Vec<usize> = (0..count).collect();
        for d in &self.distances {
            let Some(known) = distances.iter().position(|other| other == d) else {
                return Err(Error::input(format!(
                    "the score couples sites {d} apart, but the statistics lack that distance; add it \
                     to LatticeConfig::distances"
                )));
            };
            places.extend((0..count).map(|c| (1 + known) * count + c));
        }
        let variables = count * (1 + distances.len());
        let moved = |polynomial: &Polynomial| {
            sum(polynomial.terms().map(|(exponents, a)| {
                let mut wide = vec![0; variables];
                for (place, e) in places.iter().zip(exponents) {
                    wide[*place] = *e;
                }
                Polynomial::monomial(wide, a)
            }))
        };
        let fields = self.local.iter();
        Ok(fields
            .map(|field| field.iter().map(moved).collect())
            .collect())
    }
}

/// `factor` times the product of some of the variables.
fn product(variables: usize, chosen: &[usize], factor: f64) -> Polynomial {
    let mut exponents = vec![0; variables];
    for k in chosen {
        exponents[*k] += 1;
    }
    Polynomial::monomial(exponents, factor)
}

fn sum(terms: impl IntoIterator<Item = Polynomial>) -> Polynomial {
    let mut sum = Polynomial::default();
    for term in terms {
        sum.add_scaled(1.0, &term);
    }
    sum
}
