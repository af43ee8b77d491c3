//! How coordinates move: the order of their noise, white noise, random walks.

mod order;
mod walk;
mod white;

use super::correlation::Correlations;
use super::excerpt::Excerpt;
use super::report::CheckReport;
use crate::error::Result;

/// Look at the motion of every coordinate, and fill in the facts of the report and its findings.
pub(super) fn examine(
    excerpt: &Excerpt,
    correlations: &Correlations,
    active: &[usize],
    report: &mut CheckReport,
) -> Result<()> {
    let white = white::find(excerpt, &correlations.curves, &mut report.findings);
    let walks = walk::find(excerpt, &white, &mut report.findings);
    order::find(excerpt, &walks, active, report)
}
