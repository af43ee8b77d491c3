//! Entropy production, time scales and responses against exact answers.

use ergode::mobility::{LinearMobility, Mobility, RecipeConfig, fit_mobility_recipe};
use ergode::observable::Monomials;
use ergode::random::{Purpose, Stream};
use ergode::score::{ClosedFormConfig, ExactScore, Score, fit_potential_score};
use ergode::simulate::SimulateConfig;
use ergode::systems::{
    DoubleWell, ExactFields, GalerkinReference, OrnsteinUhlenbeck, OrnsteinUhlenbeckParameters,
    System,
};
use ergode::validate::{
    SpectrumConfig, check_response, compare_spectra, entropy_production, entropy_production_of_fit,
};
use ergode::{Control, Ensemble, Scheme};
use ndarray::{Array1, Array2, Array3};

use crate::support::{Z_BOUND, ou, sample};

/// The exact mobility of a system, times a factor.
struct Exact<'a>(usize, &'a dyn ExactFields, f64);

impl Mobility for Exact<'_> {
    fn dim(&self) -> usize {
        self.0
    }
    fn mobility(&self, x: &[f64], out: &mut [f64]) {
        let (dim, n) = (self.0, x.len() / self.0);
        let (mut state, mut tensor) = (vec![0.0; dim], vec![0.0; dim * dim]);
        for s in 0..n {
            for i in 0..dim {
                state[i] = x[i * n + s];
            }
            self.1.mobility(&state, &mut tensor);
            for (k, value) in tensor.iter().enumerate() {
                out[k * n + s] = self.2 * value;
            }
        }
    }
    fn div_mobility(&self, _: &[f64], out: &mut [f64]) {
        out.fill(0.0);
    }
    fn div_transpose(&self, _: &[f64], out: &mut [f64]) {
        out.fill(0.0);
    }
}

/// Trap with a curl force, F = −k x + ε J x, D = 1.
fn swirling_trap(k: f64, epsilon: f64) -> OrnsteinUhlenbeck {
    OrnsteinUhlenbeck::new(OrnsteinUhlenbeckParameters {
        drift: vec![vec![k, epsilon], vec![-epsilon, k]],
        diffusion: vec![vec![1.0, 0.0], vec![0.0, 1.0]],
        mean: vec![0.0, 0.0],
    })
    .unwrap()
}

#[test]
fn entropy_production_of_a_swirling_trap_from_data() {
    let (k, epsilon) = (1.5, 0.9);
    let system = swirling_trap(k, epsilon);
    let exact = 2.0 * epsilon * epsilon / k;
    assert!((system.entropy_production() - exact).abs() < 1e-12);
    let control = Control::new();
    let data = sample(&system, 400.0, 0.05, 24, 11);
    let known = entropy_production(
        &ExactScore::new(2, &system),
        &Exact(2, &system, 1.0),
        &data,
        &control,
    )
    .unwrap();
    assert!(
        ((known.rate - exact) / known.error).abs() < 3.0,
        "{known:?}"
    );
    let score = fit_potential_score(&data, &ClosedFormConfig::default(), &control).unwrap();
    let mut fit = fit_mobility_recipe(&data, &RecipeConfig::default(), &control)
        .unwrap()
        .fit;
    let learned = entropy_production_of_fit(&score, &fit, &data, &control).unwrap();
    assert!(
        ((learned.rate - exact) / learned.error).abs() < 3.0,
        "{learned:?}"
    );
    assert!(learned.bias > 0.0);
    // Currents too strong by 30 %.
    let basis = fit.mobility.basis().clone();
    let labels: Vec<bool> = basis.labels().map(|label| label.starts_with('R')).collect();
    let stronger = |values: ndarray::ArrayView1<f64>| -> Array1<f64> {
        let factor = labels
            .iter()
            .map(|current| if *current { 1.3 } else { 1.0 });
        values
            .iter()
            .zip(factor)
            .map(|(value, f)| value * f)
            .collect()
    };
    fit.mobility = LinearMobility::new(basis, stronger(fit.mobility.coefficients())).unwrap();
    let defect = entropy_production_of_fit(&score, &fit, &data, &control).unwrap();
    assert!(
        ((defect.rate - exact) / defect.error).abs() > Z_BOUND,
        "{defect:?}"
    );
}

/// D = 1 and R = (1 + b x) J under a standard normal law, with or without its divergence.
struct Swirl {
    slope: f64,
    divergence: bool,
}

impl Mobility for Swirl {
    fn dim(&self) -> usize {
        2
    }
    fn mobility(&self, x: &[f64], out: &mut [f64]) {
        let n = x.len() / 2;
        for s in 0..n {
            let r = 1.0 + self.slope * x[s];
            for (k, value) in [1.0, r, -r, 1.0].into_iter().enumerate() {
                out[k * n + s] = value;
            }
        }
    }
    fn div_mobility(&self, x: &[f64], out: &mut [f64]) {
        let n = x.len() / 2;
        out.fill(0.0);
        if self.divergence {
            out[n..].fill(-self.slope);
        }
    }
    fn div_transpose(&self, x: &[f64], out: &mut [f64]) {
        self.div_mobility(x, out);
        out.iter_mut().for_each(|value| *value = -*value);
    }
}

#[test]
fn entropy_production_of_a_current_that_varies() {
    let mut stream = Stream::new(4, Purpose::Initial, 0);
    let values = Array3::from_shape_simple_fn((32, 1000, 2), || stream.normal());
    let data = Ensemble::from_array3(values.into(), 1.0).unwrap();
    let law = swirling_trap(1.0, 0.0);
    let score = ExactScore::new(2, &law);
    let slope = 0.8;
    // ⟨|r s + ∇r|²⟩ with s = −x.
    let exact = 2.0 + 3.0 * slope * slope;
    for divergence in [true, false] {
        let mobility = Swirl { slope, divergence };
        let rate = entropy_production(&score, &mobility, &data, &Control::new()).unwrap();
        let z = (rate.rate - exact) / rate.error;
        assert_eq!(z.abs() < Z_BOUND, divergence, "{rate:?}");
    }
}

#[test]
fn time_scales_of_a_linear_system() {
    let system = ou();
    let data = sample(&system, 500.0, 0.1, 24, 8);
    // A has the eigenvalues 1.25 ± 0.7599i.
    let (scale, frequency) = (0.8, (2.14f64 - 1.25 * 1.25).sqrt());
    let config = SpectrumConfig {
        degree: Some(1),
        modes: 1,
        lags: vec![0.2, 0.4, 0.8],
    };
    for (factor, right) in [(1.0, true), (1.2, false)] {
        let mobility = Exact(2, &system, factor);
        let spectra = compare_spectra(&data, &mobility, &config, &Control::new()).unwrap();
        let mode = &spectra.model[0];
        let z = (mode.time_scale - scale) / mode.error;
        assert_eq!(z.abs() < Z_BOUND, right, "{mode:?}");
        assert_eq!(
            (mode.frequency / frequency - 1.0).abs() < 0.05,
            right,
            "{mode:?}"
        );
        for lag in &spectra.data {
            let [value, error] = lag.time_scales[0].unwrap();
            assert!(((value - scale) / error).abs() < Z_BOUND, "{lag:?}");
            assert!(error < 0.05, "{lag:?}");
        }
    }
}

#[test]
fn the_slowest_mode_of_a_double_well() {
    let system = DoubleWell::default();
    let data = sample(&system, 1000.0, 0.05, 24, 9);
    let (count, degree) = (2001, 6);
    let nodes = Array2::from_shape_fn((count, 1), |(k, _)| -2.5 + 5.0 * k as f64 / 2000.0);
    let weights = nodes.column(0).mapv(|x| system.ln_density(x).exp());
    let rate = |degree: usize| {
        let reference =
            GalerkinReference::new(&system, nodes.clone(), weights.clone(), degree).unwrap();
        let c = reference.correlation(|x| x[0], |x| x[0], &[20.0, 21.0]);
        (c[0] / c[1]).ln()
    };
    let config = SpectrumConfig {
        degree: Some(degree),
        modes: 2,
        lags: vec![1.0, 2.0],
    };
    for (factor, right) in [(1.0, true), (1.2, false)] {
        let mobility = Exact(1, &system, factor);
        let spectra = compare_spectra(&data, &mobility, &config, &Control::new()).unwrap();
        let mode = &spectra.model[0];
        let z = (mode.time_scale - 1.0 / rate(degree)) / mode.error;
        assert_eq!(z.abs() < Z_BOUND, right, "{mode:?}");
        // The slow mode is odd: even monomials hardly take part.
        let even = mode.coefficients.iter().step_by(2).map(|c| c[0].abs());
        let odd = mode
            .coefficients
            .iter()
            .skip(1)
            .step_by(2)
            .map(|c| c[0].abs());
        assert!(even.fold(0.0, f64::max) < 0.2 * odd.fold(0.0, f64::max));
        for lag in &spectra.data {
            let [value, error] = lag.time_scales[0].unwrap();
            assert!(
                ((value - 1.0 / rate(16)) / error).abs() < Z_BOUND,
                "{lag:?}"
            );
        }
    }
}

/// A score times a factor.
struct Scaled<'a>(ExactScore<'a>, f64);

impl Score for Scaled<'_> {
    fn dim(&self) -> usize {
        self.0.dim()
    }
    fn score(&self, x: &[f64], out: &mut [f64]) {
        self.0.score(x, out);
        out.iter_mut().for_each(|value| *value *= self.1);
    }
}

#[test]
fn responses_of_a_linear_system() {
    let system = ou();
    let count = 16_000;
    let mut starts = Array2::zeros((count, 2));
    for (k, mut row) in starts.rows_mut().into_iter().enumerate() {
        let mut stream = Stream::new(6, Purpose::Initial, k as u64);
        system.draw_initial(&mut stream, row.as_slice_mut().unwrap());
    }
    let config = SimulateConfig {
        time: 1.0,
        dt: 5e-3,
        save_every: 0.25,
        trajectories: count,
        seed: 12,
        scheme: Scheme::Platen,
        burn_in: 0.0,
    };
    let names = system.coordinate_names();
    let x = Monomials::coordinates(&names).unwrap();
    for (factor, right) in [(1.0, true), (1.15, false)] {
        let score = Scaled(ExactScore::new(2, &system), factor);
        let control = Control::new();
        let check =
            check_response(&system, &score, &x, starts.view(), 0.1, &config, &control).unwrap();
        assert_eq!(check.worst_z < Z_BOUND, right, "{check:?}");
        assert_eq!(check.probability > 1e-4, right);
        for response in &check.responses {
            let i = names
                .iter()
                .position(|name| *name == response.observable)
                .unwrap();
            for (t, simulated) in check.times.iter().zip(&response.simulated) {
                // e^{−At} = C(t) S⁻¹.
                let c = system.correlation(*t);
                let s = system.covariance();
                let determinant = s[[0, 0]] * s[[1, 1]] - s[[0, 1]].powi(2);
                let j = response.coordinate;
                let exact = match j {
                    0 => c[[i, 0]] * s[[1, 1]] - c[[i, 1]] * s[[0, 1]],
                    _ => c[[i, 1]] * s[[0, 0]] - c[[i, 0]] * s[[0, 1]],
                } / determinant;
                assert!((simulated - exact).abs() < 1e-4, "{simulated} {exact}");
            }
        }
    }
}
