//! Scores of coordinates with broad laws, in charts of these.

use ndarray::Array2;
use serde::{Deserialize, Serialize};

use super::closed_form::{ClosedFormConfig, ClosedFormScore, fit_potential_score};
use super::confinement::Confinement;
use super::{Score, tile_width};
use crate::control::Control;
use crate::data::Ensemble;
use crate::error::{Error, Result};
use crate::lagged::CoefficientErrors;
use crate::space::Chart;

/// The score of coordinates whose ln p is no polynomial, but is one of charts y_i = g_i(x_i).
///
/// p(x) = p_y(y) Π g_i′, so that s_i(x) = s^y_i(y) g_i′ + g_i″/g_i′, with the potential ln p_y a polynomial of y.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChartedScore {
    inner: ClosedFormScore,
    charts: Vec<Chart>,
    confinement: Confinement,
}

impl ChartedScore {
    /// The fit in the charts.
    pub fn inner(&self) -> &ClosedFormScore {
        &self.inner
    }

    /// The samples in the coordinates themselves.
    pub fn confinement(&self) -> &Confinement {
        &self.confinement
    }

    /// The sampling errors of the coefficients, where they are known.
    pub(crate) fn coefficient_errors(&self) -> Option<&CoefficientErrors> {
        self.inner.coefficient_errors()
    }

    /// ∂s_i/∂β_k at one raw state, (field k, i): that of s^y times g_i′.
    pub(crate) fn design(&self, x: &[f64]) -> Array2<f64> {
        let jets: Vec<[f64; 3]> = x.iter().zip(&self.charts).map(|(x, c)| c.jet(*x)).collect();
        let y: Vec<f64> = jets.iter().map(|jet| jet[0]).collect();
        let mut design = self.inner.design(&y);
        for (mut column, jet) in design.columns_mut().into_iter().zip(&jets) {
            column *= jet[1];
        }
        design
    }
}

impl Score for ChartedScore {
    fn dim(&self) -> usize {
        self.charts.len()
    }

    fn score(&self, x: &[f64], out: &mut [f64]) {
        let n = tile_width(self, x, out);
        let (mut y, mut slopes, mut bends) = (x.to_vec(), x.to_vec(), x.to_vec());
        for (i, chart) in self.charts.iter().enumerate() {
            for s in i * n..(i + 1) * n {
                let [value, first, second] = chart.jet(x[s]);
                (y[s], slopes[s], bends[s]) = (value, first, second / first);
            }
        }
        self.inner.score(&y, out);
        for ((out, slope), bend) in out.iter_mut().zip(&slopes).zip(&bends) {
            *out = *out * slope + bend;
        }
    }
}

/// Fit the score in these charts, one for each coordinate.
///
/// # Errors
/// When a chart is not defined at a sample, and as for [`fit_potential_score`].
pub fn fit_charted_score(
    ensemble: &Ensemble,
    charts: &[Chart],
    config: &ClosedFormConfig,
    control: &Control,
) -> Result<ChartedScore> {
    if charts.len() != ensemble.dim() {
        return Err(Error::input(format!(
            "{} charts given for {} coordinates; give one for each",
            charts.len(),
            ensemble.dim()
        )));
    }
    let maps = charts.to_vec();
    let transformed = ensemble.mapped(move |_, i, x| maps[i].jet(x)[0])?;
    Ok(ChartedScore {
        inner: fit_potential_score(&transformed, config, control)?,
        charts: charts.to_vec(),
        confinement: Confinement::watched(ensemble, control)?,
    })
}
