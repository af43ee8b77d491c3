//! The mobility of the paper's affine data set, fitted from data in memory at several sampling
//! intervals: relative L2(p_ss) errors of D and R against the grid solution, and wall times (the best of
//! three runs; ladders once), beside Kramers-Moyal regression on the same samples.
//! `--json` prints one machine-readable line, `--svg FILE` draws the errors.

mod kramers_moyal;
mod plot;

use std::sync::Arc;
use std::time::Instant;

use ergode::data::Standardiser;
use ergode::mobility::{
    Equations, LadderConfig, LinearMobility, MobilityConfig, MobilityFit, PolynomialConfig,
    PolynomialSums, Semigroup, SemigroupConfig, TensorBasis, Weak, WeakConfig,
    accumulate_polynomials, doubling_lags, fit_mobility, fit_mobility_ladder,
};
use ergode::systems::{Affine2d, Affine2dReference, System, generate};
use ergode::{BurnIn, Control, Ensemble, Result};
use kramers_moyal::Variant;

/// The decorrelation time of the system: the longest lag of the semigroup fits.
const HORIZON: f64 = 1.3;

/// The longest lag of the weak fits.
const WEAK_HORIZON: f64 = 1.0;

/// A way of writing the equations.
#[derive(Clone)]
enum Form {
    Semigroup(SemigroupConfig),
    Weak(WeakConfig),
}

impl Form {
    fn collect(&self, data: &Ensemble, degree: usize) -> Result<Arc<PolynomialSums>> {
        let standardiser = Standardiser::from_ensemble(data)?;
        let interval = data.sampling_interval().expect("evenly sampled");
        let config = match self {
            Form::Semigroup(space) => PolynomialConfig {
                moment_degree: space.moment_degree(degree),
                lags: doubling_lags(interval, HORIZON),
                ..PolynomialConfig::default()
            },
            Form::Weak(weak) => PolynomialConfig {
                initial_degree: weak.initial_degree(degree),
                moment_degree: weak.moment_degree(degree),
                lags: (0..=(WEAK_HORIZON / interval + 1e-9) as usize)
                    .map(|k| interval * k as f64)
                    .collect(),
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

/// What one method found at one sampling interval.
struct Measured {
    method: &'static str,
    interval: f64,
    /// Of D, and of R where the method finds it.
    errors: (f64, Option<f64>),
    psd_violation: f64,
    seconds: f64,
    fit: Option<MobilityFit>,
}

impl Measured {
    fn text(&self) -> String {
        let mut text = format!(
            "{:<30} {:<5} {:6.2} s  D {:.2} %",
            self.method,
            self.interval,
            self.seconds,
            100.0 * self.errors.0
        );
        if let Some(fit) = &self.fit {
            let taken = fit.rungs.iter().rfind(|rung| rung.taken);
            let degrees = taken.map_or((2, 2), |rung| (rung.diffusion_degree, rung.current_degree));
            text += &format!(
                "  R {:.2} %  degrees {degrees:?}  chi2 {:.2}  condition {:.0}",
                100.0 * self.errors.1.unwrap_or(f64::NAN),
                fit.chi2_per_equation,
                fit.condition
            );
        }
        text + &format!("  indefinite {:.0e}", self.psd_violation)
    }

    fn json(&self) -> String {
        let or_null = |value: Option<f64>| value.map_or("null".into(), |v| format!("{v:.7}"));
        let chi2 = self.fit.as_ref().map(|fit| fit.chi2_per_equation);
        format!(
            "{{\"method\":\"{}\",\"interval\":{},\"D_rel_l2\":{:.7},\"R_rel_l2\":{},\
             \"chi2_per_equation\":{},\"psd_violation\":{:.2e},\"seconds\":{:.3}}}",
            self.method,
            self.interval,
            self.errors.0,
            or_null(self.errors.1),
            or_null(chi2),
            self.psd_violation,
            self.seconds
        )
    }
}

/// A mobility, and the fit that it comes from where there is one.
type Found = (LinearMobility, Option<MobilityFit>);

/// The measurements so far, and what they are measured against.
struct Bench {
    reference: Affine2dReference,
    quiet: bool,
    figures: Vec<Measured>,
}

impl Bench {
    fn measure(
        &mut self,
        method: &'static str,
        runs: usize,
        data: &Ensemble,
        fit: &dyn Fn() -> Result<Found>,
    ) {
        let mut seconds = f64::INFINITY;
        let mut found = None;
        for _ in 0..runs {
            let start = Instant::now();
            found = Some(fit().expect("a fit"));
            seconds = seconds.min(start.elapsed().as_secs_f64());
        }
        let (mobility, fit) = found.expect("at least one run");
        let (d, r) = errors(&mobility, &self.reference);
        let figure = Measured {
            method,
            interval: data.sampling_interval().expect("evenly sampled"),
            errors: (d, fit.is_some().then_some(r)),
            psd_violation: mobility.psd_violation(data),
            seconds,
            fit,
        };
        if !self.quiet {
            println!("{}", figure.text());
        }
        self.figures.push(figure);
    }

    /// All methods on the data thinned to one interval.
    fn interval(&mut self, data: &Ensemble) {
        let interval = data.sampling_interval().expect("evenly sampled");
        let own = |fit: MobilityFit| -> Found { (fit.mobility.clone(), Some(fit)) };
        let form = Form::Semigroup(SemigroupConfig {
            degree: if interval < 0.6 { 6 } else { 8 },
            ..SemigroupConfig::default()
        });
        self.measure(SEMIGROUP, 3, data, &|| form.quadratic(data).map(own));
        self.measure(LADDER, 1, data, &|| form.ladder(data).map(own));
        // Simpson's rule wants two intervals within the horizon; finer samples than these add lags and
        // time, and nothing to the answer.
        if (0.04..=0.5 * WEAK_HORIZON).contains(&interval) {
            let form = Form::Weak(WeakConfig::default());
            self.measure(WEAK, 3, data, &|| form.quadratic(data).map(own));
            if interval < 0.06 {
                self.measure(WEAK_LADDER, 1, data, &|| form.ladder(data).map(own));
            }
        }
        for (method, variant) in [
            (PLAIN, Variant::Plain),
            (CORRECTED, Variant::DriftCorrected),
            (EXTRAPOLATED, Variant::Extrapolated),
        ] {
            let peer = || Ok((kramers_moyal::fit(data, variant)?, None));
            self.measure(method, 3, data, &peer);
        }
    }
}

const SEMIGROUP: &str = "semigroup";
const LADDER: &str = "semigroup, ladder";
const WEAK: &str = "weak";
const WEAK_LADDER: &str = "weak, ladder";
const PLAIN: &str = "Kramers-Moyal";
const CORRECTED: &str = "Kramers-Moyal, drift-corrected";
const EXTRAPOLATED: &str = "Kramers-Moyal, extrapolated";

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let as_json = arguments.iter().any(|argument| argument == "--json");
    let svg = arguments.iter().position(|argument| argument == "--svg");
    let svg = svg.map(|at| arguments.get(at + 1).expect("--svg takes a file"));
    let system = Affine2d::default();
    let data = generate(&system, &system.protocol(), &Control::new())
        .expect("the system is stable")
        .ensemble;
    let data = data.burn_in(BurnIn::Time(10.0)).expect("longer than that");
    let reference =
        Affine2dReference::solve(system, Affine2dReference::CELLS).expect("the grid resolves it");
    let mut bench = Bench {
        reference,
        quiet: as_json,
        figures: Vec::new(),
    };
    for every in [1, 5, 10, 20, 40, 80] {
        bench.interval(&data.thin(every).expect("evenly sampled"));
    }
    if let Some(file) = svg {
        std::fs::write(file, plot::draw(&bench.figures)).expect("the file can be written");
    }
    if as_json {
        let figures: Vec<String> = bench.figures.iter().map(Measured::json).collect();
        println!("{{\"figures\":[{}]}}", figures.join(","));
    }
}
