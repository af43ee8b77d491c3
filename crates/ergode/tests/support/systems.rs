//! Reference systems and records of them.

use ergode::random::Stream;
use ergode::score::ConditionalScore;
use ergode::systems::{
    CoxIngersollRoss, OrnsteinUhlenbeck, OrnsteinUhlenbeckParameters, Protocol, System,
    generate_uneven,
};
use ergode::{Control, Ensemble, Times, Trajectory};
use ndarray::Array2;

/// The default Ornstein-Uhlenbeck process.
pub(crate) fn ou() -> OrnsteinUhlenbeck {
    OrnsteinUhlenbeck::new(OrnsteinUhlenbeckParameters::default()).unwrap()
}

/// A square-root process whose density vanishes at zero.
pub(crate) fn cir() -> CoxIngersollRoss {
    CoxIngersollRoss {
        gamma: 0.25,
        ..CoxIngersollRoss::default()
    }
}

/// An Ornstein-Uhlenbeck process with rotation.
pub(crate) fn rotating(dim: usize) -> OrnsteinUhlenbeck {
    let drift = (0..dim)
        .map(|i| {
            (0..dim)
                .map(|j| match (i, j) {
                    (i, j) if i == j => 1.0 + 0.2 * i as f64,
                    (i, j) if j == i + 1 => 0.9,
                    (i, j) if i == j + 1 => -0.6,
                    _ => 0.0,
                })
                .collect()
        })
        .collect();
    OrnsteinUhlenbeck::new(OrnsteinUhlenbeckParameters {
        drift,
        diffusion: Array2::<f64>::eye(dim)
            .outer_iter()
            .map(|r| r.to_vec())
            .collect(),
        mean: vec![0.5; dim],
    })
    .unwrap()
}

/// The states of `system` at the times of a Poisson process of this mean interval.
pub(crate) fn poisson(
    system: &dyn System,
    time: f64,
    interval: f64,
    missing: f64,
    seed: u64,
) -> Ensemble {
    let mut protocol: Protocol = system.protocol();
    protocol.simulate.time = time;
    protocol.simulate.save_every = interval;
    protocol.simulate.trajectories = 36;
    protocol.simulate.seed = seed;
    protocol.simulate.burn_in = 10.0;
    let made = generate_uneven(system, &protocol, true, missing, &Control::new());
    made.unwrap().ensemble
}

/// `count` exact samples at the times of a Poisson process.
pub(crate) fn poisson_record(
    system: &OrnsteinUhlenbeck,
    rate: f64,
    count: usize,
    mut stream: Stream,
) -> Trajectory {
    let dim = ergode::simulate::Dimensions::dim(system);
    let mut x = vec![0.0; dim];
    system.draw_initial(&mut stream, &mut x);
    let (mut values, mut times, mut t) = (Array2::zeros((count, dim)), Vec::new(), 0.0);
    for mut row in values.rows_mut() {
        row.assign(&ndarray::aview1(&x));
        times.push(t);
        let wait = -stream.uniform().ln() / rate;
        t += wait;
        system.exact_transition(wait).unwrap()(&mut stream, &mut x);
    }
    Trajectory::new(values, Times::Uneven(times.into()))
}

/// Exact conditional scores ∇ ln p(x_t | x_0) as a function of t, x_t and x_0.
pub(crate) type Truth<'a> = &'a (dyn Fn(f64, &[f64], &[f64]) -> Vec<f64> + Sync);

/// Exact scores of a reference system as a [`ConditionalScore`], times a factor.
pub(crate) struct Exact<'a> {
    pub(crate) dim: usize,
    pub(crate) truth: Truth<'a>,
    pub(crate) factor: f64,
}

impl ConditionalScore for Exact<'_> {
    fn dim(&self) -> usize {
        self.dim
    }
    fn conditional_score(&self, x0: &[f64], xt: &[f64], t: &[f64], out: &mut [f64]) {
        let n = t.len();
        for s in 0..n {
            let at = |x: &[f64]| -> Vec<f64> { (0..self.dim).map(|i| x[i * n + s]).collect() };
            let exact = (self.truth)(t[s], &at(xt), &at(x0));
            for (i, value) in exact.iter().enumerate() {
                out[i * n + s] = self.factor * value;
            }
        }
    }
}
