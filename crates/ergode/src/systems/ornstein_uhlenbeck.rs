//! The Ornstein-Uhlenbeck process in any dimension: everything about it is known.

use ndarray::{Array1, Array2, ArrayView2, aview1};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{ExactFields, Parameters, Protocol, System, Transition};
use crate::error::{Error, Result};
use crate::linalg;
use crate::random::Stream;
use crate::simd::Real;
use crate::simulate::{Dimensions, Dynamics, Scheme, SimulateConfig};

/// Parameters of dx = −A (x − μ) dt + √2 Σ dW, D = Σ Σᵀ.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OrnsteinUhlenbeckParameters {
    /// A; its eigenvalues must have positive real parts, it need not be normal.
    pub drift: Vec<Vec<f64>>,
    /// D, symmetric positive definite.
    pub diffusion: Vec<Vec<f64>>,
    /// μ.
    pub mean: Vec<f64>,
}

impl Default for OrnsteinUhlenbeckParameters {
    /// Two dimensions with a rotational part.
    fn default() -> Self {
        Self {
            drift: vec![vec![1.0, 0.8], vec![-0.8, 1.5]],
            diffusion: vec![vec![1.0, 0.2], vec![0.2, 0.5]],
            mean: vec![0.0, 0.0],
        }
    }
}

/// dx = −A (x − μ) dt + √2 Σ dW with its exact answers.
#[derive(Clone, Debug)]
pub struct OrnsteinUhlenbeck {
    parameters: OrnsteinUhlenbeckParameters,
    drift: Array2<f64>,
    diffusion: Array2<f64>,
    /// Lower triangular √2 Σ.
    noise: Array2<f64>,
    covariance: Array2<f64>,
    precision: Array2<f64>,
    covariance_factor: Array2<f64>,
    mobility: Array2<f64>,
}

impl OrnsteinUhlenbeck {
    /// The process with these parameters, or the reason why there is none.
    ///
    /// # Errors
    /// When the matrices do not match, the drift is not stable, or the diffusion is not positive.
    pub fn new(parameters: OrnsteinUhlenbeckParameters) -> Result<Self> {
        let dim = parameters.mean.len();
        if dim == 0 {
            return Err(Error::input("parameter mean must have at least one entry"));
        }
        let drift = matrix("drift", &parameters.drift, dim)?;
        let diffusion = matrix("diffusion", &parameters.diffusion, dim)?;
        if (&diffusion - &diffusion.t())
            .iter()
            .any(|v| v.abs() > 1e-12)
        {
            return Err(Error::input("parameter diffusion must be symmetric"));
        }
        let sigma = linalg::cholesky(diffusion.view())
            .map_err(|_| Error::input("parameter diffusion must be positive definite"))?;
        let covariance =
            linalg::lyapunov(drift.view(), (&diffusion * 2.0).view()).ok_or_else(|| {
                Error::input(
                    "parameter drift must have eigenvalues with positive real parts: \
                     otherwise there is no stationary law",
                )
            })?;
        Ok(Self {
            noise: sigma * 2f64.sqrt(),
            precision: linalg::inverse(covariance.view()),
            covariance_factor: linalg::cholesky(covariance.view())?,
            mobility: drift.dot(&covariance),
            covariance,
            drift,
            diffusion,
            parameters,
        })
    }

    /// The stationary covariance S, A S + S Aᵀ = 2D.
    pub fn covariance(&self) -> ArrayView2<'_, f64> {
        self.covariance.view()
    }

    /// The constant mobility M = A S = D + R.
    pub fn mobility_matrix(&self) -> ArrayView2<'_, f64> {
        self.mobility.view()
    }

    /// C(t) = ⟨(x_t − μ)(x_0 − μ)ᵀ⟩ = e^{−At} S.
    pub fn correlation(&self, t: f64) -> Array2<f64> {
        self.propagator(t).dot(&self.covariance)
    }

    /// Ċ(t) = −A C(t).
    pub fn correlation_derivative(&self, t: f64) -> Array2<f64> {
        -self.drift.dot(&self.correlation(t))
    }

    /// Mean and covariance of x_t given x_0: μ + e^{−At}(x_0 − μ) and S − e^{−At} S e^{−Aᵀt}.
    pub fn transition(&self, t: f64, x0: &[f64]) -> (Array1<f64>, Array2<f64>) {
        let propagator = self.propagator(t);
        (
            self.transition_mean(&propagator, x0),
            self.transition_covariance(&propagator),
        )
    }

    /// ln p_t(x | x_0).
    pub fn ln_transition_density(&self, t: f64, x: &[f64], x0: &[f64]) -> f64 {
        let (mean, covariance) = self.transition(t, x0);
        let factor = linalg::cholesky(covariance.view()).expect("transition covariance");
        let deviation = &aview1(x) - &mean;
        let precision = linalg::inverse(covariance.view());
        let half_ln_det: f64 = factor.diag().iter().map(|v| v.ln()).sum();
        -0.5 * linalg::bilinear(deviation.view(), precision.view(), deviation.view())
            - half_ln_det
            - 0.5 * x.len() as f64 * std::f64::consts::TAU.ln()
    }

    /// The conditional score s_{t|0} = ∇_{x_0} ln p_t(x | x_0) = e^{−Aᵀt} Σ_t⁻¹ (x − E[x_t|x_0]).
    pub fn conditional_score(&self, t: f64, x: &[f64], x0: &[f64]) -> Array1<f64> {
        let propagator = self.propagator(t);
        let deviation = &aview1(x) - &self.transition_mean(&propagator, x0);
        let precision = linalg::inverse(self.transition_covariance(&propagator).view());
        propagator.t().dot(&precision.dot(&deviation))
    }

    /// Entropy production rate ⟨(R s)ᵀ D⁻¹ (R s)⟩ = tr(Rᵀ D⁻¹ R S⁻¹).
    pub fn entropy_production(&self) -> f64 {
        let r = &self.mobility - &linalg::symmetric_part(self.mobility.view());
        let inverse = linalg::inverse(self.diffusion.view());
        r.t()
            .dot(&inverse)
            .dot(&r)
            .dot(&self.precision)
            .diag()
            .sum()
    }

    fn propagator(&self, t: f64) -> Array2<f64> {
        linalg::expm((&self.drift * -t).view())
    }

    fn transition_mean(&self, propagator: &Array2<f64>, x0: &[f64]) -> Array1<f64> {
        let mean = aview1(&self.parameters.mean);
        &mean + &propagator.dot(&(&aview1(x0) - &mean))
    }

    fn transition_covariance(&self, propagator: &Array2<f64>) -> Array2<f64> {
        let covariance = &self.covariance - &propagator.dot(&self.covariance).dot(&propagator.t());
        linalg::symmetric_part(covariance.view())
    }
}

fn matrix(name: &str, rows: &[Vec<f64>], dim: usize) -> Result<Array2<f64>> {
    if rows.len() != dim || rows.iter().any(|row| row.len() != dim) {
        return Err(Error::input(format!(
            "parameter {name} must be {dim} by {dim}, as mean has {dim} entries"
        )));
    }
    if rows.iter().flatten().any(|v| !v.is_finite()) {
        return Err(Error::input(format!("parameter {name} must be finite")));
    }
    Ok(Array2::from_shape_fn((dim, dim), |(i, j)| rows[i][j]))
}

impl Dimensions for OrnsteinUhlenbeck {
    fn dim(&self) -> usize {
        self.parameters.mean.len()
    }
}

impl Dynamics for OrnsteinUhlenbeck {
    #[inline(always)]
    fn drift<T: Real>(&self, x: &[T], out: &mut [T]) {
        for (i, out) in out.iter_mut().enumerate() {
            let mut sum = x[0].constant(0.0);
            for (j, &x) in x.iter().enumerate() {
                sum = sum - (x - self.parameters.mean[j]) * self.drift[[i, j]];
            }
            *out = sum;
        }
    }

    #[inline(always)]
    fn noise<T: Real>(&self, x: &[T], xi: &[T], out: &mut [T]) {
        for (i, out) in out.iter_mut().enumerate() {
            let mut sum = x[0].constant(0.0);
            for (j, &xi) in xi[..=i].iter().enumerate() {
                sum = sum + xi * self.noise[[i, j]];
            }
            *out = sum;
        }
    }
}

impl ExactFields for OrnsteinUhlenbeck {
    fn score(&self, x: &[f64], out: &mut [f64]) {
        for (i, out) in out.iter_mut().enumerate() {
            *out = (0..x.len())
                .map(|j| -self.precision[[i, j]] * (x[j] - self.parameters.mean[j]))
                .sum();
        }
    }
    fn mobility(&self, _x: &[f64], out: &mut [f64]) {
        for (out, value) in out.iter_mut().zip(&self.mobility) {
            *out = *value;
        }
    }
    fn div_mobility(&self, _x: &[f64], out: &mut [f64]) {
        out.fill(0.0);
    }
}

impl Parameters for OrnsteinUhlenbeckParameters {
    fn build(self) -> Result<Box<dyn System>> {
        Ok(Box::new(OrnsteinUhlenbeck::new(self)?))
    }
}

impl System for OrnsteinUhlenbeck {
    fn coordinate_names(&self) -> Vec<String> {
        (1..=self.parameters.mean.len())
            .map(|i| format!("x{i}"))
            .collect()
    }
    fn protocol(&self) -> Protocol {
        Protocol {
            simulate: SimulateConfig {
                time: 1000.0,
                dt: 0.01,
                save_every: 0.05,
                trajectories: 16,
                seed: 0,
                scheme: Scheme::Euler,
                burn_in: 0.0,
            },
            exact: true,
        }
    }
    fn draw_initial(&self, stream: &mut Stream, x: &mut [f64]) {
        gaussian(stream, &self.covariance_factor, x);
        for (x, mean) in x.iter_mut().zip(&self.parameters.mean) {
            *x += mean;
        }
    }
    fn exact_transition(&self, interval: f64) -> Option<Transition<'_>> {
        let propagator = self.propagator(interval);
        let factor = linalg::cholesky(self.transition_covariance(&propagator).view()).ok()?;
        Some(Box::new(move |stream, x| {
            let mean = &self.parameters.mean;
            let dim = x.len();
            let mut kick = vec![0.0; dim];
            gaussian(stream, &factor, &mut kick);
            let deviation: Vec<f64> = x.iter().zip(mean).map(|(x, m)| x - m).collect();
            for i in 0..dim {
                let carried: f64 = (0..dim).map(|j| propagator[[i, j]] * deviation[j]).sum();
                x[i] = mean[i] + carried + kick[i];
            }
        }))
    }
    fn exact_fields(&self) -> Option<&dyn ExactFields> {
        Some(self)
    }
    fn parameters(&self) -> Value {
        serde_json::to_value(&self.parameters).expect("parameters are plain")
    }
}

/// x ← L z with z standard normal.
fn gaussian(stream: &mut Stream, factor: &Array2<f64>, x: &mut [f64]) {
    x.fill(0.0);
    for j in 0..x.len() {
        let z = stream.normal();
        for i in j..x.len() {
            x[i] += factor[[i, j]] * z;
        }
    }
}
