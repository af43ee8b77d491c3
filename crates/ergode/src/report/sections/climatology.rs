//! Mean and standard deviation by phase of a cycle.

use crate::finding::digits;
use crate::report::{Figure, Lines, Panel, Role, Section, Series, SeriesStyle};
use crate::validate::Climatology;

/// Coordinates that are drawn.
const PANELS: usize = 12;

/// Mean and standard deviation of model and data by phase.
pub fn climatology_section(climatology: &Climatology) -> Section {
    let root = |list: &[f64]| list.iter().map(|v| v.sqrt()).collect::<Vec<f64>>();
    // The error of a standard deviation is that of the variance over twice the deviation.
    let root_error = |list: &[f64], error: &[f64]| {
        let pairs = list.iter().zip(error);
        pairs.map(|(v, e)| 0.5 * e / v.sqrt()).collect::<Vec<f64>>()
    };
    let phases = &climatology.phases;
    let panels = climatology.coordinates.iter().take(PANELS).flat_map(|c| {
        let model = |y: Vec<f64>, error: Vec<f64>| {
            Series::new(Role::Model, phases.clone(), y).with_error(error)
        };
        let data = |y: Vec<f64>, error: Vec<f64>| {
            let series = Series::new(Role::Data, phases.clone(), y).with_error(error);
            series.styled(SeriesStyle::Points)
        };
        let means = Lines::new(vec![
            data(c.data_mean.clone(), c.data_mean_stderr.clone()),
            model(c.model_mean.clone(), c.model_mean_stderr.clone()),
        ]);
        let deviations = Lines::new(vec![
            data(
                root(&c.data_variance),
                root_error(&c.data_variance, &c.data_variance_stderr),
            ),
            model(
                root(&c.model_variance),
                root_error(&c.model_variance, &c.model_variance_stderr),
            ),
        ]);
        [
            Panel::new("phase of the cycle", "mean", means).titled(&c.name),
            Panel::new("phase of the cycle", "standard deviation", deviations).titled(&c.name),
        ]
    });
    let figure = Figure::grid(
        "climatology",
        "Mean and standard deviation by phase",
        "Held-out data and model in twelve bins of the phase, without the trend. Bars are two standard \
         errors.",
        2,
        panels.collect(),
    );
    Section::new("climatology", "Mean and variance by phase")
        .prose(format!(
            "The cycle has period {}. The largest difference between model and data is {:.1} standard \
             errors for a mean and {:.1} for a variance.",
            digits(climatology.period),
            climatology.mean_worst_z,
            climatology.variance_worst_z
        ))
        .with(figure)
}
