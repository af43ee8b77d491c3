//! Residuals of a network in the equations that it was trained on.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::finding::digits;
use crate::mobility::{NeuralMobilityFit, ResidualCurve};
use crate::report::{Figure, Lines, Panel, Role, Section, Series, SeriesStyle};

/// Most equations that are all drawn, and the number drawn of more.
const PANELS: usize = 36;
const FEW: usize = 12;

/// The equations of a network: what it was trained on, and what it makes of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NetworkResiduals {
    /// Lags of the curves.
    pub lags: Vec<f64>,
    /// One curve for each equation.
    pub curves: Vec<ResidualCurve>,
    /// |⟨M⟩ − Φ| / |Φ|.
    pub mean_deviation: f64,
}

impl From<&NeuralMobilityFit> for NetworkResiduals {
    fn from(fit: &NeuralMobilityFit) -> Self {
        Self {
            lags: fit.lags.clone(),
            curves: fit.curves.clone(),
            mean_deviation: fit.mean_deviation,
        }
    }
}

/// A\[M − Φ\] of another mobility M for the equations of a fit, such as the exact one or a second closure.
#[derive(Clone, Copy, Debug)]
pub struct ResidualLines<'a> {
    /// Name of the mobility.
    pub name: &'a str,
    /// What it is.
    pub role: Role,
    /// Values at the lags of the fit, one list for each of its curves.
    pub values: &'a [Vec<f64>],
}

/// The residual-operator curves: what the constant mobility leaves of the derivatives of the
/// correlations, what the network makes of it, and what `others` make of it.
///
/// Of many equations, as on a ring, those are drawn whose target is largest in units of its errors.
///
/// # Errors
/// When `others` do not have the equations and lags of the fit.
pub fn residual_section(fit: &NetworkResiduals, others: &[ResidualLines]) -> Result<Section> {
    for lines in others {
        let whole = |values: &Vec<f64>| values.len() == fit.lags.len();
        if lines.values.len() != fit.curves.len() || !lines.values.iter().all(whole) {
            return Err(Error::input(format!(
                "the residuals of {} have {} rows; the fit has {} equations at {} lags",
                lines.name,
                lines.values.len(),
                fit.curves.len(),
                fit.lags.len()
            )));
        }
    }
    let shown = shown(&fit.curves);
    let panel = |k: usize| {
        let curve = &fit.curves[k];
        let line = |role: Role, y: &[f64]| Series::new(role, fit.lags.clone(), y);
        let target: Vec<f64> = curve.target().collect();
        let mut series = vec![
            line(Role::Data, &target)
                .with_error(curve.target_error.clone())
                .styled(SeriesStyle::LineAndPoints)
                .named("constant-mobility residual"),
            line(Role::Model, &curve.fitted).named("network"),
        ];
        let more = others
            .iter()
            .map(|lines| line(lines.role, &lines.values[k]).named(lines.name));
        series.extend(more);
        let title = format!("{} with {}", curve.future, curve.initial);
        Panel::new("lag", "", Lines::new(series)).titled(title)
    };
    let chi2 = fit.curves.iter().map(ResidualCurve::chi2).sum::<f64>() / fit.curves.len() as f64;
    let caption = if shown.len() < fit.curves.len() {
        format!(
            "The {} of {} equations with the largest target in standard errors. Points: data, with two \
             standard errors. Lines: mobilities.",
            shown.len(),
            fit.curves.len()
        )
    } else {
        "Points: data, with two standard errors. Lines: mobilities.".into()
    };
    Ok(Section::new("residuals", "Residual operator")
        .prose(format!(
            "The network is trained so that the conditional operator of M − Φ reproduces the residual of \
             the constant mobility Φ in the derivatives of the correlations. The mean square of the \
             remaining residual is {} x its sampling variance. The mean of M differs from Φ by {} of the \
             size of Φ.",
            digits(chi2),
            digits(fit.mean_deviation)
        ))
        .with(Figure::grid(
            "residuals",
            "Residual-operator curves",
            &caption,
            3,
            shown.into_iter().map(panel).collect(),
        )))
}

/// The curves to draw: all, or of many those with the largest signal, the largest first.
fn shown(curves: &[ResidualCurve]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..curves.len()).collect();
    if curves.len() > PANELS {
        let signal = |k: &usize| {
            let square = |values: &mut dyn Iterator<Item = f64>| values.map(|v| v * v).sum::<f64>();
            let curve = &curves[*k];
            square(&mut curve.target()) / square(&mut curve.target_error.iter().copied())
        };
        order.sort_by(|a, b| signal(b).total_cmp(&signal(a)));
        order.truncate(FEW);
    }
    order
}
