//! The errors against the sampling interval as a drawing, on logarithmic axes.

use ergode::report::{Axis, Figure, Lines, Panel, Role, Series, SeriesStyle};

use super::{CORRECTED, EXTRAPOLATED, HORIZON, LADDER, Measured, PLAIN, SEMIGROUP, WEAK};

/// The methods in the order of the legend.
const METHODS: [&str; 6] = [SEMIGROUP, LADDER, WEAK, PLAIN, CORRECTED, EXTRAPOLATED];

/// Errors in per cent of those methods that have one.
fn panel(title: &str, figures: &[Measured], error: fn(&Measured) -> Option<f64>) -> Panel {
    let series = METHODS.iter().filter_map(|method| {
        let of_method = figures.iter().filter(|figure| figure.method == *method);
        let points = of_method.filter_map(|f| Some((f.interval, 100.0 * error(f)?)));
        let (x, y): (Vec<f64>, Vec<f64>) = points.unzip();
        let series = Series::new(Role::Other, x, y).named(*method);
        (!series.x.is_empty()).then(|| series.styled(SeriesStyle::LineAndPoints))
    });
    let lines = Lines::new(series.collect()).mark_x(HORIZON, "decorrelation time");
    let interval = Axis::log("sampling interval").within(0.008, 1.7);
    let per_cent = Axis::log("relative error, %").within(0.1, 100.0);
    Panel::new(interval, per_cent, lines).titled(title)
}

/// The drawing.
pub(super) fn draw(figures: &[Measured]) -> String {
    let panels = vec![
        panel("diffusion D", figures, |figure| Some(figure.errors.0)),
        panel("current R", figures, |figure| figure.errors.1),
    ];
    let figure = Figure::grid(
        "sampling-interval",
        "Errors of the mobility against the sampling interval",
        "The semigroup keeps its accuracy up to the decorrelation time; regressions on increments lose it.",
        2,
        panels,
    );
    figure.svg()
}
