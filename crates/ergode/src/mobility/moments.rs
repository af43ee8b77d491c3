//! Moments and lagged correlations of monomials, per block: all that polynomial equations ask of
//! the data.

use std::collections::HashMap;
use std::sync::Arc;

use ndarray::{Array2, Array3, ArrayView2, Axis};
use serde::{Deserialize, Serialize};

use super::basis::TensorBasis;
use super::block_noise::BlockNoise;
use super::charted::{ChartPolynomials, ChartedAverages, ChartedDegrees};
use super::lattice::site_records;
use crate::control::Control;
use crate::data::{Ensemble, Standardiser};
use crate::error::{Error, Result};
use crate::lagged::{
    BlockId, LagGrid, LaggedConfig, LaggedSums, PairSums, Starts, accumulate_moments,
    accumulate_shard, accumulate_starts, moments_of_shard,
};
use crate::observable::{
    Functions, Moments, Monomials, NoiseRemoval, Standardised, exponents, index,
};
use crate::space::Chart;

/// The statistics of a process that polynomial equations need.
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
    /// The measurement noise that averages are freed from.
    noise: Option<BlockNoise>,
    /// Averages with charts, where correlations are of polynomials of these instead of z.
    charted: Option<Arc<ChartedAverages>>,
}

/// Collect the sums of an ensemble in the coordinates of `standardiser`.
///
/// # Errors
/// When the lags do not begin with 0, a lag has no pair of samples, or the work is stopped.
pub fn accumulate_polynomials(
    ensemble: &Ensemble,
    standardiser: &Standardiser,
    config: &PolynomialConfig,
    control: &Control,
) -> Result<PolynomialSums> {
    let starts = config.statistics.starts(ensemble);
    accumulate_from(ensemble, standardiser, config, &starts, control)
}

/// [`accumulate_polynomials`] with correlations of polynomials of charts of the raw coordinates, and what their
/// Galerkin matrices need for fields of these degrees.
pub(super) fn accumulate_charted(
    ensemble: &Ensemble,
    standardiser: &Standardiser,
    charts: &[Chart],
    degrees: ChartedDegrees,
    config: &PolynomialConfig,
    control: &Control,
) -> Result<PolynomialSums> {
    let starts = config.statistics.starts(ensemble);
    let up_to = |degree: usize| ChartPolynomials::new(ensemble.names(), charts, degree);
    let (future, initial) = (up_to(config.future_degree)?, up_to(config.initial_degree)?);
    let ends = (&future as &dyn Functions, &initial as &dyn Functions);
    let sums = accumulate_between(ends, ensemble, standardiser, config, &starts, control)?;
    let charted =
        ChartedAverages::accumulate(ensemble, standardiser, charts, degrees, &starts, control)?;
    Ok(PolynomialSums {
        charted: Some(Arc::new(charted)),
        ..sums
    })
}

/// [`accumulate_polynomials`] of pairs that begin with given samples.
fn accumulate_from(
    ensemble: &Ensemble,
    standardiser: &Standardiser,
    config: &PolynomialConfig,
    starts: &Starts,
    control: &Control,
) -> Result<PolynomialSums> {
    let [future, initial] = ends_of(ensemble.names(), standardiser, config)?;
    let ends = (&future as &dyn Functions, &initial as &dyn Functions);
    accumulate_between(ends, ensemble, standardiser, config, starts, control)
}

/// The sums with these functions at the later and at the earlier time.
fn accumulate_between(
    (future, initial): (&dyn Functions, &dyn Functions),
    ensemble: &Ensemble,
    standardiser: &Standardiser,
    config: &PolynomialConfig,
    starts: &Starts,
    control: &Control,
) -> Result<PolynomialSums> {
    if config.lags.len() < 2 || config.lags[0] != 0.0 {
        return Err(Error::input(
            "the lags must be 0 followed by at least one more lag; see doubling_lags",
        ));
    }
    let names = ensemble.names();
    let mut grid = LagGrid::for_ensemble(ensemble, &config.lags)?;
    if config.initial_degree <= config.future_degree {
        grid = grid.with_ends_off();
    }
    let lagged = accumulate_starts(ensemble, future, initial, &grid, starts, control)?;
    let degree = config.moment_degree;
    let moments = exponents(standardiser, degree)?;
    Ok(PolynomialSums {
        names: names.to_vec(),
        standardiser: standardiser.clone(),
        config: config.clone(),
        index: Arc::new(index(&moments)),
        moments: accumulate_moments(ensemble, standardiser, degree, starts, control)?,
        lagged,
        noise: None,
        charted: None,
    })
}

/// [`accumulate_polynomials`] of a part of the data, of pairs that begin with given samples, which may have none at
/// some lags; the pieces that [`PolynomialSums::of_parts`] takes.
pub(crate) fn polynomials_of_shard(
    ensemble: &Ensemble,
    standardiser: &Standardiser,
    config: &PolynomialConfig,
    starts: &Starts,
    control: &Control,
) -> Result<[LaggedSums; 2]> {
    let names = ensemble.names();
    let [future, initial] = ends_of(names, standardiser, config)?;
    let grid = LagGrid::for_ensemble(ensemble, &config.lags)?;
    let lagged = accumulate_shard(ensemble, &future, &initial, &grid, starts, control)?;
    let degree = config.moment_degree;
    let moments = moments_of_shard(ensemble, standardiser, degree, starts, control)?;
    Ok([moments, lagged])
}

/// The monomials at the later and at the earlier time.
fn ends_of(
    names: &[String],
    standardiser: &Standardiser,
    config: &PolynomialConfig,
) -> Result<[Standardised<Monomials>; 2]> {
    let up_to = |degree: usize| -> Result<Standardised<Monomials>> {
        Ok(Standardised::new(
            standardiser.clone(),
            Monomials::of(names, standardiser, 0..=degree)?,
        ))
    };
    Ok([up_to(config.future_degree)?, up_to(config.initial_degree)?])
}

/// The sums over the sites of a ring, in the raw components of one site; the blocks are those of the
/// ensemble, stretches of whole states.
///
/// # Errors
/// When the coordinates are not that many equal sites; otherwise as for [`accumulate_polynomials`].
pub fn accumulate_site_polynomials(
    ensemble: &Ensemble,
    sites: usize,
    config: &PolynomialConfig,
    control: &Control,
) -> Result<PolynomialSums> {
    let records = site_records(ensemble, sites)?;
    let raw = Standardiser::new(vec![0.0; records.dim()], vec![1.0; records.dim()])?;
    let mut starts = config.statistics.starts(ensemble);
    for block in &mut starts.blocks {
        *block = block.of_sites(sites);
    }
    accumulate_from(&records, &raw, config, &starts, control)
}

impl PolynomialSums {
    /// Moments and lagged sums of evenly sampled data without a block, for a sampling interval.
    ///
    /// # Errors
    /// When there are too many monomials, or the lags are not whole numbers of intervals.
    pub(crate) fn empty_parts(
        names: &[String],
        standardiser: &Standardiser,
        config: &PolynomialConfig,
        interval: f64,
    ) -> Result<[LaggedSums; 2]> {
        let [future, initial] = ends_of(names, standardiser, config)?;
        let steps = config
            .lags
            .iter()
            .map(|lag| (lag / interval).round() as usize);
        let grid = LagGrid::even(interval, steps.collect())?;
        let zero = LagGrid::even(interval, vec![0])?;
        let constant = Monomials::new(names, 0..=0)?;
        let monomials = Monomials::of(names, standardiser, 0..=config.moment_degree)?;
        Ok([
            LaggedSums::empty(&zero, constant.labels(), monomials.labels()),
            LaggedSums::empty(&grid, future.labels(), initial.labels()),
        ])
    }

    /// From moments and lagged sums of all of the data.
    ///
    /// # Errors
    /// When there is no pair at one of the lags.
    pub(crate) fn of_parts(
        names: &[String],
        standardiser: &Standardiser,
        config: &PolynomialConfig,
        [moments, lagged]: [LaggedSums; 2],
    ) -> Result<Self> {
        moments.require_pairs()?;
        lagged.require_pairs()?;
        Ok(Self {
            names: names.to_vec(),
            standardiser: standardiser.clone(),
            config: config.clone(),
            index: Arc::new(index(&exponents(standardiser, config.moment_degree)?)),
            moments,
            lagged,
            noise: None,
            charted: None,
        })
    }

    /// Names of the coordinates.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The map to the coordinates z.
    pub fn standardiser(&self) -> &Standardiser {
        &self.standardiser
    }

    /// The collected statistics.
    pub fn config(&self) -> &PolynomialConfig {
        &self.config
    }

    /// Number of blocks.
    pub fn blocks(&self) -> usize {
        self.lagged.block_ids().len()
    }

    /// Averages with charts, where test functions are polynomials of these.
    pub(super) fn charted(&self) -> Option<&ChartedAverages> {
        self.charted.as_deref()
    }

    /// Which stretches of the data the blocks with these numbers are.
    pub(super) fn block_ids(&self, blocks: &[usize]) -> Vec<BlockId> {
        let ids: Vec<BlockId> = self.lagged.block_ids().collect();
        blocks.iter().map(|block| ids[*block]).collect()
    }

    /// Refuse a basis in other coordinates.
    pub(super) fn require_same_coordinates(&self, basis: &TensorBasis) -> Result<()> {
        if self.standardiser == *basis.standardiser() {
            return Ok(());
        }
        Err(Error::input(
            "the tensor basis and the statistics use different standardisers; use one for both",
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
        let mut expectations = Expectations {
            moments: Moments::at(&self.index, moments.initial_mean(0)),
            lags: lagged.lags().to_vec(),
            correlations: correlations(&lagged),
        };
        if let Some(noise) = &self.noise {
            let covariance = noise.of_blocks(blocks);
            expectations = self.without_noise(expectations, covariance.view());
        }
        (expectations, variances.to_vec())
    }

    /// The same sums, whose averages are those of the state without measurement noise.
    ///
    /// # Errors
    /// When the moments do not reach the degree of C(0).
    pub(super) fn with_noise(&self, noise: BlockNoise) -> Result<Self> {
        let needed = self.config.future_degree + self.config.initial_degree;
        if self.standardiser.has_circles() {
            return Err(Error::input(
                "measurement noise of an angle cannot be corrected for; set mobility.noise = \"none\"",
            ));
        }
        if needed > self.config.moment_degree {
            return Err(Error::input(format!(
                "correcting for measurement noise needs moments up to degree {needed}; collect the \
                 statistics with this moment_degree"
            )));
        }
        Ok(Self {
            noise: Some(noise),
            ..self.clone()
        })
    }

    /// The averages without noise of covariance S. Noise at different times is independent, so that each
    /// end of a pair is freed by itself; at lag zero both ends are the same sample, and C(0) is taken from
    /// the moments.
    fn without_noise(&self, mut of: Expectations, covariance: ArrayView2<f64>) -> Expectations {
        let listed = |degree: usize| -> Vec<Vec<u32>> {
            exponents(&self.standardiser, degree).expect("they were listed for the sums")
        };
        let (future, initial) = (
            listed(self.config.future_degree),
            listed(self.config.initial_degree),
        );
        let mut values = of.moments.values().to_owned();
        let all = NoiseRemoval::new(&listed(self.config.moment_degree));
        all.apply_to(covariance, &mut values);
        let ends = [NoiseRemoval::new(&future), NoiseRemoval::new(&initial)];
        for mut lag in of.correlations.outer_iter_mut().skip(1) {
            ends[0].apply(covariance, lag.view_mut());
            ends[1].apply(covariance, lag.view_mut().reversed_axes());
        }
        let mut zero = of.correlations.index_axis_mut(Axis(0), 0);
        for ((a, b), value) in zero.indexed_iter_mut() {
            let sum: Vec<u32> = future[a]
                .iter()
                .zip(&initial[b])
                .map(|(a, b)| a + b)
                .collect();
            *value = values[self.index[&sum]];
        }
        of.moments = Moments::at(&self.index, values);
        of
    }
}

/// ⟨φ_m(x_t) B_n(x_0)⟩, (lag, m, n).
pub(super) fn correlations(totals: &PairSums) -> Array3<f64> {
    let lags = totals.lags().len();
    let matrices: Vec<Array2<f64>> = (0..lags).map(|lag| totals.correlation(lag)).collect();
    let views: Vec<_> = matrices.iter().map(|m| m.view()).collect();
    ndarray::stack(Axis(0), &views).expect("one shape at every lag")
}

/// The lags 0, δ, 2δ, 4δ, ... up to `horizon`: short ones for D, long ones for what is slow.
pub fn doubling_lags(interval: f64, horizon: f64) -> Vec<f64> {
    let doubled = std::iter::successors(Some(interval), |lag| Some(2.0 * lag));
    let within = doubled.take_while(|lag| *lag <= horizon.max(interval) * (1.0 + 1e-9));
    std::iter::once(0.0).chain(within).collect()
}
