//! A learned equation as text, formulas and source code.

use std::fmt::Write as _;

use super::results::EquationResults;
use crate::finding::digits;
use crate::model::{ModelEquation, StandardisedTerms, Term, WrittenFactor};

/// How an equation is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EquationFormat {
    /// Plain text for a reader.
    Text,
    /// A LaTeX `align*` environment.
    Latex,
    /// A module for Python and NumPy.
    Python,
    /// A module for Julia.
    Julia,
    /// Functions for Rust.
    Rust,
}

impl EquationFormat {
    /// The format with this name: text, latex, python, julia or rust.
    pub fn by_name(name: &str) -> Option<Self> {
        Some(match name {
            "text" => Self::Text,
            "latex" => Self::Latex,
            "python" => Self::Python,
            "julia" => Self::Julia,
            "rust" => Self::Rust,
            _ => return None,
        })
    }
}

/// Drift and diffusion for a page, a line each; none where a line would have more than `most` terms.
pub(super) fn equation_lines(equation: &EquationResults, most: usize) -> Option<String> {
    let drift = equation
        .drift
        .iter()
        .map(|(name, terms)| (format!("b[{name}]"), shown(terms, false)));
    let diffusion = equation.diffusion.iter();
    let diffusion = diffusion.map(|(entry, terms)| {
        let noise = entry.split_once(',').is_some_and(|(a, b)| a == b);
        (format!("D[{entry}]"), shown(terms, noise))
    });
    let mut lines = Vec::new();
    for (name, terms) in drift.chain(diffusion) {
        if terms.len() > most {
            return None;
        }
        lines.push(format!("{name} = {}", sum(&terms, &plain)));
    }
    Some(lines.join("\n"))
}

/// Terms smaller than this many standard errors are left out of text and formulas.
const VISIBLE: f64 = 2.0;

impl ModelEquation {
    /// The equation in this format.
    ///
    /// Text and formulas are in the units of the state and leave out terms below two standard errors; source
    /// code has every term, of standardised coordinates, and reproduces the fields of the model to rounding.
    pub fn write(&self, format: EquationFormat) -> String {
        match format {
            EquationFormat::Text => self.text(),
            EquationFormat::Latex => self.latex(),
            EquationFormat::Python => self.python(),
            EquationFormat::Julia => self.julia(),
            EquationFormat::Rust => self.rust(),
        }
    }

    /// Left-hand sides of D, such as `D[x,y]`.
    fn diffusion_names(&self) -> Vec<String> {
        let name = |(i, j): (usize, usize)| format!("D[{},{}]", self.names[i], self.names[j]);
        self.entries().map(name).collect()
    }

    fn text(&self) -> String {
        let mut out = String::new();
        for (name, terms) in self.names.iter().zip(&self.drift) {
            let terms = shown(terms, false);
            let _ = writeln!(out, "d{name} = [ {} ] dt + noise", sum(&terms, &plain));
        }
        let _ = writeln!(out, "noise = √2 Σ dW with Σ Σᵀ = D:");
        for (name, terms) in self.diffusion_names().iter().zip(self.shown_diffusion()) {
            let _ = writeln!(out, "{name} = {}", sum(&terms, &plain));
        }
        let hidden = self.hidden();
        if hidden > 0 {
            let _ = writeln!(
                out,
                "({hidden} terms below two standard errors are left out)"
            );
        }
        out
    }

    fn latex(&self) -> String {
        let mut lines: Vec<String> = Vec::new();
        for (name, terms) in self.names.iter().zip(&self.drift) {
            let name = symbol(name);
            lines.push(format!(
                "  \\mathrm{{d}}{name} &= \\bigl[ {} \\bigr]\\,\\mathrm{{d}}t + \\sqrt{{2}}\\,(\\Sigma\\,\\mathrm{{d}}W)_{{{name}}}",
                sum(&shown(terms, false), &formula)
            ));
        }
        for ((i, j), terms) in self.entries().zip(self.shown_diffusion()) {
            let [a, b] = [i, j].map(|i| symbol(&self.names[i]));
            lines.push(format!(
                "  (\\Sigma\\Sigma^{{\\mathsf T}})_{{{a}\\,{b}}} &= {}",
                sum(&terms, &formula)
            ));
        }
        format!(
            "\\begin{{align*}}\n{}\n\\end{{align*}}\n",
            lines.join(" \\\\\n")
        )
    }

    /// The terms of every entry of D that are written.
    fn shown_diffusion(&self) -> impl Iterator<Item = Vec<&Term>> {
        let entries = self.entries().zip(&self.diffusion);
        entries.map(|((i, j), terms)| shown(terms, i == j))
    }

    /// Number of terms that text and formulas leave out.
    fn hidden(&self) -> usize {
        let drift = self.drift.iter().map(|terms| shown(terms, false));
        let written: usize = drift.chain(self.shown_diffusion()).map(|t| t.len()).sum();
        let all = self.drift.iter().chain(&self.diffusion).flatten();
        all.count() - written
    }

    fn numbers(values: &[f64]) -> String {
        let each: Vec<String> = values.iter().map(|v| format!("{v:?}")).collect();
        each.join(", ")
    }

    fn python(&self) -> String {
        let variable = |i: usize| format!("z{i}");
        let factor = |i: usize, factor: WrittenFactor| match factor {
            WrittenFactor::Power(1) => variable(i),
            WrittenFactor::Power(power) => format!("{}**{power}", variable(i)),
            WrittenFactor::Cos(m) => format!("np.cos({m} * {})", variable(i)),
            WrittenFactor::Sin(m) => format!("np.sin({m} * {})", variable(i)),
        };
        let code = |terms: &StandardisedTerms| code(terms, &factor);
        let mut out = format!(
            "\"\"\"dx = drift(x) dt + sqrt(2) Sigma dW with Sigma Sigma^T = diffusion(x); x is (..., {n}): {names}.\n\n\
             It holds among the samples that it was learned from.\"\"\"\n\nimport numpy as np\n\n\
             MEAN = np.array([{mean}])\nSCALE = np.array([{scale}])\n\n\n\
             def _coordinates(x):\n    z = (np.asarray(x, dtype=float) - MEAN) / SCALE\n    \
             return tuple(np.moveaxis(z, -1, 0))\n\n\n",
            n = self.names.len(),
            names = self.names.join(", "),
            mean = Self::numbers(&self.standardiser.mean),
            scale = Self::numbers(&self.standardiser.scale),
        );
        let n = self.names.len();
        let unpacked: Vec<String> = (0..n).map(variable).collect();
        let unpack = format!("    ({},) = _coordinates(x)\n", unpacked.join(", "));
        let _ = write!(
            out,
            "def drift(x):\n{unpack}    b = np.empty(z0.shape + ({n},))\n"
        );
        for (i, terms) in self.standardised_drift.iter().enumerate() {
            let _ = writeln!(out, "    b[..., {i}] = {}", code(terms));
        }
        let _ = write!(
            out,
            "    return b\n\n\ndef diffusion(x):\n{unpack}    d = np.empty(z0.shape + ({n}, {n}))\n"
        );
        for ((i, j), terms) in self.entries().zip(&self.standardised_diffusion) {
            let _ = writeln!(out, "    d[..., {i}, {j}] = {}", code(terms));
            if i != j {
                let _ = writeln!(out, "    d[..., {j}, {i}] = d[..., {i}, {j}]");
            }
        }
        out + "    return d\n\n\ndef simulate(x0, dt, steps, rng):\n    \
             \"\"\"Euler-Maruyama from the states x0, (trajectory, coordinate): (steps + 1, trajectory, coordinate).\"\"\"\n    \
             x = np.array(x0, dtype=float)\n    path = [x]\n    for _ in range(steps):\n        \
             sigma = np.linalg.cholesky(diffusion(x))\n        noise = rng.standard_normal(x.shape + (1,))\n        \
             x = x + drift(x) * dt + np.sqrt(2 * dt) * (sigma @ noise)[..., 0]\n        path.append(x)\n    \
             return np.stack(path)\n"
    }

    fn julia(&self) -> String {
        let n = self.names.len();
        let factor = |i: usize, factor: WrittenFactor| match factor {
            WrittenFactor::Power(1) => format!("z[{}]", i + 1),
            WrittenFactor::Power(power) => format!("z[{}]^{power}", i + 1),
            WrittenFactor::Cos(m) => format!("cos({m} * z[{}])", i + 1),
            WrittenFactor::Sin(m) => format!("sin({m} * z[{}])", i + 1),
        };
        let code = |terms: &StandardisedTerms| code(terms, &factor);
        let mut out = format!(
            "# dx = drift(x) dt + sqrt(2) Σ dW with Σ Σ' = diffusion(x); x = [{}].\n\
             const MEAN = [{}]\nconst SCALE = [{}]\n\nfunction drift(x)\n    z = (x .- MEAN) ./ SCALE\n    return [\n",
            self.names.join(", "),
            Self::numbers(&self.standardiser.mean),
            Self::numbers(&self.standardiser.scale),
        );
        for terms in &self.standardised_drift {
            let _ = writeln!(out, "        {},", code(terms));
        }
        let _ = write!(
            out,
            "    ]\nend\n\nfunction diffusion(x)\n    z = (x .- MEAN) ./ SCALE\n    d = zeros({n}, {n})\n"
        );
        for ((i, j), terms) in self.entries().zip(&self.standardised_diffusion) {
            let (i, j) = (i + 1, j + 1);
            let _ = writeln!(out, "    d[{i}, {j}] = d[{j}, {i}] = {}", code(terms));
        }
        out + "    return d\nend\n"
    }

    fn rust(&self) -> String {
        let n = self.names.len();
        let factor = |i: usize, factor: WrittenFactor| match factor {
            WrittenFactor::Power(1) => format!("z[{i}]"),
            WrittenFactor::Power(power) => format!("z[{i}].powi({power})"),
            WrittenFactor::Cos(m) => format!("({m}.0 * z[{i}]).cos()"),
            WrittenFactor::Sin(m) => format!("({m}.0 * z[{i}]).sin()"),
        };
        let code = |terms: &StandardisedTerms| code(terms, &factor);
        let mut out = format!(
            "//! dx = drift(x) dt + sqrt(2) Sigma dW with Sigma Sigma^T = diffusion(x); x = [{}].\n\n\
             const MEAN: [f64; {n}] = [{}];\nconst SCALE: [f64; {n}] = [{}];\n\n\
             fn coordinates(x: [f64; {n}]) -> [f64; {n}] {{\n    \
             std::array::from_fn(|i| (x[i] - MEAN[i]) / SCALE[i])\n}}\n\n\
             pub fn drift(x: [f64; {n}]) -> [f64; {n}] {{\n    let z = coordinates(x);\n    [\n",
            self.names.join(", "),
            Self::numbers(&self.standardiser.mean),
            Self::numbers(&self.standardiser.scale),
        );
        for terms in &self.standardised_drift {
            let _ = writeln!(out, "        {},", code(terms));
        }
        let _ = write!(
            out,
            "    ]\n}}\n\npub fn diffusion(x: [f64; {n}]) -> [[f64; {n}]; {n}] {{\n    \
             let z = coordinates(x);\n    let mut d = [[0.0; {n}]; {n}];\n"
        );
        for ((i, j), terms) in self.entries().zip(&self.standardised_diffusion) {
            let _ = writeln!(out, "    d[{i}][{j}] = {};", code(terms));
            if i != j {
                let _ = writeln!(out, "    d[{j}][{i}] = d[{i}][{j}];");
            }
        }
        out + "    d\n}\n"
    }
}

fn visible(term: &Term) -> bool {
    term.value != 0.0
        && term
            .stderr
            .is_none_or(|error| term.value.abs() >= VISIBLE * error)
}

/// The terms that are written: the visible ones. Of the noise of a coordinate, which is never zero, all where none is
/// visible: terms of high degree are uncertain one by one and certain together.
fn shown(terms: &[Term], noise: bool) -> Vec<&Term> {
    let some: Vec<&Term> = terms.iter().filter(|term| visible(term)).collect();
    match noise && some.is_empty() {
        true => terms.iter().filter(|term| term.value != 0.0).collect(),
        false => some,
    }
}

/// These terms with their signs, each written by `write(size of the coefficient, error, monomial)`.
fn sum(terms: &[&Term], write: &dyn Fn(f64, Option<f64>, &str) -> String) -> String {
    let mut out = String::new();
    for term in terms {
        out.push_str(match (out.is_empty(), term.value < 0.0) {
            (true, false) => "",
            (true, true) => "-",
            (false, false) => " + ",
            (false, true) => " - ",
        });
        out.push_str(&write(term.value.abs(), term.stderr, &term.term));
    }
    match out.is_empty() {
        true => "0".to_owned(),
        false => out,
    }
}

/// Value and error with the digits that the error allows.
fn measured(value: f64, error: Option<f64>, between: &str) -> String {
    let Some(error) = error.filter(|e| *e > 0.0) else {
        return digits(value);
    };
    let decimals = (1.0 - error.log10().floor()).clamp(0.0, 12.0) as usize;
    let plain = (1e-4..1e6).contains(&value) && error < 1e4;
    match plain {
        true => format!("({value:.decimals$}{between}{error:.decimals$})"),
        false => format!("({value:.4e}{between}{error:.1e})"),
    }
}

fn plain(value: f64, error: Option<f64>, monomial: &str) -> String {
    match monomial {
        "1" => measured(value, error, " ± "),
        monomial => format!(
            "{} {}",
            measured(value, error, " ± "),
            monomial.replace('*', " ")
        ),
    }
}

fn formula(value: f64, error: Option<f64>, monomial: &str) -> String {
    let number = measured(value, error, " \\pm ");
    let number = match number.split_once('e') {
        Some(_) => scientific(&number),
        None => number,
    };
    if monomial == "1" {
        return number;
    }
    let factor = |factor: &str| match (factor.split_once('('), factor.split_once('^')) {
        (Some((function @ ("cos" | "sin"), argument)), _) => {
            wave(function, argument.trim_end_matches(')'))
        }
        (_, Some((name, power))) => format!("{}^{{{power}}}", symbol(name)),
        _ => symbol(factor),
    };
    let factors: Vec<String> = factors(monomial).into_iter().map(factor).collect();
    format!("{number}\\,{}", factors.join("\\,"))
}

/// The factors of a monomial, which `*` separates outside of brackets.
fn factors(monomial: &str) -> Vec<&str> {
    let mut depth = 0usize;
    let between = move |c: char| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == '*' && depth == 0
    };
    monomial.split(between).collect()
}

/// cos or sin of `theta`, `2*theta` or `4*pi*theta/360`.
fn wave(function: &str, argument: &str) -> String {
    let (product, period) = match argument.rsplit_once('/') {
        Some((product, period)) => (product, Some(period)),
        None => (argument, None),
    };
    let factor = |factor: &str| match factor {
        "pi" if period.is_some() => "\\pi ".to_owned(),
        number if number.chars().all(|c| c.is_ascii_digit()) => number.to_owned(),
        name => symbol(name),
    };
    let factors: Vec<String> = product.split('*').map(factor).collect();
    let over = period.map_or(String::new(), |period| format!("/{period}"));
    format!("\\{function}({}{over})", factors.join("\\,"))
}

/// `1.2e-5` as `1.2\times 10^{-5}`, wherever it stands in a text.
fn scientific(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('e') {
        let end = after
            .char_indices()
            .find(|(k, c)| !(c.is_ascii_digit() || (*k == 0 && *c == '-')))
            .map_or(after.len(), |(k, _)| k);
        let _ = write!(out, "{before}\\times 10^{{{}}}", &after[..end]);
        rest = &after[end..];
    }
    out + rest
}

/// A name in a formula: a letter as it is, anything longer upright.
fn symbol(name: &str) -> String {
    let mut escaped = String::new();
    for c in name.chars() {
        if matches!(c, '_' | '%' | '&' | '#' | '$' | '{' | '}') {
            escaped.push('\\');
        }
        escaped.push(if matches!(c, '\\' | '^' | '~') {
            '?'
        } else {
            c
        });
    }
    match name.chars().count() {
        1 => escaped,
        _ => format!("\\mathrm{{{escaped}}}"),
    }
}

/// Σ c Π z_i^k in a language in which `write(i, factor)` writes the factor of a coordinate.
fn code(terms: &StandardisedTerms, write: &dyn Fn(usize, WrittenFactor) -> String) -> String {
    let term = |(factors, c): &(Vec<WrittenFactor>, f64)| {
        let mut out = format!("{c:?}");
        let factors = factors.iter().enumerate();
        for (i, factor) in factors.filter(|(_, factor)| **factor != WrittenFactor::Power(0)) {
            let _ = write!(out, " * {}", write(i, *factor));
        }
        out
    };
    match terms.is_empty() {
        true => "0.0".to_owned(),
        false => terms.iter().map(term).collect::<Vec<_>>().join(" + "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_whose_terms_are_uncertain_one_by_one_is_written() {
        let term = |term: &str, value: f64| Term {
            term: term.to_owned(),
            value,
            stderr: Some(1.0),
        };
        let terms = [term("1", 3.0), term("x", -0.5), term("x^2", 0.0)];
        let written = |terms: &[Term], noise: bool| -> Vec<String> {
            let shown = shown(terms, noise).into_iter();
            shown.map(|term| term.term.clone()).collect()
        };
        assert_eq!(written(&terms, true), ["1"]);
        assert_eq!(written(&terms[1..], true), ["x"]);
        assert!(written(&terms[1..], false).is_empty());
    }
}
