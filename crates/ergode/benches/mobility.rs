//! The mobility of the paper's affine data set, fitted from data in memory: relative L2(p_ss) errors
//! of D and R against the grid solution, and wall times (the best of three runs; ladders once).
//! `--json` prints one machine-readable line.

use std::sync::Arc;
use std::time::Instant;

use ergode::{
    Affine2d, Affine2dReference, BurnIn, Control, Ensemble, Equations, LadderConfig, LaggedConfig,
    LinearMobility, MobilityConfig, MobilityFit, PolynomialConfig, PolynomialSums, Result,
    Semigroup, SemigroupConfig, Standardiser, Subsample, System, TensorBasis, Weak, WeakConfig,
    accumulate_polynomials, doubling_lags, fit_mobility, fit_mobility_ladder, generate,
};

/// The decorrelation time of the system: the longest lag of the semigroup fits.
const HORIZON: f64 = 1.3;

/// A way of writing the equations.
#[derive(Clone)]
enum Form {
    Semigroup(SemigroupConfig),
    Weak(WeakConfig),
}

impl Form {
    fn collect(&self, data: &Ensemble, degree: usize) -> Result<Arc<PolynomialSums>> {
        let standardiser = Standardiser::from_ensemble(data)?;
        let config = match self {
            Form::Semigroup(space) => PolynomialConfig {
                moment_degree: space.moment_degree(degree),
                lags: doubling_lags(data.sampling_interval().expect("even"), HORIZON),
                ..PolynomialConfig::default()
            },
            Form::Weak(weak) => PolynomialConfig {
                initial_degree: weak.initial_degree(degree),
                moment_degree: weak.moment_degree(degree),
                lags: (0..=20).map(|k| 0.05 * f64::from(k)).collect(),
                statistics: LaggedConfig {
                    subsample: Subsample::Stride(5),
                    ..LaggedConfig::default()
                },
                ..PolynomialConfig::default()
            },
        };
        let sums = accumulate_polynomials(data, &standardiser, &config, &Control::new())?;
        Ok(Arc::new(sums))
    }

    fn equations(
        &self,
        sums: &Arc<PolynomialSums>,
        d: usize,
        r: usize,
    ) -> Result<Box<dyn Equations>> {
        let basis = TensorBasis::polynomial(sums.names(), sums.standardiser(), d, r, None)?;
        Ok(match self {
            Form::Semigroup(space) => Box::new(Semigroup::new(sums, &basis, space)?),
            Form::Weak(weak) => Box::new(Weak::new(sums, &basis, weak)?),
        })
    }

    /// D and R quadratic.
    fn quadratic(&self, data: &Ensemble) -> Result<MobilityFit> {
        let sums = self.collect(data, 2)?;
        let equations = self.equations(&sums, 2, 2)?;
        fit_mobility(&*equations, &MobilityConfig::default(), &Control::new())
    }

    /// Degrees up to 4 by held-out blocks.
    fn ladder(&self, data: &Ensemble) -> Result<MobilityFit> {
        let sums = self.collect(data, 4)?;
        let config = LadderConfig {
            current_degree: 4,
            ..LadderConfig::default()
        };
        let equations = |d: usize, r: usize| self.equations(&sums, d, r);
        fit_mobility_ladder(&equations, &config, &Control::new())
    }
}

/// Relative L2(p_ss) errors of D and R.
fn errors(mobility: &LinearMobility, reference: &Affine2dReference) -> (f64, f64) {
    let grid = reference.grid();
    let (mut d, mut r, mut d_size, mut r_size) = (0.0, 0.0, 0.0, 0.0);
    let norm = |a: f64, b: f64, c: f64| a.powi(2) + 2.0 * b.powi(2) + c.powi(2);
    for ((i, j), &p) in grid.density().indexed_iter() {
        // Beyond this the grid solution is rounding, and its weight nothing.
        if p < 1e-7 {
            continue;
        }
        let x = grid.node(i, j);
        let m = mobility.at(&x);
        let exact = reference.system().diffusion(&x);
        let circulation = reference.circulation(&x);
        let off = 0.5 * (m[1] + m[2]);
        d += p * norm(m[0] - exact[0], off - exact[1], m[3] - exact[3]);
        d_size += p * norm(exact[0], exact[1], exact[3]);
        r += p * (0.5 * (m[2] - m[1]) - circulation).powi(2);
        r_size += p * circulation.powi(2);
    }
    ((d / d_size).sqrt(), (r / r_size).sqrt())
}

struct Figure {
    name: String,
    fit: MobilityFit,
    errors: (f64, f64),
    psd_violation: f64,
    seconds: f64,
}

impl Figure {
    fn text(&self) -> String {
        let taken = self.fit.rungs.iter().rfind(|rung| rung.taken);
        let degrees = taken.map_or((2, 2), |rung| (rung.diffusion_degree, rung.current_degree));
        format!(
            "{:<24} degrees {degrees:?}  D {:.2} %  R {:.2} %  chi2 {:.2}  condition {:.0}  \
             indefinite {:.0e}  {:.2} s",
            self.name,
            100.0 * self.errors.0,
            100.0 * self.errors.1,
            self.fit.chi2_per_equation,
            self.fit.condition,
            self.psd_violation,
            self.seconds
        )
    }

    fn json(&self) -> String {
        format!(
            "{{\"name\":\"{}\",\"D_rel_l2\":{:.5},\"R_rel_l2\":{:.5},\"chi2_per_equation\":{:.3},\
             \"psd_violation\":{:.2e},\"seconds\":{:.3}}}",
            self.name,
            self.errors.0,
            self.errors.1,
            self.fit.chi2_per_equation,
            self.psd_violation,
            self.seconds
        )
    }
}

fn main() {
    let as_json = std::env::args().any(|argument| argument == "--json");
    let system = Affine2d::default();
    let data = generate(&system, &system.protocol(), &Control::new())
        .expect("the system is stable")
        .ensemble;
    let data = data.burn_in(BurnIn::Time(10.0)).expect("longer than that");
    let reference =
        Affine2dReference::solve(system, Affine2dReference::CELLS).expect("the grid resolves it");
    let mut figures: Vec<Figure> = Vec::new();
    let mut measure =
        |name: String, runs: usize, data: &Ensemble, fit: &dyn Fn() -> Result<MobilityFit>| {
            let mut best = (f64::INFINITY, None);
            for _ in 0..runs {
                let start = Instant::now();
                let fit = fit().expect("a fit");
                best = (start.elapsed().as_secs_f64().min(best.0), Some(fit));
            }
            let fit = best.1.expect("at least one run");
            figures.push(Figure {
                name,
                errors: errors(&fit.mobility, &reference),
                psd_violation: fit.mobility.psd_violation(data),
                seconds: best.0,
                fit,
            });
            if !as_json {
                println!("{}", figures[figures.len() - 1].text());
            }
        };
    for every in [1, 5, 10, 20, 40, 80] {
        let thinned = data.thin(every).expect("evenly sampled");
        let space = SemigroupConfig {
            degree: if every < 80 { 6 } else { 8 },
            ..SemigroupConfig::default()
        };
        let form = Form::Semigroup(space);
        let interval = 0.01 * every as f64;
        let name = format!("semigroup {interval}");
        measure(name.clone(), 3, &thinned, &|| form.quadratic(&thinned));
        measure(format!("{name} ladder"), 1, &thinned, &|| {
            form.ladder(&thinned)
        });
    }
    let form = Form::Weak(WeakConfig::default());
    measure("weak 0.05".into(), 3, &data, &|| form.quadratic(&data));
    measure("weak 0.05 ladder".into(), 1, &data, &|| form.ladder(&data));
    if as_json {
        let figures: Vec<String> = figures.iter().map(Figure::json).collect();
        println!("{{\"figures\":[{}]}}", figures.join(","));
    }
}
