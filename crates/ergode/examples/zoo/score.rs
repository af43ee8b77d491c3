//! How good a run of the zoo is.

use serde_json::{Value, json};

/// The error of an answer that is not given: that of fields which are zero.
const NO_ANSWER: f64 = 1.0;

/// The share of right verdicts, and the errors of drift and D as multiples of those of the best peer: the
/// median and the worst. A fit that ends without a report counts with an error of one.
pub(crate) fn score(rows: &[Value]) -> Value {
    let right = rows.iter().filter(|row| row["right"] == true).count();
    let mut ratios: Vec<f64> = rows.iter().flat_map(ratios).collect();
    ratios.sort_by(f64::total_cmp);
    let middle = ratios.len() / 2;
    let median = match ratios.len() {
        0 => None,
        n if n % 2 == 1 => Some(ratios[middle]),
        _ => Some(0.5 * (ratios[middle - 1] + ratios[middle])),
    };
    json!({
        "right_verdicts": right as f64 / rows.len().max(1) as f64,
        "median_ratio": median,
        "worst_ratio": ratios.last(),
    })
}

/// Ours over that of the best peer, for drift and D where both are known.
fn ratios(row: &Value) -> Vec<f64> {
    let reported = matches!(row["verdict"].as_str(), Some("pass" | "warn" | "fail"));
    let of = |key: &str| {
        let peers = row["peers"].as_object()?.values();
        let best = peers
            .filter_map(|peer| peer[key].as_f64())
            .reduce(f64::min)?;
        let ours = match row[key].as_f64() {
            Some(error) => error,
            None if reported && row[key].is_null() => return None,
            None => NO_ANSWER,
        };
        (best > 0.0).then_some(ours / best)
    };
    ["drift_rel_l2", "D_rel_l2"]
        .into_iter()
        .filter_map(of)
        .collect()
}

/// Orders rows: no report, then a wrong verdict, then by the larger ratio to the best peer.
pub(crate) fn badness(row: &Value) -> f64 {
    let missing = !matches!(
        row["verdict"].as_str(),
        Some("pass" | "warn" | "fail" | "refused")
    );
    let wrong = row["right"] != true;
    let ratio = ratios(row).into_iter().fold(0.0, f64::max);
    f64::from(u8::from(missing)) * 1e30 + f64::from(u8::from(wrong)) * 1e20 + ratio.min(1e10)
}
