//! Rounded and counted values: a lattice.

use super::samples::{FEWEST, Law};
use crate::data::Ensemble;
use crate::error::Result;
use crate::finding::{Finding, FindingKind, Severity, digits};

/// Samples for each value of the lattice, at least.
const SAMPLES: usize = 4;
/// Distance from the lattice as a fraction of its step, at most.
const OFF: f64 = 0.02;
/// Variance of the rounding as a fraction of that of the increments from which it counts.
const LOUD: f64 = 0.05;

/// The step q of the lattice on which all values lie, if there are few enough of them to show it.
///
/// Rounding adds an error of variance q²/12 to every sample, twice that to an increment.
pub(super) fn find(law: &Law, findings: &mut Vec<Finding>) -> Option<f64> {
    let [_, step] = of_sorted(&law.sorted)?;
    let distinct = law.sorted.chunk_by(|a, b| b - a <= 0.5 * step).count();
    let share = step * step / 6.0 / law.increment.powi(2);
    let severity = if share > LOUD {
        Severity::Warn
    } else {
        Severity::Info
    };
    findings.push(Finding::new(
        FindingKind::Quantised,
        severity,
        format!(
            "the values of '{}' are multiples of {} ({} different values): rounding makes {:.0} % of the variance \
             of the increments",
            law.name,
            digits(step),
            distinct,
            100.0 * share.min(1.0)
        ),
        if severity == Severity::Warn {
            "rounding acts as measurement noise, which a polynomial mobility corrects for (mobility.noise = \
             \"auto\"); give the values with more digits, or thin the record until its increments are larger than \
             the step"
        } else {
            "small enough to ignore"
        },
    ));
    Some(step)
}

/// The least value and the step of the lattice of these samples, in increasing order.
fn of_sorted(sorted: &[f64]) -> Option<[f64; 2]> {
    let range = sorted.last()? - sorted[0];
    let mut distinct = sorted.to_vec();
    let tiny = 1e-9 * range;
    distinct.dedup_by(|a, b| *a - *b <= tiny);
    if distinct.len() < 2 || distinct.len() * SAMPLES > sorted.len() {
        return None;
    }
    let gaps = distinct.windows(2).map(|w| w[1] - w[0]);
    let mut step = gaps.fold(f64::INFINITY, f64::min);
    for x in &distinct[1..] {
        let distance = x - distinct[0];
        let count = (distance / step).round();
        if (distance - count * step).abs() > OFF * step {
            return None;
        }
        step = distance / count;
    }
    Some([distinct[0], step])
}

/// The lattices on which the values of a record lie, coordinate by coordinate.
#[derive(Clone, Debug)]
pub(crate) struct Lattices {
    /// The least value and the step; none where there is no lattice.
    coordinates: Vec<Option<[f64; 2]>>,
}

impl Lattices {
    /// Those that a record shows; an angle has none.
    pub(crate) fn of(record: &Ensemble) -> Self {
        /// Samples that are looked at.
        const LOOKED_AT: usize = 1 << 14;
        let states = record.sample_tile(LOOKED_AT);
        let n = (states.len() / record.dim()).max(1);
        let of = |(i, row): (usize, &[f64])| {
            let mut row = row.to_vec();
            row.sort_by(f64::total_cmp);
            let free = row.len() >= FEWEST && record.circle(i).is_none();
            free.then(|| of_sorted(&row))?
        };
        Self {
            coordinates: states.chunks_exact(n).enumerate().map(of).collect(),
        }
    }

    /// True where coordinate `i` has a lattice.
    pub(crate) fn has(&self, i: usize) -> bool {
        self.coordinates[i].is_some()
    }

    /// The value of the lattice that is nearest; the value itself where there is no lattice.
    pub(crate) fn nearest(&self, i: usize, value: f64) -> f64 {
        match self.coordinates[i] {
            Some([low, step]) => low + ((value - low) / step).round() * step,
            None => value,
        }
    }

    /// Simulated states as the record would show them.
    ///
    /// # Errors
    /// When the states cannot be read.
    pub(crate) fn rounded(&self, states: Ensemble) -> Result<Ensemble> {
        if self.coordinates.iter().all(Option::is_none) {
            return Ok(states);
        }
        states.with_changed_rows(|_, row| {
            for (i, value) in row.iter_mut().enumerate() {
                *value = self.nearest(i, *value);
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn simulated_states_are_rounded_as_the_record_is() {
        let values = ndarray::Array2::from_shape_fn((600, 2), |(k, i)| {
            let x = (k as f64 * 0.7).sin();
            if i == 0 {
                0.02 + (x / 0.04).round() * 0.04
            } else {
                x
            }
        });
        let record = Ensemble::from_array(values, 1.0).unwrap();
        let lattices = Lattices::of(&record);
        assert!(lattices.has(0) && !lattices.has(1));
        assert!((lattices.nearest(0, 0.031) - 0.02).abs() < 1e-12);
        assert_eq!(lattices.nearest(1, 0.031), 0.031);
        let states = ndarray::array![[0.049, 0.5], [f64::NAN, f64::NAN]];
        let rounded = lattices
            .rounded(Ensemble::from_array(states, 1.0).unwrap())
            .unwrap();
        let mut row = [0.0; 2];
        rounded.trajectories()[0].row(0, &mut row);
        assert!((row[0] - 0.06).abs() < 1e-12 && row[1] == 0.5, "{row:?}");
    }
}
