//! exp(l t) at a list of lags, and its derivatives along given directions.

use ndarray::{Array2, ArrayView2};

use crate::linalg::multiply_here;

/// The calculation of E_k = exp(l t_k), kept so that it can be differentiated along any direction.
///
/// A lag that is the sum of two earlier ones costs one product, E(t + u) = E(t) E(u); any other a
/// Taylor series of exp(l t/2^s) squared s times. Derivatives follow each step by the product rule,
/// so they are those of the numbers computed.
pub(super) struct Propagator {
    steps: Vec<Step>,
    /// E_k.
    pub(super) values: Vec<Array2<f64>>,
}

enum Step {
    Product(usize, usize),
    Series(Series),
}

struct Series {
    /// t / 2^s
    time: f64,
    /// (l t/2^s)^j / j!
    terms: Vec<Array2<f64>>,
    /// exp(l t/2^s), its square, and so on.
    squares: Vec<Array2<f64>>,
}

/// Order of the Taylor series, enough for rounding where the norm is below one half.
const ORDER: usize = 14;

impl Propagator {
    pub(super) fn new(generator: ArrayView2<f64>, lags: &[f64]) -> Self {
        let mut steps = Vec::with_capacity(lags.len());
        let mut values: Vec<Array2<f64>> = Vec::with_capacity(lags.len());
        for (k, &lag) in lags.iter().enumerate() {
            let (step, value) = match sum_of_two(&lags[..k], lag) {
                Some((i, j)) => (Step::Product(i, j), multiply_here(&values[i], &values[j])),
                None => {
                    let series = Series::new(generator, lag);
                    let value = series.squares.last().expect("never empty").clone();
                    (Step::Series(series), value)
                }
            };
            steps.push(step);
            values.push(value);
        }
        Self { steps, values }
    }

    /// dE_k for l → l + ε `direction`.
    pub(super) fn derivative(&self, direction: ArrayView2<f64>) -> Vec<Array2<f64>> {
        let mut derivatives: Vec<Array2<f64>> = Vec::with_capacity(self.steps.len());
        for step in &self.steps {
            derivatives.push(match step {
                Step::Product(i, j) => {
                    let first = multiply_here(&derivatives[*i], &self.values[*j]);
                    first + multiply_here(&self.values[*i], &derivatives[*j])
                }
                Step::Series(series) => series.derivative(direction),
            });
        }
        derivatives
    }
}

/// Two of the lags that add up to `lag`.
fn sum_of_two(lags: &[f64], lag: f64) -> Option<(usize, usize)> {
    let pairs = (0..lags.len()).flat_map(|i| (i..lags.len()).map(move |j| (i, j)));
    pairs
        .rev()
        .find(|&(i, j)| (lags[i] + lags[j] - lag).abs() < 1e-12 * lag)
}

impl Series {
    fn new(generator: ArrayView2<f64>, lag: f64) -> Self {
        let columns = generator.columns().into_iter();
        let norm = columns
            .map(|c| c.iter().map(|v| v.abs()).sum::<f64>())
            .fold(0.0, f64::max);
        // Beyond 2^60 the model is explosive, and what comes out is infinite all the same.
        let squarings = (2.0 * norm * lag).log2().ceil().clamp(0.0, 60.0) as i32;
        let time = lag * 0.5f64.powi(squarings);
        let a = &generator * time;
        let mut terms = vec![Array2::eye(generator.nrows())];
        let mut sum = terms[0].clone();
        for order in 1..=ORDER {
            let term = multiply_here(&terms[order - 1], &a) / order as f64;
            sum += &term;
            terms.push(term);
        }
        let mut squares = vec![sum];
        for s in 0..squarings as usize {
            squares.push(multiply_here(&squares[s], &squares[s]));
        }
        Self {
            time,
            terms,
            squares,
        }
    }

    fn derivative(&self, direction: ArrayView2<f64>) -> Array2<f64> {
        let da = &direction * self.time;
        let a = &self.terms[1];
        let mut term = da.clone();
        let mut sum = da.clone();
        for order in 2..=ORDER {
            let other = multiply_here(&self.terms[order - 1], &da);
            term = (multiply_here(&term, a) + other) / order as f64;
            sum += &term;
        }
        for square in &self.squares[..self.squares.len() - 1] {
            sum = multiply_here(&sum, square) + multiply_here(square, &sum);
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg;

    #[test]
    fn propagators_and_their_derivatives_match_the_exponential() {
        let n = 9;
        let wave = |i: usize, j: usize, f: f64| ((i * n + j) as f64 * f).sin();
        let generator = Array2::from_shape_fn((n, n), |(i, j)| {
            wave(i, j, 0.7) - if i == j { 3.0 * i as f64 } else { 0.0 }
        });
        let direction = Array2::from_shape_fn((n, n), |(i, j)| wave(i, j, 1.3));
        let lags = [0.0, 0.1, 0.2, 0.3, 0.45, 1.7];
        let propagator = Propagator::new(generator.view(), &lags);
        let derivatives = propagator.derivative(direction.view());
        let at = |step: f64, lag: f64| {
            let moved = &generator + &(&direction * step);
            linalg::expm((&moved * lag).view())
        };
        let largest = |a: Array2<f64>| a.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
        for (k, &lag) in lags.iter().enumerate() {
            let exact = largest(&propagator.values[k] - &at(0.0, lag));
            assert!(exact < 1e-13, "{lag} {exact}");
            let h = 1e-5;
            let difference = (at(h, lag) - at(-h, lag)) / (2.0 * h);
            let error = largest(&derivatives[k] - &difference);
            assert!(error < 1e-8, "{lag} {error}");
        }
    }
}
