//! Comparison of closures of a ring of sites with data.

use ndarray::Array2;

use super::contour::contour_lines;
use super::space_time::space_time_figure;
use super::validation::of_role;
use crate::finding::digits;
use crate::report::{
    Axis, Colours, Figure, LabelledMatrix, Lines, Palette, Panel, Role, Section, Series,
    SeriesStyle, Table,
};
use crate::validate::{Comparison, Curve, RingComparison, RingErrors, RingRollout, RolloutRole};

/// Levels of a joint density that are drawn, as fractions of its largest value in the data.
const LEVELS: [f64; 5] = [0.05, 0.2, 0.4, 0.6, 0.8];

/// Sections on the correlations in space and time, their errors, densities, and patterns.
pub fn ring_sections(ring: &RingComparison) -> Vec<Section> {
    let roles = roles(&ring.rollouts);
    vec![
        correlations(ring, &roles),
        errors(ring, &roles),
        densities(ring),
        space_time(ring),
    ]
}

/// How the rollouts are drawn: only one can be the model.
fn roles(rollouts: &[RingRollout]) -> Vec<Role> {
    let learned = judged(rollouts);
    let role = |(k, rollout): (usize, &RingRollout)| match of_role(Some(rollout.role)) {
        Role::Model if learned != Some(k) => Role::Other,
        role => role,
    };
    rollouts.iter().enumerate().map(role).collect()
}

/// The first learned model.
fn judged(rollouts: &[RingRollout]) -> Option<usize> {
    let mut rollouts = rollouts.iter();
    rollouts.position(|rollout| rollout.role == RolloutRole::Learned)
}

fn correlations(ring: &RingComparison, roles: &[Role]) -> Section {
    let mut section = Section::new("ring-correlations", "Correlations in space and time").prose(
        "Correlations between component c of a site and component d, at an earlier time, of the site at \
         distance r along the ring. They are averaged over the ring and in units of the standard \
         deviations of the data. Bands are two standard errors of the data.",
    );
    for (r, name, title) in [
        (0, "ring-same-site", "Correlations at a site"),
        (1, "ring-neighbours", "Correlations of nearest neighbours"),
    ] {
        if r >= ring.config.sites {
            continue;
        }
        let panels = pairs(ring.components.len());
        let panels = panels.map(|(c, d)| correlation_panel(ring, roles, [c, d, r]));
        section = section.with(Figure::grid(
            name,
            title,
            "The first component is at the later time, the second at the earlier time.",
            3,
            panels.collect(),
        ));
    }
    section.with(matrices(ring))
}

/// Components whose correlations are drawn, each with itself first. Those of a spin's z with x or y vanish
/// by rotation about z; those of x with y vanish too, but only as the turn by π about x leaves the
/// dynamics alone, which a closure may miss.
fn pairs(components: usize) -> impl Iterator<Item = (usize, usize)> {
    let own = (0..components).map(|c| (c, c));
    let all = (0..components).flat_map(move |c| (0..components).map(move |d| (c, d)));
    own.chain(all.filter(move |(c, d)| c != d && (components != 3 || c + d == 1)))
}

fn correlation_panel(ring: &RingComparison, roles: &[Role], [c, d, r]: [usize; 3]) -> Panel {
    let curve = |all: &ndarray::Array4<f64>| all.slice(ndarray::s![.., c, d, r]).to_vec();
    let mut series = vec![
        Series::new(Role::Data, ring.lags.clone(), curve(&ring.correlations))
            .with_error(curve(&ring.correlation_errors)),
    ];
    series.extend(ring.rollouts.iter().zip(roles).map(|(rollout, role)| {
        let values = curve(&rollout.correlations);
        Series::new(*role, ring.lags.clone(), values).named(&rollout.name)
    }));
    let title = format!("{}, {}", ring.components[c], ring.components[d]);
    Panel::new("lag", "", Lines::new(series)).titled(title)
}

/// The correlations of all coordinates at one time.
fn matrices(ring: &RingComparison) -> Figure {
    let rollouts = ring.rollouts.iter().map(|r| (r.name.as_str(), &r.matrix));
    let all: Vec<(&str, &Array2<f64>)> = [("data", &ring.matrix)]
        .into_iter()
        .chain(rollouts)
        .collect();
    let colours = Colours::common(Palette::Diverging, all.iter().map(|(_, matrix)| *matrix));
    let panel = |(who, matrix): &(&str, &Array2<f64>)| {
        let matrix = LabelledMatrix {
            rows: ring.coordinates.clone(),
            columns: ring.coordinates.clone(),
            values: (*matrix).clone(),
            errors: None,
            colours,
        };
        Panel::new("earlier", "later", matrix).titled(*who)
    };
    Figure::grid(
        "ring-matrices",
        &format!(
            "Correlations of all coordinates, lag {}",
            digits(ring.matrix_time)
        ),
        "All pairs of coordinates, not averaged over the ring. All panels share one colour scale.",
        3,
        all.iter().map(panel).collect(),
    )
}

fn errors(ring: &RingComparison, roles: &[Role]) -> Section {
    let series = |x: &[f64], of: fn(&RingErrors) -> &Vec<f64>, style: SeriesStyle| {
        let closures = ring.rollouts.iter().zip(roles).map(|(rollout, role)| {
            Series::new(*role, x, of(&rollout.error).clone())
                .named(&rollout.name)
                .styled(style)
        });
        let floor = Series::new(Role::Data, x, of(&ring.block_floor).clone());
        let floor = floor.named("floor from blocks of the data").styled(style);
        Lines::new(closures.chain([floor]).collect())
    };
    let distances: Vec<f64> = (0..ring.block_floor.by_distance.len())
        .map(|d| d as f64)
        .collect();
    let by_time = series(&ring.lags, |e| &e.by_time, SeriesStyle::Line);
    let by_distance = series(&distances, |e| &e.by_distance, SeriesStyle::LineAndPoints);
    let error = || Axis::log("rms error");
    Section::new("ring-errors", "Errors of the correlations")
        .prose(match ring.reference.map(|k| &ring.rollouts[k].name) {
            Some(name) => format!(
                "Root mean square difference from the data. The floor is the error of “{name}”, an \
                 independent run of the system itself. Errors below the floor are not significant."
            ),
            None => "Root mean square difference from the data. The floor is the error that an \
                     independent record of the same size would have, estimated from blocks of the data."
                .into(),
        })
        .with(error_table(ring))
        .with(Figure::grid(
            "ring-errors",
            "Errors of the correlations",
            "Left: over components and separations, against the lag. Right: over components and lags, \
             against the distance along the ring.",
            2,
            vec![
                Panel::new("lag", error(), by_time).titled("against time"),
                Panel::new("distance", error(), by_distance).titled("against distance"),
            ],
        ))
}

fn error_table(ring: &RingComparison) -> Table {
    let headings = [
        "",
        "rms error",
        "standard error",
        "error / floor",
        "standard error",
    ];
    let mut table = Table::new(
        "Correlations, over components, separations and lags",
        &headings,
    );
    for rollout in &ring.rollouts {
        table = table.row([
            rollout.name.clone(),
            digits(rollout.error.total),
            digits(rollout.standard_error.total),
            format!("{:.2}", rollout.error_over_floor),
            format!("{:.2}", rollout.error_over_floor_error),
        ]);
    }
    let floor = ring.block_floor.total;
    let own = ring
        .reference
        .map_or(floor, |k| ring.rollouts[k].error.total);
    let ratio = format!("{:.2}", floor / own);
    table.row([
        "floor from blocks of the data".into(),
        digits(floor),
        String::new(),
        ratio,
        String::new(),
    ])
}

/// Data and the learned model; the table has all rollouts.
fn densities(ring: &RingComparison) -> Section {
    let shown = judged(&ring.rollouts).or((!ring.rollouts.is_empty()).then_some(0));
    let families = [
        ("densities of a component", &ring.marginals),
        ("joint densities at a site", &ring.joints),
        ("joint densities of neighbours", &ring.neighbours),
    ];
    let mut headings = vec!["L1 distance"];
    headings.extend(ring.rollouts.iter().map(|rollout| rollout.name.as_str()));
    headings.push("floor from blocks of the data");
    let mut table = Table::new("Mean of Σ |p − p_data| over bins", &headings);
    for (name, family) in families {
        let distances = family.overall.iter().map(|distance| digits(distance.value));
        let floor = family
            .overall
            .first()
            .map_or("–".into(), |d| digits(d.floor));
        let row = [name.to_owned()]
            .into_iter()
            .chain(distances)
            .chain([floor]);
        table = table.row(row.collect::<Vec<_>>());
    }
    let named = |k: usize| ring.rollouts[k].name.as_str();
    let [marginals, joints, neighbours] = [
        (
            &ring.marginals,
            "ring-densities",
            "Densities of the components",
        ),
        (&ring.joints, "ring-joints", "Joint densities at a site"),
        (
            &ring.neighbours,
            "ring-neighbour-densities",
            "Joint densities of neighbours",
        ),
    ]
    .map(|(family, name, title)| density_figure(family, name, title, shown.map(|k| (k, named(k)))));
    let section = Section::new("ring-densities", "Densities over all sites").with(table);
    let figures = [marginals, joints, neighbours].into_iter();
    figures
        .filter(|figure| !figure.panels.is_empty())
        .fold(section, |section, figure| section.with(figure))
}

fn density_figure(
    family: &Comparison,
    name: &str,
    title: &str,
    shown: Option<(usize, &str)>,
) -> Figure {
    let lines = family.curves.iter().all(|curve| curve.axes.len() == 1);
    let caption = if lines {
        "Probability of each bin; the band is two standard errors of the data."
    } else {
        "Contours at 5, 20, 40, 60 and 80 % of the largest density in the data."
    };
    let panel = |curve: &Curve| {
        let who = shown.map(|(k, name)| (name, curve.rollouts[k].values.as_slice()));
        match &curve.axes[..] {
            [axis] => {
                let data = Series::new(Role::Data, axis.at.clone(), curve.data.clone());
                let model = who.map(|(name, values)| {
                    Series::new(Role::Model, axis.at.clone(), values).named(name)
                });
                let series = [data.with_error(curve.error.clone())]
                    .into_iter()
                    .chain(model);
                Panel::new(
                    axis.name.clone(),
                    "probability",
                    Lines::new(series.collect()),
                )
            }
            axes => {
                let most = curve.data.iter().copied().fold(0.0, f64::max);
                let levels = LEVELS.map(|level| level * most);
                let contours = |role: Role, values: &[f64]| {
                    let (x, y) = (&axes[0].at, &axes[1].at);
                    let grid = Array2::from_shape_vec((x.len(), y.len()), values.to_vec());
                    let grid = grid.expect("one value for each pair of bins");
                    let (x, y) = contour_lines(x, y, &grid, &levels);
                    Series::new(role, x, y)
                };
                let model = who.map(|(name, values)| contours(Role::Model, values).named(name));
                let series = [contours(Role::Data, &curve.data)].into_iter().chain(model);
                let (x, y) = (axes[0].name.clone(), axes[1].name.clone());
                Panel::new(x, y, Lines::new(series.collect()))
            }
        }
    };
    let panels = family.curves.iter().map(panel).collect();
    Figure::grid(name, title, caption, 3, panels)
}

/// Every component of the data and of every closure.
fn space_time(ring: &RingComparison) -> Section {
    let rollouts = ring
        .rollouts
        .iter()
        .filter(|r| r.role != RolloutRole::Reference);
    let named = rollouts.map(|rollout| (rollout.name.as_str(), &rollout.window));
    let all: Vec<_> = [("data", &ring.window)].into_iter().chain(named).collect();
    let rows = all.iter().map(|(_, w)| w.nrows()).min().unwrap_or(0);
    let end = (rows.max(1) - 1) as f64 * ring.sampling_interval;
    let windows: Vec<(&str, [f64; 2], Array2<f64>)> = all
        .into_iter()
        .map(|(who, window)| {
            (
                who,
                [0.0, end],
                window.slice(ndarray::s![..rows, ..]).to_owned(),
            )
        })
        .collect();
    let components = &ring.components;
    let figures = components.iter().enumerate();
    let figures = figures.map(|(c, name)| space_time_figure(&windows, c, components.len(), name));
    figures.fold(Section::new("space-time", "Space and time"), Section::with)
}
