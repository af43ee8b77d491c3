//! Correlations of observables inside and outside a fit.

use std::borrow::Cow;
use std::collections::BTreeSet;

use ndarray::{Array1, Array2, ArrayView2};

use super::config::ValidateConfig;
use super::curves::{Comparison, CurveAxis, Shape, compare};
use super::floor::Norm;
use super::observables::Observables;
use super::setting::Setting;
use crate::control::Control;
use crate::data::Ensemble;
use crate::error::Result;
use crate::lagged::{
    Jackknife, LagGrid, LaggedConfig, LaggedSums, PairSums, Subsample, accumulate_lagged,
};
use crate::observable::Functions;

/// C_mn(τ) = ⟨φ_m(x_τ) φ_n(x_0)⟩ at some lags.
struct Family {
    future: Observables,
    initial: Observables,
    /// (m, n)
    channels: Vec<(usize, usize)>,
    lags: Vec<f64>,
}

/// Multiplications that a pass may cost; longer records are sub-sampled, but not to fewer initial
/// samples than this.
const WORK: f64 = 1.5e9;
const FEWEST: usize = 100_000;
/// Samples that are enough for a record to be thinned to where all lags are whole numbers of samples.
const ENOUGH: usize = 500_000;

/// The correlations of the observables of a fit, at equally spaced lags.
pub(super) fn training(
    setting: &Setting,
    config: &ValidateConfig,
    control: &Control,
) -> Result<Comparison> {
    let step = setting.horizon / (config.lags - 1) as f64;
    let step = (step / setting.interval).round().max(1.0) * setting.interval;
    let lags = (0..config.lags).map(|k| k as f64 * step);
    let names = setting.held_out.names();
    let family = Family::new(
        Observables::training(names, &setting.scales, config)?,
        Observables::coordinates(names, &setting.scales)?,
        lags.filter(|lag| *lag <= setting.horizon * (1.0 + 1e-9))
            .collect(),
        config,
    );
    family.compare(setting, config, control)
}

/// The correlations of other observables, at the lags 0 and 3·2^k intervals: fits use powers of two or
/// equally spaced ones.
pub(super) fn other(
    setting: &Setting,
    config: &ValidateConfig,
    control: &Control,
) -> Result<Comparison> {
    let names = setting.held_out.names();
    // A whole number of intervals, whatever the horizon is.
    let within = (setting.horizon / setting.interval * (1.0 + 1e-9)).floor();
    let first = within.clamp(1.0, 3.0) * setting.interval;
    let lags = std::iter::successors(Some(first), |lag| Some(2.0 * lag));
    let lags = lags.take_while(|lag| *lag <= setting.horizon * (1.0 + 1e-9));
    let family = Family::new(
        Observables::other(names, &setting.scales, config)?,
        Observables::standardised(names, &setting.scales)?,
        std::iter::once(0.0).chain(lags).collect(),
        config,
    );
    family.compare(setting, config, control)
}

impl Family {
    fn new(
        future: Observables,
        initial: Observables,
        lags: Vec<f64>,
        config: &ValidateConfig,
    ) -> Self {
        let dim = initial.len();
        let all = (0..future.len()).flat_map(|m| (0..dim).map(move |n| (m, n)));
        let mut channels: Vec<(usize, usize)> = all.collect();
        if channels.len() > config.channels {
            // In many coordinates the observables are lists of one function of each.
            channels.sort_by_key(|&(m, n)| (m % dim).abs_diff(n));
            channels.truncate(config.channels);
            channels.sort_unstable();
        }
        Self {
            future,
            initial,
            channels,
            lags,
        }
    }

    fn compare(
        &self,
        setting: &Setting,
        config: &ValidateConfig,
        control: &Control,
    ) -> Result<Comparison> {
        let (lags, data, rollouts) = if setting.even {
            let estimate = |ensemble: &Ensemble| {
                let thinned = self.thinned(ensemble, setting)?;
                let grid = LagGrid::for_ensemble(&thinned, &self.lags)?;
                self.curves(&self.accumulate(&thinned, &grid, setting, control)?, None)
            };
            let (data, rollouts) = setting.each(estimate)?;
            (self.lags.clone(), data, rollouts)
        } else {
            self.in_windows(setting, control)?
        };
        let shape = |&(m, n): &(usize, usize)| Shape {
            label: format!(
                "{} with {}",
                self.future.labels()[m],
                self.initial.labels()[n]
            ),
            axes: vec![CurveAxis {
                name: "lag".into(),
                at: lags.clone(),
            }],
        };
        let shapes = self.channels.iter().map(shape).collect();
        Ok(compare(
            shapes,
            &data,
            &rollouts,
            &setting.records,
            Norm::RootMeanSquare,
            config.draws,
            config.seed,
        ))
    }

    /// The mean separations in the lag windows of uneven data, and the curves of these and of every
    /// rollout, averaged over the same windows.
    fn in_windows(
        &self,
        setting: &Setting,
        control: &Control,
    ) -> Result<(Vec<f64>, Jackknife, Vec<Jackknife>)> {
        let windows = |lags: Vec<f64>| LagGrid::windows(lags, 0.5 * setting.interval);
        let grid =
            windows(windows(self.lags.clone())?.occupied(&setting.held_out))?.with_ends_off();
        let data = self.accumulate(&setting.held_out, &grid, setting, control)?;
        let separations = Separations::of(&data);
        let estimate = |ensemble: &Ensemble| {
            let (near, weights) = match ensemble.sampling_interval() {
                None => (grid.clone(), None),
                Some(interval) => {
                    let (steps, weights) = separations.weights(interval);
                    (LagGrid::even(interval, steps)?, Some(weights))
                }
            };
            let sums = self.accumulate(ensemble, &near, setting, control)?;
            self.curves(&sums, weights.as_ref().map(|weights| weights.view()))
        };
        let rollouts = setting.rollouts.iter().map(estimate);
        let rollouts = rollouts.collect::<Result<_>>()?;
        Ok((
            separations.means.to_vec(),
            self.curves(&data, None)?,
            rollouts,
        ))
    }

    /// A long even record without the samples that no lag needs: all lags are multiples of the first.
    fn thinned<'a>(&self, ensemble: &'a Ensemble, setting: &Setting) -> Result<Cow<'a, Ensemble>> {
        let unit = (self.lags[1] / setting.interval).round() as usize;
        let fits =
            |every: &usize| unit.is_multiple_of(*every) && ensemble.samples() / every >= ENOUGH;
        match (2..=unit).rev().find(fits) {
            Some(every) if setting.even => Ok(Cow::Owned(ensemble.thin(every)?)),
            _ => Ok(Cow::Borrowed(ensemble)),
        }
    }

    fn accumulate(
        &self,
        ensemble: &Ensemble,
        grid: &LagGrid,
        setting: &Setting,
        control: &Control,
    ) -> Result<LaggedSums> {
        let products = grid.len() * (self.future.len() + 1) * self.initial.len();
        let samples = ensemble.samples();
        let dear = (samples as f64 * products as f64 / WORK).ceil() as usize;
        let statistics = LaggedConfig {
            subsample: Subsample::Stride(dear.min(samples / FEWEST).max(1)),
            blocking: setting.blocking(ensemble),
            first_trajectory: 0,
        };
        let (future, initial) = (&self.future, &self.initial);
        accumulate_lagged(ensemble, future, initial, grid, &statistics, control)
    }

    /// The curves of one ensemble, one after the other, at the lags of its statistics or at those that
    /// `weights` over them give.
    fn curves(&self, sums: &LaggedSums, weights: Option<ArrayView2<f64>>) -> Result<Jackknife> {
        sums.jackknife(|sums: &PairSums| {
            let lags = sums.lags().len();
            let matrices: Vec<_> = (0..lags).map(|l| sums.correlation(l)).collect();
            let curve = |&(m, n): &(usize, usize)| {
                let values: Array1<f64> = matrices.iter().map(|c| c[[m, n]]).collect();
                weights.map_or(values.clone(), |weights| weights.dot(&values))
            };
            self.channels.iter().flat_map(curve).collect()
        })
    }
}

/// The separations t in the lag windows of uneven data.
struct Separations {
    means: Array1<f64>,
    variances: Array1<f64>,
}

impl Separations {
    fn of(sums: &LaggedSums) -> Self {
        let total = sums.total();
        Self {
            means: total.lags(),
            variances: total.lag_variances(sums.grid()),
        }
    }

    /// Averages over the windows from curves at whole numbers of samples: with h the interval and c the
    /// multiple of it nearest to the mean of t, u₁ = ⟨t − c⟩ and u₂ = ⟨(t − c)²⟩,
    /// ⟨C⟩ = C(c) + u₁ [C(c+h) − C(c−h)]/2h + u₂ [C(c+h) − 2C(c) + C(c−h)]/2h², exact for parabolas. The
    /// numbers of samples, and the weights (window, number).
    fn weights(&self, interval: f64) -> (Vec<usize>, Array2<f64>) {
        let nearest = |t: &f64| match *t {
            0.0 => 0,
            t => ((t / interval).round() as usize).max(1),
        };
        let centres: Vec<usize> = self.means.iter().map(nearest).collect();
        let around = |c: &usize| c.saturating_sub(1)..=c + usize::from(*c > 0);
        let steps: BTreeSet<usize> = centres.iter().flat_map(around).collect();
        let steps: Vec<usize> = steps.into_iter().collect();
        let mut weights = Array2::zeros((centres.len(), steps.len()));
        for (k, centre) in centres.iter().enumerate() {
            let place = steps.partition_point(|step| step < centre);
            weights[[k, place]] = 1.0;
            if *centre > 0 {
                let first = self.means[k] / interval - *centre as f64;
                let second = self.variances[k] / (interval * interval) + first * first;
                weights[[k, place - 1]] = 0.5 * (second - first);
                weights[[k, place]] = 1.0 - second;
                weights[[k, place + 1]] = 0.5 * (second + first);
            }
        }
        (steps, weights)
    }
}
