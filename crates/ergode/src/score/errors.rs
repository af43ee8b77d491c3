//! Dependence of scores in a linear span on their coefficients.

use ndarray::Array2;

use super::closed_form::ClosedFormScore;
use super::logarithmic::LogarithmicScore;
use crate::lagged::CoefficientErrors;

impl ClosedFormScore {
    /// The sampling errors of the coefficients, where they are known.
    pub(crate) fn coefficient_errors(&self) -> Option<&CoefficientErrors> {
        self.replicates.as_ref()
    }

    /// ∂s_i/∂β_k at one raw state, (field k, i).
    pub(crate) fn design(&self, x: &[f64]) -> Array2<f64> {
        let (dim, count) = (x.len(), self.coefficients.len());
        let (inside, _) = self.confinement().place(x);
        let (mut fields, mut score) = (vec![0.0; count * dim], vec![0.0; dim]);
        self.fields.fields(&inside, &mut fields);
        self.combine(&fields, &mut score);
        self.confinement()
            .differentials(x, &inside, &score, &mut fields);
        Array2::from_shape_vec((count, dim), fields).expect("one row per field")
    }
}

impl LogarithmicScore {
    /// The sampling errors of the coefficients, where they are known.
    pub(crate) fn coefficient_errors(&self) -> Option<&CoefficientErrors> {
        self.inner.coefficient_errors()
    }

    /// ∂s_i/∂β_k at one raw state, (field k, i): that of s^y over x_i.
    pub(crate) fn design(&self, x: &[f64]) -> Array2<f64> {
        let (y, raised) = self.logarithms(x);
        let mut design = self.inner.design(&y);
        for (i, floor) in self.floors.iter().enumerate() {
            if floor.is_some() {
                design.column_mut(i).mapv_inplace(|value| value / raised[i]);
            }
        }
        design
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{Array1, Array2};

    use crate::control::Control;
    use crate::data::Ensemble;
    use crate::random::{Purpose, Stream};
    use crate::score::{ClosedFormConfig, Score, fit_logarithmic_score};

    /// Positive in the first coordinate.
    fn data() -> Ensemble {
        let mut stream = Stream::new(3, Purpose::Analysis, 0);
        let rows = Array2::from_shape_fn((4000, 2), |(_, i)| {
            let normal = stream.normal();
            if i == 0 { normal.exp() } else { normal }
        });
        Ensemble::from_array(rows, 1.0).unwrap()
    }

    /// A change of one coefficient changes the score as the design says, inside the samples and outside.
    #[test]
    fn the_design_is_the_derivative_along_the_coefficients() {
        let config = ClosedFormConfig {
            degrees: vec![4],
            ..ClosedFormConfig::default()
        };
        let mut score =
            fit_logarithmic_score(&data(), &[true, false], &config, &Control::new()).unwrap();
        let rows = score.coefficient_errors().unwrap().deviations().nrows();
        assert_eq!(rows, 32);
        let mut outward = 0;
        for x in [
            [0.5, 0.2],
            [2.0, -1.0],
            [60.0, 0.3],
            [1.0, 9.0],
            [40.0, -7.0],
            [1e-9, 0.0],
        ] {
            let (logged, raw) = (score.design(&x), score.inner.design(&x));
            for k in 0..score.inner.coefficients.len() {
                let step = 1e-6;
                let mut at = |beta: f64| {
                    score.inner.coefficients[k] += beta;
                    // Polynomials of the score are made once for all.
                    score.inner.components = Default::default();
                    let (mut logged, mut raw) = (Array1::zeros(2), Array1::zeros(2));
                    score.score(&x, logged.as_slice_mut().unwrap());
                    score.inner.score(&x, raw.as_slice_mut().unwrap());
                    (logged, raw)
                };
                let (up, down) = (at(step), at(-2.0 * step));
                at(step);
                for (design, up, down) in [(&logged, &up.0, &down.0), (&raw, &up.1, &down.1)] {
                    for i in 0..2 {
                        let slope = (up[i] - down[i]) / (2.0 * step);
                        let error = (slope - design[[k, i]]).abs();
                        assert!(error < 1e-5 * (1.0 + slope.abs()), "{x:?} {k} {i}: {error}");
                    }
                }
            }
            outward += usize::from(!score.inner.confinement().place(&x).1.is_empty());
        }
        assert!(outward >= 3);
    }
}
