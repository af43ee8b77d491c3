//! How a network meets the equations that it was trained on.

use crate::check::digits;
use crate::mobility::{NeuralMobilityFit, ResidualCurve};
use crate::report::{Figure, Lines, Panel, Role, Section, Series, SeriesStyle};

/// The residual-operator curves: what the constant mobility leaves of the derivatives of the
/// correlations, and what the network makes of it.
pub fn residual_section(fit: &NeuralMobilityFit) -> Section {
    let panel = |curve: &ResidualCurve| {
        let target: Vec<f64> = curve.target().collect();
        let series = vec![
            Series::new(Role::Data, fit.lags.clone(), target)
                .with_error(curve.target_error.clone())
                .styled(SeriesStyle::LineAndPoints)
                .named("left by the constant mobility"),
            Series::new(Role::Model, fit.lags.clone(), curve.fitted.clone()).named("network"),
        ];
        let title = format!("{} with {}", curve.future, curve.initial);
        Panel::new("lag", "", Lines::new(series)).titled(title)
    };
    let chi2 = fit.curves.iter().map(ResidualCurve::chi2).sum::<f64>() / fit.curves.len() as f64;
    Section::new("residuals", "Residual operator")
        .prose(format!(
            "The network is trained so that the conditional operator of M − Φ gives what the constant \
             mobility Φ leaves of the derivatives of the correlations. The mean square of what is left \
             is {} of its sampling variance; the mean of M is off Φ by {} of its size.",
            digits(chi2),
            digits(fit.mean_deviation)
        ))
        .with(Figure::grid(
            "residuals",
            "Residual-operator curves",
            "Points: data, with two standard errors. Lines: the network.",
            3,
            fit.curves.iter().map(panel).collect(),
        ))
}
