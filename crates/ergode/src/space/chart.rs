//! Charts of single coordinates: smooth increasing functions whose powers have averages.

use serde::{Deserialize, Serialize};

use crate::stats::normal_tails;

/// An increasing function y = g(x) of one coordinate, with its first two derivatives.
///
/// Test functions of a coordinate are polynomials of y. They have averages of every order where those of x
/// need not have: of heavy tails, or of a law that is broad in ln x.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Chart {
    /// y = (x − mean)/scale.
    Identity {
        /// Mean of x.
        mean: f64,
        /// Standard deviation of x.
        scale: f64,
    },
    /// y = (ln(x − origin) − mean)/scale.
    Logarithm {
        /// The value that x stays above.
        origin: f64,
        /// Mean of the logarithm.
        mean: f64,
        /// Standard deviation of the logarithm.
        scale: f64,
    },
    /// y = S(u), about Φ⁻¹(F(x)) with F the distribution of the samples.
    NormalScores(ScoreCurve),
}

/// S(u) of u = asinh((x − centre)/width), or of u = ln(x − centre) where there is no width.
///
/// S is the natural cubic spline through a few quantiles and their normal scores, straight beyond them, so
/// that y grows as ln |x| at most.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScoreCurve {
    centre: f64,
    width: Option<f64>,
    /// u, S and S″ at the knots.
    knots: Vec<[f64; 3]>,
}

/// Normal scores of the knots, the most first.
const SCORES: [&[f64]; 4] = [
    &[-2.4, -1.6, -0.8, 0.0, 0.8, 1.6, 2.4],
    &[-2.4, -1.2, 0.0, 1.2, 2.4],
    &[-1.6, 0.0, 1.6],
    &[-1.2, 1.2],
];

impl Chart {
    /// The logarithm above `origin`, standardised by these samples; none where one is not above it.
    pub fn logarithm(samples: &[f64], origin: f64) -> Option<Self> {
        if samples.iter().any(|x| *x <= origin || !x.is_finite()) {
            return None;
        }
        let logarithms: Vec<f64> = samples.iter().map(|x| (x - origin).ln()).collect();
        let n = logarithms.len() as f64;
        let mean = logarithms.iter().sum::<f64>() / n;
        let variance = logarithms.iter().map(|y| (y - mean).powi(2)).sum::<f64>() / n;
        (variance > 0.0).then(|| Self::Logarithm {
            origin,
            mean,
            scale: variance.sqrt(),
        })
    }

    /// The normal scores of these samples, in increasing order; through their logarithms where they are all
    /// above `origin`. None of a law with too few distinct values.
    pub fn normal_scores(sorted: &[f64], origin: Option<f64>) -> Option<Self> {
        let quantile = |score: f64| {
            let tail = 0.5 * normal_tails(score);
            let part = if score < 0.0 { tail } else { 1.0 - tail };
            sorted[((sorted.len() - 1) as f64 * part).round() as usize]
        };
        if sorted.len() < 2 || origin.is_some_and(|origin| sorted[0] <= origin) {
            return None;
        }
        let width = 0.5 * (quantile(0.6745) - quantile(-0.6745));
        if width <= 0.0 {
            return None;
        }
        let curve = |scores: &&[f64]| {
            let mut curve = ScoreCurve {
                centre: origin.unwrap_or_else(|| quantile(0.0)),
                width: origin.is_none().then_some(width),
                knots: Vec::new(),
            };
            let knot = |score: &f64| [curve.base(quantile(*score))[0], *score, 0.0];
            curve.knots = scores.iter().map(knot).collect();
            curve.bend().then_some(curve)
        };
        SCORES.iter().find_map(curve).map(Self::NormalScores)
    }

    /// True where the law of these samples, in increasing order, has tails far beyond its bulk, so that averages
    /// of high powers are badly known: (q(99.5 %) − q(0.5 %))/(q(90 %) − q(10 %)) is 2.0 of a normal law, 2.4 of
    /// an exponential one and 3.0 of Student's with four degrees of freedom.
    pub fn is_needed(sorted: &[f64]) -> bool {
        /// A ratio above these, and samples that show it.
        const BROAD: f64 = 2.6;
        const FEWEST: usize = 1000;
        let at = |part: f64| sorted[((sorted.len() - 1) as f64 * part).round() as usize];
        if sorted.len() < FEWEST {
            return false;
        }
        let (all, bulk) = (at(0.995) - at(0.005), at(0.9) - at(0.1));
        all > BROAD * bulk && bulk > 0.0
    }

    /// True where y is a linear function of x.
    pub fn is_identity(&self) -> bool {
        matches!(self, Self::Identity { .. })
    }

    /// g, g′ and g″.
    pub fn jet(&self, x: f64) -> [f64; 3] {
        match self {
            Self::Identity { mean, scale } => [(x - mean) / scale, 1.0 / scale, 0.0],
            Self::Logarithm {
                origin,
                mean,
                scale,
            } => {
                let slope = 1.0 / (x - origin);
                let y = ((x - origin).ln() - mean) / scale;
                [y, slope / scale, -slope * slope / scale]
            }
            Self::NormalScores(curve) => {
                let [u, first, second] = curve.base(x);
                let [s, slope, bend] = curve.spline(u);
                [s, slope * first, bend * first * first + slope * second]
            }
        }
    }

    /// What the chart is, in words.
    pub fn describe(&self) -> &'static str {
        match self {
            Self::Identity { .. } => "identity",
            Self::Logarithm { .. } => "logarithm",
            Self::NormalScores(_) => "normal scores",
        }
    }
}

impl ScoreCurve {
    /// u, u′ and u″.
    fn base(&self, x: f64) -> [f64; 3] {
        let away = x - self.centre;
        match self.width {
            Some(width) => {
                let size = away.hypot(width);
                [
                    (away / width).asinh(),
                    1.0 / size,
                    -away / (size * size * size),
                ]
            }
            None => [away.ln(), 1.0 / away, -1.0 / (away * away)],
        }
    }

    /// S, S′ and S″.
    fn spline(&self, u: f64) -> [f64; 3] {
        let last = self.knots.len() - 1;
        let k = self.knots.partition_point(|knot| knot[0] <= u);
        let k = k.clamp(1, last) - 1;
        let [[a, fa, ma], [b, fb, mb]] = [self.knots[k], self.knots[k + 1]];
        let h = b - a;
        // Straight beyond the ends.
        let at = u.clamp(self.knots[0][0], self.knots[last][0]);
        let (p, q) = ((b - at) / h, (at - a) / h);
        let value = p * fa + q * fb + ((p * p * p - p) * ma + (q * q * q - q) * mb) * h * h / 6.0;
        let slope = (fb - fa) / h + ((3.0 * q * q - 1.0) * mb - (3.0 * p * p - 1.0) * ma) * h / 6.0;
        let bend = if at == u { p * ma + q * mb } else { 0.0 };
        [value + (u - at) * slope, slope, bend]
    }

    /// Find S″ at the knots; false where knots coincide or S would not increase.
    fn bend(&mut self) -> bool {
        let n = self.knots.len();
        if self.knots.windows(2).any(|pair| pair[1][0] <= pair[0][0]) {
            return false;
        }
        // The tridiagonal system of the natural spline, by elimination.
        let mut rows: Vec<[f64; 2]> = vec![[0.0; 2]; n];
        for k in 1..n - 1 {
            let [a, b, c] = [self.knots[k - 1], self.knots[k], self.knots[k + 1]];
            let (left, right) = (b[0] - a[0], c[0] - b[0]);
            let jump = (c[1] - b[1]) / right - (b[1] - a[1]) / left;
            let pivot = 2.0 * (left + right) - left * rows[k - 1][0];
            rows[k] = [right / pivot, (6.0 * jump - left * rows[k - 1][1]) / pivot];
        }
        for k in (1..n - 1).rev() {
            self.knots[k][2] = rows[k][1] - rows[k][0] * self.knots[k + 1][2];
        }
        let (low, high) = (self.knots[0][0], self.knots[n - 1][0]);
        let steps = 16 * n;
        (0..=steps).all(|k| {
            let u = low + (high - low) * k as f64 / steps as f64;
            self.spline(u)[1] > 0.0
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn charts() -> Vec<Chart> {
        // Quantiles of tan: Cauchy's law, and of its exponential.
        let cauchy: Vec<f64> = (1..4000)
            .map(|k| (std::f64::consts::PI * (f64::from(k) / 4000.0 - 0.5)).tan())
            .collect();
        let positive: Vec<f64> = cauchy.iter().map(|x| x.asinh().exp()).collect();
        vec![
            Chart::Identity {
                mean: 1.0,
                scale: 2.0,
            },
            Chart::logarithm(&positive, 0.0).unwrap(),
            Chart::normal_scores(&cauchy, None).unwrap(),
            Chart::normal_scores(&positive, Some(0.0)).unwrap(),
        ]
    }

    #[test]
    fn charts_increase_and_their_derivatives_are_exact() {
        let h = 1e-4;
        for chart in charts() {
            for x in [0.03, 0.4, 1.1, 3.7, 40.0] {
                let [below, at, above] = [x * (1.0 - h), x, x * (1.0 + h)].map(|x| chart.jet(x));
                let step = 2.0 * h * x;
                assert!(at[1] > 0.0, "{chart:?} {x}");
                let first = (above[0] - below[0]) / step;
                let second = (above[1] - below[1]) / step;
                assert!((first - at[1]).abs() < 1e-6 * at[1], "{chart:?} {x}");
                // The third derivative of a spline jumps at knots.
                let size = at[1] / x;
                assert!((second - at[2]).abs() < 2e-4 * size, "{chart:?} {x}");
            }
        }
    }

    #[test]
    fn normal_scores_of_heavy_tails_are_nearly_normal() {
        let chart = &charts()[2];
        for (part, score) in [(0.01, -2.326), (0.25, -0.674), (0.9, 1.2816)] {
            let x = (std::f64::consts::PI * (part - 0.5)).tan();
            assert!((chart.jet(x)[0] - score).abs() < 0.1, "{part}");
        }
        // A record of one value has none.
        assert_eq!(Chart::normal_scores(&[1.0; 50], None), None);
        assert_eq!(Chart::logarithm(&[1.0, -1.0], 0.0), None);
    }
}
