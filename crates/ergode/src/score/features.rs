//! The functions that a certificate tests a score with.

use std::f64::consts::TAU;

use crate::data::{Ensemble, Standardiser};
use crate::error::Result;
use crate::observable::{Functions, Library, Monomials};
use crate::random::{Purpose, Stream};

/// Monomials, and functions that no polynomial score has in its span: waves and local bumps.
#[derive(Clone, Debug)]
pub struct CertificateLibrary {
    monomials: Monomials,
    features: Vec<Feature>,
    labels: Vec<String>,
}

/// A function of one or two coordinates.
#[derive(Clone, Debug)]
enum Feature {
    /// cos(k·z + φ), with the k of some coordinates.
    Wave {
        along: Vec<(usize, f64)>,
        phase: f64,
    },
    /// exp(−(z_i − c)²/2w²).
    Bump { coordinate: usize, centre: f64 },
    /// exp(κ (cos(z_i − c) − 1)) of an angle.
    Peak { coordinate: usize, centre: f64 },
}

/// The most identities that the default library may give.
const MOST_IDENTITIES: usize = 2000;
/// Width w of bumps, and their centres.
const WIDTH: f64 = 0.5;
const CENTRES: [f64; 3] = [-1.0, 0.0, 1.0];
/// Sharpness κ of the peaks of an angle, and their centres.
const SHARPNESS: f64 = 4.0;
const PEAKS: [f64; 3] = [0.0, TAU / 3.0, -TAU / 3.0];
/// Wave number along single coordinates, phases there, and waves of every pair of neighbours, whose wave
/// numbers are normal with this deviation.
const NUMBER: f64 = 2.0;
const NUMBER_OF_ANGLE: f64 = 4.0;
const PHASES: [f64; 2] = [0.0, -0.25 * TAU];
const PAIRED: usize = 4;

/// The monomials of degree 2 and 3, or of degree 2, with waves and bumps; or nothing: as many as give a
/// bearable number of identities. The constant and the coordinates are always tested.
///
/// The waves of pairs of coordinates have random wave numbers from a fixed seed.
///
/// # Errors
/// When there are no names.
pub fn certificate_library(names: &[String]) -> Result<CertificateLibrary> {
    let (zeros, ones) = (vec![0.0; names.len().max(1)], vec![1.0; names.len().max(1)]);
    library_of(names, &Standardiser::new(zeros, ones)?)
}

/// [`certificate_library`] for the coordinates of a record; of angles it has functions on the circle.
pub(crate) fn certificate_library_for(record: &Ensemble) -> Result<CertificateLibrary> {
    let dim = record.dim();
    let circles = record.circles().map(|circle| circle.is_some()).collect();
    let plain = Standardiser::new(vec![0.0; dim], vec![1.0; dim])?;
    library_of(record.names(), &plain.with_circles(circles))
}

fn library_of(names: &[String], standardiser: &Standardiser) -> Result<CertificateLibrary> {
    for top in [3, 2] {
        // Only few coordinates can qualify, so that the list is never long.
        if names.len().pow(3) <= MOST_IDENTITIES {
            let library = Monomials::of(names, standardiser, 2..=top)?;
            if library.len() * names.len() <= MOST_IDENTITIES {
                return Ok(CertificateLibrary::new(
                    names,
                    library,
                    features(names.len(), standardiser),
                ));
            }
        }
    }
    let monomials = Monomials::from_exponents(names, Vec::new())?;
    Ok(CertificateLibrary::new(names, monomials, Vec::new()))
}

/// Waves and bumps of standardised coordinates; those of angles have whole wave numbers.
fn features(dim: usize, standardiser: &Standardiser) -> Vec<Feature> {
    let mut features = Vec::new();
    let is_circle = |coordinate: usize| standardiser.is_circle(coordinate);
    for coordinate in 0..dim {
        let number = if is_circle(coordinate) {
            NUMBER_OF_ANGLE
        } else {
            NUMBER
        };
        features.extend(PHASES.map(|phase| Feature::Wave {
            along: vec![(coordinate, number)],
            phase,
        }));
        features.extend(match is_circle(coordinate) {
            true => PEAKS.map(|centre| Feature::Peak { coordinate, centre }),
            false => CENTRES.map(|centre| Feature::Bump { coordinate, centre }),
        });
    }
    for first in 1..dim {
        let mut stream = Stream::new(0, Purpose::Analysis, first as u64);
        for _ in 0..PAIRED {
            let along = [first - 1, first].map(|coordinate| {
                let number = stream.normal();
                let whole = number.signum() * number.abs().round().max(1.0);
                (
                    coordinate,
                    if is_circle(coordinate) { whole } else { number },
                )
            });
            let phase = TAU * stream.uniform();
            let along = along.to_vec();
            features.push(Feature::Wave { along, phase });
        }
    }
    features
}

impl CertificateLibrary {
    fn new(names: &[String], monomials: Monomials, features: Vec<Feature>) -> Self {
        let own = features.iter().map(|feature| feature.label(names));
        let labels = monomials.labels().iter().cloned().chain(own).collect();
        Self {
            monomials,
            features,
            labels,
        }
    }
}

impl Feature {
    fn label(&self, names: &[String]) -> String {
        match self {
            Self::Wave { along, phase } => {
                let terms = along.iter().map(|(i, k)| format!("{k:.2}*{}", names[*i]));
                format!(
                    "cos({} + {phase:.2})",
                    terms.collect::<Vec<_>>().join(" + ")
                )
            }
            Self::Bump { coordinate, centre } => {
                format!("exp(-2*({} - {centre})^2)", names[*coordinate])
            }
            Self::Peak { coordinate, centre } => {
                format!("exp(4*cos({} - {centre:.2}) - 4)", names[*coordinate])
            }
        }
    }

    fn value(&self, z: impl Fn(usize) -> f64) -> f64 {
        match self {
            Self::Wave { along, phase } => {
                let sum: f64 = along.iter().map(|(i, k)| k * z(*i)).sum();
                (sum + phase).cos()
            }
            Self::Bump { coordinate, centre } => {
                let u = (z(*coordinate) - centre) / WIDTH;
                (-0.5 * u * u).exp()
            }
            Self::Peak { coordinate, centre } => {
                (SHARPNESS * ((z(*coordinate) - centre).cos() - 1.0)).exp()
            }
        }
    }

    /// The derivatives that are not zero, by coordinate.
    fn gradient(&self, z: impl Fn(usize) -> f64, mut put: impl FnMut(usize, f64)) {
        match self {
            Self::Wave { along, phase } => {
                let sum: f64 = along.iter().map(|(i, k)| k * z(*i)).sum();
                let slope = -(sum + phase).sin();
                along.iter().for_each(|(i, k)| put(*i, k * slope));
            }
            Self::Bump { coordinate, centre } => {
                let u = (z(*coordinate) - centre) / WIDTH;
                put(*coordinate, -u / WIDTH * (-0.5 * u * u).exp());
            }
            Self::Peak { coordinate, centre } => {
                let (sin, cos) = (z(*coordinate) - centre).sin_cos();
                let value = (SHARPNESS * (cos - 1.0)).exp();
                put(*coordinate, -SHARPNESS * sin * value);
            }
        }
    }

    fn hessian(&self, z: impl Fn(usize) -> f64 + Copy, mut put: impl FnMut(usize, usize, f64)) {
        let value = self.value(z);
        match self {
            Self::Wave { along, .. } => {
                for (i, k) in along {
                    along.iter().for_each(|(j, l)| put(*i, *j, -k * l * value));
                }
            }
            Self::Bump { coordinate, centre } => {
                let u = (z(*coordinate) - centre) / WIDTH;
                put(
                    *coordinate,
                    *coordinate,
                    (u * u - 1.0) / (WIDTH * WIDTH) * value,
                );
            }
            Self::Peak { coordinate, centre } => {
                let (sin, cos) = (z(*coordinate) - centre).sin_cos();
                let curvature = SHARPNESS * (SHARPNESS * sin * sin - cos);
                put(*coordinate, *coordinate, curvature * value);
            }
        }
    }
}

impl Functions for CertificateLibrary {
    fn dim(&self) -> usize {
        self.monomials.dim()
    }
    fn labels(&self) -> &[String] {
        &self.labels
    }
    fn values(&self, x: &[f64], out: &mut [f64]) {
        let n = x.len() / self.dim();
        if n == 0 {
            return;
        }
        let (powers, rest) = out.split_at_mut(self.monomials.len() * n);
        if !powers.is_empty() {
            self.monomials.values(x, powers);
        }
        for (feature, row) in self.features.iter().zip(rest.chunks_exact_mut(n)) {
            for (s, value) in row.iter_mut().enumerate() {
                *value = feature.value(|i| x[i * n + s]);
            }
        }
    }
}

impl Library for CertificateLibrary {
    fn gradients(&self, x: &[f64], out: &mut [f64]) {
        self.gradient_tile(x, out);
    }

    fn hessians(&self, x: &[f64], out: &mut [f64]) {
        let (dim, powers) = (self.dim(), self.monomials.len());
        let (monomials, rest) = out.split_at_mut(powers * dim * dim);
        if powers > 0 {
            self.monomials.hessians(x, monomials);
        }
        rest.fill(0.0);
        for (feature, out) in self.features.iter().zip(rest.chunks_exact_mut(dim * dim)) {
            feature.hessian(|i| x[i], |i, j, value| out[i * dim + j] = value);
        }
    }

    fn gradient_tile(&self, x: &[f64], out: &mut [f64]) {
        let dim = self.dim();
        let n = x.len() / dim;
        if n == 0 {
            return;
        }
        let (powers, rest) = out.split_at_mut(self.monomials.len() * dim * n);
        if !powers.is_empty() {
            self.monomials.gradient_tile(x, powers);
        }
        rest.fill(0.0);
        for (feature, rows) in self.features.iter().zip(rest.chunks_exact_mut(dim * n)) {
            for s in 0..n {
                feature.gradient(|i| x[i * n + s], |i, slope| rows[i * n + s] = slope);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn derivatives_are_those_of_the_values() {
        let names: Vec<String> = ["x", "y", "z"].map(String::from).to_vec();
        let plain = Standardiser::new(vec![0.0; 3], vec![1.0; 3]).unwrap();
        derivatives_agree(&certificate_library(&names).unwrap());
        let with_angle = plain.with_circles(vec![false, true, false]);
        derivatives_agree(&library_of(&names, &with_angle).unwrap());
    }

    fn derivatives_agree(library: &CertificateLibrary) {
        let (dim, count, h) = (3, library.len(), 1e-5);
        let x = [0.3, -0.8, 1.1];
        let mut gradients = vec![0.0; count * dim];
        library.gradients(&x, &mut gradients);
        let mut hessians = vec![0.0; count * dim * dim];
        library.hessians(&x, &mut hessians);
        for i in 0..dim {
            let at = |sign: f64| {
                let mut moved = x;
                moved[i] += sign * h;
                let (mut values, mut slopes) = (vec![0.0; count], vec![0.0; count * dim]);
                library.values(&moved, &mut values);
                library.gradients(&moved, &mut slopes);
                (values, slopes)
            };
            let (up, down) = (at(1.0), at(-1.0));
            for k in 0..count {
                let slope = (up.0[k] - down.0[k]) / (2.0 * h);
                assert!((slope - gradients[k * dim + i]).abs() < 1e-8, "{k} {i}");
                for j in 0..dim {
                    let place = k * dim + j;
                    let curvature = (up.1[place] - down.1[place]) / (2.0 * h);
                    assert!(
                        (curvature - hessians[place * dim + i]).abs() < 1e-7,
                        "{k} {i} {j}"
                    );
                }
            }
        }
    }
}
