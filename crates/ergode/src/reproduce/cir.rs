//! The Cox-Ingersoll-Ross diffusion: the paper's analytic study, and the same from data.

use ndarray::Array2;

use super::operator::{OperatorCurves, operator_curves, short_lag_phi};
use super::{Bench, Findings};
use crate::control::Control;
use crate::data::{Ensemble, Standardiser};
use crate::error::Result;
use crate::lagged::LaggedConfig;
use crate::mobility::{Mobility, Recipe, RecipeConfig, SymmetryClass, fit_mobility_recipe};
use crate::observable::Monomials;
use crate::pipeline::{ExactMobility, Fitted};
use crate::quadrature::gauss_legendre;
use crate::report::{BenchmarkPart, Reproduced, Results, Role};
use crate::systems::CoxIngersollRoss;

/// Powers φ_m = x^m of the study; the first is the coordinate.
const POWERS: std::ops::RangeInclusive<u32> = 1..=4;
/// Lags of the curves from data, in units of the relaxation time 1/κ.
const LAGS: usize = 20;

impl Bench<'_> {
    /// Numbers and curves of the benchmark.
    pub(super) fn cir(&self) -> Result<Results> {
        let system = CoxIngersollRoss::default();
        // Twice the protocol's trajectories: half to fit, half to judge.
        let data = self.data(&system, 64, 2000.0)?;
        let mut config = self.fit_config();
        config.held_out = 0.5;
        let (fitted, config) = self.fit(&data, &config, &system)?;
        self.control.stage("comparing with the paper");
        let mut findings = Findings::default();
        analytic(&system, &mut findings);
        let (training, _) = data.split(config.held_out, 0.0)?;
        self.study_data(&system, &training, &fitted, &mut findings)?;
        findings.choices = vec![
            format!(
                "Parameters: κ = {}, θ = {}, γ = {}, so ν = κθ/γ = {}, inside the Feller region (κθ ≥ γ \
                 in this convention). The paper gives no values.",
                system.kappa,
                system.theta,
                system.gamma,
                system.nu()
            ),
            "Data: the paper uses none for this system. Trajectories are sampled from the exact \
             transition law, every 0.05. Half of them are for the fit and half for validation."
                .into(),
        ];
        self.finish(fitted, findings)
    }

    fn study_data(
        &self,
        system: &CoxIngersollRoss,
        training: &Ensemble,
        fitted: &Fitted,
        findings: &mut Findings,
    ) -> Result<()> {
        let (slope, error) = affine_fit(training, self.config.recipe, self.control)?;
        let interval = training.sampling_interval().unwrap_or(0.05);
        let short: Vec<f64> = (0..4).map(|k| f64::from(k) * interval).collect();
        let phi = short_lag_phi(training, &short, SymmetryClass::None, self.control)?;
        findings.numbers.extend([
            Reproduced::new("phi", "Φ = −Ċ₁₁(0+) from data", phi.value[[0, 0]])
                .give_or_take(phi.error[[0, 0]])
                .exact(system.theta * system.gamma),
            Reproduced::new("a", "a from data, M = Φ + a (x − ⟨x⟩)", slope)
                .give_or_take(error)
                .exact(system.gamma),
            Reproduced::new(
                "a_over_gamma_minus_one",
                "a/γ − 1 from data",
                slope / system.gamma - 1.0,
            )
            .give_or_take(error / system.gamma)
            .exact(0.0),
        ]);
        let (curves, family) = channel_curves(system, training, fitted, &phi.value, self.control)?;
        for (channel, m) in POWERS.enumerate().skip(1) {
            let (a, error) = curves.factor(channel, 1, family);
            findings.numbers.push(
                Reproduced::new(
                    &format!("a_channel_{m}"),
                    format!("a from data, channel of x^{m} only"),
                    a,
                )
                .give_or_take(error)
                .exact(system.gamma),
            );
        }
        let others = [(2, "model", Role::Model), (3, "exact M = γx", Role::Exact)];
        findings
            .parts
            .push(BenchmarkPart::Operator(curves.record(&others)));
        Ok(())
    }
}

/// The paper's analytic study: a from m = 2, 3, 4, both sides of the identity evaluated apart.
fn analytic(system: &CoxIngersollRoss, findings: &mut Findings) {
    let (theta, gamma) = (system.theta, system.gamma);
    let lags: Vec<f64> = (1..=60)
        .map(|k| 0.05 * f64::from(k) / system.kappa)
        .collect();
    let phi = -system.power_correlation_derivative(1, 0.0);
    findings.numbers.push(
        Reproduced::new("analytic_phi", "Φ = −Ċ₁₁(0+), analytic", phi)
            .paper(theta * gamma)
            .exact(theta * gamma),
    );
    // −A[x − θ] and −(Ċ − A[Φ]): the second is a times the first.
    let operator = |m: u32, t: f64| {
        stationary_average(system, |x| {
            (x - theta) * system.conditional_moment_slope(m, t, x)
        })
    };
    let target = |m: u32, t: f64| {
        -system.power_correlation_derivative(m, t) + phi * system.score_correlation(m, t)
    };
    let degenerate = lags
        .iter()
        .map(|t| operator(1, *t).abs())
        .fold(0.0, f64::max);
    findings.numbers.push(
        Reproduced::new(
            "analytic_channel_1",
            "largest |A[x − θ]| of the coordinate channel",
            degenerate,
        )
        .paper(0.0)
        .exact(0.0),
    );
    for m in POWERS.skip(1) {
        let sides: Vec<[f64; 2]> = lags
            .iter()
            .map(|t| [operator(m, *t), target(m, *t)])
            .collect();
        let size: f64 = sides.iter().map(|[k, _]| k * k).sum();
        let a = sides.iter().map(|[k, rhs]| k * rhs).sum::<f64>() / size;
        findings.numbers.push(
            Reproduced::new(
                &format!("analytic_a_{m}"),
                format!("a/γ − 1 from x^{m}, analytic"),
                a / gamma - 1.0,
            )
            .paper(0.0)
            .exact(0.0),
        );
    }
    let curve = |m: u32| lags.iter().map(|t| system.affine_channel(m, *t)).collect();
    findings.parts.push(BenchmarkPart::Analytic {
        curves: POWERS.map(|m| (m, curve(m))).collect(),
        lags,
    });
}

/// ⟨f⟩ over p_ss, by quadrature.
fn stationary_average(system: &CoxIngersollRoss, f: impl Fn(f64) -> f64) -> f64 {
    /// The density has fallen below 1e-26 of its maximum there, and is smooth.
    const REACH: f64 = 70.0;
    let nodes = gauss_legendre(120, 0.0, REACH / system.beta());
    nodes
        .iter()
        .map(|(x, w)| w * system.ln_density(*x).exp() * f(*x))
        .sum()
}

/// Slope of an affine M, with its standard error.
fn affine_fit(training: &Ensemble, recipe: Recipe, control: &Control) -> Result<(f64, f64)> {
    let recipe = RecipeConfig {
        // The paper's recipe has no coefficients; the weak form is its linear counterpart.
        recipe: if recipe == Recipe::Paper {
            Recipe::Weak
        } else {
            recipe
        },
        degrees: Some((1, 0)),
        ..RecipeConfig::default()
    };
    let fit = fit_mobility_recipe(training, &recipe, control)?.fit;
    let (_, divergence) = fit.mobility.basis().design(&[0.0]);
    let slope = divergence.dot(&fit.mobility.coefficients());
    Ok((
        slope[0],
        fit.jackknife.linear(divergence.view()).errors()[0],
    ))
}

/// Ċ, A[Φ], A[M], A[γx] and A[x − ⟨x⟩] in the channels of the powers, with the place of the last.
fn channel_curves(
    system: &CoxIngersollRoss,
    training: &Ensemble,
    fitted: &Fitted,
    phi: &Array2<f64>,
    control: &Control,
) -> Result<(OperatorCurves, usize)> {
    let powers = Monomials::new(
        training.names(),
        *POWERS.start() as usize..=*POWERS.end() as usize,
    )?;
    let mean = Standardiser::from_ensemble(training)?.mean[0];
    let exact = ExactMobility::new(&fitted.model, system);
    let mobilities: [&dyn Mobility; 4] = [phi, fitted.model.mobility(), &exact, &Deviation(mean)];
    let interval = training.sampling_interval().unwrap_or(0.05);
    let stride = (2.0 / system.kappa / interval / LAGS as f64)
        .round()
        .max(1.0);
    let lags: Vec<f64> = (1..=LAGS).map(|k| k as f64 * stride * interval).collect();
    let (score, statistics) = (fitted.model.score(), LaggedConfig::default());
    let curves = operator_curves(
        training,
        &powers,
        score,
        &mobilities,
        &lags,
        &statistics,
        control,
    )?;
    Ok((curves, mobilities.len()))
}

/// δM = x − ⟨x⟩.
struct Deviation(f64);

impl Mobility for Deviation {
    fn dim(&self) -> usize {
        1
    }
    fn mobility(&self, x: &[f64], out: &mut [f64]) {
        out.iter_mut().zip(x).for_each(|(out, x)| *out = x - self.0);
    }
    fn div_mobility(&self, _x: &[f64], out: &mut [f64]) {
        out.fill(1.0);
    }
    fn div_transpose(&self, _x: &[f64], out: &mut [f64]) {
        out.fill(1.0);
    }
}
