//! The loss of the neural mobility.

use super::bank::{Applied, Slice};
use super::tensor::TensorMap;
use crate::error::Result;
use crate::nn::{Batch, Engine, Mlp, Task, Tile};
use crate::random::{Purpose, Stream};

/// J = Σ w_mn(τ) |A\[δM\] − target|² + λ_mean |⟨δM⟩|² + λ_reg ⟨y²⟩ (`eq:app_affine_2d_mobility_loss`), where
/// the outputs y of the network are zero for M = Φ.
///
/// A square of averages: with two independent sets of pairs a and b the product of their residuals r_a r_b
/// has the expectation |E r|², and r_b ∇r_a + r_a ∇r_b the expectation of its gradient. The same pairs in
/// both would add the variance of A\[δM\] to the loss. The states of the pairs are the anchors of the mean.
pub(super) struct MobilityTask {
    pub(super) map: TensorMap,
    pub(super) training: Vec<Slice>,
    pub(super) held_out: [Slice; 2],
    /// What A\[δM\] should be, (lag, equation), in the data to learn from and in those held out.
    pub(super) target: Vec<f64>,
    pub(super) held_out_target: Vec<f64>,
    /// w_mn(τ), (lag, equation).
    pub(super) weights: Vec<f64>,
    /// λ_mean.
    pub(super) mean_weight: f64,
    /// λ_reg.
    pub(super) ridge: f64,
    pub(super) lags: usize,
    pub(super) lags_per_step: usize,
    pub(super) seed: u64,
}

impl MobilityTask {
    fn outputs(&self, engine: &dyn Engine, mlp: &Mlp, slice: &Slice) -> Vec<f32> {
        let mut y = vec![0.0; mlp.outputs() * slice.columns];
        let batch = Batch::new(slice.columns, &slice.x);
        engine.evaluate(mlp, &batch, &mut y, &mut []);
        y
    }

    /// The terms that the equations of these lags take from the lists of all, (lag, equation).
    fn chosen(&self, lags: &[usize]) -> impl Iterator<Item = usize> + Clone {
        let size = self.weights.len() / self.lags;
        let lags = lags.to_vec();
        (0..lags.len() * size).map(move |k| lags[k / size] * size + k % size)
    }

    /// J without λ_reg, and its derivatives by what `a` holds.
    fn loss(&self, lags: &[usize], a: &Applied, b: &Applied) -> (f64, Applied) {
        let (mut loss, operator) = self.misfit(lags, &self.target, a, b);
        let mean = b.mean.iter().map(|b| self.mean_weight * b).collect();
        let means = a.mean.iter().zip(&b.mean);
        loss += means.map(|(a, b)| self.mean_weight * a * b).sum::<f64>();
        (loss, Applied { operator, mean })
    }

    /// The first term of J, and its derivatives by the operator of `a`.
    fn misfit(&self, lags: &[usize], target: &[f64], a: &Applied, b: &Applied) -> (f64, Vec<f64>) {
        let share = self.lags as f64 / lags.len() as f64;
        let mut loss = 0.0;
        let residuals = self.chosen(lags).zip(a.operator.iter().zip(&b.operator));
        let operator = residuals.map(|(k, (a, b))| {
            let weight = share * self.weights[k];
            loss += weight * (a - target[k]) * (b - target[k]);
            weight * (b - target[k])
        });
        let operator = operator.collect();
        (loss, operator)
    }

    /// Half of λ_reg ⟨y²⟩, the share of one of two slices.
    fn penalty(&self, y: &[f32]) -> f64 {
        let squares: f64 = y.iter().map(|y| f64::from(y * y)).sum();
        0.5 * self.ridge * squares / y.len() as f64
    }

    /// Lags and two different slices, drawn for a step.
    fn draw(&self, batch: u64) -> (Vec<usize>, usize, usize) {
        let mut stream = Stream::new(self.seed, Purpose::Training, batch);
        let mut lags: Vec<usize> = (0..self.lags).collect();
        for k in 0..self.lags_per_step {
            lags.swap(k, k + stream.below((self.lags - k) as u64) as usize);
        }
        lags.truncate(self.lags_per_step);
        let count = self.training.len() as u64;
        let a = stream.below(count);
        let b = (a + 1 + stream.below(count - 1)) % count;
        (lags, a as usize, b as usize)
    }
}

impl Task for MobilityTask {
    fn gradient(
        &self,
        engine: &dyn Engine,
        mlp: &Mlp,
        batch: u64,
        gradient: &mut [f32],
    ) -> Result<f64> {
        let (lags, a, b) = self.draw(batch);
        let slices = [&self.training[a], &self.training[b]];
        let y = slices.map(|slice| self.outputs(engine, mlp, slice));
        let apply = |k: usize| slices[k].apply(&self.map, &y[k], &lags);
        let (first, second) = (apply(0), apply(1));
        let (loss, of_first) = self.loss(&lags, &first, &second);
        let (_, of_second) = self.loss(&lags, &second, &first);
        let penalties = y.each_ref().map(|y| self.penalty(y));
        for (k, bar) in [of_first, of_second].iter().enumerate() {
            let slice = slices[k];
            let y_bar = slice.pull_back(&self.map, &y[k], &lags, bar);
            let slope = (self.ridge / y_bar.len() as f64) as f32;
            let copy = |tile: Tile| {
                for (row, out) in tile.y_bar.chunks_exact_mut(tile.states).enumerate() {
                    let from = row * slice.columns + tile.first;
                    let terms = y_bar[from..].iter().zip(&y[k][from..]);
                    for (out, (bar, y)) in out.iter_mut().zip(terms) {
                        *out = bar + slope * y;
                    }
                }
                0.0
            };
            let batch = Batch::new(slice.columns, &slice.x);
            engine.gradient(mlp, &batch, &copy, gradient);
        }
        Ok(loss + penalties[0] + penalties[1])
    }

    /// The equations alone: Φ is that of the whole record, and the mean of the right M over the stretches held
    /// out need not be close to it where the record has slow modes.
    fn held_out(&self, engine: &dyn Engine, mlp: &Mlp) -> Result<f64> {
        let lags: Vec<usize> = (0..self.lags).collect();
        let [a, b] = self
            .held_out
            .each_ref()
            .map(|slice| slice.apply(&self.map, &self.outputs(engine, mlp, slice), &lags));
        Ok(self.misfit(&lags, &self.held_out_target, &a, &b).0)
    }
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;
    use crate::control::Control;
    use crate::data::Standardiser;
    use crate::lagged::{LagGrid, Pool};
    use crate::mobility::conditional::ConditionalOperator;
    use crate::mobility::neural::bank::Source;
    use crate::nn::CpuEngine;
    use crate::observable::{LatticeAverage, Monomials};
    use crate::score::{ConditionalScore, Layout, Windows};
    use crate::systems::{OrnsteinUhlenbeck, System, generate};

    struct Exact(OrnsteinUhlenbeck);

    impl ConditionalScore for Exact {
        fn dim(&self) -> usize {
            2
        }
        fn conditional_score(&self, x0: &[f64], xt: &[f64], t: &[f64], out: &mut [f64]) {
            let n = t.len();
            for s in 0..n {
                let score =
                    self.0
                        .conditional_score(t[s], &[xt[s], xt[n + s]], &[x0[s], x0[n + s]]);
                (0..2).for_each(|i| out[i * n + s] = score[i]);
            }
        }
    }

    #[test]
    fn the_gradient_agrees_with_differences_of_the_loss() {
        gradient_agrees(None);
    }

    /// Two coordinates as a ring of two sites.
    #[test]
    fn so_it_does_where_the_channels_are_averaged_over_a_ring() {
        gradient_agrees(Some(LatticeAverage {
            sites: 2,
            components: 1,
        }));
    }

    /// Along a random direction, and with the residuals of the other slice left out as a twin.
    fn gradient_agrees(ring: Option<LatticeAverage>) {
        let exact = Exact(OrnsteinUhlenbeck::new(Default::default()).unwrap());
        let mut protocol = exact.0.protocol();
        protocol.simulate.time = 200.0;
        protocol.simulate.trajectories = 8;
        let data = generate(&exact.0, &protocol, &Control::new()).unwrap();
        let data = data.ensemble;
        let (of_future, of_initial) = if ring.is_some() { (1, 1) } else { (3, 2) };
        let future = Monomials::new(data.names(), 1..=of_future).unwrap();
        let initial = Monomials::new(data.names(), 1..=of_initial).unwrap();
        let interval = data.sampling_interval().unwrap();
        let grid = LagGrid::even(interval, vec![2, 5, 9]).unwrap();
        let mut operator = ConditionalOperator::new(&exact, &future, &initial, grid).unwrap();
        if let Some(ring) = ring {
            operator = operator.averaged(ring).unwrap();
        }
        let standardiser = Standardiser::from_ensemble(&data).unwrap();
        let windows = Windows::new(Layout::Whole, &standardiser).unwrap();
        let source = Source {
            operator: &operator,
            windows: &windows,
            standardiser: &standardiser,
            seed: 1,
            control: &Control::new(),
        };
        let (pool, _) = Pool::split(&data, 0.1).unwrap();
        let slice = |k: u64| source.slice(&pool, 700, k).unwrap();
        let phi = array![[1.0, 0.4], [-0.2, 0.8]];
        let map = TensorMap::new(phi.view(), None, 1e-6, 1.0).unwrap();
        let equations = 3 * operator.channels().len();
        let mlp = Mlp::new(&[2, 16, map.outputs()], 3).unwrap();
        let task = MobilityTask {
            map,
            training: vec![slice(0), slice(1)],
            held_out: [slice(2), slice(3)],
            target: (0..equations).map(|k| 0.1 * (k as f64).sin()).collect(),
            held_out_target: vec![0.0; equations],
            weights: (0..equations).map(|k| 1.0 + 0.1 * (k % 7) as f64).collect(),
            mean_weight: 3.0,
            ridge: 2.0,
            lags: 3,
            lags_per_step: 2,
            seed: 5,
        };
        let engine = CpuEngine::default();
        let mut gradient = vec![0.0; mlp.parameters().len()];
        let loss = |mlp: &Mlp| {
            let mut unused = vec![0.0; mlp.parameters().len()];
            task.gradient(&engine, mlp, 4, &mut unused).unwrap()
        };
        task.gradient(&engine, &mlp, 4, &mut gradient).unwrap();
        let mut stream = Stream::new(8, Purpose::Analysis, 0);
        for _ in 0..4 {
            let direction: Vec<f32> = gradient.iter().map(|_| stream.normal() as f32).collect();
            let step = 1.0 / 512.0;
            let moved = |step: f32| {
                let mut mlp = mlp.clone();
                let parameters = mlp.parameters_mut().iter_mut();
                parameters.zip(&direction).for_each(|(p, d)| *p += step * d);
                loss(&mlp)
            };
            let central = |step: f32| (moved(step) - moved(-step)) / (2.0 * f64::from(step));
            // Of fourth order: the loss is of fourth order in the outputs.
            let difference = (4.0 * central(step) - central(2.0 * step)) / 3.0;
            let along = gradient.iter().zip(&direction);
            let exact: f64 = along.map(|(g, d)| f64::from(g * d)).sum();
            let tolerance = 2e-3 * difference.abs().max(exact.abs());
            assert!(
                (exact - difference).abs() < tolerance,
                "{exact} {difference}"
            );
            // The twin: half of the product rule.
            assert!((0.5 * exact - difference).abs() > tolerance);
        }
    }
}
