//! Pairs of consecutive samples, which the peers work on.

use ergode::Ensemble;

/// Mean and standard deviation of each coordinate.
pub(crate) struct Scales {
    pub(crate) mean: Vec<f64>,
    pub(crate) spread: Vec<f64>,
}

/// States and increments over one interval, both (pair, coordinate).
pub(crate) struct Pairs {
    pub(crate) interval: f64,
    pub(crate) states: Vec<f64>,
    pub(crate) increments: Vec<f64>,
    pub(crate) scales: Scales,
}

impl Pairs {
    /// All pairs of an evenly sampled record; increments of angles are wrapped into [−π, π).
    pub(crate) fn collect(ensemble: &Ensemble, circles: &[bool]) -> Option<Self> {
        use std::f64::consts::{PI, TAU};
        let interval = ensemble.sampling_interval()?;
        let dim = ensemble.dim();
        let (mut states, mut increments) = (Vec::new(), Vec::new());
        let (mut now, mut next) = (vec![0.0; dim], vec![0.0; dim]);
        for trajectory in ensemble.trajectories() {
            for i in 1..trajectory.len() {
                trajectory.row(i - 1, &mut now);
                trajectory.row(i, &mut next);
                if trajectory.is_gap(i - 1) || trajectory.is_gap(i) {
                    continue;
                }
                states.extend_from_slice(&now);
                for k in 0..dim {
                    let step = next[k] - now[k];
                    increments.push(if circles[k] {
                        (step + PI).rem_euclid(TAU) - PI
                    } else {
                        step
                    });
                }
            }
        }
        let count = states.len() / dim;
        let average = |of: &dyn Fn(f64) -> f64, k: usize| {
            states
                .iter()
                .skip(k)
                .step_by(dim)
                .map(|x| of(*x))
                .sum::<f64>()
                / count as f64
        };
        let mean: Vec<f64> = (0..dim).map(|k| average(&|x| x, k)).collect();
        let spread = (0..dim).map(|k| match average(&|x| (x - mean[k]).powi(2), k).sqrt() {
            0.0 => 1.0,
            spread => spread,
        });
        let scales = Scales {
            spread: spread.collect(),
            mean,
        };
        (count > 0).then_some(Self {
            interval,
            states,
            increments,
            scales,
        })
    }

    /// Number of pairs.
    pub(crate) fn count(&self) -> usize {
        self.states.len() / self.scales.mean.len()
    }
}
