//! The operator A[M] of several mobilities, compared with the derivative of the observed correlations.

use ndarray::{Array1, Array2, s};

use crate::control::Control;
use crate::data::Ensemble;
use crate::error::Result;
use crate::lagged::{
    Jackknife, LagGrid, LaggedConfig, LocalPolynomial, PairSums, accumulate_lagged,
};
use crate::mobility::{
    ConstantMobility, Mobility, PhiMethod, ResidualConfig, SymmetryClass,
    estimate_constant_mobility,
};
use crate::observable::{Functions, Monomials};
use crate::report::{OperatorChannel, OperatorRecord, Role};
use crate::score::Score;

/// Ċ_mn and A_mn\[M_k\] at some lags, φ_n being the coordinates.
///
/// A is in its stationary form, ⟨φ_m(x_t) B_n(x_0)⟩ with B = Mᵀ s + ∇·Mᵀ, which needs no conditional score.
pub(super) struct OperatorCurves {
    pub(super) lags: Vec<f64>,
    future: Vec<String>,
    initial: Vec<String>,
    /// Ċ, then A of every mobility: (quantity, m, n, lag) flat.
    values: Jackknife,
}

/// Collect the curves at lags that are multiples of the sampling interval.
pub(super) fn operator_curves(
    data: &Ensemble,
    future: &dyn Functions,
    score: &dyn Score,
    mobilities: &[&dyn Mobility],
    lags: &[f64],
    statistics: &LaggedConfig,
    control: &Control,
) -> Result<OperatorCurves> {
    let grid = LagGrid::for_ensemble(data, lags)?;
    let derivative = ResidualConfig::default();
    let (wide, spacing) = derivative.grid(data, &grid)?;
    let initial = Conjugates::new(data.names(), score, mobilities);
    let sums = accumulate_lagged(data, future, &initial, &wide, statistics, control)?;
    let all = wide.lags();
    let places: Vec<usize> = grid
        .lags()
        .iter()
        .map(|lag| all.partition_point(|other| *other < lag - 1e-9 * spacing))
        .collect();
    let polynomial = LocalPolynomial {
        degree: derivative.degree,
        bandwidth: derivative.bandwidth * spacing,
    };
    let slopes = polynomial.matrix(&all, lags)?;
    let dim = data.dim();
    let curves = |totals: &PairSums| curves(totals, &slopes, &places, dim);
    Ok(OperatorCurves {
        lags: lags.to_vec(),
        future: future.labels().to_vec(),
        initial: data.names().to_vec(),
        values: sums.jackknife(curves)?,
    })
}

/// Ċ by local polynomials and A by its average, (quantity, m, n, lag) flat.
fn curves(totals: &PairSums, slopes: &Array2<f64>, places: &[usize], dim: usize) -> Vec<f64> {
    let covariances: Vec<Array2<f64>> = (0..totals.lags().len())
        .map(|lag| totals.covariance(lag))
        .collect();
    let (futures, initials) = covariances[0].dim();
    let mut out = Vec::with_capacity(futures * initials * places.len());
    for quantity in 0..initials / dim {
        for m in 0..futures {
            for n in 0..dim {
                let entry = [m, quantity * dim + n];
                out.extend(
                    slopes
                        .rows()
                        .into_iter()
                        .zip(places)
                        .map(|(weights, place)| {
                            if quantity > 0 {
                                return covariances[*place][entry];
                            }
                            let terms = weights.iter().zip(&covariances);
                            terms.map(|(w, c)| w * c[entry]).sum()
                        }),
                );
            }
        }
    }
    out
}

impl OperatorCurves {
    /// Number of channels (m, n).
    fn channels(&self) -> usize {
        self.future.len() * self.initial.len()
    }

    /// The places of a quantity in a channel: zero is Ċ, k is A\[M_k\] counted from one.
    fn places(&self, quantity: usize, channel: usize) -> std::ops::Range<usize> {
        let first = (quantity * self.channels() + channel) * self.lags.len();
        first..first + self.lags.len()
    }

    /// A quantity less another, with standard errors.
    fn difference(&self, channel: usize, of: usize, less: usize) -> (Vec<f64>, Vec<f64>) {
        let [of, less] = [of, less].map(|quantity| self.places(quantity, channel));
        let values = &self.values.values;
        let deviations = &self.values.deviations;
        let value = of
            .clone()
            .zip(less.clone())
            .map(|(a, b)| values[a] - values[b]);
        let error = of.zip(less).map(|(a, b)| {
            let (a, b) = (deviations.column(a), deviations.column(b));
            a.iter()
                .zip(b)
                .map(|(a, b)| (a - b).powi(2))
                .sum::<f64>()
                .sqrt()
        });
        (value.collect(), error.collect())
    }

    /// The factor a with which A\[M_k\] best explains what A\[M_0\] leaves of Ċ in a channel, least squares over
    /// the lags, and its standard error.
    pub(super) fn factor(&self, channel: usize, constant: usize, of: usize) -> (f64, f64) {
        let [c, phi, family] = [0, constant, of].map(|quantity| self.places(quantity, channel));
        let values = &self.values.values;
        let take = |range: &std::ops::Range<usize>| values.slice(s![range.clone()]).to_owned();
        let target = take(&c) - take(&phi);
        let family_values = take(&family);
        let size = family_values.dot(&family_values);
        let a = target.dot(&family_values) / size;
        // da = Σ (A dT + (T − 2aA) dA) / ΣA².
        let of_target = &family_values / size;
        let of_family = (&target - 2.0 * a * &family_values) / size;
        let deviations = &self.values.deviations;
        let part = |range: std::ops::Range<usize>, weights: &Array1<f64>| {
            deviations.slice(s![.., range]).dot(weights)
        };
        let change = part(c, &of_target) - part(phi, &of_target) + part(family, &of_family);
        (a, change.dot(&change).sqrt())
    }

    /// What the constant mobility (quantity one) leaves of Ċ in every channel, and what the others make of
    /// it: `others` are quantities with their names and roles.
    pub(super) fn record(&self, others: &[(usize, &str, Role)]) -> OperatorRecord {
        let channel = |channel: usize| {
            let (target, error) = self.difference(channel, 0, 1);
            let line = |(quantity, name, role): &(usize, &str, Role)| {
                let (fitted, _) = self.difference(channel, *quantity, 1);
                ((*name).to_owned(), *role, fitted)
            };
            OperatorChannel {
                title: self.title(channel),
                target,
                error,
                lines: others.iter().map(line).collect(),
            }
        };
        OperatorRecord {
            lags: self.lags.clone(),
            channels: self.shown().into_iter().map(channel).collect(),
        }
    }

    /// The channels that are drawn: all, or those that stand out most from their errors.
    fn shown(&self) -> Vec<usize> {
        const MOST: usize = 24;
        let mut channels: Vec<usize> = (0..self.channels()).collect();
        if channels.len() > MOST {
            let signal = |channel: &usize| {
                let (target, error) = self.difference(*channel, 0, 1);
                let norm = |values: &[f64]| values.iter().map(|v| v * v).sum::<f64>();
                norm(&target) / norm(&error)
            };
            channels.sort_by(|a, b| signal(b).total_cmp(&signal(a)));
            channels.truncate(MOST / 2);
        }
        channels
    }

    fn title(&self, channel: usize) -> String {
        let (m, n) = (channel / self.initial.len(), channel % self.initial.len());
        format!("{} with {}", self.future[m], self.initial[n])
    }
}

/// x and, for every mobility, B = Mᵀ s + ∇·Mᵀ.
struct Conjugates<'a> {
    labels: Vec<String>,
    score: &'a dyn Score,
    mobilities: &'a [&'a dyn Mobility],
}

impl<'a> Conjugates<'a> {
    fn new(names: &[String], score: &'a dyn Score, mobilities: &'a [&'a dyn Mobility]) -> Self {
        let each = (1..=mobilities.len())
            .flat_map(|k| names.iter().map(move |name| format!("B{k}({name})")));
        Self {
            labels: names.iter().cloned().chain(each).collect(),
            score,
            mobilities,
        }
    }
}

impl Functions for Conjugates<'_> {
    fn dim(&self) -> usize {
        self.score.dim()
    }
    fn labels(&self) -> &[String] {
        &self.labels
    }
    fn values(&self, x: &[f64], out: &mut [f64]) {
        let dim = self.dim();
        let n = x.len() / dim;
        let (coordinates, rest) = out.split_at_mut(x.len());
        coordinates.copy_from_slice(x);
        let mut score = vec![0.0; x.len()];
        self.score.score(x, &mut score);
        let mut tensor = vec![0.0; dim * x.len()];
        for (mobility, out) in self.mobilities.iter().zip(rest.chunks_exact_mut(x.len())) {
            mobility.mobility(x, &mut tensor);
            mobility.div_transpose(x, out);
            for (entry, m) in tensor.chunks_exact(n).enumerate() {
                let (i, j) = (entry / dim, entry % dim);
                let score = &score[i * n..][..n];
                let terms = m.iter().zip(score);
                for (out, (m, s)) in out[j * n..][..n].iter_mut().zip(terms) {
                    *out += m * s;
                }
            }
        }
    }
}

/// Mean over channels of the rms over lags of the difference between raw correlations of φ_m and the
/// coordinates: the paper's RMSE.
pub(super) fn correlation_rmse(
    data: &Ensemble,
    rollout: &Ensemble,
    future: &dyn Functions,
    lags: &[f64],
    control: &Control,
) -> Result<f64> {
    let coordinates = Monomials::coordinates(data.names())?;
    let correlations = |ensemble: &Ensemble| -> Result<Vec<Array2<f64>>> {
        let grid = LagGrid::for_ensemble(ensemble, lags)?;
        let statistics = LaggedConfig::default();
        let sums =
            accumulate_lagged(ensemble, future, &coordinates, &grid, &statistics, control)?.total();
        Ok((0..lags.len()).map(|lag| sums.correlation(lag)).collect())
    };
    let mut squares = Array2::<f64>::zeros((future.len(), data.dim()));
    for (ours, theirs) in correlations(data)?.iter().zip(&correlations(rollout)?) {
        squares += &(ours - theirs).mapv(|d| d * d);
    }
    Ok(squares
        .mapv(|s| (s / lags.len() as f64).sqrt())
        .mean()
        .unwrap_or(0.0))
}

/// Φ as the paper estimates it: the slope at zero of a quadratic through the covariances of the coordinates at
/// lag zero and a few short lags.
pub(super) fn short_lag_phi(
    data: &Ensemble,
    lags: &[f64],
    class: SymmetryClass,
    control: &Control,
) -> Result<ConstantMobility> {
    let x = Monomials::coordinates(data.names())?;
    let grid = LagGrid::for_ensemble(data, lags)?;
    let statistics = LaggedConfig::default();
    let sums = accumulate_lagged(data, &x, &x, &grid, &statistics, control)?;
    estimate_constant_mobility(&sums, &PhiMethod::Quadratic, class)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::score::ExactScore;
    use crate::systems::{
        ExactFields, OrnsteinUhlenbeck, OrnsteinUhlenbeckParameters, System, generate,
    };

    /// Largest deviation of Ċ − A[M] from zero, in standard errors.
    fn deviation(data: &Ensemble, system: &OrnsteinUhlenbeck, mobility: &Array2<f64>) -> f64 {
        let future = Monomials::new(data.names(), 1..=2).unwrap();
        let score = ExactScore::new(2, system);
        let lags = [0.2, 0.4, 0.8];
        let (statistics, control) = (LaggedConfig::default(), Control::new());
        let curves = operator_curves(
            data,
            &future,
            &score,
            &[mobility],
            &lags,
            &statistics,
            &control,
        )
        .unwrap();
        (0..curves.channels())
            .flat_map(|channel| {
                let (left, error) = curves.difference(channel, 0, 1);
                left.into_iter().zip(error)
            })
            .map(|(left, error)| (left / error).abs())
            .fold(0.0, f64::max)
    }

    #[test]
    fn the_operator_of_the_exact_mobility_is_the_derivative_of_the_correlations() {
        let system = OrnsteinUhlenbeck::new(OrnsteinUhlenbeckParameters {
            drift: vec![vec![1.0, 0.8], vec![-0.8, 1.0]],
            diffusion: vec![vec![1.0, 0.0], vec![0.0, 1.0]],
            mean: vec![0.3, 0.0],
        })
        .unwrap();
        let mut protocol = system.protocol();
        protocol.simulate.time = 400.0;
        protocol.simulate.save_every = 0.05;
        protocol.simulate.trajectories = 32;
        let data = generate(&system, &protocol, &Control::new())
            .unwrap()
            .ensemble;
        let mut m = [0.0; 4];
        ExactFields::mobility(&system, &[0.0, 0.0], &mut m);
        let exact = Array2::from_shape_vec((2, 2), m.to_vec()).unwrap();
        let right = deviation(&data, &system, &exact);
        assert!(right < 5.1, "{right}");
        let wrong = deviation(&data, &system, &exact.t().to_owned());
        assert!(wrong > 10.2, "{wrong}");
    }
}
