//! The Cox-Ingersoll-Ross square-root diffusion, exactly as in the paper.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::special::{
    bessel_i_ratio, gauss_polynomial, kummer_polynomial, ln_bessel_i, ln_gamma, rising,
};
use super::{ExactFields, Parameters, Protocol, System, Transition};
use crate::error::{Error, Result, require_positive};
use crate::random::Stream;
use crate::simd::Real;
use crate::simulate::{Dimensions, Dynamics, Scheme, SimulateConfig};

/// dX = κ(θ − X) dt + √(2γX) dW, X > 0 (`eq:cir_sde_results`).
///
/// With ν = κθ/γ and β = κ/γ the stationary law is Gamma(ν, β); the Feller condition, in this
/// convention κθ ≥ γ, keeps the process away from zero.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CoxIngersollRoss {
    /// Relaxation rate κ.
    pub kappa: f64,
    /// Mean θ.
    pub theta: f64,
    /// Noise strength γ; the mobility is M(x) = γx.
    pub gamma: f64,
}

impl Default for CoxIngersollRoss {
    /// ν = 2: well inside the Feller region.
    fn default() -> Self {
        Self {
            kappa: 1.0,
            theta: 1.0,
            gamma: 0.5,
        }
    }
}

impl CoxIngersollRoss {
    /// ν = κθ/γ.
    pub fn nu(&self) -> f64 {
        self.kappa * self.theta / self.gamma
    }

    /// β = κ/γ.
    pub fn beta(&self) -> f64 {
        self.kappa / self.gamma
    }

    /// z = e^{−κt} and c_t = β/(1 − z).
    fn lag(&self, t: f64) -> (f64, f64) {
        (
            (-self.kappa * t).exp(),
            -self.beta() / (-self.kappa * t).exp_m1(),
        )
    }

    /// ln p_ss(x) (`eq:cir_stationary_density_appendix`).
    pub fn ln_density(&self, x: f64) -> f64 {
        let (nu, beta) = (self.nu(), self.beta());
        nu * beta.ln() - ln_gamma(nu) + (nu - 1.0) * x.ln() - beta * x
    }

    /// s(x) = (ν−1)/x − β (`eq:cir_score_appendix`).
    pub fn score_at(&self, x: f64) -> f64 {
        (self.nu() - 1.0) / x - self.beta()
    }

    /// ⟨X^m⟩ = β^{−m} Γ(ν+m)/Γ(ν).
    pub fn moment(&self, m: u32) -> f64 {
        rising(self.nu(), m) * self.beta().powi(-(m as i32))
    }

    /// ln p_t(x | x_0) (`eq:cir_transition_density_appendix`).
    pub fn ln_transition_density(&self, t: f64, x: f64, x0: f64) -> f64 {
        let (z, c) = self.lag(t);
        let (u, v) = (c * z * x0, c * x);
        let q = self.nu() - 1.0;
        // −(u+v) + ln I_q(2√uv) cancels for short lags: subtract the exponent first.
        let r = 2.0 * (u * v).sqrt();
        let gap = -(v.sqrt() - u.sqrt()).powi(2);
        c.ln() + gap + 0.5 * q * (v / u).ln() + (ln_bessel_i(q, r) - r)
    }

    /// s_{t|0}(x | x_0) = ∂_{x_0} ln p_t(x | x_0) (`eq:cir_conditional_score_appendix`).
    pub fn conditional_score(&self, t: f64, x: f64, x0: f64) -> f64 {
        let (z, c) = self.lag(t);
        let ratio = bessel_i_ratio(self.nu(), 2.0 * c * (z * x0 * x).sqrt());
        c * z * ((x / (z * x0)).sqrt() * ratio - 1.0)
    }

    /// μ_m(t, x_0) = E[X_t^m | X_0 = x_0] (`eq:cir_conditional_moment_appendix`).
    pub fn conditional_moment(&self, m: u32, t: f64, x0: f64) -> f64 {
        let (z, c) = self.lag(t);
        c.powi(-(m as i32)) * rising(self.nu(), m) * kummer_polynomial(m, self.nu(), c * z * x0)
    }

    /// ∂_{x_0} μ_m(t, x_0) (`eq:cir_derivative_conditional_moment_appendix`).
    pub fn conditional_moment_slope(&self, m: u32, t: f64, x0: f64) -> f64 {
        let (z, c) = self.lag(t);
        let nu = self.nu();
        f64::from(m)
            * z
            * c.powi(1 - m as i32)
            * self.gamma_ratio(m)
            * kummer_polynomial(m - 1, nu + 1.0, c * z * x0)
    }

    /// C_{m,1}(t) = ⟨X_t^m X_0⟩ (`eq:cir_power_coordinate_correlation_appendix`).
    pub fn power_correlation(&self, m: u32, t: f64) -> f64 {
        let (nu, z) = (self.nu(), (-self.kappa * t).exp());
        self.beta().powi(-(m as i32) - 1) * rising(nu, m) * (nu + f64::from(m) * z)
    }

    /// Ċ_{m,1}(t) (`eq:cir_correlation_derivative_appendix`).
    pub fn power_correlation_derivative(&self, m: u32, t: f64) -> f64 {
        let z = (-self.kappa * t).exp();
        -f64::from(m)
            * self.theta
            * self.gamma
            * self.beta().powi(1 - m as i32)
            * self.gamma_ratio(m)
            * z
    }

    /// ⟨X_t^m X_0^n⟩: the conditional moment is a polynomial in x_0, averaged term by term.
    pub fn moment_correlation(&self, m: u32, n: u32, t: f64) -> f64 {
        if t == 0.0 {
            return self.moment(m + n);
        }
        let (z, c) = self.lag(t);
        let nu = self.nu();
        let mut term = c.powi(-(m as i32)) * rising(nu, m);
        let mut sum = 0.0;
        for k in 0..=m {
            sum += term * self.moment(k + n);
            let k = f64::from(k);
            term *= (f64::from(m) - k) * c * z / ((nu + k) * (k + 1.0));
        }
        sum
    }

    /// ⟨X_t^m s(X_0)⟩ (`eq:cir_score_correlation_appendix`).
    pub fn score_correlation(&self, m: u32, t: f64) -> f64 {
        let z = (-self.kappa * t).exp();
        -self.channel(m) * z * gauss_polynomial(m - 1, self.nu() + 1.0, z)
    }

    /// K_m(t) (`eq:cir_K_m_def_appendix`); zero for m = 1, the degenerate coordinate channel.
    pub fn affine_channel(&self, m: u32, t: f64) -> f64 {
        let z = (-self.kappa * t).exp();
        self.theta * self.channel(m) * z * (1.0 - gauss_polynomial(m - 1, self.nu() + 1.0, z))
    }

    /// m β^{1−m} Γ(m+ν)/Γ(ν+1).
    fn channel(&self, m: u32) -> f64 {
        f64::from(m) * self.beta().powi(1 - m as i32) * self.gamma_ratio(m)
    }

    /// Γ(m+ν)/Γ(ν+1), m ≥ 1.
    fn gamma_ratio(&self, m: u32) -> f64 {
        rising(self.nu() + 1.0, m - 1)
    }

    fn validate(&self) -> Result<()> {
        require_positive("parameter kappa", self.kappa)?;
        require_positive("parameter theta", self.theta)?;
        require_positive("parameter gamma", self.gamma)?;
        if self.kappa * self.theta < self.gamma {
            return Err(Error::input(format!(
                "kappa*theta = {} is below gamma = {}: the Feller condition fails and the process \
                 reaches zero, where the score is infinite; lower gamma",
                self.kappa * self.theta,
                self.gamma
            )));
        }
        Ok(())
    }
}

impl Dimensions for CoxIngersollRoss {
    fn dim(&self) -> usize {
        1
    }
}

impl Dynamics for CoxIngersollRoss {
    /// With full truncation: a step of the scheme may leave x slightly negative, and then both
    /// coefficients use zero.
    #[inline(always)]
    fn drift<T: Real>(&self, x: &[T], out: &mut [T]) {
        out[0] = (x[0].at_least(0.0) - self.theta) * -self.kappa;
    }

    #[inline(always)]
    fn noise<T: Real>(&self, x: &[T], xi: &[T], out: &mut [T]) {
        out[0] = (x[0].at_least(0.0) * (2.0 * self.gamma)).sqrt() * xi[0];
    }
}

impl ExactFields for CoxIngersollRoss {
    fn score(&self, x: &[f64], out: &mut [f64]) {
        out[0] = self.score_at(x[0]);
    }
    fn mobility(&self, x: &[f64], out: &mut [f64]) {
        out[0] = self.gamma * x[0];
    }
    fn div_mobility(&self, _x: &[f64], out: &mut [f64]) {
        out[0] = self.gamma;
    }
}

impl Parameters for CoxIngersollRoss {
    fn build(self) -> Result<Box<dyn System>> {
        self.validate()?;
        Ok(Box::new(self))
    }
}

impl System for CoxIngersollRoss {
    fn coordinate_names(&self) -> Vec<String> {
        vec!["x".into()]
    }
    fn protocol(&self) -> Protocol {
        Protocol {
            simulate: SimulateConfig {
                time: 2000.0,
                dt: 1e-3,
                save_every: 0.05,
                trajectories: 32,
                seed: 0,
                scheme: Scheme::Euler,
                burn_in: 0.0,
            },
            exact: true,
        }
    }
    fn draw_initial(&self, stream: &mut Stream, x: &mut [f64]) {
        x[0] = stream.gamma(self.nu()) / self.beta();
    }
    /// 2 c_t X_t is noncentral chi-square: Gamma(ν + N)/c_t with N Poisson of mean c_t z x_0.
    fn exact_transition(&self, interval: f64) -> Option<Transition<'_>> {
        let (z, c) = self.lag(interval);
        let nu = self.nu();
        Some(Box::new(move |stream, x| {
            let count = stream.poisson(c * z * x[0]);
            x[0] = stream.gamma(nu + count as f64) / c;
        }))
    }
    fn exact_fields(&self) -> Option<&dyn ExactFields> {
        Some(self)
    }
    fn parameters(&self) -> Value {
        serde_json::to_value(self).expect("parameters are plain")
    }
}
