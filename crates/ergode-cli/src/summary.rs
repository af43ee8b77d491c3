//! The end of a fit on a terminal: what was learned, how good it is, what to do next, on one screen.

use std::io::IsTerminal;
use std::path::Path;

use ergode::report::EquationFormat;
use ergode::{Finding, Fitted, Severity, Verdict};

use crate::fit::{show, verdict_name};
use crate::output::{Failed, print, shown};

/// Lines of an equation, and findings, that are shown at most.
const EQUATION: usize = 8;
const FINDINGS: usize = 3;
/// Characters of a line.
const WIDTH: usize = 100;

/// Print the outcome of a fit: a screen on a terminal, otherwise the lines or the JSON that scripts read.
pub(crate) fn conclude(fitted: &Fitted, output: &Path, json: bool) -> Result<(), Failed> {
    if json || !std::io::stdout().is_terminal() {
        return show(fitted.results(), output, json);
    }
    print(&screen(&outcome(fitted), &shown(output)))
}

/// What the screen shows.
struct Outcome {
    verdict: Verdict,
    /// The equation as text, if it has one.
    equation: Option<String>,
    /// Names and values of the numbers that decide.
    numbers: Vec<(&'static str, String)>,
    findings: Vec<Finding>,
}

fn outcome(fitted: &Fitted) -> Outcome {
    let results = fitted.results();
    let validation = &results.validation;
    let floors = |value: f64| format!("{value:.2} x the noise floor");
    let chi2 = results.mobility.chi2_per_equation.unwrap_or(f64::NAN);
    let numbers = [
        (
            "correlations",
            validation.rmse_over_floor,
            floors(validation.rmse_over_floor),
        ),
        (
            "densities",
            validation.density_l1 / validation.density_l1_floor,
            floors(validation.density_l1 / validation.density_l1_floor),
        ),
        (
            "fit",
            chi2,
            format!("chi^2 {chi2:.2} per equation ({})", results.recipe),
        ),
    ];
    let known = numbers
        .into_iter()
        .filter(|(_, value, _)| value.is_finite());
    let equation = fitted.model.written_equation();
    Outcome {
        verdict: validation.verdict,
        equation: equation.map(|equation| equation.write(EquationFormat::Text)),
        numbers: known.map(|(name, _, text)| (name, text)).collect(),
        findings: fitted.validation().reasons.clone(),
    }
}

fn screen(outcome: &Outcome, run: &str) -> String {
    let mut lines = vec![format!("verdict: {}", verdict_name(outcome.verdict))];
    let grave: Vec<&Finding> = outcome
        .findings
        .iter()
        .filter(|finding| finding.severity != Severity::Info)
        .collect();
    let shown = grave.iter().take(FINDINGS);
    lines.extend(shown.map(|finding| format!("  - {}", finding.message)));
    if grave.len() > FINDINGS {
        lines.push(format!(
            "  - and {} more, on the page",
            grave.len() - FINDINGS
        ));
    }
    lines.push(String::new());
    if let Some(equation) = &outcome.equation {
        lines.extend(equation.lines().take(EQUATION).map(str::to_owned));
        if equation.lines().count() > EQUATION {
            lines.push(format!("... all of it: ergode equation {run}"));
        }
        lines.push(String::new());
    }
    let numbers = outcome.numbers.iter();
    lines.extend(numbers.map(|(name, text)| format!("{name:<13} {text}")));
    lines.push(format!("{:<13} {run}/report.html", "page"));
    lines.push(String::new());
    lines.extend(next(&grave, run).map(|step| format!("next: {step}")));
    let cut: Vec<String> = lines.iter().map(|line| cut(line)).collect();
    cut.join("\n") + "\n"
}

/// What to try: the advice of the findings, or what a good model is for.
fn next<'a>(grave: &'a [&Finding], run: &'a str) -> impl Iterator<Item = String> + 'a {
    let mut advice: Vec<String> = Vec::new();
    for finding in grave {
        if !finding.advice.is_empty() && !advice.contains(&finding.advice) {
            advice.push(finding.advice.clone());
        }
    }
    if advice.is_empty() {
        advice = vec![
            format!("ergode simulate {run} -o new.npz --time 1000 --trajectories 64"),
            format!("ergode equation {run} --format python -o model.py"),
            format!("ergode validate {run} --against ANOTHER-RECORD"),
        ];
    }
    advice.into_iter().take(FINDINGS)
}

/// A line that fits.
fn cut(line: &str) -> String {
    match line.chars().count() > WIDTH {
        true => line.chars().take(WIDTH - 3).collect::<String>() + "...",
        false => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ergode::finding::FindingKind;

    fn finding(number: usize) -> Finding {
        Finding {
            kind: FindingKind::Misfit,
            severity: Severity::Warn,
            message: format!("finding {number} {}", "long ".repeat(60)),
            advice: format!("advice {number}"),
        }
    }

    #[test]
    fn the_worst_case_fits_a_screen_and_says_what_to_do() {
        let outcome = Outcome {
            verdict: Verdict::Fail,
            equation: Some("dx = ..\n".repeat(40)),
            numbers: vec![("correlations", "1.2 x".into()); 3],
            findings: (0..9).map(finding).collect(),
        };
        let text = screen(&outcome, "run");
        assert!(text.lines().count() <= 24, "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH));
        assert!(text.starts_with("verdict: fail\n"));
        for part in [
            "and 6 more",
            "run/report.html",
            "next: advice 0",
            "ergode equation run",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }

    #[test]
    fn a_good_model_is_put_to_use() {
        let outcome = Outcome {
            verdict: Verdict::Pass,
            equation: None,
            numbers: Vec::new(),
            findings: Vec::new(),
        };
        let text = screen(&outcome, "run");
        assert!(text.contains("next: ergode simulate run"), "{text}");
    }
}
