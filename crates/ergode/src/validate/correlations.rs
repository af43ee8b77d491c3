//! Correlations of observables inside and outside a fit.

use std::borrow::Cow;

use super::config::ValidateConfig;
use super::curves::{Comparison, CurveAxis, Shape, compare};
use super::floor::Norm;
use super::observables::Observables;
use super::setting::Setting;
use crate::control::Control;
use crate::data::Ensemble;
use crate::error::Result;
use crate::lagged::{Jackknife, LagGrid, LaggedConfig, PairSums, Subsample, accumulate_lagged};
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
    let first = (3.0 * setting.interval).min(setting.horizon);
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
        let estimate = |ensemble: &Ensemble| self.estimate(ensemble, setting, config, control);
        let (data, rollouts) = setting.each(estimate)?;
        let shape = |&(m, n): &(usize, usize)| Shape {
            label: format!(
                "{} with {}",
                self.future.labels()[m],
                self.initial.labels()[n]
            ),
            axes: vec![CurveAxis {
                name: "lag".into(),
                at: self.lags.clone(),
            }],
        };
        let shapes = self.channels.iter().map(shape).collect();
        Ok(compare(
            shapes,
            &data,
            &rollouts,
            Norm::RootMeanSquare,
            config.draws,
            config.seed,
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

    /// The curves of one ensemble, one after the other.
    fn estimate(
        &self,
        ensemble: &Ensemble,
        setting: &Setting,
        config: &ValidateConfig,
        control: &Control,
    ) -> Result<Jackknife> {
        let thinned = self.thinned(ensemble, setting)?;
        let ensemble = &*thinned;
        let grid = match ensemble.sampling_interval() {
            Some(_) => LagGrid::for_ensemble(ensemble, &self.lags)?,
            None => LagGrid::windows(self.lags.clone(), 0.5 * setting.interval)?,
        };
        let products = self.lags.len() * (self.future.len() + 1) * self.initial.len();
        let samples = ensemble.samples();
        let dear = (samples as f64 * products as f64 / WORK).ceil() as usize;
        let statistics = LaggedConfig {
            subsample: Subsample::Stride(dear.min(samples / FEWEST).max(1)),
            blocking: config.blocking,
            first_trajectory: 0,
        };
        let sums = accumulate_lagged(
            ensemble,
            &self.future,
            &self.initial,
            &grid,
            &statistics,
            control,
        )?;
        sums.jackknife(|sums: &PairSums| {
            let matrices: Vec<_> = (0..self.lags.len()).map(|l| sums.correlation(l)).collect();
            let curve = |&(m, n): &(usize, usize)| matrices.iter().map(move |c| c[[m, n]]);
            self.channels.iter().flat_map(curve).collect()
        })
    }
}
