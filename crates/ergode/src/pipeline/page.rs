//! The report page of a run.

use super::config::FitConfig;
use super::mobility::MobilityFound;
use super::results::Results;
use super::rollout::Runs;
use super::truth::ExactMobility;
use crate::check::CheckReport;
use crate::data::Ensemble;
use crate::model::LangevinModel;
use crate::report::{
    FieldPair, Page, Role, Section, SectionPart, SpinClosure, Table, check_section,
    climatology_section, entropy_section, equation_section, field_section, fit_section,
    response_section, score_section, spectrum_section, spin_section, validation_conclusion,
    validation_sections,
};
use crate::score::{ExactScore, ScoreCertificate};
use crate::systems::ExactFields;
use crate::validate::{EntropyProduction, Validation};

/// What a page is made from.
pub(super) struct Material<'a> {
    pub(super) model: &'a LangevinModel,
    pub(super) check: &'a CheckReport,
    pub(super) results: &'a Results,
    pub(super) validation: &'a Validation,
    /// Sections on the model, made when it was learned.
    pub(super) sections: &'a [Section],
    pub(super) entropy: Option<&'a EntropyProduction>,
    pub(super) runs: &'a Runs,
    pub(super) held_out: &'a Ensemble,
    pub(super) exact: Option<&'a dyn ExactFields>,
    pub(super) config: &'a FitConfig,
}

/// The page: verdict first, then the equation, the record, score and mobility, the validation, and how
/// all of it was made.
pub(super) fn assemble(material: &Material) -> Page {
    let (results, validation) = (material.results, material.validation);
    let mut page = Page::new(
        "A Langevin equation from data",
        format!(
            "{} coordinate{} ({}), {} samples; {}",
            material.model.dim(),
            if material.model.dim() == 1 { "" } else { "s" },
            shortened(material.model.names()),
            material.check.samples,
            summary(results)
        ),
    );
    page.conclusion = Some(validation_conclusion(validation));
    // What the model is, then the evidence in the order in which it was gathered.
    let (equation, learned): (Vec<Section>, Vec<Section>) = material
        .sections
        .iter()
        .cloned()
        .partition(|section| section.id == "equation");
    let runs = material.runs;
    let names = material.model.names();
    let sections = equation
        .into_iter()
        .chain(truth_section(results))
        .chain(observation_section(material.model))
        .chain([folded(check_section(material.check), material.model.dim())])
        .chain(fields(material))
        .chain(learned)
        .chain(validation_sections(validation))
        .chain(runs.climatology.as_ref().map(climatology_section))
        .chain(runs.hovmoeller.clone())
        .chain(runs.spectrum.as_ref().map(spectrum_section))
        .chain(material.entropy.map(entropy_section))
        .chain(
            runs.response
                .as_ref()
                .map(|check| response_section(check, names)),
        );
    page.sections.extend(sections);
    page.sections.push(making(material));
    page
}

/// How record and state belong together, where they are not the same.
fn observation_section(model: &LangevinModel) -> Option<Section> {
    let sentences = model.observation().sentences();
    let section = Section::new("observation", "From the record to the state");
    let told = !sentences.is_empty();
    let section = sentences.into_iter().fold(section, Section::prose);
    told.then_some(section)
}

/// The section with its parts folded away where there are many coordinates.
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

/// Sections on what was learned: the equation, the score, the fit of the mobility.
pub(super) fn model_sections(
    certificate: &ScoreCertificate,
    mobility: &MobilityFound,
    sites: usize,
) -> Vec<Section> {
    let fit = mobility.fit.as_ref();
    let mut sections = Vec::new();
    let mut equation = fit.map(|fit| equation_section(&fit.mobility));
    if let Some(equation) = equation.as_mut().filter(|_| sites > 0) {
        equation.parts.push(SectionPart::Prose(format!(
            "This is one of {sites} sites, all alike: M couples the components of a site only, the score \
             couples neighbouring sites."
        )));
    }
    sections.extend(equation);
    sections.push(score_section(certificate));
    sections.extend(fit.map(fit_section));
    sections.extend(mobility.residuals.clone());
    sections
}

/// The fields of one or two coordinates, or of a ring of spins, on the data held out.
fn fields(material: &Material) -> Option<Section> {
    let model = material.model;
    if let Some(onsite) = model.onsite() {
        let closure = SpinClosure {
            name: "model",
            role: Role::Model,
            block: onsite,
        };
        return spin_section(&[closure], material.held_out).ok();
    }
    let score = material
        .exact
        .map(|exact| ExactScore::new(model.dim(), exact));
    let mobility = material.exact.map(|exact| ExactMobility::new(model, exact));
    let pair = FieldPair {
        score: model.score(),
        mobility: model.mobility(),
    };
    let exact = score.as_ref().zip(mobility.as_ref());
    let exact = exact.map(|(score, mobility)| FieldPair { score, mobility });
    field_section(pair, exact, material.held_out).ok()
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
    format!(
        "correlations of data held out are met to {:.2} of their noise floor{}",
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
        Section::new("truth", "Against the exact answer")
            .prose(
                "The data are of a reference system, whose score and mobility are known. Errors are \
                 root mean squares over the held-out samples.",
            )
            .with(table),
    )
}

/// Timings and configuration.
fn making(material: &Material) -> Section {
    let results = material.results;
    let mut table = Table::new("Seconds", &["stage", "seconds"]);
    for (stage, seconds) in &results.wall_s {
        table = table.row([stage.clone(), format!("{seconds:.1}")]);
    }
    let configuration = toml::to_string(material.config).unwrap_or_default();
    Section::new("making", "How it was made")
        .prose(format!(
            "Ergode {}, seed {}, data {}. Score: {} ({}). Recipe: {}.",
            results.ergode,
            results.seed,
            results.data,
            results.score.kind,
            results.score.reason,
            results.recipe_reason
        ))
        .with(table)
        .with(SectionPart::Details {
            summary: "Configuration".into(),
            parts: vec![SectionPart::Equation(configuration)],
        })
}
