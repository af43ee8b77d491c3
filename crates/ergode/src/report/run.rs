//! The page of a run.

use super::benchmark::{benchmark_sections, benchmark_title};
use super::equation::equation_lines;
use super::record::{FieldRecord, ForecastRecord, Part, RunRecord};
use super::results::Results;
use super::sections::validation_conclusion;
use super::{
    Page, Section, SectionPart, Table, check_section, climatology_section, entropy_section,
    equation_section, field_section, fit_section, forecast_section, hovmoeller_figure,
    residual_section, response_section, score_section, spectrum_section, spin_section,
    structure_section, validation_sections,
};

/// The page of a run: verdict first, then the equation, the record, score and mobility, the validation,
/// and how all of it was made. A part that could not be computed leaves a note.
pub fn run_page(record: &RunRecord) -> Page {
    let results = &record.results;
    let title = match &results.reproduction {
        Some(reproduction) => benchmark_title(reproduction),
        None => "Langevin equation from data".into(),
    };
    let dim = record.names.len();
    let mut page = Page::new(
        title,
        format!(
            "{dim} coordinate{} ({}), {} samples; {}",
            if dim == 1 { "" } else { "s" },
            shortened(&record.names),
            record.check.samples,
            summary(results)
        ),
    );
    page.conclusion = Some(validation_conclusion(&record.validation));
    let mut sections: Vec<Section> = equation(record).into_iter().collect();
    sections.extend(truth_section(results));
    sections.extend(observation_section(record));
    sections.push(folded(check_section(&record.check), dim));
    sections.extend(fields(record));
    sections.extend(learned(record));
    sections.extend(validation_sections(&record.validation));
    sections.extend(evidence(record));
    sections.push(making(record));
    // The benchmark's version of a section takes the place of the fit's.
    page.sections = benchmark_sections(results, &record.benchmark);
    let again: Vec<String> = page.sections.iter().map(|s| s.id.clone()).collect();
    sections.retain(|section| !again.contains(&section.id));
    page.sections.extend(sections);
    page
}

/// The section that `draw` makes of a part, or a note that says why there is none.
fn shown<T>(
    part: &Part<T>,
    (id, title, what): (&str, &str, &str),
    draw: impl FnOnce(&T) -> Section,
) -> Section {
    match part {
        Part::Done(value) => draw(value),
        Part::Missing(reason) => {
            Section::new(id, title).prose(format!("{what} not computed: {reason}."))
        }
    }
}

/// Most terms of a line of the equation.
const TERMS: usize = 12;

fn equation(record: &RunRecord) -> Option<Section> {
    let fit = record.learned.fit.as_ref()?;
    let mut section = equation_section(&fit.mobility);
    let written = record.results.equation.as_ref();
    if let Some(lines) = written.and_then(|equation| equation_lines(equation, TERMS)) {
        section = section.with(SectionPart::Equation(lines)).prose(
            "In the units of the state; terms below two standard errors are left out. `ergode equation` writes \
             all of them, as LaTeX or source code too.",
        );
    }
    Some(match record.sites {
        0 => section,
        sites => section.prose(format!(
            "The equation is for one of {sites} identical sites. M couples the components of one site \
             only; the score couples neighbouring sites."
        )),
    })
}

fn fields(record: &RunRecord) -> Option<Section> {
    let about = ("fields", "Mobility and drift", "Maps of the fields were");
    let fields = record.fields.as_ref()?;
    Some(shown(fields, about, |fields| match fields {
        FieldRecord::Plane(maps) => field_section(maps),
        FieldRecord::Spins(maps) => spin_section(maps),
    }))
}

/// Score, fit of the mobility, structure.
fn learned(record: &RunRecord) -> Vec<Section> {
    let learned = &record.learned;
    let mut sections = vec![score_section(&learned.certificate)];
    sections.extend(learned.fit.as_ref().map(fit_section));
    // Without lines of other mobilities nothing can be of another length.
    let network = learned.network.as_ref();
    sections.extend(network.and_then(|network| residual_section(network, &[]).ok()));
    let about = (
        "structure",
        "Structure of the mobility",
        "The structure of the mobility was",
    );
    let draw = |found: &_| structure_section(found, &record.names);
    let structure = learned.structure.as_ref();
    sections.extend(structure.map(|part| shown(part, about, draw)));
    sections
}

/// Cycle, patterns, time scales, irreversibility, response.
fn evidence(record: &RunRecord) -> Vec<Section> {
    let evidence = &record.evidence;
    let mut sections = Vec::new();
    let about = ("forecast", "Forecast skill", "The skill of forecasts was");
    let draw = |found: &ForecastRecord| forecast_section(&found.skill);
    sections.extend(evidence.skill.as_ref().map(|part| shown(part, about, draw)));
    let about = (
        "climatology",
        "Mean and variance by phase",
        "The comparison by phase was",
    );
    let climatology = evidence.climatology.as_ref();
    sections.extend(climatology.map(|part| shown(part, about, climatology_section)));
    let about = (
        "space-time",
        "Space and time",
        "Patterns in space and time were",
    );
    let draw = |patterns: &_| Section::new(about.0, about.1).with(hovmoeller_figure(patterns));
    let patterns = evidence.space_time.as_ref();
    sections.extend(patterns.map(|part| shown(part, about, draw)));
    let about = ("time-scales", "Time scales", "Time scales were");
    sections.push(shown(&evidence.spectrum, about, spectrum_section));
    let about = (
        "irreversibility",
        "Irreversibility",
        "Entropy production was",
    );
    let entropy = &record.learned.entropy_production;
    sections.push(shown(entropy, about, entropy_section));
    let about = ("response", "Response", "The response to a kick was");
    let draw = |check: &_| response_section(check, &record.names);
    sections.push(shown(&evidence.response, about, draw));
    sections
}

/// Relation between record and state, if they differ.
fn observation_section(record: &RunRecord) -> Option<Section> {
    let sentences = record.observation.sentences();
    let section = Section::new("observation", "Observation: from the record to the state");
    (!sentences.is_empty()).then(|| sentences.into_iter().fold(section, Section::prose))
}

/// The section with its parts folded away if there are many coordinates.
fn folded(mut section: Section, dim: usize) -> Section {
    const SHOWN: usize = 6;
    if dim > SHOWN {
        let parts = std::mem::take(&mut section.parts);
        section.parts.push(SectionPart::Details {
            summary: format!("All {dim} coordinates"),
            parts,
        });
    }
    section
}

fn shortened(names: &[String]) -> String {
    const SHOWN: usize = 6;
    let mut text = names[..names.len().min(SHOWN)].join(", ");
    if names.len() > SHOWN {
        text += ", ...";
    }
    text
}

fn summary(results: &Results) -> String {
    if results.validation.rmse_over_floor.is_nan() {
        return "not compared with the held-out data".into();
    }
    format!(
        "correlations of held-out data: error {:.2} x the noise floor{}",
        results.validation.rmse_over_floor,
        results
            .validation
            .constant_rmse
            .map_or(String::new(), |rmse| format!(
                " (constant mobility: {:.2})",
                rmse / results.validation.noise_floor
            ))
    )
}

fn truth_section(results: &Results) -> Option<Section> {
    let truth = results.truth.as_ref()?;
    let percent = |value: f64| format!("{:.2} %", 100.0 * value);
    let mut table = Table::new("", &["", "relative error"])
        .row(["score s".into(), percent(truth.score_rel_l2)])
        .row(["diffusion D".into(), percent(truth.diffusion_rel_l2)]);
    if let Some(error) = truth.current_rel_l2 {
        table = table.row(["current R".into(), percent(error)]);
    }
    if let Some(error) = truth.mobility_rel_delta {
        table = table.row(["M, relative to its variation".into(), percent(error)]);
    }
    Some(
        Section::new("truth", "Comparison with the exact answer")
            .prose(
                "The data come from a reference system with known score and mobility. Errors are root \
                 mean squares over the held-out samples.",
            )
            .with(table),
    )
}

/// Decisions, timings and configuration.
fn making(record: &RunRecord) -> Section {
    let results = &record.results;
    let mut table = Table::new("Seconds", &["stage", "seconds"]);
    for (stage, seconds) in &results.wall_s {
        table = table.row([stage.clone(), format!("{seconds:.1}")]);
    }
    let mut decisions = Table::new("Decisions", &["decision", "choice", "reason"]);
    for made in &results.policy {
        let row = [&made.decision, &made.choice, &made.reason];
        decisions = decisions.row(row.map(Clone::clone));
    }
    Section::new("making", "Settings and timings")
        .prose(format!(
            "Ergode {}, seed {}, data {}. Score: {} ({}). Recipe: {}.",
            results.ergode,
            results.seed,
            results.data,
            results.score.kind,
            results.score.reason,
            results.recipe_reason
        ))
        .with(decisions)
        .with(table)
        .with(SectionPart::Details {
            summary: "Configuration".into(),
            parts: vec![SectionPart::Equation(record.configuration.clone())],
        })
}
