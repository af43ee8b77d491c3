//! The observables whose correlations are compared.

use super::config::ValidateConfig;
use crate::data::Standardiser;
use crate::error::Result;
use crate::observable::{Expressions, Functions, Monomials};

/// Functions of (x − shift)/scale.
pub(super) struct Observables {
    library: Box<dyn Functions>,
    labels: Vec<String>,
    shift: Vec<f64>,
    scale: Vec<f64>,
}

/// Mean in standard deviations from which monomials are taken of deviations from it: those of the raw
/// coordinates would hardly see these deviations.
const FAR: f64 = 5.0;

impl Observables {
    /// Of the coordinates as they are, angles in radians, or of their deviations from the mean where some mean is far from
    /// zero.
    fn raw(library: Box<dyn Functions>, scales: &Standardiser) -> Self {
        let far = |(mean, scale): (&f64, &f64)| mean.abs() > FAR * scale;
        let far = scales.mean.iter().zip(&scales.scale).any(far);
        let dim = scales.mean.len();
        Self {
            labels: library.labels().to_vec(),
            library,
            shift: if far {
                scales.mean.clone()
            } else {
                vec![0.0; dim]
            },
            scale: (0..dim)
                .map(|i| match scales.is_circle(i) {
                    true => scales.scale[i],
                    false => 1.0,
                })
                .collect(),
        }
    }

    /// The observables φ_m of a fit.
    pub(super) fn training(
        names: &[String],
        scales: &Standardiser,
        config: &ValidateConfig,
    ) -> Result<Self> {
        if !config.observables.is_empty() {
            return written(&config.observables, names);
        }
        let library = match names.len() {
            1..=3 => Monomials::of(names, scales, 1..=3)?,
            4..=6 => Monomials::of(names, scales, 1..=2)?,
            _ if scales.has_circles() => Monomials::of(names, scales, 1..=1)?,
            dim => {
                let power = |e: u32| {
                    (0..dim).map(move |i| (0..dim).map(|j| e * u32::from(i == j)).collect())
                };
                Monomials::from_exponents(names, power(1).chain(power(2)).collect())?
            }
        };
        Ok(Self::raw(Box::new(library), scales))
    }

    /// The coordinates themselves, cosine and sine of angles: φ_n of a fit.
    pub(super) fn coordinates(names: &[String], scales: &Standardiser) -> Result<Self> {
        Ok(Self::raw(
            Box::new(Monomials::of(names, scales, 1..=1)?),
            scales,
        ))
    }

    /// Observables outside a fit: of standardised coordinates z, with the names of the raw ones.
    ///
    /// Products of degree 4 up to two coordinates and fourth powers beyond, tanh z, and the step
    /// 1/(1 + e^{−4(z−1)}), which measures how often a coordinate is more than a standard deviation above its mean. Of
    /// an angle cos 4z, sin 4z and the step of cos z at zero, and of two angles waves of their sum and difference.
    pub(super) fn other(
        names: &[String],
        scales: &Standardiser,
        config: &ValidateConfig,
    ) -> Result<Self> {
        if !config.other_observables.is_empty() {
            return written(&config.other_observables, names);
        }
        let dim = names.len();
        let texts = |name: &dyn Fn(usize) -> String| {
            let circle = |i: &usize| scales.is_circle(*i);
            let each = |line: &dyn Fn(String) -> String, angle: &dyn Fn(String) -> String| {
                let of = |i: usize| {
                    if circle(&i) {
                        angle(name(i))
                    } else {
                        line(name(i))
                    }
                };
                (0..dim).map(of).collect::<Vec<String>>()
            };
            let mut texts = each(&|x| format!("{x}^4"), &|x| format!("cos(4*{x})"));
            texts.extend(each(&|x| format!("tanh({x})"), &|x| format!("sin(4*{x})")));
            texts.extend(each(&|x| format!("1/(1 + exp(-4*({x} - 1)))"), &|x| {
                format!("1/(1 + exp(-4*cos({x})))")
            }));
            if dim == 2 && (0..2).all(|i| circle(&i)) {
                texts.push(format!("sin(2*{} - 2*{})", name(0), name(1)));
                texts.push(format!("cos(2*{} + 2*{})", name(0), name(1)));
            }
            if dim == 2 && !(0..2).any(|i| circle(&i)) {
                let mixed = |e: i32| format!("{}^{e}*{}^{}", name(0), name(1), 4 - e);
                texts.extend((1..4).map(mixed));
            }
            texts
        };
        // Names of coordinates need not be names in an expression.
        let safe: Vec<String> = (1..=dim).map(|i| format!("z{i}")).collect();
        let parsed = texts(&|i| safe[i].clone());
        let parsed: Vec<&str> = parsed.iter().map(String::as_str).collect();
        Ok(Self {
            library: Box::new(Expressions::parse(&parsed, &safe, &[])?),
            labels: texts(&|i| names[i].clone()),
            shift: scales.mean.clone(),
            scale: scales.scale.clone(),
        })
    }

    /// Functions of the standardised coordinates.
    pub(super) fn of_standardised(library: Box<dyn Functions>, scales: &Standardiser) -> Self {
        Self {
            labels: library.labels().to_vec(),
            library,
            shift: scales.mean.clone(),
            scale: scales.scale.clone(),
        }
    }

    /// The standardised coordinates, cosine and sine of angles.
    pub(super) fn standardised(names: &[String], scales: &Standardiser) -> Result<Self> {
        let coordinates = Monomials::of(names, scales, 1..=1)?;
        Ok(Self::of_standardised(Box::new(coordinates), scales))
    }
}

/// Expressions of the raw coordinates.
fn written(texts: &[String], names: &[String]) -> Result<Observables> {
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let library = Expressions::parse(&texts, names, &[])?;
    Ok(Observables {
        labels: library.labels().to_vec(),
        library: Box::new(library),
        shift: vec![0.0; names.len()],
        scale: vec![1.0; names.len()],
    })
}

impl Functions for Observables {
    fn dim(&self) -> usize {
        self.shift.len()
    }
    fn labels(&self) -> &[String] {
        &self.labels
    }
    fn values(&self, x: &[f64], out: &mut [f64]) {
        let n = x.len() / self.dim();
        if n == 0 {
            return;
        }
        let mut z = x.to_vec();
        for (i, row) in z.chunks_exact_mut(n).enumerate() {
            let (shift, factor) = (self.shift[i], 1.0 / self.scale[i]);
            row.iter_mut().for_each(|v| *v = (*v - shift) * factor);
        }
        self.library.values(&z, out);
    }
}
