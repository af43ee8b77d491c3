//! Coordinates that say the same.

use super::CheckConfig;
use super::record::Record;
use crate::error::Result;
use crate::finding::{Finding, FindingKind, Severity};
use crate::linalg;

/// Report coordinates that are nearly linear functions of others; returns the independent ones.
pub(super) fn find(
    record: &Record,
    correlation: &ndarray::Array2<f64>,
    config: &CheckConfig,
    findings: &mut Vec<Finding>,
) -> Result<Vec<usize>> {
    let names = record.ensemble.names();
    let mut kept: Vec<usize> = Vec::new();
    for j in 0..record.dim() {
        let twin = kept
            .iter()
            .copied()
            .find(|&i| correlation[[i, j]].abs() > config.duplicate_correlation);
        let Some(i) = twin else {
            kept.push(j);
            continue;
        };
        let c = correlation[[i, j]];
        // Of a pair the smaller eigenvalue is 1 − |c|.
        let exact = 1.0 - c.abs() < config.duplicate_eigenvalue;
        findings.push(Finding::new(
            FindingKind::Duplicate,
            if exact {
                Severity::Fail
            } else {
                Severity::Warn
            },
            format!(
                "coordinates '{}' and '{}' are nearly the same (correlation {c:.7})",
                names[i], names[j]
            ),
            format!(
                "drop '{}', or replace it by its difference from '{}'",
                names[j], names[i]
            ),
        ));
    }
    while kept.len() > 1 {
        let matrix = correlation
            .select(ndarray::Axis(0), &kept)
            .select(ndarray::Axis(1), &kept);
        let (values, vectors) = linalg::symmetric_eigen(matrix.view())?;
        if values[0] >= config.duplicate_eigenvalue {
            break;
        }
        let mut order: Vec<usize> = (0..kept.len()).collect();
        order.sort_by(|&a, &b| vectors[[b, 0]].abs().total_cmp(&vectors[[a, 0]].abs()));
        let involved: Vec<String> = order
            .iter()
            .take_while(|&&k| vectors[[k, 0]].abs() > 0.1)
            .map(|&k| format!("'{}'", names[kept[k]]))
            .collect();
        findings.push(Finding::new(
            FindingKind::Duplicate,
            Severity::Fail,
            format!(
                "coordinates {} are linearly dependent (eigenvalue {:.1e} of the correlation matrix)",
                involved.join(", "),
                values[0]
            ),
            format!("drop {}", involved[0]),
        ));
        kept.remove(order[0]);
    }
    Ok(kept)
}
