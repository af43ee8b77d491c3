//! A fitted mobility: what is identifiable, coefficients, degrees, time scales.

use crate::finding::{Finding, FindingKind, Severity, digits};
use crate::mobility::{LinearMobility, MobilityFit};
use crate::report::{
    Axis, Figure, Lines, Panel, Role, Section, SectionPart, Series, SeriesStyle, Table,
};

/// Most terms of an entry of M that are written out.
const TERMS: usize = 15;

/// The model's equation for a reader: what the symbols are, and M written out where it is short.
pub fn equation_section(mobility: &LinearMobility) -> Section {
    let basis = mobility.basis();
    if basis.has_drift() {
        return Section::new("equation", "The equation")
            .with(SectionPart::Equation(
                "dx = b dt + √2 Σ dW,  Σ Σᵀ = D\nb = M s + ∇·M,  M = D + R,  R = −Rᵀ,  s = ∇ ln p".into(),
            ))
            .prose(format!(
                "The drift b and the diffusion D were fitted as polynomials of the state, without a score; R \
                 follows from them. The fit has {} coefficients.",
                basis.len()
            ));
    }
    let (dim, (diffusion, current)) = (basis.dim(), basis.degrees());
    let names = basis.names();
    let state = if dim <= 6 {
        names.join(", ")
    } else {
        format!("{}, …, {}", names[0], names[dim - 1])
    };
    let section = Section::new("equation", "The equation").with(SectionPart::Equation(
        "dx = [M s + ∇·M] dt + √2 Σ dW\nM = D + R,  Σ Σᵀ = D = Dᵀ,  R = −Rᵀ,  s = ∇ ln p".into(),
    ));
    let degree = |degree: Option<usize>, what: &str| match degree {
        None => format!("{what} is zero"),
        Some(0) => format!("{what} is constant"),
        Some(1) => format!("{what} is linear in the state"),
        Some(degree) => format!("{what} is a polynomial of degree {degree}"),
    };
    let plural = if dim == 1 { "" } else { "s" };
    let section = section.prose(format!(
        "The state x has {dim} coordinate{plural}, {state}. {}; {}. M has {} coefficients. The density p \
         is stationary for any M. D sets the noise and R the irreversible current.",
        degree(diffusion, "The diffusion D"),
        degree(current, "the antisymmetric part R"),
        basis.len()
    ));
    match written_out(mobility) {
        Some(lines) => section
            .with(SectionPart::Equation(lines))
            .prose("Coefficients are for standardised coordinates, each (x − mean)/std."),
        None => section,
    }
}

/// `D[x,y] = 0.12 + 0.3 x − ...`, one line per entry, where all are short polynomials.
fn written_out(mobility: &LinearMobility) -> Option<String> {
    let mut lines: Vec<(String, String, usize)> = Vec::new();
    for (label, c) in mobility.basis().labels().zip(mobility.coefficients()) {
        let (entry, monomial) = label.split_once("] ")?;
        let entry = format!("{entry}]");
        let at = lines
            .iter()
            .position(|line| line.0 == entry)
            .unwrap_or_else(|| {
                lines.push((entry, String::new(), 0));
                lines.len() - 1
            });
        let (_, text, terms) = &mut lines[at];
        let sign = match (text.is_empty(), *c < 0.0) {
            (true, false) => "",
            (true, true) => "−",
            (false, false) => " + ",
            (false, true) => " − ",
        };
        let factor = match monomial {
            "1" => String::new(),
            monomial => format!(" {}", typeset(monomial)),
        };
        text.push_str(&format!("{sign}{:.3}{factor}", c.abs()));
        *terms += 1;
    }
    // D first, then R.
    lines.sort_by_key(|line| !line.0.starts_with('D'));
    let short = lines.len() <= 8 && lines.iter().all(|line| line.2 <= TERMS);
    let line = |(entry, text, _): &(String, String, usize)| format!("{entry} = {text}");
    short.then(|| lines.iter().map(line).collect::<Vec<_>>().join("\n"))
}

/// `x^2*y` as x²y.
fn typeset(monomial: &str) -> String {
    let mut raised = false;
    let mut out = String::new();
    for c in monomial.chars() {
        match c {
            '*' => out.push(' '),
            '^' => {}
            c if raised && c.is_ascii_digit() => {
                const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
                out.push(DIGITS[c as usize - '0' as usize]);
            }
            c => out.push(c),
        }
        raised = c == '^' || raised && c.is_ascii_digit();
    }
    out
}

/// Quality of the fit of the mobility, and its coefficients.
pub fn fit_section(fit: &MobilityFit) -> Section {
    let mut section = Section::new("fit", "Fit of the mobility").prose(format!(
        "χ² per equation is {}; it is near 1 if the model and the error bars are right. {} of {} \
         directions of M are above the noise. The ridge is {}.",
        digits(fit.chi2_per_equation),
        fit.effective_rank,
        fit.singular_values.len(),
        digits(fit.ridge)
    ));
    if !fit.warnings.is_empty() {
        let warning = |text: &String| Finding::new(FindingKind::Mobility, Severity::Warn, text, "");
        let findings = fit.warnings.iter().map(warning).collect();
        section = section.with(SectionPart::Findings(findings));
    }
    for line in fit.identifiability.to_string().lines() {
        section = section.prose(sentence(line));
    }
    section = section.with(directions(fit));
    if let Some(positivity) = &fit.positivity {
        section = section.prose(format!(
            "D was constrained to be positive. Without the constraint it was not positive at {:.1} % of \
             the samples and at {:.1} % of states two or four times as far from the mean. The constraint \
             raised χ² per equation by {}.",
            100.0 * positivity.violation,
            100.0 * positivity.tail_violation,
            digits(positivity.cost)
        ));
    }
    if !fit.rungs.is_empty() {
        section = section.with(rungs(fit));
    }
    section.with(SectionPart::Details {
        summary: format!("All {} coefficients", fit.singular_values.len()),
        parts: vec![coefficients(fit).into()],
    })
}

/// A line as a sentence.
fn sentence(line: &str) -> String {
    let mut characters = line.chars();
    let first = characters.next().map(|c| c.to_uppercase().to_string());
    format!("{}{}.", first.unwrap_or_default(), characters.as_str())
}

/// Standard error of M along each singular direction.
fn directions(fit: &MobilityFit) -> Figure {
    let errors = &fit.identifiability.standard_errors;
    let number = (1..=errors.len()).map(|k| k as f64).collect::<Vec<_>>();
    let exact = errors.iter().all(|error| *error == 0.0);
    let (values, name, caption) = if exact {
        let values = fit.singular_values.to_vec();
        (
            values,
            "singular value",
            "The equations were exact. Directions with small singular values are poorly determined.",
        )
    } else {
        let caption = "Directions below the line are determined by the data; those above it come from the ridge.";
        (errors.clone(), "standard error / rms of Φ", caption)
    };
    let series = Series::new(Role::Model, number, values).named(name);
    let mut lines = Lines::new(vec![series.styled(SeriesStyle::Points)]);
    if !exact {
        lines = lines.mark_y(1.0, "as large as M itself");
    }
    let panel = Panel::new("direction of M", Axis::log(name), lines);
    Figure::single(
        "directions",
        "Directions of the mobility determined by the data",
        caption,
        panel,
    )
}

fn rungs(fit: &MobilityFit) -> Table {
    let headings = [
        "degree of D",
        "degree of R",
        "held-out χ²",
        "improvement",
        "error",
        "taken",
    ];
    let row = |table: Table, rung: &crate::mobility::Rung| {
        table.row([
            rung.diffusion_degree.to_string(),
            rung.current_degree.to_string(),
            digits(rung.loss),
            digits(rung.improvement),
            digits(rung.improvement_error),
            if rung.taken {
                "yes".into()
            } else {
                "no".into()
            },
        ])
    };
    let table = Table::new("Degrees tried, judged on held-out blocks", &headings);
    fit.rungs.iter().fold(table, row)
}

fn coefficients(fit: &MobilityFit) -> Table {
    let table = Table::new(
        "In standardised coordinates, with standard errors over blocks",
        &["field", "coefficient", "standard error", "ratio"],
    );
    fit.coefficients()
        .fold(table, |table, (label, value, error)| {
            table.row([
                label.to_owned(),
                digits(value),
                digits(error),
                format!("{:.1}", value / error),
            ])
        })
}
