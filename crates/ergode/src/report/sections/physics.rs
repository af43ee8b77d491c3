//! Time scales, irreversibility and response of a model.

use crate::finding::digits;
use crate::report::{Axis, Figure, Lines, Panel, Role, Section, Series, SeriesStyle, Table};
use crate::validate::{EntropyProduction, ResponseCheck, SpectrumComparison};

/// Most panels of responses.
const PANELS: usize = 12;

/// Implied time scales of the learned generator beside those of the data at several lags, and what the
/// slowest modes are.
pub fn spectrum_section(comparison: &SpectrumComparison) -> Section {
    let mut series = Vec::new();
    for (k, mode) in comparison.model.iter().enumerate() {
        let lags: Vec<f64> = comparison
            .data
            .iter()
            .map(|spectrum| spectrum.lag)
            .collect();
        let flat = vec![mode.time_scale; lags.len()];
        series.push(Series::new(Role::Model, lags.clone(), flat));
        let point = |index: usize| {
            let scales = comparison.data.iter().map(|spectrum| &spectrum.time_scales);
            let values = scales.map(|scales| scales.get(k).copied().flatten());
            let pick = values.map(|value| value.map_or(f64::NAN, |value| value[index]));
            pick.collect::<Vec<f64>>()
        };
        series.push(
            Series::new(Role::Data, lags, point(0))
                .with_error(point(1))
                .styled(SeriesStyle::LineAndPoints),
        );
    }
    let mut table = Table::new(
        "Slowest modes of the model",
        &[
            "mode",
            "time scale",
            "standard error",
            "frequency",
            "largest terms",
        ],
    );
    for (k, mode) in comparison.model.iter().enumerate() {
        let mut terms: Vec<(f64, &str)> = mode
            .coefficients
            .iter()
            .zip(&comparison.functions)
            .map(|([re, im], name)| (re.hypot(*im), name.as_str()))
            .filter(|(_, name)| *name != "1")
            .collect();
        terms.sort_by(|a, b| b.0.total_cmp(&a.0));
        let named: Vec<&str> = terms.iter().take(3).map(|(_, name)| *name).collect();
        table = table.row([
            format!("{}", k + 1),
            digits(mode.time_scale),
            digits(mode.error),
            digits(mode.frequency.abs()),
            named.join(", "),
        ]);
    }
    Section::new("time-scales", "Time scales")
        .prose(format!(
            "Implied time scales of the learned generator in the space of polynomials of degree {}, and \
             of the held-out data, from their correlations at single lags. If the space is too small for \
             a mode, the time scale of the data rises with the lag towards the true one.",
            comparison.degree
        ))
        .with(Figure::single(
            "time-scales",
            "Implied time scales",
            "Lines: the model. Points: the data at each lag, with two standard errors.",
            Panel::new(Axis::log("lag"), Axis::log("time scale"), Lines::new(series)),
        ))
        .with(table)
}

/// The rate of entropy production in a sentence.
pub fn entropy_section(entropy: &EntropyProduction) -> Section {
    let verdict = match entropy.rate / entropy.error.max(f64::MIN_POSITIVE) {
        z if z > 3.0 => "the process is driven out of equilibrium",
        _ => "this is consistent with zero, the rate of a process in equilibrium",
    };
    Section::new("irreversibility", "Irreversibility").prose(format!(
        "Entropy production ⟨vᵀ D⁻¹ v⟩ of the irreversible velocity v = R s + ∇·R: {} ± {} per unit of \
         time (k_B = 1); {verdict}.",
        digits(entropy.rate),
        digits(entropy.error)
    ))
}

/// Responses to a kick: predicted by the score, and simulated.
pub fn response_section(check: &ResponseCheck, names: &[String]) -> Section {
    let panel = |response: &crate::validate::Response| {
        let predicted = Series::new(Role::Other, check.times.clone(), response.predicted.clone())
            .with_error(response.predicted_error.clone())
            .named("predicted by the score");
        let simulated = Series::new(Role::Model, check.times.clone(), response.simulated.clone())
            .with_error(response.simulated_error.clone())
            .named("kicked simulation");
        let title = format!(
            "{} after a kick of {}",
            response.observable, names[response.coordinate]
        );
        Panel::new("time", "", Lines::new(vec![predicted, simulated])).titled(title)
    };
    let panels: Vec<Panel> = check.responses.iter().take(PANELS).map(panel).collect();
    let columns = panels.len().clamp(1, 2);
    Section::new("response", "Response")
        .prose(format!(
            "A small kick of a coordinate changes a mean by −⟨φ(x_t) s_j(x_0)⟩ (generalised \
             fluctuation-dissipation relation). Simulations of the model with and without the kick, with \
             the same random numbers, should agree with this prediction. The largest deviation is {:.1} \
             standard errors (probability {:.2} by chance).",
            check.worst_z,
            check.probability.min(1.0)
        ))
        .with(Figure::grid(
            "responses",
            "Responses to a kick",
            "Change of an observable per unit of the kick; bands are two standard errors.",
            columns,
            panels,
        ))
}
