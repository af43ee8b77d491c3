//! Soft-spin stochastic Landau-Lifshitz dynamics on a ring.

use ndarray::Array2;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::special::ln_bessel_i;
use super::{ExactFields, Parameters, Protocol, System};
use crate::error::{Error, Result, require_positive};
use crate::limits;
use crate::linalg::multiply;
use crate::quadrature::gauss_legendre;
use crate::random::Stream;
use crate::ranges::Range;
use crate::simd::Real;
use crate::simulate::{Dimensions, Dynamics, Scheme, SimulateConfig};

/// dm_i = [A_i H_i − γ m_i × H_i + Θ(4α∥ − 2α⊥) m_i] dt + √(2Θ) A_i^{1/2} dW_i on a ring of N
/// sites (`eq:soft_spin_ll_sde_results`); the state is (m_1x, m_1y, m_1z, m_2x, ...).
///
/// H_i = −∂U/∂m_i, U = Σ_i λ/4 (|m_i|² − m∗²)² + J/2 |m_{i+1} − m_i|² − K/2 m_iz²,
/// A_i = ε + α⊥ (|m_i|² − m_i m_iᵀ) + α∥ m_i m_iᵀ. The stationary law is exp(−U/Θ)/Z, the mobility
/// is block-diagonal with blocks Θ A_i − γΘ \[m_i\]×.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SoftSpin {
    /// Number of sites N.
    pub sites: usize,
    /// λ, stiffness of the amplitude.
    pub lambda: f64,
    /// m∗, preferred amplitude.
    pub m_star: f64,
    /// J, exchange.
    pub exchange: f64,
    /// K, anisotropy along z.
    pub anisotropy: f64,
    /// Θ, temperature.
    pub temperature: f64,
    /// γ, precession.
    pub gamma: f64,
    /// α⊥, damping across the moment.
    pub alpha_perp: f64,
    /// α∥, damping along the moment.
    pub alpha_par: f64,
    /// ε, isotropic damping.
    pub epsilon: f64,
}

impl Default for SoftSpin {
    /// The paper's values (`eq:soft_spin_parameters_results`).
    fn default() -> Self {
        Self {
            sites: 12,
            lambda: 10.0,
            m_star: 1.0,
            exchange: 0.35,
            anisotropy: 0.5,
            temperature: 0.2,
            gamma: 4.0,
            alpha_perp: 0.25,
            alpha_par: 0.03,
            epsilon: 0.01,
        }
    }
}

/// Three components of a vector in spin space.
type Spin<T> = [T; 3];

#[inline(always)]
fn dot<T: Real>(a: Spin<T>, b: Spin<T>) -> T {
    a[0].mul_add(b[0], a[1].mul_add(b[1], a[2] * b[2]))
}

#[inline(always)]
fn cross<T: Real>(a: Spin<T>, b: Spin<T>) -> Spin<T> {
    [
        a[1].mul_add(b[2], -(a[2] * b[1])),
        a[2].mul_add(b[0], -(a[0] * b[2])),
        a[0].mul_add(b[1], -(a[1] * b[0])),
    ]
}

/// The state, site by site.
#[inline(always)]
fn spins<T: Real>(x: &[T]) -> &[Spin<T>] {
    x.as_chunks().0
}

impl SoftSpin {
    /// H_i = −∂U/∂m_i.
    #[inline(always)]
    fn field<T: Real>(&self, x: &[Spin<T>], site: usize) -> Spin<T> {
        let m = x[site];
        let before = x[if site == 0 { x.len() - 1 } else { site - 1 }];
        let after = x[if site + 1 == x.len() { 0 } else { site + 1 }];
        let pull = dot(m, m) * -self.lambda
            + (self.lambda * self.m_star * self.m_star - 2.0 * self.exchange);
        let coupling = m[0].constant(self.exchange);
        let mut h = m;
        for c in 0..3 {
            h[c] = (before[c] + after[c]).mul_add(coupling, pull * m[c]);
        }
        h[2] = m[2].mul_add(m[2].constant(self.anisotropy), h[2]);
        h
    }

    /// U(m).
    pub fn energy(&self, x: &[f64]) -> f64 {
        let x = spins(x);
        (0..self.sites)
            .map(|site| self.onsite_energy(x[site]) + self.link_energy(x, site))
            .sum()
    }

    fn onsite_energy(&self, m: Spin<f64>) -> f64 {
        let excess = dot(m, m) - self.m_star * self.m_star;
        0.25 * self.lambda * excess * excess - 0.5 * self.anisotropy * m[2] * m[2]
    }

    /// Energy of the link between `site` and the next one.
    fn link_energy(&self, x: &[Spin<f64>], site: usize) -> f64 {
        let (m, after) = (x[site], x[(site + 1) % self.sites]);
        let d: Spin<f64> = std::array::from_fn(|c| after[c] - m[c]);
        0.5 * self.exchange * dot(d, d)
    }

    /// One Monte Carlo sweep of exp(−U/Θ): a local move per site and one cluster inversion.
    fn sweep(&self, stream: &mut Stream, x: &mut [Spin<f64>]) {
        for site in 0..self.sites {
            let previous = (site + self.sites - 1) % self.sites;
            let local = |x: &[Spin<f64>]| {
                self.onsite_energy(x[site])
                    + self.link_energy(x, site)
                    + self.link_energy(x, previous)
            };
            let (old, before) = (x[site], local(x));
            for component in &mut x[site] {
                *component += 0.35 * self.m_star.max(0.1) * stream.normal();
            }
            if stream.uniform().ln() > (before - local(x)) / self.temperature {
                x[site] = old;
            }
        }
        // Wolff's cluster for the reflection m → −m, under which every onsite term is invariant.
        let seed = stream.below(self.sites as u64) as usize;
        let mut joins = |a: usize, b: usize, x: &[Spin<f64>]| {
            let alignment = dot(x[a], x[b]);
            let keep = -2.0 * self.exchange / self.temperature * alignment;
            stream.uniform() < 1.0 - keep.exp().min(1.0)
        };
        let (mut right, mut left) = (0, 0);
        while right + 1 < self.sites
            && joins(
                (seed + right) % self.sites,
                (seed + right + 1) % self.sites,
                x,
            )
        {
            right += 1;
        }
        while left + right + 1 < self.sites
            && joins(
                (seed + self.sites - left) % self.sites,
                (seed + self.sites - left - 1) % self.sites,
                x,
            )
        {
            left += 1;
        }
        for offset in 0..=left + right {
            let site = (seed + self.sites - left + offset) % self.sites;
            x[site] = x[site].map(|component| -component);
        }
    }

    /// Same-site moments of the stationary law, without sampling: see [`SoftSpinMoments`].
    pub fn moments(&self) -> SoftSpinMoments {
        SoftSpinMoments::new(self, 40, 20)
    }
}

impl Dimensions for SoftSpin {
    fn dim(&self) -> usize {
        3 * self.sites
    }
}

impl Dynamics for SoftSpin {
    #[inline(always)]
    fn drift<T: Real>(&self, x: &[T], out: &mut [T]) {
        let spurious = self.temperature * (4.0 * self.alpha_par - 2.0 * self.alpha_perp);
        let x = spins(x);
        for (site, out) in out.as_chunks_mut::<3>().0.iter_mut().enumerate() {
            let m = x[site];
            let h = self.field(x, site);
            let torque = cross(m, h);
            // A H = (ε + α⊥ r²) H + (α∥ − α⊥) (m·H) m
            let across = dot(m, m) * self.alpha_perp + self.epsilon;
            let along = dot(m, h) * (self.alpha_par - self.alpha_perp) + spurious;
            let precession = m[0].constant(-self.gamma);
            for c in 0..3 {
                out[c] = torque[c].mul_add(precession, across.mul_add(h[c], along * m[c]));
            }
        }
    }

    /// √(2Θ) B ξ with a factor of A = B Bᵀ that is cheaper than its root and equal to it in law:
    /// B = √ε + √α⊥ \[m\]× + α∥/(√ε + √(ε + α∥ r²)) m mᵀ.
    #[inline(always)]
    fn noise<T: Real>(&self, x: &[T], xi: &[T], out: &mut [T]) {
        let scale = 2.0 * self.temperature;
        let still = (scale * self.epsilon).sqrt();
        let across = (scale * self.alpha_perp).sqrt();
        let along = scale * self.alpha_par;
        let sites = spins(x)
            .iter()
            .zip(spins(xi))
            .zip(out.as_chunks_mut::<3>().0);
        for ((&m, &z), out) in sites {
            let root = (dot(m, m) * along + scale * self.epsilon).sqrt();
            let factor = dot(m, z) * along / (root + still);
            let turned = cross(m, z);
            let (still, across) = (factor.constant(still), factor.constant(across));
            for c in 0..3 {
                out[c] = z[c].mul_add(still, turned[c].mul_add(across, factor * m[c]));
            }
        }
    }
}

impl ExactFields for SoftSpin {
    fn score(&self, x: &[f64], out: &mut [f64]) {
        let x = spins(x);
        for (site, out) in out.as_chunks_mut::<3>().0.iter_mut().enumerate() {
            *out = self.field(x, site).map(|h| h / self.temperature);
        }
    }
    fn mobility(&self, x: &[f64], out: &mut [f64]) {
        let dim = 3 * self.sites;
        out.fill(0.0);
        for (site, &m) in spins(x).iter().enumerate() {
            let across = self.epsilon + self.alpha_perp * dot(m, m);
            for a in 0..3 {
                for b in 0..3 {
                    let dyad = (self.alpha_par - self.alpha_perp) * m[a] * m[b];
                    let unit = if a == b { across } else { 0.0 };
                    out[(3 * site + a) * dim + 3 * site + b] = self.temperature * (unit + dyad);
                }
            }
            // −γΘ [m]×, [m]× v = m × v
            for (a, b, value) in [(0, 1, -m[2]), (1, 2, -m[0]), (2, 0, -m[1])] {
                let circulation = -self.gamma * self.temperature * value;
                out[(3 * site + a) * dim + 3 * site + b] += circulation;
                out[(3 * site + b) * dim + 3 * site + a] -= circulation;
            }
        }
    }
    fn div_mobility(&self, x: &[f64], out: &mut [f64]) {
        let factor = self.temperature * (4.0 * self.alpha_par - 2.0 * self.alpha_perp);
        for (out, x) in out.iter_mut().zip(x) {
            *out = factor * x;
        }
    }
}

impl Parameters for SoftSpin {
    fn build(self) -> Result<Box<dyn System>> {
        let most = (limits::RECORD / 3) as u64;
        Range::whole(1, most).check("parameter sites", self.sites as f64)?;
        require_positive("parameter lambda", self.lambda)?;
        require_positive("parameter temperature", self.temperature)?;
        require_positive("parameter epsilon", self.epsilon)?;
        for (name, value) in [
            ("m_star", self.m_star),
            ("exchange", self.exchange),
            ("alpha_perp", self.alpha_perp),
            ("alpha_par", self.alpha_par),
        ] {
            if !(value.is_finite() && value >= 0.0) {
                return Err(Error::input(format!(
                    "parameter {name} must not be negative, not {value}"
                )));
            }
        }
        if !(self.gamma.is_finite() && self.anisotropy.is_finite()) {
            return Err(Error::input(
                "parameters gamma and anisotropy must be finite",
            ));
        }
        Ok(Box::new(self))
    }
}

impl System for SoftSpin {
    fn coordinate_names(&self) -> Vec<String> {
        (1..=self.sites)
            .flat_map(|site| ["x", "y", "z"].map(|c| format!("m{site}{c}")))
            .collect()
    }
    /// The paper's: 72 trajectories, dt = 2.5e-4, saved every 0.0365, 277778 samples each.
    fn protocol(&self) -> Protocol {
        Protocol {
            simulate: SimulateConfig {
                time: 277_777.0 * 0.0365,
                dt: 2.5e-4,
                save_every: 0.0365,
                trajectories: 72,
                seed: 0,
                scheme: Scheme::Euler,
                burn_in: 0.0,
            },
            exact: false,
        }
    }
    /// From the stationary law, by 200 sweeps of Monte Carlo with cluster inversions.
    fn draw_initial(&self, stream: &mut Stream, x: &mut [f64]) {
        for value in x.iter_mut() {
            *value = self.m_star * stream.normal();
        }
        for _ in 0..200 {
            self.sweep(stream, x.as_chunks_mut().0);
        }
    }
    fn exact_fields(&self) -> Option<&dyn ExactFields> {
        Some(self)
    }
    fn parameters(&self) -> Value {
        serde_json::to_value(self).expect("parameters are plain")
    }
}

/// Same-site moments of the stationary law, from the transfer operator of the ring.
///
/// exp(−U/Θ) is a product over links, so ⟨f(m_i)⟩ = tr(f Tᴺ)/tr Tᴺ with a symmetric kernel T on
/// ℝ³. Axial symmetry splits T into azimuthal harmonics k, each an integral over (|m|, cos θ) done
/// by Gauss-Legendre quadrature; the azimuthal integral is a Bessel function I_k.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SoftSpinMoments {
    /// ⟨m_x²⟩ = ⟨m_y²⟩.
    pub transverse: f64,
    /// ⟨m_z²⟩.
    pub longitudinal: f64,
    /// ⟨|m|⁴⟩.
    pub fourth: f64,
    /// ⟨m_iz m_{i+1,z}⟩.
    pub neighbour_z: f64,
    temperature: f64,
    epsilon: f64,
    alpha_perp: f64,
    alpha_par: f64,
}

impl SoftSpinMoments {
    /// ⟨|m|²⟩.
    pub fn square(&self) -> f64 {
        2.0 * self.transverse + self.longitudinal
    }

    /// The diagonal of Φ = ⟨M⟩ at a site: a_Φ (x and y) and c_Φ (z); b_Φ is zero.
    pub fn mean_mobility(&self) -> (f64, f64) {
        let entry = |own: f64| {
            self.temperature
                * (self.epsilon + self.alpha_perp * (self.square() - own) + self.alpha_par * own)
        };
        (entry(self.transverse), entry(self.longitudinal))
    }

    fn new(system: &SoftSpin, radial: usize, polar: usize) -> Self {
        let beta = 1.0 / system.temperature;
        let coupling = system.exchange * beta;
        // The amplitude potential alone holds everything but e^{-40} below this radius.
        let peak = system.m_star.powi(2) + 2.0 * system.anisotropy.max(0.0) / system.lambda;
        let reach = (peak + (160.0 / (system.lambda * beta)).sqrt()).sqrt();
        let mut points = Vec::new();
        for (r, wr) in gauss_legendre(radial, 0.0, reach) {
            for (cosine, wc) in gauss_legendre(polar, -1.0, 1.0) {
                let (rho, z) = (r * (1.0 - cosine * cosine).sqrt(), r * cosine);
                let energy = system.onsite_energy([rho, 0.0, z]);
                let root = (wr * wc).sqrt() * r * (-0.5 * beta * energy).exp();
                points.push((rho, z, root));
            }
        }
        let n = points.len();
        let mut sums = [0.0; 5];
        for k in 0.. {
            let t = Array2::from_shape_fn((n, n), |(i, j)| {
                let ((rho, z, root), (rho2, z2, root2)) = (points[i], points[j]);
                let argument = coupling * rho * rho2;
                let bessel = if argument > 0.0 {
                    (ln_bessel_i(f64::from(k), argument) - argument).exp()
                } else if k == 0 {
                    1.0
                } else {
                    0.0
                };
                let gap = (rho - rho2).powi(2) + (z - z2).powi(2);
                root * root2 * bessel * (-0.5 * coupling * gap).exp()
            });
            // Tᴺ⁻¹ by repeated squaring; T itself is kept for the neighbour.
            let rest = power(&t, system.sites - 1);
            let twice = if k == 0 { 1.0 } else { 2.0 };
            let mut terms = [0.0; 5];
            for i in 0..n {
                let (rho, z, _) = points[i];
                let mut diagonal = 0.0;
                let mut neighbour = 0.0;
                for j in 0..n {
                    let product = t[[i, j]] * rest[[j, i]];
                    diagonal += product;
                    neighbour += product * points[j].1;
                }
                let square = rho * rho + z * z;
                terms[0] += diagonal;
                terms[1] += diagonal * rho * rho;
                terms[2] += diagonal * z * z;
                terms[3] += diagonal * square * square;
                terms[4] += neighbour * z;
            }
            for (sum, term) in sums.iter_mut().zip(terms) {
                *sum += twice * term;
            }
            if terms[0].abs() < 1e-15 * sums[0] || coupling == 0.0 {
                break;
            }
        }
        Self {
            transverse: 0.5 * sums[1] / sums[0],
            longitudinal: sums[2] / sums[0],
            fourth: sums[3] / sums[0],
            neighbour_z: sums[4] / sums[0],
            temperature: system.temperature,
            epsilon: system.epsilon,
            alpha_perp: system.alpha_perp,
            alpha_par: system.alpha_par,
        }
    }
}

/// Tᵖ by repeated squaring; the identity for p = 0.
fn power(t: &Array2<f64>, mut p: usize) -> Array2<f64> {
    let mut result: Option<Array2<f64>> = None;
    let mut square = t.clone();
    loop {
        if p & 1 == 1 {
            result = Some(match result {
                None => square.clone(),
                Some(r) => multiply(r.view(), square.view()),
            });
        }
        p >>= 1;
        if p == 0 {
            return result.unwrap_or_else(|| Array2::eye(t.nrows()));
        }
        square = multiply(square.view(), square.view());
    }
}
