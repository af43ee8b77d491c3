//! Autocorrelation on lags that double in spacing, decorrelation and integrated times.

use ndarray::Array2;

use super::record::Record;
use crate::control::Control;
use crate::error::Result;
use crate::lagged::{Jackknife, PairSums};
use crate::observable::{Monomials, Standardised};

/// Lags up to which the spacing is one sampling interval; every further level doubles it, unless the
/// autocorrelation oscillates too fast for that.
const LAGS: usize = 32;
/// Lags in half a period of an oscillation.
const HALF_PERIOD: f64 = 4.0;
/// Most lags of one level.
const MOST_LAGS: usize = 512;
/// Depth of the first negative lobe from which an autocorrelation oscillates, and the standard errors that
/// this must be.
const LOBE: f64 = 0.1;
const LOBE_Z: f64 = 4.0;
/// Sokal's window: the integral ends at the first lag beyond this many integrated times.
const WINDOW: f64 = 5.0;

/// ρ(t) of one coordinate.
#[derive(Clone, Debug, Default)]
pub(super) struct Curve {
    pub(super) lags: Vec<f64>,
    pub(super) rho: Vec<f64>,
    pub(super) error: Vec<f64>,
}

/// The autocorrelations of all coordinates, and statistics of the shortest lags.
pub(super) struct Correlations {
    pub(super) curves: Vec<Curve>,
    /// Correlations of the coordinates at equal times.
    pub(super) equal_time: Array2<f64>,
    /// C_jj at the lags of one sampling interval, (lag, coordinate) in row-major order, and these
    /// lags: the first is 0.
    pub(super) short: Jackknife,
    pub(super) short_lags: Vec<f64>,
}

impl Correlations {
    /// Level by level until every coordinate has decorrelated; none without pairs.
    pub(super) fn measure(
        record: &Record,
        threshold: f64,
        control: &Control,
    ) -> Result<Option<Self>> {
        let dim = record.dim();
        let coordinates = Monomials::coordinates(record.ensemble.names())?;
        let functions = Standardised::new(record.scales.clone(), coordinates);
        let reach = ((record.longest - 1) / 2).max(1);
        let mut curves = vec![Curve::default(); dim];
        let mut first = None;
        // The level has the lags done + 1 ..= upto, in units of factor intervals.
        let (mut factor, mut done, mut upto) = (1, 0, LAGS);
        loop {
            let steps: Vec<usize> = std::iter::once(0)
                .chain((done + 1..=upto).filter(|s| s * factor <= reach))
                .collect();
            if steps.len() < 2 {
                break;
            }
            let Some(sums) = record.sums(&functions, &steps, factor, control)? else {
                break;
            };
            let count = sums.grid().len();
            if count < 2 || sums.block_ids().len() < 2 {
                break;
            }
            let total = sums.total();
            let lags = total.lags().to_vec();
            let rho = sums.jackknife(|s| autocovariances(s, count, dim, true))?;
            let error = rho.errors();
            for (j, curve) in curves.iter_mut().enumerate() {
                for l in usize::from(first.is_some())..count {
                    curve.lags.push(lags[l]);
                    curve.rho.push(rho.values[l * dim + j]);
                    curve.error.push(error[l * dim + j]);
                }
            }
            if first.is_none() {
                let short = sums.jackknife(|s| autocovariances(s, count, dim, false))?;
                first = Some((equal_time(&total), short, lags));
            }
            if curves.iter().all(|c| c.settled(threshold)) {
                break;
            }
            let half = curves.iter().filter_map(Curve::half_period);
            let coarsest = half.fold(f64::INFINITY, f64::min) / HALF_PERIOD;
            if upto < MOST_LAGS && (2 * factor) as f64 * record.interval > coarsest {
                (done, upto) = (upto, 2 * upto);
            } else {
                (factor, done) = (2 * factor, upto / 2);
            }
        }
        Ok(first.map(|(equal_time, short, short_lags)| Self {
            curves,
            equal_time,
            short,
            short_lags,
        }))
    }
}

/// C_jj(t), divided by C_jj(0) if `normalised`, (lag, j) in row-major order.
fn autocovariances(sums: &PairSums, lags: usize, dim: usize, normalised: bool) -> Vec<f64> {
    let zero = sums.covariance(0).into_diag();
    let mut out = Vec::with_capacity(lags * dim);
    for lag in 0..lags {
        let c = sums.covariance(lag);
        for j in 0..dim {
            out.push(c[[j, j]] / if normalised { zero[j] } else { 1.0 });
        }
    }
    out
}

fn equal_time(total: &PairSums) -> Array2<f64> {
    let c = total.covariance(0);
    Array2::from_shape_fn(c.dim(), |(i, j)| c[[i, j]] / (c[[i, i]] * c[[j, j]]).sqrt())
}

impl Curve {
    /// The first lag with ρ below `threshold`, by linear interpolation.
    pub(super) fn crossing_time(&self, threshold: f64) -> Option<f64> {
        let k = self.rho.iter().position(|r| *r < threshold)?;
        let before = k.checked_sub(1)?;
        let fraction = (self.rho[before] - threshold) / (self.rho[before] - self.rho[k]);
        Some(self.lags[before] + fraction * (self.lags[k] - self.lags[before]))
    }

    /// Half a period, where ρ oscillates: between the first two zeros, or twice the first zero, if the lobe
    /// between them is significant and deep.
    fn half_period(&self) -> Option<f64> {
        let zero = self.rho.iter().position(|r| *r < 0.0)?;
        let length = self.rho[zero..].iter().position(|r| *r >= 0.0);
        let end = length.map_or(self.rho.len(), |n| zero + n);
        let deep = |k: usize| self.rho[k] < -LOBE && self.rho[k] < -LOBE_Z * self.error[k];
        (zero..end).any(deep).then(|| match length {
            Some(_) => self.lags[end] - self.lags[zero],
            None => 2.0 * self.lags[zero],
        })
    }

    /// The lag at which the envelope of ρ falls below `threshold`; none where that is beyond the last lag.
    ///
    /// Where ρ does not oscillate, the curve is its own envelope. Where it does, ρ(t) = e^{−λt} cos ωt has
    /// 2 ∫ ρ² dt = 1/(2λ), up to (λ/ω)²: the envelope crosses at −ln(threshold)/λ. The integral, over all
    /// lags, is known better than single peaks.
    pub(super) fn decorrelation_time(&self, threshold: f64) -> Option<f64> {
        let crossing = self.crossing_time(threshold)?;
        if self.half_period().is_none() {
            return Some(crossing);
        }
        let (energy, _) = self.energy()?;
        let time = crossing.max(-2.0 * energy * threshold.ln());
        (time <= *self.lags.last()?).then_some(time)
    }

    /// True where ρ oscillates, so that it vanishes before the memory does.
    pub(super) fn oscillates(&self) -> bool {
        self.half_period().is_some()
    }

    /// τ_int(W) = ∫_0^W ρ dt by the trapezoidal rule, Δ (1/2 + Σ ρ) up to its end point on equal
    /// lags, with the first W ≥ 5 τ_int(W), and whether there is such a W. Never below half the first lag.
    ///
    /// Where ρ oscillates its integral vanishes although the memory does not: there it is the larger one of
    /// this and 2 ∫ ρ² dt, the time that counts for variances; for an exponential both are equal.
    pub(super) fn integrated_time(&self) -> Option<(f64, bool)> {
        let linear = self.integral(|k| self.rho[k])?;
        if !self.oscillates() {
            return Some(linear);
        }
        let energy = self.energy()?;
        Some((energy.0.max(linear.0), energy.1))
    }

    /// 2 ∫ (ρ² − σ²) dt, σ² the part of the square that the sampling error makes.
    fn energy(&self) -> Option<(f64, bool)> {
        self.integral(|k| 2.0 * (self.rho[k].powi(2) - self.error[k].powi(2)))
    }

    /// ∫_0^W f dt with the first W ≥ 5 times the integral, and whether there is such a W.
    fn integral(&self, f: impl Fn(usize) -> f64) -> Option<(f64, bool)> {
        let least = 0.5 * self.lags.get(1)?;
        let mut sum = 0.0;
        for k in 1..self.lags.len() {
            let width = self.lags[k] - self.lags[k - 1];
            sum += 0.5 * width * (f(k) + f(k - 1));
            if self.lags[k] >= WINDOW * sum {
                return Some((sum.max(least), true));
            }
        }
        Some((sum.max(least), false))
    }

    fn settled(&self, threshold: f64) -> bool {
        self.decorrelation_time(threshold).is_some() && self.integrated_time().is_some_and(|t| t.1)
    }

    /// Last lag before ρ, or all of it within half a period, falls below three standard errors or the
    /// threshold.
    pub(super) fn usable_lag(&self, threshold: f64) -> Option<f64> {
        let half = self.half_period().unwrap_or(0.0);
        let heard = |k: usize| match self.oscillates() {
            true => self.rho[k].abs() >= 3.0 * self.error[k],
            false => self.rho[k] >= 3.0 * self.error[k],
        };
        let lost = (1..self.lags.len()).find(|&k| {
            let end = self.lags[k] + half;
            let within = (k..self.lags.len()).take_while(|&l| self.lags[l] <= end);
            !within.into_iter().any(heard)
        });
        let noisy = lost.map_or(*self.lags.last()?, |k| self.lags[(k - 1).max(1)]);
        Some(
            self.decorrelation_time(threshold)
                .map_or(noisy, |d| d.min(noisy)),
        )
    }
}
