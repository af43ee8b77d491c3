//! What must not matter to a fit: units, origins, names, order and direction of coordinates, the unit and origin
//! of time, how a record is divided into trajectories, and threads.

use ergode::mobility::{MeasurementNoise, RecipeConfig, fit_mobility_recipe};
use ergode::random::{Purpose, Stream};
use ergode::score::{ClosedFormConfig, fit_potential_score};
use ergode::systems::{
    Affine2d, DoubleWell, OrnsteinUhlenbeck, OrnsteinUhlenbeckParameters, System,
};
use ergode::{
    Control, Ensemble, FitConfig, Fitted, LangevinModel, ModelField, Recipe, Times, Trajectory, fit,
};
use ndarray::Array2;

use crate::model::provenance;
use crate::support::{largest, rotating, rows, sample};

/// Two ways to compute the same number may differ by this much of the field.
const SAME: f64 = 1e-6;

/// x'_a = scale_a x_order(a) + shift_a at t' = unit t + epoch.
#[derive(Clone, Debug)]
struct Change {
    scale: Vec<f64>,
    shift: Vec<f64>,
    order: Vec<usize>,
    unit: f64,
    epoch: f64,
}

impl Change {
    fn none(dim: usize) -> Self {
        Self {
            scale: vec![1.0; dim],
            shift: vec![0.0; dim],
            order: (0..dim).collect(),
            unit: 1.0,
            epoch: 0.0,
        }
    }

    /// Units from 1e-6 to 1e6, each coordinate its own.
    fn units(dim: usize) -> Self {
        let power = |a: usize| match a {
            0 => 6.0,
            1 => -6.0,
            a => ((a * 5) % 13) as f64 - 6.0,
        };
        Self {
            scale: (0..dim).map(|a| 10f64.powf(power(a))).collect(),
            ..Self::none(dim)
        }
    }

    /// Means a million standard deviations away.
    fn origins(dim: usize) -> Self {
        Self {
            shift: (0..dim).map(|a| [1e6, -1e6][a % 2]).collect(),
            ..Self::none(dim)
        }
    }

    /// Every other coordinate, from the first on, with the other sign.
    fn signs(dim: usize) -> Self {
        Self {
            scale: (0..dim).map(|a| [-1.0, 1.0][a % 2]).collect(),
            ..Self::none(dim)
        }
    }

    fn order(dim: usize) -> Self {
        Self {
            order: (0..dim).map(|a| (a * 3 + 1) % dim).collect(),
            ..Self::none(dim)
        }
    }

    fn time(dim: usize, unit: f64) -> Self {
        Self {
            unit,
            ..Self::none(dim)
        }
    }

    fn epoch(dim: usize) -> Self {
        Self {
            epoch: 1.7e9,
            ..Self::none(dim)
        }
    }

    fn state(&self, x: &[f64]) -> Vec<f64> {
        let coordinate = |a: usize| self.scale[a] * x[self.order[a]] + self.shift[a];
        (0..x.len()).map(coordinate).collect()
    }

    fn record(&self, data: &Ensemble) -> Ensemble {
        let trajectories = (0..data.len()).map(|k| {
            let old = rows(data, k);
            let mut values = old.to_owned();
            for (mut row, x) in values.rows_mut().into_iter().zip(old.rows()) {
                row.assign(&ndarray::aview1(&self.state(&x.to_vec())));
            }
            let Times::Even { start, step } = data.trajectories()[k].times().clone() else {
                panic!("simulations are sampled evenly");
            };
            let times = Times::Even {
                start: self.unit * start + self.epoch,
                step: self.unit * step,
            };
            Trajectory::new(values, times)
        });
        Ensemble::new(trajectories.collect()).unwrap()
    }
}

/// D, R and drift at some states, one after the other.
#[derive(Clone, Debug)]
struct Found {
    diffusion: Vec<f64>,
    current: Vec<f64>,
    drift: Vec<f64>,
}

impl Found {
    /// The fields of a model of changed data at the states that these are in the old coordinates, in these.
    fn of(model: &LangevinModel, states: &[Vec<f64>], change: &Change) -> Self {
        let dim = model.dim();
        let (mut diffusion, mut current, mut drift) = (Vec::new(), Vec::new(), Vec::new());
        let mut place = vec![0; dim];
        change
            .order
            .iter()
            .enumerate()
            .for_each(|(a, i)| place[*i] = a);
        for x in states {
            let x = change.state(x);
            let (mut m, mut b) = (vec![0.0; dim * dim], vec![0.0; dim]);
            model.field(ModelField::Mobility, &x, &mut m);
            model.field(ModelField::Drift, &x, &mut b);
            let entry = |i: usize, j: usize| {
                let (a, b) = (place[i], place[j]);
                m[a * dim + b] * change.unit / (change.scale[a] * change.scale[b])
            };
            for i in 0..dim {
                drift.push(b[place[i]] * change.unit / change.scale[place[i]]);
                for j in 0..dim {
                    diffusion.push(0.5 * (entry(i, j) + entry(j, i)));
                    current.push(0.5 * (entry(i, j) - entry(j, i)));
                }
            }
        }
        Self {
            diffusion,
            current,
            drift,
        }
    }

    /// The largest difference, as a fraction of the largest D or R, or of the largest drift.
    fn distance(&self, other: &Self) -> f64 {
        let apart = |a: &[f64], b: &[f64]| largest(a.iter().zip(b).map(|(a, b)| a - b));
        let size = largest(self.diffusion.iter().chain(&self.current).copied());
        let mobility =
            apart(&self.diffusion, &other.diffusion).max(apart(&self.current, &other.current));
        let drift = apart(&self.drift, &other.drift) / largest(self.drift.iter().copied());
        drift.max(mobility / size)
    }
}

/// A record and how it is fitted.
struct Case {
    name: &'static str,
    data: Ensemble,
    degrees: (usize, usize),
    horizon: f64,
    noise: MeasurementNoise,
}

impl Case {
    fn dim(&self) -> usize {
        self.data.dim()
    }

    /// Every fiftieth state of the first trajectory.
    fn states(&self) -> Vec<Vec<f64>> {
        let rows = rows(&self.data, 0);
        let chosen = rows.rows().into_iter().step_by(50);
        chosen.map(|row| row.to_vec()).collect()
    }

    /// Score and mobility of `data`, a changed version of the record whose unit of time is `unit`.
    fn learn(&self, data: &Ensemble, recipe: Recipe, unit: f64) -> LangevinModel {
        let control = Control::new();
        let closed = ClosedFormConfig {
            degrees: vec![2, 4],
            ..ClosedFormConfig::default()
        };
        let recipe = RecipeConfig {
            recipe,
            degrees: Some(self.degrees),
            horizon: Some(self.horizon * unit),
            noise: self.noise.clone(),
            ..RecipeConfig::default()
        };
        let score = fit_potential_score(data, &closed, &control).unwrap();
        let mobility = fit_mobility_recipe(data, &recipe, &control).unwrap();
        let (starts, names) = (rows(data, 0).to_owned(), data.names().to_vec());
        let mobility = mobility.fit.mobility;
        LangevinModel::new(names, score, mobility, starts, provenance(data)).unwrap()
    }

    fn found(&self, recipe: Recipe, change: &Change) -> Found {
        let model = self.learn(&change.record(&self.data), recipe, change.unit);
        Found::of(&model, &self.states(), change)
    }
}

fn affine() -> Case {
    Case {
        name: "affine2d",
        data: sample(&Affine2d::default(), 60.0, 0.1, 12, 5),
        degrees: (2, 1),
        horizon: 1.0,
        noise: MeasurementNoise::None,
    }
}

fn double_well() -> Case {
    Case {
        name: "double well",
        data: sample(&DoubleWell::default(), 100.0, 0.05, 8, 5),
        degrees: (2, 0),
        horizon: 2.0,
        noise: MeasurementNoise::None,
    }
}

fn rotation() -> Case {
    Case {
        name: "rotating OU",
        data: sample(&rotating(2), 60.0, 0.1, 12, 5),
        degrees: (0, 0),
        horizon: 1.0,
        noise: MeasurementNoise::None,
    }
}

fn noisy() -> Case {
    let clean = sample(&rotating(2), 60.0, 0.1, 12, 5);
    let trajectories = (0..clean.len()).map(|k| {
        let mut stream = Stream::new(1, Purpose::Analysis, k as u64);
        let values = rows(&clean, k).mapv(|x| x + 0.15 * stream.normal());
        Trajectory::new(values, clean.trajectories()[k].times().clone())
    });
    Case {
        name: "noisy OU",
        data: Ensemble::new(trajectories.collect()).unwrap(),
        noise: MeasurementNoise::Estimate,
        ..rotation()
    }
}

fn cases() -> [Case; 4] {
    [affine(), double_well(), rotation(), noisy()]
}

const RECIPES: [Recipe; 2] = [Recipe::Semigroup, Recipe::Weak];

/// Every case and recipe under changes that leave the fit as it is.
fn unmoved(changes: impl Fn(usize) -> Vec<Change>, cases: &[Case]) {
    for case in cases {
        for recipe in RECIPES {
            let plain = case.found(recipe, &Change::none(case.dim()));
            for change in changes(case.dim()) {
                let distance = plain.distance(&case.found(recipe, &change));
                println!("{} {recipe}: {distance:.1e} {change:?}", case.name);
                assert!(distance < SAME, "{} {recipe}: {distance}", case.name);
            }
        }
    }
}

#[test]
fn slow_units_and_origins_of_coordinates_do_not_matter() {
    unmoved(
        |dim| vec![Change::units(dim), Change::origins(dim), Change::signs(dim)],
        &cases(),
    );
}

/// The comparison itself: it sees a unit that is off by a thousandth.
#[test]
fn a_wrong_unit_is_seen() {
    let case = rotation();
    let mut change = Change::units(2);
    let record = change.record(&case.data);
    let model = case.learn(&record, Recipe::Semigroup, 1.0);
    let right = Found::of(&model, &case.states(), &change);
    change.scale[0] *= 1.001;
    let wrong = Found::of(&model, &case.states(), &change);
    assert!(right.distance(&wrong) > 1e-4);
}

#[test]
fn slow_the_origin_of_time_does_not_matter() {
    unmoved(|dim| vec![Change::epoch(dim)], &cases());
}

#[test]
fn slow_the_unit_of_time_does_not_matter() {
    let units = [1e-12, 1e-3, 1e3, 1e12];
    unmoved(
        |dim| units.map(|unit| Change::time(dim, unit)).to_vec(),
        &cases(),
    );
}

#[test]
fn slow_the_order_of_coordinates_does_not_matter() {
    unmoved(
        |dim| vec![Change::order(dim)],
        &[affine(), rotation(), noisy()],
    );
}

/// In a pool of this many threads.
fn with_threads<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> T {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    pool.unwrap().install(work)
}

#[test]
fn slow_threads_do_not_matter() {
    for case in cases() {
        for recipe in RECIPES {
            let found =
                |threads| with_threads(threads, || case.found(recipe, &Change::none(case.dim())));
            let (one, three) = (found(1), found(3));
            assert_eq!(one.diffusion, three.diffusion, "{} {recipe}", case.name);
            assert_eq!(one.current, three.current, "{} {recipe}", case.name);
            assert_eq!(one.drift, three.drift, "{} {recipe}", case.name);
        }
    }
}

/// The same record in other pieces: trajectories in another order, or cut in two.
fn rearranged(data: &Ensemble, cut: bool) -> Ensemble {
    let order = (0..data.len()).map(|k| (k * 5 + 3) % data.len());
    let pieces = order.flat_map(|k| {
        let (rows, times) = (rows(data, k), data.trajectories()[k].times().clone());
        let middle = if cut { rows.nrows() * 2 / 5 } else { 0 };
        let piece = |a: usize, b: usize| {
            let values = rows.slice(ndarray::s![a..b, ..]).to_owned();
            Trajectory::new(values, times.clone())
        };
        [piece(0, middle), piece(middle, rows.nrows())]
    });
    let pieces = pieces.filter(|piece| !piece.is_empty());
    Ensemble::new(pieces.collect()).unwrap()
}

/// The largest change of drift or diffusion in standard errors of the first model.
fn in_errors(before: &LangevinModel, after: &LangevinModel, states: &[Vec<f64>]) -> f64 {
    let mut worst = 0.0f64;
    for x in states {
        for field in [ModelField::Drift, ModelField::Diffusion] {
            let size = x.len().pow(field.rank() as u32);
            let [mut a, mut b, mut error] = [(); 3].map(|()| vec![0.0; size]);
            before.field(field, x, &mut a);
            after.field(field, x, &mut b);
            before.field_error(field, x, &mut error).unwrap();
            let scores = a.iter().zip(&b).zip(&error).map(|((a, b), e)| (a - b) / e);
            worst = worst.max(largest(scores));
        }
    }
    worst
}

/// Reordering and cutting change which blocks and folds samples belong to, and a few pairs: by less than the
/// printed errors.
#[test]
fn slow_the_division_into_trajectories_matters_less_than_the_errors() {
    for case in [affine(), double_well(), rotation()] {
        for recipe in RECIPES {
            let plain = case.learn(&case.data, recipe, 1.0);
            for cut in [false, true] {
                let other = case.learn(&rearranged(&case.data, cut), recipe, 1.0);
                let worst = in_errors(&plain, &other, &case.states());
                println!("{} {recipe}, cut {cut}: {worst:.3} errors", case.name);
                assert!(worst < 1.0, "{} {recipe}: {worst} errors", case.name);
            }
        }
    }
}

/// Reversed in time: the same D, the opposite R, up to the pairs at the ends of blocks.
#[test]
fn slow_reversed_in_time_the_currents_change_sign() {
    for case in [affine(), rotation()] {
        let pieces = (0..case.data.len()).map(|k| {
            let values = rows(&case.data, k).slice(ndarray::s![..;-1, ..]).to_owned();
            Trajectory::new(values, case.data.trajectories()[k].times().clone())
        });
        let reversed = Ensemble::new(pieces.collect()).unwrap();
        let none = Change::none(case.dim());
        let learned = |data: &Ensemble| {
            let model = case.learn(data, Recipe::Semigroup, 1.0);
            Found::of(&model, &case.states(), &none)
        };
        let (forwards, mut backwards) = (learned(&case.data), learned(&reversed));
        let kept = forwards.distance(&backwards);
        backwards.current.iter_mut().for_each(|r| *r = -*r);
        backwards.drift.clone_from(&forwards.drift);
        let distance = forwards.distance(&backwards);
        println!(
            "{}: {distance:.4}, without the change of sign {kept:.4}",
            case.name
        );
        assert!(distance < 0.05, "{}: {distance}", case.name);
        assert!(kept > 4.0 * distance, "{}: {kept}", case.name);
    }
}

/// Sixteen coupled coordinates, by the recipe of the constant mobility.
fn ring_of_sixteen() -> Ensemble {
    let coupling = |i: usize, j: usize| match (16 + j - i) % 16 {
        0 => 1.0,
        1 => 0.3,
        15 => -0.2,
        _ => 0.0,
    };
    let matrix = |f: &dyn Fn(usize, usize) -> f64| -> Vec<Vec<f64>> {
        let row = |i: usize| (0..16).map(|j| f(i, j)).collect();
        (0..16).map(row).collect()
    };
    let system = OrnsteinUhlenbeck::new(OrnsteinUhlenbeckParameters {
        drift: matrix(&coupling),
        diffusion: matrix(&|i, j| if i == j { 0.5 } else { 0.0 }),
        mean: vec![0.5; 16],
    });
    let system: &dyn System = &system.unwrap();
    sample(system, 100.0, 0.1, 8, 5)
}

fn small() -> FitConfig {
    let mut config = FitConfig::default();
    config.simulate.dt = Some(0.05);
    config.simulate.trajectories = 8;
    config.validate.lags = 5;
    config.validate.channels = 20;
    config
}

/// Findings by kind, and the verdict.
fn judged(fitted: &Fitted) -> String {
    let findings = fitted.record.validation.reasons.iter();
    let kinds: Vec<String> = findings
        .map(|f| format!("{:?} {:?}", f.kind, f.severity))
        .collect();
    format!("{:?} {kinds:?}", fitted.record.validation.verdict)
}

#[test]
fn slow_units_do_not_matter_to_a_constant_mobility() {
    let data = ring_of_sixteen();
    let chosen = rows(&data, 0);
    let states: Vec<Vec<f64>> = chosen
        .rows()
        .into_iter()
        .step_by(200)
        .map(|r| r.to_vec())
        .collect();
    let learned = |change: &Change| {
        let fitted = fit(&change.record(&data), &small()).unwrap();
        (Found::of(&fitted.model, &states, change), judged(&fitted))
    };
    let (plain, verdict) = learned(&Change::none(16));
    let mut hundred = Change::none(16);
    hundred.scale[0] = 100.0;
    for change in [hundred, Change::units(16)] {
        let (found, other) = learned(&change);
        let distance = plain.distance(&found);
        println!("{distance:.1e} {verdict} {other}");
        assert!(distance < 1e-8, "{distance}");
        assert_eq!(verdict, other);
    }
    for change in [Change::order(16), Change::origins(16)] {
        let (found, _) = learned(&change);
        let distance = plain.distance(&found);
        println!("{distance:.1e} {change:?}");
        assert!(distance < SAME, "{distance}");
    }
}

/// A whole fit, with its check and its simulations: verdict and findings do not depend on units.
#[test]
fn slow_units_do_not_matter_to_the_verdict() {
    let case = rotation();
    let fitted = |change: &Change| {
        let fitted = fit(&change.record(&case.data), &small()).unwrap();
        (
            Found::of(&fitted.model, &case.states(), change),
            judged(&fitted),
        )
    };
    let (plain, verdict) = fitted(&Change::none(2));
    let (found, other) = fitted(&Change::units(2));
    assert!(plain.distance(&found) < SAME);
    assert_eq!(verdict, other);
    // The observables outside the fit are steps and tanh, which are others in coordinates of the other sign.
    let (found, _) = fitted(&Change::signs(2));
    assert!(plain.distance(&found) < SAME);
}

/// A record of one long trajectory and many short ones: what the long one alone allows, both allow.
#[test]
fn slow_short_trajectories_beside_a_long_one_do_not_spoil_a_fit() {
    let long = sample(&rotating(2), 300.0, 0.1, 1, 3);
    let short = sample(&rotating(2), 1.1, 0.1, 16, 4);
    let all = |e: &Ensemble| e.trajectories().to_vec();
    let mixed = Ensemble::new([all(&long), all(&short)].concat()).unwrap();
    let found = |data: &Ensemble| {
        let config = RecipeConfig {
            horizon: Some(1.0),
            ..RecipeConfig::default()
        };
        let found = fit_mobility_recipe(data, &config, &Control::new()).unwrap();
        found.mean
    };
    let difference: Array2<f64> = found(&mixed) - found(&long);
    let worst = largest(difference.iter().copied());
    println!(
        "{worst:.3}: {:?} instead of {:?}",
        found(&mixed),
        found(&long)
    );
    assert!(worst < 0.2, "{worst}");
    let parts = mixed.split(0.25, 1.0).unwrap();
    let share = parts.1.samples() as f64 / mixed.samples() as f64;
    assert!((0.2..0.3).contains(&share), "{share}");
}
