//! What the samples of single coordinates are like: angles, bounds, lattices, outliers, tails.

mod angle;
mod bounds;
mod lattice;
mod outlier;
mod tail;

use super::excerpt::Excerpt;
use super::report::CheckReport;

/// Samples below which laws are not looked at.
const FEWEST: usize = 200;

/// The samples of one coordinate.
struct Law<'a> {
    name: &'a str,
    /// In the order of time.
    values: &'a [f64],
    /// In the order of size.
    sorted: Vec<f64>,
    /// Root mean square of the increments between neighbours.
    increment: f64,
    /// Independent samples that the record is worth.
    effective: f64,
}

impl Law<'_> {
    fn range(&self) -> f64 {
        self.sorted[self.sorted.len() - 1] - self.sorted[0]
    }

    /// The value below which this fraction of the samples lies.
    fn quantile(&self, fraction: f64) -> f64 {
        self.sorted[((self.sorted.len() - 1) as f64 * fraction).round() as usize]
    }
}

/// Look at every coordinate, and fill in the facts of the report and its findings.
pub(super) fn examine(excerpt: &Excerpt, active: &[usize], report: &mut CheckReport) {
    if excerpt.len() < FEWEST {
        return;
    }
    for (k, &j) in active.iter().enumerate() {
        let values = &excerpt.columns[k][..];
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let pairs = excerpt
            .stretches
            .iter()
            .flat_map(|s| values[s.clone()].windows(2));
        let (sum, count) = pairs.fold((0.0, 0usize), |(sum, n), w| {
            (sum + (w[1] - w[0]).powi(2), n + 1)
        });
        let entry = &mut report.coordinates[j];
        let law = Law {
            name: &excerpt.names[k],
            values,
            sorted,
            increment: (sum / count.max(1) as f64).sqrt(),
            effective: entry.effective_samples,
        };
        let findings = &mut report.findings;
        entry.quantum = lattice::find(&law, findings);
        entry.angle = angle::find(&law, &excerpt.stretches, findings);
        if entry.angle.is_none() {
            entry.bounds = bounds::find(&law, entry.quantum.is_some(), findings);
        }
        if entry.angle.is_none() && entry.quantum.is_none() {
            entry.outliers = outlier::count(&law, &excerpt.stretches, findings);
            entry.tail_index = tail::index(&law, findings);
        }
    }
}
