//! Forecast skill.

use crate::finding::digits;
use crate::forecast::{CoordinateSkill, ForecastScores, ForecastSkill};
use crate::report::{Axis, Figure, Lines, Panel, Role, Section, Series, SeriesStyle, Table};

/// Most coordinates that are drawn, and listed.
const PANELS: usize = 6;
const ROWS: usize = 12;

/// Scores of forecasts of held-out data against lead, beside those of climatology, persistence and a linear
/// inverse model, and the spread of the ensemble beside its error.
pub fn forecast_section(skill: &ForecastSkill) -> Section {
    let drawn = || skill.coordinates.iter().take(PANELS);
    let score = |coordinate: &CoordinateSkill| {
        let lines = Lines::new(score_series(coordinate, &skill.leads));
        Panel::new(Axis::log("lead"), "CRPS", lines).titled(&coordinate.name)
    };
    let spread = |coordinate: &CoordinateSkill| {
        let error = Series::new(
            Role::Data,
            skill.leads.clone(),
            coordinate.model.rmse.clone(),
        )
        .named("error of the ensemble mean")
        .styled(SeriesStyle::LineAndPoints);
        let spread = Series::new(Role::Model, skill.leads.clone(), coordinate.spread.clone())
            .named("spread of the ensemble");
        Panel::new(
            Axis::log("lead"),
            "root mean square",
            Lines::new(vec![error, spread]),
        )
        .titled(&coordinate.name)
    };
    let columns = skill.coordinates.len().clamp(1, 2);
    let mut section = Section::new("forecast", "Forecast skill").prose(format!(
        "{} forecasts of the held-out data, each with {} members that start from the data. CRPS is the continuous \
         ranked probability score, in units of the coordinate; smaller is better. Climatology is the law of the \
         training data, persistence the last value, and the linear inverse model the best linear forecast from \
         the state.",
        skill.starts, skill.members
    ));
    if let Some(reason) = &skill.without_linear {
        section = section.prose(format!("There is no linear inverse model: {reason}."));
    }
    section
        .with(table(skill))
        .with(Figure::grid(
            "forecast-skill",
            "Score of forecasts against lead",
            "Continuous ranked probability score on held-out data. Bands are two standard errors.",
            columns,
            drawn().map(score).collect(),
        ))
        .with(Figure::grid(
            "forecast-spread",
            "Spread and error of the ensemble",
            "The spread of a reliable ensemble is the error of its mean.",
            columns,
            drawn().map(spread).collect(),
        ))
}

fn score_series(coordinate: &CoordinateSkill, leads: &[f64]) -> Vec<Series> {
    let curve = |role: Role, name: &str, scores: &ForecastScores| {
        Series::new(role, leads.to_vec(), scores.crps.clone())
            .with_error(scores.crps_stderr.clone())
            .named(name)
    };
    let mut series = vec![curve(Role::Model, "model", &coordinate.model)];
    let linear = coordinate.linear.as_ref();
    series.extend(linear.map(|scores| curve(Role::Constant, "linear inverse model", scores)));
    series.push(curve(Role::Other, "persistence", &coordinate.persistence));
    series.push(curve(Role::Other, "climatology", &coordinate.climatology));
    series
}

/// Scores at the first, middle and last lead.
fn table(skill: &ForecastSkill) -> Table {
    let headings = [
        "coordinate, lead",
        "model",
        "linear inverse",
        "persistence",
        "climatology",
        "spread / error",
    ];
    let mut table = Table::new("CRPS", &headings);
    let mut shown = vec![0, skill.leads.len() / 2, skill.leads.len() - 1];
    shown.dedup();
    for coordinate in skill.coordinates.iter().take(ROWS) {
        for &k in &shown {
            let linear = coordinate.linear.as_ref();
            let model = &coordinate.model;
            table = table.row([
                format!("{}, {}", coordinate.name, digits(skill.leads[k])),
                format!(
                    "{} ± {}",
                    digits(model.crps[k]),
                    digits(model.crps_stderr[k])
                ),
                linear.map_or("-".into(), |scores| digits(scores.crps[k])),
                digits(coordinate.persistence.crps[k]),
                digits(coordinate.climatology.crps[k]),
                format!("{:.2}", coordinate.spread[k] / model.rmse[k]),
            ]);
        }
    }
    table
}
