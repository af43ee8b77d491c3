//! What the samples of single coordinates are like: angles, bounds, lattices, outliers, tails.

mod angle;
mod bounds;
mod lattice;
mod outlier;
mod samples;
mod tail;

pub(crate) use lattice::Lattices;
use samples::{FEWEST, Law};

use super::excerpt::Excerpt;
use super::report::{Angle, CheckReport};

/// The circle on which coordinate k of an excerpt is, and the number of steps across its seam.
pub(super) fn angle(excerpt: &Excerpt, k: usize) -> Option<(Angle, usize)> {
    let enough = excerpt.len() >= FEWEST;
    let law = enough.then(|| law(excerpt, k, 0.0))?;
    angle::find(&law, &excerpt.stretches)
}

/// The samples of coordinate k, worth so many independent ones.
fn law(excerpt: &Excerpt, k: usize, effective: f64) -> Law<'_> {
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
    Law {
        name: &excerpt.names[k],
        values,
        sorted,
        increment: (sum / count.max(1) as f64).sqrt(),
        effective,
    }
}

/// Look at every coordinate that is no angle, and fill in the facts of the report and its findings.
pub(super) fn examine(excerpt: &Excerpt, active: &[usize], report: &mut CheckReport) {
    if excerpt.len() < FEWEST {
        return;
    }
    for (k, &j) in active.iter().enumerate() {
        let entry = &mut report.coordinates[j];
        if entry.angle.is_some() {
            continue;
        }
        let law = law(excerpt, k, entry.effective_samples);
        let findings = &mut report.findings;
        entry.quantum = lattice::find(&law, findings);
        entry.bounds = bounds::find(&law, entry.quantum.is_some(), findings);
        if entry.quantum.is_none() {
            entry.outliers = outlier::count(&law, &excerpt.stretches, findings);
            entry.tail_index = tail::index(&law, findings);
        }
    }
}
