//! Sums over the records of a ring, and what is computed from them.

use ndarray::{Array1, Array2, Array4, s};

use super::result::{RingCompareConfig, RingErrors, RingRollout};
use crate::control::Control;
use crate::data::{Ensemble, Standardiser};
use crate::error::{Error, Result, require_positive};
use crate::lagged::{
    Jackknife, LagGrid, LaggedConfig, LaggedSums, PairSums, Subsample, accumulate_lagged,
};
use crate::observable::LatticeAverage;
use crate::validate::Rollout;
use crate::validate::curves::{Comparison, compare};
use crate::validate::density::{Bins, Histogram, count};
use crate::validate::floor::{Lengths, Norm};
use crate::validate::observables::Observables;
use crate::validate::setting::sorted;

/// Properties shared by the records of a ring.
pub(super) struct Ring<'a> {
    config: &'a RingCompareConfig,
    average: LatticeAverage,
    pub(super) names: Vec<String>,
    grid: LagGrid,
    pub(super) lags: Vec<f64>,
    /// Index of the lag of the matrices.
    pub(super) matrix_lag: usize,
    /// Mean and standard deviation of the components.
    pub(super) scales: Standardiser,
    /// z of every coordinate.
    coordinates: Observables,
    /// Least and largest value of each component.
    ranges: Vec<[f64; 2]>,
}

impl<'a> Ring<'a> {
    pub(super) fn new(
        data: &Ensemble,
        interval: f64,
        config: &'a RingCompareConfig,
    ) -> Result<Self> {
        require_positive("the longest lag", config.longest_lag)?;
        let least = [
            ("lags", config.lags, 2),
            ("starts", config.starts, 1),
            ("bins", config.bins, 2),
            ("joint_bins", config.joint_bins, 2),
            ("window", config.window, 2),
            ("draws", config.draws, 64),
        ];
        if let Some((name, value, least)) = least.iter().find(|(_, value, least)| value < least) {
            return Err(Error::input(format!(
                "{name} = {value} is too small to compare rings; set it to {least} or more"
            )));
        }
        let step = config.longest_lag / (config.lags - 1) as f64;
        let step = (step / interval).round().max(1.0) as usize;
        let last = (config.longest_lag / interval * (1.0 + 1e-9)) as usize;
        if last < step {
            return Err(Error::input(format!(
                "the longest lag {} is shorter than the sampling interval {interval}",
                config.longest_lag
            )));
        }
        let grid = LagGrid::even(interval, (0..=last).step_by(step).collect())?;
        let lags = grid.lags();
        let off = |k: &usize| (lags[*k] - config.matrix_time).abs();
        let matrix_lag = (0..lags.len()).min_by(|a, b| off(a).total_cmp(&off(b)));
        let components = data.dim() / config.sites;
        let scales = pooled(&Standardiser::from_ensemble(data)?, components)?;
        let repeated = |values: &[f64]| values.repeat(config.sites);
        let everywhere = Standardiser::new(repeated(&scales.mean), repeated(&scales.scale))?;
        Ok(Self {
            config,
            average: LatticeAverage {
                sites: config.sites,
                components,
            },
            names: component_names(components),
            matrix_lag: matrix_lag.expect("at least one lag"),
            grid,
            lags,
            coordinates: Observables::standardised(data.names(), &everywhere)?,
            ranges: ranges(data, components),
            scales,
        })
    }

    fn sampling(&self, ensemble: &Ensemble) -> LaggedConfig {
        LaggedConfig {
            subsample: Subsample::Stride((ensemble.samples() / self.config.starts).max(1)),
            blocking: self.config.blocking,
            first_trajectory: 0,
        }
    }

    /// The sums that the correlations of all coordinates are made of.
    pub(super) fn statistics(&self, ensemble: &Ensemble, control: &Control) -> Result<LaggedSums> {
        accumulate_lagged(
            ensemble,
            &self.coordinates,
            &self.coordinates,
            &self.grid,
            &self.sampling(ensemble),
            control,
        )
    }

    /// C_cd(r, t), (lag, c, d, r) flat.
    pub(super) fn correlations(&self, sums: &PairSums) -> Vec<f64> {
        let at = |lag: usize| {
            let averaged = self.average.average(sums.correlation(lag).view());
            averaged.expect("the coordinates are those of the ring")
        };
        (0..self.lags.len()).flat_map(at).collect()
    }

    pub(super) fn array(&self, values: Array1<f64>) -> Array4<f64> {
        let LatticeAverage { sites, components } = self.average;
        values
            .into_shape_with_order((self.lags.len(), components, components, sites))
            .expect("(lag, c, d, r)")
    }

    /// Root means of squares, (lag, c, d, r) flat: at every lag, at every distance, over all.
    pub(super) fn grouped(&self, squares: impl Iterator<Item = f64>) -> Vec<f64> {
        let LatticeAverage { sites, components } = self.average;
        let (lags, distances) = (self.lags.len(), sites / 2 + 1);
        let mut sums = vec![[0.0; 2]; lags + distances + 1];
        for (k, square) in squares.enumerate() {
            let (r, lag) = (k % sites, k / (components * components * sites));
            for group in [lag, lags + r.min(sites - r), lags + distances] {
                sums[group][0] += square;
                sums[group][1] += 1.0;
            }
        }
        sums.iter().map(|[sum, n]| (sum / n).sqrt()).collect()
    }

    /// The numbers of [`Ring::grouped`] by name.
    pub(super) fn errors(&self, grouped: &[f64]) -> RingErrors {
        let (by_time, rest) = grouped.split_at(self.lags.len());
        let (by_distance, total) = rest.split_at(rest.len() - 1);
        RingErrors {
            by_time: by_time.to_vec(),
            by_distance: by_distance.to_vec(),
            total: total[0],
        }
    }

    pub(super) fn rollout(
        &self,
        rollout: &Rollout,
        data: &Jackknife,
        control: &Control,
    ) -> Result<RingRollout> {
        let sums = self.statistics(&rollout.ensemble, control)?;
        // The errors follow the correlations, so that the jackknife is of both.
        let both = sums.jackknife(|sums| {
            let mut values = self.correlations(sums);
            let squares = values
                .iter()
                .zip(&data.values)
                .map(|(a, b)| (a - b).powi(2));
            let errors = self.grouped(squares);
            values.extend(errors);
            values
        })?;
        let sampling = both.errors();
        let curves = data.values.len();
        let tail = |values: &Array1<f64>| self.errors(&values.to_vec()[curves..]);
        let head = |values: &Array1<f64>| self.array(values.slice(s![..curves]).to_owned());
        Ok(RingRollout {
            name: rollout.name.clone(),
            role: rollout.role,
            trajectories: rollout.ensemble.len(),
            samples: rollout.ensemble.samples(),
            correlations: head(&both.values),
            correlation_errors: head(&sampling),
            matrix: sums.total().correlation(self.matrix_lag),
            error: tail(&both.values),
            standard_error: tail(&sampling),
            error_over_floor: f64::NAN,
            error_over_floor_error: f64::NAN,
            window: window(&rollout.ensemble, self.config.window),
        })
    }

    /// Densities of single components, of two at a site, and of one at two sites.
    pub(super) fn densities(
        &self,
        data: &Ensemble,
        rollouts: &[Rollout],
        control: &Control,
    ) -> Result<[Comparison; 3]> {
        let LatticeAverage { sites, components } = self.average;
        let at = |site: usize, c: usize| site % sites * components + c;
        let each_site = |place: &dyn Fn(usize) -> Vec<usize>| (0..sites).map(place).collect();
        let marginal = |c: usize| Histogram {
            names: vec![self.names[c].clone()],
            bins: vec![self.bins(c, self.config.bins)],
            places: each_site(&|i| vec![at(i, c)]),
        };
        let joint = |c: usize, d: usize, r: usize| Histogram {
            names: match r {
                0 => vec![self.names[c].clone(), self.names[d].clone()],
                r => vec![
                    format!("{}(i)", self.names[c]),
                    format!("{}(i+{r})", self.names[d]),
                ],
            },
            bins: [c, d].map(|c| self.bins(c, self.config.joint_bins)).into(),
            places: each_site(&|i| vec![at(i, c), at(i + r, d)]),
        };
        let pairs = (0..components).flat_map(|c| (c + 1..components).map(move |d| (c, d)));
        let distances = 1..=self.config.separations.min(sites / 2);
        let apart = (0..components).flat_map(|c| distances.clone().map(move |r| (c, r)));
        let families: [Vec<Histogram>; 3] = [
            (0..components).map(marginal).collect(),
            pairs.map(|(c, d)| joint(c, d, 0)).collect(),
            apart.map(|(c, r)| joint(c, c, r)).collect(),
        ];
        let all: Vec<Histogram> = families.iter().flatten().cloned().collect();
        let estimate = |ensemble| count(&all, ensemble, &self.sampling(ensemble), control);
        let truth = estimate(data)?;
        let others: Vec<Jackknife> = rollouts
            .iter()
            .map(|rollout| estimate(&rollout.ensemble))
            .collect::<Result<_>>()?;
        let samples = data.samples() as f64;
        let record = |rollout: &Rollout| Lengths {
            rollout: rollout.ensemble.samples() as f64 / samples,
            training: f64::INFINITY,
        };
        let records: Vec<Lengths> = rollouts.iter().map(record).collect();
        let mut start = 0;
        Ok(families.map(|family| {
            let shapes: Vec<_> = family.iter().map(Histogram::shape).collect();
            let cut = start..start + shapes.iter().map(|shape| shape.len()).sum::<usize>();
            start = cut.end;
            let part = |all: &Jackknife| Jackknife {
                values: all.values.slice(s![cut.clone()]).to_owned(),
                deviations: all.deviations.slice(s![.., cut.clone()]).to_owned(),
            };
            let rollouts: Vec<_> = others.iter().map(part).collect();
            let (draws, seed) = (self.config.draws, self.config.seed);
            compare(
                shapes,
                &part(&truth),
                &rollouts,
                &records,
                Norm::Sum,
                draws,
                seed,
            )
        }))
    }

    fn bins(&self, component: usize, count: usize) -> Bins {
        let (mean, scale) = (self.scales.mean[component], self.scales.scale[component]);
        Bins::new(self.ranges[component], mean, scale, count)
    }
}

/// Mean and standard deviation of the components over all sites.
fn pooled(scales: &Standardiser, components: usize) -> Result<Standardiser> {
    let sites = (scales.mean.len() / components) as f64;
    let mean_over_sites = |values: &dyn Fn(usize) -> f64| -> Vec<f64> {
        let of = |c: usize| (c..scales.mean.len()).step_by(components).map(values);
        (0..components)
            .map(|c| of(c).sum::<f64>() / sites)
            .collect()
    };
    let mean = mean_over_sites(&|i| scales.mean[i]);
    let square = mean_over_sites(&|i| scales.scale[i].powi(2) + scales.mean[i].powi(2));
    let scale = square.iter().zip(&mean).map(|(s, m)| (s - m * m).sqrt());
    let scale = scale.collect();
    Standardiser::new(mean, scale)
}

/// Least and largest value of each component.
fn ranges(data: &Ensemble, components: usize) -> Vec<[f64; 2]> {
    let mut ranges = vec![[f64::INFINITY, f64::NEG_INFINITY]; components];
    for (i, values) in sorted(data).iter().enumerate() {
        let [low, high] = &mut ranges[i % components];
        *low = low.min(values[0]);
        *high = high.max(values[values.len() - 1]);
    }
    ranges
}

/// m_x, m_y, m_z of spins, x_1, x_2, ... of anything else.
fn component_names(components: usize) -> Vec<String> {
    match components {
        3 => ["m_x", "m_y", "m_z"].map(String::from).to_vec(),
        n => (1..=n).map(|c| format!("x_{c}")).collect(),
    }
}

/// The first samples without a gap, (time, coordinate).
pub(super) fn window(ensemble: &Ensemble, rows: usize) -> Array2<f64> {
    let segment = &ensemble.segments()[0];
    let trajectory = &ensemble.trajectories()[segment.trajectory];
    let mut values = Array2::zeros((rows.min(segment.rows.len()), ensemble.dim()));
    for (row, mut out) in segment.rows.clone().zip(values.rows_mut()) {
        trajectory.row(row, out.as_slice_mut().expect("row-major"));
    }
    values
}
