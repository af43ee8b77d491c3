//! The certificate of a score.

use crate::finding::digits;
use crate::report::{BarSeries, Bars, Figure, Panel, Role, Section, SectionPart};
use crate::score::{Resampling, ScoreCertificate};

/// Most identities that are drawn.
const IDENTITIES: usize = 24;

/// Quality of a score on held-out data.
pub fn score_section(certificate: &ScoreCertificate) -> Section {
    if certificate.is_missing() {
        let section = Section::new("score", "Score").prose("The score was not certified.");
        return section.with(SectionPart::Findings(certificate.findings.clone()));
    }
    let mut section = Section::new("score", "Score").prose(format!(
        "The relative error of the score is at least {} (chance alone gives {}). The relative error of \
         its linear part is {} (chance alone gives {}). Standard errors come from {} blocks of held-out \
         data.",
        percent(certificate.relative_error),
        percent(certificate.relative_floor),
        percent(certificate.stein_error),
        percent(certificate.stein_floor),
        certificate.blocks
    ));
    if let Some([loss, error]) = certificate.loss {
        section = section.prose(format!(
            "Hyvärinen's objective ⟨|s|²/2 + ∇·s⟩ on these data is {} ± {}.",
            digits(loss),
            digits(error)
        ));
    }
    if !certificate.findings.is_empty() {
        section = section.with(SectionPart::Findings(certificate.findings.clone()));
    }
    section = section.with(identities(certificate));
    match &certificate.resampling {
        Some(resampling) if !resampling.marginals.is_empty() => section.with(marginals(resampling)),
        _ => section,
    }
}

fn percent(fraction: f64) -> String {
    format!("{:.2} %", 100.0 * fraction)
}

fn chance(probability: f64) -> String {
    match probability.min(1.0) {
        rare if rare < 0.01 => digits(rare),
        common => format!("{common:.2}"),
    }
}

/// The largest violations in standard errors.
fn identities(certificate: &ScoreCertificate) -> Figure {
    let mut worst: Vec<_> = certificate.identities.iter().collect();
    worst.sort_by(|a, b| b.z.abs().total_cmp(&a.z.abs()));
    worst.truncate(IDENTITIES);
    let bars = Bars {
        labels: worst
            .iter()
            .map(|identity| identity.label.clone())
            .collect(),
        series: vec![BarSeries {
            name: Role::Model.name().into(),
            role: Role::Model,
            values: worst.iter().map(|identity| identity.z).collect(),
            error: Vec::new(),
        }],
    };
    let caption = format!(
        "All are zero for the exact score. Shown are the largest of {}, in standard errors. A violation \
         as large as the first occurs by chance with probability {}.",
        certificate.test.count,
        chance(certificate.test.probability)
    );
    let panel = Panel::new("", "violation / standard error", bars);
    Figure::single(
        "identities",
        "Stein identities of the score",
        &caption,
        panel,
    )
}

fn marginals(resampling: &Resampling) -> Figure {
    let series = |name: &str, role, values| BarSeries {
        name: name.into(),
        role,
        values,
        error: Vec::new(),
    };
    let all = &resampling.marginals;
    let bars = Bars {
        labels: all.iter().map(|marginal| marginal.name.clone()).collect(),
        series: vec![
            series(
                "model",
                Role::Model,
                all.iter().map(|m| m.distance).collect(),
            ),
            series(
                "by chance",
                Role::Other,
                all.iter().map(|m| m.floor).collect(),
            ),
        ],
    };
    let panel = Panel::new("coordinate", "Kolmogorov-Smirnov distance", bars);
    Figure::single(
        "marginals",
        "Marginals after Langevin runs with the score",
        "Runs that start from the data should not change the marginals, except by chance.",
        panel,
    )
}
