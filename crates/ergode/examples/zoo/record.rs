//! Cases of the zoo: a record, what is known of it, and the verdict that it deserves.

use ergode::random::{Purpose, Stream};
use ergode::systems::{System, generate, system_by_name};
use ergode::{Control, Ensemble};
use ndarray::{Array3, ArrayViewMut2};
use serde_json::{Map, Value};

/// The seed of all records. Simulations of a fit use other streams.
pub(crate) const SEED: u64 = 20_260_401;

/// The verdict that a report on a case should give.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expected {
    /// The record allows a right model.
    Pass,
    /// No Langevin equation of these coordinates is right, or the record cannot show it.
    WarnOrFail,
    /// There is nothing to learn.
    Fail,
}

impl Expected {
    /// Name in the output.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::WarnOrFail => "warn-or-fail",
            Self::Fail => "fail",
        }
    }
}

/// One case.
pub(crate) struct Case {
    /// Name on the command line.
    pub(crate) name: &'static str,
    /// The right verdict.
    pub(crate) expected: Expected,
    /// Why it is right.
    pub(crate) reason: &'static str,
    /// Sampling intervals, in units of the record; quick runs use the first.
    pub(crate) intervals: &'static [f64],
    /// Whether quick runs contain it.
    pub(crate) quick: bool,
    /// Part of an error message that is as right as a report, where refusing the record is right.
    pub(crate) refusal: Option<&'static str>,
    /// Simulates it.
    pub(crate) make: fn(&Setting) -> Record,
}

impl Case {
    /// A case whose right verdict is "pass".
    pub(crate) const fn pass(
        name: &'static str,
        reason: &'static str,
        intervals: &'static [f64],
        make: fn(&Setting) -> Record,
    ) -> Self {
        Self {
            name,
            expected: Expected::Pass,
            reason,
            intervals,
            quick: false,
            refusal: None,
            make,
        }
    }

    /// A case whose right verdict is "warn" or "fail".
    pub(crate) const fn warn(
        name: &'static str,
        reason: &'static str,
        intervals: &'static [f64],
        make: fn(&Setting) -> Record,
    ) -> Self {
        Self {
            expected: Expected::WarnOrFail,
            ..Self::pass(name, reason, intervals, make)
        }
    }

    /// The same case as part of quick runs.
    pub(crate) const fn quick(self) -> Self {
        Self {
            quick: true,
            ..self
        }
    }

    /// The same case where an error that contains `word` is as right as a report.
    pub(crate) const fn or_refused(self, word: &'static str) -> Self {
        Self {
            refusal: Some(word),
            ..self
        }
    }
}

/// How a case is simulated.
pub(crate) struct Setting {
    /// Sampling interval.
    pub(crate) interval: f64,
    /// Length of the record, in that of the whole zoo.
    pub(crate) scale: f64,
    /// Seed of the record.
    pub(crate) seed: u64,
}

impl Setting {
    /// The record of the whole zoo, or of quick runs, which is a quarter as long.
    pub(crate) fn new(interval: f64, quick: bool) -> Self {
        Self {
            interval,
            scale: if quick { 0.25 } else { 1.0 },
            seed: SEED,
        }
    }

    /// The length of each trajectory.
    fn time(&self, full: f64) -> f64 {
        self.scale * full
    }
}

/// Writes drift and diffusion, the latter row-major, at a state.
pub(crate) type Truth = Box<dyn Fn(&[f64], &mut [f64], &mut [f64])>;

/// A record with its exact drift and diffusion, where they exist.
pub(crate) struct Record {
    /// The samples.
    pub(crate) ensemble: Ensemble,
    /// The exact equation of the recorded coordinates.
    pub(crate) truth: Option<Truth>,
    /// For each coordinate whether it is an angle in [0, 2π).
    pub(crate) circles: Vec<bool>,
}

impl Record {
    /// Equally long trajectories (trajectory, time, coordinate) of coordinates on lines.
    pub(crate) fn new(values: Array3<f64>, interval: f64, truth: Option<Truth>) -> Self {
        let dim = values.dim().2;
        Self {
            ensemble: Ensemble::from_array3(values.into(), interval).expect("a plain record"),
            truth,
            circles: vec![false; dim],
        }
    }

    /// The same record with these coordinates being angles.
    pub(crate) fn with_circles(mut self, circles: &[bool]) -> Self {
        self.circles = circles.to_vec();
        self
    }
}

/// A record of a reference system by its own protocol, with another interval, length and number of
/// trajectories, and changes to its parameters as JSON.
pub(crate) fn of_system(
    name: &str,
    changes: &Value,
    setting: &Setting,
    (trajectories, time): (usize, f64),
) -> Record {
    let (values, interval, system) = simulate_system(name, changes, setting, (trajectories, time));
    let truth: Truth = Box::new(move |x, b, d| system.exact_equation(x, b, d));
    Record::new(values, interval, Some(truth))
}

/// The samples of [`of_system`], and the system.
pub(crate) fn simulate_system(
    name: &str,
    changes: &Value,
    setting: &Setting,
    (trajectories, time): (usize, f64),
) -> (Array3<f64>, f64, Box<dyn System>) {
    let none = Map::new();
    let changes = changes.as_object().unwrap_or(&none);
    let system = system_by_name(name, changes).expect("a reference system");
    let mut protocol = system.protocol();
    protocol.simulate.seed = setting.seed;
    protocol.simulate.trajectories = trajectories;
    protocol.simulate.save_every = setting.interval;
    let rows = (setting.time(time) / setting.interval).round();
    protocol.simulate.time = rows * setting.interval;
    let run = generate(&*system, &protocol, &Control::new()).expect("a valid protocol");
    let (rows, dim) = (run.ensemble.trajectories()[0].len(), system.dim());
    let mut values = Array3::zeros((trajectories, rows, dim));
    for (k, mut out) in values.outer_iter_mut().enumerate() {
        for (i, mut row) in out.rows_mut().into_iter().enumerate() {
            let row = row.as_slice_mut().expect("adjacent coordinates");
            run.ensemble.trajectories()[k].row(i, row);
        }
    }
    (values, setting.interval, system)
}

/// How trajectories are simulated by steps of Euler and Maruyama.
pub(crate) struct Run {
    /// Longest step.
    pub(crate) step: f64,
    /// Time before the first sample.
    pub(crate) burn_in: f64,
    /// Length of each trajectory.
    pub(crate) time: f64,
    /// Number of trajectories.
    pub(crate) trajectories: usize,
}

/// Samples (trajectory, time, coordinate) of a motion: `start` writes the first state, `advance` replaces
/// a state by the one a step later.
pub(crate) fn simulate(
    setting: &Setting,
    run: &Run,
    dim: usize,
    start: impl Fn(&mut Stream, &mut [f64]),
    advance: impl Fn(&mut Stream, f64, &mut [f64]),
) -> Array3<f64> {
    let steps = (setting.interval / run.step - 1e-9).ceil().max(1.0) as usize;
    let dt = setting.interval / steps as f64;
    let rows = (setting.time(run.time) / setting.interval).round() as usize + 1;
    let mut values = Array3::zeros((run.trajectories, rows, dim));
    let trajectory = |index: usize, mut out: ArrayViewMut2<f64>| {
        let stream = &mut Stream::new(setting.seed, Purpose::Noise, index as u64);
        let mut x = vec![0.0; dim];
        start(stream, &mut x);
        for _ in 0..(run.burn_in / dt).ceil() as usize {
            advance(stream, dt, &mut x);
        }
        for (i, mut row) in out.rows_mut().into_iter().enumerate() {
            for _ in 0..if i > 0 { steps } else { 0 } {
                advance(stream, dt, &mut x);
            }
            row.as_slice_mut()
                .expect("adjacent coordinates")
                .copy_from_slice(&x);
        }
    };
    for (index, out) in values.outer_iter_mut().enumerate() {
        trajectory(index, out);
    }
    values
}

/// A record of dx = F dt + √(2D) dW with a diagonal D: `fields` writes F and the diagonal of D, `keep`
/// brings a state back to where it may be (reflection, projection, wrapping).
pub(crate) fn diagonal(
    setting: &Setting,
    run: &Run,
    start: &[f64],
    fields: impl Fn(&[f64], &mut [f64], &mut [f64]) + 'static,
    keep: impl Fn(&mut [f64]),
) -> Record {
    let values = euler(setting, run, start, &fields, keep);
    Record::new(values, setting.interval, Some(full(start.len(), fields)))
}

/// The samples of [`diagonal`].
pub(crate) fn euler(
    setting: &Setting,
    run: &Run,
    start: &[f64],
    fields: impl Fn(&[f64], &mut [f64], &mut [f64]),
    keep: impl Fn(&mut [f64]),
) -> Array3<f64> {
    let dim = start.len();
    let begin = |_: &mut Stream, x: &mut [f64]| x.copy_from_slice(start);
    let advance = |stream: &mut Stream, dt: f64, x: &mut [f64]| {
        let mut both = [0.0; 32];
        let (drift, diffusion) = both.split_at_mut(16);
        fields(x, &mut drift[..dim], &mut diffusion[..dim]);
        for i in 0..dim {
            let noise = (2.0 * diffusion[i].max(0.0) * dt).sqrt();
            x[i] += drift[i] * dt + noise * stream.normal();
        }
        keep(x);
    };
    simulate(setting, run, dim, begin, advance)
}

/// Drift and whole D from drift and diagonal.
pub(crate) fn full(dim: usize, fields: impl Fn(&[f64], &mut [f64], &mut [f64]) + 'static) -> Truth {
    Box::new(move |x, drift, diffusion| {
        let mut entries = vec![0.0; dim];
        fields(x, drift, &mut entries);
        diffusion.fill(0.0);
        for (i, entry) in entries.into_iter().enumerate() {
            diffusion[i * (dim + 1)] = entry;
        }
    })
}

/// Leaves a state where it is.
pub(crate) fn free(_: &mut [f64]) {}

/// Reflects a coordinate at both ends of an interval.
pub(crate) fn reflect(x: &mut f64, low: f64, high: f64) {
    let width = high - low;
    let away = (*x - low).rem_euclid(2.0 * width);
    *x = low
        + if away > width {
            2.0 * width - away
        } else {
            away
        };
}

/// Wraps an angle into [0, 2π).
pub(crate) fn wrap(x: &mut f64) {
    *x = x.rem_euclid(std::f64::consts::TAU);
}
