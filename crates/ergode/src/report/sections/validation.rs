//! Comparison of the model with held-out data.

use ndarray::Array2;

use crate::finding::{FindingKind, Verdict, digits};
use crate::report::{
    Axis, BarSeries, Bars, Colours, Conclusion, Figure, Heatmap, Lines, Page, Palette, Panel, Role,
    Section, SectionPart, Series, SeriesStyle, Table,
};
use crate::validate::{Comparison, Curve, Distance, Extent, RolloutRole, Validation};

/// Most panels of a figure; the curves that are off by most come first.
const PANELS: usize = 36;

/// A page on one comparison of a model with data, verdict first.
pub fn validation_page(validation: &Validation) -> Page {
    let mut page = Page::new(
        "Validation of a Langevin equation",
        format!(
            "correlations of {} held-out samples: error {} x the noise floor",
            validation.held_out.samples,
            digits(validation.rmse_over_floor)
        ),
    );
    page.conclusion = Some(validation_conclusion(validation));
    page.sections = validation_sections(validation);
    page
}

/// Verdict of a validation in words, with its reasons.
pub(in crate::report) fn validation_conclusion(validation: &Validation) -> Conclusion {
    let summary = match validation.verdict {
        Verdict::Pass => "The model reproduces the held-out data to within their sampling error.",
        Verdict::Warn => "The model is usable, with the reservations below.",
        Verdict::Fail => "Do not use this model; the reasons are below.",
    };
    Conclusion {
        verdict: validation.verdict,
        summary: summary.into(),
        findings: validation.reasons.clone(),
    }
}

/// Sections on distances and floors, densities, correlations, spectra and passage times.
pub fn validation_sections(validation: &Validation) -> Vec<Section> {
    if validation.is_missing() {
        let reasons = validation.reasons.iter();
        let reason = reasons.filter(|finding| finding.kind == FindingKind::Missing);
        let section = Section::new("validation", "Comparison with held-out data")
            .prose("The model was not compared with the held-out data.");
        return vec![section.with(SectionPart::Findings(reason.cloned().collect()))];
    }
    let roles: Vec<Role> = validation
        .rollouts
        .iter()
        .map(|rollout| of_role(rollout.role))
        .collect();
    let mut sections = vec![overview(validation), densities(validation, &roles)];
    sections.push(correlations(validation, &roles));
    sections.extend(times(validation, &roles));
    sections
}

/// How a rollout is drawn.
pub(super) fn of_role(role: Option<RolloutRole>) -> Role {
    match role {
        Some(RolloutRole::Learned) => Role::Model,
        Some(RolloutRole::Constant) => Role::Constant,
        Some(RolloutRole::Reference) => Role::Exact,
        Some(RolloutRole::Other) | None => Role::Other,
    }
}

/// All families in one table.
fn overview(validation: &Validation) -> Section {
    let mut section = Section::new("validation", "Comparison with held-out data").prose(format!(
        "The held-out data are {} samples, not used in any fit, with sampling interval {}. Simulations of \
         the model have {} samples. The noise floor is the error that an independent record of the same \
         size would have. A model with an error of about 1 x the noise floor cannot be distinguished from \
         the data.",
        validation.held_out.samples,
        digits(validation.sampling_interval),
        validation.rollouts.first().map_or(0, |rollout| rollout.samples)
    ));
    let headings = [
        "",
        "error",
        "noise floor",
        "error / floor",
        "probability by chance",
    ];
    for (k, rollout) in validation.rollouts.iter().enumerate() {
        let mut table = Table::new(&rollout.name, &headings);
        for (name, comparison) in families(validation) {
            if let Some(distance) = comparison.overall.get(k) {
                table = table.row(row(name, distance));
            }
        }
        section = section.with(table);
    }
    if let Some(extents) = validation.extents.first() {
        section = section.with(ranges(&validation.names, extents));
    }
    validation
        .notes
        .iter()
        .fold(section, |section, note| section.prose(note.clone()))
}

/// Range and variance of the simulations of the judged model.
fn ranges(names: &[String], extents: &[Extent]) -> Table {
    let headings = [
        "coordinate",
        "variance / that of the data",
        "probability by chance",
        "range / that of the data",
    ];
    let table = Table::new("Variance and range of the simulations", &headings);
    let number = |value: Option<f64>| value.map_or("not finite".to_owned(), digits);
    names
        .iter()
        .zip(extents)
        .fold(table, |table, (name, extent)| {
            table.row([
                name.clone(),
                number(extent.variance_ratio),
                format!("{:.3}", extent.probability),
                number(extent.reach),
            ])
        })
}

fn families(validation: &Validation) -> [(&'static str, &Comparison); 7] {
    [
        ("correlations in the fit", &validation.correlations),
        ("other correlations", &validation.other_correlations),
        ("marginal densities", &validation.marginals),
        ("joint densities", &validation.joints),
        ("log power spectra", &validation.spectra),
        ("log passage times", &validation.passages),
        ("turns of angles", &validation.windings),
    ]
}

fn row(name: &str, distance: &Distance) -> [String; 5] {
    let chance = match distance.probability {
        p if p < 1e-3 => format!("{p:.0e}"),
        p => format!("{p:.3}"),
    };
    [
        name.into(),
        digits(distance.value),
        digits(distance.floor),
        format!("{:.2}", distance.over_floor),
        chance,
    ]
}

/// The curves of a family that are drawn; those with the largest errors if there are too many.
fn drawn(comparison: &Comparison) -> Vec<&Curve> {
    let mut curves: Vec<&Curve> = comparison.curves.iter().collect();
    if curves.len() > PANELS {
        let off = |curve: &Curve| {
            curve
                .rollouts
                .first()
                .map_or(0.0, |r| r.distance.over_floor)
        };
        curves.sort_by(|a, b| off(b).total_cmp(&off(a)));
        curves.truncate(PANELS);
    }
    curves
}

/// Data with their errors and every rollout, along the one axis of a curve.
fn panel(curve: &Curve, roles: &[Role], x: Axis, y: &str) -> Panel {
    let at = &curve.axes[0].at;
    let mut series = vec![
        Series::new(Role::Data, at.clone(), curve.data.clone())
            .with_error(curve.error.clone())
            .styled(SeriesStyle::Line),
    ];
    for (rollout, role) in curve.rollouts.iter().zip(roles) {
        series.push(Series::new(*role, at.clone(), rollout.values.clone()));
    }
    Panel::new(x, y, Lines::new(series)).titled(curve.label.clone())
}

fn figure(
    name: &str,
    title: &str,
    caption: &str,
    comparison: &Comparison,
    each: impl Fn(&Curve) -> Panel,
) -> Option<Figure> {
    let panels: Vec<Panel> = drawn(comparison).into_iter().map(each).collect();
    let columns = if panels.len() < 5 {
        2.min(panels.len())
    } else {
        3
    };
    (!panels.is_empty()).then(|| Figure::grid(name, title, caption, columns, panels))
}

fn densities(validation: &Validation, roles: &[Role]) -> Section {
    let mut section = Section::new("densities", "Densities");
    let marginals = figure(
        "densities",
        "Densities of the coordinates",
        "Probability of each bin; the band is two standard errors of the data.",
        &validation.marginals,
        |curve| {
            panel(
                curve,
                roles,
                curve.axes[0].name.clone().into(),
                "probability",
            )
        },
    );
    if let Some(marginals) = marginals {
        section = section.with(marginals);
    }
    let mut panels = Vec::new();
    for curve in validation
        .joints
        .curves
        .iter()
        .filter(|curve| curve.axes.len() == 2)
    {
        let of = |values: &[f64]| {
            let shape = (curve.axes[0].at.len(), curve.axes[1].at.len());
            Array2::from_shape_vec(shape, values.to_vec()).ok()
        };
        let rollouts = curve.rollouts.iter().zip(roles);
        let named = rollouts.map(|(rollout, role)| (role.name(), of(&rollout.values)));
        let all: Vec<(&str, Array2<f64>)> = [("data", of(&curve.data))]
            .into_iter()
            .chain(named)
            .filter_map(|(name, values)| Some((name, values?)))
            .collect();
        let colours = Colours::common(Palette::Density, all.iter().map(|(_, values)| values));
        for (name, values) in &all {
            let map = Heatmap {
                x: edges(&curve.axes[0].at),
                y: edges(&curve.axes[1].at),
                values: values.clone(),
                colours,
            };
            let axes = (curve.axes[0].name.clone(), curve.axes[1].name.clone());
            panels.push(Panel::new(axes.0, axes.1, map).titled(*name));
        }
    }
    if panels.is_empty() {
        return section;
    }
    section.with(Figure::grid(
        "joints",
        "Joint densities",
        "Probability of each cell. Data and models share one colour scale.",
        1 + roles.len(),
        panels,
    ))
}

/// First and last edge of the equal bins with these centres.
fn edges(centres: &[f64]) -> [f64; 2] {
    let (first, last) = (centres[0], centres[centres.len() - 1]);
    let half = 0.5 * (last - first) / (centres.len().max(2) - 1) as f64;
    [first - half, last + half]
}

fn correlations(validation: &Validation, roles: &[Role]) -> Section {
    let mut section = Section::new("correlations", "Correlations");
    let each = |curve: &Curve| panel(curve, roles, "lag".into(), "");
    let fitted = figure(
        "correlations",
        "Correlations of the observables in the fit",
        "Each curve is the correlation of an observable at the later time with one at the earlier time. \
         The band is two standard errors of the held-out data.",
        &validation.correlations,
        each,
    );
    if let Some(fitted) = fitted {
        section = section.with(fitted);
    }
    let others = figure(
        "other-correlations",
        "Correlations of observables outside the fit",
        "Functions of the standardised coordinates, and lags, that were not used in any fit.",
        &validation.other_correlations,
        each,
    );
    match others {
        None => section,
        Some(others) => section.with(SectionPart::Details {
            summary: "Observables outside the fit".into(),
            parts: vec![others.into()],
        }),
    }
}

/// Spectra, passages and decorrelation times.
fn times(validation: &Validation, roles: &[Role]) -> Option<Section> {
    let mut section = Section::new("times", "Spectra and times");
    let spectra = figure(
        "spectra",
        "Power spectra of the coordinates",
        "Logarithm of the power; the band is two standard errors of the data.",
        &validation.spectra,
        |curve| panel(curve, roles, Axis::log("frequency"), "ln power"),
    );
    if let Some(spectra) = spectra {
        section = section.with(spectra);
    }
    let passages = &validation.passages.curves;
    if !passages.is_empty() {
        let series = |role: Role, values: &dyn Fn(&Curve) -> (f64, f64)| {
            // The comparison is of logarithms; a bar is the time itself.
            let times = passages.iter().map(|curve| values(curve).0.exp());
            let errors = passages
                .iter()
                .map(|curve| values(curve).0.exp() * values(curve).1);
            BarSeries {
                name: role.name().into(),
                role,
                values: times.collect(),
                error: errors.collect(),
            }
        };
        let mut all = vec![series(Role::Data, &|curve| (curve.data[0], curve.error[0]))];
        for (k, role) in roles.iter().enumerate() {
            all.push(series(*role, &|curve| {
                (curve.rollouts[k].values[0], curve.rollouts[k].error[0])
            }));
        }
        let bars = Bars {
            labels: passages.iter().map(|curve| curve.label.clone()).collect(),
            series: all,
        };
        section = section.with(Figure::single(
            "passages",
            "Mean passage times",
            "From low to high values of a coordinate, and back; bars are two standard errors.",
            Panel::new("", "time", bars),
        ));
    }
    if !validation.windings.curves.is_empty() {
        section = section.with(turns(validation));
    }
    let mut headings = vec!["coordinate".to_owned(), "data".to_owned()];
    headings.extend(
        validation
            .rollouts
            .iter()
            .map(|rollout| rollout.name.clone()),
    );
    let headings: Vec<&str> = headings.iter().map(String::as_str).collect();
    let mut table = Table::new("Decorrelation times", &headings);
    for (i, name) in validation.names.iter().enumerate() {
        let records = [&validation.held_out]
            .into_iter()
            .chain(&validation.rollouts);
        let times = records.map(|record| {
            let time = record.decorrelation_times.get(i).copied().flatten();
            time.map_or("–".into(), digits)
        });
        table = table.row([name.clone()].into_iter().chain(times).collect::<Vec<_>>());
    }
    Some(section.with(table))
}

/// Turns per unit of time of the angles.
fn turns(validation: &Validation) -> Table {
    let mut headings = vec!["angle", "data"];
    headings.extend(
        validation
            .rollouts
            .iter()
            .map(|rollout| rollout.name.as_str()),
    );
    let table = Table::new("Turns per unit of time", &headings);
    let number = |value: f64, error: f64| format!("{} ± {}", digits(value), digits(error));
    validation
        .windings
        .curves
        .iter()
        .fold(table, |table, curve| {
            let rollouts = curve.rollouts.iter();
            let rollouts = rollouts.map(|rollout| number(rollout.values[0], rollout.error[0]));
            let cells = [curve.label.clone(), number(curve.data[0], curve.error[0])];
            table.row(cells.into_iter().chain(rollouts).collect::<Vec<_>>())
        })
}
