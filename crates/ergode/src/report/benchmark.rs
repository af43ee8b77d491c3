//! Sections that a benchmark of the paper adds to the page of its run.

use serde::{Deserialize, Serialize};

use super::results::{Reproduction, Results, Truth};
use super::{
    Figure, Lines, Panel, Role, Section, Series, SeriesStyle, SpinMaps, Table, ring_sections,
    spin_section, structure_section,
};
use crate::finding::digits;
use crate::mobility::Structure;
use crate::validate::RingComparison;

/// Data of one part of a benchmark's page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BenchmarkPart {
    /// K_m(t) of the Cox-Ingersoll-Ross diffusion.
    Analytic {
        /// The lags t.
        lags: Vec<f64>,
        /// The power m of every curve, and its values.
        curves: Vec<(u32, Vec<f64>)>,
    },
    /// The residual operator of several mobilities.
    Operator(OperatorRecord),
    /// Which entries of the mobility matter.
    Structure {
        /// The diagnostic.
        structure: Structure,
        /// Names of the coordinates.
        names: Vec<String>,
    },
    /// The onsite blocks of several closures.
    Spins(SpinMaps),
    /// Rollouts of several closures of a ring.
    Ring(Box<RingComparison>),
    /// Variants of the paper's recipe.
    Variants(Vec<RecipeVariant>),
}

/// Residual of Ċ after the constant mobility in some channels, and its reproduction by other mobilities.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OperatorRecord {
    /// The lags.
    pub lags: Vec<f64>,
    /// The channels that are drawn.
    pub channels: Vec<OperatorChannel>,
}

/// One channel (m, n) of the residual operator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OperatorChannel {
    /// The observables.
    pub title: String,
    /// Ċ − A\[Φ\] at the lags.
    pub target: Vec<f64>,
    /// Its standard error.
    pub error: Vec<f64>,
    /// Name, role and A\[M − Φ\] of every other mobility.
    pub lines: Vec<(String, Role, Vec<f64>)>,
}

/// A variant of the paper's recipe.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecipeVariant {
    /// What was changed.
    pub name: String,
    /// Its errors.
    pub truth: Truth,
    /// Mean over the channels of χ² per equation of the residual operator.
    pub chi2: f64,
}

/// Heading of the page of a benchmark.
pub(super) fn benchmark_title(reproduction: &Reproduction) -> String {
    let name = match reproduction.benchmark.as_str() {
        "cir" => "Cox-Ingersoll-Ross",
        "softspin" => "Soft spins",
        _ => "Affine noise in two dimensions",
    };
    format!("{name}: comparison with the paper")
}

/// The sections of a benchmark; none without one.
pub(super) fn benchmark_sections(results: &Results, parts: &[BenchmarkPart]) -> Vec<Section> {
    let Some(reproduction) = &results.reproduction else {
        return Vec::new();
    };
    let mut sections = vec![front_section(reproduction)];
    for part in parts {
        match part {
            BenchmarkPart::Analytic { lags, curves } => sections
                .push(Section::new("analytic", "Analytic results").with(k_figure(lags, curves))),
            BenchmarkPart::Operator(operator) => {
                sections.push(operator_section(&reproduction.benchmark, operator));
            }
            BenchmarkPart::Structure { structure, names } => {
                sections.push(structure_section(structure, names));
            }
            BenchmarkPart::Spins(maps) => sections.push(spin_section(maps)),
            BenchmarkPart::Ring(ring) => sections.extend(ring_sections(ring)),
            BenchmarkPart::Variants(variants) => sections.push(variant_section(variants)),
        }
    }
    sections
}

/// The numbers, choices and differences.
fn front_section(reproduction: &Reproduction) -> Section {
    let shown = |value: Option<f64>| value.map_or(String::new(), digits);
    let mut table = Table::new("", &["", "here", "standard error", "paper", "exact"]);
    for number in &reproduction.numbers {
        table = table.row([
            number.what.clone(),
            digits(number.found),
            shown(number.stderr),
            shown(number.paper),
            shown(number.exact),
        ]);
    }
    let mut section = Section::new("paper", "Comparison with the paper")
        .prose(format!(
            "Computed in {:.0} s on {}.",
            reproduction.seconds, reproduction.machine
        ))
        .with(table);
    for (title, lines) in [
        ("Choices that the paper leaves open", &reproduction.choices),
        ("Differences from the paper", &reproduction.differences),
    ] {
        if !lines.is_empty() {
            section = section.prose(format!("{title}:"));
            for line in lines {
                section = section.prose(format!("• {line}"));
            }
        }
    }
    section
}

fn k_figure(lags: &[f64], curves: &[(u32, Vec<f64>)]) -> Figure {
    let series = curves.iter().map(|(m, values)| {
        Series::new(Role::Other, lags.to_vec(), values.clone()).named(format!("m = {m}"))
    });
    Figure::single(
        "k-curves",
        "K_m(t)",
        "A[a (x − θ)] = −a K_m(t) in the channel of x^m and x. K_1 is zero: the coordinate is insensitive \
         to the varying part of M.",
        Panel::new("lag", "K_m", Lines::new(series.collect())),
    )
}

fn operator_section(benchmark: &str, operator: &OperatorRecord) -> Section {
    let (name, section) = match benchmark {
        "cir" => (
            "channels",
            Section::new("channels", "Channels from data").prose(
                "The coordinate x depends on Φ only: the varying part of M cancels in its channel, which \
                 is zero within sampling errors. The powers x², x³ and x⁴ are sensitive to it.",
            ),
        ),
        "softspin" => (
            "operator",
            Section::new("operator", "Residual operator of the eleven families"),
        ),
        _ => (
            "operator",
            Section::new("operator", "Residual operator of the 18 channels"),
        ),
    };
    let lags = &operator.lags;
    let panels = operator.channels.iter().map(|channel| {
        let mut series = vec![
            Series::new(Role::Data, lags.clone(), channel.target.clone())
                .with_error(channel.error.clone())
                .styled(SeriesStyle::LineAndPoints)
                .named("constant-mobility residual"),
        ];
        series.extend(channel.lines.iter().map(|(name, role, values)| {
            Series::new(*role, lags.clone(), values.clone()).named(name.as_str())
        }));
        Panel::new("lag", "", Lines::new(series)).titled(channel.title.as_str())
    });
    section.with(Figure::grid(
        name,
        "Residual operator",
        "Points: the derivative of the observed correlation minus A[Φ], with two standard errors. Lines: \
         A[M − Φ] of each mobility, on the same data.",
        3,
        panels.collect(),
    ))
}

fn variant_section(variants: &[RecipeVariant]) -> Section {
    let mut table = Table::new(
        "Relative errors over the training samples; M relative to M − Φ, so the error of Φ is 1",
        &["recipe", "score", "D", "R", "M", "χ² per equation"],
    );
    let percent =
        |value: Option<f64>| value.map_or(String::new(), |v| format!("{:.1} %", 100.0 * v));
    for variant in variants {
        let truth = &variant.truth;
        table = table.row([
            variant.name.clone(),
            percent(Some(truth.score_rel_l2)),
            percent(Some(truth.diffusion_rel_l2)),
            percent(truth.current_rel_l2),
            truth
                .mobility_rel_delta
                .map_or(String::new(), |v| format!("{v:.3}")),
            format!("{:.2}", variant.chi2),
        ]);
    }
    Section::new("variants", "Effect of each change to the recipe")
        .prose("Each row adds one change to the row above.")
        .with(table)
}
