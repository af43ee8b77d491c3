//! Many independent records of one case: how often the truth lies within the errors, and which verdicts come.

use serde_json::{Value, json};

use crate::record::{Case, Setting};
use crate::trial::fit_case;

/// Mean coverage of drift and D at nominal 95 %, its standard error over the records, median errors, and the verdicts.
pub(crate) fn repeat(
    case: &Case,
    interval: f64,
    records: u64,
    scale: f64,
    settings: &[String],
) -> Result<String, String> {
    let mut rows = Vec::new();
    for k in 1..=records {
        let mut setting = Setting::new(interval, false);
        (setting.scale, setting.seed) = (scale, setting.seed + k);
        rows.push(fit_case(case, &setting, settings)?);
    }
    let count = |verdict: &str| rows.iter().filter(|row| row["verdict"] == verdict).count();
    let reasons: Vec<&Value> = rows
        .iter()
        .filter(|row| row["verdict"] != "pass")
        .map(|row| &row["reasons"][0])
        .collect();
    let all = |path: &str| -> Vec<f64> {
        let values = rows.iter().filter_map(|row| row.pointer(path)?.as_f64());
        values.collect()
    };
    Ok(json!({
        "case": case.name, "interval": interval, "records": records, "scale": scale,
        "pass": count("pass"), "warn": count("warn"), "fail": count("fail"),
        "coverage": {"drift": mean(&all("/coverage/drift")), "D": mean(&all("/coverage/D"))},
        "drift_rel_l2": median(all("/drift_rel_l2")), "D_rel_l2": median(all("/D_rel_l2")),
        "first_reasons": reasons,
    })
    .to_string())
}

/// Mean and its standard error.
fn mean(values: &[f64]) -> [f64; 2] {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let square = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>();
    [mean, (square / (n * (n - 1.0).max(1.0))).sqrt()]
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}
