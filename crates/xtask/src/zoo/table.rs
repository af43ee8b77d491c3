//! The results of the zoo as text and as a page.

use std::fmt::Write;

use serde_json::Value;

/// Names of the peers in the output, and above their columns.
const PEERS: [(&str, &str); 3] = [
    ("kramers_moyal", "KM"),
    ("stochastic_force_inference", "SFI"),
    ("linear_inverse_model", "LIM"),
];

/// The cells of the table, its head first.
fn cells(results: &Value) -> Vec<Vec<String>> {
    let mut head: Vec<String> = [
        "case", "interval", "s", "verdict", "expected", "right", "b / D",
    ]
    .map(str::to_owned)
    .to_vec();
    head.extend(PEERS.map(|(_, short)| format!("{short} b / D")));
    head.push("covered b / D".to_owned());
    let rows = results["cases"].as_array().map_or(&[][..], Vec::as_slice);
    let body = rows.iter().map(row);
    std::iter::once(head).chain(body).collect()
}

fn row(row: &Value) -> Vec<String> {
    let text = |key: &str| row[key].as_str().unwrap_or("-").to_owned();
    let mut cells = vec![
        text("name"),
        row["interval"].to_string(),
        row["seconds"]
            .as_f64()
            .map_or("-".into(), |s| format!("{s:.1}")),
        text("verdict"),
        text("expected"),
        if row["right"] == true { "yes" } else { "NO" }.to_owned(),
        pair(row, "drift_rel_l2", "D_rel_l2"),
    ];
    for (name, _) in PEERS {
        cells.push(pair(&row["peers"][name], "drift_rel_l2", "D_rel_l2"));
    }
    cells.push(pair(&row["coverage"], "drift", "D"));
    cells
}

/// Two shares in percent; a dash where neither is known.
fn pair(of: &Value, first: &str, second: &str) -> String {
    let percent = |key: &str| match of[key].as_f64().map(|share| 100.0 * share) {
        Some(share) if share >= 9999.5 => format!("{share:.0e}"),
        Some(share) if share >= 99.5 => format!("{share:.0}"),
        Some(share) => format!("{share:.1}"),
        None => "-".to_owned(),
    };
    match (percent(first).as_str(), percent(second).as_str()) {
        ("-", "-") => "-".to_owned(),
        (a, b) => format!("{a} / {b}"),
    }
}

/// The score in a sentence.
fn score(results: &Value) -> String {
    let score = &results["score"];
    let number = |key: &str| score[key].as_f64();
    let ratio = |key: &str| number(key).map_or("unknown".to_owned(), |value| format!("{value:.2}"));
    let count = results["cases"].as_array().map_or(0, Vec::len);
    format!(
        "{count} records: right verdicts {:.1} %; error of drift or D over that of the best peer: median {}, worst {}",
        100.0 * number("right_verdicts").unwrap_or(f64::NAN),
        ratio("median_ratio"),
        ratio("worst_ratio"),
    )
}

/// For a terminal: the table, worst first, messages of fits without a report, the score.
pub(crate) fn text(results: &Value) -> String {
    let cells = cells(results);
    let columns = cells[0].len();
    let width = |k: usize| {
        cells
            .iter()
            .map(|row| row[k].chars().count())
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut out = String::new();
    for row in &cells {
        let padded = row
            .iter()
            .zip(&widths)
            .map(|(cell, width)| format!("{cell:<width$}"));
        let _ = writeln!(out, "{}", padded.collect::<Vec<_>>().join("  ").trim_end());
    }
    for (name, message) in messages(results) {
        let _ = writeln!(out, "{name}: {message}");
    }
    let _ = writeln!(
        out,
        "Errors in percent, relative L2 over the samples; b is the drift."
    );
    let _ = writeln!(out, "{}", score(results));
    out
}

/// What ended fits that left no report, and peers in Python that found nothing.
fn messages(results: &Value) -> Vec<(String, String)> {
    let rows = results["cases"].as_array().map_or(&[][..], Vec::as_slice);
    let of = |row: &Value| {
        let name = format!("{} at {}", row["name"].as_str()?, row["interval"]);
        Some((name, row["message"].as_str()?.to_owned()))
    };
    let peer = |row: &Value| {
        let name = format!("{} at {}, SFI", row["name"].as_str()?, row["interval"]);
        let message = row["peers"]["stochastic_force_inference"]["error"].as_str()?;
        Some((name, message.to_owned()))
    };
    rows.iter()
        .filter_map(of)
        .chain(rows.iter().filter_map(peer))
        .collect()
}

/// docs/zoo.md.
pub(crate) fn page(results: &Value) -> String {
    let cells = cells(results);
    let line = |row: &[String]| format!("| {} |\n", row.join(" | "));
    let mut table = line(&cells[0]);
    table += &format!("|{}\n", "---|".repeat(cells[0].len()));
    table.extend(cells[1..].iter().map(|row| line(row)));
    let reasons = reasons(results);
    let messages: String = messages(results)
        .iter()
        .map(|(name, message)| format!("* {name}: {}\n", message.replace('|', "/")))
        .collect();
    format!(
        "{INTRODUCTION}\n## Results\n\n{}.\n\n{table}\n## Fits without a report, and peers that found nothing\n\n\
         {messages}\n## Expected verdicts\n\n{reasons}",
        score(results)
    )
}

/// The expected verdict of each case with its reason, in alphabetical order.
fn reasons(results: &Value) -> String {
    let rows = results["cases"].as_array().map_or(&[][..], Vec::as_slice);
    let mut lines: Vec<String> = rows
        .iter()
        .filter_map(|row| {
            let text = |key: &str| row[key].as_str();
            Some(format!(
                "* {}: {}: {}.\n",
                text("name")?,
                text("expected")?,
                text("reason")?
            ))
        })
        .collect();
    lines.sort();
    lines.dedup();
    lines.concat()
}

/// The top of docs/zoo.md.
const INTRODUCTION: &str = "\
# The zoo

How the library does, with defaults, on records that it was not built on, beside other methods on the same samples.
This page is written by

```
cargo xtask zoo --write docs/zoo.md
```

Each record is simulated, its right verdict written down beforehand with the reason, and fitted in a process of its own
with a time limit. `b` is the drift and `D` the diffusion; errors are relative L2 over the samples in percent, each
coordinate in units of its own field. `covered` is the share of states whose exact value lies within 1.96 standard
errors. The table is ordered worst first: no report, wrong verdict, then the error as a multiple of the best peer's. A
\"pass\" counts as wrong too where drift or D is off by more than half.

The peers:

* KM: regression of increments on polynomials (degree 5 in one coordinate, 3 in more, 1 or 2 where there would be too
  many terms; Fourier functions of angles), the drift taken off before squaring.
* SFI: the Python package StochasticForceInference 2.0.4 by its defaults with the same polynomials, at most six
  coordinates, no angles.
* LIM: the linear inverse model.
";

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn results() -> Value {
        json!({
            "cases": [
                {"name": "a", "interval": 0.1, "seconds": 1.25, "verdict": "pass", "expected": "pass",
                 "right": true, "drift_rel_l2": 0.0312, "D_rel_l2": 250.0, "reason": "why not",
                 "peers": {"kramers_moyal": {"drift_rel_l2": 1.5, "D_rel_l2": null}}},
                {"name": "b", "interval": 2.0, "seconds": 30.0, "verdict": "timeout", "expected": "pass",
                 "right": false, "message": "not finished", "reason": "simple", "peers": {}},
            ],
            "score": {"right_verdicts": 0.5, "median_ratio": 1.25, "worst_ratio": null},
        })
    }

    #[test]
    fn the_table_shows_errors_in_percent_and_dashes_where_they_are_unknown() {
        let text = text(&results());
        assert!(text.contains("3.1 / 2e4"), "{text}");
        assert!(text.contains("150 / -"), "{text}");
        assert!(text.contains("b at 2.0: not finished"), "{text}");
        assert!(text.contains("right verdicts 50.0 %"), "{text}");
        assert!(text.contains("median 1.25, worst unknown"), "{text}");
    }

    #[test]
    fn the_page_gives_the_reason_of_each_case_once() {
        let page = page(&results());
        assert_eq!(page.matches("* a: pass: why not.").count(), 1);
        assert!(page.contains("cargo xtask zoo --write docs/zoo.md"));
    }
}
