//! The paper's recipe on its 36-dimensional benchmark, the soft-spin chain: the constant closure, the
//! network closure from data alone, the physics-informed closure, and where the conditional score is weak.
//!
//!     cargo run --release -p ergode --example spin_paper -- [TIME] [FOLDER] [key=value ...]
//!
//! 72 trajectories of length TIME (500); networks keep their state in FOLDER, so that a second run does not
//! train them again. Changes are those of `ergode fit --set`, most of them under `paper.ring.`; without any
//! the settings are those of `PaperRingConfig::small`.

use std::path::{Path, PathBuf};
use std::time::Instant;

use ergode::{
    ClosedFormConfig, ConditionalOperator, ConditionalScore, Confinement, Control, Ensemble,
    ExactFields, FitConfig, Initial, LagGrid, LaggedConfig, LangevinModel, LatticeAverage,
    LatticeMobility, Mobility, Monomials, PaperRingConfig, Provenance, RadialBasis, Result, Score,
    SimulateConfig, SoftSpin, SpinFamilies, SpinFields, Standardiser, StoredMobility, StoredScore,
    Stream, Subsample, Support, System, accumulate_lagged, estimate_residual, fit_paper_ring,
    fit_paper_spin, fit_score, generate, simulate_ensemble, simulate_model,
};
use ndarray::{Array1, Array2, Array4};

fn main() -> Result<()> {
    let (changes, rest): (Vec<String>, Vec<String>) =
        std::env::args().skip(1).partition(|a| a.contains('='));
    let time = rest.first().and_then(|a| a.parse().ok()).unwrap_or(500.0);
    let folder = rest.get(1).map(PathBuf::from);
    let mut config = FitConfig::default();
    config.paper.ring = PaperRingConfig::small();
    let config = config.with_changes(&changes)?.paper.ring;
    let bench = Bench::new(time)?;
    let truth = correlations(&bench.data, &bench.control)?;
    let second = bench.again()?;
    println!("relative error of C_cd(r, t), t = 0 to 5: all, transverse, longitudinal");
    print_errors(
        "second simulation of the system",
        &correlations(&second, &bench.control)?,
        &truth,
    );
    let ring = bench.ring(&config, folder.as_deref())?;
    bench.forward("network", ring, &truth)?;
    let spin = bench.spin(&config, folder.as_deref())?;
    bench.forward("span of a spin", spin, &truth)
}

struct Bench {
    system: SoftSpin,
    data: Ensemble,
    control: Control,
}

/// What is simulated.
struct Closures {
    score: StoredScore,
    mobility: StoredMobility,
    phi: Array2<f64>,
}

impl Bench {
    fn new(time: f64) -> Result<Self> {
        let system = SoftSpin::default();
        let control = Control::new();
        let data = timed("data", || simulated(&system, time, 0))?;
        Ok(Self {
            system,
            data,
            control,
        })
    }

    /// The data-only closure.
    fn ring(&self, config: &PaperRingConfig, folder: Option<&Path>) -> Result<Closures> {
        let sites = self.system.sites;
        let found = timed("data-only recipe", || {
            fit_paper_ring(&self.data, sites, config, folder, &self.control)
        })?;
        let part =
            |i: usize, j: usize| (found.constant.value[[i, j]], found.constant.error[[i, j]]);
        let [a, b, c] = [part(0, 0), part(1, 0), part(2, 2)];
        println!(
            "Phi: a = {:.5} +- {:.5}, b = {:.5} +- {:.5}, c = {:.5} +- {:.5} (paper 0.04202, 0.00490, \
             0.03088)",
            a.0, a.1, b.0, b.1, c.0, c.1
        );
        let mean = self.mean_mobility();
        println!("    mean of the true M over the data: {mean:.5?}");
        println!(
            "stationary score: relative error {:.3}",
            self.score_error(&found.stationary)
        );
        self.operator_error(
            config,
            &found.conditional,
            &found.stationary,
            &found.constant.value,
        )?;
        let [d, r] = self.mobility_errors(&found.fit.mobility);
        let [d0, r0] = self.mobility_errors(&found.constant.value);
        println!(
            "network: D {:.1} %, R {:.1} % (constant: {:.1} %, {:.1} %); best step {}, held-out loss {:.4} of {:.4}",
            100.0 * d,
            100.0 * r,
            100.0 * d0,
            100.0 * r0,
            found.fit.training.best_step,
            found.fit.training.held_out,
            found
                .fit
                .training
                .history
                .first()
                .map_or(f64::NAN, |r| r.held_out)
        );
        Ok(Closures {
            score: found.stationary.into(),
            phi: found.constant.value,
            mobility: found.fit.mobility.into(),
        })
    }

    /// The physics-informed closure.
    fn spin(&self, config: &PaperRingConfig, folder: Option<&Path>) -> Result<Closures> {
        let (sites, dim) = (self.system.sites, self.data.dim());
        let raw = Standardiser::new(vec![0.0; dim], vec![1.0; dim])?;
        let support = Support::lattice(&self.data, &raw, 3)?;
        let score = fit_score(
            &self.data,
            Box::new(SpinFields::new(sites)?),
            Confinement::new(raw, support)?,
            &ClosedFormConfig::default(),
            &self.control,
        )?;
        println!(
            "closed-form score: relative error {:.4}",
            self.score_error(&score)
        );
        let found = timed("physics-informed recipe", || {
            fit_paper_spin(&self.data, sites, &score, config, folder, &self.control)
        })?;
        self.operator_error(config, &found.conditional, &score, &found.constant.value)?;
        let theta = self.system.temperature;
        let SoftSpin {
            epsilon,
            alpha_perp,
            alpha_par,
            gamma,
            ..
        } = self.system;
        let truth = [epsilon, alpha_perp, alpha_par, -gamma].map(|c| c * theta);
        let paper = [0.001, 0.0745, 0.001, -0.793];
        for (((label, value, error), truth), paper) in
            found.fit.coefficients().zip(truth).zip(paper)
        {
            println!(
                "  {label:7} {value:8.4} +- {error:.4}   truth {truth:7.4}   paper {paper:7.4}"
            );
        }
        println!(
            "  chi2 per equation {:.2}, warnings {:?}",
            found.fit.chi2_per_equation, found.fit.warnings
        );
        let mobility = LatticeMobility::new(sites, found.fit.mobility)?;
        let [d, r] = self.mobility_errors(&mobility);
        println!(
            "physics-informed: D {:.1} %, R {:.1} %",
            100.0 * d,
            100.0 * r
        );
        Ok(Closures {
            score: score.into(),
            mobility: mobility.into(),
            phi: found.constant.value,
        })
    }

    /// The conditional operator of the true mobility beside what it should be: the slope of the regression
    /// of one on the other, and the relative misfit.
    fn operator_error(
        &self,
        config: &PaperRingConfig,
        conditional: &dyn ConditionalScore,
        stationary: &dyn Score,
        phi: &Array2<f64>,
    ) -> Result<()> {
        let data = &self.data;
        let interval = data.sampling_interval().expect("evenly saved");
        let radial = RadialBasis::from_ensemble(data)?;
        let families = SpinFamilies::new(self.system.sites, radial)?;
        let x = Monomials::coordinates(data.names())?;
        let shortest = config.lags.first().copied().unwrap_or(7);
        let longest = config.lags.last().copied().unwrap_or(24);
        let grid = LagGrid::even(interval, vec![shortest, (shortest + longest) / 2, longest])?;
        let operator = ConditionalOperator::new(conditional, &families, &x, grid)?;
        let operator = operator.averaged(LatticeAverage {
            sites: self.system.sites,
            components: 3,
        })?;
        let mut statistics = LaggedConfig {
            subsample: config.mobility.subsample,
            ..LaggedConfig::default()
        };
        let residual = &config.mobility.residual;
        let target = estimate_residual(
            data,
            &operator,
            stationary,
            phi.view(),
            residual,
            &statistics,
            &self.control,
        )?;
        statistics.subsample = Subsample::Stride((data.samples() / 20_000).max(1));
        let truth = Exact(&self.system);
        let sums = operator.accumulate(data, &[&truth, phi], &statistics, &self.control)?;
        let (sums, target) = (sums.jackknife()?.values, target.jackknife()?.values);
        let size = target.len() / 6;
        for (lag, name) in ["shortest", "middle", "longest"].iter().enumerate() {
            let part = |values: &Array1<f64>, place: usize| {
                values
                    .slice(ndarray::s![place * size..(place + 1) * size])
                    .to_owned()
            };
            let right = part(&target, lag) - part(&target, lag + 3);
            let left = part(&sums, 2 * lag) - part(&sums, 2 * lag + 1);
            let rms = |a: &Array1<f64>| (a.dot(a) / size as f64).sqrt();
            println!(
                "  A[M - Phi] of the truth at the {name} lag: {:.3} of the target along it, misfit {:.3}; rms \
                 of the target {:.4}",
                left.dot(&right) / right.dot(&right),
                rms(&(&left - &right)) / rms(&right),
                rms(&right)
            );
        }
        Ok(())
    }

    /// Relative L2 error of a score over the data.
    fn score_error(&self, score: &dyn Score) -> f64 {
        let (mut fitted, mut exact) = (vec![0.0; 36], vec![0.0; 36]);
        let (mut wrong, mut size) = (0.0, 0.0);
        self.each_state(|x| {
            score.score(x, &mut fitted);
            ExactFields::score(&self.system, x, &mut exact);
            for (f, e) in fitted.iter().zip(&exact) {
                wrong += (f - e).powi(2);
                size += e.powi(2);
            }
        });
        (wrong / size).sqrt()
    }

    /// Relative L2 errors of D and R over the data.
    fn mobility_errors(&self, mobility: &dyn Mobility) -> [f64; 2] {
        let dim = self.data.dim();
        let (mut fitted, mut exact) = (vec![0.0; dim * dim], vec![0.0; dim * dim]);
        let mut sums = [[0.0; 2]; 2];
        self.each_state(|x| {
            mobility.mobility(x, &mut fitted);
            ExactFields::mobility(&self.system, x, &mut exact);
            for at in 0..dim * dim {
                let mirrored = at % dim * dim + at / dim;
                for (sums, sign) in sums.iter_mut().zip([1.0, -1.0]) {
                    let part = |m: &[f64]| 0.5 * (m[at] + sign * m[mirrored]);
                    sums[0] += (part(&fitted) - part(&exact)).powi(2);
                    sums[1] += part(&exact).powi(2);
                }
            }
        });
        sums.map(|[wrong, size]| (wrong / size).sqrt())
    }

    /// a, b and c of the true M, averaged over data and sites.
    fn mean_mobility(&self) -> [f64; 3] {
        let dim = self.data.dim();
        let mut exact = vec![0.0; dim * dim];
        let (mut sums, mut count) = ([0.0; 3], 0.0);
        self.each_state(|x| {
            ExactFields::mobility(&self.system, x, &mut exact);
            for site in 0..dim / 3 {
                let entry = |a: usize, b: usize| exact[(3 * site + a) * dim + 3 * site + b];
                sums[0] += 0.5 * (entry(0, 0) + entry(1, 1));
                sums[1] += 0.5 * (entry(1, 0) - entry(0, 1));
                sums[2] += entry(2, 2);
                count += 1.0;
            }
        });
        sums.map(|sum| sum / count)
    }

    /// Every 397th state.
    fn each_state(&self, mut visit: impl FnMut(&[f64])) {
        let mut x = vec![0.0; self.data.dim()];
        for segment in self.data.segments() {
            for row in segment.rows.clone().step_by(397) {
                self.data.trajectories()[segment.trajectory].row(row, &mut x);
                visit(&x);
            }
        }
    }

    /// Forward simulations of a closure and of its constant mobility.
    fn forward(&self, name: &str, closures: Closures, truth: &[Array4<f64>]) -> Result<()> {
        let Closures {
            score,
            mobility,
            phi,
        } = closures;
        let names = self.data.names().to_vec();
        let provenance = Provenance::new(&self.data, 0, serde_json::Value::Null);
        let model = LangevinModel::new(names, score, mobility, self.starts(), provenance)?;
        let constant = model.with_constant_mobility(phi.view())?;
        for (name, model) in [
            (format!("{name}, constant"), &constant),
            (name.to_owned(), &model),
        ] {
            let clock = Instant::now();
            let settings = settings();
            let run = simulate_model(model, &settings, &self.control)?;
            let steps = (RUN + BURN_IN) / settings.dt * settings.trajectories as f64;
            let seconds = clock.elapsed().as_secs_f64();
            let found = correlations(&run.simulation.ensemble, &self.control)?;
            print_errors(&name, &found, truth);
            println!(
                "    {seconds:.0} s, {:.0} ns per step; out of support {:.1e}, failures {}",
                1e9 * seconds / steps,
                run.out_of_support,
                run.simulation.failures.len()
            );
        }
        Ok(())
    }

    /// The system itself from the same starts, with other noise: how far apart two records are by chance.
    fn again(&self) -> Result<Ensemble> {
        let starts = self.starts();
        let draw = |stream: &mut Stream, x: &mut [f64]| {
            let row = stream.below(starts.nrows() as u64) as usize;
            x.iter_mut()
                .zip(starts.row(row))
                .for_each(|(x, start)| *x = *start);
        };
        let settings = settings();
        let run = simulate_ensemble(
            &self.system,
            &Initial::Drawn(&draw),
            &settings,
            &self.control,
        )?;
        run.ensemble.with_names(self.data.names().to_vec())
    }

    /// Every so manieth state, as starts.
    fn starts(&self) -> Array2<f64> {
        let mut states = Vec::new();
        self.each_state(|x| states.extend_from_slice(x));
        let dim = self.data.dim();
        Array2::from_shape_vec((states.len() / dim, dim), states).expect("whole states")
    }
}

/// Length of a rollout, and what goes before it.
const RUN: f64 = 4110.0 * INTERVAL;
const BURN_IN: f64 = 822.0 * INTERVAL;
/// The paper's saved interval, and steps in it: dt = 7.6e-4.
const INTERVAL: f64 = 0.0365;
const STEPS: f64 = 48.0;

fn settings() -> SimulateConfig {
    SimulateConfig {
        time: RUN,
        burn_in: BURN_IN,
        dt: INTERVAL / STEPS,
        save_every: INTERVAL,
        seed: 2,
        ..SoftSpin::default().protocol().simulate
    }
}

fn simulated(system: &SoftSpin, time: f64, seed: u64) -> Result<Ensemble> {
    let mut protocol = system.protocol();
    protocol.simulate.time = time;
    protocol.simulate.seed = seed;
    Ok(generate(system, &protocol, &Control::new())?.ensemble)
}

/// C_cd(r, t) at t = 0 to 5, (c, d, r) for every lag.
fn correlations(data: &Ensemble, control: &Control) -> Result<Vec<Array4<f64>>> {
    let x = Monomials::coordinates(data.names())?;
    let grid = LagGrid::even(INTERVAL, (0..=136).step_by(4).collect())?;
    let statistics = LaggedConfig {
        subsample: Subsample::Stride(2),
        ..LaggedConfig::default()
    };
    let sums = accumulate_lagged(data, &x, &x, &grid, &statistics, control)?.total();
    let average = LatticeAverage {
        sites: data.dim() / 3,
        components: 3,
    };
    (0..grid.len())
        .map(|lag| average.average(sums.correlation(lag).view()))
        .collect()
}

/// Rms over lags, components and separations of the difference, over that of the reference; for all
/// components, those across the axis and those along it.
fn print_errors(name: &str, found: &[Array4<f64>], truth: &[Array4<f64>]) {
    let error = |chosen: &dyn Fn(usize, usize) -> bool| {
        let (mut wrong, mut size) = (0.0, 0.0);
        for (found, truth) in found.iter().zip(truth) {
            for ((at, f), t) in found.indexed_iter().zip(truth) {
                if chosen(at.1, at.2) {
                    wrong += (f - t).powi(2);
                    size += t.powi(2);
                }
            }
        }
        (wrong / size).sqrt()
    };
    println!(
        "  {name:32} {:.4} {:.4} {:.4}",
        error(&|_, _| true),
        error(&|c, d| c < 2 && d < 2),
        error(&|c, d| c == 2 && d == 2)
    );
}

/// The mobility of the system.
struct Exact<'a>(&'a SoftSpin);

impl Mobility for Exact<'_> {
    fn dim(&self) -> usize {
        3 * self.0.sites
    }
    fn mobility(&self, x: &[f64], out: &mut [f64]) {
        let dim = self.dim();
        let n = x.len() / dim;
        let (mut state, mut tensor) = (vec![0.0; dim], Array2::zeros((dim, dim)));
        for s in 0..n {
            (0..dim).for_each(|i| state[i] = x[i * n + s]);
            let entries = tensor.as_slice_mut().expect("row-major");
            ExactFields::mobility(self.0, &state, entries);
            for (row, value) in out.chunks_exact_mut(n).zip(entries) {
                row[s] = *value;
            }
        }
    }
    fn div_mobility(&self, x: &[f64], out: &mut [f64]) {
        ExactFields::div_mobility(self.0, x, out);
    }
    fn div_transpose(&self, x: &[f64], out: &mut [f64]) {
        // The circulation has no divergence of its own.
        ExactFields::div_mobility(self.0, x, out);
    }
}

fn timed<T>(name: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    let clock = Instant::now();
    let result = work()?;
    println!("{name}: {:.0} s", clock.elapsed().as_secs_f64());
    Ok(result)
}
