//! Moments and lagged correlations of monomials, per block: all that polynomial equations ask of
//! the data.

use std::collections::HashMap;
use std::sync::Arc;

use ndarray::{Array1, Array2, Array3, ArrayView1};
use serde::{Deserialize, Serialize};

use super::basis::TensorBasis;
use super::lattice::site_records;
use crate::control::Control;
use crate::data::{Ensemble, Standardiser};
use crate::error::{Error, Result};
use crate::lagged::{
    BlockId, Blocking, LagGrid, LaggedConfig, LaggedSums, PairSums, accumulate_lagged,
};
use crate::observable::{Monomials, Polynomial};

/// ⟨z^α⟩ for every |α| up to a degree.
#[derive(Clone, Debug)]
pub struct Moments {
    index: Arc<HashMap<Vec<u32>, usize>>,
    values: Array1<f64>,
}

impl Moments {
    /// The moments given by `moment(α)` for all exponents of `dim` coordinates up to `degree`.
    pub fn new(dim: usize, degree: usize, moment: impl Fn(&[u32]) -> f64) -> Result<Self> {
        let exponents = exponents(dim, degree)?;
        let values = exponents.iter().map(|e| moment(e)).collect();
        Ok(Self {
            index: Arc::new(index(&exponents)),
            values,
        })
    }

    /// Where ⟨z^α⟩ stands in [`Moments::values`].
    pub(super) fn place(&self, exponents: &[u32]) -> Result<usize> {
        self.index.get(exponents).copied().ok_or_else(|| {
            let degree: u32 = exponents.iter().sum();
            Error::input(format!(
                "the moments stop before degree {degree}; collect the statistics with a higher \
                 degree of moments, or lower that of the space or of the mobility"
            ))
        })
    }

    pub(super) fn values(&self) -> ArrayView1<'_, f64> {
        self.values.view()
    }

    /// The average of a polynomial.
    pub(super) fn mean(&self, polynomial: &Polynomial) -> Result<f64> {
        let mut sum = 0.0;
        for (exponents, a) in polynomial.terms() {
            sum += a * self.values[self.place(exponents)?];
        }
        Ok(sum)
    }
}

/// The exponents of all monomials up to `degree`, in the order of [`Monomials`].
pub(super) fn exponents(dim: usize, degree: usize) -> Result<Vec<Vec<u32>>> {
    let names: Vec<String> = (0..dim).map(|i| format!("z{i}")).collect();
    Ok(Monomials::new(&names, 0..=degree)?.exponents())
}

pub(super) fn index(exponents: &[Vec<u32>]) -> HashMap<Vec<u32>, usize> {
    let numbered = exponents.iter().cloned().enumerate();
    numbered.map(|(k, exponents)| (exponents, k)).collect()
}

/// What polynomial equations need to know of a process.
#[derive(Clone, Debug)]
pub struct Expectations {
    /// ⟨z^α⟩.
    pub moments: Moments,
    /// The lags, beginning with zero.
    pub lags: Vec<f64>,
    /// ⟨z_t^α z_0^β⟩, (lag, α, β): all α up to one degree, all β up to another, each in graded order
    /// from the constant on (that of [`Monomials`]).
    pub correlations: Array3<f64>,
}

/// Which moments and correlations are collected.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PolynomialConfig {
    /// Degree of the monomials at the later time.
    pub future_degree: usize,
    /// Degree of the monomials at the earlier time.
    pub initial_degree: usize,
    /// Degree of the moments.
    pub moment_degree: usize,
    /// Lags, increasing from zero.
    pub lags: Vec<f64>,
    /// Sub-sampling and blocks.
    pub statistics: LaggedConfig,
}

impl Default for PolynomialConfig {
    fn default() -> Self {
        Self {
            future_degree: 3,
            initial_degree: 3,
            moment_degree: 16,
            lags: Vec::new(),
            statistics: LaggedConfig::default(),
        }
    }
}

/// Moments and correlations of the standardised coordinates, kept per block.
#[derive(Clone, Debug)]
pub struct PolynomialSums {
    names: Vec<String>,
    standardiser: Standardiser,
    config: PolynomialConfig,
    index: Arc<HashMap<Vec<u32>, usize>>,
    moments: LaggedSums,
    lagged: LaggedSums,
}

/// Collect the sums of an ensemble in the coordinates of `standardiser`.
pub fn accumulate_polynomials(
    ensemble: &Ensemble,
    standardiser: &Standardiser,
    config: &PolynomialConfig,
    control: &Control,
) -> Result<PolynomialSums> {
    if config.lags.len() < 2 || config.lags[0] != 0.0 {
        return Err(Error::input(
            "the lags must begin with 0 and have at least one more; see doubling_lags",
        ));
    }
    let names = ensemble.names();
    let standardised = ensemble.standardised(standardiser);
    let mut grid = LagGrid::for_ensemble(ensemble, &config.lags)?;
    if config.initial_degree <= config.future_degree {
        grid = grid.with_ends_off();
    }
    let pass = |future: usize, initial: usize, grid: &LagGrid| {
        let future = Monomials::new(names, 0..=future)?;
        let initial = Monomials::new(names, 0..=initial)?;
        let statistics = &config.statistics;
        accumulate_lagged(&standardised, &future, &initial, grid, statistics, control)
    };
    let zero = LagGrid::for_ensemble(ensemble, &[0.0])?;
    let moments = exponents(names.len(), config.moment_degree)?;
    Ok(PolynomialSums {
        names: names.to_vec(),
        standardiser: standardiser.clone(),
        config: config.clone(),
        index: Arc::new(index(&moments)),
        moments: pass(0, config.moment_degree, &zero)?,
        lagged: pass(config.future_degree, config.initial_degree, &grid)?,
    })
}

/// The sums over the sites of a ring, in the raw components of one site; the blocks are those of the
/// ensemble, stretches of whole states.
pub fn accumulate_site_polynomials(
    ensemble: &Ensemble,
    sites: usize,
    config: &PolynomialConfig,
    control: &Control,
) -> Result<PolynomialSums> {
    let records = site_records(ensemble, sites)?;
    let raw = Standardiser::new(vec![0.0; records.dim()], vec![1.0; records.dim()])?;
    let mut config = config.clone();
    let parts = config.statistics.blocking.parts(ensemble);
    config.statistics.blocking = Blocking::PerTrajectory(parts);
    let mut sums = accumulate_polynomials(&records, &raw, &config, control)?;
    let whole = |id: BlockId| BlockId {
        trajectory: id.trajectory / sites,
        part: id.part,
    };
    sums.moments = sums.moments.pooled(whole);
    sums.lagged = sums.lagged.pooled(whole);
    Ok(sums)
}

impl PolynomialSums {
    /// Names of the coordinates.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The map to the coordinates z.
    pub fn standardiser(&self) -> &Standardiser {
        &self.standardiser
    }

    /// What was collected.
    pub fn config(&self) -> &PolynomialConfig {
        &self.config
    }

    /// Number of blocks.
    pub fn blocks(&self) -> usize {
        self.lagged.block_ids().len()
    }

    /// Refuse a basis in other coordinates.
    pub(super) fn require_same_coordinates(&self, basis: &TensorBasis) -> Result<()> {
        if self.standardiser == *basis.standardiser() {
            return Ok(());
        }
        Err(Error::input(
            "the tensor basis and the statistics are in differently standardised coordinates; use \
             one standardiser for both",
        ))
    }

    /// The averages over the blocks with these numbers, in increasing order.
    pub fn expectations(&self, blocks: &[usize]) -> Expectations {
        self.with_variances(blocks).0
    }

    /// The averages, and the variance of the separation of the pairs at each lag.
    pub(super) fn with_variances(&self, blocks: &[usize]) -> (Expectations, Vec<f64>) {
        let keep = |k: usize| blocks.binary_search(&k).is_ok();
        let (moments, lagged) = (self.moments.total_of(keep), self.lagged.total_of(keep));
        let variances = lagged.lag_variances(self.lagged.grid());
        let expectations = Expectations {
            moments: Moments {
                index: self.index.clone(),
                values: moments.initial_mean(0),
            },
            lags: lagged.lags().to_vec(),
            correlations: correlations(&lagged),
        };
        (expectations, variances.to_vec())
    }
}

/// ⟨φ_m(x_t) B_n(x_0)⟩, (lag, m, n).
pub(super) fn correlations(totals: &PairSums) -> Array3<f64> {
    let lags = totals.lags().len();
    let matrices: Vec<Array2<f64>> = (0..lags).map(|lag| totals.correlation(lag)).collect();
    let views: Vec<_> = matrices.iter().map(|m| m.view()).collect();
    ndarray::stack(ndarray::Axis(0), &views).expect("one shape at every lag")
}

/// The lags 0, δ, 2δ, 4δ, ... up to `horizon`: short ones for D, long ones for what is slow.
pub fn doubling_lags(interval: f64, horizon: f64) -> Vec<f64> {
    let doubled = std::iter::successors(Some(interval), |lag| Some(2.0 * lag));
    let within = doubled.take_while(|lag| *lag <= horizon.max(interval) * (1.0 + 1e-9));
    std::iter::once(0.0).chain(within).collect()
}
