//! The paper's recipe on its two-dimensional benchmark, and what each change to it brings.
//!
//! `cargo run --release -p ergode --example paper_recipe -- [TIME] [FOLDER]`: trajectories of length TIME (3000, as in the
//! paper), networks kept in FOLDER so that a second run does not train them again. Errors are over the
//! data, relative to the exact D, R and, for "M", to M − Φ, so that the constant mobility scores 1.

use std::path::{Path, PathBuf};
use std::time::Instant;

use ergode::{
    Affine2d, Affine2dReference, BurnIn, ChannelScale, ClosedFormConfig, ConditionalConfig,
    ConditionalOperator, ConditionalScore, Control, DenoisingConfig, Ensemble, ExactFields,
    LagGrid, LaggedConfig, Mobility, Monomials, NeuralMobilityConfig, NeuralMobilityFit, PhiMethod,
    Result, Score, Subsample, SymmetryClass, System, accumulate_lagged, estimate_constant_mobility,
    fit_conditional_score, fit_denoising_score, fit_neural_mobility, fit_potential_score, generate,
};
use ndarray::Array2;

/// From 0.03 to 1.5, denser where the curves bend.
const LAGS: [f64; 20] = [
    0.03, 0.04, 0.06, 0.08, 0.1, 0.13, 0.16, 0.2, 0.25, 0.3, 0.36, 0.43, 0.51, 0.6, 0.7, 0.82,
    0.96, 1.12, 1.3, 1.5,
];

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let time = arguments.first().and_then(|a| a.parse().ok());
    let folder = arguments.get(1).map(PathBuf::from);
    let recipe = Recipe::new(time.unwrap_or(3000.0))?;
    let checkpoint = |name: &str| folder.as_ref().map(|folder| folder.join(name));

    let neural = timed("stationary network", || {
        let config = DenoisingConfig {
            extrapolate: false,
            ..DenoisingConfig::default()
        };
        let path = checkpoint("stationary.json");
        fit_denoising_score(&recipe.data, &config, path.as_deref(), &recipe.control)
    })?;
    let closed = timed("closed-form score", || {
        fit_potential_score(&recipe.data, &ClosedFormConfig::default(), &recipe.control)
    })?;
    let paper = recipe.conditional(&neural, false, checkpoint("conditional.json").as_deref())?;
    let rescaled = recipe.conditional(&closed, true, checkpoint("rescaled.json").as_deref())?;

    let mut as_paper = NeuralMobilityConfig {
        lags_per_step: Some(4),
        scale: ChannelScale::Channel,
        lag_exponent: 0.25,
        ..NeuralMobilityConfig::default()
    };
    // All steps, whatever the held-out loss says.
    as_paper.train.patience = 0;
    let ours = NeuralMobilityConfig::default();
    let report = |name, stationary, conditional, degree, baseline, config| {
        recipe.report(name, stationary, conditional, degree, baseline, config)
    };
    println!("| recipe | D | R | M | chi2 | misfit | its error | mean | seconds |");
    println!("|---|---|---|---|---|---|---|---|---|");
    report("the paper's", &neural, &paper, 1, None, &as_paper)?;
    report(
        "all lags, weights by error",
        &neural,
        &paper,
        1,
        None,
        &ours,
    )?;
    report("and a control variate", &neural, &paper, 1, Some(4), &ours)?;
    report(
        "and phi_n of degree 1..2",
        &neural,
        &paper,
        2,
        Some(4),
        &ours,
    )?;
    report(
        "closed-form score, rescaled network",
        &closed,
        &rescaled,
        1,
        Some(4),
        &ours,
    )?;
    report(
        "and phi_n of degree 1..2",
        &closed,
        &rescaled,
        2,
        Some(4),
        &ours,
    )?;
    report(
        "and phi_n of degree 1..3",
        &closed,
        &rescaled,
        3,
        Some(4),
        &ours,
    )?;
    Ok(())
}

struct Recipe {
    data: Ensemble,
    reference: Affine2dReference,
    phi: Array2<f64>,
    grid: LagGrid,
    control: Control,
}

impl Recipe {
    fn new(time: f64) -> Result<Self> {
        let control = Control::new();
        let system = Affine2d::default();
        let mut protocol = system.protocol();
        protocol.simulate.time = time;
        let data = generate(&system, &protocol, &control)?.ensemble;
        let data = data.burn_in(BurnIn::Fraction(0.01))?;
        let x = Monomials::coordinates(data.names())?;
        let near = LagGrid::for_ensemble(&data, &[0.0, 0.02, 0.04, 0.06])?;
        let statistics = LaggedConfig::default();
        let sums = accumulate_lagged(&data, &x, &x, &near, &statistics, &control)?;
        let phi = estimate_constant_mobility(&sums, &PhiMethod::Quadratic, SymmetryClass::None)?;
        println!("Phi = {:.4?} +- {:.4?}", phi.value, phi.error);
        Ok(Self {
            grid: LagGrid::for_ensemble(&data, &LAGS)?,
            reference: Affine2dReference::solve(system, Affine2dReference::CELLS)?,
            phi: phi.value,
            data,
            control,
        })
    }

    /// The conditional network: the paper's, or with its inputs and output rescaled by the lag.
    fn conditional(
        &self,
        stationary: &dyn Score,
        rescale: bool,
        checkpoint: Option<&Path>,
    ) -> Result<impl ConditionalScore + use<>> {
        let config = ConditionalConfig {
            rescale,
            ..ConditionalConfig::default()
        };
        timed("conditional network", || {
            let (data, grid) = (&self.data, &self.grid);
            fit_conditional_score(data, stationary, grid, &config, checkpoint, &self.control)
        })
    }

    fn report(
        &self,
        name: &str,
        stationary: &dyn Score,
        conditional: &dyn ConditionalScore,
        degree: usize,
        baseline: Option<usize>,
        config: &NeuralMobilityConfig,
    ) -> Result<()> {
        let clock = Instant::now();
        let future = Monomials::new(self.data.names(), 1..=3)?;
        let initial = Monomials::new(self.data.names(), 1..=degree)?;
        let mut operator =
            ConditionalOperator::new(conditional, &future, &initial, self.grid.clone())?;
        if let Some(degree) = baseline {
            let statistics = LaggedConfig {
                subsample: Subsample::Stride(10),
                ..LaggedConfig::default()
            };
            operator = operator.with_baseline(&self.data, degree, &statistics, &self.control)?;
        }
        let fit = fit_neural_mobility(
            &self.data,
            &operator,
            stationary,
            self.phi.view(),
            config,
            None,
            &self.control,
        )?;
        let [d, r, m] = self.errors(&fit);
        let count = fit.curves.len() as f64;
        let mean = |of: &dyn Fn(&ergode::ResidualCurve) -> f64| {
            fit.curves.iter().map(of).sum::<f64>() / count
        };
        println!(
            "| {name} | {d:.3} | {r:.3} | {m:.3} | {:.2} | {:.3} | {:.3} | {:.4} | {:.0} |",
            mean(&|curve| curve.chi2()),
            mean(&|curve| curve.relative_misfit().0),
            mean(&|curve| curve.relative_misfit().1),
            fit.mean_deviation,
            clock.elapsed().as_secs_f64()
        );
        if std::env::var_os("CHANNELS").is_some() {
            println!(
                "  best step {}, losses {:?}",
                fit.training.best_step, fit.training.held_out
            );
            for curve in &fit.curves {
                let (misfit, error) = curve.relative_misfit();
                println!(
                    "  A[{}, {}]: misfit {misfit:.3}, its error {error:.3}, chi2 {:.2}",
                    curve.future,
                    curve.initial,
                    curve.chi2()
                );
            }
        }
        Ok(())
    }

    /// Relative L2 errors of D and R, and of M relative to M − Φ.
    fn errors(&self, fit: &NeuralMobilityFit) -> [f64; 3] {
        let (mut wrong, mut size) = ([0.0; 3], [0.0; 3]);
        let (mut x, mut fitted, mut exact) = ([0.0; 2], [0.0; 4], [0.0; 4]);
        for segment in self.data.segments() {
            for row in segment.rows.clone().step_by(97) {
                self.data.trajectories()[segment.trajectory].row(row, &mut x);
                fit.mobility.mobility(&x, &mut fitted);
                self.reference.mobility(&x, &mut exact);
                let parts = |m: &[f64; 4]| {
                    let (mean, half) = (0.5 * (m[1] + m[2]), 0.5 * (m[1] - m[2]));
                    [[m[0], mean, mean, m[3]], [0.0, half, -half, 0.0], *m]
                };
                let (fitted, exact) = (parts(&fitted), parts(&exact));
                for part in 0..3 {
                    for k in 0..4 {
                        wrong[part] += (fitted[part][k] - exact[part][k]).powi(2);
                        let origin = if part == 2 {
                            self.phi[[k / 2, k % 2]]
                        } else {
                            0.0
                        };
                        size[part] += (exact[part][k] - origin).powi(2);
                    }
                }
            }
        }
        [0, 1, 2].map(|part| (wrong[part] / size[part]).sqrt())
    }
}

fn timed<T>(name: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    let clock = Instant::now();
    let result = work()?;
    println!("{name}: {:.0} s", clock.elapsed().as_secs_f64());
    Ok(result)
}
