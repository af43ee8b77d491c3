//! Averages of functions of the state times polynomials of charts, and the Galerkin matrices made of them.

use std::collections::HashMap;

use ndarray::Array1;

use super::basis::TensorField;
use crate::control::Control;
use crate::data::{Ensemble, Standardiser};
use crate::error::{Error, Result};
use crate::lagged::{LagGrid, LaggedSums, Starts, accumulate_starts};
use crate::observable::{Functions, Monomials, Standardised, index, powers};
use crate::space::Chart;

/// coefficient × average, a part of a matrix (α, β).
#[derive(Clone, Copy, Debug)]
pub(super) struct Contribution {
    pub(super) row: usize,
    pub(super) column: usize,
    pub(super) moment: usize,
    pub(super) coefficient: f64,
}

/// Derivatives of the charts y_i = g_i that a term of the generator contains, in standardised coordinates z.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Factor {
    One,
    /// g_i′ g_j′ with i ≤ j.
    Slopes(usize, usize),
    /// g_i′
    Slope(usize),
    /// g_i″
    Curvature(usize),
}

/// w(z) = factor × z^γ.
type Weight = (Factor, Vec<u32>);

/// ⟨w_k(x) y^α⟩ of charts y_i = g_i(x_i), kept per block.
///
/// With test functions ψ(y) and fields that are polynomials of z the matrices of the generator are linear in
/// these averages:
///
/// ⟨∇ψ_a D ∇ψ_bᵀ⟩ = ⟨∂_i ψ_a g_i′ D_ij g_j′ ∂_j ψ_b⟩,
/// L ψ = (b_i g_i′ + D_ii g_i″) ∂_i ψ + D_ij g_i′ g_j′ ∂_i ∂_j ψ.
#[derive(Clone, Debug)]
pub(super) struct ChartedAverages {
    weights: HashMap<Weight, usize>,
    powers: HashMap<Vec<u32>, usize>,
    sums: LaggedSums,
}

/// Degrees of what the averages must hold.
#[derive(Clone, Copy, Debug)]
pub(super) struct ChartedDegrees {
    /// Of the polynomials of y.
    pub(super) space: usize,
    /// Of M or D in z.
    pub(super) tensor: usize,
    /// Of b in z.
    pub(super) drift: usize,
}

impl ChartedAverages {
    /// Collect them from the samples that begin pairs.
    pub(super) fn accumulate(
        ensemble: &Ensemble,
        standardiser: &Standardiser,
        charts: &[Chart],
        degrees: ChartedDegrees,
        starts: &Starts,
        control: &Control,
    ) -> Result<Self> {
        let functions = WeightFunctions::new(ensemble.names(), standardiser, charts, degrees)?;
        let space = powers(ensemble.dim(), degrees.space)?;
        let polynomials = ChartPolynomials::new(ensemble.names(), charts, degrees.space)?;
        let zero = LagGrid::for_ensemble(ensemble, &[0.0])?;
        let sums = accumulate_starts(ensemble, &functions, &polynomials, &zero, starts, control)?;
        let numbered = functions.weights.iter().cloned().enumerate();
        Ok(Self {
            weights: numbered.map(|(k, weight)| (weight, k)).collect(),
            powers: index(&space),
            sums,
        })
    }

    /// All averages over the blocks with these numbers, in increasing order.
    pub(super) fn averages(&self, blocks: &[usize]) -> Array1<f64> {
        let total = self.sums.total_of(|k| blocks.binary_search(&k).is_ok());
        total.correlation(0).into_iter().collect()
    }

    /// The place of ⟨w y^α⟩ among the averages.
    fn place(&self, factor: Factor, gamma: &[u32], alpha: &[u32]) -> Result<usize> {
        let weight = self.weights.get(&(factor, gamma.to_vec()));
        match (weight, self.powers.get(alpha)) {
            (Some(weight), Some(power)) => Ok(weight * self.powers.len() + power),
            _ => Err(Error::input(
                "the averages of charts do not reach the degree of the space or of the mobility; lower \
                 mobility.max_degrees, or set mobility.charts to identity",
            )),
        }
    }

    /// ⟨y^α y^β⟩ as an entry of a matrix.
    pub(super) fn product(
        &self,
        (row, column): (usize, usize),
        alpha: &[u32],
        beta: &[u32],
    ) -> Result<Contribution> {
        let sum = added(alpha, beta);
        Ok(Contribution {
            row,
            column,
            moment: self.place(Factor::One, &vec![0; sum.len()], &sum)?,
            coefficient: 1.0,
        })
    }

    /// −⟨∂_i y^α g_i′ T_ij g_j′ ∂_j y^β⟩ as a list of averages.
    pub(super) fn dissipative(
        &self,
        field: &TensorField,
        space: &[Vec<u32>],
    ) -> Result<Vec<Contribution>> {
        let mut parts = Vec::new();
        for (i, j, polynomial) in &field.entries {
            let factor = Factor::Slopes(*i.min(j), *i.max(j));
            for (gamma, coefficient) in polynomial.terms() {
                for (row, alpha) in space.iter().enumerate().filter(|(_, a)| a[*i] > 0) {
                    for (column, beta) in space.iter().enumerate().filter(|(_, b)| b[*j] > 0) {
                        let mut sum = added(alpha, beta);
                        sum[*i] -= 1;
                        sum[*j] -= 1;
                        parts.push(Contribution {
                            row,
                            column,
                            moment: self.place(factor, gamma, &sum)?,
                            coefficient: -coefficient * f64::from(alpha[*i]) * f64::from(beta[*j]),
                        });
                    }
                }
            }
        }
        Ok(parts)
    }

    /// ⟨y^β L y^α⟩ as a list of averages.
    pub(super) fn advective(
        &self,
        field: &TensorField,
        space: &[Vec<u32>],
    ) -> Result<Vec<Contribution>> {
        let mut parts = Vec::new();
        for (row, alpha) in space.iter().enumerate() {
            // Factor, γ, the power of y that is left, and the coefficient.
            let mut image: Vec<(Factor, Vec<u32>, Vec<u32>, f64)> = Vec::new();
            for (i, j, entry) in &field.entries {
                for (gamma, c) in entry.terms() {
                    if let Some((first, slope)) = lowered(alpha, *i) {
                        if let Some((second, bend)) = lowered(&first, *j) {
                            let factor = Factor::Slopes(*i.min(j), *i.max(j));
                            image.push((factor, gamma.clone(), second, c * slope * bend));
                        }
                        if i == j {
                            image.push((Factor::Curvature(*i), gamma.clone(), first, c * slope));
                        }
                    }
                }
            }
            for (i, component) in &field.drift {
                if let Some((left, slope)) = lowered(alpha, *i) {
                    for (gamma, c) in component.terms() {
                        let factor = Factor::Slope(*i);
                        image.push((factor, gamma.clone(), left.clone(), c * slope));
                    }
                }
            }
            for (factor, gamma, left, coefficient) in &image {
                for (column, beta) in space.iter().enumerate() {
                    parts.push(Contribution {
                        row,
                        column,
                        moment: self.place(*factor, gamma, &added(left, beta))?,
                        coefficient: *coefficient,
                    });
                }
            }
        }
        Ok(parts)
    }
}

fn added(alpha: &[u32], beta: &[u32]) -> Vec<u32> {
    alpha.iter().zip(beta).map(|(a, b)| a + b).collect()
}

/// ∂_i y^α: the exponents that are left and the factor; none where it is zero.
fn lowered(alpha: &[u32], i: usize) -> Option<(Vec<u32>, f64)> {
    (alpha[i] > 0).then(|| {
        let mut left = alpha.to_vec();
        left[i] -= 1;
        (left, f64::from(alpha[i]))
    })
}

/// Monomials of the charts y_i = g_i(x_i).
#[derive(Clone, Debug)]
pub(super) struct ChartPolynomials {
    charts: Vec<Chart>,
    inner: Monomials,
}

impl ChartPolynomials {
    pub(super) fn new(names: &[String], charts: &[Chart], degree: usize) -> Result<Self> {
        Ok(Self {
            charts: charts.to_vec(),
            inner: Monomials::new(names, 0..=degree)?,
        })
    }
}

impl Functions for ChartPolynomials {
    fn dim(&self) -> usize {
        self.inner.dim()
    }
    fn labels(&self) -> &[String] {
        self.inner.labels()
    }
    fn values(&self, x: &[f64], out: &mut [f64]) {
        let mut y = x.to_vec();
        let n = x.len() / self.charts.len();
        for (row, chart) in y.chunks_exact_mut(n.max(1)).zip(&self.charts) {
            row.iter_mut().for_each(|x| *x = chart.jet(*x)[0]);
        }
        self.inner.values(&y, out);
    }
}

/// The weights w_k(x).
struct WeightFunctions {
    charts: Vec<Chart>,
    scale: Vec<f64>,
    weights: Vec<Weight>,
    /// Place of the monomial of each weight.
    places: Vec<usize>,
    labels: Vec<String>,
    monomials: Standardised<Monomials>,
}

impl WeightFunctions {
    fn new(
        names: &[String],
        standardiser: &Standardiser,
        charts: &[Chart],
        degrees: ChartedDegrees,
    ) -> Result<Self> {
        let dim = names.len();
        let monomials = Monomials::new(names, 0..=degrees.tensor.max(degrees.drift))?;
        let listed = monomials.exponents();
        let mut weights = vec![(Factor::One, vec![0; dim])];
        let mut places = vec![0];
        for (place, gamma) in listed.iter().enumerate() {
            let degree = gamma.iter().sum::<u32>() as usize;
            let mut push = |factor: Factor| {
                weights.push((factor, gamma.clone()));
                places.push(place);
            };
            for i in 0..dim {
                if degree <= degrees.tensor {
                    (i..dim).for_each(|j| push(Factor::Slopes(i, j)));
                    push(Factor::Curvature(i));
                }
                if degree <= degrees.drift {
                    push(Factor::Slope(i));
                }
            }
        }
        let labels = weights
            .iter()
            .map(|(factor, gamma)| format!("{factor:?} {gamma:?}"));
        Ok(Self {
            charts: charts.to_vec(),
            scale: standardiser.scale.clone(),
            labels: labels.collect(),
            monomials: Standardised::new(standardiser.clone(), monomials),
            weights,
            places,
        })
    }
}

impl Functions for WeightFunctions {
    fn dim(&self) -> usize {
        self.charts.len()
    }
    fn labels(&self) -> &[String] {
        &self.labels
    }
    fn values(&self, x: &[f64], out: &mut [f64]) {
        let n = (x.len() / self.charts.len()).max(1);
        let mut powers = vec![0.0; self.monomials.len() * n];
        self.monomials.values(x, &mut powers);
        // ∂y/∂z = σ g′ and ∂²y/∂z² = σ² g″.
        let (mut slopes, mut curvatures) = (x.to_vec(), x.to_vec());
        for (i, chart) in self.charts.iter().enumerate() {
            let scale = self.scale[i];
            for s in i * n..(i + 1) * n {
                let [_, first, second] = chart.jet(x[s]);
                slopes[s] = scale * first;
                curvatures[s] = scale * scale * second;
            }
        }
        let rows = out.chunks_exact_mut(n).zip(&self.weights);
        for ((out, (factor, _)), place) in rows.zip(&self.places) {
            out.copy_from_slice(&powers[place * n..][..n]);
            let mut times = |row: &[f64]| out.iter_mut().zip(row).for_each(|(o, v)| *o *= v);
            match factor {
                Factor::One => {}
                Factor::Slopes(i, j) => {
                    times(&slopes[i * n..][..n]);
                    times(&slopes[j * n..][..n]);
                }
                Factor::Slope(i) => times(&slopes[i * n..][..n]),
                Factor::Curvature(i) => times(&curvatures[i * n..][..n]),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use ndarray::Array2;

    use super::*;
    use crate::mobility::basis::TensorBasis;
    use crate::mobility::equations::Equations;
    use crate::mobility::moments::{
        PolynomialConfig, PolynomialSums, accumulate_charted, accumulate_polynomials,
    };
    use crate::mobility::semigroup::{Ends, Semigroup, SemigroupConfig};
    use crate::random::{Purpose, Stream};

    /// Two coordinates that relax and turn, the second one positive.
    fn record() -> Ensemble {
        let mut stream = Stream::new(5, Purpose::Analysis, 0);
        let (mut x, mut y) = (0.0, 0.0);
        let mut rows = Array2::zeros((4000, 2));
        for mut row in rows.outer_iter_mut() {
            (x, y) = (
                0.9 * x - 0.2 * y + 0.3 * stream.normal(),
                0.9 * y + 0.2 * x + 0.3 * stream.normal(),
            );
            row[0] = x;
            row[1] = (0.5 * y).exp();
        }
        Ensemble::from_array(rows, 0.1).unwrap()
    }

    fn sums(record: &Ensemble, charts: Option<&[Chart]>) -> (Standardiser, PolynomialSums) {
        let standardiser = Standardiser::from_ensemble(record).unwrap();
        let config = PolynomialConfig {
            future_degree: 2,
            initial_degree: 2,
            moment_degree: 12,
            lags: vec![0.0, 0.1, 0.2],
            ..PolynomialConfig::default()
        };
        let (control, degrees) = (
            Control::new(),
            ChartedDegrees {
                space: 6,
                tensor: 2,
                drift: 2,
            },
        );
        let sums = match charts {
            Some(charts) => {
                accumulate_charted(record, &standardiser, charts, degrees, &config, &control)
            }
            None => accumulate_polynomials(record, &standardiser, &config, &control),
        };
        (standardiser, sums.unwrap())
    }

    fn predictions(record: &Ensemble, charts: Option<&[Chart]>) -> (Array1<f64>, Array1<f64>) {
        let (standardiser, sums) = sums(record, charts);
        let basis = TensorBasis::generator(record.names(), &standardiser, 2, 2).unwrap();
        let space = SemigroupConfig {
            degree: 3,
            test_degree: 2,
        };
        let equations = Semigroup::between(&Arc::new(sums), &basis, &space, Ends::All).unwrap();
        let coefficients =
            Array1::from_shape_fn(basis.len(), |k| 0.3 * ((3 * k + 1) as f64 * 0.7).sin());
        let predicted = equations.predict(coefficients.view()).unwrap();
        (equations.observed().to_owned(), predicted)
    }

    /// Charts that leave the coordinates as they are give the same equations as no charts; others do not.
    #[test]
    fn identity_charts_give_the_equations_of_the_coordinates() {
        let record = record();
        let standardiser = Standardiser::from_ensemble(&record).unwrap();
        let identity: Vec<Chart> = (0..2)
            .map(|i| Chart::Identity {
                mean: standardiser.mean[i],
                scale: standardiser.scale[i],
            })
            .collect();
        let values = record.sample_tile(4000);
        let logarithm = Chart::logarithm(&values[4000..], 0.0).unwrap();
        let bent = [identity[0].clone(), logarithm];
        let plain = predictions(&record, None);
        let distance = |other: &(Array1<f64>, Array1<f64>)| {
            let observed = (&plain.0 - &other.0).fold(0.0, |m: f64, d| m.max(d.abs()));
            let predicted = (&plain.1 - &other.1).fold(0.0, |m: f64, d| m.max(d.abs()));
            observed.max(predicted)
        };
        assert!(distance(&predictions(&record, Some(&identity))) < 1e-9);
        assert!(distance(&predictions(&record, Some(&bent))) > 1e-3);
    }

    /// ⟨L ψ⟩ with ψ = y^k, by differences of ψ(x) along the record.
    #[test]
    fn the_generator_acts_on_functions_of_the_chart() {
        let record = record();
        let values = record.sample_tile(4000);
        let chart = Chart::normal_scores(
            &{
                let mut sorted = values[4000..].to_vec();
                sorted.sort_by(f64::total_cmp);
                sorted
            },
            Some(0.0),
        )
        .unwrap();
        let charts = [
            Chart::Identity {
                mean: 0.0,
                scale: 1.0,
            },
            chart.clone(),
        ];
        let (standardiser, sums) = sums(&record, Some(&charts));
        let charted = sums.charted().unwrap();
        let averages = charted.averages(&(0..sums.blocks()).collect::<Vec<_>>());
        let basis = TensorBasis::generator(record.names(), &standardiser, 1, 1).unwrap();
        let space = powers(2, 3).unwrap();
        let (row, power) = (space.iter().position(|a| a == &[0, 3]).unwrap(), 3);
        for (label, field) in basis.labels().zip(basis.fields()) {
            let parts = charted.advective(field, &space).unwrap();
            let at = parts.iter().filter(|p| (p.row, p.column) == (row, 0));
            let found: f64 = at.map(|p| p.coefficient * averages[p.moment]).sum();
            let (mut expected, mut size) = (0.0, 0.0);
            for s in 0..4000 {
                let mut z = [values[s], values[4000 + s]];
                standardiser.forward(&mut z);
                let h = 1e-4;
                let psi = |dz: f64| {
                    let x = standardiser.mean[1] + standardiser.scale[1] * (z[1] + dz);
                    chart.jet(x)[0].powi(power)
                };
                let first = (psi(h) - psi(-h)) / (2.0 * h);
                let second = (psi(h) - 2.0 * psi(0.0) + psi(-h)) / (h * h);
                let drift = field.drift.iter().filter(|(i, _)| *i == 1);
                let tensor = field.entries.iter().filter(|(i, j, _)| (*i, *j) == (1, 1));
                let part = drift.map(|(_, p)| p.value(&z)).sum::<f64>() * first
                    + tensor.map(|(_, _, p)| p.value(&z)).sum::<f64>() * second;
                expected += part / 4000.0;
                size += part.abs() / 4000.0;
            }
            assert!(
                (found - expected).abs() <= 1e-5 * size,
                "{label}: {found} {expected}"
            );
        }
    }
}
