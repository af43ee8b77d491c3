//! Steps at which a scheme keeps the damping of the modes of a model.

use ndarray::{Array2, Axis};

use super::LangevinModel;
use crate::error::Result;
use crate::linalg;
use crate::simulate::Scheme;

/// A mode is damped at least at this fraction of its rate; a slower one is sampling noise of the regression.
const SLOWEST: f64 = 3e-3;

/// The longest step, not above `longest`, at which the scheme damps every mode of the linearised drift at its
/// own rate, to a fraction `tolerance`.
///
/// The drift is linearised by its regression on the state over the samples, F ≈ B z with
/// B = ⟨F zᵀ⟩⟨z zᵀ⟩⁻¹, which is stable for every model, unlike the Jacobian at a state. A step multiplies a
/// mode μ = −λ ± iω of B by P = 1 + μΔ (Euler) or 1 + μΔ + (μΔ)²/2 (Platen), which damps it at the rate
/// −ln|P|/Δ: λ(1 − |μ|²Δ/2λ + ..) for Euler. A rotation that is fast beside its damping, ω ≫ λ, thus needs
/// Δ ≪ λ/ω², however small ωΔ is.
pub(super) fn longest_step(
    model: &LangevinModel,
    scheme: Scheme,
    longest: f64,
    tolerance: f64,
) -> Result<f64> {
    /// Every step is shorter than the one before by this factor.
    const SHORTER: f64 = 0.8;
    let matrix = linearised(model);
    if matrix.is_empty() {
        return Ok(longest);
    }
    let modes = linalg::eigenvalues(matrix.view())?;
    let kept = |dt: f64| {
        modes.iter().all(|&(real, imaginary)| {
            let size = real.hypot(imaginary);
            let rate = (-real).max(SLOWEST * size);
            size == 0.0
                || (damping(scheme, -rate * dt, imaginary * dt) / (rate * dt) - 1.0).abs()
                    <= tolerance
        })
    };
    let mut dt = longest;
    while dt > 1e-9 * longest && !kept(dt) {
        dt *= SHORTER;
    }
    Ok(dt)
}

/// −ln|P(x + iy)|.
fn damping(scheme: Scheme, x: f64, y: f64) -> f64 {
    let (real, imaginary) = match scheme {
        Scheme::Euler => (1.0 + x, y),
        Scheme::Platen => (1.0 + x + 0.5 * (x * x - y * y), y + x * y),
    };
    -real.hypot(imaginary).ln()
}

/// B in standardised coordinates, without angles: a turn needs no damping.
fn linearised(model: &LangevinModel) -> Array2<f64> {
    let (dim, n) = (model.dim(), model.starts.nrows());
    let states: Vec<f64> = model.starts.t().iter().copied().collect();
    let mut drift = vec![0.0; dim * n];
    model.drift(&states, &mut drift);
    let standard = |values: &[f64]| -> Array2<f64> {
        let mut rows = Array2::from_shape_vec((dim, n), values.to_vec()).expect("a tile");
        for (mut row, scale) in rows.rows_mut().into_iter().zip(model.scale()) {
            let mean = row.mean().unwrap_or(0.0);
            row.mapv_inplace(|value| (value - mean) / scale);
        }
        rows
    };
    let standardiser = model.score.confinement().standardiser();
    let lines: Vec<usize> = (0..dim).filter(|i| !standardiser.is_circle(*i)).collect();
    let lines_of = |values: &[f64]| standard(values).select(Axis(0), &lines);
    let (z, drift) = (lines_of(&states), lines_of(&drift));
    if lines.is_empty() {
        return Array2::zeros((0, 0));
    }
    let covariance = z.dot(&z.t());
    drift
        .dot(&z.t())
        .dot(&linalg::pseudo_inverse(covariance.view(), 1e-9))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The damping of a rotation is changed by −ω²Δ/2λ (Euler), ω²Δ²/2 − ω⁴Δ³/8λ (Platen), for λ ≪ ω ≪ 1/Δ.
    #[test]
    fn the_damping_of_a_rotation_is_that_of_the_scheme() {
        let (rate, dt) = (0.02, 0.001);
        let of = |scheme| damping(scheme, -rate * dt, dt) / (rate * dt) - 1.0;
        let euler = -dt / (2.0 * rate);
        assert!(
            (of(Scheme::Euler) / euler - 1.0).abs() < 0.05,
            "{}",
            of(Scheme::Euler)
        );
        let dt = 0.1;
        let of = |scheme| damping(scheme, -rate * dt, dt) / (rate * dt) - 1.0;
        let platen = 0.5 * dt * dt - dt.powi(3) / (8.0 * rate);
        assert!(
            (of(Scheme::Platen) / platen - 1.0).abs() < 0.05,
            "{} {platen}",
            of(Scheme::Platen)
        );
    }
}
